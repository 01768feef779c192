//! How far a store reaches that a framework's settings name: module-level names, fields of configuration classes, entries written
//! into a configuration, and the environment's files for what is read from the environment. It must not know any framework.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::{ClassRef, Spot, Tree, Ty};
use crate::facts::{Act, FnRef, Piece, Value};
use crate::files::{Document, name_fits};
use crate::rules::{FileRole, Meaning, Rulebook, Scope, SettingRow, words};
use crate::syntax::data::{Format, read};

/// What a setting says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// It reaches so far, by the place that says it; by the framework's default where there is none.
    Known(Scope, Option<Spot>),
    /// It is set, or may be, in a way that cannot be followed.
    Unknown,
}

/// A place that sets a setting.
#[derive(Clone)]
pub(super) struct Set {
    at: Spot,
    value: Value,
}

/// What the setting `key` says; `part` is the part of it that is asked for (a cache's alias).
pub(super) fn setting(tree: &Tree, key: &str, part: &str) -> Setting {
    let Some(row) = tree.book.settings.row(key) else { return Setting::Unknown };
    let sets = in_force(tree, sets(tree, row));
    if sets.is_empty() {
        let there = row.beside.is_empty()
            || tree.files.iter().any(|file| row.beside.iter().any(|name| file.names.contains_key(name.as_str())));
        return match row.absent {
            Some(scope) if there => Setting::Known(scope, None),
            _ => Setting::Unknown,
        };
    }
    let mut said = sets.iter().map(|set| (scope_of(tree, row, &set.value, part), set.at));
    let Some((Some(scope), at)) = said.next() else { return Setting::Unknown };
    if said.all(|(other, _)| other == Some(scope)) { Setting::Known(scope, Some(at)) } else { Setting::Unknown }
}

/// Everything that sets it, in the order of the places.
fn sets(tree: &Tree, row: &SettingRow) -> Vec<Set> {
    tree.sets().get(row.key.as_str()).cloned().unwrap_or_default()
}

