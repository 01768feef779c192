//! Where state lives and how long: the variable, field or closure behind a value, and whether one process keeps it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::flat::{Flat, FlatEvent, Look, What, plain};
use super::tree::owner_file;
use super::{ClassRef, Tree, Ty};
use crate::facts::{Act, FnRef, Value};
use crate::files::Span;
use crate::rules::{Meaning, Scope, TypeKind};

/// What holds a piece of state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A module-level variable.
    Variable(u32, Arc<str>),
    /// A field of a class.
    Field(ClassRef, Arc<str>),
    /// A variable of a function, kept by a function inside it.
    Closure(FnRef, Arc<str>),
    /// A value made anew in this call: the event that makes it.
    Local(u32),
    /// A parameter.
    Param(FnRef, u32),
    /// A property of the global object.
    Global(Arc<str>),
}

/// A piece of state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// What holds it.
    pub holder: Holder,
    /// Members below the holder.
    pub path: Vec<Arc<str>>,
    /// An element of it, not all of it.
    pub keyed: bool,
}

/// How long state lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// One call.
    Call,
    /// One process; `false` where that is presumed.
    Process {
        /// Whether it was seen, not presumed.
        sure: bool,
    },
}

impl Place {
    fn of(holder: Holder) -> Place {
        Place { holder, path: vec![], keyed: false }
    }

    /// Whether this is the same state as another, or an element or member of it.
    pub fn same(&self, other: &Place) -> bool {
        self.holder == other.holder && self.path.iter().zip(&other.path).all(|(left, right)| left == right)
    }
}

/// The state behind a value, if it is any.
pub fn place_of(tree: &Tree, events: &[FlatEvent], value: &Value) -> Option<Place> {
    find(&Look { tree, events }, value, 0)
}

fn find(look: &Look<'_>, value: &Value, depth: u32) -> Option<Place> {
    if depth > 20 {
        return None;
    }
    let tree = look.tree;
    match value {
        Value::Module(..) => match tree.definition(value) {
            Value::Module(file, name) => {
                let known = tree.files.get(file as usize)?.names.get(&name)?;
                // An alias of other state (`const limiter = state.limiter`) is that state.
                match (&known.value, known.reassigned) {
                    (Value::Module(..) | Value::Member(..), false) if !matches!(&known.value, Value::Module(same, again) if *same == file && *again == name) => {
                        find(look, &known.value, depth + 1).or(Some(Place::of(Holder::Variable(file, name))))
                    }
                    (Value::Function(_), _) => None,
                    _ => Some(Place::of(Holder::Variable(file, name))),
                }
            }
            _ => None,
        },
        Value::Member(base, name) => {
            if let Value::Global(object) = &**base
                && matches!(&**object, "globalThis" | "global" | "window")
            {
                return Some(Place::of(Holder::Global(name.clone())));
            }
            let ty = tree.ty(&plain(look.events, base), owner_file(base));
            match ty {
                Ty::Instance(class) | Ty::Class(class) => {
                    let owner = declaring(tree, class, name);
                    return Some(Place::of(Holder::Field(owner, name.clone())));
                }
                Ty::Module(file) => return find(look, &Value::Module(file, name.clone()), depth + 1),
                _ => {}
            }
            let mut place = find(look, base, depth + 1)?;
            place.path.push(name.clone());
            Some(place)
        }
        Value::Index(base, _) | Value::Element(base) => Some(Place { keyed: true, ..find(look, base, depth + 1)? }),
        Value::Captured(function, name) => {
            let known = tree.facts(*function).and_then(|facts| facts.locals.get(name));
            match known {
                Some(alias @ (Value::Module(..) | Value::Member(..) | Value::Captured(..))) if alias != value => {
                    find(look, alias, depth + 1).or(Some(Place::of(Holder::Closure(*function, name.clone()))))
                }
                _ => Some(Place::of(Holder::Closure(*function, name.clone()))),
            }
        }
        Value::Flat(index) => {
            let event = look.events.get(*index as usize)?;
            match &event.what {
                What::Meant(meant) => match meant.is {
                    Meaning::Pass | Meaning::Acquire => {
                        let of = meant.part("of").or_else(|| meant.part("lock")).unwrap_or(&meant.receiver);
                        find(look, of, depth + 1)
                    }
                    Meaning::Get => Some(Place { keyed: true, ..find(look, &meant.receiver, depth + 1)? }),
                    _ => Some(Place::of(Holder::Local(*index))),
                },
                What::Nothing => {
                    let returned = event.returns.iter().find_map(|(value, _)| find(look, value, depth + 1));
                    returned.or(Some(Place::of(Holder::Local(*index))))
                }
                _ => None,
            }
        }
        Value::Result(..) => {
            let meant = look.meaning(value, owner_file(value))?;
            match meant.is {
                Meaning::Pass | Meaning::Acquire => {
                    find(look, meant.part("of").or_else(|| meant.part("lock")).unwrap_or(&meant.receiver), depth + 1)
                }
                Meaning::Get => Some(Place { keyed: true, ..find(look, &meant.receiver, depth + 1)? }),
                _ => None,
            }
        }
        Value::Any(_) | Value::Choose(_) => value.options().into_iter().find_map(|option| find(look, option, depth + 1)),
        Value::Param(function, index) => Some(Place::of(Holder::Param(*function, *index))),
        _ => None,
    }
}

