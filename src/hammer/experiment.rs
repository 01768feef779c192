//! What one experiment was and what it showed. It does not know the other experiments.

use std::time::Duration;

use super::expect::Holds;
use super::observation::Outcome;
use super::release::Mechanism;
use super::state::State;
use super::tally::Tally;
use super::volley::{Overlap, Times};

/// The cells of the differential control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// One request at each copy, each on an entity of its own.
    C0,
    /// One after another on one copy.
    C1,
    /// One after another across copies.
    C2,
    /// All at once on one copy.
    C3,
    /// All at once across copies.
    C4,
    /// One copy stopped while it holds the request, longer than a lease; another copy is asked meanwhile.
    Stall,
    /// The same, but the stopped copy goes on while the other is at work, and a third request comes after it.
    Third,
    /// One copy killed while it holds the request; another copy is asked afterwards.
    Kill,
    /// One copy runs by itself for a while.
    Alone,
    /// All copies run by themselves for a while.
    Job,
}

impl Cell {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cell::C0 => "c0",
            Cell::C1 => "c1",
            Cell::C2 => "c2",
            Cell::C3 => "c3",
            Cell::C4 => "c4",
            Cell::Stall => "stall",
            Cell::Third => "third",
            Cell::Kill => "kill",
            Cell::Alone => "alone",
            Cell::Job => "job",
        }
    }

    /// What is done, in words.
    pub fn words(self) -> &'static str {
        match self {
            Cell::C0 => "one request at each copy",
            Cell::C1 => "one after another on one copy",
            Cell::C2 => "one after another across copies",
            Cell::C3 => "all at once on one copy",
            Cell::C4 => "all at once across copies",
            Cell::Stall => "one copy stopped in the middle",
            Cell::Third => "a third request after a late release",
            Cell::Kill => "one copy killed in the middle",
            Cell::Alone => "one copy by itself",
            Cell::Job => "all copies by themselves",
        }
    }

    /// Whether what had to hold is tried in it, as opposed to a control.
    pub fn is_trial(self) -> bool {
        self.is_volley() || self == Cell::Job
    }

    /// Whether requests are fired together.
    pub fn is_volley(self) -> bool {
        matches!(self, Cell::C3 | Cell::C4)
    }
}

/// One request of an experiment.
#[derive(Debug, Clone)]
pub struct RequestCourse {
    /// The copy's name.
    pub copy: String,
    /// When what.
    pub times: Times,
    /// What it counts as.
    pub outcome: Outcome,
}

impl RequestCourse {
    /// From the last byte let go to the first of the answer.
    pub fn latency(&self) -> Option<Duration> {
        Some(self.times.first_byte?.saturating_sub(self.times.released))
    }
}

/// One experiment.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Which cell.
    pub cell: Cell,
    /// The round, from 1.
    pub round: u32,
    /// With a pause between the requests.
    pub settled: bool,
    /// The counts.
    pub tally: Tally,
    /// Copies that ran meanwhile.
    pub copies_running: u64,
    /// The state before and after, where it was read, and what the witness saw.
    pub state: Option<State>,
    /// Whether the expectation was met.
    pub holds: Holds,
    /// Whether a third request, refused before the stopped copy had ended, was let in after that, while the second was at work.
    /// `None`: it was not tried, or could not be told.
    pub let_in: Option<bool>,
    /// What was in flight at once, of a volley.
    pub overlap: Option<Overlap>,
    /// From the first last byte let go to the last, of a volley.
    pub spread: Option<Duration>,
    /// How the last bytes were let go.
    pub by: Option<Mechanism>,
    /// Each request's course.
    pub courses: Vec<RequestCourse>,
    /// The answers in words, the most frequent first.
    pub answers: Vec<(String, usize)>,
    /// What else a reader must know.
    pub remarks: Vec<String>,
    /// Why it was not carried out.
    pub failure: Option<String>,
}

impl Experiment {
    /// An experiment that could not be carried out.
    pub fn failed(cell: Cell, round: u32, why: String) -> Experiment {
        Experiment {
            cell,
            round,
            settled: false,
            tally: Tally::default(),
            copies_running: 0,
            state: None,
            holds: Holds::Undecided,
            let_in: None,
            overlap: None,
            spread: None,
            by: None,
            courses: Vec::new(),
            answers: Vec::new(),
            remarks: Vec::new(),
            failure: Some(why),
        }
    }

    /// Whether requests were under way together: at least two, and at two copies where several are fired at. An answer before
    /// the gate shows that the service does not wait for it, so that nothing is known of the others either.
    pub fn overlapped(&self) -> bool {
        let copies = if self.cell == Cell::C4 { self.tally.by_copy.len().min(2) } else { 1 };
        self.overlap.is_some_and(|overlap| overlap.early == 0 && overlap.depth >= 2 && overlap.copies >= copies)
    }

    /// Whether it was a volley that met the expectation only because its requests were not in flight together.
    pub fn was_in_vain(&self) -> bool {
        self.cell.is_volley() && self.failure.is_none() && self.holds == Holds::Yes && !self.overlapped()
    }

    /// Whether it says something about the guard: it was violated, or it was met under requests that overlapped.
    pub fn is_evidence(&self) -> bool {
        match self.holds {
            Holds::No => true,
            Holds::Yes if self.cell == Cell::Third => self.let_in.is_some(),
            Holds::Yes => !self.cell.is_volley() || self.overlapped(),
            Holds::Undecided => false,
        }
    }

    /// The answers in one line.
    pub fn answers_in_words(&self) -> String {
        let all = self.answers.iter().take(4).map(|(what, count)| match count {
            1 => what.clone(),
            _ => format!("{count} x {what}"),
        });
        all.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
impl Experiment {
    /// An experiment with these counts, to be varied in tests.
    pub fn example(cell: Cell, round: u32, holds: Holds, successes_by_copy: &[u64]) -> Experiment {
        let by_copy: Vec<_> = successes_by_copy
            .iter()
            .enumerate()
            .map(|(index, &successes)| super::tally::CopyTally {
                copy: format!("copy {}", index + 1),
                requests: successes.max(17),
                successes,
            })
            .collect();
        let successes = successes_by_copy.iter().sum();
        let requests = by_copy.iter().map(|copy| copy.requests).sum();
        let copies = by_copy.len();
        Experiment {
            holds,
            overlap: cell.is_volley().then_some(Overlap { depth: 17 * copies, copies, early: 0 }),
            tally: Tally { requests, successes, refused: requests - successes, by_copy, ..Tally::default() },
            failure: None,
            ..Experiment::failed(cell, round, String::new())
        }
    }
}
