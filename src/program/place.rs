//! Where state lives and how long: the variable, field or closure behind a value, and whether one process keeps it.

use super::flat::{FlatEvent, Look, What, plain};
use super::instances::{Instance, Instances};
use super::made::{holds_state, unwrapped};
use super::tree::{Carried, owner_file};
use super::{ClassRef, Tree, Ty};
use crate::facts::{Act, FnRef, Value};
use crate::files::{Atom, Language};
use crate::rules::{Meaning, TypeKind};
use crate::syntax::ExitKind;

/// What holds a piece of state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holder {
    /// A module-level variable.
    Variable(u32, Atom),
    /// A field of a class.
    Field(ClassRef, Atom),
    /// A variable of a function, kept by a function inside it.
    Closure(FnRef, Atom),
    /// A value made anew in this call: the event that makes it.
    Local(u32),
    /// A parameter.
    Param(FnRef, u32),
    /// A property of the global object.
    Global(Atom),
    /// State that a library keeps, by the id of its type among the language's packs.
    Library(Language, Atom),
    /// What the program hangs on an object of a library, under this name, at this event of this function.
    Carried(FnRef, u32, Atom),
}

/// A piece of state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// What holds it.
    pub holder: Holder,
    /// Members below the holder.
    pub path: Vec<Atom>,
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

    /// What a variable of a module or a field is as it is made, before anything is put there.
    pub fn first(&self, tree: &Tree) -> Option<Value> {
        match &self.holder {
            Holder::Variable(file, name) => Some(tree.files.get(*file as usize)?.names.get(name)?.value.clone()),
            Holder::Field(class, name) => tree.field_value(*class, name),
            _ => None,
        }
    }
}

/// State that a library keeps and every file of the process takes from it.
fn library_state(tree: &Tree, value: &Value) -> Option<Place> {
    let file = owner_file(value);
    match tree.ty(value, file) {
        Ty::Lib { path, .. } if tree.packs(file).kind(&path) == TypeKind::State => {
            Some(Place::of(Holder::Library(tree.files.get(file as usize)?.unit.language, path)))
        }
        _ => None,
    }
}

/// The state behind a value, if it is any.
pub fn place_of(tree: &Tree, events: &[FlatEvent], value: &Value) -> Option<Place> {
    find(&Look { tree, events }, value, 0)
}

/// How many names, members and calls a value is followed through.
const DEEPEST: u32 = 20;
/// As so many of them counts a function that gives state out: it may do so in many places, each of them a call again.
const A_FUNCTION: u32 = 6;

