//! Hides secrets in everything that is printed. It does not know what the text says.

const HIDDEN: &str = "***";
const NAMES: [&str; 8] = ["authorization", "cookie", "token", "secret", "password", "passwd", "credential", "key"];

/// What must not be seen: known values, and whatever stands behind a telling name.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    values: Vec<String>,
    counted: Vec<String>,
}

impl Mask {
    /// Hides these values wherever they occur; very short ones are left, since they would blank innocent text.
    pub fn of(values: impl IntoIterator<Item = String>) -> Mask {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.len() >= 4).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Mask { values, counted: Vec::new() }
    }

    /// Shows whole numbers behind these names: they are counts, whatever the name tells.
    pub fn counting(self, names: impl IntoIterator<Item = String>) -> Mask {
        Mask { counted: names.into_iter().collect(), ..self }
    }

    /// `text` without secrets.
    pub fn apply(&self, text: &str) -> String {
        let known = self.values.iter().fold(text.to_owned(), |text, value| text.replace(value.as_str(), HIDDEN));
        self.named(&user_info(&known))
    }

    /// Hides the value after `name:`, `name=` or `"name":` where the name tells.
    fn named(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_name_char) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            out.push_str(name);
            rest = after;
            if !is_secret_name(name) {
                continue;
            }
            let Some((separator, quoted)) = separator(after) else { continue };
            let value = &after[separator..];
            let header = name.eq_ignore_ascii_case("authorization") || name.to_ascii_lowercase().ends_with("cookie");
            let length = value_length(value, quoted, header);
            let is_count = self.counted.iter().any(|counted| counted == name) && value[..length].parse::<u32>().is_ok();
            if !is_count {
                out.push_str(&after[..separator]);
                out.push_str(HIDDEN);
                rest = &value[length..];
            }
        }
        out + rest
    }
}

/// Whether a header, field or parameter of this name holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let idempotency = name.contains("idempotency");
    !idempotency && NAMES.iter().any(|secret| if *secret == "key" { has_word(&name, "key") } else { name.contains(secret) })
}

fn has_word(name: &str, word: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == word || part == "apikey")
}

/// `scheme://user:password@host` to `scheme://***@host`.
fn user_info(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"'<>".contains(c)).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(sign) => {
                out.push_str(HIDDEN);
                &after[sign..]
            }
            None => after,
        };
    }
    out + rest
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// How long the separator at the start of `text` is, and the quote the value stands in.
fn separator(text: &str) -> Option<(usize, Option<char>)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    at += usize::from(matches!(bytes.first(), Some(b'"' | b'\'')));
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    if !matches!(bytes.get(at), Some(b':' | b'=')) {
        return None;
    }
    at += 1;
    // A comparison.
    if bytes.get(at) == Some(&b'=') {
        return None;
    }
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    match bytes.get(at) {
        Some(quote @ (b'"' | b'\'')) => Some((at + 1, Some(char::from(*quote)))),
        Some(b'[' | b'{') | None => None,
        Some(_) => Some((at, None)),
    }
}

fn value_length(value: &str, quote: Option<char>, header: bool) -> usize {
    let ends = |c: char| match quote {
        Some(quote) => c == quote,
        None if header => matches!(c, '\n' | '\r' | '"' | '\''),
        None => c.is_whitespace() || matches!(c, '&' | ',' | ';' | '}' | ']' | '"' | '\'' | '`' | ')'),
    };
    value.find(ends).unwrap_or(value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let mask = Mask::of(["s3cr3t-value".to_owned()]);
        for (text, want) in [
            ("Authorization: Bearer abc.def", "Authorization: ***"),
            ("cookie: a=b; c=d\nhost: x", "cookie: ***\nhost: x"),
            (r#"{"password":"hunter2","user":"ann"}"#, r#"{"password":"***","user":"ann"}"#),
            (r#"{"access_token": 123, "n":1}"#, r#"{"access_token": ***, "n":1}"#),
            ("http://h/p?api_key=zzz&n=1", "http://h/p?api_key=***&n=1"),
            ("http://ann:pw@host/p", "http://***@host/p"),
            ("saw s3cr3t-value in the answer", "saw *** in the answer"),
        ] {
            assert_eq!(mask.apply(text), want, "{text}");
        }
    }

    #[test]
    fn counts_are_shown_whatever_they_are_called() {
        let mask = Mask::default().counting(["token".to_owned()]);
        for (text, want) in [
            (r#"the witness saw {"token":3}"#, r#"the witness saw {"token":3}"#),
            (r#"{"token":"abc123"}, token=77x"#, r#"{"token":"***"}, token=***"#),
            (r#"{"access_token":3}"#, r#"{"access_token":***}"#),
            ("expected: witness.token == 1", "expected: witness.token == 1"),
        ] {
            assert_eq!(mask.apply(text), want, "{text}");
        }
    }

    #[test]
    fn innocent_text_stays() {
        for text in
            ["monkey: 1", "idempotency-key: abc", "a unique key decides", "connected to http://h:80/p@x", "{\"n\":{\"a\":1}}"]
        {
            assert_eq!(Mask::default().apply(text), text);
        }
    }
}
