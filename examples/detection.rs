//! How surely one volley finds a race, by how long the race is open: a service of three copies looks a code up, does what
//! takes a while, and then writes it down. The share of the volleys that gave the code out more than once is told for volleys
//! at one copy (c3) and at all three (c4), beside the same service with one atomic write, which must never do so.
//!
//!     cargo run --release --example detection [-- VOLLEYS REQUESTS]

mod common;

use std::collections::HashSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use common::{hammer, serve_at};
use serde_json::Value;

/// How long the service works between look-up and write; none where both are one step.
const WINDOWS: [Option<Duration>; 5] = [
    Some(Duration::from_micros(100)),
    Some(Duration::from_micros(500)),
    Some(Duration::from_millis(1)),
    Some(Duration::from_millis(5)),
    None,
];
const COPIES: usize = 3;
/// The most rounds that one run of hammer has.
const MOST_ROUNDS: usize = 1000;

/// What all copies see, as a database would hold it.
#[derive(Clone, Default)]
struct Store {
    redeemed: Arc<Mutex<HashSet<String>>>,
    window: Option<Duration>,
    /// How long the work between look-up and write really took.
    took: Arc<Mutex<Vec<Duration>>>,
}

impl Store {
    fn has(&self, code: &str) -> bool {
        self.redeemed.lock().unwrap_or_else(PoisonError::into_inner).contains(code)
    }

    /// Whether the code was not there before.
    fn write(&self, code: String) -> bool {
        self.redeemed.lock().unwrap_or_else(PoisonError::into_inner).insert(code)
    }

    fn redeem(&self, code: String) -> bool {
        let Some(window) = self.window else { return self.write(code) };
        if self.has(&code) {
            return false;
        }
        let started = Instant::now();
        std::thread::sleep(window);
        self.took.lock().unwrap_or_else(PoisonError::into_inner).push(started.elapsed());
        self.write(code);
        true
    }
}

#[allow(clippy::print_stdout)]
fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let volleys: usize = words.next().map_or(Ok(200), |word| word.parse())?;
    let requests: usize = words.next().map_or(Ok(50), |word| word.parse())?;
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["window", "as measured, median", "volleys at one copy", "at three copies", "verdicts"]);
    for window in WINDOWS {
        let store = Store { window, ..Store::default() };
        let servers = (0..COPIES).map(|_| copy(store.clone())).collect::<anyhow::Result<Vec<_>>>()?;
        let mut seen = Seen::default();
        while seen.fired() < volleys {
            let rounds = (volleys - seen.fired()).div_ceil(2).min(MOST_ROUNDS);
            seen.add(&volleys_at(&servers, requests, rounds)?)?;
        }
        let mut took = store.took.lock().unwrap_or_else(PoisonError::into_inner).clone();
        took.sort();
        let name = window.map_or("one atomic write".to_owned(), |window| format!("{window:?}"));
        let measured = took.get(took.len() / 2).map_or(String::new(), |median| format!("{median:.0?}"));
        table.add_row([name, measured, seen.one.to_string(), seen.all.to_string(), seen.verdicts.join(" ")]);
    }
    println!("{requests} requests a volley; volleys with more than one success\n{table}");
    Ok(())
}

/// Volleys of one kind.
#[derive(Default)]
struct Count {
    broken: usize,
    of: usize,
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} ({:.1} %)", self.broken, self.of, 100.0 * self.broken as f64 / self.of.max(1) as f64)
    }
}

#[derive(Default)]
struct Seen {
    one: Count,
    all: Count,
    verdicts: Vec<String>,
}

impl Seen {
    fn fired(&self) -> usize {
        self.one.of + self.all.of
    }

    fn add(&mut self, report: &Value) -> anyhow::Result<()> {
        let before = self.fired();
        for experiment in report["experiments"].as_array().into_iter().flatten() {
            let count = match experiment["name"].as_str() {
                Some("c3") => &mut self.one,
                Some("c4") => &mut self.all,
                _ => continue,
            };
            count.of += 1;
            count.broken += usize::from(experiment["holds"] == false);
        }
        anyhow::ensure!(self.fired() > before, "no volley was fired: {}", report["why"]);
        let verdict = report["verdict"].as_str().unwrap_or("none").to_owned();
        if !self.verdicts.contains(&verdict) {
            self.verdicts.push(verdict);
        }
        Ok(())
    }
}

fn volleys_at(servers: &[SocketAddr], requests: usize, rounds: usize) -> anyhow::Result<Value> {
    let options = ["-XPOST", "-d{{fresh}}", "--settle=1ms"].map(str::to_owned);
    hammer(&[&options[..], &[format!("-n{requests}"), format!("--rounds={rounds}")]].concat(), servers)
}

/// A copy, whose handlers each have a thread while they work, as those that ask a database do.
fn copy(store: Store) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || serve_at(listener, Router::new().route("/", post(redeem)).with_state(store)));
    Ok(address)
}

async fn redeem(State(store): State<Store>, code: String) -> StatusCode {
    match tokio::task::spawn_blocking(move || store.redeem(code)).await {
        Ok(true) => StatusCode::OK,
        _ => StatusCode::CONFLICT,
    }
}
