//! Which events are shared work, and whether something that all copies see decides about them.

use std::collections::HashSet;

use super::once::unbacked;
use super::own_row::{own_buffer, own_row, own_share};
use super::reason::{Reason, Why};
use super::view::View;
use crate::facts::{Act, FnRef, Guard, Value};
use crate::program::{ColumnKind, FlatEvent, Key, Meant, Op, Statement, Ty, What};
use crate::rules::{CommandKind, Meaning, Scope, ScriptKind};
use crate::syntax::{CallForm, ExitKind};

/// How surely an event is shared work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    /// A callback of which nothing is known.
    Opaque,
    /// Presumed from a name.
    Presumed,
    /// Known from a pack or SQL.
    Known,
}

/// Whether an event is work that others see, and how surely.
pub fn effect(view: &View<'_>, event: &FlatEvent) -> Option<Sureness> {
    match &event.what {
        What::Statement(statement) if statement.writes() => {
            Some(if statement.sure { Sureness::Known } else { Sureness::Presumed })
        }
        What::Kv(kv) => match kv.op {
            CommandKind::Set if kv.only_new => None,
            CommandKind::Set | CommandKind::Write | CommandKind::Increment | CommandKind::Add => {
                Some(if kv.sure { Sureness::Known } else { Sureness::Presumed })
            }
            _ => None,
        },
        What::Meant(meant) => match meant.is {
            Meaning::Effect if only_asks(view, event, meant) => None,
            Meaning::Effect | Meaning::Refresh | Meaning::Flush => {
                Some(if meant.sure { Sureness::Known } else { Sureness::Presumed })
            }
            _ => None,
        },
        What::Presumed(presumed) if !presumed.reads => {
            (!of_a_callback(view, event) && !cannot_fail(view, event)).then_some(Sureness::Presumed)
        }
        What::Nothing => {
            let (callee, _) = event.call()?;
            let Value::Param(of, _) = callee else { return None };
            let opaque = !event.inlined && view.world.tree.function(event.origin.0).is_some() && !settles(view, *of);
            opaque.then_some(Sureness::Opaque)
        }
        _ => None,
    }
}

/// Whether nobody waits for a call or looks at its answer where errors are values: it works in memory, on a container of which no
/// more is known, since what goes outside may fail.
fn cannot_fail(view: &View<'_>, event: &FlatEvent) -> bool {
    let waited = matches!(event.act, Act::Call { awaited: true, .. });
    event.dropped && !waited && !event.propagated && view.world.tree.errors_are_values(event.origin.0.file)
}

/// Whether a request carries a GraphQL query, which changes nothing (GraphQL specification, section 6.2.1).
fn only_asks(view: &View<'_>, event: &FlatEvent, meant: &Meant) -> bool {
    let asks = |text: &str| text.starts_with('{') || text.starts_with("query");
    let query = |part: &Value| match part {
        Value::Object(_, entries) => entries.iter().any(|(key, value)| {
            let text = view.world.tree.settled(value).text();
            &**key == "query" && text.is_some_and(|text| asks(text.trim_start()))
        }),
        _ => false,
    };
    // A request that was put together before carries what one of these steps was given.
    let steps = || {
        let (callee, args) = event.call()?;
        let from = view.flat.depends(callee).into_iter().chain(args.iter().flat_map(|(_, value)| view.flat.depends(value)));
        let mut given = from.filter_map(|at| view.event(at).call()).chain([(callee, args)]);
        Some(given.any(|(on, args)| on.any(&query) || args.iter().any(|(_, value)| value.any(&query))))
    };
    meant.part("body").map_or_else(|| steps() == Some(true), |body| body.any(&query))
}

/// Whether an event calls what a function of the program is handed by a library that it is given to (`eventStream((send) => ..)`):
/// it works on what that library keeps for this one call of it.
fn of_a_callback(view: &View<'_>, event: &FlatEvent) -> bool {
    let tree = view.world.tree;
    let function = match event.call() {
        Some((Value::Param(function, _), _)) => *function,
        Some((Value::Captured(function, name), _)) => {
            let given = tree.facts(*function).and_then(|facts| facts.locals.get(name));
            let Some(Value::Param(owner, _)) = given else { return false };
            *owner
        }
        _ => return false,
    };
    let parent = tree.function(function).and_then(|inner| inner.parent);
    let Some(facts) = parent.and_then(|parent| tree.facts(FnRef { file: function.file, func: parent.0 })) else { return false };
    facts.events.iter().any(|event| match &event.act {
        Act::Call { callee, args, .. } => {
            args.iter().any(|(_, value)| *value == Value::Function(function))
                && matches!(tree.ty(callee, function.file), Ty::Lib { .. })
        }
        _ => false,
    })
}

