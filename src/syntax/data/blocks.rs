//! Blocks in braces: `name "label" { ... }`, with `key = value` or `key value;` inside. A block is an entry under its name, and
//! within it an entry for each label. It must not know what a block means.

use super::{Node, NodeKind};

/// Blocks deeper than this are left out.
const DEEPEST: usize = 32;

pub(super) fn read(text: &str) -> Node {
    let mut open: Vec<(Vec<String>, Node)> = vec![(vec![], Node::map_at(1, vec![]))];
    for (at, line) in text.lines().enumerate() {
        let line_number = at as u32 + 1;
        let content = line.trim();
        if content.starts_with('#') || content.starts_with("//") {
            continue;
        }
        let mut rest = content;
        while !rest.is_empty() {
            let end = outside_quotes(rest, &['{', '}', ';']);
            let (statement, mark, after) = match end {
                Some(end) => (rest[..end].trim(), rest[end..].chars().next(), &rest[end + 1..]),
                None => (rest.trim(), None, ""),
            };
            match mark {
                Some('{') if open.len() < DEEPEST => {
                    let names = statement.trim_end_matches('=').split_whitespace().map(|name| name.trim_matches('"').to_owned());
                    open.push((names.collect(), Node::map_at(line_number, vec![])));
                }
                Some('}') => {
                    entry(&mut open, statement, line_number);
                    close(&mut open);
                }
                _ => entry(&mut open, statement, line_number),
            }
            rest = after.trim_start();
        }
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().map_or(Node::map_at(1, vec![]), |(_, root)| root)
}

fn entry(open: &mut [(Vec<String>, Node)], statement: &str, line: u32) {
    let Some((_, Node { kind: NodeKind::Map(entries), .. })) = open.last_mut() else { return };
    let assigned = outside_quotes(statement, &['=']).map(|at| (statement[..at].trim(), &statement[at + 1..]));
    let assigned = assigned.filter(|(key, _)| !key.contains(char::is_whitespace));
    let Some((key, value)) = assigned.or_else(|| statement.split_once(char::is_whitespace)) else { return };
    let value = value.split(" #").next().unwrap_or(value).trim();
    entries.push((key.trim().to_owned(), Node::text_at(line, value.trim_matches('"'))));
}

/// Puts the innermost block into the one around it, one entry for its name and one inside for each label.
fn close(open: &mut Vec<(Vec<String>, Node)>) {
    if open.len() < 2 {
        return;
    }
    let Some((names, mut node)) = open.pop() else { return };
    let mut names = names.into_iter();
    let Some(name) = names.next() else { return };
    for label in names.rev() {
        node = Node::map_at(node.line, vec![(label, node)]);
    }
    if let Some((_, Node { kind: NodeKind::Map(entries), .. })) = open.last_mut() {
        entries.push((name, node));
    }
}

/// The first of some marks that stands outside of quotes.
fn outside_quotes(text: &str, marks: &[char]) -> Option<usize> {
    let mut quoted = false;
    text.char_indices()
        .find(|(_, letter)| {
            quoted ^= *letter == '"';
            !quoted && marks.contains(letter)
        })
        .map(|(at, _)| at)
}
