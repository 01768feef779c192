//! What was read of the state before and after an experiment. It does not know how.

use serde_json::Value;

/// The state before and after.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// After the set-up, before the first request; null where there was nothing yet.
    pub before: Value,
    /// After the last answer.
    pub after: Value,
    /// Calls that the witness saw, by route.
    pub calls: Value,
    /// The same, by route and copy.
    pub calls_by_copy: Value,
}

impl State {
    /// How many effects the state shows: its one whole number, less what it was before where it has grown.
    pub fn effects(&self) -> Option<u64> {
        let after = number(&self.after)?;
        Some(match number(&self.before) {
            Some(before) if before <= after => after - before,
            _ => after,
        })
    }

    /// Both in words.
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        if !(self.before.is_null() && self.after.is_null()) {
            words.push(format!("the state was {} before and {} after", self.before, self.after));
        }
        if !self.calls.is_null() {
            words.push(format!("the witness saw {}, by copy {}", self.calls, self.calls_by_copy));
        }
        words.join("; ")
    }
}

/// A whole number, as such, as text, or as the only column of a row.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Object(columns) if columns.len() == 1 => columns.values().next().and_then(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn effects_are_what_was_added() {
        let effects = |before: Value, after: Value| State { before, after, ..State::default() }.effects();
        assert_eq!(effects(Value::Null, json!(3)), Some(3));
        assert_eq!(effects(json!("2"), json!("5")), Some(3));
        assert_eq!(effects(json!({"count": 1}), json!({"count": 1})), Some(0));
        assert_eq!(effects(json!(5), json!(0)), Some(0));
        assert_eq!(effects(Value::Null, json!({"a": 1, "b": 2})), None);
        assert_eq!(effects(Value::Null, json!(-1)), None);
    }
}
