//! What a tree says of its tables: unique and primary keys, and columns that count versions. Read from SQL, from schema files
//! and from models in code. It must not know what a library's names mean: that is in packs.

mod built;
mod chain;
mod classes;
mod code;
mod handed;
mod prisma;
mod sql;
mod turns;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

pub use code::Declaration;

use super::ClassRef;
use super::statement::{Column, ColumnKind, column_key, is_version, table_key};
use super::tree::Tree;
use crate::facts::Value;
use crate::files::{Document, Language, Source};
use crate::rules::TableWords;

/// A unique key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Key {
    /// Its columns, as [`column_key`] gives them.
    pub columns: Vec<String>,
    /// What a row must satisfy for the key to speak of it; empty for all rows.
    pub only: Vec<Column>,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its condition is there and cannot be read.
    pub unclear: bool,
}

impl Key {
    /// A key over columns as they are written.
    pub fn of<'c>(columns: impl IntoIterator<Item = &'c str>) -> Key {
        Key { columns: columns.into_iter().map(column_key).collect(), ..Key::default() }
    }

    /// Whether the key speaks of a row with these columns: false only where the row's own values say that it does not.
    pub fn speaks_of(&self, row: &[Column]) -> bool {
        self.only.iter().all(|wanted| {
            let value = row.iter().find(|column| column.name == wanted.name).map(|column| &column.value);
            match (wanted.kind, value) {
                // `IS NULL`: a column that is not given is null.
                (ColumnKind::Compared, Some(given)) if wanted.value == Value::Null => {
                    !matches!(given, Value::Bool(_) | Value::Number(_) | Value::Text(_))
                }
                (ColumnKind::Compared, given) if wanted.value == Value::Unknown => !matches!(given, None | Some(Value::Null)),
                (ColumnKind::Constant | ColumnKind::Equal, Some(given)) => {
                    let constant = matches!(given, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_));
                    !constant || *given == wanted.value
                }
                _ => true,
            }
        })
    }
}

/// What is known of one table.
#[derive(Debug, Default)]
pub struct Table {
    keys: Vec<Key>,
    version: Option<String>,
    /// Attributes of its models that are other rows.
    relations: BTreeSet<String>,
    /// Its columns, where a model in code names them.
    columns: BTreeSet<String>,
    /// Columns that every new row has to be given.
    required: BTreeSet<String>,
    /// Columns that are never null.
    filled: BTreeSet<String>,
    /// Its columns are declared, so that a key which is not here is nowhere.
    declared: bool,
    /// Every save of its model gives the row one and the same primary key.
    single: bool,
}

/// Tables by name.
#[derive(Debug, Default)]
pub struct Schema {
    tables: BTreeMap<String, Table>,
    /// Names of models, with the tables they stand for.
    models: BTreeMap<String, BTreeSet<String>>,
    plurals: Vec<(String, String)>,
    /// Attributes that are other rows, of any model.
    relations: BTreeSet<String>,
    /// Attributes that are columns, of any model.
    plain: BTreeSet<String>,
    implied: Vec<String>,
    /// Classes that declare keys over columns which only come out when they run.
    worked_out: HashSet<ClassRef>,
}

