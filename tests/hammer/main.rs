//! `hammer` against small services: what it says of each kind of guard, of bad input, and when it is interrupted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_endpoints;
mod bad_input;
mod faults;
mod gates;
mod http2;
mod interrupted;
mod judging;
mod plans;
mod proofs;
mod reports;
mod service;
mod started;
mod state;
mod tls;
mod witness;

use clap::Parser;
use lockcheck::hammer::cli::HammerArgs;
use lockcheck::hammer::{Verdict, run};
use serde_json::Value;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: HammerArgs,
}

/// Runs with these words and reads the report.
fn hammer(words: &[&str]) -> anyhow::Result<(Verdict, Value)> {
    let line = Line::try_parse_from(["hammer", "--format", "json"].iter().chain(words))?;
    let mut report = Vec::new();
    let verdict = run(&line.args, &mut report, &|_| {})?;
    Ok((verdict, serde_json::from_slice(&report)?))
}

/// The message of a run that cannot be judged.
fn error(words: &[&str]) -> String {
    match hammer(words) {
        Err(error) => format!("{error:#}"),
        Ok((verdict, report)) => panic!("{verdict:?}: {report:#}"),
    }
}

/// Runs a coupon's redemption at these addresses, with more words.
fn redeem(urls: &[String], more: &[&str]) -> (Verdict, Value) {
    let urls: Vec<String> = urls.iter().map(|url| format!("--url={url}/redeem")).collect();
    let mut words: Vec<&str> = urls.iter().map(String::as_str).collect();
    for (option, usual) in [("-d", r#"{"code":"{{fresh}}"}"#), ("-n", "24")] {
        if !more.contains(&option) {
            words.extend([option, usual]);
        }
    }
    words.extend(more);
    hammer(&words).unwrap_or_else(|error| panic!("{error:#}"))
}

fn diagnosis(report: &Value) -> Vec<&str> {
    report["diagnosis"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect()
}

fn why(report: &Value) -> String {
    let sentences: Vec<&str> = report["why"].as_array().unwrap().iter().map(|why| why.as_str().unwrap()).collect();
    sentences.join("\n")
}

/// The experiments of this name.
fn cells<'a>(report: &'a Value, name: &str) -> Vec<&'a Value> {
    report["experiments"].as_array().unwrap().iter().filter(|one| one["name"] == name).collect()
}
