//! `refresh-stampede`: every request that finds a credential expired refreshes it itself.

use std::collections::HashSet;

use super::candidate::{Candidate, Only};
use super::credential::{falls_back, refreshes_credential, takes_new};
use super::effects::{decided, effect};
use super::subject::{Judged, Kind, Subject};
use super::tests_of_state::tests_guarding;
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Guard, Value};
use crate::program::{FlatEvent, Op, What};
use crate::rules::{Meaning, Severity, words};
use crate::syntax::{BinaryOp, ExitKind};

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    for (index, event) in view.events() {
        if effect(view, event).is_none()
            || !refreshes_credential(view, event)
            || event.detached
            || decided(view, index, event).is_some()
        {
            continue;
        }
        let one_flight = view.regions.iter().any(|region| region.holds(index, event))
            || !tests_guarding(view, event).is_empty()
            || kept_in_flight(view, index);
        if one_flight {
            continue;
        }
        let asked = event.guards.iter().filter(|guard| !refused_otherwise(view, **guard));
        let Some(cond) =
            asked.filter_map(|guard| view.flat.conds.get(guard.cond as usize)).find(|cond| expired(view, &cond.value))
        else {
            continue;
        };
        let what = view.describe(event);
        let switched = switched_off(view, index, event);
        let keeps_old = switched.is_none() && (falls_back(view, index) || !takes_new(view, index));
        let ends = match (keeps_old, switched) {
            (_, Some(_)) => {
                "each refresh can end the one before, and who is refused then switches off what the other has just refreshed"
            }
            (true, None) => {
                "where a new refresh token comes back, each refresh can end the one before; else it is work done over and over"
            }
            (false, None) => "each refresh can end the one before",
        };
        let message = format!("every request that finds the credential expired calls {what} itself: {ends}");
        let mut candidate = Candidate::new(view, "refresh-stampede", event, event, message);
        candidate.severity = keeps_old.then_some(Severity::Advice);
        candidate.add(Role::Check, cond.at, "found expired here".to_owned());
        candidate.hop(Role::Effect, event, what);
        if let Some(switched) = switched {
            candidate.hop(Role::Effect, view.event(switched), "done by who is refused");
        }
        candidate.only = Some(Only::OutsideJobs);
        let mut subject = Subject::at(Kind::Guard, cond.at, event.hops.len()).named("expiry");
        subject.add_work(view, event);
        candidate.subject = Some(subject);
        found.push(candidate.at_most(if keeps_old { Confidence::Low } else { Confidence::Medium }));
    }
}

/// Whether the other way out of a condition is an error: what is expired is refused there, and nothing is refreshed for it.
fn refused_otherwise(view: &View<'_>, guard: Guard) -> bool {
    let Some(cond) = view.flat.conds.get(guard.cond as usize) else { return false };
    let functions = view.world.tree.files.get(cond.at.file as usize).map(|facts| &facts.functions[..]).unwrap_or_default();
    functions.iter().any(|facts| {
        let Some(own) = facts.conds.iter().position(|own| own.span == cond.at.span) else { return false };
        let other = Guard { cond: own as u32, holds: !guard.holds };
        facts
            .events
            .iter()
            .any(|event| matches!(event.act, Act::Exit { kind: ExitKind::Throw, .. }) && event.guards.last() == Some(&other))
    })
}

/// The write that a handler of a failed refresh makes to the row which the credential was read from: a constant, without asking
/// whether another has refreshed it meanwhile.
fn switched_off(view: &View<'_>, index: u32, refresh: &FlatEvent) -> Option<u32> {
    refresh.caught.as_ref()?;
    let (_, args) = refresh.call()?;
    let from: HashSet<u32> = args.iter().flat_map(|(_, value)| view.flat.depends(value)).collect();
    let table_of = |at: &u32| view.event(*at).statement().and_then(|statement| statement.table.clone());
    let tables: Vec<String> = from.iter().filter_map(table_of).collect();
    let off = |event: &FlatEvent| {
        event.statement().is_some_and(|statement| {
            statement.op == Op::Update
                && !statement.conditional()
                && statement.table.as_ref().is_some_and(|table| tables.contains(table))
                && statement.sets.iter().any(|column| matches!(column.value, Value::Bool(_) | Value::Null | Value::Text(_)))
        })
    };
    view.events().find(|(at, event)| *at > index && event.in_catch && off(event)).map(|(at, _)| at)
}

/// Whether a condition asks whether a credential is past its time: by the name of what it asks, or by comparing it with the clock.
fn expired(view: &View<'_>, value: &Value) -> bool {
    let compares = |part: &Value| {
        matches!(part, Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, _))
    };
    if value.any(&compares) && view.flat.depends(value).iter().any(|index| view.event(*index).meant(Meaning::Clock).is_some()) {
        return true;
    }
    let mut names: Vec<String> = vec![];
    let mut collect = |value: &Value| {
        value.walk(&mut |part| match part {
            Value::Member(_, name) | Value::Global(name) | Value::Module(_, name) => names.push(name.to_string()),
            Value::Index(_, key) => names.extend(key.text()),
            _ => {}
        });
    };
    collect(value);
    for index in view.flat.depends(value) {
        let event = view.event(index);
        if let Some((callee, args)) = event.call() {
            collect(callee);
            // `new Date(saved.expires_at)`: what is computed from the time it ends.
            if matches!(event.what, What::Nothing) && !event.inlined {
                args.iter().for_each(|(_, value)| collect(value));
            }
        }
    }
    names.iter().flat_map(|name| words(name)).any(|word| word.starts_with("expir") || word == "ttl" || word == "stale")
}

/// Whether the refresh is kept as a promise or task that others can wait for. What was waited for, or taken out of the answer, is none.
fn kept_in_flight(view: &View<'_>, index: u32) -> bool {
    // The answer itself, or a call on it; not what was worked out of it.
    let of_it = |value: &Value| {
        let mut at = value;
        while let Value::Member(of, _) | Value::Index(of, _) = at {
            at = of;
        }
        *at == Value::Flat(index) || matches!(at, Value::Flat(_)) && view.flat.depends(at).contains(&index)
    };
    let kept = |value: &Value| {
        value.options().into_iter().any(|option| match option {
            Value::Object(_, entries) => entries.iter().any(|(_, entry)| of_it(entry)),
            option => of_it(option),
        })
    };
    view.events().any(|(_, other)| matches!(&other.act, Act::Write { value, .. } if kept(value)) && !waited_for(view, other))
}

/// Whether a function writes down what a call of its own gave once it was done: its answer, or a part of it.
fn waited_for(view: &View<'_>, write: &FlatEvent) -> bool {
    let (function, number) = write.origin;
    let Some(facts) = view.world.tree.facts(function) else { return false };
    let Some(Act::Write { value, .. }) = facts.events.get(number as usize).map(|event| &event.act) else { return false };
    let pending = |part: &Value| match part {
        Value::Result(of, call) if *of == function => {
            !matches!(facts.events.get(*call as usize).map(|event| &event.act), Some(Act::Call { awaited: true, .. }))
        }
        Value::Result(..) | Value::Module(..) | Value::Captured(..) | Value::Param(..) => true,
        _ => false,
    };
    !value.options().into_iter().any(|option| match option {
        Value::Object(_, entries) => entries.iter().any(|(_, entry)| pending(entry)),
        option => pending(option),
    })
}
