//! What SQL says of tables: `CREATE TABLE`, `CREATE UNIQUE INDEX`, `ALTER TABLE`, and what is dropped again.

use sqlparser::ast::{
    self, AlterTableOperation, ColumnOption, CreateTable, IndexColumn, ObjectType, Statement as Sql, TableConstraint,
};

use super::{Key, Schema};
use crate::facts::Value;
use crate::program::sql::{conditions, parse};
use crate::program::statement::{Column, column_key};

impl Schema {
    /// Adds what an SQL text says.
    pub(super) fn add_sql(&mut self, text: &str) {
        match parse(text) {
            Some(statements) => statements.iter().for_each(|statement| self.add_statement(statement)),
            // One statement that no dialect reads does not hide the others.
            None => text.split(';').filter_map(parse).flatten().for_each(|statement| self.add_statement(&statement)),
        }
    }

    fn add_statement(&mut self, statement: &Sql) {
        match statement {
            Sql::CreateTable(table) => self.add_table(table),
            Sql::CreateIndex(index) if index.unique => {
                let mut key = columns(&index.columns);
                key.name = index.name.as_ref().map(last);
                if let Some(predicate) = &index.predicate {
                    (key.only, key.unclear) = condition(predicate);
                }
                self.add_key(&index.table_name.to_string(), key);
            }
            Sql::AlterTable(alter) => {
                let table = alter.name.to_string();
                alter.operations.iter().for_each(|operation| self.alter(&table, operation));
            }
            Sql::Drop { object_type: ObjectType::Index, names, .. } => {
                names.iter().for_each(|name| self.drop_key(None, &Key { name: Some(last(name)), ..Key::default() }));
            }
            Sql::Drop { object_type: ObjectType::Table, names, .. } => {
                names.iter().for_each(|name| *self.table(&name.to_string()) = Default::default());
            }
            _ => {}
        }
    }

    fn add_table(&mut self, table: &CreateTable) {
        let name = table.name.to_string();
        self.declare(&name);
        for column in &table.columns {
            if column.options.iter().any(|option| unique(&option.option)) {
                let mut key = Key::of([column.name.value.as_str()]);
                // What PostgreSQL calls it.
                key.name = Some(format!("{}_{}_key", last(&table.name), column.name.value));
                self.add_key(&name, key);
            }
        }
        table.constraints.iter().filter_map(constraint).for_each(|key| self.add_key(&name, key));
    }

    fn alter(&mut self, table: &str, operation: &AlterTableOperation) {
        match operation {
            AlterTableOperation::AddConstraint { constraint: added, .. } => {
                constraint(added).into_iter().for_each(|key| self.add_key(table, key));
            }
            AlterTableOperation::AddColumn { column_def, .. }
                if column_def.options.iter().any(|option| unique(&option.option)) =>
            {
                self.add_key(table, Key::of([column_def.name.value.as_str()]));
            }
            AlterTableOperation::DropConstraint { name, .. } | AlterTableOperation::DropIndex { name, .. } => {
                self.drop_key(Some(table), &Key { name: Some(name.value.clone()), ..Key::default() });
            }
            AlterTableOperation::RenameTable { table_name } => {
                let (ast::RenameTableNameKind::As(new) | ast::RenameTableNameKind::To(new)) = table_name;
                let moved = std::mem::take(self.table(table));
                *self.table(&new.to_string()) = moved;
            }
            _ => {}
        }
    }
}

fn unique(option: &ColumnOption) -> bool {
    matches!(option, ColumnOption::PrimaryKey(_) | ColumnOption::Unique(_))
}

fn constraint(constraint: &TableConstraint) -> Option<Key> {
    let (columns_of, name) = match constraint {
        TableConstraint::Unique(unique) => (&unique.columns, unique.name.as_ref().or(unique.index_name.as_ref())),
        TableConstraint::PrimaryKey(key) => (&key.columns, key.name.as_ref()),
        _ => return None,
    };
    Some(Key { name: name.map(|name| name.value.clone()), ..columns(columns_of) })
}

/// A key's columns. One over what is computed from a column (`lower(email)`) is over that column.
fn columns(columns: &[IndexColumn]) -> Key {
    let name = |column: &IndexColumn| match &column.column.expr {
        ast::Expr::Function(function) => match &function.args {
            ast::FunctionArguments::List(list) => list.args.first().map(|argument| argument.to_string()),
            _ => None,
        },
        other => Some(other.to_string()),
    };
    let names: Option<Vec<String>> = columns.iter().map(|column| name(column).map(|name| column_key(&name))).collect();
    Key { columns: names.unwrap_or_default(), ..Key::default() }
}

fn last(name: &ast::ObjectName) -> String {
    name.to_string().rsplit('.').next().unwrap_or_default().trim_matches(['"', '`', '[', ']']).to_owned()
}

/// An index's condition, and whether it cannot be read.
pub(super) fn condition(predicate: &ast::Expr) -> (Vec<Column>, bool) {
    let read = wanted(predicate);
    let unclear = read.is_empty();
    (read, unclear)
}

fn wanted(predicate: &ast::Expr) -> Vec<Column> {
    let truth = |inner: &ast::Expr, truth: bool| {
        let mut columns = wanted(inner);
        columns.retain(|column| column.value == Value::Bool(true));
        columns.iter_mut().for_each(|column| column.value = Value::Bool(truth));
        columns
    };
    match predicate {
        ast::Expr::Nested(inner) => wanted(inner),
        ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => [wanted(left), wanted(right)].concat(),
        // Either of them: what the row says of one decides nothing.
        ast::Expr::BinaryOp { op: ast::BinaryOperator::Or, .. } => vec![],
        ast::Expr::IsTrue(inner) => truth(inner, true),
        ast::Expr::IsFalse(inner) | ast::Expr::UnaryOp { op: ast::UnaryOperator::Not, expr: inner } => truth(inner, false),
        other => conditions(other),
    }
}

/// The same of a text.
pub(super) fn condition_text(text: &str) -> (Vec<Column>, bool) {
    let whole = format!("SELECT 1 FROM t WHERE {text}");
    let parsed = parse(&whole).unwrap_or_default();
    let selection = parsed.iter().find_map(|statement| match statement {
        Sql::Query(query) => match &*query.body {
            ast::SetExpr::Select(select) => select.selection.as_ref(),
            _ => None,
        },
        _ => None,
    });
    selection.map_or((vec![], true), condition)
}
