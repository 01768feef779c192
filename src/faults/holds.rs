//! Locks of any kind that a function holds: those of packs, keys of a store set once, and locks of the database.

use super::pairs::{Taken, commands, frees, later};
use super::regions::Region;
use super::shared_lock::is_lock_key;
use super::transactions::{commits, on_the_way};
use super::view::View;
use crate::program::{FlatEvent, Kv, Lifetime, Op};
use crate::rules::{CommandKind, Scope, ScriptKind};

/// How far a lock reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// One process.
    Process,
    /// Every copy, until it is freed.
    Copies,
    /// Every copy, until the transaction ends: row locks and advisory locks of a transaction.
    Transaction,
}

/// A lock taken.
#[derive(Debug, Clone)]
pub struct Hold {
    /// The event that takes it.
    pub taken: u32,
    /// How far it reaches.
    pub reach: Reach,
    /// What it is was resolved.
    pub sure: bool,
    end: End,
}

#[derive(Debug, Clone)]
enum End {
    /// With the body of the event that takes it.
    Body,
    /// At this event.
    Freed(u32),
    /// Before this event, where what holds it goes out of scope.
    Dropped(u32),
    /// Nothing in sight ends it.
    Open,
}

impl Hold {
    /// Whether the lock is held at an event.
    pub fn holds(&self, view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
        if event.detached || index <= self.taken {
            return false;
        }
        match &self.end {
            End::Body => event.within.contains(&self.taken),
            End::Freed(end) | End::Dropped(end) => index < *end,
            End::Open => on_the_way(view.event(self.taken), event),
        }
    }

    /// The event that frees it, if it is freed before any commit that comes behind it: one of those in `commits`, or, where
    /// there is none, the end of the body in which `inside` holds.
    pub fn freed_before(&self, view: &View<'_>, by_hand: bool, inside: impl Fn(u32) -> bool) -> Option<Freed> {
        let committed = |from: u32, to: u32| view.events().any(|(index, event)| index > from && index < to && commits(event));
        match &self.end {
            End::Body => {
                let commits_under_it = view.events().any(|(_, event)| event.within.contains(&self.taken) && commits(event));
                (!by_hand || !commits_under_it).then_some(Freed::Leaving)
            }
            End::Freed(end) => {
                let early = if by_hand { !committed(self.taken, *end) } else { inside(*end) };
                early.then_some(Freed::At(*end))
            }
            End::Dropped(end) => (!by_hand || !committed(self.taken, *end)).then_some(Freed::Leaving),
            End::Open => None,
        }
    }
}

/// How a lock is freed.
#[derive(Debug, Clone, Copy)]
pub enum Freed {
    /// By this event.
    At(u32),
    /// By leaving a block.
    Leaving,
}

/// All locks of a function, in the order in which they are taken.
pub fn holds(view: &View<'_>) -> Vec<Hold> {
    let mut found: Vec<Hold> = view.regions.iter().filter_map(of_region).collect();
    for (index, event) in view.events() {
        if let Some(kv) = event.kv() {
            found.extend(of_key(view, index, event, kv));
        }
        let Some(statement) = event.statement() else { continue };
        let (reach, end) = match statement.op {
            Op::SessionLock => (Reach::Copies, unlocks(view, index).map_or(End::Open, End::Freed)),
            Op::TransactionLock => (Reach::Transaction, End::Open),
            Op::Select if statement.row_lock => (Reach::Transaction, End::Open),
            _ => continue,
        };
        found.push(Hold { taken: index, reach, sure: statement.sure, end });
    }
    found.sort_by_key(|hold| hold.taken);
    found
}

fn of_region(region: &Region) -> Option<Hold> {
    if !region.excludes() || matches!(region.lifetime, Lifetime::Call) && region.scope == Scope::Process {
        return None;
    }
    let reach = match region.scope {
        Scope::Process => Reach::Process,
        Scope::Cluster => Reach::Copies,
        Scope::Host => return None,
    };
    let end = match (region.release, region.until()) {
        (_, None) => End::Body,
        (Some(release), _) => End::Freed(release),
        (None, Some((end, true))) => End::Dropped(end),
        (None, Some(_)) => End::Open,
    };
    Some(Hold { taken: region.acquire, reach, sure: region.sure, end })
}

/// A key set only where there was none, and freed again or named like a lock.
fn of_key(view: &View<'_>, index: u32, event: &FlatEvent, kv: &Kv) -> Option<Hold> {
    if !(kv.op == CommandKind::Set && kv.only_new || kv.script == Some(ScriptKind::Acquire)) {
        return None;
    }
    let commands = commands(view);
    let rest = later(view, &Taken { index, event, kv }, &commands);
    let freed = rest.iter().filter(|other| frees(other.kv)).map(|other| other.index).next_back();
    if freed.is_none() && !is_lock_key(view, event, kv) {
        return None;
    }
    Some(Hold { taken: index, reach: Reach::Copies, sure: kv.sure, end: freed.map_or(End::Open, End::Freed) })
}

/// The last event that frees a session's lock.
fn unlocks(view: &View<'_>, taken: u32) -> Option<u32> {
    let frees = |event: &FlatEvent| event.statement().is_some_and(|statement| statement.op == Op::SessionUnlock);
    view.events().filter(|(index, event)| *index > taken && frees(event)).map(|(index, _)| index).last()
}
