//! Held, inconclusive or broken: a pure function of experiments. It does not know how they were carried out.

use serde::Serialize;

use super::diagnosis::is_stale_read;
use super::expect::Holds;
use super::experiment::{Cell, Experiment};

/// What the run says, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The expectation was met under requests that overlapped.
    Held,
    /// Nothing can be said.
    Inconclusive,
    /// The expectation was violated.
    Broken,
}

impl Verdict {
    /// The exit status of the command: 0 held, 1 broken, 3 inconclusive (2 is an error).
    pub fn exit_status(self) -> u8 {
        match self {
            Verdict::Held => 0,
            Verdict::Broken => 1,
            Verdict::Inconclusive => 3,
        }
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Broken => "broken",
        }
    }
}

/// Of so many rounds, one may be in vain: the others speak for the guard.
const FEW: usize = 10;

/// Decides, with the reasons in sentences. `interrupted`: the run was cut short.
pub fn decide(experiments: &[Experiment], interrupted: bool) -> (Verdict, Vec<String>) {
    if is_stale_read(experiments) {
        let why = "C2 fails, but not once there is a pause between the requests: a copy read a stale state (a replica that lags, a \
                   cache). Whether the guard holds cannot be told; point the copies at the primary, or raise --settle.";
        return (Verdict::Inconclusive, vec![why.to_owned()]);
    }
    let is_control = |cell| matches!(cell, Cell::C0 | Cell::Alone);
    if experiments.iter().any(|one| !is_control(one.cell) && one.holds == Holds::No) {
        return (Verdict::Broken, Vec::new());
    }
    let mut doubts = Vec::new();
    if interrupted {
        doubts.push("The run was interrupted; this is what was seen until then.".to_owned());
    }
    // What each round came to: a volley in vain is fired again.
    let last: Vec<&Experiment> = experiments
        .iter()
        .enumerate()
        .filter(|(index, one)| {
            let again = |later: &Experiment| later.cell == one.cell && later.round == one.round;
            !(one.was_in_vain() && experiments[index + 1..].iter().any(again))
        })
        .map(|(_, one)| one)
        .collect();
    for experiment in &last {
        let rounds = || last.iter().filter(|other| other.cell == experiment.cell);
        let in_vain = rounds().filter(|other| other.was_in_vain()).count();
        if !(experiment.was_in_vain() && in_vain * FEW <= rounds().count()) {
            doubts.extend(doubt(experiment));
        }
    }
    if !experiments.iter().any(|one| one.cell.is_trial()) && doubts.is_empty() {
        doubts.push("No volley was fired.".to_owned());
    }
    let verdict = if doubts.is_empty() { Verdict::Held } else { Verdict::Inconclusive };
    (verdict, summed_up(doubts))
}

/// Why this experiment does not speak for the guard.
fn doubt(experiment: &Experiment) -> Option<String> {
    let cell = experiment.cell.name().to_uppercase();
    let tally = &experiment.tally;
    if let Some(failure) = &experiment.failure {
        return Some(format!("{cell} could not be carried out: {failure}."));
    }
    if experiment.cell == Cell::C0 {
        return (experiment.holds != Holds::Yes).then(|| {
            format!(
                "C0 fails: not even the first request succeeds everywhere ({}). Check credentials, path and body, and that all \
                 copies use one store.",
                experiment.answers_in_words()
            )
        });
    }
    if experiment.cell == Cell::Alone && experiment.holds == Holds::No {
        return Some(format!(
            "ALONE fails: one copy by itself does not meet the expectation ({}). Count what it does in that time, or in \
             $LOCKCHECK_FRESH, or let --job last one run.",
            tally.effects.map_or_else(|| experiment.remarks.join("; "), |effects| format!("{effects} effects"))
        ));
    }
    if experiment.holds == Holds::Undecided {
        return Some(match tally.unknown {
            0 => format!("{cell} cannot be judged: {}.", experiment.remarks.join("; ")),
            unknown => format!(
                "{cell}: {unknown} of {} requests got no clear answer ({}), and they could change the result. Count effects in the \
                 state with --verify, or find out why.",
                tally.requests,
                experiment.answers_in_words()
            ),
        });
    }
    if !experiment.cell.is_volley() {
        return None;
    }
    if tally.refused_elsewhere > 0 && tally.requests - tally.refused_elsewhere < 2 {
        return Some(format!(
            "{cell}: fewer than two requests reached the guard; the others were turned away in front of it ({}). If this is the \
             guard's refusal, say so with --refusal, for example --refusal 'status == 400'.",
            experiment.answers_in_words()
        ));
    }
    if tally.successes == 0 && tally.effects.unwrap_or(0) == 0 {
        return Some(format!("{cell}: nothing succeeded ({}).", experiment.answers_in_words()));
    }
    not_together(experiment)
}

fn not_together(experiment: &Experiment) -> Option<String> {
    let overlap = experiment.overlap?;
    let cell = experiment.cell.name().to_uppercase();
    if experiment.overlapped() {
        return None;
    }
    if overlap.early > 0 {
        return Some(format!(
            "{cell}: answers came before the gate opened, so that the requests were not in flight together: the service answers \
             before the body is complete; try --hold header."
        ));
    }
    if overlap.depth >= 2 {
        return Some(format!("{cell}: requests were in flight at one copy only; raise -n."));
    }
    Some(format!(
        "{cell}: the requests did not overlap (at most {} in flight at once): the service answers faster than they can be let go. Raise -n, or fire from the same machine.",
        overlap.depth
    ))
}

