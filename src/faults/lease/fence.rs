//! `lock-without-fence`: nothing but the lease keeps a holder that comes late from writing.

use super::Lease;
use crate::faults::candidate::Candidate;
use crate::faults::effects::Sureness;
use crate::faults::subject::Judged;
use crate::faults::view::View;
use crate::faults::{Confidence, Role};
use crate::program::{Column, ColumnKind, FlatEvent, What};
use crate::rules::{CommandKind, Severity};

pub(super) fn detect(view: &View<'_>, lease: &Lease<'_>, outlasted: bool, found: &mut Judged) {
    if let Some(candidate) = counted_apart(view, lease) {
        found.push(candidate);
        return;
    }
    let unguarded = lease.unguarded(view);
    let costly = unguarded.iter().find(|(_, event, sureness)| *sureness == Sureness::Known && moves(event));
    let known = unguarded.iter().find(|(_, _, sureness)| *sureness == Sureness::Known);
    let Some((_, work, _)) = costly.or(known) else { return };
    let message = format!(
        "only the lease keeps late holders out: {} goes through even when the lease was lost, since nothing in it is compared",
        view.describe(work)
    );
    let mut candidate = Candidate::new(view, "lock-without-fence", lease.event, work, message);
    candidate.hop(Role::Acquire, lease.event, "the lease");
    candidate.hop(Role::Effect, work, view.describe(work));
    if outlasted && costly.is_some() {
        candidate.severity = Some(Severity::Error);
        candidate.stands = true;
    }
    found.push(candidate.at_most(lease.confidence()).at_most(Confidence::Medium));
}

/// A write that compares a number which was counted up after the lease was taken: whoever comes late is given the newest one.
fn counted_apart(view: &View<'_>, lease: &Lease<'_>) -> Option<Candidate> {
    let (work, count) = lease.under(view).find_map(|(index, event)| {
        let statement = event.statement().filter(|statement| statement.writes())?;
        let stored = |asked: &&Column| statement.sets.iter().any(|set| set.name == asked.name && set.value == asked.value);
        let numbers = statement.wheres.iter().filter(|asked| asked.kind == ColumnKind::Compared).filter(stored);
        let mut counts = numbers.flat_map(|asked| view.flat.depends(&asked.value));
        let counted = |at: &u32| {
            *at > lease.acquire && *at < index && view.event(*at).kv().is_some_and(|kv| kv.op == CommandKind::Increment)
        };
        Some((event, view.event(counts.find(counted)?)))
    })?;
    let message = format!(
        "the fence is counted apart from the lease: who comes late is given the newest number, and {} goes through",
        view.describe(work)
    );
    let mut candidate = Candidate::new(view, "lock-without-fence", lease.event, work, message);
    candidate.hop(Role::Acquire, lease.event, "the lease");
    candidate.hop(Role::Check, count, "the number is counted here, whether or not the lease still stands");
    candidate.hop(Role::Effect, work, view.describe(work));
    candidate.severity = Some(Severity::Error);
    candidate.stands = true;
    Some(candidate.at_most(lease.confidence()).at_most(Confidence::Medium))
}

/// Whether it moves money or changes data.
fn moves(event: &FlatEvent) -> bool {
    match &event.what {
        What::Statement(statement) => statement.writes(),
        What::Meant(meant) => meant.text("kind").is_some_and(|kind| kind == "pay"),
        _ => false,
    }
}
