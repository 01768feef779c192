//! What one call means, with everything around it that its meaning needs: a store command, a statement of a builder's
//! chain, a presumption by its name.

use std::sync::Arc;

use super::columns::{
    alternatives, assignments, column, conditions, entity_columns, handed, names_a_member, of_columns, sets_of,
};
use super::filled::filled;
use super::flat::{Look, Presumed, What};
use super::meaning::{Args, Meant, meaning_on, receiver};
use super::nested::nested;
use super::sql::lock_of;
use super::statement::{ColumnKind, Op, Statement, table_key};
use super::{Ty, statements, store};
use crate::facts::{Act, FnRef, Value};
use crate::rules::{Meaning, TypeKind};
use crate::syntax::{CallForm, is_computed};

/// A call to bind.
pub struct Site<'a> {
    /// What is called.
    pub callee: &'a Value,
    /// With what.
    pub args: &'a Args,
    /// In which file.
    pub file: u32,
    /// Whether its end is waited for.
    pub awaited: bool,
}

/// What a call means.
pub fn bind(look: &Look<'_>, site: &Site<'_>) -> What {
    let tree = look.tree;
    let callee = super::flat::plain(look.events, site.callee);
    if let Some(meant) = meaning_on(look, &callee, &receiver(site.callee), site.args, site.file) {
        return of_row(look, meant, site);
    }
    let ty = tree.ty(&callee, site.file);
    // What an interface names is done by someone who is not known: its name says what it looks like.
    let open = |function: FnRef| {
        tree.facts(function).is_some_and(|facts| facts.is_open)
            && !tree.class_of(function).is_some_and(|class| tree.is_done(class))
    };
    if matches!(ty, Ty::Function(function) if !open(function)) || matches!(ty, Ty::Class(_)) {
        return What::Nothing;
    }
    if let Value::Member(_, name) = &callee {
        let args: Vec<Value> = site.args.iter().filter(|(name, _)| name.is_none()).map(|(_, value)| value.clone()).collect();
        if let Some(kv) = store::defined(look, name, &args, &tree.book.idioms) {
            return What::Kv(Arc::new(kv));
        }
    }
    if let Some(statement) = by_shape(look, site) {
        return What::Statement(Arc::new(statement));
    }
    presume(look, &callee, &ty, site).map_or(What::Nothing, |presumed| What::Presumed(Arc::new(presumed)))
}

fn of_row(look: &Look<'_>, meant: Meant, site: &Site<'_>) -> What {
    match meant.is {
        Meaning::Command => {
            let args = site.args.iter().filter(|(name, _)| name.is_none()).map(|(_, value)| value.clone()).collect();
            match store::command(look, &meant, args, &look.tree.book.idioms, site.file) {
                Some(kv) => What::Kv(Arc::new(kv)),
                None => What::Meant(Arc::new(meant)),
            }
        }
        Meaning::Sql => match sql(look, &meant, site.file) {
            Some(statement) => What::Statement(Arc::new(statement)),
            None => What::Meant(Arc::new(meant)),
        },
        // An object made here and handed to a session is a new row.
        Meaning::Track if meant.part("entity").is_some_and(|entity| made_here(look, entity, site.file)) => {
            What::Statement(Arc::new(statement(look, &meant, site.file)))
        }
        Meaning::Select | Meaning::Insert | Meaning::Update | Meaning::Upsert | Meaning::Delete | Meaning::Save => {
            What::Statement(Arc::new(statement(look, &meant, site.file)))
        }
        _ => What::Meant(Arc::new(meant)),
    }
}

fn sql(look: &Look<'_>, meant: &Meant, file: u32) -> Option<Statement> {
    let settled = look.tree.settled(meant.part("text")?);
    let values = meant.part("values").map(|values| look.tree.settled(values));
    let (inner, values) = match (gathered(look, &settled, file), look.call(&settled)) {
        (Some((text, values)), _) => (look.tree.settled(&text), Some(values)),
        // `sql.raw("...")`, `text("...")`: the text inside.
        (None, Some((_, args))) => match look.meaning(&settled, file) {
            Some(row) if row.is == Meaning::Build => {
                return Some(Statement { library: Some(meant.library.clone()), ..chain(look, &settled, file) });
            }
            _ => (look.tree.settled(&args.first()?.1), values),
        },
        (None, None) => (settled, values),
    };
    let parsed = statements(&inner, values.as_ref(), &look.tree.book.idioms);
    let weight = |statement: &Statement| (!matches!(statement.op, Op::Begin | Op::Commit | Op::Other), statement.writes());
    let mut best = parsed.into_iter().max_by_key(weight)?;
    best.sure &= meant.sure;
    best.library = Some(meant.library.clone());
    Some(best)
}

