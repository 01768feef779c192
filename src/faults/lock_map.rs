//! `lock-map-evicts`: a map of locks by key drops a lock that others may hold or await.

use super::candidate::Candidate;
use super::subject::Judged;
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Look, Place, Spot, Ty, maker, unwrapped};
use crate::rules::{Meaning, Scope, TypeKind};

/// A map of locks, where a function takes a lock from it or puts one in.
struct Keyed {
    map: Place,
    at: u32,
    sure: bool,
}

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    let mut told: Vec<Place> = vec![];
    for keyed in keyed(view) {
        let near = |place: &Place| place.holder == keyed.map.holder;
        if told.iter().any(near) || !view.lasts(&keyed.map) {
            continue;
        }
        let taken = view.event(keyed.at);
        let made = view.made(&keyed.map);
        let (drop, message) = if made.evicts {
            (
                taken,
                "the locks are kept in a cache, which drops entries by itself: the next caller makes a second lock for the same key",
            )
        } else if let Some((_, drop)) = view.events().find(|(index, event)| drops(view, &keyed, *index, event)) {
            (
                drop,
                "the lock leaves the map while others may still wait on it: the next caller makes a second one for the same key",
            )
        } else {
            continue;
        };
        told.push(keyed.map.clone());
        let mut candidate = Candidate::new(view, "lock-map-evicts", drop, taken, message.to_owned());
        candidate.hop(Role::Acquire, taken, "a lock found by its key");
        if drop.at != taken.at {
            candidate.hop(Role::Release, drop, "its entry is removed here");
        }
        candidate.stands = true;
        // A cache is wrong for all who take locks from it: one fault, where it is declared.
        if let (true, Some((file, span))) = (made.evicts, made.at) {
            let at = Spot { file, span };
            (candidate.primary, candidate.cause, candidate.work) = (at, at, at);
        }
        found.push(candidate.at_most(if keyed.sure { Confidence::High } else { Confidence::Medium }));
    }
}

/// Where this function takes locks from maps, or puts them in.
fn keyed(view: &View<'_>) -> Vec<Keyed> {
    let taken = view.regions.iter().filter(|region| region.scope == Scope::Process && region.excludes());
    let taken = taken.filter_map(|region| {
        let map = region.place.clone().filter(|place| place.keyed)?;
        Some(Keyed { map, at: region.acquire, sure: region.sure })
    });
    let put = view.events().filter_map(|(at, event)| {
        let (map, value) = match (&event.act, event.meant(Meaning::Put)) {
            (Act::Write { place: place @ Value::Index(..), value, .. }, _) => (view.place(place)?, value),
            (_, Some(meant)) => (view.place(&meant.receiver)?, meant.part("value")?),
            _ => return None,
        };
        let lock = is_lock(view, event, value)
            || value.options().into_iter().any(|option| match option {
                Value::Object(_, entries) => entries.iter().any(|(_, entry)| is_lock(view, event, entry)),
                _ => false,
            });
        lock.then_some(Keyed { map, at, sure: true })
    });
    let made = view.events().filter_map(|(at, event)| {
        let (Act::Enter { value }, file) = (&event.act, event.origin.0.file) else { return None };
        let Value::Index(map, _) = value else { return None };
        let look = Look { tree: view.world.tree, events: &view.flat.events };
        let (_, args) = look.call(&maker(&look, map)?)?;
        let makes = |value: &Value| match view.world.tree.ty(value, file) {
            Ty::Lib { path, .. } => locks(view, file, &format!("{path}()")),
            _ => false,
        };
        args.iter().any(|(_, value)| makes(value)).then_some(Keyed { map: view.place(value)?, at, sure: true })
    });
    taken.chain(put).chain(made).collect()
}

/// Whether a value is a lock of this process.
fn is_lock(view: &View<'_>, event: &FlatEvent, value: &Value) -> bool {
    let tree = view.world.tree;
    let file = event.origin.0.file;
    match unwrapped(tree, tree.ty(&view.flat.plain(value), file), file) {
        Ty::Lib { path, .. } => locks(view, file, &path),
        _ => false,
    }
}

fn locks(view: &View<'_>, file: u32, path: &str) -> bool {
    let packs = view.world.tree.packs(file);
    let row = packs.type_row(path).or_else(|| packs.type_row(packs.type_at(path)?));
    row.is_some_and(|row| row.is == TypeKind::Lock && row.scope == Scope::Process)
}

/// Whether an event takes the entry out although nothing was asked about its other users.
fn drops(view: &View<'_>, keyed: &Keyed, index: u32, event: &FlatEvent) -> bool {
    if index <= keyed.at || event.detached {
        return false;
    }
    let same = |place: Option<Place>| {
        place.is_some_and(|place| place.holder == keyed.map.holder && keyed.map.path.starts_with(&place.path))
    };
    let removes = match &event.act {
        Act::Delete { place } => matches!(place, Value::Index(..)) && same(view.place(place)),
        _ => event.meant(Meaning::Remove).is_some_and(|meant| {
            let asks = event.call().is_some_and(|(_, args)| args.iter().any(|(_, value)| matches!(value, Value::Function(_))));
            meant.part("key").is_some() && !asks && same(view.place(&meant.receiver))
        }),
    };
    let taken = view.event(keyed.at);
    let freed = |guard: &&crate::facts::Guard| !taken.guards.contains(guard);
    removes && event.guards.iter().filter(freed).count() == 0
}
