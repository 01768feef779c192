//! What goes up and counts nothing: texts that grow, and what one call works with. What of a value is the number itself.

use std::collections::HashSet;

use super::process_counter::is_time;
use super::tests_of_state::{StateChange, tests_in};
use super::view::View;
use crate::facts::{Act, Event, FnRef, Value};
use crate::program::{Holder, Spot, Tree, Ty, What, meaning};
use crate::rules::Meaning;
use crate::syntax::BinaryOp;

/// Whether what is added to is a text: by what is added, by its first value or its declared type.
pub(super) fn is_text(view: &View<'_>, change: &StateChange) -> bool {
    let tree = view.world.tree;
    let text = |value: &Value| value.options().iter().any(|option| matches!(option, Value::Text(_) | Value::Template(_)));
    let event = view.event(change.event);
    let Act::Write { value, .. } = &event.act else { return false };
    let added = match value {
        Value::Op(BinaryOp::Add, pair) => pair.iter().any(text),
        other => text(other),
    };
    let file = event.origin.0.file;
    let first = match (&change.place.path.last(), &change.place.holder) {
        // A member of an entry: as objects are made with it.
        (Some(name), _) => return added || made_as_text(view, file, name),
        (None, Holder::Variable(file, name)) => {
            tree.files.get(*file as usize).and_then(|facts| facts.names.get(name)).is_some_and(|known| text(&known.value))
        }
        (None, Holder::Field(class, name)) => {
            let declared = tree.class(*class).and_then(|known| known.fields.iter().find(|field| field.name == **name));
            let said =
                declared.and_then(|field| field.ty.as_ref()).is_some_and(|ty| matches!(&*ty.name, "string" | "str" | "String"));
            said || tree.field_value(*class, name).is_some_and(|value| text(&value))
        }
        (None, Holder::Closure(function, name)) => {
            tree.facts(*function).and_then(|facts| facts.locals.get(name)).is_some_and(text)
        }
        _ => false,
    };
    added || first
}

/// Whether objects of a file are made with a text, and never with a number, under a name.
fn made_as_text(view: &View<'_>, file: u32, name: &str) -> bool {
    let (mut texts, mut numbers) = (false, false);
    let mut look = |value: &Value| {
        value.walk(&mut |part| {
            if let Value::Object(..) = part {
                match part.entry(name) {
                    Some(Value::Text(_) | Value::Template(_)) => texts = true,
                    Some(Value::Number(_)) => numbers = true,
                    _ => {}
                }
            }
        });
    };
    let functions = view.world.tree.files.get(file as usize).map(|facts| &facts.functions[..]).unwrap_or_default();
    for event in functions.iter().flat_map(|function| &function.events) {
        match &event.act {
            Act::Call { args, .. } => args.iter().for_each(|(_, value)| look(value)),
            Act::Write { value, .. } | Act::Exit { value, .. } => look(value),
            _ => {}
        }
    }
    texts && !numbers
}

/// Whether a module's variable is where one call puts what it works with: a function that waits for nothing sets it first, then calls
/// what counts.
pub(super) fn is_scratch(tree: &Tree, change: &StateChange, counts: FnRef) -> bool {
    let Holder::Variable(file, name) = &change.place.holder else { return false };
    let Some(facts) = tree.files.get(*file as usize).filter(|_| change.place.path.is_empty()) else { return false };
    let of = |func: usize| FnRef { file: *file, func: func as u32 };
    let writes = |event: &Event, first: bool| match &event.act {
        Act::Write { place: Value::Module(of, known), op, value, .. } => {
            let sets = op.is_none()
                && event.guards.is_empty()
                && !value.any(&|part| matches!(part, Value::Module(_, own) if own == name));
            of == file && known == name && (!first || sets)
        }
        _ => false,
    };
    let at_once = |func: usize| {
        let waits = |event: &Event| matches!(&event.act, Act::Call { awaited: true, .. });
        let own = tree.function(of(func));
        own.is_some_and(|own| !own.flags.is_async) && !facts.functions[func].events.iter().any(waits)
    };
    let writers: Vec<usize> = (1..facts.functions.len())
        .filter(|func| facts.functions[*func].events.iter().any(|event| writes(event, false)))
        .collect();
    counts.file == *file
        && writers.iter().all(|func| at_once(*func))
        && writers.iter().any(|func| {
            let first =
                facts.functions[*func].events.iter().find(|event| writes(event, false) || matches!(event.act, Act::Call { .. }));
            first.is_some_and(|event| writes(event, true)) && leads_to(tree, of(*func), counts)
        })
}

/// Whether a function calls another of its file, itself or through others.
fn leads_to(tree: &Tree, from: FnRef, to: FnRef) -> bool {
    let (mut queue, mut seen) = (vec![from], HashSet::from([from]));
    while let Some(at) = queue.pop() {
        for event in tree.facts(at).into_iter().flat_map(|facts| &facts.events) {
            let Act::Call { callee, .. } = &event.act else { continue };
            match tree.ty(callee, at.file) {
                Ty::Function(called) if called == to => return true,
                Ty::Function(called) if called.file == at.file && seen.insert(called) => queue.push(called),
                _ => {}
            }
        }
    }
    from == to
}

