//! `check-then-insert`: a row is looked for and then added, by two statements or by one call that makes two of them.

use std::collections::HashSet;

use super::added::of_the_changed;
use super::candidate::Candidate;
use super::damage::{Passing, among_several, of_alike, of_defaults, of_derived, of_the_first};
use super::data::{candidate, table};
use super::effects::{decided_apart, fresh, row_locked};
use super::exists::says_exists;
use super::harm::same_for_both;
use super::missed::missed;
use super::new_key::asks_for_what_is_new;
use super::rows::{RowRead, RowWrite, each_part, owner, parent, same_table};
use super::subject::Judged;
use super::transactions::on_the_way;
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Guard, Value};
use crate::program::{Column, ColumnKind, FlatCond, FlatEvent, Key, Op, Statement, names_a_member};
use crate::rules::{Meaning, Severity};

/// What a unique key says of a row that was looked for and then added.
enum Backed<'v> {
    /// No key refuses the second row.
    Not,
    /// A key would, were it given all its columns.
    InPart(&'v Key),
    /// A key refuses it, and the refusal is dealt with.
    Handled,
    /// A key refuses it, and the refusal goes up as an error.
    Unhandled,
}

/// The fault between a read and an insert.
pub(super) fn check_then_insert(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Option<Candidate> {
    if write.statement.op != Op::Insert || !same_table(read, write, view) {
        return None;
    }
    let guard = write.guards(view).into_iter().find(|guard| {
        view.flat
            .conds
            .get(guard.cond as usize)
            .and_then(|cond| says_exists(view, &cond.value, read.index))
            .is_some_and(|exists| exists != guard.holds)
    });
    let cond = guard.and_then(|guard| cond_at(view, &guard));
    let decided = cond.map(|cond| cond.at).or_else(|| missed(view, read, write))?;
    if by_primary_key(read, write) || found_on_the_way(view, read, write) {
        return None;
    }
    if write.statement.table.as_deref().is_some_and(|table| view.world.schema.is_single(table)) {
        return None;
    }
    let asked: Vec<&str> = read.statement.wheres.iter().map(|column| column.name.as_str()).collect();
    let set: Vec<&str> = write.statement.sets.iter().map(|column| column.name.as_str()).collect();
    if !asked.is_empty() && !set.is_empty() && !asked.iter().any(|column| set.iter().any(|other| alike(column, other))) {
        return None;
    }
    if asks_for_others(read, write) {
        return None;
    }
    // Looked for in memory among the rows that were read, under a key that the new row does not have: it is never the one.
    if let Some(cond) = cond
        && let Some(key) = taken_out_under(view, &cond.value, read.index)
        && !write.statement.sets.is_empty()
        && !write.statement.sets.iter().any(|column| column.name.is_empty() || column.value.any(&|part| *part == key))
    {
        return None;
    }
    // What catches a key's refusal knows of the key, where the tree does not declare the table.
    let declared = write.statement.table.as_deref().is_some_and(|table| view.world.schema.has(table));
    // So does who catches it where any row at all stands in the way, and no key is over what the new row is given.
    let keys = write.statement.table.as_deref().map(|table| view.world.schema.keys(table)).unwrap_or_default();
    let given = |key: &&Key| key.columns.iter().any(|column| set.iter().any(|name| alike(column, name)));
    let any_row = read.statement.wheres.is_empty() && !read.statement.restricted && !keys.iter().any(given);
    if (!declared || any_row) && refused_and_caught(view, write) {
        return None;
    }
    // Who saves the row, in a transaction, holds it until that ends.
    let held_by_sender = of_the_changed(view, read, write);
    if held_by_sender && view.world.request_transactions.is_some() {
        return None;
    }
    let backed = backed(view, read, write);
    let refused = match &backed {
        Backed::Handled => return None,
        Backed::Unhandled => true,
        Backed::Not | Backed::InPart(_) => false,
    };
    let row = table(write, read);
    let message = match refused {
        true => format!(
            "{row} is looked for and then added: of two requests at once a unique key refuses the second, which then fails with an error instead of being answered"
        ),
        false => format!(
            "{row} is looked for and then added: two requests at once both find nothing and both add it{}",
            doubt(view, &backed)
        ),
    };
    let mut found = candidate(view, "check-then-insert", read, write, message, "looked for here");
    if decided != read.event.at {
        found.add(Role::Check, decided, "decided here".to_owned());
        found.decided = Some(decided);
    }
    found.keyless = keyless(view, read);
    if refused {
        found.severity = Some(Severity::Advice);
        return Some(found.at_most(Confidence::Low));
    }
    let passing = among_several(view, read, write, cond);
    // Whoever looks takes the first there is, and of two alike that says the same.
    let taken = !read.statement.counts;
    let first =
        of_the_first(view, read).map(|severity| if taken && of_defaults(view, write) { Severity::Advice } else { severity });
    let lived = lives_with_several(view, read.event).then_some(Severity::Advice);
    found.severity = lived.or(of_alike(read, write)).or(first).or(of_derived(view, write)).or(passing.map(|_| Severity::Warning));
    // A class that all tables go through may declare the key, over columns that only come out when it runs.
    let keyed_by_class =
        || view.world.tree.class_of(write.event.origin.0).is_some_and(|class| view.world.schema.works_out_keys(class));
    if held_by_sender || passing == Some(Passing::Gathers) || keyed_by_class() {
        return Some(found.at_most(Confidence::Low));
    }
    // The model itself may give what the key needs beside.
    let in_part = matches!(backed, Backed::InPart(_));
    // Who takes the first there is may live with two, and the first of all is added once in the life of an installation.
    let several = if read.statement.ordered || first.is_some() { Confidence::Medium } else { Confidence::High };
    Some(found.at_most(if in_part { Confidence::Low } else { sureness(view, write.statement.table.as_deref()) }).at_most(several))
}

/// Whether no unique key could say what is looked for: nothing is, or what only comes out when it runs.
fn keyless(view: &View<'_>, read: &RowRead<'_>) -> bool {
    let named = |column: &&Column| {
        matches!(column.kind, ColumnKind::Equal | ColumnKind::Constant)
            && column.name.starts_with(|first: char| first.is_alphabetic())
    };
    !read.statement.wheres.iter().any(|column| named(&column)) && owner(view, read.event).is_none()
}

fn cond_at<'v>(view: &View<'v>, guard: &Guard) -> Option<&'v FlatCond> {
    view.flat.conds.get(guard.cond as usize)
}

