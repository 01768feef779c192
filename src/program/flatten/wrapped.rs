//! Functions that stand in the place of others: what decorators of the tree make of a function, and what a function of the tree
//! makes of those it is given. What such a function captures is what its maker was given.

use std::sync::Arc;

use super::Writer;
use super::inline::Subst;
use crate::facts::{Act, Arg, FnRef, Value, renewed_args};
use crate::files::Atom;
use crate::program::{Spot, Tree, Ty};
use crate::syntax::{CallForm, ExitKind, Gathers, Target};

/// Arguments with their keywords.
pub(super) type Given = Vec<(Option<Atom>, Value)>;

/// Makers follow each other this deep: `@locked("key")` calls one that makes another.
const DEEPEST: usize = 4;

/// A function that others of the tree made.
pub(super) struct Closure {
    /// The function.
    pub function: FnRef,
    /// The functions it is written in, with what each was given.
    pub made_by: Vec<(FnRef, Given)>,
}

/// A function inside of what its decorators made of it.
#[derive(Clone, Copy)]
pub(super) struct Unwrapped {
    /// The function.
    pub function: FnRef,
    /// How many of its decorators, outermost first, are around it.
    pub inside: usize,
    /// What the innermost of these made.
    pub wrapper: FnRef,
}

impl Writer<'_, '_> {
    /// What the decorators of a function make of it, and how many of them are behind that; `inside` so many of them already.
    pub(super) fn decorated(&self, target: FnRef, inside: usize) -> Option<(Closure, usize)> {
        let decorators = &self.tree.facts(target)?.decorators;
        decorators.iter().enumerate().skip(inside).find_map(|(place, (value, _))| {
            let decorator = match self.made(value, 0) {
                Some(made) => made,
                None => match self.tree.ty(value, target.file) {
                    Ty::Function(function) => Closure { function, made_by: vec![] },
                    _ => return None,
                },
            };
            let given = self.handed_to(decorator.function, target);
            let wrapper = self.given_out(decorator, given)?;
            (wrapper.function != target).then_some((wrapper, place + 1))
        })
    }

    /// What a decorator is handed: the function, or, where it takes more, a target, a name and what describes the member, in
    /// which the function is the value.
    fn handed_to(&self, decorator: FnRef, target: FnRef) -> Given {
        let function = Value::Function(target);
        let name = || self.tree.function(target).map(|known| Value::Text(known.name.as_str().into())).unwrap_or_default();
        match describes(self.tree, decorator) {
            true => {
                let described = Value::Object(None, Arc::new(vec![(Atom::from(VALUE), function)]));
                vec![(None, Value::Unknown), (None, name()), (None, described)]
            }
            false => vec![(None, function)],
        }
    }

    /// The closure behind a name, where a call made it, and that call.
    pub(super) fn closure(&self, callee: &Value) -> Option<(Closure, Spot)> {
        match self.tree.settled(callee) {
            Value::Result(function, event) => {
                let span = self.tree.facts(function)?.events.get(event as usize)?.span;
                let made = self.made(&Value::Result(function, event), 0)?;
                Some((made, Spot { file: function.file, span }))
            }
            _ => None,
        }
    }

    /// The closure that a call makes.
    fn made(&self, value: &Value, depth: usize) -> Option<Closure> {
        let Value::Result(function, event) = value else { return None };
        let Act::Call { callee, args, form: CallForm::Plain, .. } = &self.tree.facts(*function)?.events.get(*event as usize)?.act
        else {
            return None;
        };
        let maker = match self.tree.ty(callee, function.file) {
            Ty::Function(maker) => match self.tree.settled(callee) {
                made @ Value::Result(..) if depth < DEEPEST => self.made(&made, depth + 1)?,
                _ => Closure { function: maker, made_by: vec![] },
            },
            _ => return None,
        };
        self.given_out(maker, args.to_vec())
    }

    /// The inner function that a function returns, given these arguments.
    fn given_out(&self, maker: Closure, args: Given) -> Option<Closure> {
        let facts = self.tree.facts(maker.function)?;
        let inner = |value: &Value| match value {
            Value::Function(inner) => Some(*inner),
            _ => None,
        };
        let function = facts.events.iter().rev().find_map(|event| match &event.act {
            // What takes the place of the member's value.
            Act::Write { place: Value::Member(of, name), value, .. } if is_described(of, maker.function) && &**name == VALUE => {
                inner(value)
            }
            Act::Exit { kind: ExitKind::Return, value: value @ Value::Object(..) } if describes(self.tree, maker.function) => {
                value.entry(VALUE).and_then(inner)
            }
            Act::Exit { kind: ExitKind::Return, value } => match value {
                Value::Result(owner, index) if *owner == maker.function => match &facts.events.get(*index as usize)?.act {
                    Act::Call { args, .. } => args.iter().find_map(|(_, value)| inner(value)),
                    _ => None,
                },
                value => inner(value),
            },
            _ => None,
        })?;
        let mut made_by = maker.made_by;
        made_by.push((maker.function, args));
        Some(Closure { function, made_by })
    }

