//! Statements and the values blocks end in. It must not know how a condition is tested.

use syn::{Block, Expr as SynExpr, Local, Stmt};

use super::lower::{Lowering, declare, expr, name, step};
use super::pattern::binds_a_name;
use crate::files::Span;
use crate::syntax::{BinaryOp, ExitKind, Expr, ExprKind, Step, StepKind, Target};

/// Where the value of a block or of an expression goes.
#[derive(Clone)]
pub(super) enum Dest {
    /// Nowhere.
    Drop,
    /// Out of the function.
    Return,
    /// Into a variable.
    Name(String),
}

impl Lowering {
    /// The steps of a block; its items come first, for they hold in all of it.
    pub fn block(&mut self, block: &Block, dest: &Dest) -> Vec<Step> {
        self.statements(&block.stmts, dest)
    }

    /// The steps of a list of statements.
    pub fn statements(&mut self, statements: &[Stmt], dest: &Dest) -> Vec<Step> {
        self.deeper(|lowering| lowering.statements_inside(statements, dest)).unwrap_or_default()
    }

    fn statements_inside(&mut self, statements: &[Stmt], dest: &Dest) -> Vec<Step> {
        let items = statements.iter().filter_map(|statement| match statement {
            Stmt::Item(item) => Some(item),
            _ => None,
        });
        let mut out = self.items(items);
        let last = statements.len().saturating_sub(1);
        for (at, statement) in statements.iter().enumerate() {
            let tail = if at == last { dest } else { &Dest::Drop };
            match statement {
                Stmt::Item(_) => {}
                Stmt::Local(local) => self.local(local, &mut out),
                Stmt::Expr(value, None) => self.deliver(value, tail, &mut out),
                Stmt::Expr(value, Some(_)) => self.deliver(value, &Dest::Drop, &mut out),
                Stmt::Macro(statement) => {
                    let tail = if statement.semi_token.is_some() { &Dest::Drop } else { tail };
                    let before = out.len();
                    let value = self.macro_call(&statement.mac, &mut out);
                    self.put(value, tail, before, &mut out);
                }
            }
        }
        out
    }

    /// Lowers an expression and sends its value to `dest`.
    pub fn deliver(&mut self, value: &SynExpr, dest: &Dest, out: &mut Vec<Step>) {
        let lowered = self.deeper(|lowering| lowering.deliver_inside(value, dest, out));
        if lowered.is_none() {
            out.push(step(StepKind::Do(Expr { kind: ExprKind::Other(Vec::new()), span: Span::default() }), Span::default()));
        }
    }

    /// As [`Lowering::deliver`], but a plain block's steps need no scope of their own: the caller's list is one.
    pub fn deliver_block(&mut self, value: &SynExpr, dest: &Dest) -> Vec<Step> {
        let mut out = Vec::new();
        match value {
            SynExpr::Block(block) if block.label.is_none() => out = self.block(&block.block, dest),
            _ => self.deliver(value, dest, &mut out),
        }
        out
    }

    fn deliver_inside(&mut self, value: &SynExpr, dest: &Dest, out: &mut Vec<Step>) {
        match value {
            SynExpr::Paren(inner) => self.deliver(&inner.expr, dest, out),
            SynExpr::Group(inner) => self.deliver(&inner.expr, dest, out),
            SynExpr::Assign(assign) => {
                let target = self.assigned(&assign.left, out);
                self.assign(target, &assign.right, None, out);
            }
            SynExpr::Binary(binary) if super::expr::compound(&binary.op).is_some() => {
                let target = self.assigned(&binary.left, out);
                self.assign(target, &binary.right, super::expr::compound(&binary.op), out);
            }
            SynExpr::If(branch) => self.if_expr(branch, dest, out),
            SynExpr::Match(choice) => self.match_expr(choice, dest, out),
            SynExpr::Loop(_) | SynExpr::While(_) | SynExpr::ForLoop(_) => self.loop_expr(value, dest, out),
            SynExpr::Block(block) if block.label.is_some() => self.labeled_block(block, dest, out),
            SynExpr::Block(block) => self.scope(&block.block, dest, out),
            SynExpr::Unsafe(block) => self.scope(&block.block, dest, out),
            SynExpr::Const(block) => self.scope(&block.block, dest, out),
            SynExpr::TryBlock(block) => self.scope(&block.block, dest, out),
            _ => {
                let before = out.len();
                let value = self.expr(value, out);
                self.put(value, dest, before, out);
            }
        }
    }

