//! How close together a volley arrives: the spread between the first and the last handler entry at a server, over many
//! volleys, beside `oha`, `hey`, `h2load`, `k6` and `curl` where they are installed, over HTTP/1.1 and HTTP/2. Once at a bare
//! epoll loop. Then at hyper, with a handler that works for 5 ms, as one that asks a database does: this is the spread of the
//! arrivals. Last at hyper with one that answers at once: answering the first requests then holds up the reading of the last, on
//! a machine with few processors by more than the release itself takes.
//!
//!     cargo run --release --example spread [-- VOLLEYS REQUESTS]
//!     cargo run --release --example spread -- most [COPIES REQUESTS]
//!
//! The second fires as much as there can be, and says what memory that takes.

#[path = "../common/mod.rs"]
mod common;
mod epoll;

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use clap::ValueEnum;
use common::{hammer, serve_at};
use serde_json::{Value, json};

/// What is fired at.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
enum Server {
    Epoll,
    HyperThatWorks,
    #[default]
    HyperAtOnce,
}

impl Server {
    fn work(self) -> Duration {
        if self == Server::HyperThatWorks { Duration::from_millis(5) } else { Duration::ZERO }
    }

    fn named(self) -> &'static str {
        match self {
            Server::Epoll => "a bare epoll loop",
            Server::HyperThatWorks => "hyper, a handler that works for 5 ms",
            Server::HyperAtOnce => "hyper, a handler that answers at once",
        }
    }

    fn knows_http2(self) -> bool {
        self != Server::Epoll
    }
}

type Arrivals = Arc<Mutex<Vec<Instant>>>;

#[derive(Clone, Default)]
struct Handler {
    arrivals: Arrivals,
    server: Server,
}

impl Handler {
    fn of(server: Server) -> Handler {
        Handler { server, ..Handler::default() }
    }

    fn service(&self) -> Router {
        Router::new().route("/", post(note)).route("/spread", get(told)).with_state(self.clone())
    }

    /// Serves until the program ends.
    fn serve(&self, listener: TcpListener) -> anyhow::Result<()> {
        match self.server {
            Server::Epoll => epoll::serve(listener, self),
            _ => serve_at(listener, self.service()),
        }
    }

