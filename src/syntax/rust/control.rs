//! Conditions, branches and loops. It must not know what is inside them.

use syn::spanned::Spanned;
use syn::{BinOp, Expr as SynExpr, ExprBlock, ExprIf, ExprMatch, Label, Pat};

use super::lower::{LoopFrame, Lowering, expr, step, text};
use super::pattern::both;
use super::steps::Dest;
use crate::files::Span;
use crate::syntax::{ExitKind, Expr, ExprKind, Step, StepKind};

/// Arms of one `match` that are nested; the ones after them follow in the same list.
const MAX_CHAIN: usize = 64;

impl Lowering {
    /// A condition. Its `let`s become tests; what they bind is returned, to be put where the condition holds.
    /// Where a later part of the condition reads such a name, it is bound before.
    pub fn condition(&mut self, condition: &SynExpr, out: &mut Vec<Step>) -> (Expr, Vec<Step>) {
        let mut parts = Vec::new();
        conjuncts(condition, &mut parts);
        let mut bindings = Vec::new();
        let mut test: Option<Expr> = None;
        for part in parts {
            out.append(&mut bindings);
            let next = match part {
                SynExpr::Let(asked) => {
                    let value = self.expr(&asked.expr, out);
                    let subject = self.bind_temp(value, out);
                    bindings.extend(self.bind_pattern(&asked.pat, &subject));
                    self.test(&asked.pat, &subject)
                }
                _ => self.expr(part, out),
            };
            test = Some(match test {
                Some(test) => both(test, next),
                None => next,
            });
        }
        (test.unwrap_or(expr(ExprKind::Bool(true), Span::default())), bindings)
    }

    /// `if`, whose arms send their values to `dest`.
    pub fn if_expr(&mut self, branch: &ExprIf, dest: &Dest, out: &mut Vec<Step>) {
        let (test, bindings) = self.condition(&branch.cond, out);
        let mut then = bindings;
        then.extend(self.block(&branch.then_branch, dest));
        let otherwise = match &branch.else_branch {
            Some((_, otherwise)) => self.deliver_block(otherwise, dest),
            None => Vec::new(),
        };
        let mut last = branch.then_branch.brace_token.span.close();
        let mut next = branch.else_branch.as_ref();
        while let Some((_, otherwise)) = next {
            next = match &**otherwise {
                SynExpr::If(branch) => {
                    last = branch.then_branch.brace_token.span.close();
                    branch.else_branch.as_ref()
                }
                SynExpr::Block(block) => {
                    last = block.block.brace_token.span.close();
                    None
                }
                _ => None,
            };
        }
        let span = self.range(branch.if_token.span, last);
        out.push(step(StepKind::Branch { test, then, otherwise }, span));
    }

    /// `match`, a chain of branches over one variable.
    pub fn match_expr(&mut self, choice: &ExprMatch, dest: &Dest, out: &mut Vec<Step>) {
        let value = self.expr(&choice.expr, out);
        let subject = self.bind_temp(value, out);
        let end = choice.brace_token.span.close();
        for arms in choice.arms.chunks(MAX_CHAIN) {
            let steps = self.arms(arms, &subject, dest, end);
            out.extend(steps);
        }
    }

    fn arms(&mut self, arms: &[syn::Arm], subject: &Expr, dest: &Dest, end: proc_macro2::Span) -> Vec<Step> {
        let mut otherwise = Vec::new();
        // Arms are lowered in order, then nested from the last to the first.
        let mut lowered = Vec::new();
        for arm in arms {
            let (pat, guard) = match &arm.pat {
                Pat::Guard(guarded) => (&*guarded.pat, Some(&*guarded.guard)),
                pat => (pat, None),
            };
            let mut before = Vec::new();
            let mut then = Vec::new();
            let mut test = self.test(pat, subject);
            let binding = self.bind_pattern(pat, subject);
            if let Some(guard) = guard {
                before.extend(binding);
                let (guard, bindings) = self.condition(guard, &mut before);
                test = both(test, guard);
                then.extend(bindings);
            } else {
                then.extend(binding);
            }
            then.extend(self.deliver_block(&arm.body, dest));
            lowered.push((before, test, then, self.range(arm.pat.span(), end)));
        }
        for (mut before, test, then, span) in lowered.into_iter().rev() {
            before.push(step(StepKind::Branch { test, then, otherwise }, span));
            otherwise = before;
        }
        otherwise
    }

