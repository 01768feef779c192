//! Programs that start more processes of themselves: calls that a pack says mean `copies`.

use std::collections::HashSet;
use std::sync::Arc;

use super::number::number;
use super::{Counted, Deployment};
use crate::facts::{Act, Value};
use crate::files::Source;
use crate::program::{Tree, meaning};
use crate::rules::{FileRole, Meaning, Per};
use crate::syntax::ExportTarget;

/// What the code of the tree starts of itself. `sources` are the files by the tree's index.
pub fn forks(tree: &Tree, sources: &[&Source]) -> Vec<Deployment> {
    let mut found = vec![];
    for (facts, source) in tree.files.iter().zip(sources) {
        let imports = || facts.unit.imports.iter().map(|import| import.module.as_str());
        if !may_fork(tree, facts.file, imports()) || tree.book.reach.role(&source.path, imports()) != FileRole::Service {
            continue;
        }
        for event in facts.functions.iter().flat_map(|function| &function.events) {
            let Act::Call { callee, args, .. } = &event.act else { continue };
            let Some(meant) = meaning(tree, callee, args, facts.file).filter(|meant| meant.is == Meaning::Copies) else {
                continue;
            };
            let said = match meant.part("count").map(|count| tree.settled(count)) {
                Some(Value::Number(said)) => number(&said.to_string(), &[], &|_| None),
                Some(Value::Null | Value::Bool(false)) => None,
                _ => Some((2, true)),
            };
            let Some((number, or_more)) = said.filter(|(number, _)| *number > 1) else { continue };
            let (line, _) = source.lines.position(event.span.start);
            let counted = Counted { number, or_more, overlaps: false, per: Per::Process, path: source.path.clone(), line };
            let made_of = Some(Arc::new(made_of(tree, facts.file)));
            found.push(Deployment { path: source.path.clone(), counts: vec![counted], made_of, ..Deployment::default() });
        }
    }
    found
}

/// The files that a file's imports lead to.
fn made_of(tree: &Tree, file: u32) -> HashSet<String> {
    let mut found: HashSet<u32> = HashSet::new();
    let mut queue = vec![file];
    while let Some(file) = queue.pop() {
        if found.insert(file) {
            let Some(unit) = tree.files.get(file as usize).map(|facts| &facts.unit) else { continue };
            let imports = unit.imports.iter().map(|import| &import.module);
            let handed_on = unit.exports.iter().filter_map(|export| match &export.target {
                ExportTarget::Other { module, .. } => Some(module),
                _ => None,
            });
            queue.extend(imports.chain(handed_on).filter_map(|module| tree.imported_file(file, module)));
        }
    }
    found.into_iter().filter_map(|file| tree.paths.get(file as usize)).map(|path| path.to_string()).collect()
}

/// Whether a file imports a module of which some row says that it forks.
fn may_fork<'i>(tree: &Tree, file: u32, mut imports: impl Iterator<Item = &'i str>) -> bool {
    let rows = || tree.packs(file).packs().iter().flat_map(|pack| &pack.calls).filter(|row| row.is == Meaning::Copies);
    let mut heads = rows().flat_map(|row| &row.on).map(|path| path.split('.').next().unwrap_or(path)).peekable();
    if heads.peek().is_none() {
        return false;
    }
    let heads: Vec<&str> = heads.collect();
    imports.any(|module| heads.contains(&module.rsplit(':').next().unwrap_or(module)))
}
