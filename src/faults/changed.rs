//! How what was read is changed in memory before it is written back: inside the object that a column holds, or by laying more
//! over it.

use super::rows::{arithmetic_on, columns_of, each_made_of};
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{Column, FlatEvent};
use crate::rules::Meaning;
use crate::syntax::BinaryOp;

/// Where an object that a value is made of was changed in memory before: what was read, taken apart, counted up or added to, and
/// put together again.
pub fn changed_inside(view: &View<'_>, value: &Value, read: u32, before: u32) -> Option<u32> {
    let mut parts: Vec<Value> = vec![];
    each_made_of(view, value, &mut |part| {
        let object = match part {
            Value::Flat(_) | Value::Member(..) | Value::Index(..) | Value::Element(_) | Value::Mix(_) => true,
            // A copy of what a column holds.
            Value::Object(_, entries) => {
                entries.iter().any(|(key, value)| &**key == "..." && !columns_of(view, value, read).is_empty())
            }
            _ => false,
        };
        if object && !parts.contains(part) && view.flat.made_of(part).contains(&read) {
            parts.push(part.clone());
        }
    });
    let inside = |place: &Value| {
        let mut at = place;
        loop {
            at = match at {
                Value::Member(of, _) | Value::Index(of, _) | Value::Element(of) if !parts.contains(at) => of,
                _ => return parts.contains(at),
            };
        }
    };
    // Which of the entries is known when it runs, or it is one inside a column: the others go back as they were.
    let one_of_many = |place: &Value| match place {
        Value::Index(_, key) => !matches!(**key, Value::Number(_)),
        Value::Member(of, _) => !columns_of(view, of, read).is_empty(),
        _ => false,
    };
    let changes = |event: &FlatEvent| match &event.act {
        Act::Write { place: place @ (Value::Member(of, _) | Value::Index(of, _)), value, op, .. } => {
            inside(of) && (op.is_some_and(is_arithmetic) || arithmetic_on(view, value, read) || one_of_many(place))
        }
        Act::Delete { place: place @ (Value::Member(of, _) | Value::Index(of, _)) } => inside(of) && one_of_many(place),
        Act::Call { .. } => event.meant(Meaning::Put).is_some_and(|put| put.part("value").is_some() && inside(&put.receiver)),
        _ => false,
    };
    let within = view.events().take_while(|(index, _)| *index < before).filter(|(index, _)| *index > read);
    within.filter(|(_, event)| changes(event)).map(|(index, _)| index).next()
}

fn is_arithmetic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::OtherArithmetic)
}

/// Whether a column is set to what was read of it with more laid over it or added (`{ ...row.settings, theme }`): what others laid
/// over it meanwhile is gone.
pub fn laid_over(view: &View<'_>, column: &Column, read: u32) -> bool {
    let mut found = false;
    let old = |value: &Value| columns_of(view, value, read).contains(&column.name) && view.flat.made_of(value).contains(&read);
    each_made_of(view, &column.value, &mut |part| {
        found |= match part {
            Value::Object(_, entries) => entries.len() > 1 && entries.iter().any(|(key, value)| &**key == "..." && old(value)),
            // `[...row.notes, note]`: a list among others is taken apart.
            Value::List(items) => items.len() > 1 && items.iter().any(|item| matches!(item, Value::Mix(_)) && old(item)),
            // `[note for note in row.notes if note != done]`: what is asked for from outside is taken out.
            Value::Mix(parts) => match &parts[..] {
                [one @ Value::Element(from), asked @ .., made] => {
                    one == made && old(from) && asked.iter().any(|cond| is_asked_from_outside(cond, one))
                }
                _ => false,
            },
            _ => false,
        };
    });
    found
}

/// Whether a condition speaks of more than the element it is asked of.
fn is_asked_from_outside(cond: &Value, element: &Value) -> bool {
    let plain = |leaf: &Value| {
        matches!(leaf, Value::Global(_) | Value::Text(_) | Value::Number(_) | Value::Bool(_) | Value::Null | Value::Unknown)
    };
    let children = cond.children();
    cond != element
        && if children.is_empty() { !plain(cond) } else { children.iter().any(|part| is_asked_from_outside(part, element)) }
}
