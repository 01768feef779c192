//! The linked program: names resolved across files, packs bound to them, calls followed, schema known.
//! The only stage where languages, packs and faults meet.

mod bind;
mod columns;
mod deploy;
mod flat;
mod flatten;
mod hand;
mod identity;
mod instances;
mod made;
mod maker;
mod meaning;
mod memo;
mod modules;
mod place;
mod presume;
mod reach;
mod schema;
mod settings;
mod sql;
mod sql_text;
mod statement;
mod store;
mod time;
mod tree;
mod ty;

pub use columns::entity_columns;
pub use deploy::{Copies, Counted, Deployment, deployments, forks};
pub use flat::{Flat, FlatCond, FlatEvent, Look, Presumed, Spot, What};
pub use flatten::Flattener;
pub use identity::tells_copy;
pub use instances::Instances;
pub use made::{Made, made_of, unwrapped};
pub use maker::maker;
pub use meaning::{Args, Meant, decorator, meaning};
pub use modules::Modules;
pub use place::{Holder, Lifetime, Place, lifetime, place_of};
pub use reach::{Entry, Links, Reach, functions_in, links, roles};
pub use schema::{Declaration, Key, Schema};
pub use settings::{Environment, Setting, environment, store_reach};
pub use sql::statements;
pub use statement::{Column, ColumnKind, Op, Statement, column_key, is_version, table_key};
pub use store::Kv;
pub use time::{Amount, amount, of_schedule};
pub use tree::Tree;
pub use ty::{ClassRef, Ty};
