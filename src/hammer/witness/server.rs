//! Listens on loopback and answers as routes say, writing every call down before it answers. It does not know what a run is.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Calls;
use super::route::{REFUSED, Route};

/// The most that is read of one call, in bytes.
const LARGEST: usize = 1024 * 1024;
/// Connections at once, over which more are closed.
const MOST: usize = 1024;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// Routes that answer nothing are listed up to so many.
const MOST_UNEXPECTED: usize = 20;

/// The calls of all copies.
#[derive(Clone)]
pub struct Ledger(Arc<Inner>);

struct Inner {
    routes: Vec<Route>,
    copies: usize,
    open: AtomicUsize,
    begun: AtomicUsize,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    by_route: BTreeMap<String, Vec<u64>>,
    unexpected: BTreeMap<String, u64>,
    /// Calls of each route, in the order of the routes.
    served: Vec<u64>,
    /// Refresh tokens that were used.
    dead: HashSet<String>,
}

/// How a call is answered.
struct Reply {
    status: u16,
    delay: Duration,
    body: Option<String>,
}

impl Ledger {
    /// Nothing has been called.
    pub fn new(routes: Vec<Route>, copies: usize) -> Ledger {
        let mut written = Written { served: vec![0; routes.len()], ..Written::default() };
        for route in &routes {
            written.by_route.insert(route.name.clone(), vec![0; copies]);
            if route.rotates || route.failures > 0 {
                written.by_route.insert(format!("{}{REFUSED}", route.name), vec![0; copies]);
            }
        }
        let (open, begun) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ledger(Arc::new(Inner { routes, copies, open, begun, written: Mutex::new(written) }))
    }

    /// What was called so far.
    pub fn calls(&self) -> Calls {
        let written = self.0.written.lock().unwrap_or_else(PoisonError::into_inner);
        Calls { by_route: written.by_route.clone(), unexpected: written.unexpected.clone() }
    }

    /// How many calls have begun.
    pub fn begun(&self) -> usize {
        self.0.begun.load(Ordering::Relaxed)
    }

    fn record(&self, copy: usize, method: &str, target: &str, body: &str) -> Reply {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let mut written = self.0.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((index, route)) = self.0.routes.iter().enumerate().find(|(_, route)| route.answers(method, path)) else {
            let name = format!("{method} {path}");
            if written.unexpected.len() < MOST_UNEXPECTED || written.unexpected.contains_key(&name) {
                *written.unexpected.entry(name).or_default() += 1;
            }
            return Reply { status: 404, delay: Duration::ZERO, body: Some("{\"error\":\"no such route\"}".to_owned()) };
        };
        written.served[index] += 1;
        let n = written.served[index];
        let refresh = route.rotates.then(|| field(body, "refresh_token").unwrap_or_default());
        let refused = n <= route.failures || refresh.as_ref().is_some_and(|token| written.dead.contains(token));
        let name = if refused { format!("{}{REFUSED}", route.name) } else { route.name.clone() };
        let copies = self.0.copies;
        written.by_route.entry(name).or_insert_with(|| vec![0; copies])[copy] += 1;
        let (status, body) = match refresh {
            _ if n <= route.failures => (503, "{\"error\":\"unavailable\"}".to_owned()),
            Some(_) if refused => (400, "{\"error\":\"invalid_grant\"}".to_owned()),
            Some(token) => {
                written.dead.insert(token);
                let tokens = format!(
                    "{{\"access_token\":\"access-{n}\",\"refresh_token\":\"refresh-{n}\",\"token_type\":\"Bearer\",\"expires_in\":3600}}"
                );
                (route.status, tokens)
            }
            None => (route.status, route.body.replace("{{n}}", &n.to_string())),
        };
        Reply { status, delay: route.delay, body: (!route.hangs_up).then_some(body) }
    }
}

/// A field of a form or of a JSON object.
fn field(body: &str, name: &str) -> Option<String> {
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(body) {
        return value.get(name)?.as_str().map(str::to_owned);
    }
    url::form_urlencoded::parse(body.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// One copy's address.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Server {
    /// Begins to listen for this copy.
    pub fn start(copy: usize, ledger: Ledger) -> std::io::Result<Server> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let server = Server { address: listener.local_addr()?, stop: Arc::default() };
        let stop = Arc::clone(&server.stop);
        std::thread::Builder::new().name("witness".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                if ledger.0.open.fetch_add(1, Ordering::Relaxed) >= MOST {
                    ledger.0.open.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let (ledger, stop) = (ledger.clone(), Arc::clone(&stop));
                std::thread::spawn(move || {
                    _ = converse(stream, copy, &ledger, &stop);
                    ledger.0.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        })?;
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(200));
    }
}

/// Answers the calls of one connection until it ends.
fn converse(mut stream: TcpStream, copy: usize, ledger: &Ledger, stop: &AtomicBool) -> std::io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    while !stop.load(Ordering::Relaxed) {
        if let Some(call) = Call::read(&bytes) {
            bytes.drain(..call.length);
            let reply = ledger.record(copy, &call.method, &call.target, &call.body);
            std::thread::sleep(reply.delay);
            let Some(body) = reply.body else { return Ok(()) };
            let body = if call.method == "HEAD" { String::new() } else { body };
            let close = if call.closes { "connection: close\r\n" } else { "" };
            let head = format!(
                "HTTP/1.1 {} Witness\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{close}\r\n",
                reply.status,
                body.len()
            );
            stream.write_all(format!("{head}{body}").as_bytes())?;
            if call.closes {
                return Ok(());
            }
            continue;
        }
        if bytes.len() > LARGEST {
            return Ok(());
        }
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
    Ok(())
}

/// One call, whole.
struct Call {
    method: String,
    target: String,
    body: String,
    closes: bool,
    length: usize,
}

impl Call {
    /// The first call in these bytes, once all of it is here.
    fn read(bytes: &[u8]) -> Option<Call> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(start)) = request.parse(bytes) else { return None };
        let header = |name: &str| {
            let found = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase())
        };
        let (body, length) = if header("transfer-encoding").is_some_and(|coding| coding.ends_with("chunked")) {
            chunked(&bytes[start..]).map(|(body, length)| (body, start + length))?
        } else {
            let length = header("content-length").and_then(|length| length.trim().parse().ok()).unwrap_or(0_usize);
            let end = start.checked_add(length)?;
            (bytes.get(start..end)?.to_vec(), end)
        };
        Some(Call {
            method: request.method?.to_owned(),
            target: request.path?.to_owned(),
            body: String::from_utf8_lossy(&body).into_owned(),
            closes: request.version == Some(0) || header("connection").is_some_and(|said| said.contains("close")),
            length,
        })
    }
}

/// The joined chunks and how many bytes they took, once the last is here.
fn chunked(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Ok(httparse::Status::Complete((start, size))) = httparse::parse_chunk_size(bytes.get(at..)?) else { return None };
        let (from, size) = (at + start, usize::try_from(size).ok()?);
        let end = from.checked_add(size)?;
        if size == 0 {
            let trailers = bytes.get(from..)?;
            let ends =
                if trailers.starts_with(b"\r\n") { 2 } else { trailers.windows(4).position(|four| four == b"\r\n\r\n")? + 4 };
            return Some((body, from + ends));
        }
        body.extend_from_slice(bytes.get(from..end)?);
        at = end + 2;
    }
}
