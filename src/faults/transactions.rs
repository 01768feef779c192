//! Transactions of a function, and the events during which each is open.

use std::sync::Arc;

use super::rows::{RowRead, RowWrite};
use super::view::View;
use crate::facts::{FnRef, Value};
use crate::program::{Column, ColumnKind, FlatEvent, Op, Spot, What, decorator, meaning};
use crate::rules::Meaning;
use crate::syntax::Shape;

/// A transaction.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// Where it is opened: the call, or the decorator of the function that runs in it.
    pub at: Spot,
    /// The calls that lead there.
    pub hops: Arc<[Spot]>,
    open: Open,
}

#[derive(Debug, Clone)]
enum Open {
    /// In the body of this event.
    Body(u32),
    /// In a function reached through these calls.
    Function(Vec<Spot>),
    /// After this event, until it is committed or undone on the same way.
    Until { from: u32, ends: Vec<u32>, among: Vec<Spot> },
}

impl Transaction {
    /// Whether it is open at an event.
    pub fn holds(&self, view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
        if event.detached {
            return false;
        }
        match &self.open {
            Open::Body(opens) => event.within.contains(opens),
            Open::Function(hops) => event.hops.starts_with(hops),
            Open::Until { from, ends, among } => {
                let ended = |end: &u32| {
                    let ending = view.event(*end);
                    *end <= index && ending.in_catch == event.in_catch && on_the_way(ending, event)
                };
                // Behind the last of its ends it is over, whichever way they were reached.
                let before_last = ends.last().is_some_and(|last| index < *last);
                index > *from
                    && before_last
                    && event.hops.starts_with(among)
                    && on_the_way(view.event(*from), event)
                    && !ends.iter().any(ended)
            }
        }
    }

    /// Whether an error at an event that it holds is caught only behind it: all of it is undone before.
    pub fn caught_outside(&self, view: &View<'_>, event: &FlatEvent) -> bool {
        let Open::Body(opens) = self.open else { return event.caught.is_none() };
        match (&event.caught, &view.event(opens).caught) {
            (Some((inner, _)), Some((outer, _))) => Arc::ptr_eq(inner, outer),
            (inner, _) => inner.is_none(),
        }
    }

    /// Whether it is still open when what an event entered has ended: the event is not what opened it.
    pub fn outlives(&self, index: u32) -> bool {
        match &self.open {
            Open::Body(opens) => *opens != index,
            _ => true,
        }
    }

    /// Whether statements take part in it without being told: those of a decorated function, or of a body that is given
    /// nothing to run them on.
    pub fn goes_along(&self, view: &View<'_>) -> bool {
        match &self.open {
            Open::Function(_) => true,
            Open::Body(opens) => {
                let body = view.event(*opens).meant(Meaning::Transaction).and_then(|meant| meant.part("body"));
                match body {
                    Some(Value::Function(body)) => {
                        view.world.tree.function(*body).is_none_or(|function| function.params.is_empty())
                    }
                    _ => true,
                }
            }
            Open::Until { .. } => false,
        }
    }

    /// Whether a commit written out by hand ends it.
    pub fn by_hand(&self) -> bool {
        matches!(self.open, Open::Until { .. })
    }
}

/// Whether a test on the way to an event has said that a transaction is open.
pub fn known_open(view: &View<'_>, event: &FlatEvent) -> bool {
    event.guards.iter().any(|guard| {
        let cond = view.flat.conds.get(guard.cond as usize);
        cond.and_then(|cond| says_open(view, &cond.value, cond.at.file)) == Some(guard.holds)
    })
}

/// Whether a condition holding means that a transaction is open; `None` where it says nothing of that.
fn says_open(view: &View<'_>, value: &Value, file: u32) -> Option<bool> {
    match value {
        Value::Not(inner) => says_open(view, inner, file).map(|open| !open),
        Value::Is(inner, shape) => match &**shape {
            Shape::Present | Shape::Ok | Shape::Bool(true) => says_open(view, inner, file),
            Shape::Null | Shape::Err | Shape::Bool(false) => says_open(view, inner, file).map(|open| !open),
            _ => None,
        },
        Value::Flat(index) => view.event(*index).meant(Meaning::InTransaction).map(|meant| !meant.flag("autocommit")),
        Value::Member(..) => {
            let meant = meaning(view.world.tree, &view.flat.plain(value), &[], file)?;
            (meant.is == Meaning::InTransaction).then(|| !meant.flag("autocommit"))
        }
        _ => None,
    }
}

/// Whether everything that must hold for one event holds for another.
pub fn on_the_way(earlier: &FlatEvent, later: &FlatEvent) -> bool {
    earlier.guards.iter().all(|guard| later.guards.contains(guard))
}

/// All transactions of a function, in the order in which they open.
pub fn transactions(view: &View<'_>) -> Vec<Transaction> {
    let mut found = decorated(view);
    for (index, event) in view.events().filter(|(_, event)| !event.detached) {
        let open = match &event.what {
            What::Meant(meant) if meant.is == Meaning::Transaction => {
                let entered = view.flat.events.iter().any(|inner| inner.within.contains(&index));
                entered.then_some(Open::Body(index))
            }
            What::Meant(meant) if meant.is == Meaning::Begin => by_hand(view, index),
            What::Statement(statement) if statement.op == Op::Begin => by_hand(view, index),
            _ => None,
        };
        found.extend(open.map(|open| Transaction { at: event.at, hops: event.hops.clone(), open }));
        if event.meant(Meaning::Transaction).is_some() {
            found.extend(through_a_manager(view, event));
        }
    }
    found
}

