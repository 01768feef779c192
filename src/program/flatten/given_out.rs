//! How long what a callee made lives in its caller, where the callee gives it out.

use super::Writer;
use super::chains::flat_index;
use crate::facts::Value;
use crate::rules::Meaning;

impl Writer<'_, '_> {
    /// What a callee made and gave out lives as long as what its call gives: the guard of a lock, alone or in an object.
    pub(super) fn keep_what_is_given(&mut self) {
        for index in 0..self.events.len() {
            let call = &self.events[index];
            if call.origin.0 != self.root || !call.hops.is_empty() || !call.inlined {
                continue;
            }
            let (end, mut given) = (self.events[self.handed_on(index)].lives_to, vec![]);
            for (value, _) in &call.returns {
                itself(value, &mut given);
            }
            // What is its own lock, as a file is: whoever has it holds it.
            for (at, event) in self.events.iter().enumerate().skip(index) {
                let host = event.meant(Meaning::Acquire).filter(|meant| meant.text("scope").as_deref() == Some("host"));
                let lock = host.and_then(|meant| meant.part("lock"));
                let made = lock.filter(|lock| matches!(lock, Value::Flat(_) | Value::Mix(_)));
                if made.is_some_and(|lock| call.returns.iter().any(|(value, _)| value.any(&|part| part == lock))) {
                    given.push(at as u32);
                }
            }
            for made in given.into_iter().map(|made| made as usize).filter(|made| *made > index) {
                let made = &mut self.events[made];
                made.lives_to = made.lives_to.max(end);
            }
        }
    }

    /// The last call of this function that only hands on what a call gives (`open()?`, `open().map_err(..)?`).
    fn handed_on(&self, call: usize) -> usize {
        let mut holder = call;
        let mut held = vec![Value::Flat(call as u32)];
        if let [(only, _)] = &self.events[call].returns[..] {
            held.push(only.clone());
        }
        for (index, event) in self.events.iter().enumerate().skip(call + 1).filter(|(_, event)| event.hops.is_empty()) {
            let handed = event.meant(Meaning::Pass).map(|meant| meant.part("of").unwrap_or(&meant.receiver));
            if handed.is_some_and(|of| held.contains(of)) {
                (holder, held) = (index, vec![Value::Flat(index as u32)]);
            }
        }
        holder
    }
}

/// The events whose results a value is, alone or as the parts of an object; not those it was read out of.
fn itself(value: &Value, found: &mut Vec<u32>) {
    match value {
        Value::Object(_, entries) => entries.iter().for_each(|(_, entry)| itself(entry, found)),
        Value::List(items) => items.iter().for_each(|item| itself(item, found)),
        Value::Any(_) | Value::Choose(_) => {
            value.options().into_iter().filter(|option| *option != value).for_each(|option| itself(option, found))
        }
        other => found.extend(flat_index(other)),
    }
}
