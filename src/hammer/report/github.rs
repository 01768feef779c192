//! A run's report as annotations of a GitHub workflow, and as Markdown for its job summary. It decides nothing.

use super::{Report, holds_in_words, time, title};
use crate::hammer::verdict::Verdict;
use crate::report::github::{cell, command};

/// One annotation: what was violated, or why nothing can be said; a notice where it held.
pub fn annotation(report: &Report) -> String {
    let level = match report.verdict {
        Verdict::Held => "notice",
        Verdict::Inconclusive => "warning",
        Verdict::Broken => "error",
    };
    let title = format!("lockcheck hammer: {}{}", named(report), report.verdict.name());
    let mut message = format!("{}; {}", report.request, report.headline());
    if !report.diagnosis.is_empty() {
        message.push_str(&format!("\ncompatible with: {}", report.diagnosis.join(", ")));
    }
    for sentence in &report.why {
        message.push_str(&format!("\n{sentence}"));
    }
    format!("{}\n", command(level, &[("title", title)], &report.mask.apply(&message)))
}

/// The report in Markdown.
pub fn summary(report: &Report) -> String {
    let mut out = format!(
        "## lockcheck hammer: {}{}\n\n`{}`: {}\n\n",
        named(report),
        report.verdict.name(),
        report.request,
        report.headline()
    );
    out.push_str("| | | round | requests | accepted | refused | unknown | effects | spread | holds |\n");
    out.push_str("|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n");
    for one in &report.experiments {
        let tally = &one.tally;
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            one.cell.name().to_uppercase(),
            title(one),
            one.round,
            tally.requests,
            tally.successes,
            tally.refused + tally.refused_elsewhere,
            tally.unknown,
            tally.effects.map_or_else(String::new, |effects| effects.to_string()),
            one.spread.map_or_else(String::new, time),
            holds_in_words(one.holds),
        ));
    }
    if !report.diagnosis.is_empty() {
        let rules: Vec<String> = report.diagnosis.iter().map(|rule| format!("`{rule}`")).collect();
        out.push_str(&format!("\nCompatible with {}.\n", rules.join(", ")));
    }
    for sentence in &report.why {
        out.push_str(&format!("\n- {}", cell(sentence)));
    }
    report.mask.apply(&format!("{}\n", out.trim_end()))
}

fn named(report: &Report) -> String {
    report.name.as_ref().map_or_else(String::new, |name| format!("{name}, "))
}
