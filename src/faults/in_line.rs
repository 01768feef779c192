//! Locks made by hand of what runs one after another: the next piece of work is hung on the end of the last one, which is kept in
//! state of the process.

use super::view::View;
use crate::facts::{Act, FnFacts, FnRef, Value};
use crate::program::{FlatEvent, Meant};
use crate::rules::Meaning;

/// Steps between a piece of work and what is kept of it are followed this deep.
const DEEPEST: u32 = 4;

/// The end that a call hangs its body on, where what the call gives is kept as the next end. A body that runs at once, on what is
/// there, hangs on nothing.
pub(super) fn end_of_line(view: &View<'_>, event: &FlatEvent, meant: &Meant) -> Option<Value> {
    meant.part("gives").filter(|_| meant.flag("waits"))?;
    let end = before_it(view, &meant.receiver, 0);
    let place = view.place(&end).filter(|place| view.lasts(place))?;
    let (function, number) = event.origin;
    let facts = view.world.tree.facts(function)?;
    let made = |value: &Value| hangs_on(facts, value, (function, number), 0);
    let keeps = |other: &FlatEvent| {
        let known = facts.events.get(other.origin.1 as usize).filter(|_| other.origin.0 == function);
        let next = match (known.map(|known| &known.act), other.meant(Meaning::Put)) {
            (Some(Act::Write { value, .. }), _) => match &other.act {
                Act::Write { place, .. } if made(value) => view.place(place),
                _ => None,
            },
            (Some(Act::Call { args, .. }), Some(put)) if args.iter().any(|(_, value)| made(value)) => view.place(&put.receiver),
            _ => None,
        };
        next.is_some_and(|next| next.same(&place))
    };
    view.events().any(|(_, other)| keeps(other)).then_some(end)
}

/// What calls that only deal with an error were made on.
fn before_it(view: &View<'_>, value: &Value, depth: u32) -> Value {
    match value {
        Value::Flat(index) if depth < DEEPEST => match view.event(*index).meant(Meaning::Calls) {
            Some(meant) => before_it(view, &meant.receiver, depth + 1),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Whether a value is what a call gives, or was made of it by calls on it or that it was handed to.
fn hangs_on(facts: &FnFacts, value: &Value, call: (FnRef, u32), depth: u32) -> bool {
    value.any(&|part| match part {
        Value::Result(function, number) if *function == call.0 => {
            *number == call.1
                || depth < DEEPEST
                    && facts.events.get(*number as usize).is_some_and(|event| match &event.act {
                        Act::Call { callee: Value::Member(of, _), .. } => hangs_on(facts, of, call, depth + 1),
                        _ => false,
                    })
        }
        _ => false,
    })
}
