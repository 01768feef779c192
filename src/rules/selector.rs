//! Selectors: how a row points into a call. They must not know values, only where to look.
//!
//! `0` an argument by position, `name` by keyword, `0.store` a key of an object argument, `self` the receiver, `self.1` the
//! receiver's receiver's name part, `flag:NX` a constant text among the arguments, `after:PX` the argument behind one,
//! `last`, `rest` (all arguments; `rest:1` from the second on), `kwargs` (all keyword arguments as an object; `kwargs!a!b` without those), `owner` (the name of the receiver),
//! `setting:KEY` how far the store of a framework's setting reaches (`process`, `host`, `cluster`), `=text` a constant; `a|b` the first that is there, `a|=text` with a constant where none is.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer};

/// Where in a call something stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector {
    /// Tried in order.
    pub options: Vec<Pick>,
}

/// One way to look.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pick {
    /// An argument, then keys inside it.
    Arg(usize, Vec<String>),
    /// A keyword argument, then keys inside it.
    Keyword(String, Vec<String>),
    /// The receiver, then members of it.
    Receiver(Vec<String>),
    /// The name the receiver goes by (its last part).
    Owner,
    /// A constant text among the arguments.
    Flag(String),
    /// The argument behind a constant text.
    After(String),
    /// The last argument.
    Last,
    /// All arguments by position from this one on, as a list.
    Rest(usize),
    /// All keyword arguments but these, as an object.
    Keywords(Vec<String>),
    /// How far the store of a framework's setting reaches.
    Setting(String),
    /// A constant.
    Constant(String),
}

impl Selector {
    /// Reads a selector; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Selector, String> {
        if let Some(constant) = text.strip_prefix('=') {
            return Ok(Selector { options: vec![Pick::Constant(constant.to_owned())] });
        }
        let options = text.split('|').map(pick).collect::<Result<Vec<_>, _>>()?;
        Ok(Selector { options })
    }
}

fn pick(text: &str) -> Result<Pick, String> {
    if let Some(constant) = text.strip_prefix('=') {
        return Ok(Pick::Constant(constant.to_owned()));
    }
    if let Some(flag) = text.strip_prefix("flag:") {
        return Ok(Pick::Flag(flag.to_owned()));
    }
    if let Some(flag) = text.strip_prefix("after:") {
        return Ok(Pick::After(flag.to_owned()));
    }
    if let Some(from) = text.strip_prefix("rest:") {
        return from.parse().map(Pick::Rest).map_err(|_| format!("`{text}` is not a selector: `rest:` needs a number"));
    }
    if let Some(but) = text.strip_prefix("kwargs!") {
        return Ok(Pick::Keywords(but.split('!').map(str::to_owned).collect()));
    }
    if let Some(setting) = text.strip_prefix("setting:") {
        return Ok(Pick::Setting(setting.to_owned()));
    }
    let mut parts = text.split('.').map(str::to_owned);
    let first = parts.next().unwrap_or_default();
    let keys: Vec<String> = parts.collect();
    if first.is_empty() || keys.iter().any(String::is_empty) {
        return Err(format!("`{text}` is not a selector: a part of it is empty"));
    }
    Ok(match first.as_str() {
        "self" => Pick::Receiver(keys),
        "owner" => Pick::Owner,
        "last" => Pick::Last,
        "rest" => Pick::Rest(0),
        "kwargs" => Pick::Keywords(vec![]),
        _ => match first.parse::<usize>() {
            Ok(index) => Pick::Arg(index, keys),
            Err(_) => Pick::Keyword(first, keys),
        },
    })
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Selector, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Selector;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a selector such as \"0\", \"1.store\", \"ttl|2\" or \"=text\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Selector, E> {
                Selector::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_alternatives_and_keys() {
        let selector = Selector::parse("0.store|storage_uri|after:PX").unwrap();
        assert_eq!(
            selector.options,
            vec![Pick::Arg(0, vec!["store".into()]), Pick::Keyword("storage_uri".into(), vec![]), Pick::After("PX".into()),]
        );
        assert!(Selector::parse("0..a").is_err());
    }
}
