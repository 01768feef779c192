//! What a function shows its callers: the events that can matter to them, each kind in bounded number, so that the size of
//! a program written out stays in proportion to its source.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::flat::{Flat, FlatCond, FlatEvent, What};
use super::statement::Op;
use crate::facts::{Act, Guard, Value};
use crate::rules::{Meaning, Verbs};
use crate::syntax::{BinaryOp, CallForm, ExitKind};

/// How many events of each kind are handed over.
const BUDGET: &[(Kind, usize)] = &[
    (Kind::Deciding, 48),
    (Kind::End, 12),
    (Kind::Effect, 6),
    (Kind::Read, 4),
    (Kind::Open, 10),
    (Kind::Write, 14),
    (Kind::Further, 14),
    (Kind::Made, 6),
    (Kind::Other, 10),
    (Kind::Time, 12),
    (Kind::Exit, 8),
    (Kind::Refusal, 6),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Locks, state, statements, commands of a store.
    Deciding,
    /// What ends a lock or a transaction: without it, that seems to stay.
    End,
    /// Outside work.
    Effect,
    /// Reads presumed by their names.
    Read,
    /// Calls that only a caller can make known.
    Open,
    /// Its own writes to variables and fields.
    Write,
    /// Writes of what it calls.
    Further,
    /// Objects made.
    Made,
    /// Waits, fresh values, regions.
    Other,
    /// Lengths of time, what bounds them, and what is waited for without changing anything.
    Time,
    /// Ways out on which what is handed over does not happen.
    Exit,
    /// Errors on which what comes behind the call does not happen.
    Refusal,
}

/// The function as its callers see it.
pub(in crate::program) fn hand_over(flat: Flat, verbs: &Verbs) -> Flat {
    let mut left: Vec<(Kind, usize)> = BUDGET.to_vec();
    // What the function gives back, what is put into state that lasts, and what is entered, is made by a call.
    let mut given: FxHashSet<u32> = FxHashSet::default();
    let mut entered: FxHashSet<u32> = FxHashSet::default();
    flat.returns.iter().for_each(|(value, _)| made(&flat, value, 0, &mut given));
    for event in &flat.events {
        match (&event.what, &event.act) {
            (What::Meant(meant), _) if matches!(meant.is, Meaning::Put | Meaning::Get) => {
                meant.part("value").into_iter().for_each(|value| made(&flat, value, 0, &mut given));
            }
            (What::Nothing, Act::Enter { value }) => made(&flat, value, 0, &mut given),
            _ => {}
        }
        entered.extend(event.within.iter().copied());
    }
    entered.iter().for_each(|index| made(&flat, &Value::Flat(*index), 0, &mut given));
    // A function that is handed in may do any work.
    let handed_in =
        |event: &FlatEvent| matches!(event.call(), Some((Value::Param(..) | Value::Captured(..), _))) && !event.inlined;
    let work = |event: &&FlatEvent| matches!(kind(event), Some(Kind::Deciding | Kind::End | Kind::Effect)) || handed_in(event);
    let guarding: FxHashSet<Guard> = flat.events.iter().filter(work).flat_map(|event| event.guards.iter().copied()).collect();
    let mut places: Vec<Option<u32>> = Vec::with_capacity(flat.events.len());
    let mut count = 0;
    let mut built: FxHashSet<u32> = FxHashSet::default();
    for (index, event) in flat.events.iter().enumerate() {
        let kind = if answers(event, &guarding) { Some(Kind::Exit) } else { kind(event) };
        let kind = kind.or_else(|| refuses(&flat, event).then_some(Kind::Refusal));
        let kind = kind.or_else(|| makes(event, given.contains(&(index as u32))).then_some(Kind::Open));
        let steps = steps(event, &built);
        if steps {
            built.insert(index as u32);
        }
        let kind = kind.or(steps.then_some(Kind::Open));
        let kind = kind.or_else(|| entered.contains(&(index as u32)).then_some(Kind::Other));
        let room = kind.and_then(|kind| left.iter_mut().find(|(known, room)| *known == kind && *room > 0));
        places.push(room.map(|(_, room)| {
            *room -= 1;
            count += 1;
            count - 1
        }));
    }
    let map = Residues { events: &flat.events, places: &places, verbs, known: vec![None; places.len()] }.all();
    let mut kept: Vec<FlatEvent> =
        flat.events.into_iter().zip(&places).filter(|(_, place)| place.is_some()).map(|(event, _)| event).collect();
    let end = kept.len() as u32;
    let conds: Vec<FlatCond> =
        flat.conds.into_iter().map(|cond| FlatCond { value: renumbered(&cond.value, &map), at: cond.at }).collect();
    for event in &mut kept {
        renumber(event, &map, end);
    }
    let returns = flat.returns.into_iter().map(|(value, guards)| (renumbered(&value, &map), guards)).collect();
    needed(Flat { root: flat.root, events: kept, conds, returns })
}

