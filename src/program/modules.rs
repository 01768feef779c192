//! Which file of the tree a module name means, by folder conventions of the languages' module systems and by what the tree's
//! projects say ([`Aliases`]).

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Aliases, Ty};
use crate::files::Language;

/// Files by path without extension, and folders.
pub struct Modules {
    files: FxHashMap<String, Vec<u32>>,
    folders: FxHashSet<String>,
    by_name: FxHashMap<String, Vec<String>>,
    languages: Vec<Language>,
    paths: Vec<String>,
    aliases: Aliases,
}

impl Modules {
    /// The modules of a tree, from its files' paths relative to the root.
    pub fn new(files: &[(String, Language)]) -> Modules {
        let mut modules = Modules {
            files: FxHashMap::default(),
            folders: FxHashSet::default(),
            by_name: FxHashMap::default(),
            languages: files.iter().map(|(_, language)| *language).collect(),
            paths: files.iter().map(|(path, _)| path.clone()).collect(),
            aliases: Aliases::default(),
        };
        for (index, (path, _)) in files.iter().enumerate() {
            let stem = stem(path);
            modules.files.entry(stem.to_owned()).or_default().push(index as u32);
            let mut folder = parent(stem);
            while !folder.is_empty() && modules.folders.insert(folder.to_owned()) {
                folder = parent(folder);
            }
        }
        let known: Vec<String> = modules.files.keys().chain(&modules.folders).cloned().collect();
        for path in known {
            modules.by_name.entry(last(&path).to_owned()).or_default().push(path);
        }
        modules.by_name.values_mut().for_each(|paths| {
            paths.sort();
            paths.dedup();
        });
        modules
    }

    /// The same modules with what the tree's projects say of their names.
    pub fn with_aliases(self, aliases: Aliases) -> Modules {
        Modules { aliases, ..self }
    }

    /// The file or folder at a path without extension.
    fn at(&self, path: &str, language: Language) -> Option<Ty> {
        let path = path.trim_start_matches("./");
        let file = |path: &str| {
            let found = self.files.get(path)?;
            found.iter().copied().find(|file| self.languages.get(*file as usize) == Some(&language))
        };
        if let Some(file) = file(path) {
            return Some(Ty::Module(file));
        }
        for index in index_names(language) {
            if let Some(file) = file(&join(path, index)) {
                return Some(Ty::Module(file));
            }
        }
        self.folders.contains(path).then(|| Ty::Package(path.into()))
    }

    /// Whether anything in the tree goes by the first name of a path: nothing does for most libraries.
    fn begins(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or(path);
        matches!(first, "" | "." | "..") || self.by_name.contains_key(first)
    }

    /// The module a name means in a file; `None` for a library's.
    pub fn find(&self, from: u32, module: &str) -> Option<Ty> {
        let language = *self.languages.get(from as usize)?;
        let path = self.paths.get(from as usize)?;
        match language {
            Language::JavaScript => self.find_script(path, module),
            Language::Python => self.find_dotted(path, module),
            Language::Rust => self.find_crate(path, module),
            Language::Sql => None,
        }
    }

    fn find_script(&self, from: &str, module: &str) -> Option<Ty> {
        let language = Language::JavaScript;
        if module.starts_with('.') {
            let joined = normalize(&join(parent(from), module));
            return self.at(&joined, language).or_else(|| self.at(stem(&joined), language));
        }
        let said = self.aliases.paths(from, module);
        if let Some(found) = said.iter().find_map(|path| self.script_at(path)) {
            return Some(found);
        }
        // What a package says it needs is not a folder that happens to go by that name.
        if self.aliases.needs(from, module) {
            return None;
        }
        let rest = module.strip_prefix("@/").or_else(|| module.strip_prefix("~/")).or_else(|| module.strip_prefix("#/"));
        // `@server/models` by a path alias of the project: a folder of that name.
        if let (None, Some(alias)) = (rest, module.strip_prefix(['@', '~', '#'])) {
            let mut folder = parent(from);
            loop {
                if let found @ Some(Ty::Module(_)) = self.at(&join(folder, stem_of_script(alias)), language) {
                    return found;
                }
                if folder.is_empty() {
                    break;
                }
                folder = parent(folder);
            }
        }
        let wanted = stem_of_script(rest.unwrap_or(module));
        if !self.begins(wanted) {
            return None;
        }
        let mut folder = parent(from);
        loop {
            for base in ["", "src", "app", "lib"] {
                let found = self.at(&join(&join(folder, base), wanted), language);
                if matches!(found, Some(Ty::Module(_))) {
                    return found;
                }
            }
            if folder.is_empty() {
                break;
            }
            folder = parent(folder);
        }
        rest.and_then(|_| self.by_suffix(wanted, from, language))
    }

