//! What a save writes: the columns that were set on loaded entities before it.

use std::collections::HashSet;

use super::exists::for_a_new_row;
use super::rows::selects;
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{Column, ColumnKind, FlatEvent, Op, Statement, Ty, What, column_key, table_key, unwrapped};
use crate::rules::Meaning;

/// The columns set on loaded entities before a save: all of them, or those of one entity.
pub(super) fn dirty(view: &View<'_>, until: u32, entity: Option<&Value>, table: Option<&str>) -> Vec<Column> {
    set_until(view, until, entity, table).into_iter().map(|(_, column)| column).collect()
}

/// What the end of a transaction writes of an entity, where an event is the last to change that in there and nothing flushes it before.
pub(super) fn written_at_the_end(view: &View<'_>, index: u32, event: &FlatEvent) -> Option<Statement> {
    let Act::Write { place: Value::Member(owner, _), .. } = &event.act else { return None };
    let flushes = |opens: &&u32| view.event(**opens).meant(Meaning::Transaction).is_some_and(|meant| meant.flag("flushes"));
    let opens = event.within.iter().find(flushes)?;
    let mut later = view.events().filter(|(at, later)| *at > index && later.within.contains(opens));
    let again = |later: &FlatEvent| match &later.act {
        Act::Write { place: Value::Member(other, _), .. } => other == owner,
        _ => later.meant(Meaning::Flush).is_some(),
    };
    if later.any(|(_, later)| again(later)) {
        return None;
    }
    dirty_entities(view, index).into_iter().find(|written| written.entity.as_ref() == Some(&**owner))
}

/// What a session writes of each loaded entity that was changed up to an event.
pub(super) fn dirty_entities(view: &View<'_>, until: u32) -> Vec<Statement> {
    let mut written: Vec<Statement> = vec![];
    for (owner, column) in set_until(view, until, None, None) {
        match written.iter_mut().find(|known| known.entity.as_ref() == Some(owner)) {
            Some(known) => known.sets.push(column),
            None => written.push(Statement {
                entity: Some(owner.clone()),
                table: table_of(view, owner, view.event(until)),
                sets: vec![column],
                sure: true,
                ..Statement::new(Op::Update)
            }),
        }
    }
    written
}

/// The table of a loaded entity: by its class, else by the read that gave it.
pub(super) fn table_of(view: &View<'_>, entity: &Value, event: &FlatEvent) -> Option<String> {
    let tree = view.world.tree;
    let file = event.origin.0.file;
    let class = match unwrapped(tree, tree.ty(&view.flat.plain(entity), file), file) {
        Ty::Instance(class) => tree.class(class).map(|class| table_key(&class.name)).filter(|table| view.world.schema.has(table)),
        _ => None,
    };
    let given = |value: &Value| {
        let mut at = value;
        loop {
            at = match at {
                Value::Index(of, _) | Value::Element(of) => of,
                Value::Flat(index) => match view.event(*index).meant(Meaning::Pass) {
                    Some(pass) => pass.part("of").unwrap_or(&pass.receiver),
                    None => break view.event(*index).statement().filter(|read| read.op == Op::Select)?.table.clone(),
                },
                _ => break None,
            }
        }
    };
    class.or_else(|| entity.options().into_iter().find_map(given))
}

/// The columns set on loaded entities until an event, each with what it was set on.
fn set_until<'v>(view: &View<'v>, until: u32, entity: Option<&Value>, table: Option<&str>) -> Vec<(&'v Value, Column)> {
    let of_entity: Option<HashSet<u32>> = entity.map(|entity| view.flat.part_of(entity));
    let guards: HashSet<_> = view.event(until).guards.iter().collect();
    let mut columns = vec![];
    for (_, event) in view.events().take_while(|(index, _)| *index <= until) {
        let Act::Write { place: Value::Member(owner, name), value, op, .. } = &event.act else { continue };
        let from = view.flat.part_of(owner);
        let loaded = !is_new_object(view, owner, event) && from.iter().any(|at| selects(view, *at));
        let elsewhere =
            event.guards.iter().any(|guard| guards.iter().any(|own| own.cond == guard.cond && own.holds != guard.holds));
        if elsewhere || for_a_new_row(view, event) {
            continue;
        }
        let same = of_entity.as_ref().is_none_or(|wanted| !wanted.is_disjoint(&from) || entity == Some(&**owner));
        let on_way = of_entity.is_some() || event.guards.iter().all(|guard| guards.contains(guard)) || event.in_loop.is_some();
        if !same || !on_way || !(loaded || of_entity.is_some()) {
            continue;
        }
        let another =
            || of_entity.as_ref().zip(table).is_some_and(|(saved, table)| is_of_another(view, event, owner, saved, table));
        if entity.is_some_and(|entity| *entity != **owner) && (is_saved_itself(view, owner) || another()) {
            continue;
        }
        let old = Value::Member(owner.clone(), name.clone());
        let (kind, value) = match op {
            Some(op) => (ColumnKind::Equal, Value::Op(*op, std::sync::Arc::new([old, value.clone()]))),
            None => {
                let constant = matches!(value, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_));
                (if constant { ColumnKind::Constant } else { ColumnKind::Equal }, value.clone())
            }
        };
        columns.push((&**owner, Column { name: column_key(name), kind, value }));
    }
    columns
}

