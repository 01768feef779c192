//! The JSON schema of plans, made from the options themselves. It does not know what an option does.

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command};
use serde_json::{Map, Value, json};

use super::scenario::{NOT_IN_A_PLAN, SCENARIOS, command};

/// The schema of a plan.
pub fn schema() -> Value {
    let command = command();
    let mut shared = options(&command);
    let scenario = json!({
        "type": "object",
        "description": "One scenario: options of its own, over those that stand above.",
        "properties": shared.clone(),
        "additionalProperties": false,
    });
    shared.insert(
        SCENARIOS.to_owned(),
        json!({ "type": "object", "minProperties": 1, "additionalProperties": scenario, "description": "The scenarios, by name." }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "hammer-plan.schema.json",
        "title": "A plan of lockcheck hammer",
        "description": "Options of lockcheck hammer, written down; those outside of a scenario are shared by all.",
        "type": "object",
        "properties": shared,
        "required": [SCENARIOS],
        "additionalProperties": false,
    })
}

fn options(command: &Command) -> Map<String, Value> {
    let known = command.get_arguments().filter_map(|argument| Some((argument.get_long()?, argument)));
    known.filter(|(name, _)| !NOT_IN_A_PLAN.contains(name)).map(|(name, argument)| (name.to_owned(), option(argument))).collect()
}

fn option(argument: &Arg) -> Value {
    let words = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut schema = match argument.get_action() {
        ArgAction::SetTrue => json!({ "type": "boolean" }),
        _ => {
            let one = value(argument);
            let several = argument.get_num_args().map_or(1, |count| count.min_values());
            match argument.get_action() {
                _ if several > 1 => json!({ "type": "array", "items": one, "minItems": several, "maxItems": several }),
                ArgAction::Append => json!({ "anyOf": [one.clone(), { "type": "array", "items": one }] }),
                _ => one,
            }
        }
    };
    schema["description"] = words.into();
    if let [default] = argument.get_default_values() {
        schema["default"] = default.to_string_lossy().into();
    }
    schema
}

fn value(argument: &Arg) -> Value {
    let choices: Vec<String> = argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if !choices.is_empty() && !matches!(argument.get_action(), ArgAction::SetTrue) {
        return json!({ "enum": choices });
    }
    let numbers = [
        ValueParser::from(clap::value_parser!(usize)),
        clap::value_parser!(u16).range(0..).into(),
        clap::value_parser!(u32).range(0..).into(),
    ];
    let kind = argument.get_value_parser().type_id();
    if numbers.iter().any(|number| number.type_id() == kind) {
        return json!({ "type": "integer", "minimum": 0 });
    }
    // A time may be a bare number of seconds.
    json!({ "type": ["string", "number"] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_plan_is_in_the_schema() {
        let schema = schema();
        let own = &schema["properties"][SCENARIOS]["additionalProperties"]["properties"];
        for (name, kind) in [("rounds", json!("integer")), ("kill", json!("boolean")), ("path", json!(["string", "number"]))] {
            assert_eq!(own[name]["type"], kind, "{name}");
            assert_eq!(schema["properties"][name], own[name], "{name}");
        }
        assert_eq!(own["hold"]["enum"], json!(["body", "header"]));
        assert_eq!(own["verify-sql"]["minItems"], 2);
        assert!(own["url"]["anyOf"].is_array() && own["plan"].is_null() && own["rounds"]["default"] == "5");
        assert!(own["expect"]["description"].as_str().unwrap().contains("What must hold"));
    }
}
