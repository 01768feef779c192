//! `lock-wrong-row`: a row lock that is never taken, is gone at once, or is on rows that do not stay.

use super::added::runs_after_adding;
use super::candidate::{Candidate, Only};
use super::data::judge;
use super::effects::{in_itself, unique_key};
use super::holds::{Hold, holds};
use super::rows::{RowRead, RowWrite, computes_from, row_reads, row_writes, same_table};
use super::transactions::{Transaction, known_open, transactions};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Op, Ty, unwrapped};
use crate::rules::{Meaning, TypeKind};

pub(super) fn detect(view: &View<'_>, found: &mut Vec<Candidate>) {
    let reads: Vec<RowRead<'_>> = row_reads(view).into_iter().filter(|read| read.statement.row_lock).collect();
    // Whoever saves a row runs what is told of it, in a transaction or not.
    if reads.is_empty() || runs_after_adding(view, view.root()).is_some() {
        return;
    }
    let transactions = transactions(view);
    let holds = holds(view);
    let writes = row_writes(view);
    for read in &reads {
        let alone = || !transactions.iter().any(|open| open.holds(view, read.index, read.event)) && !known_open(view, read.event);
        let given_none = read.statement.unheld && kind_of_runner(view, read.event) != Some(TypeKind::Connection);
        let unseen = read.statement.implicit && read.event.hops.is_empty();
        let never = never_runs(view, read);
        let message = if never {
            "the query that would lock the rows is built and never run: nothing is locked"
        } else if on_a_pool(view, &transactions, read) {
            "the lock is taken on a connection of the pool outside of a transaction: it is gone as soon as the statement ends"
        } else if only_built(read) {
            continue;
        } else if (given_none || unseen) && alone() {
            "the lock is asked for outside of a transaction: it is gone as soon as the statement ends, or never taken"
        } else {
            found.extend(rows_that_move(view, read, &holds, &writes));
            continue;
        };
        let mut candidate = Candidate::new(view, "lock-wrong-row", read.event, read.event, message.to_owned());
        candidate.hop(Role::Acquire, read.event, "meant to lock the row");
        // Whoever calls it may have opened the transaction.
        let entered = if view.world.request_transactions.is_some() { Only::OffRequest } else { Only::WhereEntered };
        candidate.only = (unseen && !given_none && !never).then_some(entered);
        found.push(candidate.at_most(if read.statement.sure { Confidence::High } else { Confidence::Medium }));
    }
}

/// Whether a builder's chain is dropped before anything runs it.
fn never_runs(view: &View<'_>, read: &RowRead<'_>) -> bool {
    read.event.hops.is_empty() && only_built(read) && !mentioned(view, read.index)
}

/// Whether a chain is only built where it stands; what runs it may be elsewhere.
fn only_built(read: &RowRead<'_>) -> bool {
    let awaited = matches!(read.event.act, Act::Call { awaited: true, .. });
    read.statement.built && !awaited && !read.event.propagated
}

/// Whether anything speaks of an event's result.
fn mentioned(view: &View<'_>, index: u32) -> bool {
    let speaks = |value: &Value| value.any(&|part| *part == Value::Flat(index));
    let in_act = |act: &Act| match act {
        Act::Call { callee, args, .. } => speaks(callee) || args.iter().any(|(_, value)| speaks(value)),
        Act::Enter { value } | Act::Exit { value, .. } => speaks(value),
        Act::Write { place, value, .. } => speaks(place) || speaks(value),
        Act::Delete { place } => speaks(place),
        Act::Test { .. } => false,
    };
    view.flat.events.iter().any(|event| in_act(&event.act) || event.returns.iter().any(|(value, _)| speaks(value)))
        || view.flat.conds.iter().any(|cond| speaks(&cond.value))
        || view.flat.returns.iter().any(|(value, _)| speaks(value))
}

/// Whether a statement runs on whatever connection a pool gives, and not in a transaction that goes along unseen.
fn on_a_pool(view: &View<'_>, transactions: &[Transaction], read: &RowRead<'_>) -> bool {
    let unseen = transactions.iter().any(|open| open.goes_along(view) && open.holds(view, read.index, read.event));
    !unseen && kind_of_runner(view, read.event) == Some(TypeKind::Pool)
}

