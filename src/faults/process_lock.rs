//! `process-lock`, `process-single-flight` and `lock-per-call`: a lock of one process is held around shared work.

use super::candidate::Candidate;
use super::counted::counted_before;
use super::credential::{of_its_own, refreshes_credential};
use super::effects::{Sureness, effect, harmless, reads};
use super::reason::{Reason, Why};
use super::regions::Region;
use super::subject::{Judged, Kind, Subject};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::Value;
use crate::program::{FlatEvent, Holder, Lifetime};
use crate::rules::{Meaning, Scope};

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    for region in view.regions.iter().filter(|region| region.scope == Scope::Process) {
        let per_call = matches!(region.lifetime, Lifetime::Call);
        if per_call && !matches!(region.place.as_ref().map(|place| &place.holder), Some(Holder::Local(_))) {
            // A lock handed in: judged where it is made.
            continue;
        }
        let held: Vec<(u32, &FlatEvent, Sureness)> = view
            .events()
            .filter(|(index, event)| region.holds(*index, event))
            .filter_map(|(index, event)| Some((index, event, effect(view, event)?)))
            .collect();
        let subject = Subject::lock(view, Kind::Lock, region).around(view, held.iter().map(|(_, event, _)| *event));
        if !region.excludes() || per_call && takes_turns(view, region) {
            found.sound(subject, vec![Reason::new(Why::Bounds)]);
            continue;
        }
        let mut reasons = vec![];
        let work: Vec<(u32, &FlatEvent, Sureness)> = held
            .into_iter()
            .filter(|(_, event, _)| !(refreshes_credential(view, event) && of_its_own(view, event)))
            .filter(|(index, event, _)| match harmless(view, *index, event) {
                // A key on the row says nothing of how many there are.
                Some(reason) if reason.why == Why::UniqueKey && counted_before(view, *index, event).is_some() => true,
                Some(reason) => {
                    reasons.push(reason);
                    false
                }
                None => true,
            })
            .collect();
        match most_telling(view, region, &work) {
            Some((index, event, _))
                if decision(view, region, index, event).is_none() && on_what_it_holds(view, region, event) =>
            {
                found.sound(subject, vec![Reason::new(Why::KeepsWhole)]);
            }
            Some((index, event, sureness)) if !per_call && only_paces(view, region, index, event, sureness) => {
                found.sound(subject, vec![Reason::new(Why::KeepsApart)]);
            }
            Some((index, event, sureness)) => {
                found.push(candidate(view, region, index, event, sureness, per_call).about(subject));
            }
            None => found.sound(subject, reasons),
        }
    }
}

/// Whether a lock of one call is taken for each of several tasks of that call, which then take turns.
fn takes_turns(view: &View<'_>, region: &Region) -> bool {
    let Some(Holder::Local(made)) = region.place.as_ref().map(|place| &place.holder) else { return false };
    let (made, taken) = (view.event(*made), view.event(region.acquire));
    let each = |within: &u32| view.event(*within).meant(Meaning::Calls).is_some_and(|meant| meant.part("each").is_some());
    taken.in_loop.is_some() && taken.in_loop != made.in_loop
        || taken.detached && !made.detached
        || taken.within.iter().any(|within| each(within) && !made.within.contains(within))
}

/// Whether an effect is done with what the lock holds: a connection, a sender, a buffer that one task at a time may use. The
/// lock keeps that object whole; it decides nothing.
fn on_what_it_holds(view: &View<'_>, region: &Region, event: &FlatEvent) -> bool {
    let Some((callee, args)) = event.call() else { return false };
    let held = |value: &Value| view.flat.depends(value).contains(&region.acquire);
    held(callee) || args.iter().any(|(_, value)| held(value))
}

/// Whether known work is done under the lock whatever was read there: every caller does it, one after the other, and with a lock of
/// each copy they do so as well.
fn only_paces(view: &View<'_>, region: &Region, index: u32, event: &FlatEvent, sureness: Sureness) -> bool {
    sureness != Sureness::Opaque && !refreshes_credential(view, event) && decision(view, region, index, event).is_none()
}

