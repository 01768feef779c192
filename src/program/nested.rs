//! What a builder's step says of a query that stands in it: `where("id", "in", (qb) => qb.selectFrom(..).skipLocked())`.

use super::Ty;
use super::bind::chain;
use super::flat::Look;
use super::statement::Statement;
use crate::facts::{Act, Value};
use crate::rules::{Meaning, Part};

/// Takes over what the query in a step says of the rows that it locks: a write of just these decides by it. In a callback, it is
/// built of the same kind of steps as the statement it stands in.
pub fn nested(look: &Look<'_>, steps: &Ty, value: &Value, file: u32, statement: &mut Statement) {
    let tree = look.tree;
    if look.meaning(value, file).is_some_and(|meant| meant.is == Meaning::Build) {
        let inner = chain(look, value, file);
        statement.tries |= inner.tries;
        statement.subquery |= inner.row_lock;
    }
    let (Value::Function(callback), Some(steps)) = (value, steps.path()) else { return };
    for event in tree.facts(*callback).into_iter().flat_map(|facts| &facts.events) {
        let Act::Call { callee: Value::Member(_, name), .. } = &event.act else { continue };
        let says = |flag: &str| {
            let path = format!("{steps}.{name}");
            tree.packs(callback.file).rows(&path).any(|row| matches!(row.call.with.get(flag), Some(Part::Flag(true))))
        };
        statement.tries |= says("tries");
        statement.subquery |= says("lock");
    }
}
