//! The JSON contract, in types of its own so that the program's can change without it.

use std::io::{self, Write};

use serde::Serialize;

use crate::faults::{Confidence, Endpoint, Finding, Hop, Role};
use crate::files::Gap;
use crate::findings::Report;
use crate::rules::Severity;

/// Raised when a field is taken away or changes its meaning.
const SCHEMA_VERSION: &str = "1";

/// Writes the report as one JSON document.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        findings: report.findings.iter().map(JsonFinding::of).collect(),
        gaps: &report.gaps,
        stats: JsonStats::of(report),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

#[derive(Serialize)]
struct Document<'r> {
    schema_version: &'static str,
    findings: Vec<JsonFinding<'r>>,
    gaps: &'r [Gap],
    stats: JsonStats<'r>,
}

#[derive(Serialize)]
struct JsonFinding<'r> {
    rule: &'r str,
    severity: Severity,
    confidence: Confidence,
    message: &'r str,
    path: &'r str,
    line: u32,
    end_line: u32,
    column: u32,
    end_column: u32,
    trace: Vec<JsonHop<'r>>,
    endpoint: Option<&'r Endpoint>,
    help: &'r str,
    fingerprint: &'r str,
}

#[derive(Serialize)]
struct JsonHop<'r> {
    path: &'r str,
    line: u32,
    column: u32,
    role: Role,
    note: &'r str,
}

#[derive(Serialize)]
struct JsonStats<'r> {
    files: usize,
    parsed: usize,
    bytes: u64,
    seconds: f64,
    findings: usize,
    errors: usize,
    warnings: usize,
    advice: usize,
    suppressed: usize,
    gaps: usize,
    copies: Option<u32>,
    copies_evidence: &'r str,
}

impl<'r> JsonFinding<'r> {
    fn of(finding: &'r Finding) -> JsonFinding<'r> {
        JsonFinding {
            rule: &finding.rule,
            severity: finding.severity,
            confidence: finding.confidence,
            message: &finding.message,
            path: &finding.at.path,
            line: finding.at.line,
            end_line: finding.at.end_line,
            column: finding.at.column,
            end_column: finding.at.end_column,
            trace: finding.trace.iter().map(JsonHop::of).collect(),
            endpoint: finding.endpoint.as_ref(),
            help: &finding.help,
            fingerprint: &finding.fingerprint,
        }
    }
}

impl<'r> JsonHop<'r> {
    fn of(hop: &'r Hop) -> JsonHop<'r> {
        JsonHop { path: &hop.at.path, line: hop.at.line, column: hop.at.column, role: hop.role, note: &hop.note }
    }
}

impl<'r> JsonStats<'r> {
    fn of(report: &'r Report) -> JsonStats<'r> {
        let stats = report.stats;
        JsonStats {
            files: stats.files,
            parsed: stats.parsed,
            bytes: stats.bytes,
            seconds: (stats.seconds * 1000.0).round() / 1000.0,
            findings: report.findings.len(),
            errors: report.count(Severity::Error),
            warnings: report.count(Severity::Warning),
            advice: report.count(Severity::Advice),
            suppressed: stats.suppressed,
            gaps: report.gaps.len(),
            copies: stats.copies,
            copies_evidence: &report.copies,
        }
    }
}
