//! Where a function tests state that one process keeps, and where it changes it.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use super::view::View;
use crate::facts::{Act, Guard, Value};
use crate::program::{Carried, FlatEvent, Holder, Place, Spot, What};
use crate::rules::{Meaning, TypeKind};
use crate::syntax::{BinaryOp, Shape};

/// A test of state.
#[derive(Debug, Clone)]
pub struct StateTest {
    /// The state.
    pub place: Place,
    /// The call that asks it, where it is a call.
    pub event: Option<u32>,
    /// Where.
    pub at: Spot,
    /// Whether the work is done where the state says "not yet"; `None` where the test does not show it.
    pub absent: Option<bool>,
}

/// A change of state.
#[derive(Debug, Clone)]
pub struct StateChange {
    /// The state.
    pub place: Place,
    /// The event that changes it.
    pub event: u32,
    /// What is put.
    pub value: Value,
    /// Takes something out.
    pub removes: bool,
    /// Counts up or down.
    pub counts: bool,
}

/// Whether a place is state in the sense of the catalogue: a container, or a cell that functions reassign.
pub fn is_state(view: &View<'_>, place: &Place) -> bool {
    let made = view.made(place);
    match made.kind {
        TypeKind::State => true,
        TypeKind::Lock | TypeKind::Local | TypeKind::Pool | TypeKind::Connection | TypeKind::Entity | TypeKind::Carrier => false,
        TypeKind::Plain | TypeKind::Wrapper => cell(view, place),
    }
}

/// A variable or field that holds a plain value and is assigned by functions.
fn cell(view: &View<'_>, place: &Place) -> bool {
    match &place.holder {
        Holder::Variable(file, name) => view
            .world
            .tree
            .files
            .get(*file as usize)
            .and_then(|facts| facts.names.get(name))
            .is_some_and(|known| known.reassigned && plain_cell(&known.value)),
        Holder::Field(class, name) => match view.world.tree.field_value(*class, name) {
            Some(value) => plain_cell(&value),
            None => place.path.is_empty(),
        },
        Holder::Closure(function, name) => {
            view.world.tree.facts(*function).and_then(|facts| facts.locals.get(name)).is_some_and(plain_cell)
        }
        Holder::Global(_) => true,
        Holder::Carried(function, event, _) => {
            let carried = Carried { function: *function, event: *event };
            view.world.tree.carried_value(carried).is_some_and(plain_cell)
        }
        Holder::Library(..) => false,
        Holder::Local(_) | Holder::Param(..) => false,
    }
}

fn plain_cell(value: &Value) -> bool {
    value.options().iter().any(|option| {
        matches!(
            option,
            Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Text(_)
                | Value::Object(..)
                | Value::List(_)
                | Value::Unknown
        )
    })
}

/// The place of the same state with its element and member path left out.
pub fn base(place: &Place) -> Place {
    Place { holder: place.holder.clone(), path: place.path.clone(), keyed: false }
}

/// All tests of lasting state that guard an event.
pub fn tests_guarding(view: &View<'_>, event: &FlatEvent) -> Vec<StateTest> {
    let of_guard = |guard: &Guard| view.known.guards.get(*guard, || Rc::new(lasting_tests(view, *guard)));
    let mut tests: Vec<StateTest> = event.guards.iter().flat_map(|guard| of_guard(guard).to_vec()).collect();
    tests.dedup_by(|left, right| left.place == right.place && left.at == right.at);
    tests
}

