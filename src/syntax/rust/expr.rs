//! Expressions. What runs steps inside a value (`match`, `?` aside) is put before the statement it is in.

use syn::{BinOp, Expr as SynExpr, ExprBinary, ExprStruct, Lit, Stmt, UnOp};

use super::lower::{Lowering, expr, join, member, name, step, text};
use super::pattern::member_name;
use super::steps::Dest;
use crate::files::Span;
use crate::syntax::{BinaryOp, ExitKind, Expr, ExprKind, Shape, Step, StepKind, Target};

impl Lowering {
    /// Lowers an expression; steps it needs are added to `out`.
    pub fn expr(&mut self, value: &SynExpr, out: &mut Vec<Step>) -> Expr {
        self.deeper(|lowering| lowering.expr_inside(value, out)).unwrap_or(expr(ExprKind::Other(Vec::new()), Span::default()))
    }

    fn expr_inside(&mut self, value: &SynExpr, out: &mut Vec<Step>) -> Expr {
        match value {
            SynExpr::Paren(inner) => self.expr(&inner.expr, out),
            SynExpr::Group(inner) => self.expr(&inner.expr, out),
            SynExpr::Reference(inner) => self.expr(&inner.expr, out),
            SynExpr::RawAddr(inner) => self.expr(&inner.expr, out),
            SynExpr::Cast(inner) => self.expr(&inner.expr, out),
            SynExpr::Path(path) => self.path_expr(path.qself.as_ref(), &path.path),
            SynExpr::Lit(inner) => expr(literal(&inner.lit), self.span(inner.lit.span())),
            SynExpr::Call(call) => self.call(call, out),
            SynExpr::MethodCall(call) => self.method_call(call, out),
            SynExpr::Await(inner) => self.awaited(inner, out),
            SynExpr::Closure(closure) => self.closure(closure),
            SynExpr::Async(block) => self.async_block(block),
            SynExpr::Macro(inner) => self.macro_call(&inner.mac, out),
            SynExpr::Struct(literal) => self.struct_literal(literal, out),
            SynExpr::Field(field) => {
                let object = self.expr(&field.base, out);
                let end = match &field.member {
                    syn::Member::Named(ident) => ident.span(),
                    syn::Member::Unnamed(index) => index.span,
                };
                let span = join(object.span, self.span(end));
                member(object, member_name(&field.member), span)
            }
            SynExpr::Index(index) => {
                let object = self.expr(&index.expr, out);
                let key = self.expr(&index.index, out);
                let span = join(object.span, self.span(index.bracket_token.span.close()));
                expr(ExprKind::Index(Box::new(object), Box::new(key)), span)
            }
            SynExpr::Try(inner) => {
                let value = self.expr(&inner.expr, out);
                let span = join(value.span, self.span(inner.question_token.span));
                expr(ExprKind::Propagate(Box::new(value)), span)
            }
            SynExpr::Unary(unary) => {
                let value = self.expr(&unary.expr, out);
                let (kind, token) = match unary.op {
                    UnOp::Not(token) => (ExprKind::Not(Box::new(value)), token.span),
                    UnOp::Neg(token) => (ExprKind::Negate(Box::new(value)), token.span),
                    _ => return value,
                };
                let end = match &kind {
                    ExprKind::Not(value) | ExprKind::Negate(value) => value.span,
                    _ => Span::default(),
                };
                expr(kind, join(self.span(token), end))
            }
            SynExpr::Binary(binary) => self.binary(binary, value, out),
            SynExpr::Array(array) => {
                let span = self.span(array.bracket_token.span.join());
                expr(ExprKind::List(array.elems.iter().map(|part| self.expr(part, out)).collect()), span)
            }
            SynExpr::Repeat(repeat) => {
                let span = self.span(repeat.bracket_token.span.join());
                expr(ExprKind::List(vec![self.expr(&repeat.expr, out)]), span)
            }
            SynExpr::Tuple(tuple) => {
                let span = self.span(tuple.paren_token.span.join());
                let parts: Vec<_> = tuple.elems.iter().map(|part| self.expr(part, out)).collect();
                expr(if parts.is_empty() { ExprKind::Null } else { ExprKind::List(parts) }, span)
            }
            SynExpr::Range(range) => {
                let ends = [&range.start, &range.end].into_iter().flatten();
                let parts: Vec<_> = ends.map(|end| self.expr(end, out)).collect();
                let span = parts.iter().map(|part| part.span).reduce(join).unwrap_or_default();
                expr(ExprKind::Other(parts), span)
            }
            SynExpr::Return(exit) => {
                let span = self.span(exit.return_token.span);
                match &exit.expr {
                    Some(value) => self.deliver(value, &Dest::Return, out),
                    None => out.push(step(StepKind::Exit { kind: ExitKind::Return, value: None }, span)),
                }
                expr(ExprKind::Null, span)
            }
            SynExpr::Break(exit) => {
                self.break_expr(exit, out);
                expr(ExprKind::Null, self.span(exit.break_token.span))
            }
            SynExpr::Continue(exit) => {
                let span = self.span(exit.continue_token.span);
                out.push(step(StepKind::Exit { kind: ExitKind::Continue, value: None }, span));
                expr(ExprKind::Null, span)
            }
            SynExpr::Yield(exit) => {
                let span = self.span(exit.yield_token.span);
                let value = exit.expr.as_ref().map(|value| self.expr(value, out));
                out.push(step(StepKind::Exit { kind: ExitKind::Yield, value }, span));
                expr(ExprKind::Null, span)
            }
            SynExpr::Let(_) => {
                let (test, bindings) = self.condition(value, out);
                out.extend(bindings);
                test
            }
            SynExpr::Assign(_) => {
                self.deliver(value, &Dest::Drop, out);
                expr(ExprKind::Null, Span::default())
            }
            SynExpr::While(_) | SynExpr::ForLoop(_) => {
                self.loop_expr(value, &Dest::Drop, out);
                expr(ExprKind::Null, Span::default())
            }
            SynExpr::If(branch) => {
                let span = self.range(branch.if_token.span, branch.then_branch.brace_token.span.close());
                self.through_temp(value, span, out)
            }
            SynExpr::Match(choice) => {
                let span = self.range(choice.match_token.span, choice.brace_token.span.close());
                self.through_temp(value, span, out)
            }
            SynExpr::Loop(endless) => {
                let span = self.range(endless.loop_token.span, endless.body.brace_token.span.close());
                self.through_temp(value, span, out)
            }
            SynExpr::Block(block) if block.label.is_some() => {
                let span = self.span(block.block.brace_token.span.join());
                self.through_temp(value, span, out)
            }
            SynExpr::Block(block) => self.block_value(&block.block, value, out),
            SynExpr::Unsafe(block) => self.block_value(&block.block, value, out),
            SynExpr::Const(block) => self.block_value(&block.block, value, out),
            SynExpr::TryBlock(block) => self.block_value(&block.block, value, out),
            _ => expr(ExprKind::Other(Vec::new()), Span::default()),
        }
    }

