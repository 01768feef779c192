//! Writes functions out: calls are replaced by what they do, callbacks run where they are called, and every event keeps
//! the conditions and regions it is in.

mod chains;
mod course;
mod each;
mod given_out;
mod inline;
mod kept;
mod made;
mod made_with;
mod options;
mod parts;
mod wrapped;

use std::sync::Arc;

use crate::facts::{Act, Arg, Event, FnRef, Guard, Value, renewed_args};
use crate::files::Atom;
use crate::program::bind::{Site, bind};
use crate::program::flat::{Flat, FlatCond, FlatEvent, Look, Spot, What, plain};
use crate::program::hand::hand_over;
use crate::program::{Tree, Ty, unwrapped};
use crate::rules::{Meaning, TypeKind};
use crate::syntax::ExitKind;
use course::Course;
use kept::Kept;
use wrapped::Unwrapped;

/// Calls are followed this deep.
const DEEPEST: usize = 8;
/// A flat function that has this many events follows no more calls: of what lies behind, only its own events are seen.
const LONGEST: usize = 800;
/// A flat function keeps at most this many events; what lies behind is not seen.
const MOST: usize = 2400;
/// Flat functions, made once each.
pub struct Flattener<'t> {
    tree: &'t Tree,
    made: Kept,
}

impl<'t> Flattener<'t> {
    /// A flattener over a tree.
    pub fn new(tree: &'t Tree) -> Flattener<'t> {
        Flattener { tree, made: Kept::new() }
    }

    fn written(&self, function: FnRef, course: &mut Course<'t>) -> Flat {
        self.written_by(Writer::new(self, function, course))
    }

    /// A function with what its calls mean, and nothing of what they do.
    fn own(&self, function: FnRef) -> Flat {
        let mut course = Course::default();
        self.written_by(Writer { alone: true, ..Writer::new(self, function, &mut course) })
    }

    fn written_by(&self, mut writer: Writer<'_, 't>) -> Flat {
        writer.run();
        writer.into_flat()
    }

    /// What a function shows its callers. Made once, or nearly so.
    fn handed(&self, function: FnRef, course: &mut Course<'t>) -> Arc<Flat> {
        if let Some(known) = self.made.get(function).filter(|known| course.allows(known)) {
            return known.flat;
        }
        if let Some(flat) = course.cut_short(function) {
            return flat;
        }
        let outer = course.enter(function);
        let written = self.written(function, course);
        course.look(&written);
        let flat = Arc::new(hand_over(written, &self.tree.book.verbs));
        let Some(handed) = course.leave(flat.clone(), outer) else { return flat };
        self.made.keep(function, handed);
        flat
    }
}

struct Writer<'f, 't> {
    flattener: &'f Flattener<'t>,
    tree: &'t Tree,
    root: FnRef,
    course: &'f mut Course<'t>,
    /// What calls do is not written out.
    alone: bool,
    events: Vec<FlatEvent>,
    conds: Vec<FlatCond>,
    returns: Vec<(Value, Vec<Guard>)>,
    results: Vec<Value>,
    index_of: Vec<u32>,
    /// Copied events that run when the body of a `with` ends: the `with`'s event of this function, its flat index, and they.
    endings: Vec<(u32, Vec<FlatEvent>)>,
    /// What a generator that a `with` enters is in where it yields, and what must hold there.
    held_inside: Vec<Held>,
    /// Functions that are being written out as their decorators made them.
    unwrapped: Vec<Unwrapped>,
    /// The way to the function itself from what its decorators made of it.
    way: Option<Arc<[Spot]>>,
}

/// What stands around the body of a `with` that enters a generator.
struct Held {
    /// The `with`'s event of this function.
    with: u32,
    /// The flat indexes of what is entered where it yields.
    within: Vec<u32>,
    /// What holds there.
    guards: Vec<Guard>,
}

/// Everything around an inlined body.
#[derive(Clone, Default)]
struct Around {
    guards: Arc<[Guard]>,
    within: Arc<[u32]>,
    hops: Arc<[Spot]>,
    in_loop: Option<(Spot, bool)>,
    caught: Option<(Arc<[String]>, bool)>,
    in_catch: bool,
    in_finally: bool,
    detached: bool,
}

impl<'f, 't> Writer<'f, 't> {
    fn new(flattener: &'f Flattener<'t>, root: FnRef, course: &'f mut Course<'t>) -> Writer<'f, 't> {
        Writer {
            flattener,
            tree: flattener.tree,
            root,
            course,
            alone: false,
            events: vec![],
            conds: vec![],
            returns: vec![],
            results: vec![],
            index_of: vec![],
            endings: vec![],
            held_inside: vec![],
            unwrapped: vec![],
            way: None,
        }
    }

