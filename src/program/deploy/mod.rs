//! How many copies run, as the deployment files of the tree say it: [`Copies`]. What is not said is not assumed.

mod commands;
mod forks;
mod number;
mod units;

pub use forks::forks;
pub use units::deployments;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::packages::within;
use crate::rules::Per;

/// A number of copies, with the line that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// How many, at least one.
    pub number: u32,
    /// There may be more: only that there are several is known.
    pub or_more: bool,
    /// A new version starts before the old one ends.
    pub overlaps: bool,
    /// What the copies share.
    pub per: Per,
    /// The file.
    pub path: String,
    /// Its line, from 1.
    pub line: u32,
}

impl Counted {
    /// How many run in the same instant, at most.
    pub fn at_once(&self) -> u32 {
        if self.number == 1 && self.overlaps { 2 } else { self.number }
    }

    /// Whether several run for longer than a new version takes to start.
    pub fn is_several(&self) -> bool {
        self.number > 1
    }

    /// Whether never more than one runs.
    pub fn is_single(&self) -> bool {
        self.at_once() == 1 && !self.or_more
    }
}

impl fmt::Display for Counted {
    /// As in `3 copies: deploy/api.yaml:12`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_more = if self.or_more { " or more" } else { "" };
        let noun = if self.at_once() == 1 { "copy" } else { "copies" };
        write!(out, "{}{or_more} {noun}: {}:{}", self.at_once(), self.path, self.line)?;
        if self.at_once() != self.number {
            write!(out, " (a new version starts before the old one ends)")?;
        }
        Ok(())
    }
}

/// Something that runs, as one place of the tree describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deployment {
    /// The file that describes it.
    pub path: String,
    /// What it is called: its own name, and its image's.
    pub names: Vec<String>,
    /// Folders of code it is made from, below the root; none where the whole tree is.
    pub folders: Vec<String>,
    /// Files that its command line starts.
    pub starts: Vec<String>,
    /// The numbers that are said of it.
    pub counts: Vec<Counted>,
    /// The files that run in it, where that is known: the program that starts more of itself, and what it is made of.
    pub made_of: Option<Arc<HashSet<String>>>,
    /// The user's own word.
    pub settles: bool,
}

/// How many copies run of what.
#[derive(Debug, Clone, Default)]
pub struct Copies {
    /// The number the user gave for this scan.
    pub given: Option<u32>,
    deployments: Vec<Deployment>,
}

impl Copies {
    /// What is known, from the user's word for this scan and the deployments of the tree.
    pub fn new(given: Option<u32>, deployments: Vec<Deployment>) -> Copies {
        Copies { given, deployments }
    }

    /// The deployments that were read.
    pub fn deployments(&self) -> &[Deployment] {
        &self.deployments
    }

    /// The user's word that there is one copy, for this scan or in the tree.
    pub fn one_by_word(&self) -> bool {
        match self.given {
            Some(given) => given == 1,
            None => self.settled().is_some_and(Counted::is_single),
        }
    }

    /// The largest number of copies of anything; `None` where nothing says so, or the user gave the number for this scan.
    pub fn most(&self) -> Option<&Counted> {
        self.largest(self.deployments.iter().collect(), Per::Process)
    }

    /// The number of copies of the code in a file that have no more than `per` in common. Where a deployment is plainly of this
    /// file it speaks for it; else the largest number does.
    pub fn of(&self, path: &str, per: Per) -> Option<&Counted> {
        let runs = || self.deployments.iter().filter(|deployment| deployment.runs(path));
        let fits: Vec<(u32, &Deployment)> =
            runs().map(|deployment| (deployment.fits(path), deployment)).filter(|(fit, _)| *fit > 0).collect();
        let best = fits.iter().map(|(fit, _)| *fit).max().unwrap_or(0);
        let plain: Vec<&Deployment> = fits.into_iter().filter(|(fit, _)| *fit == best).map(|(_, found)| found).collect();
        if plain.is_empty() {
            return self.largest(runs().collect(), per);
        }
        let namesake = |other: &&Deployment| other.names.iter().any(|name| plain.iter().any(|found| found.names.contains(name)));
        let named: Vec<&Deployment> = runs().filter(namesake).chain(plain.iter().copied()).collect();
        self.largest(named, per).or_else(|| {
            // Its own file says no number of it; what that file says of others is theirs.
            let beside = |other: &Deployment| plain.iter().any(|found| found.path == other.path);
            let theirs = |other: &Deployment| other.fits(path) == 0 && (beside(other) || !other.folders.is_empty());
            self.largest(runs().filter(|other| !theirs(other)).collect(), per)
        })
    }

    fn settled(&self) -> Option<&Counted> {
        self.deployments.iter().filter(|deployment| deployment.settles).flat_map(|deployment| &deployment.counts).next()
    }

    fn largest<'c>(&'c self, among: Vec<&'c Deployment>, per: Per) -> Option<&'c Counted> {
        if self.given.is_some() {
            return None;
        }
        let counts = among.into_iter().flat_map(|deployment| &deployment.counts);
        let counts = counts.filter(|counted| per == Per::Process || counted.per == Per::Host);
        self.settled().or_else(|| largest_of(counts))
    }
}

