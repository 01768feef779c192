//! What copies do by themselves: one copy runs for a while, then all of them, each time anew, and the effects are counted. It
//! does not know what the counts mean.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rustls::ClientConfig;

use super::controls::Order;
use super::copies::Copy;
use super::expect::Holds;
use super::experiment::{Cell, Experiment};
use super::interrupt::Interrupt;
use super::launch;
use super::plan::{Launch, Plan};
use super::session::Session;
use super::template::Entities;
use super::volley::Range;
use super::witness::Witness;

/// The environment variable that names a run.
const FRESH: &str = "LOCKCHECK_FRESH";

/// Runs one copy, then all of them, until something fails or the rounds are over. Returns the copies of the last run too.
pub fn conduct(
    plan: &Plan,
    launch: &Launch,
    tls: &Arc<ClientConfig>,
    interrupt: &Interrupt,
) -> Result<(Vec<Experiment>, Vec<Copy>)> {
    let mut entities = Entities::new();
    let mut run = |cell: Cell, copies: u16, round: u32| -> Result<(Experiment, Vec<Copy>)> {
        let order = Order { cell, round, settled: false };
        one(plan, &Launch { copies, ..launch.clone() }, order, entities.fresh(), tls, interrupt)
    };
    let (alone, mut copies) = run(Cell::Alone, 1, 1)?;
    let mut done = vec![alone];
    for round in 1..=plan.rounds {
        let last = done.last().map(|last| last.holds);
        if interrupt.raised() || last != Some(Holds::Yes) {
            break;
        }
        let (experiment, of) = run(Cell::Job, launch.copies, round)?;
        copies = of;
        done.push(experiment);
    }
    Ok((done, copies))
}

fn one(
    plan: &Plan,
    launch: &Launch,
    order: Order,
    fresh: String,
    tls: &Arc<ClientConfig>,
    interrupt: &Interrupt,
) -> Result<(Experiment, Vec<Copy>)> {
    let count = usize::from(launch.copies);
    let witness = if plan.witness.is_empty() { None } else { Some(Witness::listen(&plan.witness, count)?) };
    let environment = |copy: usize| {
        let address = witness.as_ref().and_then(|witness| witness.environment(copy));
        address.into_iter().chain([(FRESH.to_owned(), fresh.clone())]).collect()
    };
    let mut fleet = launch::start(launch, (0..count).map(environment).collect(), tls, interrupt)?;
    interrupt.sleep(plan.job.unwrap_or_default());
    let fallen = fleet.failed();
    let copies = fleet.copies.clone();
    let range = Range {
        copies: &copies,
        tls: Arc::clone(tls),
        hold: plan.hold,
        mechanism: plan.mechanism,
        parts: 1,
        timeout: plan.timeout,
        http2: plan.http2,
        frozen: Vec::new(),
        window: Duration::ZERO,
        interrupt: interrupt.clone(),
    };
    let mut experiment = Session::new(plan, range, None, witness.as_ref()).over_a_period(order, fresh);
    if interrupt.raised() || (!fallen.is_empty() && experiment.holds == Holds::Yes) {
        experiment.holds = Holds::Undecided;
    }
    experiment.remarks.extend(fallen);
    if experiment.holds != Holds::Yes {
        let logs = fleet.keep_logs().display().to_string();
        experiment.remarks.push(format!("the copies' logs are in {logs}"));
    }
    drop(fleet);
    Ok((experiment, copies))
}
