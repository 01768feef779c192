//! The command line: which command, with what, and the exit status. Results go to standard output, everything else to
//! standard error. It must not know how a scan works or what a format looks like.

mod catalogue;
mod demo;
mod demo_copy;
mod hammer;
mod progress;
mod scan;

use std::env;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::rules::{Catalogue, RuleSet};

/// The work was done and found nothing to fail on.
pub const NOTHING_FOUND: u8 = 0;
/// Findings at or above the level that fails.
pub const FOUND: u8 = 1;
/// The work could not be done.
pub const COULD_NOT_RUN: u8 = 2;

/// The width of a table where there is no terminal, in cells.
const WIDE: u16 = 160;

const AFTER_HELP: &str = "\
Exit status: 0 nothing found, 1 findings at or above --fail-on, 2 could not run.

A finding that does not apply is silenced where it stands, with the reason:
  // lockcheck: ignore[process-lock] runs as a single instance, see deploy.yaml";

/// Finds locks, sets, counters and jobs that stop working when a second copy of the service starts.
#[derive(Debug, Parser)]
#[command(name = "lockcheck", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read a source tree and report what breaks with several copies
    Scan(scan::ScanArgs),
    /// Fire identical requests at several copies in the same instant, count the successes and say which fault they prove
    Hammer(Box<crate::hammer::cli::HammerArgs>),
    /// Say what a rule means, when it is not a fault, and what the cure looks like
    Explain(catalogue::ExplainArgs),
    /// List all rules
    Rules(catalogue::RulesArgs),
    /// See both at work on a built-in service: a lock that does not hold for three copies, and a cure that does
    Demo,
    /// Run one copy of the demo's service
    #[command(hide = true)]
    DemoCopy(demo_copy::DemoCopyArgs),
}

/// Where rule files come from.
#[derive(Debug, Args)]
struct RuleDirectories {
    /// A directory of your own rule files, laid out like the built-in ones: faults/RULE.toml, LANGUAGE/LIBRARY.toml. May be
    /// given several times; a file at the same place as a built-in one replaces it
    #[arg(long, value_name = "DIR")]
    rules: Vec<PathBuf>,
}

impl RuleDirectories {
    fn catalogue(&self) -> anyhow::Result<Catalogue> {
        Ok(Catalogue::load(&RuleSet::with(&self.rules)?)?)
    }
}

/// Runs the program with the process's own arguments.
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Scan(args) => scan::run(&args),
        Command::Hammer(args) => hammer::run(*args),
        Command::Explain(args) => catalogue::explain(&args),
        Command::Rules(args) => catalogue::list(&args),
        Command::Demo => demo::run(),
        Command::DemoCopy(args) => demo_copy::run(&args),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            note(&format!("error: {error:#}"));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

/// Writes to standard output, with colours only where a terminal wants them. A reader that has left is no error.
fn print(coloured: bool, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let stream: Box<dyn Write> = if coloured { Box::new(anstream::stdout().lock()) } else { Box::new(io::stdout().lock()) };
    let mut out = BufWriter::new(stream);
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// How many cells a line of standard output may take: those of the terminal, or what `COLUMNS` says, or enough for a table.
fn terminal_width() -> u16 {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col).filter(|width| *width > 0);
    terminal.or_else(said).unwrap_or(WIDE)
}

/// Writes a line to standard error; there is nowhere to report that this failed.
fn note(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Appends Markdown to the job summary where the host asks for one. The report is out by now, so a failure is only mentioned.
fn append_summary(text: &str) {
    let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from) else { return };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
        note(&format!("warning: cannot write the job summary to {}: {error}", path.display()));
    }
}
