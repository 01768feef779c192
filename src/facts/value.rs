//! Symbolic values: what is known of a value without running anything.

use std::sync::Arc;

use crate::syntax::{BinaryOp, Shape};

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
    Text(Arc<str>),
    /// A text with values in it.
    Template(Arc<[Piece]>),
    /// A parameter of a function.
    Param(FnRef, u32),
    /// The receiver of a method.
    This(FnRef),
    /// A module-level name of a file: a variable, function, class or import.
    Module(u32, Arc<str>),
    /// A name nothing in its file binds.
    Global(Arc<str>),
    /// A variable of an enclosing function.
    Captured(FnRef, Arc<str>),
    /// A member of a value.
    Member(Arc<Value>, Arc<str>),
    /// An element by key.
    Index(Arc<Value>, Arc<Value>),
    /// One of the elements, as a loop gives them.
    Element(Arc<Value>),
    /// The result of an event of a function.
    Result(FnRef, u32),
    /// The result of an event of a flattened function (made by `program`).
    Flat(u32),
    /// An object, dict or struct literal, with the struct's name.
    Object(Option<Arc<str>>, Arc<[(Arc<str>, Value)]>),
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
    Text(Arc<str>),
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

    /// A member of this value; of an object literal, the entry itself.
    pub fn member(&self, name: &str) -> Value {
        if let Value::Object(_, entries) = self
            && let Some((_, value)) = entries.iter().rev().find(|(key, _)| &**key == name)
        {
            return value.clone();
        }
        Value::Member(Arc::new(self.clone()), name.into())
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

    /// Calls `visit` on this value and everything inside it, outermost first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    /// Whether anything inside satisfies `test`.
    pub fn any(&self, test: &dyn Fn(&Value) -> bool) -> bool {
        test(self) || self.children().into_iter().any(|child| child.any(test))
    }

    /// This value with every part replaced by what `replace` gives for it, outermost first; parts for which it gives
    /// nothing are rebuilt from their own parts.
    pub fn map(&self, replace: &mut dyn FnMut(&Value) -> Option<Value>) -> Value {
        if let Some(value) = replace(self) {
            return value;
        }
        let mut list = |items: &Arc<[Value]>| -> Arc<[Value]> { items.iter().map(|item| item.map(replace)).collect() };
        match self {
            Value::Template(pieces) => Value::Template(
                pieces
                    .iter()
                    .map(|piece| match piece {
                        Piece::Text(text) => Piece::Text(text.clone()),
                        Piece::Value(value) => Piece::Value(value.map(replace)),
                    })
                    .collect(),
            ),
            Value::Member(inner, name) => inner.map(replace).member(name),
            Value::Index(of, key) => Value::Index(Arc::new(of.map(replace)), Arc::new(key.map(replace))),
            Value::Element(inner) => Value::Element(Arc::new(inner.map(replace))),
            Value::Not(inner) => Value::Not(Arc::new(inner.map(replace))),
            Value::Is(inner, shape) => Value::Is(Arc::new(inner.map(replace)), shape.clone()),
            Value::Object(ty, entries) => {
                Value::Object(ty.clone(), entries.iter().map(|(key, value)| (key.clone(), value.map(replace))).collect())
            }
            Value::List(items) => Value::List(list(items)),
            Value::All(items) => Value::All(list(items)),
            Value::Any(items) => Value::one_of(list(items).iter().cloned()),
            Value::Mix(items) => Value::Mix(list(items)),
            Value::Op(op, pair) => Value::Op(*op, Arc::new([pair[0].map(replace), pair[1].map(replace)])),
            Value::Choose(parts) => {
                Value::Choose(Arc::new([parts[0].map(replace), parts[1].map(replace), parts[2].map(replace)]))
            }
            other => other.clone(),
        }
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
        let mut nodes = 0;
        self.walk(&mut |_| nodes += 1);
        if nodes <= LARGEST {
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

    /// The alternatives of a value that is one of several; itself otherwise.
    pub fn options(&self) -> Vec<&Value> {
        match self {
            Value::Any(items) => items.iter().flat_map(Value::options).collect(),
            Value::Choose(parts) => parts[1].options().into_iter().chain(parts[2].options()).collect(),
            other => vec![other],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_keeps_each_value_once() {
        assert_eq!(Value::one_of([Value::Null, Value::Null]), Value::Null);
        assert_eq!(Value::one_of([Value::Null, Value::Bool(true)]).options().len(), 2);
    }

    #[test]
    fn a_member_of_a_literal_is_its_entry() {
        let object = Value::Object(None, [(Arc::from("a"), Value::Number(1.0))].into());
        assert_eq!(object.member("a"), Value::Number(1.0));
    }
}
