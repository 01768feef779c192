//! The data layer decides nothing: `lost-update`, `check-then-insert`, `check-then-act`, `unconditional-claim`,
//! `number-from-max`.

use super::added::asks_for_its_own;
use super::candidate::Candidate;
use super::changed::{changed_inside, goes_back_whole, laid_over};
use super::claim::claim;
use super::counted::counted_before;
use super::damage::{of_count, of_credential, of_last_few, of_limit, of_noted, of_order, of_place, of_remark};
use super::debounce::ends_soon;
use super::effects::{decided, row_locked, under_a_shared_lock};
use super::exists::says_exists;
use super::new_key::asks_for_what_is_new;
use super::once::{check_then_insert, unbacked_calls};
use super::row_named::{compares_what_was_read, names_another_row, numbered};
use super::rows::{
    RowRead, RowWrite, arithmetic_on, columns_of, columns_or_called, compares, computes_from, found_or_added, open_writes,
    read_anew, row_reads, row_writes, same_table,
};
use super::subject::Judged;
use super::transactions::behind_a_changed_row;
use super::view::View;
use super::ways;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{Column, ColumnKind, FlatEvent, Op, Spot, column_key, is_version, table_key};
use crate::rules::{CommandKind, Meaning, Severity};
use crate::syntax::BinaryOp;

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    stored_values(view, found);
    unbacked_calls(view, found);
    let mut reads = row_reads(view);
    reads.retain(|read| !asks_for_its_own(view, read) && !asks_for_what_is_new(view, read.statement, &read.statement.wheres));
    changes_of_what_was_there(view, found);
    if reads.is_empty() {
        return;
    }
    let mut best: Vec<(u32, u8, u32, Candidate)> = vec![];
    for write in open_writes(view) {
        let before = |read: &&RowRead<'_>| {
            read.index < write.index && !ways::apart(view, (read.index, read.event), (write.index, write.event))
        };
        for read in reads.iter().filter(before) {
            let locked = row_locked(view, write.index, write.event).is_some() || read.statement.row_lock;
            if locked || handed_over_apart(view, read.event, write.event) || behind_a_changed_row(view, read, &write) {
                continue;
            }
            let Some((rank, candidate)) = judge(view, &read_anew(view, *read, &write), &write) else { continue };
            match best.iter_mut().find(|(index, ..)| *index == read.index) {
                Some((_, known, ..)) if *known <= rank => {}
                Some(entry) => *entry = (read.index, rank, write.index, candidate),
                None => best.push((read.index, rank, write.index, candidate)),
            }
        }
    }
    // One finding for one write: the strongest of its reads.
    best.sort_by_key(|(_, rank, _, candidate)| (*rank, candidate.work));
    let mut written = vec![];
    for (_, _, write, candidate) in best {
        if !written.contains(&write) {
            written.push(write);
            found.push(candidate);
        }
    }
}

/// `lost-update` in a key-value store: GET, change, SET of one key.
fn stored_values(view: &View<'_>, found: &mut Judged) {
    for (index, event) in view.events() {
        let Some(set) = event.kv().filter(|kv| kv.op == CommandKind::Set && !kv.only_new) else { continue };
        if decided(view, index, event).is_some()
            || view.regions.iter().any(|region| region.excludes() && region.holds(index, event))
        {
            continue;
        }
        let column = Column { name: String::new(), kind: ColumnKind::Equal, value: set.value.clone() };
        let read = view.events().take_while(|(at, _)| *at < index).find(|(at, earlier)| {
            earlier.kv().is_some_and(|kv| kv.op == CommandKind::Get && kv.key == set.key && kv.key != Value::Unknown)
                && (computes_from(view, &column, *at) || changed_inside(view, &set.value, *at, index).is_some())
                && !was_nothing(view, *at, event)
        });
        let Some((read_at, read)) = read else { continue };
        let message = "the stored value is read, changed in memory and written back: two requests at once read the same value, and one change is lost";
        let mut candidate = Candidate::new(view, "lost-update", event, event, message.to_owned());
        candidate.hop(Role::Check, read, "read here");
        candidate.hop(Role::Effect, event, "written back here");
        // A count that ends by itself bounds how often, and one that ends soon only keeps apart.
        if set.ttl.is_some() {
            let soon = arithmetic_on(view, &set.value, read_at) && ends_soon(view, event, set);
            candidate.severity = Some(if soon { Severity::Advice } else { Severity::Warning });
        }
        found.push(candidate.at_most(if set.sure { Confidence::High } else { Confidence::Medium }));
    }
}

