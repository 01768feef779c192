//! A fault of the catalogue: one file in `rules/faults/`, whose name is the rule's id.

use super::Per;
use serde::{Deserialize, Serialize};

/// What a double costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A sound pattern with a known limit; shown with `--strict` only.
    Advice,
    /// A double is waste, or a limit is exceeded.
    Warning,
    /// A double is damage to data or money.
    Error,
}

impl Severity {
    /// Its name as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Advice => "advice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One rule of the catalogue.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// The rule's id (the file's name).
    #[serde(skip)]
    pub id: String,
    /// A title of a few words.
    pub title: String,
    /// Default severity.
    pub severity: Severity,
    /// Which family: `memory`, `job`, `lock` or `data`.
    pub family: String,
    /// What the copies have in common that make it a fault; none where one copy is enough.
    #[serde(default)]
    pub copies: Option<Per>,
    /// What goes wrong, for `lockcheck explain` (Markdown).
    pub explain: String,
    /// When it is not a fault.
    pub not_when: String,
    /// The cure in one sentence.
    pub help: String,
    /// The cure where no unique key could decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help_keyless: Option<String>,
    /// A wrong example.
    pub bad: String,
    /// The same, cured.
    pub good: String,
}
