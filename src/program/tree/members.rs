//! Members: of library values by packs, of classes and their bases, of modules, and of collections.

use std::sync::Arc;

use super::{DEEPEST, Tree};
use crate::facts::{Act, FnRef, Value};
use crate::files::{Atom, Language};
use crate::program::place::is_shape;
use crate::program::{ClassRef, Ty};
use crate::rules::TypeKind;
use crate::syntax::{Expr, ExprKind};

impl Tree {
    /// A member of something.
    pub fn member(&self, of: &Ty, name: &str, file: u32) -> Ty {
        self.member_at(of, name, file, 0)
    }

    pub(super) fn member_at(&self, of: &Ty, name: &str, file: u32, depth: u32) -> Ty {
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
                // A manager of the tree's own has methods of its own.
                if let [_, Ty::Instance(helper)] = &args[..]
                    && packs.type_row(path).is_some_and(|row| row.fluent && !row.bases.is_empty())
                    && let found @ Ty::Function(_) = self.class_member(*helper, of, name, depth + 1)
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
                if let Some(added) =
                    self.added_to(of, name).or_else(|| self.carried_ty(of, &Value::Text(name.into()), file, depth + 1))
                {
                    return added;
                }
                match looks() {
                    Ty::Unknown => Ty::Lib { path: member.into(), of: args.clone(), sure: *sure },
                    found => found,
                }
            }
            // What made it.
            Ty::Instance(class) if name == "constructor" => Ty::Class(*class),
            Ty::Instance(class) | Ty::Class(class) => match self.own_member(*class, of, name, depth) {
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

    /// A member of a class, or of an instance of it, looked for once.
    fn own_member(&self, class: ClassRef, of: &Ty, name: &str, depth: u32) -> Ty {
        let asked = (class, matches!(of, Ty::Instance(_)));
        if let Some(known) = self.members.get(asked, name) {
            return known;
        }
        let found = self.class_member(class, of, name, depth + 1);
        // What was cut short by depth is not kept.
        if depth < DEEPEST / 2 {
            self.members.keep(asked, name, found.clone());
        }
        found
    }

    pub(super) fn class_member(&self, at: ClassRef, of: &Ty, name: &str, depth: u32) -> Ty {
        let Some(class) = self.class(at) else { return Ty::Unknown };
        if let Some(method) =
            class.methods.iter().find(|id| self.function(FnRef { file: at.file, func: id.0 }).is_some_and(|f| f.name == name))
        {
            let method = FnRef { file: at.file, func: method.0 };
            let abstract_ = self.facts(method).is_some_and(|facts| facts.is_empty || facts.is_open);
            if abstract_ && let Some(only) = self.done_by(at) {
                return self.class_member(only, &Ty::Instance(only), name, depth + 1);
            }
            return match self.function(method).is_some_and(|function| function.flags.is_getter) {
                true => self.returned(method, depth + 1),
                false => Ty::Function(method),
            };
        }
        let own = FnRef { file: at.file, func: class.parent.0 };
        if let Some(field) = class.fields.iter().find(|field| field.name == name)
            && let Some(ty) = &field.ty
        {
            let declared = self.declared_at(ty, own, depth + 1);
            // What is only said to look so, or said by a name that nobody knows, is what it is set to.
            let shape = match &declared {
                Ty::Instance(class) => is_shape(self, *class),
                other => other.path().is_some_and(|path| !self.packs(at.file).knows(path)),
            };
            let set = || self.field_value(at, name).filter(|_| shape).map(|value| self.ty_at(&value, at.file, depth + 1));
            if let Some(found) = set().filter(|found| !found.is_unknown()) {
                return found;
            }
            if !declared.is_unknown() {
                return declared;
            }
        }
        if let Some(value) = self.field_value(at, name) {
            let ty = self.ty_at(&value, at.file, depth + 1);
            if !ty.is_unknown() {
                return self.helped(ty, of, depth + 1);
            }
        }
        if let Some(kept) = self.kept_later(at, name, depth) {
            return kept;
        }
        match self.in_blocks(at, of, name, depth) {
            Ty::Unknown => self.base_member(at, of, name, depth),
            found => found,
        }
    }

    /// Whether a class is made by a function: one of as many as there are calls of it.
    fn is_made(&self, class: ClassRef) -> bool {
        self.class(class).is_some_and(|class| class.parent.0 != 0)
    }

    /// The one class of the tree that does what this one only names.
    pub(in crate::program) fn done_by(&self, class: ClassRef) -> Option<ClassRef> {
        match self.implementors.get(&class).map(Vec::as_slice) {
            Some([only]) if !self.is_made(*only) => Some(self.home(*only)),
            _ => None,
        }
    }

    /// Whether classes of the tree do what this one only names.
    pub(in crate::program) fn is_done(&self, class: ClassRef) -> bool {
        self.implementors.get(&class).is_some_and(|classes| classes.iter().any(|class| !self.is_made(*class)))
    }

    /// The member that the bases of a class give under a name.
    pub(super) fn overridden(&self, at: ClassRef, name: &str, depth: u32) -> Ty {
        let Some(class) = self.class(at) else { return Ty::Unknown };
        let own = FnRef { file: at.file, func: class.parent.0 };
        let given = |base| match self.declared_at(base, own, depth + 1) {
            Ty::Instance(base) if base != at => self.class_member(base, &Ty::Instance(base), name, depth + 1),
            Ty::Lib { path, sure, .. } => {
                let id = self.packs(at.file).type_of_base(path.trim_end_matches("()")).cloned();
                let base = Ty::Lib { path: id.unwrap_or(path), of: Arc::default(), sure };
                self.member_at(&base, name, at.file, depth + 1)
            }
            _ => Ty::Unknown,
        };
        class.bases.iter().map(given).find(|found| !found.is_unknown()).unwrap_or_default()
    }

    fn base_member(&self, at: ClassRef, of: &Ty, name: &str, depth: u32) -> Ty {
        let Some(class) = self.class(at) else { return Ty::Unknown };
        let own = FnRef { file: at.file, func: class.parent.0 };
        // What a base gives is of the class it is reached from, not of the one in between.
        let model = if let Ty::Instance(class) | Ty::Class(class) = of { *class } else { at };
        for base in &class.bases {
            let found = match self.declared_at(base, own, depth + 1) {
                Ty::Instance(base) if base != at => self.class_member(base, of, name, depth + 1),
                Ty::Lib { path, sure, of } => {
                    // `extends Repository<Order>`: of the class it names, not of the one that derives.
                    // What a base hangs on (`db.Model`) is not its rows.
                    let written = !base.args.is_empty() || !base.name.contains('.');
                    let named = written && of.iter().any(|arg| matches!(arg, Ty::Class(_) | Ty::Instance(_)));
                    let of = if named { of } else { Arc::from([Ty::Class(model)]) };
                    let packs = self.packs(at.file);
                    match packs.type_of_base(path.trim_end_matches("()")).cloned().or_else(|| packs.knows(&path).then_some(path))
                    {
                        Some(path) => self.member_at(&Ty::Lib { path, of, sure }, name, at.file, depth + 1),
                        None => Ty::Unknown,
                    }
                }
                // A name for the type of a value (`type Store = typeof store`, `ReturnType<typeof makeStore>`).
                made @ (Ty::Literal(_) | Ty::Module(_)) => self.member_at(&made, name, at.file, depth + 1),
                _ => Ty::Unknown,
            };
            if !found.is_unknown() {
                return found;
            }
        }
        Ty::Unknown
    }

    /// A field of a class that holds a query builder of the tree's own (a model's manager) works on that class's rows, and keeps
    /// its own methods.
    fn helped(&self, ty: Ty, of: &Ty, depth: u32) -> Ty {
        let (Ty::Instance(helper), Ty::Class(model) | Ty::Instance(model)) = (&ty, of) else { return ty };
        let packs = self.packs(helper.file);
        match self.base_type(*helper, depth) {
            Some(id) if packs.type_row(&id).is_some_and(|row| row.fluent) => {
                Ty::Lib { path: id, of: Arc::from([Ty::Class(*model), ty.clone()]), sure: true }
            }
            _ => ty,
        }
    }

    /// The classes of the tree that a class is made of, with theirs.
    pub fn bases_of(&self, at: ClassRef) -> Vec<ClassRef> {
        let mut found = vec![];
        let mut open = vec![at];
        while let Some(class) = open.pop().filter(|_| found.len() < 64) {
            let own = |known: &crate::syntax::Class| FnRef { file: class.file, func: known.parent.0 };
            let bases = self.class(class).into_iter().flat_map(|known| known.bases.iter().map(move |base| (base, own(known))));
            for (base, own) in bases {
                if let Ty::Instance(base) = self.declared(base, own)
                    && base != at
                    && !found.contains(&base)
                {
                    found.push(base);
                    open.push(base);
                }
            }
        }
        found
    }

    /// The pack's type that a class's bases make it one of.
    pub fn base_type(&self, at: ClassRef, depth: u32) -> Option<Atom> {
        let class = self.class(at).filter(|_| depth < DEEPEST)?;
        let own = FnRef { file: at.file, func: class.parent.0 };
        let packs = self.packs(at.file);
        let of_path = |path: &str| {
            let mut path = path;
            loop {
                match packs.type_of_base(path) {
                    Some(id) => return Some(id.clone()),
                    None => path = path.strip_suffix("()")?,
                }
            }
        };
        let named = class.bases.iter().find_map(|base| match self.declared_at(base, own, depth + 1) {
            Ty::Instance(base) if base != at => self.base_type(base, depth + 1),
            Ty::Lib { path, .. } if packs.type_row(&path).is_some() => Some(path),
            Ty::Lib { path, .. } => of_path(&path),
            _ => None,
        });
        named.or_else(|| {
            class.base_calls.iter().find_map(|base| of_path(&format!("{}()", self.path_of(base, at.file, depth + 1)?)))
        })
    }

    /// The model that a class's bases say it works on: `extends Repository<Order>`.
    pub fn works_on(&self, at: ClassRef, depth: u32) -> Option<ClassRef> {
        let class = self.class(at).filter(|_| depth < DEEPEST)?;
        let own = FnRef { file: at.file, func: class.parent.0 };
        // A type of attributes alone is no model.
        let model = |class: ClassRef| {
            let marked = self.files.get(class.file as usize).is_some_and(|facts| facts.class_marks.contains_key(&class.class));
            let entity =
                || self.base_type(class, depth + 1).is_some_and(|id| self.packs(class.file).kind(&id) == TypeKind::Entity);
            class != at && (marked || entity())
        };
        class.bases.iter().find_map(|base| match self.declared_at(base, own, depth + 1) {
            Ty::Instance(base) if base != at => self.works_on(base, depth + 1),
            Ty::Lib { of, .. } => of.iter().find_map(|arg| match arg {
                Ty::Class(class) | Ty::Instance(class) if model(*class) => Some(*class),
                _ => None,
            }),
            _ => None,
        })
    }

    /// The path of a library that the callee of a base class's call stands for (`Manager.from_queryset(Own)`).
    fn path_of(&self, call: &Expr, file: u32, depth: u32) -> Option<Atom> {
        let ExprKind::Call(call) = &call.kind else { return None };
        match self.named_expr(&call.callee, file, depth) {
            Ty::Lib { path, .. } => Some(path),
            _ => None,
        }
    }

    pub(super) fn named_expr(&self, expr: &Expr, file: u32, depth: u32) -> Ty {
        match &expr.kind {
            ExprKind::Name(name) => self.ty_of_name(file, name, depth + 1),
            ExprKind::Member(of, name) => match self.named_expr(of, file, depth + 1) {
                Ty::Lib { path, .. } if !path.contains(':') => Ty::lib(format!("{path}.{name}")),
                _ => Ty::Unknown,
            },
            _ => Ty::Unknown,
        }
    }

    /// What a declared field that begins empty is filled with by its class's own methods: the one instance of a class, a client
    /// made when it is first asked for.
    fn kept_later(&self, at: ClassRef, name: &str, depth: u32) -> Option<Ty> {
        let class = self.class(at)?;
        let own = |of: &Value| match of {
            Value::This(_) => true,
            Value::Module(file, known) => *file == at.file && **known == *class.name,
            _ => false,
        };
        let methods = class.methods.iter().filter_map(|id| self.facts(FnRef { file: at.file, func: id.0 }));
        methods
            .flat_map(|method| &method.events)
            .filter_map(|event| match &event.act {
                Act::Write { place: Value::Member(of, field), value, op: None, .. } if **field == *name && own(of) => Some(value),
                _ => None,
            })
            .map(|value| self.ty_at(value, at.file, depth + 2))
            .find(|ty| matches!(ty, Ty::Instance(_) | Ty::Lib { .. }))
    }

    /// The constructors of a class.
    pub fn constructors(&self, at: ClassRef) -> impl Iterator<Item = FnRef> + '_ {
        let methods = self.class(at).map(|class| &class.methods[..]).unwrap_or_default();
        let functions = methods.iter().map(move |id| FnRef { file: at.file, func: id.0 });
        functions.filter(|function| self.function(*function).is_some_and(|function| function.flags.is_constructor))
    }