    /// Sends a lowered value to `dest`; `before` is how long `out` was before it was lowered.
    pub fn put(&mut self, value: Expr, dest: &Dest, before: usize, out: &mut Vec<Step>) {
        let nothing = match &value.kind {
            ExprKind::Null => out.len() > before || matches!(dest, Dest::Drop),
            ExprKind::Name(temp) => crate::syntax::is_temporary(temp) && matches!(dest, Dest::Drop),
            _ => false,
        };
        if nothing {
            return;
        }
        let span = value.span;
        let kind = match dest {
            Dest::Drop => StepKind::Do(value),
            Dest::Return => StepKind::Exit { kind: ExitKind::Return, value: Some(value) },
            Dest::Name(temp) => {
                StepKind::Bind { target: Target::Name(temp.clone(), span), value: Some(value), declares: false, op: None }
            }
        };
        out.push(step(kind, span));
    }

    fn assign(&mut self, target: Target, value: &SynExpr, op: Option<BinaryOp>, out: &mut Vec<Step>) {
        let value = self.expr(value, out);
        let start = match &target {
            Target::Name(_, span) => *span,
            Target::Place(place) => place.span,
            _ => value.span,
        };
        let span = super::lower::join(start, value.span);
        out.push(step(StepKind::Bind { target, value: Some(value), declares: false, op }, span));
    }

    fn scope(&mut self, block: &Block, dest: &Dest, out: &mut Vec<Step>) {
        let steps = self.block(block, dest);
        let span = self.span(block.brace_token.span.join());
        out.push(step(StepKind::Scope(steps), span));
    }

    fn local(&mut self, local: &Local, out: &mut Vec<Step>) {
        let span = self.range(local.let_token.span, local.semi_token.span);
        let Some(init) = &local.init else {
            let target = self.target(&local.pat);
            out.push(declare(target, None, span));
            return;
        };
        let mut value = self.expr(&init.expr, out);
        if let syn::Pat::Type(typed) = &local.pat
            && matches!(value.kind, ExprKind::Call(_) | ExprKind::Propagate(_))
        {
            let at = value.span;
            value = expr(ExprKind::Typed(Box::new(value), self.type_ref(&typed.ty)), at);
        }
        let Some((_, otherwise)) = &init.diverge else {
            let target = self.target(&local.pat);
            out.push(declare(target, Some(value), span));
            return;
        };
        let subject = self.bind_temp(value, out);
        let test = self.test(&local.pat, &subject);
        let otherwise = self.deliver_block(otherwise, &Dest::Drop);
        out.push(step(StepKind::Branch { test, then: Vec::new(), otherwise }, span));
        out.extend(self.bind_pattern(&local.pat, &subject));
    }

    /// Binds a value to a new variable and returns its name.
    pub fn bind_temp(&mut self, value: Expr, out: &mut Vec<Step>) -> Expr {
        let span = value.span;
        let temp = self.fresh();
        out.push(declare(Target::Name(temp.clone(), span), Some(value), span));
        name(temp, span)
    }

    /// The binding a pattern makes, if it makes one.
    pub fn bind_pattern(&mut self, pat: &syn::Pat, subject: &Expr) -> Option<Step> {
        let target = self.target(pat);
        binds_a_name(&target).then(|| declare(target, Some(subject.clone()), self.span(syn::spanned::Spanned::span(pat))))
    }

    /// Runs what makes a value in several places, each of which writes it to a new variable, and returns its name.
    pub fn through_temp(&mut self, value: &SynExpr, span: Span, out: &mut Vec<Step>) -> Expr {
        let temp = self.fresh();
        out.push(declare(Target::Name(temp.clone(), span), None, span));
        self.deliver(value, &Dest::Name(temp.clone()), out);
        name(temp, span)
    }
}
