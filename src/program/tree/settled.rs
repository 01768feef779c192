//! The value behind a name that never changes, and the file that defines a name.

use super::{DEEPEST, Tree};
use crate::facts::Value;
use crate::program::{ClassRef, Ty};
use crate::syntax::ExportTarget;

/// How often a module may hand on all of another for a name to be followed.
const FURTHEST_HANDED_ON: u32 = 4;

impl Tree {
    /// The value behind a name, where it never changes: constants, options, templates of other files.
    pub fn settled(&self, value: &Value) -> Value {
        self.settled_within(value, &mut { DEEPEST })
    }

    /// Like `settled`, in so many steps at most: a name can be written in terms of itself.
    fn settled_within(&self, value: &Value, steps: &mut u32) -> Value {
        let mut value = value.clone();
        while let Some(left) = steps.checked_sub(1) {
            *steps = left;
            let next = match &value {
                Value::Module(file, name) => self.module_value(*file, name),
                Value::Captured(function, name) => self.facts(*function).and_then(|facts| facts.locals.get(name).cloned()),
                Value::Member(of, name) => match &**of {
                    Value::This(function) => self.class_of(*function).and_then(|class| self.constant_field(class, name)),
                    inner => match self.settled_object(inner, steps) {
                        Some(Value::Object(ty, entries)) => Value::Object(ty, entries).entry(name).cloned(),
                        _ => match self.ty(inner, owner_file(inner)) {
                            Ty::Module(file) => self.module_value(file, name),
                            Ty::Class(class) => self.constant_field(class, name),
                            // A module that gives one object out, `module.exports = { .. }`.
                            Ty::Literal(object) => object.entry(name).cloned(),
                            _ => None,
                        },
                    },
                },
                _ => None,
            };
            match next {
                Some(next) if next != value => value = next,
                _ => return value,
            }
        }
        value
    }

    /// What a value's member is looked up in.
    fn settled_object(&self, value: &Value, steps: &mut u32) -> Option<Value> {
        match value {
            Value::Object(..) => Some(value.clone()),
            Value::Module(..) | Value::Captured(..) => Some(self.settled_within(value, steps)),
            _ => None,
        }
    }

    pub(super) fn constant_field(&self, class: ClassRef, name: &str) -> Option<Value> {
        let value = self.field_value(class, name)?;
        matches!(
            value,
            Value::Text(_) | Value::Number(_) | Value::Template(_) | Value::Bool(_) | Value::Object(..) | Value::Module(..)
        )
        .then_some(value)
    }

    pub(super) fn module_value(&self, file: u32, name: &str) -> Option<Value> {
        let facts = self.files.get(file as usize)?;
        if let Some(known) = facts.names.get(name) {
            return (!known.reassigned && known.value != Value::Unknown).then(|| known.value.clone());
        }
        let import = facts.unit.imports.iter().find(|import| import.local == name)?;
        let Ty::Module(other) = self.module(file, &import.module)? else { return None };
        self.exported_value(other, import.member.as_deref()?, 0)
    }

    pub(in crate::program) fn exported_value(&self, file: u32, name: &str, depth: u32) -> Option<Value> {
        let facts = self.files.get(file as usize)?;
        match facts.unit.exports.iter().find(|export| export.name == name).map(|export| &export.target) {
            Some(ExportTarget::Local(local)) => Some(Value::Module(file, local.as_str().into())),
            Some(ExportTarget::Other { module, member }) if depth < DEEPEST => {
                let Ty::Module(other) = self.module(file, module)? else { return None };
                self.exported_value(other, member.as_deref()?, depth + 1)
            }
            _ if facts.names.contains_key(name) => Some(Value::Module(file, name.into())),
            // What it hands on as a whole.
            _ if depth < FURTHEST_HANDED_ON => {
                let exported = facts.unit.exports.iter().filter(|export| matches!(export.name.as_str(), "*" | "="));
                let mut modules = exported.filter_map(|export| match &export.target {
                    ExportTarget::Other { module, member: None } => self.module(file, module),
                    ExportTarget::Local(local) => Some(self.ty(&Value::Module(file, local.as_str().into()), file)),
                    ExportTarget::Other { .. } => None,
                });
                modules.find_map(|module| {
                    let Ty::Module(other) = module else { return None };
                    (other != file).then(|| self.exported_value(other, name, depth + 1)).flatten()
                })
            }
            _ => None,
        }
    }

    /// The same module-level name, at the file that defines it.
    pub fn definition(&self, value: &Value) -> Value {
        let mut value = value.clone();
        for _ in 0..DEEPEST {
            let next = match &value {
                Value::Module(file, name) => {
                    let Some(facts) = self.files.get(*file as usize) else { return value };
                    if facts.names.contains_key(name) {
                        return value;
                    }
                    facts.unit.imports.iter().find(|import| import.local == **name).and_then(|import| {
                        let Ty::Module(other) = self.module(*file, &import.module)? else { return None };
                        self.exported_value(other, import.member.as_deref()?, 0)
                    })
                }
                Value::Member(of, name) => match self.ty(of, owner_file(of)) {
                    Ty::Module(file) => self.exported_value(file, name, 0),
                    _ => None,
                },
                _ => None,
            };
            match next {
                Some(next) if next != value => value = next,
                _ => return value,
            }
        }
        value
    }
}

/// The file a value's names belong to.
pub(in crate::program) fn owner_file(value: &Value) -> u32 {
    match value {
        Value::Module(file, _) => *file,
        Value::Param(function, _)
        | Value::This(function)
        | Value::Captured(function, _)
        | Value::Result(function, _)
        | Value::Function(function) => function.file,
        other => other.children().first().map_or(0, |child| owner_file(child)),
    }
}
