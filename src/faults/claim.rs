//! `unconditional-claim`: a row is found free, due or unused, and then marked by a write that does not ask again.

use std::sync::Arc;

use super::Role;
use super::candidate::{Candidate, Only};
use super::data::{candidate, table};
use super::effects::{decided_in_itself, effect, idempotent, key_hit, reads, unique_key};
use super::exists::for_a_new_row;
use super::harm::{Mark, is_removal, of_mark};
use super::once::refused_and_caught;
use super::row_named::of_another;
use super::rows::{RowRead, RowWrite, named_part, row_writes, same_table};
use super::transactions::transactions;
use super::unread::unread;
use super::view::View;
use super::ways::apart;
use crate::facts::{Act, FnFacts, Guard, Value};
use crate::program::{Column, ColumnKind, FlatEvent, Op, Spot, Statement, What, column_key, names_a_member};
use crate::rules::{Meaning, Severity};
use crate::syntax::{BinaryOp, ExitKind, Shape};

/// The fault between a read that finds a row free and the write that marks it.
pub(super) fn claim(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<Candidate> {
    let (column, free) = marked(view, read, write)?;
    if !leads_on(view, read, write, column, &free) || refused_later(view, write) || refused_before(view, read, write) {
        return None;
    }
    // What was set and is now nothing was there to be used up.
    if column.value == Value::Null && free.value == Value::Bool(true) && !uses_up(view, read, write, column) {
        return None;
    }
    if of_another(view, read, write, &column.name) || taken_before(view, read, write, column) {
        return None;
    }
    let costs = of_mark(view, &Mark { read, write, column, free: &free.value, test: free.test })?;
    let filled = filled_in(view, read, write, column, &free);
    let costs = if filled { costs.min(Severity::Warning) } else { costs };
    let message = match filled {
        false if write.statement.conditional() => format!(
            "{} is found with `{}` free and marked by a write that asks again, but nobody looks whether it changed a row: the second of two requests changes none and goes on",
            table(write, read),
            column.name
        ),
        true => format!(
            "{} is found without `{}`, which is then made and filled in without asking again: of two requests at once both make one, and the first to finish is overwritten",
            table(write, read),
            column.name
        ),
        false => format!(
            "{} is found with `{}` free and then marked without asking again: two requests at once both find it and both go on",
            table(write, read),
            column.name
        ),
    };
    let mut found = candidate(view, "unconditional-claim", read, write, message, "found free here");
    if let Some(cond) = free.test.and_then(|cond| view.flat.conds.get(cond as usize)) {
        found.add(Role::Check, cond.at, "tested here".to_owned());
        found.decided = Some(cond.at);
    }
    found.severity = Some(costs);
    found.only = Some(Only::OutsideJobs);
    Some(found)
}

/// Whether the row was taken on the way by a write of the same column that asks again, and whose answer lets one of two go on.
fn taken_before(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, column: &Column) -> bool {
    let guards = write.guards(view);
    let tested = |at: u32| guards.iter().any(|guard| view.cond_depends(guard.cond).contains(&at));
    let takes = |statement: &Statement| {
        statement.op == Op::Update
            && statement.table == write.statement.table
            && statement.sets.iter().any(|set| set.name == column.name)
            && statement.wheres.iter().any(|asked| asked.name == column.name)
    };
    // Or the mark is on a row that is still its taker's: it asks for who the taking wrote into it.
    let words = &view.world.tree.book.tables;
    let known = |set: &Column| set.value != Value::Unknown && (words.says_who(&set.name) || !says_only_that(view, &set.value));
    let asked = |set: &Column| write.statement.wheres.iter().any(|asked| asked.name == set.name && asked.value == set.value);
    let owned = |statement: &Statement| {
        statement.op == Op::Update
            && statement.table == write.statement.table
            && statement.sets.iter().any(|set| known(set) && set.kind != ColumnKind::Relative && asked(set))
    };
    let mut between = view.events().filter(|(at, _)| *at > read.index && *at < write.index);
    between.any(|(at, event)| event.statement().is_some_and(|statement| takes(statement) && tested(at) || owned(statement)))
}

/// Whether an empty column is filled with what was made for it meanwhile elsewhere: a file that was uploaded, an account that was
/// opened. Money is none of it.
fn filled_in(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, column: &Column, free: &Free) -> bool {
    let made = |at: &u32| {
        let event = view.event(*at);
        let pays = matches!(&event.what, What::Meant(meant) if meant.text("kind").as_deref() == Some("pay"));
        *at > read.index && *at < write.index && !reads(event) && !pays && matches!(event.act, Act::Call { awaited: true, .. })
    };
    matches!(free.value, Value::Null | Value::Bool(false))
        && !view.world.tree.book.tables.says_who(&column.name)
        && view.flat.made_of(&column.value).iter().any(made)
}

/// What a column's value was when its row was found free.
pub(super) struct Free {
    value: Value,
    /// The condition that tests it, where it is not the read's own condition.
    test: Option<u32>,
}

impl Free {
    /// Whether a write takes the row out of this state. What was found set is no claim unless it is cleared.
    fn is_left_by(&self, view: &View<'_>, written: &Value) -> bool {
        let clears = matches!(written, Value::Null | Value::Bool(false)) || *written == Value::Number(0.0);
        match &self.value {
            Value::Bool(true) => clears,
            Value::Bool(false) | Value::Null => !clears,
            // Anything but the state that it is now put into.
            Value::Not(states) => is_one_of(view, states, written),
            states => !is_one_of(view, states, written),
        }
    }
}

/// Whether a value is one of several states.
fn is_one_of(view: &View<'_>, states: &Value, written: &Value) -> bool {
    states.options().into_iter().any(|state| equal(state, written) || same_state(view, state, written))
}

/// Whether two values name one state: a text, and a member of that name of what is named at module level.
pub(super) fn same_state(view: &View<'_>, one: &Value, other: &Value) -> bool {
    let name = |value: &Value| {
        let member = names_a_constant(value).then(|| view.world.tree.name_of(value)).flatten();
        value.text().or(member).map(|name| name.to_lowercase())
    };
    one == other || name(one).is_some_and(|known| name(other) == Some(known))
}

/// Whether two constants are the same to a database: `1` and true are.
fn equal(left: &Value, right: &Value) -> bool {
    let plain = |value: &Value| match value {
        Value::Bool(truth) => Value::Number(f64::from(u8::from(*truth))),
        other => other.clone(),
    };
    plain(left) == plain(right)
}

/// The column that a write marks after it was found free, and how it was found.
pub(super) fn marked<'w>(view: &View<'_>, read: &RowRead<'_>, write: &'w RowWrite<'_>) -> Option<(&'w Column, Free)> {
    let statement = &write.statement;
    let decides = statement.conditional() && !unread(view, write);
    if statement.op != Op::Update || decides || !same_table(read, write, view) || write.event.detached {
        return None;
    }
    if refused_and_caught(view, write) || !same_row(view, read, write) || of_all_rows(write) || where_it_failed(view, write) {
        return None;
    }
    let columns = statement
        .sets
        .iter()
        .filter(|column| column.kind != ColumnKind::Relative && !view.world.tree.book.verbs.is_stamp(&column.name));
    columns.filter(|column| !already_so(view, write, column)).find_map(|column| {
        let free = found_free(view, read, write, column)?;
        Some((column, free))
    })
}

