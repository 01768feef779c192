//! `unleased-job`: every copy starts the same job, and nothing that all copies see claims the run.

use super::candidate::{Candidate, Only};
use super::effects::{Sureness, effect, harmless_again, vague};
use super::of_one::{of_own_credential, of_what_was_given};
use super::reason::{Reason, Why};
use super::retry::{once_for_each, stands_in};
use super::same_again::may_do_each;
use super::subject::{Judged, Kind, Subject};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::files::Atom;
use crate::program::{Flat, FlatEvent, Flattener, Gathered, Meant, Spot, Ty, What, decorator};
use crate::rules::{Meaning, TypeKind, words};

pub(super) const RULE: &str = "unleased-job";

pub(super) fn detect(view: &View<'_>, flattener: &Flattener<'_>, found: &mut Judged) {
    decorated(view, found);
    for (_, event) in view.events().filter(|(_, event)| event.hops.is_empty()) {
        let Some(meant) = event.meant(Meaning::Job) else { continue };
        let claimed = claimed(view, meant, Some(event));
        let mut bodies =
            meant.part("body").map(|body| flattener.flats(&view.flat.plain(body), event.origin.0.file)).unwrap_or_default();
        bodies.extend(bodies.iter().flat_map(|body| handed_back(body, flattener)).collect::<Vec<_>>());
        let handed_over = meant.part("body").map(|body| view.world.tree.gathered(&view.flat.plain(body))).unwrap_or_default();
        if claimed.is_none() {
            each_gathered(view, event, handed_over, flattener, found);
        }
        if bodies.is_empty() {
            found.sound(
                Subject::of(Kind::Job, event).called(view, event),
                vec![claimed.clone().unwrap_or(Reason::new(Why::Unseen))],
            );
        }
        for body in bodies {
            let name = view.world.tree.function(body.root).map_or("", |function| function.name.as_str());
            let subject = Subject::of(Kind::Job, event).called(view, event);
            let subject = if name.is_empty() { subject } else { subject.named(name) };
            match &claimed {
                Some(reason) => found.sound(subject, vec![reason.clone()]),
                None => scheduled(view, event, &body, subject, flattener, found),
            }
        }
    }
    loops(view, found);
    super::ticker::detect(view, flattener, found);
}

/// Bodies that a job's body makes and gives back for the timer to run (`move || { let pool = pool.clone(); async move { .. } }`).
fn handed_back(body: &Flat, flattener: &Flattener<'_>) -> Vec<Flat> {
    let given = body.returns.iter().map(|(value, _)| body.plain(value));
    given.filter(|value| matches!(value, Value::Function(_))).flat_map(|value| flattener.flats(&value, body.root.file)).collect()
}

/// Why no more than one copy does a job, where its registration says so.
fn claimed(view: &View<'_>, meant: &Meant, event: Option<&FlatEvent>) -> Option<Reason> {
    if meant.flag("claimed") {
        return Some(Reason::new(Why::LibraryClaims));
    }
    event.is_some_and(|event| gated(view, event, &view.world.tree.book.reach.role_words)).then(|| Reason::new(Why::RoleSetting))
}

/// A function that a decorator schedules.
fn decorated(view: &View<'_>, found: &mut Judged) {
    let root = view.root();
    let Some(facts) = view.world.tree.facts(root) else { return };
    for (value, span) in &facts.decorators {
        let Some(meant) = decorator(view.world.tree, value, root.file).filter(|meant| meant.is == Meaning::Job) else { continue };
        let at = Spot { file: root.file, span: *span };
        let name = view.world.tree.function(root).map(|function| function.name.clone()).unwrap_or_default();
        let subject = Subject::at(Kind::Job, at, 0).named(name);
        match claimed(view, &meant, None) {
            Some(reason) => found.sound(subject, vec![reason]),
            None => judge(view, at, Work { scheduler: Some(meant.library.clone()), ..Work::of(view) }, subject, found),
        }
    }
}

