//! A plan as a script for Grafana k6, which sends the same requests from elsewhere, or from many machines: rounds, requests,
//! what counts as what, and what must hold. The volley is k6's own batch, without a gate. It sends nothing itself.

use anyhow::{Result, bail};
use serde_json::Value;

use super::locator::{Locator, Step as Segment};
use super::plan::{Endpoint, Plan, Source, Step, Verify};
use super::template::{Slot, Template};

/// Stands around the name of an environment variable that the script reads itself.
const MARK: char = '\u{1}';

/// What stands for a variable of the environment until the script is written.
pub fn variable(name: &str) -> String {
    format!("{MARK}{name}{MARK}")
}

/// The script for these plans; a plan without a name is the only one.
pub fn script(plans: &[(Option<String>, Plan)]) -> Result<String> {
    let mut scenarios = Vec::new();
    let mut functions = String::new();
    for (index, (name, plan)) in plans.iter().enumerate() {
        let shown = name.clone().unwrap_or_else(|| "volley".to_owned());
        let function = format!("round{}", index + 1);
        scenarios.push(format!(
            "    {}: {{ executor: 'per-vu-iterations', vus: 1, iterations: {}, exec: '{function}', maxDuration: '30m' }},\n",
            text(&shown),
            plan.rounds
        ));
        functions.push_str(&round(&function, &shown, plan)?);
    }
    let most = plans.iter().map(|(_, plan)| plan.requests).max().unwrap_or(1);
    let checks: Vec<String> = plans
        .iter()
        .map(|(name, _)| {
            format!("    {}: ['rate==1'],\n", text(&format!("checks{{scenario:{}}}", name.as_deref().unwrap_or("volley"))))
        })
        .collect();
    Ok(HEAD
        .replace("@BATCH@", &most.to_string())
        .replace("@SCENARIOS@", &scenarios.concat())
        .replace("@THRESHOLDS@", &checks.concat())
        + &functions)
}

const HEAD: &str = r#"// Written by `lockcheck hammer --emit k6`: the same requests, rounds and expectations. k6 sends a round's requests in parallel, but
// without a gate, and runs no controls: a violated expectation is proof, one that holds is weak evidence.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, fail } from 'k6';
import { Counter } from 'k6/metrics';

export const options = {
  batch: @BATCH@,
  batchPerHost: @BATCH@,
  maxRedirects: 0,
  scenarios: {
@SCENARIOS@  },
  thresholds: {
@THRESHOLDS@  },
};

const accepted = new Counter('accepted');
const refused = new Counter('refused');
const unknown = new Counter('unknown');

function entity() {
  const random = Math.floor(Math.random() * 1e9).toString(36);
  return `lc${Date.now().toString(36)}${random}x${exec.scenario.iterationInTest}`;
}

function parsed(answer) {
  try { return answer.json(); } catch (error) { return null; }
}

function at(answer, kind, path) {
  if (kind === 'header') {
    const name = Object.keys(answer.headers).find((name) => name.toLowerCase() === path);
    return name && answer.headers[name];
  }
  if (kind === 'body') return (answer.body || '').trim();
  const found = path.reduce((value, step) => (value === null || value === undefined ? undefined : value[step]), parsed(answer));
  return Array.isArray(found) ? found.length : found;
}

// 2xx and 303 are accepted; 409, 410, 412, 422 and 423 are refusals by the guard; other 3xx and 4xx are no evidence of one.
function outcome(answer, success, refusal, limited) {
  const headers = {};
  Object.keys(answer.headers || {}).forEach((name) => { headers[name.toLowerCase()] = answer.headers[name]; });
  const [status, json, body] = [answer.status, parsed(answer), answer.body];
  const byStatus = (status >= 200 && status < 300) || status === 303 ? 'accepted'
    : [409, 410, 412, 422, 423].includes(status) || (limited && status === 429) ? 'refused'
    : status >= 300 && status < 500 ? 'elsewhere' : 'unknown';
  if (success) {
    if (success(status, headers, json, body)) return 'accepted';
    if (byStatus === 'accepted') return 'refused';
  }
  if (refusal) {
    if (refusal(status, headers, json, body)) return 'refused';
    if (byStatus === 'refused') return 'elsewhere';
  }
  return byStatus;
}
"#;

