//! Timers and loops that are started for one thing which a function is given, not for the whole program: they are jobs of every
//! copy only where the start of the program leads there.

use super::credential::refreshes_credential;
use super::effects::reads;
use super::shared_lock::passed;
use super::view::View;
use crate::facts::{Act, FnRef, Value};
use crate::program::{ColumnKind, FlatEvent};

/// Whether the work of a timer is on a row or key that the function which sets it was given, and that function, or one written
/// inside it, ends the timer too.
pub(super) fn of_what_was_given(view: &View<'_>, timer: &FlatEvent, body: &View<'_>, work: &FlatEvent) -> bool {
    let root = view.root();
    let statement = work.statement().map(|statement| &statement.wheres[..]).unwrap_or_default();
    let named = statement.iter().filter(|column| column.kind == ColumnKind::Equal).map(|column| &column.value);
    let mut keys = named.chain(work.kv().map(|kv| &kv.key));
    timer.origin.0 == root && keys.any(|key| given(body, key, root)) && ends(view, timer, root)
}

/// Whether a loop refreshes a credential that the function which starts it was given, and nothing that copies have in common: each
/// holds its own.
pub(super) fn of_own_credential(view: &View<'_>, work: &FlatEvent) -> bool {
    let Some((_, args)) = work.call().filter(|_| refreshes_credential(view, work)) else { return false };
    let mut values: Vec<Value> = args.iter().map(|(_, value)| value.clone()).collect();
    let mut at = work;
    // What is known of a builder whose steps are no longer seen.
    values.extend(work.call().and_then(|(callee, _)| match callee {
        Value::Member(of, _) if !matches!(**of, Value::Flat(_)) => Some((**of).clone()),
        _ => None,
    }));
    // The steps of a builder before the call.
    while let Some((Value::Member(of, _), _)) = at.call()
        && let Value::Flat(index) = **of
    {
        at = view.event(index);
        values.extend(at.call().into_iter().flat_map(|(_, args)| args.iter().map(|(_, value)| value.clone())));
    }
    let shared = values.iter().any(|value| view.flat.depends(value).iter().any(|at| reads(view.event(*at))));
    let mut own = false;
    for value in &values {
        value.walk(&mut |part| {
            if let Value::Object(_, entries) = part {
                own |= entries.iter().any(|(name, entry)| {
                    matches!(&*name.to_lowercase(), "refresh_token" | "refreshtoken")
                        && given(view, &passed(view, entry), view.root())
                });
            }
        });
    }
    own && !shared
}

/// Whether a value is what a function was given, or a part of it.
fn given(view: &View<'_>, value: &Value, root: FnRef) -> bool {
    let locals = |name: &str| view.world.tree.facts(root).and_then(|facts| facts.locals.get(name));
    value.any(&|part| match part {
        Value::Param(function, _) | Value::This(function) => *function == root,
        Value::Captured(function, name) if *function == root => {
            locals(name).is_none_or(|local| local.any(&|part| matches!(part, Value::Param(of, _) if *of == root)))
        }
        _ => false,
    })
}

/// Whether a function, or one written inside it, hands the timer it sets to what ends it.
fn ends(view: &View<'_>, timer: &FlatEvent, root: FnRef) -> bool {
    let tree = view.world.tree;
    let Some(name) = timer.bound.as_deref() else { return false };
    let within = |function: FnRef| {
        let mut at = Some(function);
        while let Some(inner) = at.filter(|inner| *inner != root) {
            at = tree.function(inner).and_then(|inner| inner.parent).map(|parent| FnRef { file: root.file, func: parent.0 });
        }
        at.is_some()
    };
    let handle = |value: &Value| match value {
        Value::Captured(function, known) => *function == root && **known == *name,
        Value::Result(function, index) => (*function, *index) == timer.origin,
        _ => false,
    };
    let Some(facts) = tree.files.get(root.file as usize) else { return false };
    let functions = (0..).zip(&facts.functions).map(|(func, facts)| (FnRef { file: root.file, func }, facts));
    functions.filter(|(function, _)| within(*function)).flat_map(|(_, facts)| &facts.events).any(|event| match &event.act {
        Act::Call { callee, args, .. } => {
            args.iter().any(|(_, value)| handle(value)) || matches!(callee, Value::Member(of, _) if handle(of))
        }
        _ => false,
    })
}
