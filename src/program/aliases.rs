//! What the projects of a tree say a module's name means: path aliases of compilers' configurations, packages of the tree by their
//! names (crates among them), and the names a package gives its own parts. It gives paths to look at; it must not know which of them are files.

use rustc_hash::{FxHashMap, FxHashSet};

use super::modules::{common_prefix, join, normalize, parent};
use crate::files::Document;
use crate::syntax::data::{Format, Node, NodeKind, read};

/// Configurations that build on each other deeper than this are left out.
const DEEPEST: u32 = 8;

/// What the projects of a tree say of module names. All paths are relative to the tree's root.
#[derive(Debug, Default)]
pub struct Aliases {
    /// Compilers' configurations by folder, the one that editors take first.
    configs: FxHashMap<String, Vec<Config>>,
    packages: FxHashMap<String, Vec<Package>>,
    /// Names that begin with `#`, by the folder of the package that gives them.
    inner: FxHashMap<String, Vec<Rule>>,
    /// What the package of a folder depends on.
    needs: FxHashMap<String, FxHashSet<String>>,
    /// Folders of the crates of the tree, by the names that code has for them.
    crates: FxHashMap<String, Vec<String>>,
}

/// A name with `*` for any text, and what it stands for, the text in place of the `*`.
#[derive(Debug)]
struct Rule {
    head: String,
    tail: Option<String>,
    targets: Vec<String>,
}

/// A compiler's configuration with what it builds on.
#[derive(Debug)]
struct Config {
    /// The folder that plain names are looked up in.
    base: Option<String>,
    rules: Vec<Rule>,
}

/// A package of the tree.
#[derive(Debug)]
struct Package {
    folder: String,
    /// What it offers by `.` and `./part`; targets are relative to its folder.
    exports: Vec<Rule>,
    /// Its root module, by every field that names one.
    mains: Vec<String>,
}

/// What a configuration says before its targets are worked out.
#[derive(Default)]
struct Said<'n> {
    base: Option<String>,
    /// The aliases, and the folder of the file that has them.
    paths: Option<(&'n Node, String)>,
}

impl Aliases {
    /// What the documents of a tree say: `tsconfig.json` and `jsconfig.json` with the files they extend, `package.json`, and
    /// `Cargo.toml`.
    pub fn read(documents: &[Document]) -> Aliases {
        let mut aliases = Aliases::default();
        let mut configs: Vec<(&str, Node)> = vec![];
        for document in documents {
            let (folder, name) = document.path.rsplit_once('/').unwrap_or(("", &document.path));
            if name == "Cargo.toml" {
                aliases.add_crate(folder, &document.text);
                continue;
            }
            let config = name.contains("tsconfig") || name.contains("jsconfig");
            if !name.ends_with(".json") || !config && name != "package.json" {
                continue;
            }
            let Some(node) = read(Format::Json, &document.text).into_iter().next() else { continue };
            match config {
                true => configs.push((&document.path, node)),
                false => aliases.add_package(folder, &node),
            }
        }
        // The one that editors take comes first.
        let order = |path: &str| match path.rsplit('/').next() {
            Some("tsconfig.json") => 0,
            Some("jsconfig.json") => 1,
            _ => 2,
        };
        configs.sort_by_key(|(path, _)| (order(path), *path));
        let nodes: FxHashMap<&str, &Node> = configs.iter().map(|(path, node)| (*path, node)).collect();
        for (path, _) in &configs {
            let config = aliases.config(&nodes, path);
            if config.base.is_some() || !config.rules.is_empty() {
                aliases.configs.entry(parent(path).to_owned()).or_default().push(config);
            }
        }
        aliases
    }

    /// A crate goes by the name of its library, else of its package, and by those that its neighbours give it.
    fn add_crate(&mut self, folder: &str, text: &str) {
        let Some(node) = read(Format::Toml, text).into_iter().next() else { return };
        let named = |table: &str| entry(&node, table).and_then(|table| entry(table, "name")).and_then(Node::text);
        if let Some(name) = named("lib").or_else(|| named("package")) {
            self.crates.entry(name.replace('-', "_")).or_default().push(folder.to_owned());
        }
        let listed = [entry(&node, "dependencies"), entry(&node, "workspace").and_then(|all| entry(all, "dependencies"))];
        for (key, said) in listed.into_iter().flatten().flat_map(entries) {
            if let (Some(_), Some(path)) = (entry(said, "package"), entry(said, "path").and_then(Node::text)) {
                self.crates.entry(key.replace('-', "_")).or_default().push(normalize(&join(folder, path)));
            }
        }
    }

