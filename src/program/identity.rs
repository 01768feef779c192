//! What tells one copy of the program from another: its host's name, its process's number, a random name made when it starts.
//! It must not know what is done with it.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::flat::{Look, What, plain};
use super::instances::Instance;
use super::tree::owner_file;
use super::{Instances, Ty};
use crate::facts::{Act, FnRef, Value};
use crate::rules::Meaning;
use crate::syntax::ExitKind;

/// How many names, fields and calls a value is followed through.
const DEEPEST: u32 = 8;

/// Whether a value is made of what tells this copy from the others, so that no other copy comes to the same value. A row that was
/// found by such a value counts: it is this copy's own.
pub fn tells_copy(look: &Look<'_>, instances: &Instances, value: &Value) -> bool {
    Identity { look, instances, seen: RefCell::default() }.in_any(value, 0)
}

struct Identity<'a> {
    look: &'a Look<'a>,
    instances: &'a Instances,
    /// Events that were asked and told nothing, with how deep that was: values share most of what they are made of.
    seen: RefCell<FxHashMap<u32, u32>>,
}

impl Identity<'_> {
    fn in_any(&self, value: &Value, depth: u32) -> bool {
        depth < DEEPEST && value.any(&|part| self.is(part, depth + 1))
    }

    fn is(&self, value: &Value, depth: u32) -> bool {
        let tree = self.look.tree;
        match value {
            Value::Flat(index) => self.given(*index, depth),
            Value::Result(function, index) => self.made(*function, *index, depth),
            Value::Module(..) => {
                let Value::Module(file, name) = tree.definition(value) else { return false };
                let known = tree.files.get(file as usize).and_then(|facts| facts.names.get(&name));
                known.filter(|known| !known.reassigned).is_some_and(|known| self.lasting(&known.value, depth))
            }
            Value::Captured(function, name) => {
                let known = tree.facts(*function).and_then(|facts| facts.locals.get(name));
                known.is_some_and(|known| known != value && self.in_any(known, depth))
            }
            Value::Member(of, name) => match tree.ty(&plain(self.look.events, of), owner_file(of)) {
                Ty::Instance(class) => tree.field_value(class, name).is_some_and(|made| match self.instances.made(class) {
                    Instance::Single => self.lasting(&made, depth),
                    _ => self.in_any(&made, depth),
                }),
                Ty::Class(class) => tree.field_value(class, name).is_some_and(|made| self.lasting(&made, depth)),
                Ty::Module(file) => self.is(&Value::Module(file, name.clone()), depth + 1),
                ty => of_a_module(&ty) && tree.book.settings.tells_copy(name),
            },
            Value::Index(of, key) => {
                of_a_module(&tree.ty(of, owner_file(of))) && key.text().is_some_and(|key| tree.book.settings.tells_copy(&key))
            }
            _ => false,
        }
    }

    /// A value that the process keeps: there a random one is its own too.
    fn lasting(&self, value: &Value, depth: u32) -> bool {
        let random = value.any(&|part| {
            self.look.meaning(part, owner_file(part)).is_some_and(|meant| meant.is == Meaning::Fresh)
                || matches!(part, Value::Result(function, index) if self.passes_random(*function, *index))
        });
        random || self.in_any(value, depth)
    }

    /// `str(uuid4())`, `uuid4().hex()`: a call on a random value.
    fn passes_random(&self, function: FnRef, index: u32) -> bool {
        let fresh = |value: &Value| {
            value.any(&|part| self.look.meaning(part, function.file).is_some_and(|meant| meant.is == Meaning::Fresh))
        };
        let value = Value::Result(function, index);
        self.look.call(&value).is_some_and(|(callee, args)| fresh(&callee) || args.iter().any(|(_, value)| fresh(value)))
    }

    fn given(&self, index: u32, depth: u32) -> bool {
        if self.seen.borrow().get(&index).is_some_and(|seen| *seen <= depth) {
            return false;
        }
        self.seen.borrow_mut().insert(index, depth);
        let Some(event) = self.look.events.get(index as usize) else { return false };
        match &event.what {
            What::Meant(meant) => match meant.is {
                Meaning::Identity => true,
                Meaning::Pass => self.in_any(meant.part("of").unwrap_or(&meant.receiver), depth),
                _ => event.call().is_some_and(|(callee, args)| self.named(callee, args, event.origin.0.file)),
            },
            What::Statement(statement) => {
                statement.wheres.iter().any(|column| self.in_any(&column.value, depth))
                    || statement.entity.as_ref().is_some_and(|entity| self.in_any(entity, depth))
            }
            What::Nothing if event.inlined => event.returns.iter().any(|(value, _)| self.in_any(value, depth)),
            What::Nothing => event.call().is_some_and(|(callee, args)| {
                self.named(callee, args, event.origin.0.file)
                    || self.in_any(callee, depth)
                    || args.iter().any(|(_, value)| self.in_any(value, depth))
            }),
            _ => false,
        }
    }

    fn made(&self, function: FnRef, index: u32, depth: u32) -> bool {
        let tree = self.look.tree;
        let value = Value::Result(function, index);
        if self.look.meaning(&value, function.file).is_some_and(|meant| meant.is == Meaning::Identity) {
            return true;
        }
        let Some((callee, args)) = self.look.call(&value) else { return false };
        match tree.ty(&callee, function.file) {
            Ty::Function(target) => tree.facts(target).is_some_and(|facts| {
                facts.events.iter().any(|event| match &event.act {
                    Act::Exit { kind: ExitKind::Return, value } => self.in_any(value, depth),
                    _ => false,
                })
            }),
            _ => {
                self.named(&callee, &args, function.file)
                    || self.in_any(&callee, depth)
                    || args.iter().any(|(_, value)| self.in_any(value, depth))
            }
        }
    }

    /// Whether a module's function is asked for a variable of the environment that tells copies apart.
    fn named(&self, callee: &Value, args: &super::Args, file: u32) -> bool {
        let first = args.first().and_then(|(_, value)| value.text());
        first.is_some_and(|name| self.look.tree.book.settings.tells_copy(&name)) && of_a_module(&self.look.tree.ty(callee, file))
    }
}

/// Whether it is what a library's module has, not an object of one.
fn of_a_module(ty: &Ty) -> bool {
    matches!(ty, Ty::Lib { path, .. } if !path.contains([':', '(']))
}
