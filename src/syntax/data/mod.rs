//! Files that are data (YAML, TOML, JSON, INI, command lines, blocks) as one kind of tree: [`Node`]. Never failing: what cannot
//! be read is left out. It must not know what any key means.

mod blocks;
mod code;
mod lines;
mod words;
mod yaml;

pub use code::of_unit;
pub use words::{Word, words_of};

use serde::Deserialize;

use crate::files::LineIndex;

/// How a file of data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// YAML, templates in double braces included.
    Yaml,
    /// JSON, with comments or without.
    Json,
    /// TOML.
    Toml,
    /// Sections of `key = value`; keys before the first section stand at the root.
    Ini,
    /// `NAME=value` a line.
    Env,
    /// `name: command` a line.
    Procfile,
    /// Instructions that build an image: each is an entry under its own upper-case name.
    Dockerfile,
    /// A script of a shell: each line is an entry named `line`.
    Shell,
    /// `name "label" { ... }` with `key = value` or `key value;` inside.
    Blocks,
    /// A program whose top level binds names to literals, or exports them.
    Code,
}

/// A value with the line it stands on (from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The line.
    pub line: u32,
    /// The value.
    pub kind: NodeKind,
}

/// The kinds of value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeKind {
    /// A text, number or truth value, as written.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Entries, in order; a key may come more than once.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// A text at a line.
    pub fn text_at(line: u32, text: impl Into<String>) -> Node {
        Node { line, kind: NodeKind::Text(text.into()) }
    }

    /// Entries at a line.
    pub fn map_at(line: u32, entries: Vec<(String, Node)>) -> Node {
        Node { line, kind: NodeKind::Map(entries) }
    }

    /// The text, where it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Names with their texts: of entries, of a list of `KEY=value` texts, or of a list of entries with `name` and `value`.
    pub fn pairs(&self) -> Vec<(String, String)> {
        let entry = |node: &Node| -> Option<(String, String)> {
            match &node.kind {
                NodeKind::Text(text) => text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())),
                NodeKind::Map(entries) => {
                    let text = |name: &str| entries.iter().find(|(key, _)| key == name)?.1.text().map(str::to_owned);
                    Some((text("name")?, text("value")?))
                }
                NodeKind::List(_) => None,
            }
        };
        match &self.kind {
            NodeKind::Text(_) => vec![],
            NodeKind::List(items) => items.iter().filter_map(entry).collect(),
            NodeKind::Map(entries) => {
                entries.iter().filter_map(|(name, node)| Some((name.clone(), node.text()?.to_owned()))).collect()
            }
        }
    }

    /// What stands at a path of keys, each with the last key that led to it. `*` is any entry or element; a key is also found in
    /// a list of `KEY=value` texts or of entries that have a `name`. The empty path is the node itself.
    pub fn at<'n>(&'n self, path: &'n [String]) -> Vec<(&'n str, Found<'n>)> {
        let mut found = vec![("", Found::Node(self))];
        for key in path {
            found = found.into_iter().flat_map(|(_, node)| step(node, key)).collect();
        }
        found
    }
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'n> {
    /// A node.
    Node(&'n Node),
    /// The value of a text `KEY=value`, and its line.
    Value(u32, &'n str),
}

impl<'n> Found<'n> {
    /// The line.
    pub fn line(self) -> u32 {
        match self {
            Found::Node(node) => node.line,
            Found::Value(line, _) => line,
        }
    }

    /// The text, where it is one.
    pub fn text(self) -> Option<&'n str> {
        match self {
            Found::Node(node) => node.text(),
            Found::Value(_, text) => Some(text),
        }
    }

    /// The node, where it is one.
    pub fn node(self) -> Option<&'n Node> {
        match self {
            Found::Node(node) => Some(node),
            Found::Value(..) => None,
        }
    }
}

fn step<'n>(found: Found<'n>, key: &'n str) -> Vec<(&'n str, Found<'n>)> {
    let Some(node) = found.node() else { return vec![] };
    match &node.kind {
        NodeKind::Text(_) => vec![],
        NodeKind::Map(entries) => {
            let fits = |name: &String| key == "*" || name == key;
            entries.iter().filter(|(name, _)| fits(name)).map(|(name, node)| (name.as_str(), Found::Node(node))).collect()
        }
        NodeKind::List(items) if key == "*" => items.iter().map(|item| ("", Found::Node(item))).collect(),
        NodeKind::List(items) => items.iter().filter_map(|item| Some((key, named(item, key)?))).collect(),
    }
}

/// The value that an element of a list has under a name.
fn named<'n>(item: &'n Node, key: &str) -> Option<Found<'n>> {
    match &item.kind {
        NodeKind::Text(text) => {
            let value = text.strip_prefix(key)?.strip_prefix('=')?;
            Some(Found::Value(item.line, value))
        }
        NodeKind::Map(entries) => {
            let entry = |name: &str| entries.iter().find(|(known, _)| known == name).map(|(_, node)| node);
            (entry("name")?.text()? == key).then(|| entry("value").map(Found::Node)).flatten()
        }
        NodeKind::List(_) => None,
    }
}

/// The keys of a path: parted by dots, with quotes around a key that holds one.
pub fn path_of(text: &str) -> Vec<String> {
    let mut keys = vec![];
    let mut key = String::new();
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '\'' => quoted = !quoted,
            '.' if !quoted => keys.push(std::mem::take(&mut key)),
            other => key.push(other),
        }
    }
    if !text.is_empty() {
        keys.push(key);
    }
    keys
}

