//! Rows and keys of this copy alone: what is kept under its host's name or its process's number no other copy writes, what is
//! dealt out by number each copy does for its own share, and what one process gathered only that process sends.

use std::cell::LazyCell;

use super::effects::reads;
use super::reason::{Reason, Why};
use super::tests_of_state::{StateChange, changes, is_state};
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Holder, Look, Op, Place, Statement, What, tells_copy};
use crate::rules::{Meaning, TypeKind};
use crate::syntax::{BinaryOp, CallForm, Shape};

/// Why no other copy does the same: the row or key is this copy's own, as a heartbeat's is.
pub(super) fn own_row(view: &View<'_>, event: &FlatEvent) -> Option<Reason> {
    let own = match &event.what {
        What::Statement(statement) => own_statement(view, statement),
        What::Kv(kv) => own(view, &kv.key),
        What::Meant(meant)
            if meant.is == Meaning::Effect && matches!(meant.text("kind").as_deref(), Some("database" | "http" | "file")) =>
        {
            own_record(view, handed(view, event))
        }
        What::Presumed(presumed) => {
            !presumed.reads && view.world.tree.book.verbs.changes_rows(&presumed.name) && own_record(view, handed(view, event))
        }
        _ => false,
    };
    own.then(|| Reason::of(view, Why::OwnRow, event))
}

fn own_statement(view: &View<'_>, statement: &Statement) -> bool {
    let found = statement.wheres.iter().map(|column| &column.value).chain(&statement.entity).any(|value| own(view, value));
    let adds = matches!(statement.op, Op::Insert | Op::Upsert | Op::Save);
    found || adds && own_record(view, statement.sets.iter().map(|column| &column.value).chain(&statement.entity).collect())
}

/// Whether a new record speaks of this copy and of nothing that was read: one made for each of the rows there are is shared work,
/// whoever signs it.
fn own_record(view: &View<'_>, values: Vec<&Value>) -> bool {
    let foreign = |value: &Value| {
        view.flat.depends(value).iter().map(|at| view.event(*at)).any(|event| reads(event) && own_row(view, event).is_none())
    };
    values.iter().any(|value| own(view, value)) && !values.iter().any(|value| foreign(value))
}

/// What a call is handed, what it is called on, and what was put into that before.
fn handed<'v>(view: &View<'v>, event: &'v FlatEvent) -> Vec<&'v Value> {
    let Some((callee, args)) = event.call() else { return vec![] };
    let mut values: Vec<&Value> = args.iter().map(|(_, value)| value).collect();
    let Value::Member(on, _) = callee else { return values };
    values.push(on);
    let put = view.events().take_while(|(_, earlier)| earlier.at != event.at).filter_map(|(_, earlier)| match &earlier.act {
        Act::Write { place: Value::Member(of, _) | Value::Index(of, _), value, .. } if of.any(&|part| part == &**on) => {
            Some(value)
        }
        _ => None,
    });
    values.extend(put);
    values
}

fn own(view: &View<'_>, value: &Value) -> bool {
    tells_copy(&Look { tree: view.world.tree, events: &view.flat.events }, view.world.instances, value)
}

/// Why no other copy does the same: rows are dealt out by number (`id % copies == number`), and this one is of this copy's share.
pub(super) fn own_share(view: &View<'_>, event: &FlatEvent) -> Option<Reason> {
    let dealt = event.guards.iter().any(|guard| {
        let cond = view.flat.conds.get(guard.cond as usize);
        cond.and_then(|cond| deals(view, &cond.value)) == Some(guard.holds)
    });
    dealt.then(|| Reason::of(view, Why::OwnShare, event))
}

/// Whether a condition holding means that something is of this copy's share; `None` where it deals nothing out.
fn deals(view: &View<'_>, value: &Value) -> Option<bool> {
    match value {
        Value::Not(inner) => deals(view, inner).map(|own| !own),
        Value::Op(op @ (BinaryOp::Equal | BinaryOp::NotEqual), pair) => {
            let [left, right] = &**pair;
            let share = |rest: &Value, number: &Value| is_rest(view, rest) && is_setting(view, number);
            (share(left, right) || share(right, left)).then_some(*op == BinaryOp::Equal)
        }
        _ => None,
    }
}

/// Whether a value is what is left of something when it is divided by how many there are.
fn is_rest(view: &View<'_>, value: &Value) -> bool {
    match value {
        Value::Op(BinaryOp::OtherArithmetic, pair) => {
            let [of, by] = &**pair;
            of != by
                && !matches!(of, Value::Number(_) | Value::Text(_))
                && (is_setting(view, by) || matches!(by, Value::Number(_)))
        }
        Value::Flat(index) => match view.event(*index).meant(Meaning::Pass) {
            Some(meant) => is_rest(view, meant.part("of").unwrap_or(&meant.receiver)),
            None => false,
        },
        _ => false,
    }
}

/// Whether a value is one that the program was given for itself: neither a constant, nor of what was read, nor one of many.
fn is_setting(view: &View<'_>, value: &Value) -> bool {
    let named = value.any(&|part| {
        matches!(part, Value::Member(..) | Value::Module(..) | Value::Global(_) | Value::Captured(..) | Value::Param(..))
    });
    let many = value.any(&|part| matches!(part, Value::Element(_) | Value::Unknown | Value::Text(_)));
    named && !many && !view.flat.depends(value).iter().any(|at| reads(view.event(*at)))
}

