//! What must hold behind a call that leaves with an error where it does not: checks that a function of their own makes
//! (`ensure_open(order)`), or a loop over what is asked for.

use std::rc::Rc;

use super::view::View;
use crate::facts::{Act, Guard};
use crate::program::FlatEvent;
use crate::syntax::ExitKind;

/// What must hold for an event besides its own guards: with the opposite, an error had left before it.
pub(super) fn passed(view: &View<'_>, index: u32) -> Rc<[Guard]> {
    let later = view.event(index);
    let mut known: Vec<Guard> = later.guards.to_vec();
    let own = known.len();
    for (_, exit) in view.events().take_while(|(at, _)| *at < index).filter(|(_, exit)| leaves(exit, later)) {
        let open = || exit.guards.iter().filter(|guard| !known.contains(guard));
        // With the opposite of one of them, the error is on another way.
        if open().any(|guard| known.contains(&opposite(*guard))) {
            continue;
        }
        // Where several lead to the error, the nearest is what it is about.
        if let Some(last) = open().next_back().map(|guard| opposite(*guard)) {
            known.push(last);
        }
    }
    known.split_off(own).into()
}

/// Whether an exit is an error that leaves all that a later event is in. What the function asks itself is among the event's own
/// guards, but for what a loop asked before.
fn leaves(exit: &FlatEvent, later: &FlatEvent) -> bool {
    let caught = exit.caught.as_ref().is_some_and(|(_, throws)| !throws);
    matches!(exit.act, Act::Exit { kind: ExitKind::Throw, .. })
        && !(exit.in_catch || exit.in_finally || exit.detached || later.detached)
        && (!exit.hops.is_empty() || exit.in_loop.is_some())
        && (!caught || exit.caught == later.caught && !later.in_catch)
}

fn opposite(guard: Guard) -> Guard {
    Guard { holds: !guard.holds, ..guard }
}
