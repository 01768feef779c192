//! Marks that say "not now": set where work came to nothing, so that it is not tried again at once. Who does it twice meanwhile only
//! learns the same twice.

use super::effects::{effect, idempotent};
use super::exists::says_exists;
use super::view::View;
use crate::facts::{Act, Guard};
use crate::program::FlatEvent;
use crate::syntax::CallForm;

/// Whether a mark is set only where what was done since it was looked at (an event) came to nothing, and nothing is done there.
pub(super) fn says_it_failed(view: &View<'_>, looked: u32, set: u32) -> bool {
    let mark = view.event(set);
    let done_there = |way: &dyn Fn(&FlatEvent) -> bool| {
        view.events().any(|(index, event)| {
            index != set
                && way(event)
                && event.kv().is_none()
                && effect(view, event).is_some()
                && idempotent(view, event).is_none()
        })
    };
    let caught = mark.in_catch && !view.event(looked).in_catch;
    caught && !done_there(&|event| event.in_catch)
        || mark
            .guards
            .iter()
            .filter(|guard| came_to_nothing(view, looked, set, **guard))
            .any(|guard| !done_there(&|event| event.guards.contains(guard)))
}

/// Whether a guard says that a call between two events gave nothing.
fn came_to_nothing(view: &View<'_>, looked: u32, set: u32, guard: Guard) -> bool {
    let Some(cond) = view.flat.conds.get(guard.cond as usize) else { return false };
    view.cond_depends(guard.cond).iter().filter(|at| **at > looked && **at < set).any(|at| {
        let called = matches!(view.event(*at).act, Act::Call { form: CallForm::Plain, .. });
        called && says_exists(view, &cond.value, *at).is_some_and(|exists| exists != guard.holds)
    })
}
