//! What detectors see: a function written out, with everything they may ask about the tree around it.

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::Hash;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::counts::Counts;
use super::passed::passed;
use super::regions::{Region, regions};
use super::tests_of_state::{StateChange, StateTest};
use crate::facts::{FnRef, Guard, Value};
use crate::files::Document;
use crate::program::{
    Configured, Flat, FlatEvent, Holder, Instances, Lifetime, Made, Place, Schema, Spot, Tree, What, lifetime, made_of, place_of,
};

/// Everything about the tree.
pub struct World<'t> {
    /// The linked tree.
    pub tree: &'t Tree,
    /// Unique keys.
    pub schema: &'t Schema,
    /// How long instances live.
    pub instances: &'t Instances,
    /// What the files of the tree count.
    pub counts: Counts,
    /// Files that hold a script which frees a lock only for its owner.
    pub owner_checked: HashSet<u32>,
    /// Settings that put limiters and session stores into the program.
    pub configured: Vec<Configured>,
    /// The setting by which each request runs in a transaction.
    pub request_transactions: Option<Spot>,
    /// Files that say how the program is built and started.
    pub documents: &'t [Document],
    /// A connection pooler between the program and its database hands connections out by transaction.
    pub pooled_by_transaction: bool,
}

/// One function, as detectors see it.
pub struct View<'t> {
    /// Everything about the tree.
    pub world: &'t World<'t>,
    /// The function.
    pub flat: &'t Flat,
    /// Locks held, and over which events.
    pub regions: Vec<Region>,
    /// What was worked out of the function before.
    pub(super) known: Known,
}

/// What detectors ask of one function again and again.
#[derive(Default)]
pub(super) struct Known {
    depends: Kept<u32, Rc<HashSet<u32>>>,
    passed: Kept<u32, Rc<[Guard]>>,
    lifetimes: Kept<Holder, Lifetime>,
    made: Kept<Holder, Made>,
    /// Changes of state.
    pub(super) changes: Kept<(), Rc<Vec<StateChange>>>,
    /// Tests of state, by condition.
    pub(super) tests: Kept<u32, Rc<Vec<StateTest>>>,
    /// Events whose results are returned.
    pub(super) given: Kept<(), Rc<HashSet<u32>>>,
    /// State that is returned.
    pub(super) given_places: Kept<(), Rc<Vec<Place>>>,
    /// Tests of lasting state, by guard.
    pub(super) guards: Kept<Guard, Rc<Vec<StateTest>>>,
}

/// Answers, each worked out once.
pub(super) struct Kept<K, V>(RefCell<FxHashMap<K, V>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Kept<K, V> {
        Kept(RefCell::default())
    }
}

impl<K: Eq + Hash, V: Clone> Kept<K, V> {
    /// The answer, made where it is not known.
    pub(super) fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        if let Some(known) = self.0.borrow().get(&key) {
            return known.clone();
        }
        let made = make();
        self.0.borrow_mut().insert(key, made.clone());
        made
    }
}

impl<'t> View<'t> {
    /// A view of a function.
    pub fn new(world: &'t World<'t>, flat: &'t Flat) -> View<'t> {
        let mut view = View { world, flat, regions: vec![], known: Known::default() };
        view.regions = regions(&view);
        view
    }

    /// The function's events, with their indexes.
    pub fn events(&self) -> impl Iterator<Item = (u32, &'t FlatEvent)> {
        self.flat.events.iter().enumerate().map(|(index, event)| (index as u32, event))
    }

    /// An event.
    pub fn event(&self, index: u32) -> &'t FlatEvent {
        &self.flat.events[index as usize]
    }

    /// The state behind a value.
    pub fn place(&self, value: &Value) -> Option<Place> {
        place_of(self.world.tree, &self.flat.events, value)
    }

    /// How long a piece of state lives.
    pub fn lifetime(&self, place: &Place) -> Lifetime {
        self.known.lifetimes.get(place.holder.clone(), || lifetime(self.world.tree, self.world.instances, place))
    }

    /// Whether one process keeps a piece of state across requests.
    pub fn lasts(&self, place: &Place) -> bool {
        matches!(self.lifetime(place), Lifetime::Process { .. })
    }

    /// What a piece of state is made of.
    pub fn made(&self, place: &Place) -> Made {
        self.known.made.get(place.holder.clone(), || made_of(self.world.tree, self.flat, place))
    }

