//! What the tree's SQL says of tables: which columns are unique together.

use std::collections::HashMap;

use sqlparser::ast::{AlterTableOperation, ColumnOption, Statement as Sql, TableConstraint};

use super::sql::parse;
use super::statement::{column_key, table_key};
use crate::files::Source;

/// Unique keys by table.
#[derive(Debug, Default)]
pub struct Schema {
    unique: HashMap<String, Vec<Vec<String>>>,
    tables: usize,
}

impl Schema {
    /// Reads the SQL files of a tree.
    pub fn read<'s>(sources: impl Iterator<Item = &'s Source>) -> Schema {
        let mut schema = Schema::default();
        for source in sources {
            match parse(&source.text) {
                Some(statements) => statements.iter().for_each(|statement| schema.add(statement)),
                // One statement that no dialect reads does not hide the others.
                None => source.text.split(";\n").filter_map(parse).flatten().for_each(|statement| schema.add(&statement)),
            }
        }
        schema
    }

    /// Whether the tree has any schema at all.
    pub fn is_known(&self) -> bool {
        self.tables > 0
    }

    /// Whether the table is in the schema.
    pub fn has(&self, table: &str) -> bool {
        self.unique.contains_key(table)
    }

    /// A unique key of the table all of whose columns are among `columns`.
    pub fn unique_among(&self, table: &str, columns: &[String]) -> Option<&[String]> {
        let keys = self.unique.get(table)?;
        keys.iter().find(|key| key.iter().all(|column| columns.contains(column))).map(Vec::as_slice)
    }

    fn add(&mut self, statement: &Sql) {
        match statement {
            Sql::CreateTable(table) => {
                self.tables += 1;
                let name = table_key(&table.name.to_string());
                let keys = self.unique.entry(name).or_default();
                for column in &table.columns {
                    let unique = column
                        .options
                        .iter()
                        .any(|option| matches!(option.option, ColumnOption::PrimaryKey(_) | ColumnOption::Unique(_)));
                    if unique {
                        keys.push(vec![column_key(&column.name.value)]);
                    }
                }
                keys.extend(table.constraints.iter().filter_map(constraint));
            }
            Sql::CreateIndex(index) if index.unique => {
                let columns = index.columns.iter().map(|column| column_key(&column.column.expr.to_string())).collect();
                self.unique.entry(table_key(&index.table_name.to_string())).or_default().push(columns);
            }
            Sql::AlterTable(alter) => {
                let keys = self.unique.entry(table_key(&alter.name.to_string())).or_default();
                for operation in &alter.operations {
                    if let AlterTableOperation::AddConstraint { constraint: added, .. } = operation {
                        keys.extend(constraint(added));
                    }
                }
            }
            _ => {}
        }
    }
}

fn constraint(constraint: &TableConstraint) -> Option<Vec<String>> {
    let columns = match constraint {
        TableConstraint::Unique(unique) => &unique.columns,
        TableConstraint::PrimaryKey(key) => &key.columns,
        _ => return None,
    };
    Some(columns.iter().map(|column| column_key(&column.column.expr.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Language;

    #[test]
    fn keys_of_tables_constraints_and_indexes_are_found() {
        let text = "CREATE TABLE coupons (code text PRIMARY KEY, n int);\nCREATE TABLE uses (id int, code text, who text, UNIQUE (code, who));\n\
                    CREATE UNIQUE INDEX u ON uses (id);";
        let source = Source::new("a.sql", Language::Sql, text);
        let schema = Schema::read([&source].into_iter());
        assert!(schema.unique_among("coupon", &["code".into()]).is_some());
        assert!(schema.unique_among("use", &["code".into()]).is_none());
        assert!(schema.unique_among("use", &["code".into(), "who".into()]).is_some());
        assert!(schema.unique_among("use", &["id".into()]).is_some());
    }
}
