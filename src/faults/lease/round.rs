//! [`Round`]: what runs again and again, how often, and which leases it keeps from one run to the next.

use super::Lease;
use crate::facts::{FnRef, Value};
use crate::faults::view::View;
use crate::program::{FlatEvent, Flattener, Look, Meant, Spot, amount, decorator, of_schedule};
use crate::rules::Meaning;
use crate::syntax::ExitKind;

/// One job, timer or endless loop.
pub(super) struct Round {
    /// Where it is registered, or its loop.
    pub at: Spot,
    /// Milliseconds between two runs.
    pub period: Option<f64>,
    /// Each copy counts from its own start, so that their runs do not coincide.
    pub drifts: bool,
    /// The loop whose rounds are the runs.
    pub within: Option<Spot>,
}

impl Round {
    /// Whether a lease taken in a run is kept until it ends, under a key that all runs share.
    pub fn keeps(&self, view: &View<'_>, lease: &Lease<'_>) -> bool {
        lease.release.is_none() && self.takes(view, lease)
    }

    /// Whether each run asks once for a lease under a key that all runs share.
    pub fn takes(&self, view: &View<'_>, lease: &Lease<'_>) -> bool {
        let same_for_all = lease.key.as_ref().is_some_and(|key| {
            view.flat.depends(key).is_empty()
                && !key.any(&|part| matches!(part, Value::Element(_) | Value::Index(..) | Value::Unknown | Value::Mix(_)))
        });
        same_for_all && self.is_in(lease.event.in_loop.map(|(spot, _)| spot)) && !retried(view, lease.event)
    }

    /// Whether what stands in this loop, or in none, is done once a run.
    pub fn is_in(&self, in_loop: Option<Spot>) -> bool {
        self.within == in_loop
    }
}

/// Calls `visit` with everything this function runs again and again: itself, where it is a job; bodies it gives to
/// schedulers; loops that work, wait and work again.
pub(super) fn each(view: &View<'_>, flattener: &Flattener<'_>, visit: &mut dyn FnMut(&View<'_>, &Round)) {
    let tree = view.world.tree;
    let root = view.root();
    for (value, span) in tree.facts(root).map(|facts| &facts.decorators[..]).unwrap_or_default() {
        if let Some(meant) = decorator(tree, value, root.file).filter(|meant| meant.is == Meaning::Job) {
            visit(view, &of_job(view, &meant, root, Spot { file: root.file, span: *span }));
        }
    }
    for (_, event) in view.events().filter(|(_, event)| event.hops.is_empty()) {
        let Some(meant) = event.meant(Meaning::Job) else { continue };
        let round = of_job(view, meant, root, event.at);
        let bodies = meant.part("body").map(|body| flattener.flats(&view.flat.plain(body), root.file));
        for body in bodies.into_iter().flatten() {
            visit(&View::new(view.world, &body), &round);
        }
    }
    let mut loops: Vec<Spot> = vec![];
    for (_, event) in view.events() {
        if let Some((spot, true)) = event.in_loop
            && event.meant(Meaning::Sleep).is_some()
            && !loops.contains(&spot)
        {
            loops.push(spot);
            visit(view, &Round { at: spot, period: waits(view, spot), drifts: true, within: Some(spot) });
        }
    }
}

fn of_job(view: &View<'_>, meant: &Meant, root: FnRef, at: Spot) -> Round {
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let period = meant.part("period");
    let scheduled = period.and_then(|period| view.world.tree.settled(period).text()).and_then(|text| of_schedule(&text));
    let counted = period.and_then(|period| amount(&look, period, root.file));
    let counted = counted.and_then(|time| time.in_ms(meant.text("unit").as_deref())).map(|time| time.least);
    Round { at, period: scheduled.or(counted), drifts: scheduled.is_none(), within: None }
}

/// How long the rounds of a loop wait.
fn waits(view: &View<'_>, spot: Spot) -> Option<f64> {
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let sleeps = view.events().filter(|(_, event)| event.in_loop.is_some_and(|(at, _)| at == spot));
    let times = sleeps.filter_map(|(_, event)| {
        let meant = event.meant(Meaning::Sleep)?;
        let time = amount(&look, meant.part("time")?, event.origin.0.file)?;
        time.in_ms(meant.text("unit").as_deref()).map(|time| time.least)
    });
    times.reduce(f64::max)
}

/// Whether a lock is asked for again and again until it is had: its loop ends when it was taken.
pub(super) fn retried(view: &View<'_>, taking: &FlatEvent) -> bool {
    let Some((spot, _)) = taking.in_loop else { return false };
    let Some(file) = view.world.tree.files.get(spot.file as usize) else { return false };
    let about = |facts: &crate::facts::FnFacts, function: u32, value: &Value| {
        let owner = FnRef { file: spot.file, func: function };
        value.any(&|part| {
            facts.event_of(owner, part).and_then(|index| facts.events.get(index as usize)).is_some_and(|event| {
                let at = Spot { file: spot.file, span: event.span };
                at == taking.at
                    || taking.hops.contains(&at)
                    || event.span.start <= taking.at.span.start
                        && taking.at.span.end <= event.span.end
                        && taking.at.file == spot.file
            })
        })
    };
    file.functions.iter().enumerate().any(|(function, facts)| {
        let Some(number) = facts.loops.iter().position(|known| known.span == spot.span) else { return false };
        let function = function as u32;
        let test = facts.loops[number].test.as_ref().is_some_and(|test| about(facts, function, test));
        test || facts.events.iter().any(|event| {
            let leaves = matches!(&event.act, crate::facts::Act::Exit { kind: ExitKind::Return | ExitKind::Break, .. });
            leaves
                && event.in_loop == Some(number as u32)
                && !event.in_catch
                && event
                    .guards
                    .iter()
                    .any(|guard| facts.conds.get(guard.cond as usize).is_some_and(|cond| about(facts, function, &cond.value)))
        })
    })
}
