//! The order in which findings are read, and one finding for one fact.

use std::cmp::Reverse;

use crate::faults::Finding;

/// Worst first: by severity, then confidence, then place.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
}

/// Of findings of one rule at one place the surest stays, and among these the one with the shortest trace.
pub fn dedupe(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        (&a.rule, &a.at)
            .cmp(&(&b.rule, &b.at))
            .then(b.confidence.cmp(&a.confidence))
            .then(b.severity.cmp(&a.severity))
            .then_with(|| (a.trace.len(), &a.trace).cmp(&(b.trace.len(), &b.trace)))
    });
    findings.dedup_by(|later, earlier| later.rule == earlier.rule && later.at == earlier.at);
}

fn key(finding: &Finding) -> impl Ord + '_ {
    let worst = (Reverse(finding.severity), Reverse(finding.confidence));
    (worst, &finding.at, &finding.rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Confidence;
    use crate::findings::sample::finding;
    use crate::rules::Severity;

    #[test]
    fn worst_and_surest_come_first() {
        let mut findings = vec![
            Finding { severity: Severity::Warning, ..finding("process-rate-limit", "a.py", 1) },
            Finding { confidence: Confidence::Low, ..finding("process-lock", "a.py", 2) },
            finding("process-lock", "b.py", 1),
            finding("process-lock", "a.py", 9),
        ];
        sort(&mut findings);
        let places: Vec<_> = findings.iter().map(|finding| (finding.at.path.as_str(), finding.at.line)).collect();
        assert_eq!(places, [("a.py", 9), ("b.py", 1), ("a.py", 2), ("a.py", 1)]);
    }

    #[test]
    fn one_finding_for_one_fact() {
        let mut findings = vec![
            Finding { confidence: Confidence::Low, ..finding("process-lock", "a.py", 1) },
            finding("process-lock", "a.py", 1),
            finding("process-guard", "a.py", 1),
        ];
        dedupe(&mut findings);
        let left: Vec<_> = findings.iter().map(|finding| (finding.rule.as_str(), finding.confidence)).collect();
        assert_eq!(left, [("process-guard", Confidence::High), ("process-lock", Confidence::High)]);
    }
}