/// The text of a query and the values bound to it one by one: `query(text).bind(a).bind(b)`. Values given beside the text
/// come first.
fn gathered(look: &Look<'_>, query: &Value, file: u32) -> Option<(Value, Value)> {
    let mut values = vec![];
    let mut at = query.clone();
    loop {
        let step = look.meaning(&at, file).filter(|step| step.is == Meaning::Build)?;
        values.extend(step.part("arg").cloned());
        if let Some(text) = step.part("text") {
            if let Some(Value::List(beside)) = step.part("values") {
                values.extend(beside.iter().rev().take_while(|value| *value != text).cloned());
            }
            values.reverse();
            return Some((text.clone(), Value::List(values.into())));
        }
        at = step.receiver.clone();
    }
}

/// A statement from SQL in an argument of a call no pack knows.
fn by_shape(look: &Look<'_>, site: &Site<'_>) -> Option<Statement> {
    let (_, first) = site.args.iter().find(|(name, _)| name.is_none())?;
    let text = look.tree.settled(first);
    let whole = text.text()?;
    if !super::sql_text::looks_like_sql(&whole) || !whole.contains(' ') {
        return None;
    }
    let named = matches!(site.callee, Value::Member(..)) || look.tree.name_of(site.callee).is_some();
    let name = look.tree.name_of(site.callee).unwrap_or_default().to_lowercase();
    let quiet = ["log", "debug", "info", "warn", "error", "print", "text", "describe", "it", "test"];
    if !named || quiet.contains(&name.as_str()) {
        return None;
    }
    let values = site.args.iter().filter(|(name, _)| name.is_none()).nth(1).map(|(_, value)| look.tree.settled(value));
    let mut parsed = statements(&text, values.as_ref(), &look.tree.book.idioms);
    (!parsed.is_empty()).then(|| parsed.swap_remove(0)).map(|statement| Statement { sure: false, ..statement })
}

/// The statement a row describes, with the builder's chain below it.
pub fn statement(look: &Look<'_>, meant: &Meant, file: u32) -> Statement {
    let op = match meant.is {
        Meaning::Insert | Meaning::Track => Op::Insert,
        Meaning::Update => Op::Update,
        Meaning::Upsert => Op::Upsert,
        Meaning::Delete => Op::Delete,
        Meaning::Save => Op::Save,
        _ => Op::Select,
    };
    let mut statement = below(look, &meant.receiver, file, Statement::new(op));
    // What else the read of an entity asked for is not asked again when the entity is written.
    if meant.part("entity").is_some() && gave(look, &meant.receiver) {
        statement.wheres.retain(|column| column.kind == ColumnKind::Equal && !names_a_member(&column.value));
        statement.sets.clear();
    }
    if meant.is != Meaning::Select {
        statement.op = op;
    }
    apply(look, meant, &mut statement, file);
    if statement.op == Op::Save || meant.is == Meaning::Track && statement.sets.is_empty() {
        made_new(look, &mut statement, file);
    }
    if statement.table.is_none() {
        statement.table = table_of_ty(look, &meant.receiver_ty);
    }
    statement.sure &= meant.sure;
    statement.library = Some(meant.library.clone());
    // The whole entity, put in the place of the row with its key: what ORMs call a save.
    if statement.op == Op::Upsert && statement.entity.is_some() && statement.sets.is_empty() {
        statement.op = Op::Save;
    }
    statement
}

