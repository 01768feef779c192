//! Ctrl-C in each phase, and worse: children are always stopped, and what was seen is reported.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::service::{listen, read_question};
use super::started::{all_gone, processes, server};

struct Ended {
    status: Option<i32>,
    out: String,
    err: String,
}

fn start(words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_lockcheck"))
        .arg("hammer")
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn end(mut child: Child, signal: Signal) -> Ended {
    kill_process(Pid::from_child(&child), signal).unwrap();
    let sent = Instant::now();
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let status = child.wait().unwrap().code();
    assert!(sent.elapsed() < Duration::from_secs(8), "took {:?} to stop", sent.elapsed());
    Ended { status, out, err }
}

fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !seen() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn both_run(folder: &Path) -> bool {
    processes(folder).iter().filter(|process| !process.is_empty()).count() == 4
}

#[test]
fn while_copies_start() {
    let (folder, command) = server();
    let child = start(&["--run", &command, "--copies", "2", "--ready", "/never", "-d", "{{fresh}}"]);
    wait_for("the start", || both_run(folder.path()));
    let ended = end(child, Signal::INT);
    assert_eq!(ended.status, Some(2), "{}", ended.err);
    assert!(ended.err.contains("interrupted while the copies were starting"), "{}", ended.err);
    assert!(all_gone(&processes(folder.path())));
}

#[test]
fn while_volleys_are_fired() {
    let (folder, command) = server();
    // One address, so that nothing fails and the rounds go on.
    let child = start(&["--run", &command, "--copies", "1", "-d", "{{fresh}}", "-n", "20", "--rounds", "1000"]);
    wait_for("the start", || processes(folder.path()).iter().filter(|process| !process.is_empty()).count() == 2);
    std::thread::sleep(Duration::from_secs(2));
    let ended = end(child, Signal::TERM);
    assert_eq!(ended.status, Some(3), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("INCONCLUSIVE") && ended.out.contains("interrupted"), "{}", ended.out);
    assert!(ended.out.contains("all at once on one copy"), "{}", ended.out);
    assert!(all_gone(&processes(folder.path())));
}

#[test]
fn while_an_answer_is_awaited() {
    let url = listen(|mut stream| {
        read_question(&mut stream);
        std::thread::sleep(Duration::from_secs(60));
    });
    let child = start(&["--url", &url, "-d", "{{fresh}}", "--timeout", "60s"]);
    std::thread::sleep(Duration::from_millis(700));
    let ended = end(child, Signal::INT);
    assert_eq!(ended.status, Some(2), "{}", ended.err);
    assert!(ended.err.contains("interrupted"), "{}", ended.err);
}

#[test]
fn while_copies_run_by_themselves() {
    let (folder, command) = server();
    let child = start(&["--run", &command, "--copies", "2", "--job", "60s", "--witness", "POST /mail"]);
    wait_for("the start", || processes(folder.path()).iter().filter(|process| !process.is_empty()).count() == 2);
    let ended = end(child, Signal::INT);
    assert_eq!(ended.status, Some(3), "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("one copy by itself") && ended.out.contains("interrupted"), "{}", ended.out);
    assert!(all_gone(&processes(folder.path())));
}

#[test]
fn copies_that_stand_still_die_with_a_killed_hammer() {
    let (folder, command) = server();
    let child = start(&[
        "--run",
        &command,
        "--copies",
        "2",
        "-d",
        "{{fresh}}",
        "-n",
        "20",
        "--rounds",
        "1000",
        "--gate",
        "freeze",
        "--settle",
        "1ms",
    ]);
    wait_for("the start", || both_run(folder.path()));
    end(child, Signal::KILL);
    assert!(all_gone(&processes(folder.path())));
}

#[test]
fn copies_die_with_a_killed_hammer() {
    let (folder, command) = server();
    let child = start(&["--run", &command, "--copies", "2", "-d", "{{fresh}}", "--settle", "20s"]);
    wait_for("the start", || both_run(folder.path()));
    end(child, Signal::KILL);
    assert!(all_gone(&processes(folder.path())));
}
