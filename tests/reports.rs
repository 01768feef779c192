//! Each format over one fixed report: what a person or program gets to see does not change unnoticed.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::str::from_utf8;

use lockcheck::faults::{Confidence, Endpoint, Finding, Hop, Place, Role};
use lockcheck::files::{Gap, GapKind};
use lockcheck::findings::{Excerpts, Report, Stats};
use lockcheck::report::{self, FORMATS};
use lockcheck::rules::{Catalogue, Severity};
use serde_json::Value;

fn place(path: &str, line: u32, columns: (u32, u32)) -> Place {
    Place { path: path.into(), line, end_line: line, column: columns.0, end_column: columns.1 }
}

fn hop(at: Place, role: Role, note: &str) -> Hop {
    Hop { at, role, note: note.into() }
}

/// Three findings: one with the usual ladder, one with a hostile path, message and source line, one with a trace too long to show.
fn sample() -> Report {
    let mut excerpts = Excerpts::default();
    for (path, line, text) in [
        ("app/pay.py", 12, "@router.post(\"/pay\")"),
        ("app/pay.py", 14, "    await capture(order_id)"),
        ("app/core.py", 7, "lock = asyncio.Lock()"),
        ("app/core.py", 21, "    async with lock:"),
        ("app/core.py", 25, "        await db.execute(CHARGE, order_id)"),
        ("deploy/api.yaml", 9, "  replicas: 3"),
        ("web/a, b:1%.ts", 3, "\tconst \u{1f600} = seen.has(id)\u{1b}[2J;"),
    ] {
        excerpts.insert(path, line, text);
    }
    let long = (1..=12).map(|line| {
        excerpts.insert("src/long.rs", line, &format!("    step_{line}();"));
        hop(place("src/long.rs", line, (5, 11)), Role::Call, &format!("step {line}"))
    });
    let long: Vec<Hop> = long.collect();
    let findings = vec![
        Finding {
            rule: "process-lock".into(),
            severity: Severity::Error,
            confidence: Confidence::High,
            message: "`capture` is locked in this process only; a second copy charges the order again".into(),
            at: place("app/core.py", 21, (16, 20)),
            trace: vec![
                hop(place("app/pay.py", 12, (1, 21)), Role::Entry, "POST /pay"),
                hop(place("app/pay.py", 14, (11, 28)), Role::Call, "capture"),
                hop(place("app/core.py", 7, (8, 22)), Role::State, "a lock of this process"),
                hop(place("app/core.py", 21, (16, 20)), Role::Acquire, "held around the work"),
                hop(place("app/core.py", 25, (15, 43)), Role::Effect, "update of orders"),
                hop(place("deploy/api.yaml", 9, (3, 14)), Role::Copies, "3 copies"),
            ],
            endpoint: Some(Endpoint { method: Some("POST".into()), path: Some("/pay".into()), fields: vec!["order_id".into()] }),
            help: "put the condition into the UPDATE and use the row count".into(),
            fingerprint: "0123456789abcdef0123456789abcdef".into(),
        },
        Finding {
            rule: "process-guard".into(),
            severity: Severity::Warning,
            confidence: Confidence::Medium,
            message: "100% of copies see their own set\n::error::not a command".into(),
            at: place("web/a, b:1%.ts", 3, (15, 27)),
            trace: vec![],
            endpoint: None,
            help: "insert the key under a unique key".into(),
            fingerprint: "fedcba9876543210fedcba9876543210".into(),
        },
        Finding {
            rule: "lock-coarse-key".into(),
            severity: Severity::Advice,
            confidence: Confidence::Low,
            message: "one key for all".into(),
            at: Place { end_line: 12, ..place("src/long.rs", 1, (5, 3)) },
            trace: long,
            endpoint: None,
            help: "put the id into the key".into(),
            fingerprint: "00000000000000000000000000000000".into(),
        },
    ];
    let rules = Catalogue::builtin().unwrap().named_by(findings.iter().map(|finding| finding.rule.as_str()));
    let gap = |path: &str, line, kind, message: &str| Gap { path: path.into(), line, kind, message: message.into() };
    Report {
        root: "services/api".into(),
        prefix: "services/api/".into(),
        findings,
        inventory: vec![],
        gaps: vec![
            gap("app/old.py", None, GapKind::NotUtf8, "is not UTF-8 (byte 4)"),
            gap("app/x.py", Some(3), GapKind::Syntax, "expected an expression"),
        ],
        rules,
        excerpts,
        stats: Stats { files: 40, parsed: 38, bytes: 81_920, seconds: 0.25, suppressed: 1, copies: Some(3) },
        copies: "3 copies: deploy/api.yaml:9".into(),
    }
}

