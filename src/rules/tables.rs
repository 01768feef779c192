//! What names of tables, models and migrations follow by convention: `rules/common/tables.toml`.
//! It must not know any library.

use std::collections::HashMap;

use serde::Deserialize;

use super::verbs::words;

/// Lists of words, as the file has them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableWords {
    /// Endings that say what a class or variable is to a table, not which table: `OrderRepository`, `usersCollection`.
    suffixes: Vec<String>,
    /// Plurals that no ending tells, with their singular.
    pub plurals: HashMap<String, String>,
    /// Functions of a migration that take it back.
    undone: Vec<String>,
    /// Endings of the names of files that take a migration back.
    undone_files: Vec<String>,
    /// Columns that are a primary key by themselves.
    pub keys: Vec<String>,
    /// Endings of tables whose rows only note what happened.
    records: Vec<String>,
    /// First words of calls that only note what happened, and words anywhere in such names.
    notes: Vec<String>,
    /// Endings of tables whose rows are to be had once.
    once: Vec<String>,
    /// Beginnings and endings of columns and states that say that something to be had once is gone.
    taken: Vec<String>,
    /// Words of what a plan or a setting allows.
    limits: Vec<String>,
    /// Endings of columns that say who has it.
    takers: Vec<String>,
    /// Endings of tables whose rows are worked out from others, or only help to find something again.
    derived: Vec<String>,
    /// Columns that only say in which order rows are shown.
    orders: Vec<String>,
    /// Columns that only note how much somebody did.
    noted: Vec<String>,
    /// Endings of columns whose text only explains what happened.
    explains: Vec<String>,
    /// Beginnings of columns that say who put a row away, or did something last.
    left: Vec<String>,
}

impl TableWords {
    /// A name without the endings that say what it is to a table. What would leave nothing stays.
    pub fn bare<'n>(&self, name: &'n str) -> &'n str {
        let mut bare = name;
        while let Some(shorter) = self.suffixes.iter().find_map(|suffix| shortened(bare, suffix)) {
            bare = shorter;
        }
        bare
    }

    /// Whether a name says no more than what it is to a table.
    pub fn is_ending(&self, name: &str) -> bool {
        self.suffixes.iter().any(|suffix| suffix.eq_ignore_ascii_case(name))
    }

    /// Whether a table's rows only note what happened: nobody acts on them.
    pub fn is_record(&self, table: &str) -> bool {
        self.records.iter().any(|ending| table.ends_with(ending.as_str()))
    }

    /// Whether a call of this name only notes what happened.
    pub fn notes(&self, name: &str) -> bool {
        let words = words(name);
        words.iter().enumerate().any(|(at, word)| self.notes.contains(word) && (at == 0 || word.len() > 3))
    }

    /// Whether a name is one of what a plan or a setting allows, not of what there is.
    pub fn is_limit(&self, name: &str) -> bool {
        words(name).iter().any(|word| self.limits.contains(word))
    }

    /// Whether a column says who has what there is.
    pub fn says_who(&self, column: &str) -> bool {
        self.takers.iter().any(|ending| column.ends_with(ending.as_str()))
    }

    /// Whether a column says who put a row away, or who was the last to do something: nobody has it after that.
    pub fn says_who_left(&self, column: &str) -> bool {
        self.says_who(column) && self.left.iter().any(|beginning| column.starts_with(beginning.as_str()))
    }

    /// Whether the text of a column only explains what happened.
    pub fn explains(&self, column: &str) -> bool {
        self.explains.iter().any(|ending| column.ends_with(ending.as_str()))
    }

    /// Whether a table's rows are worked out from others, or only help to find something again.
    pub fn is_derived(&self, table: &str) -> bool {
        self.derived.iter().any(|ending| table.ends_with(ending.as_str()))
    }

    /// Whether a column only says in which order rows are shown.
    pub fn is_order(&self, column: &str) -> bool {
        self.orders.iter().any(|known| known == column)
    }

    /// Whether a column only notes how much somebody did.
    pub fn is_noted(&self, column: &str) -> bool {
        self.noted.iter().any(|known| known == column)
    }

    /// Whether a table's rows are to be had once.
    pub fn is_had_once(&self, table: &str) -> bool {
        self.once.iter().any(|ending| table.ends_with(ending.as_str()))
    }

    /// Whether a column's name, or the name of a state, says that something to be had once is gone.
    pub fn is_taken(&self, name: &str) -> bool {
        self.taken.iter().any(|word| name.starts_with(word.as_str()) || name.ends_with(word.as_str()))
    }

    /// Whether a function of this name takes a migration back.
    pub fn undoes(&self, function: &str) -> bool {
        self.undone.iter().any(|name| name == function)
    }

    /// Whether a file of this path takes a migration back.
    pub fn undoes_file(&self, path: &str) -> bool {
        self.undone_files.iter().any(|ending| path.ends_with(ending.as_str()))
    }
}

/// The name without an ending that stands at a word's border.
fn shortened<'n>(name: &'n str, suffix: &str) -> Option<&'n str> {
    let at = name.len().checked_sub(suffix.len()).filter(|at| *at > 0 && name.is_char_boundary(*at))?;
    let (rest, ending) = name.split_at(at);
    let border = rest.ends_with('_') || ending.starts_with(char::is_uppercase);
    let bare = rest.trim_end_matches('_');
    (ending.eq_ignore_ascii_case(suffix) && border && !bare.is_empty()).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_fall_at_the_borders_of_words() {
        let words = TableWords { suffixes: ["model", "repository"].map(String::from).to_vec(), ..TableWords::default() };
        let bare = ["OrderRepository", "order_model", "OrderModelRepository", "Remodel", "Model"].map(|name| words.bare(name));
        assert_eq!(bare, ["Order", "order", "Order", "Remodel", "Model"]);
    }
}
