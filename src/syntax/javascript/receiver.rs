//! Calls of a function that only say what `this` is in it: `f.bind(this)`, `f.call(this, x)`, `f.apply(this, args)`.

use oxc_ast::ast::{Argument, CallExpression, Expression};
use oxc_span::GetSpan;

use super::{Expr, ExprKind, Lower, expr, span};
use crate::syntax::{Arg, Call, CallForm};

impl Lower {
    /// What such a call comes to: the function itself, or a plain call of it. `None` for any other call, and where the receiver is
    /// another one than the function is taken from.
    pub(super) fn told_its_receiver(&mut self, tree: &CallExpression) -> Option<Expr> {
        let Expression::StaticMemberExpression(member) = &tree.callee else { return None };
        let (receiver, rest) = tree.arguments.split_first()?;
        let receiver = receiver.as_expression()?;
        let function = &member.object;
        let own = matches!(receiver, Expression::ThisExpression(_) | Expression::NullLiteral(_))
            || matches!(receiver, Expression::Identifier(name) if name.name == "undefined")
            || taken_from(function, receiver);
        let at = span(tree.span());
        let call = |callee: Expr, args: Vec<Arg>| {
            Some(expr(ExprKind::Call(Box::new(Call { callee, args, form: CallForm::Plain, awaited: false })), at))
        };
        match (&*member.property.name, rest) {
            ("bind", []) if own => Some(self.expr(function)),
            ("call", rest) if own => {
                let callee = self.expr(function);
                let args = self.args(rest);
                call(callee, args)
            }
            ("apply", []) if own => {
                let callee = self.expr(function);
                call(callee, vec![])
            }
            ("apply", [Argument::SpreadElement(_)]) => None,
            ("apply", [all]) if own => {
                let callee = self.expr(function);
                let value = self.expr(all.as_expression()?);
                call(callee, vec![Arg { name: Some("*".to_owned()), value }])
            }
            _ => None,
        }
    }
}

/// Whether a function is a member of the value: `store.save` of `store`.
fn taken_from(function: &Expression, value: &Expression) -> bool {
    matches!(function, Expression::StaticMemberExpression(member) if same(&member.object, value))
}

fn same(one: &Expression, other: &Expression) -> bool {
    match (one, other) {
        (Expression::ThisExpression(_), Expression::ThisExpression(_)) => true,
        (Expression::Identifier(one), Expression::Identifier(other)) => one.name == other.name,
        (Expression::StaticMemberExpression(one), Expression::StaticMemberExpression(other)) => {
            one.property.name == other.property.name && same(&one.object, &other.object)
        }
        _ => false,
    }
}
