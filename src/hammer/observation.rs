//! What became of one request, and what that counts as. It does not know the other requests.

use std::collections::HashMap;

use cel::Value;

use super::answer::Answer;
use super::expression::{Expression, cel_value};
use super::locator::Locator;
use super::volley::Times;

/// What an expression over an answer may speak of.
pub const ANSWER_NAMES: [&str; 4] = ["status", "headers", "json", "body"];

/// What a request came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The service says that it did it.
    Accepted,
    /// The guard said no.
    Refused,
    /// Something in front of the guard said no: never evidence of a guard.
    RefusedElsewhere,
    /// Neither is known: 5xx, a reset, a timeout, half an answer.
    Unknown,
}

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct Observation {
    /// The copy's index.
    pub copy: usize,
    /// When what.
    pub times: Times,
    /// The answer, or in words why there is none.
    pub answer: Result<Answer, String>,
    /// What it counts as.
    pub outcome: Outcome,
    /// Which copy gave the answer, where the answer says so.
    pub served_by: Option<String>,
    /// The effect that an accepted answer names.
    pub effect: Option<String>,
    /// Why the outcome is not what the status alone says.
    pub remark: Option<String>,
}

/// What counts as what.
#[derive(Debug, Default)]
pub struct Criteria {
    /// What counts as a success.
    pub success: Option<Expression>,
    /// What counts as a refusal by the guard.
    pub refusal: Option<Expression>,
    /// What names the effect.
    pub effect_id: Option<Locator>,
    /// A limit above one is being tested: then 429 is the guard's refusal.
    pub limited: bool,
}

impl Criteria {
    /// What this answer counts as, with a remark where that needs one.
    pub fn judge(&self, answer: &Result<Answer, String>) -> (Outcome, Option<String>) {
        let Ok(answer) = answer else { return (Outcome::Unknown, None) };
        let by_status = outcome_of(answer.status, self.limited);
        let variables = || variables(answer);
        match self.success.as_ref().map(|success| success.holds(variables())) {
            Some(Ok(true)) => return (Outcome::Accepted, None),
            Some(Ok(false)) if by_status == Outcome::Accepted => return (Outcome::Refused, None),
            Some(Err(error)) if by_status == Outcome::Accepted => {
                return (Outcome::Unknown, Some(format!("--success has no answer here: {error}")));
            }
            _ => {}
        }
        match self.refusal.as_ref().map(|refusal| refusal.holds(variables())) {
            Some(Ok(true)) => (Outcome::Refused, None),
            Some(Ok(false)) if by_status == Outcome::Refused => (Outcome::RefusedElsewhere, None),
            _ => (by_status, None),
        }
    }
}

fn outcome_of(status: u16, limited: bool) -> Outcome {
    match status {
        200..=299 | 303 => Outcome::Accepted,
        409 | 410 | 412 | 422 | 423 => Outcome::Refused,
        429 if limited => Outcome::Refused,
        300..=499 => Outcome::RefusedElsewhere,
        _ => Outcome::Unknown,
    }
}

fn variables(answer: &Answer) -> Vec<(&'static str, Value)> {
    let headers: HashMap<String, Value> =
        answer.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), Value::from(value.as_str()))).collect();
    vec![
        ("status", Value::Int(i64::from(answer.status))),
        ("headers", headers.into()),
        ("json", answer.json().map_or(Value::Null, |json| cel_value(&json))),
        ("body", Value::from(answer.text().as_ref())),
    ]
}

#[cfg(test)]
impl Observation {
    /// An accepted request, to be varied in tests.
    pub fn example(copy: usize) -> Observation {
        Observation {
            copy,
            times: Times::default(),
            answer: Ok(Answer { status: 200, headers: Vec::new(), body: Vec::new() }),
            outcome: Outcome::Accepted,
            served_by: None,
            effect: None,
            remark: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Result<Answer, String> {
        let headers = vec![("X-Again".to_owned(), "yes".to_owned())];
        Ok(Answer { status, headers, body: body.as_bytes().to_vec() })
    }

    fn expression(source: &str) -> Option<Expression> {
        Some(Expression::compile("--success", source, &ANSWER_NAMES).unwrap())
    }

    #[test]
    fn the_status_decides_by_the_table() {
        let outcome = |status| Criteria::default().judge(&answer(status, "")).0;
        for status in [200, 201, 204, 303] {
            assert_eq!(outcome(status), Outcome::Accepted, "{status}");
        }
        for status in [409, 410, 412, 422, 423] {
            assert_eq!(outcome(status), Outcome::Refused, "{status}");
        }
        for status in [301, 302, 307, 400, 401, 403, 404, 429] {
            assert_eq!(outcome(status), Outcome::RefusedElsewhere, "{status}");
        }
        for status in [500, 502, 503, 504] {
            assert_eq!(outcome(status), Outcome::Unknown, "{status}");
        }
        assert_eq!(Criteria::default().judge(&Err("timed out".to_owned())).0, Outcome::Unknown);
        let limited = Criteria { limited: true, ..Criteria::default() };
        assert_eq!(limited.judge(&answer(429, "")).0, Outcome::Refused);
    }

    #[test]
    fn a_success_can_be_narrowed() {
        let criteria = Criteria { success: expression("json.ok && headers['x-again'] == 'yes'"), ..Criteria::default() };
        assert_eq!(criteria.judge(&answer(200, r#"{"ok":true}"#)).0, Outcome::Accepted);
        assert_eq!(criteria.judge(&answer(200, r#"{"ok":false}"#)).0, Outcome::Refused);
        assert_eq!(criteria.judge(&answer(409, "")).0, Outcome::Refused);
        let (outcome, remark) = criteria.judge(&answer(200, "not json"));
        assert_eq!(outcome, Outcome::Unknown);
        assert!(remark.unwrap().contains("--success"));
    }

    #[test]
    fn a_refusal_can_be_named() {
        let criteria = Criteria { refusal: expression("status == 400 && json.code == 'used'"), ..Criteria::default() };
        assert_eq!(criteria.judge(&answer(400, r#"{"code":"used"}"#)).0, Outcome::Refused);
        assert_eq!(criteria.judge(&answer(400, r#"{"code":"bad"}"#)).0, Outcome::RefusedElsewhere);
        assert_eq!(criteria.judge(&answer(404, "")).0, Outcome::RefusedElsewhere);
    }
}
