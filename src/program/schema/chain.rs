//! Values that declare columns and keys: chains of calls, object literals and lists of either, read by what packs say.

use std::collections::BTreeMap;

use super::Key;
use super::sql::condition_text;
use super::turns::one_of;
use crate::facts::{Act, FnRef, Value};
use crate::files::Atom;
use crate::program::flat::Look;
use crate::program::statement::{Column, ColumnKind, column_key};
use crate::program::{Args, Meant, Tree, Ty, decorator, meaning};
use crate::rules::Meaning;
use crate::syntax::ExitKind;

/// How deep declarations may lead to one another.
const DEEPEST: u32 = 8;

/// What is known of one column.
#[derive(Debug, Default, Clone)]
pub struct ColumnDraft {
    /// The name it is declared with in the database, where that is another one.
    pub name: Option<String>,
    /// Unique by itself.
    pub unique: bool,
    /// Unique together with the columns of the same group.
    pub group: Option<String>,
    /// Its place in a primary key.
    pub primary: bool,
    /// It counts versions that every save compares.
    pub version: bool,
    /// It is never null.
    pub filled: bool,
}

/// What is known of one table while its declaration is read.
#[derive(Debug, Default, Clone)]
pub struct Draft {
    /// Its name in the database.
    pub name: Option<String>,
    /// Names that code has for it.
    pub models: Vec<String>,
    /// Columns by the names that code has for them.
    pub columns: Vec<(String, ColumnDraft)>,
    /// Attributes that are other rows.
    pub relations: Vec<String>,
    /// Keys over several columns.
    pub keys: Vec<Key>,
    /// Keys that are taken out.
    pub dropped: Vec<Key>,
    /// The column that counts versions.
    pub version: Option<String>,
    /// Something says that this is a table.
    pub declared: bool,
    /// Every save of its model gives the row one and the same primary key.
    pub single: bool,
}

impl Draft {
    /// Adds what another declaration of the same table says.
    pub fn merge(&mut self, other: Draft) {
        self.name = self.name.take().or(other.name);
        self.models.extend(other.models);
        self.columns.extend(other.columns);
        self.relations.extend(other.relations);
        self.keys.extend(other.keys);
        self.version = self.version.take().or(other.version);
        self.declared |= other.declared;
        self.single |= other.single;
    }

    /// All keys, by the names that code has for the columns and by those of the database.
    pub fn all_keys(&self) -> Vec<Key> {
        let mut keys = self.keys.clone();
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut primary = vec![];
        for (name, column) in &self.columns {
            if column.unique {
                keys.push(Key::of([name.as_str()]));
            }
            if column.primary {
                primary.push(name.as_str());
            }
            if let Some(group) = &column.group {
                groups.entry(group).or_default().push(name);
            }
        }
        keys.extend([primary].into_iter().chain(groups.into_values()).filter(|key| !key.is_empty()).map(Key::of));
        let renamed = |key: &Key| {
            let columns = key.columns.iter().map(|name| {
                let named = self.columns.iter().find(|(known, _)| column_key(known) == *name);
                named.and_then(|(_, column)| column.name.as_deref()).map_or_else(|| name.clone(), column_key)
            });
            Key { columns: columns.collect(), ..key.clone() }
        };
        let by_name: Vec<Key> = keys.iter().map(renamed).filter(|key| !keys.contains(key)).collect();
        keys.extend(by_name);
        keys
    }
}

/// One call of a chain, with what it means.
pub struct Link {
    /// What it means, where a pack knows it.
    pub meant: Option<Meant>,
    /// What it is called on.
    pub receiver: Value,
    /// Its arguments.
    pub args: Vec<(Option<Atom>, Value)>,
}

/// Reads declarations of one tree.
pub struct Reader<'t> {
    /// The tree.
    pub tree: &'t Tree,
}

impl<'t> Reader<'t> {
    /// The calls behind a value, first to last: of `a(x).b(y)`, `a` and `b`.
    pub fn links(&self, value: &Value, file: u32) -> Vec<Link> {
        let look = Look { tree: self.tree, events: &[] };
        let mut links = vec![];
        let mut at = self.tree.settled(value);
        while links.len() < 64 {
            let Some((callee, args)) = look.call(&at) else { break };
            let receiver = match &callee {
                Value::Member(of, _) => (**of).clone(),
                _ => Value::Unknown,
            };
            links.push(Link { meant: meaning(self.tree, &callee, &args, file), receiver: receiver.clone(), args });
            at = receiver;
        }
        links.reverse();
        links
    }

    /// What a value, a decorator or a chain's last call means.
    pub fn meant(&self, value: &Value, file: u32) -> Option<Meant> {
        decorator(self.tree, &self.tree.settled(value), file)
    }