/// The bodies of context managers of the tree that open a transaction for what runs in them.
fn through_a_manager(view: &View<'_>, opens: &FlatEvent) -> Vec<Transaction> {
    let entered = |index: u32| view.flat.events.iter().any(|inner| inner.within.contains(&index));
    let managers = view.events().filter(|(index, event)| {
        let depth = event.hops.len();
        opens.hops.get(depth) == Some(&event.at) && opens.hops[..depth] == event.hops[..] && event.inlined && entered(*index)
    });
    managers.map(|(index, event)| Transaction { at: opens.at, hops: event.hops.clone(), open: Open::Body(index) }).collect()
}

/// Whether the transaction of a read and a write has changed, before the read, the row that was read or that its rows belong to: who
/// comes second waits there until the first has committed, and reads what it left.
pub(super) fn behind_a_changed_row(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let named = |column: &&Column| column.kind == ColumnKind::Equal && column.value != Value::Unknown;
    let asked = |value: &Value| read.statement.wheres.iter().filter(named).any(|column| column.value == *value);
    let waits = |event: &FlatEvent| {
        let change = event.statement().filter(|change| change.op == Op::Update && !event.detached);
        change.is_some_and(|change| change.wheres.iter().filter(named).any(|column| asked(&column.value)))
            && on_the_way(event, read.event)
    };
    let before: Vec<(u32, &FlatEvent)> =
        view.events().take_while(|(index, _)| *index < read.index).filter(|(_, event)| waits(event)).collect();
    let holds_both = |open: &&Transaction| open.holds(view, read.index, read.event) && open.holds(view, write.index, write.event);
    !before.is_empty()
        && transactions(view)
            .iter()
            .filter(holds_both)
            .any(|open| before.iter().any(|(index, event)| open.holds(view, *index, event)))
}

/// One that is begun, and committed somewhere behind: without a commit in sight it may end anywhere.
fn by_hand(view: &View<'_>, from: u32) -> Option<Open> {
    let commits = view.events().any(|(index, event)| index > from && commits(event));
    let ends: Vec<u32> = view.events().filter(|(index, event)| *index > from && ends(event)).map(|(index, _)| index).collect();
    commits.then(|| Open::Until { from, among: among(view, from, &ends), ends })
}

/// The calls that lead to the function which has a transaction that is a value: where a callee begins and ends it, none is open when
/// that callee has ended.
fn among(view: &View<'_>, from: u32, ends: &[u32]) -> Vec<Spot> {
    let on_it = |end: &&u32| {
        let called = view.event(**end).call();
        called.is_some_and(|(callee, _)| matches!(callee, Value::Member(of, _) if view.flat.depends(of).contains(&from)))
    };
    let mut ending = ends.iter().filter(on_it).peekable();
    if ending.peek().is_none() {
        return vec![];
    }
    let opening = &view.event(from).hops;
    let shared = |end: &u32| opening.iter().zip(view.event(*end).hops.iter()).take_while(|(left, right)| left == right).count();
    let depth = ending.map(shared).min().unwrap_or_default();
    opening[..depth].to_vec()
}

/// Whether an event commits.
pub fn commits(event: &FlatEvent) -> bool {
    match &event.what {
        What::Meant(meant) => meant.is == Meaning::Commit || meant.is == Meaning::Flush && meant.flag("commit"),
        What::Statement(statement) => statement.op == Op::Commit,
        _ => false,
    }
}

fn ends(event: &FlatEvent) -> bool {
    let undoes = match &event.what {
        What::Meant(meant) => meant.is == Meaning::Rollback,
        What::Statement(statement) => statement.op == Op::Rollback,
        _ => false,
    };
    undoes || commits(event)
}

/// Functions that a decorator runs in a transaction: this one, and those it calls.
fn decorated(view: &View<'_>) -> Vec<Transaction> {
    let mut found: Vec<Transaction> = vec![];
    let mut seen: Vec<(FnRef, &[Spot])> = vec![];
    let root = (view.root(), &[] as &[Spot]);
    for (function, hops) in std::iter::once(root).chain(view.flat.events.iter().map(|event| (event.origin.0, &event.hops[..]))) {
        let plain = view.world.tree.facts(function).is_none_or(|facts| facts.decorators.is_empty());
        if plain || seen.contains(&(function, hops)) {
            continue;
        }
        seen.push((function, hops));
        if let Some(at) = runs_in_one(view, function) {
            found.push(Transaction { at, hops: hops.into(), open: Open::Function(hops.to_vec()) });
        }
    }
    found
}

fn runs_in_one(view: &View<'_>, function: FnRef) -> Option<Spot> {
    let tree = view.world.tree;
    tree.facts(function)?.decorators.iter().find_map(|(value, span)| {
        let meant = decorator(tree, value, function.file)?;
        (meant.is == Meaning::Transaction).then_some(Spot { file: function.file, span: *span })
    })
}
