//! `process-guard` and `process-single-flight`: a set, map or flag of one process is tested before shared work and changed
//! around it.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::rc::Rc;

use super::candidate::Candidate;
use super::credential::{of_its_own, refreshes_credential};
use super::debounce::{either_way, keeps_out};
use super::effects::{Sureness, effect, fresh, harmless, harmless_again, reads, vague};
use super::process_counter::counts;
use super::reason::{Reason, Why};
use super::subject::{Judged, Kind, Subject};
use super::tests_of_state::{StateChange, StateTest, base, changes, is_state, tests_guarding, tests_of};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{ClassRef, FlatEvent, Holder, Lifetime, Op, Place, What};
use crate::rules::{Meaning, Scope, TypeKind};

const SINGLE_FLIGHT: &str = "process-single-flight";

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    let changes = changes(view);
    // A test speaks of the same holder, which lives as long.
    let mut lasting = changes.iter().filter(|change| !change.removes && view.lasts(&change.place)).peekable();
    if lasting.peek().is_none() {
        return;
    }
    let mut guards: Vec<Guarded> = vec![];
    for (index, event) in view.events() {
        let Some(sureness) = effect(view, event).filter(|_| !vague(view, event)) else { continue };
        let harmless = LazyCell::new(|| handed_or_harmless(view, index, event, sureness));
        if let Some((test, change)) = bracketed(view, &changes, index, event, sureness) {
            let told = match &*harmless {
                Some(reason) => Err(reason.clone()),
                None => Ok(candidate(view, &test, change, event, sureness)),
            };
            guard_of(view, &mut guards, test).tell(view, event, told);
            continue;
        }
        let tests = tests_guarding(view, event);
        let looked_up: Vec<Place> =
            tests.iter().filter(|test| test.absent == Some(false)).map(|test| test.place.clone()).collect();
        // Around what fills a memo, flags and times belong to the memo.
        let memo = !refreshes_credential(view, event) && tests.iter().any(|test| given_out(view, test));
        for test in tests {
            let Some(change) = changed_near(view, &changes, &test) else { continue };
            let asked = test.event.map_or(test.at, |index| view.event(index).at);
            let told = match harmless.clone().or_else(|| sound(view, &changes, &test, index, event)) {
                Some(reason) => {
                    // Callers may see less of what is kept.
                    if matches!(reason.why, Why::Memo | Why::OwnBuffer) {
                        found.cleared.push((asked, event.at));
                    }
                    Err(reason)
                }
                // Work that is done where the entry is there looks something up; it does not ask whether it was done.
                None if looked_up.contains(&test.place) => Err(Reason::new(Why::LooksUp)),
                None if either_way(view, &test, event) => {
                    found.cleared.push((asked, event.at));
                    Err(Reason::new(Why::EitherWay))
                }
                None if memo || worked_out_once(view, &changes, &test, event) => Err(Reason::new(Why::Memo)),
                None => Ok(candidate(view, &test, change, event, sureness)),
            };
            guard_of(view, &mut guards, test).tell(view, event, told);
        }
    }
    // What the library builds for a missing entry: one build per process.
    for (index, event) in view.events().filter(|(_, event)| event.meant(Meaning::Get).is_some_and(|meant| meant.flag("makes"))) {
        let Some(change) = changes.iter().find(|change| change.event == index && view.lasts(&change.place)) else { continue };
        let built = view.events().find(|(at, work)| {
            *at > index
                && work.hops.contains(&event.at)
                && refreshes_credential(view, work)
                && harmless(view, *at, work).is_none()
        });
        if let Some((_, work)) = built {
            let test = StateTest { place: change.place.clone(), event: Some(index), at: event.at, absent: Some(true) };
            let told = candidate(view, &test, change, work, effect(view, work).unwrap_or(Sureness::Presumed));
            guard_of(view, &mut guards, test).tell(view, work, Ok(told));
        }
    }
    // Tested and changed, around nothing that others see.
    let near: HashSet<u32> = lasting.map(|change| view.event(change.event).origin.0.file).collect();
    for (cond, asked) in (0..).zip(&view.flat.conds) {
        let depends = view.cond_depends(cond);
        if !near.contains(&asked.at.file) && !depends.iter().any(|index| near.contains(&view.event(*index).origin.0.file)) {
            continue;
        }
        for test in tests_of(view, cond).iter() {
            if changed_near(view, &changes, test).is_some() && listed(view, &test.place) {
                guard_of(view, &mut guards, test.clone());
            }
        }
    }
    for guard in guards {
        match guard.worst {
            Some(worst) => found.push(worst.about(guard.subject)),
            None => found.sound(guard.subject, guard.reasons),
        }
    }
}

