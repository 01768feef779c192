//! A run as one page of HTML that needs nothing else: the verdict, the controls as a square, and each volley drawn. It
//! decides nothing.

use std::time::Duration;

use anyhow::Context;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use super::{Outcome as Whole, Report, time, title};
use crate::hammer::controls::rate;
use crate::hammer::expect::Holds;
use crate::hammer::experiment::{Cell, Experiment, RequestCourse};
use crate::hammer::observation::Outcome;
use crate::hammer::proof::{self, Proof};
use crate::hammer::verdict::Verdict;
use crate::rules::Catalogue;

/// Where the gate stands, in percent of a drawing's width; what is left of it is the time before.
const GATE: f64 = 15.0;
/// More volleys make a page that no phone likes.
const MOST_DRAWN: usize = 20;

#[derive(Serialize)]
struct Page {
    gate: f64,
    findings: Vec<Finding>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Finding {
    outcome: &'static str,
    state: &'static str,
    rule: String,
    place: String,
    why: String,
}

#[derive(Serialize)]
struct Run {
    name: Option<String>,
    verdict: &'static str,
    symbol: &'static str,
    headline: String,
    request: String,
    expect: String,
    copies: Vec<String>,
    diagnosis: Vec<Rule>,
    why: Vec<String>,
    /// Requests were sent, so that there are controls.
    sends: bool,
    controls: Vec<Line>,
    faults: Vec<Square>,
    volleys: Vec<Volley>,
    left_out: usize,
}

#[derive(Serialize)]
struct Rule {
    id: &'static str,
    title: Option<String>,
    help: Option<String>,
}

/// A line of the square.
#[derive(Serialize)]
struct Line {
    words: &'static str,
    cells: [Square; 2],
}

#[derive(Serialize)]
struct Square {
    name: String,
    words: &'static str,
    state: &'static str,
    verdict: &'static str,
    counts: String,
}

#[derive(Serialize)]
struct Volley {
    name: String,
    round: u32,
    words: String,
    accepted: u64,
    requests: u64,
    fails: bool,
    open: bool,
    facts: String,
    copies: Vec<CopyRows>,
    ticks: Vec<Tick>,
}

#[derive(Serialize)]
struct CopyRows {
    name: String,
    accepted: u64,
    rows: Vec<Row>,
}

/// One request; places and lengths are percent of the width.
#[derive(Serialize)]
struct Row {
    outcome: &'static str,
    symbol: &'static str,
    title: String,
    staged: f64,
    ahead: f64,
    released: f64,
    waiting: f64,
    answer: Option<f64>,
    answering: f64,
}

#[derive(Serialize)]
struct Tick {
    at: f64,
    label: String,
}

/// The reports on one page, without secrets. `catalogue` has the rules' titles and cures.
pub fn page(outcome: &Whole, catalogue: &Catalogue) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_template("page.html", include_str!("page.html")).context("the page's template")?;
    let view = Value::from(Serde(Page {
        gate: GATE,
        findings: outcome.proofs.iter().flatten().map(finding).collect(),
        runs: outcome.reports.iter().map(|report| view(report, catalogue)).collect(),
    }));
    let page = environment.get_template("page.html").and_then(|template| template.render(view));
    page.context("the page cannot be drawn")
}

fn finding(proof: &Proof) -> Finding {
    let state = match proof.outcome {
        proof::Outcome::Confirmed => "fails",
        proof::Outcome::Refuted => "holds",
        proof::Outcome::Untested => "",
    };
    let claim = &proof.claim;
    Finding {
        outcome: proof.outcome.name(),
        state,
        rule: claim.rule.clone(),
        place: format!("{}:{}", claim.path, claim.line),
        why: proof.why.clone(),
    }
}

fn view(report: &Report, catalogue: &Catalogue) -> Run {
    let mask = &report.mask;
    let symbol = match report.verdict {
        Verdict::Held => "\u{2713}",
        Verdict::Inconclusive => "?",
        Verdict::Broken => "\u{2717}",
    };
    let rules = report.diagnosis.iter().map(|id| {
        let rule = catalogue.get(id);
        Rule { id, title: rule.map(|rule| rule.title.clone()), help: rule.map(|rule| rule.help.clone()) }
    });
    let drawn = drawn(report);
    Run {
        name: report.name.clone(),
        verdict: report.verdict.name(),
        symbol,
        headline: mask.apply(&report.headline()),
        request: mask.apply(&report.request),
        expect: mask.apply(&report.expect),
        copies: report.copies.iter().map(|copy| mask.apply(copy)).collect(),
        diagnosis: rules.collect(),
        why: report.why.iter().map(|sentence| mask.apply(sentence)).collect(),
        sends: report.experiments.iter().any(|one| !matches!(one.cell, Cell::Alone | Cell::Job)),
        controls: vec![
            Line { words: "one after another", cells: [Cell::C1, Cell::C2].map(|cell| square(report, cell)) },
            Line { words: "all at once", cells: [Cell::C3, Cell::C4].map(|cell| square(report, cell)) },
        ],
        faults: [Cell::Stall, Cell::Third, Cell::Kill, Cell::Alone, Cell::Job]
            .into_iter()
            .filter(|cell| report.experiments.iter().any(|one| one.cell == *cell))
            .map(|cell| square(report, cell))
            .collect(),
        left_out: report.volleys().filter(|one| one.failure.is_none()).count() - drawn.len(),
        volleys: drawn,
    }
}