/// Whether a statement that is written out asks for no row at all: it speaks of the whole table.
fn of_all_rows(write: &RowWrite<'_>) -> bool {
    let written = write.event.statement().filter(|statement| statement.op == Op::Update);
    !write.saves
        && written.is_some_and(|statement| statement.wheres.is_empty() && !statement.restricted && statement.entity.is_none())
}

/// Whether a write notes that the work has failed: in a handler, or on a way that ends in an error. Nobody takes a row so.
fn where_it_failed(view: &View<'_>, write: &RowWrite<'_>) -> bool {
    let tree = view.world.tree;
    // Of a callee not all exits are shown: they are looked up where they are written.
    let fails = |facts: &FnFacts, at: usize| {
        let own = &facts.events[at];
        facts.events[at + 1..].iter().any(|event| {
            matches!(event.act, Act::Exit { kind: ExitKind::Throw, .. })
                && !(event.in_catch || event.in_finally)
                && event.in_loop == own.in_loop
                && event.guards.iter().all(|guard| own.guards.contains(guard))
        })
    };
    let (function, number) = write.event.origin;
    let own =
        || tree.facts(function).is_some_and(|facts| (number as usize) < facts.events.len() && fails(facts, number as usize));
    let on_the_way = |call: &Spot| {
        let mut calls = tree.events_at(*call).filter(|(_, _, event)| matches!(event.act, Act::Call { .. }));
        calls.any(|(function, at, _)| tree.facts(function).is_some_and(|facts| fails(facts, at)))
    };
    write.event.in_catch || own() || write.event.hops.iter().any(on_the_way)
}