/// Whether state that guards nothing is worth a line: a container, or a cell that is seen to last.
fn listed(view: &View<'_>, place: &Place) -> bool {
    match view.lifetime(place) {
        Lifetime::Process { sure: true } => is_state(view, place),
        Lifetime::Process { sure: false } => view.made(place).kind == TypeKind::State,
        Lifetime::Call => false,
    }
}

/// A piece of state that is tested and changed, and what was told of the work it guards.
struct Guarded {
    place: Place,
    subject: Subject,
    worst: Option<Candidate>,
    reasons: Vec<Reason>,
}

impl Guarded {
    fn tell(&mut self, view: &View<'_>, work: &FlatEvent, told: Result<Candidate, Reason>) {
        self.subject.add_work(view, work);
        match told {
            Err(reason) => self.reasons.push(reason),
            Ok(candidate) => {
                let rank = |candidate: &Candidate| (candidate.rule == SINGLE_FLIGHT, candidate.confidence);
                if self.worst.as_ref().is_none_or(|worst| rank(worst) < rank(&candidate)) {
                    self.worst = Some(candidate);
                }
            }
        }
    }
}

fn guard_of<'g>(view: &View<'_>, guards: &'g mut Vec<Guarded>, test: StateTest) -> &'g mut Guarded {
    let at = guards.iter().position(|guard| guard.place == test.place).unwrap_or_else(|| {
        let subject = match test.event {
            Some(event) => Subject::of(Kind::Guard, view.event(event)),
            None => Subject::at(Kind::Guard, test.at, 0),
        };
        let subject = subject.kept_in(view, &test.place);
        guards.push(Guarded { place: test.place, subject, worst: None, reasons: vec![] });
        guards.len() - 1
    });
    &mut guards[at]
}

/// The change that goes with a test, unless another rule speaks of such state: counts, and what is on this machine's disk.
fn changed_near<'c>(view: &View<'_>, changes: &'c [StateChange], test: &StateTest) -> Option<&'c StateChange> {
    let file = test.event.map_or(test.at.file, |index| view.event(index).origin.0.file);
    let near = |change: &StateChange| view.event(change.event).origin.0.file == file;
    let change = changes.iter().find(|change| !change.removes && change.place.same(&test.place) && near(change))?;
    (!counts_only(view, changes, test)
        && !only_reports(view, test)
        && !is_row(view, test, change)
        && !new_each_time(view, change))
    .then_some(change)
}

/// Why work is sound whatever guards it: a callback that nobody waits for hands on, and what is harmless twice is.
fn handed_or_harmless(view: &View<'_>, index: u32, event: &FlatEvent, sureness: Sureness) -> Option<Reason> {
    if sureness == Sureness::Opaque && !matches!(event.act, Act::Call { awaited: true, .. }) {
        return Some(Reason::of(view, Why::HandedOn, event));
    }
    if refreshes_credential(view, event) && of_its_own(view, event) {
        return Some(Reason::of(view, Why::OwnShare, event));
    }
    harmless_again(view, index, event)
}

/// Why work behind a test is sound that would do harm twice.
fn sound(view: &View<'_>, changes: &[StateChange], test: &StateTest, index: u32, event: &FlatEvent) -> Option<Reason> {
    if test.absent == Some(false) {
        return Some(Reason::new(Why::LooksUp));
    }
    if writes_over(view, event) {
        return Some(Reason::of(view, Why::Idempotent, event));
    }
    if is_worked_with(view, &test.place) {
        return Some(Reason::new(Why::Memo));
    }
    let memo = remembers(view, changes, test, index, event) && !refreshes_credential(view, event);
    memo.then(|| Reason::new(Why::Memo))
}

/// Whether a command puts into its place what does not depend on what is there: the second time leaves what the first left.
fn writes_over(view: &View<'_>, event: &FlatEvent) -> bool {
    event.kv().is_some_and(|kv| {
        let read = |value: &Value| view.flat.depends(value).iter().any(|at| reads(view.event(*at)));
        kv.over
            && !kv.only_new
            && !read(&kv.value)
            && event.call().is_none_or(|(_, args)| !args.iter().any(|(_, value)| read(value)))
    })
}

