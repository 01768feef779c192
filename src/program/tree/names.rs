//! What names stand for across files: module-level names, imports, exports and declared types.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{DEEPEST, Tree};
use crate::facts::{Act, FnRef, Value};
use crate::files::Language;
use crate::program::place::is_shape;
use crate::program::{ClassRef, Ty};
use crate::rules::Meaning;
use crate::syntax::{Export, ExportTarget, Expr, ExprKind, TypeRef};

thread_local! {
    static SEARCH: RefCell<Searching> = RefCell::new(Searching::default());
}

/// What a thread is looking for: names that files may take from each other, each for the sake of the one before it.
#[derive(Default)]
struct Searching {
    sought: Vec<(u32, Box<str>)>,
    /// What was looked for in vain since the first of these began, and how many of them there were before.
    in_vain: FxHashMap<(u32, Box<str>), usize>,
    /// How often a name led back to one of these or of those.
    rings: usize,
}

/// A look for what a name stands for in a file.
struct Search {
    rings: usize,
    in_vain: usize,
}

impl Search {
    /// Nothing where the name is looked for already, or was in vain for the sake of the same.
    fn begin(file: u32, name: &str) -> Option<Search> {
        SEARCH.with_borrow_mut(|searching| {
            let key = (file, Box::from(name));
            if searching.sought.contains(&key) || searching.in_vain.contains_key(&key) {
                searching.rings += 1;
                return None;
            }
            searching.sought.push(key);
            Some(Search { rings: searching.rings, in_vain: searching.in_vain.len() })
        })
    }

    /// Whether what was found is all there is: no name led back to one before it, or there was none before it.
    fn end(self, found: &Ty) -> bool {
        SEARCH.with_borrow_mut(|searching| {
            let key = searching.sought.pop();
            if searching.sought.is_empty() {
                searching.in_vain.clear();
                return true;
            }
            if !found.is_unknown() {
                // What led back here in vain would not do so now.
                searching.in_vain.retain(|_, before| *before < self.in_vain);
            } else if let Some(key) = key {
                let before = searching.in_vain.len();
                searching.in_vain.insert(key, before);
            }
            searching.rings == self.rings
        })
    }
}

impl Tree {
    pub(super) fn ty_of_name(&self, file: u32, name: &str, depth: u32) -> Ty {
        if let Some(known) = self.names.get(file, name) {
            return known;
        }
        // Files that take a name from each other in a ring: it is none of theirs.
        let Some(search) = Search::begin(file, name) else { return Ty::Unknown };
        let found = self.find_name(file, name, depth);
        // What was cut short, by depth or by a ring, is not kept.
        if search.end(&found) && depth < DEEPEST / 2 {
            self.names.keep(file, name, found.clone());
        }
        found
    }

    /// The file an import leads to.
    pub fn imported_file(&self, file: u32, module: &str) -> Option<u32> {
        match self.module(file, module)? {
            Ty::Module(other) => Some(other),
            _ => None,
        }
    }

    /// The module a name means in a file, looked for once.
    pub(super) fn module(&self, file: u32, module: &str) -> Option<Ty> {
        if let Some(known) = self.found.get(file, module) {
            return known;
        }
        // What a pack says of a library counts, though a crate of that name stands in the tree.
        let rust = self.files.get(file as usize).is_some_and(|facts| facts.unit.language == Language::Rust);
        let of_a_pack = rust && self.packs(file).knows(module) && self.modules.names_a_crate(file, module);
        let found = if of_a_pack { None } else { self.modules.find(file, module) };
        self.found.keep(file, module, found.clone());
        found
    }

    fn find_name(&self, file: u32, name: &str, depth: u32) -> Ty {
        let Some(facts) = self.files.get(file as usize) else { return Ty::Unknown };
        if let Some(known) = facts.names.get(name)
            && known.value != Value::Unknown
        {
            let ty = self.ty_at(&known.value, file, depth);
            let itself = matches!(&known.value, Value::Module(owner, same) if *owner == file && &**same == name);
            if !itself && !ty.is_unknown() {
                let made = matches!(&known.value, Value::Result(..));
                let ty = if made { ty } else { self.aliased(ty, file, name, depth) };
                return self.filled(ty, file, name, depth);
            }
        }
        if let Some((_, ty)) = facts.unit.declared.iter().find(|(declared, _)| declared == name) {
            let declared = self.declared_at(ty, FnRef { file, func: 0 }, depth + 1);
            if !declared.is_unknown() {
                return declared;
            }
        }
        if let Some(filled) = self.filled_later(file, name, depth) {
            return filled;
        }
        if let Some(class) = facts.unit.classes.iter().position(|class| class.name == name) {
            return self.class_of_name(ClassRef { file, class: class as u32 });
        }
        self.found_elsewhere(file, name, depth)
    }

