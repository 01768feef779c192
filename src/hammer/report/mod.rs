//! A run's report, in the forms that people and programs read. It decides nothing.

mod github;
pub mod html;
mod json;
mod junit;
mod proofs;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use super::cli::Format;
use super::controls::rate;
use super::expect::Holds;
use super::experiment::{Cell, Experiment};
use super::mask::Mask;
use super::proof::Proof;
use super::statistics::{Quantiles, quantiles, upper_bound};
use super::verdict::Verdict;

/// All that a report says.
pub struct Report {
    /// The scenario's name, in a plan.
    pub name: Option<String>,
    /// What the run says.
    pub verdict: Verdict,
    /// The faults that the pattern is compatible with.
    pub diagnosis: Vec<&'static str>,
    /// The reasoning.
    pub why: Vec<String>,
    /// What was done.
    pub experiments: Vec<Experiment>,
    /// What had to hold.
    pub expect: String,
    /// The request in words.
    pub request: String,
    /// The copies' names.
    pub copies: Vec<String>,
    /// Requests sent, without set-up and reads.
    pub sent: u64,
    /// Hides secrets in what is written.
    pub mask: Mask,
}

impl Report {
    /// The verdict in one sentence.
    pub fn headline(&self) -> String {
        let trials = || self.experiments.iter().filter(|one| one.cell.is_trial());
        let volleys = trials().filter(|one| one.failure.is_none()).count();
        let failed = trials().filter(|one| one.holds == Holds::No).count();
        let volley = if trials().any(|one| one.cell == Cell::Job) { "period" } else { "volley" };
        let plural = if volleys == 1 { "" } else { "s" };
        match self.verdict {
            Verdict::Held => format!(
                "the expectation was met in {volleys} {volley}{plural} (a fault shows in fewer than {:.0} % of {volley}s, 95 % sure)",
                100.0 * self.bound().unwrap_or(1.0)
            ),
            Verdict::Broken if failed == 0 && volleys > 0 && self.experiments.iter().any(Report::is_fault) => format!(
                "the expectation was met in {volleys} volley{plural}, and violated once a copy failed in the middle of a request"
            ),
            Verdict::Broken => format!("the expectation was violated in {failed} of {volleys} {volley}{plural}"),
            Verdict::Inconclusive => "nothing can be said about the guard".to_owned(),
        }
    }

    fn is_fault(one: &Experiment) -> bool {
        matches!(one.cell, Cell::Stall | Cell::Third | Cell::Kill) && one.holds == Holds::No
    }

    fn volleys(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.iter().filter(|one| one.cell.is_volley())
    }

    /// The bound on the rate of the cell that matters most: all at once across copies, where there are several.
    fn bound(&self) -> Option<f64> {
        let cell = match self.copies.len() {
            _ if self.experiments.iter().any(|one| one.cell == Cell::Job) => Cell::Job,
            0 | 1 => Cell::C3,
            _ => Cell::C4,
        };
        let rate = rate(&self.experiments, cell);
        (rate.failed == 0 && rate.of > 0).then(|| upper_bound(rate.of))
    }

    fn latencies(&self) -> BTreeMap<&str, Quantiles> {
        let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
        for course in self.volleys().flat_map(|one| &one.courses) {
            times.entry(&course.copy).or_default().extend(course.latency());
        }
        times.into_iter().filter_map(|(copy, times)| Some((copy, quantiles(times)?))).collect()
    }
}

/// All that a run of the command says: one report, or one for each scenario of a plan, and what became of findings.
pub struct Outcome {
    /// The reports.
    pub reports: Vec<Report>,
    /// What the experiments say of a scan's findings, where they were given.
    pub proofs: Option<Vec<Proof>>,
}

/// The outcome in this form, without secrets.
pub fn render(outcome: &Outcome, format: Format) -> anyhow::Result<String> {
    let Outcome { reports, proofs } = outcome;
    Ok(match format {
        Format::Text => {
            let proofs = proofs.as_deref().map(proofs::text);
            reports.iter().map(text::text).chain(proofs).collect::<Vec<_>>().join("\n")
        }
        Format::Json => format!("{:#}\n", json::document(outcome)),
        Format::Junit => junit::document(outcome)?,
        Format::Github => {
            let proofs = proofs.iter().flatten().map(proofs::annotation);
            reports.iter().map(github::annotation).chain(proofs).collect()
        }
    })
}

/// The outcome in Markdown.
pub fn summary(outcome: &Outcome) -> String {
    let proofs = outcome.proofs.as_deref().map(proofs::markdown);
    outcome.reports.iter().map(github::summary).chain(proofs).collect::<Vec<_>>().join("\n")
}

fn holds_in_words(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "yes",
        Holds::No => "NO",
        Holds::Undecided => "?",
    }
}

/// An experiment in words.
fn title(one: &Experiment) -> String {
    if one.settled { format!("{}, settled", one.cell.words()) } else { one.cell.words().to_owned() }
}

fn time(time: Duration) -> String {
    match json::micros(time) {
        short @ 0..1000 => format!("{short} us"),
        long => format!("{:.1} ms", long as f64 / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(experiments: Vec<Experiment>) -> Report {
        Report {
            name: None,
            verdict: Verdict::Broken,
            diagnosis: vec!["process-lock"],
            why: vec!["the answer said token=abcdef".to_owned()],
            experiments,
            expect: "successes == 1".to_owned(),
            request: "POST /redeem".to_owned(),
            copies: vec!["copy 1".to_owned(), "copy 2".to_owned()],
            sent: 34,
            mask: Mask::default(),
        }
    }

    #[test]
    fn the_json_keeps_its_contract() {
        let experiments = vec![Experiment::example(Cell::C4, 2, Holds::No, &[1, 1])];
        let json = json::value(&report(experiments));
        assert_eq!(json["schema_version"], "1");
        assert_eq!(json["verdict"], "broken");
        assert_eq!(json["diagnosis"], json!(["process-lock"]));
        assert_eq!(json["why"], json!(["the answer said token=***"]));
        assert_eq!(json["expect"], "successes == 1");
        assert_eq!(json["stats"]["c4"], json!({"failed": 1, "of": 1}));
        let one = &json["experiments"][0];
        assert_eq!(one["by_copy"][1], json!({"copy": "copy 2", "requests": 17, "successes": 1}));
        for (name, want) in [("name", json!("c4")), ("round", json!(2)), ("requests", json!(34)), ("successes", json!(2))] {
            assert_eq!(one[name], want, "{name}");
        }
        for (name, want) in [("refused", json!(32)), ("unknown", json!(0)), ("overlap", json!(34)), ("holds", json!(false))] {
            assert_eq!(one[name], want, "{name}");
        }
        assert!(one["effects"].is_null() && one["spread_us"].is_null());
    }

    #[test]
    fn the_text_shows_counts_and_hides_secrets() {
        let experiments = vec![Experiment::example(Cell::C4, 1, Holds::No, &[1, 1])];
        let text = text::text(&report(experiments));
        assert!(text.starts_with("BROKEN: the expectation was violated in 1 of 1 volley\n"), "{text}");
        assert!(text.contains("compatible with: process-lock") && text.contains("all at once across copies"), "{text}");
        assert!(!text.contains("abcdef"), "{text}");
    }
}
