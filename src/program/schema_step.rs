//! Steps of a schema by what they offer, wherever they lie: `up` and `down` that are given a connection, a revision with its
//! `upgrade`. What runs them is started once, before anything is served.

use super::Tree;
use super::reach::functions_in;
use crate::facts::{FileFacts, FnRef, Value};
use crate::rules::{Step, words};
use crate::syntax::{ExportTarget, FnId, Function, Target};

/// Whether a file is a step of a schema.
pub(super) fn is_schema_step(tree: &Tree, facts: &FileFacts) -> bool {
    tree.book.reach.steps.iter().any(|step| {
        step.names.iter().all(|name| facts.names.contains_key(name.as_str()))
            && (of_the_module(tree, facts, step) || of_an_object(tree, facts, step) || of_a_class(facts, step))
    })
}

/// Functions of the module itself.
fn of_the_module(tree: &Tree, facts: &FileFacts, step: &Step) -> bool {
    let own = |name: &str| {
        let functions = &facts.unit.functions;
        let plain = functions
            .iter()
            .find(|function| function.name == name && function.class.is_none() && function.parent == Some(FnId(0)));
        let value = Value::Module(facts.file, name.into());
        let exported = || facts.unit.exports.iter().any(|export| &*export.name == name);
        // Where modules say what they offer, one that they keep is no step.
        match facts.unit.exports.is_empty() || exported() {
            true => plain.or_else(|| function(tree, functions_in(tree, &value, facts.file).first().copied()?)),
            false => None,
        }
    };
    fits(step, own)
}

/// Functions in an object that the module gives out as a whole, or by a name.
fn of_an_object(tree: &Tree, facts: &FileFacts, step: &Step) -> bool {
    facts.unit.exports.iter().any(|export| {
        let ExportTarget::Local(local) = &export.target else { return false };
        let Some(Value::Object(_, entries)) = facts.names.get(local).map(|known| &known.value) else { return false };
        fits(step, |name| {
            let (_, value) = entries.iter().find(|(key, _)| &**key == name)?;
            function(tree, functions_in(tree, value, facts.file).first().copied()?)
        })
    })
}

/// Methods of a class.
fn of_a_class(facts: &FileFacts, step: &Step) -> bool {
    facts.unit.classes.iter().filter(|class| !class.is_shape).any(|class| {
        fits(step, |name| {
            let methods = class.methods.iter().filter_map(|method| facts.unit.functions.get(method.0 as usize));
            methods.into_iter().find(|method| method.name == name && !method.flags.is_signature)
        })
    })
}

fn function(tree: &Tree, function: FnRef) -> Option<&Function> {
    tree.function(function)
}

/// Whether all functions of a step are there and take what it takes.
fn fits<'f>(step: &Step, of: impl Fn(&str) -> Option<&'f Function>) -> bool {
    let Some(found) = step.offers.iter().map(|name| of(name)).collect::<Option<Vec<_>>>() else { return false };
    let given = |function: &Function| {
        let first = function.params.first()?;
        let name = match &first.target {
            Target::Name(name, _) => words(name),
            _ => vec![],
        };
        let of_type = first.ty.iter().flat_map(|ty| words(&ty.name));
        Some(name.into_iter().chain(of_type).any(|word| step.given.contains(&word)))
    };
    step.given.is_empty()
        || found.first().is_some_and(|first| given(first) == Some(true))
            && found.iter().all(|function| given(function) != Some(false))
}
