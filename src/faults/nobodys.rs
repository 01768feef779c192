//! Functions that are nobody's: no entry, no decorator, no base class that may call them, and every mention of their name stands in
//! functions that are nobody's themselves. That a module hands a name on, or lists it, is no mention.

use std::cell::{OnceCell, RefCell};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Act, FileFacts, FnRef, Value};
use crate::files::{Atom, Document};
use crate::program::{ClassRef, Reach, Tree, Ty};
use crate::rules::{FileRole, TypeKind};
use crate::syntax::{ExportTarget, Expr, ExprKind, FnId, Target};

/// How many callers up a function is followed.
const HIGHEST: u32 = 12;

/// Who mentions which names of a tree, asked only where a fault is found.
pub(super) struct Nobodys<'a> {
    tree: &'a Tree,
    reach: &'a Reach,
    documents: &'a [Document],
    mentions: OnceCell<Found<'a>>,
    known: RefCell<FxHashMap<FnRef, bool>>,
    programs: OnceCell<Programs<'a>>,
}

impl<'a> Nobodys<'a> {
    /// Of a whole tree.
    pub fn new(tree: &'a Tree, reach: &'a Reach, documents: &'a [Document]) -> Nobodys<'a> {
        Nobodys { tree, reach, documents, mentions: OnceCell::new(), known: RefCell::default(), programs: OnceCell::new() }
    }

    /// Whether a function is nobody's in a package that is seen to be a program: something else of it is entered.
    pub fn never_runs(&self, function: FnRef) -> bool {
        self.reach.way_in(function).is_none() && self.is_nobodys(function) && self.in_a_program(function)
    }

    /// Whether nothing is seen to lead to a function.
    pub fn is_nobodys(&self, function: FnRef) -> bool {
        self.asked(function, &mut vec![])
    }

    fn asked(&self, function: FnRef, way: &mut Vec<FnRef>) -> bool {
        // What is written inside another function runs where that one does.
        let function = outermost(self.tree, function);
        if let Some(known) = self.known.borrow().get(&function) {
            return *known;
        }
        // A function that leads to itself is as much somebody's as the others that lead to it.
        if way.contains(&function) {
            return true;
        }
        if way.len() as u32 > HIGHEST || function.func == 0 || self.has_a_place(function) {
            return false;
        }
        way.push(function);
        let name = self.tree.function(function).map_or("", |known| known.name.as_str());
        let found = self.mentions.get_or_init(|| mentions(self.tree, self.reach));
        let mentioned = found.names.get(name).into_iter().chain(found.parts.get(&function)).flatten().copied();
        let callers = self.reach.callers(function).filter(|caller| counts(self.reach, *caller));
        let mut from: Vec<FnRef> = mentioned.chain(callers).collect();
        from.sort_unstable();
        from.dedup();
        let nobodys = from.into_iter().all(|from| self.asked(from, way))
            && !self.documents.iter().any(|document| speaks_of(&document.text, name));
        way.pop();
        // That it is nobody's may rest on what is still being asked.
        if way.is_empty() || !nobodys {
            self.known.borrow_mut().insert(function, nobodys);
        }
        nobodys
    }

    /// Whether something else than a mention may call a function: an entry, a decorator, a base class, a loader of the module's one export.
    fn has_a_place(&self, function: FnRef) -> bool {
        let (Some(known), Some(facts)) = (self.tree.function(function), self.tree.facts(function)) else { return true };
        // What nothing binds is a word of the language, as that for a method of the class itself.
        let of_the_language = |mark: &Value| matches!(mark, Value::Global(_)) && (known.flags.is_static || known.flags.is_getter);
        let class = self.tree.class_of(function).and_then(|class| self.tree.class(class));
        let file = self.tree.files.get(function.file as usize);
        let handed_out = file.is_some_and(|file| {
            let class = class.map(|class| &class.name);
            file.unit.exports.iter().any(|export| match &export.target {
                ExportTarget::Local(local) => {
                    export.name == "default" && (*local == known.name || class.is_some_and(|class| *local == *class))
                }
                _ => export.name == "default",
            } || export.name == "=")
        });
        let hook = !known.flags.is_static
            && self.tree.class_of(function).is_some_and(|class| self.has_foreign_base(class, &mut vec![]))
            && !self.is_a_records_own(function);
        known.name.is_empty()
            || known.name.starts_with("__")
            || known.flags.is_constructor
            || self.reach.entry(function).is_some()
            || handed_out
            || hook
            || facts.decorators.iter().any(|(mark, _)| !of_the_language(mark))
    }

    /// Whether a function is a method of a table's record that must be given something, and none that the library of the record asks
    /// for by its name: who calls it names it.
    fn is_a_records_own(&self, function: FnRef) -> bool {
        let Some(known) = self.tree.function(function) else { return false };
        let kind = self.tree.class_of(function).and_then(|class| self.tree.base_type(class, 0));
        let record = kind.is_some_and(|id| self.tree.packs(function.file).kind(&id) == TypeKind::Entity);
        let given = known.params.iter().filter(|param| param.default.is_none() && param.gathers.is_none());
        let own = known.params.first().is_some_and(|param| matches!(&param.target, Target::Name(name, _) if name == "self"));
        let hooks = &self.tree.book.reach.record_hooks;
        record
            && given.count() > usize::from(own)
            && !known.name.starts_with('_')
            && !hooks.iter().any(|hook| known.name.to_lowercase().starts_with(hook.as_str()))
    }

    /// Whether a class has a base that is no class of the tree: it may call what is written here. Those of the language call nothing.
    fn has_foreign_base(&self, class: ClassRef, seen: &mut Vec<ClassRef>) -> bool {
        if seen.contains(&class) {
            return false;
        }
        seen.push(class);
        let Some(known) = self.tree.class(class) else { return true };
        let own = FnRef { file: class.file, func: known.parent.0 };
        let idle =
            |name: &str| self.tree.book.reach.idle_bases.iter().any(|idle| idle == name.rsplit('.').next().unwrap_or(name));
        !known.base_calls.is_empty()
            || known.bases.iter().any(|base| match self.tree.declared(base, own) {
                Ty::Instance(base) => self.has_foreign_base(base, seen),
                _ => !idle(&base.name),
            })
    }

    /// Whether something in the package of a function is entered from outside.
    fn in_a_program(&self, function: FnRef) -> bool {
        let path = |file: u32| self.tree.paths.get(file as usize).map_or("", |path| &**path);
        let programs = self.programs.get_or_init(|| {
            let folders: FxHashSet<&str> = self.documents.iter().filter_map(Document::package).collect();
            let entered = self.reach.entered_files().map(|file| package_of(&folders, path(file))).collect();
            Programs { folders, entered }
        });
        programs.entered.contains(package_of(&programs.folders, path(function.file)))
    }
}

/// The packages of a tree, by their folders.
struct Programs<'a> {
    folders: FxHashSet<&'a str>,
    /// Those of which something is entered from outside.
    entered: FxHashSet<&'a str>,
}

