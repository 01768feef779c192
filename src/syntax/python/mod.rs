//! Lowers Python 3 into a [`Unit`]. It must not know any library's name; the names of `typing` that only wrap a type are
//! part of the language.

mod classes;
mod expressions;
mod functions;
mod literals;
mod names;
mod operators;
mod patterns;
mod scopes;
mod statements;
mod types;

use std::collections::HashSet;

use ruff_python_ast as ast;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::Ranged;

use super::{Comment, Expr, ExprKind, FnFlags, FnId, Frontend, Function, Step, StepKind, Unit};
use crate::files::{Gap, GapKind, Language, Source, Span};

/// Python 3.
pub const FRONTEND: Frontend = Frontend { language: Language::Python, parse };

/// Levels of nesting that are lowered; what lies deeper becomes an empty [`ExprKind::Other`] and a gap.
const MAX_DEPTH: usize = 200;

/// Tokens in one statement from which on its tree may be too deep to be dropped on a thread's stack.
const DROPPABLE_TOKENS: usize = 2_000;

fn parse(source: &Source) -> Unit {
    let parsed = parse_unchecked(&source.text, ParseOptions::from(ruff_python_parser::Mode::Module));
    let mut lowering = Lowering::new(source);
    lowering.unit.gaps = gaps(source, &parsed);
    lowering.unit.comments = comments(source, &parsed);
    if let ast::Mod::Module(module) = parsed.syntax() {
        let body = lowering.block(&module.body);
        if let Some(top) = lowering.unit.functions.first_mut() {
            top.body = body;
        }
    }
    let unit = lowering.unit;
    if may_be_deep(&parsed) {
        std::mem::forget(parsed); // Dropping recurses once a level; a few megabytes kept are better than a stack overflow.
    }
    unit
}

/// The state of one pass over one file.
struct Lowering<'a> {
    source: &'a Source,
    unit: Unit,
    /// Functions being lowered, innermost last; the first is the module.
    frames: Vec<Frame>,
    /// Classes between the innermost function and here.
    class_depth: usize,
    exported: HashSet<String>,
    /// Steps that an expression needs before the statement it stands in.
    pending: Vec<Step>,
    depth: usize,
    temporaries: u32,
    /// Names that comprehensions around here have of their own, and what they are called here; the innermost last.
    own_names: Vec<(String, String)>,
}

/// One function being lowered.
struct Frame {
    id: FnId,
    /// What the enclosing method calls its receiver.
    receiver: Option<String>,
    /// Names it declares to be of an outer scope.
    outer: HashSet<String>,
}

impl<'a> Lowering<'a> {
    fn new(source: &'a Source) -> Lowering<'a> {
        let top = Function {
            name: "<module>".to_owned(),
            params: Vec::new(),
            body: Vec::new(),
            class: None,
            parent: None,
            decorators: Vec::new(),
            returns: None,
            receiver: None,
            flags: FnFlags::default(),
            span: Span::new(0, source.text.len() as u32),
            name_span: Span::default(),
        };
        let unit = Unit {
            language: Language::Python,
            imports: Vec::new(),
            exports: Vec::new(),
            functions: vec![top],
            classes: Vec::new(),
            comments: Vec::new(),
            declared: Vec::new(),
            tests: Vec::new(),
            gaps: Vec::new(),
        };
        Lowering {
            source,
            unit,
            frames: vec![Frame { id: FnId(0), receiver: None, outer: HashSet::new() }],
            class_depth: 0,
            exported: HashSet::new(),
            pending: Vec::new(),
            depth: 0,
            temporaries: 0,
            own_names: Vec::new(),
        }
    }

    /// The function being lowered.
    fn current(&self) -> FnId {
        self.frames.last().map_or(FnId(0), |frame| frame.id)
    }

    /// What the enclosing method calls its receiver.
    fn receiver(&self) -> Option<&str> {
        self.frames.last()?.receiver.as_deref()
    }

    /// Runs `lower` one level deeper; `None`, and a gap, where that is too deep.
    fn deeper<T>(&mut self, at: Span, lower: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.too_deep(at);
            return None;
        }
        self.depth += 1;
        let lowered = lower(self);
        self.depth -= 1;
        Some(lowered)
    }

    fn too_deep(&mut self, at: Span) {
        let line = Some(self.source.lines.position(at.start).0);
        let message = format!("nested more than {MAX_DEPTH} levels deep; what lies deeper was not looked at");
        let gap = Gap { path: self.source.path.clone(), line, kind: GapKind::Syntax, message };
        if !self.unit.gaps.contains(&gap) {
            self.unit.gaps.push(gap);
        }
    }

    /// A name of this pass's own, which no program can write.
    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("${}", self.temporaries)
    }

    /// Appends a step, after those its expressions need.
    fn emit(&mut self, out: &mut Vec<Step>, kind: StepKind, span: Span) {
        out.append(&mut self.pending);
        out.push(Step { kind, span });
    }
}

fn span(node: &impl Ranged) -> Span {
    Span::new(node.start().to_u32(), node.end().to_u32())
}

fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

/// One gap for each line with a syntax error: the parser's later complaints about a line follow from its first.
fn gaps(source: &Source, parsed: &Parsed<ast::Mod>) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = Vec::new();
    for error in parsed.errors() {
        let line = Some(source.lines.position(error.location.start().to_u32()).0);
        if gaps.iter().any(|gap| gap.line == line) {
            continue;
        }
        let message = format!("{}; the rest of the file was read", error.error);
        gaps.push(Gap { path: source.path.clone(), line, kind: GapKind::Syntax, message });
    }
    gaps
}

fn comments(source: &Source, parsed: &Parsed<ast::Mod>) -> Vec<Comment> {
    let tokens = parsed.tokens().iter().filter(|token| token.kind() == TokenKind::Comment);
    tokens
        .map(|token| {
            let written = source.text.get(token.range().to_std_range()).unwrap_or("");
            Comment { text: written.trim_start_matches('#').trim().to_owned(), span: span(token) }
        })
        .collect()
}

/// Whether a tree can be deep, told by the one thing that bounds its depth: tokens in a statement and levels of indentation.
fn may_be_deep(parsed: &Parsed<ast::Mod>) -> bool {
    let (mut indentation, mut tokens) = (0_usize, 0_usize);
    parsed.tokens().iter().any(|token| {
        match token.kind() {
            TokenKind::Newline => tokens = 0,
            TokenKind::Indent => indentation += 1,
            TokenKind::Dedent => indentation = indentation.saturating_sub(1),
            _ => tokens += 1,
        }
        tokens > DROPPABLE_TOKENS || indentation > MAX_DEPTH
    })
}

#[cfg(test)]
mod tests;
