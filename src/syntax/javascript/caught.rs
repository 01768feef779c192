//! What a handler asks of the error it caught: a `catch` names no types, but its first questions do.

use oxc_ast::ast::{BinaryOperator, CatchClause, Expression, Statement};

/// Names of classes and constant codes that the handler's own `if`s ask for.
pub(super) fn asked_for(handler: &CatchClause) -> Vec<String> {
    let mut found = vec![];
    for statement in &handler.body.body {
        if let Statement::IfStatement(tree) = statement {
            asked(&tree.test, &mut found);
        }
    }
    found
}

fn asked(test: &Expression, found: &mut Vec<String>) {
    match test {
        Expression::ParenthesizedExpression(tree) => asked(&tree.expression, found),
        Expression::LogicalExpression(tree) => {
            asked(&tree.left, found);
            asked(&tree.right, found);
        }
        Expression::BinaryExpression(tree) => match (tree.operator, &tree.left, &tree.right) {
            (BinaryOperator::Instanceof, _, class) => found.extend(class_name(class)),
            (BinaryOperator::StrictEquality | BinaryOperator::Equality, _, Expression::StringLiteral(code)) => {
                found.push(code.value.to_string());
            }
            _ => {}
        },
        _ => {}
    }
}

fn class_name(class: &Expression) -> Option<String> {
    match class {
        Expression::Identifier(name) => Some(name.name.to_string()),
        Expression::StaticMemberExpression(tree) => Some(tree.property.name.to_string()),
        _ => None,
    }
}
