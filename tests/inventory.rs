//! The inventory of a small shop that has one of each thing, at fault and sound: what a person and a program get to see.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn scan(more: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_lockcheck"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/inventory"))
        .env("COLUMNS", "130")
        .args(["scan", "shop", "--inventory"])
        .args(more)
        .output()
        .unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn a_person_sees_a_table() {
    let (table, status) = scan(&[]);
    insta::assert_snapshot!(table);
    assert_eq!(status, Some(1), "findings make the status 1, as without the inventory");
    assert!(!table.contains('\u{1b}'), "no colours on a pipe");
}

#[test]
fn a_program_sees_a_document() {
    let (document, _) = scan(&["--format", "json"]);
    insta::assert_snapshot!(document);
}

#[test]
fn one_copy_makes_what_one_process_owns_sound() {
    let (document, _) = scan(&["--format", "json", "--copies", "1"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let item = document["inventory"].as_array().unwrap().iter().find(|item| item["name"] == "paying").unwrap();
    assert_eq!(item["verdict"], "sound");
    assert_eq!(item["copies"]["text"], "one copy");
    assert_eq!(item["uses"][0]["reasons"][0]["reason"], "one-copy");
}

#[test]
fn a_finding_that_is_not_selected_is_marked() {
    let (document, status) = scan(&["--format", "json", "--ignore", "process-lock"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let item = document["inventory"].as_array().unwrap().iter().find(|item| item["name"] == "paying").unwrap();
    assert_eq!(item["uses"][0]["faults"][0]["reported"], false);
    assert_eq!(status, Some(1), "other findings are left");
}

#[test]
fn a_form_without_an_inventory_says_so() {
    assert_eq!(scan(&["--format", "sarif"]), (String::new(), Some(2)));
}
