//! `lock-released-before-commit`: a lock freed inside a transaction that commits later.

use super::candidate::Candidate;
use super::effects::{idempotent, in_itself, row_locked};
use super::holds::{Freed, Hold, Reach, holds};
use super::transactions::{Transaction, transactions};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Op, What};
use crate::rules::Meaning;

pub(super) fn detect(view: &View<'_>, found: &mut Vec<Candidate>) {
    let transactions = transactions(view);
    if transactions.is_empty() {
        return;
    }
    for hold in holds(view).iter().filter(|hold| hold.reach != Reach::Transaction) {
        let taken = view.event(hold.taken);
        // The innermost is a part of the outer ones: it is the outermost that commits.
        let around = transactions.iter().find(|open| open.holds(view, hold.taken, taken) && open.outlives(hold.taken));
        let Some(transaction) = around else { continue };
        let inside = |index: u32| transaction.holds(view, index, view.event(index));
        let Some(freed) = hold.freed_before(view, transaction.by_hand(), inside) else { continue };
        let Some((_, work)) = view.events().find(|(index, event)| {
            hold.holds(view, *index, event) && transaction.holds(view, *index, event) && decides(view, *index, event)
        }) else {
            continue;
        };
        found.push(candidate(view, hold, transaction, freed, work));
    }
}

/// Whether an event writes rows that only the lock decides about.
fn decides(view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
    let writes = match &event.what {
        What::Statement(statement) => statement.writes() && idempotent(view, event).is_none() && in_itself(view, event).is_none(),
        What::Meant(meant) => meant.is == Meaning::Flush,
        _ => changes_a_row(view, event),
    };
    writes && row_locked(view, index, event).is_none()
}

/// Whether an event sets a column of a row that was read; the transaction's end writes it.
fn changes_a_row(view: &View<'_>, event: &FlatEvent) -> bool {
    let Act::Write { place: Value::Member(owner, _), .. } = &event.act else { return false };
    view.flat.depends(owner).iter().any(|at| view.event(*at).statement().is_some_and(|statement| statement.op == Op::Select))
}

fn candidate(view: &View<'_>, hold: &Hold, transaction: &Transaction, freed: Freed, work: &FlatEvent) -> Candidate {
    let taken = view.event(hold.taken);
    let mut candidate = Candidate::new(
        view,
        "lock-released-before-commit",
        taken,
        work,
        "the lock is freed while the transaction is still open: whoever takes it next does not see what was written, and decides on the old state".to_owned(),
    );
    candidate.distance = taken.hops.len().min(transaction.hops.len());
    candidate.stands = true;
    candidate.add(Role::State, transaction.at, "the transaction opens here and commits at its end".to_owned());
    candidate.hop(Role::Acquire, taken, "taken inside it");
    candidate.hop(Role::Effect, work, view.describe(work));
    if let Freed::At(release) = freed {
        candidate.hop(Role::Release, view.event(release), "freed before the commit");
    }
    candidate.at_most(if hold.sure { Confidence::High } else { Confidence::Medium })
}
