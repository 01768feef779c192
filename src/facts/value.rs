//! Symbolic values: what is known of a value without running anything.

use std::sync::Arc;

use crate::files::Atom;
use crate::syntax::{BinaryOp, Shape, is_computed};

/// A function of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FnRef {
    /// Index of its file.
    pub file: u32,
    /// Index in its file; 0 is the module's top level.
    pub func: u32,
}

/// What is known of a value. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Unknown,
    /// Null, undefined, `None`.
    Null,
    /// A constant.
    Bool(bool),
    /// A constant.
    Number(f64),
    /// A constant.
    Text(Atom),
    /// A text with values in it.
    Template(Arc<[Piece]>),
    /// A parameter of a function.
    Param(FnRef, u32),
    /// The receiver of a method.
    This(FnRef),
    /// A module-level name of a file: a variable, function, class or import.
    Module(u32, Atom),
    /// A name nothing in its file binds.
    Global(Atom),
    /// A variable of an enclosing function.
    Captured(FnRef, Atom),
    /// A member of a value.
    Member(Arc<Value>, Atom),
    /// An element by key.
    Index(Arc<Value>, Arc<Value>),
    /// One of the elements, as a loop gives them.
    Element(Arc<Value>),
    /// The result of an event of a function.
    Result(FnRef, u32),
    /// The result of an event of a flattened function (made by `program`).
    Flat(u32),
    /// An object, dict or struct literal, with the struct's name.
    Object(Option<Atom>, Arc<Vec<(Atom, Value)>>),
    /// A list, tuple or set literal.
    List(Arc<[Value]>),
    /// A function or lambda.
    Function(FnRef),
    /// An operator on two values.
    Op(BinaryOp, Arc<[Value; 2]>),
    /// The opposite.
    Not(Arc<Value>),
    /// A test for a shape.
    Is(Arc<Value>, Arc<Shape>),
    /// All of these hold.
    All(Arc<[Value]>),
    /// One of these; which one is not known, or the first that is not null or false.
    Any(Arc<[Value]>),
    /// The second where the first holds, else the third.
    Choose(Arc<[Value; 3]>),
    /// Depends on these in a way that is not followed further.
    Mix(Arc<[Value]>),
}

/// A part of a [`Value::Template`].
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Constant text.
    Text(Atom),
    /// A value.
    Value(Value),
}

/// Values larger than this many nodes lose their shape and keep only what they depend on.
const LARGEST: usize = 96;

impl Value {
    /// The text of a constant, or of a template with `{}` for its values.
    pub fn text(&self) -> Option<String> {
        match self {
            Value::Text(text) => Some(text.to_string()),
            Value::Template(pieces) => Some(
                pieces
                    .iter()
                    .map(|piece| match piece {
                        Piece::Text(text) => text.to_string(),
                        Piece::Value(Value::Text(text)) => text.to_string(),
                        Piece::Value(_) => "{}".to_owned(),
                    })
                    .collect(),
            ),
            Value::Op(BinaryOp::Add, pair) => {
                let (left, right) = (pair[0].text(), pair[1].text());
                match (left, right) {
                    (None, None) => None,
                    (left, right) => Some(left.unwrap_or("{}".into()) + &right.unwrap_or("{}".into())),
                }
            }
            _ => None,
        }
    }

