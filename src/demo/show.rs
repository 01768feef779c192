//! The demonstration itself: each variant is scanned, three copies of it are hammered, and what both say is laid side by side.
//!
//! It must not know how a scan or a volley works: it reads their reports as any program would.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use clap::{Args, Command, FromArgMatches};
use serde::Deserialize;

use super::{Variant, write_sources};
use crate::findings::Report;
use crate::hammer::{self, Verdict, cli::HammerArgs};
use crate::report;
use crate::scan::{ScanOptions, scan};

/// The rule that the first variant breaks.
const FAULT: &str = "process-lock";

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Shows the fault and its cure, writing each step as it is done. False where it did not come out as it must; what to do then
/// is written too. An error means that a step could not be done at all.
pub fn show(out: &mut dyn Write) -> Result<bool> {
    let mut bench = Bench::new()?;
    let shown = both_variants(&bench, out);
    // Where something went wrong the copies' logs may say why.
    bench.keep = !matches!(shown, Ok(true));
    shown
}

fn both_variants(bench: &Bench, out: &mut dyn Write) -> Result<bool> {
    writeln!(out, "{BOLD}One coupon, to be redeemed once. Three copies of one service. Two ways to guard it.{BOLD:#}")?;

    heading(out, "1. A lock in the process", "Take a mutex, look whether the coupon was redeemed, write the redemption.")?;
    let locked = bench.try_out(Variant::Mutex, out)?;
    let named = locked.found.iter().any(|rule| rule == FAULT);
    let proven = locked.seen.diagnosis.iter().any(|rule| rule == FAULT);
    if !(named && locked.verdict == Verdict::Broken && proven) {
        return surprise(bench, out, &locked, &format!("scan should find {FAULT}, and hammer should prove it"));
    }
    writeln!(
        out,
        "\n{BOLD}Scan and hammer agree.{BOLD:#} The lock keeps the requests of one copy apart. The other copies have locks of \
         their own,\nand one coupon was redeemed {} times.",
        locked.seen.most_redeemed()
    )?;

    heading(
        out,
        "2. A condition in the write",
        "UPDATE the coupon only where nobody redeemed it yet, and look at the row count.",
    )?;
    let conditional = bench.try_out(Variant::Condition, out)?;
    if !(conditional.found.is_empty() && conditional.verdict == Verdict::Held) {
        return surprise(bench, out, &conditional, "scan should find nothing, and the guard should hold");
    }
    writeln!(out, "\n{BOLD}Scan and hammer agree.{BOLD:#} The database decides for all copies, and no lock is needed.")?;
    writeln!(
        out,
        "\nNow yours: `lockcheck scan .` reads your code; `lockcheck hammer --help` says how to fire at your service;\n\
         `lockcheck explain {FAULT}` tells more of this fault."
    )?;
    Ok(true)
}

fn heading(out: &mut dyn Write, title: &str, what: &str) -> Result<()> {
    writeln!(out, "\n{BOLD}{title}{BOLD:#}\n{what}")?;
    Ok(out.flush()?)
}

/// Says what was expected, what came, and what to do.
fn surprise(bench: &Bench, out: &mut dyn Write, trial: &Trial, expected: &str) -> Result<bool> {
    writeln!(out, "\n{BAD}This did not come out as it must{BAD:#}: {expected}.")?;
    for why in &trial.seen.why {
        writeln!(out, "- {why}")?;
    }
    writeln!(
        out,
        "On a busy machine the requests may not meet: run the demo again. What was used is still in {}.",
        bench.folder.display()
    )?;
    Ok(false)
}

/// A folder for the sources, the databases and the logs, gone at the end unless it is kept.
struct Bench {
    folder: PathBuf,
    keep: bool,
}

/// What came of one variant.
struct Trial {
    found: Vec<String>,
    verdict: Verdict,
    seen: Seen,
}

impl Bench {
    fn new() -> Result<Bench> {
        let folder = std::env::temp_dir().join(format!("lockcheck-demo-{}-{:08x}", std::process::id(), rand::random::<u32>()));
        fs::create_dir(&folder).with_context(|| format!("cannot make the demo's folder {}", folder.display()))?;
        Ok(Bench { folder, keep: false })
    }

    /// Scans the variant's source, then hammers three copies of it.
    fn try_out(&self, variant: Variant, out: &mut dyn Write) -> Result<Trial> {
        writeln!(out, "\n{DIM}$ lockcheck scan {}/{DIM:#}", variant.name())?;
        let report = self.scan(variant)?;
        let text = report::format("text").context("the text format is built in")?;
        (text.write)(&report, out)?;

        let database = self.folder.join(format!("{}.db", variant.name()));
        // A fault that shows needs only as many rounds as tell it from others; on a busy machine these are more.
        let rounds = if variant == Variant::Mutex { "20" } else { "5" };
        let words = hammer_words(&copy_command(variant, &database)?, rounds, &self.folder);
        let run = format!("lockcheck demo-copy --variant {} ...", variant.name());
        writeln!(out, "\n{DIM}$ lockcheck hammer --run '{run}' --copies 3 --path /redeem --requests 50 ...{DIM:#}")?;
        out.flush()?;
        let (verdict, seen) = fire(&words)?;
        seen.write(verdict, out)?;
        out.flush()?;
        let found = report.findings.into_iter().map(|finding| finding.rule).collect();
        Ok(Trial { found, verdict, seen })
    }

