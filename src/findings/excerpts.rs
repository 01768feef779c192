//! The lines of source that findings point at, so that a report needs nothing but itself.

use std::collections::BTreeMap;

use crate::faults::Finding;
use crate::files::Tree;

/// Lines of source by path and line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpts {
    lines: BTreeMap<String, BTreeMap<u32, String>>,
}

impl Excerpts {
    /// The first and last line of every place that the findings name.
    pub fn of(findings: &[Finding], tree: &Tree) -> Excerpts {
        let mut excerpts = Excerpts::default();
        for place in findings.iter().flat_map(Finding::places) {
            for line in [place.line, place.end_line] {
                if let Some(text) = tree.line_text(&place.path, line) {
                    excerpts.insert(&place.path, line, text);
                }
            }
        }
        excerpts
    }

    /// Adds one line (from 1).
    pub fn insert(&mut self, path: &str, line: u32, text: &str) {
        self.lines.entry(path.to_string()).or_default().insert(line, text.to_string());
    }

    /// The text of a line; empty where it is not known.
    pub fn line(&self, path: &str, line: u32) -> &str {
        self.lines.get(path).and_then(|lines| lines.get(&line)).map_or("", String::as_str)
    }
}
