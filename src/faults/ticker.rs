//! Jobs made of timers that set themselves again: `function tick() { ...; setTimeout(tick, period) }`.

use super::effects::{Sureness, effect, reads};
use super::reason::{Reason, Why};
use super::subject::{Judged, Kind, Subject};
use super::unleased_job::{Work, candidate, each_gathered, gated, handlers};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, FnRef, Value};
use crate::program::{FlatEvent, Flattener, Spot, Ty, functions_in};
use crate::rules::Meaning;

/// A function that sets a timer which leads back to it, and whose work nothing claims.
pub(super) fn detect(view: &View<'_>, flattener: &Flattener<'_>, found: &mut Judged) {
    let again = view.events().map(|(_, event)| event).find(|event| {
        event.meant(Meaning::Spawn).is_some_and(|meant| {
            meant.flag("later")
                && meant.part("period").is_some_and(|period| *period != Value::Number(0.0))
                && meant.part("body").is_some_and(|body| leads_back(view, body, event.origin.0.file))
        }) && always(view, event)
    });
    let Some(again) = again else { return };
    let work = Work::of(view);
    let subject = Subject::of(Kind::Job, again).around(view, work.all.iter().copied());
    if gated(view, again, &view.world.tree.book.reach.role_words) {
        return found.sound(subject, vec![Reason::new(Why::RoleSetting)]);
    }
    let given = handlers(view);
    // What is handed in is seen where it is handed over.
    let seen_there = work.open.is_some_and(|(_, sureness)| sureness == Sureness::Opaque) && !given.is_empty();
    let Some((event, sureness)) = work.open.filter(|_| !seen_there) else {
        each_gathered(view, again, given, flattener, found);
        return found.sound(subject, work.reasons);
    };
    let mut job = candidate(view, again.at, event, &view.describe(event), sureness);
    for start in starts(view) {
        job.add(Role::Entry, start, "first started here".to_owned());
    }
    job.add(Role::Check, again.at, "set again at the end of each run, in every copy".to_owned());
    found.push(job.at_most(Confidence::Medium).about(subject));
}

/// Whether a timer's body is this function, or calls it.
fn leads_back(view: &View<'_>, body: &Value, file: u32) -> bool {
    let tree = view.world.tree;
    let root = view.root();
    functions_in(tree, &view.flat.plain(body), file).into_iter().any(|function| function == root || calls(view, function, root))
}

fn calls(view: &View<'_>, function: FnRef, target: FnRef) -> bool {
    view.world.tree.facts(function).is_some_and(|facts| {
        facts.events.iter().any(|event| match &event.act {
            Act::Call { callee, .. } => view.world.tree.ty(callee, function.file) == Ty::Function(target),
            _ => false,
        })
    })
}

/// Whether the timer is set after each run, not only after a failure, a number of times, or until something outside is so.
fn always(view: &View<'_>, event: &FlatEvent) -> bool {
    let after_failure = event.in_catch
        || view.events().any(|(_, other)| {
            event.hops.contains(&other.at)
                && other.call().is_some_and(|(callee, _)| matches!(callee, Value::Member(_, name) if &**name == "catch"))
        });
    let waits_for = event.guards.iter().any(|guard| {
        let counted =
            view.flat.conds.get(guard.cond as usize).is_some_and(|cond| {
                cond.value.any(&|part| matches!(part, Value::Param(function, _) if *function == view.root()))
            });
        counted
            || view.cond_depends(guard.cond).iter().any(|at| {
                let asked = view.event(*at);
                reads(asked) || effect(view, asked).is_some() || matches!(asked.act, Act::Call { awaited: true, .. })
            })
    });
    !after_failure && !waits_for && event.in_loop.is_none()
}

/// Where the file calls the function from elsewhere, at most two places.
fn starts(view: &View<'_>) -> Vec<Spot> {
    let root = view.root();
    let tree = view.world.tree;
    let Some(facts) = tree.files.get(root.file as usize) else { return vec![] };
    let within_root = |function: FnRef| {
        let mut at = Some(function);
        while let Some(inner) = at {
            if inner == root {
                return true;
            }
            at = tree.function(inner).and_then(|inner| inner.parent).map(|parent| FnRef { file: root.file, func: parent.0 });
        }
        false
    };
    let leads = |value: &Value| tree.ty(value, root.file) == Ty::Function(root);
    facts
        .functions
        .iter()
        .enumerate()
        .filter(|(func, _)| !within_root(FnRef { file: root.file, func: *func as u32 }))
        .flat_map(|(_, function)| &function.events)
        .filter(|event| match &event.act {
            Act::Call { callee, args, .. } => leads(callee) || args.iter().any(|(_, value)| leads(value)),
            _ => false,
        })
        .map(|event| Spot { file: root.file, span: event.span })
        .take(2)
        .collect()
}
