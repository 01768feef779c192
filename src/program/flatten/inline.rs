//! Puts a callee's events in place of a call, in the caller's terms.

use std::sync::Arc;

use super::wrapped::{Given, Unwrapped};
use super::{Around, DEEPEST, Held, LONGEST, Writer, joined};
use crate::facts::{Act, FnRef, Guard, Value};
use crate::files::Atom;
use crate::program::bind::{Site, bind};
use crate::program::flat::{Flat, FlatCond, FlatEvent, Look, Spot, What, plain};
use crate::program::{Meant, Statement, Tree, Ty};
use crate::rules::{CommandKind, Meaning};
use crate::syntax::ExitKind;

impl Writer<'_, '_> {
    /// Writes out the function a value names; false when it names none that can be followed.
    pub(super) fn invoke(
        &mut self,
        callee: &Value,
        args: &[(Option<Atom>, Value)],
        around: Around,
        file: u32,
        result_of: Option<u32>,
    ) -> bool {
        let Some((target, receiver, bound)) = self.target(callee, file) else { return false };
        if around.hops.len() >= DEEPEST || self.course.cuts(target) {
            return true;
        }
        let all: Vec<(Option<Atom>, Value)> = bound.into_iter().map(|value| (None, value)).chain(args.iter().cloned()).collect();
        // A name stands for what its decorators made of it; a function given as a value is itself, or what the decorators nearer
        // to it made where one of them was given it.
        let named = !matches!(callee, Value::Function(_));
        let around_it = self.unwrapped.iter().rev().find(|known| !named && known.function == target).copied();
        let inside = if named { Some(0) } else { around_it.map(|known| known.inside) };
        let (mut receiver, mut given) = (receiver, all);
        if let Some((wrapper, inside)) = inside.and_then(|inside| self.decorated(target, inside))
            && !self.course.cuts(wrapper.function)
        {
            if named && self.takes_its_object_first(target, wrapper.function) {
                given.insert(0, (None, receiver.clone()));
            }
            let flat = self.flattener.handed(wrapper.function, self.course);
            self.unwrapped.push(Unwrapped { function: target, inside, wrapper: wrapper.function });
            let made_by = &wrapper.made_by;
            self.copy(&flat, &Subst { made_by, ..Subst::new(self, wrapper.function, receiver, &given) }, &around, result_of);
            self.unwrapped.pop();
            return true;
        }
        if around_it.is_some_and(|known| self.takes_its_object_first(target, known.wrapper))
            && given.first().is_some_and(|(name, _)| name.is_none())
        {
            receiver = given.remove(0).1;
        }
        if around_it.is_some() && target == self.root && self.way.is_none() {
            self.way = Some(around.hops.clone());
        }
        let made = if named { self.closure(&plain(&self.events, callee)) } else { None };
        let made = made.filter(|(made, _)| made.function == target);
        // What it does stands in what it was made of, there.
        let around = match &made {
            Some((_, at)) => Around { hops: joined(&around.hops, &[*at]), ..around },
            None => around,
        };
        let made_by = made.map_or(vec![], |(made, _)| made.made_by);
        let flat = self.flattener.handed(target, self.course);
        self.copy(&flat, &Subst { made_by: &made_by, ..Subst::new(self, target, receiver, &given) }, &around, result_of);
        true
    }

    /// The function a value names, with its receiver and arguments bound already.
    fn target(&self, callee: &Value, file: u32) -> Option<(FnRef, Value, Vec<Value>)> {
        if let Value::Function(function) = callee {
            return Some((*function, Value::This(*function), vec![]));
        }
        let plain = plain(&self.events, callee);
        match self.tree.ty(&plain, file) {
            Ty::Function(function) => {
                let receiver = match callee {
                    Value::Member(of, _) => (**of).clone(),
                    _ => Value::Unknown,
                };
                Some((function, receiver, vec![]))
            }
            _ => match callee {
                // `partial(f, a)`, `f.bind(null, a)`: the function inside.
                Value::Flat(index) => {
                    let event = self.events.get(*index as usize)?;
                    let meant = event.meant(Meaning::Pass)?;
                    let inner = meant.part("of").cloned().unwrap_or_else(|| meant.receiver.clone());
                    let (target, receiver, mut bound) = self.target(&inner, file)?;
                    bound.extend(
                        meant
                            .part("with")
                            .into_iter()
                            .flat_map(|value| value.children().into_iter().cloned().collect::<Vec<_>>()),
                    );
                    Some((target, receiver, bound))
                }
                _ => None,
            },
        }
    }