/// Whether on the way to a write nothing was found: nothing of what was read goes back.
fn was_nothing(view: &View<'_>, read: u32, write: &FlatEvent) -> bool {
    write.guards.iter().any(|guard| {
        // Of one of several it is not known which holds.
        let cond = view.flat.conds.get(guard.cond as usize).filter(|cond| !matches!(cond.value, Value::Mix(_)));
        cond.and_then(|cond| says_exists(view, &cond.value, read)).is_some_and(|exists| exists != guard.holds)
    })
}

/// The fault between a read and a write, with its rank: the lower, the more it says.
pub(super) fn judge(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<(u8, Candidate)> {
    // A save compares the version that was read, where the entity has one.
    let table = write.statement.table.as_ref().or(read.statement.table.as_ref());
    if write.saves && table.is_some_and(|table| view.world.schema.version(table).is_some()) {
        return None;
    }
    // A unique key that refuses the second row leaves one question: who answers for the refusal.
    if write.keyed {
        let beyond_it = counted_before(view, write.index, write.event) == Some(read.index);
        let counted = || check_then_act(view, read, write).filter(|_| beyond_it).map(|found| (2, found));
        return counted().or_else(|| check_then_insert(view, read, write).map(|found| (4, found)));
    }
    // Names alone carry only what the columns themselves say.
    if read.presumed() || write.presumed {
        return lost_update(view, read, write).map(|found| (1, found));
    }
    number_from_max(view, read, write)
        .map(|found| (0, found))
        .or_else(|| lost_update(view, read, write).map(|found| (1, found)))
        .or_else(|| check_then_act(view, read, write).map(|found| (2, found)))
        .or_else(|| claim(view, read, write).map(|found| (3, found)))
        .or_else(|| check_then_insert(view, read, write).map(|found| (4, found)))
}

pub(super) fn candidate(
    view: &View<'_>,
    rule: &'static str,
    read: &RowRead<'_>,
    write: &RowWrite<'_>,
    message: String,
    note: &str,
) -> Candidate {
    let mut candidate = Candidate::new(view, rule, write.event, write.event, message);
    candidate.distance = candidate.distance.max(read.event.hops.len());
    candidate.through = Some(apart(read.event, write.event));
    candidate.hop(Role::Check, read.event, note);
    candidate.hop(Role::Effect, write.event, view.describe(write.event));
    let sure = read.statement.sure && write.statement.sure;
    candidate.at_most(if sure { Confidence::High } else { Confidence::Medium })
}

/// Whether a read and a write are in two functions that a file hands over when it is loaded, each to a call of its own: members of a
/// router, which no one path joins.
fn handed_over_apart(view: &View<'_>, read: &FlatEvent, write: &FlatEvent) -> bool {
    let (Some(one), Some(other)) = (read.hops.first(), write.hops.first()) else { return false };
    let hands_over = |spot: &Spot| {
        view.events().filter(|(_, event)| event.at == *spot && event.hops.is_empty() && !event.inlined).any(|(_, event)| {
            matches!(&event.act, Act::Call { args, awaited: false, .. } if args.iter().any(|(_, value)| matches!(value, Value::Function(_))))
        })
    };
    view.root().func == 0 && one != other && hands_over(one) && hands_over(other)
}

/// Where the way to a write leaves the way to its read: the one place at which both are seen.
fn apart(read: &FlatEvent, write: &FlatEvent) -> Spot {
    let shared = read.hops.iter().zip(write.hops.iter()).take_while(|(one, other)| one == other).count();
    write.hops.get(shared).copied().unwrap_or(write.at)
}

pub(super) fn table(write: &RowWrite<'_>, read: &RowRead<'_>) -> String {
    // A row that was read is of the table it was read from.
    let own = write.statement.entity.as_ref().filter(|entity| read.gave(entity)).and(read.statement.table.as_ref());
    match own.or(write.statement.table.as_ref()).or(read.statement.table.as_ref()) {
        Some(table) => format!("`{table}`"),
        None => "the row".to_owned(),
    }
}

/// The same for one column: what the table that was read has no such column is a row that belongs to one of its rows.
fn row_of(view: &View<'_>, write: &RowWrite<'_>, read: &RowRead<'_>, column: &str) -> String {
    let named = table(write, read);
    match read
        .statement
        .table
        .as_deref()
        .filter(|table| write.statement.table.is_none() && view.world.schema.lacks(table, column))
    {
        Some(_) => format!("a row of {named}"),
        None => named,
    }
}

/// `lost-update` where a row is found or, where there is none, added, and then changed where it was found: the adding tells a winner,
/// and says nothing of those who come after.
fn changes_of_what_was_there(view: &View<'_>, found: &mut Judged) {
    let reads = found_or_added(view);
    if reads.is_empty() {
        return;
    }
    for write in row_writes(view) {
        let of_it = |read: &&RowRead<'_>| {
            let entity = write.statement.entity.as_ref();
            read.index < write.index
                && entity.is_some_and(|entity| read.gave(entity))
                && !was_added(view, read, &write)
                && !ways::apart(view, (read.index, read.event), (write.index, write.event))
        };
        let Some(read) = reads.iter().find(of_it) else { continue };
        let held = view.regions.iter().any(|region| region.excludes() && region.holds(write.index, write.event));
        if read.statement.row_lock || held || under_a_shared_lock(view, write.index, write.event).is_some() {
            continue;
        }
        found.faults.extend(lost_update(view, read, &write));
    }
}

