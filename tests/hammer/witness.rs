//! The witness and jobs: what copies do at providers and by themselves, counted.

use std::fs;

use lockcheck::hammer::Verdict;
use serde_json::{Value, json};

use super::started::all_gone;
use super::{cells, diagnosis, error, hammer, why};

/// Sends a mail for each coupon, guarded as its word says: `shared`, in the process (`process`), or not at all (`none`). Or a
/// report once in a while: by every copy (`every`), by the first alone (`leased`), by whoever comes comes later again (`early`).
/// Or refreshes a token that has expired: `stampede` each request, `flight` each process, `once` all copies together.
const SERVER: &str = r#"
import http.server, json, os, sqlite3, sys, threading, time, urllib.request
kind, path = sys.argv[1], sys.argv[2]
open(path + '.pid' + os.environ['LOCKCHECK_COPY'], 'a').write(f'{os.getpid()} ')
def database():
    return sqlite3.connect(path, timeout=10, isolation_level=None)
db = database()
db.execute('CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY)')
def claimed(key):
    return database().execute('INSERT OR IGNORE INTO keys VALUES (?)', (key,)).rowcount == 1
def call(route, body):
    request = urllib.request.Request(os.environ['LOCKCHECK_WITNESS'] + route, data=json.dumps(body).encode(),
                                     headers={'content-type': 'application/json'}, method='POST')
    try:
        return urllib.request.urlopen(request, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code
def report():
    run = os.environ['LOCKCHECK_FRESH']
    if kind == 'leased' and not claimed(run): return
    if kind == 'early':
        if not claimed(run): return
        call('/mail', {})
        database().execute('DELETE FROM keys WHERE key = ?', (run,))
        return
    call('/mail', {})
seen, lock = set(), threading.Lock()
def redeem(code):
    if kind == 'shared': won = claimed(code)
    elif kind == 'process':
        with lock:
            won = code not in seen
            seen.add(code)
    else: won = True
    if won: call('/mail', {'code': code})
    return 200 if won else 409
def cached(account):
    return database().execute('SELECT count(*) FROM keys WHERE key = ?', ('token ' + account,)).fetchone()[0]
def refresh(account):
    call('/token', {'refresh_token': account})
    claimed('token ' + account)
def refreshed(account):
    if kind == 'stampede':
        if not cached(account): refresh(account)
    elif kind == 'flight':
        with lock:
            if not cached(account): refresh(account)
    elif not cached(account):
        if claimed('flight ' + account): refresh(account)
        while not cached(account): time.sleep(0.01)
    return 200
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_POST(self):
        body = self.rfile.read(int(self.headers['content-length'])).decode()
        status = refreshed(body) if self.path == '/report' else redeem(body)
        self.send_response(status)
        self.send_header('content-length', '0')
        self.end_headers()
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
if kind in ('every', 'leased', 'early'):
    if kind == 'early': time.sleep(3 if os.environ['LOCKCHECK_COPY'] == '3' else 0)
    report()
    time.sleep(600)
Server(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
"#;

/// Hammers copies of the server; their processes are gone afterwards.
fn served(kind: &str, copies: &str, more: &[&str]) -> (Verdict, Value) {
    let folder = tempfile::tempdir().unwrap();
    let (script, database) = (folder.path().join("server.py"), folder.path().join("db"));
    fs::write(&script, SERVER).unwrap();
    let run = format!("python3 {} {kind} {}", script.display(), database.display());
    let outcome = hammer(&[&["--run", &run, "--copies", copies][..], more].concat()).unwrap();
    let files = fs::read_dir(folder.path()).unwrap().flatten().filter(|file| file.path().to_string_lossy().contains(".pid"));
    let processes: Vec<String> = files
        .flat_map(|file| fs::read_to_string(file.path()).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert!(!processes.is_empty() && all_gone(&processes), "{processes:?}");
    outcome
}

const VOLLEY: [&str; 10] = ["-d", "{{fresh}}", "-n", "12", "--rounds", "2", "--settle", "1ms", "--witness", "POST /mail"];

#[test]
fn calls_to_a_provider_are_the_effects() {
    let (verdict, report) = served("shared", "2", &VOLLEY);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    assert_eq!(report["expect"], "effects == 1");
    let volley = cells(&report, "c4")[0];
    assert_eq!((&volley["effects"], &volley["witness"]), (&1.into(), &json!({"mail": 1})), "{report:#}");
    let (verdict, report) = served("process", "2", &VOLLEY);
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert!(diagnosis(&report).contains(&"process-guard"), "{report:#}");
    let expect = [&VOLLEY[..], &["--expect", "witness.mail == 1 && witness_by_copy.mail['copy 2'] == 0"]].concat();
    let (_, report) = served("process", "2", &expect);
    assert!(why(&report).contains("the witness saw {\"mail\":2}"), "{report:#}");
}

#[test]
fn a_job_that_every_copy_runs_is_counted() {
    let page = tempfile::NamedTempFile::new().unwrap();
    let job = ["--job", "6s", "--rounds", "1", "--witness", "POST /mail", "--html", page.path().to_str().unwrap()];
    let (verdict, report) = served("every", "3", &job);
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert_eq!(diagnosis(&report), ["unleased-job", "lock-lease-overrun"], "{report:#}");
    assert_eq!(cells(&report, "job")[0]["witness_by_copy"], json!({"mail": {"copy 1": 1, "copy 2": 1, "copy 3": 1}}));
    assert!(why(&report).contains("3 copies did it 3 times, one alone 1"), "{report:#}");
    let drawn = fs::read_to_string(page.path()).unwrap();
    assert!(
        drawn.contains("all copies by themselves") && drawn.contains("3 effects") && !drawn.contains("The volleys"),
        "{drawn}"
    );
    let (verdict, report) = served("leased", "3", &job);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    assert_eq!(cells(&report, "job")[0]["effects"], 1);
    let (verdict, report) = served("every", "3", &["--job", "6s", "--rounds", "1", "--witness", "POST /nothing"]);
    assert_eq!(verdict, Verdict::Inconclusive, "{report:#}");
    assert!(why(&report).contains("nothing happened in that time"), "{report:#}");
    assert!(report.to_string().contains("called as POST /mail"), "{report:#}");
}

#[test]
fn a_lease_that_is_freed_too_early_lets_a_late_copy_in() {
    let (verdict, report) = served("early", "3", &["--job", "6s", "--rounds", "2", "--witness", "POST /mail delay=200ms"]);
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert_eq!(diagnosis(&report), ["lock-lease-overrun"], "{report:#}");
}

#[test]
fn refreshes_of_a_rotating_token_tell_a_stampede_from_a_flight() {
    let words = ["--path", "/report", "-d", "{{fresh}}", "-n", "12", "--rounds", "3", "--settle", "1ms"];
    let token = ["--witness", "POST /token rotate delay=30ms"];
    let (_, report) = served("stampede", "2", &[&words[..], &token].concat());
    assert_eq!(diagnosis(&report).first(), Some(&"refresh-stampede"), "{report:#}");
    let (_, report) = served("flight", "2", &[&words[..], &token].concat());
    assert_eq!(diagnosis(&report).first(), Some(&"process-single-flight"), "{report:#}");
    let (verdict, report) =
        served("once", "2", &[&words[..], &token, &["--expect", "witness.token == 1 && witness.token_refused == 0"]].concat());
    assert_eq!(verdict, Verdict::Held, "{report:#}");
}

#[test]
fn what_cannot_be_witnessed_is_said() {
    let started = |more: &[&str]| error(&[&["--run", "sleep 600", "--ready-timeout", "100ms"][..], more].concat());
    assert!(started(&["--witness", "mail"]).contains("for example 'mail = POST /send 202'"));
    assert!(started(&["--witness", "POST /a", "--witness", "POST /b"]).contains("--expect 'witness.mail == 1'"));
    assert!(started(&["--witness", "POST /a", "--witness", "GET /a"]).contains("two routes are called `a`"));
    assert!(started(&["--job", "1s"]).contains("--witness, --verify or --verify-sql"));
    assert!(started(&["--job", "11m", "--witness", "POST /a"]).contains("at most"));
    assert!(started(&["--expect", "witness.mail == 1"]).contains("--witness 'mail"));
}
