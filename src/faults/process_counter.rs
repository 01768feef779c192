//! `process-counter` and `process-rate-limit` made by hand: a number one process keeps is compared with a limit, or reaches
//! a key or a write.

use super::bounds::{bounds_what_is_open, bounds_what_runs};
use super::candidate::Candidate;
use super::effects::{Sureness, effect, fresh};
use super::factory::stands_in;
use super::no_count::{breaks_circuit, compares_the_number, is_scratch, is_text, notes_failures, sums};
use super::own_row::own_buffer;
use super::passed::is_error;
use super::reason::{Reason, Why};
use super::subject::{Judged, Kind, Subject};
use super::tests_of_state::{StateChange, changes, is_state, tests_in};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Holder, Look, Op, Place, Spot, What, tells_copy};
use crate::rules::{Meaning, Scope, Severity, TypeKind, words};
use crate::syntax::{BinaryOp, ExitKind};

/// Words that make a limit one of how often.
const LIMIT_WORDS: &[&str] = &[
    "rate",
    "limit",
    "limits",
    "limiter",
    "ratelimit",
    "throttle",
    "throttler",
    "attempts",
    "attempt",
    "hits",
    "window",
    "bucket",
    "buckets",
    "requests",
    "cooldown",
    "cooldowns",
    "failures",
    "lockout",
    "quota",
    "tokens",
    "burst",
    "429",
    "ip",
    "ratelimiter",
    "spam",
    "flood",
    "strikes",
];

const RATE_LIMIT: &str = "process-rate-limit";

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    let changes: Vec<StateChange> = changes(view)
        .iter()
        .filter(|change| {
            view.lasts(&change.place) && is_state(view, &change.place) && view.made(&change.place).scope == Scope::Process
        })
        .cloned()
        .collect();
    let mut seen = vec![];
    for change in changes.iter().filter(|change| !change.removes) {
        if seen.iter().any(|place: &Place| place.same(&change.place)) {
            continue;
        }
        let subject = Subject::of(Kind::Counter, view.event(change.event)).kept_in(view, &change.place);
        if is_text(view, change) || is_scratch(view.world.tree, change, view.event(change.event).origin.0) {
            continue;
        }
        let bounds = bounds_what_is_open(view, change) || bounds_what_runs(view, change);
        if bounds || breaks_circuit(view, change) || notes_failures(view, change) {
            found.sound(subject, vec![Reason::new(Why::Bounds)]);
        } else if let Some(at) = limits(view, change, &changes) {
            let candidate = limit(view, change, at);
            let kind = if candidate.rule == RATE_LIMIT { Kind::Limiter } else { Kind::Counter };
            found.push(candidate.about(Subject { kind, ..subject }));
        } else if counts(view, change) {
            match numbered(view, change) {
                Some(work) => {
                    found.push(number(view, change, work).about(subject.around(view, [view.event(work)])));
                }
                None => found.sound(subject, vec![Reason::new(Why::OnlyReported)]),
            }
        } else {
            continue;
        }
        seen.push(change.place.clone());
    }
    for (cond, at) in (0..).zip(view.flat.conds.iter().map(|cond| cond.at)) {
        asked_apart(view, cond, at, &mut seen, found);
    }
}

