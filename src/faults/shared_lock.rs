//! Locks in a key-value store that do not hold: `lock-without-expiry`, `lock-split-expiry`, `lock-check-then-set`,
//! `lock-blind-release`, `lock-shared-token`, `lock-not-released`, `lock-result-ignored`.

use super::candidate::Candidate;
use super::debounce::{cost, ends_soon};
use super::effects::{decided_in_itself, effect, idempotent};
use super::exists::says_exists;
use super::fails_open::{answered_as_taken, caught_as_taken, fails_open};
use super::negative::says_it_failed;
use super::not_released::not_released;
use super::pairs::{
    Taken, as_a_rule, before_a_deadline, commands, frees, is_mark, is_spent, later, outlasts, outlives_its_run, passed_by,
};
use super::process_counter::is_time;
use super::reason::{Reason, Why};
use super::subject::{Judged, Kind, Subject};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Guard, Value};
use crate::program::{FlatEvent, Kv};
use crate::rules::{CommandKind, Meaning, Scope, ScriptKind, Severity, words};
use crate::syntax::BinaryOp;

/// Words in a key or a name that say lock.
const LOCK_WORDS: &[&str] = &[
    "lock",
    "locks",
    "locked",
    "mutex",
    "lease",
    "leases",
    "leader",
    "semaphore",
    "sem",
    "busy",
    "running",
    "processing",
    "acquire",
    "lck",
    "inflight",
    "guard",
    "owner",
    "election",
    "exclusive",
    "hold",
    "claim",
];

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    for region in view.regions.iter().filter(|region| region.scope == Scope::Cluster) {
        let work = view.events().filter(|(index, event)| region.holds(*index, event) && effect(view, event).is_some());
        let subject = Subject::lock(view, Kind::SharedLock, region).around(view, work.map(|(_, event)| event));
        let frees = view.events().filter(|(index, event)| *index > region.acquire && event.meant(Meaning::Release).is_some());
        let frees: Vec<(u32, &FlatEvent)> = frees.filter(|_| region.release.is_some()).collect();
        match not_released(view, (region.acquire, view.event(region.acquire)), &frees) {
            Some(candidate) => found.push(candidate.at_most(Confidence::Medium).about(subject)),
            None => found.sound(subject, vec![Reason::new(Why::LibraryLock)]),
        }
    }
    let commands = commands(view);
    for taken in commands.iter().filter(|taken| takes(taken.kv)) {
        let rest = later(view, taken, &commands);
        let deletes = rest.iter().filter(|other| other.kv.op == CommandKind::Delete).max_by_key(|other| other.index);
        let owner_checked = rest.iter().any(|other| other.kv.script == Some(ScriptKind::ReleaseIfOwner));
        let freed = rest.iter().any(|other| other.kv.op == CommandKind::Delete && as_a_rule(view, taken, &rest, other));
        if is_mark(view, taken, &rest) || !is_lock(view, taken.event, taken.kv, freed || owner_checked) {
            let claim = subject(view, taken, None);
            if !claim.work.is_empty() {
                found.sound(claim, vec![Reason::of(view, Why::Claim, taken.event)]);
            }
            continue;
        }
        let (subject, faults) = (subject(view, taken, rest.last().map(|last| last.index)), found.faults.len());
        expiry(view, taken, &rest, found);
        if let Some(delete) = deletes {
            blind(view, taken, delete, rest.iter().any(|other| other.kv.op == CommandKind::Expire), found);
        } else if same_for_all(view, &taken.kv.value)
            && (owner_checked || view.world.owner_checked.contains(&taken.event.at.file))
        {
            let mut candidate = Candidate::new(
                view,
                "lock-shared-token",
                taken.event,
                taken.event,
                "every holder writes the same value into the lock, so the release cannot tell whose it is".to_owned(),
            );
            candidate.hop(Role::Acquire, taken.event, "the token is the same for everyone");
            found.push(sure(candidate, taken.kv));
        }
        released(view, taken, &rest, found);
        ignored(view, taken, found);
        if found.faults.len() == faults {
            found.sound(subject, vec![Reason::new(if owner_checked { Why::Lease } else { Why::Expires })]);
            continue;
        }
        found.faults[faults..].iter_mut().for_each(|fault| fault.subject = Some(subject.clone()));
    }
    check_then_set(view, &commands, found);
}

