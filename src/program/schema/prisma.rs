//! Models of `.prisma` files: fields with `@id`, `@unique` and `@map`, blocks with `@@id`, `@@unique` and `@@map`. What is named
//! here is part of that language (the Prisma schema reference).

use super::{Key, Schema, column_key};

/// A field: its name, and what its attributes say.
struct Field<'t> {
    name: &'t str,
    attributes: &'t str,
}

impl Field<'_> {
    /// Its type, without what says that it may be missing or that there are several.
    fn kind(&self) -> &str {
        self.attributes.split_whitespace().next().unwrap_or_default().trim_end_matches(['?', ']', '['])
    }

    /// Whether a new row has to be given it: neither optional, nor a list, nor filled by itself.
    fn is_required(&self) -> bool {
        let kind = self.attributes.split_whitespace().next().unwrap_or_default();
        let filled = ["@default", "@updatedAt"].iter().any(|name| argument(self.attributes, name).is_some());
        !kind.ends_with(['?', ']']) && !filled
    }
}

impl Schema {
    /// Adds the models of a file.
    pub(super) fn add_models(&mut self, text: &str) {
        let text = without_comments(text);
        let models: Vec<&str> = logical_lines(&text).into_iter().filter_map(named_model).collect();
        let mut lines = logical_lines(&text).into_iter();
        while let Some(line) = lines.next() {
            if let Some(name) = named_model(line) {
                let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
                self.add_model(name, &body, &models);
            }
        }
    }

    fn add_model(&mut self, model: &str, body: &[&str], models: &[&str]) {
        let table = body.iter().find_map(|line| quoted(argument(line, "@@map")?)).unwrap_or(model);
        self.declare(table);
        self.call_it(model, table);
        let fields: Vec<Field> = body.iter().filter(|line| !line.starts_with('@')).filter_map(|line| field(line)).collect();
        let required =
            fields.iter().filter(|field| field.is_required()).flat_map(|field| [field.name, column_of(&fields, field.name)]);
        let required: Vec<String> = required.map(column_key).collect();
        self.table(table).required.extend(required);
        let relations = fields.iter().filter(|field| models.contains(&field.kind()));
        let relations: Vec<String> = relations.map(|field| column_key(field.name)).collect();
        self.table(table).relations.extend(relations);
        let mut keys: Vec<Vec<&str>> = fields
            .iter()
            .filter(|field| argument(field.attributes, "@id").is_some() || argument(field.attributes, "@unique").is_some())
            .map(|field| vec![field.name])
            .collect();
        for line in body {
            let list = ["@@unique", "@@id"].iter().find_map(|name| argument(line, name));
            keys.extend(list.map(listed));
        }
        for key in keys {
            // The key by the fields' names, by the columns', and by the relations that stand for them.
            self.add_key(table, Key::of(key.iter().copied()));
            self.add_key(table, Key::of(key.iter().map(|name| column_of(&fields, name))));
            self.add_key(table, Key::of(key.iter().map(|name| relation_of(&fields, name))));
        }
    }
}

/// The model that a line begins.
fn named_model(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let begins = (words.next(), words.next(), words.next());
    if let (Some("model"), Some(name), Some("{")) = begins { Some(name) } else { None }
}

fn field(line: &str) -> Option<Field<'_>> {
    let name = line.split_whitespace().next()?;
    Some(Field { name, attributes: &line[name.len()..] })
}

fn column_of<'t>(fields: &[Field<'t>], name: &'t str) -> &'t str {
    let field = fields.iter().find(|field| field.name == name);
    field.and_then(|field| quoted(argument(field.attributes, "@map")?)).unwrap_or(name)
}

/// The relation over exactly this field.
fn relation_of<'t>(fields: &[Field<'t>], name: &'t str) -> &'t str {
    let stands = |field: &&Field| {
        let given = argument(field.attributes, "@relation").and_then(|given| given.split_once("fields:"));
        given.is_some_and(|(_, list)| listed(list) == [name])
    };
    fields.iter().find(stands).map_or(name, |field| field.name)
}

/// What stands in the parentheses behind an attribute; empty where it has none. `None` where the attribute is not there.
fn argument<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let at = text.match_indices(name).find(|(at, _)| {
        let whole =
            |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric() && !matches!(letter, '@' | '.' | '_'));
        whole(text[..*at].chars().next_back()) && whole(text[at + name.len()..].chars().next())
    })?;
    let rest = &text[at.0 + name.len()..];
    let Some(inner) = rest.strip_prefix('(') else { return Some("") };
    let mut depth = 1;
    for (index, letter) in inner.char_indices() {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some(&inner[..index]);
        }
    }
    Some(inner)
}

/// The names of the first list in a text: `[a, b(sort: Desc)]`.
fn listed(text: &str) -> Vec<&str> {
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(inner, _)| inner);
    let names = inner.split(',').map(|part| part.trim().split(['(', '.']).next().unwrap_or_default());
    // `a(sort: Desc, length: 4)`: what follows the comma inside the parentheses is no name.
    names.filter(|name| !name.is_empty() && !name.contains(':')).collect()
}

fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

fn without_comments(text: &str) -> String {
    let bare = |line: &str| {
        let mut inside = false;
        let mut before = '\0';
        for (at, letter) in line.char_indices() {
            inside ^= letter == '"';
            if !inside && letter == '/' && before == '/' {
                return line[..at - 1].to_owned();
            }
            before = letter;
        }
        line.to_owned()
    };
    text.lines().map(|line| bare(line) + "\n").collect()
}

/// Lines, joined while a parenthesis or bracket is open.
fn logical_lines(text: &str) -> Vec<&str> {
    let (mut lines, mut start, mut depth) = (vec![], 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '\n' if depth <= 0 => {
                lines.push(text[start..at].trim());
                (start, depth) = (at + 1, 0);
            }
            _ => {}
        }
    }
    lines.push(text[start..].trim());
    lines.retain(|line| !line.is_empty());
    lines
}
