//! The words of a command line, each with its line. It must not know any command.

use super::{Node, NodeKind};

/// A word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its text without quotes.
    pub text: String,
    /// Its line, from 1.
    pub line: u32,
}

/// The words of a command: of a text, of a list in a text (`["a", "b"]`), or of a list of texts.
pub fn words_of(node: &Node) -> Vec<Word> {
    match &node.kind {
        NodeKind::Text(text) => {
            let words = if text.trim_start().starts_with('[') { listed(text) } else { split(text) };
            // A block of several lines names its own lines.
            words.into_iter().map(|(text, newlines)| Word { text, line: node.line + newlines }).collect()
        }
        NodeKind::List(items) => items.iter().flat_map(words_of).collect(),
        NodeKind::Map(_) => vec![],
    }
}

/// The texts of a list in brackets; a text that is a command of its own is split.
fn listed(text: &str) -> Vec<(String, u32)> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let parts: Vec<(String, u32)> = split(&inner.replace("\",", "\" ").replace("',", "' "));
    parts.into_iter().flat_map(|(part, line)| split(&part).into_iter().map(move |(word, _)| (word, line))).collect()
}

/// Words parted by blanks outside of quotes and parentheses, with the number of line breaks before each.
fn split(text: &str) -> Vec<(String, u32)> {
    let mut words = vec![];
    let mut word = String::new();
    let (mut started, mut quote, mut depth, mut lines, mut at) = (false, None, 0u32, 0u32, 0u32);
    for letter in text.chars() {
        if letter == '\n' {
            lines += 1;
        }
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => word.push(letter),
            ('"' | '\'', None) if depth == 0 => (quote, started) = (Some(letter), true),
            ('\\', None) => {}
            _ if letter.is_whitespace() && depth == 0 => {
                if started || !word.is_empty() {
                    words.push((std::mem::take(&mut word), at));
                }
                started = false;
                at = lines;
                continue;
            }
            _ => {
                match letter {
                    '(' | '{' if depth > 0 || word.ends_with('$') => depth += 1,
                    ')' | '}' if depth > 0 => depth -= 1,
                    '(' if word.is_empty() => continue,
                    _ => {}
                }
                word.push(letter);
            }
        }
    }
    if started || !word.is_empty() {
        words.push((word, at));
    }
    words
}

/// How many square brackets are open at the end of a text.
pub(super) fn brackets(text: &str) -> i32 {
    text.chars().map(|letter| i32::from(letter == '[') - i32::from(letter == ']')).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        words_of(&Node::text_at(1, text)).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn quotes_lists_and_substitutions_are_kept_together() {
        assert_eq!(words("gunicorn -w $((2 * $(nproc) + 1)) 'a b'"), ["gunicorn", "-w", "$((2 * $(nproc) + 1))", "a b"]);
        assert_eq!(words("[\"sh\", \"-c\", \"gunicorn -w ${N:-4}\"]"), ["sh", "-c", "gunicorn", "-w", "${N:-4}"]);
        assert_eq!(words("a && b"), ["a", "&&", "b"]);
    }

    #[test]
    fn a_block_of_lines_names_its_lines() {
        let words = words_of(&Node::text_at(4, "a\n  b c\n"));
        assert_eq!(words.iter().map(|word| word.line).collect::<Vec<_>>(), [4, 5, 5]);
    }
}