/// A lock under its key, with the work that its answer decides, or that stands before its `last` use.
fn subject(view: &View<'_>, taken: &Taken<'_>, last: Option<u32>) -> Subject {
    let key = view.world.tree.settled(&taken.kv.key);
    let name = key.text().or_else(|| view.world.tree.name_of(&view.flat.plain(&taken.kv.key)));
    let work = view.events().filter(|(index, event)| {
        let held = || last.is_some_and(|last| *index < last) || view.decided_by(event).contains(&taken.index);
        *index > taken.index && event.kv().is_none() && effect(view, event).is_some() && held()
    });
    Subject::of(Kind::SharedLock, taken.event).named(name.unwrap_or_default()).around(view, work.map(|(_, event)| event))
}

fn sure(candidate: Candidate, kv: &Kv) -> Candidate {
    candidate.at_most(if kv.sure { Confidence::High } else { Confidence::Medium })
}

/// Whether two keys are the same, by their text or by what they are made of.
pub(super) fn same_key(view: &View<'_>, left: &Value, right: &Value) -> bool {
    let text = |value: &Value| view.world.tree.settled(value).text();
    match (text(left), text(right)) {
        (Some(left), Some(right)) => left == right,
        (None, None) => {
            left == right && *left != Value::Unknown
                || view.world.tree.name_of(left).is_some_and(|name| Some(name) == view.world.tree.name_of(right))
        }
        _ => false,
    }
}

/// Whether a command takes a key only where nobody has it.
pub(super) fn takes(kv: &Kv) -> bool {
    kv.op == CommandKind::Set && kv.only_new || kv.script == Some(ScriptKind::Acquire)
}

fn says_lock(view: &View<'_>, taken: &Taken<'_>) -> bool {
    is_lock_key(view, taken.event, taken.kv)
}

/// Whether a key, or what stands around the command on it, is named like a lock.
pub(super) fn is_lock_key(view: &View<'_>, event: &FlatEvent, kv: &Kv) -> bool {
    let mut names = view.names_around(event);
    names.extend(view.world.tree.settled(&kv.key).text());
    names.extend(view.world.tree.name_of(&view.flat.plain(&kv.key)));
    names.iter().flat_map(|name| words(name)).any(|word| LOCK_WORDS.contains(&word.as_str()))
}

/// Whether a key that is set once is a lock, not a mark kept for good on purpose.
pub(super) fn is_lock(view: &View<'_>, event: &FlatEvent, kv: &Kv, freed: bool) -> bool {
    freed || is_lock_key(view, event, kv)
}

fn constant(view: &View<'_>, value: &Value) -> bool {
    matches!(view.world.tree.settled(&passed(view, value)), Value::Text(_) | Value::Number(_) | Value::Bool(_))
}

/// A constant that stands in for a token the caller could have given and does not.
fn constant_by_default(view: &View<'_>, value: &Value) -> bool {
    let Value::Any(options) = passed(view, value) else { return false };
    let left_out = |option: &Value| match option {
        Value::Null => true,
        Value::Member(of, name) => match &**of {
            Value::Object(_, entries) => !entries.iter().any(|(key, _)| key == name || &**key == "..."),
            Value::Null => true,
            _ => false,
        },
        _ => false,
    };
    let given: Vec<&Value> = options.iter().filter(|option| !left_out(option)).collect();
    matches!(given[..], [only] if constant(view, only)) && given.len() < options.len()
}

/// The value behind calls that only pass it on.
pub(super) fn passed(view: &View<'_>, value: &Value) -> Value {
    match value {
        Value::Flat(index) => match view.event(*index).meant(Meaning::Pass) {
            Some(meant) => passed(view, meant.part("of").unwrap_or(&meant.receiver)),
            None => value.clone(),
        },
        other => other.clone(),
    }
}

/// Whether every thread of a copy, or every copy, writes the same token: a constant, or a module's variable made without
/// anything random.
fn same_for_all(view: &View<'_>, value: &Value) -> bool {
    if constant(view, value) || constant_by_default(view, value) {
        return true;
    }
    let tree = view.world.tree;
    let value = passed(view, value);
    let Value::Module(..) = tree.definition(&value) else { return false };
    let settled = tree.settled(&tree.definition(&value));
    !matches!(settled, Value::Module(..)) && !random(tree, &settled, 0)
}

