//! What to leave out of a text the parser gave up on, so that the rest can still be read.
//! It goes by how code is laid out: a line that begins a top-level statement begins in the first column.

use std::ops::Range;

/// The text with the top-level statement around byte `fault` (or the last one before it) blanked out, all other offsets
/// unchanged; `None` when nothing would be left.
pub(super) fn without_statement_at(text: &str, fault: usize) -> Option<String> {
    let mut chosen: Option<Range<usize>> = None;
    let mut others = false;
    for statement in statements(text) {
        if text.get(statement.clone()).is_none_or(|text| text.trim().is_empty()) {
            continue;
        }
        if chosen.is_none() || statement.start <= fault {
            others |= chosen.is_some();
            chosen = Some(statement);
        } else {
            others = true;
        }
    }
    let chosen = chosen.filter(|_| others)?;
    let blank = text.get(chosen.clone())?.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' });
    let mut kept = text.get(..chosen.start)?.to_owned();
    kept.extend(blank);
    kept.push_str(text.get(chosen.end..)?);
    Some(kept)
}

/// Byte ranges of the text from one line that begins a statement up to the next.
fn statements(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if at > start && begins_statement(line) {
            ranges.push(start..at);
            start = at;
        }
        at += line.len();
    }
    ranges.push(start..at);
    ranges
}

fn begins_statement(line: &str) -> bool {
    let continues = ["else", "catch", "finally"].iter().any(|word| line.starts_with(word));
    line.starts_with(|first: char| first.is_alphanumeric() || matches!(first, '_' | '$' | '@')) && !continues
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_around_the_fault_goes() {
        let text = "a();\nfunction ä() {\n  b(;\n}\nc();\n";
        let kept = without_statement_at(text, text.find("(;").unwrap()).unwrap();
        assert_eq!(kept.len(), text.len());
        assert_eq!(kept.split_whitespace().collect::<Vec<_>>(), ["a();", "c();"]);
        assert_eq!(kept.find("c()"), text.find("c()"));
    }

    #[test]
    fn a_fault_at_the_end_takes_the_last_that_is_left() {
        assert_eq!(without_statement_at("a();\nb(\n     \n", 13).unwrap().trim(), "a();");
        assert_eq!(without_statement_at("a(", 2), None);
    }
}
