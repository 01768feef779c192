//! Small services to fire at: each copy has memory of its own, and all copies share one database file.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

/// How a copy decides whether a coupon may be redeemed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// A query, then an insert.
    CheckThenInsert,
    /// The same, inside a lock of this process.
    ProcessLock,
    /// A set in this process.
    ProcessSet,
    /// At most five, counted in this process.
    ProcessLimit,
    /// A unique key, and 409 for the losers.
    UniqueKey,
    /// A unique key, and 500 for the losers.
    UniqueKeyAnswering500,
    /// A unique key, and 400 for the losers.
    UniqueKeyAnswering400,
    /// A unique key, and 200 for the losers too.
    UniqueKeyAnswering200,
    /// One order for each coupon, whoever asks.
    SameOrder,
    /// One order for each request.
    NewOrder,
}

/// Copies that run in this process.
pub struct Copies {
    pub urls: Vec<String>,
    pub database: PathBuf,
    _folder: TempDir,
}

struct Copy {
    guard: Guard,
    database: PathBuf,
    seen: Mutex<HashSet<String>>,
    counts: Mutex<HashMap<String, u32>>,
    lock: Mutex<()>,
    orders: Mutex<u32>,
}

pub struct Question {
    pub path: String,
    pub body: String,
}

/// Starts copies that share one database.
pub fn copies(guard: Guard, count: usize) -> Copies {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("shop.db");
    open(&database)
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE redemptions (code TEXT); CREATE INDEX by_code ON redemptions (code);
             CREATE TABLE keyed (code TEXT PRIMARY KEY);",
        )
        .unwrap();
    let start = |_| {
        let copy = Copy {
            guard,
            database: database.clone(),
            seen: Mutex::default(),
            counts: Mutex::default(),
            lock: Mutex::default(),
            orders: Mutex::default(),
        };
        serve(move |question| copy.answer(question))
    };
    Copies { urls: (0..count).map(start).collect(), database, _folder: folder }
}

impl Copy {
    fn answer(&self, question: &Question) -> (u16, String) {
        if let Some(code) = question.path.strip_prefix("/redemptions/") {
            return (200, format!("{{\"n\":{}}}", self.count(code)));
        }
        let body: serde_json::Value = serde_json::from_str(&question.body).unwrap();
        let status = self.redeem(body["code"].as_str().unwrap());
        let order = match self.guard {
            Guard::NewOrder => {
                let mut orders = self.orders.lock().unwrap();
                *orders += 1;
                format!("{}-{}", self.database.display(), *orders)
            }
            _ => body["code"].to_string(),
        };
        (status, serde_json::json!({ "order_id": order }).to_string())
    }

    fn redeem(&self, code: &str) -> u16 {
        let refused_unless = |accepted: bool, refusal: u16| if accepted { 200 } else { refusal };
        match self.guard {
            Guard::SameOrder | Guard::NewOrder => 200,
            Guard::CheckThenInsert => refused_unless(self.check_then_insert(code), 409),
            Guard::ProcessLock => {
                let _held = self.lock.lock().unwrap();
                refused_unless(self.check_then_insert(code), 409)
            }
            Guard::ProcessSet => refused_unless(self.seen.lock().unwrap().insert(code.to_owned()), 409),
            Guard::ProcessLimit => {
                let mut counts = self.counts.lock().unwrap();
                let count = counts.entry(code.to_owned()).or_default();
                *count += 1;
                refused_unless(*count <= 5, 429)
            }
            Guard::UniqueKey => refused_unless(self.insert_unique(code), 409),
            Guard::UniqueKeyAnswering500 => refused_unless(self.insert_unique(code), 500),
            Guard::UniqueKeyAnswering200 => refused_unless(self.insert_unique(code), 200),
            Guard::UniqueKeyAnswering400 => refused_unless(self.insert_unique(code), 400),
        }
    }

    fn check_then_insert(&self, code: &str) -> bool {
        let database = open(&self.database);
        let used: u32 = database.query_row("SELECT count(*) FROM redemptions WHERE code = ?", [code], |row| row.get(0)).unwrap();
        used == 0 && database.execute("INSERT INTO redemptions VALUES (?)", [code]).unwrap() == 1
    }

    fn insert_unique(&self, code: &str) -> bool {
        open(&self.database).execute("INSERT OR IGNORE INTO keyed VALUES (?)", [code]).unwrap() == 1
    }

    fn count(&self, code: &str) -> u32 {
        let sql = "SELECT (SELECT count(*) FROM redemptions WHERE code = ?1) + (SELECT count(*) FROM keyed WHERE code = ?1)";
        open(&self.database).query_row(sql, [code], |row| row.get(0)).unwrap()
    }
}

fn open(database: &Path) -> Connection {
    let connection = Connection::open(database).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    connection
}

/// Answers every request on a thread of its own; returns the address as a URL.
pub fn serve(answer: impl Fn(&Question) -> (u16, String) + Send + Sync + 'static) -> String {
    let answer = Arc::new(answer);
    listen(move |mut stream| {
        if let Some(question) = read_question(&mut stream) {
            let (status, body) = answer(&question);
            let length = body.len();
            _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        }
    })
}

/// Hands every connection to a thread of its own; returns the address as a URL.
pub fn listen(handle: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let handle = Arc::new(handle);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = Arc::clone(&handle);
            std::thread::spawn(move || handle(stream));
        }
    });
    url
}

/// Reads one request with its body.
pub fn read_question(stream: &mut impl Read) -> Option<Question> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                let mut words = head.split(' ').map(str::to_owned);
                let path = words.nth(1)?;
                return Some(Question { path, body: String::from_utf8_lossy(&bytes[end + 4..]).into_owned() });
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}
