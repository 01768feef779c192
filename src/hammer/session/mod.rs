//! Carries out one experiment: a fresh entity, its set-up, the requests, and the read afterwards. It does not know which
//! experiment comes next, nor what the counts mean.

mod fault;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::hammer::cli::Gate;
use crate::hammer::controls::Order;
use crate::hammer::expect::Holds;
use crate::hammer::experiment::{Cell, Experiment, RequestCourse};
use crate::hammer::launch::Fleet;
use crate::hammer::observation::{Observation, Outcome};
use crate::hammer::plan::{Plan, Step, Verify};
use crate::hammer::request::Request;
use crate::hammer::state::State;
use crate::hammer::tally::{Tally, count};
use crate::hammer::template::{Entities, Values};
use crate::hammer::volley::{Flight, Hit, Range, Shot, Times, fire, single};
use crate::hammer::witness::{Calls, Witness};

/// The indices of a volley's requests in the order in which they are let go. Request `i` goes to copy `i % copies`.
///
/// Each copy is given all of its own at a stretch: a copy that is given one at a time falls asleep between them, and each
/// wake-up costs more than a request, so that the last copy would get its last one later. `in_turns` where the release takes
/// its time, in which no copy may be left behind.
fn order_of_release(requests: usize, copies: usize, in_turns: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..requests).collect();
    if !in_turns {
        order.sort_by_key(|index| index % copies);
    }
    order
}

/// How much of a body is shown of an answer, in characters.
const EXCERPT: usize = 80;

/// How many parts a release has once a service answered so fast that no overlap was seen.
const CLOSER_LOOK: usize = 8;

/// What one experiment is about: nobody else has touched it.
struct Entity {
    fresh: String,
    captured: Vec<(String, String)>,
    /// The state after its set-up, or why it could not be read.
    before: Result<Value, String>,
    /// What the witness had seen by then.
    calls: Calls,
}

impl Entity {
    fn values(&self, n: usize) -> Values<'_> {
        Values { fresh: &self.fresh, n, captured: &self.captured }
    }
}

/// A run under way.
pub struct Session<'a> {
    plan: &'a Plan,
    range: Range<'a>,
    fleet: Option<&'a mut Fleet>,
    witness: Option<&'a Witness>,
    /// How long the first requests took, each at a copy of its own.
    usual: Vec<Duration>,
    names: Vec<String>,
    entities: Entities,
}

