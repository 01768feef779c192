//! How far a run has come, in one line. It does not judge.

use std::collections::BTreeMap;

use super::expect::Holds;
use super::experiment::{Cell, Experiment};

/// What has been seen so far.
pub struct Seen {
    rounds: u32,
    cell: Option<Cell>,
    round: u32,
    trials: u32,
    violated: u32,
    by_copy: BTreeMap<String, (u64, u64)>,
}

impl Seen {
    /// Nothing yet, of so many rounds at most.
    pub fn new(rounds: u32) -> Seen {
        Seen { rounds, cell: None, round: 0, trials: 0, violated: 0, by_copy: BTreeMap::new() }
    }

    /// Takes in one experiment.
    pub fn add(&mut self, one: &Experiment) {
        self.cell = Some(one.cell);
        self.round = one.round;
        self.trials += u32::from(one.cell != Cell::C0);
        self.violated += u32::from(one.cell != Cell::C0 && one.holds == Holds::No);
        for copy in &one.tally.by_copy {
            let (successes, requests) = self.by_copy.entry(copy.copy.clone()).or_default();
            *successes += copy.successes;
            *requests += copy.requests;
        }
    }

    /// All of it in a line.
    pub fn in_words(&self) -> String {
        let Some(cell) = self.cell else { return String::new() };
        let copies = self.by_copy.iter().map(|(name, (successes, requests))| format!("{name} {successes}/{requests}"));
        let so_far = if self.violated > 0 { "broken so far" } else { "held so far" };
        format!(
            "{} ({}), round {} of {}; {so_far} ({} of {} violated); accepted: {}",
            cell.name().to_uppercase(),
            cell.words(),
            self.round,
            self.rounds,
            self.violated,
            self.trials,
            copies.collect::<Vec<_>>().join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_round_verdict_and_copies() {
        let mut seen = Seen::new(5);
        assert_eq!(seen.in_words(), "");
        seen.add(&Experiment::example(Cell::C0, 1, Holds::Yes, &[1, 1]));
        seen.add(&Experiment::example(Cell::C4, 2, Holds::No, &[1, 1]));
        assert_eq!(
            seen.in_words(),
            "C4 (all at once across copies), round 2 of 5; broken so far (1 of 1 violated); accepted: copy 1 2/34, copy 2 2/34"
        );
    }
}
