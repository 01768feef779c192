//! [`scan`]: from a tree on disk to a [`Report`], stage by stage. It must not know how a report is printed.

mod parsed;
mod waves;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::facts::{Act, FileFacts, Value};
use crate::faults::{self, Counts, Detected, Finding, World};
use crate::files::{Source, Tree, WalkOptions, read_tree};
use crate::findings::{Remark, Report, Selection, Stats, Suppressions, settle};
use crate::program::{self, Copies, Counted, Flattener, Instances, Schema};
use crate::rules::{Catalogue, FileRole, RuleSet, Rulebook, ScriptKind};
use crate::syntax;

use parsed::deep_threads;
use waves::{modules_of, read_waves};

/// What to scan and how.
#[derive(Debug, Clone, Default)]
pub struct ScanOptions {
    /// A directory or a single file.
    pub root: PathBuf,
    /// Directories of the user's own rule files.
    pub rules: Vec<PathBuf>,
    /// Rules to report; all when empty.
    pub select: Vec<String>,
    /// Rules not to report.
    pub ignore: Vec<String>,
    /// Report advice too.
    pub strict: bool,
    /// How many copies run, where the user says so, whatever the tree says.
    pub copies: Option<u32>,
    /// Follow symbolic links.
    pub follow_links: bool,
    /// Parse every file, also those in which nothing can happen. The findings are the same.
    pub every_file: bool,
}

/// How far a scan has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// What is being done, as a verb's present participle.
    pub stage: &'static str,
    /// Files done of `total`.
    pub done: usize,
    /// Files to do; 0 while it is not known.
    pub total: usize,
}

/// Scans a tree. An error means that nothing could be scanned: an unreadable root, a malformed rule file, an unknown rule.
/// Anything else that goes wrong is a gap in the report.
pub fn scan(options: &ScanOptions, progress: &(dyn Fn(Progress) + Sync)) -> anyhow::Result<Report> {
    let started = Instant::now();
    let rules = RuleSet::with(&options.rules)?;
    let catalogue = Catalogue::load(&rules)?;
    let book = Rulebook::load(&rules)?;
    let selection = Selection::new(&catalogue, options.select.clone(), options.ignore.clone(), options.strict)?;

    progress(Progress { stage: "reading", done: 0, total: 0 });
    let mut tree = read_tree(&options.root, WalkOptions { follow_links: options.follow_links, documents: book.documents() })?;
    // Tests serve nobody.
    let files = tree.sources.len() + tree.documents.len();
    tree.sources.retain(|source| book.reach.role(&source.path, std::iter::empty()) != FileRole::Test);
    let is_data = |source: &Source| book.deploy.reads(&source.path, &source.text) || book.settings.speaks_in(&source.text);
    let threads = deep_threads()?;
    let modules = modules_of(&parsed_sources(&tree), &tree.documents);
    let mut read = threads.install(|| read_waves(&parsed_sources(&tree), &modules, options.every_file, &is_data, progress));
    tree.gaps.extend(read.iter_mut().flat_map(|parsed| std::mem::take(&mut parsed.gaps)));
    let parsed = read.iter().filter(|parsed| !parsed.failed).count();
    let data: HashSet<String> = parsed_sources(&tree)
        .iter()
        .zip(&read)
        .filter(|(_, parsed)| parsed.data)
        .map(|(source, _)| source.path.clone())
        .collect();
    let facts: Vec<FileFacts> = read.into_iter().map(|parsed| parsed.facts).collect();
    let remarks: Vec<Remark> = remarks(&parsed_sources(&tree), &facts).collect();
    let bytes = bytes(&tree);
    // Facts say what texts said; a finding's lines are read again.
    tree.forget(|source| !syntax::reads(source.language) || data.contains(&source.path));

    progress(Progress { stage: "linking", done: 0, total: 0 });
    let sources = parsed_sources(&tree);
    let paths = sources.iter().map(|source| source.path.clone()).collect();
    let program = program::Tree::linked(facts, paths, book, modules);
    let (found, copies) = threads.install(|| find_faults(&tree, &sources, program, &catalogue, options.copies));
    let named: BTreeSet<&str> = found.findings.iter().flat_map(Finding::places).map(|place| place.path.as_str()).collect();
    tree.recall(&options.root, named);
    let (suppressions, unclear) = Suppressions::read(remarks, &catalogue);
    let settled = settle(found, &tree, &selection, &suppressions);

    let mut gaps = std::mem::take(&mut tree.gaps);
    gaps.extend(unclear);
    gaps.sort();
    gaps.dedup();
    Ok(Report {
        root: options.root.display().to_string(),
        prefix: prefix(&options.root),
        rules: catalogue.named_by(settled.findings.iter().map(|finding| finding.rule.as_str())),
        stats: Stats {
            files,
            parsed,
            bytes,
            seconds: started.elapsed().as_secs_f64(),
            suppressed: settled.suppressed,
            copies: options.copies.or(copies.most().map(Counted::at_once)),
        },
        copies: said_of(&copies),
        findings: settled.findings,
        inventory: settled.inventory,
        excerpts: settled.excerpts,
        gaps,
    })
}

/// The files of a tree that are parsed, in order: the index of one is that of its facts.
fn parsed_sources(tree: &Tree) -> Vec<&Source> {
    tree.sources.iter().filter(|source| syntax::reads(source.language)).collect()
}

