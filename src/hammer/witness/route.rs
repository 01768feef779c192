//! One route of the witness, as a line of a plan says it: `mail = POST /send 202 delay=50ms {"id":"{{n}}"}`.

use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};

use crate::hammer::cli::duration;

/// What stands behind a route's name where its refusals are counted.
pub const REFUSED: &str = "_refused";

/// A route and how it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The name in expectations.
    pub name: String,
    /// The method; `*` is any.
    pub method: String,
    /// The path's segments; `None` is any one segment.
    path: Vec<Option<String>>,
    /// The status of an answer.
    pub status: u16,
    /// How long an answer takes.
    pub delay: Duration,
    /// How many calls fail before the first that does not.
    pub failures: u64,
    /// The connection is closed without an answer.
    pub hangs_up: bool,
    /// It refreshes tokens, and each refresh kills the token before.
    pub rotates: bool,
    /// The body of an answer; `{{n}}` counts the calls.
    pub body: String,
}

impl Route {
    /// Reads a route.
    pub fn parse(text: &str) -> Result<Route> {
        let usage = "write it as '[NAME =] METHOD /path [STATUS] [delay=TIME] [fail=N] [hangup] [rotate] [BODY]', \
                     for example 'mail = POST /send 202'";
        let failed = |what: String| anyhow!("--witness '{text}': {what}; {usage}");
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) if is_name(name.trim()) => (Some(name.trim().to_owned()), rest),
            _ => (None, text),
        };
        let mut rest = rest.trim();
        let mut next = || {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            rest = after.trim_start();
            word
        };
        let method = next().to_ascii_uppercase();
        ensure!(
            !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'*'),
            failed(format!("`{method}` is no method"))
        );
        let path = next();
        ensure!(path.starts_with('/'), failed("a path starts with `/`".to_owned()));
        let segments: Vec<Option<String>> =
            path.split('/').filter(|part| !part.is_empty()).map(|part| (!is_open(part)).then(|| part.to_owned())).collect();
        let words: Vec<String> = segments.iter().flatten().map(|part| identifier(part)).collect();
        let name = name.unwrap_or_else(|| if words.is_empty() { "root".to_owned() } else { words.join("_") });
        let mut route = Route {
            name,
            method,
            path: segments,
            status: 200,
            delay: Duration::ZERO,
            failures: 0,
            hangs_up: false,
            rotates: false,
            body: "{}".to_owned(),
        };
        while !rest.is_empty() {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            match word.split_once('=') {
                _ if word.starts_with(['{', '[', '<', '"']) => {
                    route.body = rest.to_owned();
                    break;
                }
                Some(("delay", time)) => route.delay = duration(time).map_err(|error| failed(error.clone()))?,
                Some(("fail", count)) => {
                    route.failures = count.parse().map_err(|_| failed(format!("`{count}` is no number of failures")))?
                }
                None if word == "fail" => route.failures = u64::MAX,
                None if word == "hangup" => route.hangs_up = true,
                None if word == "rotate" => route.rotates = true,
                None if word.parse().is_ok_and(|status: u16| (200..600).contains(&status)) => {
                    route.status = word.parse().unwrap_or(200)
                }
                _ => bail!(failed(format!("`{word}` is not understood"))),
            }
            rest = after.trim_start();
        }
        Ok(route)
    }

    /// Whether a call is for this route. `path` is without its query.
    pub fn answers(&self, method: &str, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        (self.method == "*" || self.method == method)
            && parts.len() == self.path.len()
            && self.path.iter().zip(parts).all(|(own, part)| own.as_deref().is_none_or(|own| own == part))
    }
}

fn is_open(part: &str) -> bool {
    part == "*" || part.starts_with([':', '{'])
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn identifier(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_a_route() {
        let route = Route::parse(r#"pay = POST /v1/charges/{id} 201 delay=2s fail=3 {"id": "ch {{n}}"}"#).unwrap();
        assert_eq!((route.name.as_str(), route.status, route.failures), ("pay", 201, 3));
        assert_eq!((route.delay, route.body.as_str()), (Duration::from_secs(2), r#"{"id": "ch {{n}}"}"#));
        assert!(
            route.answers("POST", "/v1/charges/9")
                && !route.answers("GET", "/v1/charges/9")
                && !route.answers("POST", "/v1/charges")
        );
        assert_eq!(Route::parse("POST /v1/send-mail").unwrap().name, "v1_send_mail");
        assert!(Route::parse("* / rotate").unwrap().rotates);
    }

    #[test]
    fn mistakes_are_said_with_an_example() {
        for text in ["mail", "POST mail", "POST /mail sometimes", "POST /mail delay=soon", "POST /mail fail=x", "post-it /a"] {
            assert!(Route::parse(text).unwrap_err().to_string().contains("for example 'mail = POST /send 202'"), "{text}");
        }
    }
}
