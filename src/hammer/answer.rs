//! HTTP/1.1 answers read from bytes. It does not know sockets, and it judges nothing.

use serde_json::Value;

/// The most that is kept of one answer, in bytes.
pub const LARGEST: usize = 4 * 1024 * 1024;
const HEADERS: usize = 100;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names and values as sent.
    pub headers: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body as JSON, where it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// What the bytes so far amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    Incomplete,
    /// All of it is here.
    Complete(Answer),
    /// This is no answer, or only half of one; in words.
    Broken(String),
}

/// Reads an answer. `closed`: the peer sends no more. `to_head`: the request was HEAD.
pub fn parse(bytes: &[u8], closed: bool, to_head: bool) -> Progress {
    match parse_inner(bytes, closed, to_head) {
        Ok(Some(answer)) => Progress::Complete(answer),
        Ok(None) if closed && bytes.is_empty() => Progress::Broken("closed the connection without an answer".to_owned()),
        Ok(None) if closed => Progress::Broken(format!("closed the connection after half an answer ({} bytes)", bytes.len())),
        Ok(None) if bytes.len() > LARGEST => Progress::Broken(format!("answered more than {} MiB", LARGEST >> 20)),
        Ok(None) => Progress::Incomplete,
        Err(what) => Progress::Broken(what),
    }
}

fn parse_inner(bytes: &[u8], closed: bool, to_head: bool) -> Result<Option<Answer>, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let body_at = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(format!("sent something that is not HTTP/1.1 ({error})")),
    };
    let status = head.code.unwrap_or_default();
    let rest = &bytes[body_at..];
    if (100..200).contains(&status) && status != 101 {
        return parse_inner(rest, closed, to_head);
    }
    let headers: Vec<(String, String)> =
        head.headers.iter().map(|header| (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned())).collect();
    let answer = Answer { status, headers, body: Vec::new() };
    let body = if to_head || matches!(status, 101 | 204 | 304) {
        Some(Vec::new())
    } else if answer.header("transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().ends_with("chunked")) {
        chunked(rest)?
    } else if let Some(length) = answer.header("content-length") {
        let length: usize = length.trim().parse().map_err(|_| format!("sent the content-length `{length}`"))?;
        rest.get(..length).map(<[u8]>::to_vec)
    } else {
        closed.then(|| rest.to_vec())
    };
    Ok(body.map(|body| Answer { body, ..answer }))
}

/// The joined chunks once the last is here.
fn chunked(mut rest: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut body = Vec::new();
    loop {
        let (start, size) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(chunk)) => chunk,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err("sent a chunk with a bad size".to_owned()),
        };
        if size == 0 {
            return Ok(ends_trailers(&rest[start..]).then_some(body));
        }
        let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size)).ok_or("sent a chunk with a bad size")?;
        match (rest.get(start..end), rest.get(end..end.saturating_add(2))) {
            (Some(chunk), Some(_)) => body.extend_from_slice(chunk),
            _ => return Ok(None),
        }
        rest = &rest[end + 2..];
    }
}

fn ends_trailers(trailers: &[u8]) -> bool {
    trailers.starts_with(b"\r\n") || trailers.windows(4).any(|four| four == b"\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Answer {
        match parse(text.as_bytes(), false, false) {
            Progress::Complete(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_framing_is_read() {
        assert_eq!(whole("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").body, b"ok");
        assert_eq!(whole("HTTP/1.1 204 No\r\n\r\n").status, 204);
        assert_eq!(whole("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 409 C\r\ncontent-length: 0\r\n\r\n").status, 409);
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n";
        assert_eq!(whole(chunked).body, b"abcd");
        let to_close = parse(b"HTTP/1.0 200 OK\r\n\r\nall", true, false);
        assert!(matches!(to_close, Progress::Complete(answer) if answer.body == b"all"));
        let to_head = parse(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", false, true);
        assert!(matches!(to_head, Progress::Complete(answer) if answer.body.is_empty()));
    }

    #[test]
    fn every_prefix_is_incomplete_and_then_broken() {
        let text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        for length in 0..text.len() {
            assert_eq!(parse(&text[..length], false, false), Progress::Incomplete, "{length}");
            assert!(matches!(parse(&text[..length], true, false), Progress::Broken(_)), "{length}");
        }
    }

    #[test]
    fn what_is_not_http_is_said() {
        let Progress::Broken(what) = parse(b"SSH-2.0-OpenSSH_9.6\r\n", false, false) else { panic!("read as HTTP") };
        assert!(what.contains("not HTTP/1.1"));
    }
}
