//! SQL text to [`Statement`]s. It must not know which client runs the text.

use std::ops::ControlFlow;

use sqlparser::ast::{
    self, AssignmentTarget, BinaryOperator, Expr, FromTable, FunctionArguments, ObjectName, Query, SelectItem, SetExpr,
    TableFactor, TableObject, TableWithJoins,
};
use sqlparser::dialect::{Dialect, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

use super::sql_text::{HOLE, looks_like_sql, skip_comments, with_holes, without_placeholders};
use super::statement::{Column, ColumnKind, Op, Statement, column_key, is_version, table_key};
use crate::facts::Value;
use crate::rules::{FunctionKind, Idioms};

/// The statements of an SQL text; empty where it is not SQL or cannot be read.
pub fn statements(text: &Value, values: Option<&Value>, idioms: &Idioms) -> Vec<Statement> {
    let mut holes = vec![];
    let Some(raw) = with_holes(text, &mut holes) else { return vec![] };
    if !looks_like_sql(&raw) {
        return vec![];
    }
    let params = Params { holes, values: values.cloned().unwrap_or_default() };
    let text = without_placeholders(&raw);
    match parse(&text) {
        Some(parsed) => parsed.iter().map(|statement| params.statement(statement, &raw, idioms)).collect(),
        None => by_words(&raw, idioms).into_iter().collect(),
    }
}

/// Parses with the first dialect that can.
pub(super) fn parse(text: &str) -> Option<Vec<ast::Statement>> {
    let dialects: [&dyn Dialect; 4] = [&PostgreSqlDialect {}, &GenericDialect {}, &MySqlDialect {}, &SQLiteDialect {}];
    dialects.iter().find_map(|dialect| Parser::parse_sql(*dialect, text).ok())
}

/// The columns a condition names, without placeholders.
pub(super) fn conditions(expr: &Expr) -> Vec<Column> {
    let mut statement = Statement::new(Op::Select);
    Params { holes: vec![], values: Value::Unknown }.wheres(expr, &mut statement, &mut 0);
    statement.wheres
}

/// What can be told of SQL that does not parse.
fn by_words(text: &str, idioms: &Idioms) -> Option<Statement> {
    let lower = skip_comments(text).to_lowercase();
    let op = match lower.split_whitespace().next()? {
        "begin" | "start" => Op::Begin,
        "commit" | "end" => Op::Commit,
        "rollback" => Op::Rollback,
        "select" => Op::Select,
        "insert" | "replace" => Op::Insert,
        "update" => Op::Update,
        "delete" => Op::Delete,
        _ => Op::Other,
    };
    let mut statement = Statement::new(op);
    statement.table = into(&lower);
    statement.row_lock = lower.contains("for update");
    statement.ordered = lower.contains("order by");
    statement.tries = lower.contains("skip locked");
    statement.conflict = lower.contains("on conflict") || lower.contains("on duplicate key") || lower.contains("insert ignore");
    // Cassandra's condition on an insert stands behind its values.
    statement.conflict |= op == Op::Insert && lower.contains("if not exists");
    statement.returning = lower.contains("returning");
    statement.sure = false;
    statement.restricted = true;
    lock_of(&mut statement, &lower, idioms);
    Some(statement)
}

/// The table that a piece of an insert names (`insert into seats (row, place) `).
fn into(lower: &str) -> Option<String> {
    let mut words = lower.split(|letter: char| letter.is_whitespace() || letter == '(').filter(|word| !word.is_empty());
    words.by_ref().take(4).find(|word| *word == "into")?;
    words.next().map(|name| super::statement::table_key(name.trim_matches(['"', '`'])))
}

/// A statement that is only a lock's function, taken for that.
pub(super) fn lock_of(statement: &mut Statement, text: &str, idioms: &Idioms) {
    if let Some(function) = idioms.lock_function(text) {
        statement.op = match function.is {
            FunctionKind::SessionLock => Op::SessionLock,
            FunctionKind::SessionUnlock => Op::SessionUnlock,
            FunctionKind::TransactionLock => Op::TransactionLock,
            FunctionKind::Other => statement.op,
        };
        statement.tries = function.tries;
    }
}

struct Params {
    holes: Vec<Value>,
    values: Value,
}

impl Params {
    fn statement(&self, parsed: &ast::Statement, text: &str, idioms: &Idioms) -> Statement {
        let mut next = 0;
        match parsed {
            ast::Statement::Insert(insert) => {
                let mut statement = Statement::new(if insert.replace_into { Op::Upsert } else { Op::Insert });
                if let TableObject::TableName(name) = &insert.table {
                    statement.table = self.table(name);
                }
                statement.conflict = insert.on.is_some() || insert.ignore || insert.or.is_some();
                if matches!(&insert.on, Some(ast::OnInsert::DuplicateKeyUpdate(_)))
                    || matches!(&insert.on, Some(ast::OnInsert::OnConflict(conflict)) if matches!(conflict.action, ast::OnConflictAction::DoUpdate(_)))
                {
                    statement.op = Op::Upsert;
                }
                if let Some(ast::OnInsert::OnConflict(conflict)) = &insert.on
                    && let ast::OnConflictAction::DoUpdate(update) = &conflict.action
                    && let Some(selection) = &update.selection
                {
                    self.wheres(selection, &mut statement, &mut next);
                }
                statement.returning = insert.returning.is_some();
                let row = insert.source.as_deref().and_then(first_row);
                for (index, column) in insert.columns.iter().enumerate() {
                    let value = row.and_then(|row| row.get(index)).map_or(Value::Unknown, |expr| self.value(expr, &mut next));
                    statement.sets.push(Column { name: column_key(&last_part(column)), kind: kind_of(&value), value });
                }
                let own = statement.table.clone();
                statement.subquery =
                    insert.source.as_deref().is_some_and(|source| row.is_none() && self.guards(source, own.as_deref()));
                statement
            }
            ast::Statement::Update(update) => {
                let mut statement = Statement::new(Op::Update);
                statement.table = self.table_of(&update.table);
                for assignment in &update.assignments {
                    let names = match &assignment.target {
                        AssignmentTarget::ColumnName(name) => vec![last_part(name)],
                        AssignmentTarget::Tuple(names) => names.iter().map(last_part).collect(),
                    };
                    for name in names {
                        let key = column_key(&name);
                        let relative = mentions(&assignment.value, &key) && !is_version(&name);
                        let value = self.value(&assignment.value, &mut next);
                        let kind = if relative || (is_version(&name) && mentions(&assignment.value, &key)) {
                            ColumnKind::Relative
                        } else {
                            kind_of(&value)
                        };
                        statement.sets.push(Column { name: key, kind, value });
                    }
                }
                if let Some(selection) = &update.selection {
                    self.wheres(selection, &mut statement, &mut next);
                }
                statement.returning = update.returning.is_some();
                statement
            }
            ast::Statement::Delete(delete) => {
                let mut statement = Statement::new(Op::Delete);
                let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
                statement.table = tables.first().and_then(|table| self.table_of(table));
                if let Some(selection) = &delete.selection {
                    self.wheres(selection, &mut statement, &mut next);
                }
                statement.returning = delete.returning.is_some();
                statement
            }
            ast::Statement::Query(query) => self.query(query, text, idioms, &mut next),
            ast::Statement::StartTransaction { .. } => Statement::new(Op::Begin),
            ast::Statement::Commit { .. } => Statement::new(Op::Commit),
            ast::Statement::Rollback { .. } => Statement::new(Op::Rollback),
            _ => {
                let mut statement = Statement::new(Op::Other);
                lock_of(&mut statement, text, idioms);
                statement
            }
        }
    }

    fn query(&self, query: &Query, text: &str, idioms: &Idioms, next: &mut usize) -> Statement {
        // A data-changing statement in WITH is the statement that matters.
        let changing = query.with.iter().flat_map(|with| &with.cte_tables).find_map(|cte| match &*cte.query.body {
            SetExpr::Update(inner) | SetExpr::Insert(inner) | SetExpr::Delete(inner) => Some(inner),
            _ => None,
        });
        let body = match &*query.body {
            SetExpr::Update(inner) | SetExpr::Insert(inner) | SetExpr::Delete(inner) => Some(inner),
            _ => None,
        };
        if let Some(inner) = changing.or(body) {
            let mut statement = self.statement(inner, text, idioms);
            statement.subquery |= query.with.is_some();
            statement.returning = true;
            return statement;
        }
        let mut statement = Statement::new(Op::Select);
        statement.row_lock = !query.locks.is_empty();
        statement.ordered = query.order_by.is_some();
        statement.tries = query.locks.iter().any(|lock| matches!(lock.nonblock, Some(ast::NonBlock::SkipLocked)));
        if let SetExpr::Select(select) = &*query.body {
            statement.table = select.from.first().and_then(|table| self.table_of(table));
            for item in &select.projection {
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                    && let Some(name) = function_name(expr)
                {
                    statement.counts |= matches!(name.as_str(), "count" | "sum");
                    statement.max |= name == "max";
                }
                if let SelectItem::UnnamedExpr(Expr::Exists { subquery, .. })
                | SelectItem::ExprWithAlias { expr: Expr::Exists { subquery, .. }, .. } = item
                {
                    // Asked of the subquery's table.
                    let asked = self.query(subquery, text, idioms, next);
                    statement.table = statement.table.or(asked.table);
                    statement.restricted |= asked.restricted;
                    statement.wheres.extend(asked.wheres);
                    statement.counts = true;
                }
            }
            statement.restricted |= select.having.is_some() || select.from.iter().any(|table| !table.joins.is_empty());
            if let Some(selection) = &select.selection {
                statement.restricted = true;
                self.wheres(selection, &mut statement, next);
            }
        }
        lock_of(&mut statement, text, idioms);
        statement
    }

    /// Whether `INSERT ... SELECT` asks about the table it adds to: by a subquery in its condition, or by selecting from it.
    fn guards(&self, source: &Query, own: Option<&str>) -> bool {
        let SetExpr::Select(select) = &*source.body else { return false };
        let from_own = select.from.iter().any(|table| self.table_of(table).as_deref() == own);
        let asks = select.selection.as_ref().is_some_and(|selection| {
            ast::visit_expressions(selection, |inner| match inner {
                Expr::Exists { .. } | Expr::Subquery(_) | Expr::In { target: ast::InTarget::Subquery(_), .. } => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            })
            .is_break()
        });
        from_own || asks
    }

    /// A table by its name; which one a value put into the text names is known of constants only.
    fn table(&self, name: &ObjectName) -> Option<String> {
        let last = last_part(name);
        match last.strip_prefix(HOLE).and_then(|index| index.parse::<usize>().ok()).and_then(|index| self.holes.get(index)) {
            Some(value) => value.text().map(|text| table_key(&text)),
            None => Some(table_key(&last)),
        }
    }

    fn table_of(&self, table: &TableWithJoins) -> Option<String> {
        match &table.relation {
            TableFactor::Table { name, .. } => self.table(name),
            _ => None,
        }
    }

    fn wheres(&self, expr: &Expr, statement: &mut Statement, next: &mut usize) {
        match expr {
            Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
                statement.either |= *op == BinaryOperator::Or;
                self.wheres(left, statement, next);
                self.wheres(right, statement, next);
            }
            Expr::Nested(inner) => self.wheres(inner, statement, next),
            Expr::UnaryOp { expr, .. } => self.wheres(expr, statement, next),
            Expr::Exists { .. } => statement.subquery = true,
            Expr::BinaryOp { left, op, right } => {
                let (column, other) = match (column_of(left), column_of(right)) {
                    (Some(name), _) => (name, right),
                    (None, Some(name)) => (name, left),
                    (None, None) => {
                        self.value(left, next);
                        self.value(right, next);
                        return;
                    }
                };
                let value = self.value(other, next);
                let kind = match op {
                    BinaryOperator::Eq => kind_of(&value),
                    _ => ColumnKind::Compared,
                };
                statement.wheres.push(Column { name: column_key(&column), kind, value });
            }
            // Rows that have a value: the opposite of free.
            Expr::IsNotNull(inner) => {
                if let Some(name) = column_of(inner) {
                    statement.wheres.push(Column { name: column_key(&name), kind: ColumnKind::Compared, value: Value::Unknown });
                }
            }
            Expr::IsNull(inner) | Expr::IsTrue(inner) | Expr::IsFalse(inner) | Expr::IsNotTrue(inner) => {
                if let Some(name) = column_of(inner) {
                    statement.wheres.push(Column { name: column_key(&name), kind: ColumnKind::Compared, value: Value::Null });
                }
            }
            Expr::In { expr, target, .. } => {
                let value = match target {
                    ast::InTarget::List(list) => Value::List(list.iter().map(|item| self.value(item, next)).collect()),
                    ast::InTarget::Subquery(_) => {
                        statement.subquery = true;
                        Value::Unknown
                    }
                    _ => Value::Unknown,
                };
                if let Some(name) = column_of(expr) {
                    statement.wheres.push(Column { name: column_key(&name), kind: ColumnKind::Compared, value });
                }
            }
            Expr::Between { expr, low, high, .. } => {
                self.value(low, next);
                self.value(high, next);
                if let Some(name) = column_of(expr) {
                    statement.wheres.push(Column { name: column_key(&name), kind: ColumnKind::Compared, value: Value::Unknown });
                }
            }
            other => {
                if let Some(name) = column_of(other) {
                    statement.wheres.push(Column {
                        name: column_key(&name),
                        kind: ColumnKind::Constant,
                        value: Value::Bool(true),
                    });
                }
            }
        }
    }

    /// The value an expression stands for; placeholders without a number take the next one.
    fn value(&self, expr: &Expr, next: &mut usize) -> Value {
        match expr {
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => self.value(inner, next),
            Expr::Value(value) => match &value.value {
                ast::Value::Number(text, _) => text.parse().map_or(Value::Unknown, Value::Number),
                ast::Value::SingleQuotedString(text) => Value::Text(text.as_str().into()),
                ast::Value::Boolean(truth) => Value::Bool(*truth),
                ast::Value::Null => Value::Null,
                ast::Value::Placeholder(name) => self.param(name, next),
                _ => Value::Unknown,
            },
            Expr::Identifier(name) => self.hole(&name.value),
            Expr::BinaryOp { left, right, .. } => {
                let (left, right) = (self.value(left, next), self.value(right, next));
                Value::Mix([left, right].into())
            }
            Expr::Function(function) => {
                let mut parts = vec![];
                if let FunctionArguments::List(list) = &function.args {
                    for argument in &list.args {
                        if let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument {
                            parts.push(self.value(expr, next));
                        }
                    }
                }
                Value::Mix(parts.into())
            }
            _ => Value::Unknown,
        }
    }

    fn hole(&self, name: &str) -> Value {
        name.strip_prefix(HOLE)
            .and_then(|index| index.parse::<usize>().ok())
            .and_then(|index| self.holes.get(index).cloned())
            .unwrap_or(Value::Unknown)
    }

    fn param(&self, name: &str, next: &mut usize) -> Value {
        let index = match name.trim_start_matches(['$', '?', '@']).parse::<usize>() {
            Ok(number) if number > 0 => number - 1,
            _ => match name.strip_prefix([':', '@', '$']).filter(|rest| !rest.is_empty()) {
                Some(key) => return self.values.entry(key).cloned().unwrap_or(Value::Unknown),
                None => {
                    *next += 1;
                    *next - 1
                }
            },
        };
        match &self.values {
            Value::List(values) => values.get(index).cloned().unwrap_or(Value::Unknown),
            Value::Unknown => Value::Unknown,
            Value::Object(..) => Value::Unknown,
            other => Value::Mix([other.clone()].into()),
        }
    }
}

