//! A fault seen in one function, before it is known whether the same fault was seen nearer to its cause.

use std::sync::Arc;

use super::Confidence;
use super::Role;
use super::subject::Subject;
use super::view::View;
use crate::program::{FlatEvent, Spot};
use crate::rules::Severity;

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
    /// How many calls lie between the function and the fault.
    pub distance: usize,
    /// The chain of evidence.
    pub trace: Vec<(Role, Spot, String)>,
    /// It stands whatever callers show: the work is not in the caller's hands.
    pub stands: bool,
    /// In a job's body another rule says it.
    pub outside_jobs: bool,
    /// Another severity than the rule's.
    pub severity: Option<Severity>,
    /// The libraries in evidence: the cure is told in the words of the first that has any. The work's comes first, because
    /// the write itself is the simplest place to decide.
    pub libraries: Vec<Arc<str>>,
    /// It is one only where every copy does it when it starts.
    pub at_start_only: bool,
    /// It is one only in a function that is entered from outside.
    pub entries_only: bool,
    /// It is one only if rows of this table carry a version.
    pub versioned: Option<String>,
    /// A fault only where it starts with every copy, not with a request.
    pub at_start: bool,
    /// What is at fault; none where it is the data's own read and write.
    pub subject: Option<Subject>,
}

impl Candidate {
    /// A candidate whose primary place is `cause` as the function sees it.
    pub fn new(view: &View<'_>, rule: &'static str, cause: &FlatEvent, work: &FlatEvent, message: String) -> Candidate {
        Candidate {
            rule,
            confidence: Confidence::High,
            message,
            primary: view.in_root(cause),
            cause: cause.at,
            work: work.at,
            distance: cause.hops.len().min(work.hops.len()),
            trace: vec![],
            stands: false,
            outside_jobs: false,
            severity: None,
            libraries: work.library().into_iter().chain(cause.library()).cloned().collect(),
            at_start_only: false,
            entries_only: false,
            versioned: None,
            at_start: false,
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