/// A body given to a scheduler.
fn scheduled(view: &View<'_>, event: &FlatEvent, body: &Flat, subject: Subject, flattener: &Flattener<'_>, found: &mut Judged) {
    let inner = View::new(view.world, body);
    let work = Work { scheduler: event.library().cloned(), ..Work::of(&inner) };
    let of_one = work.open.is_some_and(|(open, _)| of_what_was_given(view, event, &inner, open));
    let work = Work { of_one, ..work };
    if work.open.is_none() {
        each_gathered(view, event, handlers(&inner), flattener, found);
    }
    judge(&inner, event.at, work, subject, found);
}

/// The functions that a body calls of which it is only seen that they were gathered before: one of several handlers, the work of an
/// entry.
pub(super) fn handlers(view: &View<'_>) -> Vec<Gathered> {
    let unknown = |event: &&FlatEvent| !event.inlined && matches!(event.what, What::Nothing | What::Presumed(_));
    let calls = view.flat.events.iter().filter(unknown).filter_map(FlatEvent::call);
    calls.flat_map(|(callee, _)| view.world.tree.gathered(&view.flat.plain(callee))).collect()
}

/// The work of functions that a timer calls one after another: each of them is a job, named where it was handed over.
pub(super) fn each_gathered(
    view: &View<'_>,
    timer: &FlatEvent,
    handlers: Vec<Gathered>,
    flattener: &Flattener<'_>,
    found: &mut Judged,
) {
    for handler in handlers {
        let body = flattener.flat(handler.function);
        let inner = View::new(view.world, &body);
        let work = Work { scheduler: timer.library().cloned(), ..Work::of(&inner) };
        // Who runs it is seen through a collection: work of which it is not even seen on what is no evidence beside.
        let nameless = |event: &FlatEvent| event.statement().is_some_and(|statement| statement.table.is_none());
        if work.open.is_some_and(|(event, _)| nameless(event)) {
            continue;
        }
        let name = view.world.tree.function(handler.function).map_or("", |function| function.name.as_str());
        let at = handler.by.and_then(|(function, event)| {
            let event = view.world.tree.facts(function)?.events.get(event as usize)?;
            Some(Spot { file: function.file, span: event.span })
        });
        let subject = Subject::at(Kind::Job, at.unwrap_or(timer.at), 0);
        let subject = if name.is_empty() { subject } else { subject.named(name) };
        let faults = found.faults.len();
        judge(&inner, timer.at, work, subject, found);
        for fault in &mut found.faults[faults..] {
            fault.confidence = fault.confidence.min(Confidence::Medium);
            if let Some(at) = at {
                (fault.primary, fault.cause) = (at, at);
                fault.add(Role::Call, at, "handed over here".to_owned());
            }
        }
    }
}