/// Whether what is written is the row that was read, not another of its table.
fn same_row(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let statement = &write.statement;
    if let Some(entity) = &statement.entity {
        return !write.saves || read.statement.entity.as_ref() == Some(entity) || view.flat.depends(entity).contains(&read.index);
    }
    // The read asked for rows other than the one of this value (`id <> $1`).
    let other = |column: &&Column| {
        let equal = matches!(column.kind, ColumnKind::Equal | ColumnKind::Constant) && column.value != Value::Unknown;
        let mut asked = read.statement.wheres.iter().filter(|asked| asked.name == column.name);
        equal
            && !view.flat.depends(&column.value).contains(&read.index)
            && asked.any(|asked| asked.kind == ColumnKind::Compared && asked.value == column.value)
    };
    // A list of all that are free says nothing of the one row that a key from elsewhere names.
    let keys = || statement.wheres.iter().filter(|column| column.kind == ColumnKind::Equal);
    let from_it = |value: &Value| *value == Value::Unknown || view.flat.depends(value).contains(&read.index);
    let listed = !read.statement.wheres.is_empty() && read.statement.wheres.iter().all(|asked| asked.kind != ColumnKind::Equal);
    // How many there are says nothing of the one row that another key names.
    let named =
        |column: &Column| read.statement.wheres.iter().any(|asked| asked.name == column.name && asked.value == column.value);
    if read.statement.counts && keys().next().is_some() && !keys().any(named) {
        return false;
    }
    let led = || write.guards(view).iter().any(|guard| view.cond_depends(guard.cond).contains(&read.index));
    let elsewhere = listed && keys().next().is_some() && !keys().any(|column| from_it(&column.value)) && !led();
    !elsewhere && !statement.wheres.iter().any(|column| other(&column))
}

/// Whether the write is left out only where the row has the new value already: that asks for a change, not for a free row.
fn already_so(view: &View<'_>, write: &RowWrite<'_>, column: &Column) -> bool {
    let asks = |value: &Value| {
        value.any(&|part| match part {
            Value::Op(BinaryOp::Equal | BinaryOp::NotEqual, pair) => {
                pair.contains(&column.value)
                    && !matches!(column.value, Value::Null | Value::Unknown | Value::Bool(_) | Value::Text(_))
            }
            _ => false,
        })
    };
    write.guards(view).iter().filter_map(|guard| view.flat.conds.get(guard.cond as usize)).any(|cond| asks(&cond.value))
}

