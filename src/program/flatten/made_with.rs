//! What a field of an object is that was made where it is used: what its constructor was given for it.

use super::Writer;
use super::inline::Subst;
use crate::facts::Arg;
use crate::facts::{Act, FnRef, Value};
use crate::files::Atom;
use crate::program::flat::plain;
use crate::program::{ClassRef, Ty};

/// Calls that only give the object out are followed this deep.
const DEEPEST: u32 = 4;

impl Subst<'_, '_> {
    /// What the receiver's field was given when the receiver was made, where nothing else sets it.
    pub(super) fn made_with(&self, field: &Atom, writer: &Writer<'_, '_>) -> Option<Value> {
        let (class, args) = made(writer, &self.receiver, 0)?;
        let tree = self.tree;
        let Value::Param(constructor, index) = tree.field_value(class, field)? else { return None };
        if set_again(writer, class, constructor, field) {
            return None;
        }
        let given = Subst { tree, root: self.root, target: constructor, receiver: Value::Unknown, args, made_by: &[] };
        let value = given.argument(index)?;
        // What only the field's declared type tells is not to be lost.
        let declared = tree.member(&Ty::Instance(class), field, class.file);
        let told = !tree.ty(&plain(&writer.events, &value), self.root.file).is_unknown();
        (told || declared.is_unknown()).then_some(value)
    }
}

/// The class of an object that a call of this function made, and what the call was given.
fn made<'w>(writer: &'w Writer<'_, '_>, value: &Value, depth: u32) -> Option<(ClassRef, &'w [Arg])> {
    let Value::Flat(index) = value else { return None };
    let event = writer.events.get(*index as usize).filter(|_| depth < DEEPEST)?;
    let Act::Call { callee, args, .. } = &event.act else { return None };
    let mut given = event.returns.iter().map(|(value, _)| value).filter(|value| **value != Value::Null);
    match (given.next(), given.next()) {
        (Some(only), None) => return made(writer, only, depth + 1),
        (Some(_), Some(_)) => return None,
        (None, _) => {}
    }
    match writer.tree.ty(&plain(&writer.events, callee), event.origin.0.file) {
        Ty::Class(class) => Some((class, args)),
        _ => None,
    }
}

/// Whether a method other than the constructor sets a field.
fn set_again(writer: &Writer<'_, '_>, class: ClassRef, constructor: FnRef, field: &Atom) -> bool {
    let methods = writer.tree.class(class).into_iter().flat_map(|class| &class.methods);
    let others = methods.map(|method| FnRef { file: class.file, func: method.0 }).filter(|method| *method != constructor);
    others.filter_map(|method| writer.tree.facts(method)).flat_map(|facts| &facts.events).any(|event| match &event.act {
        Act::Write { place: Value::Member(of, name), .. } => name == field && matches!(**of, Value::This(_)),
        _ => false,
    })
}