/// A task started beside the program that works, waits and works again.
fn loops(view: &View<'_>, found: &mut Judged) {
    let starts: Vec<(u32, &FlatEvent)> = view
        .events()
        .filter(|(_, event)| event.hops.is_empty() && event.meant(Meaning::Spawn).is_some_and(|meant| !meant.flag("later")))
        .collect();
    // A task for each thing that an endless loop waits for is that thing's, not one that the program starts.
    let paced = |round: Spot| {
        view.events().any(|(_, event)| event.meant(Meaning::Sleep).is_some() && event.in_loop.is_some_and(|(at, _)| at == round))
    };
    let for_each_one = |event: &FlatEvent| {
        event.meant(Meaning::Spawn).is_some() && event.in_loop.is_some_and(|(round, endless)| endless && !paced(round))
    };
    let each: Vec<Spot> = view.events().filter(|(_, event)| for_each_one(event)).map(|(_, event)| event.at).collect();
    for (index, start) in starts.into_iter().filter(|(_, start)| !for_each_one(start)) {
        let body = match start.meant(Meaning::Spawn).and_then(|meant| meant.part("body")) {
            Some(Value::Flat(made)) => *made,
            _ => index,
        };
        let inside = |event: &FlatEvent| {
            let of_one = event.hops.iter().any(|hop| each.contains(hop));
            event.detached && event.hops.first() == Some(&view.event(body).at) && !of_one
        };
        let started: Vec<(u32, &FlatEvent)> = view.events().filter(|(at, event)| *at > body && inside(event)).collect();
        let mut rounds: Vec<Spot> = vec![];
        for (_, event) in &started {
            let waits = event.meant(Meaning::Sleep).is_some() && waits_in_its_own_loop(view, event);
            let round = event.in_loop.filter(|(_, endless)| waits && *endless).map(|(at, _)| at);
            rounds.extend(round.filter(|round| !rounds.contains(round)));
        }
        let work_of = |round: Spot| {
            let repeated = started.iter().filter(|(_, event)| stands_in(round, event));
            let repeated = repeated.filter(|(at, event)| !once_for_each(view, round, *at, event));
            Work { round: Some(round), ..Work::among(view, repeated.copied()) }
        };
        let works = |event: &FlatEvent| effect(view, event).is_some() && rounds.iter().any(|round| stands_in(*round, event));
        let none_at_all = !started.iter().any(|(_, event)| works(event));
        let mut jobs: Vec<Work<'_>> = rounds.iter().map(|round| work_of(*round)).collect();
        jobs.retain(|work| none_at_all || !work.all.is_empty());
        let Some(telling) = jobs.iter().position(|work| work.open.is_some()).or((!jobs.is_empty()).then_some(0)) else {
            continue;
        };
        let work = jobs.swap_remove(telling);
        let of_one = work.open.is_some_and(|(open, _)| of_own_credential(view, open));
        let work = Work { of_one, ..work };
        let subject = Subject::of(Kind::Job, start).called(view, start);
        if gated(view, start, &view.world.tree.book.reach.role_words) {
            found.sound(subject, vec![Reason::new(Why::RoleSetting)]);
            continue;
        }
        judge(view, start.at, work, subject, found);
    }
}

/// Whether a wait is written in the loop that it delays. One in a callee delays another try of the same work.
fn waits_in_its_own_loop(view: &View<'_>, event: &FlatEvent) -> bool {
    let (function, number) = event.origin;
    let facts = view.world.tree.facts(function);
    facts.and_then(|facts| facts.events.get(number as usize)).is_some_and(|event| event.in_loop.is_some())
}

/// The work of a job.
#[derive(Default)]
pub(super) struct Work<'v> {
    pub all: Vec<&'v FlatEvent>,
    /// What nothing claims: the surest.
    pub open: Option<(&'v FlatEvent, Sureness)>,
    /// Why the rest is sound.
    pub reasons: Vec<Reason>,
    /// It is for one thing that a function was given.
    of_one: bool,
    /// The loop that repeats it.
    round: Option<Spot>,
    /// The library that starts it.
    scheduler: Option<Atom>,
}

impl<'v> Work<'v> {
    /// All work of a job's body.
    pub fn of(view: &View<'v>) -> Work<'v> {
        Work::among(view, view.events())
    }

    /// The work among some events.
    fn among(view: &View<'v>, events: impl Iterator<Item = (u32, &'v FlatEvent)>) -> Work<'v> {
        let mut work = Work::default();
        for (index, event) in events {
            let Some(sureness) = effect(view, event).filter(|_| !vague(view, event)) else { continue };
            work.all.push(event);
            if let Some(reason) = harmless_again(view, index, event) {
                work.reasons.push(reason);
            } else if let Some(why) = may_do_each(view, index, event) {
                work.reasons.push(Reason::of(view, why, event));
            } else if gated(view, event, &view.world.tree.book.reach.leader_words) {
                work.reasons.push(Reason::of(view, Why::RoleSetting, event));
            } else if work.open.is_none_or(|(open, known)| (sureness, weight(view, event)) > (known, weight(view, open))) {
                work.open = Some((event, sureness));
            }
        }
        work
    }
}

