//! `switch` as a chain of branches.

use oxc_ast::ast::{Expression, SwitchCase, SwitchStatement};
use oxc_span::GetSpan;

use super::{Expr, ExprKind, Lower, Span, Step, StepKind, expr, name, span, step};
use crate::syntax::{BinaryOp, ExitKind, Shape, Target};

/// A case that falls into one longer than this is cut before it.
const LONGEST_FALL: usize = 64;

/// Labels that share a body.
struct Arm {
    tests: Vec<Expr>,
    is_default: bool,
    body: Vec<Step>,
    at: Span,
}

impl Lower {
    /// Cases with one body are joined by "or"; the default is what is left, wherever it stands.
    pub(super) fn switch(&mut self, tree: &SwitchStatement, steps: &mut Vec<Step>) {
        let value = self.expr(&tree.discriminant);
        let value = match value.kind {
            ExprKind::Name(_) | ExprKind::This | ExprKind::Bool(_) => value,
            _ => {
                let (temp, at) = (self.fresh(), value.span);
                let target = Target::Name(temp.clone(), at);
                steps.push(step(StepKind::Bind { target, value: Some(value), declares: true, op: None }, at));
                name(&temp, at)
            }
        };
        let outer = std::mem::replace(&mut self.in_switch, true);
        let mut arms = self.arms(&tree.cases, &value);
        self.in_switch = outer;
        fall_through(&mut arms);

        let mut chain = Vec::new();
        if let Some(at) = arms.iter().position(|arm| arm.is_default) {
            chain = without_breaks(arms.remove(at).body);
        }
        for arm in arms.into_iter().rev() {
            let Some(test) = arm.tests.into_iter().reduce(either) else { continue };
            let then = without_breaks(arm.body);
            chain = vec![step(StepKind::Branch { test, then, otherwise: chain }, arm.at)];
        }
        clear_marks(&mut chain);
        steps.extend(chain);
    }

    fn arms(&mut self, cases: &[SwitchCase], value: &Expr) -> Vec<Arm> {
        let mut arms: Vec<Arm> = Vec::new();
        let mut open = false;
        for case in cases {
            if !open {
                arms.push(Arm { tests: Vec::new(), is_default: false, body: Vec::new(), at: span(case.span) });
            }
            open = case.consequent.is_empty();
            let test = case.test.as_ref().map(|test| self.case_test(test, value));
            let body = self.block(&case.consequent);
            if let Some(arm) = arms.last_mut() {
                arm.is_default |= test.is_none();
                arm.tests.extend(test);
                arm.body = body;
            }
        }
        arms
    }

    fn case_test(&mut self, test: &Expression, value: &Expr) -> Expr {
        let at = span(test.span());
        let label = self.expr(test);
        if let ExprKind::Bool(asked) = value.kind {
            return if asked { label } else { expr(ExprKind::Not(Box::new(label)), at) };
        }
        let shape = match &label.kind {
            ExprKind::Text(text) => Shape::Text(text.clone()),
            ExprKind::Number(number) => Shape::Number(*number),
            ExprKind::Bool(truth) => Shape::Bool(*truth),
            ExprKind::Null => Shape::Null,
            ExprKind::Member(_, member) => Shape::Text(member.clone()),
            ExprKind::Negate(inner) => match inner.kind {
                ExprKind::Number(number) => Shape::Number(-number),
                _ => Shape::Other,
            },
            _ => {
                let same = ExprKind::Binary(BinaryOp::Equal, Box::new(value.clone()), Box::new(label));
                return expr(same, at);
            }
        };
        expr(ExprKind::Is(Box::new(value.clone()), shape), at)
    }
}

fn either(left: Expr, right: Expr) -> Expr {
    let at = Span::new(left.span.start, right.span.end);
    expr(ExprKind::Or(Box::new(left), Box::new(right)), at)
}

/// A body that does not end by leaving goes on with the next one.
fn fall_through(arms: &mut [Arm]) {
    for index in (1..arms.len()).rev() {
        let next = arms.get(index).map(|arm| arm.body.clone()).unwrap_or_default();
        if let Some(arm) = arms.get_mut(index - 1)
            && !leaves(&arm.body)
            && next.len() <= LONGEST_FALL
        {
            arm.body.extend(next);
        }
    }
}

/// Whether the end of these steps is never reached.
fn leaves(steps: &[Step]) -> bool {
    match steps.last().map(|last| &last.kind) {
        Some(StepKind::Exit { kind, .. }) => *kind != ExitKind::Yield,
        Some(StepKind::Branch { then, otherwise, .. }) => leaves(then) && leaves(otherwise),
        Some(StepKind::Scope(steps)) => leaves(steps),
        Some(StepKind::Try { body, catches, finally, .. }) => {
            leaves(finally) || leaves(body) && catches.iter().all(|catch| leaves(&catch.body))
        }
        _ => false,
    }
}

/// Takes out the breaks that end a case: what stands after a branch that breaks goes into its other arm.
fn without_breaks(steps: Vec<Step>) -> Vec<Step> {
    let mut kept = Vec::new();
    let mut rest = steps.into_iter();
    while let Some(mut next) = rest.next() {
        if is_mark(&next.kind) {
            return kept;
        }
        match &mut next.kind {
            StepKind::Scope(steps) => {
                let ended = ends_with_mark(steps);
                *steps = without_breaks(std::mem::take(steps));
                kept.push(next);
                if ended {
                    return kept;
                }
            }
            StepKind::Branch { then, otherwise, .. } => {
                let (then_ends, otherwise_ends) = (ends_with_mark(then), ends_with_mark(otherwise));
                *then = without_breaks(std::mem::take(then));
                *otherwise = without_breaks(std::mem::take(otherwise));
                if then_ends || otherwise_ends {
                    if !otherwise_ends {
                        otherwise.extend(without_breaks(rest.collect()));
                    } else if !then_ends {
                        then.extend(without_breaks(rest.collect()));
                    }
                    kept.push(next);
                    return kept;
                }
                kept.push(next);
            }
            _ => kept.push(next),
        }
    }
    kept
}

fn ends_with_mark(steps: &[Step]) -> bool {
    match steps.last().map(|last| &last.kind) {
        Some(StepKind::Scope(steps)) => ends_with_mark(steps),
        Some(kind) => is_mark(kind),
        None => false,
    }
}

fn is_mark(kind: &StepKind) -> bool {
    matches!(kind, StepKind::Exit { kind: ExitKind::Break, value: Some(_) })
}

/// Breaks too deep inside a case to be taken out stay as plain ones.
fn clear_marks(steps: &mut [Step]) {
    for step in steps {
        match &mut step.kind {
            StepKind::Exit { kind: ExitKind::Break, value } => *value = None,
            StepKind::Branch { then, otherwise, .. } => {
                clear_marks(then);
                clear_marks(otherwise);
            }
            StepKind::Try { body, catches, otherwise, finally } => {
                clear_marks(body);
                catches.iter_mut().for_each(|catch| clear_marks(&mut catch.body));
                clear_marks(otherwise);
                clear_marks(finally);
            }
            StepKind::Within { body, .. } | StepKind::Scope(body) => clear_marks(body),
            StepKind::Do(_) | StepKind::Bind { .. } | StepKind::Exit { .. } | StepKind::Delete(_) | StepKind::Loop { .. } => {}
        }
    }
}
