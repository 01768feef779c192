//! Rule files: the catalogue of faults and the packs of library knowledge, built in or the user's own, loaded by one path.
//! They must not know control flow.

mod book;
mod catalogue;
mod comments;
mod deploy;
mod error;
mod fault;
mod idioms;
mod library;
mod pack;
mod reach;
mod ruleset;
mod selector;
mod settings;
mod tables;
mod verbs;

pub use book::Rulebook;
pub use catalogue::{Catalogue, FAMILIES, UnknownRule};
pub use comments::CommentWords;
pub use deploy::{CommandRow, CountKind, CountRow, DeployRules, Keys, Per, UnitRow};
pub use error::{RuleError, Spot};
pub use fault::{FaultRule, Severity};
pub use idioms::{CommandKind, FunctionKind, Idioms, ScriptKind};
pub use library::{Library as Packs, Row};
pub use pack::{CallRow, Library, Meaning, Pack, Part, Scope, TypeKind, TypeRow, Want};
pub use reach::{Convention, FileRole, ReachRules, Step};
pub use ruleset::{RULES, RuleFile, RuleSet};
pub use selector::{Pick, Selector};
pub use settings::{SettingRow, SettingRules};
pub use tables::TableWords;
pub use verbs::{Guess, Order, Verbs, words};