/// How much of a job's harm an effect shows: what reaches people or money most, then what stays in a database or a queue.
fn weight(view: &View<'_>, event: &FlatEvent) -> u32 {
    let verbs = &view.world.tree.book.verbs;
    match &event.what {
        What::Meant(meant) if meant.is == Meaning::Effect => match meant.text("kind").as_deref() {
            Some("pay" | "mail" | "push") => 3,
            Some("database" | "queue") => 2,
            _ => 1,
        },
        What::Presumed(presumed) if verbs.is_remote(&presumed.name, presumed.owner.as_deref()) || verbs.sends(&presumed.name) => {
            3
        }
        What::Statement(_) => 2,
        _ => 1,
    }
}

fn judge(view: &View<'_>, start: Spot, work: Work<'_>, subject: Subject, found: &mut Judged) {
    let subject = subject.around(view, work.all.iter().copied());
    match work.open {
        // A callback of which nothing is known, beside work that is decided.
        Some((_, Sureness::Opaque)) if !work.reasons.is_empty() => found.sound(subject, work.reasons),
        Some((event, sureness)) => {
            let mut candidate = candidate(view, start, event, &view.describe(event), sureness);
            candidate.libraries.extend(work.scheduler);
            candidate.only = match (work.of_one, work.round) {
                (true, _) => Some(Only::FromStart),
                (false, round) => round.map(|_| Only::UnlessOnRequest),
            };
            // What is handed in is seen where it is.
            if sureness == Sureness::Opaque {
                candidate.only = Some(Only::WhereUncalled);
            }
            if let Some(round) = work.round {
                candidate.add(Role::Check, round, "each round of this loop, in every copy".to_owned());
            }
            found.push(candidate.about(subject));
        }
        None => found.sound(subject, work.reasons),
    }
}

/// Whether a setting says which copy does the job.
pub(super) fn gated(view: &View<'_>, event: &FlatEvent, role_words: &[String]) -> bool {
    event.guards.iter().any(|guard| {
        let Some(cond) = view.flat.conds.get(guard.cond as usize) else { return false };
        let mut names: Vec<String> = vec![];
        let collect = |value: &Value, names: &mut Vec<String>| collect(view, value, event.origin.0.file, names);
        collect(&cond.value, &mut names);
        for index in view.cond_depends(guard.cond).iter() {
            if let Some((callee, args)) = view.event(*index).call() {
                collect(callee, &mut names);
                args.iter().for_each(|(_, value)| collect(value, &mut names));
            }
        }
        names.retain(|name| !view.world.tree.book.reach.reloader_names.iter().any(|known| known == name));
        // Every copy is started by some file: that this is the one says nothing of which copy it is.
        let reach = &view.world.tree.book.reach;
        if cond
            .value
            .any(&|part| matches!(part, Value::Global(name) if reach.starter_names.iter().any(|known| **known == **name)))
        {
            names.retain(|name| !reach.starter_words.contains(&words(name).join("_")));
        }
        names.iter().flat_map(|name| words(name)).any(|word| role_words.contains(&word))
    })
}

/// The names that a condition speaks of, but for those of a library's objects and of what this function sets itself: they say
/// whether the job runs already, not which copy does it.
fn collect(view: &View<'_>, value: &Value, file: u32, names: &mut Vec<String>) {
    let set_here = |part: &Value| view.events().any(|(_, event)| matches!(&event.act, Act::Write { place, .. } if place == part));
    let of_a_library = |part: &Value| match view.world.tree.ty(&view.flat.plain(part), file) {
        Ty::Lib { path, .. } => view.world.tree.packs(file).type_row(&path).is_some_and(|row| row.is == TypeKind::Plain),
        _ => false,
    };
    value.walk(&mut |part| match part {
        Value::Member(_, name) | Value::Module(_, name) if !set_here(part) && !of_a_library(part) => names.push(name.to_string()),
        Value::Global(name) | Value::Text(name) => names.push(name.to_string()),
        _ => {}
    });
}

pub(super) fn candidate(view: &View<'_>, start: Spot, work: &FlatEvent, what: &str, sureness: Sureness) -> Candidate {
    let mut candidate = Candidate::new(
        view,
        RULE,
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
