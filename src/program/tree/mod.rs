//! [`Tree`]: all files together, and what a value is in it.

mod calls;
mod carried;
mod defined;
mod gathered;
mod given;
mod homes;
mod members;
mod names;
mod namesakes;
mod settled;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::memo::{Memo, Names};
use super::modules::Modules;
use super::packages::Package;
use super::settings::{Environment, Set, Setting, all_sets, setting};
use super::{ClassRef, Spot, Ty};
use crate::facts::{Act, Event, FileFacts, FnFacts, FnRef, Value};
use crate::files::{Atom, Language};
use crate::rules::{Pack, Packs, Rulebook};
use crate::syntax::{Class, Function, Target};
pub use carried::Carried;
pub use gathered::Gathered;
pub(in crate::program) use settled::owner_file;

/// How far resolution follows one value before it gives up.
const DEEPEST: u32 = 24;

/// All files of a scan.
pub struct Tree {
    /// By file index.
    pub files: Vec<FileFacts>,
    /// Paths relative to the root, by file index.
    pub paths: Vec<String>,
    /// What is known of libraries.
    pub book: Rulebook,
    modules: Modules,
    implementors: HashMap<ClassRef, Vec<ClassRef>>,
    homes: homes::Homes,
    results: Memo<(FnRef, u32), Ty>,
    /// The environment that files of the tree set up.
    pub environment: Environment,
    /// Packages that may serve nobody, by their descriptions.
    pub packages: Vec<Package>,
    classes: OnceLock<HashMap<String, Vec<ClassRef>>>,
    settings: Memo<(Atom, Atom), Setting>,
    sets: OnceLock<HashMap<String, Vec<Set>>>,
    names: Names<u32, Ty>,
    found: Names<u32, Option<Ty>>,
    members: Names<(ClassRef, bool), Ty>,
    defined: OnceLock<HashMap<String, (String, Atom)>>,
    hung: OnceLock<carried::Hung>,
    given: given::Given,
    params: Memo<(FnRef, u32), Ty>,
    namesakes: namesakes::Namesakes,
}

impl Tree {
    /// Links files by folder conventions alone. `files[i].file` must be `i`.
    pub fn new(files: Vec<FileFacts>, paths: Vec<String>, book: Rulebook) -> Tree {
        let listed: Vec<(String, Language)> =
            files.iter().zip(&paths).map(|(facts, path)| (path.clone(), facts.unit.language)).collect();
        Tree::linked(files, paths, book, Modules::new(&listed))
    }

    /// Links files whose names of modules are known. `files[i].file` must be `i`.
    pub fn linked(files: Vec<FileFacts>, paths: Vec<String>, book: Rulebook, modules: Modules) -> Tree {
        let mut tree = Tree {
            files,
            paths,
            book,
            modules,
            implementors: HashMap::new(),
            homes: homes::Homes::default(),
            results: Memo::new(),
            environment: Environment::new(),
            packages: vec![],
            classes: OnceLock::new(),
            settings: Memo::new(),
            sets: OnceLock::new(),
            names: Names::new(),
            found: Names::new(),
            members: Names::new(),
            defined: OnceLock::new(),
            hung: OnceLock::new(),
            given: given::Given::default(),
            params: Memo::new(),
            namesakes: namesakes::Namesakes::new(),
        };
        tree.homes = tree.find_homes();
        // What was found on the way did not know of them.
        tree = Tree { results: Memo::new(), names: Names::new(), members: Names::new(), ..tree };
        tree.implementors = tree.find_implementors();
        for _ in 0..given::LOOKS {
            tree.given = tree.find_given();
            tree.namesakes = tree.find_namesakes();
            // Nor of what calls give.
            let (results, params) = (Memo::new(), Memo::new());
            tree = Tree { results, params, names: Names::new(), members: Names::new(), hung: OnceLock::new(), ..tree };
        }
        tree
    }

    fn find_implementors(&self) -> HashMap<ClassRef, Vec<ClassRef>> {
        let mut found: HashMap<ClassRef, Vec<ClassRef>> = HashMap::new();
        for facts in &self.files {
            for (index, class) in facts.unit.classes.iter().enumerate() {
                for base in &class.bases {
                    if let Ty::Instance(base) = self.declared(base, FnRef { file: facts.file, func: 0 }) {
                        let class = self.home(ClassRef { file: facts.file, class: index as u32 });
                        let known = found.entry(base).or_default();
                        if !known.contains(&class) {
                            known.push(class);
                        }
                    }
                }
            }
        }
        found
    }

    /// The name of a file without its endings; `None` where it stands for its folder or for a whole program.
    pub fn stem(&self, file: u32) -> Option<String> {
        let stem = self.paths.get(file as usize)?.rsplit('/').next()?.split('.').next()?;
        (!matches!(stem, "mod" | "lib" | "main")).then(|| stem.to_owned())
    }

    /// The same tree with the environment that its files set up.
    pub fn with_environment(self, environment: Environment) -> Tree {
        Tree { environment, ..self }
    }

    /// The same tree with what its documents say of its packages.
    pub fn with_packages(self, packages: Vec<Package>) -> Tree {
        Tree { packages, ..self }
    }