/// The folder of the nearest package around a path; the root where there is none.
fn package_of<'p>(folders: &FxHashSet<&str>, path: &'p str) -> &'p str {
    let around = path.match_indices('/').map(|(at, _)| &path[..at]);
    around.rev().find(|folder| folders.contains(folder)).unwrap_or_default()
}

/// The function of the module, or the method, that a function is written in.
fn outermost(tree: &Tree, function: FnRef) -> FnRef {
    let mut at = function;
    while let Some(parent) = tree.function(at).and_then(|known| known.parent).filter(|parent| *parent != FnId(0)) {
        at = FnRef { func: parent.0, ..at };
    }
    at
}

/// Whether a mention in a function may make another run: not in what only changes the schema or tests.
fn counts(reach: &Reach, function: FnRef) -> bool {
    !matches!(reach.role(function.file), FileRole::Migration | FileRole::Test)
}

/// Whether a text has a word.
fn speaks_of(text: &str, word: &str) -> bool {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part) && !text[at + word.len()..].chars().next().is_some_and(part)
    })
}

/// The functions in which names and functions are mentioned.
#[derive(Default)]
struct Found<'t> {
    /// As a member, a name of a module, a word of a text.
    names: FxHashMap<&'t str, FxHashSet<FnRef>>,
    /// As a part of something else: an object's entry, an element of a list.
    parts: FxHashMap<FnRef, FxHashSet<FnRef>>,
}

