//! `process-session` made by hand: what one request makes up, and this process keeps, another request is held against.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::candidate::{Candidate, Only};
use super::effects::fresh;
use super::subject::{Judged, Kind, Subject};
use super::tests_of_state::{base, changes};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{FnRef, Value};
use crate::program::{Args, Place, Spot, What};
use crate::rules::{Meaning, Scope, TypeKind};
use crate::syntax::BinaryOp;

const RULE: &str = "process-session";

/// State in which values that were made up are kept, with where one is put there.
pub(super) type MadeUp = HashMap<Place, Spot>;

pub(super) fn detect(view: &View<'_>, judged: &mut Judged) {
    let all = changes(view);
    let puts = all.iter().filter(|change| !change.removes && is_made_up(view, &change.value) && keeps(view, &change.place));
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
        let asked = view.event(*asked);
        let mut candidate = Candidate::new(
            view,
            RULE,
            asked,
            asked,
            "what one request made up is kept in this process and looked up by another: with a second copy it may land where nothing is known"
                .to_owned(),
        );
        if let Some((file, span)) = view.made(place).at {
            candidate.add(Role::State, Spot { file, span }, "kept in this process".to_owned());
        }
        candidate.hop(Role::Check, asked, "looked up here, and compared with what the request gives");
        candidate.only = Some(Only::MadeUpElsewhere(place.clone()));
        judged.push(candidate.at_most(Confidence::High).about(Subject::of(Kind::Sessions, asked).kept_in(view, place)));
    }
}

/// Whether a value is new each time, or an object that is made of one that is.
fn is_made_up(view: &View<'_>, value: &Value) -> bool {
    let parts = match value {
        Value::Flat(index) => view.event(*index).call().map_or(&[][..], |(_, args)| args),
        _ => &[],
    };
    fresh(view, value) || parts.iter().any(|(_, part)| fresh(view, part))
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
    let given = |value: &Value| value.any(&|part| matches!(part, Value::Param(..)));
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
