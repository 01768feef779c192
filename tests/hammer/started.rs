//! Copies that hammer starts itself: ready or not, and stopped whatever happens.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lockcheck::hammer::Verdict;
use tempfile::TempDir;

use super::{cells, error, hammer, why};

/// Accepts each code once per process; leaves its process's number, and a child's, in a folder.
pub const SERVER: &str = r#"
import http.server, os, subprocess, sys, threading
folder = sys.argv[1]
child = subprocess.Popen(['sleep', '600'])
with open(os.path.join(folder, os.environ['LOCKCHECK_COPY']), 'w') as file:
    file.write(f'{os.getpid()} {child.pid}')
seen, lock = set(), threading.Lock()
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def answer(self, status):
        self.send_response(status)
        self.send_header('content-length', '0')
        self.end_headers()
    def do_GET(self):
        self.answer(200 if self.path == '/health' else 404)
    def do_POST(self):
        body = self.rfile.read(int(self.headers['content-length']))
        with lock:
            status = 409 if body in seen else 200
            seen.add(body)
        self.answer(status)
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
Server(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
"#;

/// A folder with the server in it, and the command that starts it.
pub fn server() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server.py");
    fs::write(&script, SERVER).unwrap();
    let command = format!("python3 {} {}", script.display(), folder.path().display());
    (folder, command)
}

/// Numbers of the processes that copies left in the folder.
pub fn processes(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().flatten().filter(|file| file.path().extension().is_none());
    files.flat_map(|file| fs::read_to_string(file.path()).unwrap().split(' ').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Whether none of the processes runs any more, after a while.
pub fn all_gone(processes: &[String]) -> bool {
    let runs = |process: &String| {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    let until = Instant::now() + Duration::from_secs(5);
    while processes.iter().any(runs) {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn copies_are_started_judged_and_stopped() {
    let (folder, command) = server();
    let words = ["--run", &command, "--copies", "2", "--ready", "/health", "-d", "{{fresh}}", "-n", "20", "--settle", "1ms"];
    let (verdict, report) = hammer(&words).unwrap();
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    let parts = &cells(&report, "c4")[0]["by_copy"];
    assert_eq!((&parts[0]["copy"], &parts[1]["copy"]), (&"copy 1".into(), &"copy 2".into()));
    let processes = processes(folder.path());
    assert_eq!(processes.len(), 4, "two copies with a child each");
    assert!(all_gone(&processes), "{processes:?}");
    let logs = why(&report).lines().find_map(|line| line.strip_prefix("The copies' logs are in ").map(str::to_owned)).unwrap();
    assert!(Path::new(logs.trim_end_matches('.')).join("copy-2.log").exists(), "{logs}");
}

#[test]
fn a_copy_that_never_listens_is_said_and_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let command = format!("echo $$ > {}/pid; echo starting up; exec sleep 600", folder.path().display());
    let message = error(&["--run", &command, "--copies", "1", "--ready-timeout", "600ms"]);
    assert!(message.contains("not ready within 600ms") && message.contains("PORT"), "{message}");
    assert!(message.contains("starting up") && message.contains("copy 1"), "{message}");
    let process = fs::read_to_string(folder.path().join("pid")).unwrap().trim().to_owned();
    assert!(all_gone(&[process]));
}

#[test]
fn a_copy_whose_ready_path_fails_is_said() {
    let (folder, command) = server();
    let message = error(&["--run", &command, "--copies", "1", "--ready", "/nowhere", "--ready-timeout", "3s"]);
    assert!(message.contains("GET /nowhere answered 404"), "{message}");
    assert!(all_gone(&processes(folder.path())));
}

#[test]
fn a_copy_that_ends_at_once_is_said_with_its_last_words() {
    let message = error(&["--run", "echo no database; exit 7", "--copies", "2"]);
    assert!(message.contains("ended by itself") && message.contains('7') && message.contains("no database"), "{message}");
}

#[test]
fn a_copy_that_does_not_want_to_stop_is_stopped() {
    let (folder, command) = server();
    let stubborn = format!("trap '' TERM; {command}");
    let (verdict, report) =
        hammer(&["--run", &stubborn, "--copies", "1", "-d", "{{fresh}}", "-n", "4", "--rounds", "1"]).unwrap();
    assert_ne!(verdict, Verdict::Broken, "{report:#}");
    let processes = processes(folder.path());
    assert!(processes.len() == 2 && all_gone(&processes), "{processes:?}");
}
