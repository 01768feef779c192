//! `lockcheck hammer`: one experiment or a plan of them, the report, and the verdict as the exit status. It must not know how a
//! volley works.

use std::env;
use std::path::Path;

use crate::hammer::{self, Outside, cli::HammerArgs};
use crate::hammer::{scenario, schema};

use super::progress::Ticker;
use super::{NOTHING_FOUND, append_summary, note};

/// Where `--init` writes.
const PLAN: &str = "hammer.toml";
/// The program's name and the command's stand before the words that `hammer` reads.
const BEFORE: usize = 2;

/// Runs what the arguments describe.
pub fn run(args: HammerArgs) -> anyhow::Result<u8> {
    if let Some(kind) = args.init {
        scenario::init(Path::new(PLAN), kind)?;
        note(&format!("{PLAN} is written: fill in the command or the addresses, then run lockcheck hammer --plan {PLAN}"));
        return Ok(NOTHING_FOUND);
    }
    if args.schema {
        super::print(false, |stream| writeln!(stream, "{:#}", schema::schema()))?;
        return Ok(NOTHING_FOUND);
    }
    let args = HammerArgs { words: env::args_os().skip(BEFORE).collect(), ..args };
    let mut out = vec![];
    let ticker = Ticker::new();
    let outside = Outside { summarise: &|summary| append_summary(summary), watch: &|words| ticker.show(words) };
    let verdict = hammer::run_watched(&args, &mut out, &outside);
    ticker.clear();
    // What was seen before an error or an interruption is printed all the same.
    super::print(true, |stream| stream.write_all(&out))?;
    Ok(verdict?.exit_status())
}
