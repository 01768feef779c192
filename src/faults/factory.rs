//! Functions that give out what they keep: whether those who call them keep what they are given for longer than one run.

use std::collections::HashSet;
use std::sync::Arc;

use super::view::{View, World};
use crate::facts::{Act, Arg, Cond, FnRef, Value};
use crate::program::{Reach, Tree, Ty, meaning};
use crate::rules::{Meaning, TypeKind};
use crate::syntax::{ExitKind, Shape};

/// How many callers a result is followed through.
const DEEPEST: u32 = 6;

/// Whether each who calls a function is a run of its own, of a request or a message, and uses up what it is given there.
pub(super) fn used_up(world: &World<'_>, reach: &Reach, factory: FnRef) -> bool {
    each_uses_up(world, reach, factory, false, 0)
}

fn each_uses_up(world: &World<'_>, reach: &Reach, factory: FnRef, in_a_run: bool, depth: u32) -> bool {
    let callers: HashSet<FnRef> = reach.callers(factory).filter(|caller| *caller != factory).collect();
    depth < DEEPEST
        && !callers.is_empty()
        && callers.into_iter().all(|caller| uses_up(world, reach, (caller, factory), in_a_run, depth))
}

fn uses_up(world: &World<'_>, reach: &Reach, (caller, factory): (FnRef, FnRef), in_a_run: bool, depth: u32) -> bool {
    let tree = world.tree;
    let (Some(facts), Some(own)) = (tree.facts(caller), tree.function(caller)) else { return false };
    let calls = |event: &crate::facts::Event| match &event.act {
        Act::Call { callee, .. } => tree.ty(callee, caller.file) == Ty::Function(factory),
        _ => false,
    };
    let Some(at) = facts.events.iter().position(calls).filter(|_| caller.func != 0) else { return false };
    let made = Value::Result(caller, at as u32);
    let is_it = |value: &Value| value.any(&|part| *part == made);
    let mut handed_back = false;
    for event in &facts.events {
        match &event.act {
            // It puts a program together.
            Act::Call { callee, args, .. } => {
                let meant = meaning(tree, callee, args, caller.file);
                if meant.is_some_and(|meant| matches!(meant.is, Meaning::Entry | Meaning::Job | Meaning::Serve)) {
                    return false;
                }
            }
            Act::Write { place, value, .. } if is_it(value) && !matches!(place, Value::Unknown) => return false,
            Act::Exit { kind: ExitKind::Return, value } => handed_back |= is_it(value),
            _ => {}
        }
    }
    if !handed_back && goes_into_memory(tree, caller, &made) {
        return true;
    }
    let kinds = reach.entry_kinds(caller);
    let starts = ["startup", "main", "cli"].iter().any(|kind| kinds.contains(*kind));
    let by_module = !own.name.is_empty() && reach.callers(caller).any(|caller| caller.func == 0);
    let waited = facts.events[..at].iter().any(|event| matches!(&event.act, Act::Call { awaited: true, .. }));
    let a_run = in_a_run
        || waited
        || ["http", "rpc", "consumer", "job", "event"].iter().any(|kind| kinds.contains(*kind))
        || stays_in_hand(tree, caller, &made);
    !starts && !by_module && a_run && (!handed_back || each_uses_up(world, reach, caller, a_run, depth + 1))
}

/// Whether what a function makes is called there or by functions of the tree that it hands it to, none of which keeps it: nothing is
/// registered with it.
fn stays_in_hand(tree: &Tree, caller: FnRef, made: &Value) -> bool {
    let is_it = |value: &Value| value.any(&|part| part == made);
    let Some(facts) = tree.facts(caller) else { return false };
    let names: Vec<_> = facts.locals.iter().filter(|(_, value)| is_it(value)).map(|(name, _)| name).collect();
    let taken = |value: &Value| {
        value.any(&|part| matches!(part, Value::Captured(owner, name) if *owner == caller && names.contains(&name)))
    };
    let inside = tree.files.get(caller.file as usize).map(|file| &file.functions[..]).unwrap_or_default();
    let captured = inside.iter().flat_map(|inner| &inner.events).any(|event| {
        let mut found = false;
        event.act.each_value(&mut |value| found |= taken(value));
        found
    });
    let given = |target: FnRef, value: &Value| match value {
        Value::Param(owner, _) => *owner == target,
        Value::Member(of, _) => matches!(**of, Value::Param(owner, _) if owner == target),
        _ => false,
    };
    let keeps_nothing = |target: FnRef| {
        tree.facts(target).is_some_and(|facts| {
            facts.events.iter().all(|event| match &event.act {
                Act::Write { value, .. } => !given(target, value),
                Act::Call { callee, args, .. } => {
                    let meant = meaning(tree, callee, args, target.file);
                    !meant.is_some_and(|meant| match meant.is {
                        Meaning::Entry | Meaning::Job | Meaning::Serve => true,
                        Meaning::Put => args.iter().any(|(_, value)| given(target, value)),
                        _ => false,
                    })
                }
                _ => true,
            })
        })
    };
    !captured
        && facts.events.iter().all(|event| match &event.act {
            Act::Call { callee, args, .. } if args.iter().any(|(_, value)| is_it(value)) => match tree.ty(callee, caller.file) {
                Ty::Function(target) => keeps_nothing(target),
                _ => false,
            },
            _ => true,
        })
}