    /// A copy beside whatever else this program does.
    fn copy(&self) -> anyhow::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, handler) = (listener.local_addr()?, self.clone());
        std::thread::spawn(move || handler.serve(listener));
        Ok(address)
    }

    fn note(&self, at: Instant) {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(at);
    }

    /// What was seen since this was asked last.
    fn told(&self) -> Value {
        let arrivals = self.taken();
        json!({ "us": between(&arrivals).as_micros() as u64, "arrivals": arrivals.len() })
    }

    /// The arrivals since this was asked last.
    fn taken(&self) -> Vec<Instant> {
        std::mem::take(&mut *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| words.get(at).map_or(Ok(usual), |word| word.parse());
    match words.first().map(String::as_str) {
        Some("serve") => {
            let server = words.get(1).map_or(Ok(Server::default()), |word| Server::from_str(word, true));
            let listener = TcpListener::bind(("127.0.0.1", std::env::var("PORT")?.parse()?))?;
            Handler::of(server.map_err(anyhow::Error::msg)?).serve(listener)
        }
        Some("most") => most(number(1, 10)?, number(2, 1000)?),
        _ => spreads(number(0, 30)?, number(1, 50)?),
    }
}

#[allow(clippy::print_stdout)]
fn spreads(volleys: usize, requests: usize) -> anyhow::Result<()> {
    println!("{requests} requests, {volleys} volleys; spread of handler entries, median (p90) in us");
    for server in Server::value_variants() {
        println!("\n{}", server.named());
        compare(&Handler::of(*server), volleys, requests)?;
    }
    Ok(())
}

#[allow(clippy::print_stdout)]
fn compare(handler: &Handler, volleys: usize, requests: usize) -> anyhow::Result<()> {
    let servers = (0..3).map(|_| handler.copy()).collect::<anyhow::Result<Vec<_>>>()?;
    let folder = tempfile::tempdir()?;
    let (body, script) = (folder.path().join("body.json"), folder.path().join("volley.js"));
    let (count, url) = (requests.to_string(), format!("http://{}/", servers[0]));
    std::fs::write(&body, "{}")?;
    std::fs::write(
        &script,
        format!(
            "import http from 'k6/http';\n\
             export const options = {{ scenarios: {{ one: {{ executor: 'per-vu-iterations', vus: {count}, iterations: 1 }} }} }};\n\
             export default () => http.post('{url}', '{{}}');\n"
        ),
    )?;
    let (body, script) = (body.display().to_string(), script.display().to_string());
    let each = format!("{url}?[1-{count}]");
    let mut ways = vec![
        Way::new("io_uring, one copy", || ours(&servers[..1], requests, &["--release=io_uring"])),
        Way::new("io_uring, three copies", || ours(&servers, requests, &["--release=io_uring"])),
        Way::new("loop, one copy", || ours(&servers[..1], requests, &["--release=loop"])),
        Way::new("loop, three copies", || ours(&servers, requests, &["--release=loop"])),
        Way::new("oha", || peer("oha", &["--no-tui", "-n", &count, "-c", &count, "-m", "POST", "-d", "{}", &url])),
        Way::new("hey", || peer("hey", &["-n", &count, "-c", &count, "-m", "POST", "-d", "{}", &url])),
        Way::new("h2load, HTTP/1.1", || peer("h2load", &["--h1", "-n", &count, "-c", &count, "-d", &body, &url])),
        Way::new("k6", || peer("k6", &["run", "--quiet", "--no-usage-report", &script])),
        Way::new("curl", || {
            let at_once = ["-s", "-Z", "--parallel-immediate", "--parallel-max", &count, "-o", "/dev/null", "-d", "{}", &each];
            peer("curl", &at_once)
        }),
    ];
    if handler.server.knows_http2() {
        ways.extend([
            Way::new("HTTP/2, one copy", || ours(&servers[..1], requests, &["--http2"])),
            Way::new("HTTP/2, three copies", || ours(&servers, requests, &["--http2"])),
            Way::new("oha, HTTP/2", || {
                peer("oha", &["--no-tui", "--http2", "-n", &count, "-c", "1", "-p", &count, "-m", "POST", "-d", "{}", &url])
            }),
            Way::new("h2load, HTTP/2", || peer("h2load", &["-n", &count, "-c", "1", "-m", &count, "-d", &body, &url])),
            Way::new("curl, HTTP/2", || {
                let at_once =
                    ["-s", "-Z", "--http2-prior-knowledge", "--parallel-max", &count, "-o", "/dev/null", "-d", "{}", &each];
                peer("curl", &at_once)
            }),
        ]);
    }
    let mut frozen = Way::new("freeze gate, one copy", || Ok(()));
    // In turns, so that what else the machine does is shared by all.
    for _ in 0..volleys {
        for way in &mut ways {
            way.measure(|fire| spread(handler, requests, fire));
        }
        frozen.measure(|_| frozen_volley(handler.server, requests));
    }
    for way in ways.iter_mut().chain([&mut frozen]) {
        let shown = way.show();
        println!("{:<22} {shown}", way.name);
    }
    Ok(())
}

/// What fires a volley.
type Fire<'w> = dyn Fn() -> anyhow::Result<()> + 'w;

/// One way to fire, and how far apart its requests arrived.
struct Way<'w> {
    name: &'static str,
    fire: Box<Fire<'w>>,
    spreads: Vec<Duration>,
    failure: Option<anyhow::Error>,
}

