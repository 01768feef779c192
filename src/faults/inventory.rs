//! The inventory: every subject the detectors judged, with all its uses and what was said of each.

use super::{Confidence, Kind, Place, Why};

/// A lock, guard, counter, limiter, session store or job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What kind of thing it is.
    pub kind: Kind,
    /// What the code calls it; empty where it has no name.
    pub name: String,
    /// Where it lives.
    pub at: Place,
    /// How many copies of it run; `None` where nothing says so.
    pub copies: Option<Running>,
    /// Its uses, in the order of their places; at least one.
    pub uses: Vec<Use>,
}

/// How many copies run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Their number, in words.
    pub words: String,
    /// Where that is said; `None` where the user said it.
    pub at: Option<Place>,
}

/// One use of an item: where it is taken, tested, counted or started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// Where.
    pub at: Place,
    /// The work under it, in words, and where; none: memory only.
    pub work: Vec<(String, Place)>,
    /// The kinds of entries from which it is reached (`http`, `job`, ...); empty where none was found.
    pub reached: Vec<String>,
    /// The faults found; none: it is sound.
    pub faults: Vec<Fault>,
    /// Why it is sound; empty where it is not.
    pub sound: Vec<Because>,
}

/// A fault of a use: the finding of this rule at this place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: String,
    /// The finding's place.
    pub at: Place,
    /// The finding's confidence.
    pub confidence: Confidence,
    /// Whether the finding is reported: neither suppressed nor left out by the selection of rules.
    pub reported: bool,
}

/// A reason for being sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Because {
    /// The kind of reason.
    pub why: Why,
    /// It in words.
    pub words: String,
    /// Where what decides stands.
    pub at: Option<Place>,
}

/// What is said of an item or a use, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Several copies do no harm.
    Sound,
    /// It could not be followed far enough to tell.
    Unclear,
    /// A finding speaks of it.
    Fault,
}

impl Verdict {
    /// Its name as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Sound => "sound",
            Verdict::Unclear => "unclear",
            Verdict::Fault => "fault",
        }
    }
}

impl Item {
    /// The worst of its uses.
    pub fn verdict(&self) -> Verdict {
        self.uses.iter().map(Use::verdict).max().unwrap_or(Verdict::Sound)
    }
}

impl Use {
    /// What is said of it.
    pub fn verdict(&self) -> Verdict {
        if !self.faults.is_empty() {
            Verdict::Fault
        } else if self.sound.iter().any(|because| because.why == Why::Unseen) {
            Verdict::Unclear
        } else {
            Verdict::Sound
        }
    }
}
