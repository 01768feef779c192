//! Reports in the forms that people and programs read: pure functions from a [`Report`] to bytes.
//! They must not touch the disk or the environment, nor decide what is reported.

pub mod columns;
pub mod github;
mod inventory;
mod inventory_json;
mod json;
mod sarif;
mod text;

use std::io::{self, Write};

use crate::findings::Report;

/// A form a report can be written in.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Who reads it, in a few words.
    pub about: &'static str,
    /// Whether it has colours, to be stripped where the reader is no terminal.
    pub coloured: bool,
    /// Writes the report.
    pub write: fn(&Report, &mut dyn Write) -> io::Result<()>,
    /// Writes the inventory, so many cells wide where it is a table; `None` where the form has none.
    pub inventory: Option<WriteInventory>,
    /// A summary in Markdown, for a host that shows one beside the log.
    pub summary: Option<fn(&Report) -> String>,
}

/// Writes an inventory, in lines so many cells wide.
pub type WriteInventory = fn(&Report, u16, &mut dyn Write) -> io::Result<()>;

/// The one list of formats; the first is the default.
pub const FORMATS: &[Format] = &[
    Format {
        name: "text",
        about: "for a person at a terminal",
        coloured: true,
        write: text::write,
        inventory: Some(inventory::write),
        summary: None,
    },
    Format {
        name: "json",
        about: "for programs; carries schema_version",
        coloured: false,
        write: json::write,
        inventory: Some(|report, _, out| inventory_json::write(report, out)),
        summary: None,
    },
    Format {
        name: "github",
        about: "annotations in a GitHub workflow",
        coloured: false,
        write: github::write,
        inventory: None,
        summary: Some(github::summary),
    },
    Format {
        name: "sarif",
        about: "SARIF 2.1.0 for code scanning",
        coloured: false,
        write: sarif::write,
        inventory: None,
        summary: None,
    },
];

/// The format with this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// A count with its noun: `1 file`, `2 files`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