/// The same doubt in several rounds is said once, with its count.
fn summed_up(doubts: Vec<String>) -> Vec<String> {
    let mut summed: Vec<(String, usize)> = Vec::new();
    for doubt in doubts {
        match summed.iter_mut().find(|(known, _)| *known == doubt) {
            Some((_, count)) => *count += 1,
            None => summed.push((doubt, 1)),
        }
    }
    let words = |(doubt, count)| if count == 1 { doubt } else { format!("{doubt} ({count} times)") };
    summed.into_iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::super::volley::Overlap;
    use super::*;
    use Cell::{C0, C1, C2, C3, C4};
    use Holds::{No, Undecided, Yes};

    fn sound() -> Vec<Experiment> {
        let mut all = vec![
            Experiment::example(C0, 1, Yes, &[1, 1]),
            Experiment::example(C1, 1, Yes, &[1]),
            Experiment::example(C2, 1, Yes, &[1, 0]),
        ];
        for round in 1..=5 {
            all.push(Experiment::example(C3, round, Yes, &[1]));
            all.push(Experiment::example(C4, round, Yes, &[1, 0]));
        }
        all
    }

    fn with(change: impl Fn(&mut Experiment)) -> (Verdict, String) {
        let mut all = sound();
        if let Some(last) = all.last_mut() {
            change(last);
        }
        let (verdict, why) = decide(&all, false);
        (verdict, why.join("\n"))
    }

    #[test]
    fn held_needs_everything() {
        assert_eq!(decide(&sound(), false), (Verdict::Held, Vec::new()));
        assert_eq!(decide(&sound(), true).0, Verdict::Inconclusive);
        assert_eq!(decide(&sound()[..3], false).0, Verdict::Inconclusive);
    }

    #[test]
    fn one_violation_is_broken_whatever_else() {
        let mut all = sound();
        all[3].holds = Undecided;
        all[6].holds = No;
        assert_eq!(decide(&all, true).0, Verdict::Broken);
        assert_eq!(Verdict::Held.max(Verdict::Broken).max(Verdict::Inconclusive), Verdict::Broken);
    }

    #[test]
    fn no_overlap_is_inconclusive_and_says_what_to_do() {
        let (verdict, why) = with(|last| last.overlap = Some(Overlap { depth: 1, copies: 1, early: 0 }));
        assert!(verdict == Verdict::Inconclusive && why.contains("did not overlap") && why.contains("-n"), "{why}");
        let (verdict, why) = with(|last| last.overlap = Some(Overlap { depth: 9, copies: 1, early: 0 }));
        assert!(verdict == Verdict::Inconclusive && why.contains("one copy only"), "{why}");
        let (verdict, why) = with(|last| last.overlap = Some(Overlap { depth: 9, copies: 2, early: 25 }));
        assert!(verdict == Verdict::Inconclusive && why.contains("--hold header"), "{why}");
    }

    #[test]
    fn a_volley_without_overlap_may_be_made_up_for_in_its_round() {
        let mut all = sound();
        let mut in_vain = Experiment::example(C4, 5, Yes, &[1, 0]);
        in_vain.overlap = Some(Overlap { depth: 0, copies: 0, early: 0 });
        all.insert(all.len() - 1, in_vain.clone());
        assert_eq!(decide(&all, false).0, Verdict::Held);
        all.push(in_vain.clone());
        assert_eq!(decide(&all, false).0, Verdict::Inconclusive);
        all.extend((6..=8).map(|round| Experiment::example(C4, round, Yes, &[1, 0])));
        assert_eq!(decide(&all, false).0, Verdict::Inconclusive, "one of nine");
        all.push(Experiment::example(C4, 9, Yes, &[1, 0]));
        assert_eq!(decide(&all, false).0, Verdict::Held, "one of ten");
    }

    #[test]
    fn unknowns_are_no_refusals() {
        let (verdict, why) = with(|last| {
            last.holds = Undecided;
            last.tally.unknown = 33;
        });
        assert!(verdict == Verdict::Inconclusive && why.contains("--verify"), "{why}");
    }

    #[test]
    fn refusals_elsewhere_are_no_evidence() {
        let (verdict, why) = with(|last| {
            last.tally.refused_elsewhere = last.tally.requests - 1;
            last.tally.refused = 0;
        });
        assert!(verdict == Verdict::Inconclusive && why.contains("--refusal"), "{why}");
    }

    #[test]
    fn nothing_succeeded_is_inconclusive() {
        assert_eq!(with(|last| last.tally.successes = 0).0, Verdict::Inconclusive);
    }

    #[test]
    fn a_first_request_without_success_says_what_was_seen() {
        let mut first = Experiment::example(C0, 1, Undecided, &[0, 0]);
        first.answers = vec![("401 `no token`".to_owned(), 2)];
        let (verdict, why) = decide(&[first], false);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(why[0].contains("2 x 401 `no token`") && why[0].contains("credentials"), "{why:?}");
    }

    #[test]
    fn every_verdict_has_its_exit_status() {
        assert_eq!([Verdict::Held, Verdict::Broken, Verdict::Inconclusive].map(Verdict::exit_status), [0, 1, 3]);
    }
}