    /// The file at a path, with a file's ending or without.
    fn script_at(&self, path: &str) -> Option<Ty> {
        let ways = [path, stem_of_script(path)];
        let mut found = ways.iter().filter_map(|path| self.at(path, Language::JavaScript));
        found.find(|found| matches!(found, Ty::Module(_)))
    }

    fn find_dotted(&self, from: &str, module: &str) -> Option<Ty> {
        let language = Language::Python;
        let dots = module.len() - module.trim_start_matches('.').len();
        if dots > 0 {
            let mut folder = parent(from);
            for _ in 1..dots {
                folder = parent(folder);
            }
            return self.at(&join(folder, &module[dots..].replace('.', "/")), language);
        }
        let wanted = module.replace('.', "/");
        if !self.begins(&wanted) {
            return None;
        }
        let mut folder = parent(from);
        loop {
            if let Some(found) = self.at(&join(folder, &wanted), language) {
                // A file never means itself by an absolute name.
                if found != Ty::Package(folder.into()) && !matches!(found, Ty::Module(file) if self.paths[file as usize] == from)
                {
                    return Some(found);
                }
            }
            if folder.is_empty() {
                break;
            }
            folder = parent(folder);
        }
        if module.contains('.') { self.by_suffix(&wanted, from, language) } else { None }
    }

    fn find_crate(&self, from: &str, module: &str) -> Option<Ty> {
        let mut segments = module.split('.');
        let mut at = match segments.next()? {
            "crate" => self.crate_root(from)?,
            "self" => Ty::Package(self.children_of(from).into()),
            "super" => Ty::Package(parent(&self.children_of(from)).into()),
            first => self.child(&Ty::Package(self.children_of(from).into()), first).or_else(|| self.crate_named(from, first))?,
        };
        for segment in segments {
            at = match segment {
                "super" => Ty::Package(parent(&self.folder_of(&at)?).into()),
                _ => self.child(&at, segment)?,
            };
        }
        Some(at)
    }

    /// The root module of another crate of the tree, or of the library beside a program, as its folder.
    fn crate_named(&self, from: &str, name: &str) -> Option<Ty> {
        let folder = join(self.aliases.crate_at(from, name)?, "src");
        self.folders.contains(&folder).then(|| Ty::Package(folder.into()))
    }

    /// Whether a name of a file is that of a crate of the tree, and of no module of its own.
    pub(super) fn names_a_crate(&self, from: u32, module: &str) -> bool {
        let (Some(path), Some(first)) = (self.paths.get(from as usize), module.split('.').next()) else { return false };
        self.child(&Ty::Package(self.children_of(path).into()), first).is_none() && self.crate_named(path, first).is_some()
    }

    /// The root module of the crate a file belongs to, as its folder.
    fn crate_root(&self, from: &str) -> Option<Ty> {
        let mut folder = parent(from);
        loop {
            let rooted = ["lib", "main"].iter().any(|name| self.files.contains_key(&join(folder, name)));
            if rooted || last(folder) == "src" {
                return Some(Ty::Package(folder.into()));
            }
            if folder.is_empty() {
                return None;
            }
            folder = parent(folder);
        }
    }

    /// The folder that holds a Rust file's child modules.
    fn children_of(&self, path: &str) -> String {
        let stem = stem(path);
        match last(stem) {
            "mod" | "lib" | "main" => parent(stem).to_owned(),
            _ => stem.to_owned(),
        }
    }

    fn folder_of(&self, at: &Ty) -> Option<String> {
        match at {
            Ty::Package(folder) => Some(folder.to_string()),
            Ty::Module(file) => {
                let path = self.paths.get(*file as usize)?;
                match self.languages.get(*file as usize)? {
                    Language::Rust => Some(self.children_of(path)),
                    _ => Some(parent(path).to_owned()),
                }
            }
            _ => None,
        }
    }

    /// A module inside a module or package.
    pub(super) fn child(&self, at: &Ty, name: &str) -> Option<Ty> {
        let folder = self.folder_of(at)?;
        let language = match at {
            Ty::Module(file) => *self.languages.get(*file as usize)?,
            _ => return [Language::Rust, Language::Python].iter().find_map(|language| self.at(&join(&folder, name), *language)),
        };
        match (language, at) {
            (Language::Python, Ty::Module(file)) if last(stem(self.paths.get(*file as usize)?)) != "__init__" => None,
            (Language::JavaScript | Language::Sql, _) => None,
            _ => self.at(&join(&folder, name), language),
        }
    }

    /// Files whose own items a package's name stands for: its root, `mod` or `__init__` file.
    pub(super) fn own_files(&self, folder: &str) -> Vec<u32> {
        ["lib", "main", "mod", "__init__"]
            .iter()
            .filter_map(|name| self.files.get(&join(folder, name)))
            .chain(self.files.get(folder))
            .flatten()
            .copied()
            .collect()
    }

