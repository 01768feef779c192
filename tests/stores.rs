//! `hammer` with the state read from real PostgreSQL and MariaDB servers, which tests/with-services starts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "of the services, only how requests are answered is used")]
#[path = "hammer/service.rs"]
mod service;

use clap::Parser;
use lockcheck::hammer::cli::HammerArgs;
use lockcheck::hammer::{Verdict, run};
use mysql::prelude::Queryable;
use serde_json::Value;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: HammerArgs,
}

/// Where an item's stock is kept, and how a buyer takes one.
trait Stock: Send + Sync + 'static {
    fn open(&self, item: &str);
    /// Reads, thinks, writes: `None` where nothing is left.
    fn read(&self, item: &str) -> i64;
    fn write(&self, item: &str, left: i64);
    /// Takes one where one is left, in one statement.
    fn take(&self, item: &str) -> bool;
}

struct Postgres(String);

impl Postgres {
    fn client(&self) -> postgres::Client {
        postgres::Client::connect(&self.0, postgres::NoTls).unwrap()
    }
}

impl Stock for Postgres {
    fn open(&self, item: &str) {
        self.client().execute("INSERT INTO hammered_items VALUES ($1, 5, 1.5)", &[&item]).unwrap();
    }
    fn read(&self, item: &str) -> i64 {
        self.client().query_one("SELECT stock FROM hammered_items WHERE id = $1", &[&item]).unwrap().get(0)
    }
    fn write(&self, item: &str, left: i64) {
        self.client().execute("UPDATE hammered_items SET stock = $2 WHERE id = $1", &[&item, &left]).unwrap();
    }
    fn take(&self, item: &str) -> bool {
        let taken = self.client().execute("UPDATE hammered_items SET stock = stock - 1 WHERE id = $1 AND stock > 0", &[&item]);
        taken.unwrap() == 1
    }
}

struct MariaDb(String);

impl MariaDb {
    fn client(&self) -> mysql::Conn {
        mysql::Conn::new(mysql::Opts::from_url(&self.0).unwrap()).unwrap()
    }
}

impl Stock for MariaDb {
    fn open(&self, item: &str) {
        self.client().exec_drop("INSERT INTO hammered_items VALUES (?, 5, 1.5)", (item,)).unwrap();
    }
    fn read(&self, item: &str) -> i64 {
        self.client().exec_first("SELECT stock FROM hammered_items WHERE id = ?", (item,)).unwrap().unwrap()
    }
    fn write(&self, item: &str, left: i64) {
        self.client().exec_drop("UPDATE hammered_items SET stock = ? WHERE id = ?", (left, item)).unwrap();
    }
    fn take(&self, item: &str) -> bool {
        let mut client = self.client();
        client.exec_drop("UPDATE hammered_items SET stock = stock - 1 WHERE id = ? AND stock > 0", (item,)).unwrap();
        client.affected_rows() == 1
    }
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS hammered_items (id VARCHAR(80) PRIMARY KEY, stock BIGINT, price NUMERIC(8, 2))";
const READ: &str = "select stock, price from hammered_items where id = '{{fresh}}';";

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set; run the tests with tests/run, which starts the stores"))
}

/// Buys at two copies of a service around this stock.
fn bought(stock: impl Stock, url: &str, lost_updates: bool) -> (Verdict, Value) {
    let stock = std::sync::Arc::new(stock);
    let copy = || {
        let stock = std::sync::Arc::clone(&stock);
        service::serve(move |question| {
            let item = &question.body;
            if question.path == "/items" {
                stock.open(item);
                return (201, String::new());
            }
            if lost_updates {
                let left = stock.read(item);
                if left == 0 {
                    return (409, String::new());
                }
                stock.write(item, left - 1);
                return (200, String::new());
            }
            (if stock.take(item) { 200 } else { 409 }, String::new())
        })
    };
    let urls = [format!("{}/buy", copy()), format!("{}/buy", copy())];
    let words =
        ["hammer", "--format", "json", "--url", &urls[0], "--url", &urls[1], "-d", "{{fresh}}", "-n", "12", "--rounds", "3"];
    let setup = ["--setup", "POST /items {{fresh}}", "--verify-sql", url, READ];
    let expect = ["--expect", "after.stock == before.stock - successes && after.stock >= 0 && after.price == 1.5"];
    let line = Line::try_parse_from([&words[..], &setup, &expect].concat()).unwrap();
    let mut report = Vec::new();
    let verdict = run(&line.args, &mut report, &|_| {}).unwrap();
    (verdict, serde_json::from_slice(&report).unwrap())
}