    /// A text, or the name of what stands for one: `User::Table` and `users::table` are the table of `User` and `users`.
    pub fn name(&self, value: &Value) -> Option<String> {
        let settled = self.tree.settled(value);
        if let Some(text) = settled.text() {
            return Some(text.split_whitespace().next().unwrap_or(&text).to_owned());
        }
        match &settled {
            Value::Member(of, name) if self.tree.book.tables.is_ending(name) => self.tree.name_of(of),
            other => self.tree.name_of(other),
        }
    }

    /// The columns a value names; `None` where one of them cannot be told.
    pub fn columns(&self, value: &Value) -> Option<Vec<String>> {
        let settled = self.tree.settled(value);
        match &settled {
            Value::List(items) => items.iter().map(|item| self.column_name(item)).collect(),
            Value::Object(_, entries) => Some(entries.iter().map(|(key, _)| column_key(key)).collect()),
            other => Some(vec![self.column_name(other)?]),
        }
    }

    fn column_name(&self, value: &Value) -> Option<String> {
        let look = Look { tree: self.tree, events: &[] };
        match value {
            // `lower(email)` is of that column.
            Value::Text(text) => {
                let inner = text.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
                Some(column_key(inner.unwrap_or(text).split_whitespace().next()?))
            }
            Value::Member(_, name) | Value::Global(name) | Value::Module(_, name) => Some(column_key(name)),
            Value::Object(_, entries) => {
                self.column_name(&entries.iter().find(|(key, _)| matches!(&**key, "name" | "attribute" | "field"))?.1)
            }
            Value::Template(_) => {
                let mut inner = value.children().into_iter();
                inner.next().and_then(|first| self.column_name(first))
            }
            Value::List(pair) if is_directed(value) => self.column_name(pair.first()?),
            // `lower(email)`, `t.email.asc()`: of that column.
            Value::Result(..) => {
                let (callee, args) = look.call(value)?;
                match &callee {
                    Value::Member(of, _) if matches!(**of, Value::Member(..)) => self.column_name(of),
                    _ => self.column_name(&args.first()?.1),
                }
            }
            _ => None,
        }
    }

    /// What a chain says of a column; `None` where it declares none.
    pub fn column(&self, value: &Value, file: u32) -> Option<ColumnDraft> {
        let links = self.links(value, file);
        let meant: Vec<Meant> = match links.is_empty() {
            true => decorator(self.tree, value, file).into_iter().collect(),
            false => links.into_iter().filter_map(|link| link.meant).collect(),
        };
        let mut found = None;
        for meant in meant.iter().filter(|meant| meant.is == Meaning::Column) {
            self.add_to(found.get_or_insert_with(ColumnDraft::default), meant);
        }
        found
    }

    /// Adds what a row says to a column.
    pub fn add_to(&self, column: &mut ColumnDraft, meant: &Meant) {
        self.flag_unique(column, meant.part("unique"));
        column.primary |= meant.flag("primary");
        column.version |= meant.flag("version");
        column.filled |= meant.flag("filled") && !meant.flag("null");
        if let Some(Value::Text(name)) = meant.part("name").map(|name| self.tree.settled(name)) {
            column.name = Some(name.to_string());
        }
    }

    fn flag_unique(&self, column: &mut ColumnDraft, said: Option<&Value>) {
        match said {
            None | Some(Value::Bool(false) | Value::Null) => {}
            Some(Value::Text(group)) => column.group = Some(group.to_string()),
            Some(Value::Object(_, entries)) => match entries.iter().find(|(key, _)| &**key == "name") {
                Some((_, name)) => column.group = name.text(),
                None => column.unique = true,
            },
            Some(_) => column.unique = true,
        }
    }

    /// The key that a chain declares, with its table where it says it.
    pub fn key(&self, value: &Value, file: u32) -> Option<(Vec<Key>, Option<Value>)> {
        let links = self.links(value, file);
        let meant: Vec<Meant> = match links.is_empty() {
            true => decorator(self.tree, value, file).into_iter().collect(),
            false => links.into_iter().filter_map(|link| link.meant).collect(),
        };
        self.key_of(meant.iter().filter(|meant| matches!(meant.is, Meaning::Unique | Meaning::Primary)))
    }

