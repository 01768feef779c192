//! Walks the steps of a unit in order and writes down what happens.

mod bind;
mod expr;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::facts::event::{Act, Cond, Event, FileFacts, FnFacts, Guard, LoopFact, Mark, ModuleName, TryFact};
use crate::facts::scope::{Env, Scopes};
use crate::facts::value::{FnRef, Value};
use crate::files::{Atom, Span};
use crate::syntax::{ExitKind, Expr, Step, StepKind, Target, Unit};

/// The facts of one file.
pub fn facts(file: u32, unit: Unit) -> FileFacts {
    let scopes = Scopes::new(file, &unit);
    let mut names: FxHashMap<Atom, ModuleName> = FxHashMap::default();
    let mut functions = Vec::with_capacity(unit.functions.len());
    for index in 0..unit.functions.len() {
        functions.push(Walker::new(FnRef { file, func: index as u32 }, &unit, &scopes, &mut names).run());
    }
    let declared = declared(file, &unit, &scopes, &mut names, &mut functions);
    for (function, facts) in unit.functions.iter().zip(&mut functions) {
        facts.is_empty = function.body.is_empty();
        let throws = |step: &Step| matches!(step.kind, StepKind::Exit { kind: ExitKind::Throw, .. });
        let only_throws = function.class.is_some() && matches!(&function.body[..], [only] if throws(only));
        facts.is_open = function.flags.is_signature || only_throws && !function.flags.is_constructor;
    }
    // Variables that no value speaks of are in the values themselves.
    for (func, facts) in functions.iter_mut().enumerate() {
        facts.locals.retain(|name, _| scopes.is_captured(func as u32, name));
        facts.locals.shrink_to_fit();
    }
    let Declared { field_values, class_marks, field_marks } = declared;
    FileFacts { file, unit, functions, field_values, class_marks, field_marks, names }
}

/// What classes declare.
#[derive(Default)]
struct Declared {
    field_values: FxHashMap<(u32, Atom), Value>,
    class_marks: FxHashMap<u32, Vec<Mark>>,
    field_marks: FxHashMap<(u32, Atom), Vec<Mark>>,
}

/// Declared fields' initial values, and decorators. Calls in them happen when the module is loaded or the class is made: they
/// are events of the module's top level.
fn declared(
    file: u32,
    unit: &Unit,
    scopes: &Scopes,
    names: &mut FxHashMap<Atom, ModuleName>,
    functions: &mut [FnFacts],
) -> Declared {
    let Some(module) = functions.first_mut() else { return Declared::default() };
    let mut walker = Walker::new(FnRef { file, func: 0 }, unit, scopes, names);
    walker.out = std::mem::take(module);
    let mut out = Declared::default();
    for (index, class) in unit.classes.iter().enumerate() {
        for field in &class.fields {
            let key = (index as u32, scopes.word(&field.name));
            if let Some(init) = &field.init {
                let value = walker.expr(init);
                if unit.language.fields_go_by_name() {
                    walker.env.insert(key.1.clone(), value.clone());
                }
                out.field_values.insert(key.clone(), value);
            }
            let marks = walker.marks(&field.decorators);
            if !marks.is_empty() {
                out.field_marks.insert(key, marks);
            }
        }
        walker.env.clear();
    }
    for (index, class) in unit.classes.iter().enumerate() {
        let marks = walker.marks(&class.decorators);
        if !marks.is_empty() {
            out.class_marks.insert(index as u32, marks);
        }
    }
    let decorated: Vec<(usize, Vec<Mark>)> = unit
        .functions
        .iter()
        .enumerate()
        .filter(|(_, function)| !function.decorators.is_empty())
        .map(|(index, function)| (index, walker.marks(&function.decorators)))
        .collect();
    functions[0] = walker.out;
    for (index, decorators) in decorated {
        functions[index].decorators = decorators;
    }
    out
}

struct Walker<'a> {
    me: FnRef,
    unit: &'a Unit,
    scopes: &'a Scopes,
    names: &'a mut FxHashMap<Atom, ModuleName>,
    out: FnFacts,
    env: Env,
    guards: Vec<Guard>,
    /// What the ways out of the block before left to hold at its end.
    established: Vec<Guard>,
    within: Vec<u32>,
    /// The guards and regions of the event before: most events have the same.
    last_guards: Arc<[Guard]>,
    last_within: Arc<[u32]>,
    in_loop: Option<u32>,
    in_try: Option<u32>,
    in_catch: bool,
    in_finally: bool,
}

/// What holds after a test went one way.
struct Tested {
    holds: Vec<Guard>,
    fails: Vec<Guard>,
}

