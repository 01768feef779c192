//! Which functions are being written out: calls that lead back to one of them are left out.
//!
//! What is left out depends on where writing began, so that what a function on a circle of calls shows is the same for every
//! caller outside of the circle and another one within. Only the first is kept for the whole tree; it never depends on which
//! function a thread happened to write out first.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::each::Visits;
use crate::facts::FnRef;
use crate::program::Flat;

/// The functions being written out, and what was cut short by them.
#[derive(Default)]
pub(super) struct Course<'v> {
    /// What looks at functions as they are written out.
    visits: Option<&'v Visits<'v>>,
    /// Innermost last.
    stack: Vec<FnRef>,
    /// The outermost of them that a call led back to.
    back_to: Option<usize>,
    /// Functions that were cut short, with the outermost they lead back to: known until that one is written out.
    cut: FxHashMap<FnRef, (usize, Arc<Flat>)>,
}

/// What a function shows all callers that it does not lead back to.
#[derive(Clone)]
pub(super) struct Handed {
    pub(super) flat: Arc<Flat>,
    /// The functions it is on a circle of calls with.
    peers: Arc<[FnRef]>,
}

impl<'v> Course<'v> {
    /// A course whose functions are looked at as they are written out.
    pub(super) fn seen_by(visits: &'v Visits<'v>) -> Course<'v> {
        Course { visits: Some(visits), ..Course::default() }
    }

    /// Whether a function is being written out; a call to it is cut.
    pub(super) fn cuts(&mut self, function: FnRef) -> bool {
        let found = self.stack.iter().position(|known| *known == function);
        self.leads_back(found);
        found.is_some()
    }

    fn leads_back(&mut self, to: Option<usize>) {
        self.back_to = [self.back_to, to].into_iter().flatten().min();
    }

    /// Whether what a function shows others is what it shows here.
    pub(super) fn allows(&self, handed: &Handed) -> bool {
        !handed.peers.iter().any(|peer| self.stack.contains(peer) || self.cut.contains_key(peer))
    }

    /// What is known of a function that was cut short by one still being written out.
    pub(super) fn cut_short(&mut self, function: FnRef) -> Option<Arc<Flat>> {
        let (back_to, flat) = self.cut.get(&function).cloned()?;
        self.leads_back(Some(back_to));
        Some(flat)
    }

    pub(super) fn enter(&mut self, function: FnRef) -> Option<usize> {
        self.stack.push(function);
        self.back_to.take()
    }

    /// Has the function that was entered last looked at as it is written out, unless a call was cut in it.
    pub(super) fn look(&self, flat: &Flat) {
        let whole = self.back_to.is_none_or(|at| at + 1 >= self.stack.len());
        if let Some(visits) = self.visits.filter(|_| whole) {
            visits.look(flat);
        }
    }

    /// Ends what [`Course::enter`] began, which gave `outer`. What a function shows all others, or nothing where it was cut short.
    pub(super) fn leave(&mut self, flat: Arc<Flat>, outer: Option<usize>) -> Option<Handed> {
        let function = self.stack.pop()?;
        let depth = self.stack.len();
        let back_to = std::mem::replace(&mut self.back_to, outer).filter(|at| *at < depth);
        if let Some(at) = back_to {
            self.cut.values_mut().for_each(|(known, _)| *known = if *known == depth { at } else { *known });
            self.cut.insert(function, (at, flat));
            self.leads_back(back_to);
            return None;
        }
        let mut peers: Vec<FnRef> = self.cut.iter().filter(|(_, (at, _))| *at == depth).map(|(peer, _)| *peer).collect();
        peers.sort_unstable();
        self.cut.retain(|_, (at, _)| *at < depth);
        Some(Handed { flat, peers: peers.into() })
    }
}
