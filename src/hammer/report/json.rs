//! A run's report as JSON for programs; `schema_version` names the contract. It decides nothing.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Outcome, Report};
use crate::hammer::controls::rate;
use crate::hammer::expect::Holds;
use crate::hammer::experiment::{Cell, Experiment};
use crate::hammer::mask::Mask;
use crate::hammer::proof::Proof;
use crate::hammer::statistics::{Quantiles, fisher, quantiles};
use crate::hammer::verdict::Verdict;

/// A report, or those of a plan's scenarios with the worst of their verdicts.
pub fn document(outcome: &Outcome) -> Value {
    let reports = &outcome.reports;
    let mut document = match reports.as_slice() {
        [report] if report.name.is_none() => value(report),
        _ => json!({
            "schema_version": "1",
            "verdict": reports.iter().map(|report| report.verdict).max().map(Verdict::name),
            "scenarios": reports.iter().map(|report| (report.name.clone().unwrap_or_default(), value(report))).collect::<Map<_, _>>(),
        }),
    };
    if let Some(proofs) = &outcome.proofs {
        document["findings"] = proofs.iter().map(proof).collect();
    }
    document
}

fn proof(proof: &Proof) -> Value {
    json!({
        "rule": proof.claim.rule,
        "path": proof.claim.path,
        "line": proof.claim.line,
        "fingerprint": proof.claim.fingerprint,
        "outcome": proof.outcome.id(),
        "why": proof.why,
        "scenario": proof.scenario,
    })
}

/// The report without secrets.
pub fn value(report: &Report) -> Value {
    let mut value = json!({
        "schema_version": "1",
        "verdict": report.verdict.name(),
        "diagnosis": report.diagnosis,
        "why": report.why,
        "experiments": report.experiments.iter().map(experiment).collect::<Vec<_>>(),
        "expect": report.expect,
        "stats": stats(report),
    });
    hide(&mut value, &report.mask);
    value
}

fn stats(report: &Report) -> Value {
    let of = |cell| {
        let rate = rate(&report.experiments, cell);
        json!({ "failed": rate.failed, "of": rate.of })
    };
    let (c3, c4) = (rate(&report.experiments, Cell::C3), rate(&report.experiments, Cell::C4));
    let both = c3.of > 0 && c4.of > 0;
    let spreads = quantiles(report.volleys().filter_map(|one| one.spread));
    json!({
        "rounds": report.volleys().map(|one| one.round).max().unwrap_or(0),
        "requests_sent": report.sent,
        "c3": of(Cell::C3),
        "c4": of(Cell::C4),
        "fisher_p": both.then(|| fisher(c3, c4)),
        "upper_bound_95": report.bound(),
        "released_by": report.volleys().find_map(|one| one.by).map(|by| by.name()),
        "spread_us": spreads.map(quantiles_json),
        "latency_us": report.latencies().into_iter().map(|(copy, of)| (copy.to_owned(), quantiles_json(of))).collect::<Map<_, _>>(),
    })
}

fn experiment(one: &Experiment) -> Value {
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
        "before": one.state.as_ref().map(|state| &state.before),
        "after": one.state.as_ref().map(|state| &state.after),
        "witness": one.state.as_ref().map(|state| &state.calls),
        "witness_by_copy": one.state.as_ref().map(|state| &state.calls_by_copy),
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

/// Whole microseconds.
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
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
