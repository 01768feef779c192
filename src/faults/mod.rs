//! Faults: filters over the linked program's events, each a pure function to findings.
//! They must not know a language or a library.

mod candidate;
mod copies;
mod data;
mod detect;
mod early_release;
mod effects;
mod finding;
mod holds;
mod host_lock;
mod inventory;
mod lease;
mod limiter;
mod lock_map;
mod migration;
mod once;
mod own_row;
mod process_counter;
mod process_guard;
mod process_lock;
mod reason;
mod refresh_stampede;
mod regions;
mod rows;
mod shared_lock;
mod sightings;
mod stale_read;
mod standing;
mod subject;
mod tests_of_state;
mod ticker;
mod transaction_held;
mod transactions;
mod unleased_job;
mod version;
mod view;
mod wrong_row;

pub use detect::{Detected, detect};
pub use finding::{Confidence, Endpoint, Finding, Hop, Place, Role};
pub use inventory::{Because, Fault, Item, Running, Use, Verdict};
pub use reason::Why;
pub use subject::Kind;
pub use view::World;
