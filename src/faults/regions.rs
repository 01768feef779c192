//! Locks of a function, and the events during which each is held.

use super::in_line::end_of_line;
use super::view::View;
use crate::facts::{Act, Value};
use crate::files::Atom;
use crate::program::{Carried, FlatEvent, Lifetime, Place, Tree, Ty, What, unwrapped};
use crate::rules::{Meaning, Pick, Scope, Selector, TypeKind};

/// A lock taken.
#[derive(Debug, Clone)]
pub struct Region {
    /// The event that takes it.
    pub acquire: u32,
    /// The state that is the lock, where it is known.
    pub place: Option<Place>,
    /// How far it reaches.
    pub scope: Scope,
    /// How many may hold it: `None` where it is not a constant.
    pub permits: Option<f64>,
    /// The lock's type or path was resolved.
    pub sure: bool,
    /// How long the lock lives.
    pub lifetime: Lifetime,
    /// The event that frees it, where one is written out.
    pub release: Option<u32>,
    /// Events during which it is held: after the first up to the last, or those within the acquiring event.
    held: Held,
}

#[derive(Debug, Clone, Copy)]
enum Held {
    Body,
    /// Before this event; whether that is where its guard goes out of scope, or where the function ends.
    Until(u32, bool),
}

impl Region {
    /// Whether the lock is held at an event.
    pub fn holds(&self, index: u32, event: &FlatEvent) -> bool {
        if event.detached {
            return false;
        }
        match self.held {
            Held::Body => event.within.contains(&self.acquire),
            Held::Until(end, _) => index > self.acquire && index < end,
        }
    }

    /// Where it ends, if not with a body: before which event, and whether that is where its guard goes out of scope.
    pub fn until(&self) -> Option<(u32, bool)> {
        match self.held {
            Held::Body => None,
            Held::Until(end, drops) => Some((end, drops)),
        }
    }

    /// Whether one holder at a time is what it enforces.
    pub fn excludes(&self) -> bool {
        self.permits == Some(1.0)
    }
}

/// All locks of a function.
pub(super) fn regions(view: &View<'_>) -> Vec<Region> {
    let entered: std::collections::HashSet<u32> =
        view.flat.events.iter().flat_map(|event| event.within.iter().copied()).collect();
    view.events().filter_map(|(index, event)| region(view, index, event, entered.contains(&index))).collect()
}

fn region(view: &View<'_>, index: u32, event: &FlatEvent, entered: bool) -> Option<Region> {
    let (value, until, scope, mut sure) = match (&event.what, &event.act) {
        (What::Meant(meant), _) if meant.is == Meaning::Acquire => {
            let value = meant.part("lock").cloned().unwrap_or_else(|| meant.receiver.clone());
            let scope = meant.text("scope").map(|scope| match scope.as_str() {
                "cluster" => Scope::Cluster,
                "host" => Scope::Host,
                _ => Scope::Process,
            });
            (value, meant.text("until"), scope, meant.sure)
        }
        // A body that a call runs to make something is not run under what it makes, but where it has to wait for its turn.
        (What::Meant(meant), _) if meant.is == Meaning::Calls => {
            (end_of_line(view, event, meant)?, Some("body".to_owned()), Some(Scope::Process), meant.sure)
        }
        (What::Nothing | What::Presumed(_) | What::Meant(_), Act::Call { .. }) if entered => {
            (Value::Flat(index), Some("block".to_owned()), None, true)
        }
        (_, Act::Enter { value }) if entered => (value.clone(), Some("block".to_owned()), None, true),
        _ => return None,
    };
    let tree = view.world.tree;
    let file = event.origin.0.file;
    let ty = unwrapped(tree, tree.ty(&view.flat.plain(&value), file), file);
    let row = match &ty {
        Ty::Lib { path, sure: known, .. } => {
            sure &= *known;
            tree.packs(file).type_row(path).filter(|row| row.is == TypeKind::Lock)
        }
        _ => None,
    };
    let explicit = matches!(&event.what, What::Meant(meant) if matches!(meant.is, Meaning::Acquire | Meaning::Calls));
    if row.is_none() && !explicit {
        return None;
    }
    let place = view.place(&value);
    let scope = scope.or(row.map(|row| row.scope)).unwrap_or_default();
    // Where the lock itself cannot be seen, its type is that of the row that takes it.
    let of_row = || match &event.what {
        What::Meant(meant) => tree.packs(file).type_row(meant.path.rsplit_once('.').map_or(&*meant.path, |(ty, _)| ty)),
        _ => None,
    };
    let permits = match row.or_else(of_row).and_then(|row| row.permits.as_ref()) {
        Some(selector) => permits(view, &value, place.as_ref(), selector),
        None => Some(1.0),
    };
    let lifetime = match &place {
        Some(place) => view.lifetime(place),
        None if made_in_a_call(tree, &view.flat.plain(&value)) => Lifetime::Call,
        None => Lifetime::Process { sure: false },
    };
    let mut release = place.as_ref().and_then(|place| releases(view, index, place));
    let held = match until.as_deref() {
        Some("body" | "block") => Held::Body,
        Some("drop") => {
            let end = drops(view, index);
            release = release.filter(|at| *at <= end);
            Held::Until(release.unwrap_or(end), true)
        }
        _ if entered => Held::Body,
        _ => Held::Until(release.unwrap_or(view.flat.events.len() as u32), false),
    };
    Some(Region { acquire: index, place, scope, permits, sure, lifetime, release, held })
}

