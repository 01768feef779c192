//! `lock-without-fence`: nothing but the lease keeps a holder that comes late from writing.

use super::Lease;
use crate::faults::candidate::Candidate;
use crate::faults::effects::Sureness;
use crate::faults::subject::Judged;
use crate::faults::view::View;
use crate::faults::{Confidence, Role};
use crate::program::{FlatEvent, What};
use crate::rules::Severity;

pub(super) fn detect(view: &View<'_>, lease: &Lease<'_>, outlasted: bool, found: &mut Judged) {
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

/// Whether it moves money or changes data.
fn moves(event: &FlatEvent) -> bool {
    match &event.what {
        What::Statement(statement) => statement.writes(),
        What::Meant(meant) => meant.text("kind").is_some_and(|kind| kind == "pay"),
        _ => false,
    }
}