/// Whether the way to the insert also says that the row was found.
fn found_on_the_way(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    write.own_guards(view).into_iter().any(|guard| {
        let cond = view.flat.conds.get(guard.cond as usize);
        cond.and_then(|cond| says_exists(view, &cond.value, read.index)) == Some(guard.holds)
    })
}

/// Whether the rows that are looked for have a constant in a column where the new row has something else: it is never one of
/// them, and a second look finds as little as the first.
fn asks_for_others(read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let asked = read.statement.wheres.iter().filter(|column| {
        column.kind == ColumnKind::Constant || column.kind == ColumnKind::Equal && enum_member(&column.value).is_some()
    });
    !read.statement.either
        && asked.into_iter().any(|asked| {
            let mut sets = write.statement.sets.iter().filter(|set| set.name == asked.name);
            sets.any(|set| plainly_differ(&asked.value, &set.value))
        })
}

/// Whether two values are not the same, as far as the text says: constants, or nothing and what a call gives.
fn plainly_differ(constant: &Value, other: &Value) -> bool {
    if let Some((of, name)) = enum_member(constant) {
        return enum_member(other).is_some_and(|(same, member)| of == same && name != member);
    }
    match other {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => constant != other,
        Value::Member(of, _) if matches!(**of, Value::Member(..) | Value::Flat(_) | Value::Result(..)) => {
            plainly_differ(constant, of)
        }
        Value::Flat(_) | Value::Result(..) => *constant == Value::Null,
        _ => false,
    }
}

/// A member of what is named with a capital, and its name there: of an enum, two of them are two values.
fn enum_member(value: &Value) -> Option<(&Value, &str)> {
    match value {
        Value::Member(of, name) if names_a_member(value) => Some((of, name)),
        _ => None,
    }
}

