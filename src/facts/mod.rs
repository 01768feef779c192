//! What happens in one file, symbolically: calls, writes and exits in order, under which conditions and inside what.
//! One file at a time; it must not know what a name of another file or of a library means.

mod event;
mod scope;
mod value;
mod walk;

pub use event::{Act, Arg, Cond, Event, FileFacts, FnFacts, Guard, LoopFact, Mark, ModuleName, TryFact, renewed_args};
pub use value::{FnRef, Piece, Value};
pub use walk::facts;
