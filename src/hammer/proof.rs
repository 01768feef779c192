//! Findings of a scan against what experiments showed: confirmed, refuted under these conditions, or not tested, each with the
//! reason. It knows the scan's JSON document and nothing of source code.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::controls::rate;
use super::diagnosis::{Need, UNGUARDED, need};
use super::experiment::Cell;
use super::report::Report;
use super::statistics::upper_bound;
use super::verdict::Verdict;

/// One finding, as far as an experiment can say something of it.
#[derive(Debug, Clone, Deserialize)]
pub struct Claim {
    /// The rule.
    pub rule: String,
    /// The file.
    pub path: String,
    /// Its line.
    pub line: u32,
    /// Its name across changes.
    pub fingerprint: String,
    /// The request that leads there.
    pub endpoint: Option<Endpoint>,
}

/// The request that leads to a finding.
#[derive(Debug, Clone, Deserialize)]
pub struct Endpoint {
    /// The method.
    pub method: Option<String>,
    /// The path as registered.
    pub path: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    schema_version: String,
    findings: Vec<Claim>,
}

/// What became of one scenario.
pub struct Run<'a> {
    /// Its name; empty without a plan.
    pub name: String,
    /// The findings that it says it is about.
    pub proves: Vec<String>,
    /// Its report, or why there is none.
    pub came_to: Result<&'a Report, String>,
}

/// What an experiment says of a finding, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing.
    Untested,
    /// The fault did not show, though it could have under these conditions.
    Refuted,
    /// The fault showed.
    Confirmed,
}

impl Outcome {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Untested => "not tested",
            Outcome::Refuted => "refuted under these conditions",
            Outcome::Confirmed => "confirmed",
        }
    }

    /// The name for programs.
    pub fn id(self) -> &'static str {
        match self {
            Outcome::Untested => "untested",
            Outcome::Refuted => "refuted",
            Outcome::Confirmed => "confirmed",
        }
    }
}

/// One finding and what became of it.
#[derive(Debug, Clone)]
pub struct Proof {
    /// The finding.
    pub claim: Claim,
    /// What the experiments say.
    pub outcome: Outcome,
    /// Why.
    pub why: String,
    /// The scenario that says so.
    pub scenario: Option<String>,
}

/// Reads the findings from what `lockcheck scan --format json` wrote.
pub fn read(file: &Path) -> Result<Vec<Claim>> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("--findings {shown}: cannot be read"))?;
    let document: Document = serde_json::from_str(&text)
        .with_context(|| format!("--findings {shown}: is not what lockcheck scan --format json writes"))?;
    let version = document.schema_version;
    ensure!(version == "1", "--findings {shown}: has schema_version {version}; this program reads 1");
    Ok(document.findings)
}

