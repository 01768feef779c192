//! Runs every detector over every function, keeps each fault once, and turns candidates into findings.

use std::collections::{HashMap, HashSet};

use super::candidate::{Candidate, Only};
use super::comments::{accepted, admitted, wanted};
use super::copies::weighed;
use super::factory::used_up;
use super::inventory::Item;
use super::nobodys::Nobodys;
use super::provider::shared_beside;
use super::reason::Why;
use super::sightings::{Asked, Sightings};
use super::standing::Standing;
use super::subject::Judged;
use super::sure::{Reached, of_guards};
use super::view::{View, World};
use super::{Confidence, Endpoint, Finding, Hop, Place, Role};
use super::{
    configured, data, early_release, host_lock, lease, limiter, lock_map, migration, one_time, process_counter, process_guard,
    process_lock, refresh_stampede, shared_lock, stale_read, transaction_held, unleased_job, version, wrong_row,
};
use crate::facts::{Act, FnRef};
use crate::files::Source;
use crate::program::{Copies, Entry, Flat, FlatEvent, Flattener, Reach, Spot, What, body_fields, decorator, links, roles};
use crate::rules::{Catalogue, FileRole, Severity};

/// What the detectors say of a tree.
#[derive(Debug, Default)]
pub struct Detected {
    /// The faults.
    pub findings: Vec<Finding>,
    /// All that was judged, in the order of its places.
    pub inventory: Vec<Item>,
}

/// All faults of a tree, and the inventory they are the bad part of. `sources` are the files by the tree's index. The user's word
/// that there is one copy silences the faults that only a second copy makes.
pub fn detect(
    world: &World<'_>,
    flattener: &Flattener<'_>,
    sources: &[&Source],
    catalogue: &Catalogue,
    copies: &Copies,
) -> Detected {
    let roles = roles(world.tree);
    let service = |function: FnRef| roles.get(function.file as usize) == Some(&FileRole::Service);
    let seen = flattener.each(service, |flat| {
        let judged = service(flat.root).then(|| judged(world, flattener, flat));
        (links(world.tree, flat), judged.filter(Judged::says).map(Box::new))
    });
    let mut found: Vec<(FnRef, Candidate)> = vec![];
    let mut sightings = Sightings::default();
    let mut compared = version::Compared::new();
    let mut made_up = one_time::MadeUp::new();
    let mut cleared: HashSet<(Spot, Spot)> = HashSet::new();
    let reach = Reach::new(
        world.tree,
        roles,
        seen.into_iter().map(|(function, (links, judged))| {
            let mut judged = judged.map(|judged| *judged).unwrap_or_default();
            sightings.sound(function, &mut judged);
            compared.extend(judged.compared);
            made_up.extend(judged.made_up);
            cleared.extend(judged.cleared);
            found.extend(judged.faults.into_iter().map(|candidate| (function, candidate)));
            (function, links)
        }),
    );
    version::confirm(world, &compared, &mut found);
    one_time::confirm(&made_up, &mut found);
    let found = sift(found, &mut sightings, |function, candidate| {
        match reach.serves(function) && !by_command(world, &reach, function, candidate) {
            false => Some(Why::NotServed),
            true => unmet(candidate.only.as_ref()?, world, &reach, function),
        }
    });
    let nobodys = Nobodys::new(world.tree, &reach, world.documents);
    let found = sift(found, &mut sightings, |function, candidate| {
        let entered = candidate.trace.iter().any(|(role, _, _)| *role == Role::Entry);
        (!entered && nobodys.never_runs(function)).then_some(Why::NotServed)
    });
    let found = sift(found, &mut sightings, |_, candidate| {
        cleared.contains(&(candidate.cause, candidate.work)).then_some(Why::EitherWay)
    });
    let seeded: HashSet<Spot> =
        found.iter().filter(|(_, candidate)| candidate.rule == migration::RULE).map(|(_, candidate)| candidate.work).collect();
    let found = sift(found, &mut sightings, |_, candidate| {
        (candidate.rule != migration::RULE && seeded.contains(&candidate.work)).then_some(Why::SaidElsewhere)
    });
    let never_runs = |function: FnRef| nobodys.never_runs(function);
    let mut standing = Standing::of(&reach, &never_runs, flattener, &found);
    let found = sift(found, &mut sightings, |function, candidate| {
        (!candidate.stands && !standing.stands(function, candidate)).then_some(Why::CallersDecide)
    });
    let family = |candidate: &Candidate| catalogue.get(candidate.rule).map_or("", |rule| rule.family.as_str());
    let copies_of = |rule: &str| catalogue.get(rule).and_then(|rule| rule.copies);
    let single = copies.one_by_word();
    let found =
        sift(found, &mut sightings, |_, candidate| (single && copies_of(candidate.rule).is_some()).then_some(Why::OneCopy));
    let weigh = |function: FnRef, candidate: Candidate| {
        let candidate = at_start(eased(candidate, &reach, function), &reach, function);
        let accepted =
            accepted(world, sources, &candidate) || candidate.rule == unleased_job::RULE && wanted(world, sources, &candidate);
        Candidate { accepted, severity: if accepted { Some(Severity::Advice) } else { candidate.severity }, ..candidate }
    };
    let found: Vec<_> = found.into_iter().map(|(function, candidate)| (function, weigh(function, candidate))).collect();
    let kept = nearest(found.clone());
    // Advice speaks of a sound use with a known limit.
    let advice = |candidate: &Candidate| {
        candidate.severity.or(catalogue.get(candidate.rule).map(|rule| rule.severity)) == Some(Severity::Advice)
    };
    for (function, candidate) in found.iter().filter(|(_, candidate)| advice(candidate)) {
        match (candidate.accepted, candidate.eased) {
            (true, _) => sightings.left_out(*function, candidate, Why::Accepted),
            (_, Some(_)) => sightings.left_out(*function, candidate, Why::KeepsApart),
            _ => {}
        }
    }
    for (function, candidate) in found.iter().filter(|(_, candidate)| !advice(candidate)) {
        // Where the nearest function sees that it is a remark, the others do not see as much.
        if let Some((_, kept)) = kept.iter().find(|(_, kept)| same_fault(kept, candidate) && !advice(kept)) {
            sightings.fault(*function, candidate, kept, family(candidate));
        }
    }
    let reached = Reached::of(&reach, &nobodys);
    let findings: Vec<Finding> = kept
        .into_iter()
        .map(|(function, candidate)| {
            let admits = admitted(world, sources, &candidate);
            let (per, most) = (copies_of(candidate.rule), reached.at_most(function, &candidate));
            let shared = (family(&candidate) == "memory").then(|| shared_beside(world, flattener, function)).flatten();
            // That another of the same interface keeps it where all copies see it says what this one does not.
            let guess = candidate.confidence == Confidence::Low && shared.is_none();
            let candidate = match shared {
                Some(shared) => beside(candidate, &shared),
                None => candidate,
            };
            let mut found = weighed(finding(world, &reach, sources, catalogue, function, candidate), admits, copies, per);
            // A guess is worth a look, no alarm.
            if guess && (found.confidence == Confidence::Low || !admits) {
                found.severity = Severity::Advice;
            }
            // A limit that only two versions share for as long as one replaces the other is kept well enough.
            let one = || {
                per.and_then(|per| copies.of(&found.at.path, per)).is_some_and(|counted| counted.number == 1 && !counted.or_more)
            };
            if found.rule == "process-rate-limit" && one() {
                found.severity = Severity::Advice;
            }
            found.confidence = found.confidence.min(most);
            found
        })
        .collect();
    let asked = Asked { reach: &reach, place: &|spot| place(sources, spot), findings: &findings, copies };
    Detected { inventory: sightings.items(&asked), findings }
}