fn square(report: &Report, cell: Cell) -> Square {
    let (mut state, mut verdict) = ("", "did not run");
    let mut counts = String::new();
    let own = || report.experiments.iter().filter(|one| one.cell == cell && one.failure.is_none());
    // The worst that was seen stands for the cell.
    if let Some(worst) = own().max_by_key(|one| (one.holds == Holds::No, one.tally.successes)) {
        (state, verdict) = match worst.holds {
            Holds::No => ("fails", "fails \u{2717}"),
            Holds::Yes => ("holds", "holds \u{2713}"),
            Holds::Undecided => ("", "is open ?"),
        };
        let effects = worst.tally.effects.map_or_else(String::new, |effects| format!(", {effects} effects"));
        counts = format!("{} of {} accepted{effects}", worst.tally.successes, worst.tally.requests);
        if matches!(cell, Cell::Alone | Cell::Job) {
            counts = format!("{} effects", worst.tally.effects.unwrap_or_default());
        }
        if cell.is_trial() {
            let rate = rate(&report.experiments, cell);
            counts.push_str(&format!("; fails in {} of {}", rate.failed, rate.of));
        }
    }
    Square { name: cell.name().to_uppercase(), words: cell.words(), state, verdict, counts }
}

/// The volleys that are drawn, in their order: those that fail come first where there are too many.
fn drawn(report: &Report) -> Vec<Volley> {
    let fired: Vec<&Experiment> = report.volleys().filter(|one| !one.courses.is_empty()).collect();
    let mut chosen: Vec<usize> = (0..fired.len()).collect();
    chosen.sort_by_key(|&index| (fired[index].holds != Holds::No, index));
    chosen.truncate(MOST_DRAWN);
    let opened = chosen.iter().copied().max_by_key(|&index| {
        let one = fired[index];
        (one.holds == Holds::No, one.cell, std::cmp::Reverse(index))
    });
    chosen.sort_unstable();
    chosen.into_iter().map(|index| volley(report, fired[index], Some(index) == opened)).collect()
}

fn volley(report: &Report, one: &Experiment, open: bool) -> Volley {
    let after = |course: &RequestCourse| course.times.ended.or(course.times.first_byte).unwrap_or(course.times.released);
    let longest = one.courses.iter().map(after).max().unwrap_or_default().max(Duration::from_micros(1));
    let earliest = one.courses.iter().map(|course| course.times.ahead).max().unwrap_or_default();
    let scale = Scale { before: earliest.max(Duration::from_micros(1)), after: longest };
    let copies = report.copies.iter().filter_map(|name| {
        let own: Vec<&RequestCourse> = one.courses.iter().filter(|course| course.copy == *name).collect();
        let accepted = own.iter().filter(|course| course.outcome == Outcome::Accepted).count() as u64;
        let rows = own.into_iter().map(|course| row(course, scale)).collect::<Vec<_>>();
        (!rows.is_empty()).then(|| CopyRows { name: name.clone(), accepted, rows })
    });
    let mut facts = Vec::new();
    facts.extend(one.spread.map(|spread| format!("let go within {}", time(spread))));
    facts.extend(one.overlap.map(|overlap| format!("{} in flight at once", overlap.depth)));
    facts.extend(one.tally.effects.map(|effects| format!("{effects} effects")));
    Volley {
        name: one.cell.name().to_uppercase(),
        round: one.round,
        words: title(one),
        accepted: one.tally.successes,
        requests: one.tally.requests,
        fails: one.holds == Holds::No,
        open,
        facts: facts.join(", "),
        copies: copies.collect(),
        ticks: (0..=2).map(|part| tick(scale, part)).collect(),
    }
}

/// How times become places.
#[derive(Clone, Copy)]
struct Scale {
    before: Duration,
    after: Duration,
}

impl Scale {
    fn ahead(self, time: Duration) -> f64 {
        rounded(GATE * (1.0 - time.as_secs_f64() / self.before.as_secs_f64()))
    }

    fn at(self, time: Duration) -> f64 {
        rounded(GATE + (100.0 - GATE) * (time.as_secs_f64() / self.after.as_secs_f64()).min(1.0))
    }
}

fn rounded(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

fn tick(scale: Scale, half: u32) -> Tick {
    let at = scale.after * half / 2;
    let label = if half == 0 { format!("gate (sent {} before)", time(scale.before)) } else { time(at) };
    Tick { at: scale.at(at), label }
}

fn row(course: &RequestCourse, scale: Scale) -> Row {
    let (outcome, symbol, words) = match course.outcome {
        Outcome::Accepted => ("accepted", "\u{2713}", "accepted"),
        Outcome::Refused => ("refused", "", "refused"),
        Outcome::RefusedElsewhere => ("elsewhere", "", "refused elsewhere"),
        Outcome::Unknown => ("unknown", "?", "no clear answer"),
    };
    let times = course.times;
    let answer = times.first_byte.or(times.ended);
    let end = scale.at(times.ended.or(answer).unwrap_or(scale.after));
    let (staged, released, began) = (scale.ahead(times.ahead), scale.at(times.released), answer.map(|at| scale.at(at)));
    let answered = answer.map_or_else(String::new, |at| format!(", answered after {}", time(at)));
    Row {
        outcome,
        symbol,
        title: format!("{words}: let go after {}{answered}", time(times.released)),
        staged,
        ahead: rounded(GATE - staged),
        released,
        waiting: rounded(began.unwrap_or(100.0) - released),
        answer: began,
        answering: rounded(end - began.unwrap_or(end)),
    }
}
