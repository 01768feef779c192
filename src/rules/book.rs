//! The whole book of rules as the engine uses it: packs by language, idioms of the stores, verbs.

use std::collections::HashMap;

use super::{Idioms, Packs, Verbs};
use crate::files::Language;

/// Everything the engine knows of libraries.
#[derive(Debug, Default)]
pub struct Rulebook {
    /// Packs by language.
    pub packs: HashMap<Language, Packs>,
    /// Commands, scripts and functions in strings.
    pub idioms: Idioms,
    /// What unresolved names presume.
    pub verbs: Verbs,
}
