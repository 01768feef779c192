//! What a double costs, by what is written: damage, or only waste or an exceeded limit.

use super::credential::{refreshes_credential, takes_new};
use super::rows::{RowRead, RowWrite, compares, each_part, row_writes};
use super::view::View;
use super::wrong_row::kind_of;
use crate::facts::Value;
use crate::program::{Column, FlatCond, Key, Op, Ty, What};
use crate::rules::{Meaning, Severity, TypeKind};
use crate::syntax::BinaryOp;

/// Rows are counted and one more is added: a warning where the limit is a constant of the program, or what a plan allows by its
/// name. Another that is read, as a room's number of seats, is one of things there are.
pub(super) fn of_limit(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, compared: &Value) -> Option<Severity> {
    let fixed = |value: &Value| {
        !value.any(&|part| {
            matches!(
                part,
                Value::Flat(_) | Value::Result(..) | Value::Param(..) | Value::This(_) | Value::Captured(..) | Value::Unknown
            )
        })
    };
    let by_a_constant = compared.any(&|part| match part {
        Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, pair) => {
            pair.iter().any(|side| view.flat.depends(side).contains(&read.index)) && pair.iter().any(fixed)
        }
        _ => false,
    });
    let had_once = || write.statement.table.as_ref().is_some_and(|table| view.world.tree.book.tables.is_had_once(table));
    let limited = by_a_constant || allowed(view, compared) && !had_once();
    (write.statement.op == Op::Insert && limited).then_some(Severity::Warning)
}

/// Whether a condition compares with what a plan or a setting allows, by the names it speaks of.
fn allowed(view: &View<'_>, compared: &Value) -> bool {
    let tree = view.world.tree;
    let named = |part: &Value| tree.name_of(&view.flat.plain(part)).is_some_and(|name| tree.book.tables.is_limit(&name));
    let mut found = false;
    each_part(view, compared, &mut |part| found |= named(part));
    found
}

/// A count goes up by a constant, and nothing compares it: a warning. One that is compared or goes down is of things there are, unless
/// time fills it again, as it does the tokens of a limit.
pub(super) fn of_count(view: &View<'_>, read: &RowRead<'_>, column: &Column) -> Option<Severity> {
    let counts = matches!(&column.value, Value::Op(BinaryOp::Add, pair)
        if pair.iter().any(|side| matches!(side, Value::Number(step) if *step > 0.0)));
    let compared = || view.flat.conds.iter().any(|cond| compares(view, &cond.value, read.index));
    let timed = |side: &Value| view.flat.depends(side).iter().any(|at| is_timed(view, *at));
    let refilled = || {
        let mut adds = false;
        each_part(view, &column.value, &mut |part| {
            if let Value::Op(BinaryOp::Add, pair) = part {
                adds |= pair.iter().any(timed) && pair.iter().any(|side| view.flat.depends(side).contains(&read.index));
            }
        });
        adds
    };
    (counts && !compared() || refilled()).then_some(Severity::Warning)
}

/// A column that only notes how much somebody did goes up: a warning, though something is told from it.
pub(super) fn of_noted(view: &View<'_>, column: &Column) -> Option<Severity> {
    let up = matches!(&column.value, Value::Op(BinaryOp::Add, pair) if pair.iter().any(|side| matches!(side, Value::Number(_))));
    (up && view.world.tree.book.tables.is_noted(&column.name)).then_some(Severity::Warning)
}

/// A remark is added to a text that explains something: advice.
pub(super) fn of_remark(view: &View<'_>, column: &Column) -> Option<Severity> {
    let words = |part: &Value| matches!(part, Value::Text(_) | Value::Template(_));
    let adds = column.value.any(&|part| match part {
        Value::Op(BinaryOp::Add, pair) => pair.iter().any(words),
        Value::Template(_) => true,
        _ => false,
    });
    (adds && view.world.tree.book.tables.explains(&column.name)).then_some(Severity::Advice)
}

/// A credential is laid over with one that was asked for with the token it keeps: of two that are asked for at once each is good, advice.
pub(super) fn of_credential(view: &View<'_>, column: &Column) -> Option<Severity> {
    let kept = |at: &u32| refreshes_credential(view, view.event(*at)) && !takes_new(view, *at);
    view.flat.depends(&column.value).iter().any(kept).then_some(Severity::Advice)
}

/// A list is added to of which the oldest are let go where it is long enough: the last few things that happened, a warning.
pub(super) fn of_last_few(view: &View<'_>, read: &RowRead<'_>, added_at: Option<u32>) -> Option<Severity> {
    let of_read = |value: &Value| view.flat.made_of(value).contains(&read.index);
    let added = view.event(added_at?).meant(Meaning::Put).filter(|put| of_read(&put.receiver))?;
    let lets_go = view.events().any(|(_, event)| {
        let long = || {
            event
                .guards
                .iter()
                .any(|guard| view.flat.conds.get(guard.cond as usize).is_some_and(|cond| compares(view, &cond.value, read.index)))
        };
        event.meant(Meaning::Remove).is_some_and(|gone| gone.receiver == added.receiver) && long()
    });
    lets_go.then_some(Severity::Warning)
}

