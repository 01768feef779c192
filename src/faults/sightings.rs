//! From what the detectors saw to the inventory: gathered on the way to the findings, so that the two cannot disagree.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::candidate::Candidate;
use super::copies::running;
use super::inventory::{Because, Fault, Item, Use};
use super::reason::{Reason, Why};
use super::subject::{Judged, Kind, Subject};
use super::{Finding, Place, Role};
use crate::facts::FnRef;
use crate::program::{Copies, Reach, Spot};

/// What an inventory is made from, beside what was seen.
pub(super) struct Asked<'a> {
    /// From where functions are reached.
    pub reach: &'a Reach,
    /// Where a spot stands.
    pub place: &'a dyn Fn(Spot) -> Place,
    /// The findings.
    pub findings: &'a [Finding],
    /// How many copies run.
    pub copies: &'a Copies,
}

impl Asked<'_> {
    /// The finding of a rule at a place, as a fault of the inventory.
    fn fault(&self, rule: &str, at: Spot) -> Option<Fault> {
        let at = (self.place)(at);
        let finding = self.findings.iter().find(|finding| finding.rule == rule && finding.at == at)?;
        Some(Fault { rule: finding.rule.clone(), at, confidence: finding.confidence, reported: true })
    }
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

    /// The inventory.
    pub fn items(mut self, asked: &Asked<'_>) -> Vec<Item> {
        self.meet();
        type Uses = BTreeMap<Spot, Vec<Sighting>>;
        let mut items: BTreeMap<(Place, Kind), (String, Uses)> = BTreeMap::new();
        for sighting in self.seen {
            let (name, uses) = items.entry(((asked.place)(sighting.subject.at), sighting.subject.kind)).or_default();
            if name.is_empty() {
                name.clone_from(&sighting.subject.name);
            }
            uses.entry(sighting.subject.used).or_default().push(sighting);
        }
        let uses = |uses: Uses| uses.into_iter().map(|(at, sightings)| used(at, &sightings, asked)).collect();
        let item = |((at, kind), (name, seen)): ((Place, Kind), (String, Uses))| {
            let copies = running(asked.copies, kind, &at.path);
            Item { kind, name, copies, at, uses: uses(seen) }
        };
        items.into_iter().map(item).collect()
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

fn used(at: Spot, sightings: &[Sighting], asked: &Asked<'_>) -> Use {
    let mut work: Vec<(String, Place)> = vec![];
    let mut reached = BTreeSet::new();
    let mut faults: Vec<Fault> = vec![];
    let mut reasons: BTreeSet<Reason> = BTreeSet::new();
    for sighting in telling(sightings) {
        for (what, spot) in &sighting.subject.work {
            let done = (what.clone(), (asked.place)(*spot));
            if !work.contains(&done) {
                work.push(done);
            }
        }
        reached.extend(asked.reach.entry_kinds(sighting.function));
        if sighting.subject.kind == Kind::Job {
            reached.insert("job".to_owned());
        }
        match &sighting.told {
            Told::Fault(rule, primary) => {
                let fault = asked.fault(rule, *primary).filter(|fault| !faults.contains(fault));
                faults.extend(fault);
            }
            Told::Sound(found) => reasons.extend(found.iter().cloned()),
            Told::LeftOut(why) => drop(reasons.insert(Reason::new(*why))),
        }
    }
    // Where some of the work under it is decided, what decides says more than that the rest is in memory.
    if reasons.len() > 1 {
        reasons.retain(|reason| reason.why != Why::MemoryOnly);
    }
    if !faults.is_empty() {
        reasons.clear();
    }
    let because = |reason: Reason| Because { why: reason.why, words: reason.words(), at: reason.at.map(asked.place) };
    let sound = reasons.into_iter().map(because).collect();
    Use { at: (asked.place)(at), work, reached: reached.into_iter().collect(), faults, sound }
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
