//! Names for findings that stay when lines only move: of the rule, the path and the code in evidence, never of line numbers.

use std::collections::HashMap;

use crate::faults::{Finding, Role};

use super::Excerpts;

/// Fills in the fingerprints. Findings that are alike in everything are told apart by their order in the file.
pub fn fill(findings: &mut [Finding], excerpts: &Excerpts) {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by(|&a, &b| findings[a].at.cmp(&findings[b].at));
    let mut met: HashMap<blake3::Hash, u32> = HashMap::new();
    for at in order {
        let likeness = likeness(&findings[at], excerpts);
        let ordinal = met.entry(likeness).or_insert(0);
        let name = blake3::Hasher::new().update(likeness.as_bytes()).update(&ordinal.to_le_bytes()).finalize();
        findings[at].fingerprint = name.to_hex()[..32].to_string();
        *ordinal += 1;
    }
}

/// What stays when lines move. The number of copies is left out: scaling a service makes no new finding.
fn likeness(finding: &Finding, excerpts: &Excerpts) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(text.as_bytes()).update(&[0]);
    };
    part(&finding.rule);
    part(&finding.at.path);
    part(&normalised(excerpts.line(&finding.at.path, finding.at.line)));
    for hop in finding.trace.iter().filter(|hop| hop.role != Role::Copies) {
        part(&hop.at.path);
        part(&normalised(excerpts.line(&hop.at.path, hop.at.line)));
    }
    hasher.finalize()
}

/// Without indentation and with single spaces.
fn normalised(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::sample::finding;

    fn fingerprints(places: &[(&str, u32, &str)]) -> Vec<String> {
        let mut excerpts = Excerpts::default();
        let mut findings: Vec<Finding> = places
            .iter()
            .map(|(rule, line, text)| {
                excerpts.insert("a.py", *line, text);
                finding(rule, "a.py", *line)
            })
            .collect();
        fill(&mut findings, &excerpts);
        findings.into_iter().map(|finding| finding.fingerprint).collect()
    }

    #[test]
    fn moved_and_indented_lines_keep_their_name() {
        let before = fingerprints(&[("process-lock", 3, "with lock:")]);
        let after = fingerprints(&[("process-lock", 40, "    with  lock:")]);
        assert_eq!(before, after);
        assert_eq!(before[0].len(), 32);
    }

    #[test]
    fn other_code_and_other_rules_have_other_names() {
        let one = fingerprints(&[("process-lock", 3, "with lock:")]);
        assert_ne!(one, fingerprints(&[("process-lock", 3, "with other:")]));
        assert_ne!(one, fingerprints(&[("process-guard", 3, "with lock:")]));
    }

    #[test]
    fn equals_are_told_apart_by_their_order() {
        let pair = fingerprints(&[("process-lock", 9, "with lock:"), ("process-lock", 3, "with lock:")]);
        assert_ne!(pair[0], pair[1]);
        assert_eq!(pair[1], fingerprints(&[("process-lock", 5, "with lock:")])[0]);
    }
}
