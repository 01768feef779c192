//! What a piece of state is made of: its type, what packs know of that type, and where it is declared.

use super::flat::Flat;
use super::place::is_shape;
use super::tree::Carried;
use super::{ClassRef, Holder, Place, Tree, Ty};
use crate::facts::{Act, FnRef, Value};
use crate::files::Span;
use crate::rules::{Scope, TypeKind, TypeRow};

/// What a piece of state is made of, where its holder shows it: the type's kind, how far it reaches, and its declaration.
#[derive(Debug, Clone, Copy)]
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
            let made =
                tree.facts(*function).and_then(|facts| facts.events.iter().find(|event| event.bound.as_ref() == Some(name)));
            (value, function.file, made.map(|made| (function.file, made.span)))
        }
        Holder::Local(index) => {
            let event = flat.events.get(*index as usize);
            (Value::Flat(*index), event.map_or(0, |event| event.origin.0.file), event.map(|event| (event.at.file, event.at.span)))
        }
        Holder::Param(function, index) => (Value::Param(*function, *index), function.file, None),
        Holder::Global(_) => (Value::Unknown, 0, None),
        Holder::Carried(function, event, _) => {
            let value = tree.carried_value(Carried { function: *function, event: *event }).cloned().unwrap_or_default();
            let at = tree.facts(*function).and_then(|facts| facts.events.get(*event as usize));
            (value, function.file, at.map(|event| (function.file, event.span)))
        }
        Holder::Library(language, id) => {
            let (kind, scope, evicts) = row_says(tree.packs_of(*language).type_row(id));
            return Made { kind, scope, evicts, at: None };
        }
    };
    let ty = unwrapped(tree, tree.ty(&flat.plain(&value), file), file);
    made_of_ty(tree, &ty, file, at)
}

fn row_says(row: Option<&TypeRow>) -> (TypeKind, Scope, bool) {
    row.map_or((TypeKind::Plain, Scope::Process, false), |row| (row.is, row.scope, row.evicts))
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
        Ty::Lib { path, .. } => row_says(tree.packs(file).type_row(path)),
        Ty::Literal(_) => (TypeKind::State, Scope::Process, false),
        Ty::Instance(class) if is_shape(tree, *class) => (TypeKind::State, Scope::Process, false),
        _ => (TypeKind::Plain, Scope::Process, false),
    };
    Made { kind, scope, evicts, at }
}

/// Whether what a wrapper holds is state.
pub(super) fn holds_state(tree: &Tree, inner: &Ty, file: u32) -> bool {
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