/// A limit that is asked for here, of a count that other functions keep.
fn asked_apart(view: &View<'_>, cond: u32, at: Spot, seen: &mut Vec<Place>, found: &mut Judged) {
    let Some(asked) = view.flat.conds.get(cond as usize).filter(|asked| compares(&asked.value)) else { return };
    for test in tests_in(view, &asked.value, at) {
        let place = &test.place;
        if seen.iter().any(|known| known.same(place)) || !view.lasts(place) || !is_state(view, place) {
            continue;
        }
        let Some(counted) =
            view.world.counts.counted(view.world.tree, place).filter(|_| view.made(place).scope == Scope::Process)
        else {
            continue;
        };
        let guarded = |event: &FlatEvent| event.guards.iter().any(|guard| guard.cond == cond);
        let Some((index, event)) = view.events().find(|(_, event)| guarded(event)) else { continue };
        let change = StateChange { place: place.clone(), event: index, value: Value::Unknown, removes: false, counts: true };
        let bounds = || bounds_what_is_open(view, &change) || breaks_circuit(view, &change);
        if !speaks_of(view, &asked.value, &change, at) || !refuses(view, cond, None) || bounds() {
            continue;
        }
        seen.push(place.clone());
        let mut candidate = limit(view, &change, at);
        candidate.trace.retain(|(role, spot, _)| *role != Role::State || *spot != event.at);
        candidate.add(Role::State, counted, "counted up here".to_owned());
        let kind = if candidate.rule == RATE_LIMIT { Kind::Limiter } else { Kind::Counter };
        found.push(candidate.about(Subject { kind, ..Subject::of(Kind::Counter, event).kept_in(view, place) }));
    }
}

/// Whether a change counts, or keeps when something last happened.
pub(super) fn counts(view: &View<'_>, change: &StateChange) -> bool {
    change.counts || arithmetic(view, change)
}

/// The put value is computed from the state's own value: a number added to it, or taken from it.
fn arithmetic(view: &View<'_>, change: &StateChange) -> bool {
    sums(&change.value, &mut |side| {
        tests_in(view, side, view.event(change.event).at).iter().any(|test| test.place.same(&change.place))
    })
}

/// A comparison of the state's value with a limit, which leads to a refusal.
fn limits(view: &View<'_>, change: &StateChange, changes: &[StateChange]) -> Option<Spot> {
    let counted = changes.iter().any(|other| other.place.same(&change.place) && counts(view, other))
        || view.world.counts.counted(view.world.tree, &change.place).is_some();
    let timed = || changes.iter().any(|other| other.place.same(&change.place) && is_time(view, &other.value));
    let listed = || {
        changes.iter().any(|other| {
            other.place.same(&change.place)
                && view.event(other.event).meant(Meaning::Put).is_some()
                && is_time(view, &other.value)
        })
    };
    if !(counted || named_limit(view, change) && (timed() || listed())) {
        return None;
    }
    let alone = of_the_whole_process(view, change);
    for (index, cond) in view.flat.conds.iter().enumerate() {
        if compares(&cond.value)
            && !asks_for_none(view, &cond.value, change, changes)
            && speaks_of(view, &cond.value, change, cond.at)
            && refuses(view, index as u32, Some(view.event(change.event)))
            && (!alone || keeps_from_work(view, index as u32))
        {
            return Some(cond.at);
        }
    }
    // `return n <= max`: of one number for all, what hangs on it must be seen.
    view.flat.returns.iter().find_map(|(value, _)| {
        (counted && !alone && compares(value) && speaks_of(view, value, change, view.event(change.event).at))
            .then(|| view.event(change.event).at)
    })
}

/// Whether what is changed is one number of a module, not one of several that each have a key.
fn of_the_whole_process(view: &View<'_>, change: &StateChange) -> bool {
    let event = view.event(change.event);
    let keyed = match (&event.what, &event.act) {
        (What::Meant(meant), _) if meant.part("key").is_some() => true,
        (_, Act::Write { place, .. }) => view.place(place).is_some_and(|place| place.keyed),
        _ => false,
    };
    !keyed && matches!(change.place.holder, Holder::Variable(..)) && view.made(&change.place).kind == TypeKind::Plain
}

/// Whether a condition keeps somebody from something that is seen: it ends in an error or a refusal, or others see the work behind it.
fn keeps_from_work(view: &View<'_>, cond: u32) -> bool {
    let is_under = |event: &FlatEvent| event.guards.iter().any(|guard| guard.cond == cond || same_cond(view, guard.cond, cond));
    view.events().filter(|(_, event)| is_under(event)).any(|(_, event)| match &event.act {
        Act::Exit { kind: ExitKind::Throw, .. } => true,
        Act::Exit { kind: ExitKind::Return, value } => fails(view, value) || says_no(view, value),
        Act::Call { args, .. } => {
            args.iter().any(|(_, value)| says_no(view, value))
                || effect(view, event).is_some_and(|sureness| sureness != Sureness::Opaque)
        }
        _ => false,
    })
}

