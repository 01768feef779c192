//! What comes of it that two find a row free and both mark it: nothing that differs, one more note of it, waste, or damage.

use std::collections::HashSet;

use super::claim::{is_now, same_state, says_only_that};
use super::credential::refreshes_credential;
use super::effects::{decided_in_itself, effect, idempotent, key_hit};
use super::exists::for_a_new_row;
use super::once::{covered, unbacked};
use super::rows::{RowRead, RowWrite, row_writes};
use super::view::View;
use super::ways::apart;
use crate::facts::{Act, Guard, Value};
use crate::program::{Column, ColumnKind, FlatEvent, Op, Statement, What};
use crate::rules::{CommandKind, Meaning, Severity};
use crate::syntax::Shape;

/// A mark on a row that two found free.
pub(super) struct Mark<'v> {
    /// The read that finds it.
    pub read: &'v RowRead<'v>,
    /// The write that marks it.
    pub write: &'v RowWrite<'v>,
    /// The column that says that it is no longer free.
    pub column: &'v Column,
    /// What it was when the row was found free.
    pub free: &'v Value,
    /// The condition that tests it, where it is not the read's own condition.
    pub test: Option<u32>,
}

/// How much it costs that two set one mark; none where both leave the same behind and nothing else comes of it.
pub(super) fn of_mark(view: &View<'_>, mark: &Mark<'_>) -> Option<Severity> {
    if only_tells(view, mark) {
        return None;
    }
    let asked = mark.read.statement.wheres.iter().any(|where_| where_.name == mark.column.name);
    // A row that was asked for as free is one of several to be had, unless a key names it.
    if asked && (had_once(view, mark) || !mark.is_named(view) && !only_put_away(view, mark)) {
        return Some(Severity::Error);
    }
    let same = |value: &Value| is_now(view, value) || same_for_both(view, value, mark.read.index, &mut HashSet::new());
    if !mark.column.value.options().into_iter().all(same) {
        return Some(if fills(view, mark) { Severity::Advice } else { Severity::Error });
    }
    let asks = mark.asks(view, |cond| match mark.test {
        Some(test) => cond == test,
        None => view.cond_depends(cond).contains(&mark.read.index),
    });
    let hanging = hanging(view, mark, &asks);
    let hanging = hanging.into_iter().filter_map(|(index, event)| cost(view, mark, index, event)).max();
    hanging.max(had_once(view, mark).then_some(Severity::Warning)).max(differs_beside(view, mark))
}

impl Mark<'_> {
    /// What must hold for the mark, of the conditions that are wanted.
    fn asks(&self, view: &View<'_>, wanted: impl Fn(u32) -> bool) -> Vec<Guard> {
        self.write.guards(view).into_iter().filter(|guard| wanted(guard.cond)).collect()
    }

    /// Whether the row is asked for by a unique key, whatever else is asked of it.
    fn is_named(&self, view: &View<'_>) -> bool {
        let statement = self.read.statement;
        let named = statement
            .wheres
            .iter()
            .filter(|column| matches!(column.kind, ColumnKind::Equal | ColumnKind::Constant) && column.name != self.column.name);
        let named: Vec<&str> = named.map(|column| column.name.as_str()).collect();
        let schema = &view.world.schema;
        let keys = statement.table.as_ref().map(|table| schema.keys(table)).unwrap_or_default();
        named.iter().any(|name| schema.is_implied(name)) || keys.iter().any(|key| covered(key, &named))
    }
}

/// Whether the mark may leave the row as free as it was, and nothing that must happen once came before: it is what somebody was
/// told, and is the same whoever asks.
fn only_tells(view: &View<'_>, mark: &Mark<'_>) -> bool {
    let options = mark.column.value.options();
    let stays = |option: &&Value| same_state(view, option, mark.free);
    let worked = |at: u32| effect(view, view.event(at)).is_some() && must_happen_once(view, view.event(at));
    options.len() > 1 && options.iter().any(stays) && !view.flat.depends(&mark.column.value).into_iter().any(worked)
}

