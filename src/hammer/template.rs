//! Text with placeholders: `{{fresh}}`, `{{n}}`, `{{capture.NAME}}` and `{{env.NAME}}`. It does not know where the text is used.

use std::time::{SystemTime, UNIX_EPOCH};

/// Text in which placeholders stand; the environment is filled in when it is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Fresh,
    Number,
    Captured(String),
}

/// A part of a template, for those who write it in another language.
#[derive(Debug, Clone, Copy)]
pub enum Slot<'a> {
    /// As it is.
    Text(&'a str),
    /// The entity.
    Fresh,
    /// The request's number.
    Number,
    /// A value from the set-up, by name.
    Captured(&'a str),
}

/// Why a template cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TemplateError {
    /// A name that means nothing.
    #[error("`{{{{{0}}}}}` is no placeholder; there are {{{{fresh}}}}, {{{{n}}}}, {{{{capture.NAME}}}} and {{{{env.NAME}}}}")]
    UnknownName(String),
    /// An environment variable that is not set.
    #[error("`{{{{env.{0}}}}}`: the environment variable {0} is not set; export it first")]
    NotInEnvironment(String),
    /// `{{` without `}}`.
    #[error("`{{{{` without `}}}}` near `{0}`")]
    Unclosed(String),
}

/// What placeholders stand for in one request.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    /// The entity: the same for a whole volley.
    pub fresh: &'a str,
    /// The request's number within its experiment, from 1.
    pub n: usize,
    /// What was taken from the answers to set-up requests, by name.
    pub captured: &'a [(String, String)],
}

impl Template {
    /// Reads `text`. `environment` answers `{{env.NAME}}`; each value it gives is also added to `secrets`.
    pub fn parse(
        text: &str,
        environment: &dyn Fn(&str) -> Option<String>,
        secrets: &mut Vec<String>,
    ) -> Result<Template, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find("{{") {
            let after = &rest[open + 2..];
            let Some(close) = after.find("}}") else {
                return Err(TemplateError::Unclosed(rest[open..].chars().take(24).collect()));
            };
            push_text(&mut parts, &rest[..open]);
            match after[..close].trim() {
                "fresh" => parts.push(Part::Fresh),
                "n" => parts.push(Part::Number),
                name if name.starts_with("capture.") => parts.push(Part::Captured(name["capture.".len()..].to_owned())),
                name => match name.strip_prefix("env.") {
                    Some(variable) => {
                        let value = environment(variable).ok_or_else(|| TemplateError::NotInEnvironment(variable.to_owned()))?;
                        push_text(&mut parts, &value);
                        secrets.push(value);
                    }
                    None => return Err(TemplateError::UnknownName(name.to_owned())),
                },
            }
            rest = &after[close + 2..];
        }
        push_text(&mut parts, rest);
        Ok(Template { parts })
    }

    /// The text, with what `written` makes of each part.
    pub fn write(&self, written: impl Fn(Slot<'_>) -> String) -> String {
        let slot = |part: &'_ Part| match part {
            Part::Text(text) => written(Slot::Text(text)),
            Part::Fresh => written(Slot::Fresh),
            Part::Number => written(Slot::Number),
            Part::Captured(name) => written(Slot::Captured(name)),
        };
        self.parts.iter().map(slot).collect()
    }

    /// The text for one request.
    pub fn render(&self, values: Values<'_>) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Fresh => values.fresh.to_owned(),
                Part::Number => values.n.to_string(),
                Part::Captured(name) => {
                    let found = values.captured.iter().find(|(captured, _)| captured == name);
                    found.map_or_else(|| format!("{{{{capture.{name}}}}}"), |(_, value)| value.clone())
                }
            })
            .collect()
    }

    /// The names of captured values in it.
    pub fn captures(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Captured(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether `{{fresh}}` occurs.
    pub fn names_entity(&self) -> bool {
        self.parts.contains(&Part::Fresh)
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// Makes entities that no other run has used: the time and a random number, then a count.
#[derive(Debug)]
pub struct Entities {
    prefix: String,
    made: u64,
}

impl Entities {
    /// Entities of this run.
    pub fn new() -> Entities {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        Entities { prefix: format!("lc{}{}", base36(now), base36(u128::from(rand::random::<u64>()))), made: 0 }
    }

    /// The next one; letters and digits only.
    pub fn fresh(&mut self) -> String {
        self.made += 1;
        format!("{}x{}", self.prefix, base36(u128::from(self.made)))
    }
}

impl Default for Entities {
    fn default() -> Self {
        Entities::new()
    }
}

fn base36(mut number: u128) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]);
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().map(|&digit| char::from(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Template, TemplateError> {
        Template::parse(text, &|name| (name == "TOKEN").then(|| "t0p".to_owned()), &mut Vec::new())
    }

    #[test]
    fn placeholders_are_filled_in() {
        let template = parse(r#"{"c":"{{fresh}}","n":{{ n }},"t":"{{env.TOKEN}}"}"#).unwrap();
        assert_eq!(template.render(Values { fresh: "abc", n: 7, captured: &[] }), r#"{"c":"abc","n":7,"t":"t0p"}"#);
        assert!(template.names_entity());
        assert!(!parse("{{n}}").unwrap().names_entity());
    }

    #[test]
    fn values_of_the_environment_are_secrets() {
        let mut secrets = Vec::new();
        Template::parse("{{env.A}}", &|_| Some("hush".to_owned()), &mut secrets).unwrap();
        assert_eq!(secrets, ["hush"]);
    }

    #[test]
    fn errors_name_what_exists() {
        assert!(parse("{{frsh}}").unwrap_err().to_string().contains("{{fresh}}, {{n}}, {{capture.NAME}} and {{env.NAME}}"));
        assert_eq!(parse("{{env.NOPE}}"), Err(TemplateError::NotInEnvironment("NOPE".to_owned())));
        assert!(matches!(parse("a {{fresh"), Err(TemplateError::Unclosed(_))));
        assert_eq!(parse(r#"{"a":{"b":1}}"#).unwrap().parts.len(), 1);
    }

    #[test]
    fn entities_never_repeat() {
        let (mut a, mut b) = (Entities::new(), Entities::new());
        let made: std::collections::HashSet<String> = (0..100).flat_map(|_| [a.fresh(), b.fresh()]).collect();
        assert_eq!(made.len(), 200);
    }
}
