//! [`Flat`]: one function with everything it calls written out in order. Detectors read nothing else.

use std::collections::HashSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::meaning::Args;
use super::{Kv, Meant, Statement, Tree};
use crate::facts::{Act, Arg, FnRef, Guard, Value};
use crate::files::{Atom, Span};
use crate::rules::Meaning;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spot {
    /// Index of the file.
    pub file: u32,
    /// Where in it.
    pub span: Span,
}

/// A function, written out.
#[derive(Debug)]
pub struct Flat {
    /// The function.
    pub root: FnRef,
    /// In order.
    pub events: Vec<FlatEvent>,
    /// Conditions that guards point into.
    pub conds: Vec<FlatCond>,
    /// What it returns, and when.
    pub returns: Vec<(Value, Vec<Guard>)>,
}

/// A condition.
#[derive(Debug, Clone)]
pub struct FlatCond {
    /// The tested value, in terms of the flat function.
    pub value: Value,
    /// Where.
    pub at: Spot,
}

/// What an event means.
#[derive(Debug, Clone, Default)]
pub enum What {
    /// Nothing known.
    #[default]
    Nothing,
    /// A pack's row.
    Meant(Arc<Meant>),
    /// A statement on a database.
    Statement(Arc<Statement>),
    /// A command of a key-value store.
    Kv(Arc<Kv>),
    /// Outside work or a read, presumed by its name.
    Presumed(Arc<Presumed>),
}

impl What {
    /// The same meaning, with the values in it replaced for which `new` gives another. What does not change is shared.
    pub fn map(&self, new: &dyn Fn(&Value) -> Option<Value>) -> What {
        match self {
            What::Meant(meant) => {
                let receiver = new(&meant.receiver);
                let parts: Vec<Option<Value>> = meant.parts.iter().map(|(_, part)| new(part)).collect();
                if receiver.is_none() && parts.iter().all(Option::is_none) {
                    return self.clone();
                }
                let mut meant = (**meant).clone();
                meant.receiver = receiver.unwrap_or(meant.receiver);
                for ((_, part), new) in meant.parts.iter_mut().zip(parts) {
                    *part = new.unwrap_or_else(|| std::mem::take(part));
                }
                What::Meant(Arc::new(meant))
            }
            What::Statement(statement) => What::Statement(Arc::new(statement.map(new))),
            What::Presumed(presumed) if presumed.rows.is_some() => {
                let rows = presumed.rows.as_ref().map(|rows| Arc::new(rows.map(new)));
                What::Presumed(Arc::new(Presumed { rows, ..(**presumed).clone() }))
            }
            What::Kv(kv) => {
                let mut kv = (**kv).clone();
                [&mut kv.key, &mut kv.value].into_iter().chain(&mut kv.ttl).for_each(|value| put(value, new));
                What::Kv(Arc::new(kv))
            }
            other => other.clone(),
        }
    }
}

fn put(place: &mut Value, new: &dyn Fn(&Value) -> Option<Value>) {
    if let Some(value) = new(place) {
        *place = value;
    }
}

/// A call taken by its name.
#[derive(Debug, Clone)]
pub struct Presumed {
    /// The name.
    pub name: Atom,
    /// The name of its receiver.
    pub owner: Option<Atom>,
    /// A read, not a write.
    pub reads: bool,
    /// Outside work whatever the receiver.
    pub strong: bool,
    /// The rows it reads or changes, where its receiver and arguments show them.
    pub rows: Option<Arc<Statement>>,
}

/// An event of a flat function.
#[derive(Debug, Clone)]
pub struct FlatEvent {
    /// Where.
    pub at: Spot,
    /// The calls that lead there, outermost first.
    pub hops: Arc<[Spot]>,
    /// What happens, in terms of the flat function.
    pub act: Act,
    /// What it means.
    pub what: What,
    /// What must hold.
    pub guards: Arc<[Guard]>,
    /// Events whose bodies it is in.
    pub within: Arc<[u32]>,
    /// The innermost loop's place, and whether it is endless.
    pub in_loop: Option<(Spot, bool)>,
    /// In the body of a `try` with handlers: the types caught, and whether all handlers throw again.
    pub caught: Option<(Arc<[String]>, bool)>,
    /// In a handler.
    pub in_catch: bool,
    /// In a `finally`.
    pub in_finally: bool,
    /// One past the last event before its result dies.
    pub lives_to: u32,
    /// The name its result is bound to.
    pub bound: Option<Atom>,
    /// Nothing looks at its result.
    pub dropped: bool,
    /// Its error leaves the function.
    pub propagated: bool,
    /// It runs beside the caller: locks of the caller are not held.
    pub detached: bool,
    /// The function and event it comes from.
    pub origin: (FnRef, u32),
    /// Its callee's body follows.
    pub inlined: bool,
    /// What the inlined callee returns, and when.
    pub returns: Vec<(Value, Vec<Guard>)>,
}

