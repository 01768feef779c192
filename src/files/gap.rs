//! What could not be read, parsed or resolved. A gap is data: it never stops a scan.

use serde::Serialize;

/// Why a place of the tree was not looked at, or only in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapKind {
    /// The file could not be opened or read.
    Unreadable,
    /// The file is not UTF-8.
    NotUtf8,
    /// The file is too large or was generated (minified).
    TooLarge,
    /// A symbolic link that leads back to a directory above it.
    LinkLoop,
    /// The parser met syntax it could not read; what it did read was used.
    Syntax,
    /// A name or statement could not be resolved.
    Unresolved,
    /// An inline `lockcheck: ignore` that does not say which rule or why, or names no rule; it suppresses nothing.
    Suppression,
}

/// One thing the scan could not see, with the place and a sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Gap {
    /// Path relative to the scanned root.
    pub path: String,
    /// Line, counted from 1, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The kind of gap.
    pub kind: GapKind,
    /// What was met and what it means for the result.
    pub message: String,
}
