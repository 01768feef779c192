//! What a statement sets by an object: by itself, and handed to the function that it stands in.

use super::columns::column;
use super::statement::{Column, ColumnKind, column_key};
use crate::facts::Value;
use crate::syntax::is_computed;

/// The objects whose entries are set and which the function was handed: the whole of it, or what is spread into it.
pub fn filled(value: &Value) -> Vec<Value> {
    let given = |value: &Value| {
        let base = if let Value::Member(of, _) = value { of } else { value };
        matches!(base, Value::Param(..) | Value::Captured(..))
    };
    match value {
        Value::Object(_, entries) => {
            let spread = entries.iter().filter(|(key, _)| matches!(&**key, "..." | "$set"));
            spread.map(|(_, value)| value).filter(|value| given(value)).cloned().collect()
        }
        other => Some(other).filter(|value| given(value)).cloned().into_iter().collect(),
    }
}

/// The columns that an object sets by itself.
pub fn plain_assignments(value: &Value) -> Vec<Column> {
    let Value::Object(_, entries) = value else { return vec![] };
    let named = entries.iter().filter(|(key, _)| !key.starts_with('$') && !is_computed(key) && **key != *"...");
    let plain =
        named.map(|(key, value)| by_operator(key, value).unwrap_or_else(|| column(key, ColumnKind::Equal, value.clone())));
    let spread =
        entries.iter().filter(|(key, _)| matches!(&**key, "..." | "$set")).flat_map(|(_, value)| plain_assignments(value));
    plain.chain(spread).collect()
}

/// A column set by an operator of an ORM: `{ increment: 1 }`.
pub(super) fn by_operator(name: &str, value: &Value) -> Option<Column> {
    let Value::Object(_, entries) = value else { return None };
    let [(operator, inner)] = &entries[..] else { return None };
    match &**operator {
        "increment" | "decrement" | "multiply" | "divide" | "push" => {
            Some(Column { name: column_key(name), kind: ColumnKind::Relative, value: inner.clone() })
        }
        "set" => Some(column(name, ColumnKind::Equal, inner.clone())),
        _ => None,
    }
}
