//! Which row a write names: the one that was read, or one that another statement gave.

use super::rows::{RowRead, RowWrite, named_part, selects};
use super::view::View;
use crate::facts::Value;
use crate::program::{Column, ColumnKind, FlatEvent, Op, Statement, What, column_key, is_version};
use crate::rules::Meaning;

/// Whether the row that a write marks is none that a read found: another statement gave it, and that one's question about the
/// column, if it has one, is the check. What only counts or adds up rows gives none of them.
pub(super) fn of_another(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>, column: &str) -> bool {
    let names = names(view, write);
    let same_question = |value: &Value| {
        let asked = |column: &Column| matches!(column.kind, ColumnKind::Equal | ColumnKind::Constant) && column.value == *value;
        read.statement.wheres.iter().any(asked)
    };
    if read.statement.counts || read.statement.max {
        let unknown = names.is_empty() || write.statement.entity.is_some();
        return !unknown && !names.iter().any(|value| same_question(value) || reaches(view, value, read.index));
    }
    !names.is_empty()
        && names.into_iter().all(|value| {
            let given = givers(view, value);
            let elsewhere = |at: &u32| {
                let Some(statement) = rows_of(view, *at) else { return false };
                let shares = || statement.wheres.iter().any(|own| own.kind == ColumnKind::Equal && same_question(&own.value));
                let follows = || statement.wheres.iter().any(|own| reaches(view, &own.value, read.index));
                let asks_itself = || statement.wheres.iter().any(|own| own.name == column && own.kind != ColumnKind::Equal);
                asks_itself() || !shares() && !follows()
            };
            !given.is_empty() && !given.contains(&read.index) && !same_question(value) && given.iter().all(elsewhere)
        })
}

/// Whether a write is plainly of another row than the one a read gave: by an identity from elsewhere that the read did not ask for.
pub(super) fn names_another_row(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let identity = |column: &&Column| {
        column.kind == ColumnKind::Equal && column.value != Value::Unknown && view.world.schema.is_implied(&column.name)
    };
    let asked = |value: &Value| read.statement.wheres.iter().any(|asked| asked.value == *value);
    let mut named = write.statement.wheres.iter().filter(identity).peekable();
    write.statement.entity.is_none()
        && named.peek().is_some()
        && named.all(|column| !asked(&column.value) && !reaches(view, &column.value, read.index))
}

/// Whether a write asks for its row by a column that each change sets anew, as it was when the row was read: it writes nothing where
/// the row was changed since.
pub(super) fn compares_what_was_read(view: &View<'_>, write: &RowWrite<'_>) -> bool {
    let as_read = |value: &Value, name: &str| {
        value.options().into_iter().any(|option| match named_part(option) {
            Some((of, member)) => column_key(member) == name && view.flat.part_of(of).into_iter().any(|at| selects(view, at)),
            None => false,
        })
    };
    let tells = |column: &&Column| view.world.tree.book.verbs.tells_changes(&column.name) || is_version(&column.name);
    let asked = write.statement.wheres.iter().filter(|column| column.kind == ColumnKind::Equal).filter(tells);
    write.statement.op == Op::Update && asked.into_iter().any(|column| as_read(&column.value, &column.name))
}

/// Whether a write counts up the number of its row, and the number as it was read then or before goes to where a unique key holds it: who
/// comes second is refused there.
pub(super) fn numbered(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let schema = view.world.schema;
    let counted: Vec<&Column> = write.statement.sets.iter().filter(|column| is_version(&column.name)).collect();
    if counted.is_empty() || !schema.numbers(None) {
        return false;
    }
    let adds = |statement: &Statement| match statement.op {
        Op::Insert => statement.table.as_deref().is_none_or(|table| schema.numbers(Some(table))),
        Op::Other => true,
        _ => false,
    };
    let keeps = |event: &FlatEvent| match &event.what {
        What::Statement(statement) => adds(statement),
        // Text of a statement that cannot be read.
        What::Meant(meant) => meant.is == Meaning::Sql,
        What::Presumed(presumed) => !presumed.reads && presumed.rows.is_none(),
        _ => false,
    };
    let kept = |at: u32| {
        let given = |event: &FlatEvent| {
            let leads = event.at == write.event.at || write.event.hops.contains(&event.at);
            let Some((callee, args)) = event.call().filter(|_| !leads) else { return false };
            let values = || std::iter::once(callee).chain(args.iter().map(|(_, value)| value));
            // What is cut short says of no part which it is: it must go where the number is kept.
            let within = |inner: &FlatEvent| keeps(inner) && inner.hops.contains(&event.at);
            let inside = || keeps(event) || view.events().any(|(index, inner)| index > at && within(inner));
            values().any(|value| is_number(view, value, at)) || values().any(|value| is_cut(view, value, at)) && inside()
        };
        let behind = |does: &dyn Fn(&FlatEvent) -> bool| {
            view.events().any(|(index, event)| index > at && index != write.index && does(event))
        };
        behind(&given) && behind(&keeps)
    };
    let from = counted.into_iter().flat_map(|column| view.flat.depends(&column.value));
    from.filter(|at| *at <= read.index && selects(view, *at)).any(kept)
}

/// Whether the number of a version, as a read gave it, is in a value; what is counted from it is another.
fn is_number(view: &View<'_>, value: &Value, read: u32) -> bool {
    if let Some((of, name)) = named_part(value)
        && is_version(&column_key(name))
    {
        return view.flat.depends(of).contains(&read);
    }
    !matches!(value, Value::Op(..)) && value.children().into_iter().any(|part| is_number(view, part, read))
}

/// Whether a value is cut short, and of what a read gave.
fn is_cut(view: &View<'_>, value: &Value, read: u32) -> bool {
    let of_it = |part: &Value| match part {
        Value::Mix(_) => is_cut(view, part, read),
        _ => matches!(part, Value::Flat(_)) && reaches(view, part, read),
    };
    matches!(value, Value::Mix(parts) if parts.iter().any(of_it))
}

/// The values by which a write names its row: the entity, its identity, or else all that it asks for.
fn names<'w>(view: &View<'_>, write: &'w RowWrite<'_>) -> Vec<&'w Value> {
    if let Some(entity) = &write.statement.entity {
        return vec![entity];
    }
    let equal = |column: &&Column| column.kind == ColumnKind::Equal;
    let identity = |column: &&Column| view.world.schema.is_implied(&column.name);
    let wheres = &write.statement.wheres;
    let found: Vec<&Value> = wheres.iter().filter(equal).filter(identity).map(|column| &column.value).collect();
    match found.is_empty() {
        true => wheres.iter().filter(equal).map(|column| &column.value).collect(),
        false => found,
    }
}

/// The statements whose rows a value is made of.
fn givers(view: &View<'_>, value: &Value) -> Vec<u32> {
    view.flat.depends(value).into_iter().filter(|at| rows_of(view, *at).is_some()).collect()
}

fn rows_of<'v>(view: &View<'v>, at: u32) -> Option<&'v Statement> {
    let event = view.event(at);
    event.statement().or_else(|| event.presumed_rows())
}

fn reaches(view: &View<'_>, value: &Value, read: u32) -> bool {
    view.flat.depends(value).contains(&read)
}
