//! `select!`: arms of which the first to be ready runs. It must not know what they wait for.

use syn::parse::{Parse, ParseStream};
use syn::{Expr as SynExpr, Ident, Pat, Token};

use super::lower::{Lowering, declare, expr, join, step};
use super::steps::Dest;
use crate::files::Span;
use crate::syntax::{Expr, ExprKind, Step, StepKind};

/// The arms of a `select!`.
pub(super) struct Select {
    arms: Vec<SelectArm>,
}

struct SelectArm {
    waited: Option<(Pat, SynExpr)>,
    guard: Option<SynExpr>,
    body: SynExpr,
}

impl Parse for Select {
    fn parse(input: ParseStream) -> syn::Result<Select> {
        if input.peek(Ident) && input.peek2(Token![;]) {
            input.parse::<Ident>()?;
            input.parse::<Token![;]>()?;
        }
        let mut arms = Vec::new();
        while !input.is_empty() {
            arms.push(input.parse()?);
        }
        if arms.is_empty() { Err(input.error("no arms")) } else { Ok(Select { arms }) }
    }
}

impl Parse for SelectArm {
    fn parse(input: ParseStream) -> syn::Result<SelectArm> {
        let waited = if input.peek2(Token![=>]) {
            // `else =>`, `default =>`, `complete =>`
            input.parse::<proc_macro2::TokenTree>()?;
            None
        } else {
            let pat = Pat::parse_multi_with_leading_vert(input)?;
            input.parse::<Token![=]>()?;
            Some((pat, input.parse()?))
        };
        let guard = if input.parse::<Option<Token![,]>>()?.is_some() {
            input.parse::<Token![if]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        input.parse::<Token![=>]>()?;
        let body = if input.peek(syn::token::Brace) { SynExpr::Block(input.parse()?) } else { input.parse()? };
        input.parse::<Option<Token![,]>>()?;
        Ok(SelectArm { waited, guard, body })
    }
}

impl Lowering {
    /// Each arm is a branch nothing is known about: it binds what was waited for and runs its body.
    pub fn select(&mut self, select: &Select, span: Span, out: &mut Vec<Step>) -> Expr {
        let dest = self.fresh();
        out.push(declare(crate::syntax::Target::Name(dest.clone(), span), None, span));
        let mut otherwise = Vec::new();
        let mut lowered = Vec::new();
        for arm in &select.arms {
            let mut then = Vec::new();
            let mut before = Vec::new();
            let mut asked = Vec::new();
            if let Some(guard) = &arm.guard {
                asked.push(self.expr(guard, &mut before));
            }
            if let Some((pat, future)) = &arm.waited {
                let mut value = self.expr(future, &mut then);
                if let ExprKind::Call(call) = &mut value.kind {
                    call.awaited = true;
                }
                let target = self.target(pat);
                let span = value.span;
                then.push(declare(target, Some(value), span));
            }
            then.extend(self.deliver_block(&arm.body, &Dest::Name(dest.clone())));
            let at = then.iter().map(|step| step.span).reduce(join).unwrap_or(span);
            lowered.push((before, expr(ExprKind::Other(asked), at), then, at));
        }
        for (mut before, test, then, at) in lowered.into_iter().rev() {
            before.push(step(StepKind::Branch { test, then, otherwise }, at));
            otherwise = before;
        }
        out.extend(otherwise);
        super::lower::name(dest, span)
    }
}
