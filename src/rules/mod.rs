//! Rule files: the catalogue of faults and the packs of library knowledge, built in or the user's own, loaded by one path.
//! They must not know control flow.

mod fault;
mod pack;
mod selector;

pub use fault::{FaultRule, Severity};
pub use pack::{CallRow, Library, Meaning, Pack, Part, Scope, TypeKind, TypeRow, Want};
pub use selector::{Pick, Selector};
