//! The state of one file's lowering, and the few constructors every part of it uses. It must not know what a statement means.

use std::collections::{HashMap, HashSet};

use proc_macro2::Ident;
use syn::ext::IdentExt;

use super::steps::Dest;
use crate::files::{Language, Span};
use crate::syntax::{ClassId, Expr, ExprKind, FnFlags, FnId, Function, Step, StepKind, Target, Unit};

/// Levels of expressions and blocks below which nothing is lowered.
const MAX_DEPTH: u32 = 200;

/// One file being lowered.
pub(super) struct Lowering {
    /// What is built.
    pub unit: Unit,
    /// Types of this file by name.
    pub classes: HashMap<String, ClassId>,
    /// The function being lowered.
    pub within: FnId,
    /// What `Self` stands for.
    pub self_name: Option<String>,
    /// Loops around, innermost last.
    pub loops: Vec<LoopFrame>,
    /// Macros of this file after which nothing runs.
    pub diverging: HashSet<String>,
    base: u32,
    temps: u32,
    depth: u32,
}

/// A loop, for the `break`s in it.
pub(super) struct LoopFrame {
    /// Its label.
    pub label: Option<String>,
    /// Where the value of `break value` goes.
    pub dest: Dest,
}

/// A unit with nothing in it but an empty module body.
pub(super) fn empty_unit() -> Unit {
    let module = Function {
        name: "<module>".to_string(),
        params: Vec::new(),
        body: Vec::new(),
        class: None,
        parent: None,
        decorators: Vec::new(),
        returns: None,
        receiver: None,
        flags: FnFlags::default(),
        span: Span::default(),
        name_span: Span::default(),
    };
    Unit {
        language: Language::Rust,
        imports: Vec::new(),
        exports: Vec::new(),
        functions: vec![module],
        classes: Vec::new(),
        declared: Vec::new(),
        comments: Vec::new(),
        tests: Vec::new(),
        gaps: Vec::new(),
    }
}

impl Lowering {
    /// A lowering of a text whose first byte is at `base` of the file.
    pub fn new(base: u32) -> Lowering {
        Lowering {
            unit: empty_unit(),
            classes: HashMap::new(),
            within: FnId(0),
            self_name: None,
            loops: Vec::new(),
            diverging: HashSet::new(),
            base,
            temps: 0,
            depth: 0,
        }
    }

    /// The bytes of a token.
    pub fn span(&self, span: proc_macro2::Span) -> Span {
        let range = span.byte_range();
        Span::new(self.base + range.start as u32, self.base + range.end as u32)
    }

    /// The bytes from one token to another.
    pub fn range(&self, first: proc_macro2::Span, last: proc_macro2::Span) -> Span {
        join(self.span(first), self.span(last))
    }

    /// A name no Rust program can hold.
    pub fn fresh(&mut self) -> String {
        self.temps += 1;
        format!("${}", self.temps)
    }

    /// Runs `lower` one level further down; `None` where the code is nested too deeply.
    pub fn deeper<T>(&mut self, lower: impl FnOnce(&mut Lowering) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let lowered = lower(self);
        self.depth -= 1;
        Some(lowered)
    }

    /// Adds a function whose body `lower` makes; what it holds has it as parent.
    pub fn add_function(&mut self, function: Function, lower: impl FnOnce(&mut Lowering) -> Vec<Step>) -> FnId {
        let id = FnId(self.unit.functions.len() as u32);
        self.unit.functions.push(function);
        let outside = std::mem::replace(&mut self.within, id);
        let loops = std::mem::take(&mut self.loops);
        let body = lower(self);
        self.within = outside;
        self.loops = loops;
        if let Some(function) = self.unit.functions.get_mut(id.0 as usize) {
            function.body = body;
        }
        id
    }
}

/// From the start of one to the end of the other.
pub(super) fn join(first: Span, last: Span) -> Span {
    Span::new(first.start, last.end.max(first.end))
}

/// An identifier's name, without `r#`.
pub(super) fn text(ident: &Ident) -> String {
    ident.unraw().to_string()
}

/// An expression.
pub(super) fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

/// A name.
pub(super) fn name(text: impl Into<String>, span: Span) -> Expr {
    expr(ExprKind::Name(text.into()), span)
}

/// A member of a value.
pub(super) fn member(object: Expr, name: String, span: Span) -> Expr {
    expr(ExprKind::Member(Box::new(object), name), span)
}

/// A statement.
pub(super) fn step(kind: StepKind, span: Span) -> Step {
    Step { kind, span }
}

/// A `let`.
pub(super) fn declare(target: Target, value: Option<Expr>, span: Span) -> Step {
    step(StepKind::Bind { target, value, declares: true, op: None }, span)
}