/// Whether a comparison with nought asks whether there is anything, of a count that only goes up.
fn asks_for_none(view: &View<'_>, value: &Value, change: &StateChange, changes: &[StateChange]) -> bool {
    let goes_down = |event: &FlatEvent| match &event.act {
        Act::Write { op: Some(BinaryOp::Sub), .. } => true,
        Act::Write { value, .. } => value.any(&|part| matches!(part, Value::Op(BinaryOp::Sub, _))),
        _ => true,
    };
    let mut own = changes.iter().filter(|other| other.counts && other.place.same(&change.place)).peekable();
    let up = own.peek().is_some() && own.all(|other| !goes_down(view.event(other.event)));
    let nought = |part: &Value| match part {
        Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, pair) => {
            pair.contains(&Value::Number(0.0))
        }
        _ => false,
    };
    let more = |part: &Value| compares(part) && matches!(part, Value::Op(..)) && !nought(part);
    up && value.any(&nought) && !value.any(&more)
}

/// Whether a value is the time, or worked out from it.
pub(super) fn is_time(view: &View<'_>, value: &Value) -> bool {
    let named = |value: &Value| {
        value.any(&|part| match part {
            Value::Member(_, name) | Value::Global(name) | Value::Module(_, name) => {
                matches!(&*name.to_lowercase(), "now" | "date" | "time" | "timestamp" | "monotonic" | "instant")
            }
            _ => false,
        })
    };
    named(value)
        || view.flat.depends(value).iter().any(|index| view.event(*index).call().is_some_and(|(callee, _)| named(callee)))
        || value.any(&|part| matches!(part, Value::Flat(index) if view.flat.events.get(*index as usize).and_then(|event| event.call()).is_some_and(|(callee, _)| named(callee))))
}

fn compares(value: &Value) -> bool {
    value.any(&|part| {
        matches!(part, Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, _))
    })
}

/// Whether a comparison is of an element of the state, not of how many it has.
fn speaks_of(view: &View<'_>, value: &Value, change: &StateChange, at: Spot) -> bool {
    if !compares_the_number(view, value, change, at) {
        return false;
    }
    // `map.size > MAX` bounds the map itself.
    let only_size = value.any(&|part| match part {
        Value::Member(of, name) => {
            matches!(&**name, "size" | "length") && view.place(of).is_some_and(|place| !place.keyed && place.same(&change.place))
        }
        Value::Flat(index) => {
            view.flat.events.get(*index as usize).and_then(|event| event.call()).is_some_and(|(callee, args)| match callee {
                Value::Member(of, name) => {
                    &**name == "len" && view.place(of).is_some_and(|place| !place.keyed && place.same(&change.place))
                }
                Value::Global(name) => {
                    &**name == "len"
                        && args
                            .first()
                            .is_some_and(|(_, of)| view.place(of).is_some_and(|place| !place.keyed && place.same(&change.place)))
                }
                _ => false,
            })
        }
        _ => false,
    });
    !only_size || view.made(&change.place).kind != crate::rules::TypeKind::State
}