fn judged(verdicts: [(Verdict, Value); 2]) {
    let [(lost, broken), (kept, held)] = verdicts;
    assert_eq!(lost, Verdict::Broken, "{broken:#}");
    assert!(broken["diagnosis"].as_array().unwrap().contains(&"lost-update".into()), "{broken:#}");
    assert!(broken["why"].to_string().contains("the state was"), "{broken:#}");
    assert_eq!(kept, Verdict::Held, "{held:#}");
    let volley = held["experiments"].as_array().unwrap().iter().find(|one| one["name"] == "c4").unwrap();
    assert_eq!((&volley["before"]["stock"], &volley["after"]["stock"]), (&5.into(), &0.into()), "{held:#}");
}

#[test]
fn stock_in_postgresql_is_read_before_and_after() {
    let url = setting("LOCKCHECK_TEST_DATABASE_URL");
    Postgres(url.clone()).client().batch_execute(TABLE).unwrap();
    judged([true, false].map(|lost| bought(Postgres(url.clone()), &url, lost)));
}

#[test]
fn stock_in_mariadb_is_read_before_and_after() {
    let url = setting("LOCKCHECK_TEST_MYSQL_URL");
    MariaDb(url.clone()).client().query_drop(TABLE).unwrap();
    judged([true, false].map(|lost| bought(MariaDb(url.clone()), &url, lost)));
}

/// A coupon that one process remembers, and one that a set shared by the copies does; run by k6 from the script that is written.
#[test]
fn the_script_for_k6_runs_and_fails_where_the_expectation_does() {
    let Ok(k6) = std::env::var("LOCKCHECK_TEST_K6") else { return };
    let copies = |shared: bool| -> [String; 2] {
        let all = std::sync::Arc::new(std::sync::Mutex::new(std::collections::HashSet::new()));
        let copy = || {
            let seen = if shared { std::sync::Arc::clone(&all) } else { std::sync::Arc::default() };
            service::serve(move |question| match question.path.as_str() {
                "/coupons" => (201, "{\"id\":\"c-7\"}".to_owned()),
                path if path.starts_with("/left/") => (200, "{\"n\":0}".to_owned()),
                _ => (if seen.lock().unwrap().insert(question.body.clone()) { 200 } else { 409 }, "{\"ok\":true}".to_owned()),
            })
        };
        [copy(), copy()]
    };
    for (shared, fails) in [(true, false), (false, true)] {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("hammer.js");
        let urls = copies(shared).map(|url| format!("{url}/redeem/{{{{capture.id}}}}"));
        let words = ["hammer", "--url", &urls[0], "--url", &urls[1], "-d", "{{fresh}} {{env.HOME}}", "-n", "10", "--rounds", "2"];
        let more = [
            "--setup",
            "POST /coupons {{fresh}}",
            "--capture",
            "id=json:$.id",
            "--success",
            "json.ok && status == 200",
            "--emit",
            "k6",
        ];
        let expect = ["--expect", "successes == 1 && requests == 10"];
        let line = Line::try_parse_from([&words[..], &more, &expect].concat()).unwrap();
        let mut text = Vec::new();
        run(&line.args, &mut text, &|_| {}).unwrap();
        std::fs::write(&script, &text).unwrap();
        let output = std::process::Command::new(&k6)
            .args(["run", "--quiet", "--no-usage-report", "--address", "", "-e", "HOME=/root"])
            .arg(&script)
            .output()
            .unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // 99: a threshold was crossed.
        assert_eq!(output.status.code(), Some(if fails { 99 } else { 0 }), "{said}\n{}", String::from_utf8_lossy(&text));
    }
}
