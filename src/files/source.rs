//! One file of the tree: its path, its text, and where its lines begin.

use super::Language;

/// A byte range in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range from `start` up to, not including, `end`.
    pub fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// Whether `other` lies within this range.
    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A readable file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path relative to the scanned root, with `/` between its parts.
    pub path: String,
    /// What it is written in.
    pub language: Language,
    /// Its text.
    pub text: String,
    /// Where its lines begin.
    pub lines: LineIndex,
}

impl Source {
    /// A source from its parts; the line index is built here.
    pub fn new(path: impl Into<String>, language: Language, text: impl Into<String>) -> Source {
        let text = text.into();
        let lines = LineIndex::new(&text);
        Source { path: path.into(), language, text, lines }
    }

    /// The text of line `line` (from 1), without its line end; empty past the end.
    pub fn line_text(&self, line: u32) -> &str {
        self.lines.line_of(&self.text, line)
    }
}

/// Byte offsets at which lines begin.
#[derive(Debug, Clone, Default)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// The index of a text.
    pub fn new(text: &str) -> LineIndex {
        let mut starts = vec![0];
        starts.extend(memchr_newlines(text).map(|at| at as u32 + 1));
        starts.shrink_to_fit();
        LineIndex { starts }
    }

    /// Line (from 1) and column (from 1, in bytes) of a byte offset.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        (line as u32, offset - start + 1)
    }

    /// Byte offset at which a line (from 1) begins.
    pub fn start_of(&self, line: u32) -> Option<usize> {
        self.starts.get((line as usize).checked_sub(1)?).map(|&start| start as usize)
    }

    /// Line `line` (from 1) of the text this is the index of, without its line end; empty past the end.
    pub fn line_of<'t>(&self, text: &'t str, line: u32) -> &'t str {
        let Some(start) = self.start_of(line) else { return "" };
        let end = self.start_of(line + 1).unwrap_or(text.len());
        text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r'])
    }
}

fn memchr_newlines(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one() {
        let index = LineIndex::new("ab\ncd\n");
        assert_eq!(index.position(0), (1, 1));
        assert_eq!(index.position(3), (2, 1));
        assert_eq!(index.position(4), (2, 2));
    }
}
