//! What a scan finds does not depend on how many threads look, nor on which function one of them comes to first: here on
//! functions that call each other in circles.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use lockcheck::facts::{FnRef, facts};
use lockcheck::files::{Source, WalkOptions, read_tree};
use lockcheck::program::{Flattener, Tree};
use lockcheck::rules::{RuleSet, Rulebook};
use lockcheck::syntax;

/// Files whose functions call on, back and across, under locks and around writes.
fn write_circles(root: &Path, files: usize) {
    for at in 0..files {
        let (next, far, back) = ((at + 1) % files, (at * 7 + 3) % files, (at + files - 1) % files);
        let mut text = String::from("import { Mutex } from 'async-mutex'\n");
        for other in [next, far, back].iter().filter(|other| **other != at).collect::<std::collections::BTreeSet<_>>() {
            writeln!(text, "import {{ visit{other} }} from './unit{other}'").unwrap();
        }
        let mut body = format!(
            "const lock = new Mutex()\nconst seen = new Set<string>()\n\
             export async function visit{at}(client: any, id: string, again: () => void) {{\n  \
             if (seen.has(id)) return null\n  await visit{next}(client, id, again)\n  seen.add(id)\n"
        );
        match at % 3 {
            0 => writeln!(
                body,
                "  await lock.runExclusive(async () => {{\n    const row = await client.query('SELECT n FROM t{at} WHERE id = $1', [id])\n    \
                 if (row.rows[0].n > 0) return\n    await client.query('UPDATE t{at} SET n = 1 WHERE id = $1', [id])\n    \
                 await visit{far}(client, id, again)\n  }})"
            ),
            1 => writeln!(body, "  if (id) await visit{back}(client, id, () => visit{far}(client, id, again))"),
            _ => writeln!(body, "  again()\n  return visit{far}(client, id, again)"),
        }
        .unwrap();
        body.push_str("}\n");
        fs::write(root.join(format!("unit{at}.ts")), text + &body).unwrap();
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let root = tempfile::tempdir().unwrap();
    write_circles(root.path(), 9);
    let report = |threads: usize| {
        let mut run = Command::new(assert_cmd::cargo::cargo_bin!("lockcheck"));
        let run = run.args(["scan", "--strict", "--format", "json"]).arg(root.path());
        let out = run.env("RAYON_NUM_THREADS", threads.to_string()).output().unwrap();
        let mut report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        report["stats"]["seconds"].take();
        report
    };
    let one = report(1);
    assert!(!one["findings"].as_array().unwrap().is_empty());
    for threads in [2, 8, 8] {
        assert_eq!(report(threads), one, "{threads} threads");
    }
}

#[test]
fn what_is_written_out_does_not_depend_on_what_was_before() {
    let root = tempfile::tempdir().unwrap();
    write_circles(root.path(), 7);
    let sources: Vec<Source> = read_tree(root.path(), WalkOptions::default()).unwrap().sources;
    let parsed = sources.iter().enumerate();
    let files = parsed.map(|(index, source)| facts(index as u32, syntax::parse(source).unwrap())).collect();
    let paths = sources.iter().map(|source| source.path.clone()).collect();
    let tree = Tree::new(files, paths, Rulebook::load(&RuleSet::builtin()).unwrap());
    let functions: Vec<FnRef> = tree.all_functions().collect();
    let alone = |function: &FnRef| format!("{:?}", Flattener::new(&tree).flat(*function));
    let first: Vec<String> = functions.iter().map(alone).collect();
    let seen = Flattener::new(&tree).each(|_| true, |flat| format!("{flat:?}"));
    assert_eq!(seen.into_iter().unzip::<_, _, Vec<FnRef>, Vec<String>>(), (functions.clone(), first.clone()));
    for step in [1, 5] {
        let flattener = Flattener::new(&tree);
        for at in (0..functions.len()).map(|at| at * step % functions.len()) {
            assert_eq!(format!("{:?}", flattener.flat(functions[at])), first[at], "after {step} steps, {:?}", functions[at]);
        }
        for at in (0..functions.len()).rev() {
            assert_eq!(format!("{:?}", flattener.flat(functions[at])), first[at], "backwards, {:?}", functions[at]);
        }
    }
}

/// One file whose `count` modules each take all that the others have: a name that none of them has leads from each to each.
fn write_rings(root: &Path, count: usize) {
    let mut text = String::new();
    for at in 0..count {
        writeln!(text, "pub mod part{at} {{\n    pub struct Own{at};\n}}\npub use self::part{at}::*;").unwrap();
    }
    text.push_str("pub fn job(made: Made) { made.save(); }\n");
    fs::write(root.join("lib.rs"), text).unwrap();
}

#[test]
fn names_that_lead_from_each_to_each_are_looked_for_once() {
    let root = tempfile::tempdir().unwrap();
    write_rings(root.path(), 40);
    let out = Command::new(assert_cmd::cargo::cargo_bin!("lockcheck")).arg("scan").arg(root.path()).output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
}