/// Whether a cell keeps an object whose methods are waited for: a client or a connection, made when it is first needed. That there
/// is none yet is no mark of work that was done.
fn is_worked_with(view: &View<'_>, place: &Place) -> bool {
    let (Holder::Field(ClassRef { file, .. }, _) | Holder::Variable(file, _)) = &place.holder else { return false };
    let Some(facts) = view.world.tree.files.get(*file as usize).filter(|_| view.made(place).kind == TypeKind::Plain) else {
        return false;
    };
    facts.functions.iter().flat_map(|function| &function.events).any(|event| match &event.act {
        Act::Call { callee: Value::Member(of, method), awaited: true, .. } => {
            // Waiting for a promise that is kept is no use of an object.
            let waits = matches!(&**method, "then" | "catch" | "finally");
            !waits && view.place(of).is_some_and(|own| own == *place)
        }
        _ => false,
    })
}

/// Whether what a test asks keeps what was read or worked out once: a memo, whose answer decides like what it keeps.
pub(super) fn is_memo(view: &View<'_>, changes: &[StateChange], test: &StateTest, index: u32, event: &FlatEvent) -> bool {
    remembers(view, changes, test, index, event) && !refreshes_credential(view, event)
}

/// A lock made by hand: state is asked, filled, and cleared again whatever happens, around work that the caller hands in.
fn bracketed<'c>(
    view: &View<'_>,
    changes: &'c [StateChange],
    index: u32,
    event: &FlatEvent,
    sureness: Sureness,
) -> Option<(StateTest, &'c StateChange)> {
    if event.detached || event.in_finally {
        return None;
    }
    // The work itself is not known here, or it is a lambda of this function that a helper runs.
    let handed_in = |change: &StateChange| {
        let helper = view.event(change.event).hops.first();
        sureness == Sureness::Opaque || helper.is_some() && helper == event.hops.first() && event.hops.len() > 1
    };
    changes
        .iter()
        .filter(|change| !change.removes && !counts(view, change) && change.event < index && handed_in(change))
        .find_map(|put| {
            let lasting = view.lasts(&put.place) && is_state(view, &put.place);
            let cleared = changes.iter().any(|other| {
                let clears = view.event(other.event);
                other.removes && other.event > index && clears.in_finally && other.place.same(&put.place)
            });
            if !lasting || !cleared {
                return None;
            }
            view.events().take_while(|(at, _)| *at < put.event).find_map(|(at, asked)| {
                let meant = asked.meant(Meaning::Get).or_else(|| asked.meant(Meaning::Test))?;
                let place = view.place(&meant.receiver).map(|place| base(&place)).filter(|place| place.same(&put.place))?;
                if !keeps_out(view, at, index) {
                    return None;
                }
                Some((StateTest { place, event: Some(at), at: asked.at, absent: None }, put))
            })
        })
}

/// A counter: another rule's business.
fn counts_only(view: &View<'_>, changes: &[StateChange], test: &StateTest) -> bool {
    let mut own = changes.iter().filter(|change| change.place.same(&test.place) && !change.removes).peekable();
    own.peek().is_some() && own.all(|change| counts(view, change))
}

/// Whether the state is a record of the database that this function saves: its fields are the row's, not the process's.
fn is_row(view: &View<'_>, test: &StateTest, change: &StateChange) -> bool {
    let is_entry = |value: &Value| view.place(value).is_some_and(|place| place.holder == test.place.holder);
    !(test.place.path.is_empty() && change.place.path.is_empty())
        && view.events().any(|(_, event)| {
            event
                .statement()
                .is_some_and(|statement| statement.op == Op::Save && statement.entity.as_ref().is_some_and(&is_entry))
        })
}

/// Whether an entry is put under a key that is made up for it: nobody else asks for it.
fn new_each_time(view: &View<'_>, change: &StateChange) -> bool {
    let event = view.event(change.event);
    match (&event.what, &event.act) {
        (What::Meant(meant), _) => meant.part("key").is_some_and(|key| fresh(view, key)),
        (_, Act::Write { place: Value::Index(_, key), .. }) => fresh(view, key),
        _ => false,
    }
}

/// State on this machine's disk is another rule's business.
fn only_reports(view: &View<'_>, test: &StateTest) -> bool {
    view.made(&test.place).scope == Scope::Host
}

