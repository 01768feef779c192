//! Writes that ask again whether the row is as it was found, and whose answer nobody looks at: who comes second changes nothing, and
//! goes on all the same.

use super::rows::RowWrite;
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Op};
use crate::rules::Meaning;

/// Whether nobody looks at what a conditional write says of itself.
pub(super) fn unread(view: &View<'_>, write: &RowWrite<'_>) -> bool {
    let statement = &write.statement;
    let says = statement.op == Op::Update && statement.conditional() && write.event.statement().is_some();
    says && !statement.returning
        && !statement.subquery
        && !write.saves
        && !looked_at(view, write.index)
        && !asked_where_it_stands(view, write.event)
}

/// Whether the function that a write stands in asks about what it gave. Its callers are not shown all of that: an error that is
/// caught to be thrown again.
fn asked_where_it_stands(view: &View<'_>, event: &FlatEvent) -> bool {
    let (function, index) = event.origin;
    let gave = |part: &Value| *part == Value::Result(function, index);
    let facts = view.world.tree.facts(function);
    facts.is_some_and(|facts| facts.conds.iter().any(|cond| cond.value.any(&gave)))
}

/// Whether anything is done with what an event gives.
fn looked_at(view: &View<'_>, index: u32) -> bool {
    let from_it = |value: &Value| view.flat.depends(value).contains(&index);
    let asked = (0..view.flat.conds.len() as u32).any(|cond| view.cond_depends(cond).contains(&index));
    let handed_on = |event: &FlatEvent| match &event.act {
        Act::Call { .. } if event.meant(Meaning::Pass).is_some() => false,
        Act::Call { callee, args, .. } => from_it(callee) || args.iter().any(|(_, value)| from_it(value)),
        Act::Write { value, .. } | Act::Exit { value, .. } => from_it(value),
        _ => false,
    };
    asked
        || view.events().any(|(at, event)| at > index && handed_on(event))
        || view.flat.returns.iter().any(|(value, _)| from_it(value))
}
