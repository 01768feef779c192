//! Which faults stand: a caller may hold the lock, or have made the decision, that the function itself does not show.

use std::collections::{HashMap, HashSet};

use super::candidate::Candidate;
use crate::facts::FnRef;
use crate::program::{FlatEvent, Flattener, Reach, Spot, Statement};

type Key = (&'static str, Spot, Spot);

fn key(candidate: &Candidate) -> Key {
    let (cause, work) = candidate.places();
    (candidate.rule, cause, work)
}

/// Tells which faults callers confirm.
pub(super) struct Standing<'s, 't> {
    reach: &'s Reach,
    never_runs: &'s dyn Fn(FnRef) -> bool,
    flattener: &'s Flattener<'t>,
    seen: HashSet<(FnRef, Key)>,
    /// Functions with the places at which they see a lock that is at fault, whatever it is held around.
    locks: HashSet<(FnRef, Spot)>,
    known: HashMap<(FnRef, Key), bool>,
}

impl<'s, 't> Standing<'s, 't> {
    /// Of all faults seen.
    pub fn of(
        reach: &'s Reach,
        never_runs: &'s dyn Fn(FnRef) -> bool,
        flattener: &'s Flattener<'t>,
        found: &[(FnRef, Candidate)],
    ) -> Standing<'s, 't> {
        let seen = found.iter().map(|(function, candidate)| (*function, key(candidate))).collect();
        let locks = found.iter().filter(|(_, candidate)| candidate.of_one_lock(candidate));
        let locks = locks.map(|(function, candidate)| (*function, candidate.cause)).collect();
        Standing { reach, never_runs, flattener, seen, locks, known: HashMap::new() }
    }

    /// Whether a fault seen in a function stands. A function that is entered from outside, or that nobody calls, answers for
    /// itself.
    pub fn stands(&mut self, function: FnRef, candidate: &Candidate) -> bool {
        self.confirmed(function, key(candidate))
    }

    /// Whether a caller that shows what a function writes behind some work leaves out that work: what the caller gives closes the way to
    /// it.
    fn leaves_out(&self, function: FnRef, work: Spot, shows: &dyn Fn(Spot) -> bool) -> bool {
        let own = self.flattener.flat(function);
        let behind = own.events.iter().skip_while(|event| event.at != work).filter(|event| event.at != work);
        let writes = |event: &&FlatEvent| event.statement().is_some_and(Statement::writes) && event.hops.is_empty();
        behind.filter(writes).any(|event| shows(event.at))
    }

    fn confirmed(&mut self, function: FnRef, key: Key) -> bool {
        if let Some(stands) = self.known.get(&(function, key)) {
            return *stands;
        }
        // A circle of callers confirms itself.
        self.known.insert((function, key), true);
        let reach = self.reach;
        // Who never runs confirms nothing, and speaks against nothing.
        let counts = |caller: &FnRef| *caller != function && reach.serves(*caller) && !(self.never_runs)(*caller);
        let callers: Vec<FnRef> = reach.callers(function).filter(counts).collect();
        let stands = reach.entry(function).is_some()
            || callers.is_empty()
            || callers.into_iter().any(|caller| {
                if self.seen.contains(&(caller, key)) {
                    return self.confirmed(caller, key);
                }
                if self.locks.contains(&(caller, key.1)) {
                    return true;
                }
                // Written out too shortly, or not at all, in this caller: it says nothing against the fault.
                let flat = self.flattener.flat(caller);
                let shows = |spot: Spot| flat.events.iter().any(|event| event.at == spot || event.hops.contains(&spot));
                !shows(key.2) && !self.leaves_out(function, key.2, &shows)
            });
        self.known.insert((function, key), stands);
        stands
    }
}
