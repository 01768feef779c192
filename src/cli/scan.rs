//! `lockcheck scan`: its arguments, what it prints beside the report, and when it fails.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use crate::files::{Gap, GapKind, Language};
use crate::findings::Report;
use crate::prove::write_plan;
use crate::report::columns::printable;
use crate::report::{self, FORMATS};
use crate::rules::Severity;
use crate::scan::{ScanOptions, scan};

use super::progress::Spinner;
use super::{FOUND, NOTHING_FOUND, RuleDirectories, append_summary, note, print, terminal_width};

/// Gaps listed on standard error; the rest are counted.
const MOST_GAPS: usize = 8;

#[derive(Debug, Args)]
pub struct ScanArgs {
    /// The directory or file to scan
    #[arg(default_value = ".")]
    path: PathBuf,
    /// How to write the report
    #[arg(long, short, value_name = "FORMAT", default_value = FORMATS[0].name, value_parser = formats())]
    format: String,
    /// List every lock, guard, counter, limiter, job and shared lock instead, with what it guards and why it is sound or not
    #[arg(long)]
    inventory: bool,
    /// Also write a plan for lockcheck hammer, with a scenario for each request that a finding reaches
    #[arg(long, value_name = "FILE", conflicts_with = "inventory")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    rules: RuleDirectories,
    /// Report only these rules; may be given several times, or several with commas between
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Do not report these rules; given in the same way
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// The least severity that makes the exit status 1
    #[arg(long, value_name = "SEVERITY", default_value = "warning")]
    fail_on: FailOn,
    /// Report advice too: sound patterns with a known limit
    #[arg(long)]
    strict: bool,
    /// How many copies of the service run, whatever the deployment files say; with 1, what only a second copy breaks is silent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    copies: Option<u32>,
    /// Follow symbolic links
    #[arg(long)]
    follow_links: bool,
    /// Scan from scratch. Every scan does for now; the flag is there for scripts that must be sure
    #[arg(long = "no-cache", hide = true)]
    _no_cache: bool,
    /// Parse every file, also those in which nothing can happen: slower, with the same findings
    #[arg(long, hide = true)]
    every_file: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Advice,
    Never,
}

impl FailOn {
    fn fails(self, worst: Option<Severity>) -> bool {
        let least = match self {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Advice => Severity::Advice,
            FailOn::Never => return false,
        };
        worst.is_some_and(|worst| worst >= least)
    }
}

/// Scans, prints, and answers with the exit status.
pub fn run(args: &ScanArgs) -> anyhow::Result<u8> {
    let format = report::format(&args.format).with_context(|| format!("there is no format `{}`", args.format))?;
    let inventory = match (args.inventory, format.inventory) {
        (true, None) => anyhow::bail!("there is no inventory in the format `{}`; text and json have one", format.name),
        (asked, inventory) => inventory.filter(|_| asked),
    };
    let options = ScanOptions {
        root: args.path.clone(),
        rules: args.rules.rules.clone(),
        select: args.select.clone(),
        ignore: args.ignore.clone(),
        strict: args.strict,
        copies: args.copies,
        follow_links: args.follow_links,
        every_file: args.every_file,
    };
    let spinner = Spinner::new();
    let report = scan(&options, &|progress| spinner.show(progress))?;
    spinner.clear();

    let write = |out: &mut dyn Write| match inventory {
        Some(inventory) => inventory(&report, terminal_width(), out),
        None => (format.write)(&report, out),
    };
    print(format.coloured, write).context("cannot write the report")?;
    if let Some(summary) = format.summary {
        append_summary(&summary(&report));
    }
    mention_gaps(&report);
    if let Some(file) = &args.plan {
        let written = write_plan(&report, file)?;
        note(&format!(
            "{} is written: {} scenarios for {} of {} findings; look through it, then run lockcheck hammer --plan {}",
            file.display(),
            written.scenarios,
            written.reached,
            report.findings.len(),
            file.display()
        ));
    }
    Ok(if args.fail_on.fails(report.worst()) { FOUND } else { NOTHING_FOUND })
}

fn formats() -> PossibleValuesParser {
    let values = FORMATS.iter().map(|format| clap::builder::PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(values)
}

fn mention_gaps(report: &Report) {
    if report.stats.files == 0 {
        let known = Language::all_extensions().map(|extension| format!(".{extension}")).collect::<Vec<_>>().join(" ");
        note(&format!("note: nothing was read: no file under {} that could be scanned ({known})", report.root));
    }
    if report.gaps.is_empty() {
        return;
    }
    // A person can do something about a file that was not read; names that were not resolved are only counted.
    let (unresolved, listed): (Vec<_>, Vec<_>) = report.gaps.iter().partition(|gap| gap.kind == GapKind::Unresolved);
    for gap in listed.iter().take(MOST_GAPS) {
        note(&format!("note: {}", described(report, gap)));
    }
    if let Some(more) = listed.len().checked_sub(MOST_GAPS).filter(|more| *more > 0) {
        note(&format!("note: {more} more places could not be read in full; --format json lists them"));
    }
    if !unresolved.is_empty() {
        note(&format!("note: {} names could not be resolved; --format json lists them", unresolved.len()));
    }
}

fn described(report: &Report, gap: &Gap) -> String {
    let path = report.path_from_here(&gap.path);
    printable(&match gap.line {
        Some(line) => format!("{path}:{line}: {}", gap.message),
        None => format!("{path}: {}", gap.message),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_fails_at_or_above_the_level() {
        let fails = |level: FailOn| {
            [Some(Severity::Error), Some(Severity::Warning), Some(Severity::Advice), None].map(|worst| level.fails(worst))
        };
        assert_eq!(fails(FailOn::Error), [true, false, false, false]);
        assert_eq!(fails(FailOn::Warning), [true, true, false, false]);
        assert_eq!(fails(FailOn::Advice), [true, true, true, false]);
        assert_eq!(fails(FailOn::Never), [false; 4]);
    }
}