    /// How far the store of a framework's setting reaches; `part` is the part of it that is asked for.
    pub fn setting(&self, key: &str, part: &str) -> Setting {
        let asked = (Atom::from(key), Atom::from(part));
        if let Some(known) = self.settings.get(&asked) {
            return known;
        }
        let found = setting(self, key, part);
        self.settings.keep(asked, found);
        found
    }

    /// Everything that sets a framework's setting, by the setting's key.
    pub(super) fn sets(&self) -> &HashMap<String, Vec<Set>> {
        self.sets.get_or_init(|| all_sets(self))
    }

    /// The facts of a function.
    pub fn facts(&self, function: FnRef) -> Option<&FnFacts> {
        self.files.get(function.file as usize)?.functions.get(function.func as usize)
    }

    /// The events that stand at a place, each with its function and its number there.
    pub fn events_at(&self, at: Spot) -> impl Iterator<Item = (FnRef, usize, &Event)> {
        let functions = self.files.get(at.file as usize).map(|facts| &facts.functions[..]).unwrap_or_default();
        functions.iter().enumerate().flat_map(move |(func, facts)| {
            let here = facts.events.iter().enumerate().filter(move |(_, event)| event.span == at.span);
            here.map(move |(number, event)| (FnRef { file: at.file, func: func as u32 }, number, event))
        })
    }

    /// The signature of a function.
    pub fn function(&self, function: FnRef) -> Option<&Function> {
        self.files.get(function.file as usize)?.unit.functions.get(function.func as usize)
    }

    /// A class.
    pub fn class(&self, class: ClassRef) -> Option<&Class> {
        self.files.get(class.file as usize)?.unit.classes.get(class.class as usize)
    }

    /// The packs of a file's language.
    pub fn packs(&self, file: u32) -> &Packs {
        let language = self.files.get(file as usize).map_or(Language::Sql, |facts| facts.unit.language);
        self.packs_of(language)
    }

    /// The packs of a language.
    pub(in crate::program) fn packs_of(&self, language: Language) -> &Packs {
        static NONE: std::sync::LazyLock<Packs> = std::sync::LazyLock::new(Packs::default);
        self.book.packs.get(&language).unwrap_or(&NONE)
    }

    /// Whether an error in a file's code is a value, not a jump out of the function.
    pub fn errors_are_values(&self, file: u32) -> bool {
        self.files.get(file as usize).is_some_and(|facts| facts.unit.language.errors_are_values())
    }

