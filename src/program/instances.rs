//! How many objects of a class one process makes. It does not know what their fields hold.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::meaning::Meant;
use super::tree::owner_file;
use super::{ClassRef, Tree, Ty};
use crate::facts::{Act, Event, FnFacts, FnRef, Value};
use crate::files::Atom;
use crate::rules::{Meaning, TypeKind};

/// How many instances of a class one process makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instance {
    /// One, when it starts.
    Single,
    /// As many as there are calls.
    Many,
    /// Nobody makes one in this tree, or one place does that may run once.
    Unseen,
}

/// How many instances of each class one process makes.
pub struct Instances {
    single: HashSet<ClassRef>,
    places: HashMap<ClassRef, usize>,
}

impl Instances {
    /// Looks at where each class is made: at module level, or in functions; a function that gives its instance out counts as
    /// often as it is called. A decorator that a pack knows as a singleton's, or an entry's, makes one.
    pub fn new(tree: &Tree) -> Instances {
        let mut made: Vec<(ClassRef, FnRef, bool)> = vec![];
        let mut by_program = vec![];
        let mut objects: Vec<(ClassRef, FnRef, Vec<Value>)> = vec![];
        let mut tried: HashSet<FnRef> = HashSet::new();
        let mut callers: HashMap<FnRef, Vec<FnRef>> = HashMap::new();
        let mut calls: HashMap<FnRef, Vec<(FnRef, u32)>> = HashMap::new();
        let handlers = handlers(tree);
        let used = used_by(tree, &handlers);
        let once = |function: FnRef| handlers.get(&function).is_some_and(|kind| matches!(kind.as_str(), "startup" | "main"));
        for function in tree.all_functions() {
            let Some(facts) = tree.facts(function) else { continue };
            for (index, event) in facts.events.iter().enumerate() {
                let Act::Call { callee, .. } = &event.act else { continue };
                if !matches!(callee, Value::Module(..) | Value::Captured(..) | Value::Member(..) | Value::Global(_)) {
                    continue;
                }
                match tree.ty(callee, function.file) {
                    Ty::Class(class) => {
                        let result = Value::Result(function, index as u32);
                        let returned = |other: &Event| match &other.act {
                            Act::Exit { value, .. } => value.any(&|part| *part == result),
                            _ => false,
                        };
                        let registered = || {
                            facts.locals.iter().any(|(name, value)| *value == result && used.contains(&(function, name.clone())))
                        };
                        let given_out = facts.events.iter().any(returned) || registered();
                        match kept(tree, function, &result) {
                            _ if function.func == 0 && started_with(tree, facts, event) => by_program.push(class),
                            Kept::Nowhere => {
                                if !given_out && function.func != 0 {
                                    match objects.iter_mut().find(|known| known.0 == class && known.1 == function) {
                                        Some(known) => known.2.push(result),
                                        None => objects.push((class, function, vec![result])),
                                    }
                                }
                                made.push((class, function, given_out));
                            }
                            Kept::ByModule => made.push((class, FnRef { func: 0, ..function }, given_out)),
                            Kept::ByObject => {}
                        }
                    }
                    Ty::Function(target) => {
                        if function.func == 0 && tree.class_of(target).is_some() && started_with(tree, facts, event) {
                            tried.insert(target);
                        }
                        callers.entry(target).or_default().push(function);
                        calls.entry(target).or_default().push((function, index as u32));
                    }
                    _ => {}
                }
            }
        }
        let mut instances = Instances { single: singletons(tree), places: HashMap::new() };
        for class in used_up(tree) {
            *instances.places.entry(class).or_default() += 2;
        }
        let of_a_run = |class: ClassRef, function: FnRef| {
            let here = |known: &&(ClassRef, FnRef, Vec<Value>)| known.0 == class && known.1.file == function.file;
            let uses =
                |known: &(ClassRef, FnRef, Vec<Value>)| known.2.iter().all(|made| only_called_on(tree, known.1, made, class));
            let all: Vec<_> = objects.iter().filter(here).collect();
            all.len() > 1 && all.into_iter().all(uses)
        };
        for (class, function, given_out) in made {
            // A method that whoever tries the file by itself calls gives its object to those who call it elsewhere.
            let tried = given_out && tried.contains(&function);
            if record(tree, class) {
                *instances.places.entry(class).or_default() += 2;
            } else if function.func == 0 || once(function) || given_out && !tried && at_start(&callers, function) {
                instances.single.insert(class);
            } else {
                // A function that the start of the program calls, and nothing else, keeps what it makes for as long as it runs.
                // What several functions of a file make and use up there is each run's.
                if !tried && runs_once(&callers, &once, function, 0) && !of_a_run(class, function) {
                    instances.single.insert(class);
                }
                // Who only works with it there makes one each time.
                let once_each = |(caller, at): &(FnRef, u32)| {
                    let starts = caller.func == 0 || once(*caller) || runs_once(&callers, &once, *caller, 0);
                    if !starts && worked_with(tree, *caller, &Value::Result(*caller, *at)) { 2 } else { 1 }
                };
                let times = if given_out { calls.get(&function).map_or(0, |calls| calls.iter().map(once_each).sum()) } else { 2 };
                *instances.places.entry(class).or_default() += times;
            }
        }
        // What is made elsewhere too serves there, and here the one who tries the file by itself.
        let alone = by_program.into_iter().filter(|class| !instances.places.contains_key(class));
        instances.single.extend(alone.collect::<Vec<_>>());
        instances
    }