/// The class up the line that declares a field.
fn declaring(tree: &Tree, class: ClassRef, name: &str) -> ClassRef {
    let mut at = class;
    for _ in 0..8 {
        let Some(found) = tree.class(at) else { break };
        if found.fields.iter().any(|field| field.name == name) || tree.field_value(at, name).is_some() {
            return at;
        }
        let own = FnRef { file: at.file, func: found.parent.0 };
        let base = found.bases.iter().find_map(|base| match tree.declared(base, own) {
            Ty::Instance(base) if base != at => Some(base),
            _ => None,
        });
        match base {
            Some(base) => at = base,
            None => break,
        }
    }
    class
}

/// How long a piece of state lives.
pub fn lifetime(tree: &Tree, classes: &Instances, place: &Place) -> Lifetime {
    match &place.holder {
        Holder::Variable(..) | Holder::Global(_) => Lifetime::Process { sure: true },
        Holder::Field(class, name) => {
            let is_static =
                tree.class(*class).is_some_and(|class| class.fields.iter().any(|field| field.name == **name && field.is_static));
            match classes.made(*class) {
                _ if is_static => Lifetime::Process { sure: true },
                Instance::Single => Lifetime::Process { sure: true },
                Instance::Many => Lifetime::Call,
                // A container or a lock in an object nobody is seen to make anew; a plain field is as likely data of a request.
                Instance::Unseen if holds(tree, *class, name) => Lifetime::Process { sure: false },
                Instance::Unseen => Lifetime::Call,
            }
        }
        Holder::Closure(function, _) => {
            if escapes(tree, *function) {
                Lifetime::Process { sure: false }
            } else {
                Lifetime::Call
            }
        }
        Holder::Local(_) | Holder::Param(..) => Lifetime::Call,
    }
}

/// Whether a function gives out functions written inside it, which then keep its variables.
fn escapes(tree: &Tree, function: FnRef) -> bool {
    let Some(facts) = tree.facts(function) else { return false };
    facts.events.iter().any(|event| match &event.act {
        Act::Exit { value, .. } => value.any(&|part| matches!(part, Value::Function(_))) || value.any(&|part| {
            matches!(part, Value::Captured(owner, name) if *owner == function && matches!(facts.locals.get(name), Some(Value::Function(_))))
        }),
        _ => false,
    })
}

/// Whether a field is a container or a lock.
fn holds(tree: &Tree, class: ClassRef, name: &Arc<str>) -> bool {
    match unwrapped(tree, tree.member(&Ty::Instance(class), name, class.file), class.file) {
        Ty::Lib { path, .. } => matches!(tree.packs(class.file).kind(&path), TypeKind::State | TypeKind::Lock),
        Ty::Literal(_) => true,
        _ => false,
    }
}

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
        let mut calls: HashMap<FnRef, usize> = HashMap::new();
        let mut at_start: HashSet<FnRef> = HashSet::new();
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
                        let given_out = facts.events.iter().any(|other| match &other.act {
                            Act::Exit { value, .. } => value.any(&|part| *part == result),
                            _ => false,
                        });
                        made.push((class, function, given_out));
                    }
                    Ty::Function(target) => {
                        *calls.entry(target).or_default() += 1;
                        if function.func == 0 {
                            at_start.insert(target);
                        }
                    }
                    _ => {}
                }
            }
        }
        let mut instances = Instances { single: singletons(tree), places: HashMap::new() };
        for (class, function, given_out) in made {
            if function.func == 0 || given_out && at_start.contains(&function) {
                instances.single.insert(class);
            } else {
                let times = if given_out { calls.get(&function).copied().unwrap_or(0) } else { 2 };
                *instances.places.entry(class).or_default() += times;
            }
        }
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

