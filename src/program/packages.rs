//! What the packages of a tree are for, by their own descriptions: programs of the command line, what only developers start, and
//! libraries that no program of the tree is built with.

use std::collections::HashSet;

use super::{Tree, decorator, meaning};
use crate::facts::{Act, FileFacts};
use crate::files::Document;
use crate::rules::{Meaning, ReachRules, words};
use crate::syntax::data::{Format, Node, NodeKind, read};

/// What a package is for, as far as its description tells.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Purpose {
    /// It gives commands and nothing that other code could import.
    Commands,
    /// It is private, nothing depends on it, and its name says that it is for developing or showing the others.
    Development,
    /// A part that programs are built from.
    Crate {
        /// Its name.
        name: String,
        /// The names of what it is built with, tests left out.
        needs: Vec<String>,
        /// It is a program, or something that programs load, by its description.
        program: bool,
        /// It is a command, and serves nobody, by its description.
        command: bool,
    },
}

/// A package that may serve nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    folder: String,
    purpose: Purpose,
}

/// A description, as written.
struct Described {
    folder: String,
    name: String,
    entries: Node,
}

impl Described {
    fn has(&self, path: &[&str]) -> bool {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        !self.entries.at(&path).is_empty()
    }

    /// The names of what it depends on.
    fn needs(&self) -> impl Iterator<Item = String> + '_ {
        let kinds = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
        kinds.into_iter().flat_map(|kind| {
            let path = [kind.to_owned()];
            let found = self.entries.at(&path);
            found
                .into_iter()
                .filter_map(|(_, found)| found.node())
                .flat_map(Node::pairs)
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        })
    }
}

/// The packages of a tree that its documents describe as serving nobody. What starts on `start` is taken for a service.
pub fn packages(rules: &ReachRules, documents: &[Document]) -> Vec<Package> {
    let described: Vec<Described> = documents
        .iter()
        .filter(|document| document.path.rsplit('/').next() == Some("package.json"))
        .filter_map(|document| {
            let entries = read(Format::Json, &document.text).into_iter().next()?;
            let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            let path = ["name".to_owned()];
            let name = entries.at(&path).first().and_then(|(_, found)| found.text()).unwrap_or_default().to_owned();
            Some(Described { folder, name, entries })
        })
        .collect();
    let needed: HashSet<String> = described.iter().flat_map(|package| package.needs().collect::<Vec<_>>()).collect();
    let purpose = |package: &Described| {
        let starts = package.has(&["scripts", "start"]);
        let imported = needed.contains(&package.name) || package.has(&["exports"]) || package.has(&["module"]);
        let private = package.entries.at(&["private".to_owned()]).first().and_then(|(_, found)| found.text()) == Some("true");
        let for_developers = || words(&package.name).iter().any(|word| rules.dev_words.contains(word));
        if package.has(&["bin"]) && !imported && !starts && !package.has(&["main"]) {
            Some(Purpose::Commands)
        } else if private && !package.folder.is_empty() && !imported && !starts && for_developers() {
            Some(Purpose::Development)
        } else {
            None
        }
    };
    let found =
        described.iter().filter_map(|package| Some(Package { folder: package.folder.clone(), purpose: purpose(package)? }));
    found.chain(crates(rules, documents)).collect()
}

/// The crates that documents describe.
fn crates<'d>(rules: &'d ReachRules, documents: &'d [Document]) -> impl Iterator<Item = Package> + 'd {
    let is_command = |description: &str| {
        let said = words(description);
        let one_of = |known: &[String]| said.iter().any(|word| known.contains(word));
        one_of(&rules.command_words) && !one_of(&rules.serving_words)
    };
    documents.iter().filter(|document| document.path.rsplit('/').next() == Some("Cargo.toml")).filter_map(move |document| {
        let entries = read(Format::Toml, &document.text).into_iter().next()?;
        let all = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
            entries.at(&path).into_iter().filter_map(|(_, found)| found.node().cloned()).collect::<Vec<Node>>()
        };
        let name = all(&["package", "name"]).first().and_then(Node::text)?.to_owned();
        let loaded = |kind: Node| match kind.kind {
            NodeKind::List(kinds) => {
                !kinds.is_empty() && kinds.iter().all(|kind| matches!(kind.text(), Some("cdylib" | "staticlib")))
            }
            _ => false,
        };
        let command = all(&["package", "description"]).first().and_then(Node::text).is_some_and(is_command);
        let program = !all(&["bin"]).is_empty() || all(&["lib", "crate-type"]).into_iter().any(loaded);
        let mut needs = vec![];
        for listed in all(&["dependencies"]).into_iter().chain(all(&["target", "*", "dependencies"])) {
            let NodeKind::Map(entries) = listed.kind else { continue };
            for (key, of) in entries {
                let path = ["package".to_owned()];
                let renamed = of.at(&path).first().and_then(|(_, found)| found.text()).map(str::to_owned);
                needs.push(renamed.unwrap_or(key));
            }
        }
        let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        Some(Package { folder, purpose: Purpose::Crate { name, needs, program, command } })
    })
}

