//! A run's report as text for people and as JSON for programs. It decides nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use serde_json::{Map, Value, json};

use super::controls::rate;
use super::expect::Holds;
use super::experiment::{Cell, Experiment};
use super::mask::Mask;
use super::statistics::{Quantiles, fisher, quantiles, upper_bound};
use super::verdict::Verdict;

/// All that a report says.
pub struct Report<'a> {
    /// What the run says.
    pub verdict: Verdict,
    /// The faults that the pattern is compatible with.
    pub diagnosis: Vec<&'static str>,
    /// The reasoning.
    pub why: Vec<String>,
    /// What was done.
    pub experiments: &'a [Experiment],
    /// What had to hold.
    pub expect: &'a str,
    /// The request in words.
    pub request: String,
    /// The copies' names.
    pub copies: Vec<String>,
    /// Requests sent, without set-up and reads.
    pub sent: u64,
}

impl Report<'_> {
    /// For programs; `schema_version` names the contract.
    pub fn json(&self, mask: &Mask) -> Value {
        let mut report = json!({
            "schema_version": "1",
            "verdict": self.verdict.name(),
            "diagnosis": self.diagnosis,
            "why": self.why,
            "experiments": self.experiments.iter().map(experiment_json).collect::<Vec<_>>(),
            "expect": self.expect,
            "stats": self.stats(),
        });
        hide(&mut report, mask);
        report
    }

    /// For people.
    pub fn text(&self, mask: &Mask) -> String {
        let mut text = format!("{}: {}\n", self.verdict.name().to_uppercase(), self.headline());
        text.push_str(&format!("{} at {}; expected: {}\n\n", self.request, self.copies.join(", "), self.expect));
        text.push_str(&self.experiments_table().to_string());
        text.push('\n');
        if let Some(table) = self.copies_table() {
            text.push_str(&format!("\nvolleys, per copy\n{table}\n"));
        }
        if !self.diagnosis.is_empty() {
            text.push_str(&format!("\ncompatible with: {}\n", self.diagnosis.join(", ")));
        }
        if !self.why.is_empty() {
            text.push('\n');
        }
        for sentence in &self.why {
            text.push_str(&format!("- {sentence}\n"));
        }
        mask.apply(&text)
    }

    fn headline(&self) -> String {
        let volleys = self.volleys().filter(|one| one.failure.is_none()).count();
        let failed = self.volleys().filter(|one| one.holds == Holds::No).count();
        let plural = if volleys == 1 { "" } else { "s" };
        match self.verdict {
            Verdict::Held => format!(
                "the expectation was met in {volleys} volley{plural} (a fault shows in fewer than {:.0} % of volleys, 95 % sure)",
                100.0 * self.bound().unwrap_or(1.0)
            ),
            Verdict::Broken => format!("the expectation was violated in {failed} of {volleys} volley{plural}"),
            Verdict::Inconclusive => "nothing can be said about the guard".to_owned(),
        }
    }

    fn volleys(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.iter().filter(|one| one.cell.is_volley())
    }

    /// The bound on the rate of the cell that matters most: all at once across copies, where there are several.
    fn bound(&self) -> Option<f64> {
        let cell = if self.copies.len() > 1 { Cell::C4 } else { Cell::C3 };
        let rate = rate(self.experiments, cell);
        (rate.failed == 0 && rate.of > 0).then(|| upper_bound(rate.of))
    }

    fn stats(&self) -> Value {
        let of = |cell| {
            let rate = rate(self.experiments, cell);
            json!({ "failed": rate.failed, "of": rate.of })
        };
        let (c3, c4) = (rate(self.experiments, Cell::C3), rate(self.experiments, Cell::C4));
        let both = c3.of > 0 && c4.of > 0;
        let spreads = quantiles(self.volleys().filter_map(|one| one.spread));
        json!({
            "rounds": self.volleys().map(|one| one.round).max().unwrap_or(0),
            "requests_sent": self.sent,
            "c3": of(Cell::C3),
            "c4": of(Cell::C4),
            "fisher_p": both.then(|| fisher(c3, c4)),
            "upper_bound_95": self.bound(),
            "released_by": self.volleys().find_map(|one| one.by).map(|by| by.name()),
            "spread_us": spreads.map(quantiles_json),
            "latency_us": self.latencies().into_iter().map(|(copy, of)| (copy.to_owned(), quantiles_json(of))).collect::<Map<_, _>>(),
        })
    }

    fn latencies(&self) -> BTreeMap<&str, Quantiles> {
        let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
        for (copy, latency) in self.volleys().flat_map(|one| &one.latencies) {
            times.entry(copy).or_default().push(*latency);
        }
        times.into_iter().filter_map(|(copy, times)| Some((copy, quantiles(times)?))).collect()
    }

    fn experiments_table(&self) -> Table {
        let mut table = table(&[
            "",
            "",
            "round",
            "requests",
            "accepted",
            "refused",
            "elsewhere",
            "unknown",
            "effects",
            "in flight",
            "spread",
            "holds",
        ]);
        for one in self.experiments {
            let tally = &one.tally;
            let words = if one.settled { format!("{}, settled", one.cell.words()) } else { one.cell.words().to_owned() };
            table.add_row([
                one.cell.name().to_uppercase(),
                words,
                one.round.to_string(),
                tally.requests.to_string(),
                tally.successes.to_string(),
                tally.refused.to_string(),
                tally.refused_elsewhere.to_string(),
                tally.unknown.to_string(),
                tally.effects.map_or_else(String::new, |effects| effects.to_string()),
                one.overlap.map_or_else(String::new, |overlap| overlap.depth.to_string()),
                one.spread.map_or_else(String::new, time),
                match one.holds {
                    Holds::Yes => "yes",
                    Holds::No => "NO",
                    Holds::Undecided => "?",
                }
                .to_owned(),
            ]);
        }
        table
    }

    fn copies_table(&self) -> Option<Table> {
        let mut table = table(&["copy", "requests", "accepted", "median", "p95", "max"]);
        let latencies = self.latencies();
        for copy in &self.copies {
            let own = || self.volleys().flat_map(|one| &one.tally.by_copy).filter(|part| part.copy == *copy);
            let quantiles = latencies.get(copy.as_str());
            let show = |of: fn(&Quantiles) -> Duration| quantiles.map_or_else(String::new, |all| time(of(all)));
            table.add_row([
                copy.clone(),
                own().map(|part| part.requests).sum::<u64>().to_string(),
                own().map(|part| part.successes).sum::<u64>().to_string(),
                show(|all| all.median),
                show(|all| all.p95),
                show(|all| all.max),
            ]);
        }
        self.volleys().any(|one| one.failure.is_none()).then_some(table)
    }
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header.iter().copied());
    table
}

