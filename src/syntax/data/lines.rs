//! Formats of one entry a line. They must not know what an entry means.

use super::words::{brackets, words_of};
use super::{Node, NodeKind};

/// Sections with their entries; keys before the first section stand at the root.
pub(super) fn ini(text: &str) -> Node {
    let mut root: Vec<(String, Node)> = vec![];
    let mut section: Option<(String, u32)> = None;
    let mut entries: Vec<(String, Node)> = vec![];
    for (line, content) in numbered(text) {
        if content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            close(&mut root, section.take(), &mut entries);
            section = Some((name.trim().to_owned(), line));
        } else if let Some((key, value)) = content.split_once('=') {
            let value = value.split(" ;").next().unwrap_or(value);
            entries.push((key.trim().to_owned(), Node::text_at(line, unquoted(value))));
        }
    }
    close(&mut root, section, &mut entries);
    Node::map_at(1, root)
}

/// Puts the entries that were read under their section.
fn close(root: &mut Vec<(String, Node)>, section: Option<(String, u32)>, entries: &mut Vec<(String, Node)>) {
    match section {
        Some((name, line)) => root.push((name, Node::map_at(line, std::mem::take(entries)))),
        None => root.append(entries),
    }
}

/// Names with their values.
pub(super) fn env(text: &str) -> Node {
    let entries = numbered(text).filter(|(_, content)| !content.starts_with('#')).filter_map(|(line, content)| {
        let (key, value) = content.strip_prefix("export ").unwrap_or(content).split_once('=')?;
        let value = value.split(" #").next().unwrap_or(value);
        Some((key.trim().to_owned(), Node::text_at(line, unquoted(value))))
    });
    Node::map_at(1, entries.collect())
}

/// Names with their command lines.
pub(super) fn procfile(text: &str) -> Node {
    let entries = numbered(text).filter(|(_, content)| !content.starts_with('#')).filter_map(|(line, content)| {
        let (name, command) = content.split_once(':')?;
        Some((name.trim().to_owned(), Node::text_at(line, command.trim())))
    });
    Node::map_at(1, entries.collect())
}

/// Each instruction under its name; the variables of `ENV` and `ARG` as entries of it. Of several stages the last one's stand.
pub(super) fn dockerfile(text: &str) -> Node {
    let mut entries: Vec<(String, Node)> = vec![];
    for (line, content) in continued(text) {
        let Some((name, rest)) = content.split_once(char::is_whitespace) else { continue };
        let (name, rest) = (name.to_uppercase(), rest.trim());
        if name == "FROM" {
            // What an earlier stage starts is not started.
            entries.retain(|(known, _)| known == "ENV" || known == "ARG");
        }
        let node = match name.as_str() {
            "ENV" | "ARG" => variables(line, rest),
            _ => Node::text_at(line, rest),
        };
        if matches!(name.as_str(), "CMD" | "ENTRYPOINT") {
            entries.retain(|(known, _)| *known != name);
        }
        entries.push((name, node));
    }
    Node::map_at(1, entries)
}

fn variables(line: u32, text: &str) -> Node {
    let pairs = words_of(&Node::text_at(line, text));
    let mut entries: Vec<(String, Node)> = pairs
        .iter()
        .filter_map(|word| word.text.split_once('='))
        .map(|(key, value)| (key.to_owned(), Node::text_at(line, value)))
        .collect();
    if let (true, [key, value, ..]) = (entries.is_empty(), pairs.as_slice()) {
        entries.push((key.text.clone(), Node::text_at(line, value.text.as_str())));
    }
    Node { line, kind: NodeKind::Map(entries) }
}

/// Each line that is no comment, as an entry named `line`.
pub(super) fn shell(text: &str) -> Node {
    let lines = continued(text).into_iter().map(|(line, content)| ("line".to_owned(), Node::text_at(line, content)));
    Node::map_at(1, lines.collect())
}

/// Lines that are not blank, without their indentation, counted from 1.
fn numbered(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at as u32 + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty())
}

/// The same, with a line that ends in a backslash taken together with the next, and without comments. An open bracket of a list joins too.
fn continued(text: &str) -> Vec<(u32, String)> {
    let mut joined: Vec<(u32, String)> = vec![];
    let mut goes_on = false;
    for (line, content) in numbered(text) {
        if content.starts_with('#') {
            continue;
        }
        let (part, more) = match content.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (content, false),
        };
        match joined.last_mut().filter(|_| goes_on) {
            Some((first, before)) => {
                // Line breaks stay, so that each word keeps its line.
                let breaks = (line - *first) as usize - before.matches('\n').count();
                before.push_str(&"\n".repeat(breaks));
                before.push_str(part);
            }
            None => joined.push((line, part.to_owned())),
        }
        goes_on = more || joined.last().is_some_and(|(_, text)| brackets(text) > 0);
    }
    joined
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}