/// What runs a statement: a pool or a connection among its receivers and arguments, and those of its builder's steps.
fn kind_of_runner(view: &View<'_>, event: &FlatEvent) -> Option<TypeKind> {
    let mut kinds = vec![];
    let mut at = event;
    for _ in 0..32 {
        let (callee, args) = at.call()?;
        let receiver = match callee {
            Value::Member(of, _) => &**of,
            other => other,
        };
        kinds.extend(
            std::iter::once(receiver).chain(args.iter().map(|(_, value)| value)).filter_map(|value| kind_of(view, at, value)),
        );
        match receiver {
            Value::Flat(index) => at = view.event(*index),
            _ => break,
        }
    }
    if kinds.contains(&TypeKind::Connection) {
        return Some(TypeKind::Connection);
    }
    kinds.first().copied()
}

/// What a value is to a statement that is run with it.
pub(super) fn kind_of(view: &View<'_>, event: &FlatEvent, value: &Value) -> Option<TypeKind> {
    let tree = view.world.tree;
    let file = event.origin.0.file;
    // Options that name a transaction.
    if let Value::Object(_, entries) = tree.settled(value) {
        let named = entries.iter().any(|(key, _)| tree.book.verbs.is_client(key));
        return named.then_some(TypeKind::Connection);
    }
    let Ty::Lib { path, sure, .. } = unwrapped(tree, tree.ty(&view.flat.plain(value), file), file) else { return None };
    let kind = tree.packs(file).kind(&path);
    let passed = given(view, value);
    match kind {
        TypeKind::Connection => Some(kind),
        TypeKind::Pool => Some(if passed && !sure { TypeKind::Connection } else { kind }),
        _ => None,
    }
}

/// Whether a value is what the caller of a function gave, or of the function that made this one.
fn given(view: &View<'_>, value: &Value) -> bool {
    match value {
        Value::Param(..) => true,
        Value::Captured(maker, name) => {
            let facts = view.world.tree.facts(*maker);
            facts.and_then(|facts| facts.locals.get(name)).is_some_and(|known| matches!(known, Value::Param(..)))
        }
        _ => false,
    }
}

/// Rows locked on the way to adding one more to the same table: the lock is on those that are there, not on the next.
fn rows_that_move(view: &View<'_>, read: &RowRead<'_>, holds: &[Hold], writes: &[RowWrite<'_>]) -> Option<Candidate> {
    let skips = read.statement.tries;
    let write = writes.iter().find(|write| {
        write.statement.op == Op::Insert
            && write.index > read.index
            && !skips
            && same_table(read, write, view)
            && in_itself(view, write.event).is_none()
            && unique_key(view, write.event).is_none()
            && !under_another(view, read, holds, write)
            && (next_of(view, read, write) || decided_by(view, read, write))
    })?;
    let message = if next_of(view, read, write) {
        "the lock is on the latest row, and the next one is worked out from it: whoever waits for the lock gets the row that was the latest before, and works out the same"
    } else {
        "the lock is on the rows that are there: nothing keeps another transaction from adding one at the same time"
    };
    let mut candidate = Candidate::new(view, "lock-wrong-row", read.event, write.event, message.to_owned());
    candidate.hop(Role::Acquire, read.event, "locked here");
    candidate.hop(Role::Effect, write.event, view.describe(write.event));
    let sure = read.statement.sure && write.statement.sure && read.statement.ordered;
    Some(candidate.at_most(if sure { Confidence::High } else { Confidence::Medium }))
}

/// Whether the added row is computed from the one read.
fn next_of(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let follows = read.statement.ordered || read.statement.max || read.statement.counts;
    follows && write.statement.sets.iter().any(|column| computes_from(view, column, read.index))
}

/// Whether how many rows there are, or that there is none, leads to adding one.
fn decided_by(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    judge(view, read, write)
        .is_some_and(|(_, found)| matches!(found.rule, "check-then-insert" | "check-then-act" | "number-from-max"))
}

/// Whether another lock is held over both the read and the write: of something else, or of a parent's row.
fn under_another(view: &View<'_>, read: &RowRead<'_>, holds: &[Hold], write: &RowWrite<'_>) -> bool {
    holds.iter().any(|hold| {
        let taken = view.event(hold.taken);
        let of_other_rows = taken.statement().is_none_or(|statement| statement.table != read.statement.table);
        hold.taken != read.index
            && of_other_rows
            && (hold.holds(view, read.index, read.event) || taken.meant(Meaning::Acquire).is_some())
            && hold.holds(view, write.index, write.event)
    })
}
