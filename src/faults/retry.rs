//! Loops started beside the program that are no job of every copy: another try of what failed, and the handling of what a channel
//! of this process gives. It does not know what the work is.

use super::view::View;
use crate::facts::Value;
use crate::program::{FlatEvent, Spot};
use crate::rules::Meaning;
use crate::syntax::Shape;

/// Whether an event stands in a loop, by itself or by the calls that lead to it.
pub(super) fn stands_in(round: Spot, event: &FlatEvent) -> bool {
    way(event).any(|spot| inside(round, spot))
}

/// Whether a loop does some work (an event with its index) again only where it failed, or once for each item that a channel of this
/// process gives: then no copy does what another does.
pub(super) fn once_for_each(view: &View<'_>, round: Spot, index: u32, work: &FlatEvent) -> bool {
    tries_again(view, round, work) || drains(view, round, index, work)
}

/// Whether the loop waits only where this very work failed.
fn tries_again(view: &View<'_>, round: Spot, work: &FlatEvent) -> bool {
    let mut waits = view
        .events()
        .filter(|(_, event)| event.meant(Meaning::Sleep).is_some() && event.in_loop.is_some_and(|(at, _)| at == round))
        .peekable();
    let of_it = |at: &u32| {
        let tried = view.event(*at);
        way(tried).any(|spot| inside(round, spot) && way(work).any(|own| own == spot))
    };
    let after_failure = |event: &FlatEvent| {
        event.guards.iter().any(|guard| {
            let cond = view.flat.conds.get(guard.cond as usize);
            let failed = cond.and_then(|cond| Some((failure(&cond.value, guard.holds)?, cond.at)));
            failed.is_some_and(|(of, asked)| {
                view.flat.depends(of).iter().any(of_it) || inside(round, &asked) && way(work).any(|own| inside(asked, own))
            })
        })
    };
    waits.peek().is_some() && waits.all(|(_, event)| after_failure(event))
}

/// What failed where a condition comes out so.
fn failure(value: &Value, holds: bool) -> Option<&Value> {
    match value {
        Value::Not(inner) => failure(inner, !holds),
        Value::Is(of, shape) => match (&**shape, holds) {
            (Shape::Err, true) | (Shape::Ok, false) => Some(of),
            _ => None,
        },
        Value::All(parts) | Value::Mix(parts) if holds => parts.iter().find_map(|part| failure(part, true)),
        _ => None,
    }
}

/// Whether an item of a channel must have come before the work, in every round.
fn drains(view: &View<'_>, round: Spot, index: u32, work: &FlatEvent) -> bool {
    view.events().take_while(|(at, _)| *at < index).any(|(at, event)| {
        let Some(meant) = event.meant(Meaning::Receive).filter(|_| stands_in(round, event)) else { return false };
        let on_the_way = event.guards.iter().all(|guard| work.guards.contains(guard));
        // One that does not wait says by its answer whether there was an item.
        let came = || {
            work.guards.iter().any(|guard| {
                let cond = view.flat.conds.get(guard.cond as usize);
                cond.is_some_and(|cond| guard.holds && says_it_came(view, &cond.value, at))
            })
        };
        on_the_way && (!meant.flag("tries") || came())
    })
}

/// Whether a condition holds only where a channel gave an item.
fn says_it_came(view: &View<'_>, value: &Value, channel: u32) -> bool {
    match value {
        Value::Is(of, shape) => matches!(**shape, Shape::Ok | Shape::Present) && view.flat.depends(of).contains(&channel),
        Value::All(parts) | Value::Mix(parts) => parts.iter().any(|part| says_it_came(view, part, channel)),
        _ => false,
    }
}

/// Whether a place is in another.
fn inside(outer: Spot, spot: &Spot) -> bool {
    spot.file == outer.file && outer.span.start <= spot.span.start && spot.span.end <= outer.span.end
}

/// The calls that lead to an event, and the event.
fn way(event: &FlatEvent) -> impl Iterator<Item = &Spot> {
    event.hops.iter().chain([&event.at])
}
