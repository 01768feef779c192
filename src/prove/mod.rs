//! From a scan to an experiment: a plan of `hammer` with a scenario for each request that findings reach. It must not know how
//! a finding was made or how a volley works.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use crate::findings::Report;
use crate::hammer::{Need, need};
use crate::report::columns::printable;

/// What a plan written from a scan holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Scenarios in it.
    pub scenarios: usize,
    /// Findings that they reach.
    pub reached: usize,
}

/// A request and the findings that it reaches.
#[derive(Default)]
struct Request {
    fields: Vec<String>,
    found: Vec<Found>,
}

/// One finding, as a comment and for the plan.
struct Found {
    rule: String,
    fingerprint: String,
    words: String,
    need: Option<Need>,
}

/// Writes a plan for the findings of a report. An error where the file is there already.
pub fn write_plan(report: &Report, file: &Path) -> anyhow::Result<Written> {
    let (text, written) = plan(report, &file.display().to_string());
    let created = File::create_new(file);
    let mut created = created.with_context(|| format!("--plan {}: cannot be written; is it there already?", file.display()))?;
    created.write_all(text.as_bytes()).with_context(|| format!("--plan {}: cannot be written", file.display()))?;
    Ok(written)
}

fn plan(report: &Report, file: &str) -> (String, Written) {
    let mut requests: BTreeMap<(String, String, String), Request> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for finding in &report.findings {
        let words = format!(
            "{} ({}) at {}:{}: {}",
            finding.rule,
            finding.confidence.name(),
            report.path_from_here(&finding.at.path),
            finding.at.line,
            finding.message
        );
        let found = Found {
            rule: finding.rule.clone(),
            fingerprint: finding.fingerprint.clone(),
            words: printable(&words).replace('\n', " "),
            need: need(&finding.rule),
        };
        match &finding.endpoint {
            Some(endpoint) if found.need.is_some_and(|need| need != Need::Job) => {
                let changes = if endpoint.fields.is_empty() { "GET" } else { "POST" };
                let method = endpoint.method.clone().unwrap_or_else(|| changes.to_owned());
                // Routers of several files may have one path, each below its own.
                let file = finding.trace.first().map_or_else(String::new, |hop| hop.at.path.clone());
                let request = requests.entry((endpoint.path.clone().unwrap_or_default(), method, file)).or_default();
                if request.fields.is_empty() {
                    request.fields.clone_from(&endpoint.fields);
                }
                request.found.push(found);
            }
            _ => elsewhere.push(found),
        }
    }
    let mut text = head(file, &report.root);
    let mut names = BTreeMap::new();
    let mut scenarios = 0;
    for ((path, method, _), request) in &requests {
        let name = unique(&mut names, scenario_name(method, path));
        let (faults, volleys): (Vec<&Found>, Vec<&Found>) =
            request.found.iter().partition(|found| matches!(found.need, Some(Need::Stall | Need::Kill)));
        for (found, suffix) in [(volleys, ""), (faults, "-faults")] {
            if !found.is_empty() {
                scenarios += 1;
                text.push_str(&scenario(&format!("{name}{suffix}"), method, path, &request.fields, &found));
            }
        }
    }
    let (jobs, elsewhere): (Vec<Found>, Vec<Found>) = elsewhere.into_iter().partition(|found| found.need == Some(Need::Job));
    for found in &jobs {
        scenarios += 1;
        text.push_str(&job(&unique(&mut names, "job".to_owned()), found));
    }
    let reached = requests.values().map(|request| request.found.len()).sum::<usize>() + jobs.len();
    if !elsewhere.is_empty() {
        text.push_str("\n# Findings that no request is known to reach, or that no experiment shows:\n");
        elsewhere.iter().for_each(|found| text.push_str(&format!("# - {}\n", found.words)));
    }
    (text, Written { scenarios, reached })
}

fn head(file: &str, root: &str) -> String {
    format!(
        "# Written by `lockcheck scan` from its findings: a scenario for each request that one of them reaches. Look through it, and\n\
         # fill in what says TODO. Then:\n\
         #\n\
         #     lockcheck scan {root} --format json > scan.json\n\
         #     lockcheck hammer --plan {file} --findings scan.json\n\
         #\n\
         # Either lockcheck starts the copies, each with a PORT of its own, or you name those that run already.\n\
         # run = \"node server.js\"            # fill in, or:\n\
         # url = [\"http://127.0.0.1:3001\", \"http://127.0.0.1:3002\"]\n\
         # ready = \"/health\"                 # of run: a path that answers once a copy is ready\n\
         # header = [\"authorization: Bearer {{{{env.TOKEN}}}}\"]\n"
    )
}

