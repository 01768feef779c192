//! Functions written out as what stands for them: what decorators of the tree made of one, what a call gave that made one of another.

use std::sync::Arc;

use super::course::Course;
use super::inline::Subst;
use super::wrapped::{Closure, Given, Unwrapped};
use super::{Around, Flattener, Writer, joined};
use crate::facts::{Act, FnRef, Value};
use crate::files::Atom;
use crate::program::flat::{Flat, FlatEvent, Spot, What};
use crate::program::{Op, functions_in};
use crate::rules::{CommandKind, Meaning};
use crate::syntax::{Gathers, Param};

impl<'t> Flattener<'t> {
    /// A function, written out in full, as its decorators made it. Made anew for each call: it is large.
    pub fn flat(&self, function: FnRef) -> Flat {
        let mut course = Course::default();
        self.as_decorated(function, &mut course).unwrap_or_else(|| {
            course.enter(function);
            self.written(function, &mut course)
        })
    }

    /// The functions that a value names, each written out in full; what functions of the tree made of others, with what they
    /// were given. `file` is where the value stands.
    pub fn flats(&self, value: &Value, file: u32) -> Vec<Flat> {
        functions_in(self.tree, value, file)
            .into_iter()
            .map(|function| {
                let mut course = Course::default();
                let mut writer = Writer::new(self, function, &mut course);
                match writer.run_made(value) {
                    true => writer.into_flat(),
                    false => self.flat(function),
                }
            })
            .collect()
    }

    /// Whether what a decorator of the tree made of a function decides about what it does.
    pub(super) fn is_decorated(&self, function: FnRef) -> bool {
        let has = self.tree.facts(function).is_some_and(|facts| !facts.decorators.is_empty());
        has && Writer::new(self, function, &mut Course::default()).deciding().is_some()
    }

    /// A function as its decorators made it, where one of the tree decides about what it does. By itself it shows more.
    pub(super) fn as_decorated(&self, function: FnRef, course: &mut Course<'t>) -> Option<Flat> {
        let mut writer = Writer::new(self, function, course);
        writer.run_decorated().then(|| writer.into_flat())
    }
}

impl Writer<'_, '_> {
    /// What the outermost decorator of the tree made of the function that takes locks, keeps state, writes or enters something.
    fn deciding(&mut self) -> Option<(Closure, usize)> {
        let mut inside = 0;
        while let Some((made, next)) = self.decorated(self.root, inside) {
            let flat = self.flattener.handed(made.function, &mut Course::default());
            if flat.events.iter().any(|event| decides(event) || !event.within.is_empty()) {
                return Some((made, next));
            }
            inside = next;
        }
        None
    }

    /// Writes out what the decorators make of the function; false where none of the tree decides about it.
    fn run_decorated(&mut self) -> bool {
        let Some((wrapper, inside)) = self.deciding() else { return false };
        let target = self.root;
        let mut given = self.own_params();
        if self.takes_its_object_first(target, wrapper.function) {
            given.insert(0, (None, Value::This(target)));
        }
        let at = self.tree.facts(target).and_then(|facts| facts.decorators.get(inside - 1)).map(|(_, span)| *span);
        self.unwrapped.push(Unwrapped { function: target, inside, wrapper: wrapper.function });
        self.write_made(wrapper, Value::This(target), &given);
        if let Some(span) = at {
            self.stands_before(Spot { file: target.file, span });
        }
        true
    }

    /// What the function does itself is written in it, and what was made of it comes from the decorator at `at`.
    fn stands_before(&mut self, at: Spot) {
        let way = self.way.take().unwrap_or_default();
        for event in &mut self.events {
            event.hops = match event.hops.strip_prefix(&way[..]) {
                Some(rest) if !way.is_empty() => rest.into(),
                _ => joined(&Arc::from([at]), &event.hops),
            };
        }
    }

    /// Writes out the function as a value names it: as the call made it that gave it. False where no call did.
    fn run_made(&mut self, value: &Value) -> bool {
        let Some((made, _)) = self.closure(value).filter(|(made, _)| made.function == self.root) else { return false };
        let given = self.own_params();
        self.write_made(made, Value::This(self.root), &given);
        true
    }

    fn write_made(&mut self, made: Closure, receiver: Value, given: &[(Option<Atom>, Value)]) {
        let flat = self.flattener.handed(made.function, self.course);
        let made_by = &made.made_by;
        self.copy(&flat, &Subst { made_by, ..Subst::new(self, made.function, receiver, given) }, &Around::default(), None);
        self.finish_chains();
    }

    /// The parameters of the function, as they are handed on.
    fn own_params(&self) -> Given {
        let params = self.tree.function(self.root).map_or(&[][..], |function| &function.params);
        let own = |(index, param): (usize, &Param)| {
            let value = Value::Param(self.root, index as u32);
            match param.gathers {
                None => (None, value),
                Some(Gathers::Positions) => (Some(Atom::from("*")), value),
                Some(Gathers::Keywords) => (Some(Atom::from("**")), value),
            }
        };
        params.iter().enumerate().map(own).collect()
    }
}

/// Whether an event of a wrapper may decide what runs inside of it.
fn decides(event: &FlatEvent) -> bool {
    match &event.what {
        What::Meant(meant) => {
            matches!(meant.is, Meaning::Acquire | Meaning::Transaction | Meaning::Begin | Meaning::Put | Meaning::Remove)
        }
        What::Statement(statement) => statement.op != Op::Select || statement.row_lock,
        What::Kv(kv) => !matches!(kv.op, CommandKind::Get | CommandKind::Read),
        _ => matches!(event.act, Act::Enter { .. }),
    }
}