/// The documents of a text; several in YAML, else at most one.
pub fn read(format: Format, text: &str) -> Vec<Node> {
    match format {
        Format::Yaml => yaml::read(text),
        Format::Json => code::json(text).into_iter().collect(),
        Format::Toml => vec![toml(text)],
        Format::Ini => vec![lines::ini(text)],
        Format::Env => vec![lines::env(text)],
        Format::Procfile => vec![lines::procfile(text)],
        Format::Dockerfile => vec![lines::dockerfile(text)],
        Format::Shell => vec![lines::shell(text)],
        Format::Blocks => vec![blocks::read(text)],
        // Needs a unit: see `of_unit`.
        Format::Code => vec![],
    }
}

fn toml(text: &str) -> Node {
    let index = LineIndex::new(text);
    let (table, _) = toml::de::DeTable::parse_recoverable(text);
    of_table(table.get_ref(), 1, &index)
}

fn of_table(table: &toml::de::DeTable<'_>, line: u32, index: &LineIndex) -> Node {
    let mut entries: Vec<(std::ops::Range<usize>, String, Node)> = table
        .iter()
        .map(|(key, value)| (key.span(), key.get_ref().to_string(), of_toml(value.get_ref(), value.span(), index)))
        .collect();
    entries.sort_by_key(|(span, ..)| span.start);
    Node::map_at(line, entries.into_iter().map(|(_, key, node)| (key, node)).collect())
}

fn of_toml(value: &toml::de::DeValue<'_>, span: std::ops::Range<usize>, index: &LineIndex) -> Node {
    use toml::de::DeValue;
    let (line, _) = index.position(span.start as u32);
    match value {
        DeValue::String(text) => Node::text_at(line, text.to_string()),
        DeValue::Integer(number) => Node::text_at(line, number.as_str()),
        DeValue::Float(number) => Node::text_at(line, number.as_str()),
        DeValue::Boolean(value) => Node::text_at(line, value.to_string()),
        DeValue::Datetime(value) => Node::text_at(line, value.to_string()),
        DeValue::Array(items) => {
            Node { line, kind: NodeKind::List(items.iter().map(|item| of_toml(item.get_ref(), item.span(), index)).collect()) }
        }
        DeValue::Table(table) => of_table(table, line, index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(format: Format, text: &str, path: &str) -> Vec<(u32, String)> {
        let path = path_of(path);
        let nodes = read(format, text);
        let found =
            nodes.iter().flat_map(|node| node.at(&path)).map(|(_, found)| (found.line(), found.text().unwrap_or("?").into()));
        found.collect()
    }

    fn one(line: u32, text: &str) -> Vec<(u32, String)> {
        vec![(line, text.to_owned())]
    }

    #[test]
    fn paths_have_dots_and_quotes() {
        assert_eq!(path_of("a.'b.c/d'.*"), ["a", "b.c/d", "*"]);
        assert_eq!(path_of(""), [""; 0]);
    }

    #[test]
    fn every_format_gives_its_values_with_their_lines() {
        assert_eq!(at(Format::Yaml, "a:\n  b.c/d: \"10\"\n", "a.'b.c/d'"), one(2, "10"));
        assert_eq!(at(Format::Json, "{\n\t\"a\": { // why\n\t\"b\": [1, 2] }\n}", "a.b.*"), [(3, "1".into()), (3, "2".into())]);
        assert_eq!(at(Format::Toml, "[a]\nb = 1\n\n[[c]]\nd = true\n", "c.*.d"), one(5, "true"));
        assert_eq!(at(Format::Ini, "[a]\n; no\nb = 4 \n", "a.b"), one(3, "4"));
        assert_eq!(at(Format::Env, "# x\nexport A=\"b c\"\n", "A"), one(2, "b c"));
        assert_eq!(at(Format::Procfile, "web: gunicorn -w 4 a\n", "web"), one(1, "gunicorn -w 4 a"));
        assert_eq!(at(Format::Blocks, "a \"b\" {\n  c = 3\n  d x:1 y;\n}\n", "a.b.c"), one(2, "3"));
        assert_eq!(at(Format::Blocks, "a \"b\" {\n  c = 3\n  d x:1 y;\n}\n", "a.b.d"), one(3, "x:1 y"));
    }

    #[test]
    fn lists_of_pairs_are_looked_up_by_name() {
        let text = "env:\n  - A=1\n  - name: B\n    value: \"2\"\n";
        assert_eq!(at(Format::Yaml, text, "env.A"), one(2, "1"));
        assert_eq!(at(Format::Yaml, text, "env.B"), one(4, "2"));
        assert_eq!(at(Format::Yaml, text, "env.C"), []);
    }

    #[test]
    fn templates_and_broken_documents_cost_only_themselves() {
        let text = "{{- if .Values.x }}\nspec:\n  replicas: {{ .Values.replicaCount }}\n  name: {{ include \"a\" . | quote }}\n{{- end }}\n---\na: [\n---\nb: 1\n";
        assert_eq!(at(Format::Yaml, text, "b"), one(9, "1"));
        let found = at(Format::Yaml, text, "spec.replicas");
        assert_eq!(found[0].0, 3);
        assert!(found[0].1.contains(".Values.replicaCount"), "{found:?}");
    }

    #[test]
    fn instructions_go_on_over_lines() {
        let text = "FROM x\nENV A=1 B=2\nCMD [\"gunicorn\", \\\n  \"-w\", \"4\"]\n";
        assert_eq!(at(Format::Dockerfile, text, "ENV.B"), one(2, "2"));
        assert_eq!(at(Format::Dockerfile, text, "CMD"), one(3, "[\"gunicorn\", \n\"-w\", \"4\"]"));
    }
}
