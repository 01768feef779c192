//! Functions that a program gathers first and calls later: what is put into a list or a map of handlers, where, and by whom.

use super::settled::owner_file;
use super::{DEEPEST, Tree};
use crate::facts::{Act, FnRef, Value};
use crate::files::Atom;
use crate::program::{Ty, meaning};
use crate::rules::Meaning;

/// At most so many functions behind one call are looked at.
const MOST: usize = 24;

/// A function that was put into a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gathered {
    /// The function.
    pub function: FnRef,
    /// The call that put it there, or that handed it to what does: the function it stands in, and the event.
    pub by: Option<(FnRef, u32)>,
}

impl Tree {
    /// The functions that a call of an element of a collection may call: `handler()` in a loop over handlers, `entry.run()` in one
    /// over entries.
    pub fn gathered(&self, callee: &Value) -> Vec<Gathered> {
        // What a helper is given to run.
        let local = |function: &FnRef, name: &Atom| self.facts(*function).and_then(|facts| facts.locals.get(name));
        let given = match callee {
            Value::Captured(function, name) => local(function, name).unwrap_or(callee),
            other => other,
        };
        if let Value::Param(..) = given {
            let mut found = vec![];
            self.named_by(given, None, &mut found);
            return found;
        }
        let (element, member) = match self.element_behind(given, 0) {
            Some(collection) => (Some(collection), None),
            None => match callee {
                Value::Member(of, name) => (self.element_behind(of, 0), Some(name)),
                _ => (None, None),
            },
        };
        let mut found = vec![];
        for (value, by) in element.map(|collection| self.put_into(&collection)).unwrap_or_default() {
            let value = match (member, given, &value) {
                (Some(name), _, _) => value.member(name.clone()),
                // One of those that an item is put together of: `("daily", "0 0 * * *", run)`.
                (None, Value::Index(_, at), Value::List(_)) => Value::item(value.into(), at.clone()),
                _ => value,
            };
            self.named_by(&value, by, &mut found);
            if found.len() >= MOST {
                break;
            }
        }
        found
    }

