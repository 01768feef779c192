//! Parts of what a call gives: a function that gives nothing or one object gives that object to whoever asks for a part of it, a
//! row its columns.

use std::sync::Arc;

use super::Writer;
use crate::facts::{Arg, Value};
use crate::program::flat::{What, plain};
use crate::program::{Op, Ty, unwrapped};
use crate::rules::{Meaning, TypeKind};

impl Writer<'_, '_> {
    /// What stands under a name in what a followed call gave: `Some(Lease { key, .. })`, `null` or an error gives `key`.
    pub(super) fn part_given(&self, holder: &Value, name: &str) -> Option<Value> {
        let index = match self.behind(holder) {
            Value::Flat(index) => index,
            held @ (Value::Any(_) | Value::Choose(_) | Value::Object(..)) => {
                return Some(held.member(name)).filter(|part| !matches!(part, Value::Member(..)));
            }
            _ => return None,
        };
        let call = self.events.get(index as usize).filter(|call| call.inlined)?;
        let mut part = None;
        for (given, _) in &call.returns {
            match self.behind(given) {
                Value::Null | Value::Bool(_) => {}
                object @ Value::Object(..) => {
                    let found = object.entry(name)?;
                    // Several ways out that give the same.
                    if part.as_ref().is_some_and(|known| known != found) {
                        return None;
                    }
                    part = Some(found.clone());
                }
                // An error is made by a call that means nothing.
                Value::Flat(other)
                    if self.events.get(other as usize).is_some_and(|event| matches!(event.what, What::Nothing)) => {}
                _ => return None,
            }
        }
        let file = call.origin.0.file;
        let known = |value: &Value| match unwrapped(self.tree, self.tree.ty(value, file), file) {
            Ty::Unknown => false,
            Ty::Lib { path, .. } => self.tree.packs(file).kind(&path) != TypeKind::Plain,
            _ => true,
        };
        // What only the declared type of the part tells is not to be lost.
        let declared = Value::Result(call.origin.0, call.origin.1).member(name);
        let text = |part: &Value| matches!(part, Value::Text(_) | Value::Template(_) | Value::Number(_) | Value::Bool(_));
        part.filter(|part| text(part) || known(&plain(&self.events, part)) || !known(&declared))
    }

    /// A value without what only hands it on.
    fn behind(&self, value: &Value) -> Value {
        let mut value = value.clone();
        for _ in 0..8 {
            let Value::Flat(index) = value else { break };
            let meant = self.events.get(index as usize).and_then(|event| event.meant(Meaning::Pass));
            let Some(meant) = meant else { break };
            value = meant.part("of").unwrap_or(&meant.receiver).clone();
        }
        value
    }

    /// The column that a method of a row gives: `row.get("units")`.
    pub(super) fn column(&self, callee: &Value, args: &[Arg]) -> Option<Value> {
        let (Value::Member(of, name), [(None, key @ Value::Text(_))]) = (callee, args) else { return None };
        let mut at = of.as_ref();
        for _ in 0..8 {
            at = match at {
                Value::Index(of, _) | Value::Element(of) => of,
                Value::Flat(index) => {
                    let event = self.events.get(*index as usize)?;
                    match (&event.what, &event.returns[..]) {
                        (What::Statement(statement), _) => {
                            let row = statement.op == Op::Select && self.tree.book.verbs.gives_column(name);
                            return row.then(|| Value::Index(of.clone(), Arc::new(key.clone())));
                        }
                        (What::Meant(meant), _) if meant.is == Meaning::Pass => meant.part("of").unwrap_or(&meant.receiver),
                        (_, [(given, _)]) => given,
                        _ => return None,
                    }
                }
                _ => return None,
            };
        }
        None
    }
}