    /// Copies what matters of a callee's flat form, in this function's terms.
    pub(super) fn copy(&mut self, flat: &Flat, subst: &Subst<'_, '_>, around: &Around, result_of: Option<u32>) {
        let target = subst.target;
        let first_cond = self.conds.len() as u32;
        let mut map: Vec<Option<Value>> = vec![None; flat.events.len()];
        let mut pending: Vec<(usize, u32)> = vec![];
        let yields = flat
            .events
            .iter()
            .position(|event| matches!(&event.act, Act::Exit { kind: ExitKind::Yield, .. }) && event.hops.is_empty());
        let generator_with = yields.filter(|_| {
            result_of.is_some_and(|index| self.events[index as usize].lives_to == 0 && self.entered(index))
                && self.tree.function(target).is_some_and(|f| f.flags.is_generator)
        });
        let mut tail_from = None;
        for cond in &flat.conds {
            // Filled in below, when the results they speak of are known.
            self.conds.push(FlatCond { value: cond.value.clone(), at: cond.at });
        }
        // Most events have the guards and the way of the one before.
        let mut last_guards: (Arc<[Guard]>, Arc<[Guard]>) = (Arc::default(), around.guards.clone());
        let mut last_hops: (Arc<[Spot]>, Arc<[Spot]>) = (Arc::default(), around.hops.clone());
        let mut settled: Vec<Option<Option<bool>>> = vec![None; flat.conds.len()];
        let mut contradicted = false;
        for (number, event) in flat.events.iter().enumerate() {
            if generator_with == Some(number) {
                tail_from = Some(self.events.len());
                let entered = event.within.iter().filter_map(|entered| match map.get(*entered as usize)?.as_ref()? {
                    Value::Flat(index) => Some(*index),
                    _ => None,
                });
                let within: Vec<u32> = entered.collect();
                let guards: Vec<Guard> =
                    event.guards.iter().map(|guard| Guard { cond: guard.cond + first_cond, ..*guard }).collect();
                if let Some(index) = result_of.filter(|_| !within.is_empty() || !guards.is_empty()) {
                    self.held_inside.push(Held { with: self.events[index as usize].origin.1, within, guards });
                }
            }
            if matches!(&event.act, Act::Exit { kind: ExitKind::Yield, .. }) {
                continue;
            }
            if !Arc::ptr_eq(&last_guards.0, &event.guards) {
                let own = event.guards.iter().map(|guard| Guard { cond: guard.cond + first_cond, ..*guard });
                last_guards = (event.guards.clone(), around.guards.iter().copied().chain(own).collect());
                contradicted = event.guards.iter().any(|guard| subst.contradicts(guard, flat, self, &mut settled));
            }
            if contradicted || self.events.len() >= LONGEST {
                map[number] = Some(Value::Unknown);
                continue;
            }
            let index = self.events.len() as u32;
            map[number] = Some(Value::Flat(index));
            let act = subst.act(&event.act, &map, self);
            let guards = last_guards.1.clone();
            let within = event.within.iter().filter_map(|entered| match map.get(*entered as usize)?.as_ref()? {
                Value::Flat(index) => Some(*index),
                _ => None,
            });
            let within = match event.within.is_empty() {
                true => around.within.clone(),
                false => around.within.iter().copied().chain(within).collect(),
            };
            if !Arc::ptr_eq(&last_hops.0, &event.hops) {
                last_hops = (event.hops.clone(), joined(&around.hops, &event.hops));
            }
            let hops = last_hops.1.clone();
            let open = needs_binding(event, &act);
            let overridden = open && means_the_overridden(self.tree, event);
            self.events.push(FlatEvent {
                at: event.at,
                hops: hops.clone(),
                act,
                what: event.what.map(&|value| subst.renewed(value, &map, self)),
                guards: guards.clone(),
                within: within.clone(),
                in_loop: event.in_loop.or(around.in_loop),
                caught: event.caught.clone().or_else(|| around.caught.clone()),
                in_catch: event.in_catch || around.in_catch,
                in_finally: event.in_finally || around.in_finally,
                lives_to: 0,
                bound: event.bound.clone(),
                dropped: event.dropped,
                propagated: event.propagated,
                detached: event.detached || around.detached,
                origin: event.origin,
                inlined: event.inlined,
                returns: subst.returns(event, &map, first_cond, self),
            });
            pending.push((number, index));
            if overridden {
                self.tell_the_overridden(index);
            } else if open && !event.inlined {
                let deeper = Around {
                    guards,
                    within,
                    hops,
                    in_loop: event.in_loop.or(around.in_loop),
                    caught: event.caught.clone().or_else(|| around.caught.clone()),
                    in_catch: event.in_catch || around.in_catch,
                    in_finally: event.in_finally || around.in_finally,
                    detached: event.detached || around.detached,
                };
                let before = self.events[index as usize].what.clone();
                self.call(index, deeper, None);
                self.keep_parts(index, &before);
                if let Some(value) = self.sole_return(index) {
                    map[number] = Some(value);
                }
            }
        }
        for (number, index) in pending {
            let event = &flat.events[number];
            let lives_to = event.lives_to as usize;
            let end = map.iter().skip(lives_to).find_map(|value| match value {
                Some(Value::Flat(index)) => Some(*index),
                _ => None,
            });
            self.events[index as usize].lives_to = end.unwrap_or(self.events.len() as u32);
            // What a call gives stands behind it, and is known only now.
            if event.inlined {
                self.events[index as usize].returns = subst.returns(event, &map, first_cond, self);
            }
        }
        for (offset, cond) in flat.conds.iter().enumerate() {
            let value = subst.value(&cond.value, &map, self);
            self.conds[first_cond as usize + offset].value = value;
        }
        if let Some(index) = result_of {
            let returns = flat
                .returns
                .iter()
                .filter(|(_, guards)| !guards.iter().any(|guard| subst.contradicts(guard, flat, self, &mut settled)))
                .map(|(value, guards)| {
                    let mut all = around.guards.to_vec();
                    all.extend(guards.iter().map(|guard| Guard { cond: guard.cond + first_cond, ..*guard }));
                    (subst.value(value, &map, self), all)
                })
                .collect();
            let event = &mut self.events[index as usize];
            event.returns = returns;
            event.inlined = true;
            if let Some(from) = tail_from {
                let own = event.origin.1;
                let ending = self.events.split_off(from);
                self.endings.push((own, ending));
            }
        }
    }

