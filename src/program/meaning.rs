//! Binds calls to the rows of packs: what a call means, and where the parts of its meaning stand.

use std::cell::OnceCell;

use super::flat::{FlatEvent, Look, plain};
use super::settings::Setting;
use super::{Tree, Ty};
use crate::facts::{Arg, Value};
use crate::files::Atom;
use crate::rules::{CallRow, Meaning, Part, Pick, Row, Selector, Want};

/// Arguments of a call, with their keywords.
pub type Args = [Arg];

/// A call that a pack knows.
#[derive(Debug, Clone)]
pub struct Meant {
    /// What it means.
    pub is: Meaning,
    /// The parts of its meaning.
    pub parts: Vec<(Atom, Value)>,
    /// False where the receiver was taken by its looks.
    pub sure: bool,
    /// The receiver.
    pub receiver: Value,
    /// What the receiver is.
    pub receiver_ty: Ty,
    /// The pack's library.
    pub library: Atom,
    /// The path that matched.
    pub path: Atom,
    /// The row, by its place in the pack.
    pub row: usize,
}

impl Meant {
    /// A part of the meaning.
    pub fn part(&self, name: &str) -> Option<&Value> {
        self.parts.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    /// A part that is a text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.part(name).and_then(Value::text)
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.part(name).is_some_and(|value| !matches!(value, Value::Bool(false) | Value::Null))
    }
}

/// What a call means; `None` when no pack knows it.
pub fn meaning(tree: &Tree, callee: &Value, args: &Args, file: u32) -> Option<Meant> {
    meaning_on(&Look { tree, events: &[] }, callee, &receiver(callee), args, file)
}

/// What a method is called on; a value that is called as a function is its own receiver.
pub(super) fn receiver(callee: &Value) -> Value {
    match callee {
        Value::Member(of, _) => (**of).clone(),
        other => other.clone(),
    }
}

/// The same, where the parts of the meaning are to speak of `receiver`, not of the callee's own.
pub fn meaning_on(look: &Look<'_>, callee: &Value, receiver: &Value, args: &Args, file: u32) -> Option<Meant> {
    let tree = look.tree;
    let ty = tree.ty(callee, file);
    let packs = tree.packs(file);
    let (receiver_ty, method) = match callee {
        Value::Member(of, name) => (tree.ty(of, file), Some(name.clone())),
        _ => (Ty::Unknown, None),
    };
    let call = Site { tree, events: look.events, receiver, receiver_ty, asked: OnceCell::new(), args };
    if let Ty::Lib { path, sure, .. } = &ty {
        let found = packs.rows(path).find(|row| call.holds(row.call));
        if let Some(row) = found.or_else(|| packs.rows(&format!("{path}()")).find(|row| call.holds(row.call))) {
            return Some(call.meant(row, *sure, path));
        }
        // A method this type is not known to have: only what any value has.
        if *sure && path.contains(':') {
            let of_any = |row: &Row<'_>| matches!(row.call.is, Meaning::Pass | Meaning::Calls) && call.holds(row.call);
            let any = packs.rows_of_method(method.as_deref()?).find(of_any)?;
            return Some(call.meant(any, true, path));
        }
    }
    if matches!(ty, Ty::Function(_) | Ty::Class(_)) {
        return None;
    }
    let method = method?;
    // A function of a module, given what it works on, is no method that hands its receiver on.
    let of_module = !args.is_empty() && matches!(&call.receiver_ty, Ty::Lib { path, .. } if !path.contains(['(', ':']));
    let fits = |row: &Row<'_>| {
        !(of_module && row.call.is == Meaning::Pass)
            && (!row.call.imported || imports(tree, file, row.call))
            && call.holds(row.call)
    };
    packs.rows_of_method(&method).find(fits).map(|row| call.meant(row, false, &method))
}

/// Whether a file imports anything of the libraries that a row speaks of.
fn imports(tree: &Tree, file: u32, row: &CallRow) -> bool {
    let first = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
    let of = |module: &str| row.on.iter().any(|on| first(on) == first(module));
    tree.files.get(file as usize).is_some_and(|facts| facts.unit.imports.iter().any(|import| of(&import.module)))
}

