//! What code says of tables: models, migrations, and SQL in texts. It must not know a library's name.

use std::collections::{BTreeSet, HashMap, HashSet};

use rayon::prelude::*;

use super::chain::{Draft, Reader};
use super::{Key, Schema, column_key};
use crate::facts::{Act, Event, FileFacts, FnRef, Value};
use crate::files::Span;
use crate::program::{Args, ClassRef, Meant, Tree, decorator, meaning};
use crate::rules::Meaning;

/// A row of a pack that says something of a table, and where it was met.
#[derive(Debug)]
pub struct Declaration {
    /// The file.
    pub file: u32,
    /// Where in it.
    pub span: Span,
    /// What it means.
    pub meant: Meant,
}

/// A call of a function's facts.
pub(super) struct Site<'t> {
    /// The function it stands in.
    pub function: FnRef,
    index: u32,
    event: &'t Event,
    /// What is called.
    pub callee: &'t Value,
    /// What it is given.
    pub args: &'t Args,
}

impl Schema {
    /// Adds what code declares.
    pub(super) fn add_code(&mut self, tree: &Tree) {
        let reader = Reader { tree };
        self.add_texts(tree);
        for facts in &tree.files {
            for (index, class) in facts.unit.classes.iter().enumerate() {
                let draft = reader.class_draft(ClassRef { file: facts.file, class: index as u32 }, 0);
                if draft.declared {
                    self.add_draft(tree, draft, Some(class.name.as_str()));
                }
            }
        }
        let spoken = spoken(tree);
        let anchored = anchored(&reader, &spoken);
        let named = self.add_tables(&reader, &spoken, &anchored);
        self.add_keys(&reader, &spoken, &named);
        for (table, key) in reader.handed_keys() {
            if let Some(table) = reader.name(&table) {
                self.add_key(&table, key);
            }
        }
    }

    /// SQL in texts: a migration's statements, a schema made at start-up.
    fn add_texts(&mut self, tree: &Tree) {
        for facts in tree.files.iter().filter(|facts| !tree.book.tables.undoes_file(&tree.paths[facts.file as usize])) {
            let mut texts: BTreeSet<(u32, String)> = BTreeSet::new();
            for name in facts.names.values() {
                texts.extend(schema_text(&name.value).map(|text| (name.span.start, text)));
            }
            for site in sites(tree, facts.file) {
                texts.extend(
                    site.args.iter().filter_map(|(_, value)| schema_text(value)).map(|text| (site.event.span.start, text)),
                );
            }
            texts.iter().for_each(|(_, text)| self.add_sql(text));
        }
    }

