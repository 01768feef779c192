//! How what was read is changed in memory before it is written back: inside the object that a column holds, or by laying more
//! over it.

use super::rows::{arithmetic_on, columns_of, each_made_of, named_part, works_out};
use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{Column, FlatEvent, column_key};
use crate::rules::Meaning;
use crate::syntax::BinaryOp;

/// Where an object that a value is made of was changed in memory before: what was read, taken apart, counted up or added to, and
/// put together again.
pub fn changed_inside(view: &View<'_>, value: &Value, read: u32, before: u32) -> Option<u32> {
    let parts = parts_of(view, value, read);
    let inside = |place: &Value| {
        let mut at = place;
        loop {
            at = match at {
                Value::Member(of, _) | Value::Index(of, _) | Value::Element(of) if !parts.contains(at) => of,
                _ => return parts.contains(at),
            };
        }
    };
    // Which of the entries is known when it runs, or it is one inside a column: the others go back as they were.
    let one_of_many = |place: &Value| match place {
        Value::Index(_, key) => !matches!(**key, Value::Number(_)),
        Value::Member(of, _) => !columns_of(view, of, read).is_empty(),
        _ => false,
    };
    let changes = |event: &FlatEvent| match &event.act {
        Act::Write { place: place @ (Value::Member(of, _) | Value::Index(of, _)), value: new, op, .. } => {
            let computed = || op.is_some_and(is_arithmetic) || arithmetic_on(view, new, read);
            // What is set anew as a whole keeps nothing of what it was, unless it is made of that and more.
            let remade = || op.is_none() && remade(view, place, new, read).is_some_and(|with_more| with_more);
            parts.contains(place) && (computed() || remade()) || inside(of) && (computed() || one_of_many(place) && new != value)
        }
        Act::Delete { place: place @ (Value::Member(of, _) | Value::Index(of, _)) } => inside(of) && one_of_many(place),
        Act::Call { .. } => event.meant(Meaning::Put).is_some_and(|put| put.part("value").is_some() && inside(&put.receiver)),
        _ => false,
    };
    let within = view.events().take_while(|(index, _)| *index < before).filter(|(index, _)| *index > read);
    within.filter(|(_, event)| changes(event)).map(|(index, _)| index).next()
}

/// Whether a place is set to what is made of what it held before; and whether of more than that. What it held before where nobody
/// says otherwise is not made of it.
fn remade(view: &View<'_>, place: &Value, new: &Value, read: u32) -> Option<bool> {
    let Value::Member(of, _) = place else { return None };
    if options_of(view, new).contains(&place) && options_of(view, new).len() > 1 {
        let mut others = options_of(view, new).into_iter().filter(|option| *option != place);
        let with_more = others.any(|option| remade(view, place, option, read) == Some(true));
        return view.flat.part_of(of).contains(&read).then_some(with_more);
    }
    let mut found = (false, false);
    gather(view, place, new, &mut vec![], &mut found);
    (found.0 && new != place && view.flat.part_of(of).contains(&read)).then_some(found.1)
}

/// What a value may be: one of several, or what is kept under a key or else what stands in for it (`data.get("name", row.name)`).
fn options_of<'v>(view: &'v View<'_>, value: &'v Value) -> Vec<&'v Value> {
    let or_else = |value: &'v Value| -> Vec<&'v Value> {
        let Value::Flat(at) = value else { return vec![value] };
        let event = view.event(*at);
        let Some((Value::Member(of, name), args)) = event.call() else { return vec![value] };
        match args {
            [(_, Value::Text(_)), (_, default)] if view.world.tree.book.verbs.gives_column(name) => vec![&**of, default],
            _ => vec![value],
        }
    };
    value.options().into_iter().flat_map(or_else).collect()
}

/// Looks in what a value is made of for a place, and for anything else that is known only when it runs.
fn gather(view: &View<'_>, place: &Value, value: &Value, seen: &mut Vec<u32>, found: &mut (bool, bool)) {
    match value {
        value if value == place => found.0 = true,
        Value::Param(..) | Value::Captured(..) => found.1 = true,
        Value::Choose(parts) => parts[1..].iter().for_each(|part| gather(view, place, part, seen, found)),
        Value::Flat(at) if seen.contains(at) => {}
        Value::Flat(at) => {
            seen.push(*at);
            let event = view.event(*at);
            match event.call().filter(|_| works_out(view, event)) {
                Some((callee, args)) => {
                    if let Value::Member(on, _) = callee {
                        gather(view, place, on, seen, found);
                    }
                    args.iter().for_each(|(_, arg)| gather(view, place, arg, seen, found));
                    event.returns.iter().for_each(|(value, _)| gather(view, place, value, seen, found));
                }
                None => found.1 = true,
            }
        }
        // What only a part was taken out of does not go on.
        Value::Member(of, _) | Value::Index(of, _) => {
            let mut inside = (false, false);
            gather(view, place, of, seen, &mut inside);
            found.1 |= inside.1;
        }
        other => other.each_child(&mut |child| gather(view, place, child, seen, found)),
    }
}