fn kind(event: &FlatEvent) -> Option<Kind> {
    Some(match (&event.what, &event.act) {
        (What::Meant(meant), _) if matches!(meant.is, Meaning::Release | Meaning::Commit | Meaning::Rollback) => Kind::End,
        (What::Statement(statement), _) if matches!(statement.op, Op::SessionUnlock | Op::Commit | Op::Rollback) => Kind::End,
        (What::Meant(meant), _) => match meant.is {
            Meaning::Pure if meant.flag("makes") => Kind::Other,
            Meaning::Time | Meaning::Clock | Meaning::Least | Meaning::Greatest => Kind::Time,
            Meaning::Pure | Meaning::Pass if ["limit", "patience"].iter().any(|part| meant.part(part).is_some()) => Kind::Time,
            Meaning::Pure | Meaning::Pass | Meaning::Build => return None,
            Meaning::Effect | Meaning::Refresh => Kind::Effect,
            Meaning::Sleep | Meaning::Receive | Meaning::Fresh | Meaning::Identity | Meaning::Calls => Kind::Other,
            _ => Kind::Deciding,
        },
        (What::Statement(_) | What::Kv(_), _) => Kind::Deciding,
        (What::Presumed(presumed), _) => {
            if presumed.reads {
                Kind::Read
            } else {
                Kind::Effect
            }
        }
        (What::Nothing, Act::Write { place, .. } | Act::Delete { place }) => {
            let lasting = place
                .any(&|part| !matches!(part, Value::Text(_) | Value::Number(_) | Value::Unknown) && part.children().is_empty());
            match (lasting, event.hops.is_empty()) {
                (false, _) => return None,
                (true, true) => Kind::Write,
                (true, false) => Kind::Further,
            }
        }
        (What::Nothing, Act::Call { callee: Value::Module(..), form: CallForm::New, .. }) => Kind::Made,
        (What::Nothing, Act::Call { callee, .. }) => {
            let open =
                !event.inlined && callee.any(&|part| matches!(part, Value::Param(..) | Value::This(_) | Value::Captured(..)));
            if open || event.returns.len() > 1 {
                Kind::Open
            } else {
                return None;
            }
        }
        (What::Nothing, Act::Enter { .. }) => Kind::Other,
        // Where the body of a `with` runs that enters it.
        (What::Nothing, Act::Exit { kind: ExitKind::Yield, .. }) if event.hops.is_empty() => Kind::Exit,
        _ => return None,
    })
}

/// Whether a function is left where a condition turns out otherwise than some of its work needs it: the other answer to a question that decides.
fn answers(event: &FlatEvent, guarding: &FxHashSet<Guard>) -> bool {
    matches!(event.act, Act::Exit { kind: ExitKind::Return | ExitKind::Throw, .. })
        && event.guards.iter().any(|guard| guarding.contains(&Guard { holds: !guard.holds, ..*guard }))
}

/// Whether an error leaves the function where what it was given, or what it looked up, is not as it has to be.
fn refuses(flat: &Flat, event: &FlatEvent) -> bool {
    let asks = |guard: &Guard| {
        let cond = flat.conds.get(guard.cond as usize);
        let known = |part: &Value| matches!(part, Value::Param(..) | Value::This(_) | Value::Captured(..) | Value::Flat(_));
        cond.is_some_and(|cond| cond.value.any(&known))
    };
    matches!(event.act, Act::Exit { kind: ExitKind::Throw, .. })
        && event.caught.is_none()
        && !(event.in_catch || event.detached)
        && event.guards.iter().any(asks)
}

