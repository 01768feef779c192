//! One copy stops, or dies, while it holds a request: its lease runs out under it, or what it held stays taken. It does not
//! know what that means.

use std::time::{Duration, Instant};

use super::{Entity, Session, answers, unsent};
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

/// The copy that a third request goes to, where there are so many.
const THIRD: usize = 2;
/// How often one looks whether something has ended.
const GLANCE: Duration = Duration::from_millis(1);

/// Does something to the victim, asks other copies about the entity, and returns what that came to. The last argument tells whether
/// the victim has answered.
type Fault<'f> = dyn FnMut(&mut Session<'_>, &Entity, &dyn Fn() -> bool) -> Result<Vec<Hit>, String> + 'f;

/// What happened while the victim held its request; `None`: it had answered before.
type Meanwhile = Option<Vec<Hit>>;

impl Session<'_> {
    /// The victim is stopped in the middle, for longer than a lease; another copy gets the request before it goes on.
    pub(super) fn stalled(&mut self, order: Order) -> Result<Experiment, String> {
        let stall = self.plan.stall.unwrap_or_default();
        let (fresh, point, hits) = self.in_the_middle(order, &mut |session, entity, _| {
            let shot = session.shot(OTHER, entity, 2);
            let fleet = session.fleet.as_deref().ok_or("no copy was started")?;
            fleet.stop(VICTIM).map_err(|error| format!("{error:#}"))?;
            session.range.interrupt.sleep(stall);
            // A row lock makes the other wait for the stopped one, which has to go on some time.
            let patience = PATIENCE + session.usual() * 4;
            let other = std::thread::scope(|scope| {
                let other = scope.spawn(|| single(&session.range, &shot).unwrap_or_else(|what| unsent(OTHER, what)));
                let until = Instant::now() + patience;
                while !other.is_finished() && Instant::now() < until && !session.range.interrupt.raised() {
                    std::thread::sleep(GLANCE);
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

    /// The victim is stopped for longer than a lease and goes on while another copy is at work. If its late release lets in
    /// a third request, it frees what is not its own.
    pub(super) fn third_after_late_release(&mut self, order: Order) -> Result<Experiment, String> {
        let stall = self.plan.stall.unwrap_or_default();
        let third = THIRD.min(self.names.len() - 1);
        let mut at_work = false;
        let (fresh, point, hits) = self.in_the_middle(order, &mut |session, entity, answered| {
            let (second, before, after) =
                (session.shot(OTHER, entity, 2), session.shot(third, entity, 3), session.shot(third, entity, 4));
            let fleet = session.fleet.as_deref().ok_or("no copy was started")?;
            let send = |shot: &Shot| single(&session.range, shot).unwrap_or_else(|what| unsent(shot.copy, what));
            let (head_start, patience) = (session.usual() / 4, PATIENCE + session.usual() * 4);
            fleet.stop(VICTIM).map_err(|error| format!("{error:#}"))?;
            session.range.interrupt.sleep(stall);
            let (hits, working) = std::thread::scope(|scope| {
                let second = scope.spawn(|| send(&second));
                std::thread::sleep(head_start);
                let before = scope.spawn(|| send(&before));
                let wait = |ended: &dyn Fn() -> bool| {
                    let until = Instant::now() + patience;
                    while !ended() && !second.is_finished() && Instant::now() < until && !session.range.interrupt.raised() {
                        std::thread::sleep(GLANCE);
                    }
                };
                wait(&|| before.is_finished());
                // It may wait for the lock, and then it says nothing.
                let refused = before.is_finished();
                fleet.resume(VICTIM).map_err(|error| format!("{error:#}"))?;
                wait(answered);
                let working = refused && answered() && !second.is_finished();
                let after = working.then(|| send(&after));
                let joined = [second, before].map(|one| one.join().map_err(|_| "a sending thread failed".to_owned()));
                let mut hits = joined.into_iter().collect::<Result<Vec<_>, _>>()?;
                hits.extend(after);
                Ok::<_, String>((hits, working))
            })?;
            at_work = working;
            Ok(hits)
        })?;
        let observations: Vec<_> = hits.into_iter().map(|hit| self.observe(hit)).collect();
        let mut experiment = self.experiment(order, &observations, Some(&fresh));
        // Whoever was stopped, or came late, may well be refused: a fault is only what was done twice.
        let done = experiment.tally.effects.unwrap_or_default().max(experiment.tally.successes);
        if experiment.holds == Holds::No && done < 2 {
            experiment.holds = Holds::Yes;
        }
        let refused = |outcome| matches!(outcome, Outcome::Refused | Outcome::RefusedElsewhere);
        if let ([_, _, before, after], true) = (observations.as_slice(), at_work)
            && refused(before.outcome)
        {
            experiment.let_in = match after.outcome {
                Outcome::Accepted => Some(true),
                // The same answer: what kept it out before keeps it out now.
                _ if answers(std::slice::from_ref(before)) == answers(std::slice::from_ref(after)) => Some(false),
                _ => None,
            };
        }
        let (victim, other, third) = (&self.names[VICTIM], &self.names[OTHER], &self.names[third]);
        let told = match experiment.let_in {
            Some(true) => format!("{third} refused a third request before, and took one after {victim} had ended"),
            Some(false) => format!("{third} refused a third request before and after {victim} had ended"),
            None => "a third request could not tell whether the late end lets anybody in".to_owned(),
        };
        experiment.remarks.insert(
            0,
            format!(
                "{victim} was stopped {point:?} into the request, for {stall:?}, and went on while {other} was at work; {told}"
            ),
        );
        Ok(experiment)
    }

    /// The victim is killed in the middle; another copy gets the request at once, and again after the lease.
    pub(super) fn killed(&mut self, order: Order) -> Result<Experiment, String> {
        let (plan, lease) = (self.plan, self.plan.lease);
        let Source::Started(launch) = &plan.source else { return Err("no copy was started".to_owned()) };
        let (fresh, point, mut hits) = self.in_the_middle(order, &mut |session, entity, _| {
            let shot = session.shot(OTHER, entity, 2);
            let fleet = session.fleet.as_deref_mut().ok_or("no copy was started")?;
            fleet.kill(VICTIM).map_err(|error| format!("{error:#}"))?;
            let ask = || single(&session.range, &shot).unwrap_or_else(|what| unsent(OTHER, what));
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
            let point = self.point(order) / 2_u32.pow(attempt);
            let first = self.shot(VICTIM, &fresh, 1);
            // It answers only once it goes on.
            let patient = Range { timeout: self.range.timeout * 2 + self.plan.stall.unwrap_or_default(), ..self.range.clone() };
            let (victim, meanwhile) = std::thread::scope(|scope| {
                let victim = scope.spawn(|| single(&patient, &first));
                std::thread::sleep(point.max(SOONEST));
                let meanwhile: Result<Meanwhile, String> = match victim.is_finished() {
                    true => Ok(None),
                    false => fault(self, &fresh, &|| victim.is_finished()).map(Some),
                };
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

    /// How far into the request the fault of this round is made: evenly over the time that the first requests took. What goes
    /// on while another is at work is to end before it, and has half of it behind itself.
    fn point(&self, order: Order) -> Duration {
        let course = self.plan.course(self.names.len());
        let evenly = |rounds: u32| self.usual() * (2 * order.round - 1) / (2 * rounds.max(1));
        match order.cell {
            Cell::Third => self.usual() / 2 + evenly(course.third_rounds()) / 2,
            _ => evenly(course.fault_rounds()),
        }
    }

    /// The median of what the first requests took.
    fn usual(&self) -> Duration {
        let mut all = self.usual.clone();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or_default()
    }
}
