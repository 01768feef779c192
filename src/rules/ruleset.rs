//! The rule files themselves: the ones built in, and those of the user's directories laid over them.
//! It must not know what a rule file says.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;
use walkdir::WalkDir;

use super::RuleError;

/// The rule files built into the program, as laid out in `rules/`.
pub static RULES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/rules");

/// One rule file.
#[derive(Debug, Clone)]
pub struct RuleFile {
    /// Where a person finds it; a file built in is under `rules/`.
    pub path: String,
    /// Its path below the rules' root, with `/` between the parts: `faults/process-lock.toml`.
    pub below: String,
    /// Its text.
    pub text: Cow<'static, str>,
}

impl RuleFile {
    /// The file's name without `.toml`.
    pub fn stem(&self) -> &str {
        let name = self.below.rsplit('/').next().unwrap_or(&self.below);
        name.strip_suffix(".toml").unwrap_or(name)
    }

    /// The file as a value of `T`; an error points at its place in the file.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, RuleError> {
        toml::from_str(&self.text).map_err(|error| RuleError::toml(self.path.as_str(), &self.text, &error))
    }

    /// An error at a byte range of this file.
    pub fn error(&self, range: Range<usize>, message: impl Into<String>) -> RuleError {
        RuleError::at(self.path.as_str(), &self.text, range, message)
    }

    /// The folder it is in, below the rules' root: `faults`, or a language's name.
    pub fn folder(&self) -> &str {
        self.below.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// All rule files in force: built-in ones, then each user directory, laid out in the same way; a later file replaces an
/// earlier one at the same place.
#[derive(Debug, Clone)]
pub struct RuleSet {
    files: BTreeMap<String, RuleFile>,
}

impl RuleSet {
    /// The built-in files alone.
    pub fn builtin() -> RuleSet {
        let mut files = BTreeMap::new();
        collect(&RULES, &mut files);
        RuleSet { files }
    }

    /// The built-in files with the user's directories laid over them. An unreadable directory or file is an error.
    pub fn with(directories: &[PathBuf]) -> Result<RuleSet, RuleError> {
        let mut set = RuleSet::builtin();
        for directory in directories {
            set.lay_over(directory)?;
        }
        Ok(set)
    }

    /// The files under a folder (`faults`, `javascript`), in the order of their paths.
    pub fn under<'s>(&'s self, folder: &str) -> impl Iterator<Item = &'s RuleFile> {
        let prefix = format!("{folder}/");
        self.files.values().filter(move |file| file.below.starts_with(&prefix))
    }

    /// All files, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = &RuleFile> {
        self.files.values()
    }

    fn lay_over(&mut self, directory: &Path) -> Result<(), RuleError> {
        if !directory.is_dir() {
            return Err(RuleError::whole(
                directory.display().to_string(),
                "is not a directory; --rules takes one that is laid out like rules/: faults/<rule>.toml, <language>/<library>.toml",
            ));
        }
        for entry in WalkDir::new(directory).sort_by_file_name() {
            let entry = entry.map_err(|error| RuleError::whole(directory.display().to_string(), error.to_string()))?;
            if !entry.file_type().is_file() || entry.path().extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let path = entry.path().display().to_string();
            let text = std::fs::read_to_string(entry.path())
                .map_err(|error| RuleError::whole(path.as_str(), format!("cannot be read: {error}")))?;
            let below = slashed(entry.path().strip_prefix(directory).unwrap_or(entry.path()));
            self.files.insert(below.clone(), RuleFile { path, below, text: Cow::Owned(text) });
        }
        Ok(())
    }
}

fn collect(directory: &'static Dir<'static>, files: &mut BTreeMap<String, RuleFile>) {
    for file in directory.files() {
        let below = slashed(file.path());
        if let Some(text) = file.contents_utf8().filter(|_| below.ends_with(".toml")) {
            let path = format!("rules/{below}");
            files.insert(below.clone(), RuleFile { path, below, text: Cow::Borrowed(text) });
        }
    }
    for inner in directory.dirs() {
        collect(inner, files);
    }
}

fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_file_replaces_the_one_built_in_and_adds_others() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("faults")).unwrap();
        std::fs::write(directory.path().join("faults/process-lock.toml"), "mine").unwrap();
        std::fs::write(directory.path().join("faults/zz-own.toml"), "own").unwrap();
        let set = RuleSet::with(&[directory.path().to_path_buf()]).unwrap();
        let mine = set.under("faults").find(|file| file.stem() == "process-lock").unwrap();
        assert_eq!((mine.text.as_ref(), mine.folder()), ("mine", "faults"));
        assert_eq!(set.under("faults").count(), RuleSet::builtin().under("faults").count() + 1);
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let error = RuleSet::with(&[PathBuf::from("/no/such/rules")]).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/rules: is not a directory"), "{error}");
    }
}
