//! What calls give: instances, what packs say, and what functions of the tree return.

use std::collections::HashMap;
use std::sync::Arc;

use super::settled::owner_file;
use super::{DEEPEST, Tree};
use crate::facts::{Act, FnRef, Value};
use crate::files::Atom;
use crate::program::{ClassRef, Ty};
use crate::rules::{Meaning, Pick, Selector, TypeKind, Want};
use crate::syntax::{ExitKind, TypeRef};

impl Tree {
    pub(super) fn ty_of_result(&self, function: FnRef, event: u32, depth: u32) -> Ty {
        let key = (function, event);
        if let Some(known) = self.results.get(&key) {
            return known;
        }
        let Some(event) = self.facts(function).and_then(|facts| facts.events.get(event as usize)) else { return Ty::Unknown };
        let found = match &event.act {
            Act::Call { callee, args, .. } => self.called(callee, args, function.file, depth + 1),
            Act::Enter { value } => self.ty_at(value, function.file, depth + 1),
            _ => Ty::Unknown,
        };
        // What the code says of a result that is not known otherwise.
        let strange = match &found {
            Ty::Unknown => true,
            // Nothing is known of what a call gives but that the library gives it.
            Ty::Lib { path, .. } => {
                let packs = self.packs(function.file);
                !packs.knows(path) || path.ends_with("()") && packs.type_row(path).is_none()
            }
            _ => false,
        };
        let found = match event.said.as_deref().filter(|_| strange).map(|said| self.declared_at(said, function, depth + 1)) {
            Some(Ty::Unknown) | None => found,
            Some(said) => said,
        };
        if depth < DEEPEST / 2 {
            self.results.keep(key, found.clone());
        }
        found
    }

    /// The one class of the tree that a registry is asked for by texts: `("shop.importers", "Importer")`, `("shop.importers.Importer")`.
    fn named_in_texts(&self, args: &[(Option<Atom>, Value)]) -> Option<ClassRef> {
        let text = |at: usize| match args.get(at) {
            Some((None, Value::Text(text))) => Some(&**text),
            _ => None,
        };
        let (module, name) = match args.len() {
            1 => text(0)?.rsplit_once('.')?,
            2 => (text(0)?, text(1)?),
            _ => return None,
        };
        if !name.starts_with(char::is_uppercase) || !module.contains('.') {
            return None;
        }
        let file = format!("/{}", module.replace('.', "/"));
        let stands_in = |class: &&ClassRef| {
            let path =
                self.paths.get(class.file as usize).and_then(|path| path.rsplit_once('.')).map(|(stem, _)| format!("/{stem}"));
            path.is_some_and(|path| path.ends_with(&file))
        };
        let mut found = self.classes_named(name).iter().filter(stands_in);
        found.next().copied().filter(|_| found.next().is_none())
    }

    /// The classes of the tree that go by a name.
    fn classes_named(&self, name: &str) -> &[ClassRef] {
        let classes = self.classes.get_or_init(|| {
            let mut classes: HashMap<String, Vec<ClassRef>> = HashMap::new();
            for facts in self.files.iter() {
                for (index, class) in facts.unit.classes.iter().enumerate() {
                    classes.entry(class.name.clone()).or_default().push(ClassRef { file: facts.file, class: index as u32 });
                }
            }
            classes
        });
        classes.get(name).map_or(&[], Vec::as_slice)
    }

    /// What a literal with a type's name is, where it may have come from another file: what the name means here, else the one
    /// class of the language that goes by it.
    pub(super) fn literal_of(&self, name: &str, file: u32, depth: u32) -> Ty {
        let here = self.declared_name(name, FnRef { file, func: 0 }, depth + 1);
        let strange = match &here {
            Ty::Unknown => true,
            Ty::Lib { path, .. } => path.trim_end_matches("()") == name && !self.packs(file).knows(path),
            _ => false,
        };
        let language = |file: u32| self.files.get(file as usize).map(|facts| facts.unit.language);
        let mut others = self.classes_named(name).iter().filter(|class| strange && language(class.file) == language(file));
        match (others.next(), others.next()) {
            (Some(only), None) => Ty::Instance(*only),
            _ => here,
        }
    }