/// Whether anything but the mark itself hangs on having found the row free: other work, one taker's name, or a refusal of who
/// comes second.
fn leads_on(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, column: &Column, free: &Free) -> bool {
    let guards = write.guards(view);
    let asks: Vec<&Guard> = (guards.iter())
        .filter(|guard| match free.test {
            Some(test) => guard.cond == test,
            None => view.cond_depends(guard.cond).contains(&read.index),
        })
        .collect();
    let guarded = |event: &FlatEvent, so: bool| {
        event.guards.iter().any(|guard| asks.iter().any(|own| own.cond == guard.cond && (own.holds == guard.holds) == so))
    };
    let writes = row_writes(view);
    // Behind a mark that was made in vain, all that follows is too much.
    if write.statement.conditional() {
        let adds = |at: u32| {
            let mut sets = writes.iter().filter(|other| other.index == at).flat_map(|other| &other.statement.sets);
            sets.any(|column| column.kind == ColumnKind::Relative)
        };
        return view.events().any(|(index, event)| {
            let follows = index > write.index && guarded(event, true) && !event.detached;
            // A guess from a name is too little where the mark itself asks again.
            follows && (adds(index) || !matches!(event.what, What::Presumed(_)) && works_twice(view, &writes, index, event))
        });
    }
    let led = || {
        view.events().filter(|(index, _)| *index != write.index).any(|(index, event)| {
            // What a run does that does not mark the row is no work of who marked it.
            let beside = apart(view, (write.index, write.event), (index, event));
            let on_the_way = || guarded(event, true) || asks.is_empty() && index > read.index;
            guarded(event, false) && refuses(view, read, event)
                || !beside && works_twice(view, &writes, index, event) && on_the_way()
        })
    };
    !says_only_that(view, &column.value) || led()
}

/// Whether a value is the time as a function is handed it.
pub(super) fn is_now(view: &View<'_>, value: &Value) -> bool {
    let tree = view.world.tree;
    let handed = match value {
        Value::Member(of, _) => matches!(**of, Value::Param(..) | Value::Object(..)),
        other => matches!(other, Value::Param(..)),
    };
    handed && tree.name_of(value).is_some_and(|name| tree.book.verbs.is_clock(&name))
}

/// Whether a value says that something is so, and nothing of who made it so: a constant, the time, a new id.
pub(super) fn says_only_that(view: &View<'_>, value: &Value) -> bool {
    let plain = |value: &Value| {
        is_now(view, value)
            || matches!(value, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Unknown)
            || matches!(value, Value::Mix(parts) if parts.is_empty())
            || names_a_constant(value)
    };
    let clock = |index: &u32| match &view.event(*index).what {
        What::Meant(meant) => matches!(meant.is, Meaning::Clock | Meaning::Time | Meaning::Pass | Meaning::Fresh),
        // Made of nothing, by the language itself.
        What::Nothing => matches!(view.event(*index).call(), Some((Value::Global(_), args)) if args.is_empty()),
        _ => false,
    };
    let from = view.flat.depends(value);
    let options = value.options();
    if options.len() > 1 {
        return options.into_iter().all(|option| says_only_that(view, option));
    }
    plain(value) || !from.is_empty() && from.iter().all(clock)
}

/// Whether an event turns away who comes second: an error, or an answer that is not the row itself.
fn refuses(view: &View<'_>, read: &RowRead<'_>, event: &FlatEvent) -> bool {
    match &event.act {
        Act::Exit { kind: ExitKind::Throw, .. } => true,
        // Nothing is an answer only where others get something.
        Act::Exit { kind: ExitKind::Return, value: Value::Null } => {
            // Of a callee only the exits that answer are shown.
            let gives = |(value, _): &(Value, Vec<Guard>)| !matches!(value, Value::Null | Value::Unknown);
            !event.hops.is_empty() || view.flat.returns.iter().any(gives)
        }
        Act::Exit { kind: ExitKind::Return, value } => {
            *value != Value::Unknown && !view.flat.part_of(value).contains(&read.index)
        }
        // An answer handed to what holds the connection: the status says who is refused (RFC 9110, section 15.5).
        Act::Call { args, .. } => {
            args.iter().any(|(_, value)| matches!(value, Value::Number(status) if (400.0..500.0).contains(status)))
        }
        _ => false,
    }
}

