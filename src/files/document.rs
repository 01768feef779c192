//! A file that is not program text but says something about it: deployment, settings, schema.
//! It must not know how to read what it says.

use super::LineIndex;

/// Names and endings of the files that become documents.
const NAMES: &[&str] = &[
    "Procfile",
    "Dockerfile",
    "package.json",
    "pyproject.toml",
    "Cargo.toml",
    "requirements.txt",
    "fly.toml",
    "app.json",
    "nest-cli.json",
    "ecosystem.config.json",
];
/// Those of them that describe a package, in its folder.
const PACKAGES: &[&str] = &["package.json", "Cargo.toml", "pyproject.toml"];
const ENDINGS: &[&str] = &[".yaml", ".yml", ".prisma", ".tf", ".hcl", ".properties", ".ini", ".cfg", ".service", ".dockerfile"];

/// A readable file in no known language.
#[derive(Debug, Clone)]
pub struct Document {
    /// Path relative to the scanned root, with `/` between its parts.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Where its lines begin.
    pub lines: LineIndex,
}

impl Document {
    /// The folder of the package that this describes; `None` where it describes none.
    pub fn package(&self) -> Option<&str> {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        PACKAGES.contains(&name).then_some(folder)
    }

    /// Whether a file of this name is read as a document.
    pub fn is_one(name: &str) -> bool {
        NAMES.contains(&name)
            || name.starts_with("Dockerfile.")
            || ENDINGS.iter().any(|ending| name.ends_with(ending))
            || name.ends_with(".json") && (name.contains("tsconfig") || name.contains("jsconfig"))
    }

    /// A document from its parts.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Document {
        let text = text.into();
        let lines = LineIndex::new(&text);
        Document { path: path.into(), text, lines }
    }

    /// The text of line `line` (from 1), without its line end; empty past the end.
    pub fn line_text(&self, line: u32) -> &str {
        self.lines.line_of(&self.text, line)
    }
}
