//! Statements.

use ruff_python_ast::{self as ast, Stmt};

use super::super::{Arg, Call, CallForm, Catch, ExitKind, ExprKind, Step, StepKind, Target};
use super::names::{dotted, reread};
use super::operators::{binary, is_repeatable};
use super::patterns::bind;
use super::{Expr, Lowering, expr, span};
use crate::files::Span;

impl Lowering<'_> {
    pub(super) fn block(&mut self, suite: &[Stmt]) -> Vec<Step> {
        let mut steps = Vec::new();
        for stmt in suite {
            self.deeper(span(stmt), |this| this.statement(stmt, &mut steps));
        }
        steps
    }

    pub(super) fn statement(&mut self, stmt: &Stmt, out: &mut Vec<Step>) {
        let at = span(stmt);
        match stmt {
            Stmt::FunctionDef(def) => {
                let function = self.function(def, None);
                let target = self.bound(&def.name);
                self.emit(out, bind(target, expr(ExprKind::Lambda(function), at)), at);
            }
            Stmt::ClassDef(def) => self.class(def, out),
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::Global(global) => self.outer(&global.names, true),
            Stmt::Nonlocal(nonlocal) => self.outer(&nonlocal.names, false),
            Stmt::Expr(statement) => self.evaluate(&statement.value, out),
            Stmt::Assign(assign) => self.assign(assign, out),
            Stmt::AnnAssign(assign) => {
                let value = assign.value.as_deref().map(|value| self.expr(value));
                let target = self.target(&assign.target);
                self.emit(out, StepKind::Bind { target, value, declares: false, op: None }, at);
            }
            Stmt::AugAssign(assign) => {
                let value = Some(self.expr(&assign.value));
                let (target, op) = (self.target(&assign.target), Some(binary(assign.op)));
                self.emit(out, StepKind::Bind { target, value, declares: false, op }, at);
            }
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.delete(target, out)),
            Stmt::Return(exit) => self.exit(ExitKind::Return, exit.value.as_deref(), at, out),
            Stmt::Raise(raise) => self.raise(raise, out),
            Stmt::Break(_) => self.exit(ExitKind::Break, None, at, out),
            Stmt::Continue(_) => self.exit(ExitKind::Continue, None, at, out),
            Stmt::Assert(assert) => self.assert(assert, out),
            Stmt::If(branch) => self.branch(Some(&branch.test), &branch.body, &branch.elif_else_clauses, at, out),
            Stmt::While(repeat) => self.repeat(repeat, out),
            Stmt::For(each) => self.each(each, out),
            Stmt::Try(attempt) => self.attempt(attempt, out),
            Stmt::With(with) => self.within(&with.items, &with.body, at, out),
            Stmt::Match(statement) => self.match_statement(statement, out),
            Stmt::TypeAlias(_) | Stmt::Pass(_) | Stmt::IpyEscapeCommand(_) => {}
        }
    }

    fn exit(&mut self, kind: ExitKind, value: Option<&ast::Expr>, at: Span, out: &mut Vec<Step>) {
        let value = value.map(|value| self.expr(value));
        self.emit(out, StepKind::Exit { kind, value }, at);
    }

    /// An expression as a statement. Docstrings, other constants and what is left of a `yield` are no step.
    fn evaluate(&mut self, written: &ast::Expr, out: &mut Vec<Step>) {
        let value = self.value(written, out);
        let is_idle = match &value.kind {
            ExprKind::Text(_) | ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Null => true,
            ExprKind::Other(inside) => inside.is_empty(),
            _ => false,
        };
        if !is_idle {
            let at = value.span;
            self.emit(out, StepKind::Do(value), at);
        }
    }

    /// `a = b = value`: the value is evaluated once, then read from the first name it was given.
    fn assign(&mut self, assign: &ast::StmtAssign, out: &mut Vec<Step>) {
        let at = span(assign);
        let value = self.value(&assign.value, out);
        let mut targets: Vec<Target> = assign.targets.iter().map(|target| self.target(target)).collect();
        if let [_] = targets[..] {
            targets.into_iter().for_each(|target| self.emit(out, bind(target, value.clone()), at));
            return;
        }
        let shared = if is_repeatable(&value) {
            value
        } else {
            let first_name = targets.iter().position(|target| matches!(target, Target::Name(..)));
            let first = match first_name {
                Some(index) => targets.remove(index),
                None => Target::Name(self.temporary(), value.span),
            };
            let again = reread(&first).unwrap_or(expr(ExprKind::Other(Vec::new()), value.span));
            self.emit(out, bind(first, value), at);
            again
        };
        targets.into_iter().for_each(|target| self.emit(out, bind(target, shared.clone()), at));
    }

    fn delete(&mut self, target: &ast::Expr, out: &mut Vec<Step>) {
        let at = span(target);
        let nested = match target {
            ast::Expr::Tuple(tuple) => &tuple.elts,
            ast::Expr::List(list) => &list.elts,
            place => {
                let place = self.expr(place);
                return self.emit(out, StepKind::Delete(place), at);
            }
        };
        self.deeper(at, |this| nested.iter().for_each(|one| this.delete(one, out)));
    }

    fn raise(&mut self, raise: &ast::StmtRaise, out: &mut Vec<Step>) {
        let value = raise.exc.as_deref().map(|value| self.expr(value));
        if let Some(cause) = raise.cause.as_deref() {
            let cause = self.value(cause, out);
            if !is_repeatable(&cause) {
                let at = cause.span;
                self.emit(out, StepKind::Do(cause), at);
            }
        }
        self.emit(out, StepKind::Exit { kind: ExitKind::Throw, value }, span(raise));
    }

    /// `assert test, message` is `if not test: raise AssertionError(message)`.
    fn assert(&mut self, assert: &ast::StmtAssert, out: &mut Vec<Step>) {
        let at = span(assert);
        let test = Box::new(self.value(&assert.test, out));
        let mut then = Vec::new();
        let args = assert.msg.iter().map(|message| Arg { name: None, value: self.expr(message) }).collect();
        let callee = expr(ExprKind::Name("AssertionError".to_owned()), at);
        let error = ExprKind::Call(Box::new(Call { callee, args, form: CallForm::Plain, awaited: false }));
        self.emit(&mut then, StepKind::Exit { kind: ExitKind::Throw, value: Some(expr(error, at)) }, at);
        let test = expr(ExprKind::Not(test.clone()), test.span);
        self.emit(out, StepKind::Branch { test, then, otherwise: Vec::new() }, at);
    }

    /// `if` with its `elif`s and `else`, which has no test.
    fn branch(&mut self, test: Option<&ast::Expr>, body: &[Stmt], rest: &[ast::ElifElseClause], at: Span, out: &mut Vec<Step>) {
        let Some(test) = test else { return out.extend(self.block(body)) };
        let test = self.value(test, out);
        let then = self.block(body);
        let mut otherwise = Vec::new();
        if let Some((next, rest)) = rest.split_first() {
            let next_at = span(next);
            self.deeper(next_at, |this| this.branch(next.test.as_ref(), &next.body, rest, next_at, &mut otherwise));
        }
        self.emit(out, StepKind::Branch { test, then, otherwise }, at);
    }

    fn repeat(&mut self, repeat: &ast::StmtWhile, out: &mut Vec<Step>) {
        let test = self.value(&repeat.test, out);
        let is_endless = match test.kind {
            ExprKind::Bool(value) => value,
            ExprKind::Number(value) => value != 0.0,
            _ => false,
        };
        let body = self.block(&repeat.body);
        self.emit(out, StepKind::Loop { test: (!is_endless).then_some(test), each: None, body }, span(repeat));
        out.extend(self.block(&repeat.orelse));
    }

    fn each(&mut self, each: &ast::StmtFor, out: &mut Vec<Step>) {
        let iterated = self.value(&each.iter, out);
        let target = self.target(&each.target);
        let body = self.block(&each.body);
        self.emit(out, StepKind::Loop { test: None, each: Some((target, iterated)), body }, span(each));
        out.extend(self.block(&each.orelse));
    }

    fn attempt(&mut self, attempt: &ast::StmtTry, out: &mut Vec<Step>) {
        let body = self.block(&attempt.body);
        let catches = attempt.handlers.iter().map(|ast::ExceptHandler::ExceptHandler(handler)| self.catch(handler)).collect();
        let otherwise = self.block(&attempt.orelse);
        let finally = self.block(&attempt.finalbody);
        self.emit(out, StepKind::Try { body, catches, otherwise, finally }, span(attempt));
    }

    fn catch(&mut self, handler: &ast::ExceptHandlerExceptHandler) -> Catch {
        let types = match handler.type_.as_deref() {
            None => Vec::new(),
            Some(ast::Expr::Tuple(tuple)) => tuple.elts.iter().map(|one| self.caught(one)).collect(),
            Some(one) => vec![self.caught(one)],
        };
        let binding = handler.name.as_ref().map(ToString::to_string);
        Catch { types, binding, body: self.block(&handler.body), span: span(handler) }
    }

    /// A caught type: its dotted name, or the expression as written, so that it is not taken for one that catches everything.
    fn caught(&self, written: &ast::Expr) -> String {
        let at = span(written);
        dotted(written).unwrap_or_else(|| self.source.text.get(at.start as usize..at.end as usize).unwrap_or("").to_owned())
    }

    /// `with a as b, c: body` is `with a as b: with c: body`.
    fn within(&mut self, items: &[ast::WithItem], body: &[Stmt], at: Span, out: &mut Vec<Step>) {
        let Some((item, rest)) = items.split_first() else { return out.extend(self.block(body)) };
        let context: Expr = self.value(&item.context_expr, out);
        let binding = item.optional_vars.as_deref().map(|target| self.target(target));
        let mut inner = Vec::new();
        self.deeper(at, |this| this.within(rest, body, at, &mut inner));
        self.emit(out, StepKind::Within { context, binding, body: inner }, at);
    }
}