/// Whether doing an event's work twice is more than doing it once.
fn works_twice(view: &View<'_>, writes: &[RowWrite<'_>], index: u32, event: &FlatEvent) -> bool {
    // What is then so, is so however often it is written.
    let same_again = |write: &RowWrite<'_>| {
        let sets = &write.statement.sets;
        write.statement.op == Op::Update
            && !sets.is_empty()
            && sets.iter().all(|column| column.kind != ColumnKind::Relative && says_only_that(view, &column.value))
    };
    effect(view, event).is_some()
        && !for_a_new_row(view, event)
        && !writes.iter().any(|write| write.index == index && same_again(write))
        && idempotent(view, event).is_none()
        && decided_in_itself(view, event).is_none()
}

/// Whether what a column held goes into work that is more when it is done twice.
fn uses_up(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, column: &Column) -> bool {
    let held = |value: &Value| {
        value.any(&|part| {
            named_part(part)
                .is_some_and(|(of, member)| column_key(member) == column.name && view.flat.part_of(of).contains(&read.index))
        })
    };
    let handed = |event: &FlatEvent| event.call().is_some_and(|(_, args)| args.iter().any(|(_, value)| held(value)));
    let given = |event: &FlatEvent| {
        let made = |value: &Value| view.flat.depends(value).iter().any(|at| handed(view.event(*at)));
        let on = |callee: &Value| matches!(callee, Value::Member(of, _) if made(of));
        handed(event) || event.call().is_some_and(|(callee, args)| on(callee) || args.iter().any(|(_, value)| made(value)))
    };
    let writes = row_writes(view);
    // What is taken away is gone the second time.
    let more = |index: u32, event: &FlatEvent| !is_removal(view, event) && works_twice(view, &writes, index, event);
    view.events().any(|(index, event)| index != write.index && given(event) && more(index, event))
}

/// Whether a value goes with the row that was read: it is taken from it, or from another that was looked up by it.
fn is_tied(view: &View<'_>, read: &RowRead<'_>, value: &Value) -> bool {
    let from = view.flat.depends(value);
    let by_it = |asked: &Column| view.flat.depends(&asked.value).contains(&read.index);
    let looked_up = |(at, event): (u32, &FlatEvent)| {
        event.statement().filter(|statement| statement.op == Op::Select).is_some_and(|statement| {
            let names = from.contains(&at) || statement.wheres.iter().any(|asked| asked.value == *value);
            names && statement.wheres.iter().any(by_it)
        })
    };
    from.contains(&read.index) || view.events().any(looked_up)
}

/// Whether a row is added before, always and on a unique key, that is of the row that was read: who comes second is refused there.
fn refused_before(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let own = write.own_guards(view);
    let adds = |event: &FlatEvent| {
        let caught = event.caught.as_ref().is_some_and(|(_, throws)| !throws);
        let statement = event.statement().filter(|statement| statement.op == Op::Insert && !statement.conflict);
        let statement = statement.filter(|_| !caught && !event.detached && event.guards.iter().all(|guard| own.contains(guard)));
        let keyed = statement.and_then(|statement| Some((statement, key_hit(view, event)?.1)));
        keyed.is_some_and(|(statement, key)| {
            let mut sets = statement.sets.iter().filter(|column| key.columns.contains(&column.name));
            sets.any(|column| is_tied(view, read, &column.value))
        })
    };
    view.events().any(|(index, event)| index > read.index && index < write.index && adds(event))
}

/// Whether the same transaction also adds a row that a unique key refuses the second time: all of it is then undone.
fn refused_later(view: &View<'_>, write: &RowWrite<'_>) -> bool {
    transactions(view).iter().filter(|open| open.holds(view, write.index, write.event)).any(|open| {
        view.events().any(|(index, event)| {
            matches!(&event.what, What::Statement(statement) if statement.op == Op::Insert && !statement.conflict)
                && open.holds(view, index, event)
                && open.caught_outside(view, event)
                && unique_key(view, event).is_some()
        })
    })
}