/// Why no other copy does the same: what is written or sent is what this process gathered, and the same function empties it, or takes
/// it out.
pub(super) fn own_buffer(view: &View<'_>, event: &FlatEvent) -> Option<Reason> {
    let changes = changes(view);
    let kept = |change: &&StateChange| is_kept(view, change);
    let emptied: Vec<&Place> =
        changes.iter().filter(|change| empties(view, change)).filter(kept).map(|change| &change.place).collect();
    let taken_out = taken_out(view, &changes);
    if emptied.is_empty() && taken_out.is_empty() {
        return None;
    }
    let out = |value: &Value| !taken_out.is_empty() && view.flat.made_of(value).iter().any(|at| taken_out.contains(at));
    let gathered = |value: &Value| emptied.iter().any(|place| holds(view, value, place)) || out(value);
    let statement = event.statement();
    let columns =
        statement.iter().flat_map(|statement| statement.sets.iter().map(|column| &column.value).chain(&statement.entity));
    // The steps of a builder before a call are what it is called on.
    let on = event.call().and_then(|(callee, _)| match callee {
        Value::Member(of, _) => Some(&**of).filter(|of| matches!(of, Value::Flat(_) | Value::Mix(_))),
        _ => None,
    });
    let args = event.call().into_iter().flat_map(|(_, args)| args.iter().map(|(_, value)| value));
    let kept = event.kv().into_iter().map(|kv| &kv.value);
    columns.chain(args).chain(kept).chain(on).any(gathered).then(|| Reason::of(view, Why::OwnBuffer, event))
}

/// Whether work is done only where something came out of what this process gathered: no other copy has that.
pub(super) fn came_out(view: &View<'_>, event: &FlatEvent) -> bool {
    let changes = changes(view);
    let taken_out = LazyCell::new(|| taken_out(view, &changes));
    event.guards.iter().filter(|guard| guard.holds).any(|guard| {
        let cond = view.flat.conds.get(guard.cond as usize).map(|cond| &cond.value);
        let Some(Value::Is(of, shape)) = cond else { return false };
        let item = matches!(**of, Value::Flat(at) if taken_out.contains(&at) && !filled_from_reads(view, &changes, at));
        item && matches!(**shape, Shape::Present)
    })
}

fn is_kept(view: &View<'_>, change: &StateChange) -> bool {
    (view.lasts(&change.place) || of_own_object(view, change)) && is_state(view, &change.place)
}

/// What was taken out of what this process gathered, and then out of a container of this function into which nothing else was put.
fn taken_out(view: &View<'_>, changes: &[StateChange]) -> Vec<u32> {
    let kept = changes.iter().filter(|change| change.removes && is_kept(view, change));
    let taken: Vec<u32> = kept.map(|change| change.event).collect();
    if taken.is_empty() {
        return taken;
    }
    let of = |value: &Value| view.flat.made_of(value).iter().any(|at| taken.contains(at));
    let local = |value: &Value| view.place(value).is_none_or(|place| matches!(place.holder, Holder::Local(_)));
    let again = view.events().filter(|(_, event)| {
        let Some(out) = event.meant(Meaning::Remove).filter(|out| local(&out.receiver)) else { return false };
        let puts = view.events().filter_map(|(_, put)| put.meant(Meaning::Put).filter(|put| put.receiver == out.receiver));
        let mut puts = puts.map(|put| put.part("value")).peekable();
        puts.peek().is_some() && puts.all(|value| value.is_some_and(of))
    });
    let again: Vec<u32> = again.map(|(at, _)| at).collect();
    taken.into_iter().chain(again).collect()
}

/// Whether the same function puts what it read into the container from which an event takes something out: each copy reads the same.
fn filled_from_reads(view: &View<'_>, changes: &[StateChange], taken: u32) -> bool {
    let Some(from) = changes.iter().find(|change| change.event == taken) else { return false };
    let read = |value: &Value| view.flat.depends(value).iter().any(|at| reads(view.event(*at)));
    changes.iter().any(|put| !put.removes && put.place.same(&from.place) && read(&put.value))
}

/// Whether a change is of what the object keeps whose method this is: it was there before this run, and is there after it.
fn of_own_object(view: &View<'_>, change: &StateChange) -> bool {
    let Some((Value::Member(on, _), _)) = view.event(change.event).call() else { return false };
    matches!(&**on, Value::Member(of, _) if matches!(**of, Value::This(_)))
}

/// Whether a change leaves nothing of what was gathered: all of a container is taken out, or a new one or nought is put in its place.
fn empties(view: &View<'_>, change: &StateChange) -> bool {
    let event = view.event(change.event);
    if let What::Meant(meant) = &event.what {
        return change.removes && meant.part("key").is_none();
    }
    let new = |value: &Value| match value {
        Value::Object(_, entries) => entries.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Text(text) => text.is_empty(),
        Value::Number(number) => *number == 0.0,
        Value::Flat(index) => {
            let made = view.event(*index);
            let container = || view.made(&change.place).kind == TypeKind::State;
            matches!(made.act, Act::Call { form: CallForm::New, .. })
                && container()
                && made.call().is_some_and(|(_, args)| args.is_empty())
        }
        _ => false,
    };
    matches!(&event.act, Act::Write { place: Value::Module(..) | Value::Member(..) | Value::Captured(..), op: None, if_null: false, value } if new(value))
}

/// Whether a value is made of what a place keeps: of all of it, or of entries.
fn holds(view: &View<'_>, value: &Value, place: &Place) -> bool {
    let speaks = |value: &Value| {
        value.any(&|part| {
            matches!(part, Value::Module(..) | Value::Member(..) | Value::Captured(..) | Value::Element(_) | Value::Index(..))
                && view.place(part).is_some_and(|own| own.same(place))
        })
    };
    speaks(value)
        || view.flat.made_of(value).into_iter().any(|index| {
            view.event(index).call().is_some_and(|(callee, args)| speaks(callee) || args.iter().any(|(_, arg)| speaks(arg)))
        })
}