    fn into_flat(self) -> Flat {
        Flat { root: self.root, events: self.events, conds: self.conds, returns: self.returns }
    }

    fn run(&mut self) {
        let tree = self.tree;
        let Some(facts) = tree.facts(self.root) else { return };
        self.conds = facts
            .conds
            .iter()
            .map(|cond| FlatCond { value: cond.value.clone(), at: Spot { file: self.root.file, span: cond.span } })
            .collect();
        let own_conds = self.conds.len();
        for (number, event) in facts.events.iter().enumerate() {
            self.close_withs(&event.within);
            if self.events.len() >= MOST {
                break;
            }
            self.own(number as u32, event);
        }
        self.close_withs(&[]);
        // Conditions speak of results by now known.
        for index in 0..own_conds {
            let value = self.known(&self.conds[index].value.clone());
            self.conds[index].value = value;
        }
        let end = self.events.len() as u32;
        for flat in &mut self.events {
            if flat.origin.0 == self.root {
                let local = facts.events.get(flat.origin.1 as usize).map_or(0, |event| event.lives_to);
                flat.lives_to = self.index_of.get(local as usize).copied().unwrap_or(end);
            }
        }
        self.keep_what_is_given();
        self.finish_chains();
    }

    /// Ends every `with` whose body the next event is no longer in.
    fn close_withs(&mut self, within: &[u32]) {
        while let Some((entered, _)) = self.endings.last() {
            if within.contains(entered) {
                return;
            }
            if let Some((_, events)) = self.endings.pop() {
                self.events.extend(events);
            }
        }
    }

    fn known(&self, value: &Value) -> Value {
        self.now_known(value).unwrap_or_else(|| value.clone())
    }

    /// The value with what is known of the results it speaks of; `None` where it speaks of none.
    fn now_known(&self, value: &Value) -> Option<Value> {
        let root = self.root;
        value.mapped(&mut |part| match part {
            Value::Result(function, index) if *function == root => self.results.get(*index as usize).cloned(),
            Value::Member(of, name) => match &**of {
                Value::Result(function, index) if *function == root => self.part_given(self.results.get(*index as usize)?, name),
                _ => None,
            },
            _ => None,
        })
    }

    fn own(&mut self, number: u32, event: &Event) {
        let facts = self.tree.facts(self.root);
        let at = Spot { file: self.root.file, span: event.span };
        let in_loop = event.in_loop.and_then(|index| {
            let found = facts?.loops.get(index as usize)?;
            Some((Spot { file: self.root.file, span: found.span }, found.endless))
        });
        let caught = event.in_try.and_then(|index| {
            let found = facts?.tries.get(index as usize)?;
            let types: Vec<String> = found
                .catches
                .iter()
                .flat_map(|(types, _)| if types.is_empty() { vec!["*".to_owned()] } else { types.clone() })
                .collect();
            Some((Arc::from(types), found.catches.iter().all(|(_, throws)| *throws)))
        });
        let around = Around {
            guards: self.guarded_by(event),
            within: event.within.iter().flat_map(|entered| self.entered_by(*entered)).collect(),
            hops: Arc::default(),
            in_loop,
            caught,
            in_catch: event.in_catch,
            in_finally: event.in_finally,
            detached: false,
        };
        let act = match &event.act {
            Act::Call { callee, args, form, awaited } => Act::Call {
                callee: self.known(callee),
                args: renewed_args(args, |value| self.now_known(value)),
                form: *form,
                awaited: *awaited,
            },
            Act::Enter { value } => Act::Enter { value: self.known(value) },
            Act::Write { place, value, op, if_null } => {
                Act::Write { place: self.known(place), value: self.known(value), op: *op, if_null: *if_null }
            }
            Act::Delete { place } => Act::Delete { place: self.known(place) },
            Act::Test { cond } => Act::Test { cond: *cond },
            Act::Exit { kind, value } => Act::Exit { kind: *kind, value: self.known(value) },
        };
        if let Act::Exit { kind: ExitKind::Return, value } = &act {
            self.returns.push((value.clone(), event.guards.to_vec()));
        }
        let index = self.events.len() as u32;
        self.index_of.push(index);
        self.results.push(Value::Flat(index));
        self.events.push(FlatEvent {
            at,
            hops: Arc::default(),
            act,
            what: What::Nothing,
            guards: around.guards.clone(),
            within: around.within.clone(),
            in_loop: around.in_loop,
            caught: around.caught.clone(),
            in_catch: around.in_catch,
            in_finally: around.in_finally,
            lives_to: 0,
            bound: event.bound.clone(),
            dropped: event.dropped,
            propagated: event.propagated,
            detached: false,
            origin: (self.root, number),
            inlined: false,
            returns: vec![],
        });
        self.call(index, around, Some(number));
        if let Some(value) = self.sole_return(index)
            && let Some(result) = self.results.last_mut()
        {
            *result = value;
        }
    }