fn find(look: &Look<'_>, value: &Value, depth: u32) -> Option<Place> {
    if depth > DEEPEST {
        return None;
    }
    let tree = look.tree;
    match value {
        Value::Module(..) => match tree.definition(value) {
            Value::Module(file, name) => {
                let Some(known) = tree.files.get(file as usize)?.names.get(&name) else { return library_state(tree, value) };
                // An alias of other state (`const limiter = state.limiter`) is that state.
                match (&known.value, known.reassigned) {
                    (Value::Module(..) | Value::Member(..), false) if !matches!(&known.value, Value::Module(same, again) if *same == file && *again == name) => {
                        find(look, &known.value, depth + 1).or(Some(Place::of(Holder::Variable(file, name))))
                    }
                    (Value::Function(_), _) => None,
                    _ => Some(Place::of(Holder::Variable(file, name))),
                }
            }
            _ => library_state(tree, value),
        },
        Value::Member(base, name) => {
            if let Value::Global(object) = &**base
                && matches!(&**object, "globalThis" | "global" | "window")
            {
                return Some(Place::of(Holder::Global(name.clone())));
            }
            // A member of an entry is the container's, whatever class the entry is of.
            if matches!(&**base, Value::Flat(_) | Value::Result(..) | Value::Index(..))
                && let Some(entry) = find(look, base, depth + 1).filter(|entry| entry.keyed && contains(tree, entry))
            {
                let path = entry.path.iter().cloned().chain([name.clone()]).collect();
                return Some(Place { path, ..entry });
            }
            let file = owner_file(base);
            let ty = unwrapped(tree, tree.ty(&plain(look.events, base), file), file);
            match ty {
                // What is only said to look so is kept where the object is.
                Ty::Instance(class) if is_shape(tree, class) && tree.done_by(class).is_none() => {}
                Ty::Instance(class) | Ty::Class(class) => {
                    let owner = declaring(tree, class, name, 0);
                    return Some(Place::of(Holder::Field(owner, name.clone())));
                }
                Ty::Module(file) => return find(look, &Value::Module(file, name.clone()), depth + 1),
                ty => {
                    if let Some(hung) = carried(look, &ty, &Value::Text(name.clone()), file, depth) {
                        return Some(hung);
                    }
                }
            }
            let mut place = find(look, base, depth + 1)?;
            place.path.push(name.clone());
            Some(place)
        }
        Value::Index(base, key)
            if matches!(&**key, Value::Text(_) | Value::Module(..) | Value::Member(..))
                && let file = owner_file(base)
                && let Some(hung) = carried(look, &tree.ty(&plain(look.events, base), file), key, file, depth) =>
        {
            Some(hung)
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
        Value::Result(function, index) => {
            let Some(meant) = look.meaning(value, owner_file(value)) else {
                return given(look, *function, *index, depth + A_FUNCTION);
            };
            match meant.is {
                Meaning::Pass | Meaning::Acquire => {
                    find(look, meant.part("of").or_else(|| meant.part("lock")).unwrap_or(&meant.receiver), depth + 1)
                }
                Meaning::Get => Some(Place { keyed: true, ..find(look, &meant.receiver, depth + 1)? }),
                _ => None,
            }
        }
        // What was made where nothing was found is put there too.
        Value::Any(_) | Value::Choose(_) => {
            let mut found = value.options().into_iter().filter_map(|option| find(look, option, depth + 1));
            let first = found.next()?;
            match first.holder {
                Holder::Local(_) => found.find(|place| !matches!(place.holder, Holder::Local(_))).or(Some(first)),
                _ => Some(first),
            }
        }
        Value::Param(function, index) => Some(Place::of(Holder::Param(*function, *index))),
        _ => None,
    }
}

/// The state that a function of the tree gives, where a call of it is written.
fn given(look: &Look<'_>, function: FnRef, index: u32, depth: u32) -> Option<Place> {
    let Act::Call { callee, .. } = &look.tree.facts(function)?.events.get(index as usize)?.act else { return None };
    let Ty::Function(target) = look.tree.ty(callee, function.file) else { return None };
    look.tree.facts(target)?.events.iter().find_map(|event| match &event.act {
        Act::Exit { kind: ExitKind::Return, value } => find(look, value, depth + 1).filter(|place| place.keyed),
        _ => None,
    })
}

/// What hangs under a key on an object of a library; where that is other state of the program, it is that state.
fn carried(look: &Look<'_>, on: &Ty, key: &Value, file: u32, depth: u32) -> Option<Place> {
    let found = look.tree.carried(on, key, file)?;
    let value = look.tree.carried_value(found)?;
    let alias = match value {
        Value::Module(..) | Value::Member(..) => find(look, value, depth + 1),
        _ => None,
    };
    let name = look.tree.name_of(key).map(Atom::from).or_else(|| key.text().map(Atom::from)).unwrap_or_default();
    alias.or(Some(Place::of(Holder::Carried(found.function, found.event, name))))
}

/// Whether a type only says what objects look like.
pub(in crate::program) fn is_shape(tree: &Tree, class: ClassRef) -> bool {
    tree.class(class).is_some_and(|known| known.is_shape)
}

/// Whether a place is a container that a module or an object keeps.
fn contains(tree: &Tree, place: &Place) -> bool {
    if matches!(place.first(tree), Some(Value::Object(None, _))) {
        return true;
    }
    let (ty, file) = match &place.holder {
        Holder::Variable(file, name) => (tree.ty(&Value::Module(*file, name.clone()), *file), *file),
        Holder::Field(class, name) => (tree.member(&Ty::Instance(*class), name, class.file), class.file),
        Holder::Carried(function, event, _) => match tree.carried_value(Carried { function: *function, event: *event }) {
            Some(value) => (tree.ty(value, function.file), function.file),
            None => return false,
        },
        _ => return false,
    };
    match unwrapped(tree, ty, file) {
        Ty::Lib { path, of, .. } => match tree.packs(file).kind(&path) {
            TypeKind::State => true,
            TypeKind::Lock => of.first().is_some_and(|inner| holds_state(tree, inner, file)),
            _ => false,
        },
        _ => false,
    }
}

/// The class up the line that declares a field.
fn declaring(tree: &Tree, class: ClassRef, name: &str, depth: u32) -> ClassRef {
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
    // What only names its methods keeps nothing: its fields are those of the class that does the work.
    match tree.done_by(class) {
        Some(doer) if doer != class && depth < 2 => declaring(tree, doer, name, depth + 1),
        _ => class,
    }
}

/// How long a piece of state lives.
pub fn lifetime(tree: &Tree, classes: &Instances, place: &Place) -> Lifetime {
    match &place.holder {
        Holder::Variable(..) | Holder::Global(_) | Holder::Library(..) | Holder::Carried(..) => Lifetime::Process { sure: true },
        Holder::Field(class, name) => {
            // A plain value at class level is the first value of each object's own, unless the class's is written.
            let is_static =
                tree.class(*class).is_some_and(|known| known.fields.iter().any(|field| field.name == **name && field.is_static))
                    && (holds(tree, *class, name) || written_on_class(tree, *class, name));
            match classes.made(*class) {
                _ if kept_beside(tree, classes, *class, name) => Lifetime::Call,
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

/// Whether a field keeps entries by objects that come and go, a request's context: its entries are theirs.
fn kept_beside(tree: &Tree, classes: &Instances, class: ClassRef, name: &Atom) -> bool {
    match tree.member(&Ty::Instance(class), name, class.file) {
        Ty::Lib { path, of, .. } if of.len() > 1 && tree.packs(class.file).kind(&path) == TypeKind::State => {
            matches!(of[0], Ty::Instance(key) if classes.made(key) == Instance::Many)
        }
        _ => false,
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

/// Whether methods write a field of the class itself, not of an object (`cls.running = True`, `Pool.running = true`).
fn written_on_class(tree: &Tree, class: ClassRef, name: &Atom) -> bool {
    let methods = tree.class(class).into_iter().flat_map(|known| &known.methods);
    methods.filter_map(|method| tree.facts(FnRef { file: class.file, func: method.0 })).flat_map(|facts| &facts.events).any(
        |event| match &event.act {
            Act::Write { place: Value::Member(of, field), .. } if field == name => {
                matches!(tree.ty(of, class.file), Ty::Class(owner) if owner == class)
            }
            _ => false,
        },
    )
}

/// Whether a field is a container or a lock, or an object that has one.
fn holds(tree: &Tree, class: ClassRef, name: &Atom) -> bool {
    holds_at(tree, class, name, 0)
}

fn holds_at(tree: &Tree, class: ClassRef, name: &Atom, depth: u32) -> bool {
    match unwrapped(tree, tree.member(&Ty::Instance(class), name, class.file), class.file) {
        Ty::Lib { path, .. } => matches!(tree.packs(class.file).kind(&path), TypeKind::State | TypeKind::Lock),
        Ty::Literal(_) => true,
        Ty::Instance(shape) if depth < 3 && is_shape(tree, shape) => tree
            .class(shape)
            .is_some_and(|known| known.fields.iter().any(|field| holds_at(tree, shape, &field.name.as_str().into(), depth + 1))),
        _ => false,
    }
}