    /// The folder of the crate that a name means in a file: of several the nearest.
    pub(super) fn crate_at(&self, from: &str, name: &str) -> Option<&str> {
        let folders = self.crates.get(name)?;
        folders.iter().max_by_key(|folder| common_prefix(folder, from)).map(String::as_str)
    }

    fn add_package(&mut self, folder: &str, node: &Node) {
        let needs: FxHashSet<String> = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"]
            .into_iter()
            .filter_map(|kind| entry(node, kind))
            .flat_map(entries)
            .map(|(name, _)| name.clone())
            .collect();
        self.needs.insert(folder.to_owned(), needs);
        if let Some(inner) = entry(node, "imports") {
            self.inner.insert(folder.to_owned(), rules(entries(inner)));
        }
        let Some(name) = entry(node, "name").and_then(Node::text).filter(|name| !name.is_empty()) else { return };
        let exports = match entry(node, "exports") {
            Some(exports) if entries(exports).iter().any(|(key, _)| key.starts_with('.')) => rules(entries(exports)),
            Some(root) => vec![Rule::new(".", leaves(root))],
            None => vec![],
        };
        let mains = ["source", "module", "main", "types", "typings"].into_iter().filter_map(|field| entry(node, field));
        let mains = mains.filter_map(Node::text).map(str::to_owned).collect();
        let package = Package { folder: folder.to_owned(), exports, mains };
        self.packages.entry(name.to_owned()).or_default().push(package);
    }

    fn config(&self, nodes: &FxHashMap<&str, &Node>, path: &str) -> Config {
        let owner = parent(path);
        let said = self.said(nodes, path, owner, 0);
        let targets = |(node, folder): (&Node, String)| {
            let folder = said.base.clone().unwrap_or(folder);
            let mut rules = rules(entries(node));
            for rule in &mut rules {
                rule.targets = rule.targets.iter().filter_map(|target| placed(&folder, target, owner)).collect();
            }
            rules
        };
        Config { rules: said.paths.map(targets).unwrap_or_default(), base: said.base }
    }

    /// What a configuration says with what it builds on: the nearest word counts.
    fn said<'n>(&self, nodes: &FxHashMap<&str, &'n Node>, path: &str, owner: &str, depth: u32) -> Said<'n> {
        let mut said = Said::default();
        let Some(node) = nodes.get(path).copied().filter(|_| depth < DEEPEST) else { return said };
        let folder = parent(path);
        for outer in entry(node, "extends").map(leaves).unwrap_or_default() {
            let at = match outer.starts_with(['.', '$']) {
                true => placed(folder, &outer, owner),
                false => self.packages_named(&outer).and_then(|(found, rest)| Some(join(&found.first()?.folder, rest))),
            };
            let Some(at) = at else { continue };
            let ways = [at.clone(), format!("{at}.json"), join(&at, "tsconfig.json")];
            if let Some(way) = ways.iter().find(|way| nodes.contains_key(way.as_str())) {
                let outer = self.said(nodes, way, owner, depth + 1);
                said = Said { base: outer.base.or(said.base), paths: outer.paths.or(said.paths) };
            }
        }
        let option = |name: &str| entry(node, "compilerOptions").and_then(|options| entry(options, name));
        if let Some(base) = option("baseUrl").and_then(Node::text) {
            said.base = placed(folder, base, owner);
        }
        if let Some(paths) = option("paths") {
            said.paths = Some((paths, folder.to_owned()));
        }
        said
    }

    /// The packages that a module's name begins with, and the rest of the name.
    fn packages_named<'m>(&self, module: &'m str) -> Option<(&[Package], &'m str)> {
        let (name, rest) = package_of(module);
        Some((self.packages.get(name)?, rest))
    }

    /// The paths a name may mean in a file, the likeliest first; with the ending of a file or without.
    pub(super) fn paths(&self, from: &str, module: &str) -> Vec<String> {
        let mut found = vec![];
        let mut own = module.starts_with('#');
        for folder in folders_up(from) {
            if own && let Some(rules) = self.inner.get(folder) {
                own = false;
                for (target, _) in targets(rules, module).filter(|(target, _)| target.starts_with('.')) {
                    found.extend(sources(folder, &target, 1));
                }
            }
            for config in self.configs.get(folder).into_iter().flatten() {
                found.extend(targets(&config.rules, module).map(|(target, _)| target));
                found.extend(config.base.iter().map(|base| join(base, module)));
            }
        }
        if let Some((packages, rest)) = self.packages_named(module)
            && let Some(package) = packages.iter().rev().max_by_key(|package| common_prefix(&package.folder, from))
        {
            found.extend(package.paths(rest));
        }
        let mut seen = FxHashSet::default();
        found.retain(|path| seen.insert(path.clone()));
        found
    }

    /// Whether a package on the way up from a file says that it needs the one a module's name begins with.
    pub(super) fn needs(&self, from: &str, module: &str) -> bool {
        let (name, _) = package_of(module);
        folders_up(from).any(|folder| self.needs.get(folder).is_some_and(|needs| needs.contains(name)))
    }
}