/// The candidates for which `why` finds no reason to leave them out; of the others the sightings keep the reason.
fn sift(
    found: Vec<(FnRef, Candidate)>,
    sightings: &mut Sightings,
    mut why: impl FnMut(FnRef, &Candidate) -> Option<Why>,
) -> Vec<(FnRef, Candidate)> {
    let mut kept = vec![];
    for (function, candidate) in found {
        match why(function, &candidate) {
            Some(why) => sightings.left_out(function, &candidate, why),
            None => kept.push((function, candidate)),
        }
    }
    kept
}

/// A candidate with the severity it has where it stands.
fn eased(mut candidate: Candidate, reach: &Reach, function: FnRef) -> Candidate {
    if candidate.eased.is_some() && !reach.entry_kinds(function).contains("job") {
        candidate.severity = candidate.eased;
    }
    candidate
}

/// A row looked for and then added or marked, where only the start leads to it: once in the life of an installation.
fn at_start(mut candidate: Candidate, reach: &Reach, function: FnRef) -> Candidate {
    let of_data = matches!(candidate.rule, "check-then-insert" | "unconditional-claim");
    if of_data && reach.entry_kinds(function).iter().eq(["startup"]) {
        candidate.message = candidate.message.replace("two requests at once", "two copies that start at once");
        candidate.severity = candidate.severity.map_or(Some(Severity::Warning), |known| Some(known.min(Severity::Warning)));
        candidate.confidence = candidate.confidence.min(Confidence::Medium);
    }
    candidate
}

/// A fault of what a process keeps, where the project offers the same from a store that all copies share: whoever runs copies has the
/// choice.
fn beside(mut candidate: Candidate, shared: &str) -> Candidate {
    candidate.severity = Some(Severity::Warning);
    candidate.message = format!("{}; `{shared}` offers the same from a store that all copies share", candidate.message);
    candidate.at_most(Confidence::Low)
}