/// The value with which a column was found free, or what it was found not to be, where the write takes it out of that: by the read's own
/// condition, or by a test on what was read.
fn found_free(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, set: &Column) -> Option<Free> {
    let name = set.name.as_str();
    let left = |free: &Free| free.is_left_by(view, &set.value);
    let asked = read.statement.wheres.iter().filter(|column| column.name == name).find(|column| match column.kind {
        ColumnKind::Constant => true,
        ColumnKind::Compared => column.value == Value::Null || says_only_that(view, &column.value),
        // The next row of a state.
        ColumnKind::Equal => read.statement.ordered && names_a_member(&column.value),
        ColumnKind::Relative => false,
    });
    if let Some(asked) = asked.filter(|asked| asked.value != Value::Unknown) {
        let value = match (asked.kind, &asked.value) {
            // Asked whether it is null, or not so.
            (ColumnKind::Compared, Value::Bool(true)) => Value::Null,
            (ColumnKind::Compared, Value::Bool(false)) => Value::Bool(true),
            (_, value) => value.clone(),
        };
        return Some(Free { value, test: None }).filter(left);
    }
    let free = |guard: &Guard| {
        let cond = view.flat.conds.get(guard.cond as usize)?;
        let value = free_when(view, &cond.value, read.index, name, guard.holds)?;
        Some(Free { value, test: Some(guard.cond) })
    };
    let told: Vec<Free> = write.guards(view).iter().filter_map(free).collect();
    let (other_than, just): (Vec<Free>, Vec<Free>) = told.into_iter().partition(|free| matches!(free.value, Value::Not(_)));
    just.into_iter().chain(other_than).find(left)
}

fn free_when(view: &View<'_>, value: &Value, read: u32, name: &str, holds: bool) -> Option<Value> {
    let is_column = |value: &Value| {
        named_part(value).is_some_and(|(of, member)| column_key(member) == name && view.flat.part_of(of).contains(&read))
    };
    match value {
        Value::Not(inner) => free_when(view, inner, read, name, !holds),
        Value::Is(inner, shape) if is_column(inner) => match (&**shape, holds) {
            (Shape::Null, true) | (Shape::Present, false) => Some(Value::Null),
            (Shape::Null, false) | (Shape::Present, true) => Some(Value::Bool(true)),
            (Shape::Bool(truth), _) => Some(Value::Bool(*truth == holds)),
            (Shape::Text(text), true) => Some(Value::Text(text.as_str().into())),
            (Shape::Text(text), false) => Some(Value::Not(Arc::new(Value::Text(text.as_str().into())))),
            _ => None,
        },
        Value::Op(BinaryOp::Equal | BinaryOp::NotEqual, pair) if is_column(&pair[0]) => {
            let state = Some(&pair[1]).filter(|state| state.text().is_some() || names_a_constant(state));
            match matches!(value, Value::Op(BinaryOp::Equal, _)) == holds {
                true => state.or(Some(&pair[1]).filter(|flag| matches!(flag, Value::Bool(_)))).cloned(),
                false => state.map(|state| Value::Not(Arc::new(state.clone()))),
            }
        }
        Value::Flat(at) => {
            let asked = view.event(*at).meant(Meaning::Test).filter(|asked| asked.part("key").is_some_and(is_column))?;
            let Value::List(states) = view.world.tree.settled(&view.flat.plain(&asked.receiver)) else { return None };
            let named = !states.is_empty() && states.iter().all(|state| state.text().is_some() || names_a_constant(state));
            let states = named.then_some(Value::Any(states))?;
            Some(if holds { states } else { Value::Not(Arc::new(states)) })
        }
        Value::Mix(parts) if !holds => parts.iter().find_map(|part| free_when(view, part, read, name, false)),
        // A flag.
        other if is_column(other) => Some(Value::Bool(holds)),
        _ => None,
    }
}

/// Whether a value is a member of something named at module level, as an enum's is.
fn names_a_constant(value: &Value) -> bool {
    match value {
        Value::Member(of, _) => matches!(**of, Value::Module(..) | Value::Global(_)) || names_a_constant(of),
        _ => false,
    }
}