/// What lies behind a value, as far as it was followed.
#[derive(Default)]
struct Behind {
    /// What decides which value it is counts too.
    decided: bool,
    events: HashSet<u32>,
    conds: FxHashSet<u32>,
}

impl FlatEvent {
    /// The pack's row, if it is of this meaning.
    pub fn meant(&self, is: Meaning) -> Option<&Meant> {
        match &self.what {
            What::Meant(meant) if meant.is == is => Some(meant),
            _ => None,
        }
    }

    /// The statement, if it is one.
    pub fn statement(&self) -> Option<&Statement> {
        match &self.what {
            What::Statement(statement) => Some(statement),
            _ => None,
        }
    }

    /// The statement that a call taken by its name looks like.
    pub fn presumed_rows(&self) -> Option<&Statement> {
        match &self.what {
            What::Presumed(presumed) => presumed.rows.as_deref(),
            _ => None,
        }
    }

    /// The store command, if it is one.
    pub fn kv(&self) -> Option<&Kv> {
        match &self.what {
            What::Kv(kv) => Some(kv),
            _ => None,
        }
    }

    /// The library whose call it is, where a pack knows it.
    pub fn library(&self) -> Option<&Atom> {
        match &self.what {
            What::Meant(meant) => Some(&meant.library),
            What::Statement(statement) => statement.library.as_ref(),
            What::Kv(kv) => Some(&kv.library),
            What::Nothing | What::Presumed(_) => None,
        }
    }

    /// Whether its result is worked out from what the call was made on and given.
    pub fn computes(&self) -> bool {
        match &self.what {
            What::Nothing => !self.inlined,
            What::Meant(meant) => matches!(
                meant.is,
                Meaning::Pass
                    | Meaning::Pure
                    | Meaning::Build
                    | Meaning::Get
                    | Meaning::Test
                    | Meaning::Put
                    | Meaning::Acquire
                    | Meaning::Lock
                    | Meaning::Client
                    | Meaning::Time
                    | Meaning::Clock
                    | Meaning::Least
                    | Meaning::Greatest
                    | Meaning::Calls
                    | Meaning::Transaction
            ),
            _ => false,
        }
    }

    /// Whether it waits for what others answer: that is not made of the question.
    pub fn answers_from_outside(&self) -> bool {
        self.meant(Meaning::Pure).is_some_and(|meant| meant.part("kind").is_some())
    }

    /// Callee and arguments of a call.
    pub fn call(&self) -> Option<(&Value, &Args)> {
        match &self.act {
            Act::Call { callee, args, .. } => Some((callee, args)),
            _ => None,
        }
    }
}

impl Flat {
    /// Events a value depends on. Through calls that only compute it goes on to their arguments; at calls that read or
    /// decide it stops.
    pub fn depends(&self, value: &Value) -> HashSet<u32> {
        let mut behind = Behind { decided: true, ..Behind::default() };
        self.follow(value, &mut behind, 0);
        behind.events
    }

    /// Events whose results a value is made of: as [`Flat::depends`], but for what only decides which value it is.
    pub fn made_of(&self, value: &Value) -> HashSet<u32> {
        let mut behind = Behind::default();
        self.follow(value, &mut behind, 0);
        behind.events
    }

    fn follow(&self, value: &Value, behind: &mut Behind, depth: u32) {
        if depth > 24 {
            return;
        }
        if let Value::Flat(index) = value {
            if !behind.events.insert(*index) {
                return;
            }
            let Some(event) = self.events.get(*index as usize) else { return };
            for (value, guards) in &event.returns {
                self.follow(value, behind, depth + 1);
                for guard in guards.iter() {
                    if behind.decided
                        && behind.conds.insert(guard.cond)
                        && let Some(cond) = self.conds.get(guard.cond as usize)
                    {
                        self.follow(&cond.value, behind, depth + 1);
                    }
                }
            }
            if event.computes()
                && (behind.decided || !event.answers_from_outside())
                && let Some((callee, args)) = event.call()
            {
                if let Value::Member(receiver, _) = callee {
                    self.follow(receiver, behind, depth + 1);
                }
                for (_, arg) in args {
                    self.follow(arg, behind, depth + 1);
                }
            }
            return;
        }
        value.each_child(&mut |child| self.follow(child, behind, depth + 1));
    }

    /// Events whose results a value is, or is a part of: who changes it changes them. Of what a call nobody knows gives, that is
    /// what the call was made on and what it was given whole by position. What it makes of a member (an address of its text) is
    /// another thing, and so is an object that holds what it was given by name.
    pub fn part_of(&self, value: &Value) -> HashSet<u32> {
        let mut found = HashSet::new();
        self.parts(value, false, &mut found, 0);
        found
    }