/// Whether a write is on the way on which the row was new.
fn was_added(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let added =
        |value: &Value| matches!(value, Value::Index(of, key) if **of == Value::Flat(read.index) && **key == Value::Number(1.0));
    write
        .event
        .guards
        .iter()
        .any(|guard| guard.holds && view.flat.conds.get(guard.cond as usize).is_some_and(|cond| added(&cond.value)))
}

fn lost_update(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<Candidate> {
    let presumed = read.presumed() || write.presumed;
    if compares_what_was_read(view, write) || numbered(view, read, write) {
        return None;
    }
    let related = same_table(read, write, view) || presumed && !read_elsewhere(read, write);
    if !matches!(write.statement.op, Op::Update | Op::Upsert) || !related || write.statement.conditional() {
        return None;
    }
    let inside = |column: &Column| {
        let from = columns_or_called(view, &column.value, read.index);
        (from.is_empty() || from.contains(&column.name))
            .then(|| changed_inside(view, &column.value, read.index, write.index))
            .flatten()
    };
    let kept = |column: &Column| {
        computes_from(view, column, read.index) || inside(column).is_some() || laid_over(view, column, read.index)
    };
    let own_table = read.statement.table.as_ref().zip(write.statement.table.as_ref());
    let own_table = write.statement.whole && own_table.is_some_and(|(one, other)| view.world.schema.same(one, other));
    let whole = |column: &Column| own_table && goes_back_whole(view, column, read.index, write.index);
    let changed = write.statement.sets.iter().filter(|column| {
        column.kind == ColumnKind::Equal && (kept(column) || whole(column)) && !set_before(view, read, write, &column.name)
    });
    // An identity is not counted up, and rows that belong to this one are written one by one.
    let of = write.statement.table.as_deref().or(read.statement.table.as_deref());
    let changed = changed.filter(|column| column.name != "id" && !view.world.schema.is_relation(of, &column.name));
    // How many rows there are is what none of them holds, where it is not known which column is set.
    let changed = changed.filter(|column| !(column.name.is_empty() && read.statement.counts));
    let its_own = |column: &Column| columns_of(view, &column.value, read.index).contains(&column.name);
    // What the table that was read has not is of rows that belong to its own: it was read where they were.
    let the_row = write.statement.entity.as_ref().is_none_or(|entity| read.gave(entity));
    let elsewhere = |column: &Column| {
        !the_row && read.statement.table.as_ref().is_some_and(|table| view.world.schema.lacks(table, &column.name))
    };
    let mut changed = changed.filter(|column| !(presumed || elsewhere(column)) || its_own(column));
    let first = changed.next()?;
    let column = if kept(first) { first } else { changed.find(|column| kept(column)).unwrap_or(first) };
    let message = match kept(column) {
        true => format!(
            "`{}` of {} is read, changed in memory and written back: two requests at once read the same value, and one change is lost",
            column.name,
            row_of(view, write, read, &column.name)
        ),
        false => format!(
            "a row of {} is read, changed in memory and saved whole: what another request changes of it meanwhile goes back to what it was",
            table(write, read)
        ),
    };
    let mut found = candidate(view, "lost-update", read, write, message, "read here");
    let last_few = of_last_few(view, read, inside(column));
    found.severity = of_remark(view, column)
        .or_else(|| of_credential(view, column))
        .or(of_count(view, read, column))
        .or(of_noted(view, column))
        .or(last_few)
        .or(of_place(view, write, column));
    if let Some(at) = inside(column) {
        found.hop(Role::State, view.event(at), "changed in memory here");
    }
    for at in changed_at(view, &column.name, read, write) {
        found.add(Role::State, at, "changed in memory here".to_owned());
    }
    // What is computed where the column itself is not seen may come of something else.
    let seen = !kept(column) || columns_of(view, &column.value, read.index).contains(&column.name);
    Some(if seen { found } else { found.at_most(Confidence::Medium) })
}

/// Whether on the way to a write a column was set anew to what no read gave: all that it becomes later comes of that.
fn set_before(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, column: &str) -> bool {
    // A column that is only emptied may be filled again with what was kept of it.
    let empties = |value: &Value| matches!(value, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_));
    let unclear = |value: &Value| empties(value) || value.any(&|part| matches!(part, Value::Unknown | Value::Captured(..)));
    let between = view.events().take_while(|(index, _)| *index < write.index).filter(|(index, _)| *index > read.index);
    between.filter(|(_, event)| event.in_loop.is_none() || event.in_loop == write.event.in_loop).any(|(_, event)| {
        let on_the_way = || !event.detached && event.guards.iter().all(|guard| write.event.guards.contains(guard));
        match &event.act {
            Act::Write { place: Value::Member(of, name), value, op: None, if_null: false } => {
                let elsewhere = || !unclear(value) && !view.flat.made_of(value).contains(&read.index);
                column_key(name) == column && view.flat.part_of(of).contains(&read.index) && elsewhere() && on_the_way()
            }
            _ => false,
        }
    })
}

