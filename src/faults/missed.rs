//! Rows that are added because a look for them gave none, where no condition stands before the insert: the look threw, and what its
//! handler does is the other way; or a new row gives way to the one that was found.

use super::exists::says_exists;
use super::rows::{RowRead, RowWrite};
use super::view::View;
use crate::facts::Act;
use crate::program::{FlatEvent, Spot};
use crate::syntax::ExitKind;

/// Where it is decided that nothing was found, if a write happens on that way only.
pub(super) fn missed(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<Spot> {
    let added = write.made.unwrap_or(write.index);
    if throws_where_missing(view, read)
        && (handled(view, read, added) || left_where_found(view, read, added) || handled(view, read, write.index))
    {
        return Some(read.event.at);
    }
    gives_way(view, read, write)
}

/// Whether a read throws where there is no row, and a handler around it takes that and goes on.
fn throws_where_missing(view: &View<'_>, read: &RowRead<'_>) -> bool {
    let verbs = &view.world.tree.book.verbs;
    let name = || read.event.call().and_then(|(callee, _)| view.world.tree.name_of(callee)).unwrap_or_default();
    read.event.caught.as_ref().is_some_and(|(types, throws)| {
        !throws && types.iter().any(|ty| verbs.is_missing_row(ty) || ty == "*" && verbs.insists(&name()))
    })
}

/// Whether an event is in the handler of the `try` that a read is in: nothing between them is outside of both.
fn handled(view: &View<'_>, read: &RowRead<'_>, later: u32) -> bool {
    let of_handler = |event: &FlatEvent| event.in_catch && !event.in_finally;
    let between = read.index + 1..later;
    later > read.index
        && !read.event.in_catch
        && of_handler(view.event(later))
        && between.map(|at| view.event(at)).all(|event| of_handler(event) || event.caught == read.event.caught)
}

/// Whether who finds the row leaves before the `try` ends: behind it, there was none.
fn left_where_found(view: &View<'_>, read: &RowRead<'_>, later: u32) -> bool {
    let added = view.event(later);
    let leaves = |event: &FlatEvent| {
        matches!(event.act, Act::Exit { kind: ExitKind::Return, .. })
            && event.hops == read.event.hops
            && event.caught == read.event.caught
            && !event.in_catch
            && event.guards.iter().all(|guard| read.event.guards.contains(guard))
    };
    added.caught != read.event.caught && !added.in_catch && (read.index + 1..later).any(|at| leaves(view.event(at)))
}

/// Whether what is saved was made before the look, and is put aside where that found a row.
fn gives_way(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<Spot> {
    let made = view.event(write.made.filter(|made| *made < read.index)?);
    let always = made.guards.iter().all(|guard| write.event.guards.contains(guard));
    let mut told = view.flat.conds.iter().filter(|cond| says_exists(view, &cond.value, read.index).is_some());
    told.next().filter(|_| always).map(|cond| cond.at)
}
