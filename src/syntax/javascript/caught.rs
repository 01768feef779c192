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
            (BinaryOperator::StrictEquality | BinaryOperator::Equality, _, Expression::NumericLiteral(code)) => {
                found.push(code.value.to_string());
            }
            // `if (error.code !== "23505") throw error`
            (BinaryOperator::StrictInequality | BinaryOperator::Inequality, _, Expression::StringLiteral(code)) => {
                found.push(code.value.to_string());
            }
            (BinaryOperator::StrictInequality | BinaryOperator::Inequality, _, Expression::NumericLiteral(code)) => {
                found.push(code.value.to_string());
            }
            _ => {}
        },
        Expression::UnaryExpression(tree) => asked(&tree.argument, found),
        // `isDuplicateKey(error)`: by its name.
        Expression::CallExpression(tree) if tree.arguments.len() == 1 => found.extend(class_name(&tree.callee)),
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