fn kind_of(value: &Value) -> ColumnKind {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => ColumnKind::Constant,
        _ => ColumnKind::Equal,
    }
}

fn first_row(query: &Query) -> Option<&Vec<Expr>> {
    match &*query.body {
        SetExpr::Values(values) => values.rows.first().map(|row| &row.content),
        _ => None,
    }
}

fn last_part(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map_or_else(String::new, |ident| ident.value.clone())
}

fn column_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) if !name.value.starts_with(HOLE) => Some(name.value.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|part| part.value.clone()),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => column_of(inner),
        Expr::Function(function) => match &function.args {
            FunctionArguments::List(list) => list.args.iter().find_map(|argument| match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => column_of(expr),
                _ => None,
            }),
            _ => None,
        },
        _ => None,
    }
}

fn function_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Function(function) => {
            let name = last_part(&function.name).to_lowercase();
            // What stands in for no value at all tells nothing of what is asked.
            let inner = match &function.args {
                ast::FunctionArguments::List(list) if matches!(name.as_str(), "coalesce" | "ifnull" | "nvl") => list.args.first(),
                _ => None,
            };
            match inner {
                Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(inner))) => function_name(inner).or(Some(name)),
                _ => Some(name),
            }
        }
        Expr::BinaryOp { left, right, .. } => function_name(left).or_else(|| function_name(right)),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => function_name(inner),
        _ => None,
    }
}