/// Whether what a record leads to is saved by itself: it is a row of its own.
fn is_saved_itself(view: &View<'_>, value: &Value) -> bool {
    let saves = |event: &FlatEvent| {
        event.statement().is_some_and(|write| matches!(write.op, Op::Save | Op::Update) && write.entity.as_ref() == Some(value))
    };
    matches!(value, Value::Member(..)) && view.events().any(|(_, event)| saves(event))
}

/// Whether a value is an object that was made on the way, of a class by its constructor or by another of its functions: whatever it was
/// made from is not changed with it.
fn is_new_object(view: &View<'_>, value: &Value, event: &FlatEvent) -> bool {
    let tree = view.world.tree;
    let file = event.origin.0.file;
    let of_class = |callee: &Value| match tree.ty(&view.flat.plain(callee), file) {
        Ty::Class(class) => tree.class(class),
        _ => None,
    };
    let table = |name: &str| view.world.schema.has(&table_key(name));
    let made = |value: &Value| {
        let Value::Flat(at) = value else { return false };
        let made = view.event(*at);
        match made.call() {
            Some((callee @ Value::Member(of, _), _)) => {
                of_class(callee).is_some()
                    || view.world.schema.is_known()
                        && matches!(made.what, What::Nothing)
                        && made.returns.is_empty()
                        && of_class(of).is_some_and(|class| !table(&class.name))
            }
            Some((callee, _)) => of_class(callee).is_some(),
            None => false,
        }
    };
    value.options().into_iter().all(made)
}

/// Whether what is changed is a record of another table, that only a relation of the saved one leads to: the save of one does not
/// write the other.
fn is_of_another(view: &View<'_>, event: &FlatEvent, owner: &Value, saved: &HashSet<u32>, table: &str) -> bool {
    let (tree, schema) = (view.world.tree, view.world.schema);
    let of_another_class = |value: &Value| {
        let file = event.origin.0.file;
        if !value.any(&|part| matches!(part, Value::Member(..))) {
            return false;
        }
        match unwrapped(tree, tree.ty(&view.flat.plain(value), file), file) {
            Ty::Instance(class) => tree.class(class).is_some_and(|class| {
                let own = table_key(&class.name);
                schema.has(&own) && !schema.same(&own, table)
            }),
            _ => false,
        }
    };
    of_another_class(owner)
        || options_of(view, owner, saved).iter().any(|option| of_another_class(option) || related(view, option, saved, table))
}

/// Whether a value is reached from the saved row through a relation only.
fn related(view: &View<'_>, value: &Value, saved: &HashSet<u32>, table: &str) -> bool {
    match value {
        Value::Member(of, name) => {
            view.world.schema.is_relation(Some(table), &column_key(name)) || related(view, of, saved, table)
        }
        Value::Index(of, _) | Value::Element(of) => related(view, of, saved, table),
        Value::Any(_) | Value::Choose(_) => {
            let options = options_of(view, value, saved);
            !options.is_empty() && options.iter().all(|option| related(view, option, saved, table))
        }
        _ => false,
    }
}

/// What a value may be, of that only what comes from the saved row.
fn options_of<'v>(view: &View<'_>, value: &'v Value, saved: &HashSet<u32>) -> Vec<&'v Value> {
    value.options().into_iter().filter(|option| !view.flat.part_of(option).is_disjoint(saved)).collect()
}