    /// The same of the rows that its calls matched. Several lists of columns are several keys.
    pub fn key_of<'m>(&self, steps: impl Iterator<Item = &'m Meant>) -> Option<(Vec<Key>, Option<Value>)> {
        let (mut key, mut more, mut table, mut whole, mut told) = (Key::default(), vec![], None, false, true);
        let mut ways: Vec<Vec<String>> = vec![vec![]];
        for meant in steps {
            whole |= !meant.flag("step");
            if let Some(named) = meant.part("columns").map(|named| self.tree.settled(named)) {
                let lists = match &named {
                    Value::List(items) if items.iter().any(|item| matches!(item, Value::List(_)) && !is_directed(item)) => {
                        items.to_vec()
                    }
                    _ => vec![named.clone()],
                };
                match &lists[..] {
                    [one] => match one_of(one).iter().map(|one| self.columns(one)).collect::<Option<Vec<_>>>() {
                        Some(named) => {
                            let with =
                                |way: &Vec<String>| named.iter().map(|columns| [&way[..], columns].concat()).collect::<Vec<_>>();
                            ways = ways.iter().flat_map(with).collect();
                        }
                        None => told = false,
                    },
                    many => more.extend(many.iter().filter_map(|list| self.columns(list))),
                }
            }
            if let Some((only, unclear)) = self.compared(meant).or_else(|| Some(self.condition(meant.part("where")?))) {
                key.only.extend(only);
                key.unclear |= unclear;
            }
            key.name = key.name.or_else(|| meant.text("name"));
            table = table.or_else(|| meant.part("table").cloned());
        }
        if !whole || !told {
            return None;
        }
        let keys = match more.is_empty() {
            true => ways.into_iter().map(|columns| Key { columns, ..key.clone() }).collect(),
            false => more.into_iter().map(|columns| Key { columns, ..Key::default() }).collect(),
        };
        Some((keys, table))
    }

    /// The same of a condition in three parts: `("closed_at", "is", null)`.
    fn compared(&self, meant: &Meant) -> Option<(Vec<Column>, bool)> {
        let value = match self.tree.settled(meant.part("value")?) {
            Value::Null => "null".to_owned(),
            Value::Bool(truth) => truth.to_string(),
            Value::Number(number) => number.to_string(),
            other => format!("'{}'", other.text().filter(|text| !text.contains('\''))?),
        };
        Some(condition_text(&format!("{} {} {value}", meant.text("column")?, meant.text("cmp")?)))
    }

    /// What rows an index's condition asks for, and whether it cannot be read.
    fn condition(&self, value: &Value) -> (Vec<Column>, bool) {
        let look = Look { tree: self.tree, events: &[] };
        let settled = self.tree.settled(value);
        let text = settled.text().or_else(|| {
            let (_, args) = look.call(&settled)?;
            args.first()?.1.text().filter(|text| text.contains(' '))
        });
        let columns = match text {
            Some(text) => return condition_text(&text),
            None => crate::program::columns::conditions(&look, &settled),
        };
        let constant = |column: &Column| matches!(column.kind, ColumnKind::Constant | ColumnKind::Compared);
        let unclear = columns.is_empty() || !columns.iter().all(constant);
        (columns.into_iter().filter(constant).collect(), unclear)
    }

    /// What a row says of a table.
    pub fn table(&self, meant: &Meant, file: u32, depth: u32) -> Draft {
        let mut draft = Draft { declared: !meant.flag("partly"), ..Draft::default() };
        if depth > DEEPEST {
            return draft;
        }
        draft.name = meant.part("name").and_then(|name| self.name(name));
        draft.models.extend(meant.part("model").and_then(|name| self.name(name)));
        let option = |name: &str| meant.text(name).unwrap_or_default();
        if let Some(columns) = meant.part("columns") {
            self.declared_columns(columns, &option, file, depth, &mut draft);
        }
        for (part, all) in [("keys", false), ("uniques", true)] {
            if let Some(keys) = meant.part(part) {
                self.declared_keys(keys, &option, all, file, depth, &mut draft);
            }
        }
        if let Some(columns) = meant.part("primary").and_then(|columns| self.columns(columns)) {
            draft.keys.push(Key { columns, ..Key::default() });
        }
        if meant.flag("version") {
            draft.version = Some(meant.text("version").unwrap_or_else(|| "version".to_owned()));
        }
        draft
    }

    fn declared_columns(&self, value: &Value, option: &dyn Fn(&str) -> String, file: u32, depth: u32, draft: &mut Draft) {
        match self.tree.settled(value) {
            Value::Object(_, entries) => {
                for (name, value) in entries.iter() {
                    if &**name == "..." {
                        self.declared_columns(value, option, file, depth + 1, draft);
                        continue;
                    }
                    let column = match self.tree.settled(value) {
                        Value::Object(_, options) => self.column_of_options(&options, option),
                        other => self.column(&other, file).unwrap_or_default(),
                    };
                    draft.columns.push((name.to_string(), column));
                }
            }
            Value::List(items) => items.iter().for_each(|item| match self.tree.settled(item) {
                Value::Object(_, options) => {
                    let column = self.column_of_options(&options, option);
                    draft.columns.extend(column.name.clone().map(|name| (name, ColumnDraft { name: None, ..column })));
                }
                other => self.declared_part(&other, file, draft),
            }),
            other => match self.meant(&other, file).filter(|meant| meant.is == Meaning::Table) {
                Some(meant) => draft.merge(self.table(&meant, file, depth + 1)),
                None => self.declared_part(&other, file, draft),
            },
        }
    }

    fn column_of_options(&self, options: &[(Atom, Value)], option: &dyn Fn(&str) -> String) -> ColumnDraft {
        let entry = |name: &str| {
            let key = option(name);
            options.iter().find(|(known, _)| **known == key && !key.is_empty()).map(|(_, value)| value.clone())
        };
        let set = |value: Option<Value>| value.is_some_and(|value| !matches!(value, Value::Bool(false) | Value::Null));
        let mut column = ColumnDraft { name: entry("option_name").and_then(|name| name.text()), ..ColumnDraft::default() };
        self.flag_unique(&mut column, entry("option_unique").as_ref());
        column.primary = set(entry("option_primary"));
        column.version = set(entry("option_version"));
        column
    }

    /// A column or a key among the arguments of a table's declaration.
    fn declared_part(&self, item: &Value, file: u32, draft: &mut Draft) {
        if let Some(column) = self.column(item, file) {
            if let Some(name) = column.name.clone().or_else(|| self.first_name(item)) {
                draft.columns.push((name, ColumnDraft { name: None, ..column }));
            }
        } else if let Some((keys, _)) = self.key(item, file) {
            draft.keys.extend(keys);
        }
    }

    /// The name that the first call of a chain is given.
    fn first_name(&self, item: &Value) -> Option<String> {
        let link = self.links(item, 0).into_iter().next()?;
        self.columns(&link.args.first()?.1)?.into_iter().next()
    }

    fn declared_keys(&self, value: &Value, option: &dyn Fn(&str) -> String, all: bool, file: u32, depth: u32, draft: &mut Draft) {
        if depth > DEEPEST {
            return;
        }
        match self.tree.settled(value) {
            Value::List(items) => items.iter().for_each(|item| self.declared_keys(item, option, all, file, depth + 1, draft)),
            Value::Object(_, entries) => {
                let entry = |name: &str| entries.iter().find(|(key, _)| **key == option(name)).map(|(_, value)| value);
                let unique = entry("option_unique").is_some_and(|value| !matches!(value, Value::Bool(false) | Value::Null));
                match entry("option_columns") {
                    Some(columns) if unique || all => {
                        let Some(columns) = self.columns(columns) else { return };
                        let (only, unclear) = entry("option_where").map_or((vec![], false), |value| self.condition(value));
                        draft.keys.push(Key { columns, only, unclear, name: None });
                    }
                    Some(_) => {}
                    // A key by its name: `{ byEmail: uniqueIndex().on(t.email) }`.
                    None => {
                        entries.iter().for_each(|(_, item)| self.declared_keys(item, option, all, file, depth + 1, draft));
                    }
                }
            }
            Value::Function(body) => {
                for returned in self.returned(body) {
                    self.declared_keys(&returned, option, all, file, depth + 1, draft);
                }
            }
            other => draft.keys.extend(self.key(&other, file).into_iter().flat_map(|(keys, _)| keys)),
        }
    }

    fn returned(&self, body: FnRef) -> Vec<Value> {
        let events = self.tree.facts(body).map_or(&[][..], |facts| &facts.events);
        let returned = events.iter().filter_map(|event| match &event.act {
            Act::Exit { kind: ExitKind::Return, value } => Some(value.clone()),
            _ => None,
        });
        returned.collect()
    }

    /// The class a value names.
    pub fn class(&self, value: &Value, file: u32) -> Option<crate::program::ClassRef> {
        match self.tree.ty(value, file) {
            Ty::Class(class) | Ty::Instance(class) => Some(class),
            _ => None,
        }
    }

    /// What rows on a path say of arguments.
    pub fn meant_at(&self, path: &str, receiver: &Value, args: &Args, file: u32) -> Option<Meant> {
        crate::program::meaning::meaning_at(self.tree, path, receiver, args, file)
    }
}

/// Whether a list is one column and the direction it is ordered in: `("email", 1)`.
fn is_directed(value: &Value) -> bool {
    match value {
        Value::List(pair) => {
            matches!(&pair[..], [Value::Text(_), Value::Number(_) | Value::Op(..) | Value::Module(..) | Value::Member(..)])
        }
        _ => false,
    }
}
