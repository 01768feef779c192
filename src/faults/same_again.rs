//! Work of a job that each copy may do: it leaves the same behind however often it is done, or is this copy's own.

use super::effects::{fresh, reads};
use super::own_row::came_out;
use super::process_counter::is_time;
use super::reason::Why;
use super::shared_lock::random;
use super::tests_of_state::{base, is_state};
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{Column, ColumnKind, FlatEvent, Holder, Op, Place, Spot, Statement, Ty, What, column_key};
use crate::rules::{CommandKind, Meaning, words};

/// Why each copy may do an effect of a job, besides what is so of any effect.
pub(super) fn may_do_each(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Why> {
    let same_again = refreshes(view, event)
        || writes_the_same(view, event)
        || works_out_again(view, event)
        || only_counts(view, index, event)
        || event.meant(Meaning::Effect).is_some_and(|meant| meant.flag("whole"));
    let own = || {
        on_this_host(event)
            || of_this_object(view, event)
            || keeps_for_itself(view, index, event)
            || of_a_library(view, event)
            || to_what_is_kept(view, event)
            || pings(view, event)
            || came_out(view, event)
    };
    if same_again { Some(Why::Idempotent) } else { own().then_some(Why::OwnRow) }
}

/// Whether another service is asked for what this process then keeps in its memory: each copy needs its own answer.
fn keeps_for_itself(view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
    let asks = match &event.what {
        What::Meant(meant) => meant.is == Meaning::Effect && meant.text("kind").as_deref() == Some("http"),
        _ => false,
    };
    // How it went is no answer.
    let outcome = |name: &str| view.world.tree.book.verbs.says_how_it_went(name);
    let tells = |value: &Value| match value {
        Value::Flat(at) => *at != index,
        Value::Member(of, name) => !(outcome(name) && matches!(**of, Value::Flat(at) if at == index)),
        Value::Op(..) | Value::Not(_) | Value::Is(..) => false,
        _ => true,
    };
    // A part of an object that was there before, too.
    let memory = |place: &Value| {
        view.place(place).is_some_and(|place| match place.holder {
            Holder::Local(made) => made < index && !place.path.is_empty(),
            Holder::Param(..) => !place.path.is_empty(),
            _ => true,
        })
    };
    let mut later = view.events().skip(index as usize + 1);
    // What is asked for each of several is no question of this process alone.
    let of_each = || {
        let (callee, args) = event.call()?;
        let each = |value: &Value| value.any(&|part| matches!(part, Value::Element(_)));
        Some(each(callee) || args.iter().any(|(_, value)| each(value)))
    };
    asks && of_each() == Some(false)
        && later.any(|(_, kept)| match (&kept.act, &kept.what) {
            (Act::Write { place, value, op: None, .. }, _) => {
                tells(value) && view.flat.depends(value).contains(&index) && memory(place)
            }
            (_, What::Meant(meant)) if meant.is == Meaning::Put => {
                let value = meant.part("value");
                value.is_some_and(|value| tells(value) && view.flat.depends(value).contains(&index)) && memory(&meant.receiver)
            }
            _ => false,
        })
}

/// Whether a call only keeps a connection of this process open, or says that it is there, by its name or that of what leads to it.
fn pings(view: &View<'_>, event: &FlatEvent) -> bool {
    let tree = view.world.tree;
    let says = |spot: &Spot| {
        let callees = tree.events_at(*spot).filter_map(|(_, _, call)| match &call.act {
            Act::Call { callee, .. } => tree.name_of(callee),
            _ => None,
        });
        callees.into_iter().any(|name| tree.book.verbs.pings(&name))
    };
    matches!(event.what, What::Presumed(_)) && event.hops.iter().chain([&event.at]).any(says)
}

/// Whether each of the things that this process keeps in its memory is called, as open connections are: no other copy has them.
fn to_what_is_kept(view: &View<'_>, event: &FlatEvent) -> bool {
    let (What::Presumed(_), Some((Value::Member(on, _), _))) = (&event.what, event.call()) else { return false };
    let each = |value: &Value| value.any(&|part| matches!(part, Value::Element(_)));
    let kept = |value: &Value| {
        view.place(value).is_some_and(|place| view.lasts(&place) && is_state(view, &base(&place)) && begins_empty(view, &place))
    };
    // All that a container has (`map.values()`).
    let all = |value: &Value| match value {
        Value::Flat(at) => match view.event(*at).call() {
            Some((Value::Member(of, _), [])) => kept(of),
            _ => false,
        },
        _ => false,
    };
    match &**on {
        Value::Element(of) if all(of) => true,
        Value::Element(_) | Value::Index(..) => each(on) && kept(on),
        _ => false,
    }
}

/// Whether nothing is in a container but what the program put there as it ran: a list that is written out is the same in every copy.
fn begins_empty(view: &View<'_>, place: &Place) -> bool {
    let tree = view.world.tree;
    match place.first(tree) {
        Some(Value::List(items)) => items.is_empty(),
        Some(Value::Object(_, entries)) => entries.is_empty(),
        Some(Value::Result(function, at)) => {
            let made = tree.facts(function).and_then(|facts| facts.events.get(at as usize));
            made.is_some_and(|event| matches!(&event.act, Act::Call { args, .. } if args.is_empty()))
        }
        _ => false,
    }
}

/// Whether an object of a library is told to do something and given nothing to do it with: it works on what that object itself holds,
/// and what it does to others is not seen.
fn of_a_library(view: &View<'_>, event: &FlatEvent) -> bool {
    let What::Presumed(presumed) = &event.what else { return false };
    let Some((Value::Member(on, _), args)) = event.call().filter(|_| !presumed.strong) else { return false };
    let carries = |part: &Value| {
        matches!(
            part,
            Value::Flat(_)
                | Value::Param(..)
                | Value::This(_)
                | Value::Captured(..)
                | Value::Element(_)
                | Value::Result(..)
                | Value::Function(_)
                | Value::Unknown
        )
    };
    let constant = |value: &Value| !view.world.tree.settled(value).any(&carries);
    let on = view.flat.plain(on);
    matches!(view.world.tree.ty(&on, event.origin.0.file), Ty::Lib { .. }) && args.iter().all(|(_, value)| constant(value))
}

/// Whether an effect is on this machine's own disk.
fn on_this_host(event: &FlatEvent) -> bool {
    event.meant(Meaning::Effect).is_some_and(|meant| meant.text("scope").as_deref() == Some("host"))
}

/// Whether an effect is on a file, a row or a key that goes by what the object of the timer made up once, for itself: no other copy has
/// that.
fn of_this_object(view: &View<'_>, event: &FlatEvent) -> bool {
    let tree = view.world.tree;
    let made_up = |part: &Value| match part {
        Value::Member(of, name) => match **of {
            Value::This(method) => {
                let class = tree.class_of(method);
                class.and_then(|class| tree.field_value(class, name)).is_some_and(|made| random(tree, &made, 0))
            }
            _ => false,
        },
        _ => false,
    };
    let target = match &event.what {
        What::Meant(meant) if meant.text("kind").as_deref() == Some("file") => meant.part("target"),
        _ => None,
    };
    let key = event.kv().map(|kv| &kv.key);
    let named = event.statement().into_iter().flat_map(|statement| statement.wheres.iter().map(|column| &column.value));
    target.into_iter().chain(key).chain(named).any(|value| value.any(&made_up))
}

/// Whether a request only tells how much there is: numbers of rows under a name of the installation, of whose answer nobody takes notice.
fn only_counts(view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
    let Some(meant) = event.meant(Meaning::Effect).filter(|meant| meant.text("kind").as_deref() == Some("http")) else {
        return false;
    };
    let counts = &view.world.tree.book.verbs;
    let body = meant.part("body").map(|body| inside(view, body));
    let Some(Value::Object(_, entries)) = body else { return false };
    let plain = |value: &Value| view.flat.depends(value).is_empty() && !value.any(&|part| matches!(part, Value::Param(..)));
    let number = |name: &str| words(name).iter().any(|word| counts.is_number(word));
    let told = |name: &str| words(name).last().is_some_and(|word| matches!(word.as_str(), "id" | "hash" | "uuid"));
    let of_rows = |value: &Value| matches!(value, Value::Member(of, name) if number(name) && matches!(**of, Value::Flat(_)));
    !view.flat.used(index)
        && event.in_loop.is_none()
        && entries.iter().any(|(_, value)| of_rows(value))
        && entries.iter().any(|(name, value)| told(name) && !plain(value))
        && entries.iter().all(|(name, value)| {
            of_rows(value) || plain(value) || told(name) && matches!(value, Value::Flat(at) if !reads(view.event(*at)))
        })
}

/// What a call that only writes a value out is given.
fn inside<'v>(view: &View<'v>, value: &'v Value) -> &'v Value {
    match value {
        Value::Flat(index) => match view.event(*index).call() {
            Some((_, [(None, only @ Value::Object(..)), ..])) => only,
            _ => value,
        },
        other => other,
    }
}

/// Whether a statement writes constants only, or the time: a reset is one however often it is made.
fn writes_the_same(view: &View<'_>, event: &FlatEvent) -> bool {
    event.statement().is_some_and(|statement| {
        let same = |column: &Column| match column.kind {
            ColumnKind::Constant => true,
            ColumnKind::Equal => is_the_time(view, &column.value),
            _ => false,
        };
        statement.op == Op::Update && !statement.sets.is_empty() && statement.sets.iter().all(same)
    })
}

/// Whether nothing that was given or read went into a value.
fn of_nothing(value: &Value) -> bool {
    matches!(value, Value::Mix(parts) if parts.iter().all(of_nothing))
}

/// Whether a value is the time and nothing else.
fn is_the_time(view: &View<'_>, value: &Value) -> bool {
    let clock = |index: &u32| match &view.event(*index).what {
        What::Meant(meant) => matches!(meant.is, Meaning::Clock | Meaning::Time | Meaning::Pass),
        What::Nothing => view.event(*index).call().is_some_and(|(_, args)| args.is_empty()),
        _ => false,
    };
    // What a callee made of nothing: the time is one such.
    if of_nothing(value) {
        return true;
    }
    let from = view.flat.depends(value);
    let given = |part: &Value| matches!(part, Value::Param(..) | Value::Unknown | Value::Element(_));
    !from.is_empty() && from.iter().all(clock) && !value.any(&given) && is_time(view, value)
}

/// Whether a statement writes what is worked out from columns that were read and that it does not write, and from nothing else: it
/// comes to the same however often it is done.
fn works_out_again(view: &View<'_>, event: &FlatEvent) -> bool {
    let settled = |statement: &&Statement| matches!(statement.op, Op::Update | Op::Upsert);
    let Some(statement) = event.statement().filter(settled) else { return false };
    let written = |name: &str| statement.sets.iter().any(|column| column.name == name);
    let settles = |value: &Value| -> bool {
        let from = view.flat.depends(value);
        let all = || from.iter().map(|at| view.event(*at));
        let steady = |event: &FlatEvent| match &event.what {
            What::Statement(read) => read.op == Op::Select,
            What::Meant(meant) => matches!(meant.is, Meaning::Pass | Meaning::Pure | Meaning::Calls | Meaning::Build),
            What::Nothing => true,
            _ => false,
        };
        // A row handed over whole may be asked for what is written.
        let given = || all().filter(|event| !reads(event)).filter_map(FlatEvent::call).flat_map(|(_, args)| args.iter());
        let whole = given().any(|(_, arg)| matches!(arg, Value::Flat(at) if reads(view.event(*at))));
        let mut plain = !whole;
        let mut ask = |value: &Value| {
            value.walk(&mut |part| {
                plain &= match part {
                    Value::Member(_, name) => !written(&column_key(name)),
                    Value::Index(_, key) => {
                        let name = view.world.tree.settled(key).text().or_else(|| view.world.tree.name_of(key));
                        name.is_some_and(|name| !written(&column_key(&name)))
                    }
                    _ => true,
                };
            });
        };
        ask(value);
        given().for_each(|(_, arg)| ask(arg));
        // Of another table it reads nothing that it writes.
        let rows = all().any(|event| {
            event
                .statement()
                .is_some_and(|read| read.table == statement.table || read.table.is_some() && statement.table.is_some())
        });
        rows && plain && all().all(steady) && !is_time(view, value) && !fresh(view, value)
    };
    let sets = || statement.sets.iter();
    // Of all rows of a table, too, where that is written out.
    let all_rows = statement.sure && !statement.restricted;
    (!statement.wheres.is_empty() || statement.op == Op::Upsert || all_rows)
        && sets().any(|column| column.kind != ColumnKind::Constant)
        && sets().all(|column| match column.kind {
            ColumnKind::Constant => true,
            ColumnKind::Equal => settles(&column.value),
            _ => false,
        })
}

/// A key set to what does not depend on its old value: the last copy to do it leaves what the first left.
fn refreshes(view: &View<'_>, event: &FlatEvent) -> bool {
    event.kv().is_some_and(|kv| {
        let from_store = || view.flat.depends(&kv.value).iter().any(|at| view.event(*at).kv().is_some());
        kv.op == CommandKind::Set && !kv.only_new && !from_store()
    })
}