/// Saving a record that was only just made adds a row.
fn made_new(look: &Look<'_>, statement: &mut Statement, file: u32) {
    let Some(entity) = statement.entity.clone() else { return };
    match &entity {
        Value::Flat(index) => {
            let Some(event) = look.events.get(*index as usize) else { return };
            match (&event.what, &event.act) {
                (What::Meant(maker), _) if maker.flag("makes") => {
                    statement.op = Op::Insert;
                    statement.sets.extend(maker.part("set").into_iter().flat_map(|set| assignments(look, set)));
                    if let Some(name) = maker.part("table").and_then(|table| table_name(look, table, file)) {
                        statement.table = Some(name);
                    }
                }
                (_, Act::Call { form: CallForm::New, .. }) => {
                    statement.op = Op::Insert;
                    statement.sets.extend(entity_columns(look, &entity));
                }
                _ => {}
            }
        }
        // What has no identity yet.
        Value::Object(_, entries)
            if !entries.iter().any(|(key, _)| matches!(&**key, "id" | "_id" | "...") || is_computed(key)) =>
        {
            statement.op = Op::Insert;
        }
        _ => {}
    }
}

/// Whether a value is an object made by a class of the tree or by a library for one, or a list that holds one.
fn made_here(look: &Look<'_>, value: &Value, file: u32) -> bool {
    let of_a_class = |value: &Value| {
        look.call(value)
            .is_some_and(|(callee, _)| matches!(look.tree.ty(&super::flat::plain(look.events, &callee), file), Ty::Class(_)))
    };
    match value {
        Value::List(items) => items.iter().any(|item| made_here(look, item, file)),
        _ => of_a_class(value) || look.meaning(value, file).is_some_and(|meant| meant.flag("makes")),
    }
}

/// Whether a value is what a statement gave, through calls that hand it on.
fn gave(look: &Look<'_>, value: &Value) -> bool {
    let mut at = value.clone();
    for _ in 0..8 {
        let Value::Flat(index) = at else { return false };
        let Some(event) = look.events.get(index as usize) else { return false };
        at = match &event.what {
            What::Statement(_) => return true,
            What::Meant(meant) if meant.is == Meaning::Pass => meant.part("of").cloned().unwrap_or_default(),
            _ => return false,
        };
    }
    false
}

/// The statement of a builder chain that ends at `value`.
pub fn chain(look: &Look<'_>, value: &Value, file: u32) -> Statement {
    below(look, value, file, Statement::new(Op::Select))
}

fn below(look: &Look<'_>, value: &Value, file: u32, mut statement: Statement) -> Statement {
    let mut links = vec![];
    let mut given = vec![];
    let mut at = value.clone();
    while links.len() < 64 {
        let at_value = match &at {
            Value::Any(options) => options.iter().max_by_key(|option| depth_of(look, option)).cloned().unwrap_or_default(),
            other => other.clone(),
        };
        // A chain begun in a helper: what its steps said there.
        if let (Value::Flat(index), false) = (&at_value, links.is_empty())
            && let Some(What::Statement(begun)) = look.events.get(*index as usize).map(|event| &event.what)
            && begun.op == Op::Select
        {
            statement = Statement { built: false, ..(**begun).clone() };
            break;
        }
        let Some((callee, args)) = look.call(&at_value) else { break };
        if let Some(meant) = look.meaning(&at_value, file) {
            links.push(meant);
        }
        given.extend(args.iter().map(|(_, value)| value.clone()));
        at = match callee {
            Value::Member(receiver, _) => (*receiver).clone(),
            _ => match args.first() {
                Some((None, first @ (Value::Flat(_) | Value::Result(..)))) => first.clone(),
                _ => break,
            },
        };
    }
    for meant in links.iter().rev() {
        apply(look, meant, &mut statement, file);
        if meant.is == Meaning::Build {
            statement.sure &= meant.sure;
        }
        if statement.table.is_none() && meant.is != Meaning::Pass {
            statement.table = table_of_ty(look, &meant.receiver_ty);
        }
    }
    if statement.table.is_none() {
        statement.table = named_by_owner(look, &at, file);
    }
    if statement.table.is_none() && statement.counts | statement.max {
        statement.table = given.iter().rev().find_map(|value| of_columns(look, value, file, 0));
    }
    // A function of the database that is all that is asked for: `select(func.pg_advisory_lock(key))`.
    let asked = if statement.table.is_none() { &given[..] } else { &[] };
    for (callee, _) in asked.iter().filter_map(|value| look.call(value)) {
        if let Value::Member(_, name) = callee {
            lock_of(&mut statement, &name, &look.tree.book.idioms);
        }
    }
    statement
}

/// The table in `users::table`: a member whose owner has the table's name.
fn named_by_owner(look: &Look<'_>, value: &Value, file: u32) -> Option<String> {
    let Value::Member(of, name) = value else { return None };
    look.tree.packs(file).type_of_member(name)?;
    Some(table_key(&look.tree.name_of(of)?))
}