/// The number of holders a semaphore is made with, where its row says that it stands.
fn permits(view: &View<'_>, value: &Value, place: Option<&Place>, selector: &Selector) -> Option<f64> {
    use crate::program::Holder;
    let tree = view.world.tree;
    let maker = match place.map(|place| &place.holder) {
        Some(Holder::Variable(..) | Holder::Field(..)) => place?.first(tree)?,
        Some(Holder::Carried(function, event, _)) => tree.carried_value(Carried { function: *function, event: *event })?.clone(),
        _ => view.flat.plain(value),
    };
    number_of_maker(view.world.tree, &maker, selector, 0)
}

/// The number a maker is called with: through wrappers (`Arc::new(Semaphore::new(2))`) and lazily run lambdas.
fn number_of_maker(tree: &Tree, maker: &Value, selector: &Selector, depth: u32) -> Option<f64> {
    if depth > 6 {
        return None;
    }
    match maker {
        Value::Result(function, event) => match &tree.facts(*function)?.events.get(*event as usize)?.act {
            // What a method of a lock hands on was made elsewhere.
            Act::Call { callee: Value::Member(of, _), .. } if makes_a_lock(tree, of, function.file) => None,
            Act::Call { args, .. } => match selector.options.iter().find_map(|pick| picked(tree, pick, args)) {
                // Another call without arguments, such as one that reads a setting, says nothing.
                None => (args.is_empty() && makes_a_lock(tree, maker, function.file)).then_some(1.0),
                Some(Value::Number(number)) => Some(number),
                Some(other) => number_of_maker(tree, &other, selector, depth + 1),
            },
            _ => None,
        },
        Value::Function(function) => tree.facts(*function)?.events.iter().rev().find_map(|event| match &event.act {
            Act::Exit { value, .. } => number_of_maker(tree, value, selector, depth + 1),
            _ => None,
        }),
        Value::Any(options) => options.iter().find_map(|option| number_of_maker(tree, option, selector, depth + 1)),
        _ => None,
    }
}

/// Whether a lock is what a function made itself, as it ran.
fn made_in_a_call(tree: &Tree, lock: &Value) -> bool {
    let Value::Result(function, event) = lock else { return false };
    let made = tree.facts(*function).and_then(|facts| facts.events.get(*event as usize)).map(|event| &event.act);
    let by_itself = matches!(made, Some(Act::Call { callee, .. }) if !matches!(tree.ty(callee, function.file), Ty::Function(_)));
    function.func != 0 && by_itself && makes_a_lock(tree, lock, function.file)
}

/// Whether a call makes a lock itself.
fn makes_a_lock(tree: &Tree, maker: &Value, file: u32) -> bool {
    matches!(tree.ty(maker, file), Ty::Lib { path, .. } if tree.packs(file).kind(&path) == TypeKind::Lock)
}

