//! What a program hangs on an object of a library that every request hands it again (`app.state.codes = CodeBook()`): it is found
//! by its name or key on any value of such a type.

use crate::files::Atom;
use std::collections::{HashMap, HashSet};

use super::{DEEPEST, Tree};
use crate::facts::{Act, Event, FnRef, Value};
use crate::program::Ty;
use crate::rules::{Meaning, TypeKind};

/// What was hung on such an object: the function that does it, and the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// The function.
    pub function: FnRef,
    /// The event that hangs it there.
    pub event: u32,
}

/// What may hang on something.
#[derive(Debug, Default)]
pub(super) struct Hung {
    /// Methods by which something is put on an object that carries it.
    puts: HashSet<String>,
    /// Writes to members and entries of anything but an object's own, by the name of the member or key.
    by_name: HashMap<Atom, Vec<Carried>>,
}

/// What an event hangs on something: on what, under which key, and what.
struct Hanging<'e> {
    on: &'e Value,
    key: Value,
    value: &'e Value,
}

fn hanging<'e>(event: &'e Event, puts: &HashSet<String>) -> Option<Hanging<'e>> {
    match &event.act {
        Act::Write { place: Value::Member(on, name), value, op: None, .. } if !matches!(**on, Value::This(_)) => {
            Some(Hanging { on, key: Value::Text(name.clone()), value })
        }
        Act::Write { place: Value::Index(on, key), value, op: None, .. } => Some(Hanging { on, key: (**key).clone(), value }),
        Act::Call { callee: Value::Member(on, method), args, .. } if puts.contains(&**method) => match &args[..] {
            [(None, key), (_, value)] => Some(Hanging { on, key: key.clone(), value }),
            _ => None,
        },
        _ => None,
    }
}

/// The name by which a key is looked for: its text, or that of the constant it is.
fn name_of_key(key: &Value) -> Option<&Atom> {
    match key {
        Value::Text(name) | Value::Module(_, name) | Value::Member(_, name) => Some(name),
        _ => None,
    }
}

impl Tree {
    /// What hangs under a key on a value of this type, where the type is one that carries what programs hang on it.
    pub fn carried(&self, on: &Ty, key: &Value, file: u32) -> Option<Carried> {
        self.carried_at(on, key, file, 0)
    }

    pub(super) fn carried_at(&self, on: &Ty, key: &Value, file: u32, depth: u32) -> Option<Carried> {
        let path = on.path().filter(|_| depth < DEEPEST / 2)?;
        if self.packs(file).kind(path) != TypeKind::Carrier {
            return None;
        }
        let language = self.files.get(file as usize)?.unit.language;
        let hung = self.hung().by_name.get(name_of_key(key)?)?;
        hung.iter().copied().find(|carried| {
            let other = carried.function.file;
            let same_language = self.files.get(other as usize).is_some_and(|facts| facts.unit.language == language);
            same_language
                && self.hangs(*carried).is_some_and(|found| {
                    let same_key = match (&found.key, key) {
                        (Value::Text(left), Value::Text(right)) => left == right,
                        (Value::Text(_), _) | (_, Value::Text(_)) => false,
                        (left, right) => self.definition(left) == self.definition(right),
                    };
                    let carrier = |ty: &Ty| ty.path().is_some_and(|path| self.packs(other).kind(path) == TypeKind::Carrier);
                    same_key && carrier(&self.ty_at(found.on, other, depth + 2))
                })
        })
    }

    /// The value that was hung there.
    pub fn carried_value(&self, carried: Carried) -> Option<&Value> {
        self.hangs(carried).map(|found| found.value)
    }

    fn hangs(&self, carried: Carried) -> Option<Hanging<'_>> {
        hanging(self.facts(carried.function)?.events.get(carried.event as usize)?, &self.hung().puts)
    }

    /// What a value is that hangs on another, by its key.
    pub(super) fn carried_ty(&self, on: &Ty, key: &Value, file: u32, depth: u32) -> Option<Ty> {
        let carried = self.carried_at(on, key, file, depth)?;
        let value = self.carried_value(carried)?;
        let ty = self.ty_at(value, carried.function.file, depth + 2);
        (!ty.is_unknown()).then_some(ty)
    }

    fn hung(&self) -> &Hung {
        self.hung.get_or_init(|| self.find_hung())
    }

    fn putting(&self) -> HashSet<String> {
        let packs = self.book.packs.values().flat_map(|packs| packs.packs());
        packs
            .flat_map(|pack| {
                let carriers: Vec<&str> =
                    pack.types.iter().filter(|ty| ty.is == TypeKind::Carrier).map(|ty| ty.name.as_str()).collect();
                let puts = pack.calls.iter().filter(|call| call.is == Meaning::Put).flat_map(|call| &call.on);
                puts.filter_map(move |path| path.rsplit_once('.').filter(|(ty, _)| carriers.contains(ty)))
            })
            .map(|(_, method)| method.to_owned())
            .collect()
    }

    fn find_hung(&self) -> Hung {
        let puts = self.putting();
        let mut by_name: HashMap<Atom, Vec<Carried>> = HashMap::new();
        for function in self.all_functions() {
            for (event, found) in (0..).zip(self.facts(function).into_iter().flat_map(|facts| &facts.events)) {
                if let Some(name) = hanging(found, &puts).as_ref().and_then(|found| name_of_key(&found.key)) {
                    by_name.entry(name.clone()).or_default().push(Carried { function, event });
                }
            }
        }
        Hung { puts, by_name }
    }
}