fn written(format: &str, report: &Report) -> String {
    let mut bytes = Vec::new();
    (report::format(format).unwrap().write)(report, &mut bytes).unwrap();
    from_utf8(&bytes).unwrap().to_string()
}

fn plain_text(report: &Report) -> String {
    anstream::adapter::strip_str(&written("text", report)).to_string()
}

#[test]
fn text() {
    insta::assert_snapshot!(plain_text(&sample()));
}

#[test]
fn text_of_a_finding_fits_on_a_screen() {
    for finding in sample().findings {
        let rule = finding.rule.clone();
        let text = plain_text(&Report { findings: vec![finding], ..sample() });
        let lines = text.lines().take_while(|line| !line.is_empty()).count();
        assert!(lines <= 24, "{rule}: {lines} lines");
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{rule}");
    }
}

#[test]
fn text_lets_no_escape_of_the_source_through() {
    assert!(!written("text", &sample()).contains("\u{1b}[2J"));
}

#[test]
fn text_without_findings_says_what_was_looked_at() {
    let report = Report { findings: vec![], stats: Stats { files: 1, seconds: 0.04, ..Stats::default() }, ..Report::default() };
    assert_eq!(plain_text(&report), "No findings in 1 file (0.0 s)\n");
}

#[test]
fn json() {
    insta::assert_snapshot!(written("json", &sample()));
}

#[test]
fn github() {
    insta::assert_snapshot!(written("github", &sample()));
}

#[test]
fn github_gives_each_finding_one_line_whatever_is_in_it() {
    let out = written("github", &sample());
    assert_eq!(out.lines().count(), 3);
    let hostile = out.lines().nth(1).unwrap();
    assert!(hostile.starts_with("::warning file=services/api/web/a%2C b%3A1%25.ts,line=3,endLine=3,col="), "{hostile}");
    assert!(hostile.contains("::100%25 of copies see their own set%0A::error::not a command"), "{hostile}");
}

#[test]
fn github_summary() {
    let summary = report::format("github").unwrap().summary.unwrap();
    insta::assert_snapshot!(summary(&sample()));
}

#[test]
fn sarif_is_valid_by_the_published_schema() {
    let mut schema: Value = serde_json::from_str(include_str!("data/sarif-2.1.0.schema.json")).unwrap();
    // A pattern with a stray `]`, which strict readers of regular expressions refuse; no log here sets a language.
    for definition in ["run", "toolComponent"] {
        schema["definitions"][definition]["properties"]["language"].as_object_mut().unwrap().remove("pattern").unwrap();
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    for report in [sample(), Report::default()] {
        let mut log: Value = serde_json::from_str(&written("sarif", &report)).unwrap();
        let errors: Vec<_> = validator.iter_errors(&log).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, [""; 0]);
        log["runs"][0]["columnKind"] = "bytes".into();
        assert!(!validator.is_valid(&log), "the schema must be able to refuse");
    }
}

#[test]
fn sarif_carries_the_evidence() {
    let log: Value = serde_json::from_str(&written("sarif", &sample())).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    let levels: Vec<_> = results.iter().map(|result| result["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["error", "warning", "note"]);
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    let steps = results[0]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap();
    assert_eq!(steps.len(), 6);
    assert_eq!(steps[0]["location"]["message"]["text"], "entry: POST /pay");
    assert_eq!(results[0]["partialFingerprints"]["lockcheck/v1"], "0123456789abcdef0123456789abcdef");

    let hostile = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(hostile["artifactLocation"]["uri"], "services/api/web/a%2C%20b%3A1%25.ts");
    // The tab is one unit, the emoji four bytes but two units.
    assert_eq!(hostile["region"]["startColumn"], 13);
    assert_eq!(run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap().len(), 2);
}

#[test]
fn formats_have_names_of_their_own() {
    let mut names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FORMATS.len());
    assert!(report::format("xml").is_none());
}
