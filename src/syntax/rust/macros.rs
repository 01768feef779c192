//! Macro calls, read as what they most likely expand to. It must know only macros every Rust program may use, or common forms.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Block, Expr as SynExpr, ExprLit, File, Ident, Lit, Macro, Pat, Stmt, Token, Type, Visibility};

use super::calls::call_expr;
use super::expr::single_name;
use super::format::{fits, pieces, template};
use super::items::Placed;
use super::lower::{Lowering, expr, join, step, text};
use super::pattern::both;
use super::select::Select;
use super::steps::Dest;
use crate::files::Span;
use crate::syntax::{Arg, BinaryOp, CallForm, ExitKind, Expr, ExprKind, Step, StepKind};

impl Lowering {
    /// A macro call where a statement or a value stands.
    pub fn macro_call(&mut self, mac: &Macro, out: &mut Vec<Step>) -> Expr {
        let span = self.macro_span(mac);
        let word = mac.path.segments.last().map(|last| text(&last.ident)).unwrap_or_default();
        let special = match word.as_str() {
            "vec" => self.list(mac, span, out),
            "matches" => self.matches(mac, out),
            "assert" | "debug_assert" | "ensure" => self.check(mac, None, span, out),
            "assert_eq" | "debug_assert_eq" => self.check(mac, Some(BinaryOp::Equal), span, out),
            "assert_ne" | "debug_assert_ne" => self.check(mac, Some(BinaryOp::NotEqual), span, out),
            "panic" | "unreachable" | "todo" | "unimplemented" | "bail" => self.throw(mac, span, out),
            _ if self.diverging.contains(&word) => self.leave(mac, span, out),
            "select" => syn::parse2::<Select>(mac.tokens.clone()).ok().map(|select| self.select(&select, span, out)),
            _ => None,
        };
        special.unwrap_or_else(|| self.plain_macro(mac, &word, span, out))
    }

    /// A macro call among items: declarations of its own, other items, or a call.
    pub fn item_macro(&mut self, mac: &Macro, placed: &mut Placed) {
        if let Ok(declared) = statics.parse2(mac.tokens.clone()) {
            for (ident, ty, value) in &declared {
                let mut steps = Vec::new();
                let value = self.expr(value, &mut steps);
                placed.constants.append(&mut steps);
                let span = join(self.span(ident.span()), value.span);
                self.unit.declared.push((text(ident), self.type_ref(ty)));
                self.bind_item(ident, Some(value), span, &mut placed.constants);
            }
            return;
        }
        if let Ok(file) = syn::parse2::<File>(mac.tokens.clone())
            && !file.items.is_empty()
        {
            file.items.iter().for_each(|item| self.item(item, placed));
            return;
        }
        let before = placed.rest.len();
        let value = self.macro_call(mac, &mut placed.rest);
        self.put(value, &Dest::Drop, before, &mut placed.rest);
    }

    fn macro_span(&self, mac: &Macro) -> Span {
        let close = self.span(mac.delimiter.span().close());
        mac.path.segments.first().map_or(close, |first| join(self.span(first.ident.span()), close))
    }

    fn plain_macro(&mut self, mac: &Macro, word: &str, span: Span, out: &mut Vec<Step>) -> Expr {
        let callee = self.path_expr(None, &mac.path);
        let Some(values) = list_of_expressions(mac.tokens.clone()) else {
            return self.unusual_macro(mac, callee, word, span, out);
        };
        let args = self.args(values.iter(), out);
        formatted(callee, args, word, span)
    }

