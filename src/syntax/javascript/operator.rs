//! Operators of the language as the neutral ones.

use oxc_ast::ast::{AssignmentOperator, BinaryOperator};

use crate::syntax::BinaryOp;

pub(super) fn binary(operator: BinaryOperator) -> BinaryOp {
    use BinaryOperator as B;
    match operator {
        B::Equality | B::StrictEquality => BinaryOp::Equal,
        B::Inequality | B::StrictInequality => BinaryOp::NotEqual,
        B::LessThan => BinaryOp::Less,
        B::LessEqualThan => BinaryOp::LessEqual,
        B::GreaterThan => BinaryOp::Greater,
        B::GreaterEqualThan => BinaryOp::GreaterEqual,
        B::Addition => BinaryOp::Add,
        B::Subtraction => BinaryOp::Sub,
        B::Multiplication => BinaryOp::Mul,
        B::In | B::Instanceof => BinaryOp::Other,
        _ => BinaryOp::OtherArithmetic,
    }
}

/// The operator of a compound assignment; `None` for plain and logical ones.
pub(super) fn compound(operator: AssignmentOperator) -> Option<BinaryOp> {
    use AssignmentOperator as A;
    match operator {
        A::Assign | A::LogicalOr | A::LogicalAnd | A::LogicalNullish => None,
        A::Addition => Some(BinaryOp::Add),
        A::Subtraction => Some(BinaryOp::Sub),
        A::Multiplication => Some(BinaryOp::Mul),
        _ => Some(BinaryOp::OtherArithmetic),
    }
}