    /// The collection of which a value is an element.
    fn element_behind(&self, value: &Value, depth: u32) -> Option<Value> {
        match value {
            Value::Element(of) => Some((**of).clone()),
            Value::Index(of, key) if !matches!(**key, Value::Text(_) | Value::Number(_)) => Some((**of).clone()),
            // The second of a pair that a loop over entries gives.
            Value::Index(of, _) => self.element_behind(of, depth + 1).filter(|_| depth < DEEPEST / 4),
            Value::Captured(function, name) if depth < DEEPEST / 4 => {
                let known = self.facts(*function)?.locals.get(name).filter(|known| *known != value)?;
                self.element_behind(known, depth + 1)
            }
            Value::Param(function, 0) => self.gone_through_by(*function),
            Value::Result(function, event) => match &self.facts(*function)?.events.get(*event as usize)?.act {
                Act::Call { callee: callee @ Value::Member(of, _), args, .. } => {
                    let gets = meaning(self, callee, args, function.file).is_some_and(|meant| meant.is == Meaning::Get);
                    gets.then(|| (**of).clone())
                }
                Act::Call { callee, args, .. } if depth < DEEPEST / 4 => {
                    let passed = meaning(self, callee, args, function.file).filter(|meant| meant.is == Meaning::Pass)?;
                    self.element_behind(passed.part("of")?, depth + 1)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The collection of which a callback is given each (`tasks.map((task) => ...)`).
    fn gone_through_by(&self, callback: FnRef) -> Option<Value> {
        let parent = FnRef { func: self.function(callback)?.parent?.0, ..callback };
        self.facts(parent)?.events.iter().find_map(|event| {
            let Act::Call { callee, args, .. } = &event.act else { return None };
            args.iter().find(|(_, value)| *value == Value::Function(callback))?;
            meaning(self, callee, args, callback.file).filter(|meant| meant.is == Meaning::Calls)?.part("each").cloned()
        })
    }

    /// What is put into a collection: where it is made, and by the functions of its file.
    fn put_into(&self, collection: &Value) -> Vec<(Value, Option<(FnRef, u32)>)> {
        let mut found = vec![];
        let collection = self.collection(collection, 0);
        match self.settled(&collection) {
            Value::List(items) => found.extend(items.iter().map(|item| (item.clone(), None))),
            Value::Object(None, entries) => found.extend(entries.iter().map(|(_, item)| (item.clone(), None))),
            _ => {}
        }
        let collection = self.definition(&collection);
        let owner = |value: &Value| match value {
            Value::Member(of, _) => match &**of {
                Value::This(method) => self.class_of(*method),
                of => match self.ty(of, owner_file(of)) {
                    Ty::Instance(class) => Some(class),
                    _ => None,
                },
            },
            _ => None,
        };
        let own = owner(&collection);
        let same = |other: &Value| match (&collection, other) {
            (Value::Member(_, field), Value::Member(of, other_field)) => {
                field == other_field && own.is_some() && matches!(&**of, Value::This(method) if self.class_of(*method) == own)
            }
            (left, right) => left == right,
        };
        let file = own.map_or_else(|| owner_file(&collection), |class| class.file);
        let Some(facts) = self.files.get(file as usize) else { return found };
        for (func, function) in facts.functions.iter().enumerate() {
            for (number, event) in function.events.iter().enumerate() {
                let value = match &event.act {
                    Act::Call { callee: callee @ Value::Member(of, _), args, .. } if same(of) => {
                        let put = meaning(self, callee, args, file).filter(|meant| meant.is == Meaning::Put);
                        put.and_then(|put| put.part("value").cloned())
                    }
                    Act::Write { place: Value::Index(of, _), value, .. } if same(of) => Some(value.clone()),
                    _ => None,
                };
                let at = (FnRef { file, func: func as u32 }, number as u32);
                found.extend(value.map(|value| (value, Some(at))));
            }
        }
        found
    }

    /// The collection itself, behind what only lists what is in it (`Object.values(tasks)`, `tasks.values()`).
    fn collection(&self, value: &Value, depth: u32) -> Value {
        let inner = match value {
            Value::Result(function, event) if depth < DEEPEST / 4 => {
                match self.facts(*function).and_then(|facts| facts.events.get(*event as usize)).map(|event| &event.act) {
                    Some(Act::Call { callee: Value::Member(of, method), args, .. })
                        if matches!(&**method, "values" | "entries" | "items" | "iter" | "slice") =>
                    {
                        args.first()
                            .filter(|_| matches!(**of, Value::Global(_)))
                            .map(|(_, of)| of.clone())
                            .or(Some((**of).clone()))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        inner.map_or_else(|| value.clone(), |inner| self.collection(&inner, depth + 1))
    }

    /// The functions that a value names; where it is what a function was given, what its callers give.
    fn named_by(&self, value: &Value, by: Option<(FnRef, u32)>, found: &mut Vec<Gathered>) {
        let given = match value {
            Value::Param(function, index) => Some((*function, *index, None)),
            Value::Member(of, name) => match &**of {
                Value::Param(function, index) => Some((*function, *index, Some(name))),
                _ => None,
            },
            _ => None,
        };
        let Some((function, index, member)) = given.filter(|(function, ..)| self.given.calls.contains_key(function)) else {
            if let Ty::Function(function) = self.ty(value, owner_file(value)) {
                let gathered = Gathered { function, by };
                if !found.contains(&gathered) {
                    found.push(gathered);
                }
            }
            return;
        };
        for call in self.given.calls.get(&function).into_iter().flatten().take(MOST) {
            let event = self.facts(call.0).and_then(|facts| facts.events.get(call.1 as usize));
            let Some(Act::Call { args, .. }) = event.map(|event| &event.act) else { continue };
            let Some((_, given)) = args.iter().filter(|(name, _)| name.is_none()).nth(index as usize) else { continue };
            let given = match member {
                Some(name) => given.member(name.clone()),
                None => given.clone(),
            };
            if let Ty::Function(function) = self.ty(&given, call.0.file) {
                found.push(Gathered { function, by: Some(*call) });
            }
        }
    }
}
