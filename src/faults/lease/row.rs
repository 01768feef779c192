//! Leases that are rows of a table: taken by a write that asks whether the last one has run out, given back by another write.

use super::{Lease, taken};
use crate::faults::effects::claims;
use crate::faults::view::View;
use crate::program::{ColumnKind, FlatEvent, Flattener, Op, Statement};
use crate::rules::Meaning;

/// `UPDATE locks SET owner = $1, expires_at = ... WHERE name = $2 AND expires_at < now()`, or an insert that takes over so, with a
/// write further on that gives the row back.
pub(super) fn of_row<'v>(view: &View<'v>, flattener: &Flattener<'_>, index: u32, event: &'v FlatEvent) -> Option<Lease<'v>> {
    let statement = event.statement().filter(|statement| matches!(statement.op, Op::Update | Op::Upsert))?;
    let end = taken_over_at(view, statement)?;
    let decides = || view.flat.conds.iter().enumerate().any(|(cond, _)| view.cond_depends(cond as u32).contains(&index));
    if !claims(view, event) || !decides() {
        return None;
    }
    let release = view
        .events()
        .filter(|(at, later)| *at > index && later.statement().is_some_and(|later| gives_back(later, statement, end)))
        .map(|(at, _)| at)
        .last()?;
    Some(Lease {
        acquire: index,
        event,
        key: None,
        ttl: None,
        renewed: prolonged(view, flattener, statement, end),
        release: Some(release),
        mark: false,
        spent: false,
        sure: statement.sure,
        region: None,
        taken: taken(view, index, Some(release)),
        inside: std::sync::Arc::default(),
    })
}

/// The column that says when a lease ends: it is compared, and set anew.
fn taken_over_at<'s>(view: &View<'_>, statement: &'s Statement) -> Option<&'s str> {
    let compared = |name: &str| statement.wheres.iter().any(|column| column.kind == ColumnKind::Compared && column.name == name);
    let verbs = &view.world.tree.book.verbs;
    statement.sets.iter().map(|column| column.name.as_str()).find(|name| verbs.is_end(name) && compared(name))
}

/// Whether a write takes the row away or ends its lease, and asks for one of the values that taking it set.
fn gives_back(write: &Statement, taking: &Statement, end: &str) -> bool {
    let own = || {
        let asks = |column: &&crate::program::Column| column.kind == ColumnKind::Equal;
        write.wheres.iter().filter(asks).any(|asked| taking.sets.iter().chain(&taking.wheres).any(|set| set.name == asked.name))
    };
    let ends = write.op == Op::Delete || write.op == Op::Update && write.sets.iter().any(|column| column.name == end);
    write.table == taking.table && ends && own()
}

/// Whether a timer sets the end of the lease anew.
fn prolonged(view: &View<'_>, flattener: &Flattener<'_>, taking: &Statement, end: &str) -> bool {
    view.events().filter_map(|(_, event)| Some((event, event.meant(Meaning::Job)?))).any(|(event, meant)| {
        let body = meant.part("body").map(|body| flattener.flats(&view.flat.plain(body), event.origin.0.file));
        body.into_iter().flatten().any(|flat| {
            flat.events
                .iter()
                .any(|event| event.statement().is_some_and(|write| write.op == Op::Update && gives_back(write, taking, end)))
        })
    })
}
