//! The inventory: every subject the detectors judged, with all its uses and what was said of each. It is gathered on the way from
//! the detectors to the findings, so that the two cannot disagree.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::candidate::Candidate;
use super::reason::{Reason, Why};
use super::subject::{Judged, Kind, Subject};
use super::{Confidence, Place, Role};
use crate::facts::FnRef;
use crate::program::{Reach, Spot};

/// A lock, guard, counter, limiter, session store or job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What kind of thing it is.
    pub kind: Kind,
    /// What the code calls it; empty where it has no name.
    pub name: String,
    /// Where it lives.
    pub at: Place,
    /// Its uses, in the order of their places; at least one.
    pub uses: Vec<Use>,
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

/// What was seen, on the way to an inventory.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    seen: Vec<Sighting>,
}

#[derive(Debug)]
struct Sighting {
    function: FnRef,
    subject: Subject,
    told: Told,
}

#[derive(Debug)]
enum Told {
    /// Sound where it was seen.
    Sound(Vec<Reason>),
    /// A fault that was left out, and why.
    LeftOut(Why),
    /// A fault.
    Fault(&'static str, Spot),
}

impl Sightings {
    /// What was found sound in a function, taken out of what was judged there.
    pub fn sound(&mut self, function: FnRef, judged: &mut Judged) {
        let sound = judged.sound.drain(..);
        self.seen.extend(sound.map(|(subject, reasons)| Sighting { function, subject, told: Told::Sound(reasons) }));
    }

    /// A fault that was left out.
    pub fn left_out(&mut self, function: FnRef, candidate: &Candidate, why: Why) {
        if let Some(subject) = candidate.subject.clone() {
            self.seen.push(Sighting { function, subject, told: Told::LeftOut(why) });
        }
    }

    /// A fault that stands, as the finding of a rule at a place. `family` is that of the rule.
    pub fn fault(&mut self, function: FnRef, candidate: &Candidate, kept: &Candidate, family: &str) {
        let Some(subject) = candidate.subject.clone().or_else(|| presumed(candidate, family)) else { return };
        self.seen.push(Sighting { function, subject, told: Told::Fault(kept.rule, kept.primary) });
    }

    /// The inventory. `confidence` is that of the finding of a rule at a place.
    pub fn items(
        mut self,
        reach: &Reach,
        place: &dyn Fn(Spot) -> Place,
        confidence: &dyn Fn(&str, Spot) -> Confidence,
    ) -> Vec<Item> {
        self.meet();
        type Uses = BTreeMap<Spot, Vec<Sighting>>;
        let mut items: BTreeMap<(Place, Kind), (String, Uses)> = BTreeMap::new();
        for sighting in self.seen {
            let (name, uses) = items.entry((place(sighting.subject.at), sighting.subject.kind)).or_default();
            if name.is_empty() {
                name.clone_from(&sighting.subject.name);
            }
            uses.entry(sighting.subject.used).or_default().push(sighting);
        }
        let used = |(at, sightings): (Spot, Vec<Sighting>)| used(place(at), sightings, reach, place, confidence);
        items
            .into_iter()
            .map(|((at, kind), (name, uses))| Item { kind, name, at, uses: uses.into_iter().map(used).collect() })
            .collect()
    }

    /// One use seen as two things is the one that says more: where a fault speaks only of the place, the thing taken there.
    fn meet(&mut self) {
        let mut homes: HashMap<(Kind, Spot), (Spot, String)> = HashMap::new();
        for subject in self.seen.iter().map(|sighting| &sighting.subject).filter(|subject| subject.at != subject.used) {
            homes.entry((subject.kind, subject.used)).or_insert((subject.at, subject.name.clone()));
        }
        for subject in self.seen.iter_mut().map(|sighting| &mut sighting.subject) {
            if let Some((at, name)) = homes.get(&(subject.kind, subject.used)) {
                (subject.at, subject.name) = (*at, name.clone());
            }
        }
    }
}

/// What a fault is about where its detector does not say: what is taken in its evidence. The data's own faults are about no lock.
fn presumed(candidate: &Candidate, family: &str) -> Option<Subject> {
    let kind = match family {
        "lock" => Kind::SharedLock,
        "job" => Kind::Job,
        "memory" => Kind::Lock,
        _ => return None,
    };
    let taken = candidate.trace.iter().find(|(role, _, _)| *role == Role::Acquire).map(|(_, at, _)| *at);
    let mut subject = Subject::at(kind, taken.unwrap_or(candidate.cause), candidate.distance);
    subject.work =
        candidate.trace.iter().filter(|(role, _, _)| *role == Role::Effect).map(|(_, at, note)| (note.clone(), *at)).collect();
    Some(subject)
}

fn used(
    at: Place,
    sightings: Vec<Sighting>,
    reach: &Reach,
    place: &dyn Fn(Spot) -> Place,
    confidence: &dyn Fn(&str, Spot) -> Confidence,
) -> Use {
    let telling = telling(&sightings);
    let mut work: Vec<(String, Place)> = vec![];
    let mut reached = BTreeSet::new();
    let mut faults: BTreeMap<(Place, &str), Confidence> = BTreeMap::new();
    let mut reasons: BTreeSet<Reason> = BTreeSet::new();
    for sighting in telling {
        for (what, spot) in &sighting.subject.work {
            let done = (what.clone(), place(*spot));
            if !work.contains(&done) {
                work.push(done);
            }
        }
        reached.extend(reach.entry_kinds(sighting.function));
        if sighting.subject.kind == Kind::Job {
            reached.insert("job".to_owned());
        }
        match &sighting.told {
            Told::Fault(rule, primary) => drop(faults.insert((place(*primary), *rule), confidence(rule, *primary))),
            Told::Sound(found) => reasons.extend(found.iter().cloned()),
            Told::LeftOut(why) => drop(reasons.insert(Reason::new(*why))),
        }
    }
    if !faults.is_empty() {
        reasons.clear();
    }
    // Some work under it decided, some not there: what decides says more.
    if reasons.len() > 1 {
        reasons.retain(|reason| reason.why != Why::MemoryOnly);
    }
    let faults =
        faults.into_iter().map(|((at, rule), confidence)| Fault { rule: rule.to_owned(), at, confidence, reported: true });
    let sound =
        reasons.into_iter().map(|reason| Because { why: reason.why, words: reason.words(), at: reason.at.map(place) }).collect();
    Use { at, work, reached: reached.into_iter().collect(), faults: faults.collect(), sound }
}

/// The sightings of one use that say what holds: its faults; without any, what the nearest function shows; where callers have
/// decided, what they show.
fn telling(sightings: &[Sighting]) -> Vec<&Sighting> {
    let faults: Vec<&Sighting> = sightings.iter().filter(|sighting| matches!(sighting.told, Told::Fault(..))).collect();
    if !faults.is_empty() {
        return faults;
    }
    let nearest = sightings.iter().map(|sighting| sighting.subject.distance).min().unwrap_or_default();
    let near = sightings.iter().filter(|sighting| sighting.subject.distance == nearest);
    let sound: Vec<&Sighting> = sightings.iter().filter(|sighting| matches!(sighting.told, Told::Sound(_))).collect();
    let near: Vec<&Sighting> = near.collect();
    let callers_decide = near.iter().all(|sighting| matches!(sighting.told, Told::LeftOut(Why::CallersDecide)));
    if callers_decide && !sound.is_empty() { sound } else { near }
}
