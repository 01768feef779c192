//! How long one call can take: by its own timeout, its client's, what bounds it from outside, or its library's default.

use crate::facts::{Act, Value};
use crate::faults::view::View;
use crate::program::{Amount, FlatEvent, Look, Meant, Spot, Ty, amount, maker};
use crate::rules::Meaning;

/// How long a call can take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cost {
    /// As long as the other side likes.
    Forever,
    /// At most this many milliseconds.
    AtMost(f64),
    /// Waits for another system, for a time that is not known.
    Unknown,
}

/// How long an event can take; `None` where it waits for nothing that is known.
pub(super) fn cost(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Cost> {
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let file = event.origin.0.file;
    let crate::program::What::Meant(meant) = &event.what else { return None };
    let unit = meant.text("unit");
    let ms = |value: &Value| amount(&look, value, file).and_then(|time| time.in_ms(unit.as_deref()));
    match meant.is {
        Meaning::Sleep => Some(meant.part("time").and_then(ms).map_or(Cost::Unknown, |time| Cost::AtMost(time.most))),
        // A promise that a timer resolves: `new Promise((resolve) => setTimeout(resolve, ms))`.
        Meaning::Spawn if meant.flag("later") => {
            let resolves = matches!(meant.part("body"), Some(Value::Param(function, _)) if *function != view.flat.root);
            let time = meant.part("period").filter(|_| resolves).and_then(ms);
            time.map(|time| Cost::AtMost(time.most))
        }
        Meaning::Effect | Meaning::Pure | Meaning::Refresh => {
            meant.part("patience")?;
            Some(bounded(view, index, event).unwrap_or_else(|| called(view, event, meant)))
        }
        _ => None,
    }
}

/// Whatever bounds the event from outside: `wait_for(...)`, `async with timeout(...)`.
fn bounded(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Cost> {
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    view.events().find_map(|(at, bound)| {
        let crate::program::What::Meant(meant) = &bound.what else { return None };
        let limit = meant.part("limit")?;
        let encloses = event.within.contains(&at)
            || event.hops.contains(&bound.at)
            || meant.part("of").is_some_and(|of| {
                of.any(&|part| match part {
                    Value::Flat(given) => *given == index || event.hops.contains(&view.event(*given).at),
                    _ => false,
                })
            });
        let time = amount(&look, limit, bound.origin.0.file).and_then(|time| time.in_ms(meant.text("unit").as_deref()));
        encloses.then(|| time.map_or(Cost::Unknown, |time| Cost::AtMost(time.most)))
    })
}

/// What the call, the steps that built it and its client say.
fn called(view: &View<'_>, event: &FlatEvent, meant: &Meant) -> Cost {
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let tree = view.world.tree;
    let file = event.origin.0.file;
    if let Some(cost) = said(&look, meant, file) {
        return cost;
    }
    let Some((callee, args)) = event.call() else { return Cost::Unknown };
    if hidden(meant, args, view) {
        return Cost::Unknown;
    }
    // Where the call is written every step before it is seen.
    let written = tree.facts(event.origin.0).and_then(|facts| facts.events.get(event.origin.1 as usize));
    let callee = match written.map(|event| &event.act) {
        Some(Act::Call { callee, .. }) => callee,
        _ => callee,
    };
    let mut at = match callee {
        Value::Member(of, _) => (**of).clone(),
        other => other.clone(),
    };
    for _ in 0..24 {
        let step = match &at {
            Value::Result(function, _) => look.meaning(&at, function.file),
            _ => None,
        };
        at = match step {
            Some(step) if step.is == Meaning::Client => {
                let args = look.call(&at).map(|(_, args)| args).unwrap_or_default();
                return match said(&look, &step, file) {
                    Some(cost) => cost,
                    None if hidden(&step, &args, view) => Cost::Unknown,
                    None => built(&look, &step, file).unwrap_or_else(|| patience(&step)),
                };
            }
            Some(step) if step.is == Meaning::Build => match said(&look, &step, file) {
                Some(cost) => return cost,
                None => step.receiver.clone(),
            },
            Some(step) if step.is == Meaning::Pass => step.part("of").unwrap_or(&step.receiver).clone(),
            // A step of a builder that no row speaks of.
            None if matches!(look.call(&at), Some((Value::Member(..), _))) => match look.call(&at) {
                Some((Value::Member(of, _), _)) => (*of).clone(),
                _ => return Cost::Unknown,
            },
            _ => match maker(&look, &at) {
                Some(made) if made != at => made,
                // A part of a client: `client.charges`.
                _ if !itself(view, &at) && matches!(&at, Value::Member(..)) => match &at {
                    Value::Member(of, _) => (**of).clone(),
                    _ => return Cost::Unknown,
                },
                _ => return if itself(view, &at) && !preset(view, meant) { patience(meant) } else { Cost::Unknown },
            },
        };
    }
    Cost::Unknown
}

/// The timeout among a builder's steps before the one that makes a client.
fn built(look: &Look<'_>, last: &Meant, file: u32) -> Option<Cost> {
    let mut at = last.receiver.clone();
    for _ in 0..16 {
        if let Some(step) = look.meaning(&at, file)
            && let Some(cost) = said(look, &step, file)
        {
            return Some(cost);
        }
        at = match look.call(&at)? {
            (Value::Member(of, _), _) => (*of).clone(),
            _ => return None,
        };
    }
    None
}

/// The timeout that a row points to.
fn said(look: &Look<'_>, meant: &Meant, file: u32) -> Option<Cost> {
    let value = meant.part("timeout")?;
    if *value == Value::Null {
        return Some(Cost::Forever);
    }
    let time: Option<Amount> = amount(look, value, file).and_then(|time| time.in_ms(meant.text("unit").as_deref()));
    Some(match time {
        Some(time) if time.most == 0.0 => Cost::Forever,
        Some(time) => Cost::AtMost(time.most),
        None => Cost::Unknown,
    })
}

/// Options that stand somewhere else: a timeout may be among them.
fn hidden(meant: &Meant, args: &crate::program::Args, view: &View<'_>) -> bool {
    let spread = args.iter().any(|(name, _)| matches!(name.as_deref(), Some("*" | "**")));
    let options = meant.part("options").map(|options| view.world.tree.settled(options));
    spread
        || match options {
            None | Some(Value::Null) => false,
            Some(Value::Object(_, entries)) => entries.iter().any(|(key, _)| &**key == "..."),
            Some(_) => true,
        }
}

/// How long a library waits where nothing is said.
fn patience(meant: &Meant) -> Cost {
    match meant.part("patience") {
        Some(Value::Number(number)) => {
            let scale = if meant.text("unit").as_deref() == Some("s") { 1e3 } else { 1.0 };
            Cost::AtMost(number * scale)
        }
        Some(Value::Text(text)) if &**text == "forever" => Cost::Forever,
        _ => Cost::Unknown,
    }
}

/// Whether a value is a library's own module or function, not a client somebody made.
fn itself(view: &View<'_>, value: &Value) -> bool {
    let library = |value: &Value, file: u32| matches!(view.world.tree.ty(value, file), Ty::Lib { sure: true, .. });
    match value {
        Value::Module(file, name) => {
            let here = view.world.tree.files.get(*file as usize).is_some_and(|facts| facts.names.contains_key(name));
            !here && library(value, *file)
        }
        Value::Global(_) => true,
        Value::Member(of, _) => itself(view, of),
        _ => false,
    }
}

/// Whether the program sets the library's default: `axios.defaults.timeout = 5000`.
fn preset(view: &View<'_>, meant: &Meant) -> bool {
    let Some(tail) = meant.text("preset") else { return false };
    let names: Vec<&str> = tail.split('.').collect();
    let sets = |place: &Value| {
        let mut at = place;
        names.iter().rev().all(|name| match at {
            Value::Member(of, member) if **member == **name => {
                at = of;
                true
            }
            _ => false,
        })
    };
    view.world
        .tree
        .all_functions()
        .filter_map(|function| view.world.tree.facts(function))
        .any(|facts| facts.events.iter().any(|event| matches!(&event.act, Act::Write { place, .. } if sets(place))))
}

/// Rounds of the loop an event is in, below the lease that was taken at `acquire`: 1 where the loop is around the lease, or
/// there is none; `None` where nothing bounds them.
pub(super) fn rounds(view: &View<'_>, acquire: &FlatEvent, event: &FlatEvent) -> Option<f64> {
    let Some((spot, _)) = event.in_loop else { return Some(1.0) };
    if around(spot, acquire) {
        return Some(1.0);
    }
    let tree = view.world.tree;
    let known = tree.files.get(spot.file as usize).into_iter().flat_map(|facts| &facts.functions);
    let found = known.flat_map(|facts| &facts.loops).find(|known| known.span == spot.span)?;
    let count = |value: &Value| match tree.settled(value) {
        Value::Number(number) => Some(number),
        _ => None,
    };
    match (&found.over, &found.test) {
        (Some(over), _) => match tree.settled(over) {
            Value::List(items) => Some(items.len() as f64),
            // `0..3`
            Value::Mix(ends) if ends.len() == 2 => Some(count(&ends[1])? - count(&ends[0])?),
            Value::Op(_, ends) => Some(count(&ends[1])? - count(&ends[0])?),
            // `range(3)`
            Value::Result(function, made) => match &tree.facts(function)?.events.get(made as usize)?.act {
                Act::Call { callee: Value::Global(_), args, .. } if args.len() == 1 => count(&args[0].1),
                _ => None,
            },
            _ => None,
        },
        (None, Some(Value::Op(_, ends))) => Some((count(&ends[1])? - count(&ends[0])?).abs()),
        _ => None,
    }
}

/// Whether a loop is around an event, or around a call that leads to it.
pub(super) fn around(spot: Spot, event: &FlatEvent) -> bool {
    let inside = |at: &Spot| at.file == spot.file && at.span.start >= spot.span.start && at.span.end <= spot.span.end;
    inside(&event.at) || event.hops.iter().any(inside)
}
