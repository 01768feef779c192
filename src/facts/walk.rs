//! Walks the steps of a unit in order and writes down what happens.

use std::collections::HashMap;
use std::sync::Arc;

use super::event::{Act, Cond, Event, FileFacts, FnFacts, Guard, LoopFact, ModuleName, TryFact};
use super::scope::{Env, Scopes};
use super::value::{FnRef, Piece, Value};
use crate::files::Span;
use crate::syntax::{BinaryOp, Call, ExitKind, Expr, ExprKind, Shape, Step, StepKind, Target, TemplatePart, Unit};

/// The facts of one file.
pub fn facts(file: u32, unit: Unit) -> FileFacts {
    let scopes = Scopes::new(file, &unit);
    let mut names: HashMap<Arc<str>, ModuleName> = HashMap::new();
    let mut functions = Vec::with_capacity(unit.functions.len());
    for index in 0..unit.functions.len() {
        functions.push(Walker::new(FnRef { file, func: index as u32 }, &unit, &scopes, &mut names).run());
    }
    let field_values = field_values(file, &unit, &scopes, &mut names, &mut functions);
    FileFacts { file, unit, functions, field_values, names }
}

/// Declared fields' initial values, and the functions' decorators. Calls in them happen when the module is loaded or the class is made: they are events of
/// the module's top level.
fn field_values(
    file: u32,
    unit: &Unit,
    scopes: &Scopes,
    names: &mut HashMap<Arc<str>, ModuleName>,
    functions: &mut [FnFacts],
) -> HashMap<(u32, Arc<str>), Value> {
    let Some(module) = functions.first_mut() else { return HashMap::new() };
    let mut walker = Walker::new(FnRef { file, func: 0 }, unit, scopes, names);
    walker.out = std::mem::take(module);
    let mut values = HashMap::new();
    for (index, class) in unit.classes.iter().enumerate() {
        for field in &class.fields {
            if let Some(init) = &field.init {
                let value = walker.expr(init);
                values.insert((index as u32, Arc::from(field.name.as_str())), value);
            }
        }
    }
    for decorator in unit.classes.iter().flat_map(|class| &class.decorators) {
        walker.expr(decorator);
    }
    let decorated: Vec<(usize, Vec<(Value, Span)>)> = unit
        .functions
        .iter()
        .enumerate()
        .filter(|(_, function)| !function.decorators.is_empty())
        .map(|(index, function)| {
            (index, function.decorators.iter().map(|decorator| (walker.expr(decorator), decorator.span)).collect())
        })
        .collect();
    functions[0] = walker.out;
    for (index, decorators) in decorated {
        functions[index].decorators = decorators;
    }
    values
}

struct Walker<'a> {
    me: FnRef,
    unit: &'a Unit,
    scopes: &'a Scopes,
    names: &'a mut HashMap<Arc<str>, ModuleName>,
    out: FnFacts,
    env: Env,
    guards: Vec<Guard>,
    within: Vec<u32>,
    in_loop: Option<u32>,
    in_try: Option<u32>,
    in_catch: bool,
    in_finally: bool,
}

/// What holds after a test went one way.
struct Tested {
    holds: Vec<Guard>,
    fails: Vec<Guard>,
}

