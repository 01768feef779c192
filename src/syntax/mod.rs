//! From text to [`Unit`]: one file at a time, never failing (what cannot be read becomes a gap).
//! It must not know any library's name.

pub mod data;
mod javascript;
mod print;
mod python;
mod rust;
mod shape;
mod unit;

pub use print::print;
pub use shape::Shape;
pub use unit::*;

use crate::files::{Language, Source};

/// How one language is read.
pub struct Frontend {
    /// The language.
    pub language: Language,
    /// Lowers one file.
    pub parse: fn(&Source) -> Unit,
}

/// The one list of languages that are parsed.
pub const FRONTENDS: &[Frontend] = &[javascript::FRONTEND, python::FRONTEND, rust::FRONTEND];

/// Whether there is program text in files of a language (there is none in SQL).
pub fn reads(language: Language) -> bool {
    FRONTENDS.iter().any(|frontend| frontend.language == language)
}

/// The unit of a source; `None` where its language has no program text (SQL).
pub fn parse(source: &Source) -> Option<Unit> {
    FRONTENDS.iter().find(|frontend| frontend.language == source.language).map(|frontend| (frontend.parse)(source))
}

/// Whether a name is one that lowering gave to what has none of its own: `$1`.
pub fn is_temporary(name: &str) -> bool {
    name.strip_prefix('$').is_some_and(|number| !number.is_empty() && number.bytes().all(|letter| letter.is_ascii_digit()))
}

/// Whether the key of an [`ExprKind::Object`]'s entry is computed: `[]`, or `[name]` where a member's name says it.
pub fn is_computed(key: &str) -> bool {
    key.starts_with('[')
}
