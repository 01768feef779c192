//! A run's report as text for people. It decides nothing.

use std::time::Duration;

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};

use super::{Report, holds_in_words, time, title};
use crate::hammer::statistics::Quantiles;

/// The report without secrets.
pub fn text(report: &Report) -> String {
    let name = report.name.as_ref().map_or_else(String::new, |name| format!("[{name}]\n"));
    let mut text = name + &format!("{}: {}\n", report.verdict.name().to_uppercase(), report.headline());
    text.push_str(&format!("{} at {}; expected: {}\n\n", report.request, report.copies.join(", "), report.expect));
    text.push_str(&experiments_table(report).to_string());
    text.push('\n');
    if let Some(table) = copies_table(report) {
        text.push_str(&format!("\nvolleys, per copy\n{table}\n"));
    }
    if !report.diagnosis.is_empty() {
        text.push_str(&format!("\ncompatible with: {}\n", report.diagnosis.join(", ")));
    }
    if !report.why.is_empty() {
        text.push('\n');
    }
    for sentence in &report.why {
        text.push_str(&format!("- {sentence}\n"));
    }
    report.mask.apply(&text)
}

fn experiments_table(report: &Report) -> Table {
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
    for one in &report.experiments {
        let tally = &one.tally;
        table.add_row([
            one.cell.name().to_uppercase(),
            title(one),
            one.round.to_string(),
            tally.requests.to_string(),
            tally.successes.to_string(),
            tally.refused.to_string(),
            tally.refused_elsewhere.to_string(),
            tally.unknown.to_string(),
            tally.effects.map_or_else(String::new, |effects| effects.to_string()),
            one.overlap.map_or_else(String::new, |overlap| overlap.depth.to_string()),
            one.spread.map_or_else(String::new, time),
            holds_in_words(one.holds).to_owned(),
        ]);
    }
    table
}

fn copies_table(report: &Report) -> Option<Table> {
    let mut table = table(&["copy", "requests", "accepted", "median", "p95", "max"]);
    let latencies = report.latencies();
    for copy in &report.copies {
        let own = || report.volleys().flat_map(|one| &one.tally.by_copy).filter(|part| part.copy == *copy);
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
    report.volleys().any(|one| one.failure.is_none()).then_some(table)
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header.iter().copied());
    table
}
