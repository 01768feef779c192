//! `lock-not-released`: ways out between taking a shared lock and freeing it that leave it taken.

use super::Role;
use super::candidate::Candidate;
use super::effects::effect;
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Spot};
use crate::rules::Meaning;
use crate::syntax::ExitKind;

/// A lock that is taken at an event and freed by these later ones, where a way out is without any of them.
pub(super) fn not_released(view: &View<'_>, taken: (u32, &FlatEvent), frees: &[(u32, &FlatEvent)]) -> Option<Candidate> {
    let (index, lock) = taken;
    let (last, release) = *frees.last()?;
    if frees.iter().any(|(_, release)| release.in_finally) || release.detached {
        return None;
    }
    let between = view.events().filter(|(at, event)| *at > index && *at < last && event.kv().is_none());
    let (_, risk) = between.into_iter().find(|(at, event)| {
        // Who did not get it leaves nothing taken.
        let lost = event.guards.iter().any(|guard| view.cond_depends(guard.cond).contains(&index));
        let freed =
            frees.iter().any(|(free, release)| free < at && release.guards.iter().all(|guard| event.guards.contains(guard)));
        let throws = matches!(&event.act, Act::Exit { kind: ExitKind::Throw, .. })
            && !lost
            && (event.hops.is_empty() || event.caught.is_none());
        let fails = match view.world.tree.errors_are_values(event.origin.0.file) {
            true => leaves(view, lock, event) && !of_taking(view, taken, event),
            false => effect(view, event).is_some() && event.caught.is_none(),
        };
        throws || fails || returns(view, taken, release, event) && !freed
    })?;
    let left = matches!(&risk.act, Act::Exit { .. });
    let message = match left {
        true => "a way out between taking and freeing leaves the lock taken until it expires",
        false => "an error between taking and freeing leaves the lock taken until it expires",
    };
    let mut candidate = Candidate::new(view, "lock-not-released", lock, release, message.to_owned());
    candidate.hop(Role::Acquire, lock, "taken here");
    candidate.hop(Role::Effect, risk, if left { "left here" } else { "can fail" });
    candidate.hop(Role::Release, release, "freed only if it did not");
    Some(candidate)
}

/// Whether the function that takes the lock is left, by who got it and does not hand it on.
fn returns(view: &View<'_>, taken: (u32, &FlatEvent), release: &FlatEvent, event: &FlatEvent) -> bool {
    let (index, lock) = taken;
    // What is asked of the lock's answer on the way to where it is freed is asked here too.
    let asked = |event: &FlatEvent| {
        let mut own: Vec<_> =
            event.guards.iter().copied().filter(|guard| view.cond_depends(guard.cond).contains(&index)).collect();
        own.sort_by_key(|guard| guard.cond);
        own
    };
    match &event.act {
        Act::Exit { kind: ExitKind::Return, value } => {
            event.hops == lock.hops
                && event.origin.0 == lock.origin.0
                && !event.in_catch
                && asked(event) == asked(release)
                && !view.flat.depends(value).contains(&index)
        }
        _ => false,
    }
}

/// Whether an error leaves the function that took the lock, not only the one it happens in.
fn leaves(view: &View<'_>, lock: &FlatEvent, event: &FlatEvent) -> bool {
    let passed_on = |at: &Spot| view.world.tree.events_at(*at).any(|(_, _, call)| call.propagated);
    let shared = lock.hops.iter().zip(event.hops.iter()).take_while(|(left, right)| left == right).count();
    event.propagated && event.hops.iter().skip(shared).all(passed_on)
}

/// Whether an error is that of taking the lock itself: nothing is held then.
fn of_taking(view: &View<'_>, taken: (u32, &FlatEvent), event: &FlatEvent) -> bool {
    let Some((callee, args)) = event.call() else { return false };
    let takes = |at: &u32| *at == taken.0 || taken.1.hops.contains(&view.event(*at).at);
    let about = |value: &Value| view.flat.depends(value).iter().any(takes);
    // Or it hands on what the call that takes the lock gave.
    let gave = |value: &Value| {
        let mut calls = view.events().filter(|(_, call)| taken.1.hops.contains(&call.at));
        calls.any(|(_, call)| call.returns.iter().any(|(given, _)| given == value))
    };
    let hands_on = || event.meant(Meaning::Pass).is_some_and(|pass| gave(pass.part("of").unwrap_or(&pass.receiver)));
    about(callee) || args.iter().any(|(_, value)| about(value)) || hands_on()
}
