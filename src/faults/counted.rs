//! Rows that are counted before one more is added: a unique key on the new row says that it is there once, and nothing of how many
//! others there are.

use super::effects::{key_hit, reads};
use super::rows::compares;
use super::view::View;
use crate::program::{ColumnKind, FlatEvent};

/// The read that counts rows of the table an insert adds to, where a condition of the insert compares that count and no unique key
/// that the new row hits could answer for it.
pub(super) fn counted_before(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<u32> {
    let (table, key) = key_hit(view, event)?;
    let counts = |at: &u32| {
        let Some(read) = view.event(*at).statement().filter(|read| *at < index && read.counts) else { return false };
        let asked = |column: &String| {
            read.wheres
                .iter()
                .any(|asked| asked.name == *column && matches!(asked.kind, ColumnKind::Equal | ColumnKind::Constant))
        };
        let same = read.table.as_ref().is_some_and(|counted| view.world.schema.same(counted, table));
        same && reads(view.event(*at)) && !key.columns.iter().all(asked)
    };
    let compared = |at: &u32| {
        event
            .guards
            .iter()
            .any(|guard| view.flat.conds.get(guard.cond as usize).is_some_and(|cond| compares(view, &cond.value, *at)))
    };
    let deciding = view.decided_by(event);
    deciding.into_iter().filter(|at| counts(at) && compared(at)).min()
}
