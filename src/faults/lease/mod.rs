//! Leases: shared locks that end by themselves. Which there are in a function, for how long, and what runs under them.

mod cost;
mod fence;
mod key;
mod overrun;
mod round;
mod row;
mod waits;

use std::collections::HashMap;
use std::sync::Arc;

use super::Confidence;
use super::effects::{Sureness, decided_in_itself, effect, idempotent, row_locked};
use super::pairs::{Taken, commands, is_mark, is_spent, later};
use super::regions::Region;
use super::shared_lock::{is_lock, takes};
use super::subject::Judged;
use super::view::View;
use crate::facts::{Act, Guard, Value};
use crate::program::{Amount, FlatEvent, Flattener, Look, Meant, Spot, Ty, What, amount, maker};
use crate::rules::{CommandKind, Meaning, Scope, ScriptKind, words};

/// All faults of leases in a function.
pub(super) fn detect(view: &View<'_>, flattener: &Flattener<'_>, found: &mut Judged) {
    let leases = leases(view, flattener);
    for lease in leases.iter().filter(|lease| !lease.mark) {
        let outlasted = overrun::detect(view, lease, found);
        fence::detect(view, lease, outlasted, found);
        key::detect(view, lease, found);
    }
    round::each(view, flattener, &mut |inner, round| {
        let leases = self::leases(inner, flattener);
        for lease in &leases {
            overrun::between_runs(inner, lease, round, found);
            overrun::given_back(inner, lease, round, found);
            key::kept(inner, lease, round, found);
        }
        waits::detect(inner, &leases, round, found);
    });
}

/// A lease taken.
pub(super) struct Lease<'v> {
    /// The event that takes it.
    acquire: u32,
    /// What it is taken by.
    event: &'v FlatEvent,
    /// Its key, where one is seen.
    key: Option<Value>,
    /// How long it lasts, in milliseconds, where that is known.
    ttl: Option<Amount>,
    /// Something prolongs it while it is held.
    renewed: bool,
    /// The event that frees it; without one it is kept until it ends.
    release: Option<u32>,
    /// It stays on purpose where all went well, to keep the work from being done again.
    mark: bool,
    /// Its key is made of what somebody else takes once only.
    spent: bool,
    /// Its library or store was resolved, not taken by its looks.
    sure: bool,
    region: Option<Region>,
    /// How conditions must have come out for it to be held.
    taken: HashMap<u32, bool>,
    /// The calls inside which it is known that it was taken: nobody outside of them is told.
    inside: Arc<[Spot]>,
}

impl<'v> Lease<'v> {
    /// Whether it is held at an event.
    fn holds(&self, index: u32, event: &FlatEvent) -> bool {
        let within = match &self.region {
            Some(region) => region.holds(index, event),
            None => !event.detached && index > self.acquire && self.release.is_none_or(|release| index < release),
        };
        within
            && event.hops.starts_with(&self.inside)
            && !event.in_catch
            && !event.guards.iter().any(|guard| self.event.guards.contains(&Guard { holds: !guard.holds, ..*guard }))
            && event.guards.iter().all(|guard| self.taken.get(&guard.cond).is_none_or(|so| *so == guard.holds))
    }

    /// What runs while it is held.
    fn under<'a>(&'a self, view: &'a View<'v>) -> impl Iterator<Item = (u32, &'v FlatEvent)> + 'a {
        view.events().filter(|(index, event)| self.holds(*index, event))
    }

    /// Work under it that nothing but it keeps from being done twice.
    fn unguarded(&self, view: &View<'v>) -> Vec<(u32, &'v FlatEvent, Sureness)> {
        self.under(view)
            .filter_map(|(index, event)| Some((index, event, effect(view, event)?)))
            .filter(|(index, event, _)| {
                let claimed = view.decided_by(event).iter().any(|at| {
                    *at < *index
                        && *at != self.acquire
                        && view.event(*at).statement().is_some_and(|statement| statement.writes() && statement.conditional())
                });
                idempotent(view, event).is_none()
                    && decided_in_itself(view, event).is_none()
                    && !claimed
                    && row_locked(view, *index, event).is_none()
            })
            .collect()
    }

    /// The highest confidence it allows.
    fn confidence(&self) -> Confidence {
        if self.sure && self.ttl.is_none_or(|ttl| ttl.sure) { Confidence::High } else { Confidence::Medium }
    }
}

