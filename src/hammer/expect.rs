//! What must hold of an experiment's counts. It does not know how they came about.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use cel::Value;

use super::expression::{Expression, cel_value};
use super::state::State;
use super::tally::Tally;

const NAMES: [&str; 10] =
    ["successes", "refused", "unknown", "effects", "requests", "by_copy", "before", "after", "witness", "witness_by_copy"];

/// An expectation over counts.
#[derive(Debug)]
pub struct Expectation {
    expression: Expression,
}

/// What is counted beside answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    /// Answers name their effects.
    pub named: bool,
    /// The state is read before and after.
    pub state: bool,
    /// How many routes the witness has.
    pub calls: usize,
}

/// Whether an expectation is met, given what is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// It is, whatever became of the requests without a clear answer.
    Yes,
    /// It is not, whatever became of them.
    No,
    /// They decide.
    Undecided,
}

impl Expectation {
    /// Reads the expectation, or takes the usual one: one effect where effects are counted, else one success.
    pub fn parse(source: Option<&str>, counted: Counted) -> Result<Expectation> {
        let Counted { named, state, calls } = counted;
        // Calls of one route are effects; of several, an expectation must say which.
        let effects_counted = named || state || calls == 1;
        if calls > 1 && source.is_none() && !effects_counted {
            return Err(anyhow!("--witness has several routes: say what must hold of them, as --expect 'witness.mail == 1'"));
        }
        let usual = if effects_counted { "effects == 1" } else { "successes == 1" };
        let expression = Expression::compile("--expect", source.unwrap_or(usual), &NAMES)?;
        if expression.uses("effects") && !effects_counted {
            return Err(anyhow!(
                "--expect speaks of effects: say how they are counted, with --effect-id, --verify, --verify-sql or one --witness"
            ));
        }
        let expectation = Expectation { expression };
        if expectation.speaks_of_state() {
            // What the state looks like shows only once it is read.
            let (reads, asks) = (expectation.speaks_of_reads(), expectation.speaks_of_calls());
            return match (reads && !state, asks && calls == 0) {
                (true, _) => Err(anyhow!(
                    "--expect speaks of the state before or after: say how it is read, with --verify or --verify-sql"
                )),
                (_, true) => {
                    Err(anyhow!("--expect speaks of the witness: say what it plays, as --witness 'mail = POST /send 202'"))
                }
                _ => Ok(expectation),
            };
        }
        let trial = Tally { effects: effects_counted.then_some(1), ..Tally::default() };
        expectation.evaluate(&trial, &State::default(), 0, 1).map(|_| expectation).map_err(|error| anyhow!("--expect: {error}"))
    }

    /// Whether it speaks of what was read before or after, or of calls that the witness saw.
    pub fn speaks_of_state(&self) -> bool {
        self.speaks_of_reads() || self.speaks_of_calls()
    }

    fn speaks_of_reads(&self) -> bool {
        self.expression.uses("before") || self.expression.uses("after")
    }

    fn speaks_of_calls(&self) -> bool {
        self.expression.uses("witness") || self.expression.uses("witness_by_copy")
    }

    /// Whether it speaks of what was read before.
    pub fn speaks_of_before(&self) -> bool {
        self.expression.uses("before")
    }

    /// Whether it speaks of the number of effects.
    pub fn speaks_of_effects(&self) -> bool {
        self.expression.uses("effects")
    }

    /// The text as given.
    pub fn source(&self) -> &str {
        self.expression.source()
    }

    /// The limit that the expectation speaks of: its one whole number above one.
    pub fn limit(&self) -> Option<u64> {
        let source = self.source();
        let mut numbers = source
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .filter_map(|word| word.trim_end_matches('u').parse::<u64>().ok())
            .filter(|&number| number > 1);
        let first = numbers.next()?;
        numbers.all(|number| number == first).then_some(first)
    }

