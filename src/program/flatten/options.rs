//! Options given as constants: what a callee does where an option is set otherwise is not what this call does.

use std::sync::Arc;

use super::Writer;
use super::inline::Subst;
use crate::facts::{Guard, Value};
use crate::program::flat::Flat;
use crate::syntax::{ExprKind, Param, Shape};

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

    /// Whether a condition is settled otherwise by the constants this call gives.
    pub(super) fn contradicts(&self, guard: &Guard, flat: &Flat, writer: &Writer<'_, '_>) -> bool {
        let Some(cond) = flat.conds.get(guard.cond as usize) else { return false };
        let asks_option = cond.value.any(&|part| matches!(part, Value::Param(function, _) if *function == self.target));
        asks_option && truth(&self.value(&cond.value, &[], writer)).is_some_and(|truth| truth != guard.holds)
    }
}

/// Whether a value counts as true, where it is a constant.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Null => Some(false),
        Value::Bool(truth) => Some(*truth),
        Value::Number(number) => Some(*number != 0.0),
        Value::Text(text) => Some(!text.is_empty()),
        Value::Not(inner) => truth(inner).map(|truth| !truth),
        Value::Is(inner, shape) => {
            let null = match &**inner {
                Value::Null => true,
                Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
                _ => return None,
            };
            match &**shape {
                Shape::Null => Some(null),
                Shape::Present => Some(!null),
                Shape::Bool(wanted) => match &**inner {
                    Value::Bool(truth) => Some(truth == wanted),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}