/// Whether one outcome of a condition ends in a refusal: an error thrown, a falsy or error answer, nothing where what counts gives
/// something.
fn refuses(view: &View<'_>, cond: u32, counted: Option<&FlatEvent>) -> bool {
    let is_under = |event: &FlatEvent| event.guards.iter().any(|guard| guard.cond == cond || same_cond(view, guard.cond, cond));
    // What a callee of its own comes to its end by is no answer to who asked.
    let asked = view.events().find(|(_, event)| matches!(event.act, Act::Test { cond: own } if own == cond));
    let answers = |event: &FlatEvent| asked.is_none_or(|(_, asked)| event.hops.len() <= asked.hops.len());
    // Who asks for something gets nothing.
    let gives = |event: &FlatEvent, from: &FlatEvent| {
        event.hops == from.hops
            && matches!(&event.act, Act::Exit { kind: ExitKind::Return, value } if !matches!(value, Value::Null | Value::Unknown))
    };
    view.events().any(|(_, event)| {
        is_under(event)
            && match &event.act {
                Act::Exit { .. } if !answers(event) => false,
                Act::Exit { kind: ExitKind::Throw, .. } => true,
                Act::Exit { kind: ExitKind::Return, value } => match value {
                    Value::Bool(_) => true,
                    other if fails(view, other) => true,
                    Value::Null => {
                        counted.is_some_and(|counted| counted.hops == event.hops)
                            && view.events().any(|(_, other)| gives(other, event))
                    }
                    Value::Unknown => false,
                    other => says_no(view, other),
                },
                Act::Call { args, .. } => args.iter().any(|(_, value)| says_no(view, value)),
                _ => false,
            }
    })
}

fn same_cond(view: &View<'_>, left: u32, right: u32) -> bool {
    let at = |index: u32| view.flat.conds.get(index as usize);
    match (at(left), at(right)) {
        (Some(left), Some(right)) => matches!(&left.value, Value::Mix(parts) if parts.contains(&right.value)),
        _ => false,
    }
}

/// Whether what is returned is an error.
fn fails(view: &View<'_>, value: &Value) -> bool {
    *value != Value::Null && is_error(view, value)
}

fn says_no(view: &View<'_>, value: &Value) -> bool {
    let refusal = |text: &str| {
        let text = text.to_lowercase();
        [
            "429",
            "403",
            "too many",
            "too_many",
            "rate",
            "limit",
            "throttl",
            "quota",
            "exceed",
            "slow down",
            "blocked",
            "locked",
            "denied",
            "retry",
        ]
        .iter()
        .any(|word| text.contains(word))
    };
    let says = |part: &Value| match part {
        Value::Number(number) => matches!(*number as i64, 429 | 403 | 423 | 402 | 409),
        Value::Text(text) => refusal(text),
        Value::Member(_, name) => refusal(name),
        Value::Object(_, entries) => entries.iter().any(|(key, value)| {
            matches!((&**key, value), ("allowed" | "ok" | "success" | "limited" | "blocked", Value::Bool(_)))
        }),
        _ => false,
    };
    value.any(&says)
        || view.flat.depends(value).iter().any(|index| {
            view.event(*index)
                .call()
                .is_some_and(|(callee, args)| callee.any(&says) || args.iter().any(|(_, value)| value.any(&says)))
        })
}

/// An insert or effect whose values hold the counted number.
fn numbered(view: &View<'_>, change: &StateChange) -> Option<u32> {
    view.events()
        .filter(|(_, event)| {
            effect(view, event).is_some_and(|sureness| sureness != Sureness::Opaque)
                && !matches!(&event.what, What::Presumed(presumed) if !presumed.strong && presumed.owner.is_none())
                && own_buffer(view, event).is_none()
        })
        .find(|(index, event)| {
            let speaks = |value: &Value| gives_the_number(view, value, change, event.at);
            *index != change.event
                && match &event.what {
                    What::Statement(statement) => {
                        matches!(statement.op, Op::Insert | Op::Update | Op::Upsert)
                            && (statement.sets.iter().any(|column| speaks(&column.value))
                                || event.call().is_some_and(|(_, args)| args.iter().any(|(_, value)| speaks(value))))
                    }
                    _ => event.call().is_some_and(|(_, args)| args.iter().any(|(_, value)| speaks(value))),
                }
        })
        .map(|(index, _)| index)
}

/// Whether what is written holds the number, and nothing beside it that tells this process's from another's: the time, a random name.
fn gives_the_number(view: &View<'_>, value: &Value, change: &StateChange, at: Spot) -> bool {
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let speaks = |value: &Value| {
        tests_in(view, value, at).iter().any(|test| test.place.same(&change.place))
            || view.flat.depends(value).contains(&change.event)
    };
    let part = |value: &Value| match value {
        Value::Object(_, entries) => entries.iter().any(|(_, entry)| gives_the_number(view, entry, change, at)),
        Value::List(items) => items.iter().any(|item| gives_the_number(view, item, change, at)),
        _ => true,
    };
    let told_apart = || {
        matches!(value, Value::Template(_) | Value::Op(..) | Value::Mix(_) | Value::Flat(_))
            && (is_time(view, value) || fresh(view, value) || tells_copy(&look, view.world.instances, value))
    };
    speaks(value) && part(value) && !told_apart()
}

