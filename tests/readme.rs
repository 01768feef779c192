//! What README.md shows is what the program does: its console blocks are run, and its list of rules is compared with the
//! catalogue and with what the detectors can find.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use lockcheck::rules::Catalogue;
use walkdir::WalkDir;

#[test]
fn console_blocks_show_what_is_printed() {
    let blocks = blocks(&readme(), "console");
    assert!(blocks.len() >= 3, "the README shows the demo, a scan and a volley");
    for block in blocks {
        let (command, shown) = command_and_output(&block);
        let printed = run(&command);
        let (shown, printed) = (normal(&shown), normal(&printed));
        assert!(
            fits(&shown, &printed),
            "README.md shows another output of `{command}`.\n--- shown\n{}\n--- printed (numbers are not compared)\n{}",
            shown.join("\n"),
            printed.join("\n")
        );
    }
}

#[test]
fn rules_are_listed_as_they_are() {
    let readme = readme();
    let catalogue = Catalogue::builtin().unwrap();
    let detectors = detectors();
    let detected = |id: &str| detectors.contains(&format!("\"{id}\""));
    let excused = readme.split("not found yet:").nth(1).unwrap_or("").split("\n- ").next().unwrap_or("");
    let row = |id: &str, title: &str| format!("| `{id}` | {title} |");
    for rule in catalogue.rules() {
        let (row, found) = (row(&rule.id, &rule.title), detected(&rule.id));
        assert_eq!(readme.contains(&row), found, "README.md, under What it finds (a detector names the rule: {found}): {row}");
        let excused = excused.contains(&format!("`{}`", rule.id));
        assert_eq!(excused, !found, "README.md, among the rules not found yet (a detector names it: {found}): `{}`", rule.id);
    }
}

#[test]
fn the_comparison_can_fail() {
    let lines = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    assert!(fits(&lines("a\n...\nd"), &lines("a\nb\nc\nd")));
    assert!(fits(&lines("a\n..."), &lines("a")));
    assert!(!fits(&lines("a\n...\nd"), &lines("a\nb")));
    assert!(!fits(&lines("a"), &lines("a\nb")));
    assert_eq!(normal("took 0.25 s  at copy 1, copy 2"), normal("took 13 s at copy 3"));
    assert_ne!(normal("HELD"), normal("BROKEN"));
    assert_eq!(command_and_output("$ a \\\n>   b\nc\nd").0, "a b");
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The code of the detectors.
fn detectors() -> String {
    let files = WalkDir::new(root().join("src/faults")).into_iter().filter_map(Result::ok);
    files.filter(|file| file.file_type().is_file()).map(|file| fs::read_to_string(file.path()).unwrap()).collect()
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let blocks = text.split(&opening).skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap().to_string()).collect()
}

/// The command after the prompt, with its continued lines, and the output that is shown below it.
fn command_and_output(block: &str) -> (String, String) {
    let mut lines = block.lines();
    let mut command = lines.next().unwrap().strip_prefix("$ ").unwrap().to_string();
    while let Some(start) = command.strip_suffix('\\') {
        command = format!("{}{}", start, lines.next().unwrap().strip_prefix('>').unwrap().trim_start());
    }
    (command, lines.collect::<Vec<_>>().join("\n"))
}

/// Runs a command where the demo's sources lie, with this build's program in front.
fn run(command: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("src/demo");
    fs::create_dir_all(&demo).unwrap();
    for file in fs::read_dir(root().join("src/demo")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), demo.join(file.file_name())).unwrap();
    }
    let program = Path::new(assert_cmd::cargo::cargo_bin!("lockcheck"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", command])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("TMPDIR", folder.path())
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Lines without what differs from run to run: numbers, how many copies are named in a row, and how wide columns are.
fn normal(text: &str) -> Vec<String> {
    text.trim_end().lines().map(normal_line).collect()
}

fn normal_line(line: &str) -> String {
    let mut out = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_digit() {
            while letters.next_if(|next| next.is_ascii_digit() || *next == '.').is_some() {}
            out.push('0');
        } else {
            out.push(letter);
        }
    }
    let mut out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    while out.contains("copy 0, copy 0") {
        out = out.replace("copy 0, copy 0", "copy 0");
    }
    out
}

/// Whether what is shown is what was printed, where `...` stands for any lines.
fn fits(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((dots, rest)) if dots == "..." => (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..])),
        Some((line, rest)) => printed.first() == Some(line) && fits(rest, &printed[1..]),
    }
}