/// Whether a column of a row that is saved whole is set to something made of itself: the other columns go back as they were read.
pub fn goes_back_whole(view: &View<'_>, column: &Column, read: u32, before: u32) -> bool {
    view.events().take_while(|(index, _)| *index < before).filter(|(index, _)| *index > read).any(|(_, event)| match &event.act {
        Act::Write { place: place @ Value::Member(_, name), value: new, op: None, .. } => {
            column_key(name) == column.name && *new == column.value && remade(view, place, new, read).is_some()
        }
        _ => false,
    })
}

/// The objects that go into a value as a whole. What only a part was taken out of is none of them: its other parts may change, and
/// the value stays the same.
fn parts_of(view: &View<'_>, value: &Value, read: u32) -> Vec<Value> {
    let mut found = Parts { view, read, whole: vec![], seen: vec![] };
    found.take(value, true);
    found.whole.retain(|part| view.flat.made_of(part).contains(&read));
    found.whole
}

struct Parts<'a, 't> {
    view: &'a View<'t>,
    read: u32,
    whole: Vec<Value>,
    seen: Vec<(u32, bool)>,
}

impl Parts<'_, '_> {
    fn take(&mut self, value: &Value, whole: bool) {
        let object = match value {
            Value::Flat(_) | Value::Member(..) | Value::Index(..) | Value::Element(_) | Value::Mix(_) => true,
            // A copy of what a column holds.
            Value::Object(_, entries) => {
                entries.iter().any(|(key, value)| &**key == "..." && !columns_of(self.view, value, self.read).is_empty())
            }
            _ => false,
        };
        if whole && object && !self.whole.contains(value) {
            self.whole.push(value.clone());
        }
        if let Some((of, _)) = named_part(value).or_else(|| asked_by_name(value)) {
            return self.take(of, false);
        }
        let Value::Flat(at) = value else { return value.each_child(&mut |child| self.take(child, whole)) };
        if self.seen.contains(&(*at, whole)) || self.seen.contains(&(*at, true)) {
            return;
        }
        self.seen.push((*at, whole));
        let event = self.view.event(*at);
        if let Some((_, args)) = event.call().filter(|_| works_out(self.view, event)) {
            // Of one that shows what it gives, that says which part it is.
            let whole_of_args = whole || event.returns.is_empty();
            args.iter().for_each(|(_, arg)| self.take(arg, whole_of_args));
            event.returns.iter().for_each(|(value, _)| self.take(value, whole));
        }
    }
}

/// What a part is asked of by its name, where a call of the language does so (`getattr(row, "state", None)`).
fn asked_by_name(value: &Value) -> Option<(&Value, &str)> {
    let Value::Mix(parts) = value else { return None };
    match &parts[..] {
        [of @ (Value::Flat(_) | Value::Element(_)), Value::Text(name), ..] => Some((of, name)),
        _ => None,
    }
}

fn is_arithmetic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::OtherArithmetic)
}

/// Whether a column is set to what was read of it with more laid over it or added (`{ ...row.settings, theme }`): what others laid
/// over it meanwhile is gone.
pub fn laid_over(view: &View<'_>, column: &Column, read: u32) -> bool {
    let mut found = false;
    let old = |value: &Value| columns_of(view, value, read).contains(&column.name) && view.flat.made_of(value).contains(&read);
    each_made_of(view, &column.value, &mut |part| {
        found |= match part {
            Value::Object(_, entries) => entries.len() > 1 && entries.iter().any(|(key, value)| &**key == "..." && old(value)),
            // `[...row.notes, note]`: a list among others is taken apart.
            Value::List(items) => items.len() > 1 && items.iter().any(|item| matches!(item, Value::Mix(_)) && old(item)),
            // `[note for note in row.notes if note != done]`: what is asked for from outside is taken out.
            Value::Mix(parts) => match &parts[..] {
                [one @ Value::Element(from), asked @ .., made] => {
                    one == made && old(from) && asked.iter().any(|cond| is_asked_from_outside(cond, one))
                }
                _ => false,
            },
            _ => false,
        };
    });
    found
}

/// Whether a condition speaks of more than the element it is asked of.
fn is_asked_from_outside(cond: &Value, element: &Value) -> bool {
    let plain = |leaf: &Value| {
        matches!(leaf, Value::Global(_) | Value::Text(_) | Value::Number(_) | Value::Bool(_) | Value::Null | Value::Unknown)
    };
    let children = cond.children();
    cond != element
        && if children.is_empty() { !plain(cond) } else { children.iter().any(|part| is_asked_from_outside(part, element)) }
}
