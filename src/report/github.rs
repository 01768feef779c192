//! Annotations for a GitHub workflow (workflow commands, one a line), and the table of its job summary.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::faults::Finding;
use crate::findings::Report;
use crate::rules::Severity;

use super::{columns, counted};

/// More rows would outgrow what the host shows.
const MOST_ROWS: usize = 200;

/// Writes one annotation a finding, worst first: the host shows only the first few of each level.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        writeln!(out, "{}", annotation(report, finding))?;
    }
    Ok(())
}

/// The findings as a Markdown table.
pub fn summary(report: &Report) -> String {
    let mut out = String::from("## lockcheck\n\n");
    if report.findings.is_empty() {
        let _ = writeln!(out, "No findings in {}.", counted(report.stats.files, "file"));
        return out;
    }
    out.push_str("| | rule | place | what goes wrong |\n|---|---|---|---|\n");
    for finding in report.findings.iter().take(MOST_ROWS) {
        let place = format!("{}:{}", report.path_from_here(&finding.at.path), finding.at.line);
        let (severity, message) = (finding.severity.name(), cell(&finding.message));
        let _ = writeln!(out, "| {severity} | `{}` | `{}` | {message} |", finding.rule, cell(&place));
    }
    if let Some(more) = report.findings.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(out, "\n{more} more are in the log.");
    }
    out
}

/// A workflow command: `::level key=value,...::message`, with everything escaped that the runner would take for its own.
pub fn command(level: &str, properties: &[(&str, String)], message: &str) -> String {
    let properties: Vec<String> = properties.iter().map(|(key, value)| format!("{key}={}", escaped_property(value))).collect();
    format!("::{level} {}::{}", properties.join(","), escaped(message))
}

fn annotation(report: &Report, finding: &Finding) -> String {
    let at = &finding.at;
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "notice",
    };
    let mut properties =
        vec![("file", report.path_from_here(&at.path)), ("line", at.line.to_string()), ("endLine", at.end_line.to_string())];
    // The host refuses columns of a place with several lines.
    if at.line == at.end_line {
        let line = report.excerpts.line(&at.path, at.line);
        properties.push(("col", columns::utf16(line, at.column).to_string()));
        properties.push(("endColumn", columns::utf16(line, at.end_column).to_string()));
    }
    properties.push(("title", format!("{}: {}", finding.rule, report.title(&finding.rule))));
    command(level, &properties, &explanation(report, finding))
}

fn explanation(report: &Report, finding: &Finding) -> String {
    let mut out = format!("{} ({} confidence)", finding.message, finding.confidence.name());
    for (number, hop) in finding.trace.iter().enumerate() {
        let place = format!("{}:{}", report.path_from_here(&hop.at.path), hop.at.line);
        let _ = write!(out, "\n{}. {} {place} {}", number + 1, hop.role.name(), hop.note);
    }
    let _ = write!(out, "\nFix: {}", finding.help);
    out
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escaped_property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text that may stand in a Markdown table's cell.
pub fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}
