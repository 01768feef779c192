//! Expressions, and the values whose evaluation needs a step of its own (`yield`).

use ruff_python_ast::{self as ast, CmpOp};

use super::super::{Arg, BinaryOp, Call, CallForm, ExprKind, Shape, Step, Target, TemplatePart};
use super::patterns::{number, text};
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

    fn all<'e>(&mut self, written: impl IntoIterator<Item = &'e ast::Expr>) -> Vec<Expr> {
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

    fn unary(&mut self, operation: &ast::ExprUnaryOp) -> ExprKind {
        let operand = self.expr(&operation.operand);
        match operation.op {
            ast::UnaryOp::Not => ExprKind::Not(Box::new(operand)),
            ast::UnaryOp::USub => ExprKind::Negate(Box::new(operand)),
            ast::UnaryOp::UAdd => operand.kind,
            ast::UnaryOp::Invert => ExprKind::Other(vec![operand]),
        }
    }

    /// `a < b < c` is `a < b and b < c`; a middle operand that does something is kept in a name of this pass's own.
    fn comparison(&mut self, comparison: &ast::ExprCompare, at: Span) -> ExprKind {
        let mut left = self.expr(&comparison.left);
        let mut pairs = Vec::new();
        let last = comparison.ops.len().saturating_sub(1);
        for (index, (op, right)) in comparison.ops.iter().zip(&comparison.comparators).enumerate() {
            let mut right = self.expr(right);
            let next = if index == last || is_repeatable(&right) { right.clone() } else { self.kept(&mut right) };
            let pair = Span::new(left.span.start, right.span.end);
            pairs.push(expr(compared(*op, left, right, pair), pair));
            left = next;
        }
        let mut joined = balanced(pairs, ExprKind::And);
        joined.span = at;
        joined.kind
    }

    /// Turns a value into its assignment to a new name, and returns that name.
    fn kept(&mut self, value: &mut Expr) -> Expr {
        let (name, at) = (self.temporary(), value.span);
        let kind = std::mem::replace(&mut value.kind, ExprKind::Null);
        let target = Box::new(Target::Name(name.clone(), at));
        value.kind = ExprKind::Assign { target, value: Box::new(expr(kind, at)), op: None, if_null: false };
        expr(ExprKind::Name(name), at)
    }

    /// Everything that a comprehension evaluates, in order.
    fn comprehension<'e>(
        &mut self,
        generators: &'e [ast::Comprehension],
        made: impl IntoIterator<Item = &'e ast::Expr>,
    ) -> ExprKind {
        let parts = generators.iter().flat_map(|one| std::iter::once(&one.iter).chain(&one.ifs)).chain(made);
        ExprKind::Other(self.all(parts))
    }

    fn template<'e>(&mut self, pieces: impl Iterator<Item = Piece<'e>>) -> ExprKind {
        let mut parts = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => push_text(&mut parts, text),
                Piece::Elements(elements) => self.elements(elements, &mut parts),
            }
        }
        match &mut parts[..] {
            [] => ExprKind::Text(String::new()),
            [TemplatePart::Text(text)] => ExprKind::Text(std::mem::take(text)),
            _ => ExprKind::Template(parts),
        }
    }

    fn elements(&mut self, elements: &[ast::InterpolatedStringElement], parts: &mut Vec<TemplatePart>) {
        for element in elements {
            match element {
                ast::InterpolatedStringElement::Literal(literal) => push_text(parts, literal),
                ast::InterpolatedStringElement::Interpolation(value) => {
                    if let Some(debug) = &value.debug_text {
                        push_text(parts, debug.as_str());
                    }
                    parts.push(TemplatePart::Value(self.interpolated(value)));
                }
            }
        }
    }

    /// The value; with the values in its format, where there are any.
    fn interpolated(&mut self, element: &ast::InterpolatedElement) -> Expr {
        let value = self.expr(&element.expression);
        let format = element.format_spec.iter().flat_map(|format| format.elements.interpolations());
        let format = self.all(format.map(|inner| &*inner.expression));
        if format.is_empty() {
            return value;
        }
        expr(ExprKind::Other(std::iter::once(value).chain(format).collect()), span(element))
    }
}

