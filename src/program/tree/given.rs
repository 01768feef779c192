//! What a parameter is of which nothing is declared: what the calls of the tree give for it.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::{DEEPEST, Tree};
use crate::facts::{Act, FnRef, Value};
use crate::files::Atom;
use crate::program::Ty;
use crate::rules::{FileRole, Meaning, Part, Pick, Row, Selector};
use crate::syntax::Target;

/// At most so many calls of a function are looked at.
const MOST: usize = 8;

/// How often all calls are looked at: what the first look finds shows more calls to the next.
pub(super) const LOOKS: usize = 2;

/// Who gives functions what.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Calls of functions of the tree and of its classes' constructors, by what is entered.
    pub(super) calls: HashMap<FnRef, Vec<(FnRef, u32)>>,
    /// What libraries hand functions that they are given.
    handed: HashMap<FnRef, Ty>,
}

/// What one file says of it.
#[derive(Default)]
struct Said {
    calls: Vec<(FnRef, (FnRef, u32))>,
    handed: Vec<(FnRef, Ty)>,
    /// Functions given for a parameter of a function of the tree.
    passed: Vec<(FnRef, Parameter)>,
    /// Calls of what is given for a parameter.
    called: Vec<(Parameter, (FnRef, u32))>,
}

/// A parameter, by its function and its number.
type Parameter = (FnRef, u32);

impl Tree {
    /// Who gives functions what, but for tests.
    pub(super) fn find_given(&self) -> Given {
        let of_file = |file: usize| {
            let facts = &self.files[file];
            let imports = facts.unit.imports.iter().map(|import| import.module.as_str());
            if self.book.reach.role(&self.paths[file], imports) == FileRole::Test {
                return Said::default();
            }
            let mut found = Said::default();
            for (func, function) in facts.functions.iter().enumerate() {
                for (number, event) in function.events.iter().enumerate() {
                    let Act::Call { callee, args, .. } = &event.act else { continue };
                    let call = (FnRef { file: facts.file, func: func as u32 }, number as u32);
                    if let Some(parameter) = self.parameter(callee) {
                        found.called.push((parameter, call));
                        continue;
                    }
                    let target = match self.ty(callee, facts.file) {
                        Ty::Function(target) => Some(target),
                        Ty::Class(class) => self.constructors(class).next(),
                        Ty::Lib { path, .. } => {
                            found.handed.extend(self.handed(&path, callee, args, facts.file));
                            None
                        }
                        _ => None,
                    };
                    let Some(target) = target else { continue };
                    found.calls.push((target, call));
                    let given = (0..).zip(args.iter()).filter_map(|(at, (name, value))| match (name, value) {
                        (None, Value::Function(body)) => Some((*body, (target, at))),
                        _ => None,
                    });
                    found.passed.extend(given);
                }
            }
            found
        };
        let all: Vec<_> = (0..self.files.len()).into_par_iter().map(of_file).collect();
        let mut given = Given::default();
        let mut called: HashMap<Parameter, Vec<(FnRef, u32)>> = HashMap::new();
        for (parameter, call) in all.iter().flat_map(|said| &said.called) {
            called.entry(*parameter).or_default().push(*call);
        }
        for said in all {
            for (target, call) in said.calls {
                given.calls.entry(target).or_default().push(call);
            }
            // Who is handed a function calls it.
            for (body, parameter) in said.passed {
                given.calls.entry(body).or_default().extend(called.get(&parameter).into_iter().flatten());
            }
            for (target, ty) in said.handed {
                given.handed.entry(target).or_insert(ty);
            }
        }
        given
    }

    /// The parameter that a value is, in its own function or in one written inside it.
    fn parameter(&self, value: &Value) -> Option<Parameter> {
        match value {
            Value::Param(function, index) => Some((*function, *index)),
            Value::Captured(function, name) => match self.facts(*function)?.locals.get(name)? {
                Value::Param(owner, index) => Some((*owner, *index)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a library's call hands a function that it is given.
    fn handed(&self, path: &str, callee: &Value, args: &[(Option<Atom>, Value)], file: u32) -> Option<(FnRef, Ty)> {
        let calls = |row: &Row<'_>| matches!(row.call.is, Meaning::Calls | Meaning::Transaction);
        self.packs(file).rows(path).filter(calls).find_map(|row| {
            let pick = |name: &str| match row.call.with.get(name)? {
                Part::At(selector) => self.simple_pick(selector, callee, args),
                _ => None,
            };
            let hands = match row.call.with.get("hands") {
                Some(Part::At(Selector { options })) => match &options[..] {
                    [Pick::Constant(name)] => Some(format!("{}:{name}", row.pack.library.name)),
                    _ => None,
                },
                _ => None,
            };
            let ty = match (hands, pick("each"), pick("gives")) {
                (Some(id), _, _) => Ty::Lib { path: id.into(), of: Arc::default(), sure: true },
                (None, Some(each), _) => self.element(&self.ty(&each, file), file),
                (None, None, gives) => self.ty(&gives?, file),
            };
            let Ty::Function(body) = self.ty(&pick("body")?, file) else { return None };
            (!ty.is_unknown()).then_some((body, ty))
        })
    }

    /// What all calls that show it give for a parameter; unknown where they differ.
    pub(super) fn given_ty(&self, function: FnRef, index: u32, depth: u32) -> Ty {
        if depth > DEEPEST / 2 {
            return Ty::Unknown;
        }
        if let Some(known) = self.params.get(&(function, index)) {
            return known;
        }
        let mut found = self.given.handed.get(&function).filter(|_| index == 0).cloned().unwrap_or_default();
        for call in self.given.calls.get(&function).into_iter().flatten().take(MOST) {
            let Some(value) = self.argument(*call, function, index) else { continue };
            let ty = self.ty_at(value, call.0.file, depth + DEEPEST / 4);
            match (&found, &ty) {
                // A function does what it does in each call's own place.
                (_, Ty::Unknown | Ty::Function(_)) => {}
                (Ty::Unknown, _) => found = ty,
                (same, other) if same == other => {}
                _ => {
                    found = Ty::Unknown;
                    break;
                }
            }
        }
        if depth < DEEPEST / 4 {
            self.params.keep((function, index), found.clone());
        }
        found
    }

    /// The calls of a function of the tree.
    pub fn calls_of(&self, function: FnRef) -> &[(FnRef, u32)] {
        self.given.calls.get(&function).map_or(&[], |calls| calls)
    }

    /// What a call gives for a parameter: by its position, or by its name.
    pub fn argument(&self, call: (FnRef, u32), function: FnRef, index: u32) -> Option<&Value> {
        let Act::Call { args, .. } = &self.facts(call.0)?.events.get(call.1 as usize)?.act else { return None };
        let param = self.function(function)?.params.get(index as usize).filter(|param| param.gathers.is_none())?;
        let named = match &param.target {
            Target::Name(name, _) => args.iter().find(|(known, _)| known.as_deref() == Some(&**name)),
            _ => None,
        };
        let spread = args.iter().take(index as usize + 1).any(|(name, _)| matches!(name.as_deref(), Some("*")));
        let placed = || args.iter().filter(|(name, _)| name.is_none()).nth(index as usize).filter(|_| !spread);
        let (_, value) = named.or_else(placed)?;
        (*value != Value::Param(function, index)).then_some(value)
    }
}
