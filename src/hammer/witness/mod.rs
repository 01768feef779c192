//! The witness: a small server on loopback that plays the providers which copies call (mail, payment, sign-in) and counts the
//! calls by route and by copy. It does not know what the counts mean.

mod route;
mod server;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

pub use route::{REFUSED, Route};
use server::{Ledger, Server};

use super::interrupt::Interrupt;

/// The environment variable that tells a copy where its witness is.
pub const ADDRESS: &str = "LOCKCHECK_WITNESS";
/// Calls may come after the answer that they are made for; they are waited for until there were none for so long.
const QUIET: Duration = Duration::from_millis(100);
/// The longest that is waited for quiet.
const PATIENCE: Duration = Duration::from_secs(3);

/// A witness that listens, at an address of its own for each copy. Dropping it stops it.
pub struct Witness {
    ledger: Ledger,
    servers: Vec<Server>,
}

/// How often each route was called, by copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// By route and by the copy's index, from 0.
    pub by_route: BTreeMap<String, Vec<u64>>,
    /// Calls that no route answers.
    pub unexpected: BTreeMap<String, u64>,
}

impl Witness {
    /// Begins to listen for so many copies.
    pub fn listen(routes: &[Route], copies: usize) -> Result<Witness> {
        let ledger = Ledger::new(routes.to_vec(), copies);
        let servers = (0..copies).map(|copy| Server::start(copy, ledger.clone())).collect::<std::io::Result<Vec<_>>>();
        Ok(Witness { servers: servers.context("the witness cannot listen on loopback")?, ledger })
    }

    /// What a copy finds in its environment.
    pub fn environment(&self, copy: usize) -> Option<(String, String)> {
        Some((ADDRESS.to_owned(), format!("http://{}", self.servers.get(copy)?.address())))
    }

    /// The calls so far.
    pub fn calls(&self) -> Calls {
        self.ledger.calls()
    }

    /// The calls, once there were none for a while.
    pub fn settled(&self, interrupt: &Interrupt) -> Calls {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.ledger.begun();
        let mut since = Instant::now();
        while since.elapsed() < QUIET && Instant::now() < until && !interrupt.raised() {
            interrupt.sleep(Duration::from_millis(10));
            let now = self.ledger.begun();
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
        }
        self.calls()
    }
}

impl Calls {
    /// What came since `earlier`.
    pub fn since(&self, earlier: &Calls) -> Calls {
        let before = |name: &str, copy: usize| earlier.by_route.get(name).and_then(|of| of.get(copy)).copied().unwrap_or(0);
        let by_route = self.by_route.iter().map(|(name, of)| {
            (name.clone(), of.iter().enumerate().map(|(copy, count)| count.saturating_sub(before(name, copy))).collect())
        });
        let unexpected = self.unexpected.iter().filter_map(|(name, count)| {
            let new = count - earlier.unexpected.get(name).copied().unwrap_or(0);
            (new > 0).then(|| (name.clone(), new))
        });
        Calls { by_route: by_route.collect(), unexpected: unexpected.collect() }
    }

    /// All calls of each route.
    pub fn totals(&self) -> Value {
        self.by_route
            .iter()
            .map(|(name, of)| (name.clone(), json!(of.iter().sum::<u64>())))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// The calls of each route by the copies' names.
    pub fn by_copy(&self, names: &[String]) -> Value {
        let each = |of: &Vec<u64>| -> Value {
            names.iter().zip(of).map(|(name, count)| (name.clone(), json!(count))).collect::<serde_json::Map<_, _>>().into()
        };
        self.by_route.iter().map(|(name, of)| (name.clone(), each(of))).collect::<serde_json::Map<_, _>>().into()
    }

    /// How many effects the calls are: a refused refresh is one too, since it was tried with what another had used up; a call to a
    /// provider that failed is not.
    pub fn effects(&self, routes: &[Route]) -> u64 {
        let refused = |route: &Route| format!("{}{}", route.name, route::REFUSED);
        let tried = |name: &str| routes.iter().any(|route| route.name == name || (route.rotates && refused(route) == name));
        self.by_route.iter().filter(|(name, _)| tried(name)).flat_map(|(_, of)| of).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn routes(texts: &[&str]) -> Vec<Route> {
        texts.iter().map(|text| Route::parse(text).unwrap()).collect()
    }

    fn ask(witness: &Witness, copy: usize, request: &str, body: &str) -> String {
        let (_, url) = witness.environment(copy).unwrap();
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nhost: w\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn calls_are_counted_by_route_and_by_copy() {
        let witness = Witness::listen(&routes(&["POST /mail", r#"pay = POST /v1/charges/{id} 201 {"id":"{{n}}"}"#]), 2).unwrap();
        let before = witness.calls();
        assert!(ask(&witness, 0, "POST /mail", "x").starts_with("HTTP/1.1 200 "));
        let paid = ask(&witness, 1, "POST /v1/charges/7?x=1", "");
        assert!(paid.starts_with("HTTP/1.1 201 ") && paid.ends_with(r#"{"id":"1"}"#), "{paid}");
        assert!(ask(&witness, 1, "GET /nothing", "").starts_with("HTTP/1.1 404 "));
        let calls = witness.settled(&Interrupt::default()).since(&before);
        assert_eq!(calls.totals(), json!({"mail": 1, "pay": 1}));
        let names = ["a".to_owned(), "b".to_owned()];
        assert_eq!(calls.by_copy(&names), json!({"mail": {"a": 1, "b": 0}, "pay": {"a": 0, "b": 1}}));
        assert_eq!(calls.unexpected, BTreeMap::from([("GET /nothing".to_owned(), 1)]));
        assert_eq!(calls.effects(&routes(&["POST /mail", "pay = POST /v1/charges/{id}"])), 2);
    }

    #[test]
    fn a_provider_can_be_slow_fail_or_hang_up() {
        let witness = Witness::listen(&routes(&["POST /slow delay=150ms", "POST /down fail=1", "POST /gone hangup"]), 1).unwrap();
        let began = Instant::now();
        ask(&witness, 0, "POST /slow", "");
        assert!(began.elapsed() >= Duration::from_millis(150));
        assert!(ask(&witness, 0, "POST /down", "").starts_with("HTTP/1.1 503 "));
        assert!(ask(&witness, 0, "POST /down", "").starts_with("HTTP/1.1 200 "));
        assert_eq!(ask(&witness, 0, "POST /gone", ""), "");
        assert_eq!(witness.calls().totals(), json!({"down": 1, "down_refused": 1, "gone": 1, "slow": 1}));
    }

    #[test]
    fn each_refresh_kills_the_token_before() {
        let witness = Witness::listen(&routes(&["token = POST /oauth/token rotate"]), 1).unwrap();
        let refresh =
            |token: &str| ask(&witness, 0, "POST /oauth/token", &format!("grant_type=refresh_token&refresh_token={token}"));
        let first = refresh("start");
        let body: Value = serde_json::from_str(first.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let next = body["refresh_token"].as_str().unwrap();
        assert!(body["access_token"].is_string() && next != "start");
        assert!(refresh("start").starts_with("HTTP/1.1 400 ") && refresh("start").contains("invalid_grant"));
        assert!(refresh(next).starts_with("HTTP/1.1 200 "));
        assert_eq!(witness.calls().totals(), json!({"token": 2, "token_refused": 2}));
    }
}