/// What a decorator means, with the function it decorates as a last resort for `handler` and `body`.
pub fn decorator(tree: &Tree, value: &Value, file: u32) -> Option<Meant> {
    match value {
        Value::Result(function, index) => {
            let event = tree.facts(*function)?.events.get(*index as usize)?;
            match &event.act {
                crate::facts::Act::Call { callee, args, .. } => meaning(tree, callee, args, file),
                _ => None,
            }
        }
        other => meaning(tree, other, &[], file),
    }
}

/// What rows on `path` say of a declaration without a call of its own: an attribute of a class with its value as the only argument,
/// a step on a builder that a callback is given.
pub fn meaning_at(tree: &Tree, path: &str, receiver: &Value, args: &Args, file: u32) -> Option<Meant> {
    let call = Site { tree, events: &[], receiver, receiver_ty: Ty::Unknown, asked: OnceCell::new(), args };
    tree.packs(file).rows(path).find(|row| call.holds(row.call)).map(|row| call.meant(row, true, path))
}

struct Site<'a> {
    tree: &'a Tree,
    events: &'a [FlatEvent],
    receiver: &'a Value,
    receiver_ty: Ty,
    /// The arguments as they stand in the tree, of which conditions are asked; parts are picked from those of the function.
    asked: OnceCell<Vec<Arg>>,
    args: &'a Args,
}