    /// What a field is set to: its initial value, or what a constructor assigns.
    pub fn field_value(&self, at: ClassRef, name: &str) -> Option<Value> {
        for function in self.constructors(at) {
            for event in &self.facts(function)?.events {
                if let Act::Write { place: Value::Member(of, field), value, .. } = &event.act
                    && &**field == name
                    && matches!(&**of, Value::This(_))
                {
                    return Some(value.clone());
                }
            }
        }
        self.files.get(at.file as usize)?.field_values.get(&(at.class, Atom::from(name))).cloned()
    }

    /// The path with what packs know of it: the id of the type it gives, if any.
    pub(super) fn known_path(&self, ty: Ty, file: u32) -> Ty {
        match &ty {
            Ty::Lib { path, of, sure } => match self.packs(file).type_at(path) {
                Some(id) => Ty::Lib { path: id.clone(), of: of.clone(), sure: *sure },
                None => ty,
            },
            _ => ty,
        }
    }

    /// What the elements of a collection are.
    pub(super) fn element(&self, of: &Ty, file: u32) -> Ty {
        match of {
            Ty::Lib { path, .. } if self.packs(file).kind(path) == TypeKind::Wrapper => self.element(&of.first_arg(), file),
            // Rows are a row's type.
            Ty::Lib { path, .. } if self.packs(file).kind(path) == TypeKind::Entity => of.clone(),
            // What any member of it is, its elements are.
            Ty::Lib { path, of: args, sure } => match self.packs(file).type_at(&format!("{path}.*")) {
                Some(id) => Ty::Lib { path: id.clone(), of: args.clone(), sure: *sure },
                None => of.last_arg(),
            },
            Ty::Instance(_) => of.clone(),
            _ => Ty::Unknown,
        }
    }
}