    /// Tables that calls declare; the table of each call's result and of each callback that builds one.
    fn add_tables(&mut self, reader: &Reader<'_>, spoken: &[Spoken<'_>], anchored: &HashMap<(FnRef, u32), Vec<Key>>) -> Named {
        let mut named = Named::default();
        for site in spoken.iter().filter(|spoken| spoken.meant.is == Meaning::Table).map(|spoken| &spoken.site) {
            let file = site.function.file;
            let value = Value::Result(site.function, site.index);
            let chain = reader.links(&value, file).into_iter().filter_map(|link| link.meant);
            let steps: Vec<Meant> = chain.filter(|step| step.is == Meaning::Table).collect();
            let mut draft = Draft::default();
            for meant in &steps {
                draft.merge(reader.table(meant, file, 0));
                if let Some(of) = meant.part("of") {
                    draft.merge(self.declared_by(reader, of, file, anchored));
                }
            }
            draft.keys.extend(anchored.get(&(site.function, site.index)).cloned().unwrap_or_default());
            let bodies = steps.iter().filter_map(|meant| Some((meant, reader.body(meant)?)));
            let bound = site.event.bound.as_deref();
            let Some(name) = draft.name.clone().or_else(|| draft.models.first().cloned()) else { continue };
            named.calls.insert((site.function, site.index), name.clone());
            bodies.for_each(|(meant, body)| reader.built(meant, body, &mut draft));
            let known_as = bound.filter(|_| draft.declared);
            self.add_draft(reader.tree, draft, known_as);
        }
        named
    }

    /// What another declaration says, that a call is given.
    fn declared_by(&self, reader: &Reader<'_>, of: &Value, file: u32, anchored: &HashMap<(FnRef, u32), Vec<Key>>) -> Draft {
        let settled = reader.tree.settled(of);
        if let Some(meant) = reader.meant(&settled, file).filter(|meant| meant.is == Meaning::Table) {
            let mut draft = reader.table(&meant, file, 0);
            if let Some(inner) = meant.part("of").filter(|inner| **inner != *of) {
                draft.merge(self.declared_by(reader, inner, file, anchored));
            }
            if let Value::Result(function, index) = settled {
                draft.keys.extend(anchored.get(&(function, index)).cloned().unwrap_or_default());
            }
            return draft;
        }
        let Some(class) = reader.class(&settled, file) else { return Draft::default() };
        let mut draft = reader.class_draft(class, 0);
        draft.models.extend(reader.tree.class(class).map(|class| class.name.clone()));
        draft
    }

    /// Keys that calls add to tables declared elsewhere.
    fn add_keys(&mut self, reader: &Reader<'_>, spoken: &[Spoken<'_>], named: &Named) {
        let files: BTreeSet<u32> =
            spoken.iter().filter(|spoken| spoken.is_key()).map(|spoken| spoken.site.function.file).collect();
        for site in files.into_iter().flat_map(|file| sites(reader.tree, file)) {
            let file = site.function.file;
            if inner(reader.tree, site.function).contains(&site.index) {
                continue;
            }
            let value = Value::Result(site.function, site.index);
            let steps: Vec<Meant> = reader.links(&value, file).into_iter().filter_map(|link| link.meant).collect();
            let keys = steps.iter().filter(|meant| matches!(meant.is, Meaning::Unique | Meaning::Primary));
            // Each call on a table that is being declared is a key of its own.
            let of = steps.iter().filter(|meant| meant.is == Meaning::Table).find_map(|meant| reader.name(meant.part("name")?));
            if let Some(table) = of {
                for meant in keys {
                    for key in reader.key_of([meant].into_iter()).into_iter().flat_map(|(keys, _)| keys) {
                        match meant.flag("drops") {
                            true => self.drop_key(Some(&table), &key),
                            false => self.add_key(&table, key),
                        }
                    }
                }
                continue;
            }
            if keys.clone().count() == 0 {
                continue;
            }
            let Some((keys, table)) = reader.key_of(keys) else { continue };
            if keys.iter().any(|key| key.columns.iter().any(|column| !column.starts_with(|first: char| first.is_alphanumeric())))
            {
                self.worked_out.extend(reader.tree.class_of(site.function));
                continue;
            }
            let table = table.and_then(|table| reader.name(&table)).or_else(|| {
                let of = steps.iter().find_map(|meant| match reader.tree.settled(&meant.receiver) {
                    Value::Result(function, index) => Some((function, index)),
                    _ => None,
                });
                named.calls.get(&of?).cloned()
            });
            let drops = steps.iter().any(|meant| meant.flag("drops"));
            for key in keys {
                match (&table, drops) {
                    (table, true) => self.drop_key(table.as_deref(), &key),
                    (Some(table), false) => self.add_key(table, key),
                    (None, false) => {}
                }
            }
        }
    }

    fn add_draft(&mut self, tree: &Tree, draft: Draft, known_as: Option<&str>) {
        let words = &tree.book.tables;
        // `Model` names every table of its kind, and so none.
        let known_as = known_as.filter(|name| !words.is_ending(name)).map(|name| words.bare(name));
        let Some(name) = draft.name.as_deref().or(known_as).or(draft.models.first().map(String::as_str)).map(str::to_owned)
        else {
            return;
        };
        let table = self.table(&name);
        table.declared |= draft.declared;
        table.single |= draft.single;
        let filled = draft.columns.iter().filter(|(_, column)| column.filled);
        table.filled.extend(filled.map(|(column, _)| column_key(column)));
        if let Some(version) = &draft.version {
            table.version = Some(version.clone());
        }
        table.columns.extend(draft.columns.iter().map(|(column, _)| column_key(column)));
        let relations = draft.relations.iter().map(|relation| column_key(relation));
        table.relations.extend(relations.clone());
        self.relations.extend(relations);
        self.plain.extend(draft.columns.iter().map(|(column, _)| column_key(column)));
        for key in draft.all_keys() {
            self.add_key(&name, key);
        }
        draft.dropped.iter().for_each(|key| self.drop_key(Some(&name), key));
        for model in draft.models.iter().map(|model| words.bare(model)).chain(known_as) {
            self.call_it(model, &name);
        }
    }
}

/// Which table a call declared.
#[derive(Default)]
struct Named {
    calls: HashMap<(FnRef, u32), String>,
}

/// Keys that calls add to a declaration that a value holds: `schema.index(...)`, by the call that made the value.
fn anchored(reader: &Reader<'_>, spoken: &[Spoken<'_>]) -> HashMap<(FnRef, u32), Vec<Key>> {
    let mut found: HashMap<(FnRef, u32), Vec<Key>> = HashMap::new();
    for Spoken { meant, .. } in spoken.iter().filter(|spoken| spoken.is_key()) {
        if let Value::Result(function, index) = reader.tree.settled(&meant.receiver)
            && let Some((keys, None)) = reader.key_of([meant].into_iter())
        {
            found.entry((function, index)).or_default().extend(keys);
        }
    }
    found
}

