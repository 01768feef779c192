//! A run's report as JUnit XML: a test suite, with an experiment a test case. It decides nothing.

use std::time::Duration;

use anyhow::Context;
use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::{Outcome, Report, title};
use crate::hammer::expect::Holds;
use crate::hammer::experiment::{Cell, Experiment};
use crate::hammer::mask::Mask;
use crate::hammer::proof::{self, Proof};
use crate::hammer::verdict::Verdict;

/// The reports without secrets, a suite each. A violated expectation is a failure, what cannot be judged an error.
pub fn document(outcome: &Outcome) -> anyhow::Result<String> {
    let mut document = Document::new("lockcheck hammer");
    document.add_test_suites(outcome.reports.iter().map(suite));
    document.add_test_suites(outcome.proofs.as_deref().map(findings));
    document.to_string().context("the JUnit report cannot be written")
}

fn suite(report: &Report) -> TestSuite {
    let mask = &report.mask;
    let request = mask.apply(&report.request);
    let mut suite = TestSuite::new(report.name.as_ref().map_or(request.clone(), |name| format!("{name}: {request}")));
    for one in &report.experiments {
        let name = format!("{} round {}: {}", one.cell.name(), one.round, title(one));
        let mut case = TestCase::new(name, status(one, &report.expect, mask));
        case.set_classname("lockcheck.hammer").set_time(duration(one));
        suite.add_test_case(case);
    }
    let mut case = TestCase::new("verdict", verdict(report));
    case.set_classname("lockcheck.hammer").set_time(Duration::ZERO);
    if report.verdict == Verdict::Held && !report.why.is_empty() {
        case.set_system_out(mask.apply(&report.why.join("\n")));
    }
    suite.add_test_case(case);
    suite
}

/// The findings of a scan: a confirmed one is a failure, what was not tested is skipped.
fn findings(proofs: &[Proof]) -> TestSuite {
    let mut suite = TestSuite::new("findings");
    for proof in proofs {
        let claim = &proof.claim;
        let mut status = match proof.outcome {
            proof::Outcome::Confirmed => TestCaseStatus::non_success(NonSuccessKind::Failure),
            proof::Outcome::Refuted => TestCaseStatus::success(),
            proof::Outcome::Untested => TestCaseStatus::skipped(),
        };
        if proof.outcome != proof::Outcome::Refuted {
            status.set_message(format!("{}: {}", proof.outcome.name(), proof.why));
        }
        let mut case = TestCase::new(format!("{} at {}:{}", claim.rule, claim.path, claim.line), status);
        case.set_classname("lockcheck.findings").set_time(Duration::ZERO);
        suite.add_test_case(case);
    }
    suite
}

fn status(one: &Experiment, expect: &str, mask: &Mask) -> TestCaseStatus {
    let answers = one.answers_in_words();
    let (kind, message) = match (&one.failure, one.holds) {
        (Some(failure), _) => (NonSuccessKind::Error, failure.clone()),
        // A control shows what the guard is; only the expectation across the service is what had to hold.
        (None, Holds::No) if one.cell == Cell::C0 => (NonSuccessKind::Error, answers),
        (None, Holds::No) => {
            let (accepted, requests) = (one.tally.successes, one.tally.requests);
            (NonSuccessKind::Failure, format!("{expect} does not hold: {accepted} of {requests} accepted ({answers})"))
        }
        (None, Holds::Undecided) => (NonSuccessKind::Error, format!("cannot be judged: {answers}")),
        (None, Holds::Yes) => return TestCaseStatus::success(),
    };
    failed(kind, &mask.apply(&message))
}

fn verdict(report: &Report) -> TestCaseStatus {
    let mask = &report.mask;
    let kind = match report.verdict {
        Verdict::Held => return TestCaseStatus::success(),
        Verdict::Broken => NonSuccessKind::Failure,
        Verdict::Inconclusive => NonSuccessKind::Error,
    };
    let mut message = format!("{}: {}", report.verdict.name(), report.headline());
    if !report.diagnosis.is_empty() {
        message.push_str(&format!("; compatible with {}", report.diagnosis.join(", ")));
    }
    let mut status = failed(kind, &mask.apply(&message));
    status.set_description(mask.apply(&report.why.join("\n")));
    status
}

fn failed(kind: NonSuccessKind, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(message);
    status
}

/// Until the last answer.
fn duration(one: &Experiment) -> Duration {
    one.courses.iter().filter_map(|course| course.times.ended).max().unwrap_or_default()
}
