//! Rows that were added or changed a moment ago on the same way: nobody else has their keys yet, so what is read and written by them is in
//! nobody else's hands.

use super::rows::{RowRead, RowWrite};
use super::transactions::on_the_way;
use super::view::View;
use crate::facts::{Act, FnRef, Value};
use crate::program::{Column, ColumnKind, FlatEvent, Op, column_key, decorator};
use crate::rules::Meaning;
use crate::syntax::CallForm;

/// Whether a read asks for rows of one that was just added.
pub(super) fn asks_for_its_own(view: &View<'_>, read: &RowRead<'_>) -> bool {
    let statement = read.statement;
    let mut asked = statement.wheres.iter().filter(|column| column.kind == ColumnKind::Equal && !statement.either);
    asked.any(|column| {
        let (of, member) = match as_it_was(view, &column.value) {
            Value::Member(of, member) => (&**of, Some(column_key(member))),
            other => (other, None),
        };
        added_before(view, read, of, member.as_deref()) || handed_over(view, read.event, of, member.as_deref())
    })
}

/// A value before it was made into a text or a number.
fn as_it_was<'v>(view: &View<'v>, value: &'v Value) -> &'v Value {
    match value {
        Value::Flat(at) => match view.event(*at).meant(Meaning::Pass) {
            Some(pass) => pass.part("of").unwrap_or(value),
            None => value,
        },
        _ => value,
    }
}

/// Whether a value is of a row that a statement before has added, and not one of the values that row was given.
fn added_before(view: &View<'_>, read: &RowRead<'_>, of: &Value, member: Option<&str>) -> bool {
    view.flat.part_of(of).into_iter().filter(|at| *at < read.index).map(|at| view.event(at)).any(|event| {
        event.statement().is_some_and(|added| {
            let given = |member: &str| added.sets.iter().any(|column| column.name == member);
            let written = !added.sets.is_empty() || added.entity.as_ref().is_some_and(|entity| made_here(view, entity));
            added.op == Op::Insert && !added.conflict && !added.keyed && written && !member.is_some_and(given)
        }) && on_the_way(event, read.event)
    })
}

/// Whether a read and a write are both of the row that a function is told was changed: in a transaction, that change holds the row.
pub(super) fn of_the_changed(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let names = |columns: &[Column], function: FnRef, row: Option<u32>| {
        columns.iter().any(|column| {
            let of = match &column.value {
                Value::Member(of, member) if view.world.schema.is_implied(&column_key(member)) => &**of,
                other => other,
            };
            match (of, row) {
                (Value::Param(known, index), Some(row)) => *known == function && *index == row,
                _ => false,
            }
        })
    };
    let function = read.event.origin.0;
    runs_after_adding(view, function)
        .is_some_and(|(row, _)| names(&read.statement.wheres, function, row) && names(&write.statement.sets, function, row))
}

/// Whether a value is an object made on this way.
fn made_here(view: &View<'_>, value: &Value) -> bool {
    matches!(value, Value::Flat(at) if matches!(view.event(*at).act, Act::Call { form: CallForm::New, .. }))
}

/// Whether a value is the row, or its identity, that a function is handed which runs right after a row was added.
fn handed_over(view: &View<'_>, event: &FlatEvent, of: &Value, member: Option<&str>) -> bool {
    let (function, place) = match of {
        Value::Param(function, index) => (*function, Some(*index)),
        Value::This(function) => (*function, None),
        _ => return false,
    };
    let identity = member.is_none_or(|member| view.world.schema.is_implied(member));
    identity
        && runs_after_adding(view, function).is_some_and(|(row, told)| {
            let says = |guard: &crate::facts::Guard| {
                let told = told.map(|index| Value::Param(function, index));
                let cond = view.flat.conds.get(guard.cond as usize).map(|cond| &cond.value);
                match cond {
                    Some(Value::Not(inner)) => !guard.holds && told.as_ref() == Some(&**inner),
                    cond => guard.holds && told.as_ref() == cond,
                }
            };
            row == place && (told.is_none() || event.guards.iter().any(says))
        })
}

/// Which parameter of such a function is the row, and which says that it was added.
pub(super) fn runs_after_adding(view: &View<'_>, function: FnRef) -> Option<(Option<u32>, Option<u32>)> {
    let tree = view.world.tree;
    tree.facts(function)?.decorators.iter().find_map(|(value, _)| {
        let meant = decorator(tree, value, function.file)?;
        if meant.is != Meaning::Added && (meant.is != Meaning::Entry || meant.part("told").is_none()) {
            return None;
        }
        let place = |part: &str| match meant.part(part) {
            Some(Value::Number(place)) => Some(*place as u32),
            _ => None,
        };
        Some((place("entity"), place("told")))
    })
}