fn scenario(name: &str, method: &str, path: &str, fields: &[String], found: &[&Found]) -> String {
    let mut text = String::from("\n");
    found.iter().for_each(|found| text.push_str(&format!("# {}\n", found.words)));
    text.push_str(&format!("[scenario.{name}]\n"));
    let marks: Vec<String> = found.iter().map(|found| format!("\"{}\"", found.fingerprint)).collect();
    text.push_str(&format!("proves = [{}]\n", marks.join(", ")));
    text.push_str("# setup = ['POST /... {\"id\":\"{{fresh}}\"}']  # where what the request speaks of must exist first\n");
    text.push_str(&format!("request = \"{method}\"\n"));
    let target = target(path);
    match &target {
        None => text.push_str("path = \"/TODO\"  # not visible where the handler is registered\n"),
        Some(target) => {
            text.push_str(&format!("path = {}  # with all that its router is seen to hang below\n", quoted(target)));
        }
    }
    let fields: Vec<&String> = fields.iter().filter(|field| !parameters(path).any(|name| name == **field)).collect();
    if !fields.is_empty() && method != "GET" {
        let named = target.is_some_and(|target| target.contains("{{fresh}}"));
        let entry = |(index, field): (usize, &&String)| {
            let value = if index == 0 && !named { "{{fresh}}" } else { "{{n}}" };
            format!("{}:\"{value}\"", serde_json::Value::from(field.as_str()))
        };
        let body: Vec<String> = fields.iter().enumerate().map(entry).collect();
        text.push_str("# {{fresh}} is the entity that the requests fight for; {{n}} tells the requests apart.\n");
        text.push_str(&format!(
            "header = [\"content-type: application/json\"]\ndata = {}\n",
            quoted(&format!("{{{}}}", body.join(",")))
        ));
    } else if method != "GET" {
        text.push_str("# data = '{\"id\":\"{{fresh}}\"}'  # the body's shape is not visible\n");
    }
    text.push_str("# verify = 'GET /... json:$.count'  # count in the state, not in the answers\n");
    if found.iter().any(|found| found.rule == "process-rate-limit") {
        text.push_str("refusal = \"status == 429\"\nexpect = \"successes <= TODO\"  # the limit\n");
    }
    if found.iter().any(|found| matches!(found.need, Some(Need::Stall | Need::LateRelease))) {
        text.push_str("stall = \"12s\"  # longer than the lease\ntimeout = \"20s\"\n");
    }
    if found.iter().any(|found| found.need == Some(Need::Kill)) {
        text.push_str("kill = true\nlease = \"12s\"  # after which what a dead copy held must be free\n");
    }
    text
}

/// A job has no request: what it does is counted.
fn job(name: &str, found: &Found) -> String {
    format!(
        "\n# {}\n[scenario.{name}]\nproves = [\"{}\"]\n\
         # Copies run by themselves for so long, and what they do in that time is counted: by a server that plays what the job calls,\n\
         # found at $LOCKCHECK_WITNESS, or in the state. Exactly one run must fall into that time.\n\
         job = \"TODO\"  # for example 70s\n\
         witness = [\"POST /TODO\"]\n\
         # verify-sql = [\"postgres://...\", \"select count(*) from ...\"]\n",
        found.words, found.fingerprint
    )
}

/// The path with an entity for each parameter; `None` where there is none.
fn target(path: &str) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    let parts = path.trim_start_matches('^').trim_end_matches('$').split('/');
    let filled: Vec<String> =
        parts.map(|part| if parameter(part).is_some() { "{{fresh}}".to_owned() } else { part.to_owned() }).collect();
    let joined = filled.join("/");
    Some(if joined.starts_with('/') { joined } else { format!("/{joined}") })
}

fn parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(parameter)
}

/// The name of a parameter of a path: `:id`, `{id}`, `<int:id>`, `*`.
fn parameter(part: &str) -> Option<&str> {
    if let Some(name) = part.strip_prefix(':').or(part.strip_prefix('*')) {
        return Some(name.trim_end_matches(['?', '+', '*']));
    }
    let inner = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
    let inner = inner.or_else(|| part.strip_prefix('<').and_then(|part| part.strip_suffix('>')))?;
    Some(inner.rsplit(':').next().unwrap_or(inner))
}

fn scenario_name(method: &str, path: &str) -> String {
    let words: Vec<String> = std::iter::once(method)
        .chain(path.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

fn unique(names: &mut BTreeMap<String, usize>, name: String) -> String {
    let count = names.entry(name.clone()).or_default();
    *count += 1;
    if *count == 1 { name } else { format!("{name}-{count}") }
}

/// As a text of TOML.
fn quoted(text: &str) -> String {
    if text.contains('\'') || text.chars().any(char::is_control) {
        toml::Value::from(text).to_string()
    } else {
        format!("'{text}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_every_library_become_targets() {
        for (path, want) in [
            ("/orders/:id/pay", "/orders/{{fresh}}/pay"),
            ("/orders/{order_id}", "/orders/{{fresh}}"),
            ("orders/<int:pk>/", "/orders/{{fresh}}/"),
            ("/plain", "/plain"),
        ] {
            assert_eq!(target(path).as_deref(), Some(want), "{path}");
        }
        assert_eq!(target(""), None);
        assert_eq!(parameters("/a/<int:pk>/{b}").collect::<Vec<_>>(), ["pk", "b"]);
    }

    #[test]
    fn names_of_scenarios_never_repeat() {
        let mut names = BTreeMap::new();
        assert_eq!(unique(&mut names, scenario_name("POST", "/a/:id")), "post-a-id");
        assert_eq!(unique(&mut names, scenario_name("POST", "/a/{id}")), "post-a-id-2");
    }
}