    /// What a call gives.
    pub fn called(&self, callee: &Value, args: &[(Option<Atom>, Value)], file: u32, depth: u32) -> Ty {
        let what = self.ty_at(callee, file, depth + 1);
        let packs = self.packs(file);
        if matches!(what, Ty::Function(_) | Ty::Unknown)
            && let Some(class) = self.named_in_texts(args)
        {
            return Ty::Class(class);
        }
        match &what {
            Ty::Class(class) => Ty::Instance(*class),
            // A variant of an enumeration, made with what it carries.
            Ty::Instance(class) if matches!(callee, Value::Member(of, _) if self.ty_at(of, file, depth + 1) == Ty::Class(*class)) => {
                what
            }
            Ty::Function(function) => match self.handed_back(*function, args, file, depth + 1) {
                Ty::Unknown => self.about_given(self.returned(*function, depth + 1), *function, args, file, depth + 1),
                found => found,
            },
            // A function of which only its type is known: what that says it gives.
            Ty::Lib { path, of, .. } if &**path == "Function()" && of.first().is_some_and(|gives| !gives.is_unknown()) => {
                of.first().cloned().unwrap_or_default()
            }
            Ty::Lib { path, of, sure } => {
                let receiver = || match callee {
                    Value::Member(of, _) => self.ty_at(of, file, depth + 1),
                    _ => Ty::Unknown,
                };
                let anywhere = path.rsplit('.').next().into_iter().flat_map(|method| packs.rows_of_method(method));
                let may_be = |row: &crate::rules::Row<'_>| self.may_be(row.call, args);
                for row in packs.rows(path).filter(may_be).chain(anywhere.filter(|row| row.call.is == Meaning::Pass)) {
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
                            let of = match receiver() {
                                _ if !of.is_empty() => of.clone(),
                                // A function of the library that is told what its rows are: `query_as!(Invite, ..)`.
                                Ty::Unknown => self.classes_among(args, file, depth),
                                Ty::Lib { path, of, .. } if of.is_empty() && !path.contains([':', '(']) => {
                                    self.classes_among(args, file, depth)
                                }
                                receiver => self.entity_of(&receiver),
                            };
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

    /// Whether nothing among a call's own arguments speaks against a row's conditions.
    fn may_be(&self, row: &crate::rules::CallRow, args: &[(Option<Atom>, Value)]) -> bool {
        row.when.iter().all(|(selector, want)| {
            let [Pick::Arg(index, keys)] = &selector.options[..] else { return true };
            if !keys.is_empty() {
                return true;
            }
            let given = args.iter().filter(|(name, _)| name.is_none()).nth(*index).map(|(_, value)| self.settled(value));
            let said = match &given {
                Some(Value::Text(said)) => said.clone(),
                _ => return true,
            };
            match want {
                Want::Present(_) => true,
                Want::Text(text) => said.eq_ignore_ascii_case(text),
                Want::OneOf(texts) => texts.iter().any(|text| said.eq_ignore_ascii_case(text)),
            }
        })
    }

    pub(super) fn entity_of(&self, receiver: &Ty) -> Arc<[Ty]> {
        match receiver {
            Ty::Unknown => Arc::default(),
            Ty::Lib { of, .. } if !of.is_empty() => of.clone(),
            other => Arc::from([other.clone()]),
        }
    }

    /// The types of a constructor's arguments: `Mutex::new(BTreeMap::new())` holds a map, `defaultdict(Lock)` what the call gives.
    pub(super) fn literal_args(&self, args: &[(Option<Atom>, Value)], file: u32, depth: u32) -> Arc<[Ty]> {
        let packs = self.packs(file);
        let made = |ty: Ty| match &ty {
            Ty::Lib { path, of, sure } => match packs.type_at(&format!("{path}()")) {
                Some(id) => Ty::Lib { path: id.clone(), of: of.clone(), sure: *sure },
                None => ty,
            },
            Ty::Function(maker) => self.returned(*maker, depth + 1),
            _ => ty,
        };
        args.iter()
            .map(|(_, value)| made(self.ty_at(value, file, depth + 1)))
            .filter(|ty| !matches!(ty, Ty::Unknown | Ty::Literal(_)))
            .collect()
    }

    /// The classes among a call's arguments, each as one of it.
    fn classes_among(&self, args: &[(Option<Atom>, Value)], file: u32, depth: u32) -> Arc<[Ty]> {
        let class = |(_, value): &(Option<Atom>, Value)| match self.ty_at(value, file, depth + 1) {
            Ty::Class(class) => Some(Ty::Instance(class)),
            _ => None,
        };
        args.iter().filter_map(class).collect()
    }

    /// What the elements of an undeclared collection are, by what its file puts into it.
    pub(super) fn element_put(&self, callee: &Value, depth: u32) -> Ty {
        let Value::Member(collection, _) = callee else { return Ty::Unknown };
        self.put_there(collection, depth)
    }

    /// The same, of the collection itself.
    pub(super) fn put_there(&self, collection: &Value, depth: u32) -> Ty {
        self.first_put(collection, depth, &|value, file| {
            let ty = self.ty_at(value, file, depth + DEEPEST / 4);
            (!ty.is_unknown()).then_some(ty)
        })
        .unwrap_or_default()
    }

    /// The item at a number in a list that is written out: where it is made, put into a collection, or made where the collection
    /// has none (`locks.setdefault(key, [Lock(), 0])[0]`).
    pub(super) fn item(&self, of: &Value, at: f64, depth: u32) -> Option<Value> {
        if depth > DEEPEST / 2 {
            return None;
        }
        match of {
            Value::List(items) => items.get(at as usize).cloned(),
            Value::Any(_) | Value::Choose(_) => of.options().into_iter().find_map(|option| self.item(option, at, depth + 1)),
            Value::Index(collection, _) => {
                self.first_put(collection, depth, &|value, _| self.item(value, at, depth + DEEPEST / 4))
            }
            Value::Result(function, event) => {
                let Act::Call { callee: callee @ Value::Member(collection, _), args, .. } =
                    &self.facts(*function)?.events.get(*event as usize)?.act
                else {
                    return None;
                };
                let path = self.ty_at(callee, function.file, depth + 1).path()?.to_owned();
                let gives = self.packs(function.file).rows(&path).any(|row| row.call.returns.as_deref() == Some("element"));
                let made = args.last().filter(|_| args.len() > 1).and_then(|(_, value)| self.item(value, at, depth + 1));
                let put = || self.first_put(collection, depth, &|value, _| self.item(value, at, depth + DEEPEST / 4));
                gives.then(|| made.or_else(put)).flatten()
            }
            _ => None,
        }
    }

    /// The first thing that its file puts into a collection of which something can be told. A field is its object's class's.
    fn first_put<T>(&self, collection: &Value, depth: u32, told: &dyn Fn(&Value, u32) -> Option<T>) -> Option<T> {
        if depth > DEEPEST / 2 || !matches!(collection, Value::Module(..) | Value::Member(..) | Value::Captured(..)) {
            return None;
        }
        let owner = match collection {
            Value::Member(of, _) if !matches!(**of, Value::This(_)) => match self.ty_at(of, owner_file(of), depth + 1) {
                Ty::Instance(class) => Some(class),
                _ => None,
            },
            _ => None,
        };
        let same = |other: &Value| match (collection, other) {
            (Value::Member(left, field), Value::Member(right, other_field)) => {
                let own = match (&**left, &**right) {
                    (Value::This(_), Value::This(_)) => true,
                    (_, Value::This(method)) => owner.is_some() && self.class_of(*method) == owner,
                    _ => false,
                };
                (left == right || own) && field == other_field
            }
            (left, right) => left == right,
        };
        let file = owner.map_or_else(|| owner_file(collection), |class| class.file);
        let facts = self.files.get(file as usize)?;
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
            if let Some(found) = value.and_then(|value| told(&value, file)) {
                return Some(found);
            }
        }
        None
    }

    pub(super) fn simple_pick(&self, selector: &Selector, callee: &Value, args: &[(Option<Atom>, Value)]) -> Option<Value> {
        selector.options.iter().find_map(|pick| match pick {
            Pick::Arg(index, keys) if keys.is_empty() => args.get(*index).map(|(_, value)| value.clone()),
            Pick::Receiver(keys) if keys.is_empty() => match callee {
                Value::Member(of, _) => Some((**of).clone()),
                _ => None,
            },
            _ => None,
        })
    }

    /// What a function of the tree gives back by what it is given, where its types say so: `(make: () => T) => T`, `(value: T) => T`.
    fn handed_back(&self, function: FnRef, args: &[(Option<Atom>, Value)], file: u32, depth: u32) -> Ty {
        let Some(known) = self.function(function).filter(|_| depth < DEEPEST) else { return Ty::Unknown };
        // A type that has a name of its own says what it is.
        let open = |returns: &&TypeRef| {
            returns.name.starts_with(char::is_uppercase) && self.ty_of_name(function.file, &returns.name, depth + 1).is_unknown()
        };
        let Some(returns) = known.returns.as_ref().filter(open) else { return Ty::Unknown };
        let given = known.params.iter().zip(args).filter(|(_, (name, _))| name.is_none());
        let by_type = given.filter_map(|(param, (_, value))| match param.ty.as_ref()? {
            ty if ty == returns => Some(self.ty_at(value, file, depth + 1)),
            ty if ty.name == "Function" && ty.args.first() == Some(returns) => Some(self.called(value, &[], file, depth + 1)),
            _ => None,
        });
        by_type.into_iter().find(|found| !found.is_unknown()).unwrap_or_default()
    }

    /// The same type about the class that a call is given, where the declaration leaves it open: `(of: Type<T>) => Repository<T>`.
    fn about_given(&self, ty: Ty, function: FnRef, args: &[(Option<Atom>, Value)], file: u32, depth: u32) -> Ty {
        let Some((known, returns)) = self.function(function).and_then(|known| Some((known, known.returns.as_ref()?))) else {
            return ty;
        };
        let open = |of: &TypeRef| {
            of.args.is_empty()
                && of.name.starts_with(char::is_uppercase)
                && self.ty_of_name(function.file, &of.name, depth + 1).is_unknown()
                && known.params.iter().any(|param| param.ty.as_ref().is_some_and(|ty| ty.args.contains(of)))
        };
        let given = |of: &TypeRef| {
            let pairs = || known.params.iter().zip(args).filter(|(_, (name, _))| name.is_none());
            let class = |value: &Value| match self.ty_at(value, file, depth + 1) {
                Ty::Class(class) => Some(class),
                _ => None,
            };
            let about = |ty: &Option<TypeRef>| ty.as_ref().is_some_and(|ty| ty.args.contains(of));
            let mut said = pairs().filter(|(param, _)| about(&param.ty)).filter_map(|(_, (_, value))| class(value));
            // The other forms of an overloaded function are not seen.
            said.next().or_else(|| pairs().find_map(|(_, (_, value))| class(value)))
        };
        match ty {
            Ty::Lib { path, of, sure } if of.len() == returns.args.len() => {
                let filled = |(arg, known): (&TypeRef, &Ty)| match open(arg).then(|| given(arg)).flatten() {
                    Some(class) => Ty::Class(class),
                    None => known.clone(),
                };
                let of = returns.args.iter().zip(of.iter()).map(filled).collect();
                Ty::Lib { path, of, sure }
            }
            ty if open(returns) => given(returns).map_or(ty, Ty::Instance),
            ty => ty,
        }
    }

    /// What a function of the tree gives back.
    pub(super) fn returned(&self, function: FnRef, depth: u32) -> Ty {
        if depth > DEEPEST {
            return Ty::Unknown;
        }
        if let Some(returns) = self.function(function).and_then(|f| f.returns.as_ref()) {
            let declared = self.declared_at(returns, function, depth + 1);
            if !declared.is_unknown() && declared.path().is_none_or(|path| self.packs(function.file).knows(path)) {
                // What is made in the function is more than the shape that is said of it.
                let shape = matches!(&declared, Ty::Instance(class) if self.class(*class).is_some_and(|class| class.is_shape));
                return match shape.then(|| self.given(function, depth)) {
                    Some(made @ (Ty::Literal(_) | Ty::Function(_))) => made,
                    _ => declared,
                };
            }
        }
        self.given(function, depth)
    }

    /// What a function gives, by what it returns.
    fn given(&self, function: FnRef, depth: u32) -> Ty {
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
}

/// Method names that make an instance of the type they are called on.
fn constructs(method: &str) -> bool {
    const NAMES: &[&str] =
        &["new", "default", "create", "open", "connect", "init", "builder", "getInstance", "get_instance", "fresh", "instance"];
    NAMES.contains(&method) || ["from", "with_", "new_", "connect_", "open_"].iter().any(|start| method.starts_with(start))
}
