//! `unleased-job`: every copy starts the same job, and nothing that all copies see claims the run.

use super::candidate::Candidate;
use super::effects::{Sureness, decided, effect, idempotent};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::Value;
use crate::program::{Flat, FlatEvent, Flattener, Spot, decorator, functions_in};
use crate::rules::{Meaning, words};

pub(super) fn detect(view: &View<'_>, flattener: &Flattener<'_>, found: &mut Vec<Candidate>) {
    decorated(view, found);
    for (_, event) in view.events().filter(|(_, event)| event.hops.is_empty()) {
        if let Some(meant) = event.meant(Meaning::Job)
            && !meant.flag("claimed")
            && !gated(view, event)
        {
            let bodies = meant
                .part("body")
                .map(|body| functions_in(view.world.tree, &view.flat.plain(body), event.origin.0.file))
                .unwrap_or_default();
            for body in bodies {
                scheduled(view, event, &flattener.flat(body), found);
            }
        }
    }
    loops(view, found);
}

/// A function that a decorator schedules.
fn decorated(view: &View<'_>, found: &mut Vec<Candidate>) {
    let root = view.root();
    let Some(facts) = view.world.tree.facts(root) else { return };
    for (value, span) in &facts.decorators {
        let job =
            decorator(view.world.tree, value, root.file).is_some_and(|meant| meant.is == Meaning::Job && !meant.flag("claimed"));
        if job && let Some((index, work, sureness)) = unclaimed(view) {
            let at = Spot { file: root.file, span: *span };
            found.push(candidate(view, at, view.event(index), &view.describe(work), sureness));
        }
    }
}

/// A body given to a scheduler.
fn scheduled(view: &View<'_>, event: &FlatEvent, body: &Flat, found: &mut Vec<Candidate>) {
    let inner = View::new(view.world, body);
    if let Some((index, work, sureness)) = unclaimed(&inner) {
        let what = inner.describe(work);
        let mut candidate = candidate(&inner, event.at, inner.event(index), &what, sureness);
        candidate.primary = event.at;
        found.push(candidate);
    }
}

/// A task started beside the program that works, waits and works again.
fn loops(view: &View<'_>, found: &mut Vec<Candidate>) {
    let starts: Vec<(u32, &FlatEvent)> = view
        .events()
        .filter(|(_, event)| event.hops.is_empty() && event.meant(Meaning::Spawn).is_some_and(|meant| !meant.flag("later")))
        .collect();
    for (index, start) in starts {
        if gated(view, start) {
            continue;
        }
        let body = match start.meant(Meaning::Spawn).and_then(|meant| meant.part("body")) {
            Some(Value::Flat(made)) => *made,
            _ => index,
        };
        let inside = |event: &FlatEvent| event.detached && event.hops.first() == Some(&view.event(body).at);
        let started: Vec<(u32, &FlatEvent)> = view.events().filter(|(at, event)| *at > body && inside(event)).collect();
        let Some(round) = started.iter().find_map(|(_, event)| {
            let waits = event.meant(Meaning::Sleep).is_some();
            event.in_loop.filter(|(_, endless)| waits && *endless).map(|(at, _)| at)
        }) else {
            continue;
        };
        let work = started
            .iter()
            .filter(|(_, event)| event.in_loop.is_some())
            .filter_map(|(at, event)| Some((*at, *event, effect(view, event)?)))
            .filter(|(at, event, _)| !idempotent(view, event) && !decided(view, *at, event))
            .max_by_key(|(at, _, sureness)| (*sureness, std::cmp::Reverse(*at)));
        if let Some((_, work, sureness)) = work {
            let mut candidate = candidate(view, start.at, work, &view.describe(work), sureness);
            candidate.add(Role::Check, round, "each round of this loop, in every copy".to_owned());
            found.push(candidate);
        }
    }
}

/// The work of a job's body that nothing claims.
fn unclaimed<'v>(view: &View<'v>) -> Option<(u32, &'v FlatEvent, Sureness)> {
    view.events()
        .filter_map(|(index, event)| Some((index, event, effect(view, event)?)))
        .filter(|(index, event, _)| !idempotent(view, event) && !decided(view, *index, event))
        .max_by_key(|(index, _, sureness)| (*sureness, std::cmp::Reverse(*index)))
}

/// Whether a setting says which copy does the job.
fn gated(view: &View<'_>, event: &FlatEvent) -> bool {
    let role_words = &view.world.tree.book.reach.role_words;
    event.guards.iter().any(|guard| {
        let Some(cond) = view.flat.conds.get(guard.cond as usize) else { return false };
        let mut names: Vec<String> = vec![];
        collect(&cond.value, &mut names);
        for index in view.cond_depends(guard.cond).iter() {
            if let Some((callee, args)) = view.event(*index).call() {
                collect(callee, &mut names);
                args.iter().for_each(|(_, value)| collect(value, &mut names));
            }
        }
        names.iter().flat_map(|name| words(name)).any(|word| role_words.contains(&word))
    })
}

fn collect(value: &Value, names: &mut Vec<String>) {
    value.walk(&mut |part| match part {
        Value::Member(_, name) | Value::Global(name) | Value::Module(_, name) | Value::Text(name) => names.push(name.to_string()),
        _ => {}
    });
}

fn candidate(view: &View<'_>, start: Spot, work: &FlatEvent, what: &str, sureness: Sureness) -> Candidate {
    let mut candidate = Candidate::new(
        view,
        "unleased-job",
        work,
        work,
        format!("every copy starts this job, and nothing claims the run: {what} happens once per copy"),
    );
    candidate.primary = start;
    candidate.cause = start;
    candidate.work = start;
    candidate.distance = 0;
    candidate.stands = true;
    candidate.add(Role::Entry, start, "started in every copy".to_owned());
    candidate.hop(Role::Effect, work, what);
    candidate.at_most(match sureness {
        Sureness::Known => Confidence::High,
        Sureness::Presumed => Confidence::Medium,
        Sureness::Opaque => Confidence::Low,
    })
}
