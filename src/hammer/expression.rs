//! Expressions in CEL, with errors that point at the place and name what exists. It does not know what is asked.

use std::collections::HashMap;

use anyhow::{Result, anyhow};
use cel::{Context, Program, Value};

/// A compiled expression that answers yes or no.
#[derive(Debug)]
pub struct Expression {
    source: String,
    program: Program,
}

impl Expression {
    /// Compiles the `source` given to `option`; it may use `names` and nothing else.
    pub fn compile(option: &str, source: &str, names: &[&str]) -> Result<Expression> {
        let program = Program::compile(source).map_err(|errors| {
            let first = errors.errors.first();
            let column = first.map_or(0, |error| usize::try_from(error.pos.1 - 1).unwrap_or(0));
            let what = first.map_or("cannot be read", |error| error.msg.as_str());
            pointed(option, source, column, &format!("{what}{}", hint(source)), names)
        })?;
        for name in program.references().variables() {
            let bound = names.contains(&name) || name.starts_with('@') || is_macro_variable(source, name);
            if !bound {
                let column = word(source, name).unwrap_or(0);
                return Err(pointed(option, source, column, &format!("there is no `{name}`"), names));
            }
        }
        Ok(Expression { source: source.to_owned(), program })
    }

    /// The text as given.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the expression uses this name.
    pub fn uses(&self, name: &str) -> bool {
        self.program.references().has_variable(name)
    }

    /// The answer with these variables, or why there is none.
    pub fn holds(&self, variables: Vec<(&str, Value)>) -> Result<bool, String> {
        let mut context = Context::default();
        for (name, value) in variables {
            context.add_variable_from_value(name, value);
        }
        match self.program.execute(&context) {
            Ok(Value::Bool(answer)) => Ok(answer),
            Ok(other) => Err(format!("`{}` gives {} where true or false is wanted", self.source, other.type_of())),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// JSON as a CEL value; whole numbers become integers, so that they compare with literals.
pub fn cel_value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => {
            number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap_or(f64::NAN)), Value::Int)
        }
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(list) => Value::from(list.iter().map(cel_value).collect::<Vec<_>>()),
        serde_json::Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), cel_value(value))).collect::<HashMap<_, _>>().into()
        }
    }
}

fn pointed(option: &str, source: &str, column: usize, what: &str, names: &[&str]) -> anyhow::Error {
    let line = source.lines().next().unwrap_or_default();
    anyhow!(
        "{option}: {what}\n  {line}\n  {:>width$}\nnames that exist: {}",
        "^",
        names.join(", "),
        width = column.min(line.chars().count()) + 1
    )
}

fn hint(source: &str) -> &'static str {
    let bytes = source.as_bytes();
    let lone = (0..bytes.len()).any(|at| {
        bytes[at] == b'='
            && !matches!(at.checked_sub(1).map(|before| bytes[before]), Some(b'=' | b'!' | b'<' | b'>'))
            && bytes.get(at + 1) != Some(&b'=')
    });
    if lone { " (compare with `==`)" } else { "" }
}

/// Whether `name` is bound by a macro such as `list.exists(name, ...)`.
fn is_macro_variable(source: &str, name: &str) -> bool {
    ["all", "exists", "exists_one", "map", "filter"].iter().any(|name_of_macro| {
        let call = format!("{name_of_macro}(");
        source.match_indices(&call).any(|(at, _)| {
            let inside = source[at + call.len()..].trim_start();
            inside.strip_prefix(name).is_some_and(|after| after.trim_start().starts_with(','))
        })
    })
}

fn word(source: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    source
        .match_indices(name)
        .find(|(at, _)| !source[..*at].ends_with(part) && !source[at + name.len()..].starts_with(|c| part(c) && c != '.'))
        .map(|(at, _)| source[..at].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["successes", "by_copy", "json"];

    fn error(source: &str) -> String {
        Expression::compile("--expect", source, &NAMES).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_name_is_pointed_at() {
        assert_eq!(
            error("successes == 1 && sucesses < 2"),
            "--expect: there is no `sucesses`\n  successes == 1 && sucesses < 2\n                    ^\n\
             names that exist: successes, by_copy, json"
        );
    }

    #[test]
    fn a_single_equals_sign_is_explained() {
        let error = error("successes = 1");
        assert!(error.contains("compare with `==`") && error.contains('^'), "{error}");
    }

    #[test]
    fn macros_bind_their_own_names() {
        let json = serde_json::json!({"items": [1, 2]});
        let expression = Expression::compile("--success", "json.items.exists(x, x == 2)", &NAMES).unwrap();
        assert_eq!(expression.holds(vec![("json", cel_value(&json))]), Ok(true));
    }

    #[test]
    fn an_answer_that_is_no_bool_is_an_error() {
        let expression = Expression::compile("--expect", "successes + 1", &NAMES).unwrap();
        assert!(expression.holds(vec![("successes", Value::Int(1))]).unwrap_err().contains("true or false"));
        assert!(expression.uses("successes") && !expression.uses("by_copy"));
    }
}
