//! [`Tree`]: all files together, and what a value is in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::modules::Modules;
use super::{ClassRef, Ty};
use crate::facts::{Act, FileFacts, FnFacts, FnRef, Value};
use crate::files::Language;
use crate::rules::{Meaning, Packs, Pick, Rulebook, Selector, TypeKind};
use crate::syntax::{Class, ExitKind, Export, ExportTarget, Function, Target, TypeRef};

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
    results: Vec<Mutex<HashMap<(FnRef, u32), Ty>>>,
}

impl Tree {
    /// Links files. `files[i].file` must be `i`.
    pub fn new(files: Vec<FileFacts>, paths: Vec<String>, book: Rulebook) -> Tree {
        let listed: Vec<(String, Language)> =
            files.iter().zip(&paths).map(|(facts, path)| (path.clone(), facts.unit.language)).collect();
        let mut tree = Tree {
            files,
            paths,
            book,
            modules: Modules::new(&listed),
            implementors: HashMap::new(),
            results: (0..64).map(|_| Mutex::default()).collect(),
        };
        tree.implementors = tree.find_implementors();
        tree
    }

    fn find_implementors(&self) -> HashMap<ClassRef, Vec<ClassRef>> {
        let mut found: HashMap<ClassRef, Vec<ClassRef>> = HashMap::new();
        for facts in &self.files {
            for (index, class) in facts.unit.classes.iter().enumerate() {
                for base in &class.bases {
                    if let Ty::Instance(base) = self.declared(base, FnRef { file: facts.file, func: 0 }) {
                        found.entry(base).or_default().push(ClassRef { file: facts.file, class: index as u32 });
                    }
                }
            }
        }
        found
    }