/// Whether rows that were looked for are only put away: marked with what is the same for all, and what belongs to them taken out. They
/// go to nobody.
fn only_put_away(view: &View<'_>, mark: &Mark<'_>) -> bool {
    let sets = &mark.write.statement.sets;
    let goes = |value: &Value| goes_out(view, value, mark.read.index);
    let handed = |(index, event): (u32, &FlatEvent)| {
        let takes_out = || event.statement().is_some_and(|statement| matches!(statement.op, Op::Delete | Op::Select));
        let (called, given) = match &event.act {
            Act::Call { args, .. } => (true, args.iter().any(|(_, value)| goes(value))),
            Act::Write { value, .. } => (false, goes(value)),
            _ => return false,
        };
        let own = || match event.call() {
            Some((Value::Member(of, _), _)) => matches!(**of, Value::Global(_)),
            Some((callee, _)) => matches!(callee, Value::Global(_)),
            None => false,
        };
        let computes = || event.computes() && (!matches!(event.what, What::Nothing) || own());
        let passes = called && (computes() || event.meant(Meaning::Transaction).is_some() || is_removal(view, event));
        index > mark.read.index && index != mark.write.index && given && !takes_out() && !passes
    };
    let given_out = view.flat.returns.iter().any(|(value, _)| goes(value));
    let works = |index: u32, event: &FlatEvent| {
        effect(view, event).is_some() && !is_removal(view, event) && cost(view, mark, index, event).is_some()
    };
    let behind = |index: u32| index > mark.read.index && index != mark.write.index;
    sets.iter().all(|column| as_it_is(view, column, mark.read.index))
        && !given_out
        && !view.events().any(handed)
        && !view.events().any(|(index, event)| behind(index) && works(index, event))
}

/// Whether a call takes something away by its name, or is of what such a call does.
pub(super) fn is_removal(view: &View<'_>, event: &FlatEvent) -> bool {
    let named = |event: &FlatEvent| {
        let name = event.call().and_then(|(callee, _)| view.world.tree.name_of(&view.flat.plain(callee)));
        name.is_some_and(|name| view.world.tree.book.verbs.takes_away(&name))
    };
    named(event) || view.events().any(|(_, call)| event.hops.contains(&call.at) && named(call))
}

/// Whether what was read is in a value itself, and not only in the answers of statements.
fn goes_out(view: &View<'_>, value: &Value, read: u32) -> bool {
    match value {
        Value::Flat(at) if *at != read && view.event(*at).statement().is_some() => false,
        Value::List(items) => items.iter().any(|item| goes_out(view, item, read)),
        other => view.flat.made_of(other).contains(&read),
    }
}

/// The work besides the mark that is done only where what was read allows it.
fn hanging<'v>(view: &View<'v>, mark: &Mark<'_>, asks: &[Guard]) -> Vec<(u32, &'v FlatEvent)> {
    let hangs =
        |index: u32, event: &FlatEvent| asks.iter().any(|ask| event.guards.contains(ask) || view.passed(index).contains(ask));
    // What is written is looked up again by whoever comes second, unless it is asked of another service.
    let written = view.flat.depends(&mark.column.value);
    let verbs = &view.world.tree.book.verbs;
    // So is what is asked before the mark, and decides about it.
    let asked = view.decided_by(mark.write.event);
    let fetches = |index: u32, event: &FlatEvent| match &event.what {
        What::Presumed(presumed) => {
            (written.contains(&index) || !presumed.strong && asked.contains(&index))
                && !verbs.is_remote(&presumed.name, presumed.owner.as_deref())
        }
        _ => false,
    };
    view.events()
        .filter(|(index, event)| *index != mark.write.index && hangs(*index, event))
        .filter(|(index, event)| !apart(view, (mark.write.index, mark.write.event), (*index, event)))
        .filter(|(_, event)| !for_a_new_row(view, event))
        .filter(|(_, event)| effect(view, event).is_some() || hands_on(view, event))
        .filter(|(index, event)| !fetches(*index, event))
        .collect()
}

