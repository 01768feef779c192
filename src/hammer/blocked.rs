//! Failures for want of answers alone: nobody got more than is due, and somebody got nothing. A pure function of experiments.

use super::diagnosis::{Diagnosis, counts};
use super::expect::Holds;
use super::experiment::{Cell, Experiment};

/// What keeps a connection or a lock while it waits for something slow, or for ever.
pub const BLOCKS: [&str; 2] = ["session-advisory-lock", "transaction-held"];

/// Experiments that fail for want of answers alone: no more was accepted than by one request, or by one after another.
pub fn blocked(experiments: &[Experiment]) -> Option<Diagnosis> {
    let done = |one: &Experiment| one.tally.effects.filter(|_| one.tally.effects_settled).unwrap_or(one.tally.successes);
    let failed = || experiments.iter().filter(|one| one.cell < Cell::Stall && one.holds == Holds::No);
    let alone = experiments.iter().filter(|one| one.cell == Cell::C1).map(done).max()?;
    // Where several have their effect one after another, each may.
    let most = |one: &Experiment| if alone > 1 && one.cell.is_volley() { one.tally.requests } else { 1 };
    let worst = failed().max_by_key(|one| one.tally.unknown)?;
    if !failed().all(|one| one.tally.unknown > 0 && done(one) <= most(one)) {
        return None;
    }
    let at_once = failed().all(|one| one.cell.is_volley());
    let (mut rules, how) = match at_once {
        true => (vec![], "at once, though they do one after another"),
        false => (vec!["lock-not-released"], "though nothing else was under way"),
    };
    rules.extend(BLOCKS);
    let why = format!(
        "{}: {} of {} requests got no answer {how} ({}): each keeps a connection or a lock while it waits, until there is none left, \
         or an earlier one never gave it back.",
        worst.cell.name().to_uppercase(),
        worst.tally.unknown,
        worst.tally.requests,
        counts(worst)
    );
    Some(Diagnosis { rules, why: vec![why] })
}

#[cfg(test)]
mod tests {
    use super::super::diagnosis::diagnose;
    use super::*;
    use Cell::{C0, C1, C2, C3, C4};
    use Holds::{No, Yes};

    #[test]
    fn requests_without_an_answer_are_no_duplicates() {
        let with = |cell, successes: u64| {
            let cells = [(C0, Yes, 3), (C1, Yes, 1), (C2, Yes, 1), (C3, No, 1), (C4, Yes, 1)];
            let mut cells = cells.map(|(cell, holds, successes)| Experiment::example(cell, 1, holds, &[successes])).to_vec();
            for one in cells.iter_mut().filter(|one| one.cell == C3) {
                (one.tally.successes, one.tally.unknown) = (successes, 30);
            }
            cells.retain(|one| one.cell <= cell);
            diagnose(&cells, None).rules
        };
        assert_eq!(with(C4, 1), BLOCKS);
        assert!(with(C4, 2).contains(&"check-then-insert"));
        let mut first = [(C0, Yes), (C1, No)].map(|(cell, holds)| Experiment::example(cell, 1, holds, &[1])).to_vec();
        first[1].tally.unknown = 3;
        assert_eq!(diagnose(&first, None).rules[0], "lock-not-released");
    }
}