fn depth_of(look: &Look<'_>, value: &Value) -> u32 {
    let mut depth = 0;
    let mut at = value.clone();
    while let Some((Value::Member(receiver, _), _)) = look.call(&at) {
        depth += 1;
        at = (*receiver).clone();
        if depth > 64 {
            break;
        }
    }
    depth
}

fn apply(look: &Look<'_>, meant: &Meant, statement: &mut Statement, file: u32) {
    if let Some(op) = meant.text("op") {
        statement.op = match op.as_str() {
            "insert" => Op::Insert,
            "update" => Op::Update,
            "delete" => Op::Delete,
            "upsert" => Op::Upsert,
            _ => statement.op,
        };
    }
    if let Some(table) = meant.part("table")
        && let Some(name) = table_name(look, table, file)
    {
        statement.table = Some(name);
    }
    if let Some(value) = meant.part("where") {
        statement.restricted = true;
        statement.wheres.extend(conditions(look, value));
        statement.handed.extend(handed(value));
        statement.either |= alternatives(look, value, 0);
    }
    if let Some(value) = meant.part("column") {
        statement.restricted = true;
        meant.part("value").into_iter().for_each(|value| nested(look, &meant.receiver_ty, value, file, statement));
        let compared = meant.text("cmp").is_some_and(|cmp| cmp != "=" && cmp != "eq");
        let kind = if compared { ColumnKind::Compared } else { ColumnKind::Equal };
        let named = || look.tree.name_of(value).filter(|_| meant.part("value").is_some() && matches!(value, Value::Member(..)));
        match value.text().or_else(named) {
            Some(name) if !name.contains([' ', '<', '>']) => {
                let name = name.rsplit('.').next().unwrap_or(&name).to_owned();
                statement.wheres.push(column(&name, kind, meant.part("value").cloned().unwrap_or(Value::Null)));
            }
            _ => {
                statement.wheres.extend(conditions(look, value));
                statement.either |= alternatives(look, value, 0);
            }
        }
    }
    if let Some(value) = meant.part("set") {
        let sets = sets_of(look, meant, value);
        // `.values(self)`: a whole record.
        if sets.is_empty() && matches!(value, Value::This(_) | Value::Param(..) | Value::Flat(_) | Value::Any(_)) {
            statement.entity = Some(value.clone());
        }
        statement.sets.extend(sets);
        statement.filled.extend(filled(value));
    }
    if let Some(name) = meant.part("relative").and_then(|part| part.text().or_else(|| look.tree.name_of(part))) {
        let name = name.rsplit('.').next().unwrap_or(&name).to_owned();
        statement.sets.push(super::Column { name: super::column_key(&name), kind: ColumnKind::Relative, value: Value::Unknown });
    }
    if let Some(entity) = meant.part("entity") {
        statement.entity = Some(entity.clone());
        if matches!(statement.op, Op::Insert) {
            statement.sets.extend(entity_columns(look, entity));
            statement.filled.extend(filled(entity));
        }
        if statement.table.is_none() {
            statement.table = table_name(look, entity, file);
        }
    }
    let grows =
        |fields: &Value| look.events.iter().any(|event| event.meant(Meaning::Put).is_some_and(|put| put.receiver == *fields));
    if let Some(Value::List(fields)) =
        meant.part("fields").filter(|fields| !grows(fields)).map(|fields| look.tree.settled(fields))
    {
        let named = |field: &Value| field.text().or_else(|| look.tree.name_of(field));
        statement.only = Some(fields.iter().filter_map(named).map(|name| super::column_key(&name)).collect());
    }
    statement.whole |= meant.flag("whole");
    statement.conflict |= meant.flag("conflict");
    statement.keyed |= meant.flag("keyed");
    statement.row_lock |= meant.flag("lock");
    statement.returning |= meant.flag("returning");
    statement.counts |= meant.flag("count") || meant.flag("exists");
    statement.max |= meant.flag("max");
    statement.tries |= meant.flag("tries");
    statement.ordered |= meant.flag("ordered");
    statement.unheld |= meant.flag("unheld");
    statement.implicit |= meant.flag("implicit");
    statement.subquery |= meant.flag("atomic");
}

