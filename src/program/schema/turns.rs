//! What a name stands for in each turn of a loop over a literal list.

use crate::facts::Value;

/// All that a value is in turn, where a loop goes over a literal list: `column` in `for (name, column) in [("a", A), ("b", B)]`.
pub(super) fn one_of(value: &Value) -> Vec<Value> {
    let items = |of: &Value| match of {
        Value::Element(list) => match &**list {
            Value::List(items) if !items.is_empty() => Some(items.clone()),
            _ => None,
        },
        _ => None,
    };
    let part = |item: &Value, key: &Value| match (item, key) {
        (Value::List(parts), Value::Number(at)) => parts.get(*at as usize).cloned(),
        _ => None,
    };
    let found = match value {
        Value::Index(of, key) => items(of).and_then(|items| items.iter().map(|item| part(item, key)).collect()),
        other => items(other).map(|items| items.to_vec()),
    };
    found.unwrap_or_else(|| vec![value.clone()])
}