/// All leases of a function: keys of a store that end, rows of a table that can be taken over, and locks of libraries that end.
fn leases<'v>(view: &View<'v>, flattener: &Flattener<'_>) -> Vec<Lease<'v>> {
    let keys = view.events().filter_map(|(index, event)| of_key(view, flattener, index, event));
    let locks = view.regions.iter().filter(|region| region.scope == Scope::Cluster);
    let rows = view.events().filter_map(|(index, event)| row::of_row(view, flattener, index, event));
    keys.chain(rows).chain(locks.filter_map(|region| of_lock(view, flattener, region))).collect()
}

/// `SET key token NX EX 30`, or a script that does that.
fn of_key<'v>(view: &View<'v>, flattener: &Flattener<'_>, index: u32, event: &'v FlatEvent) -> Option<Lease<'v>> {
    let kv = event.kv().filter(|kv| takes(kv))?;
    let commands = commands(view);
    let own = Taken { index, event, kv };
    let about = later(view, &own, &commands);
    let (mark, spent) = (is_mark(view, &own, &about), is_spent(view, kv));
    let rest = || about.iter().map(|other| (other.index, other.kv));
    let frees = |op: CommandKind, script: Option<ScriptKind>| match op {
        CommandKind::Delete => true,
        // A script whose text is not seen.
        CommandKind::Script => script.is_none_or(|script| script == ScriptKind::ReleaseIfOwner),
        _ => false,
    };
    let release = rest().filter(|(_, other)| !mark && frees(other.op, other.script)).map(|(at, _)| at).next_back();
    if !is_lock(view, event, kv, release.is_some()) {
        return None;
    }
    let expires = rest().find(|(_, other)| other.op == CommandKind::Expire);
    let ends = kv.ttl.as_ref().map(|ttl| (ttl, kv.seconds));
    let (ttl, seconds) = ends.or_else(|| expires.and_then(|(_, other)| Some((other.ttl.as_ref()?, other.seconds))))?;
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let unit = if seconds { "s" } else { "ms" };
    let ttl = amount(&look, ttl, event.origin.0.file).and_then(|ttl| ttl.in_ms(Some(unit)));
    let prolongs = |op: CommandKind, only_new: bool, script: Option<ScriptKind>| {
        op == CommandKind::Expire && kv.ttl.is_some()
            || op == CommandKind::Set && !only_new
            || script == Some(ScriptKind::RenewIfOwner)
    };
    let renewed = rest().any(|(_, other)| prolongs(other.op, other.only_new, other.script)) || prolonged(view, flattener, index);
    let taken = taken(view, index, release);
    let inside = if release.is_some() { Arc::default() } else { told(view, index, event) };
    let key = Some(kv.key.clone());
    Some(Lease { acquire: index, event, key, ttl, renewed, release, mark, spent, sure: kv.sure, region: None, taken, inside })
}

/// The calls inside which it stays who took a lock: of which no answer has to do with the taking.
fn told(view: &View<'_>, acquire: u32, event: &FlatEvent) -> Arc<[Spot]> {
    let about = |value: &Value| view.flat.depends(value).contains(&acquire);
    let tells = |call: &FlatEvent| {
        let decided = |guards: &[Guard]| guards.iter().any(|guard| view.cond_depends(guard.cond).contains(&acquire));
        let differs = || call.returns.iter().any(|(value, _)| *value != call.returns[0].0);
        call.returns.iter().any(|(value, guards)| about(value) || decided(guards) && differs())
    };
    for depth in 0..event.hops.len() {
        let call = view.events().map(|(_, call)| call).find(|call| {
            call.inlined && call.at == event.hops[depth] && call.hops.len() == depth && call.hops[..] == event.hops[..depth]
        });
        if call.is_some_and(|call| !call.returns.is_empty() && !tells(call)) {
            return event.hops[..=depth].into();
        }
    }
    Arc::default()
}