/// Who mentions what.
fn mentions<'t>(tree: &'t Tree, reach: &Reach) -> Found<'t> {
    let top = |file: u32| FnRef { file, func: 0 };
    let mut found = Mentions { found: Found::default(), aliases: FxHashMap::default(), at: top(0) };
    for file in &tree.files {
        let top = top(file.file);
        if !counts(reach, top) {
            continue;
        }
        found.aliases = aliases(file);
        found.at = top;
        // Handed on under another name, it is mentioned by that.
        for export in &file.unit.exports {
            match &export.target {
                ExportTarget::Local(name) | ExportTarget::Other { member: Some(name), .. } if *name != export.name => {
                    found.name(name)
                }
                _ => {}
            }
        }
        let marks = file.class_marks.values().chain(file.field_marks.values()).flatten().map(|(value, _)| value);
        let lists = |name: &Atom| tree.book.reach.listing_names.iter().any(|known| **known == **name);
        let kept = file.names.iter().filter(|(name, _)| !lists(name)).map(|(_, known)| &known.value);
        marks.chain(kept).chain(file.field_values.values()).for_each(|value| found.value(value));
        // What a parameter is without an argument: a framework may be told there what gives it.
        let params = file.unit.functions.iter().flat_map(|function| &function.params);
        params.filter_map(|param| param.default.as_deref()).for_each(|default| found.written(default));
        for (index, function) in file.functions.iter().enumerate() {
            found.at = outermost(tree, FnRef { file: file.file, func: index as u32 });
            function.conds.iter().for_each(|cond| found.value(&cond.value));
            function.locals.values().for_each(|value| found.value(value));
            for event in &function.events {
                if !matches!(&event.act, Act::Write { place: Value::Module(_, name), .. } if lists(name)) {
                    event.act.each_value(&mut |value| found.value(value));
                }
            }
            found.at = top;
            function.decorators.iter().for_each(|(value, _)| found.value(value));
        }
    }
    found.found
}

/// The names that a file calls others' by, with theirs.
fn aliases(file: &FileFacts) -> FxHashMap<&str, &str> {
    let imports = file.unit.imports.iter();
    let renamed = imports.filter_map(|import| Some((&*import.local, &**import.member.as_ref()?)));
    renamed.filter(|(local, member)| local != member).collect()
}

struct Mentions<'t> {
    found: Found<'t>,
    aliases: FxHashMap<&'t str, &'t str>,
    at: FnRef,
}

impl<'t> Mentions<'t> {
    fn name(&mut self, name: &'t str) {
        self.found.names.entry(name).or_default().insert(self.at);
        if let Some(member) = self.aliases.get(name).copied() {
            self.found.names.entry(member).or_default().insert(self.at);
        }
    }

    fn written(&mut self, expr: &'t Expr) {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Member(of, name) => {
                self.name(name);
                self.written(of);
            }
            ExprKind::Call(call) => {
                self.written(&call.callee);
                call.args.iter().for_each(|arg| self.written(&arg.value));
            }
            ExprKind::List(inside) | ExprKind::Other(inside) => inside.iter().for_each(|expr| self.written(expr)),
            ExprKind::Object { entries, .. } => entries.iter().for_each(|(_, expr)| self.written(expr)),
            ExprKind::Typed(expr, _) => self.written(expr),
            _ => {}
        }
    }

    fn value(&mut self, value: &'t Value) {
        value.walk(&mut |part| match part {
            Value::Member(_, name) | Value::Global(name) | Value::Module(_, name) => self.name(name),
            // A name that is all a function is bound to is no mention of it.
            Value::Function(function) if *value != Value::Function(*function) => {
                self.found.parts.entry(*function).or_default().insert(self.at);
            }
            Value::Text(text) => text.split(|c: char| !c.is_alphanumeric() && c != '_').for_each(|word| self.name(word)),
            _ => {}
        });
    }
}