impl<'a> Walker<'a> {
    fn new(me: FnRef, unit: &'a Unit, scopes: &'a Scopes, names: &'a mut FxHashMap<Atom, ModuleName>) -> Walker<'a> {
        Walker {
            me,
            unit,
            scopes,
            names,
            out: FnFacts::default(),
            env: Env::default(),
            guards: vec![],
            established: vec![],
            within: vec![],
            last_guards: Arc::default(),
            last_within: Arc::default(),
            in_loop: None,
            in_try: None,
            in_catch: false,
            in_finally: false,
        }
    }

    fn marks(&mut self, decorators: &[Expr]) -> Vec<Mark> {
        decorators.iter().map(|decorator| (self.expr(decorator), decorator.span)).collect()
    }

    fn run(mut self) -> FnFacts {
        let unit = self.unit;
        let function = &unit.functions[self.me.func as usize];
        for (index, param) in function.params.iter().enumerate() {
            self.bind(&param.target, Value::Param(self.me, index as u32), param_span(&param.target), true);
        }
        self.block(&function.body);
        let end = self.out.events.len() as u32;
        self.out.events.iter_mut().filter(|event| event.lives_to == 0).for_each(|event| event.lives_to = end);
        self.out
    }

    /// Walks steps in order; true when they never reach their end.
    fn block(&mut self, steps: &[Step]) -> bool {
        let kept = self.guards.len();
        let first_bound = self.out.events.len();
        let mut left = false;
        for step in steps {
            let before = self.out.events.len();
            left = self.step(step);
            let now = self.out.events.len() as u32;
            for event in &mut self.out.events[before..] {
                if event.lives_to == 0 && event.bound.is_none() {
                    event.lives_to = now;
                }
            }
            if left {
                break;
            }
        }
        let end = self.out.events.len() as u32;
        self.out.events[first_bound..].iter_mut().filter(|event| event.lives_to == 0).for_each(|event| event.lives_to = end);
        self.established = self.guards.split_off(kept);
        left
    }

    fn step(&mut self, step: &Step) -> bool {
        match &step.kind {
            StepKind::Do(expr) => {
                let value = self.expr(expr);
                self.mark_dropped(&value);
                false
            }
            StepKind::Bind { target, value, op, .. } => {
                if let Some(expr) = value {
                    self.bind_expr(target, expr, *op, step.span);
                } else if let Target::Name(name, span) = target {
                    self.declare(name, *span);
                }
                false
            }
            StepKind::Branch { test, then, otherwise } => self.branch(test, then, otherwise),
            StepKind::Loop { test, each, body } => self.repeat(step.span, test.as_ref(), each.as_ref(), body),
            StepKind::Try { body, catches, otherwise, finally } => self.attempt(body, catches, otherwise, finally),
            StepKind::Within { context, binding, body } => self.inside(context, binding.as_ref(), body),
            StepKind::Exit { kind, value } => {
                let value = value.as_ref().map_or(Value::Null, |expr| self.expr(expr));
                self.push(Act::Exit { kind: *kind, value }, step.span);
                *kind != ExitKind::Yield
            }
            StepKind::Delete(expr) => {
                let place = self.expr(expr);
                self.push(Act::Delete { place }, step.span);
                false
            }
            StepKind::Scope(body) => {
                let left = self.block(body);
                // What leaves a block leaves what is around it.
                let behind = std::mem::take(&mut self.established);
                self.guards.extend(behind);
                left
            }
        }
    }

    fn branch(&mut self, test: &Expr, then: &[Step], otherwise: &[Step]) -> bool {
        let tested = self.test(test);
        let before = self.env.clone();
        let kept = self.guards.len();
        self.guards.extend(&tested.holds);
        let then_left = self.block(then);
        let behind_then = std::mem::take(&mut self.established);
        let then_env = std::mem::replace(&mut self.env, before);
        self.guards.truncate(kept);
        self.guards.extend(&tested.fails);
        let otherwise_left = self.block(otherwise);
        let behind_otherwise = std::mem::take(&mut self.established);
        self.guards.truncate(kept);
        match (then_left, otherwise_left) {
            (true, true) => return true,
            (true, false) => {
                self.guards.extend(&tested.fails);
                self.guards.extend(behind_otherwise);
            }
            (false, true) => {
                self.env = then_env;
                self.guards.extend(&tested.holds);
                self.guards.extend(behind_then);
            }
            (false, false) => {
                let then_env = self.told_flags(&tested.holds, then_env);
                self.join(then_env);
                self.let_past(&tested.holds, &behind_then, test.span);
                self.let_past(&tested.fails, &behind_otherwise, test.span);
            }
        }
        false
    }

    /// What comes behind a branch from which some are turned away (`if (limited) { if (full) return }`), as behind `if (limited &&
    /// full) return`: one condition that depends on all of them.
    fn let_past(&mut self, entered: &[Guard], passed: &[Guard], span: Span) {
        if passed.is_empty() {
            return;
        }
        let value = Value::let_past(self.said_by(entered), self.said_by(passed));
        let cond = self.out.conds.len() as u32;
        self.out.conds.push(Cond { value, span });
        self.guards.push(Guard { cond, holds: true });
    }

    /// What names stand for behind one way, where a flag that only one of two ways sets says which it was.
    fn told_flags(&mut self, holds: &[Guard], mut then_env: Env) -> Env {
        let is_flag = |value: &Value| match value {
            Value::Bool(_) => true,
            Value::Choose(parts) => parts[1..].iter().all(|part| matches!(part, Value::Bool(_) | Value::Choose(_))),
            _ => false,
        };
        let test = Value::All(self.said_by(holds).into());
        for (name, then) in then_env.iter_mut().filter(|(_, then)| !holds.is_empty() && is_flag(then)) {
            let Some(otherwise) = self.env.get_mut(name).filter(|otherwise| *otherwise != then && is_flag(otherwise)) else {
                continue;
            };
            let told = Value::Choose(Arc::new([test.clone(), then.clone(), otherwise.clone()])).bounded();
            if matches!(told, Value::Choose(_)) {
                *then = told.clone();
                *otherwise = told;
            }
        }
        then_env
    }

    fn repeat(&mut self, span: Span, test: Option<&Expr>, each: Option<&(Target, Expr)>, body: &[Step]) -> bool {
        let source = each.map(|(_, expr)| self.expr(expr));
        let endless = test.is_none() && each.is_none();
        let index = self.out.loops.len() as u32;
        self.out.loops.push(LoopFact { endless, over: source.clone(), test: None, span });
        let outer = self.in_loop.replace(index);
        let before = self.env.clone();
        let kept = self.guards.len();
        let mut after = vec![];
        if let Some(test) = test {
            let tested = self.test(test);
            let cond = tested.holds.first().and_then(|guard| self.out.conds.get(guard.cond as usize));
            self.out.loops[index as usize].test = cond.map(|cond| cond.value.clone());
            self.guards.extend(tested.holds);
            // What ends the loop holds behind it, unless it can be left otherwise.
            if !breaks(body) {
                after = tested.fails;
            }
        }
        if let (Some((target, _)), Some(source)) = (each, source) {
            self.bind(target, Value::Element(Arc::new(source)), span, true);
        }
        let first = self.out.events.len();
        self.block(body);
        self.guards.truncate(kept);
        if endless {
            after = self.at_the_break(index, first, kept);
        }
        self.guards.extend(after);
        self.in_loop = outer;
        self.join(before);
        endless && !breaks(body)
    }

    /// What holds behind an endless loop: what leads to the one place at which it is left.
    fn at_the_break(&self, index: u32, first: usize, kept: usize) -> Vec<Guard> {
        let leaves =
            |event: &&Event| event.in_loop == Some(index) && matches!(event.act, Act::Exit { kind: ExitKind::Break, .. });
        let mut breaks = self.out.events[first..].iter().filter(leaves);
        match (breaks.next(), breaks.next()) {
            (Some(only), None) => only.guards.iter().skip(kept).copied().collect(),
            _ => vec![],
        }
    }

    fn attempt(&mut self, body: &[Step], catches: &[crate::syntax::Catch], otherwise: &[Step], finally: &[Step]) -> bool {
        let index = self.out.tries.len() as u32;
        self.out.tries.push(TryFact { catches: vec![], has_finally: !finally.is_empty(), handled: (0, 0) });
        let before = self.env.clone();
        let kept = self.guards.len();
        let outer_try = self.in_try;
        if !catches.is_empty() {
            self.in_try = Some(index);
        }
        // Guards that a body without handlers establishes hold after it.
        let body_left = if catches.is_empty() { self.open_block(body) } else { self.block(body) };
        let body_left = body_left || (!otherwise.is_empty() && self.block(otherwise));
        self.in_try = outer_try;
        let mut all_left = body_left;
        let first = self.out.events.len() as u32;
        for catch in catches {
            let after = std::mem::replace(&mut self.env, before.clone());
            let outer_catch = std::mem::replace(&mut self.in_catch, true);
            if let Some(name) = &catch.binding {
                self.env.insert(self.scopes.word(name), Value::Unknown);
            }
            let left = self.block(&catch.body);
            self.in_catch = outer_catch;
            self.out.tries[index as usize].catches.push((catch.types.clone(), throws(&catch.body)));
            if left {
                self.env = after;
            } else {
                self.join(after);
                all_left = false;
            }
        }
        self.out.tries[index as usize].handled = (first, self.out.events.len() as u32);
        let established = self.guards.split_off(kept);
        let outer_finally = std::mem::replace(&mut self.in_finally, true);
        let finally_left = self.block(finally);
        self.in_finally = outer_finally;
        if catches.is_empty() {
            self.guards.extend(established);
        }
        all_left || finally_left
    }

    /// A block whose guards stay in force after it.
    fn open_block(&mut self, steps: &[Step]) -> bool {
        for step in steps {
            let before = self.out.events.len();
            let left = self.step(step);
            let now = self.out.events.len() as u32;
            for event in &mut self.out.events[before..] {
                if event.lives_to == 0 && event.bound.is_none() {
                    event.lives_to = now;
                }
            }
            if left {
                return true;
            }
        }
        false
    }

    fn inside(&mut self, context: &Expr, binding: Option<&Target>, body: &[Step]) -> bool {
        let value = self.expr(context);
        let entered = match self.out.event_of(self.me, &value) {
            Some(index) => index,
            None => self.push(Act::Enter { value: value.clone() }, context.span),
        };
        if let Some(target) = binding {
            self.bind(target, value, context.span, true);
        }
        self.within.push(entered);
        let left = self.open_block(body);
        self.within.pop();
        let end = self.out.events.len() as u32;
        if let Some(event) = self.out.events.get_mut(entered as usize) {
            event.lives_to = end;
        }
        left
    }

    fn join(&mut self, other: Env) {
        for (name, value) in other {
            match self.env.get_mut(&name) {
                Some(mine) if *mine != value => {
                    *mine = grown(mine, &value).unwrap_or_else(|| Value::one_of([mine.clone(), value]));
                }
                Some(_) => {}
                None => {
                    self.env.insert(name, value);
                }
            }
        }
    }

    fn push(&mut self, act: Act, span: Span) -> u32 {
        let index = self.out.events.len() as u32;
        self.out.events.push(Event {
            act,
            span,
            guards: shared(&mut self.last_guards, &self.guards),
            within: shared(&mut self.last_within, &self.within),
            in_loop: self.in_loop,
            in_try: self.in_try,
            in_catch: self.in_catch,
            in_finally: self.in_finally,
            lives_to: 0,
            bound: None,
            said: None,
            dropped: false,
            propagated: false,
        });
        index
    }
}

/// A list that is kept once for all that have it one after another.
fn shared<T: Copy + PartialEq>(last: &mut Arc<[T]>, now: &[T]) -> Arc<[T]> {
    if **last != *now {
        *last = now.into();
    }
    last.clone()
}

/// One object literal that got members in one branch: each member is what it was or what it became.
fn grown(left: &Value, right: &Value) -> Option<Value> {
    let (Value::Object(ty, first), Value::Object(same, second)) = (left, right) else { return None };
    let (more, less) = if first.len() >= second.len() { (first, second) } else { (second, first) };
    let has = |key: &str| less.iter().find(|(known, _)| &**known == key).map(|(_, value)| value);
    let contained = less.iter().all(|(key, _)| more.iter().any(|(known, _)| known == key));
    let differing = more.iter().filter(|(key, value)| has(key) != Some(value)).count();
    (ty == same && contained && differing <= 1 + more.len() / 2).then(|| {
        let join = |(key, value): &(Atom, Value)| {
            let value = match has(key) {
                Some(other) if other != value => Value::one_of([other.clone(), value.clone()]),
                _ => value.clone(),
            };
            (key.clone(), value)
        };
        Value::Object(ty.clone(), more.iter().map(join).collect::<Vec<_>>().into())
    })
}

fn param_span(target: &Target) -> Span {
    match target {
        Target::Name(_, span) => *span,
        _ => Span::default(),
    }
}

/// Whether a loop body can leave its own loop by `break`.
fn breaks(steps: &[Step]) -> bool {
    steps.iter().any(|step| match &step.kind {
        StepKind::Exit { kind, .. } => *kind == ExitKind::Break,
        StepKind::Branch { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        StepKind::Try { body, catches, otherwise, finally } => {
            breaks(body) || breaks(otherwise) || breaks(finally) || catches.iter().any(|catch| breaks(&catch.body))
        }
        StepKind::Within { body, .. } | StepKind::Scope(body) => breaks(body),
        _ => false,
    })
}

/// Whether a handler throws at its own top level.
fn throws(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(&step.kind, StepKind::Exit { kind: ExitKind::Throw, .. }))
}
