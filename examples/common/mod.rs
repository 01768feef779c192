//! What the examples that measure volleys have in common: a server, and hammer called from within.

use std::net::{SocketAddr, TcpListener};

use axum::Router;
use clap::Parser;
use lockcheck::hammer::cli::HammerArgs;
use serde_json::Value;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: HammerArgs,
}

/// A hyper server of one thread, that serves until the program ends.
pub fn serve_at(listener: TcpListener, service: Router) -> anyhow::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async move {
        axum::serve(tokio::net::TcpListener::from_std(listener)?, service).await?;
        Ok(())
    })
}

/// The report of `lockcheck hammer` with these options, at servers that run already or are started by one of the options.
pub fn hammer(options: &[String], servers: &[SocketAddr]) -> anyhow::Result<Value> {
    let mut words = vec!["hammer".to_owned(), "--format=json".to_owned()];
    words.extend_from_slice(options);
    words.extend(servers.iter().map(|server| format!("--url=http://{server}/")));
    let mut report = Vec::new();
    lockcheck::hammer::run(&Line::try_parse_from(words)?.args, &mut report, &|_| {})?;
    Ok(serde_json::from_slice(&report)?)
}
