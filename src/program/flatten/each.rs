//! Every function of a tree written out in full, as good as once each: what a function shows its callers is made of the same
//! writing out that is looked at.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::Flattener;
use super::course::Course;
use crate::facts::{Act, FnRef, Value};
use crate::program::Tree;
use crate::program::flat::Flat;

/// What looks at each function as it is written out.
pub(super) struct Visits<'v> {
    look: &'v (dyn Fn(&Flat) + Sync),
    /// The functions that are looked at with what they call.
    whole: &'v (dyn Fn(FnRef) -> bool + Sync),
    /// Those that are looked at as their decorators made them.
    decorated: &'v (dyn Fn(FnRef) -> bool + Sync),
    /// By file, then by function: whether it was looked at.
    done: Vec<Vec<AtomicBool>>,
}

impl Visits<'_> {
    fn is_done(&self, function: FnRef) -> bool {
        let done = self.done.get(function.file as usize).and_then(|file| file.get(function.func as usize));
        done.is_none_or(|done| done.load(Ordering::Relaxed))
    }

    /// Has a look at a function that is written out with what it calls, if that is wanted and nobody had one.
    pub(super) fn look(&self, flat: &Flat) {
        if (self.whole)(flat.root) && !(self.decorated)(flat.root) {
            self.see(flat);
        }
    }

    fn see(&self, flat: &Flat) {
        let done = self.done.get(flat.root.file as usize).and_then(|file| file.get(flat.root.func as usize));
        if done.is_some_and(|done| !done.swap(true, Ordering::Relaxed)) {
            (self.look)(flat);
        }
    }
}

impl Flattener<'_> {
    /// What `look` says of each function, written out, in the order of the functions. Where `whole` says no, a function is written
    /// out without what it calls.
    pub fn each<R: Send>(&self, whole: impl Fn(FnRef) -> bool + Sync, look: impl Fn(&Flat) -> R + Sync) -> Vec<(FnRef, R)> {
        let said: Mutex<Vec<(FnRef, R)>> = Mutex::default();
        let one = |flat: &Flat| {
            let found = look(flat);
            if let Ok(mut said) = said.lock() {
                said.push((flat.root, found));
            }
        };
        let fresh = |count: usize| (0..count).map(|_| AtomicBool::new(false)).collect();
        let done = self.tree.files.iter().map(|facts| fresh(facts.functions.len())).collect();
        let decorated = |function: FnRef| self.is_decorated(function);
        let visits = Visits { look: &one, whole: &whole, decorated: &decorated, done };
        let called = called(self.tree);
        let functions: Vec<FnRef> = self.tree.all_functions().collect();
        functions.par_iter().filter(|function| !visits.is_done(**function)).for_each(|function| {
            if !whole(*function) {
                return visits.see(&self.own(*function));
            }
            // Whoever names it means what its decorators made of it.
            if let Some(flat) = self.as_decorated(*function, &mut Course::seen_by(&visits)) {
                return visits.see(&flat);
            }
            let mut course = Course::seen_by(&visits);
            let name = self.tree.function(*function).map_or("", |function| function.name.as_str());
            // Who will be asked for what it shows callers is asked at once; the others are let go of.
            if called.contains(name) {
                self.handed(*function, &mut course);
            }
            if !visits.is_done(*function) {
                course.enter(*function);
                visits.look(&self.written(*function, &mut course));
            }
        });
        let mut said = said.into_inner().unwrap_or_default();
        said.sort_unstable_by_key(|(function, _)| *function);
        said
    }
}

/// The names that calls of the tree go by, and those of constructors.
fn called(tree: &Tree) -> FxHashSet<&str> {
    let mut names = FxHashSet::default();
    for facts in &tree.files {
        for event in facts.functions.iter().flat_map(|function| &function.events) {
            if let Act::Call { callee: Value::Module(_, name) | Value::Global(name) | Value::Member(_, name), .. } = &event.act {
                names.insert(&**name);
            }
        }
        let constructors = facts.unit.functions.iter().filter(|function| function.flags.is_constructor);
        names.extend(constructors.map(|function| function.name.as_str()));
    }
    names
}
