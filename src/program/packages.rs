//! What the packages of a tree are for, by their own descriptions: programs of the command line, and what only developers start.

use std::collections::HashSet;

use super::{Tree, decorator, meaning};
use crate::facts::Act;
use crate::files::Document;
use crate::rules::{Meaning, ReachRules, words};
use crate::syntax::data::{Format, Node, read};

/// What a package is for, as far as its description tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// It gives commands and nothing that other code could import.
    Commands,
    /// It is private, nothing depends on it, and its name says that it is for developing or showing the others.
    Development,
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
    described.iter().filter_map(|package| Some(Package { folder: package.folder.clone(), purpose: purpose(package)? })).collect()
}

/// The folders of packages that serve nobody. One that gives commands does so only where nothing in it answers, listens or runs by
/// a timer.
pub(super) fn idle_folders(tree: &Tree) -> Vec<String> {
    tree.packages
        .iter()
        .filter(|package| package.purpose == Purpose::Development || !serves(tree, &package.folder))
        .map(|package| package.folder.clone())
        .collect()
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
