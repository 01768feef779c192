//! Comments, which the parser drops, found by reading the text once. It must not know more of the language than its tokens.

use crate::files::Span;
use crate::syntax::Comment;

/// What one pass over the text finds.
pub(super) struct Scan {
    /// All comments, doc comments included.
    pub comments: Vec<Comment>,
    /// Brackets inside brackets, at most.
    pub nesting: usize,
    /// Bytes of code without any of `,;{}`, at most.
    pub stretch: usize,
}

/// Reads a file's text; strings and character constants are skipped.
pub(super) fn scan(text: &str) -> Scan {
    let bytes = text.as_bytes();
    let mut found = Scan { comments: Vec::new(), nesting: 0, stretch: 0 };
    let (mut at, mut depth, mut stretch) = (0, 0_usize, 0_usize);
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match byte {
            b'/' if rest.starts_with(b"//") => {
                let length = line_length(rest);
                found.comments.push(comment(text, at, at + length, at + length));
                length
            }
            b'/' if rest.starts_with(b"/*") => {
                let (length, closed) = block_length(rest);
                found.comments.push(comment(text, at, at + length - if closed { 2 } else { 0 }, at + length));
                length
            }
            b'"' => string_length(rest),
            b'\'' => quote_length(rest),
            _ if is_word(byte) => {
                let word = rest.iter().take_while(|byte| is_word(**byte)).count();
                stretch += word;
                word + raw_string_length(&rest[..word], &rest[word..])
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                found.nesting = found.nesting.max(depth);
                stretch = if byte == b'{' { 0 } else { stretch + 1 };
                1
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                stretch = if byte == b'}' { 0 } else { stretch + 1 };
                1
            }
            b',' | b';' => {
                stretch = 0;
                1
            }
            _ => {
                stretch += usize::from(!byte.is_ascii_whitespace());
                1
            }
        };
        found.stretch = found.stretch.max(stretch);
        at += length.max(1);
    }
    found
}

fn comment(text: &str, start: usize, text_end: usize, end: usize) -> Comment {
    let body = text.get(start + 2..text_end).unwrap_or("");
    let body = body.trim_start_matches(['/', '!', '*']).trim_end_matches('*');
    Comment { text: body.trim().to_string(), span: Span::new(start as u32, end as u32) }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

/// Block comments nest. The second value says whether the comment is closed.
fn block_length(rest: &[u8]) -> (usize, bool) {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return (at, true);
            }
        } else {
            at += 1;
        }
    }
    (rest.len(), false)
}

fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A character constant, or the quote alone of a lifetime.
fn quote_length(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        return rest.iter().skip(3).position(|&byte| byte == b'\'').map_or(rest.len(), |end| end + 4);
    }
    // One character of up to four bytes between quotes.
    let first = rest.get(1).copied().unwrap_or(0);
    let width = match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 1 }
}

/// The length of a raw string after its prefix `r`, `br` or `cr`; zero where there is none.
fn raw_string_length(prefix: &[u8], rest: &[u8]) -> usize {
    if !matches!(prefix, b"r" | b"br" | b"cr") {
        return 0;
    }
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return 0;
    }
    let mut at = hashes + 1;
    while at < rest.len() {
        if rest[at] == b'"' && rest[at + 1..].iter().take(hashes).filter(|byte| **byte == b'#').count() == hashes {
            return at + 1 + hashes;
        }
        at += 1;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        scan(source).comments.into_iter().map(|comment| comment.text).collect()
    }

    #[test]
    fn every_kind_of_comment_is_found() {
        assert_eq!(
            texts("// a\n/// b\n//! c\nfn f() {} // d\n/* e /* f */ g */ /** h */"),
            ["a", "b", "c", "d", "e /* f */ g", "h"]
        );
    }

    #[test]
    fn strings_hold_no_comments() {
        assert!(texts(r##"let a = "// no \" // no"; let b = r#"/* " // */"#; let c = br"//"; "##).is_empty());
    }

    #[test]
    fn characters_and_lifetimes_are_told_apart() {
        assert_eq!(texts("fn f<'a>(x: &'a str) { let c = '\"'; let d = '\\''; let e = 'é'; } // yes"), ["yes"]);
    }

    #[test]
    fn spans_hold_the_markers() {
        let source = "x; /* y */";
        let found = scan(source).comments;
        assert_eq!(&source[found[0].span.start as usize..found[0].span.end as usize], "/* y */");
    }

    #[test]
    fn nesting_and_stretch_are_measured() {
        let found = scan("f(((1))); g");
        assert_eq!((found.nesting, found.stretch), (3, 8));
    }
}