impl<'a> Session<'a> {
    /// Nothing has been sent yet.
    pub fn new(plan: &'a Plan, range: Range<'a>, fleet: Option<&'a mut Fleet>, witness: Option<&'a Witness>) -> Session<'a> {
        let names = range.copies.iter().map(|copy| copy.name.clone()).collect();
        Session { plan, range, fleet, witness, usual: Vec::new(), names, entities: Entities::new() }
    }

    /// Carries out one experiment; what goes wrong is part of it.
    pub fn carry_out(&mut self, order: Order) -> Experiment {
        let made = match order.cell {
            Cell::C0 => self.first_requests(order),
            Cell::C1 | Cell::C2 => self.one_after_another(order),
            Cell::C3 | Cell::C4 => self.all_at_once(order),
            Cell::Stall => self.stalled(order),
            Cell::Third => self.third_after_late_release(order),
            Cell::Kill => self.killed(order),
            // What copies do by themselves needs copies of its own.
            Cell::Alone | Cell::Job => Err("no request is sent in it".to_owned()),
        };
        let experiment = made.unwrap_or_else(|why| Experiment::failed(order.cell, order.round, why));
        if experiment.was_in_vain() {
            self.range.parts = CLOSER_LOOK;
        }
        experiment
    }

    /// One request at each copy, each on an entity of its own.
    fn first_requests(&mut self, order: Order) -> Result<Experiment, String> {
        let mut observations = Vec::new();
        let mut disagreements = Vec::new();
        for copy in 0..self.names.len() {
            let fresh = self.prepared()?;
            let hit = single(&self.range, &self.shot(copy, &fresh, 1))?;
            if let Err(what) = &hit.answer {
                return Err(self.no_answer(copy, what));
            }
            self.usual.extend(hit.times.ended);
            observations.push(self.observe(hit));
            disagreements.extend(self.seen_differently(&fresh)?);
        }
        let accepted = observations.iter().all(|observation| observation.outcome == Outcome::Accepted);
        let holds = if accepted && disagreements.is_empty() { Holds::Yes } else { Holds::Undecided };
        let mut experiment = self.experiment(order, &observations, None);
        experiment.holds = holds;
        experiment.answers.extend(disagreements.into_iter().map(|what| (what, 1)));
        Ok(experiment)
    }

    fn one_after_another(&mut self, order: Order) -> Result<Experiment, String> {
        let fresh = self.prepared()?;
        let copies = if order.cell == Cell::C1 { 1 } else { self.names.len() };
        let mut observations = Vec::new();
        for index in 0..self.plan.sequential_requests(self.names.len()) {
            if self.range.interrupt.raised() {
                return Err("interrupted".to_owned());
            }
            if order.settled && index > 0 {
                self.range.interrupt.sleep(self.plan.settle);
            }
            let copy = index % copies;
            let hit = single(&self.range, &self.shot(copy, &fresh, index + 1)).unwrap_or_else(|what| unsent(copy, what));
            observations.push(self.observe(hit));
        }
        let mut experiment = self.experiment(order, &observations, Some(&fresh));
        experiment.settled = order.settled;
        Ok(experiment)
    }

    fn all_at_once(&mut self, order: Order) -> Result<Experiment, String> {
        let fresh = self.prepared()?;
        let copies = if order.cell == Cell::C3 { 1 } else { self.names.len() };
        let window = self.plan.window(order.round);
        let in_turns = self.range.parts > 1 || !window.is_zero();
        let shots = order_of_release(self.plan.requests_at(copies), copies, in_turns);
        let shots: Vec<Shot> = shots.into_iter().map(|index| self.shot(index % copies, &fresh, index + 1)).collect();
        let frozen = match (&self.fleet, self.plan.gate) {
            (Some(fleet), Gate::Freeze) => fleet.groups().into_iter().take(copies).collect(),
            _ => Vec::new(),
        };
        let range = Range { frozen, window, ..self.range.clone() };
        let Flight { hits, overlap, spread, by } = fire(&range, &shots)?;
        let observations: Vec<Observation> = hits.into_iter().map(|hit| self.observe(hit)).collect();
        let mut experiment = self.experiment(order, &observations, Some(&fresh));
        experiment.overlap = Some(overlap);
        experiment.spread = Some(spread);
        experiment.by = Some(by);
        if overlap.early > 0 {
            experiment.remarks.push(format!("{} answers began before the gate opened", overlap.early));
        }
        Ok(experiment)
    }

    /// What copies did since they were started, without a request.
    pub fn over_a_period(&mut self, order: Order, fresh: String) -> Experiment {
        let entity = Entity { fresh, captured: Vec::new(), before: Ok(Value::Null), calls: Calls::default() };
        let mut experiment = self.experiment(order, &[], Some(&entity));
        experiment.copies_running = self.names.len() as u64;
        if experiment.holds == Holds::No && experiment.tally.effects == Some(0) {
            experiment.holds = Holds::Undecided;
            experiment.remarks.push("nothing happened in that time: does the job run within it? --job can be longer".to_owned());
        }
        experiment
    }

    /// A fresh entity, set up.
    fn prepared(&mut self) -> Result<Entity, String> {
        let mut entity =
            Entity { fresh: self.entities.fresh(), captured: Vec::new(), before: Ok(Value::Null), calls: Calls::default() };
        for step in &self.plan.setup {
            let hit = single(&self.range, &Shot { copy: 0, request: self.step(step, 0, &entity) });
            let answer = hit.and_then(|hit| hit.answer).map_err(|what| format!("--setup '{}': {what}", step.source))?;
            if !(200..400).contains(&answer.status) {
                return Err(format!("--setup '{}' answered {}", step.source, excerpt(answer.status, &answer.text())));
            }
            for (name, place) in &self.plan.captures {
                if !entity.captured.iter().any(|(known, _)| known == name)
                    && let Some(value) = place.find(&answer)
                {
                    entity.captured.push((name.clone(), value));
                }
            }
        }
        let missing = self.plan.captures.iter().find(|(name, _)| !entity.captured.iter().any(|(known, _)| known == name));
        match missing {
            Some((name, _)) => Err(format!("--capture {name}: no answer to a --setup request holds it")),
            None => {
                entity.before = self.read(0, &entity);
                entity.calls = self.witness.map(Witness::calls).unwrap_or_default();
                Ok(entity)
            }
        }
    }

    fn shot(&self, copy: usize, entity: &Entity, n: usize) -> Shot {
        let endpoint = &self.range.copies[copy].endpoint;
        let request = self.plan.request.render(&endpoint.authority, &endpoint.target, entity.values(n));
        Shot { copy, request }
    }

    fn step(&self, step: &Step, copy: usize, entity: &Entity) -> Request {
        step.request.render(&self.range.copies[copy].endpoint.authority, &step.target, entity.values(1))
    }

    fn observe(&self, hit: Hit) -> Observation {
        let criteria = &self.plan.criteria;
        let (outcome, remark) = criteria.judge(&hit.answer);
        let effect = match (&hit.answer, &criteria.effect_id) {
            (Ok(answer), Some(place)) if outcome == Outcome::Accepted => place.find(answer),
            _ => None,
        };
        let served_by = match (&hit.answer, &self.plan.copy_from) {
            (Ok(answer), Some(place)) => place.find(answer),
            _ => None,
        };
        let Hit { copy, times, answer } = hit;
        Observation { copy, times, answer, outcome, served_by, effect, remark }
    }

    /// Counts and judges; nothing is expected of requests about no one entity. Effects are read from its state where the plan says how.
    fn experiment(&self, order: Order, observations: &[Observation], entity: Option<&Entity>) -> Experiment {
        let mut tally = count(observations, &self.names, self.plan.criteria.effect_id.is_some());
        let mut remarks: Vec<String> = distinct(observations.iter().filter_map(|one| one.remark.clone()));
        let mut readable = true;
        let mut state = None;
        if let (Some(_), Some(entity)) = (&self.plan.verify, entity) {
            match self.state(entity) {
                Ok(read) => {
                    match read.effects() {
                        Some(effects) => settle(&mut tally, effects, &mut remarks),
                        None if self.plan.expectation.speaks_of_effects() => {
                            readable = false;
                            remarks.push(format!(
                                "the state is no whole number, and so no count of effects: {}",
                                shorten(&read.after.to_string())
                            ));
                        }
                        None => {}
                    }
                    state = Some(read);
                }
                Err(what) => {
                    readable = false;
                    remarks.push(what);
                }
            }
        } else if tally.nameless > 0 {
            readable = false;
            remarks.push(format!("{} accepted answers hold no --effect-id", tally.nameless));
        }
        if let (Some(witness), Some(entity)) = (self.witness, entity) {
            let calls = witness.settled(&self.range.interrupt).since(&entity.calls);
            remarks.extend(
                calls
                    .unexpected
                    .iter()
                    .map(|(call, count)| format!("the witness was called as {call} ({count} times), which no --witness answers")),
            );
            if self.plan.verify.is_none() && self.plan.criteria.effect_id.is_none() && self.plan.witness.len() == 1 {
                settle(&mut tally, calls.effects(&self.plan.witness), &mut remarks);
            }
            let seen = state.get_or_insert_default();
            (seen.calls, seen.calls_by_copy) = (calls.totals(), calls.by_copy(&self.names));
        }
        let known = state.clone().unwrap_or_default();
        let judged = entity.map(|_| self.plan.expectation.judge(&tally, &known));
        let holds = match judged.unwrap_or(Ok(Holds::Undecided)) {
            // What is known may be too few effects, never too many.
            Ok(Holds::No) if !readable && tally.effects.is_some_and(|effects| effects > 1) => Holds::No,
            Ok(_) if !readable => Holds::Undecided,
            Ok(holds) => holds,
            Err(error) => {
                remarks.push(format!("--expect has no answer here: {error}; {}", known.in_words()));
                Holds::Undecided
            }
        };
        if holds == Holds::No && self.plan.expectation.speaks_of_state() {
            remarks.push(known.in_words());
        }
        Experiment {
            holds,
            courses: observations.iter().map(|one| self.course(one)).collect(),
            answers: answers(observations),
            remarks,
            failure: None,
            tally,
            state,
            ..Experiment::failed(order.cell, order.round, String::new())
        }
    }

    fn course(&self, observation: &Observation) -> RequestCourse {
        let Observation { copy, times, outcome, .. } = observation;
        let copy = observation.served_by.clone().unwrap_or_else(|| self.names[*copy].clone());
        RequestCourse { copy, times: *times, outcome: *outcome }
    }

    /// The state of an entity now, as this copy or the database shows it; null where the plan says no way to read it.
    fn read(&self, copy: usize, entity: &Entity) -> Result<Value, String> {
        match &self.plan.verify {
            None => Ok(Value::Null),
            Some(Verify::Sql(query)) => {
                // Values of answers could hold anything; names of entities are letters and digits.
                if let Some((name, _)) = entity.captured.iter().find(|(_, value)| value.contains(['\'', '"', '\\', ';'])) {
                    return Err(format!(
                        "--verify-sql: the value of {{{{capture.{name}}}}} has quotes in it, and is not put into SQL"
                    ));
                }
                query.read(&query.statement().render(entity.values(1)), self.range.timeout)
            }
            Some(Verify::Http(step, place)) => {
                let failed = |what: String| format!("--verify '{}': {what}", step.source);
                let hit = single(&self.range, &Shot { copy, request: self.step(step, copy, entity) });
                let answer = hit.and_then(|hit| hit.answer).map_err(failed)?;
                let found = place.value(&answer).filter(|_| (200..300).contains(&answer.status));
                found.ok_or_else(|| failed(format!("nothing there in {}", excerpt(answer.status, &answer.text()))))
            }
        }
    }

    /// The state before and now. What could not be read before is nothing: an entity may come to be by the first request.
    fn state(&self, entity: &Entity) -> Result<State, String> {
        let before = match &entity.before {
            Ok(before) => before.clone(),
            Err(what) if self.plan.expectation.speaks_of_before() => return Err(format!("before the requests: {what}")),
            Err(_) => Value::Null,
        };
        Ok(State { before, after: self.read(0, entity)?, ..State::default() })
    }

    /// Whether the copies see different effects of the same request.
    fn seen_differently(&self, entity: &Entity) -> Result<Option<String>, String> {
        let Some(Verify::Http(..)) = &self.plan.verify else { return Ok(None) };
        let seen = (0..self.names.len()).map(|copy| self.read(copy, entity)).collect::<Result<Vec<_>, _>>()?;
        let same = seen.iter().all(|effects| Some(effects) == seen.first());
        let each = || self.names.iter().zip(&seen).map(|(name, effects)| format!("{name} sees {effects}"));
        Ok((!same).then(|| format!("the copies see different states: {}", each().collect::<Vec<_>>().join(", "))))
    }

    fn no_answer(&self, copy: usize, what: &str) -> String {
        format!(
            "{}: the first request got no answer: {what}. Does an HTTP/1.1 service listen there, and what does its log say?",
            self.names[copy]
        )
    }
}