    /// A block with only an expression in it is that expression.
    fn block_value(&mut self, block: &syn::Block, value: &SynExpr, out: &mut Vec<Step>) -> Expr {
        match block.stmts.as_slice() {
            [Stmt::Expr(only, None)] => self.expr(only, out),
            [] => expr(ExprKind::Null, self.span(block.brace_token.span.join())),
            _ => {
                let span = self.span(block.brace_token.span.join());
                self.through_temp(value, span, out)
            }
        }
    }

    fn binary(&mut self, binary: &ExprBinary, whole: &SynExpr, out: &mut Vec<Step>) -> Expr {
        if compound(&binary.op).is_some() {
            self.deliver(whole, &Dest::Drop, out);
            return expr(ExprKind::Null, Span::default());
        }
        let left = self.expr(&binary.left, out);
        let and = matches!(binary.op, BinOp::And(_));
        if and || matches!(binary.op, BinOp::Or(_)) {
            return self.short_circuit(and, left, &binary.right, out);
        }
        let right = self.expr(&binary.right, out);
        let span = join(left.span, right.span);
        let op = operator(&binary.op);
        let (left_null, right_null) = (matches!(left.kind, ExprKind::Null), matches!(right.kind, ExprKind::Null));
        if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) && (left_null || right_null) {
            let subject = if right_null { left } else { right };
            let test = expr(ExprKind::Is(Box::new(subject), Shape::Null), span);
            return if op == BinaryOp::Equal { test } else { expr(ExprKind::Not(Box::new(test)), span) };
        }
        expr(ExprKind::Binary(op, Box::new(left), Box::new(right)), span)
    }

    /// `&&` and `||`. Where the right side needs steps, they run only if it does.
    fn short_circuit(&mut self, and: bool, left: Expr, right: &SynExpr, out: &mut Vec<Step>) -> Expr {
        let mut steps = Vec::new();
        let right = self.expr(right, &mut steps);
        let span = join(left.span, right.span);
        if steps.is_empty() {
            let (left, right) = (Box::new(left), Box::new(right));
            return expr(if and { ExprKind::And(left, right) } else { ExprKind::Or(left, right) }, span);
        }
        let subject = self.bind_temp(left, out);
        let ExprKind::Name(temp) = &subject.kind else { return subject };
        if !(matches!(right.kind, ExprKind::Null)) {
            let target = Target::Name(temp.clone(), right.span);
            steps.push(step(StepKind::Bind { target, value: Some(right), declares: false, op: None }, span));
        }
        let test = if and { subject.clone() } else { expr(ExprKind::Not(Box::new(subject.clone())), subject.span) };
        out.push(step(StepKind::Branch { test, then: steps, otherwise: Vec::new() }, span));
        name(temp.clone(), span)
    }

    fn struct_literal(&mut self, literal: &ExprStruct, out: &mut Vec<Step>) -> Expr {
        let ty = self.dotted_path(&literal.path);
        let mut entries: Vec<_> =
            literal.fields.iter().map(|field| (member_name(&field.member), self.expr(&field.expr, out))).collect();
        if let Some(rest) = &literal.rest {
            entries.push(("...".to_string(), self.expr(rest, out)));
        }
        let close = self.span(literal.brace_token.span.close());
        let start = literal.path.segments.first().map_or(close, |first| self.span(first.ident.span()));
        expr(ExprKind::Object { ty: Some(ty), entries }, join(start, close))
    }
}