/// Whether an expression names a column.
fn mentions(expr: &Expr, column: &str) -> bool {
    let found = ast::visit_expressions(expr, |inner| {
        if column_of_name(inner).is_some_and(|name| column_key(&name) == column) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    found.is_break()
}

fn column_of_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|part| part.value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Statement {
        statements(&Value::Text(text.into()), None, &Idioms::default()).remove(0)
    }

    #[test]
    fn a_claim_names_the_column_it_sets() {
        let statement = one("UPDATE coupons SET redeemed_by = $1 WHERE code = $2 AND redeemed_by IS NULL");
        assert_eq!(statement.op, Op::Update);
        assert_eq!(statement.table.as_deref(), Some("coupon"));
        assert!(statement.conditional());
        assert!(!one("UPDATE coupons SET redeemed_by = $1 WHERE code = $2").conditional());
    }

    #[test]
    fn relative_writes_are_told_from_absolute_ones() {
        assert_eq!(one("UPDATE a SET n = n + ? WHERE id = ?").sets[0].kind, ColumnKind::Relative);
        assert_eq!(one("UPDATE a SET n = ? WHERE id = ?").sets[0].kind, ColumnKind::Equal);
    }

    #[test]
    fn conflicts_and_locks_are_seen() {
        assert!(one("INSERT INTO a (id) VALUES (%s) ON CONFLICT DO NOTHING RETURNING id").conflict);
        assert!(one("SELECT * FROM a WHERE id = $1 FOR UPDATE SKIP LOCKED").row_lock);
    }

    #[test]
    fn a_question_is_asked_of_the_inner_table() {
        let statement = one("SELECT EXISTS (SELECT 1 FROM redemptions WHERE code = ?1)");
        assert_eq!((statement.op, statement.table.as_deref(), statement.counts), (Op::Select, Some("redemption"), true));
        assert_eq!(statement.wheres[0].name, "code");
    }
}
