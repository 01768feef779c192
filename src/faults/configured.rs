//! `process-rate-limit` and `process-session` by settings: a framework counts, or keeps sessions, in a store that a setting leaves in
//! memory. No call in the program says so.

use super::Role;
use super::candidate::Candidate;
use super::limiter::told;
use super::reason::{Reason, Why};
use super::subject::{Judged, Subject};
use super::view::World;
use crate::facts::FnRef;
use crate::program::Setting;
use crate::rules::Scope;

/// What the settings of a file put into the program: asked once a file, of its top level.
pub(super) fn detect(world: &World<'_>, function: FnRef, found: &mut Judged) {
    if function.func != 0 {
        return;
    }
    for set in world.configured.iter().filter(|set| set.at.file == function.file) {
        let Some((rule, kind, message)) = told(set.makes) else { continue };
        let subject = Subject::at(kind, set.at, 0).named(set.key.clone());
        let Setting::Known(Scope::Process, store) = set.store else {
            let why = if set.store == Setting::Unknown { Why::Unseen } else { Why::SharedStore };
            found.sound(subject, vec![Reason::new(why)]);
            continue;
        };
        let mut candidate = Candidate::at(rule, set.at, message);
        candidate.add(Role::State, set.at, "turned on here".to_owned());
        if let Some(store) = store {
            candidate.add(Role::State, store, "the setting keeps it in each process".to_owned());
        }
        candidate.libraries.push(set.library.as_str().into());
        found.push(candidate.about(subject));
    }
}
