//! `process-session` made by hand: what one request makes up, and this process keeps, another request is held against.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::candidate::{Candidate, Only};
use super::effects::fresh;
use super::exists::says_exists;
use super::subject::{Judged, Kind, Subject};
use super::tests_of_state::{StateChange, base, changes, tests_guarding};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, FnRef, Guard, Value};
use crate::program::{Args, FlatEvent, Holder, Place, Spot, What};
use crate::rules::{Meaning, Scope, TypeKind, words};
use crate::syntax::{BinaryOp, ExitKind};

const RULE: &str = "process-session";

/// State in which values that were made up are kept, with where one is put there.
pub(super) type MadeUp = HashMap<Place, Spot>;

pub(super) fn detect(view: &View<'_>, judged: &mut Judged) {
    let all = changes(view);
    // What was looked up under a key before it is put there is not made up: it is kept so that it need not be made again.
    let looked_up = |change: &StateChange| {
        let tests = tests_guarding(view, view.event(change.event));
        tests
            .iter()
            .filter(|test| test.place.same(&change.place))
            .any(|test| test.event.is_some_and(|event| view.event(event).meant(Meaning::Get).is_some()))
    };
    let under_it = |change: &StateChange| {
        key_of(view.event(change.event)).is_some_and(|key| fresh(view, key))
            && !is_handle(view, &change.value)
            && !looked_up(change)
    };
    let puts = all.iter().filter(|change| {
        !change.removes
            && (is_made_up(view, change) || under_it(change))
            && !ends_here(view, &all, change)
            && keeps(view, &change.place)
            && !super::process_guard::gives_out(view, &root(&change.place))
    });
    let made_up: Vec<(Place, Spot)> = puts.map(|put| (root(&put.place), view.event(put.event).at)).collect();
    let mut told: Vec<Place> = made_up.iter().map(|(place, _)| place.clone()).collect();
    judged.made_up.extend(made_up);
    let asks = asks(view);
    if asks.is_empty() {
        return;
    }
    let conds = (0..).zip(&view.flat.conds).map(|(index, cond)| (&cond.value, view.cond_depends(index)));
    let answers = view.flat.returns.iter().map(|(value, _)| (value, Rc::new(view.flat.depends(value))));
    let decided = conds.chain(answers).filter(|(_, depends)| asks.iter().any(|(asked, _)| depends.contains(asked)));
    for (kept, given) in decided.flat_map(|(value, depends)| compared(view, value, &depends)) {
        let from = view.flat.depends(&kept);
        let Some((asked, place)) = asks.iter().find(|(asked, place)| from.contains(asked) && !told.contains(place)) else {
            continue;
        };
        if !comes_from_outside(view, &given) {
            continue;
        }
        told.push(place.clone());
        judged.push(candidate(view, place, view.event(*asked), "looked up here, and compared with what the request gives"));
    }
    for (index, place) in &asks {
        let asked = view.event(*index);
        let What::Meant(meant) = &asked.what else { continue };
        let of_sign_in = || {
            names_of(view, place).iter().flat_map(|name| words(name)).any(|word| view.world.tree.book.verbs.is_of_sign_in(&word))
        };
        let taken_out = meant.is == Meaning::Remove && meant.part("of").is_none();
        let looked_up = matches!(meant.is, Meaning::Get | Meaning::Test) && !meant.flag("makes") && of_sign_in();
        let given = || meant.part("key").is_some_and(|key| comes_from_outside(view, key));
        if !told.contains(place) && (taken_out || looked_up) && given() && tells_who_asks(view, *index, asked) {
            told.push(place.clone());
            let how = "taken out here by what the request gives, and who finds nothing is refused";
            judged.push(candidate(view, place, asked, how));
        }
    }
}

