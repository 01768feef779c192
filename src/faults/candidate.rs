//! A fault seen in one function, before it is known whether the same fault was seen nearer to its cause.

use super::Confidence;
use super::Role;
use super::subject::{Kind, Subject};
use super::view::View;
use crate::facts::FnRef;
use crate::files::Atom;
use crate::program::{FlatEvent, Holder, Place, Spot};
use crate::rules::Severity;

/// Where alone a candidate is a fault: what of the rest of the tree it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Only {
    /// In what start-up leads to.
    AtStart,
    /// Where the start or a timer leads to it, which every copy has: it is done for one thing that it is given.
    FromStart,
    /// Where no request or message leads to it, each of which one copy serves.
    UnlessOnRequest,
    /// In a function that is entered from outside: a caller may have seen to it.
    WhereEntered,
    /// In a function that nobody is seen to call: it speaks of what callers give.
    WhereUncalled,
    /// Where a request leads to it, which a setting runs in a transaction.
    InRequest,
    /// In a function that is entered from outside, and not by a request, which a setting runs in a transaction.
    OffRequest,
    /// Not in a job's body: there another rule says it.
    OutsideJobs,
    /// Where what a function keeps and gives out is kept for longer than one run.
    Kept(FnRef),
    /// On a table whose rows carry a version.
    Versioned(String),
    /// Where another function puts into this state what it made up.
    MadeUpElsewhere(Place),
}

/// A fault as a detector sees it.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The rule.
    pub rule: &'static str,
    /// How sure the evidence is.
    pub confidence: Confidence,
    /// One sentence.
    pub message: String,
    /// The place that names the fault: in the function itself.
    pub primary: Spot,
    /// The deepest places that make the fault, for telling the same fault seen from two functions: cause, then work.
    pub cause: Spot,
    /// See `cause`.
    pub work: Spot,
    /// The place that stands for both, where a helper that others share does the work: the call of it.
    pub through: Option<Spot>,
    /// How many calls lie between the function and the fault.
    pub distance: usize,
    /// The chain of evidence.
    pub trace: Vec<(Role, Spot, String)>,
    /// It stands whatever callers show: the work is not in the caller's hands.
    pub stands: bool,
    /// Its severity, where it is not the rule's own.
    pub severity: Option<Severity>,
    /// Its severity where no timer starts it, if that is another: what only keeps work apart in time claims a timer's run.
    pub eased: Option<Severity>,
    /// Where it is decided, of data: the same decision and the same work reached from two places are one fault.
    pub decided: Option<Spot>,
    /// No unique key could decide it.
    pub keyless: bool,
    /// A comment at its places accepts what comes of it.
    pub accepted: bool,
    /// The libraries in evidence: the cure is told in the words of the first that has any. The work's comes first, because
    /// the write itself is the simplest place to decide.
    pub libraries: Vec<Atom>,
    /// What the function alone does not show, and what must be so.
    pub only: Option<Only>,
    /// What is at fault; none where it is the data's own read and write.
    pub subject: Option<Subject>,
}

impl Candidate {
    /// A candidate that is a place and nothing more: a line of settings.
    pub fn at(rule: &'static str, at: Spot, message: &str) -> Candidate {
        Candidate {
            rule,
            confidence: Confidence::High,
            message: message.to_owned(),
            primary: at,
            cause: at,
            work: at,
            through: None,
            distance: 0,
            trace: vec![],
            stands: true,
            severity: None,
            eased: None,
            accepted: false,
            decided: None,
            keyless: false,
            libraries: vec![],
            only: None,
            subject: None,
        }
    }

    /// A candidate whose primary place is `cause` as the function sees it.
    pub fn new(view: &View<'_>, rule: &'static str, cause: &FlatEvent, work: &FlatEvent, message: String) -> Candidate {
        Candidate {
            rule,
            confidence: Confidence::High,
            message,
            primary: view.in_root(cause),
            cause: cause.at,
            work: work.at,
            through: None,
            distance: cause.hops.len().min(work.hops.len()),
            trace: vec![],
            stands: false,
            severity: None,
            eased: None,
            accepted: false,
            decided: None,
            keyless: false,
            libraries: work.library().into_iter().chain(cause.library()).cloned().collect(),
            only: None,
            subject: None,
        }
    }

    /// Adds the calls that lead to an event, then the event itself.
    pub fn hop(&mut self, role: Role, event: &FlatEvent, note: impl Into<String>) {
        for call in event.hops.iter() {
            self.add(Role::Call, *call, "calls on".to_owned());
        }
        self.add(role, event.at, note.into());
    }

    /// Adds a place.
    pub fn add(&mut self, role: Role, at: Spot, note: String) {
        if !self.trace.iter().any(|(known, spot, _)| *spot == at && (*known == role || role == Role::Call)) {
            self.trace.push((role, at, note));
        }
    }

    /// The places that tell the same fault from another: cause, then work.
    pub fn places(&self) -> (Spot, Spot) {
        self.through.map_or((self.cause, self.work), |through| (through, through))
    }

    /// Whether both say something of one lock taken at one place: what it is held around decides the rule, and may be seen more
    /// fully in one function than in its callers.
    pub fn of_one_lock(&self, other: &Candidate) -> bool {
        let lock = |one: &Candidate| one.subject.as_ref().is_some_and(|subject| subject.kind == Kind::Lock);
        self.cause == other.cause && lock(self) && lock(other)
    }

    /// Whether both say the same of one decision about one piece of work, to which two places lead.
    pub fn of_one_decision(&self, other: &Candidate) -> bool {
        self.decided.is_some() && self.decided == other.decided && self.work == other.work && self.message == other.message
    }

    /// Says what state it speaks of: what a function keeps for those it gives functions to lasts as long as they keep these.
    pub fn of_state(mut self, place: &Place) -> Candidate {
        if let Holder::Closure(function, _) = &place.holder {
            self.only = self.only.or(Some(Only::Kept(*function)));
        }
        self
    }

    /// Says what is at fault.
    pub fn about(mut self, subject: Subject) -> Candidate {
        self.subject = Some(subject);
        self
    }

    /// Lowers the confidence to at most this.
    pub fn at_most(mut self, confidence: Confidence) -> Candidate {
        self.confidence = self.confidence.min(confidence);
        self
    }
}