    /// A macro with a syntax of its own: an object of names and values, statements, or arguments of which some can be read.
    fn unusual_macro(&mut self, mac: &Macro, callee: Expr, word: &str, span: Span, out: &mut Vec<Step>) -> Expr {
        if let Some(value) = self.object_tokens(braced(mac.tokens.clone()), span, out) {
            return call_expr(callee, vec![Arg { name: None, value }], CallForm::Macro, span);
        }
        if let Some((name, inner)) = headed(mac.tokens.clone()) {
            let named = |ident: &Ident| expr(ExprKind::Text(text(ident)), span);
            let values = [named(&name), expr(ExprKind::List(inner.iter().map(named).collect()), span)];
            let args = values.into_iter().map(|value| Arg { name: None, value }).collect();
            return call_expr(callee, args, CallForm::Macro, span);
        }
        let statements = Block::parse_within.parse2(mac.tokens.clone());
        if let Ok(statements) = statements
            && statements.iter().any(|statement| !matches!(statement, Stmt::Item(_)))
        {
            let steps = self.statements(&statements, &Dest::Drop);
            out.push(step(StepKind::Do(call_expr(callee, Vec::new(), CallForm::Macro, span)), span));
            out.push(step(StepKind::Scope(steps), span));
            return expr(ExprKind::Null, span);
        }
        let blocks = if word.contains("quote") { Vec::new() } else { blocks(mac.tokens.clone()) };
        if !blocks.is_empty() {
            out.push(step(StepKind::Do(call_expr(callee, Vec::new(), CallForm::Macro, span)), span));
            return self.alternatives(&blocks, span, out);
        }
        let values = expressions(mac.tokens.clone());
        let args = self.args(values.iter(), out);
        formatted(callee, args, word, span)
    }

    /// `words { .. } words { .. }`: one of the blocks runs; which one is not known.
    fn alternatives(&mut self, blocks: &[SynExpr], span: Span, out: &mut Vec<Step>) -> Expr {
        let [first, rest @ ..] = blocks else { return expr(ExprKind::Null, span) };
        if rest.is_empty() {
            return self.expr(first, out);
        }
        let mut then = Vec::new();
        let value = self.expr(first, &mut then);
        then.push(step(StepKind::Do(value), span));
        let mut otherwise = Vec::new();
        let value = self.alternatives(rest, span, &mut otherwise);
        otherwise.push(step(StepKind::Do(value), span));
        out.push(step(StepKind::Branch { test: expr(ExprKind::Other(Vec::new()), span), then, otherwise }, span));
        expr(ExprKind::Null, span)
    }

    fn list(&mut self, mac: &Macro, span: Span, out: &mut Vec<Step>) -> Option<Expr> {
        let repeated = |input: ParseStream| {
            let value: SynExpr = input.parse()?;
            input.parse::<Token![;]>()?;
            input.parse::<SynExpr>()?;
            Ok(vec![value])
        };
        let values = list_of_expressions(mac.tokens.clone()).or_else(|| repeated.parse2(mac.tokens.clone()).ok())?;
        Some(expr(ExprKind::List(values.iter().map(|value| self.expr(value, out)).collect()), span))
    }

    fn matches(&mut self, mac: &Macro, out: &mut Vec<Step>) -> Option<Expr> {
        let parts = |input: ParseStream| {
            let value: SynExpr = input.parse()?;
            input.parse::<Token![,]>()?;
            let pat = Pat::parse_multi_with_leading_vert(input)?;
            let guard = if input.parse::<Option<Token![if]>>()?.is_some() { Some(input.parse::<SynExpr>()?) } else { None };
            input.parse::<Option<Token![,]>>()?;
            Ok((value, pat, guard))
        };
        let (value, pat, guard) = parts.parse2(mac.tokens.clone()).ok()?;
        let mut subject = self.expr(&value, out);
        let nested = !matches!(subject.kind, ExprKind::Name(_)) && (guard.is_some() || matches!(pat, Pat::Or(_)));
        if nested {
            subject = self.bind_temp(subject, out);
        }
        let mut test = self.test(&pat, &subject);
        if let Some(guard) = guard {
            out.extend(self.bind_pattern(&pat, &subject));
            test = both(test, self.expr(&guard, out));
        }
        Some(test)
    }

    /// `assert!(test, message)`: throws where the test does not hold.
    fn check(&mut self, mac: &Macro, op: Option<BinaryOp>, span: Span, out: &mut Vec<Step>) -> Option<Expr> {
        let values = list_of_expressions(mac.tokens.clone())?;
        let mut args = self.args(values.iter(), out).into_iter();
        let first = args.next()?.value;
        let test = match op {
            None => first,
            Some(op) => expr(ExprKind::Binary(op, Box::new(first), Box::new(args.next()?.value)), span),
        };
        let test = expr(ExprKind::Not(Box::new(test)), span);
        let value = message(args.collect(), span);
        let then = vec![step(StepKind::Exit { kind: ExitKind::Throw, value }, span)];
        out.push(step(StepKind::Branch { test, then, otherwise: Vec::new() }, span));
        Some(expr(ExprKind::Null, span))
    }

