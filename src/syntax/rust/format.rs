//! Format strings: text with `{}` in it. It must not know which macro they are given to.

use super::lower::{expr, name};
use crate::files::Span;
use crate::syntax::{Arg, Expr, ExprKind, TemplatePart};

/// A piece of a format string.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// Text as written, `{{` undone.
    Text(String),
    /// `{}`.
    Next,
    /// `{3}`.
    Position(usize),
    /// `{name}`.
    Name(String),
}

/// The pieces of a format string; `None` where its braces do not match or hold something else.
pub(super) fn pieces(format: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = format.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '{' if rest.peek() == Some(&'{') => {
                rest.next();
                plain.push('{');
            }
            '}' if rest.peek() == Some(&'}') => {
                rest.next();
                plain.push('}');
            }
            '{' => {
                let mut inside = String::new();
                loop {
                    match rest.next()? {
                        '}' => break,
                        letter => inside.push(letter),
                    }
                }
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(placeholder(inside.split(':').next().unwrap_or_default().trim())?);
            }
            '}' => return None,
            _ => plain.push(letter),
        }
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Some(pieces)
}

fn placeholder(inside: &str) -> Option<Piece> {
    let is_name = inside.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && inside.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    match inside {
        "" => Some(Piece::Next),
        _ if is_name => Some(Piece::Name(inside.to_string())),
        _ => inside.parse().ok().map(Piece::Position),
    }
}

/// Whether the pieces use exactly as many values as there are: such a text is a format string, whoever it is given to.
pub(super) fn fits(pieces: &[Piece], args: &[Arg]) -> bool {
    let next = pieces.iter().filter(|piece| matches!(piece, Piece::Next)).count();
    let position = pieces.iter().filter_map(|piece| match piece {
        Piece::Position(at) => Some(at + 1),
        _ => None,
    });
    let values = args.iter().filter(|arg| arg.name.is_none()).count();
    pieces.iter().any(|piece| !matches!(piece, Piece::Text(_))) && next.max(position.max().unwrap_or(0)) == values
}

/// The text with its values in it. A format string without values is a plain text.
pub(super) fn template(pieces: Vec<Piece>, args: &[Arg], span: Span) -> Expr {
    let positions: Vec<&Expr> = args.iter().filter(|arg| arg.name.is_none()).map(|arg| &arg.value).collect();
    let missing = || expr(ExprKind::Other(Vec::new()), span);
    let at = |position: usize| positions.get(position).map_or_else(missing, |value| (*value).clone());
    let mut next = 0;
    let mut parts = Vec::new();
    for piece in pieces {
        parts.push(match piece {
            Piece::Text(text) => TemplatePart::Text(text),
            Piece::Next => {
                next += 1;
                TemplatePart::Value(at(next - 1))
            }
            Piece::Position(position) => TemplatePart::Value(at(position)),
            Piece::Name(word) => {
                let given = args.iter().find(|arg| arg.name.as_ref() == Some(&word));
                TemplatePart::Value(given.map_or_else(|| name(word, span), |arg| arg.value.clone()))
            }
        });
    }
    match parts.as_slice() {
        [] => expr(ExprKind::Text(String::new()), span),
        [TemplatePart::Text(text)] => expr(ExprKind::Text(text.clone()), span),
        _ => expr(ExprKind::Template(parts), span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_apart() {
        let expected = vec![
            Piece::Text("a{".to_string()),
            Piece::Next,
            Piece::Text(":".to_string()),
            Piece::Name("who".to_string()),
            Piece::Position(2),
        ];
        assert_eq!(pieces("a{{{}:{who:>8}{2:?}"), Some(expected));
    }

    #[test]
    fn other_braces_are_no_format_string() {
        assert_eq!(pieces("{\"a\": 1}"), None);
        assert_eq!(pieces("if x { y"), None);
        assert_eq!(pieces("}"), None);
    }
}
