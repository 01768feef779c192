//! Counts over the observations of one experiment. It does not know what was expected.

use std::collections::BTreeSet;

use super::observation::{Observation, Outcome};

/// What one experiment came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests sent.
    pub requests: u64,
    /// Accepted.
    pub successes: u64,
    /// Refused by the guard.
    pub refused: u64,
    /// Refused by something else: no evidence of a guard.
    pub refused_elsewhere: u64,
    /// Without a clear answer.
    pub unknown: u64,
    /// Distinct effects, where they are counted.
    pub effects: Option<u64>,
    /// Distinct effects that the answers name, where they name any.
    pub named: Option<u64>,
    /// The effects were read from the state, so that unknown requests are settled.
    pub effects_settled: bool,
    /// Accepted answers that named no effect though they should.
    pub nameless: u64,
    /// The same, per copy.
    pub by_copy: Vec<CopyTally>,
}

/// One copy's part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyTally {
    /// The copy's name.
    pub copy: String,
    /// Requests sent to it.
    pub requests: u64,
    /// Requests it accepted.
    pub successes: u64,
}

/// Counts the observations. `names`: the copies' names. `by_id`: effects are told apart by the id in the answer.
pub fn count(observations: &[Observation], names: &[String], by_id: bool) -> Tally {
    let mut tally = Tally { requests: observations.len() as u64, ..Tally::default() };
    let mut ids = BTreeSet::new();
    for observation in observations {
        match observation.outcome {
            Outcome::Accepted => tally.successes += 1,
            Outcome::Refused => tally.refused += 1,
            Outcome::RefusedElsewhere => tally.refused_elsewhere += 1,
            Outcome::Unknown => tally.unknown += 1,
        }
        if observation.outcome == Outcome::Accepted && by_id {
            match &observation.effect {
                Some(id) => _ = ids.insert(id.as_str()),
                None => tally.nameless += 1,
            }
        }
    }
    tally.named = by_id.then_some(ids.len() as u64);
    tally.effects = tally.named;
    let name = |observation: &Observation| observation.served_by.clone().unwrap_or_else(|| names[observation.copy].clone());
    let mut all: Vec<String> = names.to_vec();
    let served: BTreeSet<String> = observations.iter().filter_map(|one| one.served_by.clone()).collect();
    all.extend(served.into_iter().filter(|name| !names.contains(name)));
    for copy in &all {
        let own = || observations.iter().filter(|observation| name(observation) == *copy);
        let requests = own().count() as u64;
        let successes = own().filter(|observation| observation.outcome == Outcome::Accepted).count() as u64;
        if requests > 0 {
            tally.by_copy.push(CopyTally { copy: copy.clone(), requests, successes });
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(copy: usize, outcome: Outcome, effect: Option<&str>) -> Observation {
        Observation { outcome, effect: effect.map(str::to_owned), ..Observation::example(copy) }
    }

    #[test]
    fn outcomes_and_effects_are_counted_per_copy() {
        let names = ["a".to_owned(), "b".to_owned(), "idle".to_owned()];
        let observations = [
            seen(0, Outcome::Accepted, Some("o1")),
            seen(0, Outcome::Refused, None),
            seen(1, Outcome::Accepted, Some("o1")),
            seen(1, Outcome::Accepted, None),
            seen(1, Outcome::Unknown, Some("o9")),
            seen(1, Outcome::RefusedElsewhere, None),
        ];
        let tally = count(&observations, &names, true);
        assert_eq!((tally.successes, tally.refused, tally.refused_elsewhere, tally.unknown), (3, 1, 1, 1));
        assert_eq!((tally.effects, tally.nameless), (Some(1), 1));
        let part = |copy: &str, requests, successes| CopyTally { copy: copy.to_owned(), requests, successes };
        assert_eq!(tally.by_copy, [part("a", 2, 1), part("b", 4, 2)]);
        assert_eq!(count(&observations, &names, false).effects, None);
    }
}
