//! HTTP/1.1 requests as bytes. It does not know sockets, and it does not send.

use super::template::{Template, Values};

/// A request whose placeholders are still open.
#[derive(Debug, Clone)]
pub struct RequestTemplate {
    /// The method, in capitals.
    pub method: String,
    /// Header names and values, in the order given.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Option<Template>,
}

/// One request, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Head and body.
    pub bytes: Vec<u8>,
    /// Where the body starts.
    pub body_at: usize,
    /// The answer to HEAD has no body, whatever its headers say.
    pub is_head: bool,
}

/// Which byte waits for the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Hold {
    /// The last byte of the body (of the head, where there is no body).
    Body,
    /// The last byte of the head; the body follows with it.
    Header,
}

impl RequestTemplate {
    /// The request to `target` (path and query) of `authority` (host and port).
    pub fn render(&self, authority: &str, target: &Template, values: Values<'_>) -> Request {
        let body = self.body.as_ref().map(|body| body.render(values).into_bytes());
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, target_text(&target.render(values)));
        if !self.has("host") {
            head.push_str(&format!("host: {authority}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {}\r\n", value.render(values)));
        }
        for (name, value) in [("user-agent", concat!("lockcheck/", env!("CARGO_PKG_VERSION"))), ("accept", "*/*")] {
            if !self.has(name) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        if let Some(body) = &body {
            if !self.has("content-type") {
                head.push_str(&format!("content-type: {}\r\n", content_type(body)));
            }
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        } else if matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            head.push_str("content-length: 0\r\n");
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        let body_at = bytes.len();
        bytes.extend(body.unwrap_or_default());
        Request { bytes, body_at, is_head: self.method == "HEAD" }
    }

    /// Whether `{{fresh}}` occurs in a header or in the body.
    pub fn names_entity(&self) -> bool {
        self.headers.iter().map(|(_, value)| value).chain(&self.body).any(Template::names_entity)
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
    }
}

impl Request {
    /// How many bytes go ahead of the gate; the rest, at least one, waits.
    pub fn ahead(&self, hold: Hold) -> usize {
        match hold {
            Hold::Body => self.bytes.len() - 1,
            Hold::Header => self.body_at - 1,
        }
    }
}

/// JSON where it looks like JSON, else a form.
fn content_type(body: &[u8]) -> &'static str {
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => "application/json",
        _ => "application/x-www-form-urlencoded",
    }
}

/// Escapes what may not stand in a request line, so that no value can end it.
fn target_text(target: &str) -> String {
    let mut text = String::with_capacity(target.len());
    for byte in target.bytes() {
        if byte.is_ascii_graphic() {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> Template {
        Template::parse(text, &|_| None, &mut Vec::new()).unwrap()
    }

    fn post(body: &str) -> Request {
        RequestTemplate {
            method: "POST".to_owned(),
            headers: vec![("X-Run".to_owned(), template("{{n}}"))],
            body: Some(template(body)),
        }
        .render("h:1", &template("/a b/{{fresh}}"), Values { fresh: "e", n: 3, captured: &[] })
    }

    #[test]
    fn head_and_body_are_rendered() {
        let request = post(r#"{"c":"{{fresh}}"}"#);
        let text = String::from_utf8(request.bytes.clone()).unwrap();
        assert!(text.starts_with("POST /a%20b/e HTTP/1.1\r\nhost: h:1\r\nX-Run: 3\r\n"), "{text}");
        assert!(text.contains("content-type: application/json\r\ncontent-length: 9\r\n"), "{text}");
        assert_eq!(&request.bytes[request.body_at..], br#"{"c":"e"}"#);
    }

    #[test]
    fn exactly_the_last_byte_of_body_or_head_waits() {
        let request = post("x=1");
        assert_eq!(&request.bytes[request.ahead(Hold::Body)..], b"1");
        assert_eq!(&request.bytes[request.ahead(Hold::Header)..], b"\nx=1");
    }
}
