//! The table in README.md of what scan and hammer say of each seed service.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::manifest::{Manifest, Seed};

/// The environment variable with which the table is written.
pub const UPDATE: &str = "SEEDS_UPDATE";

const BEGIN: &str = "<!-- written by tests/seeds: begin -->\n";
const END: &str = "<!-- written by tests/seeds: end -->\n";

/// Fails where the table differs from what the services are held to.
pub fn compare(manifest: &Manifest) -> Result<()> {
    let readme = fs::read_to_string(path())?;
    ensure!(
        readme == renewed(&readme, manifest)?,
        "the table in README.md is not what fixtures/seeds/seeds.toml says; {UPDATE}=1 tests/run writes it"
    );
    Ok(())
}

/// Writes the table.
pub fn write(manifest: &Manifest) -> Result<()> {
    let readme = fs::read_to_string(path())?;
    fs::write(path(), renewed(&readme, manifest)?).context("README.md cannot be written")
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")
}

/// The text with the table in its place.
fn renewed(readme: &str, manifest: &Manifest) -> Result<String> {
    let (before, rest) = readme.split_once(BEGIN).with_context(|| format!("README.md has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("README.md has no line {END}"))?;
    Ok(format!("{before}{BEGIN}{}{END}{after}", table(manifest)))
}

fn table(manifest: &Manifest) -> String {
    let mut table = "| service | scan says | hammer says |\n|---|---|---|\n".to_owned();
    for seed in &manifest.seed {
        let case = seed.case.as_ref().map(|case| format!(", {case}")).unwrap_or_default();
        table.push_str(&format!("| {}{case} | {} | {} |\n", seed.variant, scan(seed), hammer(seed)));
    }
    table
}

fn scan(seed: &Seed) -> String {
    let Some(found) = &seed.scan else { return "as above".to_owned() };
    let rules = |rules: &BTreeSet<String>| rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ");
    match (found.is_empty(), seed.advice.is_empty()) {
        (true, true) => "nothing".to_owned(),
        (true, false) => format!("advice {}", rules(&seed.advice)),
        (false, true) => rules(found),
        (false, false) => format!("{}; advice {}", rules(found), rules(&seed.advice)),
    }
}

fn hammer(seed: &Seed) -> String {
    let Some(verdict) = &seed.verdict else { return "is not asked".to_owned() };
    let mut words = verdict.clone();
    if let Some(cell) = &seed.fails {
        let cell = if cell.starts_with('c') { cell.to_uppercase() } else { cell.clone() };
        words.push_str(&format!(", first in {cell}"));
    }
    if let Some(rule) = &seed.compatible {
        words.push_str(&format!(": `{rule}`"));
    }
    if let Some(effects) = &seed.effects {
        let count = if effects.least == effects.most {
            effects.least.to_string()
        } else {
            format!("{} to {}", effects.least, effects.most)
        };
        words.push_str(&format!("; {count} effect{}", if effects.most == 1 { "" } else { "s" }));
    }
    words
}