    /// All functions.
    pub fn all_functions(&self) -> impl Iterator<Item = FnRef> + '_ {
        self.files.iter().flat_map(|facts| (0..facts.functions.len()).map(|func| FnRef { file: facts.file, func: func as u32 }))
    }

    /// The class a method belongs to.
    pub fn class_of(&self, function: FnRef) -> Option<ClassRef> {
        let class = self.function(function)?.class?;
        Some(self.home(ClassRef { file: function.file, class: class.0 }))
    }

    /// What a value is. `file` decides which language's packs apply.
    pub fn ty(&self, value: &Value, file: u32) -> Ty {
        self.ty_at(value, file, 0)
    }

    fn ty_at(&self, value: &Value, file: u32, depth: u32) -> Ty {
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        let found = match value {
            Value::Module(owner, name) => self.ty_of_name(*owner, name, depth + 1),
            Value::Global(name) => match self.glob_name(file, name, depth) {
                Ty::Unknown => self.known_path(Ty::lib(name.clone()), file),
                found => found,
            },
            Value::Member(of, name) => match (self.member_at(&self.ty_at(of, file, depth + 1), name, file, depth + 1), &**of) {
                // A method that calls its own name on its receiver means the one it overrides, if there is any.
                (Ty::Function(found), Value::This(caller)) if found == *caller => {
                    let above = self.class_of(found).map_or(Ty::Unknown, |class| self.overridden(class, name, depth + 1));
                    let has_base =
                        self.class_of(found).and_then(|class| self.class(class)).is_some_and(|class| !class.bases.is_empty());
                    if above.is_unknown() && !has_base { Ty::Function(found) } else { above }
                }
                (found, _) => found,
            },
            Value::Index(of, key) => match &**key {
                Value::Text(name) => self.member_at(&self.ty_at(of, file, depth + 1), name, file, depth + 1),
                key => {
                    let on = self.ty_at(of, file, depth + 1);
                    let part = || match key {
                        Value::Number(at) => self.item(of, *at, depth).map(|item| self.ty_at(&item, file, depth + 1)),
                        key => self.carried_ty(&on, key, file, depth + 1),
                    };
                    let found = part().filter(|ty| !ty.is_unknown()).unwrap_or_else(|| self.element(&on, file));
                    let written = || matches!(on, Ty::Literal(_)).then(|| self.put_there(of, depth));
                    if found.is_unknown() { written().unwrap_or_default() } else { found }
                }
            },
            Value::Element(of) => self.element(&self.ty_at(of, file, depth + 1), file),
            Value::Result(function, event) => self.ty_of_result(*function, *event, depth + 1),
            Value::Param(function, index) => self.ty_of_param(*function, *index, depth + 1),
            Value::This(function) => match self.class_of(*function) {
                Some(class) if self.function(*function).is_some_and(|method| method.flags.is_static) => Ty::Class(class),
                Some(class) => Ty::Instance(class),
                None => match self.function(*function).and_then(|known| known.receiver.as_ref()) {
                    Some(said) => self.declared_at(said, *function, depth + 1),
                    None => Ty::Unknown,
                },
            },
            Value::Captured(function, name) => match self.facts(*function).and_then(|facts| facts.locals.get(name)) {
                Some(Value::Captured(again, same)) if again == function && same == name => Ty::Unknown,
                Some(value) => self.ty_at(value, function.file, depth + 1),
                None => Ty::Unknown,
            },
            Value::Function(function) => Ty::Function(*function),
            Value::Object(Some(name), _) => self.literal_of(name, file, depth),
            Value::Object(None, _) => Ty::Literal(Box::new(value.clone())),
            Value::List(_) => self.known_path(Ty::lib("[]"), file),
            Value::Any(_) | Value::Choose(_) => value
                .options()
                .into_iter()
                .map(|option| self.ty_at(option, file, depth + 1))
                .find(|ty| !ty.is_unknown())
                .unwrap_or_default(),
            Value::All(parts) => parts.last().map_or(Ty::Unknown, |last| self.ty_at(last, file, depth + 1)),
            _ => Ty::Unknown,
        };
        self.by_looks(found, value, file)
    }

    /// A type guessed from the name a value goes by, where nothing better is known.
    fn by_looks(&self, found: Ty, value: &Value, file: u32) -> Ty {
        let packs = self.packs(file);
        let strange = match &found {
            Ty::Unknown => true,
            Ty::Lib { path, .. } => !packs.knows(path),
            _ => false,
        };
        // What is only guessed to be a member of something says less than a name that goes with what the file imports.
        let guessed = || matches!(&found, Ty::Lib { path, sure: false, .. } if matches!(value, Value::Member(..)) && packs.type_row(path).is_none());
        if let Some(id) = (strange || guessed()).then(|| self.like_here(value, file)).flatten() {
            return Ty::Lib { path: id, of: Arc::default(), sure: false };
        }
        if !strange {
            return found;
        }
        let like = |name: &str| packs.types_like(name).first().cloned();
        let guess = self.named(value).and_then(|name| {
            let known = like(name).or_else(|| self.local_name(value).and_then(like));
            known.or_else(|| self.namesake(name, file).filter(|_| matches!(value, Value::Member(..))))
        });
        match guess {
            Some(id) => Ty::Lib { path: id, of: Arc::default(), sure: false },
            None => found,
        }
    }

    /// The type that goes by a value's name in files that import something of its library.
    fn like_here(&self, value: &Value, file: u32) -> Option<Atom> {
        let packs = self.packs(file);
        let known = packs.types_like_here(self.named(value)?);
        let imports = &self.files.get(file as usize)?.unit.imports;
        let of = |library: &Pack| {
            let named = |module: &str| library.library.mentions.iter().any(|word| module.contains(word.as_str()));
            imports.iter().any(|import| named(&import.module))
        };
        known.iter().find(|(pack, _)| packs.packs().get(*pack).is_some_and(of)).map(|(_, id)| id.clone())
    }

    /// The name under which a function takes a part out of what it is given (`({ context: queryInterface })`).
    fn local_name<'a>(&'a self, value: &Value) -> Option<&'a str> {
        let Value::Member(of, part) = value else { return None };
        let Value::Param(function, index) = &**of else { return None };
        let Target::Fields(fields) = &self.function(*function)?.params.get(*index as usize)?.target else { return None };
        fields.iter().find_map(|(key, target)| match target {
            Target::Name(name, _) if **key == **part => Some(&**name),
            _ => None,
        })
    }

    /// The name a value goes by: its variable, parameter or last member.
    pub fn name_of(&self, value: &Value) -> Option<String> {
        self.named(value).map(str::to_owned)
    }

    /// The same, as it is kept.
    pub(in crate::program) fn named<'a>(&'a self, value: &'a Value) -> Option<&'a str> {
        match value {
            Value::Module(_, name) | Value::Global(name) | Value::Captured(_, name) | Value::Member(_, name) => Some(name),
            Value::Param(function, index) => match &self.function(*function)?.params.get(*index as usize)?.target {
                Target::Name(name, _) => Some(name),
                Target::Inside(inner) => match &**inner {
                    Target::Name(name, _) => Some(name),
                    _ => None,
                },
                _ => None,
            },
            Value::Result(function, event) => {
                let event = self.facts(*function)?.events.get(*event as usize)?;
                match (&event.bound, &event.act) {
                    (Some(name), _) => Some(name),
                    (None, Act::Call { callee, .. }) => self.named(callee),
                    _ => None,
                }
            }
            Value::Any(options) => options.iter().find_map(|option| self.named(option)),
            Value::Index(of, _) | Value::Element(of) => self.named(of),
            _ => None,
        }
    }
}
