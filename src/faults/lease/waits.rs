//! `lock-waits-job`: the copies that lose a scheduled job's lock wait for it and run the job again.

use super::Lease;
use super::round::{Round, retried};
use crate::facts::Value;
use crate::faults::candidate::Candidate;
use crate::faults::effects::{Sureness, decided_in_itself, effect, idempotent, reads};
use crate::faults::subject::Judged;
use crate::faults::view::View;
use crate::faults::{Confidence, Role};
use crate::program::{FlatEvent, Op};
use crate::rules::{Meaning, Scope};

pub(super) fn detect(view: &View<'_>, leases: &[Lease<'_>], round: &Round, found: &mut Judged) {
    if round.within.is_some() {
        return;
    }
    for lease in leases.iter().filter(|lease| lease.region.is_none() && retried(view, lease.event)) {
        let held = |index: u32, event: &FlatEvent| lease.holds(index, event);
        report(view, round, lease.acquire, lease.event, lease.confidence(), &held, found);
    }
    for region in view.regions.iter().filter(|region| region.scope == Scope::Cluster && region.excludes()) {
        let event = view.event(region.acquire);
        if patient(view, region.acquire, event) {
            let confidence = if region.sure { Confidence::High } else { Confidence::Medium };
            let held = |index: u32, event: &FlatEvent| region.holds(index, event) && !event.in_catch;
            report(view, round, region.acquire, event, confidence, &held, found);
        }
    }
    for (index, event) in view.events() {
        let waits = event.statement().is_some_and(|statement| {
            matches!(statement.op, Op::SessionLock | Op::TransactionLock) && !statement.tries && statement.table.is_none()
        });
        if waits {
            let held = |at: u32, event: &FlatEvent| at > index && !event.detached && !event.in_catch;
            report(view, round, index, event, Confidence::Medium, &held, found);
        }
    }
}

/// Whether the taking waits until the lock is free: it says so, or its library does when nothing is said.
fn patient(view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
    let look = crate::program::Look { tree: view.world.tree, events: &view.flat.events };
    let taking = event.meant(Meaning::Acquire);
    let lock = match (taking, &event.act) {
        (Some(meant), _) => meant.part("lock").unwrap_or(&meant.receiver).clone(),
        (None, crate::facts::Act::Enter { value }) => value.clone(),
        (None, _) => Value::Flat(index),
    };
    let made = crate::program::maker(&look, &lock).and_then(|made| look.meaning(&made, event.origin.0.file));
    let made = made.filter(|made| made.is == Meaning::Lock);
    let part = |name: &str| taking.and_then(|meant| meant.part(name)).or_else(|| made.as_ref()?.part(name));
    let no = |value: &Value| matches!(view.world.tree.settled(value), Value::Bool(false) | Value::Number(0.0));
    let refuses = ["blocking", "waits"].iter().any(|name| part(name).is_some_and(no));
    !refuses && part("patient").is_some_and(|value| *value == Value::Bool(true))
}

fn report(
    view: &View<'_>,
    round: &Round,
    acquire: u32,
    event: &FlatEvent,
    confidence: Confidence,
    held: &dyn Fn(u32, &FlatEvent) -> bool,
    found: &mut Judged,
) {
    let under = view.events().filter(|(index, event)| held(*index, event));
    let work = under.filter_map(|(index, event)| Some((index, event, effect(view, event)?)));
    let again = |index: u32, event: &FlatEvent| {
        idempotent(view, event).is_none() && decided_in_itself(view, event).is_none() && !looked(view, acquire, index, event)
    };
    let Some((_, work, sureness)) = work.into_iter().find(|(index, event, _)| again(*index, event)) else { return };
    let message = format!("the copies that lose this lock wait for it, and then do {} again, late", view.describe(work));
    let mut candidate = Candidate::new(view, "lock-waits-job", event, work, message);
    candidate.add(Role::Entry, round.at, "every copy starts it at the same time".to_owned());
    candidate.hop(Role::Acquire, event, "waits until it is free");
    candidate.hop(Role::Effect, work, view.describe(work));
    candidate.stands = true;
    candidate.confidence = match sureness {
        Sureness::Known => Confidence::High,
        Sureness::Presumed => Confidence::Medium,
        Sureness::Opaque => Confidence::Low,
    };
    found.push(candidate.at_most(confidence));
}

/// Whether something read after the lock was had decides about the work, or the work is about what was found then.
fn looked(view: &View<'_>, acquire: u32, index: u32, event: &FlatEvent) -> bool {
    let read = |at: &u32| *at > acquire && *at < index && reads(view.event(*at));
    if view.decided_by(event).iter().any(read) {
        return true;
    }
    let Some((_, args)) = event.call() else { return false };
    args.iter().any(|(_, value)| value.any(&|part| matches!(part, Value::Element(_)))) || event.in_loop.is_some()
}
