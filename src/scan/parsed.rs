//! Parsing all files of a tree at once; a parser that breaks down costs its file, not the scan.
//! It must not know a language.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::files::{Gap, GapKind, Source};
use crate::syntax::{self, Unit};

use super::Progress;

/// Bytes of stack a thread: source text may nest as deeply as its author likes.
const STACK: usize = 64 * 1024 * 1024;

/// Threads with room for trees that nest deeply.
pub fn deep_threads() -> anyhow::Result<ThreadPool> {
    ThreadPoolBuilder::new().stack_size(STACK).build().context("cannot start the threads of the scan")
}

/// What became of one source.
pub enum Parsed {
    /// It was read, in part where the unit has gaps.
    Unit(Box<Unit>),
    /// It holds no program text.
    NoProgram,
    /// The parser broke down on it.
    Failed(Gap),
}

impl Parsed {
    /// The unit, where there is one.
    pub fn unit(&self) -> Option<&Unit> {
        match self {
            Parsed::Unit(unit) => Some(unit),
            Parsed::NoProgram | Parsed::Failed(_) => None,
        }
    }

    /// The unit itself.
    pub fn into_unit(self) -> Option<Unit> {
        match self {
            Parsed::Unit(unit) => Some(*unit),
            Parsed::NoProgram | Parsed::Failed(_) => None,
        }
    }

    /// What of it could not be read.
    pub fn gaps(&self) -> &[Gap] {
        match self {
            Parsed::Unit(unit) => &unit.gaps,
            Parsed::NoProgram => &[],
            Parsed::Failed(gap) => std::slice::from_ref(gap),
        }
    }
}

/// What became of each source, at the source's own index.
pub fn parse_all(sources: &[Source], progress: &(dyn Fn(Progress) + Sync)) -> Vec<Parsed> {
    let done = AtomicUsize::new(0);
    let parse = |source: &Source| {
        let parsed = parse(source, syntax::parse);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        progress(Progress { stage: "parsing", done, total: sources.len() });
        parsed
    };
    sources.par_iter().map(parse).collect()
}

/// Parses one source; a parser that panics costs its file, not the scan.
fn parse(source: &Source, parser: impl Fn(&Source) -> Option<Unit>) -> Parsed {
    match catch_unwind(AssertUnwindSafe(|| parser(source))) {
        Ok(Some(unit)) => Parsed::Unit(Box::new(unit)),
        Ok(None) => Parsed::NoProgram,
        Err(_) => Parsed::Failed(Gap {
            path: source.path.clone(),
            line: None,
            kind: GapKind::Syntax,
            message: "the parser broke down on this file; it was not scanned (please report it)".to_string(),
        }),
    }
}

/// A unit with nothing but comments, for unit tests.
#[cfg(test)]
pub fn sample_unit(comments: Vec<crate::syntax::Comment>) -> Unit {
    Unit {
        language: crate::files::Language::Python,
        imports: vec![],
        exports: vec![],
        functions: vec![],
        classes: vec![],
        comments,
        gaps: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Language;

    #[test]
    fn a_parser_that_panics_costs_its_file() {
        let source = Source::new("a.py", Language::Python, "x");
        let parsed = parse(&source, |_| panic!("a bug"));
        assert_eq!(parsed.gaps().iter().map(|gap| gap.path.as_str()).collect::<Vec<_>>(), ["a.py"]);
        assert!(parsed.unit().is_none());
        assert!(parse(&source, |_| Some(sample_unit(vec![]))).unit().is_some());
    }
}