/// A call that says something of a table or a key.
struct Spoken<'t> {
    site: Site<'t>,
    meant: Meant,
}

impl Spoken<'_> {
    fn is_key(&self) -> bool {
        matches!(self.meant.is, Meaning::Unique | Meaning::Primary)
    }
}

/// All such calls of a tree, in order.
fn spoken(tree: &Tree) -> Vec<Spoken<'_>> {
    let of_file = |facts: &FileFacts| -> Vec<Spoken<'_>> {
        let meant = sites(tree, facts.file).filter_map(|site| {
            let meant = meaning(tree, site.callee, site.args, facts.file)?;
            Some(Spoken { site, meant })
        });
        meant.filter(|spoken| spoken.is_key() || spoken.meant.is == Meaning::Table).collect()
    };
    tree.files.par_iter().flat_map_iter(of_file).collect()
}

/// Every call of a file, but those that take a migration back.
pub(super) fn sites(tree: &Tree, file: u32) -> impl Iterator<Item = Site<'_>> {
    let functions = tree.files.get(file as usize).map_or(&[][..], |facts| &facts.functions);
    functions.iter().enumerate().filter(move |(func, _)| !taken_back(tree, FnRef { file, func: *func as u32 })).flat_map(
        move |(func, facts)| {
            facts.events.iter().enumerate().filter_map(move |(index, event)| match &event.act {
                Act::Call { callee, args, .. } => {
                    Some(Site { function: FnRef { file, func: func as u32 }, index: index as u32, event, callee, args })
                }
                _ => None,
            })
        },
    )
}

/// Whether a function, or one around it, takes a migration back.
pub(super) fn taken_back(tree: &Tree, function: FnRef) -> bool {
    let mut at = Some(function);
    while let Some(here) = at {
        let Some(known) = tree.function(here) else { break };
        if tree.book.tables.undoes(&known.name) {
            return true;
        }
        at = known.parent.map(|parent| FnRef { func: parent.0, ..here }).filter(|parent| parent.func != 0);
    }
    false
}

/// Calls of a function that another call of it is made on.
fn inner(tree: &Tree, function: FnRef) -> HashSet<u32> {
    let events = tree.facts(function).map_or(&[][..], |facts| &facts.events);
    let receivers = events.iter().filter_map(|event| match &event.act {
        Act::Call { callee: Value::Member(of, _), .. } => match **of {
            Value::Result(owner, index) if owner == function => Some(index),
            _ => None,
        },
        _ => None,
    });
    receivers.collect()
}

/// A text that says something of tables.
fn schema_text(value: &Value) -> Option<String> {
    if let Value::Text(text) = value {
        // None of the words below fits in.
        text.contains(' ').then_some(())?;
    }
    let text = value.text()?;
    let head: String = text.trim_start().chars().take(4000).collect::<String>().to_lowercase();
    let says = ["create table", "create unique", "alter table", "drop index"].iter().any(|words| head.contains(words));
    says.then_some(text)
}

impl Declaration {
    /// Every row that says something of a table in a tree.
    pub fn all(tree: &Tree) -> Vec<Declaration> {
        let reader = Reader { tree };
        let mut found = vec![];
        let speaks = |meant: &Meant| {
            matches!(meant.is, Meaning::Table | Meaning::Column | Meaning::Unique | Meaning::Primary | Meaning::Version)
        };
        for facts in &tree.files {
            let file = facts.file;
            let mut add = |span: Span, meant: Option<Meant>| {
                found.extend(meant.filter(speaks).map(|meant| Declaration { file, span, meant }));
            };
            for (value, span) in facts.class_marks.values().chain(facts.field_marks.values()).flatten() {
                add(*span, decorator(tree, value, file));
            }
            for (index, class) in facts.unit.classes.iter().enumerate() {
                for (span, meant) in reader.attribute_rows(ClassRef { file, class: index as u32 }, class) {
                    add(span, Some(meant));
                }
            }
            for site in sites(tree, file) {
                let meant = meaning(tree, site.callee, site.args, file);
                if let Some(table) = meant.as_ref().filter(|meant| meant.is == Meaning::Table)
                    && let Some(body) = reader.body(table)
                {
                    reader.steps(table, body).into_iter().for_each(|(span, step)| add(span, Some(step)));
                }
                add(site.event.span, meant);
            }
        }
        found
    }
}
