//! What experiments say of a scan's findings, for people and for GitHub. It decides nothing.

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};

use crate::hammer::proof::{Outcome, Proof};
use crate::report::columns::printable;
use crate::report::github::{cell, command};

/// A table of all findings.
pub fn text(proofs: &[Proof]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(["finding", "where", "outcome", "scenario"]);
    for proof in proofs {
        let claim = &proof.claim;
        let place = printable(&format!("{}:{}", claim.path, claim.line));
        table.add_row([&claim.rule, &place, proof.outcome.name(), proof.scenario.as_deref().unwrap_or("")]);
    }
    let mut text = format!("findings of the scan: {}\n{table}\n", counts(proofs));
    for proof in proofs {
        let claim = &proof.claim;
        text.push_str(&format!("- {} at {}:{}: {}: {}\n", claim.rule, claim.path, claim.line, proof.outcome.name(), proof.why));
    }
    text
}

/// One annotation, at the finding's line where it was confirmed.
pub fn annotation(proof: &Proof) -> String {
    let level = if proof.outcome == Outcome::Confirmed { "error" } else { "notice" };
    let claim = &proof.claim;
    let title = format!("lockcheck hammer: {} {}", claim.rule, proof.outcome.name());
    let place = [("file", claim.path.clone()), ("line", claim.line.to_string()), ("title", title)];
    format!("{}\n", command(level, &place, &proof.why))
}

/// The table in Markdown.
pub fn markdown(proofs: &[Proof]) -> String {
    let mut out = format!(
        "## lockcheck hammer: findings of the scan\n\n{}\n\n| finding | where | outcome | why |\n|---|---|---|---|\n",
        counts(proofs)
    );
    for proof in proofs {
        let claim = &proof.claim;
        out.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            claim.rule,
            cell(&format!("{}:{}", claim.path, claim.line)),
            proof.outcome.name(),
            cell(&proof.why)
        ));
    }
    out
}

fn counts(proofs: &[Proof]) -> String {
    let of = |outcome| proofs.iter().filter(|proof| proof.outcome == outcome).count();
    let each =
        [Outcome::Confirmed, Outcome::Refuted, Outcome::Untested].map(|outcome| format!("{} {}", of(outcome), outcome.name()));
    each.join(", ")
}