fn round(function: &str, name: &str, plan: &Plan) -> Result<String> {
    let Source::Running(endpoints) = &plan.source else {
        bail!("--emit k6: k6 starts no copies; name those that run, with --url")
    };
    for (wanted, what) in [
        (plan.stall.is_some() || plan.kill, "--stall and --kill"),
        (plan.job.is_some() || !plan.witness.is_empty(), "--witness and --job"),
        (matches!(plan.verify, Some(Verify::Sql(_))), "--verify-sql"),
    ] {
        if wanted {
            bail!("--emit k6: {what} cannot be written for k6; leave it out");
        }
    }
    let copies: Vec<String> = endpoints.iter().map(|endpoint| text(&base(endpoint))).collect();
    let targets: Vec<String> =
        endpoints.iter().map(|endpoint| format!("(fresh, n, captured) => {}", template(&endpoint.target))).collect();
    let request = &plan.request;
    let mut out = format!("\n// {name}\nexport function {function}() {{\n  const copies = [{}];\n", copies.join(", "));
    out.push_str(&format!("  const targets = [{}];\n  const fresh = entity();\n  const captured = {{}};\n", targets.join(", ")));
    for step in &plan.setup {
        out.push_str(&format!(
            "  {{\n    const answer = {};\n    if (answer.status < 200 || answer.status >= 400) fail(`set-up answered ${{answer.status}}`);\n",
            call(step)
        ));
        for (name, place) in &plan.captures {
            let name = text(name);
            out.push_str(&format!("    if (captured[{name}] === undefined) captured[{name}] = {};\n", found(place)));
        }
        out.push_str("  }\n");
    }
    let read = match &plan.verify {
        Some(Verify::Http(step, place)) => {
            Some(format!("(() => {{ const answer = {}; return {}; }})()", call(step), found(place)))
        }
        _ => None,
    };
    out.push_str(&format!("  const before = {};\n", read.as_deref().unwrap_or("null")));
    let body = request.body.as_ref().map_or("null".to_owned(), template);
    let condition = |expression: &Option<super::expression::Expression>| match expression {
        Some(expression) => {
            Ok::<_, anyhow::Error>(format!("(status, headers, json, body) => {}", javascript(expression.source())?))
        }
        None => Ok("null".to_owned()),
    };
    out.push_str(&format!(
        "  const answers = http.batch([...Array({}).keys()].map((index) => {{\n    const [n, copy] = [index + 1, index % copies.length];\n    \
         return {{\n      method: '{}',\n      url: copies[copy] + targets[copy](fresh, n, captured),\n      body: {body},\n      params: {{ headers: {}, \
         tags: {{ copy: copies[copy], kind: 'volley' }}, timeout: '{}ms' }},\n    }};\n  }}));\n",
        plan.requests,
        request.method,
        headers(&request.headers, request.body.is_some()),
        plan.timeout.as_millis()
    ));
    out.push_str(&format!(
        "  const outcomes = answers.map((answer) => outcome(answer, {}, {}, {}));\n",
        condition(&plan.criteria.success)?,
        condition(&plan.criteria.refusal)?,
        plan.criteria.limited
    ));
    out.push_str(TALLY);
    out.push_str(&format!("  const after = {};\n", read.as_deref().unwrap_or("null")));
    let effects = match (&plan.criteria.effect_id, &read) {
        (_, Some(_)) => "Number(after) - (Number(before) <= Number(after) ? Number(before) : 0)".to_owned(),
        (Some(place), None) => format!(
            "new Set(answers.filter((_, index) => outcomes[index] === 'accepted').map((answer) => String({}))).size",
            found(place)
        ),
        (None, None) => "null".to_owned(),
    };
    out.push_str(&format!("  const effects = {effects};\n"));
    let expect = plan.expectation.source();
    out.push_str(&format!(
        "  check({{ successes, refused: refusals, unknown: unknowns, effects, requests, by_copy, before, after }}, {{\n    {}: ({{ successes, refused, \
         unknown, effects, requests, by_copy, before, after }}) => {},\n  }}, {{ scenario: {} }});\n}}\n",
        text(expect),
        javascript(expect)?,
        text(name)
    ));
    Ok(out)
}

