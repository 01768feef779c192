//! [`Report`]: the whole outcome of a scan, from which every format is written without looking anywhere else.

use crate::faults::{Finding, Item};
use crate::files::Gap;
use crate::rules::{FaultRule, Severity};

use super::Excerpts;

/// The outcome of a scan.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The scanned root as given; all paths are relative to it.
    pub root: String,
    /// What leads from the working directory to the root: empty, or a relative path that ends in `/`.
    pub prefix: String,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
    /// All that was judged, in the order of its places.
    pub inventory: Vec<Item>,
    /// What the scan could not see, in the order of the paths.
    pub gaps: Vec<Gap>,
    /// The rules that the findings name, in the order of their ids.
    pub rules: Vec<FaultRule>,
    /// The lines of source that the findings name.
    pub excerpts: Excerpts,
    /// How much was looked at.
    pub stats: Stats,
    /// How many copies run, in words, with the line that says it; or that nothing says so.
    pub copies: String,
}

/// How much a scan looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stats {
    /// Files that were read.
    pub files: usize,
    /// Of these, files that were parsed as program text.
    pub parsed: usize,
    /// Bytes that were read.
    pub bytes: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// Findings that an inline comment suppressed.
    pub suppressed: usize,
    /// How many copies run in the same instant, as given or found; at least 2 where only that there are several is known, `None`
    /// where nothing says so.
    pub copies: Option<u32>,
}

impl Report {
    /// The path of a file of the report as seen from the working directory.
    pub fn path_from_here(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// The title of a rule that a finding names.
    pub fn title<'r>(&'r self, rule: &'r str) -> &'r str {
        self.rules.iter().find(|known| known.id == rule).map_or(rule, |known| &known.title)
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// The worst severity found.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}
