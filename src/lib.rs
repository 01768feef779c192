//! `lockcheck`: does this program still do each thing once when several copies of it run?
//!
//! Two halves speak of the same faults by the same names: [`scan`] reads the source, [`hammer`] fires volleys at running
//! copies. Modules depend on each other in one direction only; `tests/architecture.rs` holds them to it.

pub mod cli;
pub mod demo;
pub mod facts;
pub mod faults;
pub mod files;
pub mod findings;
pub mod hammer;
pub mod program;
pub mod prove;
pub mod report;
pub mod rules;
pub mod scan;
pub mod syntax;