    /// A member of this value; of an object literal, the entry itself. What is left of an object when members are taken out
    /// (`...`) still has them here: of a literal it is the literal, and its members are the object's.
    pub fn member(&self, name: impl AsRef<str> + Into<Atom>) -> Value {
        match self {
            Value::Object(..) if name.as_ref() == "..." => return self.clone(),
            Value::Member(of, rest) if &**rest == "..." => return of.member(name),
            _ => {}
        }
        if let Value::Object(_, entries) = self
            && let Some((_, value)) = entries.iter().rev().find(|(key, _)| **key == *name.as_ref())
        {
            return value.clone();
        }
        // What is asked for a member was not null.
        if let Value::Any(_) | Value::Choose(_) = self {
            let mut there = self.options().into_iter().filter(|option| !matches!(option, Value::Null));
            if let (Some(only @ Value::Object(..)), None) = (there.next(), there.next())
                && let Some(value) = only.entry(name.as_ref())
            {
                return value.clone();
            }
        }
        // What an object does not name itself is of the one object that it is spread from.
        if let Value::Object(None, entries) = self
            && entries.iter().all(|(key, _)| !is_computed(key))
            && let mut spread = entries.iter().filter(|(key, _)| **key == *"...")
            && let (Some((_, of)), None) = (spread.next(), spread.next())
        {
            return of.member(name);
        }
        Value::Member(Arc::new(self.clone()), name.into())
    }

    /// What stands at a key; of a list that is written out, the item itself.
    pub fn item(of: Arc<Value>, key: Arc<Value>) -> Value {
        match (&*of, &*key) {
            (Value::List(items), Value::Number(at)) if *at >= 0.0 && at.fract() == 0.0 => {
                items.get(*at as usize).cloned().unwrap_or(Value::Index(of.clone(), key.clone()))
            }
            _ => Value::Index(of, key),
        }
    }

    /// The entry of an object literal, if it is one and has it.
    pub fn entry(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(_, entries) => entries.iter().rev().find(|(key, _)| &**key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The values directly inside this one.
    pub fn children(&self) -> Vec<&Value> {
        match self {
            Value::Template(pieces) => pieces
                .iter()
                .filter_map(|piece| match piece {
                    Piece::Value(value) => Some(value),
                    Piece::Text(_) => None,
                })
                .collect(),
            Value::Member(inner, _) | Value::Element(inner) | Value::Not(inner) | Value::Is(inner, _) => vec![inner],
            Value::Index(of, key) => vec![of, key],
            Value::Object(_, entries) => entries.iter().map(|(_, value)| value).collect(),
            Value::List(items) | Value::All(items) | Value::Any(items) | Value::Mix(items) => items.iter().collect(),
            Value::Op(_, pair) => pair.iter().collect(),
            Value::Choose(parts) => parts.iter().collect(),
            _ => vec![],
        }
    }

    /// Whether one of the values directly inside this one satisfies `test`; those after it are not asked.
    fn any_child<'a>(&'a self, test: &mut dyn FnMut(&'a Value) -> bool) -> bool {
        match self {
            Value::Template(pieces) => pieces.iter().any(|piece| match piece {
                Piece::Value(value) => test(value),
                Piece::Text(_) => false,
            }),
            Value::Member(inner, _) | Value::Element(inner) | Value::Not(inner) | Value::Is(inner, _) => test(inner),
            Value::Index(of, key) => test(of) || test(key),
            Value::Object(_, entries) => entries.iter().any(|(_, value)| test(value)),
            Value::List(items) | Value::All(items) | Value::Any(items) | Value::Mix(items) => items.iter().any(test),
            Value::Op(_, pair) => pair.iter().any(test),
            Value::Choose(parts) => parts.iter().any(test),
            _ => false,
        }
    }

    /// Calls `visit` on each value directly inside this one.
    pub fn each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        self.any_child(&mut |child| {
            visit(child);
            false
        });
    }

    /// Calls `visit` on this value and everything inside it, outermost first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        visit(self);
        self.any_child(&mut |child| {
            child.walk(visit);
            false
        });
    }

    /// Whether anything inside satisfies `test`.
    pub fn any(&self, test: &dyn Fn(&Value) -> bool) -> bool {
        test(self) || self.any_child(&mut |child| child.any(test))
    }

    /// This value with every part replaced by what `replace` gives for it, outermost first; parts for which it gives
    /// nothing are rebuilt from their own parts.
    pub fn map(&self, replace: &mut dyn FnMut(&Value) -> Option<Value>) -> Value {
        self.mapped(replace).unwrap_or_else(|| self.clone())
    }