    /// What is put into a container.
    fn put_into(&self, container: &Value) -> impl Iterator<Item = &Value> {
        self.events.iter().filter_map(move |event| match &event.act {
            Act::Write { place: Value::Index(of, _), value, .. } if **of == *container => Some(value),
            _ => event.meant(Meaning::Put).filter(|put| put.receiver == *container).and_then(|put| put.part("value")),
        })
    }

    /// What a call nobody knows was given by this name, where a value is its result.
    fn given(&self, value: &Value, name: &str) -> Option<&Value> {
        let Value::Flat(index) = value else { return None };
        let event = self.events.get(*index as usize).filter(|event| event.computes())?;
        let (_, args) = event.call()?;
        args.iter().find(|(known, _)| known.as_deref() == Some(name)).map(|(_, value)| value)
    }

    fn parts(&self, value: &Value, made: bool, found: &mut HashSet<u32>, depth: u32) {
        if depth > 24 {
            return;
        }
        match value {
            Value::Flat(index) => {
                if !found.insert(*index) {
                    return;
                }
                let Some(event) = self.events.get(*index as usize) else { return };
                event.returns.iter().for_each(|(value, _)| self.parts(value, made, found, depth + 1));
                // Of what a container holds, it is what was put there.
                if let Some(got) = event.meant(Meaning::Get) {
                    let receiver = got.receiver.clone();
                    self.put_into(&receiver).for_each(|value| self.parts(value, made, found, depth + 1));
                    self.parts(&receiver, made, found, depth + 1);
                    return;
                }
                let passes = matches!(&event.what, What::Meant(meant) if meant.is == Meaning::Pass);
                if (passes || event.computes())
                    && let Some((callee, args)) = event.call()
                {
                    if let Value::Member(receiver, _) = callee {
                        self.parts(receiver, made, found, depth + 1);
                    }
                    let whole = args.iter().filter(|(name, _)| name.as_deref().is_none_or(|name| name == "*"));
                    whole.for_each(|(_, arg)| self.parts(arg, made || !passes, found, depth + 1));
                }
            }
            Value::Member(of, name) if !made => match self.given(of, name) {
                Some(given) => self.parts(given, made, found, depth + 1),
                None => self.parts(of, made, found, depth + 1),
            },
            Value::Index(of, _) | Value::Element(of) => self.parts(of, made, found, depth + 1),
            Value::List(items) | Value::All(items) | Value::Any(items) => {
                items.iter().for_each(|item| self.parts(item, made, found, depth + 1));
            }
            Value::Choose(parts) => parts[1..].iter().for_each(|part| self.parts(part, made, found, depth + 1)),
            Value::Mix(items) => items.iter().for_each(|item| self.parts(item, true, found, depth + 1)),
            _ => {}
        }
    }

    /// The value with this function's events replaced by the facts they come from, so that a [`Tree`] can tell its type.
    pub fn plain(&self, value: &Value) -> Value {
        plain(&self.events, value)
    }

    /// Whether anything tests, returns or passes on an event's result.
    pub fn used(&self, index: u32) -> bool {
        let tested = || self.conds.iter().any(|cond| self.depends(&cond.value).contains(&index));
        let returned = || self.returns.iter().any(|(value, _)| self.depends(value).contains(&index));
        let event = &self.events[index as usize];
        !event.dropped && (tested() || returned()) || tested()
    }
}

pub(in crate::program) fn plain(events: &[FlatEvent], value: &Value) -> Value {
    value.map(&mut |part| match part {
        Value::Flat(index) => events.get(*index as usize).map(|event| Value::Result(event.origin.0, event.origin.1)),
        _ => None,
    })
}

/// Access to the calls behind values, in a flat function or in facts.
pub struct Look<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// Events of the flat function so far.
    pub events: &'a [FlatEvent],
}

impl Look<'_> {
    /// Callee and arguments of the call a value is the result of.
    pub fn call(&self, value: &Value) -> Option<(Value, Vec<Arg>)> {
        match value {
            Value::Flat(index) => {
                let (callee, args) = self.events.get(*index as usize)?.call()?;
                Some((callee.clone(), args.to_vec()))
            }
            Value::Result(function, index) => match &self.tree.facts(*function)?.events.get(*index as usize)?.act {
                Act::Call { callee, args, .. } => Some((callee.clone(), args.to_vec())),
                _ => None,
            },
            _ => None,
        }
    }

    /// The meaning of the call a value is the result of.
    pub fn meaning(&self, value: &Value, file: u32) -> Option<Arc<Meant>> {
        if let Value::Flat(index) = value
            && let What::Meant(meant) = &self.events.get(*index as usize)?.what
        {
            return Some(meant.clone());
        }
        let (callee, args) = self.call(value)?;
        let receiver = match &callee {
            Value::Member(of, _) => (**of).clone(),
            _ => Value::Unknown,
        };
        super::meaning::meaning_on(self, &plain(self.events, &callee), &receiver, &args, file).map(Arc::new)
    }
}
