//! The only stage that reads the user's disk: it finds the files of a tree and turns them into [`Source`]s.
//! It must not know what any language means.

mod atom;
mod document;
mod gap;
mod language;
mod pattern;
mod source;
mod text;
mod walk;

pub use atom::Atom;
pub use document::Document;
pub use gap::{Gap, GapKind};
pub use language::Language;
pub use pattern::{glob, name_fits};
pub use source::{LineIndex, Source, Span};
pub use walk::{Tree, TreeError, WalkOptions, read_tree};