    /// Which columns an overridden method saves may stand in what the caller hands on to it.
    fn tell_the_overridden(&mut self, index: u32) {
        let event = &self.events[index as usize];
        let (function, number) = event.origin;
        let own = self.tree.facts(function).and_then(|facts| facts.events.get(number as usize));
        let (Some(Act::Call { callee, .. }), Some((_, args))) = (own.map(|own| &own.act), event.call()) else { return };
        let look = Look { tree: self.tree, events: &self.events };
        let told = bind(&look, &Site { callee, args, file: function.file, awaited: false });
        if let (What::Statement(known), What::Statement(told)) = (&event.what, told) {
            let known = Statement { only: told.only.clone(), whole: told.whole, ..(**known).clone() };
            self.events[index as usize].what = What::Statement(Arc::new(known));
        }
    }

    /// What was known where a call is written stays known, and so do the parts that were seen there, though what the caller gives is too long to show them.
    fn keep_parts(&mut self, index: u32, before: &What) {
        let what = &mut self.events[index as usize].what;
        if matches!(before, What::Meant(known) if known.sure)
            && !matches!(what, What::Meant(_) | What::Statement(_) | What::Kv(_))
        {
            *what = before.clone();
        } else if let (What::Meant(before), What::Meant(after)) = (before, &*what)
            && (before.row, &before.path) == (after.row, &after.path)
            && let lost = before.parts.iter().filter(|(name, _)| after.part(name).is_none()).cloned().collect::<Vec<_>>()
            && !lost.is_empty()
        {
            let parts = after.parts.iter().cloned().chain(lost).collect();
            *what = What::Meant(Arc::new(Meant { parts, ..(**after).clone() }));
        }
    }

    /// Whether a `with` enters the result of this event.
    pub(super) fn entered(&self, index: u32) -> bool {
        let (function, number) = self.events[index as usize].origin;
        function == self.root
            && self.tree.facts(function).is_some_and(|facts| facts.events.iter().any(|event| event.within.contains(&number)))
    }
}

/// Whether a method calls the one it overrides on its own object (`super().save()`): whatever the object is in a caller, that is
/// never the method again.
fn means_the_overridden(tree: &Tree, event: &FlatEvent) -> bool {
    let (function, number) = event.origin;
    let own = tree.facts(function).and_then(|facts| facts.events.get(number as usize));
    let Some(Act::Call { callee, .. }) = own.map(|own| &own.act) else { return false };
    let Value::Member(of, name) = callee else { return false };
    let on_itself = **of == Value::This(function) && tree.function(function).is_some_and(|method| *method.name == **name);
    on_itself && !matches!(tree.ty(callee, function.file), Ty::Function(_))
}

/// Whether the substitution may have made more of a call known.
fn needs_binding(event: &FlatEvent, act: &Act) -> bool {
    match (&event.act, act) {
        (Act::Call { callee: before, args: args_before, .. }, Act::Call { callee, args, .. }) => {
            let open = match &event.what {
                What::Nothing | What::Presumed(_) => true,
                What::Meant(meant) => {
                    let filled = matches!(meant.is, Meaning::Acquire | Meaning::Sql | Meaning::Command | Meaning::Track);
                    let follows = meant.part("body").is_some() || filled;
                    // What tells a second one from the first may stand in what the caller gives.
                    let untold = meant.is == Meaning::Effect && meant.part("idempotency").is_none();
                    follows || untold || !meant.sure && meant.is != Meaning::Build
                }
                What::Kv(kv) => !kv.sure || kv.op == CommandKind::Script && kv.script.is_none(),
                // What a builder's steps said is known here and nowhere else; whose rows they are, the caller may know.
                What::Statement(_) => matches!(before, Value::Member(of, _) if matches!(**of, Value::This(_))),
            };
            open && (before != callee || !Arc::ptr_eq(args_before, args) && args_before != args)
        }
        _ => false,
    }
}