    /// Whether counts beyond one and the same request matter, so that an experiment needs the full number of requests.
    pub fn counts_beyond_one(&self) -> bool {
        self.source()
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word.trim_end_matches('u').parse::<u64>().is_ok_and(|number| number > 1))
            || self.expression.uses("requests")
            || self.speaks_of_state()
    }

    /// Judges the counts: each unknown may have been a success, and may have been an effect of its own; that it got no
    /// clear answer is known.
    pub fn judge(&self, tally: &Tally, state: &State) -> Result<Holds, String> {
        let known = tally.effects.unwrap_or(0);
        let mut answers = (false, false);
        for more in 0..=tally.unknown {
            let most = if tally.effects_settled { 0 } else { more };
            let least = if tally.effects_settled || known > 0 || more == 0 { 0 } else { 1 };
            for effects in [known + least, known + most] {
                match self.evaluate(tally, state, more, effects)? {
                    true => answers.0 = true,
                    false => answers.1 = true,
                }
            }
        }
        let by_copy_open = tally.unknown > 0 && self.expression.uses("by_copy");
        Ok(match answers {
            (true, false) if !by_copy_open => Holds::Yes,
            (false, true) if !by_copy_open => Holds::No,
            _ => Holds::Undecided,
        })
    }

    fn evaluate(&self, tally: &Tally, state: &State, more: u64, effects: u64) -> Result<bool, String> {
        let int = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let by_copy: HashMap<String, Value> = tally.by_copy.iter().map(|copy| (copy.copy.clone(), int(copy.successes))).collect();
        self.expression.holds(vec![
            ("successes", int(tally.successes + more)),
            ("refused", int(tally.refused + tally.refused_elsewhere)),
            ("unknown", int(tally.unknown)),
            ("effects", int(effects)),
            ("requests", int(tally.requests)),
            ("by_copy", by_copy.into()),
            ("before", cel_value(&state.before)),
            ("after", cel_value(&state.after)),
            ("witness", cel_value(&state.calls)),
            ("witness_by_copy", cel_value(&state.calls_by_copy)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judge(source: Option<&str>, tally: &Tally) -> Holds {
        Expectation::parse(source, Counted { named: tally.effects.is_some(), ..Counted::default() })
            .unwrap()
            .judge(tally, &State::default())
            .unwrap()
    }

    fn tally(successes: u64, unknown: u64, effects: Option<u64>) -> Tally {
        Tally { requests: 50, successes, unknown, effects, ..Tally::default() }
    }

    #[test]
    fn unknowns_decide_nothing_by_themselves() {
        assert_eq!(judge(None, &tally(1, 0, None)), Holds::Yes);
        assert_eq!(judge(None, &tally(0, 0, None)), Holds::No);
        assert_eq!(judge(None, &tally(1, 3, None)), Holds::Undecided);
        assert_eq!(judge(None, &tally(0, 50, None)), Holds::Undecided);
        assert_eq!(judge(None, &tally(2, 48, None)), Holds::No);
        assert_eq!(judge(Some("successes <= 5"), &tally(2, 3, None)), Holds::Yes);
        assert_eq!(judge(Some("successes <= 5"), &tally(2, 4, None)), Holds::Undecided);
    }

    #[test]
    fn the_state_settles_unknowns() {
        let settled = Tally { effects_settled: true, ..tally(1, 49, Some(1)) };
        assert_eq!(judge(None, &settled), Holds::Yes);
        assert_eq!(judge(None, &tally(1, 49, Some(1))), Holds::Undecided);
        assert_eq!(judge(None, &Tally { effects_settled: true, ..tally(1, 49, Some(2)) }), Holds::No);
    }

    #[test]
    fn that_there_was_no_answer_is_known() {
        let settled = Tally { effects_settled: true, ..tally(1, 9, Some(1)) };
        assert_eq!(judge(Some("effects == 1 && unknown == 0"), &settled), Holds::No);
        assert_eq!(judge(Some("unknown <= 9"), &tally(1, 9, None)), Holds::Yes);
    }

    #[test]
    fn equal_answers_are_one_effect() {
        assert_eq!(judge(None, &tally(50, 0, Some(1))), Holds::Yes);
        assert_eq!(judge(None, &tally(50, 0, Some(2))), Holds::No);
    }

    #[test]
    fn the_limit_is_the_one_number_above_one() {
        let limit = |source| Expectation::parse(Some(source), Counted::default()).unwrap().limit();
        assert_eq!(limit("successes <= 5"), Some(5));
        assert_eq!(limit("successes == 1"), None);
        assert_eq!(limit("successes >= 1 && successes <= 7"), Some(7));
        assert_eq!(limit("successes <= 5 && refused >= 9"), None);
    }

    #[test]
    fn effects_need_a_way_to_count_them() {
        let error = Expectation::parse(Some("effects == 1"), Counted::default()).unwrap_err().to_string();
        assert!(error.contains("--effect-id, --verify"), "{error}");
        assert!(Expectation::parse(Some("successes + 1"), Counted::default()).unwrap_err().to_string().contains("true or false"));
    }
    #[test]
    fn the_state_before_and_after_can_be_compared() {
        let stock = |before: u64, after: u64| State {
            before: json!({"stock": before}),
            after: json!({"stock": after}),
            ..State::default()
        };
        let read = Counted { state: true, ..Counted::default() };
        let invariant = Expectation::parse(Some("after.stock == before.stock - 3 * successes"), read).unwrap();
        let judge = |tally: &Tally, state: &State| invariant.judge(tally, state);
        assert_eq!(judge(&tally(2, 0, None), &stock(9, 3)), Ok(Holds::Yes));
        assert_eq!(judge(&tally(2, 0, None), &stock(9, 6)), Ok(Holds::No));
        assert_eq!(judge(&tally(1, 1, None), &stock(9, 3)), Ok(Holds::Undecided));
        assert!(judge(&tally(1, 0, None), &State::default()).is_err());
        assert!(invariant.counts_beyond_one());
        let error =
            Expectation::parse(Some("after.stock == 0"), Counted { named: true, ..Counted::default() }).unwrap_err().to_string();
        assert!(error.contains("--verify-sql"), "{error}");
    }

    #[test]
    fn calls_that_the_witness_saw_can_be_counted() {
        let two = Counted { calls: 2, ..Counted::default() };
        let seen = State { calls: json!({"mail": 1}), calls_by_copy: json!({"mail": {"copy 1": 1}}), ..State::default() };
        let expectation = Expectation::parse(Some("witness.mail == 1 && witness_by_copy.mail['copy 1'] == 1"), two).unwrap();
        assert_eq!(expectation.judge(&tally(0, 0, None), &seen), Ok(Holds::Yes));
        assert_eq!(Expectation::parse(None, Counted { calls: 1, ..two }).unwrap().source(), "effects == 1");
        assert!(Expectation::parse(None, two).unwrap_err().to_string().contains("witness.mail == 1"));
        let error = Expectation::parse(Some("witness.mail == 1"), Counted::default()).unwrap_err().to_string();
        assert!(error.contains("--witness 'mail"), "{error}");
    }
}