/// One of the literals that are joined into a template.
enum Piece<'e> {
    Text(&'e str),
    Elements(&'e [ast::InterpolatedStringElement]),
}

impl<'e> Piece<'e> {
    fn of(part: &'e ast::FStringPart) -> Piece<'e> {
        match part {
            ast::FStringPart::Literal(literal) => Piece::Text(literal),
            ast::FStringPart::FString(template) => Piece::Elements(&template.elements),
        }
    }
}

fn push_text(parts: &mut Vec<TemplatePart>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(TemplatePart::Text(before)) => before.push_str(text),
        _ => parts.push(TemplatePart::Text(text.to_owned())),
    }
}

/// Joins operands that associate, in their order, so that a long chain is not a deep tree.
pub(super) fn balanced(mut operands: Vec<Expr>, join: fn(Box<Expr>, Box<Expr>) -> ExprKind) -> Expr {
    let right = operands.split_off(operands.len().div_ceil(2));
    if right.is_empty() {
        return operands.pop().unwrap_or(expr(ExprKind::Other(Vec::new()), Span::default()));
    }
    let (left, right) = (balanced(operands, join), balanced(right, join));
    let at = Span::new(left.span.start, right.span.end);
    expr(join(Box::new(left), Box::new(right)), at)
}

/// The operator of an arithmetic expression or a compound assignment.
pub(super) fn binary(op: ast::Operator) -> BinaryOp {
    match op {
        ast::Operator::Add => BinaryOp::Add,
        ast::Operator::Sub => BinaryOp::Sub,
        ast::Operator::Mult => BinaryOp::Mul,
        ast::Operator::BitOr => BinaryOp::Other,
        _ => BinaryOp::OtherArithmetic,
    }
}

fn compared(op: CmpOp, left: Expr, right: Expr, at: Span) -> ExprKind {
    let is_equality = matches!(op, CmpOp::Eq | CmpOp::NotEq | CmpOp::Is | CmpOp::IsNot);
    let is_negated = matches!(op, CmpOp::NotEq | CmpOp::IsNot | CmpOp::NotIn);
    let asked = match (op, &left.kind, &right.kind) {
        (_, _, ExprKind::Null) if is_equality => ExprKind::Is(Box::new(left), Shape::Null),
        (_, ExprKind::Null, _) if is_equality => ExprKind::Is(Box::new(right), Shape::Null),
        (CmpOp::Is | CmpOp::IsNot, _, &ExprKind::Bool(value)) => ExprKind::Is(Box::new(left), Shape::Bool(value)),
        (CmpOp::In | CmpOp::NotIn, ..) => contains(right, left, at),
        _ => {
            let op = match op {
                CmpOp::NotEq | CmpOp::IsNot => BinaryOp::NotEqual,
                CmpOp::Lt => BinaryOp::Less,
                CmpOp::LtE => BinaryOp::LessEqual,
                CmpOp::Gt => BinaryOp::Greater,
                CmpOp::GtE => BinaryOp::GreaterEqual,
                _ => BinaryOp::Equal,
            };
            return ExprKind::Binary(op, Box::new(left), Box::new(right));
        }
    };
    if is_negated { ExprKind::Not(Box::new(expr(asked, at))) } else { asked }
}

fn contains(container: Expr, item: Expr, at: Span) -> ExprKind {
    let callee = expr(ExprKind::Member(Box::new(container), "__contains__".to_owned()), at);
    let args = vec![Arg { name: None, value: item }];
    ExprKind::Call(Box::new(Call { callee, args, form: CallForm::Operator, awaited: false }))
}

/// Whether a value can be written twice without anything happening twice.
pub(super) fn is_repeatable(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Member(of, _) | ExprKind::Negate(of) => is_repeatable(of),
        ExprKind::Name(_)
        | ExprKind::This
        | ExprKind::Super
        | ExprKind::Text(_)
        | ExprKind::Number(_)
        | ExprKind::Bool(_)
        | ExprKind::Null => true,
        _ => false,
    }
}
