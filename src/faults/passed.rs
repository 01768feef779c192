//! What must hold behind a call that leaves with an error where it does not: checks that a function of their own makes
//! (`ensure_open(order)`, `voucher.ensure_open()?`), or a loop over what is asked for; and behind a condition of the tree's own, which
//! gives its answer on several ways (`token.is_valid()`).

use std::rc::Rc;

use super::view::View;
use crate::facts::{Act, Guard, Value};
use crate::program::{FlatEvent, What};
use crate::rules::Meaning;
use crate::syntax::ExitKind;

/// What must hold for an event besides its own guards: with the opposite, an error had left before it.
pub(super) fn passed(view: &View<'_>, index: u32) -> Rc<[Guard]> {
    let later = view.event(index);
    let mut known: Vec<Guard> = later.guards.to_vec();
    let own = known.len();
    for (_, earlier) in view.events().take_while(|(at, _)| *at < index) {
        if leaves(earlier, later) {
            learn(&mut known, &earlier.guards);
        }
        if earlier.propagated && earlier.inlined && !earlier.detached {
            let errors = earlier.returns.iter().filter(|(value, _)| is_error(view, value));
            errors.for_each(|(_, on)| learn(&mut known, on));
        }
    }
    let mut at = 0;
    while let Some(guard) = known.get(at).copied() {
        answered(view, guard, &mut known);
        at += 1;
    }
    known.split_off(own).into()
}

/// Adds what a condition of the tree's own (`token.is_valid()`) says by its answer: where it would have given the opposite, it did not.
fn answered(view: &View<'_>, guard: Guard, known: &mut Vec<Guard>) {
    let Some(cond) = view.flat.conds.get(guard.cond as usize) else { return };
    let (value, holds) = match &cond.value {
        Value::Not(inner) => (&**inner, !guard.holds),
        value => (value, guard.holds),
    };
    let Value::Flat(at) = value else { return };
    let asked = view.event(*at);
    if asked.inlined && !asked.detached {
        let opposite = asked.returns.iter().filter(|(value, _)| *value == Value::Bool(!holds));
        opposite.for_each(|(_, on)| learn(known, on));
    }
}

/// Adds what must hold where an error under these guards did not leave.
fn learn(known: &mut Vec<Guard>, on: &[Guard]) {
    let open = || on.iter().filter(|guard| !known.contains(guard));
    // With the opposite of one of them, the error is on another way.
    if open().any(|guard| known.contains(&opposite(*guard))) {
        return;
    }
    // Where several lead to the error, the nearest is what it is about.
    let last = open().next_back().map(|guard| opposite(*guard));
    known.extend(last);
}

/// Whether an exit is an error that leaves all that a later event is in. What the function asks itself is among the event's own
/// guards, but for what a loop asked before.
fn leaves(exit: &FlatEvent, later: &FlatEvent) -> bool {
    let caught = exit.caught.as_ref().is_some_and(|(_, throws)| !throws);
    let throws = matches!(exit.act, Act::Exit { kind: ExitKind::Throw, .. });
    (throws && (!exit.hops.is_empty() || exit.in_loop.is_some()) || exit.meant(Meaning::Leave).is_some())
        && !(exit.in_catch || exit.in_finally || exit.detached || later.detached)
        && (!caught || exit.caught == later.caught && !later.in_catch)
}

/// Whether a value is an error, where errors are values: what no pack speaks of and the language itself makes, or nothing.
pub(super) fn is_error(view: &View<'_>, value: &Value) -> bool {
    let Value::Flat(at) = value else { return *value == Value::Null };
    let made = view.event(*at);
    matches!(made.what, What::Nothing)
        && matches!(made.call(), Some((Value::Global(_), args)) if args.len() == 1)
        && view.world.tree.errors_are_values(made.origin.0.file)
}

fn opposite(guard: Guard) -> Guard {
    Guard { holds: !guard.holds, ..guard }
}
