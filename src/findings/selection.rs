//! Which rules a run reports. It must not know where a finding is.

use crate::faults::Finding;
use crate::rules::{Catalogue, Severity, UnknownRule};

/// The rules asked for.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    select: Vec<String>,
    ignore: Vec<String>,
    strict: bool,
}

impl Selection {
    /// Only the rules in `select` (all when it is empty), without those in `ignore`; advice only when `strict`, or when its
    /// rule was selected by name. An id that is not in the catalogue is an error that names its neighbours.
    pub fn new(catalogue: &Catalogue, select: Vec<String>, ignore: Vec<String>, strict: bool) -> Result<Selection, UnknownRule> {
        for id in select.iter().chain(&ignore) {
            catalogue.find(id)?;
        }
        Ok(Selection { select, ignore, strict })
    }

    /// Whether a finding is reported.
    pub fn keeps(&self, finding: &Finding) -> bool {
        let selected = self.select.contains(&finding.rule);
        !self.ignore.contains(&finding.rule)
            && (selected || self.select.is_empty())
            && (selected || self.strict || finding.severity > Severity::Advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::sample::finding;

    fn selection(select: &[&str], ignore: &[&str], strict: bool) -> Selection {
        let owned = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect();
        Selection::new(&Catalogue::builtin().unwrap(), owned(select), owned(ignore), strict).unwrap()
    }

    #[test]
    fn select_narrows_and_ignore_wins() {
        let lock = finding("process-lock", "a.py", 1);
        assert!(selection(&[], &[], false).keeps(&lock));
        assert!(!selection(&["lost-update"], &[], false).keeps(&lock));
        assert!(!selection(&["process-lock"], &["process-lock"], false).keeps(&lock));
    }

    #[test]
    fn advice_is_shown_when_asked_for() {
        let advice = Finding { severity: Severity::Advice, ..finding("lock-coarse-key", "a.py", 1) };
        assert!(!selection(&[], &[], false).keeps(&advice));
        assert!(selection(&[], &[], true).keeps(&advice));
        assert!(selection(&["lock-coarse-key"], &[], false).keeps(&advice));
    }

    #[test]
    fn an_unknown_rule_is_an_error() {
        let catalogue = Catalogue::builtin().unwrap();
        let error = Selection::new(&catalogue, vec![], vec!["lost-updates".into()], false).unwrap_err();
        assert_eq!(error.to_string(), "there is no rule `lost-updates`; did you mean `lost-update`?");
    }
}