    /// The facts of a function.
    pub fn facts(&self, function: FnRef) -> Option<&FnFacts> {
        self.files.get(function.file as usize)?.functions.get(function.func as usize)
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

    fn packs_of(&self, language: Language) -> &Packs {
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
        Some(ClassRef { file: function.file, class: class.0 })
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
            Value::Global(name) => self.known_path(Ty::lib(name.clone()), file),
            Value::Member(of, name) => self.member_at(&self.ty_at(of, file, depth + 1), name, file, depth + 1),
            Value::Index(of, key) => match &**key {
                Value::Text(name) => self.member_at(&self.ty_at(of, file, depth + 1), name, file, depth + 1),
                _ => self.element(&self.ty_at(of, file, depth + 1), file),
            },
            Value::Element(of) => self.element(&self.ty_at(of, file, depth + 1), file),
            Value::Result(function, event) => self.ty_of_result(*function, *event, depth + 1),
            Value::Param(function, index) => self.ty_of_param(*function, *index, depth + 1),
            Value::This(function) => match self.class_of(*function) {
                Some(class) if self.function(*function).is_some_and(|method| method.flags.is_static) => Ty::Class(class),
                Some(class) => Ty::Instance(class),
                None => Ty::Unknown,
            },
            Value::Captured(function, name) => match self.facts(*function).and_then(|facts| facts.locals.get(name)) {
                Some(Value::Captured(again, same)) if again == function && same == name => Ty::Unknown,
                Some(value) => self.ty_at(value, function.file, depth + 1),
                None => Ty::Unknown,
            },
            Value::Function(function) => Ty::Function(*function),
            Value::Object(Some(name), _) => self.declared_name(name, FnRef { file, func: 0 }, depth + 1),
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
        if !strange {
            return found;
        }
        let guess = self.name_of(value).and_then(|name| packs.types_like(&name).first().cloned());
        match guess {
            Some(id) => Ty::Lib { path: id, of: Arc::from([]), sure: false },
            None => found,
        }
    }

    /// The name a value goes by: its variable, parameter or last member.
    pub fn name_of(&self, value: &Value) -> Option<String> {
        match value {
            Value::Module(_, name) | Value::Global(name) | Value::Captured(_, name) | Value::Member(_, name) => {
                Some(name.to_string())
            }
            Value::Param(function, index) => match &self.function(*function)?.params.get(*index as usize)?.target {
                Target::Name(name, _) => Some(name.clone()),
                Target::Inside(inner) => match &**inner {
                    Target::Name(name, _) => Some(name.clone()),
                    _ => None,
                },
                _ => None,
            },
            Value::Result(function, event) => {
                let event = self.facts(*function)?.events.get(*event as usize)?;
                match (&event.bound, &event.act) {
                    (Some(name), _) => Some(name.to_string()),
                    (None, Act::Call { callee, .. }) => self.name_of(callee),
                    _ => None,
                }
            }
            Value::Any(options) => options.iter().find_map(|option| self.name_of(option)),
            Value::Index(of, _) | Value::Element(of) => self.name_of(of),
            _ => None,
        }
    }

    fn ty_of_name(&self, file: u32, name: &str, depth: u32) -> Ty {
        let Some(facts) = self.files.get(file as usize) else { return Ty::Unknown };
        if let Some(known) = facts.names.get(name)
            && known.value != Value::Unknown
        {
            let ty = self.ty_at(&known.value, file, depth);
            let itself = matches!(&known.value, Value::Module(owner, same) if *owner == file && &**same == name);
            if !itself && !ty.is_unknown() {
                return ty;
            }
        }
        if let Some(class) = facts.unit.classes.iter().position(|class| class.name == name) {
            return Ty::Class(ClassRef { file, class: class as u32 });
        }
        if let Some(import) = facts.unit.imports.iter().find(|import| import.local == name) {
            return self.imported(file, &import.module, import.member.as_deref(), depth);
        }
        for glob in facts.unit.imports.iter().filter(|import| import.local == "*") {
            let module = self.imported(file, &glob.module, glob.member.as_deref().filter(|member| *member != "*"), depth);
            let found = match module {
                Ty::Module(_) | Ty::Package(_) | Ty::Class(_) => self.member_at(&module, name, file, depth),
                _ => Ty::Unknown,
            };
            if !found.is_unknown() {
                return found;
            }
        }
        if facts.unit.language == Language::Rust {
            return self.modules.find(file, name).unwrap_or_default();
        }
        Ty::Unknown
    }

    /// What an import names.
    fn imported(&self, file: u32, module: &str, member: Option<&str>, depth: u32) -> Ty {
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        let language = self.files.get(file as usize).map(|facts| facts.unit.language);
        if let Some(at) = self.modules.find(file, module) {
            return match member {
                None if language == Some(Language::JavaScript) => match self.exported(&at, "=", depth) {
                    Ty::Unknown => at,
                    whole => whole,
                },
                None => at,
                Some(name) => self.member_at(&at, name, file, depth),
            };
        }
        let module = module.strip_prefix("node:").unwrap_or(module);
        let path = match member {
            None | Some("default" | "*") => module.to_owned(),
            Some(name) => format!("{module}.{name}"),
        };
        if language == Some(Language::Rust) && matches!(module.split('.').next(), Some("crate" | "self" | "super")) {
            // An item of this crate whose module is a file's own inline module: look it up by its last module file.
            if let Some((outer, inner)) = module.rsplit_once('.')
                && let found @ (Ty::Module(_) | Ty::Package(_)) = self.imported(file, outer, None, depth + 1)
            {
                let within = self.member_at(&found, inner, file, depth + 1);
                let item = member.map_or(within.clone(), |name| match within {
                    Ty::Unknown => self.member_at(&found, name, file, depth + 1),
                    ty => self.member_at(&ty, name, file, depth + 1),
                });
                if !item.is_unknown() {
                    return item;
                }
            }
        }
        let looks = member.and_then(|name| self.packs(file).type_of_member(name));
        match (self.known_path(Ty::lib(path.as_str()), file), looks) {
            (Ty::Lib { path: same, .. }, Some(id)) if *same == *path => {
                Ty::Lib { path: id.clone(), of: Arc::from([Ty::lib(module)]), sure: false }
            }
            (found, _) => found,
        }
    }

    /// What a module offers under a name; `Unknown` when it does not.
    fn exported(&self, module: &Ty, name: &str, depth: u32) -> Ty {
        let Ty::Module(file) = module else { return Ty::Unknown };
        let Some(facts) = self.files.get(*file as usize) else { return Ty::Unknown };
        let find = |export: &Export| match &export.target {
            ExportTarget::Local(local) => self.ty_of_name(*file, local, depth + 1),
            ExportTarget::Other { module, member } => self.imported(*file, module, member.as_deref(), depth + 1),
        };
        if let Some(export) = facts.unit.exports.iter().find(|export| export.name == name) {
            return find(export);
        }
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        for export in facts.unit.exports.iter().filter(|export| export.name == "*") {
            if let ExportTarget::Other { module, .. } = &export.target
                && let Some(inner) = self.modules.find(*file, module)
            {
                let found = self.exported(&inner, name, depth + 1);
                if !found.is_unknown() {
                    return found;
                }
            }
        }
        Ty::Unknown
    }

    /// A member of something.
    pub fn member(&self, of: &Ty, name: &str, file: u32) -> Ty {
        self.member_at(of, name, file, 0)
    }

    fn member_at(&self, of: &Ty, name: &str, file: u32, depth: u32) -> Ty {
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        let packs = self.packs(file);
        let looks = || match packs.type_of_member(name) {
            Some(id) => Ty::Lib { path: id.clone(), of: Arc::from([of.clone()]), sure: false },
            None => Ty::Unknown,
        };
        match of {
            Ty::Lib { path, of: args, sure } => {
                if name == "default" {
                    return of.clone();
                }
                // An entity has its class's own methods.
                if packs.kind(path) == TypeKind::Entity
                    && let Some(Ty::Class(class) | Ty::Instance(class)) = args.first()
                    && let found @ Ty::Function(_) = self.class_member(*class, of, name, depth + 1)
                {
                    return found;
                }
                let member = format!("{path}.{name}");
                if let Some(id) = packs.type_at(&member) {
                    return Ty::Lib { path: id.clone(), of: args.clone(), sure: *sure };
                }
                if packs.rows(&member).next().is_some() {
                    return Ty::Lib { path: member.into(), of: args.clone(), sure: *sure };
                }
                if let Some(id) = packs.type_at(&format!("{path}.*")) {
                    return Ty::Lib { path: id.clone(), of: args.clone(), sure: *sure };
                }
                if packs.kind(path) == TypeKind::Wrapper {
                    let inner = self.member_at(&of.first_arg(), name, file, depth + 1);
                    if !inner.is_unknown() {
                        return inner;
                    }
                }
                match looks() {
                    Ty::Unknown => Ty::Lib { path: member.into(), of: args.clone(), sure: *sure },
                    found => found,
                }
            }
            Ty::Instance(class) | Ty::Class(class) => match self.class_member(*class, of, name, depth + 1) {
                Ty::Unknown => looks(),
                found => found,
            },
            Ty::Module(module) => {
                let found = self.exported(of, name, depth + 1);
                if !found.is_unknown() {
                    return found;
                }
                if self.files.get(*module as usize).is_some_and(|facts| facts.unit.language == Language::JavaScript) {
                    let whole = self.exported(of, "=", depth + 1);
                    return if whole.is_unknown() { Ty::Unknown } else { self.member_at(&whole, name, file, depth + 1) };
                }
                match self.ty_of_name(*module, name, depth + 1) {
                    Ty::Unknown => self.modules.child(of, name).unwrap_or_else(looks),
                    found => found,
                }
            }
            Ty::Package(folder) => {
                if let Some(child) = self.modules.child(of, name) {
                    return child;
                }
                let own = self.modules.own_files(folder);
                own.into_iter().map(|file| self.ty_of_name(file, name, depth + 1)).find(|ty| !ty.is_unknown()).unwrap_or_default()
            }
            Ty::Literal(value) => match (value.entry(name), packs.type_at("{}")) {
                (Some(entry), _) => self.ty_at(entry, file, depth + 1),
                (None, Some(id)) if packs.rows(&format!("{id}.{name}")).next().is_some() => Ty::lib(format!("{id}.{name}")),
                (None, _) => looks(),
            },
            Ty::Unknown | Ty::Function(_) => looks(),
        }
    }

    fn class_member(&self, at: ClassRef, of: &Ty, name: &str, depth: u32) -> Ty {
        let Some(class) = self.class(at) else { return Ty::Unknown };
        if let Some(method) =
            class.methods.iter().find(|id| self.function(FnRef { file: at.file, func: id.0 }).is_some_and(|f| f.name == name))
        {
            let method = FnRef { file: at.file, func: method.0 };
            let abstract_ = self.function(method).is_some_and(|function| function.body.is_empty());
            if abstract_ && let Some([only]) = self.implementors.get(&at).map(Vec::as_slice) {
                return self.class_member(*only, &Ty::Instance(*only), name, depth + 1);
            }
            return Ty::Function(method);
        }
        let own = FnRef { file: at.file, func: class.parent.0 };
        if let Some(field) = class.fields.iter().find(|field| field.name == name)
            && let Some(ty) = &field.ty
        {
            let declared = self.declared_at(ty, own, depth + 1);
            if !declared.is_unknown() {
                return declared;
            }
        }
        if let Some(value) = self.field_value(at, name) {
            let ty = self.ty_at(&value, at.file, depth + 1);
            if !ty.is_unknown() {
                return ty;
            }
        }
        // What a base gives is of the class it is reached from, not of the one in between.
        let model = if let Ty::Instance(class) | Ty::Class(class) = of { *class } else { at };
        for base in &class.bases {
            let found = match self.declared_at(base, own, depth + 1) {
                Ty::Instance(base) if base != at => self.class_member(base, of, name, depth + 1),
                Ty::Lib { path, sure, .. } => match self.packs(at.file).type_of_base(path.trim_end_matches("()")) {
                    Some(id) => self.member_at(
                        &Ty::Lib { path: id.clone(), of: Arc::from([Ty::Class(model)]), sure },
                        name,
                        at.file,
                        depth + 1,
                    ),
                    None if self.packs(at.file).knows(&path) => {
                        self.member_at(&Ty::Lib { path, of: Arc::from([Ty::Class(model)]), sure }, name, at.file, depth + 1)
                    }
                    None => Ty::Unknown,
                },
                _ => Ty::Unknown,
            };
            if !found.is_unknown() {
                return found;
            }
        }
        Ty::Unknown
    }

    /// What a field is set to: its initial value, or what a constructor assigns.
    pub fn field_value(&self, at: ClassRef, name: &str) -> Option<Value> {
        let class = self.class(at)?;
        let constructors = class.methods.iter().filter(|id| {
            self.function(FnRef { file: at.file, func: id.0 }).is_some_and(|function| function.flags.is_constructor)
        });
        for id in constructors {
            let function = FnRef { file: at.file, func: id.0 };
            for event in &self.facts(function)?.events {
                if let Act::Write { place: Value::Member(of, field), value, .. } = &event.act
                    && &**field == name
                    && matches!(&**of, Value::This(_))
                {
                    return Some(value.clone());
                }
            }
        }
        self.files.get(at.file as usize)?.field_values.get(&(at.class, Arc::from(name))).cloned()
    }

    /// The path with what packs know of it: the id of the type it gives, if any.
    fn known_path(&self, ty: Ty, file: u32) -> Ty {
        match &ty {
            Ty::Lib { path, of, sure } => match self.packs(file).type_at(path) {
                Some(id) => Ty::Lib { path: id.clone(), of: of.clone(), sure: *sure },
                None => ty,
            },
            _ => ty,
        }
    }

    /// What the elements of a collection are.
    fn element(&self, of: &Ty, file: u32) -> Ty {
        match of {
            Ty::Lib { path, .. } if self.packs(file).kind(path) == TypeKind::Wrapper => self.element(&of.first_arg(), file),
            Ty::Lib { .. } => of.last_arg(),
            Ty::Instance(_) => of.clone(),
            _ => Ty::Unknown,
        }
    }

    /// The type a declaration names, as an instance.
    pub fn declared(&self, ty: &TypeRef, at: FnRef) -> Ty {
        self.declared_at(ty, at, 0)
    }

    fn declared_at(&self, ty: &TypeRef, at: FnRef, depth: u32) -> Ty {
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        if ty.name == "Self" {
            return self.class_of(at).map_or(Ty::Unknown, Ty::Instance);
        }
        let args = ty.args.iter().map(|arg| self.declared_at(arg, at, depth + 1));
        self.declared_name(&ty.name, at, depth + 1).with(args)
    }

    fn declared_name(&self, name: &str, at: FnRef, depth: u32) -> Ty {
        let mut parts = name.split('.');
        let Some(first) = parts.next() else { return Ty::Unknown };
        let mut ty = match self.ty_of_name(at.file, first, depth + 1) {
            Ty::Unknown => Ty::lib(first),
            found => found,
        };
        for part in parts {
            ty = self.member_at(&ty, part, at.file, depth + 1);
        }
        self.instance(ty, at.file)
    }

    /// An instance of what a class name stands for.
    fn instance(&self, ty: Ty, file: u32) -> Ty {
        match ty {
            Ty::Class(class) => Ty::Instance(class),
            Ty::Lib { path, of, sure } if !path.contains(':') => {
                let called = format!("{path}()");
                match self.packs(file).type_at(&called) {
                    Some(id) => Ty::Lib { path: id.clone(), of, sure },
                    None => Ty::Lib { path: called.into(), of, sure },
                }
            }
            other => other,
        }
    }

    fn ty_of_param(&self, function: FnRef, index: u32, depth: u32) -> Ty {
        let Some(param) = self.function(function).and_then(|f| f.params.get(index as usize)) else { return Ty::Unknown };
        if let Some(ty) = &param.ty {
            let declared = self.declared_at(ty, function, depth + 1);
            if !declared.is_unknown() {
                return declared;
            }
        }
        Ty::Unknown
    }

    fn ty_of_result(&self, function: FnRef, event: u32, depth: u32) -> Ty {
        let key = (function, event);
        let shard = self.results.get((function.file as usize * 31 + event as usize) % 64);
        if let Some(known) = shard.and_then(|shard| shard.lock().ok()?.get(&key).cloned()) {
            return known;
        }
        let Some(event) = self.facts(function).and_then(|facts| facts.events.get(event as usize)) else { return Ty::Unknown };
        let found = match &event.act {
            Act::Call { callee, args, .. } => self.called(callee, args, function.file, depth + 1),
            Act::Enter { value } => self.ty_at(value, function.file, depth + 1),
            _ => Ty::Unknown,
        };
        if depth < DEEPEST / 2
            && let Some(mut shard) = shard.and_then(|shard| shard.lock().ok())
        {
            shard.insert(key, found.clone());
        }
        found
    }

    /// What a call gives.
    pub fn called(&self, callee: &Value, args: &[(Option<Arc<str>>, Value)], file: u32, depth: u32) -> Ty {
        let what = self.ty_at(callee, file, depth + 1);
        let packs = self.packs(file);
        match &what {
            Ty::Class(class) => Ty::Instance(*class),
            Ty::Function(function) => self.returned(*function, depth + 1),
            Ty::Lib { path, of, sure } => {
                let receiver = || match callee {
                    Value::Member(of, _) => self.ty_at(of, file, depth + 1),
                    _ => Ty::Unknown,
                };
                let anywhere = path.rsplit('.').next().into_iter().flat_map(|method| packs.rows_of_method(method));
                for row in packs.rows(path).chain(anywhere.filter(|row| row.call.is == Meaning::Pass)) {
                    match (row.call.returns.as_deref(), row.call.is) {
                        (Some("self"), _) => return receiver(),
                        (Some("element"), _) => {
                            let element = self.element(&receiver(), file);
                            // `setdefault(key, Lock())`: what is put where nothing is.
                            let last = args.last().filter(|_| args.len() > 1);
                            return match (element, last) {
                                (Ty::Unknown, Some((_, value))) => self.ty_at(value, file, depth + 1),
                                (Ty::Unknown, None) => self.element_put(callee, depth),
                                (element, _) => element,
                            };
                        }
                        (Some("entity"), _) => {
                            let of = if of.is_empty() { self.entity_of(&receiver()) } else { of.clone() };
                            let entity = row.pack.types.iter().find(|row| row.is == TypeKind::Entity);
                            return match (entity, of.first()) {
                                (Some(entity), _) => {
                                    Ty::Lib { path: format!("{}:{}", row.pack.library.name, entity.name).into(), of, sure: *sure }
                                }
                                (None, Some(Ty::Class(class))) => Ty::Instance(*class),
                                (None, Some(other)) => self.instance(other.clone(), file),
                                (None, None) => Ty::Unknown,
                            };
                        }
                        (Some(name), _) => {
                            let id = format!("{}:{name}", row.pack.library.name);
                            let of = if of.is_empty() { self.entity_of(&receiver()) } else { of.clone() };
                            return Ty::Lib { path: id.into(), of, sure: *sure };
                        }
                        (None, Meaning::Pass) => {
                            let part = row.call.with.get("of");
                            return match part {
                                Some(crate::rules::Part::At(selector)) => match self.simple_pick(selector, callee, args) {
                                    Some(value) => self.ty_at(&value, file, depth + 1),
                                    None => receiver(),
                                },
                                _ => receiver(),
                            };
                        }
                        (None, Meaning::Calls) => {
                            if let Some(crate::rules::Part::At(selector)) = row.call.with.get("body")
                                && let Some(body) = self.simple_pick(selector, callee, args)
                                && let given = self.called(&body, &[], file, depth + 1)
                                && !given.is_unknown()
                            {
                                return given;
                            }
                        }
                        (None, _) => {}
                    }
                }
                let called = format!("{path}()");
                if let Some(id) = packs.type_at(&called) {
                    let of = if of.is_empty() { self.literal_args(args, file, depth) } else { of.clone() };
                    return Ty::Lib { path: id.clone(), of, sure: *sure };
                }
                if let Some((class, _)) = path.rsplit_once('.')
                    && packs.type_row(class).is_some_and(|row| row.fluent)
                {
                    return receiver();
                }
                if let Some((class, method)) = path.rsplit_once('.')
                    && constructs(method)
                    && let Some(id) = packs.type_at(&format!("{class}()"))
                {
                    return Ty::Lib { path: id.clone(), of: self.literal_args(args, file, depth), sure: *sure };
                }
                Ty::Lib { path: called.into(), of: of.clone(), sure: *sure }
            }
            _ => match callee {
                Value::Member(of, method) => {
                    let passes = packs.rows_of_method(method).any(|row| row.call.is == Meaning::Pass);
                    if passes { self.ty_at(of, file, depth + 1) } else { Ty::Unknown }
                }
                _ => Ty::Unknown,
            },
        }
    }

    fn entity_of(&self, receiver: &Ty) -> Arc<[Ty]> {
        match receiver {
            Ty::Unknown => Arc::from([]),
            Ty::Lib { of, .. } if !of.is_empty() => of.clone(),
            other => Arc::from([other.clone()]),
        }
    }

    /// The types of a constructor's arguments: `Mutex::new(BTreeMap::new())` holds a map.
    fn literal_args(&self, args: &[(Option<Arc<str>>, Value)], file: u32, depth: u32) -> Arc<[Ty]> {
        args.iter()
            .map(|(_, value)| self.ty_at(value, file, depth + 1))
            .filter(|ty| !matches!(ty, Ty::Unknown | Ty::Literal(_)))
            .collect()
    }

    /// What the elements of an undeclared collection are, by what its file puts into it.
    fn element_put(&self, callee: &Value, depth: u32) -> Ty {
        let Value::Member(collection, _) = callee else { return Ty::Unknown };
        let same = |other: &Value| match (&**collection, other) {
            (Value::Member(left, field), Value::Member(right, other_field)) => {
                (left == right || matches!((&**left, &**right), (Value::This(_), Value::This(_)))) && field == other_field
            }
            (left, right) => left == right,
        };
        let file = owner_file(collection);
        let Some(facts) = self.files.get(file as usize) else { return Ty::Unknown };
        if depth > DEEPEST / 2 || !matches!(&**collection, Value::Module(..) | Value::Member(..) | Value::Captured(..)) {
            return Ty::Unknown;
        }
        let packs = self.packs(file);
        let kind = self.ty_at(collection, file, depth + 1);
        for event in facts.functions.iter().flat_map(|function| &function.events) {
            let value = match &event.act {
                Act::Call { callee: Value::Member(of, method), args, .. } if same(of) => {
                    let path = format!("{}.{method}", kind.path().unwrap_or("{}"));
                    let row = packs.rows(&path).find(|row| row.call.is == Meaning::Put);
                    let part = row.and_then(|row| row.call.with.get("value"));
                    match part {
                        Some(crate::rules::Part::At(selector)) => self.simple_pick(selector, &Value::Unknown, args),
                        _ => None,
                    }
                }
                Act::Write { place: Value::Index(of, _), value, .. } if same(of) => Some(value.clone()),
                _ => None,
            };
            let ty = value.map_or(Ty::Unknown, |value| self.ty_at(&value, file, depth + 1));
            if !ty.is_unknown() {
                return ty;
            }
        }
        Ty::Unknown
    }

    fn simple_pick(&self, selector: &Selector, callee: &Value, args: &[(Option<Arc<str>>, Value)]) -> Option<Value> {
        selector.options.iter().find_map(|pick| match pick {
            Pick::Arg(index, keys) if keys.is_empty() => args.get(*index).map(|(_, value)| value.clone()),
            Pick::Receiver(keys) if keys.is_empty() => match callee {
                Value::Member(of, _) => Some((**of).clone()),
                _ => None,
            },
            _ => None,
        })
    }

    /// What a function of the tree gives back.
    fn returned(&self, function: FnRef, depth: u32) -> Ty {
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        if let Some(returns) = self.function(function).and_then(|f| f.returns.as_ref()) {
            let declared = self.declared_at(returns, function, depth + 1);
            if !declared.is_unknown() && declared.path().is_none_or(|path| self.packs(function.file).knows(path)) {
                return declared;
            }
        }
        let Some(facts) = self.facts(function) else { return Ty::Unknown };
        facts
            .events
            .iter()
            .filter_map(|event| match &event.act {
                Act::Exit { kind: ExitKind::Return, value } => Some(self.ty_at(value, function.file, depth + 1)),
                _ => None,
            })
            .find(|ty| !ty.is_unknown())
            .unwrap_or_default()
    }

    /// The value behind a name, where it never changes: constants, options, templates of other files.
    pub fn settled(&self, value: &Value) -> Value {
        let mut value = value.clone();
        for _ in 0..DEEPEST {
            let next = match &value {
                Value::Module(file, name) => self.module_value(*file, name),
                Value::Captured(function, name) => self.facts(*function).and_then(|facts| facts.locals.get(name).cloned()),
                Value::Member(of, name) => match &**of {
                    Value::This(function) => self.class_of(*function).and_then(|class| self.constant_field(class, name)),
                    inner => match self.settled_once(inner) {
                        Some(Value::Object(ty, entries)) => Value::Object(ty, entries).entry(name).cloned(),
                        _ => match self.ty(inner, owner_file(inner)) {
                            Ty::Module(file) => self.module_value(file, name),
                            Ty::Class(class) => self.constant_field(class, name),
                            _ => None,
                        },
                    },
                },
                _ => None,
            };
            match next {
                Some(next) if next != value => value = next,
                _ => return value,
            }
        }
        value
    }

    fn settled_once(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Object(..) => Some(value.clone()),
            Value::Module(..) | Value::Captured(..) => Some(self.settled(value)),
            _ => None,
        }
    }

