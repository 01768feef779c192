//! `process-session` made by hand: what one request makes up, and this process keeps, another request is held against.

use std::collections::HashMap;

use super::candidate::{Candidate, Only};
use super::effects::fresh;
use super::subject::{Judged, Kind, Subject};
use super::tests_of_state::{base, changes, tests_in};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{FnRef, Value};
use crate::program::{Args, FlatEvent, Place, Spot, What};
use crate::rules::{Meaning, Scope, TypeKind};
use crate::syntax::BinaryOp;

const RULE: &str = "process-session";

/// State in which values that were made up are kept, with where one is put there.
pub(super) type MadeUp = HashMap<Place, Spot>;

pub(super) fn detect(view: &View<'_>, judged: &mut Judged) {
    let all = changes(view);
    let puts = all.iter().filter(|change| !change.removes && is_made_up(view, &change.value) && keeps(view, &change.place));
    let made_up: Vec<(Place, Spot)> = puts.map(|put| (root(&put.place), view.event(put.event).at)).collect();
    let conds = view.flat.conds.iter().map(|cond| (&cond.value, cond.at));
    let here = view.flat.events.first().map(|event| event.at);
    let answers = view.flat.returns.iter().filter_map(|(value, _)| Some((value, here?)));
    let mut told: Vec<Place> = made_up.iter().map(|(place, _)| place.clone()).collect();
    for (kept, given, at) in conds.chain(answers).flat_map(|(value, at)| compared(view, value, at)) {
        if !comes_from_outside(view, &given) {
            continue;
        }
        let Some((place, asked)) = kept_in(view, &kept, at).filter(|(place, _)| !told.contains(place)) else { continue };
        told.push(place.clone());
        let mut candidate = Candidate::new(
            view,
            RULE,
            asked,
            asked,
            "what one request made up is kept in this process and looked up by another: with a second copy it may land where nothing is known"
                .to_owned(),
        );
        if let Some((file, span)) = view.made(&place).at {
            candidate.add(Role::State, Spot { file, span }, "kept in this process".to_owned());
        }
        candidate.hop(Role::Check, asked, "looked up here, and compared with what the request gives");
        candidate.only = Some(Only::MadeUpElsewhere(place.clone()));
        judged.push(candidate.at_most(Confidence::High).about(Subject::of(Kind::Sessions, asked).kept_in(view, &place)));
    }
    judged.made_up.extend(made_up);
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
fn compared(view: &View<'_>, value: &Value, at: Spot) -> Vec<(Value, Value, Spot)> {
    let mut pairs: Vec<(Value, Value)> = vec![];
    value.walk(&mut |part| match part {
        Value::Op(BinaryOp::Equal | BinaryOp::NotEqual, pair) => pairs.push((pair[0].clone(), pair[1].clone())),
        // What is left of such a call where it stands behind others.
        Value::Mix(parts) => {
            pairs.extend(parts.iter().zip(parts.iter().skip(1)).map(|(one, other)| (one.clone(), other.clone())));
        }
        _ => {}
    });
    let mut calls: Vec<u32> = view.flat.depends(value).into_iter().collect();
    calls.sort_unstable();
    for event in calls.into_iter().map(|index| view.event(index)) {
        let unknown = matches!(event.what, What::Nothing) && !event.inlined;
        if let Some((_, args)) = event.call().filter(|(_, args)| unknown && args.len() >= 2) {
            pairs.push((args[0].1.clone(), args[1].1.clone()));
        }
    }
    pairs.into_iter().flat_map(|(one, other)| [(one.clone(), other.clone(), at), (other, one, at)]).collect()
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

/// The state that a value was taken out of by its key, and the call that took it.
fn kept_in<'v>(view: &View<'v>, value: &Value, at: Spot) -> Option<(Place, &'v FlatEvent)> {
    let asked = tests_in(view, value, at).into_iter().filter_map(|test| Some((test.place, view.event(test.event?))));
    let mut taken: Vec<u32> = view.flat.depends(value).into_iter().collect();
    taken.sort_unstable();
    let taken = taken.into_iter().filter_map(|index| {
        let event = view.event(index);
        let receiver = &event.meant(Meaning::Remove).or_else(|| event.meant(Meaning::Get))?.receiver;
        Some((view.place(receiver)?, event))
    });
    asked.chain(taken).map(|(place, event)| (root(&place), event)).find(|(place, _)| keeps(view, place))
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
