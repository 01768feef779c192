//! Which names each function binds itself, so that a name can be told local, captured, of the module or unbound.

use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;

use super::{FnRef, Value};
use crate::files::Atom;
use crate::syntax::{FnId, Step, StepKind, Target, Unit, is_temporary};

/// The names of a unit, by the function that binds them.
pub(super) struct Scopes {
    file: u32,
    by_function: Vec<FxHashSet<Atom>>,
    parents: Vec<Option<u32>>,
    words: RefCell<FxHashSet<Atom>>,
    captured: RefCell<FxHashSet<(u32, Atom)>>,
}

impl Scopes {
    pub(super) fn new(file: u32, unit: &Unit) -> Scopes {
        let mut by_function: Vec<FxHashSet<Atom>> = Vec::with_capacity(unit.functions.len());
        for (index, function) in unit.functions.iter().enumerate() {
            let mut names = FxHashSet::default();
            function.params.iter().for_each(|param| names_of(&param.target, &mut names));
            declared(&function.body, index == 0, &mut names);
            by_function.push(names);
        }
        if let Some(module) = by_function.first_mut() {
            module.extend(unit.imports.iter().map(|import| Atom::from(import.local.as_str())));
            module
                .extend(unit.classes.iter().filter(|class| class.parent == FnId(0)).map(|class| Atom::from(class.name.as_str())));
        }
        for class in unit.classes.iter().filter(|class| class.parent != FnId(0)) {
            if let Some(names) = by_function.first_mut() {
                names.insert(Atom::from(class.name.as_str()));
            }
        }
        let parents = unit.functions.iter().map(|function| function.parent.map(|parent| parent.0)).collect();
        Scopes { file, by_function, parents, words: RefCell::default(), captured: RefCell::default() }
    }

    /// A text, kept once for the file.
    pub(super) fn word(&self, text: &str) -> Atom {
        let mut words = self.words.borrow_mut();
        match words.get(text) {
            Some(known) => known.clone(),
            None => {
                let word: Atom = text.into();
                words.insert(word.clone());
                word
            }
        }
    }

    /// A variable of a function, as a value elsewhere.
    pub(super) fn capture(&self, func: u32, name: &str) -> Value {
        let name = self.word(name);
        self.captured.borrow_mut().insert((func, name.clone()));
        Value::Captured(FnRef { file: self.file, func }, name)
    }

    /// Whether a variable of a function stands in any value.
    pub(super) fn is_captured(&self, func: u32, name: &Atom) -> bool {
        self.captured.borrow().contains(&(func, name.clone()))
    }

    /// What `name` means in `func`: `None` for a variable of `func` itself.
    pub(super) fn resolve(&self, func: u32, name: &str) -> Option<Value> {
        self.resolve_from(Some(func), func, name)
    }

    /// What `name` means around `func`, whatever variables `func` has itself.
    pub(super) fn resolve_around(&self, func: u32, name: &str) -> Option<Value> {
        self.resolve_from(self.parents.get(func as usize).copied().flatten(), func, name)
    }

    fn resolve_from(&self, mut at: Option<u32>, func: u32, name: &str) -> Option<Value> {
        while let Some(index) = at {
            if index != 0 && self.by_function.get(index as usize).is_some_and(|names| names.contains(name)) {
                if index == func {
                    return None;
                }
                return Some(self.capture(index, name));
            }
            at = self.parents.get(index as usize).copied().flatten();
        }
        if func == 0 && is_temporary(name) {
            return None;
        }
        let module = self.by_function.first().is_some_and(|names| names.contains(name));
        let word = self.word(name);
        Some(if module { Value::Module(self.file, word) } else { Value::Global(word) })
    }
}

/// Names bound by the steps of one function (nested functions have their own).
fn declared(steps: &[Step], module: bool, names: &mut FxHashSet<Atom>) {
    for step in steps {
        match &step.kind {
            StepKind::Bind { target, declares, .. } => {
                if *declares || module {
                    names_of(target, names);
                }
            }
            StepKind::Branch { then, otherwise, .. } => {
                declared(then, module, names);
                declared(otherwise, module, names);
            }
            StepKind::Loop { each, body, .. } => {
                if let Some((target, _)) = each {
                    names_of(target, names);
                }
                declared(body, module, names);
            }
            StepKind::Try { body, catches, otherwise, finally } => {
                declared(body, module, names);
                for catch in catches {
                    names.extend(catch.binding.as_deref().map(Atom::from));
                    declared(&catch.body, module, names);
                }
                declared(otherwise, module, names);
                declared(finally, module, names);
            }
            StepKind::Within { binding, body, .. } => {
                if let Some(target) = binding {
                    names_of(target, names);
                }
                declared(body, module, names);
            }
            StepKind::Scope(body) => declared(body, module, names),
            StepKind::Do(_) | StepKind::Exit { .. } | StepKind::Delete(_) => {}
        }
    }
}

/// Names a target binds.
pub(super) fn names_of(target: &Target, names: &mut FxHashSet<Atom>) {
    match target {
        Target::Name(name, _) => {
            names.insert(Atom::from(name.as_str()));
        }
        Target::Fields(fields) => fields.iter().for_each(|(_, inner)| names_of(inner, names)),
        Target::Items(items) => items.iter().for_each(|inner| names_of(inner, names)),
        Target::Inside(inner) => names_of(inner, names),
        Target::Place(_) | Target::Ignore => {}
    }
}

/// The values of parameters, by name.
pub(in crate::facts) type Env = FxHashMap<Atom, Value>;