    /// A library's type that a name of a file stands for, with the arguments that it is said to have there (`type Db = Box<dyn Store>`).
    fn aliased(&self, ty: Ty, file: u32, name: &str, depth: u32) -> Ty {
        let Ty::Lib { of, .. } = &ty else { return ty };
        let declared = || self.files.get(file as usize)?.unit.declared.iter().find(|(declared, _)| declared == name);
        match declared().filter(|_| of.is_empty()) {
            Some((_, said)) => {
                let at = FnRef { file, func: 0 };
                let args: Vec<Ty> = said.args.iter().map(|arg| self.declared_at(arg, at, depth + 1)).collect();
                ty.with(args)
            }
            None => ty,
        }
    }

    /// What a name that a file does not declare is by what the file takes from elsewhere whole (`use schema::users::dsl::*`).
    pub(super) fn glob_name(&self, file: u32, name: &str, depth: u32) -> Ty {
        let rust = self.files.get(file as usize).is_some_and(|facts| facts.unit.language == Language::Rust);
        let item = rust && name.starts_with(char::is_lowercase) && !self.packs(file).speaks_of(name);
        if item { self.ty_of_name(file, name, depth + 1) } else { Ty::Unknown }
    }

    /// What a variable that begins empty is filled with by its file's own functions: a client made when it is first asked for.
    fn filled_later(&self, file: u32, name: &str, depth: u32) -> Option<Ty> {
        let facts = self.files.get(file as usize)?;
        facts.names.get(name).filter(|known| known.reassigned && matches!(known.value, Value::Null | Value::Unknown))?;
        let writes = facts.functions.iter().flat_map(|function| &function.events).filter_map(|event| match &event.act {
            Act::Write { place: Value::Module(at, written), value, op: None, .. } if *at == file && **written == *name => {
                Some(value)
            }
            _ => None,
        });
        let about_itself =
            |value: &Value| value.any(&|part| matches!(part, Value::Module(at, known) if *at == file && **known == *name));
        writes
            .filter(|value| !about_itself(value) && depth < DEEPEST / 2)
            .map(|value| self.ty_at(value, file, depth + 2))
            .find(|ty| matches!(ty, Ty::Instance(_) | Ty::Lib { .. }))
    }

    /// What a name stands for by the imports of a file.
    pub(super) fn found_elsewhere(&self, file: u32, name: &str, depth: u32) -> Ty {
        let Some(facts) = self.files.get(file as usize) else { return Ty::Unknown };
        if let Some(import) = facts.unit.imports.iter().find(|import| import.local == name) {
            return self.imported(file, &import.module, import.member.as_deref(), depth);
        }
        for glob in facts.unit.imports.iter().filter(|import| import.local == "*") {
            let (from, member) = match (glob.member.as_deref(), glob.module.rsplit_once('.')) {
                (Some(member), _) if member != "*" => (&*glob.module, Some(member)),
                (_, Some((outer, inner))) if self.module(file, &glob.module).is_none() => (outer, Some(inner)),
                _ => (&*glob.module, None),
            };
            let module = self.imported(file, from, member, depth);
            let found = match &module {
                Ty::Module(_) | Ty::Package(_) | Ty::Class(_) => self.member_at(&module, name, file, depth),
                // A module that a macro makes: packs say what its items are.
                Ty::Lib { path, .. } if path.contains(':') && name.starts_with(char::is_lowercase) => {
                    self.member_at(&module, name, file, depth)
                }
                _ => Ty::Unknown,
            };
            if !found.is_unknown() {
                return found;
            }
        }
        if facts.unit.language == Language::Rust {
            return self.module(file, name).unwrap_or_default();
        }
        Ty::Unknown
    }

    /// A name's type with the arguments that its declaration says and its value does not (`static X: Mutex<Map> = Mutex::new(..)`).
    fn filled(&self, ty: Ty, file: u32, name: &str, depth: u32) -> Ty {
        let Ty::Lib { of, .. } = &ty else { return ty };
        if of.iter().any(|arg| !arg.is_unknown()) {
            return ty;
        }
        let declared =
            self.files.get(file as usize).and_then(|facts| facts.unit.declared.iter().find(|(known, _)| known == name));
        match declared.map(|(_, declared)| self.declared_at(declared, FnRef { file, func: 0 }, depth + 1)) {
            Some(found @ Ty::Lib { .. }) if found.path() == ty.path() => found,
            _ => ty,
        }
    }

