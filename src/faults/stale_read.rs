//! `lock-after-read`: the decision under a lock rests on what was read before the lock was taken.

use super::candidate::Candidate;
use super::claim::marked;
use super::data::judge;
use super::effects::{Sureness, effect, idempotent, in_itself, reads, unique_key};
use super::holds::{Hold, Reach, holds};
use super::rows::{RowRead, RowWrite, columns_named, columns_of, named_part, row_reads, row_writes};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Guard, Value};
use crate::program::{ColumnKind, FlatEvent, What, column_key};
use crate::syntax::Shape;

pub(super) fn detect(view: &View<'_>, found: &mut Vec<Candidate>) {
    let holds: Vec<Hold> = holds(view).into_iter().filter(|hold| hold.reach != Reach::Process).collect();
    let reads = row_reads(view);
    if holds.is_empty() || reads.is_empty() {
        return;
    }
    let writes = row_writes(view);
    for hold in &holds {
        let stale = writes
            .iter()
            .filter(|write| hold.holds(view, write.index, write.event))
            .filter(|write| in_itself(view, write.event).is_none() && unique_key(view, write.event).is_none())
            .find_map(|write| {
                let stale = stale_of(view, &holds, hold, &reads, (write.index, write.event), Some(write));
                let read =
                    stale.into_iter().find(|read| judge(view, read, write).is_some() || marked(view, read, write).is_some())?;
                Some((read, write.event))
            })
            .or_else(|| stale_effect(view, &holds, hold, &reads));
        if let Some((read, work)) = stale {
            found.push(candidate(view, hold, read, work));
        }
    }
}

/// Work outside the database that a column read before the lock leads to, asked for under the lock.
fn stale_effect<'v, 'r>(
    view: &View<'v>,
    holds: &[Hold],
    hold: &Hold,
    rows: &'r [RowRead<'v>],
) -> Option<(&'r RowRead<'v>, &'v FlatEvent)> {
    let before = &view.event(hold.taken).guards;
    view.events()
        .filter(|(index, event)| hold.holds(view, *index, event) && matches!(event.what, What::Meant(_) | What::Presumed(_)))
        .filter(|(_, event)| effect(view, event) == Some(Sureness::Known) && idempotent(view, event).is_none())
        .find_map(|(index, event)| {
            let asks = |read: &RowRead<'_>| {
                event.guards.iter().filter(|guard| !before.contains(guard)).any(|guard| {
                    let cond = view.flat.conds.get(guard.cond as usize);
                    // Which row it is stays as it is; of rows of another table than those locked, what is asked for itself.
                    let changes = |name: &String| !view.world.schema.is_implied(name);
                    let asked = |cond: &Value| match locks_another(view, hold, read) {
                        true => columns_named(view, cond, read.index),
                        false => columns_of(view, cond, read.index),
                    };
                    cond.is_some_and(|cond| asked(&cond.value).iter().any(changes))
                })
            };
            let read = stale_of(view, holds, hold, rows, (index, event), None).into_iter().find(|read| asks(read))?;
            Some((read, event))
        })
}

/// Reads before the lock that nothing under it repeats before the work.
fn stale_of<'r, 'v>(
    view: &View<'_>,
    holds: &[Hold],
    hold: &Hold,
    rows: &'r [RowRead<'v>],
    (index, work): (u32, &FlatEvent),
    write: Option<&RowWrite<'_>>,
) -> Vec<&'r RowRead<'v>> {
    let stale = rows.iter().filter(|read| {
        let held_over = |other: &Hold| {
            other.taken != hold.taken && other.holds(view, read.index, read.event) && other.holds(view, index, work)
        };
        read.index < hold.taken
            && !read.statement.row_lock
            && !holds.iter().any(held_over)
            && !repeated(view, hold, read, index)
            && !for_new_rows(view, hold, read, write)
            && !decided_under(view, hold, work, write)
            && !about_other_rows(view, hold, read, (index, work), write)
    });
    stale.collect()
}

/// Whether the lock is on rows of another table than those that were read.
fn locks_another(view: &View<'_>, hold: &Hold, read: &RowRead<'_>) -> bool {
    let locked = view.event(hold.taken).statement().and_then(|statement| statement.table.as_ref());
    let tables = locked.zip(read.statement.table.as_ref());
    tables.is_some_and(|(locked, read)| !view.world.schema.same(locked, read))
}