const TALLY: &str = r#"  const of = (kind) => outcomes.filter((outcome) => outcome === kind).length;
  const [successes, unknowns, requests] = [of('accepted'), of('unknown'), answers.length];
  const refusals = of('refused') + of('elsewhere');
  const by_copy = {};
  answers.forEach((_, index) => {
    const copy = copies[index % copies.length];
    by_copy[copy] = (by_copy[copy] || 0) + (outcomes[index] === 'accepted' ? 1 : 0);
    const metric = { accepted, refused, elsewhere: refused, unknown }[outcomes[index]];
    metric.add(1, { copy });
  });
"#;

/// A request beside the volley, to the first copy.
fn call(step: &Step) -> String {
    let request = &step.request;
    let body = request.body.as_ref().map_or("null".to_owned(), template);
    format!(
        "((n) => http.request('{}', copies[0] + {}, {body}, {{ headers: {} }}))(1)",
        request.method,
        template(&step.target),
        headers(&request.headers, request.body.is_some())
    )
}

fn base(endpoint: &Endpoint) -> String {
    format!("{}://{}", if endpoint.tls { "https" } else { "http" }, endpoint.authority)
}

fn headers(given: &[(String, Template)], body: bool) -> String {
    let mut all: Vec<String> = given.iter().map(|(name, value)| format!("{}: {}", text(name), template(value))).collect();
    if body && !given.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        all.push("'content-type': 'application/json'".to_owned());
    }
    format!("{{ {} }}", all.join(", "))
}

fn found(place: &Locator) -> String {
    match place {
        Locator::Body => "at(answer, 'body')".to_owned(),
        Locator::Header(name) => format!("at(answer, 'header', {})", text(name)),
        Locator::Json(path) => {
            let steps: Vec<Value> = path
                .iter()
                .map(|step| match step {
                    Segment::Member(name) => Value::from(name.as_str()),
                    Segment::Element(index) => Value::from(*index),
                })
                .collect();
            format!("at(answer, 'json', {})", Value::from(steps))
        }
    }
}

/// A text as JavaScript writes it.
fn text(plain: &str) -> String {
    Value::from(plain).to_string()
}

/// A template as JavaScript writes it.
fn template(template: &Template) -> String {
    let written = template.write(|slot| match slot {
        Slot::Text(plain) => {
            let mut parts = plain.split(MARK).enumerate().map(|(index, part)| match index % 2 {
                0 => part.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${"),
                _ => format!("${{__ENV[{}]}}", text(part)),
            });
            parts.by_ref().collect()
        }
        Slot::Fresh => "${fresh}".to_owned(),
        Slot::Number => "${n}".to_owned(),
        Slot::Captured(name) => format!("${{captured[{}]}}", text(name)),
    });
    format!("`{written}`")
}

/// An expression as JavaScript has it: operators, members, numbers and texts are the same; what differs is refused.
fn javascript(expression: &str) -> Result<String> {
    let outside: String = expression.split(['\'', '"']).step_by(2).collect::<Vec<_>>().join(" ");
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = "";
    for part in outside.split_inclusive(|c| !word(c)) {
        let name = part.trim_end_matches(|c| !word(c));
        if (part.ends_with('(') && !name.is_empty()) || name == "in" {
            bail!("--emit k6: `{expression}` uses `{}`, which JavaScript does not have", name);
        }
        before = if name.is_empty() { before } else { name };
    }
    _ = before;
    Ok(expression.replace("==", "===").replace("!=", "!=="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_the_same_or_refused() {
        assert_eq!(javascript("successes == 1 && after.n != 'a(b'").unwrap(), "successes === 1 && after.n !== 'a(b'");
        assert_eq!(javascript("(successes <= 5)").unwrap(), "(successes <= 5)");
        assert!(javascript("size(body) > 1").is_err() && javascript("status in [200]").is_err());
    }

    #[test]
    fn texts_cannot_leave_their_quotes() {
        let parsed = Template::parse("a`${x}\\ {{fresh}} {{env.KEY}}", &|name| Some(variable(name)), &mut Vec::new()).unwrap();
        assert_eq!(template(&parsed), "`a\\`\\${x}\\\\ ${fresh} ${__ENV[\"KEY\"]}`");
    }
}
