//! Builders' chains, once a function is written out.

use std::collections::HashSet;
use std::sync::Arc;

use super::Writer;
use crate::facts::{Act, Value};
use crate::program::bind::chain;
use crate::program::flat::{Look, What};
use crate::rules::Meaning;

impl Writer<'_, '_> {
    /// Builders' last steps become the statements they stand for.
    pub(super) fn finish_chains(&mut self) {
        let mut consumed: HashSet<u32> = HashSet::new();
        // What is waited for has run: a call on what it gave is no further step.
        let run = |index: &u32| matches!(self.events[*index as usize].act, Act::Call { awaited: true, .. });
        for event in &self.events {
            if let Some((callee, args)) = event.call() {
                if let Value::Member(receiver, _) = callee {
                    consumed.extend(receiver.options().into_iter().filter_map(flat_index).filter(|index| !run(index)));
                }
                let takes = matches!(event.what, What::Statement(_))
                    || event.meant(Meaning::Build).is_some()
                    || event.meant(Meaning::Sql).is_some();
                if takes {
                    consumed.extend(args.iter().filter_map(|(_, value)| flat_index(value)));
                }
            }
        }
        for index in 0..self.events.len() as u32 {
            let event = &self.events[index as usize];
            let Some(meant) = event.meant(Meaning::Build) else { continue };
            if consumed.contains(&index) || meant.part("arg").is_some() {
                continue;
            }
            let mut statement = chain(&Look { tree: self.tree, events: &self.events }, &Value::Flat(index), event.origin.0.file);
            if statement.table.is_some() || !statement.wheres.is_empty() || !statement.sets.is_empty() {
                statement.built = true;
                self.events[index as usize].what = What::Statement(Arc::new(statement));
            }
        }
    }
}

pub(super) fn flat_index(value: &Value) -> Option<u32> {
    match value {
        Value::Flat(index) => Some(*index),
        _ => None,
    }
}