/// Holds each finding against the scenarios that reach it.
pub fn prove(claims: Vec<Claim>, runs: &[Run<'_>]) -> Vec<Proof> {
    claims.into_iter().map(|claim| judged(claim, runs)).collect()
}

fn judged(claim: Claim, runs: &[Run<'_>]) -> Proof {
    let Some(need) = need(&claim.rule) else {
        return Proof { claim, outcome: Outcome::Untested, why: "no experiment shows this rule".to_owned(), scenario: None };
    };
    let said = |run: &Run<'_>| {
        let (outcome, why) = match &run.came_to {
            Ok(report) => of_report(&claim.rule, need, report),
            Err(error) => (Outcome::Untested, error.lines().next().unwrap_or_default().to_owned()),
        };
        (outcome, why, run.name.clone())
    };
    let best = runs.iter().filter(|run| reaches(run, &claim)).map(said).max_by_key(|(outcome, ..)| *outcome);
    let (outcome, why, scenario) = match best {
        Some((outcome, why, name)) => (outcome, why, Some(name).filter(|name| !name.is_empty())),
        None => (Outcome::Untested, unreached(&claim), None),
    };
    Proof { claim, outcome, why, scenario }
}

fn unreached(claim: &Claim) -> String {
    match &claim.endpoint {
        Some(Endpoint { method, path: Some(path) }) => {
            format!("no scenario sends {} {path}", method.as_deref().unwrap_or("a request to"))
        }
        _ => "no request is known to lead there, and no scenario says that it does (proves)".to_owned(),
    }
}

fn reaches(run: &Run<'_>, claim: &Claim) -> bool {
    if run.proves.contains(&claim.fingerprint) {
        return true;
    }
    let (Ok(report), Some(Endpoint { method, path: Some(path) })) = (&run.came_to, &claim.endpoint) else { return false };
    let Some((sent, target)) = report.request.split_once(' ') else { return false };
    method.as_deref().is_none_or(|method| method == sent) && fits(path, target)
}

/// Whether a request's path is the registered one, where a router may be mounted below something.
fn fits(registered: &str, target: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        path.trim_start_matches('^').trim_end_matches('$').split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (registered, target) = (parts(registered), parts(target));
    // The root of a mounted router says nothing.
    let open = |part: &String| part.starts_with([':', '{', '<', '*']);
    let Some(above) = target.len().checked_sub(registered.len()) else { return false };
    (above == 0 || registered.iter().any(|part| !open(part)))
        && registered.iter().zip(&target[above..]).all(|(part, sent)| open(part) || part == sent)
}

fn of_report(rule: &str, need: Need, report: &Report) -> (Outcome, String) {
    if report.diagnosis.contains(&rule) {
        let others: Vec<&str> = report.diagnosis.iter().copied().filter(|other| *other != rule).collect();
        let also = if others.is_empty() { String::new() } else { format!("; as would be {}", others.join(", ")) };
        return (Outcome::Confirmed, format!("{}: compatible with what fails first{also}", report.headline()));
    }
    let untested = |why: String| (Outcome::Untested, why);
    let cell = match need {
        Need::Volley if report.copies.len() == 1 => Cell::C3,
        Need::Copies if report.copies.len() == 1 => return untested("it takes a second copy".to_owned()),
        Need::Volley | Need::Copies => Cell::C4,
        Need::Stall => Cell::Stall,
        Need::LateRelease => Cell::Third,
        Need::Kill => Cell::Kill,
        Need::Job => Cell::Job,
    };
    let of = rate(&report.experiments, cell);
    let earlier = || report.experiments.iter().any(|one| one.cell < cell && one.holds == super::expect::Holds::No);
    if of.failed > 0 || (report.verdict == Verdict::Broken && earlier()) {
        return untested(match report.diagnosis.as_slice() {
            [] => "the expectation was violated, but which fault it is cannot be told".to_owned(),
            [UNGUARDED] => "the request is accepted again one after another: nothing guards it, or it may be repeated".to_owned(),
            rules => format!("another fault shows first: {}", rules.join(", ")),
        });
    }
    match (of.of, need) {
        (0, Need::Stall) => untested("it takes a copy that is stopped for longer than the lease: --stall".to_owned()),
        (0, Need::LateRelease) => untested(
            "it takes a copy that is stopped for longer than the lease, and a third request while a second is at work: --stall"
                .to_owned(),
        ),
        (0, Need::Kill) => untested("it takes a copy that is killed in the middle: --kill".to_owned()),
        (0, Need::Job) => untested("it takes copies that run by themselves for a while: --job".to_owned()),
        (0, _) => {
            untested(report.why.first().cloned().unwrap_or_else(|| "no experiment that shows it was carried out".to_owned()))
        }
        _ if report.verdict == Verdict::Inconclusive => {
            untested(report.why.first().cloned().unwrap_or_else(|| "nothing can be said about the guard".to_owned()))
        }
        (trials, _) => {
            let bound = 100.0 * upper_bound(trials);
            let what = format!("{} held {trials} times", cell.words());
            (Outcome::Refuted, format!("{what} (a fault shows in fewer than {bound:.0} % of them, 95 % sure)"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_fits_with_its_parameters_and_below_a_mount() {
        assert!(fits("/orders/:id/pay", "/api/v1/orders/{{fresh}}/pay?now=1"));
        assert!(fits("orders/<int:pk>/", "/orders/7/"));
        assert!(fits("/", "/") && !fits("/", "/orders"));
        assert!(!fits("/orders/:id", "/orders") && !fits("/redeem", "/redeem/x") && !fits("/:id", "/a/b"));
    }
}
