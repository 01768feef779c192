//! `match`: arms become a chain of branches that test a name of this pass's own.

use ruff_python_ast::{self as ast, Pattern, Singleton};

use super::super::{ExprKind, Shape, Step, StepKind, Target};
use super::literals::{number, text};
use super::operators::balanced;
use super::{Expr, Lowering, expr, span};

impl Lowering<'_> {
    pub(super) fn match_statement(&mut self, statement: &ast::StmtMatch, out: &mut Vec<Step>) {
        let value = self.expr(&statement.subject);
        let at = value.span;
        let name = self.temporary();
        let subject = expr(ExprKind::Name(name.clone()), at);
        self.emit(out, bind(Target::Name(name, at), value), at);
        self.cases(&statement.cases, &subject, out);
    }

    fn cases(&mut self, cases: &[ast::MatchCase], subject: &Expr, out: &mut Vec<Step>) {
        let Some((case, rest)) = cases.split_first() else { return };
        let at = span(case);
        let mut test = self.test(&case.pattern, subject);
        let mut captures = self.captures(&case.pattern, subject);
        if let Some(guard) = &case.guard {
            out.append(&mut captures); // A guard sees the captured names, which stay bound where it fails.
            let guard = self.value(guard, out);
            test = expr(ExprKind::And(Box::new(test), Box::new(guard)), at);
        }
        let mut then = captures;
        then.extend(self.block(&case.body));
        let mut otherwise = Vec::new();
        self.deeper(at, |this| this.cases(rest, subject, &mut otherwise));
        self.emit(out, StepKind::Branch { test, then, otherwise }, at);
    }

    fn test(&mut self, pattern: &Pattern, subject: &Expr) -> Expr {
        let at = span(pattern);
        match pattern {
            Pattern::MatchOr(alternatives) => {
                let tests = self.deeper(at, |this| alternatives.patterns.iter().map(|one| this.test(one, subject)).collect());
                balanced(tests.unwrap_or_default(), ExprKind::Or)
            }
            Pattern::MatchAs(ast::PatternMatchAs { pattern: Some(inner), .. }) => {
                self.deeper(at, |this| this.test(inner, subject)).unwrap_or(expr(ExprKind::Other(Vec::new()), at))
            }
            _ => expr(ExprKind::Is(Box::new(subject.clone()), shape(pattern)), at),
        }
    }

    /// Bindings of the names that a pattern captures.
    fn captures(&mut self, pattern: &Pattern, subject: &Expr) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut rest = Some(pattern);
        while let Some(pattern) = rest.take() {
            let target = self.captured(pattern);
            if binds(&target) {
                self.emit(&mut steps, bind(target, subject.clone()), span(pattern));
            }
            if let Pattern::MatchAs(ast::PatternMatchAs { pattern: Some(inner), name: Some(_), .. }) = pattern {
                rest = Some(inner);
            }
        }
        steps
    }

    fn captured(&mut self, pattern: &Pattern) -> Target {
        self.deeper(span(pattern), |this| this.captured_inside(pattern)).unwrap_or(Target::Ignore)
    }

    fn captured_inside(&mut self, pattern: &Pattern) -> Target {
        match pattern {
            Pattern::MatchAs(ast::PatternMatchAs { name: Some(name), .. })
            | Pattern::MatchStar(ast::PatternMatchStar { name: Some(name), .. }) => self.bound(name),
            Pattern::MatchAs(ast::PatternMatchAs { pattern: Some(inner), .. }) => self.captured(inner),
            Pattern::MatchSequence(sequence) => self.captured_items(&sequence.patterns),
            Pattern::MatchMapping(mapping) => {
                let keys = mapping.keys.iter().map(|key| text(key).unwrap_or_else(|| "[]".to_owned()));
                let mut fields: Vec<_> = keys.zip(mapping.patterns.iter().map(|one| self.captured(one))).collect();
                if let Some(rest) = &mapping.rest {
                    fields.push(("...".to_owned(), self.bound(rest)));
                }
                Target::Fields(fields)
            }
            Pattern::MatchClass(class) => match (&class.arguments.patterns[..], &class.arguments.keywords[..]) {
                ([inner], []) => Target::Inside(Box::new(self.captured(inner))),
                (positions, []) => self.captured_items(positions),
                (_, names) => {
                    Target::Fields(names.iter().map(|one| (one.attr.to_string(), self.captured(&one.pattern))).collect())
                }
            },
            Pattern::MatchOr(alternatives) => alternatives.patterns.first().map_or(Target::Ignore, |one| self.captured(one)),
            _ => Target::Ignore,
        }
    }

    fn captured_items(&mut self, patterns: &[Pattern]) -> Target {
        Target::Items(patterns.iter().map(|one| self.captured(one)).collect())
    }
}

/// A plain binding.
pub(super) fn bind(target: Target, value: Expr) -> StepKind {
    StepKind::Bind { target, value: Some(value), declares: false, op: None }
}

fn shape(pattern: &Pattern) -> Shape {
    match pattern {
        Pattern::MatchAs(ast::PatternMatchAs { pattern: None, .. }) => Shape::Any,
        Pattern::MatchSingleton(constant) => match constant.value {
            Singleton::None => Shape::Null,
            Singleton::True => Shape::Bool(true),
            Singleton::False => Shape::Bool(false),
        },
        Pattern::MatchValue(constant) => match &*constant.value {
            ast::Expr::Attribute(member) => Shape::Text(member.attr.to_string()),
            ast::Expr::UnaryOp(negated) if negated.op == ast::UnaryOp::USub => {
                number(&negated.operand).map_or(Shape::Other, |value| Shape::Number(-value))
            }
            value => number(value).map(Shape::Number).or_else(|| text(value).map(Shape::Text)).unwrap_or(Shape::Other),
        },
        _ => Shape::Other,
    }
}

fn binds(target: &Target) -> bool {
    match target {
        Target::Ignore => false,
        Target::Inside(inner) => binds(inner),
        Target::Items(items) => items.iter().any(binds),
        Target::Fields(fields) => fields.iter().any(|(_, target)| binds(target)),
        Target::Name(..) | Target::Place(_) => true,
    }
}
