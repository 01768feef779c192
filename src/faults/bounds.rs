//! Counts that bound one process: of what is open at it, of what runs in it. Each process has its own of that.

use super::process_counter::counts;
use super::tests_of_state::StateChange;
use super::view::View;
use crate::facts::{Act, Event, Value};
use crate::program::{Args, Holder, Ty, meaning};
use crate::rules::{Meaning, words};
use crate::syntax::BinaryOp;

/// Whether the count is of what is open at this process (connections, sockets), and goes down when that closes.
pub(super) fn bounds_what_is_open(view: &View<'_>, change: &StateChange) -> bool {
    let (Holder::Field(_, name) | Holder::Variable(_, name)) = &change.place.holder else { return false };
    let tree = view.world.tree;
    if !words(name).iter().any(|word| tree.book.verbs.is_open(word)) {
        return false;
    }
    let about =
        |value: &Value| value.any(&|part| matches!(part, Value::Member(_, known) | Value::Module(_, known) if known == name));
    let file = view.event(change.event).origin.0.file;
    let lowered = |value: &Value| about(value) || view.place(value).is_some_and(|place| place.same(&change.place));
    tree.files.get(file as usize).is_some_and(|facts| {
        facts.functions.iter().flat_map(|function| &function.events).any(|event| match &event.act {
            Act::Write { place, op: Some(BinaryOp::Sub), .. } | Act::Delete { place } => lowered(place),
            Act::Call { callee: callee @ Value::Member(of, _), args, .. } if lowered(of) => {
                crate::program::meaning(tree, callee, args, file)
                    .is_some_and(|meant| meant.is == Meaning::Remove || meant.flag("lowers"))
            }
            _ => false,
        })
    })
}

/// Whether the count goes down again behind work that was handed in: how much of it one process does at a time.
pub(super) fn bounds_what_runs(view: &View<'_>, change: &StateChange) -> bool {
    let tree = view.world.tree;
    let file = view.event(change.event).origin.0.file;
    let is_it = |value: &Value| view.place(value).is_some_and(|place| place.same(&change.place));
    // An entry put one lower or higher than it was.
    let puts = |callee: &Value, args: &Args, by: BinaryOp| {
        let Value::Member(of, _) = callee else { return false };
        let steps = |value: &Value| value.any(&|part| matches!(part, Value::Op(op, _) if *op == by));
        is_it(of)
            && meaning(tree, callee, args, file)
                .is_some_and(|meant| meant.is == Meaning::Put && meant.part("value").is_some_and(steps))
    };
    let lowers = |event: &Event| match &event.act {
        Act::Write { place, op: Some(BinaryOp::Sub), .. } => is_it(place),
        Act::Call { callee, args, .. } => puts(callee, args, BinaryOp::Sub),
        _ => false,
    };
    let leads_down = |event: &Event| match &event.act {
        Act::Call { callee, .. } => match tree.ty(callee, file) {
            Ty::Function(helper) => tree.facts(helper).is_some_and(|facts| facts.events.iter().any(lowers)),
            _ => lowers(event),
        },
        _ => lowers(event),
    };
    let works = |event: &Event| matches!(&event.act, Act::Call { callee: Value::Param(..), awaited: true, .. });
    let Some(facts) = tree.files.get(file as usize).filter(|_| counts(view, change)) else { return false };
    let raises = |event: &Event| match &event.act {
        Act::Write { place, op: Some(BinaryOp::Add), .. } => is_it(place),
        Act::Call { callee, args, .. } => puts(callee, args, BinaryOp::Add),
        _ => false,
    };
    // Handed to the work itself, which calls it when it ends.
    let when_done = |event: &Event| match &event.act {
        Act::Call { callee: Value::Param(..), args, .. } => args.iter().any(|(_, value)| match value {
            Value::Function(done) => tree.facts(*done).is_some_and(|facts| facts.events.iter().any(lowers)),
            _ => false,
        }),
        _ => false,
    };
    facts.functions.iter().any(|function| {
        let mut events = function.events.iter();
        events.any(works) && events.any(leads_down)
            || function.events.iter().any(raises)
                && function.events.iter().any(|event| when_done(event) || event.in_finally && leads_down(event))
    })
}
