//! Markup: only the expressions in it matter, above all the handlers.

use oxc_ast::ast::{JSXAttributeItem, JSXAttributeName, JSXAttributeValue, JSXChild, JSXElement, JSXExpressionContainer};

use super::{Expr, ExprKind, Lower, expr, name, span};

impl Lower {
    pub(super) fn element(&mut self, element: &JSXElement) -> Expr {
        let opening = &element.opening_element;
        let mut inside = Vec::new();
        if let Some(component) = opening.name.get_identifier_name().filter(|name| name.starts_with(char::is_uppercase)) {
            inside.push(name(&component, span(opening.span)));
        }
        for attribute in &opening.attributes {
            match attribute {
                JSXAttributeItem::SpreadAttribute(spread) => inside.push(self.expr(&spread.argument)),
                JSXAttributeItem::Attribute(attribute) => {
                    let hint = match &attribute.name {
                        JSXAttributeName::Identifier(identifier) => Some(identifier.name.as_str()),
                        JSXAttributeName::NamespacedName(_) => None,
                    };
                    inside.extend(attribute.value.as_ref().and_then(|value| self.attribute(value, hint)));
                }
            }
        }
        inside.extend(self.children(&element.children));
        expr(ExprKind::Other(inside), span(element.span))
    }

    pub(super) fn children(&mut self, children: &[JSXChild]) -> Vec<Expr> {
        children.iter().filter_map(|child| self.child(child)).collect()
    }

    fn child(&mut self, child: &JSXChild) -> Option<Expr> {
        match child {
            JSXChild::Text(_) => None,
            JSXChild::Element(element) => Some(self.nested(|lower| lower.element(element), span(element.span))),
            JSXChild::Fragment(fragment) => {
                let at = span(fragment.span);
                Some(self.nested(|lower| expr(ExprKind::Other(lower.children(&fragment.children)), at), at))
            }
            JSXChild::ExpressionContainer(container) => self.container(container, None),
            JSXChild::Spread(spread) => Some(self.expr(&spread.expression)),
        }
    }

    fn attribute(&mut self, value: &JSXAttributeValue, hint: Option<&str>) -> Option<Expr> {
        match value {
            JSXAttributeValue::StringLiteral(_) => None,
            JSXAttributeValue::ExpressionContainer(container) => self.container(container, hint),
            JSXAttributeValue::Element(element) => Some(self.nested(|lower| lower.element(element), span(element.span))),
            JSXAttributeValue::Fragment(fragment) => {
                let at = span(fragment.span);
                Some(self.nested(|lower| expr(ExprKind::Other(lower.children(&fragment.children)), at), at))
            }
        }
    }

    fn container(&mut self, container: &JSXExpressionContainer, hint: Option<&str>) -> Option<Expr> {
        container.expression.as_expression().map(|expression| self.named(expression, hint))
    }
}