fn candidate(view: &View<'_>, place: &Place, asked: &FlatEvent, how: &str) -> Candidate {
    let message = "what one request made up is kept in this process and looked up by another: with a second copy it may land where nothing is known";
    let mut candidate = Candidate::new(view, RULE, asked, asked, message.to_owned());
    if let Some((file, span)) = view.made(place).at {
        candidate.add(Role::State, Spot { file, span }, "kept in this process".to_owned());
    }
    candidate.hop(Role::Check, asked, how);
    candidate.only = Some(Only::MadeUpElsewhere(place.clone()));
    candidate.at_most(Confidence::High).about(Subject::of(Kind::Sessions, asked).kept_in(view, place))
}

/// The names of what holds a piece of state.
fn names_of(view: &View<'_>, place: &Place) -> Vec<String> {
    let own = match &place.holder {
        Holder::Variable(_, name) | Holder::Global(name) | Holder::Closure(_, name) | Holder::Carried(.., name) => {
            vec![name.to_string()]
        }
        Holder::Field(class, name) => {
            let class = view.world.tree.class(*class).map(|class| class.name.clone());
            class.into_iter().chain([name.to_string()]).collect()
        }
        Holder::Local(_) | Holder::Param(..) | Holder::Library(..) => vec![],
    };
    own.into_iter().chain(place.path.iter().map(ToString::to_string)).collect()
}

/// The key under which an event puts something into state.
fn key_of(event: &FlatEvent) -> Option<&Value> {
    match (&event.what, &event.act) {
        (What::Meant(meant), _) => meant.part("key"),
        (_, Act::Write { place: Value::Index(_, key), .. }) => Some(key),
        _ => None,
    }
}

/// Whether a value is, or holds, what only this process can use: the end of a channel, a connection, a task.
fn is_handle(view: &View<'_>, value: &Value) -> bool {
    let tree = view.world.tree;
    let named = |name: &str| words(name).last().is_some_and(|word| tree.book.verbs.is_handle(word));
    value.any(&|part| match part {
        Value::Object(_, entries) => entries.iter().any(|(name, _)| named(name)),
        Value::Function(_) => true,
        other => {
            let ends = || {
                let ty = tree.ty(&view.flat.plain(other), view.root().file);
                ty.path().is_some_and(|path| named(path.trim_end_matches("()")))
            };
            tree.name_of(other).is_some_and(|name| named(&name)) || ends()
        }
    })
}

/// Whether the answer of an event decides what whoever asks gets: where it finds nothing an error or nothing at all is given.
fn tells_who_asks(view: &View<'_>, index: u32, asked: &FlatEvent) -> bool {
    let about = |value: &Value| view.flat.depends(value).contains(&index);
    let missing = |guard: &Guard| {
        let cond = view.flat.conds.get(guard.cond as usize);
        cond.is_some_and(|cond| says_exists(view, &cond.value, index).is_some_and(|exists| exists != guard.holds))
    };
    let leaves = |event: &FlatEvent| {
        matches!(event.act, Act::Exit { kind: ExitKind::Return | ExitKind::Throw, .. }) && event.guards.iter().any(missing)
    };
    asked.propagated
        || view.flat.returns.iter().any(|(value, _)| about(value))
        || view.events().any(|(at, event)| {
            at > index && (leaves(event) || event.propagated && event.call().is_some_and(|(callee, _)| about(callee)))
        })
}

/// Whether what is put is new each time, or an object that is made of what is. What is worked out of its key alone is not.
fn is_made_up(view: &View<'_>, change: &StateChange) -> bool {
    let parts = match &change.value {
        Value::Flat(index) => view.event(*index).call().map_or(&[][..], |(_, args)| args),
        _ => &[],
    };
    let from_key = key_of(view.event(change.event)).map(|key| view.flat.depends(key)).unwrap_or_default();
    let made_up = |value: &Value| {
        let from = view.flat.depends(value);
        from.into_iter().any(|at| view.event(at).meant(Meaning::Fresh).is_some() && !from_key.contains(&at))
    };
    let same = |value: &Value| key_of(view.event(change.event)) == Some(value);
    let values = || [&change.value].into_iter().chain(parts.iter().map(|(_, part)| part));
    values().any(made_up) || values().any(|value| same(value) && fresh(view, value))
}