fn settle(tally: &mut Tally, effects: u64, remarks: &mut Vec<String>) {
    tally.effects = Some(effects);
    tally.effects_settled = true;
    if tally.unknown > 0 {
        let (unknown, s) = (tally.unknown, if effects == 1 { "" } else { "s" });
        remarks
            .push(format!("{unknown} requests without a clear answer are settled by the state, which shows {effects} effect{s}"));
    }
}

fn unsent(copy: usize, what: String) -> Hit {
    Hit { copy, times: Times::default(), answer: Err(what) }
}

/// Distinct answers with their number, the most frequent first.
fn answers(observations: &[Observation]) -> Vec<(String, usize)> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for observation in observations {
        let words = match &observation.answer {
            Ok(answer) => excerpt(answer.status, &answer.text()),
            Err(what) => what.clone(),
        };
        *kinds.entry(words).or_default() += 1;
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds
}

fn excerpt(status: u16, body: &str) -> String {
    match body.trim() {
        "" => status.to_string(),
        body => format!("{status} `{}`", shorten(body)),
    }
}

fn shorten(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(EXCERPT).collect();
    if text.chars().count() > EXCERPT { format!("{line}...") } else { line }
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::order_of_release;

    #[test]
    fn every_copy_is_given_one_request_and_then_the_rest_at_a_stretch() {
        assert_eq!(order_of_release(8, 3, false), [0, 3, 6, 1, 4, 7, 2, 5]);
        assert_eq!(order_of_release(4, 1, false), [0, 1, 2, 3]);
        assert_eq!(order_of_release(8, 3, true), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
