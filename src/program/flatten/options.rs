//! Options given as constants: what a callee does where an option is set otherwise is not what this call does.

use std::sync::Arc;

use super::Writer;
use super::inline::Subst;
use crate::facts::{Guard, Value};
use crate::files::Atom;
use crate::program::flat::Flat;
use crate::program::{ClassRef, Tree, Ty};
use crate::syntax::{BinaryOp, ExprKind, Param, Shape, is_computed};

impl Subst<'_, '_> {
    /// The constant that a parameter is where a call leaves it out. A call without any arguments may be a callback's, whose
    /// arguments are not known.
    pub(super) fn left_out(&self, param: &Param) -> Option<Value> {
        let spread = |name: &Option<Atom>| matches!(name.as_deref(), Some("*" | "**" | "..."));
        if self.args.is_empty() || self.args.iter().any(|(name, _)| spread(name)) {
            return None;
        }
        match &param.default.as_ref()?.kind {
            ExprKind::Null => Some(Value::Null),
            ExprKind::Bool(truth) => Some(Value::Bool(*truth)),
            ExprKind::Number(number) => Some(Value::Number(*number)),
            _ => None,
        }
    }

    /// Whether a condition is settled otherwise by what this call gives: constants, and the keys of an object literal.
    /// `known` keeps what is said of each condition.
    pub(super) fn contradicts(
        &self,
        guard: &Guard,
        flat: &Flat,
        writer: &Writer<'_, '_>,
        known: &mut [Option<Option<bool>>],
    ) -> bool {
        let at = guard.cond as usize;
        let (Some(cond), Some(known)) = (flat.conds.get(at), known.get_mut(at)) else { return false };
        let truth = *known.get_or_insert_with(|| self.settles(&cond.value, flat, writer));
        truth.is_some_and(|truth| truth != guard.holds)
    }

