//! Copies that are stopped or killed in the middle of a request, around a lock that all of them share.

use std::fs;

use lockcheck::hammer::Verdict;
use serde_json::Value;

use super::{cells, diagnosis, error, hammer, why};

/// Does the work of a code once, under a lock row with a lease. The database alone is shared. Words: the database, how long the
/// lease is (0: for ever), and whether the write at the end compares the fencing token that came with the lock.
const SERVER: &str = r#"
import http.server, json, os, sqlite3, sys, time
path, lease, fenced = sys.argv[1], float(sys.argv[2]), sys.argv[3] == 'fenced'
def database():
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    db.execute('PRAGMA busy_timeout=5000')
    return db
def acquire(db, code):
    until = time.time() + (lease or 1e9)
    rows = db.execute('INSERT INTO locks VALUES (?, ?, 1) ON CONFLICT (code) DO UPDATE SET until = excluded.until, '
                      'token = token + 1 WHERE until < ? RETURNING token', (code, until, time.time())).fetchall()
    return rows[0][0] if rows else None
def work(code):
    db = database()
    token = acquire(db, code)
    if token is None:
        return 409
    try:
        if db.execute('SELECT count(*) FROM effects WHERE code = ?', (code,)).fetchone()[0]:
            return 409
        time.sleep(0.08)
        if not fenced:
            db.execute('INSERT INTO effects VALUES (?)', (code,))
            return 200
        done = db.execute('INSERT INTO effects SELECT ? WHERE (SELECT token FROM locks WHERE code = ?) = ?', (code, code, token))
        return 200 if done.rowcount == 1 else 409
    finally:
        db.execute('UPDATE locks SET until = 0 WHERE code = ? AND token = ?', (code, token))
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        code = self.path.split('/')[-1]
        n = database().execute('SELECT count(*) FROM effects WHERE code = ?', (code,)).fetchone()[0]
        self.answer(200, {'n': n})
    def do_POST(self):
        self.answer(work(self.rfile.read(int(self.headers['content-length'])).decode()), {})
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
db = database()
db.execute('CREATE TABLE IF NOT EXISTS locks (code TEXT PRIMARY KEY, until REAL, token INTEGER)')
db.execute('CREATE TABLE IF NOT EXISTS effects (code TEXT)')
Server(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
"#;

/// Hammers two copies whose lock has this lease.
fn with_lease(lease: &str, write: &str, more: &[&str]) -> (Verdict, Value) {
    let folder = tempfile::tempdir().unwrap();
    let (script, database) = (folder.path().join("server.py"), folder.path().join("db"));
    fs::write(&script, SERVER).unwrap();
    let run = format!("python3 {} {} {lease} {write}", script.display(), database.display());
    let words = ["--run", &run, "--copies", "2", "-d", "{{fresh}}", "-n", "8", "--rounds", "3", "--timeout", "3s"];
    let verify = ["--verify", "GET /effects/{{fresh}} json:$.n"];
    hammer(&words.into_iter().chain(verify).chain(more.iter().copied()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_lease_that_runs_out_under_a_stopped_holder_is_broken() {
    let (verdict, report) = with_lease("0.4", "blind", &["--stall", "900ms"]);
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert_eq!(diagnosis(&report), ["lock-lease-overrun", "lock-without-fence"], "{report:#}");
    let stalls = cells(&report, "stall");
    let broken = stalls.iter().find(|one| one["holds"] == false).unwrap();
    assert_eq!((&broken["successes"], &broken["effects"]), (&2.into(), &2.into()), "{report:#}");
    assert!(why(&report).contains("copy 1 was stopped") && why(&report).contains("for 900ms"), "{report:#}");
    assert!(cells(&report, "c4").iter().all(|volley| volley["holds"] == true), "before the fault: {report:#}");
}

#[test]
fn a_late_write_that_a_fence_refuses_holds() {
    let (verdict, report) = with_lease("0.4", "fenced", &["--stall", "900ms"]);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    assert_eq!(cells(&report, "stall").len(), 3, "{report:#}");
}

#[test]
fn a_lock_without_expiry_blocks_everybody_after_a_kill() {
    let (verdict, report) = with_lease("0", "blind", &["--kill", "--lease", "300ms"]);
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert_eq!(diagnosis(&report), ["lock-without-expiry", "lock-split-expiry", "lock-not-released"], "{report:#}");
    assert!(why(&report).contains("not even 300ms after the kill"), "{report:#}");
}

#[test]
fn a_lease_sets_free_what_a_killed_copy_held() {
    let (verdict, report) = with_lease("0.4", "fenced", &["--kill", "--lease", "600ms"]);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    assert_eq!(cells(&report, "kill").len(), 3, "the killed copy was started again: {report:#}");
}

#[test]
fn faults_need_copies_that_were_started_and_an_entity() {
    assert!(error(&["--run", "true", "--copies", "1", "-d", "{{fresh}}", "-n", "2", "--kill"]).contains("raise --copies"));
    assert!(error(&["--run", "true", "--copies", "2", "-d", "x", "-n", "2", "--stall", "1s"]).contains("{{fresh}}"));
}
