//! Macros after which nothing runs. What ends the `else` of a `let .. else` leaves the function or the loop, or the program
//! would not compile: a macro that stands there leaves it wherever it stands.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Macros of the language or of common libraries that are known without this, and forms that return a value.
const KNOWN: &[&str] = &["panic", "unreachable", "todo", "unimplemented", "bail"];

/// Adds the names of such macros among the tokens.
pub(super) fn find(tokens: TokenStream, found: &mut HashSet<String>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        let TokenTree::Group(group) = tree else { continue };
        // `let .. = value else { .. }`: the value of an `if`, which also has an `else`, ends in a brace.
        let after_else = at > 1
            && matches!(&trees[at - 1], TokenTree::Ident(word) if word == "else")
            && !matches!(&trees[at - 2], TokenTree::Group(before) if before.delimiter() == Delimiter::Brace);
        if after_else && group.delimiter() == Delimiter::Brace {
            found.extend(last_macro(group.stream()));
        }
        find(group.stream(), found);
    }
}

/// The macro whose call ends a block.
fn last_macro(block: TokenStream) -> Option<String> {
    let mut trees: Vec<TokenTree> = block.into_iter().collect();
    if matches!(trees.last(), Some(TokenTree::Punct(end)) if end.as_char() == ';') {
        trees.pop();
    }
    match &trees[..] {
        [.., TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(_)] if mark.as_char() == '!' => {
            let name = name.to_string();
            (!KNOWN.contains(&name.as_str())).then_some(name)
        }
        _ => None,
    }
}
