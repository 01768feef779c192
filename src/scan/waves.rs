//! Which files are parsed, wave by wave. It must not know a rule.
//!
//! One pass over the raw bytes finds the files in which nothing can happen: tables, texts, type declarations. They hold no
//! call, no decorator and no import, so that they are neither work nor lead to any; all others are the first wave. The next
//! waves parse those of the rest that parsed files import, until nothing more is wanted. What is left is part of no finding.

use std::collections::HashSet;

use crate::files::{Document, Language, Source};
use crate::program::{Aliases, Modules, Ty};
use crate::syntax::ExportTarget;

use super::Progress;
use super::parsed::{Parsed, parse_all};

/// The modules that sources are, with what the tree's documents say of their names.
pub fn modules_of(sources: &[&Source], documents: &[Document]) -> Modules {
    let listed: Vec<_> = sources.iter().map(|source| (source.path.clone(), source.language)).collect();
    Modules::new(&listed).with_aliases(Aliases::read(documents))
}

/// The facts of all sources, at the source's own index; those of files that were passed over are empty. With `every_file`
/// none is passed over: slower, with the same findings.
///
/// `is_data` tells files that are read for what they say, not for what happens in them.
pub fn read_waves(
    sources: &[&Source],
    modules: &Modules,
    every_file: bool,
    is_data: &(dyn Fn(&Source) -> bool + Sync),
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<Parsed> {
    let all = 0..sources.len() as u32;
    let (mut wave, mut rest): (Vec<u32>, HashSet<u32>) = (vec![], HashSet::new());
    for index in all {
        let source = sources[index as usize];
        match !every_file && is_still(source) && !is_data(source) {
            true => {
                rest.insert(index);
            }
            false => wave.push(index),
        }
    }
    let mut read: Vec<Option<Parsed>> = sources.iter().map(|_| None).collect();
    let mut before = 0;
    while !wave.is_empty() {
        let total = before + wave.len();
        let parsed =
            parse_all(sources, &wave, is_data, &|done| progress(Progress { stage: "parsing", done: before + done, total }));
        before = total;
        let mut next = HashSet::new();
        for (index, parsed) in wave.iter().zip(parsed) {
            if !rest.is_empty() {
                next.extend(imported(sources, modules, &parsed, &rest));
            }
            read[*index as usize] = Some(parsed);
        }
        next.iter().for_each(|index| {
            rest.remove(index);
        });
        wave = next.into_iter().collect();
        wave.sort_unstable();
    }
    let nothing = |(index, source): (usize, &&Source)| Parsed::nothing(index as u32, source.language);
    let read = read.into_iter().zip(sources.iter().enumerate());
    read.map(|(parsed, source)| parsed.unwrap_or_else(|| nothing(source))).collect()
}

/// Whether nothing can happen in a file: its bytes hold no call, template, decorator or import. Where modules are found
/// through their parents (Rust, packages of Python) no file is passed over.
fn is_still(source: &Source) -> bool {
    let text = source.text.as_bytes();
    let parent = match source.language {
        Language::JavaScript => false,
        Language::Python => source.path.ends_with("__init__.py"),
        Language::Rust | Language::Sql => true,
    };
    // A remark may silence a rule, or be unclear about it.
    let words = ["import", "from", "require", "lockcheck"];
    !parent && !text.iter().any(|byte| matches!(byte, b'(' | b'`' | b'@')) && !words.iter().any(|word| source.text.contains(word))
}

/// Files of `rest` that a file imports or hands on: the modules it names, and all below a package that it names as a whole.
fn imported(sources: &[&Source], modules: &Modules, parsed: &Parsed, rest: &HashSet<u32>) -> Vec<u32> {
    let unit = &parsed.facts.unit;
    let imports = unit.imports.iter().flat_map(|import| {
        // `from package import module` names a module in the member.
        let inner = import.member.as_ref().map(|member| format!("{}.{member}", import.module.trim_end_matches('.')));
        let relative = import.member.as_ref().map(|member| format!("{}{member}", import.module));
        [Some(import.module.to_string()), inner, relative].into_iter().flatten()
    });
    let exports = unit.exports.iter().filter_map(|export| match &export.target {
        ExportTarget::Other { module, .. } => Some(module.to_string()),
        ExportTarget::Local(_) => None,
    });
    let mut found = vec![];
    for module in imports.chain(exports) {
        match modules.find(parsed.facts.file, &module) {
            Some(Ty::Module(file)) => {
                found.extend(rest.contains(&file).then_some(file));
                let path = sources.get(file as usize).map_or("", |source| source.path.as_str());
                if let Some(folder) = path.strip_suffix("__init__.py") {
                    found.extend(below(sources, folder, rest));
                }
            }
            Some(Ty::Package(folder)) => found.extend(below(sources, &format!("{folder}/"), rest)),
            _ => {}
        }
    }
    found
}

fn below<'r>(sources: &'r [&Source], folder: &'r str, rest: &'r HashSet<u32>) -> impl Iterator<Item = u32> + 'r {
    rest.iter().copied().filter(move |file| sources.get(*file as usize).is_some_and(|source| source.path.starts_with(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_still_file_is_parsed_where_it_is_imported() {
        let files = [
            ("a.py", Language::Python, "from keys import LIMIT\nprint(LIMIT)\n"),
            ("keys.py", Language::Python, "LIMIT = 3\n"),
            ("names.ts", Language::JavaScript, "export const names = ['a', 'b']\n"),
        ];
        let sources: Vec<Source> = files.map(|(path, language, text)| Source::new(path, language, text)).into();
        let sources: Vec<&Source> = sources.iter().collect();
        let known = |every_file| -> Vec<bool> {
            read_waves(&sources, &modules_of(&sources, &[]), every_file, &|_| false, &|_| {})
                .iter()
                .map(|parsed| !parsed.facts.functions.is_empty())
                .collect()
        };
        assert_eq!(known(false), [true, true, false]);
        assert_eq!(known(true), [true, true, true]);
    }

    #[test]
    fn calls_imports_and_remarks_keep_a_file() {
        let still = |text: &str| is_still(&Source::new("a.ts", Language::JavaScript, text));
        assert!(still("export const a = { b: 1 }\n"));
        assert!(!still("export * from './b'\n"));
        assert!(!still("a(1)\n"));
        assert!(!still("let a = 1 // lockcheck: ignore[process-lock] one copy\n"));
    }
}