    /// Events a condition depends on.
    pub fn cond_depends(&self, cond: u32) -> Rc<HashSet<u32>> {
        let depends = || self.flat.conds.get(cond as usize).map(|cond| self.flat.depends(&cond.value)).unwrap_or_default();
        self.known.depends.get(cond, || Rc::new(depends()))
    }

    /// Events any guard of `event` depends on.
    pub fn decided_by(&self, event: &FlatEvent) -> HashSet<u32> {
        event.guards.iter().flat_map(|guard| self.cond_depends(guard.cond).iter().copied().collect::<Vec<_>>()).collect()
    }

    /// The same, but for guards that some come past without having been asked.
    pub fn always_decided_by(&self, event: &FlatEvent) -> HashSet<u32> {
        let asks_all = |guard: &&Guard| !self.flat.conds.get(guard.cond as usize).is_some_and(|cond| cond.value.lets_past());
        event
            .guards
            .iter()
            .filter(asks_all)
            .flat_map(|guard| self.cond_depends(guard.cond).iter().copied().collect::<Vec<_>>())
            .collect()
    }

    /// What must hold for an event besides its own guards: with the opposite, an error had left before it.
    pub fn passed(&self, index: u32) -> Rc<[Guard]> {
        self.known.passed.get(index, || passed(self, index))
    }

    /// The function itself.
    pub fn root(&self) -> FnRef {
        self.flat.root
    }

    /// Where a hop of this function stands: an event's place in the function itself, or the call that leads there.
    pub fn in_root(&self, event: &FlatEvent) -> Spot {
        // A callback written inside the call that runs it stands in the function itself.
        let within = |outer: &Spot, inner: &Spot| {
            outer.file == inner.file && outer.span.start <= inner.span.start && inner.span.end <= outer.span.end
        };
        let way = || event.hops.iter().chain([&event.at]);
        way().zip(way().skip(1)).find(|(call, next)| !within(call, next)).map_or(event.at, |(call, _)| *call)
    }

    /// Names around an event that say what it is about: the function's, the event's callee and receiver.
    pub fn names_around(&self, event: &FlatEvent) -> Vec<String> {
        let mut names = vec![];
        let origin = event.origin.0;
        let mut at = Some(origin);
        while let Some(function) = at {
            let Some(known) = self.world.tree.function(function) else { break };
            names.push(known.name.clone());
            at = known.parent.map(|parent| FnRef { file: function.file, func: parent.0 }).filter(|parent| parent.func != 0);
        }
        if let Some(class) = self.world.tree.class_of(origin).and_then(|class| self.world.tree.class(class)) {
            names.push(class.name.clone());
        }
        if let Some(path) = self.world.tree.paths.get(origin.file as usize) {
            names.push(path.rsplit('/').next().unwrap_or(path).to_owned());
        }
        if let Some((callee, _)) = event.call() {
            names.extend(self.world.tree.name_of(callee));
            if let Value::Member(receiver, _) = callee {
                names.extend(self.world.tree.name_of(&self.flat.plain(receiver)));
            }
        }
        names
    }

    /// A short name for what an event does, for messages.
    pub fn describe(&self, event: &FlatEvent) -> String {
        match &event.what {
            What::Statement(statement) => {
                let verb = format!("{:?}", statement.op).to_lowercase();
                match &statement.table {
                    Some(table) => format!("{verb} on `{table}`"),
                    None => format!("database {verb}"),
                }
            }
            What::Presumed(presumed) => match &presumed.owner {
                Some(owner) => format!("`{owner}.{}()`", presumed.name),
                None => format!("`{}()`", presumed.name),
            },
            What::Kv(kv) if kv.only_new => "a key set only where it is new".to_owned(),
            What::Kv(_) => "write to the shared store".to_owned(),
            What::Meant(meant) => {
                let name = event
                    .call()
                    .and_then(|(callee, _)| self.world.tree.name_of(callee))
                    .unwrap_or_else(|| meant.path.to_string());
                match meant.text("kind").as_deref() {
                    Some("http") => format!("HTTP request `{name}()`"),
                    Some("mail") => format!("mail `{name}()`"),
                    Some("pay") => format!("payment `{name}()`"),
                    Some("queue") => format!("message `{name}()`"),
                    Some("file") => format!("file write `{name}()`"),
                    _ => format!("`{name}()`"),
                }
            }
            What::Nothing => event
                .call()
                .and_then(|(callee, _)| self.world.tree.name_of(callee))
                .map_or("work".to_owned(), |name| format!("`{name}()`")),
        }
    }
}