/// Whether a function is given to a constructor, as what settles a promise is: what it is handed only answers that object.
fn settles(view: &View<'_>, function: FnRef) -> bool {
    let tree = view.world.tree;
    let parent = tree.function(function).and_then(|inner| inner.parent);
    let Some(facts) = parent.and_then(|parent| tree.facts(FnRef { file: function.file, func: parent.0 })) else { return false };
    facts.events.iter().any(|event| match &event.act {
        Act::Call { args, form: CallForm::New, .. } => args.iter().any(|(_, value)| *value == Value::Function(function)),
        _ => false,
    })
}

/// Whether an event reads something others may change.
pub fn reads(event: &FlatEvent) -> bool {
    match &event.what {
        What::Statement(statement) => statement.op == Op::Select,
        What::Kv(kv) => matches!(kv.op, CommandKind::Get | CommandKind::Read),
        What::Presumed(presumed) => presumed.reads,
        _ => false,
    }
}

/// Why an effect needs no decision of one process: something all copies see decides, doing it twice does no harm, or no other
/// copy does the same.
pub fn harmless(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    decided(view, index, event).or_else(|| of_each_copy(view, event))
}

/// Whether a call's name only says that something is done, not what.
pub fn vague(view: &View<'_>, event: &FlatEvent) -> bool {
    matches!(&event.what, What::Presumed(presumed) if view.world.tree.book.verbs.is_vague(&presumed.name))
}

/// Why an effect that each copy comes to may be done by each. A sum is wrong if it is added to twice, however it is added.
pub fn harmless_again(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    let sum = event.statement().is_some_and(|statement| statement.op == Op::Update && !statement.conditional());
    decided_in_itself(view, event)
        .filter(|reason| !(sum && reason.why == Why::Atomic))
        .or_else(|| decided_elsewhere(view, index, event))
        .or_else(|| of_each_copy(view, event))
}

/// Why an effect does no harm if each copy does it: the second changes nothing, or each does what is its own.
fn of_each_copy(view: &View<'_>, event: &FlatEvent) -> Option<Reason> {
    idempotent(view, event)
        .or_else(|| own_row(view, event))
        .or_else(|| own_share(view, event))
        .or_else(|| own_buffer(view, event))
}

/// Why doing it twice does no more than doing it once.
pub fn idempotent(view: &View<'_>, event: &FlatEvent) -> Option<Reason> {
    let so = match &event.what {
        What::Statement(statement) => match statement.op {
            Op::Delete => true,
            Op::Upsert => !relative(statement) && !written_back(view, statement),
            _ => false,
        },
        What::Kv(kv) => kv.op == CommandKind::Delete || kv.op == CommandKind::Set && kv.ttl.is_some(),
        What::Presumed(presumed) => leaves_the_same(view, &presumed.name),
        What::Meant(meant) => {
            let named = event.call().and_then(|(callee, _)| view.world.tree.name_of(callee));
            keyed_by_the_work(view, meant) || named.is_some_and(|name| leaves_the_same(view, &name))
        }
        What::Nothing => false,
    };
    so.then(|| Reason::of(view, Why::Idempotent, event))
}

/// Whether a call's name says that the last of several leaves what the first left: it takes away, or leaves what is there.
fn leaves_the_same(view: &View<'_>, name: &str) -> bool {
    let verbs = &view.world.tree.book.verbs;
    verbs.takes_away(name) || verbs.leaves_standing(name)
}

/// What decides about an effect that all copies see: the write itself, a claim that guards it, or a shared lock.
pub fn decided(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    decided_in_itself(view, event).or_else(|| decided_elsewhere(view, index, event))
}

/// What in the write itself decides: what [`in_itself`] says, or a unique key of the schema that an insert hits.
pub fn decided_in_itself(view: &View<'_>, event: &FlatEvent) -> Option<Reason> {
    let insert = event.statement().is_some_and(|statement| statement.op == Op::Insert);
    let refused = if insert { unique_key(view, event) } else { None };
    refused.or_else(|| in_itself(view, event))
}

/// What decides about an effect, whatever unique keys an insert may hit.
pub fn decided_apart(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    in_itself(view, event).or_else(|| decided_elsewhere(view, index, event))
}