    /// The same; `None` where nothing in it is replaced, so that what stays is shared and not made anew.
    pub fn mapped(&self, replace: &mut dyn FnMut(&Value) -> Option<Value>) -> Option<Value> {
        if let Some(value) = replace(self) {
            return Some(value);
        }
        match self {
            Value::Template(pieces) => {
                let of = |piece: &Piece| match piece {
                    Piece::Text(_) => None,
                    Piece::Value(value) => value.mapped(replace).map(Piece::Value),
                };
                replaced(pieces, of).map(|pieces| Value::Template(pieces.into()))
            }
            Value::Member(inner, name) => match inner.mapped(replace) {
                Some(inner) => Some(inner.member(name.clone())),
                None => inner.entry(name).filter(|_| &**name != "...").cloned(),
            },
            Value::Index(of, key) => both(of, key, replace).map(|(of, key)| Value::item(of, key)),
            Value::Element(inner) => inner.mapped(replace).map(|inner| Value::Element(Arc::new(inner))),
            Value::Not(inner) => inner.mapped(replace).map(|inner| Value::Not(Arc::new(inner))),
            Value::Is(inner, shape) => inner.mapped(replace).map(|inner| Value::Is(Arc::new(inner), shape.clone())),
            Value::Object(ty, entries) => {
                let of = |(key, value): &(Atom, Value)| value.mapped(replace).map(|value| (key.clone(), value));
                replaced(entries, of).map(|entries| Value::Object(ty.clone(), entries.into()))
            }
            Value::List(items) => replaced(items, |item| item.mapped(replace)).map(|items| Value::List(items.into())),
            Value::All(items) => replaced(items, |item| item.mapped(replace)).map(|items| Value::All(items.into())),
            Value::Any(items) => replaced(items, |item| item.mapped(replace)).map(Value::one_of),
            Value::Mix(items) => replaced(items, |item| item.mapped(replace)).map(|items| Value::Mix(items.into())),
            Value::Op(op, pair) => {
                let [left, right] = &**pair;
                let (new_left, new_right) = (left.mapped(replace), right.mapped(replace));
                let changed = new_left.is_some() || new_right.is_some();
                changed.then(|| {
                    let left = new_left.unwrap_or_else(|| left.clone());
                    Value::Op(*op, Arc::new([left, new_right.unwrap_or_else(|| right.clone())]))
                })
            }
            Value::Choose(parts) => {
                let new = [parts[0].mapped(replace), parts[1].mapped(replace), parts[2].mapped(replace)];
                let changed = new.iter().any(Option::is_some);
                changed.then(|| {
                    let mut kept = parts.iter();
                    let of = |new: Option<Value>| {
                        let old = kept.next();
                        new.or_else(|| old.cloned()).unwrap_or_default()
                    };
                    Value::Choose(Arc::new(new.map(of)))
                })
            }
            _ => None,
        }
    }

    /// This value with its parts replaced and within bounds; `None` where nothing in it changes.
    pub fn renewed(&self, replace: &mut dyn FnMut(&Value) -> Option<Value>) -> Option<Value> {
        match self.mapped(replace) {
            Some(value) => Some(value.bounded()),
            None => self.larger_than(&mut { LARGEST }).then(|| self.clone().bounded()),
        }
    }

    /// What lets those past who do not come to a second test, and those who pass it.
    pub fn let_past(entered: Vec<Value>, passed: Vec<Value>) -> Value {
        Value::Mix([Value::All(entered.into()), Value::All(passed.into())].into()).bounded()
    }

    /// Whether it is such a condition: some come past it without having been asked.
    pub fn lets_past(&self) -> bool {
        matches!(self, Value::Mix(parts) if matches!(&parts[..], [Value::All(_), Value::All(_)]))
    }

