//! `lock-released-before-commit`: a lock freed inside a transaction that commits later.

use super::candidate::{Candidate, Only};
use super::effects::{idempotent, in_itself, row_locked};
use super::holds::{Freed, Hold, Reach, holds};
use super::rows::row_writes;
use super::transactions::{commits, on_the_way, transactions};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Look, Op, Spot, What, relative_to};
use crate::rules::Meaning;

pub(super) fn detect(view: &View<'_>, found: &mut Vec<Candidate>) {
    let transactions = transactions(view);
    let committing: Vec<u32> =
        view.events().filter(|(_, event)| commits(event) && !event.in_catch).map(|(index, _)| index).collect();
    if transactions.is_empty() && committing.is_empty() && view.world.request_transactions.is_none() {
        return;
    }
    for hold in holds(view).iter().filter(|hold| hold.reach != Reach::Transaction) {
        let taken = view.event(hold.taken);
        // The innermost is a part of the outer ones: it is the outermost that commits.
        let around = transactions.iter().find(|open| open.holds(view, hold.taken, taken) && open.outlives(hold.taken));
        let Some(transaction) = around else {
            found.extend(uncommitted(view, hold, &committing).or_else(|| in_the_request(view, hold)));
            continue;
        };
        let inside = |index: u32| transaction.holds(view, index, view.event(index));
        let Some(freed) = hold.freed_before(view, transaction.by_hand(), inside) else { continue };
        let Some((_, work)) = view.events().find(|(index, event)| {
            hold.holds(view, *index, event) && transaction.holds(view, *index, event) && decides(view, *index, event)
        }) else {
            continue;
        };
        let opened = (transaction.at, "the transaction opens here and commits at its end");
        found.push(candidate(view, hold, opened, transaction.hops.len(), freed, work));
    }
}

/// What is written under a lock of all copies in a session or on a connection that is in a transaction without being told, and
/// committed only when the lock is free again.
fn uncommitted(view: &View<'_>, hold: &Hold, committing: &[u32]) -> Option<Candidate> {
    if hold.reach != Reach::Copies {
        return None;
    }
    let freed = hold.freed_before(view, true, |_| false)?;
    let taken = view.event(hold.taken);
    let under = |index: u32| hold.holds(view, index, view.event(index));
    let last = view.events().map(|(index, _)| index).filter(|index| under(*index)).last()?;
    let commit = committing.iter().copied().find(|index| *index > last && on_the_way(taken, view.event(*index)))?;
    let (_, work) = view.events().find(|(index, event)| {
        under(*index) && decides(view, *index, event) && in_one_session(view, event, view.event(commit))
    })?;
    let committed = view.event(commit);
    let told = (committed.at, "committed only here");
    Some(candidate(view, hold, told, committed.hops.len(), freed, work))
}

/// What is written under a lock of all copies in the transaction that a setting opens for each request: it commits when the request
/// has been answered.
fn in_the_request(view: &View<'_>, hold: &Hold) -> Option<Candidate> {
    let opened = view.world.request_transactions.filter(|_| hold.reach == Reach::Copies)?;
    let freed = hold.freed_before(view, false, |_| true)?;
    let of_the_database = |event: &FlatEvent| {
        let table = event.statement().and_then(|statement| statement.table.as_deref());
        table.is_none_or(|table| view.world.schema.has(table))
    };
    let (_, work) = view.events().find(|(index, event)| {
        hold.holds(view, *index, event) && event.statement().is_some() && decides(view, *index, event) && of_the_database(event)
    })?;
    let told = (opened, "each request is a transaction, which commits at its end");
    let mut candidate = candidate(view, hold, told, view.event(hold.taken).hops.len(), freed, work);
    candidate.only = Some(Only::InRequest);
    Some(candidate)
}

/// Whether a write is one that a commit makes lasting: it is made on the same session, or on what the same connection gave.
fn in_one_session(view: &View<'_>, work: &FlatEvent, commit: &FlatEvent) -> bool {
    let tree = view.world.tree;
    let receiver = |event: &FlatEvent| match event.call() {
        Some((Value::Member(of, _), _)) => Some((**of).clone()),
        _ => None,
    };
    let Some(opened) = receiver(commit) else { return false };
    let on_it = |event: &FlatEvent| {
        let same = |of: &Value| {
            *of == opened
                || tree.name_of(&view.flat.plain(of)).is_some_and(|name| Some(name) == tree.name_of(&view.flat.plain(&opened)))
        };
        let from_it = |of: &Value| view.flat.depends(of).iter().any(|at| receiver(view.event(*at)).is_some_and(|of| same(&of)));
        event.library() == commit.library() && receiver(event).is_some_and(|of| same(&of) || from_it(&of))
    };
    match &work.act {
        // A row of the session: the commit writes it.
        Act::Write { place: Value::Member(owner, _), .. } => view.flat.depends(owner).iter().any(|at| on_it(view.event(*at))),
        _ => on_it(work),
    }
}

/// Whether an event writes rows that only the lock decides about.
fn decides(view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
    let writes = match &event.what {
        What::Statement(statement) if statement.op == Op::Save && saved_by_the_database(view, index) => false,
        What::Statement(statement) => statement.writes() && idempotent(view, event).is_none() && in_itself(view, event).is_none(),
        What::Meant(meant) => meant.is == Meaning::Flush,
        _ => changes_a_row(view, event),
    };
    writes && row_locked(view, index, event).is_none()
}

/// Whether the database works out itself all that a save changes of a row, as it adds one to what is there.
fn saved_by_the_database(view: &View<'_>, index: u32) -> bool {
    let writes: Vec<_> = row_writes(view).into_iter().filter(|write| write.index == index).collect();
    let mut sets = writes.iter().flat_map(|write| &write.statement.sets).peekable();
    sets.peek().is_some()
        && writes.iter().all(|write| write.statement.op == Op::Update)
        && sets.all(|column| by_the_database(view, &column.value, &column.name))
}

fn by_the_database(view: &View<'_>, value: &Value, column: &str) -> bool {
    relative_to(&Look { tree: view.world.tree, events: &view.flat.events }, value, column, 0)
}

/// Whether an event sets a column of a row that was read; the transaction's end writes it.
fn changes_a_row(view: &View<'_>, event: &FlatEvent) -> bool {
    let Act::Write { place: Value::Member(owner, name), value, .. } = &event.act else { return false };
    let of_a_row = |at: &u32| view.event(*at).statement().is_some_and(|statement| statement.op == Op::Select);
    !by_the_database(view, value, name) && view.flat.depends(owner).iter().any(of_a_row)
}

fn candidate(view: &View<'_>, hold: &Hold, told: (Spot, &str), depth: usize, freed: Freed, work: &FlatEvent) -> Candidate {
    let taken = view.event(hold.taken);
    let mut candidate = Candidate::new(
        view,
        "lock-released-before-commit",
        taken,
        work,
        "the lock is freed while the transaction is still open: whoever takes it next does not see what was written, and decides on the old state".to_owned(),
    );
    candidate.distance = taken.hops.len().min(depth);
    candidate.stands = true;
    candidate.add(Role::State, told.0, told.1.to_owned());
    candidate.hop(Role::Acquire, taken, "taken inside it");
    candidate.hop(Role::Effect, work, view.describe(work));
    if let Freed::At(release) = freed {
        candidate.hop(Role::Release, view.event(release), "freed before the commit");
    }
    candidate.at_most(if hold.sure { Confidence::High } else { Confidence::Medium })
}
