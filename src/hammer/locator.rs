//! Where in an answer a value stands: `json:$.order.id`, `header:X-Order` or `body`.

use serde_json::Value;

use super::answer::Answer;

/// A place in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locator {
    /// A path into a JSON body.
    Json(Vec<Step>),
    /// A header, by its name in small letters.
    Header(String),
    /// The whole body.
    Body,
}

/// One step of a JSON path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A member of an object.
    Member(String),
    /// An element of an array.
    Element(usize),
}

impl Locator {
    /// Reads a locator.
    pub fn parse(text: &str) -> Result<Locator, String> {
        if let Some(path) = text.strip_prefix("json:") {
            return Ok(Locator::Json(steps(path)?));
        }
        if let Some(name) = text.strip_prefix("header:") {
            return match name.trim() {
                "" => Err("`header:` needs a name, for example header:X-Order-Id".to_owned()),
                name => Ok(Locator::Header(name.to_ascii_lowercase())),
            };
        }
        match text {
            "body" => Ok(Locator::Body),
            _ => Err(format!("`{text}` names no place in an answer; write json:$.id, header:NAME or body")),
        }
    }

    /// The value in this answer, as text; `None` where there is none.
    pub fn find(&self, answer: &Answer) -> Option<String> {
        Some(match self.value(answer)? {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    /// The value in this answer; a list is its length. `None` where there is none.
    pub fn value(&self, answer: &Answer) -> Option<Value> {
        match self {
            Locator::Header(name) => answer.header(name).map(Value::from),
            Locator::Body => Some(Value::from(answer.text().trim())),
            Locator::Json(path) => {
                let body = answer.json()?;
                let found = path.iter().try_fold(&body, |value, step| match step {
                    Step::Member(name) => value.get(name),
                    Step::Element(index) => value.get(index),
                })?;
                match found {
                    Value::Null => None,
                    // So that `json:$.orders` can be counted.
                    Value::Array(list) => Some(Value::from(list.len())),
                    other => Some(other.clone()),
                }
            }
        }
    }
}

fn steps(path: &str) -> Result<Vec<Step>, String> {
    let bad = || format!("`{path}` is no JSON path; write for example $.order.id or $.items[0].id");
    let mut rest = path.strip_prefix('$').ok_or_else(bad)?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            if end == 0 {
                return Err(bad());
            }
            steps.push(Step::Member(after[..end].to_owned()));
            rest = &after[end..];
        } else if let Some(after) = rest.strip_prefix('[') {
            let (inside, after) = after.split_once(']').ok_or_else(bad)?;
            let quoted = inside.trim_matches(['"', '\'']);
            steps.push(match inside.parse() {
                Ok(index) => Step::Element(index),
                Err(_) if quoted.len() + 2 == inside.len() => Step::Member(quoted.to_owned()),
                Err(_) => return Err(bad()),
            });
            rest = after;
        } else {
            return Err(bad());
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(locator: &str, body: &str) -> Option<String> {
        let headers = vec![("X-Order".to_owned(), "o-7".to_owned())];
        Locator::parse(locator).unwrap().find(&Answer { status: 200, headers, body: body.as_bytes().to_vec() })
    }

    #[test]
    fn values_are_found() {
        let body = r#"{"order":{"id":12,"lines":[{"sku":"a"}],"odd key":true,"gone":null}}"#;
        for (locator, want) in [
            ("json:$.order.id", Some("12")),
            ("json:$.order.lines[0].sku", Some("a")),
            ("json:$.order.lines", Some("1")),
            ("json:$.order['odd key']", Some("true")),
            ("json:$.order.gone", None),
            ("json:$.nothing", None),
            ("header:x-order", Some("o-7")),
            ("header:x-none", None),
        ] {
            assert_eq!(find(locator, body).as_deref(), want, "{locator}");
        }
        assert_eq!(find("body", " 3\n").as_deref(), Some("3"));
        assert_eq!(find("json:$.a", "not json"), None);
    }

    #[test]
    fn errors_show_what_to_write() {
        for text in ["json:order", "json:$..a", "json:$[x", "json:$[x]", "xpath:/a", "header:"] {
            let error = Locator::parse(text).unwrap_err();
            assert!(error.contains("for example") || error.contains("write"), "{error}");
        }
    }
}