    /// `loop`, `while` and `for`. Only `loop` has a value: that of its `break`s.
    pub fn loop_expr(&mut self, value: &SynExpr, dest: &Dest, out: &mut Vec<Step>) {
        match value {
            SynExpr::Loop(endless) => {
                let body = self.in_loop(&endless.label, dest.clone(), |lowering| lowering.block(&endless.body, &Dest::Drop));
                let span = self.range(endless.loop_token.span, endless.body.brace_token.span.close());
                out.push(step(StepKind::Loop { test: None, each: None, body }, span));
            }
            SynExpr::While(repeated) => {
                let (test, body) = self.in_loop(&repeated.label, Dest::Drop, |lowering| {
                    let mut before = Vec::new();
                    let (test, mut then) = lowering.condition(&repeated.cond, &mut before);
                    then.extend(lowering.block(&repeated.body, &Dest::Drop));
                    if before.is_empty() {
                        return (Some(test), then);
                    }
                    let span = test.span;
                    let leave = vec![step(StepKind::Exit { kind: ExitKind::Break, value: None }, span)];
                    before.push(step(StepKind::Branch { test, then, otherwise: leave }, span));
                    (None, before)
                });
                let test = test.filter(|test| !matches!(test.kind, ExprKind::Bool(true)));
                let span = self.range(repeated.while_token.span, repeated.body.brace_token.span.close());
                out.push(step(StepKind::Loop { test, each: None, body }, span));
            }
            SynExpr::ForLoop(walk) => {
                let iterated = self.expr(&walk.expr, out);
                let target = self.target(&walk.pat);
                let body = self.in_loop(&walk.label, Dest::Drop, |lowering| lowering.block(&walk.body, &Dest::Drop));
                let span = self.range(walk.for_token.span, walk.body.brace_token.span.close());
                out.push(step(StepKind::Loop { test: None, each: Some((target, iterated)), body }, span));
            }
            _ => {}
        }
    }

    /// A block that can be left by its label: a loop that runs once.
    pub fn labeled_block(&mut self, block: &ExprBlock, dest: &Dest, out: &mut Vec<Step>) {
        let span = self.span(block.block.brace_token.span.join());
        let mut body = self.in_loop(&block.label, dest.clone(), |lowering| lowering.block(&block.block, dest));
        body.push(step(StepKind::Exit { kind: ExitKind::Break, value: None }, span));
        out.push(step(StepKind::Loop { test: None, each: None, body }, span));
    }

    /// `break`, with the value it gives to its loop.
    pub fn break_expr(&mut self, exit: &syn::ExprBreak, out: &mut Vec<Step>) {
        let label = exit.label.as_ref().map(|label| text(&label.ident));
        if let Some(value) = &exit.expr {
            let frame = self.loops.iter().rev().find(|frame| label.is_none() || frame.label == label);
            let dest = frame.map_or(Dest::Drop, |frame| frame.dest.clone());
            self.deliver(value, &dest, out);
            if matches!(dest, Dest::Return) {
                return;
            }
        }
        let span = self.span(exit.break_token.span);
        out.push(step(StepKind::Exit { kind: ExitKind::Break, value: None }, span));
    }

    fn in_loop<T>(&mut self, label: &Option<Label>, dest: Dest, lower: impl FnOnce(&mut Lowering) -> T) -> T {
        let label = label.as_ref().map(|label| text(&label.name.ident));
        self.loops.push(LoopFrame { label, dest });
        let lowered = lower(self);
        self.loops.pop();
        lowered
    }
}

fn strip(condition: &SynExpr) -> &SynExpr {
    match condition {
        SynExpr::Paren(inner) => strip(&inner.expr),
        SynExpr::Group(inner) => strip(&inner.expr),
        _ => condition,
    }
}

/// The parts of a chain of `&&` that holds a `let`; any other condition is one part.
fn conjuncts<'e>(condition: &'e SynExpr, parts: &mut Vec<&'e SynExpr>) {
    let mut chain = Vec::new();
    let mut left = strip(condition);
    while let SynExpr::Binary(binary) = left {
        if !matches!(binary.op, BinOp::And(_)) {
            break;
        }
        chain.push(strip(&binary.right));
        left = strip(&binary.left);
    }
    chain.push(left);
    if chain.iter().any(|part| matches!(part, SynExpr::Let(_))) {
        parts.extend(chain.into_iter().rev());
    } else {
        parts.push(condition);
    }
}
