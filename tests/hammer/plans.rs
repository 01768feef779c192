//! Plans and imports: options written down, several scenarios in one run, values taken from set-up answers, curl commands.

use std::ffi::OsString;
use std::fs;

use clap::Parser;
use lockcheck::hammer::{Verdict, run};
use serde_json::Value;

use super::service::{Guard, copies, serve};
use super::{Line, cells, error, hammer};

/// Runs a plan with these words beside it.
pub fn planned(plan: &str, more: &[&str]) -> (anyhow::Result<Verdict>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hammer.toml");
    fs::write(&file, plan).unwrap();
    said(["--plan".into(), file.into()].into_iter().chain(more.iter().map(OsString::from)).collect())
}

/// Runs with these words, as the command line would.
fn said(words: Vec<OsString>) -> (anyhow::Result<Verdict>, String) {
    let mut args = Line::try_parse_from([OsString::from("hammer")].iter().chain(&words)).unwrap().args;
    args.words = words;
    let mut out = Vec::new();
    let verdict = run(&args, &mut out, &|_| {});
    (verdict, String::from_utf8(out).unwrap())
}

fn two_scenarios() -> (super::service::Copies, super::service::Copies, String) {
    let (sound, faulty) = (copies(Guard::UniqueKey, 2), copies(Guard::ProcessLock, 2));
    let plan = format!(
        "path = '/redeem'\nrequests = 24\ndata = '{{\"code\":\"{{{{fresh}}}}\"}}'\n\
         [scenario.sound]\nrounds = 1\nurl = {:?}\n[scenario.faulty]\nurl = {:?}\n",
        sound.urls, faulty.urls
    );
    (sound, faulty, plan)
}

#[test]
fn the_worst_verdict_of_a_plan_counts() {
    let (_sound, _faulty, plan) = two_scenarios();
    let (verdict, json) = planned(&plan, &["--format", "json"]);
    assert_eq!(verdict.unwrap(), Verdict::Broken);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["schema_version"], &report["verdict"]), (&"1".into(), &"broken".into()));
    assert_eq!(report["scenarios"]["sound"]["verdict"], "held", "{report:#}");
    assert_eq!(report["scenarios"]["faulty"]["verdict"], "broken", "{report:#}");
    let (verdict, text) = planned(&plan, &["--only", "sound"]);
    assert_eq!(verdict.unwrap(), Verdict::Held);
    assert!(text.starts_with("[sound]\nHELD") && !text.contains("faulty"), "{text}");
}

#[test]
fn a_scenario_that_cannot_run_leaves_the_others_their_report() {
    let (_sound, _faulty, plan) = two_scenarios();
    let dead = format!("{plan}\n[scenario.dead]\nurl = ['http://127.0.0.1:1', 'http://127.0.0.1:1']\ntimeout = '1s'\n");
    let (verdict, text) = planned(&dead, &["--only", "dead", "--only", "sound"]);
    let error = format!("{:#}", verdict.unwrap_err());
    assert!(error.starts_with("dead: ") && error.contains("nothing listens"), "{error}");
    assert!(text.contains("[sound]\nHELD"), "{text}");
}

#[test]
fn junit_and_html_hold_all_scenarios() {
    let (_sound, _faulty, plan) = two_scenarios();
    let page = tempfile::NamedTempFile::new().unwrap();
    let (_, junit) = planned(&plan, &["--format", "junit", "--html", page.path().to_str().unwrap()]);
    assert!(junit.contains("<testsuite name=\"sound: POST /redeem\"") && junit.contains("<testsuite name=\"faulty:"), "{junit}");
    let page = fs::read_to_string(page.path()).unwrap();
    assert!(page.contains("lockcheck hammer: sound") && page.contains("lockcheck hammer: faulty"));
}

#[test]
fn a_value_from_the_set_up_goes_into_the_requests() {
    let url = serve(|question| match question.path.as_str() {
        "/orders" => (201, r#"{"order":{"id":"o-17"}}"#.to_owned()),
        "/orders/o-17/pay" => (200, String::new()),
        _ => (404, String::new()),
    });
    let target = format!("{url}/orders/{{{{capture.id}}}}/pay");
    let words = ["--url", &target, "-X", "POST", "--setup", "POST /orders", "-n", "4", "--rounds", "1"];
    let (_, report) = hammer(&words.iter().copied().chain(["--capture", "id=json:$.order.id"]).collect::<Vec<_>>()).unwrap();
    assert_eq!(cells(&report, "c0")[0]["successes"], 1, "{report:#}");
    assert!(error(&words).contains("--capture id=json:$.PATH"), "{}", error(&words));
    let missing = words.iter().copied().chain(["--capture", "id=json:$.nothing"]).collect::<Vec<_>>();
    assert!(error(&missing).contains("no answer to a --setup request holds it"), "{}", error(&missing));
}

#[test]
fn a_curl_command_is_fired_at_its_own_or_at_other_copies() {
    let copies = copies(Guard::UniqueKey, 2);
    let curl =
        |url: &str| format!("curl -s '{url}/redeem' -H 'content-type: application/json' -d '{{\"code\":\"{{{{fresh}}}}\"}}'");
    let words = |curl: String, more: &[&str]| {
        let words = ["--curl", curl.as_str(), "-n", "24", "--rounds", "1", "--format", "json"];
        words.iter().chain(more).map(OsString::from).collect::<Vec<_>>()
    };
    let (verdict, json) = said(words(curl(&copies.urls[0]), &[]));
    assert_eq!(verdict.unwrap(), Verdict::Held, "{json}");
    let each: Vec<&str> = copies.urls.iter().flat_map(|url| ["--url", url.as_str()]).collect();
    let (verdict, json) = said(words(curl("http://example.invalid"), &each));
    assert_eq!(verdict.unwrap(), Verdict::Held, "{json}");
    assert!(json.contains("\"c4\""), "both copies were fired at: {json}");
}
