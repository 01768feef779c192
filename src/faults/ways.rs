//! Ways through a function that no run takes both: arms of one test, cases of one value, a flag that tells which arm it was.

use super::view::View;
use crate::facts::{Act, Guard, Value};
use crate::program::FlatEvent;
use crate::syntax::{BinaryOp, Shape};

/// Whether no run that does an event (with its index) does a later one too.
pub(super) fn apart(view: &View<'_>, first: (u32, &FlatEvent), later: (u32, &FlatEvent)) -> bool {
    let known = Known { view, guards: &first.1.guards, from: first.0, to: later.0 };
    let shared = first.1.guards.iter().zip(later.1.guards.iter()).take_while(|(one, other)| one == other).count();
    later.1.guards.iter().skip(shared).any(|guard| known.cond(guard.cond).is_some_and(|holds| holds != guard.holds))
}

/// What is known where some guards hold, of conditions that are asked later.
struct Known<'a> {
    view: &'a View<'a>,
    guards: &'a [Guard],
    from: u32,
    to: u32,
}

impl Known<'_> {
    fn cond(&self, index: u32) -> Option<bool> {
        let same = self.guards.iter().find(|guard| guard.cond == index);
        same.map(|guard| guard.holds).or_else(|| {
            let value = &self.view.flat.conds.get(index as usize)?.value;
            self.value(value, 0)
        })
    }

    /// Whether a value counts as true.
    fn value(&self, value: &Value, depth: u32) -> Option<bool> {
        if depth > 8 {
            return None;
        }
        let next = |value: &Value| self.value(value, depth + 1);
        match value {
            Value::Bool(truth) => Some(*truth),
            Value::Not(inner) => next(inner).map(|truth| !truth),
            Value::Choose(parts) => match next(&parts[0]) {
                Some(true) => next(&parts[1]),
                Some(false) => next(&parts[2]),
                None => next(&parts[1]).filter(|truth| next(&parts[2]) == Some(*truth)),
            },
            Value::All(parts) => {
                let parts: Vec<Option<bool>> = parts.iter().map(next).collect();
                if parts.contains(&Some(false)) {
                    return Some(false);
                }
                (!parts.is_empty() && parts.iter().all(|part| *part == Some(true))).then_some(true)
            }
            other => self.asked_before(other),
        }
    }

    /// What an earlier guard says of a question of one value.
    fn asked_before(&self, value: &Value) -> Option<bool> {
        if matches!(value, Value::Unknown | Value::Mix(_)) {
            return None;
        }
        let said = self.guards.iter().find_map(|guard| {
            let cond = &self.view.flat.conds.get(guard.cond as usize)?.value;
            let (cond, holds) = match cond {
                Value::Not(inner) => (&**inner, !guard.holds),
                cond => (cond, guard.holds),
            };
            if cond == value {
                return Some(holds);
            }
            // One value is no two constants.
            let (of, constant) = compared(cond)?;
            let (same, other) = compared(value)?;
            (holds && of == same && constant != other).then_some(false)
        });
        said.filter(|_| self.stays(value))
    }

    /// Whether nothing in between writes what a question asks about.
    fn stays(&self, value: &Value) -> bool {
        let steady = !value.any(&|part| matches!(part, Value::Unknown | Value::Mix(_) | Value::Module(..) | Value::Captured(..)));
        let written = |place: &Value| value.any(&|part| part == place);
        steady
            && !self.view.events().any(|(index, event)| {
                let within = index > self.from && index < self.to;
                within && matches!(&event.act, Act::Write { place, .. } | Act::Delete { place } if written(place))
            })
    }
}

/// What a question compares with a constant text, as equal.
fn compared(value: &Value) -> Option<(&Value, &str)> {
    match value {
        Value::Is(of, shape) => match &**shape {
            Shape::Text(text) => Some((of, text.as_str())),
            _ => None,
        },
        Value::Op(BinaryOp::Equal, pair) => match &**pair {
            [of, Value::Text(text)] | [Value::Text(text), of] => Some((of, &**text)),
            _ => None,
        },
        _ => None,
    }
}