fn table_name(look: &Look<'_>, value: &Value, file: u32) -> Option<String> {
    if let Some(text) = look.tree.settled(value).text() {
        return Some(table_key(text.split_whitespace().next().unwrap_or(&text)));
    }
    let plain = super::flat::plain(look.events, value);
    if let Some(name) = named_by_owner(look, value, file) {
        return Some(name);
    }
    table_of_ty(look, &look.tree.ty(&plain, file)).or_else(|| match value {
        // `users::table`: of the table before it.
        Value::Member(of, name) if look.tree.book.tables.is_ending(name) => look.tree.name_of(of).map(|name| bare(look, &name)),
        // A query over the table (`delete(users::table.filter(..))`).
        Value::Flat(_) | Value::Result(..) => chain(look, value, file).table,
        Value::Module(_, name) | Value::Global(name) | Value::Member(_, name) => Some(bare(look, name)),
        _ => None,
    })
}

/// A name in code as a table's: without what it says of how the table is reached.
fn bare(look: &Look<'_>, name: &str) -> String {
    table_key(look.tree.book.tables.bare(name))
}

pub(super) fn table_of_ty(look: &Look<'_>, ty: &Ty) -> Option<String> {
    match ty {
        Ty::Class(class) | Ty::Instance(class) => {
            let class = look.tree.works_on(*class, 0).unwrap_or(*class);
            look.tree.class(class).map(|class| bare(look, &class.name))
        }
        Ty::Lib { path, of, .. } => match of.first() {
            Some(inner) => table_of_ty(look, inner),
            None if path.contains(':') => None,
            // A module, not a class.
            None if !path.contains(['.', '(']) && path.starts_with(char::is_lowercase) => None,
            None => {
                let name = path.trim_end_matches("()").rsplit('.').next().unwrap_or(path);
                // What a function of a library gives is no model of it.
                let of_function = path.ends_with("()") && name.starts_with(char::is_lowercase);
                (!of_function).then(|| bare(look, name))
            }
        },
        // An ORM's module for one table.
        Ty::Module(file) => look.tree.stem(*file).map(|stem| table_key(&stem)),
        _ => None,
    }
}

/// Whether a value is the entry of a container in memory that is made where it is missing.
fn is_made_entry(look: &Look<'_>, of: &Value, file: u32) -> bool {
    let mut at = of.clone();
    for _ in 0..4 {
        let Some(meant) = look.meaning(&at, file) else { return false };
        at = match meant.is {
            Meaning::Get => return meant.flag("makes"),
            Meaning::Pass => meant.part("of").unwrap_or(&meant.receiver).clone(),
            _ => return false,
        };
    }
    false
}

fn presume(look: &Look<'_>, callee: &Value, ty: &Ty, site: &Site<'_>) -> Option<Presumed> {
    let tree = look.tree;
    let packs = tree.packs(site.file);
    let (owner_value, name) = match callee {
        Value::Member(of, name) => (Some(&**of), name.to_string()),
        other => (None, tree.name_of(other)?),
    };
    if let Some(of) = owner_value {
        let kind = match tree.ty(of, site.file) {
            Ty::Lib { path, .. } => packs.kind(&path),
            Ty::Literal(_) => TypeKind::State,
            _ => TypeKind::Plain,
        };
        if matches!(kind, TypeKind::State | TypeKind::Lock | TypeKind::Local) {
            return None;
        }
        if !site.awaited && is_made_entry(look, of, site.file) {
            return None;
        }
        if matches!(of, Value::Text(_) | Value::Number(_) | Value::Template(_) | Value::List(_) | Value::Object(..)) {
            return None;
        }
    }
    // A library that packs know, but not this call: its authors wrote down what matters.
    if let Ty::Lib { path, sure: true, .. } = ty
        && packs.knows(path)
    {
        return None;
    }
    // A variant, a tuple type or a class, told from a function by how it is written: what makes a value does nothing else.
    if !site.awaited && name.starts_with(char::is_uppercase) {
        return None;
    }
    // A setter of an object in memory, where outside work would be waited for.
    if tree.errors_are_values(site.file) && !site.awaited && name.starts_with("set_") {
        return None;
    }
    super::presume::presumed(look, &name, owner_value.and_then(|of| tree.name_of(of)).as_deref(), site.args, site.awaited)
}
