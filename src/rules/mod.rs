//! Rule files: the catalogue of faults and the packs of library knowledge, built in or the user's own, loaded by one path.
//! They must not know control flow.

mod fault;

pub use fault::{FaultRule, Severity};