/// The tests of lasting state behind a guard.
fn lasting_tests(view: &View<'_>, guard: Guard) -> Vec<StateTest> {
    let Some(cond) = view.flat.conds.get(guard.cond as usize) else { return vec![] };
    let mut tests = tests_of(view, guard.cond).to_vec();
    for test in &mut tests {
        test.absent = present(view, &cond.value, &test.place).map(|present| present != guard.holds);
    }
    for index in in_order(&view.cond_depends(guard.cond)) {
        let asked = view.event(index);
        // A predicate of the project's own: what decided its answer.
        for (value, guards) in &asked.returns {
            tests.extend(tests_in(view, value, asked.at));
            let telling = guards.iter().filter(|guard| tells(asked, guard));
            telling.for_each(|guard| tests.extend(tests_of(view, guard.cond).iter().cloned()));
        }
    }
    tests.retain(|test| view.lasts(&test.place) && is_state(view, &test.place));
    tests
}

/// Whether what a call gives tells on which side of a guard it came out: on one side always the same constant, on the other not only
/// that. What gives a thing on both, as a memo does, tells nothing.
fn tells(asked: &FlatEvent, guard: &Guard) -> bool {
    let of = |holds: bool| {
        let side = Guard { holds, ..*guard };
        asked.returns.iter().filter(move |(_, guards)| guards.contains(&side)).map(|(value, _)| constant(value))
    };
    let sides = [of(true).collect::<Vec<_>>(), of(false).collect::<Vec<_>>()];
    let always = |side: &[Option<Value>]| {
        side.first().cloned().flatten().filter(|first| side.iter().all(|one| one.as_ref() == Some(first)))
    };
    asked.returns.iter().all(|(_, guards)| guards.contains(guard))
        || [(0, 1), (1, 0)].into_iter().any(|(one, other)| {
            let constant = always(&sides[one]);
            constant.is_some() && always(&sides[other]) != constant
        })
}

/// The constant that a value is, as far as a test can tell.
fn constant(value: &Value) -> Option<Value> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Some(value.clone()),
        Value::Object(..) | Value::List(_) | Value::Function(_) => Some(Value::Bool(true)),
        _ => None,
    }
}

/// Tests of state in a condition of the function.
pub fn tests_of(view: &View<'_>, cond: u32) -> Rc<Vec<StateTest>> {
    let made = || view.flat.conds.get(cond as usize).map_or(vec![], |cond| tests_in(view, &cond.value, cond.at));
    view.known.tests.get(cond, || Rc::new(made()))
}

/// Tests of state inside a condition's value.
pub fn tests_in(view: &View<'_>, value: &Value, at: Spot) -> Vec<StateTest> {
    let mut tests = vec![];
    for index in in_order(&view.flat.depends(value)) {
        let event = view.event(index);
        if let What::Meant(meant) = &event.what
            && (matches!(meant.is, Meaning::Test | Meaning::Get) || meant.is == Meaning::Put && meant.flag("tells"))
            && let Some(place) = view.place(&meant.receiver)
        {
            tests.push(StateTest { place: base(&place), event: Some(index), at: event.at, absent: None });
        }
    }
    // What a member is taken of is not asked itself, where it is kept in the same.
    let mut inside: Vec<(*const Value, Holder)> = vec![];
    value.walk(&mut |part| {
        let outer = inside.iter().rev().find(|(at, _)| std::ptr::eq(*at, part)).map(|(_, holder)| holder.clone());
        let kept = match part {
            Value::Module(..) | Value::Member(..) | Value::Index(..) | Value::Captured(..) => view.place(part),
            _ => None,
        };
        let kept = kept.filter(|place| !matches!(place.holder, Holder::Local(_) | Holder::Param(..)));
        if let Value::Member(of, _) | Value::Index(of, _) | Value::Element(of) = part
            && let Some(holder) = kept.as_ref().map(|place| place.holder.clone()).or(outer.clone())
        {
            inside.push((Arc::as_ptr(of), holder));
        }
        let asked = kept.filter(|place| outer.as_ref() != Some(&place.holder));
        tests.extend(asked.map(|place| StateTest { place: base(&place), event: None, at, absent: None }));
    });
    tests
}

fn in_order(events: &HashSet<u32>) -> Vec<u32> {
    let mut sorted: Vec<u32> = events.iter().copied().collect();
    sorted.sort_unstable();
    sorted
}

