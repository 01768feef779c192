//! From what the detectors found to what is reported: one finding a fact, named, selected, suppressed and in order.
//! It must not know a format.

mod excerpts;
mod fingerprint;
mod order;
mod report;
#[cfg(test)]
pub(crate) mod sample;
mod selection;
mod suppression;

pub use excerpts::Excerpts;
pub use report::{Report, Stats};
pub use selection::Selection;
pub use suppression::{Remark, Suppressions};

use crate::faults::{Detected, Finding, Item};
use crate::files::Tree;

/// What is left to report.
#[derive(Debug, Default)]
pub struct Settled {
    /// The findings, worst first, with their fingerprints.
    pub findings: Vec<Finding>,
    /// The lines of source they name.
    pub excerpts: Excerpts,
    /// All that was judged.
    pub inventory: Vec<Item>,
    /// How many an inline comment suppressed.
    pub suppressed: usize,
}

/// Settles what the detectors found. Fingerprints are given before anything is left out, so that what else is reported does not
/// change them.
pub fn settle(found: Detected, tree: &Tree, selection: &Selection, suppressions: &Suppressions) -> Settled {
    let Detected { findings: mut found, mut inventory } = found;
    order::dedupe(&mut found);
    let excerpts = Excerpts::of(&found, tree);
    fingerprint::fill(&mut found, &excerpts);
    found.retain(|finding| selection.keeps(finding));
    let selected = found.len();
    found.retain(|finding| !suppressions.cover(finding));
    order::sort(&mut found);
    let faults = inventory.iter_mut().flat_map(|item| &mut item.uses).flat_map(|used| &mut used.faults);
    faults.for_each(|fault| fault.reported = found.iter().any(|finding| finding.rule == fault.rule && finding.at == fault.at));
    Settled { inventory, suppressed: selected - found.len(), excerpts: Excerpts::of(&found, tree), findings: found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Language, Source};
    use crate::rules::Catalogue;

    #[test]
    fn a_suppressed_finding_is_counted_and_keeps_its_number_among_equals() {
        let text = "with lock:\nwith lock:\n";
        let tree = Tree { sources: vec![Source::new("a.py", Language::Python, text)], ..Tree::default() };
        let findings = || vec![sample::finding("process-lock", "a.py", 1), sample::finding("process-lock", "a.py", 2)];
        let found = || Detected { findings: findings(), inventory: vec![] };
        let text = "lockcheck: ignore[process-lock] start-up only".to_string();
        let remark = Remark { path: "a.py".into(), line: 1, alone: false, text };
        let (suppressions, _) = Suppressions::read([remark], &Catalogue::builtin().unwrap());
        let all = settle(found(), &tree, &Selection::default(), &Suppressions::default());
        let some = settle(found(), &tree, &Selection::default(), &suppressions);
        assert_eq!((all.suppressed, some.suppressed), (0, 1));
        assert_eq!(some.findings, all.findings[1..]);
        assert_eq!(some.excerpts.line("a.py", 2), "with lock:");
    }
}
