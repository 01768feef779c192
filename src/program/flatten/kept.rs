//! What functions show their callers, kept for the next caller in bounded number.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::course::Handed;
use crate::facts::FnRef;
use crate::program::memo::Memo;

/// Events of handed functions that are kept at a time, about 1 kB each: with more, those not asked for of late are forgotten
/// and made anew when they are asked for, so that memory does not grow with the tree.
const MOST: usize = 50_000;

/// The newer and the older half of what is kept, by turns.
pub(super) struct Kept {
    halves: [Memo<FnRef, Handed>; 2],
    newer: AtomicUsize,
    /// Events in the newer half.
    events: AtomicUsize,
}

impl Kept {
    pub(super) fn new() -> Kept {
        Kept { halves: [Memo::new(), Memo::new()], newer: AtomicUsize::new(0), events: AtomicUsize::new(0) }
    }

    /// What a function shows, if that is kept.
    pub(super) fn get(&self, function: FnRef) -> Option<Handed> {
        let newer = self.newer.load(Ordering::Relaxed);
        if let Some(known) = self.halves[newer].get(&function) {
            return Some(known);
        }
        // What is asked for again stays.
        let known = self.halves[1 - newer].get(&function)?;
        self.keep(function, known.clone());
        Some(known)
    }

    /// Keeps what a function shows.
    pub(super) fn keep(&self, function: FnRef, handed: Handed) {
        // A function without events still takes room.
        let room = handed.flat.events.len() + 1;
        let mut newer = self.newer.load(Ordering::Relaxed);
        if self.events.fetch_add(room, Ordering::Relaxed) + room > MOST / 2 {
            self.events.store(room, Ordering::Relaxed);
            newer = 1 - newer;
            self.halves[newer].clear();
            self.newer.store(newer, Ordering::Relaxed);
        }
        self.halves[newer].keep(function, handed);
    }
}