    /// A macro of the project that leaves the function: what it is given, and then the way out.
    fn leave(&mut self, mac: &Macro, span: Span, out: &mut Vec<Step>) -> Option<Expr> {
        let callee = self.path_expr(None, &mac.path);
        let values = expressions(mac.tokens.clone());
        let args = self.args(values.iter(), out);
        out.push(step(
            StepKind::Exit { kind: ExitKind::Throw, value: Some(call_expr(callee, args, CallForm::Macro, span)) },
            span,
        ));
        Some(expr(ExprKind::Null, span))
    }

    fn throw(&mut self, mac: &Macro, span: Span, out: &mut Vec<Step>) -> Option<Expr> {
        let values = expressions(mac.tokens.clone());
        let args = self.args(values.iter(), out);
        out.push(step(StepKind::Exit { kind: ExitKind::Throw, value: message(args, span) }, span));
        Some(expr(ExprKind::Null, span))
    }

    /// `{ "key": value, .. }`, nested with `[ .. ]`; `None` where the tokens are something else.
    fn object_tokens(&mut self, tokens: TokenStream, span: Span, out: &mut Vec<Step>) -> Option<Expr> {
        let mut trees = tokens.into_iter();
        let (Some(TokenTree::Group(group)), None) = (trees.next(), trees.next()) else { return None };
        let parts = split(group.stream(), ',');
        match group.delimiter() {
            Delimiter::Brace => {
                let entries = parts.into_iter().map(|part| self.object_entry(part, span, out)).collect::<Option<Vec<_>>>()?;
                Some(expr(ExprKind::Object { ty: None, entries }, self.span(group.span())))
            }
            Delimiter::Bracket => {
                let values = parts.into_iter().map(|part| self.object_value(part, span, out)).collect();
                Some(expr(ExprKind::List(values), self.span(group.span())))
            }
            _ => None,
        }
    }

    fn object_entry(&mut self, entry: TokenStream, span: Span, out: &mut Vec<Step>) -> Option<(String, Expr)> {
        let mut trees = entry.into_iter();
        let key = match trees.next()? {
            TokenTree::Literal(key) => match syn::parse2::<Lit>(TokenTree::Literal(key).into()).ok()? {
                Lit::Str(key) => key.value(),
                _ => return None,
            },
            TokenTree::Ident(key) => text(&key),
            TokenTree::Group(_) => "[]".to_string(),
            TokenTree::Punct(_) => return None,
        };
        match trees.next()? {
            TokenTree::Punct(colon) if colon.as_char() == ':' => Some((key, self.object_value(trees.collect(), span, out))),
            _ => None,
        }
    }

    fn object_value(&mut self, value: TokenStream, span: Span, out: &mut Vec<Step>) -> Expr {
        if let Some(object) = self.deeper(|lowering| lowering.object_tokens(value.clone(), span, out)).flatten() {
            return object;
        }
        match syn::parse2::<SynExpr>(value) {
            Ok(value) if single_name(&value).as_deref() == Some("null") => expr(ExprKind::Null, span),
            Ok(value) => self.expr(&value, out),
            Err(_) => expr(ExprKind::Other(Vec::new()), span),
        }
    }
}

/// `"key": value, ..` with the braces that a macro's own stand for.
fn braced(tokens: TokenStream) -> TokenStream {
    let mut trees = tokens.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Literal(_)), Some(TokenTree::Punct(colon))) if colon.as_char() == ':' => {
            TokenTree::Group(Group::new(Delimiter::Brace, tokens)).into()
        }
        _ => tokens,
    }
}

/// The call, its format string and the values of it made one text; `format!` is that text.
fn formatted(callee: Expr, mut args: Vec<Arg>, word: &str, span: Span) -> Expr {
    let always = matches!(word, "format" | "format_args");
    let at = args.iter().position(|arg| arg.name.is_none() && matches!(arg.value.kind, ExprKind::Text(_)));
    if let Some(at) = at
        && let Some(Arg { value: Expr { kind: ExprKind::Text(written), span: place }, .. }) = args.get(at)
        && let Some(found) = pieces(written)
        && (always || fits(&found, &args[at + 1..]))
    {
        let whole = template(found, &args[at + 1..], *place);
        if always && at == 0 {
            return Expr { span, ..whole };
        }
        args.truncate(at);
        args.push(Arg { name: None, value: whole });
    }
    call_expr(callee, args, CallForm::Macro, span)
}