/// Program and detectors: everything between the facts and the findings.
fn find_faults(
    tree: &Tree,
    sources: &[&Source],
    program: program::Tree,
    catalogue: &Catalogue,
    given: Option<u32>,
) -> (Detected, Copies) {
    let environment = program::environment(&program.book, &tree.documents);
    let packages = program::packages(&program.book.reach, &tree.documents);
    let program = program.with_environment(environment).with_packages(packages);
    let flattener = Flattener::new(&program);
    let world = World {
        tree: &program,
        schema: &Schema::read(tree.sources.iter(), &tree.documents, &program),
        instances: &Instances::new(&program),
        counts: Counts::new(program.files.len()),
        owner_checked: owner_checked(&program),
        configured: program::configured(&program),
        request_transactions: program::requests_are_transactions(&program),
        documents: &tree.documents,
        pooled_by_transaction: tree.documents.iter().any(|document| pools_by_transaction(&document.text)),
    };
    let running = [program::deployments(&program, sources, &tree.documents), program::forks(&program, sources)].concat();
    let copies = Copies::new(given, running);
    (faults::detect(&world, &flattener, sources, catalogue, &copies), copies)
}

/// How many copies run, in words, with the line that says it.
fn said_of(copies: &Copies) -> String {
    match (copies.given, copies.most()) {
        (Some(1), _) => "1 copy, as given".to_owned(),
        (Some(given), _) => format!("{given} copies, as given"),
        (None, Some(most)) => most.to_string(),
        (None, None) => "no evidence of how many copies run".to_owned(),
    }
}

/// Files that hold a script which frees a lock only for its owner.
fn owner_checked(program: &program::Tree) -> HashSet<u32> {
    let releases = |value: &Value| {
        value.any(
            &|part| matches!(part, Value::Text(text) if program.book.idioms.script(text) == Some(ScriptKind::ReleaseIfOwner)),
        )
    };
    let holds = |file: &FileFacts| {
        file.names.values().any(|name| releases(&name.value))
            || file.functions.iter().flat_map(|function| &function.events).any(|event| match &event.act {
                Act::Call { args, .. } => args.iter().any(|(_, value)| releases(value)),
                _ => false,
            })
    };
    program.files.iter().filter(|file| holds(file)).map(|file| file.file).collect()
}

/// Whether a pooler's settings hand connections out by transaction.
fn pools_by_transaction(text: &str) -> bool {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .any(|(key, value)| key.trim() == "pool_mode" && value.trim() == "transaction")
}

/// The comments of the tree that may suppress a finding.
fn remarks<'t>(sources: &'t [&Source], files: &'t [FileFacts]) -> impl Iterator<Item = Remark> + 't {
    sources.iter().zip(files).flat_map(|(source, facts)| {
        facts.unit.comments.iter().filter(|comment| Suppressions::speaks(&comment.text)).map(move |comment| {
            let (line, column) = source.lines.position(comment.span.start);
            let before = source.line_text(line).get(..column as usize - 1).unwrap_or("");
            let (last, _) = source.lines.position(comment.span.end.saturating_sub(1).max(comment.span.start));
            let alone = before.trim().is_empty();
            Remark { path: source.path.clone(), line: last, alone, text: comment.text.clone() }
        })
    })
}

fn bytes(tree: &Tree) -> u64 {
    let texts = tree.sources.iter().map(|source| &source.text).chain(tree.documents.iter().map(|document| &document.text));
    texts.map(|text| text.len() as u64).sum()
}

/// What leads from the working directory to the root's own directory; empty where the root is not below it.
fn prefix(root: &Path) -> String {
    let directory = if root.is_file() { root.parent().unwrap_or(root) } else { root };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let below = || {
        let here = std::env::current_dir().ok()?.canonicalize().ok()?;
        Some(directory.canonicalize().ok()?.strip_prefix(here).ok()?.to_path_buf())
    };
    let parts = below().unwrap_or_default();
    parts.components().map(|part| format!("{}/", part.as_os_str().to_string_lossy())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::facts;
    use crate::files::{Language, Source, Span};
    use crate::syntax::Comment;
    use parsed::empty_unit;

    #[test]
    fn a_remark_knows_whether_it_stands_alone() {
        let source = Source::new("a.py", Language::Python, "x = 1  # lockcheck:1\n  # lockcheck:2\n# 3\n");
        let comment = |text: &str, start, end| Comment { text: text.into(), span: Span::new(start, end) };
        let comments = [("lockcheck:1", 7, 20), ("lockcheck:2", 23, 36), ("3", 37, 40)];
        let unit = empty_unit(Language::Python, comments.map(|(text, start, end)| comment(text, start, end)).into());
        let found: Vec<_> =
            remarks(&[&source], &[facts(0, unit)]).map(|remark| (remark.text, remark.line, remark.alone)).collect();
        assert_eq!(found, [("lockcheck:1".to_string(), 1, false), ("lockcheck:2".to_string(), 2, true)]);
    }

    #[test]
    fn the_prefix_leads_from_here_to_the_root() {
        let prefixes = [".", "src", "./src/", "src/cli", "src/main.rs", "/", "no/such"].map(|root| prefix(Path::new(root)));
        assert_eq!(prefixes, ["", "src/", "src/", "src/cli/", "src/", "", ""]);
        let here = std::env::current_dir().unwrap().join("src");
        assert_eq!(prefix(&here), "src/");
    }
}
