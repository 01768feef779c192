//! Expressions, and the values whose evaluation needs a step of its own (`yield`).

use ruff_python_ast as ast;

use super::super::{Arg, Call, CallForm, ExprKind, Step};
use super::literals::{Piece, number, text};
use super::operators::{balanced, binary, is_repeatable};
use super::{Expr, Lowering, expr, span};
use crate::files::Span;

impl Lowering<'_> {
    /// Lowers an expression of a statement whose own step comes later: what must run before goes to `out` now.
    pub(super) fn value(&mut self, written: &ast::Expr, out: &mut Vec<Step>) -> Expr {
        let value = self.expr(written);
        out.append(&mut self.pending);
        value
    }

    /// Lowers an expression. Steps that it needs before it are left in `pending`.
    pub(super) fn expr(&mut self, written: &ast::Expr) -> Expr {
        let at = span(written);
        let kind = self.deeper(at, |this| this.kind(written, at));
        expr(kind.unwrap_or(ExprKind::Other(Vec::new())), at)
    }

    fn boxed(&mut self, written: &ast::Expr) -> Box<Expr> {
        Box::new(self.expr(written))
    }

    /// Lowers expressions in their order.
    pub(super) fn all<'e>(&mut self, written: impl IntoIterator<Item = &'e ast::Expr>) -> Vec<Expr> {
        written.into_iter().map(|one| self.expr(one)).collect()
    }

    fn kind(&mut self, written: &ast::Expr, at: Span) -> ExprKind {
        match written {
            ast::Expr::Name(name) => self.name(&name.id),
            ast::Expr::Attribute(attribute) => ExprKind::Member(self.boxed(&attribute.value), attribute.attr.to_string()),
            ast::Expr::Subscript(subscript) => {
                let value = self.boxed(&subscript.value);
                ExprKind::Index(value, self.boxed(&subscript.slice))
            }
            ast::Expr::Call(call) => self.call(call),
            ast::Expr::Await(awaited) => self.awaited(&awaited.value),
            ast::Expr::StringLiteral(_) | ast::Expr::BytesLiteral(_) => ExprKind::Text(text(written).unwrap_or_default()),
            ast::Expr::FString(template) => self.template(template.value.iter().map(Piece::of)),
            ast::Expr::TString(template) => self.template(template.value.iter().map(|one| Piece::Elements(&one.elements))),
            ast::Expr::NumberLiteral(_) => number(written).map_or(ExprKind::Other(Vec::new()), ExprKind::Number),
            ast::Expr::BooleanLiteral(constant) => ExprKind::Bool(constant.value),
            ast::Expr::NoneLiteral(_) => ExprKind::Null,
            ast::Expr::Dict(dict) => self.dict(dict),
            ast::Expr::List(list) => ExprKind::List(self.all(&list.elts)),
            ast::Expr::Tuple(tuple) => ExprKind::List(self.all(&tuple.elts)),
            ast::Expr::Set(set) => ExprKind::List(self.all(&set.elts)),
            ast::Expr::Lambda(lambda) => ExprKind::Lambda(self.lambda(lambda)),
            ast::Expr::BinOp(operation) => {
                let left = self.boxed(&operation.left);
                ExprKind::Binary(binary(operation.op), left, self.boxed(&operation.right))
            }
            ast::Expr::UnaryOp(operation) => self.unary(operation),
            ast::Expr::BoolOp(operation) => {
                let join = if operation.op == ast::BoolOp::And { ExprKind::And } else { ExprKind::Or };
                balanced(self.all(&operation.values), join).kind
            }
            ast::Expr::Compare(comparison) => self.comparison(comparison, at),
            ast::Expr::If(choice) => {
                let test = self.boxed(&choice.test);
                let then = self.boxed(&choice.body);
                ExprKind::Choose { test, then, otherwise: self.boxed(&choice.orelse) }
            }
            ast::Expr::Named(named) => {
                let value = self.boxed(&named.value);
                ExprKind::Assign { target: Box::new(self.target(&named.target)), value, op: None, if_null: false }
            }
            ast::Expr::Yield(yielded) => self.yields(yielded.value.as_deref(), at),
            ast::Expr::YieldFrom(yielded) => self.yields(Some(&yielded.value), at),
            ast::Expr::ListComp(made) => self.comprehension(&made.generators, [&*made.elt]),
            ast::Expr::SetComp(made) => self.comprehension(&made.generators, [&*made.elt]),
            ast::Expr::Generator(made) => self.comprehension(&made.generators, [&*made.elt]),
            ast::Expr::DictComp(made) => {
                self.comprehension(&made.generators, made.key.as_deref().into_iter().chain([&*made.value]))
            }
            ast::Expr::Starred(starred) => ExprKind::Other(vec![self.expr(&starred.value)]),
            ast::Expr::Slice(slice) => {
                let bounds = [&slice.lower, &slice.upper, &slice.step];
                ExprKind::Other(self.all(bounds.into_iter().filter_map(|bound| bound.as_deref())))
            }
            ast::Expr::EllipsisLiteral(_) | ast::Expr::IpyEscapeCommand(_) => ExprKind::Other(Vec::new()),
        }
    }

    fn name(&self, name: &str) -> ExprKind {
        match name {
            "" => ExprKind::Other(Vec::new()),
            _ if self.own_name(name).is_some() => ExprKind::Name(self.own_name(name).unwrap_or(name).to_owned()),
            _ if self.receiver() == Some(name) => ExprKind::This,
            _ => ExprKind::Name(name.to_owned()),
        }
    }

    fn call(&mut self, call: &ast::ExprCall) -> ExprKind {
        if matches!(&*call.func, ast::Expr::Name(name) if name.id == "super") {
            return ExprKind::Super;
        }
        let callee = self.expr(&call.func);
        let args = call.arguments.iter_source_order().map(|argument| self.argument(argument)).collect();
        ExprKind::Call(Box::new(Call { callee, args, form: CallForm::Plain, awaited: false }))
    }

    fn argument(&mut self, argument: ast::ArgOrKeyword<'_>) -> Arg {
        match argument {
            ast::ArgOrKeyword::Arg(ast::Expr::Starred(starred)) => {
                Arg { name: Some("*".to_owned()), value: self.expr(&starred.value) }
            }
            ast::ArgOrKeyword::Arg(value) => Arg { name: None, value: self.expr(value) },
            ast::ArgOrKeyword::Keyword(keyword) => {
                let name = keyword.arg.as_ref().map_or("**", |name| name.as_str());
                Arg { name: Some(name.to_owned()), value: self.expr(&keyword.value) }
            }
        }
    }

    fn awaited(&mut self, value: &ast::Expr) -> ExprKind {
        let mut kind = self.expr(value).kind;
        if let ExprKind::Call(call) = &mut kind {
            call.awaited = true;
        }
        kind
    }

    fn dict(&mut self, dict: &ast::ExprDict) -> ExprKind {
        let entries = dict.iter().map(|item| self.entry(item)).collect();
        ExprKind::Object { ty: None, entries }
    }

    fn entry(&mut self, item: &ast::DictItem) -> (String, Expr) {
        let Some(key) = &item.key else { return ("...".to_owned(), self.expr(&item.value)) };
        if let Some(key) = text(key).or_else(|| number(key).map(|key| key.to_string())) {
            return (key, self.expr(&item.value));
        }
        let key = self.expr(key);
        let value = self.expr(&item.value);
        if is_repeatable(&key) {
            return ("[]".to_owned(), value);
        }
        let at = Span::new(key.span.start, value.span.end);
        ("[]".to_owned(), expr(ExprKind::Other(vec![key, value]), at))
    }

    /// Everything that a comprehension evaluates, in order; its names are its own.
    fn comprehension<'e>(
        &mut self,
        generators: &'e [ast::Comprehension],
        made: impl IntoIterator<Item = &'e ast::Expr>,
    ) -> ExprKind {
        let outer = self.own_names.len();
        let mut parts = vec![];
        for one in generators {
            let over = self.expr(&one.iter);
            let at = over.span;
            names(&one.target, &mut |name| {
                let own = self.temporary();
                self.own_names.push((name.to_owned(), own));
            });
            let target = Box::new(self.target(&one.target));
            let value = Box::new(expr(ExprKind::Element(Box::new(over)), at));
            parts.push(expr(ExprKind::Assign { target, value, op: None, if_null: false }, at));
            parts.extend(self.all(&one.ifs));
        }
        parts.extend(self.all(made));
        self.own_names.truncate(outer);
        ExprKind::Other(parts)
    }
}

/// The names that a target binds.
fn names(target: &ast::Expr, found: &mut impl FnMut(&str)) {
    match target {
        ast::Expr::Name(name) => found(&name.id),
        ast::Expr::Tuple(tuple) => tuple.elts.iter().for_each(|item| names(item, found)),
        ast::Expr::List(list) => list.elts.iter().for_each(|item| names(item, found)),
        ast::Expr::Starred(starred) => names(&starred.value, found),
        _ => {}
    }
}