/// What decides about an effect besides the write itself: a claim that guards it, a shared lock it is under, or that it is itself a
/// call which, by its name, gives to one what it gives to nobody else.
pub fn decided_elsewhere(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    let hands_out = || matches!(event.what, What::Presumed(_)) && claims(view, event) && view.flat.used(index);
    by_a_claim(view, index, event)
        .or_else(|| under_a_shared_lock(view, index, event))
        .or_else(|| hands_out().then(|| Reason::of(view, Why::Claim, event)))
}

/// What in the write itself decides: its condition, how it meets a conflict, a key that the other side compares, or that the database computes.
pub fn in_itself(view: &View<'_>, event: &FlatEvent) -> Option<Reason> {
    let why = match &event.what {
        What::Statement(statement) => match statement.op {
            Op::Upsert if !written_back(view, statement) && !unbacked(view, statement) => Why::ConflictHandled,
            Op::Insert if statement.conflict && !unbacked(view, statement) => Why::ConflictHandled,
            Op::Insert if statement.subquery => Why::Condition,
            Op::Update if statement.conditional() => Why::Condition,
            Op::Update if relative(statement) => Why::Atomic,
            Op::Delete => Why::Idempotent,
            _ => return None,
        },
        What::Kv(kv) if matches!(kv.op, CommandKind::Increment | CommandKind::Add) => Why::Atomic,
        What::Meant(meant) if keyed_by_the_work(view, meant) => Why::IdempotencyKey,
        _ => return None,
    };
    Some(Reason::of(view, why, event))
}

/// Whether the other side is given a key that tells one piece of work from another. One that is new each time tells nothing.
fn keyed_by_the_work(view: &View<'_>, meant: &Meant) -> bool {
    meant.flag("idempotency") && meant.part("idempotency").is_none_or(|key| !fresh(view, key))
}

/// Whether it writes values that were worked out from a read.
fn written_back(view: &View<'_>, statement: &crate::program::Statement) -> bool {
    statement.sets.iter().any(|column| {
        column.kind == ColumnKind::Equal && view.flat.depends(&column.value).iter().any(|at| reads(view.event(*at)))
    })
}

/// Whether the database works out the new value itself.
fn relative(statement: &crate::program::Statement) -> bool {
    statement.sets.iter().any(|column| column.kind == ColumnKind::Relative)
}

/// The unique key of the schema that an insert's own columns hit.
pub fn unique_key(view: &View<'_>, event: &FlatEvent) -> Option<Reason> {
    let (table, key) = key_hit(view, event)?;
    Some(Reason::of(view, Why::UniqueKey, event).by(format!("{table}({})", key.columns.join(", "))))
}

/// The same, as the schema has it, with its table.
pub(super) fn key_hit<'v>(view: &View<'v>, event: &'v FlatEvent) -> Option<(&'v str, &'v Key)> {
    let statement = event.statement()?;
    let table = statement.table.as_ref()?;
    let given: Vec<&str> = (statement.sets.iter())
        .filter(|column| !fresh(view, &column.value) && column.value != Value::Null)
        .map(|column| column.name.as_str())
        .collect();
    let hit = |key: &&Key| key.columns.iter().all(|column| given.contains(&column.as_str())) && key.speaks_of(&statement.sets);
    view.world.schema.keys(table).into_iter().find(hit).map(|key| (table.as_str(), key))
}

/// Whether a value is new each time (a random id, what the database makes of nothing that it is given), so that a unique key on it
/// decides nothing.
pub fn fresh(view: &View<'_>, value: &Value) -> bool {
    let of_nothing = matches!(value, Value::Mix(parts) if parts.is_empty());
    of_nothing || view.flat.depends(value).iter().any(|index| view.event(*index).meant(Meaning::Fresh).is_some())
}

/// Whether an event is a claim: its answer tells one winner among all copies.
pub fn claims(view: &View<'_>, event: &FlatEvent) -> bool {
    match &event.what {
        What::Statement(statement) => match statement.op {
            Op::Insert => statement.conflict && !unbacked(view, statement) || unique_key(view, event).is_some(),
            Op::Upsert => statement.returning || statement.conditional(),
            Op::Update => statement.conditional(),
            Op::Delete => true,
            Op::SessionLock | Op::TransactionLock => true,
            _ => false,
        },
        What::Kv(kv) => match kv.op {
            CommandKind::Set => kv.only_new,
            CommandKind::Add | CommandKind::Increment | CommandKind::Delete => true,
            CommandKind::Script => kv.script == Some(ScriptKind::Acquire) || kv.script.is_none(),
            _ => false,
        },
        What::Meant(meant) if meant.is == Meaning::Acquire => {
            view.regions.iter().any(|region| view.event(region.acquire).at == event.at && region.scope == Scope::Cluster)
        }
        // Of a call that cannot be followed, its name.
        What::Presumed(presumed) => !event.inlined && view.world.tree.book.verbs.hands_out(&presumed.name),
        _ => false,
    }
}