/// Everything that sets any setting, by the setting's key.
pub(super) fn all_sets(tree: &Tree) -> HashMap<String, Vec<Set>> {
    let mut keys: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for row in &tree.book.settings.settings {
        for name in [&row.key].into_iter().chain(&row.also) {
            let known = keys.entry(name.as_str()).or_default();
            known.extend((!known.contains(&row.key.as_str())).then_some(row.key.as_str()));
        }
    }
    let mut found: HashMap<String, Vec<Set>> = HashMap::new();
    for file in &tree.files {
        let path = tree.paths.get(file.file as usize).map_or("", String::as_str);
        let mut is_test = None;
        // What an argument of its own name says, its entries do not say again.
        let mut add = |name: &str, said: Option<&str>, span, value: &Value| {
            let Some(named) = keys.get(name) else { return };
            let said = said.and_then(|name| keys.get(name)).map_or(&[][..], Vec::as_slice);
            if *is_test.get_or_insert_with(|| tree.book.reach.role(path, std::iter::empty()) == FileRole::Test) {
                return;
            }
            for key in named.iter().filter(|key| !said.contains(key)) {
                let set = Set { at: Spot { file: file.file, span }, value: value.clone() };
                found.entry((*key).to_owned()).or_default().push(set);
            }
        };
        for (name, known) in &file.names {
            // Taken over from another module of settings: that one says it.
            if !matches!(&known.value, Value::Module(_, other) if other == name) {
                add(name, None, known.span, &known.value);
            }
        }
        for ((class, name), value) in &file.field_values {
            let class = file.unit.classes.get(*class as usize);
            let field = || class.and_then(|class| class.fields.iter().find(|field| field.name == **name));
            if keys.contains_key(&**name) {
                add(name, None, field().map(|field| field.span).unwrap_or_default(), value);
            }
        }
        for event in file.functions.iter().flat_map(|function| &function.events) {
            match &event.act {
                Act::Write { place: Value::Index(_, key), value, .. } => match &**key {
                    Value::Text(key) => add(key, None, event.span, value),
                    key => key.text().iter().for_each(|key| add(key, None, event.span, value)),
                },
                Act::Call { args, .. } => {
                    for (name, value) in args.iter() {
                        let own = name.as_deref().filter(|name| keys.contains_key(name));
                        own.iter().for_each(|name| add(name, None, event.span, value));
                        if let Value::Object(_, entries) = value {
                            entries.iter().for_each(|(name, value)| add(name, own, event.span, value));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    found.values_mut().for_each(|sets| sets.sort_by_key(|set| set.at));
    found
}

/// Those that users are served with: by the names of the files, where these tell.
fn in_force(tree: &Tree, sets: Vec<Set>) -> Vec<Set> {
    let named = |set: &Set, wanted: &[String]| {
        let path = tree.paths.get(set.at.file as usize).map_or("", String::as_str);
        let name = path.rsplit('/').next().unwrap_or(path);
        words(name.split('.').next().unwrap_or(name)).iter().any(|word| wanted.contains(word))
    };
    let rules = &tree.book.settings;
    if sets.iter().any(|set| named(set, &rules.served)) {
        return sets.into_iter().filter(|set| named(set, &rules.served)).collect();
    }
    if sets.iter().any(|set| !named(set, &rules.aside)) {
        return sets.into_iter().filter(|set| !named(set, &rules.aside)).collect();
    }
    sets
}

/// How far the store reaches that a value names.
fn scope_of(tree: &Tree, row: &SettingRow, value: &Value, part: &str) -> Option<Scope> {
    let scopes: Vec<Scope> =
        deciding(tree, row, value, part)?.iter().map(|value| settled_reach(tree, value)).collect::<Option<_>>()?;
    let first = *scopes.first()?;
    scopes.iter().all(|scope| *scope == first).then_some(first)
}

/// The values in a setting's value that decide.
fn deciding(tree: &Tree, row: &SettingRow, value: &Value, part: &str) -> Option<Vec<Value>> {
    if row.at.is_empty() {
        return Some(vec![value.clone()]);
    }
    let mut found = vec![];
    for path in &row.at {
        let mut values = vec![tree.settled(value)];
        for key in path.split('.') {
            let key = if key == "*" { part } else { key };
            values = values
                .iter()
                .flat_map(alternatives)
                .map(|value| value.entry(key).map(|inner| tree.settled(inner)))
                .collect::<Option<_>>()?;
        }
        found.extend(values);
    }
    Some(found)
}

/// A setting that by itself puts a limiter or a session store into the program.
#[derive(Debug, Clone)]
pub struct Configured {
    /// What it puts there.
    pub makes: Meaning,
    /// Where it is set.
    pub at: Spot,
    /// What the setting says that decides where it keeps what it knows.
    pub store: Setting,
    /// Its name.
    pub key: String,
    /// The library whose setting it is.
    pub library: String,
}

/// All settings in force that put something into the program.
pub fn configured(tree: &Tree) -> Vec<Configured> {
    let rows = tree.book.settings.settings.iter().filter_map(|row| Some((row, row.makes?)));
    let mut said: Vec<(Meaning, &str)> = vec![];
    let mut found = vec![];
    for (row, makes) in rows {
        for set in in_force(tree, sets(tree, row)).into_iter().filter(|set| is_on(tree, row, &set.value)) {
            let known = said.contains(&(makes, &row.store));
            if !row.of.is_empty() && (known || !names_one(tree, row, &set)) {
                continue;
            }
            said.push((makes, &row.store));
            let (key, library) = (row.key.clone(), row.library.clone());
            found.push(Configured { makes, at: set.at, store: tree.setting(&row.store, "default"), key, library });
        }
    }
    found
}

/// Whether a setting names a class of the library, or one of the tree that is made of it and has nothing that keeps it elsewhere.
fn names_one(tree: &Tree, row: &SettingRow, set: &Set) -> bool {
    let Value::List(items) = tree.settled(&set.value) else { return false };
    let own = |class: ClassRef| {
        let Some(known) = tree.class(class) else { return false };
        let methods = known.methods.iter().filter_map(|id| tree.function(FnRef { file: class.file, func: id.0 }));
        let methods = methods.map(|method| &method.name);
        known.fields.iter().map(|field| &field.name).chain(methods).any(|name| row.unless.iter().any(|other| **other == **name))
    };
    items.iter().any(|item| match tree.ty(item, set.at.file) {
        Ty::Lib { path, .. } => tree.packs(set.at.file).type_of_base(&path).is_some_and(|id| **id == *row.of),
        Ty::Class(class) => {
            tree.base_type(class, 0).is_some_and(|id| *id == *row.of)
                && !std::iter::once(class).chain(tree.bases_of(class)).any(own)
        }
        _ => false,
    })
}

/// The place of a setting that makes each request run in a transaction.
pub fn requests_are_transactions(tree: &Tree) -> Option<Spot> {
    tree.book.settings.settings.iter().filter(|row| row.transactional).find_map(|row| {
        let sets = in_force(tree, sets(tree, row));
        sets.iter().all(|set| is_on(tree, row, &set.value)).then(|| Some(sets.first()?.at)).flatten()
    })
}

/// Whether a setting's value turns on what it is about.
fn is_on(tree: &Tree, row: &SettingRow, value: &Value) -> bool {
    deciding(tree, row, value, "default").unwrap_or_default().iter().any(|value| match tree.settled(value) {
        Value::Text(text) => row.values.is_empty() || row.values.iter().any(|known| **known == *text),
        Value::List(items) => !items.is_empty(),
        Value::Bool(on) => on,
        _ => false,
    })
}

fn alternatives(value: &Value) -> Vec<Value> {
    match value {
        Value::Any(values) => values.to_vec(),
        other => vec![other.clone()],
    }
}

/// How far a store reaches, by the texts its name or address can be; `None` where they do not tell, or not the same.
/// False behind it where a variable may say otherwise.
pub fn store_reach(tree: &Tree, value: &Value) -> Option<(Scope, bool)> {
    let texts = texts(tree, value, 0)?;
    let sure = texts.iter().all(|(_, sure)| *sure);
    let mut scopes = texts.iter().map(|(text, _)| tree.book.settings.reach_of(text));
    let first = scopes.next()??;
    scopes.all(|scope| scope == Some(first)).then_some((first, sure))
}

/// The same in a setting: what is in memory only where a variable is not set is not known.
fn settled_reach(tree: &Tree, value: &Value) -> Option<Scope> {
    store_reach(tree, value).filter(|(scope, sure)| *sure || *scope != Scope::Process).map(|(scope, _)| scope)
}

/// What a text can be: itself, a template's beginning, what the environment's files say of a variable, or its fallback, which
/// is not sure.
fn texts(tree: &Tree, value: &Value, depth: u32) -> Option<Vec<(String, bool)>> {
    if depth > 8 {
        return None;
    }
    let value = tree.settled(value);
    let unsure = |known: Vec<(String, bool)>| known.into_iter().map(|(text, _)| (text, false)).collect();
    match &value {
        Value::Text(text) => Some(vec![(text.to_string(), true)]),
        Value::Template(pieces) => match pieces.first() {
            Some(Piece::Text(text)) => Some(vec![(text.to_string(), true)]),
            Some(Piece::Value(value)) => texts(tree, value, depth + 1),
            None => None,
        },
        // With a fallback the variable decides, where a file sets it.
        Value::Any(values) => {
            if let Some(known) = values.iter().find_map(|value| variable(tree, value)) {
                return Some(vec![(known, true)]);
            }
            let known: Vec<(String, bool)> = values.iter().filter_map(|value| texts(tree, value, depth + 1)).flatten().collect();
            let all = values.iter().all(|value| matches!(value, Value::Text(_)));
            (!known.is_empty()).then(|| if all { known } else { unsure(known) })
        }
        Value::Choose(parts) => {
            let both: Option<Vec<Vec<(String, bool)>>> = parts[1..].iter().map(|value| texts(tree, value, depth + 1)).collect();
            both.map(|both| both.concat())
        }
        Value::Result(function, index) => {
            if let Some(known) = variable(tree, &value) {
                return Some(vec![(known, true)]);
            }
            let Act::Call { args, .. } = &tree.facts(*function)?.events.get(*index as usize)?.act else { return None };
            let fallback = args.iter().skip(1).find(|(name, _)| name.as_deref().is_none_or(|name| name == "default"))?;
            texts(tree, &fallback.1, depth + 1).map(unsure)
        }
        other => variable(tree, other).map(|text| vec![(text, true)]),
    }
}

/// What the environment's files say of the variable that a value reads: `environment.NAME`, `environment["NAME"]`, `get("NAME")`.
fn variable(tree: &Tree, value: &Value) -> Option<String> {
    let name = match value {
        Value::Member(_, name) => name.to_string(),
        Value::Index(_, key) => key.text()?,
        Value::Result(function, index) => match &tree.facts(*function)?.events.get(*index as usize)?.act {
            Act::Call { args, .. } => args.first()?.1.text()?,
            _ => return None,
        },
        _ => return None,
    };
    tree.environment.get(&name).cloned()
}

/// The environment that files of the tree set up.
pub type Environment = HashMap<String, String>;

/// What the documents of a tree set up: files of variables, and the environment of what is deployed. The later word counts.
pub fn environment(book: &Rulebook, documents: &[Document]) -> Environment {
    let mut found = Environment::new();
    let rules = &book.settings;
    for pattern in &rules.environment {
        for document in documents.iter().filter(|document| name_fits(&document.path, pattern)) {
            read(Format::Env, &document.text).iter().for_each(|node| found.extend(node.pairs()));
        }
    }
    for row in book.deploy.units.iter().filter(|row| !row.environment.is_empty()) {
        let documents = documents.iter().filter(|document| row.speaks_of(&document.path, &document.text));
        for document in documents.filter(|document| !book.deploy.ignores(&document.path)) {
            for node in read(row.format, &document.text) {
                let units = node.at(&row.each.0).into_iter().filter_map(|(_, unit)| unit.node());
                let places = units.flat_map(|unit| row.environment.iter().flat_map(|place| unit.at(&place.0)));
                places.filter_map(|(_, place)| place.node()).for_each(|place| found.extend(place.pairs()));
            }
        }
    }
    found
}
