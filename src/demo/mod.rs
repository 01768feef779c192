//! The demonstration: one coupon service in two variants, whose running source is what gets scanned and hammered.
//!
//! It must not know how a scan or a volley works. The experiment follows the check of rule SCL-8 of the Agent Wranglers scaling
//! playbook (CC BY 4.0): <https://agentwranglers.se/playbook/scaling/stateless-app-servers/shared-locks-and-counters>

mod guarded_by_condition;
mod guarded_by_mutex;
pub mod service;
mod show;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use axum::Router;
use clap::ValueEnum;

pub use show::show;

/// How the service sees to it that a coupon is redeemed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Variant {
    /// A mutex of the process around "redeemed already?" and the insert.
    Mutex,
    /// One conditional update, its row count checked.
    Condition,
}

impl Variant {
    /// The name on the command line and of the variant's folder.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Mutex => "mutex",
            Variant::Condition => "condition",
        }
    }

    /// The file name of the source that redeems.
    pub fn file(self) -> &'static str {
        match self {
            Variant::Mutex => "guarded_by_mutex.rs",
            Variant::Condition => "guarded_by_condition.rs",
        }
    }

    /// The very source this program was compiled from.
    pub fn source(self) -> &'static str {
        match self {
            Variant::Mutex => include_str!("guarded_by_mutex.rs"),
            Variant::Condition => include_str!("guarded_by_condition.rs"),
        }
    }

    fn router(self, database: &Path) -> Router {
        match self {
            Variant::Mutex => guarded_by_mutex::router(database),
            Variant::Condition => guarded_by_condition::router(database),
        }
    }
}

/// Writes the variant's source and schema to a new folder below `dir`, so that they can be scanned; returns the folder.
pub fn write_sources(dir: &Path, variant: Variant) -> Result<PathBuf> {
    let folder = dir.join(variant.name());
    let write = || {
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(variant.file()), variant.source())?;
        fs::write(folder.join("schema.sql"), service::SCHEMA)
    };
    write().with_context(|| format!("cannot write the demo's sources to {}", folder.display()))?;
    Ok(folder)
}