/// Names around a change, its state's included.
fn names(view: &View<'_>, change: &StateChange) -> Vec<String> {
    let mut names = view.names_around(view.event(change.event));
    names.extend(match &change.place.holder {
        crate::program::Holder::Variable(_, name)
        | crate::program::Holder::Field(_, name)
        | crate::program::Holder::Closure(_, name)
        | crate::program::Holder::Carried(_, _, name) => Some(name.to_string()),
        _ => None,
    });
    names
}

fn named_limit(view: &View<'_>, change: &StateChange) -> bool {
    names(view, change).iter().flat_map(|name| words(name)).any(|word| LIMIT_WORDS.contains(&word.as_str()))
}

/// Words of amounts, not of how often: a quota that no time resets is a count.
fn named_quota_only(view: &View<'_>, change: &StateChange) -> bool {
    let timed = changes(view).iter().any(|other| other.place.same(&change.place) && is_time(view, &other.value))
        || view.flat.conds.iter().any(|cond| is_time(view, &cond.value));
    let rate = |word: &str| LIMIT_WORDS.contains(&word) && !matches!(word, "quota" | "limit" | "limits" | "tokens" | "requests");
    !timed && !names(view, change).iter().flat_map(|name| words(name)).any(|word| rate(&word))
}

/// Whether what is counted up is kept under a key made of the time: a count of each window of time.
fn windowed(view: &View<'_>, event: &FlatEvent) -> bool {
    matches!(&event.what, What::Meant(meant) if meant.part("key").is_some_and(|key| is_time(view, key)))
}

fn limit(view: &View<'_>, change: &StateChange, at: Spot) -> Candidate {
    let event = view.event(change.event);
    let often = windowed(view, event) || named_limit(view, change) && !named_quota_only(view, change);
    let (rule, message) = if often {
        (
            RATE_LIMIT,
            "the limit is counted in this process: each copy counts for itself, so a client gets the limit once per copy",
        )
    } else {
        ("process-counter", "the count is kept in this process: each copy has its own, so together they pass the limit")
    };
    let mut candidate = Candidate::new(view, rule, event, event, message.to_owned());
    if let Some((file, span)) = view.made(&change.place).at {
        let state = Spot { file, span };
        candidate.primary = state;
        candidate.cause = state;
        candidate.add(Role::State, state, "counted here, in this process".to_owned());
    }
    candidate.work = candidate.cause;
    candidate.hop(Role::State, event, "counted up here");
    candidate.add(Role::Check, at, "compared with the limit here".to_owned());
    if let Holder::Closure(factory, _) = &change.place.holder
        && stands_in(view, *factory)
    {
        candidate.severity = Some(Severity::Advice);
        candidate.message = format!("where no shared store is set up, {}", candidate.message);
    }
    candidate.of_state(&change.place).at_most(if often { Confidence::High } else { Confidence::Medium })
}

fn number(view: &View<'_>, change: &StateChange, work: u32) -> Candidate {
    let event = view.event(change.event);
    let used = view.event(work);
    let what = view.describe(used);
    let mut candidate = Candidate::new(
        view,
        "process-counter",
        event,
        used,
        format!("the number in {what} is counted by one process: two copies give out the same numbers"),
    );
    if let Some((file, span)) = view.made(&change.place).at {
        candidate.add(Role::State, Spot { file, span }, "counted in this process".to_owned());
    }
    candidate.hop(Role::State, event, "counted up here");
    candidate.hop(Role::Effect, used, what);
    candidate.of_state(&change.place).at_most(Confidence::Medium)
}