/// Whether the state keeps what the work gave: a memo or a registry, which each copy may have for itself.
fn remembers(view: &View<'_>, changes: &[StateChange], test: &StateTest, index: u32, event: &FlatEvent) -> bool {
    let keeps = |change: &StateChange| {
        let depends = view.flat.depends(&change.value);
        if depends.contains(&index) {
            return true;
        }
        // The effect happens inside a call whose result is kept: by itself, or an object that holds what it started.
        let gives = |call: &FlatEvent| call.inlined && call.returns.iter().any(|(value, _)| *value == change.value);
        let handle = matches!(&change.value, Value::Object(..))
            && event.hops.iter().any(|hop| view.events().any(|(_, call)| call.at == *hop && gives(call)));
        if handle {
            return true;
        }
        depends.iter().any(|at| {
            let call = view.event(*at);
            let inside = event.hops.contains(&call.at) || event.within.contains(at);
            inside && !matches!(change.value, Value::Bool(_) | Value::Number(_))
        })
    };
    let own: Vec<&StateChange> = changes.iter().filter(|change| !change.removes && change.place.same(&test.place)).collect();
    given_out(view, test)
        || own.iter().any(|change| keeps(change) || !marks(view, test, change) && caches(view, change))
        || !own.iter().any(|change| marks(view, test, change))
            && own.iter().all(|change| matches!(change.value, Value::Function(_)) || lives_here(view, &change.value))
}

/// Whether what was found is what the function, or a function it calls, returns: a memo.
fn given_out(view: &View<'_>, test: &StateTest) -> bool {
    match test.event {
        Some(event) => {
            let given = view.known.given.get((), || Rc::new(given_events(view)));
            given.contains(&event) && view.event(event).meant(Meaning::Get).is_some()
        }
        None => view.known.given_places.get((), || Rc::new(given_places(view))).iter().any(|place| place.same(&test.place)),
    }
}

/// Whether the function, or one that it calls, returns what a piece of state keeps: what is not there is made, and every copy makes
/// one for itself.
pub(super) fn gives_out(view: &View<'_>, place: &Place) -> bool {
    let of_it = |meant: &crate::program::Meant| view.place(&meant.receiver).is_some_and(|at| at.same(place));
    let given = view.known.given.get((), || Rc::new(given_events(view)));
    given.iter().any(|index| view.event(*index).meant(Meaning::Get).is_some_and(of_it))
        || view.known.given_places.get((), || Rc::new(given_places(view))).iter().any(|at| at.same(place))
}

/// What the function and those it calls return, and what that is behind calls that only hand it on.
fn returned(view: &View<'_>, visit: &mut dyn FnMut(&Value)) {
    let inner = view.flat.events.iter().filter(|event| event.inlined).flat_map(|event| &event.returns);
    for (value, _) in view.flat.returns.iter().chain(inner) {
        value.walk(visit);
        let behind = passes(view, value, 0);
        if behind != *value {
            behind.walk(visit);
        }
    }
}

fn given_events(view: &View<'_>) -> HashSet<u32> {
    let mut given = HashSet::new();
    returned(view, &mut |part| {
        if let Value::Flat(index) = part {
            given.insert(*index);
        }
    });
    given
}

fn given_places(view: &View<'_>) -> Vec<Place> {
    let mut given: Vec<Place> = vec![];
    returned(view, &mut |part| {
        if matches!(part, Value::Member(..) | Value::Module(..)) {
            given.extend(view.place(part).filter(|place| !given.contains(place)));
        }
    });
    given
}

/// Whether the state is an answer that a predicate works out once and keeps.
fn worked_out_once(view: &View<'_>, changes: &[StateChange], test: &StateTest, work: &FlatEvent) -> bool {
    let gives_it = |value: &Value| {
        let cell = matches!(value, Value::Member(..) | Value::Module(..));
        cell && view.place(value).is_some_and(|place| place.same(&test.place))
    };
    view.decided_by(work).iter().map(|at| view.event(*at)).any(|asked| {
        let mut own = changes.iter().filter(|change| !change.removes && change.place.same(&test.place)).peekable();
        asked.inlined
            && asked.returns.iter().any(|(value, _)| value.any(&gives_it))
            && own.peek().is_some()
            && own.all(|change| view.event(change.event).hops.contains(&asked.at))
    })
}

/// What a value is behind calls that only hand it on.
fn passes(view: &View<'_>, value: &Value, depth: u32) -> Value {
    let at = match value {
        Value::Flat(index) if depth < 8 => view.event(*index).meant(Meaning::Pass),
        _ => None,
    };
    match at {
        Some(meant) => passes(view, meant.part("of").unwrap_or(&meant.receiver), depth + 1),
        None => value.clone(),
    }
}

