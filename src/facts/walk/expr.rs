//! Expressions: their values, and the calls in them in the order in which they happen.

use std::sync::Arc;

use super::{Tested, Walker};
use crate::facts::event::{Act, Cond, Guard};
use crate::facts::value::{FnRef, Piece, Value};
use crate::files::Span;
use crate::syntax::{BinaryOp, Call, Expr, ExprKind, Shape, Target, TemplatePart};

impl Walker<'_> {
    /// Evaluates a condition and says what holds after each outcome.
    pub(super) fn test(&mut self, expr: &Expr) -> Tested {
        match &expr.kind {
            ExprKind::Not(inner) => {
                let tested = self.test(inner);
                Tested { holds: tested.fails, fails: tested.holds }
            }
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                let and = matches!(expr.kind, ExprKind::And(..));
                let first = self.test(left);
                let kept = self.guards.len();
                self.guards.extend(if and { &first.holds } else { &first.fails });
                let second = self.test(right);
                self.guards.truncate(kept);
                let swap = |tested: Tested| if and { tested } else { Tested { holds: tested.fails, fails: tested.holds } };
                let (first, second) = (swap(first), swap(second));
                let parts = [first.fails, second.fails];
                let mut both = first.holds;
                both.extend(second.holds);
                // Which part decided is not known: one condition that depends on all of them.
                let value = Value::Mix(
                    parts
                        .iter()
                        .flatten()
                        .filter_map(|guard| self.out.conds.get(guard.cond as usize))
                        .map(|cond| cond.value.clone())
                        .collect(),
                )
                .bounded();
                let cond = self.out.conds.len() as u32;
                self.out.conds.push(Cond { value, span: expr.span });
                let either = vec![Guard { cond, holds: true }];
                if and { Tested { holds: both, fails: either } } else { Tested { holds: either, fails: both } }
            }
            _ => {
                let value = self.expr(expr);
                let cond = self.out.conds.len() as u32;
                self.out.conds.push(Cond { value, span: expr.span });
                self.push(Act::Test { cond }, expr.span);
                Tested { holds: vec![Guard { cond, holds: true }], fails: vec![Guard { cond, holds: false }] }
            }
        }
    }

    pub(super) fn name(&self, name: &str) -> Value {
        match self.scopes.resolve(self.me.func, name) {
            Some(value @ Value::Global(_)) => self.env.get(name).cloned().unwrap_or(value),
            Some(value) => value,
            None => self
                .env
                .get(name)
                .cloned()
                .or_else(|| self.meant_before(name))
                .unwrap_or_else(|| self.scopes.capture(self.me.func, name)),
        }
    }

    /// What a name of this function means before it is declared (`let total = total(rows)`).
    fn meant_before(&self, name: &str) -> Option<Value> {
        let outer = || self.scopes.resolve_around(self.me.func, name).filter(|outer| !matches!(outer, Value::Global(_)));
        self.unit.language.declares_from_here_on().then(outer).flatten()
    }

    pub(super) fn list(&mut self, exprs: &[Expr]) -> Arc<[Value]> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::This | ExprKind::Super => Value::This(self.method()),
            ExprKind::Member(inner, name) => self.expr(inner).member(self.scopes.word(name)),
            ExprKind::Index(of, key) => {
                let (of, key) = (self.expr(of), self.expr(key));
                match &key {
                    Value::Text(name) if matches!(of, Value::Object(..)) => of.member(name.clone()),
                    _ => Value::Index(Arc::new(of), Arc::new(key)),
                }
            }
            ExprKind::Call(call) => self.call(call, expr.span),
            ExprKind::Text(text) => Value::Text(self.scopes.word(text)),
            ExprKind::Template(parts) => {
                let pieces = parts
                    .iter()
                    .map(|part| match part {
                        TemplatePart::Text(text) => Piece::Text(self.scopes.word(text)),
                        TemplatePart::Value(value) => Piece::Value(self.expr(value)),
                    })
                    .collect();
                Value::Template(pieces)
            }
            ExprKind::Number(number) => Value::Number(*number),
            ExprKind::Bool(truth) => Value::Bool(*truth),
            ExprKind::Null => Value::Null,
            ExprKind::Object { ty, entries } => {
                let entries: Vec<_> = entries.iter().map(|(key, value)| (self.scopes.word(key), self.expr(value))).collect();
                Value::Object(ty.as_deref().map(|ty| self.scopes.word(ty)), entries.into())
            }
            ExprKind::List(items) => Value::List(self.list(items)),
            ExprKind::Lambda(id) => Value::Function(FnRef { file: self.me.file, func: id.0 }),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.expr(left), self.expr(right));
                Value::Op(*op, Arc::new([left, right])).bounded()
            }
            ExprKind::Not(inner) => Value::Not(Arc::new(self.expr(inner))),
            ExprKind::Negate(inner) => match self.expr(inner) {
                Value::Number(number) => Value::Number(-number),
                other => Value::Op(BinaryOp::Sub, Arc::new([Value::Number(0.0), other])),
            },
            ExprKind::And(left, right) => {
                let (left, right) = self.second_if(left, right, true);
                Value::All([left, right].into()).bounded()
            }
            ExprKind::Or(left, right) => {
                let (left, right) = self.second_if(left, right, false);
                Value::one_of([left, right])
            }
            ExprKind::Coalesce(left, right) => {
                let left = self.expr(left);
                let right =
                    self.under(Value::Is(Arc::new(left.clone()), Arc::new(Shape::Null)), expr.span, |walker| walker.expr(right));
                Value::one_of([left, right])
            }
            ExprKind::Choose { test, then, otherwise } => {
                let tested = self.test(test);
                let kept = self.guards.len();
                self.guards.extend(&tested.holds);
                let first = self.expr(then);
                self.guards.truncate(kept);
                self.guards.extend(&tested.fails);
                let second = self.expr(otherwise);
                self.guards.truncate(kept);
                let value = Value::All(self.said_by(&tested.holds).into());
                Value::Choose(Arc::new([value, first, second])).bounded()
            }
            ExprKind::Is(inner, shape) => Value::Is(Arc::new(self.expr(inner)), Arc::new(shape.clone())),
            ExprKind::Typed(inner, said) => {
                let value = self.expr(inner);
                if let Some(index) = self.out.event_of(self.me, &value)
                    && let Some(event) = self.out.events.get_mut(index as usize)
                {
                    event.said = Some(Box::new(said.clone()));
                }
                value
            }
            ExprKind::Propagate(inner) => {
                let value = self.expr(inner);
                // A result kept in a variable leaves later than the call that made it.
                if !matches!(inner.kind, ExprKind::Name(_))
                    && let Some(index) = self.out.event_of(self.me, &value)
                    && let Some(event) = self.out.events.get_mut(index as usize)
                {
                    event.propagated = true;
                }
                value
            }
            ExprKind::Assign { target, value, op, if_null } => self.assign(target, value, *op, *if_null, expr.span),
            ExprKind::Element(of) => Value::Element(Arc::new(self.expr(of))),
            ExprKind::Other(parts) => match parts.len() {
                0 => Value::Unknown,
                _ => Value::Mix(self.list(parts)).bounded(),
            },
        }
    }

    pub(super) fn second_if(&mut self, left: &Expr, right: &Expr, and: bool) -> (Value, Value) {
        let tested = self.test(left);
        let kept = self.guards.len();
        let guards = if and { &tested.holds } else { &tested.fails };
        let mut said = self.said_by(&tested.holds);
        let value = if said.len() == 1 { said.swap_remove(0) } else { Value::All(said.into()) };
        self.guards.extend(guards);
        let right = self.expr(right);
        self.guards.truncate(kept);
        (value, right)
    }

    /// What guards say: of each its condition, or the opposite of it.
    pub(super) fn said_by(&self, guards: &[Guard]) -> Vec<Value> {
        let said = |guard: &Guard| {
            let value = self.out.conds.get(guard.cond as usize)?.value.clone();
            Some(if guard.holds { value } else { Value::Not(Arc::new(value)) })
        };
        guards.iter().filter_map(said).collect()
    }

    pub(super) fn under<T>(&mut self, value: Value, span: Span, run: impl FnOnce(&mut Self) -> T) -> T {
        let cond = self.out.conds.len() as u32;
        self.out.conds.push(Cond { value, span });
        self.push(Act::Test { cond }, span);
        self.guards.push(Guard { cond, holds: true });
        let result = run(self);
        self.guards.pop();
        result
    }

    pub(super) fn assign(&mut self, target: &Target, value: &Expr, op: Option<BinaryOp>, if_null: bool, span: Span) -> Value {
        let place = match target {
            Target::Name(name, _) => Some(self.name(name)),
            Target::Place(place) => Some(self.expr(place)),
            _ => None,
        };
        if if_null {
            let place = place.unwrap_or_default();
            let test = Value::Is(Arc::new(place.clone()), Arc::new(Shape::Null));
            return self.under(test, span, |walker| {
                let value = walker.expr(value);
                match target {
                    Target::Name(name, _) if walker.scopes.resolve(walker.me.func, name).is_none() => {
                        walker.set_local(name, Value::one_of([place.clone(), value.clone()]));
                    }
                    _ => walker.write(place.clone(), value.clone(), None, true, span),
                }
                Value::one_of([place, value])
            });
        }
        let value = self.expr(value);
        match op {
            None => {
                self.bind(target, value.clone(), span, false);
                value
            }
            Some(op) => {
                self.compound(target, value.clone(), op, span);
                Value::Op(op, Arc::new([place.unwrap_or_default(), value])).bounded()
            }
        }
    }

    pub(super) fn call(&mut self, call: &Call, span: Span) -> Value {
        let callee = match &call.callee.kind {
            ExprKind::Member(inner, name) => Value::Member(Arc::new(self.expr(inner)), self.scopes.word(name)),
            _ => self.expr(&call.callee),
        };
        let args =
            call.args.iter().map(|arg| (arg.name.as_deref().map(|name| self.scopes.word(name)), self.expr(&arg.value))).collect();
        let index = self.push(Act::Call { callee, args, form: call.form, awaited: call.awaited }, span);
        Value::Result(self.me, index)
    }

    /// The method whose receiver `this` is here: arrow functions take their outer function's. Outside of methods it is that of
    /// the innermost function that has one of its own.
    pub(super) fn method(&self) -> FnRef {
        let mut at = self.me.func;
        let mut own = None;
        while let Some(function) = self.unit.functions.get(at as usize) {
            if function.class.is_some() {
                return FnRef { file: self.me.file, func: at };
            }
            own = own.or_else(|| function.flags.has_receiver.then_some(at));
            match function.parent {
                Some(parent) => at = parent.0,
                None => break,
            }
        }
        FnRef { file: self.me.file, func: own.unwrap_or(at) }
    }
}