    /// The one module whose path ends so, nearest to `from`.
    fn by_suffix(&self, wanted: &str, from: &str, language: Language) -> Option<Ty> {
        let candidates = self.by_name.get(last(wanted))?;
        let fits = candidates.iter().filter(|path| *path == wanted || path.ends_with(&format!("/{wanted}")));
        let best = fits.max_by_key(|path| common_prefix(path, from))?;
        self.at(best, language)
    }
}

fn index_names(language: Language) -> &'static [&'static str] {
    match language {
        Language::JavaScript => &["index"],
        Language::Python => &["__init__"],
        Language::Rust => &["mod"],
        Language::Sql => &[],
    }
}

pub(super) fn common_prefix(left: &str, right: &str) -> usize {
    left.split('/').zip(right.split('/')).take_while(|(left, right)| left == right).count()
}

/// The path without its extension (`a/b.test.ts` keeps `a/b.test`; declaration files lose `.d` too).
fn stem(path: &str) -> &str {
    let from = path.rfind('/').map_or(0, |at| at + 1);
    match path[from..].rfind('.') {
        Some(dot) if dot > 0 => path[..from + dot].trim_end_matches(".d"),
        _ => path,
    }
}

fn stem_of_script(module: &str) -> &str {
    [".d.ts", ".d.mts", ".d.cts", ".ts", ".mts", ".cts", ".tsx", ".js", ".jsx", ".mjs", ".cjs"]
        .iter()
        .find_map(|end| module.strip_suffix(end))
        .unwrap_or(module)
}

pub(super) fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

fn last(path: &str) -> &str {
    path.rfind('/').map_or(path, |at| &path[at + 1..])
}

pub(super) fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    }
}

/// Resolves `.` and `..` inside a path.
pub(super) fn normalize(path: &str) -> String {
    let mut parts: Vec<&str> = vec![];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Document, LineIndex};

    fn modules(paths: &[&str]) -> Modules {
        let files: Vec<(String, Language)> = paths
            .iter()
            .map(|path| (path.to_string(), Language::of_extension(path.rsplit('.').next().unwrap()).unwrap()))
            .collect();
        Modules::new(&files)
    }

    #[test]
    fn scripts_resolve_relative_and_aliased() {
        let modules = modules(&["src/a/x.ts", "src/lib/redis.ts", "src/b/index.ts"]);
        assert_eq!(modules.find(0, "../lib/redis.js"), Some(Ty::Module(1)));
        assert_eq!(modules.find(0, "@/lib/redis"), Some(Ty::Module(1)));
        assert_eq!(modules.find(0, "../b"), Some(Ty::Module(2)));
        assert_eq!(modules.find(0, "ioredis"), None);
    }

    #[test]
    fn python_resolves_dotted_and_relative() {
        let modules = modules(&["app/a.py", "app/db.py", "app/pkg/__init__.py", "app/pkg/b.py"]);
        assert_eq!(modules.find(0, "app.db"), Some(Ty::Module(1)));
        assert_eq!(modules.find(3, "..db"), Some(Ty::Module(1)));
        assert_eq!(modules.find(0, "redis"), None);
    }

    #[test]
    fn crates_resolve_from_their_root() {
        let modules = modules(&["src/main.rs", "src/handlers/transfer.rs", "src/replay.rs"]);
        assert_eq!(modules.find(1, "crate.replay"), Some(Ty::Module(2)));
        assert_eq!(modules.find(1, "super.transfer"), Some(Ty::Module(1)));
        assert_eq!(modules.find(1, "sqlx"), None);
    }

    #[test]
    fn crates_of_one_workspace_know_each_other() {
        let manifest = |path: &str, text: &str| Document { path: path.into(), text: text.into(), lines: LineIndex::new(text) };
        let documents = [
            manifest("crates/data-store/Cargo.toml", "[package]\nname = \"data-store\"\n"),
            manifest(
                "api/Cargo.toml",
                "[package]\nname = \"api\"\n[dependencies]\nstore = { package = \"data-store\", path = \"../crates/data-store\" }\n",
            ),
        ];
        let modules = modules(&["api/src/main.rs", "crates/data-store/src/lib.rs", "crates/data-store/src/rows.rs"])
            .with_aliases(Aliases::read(&documents));
        assert_eq!(modules.find(0, "data_store"), Some(Ty::Package("crates/data-store/src".into())));
        assert_eq!(modules.find(0, "data_store.rows"), Some(Ty::Module(2)));
        assert_eq!(modules.find(0, "store.rows"), Some(Ty::Module(2)));
    }
}