impl<'w> Way<'w> {
    fn new(name: &'static str, fire: impl Fn() -> anyhow::Result<()> + 'w) -> Way<'w> {
        Way { name, fire: Box::new(fire), spreads: vec![], failure: None }
    }

    fn measure(&mut self, measured: impl Fn(&Fire<'w>) -> anyhow::Result<Duration>) {
        if self.failure.is_none() {
            match measured(&*self.fire) {
                Ok(spread) => self.spreads.push(spread),
                Err(error) => self.failure = Some(error),
            }
        }
    }

    fn show(&mut self) -> String {
        if let Some(error) = &self.failure {
            return format!("not measured: {error}");
        }
        self.spreads.sort();
        let last = self.spreads.len().saturating_sub(1);
        let at =
            |quantile: usize| self.spreads.get((self.spreads.len() * quantile / 100).min(last)).map_or(0, Duration::as_micros);
        format!("{:>6} ({})", at(50), at(90))
    }
}

async fn note(State(handler): State<Handler>, _body: String) -> &'static str {
    handler.note(Instant::now());
    let work = handler.server.work();
    if !work.is_zero() {
        tokio::time::sleep(work).await;
    }
    "ok"
}

async fn told(State(handler): State<Handler>) -> Json<Value> {
    Json(handler.told())
}

/// From the first to the last.
fn between(arrivals: &[Instant]) -> Duration {
    let (first, last) = (arrivals.iter().min(), arrivals.iter().max());
    first.zip(last).map_or(Duration::ZERO, |(first, last)| last.duration_since(*first))
}

/// The time between the first and the last arrival of one volley.
fn spread(handler: &Handler, requests: usize, fire: &Fire<'_>) -> anyhow::Result<Duration> {
    handler.taken();
    fire()?;
    std::thread::sleep(Duration::from_millis(20));
    let seen = handler.taken();
    anyhow::ensure!(seen.len() == requests, "{} of {requests} requests arrived", seen.len());
    Ok(between(&seen))
}

/// The same at a copy that hammer starts, so that it can stop it; the copy says what it saw.
fn frozen_volley(server: Server, requests: usize) -> anyhow::Result<Duration> {
    let server = server.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let run = format!("--run={} serve {server}", std::env::current_exe()?.display());
    let fixed = ["--copies=1", "--gate=freeze", "--verify=GET /spread json:$", "--expect=after.arrivals > 1", "-d{}"];
    let mut options: Vec<String> = fixed.map(str::to_owned).to_vec();
    options.extend([run, format!("-n{requests}")]);
    let report = hammer(&options, &[])?;
    let seen = &report["experiments"][0]["after"];
    let arrived = seen["arrivals"].as_u64().unwrap_or_default();
    anyhow::ensure!(arrived == requests as u64, "{arrived} of {requests} requests arrived: {}", report["why"]);
    Ok(Duration::from_micros(seen["us"].as_u64().unwrap_or_default()))
}

/// One volley: a fixed body, so that no controls are fired.
fn ours(servers: &[SocketAddr], requests: usize, more: &[&str]) -> anyhow::Result<()> {
    let mut options = vec!["-d{}".to_owned(), format!("-n{requests}")];
    options.extend(more.iter().map(|&word| word.to_owned()));
    hammer(&options, servers).map(|_| ())
}

fn peer(program: &str, words: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    anyhow::ensure!(status.success(), "{program} ended with {status}");
    std::io::stdout().flush()?;
    Ok(())
}

/// Fires so many requests at each of so many copies in one volley.
#[allow(clippy::print_stdout)]
fn most(copies: usize, requests: usize) -> anyhow::Result<()> {
    let began = Instant::now();
    let run = format!("--run={} serve", std::env::current_exe()?.display());
    let requests = format!("-n{}", requests * copies);
    let options = [run, format!("--copies={copies}"), "-d{}".to_owned(), requests, "--expect=successes >= 0".to_owned()];
    let report = hammer(&options, &[])?;
    let volley = &report["experiments"][0];
    println!(
        "{} requests at {copies} copies: {} accepted, {} without an answer, {} in flight at once, released within {} us; {:.1?} in all; \
         hammer had {} of memory at most",
        volley["requests"],
        volley["successes"],
        volley["unknown"],
        volley["overlap"],
        volley["spread_us"],
        began.elapsed(),
        memory()
    );
    Ok(())
}

/// The most memory this program had, as the system tells it.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("an unknown amount".to_owned(), |amount| amount.trim().to_owned())
}