/// The claim that guards an effect: an earlier answer that tells one winner among all copies.
pub fn by_a_claim(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    by_a_claim_that(view, index, event, &|_| true)
}

/// What decides about a change of a row besides the write itself. A row that was added under a key that says more than whose row it
/// is (one for each customer of a voucher) lets others come to the same row, as does a claim of what many of belong to one (the
/// requests of one account).
pub(super) fn decided_for_its_row(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    let of_this_row = |claim: &FlatEvent| {
        !event.statement().is_some_and(|write| says_more(view, claim, write) || of_many(view, claim, event, write))
    };
    by_a_claim_that(view, index, event, &of_this_row).or_else(|| under_a_shared_lock(view, index, event))
}

/// Whether every unique key that an insert meets has a column of which the row that is changed is not named.
fn says_more(view: &View<'_>, claim: &FlatEvent, write: &Statement) -> bool {
    let Some(insert) = claim.statement().filter(|statement| statement.op == Op::Insert) else { return false };
    let Some(table) = insert.table.as_ref() else { return false };
    let set = |name: &str| insert.sets.iter().find(|column| column.name == name).map(|column| &column.value);
    let named = |value: &Value| write.wheres.iter().any(|column| column.value == *value);
    let mut met =
        view.world.schema.keys(table).into_iter().filter(|key| key.columns.iter().all(|column| set(column).is_some())).peekable();
    let plain = |value: &Value| !matches!(value, Value::Text(_) | Value::Number(_) | Value::Bool(_) | Value::Null);
    !write.wheres.is_empty()
        && met.peek().is_some()
        && met.all(|key| key.columns.iter().filter_map(|column| set(column)).any(|value| plain(value) && !named(value)))
}

/// Whether a claim is of a row of another table, by nothing that names the row that is changed.
fn of_many(view: &View<'_>, claim: &FlatEvent, event: &FlatEvent, write: &Statement) -> bool {
    let Some(claimed) = claim.statement().filter(|statement| statement.op == Op::Update) else { return false };
    if claimed.table.is_none() || write.table.is_none() || claimed.table == write.table {
        return false;
    }
    let keys = |statement: &Statement| -> Vec<Value> {
        let named = statement.wheres.iter().filter(|column| column.kind == ColumnKind::Equal);
        named.map(|column| column.value.clone()).filter(|value| *value != Value::Unknown).collect()
    };
    let found = event.call().into_iter().flat_map(|(_, args)| args.iter().flat_map(|(_, value)| view.flat.depends(value)));
    let found = found.filter_map(|at| view.event(at).statement()).filter(|read| read.table == write.table);
    let of_claim = keys(claimed);
    let of_row: Vec<Value> = found.flat_map(keys).chain(keys(write)).collect();
    !of_claim.is_empty() && !of_row.is_empty() && !of_claim.iter().any(|value| of_row.contains(value))
}

fn by_a_claim_that(view: &View<'_>, index: u32, event: &FlatEvent, counts: &dyn Fn(&FlatEvent) -> bool) -> Option<Reason> {
    let deciding = view.always_decided_by(event);
    let claimed = |at: &&u32| **at < index && claims(view, view.event(**at)) && counts(view.event(**at));
    if let Some(claim) = deciding.iter().filter(claimed).min() {
        return Some(Reason::of(view, Why::Claim, view.event(*claim)));
    }
    if let Some(gave) = handed_out(view, event) {
        return Some(Reason::of(view, Why::Claim, view.event(gave)));
    }
    // An insert that a unique key refuses throws: what follows on the same way happens once.
    let guards: HashSet<_> = event.guards.iter().collect();
    view.events().take_while(|(at, _)| *at < index).find_map(|(_, earlier)| {
        let inserts = matches!(&earlier.what, What::Statement(statement) if statement.op == Op::Insert && !statement.conflict);
        let refused = inserts
            && (earlier.caught.as_ref().is_none_or(|(_, throws)| *throws) || earlier.caught == event.caught && !event.in_catch)
            && earlier.guards.iter().all(|guard| guards.contains(guard))
            && counts(earlier);
        refused.then(|| unique_key(view, earlier)).flatten()
    })
}

