//! Columns in the units that readers count in. Places carry bytes.

use unicode_width::UnicodeWidthChar;

/// The column (from 1) in UTF-16 code units of a byte column (from 1) of a line. Past the end, or where the line is not known
/// (empty), each byte counts as one.
pub fn utf16(line: &str, byte_column: u32) -> u32 {
    let bytes = byte_column.saturating_sub(1) as usize;
    let inside = bytes.min(line.len());
    let before = line.char_indices().take_while(|(at, _)| *at < inside).map(|(_, c)| c.len_utf16()).sum::<usize>();
    (before + (bytes - inside)) as u32 + 1
}

/// How many cells of a terminal a text takes.
pub fn cells(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A text fit to be printed in one line: tabs become spaces, and characters that would steer the terminal are made visible.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\n' | '\r' => out.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_counts_code_units() {
        assert_eq!(utf16("abc", 3), 3);
        assert_eq!(utf16("é = 1", 3), 2);
        assert_eq!(utf16("😀x", 5), 3);
        assert_eq!(utf16("ab", 5), 5);
        assert_eq!(utf16("", 7), 7);
    }

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\tb\n\u{202e}"), "a\u{fffd}[31m    b \u{fffd}");
    }
}
