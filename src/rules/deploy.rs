//! Where deployment files say how many copies run: `rules/deploy/`. It must not know how a file is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::reach::fits;
use crate::files::name_fits;
use crate::syntax::data::{Format, path_of};

/// Everything known of deployment files.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeployRules {
    /// What runs, and where its number stands.
    #[serde(default, rename = "unit")]
    pub units: Vec<UnitRow>,
    /// Programs whose command line says how many processes they start.
    #[serde(default, rename = "command")]
    pub commands: Vec<CommandRow>,
    /// Files that say nothing of the service as it runs: of examples, tests, developers.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// Images of other people's services: what runs them is not this code.
    #[serde(default)]
    pub foreign_images: Vec<String>,
    /// Words in the place of a number that mean several: one for each processor.
    #[serde(default)]
    pub several: Vec<String>,
    /// Folders that hold deployment files and no code.
    #[serde(default)]
    pub folders: Vec<String>,
}

/// What the copies of something have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Nothing but the network: machines, containers.
    #[default]
    Host,
    /// A machine and its disk: processes.
    Process,
}

/// One kind of thing that runs, in one kind of file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitRow {
    /// Patterns of the file's name, or of its path where they hold a `/`.
    pub files: Vec<String>,
    /// How the file is written.
    pub format: Format,
    /// Texts one of which stands in every file of this kind.
    #[serde(default)]
    pub mentions: Vec<String>,
    /// Where in a document the things that run stand; each document is one when not said.
    #[serde(default)]
    pub each: Keys,
    /// What must stand at some place of the thing.
    #[serde(default, rename = "where")]
    pub conditions: BTreeMap<Keys, Vec<String>>,
    /// Its name; the last key that leads to it when not said.
    #[serde(default)]
    pub name: Vec<Keys>,
    /// The folder it is built from, from the file's own folder.
    #[serde(default)]
    pub folder: Vec<Keys>,
    /// A file that lies in that folder.
    #[serde(default)]
    pub beside: Vec<Keys>,
    /// Its image.
    #[serde(default)]
    pub image: Vec<Keys>,
    /// Its command line.
    #[serde(default)]
    pub command: Vec<Keys>,
    /// Variables of its environment.
    #[serde(default)]
    pub environment: Vec<Keys>,
    /// Where its numbers stand.
    #[serde(default, rename = "count")]
    pub counts: Vec<CountRow>,
    /// The number is not evidence but settles the question: the user says it.
    #[serde(default)]
    pub settles: bool,
}

/// Where a number of copies stands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountRow {
    /// The place; the thing itself when not said.
    #[serde(default)]
    pub at: Keys,
    /// How to read what stands there.
    #[serde(default)]
    pub is: CountKind,
    /// The number where the place is not there.
    pub absent: Option<u32>,
    /// There may be more, so that one says nothing.
    #[serde(default)]
    pub least: bool,
    /// What the copies share.
    #[serde(default)]
    pub per: Per,
    /// A new version starts before the old one ends.
    #[serde(default)]
    pub overlaps: bool,
    /// Places with texts that make this untrue.
    #[serde(default)]
    pub overlaps_unless: BTreeMap<Keys, Vec<String>>,
    /// Places with texts that make the number count.
    #[serde(default)]
    pub when: BTreeMap<Keys, Vec<String>>,
}

/// How a number is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountKind {
    /// The number itself, or a word that means several.
    #[default]
    Number,
    /// As many as there are such places.
    Places,
    /// It is made to be started several times.
    Several,
}

/// A program whose command line says how many processes it starts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRow {
    /// Its names.
    pub programs: Vec<String>,
    /// Options with the number: `-w 4`, `-w4`, `--workers=4`, `--scale api=4`; words in a row (`scale count`) come right before it.
    #[serde(default)]
    pub options: Vec<String>,
    /// A variable that has the number where no option does.
    pub variable: Option<String>,
    /// What the processes share.
    #[serde(default)]
    pub per: Per,
    /// There may be more, so that one says nothing.
    #[serde(default)]
    pub least: bool,
}

/// A path of keys, written with dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Keys(pub Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Keys, D::Error> {
        Ok(Keys(path_of(&String::deserialize(from)?)))
    }
}

impl DeployRules {
    /// Adds the rows of another file.
    pub fn extend(&mut self, other: DeployRules) {
        self.units.extend(other.units);
        self.commands.extend(other.commands);
        self.ignored.extend(other.ignored);
        self.foreign_images.extend(other.foreign_images);
        self.several.extend(other.several);
        self.folders.extend(other.folders);
    }

    /// Patterns of all files that may say something.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.units.iter().flat_map(|unit| &unit.files).map(String::as_str)
    }

    /// Whether a file is read for what runs.
    pub fn reads(&self, path: &str, text: &str) -> bool {
        self.units.iter().any(|unit| unit.speaks_of(path, text))
    }

    /// Whether a file says nothing of the service as it runs.
    pub fn ignores(&self, path: &str) -> bool {
        self.ignored.iter().any(|pattern| fits(path, pattern))
    }
}

impl UnitRow {
    /// Whether a file may hold units of this kind.
    pub fn speaks_of(&self, path: &str, text: &str) -> bool {
        self.files.iter().any(|pattern| name_fits(path, pattern))
            && (self.mentions.is_empty() || self.mentions.iter().any(|mention| text.contains(mention.as_str())))
    }
}
