//! Attributes: as decorators, and as what says that only tests compile an item. It must not know what an attribute does.

use syn::{Attribute, Item, Meta};

use super::calls::call_expr;
use super::lower::{Lowering, text};
use super::macros::expressions;
use crate::syntax::{Arg, CallForm, Expr};

/// Attributes that only the compiler reads, for what it warns of and how it builds.
const COMPILERS: &[&str] = &["allow", "warn", "deny", "expect", "forbid", "inline", "cold", "must_use", "deprecated"];

impl Lowering {
    /// Attributes as expressions; documentation is a comment, and what is said to the compiler alone is nothing.
    pub fn decorators(&mut self, attrs: &[Attribute]) -> Vec<Expr> {
        let compilers = |attribute: &Attribute| COMPILERS.iter().any(|name| attribute.path().is_ident(name));
        let written = attrs.iter().filter(|attribute| !attribute.path().is_ident("doc") && !compilers(attribute));
        written.map(|attribute| self.decorator(attribute)).collect()
    }

    fn decorator(&mut self, attribute: &Attribute) -> Expr {
        let span = self.span(attribute.bracket_token.span.join());
        let mut out = Vec::new();
        match &attribute.meta {
            Meta::Path(path) => self.path_expr(None, path),
            Meta::List(list) => {
                let callee = self.path_expr(None, &list.path);
                let values = expressions(list.tokens.clone());
                let args = self.args(values.iter(), &mut out);
                call_expr(callee, args, CallForm::Plain, span)
            }
            Meta::NameValue(pair) => {
                let callee = self.path_expr(None, &pair.path);
                let value = self.expr(&pair.value, &mut out);
                call_expr(callee, vec![Arg { name: None, value }], CallForm::Plain, span)
            }
        }
    }
}

/// Whether only tests compile what has these attributes: `#[cfg(test)]`, `#[test]`, `#[runtime::test]`.
pub(super) fn is_test(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attribute| {
        let last = attribute.path().segments.last().map(|last| text(&last.ident)).unwrap_or_default();
        match &attribute.meta {
            Meta::List(list) if last == "cfg" => {
                let condition = list.tokens.to_string();
                condition == "test" || (condition.starts_with("all") && mentions_test(list.tokens.clone()))
            }
            _ => last == "test" || last == "bench",
        }
    })
}

fn mentions_test(tokens: proc_macro2::TokenStream) -> bool {
    let mut negated = false;
    tokens.into_iter().any(|tree| match tree {
        proc_macro2::TokenTree::Ident(ident) => {
            negated = ident == "not";
            ident == "test"
        }
        proc_macro2::TokenTree::Group(group) => !negated && mentions_test(group.stream()),
        _ => false,
    })
}

/// The attributes of an item.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