/// The next number only says in which order rows are shown, and no key holds it: advice.
pub(super) fn of_order(view: &View<'_>, write: &RowWrite<'_>, column: &Column) -> Option<Severity> {
    let keys = write.statement.table.as_ref().map(|table| view.world.schema.keys(table)).unwrap_or_default();
    let kept = keys.iter().any(|key| key.columns.contains(&column.name));
    (!kept && view.world.tree.book.tables.is_order(&column.name)).then_some(Severity::Advice)
}

/// A column is worked out that is part of a unique key over more, as a place in an order is: of two that come to the same place the
/// key refuses the second.
pub(super) fn of_place(view: &View<'_>, write: &RowWrite<'_>, column: &Column) -> Option<Severity> {
    let keys = view.world.schema.keys(write.statement.table.as_ref()?);
    let holds = |key: &&Key| key.columns.len() > 1 && key.columns.contains(&column.name);
    keys.into_iter().any(|key| holds(&key)).then_some(Severity::Warning)
}

/// A row is added of which everything was looked for, so that two are alike and whoever looks for it takes either: a warning.
pub(super) fn of_alike(read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<Severity> {
    let asked = &read.statement.wheres;
    let alike = |column: &Column| asked.iter().any(|other| other.name == column.name && other.value == column.value);
    let sets = &write.statement.sets;
    // One that spreads what was asked for has several.
    let whole = sets.len() > 1 || sets.iter().any(|column| column.name.is_empty() && column.value != Value::Unknown);
    (read.statement.ordered && whole && sets.iter().all(alike)).then_some(Severity::Warning)
}

/// The very first row of a table is added (the first administrator, the settings): a warning, since that happens once in the life
/// of an installation.
pub(super) fn of_the_first(view: &View<'_>, read: &RowRead<'_>) -> Option<Severity> {
    let plain = |value: &Value| {
        !value.any(&|part| {
            !matches!(part, Value::Text(_) | Value::Bool(_) | Value::Number(_) | Value::Null | Value::Object(..) | Value::List(_))
        })
    };
    let mut at = read.event;
    for _ in 0..32 {
        let Some((callee, args)) = at.call() else { break };
        // What is asked for may hide in an argument that cannot be seen.
        let runs_on = |value: &Value| matches!(kind_of(view, at, value), Some(TypeKind::Connection | TypeKind::Pool));
        let of_a_model = |value: &Value| matches!(view.world.tree.ty(value, at.origin.0.file), Ty::Class(_));
        if !args.iter().all(|(_, value)| plain(&view.world.tree.settled(value)) || runs_on(value) || of_a_model(value)) {
            return None;
        }
        match callee {
            Value::Member(of, _) => match &**of {
                Value::Flat(index) => at = view.event(*index),
                _ => break,
            },
            _ => break,
        }
    }
    (read.statement.wheres.is_empty() && read.statement.table.is_some() && read.event.hops.is_empty())
        .then_some(Severity::Warning)
}

/// Whether a row is given nothing, or constants alone: two of them are the same row twice.
pub(super) fn of_defaults(view: &View<'_>, write: &RowWrite<'_>) -> bool {
    let constant = |value: &Value| {
        matches!(view.world.tree.settled(value), Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_))
    };
    let made = write.statement.entity.as_ref().is_none_or(|entity| match entity {
        Value::Flat(at) => view.event(*at).call().is_some_and(|(_, args)| args.iter().all(|(_, value)| constant(value))),
        Value::Mix(parts) => parts.iter().all(constant),
        Value::Object(_, entries) => entries.iter().all(|(_, value)| constant(value)),
        _ => false,
    });
    let given = write.statement.entity.is_some() || !write.statement.sets.is_empty();
    made && given && write.statement.sets.iter().all(|column| constant(&column.value))
}

/// A row is added that is worked out from others, or only helps to find something again: a warning.
pub(super) fn of_derived(view: &View<'_>, write: &RowWrite<'_>) -> Option<Severity> {
    let table = write.statement.table.as_ref()?;
    view.world.tree.book.tables.is_derived(table).then_some(Severity::Warning)
}

/// How a row is one of several over time, of which the last one's age decides whether another is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// Too young: nothing is added.
    Refuses,
    /// Too young: it is changed instead, so that two at once leave two where one would do.
    Gathers,
}

/// Whether the age of the last of several rows decides about one more.
pub(super) fn among_several(
    view: &View<'_>,
    read: &RowRead<'_>,
    write: &RowWrite<'_>,
    cond: Option<&FlatCond>,
) -> Option<Passing> {
    let cond = cond.filter(|_| read.statement.ordered)?;
    let timed = |side: &Value| view.flat.depends(side).iter().any(|at| is_timed(view, *at));
    let mut by_age = false;
    each_part(view, &cond.value, &mut |part| {
        if let Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, pair) = part {
            by_age |= pair.iter().any(|side| view.flat.depends(side).contains(&read.index)) && pair.iter().any(timed);
        }
    });
    let changed = row_writes(view).iter().any(|other| {
        let entity = other.statement.entity.as_ref();
        other.index != write.index && entity.is_some_and(|entity| view.flat.part_of(entity).contains(&read.index))
    });
    by_age.then_some(if changed { Passing::Gathers } else { Passing::Refuses })
}

/// Whether an event gives a time or a length of time.
fn is_timed(view: &View<'_>, at: u32) -> bool {
    matches!(&view.event(at).what, What::Meant(meant) if matches!(meant.is, Meaning::Time | Meaning::Clock))
}