/// The effect that tells most: one that a decision leads to, then the surest, then one on what was read, then the first.
fn most_telling<'e>(
    view: &View<'_>,
    region: &Region,
    work: &[(u32, &'e FlatEvent, Sureness)],
) -> Option<(u32, &'e FlatEvent, Sureness)> {
    work.iter()
        .max_by_key(|(index, event, sureness)| {
            let read = decision(view, region, *index, event);
            (
                refreshes_credential(view, event),
                read.is_some(),
                *sureness,
                read.is_some_and(|read| of_one_table(view.event(read), event)),
                std::cmp::Reverse(*index),
            )
        })
        .copied()
}

/// Whether a read and a write are of the same table.
fn of_one_table(read: &FlatEvent, write: &FlatEvent) -> bool {
    let table = |event: &FlatEvent| event.statement().and_then(|statement| statement.table.clone());
    table(read).is_some_and(|read| table(write) == Some(read))
}

/// Whether an event asks for what others may change: in a store, or at another service.
fn asks_others(event: &FlatEvent) -> bool {
    reads(event) || event.meant(Meaning::Pure).is_some_and(|meant| meant.text("kind").is_some())
}

/// The read under the lock on which an effect depends.
fn decision(view: &View<'_>, region: &Region, index: u32, event: &FlatEvent) -> Option<u32> {
    let mut depends = view.decided_by(event);
    if let Some((_, args)) = event.call() {
        depends.extend(args.iter().flat_map(|(_, value)| view.flat.depends(value)));
    }
    if let Some(statement) = event.statement() {
        depends.extend(statement.sets.iter().flat_map(|column| view.flat.depends(&column.value)));
        depends.extend(statement.entity.iter().flat_map(|entity| view.flat.depends(entity)));
    }
    depends
        .into_iter()
        .filter(|at| *at < index && region.holds(*at, view.event(*at)) && asks_others(view.event(*at)))
        .min()
        .or_else(|| {
            // A session's writes are told by what was read and changed before it is flushed.
            let flush = matches!(&event.what, crate::program::What::Meant(meant) if meant.is == crate::rules::Meaning::Flush);
            flush
                .then(|| {
                    view.events()
                        .find(|(at, earlier)| *at < index && region.holds(*at, earlier) && reads(earlier))
                        .map(|(at, _)| at)
                })
                .flatten()
        })
}

fn candidate(view: &View<'_>, region: &Region, index: u32, event: &FlatEvent, sureness: Sureness, per_call: bool) -> Candidate {
    let acquire = view.event(region.acquire);
    let decision = decision(view, region, index, event);
    let refresh = refreshes_credential(view, event);
    let what = view.describe(event);
    let (rule, message) = if per_call {
        ("lock-per-call", format!("the lock is made anew for each call, so it excludes nobody from {what}"))
    } else if refresh {
        (
            "process-single-flight",
            format!(
                "one refresh per process: each copy takes a lock of its own before {what}, and each refresh can end the token another copy just got"
            ),
        )
    } else if decision.is_some() {
        (
            "process-lock",
            format!("a lock of one process decides {what}: every copy has its own, so each copy can pass the check and do it"),
        )
    } else {
        ("process-lock", format!("a lock of one process is held around {what}: other copies do not wait for it"))
    };
    let mut candidate = Candidate::new(view, rule, acquire, event, message);
    if let Some(place) = &region.place
        && let Some((file, span)) = view.made(place).at
    {
        candidate.add(Role::State, crate::program::Spot { file, span }, "the lock lives in this process".to_owned());
    }
    candidate.hop(Role::Acquire, acquire, "taken here");
    if let Some(read) = decision {
        candidate.hop(Role::Check, view.event(read), "the decision is made on this read");
    }
    candidate.hop(Role::Effect, event, what);
    if let Some(release) = region.release {
        candidate.hop(Role::Release, view.event(release), "freed here");
    }
    let confidence = match (sureness, decision.is_some() || refresh || per_call) {
        (Sureness::Opaque, _) => Confidence::Low,
        (_, false) => Confidence::Low,
        (Sureness::Presumed, true) => Confidence::Medium,
        (Sureness::Known, true) => Confidence::High,
    };
    let lasting = match region.lifetime {
        Lifetime::Process { sure: false } if !region.sure => Confidence::Medium,
        _ => Confidence::High,
    };
    if let Some(place) = &region.place {
        candidate = candidate.of_state(place);
    }
    candidate.at_most(confidence).at_most(lasting).at_most(if region.sure { Confidence::High } else { Confidence::Medium })
}
