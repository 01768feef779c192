//! What comments say of copies and of races: `rules/common/comments.toml`. It must not know where a comment stands.

use serde::Deserialize;

/// Lists of words, as the file has them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommentWords {
    /// It admits that something is of one process.
    admits: Vec<String>,
    /// It speaks of two at once.
    races: Vec<String>,
    /// It accepts what comes of it.
    accepts: Vec<String>,
    /// It says that something is so on purpose.
    meant: Vec<String>,
    /// It speaks of all copies.
    everywhere: Vec<String>,
}

impl CommentWords {
    /// Whether a comment admits that something is of one process alone.
    pub fn admits(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.admits.iter().any(|words| text.contains(words.as_str()))
    }

    /// Whether a comment says that something is to be done by every copy.
    pub fn wants_everywhere(&self, text: &str) -> bool {
        let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
        let says = |words: &String| text.contains(words.as_str());
        self.meant.iter().any(says) && self.everywhere.iter().any(says)
    }

    /// Whether a comment speaks of two at once and accepts what comes of it.
    pub fn accepts(&self, text: &str) -> bool {
        let plain: Vec<String> = text.to_lowercase().split_whitespace().map(|word| word.replace('’', "'")).collect();
        let text = format!(" {} ", plain.join(" "));
        let says = |words: &String| {
            text.match_indices(words.as_str()).any(|(at, _)| {
                let border = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
                border(text[..at].chars().next_back()) && border(text[at + words.len()..].chars().next())
            })
        };
        self.races.iter().any(says) && self.accepts.iter().any(says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_is_accepted_where_both_are_said() {
        let words: CommentWords = toml::from_str(include_str!("../../rules/common/comments.toml")).unwrap();
        assert!(words.accepts("Race condition: two calls can overwrite\neach other. It's OK to\nbe inexact"));
        assert!(!words.accepts("The race is lost by who comes second"));
        assert!(!words.accepts("This is fine"));
    }
}
