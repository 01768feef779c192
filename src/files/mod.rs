//! The only stage that reads the user's disk: it finds the files of a tree and turns them into [`Source`]s.
//! It must not know what any language means.

mod gap;
mod language;
mod source;

pub use gap::{Gap, GapKind};
pub use language::Language;
pub use source::{LineIndex, Source, Span};
