//! `version-bypassed`: rows carry a version that other writes compare, and this write goes around it.

use std::collections::HashMap;

use super::candidate::{Candidate, Only};
use super::rows::{RowWrite, row_writes};
use super::subject::Judged;
use super::view::{View, World};
use super::{Confidence, Role};
use crate::facts::{FnRef, Value};
use crate::program::{Column, ColumnKind, Op, Spot, is_version};

/// The rule.
pub(super) const RULE: &str = "version-bypassed";

/// Tables whose versions a write compares, with the write.
pub(super) type Compared = HashMap<String, Spot>;

pub(super) fn detect(view: &View<'_>, judged: &mut Judged) {
    let writes: Vec<RowWrite<'_>> = row_writes(view).into_iter().filter(|write| write.statement.op == Op::Update).collect();
    judged.compared.extend(writes.iter().filter_map(compared));
    let found = &mut judged.faults;
    for write in &writes {
        let Some(table) = table_of(view, write) else { continue };
        if found.iter().any(|candidate| candidate.rule == RULE && candidate.work == write.event.at)
            || !bypasses(view, write, &table)
        {
            continue;
        }
        let message = format!(
            "rows of `{table}` carry a version that other writes compare, but this one neither compares nor raises it: it erases what others changed, and they do not notice"
        );
        let mut candidate = Candidate::new(view, RULE, write.event, write.event, message);
        candidate.hop(Role::Effect, write.event, view.describe(write.event));
        candidate.stands = true;
        candidate.only = Some(Only::Versioned(table));
        found.push(candidate.at_most(if write.statement.sure { Confidence::High } else { Confidence::Medium }));
    }
}

/// The table a write changes; of an entity that was read, the table it was read from.
fn table_of(view: &View<'_>, write: &RowWrite<'_>) -> Option<String> {
    write.statement.table.clone().or_else(|| {
        let entity = write.statement.entity.as_ref()?;
        view.flat.depends(entity).into_iter().find_map(|at| view.event(at).statement().and_then(|read| read.table.clone()))
    })
}

fn bypasses(view: &View<'_>, write: &RowWrite<'_>, table: &str) -> bool {
    let statement = &write.statement;
    let saves = write.event.statement().is_none_or(|event| event.op == Op::Save);
    // What an entity's own save does about its declared version is the library's.
    if statement.sets.is_empty() || saves && view.world.schema.version(table).is_some() {
        return false;
    }
    let about = |name: &str| is_version(name) || view.world.schema.version(table) == Some(name);
    let raises = statement.sets.iter().any(|column| about(&column.name));
    let compares = statement
        .wheres
        .iter()
        .any(|column| about(&column.name) || column.kind == ColumnKind::Equal && counts_changes(&column.name));
    !raises && !compares && !statement.conditional()
}

/// Whether a column counts changes by its name, whichever of them: a write that names one of a row's changes only that state of it.
fn counts_changes(name: &str) -> bool {
    is_version(name) || name == "rev" || name == "_rev" || name.ends_with("version") || name.ends_with("revision")
}

/// The table of which a write changes only the rows that have the version that was read, and raises it.
fn compared(write: &RowWrite<'_>) -> Option<(String, Spot)> {
    let statement = &write.statement;
    // Whether there is one at all is no comparison with what was read, and a constant raises nothing.
    let compared = |column: &Column| {
        column.kind == ColumnKind::Equal
            || column.kind == ColumnKind::Compared && !matches!(column.value, Value::Bool(_) | Value::Null)
    };
    let asked = |name: &str| statement.wheres.iter().any(|column| column.name == name && compared(column));
    let raised = |column: &Column| is_version(&column.name) && column.kind != ColumnKind::Constant;
    let compares = statement.sets.iter().any(|column| raised(column) && asked(&column.name));
    compares.then(|| Some((statement.table.clone()?, write.event.at))).flatten()
}

/// Leaves out writes to tables of whose rows nothing compares a version, and names what does.
pub(super) fn confirm(world: &World<'_>, compared: &Compared, found: &mut Vec<(FnRef, Candidate)>) {
    found.retain_mut(|(_, candidate)| {
        let Some(Only::Versioned(table)) = &candidate.only else { return true };
        if let Some(at) = compared.get(table) {
            candidate.trace.insert(0, (Role::Check, *at, "another write compares the version here".to_owned()));
            return true;
        }
        world.schema.version(table).is_some()
    });
}
