//! What each level of confidence asks for, beside what the detectors say of their own links.

use super::candidate::Candidate;
use super::nobodys::Nobodys;
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, FnRef};
use crate::program::{Reach, What};

/// High confidence asks that no answer of which nothing is known lies on the way to the work: it may be what decides.
pub(super) fn of_guards(view: &View<'_>, candidate: Candidate) -> Candidate {
    let unknown = |index: u32| {
        let event = view.event(index);
        event.at != candidate.work
            && match &event.what {
                What::Presumed(presumed) => !presumed.reads,
                What::Nothing => !event.inlined && matches!(event.act, Act::Call { awaited: true, .. }),
                _ => false,
            }
    };
    let doubted = candidate.confidence == Confidence::High
        && view
            .events()
            .filter(|(_, event)| event.at == candidate.work)
            .any(|(_, event)| view.decided_by(event).into_iter().any(unknown));
    if doubted { candidate.at_most(Confidence::Medium) } else { candidate }
}

/// How sure it is that the program comes to a function at all.
pub(super) struct Reached<'a> {
    reach: &'a Reach,
    nobodys: &'a Nobodys<'a>,
}

impl<'a> Reached<'a> {
    /// Of a whole tree.
    pub fn of(reach: &'a Reach, nobodys: &'a Nobodys<'a>) -> Reached<'a> {
        Reached { reach, nobodys }
    }

    /// The most that a fault in a function can be: high where a request, a message, a timer or the start leads there, low where
    /// nobody calls it and nothing registers it.
    pub fn at_most(&self, function: FnRef, candidate: &Candidate) -> Confidence {
        let way_in = self.reach.way_in(function);
        // What an event of the program itself starts is as far from outside as what raises it.
        let entered = way_in.as_ref().is_some_and(|(entry, _)| entry.kind != "event");
        if entered || candidate.trace.iter().any(|(role, _, _)| *role == Role::Entry) {
            Confidence::High
        } else if way_in.is_none() && self.nobodys.is_nobodys(function) {
            Confidence::Low
        } else {
            Confidence::Medium
        }
    }
}
