//! SARIF 2.1.0: results with their evidence as code flows, rules with their help, gaps as notifications.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::faults::{Finding, Hop, Place};
use crate::files::Gap;
use crate::findings::Report;
use crate::rules::{FaultRule, Severity};

use super::columns;

/// Writes the report as one SARIF log with one run.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "lockcheck",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": report.rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "utf16CodeUnits",
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": report.gaps.iter().map(|gap| notification(report, gap)).collect::<Vec<_>>(),
            }],
            "results": report.findings.iter().map(|finding| result(report, finding)).collect::<Vec<_>>(),
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

fn rule(rule: &FaultRule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.explain.trim() },
        "help": { "text": help_text(rule), "markdown": help_markdown(rule) },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "tags": ["concurrency", rule.family] },
    })
}

fn help_text(rule: &FaultRule) -> String {
    format!("{}\n\nNot a fault when:\n{}\n\nFix: {}", rule.explain.trim(), rule.not_when.trim(), rule.help)
}

fn help_markdown(rule: &FaultRule) -> String {
    let example = |code: &str| format!("```\n{}\n```", code.trim_matches('\n'));
    let (bad, good) = (example(&rule.bad), example(&rule.good));
    format!("{}\n\n**Wrong**\n\n{bad}\n\n**Right**\n\n{good}\n", help_text(rule))
}

fn result(report: &Report, finding: &Finding) -> Value {
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": { "text": format!("{} Fix: {}", sentence(&finding.message), finding.help) },
        "locations": [location(report, &finding.at, None)],
        "partialFingerprints": { "lockcheck/v1": finding.fingerprint },
        "properties": { "confidence": finding.confidence },
    });
    if let Some(index) = report.rules.iter().position(|rule| rule.id == finding.rule) {
        result["ruleIndex"] = json!(index);
    }
    if !finding.trace.is_empty() {
        let steps: Vec<Value> = finding.trace.iter().map(|hop| step(report, hop)).collect();
        result["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    result
}

fn step(report: &Report, hop: &Hop) -> Value {
    let note = format!("{}: {}", hop.role.name(), hop.note);
    json!({ "location": location(report, &hop.at, Some(note.trim_end_matches([':', ' ']))), "kinds": [hop.role] })
}

fn location(report: &Report, at: &Place, note: Option<&str>) -> Value {
    let column = |line: u32, column: u32| columns::utf16(report.excerpts.line(&at.path, line), column);
    let mut location = json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&report.path_from_here(&at.path)) },
        "region": {
            "startLine": at.line.max(1),
            "startColumn": column(at.line, at.column),
            "endLine": at.end_line.max(at.line).max(1),
            "endColumn": column(at.end_line, at.end_column),
        },
    }});
    if let Some(note) = note {
        location["message"] = json!({ "text": note });
    }
    location
}

fn notification(report: &Report, gap: &Gap) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": uri(&report.path_from_here(&gap.path)) } });
    if let Some(line) = gap.line {
        place["region"] = json!({ "startLine": line.max(1) });
    }
    json!({
        "descriptor": { "id": gap.kind },
        "level": "note",
        "message": { "text": gap.message },
        "locations": [{ "physicalLocation": place }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "note",
    }
}

fn sentence(message: &str) -> String {
    let message = message.trim_end();
    if message.ends_with(['.', '!', '?']) { message.to_string() } else { format!("{message}.") }
}

/// A relative path as a URI reference: everything but unreserved characters and `/` is percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("src/a b/é%:#.py"), "src/a%20b/%C3%A9%25%3A%23.py");
    }

    #[test]
    fn a_message_ends_as_a_sentence() {
        assert_eq!([sentence("twice"), sentence("twice. "), sentence("why?")], ["twice.", "twice.", "why?"]);
    }
}
