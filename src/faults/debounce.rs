//! Debounces: flags and times that keep work apart for a while and do not see to it that it is done once. What they gate is done
//! again as soon as the time is over, by design.

use super::credential::refreshes_credential;
use super::effects::effect;
use super::tests_of_state::{StateTest, tests_in};
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Kv, Look, What, amount, functions_in};
use crate::rules::{Meaning, Severity};
use crate::syntax::ExitKind;

/// The longest time, in milliseconds, for which a flag that nothing frees only keeps work apart.
const SHORT: f64 = 120_000.0;

/// Whether what is set in the store is gone by itself that soon.
pub(super) fn ends_soon(view: &View<'_>, event: &FlatEvent, kv: &Kv) -> bool {
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let unit = if kv.seconds { "s" } else { "ms" };
    let ttl = kv.ttl.as_ref().and_then(|ttl| amount(&look, ttl, event.origin.0.file)).and_then(|ttl| ttl.in_ms(Some(unit)));
    ttl.is_some_and(|ttl| ttl.most <= SHORT)
}

/// What it costs that a short flag lets two through, by what the flag's test (an event) decides: nothing to speak of, unless that
/// must happen once. `None`: as much as a lock.
pub(super) fn cost(view: &View<'_>, read: u32) -> Option<Severity> {
    let gated = view.events().filter(|(index, event)| {
        *index > read && event.kv().is_none() && effect(view, event).is_some() && view.decided_by(event).contains(&read)
    });
    let costs = gated.map(|(_, event)| match &event.what {
        _ if refreshes_credential(view, event) => None,
        What::Meant(meant) if meant.is == Meaning::Effect => match meant.text("kind").as_deref() {
            Some("pay") => None,
            Some("mail" | "http" | "push") => Some(Severity::Warning),
            // A task put on a queue is known by its name.
            _ if named_for_sending(view, event) => Some(Severity::Warning),
            _ => Some(Severity::Advice),
        },
        What::Presumed(presumed) => {
            let verbs = &view.world.tree.book.verbs;
            match (verbs.is_remote(&presumed.name, presumed.owner.as_deref()), verbs.sends(&presumed.name)) {
                (true, _) => None,
                (_, true) => Some(Severity::Warning),
                _ => Some(Severity::Advice),
            }
        }
        _ => Some(Severity::Advice),
    });
    costs.max_by_key(|cost| cost.unwrap_or(Severity::Error)).unwrap_or(Some(Severity::Advice))
}

/// Whether what is called, or what it is called on, has a name that says that somebody is sent something.
fn named_for_sending(view: &View<'_>, event: &FlatEvent) -> bool {
    let says = |value: &Value| {
        view.world.tree.name_of(&view.flat.plain(value)).is_some_and(|name| view.world.tree.book.verbs.sends(&name))
    };
    event.call().is_some_and(|(callee, _)| says(callee) || matches!(callee, Value::Member(of, _) if says(of)))
}

/// Whether work is done whichever way a test comes out, now or later: on the other way the same call is made, or the very function
/// is handed on.
pub(super) fn either_way(view: &View<'_>, test: &StateTest, work: &FlatEvent) -> bool {
    let speaks = |cond: u32| {
        let cond = view.flat.conds.get(cond as usize);
        cond.is_some_and(|cond| tests_in(view, &cond.value, cond.at).iter().any(|own| own.place.same(&test.place)))
    };
    let asks: Vec<_> = work.guards.iter().filter(|guard| speaks(guard.cond)).collect();
    let other_way = |event: &FlatEvent| {
        event.guards.iter().any(|guard| asks.iter().any(|ask| ask.cond == guard.cond && ask.holds != guard.holds))
    };
    let handed = callables(view, work);
    !asks.is_empty()
        && view.events().filter(|(_, event)| event.at != work.at && other_way(event)).any(|(_, event)| {
            let Some((callee, args)) = event.call() else { return false };
            let same = effect(view, event).is_some()
                && view.describe(event) == view.describe(work)
                && args.first() == work.call().and_then(|(_, args)| args.first());
            let on = |function: &&Value| {
                let there = |value: &Value| match function {
                    Value::Flat(index) => view.flat.depends(value).contains(index),
                    function => value == *function,
                };
                there(callee) || args.iter().any(|(_, value)| there(value))
            };
            same || handed.iter().any(on)
        })
}

/// Whether the answer of a question before some work keeps anybody out of it: who is told that it is taken waits or leaves. That
/// what is missing is put there keeps nobody out.
pub(super) fn keeps_out(view: &View<'_>, asked: u32, work: u32) -> bool {
    let waits = |event: &FlatEvent| matches!(event.act, Act::Call { awaited: true, .. });
    let leaves = |event: &FlatEvent| {
        let kinds = [ExitKind::Return, ExitKind::Throw, ExitKind::Continue];
        matches!(event.act, Act::Exit { kind, .. } if kinds.contains(&kind))
            || waits(event)
            || event.meant(Meaning::Sleep).is_some()
    };
    let on_it = |event: &FlatEvent| match event.call() {
        Some((Value::Member(of, _), _)) => view.flat.depends(of).contains(&asked),
        _ => false,
    };
    let decides = |event: &FlatEvent| view.decided_by(event).contains(&asked);
    let question = view.event(asked);
    waits(question)
        || question.in_loop.is_some()
        || decides(view.event(work))
        || view
            .events()
            .filter(|(at, _)| *at > asked && *at <= work)
            .any(|(_, event)| on_it(event) || leaves(event) && decides(event))
}

/// The functions that a call is handed, or that are bound ahead in what it is handed.
fn callables<'v>(view: &View<'v>, work: &'v FlatEvent) -> Vec<&'v Value> {
    let Some((_, args)) = work.call() else { return vec![] };
    let file = work.origin.0.file;
    let is_function = |value: &Value| !functions_in(view.world.tree, &view.flat.plain(value), file).is_empty();
    let mut found: Vec<&Value> = vec![];
    for (_, value) in args {
        let bound = match value {
            Value::Flat(index) => {
                view.event(*index).meant(Meaning::Pass).and_then(|meant| meant.part("of")).is_some_and(is_function)
            }
            other => is_function(other),
        };
        if bound {
            found.push(value);
        }
    }
    found
}
