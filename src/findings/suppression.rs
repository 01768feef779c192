//! Inline comments that say why a finding does not apply: `lockcheck: ignore[rule] reason`.
//! It must not know how a language writes comments.

use std::collections::BTreeMap;

use crate::faults::Finding;
use crate::files::{Gap, GapKind};
use crate::rules::Catalogue;

/// A comment of the scanned tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Path relative to the scanned root.
    pub path: String,
    /// The last line of the comment, from 1.
    pub line: u32,
    /// Whether nothing but the comment is on its line.
    pub alone: bool,
    /// Its text without the markers.
    pub text: String,
}

/// What a comment that suppresses says first.
const MARK: &str = "lockcheck:";

/// The findings that comments speak about: rules by the line they hold for.
#[derive(Debug, Clone, Default)]
pub struct Suppressions {
    rules: BTreeMap<(String, u32), Vec<String>>,
}

impl Suppressions {
    /// Reads the comments. One that suppresses without naming a rule or giving a reason, or that names a rule which does not
    /// exist, suppresses nothing there and becomes a gap.
    pub fn read(remarks: impl IntoIterator<Item = Remark>, catalogue: &Catalogue) -> (Suppressions, Vec<Gap>) {
        let mut suppressions = Suppressions::default();
        let mut gaps = Vec::new();
        for remark in remarks {
            let Some(directive) = directive(&remark.text) else { continue };
            let (rules, problem) = read_directive(directive, catalogue);
            if let Some(message) = problem {
                let path = remark.path.clone();
                gaps.push(Gap { path, line: Some(remark.line), kind: GapKind::Suppression, message });
            }
            for line in remark.line..=remark.line + u32::from(remark.alone) {
                suppressions.rules.entry((remark.path.clone(), line)).or_default().extend(rules.iter().cloned());
            }
        }
        (suppressions, gaps)
    }

    /// Whether a comment may be one of these.
    pub fn speaks(comment: &str) -> bool {
        comment.contains(MARK)
    }

    /// Whether a comment on the finding's line, or one alone on the line above, names its rule.
    pub fn cover(&self, finding: &Finding) -> bool {
        let place = (finding.at.path.clone(), finding.at.line);
        self.rules.get(&place).is_some_and(|rules| rules.contains(&finding.rule))
    }
}

/// What follows `lockcheck: ignore`, where the comment begins with it, or a further comment marker does before it.
fn directive(text: &str) -> Option<&str> {
    let (before, after) = text.split_once(MARK)?;
    let rest = after.trim_start().strip_prefix("ignore")?;
    let begins = before.trim_end().is_empty() || before.trim_end().ends_with(['#', '/', '*', '-']);
    let is_word = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (begins && is_word).then_some(rest.trim())
}

/// The rules that a directive suppresses, and what is wrong with it.
fn read_directive(rest: &str, catalogue: &Catalogue) -> (Vec<String>, Option<String>) {
    let Some((list, reason)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return (Vec::new(), Some("`lockcheck: ignore` needs the rule: write `lockcheck: ignore[rule] reason`".to_string()));
    };
    let ids: Vec<&str> = list.split(',').map(str::trim).filter(|id| !id.is_empty()).collect();
    if ids.is_empty() {
        return (Vec::new(), Some("`lockcheck: ignore[]` names no rule; nothing is suppressed".to_string()));
    }
    let reason = reason.trim_start_matches([':', '-', ' ', '\t']).trim_end_matches(['*', '/', ' ']);
    if reason.is_empty() {
        return (Vec::new(), Some(format!("`lockcheck: ignore[{list}]` needs a reason after it; nothing is suppressed")));
    }
    let problem = ids.iter().find_map(|id| catalogue.find(id).err()).map(|unknown| unknown.to_string());
    let known = ids.into_iter().filter(|id| catalogue.get(id).is_some());
    (known.map(str::to_string).collect(), problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::sample::finding;

    fn read(line: u32, text: &str) -> (Suppressions, Vec<Gap>) {
        let remark = Remark { path: "a.py".into(), line, alone: !text.starts_with("noqa"), text: text.into() };
        Suppressions::read([remark], &Catalogue::builtin().unwrap())
    }

    fn covers(line: u32, text: &str) -> bool {
        read(line, text).0.cover(&finding("process-lock", "a.py", 10))
    }

    #[test]
    fn the_same_line_and_the_one_above_count() {
        let text = " lockcheck: ignore[process-lock] one copy only, see deploy.yaml";
        assert_eq!([8, 9, 10, 11].map(|line| covers(line, text)), [false, true, true, false]);
    }

    #[test]
    fn several_rules_and_other_comments_before_it() {
        assert!(covers(10, "lockcheck: ignore[lost-update, process-lock]: single writer"));
        assert!(covers(10, "noqa: E501  # lockcheck:ignore[process-lock] single writer"));
        assert!(!covers(9, "noqa: E501  # lockcheck:ignore[process-lock] the line below is another matter"));
        assert!(!covers(10, "lockcheck: ignore[lost-update] single writer"));
    }

    #[test]
    fn prose_about_it_is_no_directive() {
        let (suppressions, gaps) = read(10, "silence it with lockcheck: ignore[process-lock] and a reason");
        assert!(!suppressions.cover(&finding("process-lock", "a.py", 10)));
        assert_eq!(gaps, []);
        assert_eq!(read(10, "lockcheck: ignored by design").1, []);
    }

    #[test]
    fn a_directive_without_rule_or_reason_is_a_gap_and_suppresses_nothing() {
        for text in
            ["lockcheck: ignore", "lockcheck: ignore[]  x", "lockcheck: ignore[process-lock]", "lockcheck: ignore because"]
        {
            let (suppressions, gaps) = read(10, text);
            assert!(!suppressions.cover(&finding("process-lock", "a.py", 10)), "{text}");
            assert_eq!(gaps.len(), 1, "{text}");
            assert_eq!((gaps[0].line, gaps[0].kind), (Some(10), GapKind::Suppression));
        }
    }

    #[test]
    fn an_unknown_rule_is_a_gap_that_names_its_neighbour() {
        let (suppressions, gaps) = read(10, "lockcheck: ignore[proces-lock, process-lock] single writer");
        assert!(suppressions.cover(&finding("process-lock", "a.py", 10)));
        assert!(gaps[0].message.contains("did you mean `process-lock`"), "{}", gaps[0].message);
    }
}