/// The folders of crates that no program of the tree is built with: what runs there runs at whoever takes them. Where there is no
/// program, the crates themselves are all there is.
fn unbuilt(tree: &Tree) -> Vec<String> {
    let crates: Vec<(&str, &str, &[String], bool)> = (tree.packages.iter())
        .filter_map(|package| match &package.purpose {
            Purpose::Crate { name, needs, program, .. } => Some((&*package.folder, &**name, &needs[..], *program)),
            _ => None,
        })
        .collect();
    let starts = |folder: &str| {
        let own = |path: &str| match folder {
            "" => path.to_owned(),
            folder => format!("{folder}/{path}"),
        };
        let (main, more) = (own("src/main.rs"), own("src/bin/"));
        tree.paths.iter().any(|path| **path == *main || path.starts_with(&more))
    };
    let programs: Vec<(&str, &str)> =
        crates.iter().filter(|(folder, _, _, program)| *program || starts(folder)).map(|known| (known.0, known.1)).collect();
    // What shows how a part is used is a program only where there is no other.
    let shows =
        |folder: &str| folder.split('/').any(|part| words(part).iter().any(|word| tree.book.reach.dev_words.contains(word)));
    let others: Vec<&str> = programs.iter().filter(|(folder, _)| !shows(folder)).map(|(_, name)| *name).collect();
    let mut queue = if others.is_empty() { programs.iter().map(|(_, name)| *name).collect() } else { others };
    if queue.is_empty() {
        return vec![];
    }
    let mut built: HashSet<&str> = HashSet::new();
    while let Some(name) = queue.pop() {
        if built.insert(name) {
            queue.extend(crates.iter().filter(|known| known.1 == name).flat_map(|known| known.2).map(String::as_str));
        }
    }
    crates
        .iter()
        .filter(|(folder, name, ..)| !folder.is_empty() && !built.contains(name))
        .map(|known| known.0.to_owned())
        .collect()
}

/// The folders of packages that serve nobody. One that gives commands does so only where nothing in it answers, listens or runs by
/// a timer, and a crate that is a command only where no other is built with it.
pub(super) fn idle_folders(tree: &Tree) -> Vec<String> {
    let needed: HashSet<&String> = (tree.packages.iter())
        .flat_map(|package| match &package.purpose {
            Purpose::Crate { needs, .. } => &needs[..],
            _ => &[],
        })
        .collect();
    let idle = |package: &&Package| match &package.purpose {
        Purpose::Development => true,
        Purpose::Commands => !serves(tree, &package.folder),
        Purpose::Crate { name, command, .. } => *command && !package.folder.is_empty() && !needed.contains(name),
    };
    let mut folders: Vec<String> = tree.packages.iter().filter(idle).map(|package| package.folder.clone()).collect();
    folders.extend(unbuilt(tree));
    folders
}

/// Whether a path is in a folder; the empty one holds everything.
pub(super) fn within(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn serves(tree: &Tree, folder: &str) -> bool {
    let answers =
        |kind: Meaning| matches!(kind, Meaning::Serve | Meaning::Entry | Meaning::Job | Meaning::Limiter | Meaning::Session);
    tree.files.iter().zip(&tree.paths).filter(|(_, path)| within(path, folder)).any(|(facts, _)| {
        facts.functions.iter().any(|function| {
            let decorated = function
                .decorators
                .iter()
                .any(|(value, _)| decorator(tree, value, facts.file).is_some_and(|meant| answers(meant.is)));
            decorated
                || function.events.iter().any(|event| match &event.act {
                    Act::Call { callee, args, .. } => meaning(tree, callee, args, facts.file).is_some_and(|meant| {
                        answers(meant.is) && !meant.text("kind").is_some_and(|kind| matches!(&*kind, "event" | "cli" | "test"))
                    }),
                    _ => false,
                })
        })
    })
}

/// The files of modules that only tests compile, and of those below them.
pub(super) fn tested(tree: &Tree) -> HashSet<u32> {
    let named = |facts: &FileFacts, module: &str| tree.imported_file(facts.file, module);
    let mut queue: Vec<u32> =
        tree.files.iter().flat_map(|facts| facts.unit.tests.iter().filter_map(|module| named(facts, module))).collect();
    let mut found = HashSet::new();
    while let Some(file) = queue.pop() {
        let Some(facts) = tree.files.get(file as usize).filter(|_| found.insert(file)) else { continue };
        let below = facts.unit.imports.iter().filter(|import| import.member.is_some() && &*import.module == "self");
        queue.extend(below.filter_map(|import| named(facts, &format!("self.{}", import.member.as_ref()?))));
    }
    found
}
