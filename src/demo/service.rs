//! The coupon service around a variant: its database, the routes that both variants share, and the server.
//!
//! It must not know how a redemption is guarded.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::extract::{Path as Segment, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::Variant;

/// The tables of the service; they hold no unique key on what is redeemed.
pub const SCHEMA: &str = include_str!("schema.sql");

/// How long a statement waits for another process's write to end.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Requests are served by this many threads, so that they meet inside one copy as well.
const THREADS: usize = 8;

/// Creates the database that all copies share, where it is missing: one file, with its log beside it.
fn create_database(database: &Path) -> Result<()> {
    let create = || {
        let connection = open(database)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.execute_batch(SCHEMA)
    };
    create().with_context(|| format!("cannot create the demo's database {}", database.display()))
}

/// Runs one copy on this loopback port until the process ends.
pub fn serve(variant: Variant, port: u16, database: &Path) -> Result<()> {
    create_database(database)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(async {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.with_context(|| format!("cannot listen on 127.0.0.1:{port}"))?;
        let app = routes(database).merge(variant.router(database));
        axum::serve(listener, app).await.context("the demo's service ended")
    })
}

fn routes(database: &Path) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/coupons", post(create_coupon))
        .route("/coupons/{code}/redemptions", get(count_redemptions))
        .with_state(database.to_path_buf())
}

/// The body of a redemption.
#[derive(Debug, Deserialize)]
pub(super) struct Redemption {
    pub code: String,
    pub customer: String,
}

/// The body of a new coupon.
#[derive(Debug, Deserialize)]
struct Coupon {
    code: String,
}

/// The database said no: the answer is 500, with the reason.
#[derive(Debug)]
pub(super) struct Failure(rusqlite::Error);

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Failure {
        Failure(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": self.0.to_string() }))).into_response()
    }
}

async fn health(State(database): State<PathBuf>) -> Result<StatusCode, Failure> {
    open(&database)?.query_row("SELECT 1", [], |_| Ok(()))?;
    Ok(StatusCode::OK)
}

async fn create_coupon(State(database): State<PathBuf>, Json(coupon): Json<Coupon>) -> Result<StatusCode, Failure> {
    open(&database)?.execute("INSERT INTO coupons (code) VALUES (?1)", [&coupon.code])?;
    Ok(StatusCode::CREATED)
}

async fn count_redemptions(State(database): State<PathBuf>, Segment(code): Segment<String>) -> Result<Json<Value>, Failure> {
    let n: u32 = open(&database)?.query_row("SELECT count(*) FROM redemptions WHERE code = ?1", [&code], |row| row.get(0))?;
    Ok(Json(json!({ "n": n })))
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::thread;

    use super::*;

    /// Sends one request and returns the answer's status and body.
    fn ask(port: u16, method: &str, path: &str, body: &str) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: demo\r\nConnection: close\r\nContent-Type: application/json\r\n")?;
        write!(stream, "Content-Length: {length}\r\n\r\n{body}")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Ok((head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned()))
    }

    fn start(variant: Variant, database: &Path) -> u16 {
        let port = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let database = database.to_path_buf();
        thread::spawn(move || serve(variant, port, &database));
        for _ in 0..200 {
            if matches!(ask(port, "GET", "/health", ""), Ok((200, _))) {
                return port;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("the service did not start");
    }

    #[test]
    fn each_variant_redeems_a_coupon_once_however_many_ask_one_copy() {
        for variant in [Variant::Mutex, Variant::Condition] {
            let folder = tempfile::tempdir().unwrap();
            let database = folder.path().join("shop.db");
            create_database(&database).unwrap();
            let port = start(variant, &database);
            assert_eq!(ask(port, "POST", "/coupons", r#"{"code":"SPRING"}"#).unwrap().0, 201);

            let redeem = |n: u32| ask(port, "POST", "/redeem", &format!(r#"{{"code":"SPRING","customer":"c{n}"}}"#)).unwrap().0;
            let mut answers: Vec<u16> = thread::scope(|scope| {
                let asking: Vec<_> = (0..20).map(|n| scope.spawn(move || redeem(n))).collect();
                asking.into_iter().map(|one| one.join().unwrap()).collect()
            });
            answers.sort_unstable();
            assert_eq!((answers[0], &answers[1..]), (201, &[409; 19][..]), "{variant:?}");
            assert_eq!(ask(port, "GET", "/coupons/SPRING/redemptions", "").unwrap(), (200, r#"{"n":1}"#.to_owned()));
        }
    }
}
