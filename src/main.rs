//! `lockcheck`, the program: arguments in, exit status out.
//!
//! `scan` reads a source tree and reports what stops working when a second copy of the service runs; `hammer` fires identical
//! requests at running copies and judges what succeeded; `demo` shows both at work; `rules` and `explain` are the catalogue of
//! faults. All of it is the library beside this file, so that tests reach it without a process; see ARCHITECTURE.md.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// A scan makes and drops millions of small values in several threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    lockcheck::cli::main()
}
