//! Patterns: what they bind ([`Target`]) and what they ask ([`Shape`]). It must not know any type but `Option` and `Result`.

use syn::{Expr as SynExpr, Lit, Member as SynMember, Pat};

use super::lower::{Lowering, expr, join, member, text};
use crate::files::Span;
use crate::syntax::{Expr, ExprKind, Shape, Target};

impl Lowering {
    /// What a pattern binds.
    pub fn target(&mut self, pat: &Pat) -> Target {
        self.deeper(|lowering| lowering.target_inside(pat)).unwrap_or(Target::Ignore)
    }

    /// Whether `subject` has the form of the pattern.
    pub fn test(&mut self, pat: &Pat, subject: &Expr) -> Expr {
        self.deeper(|lowering| lowering.test_inside(pat, subject)).unwrap_or_else(|| is(subject, Shape::Other))
    }

    fn target_inside(&mut self, pat: &Pat) -> Target {
        match pat {
            Pat::Ident(ident) => {
                let word = text(&ident.ident);
                if ident.subpat.is_none() && is_constant(&word) {
                    return Target::Ignore;
                }
                Target::Name(word, self.span(ident.ident.span()))
            }
            Pat::Paren(inner) => self.target(&inner.pat),
            Pat::Reference(inner) => self.target(&inner.pat),
            Pat::Type(inner) => self.target(&inner.pat),
            Pat::Guard(inner) => self.target(&inner.pat),
            Pat::Or(or) => or.cases.first().map_or(Target::Ignore, |first| self.target(first)),
            Pat::Tuple(tuple) => self.parts(tuple.elems.iter()),
            Pat::Slice(slice) => self.parts(slice.elems.iter()),
            Pat::TupleStruct(outer) => {
                let mut parts = outer.elems.iter().filter(|part| !matches!(part, Pat::Rest(_)));
                match (parts.next(), parts.next()) {
                    (None, _) => Target::Ignore,
                    (Some(only), None) => match self.target(only) {
                        Target::Ignore => Target::Ignore,
                        target => Target::Inside(Box::new(target)),
                    },
                    _ => self.parts(outer.elems.iter()),
                }
            }
            Pat::Struct(outer) => {
                let fields = outer.fields.iter().map(|field| (member_name(&field.member), self.target(&field.pat)));
                let fields: Vec<_> = fields.collect();
                if fields.is_empty() { Target::Ignore } else { Target::Fields(fields) }
            }
            _ => Target::Ignore,
        }
    }

    fn parts<'p>(&mut self, parts: impl Iterator<Item = &'p Pat>) -> Target {
        Target::Items(parts.map(|part| self.target(part)).collect())
    }

    fn test_inside(&mut self, pat: &Pat, subject: &Expr) -> Expr {
        match pat {
            Pat::Wild(_) | Pat::Rest(_) => is(subject, Shape::Any),
            Pat::Ident(ident) => match (&ident.subpat, text(&ident.ident)) {
                (Some((_, inner)), _) => self.test(inner, subject),
                (None, word) if word == "None" => is(subject, Shape::Null),
                (None, word) if is_constant(&word) => is(subject, Shape::Text(word)),
                _ => is(subject, Shape::Any),
            },
            Pat::Paren(inner) => self.test(&inner.pat, subject),
            Pat::Reference(inner) => self.test(&inner.pat, subject),
            Pat::Type(inner) => self.test(&inner.pat, subject),
            Pat::Guard(inner) => self.test(&inner.pat, subject),
            Pat::Lit(literal) => is(subject, literal_shape(&literal.lit)),
            Pat::Path(path) => match path.path.segments.last().map(|last| text(&last.ident)) {
                Some(word) if word == "None" => is(subject, Shape::Null),
                Some(word) => is(subject, Shape::Text(word)),
                None => is(subject, Shape::Other),
            },
            Pat::Or(or) => {
                let tests: Vec<_> = or.cases.iter().map(|case| self.test(case, subject)).collect();
                let either = |a: Expr, b: Expr| {
                    let span = join(a.span, b.span);
                    expr(ExprKind::Or(Box::new(a), Box::new(b)), span)
                };
                tests.into_iter().reduce(either).unwrap_or_else(|| is(subject, Shape::Other))
            }
            Pat::TupleStruct(outer) => {
                let word = outer.path.segments.last().map(|last| text(&last.ident)).unwrap_or_default();
                let shape = match word.as_str() {
                    "Some" => Shape::Present,
                    "Ok" => Shape::Ok,
                    "Err" => Shape::Err,
                    _ => Shape::Text(word),
                };
                let parts: Vec<_> = outer.elems.iter().filter(|part| !matches!(part, Pat::Rest(_))).collect();
                let inner = match parts.as_slice() {
                    [only] => vec![self.test(only, subject)],
                    many => self.element_tests(many, subject),
                };
                all(is(subject, shape), inner)
            }
            Pat::Tuple(tuple) => {
                let parts: Vec<_> = tuple.elems.iter().collect();
                let tests = self.element_tests(&parts, subject);
                all(is(subject, Shape::Any), tests)
            }
            Pat::Struct(outer) => {
                let word = outer.path.segments.last().map(|last| text(&last.ident)).unwrap_or_default();
                let qualified = outer.path.segments.len() > 1;
                let shape = if qualified { Shape::Text(word) } else { Shape::Any };
                let fields = outer.fields.iter().map(|field| {
                    let place = member(subject.clone(), member_name(&field.member), subject.span);
                    self.test(&field.pat, &place)
                });
                let tests = fields.collect();
                all(is(subject, shape), tests)
            }
            _ => is(subject, Shape::Other),
        }
    }

    fn element_tests(&mut self, parts: &[&Pat], subject: &Expr) -> Vec<Expr> {
        let before_rest = parts.iter().take_while(|part| !matches!(part, Pat::Rest(_))).enumerate();
        let tests = before_rest.map(|(at, part)| {
            let index = expr(ExprKind::Number(at as f64), subject.span);
            let place = expr(ExprKind::Index(Box::new(subject.clone()), Box::new(index)), subject.span);
            self.test(part, &place)
        });
        tests.collect()
    }
}