    /// One of several values; equal ones count once.
    pub fn one_of(values: impl IntoIterator<Item = Value>) -> Value {
        let mut kept: Vec<Value> = vec![];
        for value in values {
            let parts = match &value {
                Value::Any(items) => items.to_vec(),
                _ => vec![value],
            };
            for part in parts {
                if !kept.contains(&part) {
                    kept.push(part);
                }
            }
        }
        match kept.len() {
            0 => Value::Unknown,
            1 => kept.swap_remove(0),
            _ => Value::Any(kept.into()).bounded(),
        }
    }

    /// This value, or only its dependencies where it has grown too large to be worth its shape.
    pub fn bounded(self) -> Value {
        if !self.larger_than(&mut { LARGEST }) {
            return self;
        }
        let mut leaves: Vec<Value> = vec![];
        self.walk(&mut |value| {
            if matches!(value, Value::Result(..) | Value::Flat(_) | Value::Param(..) | Value::Module(..))
                && leaves.len() < 8
                && !leaves.contains(value)
            {
                leaves.push(value.clone());
            }
        });
        Value::Mix(leaves.into())
    }

    /// Whether this value has more than `left` nodes.
    fn larger_than(&self, left: &mut usize) -> bool {
        match left.checked_sub(1) {
            Some(less) => *left = less,
            None => return true,
        }
        self.any_child(&mut |child| child.larger_than(left))
    }

    /// The alternatives of a value that is one of several; itself otherwise.
    pub fn options(&self) -> Vec<&Value> {
        match self {
            Value::Any(items) => items.iter().flat_map(Value::options).collect(),
            Value::Choose(parts) => parts[1].options().into_iter().chain(parts[2].options()).collect(),
            other => vec![other],
        }
    }
}

/// A list with some of its items replaced; `None` where none is.
pub(super) fn replaced<T: Clone>(items: &[T], mut of: impl FnMut(&T) -> Option<T>) -> Option<Vec<T>> {
    let mut changed: Option<Vec<T>> = None;
    for (index, item) in items.iter().enumerate() {
        match (of(item), &mut changed) {
            (Some(new), Some(list)) => list.push(new),
            (Some(new), None) => {
                let mut list = Vec::with_capacity(items.len());
                list.extend_from_slice(&items[..index]);
                list.push(new);
                changed = Some(list);
            }
            (None, Some(list)) => list.push(item.clone()),
            (None, None) => {}
        }
    }
    changed
}

/// Two values with some of their parts replaced; `None` where none is.
fn both(
    left: &Arc<Value>,
    right: &Arc<Value>,
    replace: &mut dyn FnMut(&Value) -> Option<Value>,
) -> Option<(Arc<Value>, Arc<Value>)> {
    let (new_left, new_right) = (left.mapped(replace), right.mapped(replace));
    let changed = new_left.is_some() || new_right.is_some();
    changed.then(|| (new_left.map_or_else(|| left.clone(), Arc::new), new_right.map_or_else(|| right.clone(), Arc::new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_replaced_is_shared() {
        let list: Arc<[Value]> = [Value::Null, Value::Bool(true)].into();
        let value = Value::List(list.clone());
        assert_eq!(value.mapped(&mut |_| None), None);
        let swap = |part: &Value| (*part == Value::Null).then_some(Value::Bool(false));
        assert_eq!(value.map(&mut { swap }), Value::List([Value::Bool(false), Value::Bool(true)].into()));
    }

    #[test]
    fn one_of_keeps_each_value_once() {
        assert_eq!(Value::one_of([Value::Null, Value::Null]), Value::Null);
        assert_eq!(Value::one_of([Value::Null, Value::Bool(true)]).options().len(), 2);
    }

    #[test]
    fn a_member_of_a_literal_is_its_entry() {
        let object = Value::Object(None, vec![(Atom::from("a"), Value::Number(1.0))].into());
        assert_eq!(object.member("a"), Value::Number(1.0));
    }
}