/// Whether a call makes what the function gives back: a lock or a piece of state made anew is told by it.
fn makes(event: &FlatEvent, given: bool) -> bool {
    given && matches!(event.what, What::Nothing) && matches!(event.act, Act::Call { .. }) && event.returns.is_empty()
}

/// Whether a call begins or goes on with something that is built step by step on what the caller gives: it may be a statement, of
/// which each step says a part.
fn steps(event: &FlatEvent, built: &FxHashSet<u32>) -> bool {
    let Some((Value::Member(of, _), _)) = event.call() else { return false };
    match (&**of, &event.what) {
        (on, What::Presumed(_)) if begins(on) => true,
        (Value::Flat(of), What::Nothing) => !event.inlined && built.contains(of),
        _ => false,
    }
}

/// Whether a value is what the caller gives, or hangs on that (`tx.db`).
fn begins(value: &Value) -> bool {
    match value {
        Value::Param(..) | Value::This(_) | Value::Captured(..) => true,
        Value::Member(of, _) => begins(of),
        _ => false,
    }
}

/// The calls that make what a value may be, through calls that only pass it on and what calls of the tree give.
fn made(flat: &Flat, value: &Value, depth: u32, found: &mut FxHashSet<u32>) {
    for value in value.options() {
        let Value::Flat(index) = value else { continue };
        let Some(event) = flat.events.get(*index as usize).filter(|_| depth < DEEPEST_MAKER) else { continue };
        match &event.what {
            What::Meant(meant) if meant.is == Meaning::Pass => {
                made(flat, meant.part("of").unwrap_or(&meant.receiver), depth + 1, found);
            }
            _ if found.insert(*index) => event.returns.iter().for_each(|(value, _)| made(flat, value, depth + 1, found)),
            _ => {}
        }
    }
}

/// What is left of events that are not handed over: what their results are, or depend on. A call's result may speak of the
/// events of its body, which stand behind it.
struct Residues<'f> {
    events: &'f [FlatEvent],
    places: &'f [Option<u32>],
    verbs: &'f Verbs,
    known: Vec<Option<Value>>,
}

/// How many calls that pass on what is made are followed.
const DEEPEST_MAKER: u32 = 8;

/// Results are followed this far through events that are not handed over.
const DEEPEST: u32 = 24;

impl Residues<'_> {
    /// The result of every event.
    fn all(mut self) -> Vec<Value> {
        (0..self.events.len()).map(|index| self.at(index, 0)).collect()
    }

    fn at(&mut self, index: usize, depth: u32) -> Value {
        if let Some(place) = self.places.get(index).copied().flatten() {
            return Value::Flat(place);
        }
        if let Some(known) = self.known.get(index).cloned().flatten() {
            return known;
        }
        let events = self.events;
        let Some(event) = events.get(index).filter(|_| depth < DEEPEST) else { return Value::Unknown };
        // A result that speaks of itself speaks of nothing.
        self.known[index] = Some(Value::Unknown);
        let found = self.residue(event, depth + 1);
        self.known[index] = (depth == 0 || found != Value::Unknown).then(|| found.clone());
        found
    }

    fn value(&mut self, value: &Value, depth: u32) -> Value {
        value
            .map(&mut |part| match part {
                Value::Flat(index) => Some(self.at(*index as usize, depth)),
                _ => None,
            })
            .bounded()
    }

    fn residue(&mut self, event: &FlatEvent, depth: u32) -> Value {
        if let What::Meant(meant) = &event.what
            && meant.is == Meaning::Pass
        {
            return self.value(meant.part("of").unwrap_or(&meant.receiver), depth);
        }
        match &event.returns[..] {
            [] => {}
            several => {
                let values: Vec<Value> = several.iter().map(|(value, _)| self.value(value, depth)).collect();
                return Value::one_of(values);
            }
        }
        let Some((callee, args)) = event.call() else { return Value::Unknown };
        let mut parts: Vec<Value> = vec![];
        if let Value::Member(receiver, _) = callee {
            parts.push(self.value(receiver, depth));
        }
        parts.extend(args.iter().take(4).map(|(_, value)| self.value(value, depth)));
        // Asked whether there is nothing: the opposite of what it was asked of.
        if let (Value::Member(_, name), [of]) = (callee, &parts[..])
            && self.verbs.is_absence(name)
        {
            return Value::Not(Arc::new(of.clone()));
        }
        let computes = matches!(callee, Value::Member(_, name) if self.verbs.is_arithmetic(name));
        match (computes, parts.len()) {
            (true, 2..) => {
                let last = parts.pop().unwrap_or_default();
                let first = if parts.len() == 1 { parts.swap_remove(0) } else { Value::Mix(parts.into()) };
                Value::Op(BinaryOp::Add, Arc::new([first, last])).bounded()
            }
            _ => Value::Mix(parts.into()).bounded(),
        }
    }
}