fn experiment_json(one: &Experiment) -> Value {
    let tally = &one.tally;
    let by_copy: Vec<Value> = tally
        .by_copy
        .iter()
        .map(|part| json!({ "copy": part.copy, "requests": part.requests, "successes": part.successes }))
        .collect();
    json!({
        "name": one.cell.name(),
        "round": one.round,
        "settled": one.settled,
        "requests": tally.requests,
        "successes": tally.successes,
        "refused": tally.refused + tally.refused_elsewhere,
        "refused_elsewhere": tally.refused_elsewhere,
        "unknown": tally.unknown,
        "effects": tally.effects,
        "by_copy": by_copy,
        "overlap": one.overlap.map(|overlap| overlap.depth),
        "early": one.overlap.map(|overlap| overlap.early),
        "spread_us": one.spread.map(micros),
        "holds": match one.holds {
            Holds::Yes => Value::Bool(true),
            Holds::No => Value::Bool(false),
            Holds::Undecided => Value::Null,
        },
        "answers": one.answers.iter().map(|(what, count)| json!({ "answer": what, "count": count })).collect::<Vec<_>>(),
        "remarks": one.remarks,
        "failure": one.failure,
    })
}

fn quantiles_json(of: Quantiles) -> Value {
    json!({ "median": micros(of.median), "p95": micros(of.p95), "max": micros(of.max) })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn time(time: Duration) -> String {
    match micros(time) {
        short @ 0..1000 => format!("{short} us"),
        long => format!("{:.1} ms", long as f64 / 1000.0),
    }
}

/// Hides secrets in every string.
fn hide(value: &mut Value, mask: &Mask) {
    match value {
        Value::String(text) => *text = mask.apply(text),
        Value::Array(list) => list.iter_mut().for_each(|value| hide(value, mask)),
        Value::Object(members) => members.values_mut().for_each(|value| hide(value, mask)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(experiments: &[Experiment]) -> Report<'_> {
        Report {
            verdict: Verdict::Broken,
            diagnosis: vec!["process-lock"],
            why: vec!["the answer said token=abcdef".to_owned()],
            experiments,
            expect: "successes == 1",
            request: "POST /redeem".to_owned(),
            copies: vec!["copy 1".to_owned(), "copy 2".to_owned()],
            sent: 34,
        }
    }

    #[test]
    fn the_json_keeps_its_contract() {
        let experiments = [Experiment::example(Cell::C4, 2, Holds::No, &[1, 1])];
        let json = report(&experiments).json(&Mask::default());
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
        let experiments = [Experiment::example(Cell::C4, 1, Holds::No, &[1, 1])];
        let text = report(&experiments).text(&Mask::default());
        assert!(text.starts_with("BROKEN: the expectation was violated in 1 of 1 volley\n"), "{text}");
        assert!(text.contains("compatible with: process-lock") && text.contains("all at once across copies"), "{text}");
        assert!(!text.contains("abcdef"), "{text}");
    }
}
