//! The call that makes a value, through names, fields and calls that only pass it on.

use super::flat::Look;
use super::tree::owner_file;
use super::{ClassRef, Ty};
use crate::facts::{Act, FnRef, Value};
use crate::rules::Meaning;

/// How many steps are followed from a value to what makes it.
const FURTHEST: u32 = 64;

/// The call (a result of an event) that makes the value; `None` where it is not seen to be made.
pub fn maker(look: &Look<'_>, value: &Value) -> Option<Value> {
    maker_within(look, value, &mut { FURTHEST })
}

/// The same in so many steps at most: what a name can be may be written in terms of itself.
fn maker_within(look: &Look<'_>, value: &Value, steps: &mut u32) -> Option<Value> {
    let mut at = value.clone();
    while let Some(left) = steps.checked_sub(1) {
        *steps = left;
        let next = match &at {
            Value::Flat(_) | Value::Result(..) => match look.meaning(&at, owner_file(&at)) {
                Some(meant) if meant.is == Meaning::Pass => meant.part("of").unwrap_or(&meant.receiver).clone(),
                // What an inlined call gives was made inside it.
                None => match given(look, &at) {
                    Some(inner) => inner,
                    None => return Some(at),
                },
                _ => return Some(at),
            },
            Value::Any(options) => options.iter().find_map(|option| maker_within(look, option, steps))?,
            Value::Member(of, name) => match look.tree.ty(&super::flat::plain(look.events, of), owner_file(of)) {
                Ty::Instance(class) | Ty::Class(class) => field(look, class, name)?,
                _ => moved(look, &at)?,
            },
            _ => moved(look, &at)?,
        };
        at = next;
    }
    None
}

/// What a call of the tree gives, where it is one thing.
fn given(look: &Look<'_>, value: &Value) -> Option<Value> {
    match value {
        Value::Flat(index) => match &look.events.get(*index as usize)?.returns[..] {
            [(value, _)] if *value != Value::Null => Some(value.clone()),
            _ => None,
        },
        Value::Result(function, index) => {
            let Act::Call { callee, .. } = &look.tree.facts(*function)?.events.get(*index as usize)?.act else { return None };
            let Ty::Function(target) = look.tree.ty(callee, function.file) else { return None };
            let mut exits = look.tree.facts(target)?.events.iter().filter_map(|event| match &event.act {
                Act::Exit { kind: crate::syntax::ExitKind::Return, value } if *value != Value::Null => Some(value),
                _ => None,
            });
            let only = exits.next()?;
            (exits.next().is_none() && matches!(only, Value::Result(..) | Value::Module(..))).then(|| only.clone())
        }
        _ => None,
    }
}

fn moved(look: &Look<'_>, value: &Value) -> Option<Value> {
    let settled = look.tree.settled(value);
    if settled != *value {
        return Some(settled);
    }
    let defined = look.tree.definition(value);
    (defined != *value).then_some(defined)
}

/// What a field is made of: its initial value, or its entry where a function of the class gives an object of it.
fn field(look: &Look<'_>, class: ClassRef, name: &str) -> Option<Value> {
    if let Some(value) = look.tree.field_value(class, name) {
        return Some(value);
    }
    let known = look.tree.class(class)?;
    known.methods.iter().find_map(|method| {
        let function = FnRef { file: class.file, func: method.0 };
        look.tree.facts(function)?.events.iter().find_map(|event| {
            let mut found = None;
            let mut look_in = |value: &Value| {
                value.walk(&mut |part| match part {
                    Value::Object(Some(ty), _) if **ty == *known.name || **ty == *"Self" => {
                        found = found.take().or_else(|| part.entry(name).cloned());
                    }
                    _ => {}
                });
            };
            match &event.act {
                Act::Exit { value, .. } => look_in(value),
                Act::Call { args, .. } => args.iter().for_each(|(_, value)| look_in(value)),
                _ => {}
            }
            found
        })
    })
}
