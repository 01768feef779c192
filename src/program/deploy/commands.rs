//! How many processes a command line starts, by the rows of the programs it names.

use super::number::{Number, number};
use crate::rules::{DeployRules, Per};
use crate::syntax::data::Word;

/// A number of processes that a command line asks for.
pub(super) struct Asked {
    /// The number.
    pub number: Number,
    /// What the processes share.
    pub per: Per,
    /// There may be more, so that one says nothing.
    pub least: bool,
    /// The line of the number.
    pub line: u32,
}

/// All numbers that some words ask for.
pub(super) fn asked(rules: &DeployRules, words: &[Word], variable: &dyn Fn(&str) -> Option<String>) -> Vec<Asked> {
    let mut found = vec![];
    for row in &rules.commands {
        for (at, word) in words.iter().enumerate() {
            let name = word.text.rsplit('/').next().unwrap_or(&word.text);
            if !row.programs.iter().any(|program| program == name) {
                continue;
            }
            // Up to the next command of the line.
            let rest = &words[at + 1..];
            let end =
                rest.iter().position(|word| matches!(word.text.as_str(), "&&" | "||" | ";" | "|" | "&")).unwrap_or(rest.len());
            let rest = &rest[..end];
            let option = row.options.iter().find_map(|option| option_value(rest, option));
            let (text, line) = match (option, &row.variable) {
                (Some((text, line)), _) => (Some(text), line),
                (None, Some(name)) => (variable(name), word.line),
                (None, None) => continue,
            };
            let Some((number, or_more)) = text.and_then(|text| number(&text, &rules.several, variable)) else { continue };
            found.push(Asked { number: (number, or_more), per: row.per, least: row.least, line });
        }
    }
    found
}

/// The text of an option: in the same word behind `=` or the letter, or the next word; of `name=number` the number.
fn option_value(words: &[Word], option: &str) -> Option<(String, u32)> {
    let parts: Vec<&str> = option.split(' ').collect();
    let value = |text: &str| text.rsplit_once('=').map_or(text, |(_, number)| number).to_owned();
    for (at, word) in words.iter().enumerate() {
        let in_row =
            || parts.iter().enumerate().all(|(index, part)| words.get(at + index).is_some_and(|word| word.text == *part));
        if in_row() {
            let next = words.get(at + parts.len())?;
            return Some((value(&next.text), next.line));
        }
        if let Some(rest) = word.text.strip_prefix(option) {
            let short = !option.starts_with("--")
                && option.starts_with('-')
                && rest.starts_with(|c: char| c.is_ascii_digit() || c == '$');
            if rest.starts_with('=') || short {
                return Some((value(rest), word.line));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{RuleSet, Rulebook};
    use crate::syntax::data::{Node, words_of};

    fn of(line: &str) -> Vec<(u32, bool)> {
        let book = Rulebook::load(&RuleSet::builtin()).unwrap();
        let words = words_of(&Node::text_at(1, line));
        asked(&book.deploy, &words, &|name| (name == "WEB_CONCURRENCY").then(|| "5".into()))
            .iter()
            .map(|asked| asked.number)
            .collect()
    }

    #[test]
    fn options_are_read_in_every_form() {
        for line in
            ["gunicorn -w 4 a:app", "gunicorn -w4 a", "exec /usr/bin/gunicorn --workers=4 a", "python -m gunicorn --workers 4"]
        {
            assert_eq!(of(line), [(4, false)], "{line}");
        }
        assert_eq!(of("gunicorn a:app"), [(5, false)]);
        assert_eq!(of("pm2-runtime start a.js -i max"), [(2, true)]);
        assert_eq!(of("docker compose up -d --scale api=3"), [(3, false)]);
        assert_eq!(of("fly scale count 2 && gunicorn a"), [(5, false), (2, false)]);
        assert_eq!(of("python -w 4"), []);
    }
}