/// Whether a target binds any name.
pub(super) fn binds_a_name(target: &Target) -> bool {
    match target {
        Target::Name(..) | Target::Place(_) => true,
        Target::Ignore => false,
        Target::Inside(inner) => binds_a_name(inner),
        Target::Items(parts) => parts.iter().any(binds_a_name),
        Target::Fields(fields) => fields.iter().any(|(_, part)| binds_a_name(part)),
    }
}

/// A field's name, or its position.
pub(super) fn member_name(member: &SynMember) -> String {
    match member {
        SynMember::Named(ident) => text(ident),
        SynMember::Unnamed(index) => index.index.to_string(),
    }
}

/// Both tests; one that always holds is dropped.
pub(super) fn both(first: Expr, second: Expr) -> Expr {
    if always(&first) {
        return second;
    }
    if always(&second) {
        return first;
    }
    let span: Span = join(first.span, second.span);
    expr(ExprKind::And(Box::new(first), Box::new(second)), span)
}

/// A test for a shape.
pub(super) fn is(subject: &Expr, shape: Shape) -> Expr {
    expr(ExprKind::Is(Box::new(subject.clone()), shape), subject.span)
}

fn all(first: Expr, rest: Vec<Expr>) -> Expr {
    rest.into_iter().fold(first, both)
}

fn always(test: &Expr) -> bool {
    matches!(&test.kind, ExprKind::Is(_, Shape::Any))
}

/// Rust's own naming rule tells a constant or variant from a new variable.
fn is_constant(word: &str) -> bool {
    word.starts_with(|first: char| first.is_uppercase())
}

fn literal_shape(literal: &Lit) -> Shape {
    match super::expr::literal(literal) {
        ExprKind::Text(text) => Shape::Text(text),
        ExprKind::Number(number) => Shape::Number(number),
        ExprKind::Bool(value) => Shape::Bool(value),
        _ => Shape::Other,
    }
}

/// What an expression on the left of `=` writes.
impl Lowering {
    /// The target of an assignment.
    pub fn assigned(&mut self, left: &SynExpr, out: &mut Vec<crate::syntax::Step>) -> Target {
        match left {
            SynExpr::Infer(_) => Target::Ignore,
            SynExpr::Paren(inner) => self.assigned(&inner.expr, out),
            SynExpr::Group(inner) => self.assigned(&inner.expr, out),
            SynExpr::Tuple(tuple) => Target::Items(tuple.elems.iter().map(|part| self.assigned(part, out)).collect()),
            SynExpr::Array(array) => Target::Items(array.elems.iter().map(|part| self.assigned(part, out)).collect()),
            SynExpr::Path(_) => {
                let place = self.expr(left, out);
                match place.kind {
                    ExprKind::Name(word) => Target::Name(word, place.span),
                    _ => Target::Place(Box::new(place)),
                }
            }
            _ => Target::Place(Box::new(self.expr(left, out))),
        }
    }
}
