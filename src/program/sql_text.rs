//! Text that is SQL: told from prose, and made ready for the parser. It must not know what statements mean.

use crate::facts::{Piece, Value};

/// Names that stand for values put into the text.
pub(super) const HOLE: &str = "lockcheck_hole_";

/// Whether a text begins like an SQL statement.
pub fn looks_like_sql(text: &str) -> bool {
    const STARTS: &[&str] = &[
        "select",
        "insert",
        "update",
        "delete",
        "with",
        "merge",
        "replace",
        "begin",
        "start transaction",
        "commit",
        "rollback",
        "lock table",
        "end",
    ];
    let start = skip_comments(text);
    let lower: String = start.chars().take(24).flat_map(char::to_lowercase).collect();
    STARTS.iter().any(|word| {
        lower.strip_prefix(word).is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|letter: char| letter.is_whitespace() || letter == ';' || letter == '(')
        })
    }) && (lower.starts_with("select") || !matches!(lower.trim_end_matches(';').trim(), "delete" | "update" | "insert" | "end"))
}

pub(super) fn skip_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(line) = rest.strip_prefix("--") {
        rest = line.split_once('\n').map_or("", |(_, after)| after).trim_start();
    }
    rest
}

/// The text with a name for each value put into it.
pub(super) fn with_holes(text: &Value, holes: &mut Vec<Value>) -> Option<String> {
    match text {
        Value::Text(text) => Some(text.to_string()),
        Value::Template(pieces) => {
            let mut whole = String::new();
            for piece in pieces.iter() {
                match piece {
                    Piece::Text(text) => whole.push_str(text),
                    Piece::Value(value) => match with_holes(value, holes) {
                        Some(text) => whole.push_str(&text),
                        None => {
                            whole.push_str(&format!("{HOLE}{}", holes.len()));
                            holes.push(value.clone());
                        }
                    },
                }
            }
            Some(whole)
        }
        Value::Op(crate::syntax::BinaryOp::Add, pair) => {
            let left = with_holes(&pair[0], holes);
            let right = with_holes(&pair[1], holes);
            (left.is_some() || right.is_some()).then(|| left.unwrap_or_default() + &right.unwrap_or_default())
        }
        Value::Any(options) => options.iter().find_map(|option| with_holes(option, holes)),
        _ => None,
    }
}

/// Python's `%s` as `?` and `%(name)s` as `:name`, which a dialect here reads.
pub(super) fn without_placeholders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(tail) = after.strip_prefix('s') {
            out.push('?');
            rest = tail;
        } else if after.starts_with('(')
            && let Some(end) = after.find(")s")
        {
            let name = &after[1..end];
            let plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
                && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_');
            match plain {
                true => out.push_str(&format!(":{name}")),
                false => out.push('?'),
            }
            rest = &after[end + 2..];
        } else {
            out.push('%');
            rest = after;
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_not_sql() {
        assert!(!looks_like_sql("Update your profile"[..6].as_ref()));
        assert!(!looks_like_sql("selection failed"));
    }
}