/// Whether what a function makes is only given to calls that work in memory and end with it, as a replacer is to what writes a text.
fn goes_into_memory(tree: &Tree, caller: FnRef, made: &Value) -> bool {
    let is_it = |value: &Value| value.any(&|part| part == made);
    let Some(facts) = tree.facts(caller) else { return false };
    // What has a name may be taken along by functions inside.
    let mut uses = facts.events.iter().filter_map(|event| match &event.act {
        Act::Call { callee, args, .. } if is_it(callee) || args.iter().any(|(_, value)| is_it(value)) => Some((callee, args)),
        _ => None,
    });
    let local = |callee: &Value| match callee {
        Value::Member(of, _) => match tree.ty(of, caller.file) {
            Ty::Lib { path, .. } => tree.packs(caller.file).kind(&path) == TypeKind::Local,
            _ => false,
        },
        _ => false,
    };
    let pure = |(callee, args): (&Value, &Arc<[Arg]>)| {
        let meant = || meaning(tree, callee, args, caller.file).is_some_and(|meant| meant.is == Meaning::Pure);
        !is_it(callee) && (local(callee) || meant())
    };
    !facts.locals.values().any(is_it) && uses.next().is_some_and(pure) && uses.all(pure)
}

/// Whether a function is called only where a client that all copies share is not set up: behind a test for it that leaves.
pub(super) fn stands_in(view: &View<'_>, factory: FnRef) -> bool {
    let tree = view.world.tree;
    let mut calls =
        tree.files.iter().flat_map(|file| (0..file.functions.len() as u32).map(|func| FnRef { file: file.file, func }));
    let mut seen = false;
    let each = calls.all(|function| {
        let Some(facts) = tree.facts(function) else { return true };
        facts.events.iter().all(|event| {
            let Act::Call { callee, .. } = &event.act else { return true };
            if tree.ty(callee, function.file) != Ty::Function(factory) {
                return true;
            }
            seen = true;
            event.guards.iter().any(|guard| {
                let cond: Option<&Cond> = facts.conds.get(guard.cond as usize);
                cond.is_some_and(|cond| lacks(view, &cond.value, guard.holds))
            })
        })
    });
    each && seen
}

/// Whether a condition's outcome means that a module's value is not there which may be null: a client of a setting.
fn lacks(view: &View<'_>, value: &Value, holds: bool) -> bool {
    match value {
        Value::Not(inner) => lacks(view, inner, !holds),
        Value::Is(inner, shape) => match &**shape {
            Shape::Null => lacks(view, inner, !holds),
            Shape::Present => lacks(view, inner, holds),
            _ => false,
        },
        Value::Module(..) | Value::Member(..) => !holds && may_lack(view, value),
        _ => false,
    }
}

/// Whether a module's value is a client or nothing, as a setting has it: by what it is, or by what the function gives that makes it.
fn may_lack(view: &View<'_>, value: &Value) -> bool {
    let tree = view.world.tree;
    let Value::Module(file, name) = tree.definition(value) else { return false };
    let Some(known) = tree.files.get(file as usize).and_then(|facts| facts.names.get(&name)) else { return false };
    let given: Vec<Value> = match &known.value {
        Value::Result(function, index) => {
            let made = tree.facts(*function).and_then(|facts| facts.events.get(*index as usize)).map(|event| &event.act);
            let target = match made {
                Some(Act::Call { callee, .. }) => tree.ty(callee, function.file),
                _ => Ty::Unknown,
            };
            let Ty::Function(target) = target else { return false };
            let exits = tree.facts(target).into_iter().flat_map(|facts| &facts.events).filter_map(|event| match &event.act {
                Act::Exit { kind: ExitKind::Return, value } => Some(value.clone()),
                _ => None,
            });
            exits.collect()
        }
        other => other.options().into_iter().cloned().collect(),
    };
    let made = |value: &Value| value.any(&|part| matches!(part, Value::Result(..)));
    given.contains(&Value::Null) && given.iter().any(made)
}
