//! `process-guard` and `process-single-flight`: a set, map or flag of one process is tested before shared work and changed
//! around it.

use super::candidate::Candidate;
use super::effects::{Sureness, decided, effect, idempotent, reads, refreshes_credential};
use super::tests_of_state::{StateChange, StateTest, changes, tests_guarding};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::FlatEvent;
use crate::rules::Scope;
use crate::rules::TypeKind;

pub(super) fn detect(view: &View<'_>, found: &mut Vec<Candidate>) {
    let changes = changes(view);
    if !changes.iter().any(|change| !change.removes) {
        return;
    }
    let mut best: Vec<(StateTest, Candidate)> = vec![];
    for (index, event) in view.events() {
        let Some(sureness) = effect(view, event) else { continue };
        // A callback that nobody waits for hands on; it is not work that this function guards.
        let handed_on = sureness == Sureness::Opaque && !matches!(event.act, Act::Call { awaited: true, .. });
        if handed_on || idempotent(view, event) || decided(view, index, event) {
            continue;
        }
        for test in tests_guarding(view, event) {
            // Work that is done where the entry is there looks something up; it does not ask whether it was done.
            if test.absent == Some(false) {
                continue;
            }
            let file = test.event.map_or(test.at.file, |index| view.event(index).origin.0.file);
            let near = |change: &StateChange| view.event(change.event).origin.0.file == file;
            let Some(change) = changes.iter().find(|change| !change.removes && change.place.same(&test.place) && near(change))
            else {
                continue;
            };
            if counts_only(&changes, &test) || only_reports(view, &test) {
                continue;
            }
            let remembers = remembers(view, &changes, &test, index, event);
            let refresh = refreshes_credential(view, event);
            if remembers && !refresh {
                continue;
            }
            let candidate = candidate(view, &test, change, event, sureness, refresh);
            match best.iter_mut().find(|(known, _)| known.place == test.place) {
                Some((_, known))
                    if (known.rule == "process-single-flight", known.confidence) >= (refresh, candidate.confidence) => {}
                Some((known_test, known)) => {
                    *known_test = test;
                    *known = candidate;
                }
                None => best.push((test, candidate)),
            }
        }
    }
    found.extend(best.into_iter().map(|(_, candidate)| candidate));
}

/// A counter: another rule's business.
fn counts_only(changes: &[StateChange], test: &StateTest) -> bool {
    let mut own = changes.iter().filter(|change| change.place.same(&test.place) && !change.removes).peekable();
    own.peek().is_some() && own.all(|change| change.counts)
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
        // The effect happens inside a call whose result is kept.
        depends.iter().any(|at| {
            let call = view.event(*at);
            let inside = event.hops.contains(&call.at) || event.within.contains(at);
            inside && !matches!(change.value, Value::Bool(_) | Value::Number(_))
        })
    };
    let own: Vec<&StateChange> = changes.iter().filter(|change| !change.removes && change.place.same(&test.place)).collect();
    given_out(view, test)
        || own.iter().any(|change| keeps(change) || caches(view, change))
        || own.iter().all(|change| matches!(change.value, Value::Function(_)) || lives_here(view, &change.value))
}

/// Whether what was found is what the function returns: a memo.
fn given_out(view: &View<'_>, test: &StateTest) -> bool {
    let got = |part: &Value| match (part, test.event) {
        (Value::Flat(index), Some(event)) => *index == event && view.event(event).meant(crate::rules::Meaning::Get).is_some(),
        (Value::Member(..) | Value::Module(..), None) => view.place(part).is_some_and(|place| place.same(&test.place)),
        _ => false,
    };
    view.flat.returns.iter().any(|(value, _)| value.any(&got))
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

fn candidate(
    view: &View<'_>,
    test: &StateTest,
    change: &StateChange,
    event: &FlatEvent,
    sureness: Sureness,
    refresh: bool,
) -> Candidate {
    let what = view.describe(event);
    let tested = test.event.map(|index| view.event(index));
    let cause = tested.unwrap_or(event);
    let (rule, message) = if refresh {
        (
            "process-single-flight",
            format!(
                "one refresh per process: what is in flight is known to this copy only, so every copy calls {what}, and each refresh can end the token another copy just got"
            ),
        )
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
        Sureness::Opaque => Confidence::Low,
        Sureness::Presumed => Confidence::Medium,
        Sureness::Known => Confidence::High,
    };
    candidate.at_most(confidence)
}
