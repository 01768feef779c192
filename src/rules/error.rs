//! What is wrong with a rule file, and where in it.

use std::fmt;
use std::ops::Range;

/// A rule file that cannot be used. Its `Display` shows the place, the line and a caret under the column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The file, as a person would open it.
    pub path: String,
    /// Where in the file; `None` where the error is about all of it.
    pub spot: Option<Spot>,
    /// What is wrong and what would be right.
    pub message: String,
}

/// A place in a rule file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The text of the line.
    pub text: String,
}

impl RuleError {
    /// An error about the whole file.
    pub fn whole(path: impl Into<String>, message: impl Into<String>) -> RuleError {
        RuleError { path: path.into(), spot: None, message: message.into() }
    }

    /// An error at a byte range of the file's text.
    pub fn at(path: impl Into<String>, text: &str, range: Range<usize>, message: impl Into<String>) -> RuleError {
        RuleError { path: path.into(), spot: Some(Spot::of(text, range.start)), message: message.into() }
    }

    /// What the TOML reader found wrong.
    pub fn toml(path: impl Into<String>, text: &str, error: &toml::de::Error) -> RuleError {
        match error.span() {
            Some(range) => RuleError::at(path, text, range, error.message()),
            None => RuleError::whole(path, error.message()),
        }
    }
}

impl Spot {
    fn of(text: &str, offset: usize) -> Spot {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Spot {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            text: text[start..].lines().next().unwrap_or("").to_string(),
        }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(spot) = &self.spot else { return write!(out, "{}: {}", self.path, self.message) };
        let number = spot.line.to_string();
        let gutter = " ".repeat(number.len());
        let indent: String = spot.text.chars().take(spot.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(out, "{}:{}:{}: {}", self.path, spot.line, spot.column, self.message)?;
        writeln!(out, "{gutter} |")?;
        writeln!(out, "{number} | {}", spot.text)?;
        write!(out, "{gutter} | {indent}^")
    }
}

impl std::error::Error for RuleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_column() {
        let error = RuleError::at("rules/x.toml", "a = 1\nbé = 2\n", 12..13, "no");
        assert_eq!(error.to_string(), "rules/x.toml:2:6: no\n  |\n2 | bé = 2\n  |      ^");
    }

    #[test]
    fn the_end_of_the_text_has_a_place() {
        let error = RuleError::at("x.toml", "a = 1\n", 6..6, "no");
        assert_eq!(error.spot, Some(Spot { line: 2, column: 1, text: String::new() }));
    }
}