/// A callee's values in its caller's terms.
pub(super) struct Subst<'a, 't> {
    pub(super) tree: &'t Tree,
    pub(super) root: FnRef,
    pub(super) target: FnRef,
    pub(super) receiver: Value,
    pub(super) args: &'a [(Option<Atom>, Value)],
    /// The functions that made it, with what each was given.
    pub(super) made_by: &'a [(FnRef, Given)],
}

impl<'a, 't> Subst<'a, 't> {
    pub(super) fn new(
        writer: &Writer<'_, 't>,
        target: FnRef,
        receiver: Value,
        args: &'a [(Option<Atom>, Value)],
    ) -> Subst<'a, 't> {
        Subst { tree: writer.tree, root: writer.root, target, receiver, args, made_by: &[] }
    }
}

impl Subst<'_, '_> {
    pub(super) fn value(&self, value: &Value, map: &[Option<Value>], writer: &Writer<'_, '_>) -> Value {
        self.renewed(value, map, writer).unwrap_or_else(|| value.clone())
    }

    /// The value in the caller's terms; `None` where it is the same in both: what a callee hands over is within bounds.
    fn renewed(&self, value: &Value, map: &[Option<Value>], writer: &Writer<'_, '_>) -> Option<Value> {
        let new = value.mapped(&mut |part| match part {
            Value::Flat(index) => Some(map.get(*index as usize).cloned().flatten().unwrap_or_default()),
            Value::Param(function, index) if *function == self.target => {
                let value = self.argument(*index);
                Some(value.unwrap_or_else(|| part.clone()))
            }
            Value::Member(of, field) if matches!(**of, Value::This(function) if function == self.target) => {
                self.made_with(field, writer)
            }
            Value::This(function) if *function == self.target && !matches!(self.receiver, Value::Unknown) => {
                Some(self.receiver.clone())
            }
            Value::Member(of, name) => match &**of {
                Value::Flat(index) => writer.part_given(map.get(*index as usize)?.as_ref()?, name),
                Value::Param(function, index) if *function == self.target => writer.part_given(&self.argument(*index)?, name),
                Value::This(function) if *function == self.target => writer.part_given(&self.receiver, name),
                _ => None,
            },
            Value::Choose(parts) => self.chosen(parts, map, writer).map(|one| self.value(one, map, writer)),
            Value::Captured(function, name) if self.made_by.iter().any(|(maker, _)| maker == function) => {
                self.captured(*function, name)
            }
            Value::Captured(function, name) if *function == self.root => {
                let known = self.tree.facts(self.root)?.locals.get(name)?;
                (!known.any(&|inner| inner == part)).then(|| writer.known(known))
            }
            _ => None,
        });
        new.map(Value::bounded)
    }

    /// What the call of an event gives, and when, in the caller's terms; the callee's conditions stand behind the caller's own.
    fn returns(
        &self,
        event: &FlatEvent,
        map: &[Option<Value>],
        first_cond: u32,
        writer: &Writer<'_, '_>,
    ) -> Vec<(Value, Vec<Guard>)> {
        let own = |guard: &Guard| Guard { cond: guard.cond + first_cond, ..*guard };
        let given = event.returns.iter();
        given.map(|(value, guards)| (self.value(value, map, writer), guards.iter().map(own).collect())).collect()
    }

    fn act(&self, act: &Act, map: &[Option<Value>], writer: &Writer<'_, '_>) -> Act {
        let value = |value: &Value| self.value(value, map, writer);
        match act {
            Act::Call { callee, args, form, awaited } => {
                let new = |value: &Value| self.renewed(value, map, writer);
                Act::Call { callee: value(callee), args: self.handed_on(args, &new), form: *form, awaited: *awaited }
            }
            Act::Enter { value: entered } => Act::Enter { value: value(entered) },
            Act::Write { place, value: written, op, if_null } => {
                Act::Write { place: value(place), value: value(written), op: *op, if_null: *if_null }
            }
            Act::Delete { place } => Act::Delete { place: value(place) },
            Act::Test { cond } => Act::Test { cond: *cond },
            Act::Exit { kind, value: given } => Act::Exit { kind: *kind, value: value(given) },
        }
    }
}
