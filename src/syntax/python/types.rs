//! Annotations: what of a declared type is a name and what are its arguments.

use ruff_python_ast as ast;
use ruff_python_parser::parse_expression;

use super::super::TypeRef;
use super::names::dotted;
use super::{Lowering, span};

/// Longest annotation in quotes that is read, in bytes.
const MAX_QUOTED: usize = 200;

/// What `typing` wraps around a type without changing what its values are.
const WRAPPERS: &[&str] = &["Annotated", "ClassVar", "Final", "NotRequired", "Optional", "ReadOnly", "Required", "Union"];

impl Lowering<'_> {
    /// The type that an annotation declares; `None` where it declares nothing but `None` or is no name.
    pub(super) fn annotation(&mut self, annotation: Option<&ast::Expr>) -> Option<TypeRef> {
        let annotation = annotation?;
        self.deeper(span(annotation), |this| this.type_ref(annotation)).flatten()
    }

    fn type_ref(&mut self, annotation: &ast::Expr) -> Option<TypeRef> {
        match annotation {
            ast::Expr::Name(_) | ast::Expr::Attribute(_) => {
                dotted(annotation).map(|name| TypeRef { name: name.into(), args: Vec::new() })
            }
            ast::Expr::BinOp(union) if union.op == ast::Operator::BitOr => {
                self.annotation(Some(&union.left)).or_else(|| self.annotation(Some(&union.right)))
            }
            ast::Expr::StringLiteral(quoted) => {
                let text = quoted.value.to_str().trim();
                let parsed = (text.len() <= MAX_QUOTED).then(|| parse_expression(text).ok()).flatten()?;
                self.annotation(Some(&parsed.syntax().body))
            }
            ast::Expr::Starred(starred) => self.annotation(Some(&starred.value)),
            ast::Expr::Subscript(subscript) => {
                let name = dotted(&subscript.value)?;
                let args = arguments(subscript);
                match last_part(&name) {
                    "Literal" => Some(TypeRef { name: name.into(), args: Vec::new() }),
                    // What it gives stands behind what it takes.
                    "Callable" if args.len() == 2 => {
                        let gives = self.annotation(args.last()).unwrap_or_default();
                        Some(TypeRef { name: "Function".into(), args: vec![gives] })
                    }
                    wrapper if WRAPPERS.contains(&wrapper) => args.iter().find_map(|arg| self.annotation(Some(arg))),
                    _ => {
                        let args = args.iter().filter_map(|arg| self.annotation(Some(arg))).collect();
                        Some(TypeRef { name: name.into(), args })
                    }
                }
            }
            _ => None,
        }
    }
}

/// The first call in the metadata of an `Annotated`: it says where the value comes from.
pub(super) fn provider(annotation: &ast::Expr) -> Option<&ast::Expr> {
    let ast::Expr::Subscript(subscript) = annotation else { return None };
    let name = dotted(&subscript.value)?;
    let metadata = arguments(subscript).get(1..).filter(|_| last_part(&name) == "Annotated")?;
    metadata.iter().find(|argument| argument.is_call_expr())
}

/// Whether an annotation says that a field belongs to the class.
pub(super) fn is_class_variable(annotation: &ast::Expr) -> bool {
    let wrapper = match annotation {
        ast::Expr::Subscript(subscript) => &subscript.value,
        other => other,
    };
    dotted(wrapper).is_some_and(|name| last_part(&name) == "ClassVar")
}

fn arguments(subscript: &ast::ExprSubscript) -> &[ast::Expr] {
    match &*subscript.slice {
        ast::Expr::Tuple(tuple) => &tuple.elts,
        single => std::slice::from_ref(single),
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
