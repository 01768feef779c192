//! Providers that come in two: one that keeps what it knows in this process, beside one that keeps it in a store of all copies.

use super::view::View;
use super::view::World;
use crate::facts::FnRef;
use crate::program::{ClassRef, Flattener, What};
use crate::rules::{CommandKind, Scope};

/// How much of a class's methods another has to have for the two to stand for each other.
const COMMON: f64 = 0.5;

/// The class that offers the same as a function's own from a store that all copies share: both are of one interface, with the same
/// methods.
pub(super) fn shared_beside(world: &World<'_>, flattener: &Flattener<'_>, function: FnRef) -> Option<String> {
    let tree = world.tree;
    let own = tree.class_of(function)?;
    let bases: Vec<&str> = tree.class(own)?.bases.iter().map(|base| base.name.as_str()).collect();
    if bases.is_empty() {
        return None;
    }
    let methods = methods(world, own);
    let classes = tree
        .files
        .iter()
        .flat_map(|file| (0..file.unit.classes.len()).map(|class| ClassRef { file: file.file, class: class as u32 }));
    let beside = classes.filter(|other| {
        let known = tree.class(*other);
        *other != own && known.is_some_and(|known| known.bases.iter().any(|base| bases.contains(&base.name.as_str())))
    });
    beside
        .filter(|other| {
            let theirs = self::methods(world, *other);
            let common = methods.iter().filter(|name| theirs.contains(name)).count();
            common >= 2 && common as f64 >= methods.len() as f64 * COMMON
        })
        .find(|other| keeps_in_a_store(world, flattener, *other))
        .and_then(|other| tree.class(other).map(|class| class.name.clone()))
}

/// The names of a class's methods, its constructor apart.
fn methods<'t>(world: &World<'t>, class: ClassRef) -> Vec<&'t str> {
    let methods = world.tree.class(class).into_iter().flat_map(|known| &known.methods);
    let functions = methods.filter_map(|method| world.tree.function(FnRef { file: class.file, func: method.0 }));
    functions.filter(|function| !function.flags.is_constructor).map(|function| function.name.as_str()).collect()
}

/// Whether methods of a class change what all copies share.
fn keeps_in_a_store(world: &World<'_>, flattener: &Flattener<'_>, class: ClassRef) -> bool {
    let methods = world.tree.class(class).into_iter().flat_map(|known| &known.methods);
    methods.map(|method| flattener.flat(FnRef { file: class.file, func: method.0 })).any(|flat| {
        let writes = flat.events.iter().any(|event| match &event.what {
            What::Kv(kv) => !matches!(kv.op, CommandKind::Get | CommandKind::Read),
            What::Statement(statement) => statement.writes(),
            _ => false,
        });
        writes || View::new(world, &flat).regions.iter().any(|region| region.scope == Scope::Cluster)
    })
}
