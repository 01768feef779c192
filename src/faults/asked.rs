//! Where a limiter of a library is asked: its evidence beside the place where it is made.

use super::view::View;
use crate::facts::{Act, FnRef, Value};
use crate::files::Atom;
use crate::program::{FlatEvent, Spot, Ty, unwrapped};

/// Where a limiter is asked, if its type is known: the first place of its language that calls it by a name it is kept under, else that
/// calls one of its type by none.
pub(super) fn asked_at(view: &View<'_>, event: &FlatEvent) -> Option<Spot> {
    let tree = view.world.tree;
    let (function, index) = event.origin;
    let of_value = |value: &Value, file: u32| match unwrapped(tree, tree.ty(value, file), file) {
        Ty::Lib { path, .. } if path.contains(':') => Some(path),
        _ => None,
    };
    let limiter = Value::Result(function, index);
    let made = of_value(&limiter, function.file)?;
    let kept = kept_as(view, function, &limiter);
    let language = tree.files.get(function.file as usize)?.unit.language;
    let mut first = None;
    for facts in tree.files.iter().filter(|facts| facts.unit.language == language) {
        for event in facts.functions.iter().flat_map(|function| &function.events) {
            let Act::Call { callee: Value::Member(on, method), .. } = &event.act else { continue };
            let asks = || tree.packs(facts.file).rows(&format!("{made}.{method}")).next().is_some();
            if of_value(on, facts.file).as_ref() != Some(&made) || !asks() {
                continue;
            }
            let spot = Spot { file: facts.file, span: event.span };
            match &**on {
                Value::Member(_, name) | Value::Module(_, name) | Value::Captured(_, name) if !kept.is_empty() => {
                    if kept.contains(name) {
                        return Some(spot);
                    }
                }
                _ => first = first.or(Some(spot)),
            }
        }
    }
    first
}

/// The names that a function keeps a value under: entries of what it makes, and names of the module.
fn kept_as(view: &View<'_>, function: FnRef, value: &Value) -> Vec<Atom> {
    let tree = view.world.tree;
    let holds = |other: &Value| other.any(&|part| part == value);
    let mut kept = Vec::new();
    let mut entries = |value: &Value| {
        value.walk(&mut |part| {
            if let Value::Object(_, entries) = part {
                kept.extend(entries.iter().filter(|(_, entry)| holds(entry)).map(|(name, _)| name.clone()));
            }
        });
    };
    for event in tree.facts(function).into_iter().flat_map(|facts| &facts.events) {
        match &event.act {
            Act::Call { args, .. } => args.iter().for_each(|(_, value)| entries(value)),
            Act::Exit { value, .. } | Act::Write { value, .. } => entries(value),
            _ => {}
        }
    }
    if let Some(facts) = tree.files.get(function.file as usize) {
        kept.extend(facts.names.iter().filter(|(_, known)| holds(&known.value)).map(|(name, _)| name.clone()));
    }
    kept
}
