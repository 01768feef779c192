//! [`Statement`]: one form for SQL text, query builders, ORM calls and dirty saves.

use super::columns::plain_conditions;
use super::filled::{filled, plain_assignments};
use crate::facts::Value;
use crate::files::Atom;

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Reads rows.
    Select,
    /// Adds rows.
    Insert,
    /// Changes rows.
    Update,
    /// Adds or changes rows.
    Upsert,
    /// Removes rows.
    Delete,
    /// Takes a lock the session holds.
    SessionLock,
    /// Frees it.
    SessionUnlock,
    /// Takes a lock the transaction holds.
    TransactionLock,
    /// Opens a transaction.
    Begin,
    /// Ends it.
    Commit,
    /// Undoes it.
    Rollback,
    /// Writes what changed on loaded entities.
    Save,
    /// Anything else.
    Other,
}

/// A column with what it is compared with or set to.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name, lower case, without its table.
    pub name: String,
    /// How the value relates to it.
    pub kind: ColumnKind,
    /// The value, where one is visible.
    pub value: Value,
}

/// How a column is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// Compared for equality (in a condition), or set to a value.
    Equal,
    /// Compared otherwise: `<`, `IS NULL`, `IN`.
    Compared,
    /// Set from its own old value: `n = n + 1`.
    Relative,
    /// Set to, or compared with, a constant.
    Constant,
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What it does.
    pub op: Op,
    /// The table, as [`table_key`] gives it.
    pub table: Option<String>,
    /// Columns it sets.
    pub sets: Vec<Column>,
    /// Columns its condition names.
    pub wheres: Vec<Column>,
    /// Conditions that are handed to the function and cannot be read in it.
    pub handed: Vec<Value>,
    /// Objects whose entries it sets, which are handed to the function and cannot be read in it.
    pub filled: Vec<Value>,
    /// A conflict with a unique key is dealt with (ON CONFLICT, IGNORE, upsert).
    pub conflict: bool,
    /// What it says of conflicts holds only where a unique key makes one: it looks first and then adds.
    pub keyed: bool,
    /// Its conditions are alternatives, one of which is enough.
    pub either: bool,
    /// It is given a condition, whether or not its columns can be read.
    pub restricted: bool,
    /// It locks the rows it reads.
    pub row_lock: bool,
    /// It gives rows back (RETURNING).
    pub returning: bool,
    /// It counts, or asks whether rows exist.
    pub counts: bool,
    /// It reads the greatest value of a column.
    pub max: bool,
    /// It does not wait for a lock.
    pub tries: bool,
    /// It reads rows in an order.
    pub ordered: bool,
    /// The lock it asks for lasts only inside a transaction, and it is given none.
    pub unheld: bool,
    /// The lock it asks for lasts only inside a transaction, which goes along unseen.
    pub implicit: bool,
    /// A builder's steps, and nothing in sight that runs them.
    pub built: bool,
    /// Its condition is decided by another read inside it (`NOT EXISTS (select ...)`).
    pub subquery: bool,
    /// The entity it writes, for ORMs.
    pub entity: Option<Value>,
    /// The only columns a save writes, where it says so.
    pub only: Option<Vec<String>>,
    /// A save writes every column of the row, changed or not.
    pub whole: bool,
    /// False where the receiver was taken by its looks.
    pub sure: bool,
    /// The library that runs it, where a pack knows it.
    pub library: Option<Atom>,
}

impl Statement {
    /// A statement that names nothing yet.
    pub fn new(op: Op) -> Statement {
        Statement {
            op,
            table: None,
            sets: vec![],
            wheres: vec![],
            handed: vec![],
            filled: vec![],
            conflict: false,
            keyed: false,
            either: false,
            restricted: false,
            row_lock: false,
            returning: false,
            counts: false,
            max: false,
            tries: false,
            ordered: false,
            unheld: false,
            implicit: false,
            built: false,
            subquery: false,
            entity: None,
            only: None,
            whole: false,
            sure: true,
            library: None,
        }
    }

    /// The same statement, with the values in it replaced for which `new` gives another.
    pub fn map(&self, new: &dyn Fn(&Value) -> Option<Value>) -> Statement {
        let mut mapped = self.clone();
        let columns = mapped.sets.iter_mut().chain(&mut mapped.wheres).map(|column| &mut column.value);
        for value in columns.chain(&mut mapped.entity) {
            if let Some(other) = new(value) {
                *value = other;
            }
        }
        for handed in std::mem::take(&mut mapped.handed) {
            let value = new(&handed).unwrap_or(handed);
            match &value {
                Value::Object(..) => mapped.wheres.extend(plain_conditions(&value)),
                Value::Param(..) | Value::Member(..) | Value::Captured(..) => mapped.handed.push(value),
                _ => {}
            }
        }
        for given in std::mem::take(&mut mapped.filled) {
            let value = new(&given).unwrap_or(given);
            let known = |column: &Column| mapped.sets.iter().any(|set| set.name == column.name);
            let sets: Vec<Column> = plain_assignments(&value).into_iter().filter(|column| !known(column)).collect();
            mapped.sets.extend(sets);
            mapped.filled.extend(filled(&value));
        }
        mapped
    }

    /// Whether it changes rows.
    pub fn writes(&self) -> bool {
        matches!(self.op, Op::Insert | Op::Update | Op::Upsert | Op::Delete | Op::Save)
    }

    /// A condition on one of the columns it sets, or on a version: the write decides for itself.
    pub fn conditional(&self) -> bool {
        // One of several keys names the row, and asks nothing of its state.
        let asks = |column: &Column| column.kind == ColumnKind::Compared && !matches!(column.name.as_str(), "id" | "pk" | "_id");
        let claims =
            |column: &Column| self.sets.iter().any(|set| set.name == column.name) || is_version(&column.name) || asks(column);
        self.subquery || self.wheres.iter().any(claims)
    }
}

/// Whether a column's name says that it counts versions or grants.
pub fn is_version(name: &str) -> bool {
    matches!(
        name,
        "version"
            | "lock_version"
            | "lockversion"
            | "row_version"
            | "rowversion"
            | "etag"
            | "revision"
            | "fence"
            | "fencing_token"
            | "fencingtoken"
            | "__v"
            | "xmin"
    )
}

/// A table's or model's name in the form in which they are compared: `password_reset_tokens`, `PasswordResetToken` and
/// `public.password_reset_token` are one.
pub fn table_key(name: &str) -> String {
    let last = name.trim_matches(['"', '`', '[', ']']).rsplit(['.', ':']).next().unwrap_or(name);
    let mut key: String =
        last.trim_end_matches("()").chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    for (plural, singular) in [("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("s", "")] {
        if key.len() > plural.len() + 1 && key.ends_with(plural) && !key.ends_with("ss") {
            key.truncate(key.len() - plural.len());
            key.push_str(singular);
            break;
        }
    }
    key
}

/// A column's name in the form in which they are compared: `usedAt`, `UsedAt` and `used_at` are one.
pub fn column_key(name: &str) -> String {
    name.trim_matches(['"', '`', '[', ']'])
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_models_meet() {
        assert_eq!(table_key("password_reset_tokens"), table_key("PasswordResetToken"));
        assert_eq!(table_key("public.addresses"), table_key("Address"));
        assert_eq!(table_key("\"Stories\""), table_key("story"));
    }
}
