//! One copy stops, or dies, while it holds a request: its lease runs out under it, or what it held stays taken. It does not
//! know what that means.

use std::time::{Duration, Instant};

use super::{Entity, Session, unsent};
use crate::hammer::controls::Order;
use crate::hammer::expect::Holds;
use crate::hammer::experiment::{Cell, Experiment};
use crate::hammer::observation::Outcome;
use crate::hammer::plan::Source;
use crate::hammer::volley::{Hit, Range, Shot, single};

/// The copy that the fault happens to, and the one that is asked meanwhile.
const VICTIM: usize = 0;
const OTHER: usize = 1;
/// How often a fault is tried, ever earlier, until the request has not been answered before it.
const TRIES: u32 = 4;
/// How long the other copy may take while the victim is stopped, beside four times what a request usually takes.
const PATIENCE: Duration = Duration::from_secs(1);
/// The shortest time that is waited before a fault.
const SOONEST: Duration = Duration::from_micros(200);

/// Does something to the victim, asks the other copy with the shot, and returns what that came to.
type Fault<'f> = dyn FnMut(&mut Session<'_>, &Shot) -> Result<Vec<Hit>, String> + 'f;

/// What happened while the victim held its request; `None`: it had answered before.
type Meanwhile = Option<Vec<Hit>>;

impl Session<'_> {
    /// The victim is stopped in the middle, for longer than a lease; another copy gets the request before it goes on.
    pub(super) fn stalled(&mut self, order: Order) -> Result<Experiment, String> {
        let stall = self.plan.stall.unwrap_or_default();
        let (fresh, point, hits) = self.in_the_middle(order, &mut |session, shot| {
            let fleet = session.fleet.as_deref().ok_or("no copy was started")?;
            fleet.stop(VICTIM).map_err(|error| format!("{error:#}"))?;
            session.range.interrupt.sleep(stall);
            // A row lock makes the other wait for the stopped one, which has to go on some time.
            let patience = PATIENCE + session.usual() * 4;
            let other = std::thread::scope(|scope| {
                let other = scope.spawn(|| single(&session.range, shot).unwrap_or_else(|what| unsent(OTHER, what)));
                let until = Instant::now() + patience;
                while !other.is_finished() && Instant::now() < until && !session.range.interrupt.raised() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                fleet.resume(VICTIM).map_err(|error| format!("{error:#}"))?;
                other.join().map_err(|_| "a sending thread failed".to_owned())
            })?;
            Ok(vec![other])
        })?;
        let observations: Vec<_> = hits.into_iter().map(|hit| self.observe(hit)).collect();
        let mut experiment = self.experiment(order, &observations, Some(&fresh));
        let name = &self.names[VICTIM];
        experiment.remarks.insert(0, format!("{name} was stopped {point:?} into the request, for {stall:?}"));
        Ok(experiment)
    }

    /// The victim is killed in the middle; another copy gets the request at once, and again after the lease.
    pub(super) fn killed(&mut self, order: Order) -> Result<Experiment, String> {
        let (plan, lease) = (self.plan, self.plan.lease);
        let Source::Started(launch) = &plan.source else { return Err("no copy was started".to_owned()) };
        let (fresh, point, mut hits) = self.in_the_middle(order, &mut |session, shot| {
            let fleet = session.fleet.as_deref_mut().ok_or("no copy was started")?;
            fleet.kill(VICTIM).map_err(|error| format!("{error:#}"))?;
            let ask = || single(&session.range, shot).unwrap_or_else(|what| unsent(OTHER, what));
            let at_once = ask();
            session.range.interrupt.sleep(lease);
            Ok(vec![at_once, ask()])
        })?;
        if let Some(fleet) = self.fleet.as_deref_mut() {
            fleet
                .restart(VICTIM, launch, &self.range.tls, &self.range.interrupt)
                .map_err(|error| format!("after the kill: {error:#}"))?;
        }
        // What the dead copy did shows in the state alone.
        hits.remove(0);
        let observations: Vec<_> = hits.into_iter().map(|hit| self.observe(hit)).collect();
        let mut experiment = self.experiment(order, &observations, Some(&fresh));
        let blocked = observations.iter().all(|one| one.outcome != Outcome::Accepted);
        if blocked && experiment.tally.effects_settled && experiment.tally.effects == Some(0) {
            experiment.holds = Holds::No;
            experiment.remarks.push(format!("nobody could go on, not even {lease:?} after the kill"));
        } else if blocked && !experiment.tally.effects_settled {
            experiment.holds = Holds::Undecided;
            experiment
                .remarks
                .push("whether the killed request had its effect is not known: read the state with --verify".to_owned());
        }
        experiment.remarks.insert(0, format!("{} was killed {point:?} into the request", self.names[VICTIM]));
        Ok(experiment)
    }

    /// Sends the request to the victim and does something while it is under way. Returns the entity, when that was, and the
    /// victim's fate before those that came of it.
    fn in_the_middle(&mut self, order: Order, fault: &mut Fault<'_>) -> Result<(Entity, Duration, Vec<Hit>), String> {
        for attempt in 0..TRIES {
            if self.range.interrupt.raised() {
                return Err("interrupted".to_owned());
            }
            let fresh = self.prepared()?;
            let point = self.point(order.round) / 2_u32.pow(attempt);
            let (first, second) = (self.shot(VICTIM, &fresh, 1), self.shot(OTHER, &fresh, 2));
            // It answers only once it goes on.
            let patient = Range { timeout: self.range.timeout * 2 + self.plan.stall.unwrap_or_default(), ..self.range.clone() };
            let (victim, meanwhile) = std::thread::scope(|scope| {
                let victim = scope.spawn(|| single(&patient, &first));
                std::thread::sleep(point.max(SOONEST));
                let meanwhile: Result<Meanwhile, String> =
                    if victim.is_finished() { Ok(None) } else { fault(self, &second).map(Some) };
                (victim.join(), meanwhile)
            });
            let victim = victim.map_err(|_| "a sending thread failed".to_owned())?.unwrap_or_else(|what| unsent(VICTIM, what));
            if let Some(others) = meanwhile? {
                return Ok((fresh, point, std::iter::once(victim).chain(others).collect()));
            }
        }
        let what = if order.cell == Cell::Kill { "killed" } else { "stopped" };
        Err(format!("{} answers too fast: it could not be {what} in the middle of a request", self.names[VICTIM]))
    }

    /// How far into the request the fault of this round is made: evenly over the time that the first requests took.
    fn point(&self, round: u32) -> Duration {
        let rounds = self.plan.course(self.names.len()).fault_rounds();
        self.usual() * (2 * round - 1) / (2 * rounds.max(1))
    }

    /// The median of what the first requests took.
    fn usual(&self) -> Duration {
        let mut all = self.usual.clone();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    }
}