    /// Whether a function takes the object it is called on as its first argument once a decorator stands around it.
    pub(super) fn takes_its_object_first(&self, target: FnRef, wrapper: FnRef) -> bool {
        let method = |function: FnRef| self.tree.function(function).is_some_and(|f| f.class.is_some() && !f.flags.is_static);
        let speaks_of_it = |value: &Value| value.any(&|part| *part == Value::This(wrapper));
        let says_this = || {
            self.tree.facts(wrapper).is_some_and(|facts| {
                facts.events.iter().any(|event| match &event.act {
                    Act::Call { callee, args, .. } => speaks_of_it(callee) || args.iter().any(|(_, value)| speaks_of_it(value)),
                    _ => false,
                })
            })
        };
        method(target) && !method(wrapper) && !says_this()
    }
}

/// The member of a description that is what it describes (ECMAScript, property descriptors).
const VALUE: &str = "value";

/// Whether a decorator takes the description of a member, which it then changes or gives another for.
fn describes(tree: &Tree, decorator: FnRef) -> bool {
    let speaks = |value: &Value| value.any(&|part| is_described(part, decorator));
    let takes = tree.function(decorator).is_some_and(|known| known.params.len() == 3);
    takes
        && tree.facts(decorator).is_some_and(|facts| {
            let of_value = |value: &Value| matches!(value, Value::Member(of, name) if speaks(of) && &**name == VALUE);
            facts.locals.values().any(of_value)
                || facts.events.iter().any(|event| match &event.act {
                    Act::Write { place, .. } => of_value(place),
                    _ => false,
                })
        })
}

fn is_described(value: &Value, decorator: FnRef) -> bool {
    matches!(value, Value::Param(function, 2) if *function == decorator)
}

impl Subst<'_, '_> {
    /// The value of a parameter of the callee.
    pub(super) fn argument(&self, index: u32) -> Option<Value> {
        let function = self.tree.function(self.target)?;
        let param = function.params.get(index as usize)?;
        if let Target::Name(name, _) = &param.target
            && let Some((_, value)) = self.args.iter().find(|(known, _)| known.as_deref() == Some(name))
        {
            return Some(value.clone());
        }
        let mut by_position = self.args.iter().filter(|(name, _)| name.is_none()).map(|(_, value)| value);
        match param.gathers {
            Some(Gathers::Positions) => {
                let rest: Vec<Value> = by_position.skip(index as usize).cloned().collect();
                (!rest.is_empty()).then(|| Value::List(rest.into()))
            }
            Some(Gathers::Keywords) => {
                let own =
                    |name: &str| function.params.iter().any(|param| matches!(&param.target, Target::Name(own, _) if own == name));
                let key = |name: &Atom| if &**name == "**" { "...".into() } else { name.clone() };
                let named = self.args.iter().filter_map(|(name, value)| Some((name.as_ref()?, value)));
                let rest =
                    named.filter(|(name, _)| &***name != "*" && !own(name)).map(|(name, value)| (key(name), value.clone()));
                (!self.args.is_empty()).then(|| Value::Object(None, rest.collect::<Vec<_>>().into()))
            }
            None => by_position.nth(index as usize).cloned().or_else(|| self.left_out(param)),
        }
    }

    /// What a variable of a function that made the callee is, where the maker was given it.
    pub(super) fn captured(&self, function: FnRef, name: &Atom) -> Option<Value> {
        let (maker, given) = self.made_by.iter().find(|(maker, _)| *maker == function)?;
        let made =
            Subst { tree: self.tree, root: self.root, target: *maker, receiver: Value::Unknown, args: given, made_by: &[] };
        match self.tree.facts(*maker)?.locals.get(name)? {
            Value::Param(owner, index) if owner == maker => made.argument(*index),
            Value::Member(of, field) => match &**of {
                Value::Param(owner, index) if owner == maker => made.argument(*index)?.entry(field).cloned(),
                _ => None,
            },
            _ => None,
        }
    }

    /// A call's arguments in the caller's terms; those that the callee only hands on (`fn(*args, **kwargs)`) one by one.
    pub(super) fn handed_on(&self, args: &Arc<[Arg]>, new: &dyn Fn(&Value) -> Option<Value>) -> Arc<[Arg]> {
        if !args.iter().any(|(name, _)| matches!(name.as_deref(), Some("*" | "**"))) {
            return renewed_args(args, new);
        }
        let params = self.tree.function(self.target).map_or(&[][..], |function| &function.params);
        let gathered = |given: &Value, how: Gathers| match given {
            Value::Param(function, index) if *function == self.target => {
                params.get(*index as usize).is_some_and(|param| param.gathers == Some(how)).then_some(*index as usize)
            }
            _ => None,
        };
        let has_own = |name: &str| params.iter().any(|param| matches!(&param.target, Target::Name(own, _) if own == name));
        let mut all: Given = Vec::with_capacity(args.len());
        for (name, arg) in args.iter() {
            let positions = gathered(arg, Gathers::Positions).filter(|_| name.as_deref() == Some("*"));
            let keywords = gathered(arg, Gathers::Keywords).filter(|_| name.as_deref() == Some("**"));
            if let Some(first) = positions {
                all.extend(self.args.iter().filter(|(name, _)| name.is_none()).skip(first).cloned());
                all.extend(self.args.iter().filter(|(name, _)| name.as_deref() == Some("*")).cloned());
            } else if keywords.is_some() {
                let named = |name: &Option<Atom>| name.as_deref().is_some_and(|name| name != "*" && !has_own(name));
                all.extend(self.args.iter().filter(|(name, _)| named(name)).cloned());
            } else {
                all.push((name.clone(), new(arg).unwrap_or_else(|| arg.clone())));
            }
        }
        all.into()
    }
}