    fn constant_field(&self, class: ClassRef, name: &str) -> Option<Value> {
        let value = self.field_value(class, name)?;
        matches!(
            value,
            Value::Text(_) | Value::Number(_) | Value::Template(_) | Value::Bool(_) | Value::Object(..) | Value::Module(..)
        )
        .then_some(value)
    }

    fn module_value(&self, file: u32, name: &str) -> Option<Value> {
        let facts = self.files.get(file as usize)?;
        if let Some(known) = facts.names.get(name) {
            return (!known.reassigned && known.value != Value::Unknown).then(|| known.value.clone());
        }
        let import = facts.unit.imports.iter().find(|import| import.local == name)?;
        let Ty::Module(other) = self.modules.find(file, &import.module)? else { return None };
        self.exported_value(other, import.member.as_deref()?, 0)
    }

    fn exported_value(&self, file: u32, name: &str, depth: u32) -> Option<Value> {
        let facts = self.files.get(file as usize)?;
        match facts.unit.exports.iter().find(|export| export.name == name).map(|export| &export.target) {
            Some(ExportTarget::Local(local)) => Some(Value::Module(file, local.as_str().into())),
            Some(ExportTarget::Other { module, member }) if depth < DEEPEST => {
                let Ty::Module(other) = self.modules.find(file, module)? else { return None };
                self.exported_value(other, member.as_deref()?, depth + 1)
            }
            _ => facts.names.contains_key(name).then(|| Value::Module(file, name.into())),
        }
    }

