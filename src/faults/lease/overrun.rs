//! `lock-lease-overrun`: what runs under a lease, or between two runs that it is to keep apart, can take longer than it lasts.

use super::cost::{Cost, around, cost, rounds};
use super::round::Round;
use super::{Lease, shown};
use crate::facts::Value;
use crate::faults::candidate::{Candidate, Only};
use crate::faults::effects::{Sureness, effect};
use crate::faults::subject::Judged;
use crate::faults::view::View;
use crate::faults::{Confidence, Role};
use crate::program::{FlatEvent, What};
use crate::rules::Severity;

/// A lease that ends this much before the next run leaves it open.
const MOST_OF_A_PERIOD: f64 = 0.75;
/// Milliseconds of a lease that nobody expects to be outlasted by calls which usually answer at once.
const LONG: f64 = 600e3;
/// Milliseconds between runs from which on one run more than meant is a fault; what runs all the time may well do so.
const RARE: f64 = 3_600e3;

/// Why a lease can be outlasted.
struct Reason<'v> {
    work: (u32, &'v FlatEvent),
    says: String,
    confidence: Confidence,
    /// It speaks of work handed in from outside the tree only: callers that are seen speak for themselves.
    uncalled: bool,
}

/// Reports a lease that can be outlasted; whether it can.
pub(super) fn detect(view: &View<'_>, lease: &Lease<'_>, found: &mut Judged) -> bool {
    if lease.renewed || lease.unguarded(view).is_empty() {
        return false;
    }
    let Some(reason) = reason(view, lease) else { return false };
    let lasts =
        lease.ttl.map_or("the lease ends by itself".to_owned(), |ttl| format!("the lease ends after {}", shown(ttl.most)));
    let message = format!("{lasts}, and {}: then another copy comes in while this one still works", reason.says);
    let mut candidate = Candidate::new(view, "lock-lease-overrun", lease.event, reason.work.1, message);
    candidate.hop(Role::Acquire, lease.event, "taken here, and never prolonged");
    candidate.hop(Role::Effect, reason.work.1, format!("{}, while it is held", view.describe(reason.work.1)));
    candidate.stands = true;
    candidate.severity = lease.spent.then_some(Severity::Advice);
    candidate.only = reason.uncalled.then_some(Only::WhereUncalled);
    found.push(candidate.at_most(lease.confidence()).at_most(reason.confidence));
    !reason.uncalled
}

fn reason<'v>(view: &View<'v>, lease: &Lease<'v>) -> Option<Reason<'v>> {
    // Where nothing frees it, only what its answer decides about is work under it.
    let guarded = |index: u32, event: &FlatEvent| {
        let asks = |cond: u32| view.cond_depends(cond).contains(&lease.acquire);
        lease.release.is_some()
            || event.guards.iter().any(|guard| asks(guard.cond))
            || view.passed(index).iter().any(|guard| asks(guard.cond))
    };
    let under: Vec<(u32, &FlatEvent)> = lease.under(view).filter(|(index, event)| guarded(*index, event)).collect();
    let timed: Vec<(u32, &FlatEvent, Cost)> =
        under.iter().filter_map(|(index, event)| Some((*index, *event, cost(view, *index, event)?))).collect();
    let short = lease.ttl.is_none_or(|ttl| ttl.most <= LONG);
    let likely = if short { Confidence::High } else { Confidence::Medium };
    if let Some((index, event, _)) = timed.iter().find(|(_, _, cost)| *cost == Cost::Forever) {
        let says = format!("{} has no timeout", view.describe(event));
        return Some(Reason { work: (*index, event), says, confidence: likely, uncalled: false });
    }
    let ttl = lease.ttl?;
    if let Some(reason) = in_sum(view, lease, &timed, ttl.most) {
        return Some(reason);
    }
    let remote = timed.iter().map(|(index, event, _)| (*index, *event, Confidence::Medium));
    let presumed = under.iter().filter_map(|(index, event)| match &event.what {
        What::Presumed(presumed) if !presumed.reads && (presumed.strong || short) => Some((*index, *event, Confidence::Low)),
        What::Meant(_) if effect(view, event) == Some(Sureness::Known) && far(event) => {
            Some((*index, *event, Confidence::Medium))
        }
        _ => None,
    });
    let looped = remote.chain(presumed).find(|(_, event, _)| rounds(view, lease.event, event).is_none());
    if let Some((index, event, confidence)) = looped {
        let says = format!("{} is repeated under it as often as there is work", view.describe(event));
        return Some(Reason { work: (index, event), says, confidence: confidence.min(likely), uncalled: false });
    }
    let handed = under.iter().find(|(_, event)| handed_in(view, event))?;
    let says = format!("nothing bounds how long {} takes", view.describe(handed.1));
    Some(Reason { work: *handed, says, confidence: Confidence::Low, uncalled: true })
}