impl Rule {
    fn new(name: &str, targets: Vec<String>) -> Rule {
        match name.split_once('*') {
            Some((head, tail)) => Rule { head: head.to_owned(), tail: Some(tail.to_owned()), targets },
            None => Rule { head: name.to_owned(), tail: None, targets },
        }
    }

    /// What stands in place of the `*`, where the name fits; nothing where there is none.
    fn fits<'m>(&self, name: &'m str) -> Option<&'m str> {
        match &self.tail {
            None => (name == self.head).then_some(""),
            Some(tail) => name.strip_prefix(self.head.as_str())?.strip_suffix(tail.as_str()),
        }
    }
}

impl Package {
    /// The paths that the package itself (no `rest`) or a part of it may be.
    fn paths(&self, rest: &str) -> Vec<String> {
        let mut found = vec![];
        let asked = if rest.is_empty() { ".".to_owned() } else { format!("./{rest}") };
        let exported: Vec<(String, usize)> = targets(&self.exports, &asked).collect();
        // What is there as it is written comes before what it was made from.
        found.extend(exported.iter().map(|(target, _)| join(&self.folder, trimmed(target))));
        for (target, fixed) in &exported {
            found.extend(sources(&self.folder, target, if rest.is_empty() { 2 } else { *fixed }));
        }
        if rest.is_empty() {
            found.extend(self.mains.iter().flat_map(|main| sources(&self.folder, main, 2)));
            found.extend([join(&self.folder, "src"), self.folder.clone()]);
        } else {
            found.extend(sources(&self.folder, rest, 1));
            found.push(join(&join(&self.folder, "src"), rest));
        }
        found
    }
}

/// The name of the package a module belongs to, and the rest of the module's name.
fn package_of(module: &str) -> (&str, &str) {
    let scope = if module.starts_with('@') { module.find('/').map_or(0, |at| at + 1) } else { 0 };
    let end = module[scope..].find('/').map_or(module.len(), |at| scope + at);
    (&module[..end], module[end..].trim_start_matches('/'))
}

/// The rules of entries, each name with all it may stand for; the most exact first.
fn rules(entries: &[(String, Node)]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = entries.iter().map(|(name, node)| Rule::new(name, leaves(node))).collect();
    rules.sort_by_key(|rule| (rule.tail.is_some(), std::cmp::Reverse(rule.head.len())));
    rules
}

/// What a name stands for by the rule that fits it best, each with the number of folders that the rule itself names.
fn targets<'r>(rules: &'r [Rule], name: &'r str) -> impl Iterator<Item = (String, usize)> + 'r {
    let best = rules.iter().find_map(|rule| Some((rule, rule.fits(name)?)));
    best.into_iter().flat_map(|(rule, star)| {
        rule.targets.iter().map(move |target| {
            let fixed = target.split_once('*').map_or(1, |(head, _)| trimmed(head).matches('/').count());
            (target.replace('*', star), fixed)
        })
    })
}

/// A path in a package, and the source files it may have been made from: those of `src`, or of the package's own folder, by the same
/// path without up to so many of its first folders.
fn sources(folder: &str, path: &str, without: usize) -> Vec<String> {
    let path = trimmed(path);
    let mut found = vec![join(folder, path)];
    let mut rest = path;
    for _ in 0..without {
        let Some((_, inner)) = rest.split_once('/') else { break };
        rest = inner;
        found.extend([join(&join(folder, "src"), rest), join(folder, rest)]);
    }
    found
}

fn trimmed(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// A path as it is written in a file of a folder, from the root; `None` where it leads out of the tree. `owner` is the folder of the
/// configuration that is asked for.
fn placed(folder: &str, path: &str, owner: &str) -> Option<String> {
    let (folder, path) = match path.strip_prefix("${configDir}") {
        Some(rest) => (owner, rest),
        None => (folder, path),
    };
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The folders a file is in, from the nearest to the root.
fn folders_up(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(parent(path)), |folder| (!folder.is_empty()).then(|| parent(folder)))
}

fn entries(node: &Node) -> &[(String, Node)] {
    match &node.kind {
        NodeKind::Map(entries) => entries,
        _ => &[],
    }
}

fn entry<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    entries(node).iter().find(|(known, _)| known == key).map(|(_, node)| node)
}

