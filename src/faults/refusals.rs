//! Conditions on which an error leaves a function before it comes to some work, though they are written in what it calls:
//! `voucher.ensure_open()?`, a helper that throws.

use super::view::View;
use crate::facts::{Act, Guard, Value};
use crate::program::{FlatEvent, What};
use crate::syntax::ExitKind;

/// What must hold for an event besides its own guards, because an error in a callee leaves the function otherwise.
pub(super) fn held_by_callees(view: &View<'_>, index: u32, event: &FlatEvent) -> Vec<Guard> {
    let mut found: Vec<Guard> = vec![];
    let mut leaves = |on: &[Guard], around: &[Guard]| {
        let told = on.iter().rfind(|guard| !around.contains(guard));
        let other = told.map(|guard| Guard { cond: guard.cond, holds: !guard.holds });
        found.extend(other.filter(|guard| !event.guards.contains(guard)));
    };
    for (_, earlier) in view.events().take_while(|(at, _)| *at < index).filter(|(_, earlier)| !earlier.detached) {
        if matches!(&earlier.act, Act::Exit { kind: ExitKind::Throw, .. }) && !earlier.hops.is_empty() && earlier.caught.is_none()
        {
            leaves(&earlier.guards, &event.guards);
        }
        if earlier.propagated && earlier.inlined {
            let errors = earlier.returns.iter().filter(|(value, _)| is_error(view, value));
            errors.for_each(|(_, on)| leaves(on, &earlier.guards));
        }
    }
    found
}

/// Whether a value is an error, where errors are values: what no pack speaks of and the language itself makes, or nothing.
fn is_error(view: &View<'_>, value: &Value) -> bool {
    let Value::Flat(at) = value else { return *value == Value::Null };
    let made = view.event(*at);
    matches!(made.what, What::Nothing)
        && matches!(made.call(), Some((Value::Global(_), args)) if args.len() == 1)
        && view.world.tree.errors_are_values(made.origin.0.file)
}