/// Whether a module's value is made from something random.
pub(super) fn random(tree: &crate::program::Tree, value: &Value, depth: u32) -> bool {
    depth < 6
        && value.any(&|part| match part {
            Value::Result(function, event) => {
                let Some(Act::Call { callee, args, .. }) =
                    tree.facts(*function).and_then(|facts| facts.events.get(*event as usize)).map(|event| &event.act)
                else {
                    return false;
                };
                let fresh =
                    crate::program::meaning(tree, callee, args, function.file).is_some_and(|meant| meant.is == Meaning::Fresh);
                fresh || random(tree, callee, depth + 1) || args.iter().any(|(_, value)| random(tree, value, depth + 1))
            }
            _ => false,
        })
}

fn expiry(view: &View<'_>, taken: &Taken<'_>, rest: &[&Taken<'_>], found: &mut Judged) {
    if taken.kv.ttl.is_some() {
        return;
    }
    let later = rest.iter().find(|other| other.kv.op == CommandKind::Expire);
    let (rule, message) = match later {
        Some(_) => (
            "lock-split-expiry",
            "the lock is taken and given an end in two commands: a crash between them leaves it taken for good",
        ),
        None => ("lock-without-expiry", "the lock has no end: if its holder crashes, nobody can ever take it again"),
    };
    let mut candidate = Candidate::new(view, rule, taken.event, taken.event, message.to_owned());
    candidate.hop(Role::Acquire, taken.event, "taken without an expiry");
    if let Some(later) = later {
        candidate.hop(Role::Acquire, later.event, "given an expiry only here");
    }
    found.push(sure(candidate, taken.kv));
}

fn blind(view: &View<'_>, taken: &Taken<'_>, delete: &Taken<'_>, expires_later: bool, found: &mut Judged) {
    let message = if owner_compared(view, taken, delete) {
        "the owner is compared and the lock deleted in two commands: between them the lease can end and another holder's lock is deleted"
    } else {
        "the lock is deleted without asking whose it is: after the lease ran out this frees another holder's lock"
    };
    // It is another's only where the lease can end: without an end, another fault is worse.
    if taken.kv.ttl.is_none() && taken.kv.script.is_none() && !expires_later || outlives_its_run(view, taken) {
        return;
    }
    let mut candidate = Candidate::new(view, "lock-blind-release", delete.event, taken.event, message.to_owned());
    candidate.hop(Role::Acquire, taken.event, "taken here");
    candidate.hop(Role::Release, delete.event, "deleted here");
    if is_spent(view, taken.kv) || outlasts(view, taken, delete) || before_a_deadline(view, taken, delete) {
        candidate.severity = Some(Severity::Advice);
    }
    found.push(sure(candidate, taken.kv));
}

/// Whether what the key holds is read after the taking and compared, as equal or not, before the lock is deleted.
fn owner_compared(view: &View<'_>, taken: &Taken<'_>, delete: &Taken<'_>) -> bool {
    let of_key = |index: &u32| {
        let reads = |kv: &Kv| kv.op == CommandKind::Get && same_key(view, &kv.key, &taken.kv.key);
        *index > taken.index && view.event(*index).kv().is_some_and(reads)
    };
    let read = |value: &Value| view.flat.depends(value).iter().any(of_key);
    let compares = |value: &Value| {
        value.any(&|part| match part {
            Value::Op(BinaryOp::Equal | BinaryOp::NotEqual, pair) => {
                pair.iter().any(read) && !pair.iter().any(|side| constant(view, side) && !constant(view, &taken.kv.value))
            }
            _ => false,
        })
    };
    let conds = delete.event.guards.iter().filter_map(|guard| view.flat.conds.get(guard.cond as usize));
    conds.into_iter().any(|cond| compares(&cond.value))
}

/// A way out between taking and freeing.
fn released(view: &View<'_>, taken: &Taken<'_>, rest: &[&Taken<'_>], found: &mut Judged) {
    let frees: Vec<(u32, &FlatEvent)> =
        rest.iter().filter(|other| frees(other.kv)).map(|other| (other.index, other.event)).collect();
    if let Some(candidate) = not_released(view, (taken.index, taken.event), &frees) {
        found.push(sure(candidate, taken.kv).at_most(Confidence::Medium));
    }
}

/// The answer is not looked at, or a failing store counts as taken.
fn ignored(view: &View<'_>, taken: &Taken<'_>, found: &mut Judged) {
    let work = view.events().find(|(index, event)| *index > taken.index && effect(view, event).is_some());
    let unused = taken.event.dropped && !view.flat.used(taken.index) && !answers_to_a_callback(view, taken.event);
    let by_value = answered_as_taken(view, taken);
    let open = fails_open(view, taken).or(by_value.and(work.map(|(_, event)| event)));
    let Some((_, work)) = work.filter(|_| unused || open.is_some()).or(open.map(|event| (0, event))) else { return };
    let message = if unused {
        "nobody looks at whether the lock was taken: the work goes on when it was not"
    } else {
        "a store that is down counts as a lock that was taken: then every copy does the work"
    };
    let mut candidate = Candidate::new(view, "lock-result-ignored", taken.event, work, message.to_owned());
    candidate.hop(Role::Acquire, taken.event, "taken here");
    if let Some(at) = by_value {
        candidate.add(Role::Check, at, "an error of the store counts as taken".to_owned());
    } else if let Some(open) = open {
        if let Some(at) = caught_as_taken(view, taken) {
            candidate.add(Role::Check, at, "an error of the store counts as taken".to_owned());
        }
        candidate.hop(Role::Check, open, "goes on without the lock");
    }
    candidate.hop(Role::Effect, work, view.describe(work));
    found.push(sure(candidate, taken.kv));
}

/// Whether a command gives its answer to a function that it is handed, and that asks for it.
fn answers_to_a_callback(view: &View<'_>, event: &FlatEvent) -> bool {
    let tree = view.world.tree;
    let Some((_, [.., (None, Value::Function(callback))])) = event.call() else { return false };
    let Some(facts) = tree.facts(*callback) else { return false };
    let answer = |part: &Value| matches!(part, Value::Param(of, at) if of == callback && *at > 0);
    facts.conds.iter().any(|cond| cond.value.any(&answer))
        || facts.events.iter().any(|event| {
            let mut used = false;
            event.act.each_value(&mut |value| used |= value.any(&answer));
            used
        })
}

/// GET, then SET: two callers both find the key free.
fn check_then_set(view: &View<'_>, commands: &[Taken<'_>], found: &mut Judged) {
    for set in commands.iter().filter(|other| other.kv.op == CommandKind::Set && !other.kv.only_new) {
        let deciding = view.decided_by(set.event);
        let read = commands.iter().find(|other| {
            other.index < set.index
                && other.kv.op == CommandKind::Get
                && deciding.contains(&other.index)
                && same_key(view, &other.kv.key, &set.kv.key)
        });
        let Some(read) = read else { continue };
        // What it holds is part of another key: it says where the record is.
        let points = || {
            let elsewhere = commands.iter().filter(|other| other.index != set.index && other.kv.op == CommandKind::Set);
            !constant(view, &set.kv.value) && elsewhere.into_iter().any(|other| other.kv.key.any(&|part| *part == set.kv.value))
        };
        if is_record(view, read, set) || used_alike(view, read, set) || points() {
            continue;
        }
        let freed = commands.iter().any(|other| frees(other.kv) && same_key(view, &other.kv.key, &set.kv.key));
        // A constant marks; anything else is a lock only where it is named or freed like one.
        let leads_to_work = || {
            view.events().any(|(index, event)| {
                let works = index > read.index && event.kv().is_none() && effect(view, event).is_some();
                let decided = || freed || view.decided_by(event).contains(&read.index);
                works && decided() && idempotent(view, event).is_none() && decided_in_itself(view, event).is_none()
            })
        };
        let marks =
            (constant(view, &set.kv.value) || is_time(view, &set.kv.value)) && !handed_on(view, read.index) && leads_to_work();
        if !(marks || lock_value(view, &set.kv.value) && (freed || says_lock(view, set))) || worked_with(view, read.index) {
            continue;
        }
        let decided = view.regions.iter().any(|region| region.scope == Scope::Cluster && region.holds(set.index, set.event));
        // Whoever sets it has taken it in between.
        let taken = commands.iter().any(|other| {
            other.index < set.index
                && takes(other.kv)
                && same_key(view, &other.kv.key, &set.kv.key)
                && (deciding.contains(&other.index) || passed_by(view, set.index, other.index))
        });
        if decided || taken {
            continue;
        }
        if says_it_failed(view, read.index, set.index) {
            found.sound(subject(view, set, None), vec![Reason::new(Why::CameToNothing)]);
            continue;
        }
        let mut candidate = Candidate::new(
            view,
            "lock-check-then-set",
            read.event,
            set.event,
            "the lock is looked at and then set in two commands: two callers both find it free".to_owned(),
        );
        candidate.hop(Role::Check, read.event, "looked at here");
        candidate.hop(Role::Acquire, set.event, "set here");
        candidate.subject = Some(subject(view, set, None));
        let brief = marks && !freed && ends_soon(view, set.event, set.kv);
        candidate.eased = if brief { cost(view, read.index) } else { None };
        // A mark that nobody frees is a lock by its use only.
        let clear = if freed { Confidence::High } else { Confidence::Medium };
        found.push(sure(candidate, set.kv).at_most(clear));
        let delete = commands
            .iter()
            .filter(|other| {
                other.index > set.index && other.kv.op == CommandKind::Delete && same_key(view, &other.kv.key, &set.kv.key)
            })
            .max_by_key(|other| other.index);
        if let Some(delete) = delete {
            let faults = found.faults.len();
            blind(view, set, delete, false, found);
            found.faults[faults..].iter_mut().for_each(|fault| fault.subject = Some(subject(view, set, None)));
        }
    }
}

/// Whether what is read and set is a record, not a lock: it is written only where it was found, or made of what was read.
fn is_record(view: &View<'_>, read: &Taken<'_>, set: &Taken<'_>) -> bool {
    let found = |guard: &Guard| {
        let cond = view.flat.conds.get(guard.cond as usize);
        cond.and_then(|cond| says_exists(view, &cond.value, read.index)) == Some(guard.holds)
    };
    set.event.guards.iter().any(found) || view.flat.made_of(&set.kv.value).contains(&read.index)
}

/// Whether what a read found and what is set where it found nothing are used alike, as a cache's values are: one or the other goes on.
fn used_alike(view: &View<'_>, read: &Taken<'_>, set: &Taken<'_>) -> bool {
    // Who has it is asked, not worked with.
    let asks = |part: &Value| matches!(part, Value::Op(BinaryOp::Equal | BinaryOp::NotEqual, _));
    let either = |value: &Value| {
        !value.any(&asks)
            && value.any(&|part| match part {
                Value::Any(options) => options.contains(&Value::Flat(read.index)) && options.contains(&set.kv.value),
                Value::Choose(parts) => parts[1..].contains(&Value::Flat(read.index)) && parts[1..].contains(&set.kv.value),
                _ => false,
            })
    };
    let mut found = view.flat.returns.iter().any(|(value, _)| either(value));
    for (_, event) in view.events() {
        event.act.each_value(&mut |value| found = found || either(value));
        found = found || event.returns.iter().any(|(value, _)| either(value));
    }
    found
}

/// Whether what a read found is used as a value, as a cache's is, and not only tested.
fn handed_on(view: &View<'_>, read: u32) -> bool {
    let carries = |value: &Value| value.any(&|part| *part == Value::Flat(read));
    view.flat.returns.iter().any(|(value, _)| carries(value))
        || view.events().any(|(_, event)| event.call().is_some_and(|(_, args)| args.iter().any(|(_, value)| carries(value))))
}

/// Whether what a read found is reckoned with, as a time or a count is: more than whether it is there matters.
fn worked_with(view: &View<'_>, read: u32) -> bool {
    let reckons = |value: &Value| {
        value.any(&|part| match part {
            Value::Op(BinaryOp::Equal | BinaryOp::NotEqual, _) => false,
            Value::Op(_, pair) => pair.iter().any(|side| view.flat.depends(side).contains(&read)),
            _ => false,
        })
    };
    let gives = |returns: &[(Value, Vec<Guard>)]| returns.iter().any(|(value, _)| reckons(value));
    view.flat.conds.iter().any(|cond| reckons(&cond.value))
        || gives(&view.flat.returns)
        || view.events().any(|(_, event)| gives(&event.returns))
}

/// Whether a value marks a lock: a constant, a random token, a time or a name of the holder; not something read or worked out.
fn lock_value(view: &View<'_>, value: &Value) -> bool {
    if constant(view, value) {
        return true;
    }
    let depends = view.flat.depends(value);
    !depends.iter().any(|index| {
        let event = view.event(*index);
        event.statement().is_some()
            || event.kv().is_some()
            || matches!(event.what, crate::program::What::Presumed(_))
            || event.meant(Meaning::Effect).is_some()
            || event.call().is_some_and(|(_, args)| {
                args.iter().any(|(_, value)| matches!(value, Value::Flat(inner) if view.event(*inner).statement().is_some()))
            })
            || matches!(event.act, Act::Call { awaited: true, .. })
    })
}