    /// What an import names.
    pub(super) fn imported(&self, file: u32, module: &str, member: Option<&str>, depth: u32) -> Ty {
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        let language = self.files.get(file as usize).map(|facts| facts.unit.language);
        let at = match language {
            // What a pack says of a library counts, though the library itself stands in the tree.
            Some(Language::JavaScript) if !module.starts_with('.') && self.is_librarys(file, module, member) => None,
            _ => self.module(file, module),
        };
        if let Some(at) = at {
            return match member {
                None if language == Some(Language::JavaScript) => match self.exported(&at, "=", depth) {
                    Ty::Unknown => at,
                    whole => whole,
                },
                None => at,
                Some(name) => match self.member_at(&at, name, file, depth) {
                    // A folder of the tree that goes by the name of a library hides what it does not have itself.
                    Ty::Unknown if !module.starts_with('.') && self.packs(file).knows(module) => {
                        self.known_path(Ty::lib(format!("{module}.{name}")), file)
                    }
                    found => found,
                },
            };
        }
        // A package that takes a module of its own by its own name.
        if language == Some(Language::Python)
            && let Some(name) = member
            && let Some(own @ Ty::Module(_)) = self.module(file, &format!("{module}.{name}"))
        {
            return own;
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
                    Ty::Unknown => match self.member_at(&found, name, file, depth + 1) {
                        // By its name alone: it is the inner module's.
                        Ty::Lib { path, of, sure } if matches!(of.first(), Some(Ty::Module(_))) => {
                            Ty::Lib { path, of: Arc::from([Ty::lib(module)]), sure }
                        }
                        found => found,
                    },
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

    /// Whether packs speak of an import.
    fn is_librarys(&self, file: u32, module: &str, member: Option<&str>) -> bool {
        match member {
            None | Some("default" | "*") => self.packs(file).speaks_of(module),
            Some(name) => self.packs(file).speaks_of(&format!("{module}.{name}")),
        }
    }

    /// What a module offers under a name; `Unknown` when it does not.
    pub(super) fn exported(&self, module: &Ty, name: &str, depth: u32) -> Ty {
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
                && let Some(inner) = self.module(*file, module)
            {
                let found = self.exported(&inner, name, depth + 1);
                if !found.is_unknown() {
                    return found;
                }
            }
        }
        Ty::Unknown
    }

    /// The type a declaration names, as an instance.
    pub fn declared(&self, ty: &TypeRef, at: FnRef) -> Ty {
        self.declared_at(ty, at, 0)
    }

    pub(super) fn declared_at(&self, ty: &TypeRef, at: FnRef, depth: u32) -> Ty {
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        if ty.name == "Self" {
            return self.class_of(at).map_or(Ty::Unknown, Ty::Instance);
        }
        // What a function gives, by the language's own word for it (TypeScript).
        if ty.name == "ReturnType"
            && let Some(Ty::Function(made_by)) = ty.args.first().map(|of| self.declared_at(of, at, depth + 1))
        {
            return self.returned(made_by, depth + 1);
        }
        let named = self.declared_name(&ty.name, at, depth + 1);
        if let Ty::Instance(class) = named
            && let Some(function) = self.function_type(class)
        {
            return self.declared_at(function, FnRef { file: class.file, func: 0 }, depth + 1);
        }
        if ty.args.is_empty() {
            return named;
        }
        named.with(ty.args.iter().map(|arg| self.declared_at(arg, at, depth + 1)))
    }

    pub(super) fn declared_name(&self, name: &str, at: FnRef, depth: u32) -> Ty {
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

    /// The type of functions that a name stands for: `type Make = (db: Database) => Service`.
    fn function_type(&self, class: ClassRef) -> Option<&TypeRef> {
        let known = self.class(class).filter(|known| known.methods.is_empty() && known.fields.is_empty())?;
        known.bases.iter().find(|base| base.name == "Function" && !base.args.is_empty())
    }

    /// An instance of what a class name stands for.
    pub(super) fn instance(&self, ty: Ty, file: u32) -> Ty {
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

    pub(super) fn ty_of_param(&self, function: FnRef, index: u32, depth: u32) -> Ty {
        let Some(param) = self.function(function).and_then(|f| f.params.get(index as usize)) else { return Ty::Unknown };
        if let Some(ty) = &param.ty {
            let declared = self.declared_at(ty, function, depth + 1);
            if let Ty::Instance(class) = &declared
                && is_shape(self, *class)
                && let made @ (Ty::Literal(_) | Ty::Instance(_)) = self.given_ty(function, index, depth + 1)
            {
                return made;
            }
            if !declared.is_unknown() {
                return declared;
            }
        }
        let injected = self.injected(param.default.as_deref(), function.file, depth);
        injected.unwrap_or_else(|| self.given_ty(function, index, depth + 1))
    }

    /// What a parameter is whose default is a library's call that enters a function for it: what that function gives.
    fn injected(&self, default: Option<&Expr>, file: u32, depth: u32) -> Option<Ty> {
        let ExprKind::Call(call) = &default?.kind else { return None };
        let callee = self.named_expr(&call.callee, file, depth);
        let path = callee.path().filter(|_| depth < DEEPEST)?;
        let enters = |row: crate::rules::Row<'_>| row.call.is == Meaning::Entry && row.call.with.contains_key("handler");
        let given = call.args.first().filter(|_| self.packs(file).rows(path).any(enters))?;
        match self.named_expr(&given.value, file, depth) {
            Ty::Function(maker) => Some(self.returned(maker, depth + 1)).filter(|ty| !ty.is_unknown()),
            Ty::Class(class) => Some(Ty::Instance(class)),
            _ => None,
        }
    }
}