impl Site<'_> {
    fn holds(&self, row: &CallRow) -> bool {
        if row.when.is_empty() {
            return true;
        }
        let in_tree = || self.args.iter().map(|(name, value)| (name.clone(), plain(self.events, value))).collect();
        let args = self.asked.get_or_init(in_tree);
        let asked = Site { args, receiver_ty: self.receiver_ty.clone(), asked: OnceCell::new(), ..*self };
        row.when.iter().all(|(selector, want)| {
            let found = asked.pick(selector).map(|value| self.tree.settled(&value));
            match want {
                Want::Present(present) => {
                    let there = !matches!(found, None | Some(Value::Null | Value::Bool(false)));
                    there == *present && (there || !asked.may_hold(selector))
                }
                Want::Text(text) => self.is_text(found.as_ref(), text),
                Want::OneOf(texts) => texts.iter().any(|text| self.is_text(found.as_ref(), text)),
            }
        })
    }

    fn is_text(&self, found: Option<&Value>, text: &str) -> bool {
        match found {
            Some(Value::Bool(truth)) => text.parse::<bool>() == Ok(*truth),
            Some(Value::Number(number)) => text.parse::<f64>().is_ok_and(|wanted| wanted == *number),
            Some(value) => {
                let known = value.text().or_else(|| self.tree.name_of(&plain(self.events, &self.passed_on(value))));
                known.is_some_and(|known| known.eq_ignore_ascii_case(text))
            }
            None => false,
        }
    }

    /// What a call only hands on, and what a sum begins with.
    fn passed_on(&self, value: &Value) -> Value {
        let look = Look { tree: self.tree, events: &[] };
        let mut at = value.clone();
        for _ in 0..4 {
            let file = super::tree::owner_file(&at);
            let inner = match &at {
                Value::Op(_, pair) => Some(pair[0].clone()),
                Value::Result(..) => {
                    look.meaning(&at, file).filter(|meant| meant.is == Meaning::Pass).and_then(|meant| meant.part("of").cloned())
                }
                _ => None,
            };
            match inner {
                Some(inner) => at = inner,
                None => break,
            }
        }
        at
    }

    fn meant(&self, row: Row<'_>, sure: bool, path: &str) -> Meant {
        let parts = row
            .call
            .with
            .iter()
            .filter_map(|(name, part)| {
                let value = match part {
                    Part::Flag(flag) => Value::Bool(*flag),
                    Part::Number(number) => Value::Number(*number),
                    Part::At(selector) => self.pick(selector)?,
                };
                Some((Atom::from(name.as_str()), value))
            })
            .collect();
        Meant {
            is: row.call.is,
            parts,
            sure,
            receiver: self.receiver.clone(),
            receiver_ty: self.receiver_ty.clone(),
            library: row.pack.library.name.as_str().into(),
            path: path.into(),
            row: row.number,
        }
    }

    fn pick(&self, selector: &Selector) -> Option<Value> {
        selector.options.iter().find_map(|pick| self.pick_one(pick))
    }

    fn positional(&self) -> impl Iterator<Item = &Value> {
        self.args.iter().filter(|(name, _)| name.is_none()).map(|(_, value)| value)
    }

    fn pick_one(&self, pick: &Pick) -> Option<Value> {
        match pick {
            Pick::Arg(index, keys) => self.inside(self.positional().nth(*index)?, keys),
            Pick::Keyword(name, keys) => {
                let found = self.args.iter().find(|(known, _)| known.as_deref() == Some(name))?;
                self.inside(&found.1, keys)
            }
            Pick::Receiver(keys) => self.inside(self.receiver, keys),
            // What is taken out of something under a name goes by that name.
            Pick::Owner => match self.tree.settled(self.receiver) {
                Value::Index(_, key) if matches!(*key, Value::Text(_)) => Some((*key).clone()),
                _ => self.tree.name_of(self.receiver).map(|name| Value::Text(name.into())),
            },
            Pick::Flag(flag) => self.flag_at(flag).map(|_| Value::Bool(true)),
            Pick::After(flag) => self.positional().nth(self.flag_at(flag)? + 1).cloned(),
            Pick::Last => self.positional().last().cloned(),
            Pick::Rest(from) => Some(Value::List(self.positional().skip(*from).cloned().collect())),
            Pick::Keywords(but) => {
                let named = self.args.iter().filter_map(|(name, value)| Some((name.clone()?, value.clone())));
                let entries: Vec<_> = named.filter(|(name, _)| !but.iter().any(|left| **left == **name)).collect();
                (!entries.is_empty()).then(|| Value::Object(None, entries.into()))
            }
            Pick::Setting(key) => match self.tree.setting(key, &self.asked_part()) {
                Setting::Known(scope, _) => Some(Value::Text(scope.name().into())),
                Setting::Unknown => None,
            },
            Pick::Constant(text) => Some(Value::Text(text.as_str().into())),
        }
    }

    /// The part of a setting that the receiver asks for: the key it was taken out under.
    fn asked_part(&self) -> String {
        match self.tree.settled(self.receiver) {
            Value::Index(_, key) => self.tree.settled(&key).text(),
            _ => None,
        }
        .unwrap_or_else(|| "default".to_owned())
    }

    fn flag_at(&self, flag: &str) -> Option<usize> {
        self.positional().position(|value| match value {
            Value::Text(text) => text.eq_ignore_ascii_case(flag),
            // A bare word in an attribute.
            Value::Global(word) => **word == *flag,
            _ => false,
        })
    }

    /// Whether a part that is not found may still be there: options are spread into the object from what cannot be followed.
    fn may_hold(&self, selector: &Selector) -> bool {
        selector.options.iter().any(|pick| match pick {
            Pick::Arg(index, keys) => {
                self.positional().nth(*index).zip(keys.first()).is_some_and(|(object, key)| self.entry(object, key).is_err())
            }
            _ => false,
        })
    }

    fn inside(&self, value: &Value, keys: &[String]) -> Option<Value> {
        keys.iter().try_fold(value.clone(), |value, key| self.entry(&value, key).ok().flatten())
    }

    /// The entry of an object, its own or one of an object spread into it, or for `*` the first of a list or of an object; an error where it may stand in what cannot be followed.
    fn entry(&self, value: &Value, key: &str) -> Result<Option<Value>, Unseen> {
        let settled = self.tree.settled(value);
        if let (Value::List(items), "*") = (&settled, key) {
            return Ok(items.first().cloned());
        }
        if let (Value::Object(None, entries), "*") = (&settled, key) {
            return Ok(entries.first().map(|(_, value)| value.clone()));
        }
        // What a callback makes of each element.
        if let (Value::Flat(index), "*") = (&settled, key) {
            let made = self
                .events
                .get(*index as usize)
                .filter(|event| event.meant(Meaning::Calls).is_some_and(|calls| calls.part("each").is_some()));
            return Ok(made.and_then(|event| event.returns.first()).map(|(value, _)| value.clone()));
        }
        let Value::Object(_, entries) = &settled else { return Ok(None) };
        if let Some(own) = settled.entry(key) {
            return Ok(Some(own.clone()));
        }
        // What is spread in later wins.
        for (_, spread) in entries.iter().rev().filter(|(name, _)| &**name == "...") {
            match self.tree.settled(spread) {
                Value::Object(..) => match self.entry(spread, key) {
                    Ok(None) => {}
                    found => return found,
                },
                Value::Null => {}
                _ => return Err(Unseen),
            }
        }
        Ok(None)
    }
}

/// A part of an object cannot be seen.
struct Unseen;