    /// What is entered where an event of this function is: that event, and what the generator behind it is in where it yields.
    fn entered_by(&self, own: u32) -> Vec<u32> {
        let held = self.held_inside.iter().filter(|held| held.with == own).flat_map(|held| held.within.iter().copied());
        self.index_of.get(own as usize).copied().into_iter().chain(held).collect()
    }

    /// What holds where an event of this function is: also what the generators need that it is in.
    fn guarded_by(&self, event: &Event) -> Arc<[Guard]> {
        let around = self.held_inside.iter().filter(|held| event.within.contains(&held.with));
        let more: Vec<Guard> = around.flat_map(|held| held.guards.iter().copied()).collect();
        joined(&event.guards, &more)
    }

    /// The one value an inlined call gives, where it always gives it.
    fn sole_return(&self, index: u32) -> Option<Value> {
        let event = &self.events[index as usize];
        // What a function that makes others captures is known from the call that made it.
        if matches!(&event.returns[..], [(Value::Function(inner), _)] if self.is_of_a_maker(*inner, event)) {
            return None;
        }
        match &event.returns[..] {
            [(value, guards)] if guards.len() <= event.guards.len() && *value != Value::Null && *value != Value::Unknown => {
                // What only the callee's declared type tells is not to be lost.
                let file = event.origin.0.file;
                let ty = |value: &Value| unwrapped(self.tree, self.tree.ty(value, file), file);
                let instance = || matches!(ty(&Value::Result(event.origin.0, event.origin.1)), Ty::Instance(_));
                let lost = match ty(&plain(&self.events, value)) {
                    Ty::Unknown => instance(),
                    Ty::Lib { path, .. } if self.tree.packs(file).kind(&path) == TypeKind::Plain => instance(),
                    _ => false,
                };
                (!lost).then(|| value.clone())
            }
            _ => None,
        }
    }

    /// Whether a function is written inside of the one that a call calls.
    fn is_of_a_maker(&self, inner: FnRef, call: &FlatEvent) -> bool {
        let file = call.origin.0.file;
        let maker = || match self.tree.ty(&plain(&self.events, call.call()?.0), file) {
            Ty::Function(maker) => Some(maker),
            _ => None,
        };
        let parent = self.tree.function(inner).and_then(|inner| inner.parent);
        parent.is_some_and(|parent| maker() == Some(FnRef { file: inner.file, func: parent.0 }))
    }

    /// Binds the call at `index` and writes out what it calls.
    fn call(&mut self, index: u32, around: Around, own: Option<u32>) {
        let (callee, args, awaited) = match &self.events[index as usize].act {
            Act::Call { callee, args, awaited, .. } => (callee.clone(), args.clone(), *awaited),
            Act::Enter { value } => {
                let value = value.clone();
                self.enter(index, &value, &around, own);
                return;
            }
            _ => return,
        };
        let file = self.events[index as usize].origin.0.file;
        let what = bind(&Look { tree: self.tree, events: &self.events }, &Site { callee: &callee, args: &args, file, awaited });
        if matches!(what, What::Nothing | What::Presumed(_)) && self.only_tells(&callee, &args) {
            return;
        }
        self.events[index as usize].what = what.clone();
        if matches!(what, What::Nothing)
            && let Some(column) = self.column(&callee, &args)
        {
            self.events[index as usize].returns = vec![(column, vec![])];
            return;
        }
        if self.alone || around.hops.len() >= DEEPEST || self.events.len() >= LONGEST {
            return;
        }
        let inside = |within: &[u32]| {
            let mut around = around.clone();
            around.within = joined(&around.within, within);
            around.hops = joined(&around.hops, &[self.events[index as usize].at]);
            around
        };
        match &what {
            What::Meant(meant) => {
                let body = meant.part("body").cloned();
                match meant.is {
                    Meaning::Entry | Meaning::Job => {}
                    Meaning::Spawn => {
                        let around = Around { detached: true, ..inside(&[]) };
                        // A coroutine made before and started here: its body stands behind the call that made it.
                        if let Some(Value::Flat(made)) = body {
                            let at = self.events[made as usize].at;
                            self.events[made as usize..]
                                .iter_mut()
                                .filter(|event| event.hops.contains(&at))
                                .for_each(|event| event.detached = true);
                        } else if let Some(body) = body {
                            self.invoke(&body, &[], around, file, None);
                        }
                    }
                    Meaning::Acquire | Meaning::Transaction | Meaning::Calls => {
                        let around = inside(&[index]);
                        // What a body is handed: each element, or the value itself.
                        let element = meant.part("each").map(|of| Value::Element(Arc::new(of.clone())));
                        let handed: Vec<_> =
                            element.or_else(|| meant.part("gives").cloned()).map(|value| (None, value)).into_iter().collect();
                        match body {
                            Some(body) => {
                                self.invoke(&body, &handed, around, file, Some(index));
                            }
                            None if meant.is == Meaning::Calls => self.callbacks(&args, &inside(&[]), file),
                            None => {}
                        }
                    }
                    Meaning::Pure | Meaning::Sleep | Meaning::Leave | Meaning::Receive => {}
                    _ => self.callbacks(&args, &inside(&[]), file),
                }
            }
            What::Statement(_) | What::Kv(_) => {}
            What::Nothing | What::Presumed(_) => {
                let inner = inside(&[]);
                if !self.invoke(&callee, &args, inner.clone(), file, Some(index)) {
                    self.callbacks(&args, &inner, file);
                    // A context manager made where it is entered.
                    if own.is_some() && self.entered(index) {
                        self.enter(index, &Value::Flat(index), &around, own);
                    }
                }
            }
        }
    }

