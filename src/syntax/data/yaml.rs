//! YAML as a tree. Documents are read apart, so that a broken one costs itself; of a broken one what came before the break is
//! kept. Templates in double braces are taken for texts.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

use super::{Node, NodeKind};

/// How deep a document may nest; what is deeper is left out.
const DEEPEST: usize = 64;

/// All documents of a text.
pub(super) fn read(text: &str) -> Vec<Node> {
    let plain = if text.contains("{{") { without_templates(text) } else { text.to_owned() };
    let mut documents = vec![];
    let mut start = 0;
    let mut document = String::new();
    for (at, line) in plain.lines().enumerate() {
        if line.starts_with("---") {
            documents.extend(document_of(&document, start));
            document.clear();
            start = at as u32;
            // What may follow on the same line.
            document.push_str(line.trim_start_matches('-'));
            document.push('\n');
            continue;
        }
        document.push_str(line);
        document.push('\n');
    }
    documents.extend(document_of(&document, start));
    documents
}

/// A container that is open: its node, and in a map the key that waits for its value.
struct Open {
    node: Node,
    anchor: usize,
    key: Option<String>,
}

/// One document, whose first line is `skipped + 1`.
fn document_of(text: &str, skipped: u32) -> Option<Node> {
    let mut open: Vec<Open> = vec![];
    let mut anchors: HashMap<usize, Node> = HashMap::new();
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        let line = span.start.line() as u32 + skipped;
        let done = match event {
            Event::Scalar(text, _, anchor, _) => {
                // A key waits for its value.
                match open.last_mut() {
                    Some(Open { node: Node { kind: NodeKind::Map(_), .. }, key: key @ None, .. }) => {
                        *key = Some(text.into_owned());
                        continue;
                    }
                    _ => Some((Node::text_at(line, text.into_owned()), anchor)),
                }
            }
            Event::Alias(anchor) => Some((anchors.get(&anchor).cloned().unwrap_or(Node::text_at(line, "")), 0)),
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) if open.len() < DEEPEST => {
                let list = matches!(event, Event::SequenceStart(..));
                let kind = if list { NodeKind::List(vec![]) } else { NodeKind::Map(vec![]) };
                open.push(Open { node: Node { line, kind }, anchor, key: None });
                None
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => break,
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|done| (done.node, done.anchor)),
            _ => None,
        };
        if let Some((node, anchor)) = done {
            if anchor > 0 {
                anchors.insert(anchor, node.clone());
            }
            put(&mut open, &mut root, node);
        }
    }
    while let Some(unfinished) = open.pop() {
        put(&mut open, &mut root, unfinished.node);
    }
    root
}

/// Puts a finished node into the container around it. The key `<<` lays the entries of its value under those that are there.
fn put(open: &mut [Open], root: &mut Option<Node>, node: Node) {
    match open.last_mut() {
        None => *root = Some(node),
        Some(Open { node: Node { kind: NodeKind::List(items), .. }, .. }) => items.push(node),
        Some(Open { node: Node { kind: NodeKind::Map(entries), .. }, key, .. }) => match key.take() {
            Some(key) if key == "<<" => {
                if let NodeKind::Map(shared) = node.kind {
                    entries.extend(shared);
                }
            }
            Some(key) => entries.push((key, node)),
            // A key that is no text.
            None => *key = Some(String::new()),
        },
        Some(_) => {}
    }
}

/// The text with each `{{ ... }}` as plain words, and lines that hold nothing else left empty. Lines stay where they are.
fn without_templates(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        out.push_str(&rest[..start]);
        let (inner, after) = match rest[start + 2..].split_once("}}") {
            Some((inner, after)) => (inner, after),
            None => (&rest[start + 2..], ""),
        };
        let line_start = out.rfind('\n').map_or(0, |at| at + 1);
        let alone = out[line_start..].trim().is_empty() && after.lines().next().unwrap_or("").trim().is_empty();
        if alone {
            out.truncate(line_start);
            out.extend(inner.matches('\n'));
        } else {
            out.push('⟦');
            out.extend(inner.chars().map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '\n') { c } else { ' ' }));
            out.push('⟧');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
