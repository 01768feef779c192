//! [`Catalogue`]: every fault that can be reported, by its id. It must not know how a fault is found.

use std::collections::BTreeSet;

use serde::Deserialize;
use toml::Spanned;

use super::{FaultRule, RuleError, RuleFile, RuleSet};

/// The families of faults.
pub const FAMILIES: &[&str] = &["memory", "job", "lock", "data"];

/// The folder of the catalogue's files.
const FOLDER: &str = "faults";

/// How like an unknown id another must be to be named as its neighbour, and how much less than the likest.
const LIKE: f64 = 0.75;
const AS_LIKE: f64 = 0.1;

/// The rules of `rules/faults/`, in the order of their ids.
#[derive(Debug, Clone)]
pub struct Catalogue {
    rules: Vec<FaultRule>,
}

/// A rule id that the catalogue does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRule {
    /// The id as given.
    pub id: String,
    /// Ids that look like it, likest first.
    pub near: Vec<String>,
}

impl std::fmt::Display for UnknownRule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "there is no rule `{}`; ", self.id)?;
        match self.near.as_slice() {
            [] => write!(out, "`lockcheck rules` lists all rules"),
            near => write!(out, "did you mean {}?", near.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl std::error::Error for UnknownRule {}

impl Catalogue {
    /// The catalogue built into the program.
    pub fn builtin() -> Result<Catalogue, RuleError> {
        Catalogue::load(&RuleSet::builtin())
    }

    /// The catalogue of a set of rule files; an error says where the first bad file is wrong.
    pub fn load(set: &RuleSet) -> Result<Catalogue, RuleError> {
        let mut rules = set.under(FOLDER).map(read_rule).collect::<Result<Vec<_>, _>>()?;
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Catalogue { rules })
    }

    /// All rules, in the order of their ids.
    pub fn rules(&self) -> &[FaultRule] {
        &self.rules
    }

    /// The rule with this id.
    pub fn get(&self, id: &str) -> Option<&FaultRule> {
        self.rules.binary_search_by(|rule| rule.id.as_str().cmp(id)).ok().map(|at| &self.rules[at])
    }

    /// The rule with this id, or the ids that look like it.
    pub fn find(&self, id: &str) -> Result<&FaultRule, UnknownRule> {
        self.get(id).ok_or_else(|| UnknownRule { id: id.to_string(), near: self.near(id) })
    }

    /// The rules that these ids name, once each, in the order of their ids.
    pub fn named_by<'i>(&self, ids: impl Iterator<Item = &'i str>) -> Vec<FaultRule> {
        let ids: BTreeSet<&str> = ids.collect();
        ids.into_iter().filter_map(|id| self.get(id).cloned()).collect()
    }

    fn near(&self, id: &str) -> Vec<String> {
        let id = id.to_lowercase().replace(['_', ' '], "-");
        let mut near: Vec<(f64, &str)> = self.rules.iter().map(|rule| (likeness(&id, &rule.id), rule.id.as_str())).collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let best = near.first().map_or(0.0, |(likeness, _)| *likeness);
        near.retain(|(likeness, _)| *likeness > LIKE && *likeness > best - AS_LIKE);
        near.into_iter().take(3).map(|(_, id)| id.to_string()).collect()
    }
}

/// From 0 to 1; a whole word of the other id counts for more than its letters do.
fn likeness(given: &str, id: &str) -> f64 {
    let shares_words = given.len() >= 3 && (id.contains(given) || id.split('-').all(|word| given.contains(word)));
    if shares_words { 0.95 } else { strsim::jaro_winkler(given, id).min(strsim::normalized_levenshtein(given, id) + 0.25) }
}

fn read_rule(file: &RuleFile) -> Result<FaultRule, RuleError> {
    let rule: FaultRule = file.parse()?;
    let FamilyField { family } = file.parse()?;
    if !FAMILIES.contains(&family.get_ref().as_str()) {
        let message = format!("unknown family `{}`, expected one of {}", family.get_ref(), FAMILIES.join(", "));
        return Err(file.error(family.span(), message));
    }
    Ok(FaultRule { id: file.stem().to_string(), ..rule })
}

/// The family once more, with its place in the file.
#[derive(Deserialize)]
struct FamilyField {
    family: Spanned<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> RuleFile {
        RuleFile { path: "my/faults/x.toml".into(), below: "faults/x.toml".into(), text: text.to_string().into() }
    }

    const SOUND: &str =
        "title = 't'\nseverity = 'error'\nfamily = 'lock'\nexplain = 'e'\nnot_when = 'n'\nhelp = 'h'\nbad = 'b'\ngood = 'g'\n";

    #[test]
    fn a_rule_is_named_by_its_file() {
        assert_eq!(read_rule(&file(SOUND)).unwrap().id, "x");
    }

    #[test]
    fn errors_point_at_the_line() {
        let place = |text: &str| {
            let error = read_rule(&file(text)).unwrap_err();
            let spot = error.spot.clone().unwrap();
            (spot.line, spot.column, error.message)
        };
        let (line, column, message) = place(&SOUND.replace("'error'", "'fatal'"));
        assert_eq!((line, column), (2, 12), "{message}");
        let (line, column, message) = place(&SOUND.replace("'lock'", "'locks'"));
        assert_eq!((line, column), (3, 10), "{message}");
        let (line, column, message) = place(&SOUND.replace("help", "halp"));
        assert_eq!((line, column), (6, 1), "{message}");
    }

    #[test]
    fn the_builtin_catalogue_loads_and_says_something_in_every_field() {
        let catalogue = Catalogue::builtin().unwrap_or_else(|error| panic!("{error}"));
        assert!(catalogue.rules().len() > 30);
        for rule in catalogue.rules() {
            for text in [&rule.title, &rule.explain, &rule.not_when, &rule.help, &rule.bad, &rule.good] {
                assert!(!text.trim().is_empty(), "{} has an empty field", rule.id);
            }
            assert!(!rule.help.trim().contains('\n'), "the help of {} is more than one line", rule.id);
            assert_ne!(rule.bad.trim(), rule.good.trim(), "{}", rule.id);
        }
    }

    #[test]
    fn unknown_ids_bring_their_neighbours() {
        let catalogue = Catalogue::builtin().unwrap();
        assert_eq!(catalogue.find("proces-lock").unwrap_err().near[0], "process-lock");
        assert_eq!(catalogue.find("lost_update").unwrap_err().near[0], "lost-update");
        assert_eq!(catalogue.find("fence").unwrap_err().near, ["lock-without-fence"]);
        assert_eq!(catalogue.find("zebra").unwrap_err().near, [""; 0]);
    }
}