/// Whether a read that is presumed from its name names something else than the table that is written for sure.
fn read_elsewhere(read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    match (&read.statement.table, &write.statement.table) {
        (Some(left), Some(right)) => {
            read.presumed() && !write.presumed && !left.contains(right.as_str()) && !right.contains(left.as_str())
        }
        _ => false,
    }
}

/// Where between a read and a write a member of this name is computed anew, at most three places.
fn changed_at(view: &View<'_>, name: &str, read: &RowRead<'_>, write: &RowWrite<'_>) -> Vec<Spot> {
    let computes = |value: &Value| {
        let column = Column { name: name.to_owned(), kind: ColumnKind::Equal, value: value.clone() };
        computes_from(view, &column, read.index)
    };
    let within = view.events().filter(|(index, _)| *index > read.index && *index < write.index);
    within
        .filter(|(_, event)| match &event.act {
            Act::Write { place: Value::Member(of, member), value, op, .. } => {
                let on_it = || read.presumed() || view.flat.part_of(of).contains(&read.index);
                column_key(member) == name && (op.is_some() || computes(value)) && on_it()
            }
            Act::Call { args, .. } => args.iter().any(|(_, value)| match value {
                Value::Object(_, entries) => entries.iter().any(|(key, value)| column_key(key) == name && computes(value)),
                _ => false,
            }),
            _ => false,
        })
        .map(|(_, event)| event.at)
        .take(3)
        .collect()
}

