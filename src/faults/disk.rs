//! Files and folders behind paths: whether a lock file lies with the files that the work under it is on. Whoever has these files
//! has the lock.

use std::collections::HashSet;

use super::regions::Region;
use super::view::View;
use crate::facts::{Act, FnFacts, FnRef, Piece, Value};
use crate::files::Atom;
use crate::program::{ClassRef, FlatEvent, Op, Tree, Ty, What};
use crate::rules::Meaning;
use crate::syntax::ExitKind;

/// How many names and calls a path is followed through.
const DEEPEST: u32 = 12;
/// How many classes may work something out under one name for it to say what an unknown object has there.
const SAME_NAME: usize = 3;

/// Whether the lock of a region lies with the files of some event under it.
pub(super) fn lies_with_files(view: &View<'_>, region: &Region) -> bool {
    let lock = lock_roots(view, region);
    !lock.is_empty()
        && view.events().any(|(index, event)| region.holds(index, event) && writes_file(event) && touches(view, event, &lock))
}

/// Whether an event is no reason for another lock than a file that lies with the files it is on: it writes one of them, or it
/// notes in the row that was named what became of one.
pub(super) fn goes_with_files(view: &View<'_>, region: &Region, event: &FlatEvent) -> bool {
    let notes = || {
        event.statement().is_some_and(|statement| {
            matches!(statement.op, Op::Update | Op::Save) && (!statement.wheres.is_empty() || statement.entity.is_some())
        })
    };
    notes() || writes_file(event) && touches(view, event, &lock_roots(view, region))
}

fn writes_file(event: &FlatEvent) -> bool {
    event.meant(Meaning::Effect).is_some_and(|meant| meant.text("scope").as_deref() == Some("host"))
}

fn lock_roots(view: &View<'_>, region: &Region) -> HashSet<Root> {
    let acquire = view.event(region.acquire);
    let mut roots = Roots { view, found: HashSet::new(), of_program: false };
    match (&acquire.what, &acquire.act) {
        (What::Meant(meant), _) => {
            let parts = [meant.part("key"), meant.part("lock"), Some(&meant.receiver)];
            parts.into_iter().flatten().for_each(|part| roots.follow(part, 0));
        }
        (_, Act::Enter { value }) => roots.follow(value, 0),
        _ => {}
    }
    roots.found
}

/// Whether a path that a call is given, or made on, lies in one of some folders.
fn touches(view: &View<'_>, event: &FlatEvent, lock: &HashSet<Root>) -> bool {
    let Some((callee, args)) = event.call() else { return false };
    let on = match callee {
        Value::Member(of, _) => Some(&**of),
        _ => None,
    };
    args.iter().map(|(_, value)| value).chain(on).any(|value| {
        let mut roots = Roots { view, found: HashSet::new(), of_program: false };
        roots.follow(value, 0);
        !roots.found.is_disjoint(lock)
    })
}

/// Whether a method is asked for as if it were a member of this name.
fn works_out(tree: &Tree, method: FnRef, name: &str) -> bool {
    let marked = |facts: &FnFacts| facts.decorators.iter().any(|(mark, _)| matches!(mark, Value::Global(_)));
    tree.function(method)
        .is_some_and(|known| *known.name == *name && (known.flags.is_getter || tree.facts(method).is_some_and(marked)))
}

/// What a path begins with.
#[derive(PartialEq, Eq, Hash)]
enum Root {
    /// A name that a module defines.
    Name(u32, Atom),
    /// What a function was given.
    Given(FnRef, u32),
    /// What objects of a class keep.
    Field(ClassRef, Atom),
    /// A folder by its full path.
    Folder(String),
}

struct Roots<'a, 'v> {
    view: &'a View<'v>,
    found: HashSet<Root>,
    /// The last that was followed begins where the program itself lies, which is no folder of its data.
    of_program: bool,
}