/// Calls that can together take longer than the lease lasts.
fn in_sum<'v>(view: &View<'v>, lease: &Lease<'v>, timed: &[(u32, &'v FlatEvent, Cost)], ttl: f64) -> Option<Reason<'v>> {
    let mut known: Vec<(u32, &FlatEvent, f64)> = timed
        .iter()
        .filter_map(|(index, event, cost)| match cost {
            Cost::AtMost(ms) => Some((*index, *event, ms * rounds(view, lease.event, event)?)),
            _ => None,
        })
        .collect();
    known.sort_by(|(a, _, left), (b, _, right)| right.total_cmp(left).then(a.cmp(b)));
    let mut total = 0.0;
    let mut taken: Vec<&FlatEvent> = vec![];
    for (_, event, ms) in &known {
        let other_way = |other: &&FlatEvent| {
            event
                .guards
                .iter()
                .any(|guard| other.guards.iter().any(|known| known.cond == guard.cond && known.holds != guard.holds))
        };
        if !taken.iter().any(other_way) {
            total += ms;
            taken.push(event);
        }
    }
    let (index, event, longest) = known.first()?;
    if total <= ttl {
        return None;
    }
    let says = match taken.len() {
        1 => format!("{} can take {}", view.describe(event), shown(*longest)),
        calls => format!("the {calls} calls under it can take {}", shown(total)),
    };
    Some(Reason { work: (*index, event), says, confidence: Confidence::High, uncalled: false })
}

/// Whether a call reaches another service.
fn far(event: &FlatEvent) -> bool {
    matches!(&event.what, What::Meant(meant)
        if meant.text("kind").is_some_and(|kind| matches!(kind.as_str(), "http" | "mail" | "pay" | "push")))
}

/// Work that a caller gives: a method of an object of which nothing is known. A bare callback is for its callers to judge.
fn handed_in(view: &View<'_>, event: &FlatEvent) -> bool {
    let Some((callee, _)) = event.call() else { return false };
    let given = |value: &Value| matches!(value, Value::Param(function, _) if *function == view.flat.root);
    match (&event.what, callee) {
        (What::Presumed(presumed), Value::Member(of, _)) => !presumed.reads && given(of),
        _ => false,
    }
}

/// A lease that is kept from one run to the next ends before the next run starts.
pub(super) fn between_runs(view: &View<'_>, lease: &Lease<'_>, round: &Round, found: &mut Judged) {
    let (Some(ttl), Some(period)) = (lease.ttl, round.period) else { return };
    if lease.renewed || !round.keeps(view, lease) || !round.drifts || ttl.most >= period * MOST_OF_A_PERIOD {
        return;
    }
    if lease.event.in_loop.is_some_and(|(spot, _)| round.within != Some(spot) && around(spot, lease.event)) {
        return;
    }
    let Some((_, work, sureness)) = lease.unguarded(view).into_iter().next() else { return };
    let message = format!(
        "the lease ends after {}, and the job runs every {}: a copy whose clock started at another moment runs it again in between",
        shown(ttl.most),
        shown(period)
    );
    let mut candidate = Candidate::new(view, "lock-lease-overrun", lease.event, work, message);
    candidate.add(Role::Entry, round.at, format!("every {}", shown(period)));
    candidate.hop(Role::Acquire, lease.event, "taken here, and kept until it ends");
    candidate.hop(Role::Effect, work, view.describe(work));
    candidate.stands = true;
    candidate.confidence = match sureness {
        Sureness::Known => Confidence::High,
        Sureness::Presumed => Confidence::Medium,
        Sureness::Opaque => Confidence::Low,
    };
    found.push(candidate.at_most(lease.confidence()));
}

/// A lease that is given back when its run ends keeps nobody from the run who comes to it later.
pub(super) fn given_back(view: &View<'_>, lease: &Lease<'_>, round: &Round, found: &mut Judged) {
    let (Some(release), Some(period)) = (lease.release, round.period) else { return };
    if !round.drifts || period < RARE || !round.takes(view, lease) {
        return;
    }
    // What a read or a test decides about finds nothing to do the second time.
    let always = |event: &FlatEvent| {
        round.is_in(event.in_loop.map(|(spot, _)| spot))
            && event.guards.iter().all(|guard| view.cond_depends(guard.cond).contains(&lease.acquire))
    };
    let done = lease.unguarded(view).into_iter().find(|(_, event, sureness)| *sureness == Sureness::Known && always(event));
    let Some((_, work, _)) = done else { return };
    let message = format!(
        "the lease is given back when the run ends, and the job runs every {}: a copy whose clock started at another moment finds it free and runs it again",
        shown(period)
    );
    let mut candidate = Candidate::new(view, "lock-lease-overrun", lease.event, work, message);
    candidate.add(Role::Entry, round.at, format!("every {}", shown(period)));
    candidate.hop(Role::Acquire, lease.event, "taken here");
    candidate.hop(Role::Effect, work, view.describe(work));
    candidate.hop(Role::Release, view.event(release), "given back before the last copy has asked for it");
    candidate.stands = true;
    found.push(candidate.at_most(lease.confidence()).at_most(Confidence::Medium));
}
