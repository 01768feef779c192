//! Lowers Rust source into a [`Unit`]. It must not know any library's name, only the macros every Rust program may use.

mod attributes;
mod calls;
mod comments;
mod control;
mod diverging;
mod expr;
mod format;
mod items;
mod lower;
mod macros;
mod pattern;
mod select;
mod steps;
mod types;
mod uses;

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::Item;

use super::{Frontend, Unit};
use crate::files::{Gap, GapKind, Language, Source};
use comments::Scan;
use lower::Lowering;

/// Rust, read by `syn`.
pub const FRONTEND: Frontend = Frontend { language: Language::Rust, parse };

/// The parser calls itself once for every level of nesting, so it gets a stack of its own; pages never touched cost nothing.
const STACK_BYTES: usize = 256 << 20;
/// Brackets inside brackets beyond which a file is not parsed.
const MAX_NESTING: usize = 1_000;
/// Bytes without any of `,;{}` beyond which a file is not parsed: operators may nest as deep as this.
const MAX_STRETCH: usize = 50_000;

/// Lowers one file. The thread also ends the life of the parser's thread-local table of spans.
fn parse(source: &Source) -> Unit {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || lower_file(source));
        worker.ok().and_then(|worker| worker.join().ok())
    })
    .unwrap_or_else(|| {
        let mut unit = lower::empty_unit();
        unit.gaps.push(gap(source, None, "the parser gave up on this file"));
        unit
    })
}

fn lower_file(source: &Source) -> Unit {
    let Scan { comments, nesting, stretch } = comments::scan(&source.text);
    let code = strip_shebang(&source.text);
    let mut lowering = Lowering::new((source.text.len() - code.len()) as u32);
    lowering.unit.comments = comments;
    if nesting > MAX_NESTING || stretch > MAX_STRETCH {
        lowering.unit.gaps.push(gap(source, None, "nested too deeply to be parsed; nothing of this file was used"));
        return lowering.unit;
    }
    let tokens = match TokenStream::from_str(code) {
        Ok(tokens) => tokens,
        Err(error) => {
            let line = error.span().start().line as u32;
            lowering.unit.gaps.push(gap(source, Some(line), &format!("{error}; nothing of this file was used")));
            return lowering.unit;
        }
    };
    diverging::find(tokens.clone(), &mut lowering.diverging);
    match syn::parse2::<syn::File>(tokens) {
        Ok(file) => lowering.module(&file.items),
        Err(_) => {
            let (items, errors) = items_one_by_one(TokenStream::from_str(code).unwrap_or_default());
            lowering.module(&items);
            lowering.unit.gaps.extend(errors.iter().map(|error| {
                let line = error.span().start().line as u32;
                gap(source, Some(line), &format!("{error}; the item was left out"))
            }));
        }
    }
    lowering.unit
}

fn gap(source: &Source, line: Option<u32>, message: &str) -> Gap {
    Gap { path: source.path.clone(), line, kind: GapKind::Syntax, message: message.to_string() }
}

/// The text after a byte order mark and a `#!` line (the line's end stays, so that lines keep their numbers).
fn strip_shebang(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_shebang = text.strip_prefix("#!").is_some_and(|rest| !rest.trim_start().starts_with('['));
    if !is_shebang {
        return text;
    }
    text.find('\n').map_or("", |end| &text[end..])
}

/// The items that parse, and an error for each that does not. Items end at `;` or `}`.
fn items_one_by_one(tokens: TokenStream) -> (Vec<Item>, Vec<syn::Error>) {
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    let mut pending: Vec<TokenTree> = Vec::new();
    for tree in tokens {
        let ends = match &tree {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !ends_with_semicolon(&pending),
            _ => false,
        };
        pending.push(tree);
        if ends {
            parse_item(std::mem::take(&mut pending), &mut items, &mut errors);
        }
    }
    if !pending.is_empty() {
        parse_item(pending, &mut items, &mut errors);
    }
    (items, errors)
}

fn parse_item(mut trees: Vec<TokenTree>, items: &mut Vec<Item>, errors: &mut Vec<syn::Error>) {
    let start = trees.first().map(TokenTree::span);
    // `#![..]` is the file's, not the item's.
    while matches!(trees.get(1), Some(TokenTree::Punct(mark)) if mark.as_char() == '!') && trees.len() > 2 {
        let is_attribute = matches!(trees.first(), Some(TokenTree::Punct(mark)) if mark.as_char() == '#');
        if !is_attribute {
            break;
        }
        trees.drain(..3);
    }
    match syn::parse2::<Item>(trees.into_iter().collect()) {
        Ok(item) => items.push(item),
        // An error at the end of the tokens has no place of its own.
        Err(error) if error.span().byte_range().is_empty() => {
            errors.push(syn::Error::new(start.unwrap_or_else(|| error.span()), error));
        }
        Err(error) => errors.push(error),
    }
}

/// Whether the item begun by these tokens is one whose braces are inside it.
fn ends_with_semicolon(trees: &[TokenTree]) -> bool {
    let mut words = trees.iter().filter_map(|tree| match tree {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    });
    let Some(first) = words.by_ref().find(|word| word != "pub") else { return false };
    match first.as_str() {
        "use" | "static" | "type" | "let" => true,
        "const" => !words.next().is_some_and(|word| matches!(word.as_str(), "fn" | "unsafe" | "async" | "extern")),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