impl Roots<'_, '_> {
    /// Notes all that a path begins with, from itself up.
    fn follow(&mut self, value: &Value, depth: u32) {
        let tree = self.view.world.tree;
        if depth > DEEPEST {
            return;
        }
        match value {
            Value::Op(_, pair) => self.follow(&pair[0], depth + 1),
            Value::Template(pieces) => match pieces.first() {
                Some(Piece::Value(first)) => self.follow(first, depth + 1),
                Some(Piece::Text(text)) => self.folder(text),
                None => {}
            },
            Value::Text(text) => self.folder(text),
            Value::Any(_) | Value::Choose(_) => value.options().into_iter().for_each(|option| self.follow(option, depth + 1)),
            Value::Global(name) => self.of_program |= tree.book.reach.place_names.iter().any(|known| **known == **name),
            Value::Param(function, index) => {
                self.found.insert(Root::Given(*function, *index));
            }
            Value::Module(..) => match tree.definition(value) {
                Value::Module(file, name) => self.name(file, &name, depth),
                other if other != *value => self.follow(&other, depth + 1),
                _ => {}
            },
            Value::Member(of, name) => self.member(value, of, name, depth),
            Value::Element(of) | Value::Index(of, _) => self.follow(of, depth + 1),
            Value::Flat(index) => {
                let event = self.view.event(*index);
                event.returns.iter().for_each(|(value, _)| self.follow(value, depth + 1));
                if let Some((callee, args)) = event.call().filter(|_| !event.inlined) {
                    self.called(callee, args.first().map(|(_, value)| value), event.origin.0.file, depth);
                }
            }
            Value::Result(function, index) => {
                let made = tree.facts(*function).and_then(|facts| facts.events.get(*index as usize));
                if let Some(Act::Call { callee, args, .. }) = made.map(|event| &event.act) {
                    self.called(callee, args.first().map(|(_, value)| value), function.file, depth);
                }
            }
            _ => {}
        }
    }

    /// A method of a path gives another below it or of it; a function, what it makes of its first argument.
    fn called(&mut self, callee: &Value, first: Option<&Value>, file: u32, depth: u32) {
        let tree = self.view.world.tree;
        match tree.ty(callee, file) {
            Ty::Function(function) => self.gives(function, depth),
            Ty::Lib { .. } | Ty::Class(_) => first.into_iter().for_each(|first| self.follow(first, depth + 1)),
            _ => match (callee, first) {
                (Value::Member(of, _), _) => self.follow(of, depth + 1),
                (_, Some(first)) => self.follow(first, depth + 1),
                _ => {}
            },
        }
    }

    /// What a function of the tree gives.
    fn gives(&mut self, function: FnRef, depth: u32) {
        for event in self.view.world.tree.facts(function).into_iter().flat_map(|facts| &facts.events) {
            if let Act::Exit { kind: ExitKind::Return, value } = &event.act {
                self.follow(value, depth + 2);
            }
        }
    }

    fn member(&mut self, value: &Value, of: &Value, name: &Atom, depth: u32) {
        let tree = self.view.world.tree;
        let settled = tree.settled(value);
        if settled != *value {
            return self.follow(&settled, depth + 1);
        }
        if let Value::Module(file, name) = tree.definition(value) {
            return self.name(file, &name, depth);
        }
        let file = self.view.root().file;
        match tree.ty(&self.view.flat.plain(of), file) {
            // A setting, by the name under which modules of the tree define it.
            Ty::Lib { .. } if matches!(of, Value::Module(..)) => {
                let defining = tree.files.iter().filter(|facts| facts.names.contains_key(name)).map(|facts| facts.file);
                defining.collect::<Vec<_>>().into_iter().for_each(|file| self.name(file, name, depth));
            }
            Ty::Instance(class) | Ty::Class(class) => {
                self.found.insert(Root::Field(class, name.clone()));
                if let Some(kept) = tree.field_value(class, name) {
                    self.follow(&kept, depth + 1);
                }
                if let Ty::Function(getter) = tree.ty(&self.view.flat.plain(value), file) {
                    self.gives(getter, depth);
                }
                let methods = tree.class(class).into_iter().flat_map(|known| &known.methods);
                let methods = methods.map(|method| FnRef { file: class.file, func: method.0 });
                let getters: Vec<FnRef> = methods.filter(|method| works_out(tree, *method, name)).collect();
                getters.into_iter().for_each(|getter| self.gives(getter, depth));
            }
            // What any object of the tree works out under that name.
            Ty::Unknown | Ty::Lib { .. } => {
                let worked_out = |function: &FnRef| tree.class_of(*function).is_some() && works_out(tree, *function, name);
                let getters: Vec<FnRef> = tree.all_functions().filter(worked_out).collect();
                match getters.len() {
                    0 => self.follow(of, depth + 1),
                    1..=SAME_NAME => getters.into_iter().for_each(|getter| self.gives(getter, depth)),
                    _ => {}
                }
            }
            _ => self.follow(of, depth + 1),
        }
    }

    /// A name of a module, unless it only says where the program lies.
    fn name(&mut self, file: u32, name: &Atom, depth: u32) {
        let outer = std::mem::take(&mut self.of_program);
        let known = self.view.world.tree.files.get(file as usize).and_then(|facts| facts.names.get(name));
        if let Some(known) = known {
            self.follow(&known.value, depth + 1);
        }
        if !self.of_program {
            self.found.insert(Root::Name(file, name.clone()));
        }
        self.of_program |= outer;
    }

    fn folder(&mut self, path: &str) {
        if let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| folder.len() > 1 && !folder.starts_with("/tmp")) {
            self.found.insert(Root::Folder(folder.to_owned()));
        }
    }
}