/// The largest of some numbers, the first of equals.
fn largest_of<'c>(counts: impl Iterator<Item = &'c Counted>) -> Option<&'c Counted> {
    counts.fold(None, |best: Option<&Counted>, next| match best {
        Some(best) if (best.at_once(), best.or_more) >= (next.at_once(), next.or_more) => Some(best),
        _ => Some(next),
    })
}

impl Deployment {
    /// Whether the code in a file may run in it.
    fn runs(&self, path: &str) -> bool {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.made_of.as_ref().is_none_or(|files| files.contains(path) || within(path, folder))
    }

    /// How plainly it is of a file: 0 not at all. The file it starts is plainest, then the deepest folder, then a folder's name.
    fn fits(&self, path: &str) -> u32 {
        if self.starts.iter().any(|start| start == path) {
            return 1000;
        }
        let below = |folder: &&String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let depth = self.folders.iter().filter(below).map(|folder| 10 + folder.split('/').count() as u32).max();
        let named = || {
            let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
            u32::from(folders.split('/').any(|folder| self.names.iter().any(|name| name == folder)))
        };
        depth.unwrap_or_else(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(number: u32, path: &str) -> Counted {
        Counted { number, or_more: false, overlaps: false, per: Per::Host, path: path.into(), line: 4 }
    }

    fn deployment(path: &str, name: &str, folder: &str, numbers: &[u32]) -> Deployment {
        Deployment {
            path: path.into(),
            names: vec![name.into()],
            folders: if folder.is_empty() { vec![] } else { vec![folder.into()] },
            counts: numbers.iter().map(|number| counted(*number, path)).collect(),
            ..Deployment::default()
        }
    }

    fn said(copies: &Copies, path: &str) -> Option<String> {
        copies.of(path, Per::Process).map(ToString::to_string)
    }

    #[test]
    fn a_number_is_said_with_its_place() {
        assert_eq!(counted(3, "deploy/api.yaml").to_string(), "3 copies: deploy/api.yaml:4");
        assert_eq!(counted(1, "a.yaml").to_string(), "1 copy: a.yaml:4");
        let overlapping = Counted { overlaps: true, ..counted(1, "a.yaml") };
        assert_eq!(overlapping.to_string(), "2 copies: a.yaml:4 (a new version starts before the old one ends)");
        assert!(!overlapping.is_single() && !overlapping.is_several());
    }

    #[test]
    fn the_deployment_of_a_file_speaks_for_it_and_else_the_largest() {
        let copies = Copies::new(
            None,
            vec![deployment("c.yml", "api", "services/api", &[2]), deployment("c.yml", "jobs", "services/jobs", &[1, 1])],
        );
        assert_eq!(said(&copies, "services/api/a.ts").as_deref(), Some("2 copies: c.yml:4"));
        assert_eq!(said(&copies, "services/jobs/a.ts").as_deref(), Some("1 copy: c.yml:4"));
        assert_eq!(said(&copies, "lib/a.ts").as_deref(), Some("2 copies: c.yml:4"));
    }

    #[test]
    fn a_service_without_a_number_does_not_take_its_neighbours() {
        let copies = Copies::new(None, vec![deployment("c.yml", "api", "api", &[]), deployment("c.yml", "jobs", "jobs", &[5])]);
        assert_eq!(said(&copies, "api/a.ts"), None);
        let elsewhere = [copies.deployments(), &[deployment("k.yml", "shop", "", &[3])]].concat();
        assert_eq!(said(&Copies::new(None, elsewhere), "api/a.ts").as_deref(), Some("3 copies: k.yml:4"));
    }

    #[test]
    fn a_program_that_starts_more_of_itself_speaks_for_what_it_is_made_of() {
        let made_of = Some(Arc::new(HashSet::from(["lib/feed.ts".to_owned()])));
        let forks = Deployment { made_of, ..deployment("api/main.ts", "", "", &[4]) };
        let copies = Copies::new(None, vec![forks]);
        assert_eq!(said(&copies, "lib/feed.ts").as_deref(), Some("4 copies: api/main.ts:4"));
        assert_eq!(said(&copies, "api/routes.ts").as_deref(), Some("4 copies: api/main.ts:4"));
        assert_eq!(said(&copies, "jobs/nightly.ts"), None);
    }

    #[test]
    fn the_users_word_settles_it() {
        let word = Deployment { settles: true, ..deployment("own.toml", "", "", &[1]) };
        let copies = Copies::new(None, vec![deployment("k.yml", "a", "", &[3]), word]);
        assert_eq!(copies.most().map(ToString::to_string).as_deref(), Some("1 copy: own.toml:4"));
        assert!(copies.one_by_word());
        assert!(!Copies::new(Some(4), copies.deployments().to_vec()).one_by_word());
    }

    #[test]
    fn processes_of_one_machine_share_its_disk() {
        let mut workers = deployment("Procfile", "web", "", &[4]);
        workers.counts[0].per = Per::Process;
        let copies = Copies::new(None, vec![workers]);
        assert!(copies.of("a.py", Per::Process).is_some());
        assert!(copies.of("a.py", Per::Host).is_none());
    }
}
