//! What a detector found: the rule, how sure it is, and the chain of evidence.

use serde::Serialize;

use crate::rules::Severity;

/// How sure the evidence is: the weakest of its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A link was taken by its looks only.
    Low,
    /// A link was presumed (a verb, the shape of a call).
    Medium,
    /// Every link was resolved.
    High,
}

impl Confidence {
    /// Its name as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// A place in the tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Path relative to the scanned root.
    pub path: String,
    /// First line, from 1.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// First column, from 1, in bytes.
    pub column: u32,
    /// One past the last column on `end_line`.
    pub end_column: u32,
}

/// What a hop is to the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Where a request, message or timer enters.
    Entry,
    /// A call on the way.
    Call,
    /// Where the state or the lock lives.
    State,
    /// Where a lock is taken.
    Acquire,
    /// Where the decision is made.
    Check,
    /// The shared work.
    Effect,
    /// Where a lock is given back.
    Release,
    /// How many copies run.
    Copies,
}

impl Role {
    /// Its name as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Entry => "entry",
            Role::Call => "call",
            Role::State => "state",
            Role::Acquire => "acquire",
            Role::Check => "check",
            Role::Effect => "effect",
            Role::Release => "release",
            Role::Copies => "copies",
        }
    }
}

/// One step of the chain of evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// Where.
    pub at: Place,
    /// What it is to the evidence.
    pub role: Role,
    /// A few words on it.
    pub note: String,
}

/// The request by which a fault is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Endpoint {
    /// The method, in capitals.
    pub method: Option<String>,
    /// The path as it is registered, below all that its router is seen to hang below.
    pub path: Option<String>,
    /// Fields of the body that its handler reads or declares.
    pub fields: Vec<String>,
}

/// One fault in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id, a file name in `rules/faults/`.
    pub rule: String,
    /// What a double costs.
    pub severity: Severity,
    /// How sure the evidence is.
    pub confidence: Confidence,
    /// One sentence: what goes wrong here.
    pub message: String,
    /// The primary place.
    pub at: Place,
    /// The chain of evidence, in the order a reader follows it.
    pub trace: Vec<Hop>,
    /// The request that leads there, where one does.
    pub endpoint: Option<Endpoint>,
    /// The cure, in one sentence.
    pub help: String,
    /// Names the finding across changes that only move lines (filled in by `findings`).
    pub fingerprint: String,
}

impl Finding {
    /// Every place of the evidence, the primary one last.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.trace.iter().map(|hop| &hop.at).chain([&self.at])
    }
}