    /// How many instances of a class one process makes.
    pub fn made(&self, class: ClassRef) -> Instance {
        if self.single.contains(&class) {
            return Instance::Single;
        }
        match self.places.get(&class) {
            Some(places) if *places > 1 => Instance::Many,
            _ => Instance::Unseen,
        }
    }
}

/// Whether an event happens only where the program was started with its file (`if __name__ == "__main__":`).
fn started_with(tree: &Tree, facts: &FnFacts, event: &Event) -> bool {
    let names = &tree.book.reach.starter_names;
    let asks = |part: &Value| matches!(part, Value::Global(name) if names.iter().any(|known| **known == **name));
    event.guards.iter().any(|guard| facts.conds.get(guard.cond as usize).is_some_and(|cond| cond.value.any(&asks)))
}

/// Classes whose objects are made by functions that give out a literal of them, and that nobody keeps: at each call of these, what it gives
/// is only called on, there and then, by methods that give something else.
fn used_up(tree: &Tree) -> HashSet<ClassRef> {
    let mut makers: HashMap<FnRef, ClassRef> = HashMap::new();
    for function in tree.all_functions() {
        for event in tree.facts(function).into_iter().flat_map(|facts| &facts.events) {
            if let Act::Exit { value: value @ Value::Object(Some(_), _), .. } = &event.act
                && let Ty::Instance(class) = tree.ty(value, function.file)
            {
                makers.insert(function, class);
            }
        }
    }
    let (mut used, mut kept) = (HashSet::new(), HashSet::new());
    for function in tree.all_functions() {
        let Some(facts) = tree.facts(function) else { continue };
        for (index, event) in facts.events.iter().enumerate() {
            let Act::Call { callee: callee @ (Value::Member(..) | Value::Module(..)), .. } = &event.act else { continue };
            let Ty::Function(maker) = tree.ty(callee, function.file) else { continue };
            let Some(class) = makers.get(&maker) else { continue };
            let made = Value::Result(function, index as u32);
            let here = function.func != 0 && only_called_on(tree, function, &made, *class);
            if here {
                used.insert(*class)
            } else {
                kept.insert(*class)
            };
        }
    }
    used.retain(|class| !kept.contains(class));
    used
}

/// Whether a function keeps an object it was given under a name of its own, calls its methods, and neither hands it on nor has
/// functions inside that know it.
fn worked_with(tree: &Tree, function: FnRef, made: &Value) -> bool {
    let Some(facts) = tree.facts(function) else { return false };
    let about = |value: &Value| value.any(&|part| part == made);
    let mut called = false;
    for event in &facts.events {
        match &event.act {
            Act::Call { callee: Value::Member(of, _), args, .. } if **of == *made => {
                called = true;
                if args.iter().any(|(_, value)| about(value)) {
                    return false;
                }
            }
            act => {
                let mut mentioned = false;
                act.each_value(&mut |value| mentioned |= about(value));
                if mentioned {
                    return false;
                }
            }
        }
    }
    let names: Vec<&Atom> = facts.locals.iter().filter(|(_, value)| about(value)).map(|(name, _)| name).collect();
    let taken = |value: &Value| {
        value.any(&|part| matches!(part, Value::Captured(owner, name) if *owner == function && names.contains(&name)))
    };
    let inside = tree.files.get(function.file as usize).map(|file| &file.functions[..]).unwrap_or_default();
    let captured = inside.iter().any(|inner| {
        let mut found = inner.conds.iter().any(|cond| taken(&cond.value));
        inner.events.iter().for_each(|event| event.act.each_value(&mut |value| found |= taken(value)));
        found
    });
    called && !captured
}

