//! Faults: filters over the linked program's events, each a pure function to findings.
//! They must not know a language or a library.

mod candidate;
mod data;
mod detect;
mod effects;
mod finding;
mod host_lock;
mod limiter;
mod process_counter;
mod process_guard;
mod process_lock;
mod refresh_stampede;
mod regions;
mod rows;
mod shared_lock;
mod tests_of_state;
mod unleased_job;
mod view;

pub use detect::{Copies, detect};
pub use finding::{Confidence, Finding, Hop, Place, Role};
pub use view::World;