/// Whether a call gives somebody else work, by its name: what it is written out as may not show it.
fn hands_on(view: &View<'_>, event: &FlatEvent) -> bool {
    let name = event.call().and_then(|(callee, _)| view.world.tree.name_of(&view.flat.plain(callee)));
    name.is_some_and(|name| view.world.tree.book.verbs.hands_on(&name))
}

/// What a second time of some work costs.
fn cost(view: &View<'_>, mark: &Mark<'_>, index: u32, event: &FlatEvent) -> Option<Severity> {
    if effect(view, event).is_none() {
        return Some(Severity::Error);
    }
    if takes_away(view, event) || sets_the_same(view, event) || adds_the_same(view, mark, event) {
        return None;
    }
    if is_passing_news(view, event) || brings_up_to_date(view, event) {
        return Some(Severity::Advice);
    }
    if must_happen_once(view, event) {
        return Some(if is_note(view, event) { Severity::Advice } else { Severity::Error });
    }
    let again = |write: &RowWrite<'_>| {
        write.index == index
            && write.statement.op == Op::Update
            && write.statement.sets.iter().all(|column| as_it_is(view, column, mark.read.index))
    };
    let harmless = row_writes(view).iter().any(again)
        || idempotent(view, event).is_some()
        || decided_in_itself(view, event).is_some()
        || is_note(view, event);
    (!harmless).then_some(Severity::Warning)
}

/// Whether a row is added that a unique key refuses the second time, since both come to the same values of it.
fn adds_the_same(view: &View<'_>, mark: &Mark<'_>, event: &FlatEvent) -> bool {
    let Some(statement) = event.statement().filter(|statement| statement.op == Op::Insert) else { return false };
    let same = |set: &Column| same_for_both(view, &set.value, mark.read.index, &mut HashSet::new());
    key_hit(view, event)
        .is_some_and(|(_, key)| key.columns.iter().all(|name| statement.sets.iter().any(|set| set.name == *name && same(set))))
}

/// Whether somebody else is told to take something away, by the name of the job: the second time nothing is there.
fn takes_away(view: &View<'_>, event: &FlatEvent) -> bool {
    job_of(view, event).is_some_and(|job| view.world.tree.book.verbs.takes_away(&job))
}

/// Whether somebody else is told to bring rows up to date, by the name of the job: the second time they are.
fn brings_up_to_date(view: &View<'_>, event: &FlatEvent) -> bool {
    job_of(view, event).is_some_and(|job| view.world.tree.book.verbs.changes_rows(&job))
}

/// The name of the job that a call puts into a queue.
fn job_of(view: &View<'_>, event: &FlatEvent) -> Option<String> {
    let queued = event.meant(Meaning::Effect).is_some_and(|meant| meant.text("kind").as_deref() == Some("queue"));
    match event.call().filter(|_| queued) {
        Some((Value::Member(of, _), _)) => view.world.tree.name_of(&view.flat.plain(of)),
        _ => None,
    }
}

/// Whether another service is told to set something to constants, by the name of the call: the second time it is so already.
fn sets_the_same(view: &View<'_>, event: &FlatEvent) -> bool {
    let told = event.meant(Meaning::Effect).is_some_and(|meant| meant.text("kind").as_deref() == Some("pay"));
    let Some((callee, args)) = event.call().filter(|_| told) else { return false };
    let verbs = &view.world.tree.book.verbs;
    let sets = args.iter().filter_map(|(_, value)| match value {
        Value::Object(_, entries) => Some(entries),
        _ => None,
    });
    let mut entries = sets.flat_map(|entries| entries.iter()).peekable();
    view.world.tree.name_of(callee).is_some_and(|name| verbs.changes_rows(&name))
        && entries.peek().is_some()
        && entries.all(|(_, value)| says_only_that(view, value))
}