/// Whether all that a function does with an object is to call methods that give no such object again.
fn only_called_on(tree: &Tree, function: FnRef, made: &Value, class: ClassRef) -> bool {
    let Some(facts) = tree.facts(function) else { return false };
    let about = |value: &Value| value.any(&|part| part == made);
    let mut called = false;
    for event in &facts.events {
        match &event.act {
            Act::Call { callee: callee @ Value::Member(of, _), args, .. } if **of == *made => {
                let again = tree.called(callee, args, function.file, 0) == Ty::Instance(class);
                if again || args.iter().any(|(_, value)| about(value)) {
                    return false;
                }
                called = true;
            }
            act => {
                let mut mentioned = false;
                act.each_value(&mut |value| mentioned |= about(value));
                if mentioned {
                    return false;
                }
            }
        }
    }
    called && !facts.locals.values().any(about) && !facts.conds.iter().any(|cond| about(&cond.value))
}

/// Whether a module calls a function as it is loaded.
fn at_start(callers: &HashMap<FnRef, Vec<FnRef>>, function: FnRef) -> bool {
    callers.get(&function).is_some_and(|callers| callers.iter().any(|caller| caller.func == 0))
}

/// Whether a function runs once: one place calls it, which runs once when the program starts.
fn runs_once(callers: &HashMap<FnRef, Vec<FnRef>>, once: &dyn Fn(FnRef) -> bool, function: FnRef, depth: u32) -> bool {
    match callers.get(&function).map(Vec::as_slice) {
        Some([caller]) if depth < 8 => {
            caller.func == 0 || once(*caller) || *caller != function && runs_once(callers, once, *caller, depth + 1)
        }
        _ => false,
    }
}

/// Functions that are registered to be entered, and how. What is handed on where an application is put together is.
fn handlers(tree: &Tree) -> HashMap<FnRef, String> {
    let enters = |meant: &Meant| match meant.is {
        Meaning::Entry => Some(meant.text("kind").unwrap_or_else(|| "http".to_owned())),
        Meaning::Job => Some("job".to_owned()),
        _ => None,
    };
    let mut handlers: HashMap<FnRef, String> = HashMap::new();
    for function in tree.all_functions() {
        let Some(facts) = tree.facts(function) else { continue };
        let marks = facts.decorators.iter().filter_map(|(mark, _)| super::decorator(tree, mark, function.file));
        if let Some(kind) = marks.into_iter().find_map(|meant| enters(&meant)) {
            handlers.insert(function, kind);
        }
        let serves = |event: &Event| match &event.act {
            Act::Call { callee, args, .. } => {
                super::meaning(tree, callee, args, function.file).is_some_and(|meant| meant.is == Meaning::Serve)
            }
            _ => false,
        };
        let inside = |given: &FnRef| {
            given.file == function.file
                && tree.function(*given).and_then(|f| f.parent).is_some_and(|parent| parent.0 == function.func)
        };
        for event in &facts.events {
            let Act::Call { callee, args, .. } = &event.act else { continue };
            let given: Vec<FnRef> = args.iter().flat_map(|(_, value)| given(tree, value, function.file)).collect();
            if !given.is_empty()
                && let Some(kind) = super::meaning(tree, callee, args, function.file).and_then(|meant| enters(&meant))
            {
                handlers.extend(given.into_iter().map(|given| (given, kind.clone())));
            } else if function.func != 0 && given.iter().any(inside) && facts.events.iter().any(serves) {
                given.into_iter().filter(inside).for_each(|given| _ = handlers.entry(given).or_insert_with(|| "http".to_owned()));
            }
        }
    }
    handlers
}

/// A function that an argument is, by itself or by its name.
fn given(tree: &Tree, value: &Value, file: u32) -> Option<FnRef> {
    match value {
        Value::Function(given) => Some(*given),
        Value::Module(..) | Value::Captured(..) => match tree.ty(value, file) {
            Ty::Function(given) => Some(given),
            _ => None,
        },
        _ => None,
    }
}

/// Variables of functions that a handler uses which is written inside them: what they hold lives for as long as it is registered.
fn used_by(tree: &Tree, handlers: &HashMap<FnRef, String>) -> HashSet<(FnRef, Atom)> {
    let mut used = HashSet::new();
    for handler in handlers.keys() {
        let Some(facts) = tree.facts(*handler) else { continue };
        let mut note = |value: &Value| {
            value.walk(&mut |part| {
                if let Value::Captured(function, name) = part {
                    used.insert((*function, name.clone()));
                }
            });
        };
        facts.conds.iter().for_each(|cond| note(&cond.value));
        facts.events.iter().for_each(|event| event.act.each_value(&mut note));
    }
    used
}