/// What one way to look finds among a maker's arguments. A constant is no number, and so no limit.
fn picked(tree: &Tree, pick: &Pick, args: &[(Option<Atom>, Value)]) -> Option<Value> {
    let (value, keys) = match pick {
        Pick::Arg(index, keys) => (&args.iter().filter(|(name, _)| name.is_none()).nth(*index)?.1, keys),
        Pick::Keyword(word, keys) => (&args.iter().find(|(name, _)| name.as_deref() == Some(word))?.1, keys),
        Pick::Constant(text) => return Some(Value::Text(text.as_str().into())),
        _ => return None,
    };
    keys.iter().try_fold(tree.settled(value), |of, key| match &of {
        Value::Object(_, entries) => entries.iter().find(|(name, _)| **name == **key).map(|(_, value)| tree.settled(value)),
        _ => None,
    })
}

/// The last event that frees a lock before it is taken again.
fn releases(view: &View<'_>, acquire: u32, lock: &Place) -> Option<u32> {
    let is_lock = |value: &Value| view.place(value).is_some_and(|place| place.same(lock));
    let taken = view.event(acquire).meant(Meaning::Acquire);
    // A function that frees what its maker was given knows it by another name.
    let handed_over = |freed: &Value, library: &Atom| match freed {
        Value::Captured(maker, name) => {
            let given = view.world.tree.facts(*maker).and_then(|facts| facts.locals.get(name));
            matches!(given, Some(Value::Param(..))) && taken.is_some_and(|taken| taken.library == *library)
        }
        _ => false,
    };
    let later = || view.events().filter(|(index, _)| *index > acquire);
    let frees = |event: &FlatEvent| {
        event.meant(Meaning::Release).is_some_and(|meant| {
            let freed = meant.part("lock").unwrap_or(&meant.receiver);
            freed == &Value::Flat(acquire) || is_lock(freed) || handed_over(freed, &meant.library)
        })
    };
    let again = later().find(|(_, event)| {
        event.meant(Meaning::Acquire).is_some_and(|meant| is_lock(meant.part("lock").unwrap_or(&meant.receiver)))
    });
    // What a function frees in another call of it is what that call took.
    let (own, hops) = (view.event(acquire).origin.0, &view.event(acquire).hops);
    let of_another_call = |event: &FlatEvent| event.origin.0 == own && event.hops != *hops;
    let (others, released): (Vec<_>, Vec<_>) =
        later().filter(|(_, event)| frees(event)).partition(|(_, event)| of_another_call(event));
    let released: Vec<u32> = released.into_iter().map(|(index, _)| index).collect();
    if released.is_empty() && !others.is_empty() {
        let inside = later().take_while(|(_, event)| event.hops.starts_with(hops));
        return inside.map(|(index, _)| index).last();
    }
    let first = released.iter().rev().find(|index| again.is_none_or(|(again, _)| **index < again));
    first.or(released.last()).copied()
}

/// One past the last event before a guard is dropped: where the name it is bound to ends, through calls that only pass it on.
fn drops(view: &View<'_>, acquire: u32) -> u32 {
    let mut holder = acquire;
    for (index, event) in view.events().filter(|(index, _)| *index > acquire) {
        if let Some(meant) = event.meant(Meaning::Pass)
            && meant.part("of").unwrap_or(&meant.receiver) == &Value::Flat(holder)
        {
            holder = index;
        }
    }
    let end = view.event(holder).lives_to;
    // A file is its own lock: whoever has it holds it.
    let host = view.event(acquire).meant(Meaning::Acquire).is_some_and(|meant| meant.text("scope").as_deref() == Some("host"));
    if host {
        return end;
    }
    // In a function that does not give it out, no longer than that runs.
    let hops = &view.event(acquire).hops;
    let given_out = |depth: usize| {
        let is_guard = |part: &Value| matches!(part, Value::Flat(at) if *at == acquire || *at == holder);
        let called = |event: &FlatEvent| event.inlined && event.at == hops[depth - 1] && event.hops[..] == hops[..depth - 1];
        let mut calls = view.events().take_while(|(at, _)| *at <= acquire).filter(|(_, event)| called(event)).peekable();
        calls.peek().is_none() || calls.any(|(_, call)| call.returns.iter().any(|(value, _)| value.any(&is_guard)))
    };
    let Some(depth) = (1..=hops.len()).rev().find(|depth| !given_out(*depth)) else { return end };
    let inside = |event: &FlatEvent| event.hops.starts_with(&hops[..depth]);
    let last = view.events().skip(acquire as usize).take_while(|(_, event)| inside(event)).map(|(at, _)| at + 1).last();
    end.min(last.unwrap_or(end))
}
