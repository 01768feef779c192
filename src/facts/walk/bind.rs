//! Bindings and assignments: what a name stands for from here on, and writes that others see.

use std::sync::Arc;

use super::Walker;
use crate::facts::event::{Act, ModuleName};
use crate::facts::value::Value;
use crate::files::{Atom, Span};
use crate::syntax::{BinaryOp, Expr, ExprKind, Target, is_temporary};

impl Walker<'_> {
    pub(super) fn mark_dropped(&mut self, value: &Value) {
        if let Some(index) = self.out.event_of(self.me, value)
            && let Some(event) = self.out.events.get_mut(index as usize)
        {
            event.dropped = true;
        }
    }

    pub(super) fn bind_expr(&mut self, target: &Target, expr: &Expr, op: Option<BinaryOp>, span: Span) {
        let value = self.expr(expr);
        match op {
            None => self.bind(target, value, span, false),
            Some(op) => self.compound(target, value, op, span),
        }
    }

    pub(super) fn compound(&mut self, target: &Target, value: Value, op: BinaryOp, span: Span) {
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
                let at = self.place(place);
                let old = match &at {
                    Value::Member(of, name) => of.member(name.clone()),
                    other => other.clone(),
                };
                self.put_member(place, Value::Op(op, Arc::new([old, value.clone()])).bounded());
                self.write(at, value, Some(op), false, span);
            }
            other => self.bind(other, value, span, false),
        }
    }

    pub(super) fn write(&mut self, place: Value, value: Value, op: Option<BinaryOp>, if_null: bool, span: Span) {
        if self.me.func != 0
            && let Value::Module(_, name) = &place
        {
            let entry =
                self.names.entry(name.clone()).or_insert_with(|| ModuleName { value: Value::Unknown, span, reassigned: true });
            entry.reassigned = true;
        }
        self.push(Act::Write { place, value, op, if_null }, span);
    }

    pub(super) fn declare(&mut self, name: &str, span: Span) {
        if self.me.func == 0 && !is_temporary(name) {
            self.names.entry(self.scopes.word(name)).or_insert_with(|| ModuleName {
                value: Value::Null,
                span,
                reassigned: false,
            });
        } else if self.scopes.resolve(self.me.func, name).is_none() {
            let name = self.scopes.word(name);
            self.env.insert(name.clone(), Value::Null);
            self.out.locals.entry(name).or_insert(Value::Null);
        }
    }

    pub(super) fn set_local(&mut self, name: &str, value: Value) {
        let name = self.scopes.word(name);
        let entry = self.out.locals.entry(name.clone());
        match entry {
            std::collections::hash_map::Entry::Occupied(mut known) => {
                let joined = Value::one_of([known.get().clone(), value.clone()]);
                known.insert(joined);
            }
            std::collections::hash_map::Entry::Vacant(empty) => {
                empty.insert(value.clone());
            }
        }
        self.env.insert(name, value);
    }

    /// The place an assignment writes: the member of an object, not what it holds so far.
    fn place(&mut self, place: &Expr) -> Value {
        match &place.kind {
            ExprKind::Member(of, name) => Value::Member(Arc::new(self.expr(of)), self.scopes.word(name)),
            _ => self.expr(place),
        }
    }

    /// An object literal in a local variable has the member from here on.
    fn put_member(&mut self, place: &Expr, value: Value) {
        let ExprKind::Member(of, member) = &place.kind else { return };
        let ExprKind::Name(name) = &of.kind else { return };
        if self.scopes.resolve(self.me.func, name).is_some() {
            return;
        }
        let Some(Value::Object(ty, entries)) = self.env.get(name.as_str()) else { return };
        let mut entries: Vec<(Atom, Value)> = entries.to_vec();
        match entries.iter_mut().find(|(key, _)| **key == **member) {
            Some((_, old)) => *old = value,
            None => entries.push((self.scopes.word(member), value)),
        }
        let object = Value::Object(ty.clone(), entries.into()).bounded();
        self.env.insert(self.scopes.word(name), object);
    }

    /// Binds a target to a value. `fresh` bindings (parameters, loop variables) are always local.
    pub(super) fn bind(&mut self, target: &Target, value: Value, span: Span, fresh: bool) {
        match target {
            Target::Name(name, name_span) => {
                for option in value.options() {
                    if let Some(index) = self.out.event_of(self.me, option)
                        && let Some(event) = self.out.events.get_mut(index as usize)
                        && event.lives_to == 0
                    {
                        event.bound = Some(self.scopes.word(name));
                    }
                }
                if self.me.func == 0 && !is_temporary(name) {
                    let entry = self.names.entry(self.scopes.word(name));
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
                let at = self.place(place);
                self.put_member(place, value.clone());
                self.write(at, value, None, false, span);
            }
            Target::Fields(fields) => {
                for (key, inner) in fields {
                    self.bind(inner, value.member(self.scopes.word(key)), span, fresh);
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
}