/// Whether objects of a class are rows of a table: as many as there are rows.
fn record(tree: &Tree, class: ClassRef) -> bool {
    let marks = tree.files.get(class.file as usize).and_then(|facts| facts.class_marks.get(&class.class));
    marks
        .into_iter()
        .flatten()
        .any(|(mark, _)| super::decorator(tree, mark, class.file).is_some_and(|meant| meant.is == Meaning::Table))
        || tree.base_type(class, 0).is_some_and(|id| tree.packs(class.file).kind(&id) == TypeKind::Entity)
}

/// Where a function keeps an object it makes.
enum Kept {
    /// In no state that outlives the call.
    Nowhere,
    /// In a variable of a module, or an entry of one.
    ByModule,
    /// In a field of an object, or an entry of one: as long as that object.
    ByObject,
}

fn kept(tree: &Tree, function: FnRef, made: &Value) -> Kept {
    let mut found = Kept::Nowhere;
    for event in tree.facts(function).into_iter().flat_map(|facts| &facts.events) {
        let keeper = match &event.act {
            Act::Write { place: Value::Index(of, _) | Value::Member(of, _), value, .. }
                if holds(value, made) && carries(tree, of) =>
            {
                return Kept::ByModule;
            }
            Act::Write { place: place @ (Value::Index(..) | Value::Module(..)), value, .. } if value == made => place,
            Act::Call { callee: Value::Member(of, method), args, .. }
                if args.iter().any(|(_, value)| value == made) && puts(tree, function.file, of, method) =>
            {
                of
            }
            _ => continue,
        };
        let mut root = keeper;
        while let Value::Index(of, _) | Value::Member(of, _) = root {
            root = of;
        }
        match root {
            // Taken out again where the run ends that put it there, it is that run's.
            Value::Module(..) if taken_out_at_the_end(tree, function.file, keeper) => found = Kept::ByObject,
            Value::Module(..) => return Kept::ByModule,
            Value::This(_) => found = Kept::ByObject,
            _ => {}
        }
    }
    found
}

/// Whether a file takes entries out of a container in a `finally`, itself or by a function of its own.
fn taken_out_at_the_end(tree: &Tree, file: u32, keeper: &Value) -> bool {
    let removes = |event: &Event| match &event.act {
        Act::Delete { place: Value::Index(of, _) } => **of == *keeper,
        Act::Call { callee: callee @ Value::Member(of, _), args, .. } => {
            **of == *keeper && super::meaning(tree, callee, args, file).is_some_and(|meant| meant.is == Meaning::Remove)
        }
        _ => false,
    };
    let leads = |event: &Event| match &event.act {
        Act::Call { callee: callee @ Value::Module(..), .. } => match tree.ty(callee, file) {
            Ty::Function(helper) => tree.facts(helper).is_some_and(|facts| facts.events.iter().any(removes)),
            _ => false,
        },
        _ => false,
    };
    let functions = tree.files.get(file as usize).map(|facts| &facts.functions[..]).unwrap_or_default();
    functions.iter().flat_map(|function| &function.events).any(|event| event.in_finally && (removes(event) || leads(event)))
}

/// Whether a value is what was made, or a literal with it inside.
fn holds(value: &Value, made: &Value) -> bool {
    match value {
        Value::Object(_, entries) => entries.iter().any(|(_, inside)| holds(inside, made)),
        Value::List(items) => items.iter().any(|inside| holds(inside, made)),
        other => other == made,
    }
}

/// Whether a value is an object on which programs hang things for as long as they run.
fn carries(tree: &Tree, of: &Value) -> bool {
    let file = owner_file(of);
    let ty = tree.ty(of, file);
    ty.path().is_some_and(|path| tree.packs(file).kind(path) == TypeKind::Carrier)
}

/// Whether a method puts something into a container.
fn puts(tree: &Tree, file: u32, of: &Value, method: &Atom) -> bool {
    let callee = Value::Member(Arc::new(of.clone()), method.clone());
    super::meaning(tree, &callee, &[], file).is_some_and(|meant| matches!(meant.is, Meaning::Put | Meaning::Get))
}

/// Classes that a framework makes once.
fn singletons(tree: &Tree) -> HashSet<ClassRef> {
    let mut found = HashSet::new();
    for facts in &tree.files {
        for (index, class) in facts.unit.classes.iter().enumerate() {
            let known = class.decorators.iter().any(|decorator| {
                let callee = match &decorator.kind {
                    crate::syntax::ExprKind::Call(call) => &call.callee,
                    _ => decorator,
                };
                let crate::syntax::ExprKind::Name(name) = &callee.kind else { return false };
                let value = Value::Module(facts.file, name.as_str().into());
                super::meaning(tree, &value, &[], facts.file)
                    .is_some_and(|meant| matches!(meant.is, Meaning::Singleton | Meaning::Entry))
            });
            if known {
                found.insert(ClassRef { file: facts.file, class: index as u32 });
            }
        }
    }
    found
}
