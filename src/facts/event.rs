//! The facts of a file: events in the order they happen, with conditions, loops and handlers around them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::value::replaced;
use super::{FnRef, Value};
use crate::files::{Atom, Span};
use crate::syntax::{BinaryOp, CallForm, ExitKind, TypeRef, Unit};

/// What one file does.
#[derive(Debug)]
pub struct FileFacts {
    /// Index of the file.
    pub file: u32,
    /// The file's shape (imports, exports, classes, signatures).
    pub unit: Unit,
    /// By function, in the order of the unit.
    pub functions: Vec<FnFacts>,
    /// Initial values of declared fields, by class and name.
    pub field_values: FxHashMap<(u32, Atom), Value>,
    /// Decorators of classes, by class.
    pub class_marks: FxHashMap<u32, Vec<Mark>>,
    /// Decorators of declared fields, by class and name.
    pub field_marks: FxHashMap<(u32, Atom), Vec<Mark>>,
    /// Module-level variables.
    pub names: FxHashMap<Atom, ModuleName>,
}

/// A decorator, as a value of the module's top level, and where it stands.
pub type Mark = (Value, Span);

/// A module-level variable.
#[derive(Debug, Clone)]
pub struct ModuleName {
    /// Everything it was ever bound to at module level.
    pub value: Value,
    /// Its first binding.
    pub span: Span,
    /// Whether a function assigns it.
    pub reassigned: bool,
}

/// What one function does.
#[derive(Debug, Default)]
pub struct FnFacts {
    /// In order.
    pub events: Vec<Event>,
    /// Conditions the guards point into.
    pub conds: Vec<Cond>,
    /// Loops the events point into.
    pub loops: Vec<LoopFact>,
    /// `try` statements the events point into.
    pub tries: Vec<TryFact>,
    /// What each local variable can be.
    pub locals: FxHashMap<Atom, Value>,
    /// Decorators, as values of the module's top level.
    pub decorators: Vec<Mark>,
    /// It has no body, or an empty one: the signature of an interface's or abstract method.
    pub is_empty: bool,
    /// What it does is written elsewhere: a signature, or a body that only throws.
    pub is_open: bool,
}

/// A condition, and whether it held: what must be so for an event to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Index of the condition.
    pub cond: u32,
    /// Whether it must hold.
    pub holds: bool,
}

/// A condition.
#[derive(Debug, Clone)]
pub struct Cond {
    /// The tested value.
    pub value: Value,
    /// Where.
    pub span: Span,
}

/// A loop.
#[derive(Debug, Clone)]
pub struct LoopFact {
    /// No condition and nothing to iterate: it ends by leaving only.
    pub endless: bool,
    /// What it goes through, where it goes through something.
    pub over: Option<Value>,
    /// What must hold for another round.
    pub test: Option<Value>,
    /// Where.
    pub span: Span,
}

/// A `try`.
#[derive(Debug, Clone)]
pub struct TryFact {
    /// What its handlers catch, with whether the handler leaves by throwing again.
    pub catches: Vec<(Vec<String>, bool)>,
    /// Whether it has a `finally`.
    pub has_finally: bool,
    /// The events of its handlers: the first, and one past the last.
    pub handled: (u32, u32),
}

impl TryFact {
    /// Whether an event of the function, by its number, is in one of its handlers.
    pub fn handles(&self, event: u32) -> bool {
        (self.handled.0..self.handled.1).contains(&event)
    }
}

/// One thing that happens.
#[derive(Debug, Clone)]
pub struct Event {
    /// What.
    pub act: Act,
    /// Where.
    pub span: Span,
    /// What must hold for it to happen, outermost first.
    pub guards: Arc<[Guard]>,
    /// Calls of this function whose bodies it is in (`with`), outermost first.
    pub within: Arc<[u32]>,
    /// Innermost loop.
    pub in_loop: Option<u32>,
    /// Innermost `try` whose body it is in.
    pub in_try: Option<u32>,
    /// In a handler.
    pub in_catch: bool,
    /// In a `finally`.
    pub in_finally: bool,
    /// One past the last event before its result dies: the end of the block that binds it, else of its statement.
    pub lives_to: u32,
    /// The name its result is bound to.
    pub bound: Option<Atom>,
    /// The type the code says its result is of.
    pub said: Option<Box<TypeRef>>,
    /// Nothing looks at its result.
    pub dropped: bool,
    /// Its error leaves the function (Rust's `?`).
    pub propagated: bool,
}

/// An argument: its keyword, where it has one, and its value.
pub type Arg = (Option<Atom>, Value);

/// What happens.
#[derive(Debug, Clone)]
pub enum Act {
    /// A call.
    Call {
        /// What is called.
        callee: Value,
        /// Arguments with their keywords.
        args: Arc<[Arg]>,
        /// The form.
        form: CallForm,
        /// Whether its end is waited for.
        awaited: bool,
    },
    /// A call that a `with` enters; its body follows.
    Enter {
        /// What is entered, where it is not itself a call.
        value: Value,
    },
    /// A write to a name outside the function, a member or an element.
    Write {
        /// Where to.
        place: Value,
        /// What; of a compound assignment, the right side.
        value: Value,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// Only where nothing is there yet.
        if_null: bool,
    },
    /// Removes an element or member.
    Delete {
        /// Of what.
        place: Value,
    },
    /// A condition is evaluated.
    Test {
        /// Which.
        cond: u32,
    },
    /// Leaves the function, loop or expression.
    Exit {
        /// How.
        kind: ExitKind,
        /// With what.
        value: Value,
    },
}

impl Act {
    /// The values that it names.
    pub fn each_value<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        match self {
            Act::Call { callee, args, .. } => {
                visit(callee);
                args.iter().for_each(|(_, value)| visit(value));
            }
            Act::Write { place, value, .. } => {
                visit(place);
                visit(value);
            }
            Act::Enter { value } | Act::Exit { value, .. } | Act::Delete { place: value } => visit(value),
            Act::Test { .. } => {}
        }
    }
}

impl FileFacts {
    /// Lets go of what the facts say again: bodies and decorators of functions, first values and decorators of fields.
    pub fn slim(&mut self) {
        for function in &mut self.unit.functions {
            function.body = vec![];
            function.decorators = vec![];
        }
        for field in self.unit.classes.iter_mut().flat_map(|class| &mut class.fields) {
            field.init = None;
            field.decorators = vec![];
        }
        for class in &mut self.unit.classes {
            class.fields.shrink_to_fit();
            class.methods.shrink_to_fit();
        }
        self.unit.functions.iter_mut().for_each(|function| function.params.shrink_to_fit());
        self.unit.functions.shrink_to_fit();
        self.unit.classes.shrink_to_fit();
        self.unit.imports.shrink_to_fit();
        self.unit.exports.shrink_to_fit();
        for function in &mut self.functions {
            function.events.shrink_to_fit();
            function.conds.shrink_to_fit();
        }
    }
}

/// Arguments with the values for which `new` gives another; the same ones where it gives none.
pub fn renewed_args(args: &Arc<[Arg]>, mut new: impl FnMut(&Value) -> Option<Value>) -> Arc<[Arg]> {
    let of = |(name, value): &Arg| new(value).map(|value| (name.clone(), value));
    replaced(args, of).map_or_else(|| args.clone(), Arc::from)
}

impl FnFacts {
    /// The function an event's result names, if `value` is one of this function's events.
    pub fn event_of(&self, owner: FnRef, value: &Value) -> Option<u32> {
        match value {
            Value::Result(function, index) if *function == owner => Some(*index),
            _ => None,
        }
    }
}
