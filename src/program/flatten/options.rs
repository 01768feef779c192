//! Options given as constants: what a callee does where an option is set otherwise is not what this call does.

use std::sync::Arc;

use super::Writer;
use super::inline::Subst;
use crate::facts::{Guard, Value};
use crate::program::flat::Flat;
use crate::syntax::{ExprKind, Param, Shape, is_computed};

impl Subst<'_, '_> {
    /// The constant that a parameter is where a call leaves it out. A call without any arguments may be a callback's, whose
    /// arguments are not known.
    pub(super) fn left_out(&self, param: &Param) -> Option<Value> {
        let spread = |name: &Option<Arc<str>>| matches!(name.as_deref(), Some("*" | "**" | "..."));
        if self.args.is_empty() || self.args.iter().any(|(name, _)| spread(name)) {
            return None;
        }
        match &param.default.as_ref()?.kind {
            ExprKind::Null => Some(Value::Null),
            ExprKind::Bool(truth) => Some(Value::Bool(*truth)),
            _ => None,
        }
    }

    /// Whether a condition is settled otherwise by what this call gives: constants, and the keys of an object literal.
    pub(super) fn contradicts(&self, guard: &Guard, flat: &Flat, writer: &Writer<'_, '_>) -> bool {
        let Some(cond) = flat.conds.get(guard.cond as usize) else { return false };
        self.settles(&cond.value, flat, writer).is_some_and(|truth| truth != guard.holds)
    }

    fn settles(&self, cond: &Value, flat: &Flat, writer: &Writer<'_, '_>) -> Option<bool> {
        match cond {
            Value::Not(inner) => self.settles(inner, flat, writer).map(|truth| !truth),
            // `"url" in options`
            Value::Flat(index) => {
                let (callee, args) = flat.events.get(*index as usize)?.call()?;
                let (Value::Member(of, operator), [(None, Value::Text(key))]) = (callee, args) else { return None };
                let asked = &**operator == "__contains__" && self.speaks_of_argument(of);
                asked.then(|| self.value(of, &[], writer)).and_then(|of| has(&of, key))
            }
            _ => self.speaks_of_argument(cond).then(|| self.value(cond, &[], writer)).and_then(|value| truth(&value)),
        }
    }

    fn speaks_of_argument(&self, value: &Value) -> bool {
        value.any(&|part| matches!(part, Value::Param(function, _) if *function == self.target))
    }
}

/// Whether a literal has a key, where all its keys are known.
fn has(value: &Value, key: &str) -> Option<bool> {
    let Value::Object(_, entries) = value else { return None };
    if entries.iter().any(|(known, _)| &**known == key) {
        return Some(true);
    }
    entries.iter().all(|(known, _)| &**known != "..." && !is_computed(known)).then_some(false)
}

/// Whether a value is null, where that is known.
fn is_null(value: &Value) -> Option<bool> {
    match value {
        Value::Null => Some(true),
        Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Template(_) => Some(false),
        Value::Object(..) | Value::List(_) | Value::Function(_) => Some(false),
        // A key that the literal does not have.
        Value::Member(of, key) if **key != *"..." => has(of, key).filter(|has| !has).map(|_| true),
        _ => None,
    }
}

/// Whether a value counts as true, where that is known.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Number(number) => Some(*number != 0.0),
        Value::Text(text) => Some(!text.is_empty()),
        Value::Function(_) => Some(true),
        Value::Not(inner) => truth(inner).map(|truth| !truth),
        Value::Is(inner, shape) => match &**shape {
            Shape::Null => is_null(inner),
            Shape::Present => is_null(inner).map(|null| !null),
            Shape::Bool(wanted) => match &**inner {
                Value::Bool(truth) => Some(truth == wanted),
                _ => None,
            },
            _ => None,
        },
        other => is_null(other).filter(|null| *null).map(|_| false),
    }
}
