//! Numbers of copies as files write them: plain, as a word, by a variable with or without a fallback, by a chart's value.
//! It must not know which file says how many.

use crate::syntax::data::{Format, Found, Node, path_of, read};

/// The most copies that are believed.
const MOST: u32 = 10_000;

/// A number and whether there may be more.
pub(super) type Number = (u32, bool);

/// What a text in the place of a number says. `variable` gives the text of a variable of the environment.
pub(super) fn number(text: &str, several: &[String], variable: &dyn Fn(&str) -> Option<String>) -> Option<Number> {
    let text = text.trim().trim_matches(['"', '\'']);
    if let Ok(number) = text.parse::<f64>() {
        return (number >= 1.0 && number <= f64::from(MOST)).then_some((number as u32, false));
    }
    if let Some(name) = text.strip_prefix('$').filter(|rest| !rest.starts_with('(')) {
        let name = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(name);
        let (name, fallback) = match name.split_once([':', '-']) {
            Some((name, fallback)) => (name, Some(fallback.trim_start_matches(['-', '=', ':']))),
            None => (name, None),
        };
        let value = variable(name).filter(|value| !value.contains('$'));
        return value.as_deref().or(fallback).and_then(|text| number(text, several, &|_| None));
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '%'))).collect();
    several.iter().any(|word| words.contains(&word.as_str()) || lower == *word).then_some((2, true))
}

/// A value of a chart's values that a template's text names, with the file and its line. One under a part of the values that is
/// not enabled is not in force.
pub(super) fn of_values<'t>(template: &str, values: impl Fn() -> Option<(&'t str, &'t str)>) -> Option<(String, String, u32)> {
    let name = template.split_whitespace().find_map(|word| {
        let word = word.trim_matches(['⟦', '⟧', '$']);
        word.strip_prefix(".Values.")
    })?;
    let (path, text) = values()?;
    let keys = path_of(name);
    let root = read(Format::Yaml, text).into_iter().next()?;
    let (_, above) = keys.split_last()?;
    let enabled = [above, &["enabled".to_owned()]].concat();
    if !above.is_empty() && root.at(&enabled).iter().any(|(_, found)| found.text() == Some("false")) {
        return None;
    }
    let (_, found) = root.at(&keys).into_iter().next()?;
    Some((found.text()?.to_owned(), path.to_owned(), found.line()))
}

/// The number behind `default` in a template's text.
pub(super) fn fallback_of(template: &str) -> Option<String> {
    let mut words = template.split_whitespace().skip_while(|word| word.trim_matches(['⟦', '⟧']) != "default").skip(1);
    words.next().map(|word| word.trim_matches(['⟦', '⟧']).to_owned())
}

/// The text of a variable in one of some places of a thing.
pub(super) fn variable_in(unit: &Node, places: &[crate::rules::Keys], name: &str) -> Option<String> {
    places.iter().find_map(|place| {
        let path = [place.0.as_slice(), &[name.to_owned()]].concat();
        unit.at(&path).first().and_then(|(_, found): &(&str, Found<'_>)| found.text()).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_number(text: &str) -> Option<Number> {
        let several = ["max".to_owned(), "nproc".to_owned(), "cpu_count".to_owned()];
        number(text, &several, &|name| (name == "N").then(|| "6".to_owned()))
    }

    #[test]
    fn numbers_words_variables_and_fallbacks() {
        assert_eq!(read_number("3"), Some((3, false)));
        assert_eq!(read_number("max"), Some((2, true)));
        assert_eq!(read_number("$((2 * $(nproc) + 1))"), Some((2, true)));
        assert_eq!(read_number("multiprocessing.cpu_count() 2 1"), Some((2, true)));
        assert_eq!(read_number("$N"), Some((6, false)));
        assert_eq!(read_number("${X:-4}"), Some((4, false)));
        assert_eq!(read_number("${N:-4}"), Some((6, false)));
        assert_eq!(read_number("$X"), None);
        assert_eq!(read_number("0"), None);
        assert_eq!(read_number("many"), None);
    }

    #[test]
    fn values_of_a_chart_count_where_they_are_in_force() {
        let values = "replicaCount: 3\nautoscaling:\n  enabled: false\n  maxReplicas: 100\n";
        let of = |name: &str| of_values(name, || Some(("chart/values.yaml", values)));
        assert_eq!(of("⟦ .Values.replicaCount ⟧"), Some(("3".into(), "chart/values.yaml".into(), 1)));
        assert_eq!(of("⟦ .Values.autoscaling.maxReplicas ⟧"), None);
        assert_eq!(fallback_of("⟦ .Values.x   default 2 ⟧").as_deref(), Some("2"));
    }
}