/// Whether a condition holding means that the state has the entry or the flag is set; `None` where it says neither.
fn present(view: &View<'_>, value: &Value, place: &Place) -> Option<bool> {
    let about = |value: &Value| view.place(value).is_some_and(|at| at.same(place));
    match value {
        Value::Not(inner) => present(view, inner, place).map(|present| !present),
        Value::Is(inner, shape) => match &**shape {
            Shape::Null | Shape::Bool(false) | Shape::Err => present(view, inner, place).map(|present| !present),
            Shape::Present | Shape::Ok | Shape::Bool(true) => present(view, inner, place),
            _ => None,
        },
        Value::Flat(index) => {
            let event = view.event(*index);
            match &event.what {
                What::Meant(meant) if matches!(meant.is, Meaning::Test | Meaning::Get) && about(&meant.receiver) => Some(true),
                // A set's answer to an insertion: true where it was not there.
                What::Meant(meant) if meant.is == Meaning::Put && about(&meant.receiver) => None,
                What::Meant(meant) if meant.is == Meaning::Pass => {
                    present(view, meant.part("of").unwrap_or(&meant.receiver), place)
                }
                _ => None,
            }
        }
        Value::Mix(parts) | Value::All(parts) => parts.iter().find_map(|part| present(view, part, place)),
        Value::Op(BinaryOp::Equal | BinaryOp::NotEqual, pair) if pair.iter().any(|side| matches!(side, Value::Text(_))) => {
            Some(true)
        }
        other => about(other).then_some(true),
    }
}

/// All changes of state in a function.
pub fn changes(view: &View<'_>) -> Rc<Vec<StateChange>> {
    view.known.changes.get((), || Rc::new(changes_in(view)))
}

fn changes_in(view: &View<'_>) -> Vec<StateChange> {
    let mut changes = vec![];
    for (index, event) in view.events() {
        match (&event.what, &event.act) {
            (What::Meant(meant), _)
                if matches!(meant.is, Meaning::Put | Meaning::Remove) || meant.is == Meaning::Get && meant.flag("makes") =>
            {
                if let Some(place) = view.place(meant.part("of").unwrap_or(&meant.receiver)) {
                    changes.push(StateChange {
                        place: base(&place),
                        event: index,
                        value: meant.part("value").cloned().unwrap_or_default(),
                        removes: meant.is == Meaning::Remove,
                        counts: meant.flag("counts"),
                    });
                }
            }
            (_, Act::Write { place, value, op, .. }) => {
                if let Some(at) = view.place(place) {
                    let counts = matches!(op, Some(BinaryOp::Add | BinaryOp::Sub))
                        || matches!(value, Value::Op(BinaryOp::Add | BinaryOp::Sub, pair) if pair.iter().any(|side| view.place(side).is_some_and(|side| side.same(&at))));
                    let removes = matches!(value, Value::Null | Value::Bool(false));
                    changes.push(StateChange { place: base(&at), event: index, value: value.clone(), removes, counts });
                }
            }
            (_, Act::Delete { place }) => {
                if let Some(at) = view.place(place) {
                    changes.push(StateChange {
                        place: base(&at),
                        event: index,
                        value: Value::Null,
                        removes: true,
                        counts: false,
                    });
                }
            }
            _ => {}
        }
    }
    // An entry of nothing is an entry where it is asked whether the key is there: a set in order.
    let asked = |place: &Place| {
        view.events().any(|(_, event)| {
            event.meant(Meaning::Test).and_then(|meant| view.place(&meant.receiver)).is_some_and(|asked| asked.same(place))
        })
    };
    for change in changes.iter_mut().filter(|change| change.removes && change.value == Value::Null) {
        let keyed = matches!(&view.event(change.event).act, Act::Write { place: Value::Index(..), .. });
        change.removes = !(keyed && asked(&change.place));
    }
    changes
}
