//! JavaScript and TypeScript, with JSX, lowered to a [`Unit`] in one pass over the parser's tree.
//! It must not know any library's name, only `require`, `module` and `exports`, which are part of the language's module systems.

mod caught;
mod class;
mod expr;
mod function;
mod jsx;
mod module;
mod nesting;
mod operator;
mod receiver;
mod recovery;
mod steps;
mod switch;
mod target;
mod types;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_span::SourceType;

use super::{ClassId, Comment, Expr, ExprKind, FnFlags, FnId, Frontend, Function, Import, Param, Step, StepKind, TypeRef, Unit};
use crate::files::{Gap, GapKind, Language, Source, Span};

/// Reads `.js`, `.ts` and their variants.
pub const FRONTEND: Frontend = Frontend { language: Language::JavaScript, parse };

/// Syntax errors reported of one file; more only repeat the first.
const MOST_GAPS: usize = 5;

fn parse(source: &Source) -> Unit {
    nesting::with_enough_stack(&source.text, || read(source)).unwrap_or_else(|| {
        let mut unit = Lower::new().unit;
        unit.gaps.push(gap(
            source,
            None,
            "could not be read, most likely because it is nested too deeply; the file was skipped".to_owned(),
        ));
        unit
    })
}

/// Reads a file, leaving out top-level statements the parser gives up on.
fn read(source: &Source) -> Unit {
    let mut gaps = Vec::new();
    let mut text = source.text.clone();
    for _ in 0..MOST_GAPS {
        let allocator = Allocator::default();
        let parsed = parse_as_any_dialect(&allocator, &text, &source.path);
        gaps.extend(parsed.diagnostics.iter().map(|fault| {
            let line = fault.labels.first().map(|label| source.lines.position(label.offset()).0);
            gap(source, line, format!("syntax error: {}; the rest of the file was used", fault.message))
        }));
        let fault =
            parsed.diagnostics.iter().find_map(|fault| fault.labels.first()).map_or(text.len(), |label| label.offset() as usize);
        let shorter = if parsed.panicked { recovery::without_statement_at(&text, fault) } else { None };
        match shorter {
            Some(shorter) => text = shorter,
            None => {
                gaps.truncate(MOST_GAPS);
                return Unit { gaps, ..Lower::new().program(source, &parsed.program) };
            }
        }
    }
    gaps.truncate(MOST_GAPS - 1);
    gaps.push(gap(source, None, "too many syntax errors to be read; the file was skipped".to_owned()));
    Unit { gaps, ..Lower::new().unit }
}

/// Parses with each dialect the file may be in until one fits; else keeps the first that gave anything.
fn parse_as_any_dialect<'a>(allocator: &'a Allocator, text: &'a str, path: &str) -> ParserReturn<'a> {
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parse = |dialect| Parser::new(allocator, text, dialect).with_options(options).parse();
    let (likeliest, others) = dialects(path);
    let mut best = parse(likeliest);
    for dialect in others {
        if best.diagnostics.is_empty() {
            break;
        }
        let parsed = parse(dialect);
        if parsed.diagnostics.is_empty() || best.panicked && !parsed.panicked {
            best = parsed;
        }
    }
    best
}

/// What a file may be written in: the likeliest, and what else. Type annotations in a `.js` file are accepted: some
/// projects have them.
fn dialects(path: &str) -> (SourceType, Vec<SourceType>) {
    let declared = SourceType::from_path(path).unwrap_or_else(|_| SourceType::tsx());
    if declared.is_typescript() {
        (declared, vec![SourceType::tsx()])
    } else {
        (SourceType::unambiguous().with_jsx(true), vec![SourceType::cjs().with_jsx(true), SourceType::tsx()])
    }
}

fn gap(source: &Source, line: Option<u32>, message: String) -> Gap {
    Gap { path: source.path.clone(), line, kind: GapKind::Syntax, message }
}

/// The unit under construction and where in it we are.
struct Lower {
    unit: Unit,
    /// The function whose body is being lowered.
    current: FnId,
    /// The local names of what the file puts into `exports`.
    exported: HashMap<String, String>,
    /// Steps an expression brings with it (a `yield`, a class's static blocks), run before the statement it stands in.
    pending: Vec<Step>,
    /// What `this` is called in a class's static blocks and static fields.
    this_name: Option<String>,
    /// An unlabelled `break` leaves a `switch`, not a loop.
    in_switch: bool,
    /// Inside a namespace, where `export` does not leave the file.
    in_namespace: bool,
    /// Fresh names made so far.
    temps: u32,
    /// Expressions and statements we are inside of.
    depth: u32,
}

impl Lower {
    fn new() -> Lower {
        let unit = Unit {
            language: Language::JavaScript,
            imports: Vec::new(),
            exports: Vec::new(),
            functions: vec![blank("<module>", None, Span::default())],
            classes: Vec::new(),
            comments: Vec::new(),
            declared: Vec::new(),
            tests: Vec::new(),
            gaps: Vec::new(),
        };
        Lower {
            unit,
            current: FnId(0),
            exported: HashMap::new(),
            pending: Vec::new(),
            this_name: None,
            in_switch: false,
            in_namespace: false,
            temps: 0,
            depth: 0,
        }
    }

    fn program(mut self, source: &Source, program: &Program) -> Unit {
        self.exported = module::exported_locals(&program.body);
        self.directives(FnId(0), &program.directives);
        let body = self.block(&program.body);
        self.unit.comments = program.comments.iter().map(|comment| self::comment(source, comment)).collect();
        if let Some(module) = self.unit.functions.first_mut() {
            module.body = body;
            module.span = Span::new(0, source.text.len() as u32);
        }
        self.unit
    }

    /// A name no program can write.
    fn fresh(&mut self) -> String {
        self.temps += 1;
        format!("${}", self.temps)
    }

    /// The name by which a module taken in the middle of an expression is known.
    fn import_here(&mut self, module: &str, span: Span) -> String {
        let local = format!("{}module", self.fresh());
        self.unit.imports.push(Import { local: local.as_str().into(), module: module.into(), member: None, span });
        local
    }
}

fn comment(source: &Source, comment: &oxc_ast::Comment) -> Comment {
    let content = comment.content_span();
    let text = source.text.get(content.start as usize..content.end as usize).unwrap_or("");
    let text = if comment.is_line() {
        text.trim_start_matches('/').trim().to_owned()
    } else {
        let lines: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches('*').trim()).collect();
        lines.join("\n").trim().to_owned()
    };
    Comment { text, span: span(comment.span) }
}

/// A function with nothing in it yet.
fn blank(name: &str, parent: Option<FnId>, span: Span) -> Function {
    Function {
        name: name.to_owned(),
        params: Vec::new(),
        body: Vec::new(),
        class: None,
        parent,
        decorators: Vec::new(),
        returns: None,
        receiver: None,
        flags: FnFlags::default(),
        span,
        name_span: span,
    }
}

fn span(span: oxc_span::Span) -> Span {
    Span::new(span.start, span.end)
}

fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

fn step(kind: StepKind, span: Span) -> Step {
    Step { kind, span }
}

fn name(name: &str, span: Span) -> Expr {
    expr(ExprKind::Name(name.to_owned()), span)
}