/// What a piece of state is made of, where its holder shows it: the type's kind, how far it reaches, and its declaration.
pub struct Made {
    /// What its type is.
    pub kind: TypeKind,
    /// How far it reaches.
    pub scope: Scope,
    /// It drops entries by itself.
    pub evicts: bool,
    /// Where it is declared.
    pub at: Option<(u32, Span)>,
}

/// What a piece of state is made of.
pub fn made_of(tree: &Tree, flat: &Flat, place: &Place) -> Made {
    let (value, file, at) = match &place.holder {
        Holder::Variable(file, name) => {
            let known = tree.files.get(*file as usize).and_then(|facts| facts.names.get(name));
            (Value::Module(*file, name.clone()), *file, known.map(|known| (*file, known.span)))
        }
        Holder::Field(class, name) => {
            let field = tree.class(*class).and_then(|class| class.fields.iter().find(|field| field.name == **name));
            let at = field.map(|field| (class.file, field.span)).or_else(|| assigned_in(tree, *class, name));
            let ty = unwrapped(tree, tree.member(&Ty::Instance(*class), name, class.file), class.file);
            return made_of_ty(tree, &ty, class.file, at);
        }
        Holder::Closure(function, name) => {
            let value = Value::Captured(*function, name.clone());
            (value, function.file, None)
        }
        Holder::Local(index) => {
            let event = flat.events.get(*index as usize);
            (Value::Flat(*index), event.map_or(0, |event| event.origin.0.file), event.map(|event| (event.at.file, event.at.span)))
        }
        Holder::Param(function, index) => (Value::Param(*function, *index), function.file, None),
        Holder::Global(_) => (Value::Unknown, 0, None),
    };
    let ty = unwrapped(tree, tree.ty(&flat.plain(&value), file), file);
    made_of_ty(tree, &ty, file, at)
}

fn made_of_ty(tree: &Tree, ty: &Ty, file: u32, at: Option<(u32, Span)>) -> Made {
    let (kind, scope, evicts) = match ty {
        // A lock that holds its data (`Mutex<HashMap<..>>`) is that data to whoever locks it.
        Ty::Lib { path, of, .. }
            if tree.packs(file).kind(path) == TypeKind::Lock
                && of.first().is_some_and(|inner| holds_state(tree, inner, file)) =>
        {
            (TypeKind::State, Scope::Process, false)
        }
        Ty::Lib { path, .. } => tree
            .packs(file)
            .type_row(path)
            .map_or((TypeKind::Plain, Scope::Process, false), |row| (row.is, row.scope, row.evicts)),
        Ty::Literal(_) => (TypeKind::State, Scope::Process, false),
        _ => (TypeKind::Plain, Scope::Process, false),
    };
    Made { kind, scope, evicts, at }
}

fn holds_state(tree: &Tree, inner: &Ty, file: u32) -> bool {
    match unwrapped(tree, inner.clone(), file) {
        Ty::Lib { path, .. } => tree.packs(file).kind(&path) == TypeKind::State,
        Ty::Literal(_) => true,
        _ => false,
    }
}

fn assigned_in(tree: &Tree, class: ClassRef, name: &str) -> Option<(u32, Span)> {
    tree.class(class)?.methods.iter().find_map(|method| {
        let function = FnRef { file: class.file, func: method.0 };
        tree.facts(function)?.events.iter().find_map(|event| match &event.act {
            Act::Write { place: Value::Member(of, field), .. } if matches!(**of, Value::This(_)) && **field == *name => {
                Some((class.file, event.span))
            }
            _ => None,
        })
    })
}

/// The type inside wrappers.
pub fn unwrapped(tree: &Tree, ty: Ty, file: u32) -> Ty {
    let mut ty = ty;
    for _ in 0..6 {
        match &ty {
            Ty::Lib { path, .. } if tree.packs(file).kind(path) == TypeKind::Wrapper => {
                let inner = ty.first_arg();
                if inner.is_unknown() {
                    return ty;
                }
                ty = inner;
            }
            _ => return ty,
        }
    }
    ty
}