/// Whether an entry is taken out again, whatever happens, where the run that put it ends: nobody comes back to it.
fn ends_here(view: &View<'_>, all: &[StateChange], put: &StateChange) -> bool {
    all.iter().any(|other| {
        other.removes && other.event > put.event && view.event(other.event).in_finally && other.place.same(&put.place)
    })
}

/// The state as a whole.
fn root(place: &Place) -> Place {
    Place { path: vec![], ..base(place) }
}

/// Whether a place is a container of this process that outlives a request.
fn keeps(view: &View<'_>, place: &Place) -> bool {
    let made = view.made(place);
    view.lasts(place) && made.kind == TypeKind::State && made.scope == Scope::Process
}

/// What a value compares with each other: the sides of an equality, or what a function that nobody knows more of is given.
fn compared(view: &View<'_>, value: &Value, depends: &HashSet<u32>) -> Vec<(Value, Value)> {
    let mut pairs: Vec<(Value, Value)> = vec![];
    value.walk(&mut |part| match part {
        Value::Op(BinaryOp::Equal | BinaryOp::NotEqual, pair) => pairs.push((pair[0].clone(), pair[1].clone())),
        // What is left of such a call where it stands behind others.
        Value::Mix(parts) => {
            pairs.extend(parts.iter().zip(parts.iter().skip(1)).map(|(one, other)| (one.clone(), other.clone())));
        }
        _ => {}
    });
    let mut calls: Vec<u32> = depends.iter().copied().collect();
    calls.sort_unstable();
    for event in calls.into_iter().map(|index| view.event(index)) {
        let unknown = matches!(event.what, What::Nothing) && !event.inlined;
        if let Some((_, args)) = event.call().filter(|(_, args)| unknown && args.len() >= 2) {
            pairs.push((args[0].1.clone(), args[1].1.clone()));
        }
    }
    pairs.into_iter().flat_map(|(one, other)| [(one.clone(), other.clone()), (other, one)]).collect()
}

/// Whether a value is what a caller or a request gives, and nothing that is kept.
fn comes_from_outside(view: &View<'_>, value: &Value) -> bool {
    let request = |name: &str| view.world.tree.book.reach.request_words.iter().any(|word| word == name);
    let given = |value: &Value| {
        value.any(&|part| match part {
            Value::Param(..) => true,
            Value::Module(_, name) | Value::Global(name) => request(name),
            _ => false,
        })
    };
    given(value)
        || view.flat.depends(value).into_iter().map(|index| view.event(index)).any(|event| {
            let asks = |(callee, args): (&Value, &Args)| given(callee) || args.iter().any(|(_, value)| given(value));
            event.statement().is_none() && event.call().is_some_and(asks)
        })
}

/// Calls that ask for what such a container keeps or take it out, in order, and the container.
fn asks(view: &View<'_>) -> Vec<(u32, Place)> {
    let asked = view.events().filter_map(|(index, event)| {
        let What::Meant(meant) = &event.what else { return None };
        let asks = match meant.is {
            Meaning::Test | Meaning::Get | Meaning::Remove => true,
            Meaning::Put => meant.flag("tells"),
            _ => false,
        };
        let place = view.place(&meant.receiver).filter(|_| asks)?;
        Some((index, root(&place)))
    });
    asked.filter(|(_, place)| keeps(view, place)).collect()
}

/// Leaves out look-ups in state where nothing is put that was made up, and names what is.
pub(super) fn confirm(made_up: &MadeUp, found: &mut Vec<(FnRef, Candidate)>) {
    found.retain_mut(|(_, candidate)| {
        let Some(Only::MadeUpElsewhere(place)) = &candidate.only else { return true };
        let Some(at) = made_up.get(place) else { return false };
        candidate.trace.insert(0, (Role::State, *at, "made up here".to_owned()));
        true
    });
}
