//! How close together a volley arrives: the spread between the first and the last handler entry at a hyper server, over
//! many volleys, beside `oha` and `hey` where they are installed. Once with a handler that works for 5 ms, as one that asks
//! a database does: this is the spread of the arrivals. Once with one that answers at once: answering the first requests
//! then holds up the reading of the last, on a machine with few processors by more than the release itself takes.
//!
//!     cargo run --release --example spread [-- VOLLEYS REQUESTS]

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use clap::Parser;
use lockcheck::hammer::cli::HammerArgs;

/// What a handler is given to do, and the word for it.
const WORK: [(&str, Duration); 2] =
    [("a handler that works for 5 ms", Duration::from_millis(5)), ("a handler that answers at once", Duration::ZERO)];

type Arrivals = Arc<Mutex<Vec<Instant>>>;

#[derive(Clone)]
struct Handler {
    arrivals: Arrivals,
    work: Duration,
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: HammerArgs,
}

#[allow(clippy::print_stdout)]
fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let volleys: usize = words.next().map_or(Ok(30), |word| word.parse())?;
    let requests: usize = words.next().map_or(Ok(50), |word| word.parse())?;
    let arrivals = Arrivals::default();
    println!("{requests} requests, {volleys} volleys; spread of handler entries, median (p90) in us");
    for (name, work) in WORK {
        println!("\n{name}");
        compare(&Handler { arrivals: Arc::clone(&arrivals), work }, volleys, requests)?;
    }
    Ok(())
}

#[allow(clippy::print_stdout)]
fn compare(handler: &Handler, volleys: usize, requests: usize) -> anyhow::Result<()> {
    let servers = (0..3).map(|_| serve(handler.clone())).collect::<anyhow::Result<Vec<_>>>()?;
    let (count, url) = (requests.to_string(), format!("http://{}/", servers[0]));
    let oha = ["--no-tui", "-n", &count, "-c", &count, "-m", "POST", "-d", "{}", &url];
    let hey = ["-n", &count, "-c", &count, "-m", "POST", "-d", "{}", &url];
    let mut ways = [
        Way::new("io_uring, one copy", || hammer(&servers[..1], requests, "io_uring")),
        Way::new("io_uring, three copies", || hammer(&servers, requests, "io_uring")),
        Way::new("loop, one copy", || hammer(&servers[..1], requests, "loop")),
        Way::new("loop, three copies", || hammer(&servers, requests, "loop")),
        Way::new("oha", || peer("oha", &oha)),
        Way::new("hey", || peer("hey", &hey)),
    ];
    // In turns, so that what else the machine does is shared by all.
    for _ in 0..volleys {
        for way in &mut ways {
            way.measure(&handler.arrivals, requests);
        }
    }
    for way in &mut ways {
        let shown = way.show();
        println!("{:<22} {shown}", way.name);
    }
    Ok(())
}

/// One way to fire, and how far apart its requests arrived.
struct Way<'w> {
    name: &'static str,
    fire: Box<dyn Fn() -> anyhow::Result<()> + 'w>,
    spreads: Vec<Duration>,
    failure: Option<anyhow::Error>,
}

impl<'w> Way<'w> {
    fn new(name: &'static str, fire: impl Fn() -> anyhow::Result<()> + 'w) -> Way<'w> {
        Way { name, fire: Box::new(fire), spreads: vec![], failure: None }
    }

    fn measure(&mut self, arrivals: &Arrivals, requests: usize) {
        if self.failure.is_none() {
            match spread(arrivals, requests, &self.fire) {
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

/// A hyper server of one thread that notes when each request reaches its handler.
fn serve(handler: Handler) -> anyhow::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    std::thread::spawn(move || {
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, Router::new().route("/", post(note)).with_state(handler)).await
        })
    });
    Ok(address)
}

async fn note(State(handler): State<Handler>, _body: String) -> &'static str {
    let now = Instant::now();
    if let Ok(mut arrivals) = handler.arrivals.lock() {
        arrivals.push(now);
    }
    if !handler.work.is_zero() {
        tokio::time::sleep(handler.work).await;
    }
    "ok"
}

/// The time between the first and the last arrival of one volley.
fn spread(arrivals: &Arrivals, requests: usize, fire: impl Fn() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    arrivals.lock().map(|mut arrivals| arrivals.clear()).ok();
    fire()?;
    let seen = arrivals.lock().map(|arrivals| arrivals.clone()).unwrap_or_default();
    anyhow::ensure!(seen.len() == requests, "{} of {requests} requests arrived", seen.len());
    std::thread::sleep(Duration::from_millis(20));
    let (first, last) = (seen.iter().min(), seen.iter().max());
    Ok(first.zip(last).map_or(Duration::ZERO, |(first, last)| last.duration_since(*first)))
}

/// One volley: a fixed body, so that no controls are fired.
fn hammer(servers: &[SocketAddr], requests: usize, mechanism: &str) -> anyhow::Result<()> {
    let mut words = vec!["hammer".to_owned(), "-d".to_owned(), "{}".to_owned(), format!("-n{requests}")];
    words.push(format!("--release={mechanism}"));
    words.extend(servers.iter().map(|server| format!("--url=http://{server}/")));
    lockcheck::hammer::run(&Line::try_parse_from(words)?.args, &mut std::io::sink(), &|_| {})?;
    Ok(())
}

fn peer(program: &str, words: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    anyhow::ensure!(status.success(), "{program} ended with {status}");
    std::io::stdout().flush()?;
    Ok(())
}
