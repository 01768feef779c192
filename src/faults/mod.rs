//! Faults: filters over the linked program's events, each a pure function to findings.
//! They must not know a language or a library.

mod finding;

pub use finding::{Confidence, Finding, Hop, Place, Role};