impl<'a> Walker<'a> {
    fn new(me: FnRef, unit: &'a Unit, scopes: &'a Scopes, names: &'a mut HashMap<Arc<str>, ModuleName>) -> Walker<'a> {
        Walker {
            me,
            unit,
            scopes,
            names,
            out: FnFacts::default(),
            env: Env::new(),
            guards: vec![],
            within: vec![],
            in_loop: None,
            in_try: None,
            in_catch: false,
            in_finally: false,
        }
    }

    fn run(mut self) -> FnFacts {
        let unit = self.unit;
        let function = &unit.functions[self.me.func as usize];
        for (index, param) in function.params.iter().enumerate() {
            self.bind(&param.target, Value::Param(self.me, index as u32), param_span(&param.target), true);
        }
        self.block(&function.body);
        let end = self.out.events.len() as u32;
        self.out.events.iter_mut().filter(|event| event.lives_to == 0).for_each(|event| event.lives_to = end);
        self.out
    }

    /// Walks steps in order; true when they never reach their end.
    fn block(&mut self, steps: &[Step]) -> bool {
        let kept = self.guards.len();
        let first_bound = self.out.events.len();
        let mut left = false;
        for step in steps {
            let before = self.out.events.len();
            left = self.step(step);
            let now = self.out.events.len() as u32;
            for event in &mut self.out.events[before..] {
                if event.lives_to == 0 && event.bound.is_none() {
                    event.lives_to = now;
                }
            }
            if left {
                break;
            }
        }
        let end = self.out.events.len() as u32;
        self.out.events[first_bound..].iter_mut().filter(|event| event.lives_to == 0).for_each(|event| event.lives_to = end);
        self.guards.truncate(kept);
        left
    }

    fn step(&mut self, step: &Step) -> bool {
        match &step.kind {
            StepKind::Do(expr) => {
                let value = self.expr(expr);
                self.mark_dropped(&value);
                false
            }
            StepKind::Bind { target, value, op, .. } => {
                if let Some(expr) = value {
                    self.bind_expr(target, expr, *op, step.span);
                } else if let Target::Name(name, span) = target {
                    self.declare(name, *span);
                }
                false
            }
            StepKind::Branch { test, then, otherwise } => self.branch(test, then, otherwise),
            StepKind::Loop { test, each, body } => self.repeat(step.span, test.as_ref(), each.as_ref(), body),
            StepKind::Try { body, catches, otherwise, finally } => self.attempt(body, catches, otherwise, finally),
            StepKind::Within { context, binding, body } => self.inside(context, binding.as_ref(), body),
            StepKind::Exit { kind, value } => {
                let value = value.as_ref().map_or(Value::Null, |expr| self.expr(expr));
                self.push(Act::Exit { kind: *kind, value }, step.span);
                *kind != ExitKind::Yield
            }
            StepKind::Delete(expr) => {
                let place = self.expr(expr);
                self.push(Act::Delete { place }, step.span);
                false
            }
            StepKind::Scope(body) => self.block(body),
        }
    }

    fn branch(&mut self, test: &Expr, then: &[Step], otherwise: &[Step]) -> bool {
        let tested = self.test(test);
        let before = self.env.clone();
        let kept = self.guards.len();
        self.guards.extend(&tested.holds);
        let then_left = self.block(then);
        let then_env = std::mem::replace(&mut self.env, before);
        self.guards.truncate(kept);
        self.guards.extend(&tested.fails);
        let otherwise_left = self.block(otherwise);
        self.guards.truncate(kept);
        match (then_left, otherwise_left) {
            (true, true) => return true,
            (true, false) => self.guards.extend(&tested.fails),
            (false, true) => {
                self.env = then_env;
                self.guards.extend(&tested.holds);
            }
            (false, false) => self.join(then_env),
        }
        false
    }

    fn repeat(&mut self, span: Span, test: Option<&Expr>, each: Option<&(Target, Expr)>, body: &[Step]) -> bool {
        let source = each.map(|(_, expr)| self.expr(expr));
        let endless = test.is_none() && each.is_none();
        let index = self.out.loops.len() as u32;
        self.out.loops.push(LoopFact { endless, span });
        let outer = self.in_loop.replace(index);
        let before = self.env.clone();
        let kept = self.guards.len();
        let mut after = vec![];
        if let Some(test) = test {
            let tested = self.test(test);
            self.guards.extend(tested.holds);
            // What ends the loop holds behind it, unless it can be left otherwise.
            if !breaks(body) {
                after = tested.fails;
            }
        }
        if let (Some((target, _)), Some(source)) = (each, source) {
            self.bind(target, Value::Element(Arc::new(source)), span, true);
        }
        self.block(body);
        self.guards.truncate(kept);
        self.guards.extend(after);
        self.in_loop = outer;
        self.join(before);
        endless && !breaks(body)
    }

    fn attempt(&mut self, body: &[Step], catches: &[crate::syntax::Catch], otherwise: &[Step], finally: &[Step]) -> bool {
        let index = self.out.tries.len() as u32;
        self.out.tries.push(TryFact { catches: vec![], has_finally: !finally.is_empty() });
        let before = self.env.clone();
        let kept = self.guards.len();
        let outer_try = self.in_try;
        if !catches.is_empty() {
            self.in_try = Some(index);
        }
        // Guards that a body without handlers establishes hold after it.
        let body_left = if catches.is_empty() { self.open_block(body) } else { self.block(body) };
        let body_left = body_left || (!otherwise.is_empty() && self.block(otherwise));
        self.in_try = outer_try;
        let mut all_left = body_left;
        for catch in catches {
            let after = std::mem::replace(&mut self.env, before.clone());
            let outer_catch = std::mem::replace(&mut self.in_catch, true);
            if let Some(name) = &catch.binding {
                self.env.insert(name.as_str().into(), Value::Unknown);
            }
            let left = self.block(&catch.body);
            self.in_catch = outer_catch;
            self.out.tries[index as usize].catches.push((catch.types.clone(), throws(&catch.body)));
            if left {
                self.env = after;
            } else {
                self.join(after);
                all_left = false;
            }
        }
        let established = self.guards.split_off(kept);
        let outer_finally = std::mem::replace(&mut self.in_finally, true);
        let finally_left = self.block(finally);
        self.in_finally = outer_finally;
        if catches.is_empty() {
            self.guards.extend(established);
        }
        all_left || finally_left
    }

    /// A block whose guards stay in force after it.
    fn open_block(&mut self, steps: &[Step]) -> bool {
        for step in steps {
            let before = self.out.events.len();
            let left = self.step(step);
            let now = self.out.events.len() as u32;
            for event in &mut self.out.events[before..] {
                if event.lives_to == 0 && event.bound.is_none() {
                    event.lives_to = now;
                }
            }
            if left {
                return true;
            }
        }
        false
    }

    fn inside(&mut self, context: &Expr, binding: Option<&Target>, body: &[Step]) -> bool {
        let value = self.expr(context);
        let entered = match self.out.event_of(self.me, &value) {
            Some(index) => index,
            None => self.push(Act::Enter { value: value.clone() }, context.span),
        };
        if let Some(target) = binding {
            self.bind(target, value, context.span, true);
        }
        self.within.push(entered);
        let left = self.open_block(body);
        self.within.pop();
        let end = self.out.events.len() as u32;
        if let Some(event) = self.out.events.get_mut(entered as usize) {
            event.lives_to = end;
        }
        left
    }

    fn join(&mut self, other: Env) {
        for (name, value) in other {
            match self.env.get_mut(&name) {
                Some(mine) if *mine != value => *mine = Value::one_of([mine.clone(), value]),
                Some(_) => {}
                None => {
                    self.env.insert(name, value);
                }
            }
        }
    }

    /// Evaluates a condition and says what holds after each outcome.
    fn test(&mut self, expr: &Expr) -> Tested {
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

    fn push(&mut self, act: Act, span: Span) -> u32 {
        let index = self.out.events.len() as u32;
        self.out.events.push(Event {
            act,
            span,
            guards: self.guards.clone(),
            within: self.within.clone(),
            in_loop: self.in_loop,
            in_try: self.in_try,
            in_catch: self.in_catch,
            in_finally: self.in_finally,
            lives_to: 0,
            bound: None,
            dropped: false,
            propagated: false,
        });
        index
    }

    fn mark_dropped(&mut self, value: &Value) {
        if let Some(index) = self.out.event_of(self.me, value)
            && let Some(event) = self.out.events.get_mut(index as usize)
        {
            event.dropped = true;
        }
    }

    fn bind_expr(&mut self, target: &Target, expr: &Expr, op: Option<BinaryOp>, span: Span) {
        let value = self.expr(expr);
        match op {
            None => self.bind(target, value, span, false),
            Some(op) => self.compound(target, value, op, span),
        }
    }

    fn compound(&mut self, target: &Target, value: Value, op: BinaryOp, span: Span) {
        match target {
            Target::Name(name, _) => match self.scopes.resolve(self.me.func, name) {
                None => {
                    let old = self.name(name);
                    let new = Value::Op(op, Arc::new([old, value])).bounded();
                    self.set_local(name, new);
                }
                Some(place) => self.write(place, value, Some(op), false, span),
            },
            Target::Place(place) => {
                let place = self.expr(place);
                self.write(place, value, Some(op), false, span);
            }
            other => self.bind(other, value, span, false),
        }
    }

    fn write(&mut self, place: Value, value: Value, op: Option<BinaryOp>, if_null: bool, span: Span) {
        if self.me.func != 0
            && let Value::Module(_, name) = &place
        {
            let entry =
                self.names.entry(name.clone()).or_insert_with(|| ModuleName { value: Value::Unknown, span, reassigned: true });
            entry.reassigned = true;
        }
        self.push(Act::Write { place, value, op, if_null }, span);
    }

    fn declare(&mut self, name: &str, span: Span) {
        if self.me.func == 0 && !name.starts_with('$') {
            self.names.entry(name.into()).or_insert_with(|| ModuleName { value: Value::Null, span, reassigned: false });
        } else if self.scopes.resolve(self.me.func, name).is_none() {
            self.env.insert(name.into(), Value::Null);
            self.out.locals.entry(name.into()).or_insert(Value::Null);
        }
    }

    fn set_local(&mut self, name: &str, value: Value) {
        let entry = self.out.locals.entry(name.into());
        match entry {
            std::collections::hash_map::Entry::Occupied(mut known) => {
                let joined = Value::one_of([known.get().clone(), value.clone()]);
                known.insert(joined);
            }
            std::collections::hash_map::Entry::Vacant(empty) => {
                empty.insert(value.clone());
            }
        }
        self.env.insert(name.into(), value);
    }

    /// Binds a target to a value. `fresh` bindings (parameters, loop variables) are always local.
    fn bind(&mut self, target: &Target, value: Value, span: Span, fresh: bool) {
        match target {
            Target::Name(name, name_span) => {
                for option in value.options() {
                    if let Some(index) = self.out.event_of(self.me, option)
                        && let Some(event) = self.out.events.get_mut(index as usize)
                        && event.lives_to == 0
                    {
                        event.bound = Some(name.as_str().into());
                    }
                }
                if self.me.func == 0 && !name.starts_with('$') {
                    let entry = self.names.entry(name.as_str().into());
                    let known = entry.or_insert_with(|| ModuleName { value: value.clone(), span: *name_span, reassigned: false });
                    if known.value != value {
                        known.value = match &known.value {
                            Value::Unknown => value,
                            old => Value::one_of([old.clone(), value]),
                        };
                    }
                    return;
                }
                match self.scopes.resolve(self.me.func, name) {
                    // A name nothing declares is taken for a variable of this function.
                    Some(place) if !fresh && !matches!(place, Value::Global(_)) => self.write(place, value, None, false, span),
                    _ => self.set_local(name, value),
                }
            }
            Target::Place(place) => {
                let place = self.expr(place);
                self.write(place, value, None, false, span);
            }
            Target::Fields(fields) => {
                for (key, inner) in fields {
                    self.bind(inner, value.member(key), span, fresh);
                }
            }
            Target::Items(items) => {
                for (index, inner) in items.iter().enumerate() {
                    let item = match &value {
                        Value::List(parts) => parts.get(index).cloned().unwrap_or_default(),
                        _ => Value::Index(Arc::new(value.clone()), Arc::new(Value::Number(index as f64))),
                    };
                    self.bind(inner, item, span, fresh);
                }
            }
            Target::Inside(inner) => self.bind(inner, value, span, fresh),
            Target::Ignore => {}
        }
    }

    fn name(&self, name: &str) -> Value {
        match self.scopes.resolve(self.me.func, name) {
            Some(value @ Value::Global(_)) => self.env.get(name).cloned().unwrap_or(value),
            Some(value) => value,
            None => self.env.get(name).cloned().unwrap_or_else(|| Value::Captured(self.me, name.into())),
        }
    }

    fn list(&mut self, exprs: &[Expr]) -> Arc<[Value]> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn expr(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::This | ExprKind::Super => Value::This(self.method()),
            ExprKind::Member(inner, name) => self.expr(inner).member(name),
            ExprKind::Index(of, key) => {
                let (of, key) = (self.expr(of), self.expr(key));
                match &key {
                    Value::Text(name) if matches!(of, Value::Object(..)) => of.member(name),
                    _ => Value::Index(Arc::new(of), Arc::new(key)),
                }
            }
            ExprKind::Call(call) => self.call(call, expr.span),
            ExprKind::Text(text) => Value::Text(text.as_str().into()),
            ExprKind::Template(parts) => {
                let pieces = parts
                    .iter()
                    .map(|part| match part {
                        TemplatePart::Text(text) => Piece::Text(text.as_str().into()),
                        TemplatePart::Value(value) => Piece::Value(self.expr(value)),
                    })
                    .collect();
                Value::Template(pieces)
            }
            ExprKind::Number(number) => Value::Number(*number),
            ExprKind::Bool(truth) => Value::Bool(*truth),
            ExprKind::Null => Value::Null,
            ExprKind::Object { ty, entries } => {
                let entries = entries.iter().map(|(key, value)| (Arc::from(key.as_str()), self.expr(value))).collect();
                Value::Object(ty.as_deref().map(Arc::from), entries)
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
                let values = tested.holds.iter().filter_map(|guard| {
                    let value = self.out.conds.get(guard.cond as usize)?.value.clone();
                    Some(if guard.holds { value } else { Value::Not(Arc::new(value)) })
                });
                let value = Value::All(values.collect());
                Value::Choose(Arc::new([value, first, second])).bounded()
            }
            ExprKind::Is(inner, shape) => Value::Is(Arc::new(self.expr(inner)), Arc::new(shape.clone())),
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
            ExprKind::Other(parts) => match parts.len() {
                0 => Value::Unknown,
                _ => Value::Mix(self.list(parts)).bounded(),
            },
        }
    }

    fn second_if(&mut self, left: &Expr, right: &Expr, and: bool) -> (Value, Value) {
        let tested = self.test(left);
        let kept = self.guards.len();
        let guards = if and { &tested.holds } else { &tested.fails };
        let value = tested.holds.first().and_then(|guard| {
            let value = self.out.conds.get(guard.cond as usize)?.value.clone();
            Some(if guard.holds { value } else { Value::Not(Arc::new(value)) })
        });
        self.guards.extend(guards);
        let right = self.expr(right);
        self.guards.truncate(kept);
        (value.unwrap_or_default(), right)
    }

    fn under<T>(&mut self, value: Value, span: Span, run: impl FnOnce(&mut Self) -> T) -> T {
        let cond = self.out.conds.len() as u32;
        self.out.conds.push(Cond { value, span });
        self.push(Act::Test { cond }, span);
        self.guards.push(Guard { cond, holds: true });
        let result = run(self);
        self.guards.pop();
        result
    }

    fn assign(&mut self, target: &Target, value: &Expr, op: Option<BinaryOp>, if_null: bool, span: Span) -> Value {
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

    fn call(&mut self, call: &Call, span: Span) -> Value {
        let callee = match &call.callee.kind {
            ExprKind::Member(inner, name) => Value::Member(Arc::new(self.expr(inner)), name.as_str().into()),
            _ => self.expr(&call.callee),
        };
        let args = call.args.iter().map(|arg| (arg.name.as_deref().map(Arc::from), self.expr(&arg.value))).collect();
        let index = self.push(Act::Call { callee, args, form: call.form, awaited: call.awaited }, span);
        Value::Result(self.me, index)
    }

    /// The method whose receiver `this` is here: arrow functions take their outer function's.
    fn method(&self) -> FnRef {
        let mut at = self.me.func;
        while let Some(function) = self.unit.functions.get(at as usize) {
            if function.class.is_some() {
                break;
            }
            match function.parent {
                Some(parent) => at = parent.0,
                None => break,
            }
        }
        FnRef { file: self.me.file, func: at }
    }
}

fn param_span(target: &Target) -> Span {
    match target {
        Target::Name(_, span) => *span,
        _ => Span::default(),
    }
}

/// Whether a loop body can leave its own loop by `break`.
fn breaks(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.kind {
        StepKind::Exit { kind, .. } => *kind == ExitKind::Break,
        StepKind::Branch { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        StepKind::Try { body, catches, otherwise, finally } => {
            breaks(body) || breaks(otherwise) || breaks(finally) || catches.iter().any(|catch| breaks(&catch.body))
        }
        StepKind::Within { body, .. } | StepKind::Scope(body) => breaks(body),
        _ => false,
    })
}

/// Whether a handler throws at its own top level.
fn throws(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(&step.kind, StepKind::Exit { kind: ExitKind::Throw, .. }))
}
