//! Which files do not serve requests: `rules/common/reach.toml`.

use serde::Deserialize;

use crate::files::glob;

/// What kind of code a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileRole {
    /// Code of the service.
    Service,
    /// Tests.
    Test,
    /// Migrations and seeding.
    Migration,
    /// Scripts and build code.
    Cli,
    /// Code that runs in a browser.
    Browser,
}

/// Patterns, as the file has them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReachRules {
    test: Vec<String>,
    migration: Vec<String>,
    cli: Vec<String>,
    browser: Vec<String>,
    browser_modules: Vec<String>,
    /// Names that only a browser gives.
    pub browser_globals: Vec<String>,
    /// Stores that only a browser has.
    pub browser_stores: Vec<String>,
    server: Vec<String>,
    test_modules: Vec<String>,
    /// Words in a setting that say which copy does a job.
    pub role_words: Vec<String>,
    /// Words of a question whether this copy leads the others.
    pub leader_words: Vec<String>,
    /// Names by which a file asks whether the program was started with it.
    pub starter_names: Vec<String>,
    /// What such a name is compared with.
    pub starter_words: Vec<String>,
    /// Bases of the language that call nothing of what derives from them.
    pub idle_bases: Vec<String>,
    /// How the names of methods begin that the library of a table's record asks for.
    pub record_hooks: Vec<String>,
    /// Names by which a file asks where it lies itself.
    pub place_names: Vec<String>,
    /// Variables by which a development server tells the copy that it starts anew from itself: none in what serves.
    pub reloader_names: Vec<String>,
    /// Words in a package's name that say it is for developing or showing the others.
    pub dev_words: Vec<String>,
    /// Words in a package's description that say it is a command, where none of the next ones is there.
    pub command_words: Vec<String>,
    /// Words in a package's description that say it serves.
    pub serving_words: Vec<String>,
    /// Words in a setting or argument that say whether a copy changes the schema.
    pub setting_words: Vec<String>,
    /// What steps of a schema offer, wherever they lie.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
    /// Module-level names that only list what a module offers.
    pub listing_names: Vec<String>,
    /// Names by which handlers call the request.
    pub request_words: Vec<String>,
    /// What a request's body is read by.
    pub body_words: Vec<String>,
    /// Functions that a framework enters without being told of them.
    #[serde(default, rename = "entry")]
    pub entries: Vec<Convention>,
}

/// Functions that a framework enters by where they stand and what they are called.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Convention {
    /// How they are entered.
    pub kind: String,
    /// Patterns of their files; none is any file.
    files: Vec<String>,
    /// What they are exported as; `*` is any name.
    exports: Vec<String>,
    /// Texts that the file or the function begins with, one of which is there.
    pub marks: Vec<String>,
    /// Names beside which the file is something else.
    unless: Vec<String>,
    /// Modules one of which their file imports; none is any.
    pub imports: Vec<String>,
    /// Base classes whose methods they are; with `methods` and none, those of any class.
    pub bases: Vec<String>,
    /// The names of those methods.
    pub methods: Vec<String>,
    /// How many parameters they have at least.
    pub params: usize,
}

/// How a step of a schema is told by what it offers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Functions or methods, all of which are there.
    pub offers: Vec<String>,
    /// Module-level names, all of which are there.
    pub names: Vec<String>,
    /// Words one of which is in the name or type of each function's first parameter, where it has one; the first function has
    /// one. Without words the functions may take anything.
    pub given: Vec<String>,
}

impl Convention {
    /// Whether a file can have such functions.
    pub fn speaks_of(&self, path: &str) -> bool {
        self.files.is_empty() || self.files.iter().any(|pattern| fits(path, pattern))
    }

    /// Whether a function is one by the name it is exported as, among the names its file exports.
    pub fn names(&self, name: &str, mut beside: impl Iterator<Item = impl AsRef<str>>) -> bool {
        self.exports.iter().any(|known| known == "*" || known == name)
            && !beside.any(|other| self.unless.iter().any(|known| known == other.as_ref()))
    }
}

impl ReachRules {
    /// What kind of code a file is, by its path and what it imports.
    pub fn role<'i>(&self, path: &str, mut imports: impl Iterator<Item = &'i str>) -> FileRole {
        let kinds = [
            (FileRole::Test, &self.test),
            (FileRole::Migration, &self.migration),
            (FileRole::Cli, &self.cli),
            (FileRole::Browser, &self.browser),
        ];
        if let Some((role, _)) = kinds.iter().find(|(_, patterns)| patterns.iter().any(|pattern| fits(path, pattern))) {
            return *role;
        }
        imports
            .find_map(|module| {
                if self.test_modules.iter().any(|known| known == module) {
                    Some(FileRole::Test)
                } else if self.browser_modules.iter().any(|known| known == module) {
                    Some(FileRole::Browser)
                } else {
                    None
                }
            })
            .unwrap_or(FileRole::Service)
    }
}

impl ReachRules {
    /// Whether a path says that its code answers requests, whatever stands beside it.
    pub fn answers(&self, path: &str) -> bool {
        self.server.iter().any(|pattern| fits(path, pattern))
    }
}

/// Whether a folder of the path (`tests/`) or its last name (`*.test.*`) fits a pattern.
pub(super) fn fits(path: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('/') {
        Some(folder) if folder.contains('/') => {
            let begins = |from: &str| from.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            begins(path) || path.match_indices('/').any(|(at, _)| begins(&path[at + 1..]))
        }
        Some(folder) => {
            let mut folders = path.split('/');
            folders.next_back();
            folders.any(|part| glob(part, folder))
        }
        None => path.rsplit('/').next().is_some_and(|name| glob(name, pattern)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_names_fit() {
        assert!(fits("src/tests/a.py", "tests/"));
        assert!(!fits("src/tests.py", "tests/"));
        assert!(fits("src/a.test.ts", "*.test.*"));
        assert!(fits("app/management/commands/x.py", "management/commands/"));
        assert!(!fits("src/contest.ts", "*.test.*"));
    }
}