/// Whether the lock is taken only for a row that lacks what every stored row has, a key by itself: what was read never leads there.
fn for_new_rows(view: &View<'_>, hold: &Hold, read: &RowRead<'_>, write: Option<&RowWrite<'_>>) -> bool {
    let table = read.statement.table.as_ref().or(write.and_then(|write| write.statement.table.as_ref()));
    let lacks = |value: &Value, holds: bool| {
        empty(value, holds).is_some_and(|(of, name)| {
            let tells = table.is_some_and(|table| view.world.schema.tells(table, &column_key(name)));
            tells && view.flat.part_of(of).contains(&read.index)
        })
    };
    view.event(hold.taken).guards.iter().any(|guard| {
        view.flat.conds.get(guard.cond as usize).is_some_and(|cond| match &cond.value {
            Value::All(parts) if guard.holds => parts.iter().any(|part| lacks(part, true)),
            value => lacks(value, guard.holds),
        })
    })
}

/// The member that is empty where a condition comes out so.
fn empty(value: &Value, holds: bool) -> Option<(&Value, &str)> {
    match value {
        Value::Not(inner) => empty(inner, !holds),
        Value::Is(inner, shape) => match (&**shape, holds) {
            (Shape::Null, true) | (Shape::Present, false) => named_part(inner),
            _ => None,
        },
        other if !holds => named_part(other),
        _ => None,
    }
}

/// Whether rows of the same table, or of one not known, are read again under the lock and before the work.
fn repeated(view: &View<'_>, hold: &Hold, read: &RowRead<'_>, work: u32) -> bool {
    view.events().filter(|(index, _)| *index >= hold.taken && *index < work).any(|(index, event)| {
        if index == hold.taken {
            // A lock that reads the entity itself anew.
            return event.statement().is_some_and(|statement| statement.entity.is_some());
        }
        let same = match event.statement().and_then(|statement| statement.table.as_ref()) {
            Some(table) => read.statement.table.as_ref().is_none_or(|known| known == table),
            None => true,
        };
        reads(event) && same && hold.holds(view, index, event)
    })
}

/// Whether what the lock itself read has a say in the work.
fn decided_under(view: &View<'_>, hold: &Hold, work: &FlatEvent, write: Option<&RowWrite<'_>>) -> bool {
    if hold.reach != Reach::Transaction {
        return false;
    }
    let asked = work.guards.iter().any(|guard| {
        view.cond_depends(guard.cond).contains(&hold.taken)
            && view.flat.conds.get(guard.cond as usize).is_some_and(|cond| !columns_of(view, &cond.value, hold.taken).is_empty())
    });
    let computed = write
        .is_some_and(|write| write.statement.sets.iter().any(|column| view.flat.depends(&column.value).contains(&hold.taken)));
    asked || computed || write.is_some_and(|write| asked_again(view, hold, write))
}

/// Whether the lock is on rows of another table than those read, what it found has a say in the work, and a write is to the locked
/// rows, or the lock asks for rows in some state: what was read before only says what the work is about.
fn about_other_rows(
    view: &View<'_>,
    hold: &Hold,
    read: &RowRead<'_>,
    (index, work): (u32, &FlatEvent),
    write: Option<&RowWrite<'_>>,
) -> bool {
    let Some(locked) = view.event(hold.taken).statement().filter(|_| hold.reach == Reach::Transaction) else { return false };
    let by_state = locked.wheres.iter().any(|asked| asked.kind != ColumnKind::Equal);
    let asks = |guard: &Guard| view.cond_depends(guard.cond).contains(&hold.taken);
    let to_those = match write {
        Some(write) => write.statement.table.is_none() || write.statement.table == locked.table,
        None => by_state,
    };
    locks_another(view, hold, read) && to_those && (work.guards.iter().any(asks) || view.passed(index).iter().any(asks))
}

/// Whether the lock itself asks for the rows in the state that a write takes them out of, and the write names those it found.
fn asked_again(view: &View<'_>, hold: &Hold, write: &RowWrite<'_>) -> bool {
    let Some(locked) = view.event(hold.taken).statement() else { return false };
    let again = |name: &str| locked.wheres.iter().any(|asked| asked.name == name && asked.kind != ColumnKind::Equal);
    write.statement.sets.iter().any(|column| again(&column.name))
        && write.statement.wheres.iter().any(|column| view.flat.depends(&column.value).contains(&hold.taken))
}

fn candidate(view: &View<'_>, hold: &Hold, read: &RowRead<'_>, work: &FlatEvent) -> Candidate {
    let taken = view.event(hold.taken);
    let mut candidate = Candidate::new(
        view,
        "lock-after-read",
        read.event,
        work,
        "the row is read before the lock is taken: while this copy waits for the lock another one changes the row, and the decision is on the old one".to_owned(),
    );
    candidate.distance = read.event.hops.len().min(taken.hops.len());
    candidate.hop(Role::Check, read.event, "read here");
    candidate.hop(Role::Acquire, taken, "the lock is taken only here");
    candidate.hop(Role::Effect, work, view.describe(work));
    // Through calls, what was read and what the lock is for are further apart.
    let near = read.event.origin.0 == taken.origin.0;
    candidate.at_most(if near && hold.sure && read.statement.sure { Confidence::High } else { Confidence::Medium })
}