/// The changing write whose returned rows an effect is on: each row goes to one copy.
fn handed_out(view: &View<'_>, event: &FlatEvent) -> Option<u32> {
    let (callee, args) = event.call()?;
    let mut on = view.flat.depends(callee);
    args.iter().for_each(|(_, value)| on.extend(view.flat.depends(value)));
    // What was put into an object that is handed over, a message with its recipient.
    let filled: Vec<u32> = (view.events())
        .filter_map(|(_, filling)| match &filling.act {
            Act::Write { place: Value::Member(of, _) | Value::Index(of, _), value, .. } => match &**of {
                Value::Flat(made) if on.contains(made) => Some(view.flat.depends(value)),
                _ => None,
            },
            _ => None,
        })
        .flatten()
        .collect();
    on.into_iter().chain(filled).filter(|at| gives_rows(view.event(*at))).min()
}

/// Whether a write gives back the rows it found and changed or took away.
fn gives_rows(event: &FlatEvent) -> bool {
    event.statement().is_some_and(|statement| {
        statement.returning && (statement.op == Op::Delete || statement.op == Op::Update && statement.conditional())
    })
}

/// The lock that all copies share which an event is under.
pub(super) fn under_a_shared_lock(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    let held = view.regions.iter().find(|region| region.scope == Scope::Cluster && region.holds(index, event));
    if let Some(held) = held {
        return Some(Reason::of(view, Why::SharedLock, view.event(held.acquire)));
    }
    let serializable = event.within.iter().find(|within| {
        view.event(**within).meant(Meaning::Transaction).is_some_and(|meant| {
            meant.part("isolation").is_some_and(|value| {
                view.world
                    .tree
                    .name_of(value)
                    .or_else(|| value.text())
                    .is_some_and(|text| text.to_lowercase().contains("serializable"))
            })
        })
    });
    match serializable {
        Some(within) => Some(Reason::of(view, Why::Serializable, view.event(*within))),
        None => row_locked(view, index, event),
    }
}

/// The row lock or transaction's advisory lock that was taken before, on the way to an event, or on each of two ways to it.
pub fn row_locked(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Reason> {
    let before = || view.events().take_while(|(at, _)| *at < index).map(|(_, earlier)| earlier);
    let lock = |earlier: &FlatEvent| {
        let statement = earlier.statement()?;
        match statement.op {
            Op::Select if statement.row_lock => Some(Why::RowLock),
            Op::TransactionLock if !statement.tries => Some(Why::AdvisoryLock),
            _ => None,
        }
    };
    before().find_map(|earlier| {
        let why = lock(earlier)?;
        let mut open =
            earlier.guards.iter().filter(|guard| !event.guards.contains(guard) && !must_hold(view, earlier, **guard, event));
        let on_the_way = match (open.next(), open.next()) {
            (None, _) => true,
            (Some(guard), None) => {
                let other = Guard { cond: guard.cond, holds: !guard.holds };
                let same_place = |twin: &FlatEvent| {
                    twin.guards.len() == earlier.guards.len()
                        && twin.guards.iter().all(|own| *own == other || earlier.guards.contains(own))
                        && twin.guards.contains(&other)
                };
                let table = |event: &FlatEvent| event.statement().and_then(|statement| statement.table.clone());
                before().any(|twin| lock(twin).is_some() && same_place(twin) && table(twin) == table(earlier))
            }
            _ => false,
        };
        on_the_way.then(|| Reason::of(view, why, earlier))
    })
}

/// Whether a guard of an event holds for all that comes behind: on the other way an error leaves.
fn must_hold(view: &View<'_>, earlier: &FlatEvent, guard: Guard, later: &FlatEvent) -> bool {
    let other = Guard { cond: guard.cond, holds: !guard.holds };
    view.events().any(|(_, exit)| {
        // Out of the `try` that the later one is in too, it does not come there either.
        let leaves = exit.caught.is_none() || exit.caught == later.caught && !later.in_catch;
        let throws = matches!(&exit.act, Act::Exit { kind: ExitKind::Throw, .. }) && leaves;
        throws && exit.guards.iter().all(|own| *own == other || earlier.guards.contains(own)) && exit.guards.contains(&other)
    })
}