fn number_from_max(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<Candidate> {
    let highest = read.statement.max || read.statement.counts;
    let of_the_table = || same_table(read, write, view) || read.statement.max && read.statement.table.is_none();
    let takes_place =
        || write.statement.op == Op::Insert || write.statement.op == Op::Update && names_another_row(view, read, write);
    if !(highest || read.statement.ordered) || !of_the_table() || !takes_place() {
        return None;
    }
    // What an aggregate gives has a name of its own.
    let named = write.statement.sets.iter().filter(|column| !column.name.is_empty());
    let column = named.into_iter().find(|column| match highest {
        true => arithmetic_on(view, &column.value, read.index),
        false => computes_from(view, column, read.index),
    })?;
    let message =
        format!("the next `{}` is worked out from the rows there are: two requests at once get the same number", column.name);
    let mut found = candidate(view, "number-from-max", read, write, message, "the highest so far is read here");
    found.severity = of_order(view, write, column);
    Some(found)
}

fn check_then_act(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<Candidate> {
    // Each of them may be the one that is spent: a row is also compared with the time, or with who asks.
    let guards = write.guards(view);
    let mut compared = guards.iter().filter_map(|guard| view.flat.conds.get(guard.cond as usize));
    let of_one_table = same_table(read, write, view);
    let guard = compared.find(|cond| {
        let spent = || of_one_table && spends(view, read, write, &cond.value);
        let and_spends = || spent() || adds_to_counted(view, read, write, &cond.value);
        compares(view, &cond.value, read.index) && !repeats(view, read, write, &cond.value) && and_spends()
    })?;
    let message = format!(
        "{} is compared with its limit and then spent by a write that does not compare again: two requests at once both pass",
        table(write, read)
    );
    let mut found = candidate(view, "check-then-act", read, write, message, "read here");
    found.severity = of_limit(view, read, write, &guard.value);
    found.add(Role::Check, guard.at, "compared here".to_owned());
    Some(found)
}

/// Whether a write asks again for what a condition compared: for one of its columns, or for what cannot be told apart from them.
fn repeats(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, cond: &Value) -> bool {
    let compared = columns_of(view, cond, read.index);
    let again = |column: &Column| compared.contains(&column.name) || is_version(&column.name);
    write.statement.conditional() && (compared.is_empty() || write.statement.subquery || write.statement.wheres.iter().any(again))
}

/// Whether a write spends what a condition compared.
fn spends(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, cond: &Value) -> bool {
    match write.statement.op {
        Op::Update => {
            let compared = columns_of(view, cond, read.index);
            // A value by itself is the column; what is worked out of rows, as how many there are, says nothing of a column of one.
            let named = !compared.is_empty() || compares_the_value(view, cond, read.index);
            let mut relative = write.statement.sets.iter().filter(|column| column.kind == ColumnKind::Relative && named);
            relative.any(|column| compared.is_empty() || compared.contains(&column.name))
                || write.statement.sets.iter().any(|column| compared.contains(&column.name) && raises(cond, &column.value))
        }
        Op::Insert => read.statement.counts,
        _ => false,
    }
}

/// Whether a condition compares the very value that a read gave.
fn compares_the_value(view: &View<'_>, cond: &Value, read: u32) -> bool {
    cond.any(&|part| match part {
        Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, pair) => {
            pair.iter().any(|side| is_the_value(view, side, read, 0))
        }
        _ => false,
    })
}

fn is_the_value(view: &View<'_>, value: &Value, read: u32, depth: u32) -> bool {
    let deeper = |value: &Value| depth < 12 && is_the_value(view, value, read, depth + 1);
    match value {
        Value::Index(of, _) | Value::Element(of) | Value::Member(of, _) => deeper(of),
        Value::Op(_, pair) => pair.iter().any(deeper),
        Value::Any(_) | Value::Choose(_) => value.options().into_iter().any(deeper),
        Value::Flat(at) if *at != read => {
            let event = view.event(*at);
            let passed = event.meant(Meaning::Pass).map(|pass| pass.part("of").unwrap_or(&pass.receiver));
            passed.is_some_and(deeper) || event.returns.iter().any(|(value, _)| deeper(value))
        }
        Value::Flat(_) => true,
        _ => false,
    }
}

/// Whether a condition counts the rows that came along with the one that was read (`event.seats.length`, `event._count.seats`), and
/// a write adds one more that belongs to it.
fn adds_to_counted(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, cond: &Value) -> bool {
    let Some(table) = write.statement.table.as_deref().filter(|_| write.statement.op == Op::Insert) else { return false };
    let of_read = |value: &Value| view.flat.depends(value).contains(&read.index);
    let named = |column: &&Column| column.kind == ColumnKind::Equal && column.value != Value::Unknown;
    let asked = |value: &Value| read.statement.wheres.iter().filter(named).any(|column| column.value == *value);
    let belongs = write.statement.sets.iter().any(|column| of_read(&column.value) || asked(&column.value));
    let rows = |value: &Value| match value {
        Value::Member(of, name) => of_read(of) && view.world.schema.same(&table_key(name), table),
        _ => false,
    };
    belongs && counts_what(view, cond, &rows)
}

/// Whether a value has to do with how many of something there are: its length, or what was counted of it.
fn counts_what(view: &View<'_>, value: &Value, rows: &dyn Fn(&Value) -> bool) -> bool {
    let many = |name: &str| view.world.tree.book.verbs.is_size(name);
    let counted = |part: &Value| match part {
        Value::Member(of, name) => {
            many(name) && rows(of) || matches!(&**of, Value::Member(_, count) if column_key(count) == "count") && rows(part)
        }
        _ => false,
    };
    let mut found = value.any(&counted);
    for event in view.flat.depends(value).into_iter().map(|index| view.event(index)) {
        found |= event.call().is_some_and(|(callee, args)| match callee {
            Value::Member(of, name) => many(name) && rows(of),
            Value::Global(name) => many(name) && args.first().is_some_and(|(_, of)| rows(of)),
            _ => false,
        });
    }
    found
}

/// Whether a condition compares what was read with the very value that is then written: the highest so far, the last one used.
fn raises(cond: &Value, written: &Value) -> bool {
    !matches!(written, Value::Unknown | Value::Null)
        && cond.any(&|part| match part {
            Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, pair) => {
                pair.contains(written)
            }
            _ => false,
        })
}