    /// The same module-level name, at the file that defines it.
    pub fn definition(&self, value: &Value) -> Value {
        let mut value = value.clone();
        for _ in 0..DEEPEST {
            let next = match &value {
                Value::Module(file, name) => {
                    let Some(facts) = self.files.get(*file as usize) else { return value };
                    if facts.names.contains_key(name) {
                        return value;
                    }
                    facts.unit.imports.iter().find(|import| import.local == **name).and_then(|import| {
                        let Ty::Module(other) = self.modules.find(*file, &import.module)? else { return None };
                        self.exported_value(other, import.member.as_deref()?, 0)
                    })
                }
                Value::Member(of, name) => match self.ty(of, owner_file(of)) {
                    Ty::Module(file) => self.exported_value(file, name, 0),
                    _ => None,
                },
                _ => None,
            };
            match next {
                Some(next) if next != value => value = next,
                _ => return value,
            }
        }
        value
    }
}

/// The file a value's names belong to.
fn owner_file(value: &Value) -> u32 {
    match value {
        Value::Module(file, _) => *file,
        Value::Param(function, _)
        | Value::This(function)
        | Value::Captured(function, _)
        | Value::Result(function, _)
        | Value::Function(function) => function.file,
        other => other.children().first().map_or(0, |child| owner_file(child)),
    }
}

/// Method names that make an instance of the type they are called on.
fn constructs(method: &str) -> bool {
    const NAMES: &[&str] =
        &["new", "default", "create", "open", "connect", "init", "builder", "getInstance", "get_instance", "fresh", "instance"];
    NAMES.contains(&method) || ["from", "with_", "new_", "connect_", "open_"].iter().any(|start| method.starts_with(start))
}
