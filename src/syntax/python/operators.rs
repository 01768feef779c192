//! Operators: arithmetic, chains of comparisons, and the tests that have a form of their own.

use ruff_python_ast::{self as ast, CmpOp};

use super::super::{Arg, BinaryOp, Call, CallForm, ExprKind, Shape, Target};
use super::{Expr, Lowering, expr};
use crate::files::Span;

impl Lowering<'_> {
    pub(super) fn unary(&mut self, operation: &ast::ExprUnaryOp) -> ExprKind {
        let operand = self.expr(&operation.operand);
        match operation.op {
            ast::UnaryOp::Not => ExprKind::Not(Box::new(operand)),
            ast::UnaryOp::USub => ExprKind::Negate(Box::new(operand)),
            ast::UnaryOp::UAdd => operand.kind,
            ast::UnaryOp::Invert => ExprKind::Other(vec![operand]),
        }
    }

    /// `a < b < c` is `a < b and b < c`; a middle operand that does something is kept in a name of this pass's own.
    pub(super) fn comparison(&mut self, comparison: &ast::ExprCompare, at: Span) -> ExprKind {
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
