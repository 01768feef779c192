//! What a detector judges: a lock, guard, counter, limiter, session store or job of one process, or a lock that copies share.

use serde::Serialize;

use super::candidate::Candidate;
use super::reason::{Reason, Why};
use super::regions::Region;
use super::view::View;
use crate::program::{FlatEvent, Holder, Place, Spot};

/// What kind of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A mutex or semaphore of one process.
    Lock,
    /// A set, map or flag of one process that is tested and changed.
    Guard,
    /// A number that one process counts.
    Counter,
    /// A limit on how often.
    Limiter,
    /// A store of sessions.
    Sessions,
    /// What a timer or a start-up loop runs.
    Job,
    /// A file of one machine that is a lock, or is written back whole.
    FileLock,
    /// A lock in a store or database that copies share.
    SharedLock,
}

impl Kind {
    /// Its name as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lock => "lock",
            Kind::Guard => "guard",
            Kind::Counter => "counter",
            Kind::Limiter => "limiter",
            Kind::Sessions => "sessions",
            Kind::Job => "job",
            Kind::FileLock => "file lock",
            Kind::SharedLock => "shared lock",
        }
    }
}

/// One use of one such thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// What it is.
    pub kind: Kind,
    /// What the code calls it; empty where it has no name.
    pub name: String,
    /// Where it lives: its declaration, or where it is made or taken.
    pub at: Spot,
    /// Where it is used: taken, tested, counted, started.
    pub used: Spot,
    /// How many calls lie between the function it is seen from and its use.
    pub distance: usize,
    /// The work under it, in words, and where.
    pub work: Vec<(String, Spot)>,
}

impl Subject {
    /// Something that lives where an event makes or takes it.
    pub fn of(kind: Kind, event: &FlatEvent) -> Subject {
        Subject::at(kind, event.at, event.hops.len())
    }

    /// Something that lives and is used in one place.
    pub fn at(kind: Kind, at: Spot, distance: usize) -> Subject {
        Subject { kind, name: String::new(), at, used: at, distance, work: vec![] }
    }

    /// The same, living in a piece of state where that is declared, under the state's name.
    pub fn kept_in(mut self, view: &View<'_>, place: &Place) -> Subject {
        self.name = name_of(view, place);
        if let Some((file, span)) = view.made(place).at {
            self.at = Spot { file, span };
        }
        self
    }

    /// The same, under a name.
    pub fn named(mut self, name: impl Into<String>) -> Subject {
        self.name = name.into();
        self
    }

    /// The same, under the name its result is bound to, or else that of what is called.
    pub fn called(mut self, view: &View<'_>, event: &FlatEvent) -> Subject {
        let callee = || view.world.tree.name_of(event.call()?.0);
        self.name = event.bound.as_deref().map(str::to_owned).or_else(callee).unwrap_or_default();
        self
    }

    /// A lock that is taken.
    pub fn lock(view: &View<'_>, kind: Kind, region: &Region) -> Subject {
        let subject = Subject::of(kind, view.event(region.acquire));
        match &region.place {
            Some(place) => subject.kept_in(view, place),
            None => subject,
        }
    }

    /// The same, with work under it.
    pub fn around<'e>(mut self, view: &View<'_>, work: impl IntoIterator<Item = &'e FlatEvent>) -> Subject {
        for event in work {
            self.add_work(view, event);
        }
        self
    }

    /// Adds work under it.
    pub fn add_work(&mut self, view: &View<'_>, event: &FlatEvent) {
        if !self.work.iter().any(|(_, at)| *at == event.at) {
            self.work.push((view.describe(event), event.at));
        }
    }
}

/// What a piece of state is called.
fn name_of(view: &View<'_>, place: &Place) -> String {
    let holder = match &place.holder {
        Holder::Variable(_, name) | Holder::Closure(_, name) | Holder::Carried(_, _, name) | Holder::Global(name) => {
            name.to_string()
        }
        Holder::Library(_, id) => id.rsplit(':').next().unwrap_or(id).to_lowercase(),
        Holder::Field(class, name) => match view.world.tree.class(*class) {
            Some(class) => format!("{}.{name}", class.name),
            None => name.to_string(),
        },
        Holder::Local(index) => {
            view.flat.events.get(*index as usize).and_then(|event| event.bound.as_deref()).unwrap_or_default().to_owned()
        }
        Holder::Param(..) => String::new(),
    };
    let path: String = place.path.iter().map(|part| format!(".{part}")).collect();
    format!("{holder}{path}{}", if place.keyed { "[...]" } else { "" })
}

/// What the detectors say of one function: a subject is at fault, or sound for a reason.
#[derive(Debug, Default)]
pub struct Judged {
    /// Faults.
    pub faults: Vec<Candidate>,
    /// What is sound, and why.
    pub sound: Vec<(Subject, Vec<Reason>)>,
    /// Tests of state and the work they decide, by their places, where callers can see no more fully that it is sound.
    pub cleared: Vec<(Spot, Spot)>,
    /// Tables of whose rows a write compares the version, with the write.
    pub compared: Vec<(String, Spot)>,
    /// State of the process into which something made up is put, with where.
    pub made_up: Vec<(Place, Spot)>,
}

impl Judged {
    /// Whether it says anything.
    pub fn says(&self) -> bool {
        let Judged { faults, sound, cleared, compared, made_up } = self;
        !(faults.is_empty() && sound.is_empty() && cleared.is_empty() && compared.is_empty() && made_up.is_empty())
    }

    /// A fault.
    pub fn push(&mut self, fault: Candidate) {
        self.faults.push(fault);
    }

    /// A subject that is sound: each piece of work under it for a reason, or because there is none.
    pub fn sound(&mut self, subject: Subject, mut reasons: Vec<Reason>) {
        reasons.sort();
        reasons.dedup();
        if reasons.is_empty() {
            reasons.push(Reason::new(Why::MemoryOnly));
        }
        self.sound.push((subject, reasons));
    }
}