    fn scan(&self, variant: Variant) -> Result<Report> {
        let root = write_sources(&self.folder, variant)?;
        scan(&ScanOptions { root, ..ScanOptions::default() }, &|_| ())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !self.keep {
            _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The shell command that runs one copy: this very program.
fn copy_command(variant: Variant, database: &Path) -> Result<String> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let (program, database) = (quoted(&program), quoted(database));
    Ok(format!("exec {program} demo-copy --variant {} --db {database}", variant.name()))
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// The arguments of `lockcheck hammer`: a new coupon for each experiment, and what the database says afterwards.
fn hammer_words(run: &str, rounds: &str, logs: &Path) -> Vec<String> {
    let logs = logs.to_string_lossy();
    let pairs: &[(&str, &str)] = &[
        ("--run", run),
        ("--copies", "3"),
        ("--ready", "/health"),
        ("--path", "/redeem"),
        ("--requests", "50"),
        ("--rounds", rounds),
        ("--setup", r#"POST /coupons {"code":"{{fresh}}"}"#),
        ("--header", "content-type: application/json"),
        ("--data", r#"{"code":"{{fresh}}","customer":"customer {{n}}"}"#),
        ("--verify", "GET /coupons/{{fresh}}/redemptions json:$.n"),
        ("--logs", &logs),
        ("--format", "json"),
    ];
    let words = pairs.iter().flat_map(|(option, value)| [*option, *value]);
    ["hammer"].into_iter().chain(words).map(str::to_owned).collect()
}

/// Runs the hammer with these arguments and reads its report.
fn fire(words: &[String]) -> Result<(Verdict, Seen)> {
    let matches = HammerArgs::augment_args(Command::new("hammer")).try_get_matches_from(words)?;
    let args = HammerArgs::from_arg_matches(&matches)?;
    let mut json = vec![];
    let verdict = hammer::run(&args, &mut json, &|_| {})?;
    Ok((verdict, serde_json::from_slice(&json).context("the hammer's report is not what the demo expects")?))
}

/// The part of a hammer's report that the demo shows.
#[derive(Debug, Deserialize)]
struct Seen {
    diagnosis: Vec<String>,
    why: Vec<String>,
    experiments: Vec<Experiment>,
}

#[derive(Debug, Deserialize)]
struct Experiment {
    name: String,
    requests: u64,
    successes: u64,
    effects: Option<u64>,
    by_copy: Vec<OfCopy>,
}

#[derive(Debug, Deserialize)]
struct OfCopy {
    copy: String,
    successes: u64,
}

impl Seen {
    /// How often one coupon was redeemed, at the worst.
    fn most_redeemed(&self) -> u64 {
        self.experiments.iter().filter(|one| one.name != "c0").map(Experiment::redeemed).max().unwrap_or(0)
    }

    /// One line for each kind of experiment, the worst of its rounds, then the verdict.
    fn write(&self, verdict: Verdict, out: &mut dyn Write) -> Result<()> {
        const KINDS: [(&str, &str); 4] = [
            ("c1", "one after another, one copy"),
            ("c2", "one after another, all copies"),
            ("c3", "all at once, one copy"),
            ("c4", "all at once, all copies"),
        ];
        writeln!(out, "Each round has a coupon of its own; of each kind the worst round is shown.")?;
        writeln!(out, "{:<31} {:>6} {:>9} {:>9}  accepted by", "", "rounds", "requests", "redeemed")?;
        for (name, words) in KINDS {
            let rounds = || self.experiments.iter().filter(|one| one.name == name);
            let Some(worst) = rounds().max_by_key(|one| one.redeemed()) else { continue };
            let style = if worst.redeemed() == 1 { Style::new() } else { BAD };
            let (count, requests, redeemed, by) = (rounds().count(), worst.requests, worst.redeemed(), worst.accepted_by());
            writeln!(out, "{words:<31} {count:>6} {requests:>9} {style}{redeemed:>9}{style:#}  {by}")?;
        }
        let (style, name) = (if verdict == Verdict::Held { GOOD } else { BAD }, verdict.name().to_uppercase());
        match self.diagnosis.as_slice() {
            [] => writeln!(out, "{style}{name}{style:#}")?,
            rules => writeln!(out, "{style}{name}{style:#}, compatible with: {}", rules.join(", "))?,
        }
        Ok(())
    }
}

impl Experiment {
    /// How often the coupon was redeemed, by the database where it was asked.
    fn redeemed(&self) -> u64 {
        self.effects.unwrap_or(self.successes)
    }

    fn accepted_by(&self) -> String {
        let accepted = self.by_copy.iter().filter(|one| one.successes > 0);
        let words = accepted.map(|one| match one.successes {
            1 => one.copy.clone(),
            many => format!("{} ({many} times)", one.copy),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_one_word_of_the_shell() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }

    #[test]
    fn the_hammer_understands_the_arguments() {
        let words = hammer_words("exec x demo-copy", "5", Path::new("/tmp"));
        let matches = HammerArgs::augment_args(Command::new("hammer")).try_get_matches_from(words).unwrap();
        assert_eq!(HammerArgs::from_arg_matches(&matches).unwrap().copies, 3);
    }

    #[test]
    fn the_worst_round_is_shown() {
        let of = |copy: &str, successes| OfCopy { copy: copy.into(), successes };
        let round = |effects, by_copy| Experiment { name: "c4".into(), requests: 50, successes: 1, effects, by_copy };
        let experiments =
            vec![round(Some(1), vec![of("copy 1", 1), of("copy 2", 0)]), round(Some(3), vec![of("copy 1", 1), of("copy 2", 2)])];
        let seen = Seen { diagnosis: vec![FAULT.into()], why: vec![], experiments };
        let mut out = vec![];
        seen.write(Verdict::Broken, &mut out).unwrap();
        let text = anstream::adapter::strip_bytes(&out).into_vec();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("      2        50         3  copy 1, copy 2 (2 times)\n"), "{text}");
        assert!(text.ends_with("BROKEN, compatible with: process-lock\n"), "{text}");
    }
}