    /// Whether a call only tells what happens, by the name of its receiver, of the package it comes from, or by its own.
    fn only_tells(&self, callee: &Value, args: &[Arg]) -> bool {
        let verbs = &self.tree.book.verbs;
        let tells = |name: &str| verbs.only_tells(name);
        let work = || args.iter().any(|(_, value)| matches!(value, Value::Function(_)));
        if self.tree.named(callee).is_some_and(|name| verbs.reports(name)) && !work() {
            return true;
        }
        match callee {
            Value::Member(of, _) => {
                let made = match &**of {
                    Value::Flat(index) => self.events.get(*index as usize).and_then(|event| event.call()),
                    _ => None,
                };
                self.tree.named(&plain(&self.events, of)).is_some_and(tells)
                    || made.and_then(|(class, _)| self.tree.named(class)).is_some_and(tells)
            }
            Value::Module(file, name) => {
                let facts = self.tree.files.get(*file as usize);
                let import = facts.and_then(|facts| facts.unit.imports.iter().find(|import| import.local == **name));
                import.is_some_and(|import| !import.module.starts_with('.') && tells(&import.module))
            }
            _ => false,
        }
    }

    /// Functions given to a call no one knows run there and then.
    fn callbacks(&mut self, args: &[(Option<Atom>, Value)], around: &Around, file: u32) {
        for (_, value) in args {
            let made_here = |index: &u32| {
                let event = &self.events[*index as usize];
                matches!(&event.returns[..], [(Value::Function(inner), _)] if self.is_of_a_maker(*inner, event))
            };
            if matches!(value, Value::Function(_)) || matches!(value, Value::Flat(index) if made_here(index)) {
                self.invoke(value, &[], around.clone(), file, None);
            }
        }
    }

    fn enter(&mut self, index: u32, value: &Value, around: &Around, own: Option<u32>) {
        if self.alone {
            return;
        }
        let file = self.root.file;
        let plain = plain(&self.events, value);
        if let Ty::Instance(_) = self.tree.ty(&plain, file) {
            self.class_with(index, value, around, own);
        }
    }

    /// A context manager that is a class of the tree.
    fn class_with(&mut self, index: u32, value: &Value, around: &Around, own: Option<u32>) {
        let file = self.root.file;
        let mut around = around.clone();
        around.hops = joined(&around.hops, &[self.events[index as usize].at]);
        for (enter, exit) in [("__enter__", "__exit__"), ("__aenter__", "__aexit__")] {
            let method = |name: &str| Value::Member(Arc::new(value.clone()), name.into());
            if self.invoke(&method(enter), &[], around.clone(), file, None) {
                let start = self.events.len();
                // It runs whatever happens in the body.
                let around = Around { in_finally: true, ..around.clone() };
                self.invoke(&method(exit), &[], around, file, None);
                let ending = self.events.split_off(start);
                if let Some(own) = own {
                    self.endings.push((own, ending));
                }
                return;
            }
        }
    }
}

/// Two lists one after the other; the first itself where there is no second.
fn joined<T: Copy>(first: &Arc<[T]>, second: &[T]) -> Arc<[T]> {
    match second {
        [] => first.clone(),
        second => first.iter().chain(second).copied().collect(),
    }
}
