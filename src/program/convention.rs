//! Entries that nothing registers: a framework finds them by where they stand and what they are called.

use super::reach::{Entry, functions_in};
use super::route::{METHODS, Route};
use super::{Spot, Tree};
use crate::facts::{FnRef, Value};
use crate::rules::Convention;
use crate::syntax::{ExportTarget, FnId};

/// How a function is entered by convention, if it is.
pub(super) fn by_convention(tree: &Tree, function: FnRef) -> Option<Entry> {
    let path = tree.paths.get(function.file as usize)?;
    let known = tree.function(function).filter(|_| function.func != 0)?;
    let mut rules = tree.book.reach.entries.iter().filter(|rule| rule.speaks_of(path) && known.params.len() >= rule.params);
    let (rule, name) = rules.find_map(|rule| {
        let name = if rule.methods.is_empty() { exported(tree, function, rule) } else { a_method(tree, function, rule) };
        name.map(|name| (rule, name))
    })?;
    // A function called after the method of the requests it answers, in capitals as they have it.
    let method = METHODS.iter().any(|method| method.to_uppercase() == name).then_some(name);
    let at = Spot { file: function.file, span: known.name_span };
    Some(Entry {
        kind: rule.kind.clone(),
        at,
        route: Route { method, path: None },
        handler: function,
        claimed: false,
        router: None,
    })
}

/// The name a function is exported as, where the rule speaks of it.
fn exported(tree: &Tree, function: FnRef, rule: &Convention) -> Option<String> {
    let facts = tree.files.get(function.file as usize)?;
    let known = tree.function(function)?;
    let marked = |at: FnRef| {
        let marks = tree.facts(at).map(|facts| &facts.decorators[..]).unwrap_or_default();
        marks.iter().any(|(mark, _)| matches!(mark, Value::Text(text) if rule.marks.iter().any(|known| **known == **text)))
    };
    if !rule.marks.is_empty() && !marked(function) && !marked(FnRef { func: 0, ..function }) {
        return None;
    }
    let named = |name: &str| rule.names(name, facts.unit.exports.iter().map(|export| &export.name));
    // A language whose modules offer all that they have.
    if facts.unit.exports.is_empty() {
        let own = known.class.is_none() && known.parent == Some(FnId(0)) && named(&known.name);
        return own.then(|| known.name.clone());
    }
    // One that says so itself need not be exported.
    if !rule.marks.is_empty() && marked(function) {
        return Some(known.name.clone());
    }
    let export = facts.unit.exports.iter().filter(|export| named(&export.name)).find(|export| match &export.target {
        ExportTarget::Local(local) => leads_to(tree, function, &Value::Module(function.file, local.as_str().into()), 0),
        ExportTarget::Other { .. } => false,
    })?;
    Some(export.name.to_string())
}

/// Whether a value is a function, or what a call made of it (`withAuth(handler)`).
fn leads_to(tree: &Tree, function: FnRef, value: &Value, depth: u32) -> bool {
    let settled = match value {
        Value::Module(file, name) => {
            tree.files.get(*file as usize).and_then(|facts| facts.names.get(name)).map(|known| &known.value)
        }
        _ => None,
    };
    if functions_in(tree, value, function.file).contains(&function) {
        return true;
    }
    let value = settled.unwrap_or(value);
    let Value::Result(maker, event) = value else { return *value == Value::Function(function) };
    let Some(event) = tree.facts(*maker).and_then(|facts| facts.events.get(*event as usize)) else { return false };
    match &event.act {
        crate::facts::Act::Call { args, .. } if depth < 4 => {
            args.iter().any(|(_, value)| leads_to(tree, function, value, depth + 1))
        }
        _ => false,
    }
}

/// The name of a method that the rule speaks of: of a class with one of its bases, in a file with one of its imports.
fn a_method(tree: &Tree, function: FnRef, rule: &Convention) -> Option<String> {
    let known = tree.function(function).filter(|known| rule.methods.contains(&known.name))?;
    let class = tree.class(tree.class_of(function)?)?;
    let based = class.bases.iter().any(|base| rule.bases.iter().any(|wanted| base.name.rsplit('.').next() == Some(wanted)));
    let imported = || {
        let imports = &tree.files[function.file as usize].unit.imports;
        imports.iter().any(|import| rule.imports.iter().any(|name| import.module == *name))
    };
    ((rule.bases.is_empty() || based) && (rule.imports.is_empty() || imported())).then(|| known.name.to_string())
}