/// All texts in a value, in order: alternatives, and what holds under conditions.
fn leaves(node: &Node) -> Vec<String> {
    match &node.kind {
        NodeKind::Text(text) => (!text.is_empty()).then(|| text.clone()).into_iter().collect(),
        NodeKind::List(items) => items.iter().flat_map(leaves).collect(),
        NodeKind::Map(entries) => entries.iter().flat_map(|(_, node)| leaves(node)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aliases(files: &[(&str, &str)]) -> Aliases {
        Aliases::read(&files.iter().map(|(path, text)| Document::new(*path, *text)).collect::<Vec<_>>())
    }

    #[test]
    fn the_nearest_word_of_a_configuration_counts() {
        let aliases = aliases(&[
            ("base.tsconfig.json", r#"{ "compilerOptions": { "paths": { "@shared/*": ["./libs/*/src", "./old/*"] } } }"#),
            (
                "apps/api/tsconfig.json",
                "// Of the service.\n{ \"extends\": [\"../../base.tsconfig\"], /* none of its own */ \"compilerOptions\": { \"strict\": true, }, }",
            ),
            ("apps/web/tsconfig.json", r##"{ "compilerOptions": { "baseUrl": "./src", "paths": { "~*": ["*"] } } }"##),
        ]);
        assert_eq!(aliases.paths("apps/api/src/a.ts", "@shared/db"), ["libs/db/src", "old/db"]);
        assert_eq!(aliases.paths("apps/web/src/a.ts", "~db"), ["apps/web/src/db", "apps/web/src/~db"]);
        assert_eq!(aliases.paths("apps/web/src/a.ts", "db"), ["apps/web/src/db"]);
        assert_eq!(aliases.paths("apps/api/src/a.ts", "@shared"), [""; 0]);
    }

    #[test]
    fn configurations_of_packages_and_of_their_users_folders() {
        let aliases = aliases(&[
            ("config/package.json", r#"{ "name": "@acme/config" }"#),
            ("config/tsconfig.base.json", r#"{ "compilerOptions": { "paths": { "@/*": ["${configDir}/source/*"] } } }"#),
            ("api/tsconfig.json", r#"{ "extends": "@acme/config/tsconfig.base.json" }"#),
            ("loop/tsconfig.json", r#"{ "extends": "./tsconfig.json", "compilerOptions": { "paths": { "x": ["../../out"] } } }"#),
        ]);
        assert_eq!(aliases.paths("api/a.ts", "@/db"), ["api/source/db"]);
        assert_eq!(aliases.paths("loop/a.ts", "x"), [""; 0]);
    }

    #[test]
    fn packages_go_by_their_names() {
        let aliases = aliases(&[(
            "packages/core/package.json",
            r#"{ "name": "@acme/core", "main": "dist/index.js", "exports": {
                ".": { "types": "./dist/index.d.ts", "import": "./dist/esm/index.js" },
                "./jobs/*": "./dist/esm/jobs/*.js" } }"#,
        )]);
        let root = aliases.paths("apps/a.ts", "@acme/core");
        assert_eq!(root[..2], ["packages/core/dist/index.d.ts", "packages/core/dist/esm/index.js"]);
        assert!(root.contains(&"packages/core/src/index.js".to_owned()), "{root:?}");
        let part = aliases.paths("apps/a.ts", "@acme/core/jobs/mail");
        assert!(part.contains(&"packages/core/src/jobs/mail.js".to_owned()), "{part:?}");
        assert!(aliases.paths("apps/a.ts", "@acme/core/dist/x").contains(&"packages/core/src/x".to_owned()));
        assert_eq!(aliases.paths("apps/a.ts", "@acme/other"), [""; 0]);
    }

    #[test]
    fn a_package_names_its_own_parts_and_what_it_needs() {
        let aliases = aliases(&[(
            "package.json",
            r##"{ "name": "acme", "imports": { "#db": "./dist/db.js", "#dep": "pg", "#jobs/*": { "default": ["./src/jobs/*.ts"] } },
                "dependencies": { "redis": "^5" } }"##,
        )]);
        assert_eq!(aliases.paths("src/a.ts", "#db"), ["dist/db.js", "src/db.js", "db.js"]);
        assert_eq!(aliases.paths("src/a.ts", "#dep"), [""; 0]);
        assert_eq!(aliases.paths("src/a.ts", "#jobs/mail")[0], "src/jobs/mail.ts");
        assert!(aliases.needs("src/a.ts", "redis/client"));
        assert!(!aliases.needs("src/a.ts", "pg"));
    }
}