/// Whether the row is looked for by its primary key, and added under that very key: the database takes one of them.
fn by_primary_key(read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let is_key = |column: &&Column| matches!(column.name.as_str(), "id" | "pk") && column.value != Value::Unknown;
    let asked = read.statement.wheres.iter().filter(|column| column.kind != ColumnKind::Compared).find(is_key);
    asked.is_some_and(|asked| write.statement.sets.iter().filter(is_key).any(|set| set.value == asked.value))
}

/// Calls that look for a row and add it where there is none, on tables of which no key makes that hold.
pub(super) fn unbacked_calls(view: &View<'_>, found: &mut Judged) {
    for (index, event) in view.events() {
        let Some(statement) = event.statement().filter(|statement| unbacked(view, statement)) else { continue };
        let held = view.regions.iter().any(|region| region.excludes() && region.holds(index, event));
        let new = asks_for_what_is_new(view, statement, lookups(statement));
        if held || new || decided_apart(view, index, event).is_some() || row_locked(view, index, event).is_some() {
            continue;
        }
        let names: Vec<String> = lookups(statement).iter().map(|column| format!("`{}`", column.name)).collect();
        let message = format!(
            "{} looks for the row and adds it where there is none, and no unique key covers {}: two requests at once both add it",
            view.describe(event),
            names.join(", ")
        );
        let mut candidate = Candidate::new(view, "check-then-insert", event, event, message);
        candidate.hop(Role::Effect, event, view.describe(event));
        if lives_with_several(view, event) {
            candidate.severity = Some(Severity::Advice);
        }
        found.push(candidate.at_most(if statement.sure { Confidence::High } else { Confidence::Medium }));
    }
}

/// Whether what several rows answer where one was asked for is caught: who does that lives with several.
fn lives_with_several(view: &View<'_>, event: &FlatEvent) -> bool {
    let several = |types: &[String]| types.iter().any(|ty| view.world.tree.book.verbs.is_of_several(ty));
    event.caught.as_ref().is_some_and(|(types, throws)| !throws && several(types))
}

/// Whether a statement holds only under a unique key, and its table is known to have none for it.
pub(super) fn unbacked(view: &View<'_>, statement: &Statement) -> bool {
    let Some(table) = statement.table.as_ref().filter(|table| statement.keyed && view.world.schema.has(table)) else {
        return false;
    };
    let asked = lookups(statement);
    let names: Vec<&str> = asked.iter().map(|column| column.name.as_str()).collect();
    let sets = statement.sets.iter().chain(&statement.wheres).cloned().collect::<Vec<Column>>();
    // What is looked for may hide in a value that is not visible.
    let visible = !asked.is_empty() && asked.iter().all(|column| !column.name.is_empty());
    let keys = view.world.schema.keys(table);
    let implied = || names.iter().any(|name| view.world.schema.is_implied(name));
    // The rest of a key over more may come from the defaults, or from what the model sets by itself (a tenant).
    let touches = |key: &Key| key.columns.iter().any(|column| names.iter().any(|name| alike(column, name)));
    let backs = |key: &&Key| key.unclear || touches(key) && key.speaks_of(&sets);
    visible && !implied() && !keys.iter().any(backs)
}

/// What a call that looks and adds looks for.
fn lookups(statement: &Statement) -> &[Column] {
    if statement.wheres.is_empty() && statement.op == Op::Insert { &statement.sets } else { &statement.wheres }
}