/// What the detectors say of one function.
fn judged(world: &World<'_>, flattener: &Flattener<'_>, flat: &Flat) -> Judged {
    let mut found = Judged::default();
    configured::detect(world, flat.root, &mut found);
    let speaks =
        |event: &FlatEvent| !matches!(event.what, What::Nothing) || matches!(event.act, Act::Write { .. } | Act::Enter { .. });
    if !flat.events.iter().any(speaks) && !decorated(world, flat.root) {
        return found;
    }
    let view = View::new(world, flat);
    process_lock::detect(&view, &mut found);
    process_guard::detect(&view, &mut found);
    process_counter::detect(&view, &mut found);
    limiter::detect(&view, flattener, &mut found);
    unleased_job::detect(&view, flattener, &mut found);
    shared_lock::detect(&view, &mut found);
    lease::detect(&view, flattener, &mut found);
    lock_map::detect(&view, &mut found);
    host_lock::detect(&view, &mut found);
    refresh_stampede::detect(&view, &mut found);
    data::detect(&view, &mut found);
    early_release::detect(&view, &mut found.faults);
    transaction_held::detect(&view, &mut found.faults);
    stale_read::detect(&view, &mut found.faults);
    wrong_row::detect(&view, &mut found.faults);
    migration::detect(&view, &mut found.faults);
    version::detect(&view, &mut found);
    one_time::detect(&view, &mut found);
    found.faults = found.faults.into_iter().map(|candidate| of_guards(&view, candidate)).collect();
    found
}

fn decorated(world: &World<'_>, function: FnRef) -> bool {
    world.tree.facts(function).is_some_and(|facts| !facts.decorators.is_empty())
}

/// Each fault once: seen from the function nearest to it; then one finding for one rule at one place, the surest.
fn nearest(candidates: Vec<(FnRef, Candidate)>) -> Vec<(FnRef, Candidate)> {
    let mut by_fault: HashMap<(&str, Spot, Spot), (FnRef, Candidate)> = HashMap::new();
    let mut sorted = candidates;
    sorted.sort_by(|(left, a), (right, b)| (a.distance, left, a.primary).cmp(&(b.distance, right, b.primary)));
    for (function, candidate) in sorted {
        let (cause, work) = candidate.places();
        by_fault.entry((candidate.rule, cause, work)).or_insert((function, candidate));
    }
    let mut faults: Vec<(FnRef, Candidate)> = by_fault.into_values().collect();
    faults.sort_by(|(_, a), (_, b)| {
        let order = |one: &Candidate| (one.distance, std::cmp::Reverse(one.confidence), one.places(), one.primary);
        order(a).cmp(&order(b))
    });
    let mut kept: Vec<(FnRef, Candidate)> = vec![];
    for (function, candidate) in faults {
        let twin = kept.iter_mut().find(|(_, other)| other.rule == candidate.rule && other.of_one_decision(&candidate));
        if let Some((_, twin)) = twin {
            twin.add(Role::Call, candidate.primary, "this comes to it too".to_owned());
            continue;
        }
        let known = kept.iter_mut().find(|(_, other)| {
            other.rule == candidate.rule
                && (other.primary == candidate.primary
                    || other.places().0 == candidate.places().0 && other.distance <= candidate.distance && other.distance == 0)
                || other.of_one_lock(&candidate)
        });
        match known {
            // What is only handed in here is seen where it is handed in.
            Some((_, known)) if known.confidence == Confidence::Low && known.rule == candidate.rule => {
                known.confidence = candidate.confidence;
            }
            Some(_) => {}
            None => kept.push((function, candidate)),
        }
    }
    kept
}

/// Whether a fault is told by the finding of another.
fn same_fault(kept: &Candidate, other: &Candidate) -> bool {
    kept.rule == other.rule && (kept.primary == other.primary || kept.places().0 == other.places().0)
        || kept.of_one_lock(other)
        || kept.rule == other.rule && kept.of_one_decision(other)
}

