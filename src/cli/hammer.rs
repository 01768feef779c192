//! `lockcheck hammer`: one experiment, its report and its verdict as the exit status. It must not know how a volley works.

use crate::hammer::{self, cli::HammerArgs};

/// Runs the experiment that the arguments describe.
pub fn run(args: &HammerArgs) -> anyhow::Result<u8> {
    let mut out = vec![];
    let verdict = hammer::run(args, &mut out);
    // What was seen before an error or an interruption is printed all the same.
    super::print(true, |stream| stream.write_all(&out))?;
    Ok(verdict?.exit_status())
}
