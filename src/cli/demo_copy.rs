//! `lockcheck demo-copy`, hidden: one copy of the demo's service, started by the demo. It must not know what the service does.

use std::path::PathBuf;

use clap::Args;

use crate::demo::{Variant, service};

use super::NOTHING_FOUND;

#[derive(Debug, Args)]
pub struct DemoCopyArgs {
    /// Which variant of the service
    #[arg(long, value_enum)]
    variant: Variant,
    /// The loopback port to listen on
    #[arg(long, env = "PORT")]
    port: u16,
    /// The database that all copies share
    #[arg(long, value_name = "FILE")]
    db: PathBuf,
}

/// Serves until the process ends.
pub fn run(args: &DemoCopyArgs) -> anyhow::Result<u8> {
    service::serve(args.variant, args.port, &args.db)?;
    Ok(NOTHING_FOUND)
}
