//! Calls and the functions written as values. It must not know what is called.

use syn::{Expr as SynExpr, ExprAsync, ExprAwait, ExprCall, ExprClosure, ExprMethodCall};

use super::expr::single_name;
use super::lower::{Lowering, expr, join, member, text};
use super::steps::Dest;
use crate::files::Span;
use crate::syntax::{Arg, Call, CallForm, Expr, ExprKind, FnFlags, Function, Param, Shape, Step};

impl Lowering {
    /// `f(x)`.
    pub fn call(&mut self, call: &ExprCall, out: &mut Vec<Step>) -> Expr {
        let callee = self.expr(&call.func, out);
        let args = self.args(call.args.iter(), out);
        let span = join(callee.span, self.span(call.paren_token.span.close()));
        call_expr(callee, args, CallForm::Plain, span)
    }

    /// `a.f(x)`.
    pub fn method_call(&mut self, call: &ExprMethodCall, out: &mut Vec<Step>) -> Expr {
        let receiver = self.expr(&call.receiver, out);
        let start = receiver.span;
        if let Some(shape) = asked_shape(&text(&call.method)).filter(|_| call.args.is_empty()) {
            let span = join(start, self.span(call.paren_token.span.close()));
            return expr(ExprKind::Is(Box::new(receiver), shape), span);
        }
        let callee = member(receiver, text(&call.method), join(start, self.span(call.method.span())));
        let args = self.args(call.args.iter(), out);
        let span = join(start, self.span(call.paren_token.span.close()));
        call_expr(callee, args, CallForm::Plain, span)
    }

    /// Arguments; `name = value`, which macros and attributes take, has its keyword.
    pub fn args<'e>(&mut self, args: impl Iterator<Item = &'e SynExpr>, out: &mut Vec<Step>) -> Vec<Arg> {
        let lowered = args.map(|arg| match arg {
            SynExpr::Assign(assign) if single_name(&assign.left).is_some() => {
                Arg { name: single_name(&assign.left), value: self.expr(&assign.right, out) }
            }
            _ => Arg { name: None, value: self.expr(arg, out) },
        });
        lowered.collect()
    }

    /// `x.await`.
    pub fn awaited(&mut self, inner: &ExprAwait, out: &mut Vec<Step>) -> Expr {
        let mut value = self.expr(&inner.base, out);
        if let ExprKind::Call(call) = &mut value.kind {
            call.awaited = true;
            value.span = join(value.span, self.span(inner.await_token.span));
        }
        value
    }

    /// A closure. One whose body is an async block is an async lambda.
    pub fn closure(&mut self, closure: &ExprClosure) -> Expr {
        let start = self.span(closure.inputs_begin.span);
        let params = closure.inputs.iter().map(|pat| {
            let ty = match pat {
                syn::Pat::Type(typed) => Some(self.type_ref(&typed.ty)),
                _ => None,
            };
            Param { target: self.target(pat), ty, default: None, gathers: None }
        });
        let params = params.collect();
        let returns = self.return_type(&closure.output);
        let body = only_expression(&closure.body);
        let is_async = closure.asyncness.is_some() || matches!(body, SynExpr::Async(_));
        let mut function = lambda(params, is_async, start);
        function.parent = Some(self.within);
        function.returns = returns;
        let id = self.add_function(function, |lowering| match body {
            SynExpr::Async(block) => lowering.block(&block.block, &Dest::Return),
            _ => lowering.deliver_block(body, &Dest::Return),
        });
        let end =
            self.unit.functions.get(id.0 as usize).and_then(|function| function.body.last()).map_or(start, |last| last.span);
        let end = match &*closure.body {
            SynExpr::Block(block) => self.span(block.block.brace_token.span.close()),
            SynExpr::Async(block) => self.span(block.block.brace_token.span.close()),
            _ => end,
        };
        self.lambda_expr(id, join(start, end))
    }

    /// `async { .. }`: a lambda without parameters.
    pub fn async_block(&mut self, block: &ExprAsync) -> Expr {
        let start = self.span(block.async_token.span);
        let mut function = lambda(Vec::new(), true, start);
        function.parent = Some(self.within);
        let id = self.add_function(function, |lowering| lowering.block(&block.block, &Dest::Return));
        let end = self.span(block.block.brace_token.span.close());
        self.lambda_expr(id, join(start, end))
    }

    fn lambda_expr(&mut self, id: crate::syntax::FnId, span: Span) -> Expr {
        if let Some(function) = self.unit.functions.get_mut(id.0 as usize) {
            function.span = span;
        }
        expr(ExprKind::Lambda(id), span)
    }
}

/// A call.
pub(super) fn call_expr(callee: Expr, args: Vec<Arg>, form: CallForm, span: Span) -> Expr {
    expr(ExprKind::Call(Box::new(Call { callee, args, form, awaited: false })), span)
}

fn lambda(params: Vec<Param>, is_async: bool, start: Span) -> Function {
    Function {
        name: String::new(),
        params,
        body: Vec::new(),
        class: None,
        parent: None,
        decorators: Vec::new(),
        returns: None,
        receiver: None,
        flags: FnFlags { is_async, ..FnFlags::default() },
        span: start,
        name_span: start,
    }
}

/// A body without the braces around its one expression.
fn only_expression(body: &SynExpr) -> &SynExpr {
    match body {
        SynExpr::Block(block) if block.label.is_none() => match block.block.stmts.as_slice() {
            [syn::Stmt::Expr(only @ SynExpr::Async(_), None)] => only,
            _ => body,
        },
        _ => body,
    }
}

/// The shape that a method of the language's own `Option` and `Result` asks for.
fn asked_shape(method: &str) -> Option<Shape> {
    match method {
        "is_some" => Some(Shape::Present),
        "is_none" => Some(Shape::Null),
        "is_ok" => Some(Shape::Ok),
        "is_err" => Some(Shape::Err),
        _ => None,
    }
}
