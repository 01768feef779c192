//! A store that is down counts as a lock that was taken: a handler, an arm or a default that answers as if it had been.

use super::effects::effect;
use super::pairs::Taken;
use super::shared_lock::passed;
use super::view::View;
use crate::facts::{Act, Event, FnRef, Guard, Value};
use crate::program::{FlatEvent, Spot};
use crate::rules::Meaning;
use crate::syntax::{ExitKind, Shape};

/// The place where an error of the store is turned into a lock that was taken.
pub(super) fn fails_open<'v>(view: &View<'v>, taken: &Taken<'_>) -> Option<&'v FlatEvent> {
    let (_, throws) = taken.event.caught.as_ref()?;
    if *throws || taken.event.in_catch {
        return None;
    }
    let origin = taken.event.origin.0;
    let facts = view.world.tree.facts(origin)?;
    let answers_taken = caught_as_taken(view, taken).is_some();
    let leaves = facts.events.iter().any(|event| {
        event.in_catch
            && matches!(
                &event.act,
                Act::Exit { kind: ExitKind::Return | ExitKind::Throw | ExitKind::Continue | ExitKind::Break, .. }
            )
    });
    let taken_index = taken.index;
    let mut after =
        view.events().filter(|(index, event)| *index > taken_index && effect(view, event).is_some() && event.caught.is_none());
    if answers_taken {
        // What is answered in its place has to decide what goes on.
        let asks = |cond: u32| view.cond_depends(cond).contains(&taken_index);
        let decided = |index: u32, event: &FlatEvent| {
            event.guards.iter().any(|guard| asks(guard.cond)) || view.passed(index).iter().any(|guard| asks(guard.cond))
        };
        return after.find(|(index, event)| decided(*index, event)).map(|(_, event)| event);
    }
    let after = after.next().map(|(_, event)| event);
    if leaves || !taken.event.hops.is_empty() {
        return None;
    }
    // The handler falls through, and what comes after does not depend on the answer.
    after.filter(|event| !view.decided_by(event).contains(&taken_index) || handler_sets(view, origin))
}

/// Where a handler, in the function that catches an error of the store, answers with something that counts as taken.
pub(super) fn caught_as_taken(view: &View<'_>, taken: &Taken<'_>) -> Option<Spot> {
    let tree = view.world.tree;
    let answers = |event: &Event| match &event.act {
        Act::Exit { kind: ExitKind::Return, value } => {
            event.in_catch && !matches!(value, Value::Null | Value::Bool(false) | Value::Unknown | Value::Number(_))
        }
        _ => false,
    };
    // The function of each call on the way, where that call is in a `try`.
    let catching = |spot: &Spot| tree.events_at(*spot).find_map(|(function, _, event)| Some((function, event.in_try?)));
    let on_the_way = taken.event.hops.iter().filter_map(catching).filter(|(function, _)| *function != view.root());
    let (origin, number) = taken.event.origin;
    let own = || tree.facts(origin)?.events.get(number as usize)?.in_try;
    let own = own().filter(|_| !taken.event.hops.is_empty()).map(|tried| (origin, tried));
    own.into_iter().chain(on_the_way).find_map(|(function, tried)| {
        let facts = tree.facts(function)?;
        let handler = facts.tries.get(tried as usize)?;
        let mut handled = facts.events.iter().enumerate().filter(|(number, _)| handler.handles(*number as u32));
        let (_, found) = handled.find(|(_, event)| answers(event))?;
        Some(Spot { file: function.file, span: found.span })
    })
}

/// Where an error of the store, as a value, is answered with what is answered where the lock was taken: by an arm of a helper, or by
/// a default.
pub(super) fn answered_as_taken(view: &View<'_>, taken: &Taken<'_>) -> Option<Spot> {
    let about = |value: &Value| view.flat.depends(value).contains(&taken.index);
    let failed = |guard: &Guard| {
        let cond = view.flat.conds.get(guard.cond as usize)?;
        let so = match &cond.value {
            Value::Is(of, shape) => about(of) && (**shape == Shape::Err && guard.holds || **shape == Shape::Ok && !guard.holds),
            _ => false,
        };
        so.then_some(cond.at)
    };
    let behind = |value: &Value| passed(view, value);
    let by_an_arm =
        view.events().filter(|(_, event)| event.inlined && taken.event.hops.contains(&event.at)).find_map(|(_, call)| {
            call.returns.iter().find_map(|(value, guards)| {
                let at = guards.iter().find_map(failed)?;
                let given = behind(value);
                let nothing =
                    matches!(given, Value::Null | Value::Bool(false) | Value::Unknown | Value::Number(_) | Value::Flat(_));
                let same = |(other, on): &(Value, Vec<Guard>)| {
                    on != guards && !on.iter().any(|on| failed(on).is_some()) && behind(other) == given
                };
                (!nothing && call.returns.iter().any(same)).then_some(at)
            })
        });
    by_an_arm.or_else(|| {
        view.events().find_map(|(_, event)| {
            let meant = event.meant(Meaning::Pass)?;
            let of = meant.part("of").unwrap_or(&meant.receiver);
            (meant.part("otherwise") == Some(&Value::Bool(true)) && about(of)).then_some(event.at)
        })
    })
}

/// Whether a handler assigns a constant that counts as taken.
fn handler_sets(view: &View<'_>, function: FnRef) -> bool {
    view.world.tree.facts(function).is_some_and(|facts| {
        facts.events.iter().any(|event| event.in_catch && matches!(&event.act, Act::Write { value: Value::Bool(true), .. }))
    })
}