/// Whether a unique key stands behind the check, and whether its refusal is dealt with.
fn backed<'v>(view: &View<'v>, read: &RowRead<'_>, write: &RowWrite<'_>) -> Backed<'v> {
    let Some(table) = &write.statement.table else { return Backed::Not };
    let asked: Vec<&str> = (read.statement.wheres.iter())
        .filter(|column| matches!(column.kind, ColumnKind::Equal | ColumnKind::Constant))
        .map(|column| column.name.as_str())
        .collect();
    // What is looked for under the very value it is added with is no new one.
    let sought = |column: &Column| {
        // Several are tried that begin alike: what they are all made of is what two requests share.
        let steady = |part: &Value| matches!(part, Value::Param(..) | Value::Member(..) | Value::Flat(_)) && !fresh(view, part);
        let same = |asked: &Value| {
            let mut shared = *asked == column.value;
            each_part(view, &column.value, &mut |own| shared |= steady(own) && asked.any(&|part| part == own));
            shared
        };
        read.statement.wheres.iter().any(|asked| alike(&asked.name, &column.name) && same(&asked.value))
    };
    // Where one of several values is what was looked for, it is that one that two requests share.
    let lost = |column: &&Column| {
        let gone = |value: &Value| *value == Value::Null || fresh(view, value);
        column.value.options().into_iter().all(gone) && !(sought(column) && column.value != Value::Null)
    };
    let (gone, given): (Vec<&Column>, Vec<&Column>) = write.statement.sets.iter().partition(lost);
    let gone: HashSet<&str> = gone.into_iter().map(|column| column.name.as_str()).collect();
    let known: Vec<&str> = given
        .into_iter()
        .map(|column| column.name.as_str())
        .chain(asked.iter().copied())
        // What a row cannot be without is among what stands in a value that is not visible.
        .chain(view.world.schema.required(table))
        .filter(|name| !gone.contains(name))
        .collect();
    let keys = view.world.schema.keys(table);
    // Where any row at all stands in the way, a key refuses only a second row of the same values.
    let any_row = asked.is_empty() && !read.statement.restricted && parent(view, read.event).is_none();
    let differs = |key: &Key| {
        let of_request = |column: &&Column| key.columns.contains(&column.name) && given_by_request(view, &column.value);
        any_row && write.statement.sets.iter().any(|column| of_request(&column))
    };
    // Looked for and added through one relation: both name the row that they belong to.
    let owner = owner(view, read.event).filter(|name| owner(view, write.event).as_ref() == Some(name));
    let belongs = |column: &&str| {
        let of = column.trim_end_matches("id");
        !of.is_empty() && owner.as_ref().is_some_and(|owner| owner.ends_with(of))
    };
    let linked = keys.iter().flat_map(|key| key.columns.iter().map(String::as_str)).filter(belongs);
    let known: Vec<&str> = known.into_iter().chain(linked).collect();
    // Both come to the same values of it, whatever was asked for: constants, and what the rows that both read say.
    let same = |column: &str| {
        belongs(&column)
            || write.statement.sets.iter().any(|set| {
                alike(&set.name, column)
                    && (steady_for_both(view, &set.value, read.index) || is_owner(view, read.event, &set.value))
            })
    };
    let met_by_both = |key: &Key| key.columns.iter().all(|column| same(column));
    let decides = |key: &&&Key| {
        covered(key, &known)
            && (asked.is_empty()
                || key.columns.iter().any(|column| asked.iter().any(|name| alike(column, name)))
                || met_by_both(key))
            && key.speaks_of(&write.statement.sets)
            && !differs(key)
    };
    let deciding: Vec<&&Key> = keys.iter().filter(decides).collect();
    let implied = asked.iter().any(|name| view.world.schema.is_implied(name) && known.contains(name));
    // One of several: each has to have its key.
    let whole = !read.statement.either
        || asked.iter().all(|name| deciding.iter().any(|key| key.columns.iter().any(|column| alike(column, name))));
    let in_part = || {
        let over =
            |key: &&&Key| !asked.is_empty() && asked.iter().all(|name| key.columns.iter().any(|column| alike(column, name)));
        keys.iter().find(over)
    };
    match !deciding.is_empty() && whole || implied {
        false => in_part().filter(|_| deciding.is_empty()).map_or(Backed::Not, |key| Backed::InPart(key)),
        true if handled(view, write.index, write.event) => Backed::Handled,
        true => Backed::Unhandled,
    }
}

/// Whether two that run at once come to the same value, whoever asks and whenever.
fn steady_for_both(view: &View<'_>, value: &Value, read: u32) -> bool {
    let passing = |at: u32| view.event(at).meant(Meaning::Clock).is_some();
    same_for_both(view, value, read, &mut HashSet::new())
        && !given_by_request(view, value)
        && !view.flat.depends(value).into_iter().any(passing)
}

/// Whether a value is what the rows that are read belong to: both see the same, or their rows are not each other's.
fn is_owner(view: &View<'_>, event: &FlatEvent, value: &Value) -> bool {
    matches!(value, Value::This(_) | Value::Param(..)) && receiver_root(view, event).as_ref() == Some(value)
}

