//! A finding for unit tests.

use crate::faults::{Confidence, Finding, Place};
use crate::rules::Severity;

/// An error of high confidence on one line.
pub fn finding(rule: &str, path: &str, line: u32) -> Finding {
    Finding {
        rule: rule.to_string(),
        severity: Severity::Error,
        confidence: Confidence::High,
        message: "two copies do it twice".to_string(),
        at: Place { path: path.to_string(), line, end_line: line, column: 1, end_column: 5 },
        trace: Vec::new(),
        endpoint: None,
        help: "let the write decide".to_string(),
        fingerprint: String::new(),
    }
}