/// Whether a count is of what failed of the work that this process was handed, and begins anew when it succeeds: it keeps the process
/// from trying again for a while (a circuit breaker), and every process finds out for itself.
pub(super) fn breaks_circuit(view: &View<'_>, change: &StateChange) -> bool {
    let tree = view.world.tree;
    let file = view.event(change.event).origin.0.file;
    let Some(facts) = tree.files.get(file as usize) else { return false };
    let functions = || (0..).zip(&facts.functions).map(|(func, function)| (FnRef { file, func }, function));
    let same =
        |place: &Value| view.place(place).is_some_and(|place| place.same(&change.place)) || same_member(place, &change.place);
    let (mut up, mut anew) = (vec![], false);
    for (function, event) in functions().flat_map(|(at, function)| function.events.iter().map(move |event| (at, event))) {
        match &event.act {
            Act::Write { place, op: Some(BinaryOp::Add), .. } if same(place) => up.push((function, event.in_catch)),
            Act::Write { place, value: Value::Number(zero), op: None, .. } if *zero == 0.0 && same(place) => {
                anew |= !event.in_catch
            }
            _ => {}
        }
    }
    let called_behind_errors_only = |target: FnRef| {
        let calls = functions().flat_map(|(_, function)| &function.events).filter(|event| match &event.act {
            Act::Call { callee, .. } => tree.ty(callee, file) == Ty::Function(target),
            _ => false,
        });
        let mut calls = calls.peekable();
        calls.peek().is_some() && calls.all(|event| event.in_catch)
    };
    let of_failures = !up.is_empty() && up.iter().all(|(function, caught)| *caught || called_behind_errors_only(*function));
    let handed = |event: &Event| match &event.act {
        Act::Call { callee: Value::Param(..), .. } => event.in_try.is_some(),
        Act::Call { callee: Value::Member(of, name), .. } if matches!(**of, Value::This(_)) => {
            let class = view.world.tree.class_of(match **of {
                Value::This(method) => method,
                _ => return false,
            });
            event.in_try.is_some()
                && class.and_then(|class| tree.field_value(class, name)).is_some_and(|kept| matches!(kept, Value::Param(..)))
        }
        _ => false,
    };
    of_failures && anew && functions().any(|(_, function)| function.events.iter().any(handed))
}

/// Whether what is kept is only when something failed of what this process asked others for: each time is put where an error is
/// handled. Every process finds out for itself.
pub(super) fn notes_failures(view: &View<'_>, change: &StateChange) -> bool {
    let tree = view.world.tree;
    let file = view.event(change.event).origin.0.file;
    let same = |place: &Value| view.place(place).is_some_and(|place| place.same(&change.place));
    let events =
        tree.files.get(file as usize).into_iter().flat_map(|facts| &facts.functions).flat_map(|function| &function.events);
    let mut puts = events.filter(|event| match &event.act {
        Act::Write { place, value, .. } => *value != Value::Null && same(place),
        Act::Call { callee: callee @ Value::Member(of, _), args, .. } => {
            same(of) && meaning(tree, callee, args, file).is_some_and(|meant| meant.is == Meaning::Put)
        }
        _ => false,
    });
    let mut puts = puts.by_ref().peekable();
    !change.counts && is_time(view, &change.value) && puts.peek().is_some() && puts.all(|event| event.in_catch)
}

/// Whether a value is a member of an entry under the name that the state has there.
fn same_member(value: &Value, place: &crate::program::Place) -> bool {
    matches!((value, place.path.last()), (Value::Member(_, name), Some(last)) if name == last)
}

/// Whether a value adds to what `own` knows, or takes from it: not as a key under which something lies, nor where texts are joined.
pub(super) fn sums(value: &Value, own: &mut dyn FnMut(&Value) -> bool) -> bool {
    let text = |side: &Value| matches!(side, Value::Text(_) | Value::Template(_));
    match value {
        Value::Index(of, _) => sums(of, own),
        Value::Op(op, pair) if matches!(op, BinaryOp::Add | BinaryOp::Sub) && !pair.iter().any(text) => {
            pair.iter().any(|side| own(side) || sums(side, own))
        }
        other => {
            let mut found = false;
            other.each_child(&mut |child| found = found || sums(child, own));
            found
        }
    }
}

/// Whether a side of a comparison is the number that a change counts, or is worked out from it: not an object that has it
/// among others, nor what somebody makes of one.
pub(super) fn compares_the_number(view: &View<'_>, value: &Value, change: &StateChange, at: Spot) -> bool {
    let mut found = false;
    value.walk(&mut |part| {
        if let Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, pair) = part {
            found = found || pair.iter().any(|side| is_of_number(view, side, change, at, &mut HashSet::new()));
        }
    });
    found
}

fn is_of_number(view: &View<'_>, value: &Value, change: &StateChange, at: Spot, seen: &mut HashSet<u32>) -> bool {
    let own = |value: &Value| tests_in(view, value, at).iter().any(|test| test.event.is_none() && test.place.same(&change.place));
    match value {
        Value::Object(..) => false,
        Value::Flat(index) => {
            if !seen.insert(*index) {
                return false;
            }
            let event = view.event(*index);
            let asks = matches!(&event.what, What::Meant(meant) if view.place(&meant.receiver).is_some_and(|place| place.same(&change.place)));
            let mut next = |value: &Value| is_of_number(view, value, change, at, seen);
            asks || event.returns.iter().any(|(value, _)| next(value))
                || event.computes()
                    && event.call().is_some_and(|(callee, args)| {
                        matches!(callee, Value::Member(of, _) if next(of)) || args.iter().any(|(_, value)| next(value))
                    })
        }
        Value::Module(..) | Value::Captured(..) => own(value),
        Value::Member(of, _) | Value::Index(of, _) | Value::Element(of) => own(value) || is_of_number(view, of, change, at, seen),
        other => {
            let mut found = false;
            other.each_child(&mut |child| found = found || is_of_number(view, child, change, at, seen));
            found
        }
    }
}