/// What the chain of a call starts from, its relation left out: of `project.points.filter(..)`, `project`.
fn receiver_root(view: &View<'_>, event: &FlatEvent) -> Option<Value> {
    let mut at = event.call().map(|(callee, _)| callee.clone())?;
    for _ in 0..32 {
        at = match &at {
            Value::Flat(index) => view.event(*index).call().map(|(callee, _)| callee.clone())?,
            Value::Member(of, _) => (**of).clone(),
            Value::Mix(parts) => parts.first()?.clone(),
            other => return Some(other.clone()),
        };
    }
    None
}

/// The key under which a condition takes something out of what was read.
fn taken_out_under(view: &View<'_>, cond: &Value, read: u32) -> Option<Value> {
    let mut asked: Vec<u32> = view.flat.depends(cond).into_iter().collect();
    asked.sort_unstable();
    asked.into_iter().find_map(|at| {
        let got = view.event(at).meant(Meaning::Get).or_else(|| view.event(at).meant(Meaning::Test))?;
        let key = got.part("key").filter(|key| !matches!(key, Value::Unknown | Value::Number(_)))?;
        view.flat.made_of(&got.receiver).contains(&read).then(|| key.clone())
    })
}

/// Whether a value is made of what a caller or a request gives: another one gives another.
fn given_by_request(view: &View<'_>, value: &Value) -> bool {
    let words = &view.world.tree.book.reach.request_words;
    let mut given = false;
    each_part(view, value, &mut |part| {
        given |= match part {
            Value::Param(..) => true,
            Value::Module(_, name) | Value::Global(name) => words.iter().any(|word| **word == **name),
            _ => false,
        }
    });
    given
}

/// Whether all of a key's columns are among the names.
pub(super) fn covered(key: &Key, names: &[&str]) -> bool {
    !key.columns.is_empty() && key.columns.iter().all(|column| names.iter().any(|name| alike(column, name)))
}

/// `user` and `user_id` are one.
fn alike(one: &str, other: &str) -> bool {
    one == other || one.trim_end_matches("id") == other.trim_end_matches("id") && !one.trim_end_matches("id").is_empty()
}

/// Whether an error of a write is dealt with where it happens.
fn handled(view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
    let chained = || {
        view.events().any(|(_, later)| {
            matches!(later.call(), Some((Value::Member(of, name), _)) if **name == *"catch" && view.flat.depends(of).contains(&index))
        })
    };
    let values = view.world.tree.errors_are_values(event.at.file);
    event.caught.is_some() || if values { !event.propagated && !event.dropped } else { chained() }
}

/// How sure it is that no key decides.
fn sureness(view: &View<'_>, table: Option<&str>) -> Confidence {
    match table.is_some_and(|table| view.world.schema.has(table)) {
        true => Confidence::High,
        false => Confidence::Medium,
    }
}

/// Why a key may decide after all.
fn doubt(view: &View<'_>, backed: &Backed<'_>) -> String {
    match backed {
        Backed::InPart(key) => {
            format!(" (the unique key over {} needs more than was looked for)", key.columns.join(", "))
        }
        _ if view.world.schema.is_known() => String::new(),
        _ => " (no schema was found in the tree: a unique key that is declared elsewhere may refuse the second)".to_owned(),
    }
}

/// Whether a unique key's refusal of the write is caught by its type, there or where a session writes it.
pub(super) fn refused_and_caught(view: &View<'_>, write: &RowWrite<'_>) -> bool {
    let catches = |types: &[String]| types.iter().any(|ty| view.world.tree.book.verbs.is_refusal(ty));
    let caught = |event: &FlatEvent| event.caught.as_ref().is_some_and(|(types, _)| catches(types));
    let adds = write.statement.op == Op::Insert && write.statement.entity.is_some();
    let mut flushes = view.events().filter(|(at, event)| *at > write.index && event.meant(Meaning::Flush).is_some());
    caught(write.event)
        || adds && flushes.find(|(_, event)| on_the_way(write.event, event)).is_some_and(|(_, event)| caught(event))
}
