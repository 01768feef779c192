//! How sure a finding is once it is known whether someone admits it and how many copies run; the hop that says their number.

use super::inventory::Running;
use super::{Confidence, Finding, Hop, Kind, Place, Role};
use crate::program::{Copies, Counted};
use crate::rules::Per;

/// The finding one step surer where a comment admits it or, where copies with no more than `per` in common make it a fault, several
/// run; one step less sure where one runs. Two that overlap while a new version starts are said, and change nothing.
pub(super) fn weighed(mut finding: Finding, admitted: bool, copies: &Copies, per: Option<Per>) -> Finding {
    let counted = per.and_then(|per| copies.of(&finding.at.path, per));
    let given = per.and(copies.given);
    let several = counted.is_some_and(|counted| counted.is_several()) || given.is_some_and(|given| given > 1);
    let single = counted.is_some_and(|counted| counted.is_single());
    finding.confidence = stepped(finding.confidence, i32::from(admitted || several) - i32::from(single));
    if let Some(counted) = counted {
        finding.trace.push(Hop { at: place(counted), role: Role::Copies, note: counted.to_string() });
    }
    finding
}

/// How many copies run of something in a file, as far as is known: the user's word, or what the deployment files say.
pub(super) fn running(copies: &Copies, kind: Kind, path: &str) -> Option<Running> {
    if let Some(given) = copies.given {
        let words = if given == 1 { "one copy".to_owned() } else { format!("{given} copies") };
        return Some(Running { words, at: None });
    }
    // Copies on one machine have its disk in common.
    let per = if kind == Kind::FileLock { Per::Host } else { Per::Process };
    let counted = copies.of(path, per)?;
    Some(Running { words: counted.to_string(), at: Some(place(counted)) })
}

/// Where a number of copies is said.
fn place(counted: &Counted) -> Place {
    Place { path: counted.path.clone(), line: counted.line, end_line: counted.line, column: 1, end_column: 1 }
}

/// So many steps surer, or less sure below zero.
fn stepped(confidence: Confidence, steps: i32) -> Confidence {
    match confidence as i32 + steps {
        ..=0 => Confidence::Low,
        1 => Confidence::Medium,
        _ => Confidence::High,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Deployment;
    use crate::rules::Severity;

    fn finding() -> Finding {
        Finding {
            rule: "process-lock".into(),
            severity: Severity::Error,
            confidence: Confidence::Medium,
            message: String::new(),
            at: Place { path: "a.py".into(), line: 1, end_line: 1, column: 1, end_column: 1 },
            trace: vec![],
            endpoint: None,
            help: String::new(),
            fingerprint: String::new(),
        }
    }

    fn said(number: u32, overlaps: bool) -> Copies {
        let counted = Counted { number, or_more: false, overlaps, per: Per::Host, path: "k.yaml".into(), line: 7 };
        Copies::new(None, vec![Deployment { counts: vec![counted], ..Deployment::default() }])
    }

    fn confidence(admitted: bool, copies: &Copies, per: Option<Per>) -> (Confidence, usize) {
        let weighed = weighed(finding(), admitted, copies, per);
        (weighed.confidence, weighed.trace.len())
    }

    #[test]
    fn several_copies_raise_and_one_lowers() {
        let per = Some(Per::Process);
        assert_eq!(confidence(false, &said(3, true), per), (Confidence::High, 1));
        assert_eq!(confidence(false, &said(1, false), per), (Confidence::Low, 1));
        assert_eq!(confidence(false, &said(1, true), per), (Confidence::Medium, 1));
        assert_eq!(confidence(false, &Copies::default(), per), (Confidence::Medium, 0));
        assert_eq!(confidence(false, &Copies::new(Some(3), vec![]), per), (Confidence::High, 0));
    }

    #[test]
    fn a_comment_and_several_copies_are_one_step_and_other_rules_take_no_notice() {
        assert_eq!(confidence(true, &said(3, true), Some(Per::Process)), (Confidence::High, 1));
        assert_eq!(confidence(true, &said(1, false), Some(Per::Process)), (Confidence::Medium, 1));
        assert_eq!(confidence(false, &said(3, false), None), (Confidence::Medium, 0));
    }
}
