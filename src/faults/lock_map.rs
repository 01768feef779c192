//! `lock-map-evicts`: a map of locks by key drops a lock that others may hold or await.

use super::candidate::Candidate;
use super::regions::Region;
use super::subject::Judged;
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Place};
use crate::rules::{Meaning, Scope};

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    let keyed = view.regions.iter().filter(|region| region.scope == Scope::Process && region.excludes());
    for region in keyed {
        let Some(map) = region.place.as_ref().filter(|place| place.keyed && view.lasts(place)) else { continue };
        let acquire = view.event(region.acquire);
        let (drop, message) = if let Some(cache) = forgets(view, map) {
            (
                acquire,
                format!(
                    "the locks are kept in {cache}, which drops entries by itself: the next caller makes a second lock for the same key"
                ),
            )
        } else if let Some((_, drop)) = view.events().find(|(index, event)| drops(view, region, map, *index, event)) {
            (drop, "the holder takes the lock out of the map while others may still wait on it: the next caller makes a second one for the same key".to_owned())
        } else {
            continue;
        };
        let mut candidate = Candidate::new(view, "lock-map-evicts", drop, acquire, message);
        candidate.hop(Role::Acquire, acquire, "a lock found by its key");
        if drop.at != acquire.at {
            candidate.hop(Role::Release, drop, "its entry is removed here");
        }
        candidate.stands = true;
        found.push(candidate.at_most(if region.sure { Confidence::High } else { Confidence::Medium }));
    }
}

/// The kind of cache a map is, where it drops entries by itself.
fn forgets(view: &View<'_>, map: &Place) -> Option<String> {
    let made = view.made(map);
    made.evicts.then(|| "a cache".to_owned())
}

/// Whether an event takes the entry out although nothing was asked about its other users.
fn drops(view: &View<'_>, region: &Region, map: &Place, index: u32, event: &FlatEvent) -> bool {
    if index <= region.acquire || event.detached {
        return false;
    }
    let same = |place: Option<Place>| place.is_some_and(|place| place.holder == map.holder && place.path == map.path);
    let removes = match &event.act {
        Act::Delete { place } => matches!(place, Value::Index(..)) && same(view.place(place)),
        _ => event.meant(Meaning::Remove).is_some_and(|meant| meant.part("key").is_some() && same(view.place(&meant.receiver))),
    };
    let acquire = view.event(region.acquire);
    removes && event.guards.iter().all(|guard| acquire.guards.contains(guard))
}
