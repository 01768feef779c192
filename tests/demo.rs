//! `lockcheck demo` as a newcomer meets it: what it shows, how long it takes, and what it leaves behind.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What the demo may take; it is meant to take a quarter of this on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_demo_shows_the_fault_and_its_cure() {
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let output = Command::new(assert_cmd::cargo::cargo_bin!("lockcheck"))
        .arg("demo")
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let took = started.elapsed();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));

    let (locked, conditional) = text.split_once("2. A condition in the write").unwrap();
    for shown in [
        "error[process-lock] high",
        "guarded_by_mutex.rs",
        "2 state",
        "4 check",
        "1 error in 2 files",
        "BROKEN, compatible with: process-lock",
        "Scan and hammer agree",
    ] {
        assert!(locked.contains(shown), "`{shown}` is missing in:\n{locked}");
    }
    for shown in ["No findings in 2 files", "\nHELD\n", "Scan and hammer agree"] {
        assert!(conditional.contains(shown), "`{shown}` is missing in:\n{conditional}");
    }
    // Together on one copy the coupon is redeemed once; across the copies more than once, unless the write decides.
    assert_eq!(redeemed(locked, "all at once, one copy"), 1, "{locked}");
    assert!(redeemed(locked, "all at once, all copies") > 1, "{locked}");
    assert_eq!(redeemed(conditional, "all at once, all copies"), 1, "{conditional}");

    assert!(!text.contains('\u{1b}'), "no colours on a pipe:\n{text}");
    assert!(took < PATIENCE, "the demo took {took:?}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "the demo left {left:?}");
}

/// The count in the column `redeemed` of a line of the hammer's table.
fn redeemed(text: &str, experiment: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(experiment)).unwrap();
    line.split_whitespace().nth(2).unwrap().parse().unwrap()
}