/// A library's lock that all copies share and that ends by itself.
fn of_lock<'v>(view: &View<'v>, flattener: &Flattener<'_>, region: &Region) -> Option<Lease<'v>> {
    let event = view.event(region.acquire);
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let file = event.origin.0.file;
    let taking = event.meant(Meaning::Acquire);
    let lock = match (taking, &event.act) {
        (Some(meant), _) => meant.part("lock").unwrap_or(&meant.receiver).clone(),
        (None, Act::Enter { value }) => value.clone(),
        (None, _) => Value::Flat(region.acquire),
    };
    let made = maker(&look, &lock).and_then(|made| look.meaning(&made, file)).filter(|made| made.is == Meaning::Lock);
    let part = |name: &str| taking.and_then(|meant| meant.part(name)).or_else(|| made.as_ref()?.part(name)).cloned();
    let renews = part("renews").is_some_and(|value| !matches!(value, Value::Bool(false) | Value::Null));
    let ttl = part("ttl").filter(|value| *value != Value::Null);
    if ttl.is_none() && !renews {
        return None;
    }
    let unit = part("unit").and_then(|unit| unit.text());
    let ttl = ttl.and_then(|ttl| amount(&look, &ttl, file)).and_then(|ttl| ttl.in_ms(unit.as_deref()));
    let sure = region.sure && taking.is_none_or(|meant: &Meant| meant.sure);
    let kept = region.release.is_none() && taking.and_then(|meant| meant.text("until")).is_some_and(|until| until == "release");
    let release = if kept { None } else { Some(region.release.unwrap_or(region.acquire)) };
    Some(Lease {
        acquire: region.acquire,
        event,
        key: part("key"),
        ttl,
        renewed: renews || prolonged(view, flattener, region.acquire),
        release,
        mark: false,
        spent: false,
        sure,
        taken: taken(view, region.acquire, region.release),
        region: Some(region.clone()),
        inside: Arc::default(),
    })
}

/// How the conditions about taking came out where the lock is freed, or else where the last work is done.
fn taken(view: &View<'_>, acquire: u32, release: Option<u32>) -> HashMap<u32, bool> {
    let about = |cond: u32| view.cond_depends(cond).contains(&acquire);
    let work = view.events().filter(|(index, event)| *index > acquire && !event.in_catch && effect(view, event).is_some());
    let tells = |event: &FlatEvent| event.guards.iter().any(|guard| about(guard.cond));
    let work = work.filter(|(_, event)| tells(event)).map(|(index, _)| index).last();
    let witness = release.filter(|index| tells(view.event(*index))).or(work);
    let guards = witness.map(|index| &view.event(index).guards[..]).unwrap_or_default();
    guards.iter().filter(|guard| about(guard.cond)).map(|guard| (guard.cond, guard.holds)).collect()
}

/// Whether something prolongs the lease: a call that means it or is named for it, or a timer whose body does.
fn prolonged(view: &View<'_>, flattener: &Flattener<'_>, acquire: u32) -> bool {
    view.events().filter(|(index, _)| *index != acquire).any(|(_, event)| {
        if renews(view, event) {
            return true;
        }
        let Some(meant) = event.meant(Meaning::Job) else { return false };
        let bodies = meant.part("body").map(|body| flattener.flats(&view.flat.plain(body), event.origin.0.file));
        bodies.into_iter().flatten().any(|flat| {
            let inner = View::new(view.world, &flat);
            inner.events().any(|(_, event)| renews(&inner, event) || event.kv().is_some_and(|kv| kv.op == CommandKind::Expire))
        })
    })
}

fn renews(view: &View<'_>, event: &FlatEvent) -> bool {
    match &event.what {
        What::Meant(meant) if meant.is == Meaning::Renew => return true,
        What::Kv(kv) if kv.script == Some(ScriptKind::RenewIfOwner) => return true,
        What::Meant(_) | What::Kv(_) | What::Statement(_) => return false,
        _ => {}
    }
    let Some((callee, _)) = event.call() else { return false };
    let tree = view.world.tree;
    let name = match callee {
        Value::Member(_, name) => Some(name.to_string()),
        other => match tree.ty(&view.flat.plain(other), event.origin.0.file) {
            Ty::Function(function) => tree.function(function).map(|function| function.name.clone()),
            _ => tree.name_of(other),
        },
    };
    let owner = match callee {
        Value::Member(of, _) => tree.name_of(&view.flat.plain(of)),
        _ => None,
    };
    let name = words(&name.unwrap_or_default());
    tree.book.verbs.prolongs(&name, &owner.map(|owner| words(&owner)).unwrap_or_default())
}

/// A length of time for a person.
fn shown(ms: f64) -> String {
    let round = |number: f64| format!("{}", (number * 10.0).round() / 10.0);
    match ms {
        ms if ms < 1e3 => format!("{} ms", round(ms)),
        ms if ms < 120e3 => format!("{} s", round(ms / 1e3)),
        ms if ms < 7_200e3 => format!("{} min", round(ms / 60e3)),
        ms => format!("{} h", round(ms / 3_600e3)),
    }
}
