//! Keys that were made on the way: what one run makes up, or gets from what it has just made, no other run looks for.

use super::rows::{named_part, selects};
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{ColumnKind, FlatEvent, Op, Statement, What, column_key};
use crate::rules::Meaning;
use crate::syntax::BinaryOp;

/// Whether one of the columns that a statement asks for, all of which must hold, is compared with a value of this run alone.
pub(super) fn asks_for_what_is_new(view: &View<'_>, statement: &Statement, asked: &[crate::program::Column]) -> bool {
    let equal = |column: &&crate::program::Column| column.kind == ColumnKind::Equal;
    let new = |value: &Value| of_this_run(view, value, 0) || of_this_moment(view, value, 0);
    !statement.either && asked.iter().filter(equal).any(|column| new(&column.value))
}

/// Whether a value is the time as it is now, or a length of time from it. What is cut down from it, as a day, others share.
fn of_this_moment(view: &View<'_>, value: &Value, depth: u32) -> bool {
    let deeper = |value: &Value| depth < 8 && of_this_moment(view, value, depth + 1);
    match value {
        Value::Op(BinaryOp::Add | BinaryOp::Sub, pair) => pair.iter().any(deeper),
        Value::Flat(at) => view.event(*at).meant(Meaning::Clock).is_some(),
        _ => false,
    }
}

/// Whether a value is another one in each run, whichever way it comes about: random, or told by what the run itself made.
fn of_this_run(view: &View<'_>, value: &Value, depth: u32) -> bool {
    if depth > 12 {
        return false;
    }
    let deeper = |value: &Value| of_this_run(view, value, depth + 1);
    match value {
        Value::Any(_) | Value::Choose(_) => {
            let mut there = value.options().into_iter().filter(|option| **option != Value::Null).peekable();
            there.peek().is_some() && there.all(deeper)
        }
        // A text holds what it is put together from.
        Value::Op(BinaryOp::Add, pair) => pair.iter().any(deeper),
        Value::Template(_) | Value::Mix(_) | Value::List(_) => value.children().into_iter().any(deeper),
        Value::Member(..) | Value::Index(..) => named_part(value)
            .is_some_and(|(of, name)| told_by_what_was_made(view, of, name, depth) || !is_row(view, of) && deeper(of)),
        Value::Flat(at) => {
            let event = view.event(*at);
            let given = || event.returns.iter().map(|(value, _)| value).filter(|value| **value != Value::Null);
            match &event.what {
                What::Meant(meant) if meant.is == Meaning::Fresh => true,
                What::Meant(meant) if matches!(meant.is, Meaning::Pass | Meaning::Pure | Meaning::Build) => {
                    !event.answers_from_outside() && from_operands(event, &deeper)
                }
                What::Statement(added) => adds(added),
                _ if event.inlined && given().next().is_some() => given().all(deeper),
                What::Nothing => from_operands(event, &deeper),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether a call that only computes is made on, or given, a value of this run.
fn from_operands(event: &FlatEvent, new: &dyn Fn(&Value) -> bool) -> bool {
    event.call().is_some_and(|(callee, args)| {
        let on = matches!(callee, Value::Member(of, _) if new(of));
        on || args.iter().any(|(_, value)| new(value))
    })
}

/// Whether a member is of something that was made on the way, and was not given to it: its number, its address.
fn told_by_what_was_made(view: &View<'_>, of: &Value, name: &str, depth: u32) -> bool {
    if depth > 12 {
        return false;
    }
    match of {
        Value::Any(_) | Value::Choose(_) => {
            let mut there = of.options().into_iter().filter(|option| **option != Value::Null).peekable();
            there.peek().is_some() && there.all(|option| told_by_what_was_made(view, option, name, depth + 1))
        }
        Value::Member(of, _) => told_by_what_was_made(view, of, name, depth + 1),
        Value::Index(of, key) if matches!(**key, Value::Text(_) | Value::Number(_)) => {
            told_by_what_was_made(view, of, name, depth + 1)
        }
        Value::Flat(at) => {
            let event = view.event(*at);
            let given = |value: &Value| {
                value.any(&|part| matches!(part, Value::Object(_, entries) if entries.iter().any(|(key, _)| **key == *name)))
            };
            let tells = || view.world.tree.book.verbs.is_identity(name);
            let own = || match &event.act {
                Act::Call { args, .. } => !args.iter().any(|(key, value)| key.as_deref() == Some(name) || given(value)),
                _ => false,
            };
            let returned = || event.returns.iter().map(|(value, _)| value).filter(|value| **value != Value::Null);
            match &event.what {
                What::Statement(added) => adds(added) && !added.sets.iter().any(|column| column.name == column_key(name)),
                _ if event.inlined && returned().next().is_some() => {
                    let found = || returned().any(|value| view.flat.depends(value).into_iter().any(|at| selects(view, at)));
                    returned().all(|value| told_by_what_was_made(view, value, name, depth + 1))
                        || tells() && makes(view, event) && own() && !found()
                }
                What::Meant(meant) if meant.is == Meaning::Pass => {
                    told_by_what_was_made(view, meant.part("of").unwrap_or(&meant.receiver), name, depth + 1)
                }
                What::Meant(meant) if meant.is == Meaning::Effect => tells() && makes(view, event) && own(),
                What::Presumed(presumed) => !presumed.reads && tells() && makes(view, event) && own(),
                What::Nothing => tells() && makes(view, event) && own(),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether a value is a row that a statement gave.
fn is_row(view: &View<'_>, value: &Value) -> bool {
    let Value::Flat(at) = value else { return false };
    match &view.event(*at).what {
        What::Statement(_) => true,
        What::Meant(meant) if meant.is == Meaning::Pass => {
            let of = meant.part("of").unwrap_or(&meant.receiver);
            of != value && is_row(view, of)
        }
        _ => false,
    }
}

/// Whether a statement adds a row that was not there, and never finds one.
fn adds(statement: &Statement) -> bool {
    statement.op == Op::Insert && !statement.conflict && !statement.keyed
}

fn makes(view: &View<'_>, event: &FlatEvent) -> bool {
    let name = event.call().and_then(|(callee, _)| match callee {
        Value::Member(_, name) => Some(name.to_string()),
        other => view.world.tree.name_of(other),
    });
    name.is_some_and(|name| view.world.tree.book.verbs.makes(&name))
}
