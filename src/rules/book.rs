//! The whole book of rules as the engine uses it: packs by language, idioms of the stores, verbs.

use std::collections::{BTreeMap, HashMap};

use super::{CommentWords, DeployRules, Idioms, Pack, Packs, ReachRules, RuleError, RuleSet, SettingRules, TableWords, Verbs};
use crate::files::Language;

/// Everything the engine knows of libraries.
#[derive(Debug, Default)]
pub struct Rulebook {
    /// Packs by language.
    pub packs: BTreeMap<Language, Packs>,
    /// Commands, scripts and functions in strings.
    pub idioms: Idioms,
    /// What unresolved names presume.
    pub verbs: Verbs,
    /// Which files do not serve requests.
    pub reach: ReachRules,
    /// Settings that say where something is kept.
    pub settings: SettingRules,
    /// Where deployment files say how many copies run.
    pub deploy: DeployRules,
    /// Conventions of names of tables.
    pub tables: TableWords,
    /// What comments say of copies and of races.
    pub comments: CommentWords,
}

impl Rulebook {
    /// Patterns of the documents that deployments and settings are read from.
    pub fn documents(&self) -> Vec<String> {
        self.deploy.files().chain(self.settings.environment.iter().map(String::as_str)).map(str::to_owned).collect()
    }

    /// Reads every pack and idiom of a rule set; an error names the file, line and column.
    pub fn load(set: &RuleSet) -> Result<Rulebook, RuleError> {
        let mut packs: HashMap<Language, Vec<Pack>> = HashMap::new();
        let mut book = Rulebook::default();
        for file in set.files() {
            match file.folder() {
                "common" if file.stem() == "reach" => book.reach = file.parse()?,
                "common" if file.stem() == "tables" => book.tables = file.parse()?,
                "common" if file.stem() == "comments" => book.comments = file.parse()?,
                "common" if file.stem() == "settings" => book.settings = file.parse()?,
                "common" => book.verbs = file.parse()?,
                "deploy" => book.deploy.extend(file.parse()?),
                "redis" | "sql" => book.idioms.extend(file.parse()?),
                folder => {
                    if let Some(language) = Language::of_name(folder) {
                        let pack: Pack = file.parse()?;
                        pack.check().map_err(|message| RuleError::whole(file.path.as_str(), message))?;
                        packs.entry(language).or_default().push(pack);
                    }
                }
            }
        }
        book.packs = packs.into_iter().map(|(language, packs)| (language, Packs::new(packs))).collect();
        Ok(book)
    }
}