/// A constant's value.
pub(super) fn literal(literal: &Lit) -> ExprKind {
    let number = |digits: &str| digits.parse().map_or(ExprKind::Other(Vec::new()), ExprKind::Number);
    match literal {
        Lit::Str(text) => ExprKind::Text(text.value()),
        Lit::ByteStr(bytes) => ExprKind::Text(String::from_utf8_lossy(&bytes.value()).into_owned()),
        Lit::CStr(bytes) => ExprKind::Text(bytes.value().to_string_lossy().into_owned()),
        Lit::Byte(byte) => ExprKind::Text(char::from(byte.value()).to_string()),
        Lit::Char(letter) => ExprKind::Text(letter.value().to_string()),
        Lit::Int(digits) => number(digits.base10_digits()),
        Lit::Float(digits) => number(digits.base10_digits()),
        Lit::Bool(value) => ExprKind::Bool(value.value),
        _ => ExprKind::Other(Vec::new()),
    }
}

/// The operator of a compound assignment.
pub(super) fn compound(op: &BinOp) -> Option<BinaryOp> {
    match op {
        BinOp::AddAssign(_) => Some(BinaryOp::Add),
        BinOp::SubAssign(_) => Some(BinaryOp::Sub),
        BinOp::MulAssign(_) => Some(BinaryOp::Mul),
        BinOp::DivAssign(_)
        | BinOp::RemAssign(_)
        | BinOp::BitXorAssign(_)
        | BinOp::BitAndAssign(_)
        | BinOp::BitOrAssign(_)
        | BinOp::ShlAssign(_)
        | BinOp::ShrAssign(_) => Some(BinaryOp::OtherArithmetic),
        _ => None,
    }
}

fn operator(op: &BinOp) -> BinaryOp {
    match op {
        BinOp::Add(_) => BinaryOp::Add,
        BinOp::Sub(_) => BinaryOp::Sub,
        BinOp::Mul(_) => BinaryOp::Mul,
        BinOp::Eq(_) => BinaryOp::Equal,
        BinOp::Ne(_) => BinaryOp::NotEqual,
        BinOp::Lt(_) => BinaryOp::Less,
        BinOp::Le(_) => BinaryOp::LessEqual,
        BinOp::Gt(_) => BinaryOp::Greater,
        BinOp::Ge(_) => BinaryOp::GreaterEqual,
        _ => BinaryOp::OtherArithmetic,
    }
}

/// The name a plain identifier path has.
pub(super) fn single_name(value: &SynExpr) -> Option<String> {
    match value {
        SynExpr::Path(path) if path.qself.is_none() => path.path.get_ident().map(text),
        _ => None,
    }
}
