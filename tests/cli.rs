//! The command line as its users meet it: what it prints, where, and with which exit status, above all for bad input.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory with these files.
fn tree(files: &[(&str, &[u8])]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    directory
}

fn lockcheck(directory: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lockcheck"));
    command.current_dir(directory).stdin(Stdio::null());
    for name in ["GITHUB_STEP_SUMMARY", "NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command
}

fn run(directory: &Path, args: &[&str]) -> Output {
    lockcheck(directory).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// The JSON report of a scan that must succeed.
fn scanned(directory: &Path, args: &[&str]) -> (Value, Output) {
    let output = run(directory, &[&["scan", "--format", "json"], args].concat());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    (serde_json::from_slice(&output.stdout).unwrap(), output)
}

/// Path and kind of each gap.
fn gaps(report: &Value) -> Vec<(&str, &str)> {
    let all = report["gaps"].as_array().unwrap();
    all.iter().map(|gap| (gap["path"].as_str().unwrap(), gap["kind"].as_str().unwrap())).collect()
}

#[test]
fn an_empty_tree_is_no_finding_and_says_that_nothing_was_read() {
    let empty = tree(&[]);
    let output = run(empty.path(), &["scan"]);
    assert_eq!(status(&output), 0);
    assert!(stdout(&output).starts_with("No findings in 0 files"), "{}", stdout(&output));
    assert!(stderr(&output).contains("note: nothing was read"), "{}", stderr(&output));
    assert!(stderr(&output).contains(".py"), "{}", stderr(&output));
}

#[test]
fn a_missing_path_could_not_run() {
    let empty = tree(&[]);
    let output = run(empty.path(), &["scan", "no/such"]);
    assert_eq!(status(&output), 2);
    assert_eq!(stdout(&output), "");
    assert_eq!(stderr(&output), "error: no/such does not exist; give the path of a directory or a file to scan\n");
}

#[test]
fn a_single_file_is_scanned() {
    let files = tree(&[("a/b.py", b"x = 1\n")]);
    let (report, output) = scanned(files.path(), &["a/b.py"]);
    assert_eq!(report["stats"]["files"], 1);
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_directory_with_the_name_of_a_source_is_walked() {
    let files = tree(&[("x.py/a.py", b"x = 1\n")]);
    let (report, _) = scanned(files.path(), &[]);
    assert_eq!((report["stats"]["files"].as_u64(), gaps(&report).len()), (Some(1), 0));
}

#[test]
fn a_file_that_is_not_utf8_is_a_gap() {
    let files = tree(&[("latin.py", b"name = '\xe9'\n"), ("ok.py", b"x = 1\n")]);
    let (report, output) = scanned(files.path(), &[]);
    assert_eq!(gaps(&report), [("latin.py", "not-utf8")]);
    assert_eq!(report["stats"]["files"], 1);
    assert_eq!(stderr(&output), "note: latin.py: is not UTF-8 (byte 8); save it as UTF-8 to have it scanned\n");
}

#[test]
fn broken_syntax_does_not_stop_a_scan() {
    let files = tree(&[("broken.py", b"def f(:\n  ]]\n"), ("broken.ts", b"class { ( \n"), ("broken.rs", b"fn fn fn {\n")]);
    let (report, _) = scanned(files.path(), &[]);
    assert_eq!(report["stats"]["files"], 3);
    // Every broken file that was parsed says so.
    let gaps = gaps(&report);
    let broken: HashSet<&str> = gaps.iter().map(|(path, _)| *path).collect();
    assert_eq!(report["stats"]["parsed"], broken.len(), "{report}");
    assert!(gaps.iter().all(|(_, kind)| *kind == "syntax"), "{report}");
}

#[test]
fn deep_nesting_does_not_stop_a_scan() {
    let nested = |open: &str, close: &str| format!("x = {}1{}\n", open.repeat(3_000), close.repeat(3_000)).into_bytes();
    let (list, block) = (nested("[", "]"), format!("fn f() {}{}", "{".repeat(1_000), "}".repeat(1_000)).into_bytes());
    let files = tree(&[("a.py", &list), ("a.js", &list), ("a.rs", &block), ("ok.py", b"x = 1\n")]);
    let (report, _) = scanned(files.path(), &[]);
    assert_eq!(report["stats"]["files"], 4);
}

#[test]
fn a_name_bound_to_a_part_of_itself_does_not_stop_a_scan() {
    let source = b"pub async fn outgoing(data: Activity, context: &Data) {
    Box::pin(async {
        match data {
            Ban { data, } => send_ban(data, context).await,
            Other { person } => send_other(person, context).await,
        }
    })
    .await
}

pub async fn run(context: &Data) {
    while let Some(data) = Channel::retrieve().await {
        outgoing(data, &context).await;
    }
}
";
    let tree = tree(&[("src/lib.rs", source)]);
    let (report, output) = scanned(tree.path(), &["."]);
    assert_eq!((status(&output), gaps(&report).len()), (0, 0));
}

#[test]
fn a_minified_bundle_is_a_gap() {
    let bundle = "!function(){var a=1;a+=1}();".repeat(200_000);
    assert!(bundle.len() > 5_000_000);
    let files = tree(&[("bundle.js", bundle.as_bytes())]);
    let (report, output) = scanned(files.path(), &[]);
    assert_eq!(gaps(&report), [("bundle.js", "too-large")]);
    assert!(stderr(&output).contains("bundle.js: 5.6 MB is above the limit of 2 MB"), "{}", stderr(&output));
}

#[test]
fn many_gaps_are_counted_not_listed() {
    let names: Vec<String> = (0..30).map(|number| format!("{number:02}.py")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"\xff".as_slice())).collect();
    let (report, output) = scanned(tree(&files).path(), &[]);
    assert_eq!(gaps(&report).len(), 30);
    assert!(stderr(&output).lines().count() < 12, "{}", stderr(&output));
    assert!(stderr(&output).contains("22 more places could not be read"), "{}", stderr(&output));
}

#[cfg(unix)]
#[test]
fn links_are_followed_only_when_asked_and_a_loop_is_a_gap() {
    let files = tree(&[("a/b.py", b"x = 1\n")]);
    std::os::unix::fs::symlink(files.path(), files.path().join("a/up")).unwrap();
    std::os::unix::fs::symlink("nowhere.py", files.path().join("dangling.py")).unwrap();
    assert_eq!(gaps(&scanned(files.path(), &[]).0), []);
    let (report, output) = scanned(files.path(), &["--follow-links"]);
    assert_eq!(gaps(&report), [("a/up", "link-loop"), ("dangling.py", "unreadable")]);
    assert_eq!(report["stats"]["files"], 1);
    assert!(stderr(&output).contains("a/up: leads back to the scanned root"), "{}", stderr(&output));
}

#[test]
fn a_malformed_rule_file_is_shown_with_its_line_and_a_caret() {
    let files = tree(&[("rules/faults/mine.toml", b"title = \"t\"\nseverity = \"fatal\"\n"), ("a.py", b"x = 1\n")]);
    for command in [["scan", "--rules", "rules"], ["rules", "--rules", "rules"]] {
        let output = run(files.path(), &command);
        assert_eq!(status(&output), 2);
        let expected = "2 | severity = \"fatal\"\n  |            ^";
        assert!(stderr(&output).contains("rules/faults/mine.toml:2:12: "), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_rule_directory_that_is_missing_could_not_run() {
    let files = tree(&[("a.py", b"x = 1\n")]);
    let output = run(files.path(), &["scan", "--rules", "no-rules"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("no-rules: is not a directory"), "{}", stderr(&output));
}

#[test]
fn a_users_rule_joins_the_catalogue() {
    let rule = "title = 'Ours'\nseverity = 'warning'\nfamily = 'job'\nexplain = 'e'\nnot_when = 'n'\nhelp = 'h'\nbad = 'b'\ngood = 'g'\n";
    let files = tree(&[("rules/faults/our-own.toml", rule.as_bytes())]);
    let output = run(files.path(), &["explain", "our-own", "--rules", "rules"]);
    assert_eq!(status(&output), 0);
    assert!(stdout(&output).starts_with("our-own  warning, job family\nOurs\n"), "{}", stdout(&output));
}

#[test]
fn an_unknown_rule_names_its_neighbours() {
    let files = tree(&[("a.py", b"x = 1\n")]);
    for command in
        [&["scan", "--select", "proces-lock"][..], &["scan", "--ignore=lost-update,proces-lock"], &["explain", "proces-lock"]]
    {
        let output = run(files.path(), command);
        assert_eq!(status(&output), 2, "{command:?}");
        assert!(stderr(&output).contains("there is no rule `proces-lock`; did you mean `process-lock`"), "{}", stderr(&output));
    }
}

#[test]
fn an_unknown_format_lists_those_there_are() {
    let output = run(tree(&[]).path(), &["scan", "--format", "xml"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("[possible values: text, json, github, sarif"), "{}", stderr(&output));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let files = tree(&[("a.py", b"x = 1\n")]);
    for args in
        [&["scan"][..], &["scan", "--format", "sarif"], &["rules"], &["rules", "--format", "json"], &["explain", "lost-update"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = lockcheck(files.path()).args(args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((status(&output), stderr(&output).as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn colours_are_for_those_who_want_them() {
    let directory = tree(&[]);
    let explained = |name: &str, value: &str| {
        let output = lockcheck(directory.path()).args(["explain", "lost-update"]).env(name, value).output().unwrap();
        stdout(&output).contains('\u{1b}')
    };
    assert!(!explained("LOCKCHECK_TEST", "1"), "a pipe gets none");
    assert!(explained("CLICOLOR_FORCE", "1"));
    assert!(!explained("NO_COLOR", "1"));
}

#[test]
fn a_job_summary_is_appended_where_the_host_asks_for_one() {
    let files = tree(&[("a.py", b"x = 1\n"), ("summary.md", b"before\n")]);
    let path = files.path().join("summary.md");
    let scan = |format: &str| {
        let output =
            lockcheck(files.path()).args(["scan", "--format", format]).env("GITHUB_STEP_SUMMARY", &path).output().unwrap();
        assert_eq!(status(&output), 0, "{}", stderr(&output));
    };
    scan("json");
    assert_eq!(fs::read_to_string(&path).unwrap(), "before\n");
    scan("github");
    assert_eq!(fs::read_to_string(&path).unwrap(), "before\n## lockcheck\n\nNo findings in 1 file.\n");
}

#[test]
fn a_job_summary_that_cannot_be_written_is_only_mentioned() {
    let files = tree(&[("a.py", b"x = 1\n")]);
    let output =
        lockcheck(files.path()).args(["scan", "--format", "github"]).env("GITHUB_STEP_SUMMARY", "no/such/dir").output().unwrap();
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("warning: cannot write the job summary to no/such/dir"), "{}", stderr(&output));
}

#[test]
fn all_rules_are_listed_and_explained() {
    let directory = tree(&[]);
    let list: Value = serde_json::from_slice(&run(directory.path(), &["rules", "--format", "json"]).stdout).unwrap();
    let table = stdout(&run(directory.path(), &["rules"]));
    let rules = list["rules"].as_array().unwrap();
    assert_eq!(table.lines().count(), rules.len() + 1);
    for rule in rules {
        let id = rule["id"].as_str().unwrap();
        assert!(table.lines().any(|line| line.split_whitespace().next() == Some(id)), "{id}");
        let page = stdout(&run(directory.path(), &["explain", id]));
        assert!(page.contains(rule["title"].as_str().unwrap()) && page.contains("Fix: "), "{page}");
    }
}

#[test]
fn copies_are_counted_from_one() {
    let output = run(tree(&[]).path(), &["scan", "--copies", "0"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("--copies"), "{}", stderr(&output));
    let files = tree(&[("a.py", b"x = 1\n")]);
    assert_eq!(scanned(files.path(), &["--copies", "3"]).0["stats"]["copies"], 3);
}

#[test]
fn a_plan_to_begin_with_is_written_once_and_can_be_read() {
    let directory = tree(&[]);
    let output = run(directory.path(), &["hammer", "--init", "stock"]);
    assert_eq!((status(&output), stdout(&output)), (0, String::new()));
    assert!(stderr(&output).contains("--plan hammer.toml"), "{}", stderr(&output));
    let written = fs::read_to_string(directory.path().join("hammer.toml")).unwrap();
    let again = run(directory.path(), &["hammer", "--init", "coupon"]);
    assert_eq!(status(&again), 2);
    assert!(stderr(&again).contains("is it there already?"), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(directory.path().join("hammer.toml")).unwrap(), written, "nothing is lost");
    let unknown = run(directory.path(), &["hammer", "--plan", "hammer.toml", "--only", "coupon"]);
    assert_eq!(status(&unknown), 2);
    assert!(stderr(&unknown).contains("the plan has stock"), "{}", stderr(&unknown));
}

#[test]
fn a_hammer_without_copies_says_how_to_name_them() {
    let output = run(tree(&[]).path(), &["hammer"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("--url, or start them with --run"), "{}", stderr(&output));
}