/// Whether another program is told what happened, where one is there to be told, and nobody minds where that fails.
fn is_passing_news(view: &View<'_>, event: &FlatEvent) -> bool {
    // The calls that lead there are written down too.
    news(view, event) || view.events().any(|(_, call)| event.hops.contains(&call.at) && news(view, call))
}

fn news(view: &View<'_>, event: &FlatEvent) -> bool {
    let Some((callee @ Value::Member(of, _), _)) = event.call() else { return false };
    let tree = view.world.tree;
    let told = || tree.name_of(callee).is_some_and(|name| tree.book.verbs.tells_programs(&name));
    let values = tree.errors_are_values(event.origin.0.file);
    let unminded = event.caught.as_ref().is_some_and(|(_, throws)| !throws) || values && !event.propagated && !event.dropped;
    let from = view.flat.depends(of);
    let there = |guard: &Guard| {
        let asked = view.flat.conds.get(guard.cond as usize).map(|cond| &cond.value);
        asked.is_some_and(|asked| match asked {
            Value::Is(_, shape) if matches!(**shape, Shape::Present | Shape::Null) => {
                !from.is_disjoint(&view.cond_depends(guard.cond)) || asked.any(&|part| *part == **of)
            }
            other => *other == **of,
        })
    };
    unminded && told() && event.guards.iter().any(there)
}

/// Whether a column is so after the second write as it was after the first.
fn as_it_is(view: &View<'_>, column: &Column, read: u32) -> bool {
    column.kind != ColumnKind::Relative
        && (view.world.tree.book.verbs.is_stamp(&column.name)
            || says_only_that(view, &column.value)
            || same_for_both(view, &column.value, read, &mut HashSet::new()))
}

/// What it costs that the write sets more than the mark, and each writer its own: who comes second overwrites who has it, or what
/// was said.
fn differs_beside(view: &View<'_>, mark: &Mark<'_>) -> Option<Severity> {
    let sets = mark.write.statement.sets.iter();
    let own = sets.filter(|column| column.name != mark.column.name && !as_it_is(view, column, mark.read.index));
    let (words, verbs) = (&view.world.tree.book.tables, &view.world.tree.book.verbs);
    // What is gone is nobody's, whoever took it away.
    let has =
        |column: &Column| words.says_who(&column.name) && !words.says_who_left(&column.name) && !verbs.takes_away(&column.name);
    own.map(|column| if has(column) { Severity::Warning } else { Severity::Advice }).max()
}

/// Whether the table, the column or the new state says that this is something to be had once.
fn had_once(view: &View<'_>, mark: &Mark<'_>) -> bool {
    let words = &view.world.tree.book.tables;
    let table = mark.write.statement.table.as_ref().or(mark.read.statement.table.as_ref());
    let state = mark.column.value.text().or_else(|| view.world.tree.name_of(&mark.column.value));
    table.is_some_and(|table| words.is_had_once(table))
        || words.is_taken(&mark.column.name)
        || state.is_some_and(|state| words.is_taken(&state.to_lowercase()))
}

