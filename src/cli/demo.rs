//! `lockcheck demo`: shows a fault and its cure, and whether that came out as it must. It must not know what is shown.

use std::io::{self, ErrorKind};

use super::{COULD_NOT_RUN, NOTHING_FOUND};
use crate::demo;

/// Runs the demonstration, each step printed as it is done. A reader that has left ends it.
pub fn run() -> anyhow::Result<u8> {
    match demo::show(&mut anstream::stdout()) {
        Ok(true) => Ok(NOTHING_FOUND),
        Ok(false) => Ok(COULD_NOT_RUN),
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) => {
            Ok(COULD_NOT_RUN)
        }
        Err(error) => Err(error),
    }
}