/// Whether what is put is the very key that the test asks for: a mark on it, whatever the key was read from.
fn marks(view: &View<'_>, test: &StateTest, change: &StateChange) -> bool {
    let key = |index: u32| match &view.event(index).what {
        What::Meant(meant) => meant.part("key"),
        _ => None,
    };
    let asked = test.event.and_then(key);
    asked.is_some() && asked == key(change.event) && asked == Some(&change.value)
}

/// Whether what is put was read elsewhere: a copy of shared data kept for a while.
fn caches(view: &View<'_>, change: &StateChange) -> bool {
    view.flat.depends(&change.value).iter().any(|at| reads(view.event(*at)))
}

/// Whether a value is an object of this process: a client, a socket, a timer.
fn lives_here(view: &View<'_>, value: &Value) -> bool {
    view.flat.depends(value).iter().any(|at| {
        let event = view.event(*at);
        let ty = view.world.tree.ty(&Value::Result(event.origin.0, event.origin.1), event.origin.0.file);
        match &ty {
            crate::program::Ty::Instance(_) => true,
            crate::program::Ty::Lib { path, .. } => matches!(
                view.world.tree.packs(event.origin.0.file).kind(path),
                TypeKind::Local | TypeKind::Pool | TypeKind::Connection | TypeKind::Lock
            ),
            _ => false,
        }
    })
}

/// Whether a mark is asked for again and again until it is free, and taken away after: a lock made by hand.
fn waited_for(view: &View<'_>, test: &StateTest) -> bool {
    let asked = test.event.and_then(|index| view.event(index).in_loop);
    let waits = |event: &FlatEvent| event.meant(Meaning::Sleep).is_some() && event.in_loop == asked;
    asked.is_some()
        && view.events().any(|(_, event)| waits(event))
        && changes(view).iter().any(|change| change.removes && change.place.same(&test.place))
}

/// Whether what a mark is asked for is waited for, again and again.
fn waits_its_turn(view: &View<'_>, test: &StateTest) -> bool {
    let asked = test.event.and_then(|index| view.event(index).in_loop);
    let waits = |event: &FlatEvent| {
        let of_it = |meant: &crate::program::Meant| view.place(&meant.receiver).is_some_and(|place| place.same(&test.place));
        matches!(event.act, Act::Call { awaited: true, .. }) && event.meant(Meaning::Get).is_some_and(of_it)
    };
    asked.is_some() && view.events().any(|(_, event)| event.in_loop == asked && waits(event))
}

fn candidate(view: &View<'_>, test: &StateTest, change: &StateChange, event: &FlatEvent, sureness: Sureness) -> Candidate {
    let what = view.describe(event);
    let tested = test.event.map(|index| view.event(index));
    let cause = tested.unwrap_or(event);
    let (rule, message) = if refreshes_credential(view, event) {
        (
            SINGLE_FLIGHT,
            format!(
                "one refresh per process: what is in flight is known to this copy only, so every copy calls {what}, and each refresh can end the token another copy just got"
            ),
        )
    } else if waited_for(view, test) {
        ("process-lock", format!("a lock of one process is held around {what}: other copies do not wait for it"))
    } else {
        (
            "process-guard",
            format!("what was already done is remembered by one process: every copy passes this test once and does {what}"),
        )
    };
    let mut candidate = Candidate::new(view, rule, cause, event, message);
    if tested.is_none() {
        candidate.primary = test.at;
        candidate.cause = test.at;
    }
    if tested.is_some_and(|tested| !tested.hops.is_empty()) {
        candidate.primary = view.in_root(cause);
    }
    if let Some((file, span)) = view.made(&test.place).at {
        candidate.add(Role::State, crate::program::Spot { file, span }, "kept by this process".to_owned());
    }
    match tested {
        Some(tested) => candidate.hop(Role::Check, tested, "tested here"),
        None => candidate.add(Role::Check, test.at, "tested here".to_owned()),
    }
    let changed = view.event(change.event);
    if !matches!(changed.act, Act::Exit { .. }) {
        candidate.hop(Role::State, changed, "changed here");
    }
    candidate.hop(Role::Effect, event, what);
    let confidence = match sureness {
        // A lock that others wait for is one, whatever is done under it.
        Sureness::Opaque if rule != "process-lock" && !waits_its_turn(view, test) => Confidence::Low,
        Sureness::Opaque => Confidence::Medium,
        Sureness::Presumed => Confidence::Medium,
        Sureness::Known => Confidence::High,
    };
    candidate.of_state(&test.place).at_most(confidence)
}
