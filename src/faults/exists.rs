//! What a condition says of whether something that was read is there, and what is done for new rows alone.

use super::rows::selects;
use super::view::View;
use crate::facts::{Guard, Value};
use crate::program::{FlatEvent, column_key};
use crate::syntax::{BinaryOp, Shape};

/// Whether a condition holding means that what was read exists; `None` where it says neither.
pub fn says_exists(view: &View<'_>, value: &Value, read: u32) -> Option<bool> {
    if !view.flat.depends(value).contains(&read) {
        return None;
    }
    match value {
        Value::Not(inner) => says_exists(view, inner, read).map(|exists| !exists),
        Value::Is(inner, shape) => match &**shape {
            Shape::Null => says_exists(view, inner, read).map(|exists| !exists),
            Shape::Present | Shape::Ok | Shape::Bool(true) => says_exists(view, inner, read),
            Shape::Bool(false) | Shape::Err => says_exists(view, inner, read).map(|exists| !exists),
            _ => None,
        },
        Value::Op(op, pair) => {
            let zero = pair.iter().any(|side| matches!(side, Value::Number(number) if *number == 0.0 || *number == 1.0));
            let one = matches!(&pair[1], Value::Number(number) if *number == 1.0);
            if !zero {
                return None;
            }
            match (op, one) {
                (BinaryOp::Greater | BinaryOp::NotEqual, false) | (BinaryOp::GreaterEqual | BinaryOp::Equal, true) => Some(true),
                (BinaryOp::Equal | BinaryOp::LessEqual, false) | (BinaryOp::Less, true) => Some(false),
                _ => None,
            }
        }
        Value::Mix(parts) => parts.iter().find_map(|part| says_exists(view, part, read)),
        Value::All(parts) | Value::Any(parts) => parts.iter().find_map(|part| says_exists(view, part, read)),
        Value::Flat(index) => {
            let name = view.event(*index).call().and_then(|(callee, _)| view.world.tree.name_of(callee)).unwrap_or_default();
            Some(!view.world.tree.book.verbs.is_absence(&name))
        }
        Value::Member(of, _) if answers_apart(view, of, read) => None,
        Value::Member(..) | Value::Index(..) | Value::Element(_) => Some(true),
        _ => None,
    }
}

/// Whether a function that gives one of several answers gives none of them because of a read, and the row is none of them: how it
/// went says nothing of the row.
fn answers_apart(view: &View<'_>, of: &Value, read: u32) -> bool {
    let Value::Flat(at) = of else { return false };
    let event = view.event(*at);
    let from_it = |(value, on): &(Value, Vec<Guard>)| {
        view.flat.part_of(value).contains(&read) || on.iter().any(|guard| view.cond_depends(guard.cond).contains(&read))
    };
    event.inlined && event.returns.len() > 1 && !event.returns.iter().any(from_it)
}

/// Whether an event is only for a row that is new, and the row was read: it does not happen.
pub fn for_a_new_row(view: &View<'_>, event: &FlatEvent) -> bool {
    event
        .guards
        .iter()
        .any(|guard| view.flat.conds.get(guard.cond as usize).is_some_and(|cond| says_new(view, &cond.value, guard.holds)))
}

/// Whether a condition that comes out so says of a row that was read that it was not there before.
fn says_new(view: &View<'_>, value: &Value, holds: bool) -> bool {
    match value {
        Value::Not(inner) => says_new(view, inner, !holds),
        Value::Is(inner, shape) => match &**shape {
            Shape::Bool(truth) => says_new(view, inner, holds == *truth),
            _ => false,
        },
        Value::All(parts) if holds => parts.iter().any(|part| says_new(view, part, true)),
        Value::Member(of, name) if holds && view.world.tree.book.verbs.says_new(&column_key(name)) => {
            view.flat.part_of(of).into_iter().any(|at| selects(view, at))
        }
        _ => false,
    }
}