fn finding(
    world: &World<'_>,
    reach: &Reach,
    sources: &[&Source],
    catalogue: &Catalogue,
    function: FnRef,
    candidate: Candidate,
) -> Finding {
    let place = |spot: Spot| place(sources, spot);
    let mut trace: Vec<Hop> = vec![];
    let mut endpoint = None;
    if let Some((entry, way)) = reach.way_in(function)
        && !candidate.trace.iter().any(|(role, _, _)| *role == Role::Entry)
    {
        trace.push(Hop { at: place(entry.at), role: Role::Entry, note: entry_note(entry).to_owned() });
        trace.extend(way.into_iter().map(|spot| Hop { at: place(spot), role: Role::Call, note: "calls on".to_owned() }));
        endpoint = (entry.kind == "http").then(|| Endpoint {
            method: entry.route.method.clone(),
            path: entry.route.path.clone(),
            fields: body_fields(world.tree, entry.handler),
        });
    }
    trace.extend(candidate.trace.iter().map(|(role, spot, note)| Hop { at: place(*spot), role: *role, note: note.clone() }));
    let rule = catalogue.get(candidate.rule);
    let keyless = rule.and_then(|rule| rule.help_keyless.clone()).filter(|_| candidate.keyless);
    let in_its_words = || {
        let mut libraries = candidate.libraries.iter();
        libraries.find_map(|library| world.tree.packs(candidate.primary.file).fix(library, candidate.rule)).map(str::to_owned)
    };
    let help = keyless.or_else(in_its_words).or_else(|| rule.map(|rule| rule.help.clone())).unwrap_or_default();
    let severity = candidate.severity.or(rule.map(|rule| rule.severity)).unwrap_or(Severity::Warning);
    Finding {
        rule: candidate.rule.to_owned(),
        severity,
        confidence: candidate.confidence,
        message: candidate.message.clone(),
        at: place(candidate.primary),
        trace,
        endpoint,
        help,
        fingerprint: String::new(),
    }
}

/// Whether a file's own code, as it is loaded, only starts a command that does the work.
fn by_command(world: &World<'_>, reach: &Reach, function: FnRef, candidate: &Candidate) -> bool {
    let command = |at: FnRef| at.func != 0 && reach.entry(at).is_some_and(|entry| matches!(entry.kind.as_str(), "cli" | "test"));
    let functions = |at: Spot| world.tree.events_at(at).map(|(function, _, _)| function);
    function.func == 0 && candidate.trace.iter().any(|(_, at, _)| functions(*at).any(command))
}

/// Why what a candidate depends on is not so in a function.
fn unmet(only: &Only, world: &World<'_>, reach: &Reach, function: FnRef) -> Option<Why> {
    let led_by = |kinds: &[&str]| reach.way_in(function).is_some_and(|(entry, _)| kinds.contains(&entry.kind.as_str()));
    let entered = reach.entry(function);
    let (met, why) = match only {
        Only::AtStart => (led_by(&["startup"]), Why::NotServed),
        Only::FromStart => (led_by(&["startup", "main", "job"]), Why::OnRequest),
        Only::UnlessOnRequest => (!led_by(&["http", "rpc", "consumer"]), Why::OnRequest),
        Only::WhereEntered => (entered.is_some(), Why::CallersDecide),
        Only::WhereUncalled => (entered.is_none() && reach.callers(function).next().is_none(), Why::CallersDecide),
        Only::OffRequest => (entered.is_some() && !led_by(&["http", "rpc"]), Why::Transaction),
        Only::InRequest => (in_its_transaction(world, reach, function), Why::CallersDecide),
        Only::OutsideJobs => (entered.is_none_or(|entry| entry.kind != "job"), Why::SaidElsewhere),
        Only::Kept(factory) => (!used_up(world, reach, *factory), Why::MemoryOnly),
        // Asked of the whole tree, before.
        Only::Versioned(_) | Only::MadeUpElsewhere(_) => (true, Why::SaidElsewhere),
    };
    (!met).then_some(why)
}

/// Whether a request leads to a function in the transaction that a setting gives it: its handler does not go without.
fn in_its_transaction(world: &World<'_>, reach: &Reach, function: FnRef) -> bool {
    let Some((entry, _)) = reach.way_in(function).filter(|(entry, _)| entry.kind == "http") else { return false };
    let marks = world.tree.facts(entry.handler).map(|facts| &facts.decorators[..]).unwrap_or_default();
    !marks.iter().any(|(mark, _)| decorator(world.tree, mark, entry.handler.file).is_some_and(|meant| meant.flag("outside")))
}

fn entry_note(entry: &Entry) -> &'static str {
    match entry.kind.as_str() {
        "job" if entry.claimed => "a job starts this, in the copy that claims the run",
        "http" => "a request enters here",
        "consumer" => "a message enters here",
        "event" => "an event enters here",
        "rpc" => "a call from another service enters here",
        "job" => "a timer starts this, in every copy",
        "startup" | "main" => "every copy starts this",
        _ => "entered here",
    }
}

fn place(sources: &[&Source], spot: Spot) -> Place {
    let Some(source) = sources.get(spot.file as usize) else {
        return Place { path: String::new(), line: 1, end_line: 1, column: 1, end_column: 1 };
    };
    let (line, column) = source.lines.position(spot.span.start);
    let (end_line, end_column) = source.lines.position(spot.span.end.max(spot.span.start));
    Place { path: source.path.clone(), line, end_line, column, end_column }
}