/// What a throwing macro says: its text with the values in it.
fn message(args: Vec<Arg>, span: Span) -> Option<Expr> {
    let first = args.first()?;
    match &first.value.kind {
        ExprKind::Text(written) => match pieces(written) {
            Some(found) => Some(template(found, &args[1..], span)),
            None => Some(first.value.clone()),
        },
        _ => Some(first.value.clone()),
    }
}

/// The tokens as comma-separated expressions, if they all are.
fn list_of_expressions(tokens: TokenStream) -> Option<Vec<SynExpr>> {
    let parser = Punctuated::<SynExpr, Token![,]>::parse_terminated;
    parser.parse2(tokens).ok().map(|list| list.into_iter().collect())
}

/// The comma-separated expressions among the tokens; a part that is none is left out. `%x` and `?x` (how a value is shown) are `x`.
pub(super) fn expressions(tokens: TokenStream) -> Vec<SynExpr> {
    if let Some(all) = list_of_expressions(tokens.clone()) {
        return all;
    }
    split(tokens, ',').into_iter().filter_map(one_expression).collect()
}

fn one_expression(part: TokenStream) -> Option<SynExpr> {
    let shown = |tree: &TokenTree| matches!(tree, TokenTree::Punct(mark) if matches!(mark.as_char(), '%' | '?'));
    let mut trees: Vec<TokenTree> = part.into_iter().collect();
    if trees.first().is_some_and(shown) {
        trees.remove(0);
    } else if let Some(at) = trees.windows(2).position(|pair| is_equals(&pair[0]) && shown(&pair[1])) {
        trees.remove(at + 1);
    }
    let parsed = syn::parse2::<SynExpr>(trees.into_iter().collect()).ok()?;
    let text_only = matches!(&parsed, SynExpr::Lit(ExprLit { lit: Lit::Verbatim(_), .. }));
    (!text_only).then_some(parsed)
}

fn is_equals(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(mark) if mark.as_char() == '=')
}

/// What heads a declaration that ends the tokens: `name (a, b) { .. -> .. }`, as its name and what stands in the parentheses.
fn headed(tokens: TokenStream) -> Option<(Ident, Vec<Ident>)> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let [.., TokenTree::Ident(name), TokenTree::Group(inner), TokenTree::Group(body)] = &trees[..] else { return None };
    let mark = |tree: Option<TokenTree>, wanted| matches!(tree, Some(TokenTree::Punct(mark)) if mark.as_char() == wanted);
    let mut fields = body.stream().into_iter().skip_while(|tree| !matches!(tree, TokenTree::Ident(_)));
    let whole = inner.delimiter() == Delimiter::Parenthesis
        && body.delimiter() == Delimiter::Brace
        && fields.next().is_some()
        && mark(fields.next(), '-')
        && mark(fields.next(), '>');
    let words = inner.stream().into_iter().filter_map(|tree| match tree {
        TokenTree::Ident(word) => Some(word),
        _ => None,
    });
    whole.then(|| (name.clone(), words.collect()))
}

/// The blocks of statements among the tokens.
fn blocks(tokens: TokenStream) -> Vec<SynExpr> {
    let braces = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    tokens.into_iter().filter(braces).filter_map(|tree| syn::parse2(TokenStream::from(tree)).ok()).collect()
}

fn split(tokens: TokenStream, at: char) -> Vec<TokenStream> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    for tree in tokens {
        match &tree {
            TokenTree::Punct(mark) if mark.as_char() == at => parts.push(std::mem::take(&mut part).into_iter().collect()),
            _ => part.push(tree),
        }
    }
    if !part.is_empty() {
        parts.push(part.into_iter().collect());
    }
    parts
}

/// `static X: T = value;`, also with `ref` before the name and no `;` after the last.
fn statics(input: ParseStream) -> syn::Result<Vec<(Ident, Type, SynExpr)>> {
    let mut declared = Vec::new();
    while !input.is_empty() {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        input.parse::<Token![static]>()?;
        input.parse::<Option<Token![ref]>>()?;
        input.parse::<Option<Token![mut]>>()?;
        let ident = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        input.parse::<Token![=]>()?;
        declared.push((ident, ty, input.parse()?));
        if input.parse::<Option<Token![;]>>()?.is_none() && !input.is_empty() {
            return Err(input.error("expected `;`"));
        }
    }
    if declared.is_empty() { Err(input.error("no declarations")) } else { Ok(declared) }
}
