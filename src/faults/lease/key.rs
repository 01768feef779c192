//! `lock-coarse-key`: one key for all where the work is about one, or for all runs of a job where it is kept.

use super::round::Round;
use super::{Lease, shown};
use crate::facts::Value;
use crate::faults::candidate::{Candidate, Only};
use crate::faults::subject::Judged;
use crate::faults::view::View;
use crate::faults::{Confidence, Role};
use crate::program::{ColumnKind, FlatEvent};
use crate::rules::words;

/// A constant key around work on the one entity that a request names.
pub(super) fn detect(view: &View<'_>, lease: &Lease<'_>, found: &mut Judged) {
    if lease.release.is_none() || !lease.key.as_ref().is_some_and(|key| constant(view, key)) {
        return;
    }
    let Some((_, work)) = lease.under(view).find(|(_, event)| about_one(view, event)) else { return };
    let message = format!(
        "the lock's key is the same for every request, and {} is about one entity: all copies wait in one line",
        view.describe(work)
    );
    let mut candidate = Candidate::new(view, "lock-coarse-key", lease.event, work, message);
    candidate.hop(Role::Acquire, lease.event, "one key for all");
    candidate.hop(Role::Effect, work, "about the entity that the request names");
    candidate.only = Some(Only::OutsideJobs);
    found.push(candidate.at_most(lease.confidence()).at_most(Confidence::Medium));
}

/// A text without values in it, alone or in a list.
fn constant(view: &View<'_>, key: &Value) -> bool {
    match view.world.tree.settled(key) {
        Value::Text(_) => true,
        Value::List(keys) => keys.len() == 1 && constant(view, &keys[0]),
        _ => false,
    }
}

/// Whether a statement speaks of the row whose id the function was given.
fn about_one(view: &View<'_>, event: &FlatEvent) -> bool {
    let given = |value: &Value| value.any(&|part| matches!(part, Value::Param(function, _) if *function == view.flat.root));
    event.statement().is_some_and(|statement| {
        statement.wheres.iter().any(|column| {
            let id = words(&column.name).last().is_some_and(|word| matches!(word.as_str(), "id" | "pk" | "uuid"));
            id && column.kind == ColumnKind::Equal && given(&column.value)
        })
    })
}

/// A job's lease that is kept until it ends still stands when the next run comes.
pub(super) fn kept(view: &View<'_>, lease: &Lease<'_>, round: &Round, found: &mut Judged) {
    let (Some(ttl), Some(period)) = (lease.ttl, round.period) else { return };
    if lease.renewed || !round.keeps(view, lease) || ttl.least < period {
        return;
    }
    let Some((_, work, _)) = lease.unguarded(view).into_iter().next() else { return };
    let message = format!(
        "the lock is kept for {}, the job runs every {}, and its key does not name the run: the next run finds it taken",
        shown(ttl.least),
        shown(period)
    );
    let mut candidate = Candidate::new(view, "lock-coarse-key", lease.event, work, message);
    candidate.add(Role::Entry, round.at, format!("every {}", shown(period)));
    candidate.hop(Role::Acquire, lease.event, "one key for all runs");
    candidate.stands = true;
    found.push(candidate.at_most(lease.confidence()));
}