/// Whether an empty column is filled, nothing else hangs on its being empty, and what it is filled with goes nowhere else: who
/// comes second leaves another value of the same worth.
fn fills(view: &View<'_>, mark: &Mark<'_>) -> bool {
    let Some(test) = mark.test else { return false };
    let asks = mark.asks(view, |cond| cond == test);
    let other =
        |event: &FlatEvent| event.guards.iter().any(|own| asks.iter().any(|ask| ask.cond == own.cond && ask.holds != own.holds));
    let made = view.flat.depends(&mark.column.value);
    // What a callee's own default fills is nobody's word.
    let here = view.root().file;
    let given = mark.column.value.any(&|part| match part {
        Value::Param(function, _) | Value::Captured(function, _) | Value::This(function) => function.file == here,
        Value::Unknown => true,
        _ => false,
    });
    let worked_out = !made.is_empty() || mark.column.value.any(&|part| matches!(part, Value::Mix(_)));
    let from_outside = made.iter().any(|at| effect(view, view.event(*at)).is_some());
    let goes_on = |value: &Value| {
        let from = view.flat.depends(value);
        from.contains(&mark.write.index)
            || made.iter().any(|at| from.contains(at))
            || value.any(&|part| *part == mark.column.value)
    };
    let used = view.events().any(|(index, event)| {
        index != mark.write.index
            && !made.contains(&index)
            && event.call().is_some_and(|(callee, args)| goes_on(callee) || args.iter().any(|(_, value)| goes_on(value)))
    });
    let answered = view.flat.returns.iter().any(|(value, _)| goes_on(value));
    let alone = hanging(view, mark, &asks).is_empty() && !view.events().any(|(_, event)| other(event));
    worked_out && !given && !from_outside && alone && !used && !answered
}

/// Whether work only notes that something happened: a row of a table that is kept for that, or one added by what is called so.
fn is_note(view: &View<'_>, event: &FlatEvent) -> bool {
    let words = &view.world.tree.book.tables;
    let table = event.statement().and_then(|statement| statement.table.as_ref()).is_some_and(|table| words.is_record(table));
    let named = |event: &FlatEvent| {
        event
            .call()
            .and_then(|(callee, _)| view.world.tree.name_of(&view.flat.plain(callee)))
            .is_some_and(|name| words.notes(&name))
    };
    // The calls that lead there are written down too.
    table || named(event) || view.events().any(|(_, call)| event.hops.contains(&call.at) && named(call))
}

/// Whether a second time is damage: rows, messages and payments that are added to those there are, not what is written over.
fn must_happen_once(view: &View<'_>, event: &FlatEvent) -> bool {
    match &event.what {
        _ if refreshes_credential(view, event) => true,
        What::Statement(statement) => adds(view, statement),
        What::Kv(kv) => matches!(kv.op, CommandKind::Increment),
        What::Meant(meant) if meant.is == Meaning::Effect => {
            matches!(meant.text("kind").as_deref(), Some("pay" | "queue" | "http"))
        }
        What::Meant(_) => false,
        What::Presumed(presumed) => {
            let verbs = &view.world.tree.book.verbs;
            let named = presumed.strong || presumed.owner.is_some();
            named && !verbs.changes_rows(&presumed.name) && !verbs.sends(&presumed.name)
        }
        What::Nothing => true,
    }
}

fn adds(view: &View<'_>, statement: &Statement) -> bool {
    let relative = || statement.sets.iter().any(|column| column.kind == ColumnKind::Relative);
    // What is there already is left as it is.
    let left = || statement.conflict && !unbacked(view, statement);
    matches!(statement.op, Op::Insert) && !left() || relative()
}

/// Whether two that run at once come to the same value: a constant, the time, or what is worked out from the row that both have read.
pub(super) fn same_for_both(view: &View<'_>, value: &Value, read: u32, seen: &mut HashSet<u32>) -> bool {
    let mut same = true;
    value.walk(&mut |part| {
        same &= match part {
            Value::Param(..) | Value::This(_) | Value::Captured(..) | Value::Unknown | Value::Result(..) => false,
            Value::Flat(index) if *index == read || !seen.insert(*index) => true,
            // The row itself, as a function of the program gives it.
            Value::Flat(index) if view.event(*index).inlined && view.flat.part_of(part).contains(&read) => true,
            Value::Flat(index) => {
                let event = view.event(*index);
                event.meant(Meaning::Fresh).is_none()
                    && event.call().is_some_and(|(callee, args)| {
                        same_for_both(view, callee, read, seen)
                            && args.iter().all(|(_, arg)| same_for_both(view, arg, read, seen))
                    })
            }
            _ => true,
        };
    });
    same
}
