//! Parsing files of a tree side by side, each down to its facts; a parser that breaks down costs its file, not the scan.
//! It must not know a language.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::facts::{FileFacts, facts};
use crate::files::{Gap, GapKind, Language, Source};
use crate::syntax::{self, Comment, Unit};

/// Bytes of stack a thread: source text may nest as deeply as its author likes.
const STACK: usize = 64 * 1024 * 1024;

/// Threads with room for trees that nest deeply.
pub fn deep_threads() -> anyhow::Result<ThreadPool> {
    ThreadPoolBuilder::new().stack_size(STACK).build().context("cannot start the threads of the scan")
}

/// What one source says, and what of it could not be read.
pub struct Parsed {
    /// Its facts; empty where it was passed over or the parser broke down.
    pub facts: FileFacts,
    /// What of it could not be read.
    pub gaps: Vec<Gap>,
    /// The parser broke down on it.
    pub failed: bool,
    /// It is read on for what it says itself.
    pub data: bool,
}

impl Parsed {
    /// A source of which nothing is known.
    pub fn nothing(file: u32, language: Language) -> Parsed {
        Parsed { facts: facts(file, empty_unit(language, vec![])), gaps: vec![], failed: false, data: false }
    }
}

/// Parses the sources at some indexes and takes their facts: in one go, so that one tree a thread is in memory.
/// The bodies of functions are kept where `is_data` says that the file itself is read on.
pub fn parse_all(
    sources: &[&Source],
    wanted: &[u32],
    is_data: &(dyn Fn(&Source) -> bool + Sync),
    progress: &(dyn Fn(usize) + Sync),
) -> Vec<Parsed> {
    let done = AtomicUsize::new(0);
    let parse = |index: &u32| {
        let source = sources.get(*index as usize)?;
        let mut parsed = parse(*index, source, syntax::parse);
        parsed.data = is_data(source);
        if !parsed.data {
            parsed.facts.slim();
        }
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        Some(parsed)
    };
    wanted.par_iter().filter_map(parse).collect()
}

/// Parses one source; a parser that panics costs its file, not the scan.
fn parse(file: u32, source: &Source, parser: impl Fn(&Source) -> Option<Unit>) -> Parsed {
    match catch_unwind(AssertUnwindSafe(|| parser(source).map(|unit| facts(file, unit)))) {
        Ok(Some(mut facts)) => Parsed { gaps: std::mem::take(&mut facts.unit.gaps), facts, failed: false, data: false },
        Ok(None) => Parsed::nothing(file, source.language),
        Err(_) => {
            let gap = Gap {
                path: source.path.clone(),
                line: None,
                kind: GapKind::Syntax,
                message: "the parser broke down on this file; it was not scanned (please report it)".to_string(),
            };
            Parsed { gaps: vec![gap], failed: true, ..Parsed::nothing(file, source.language) }
        }
    }
}

/// A unit with nothing but comments.
pub fn empty_unit(language: Language, comments: Vec<Comment>) -> Unit {
    Unit {
        language,
        imports: vec![],
        exports: vec![],
        functions: vec![],
        classes: vec![],
        declared: vec![],
        comments,
        tests: vec![],
        gaps: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parser_that_panics_costs_its_file() {
        let source = Source::new("a.py", Language::Python, "x");
        let parsed = parse(0, &source, |_| panic!("a bug"));
        assert_eq!(parsed.gaps.iter().map(|gap| gap.path.as_str()).collect::<Vec<_>>(), ["a.py"]);
        assert!(parsed.failed);
        assert!(!parse(0, &source, |_| Some(empty_unit(Language::Python, vec![]))).failed);
    }
}