fn renumbered(value: &Value, map: &[Value]) -> Value {
    renewed(value, map).unwrap_or_else(|| value.clone())
}

fn renewed(value: &Value, map: &[Value]) -> Option<Value> {
    value.renewed(&mut |part| match part {
        Value::Flat(index) => Some(map.get(*index as usize).cloned().unwrap_or_default()),
        _ => None,
    })
}

fn renumber(event: &mut FlatEvent, map: &[Value], end: u32) {
    let value = |value: &Value| renumbered(value, map);
    match &mut event.act {
        Act::Call { callee, args, .. } => {
            *callee = value(callee);
            *args = crate::facts::renewed_args(args, |value| renewed(value, map));
        }
        Act::Enter { value: entered } => *entered = value(entered),
        Act::Write { place, value: written, .. } => {
            *place = value(place);
            *written = value(written);
        }
        Act::Delete { place } => *place = value(place),
        Act::Exit { value: given, .. } => *given = value(given),
        Act::Test { .. } => {}
    }
    event.what = event.what.map(&|value| renewed(value, map));
    if !event.within.is_empty() {
        event.within = event
            .within
            .iter()
            .filter_map(|entered| match map.get(*entered as usize) {
                Some(Value::Flat(index)) => Some(*index),
                _ => None,
            })
            .collect();
    }
    event.lives_to = map
        .iter()
        .skip(event.lives_to as usize)
        .find_map(|value| match value {
            Value::Flat(index) => Some(*index),
            _ => None,
        })
        .unwrap_or(end);
    event.returns.iter_mut().for_each(|(given, _)| *given = value(given));
}

/// Leaves out conditions that nothing kept points to.
fn needed(mut flat: Flat) -> Flat {
    let mut used = vec![false; flat.conds.len()];
    let mut mark = |guards: &[Guard]| {
        for guard in guards {
            if let Some(flag) = used.get_mut(guard.cond as usize) {
                *flag = true;
            }
        }
    };
    flat.events.iter().for_each(|event| {
        mark(&event.guards);
        event.returns.iter().for_each(|(_, guards)| mark(guards));
    });
    flat.returns.iter().for_each(|(_, guards)| mark(guards));
    let mut places = vec![0; used.len()];
    let mut next = 0;
    for (index, flag) in used.iter().enumerate() {
        places[index] = next;
        next += u32::from(*flag);
    }
    let mut flags = used.iter();
    flat.conds.retain(|_| flags.next().copied().unwrap_or(false));
    let place = |guard: &Guard| Guard { cond: places.get(guard.cond as usize).copied().unwrap_or(0), ..*guard };
    let renumber = |guards: &mut Vec<Guard>| guards.iter_mut().for_each(|guard| *guard = place(guard));
    // Most events have the guards of the one before.
    let mut last: (Arc<[Guard]>, Arc<[Guard]>) = Default::default();
    for event in &mut flat.events {
        if !Arc::ptr_eq(&event.guards, &last.0) {
            last = (event.guards.clone(), event.guards.iter().map(place).collect());
        }
        event.guards = last.1.clone();
        event.returns.iter_mut().for_each(|(_, guards)| renumber(guards));
    }
    flat.returns.iter_mut().for_each(|(_, guards)| renumber(guards));
    flat
}
