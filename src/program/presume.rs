//! What a call that no pack knows looks like, by its name: outside work, a read, and, on a repository or service of the
//! project's own, which rows it reads or changes.

use std::sync::Arc;

use super::columns::assignments;
use super::flat::{Look, Presumed};
use super::meaning::Args;
use super::statement::{Op, Statement, table_key};
use crate::facts::Value;
use crate::rules::{Guess, Order, Verbs};

/// What the call `owner.name(args)` is presumed to be.
pub(super) fn presumed(look: &Look<'_>, name: &str, owner: Option<&str>, args: &Args, awaited: bool) -> Option<Presumed> {
    let verbs = &look.tree.book.verbs;
    let order = ordered(look, verbs, args);
    if order == Some(Order::Tells) || args.is_empty() && verbs.must_be_given(name) {
        return None;
    }
    let (reads, strong) = match verbs.guess(name, owner, awaited)? {
        Guess::Effect { strong } => (false, strong),
        Guess::Read => (true, false),
    };
    if order == Some(Order::Asks) {
        return Some(Presumed { name: name.into(), owner: owner.map(Into::into), reads: true, strong: false, rows: None });
    }
    let rows = statement(look, verbs, name, owner.unwrap_or_default(), args, reads).map(Arc::new);
    Some(Presumed { name: name.into(), owner: owner.map(Into::into), reads, strong, rows })
}

/// What the one object says that a call is handed, where its class is that of an order.
fn ordered(look: &Look<'_>, verbs: &Verbs, args: &Args) -> Option<Order> {
    let [(None, only)] = args else { return None };
    let Value::Flat(index) = only else { return None };
    let (callee, _) = look.events.get(*index as usize)?.call()?;
    verbs.order(&look.tree.name_of(callee)?)
}

/// The rows such a call reads or changes. A change must show what it sets.
fn statement(look: &Look<'_>, verbs: &Verbs, name: &str, owner: &str, args: &Args, reads: bool) -> Option<Statement> {
    let mut statement = Statement::new(if reads { Op::Select } else { Op::Update });
    statement.sure = false;
    statement.table = verbs.table(name, owner).map(|table| table_key(&table));
    if reads {
        return Some(statement);
    }
    if !verbs.changes_rows(name) {
        return None;
    }
    statement.sets = args.iter().flat_map(|(_, value)| assignments(look, value)).collect();
    // A list filled before: what is set stands where it was filled.
    let filled = args.iter().map(|(_, value)| value).find(|value| matches!(value, Value::List(items) if items.is_empty()));
    statement.entity = filled.cloned();
    (!statement.sets.is_empty() || statement.entity.is_some()).then_some(statement)
}