    /// Which of two values it is, where what this call gives settles it.
    pub(super) fn chosen<'v>(&self, parts: &'v [Value; 3], map: &[Option<Value>], writer: &Writer<'_, '_>) -> Option<&'v Value> {
        let cond = self.speaks_of_argument(&parts[0]).then(|| self.value(&parts[0], map, writer))?;
        self.truth(&cond).map(|holds| &parts[if holds { 1 } else { 2 }])
    }

    fn settles(&self, cond: &Value, flat: &Flat, writer: &Writer<'_, '_>) -> Option<bool> {
        match cond {
            Value::Not(inner) => self.settles(inner, flat, writer).map(|truth| !truth),
            // `"url" in options`
            Value::Flat(index) => {
                let (callee, args) = flat.events.get(*index as usize)?.call()?;
                let (Value::Member(of, operator), [(None, Value::Text(key))]) = (callee, args) else { return None };
                let asked = &**operator == "__contains__" && self.speaks_of_argument(of);
                asked.then(|| self.value(of, &[], writer)).and_then(|of| has(&of, key))
            }
            _ => self.speaks_of_argument(cond).then(|| self.value(cond, &[], writer)).and_then(|value| self.truth(&value)),
        }
    }

    /// Whether a value counts as true, where that is known.
    fn truth(&self, value: &Value) -> Option<bool> {
        match value {
            Value::Bool(truth) => Some(*truth),
            Value::Number(number) => Some(*number != 0.0),
            Value::Text(text) => Some(!text.is_empty()),
            Value::Function(_) => Some(true),
            Value::Not(inner) => self.truth(inner).map(|truth| !truth),
            Value::All(parts) => match parts.iter().map(|part| self.truth(part)).collect::<Vec<_>>() {
                known if known.contains(&Some(false)) => Some(false),
                known => (!known.is_empty() && known.iter().all(|truth| *truth == Some(true))).then_some(true),
            },
            Value::Choose(parts) => match self.truth(&parts[0]) {
                Some(holds) => self.truth(&parts[if holds { 1 } else { 2 }]),
                None => self.truth(&parts[1]).filter(|truth| self.truth(&parts[2]) == Some(*truth)),
            },
            Value::Op(BinaryOp::Equal, pair) => self.each_same(&pair[0], &pair[1]),
            Value::Op(BinaryOp::NotEqual, pair) => self.each_same(&pair[0], &pair[1]).map(|same| !same),
            // One of several, of which each says the same.
            Value::Is(inner, shape) if inner.options().len() > 1 => {
                agreed(inner.options().into_iter().map(|one| self.truth(&Value::Is(Arc::new(one.clone()), shape.clone()))))
            }
            Value::Is(inner, shape) => match &**shape {
                Shape::Null => is_null(self.tree, inner),
                Shape::Present => is_null(self.tree, inner).map(|null| !null),
                Shape::Bool(wanted) => match &**inner {
                    Value::Bool(truth) => Some(truth == wanted),
                    _ => None,
                },
                Shape::Text(wanted) => match (self.constant(inner)?, &**inner) {
                    // A variant's name, where the value is one.
                    (Value::Member(..), Value::Member(_, name)) => Some(**name == **wanted),
                    (Value::Text(text), _) => Some(*text == **wanted),
                    _ => None,
                },
                Shape::Number(wanted) => match self.constant(inner)? {
                    Value::Number(number) => Some(number == *wanted),
                    _ => None,
                },
                _ => None,
            },
            other => is_null(self.tree, other).filter(|null| *null).map(|_| false),
        }
    }

    /// Whether two values are the same, where each may be one of several constants and all of them say so.
    fn each_same(&self, one: &Value, other: &Value) -> Option<bool> {
        let others = other.options();
        agreed(one.options().into_iter().flat_map(|one| others.iter().map(move |other| self.same(one, other))))
    }

    /// Whether two constants are the same, where both are known.
    fn same(&self, one: &Value, other: &Value) -> Option<bool> {
        if let (Value::Member(left, one), Value::Member(right, other)) = (one, other)
            && self.class(left).is_some_and(|class| self.class(right) == Some(class))
        {
            return Some(one == other);
        }
        // Nothing at all is no literal.
        if matches!((one, other), (Value::Null, _) | (_, Value::Null)) {
            return self.constant(if *one == Value::Null { other } else { one }).map(|_| false);
        }
        match (self.constant(one)?, self.constant(other)?) {
            (Value::Text(one), Value::Text(other)) => Some(one == other),
            (Value::Number(one), Value::Number(other)) => Some(one == other),
            (Value::Bool(one), Value::Bool(other)) => Some(one == other),
            _ => None,
        }
    }

    /// What a name or a member of an enumeration stands for: a literal, the value beside its label (`PAID = "paid", "Paid"`),
    /// or the member itself where it has no value.
    fn constant(&self, value: &Value) -> Option<Value> {
        match (self.tree.settled(value), value) {
            (literal @ (Value::Text(_) | Value::Number(_) | Value::Bool(_)), _) => Some(literal),
            (Value::List(items), Value::Member(..)) => items.first().filter(|first| matches!(first, Value::Text(_))).cloned(),
            (_, Value::Member(of, _)) if self.class(of).is_some() => Some(value.clone()),
            _ => None,
        }
    }

    /// The class or enumeration of the tree that a value names.
    fn class(&self, value: &Value) -> Option<ClassRef> {
        match (value, self.tree.ty(value, self.target.file)) {
            (Value::Module(..) | Value::Member(..), Ty::Class(class)) => Some(class),
            _ => None,
        }
    }

    fn speaks_of_argument(&self, value: &Value) -> bool {
        value.any(&|part| matches!(part, Value::Param(function, _) if *function == self.target))
    }
}

/// What all answers say, where they are known and agree.
fn agreed(mut said: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let first = said.next()??;
    said.all(|next| next == Some(first)).then_some(first)
}

/// Whether a literal has a key, where all its keys are known.
fn has(value: &Value, key: &str) -> Option<bool> {
    let Value::Object(_, entries) = value else { return None };
    if entries.iter().any(|(known, _)| &**known == key) {
        return Some(true);
    }
    entries.iter().all(|(known, _)| &**known != "..." && !is_computed(known)).then_some(false)
}

/// Whether a value is null, where that is known.
fn is_null(tree: &Tree, value: &Value) -> Option<bool> {
    match value {
        Value::Null => Some(true),
        Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Template(_) => Some(false),
        Value::Object(..) | Value::List(_) | Value::Function(_) => Some(false),
        // A key that the literal does not have. How many there are is asked of many, of which it is one.
        Value::Member(of, key) if **key != *"..." && !tree.book.verbs.is_size(key) => {
            has(of, key).filter(|has| !has).map(|_| true)
        }
        _ => None,
    }
}
