//! Numbers, texts, and texts with values in them.

use ruff_python_ast as ast;

use super::super::{ExprKind, TemplatePart};
use super::{Expr, Lowering, expr, span};

impl Lowering<'_> {
    /// A text with values in it, or a constant text where all its parts are.
    pub(super) fn template<'e>(&mut self, pieces: impl Iterator<Item = Piece<'e>>) -> ExprKind {
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
pub(super) enum Piece<'e> {
    /// Text without values.
    Text(&'e str),
    /// What a template consists of.
    Elements(&'e [ast::InterpolatedStringElement]),
}

impl<'e> Piece<'e> {
    pub(super) fn of(part: &'e ast::FStringPart) -> Piece<'e> {
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

/// A constant text, bytes included.
pub(super) fn text(value: &ast::Expr) -> Option<String> {
    match value {
        ast::Expr::StringLiteral(text) => Some(text.value.to_str().to_owned()),
        ast::Expr::BytesLiteral(bytes) => Some(String::from_utf8_lossy(&bytes.value.bytes().collect::<Vec<_>>()).into_owned()),
        _ => None,
    }
}

/// A constant real number.
pub(super) fn number(value: &ast::Expr) -> Option<f64> {
    let ast::Expr::NumberLiteral(number) = value else { return None };
    match &number.value {
        ast::Number::Int(int) => Some(int.as_i64().map_or_else(
            || int.to_string().parse().unwrap_or(f64::INFINITY), // Written in a base that is not ten, and beyond 64 bits.
            |small| small as f64,
        )),
        ast::Number::Float(float) => Some(*float),
        ast::Number::Complex { .. } => None,
    }
}