impl Schema {
    /// Reads all that says something of tables.
    pub fn read<'s>(sources: impl Iterator<Item = &'s Source>, documents: &[Document], tree: &Tree) -> Schema {
        let words = &tree.book.tables;
        let mut schema = Schema::new(words);
        let sql = sources.filter(|source| source.language == Language::Sql && !words.undoes_file(&source.path));
        sql.for_each(|source| schema.add_sql(&source.text));
        documents
            .iter()
            .filter(|document| document.path.ends_with(".prisma"))
            .for_each(|document| schema.add_models(&document.text));
        schema.add_code(tree);
        schema
    }

    fn new(words: &TableWords) -> Schema {
        let plurals = words.plurals.iter().map(|(many, one)| (table_key(many), table_key(one)));
        let implied = words.keys.iter().map(|name| column_key(name)).collect();
        Schema { plurals: plurals.collect(), implied, ..Schema::default() }
    }

    /// Whether the tree has any schema at all.
    pub fn is_known(&self) -> bool {
        self.tables.values().any(|table| table.declared)
    }

    /// Whether the table's columns are in the schema.
    pub fn has(&self, table: &str) -> bool {
        self.all(table).any(|table| table.declared)
    }

    /// The table's unique keys, primary keys included.
    pub fn keys(&self, table: &str) -> Vec<&Key> {
        self.all(table).flat_map(|table| &table.keys).collect()
    }

    /// Whether a unique key of a table, or of any, holds the number of a version beside what it is a version of.
    pub fn numbers(&self, table: Option<&str>) -> bool {
        let holds = |key: &&Key| key.columns.len() > 1 && key.columns.iter().any(|column| is_version(column));
        match table {
            Some(table) => self.keys(table).iter().any(holds),
            None => self.tables.values().any(|table| table.keys.iter().any(|key| holds(&key))),
        }
    }

    /// Whether a column is a key of any table by itself.
    pub fn is_implied(&self, column: &str) -> bool {
        self.implied.iter().any(|known| known == column)
    }

    /// Whether a class declares keys of its tables over columns that only come out when it runs.
    pub fn works_out_keys(&self, class: ClassRef) -> bool {
        self.worked_out.contains(&class)
    }

    /// The column that counts the table's versions, and that every save of a loaded row compares.
    pub fn version(&self, table: &str) -> Option<&str> {
        self.all(table).find_map(|table| table.version.as_deref())
    }

    /// Whether an attribute of a record is other rows, and no column: of this table, or of whichever has one of this name.
    pub fn is_relation(&self, table: Option<&str>, column: &str) -> bool {
        // What a base of many tables does not declare is one of theirs.
        match table.filter(|table| self.has(table) && !self.leaves_out(table, column)) {
            Some(table) => self.all(table).any(|table| table.relations.contains(column)),
            None => self.relations.contains(column) && !self.plain.contains(column),
        }
    }

    /// Whether the models of a table name its columns, and none of them is this one.
    pub fn lacks(&self, table: &str, column: &str) -> bool {
        self.all(table).any(|table| table.columns.len() > 1) && self.leaves_out(table, column)
    }

    /// Whether no model of a table names a column.
    fn leaves_out(&self, table: &str, column: &str) -> bool {
        !self.all(table).any(|table| {
            table.columns.contains(column)
                || table.relations.contains(column)
                || table.required.contains(column)
                || table.keys.iter().any(|key| key.columns.iter().any(|known| known == column))
        })
    }

    /// The columns that every new row has to be given: never null, and without a value of their own.
    pub fn required(&self, table: &str) -> Vec<&str> {
        self.all(table).flat_map(|table| &table.required).map(String::as_str).collect()
    }

    /// Whether every row is told from all others by a column that is never empty: a key by itself.
    pub fn tells(&self, table: &str, column: &str) -> bool {
        let never_null = |table: &Table| table.filled.contains(column) || table.required.contains(column);
        self.is_implied(column)
            || self.all(table).any(never_null)
                && self.keys(table).iter().any(|key| key.columns == [column] && key.only.is_empty())
    }

    /// Whether the model of a table has one row, by its primary key, however often it is saved.
    pub fn is_single(&self, table: &str) -> bool {
        self.all(table).any(|table| table.single)
    }

    /// Whether two names stand for one table.
    pub fn same(&self, one: &str, other: &str) -> bool {
        one == other || !self.names(one).is_disjoint(&self.names(other))
    }

    fn all<'s>(&'s self, table: &str) -> impl Iterator<Item = &'s Table> + use<'s> {
        self.names(table).into_iter().filter_map(|name| self.tables.get(&name))
    }

    fn names(&self, table: &str) -> BTreeSet<String> {
        let one = self.singular(table);
        let mut names: BTreeSet<String> = self.models.get(&one).cloned().unwrap_or_default();
        names.insert(one);
        names
    }

    fn singular(&self, table: &str) -> String {
        let irregular = self.plurals.iter().find_map(|(many, one)| Some(format!("{}{one}", table.strip_suffix(many.as_str())?)));
        irregular.unwrap_or_else(|| table.to_owned())
    }

    fn table(&mut self, name: &str) -> &mut Table {
        let key = self.singular(&table_key(name));
        self.tables.entry(key).or_default()
    }

    fn declare(&mut self, name: &str) -> &mut Table {
        let table = self.table(name);
        table.declared = true;
        table
    }

    fn add_key(&mut self, table: &str, key: Key) {
        let keys = &mut self.table(table).keys;
        if !key.columns.is_empty() && !keys.contains(&key) {
            keys.push(key);
        }
    }

    /// Takes out keys by their name, or by their columns.
    fn drop_key(&mut self, table: Option<&str>, dropped: &Key) {
        let gone = |key: &Key| match &dropped.name {
            Some(name) => key.name.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(name)),
            None => key.columns == dropped.columns,
        };
        match table {
            Some(table) => self.table(table).keys.retain(|key| !gone(key)),
            None => self.tables.values_mut().for_each(|table| table.keys.retain(|key| !gone(key))),
        }
    }

    /// A model's name stands for a table of another name.
    fn call_it(&mut self, model: &str, table: &str) {
        let (model, table) = (self.singular(&table_key(model)), self.singular(&table_key(table)));
        self.tables.entry(table.clone()).or_default();
        if model != table {
            self.models.entry(model).or_default().insert(table);
        }
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, table) in &self.tables {
            let keys: Vec<String> =
                table.keys.iter().map(|key| key.columns.join("+") + if key.only.is_empty() { "" } else { "?" }).collect();
            let version = table.version.as_deref().map_or(String::new(), |name| format!(" version {name}"));
            writeln!(out, "table {name}{}: {}{version}", if table.declared { "" } else { " (not declared)" }, keys.join(", "))?;
        }
        self.models.iter().try_for_each(|(model, tables)| writeln!(out, "model {model}: {tables:?}"))
    }
}

#[cfg(test)]
mod tests;
