//! How many copies run, as deployment files say it: each folder of `fixtures/deploy/` is a small tree, and what a scan says of
//! it is a snapshot. Every row of `rules/deploy/` that has a number finds one in some of them.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use lockcheck::faults::Role;
use lockcheck::files::{LineIndex, Source, WalkOptions, read_tree};
use lockcheck::findings::Report;
use lockcheck::rules::{RuleSet, Rulebook};
use lockcheck::scan::{ScanOptions, scan};
use lockcheck::syntax::data::{Format, Node, of_unit, read};
use lockcheck::syntax::parse;

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/deploy");
    let below = |folder: &Path| -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    below(&root).iter().flat_map(|platform| below(platform)).collect()
}

fn scanned(root: &Path, copies: Option<u32>) -> Report {
    scan(&ScanOptions { root: root.to_owned(), copies, ..ScanOptions::default() }, &|_| {}).unwrap()
}

#[test]
fn deployment_files_say_how_many_copies_run() {
    let mut said = String::new();
    for case in cases() {
        let report = scanned(&case, None);
        let name =
            case.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/deploy")).unwrap().display().to_string();
        let number = report.stats.copies.map_or("-".to_owned(), |number| number.to_string());
        assert!(report.gaps.is_empty(), "{name}: {:?}", report.gaps);
        let _ = writeln!(said, "{name}: {number}, {}", report.copies);
    }
    insta::assert_snapshot!(said);
}

#[test]
fn every_row_finds_a_number() {
    let book = Rulebook::load(&RuleSet::builtin()).unwrap();
    let options = WalkOptions { documents: book.deploy.files().map(str::to_owned).collect(), ..WalkOptions::default() };
    let mut nodes: Vec<(String, String, Format, Vec<Node>)> = vec![];
    for case in cases() {
        let tree = read_tree(&case, options.clone()).unwrap();
        for row in &book.deploy.units {
            for document in tree.documents.iter().filter(|document| row.speaks_of(&document.path, &document.text)) {
                nodes.push((document.path.clone(), document.text.clone(), row.format, read(row.format, &document.text)));
            }
        }
        nodes.extend(tree.sources.iter().filter_map(|source: &Source| {
            let data = of_unit(&parse(source)?, &LineIndex::new(&source.text));
            Some((source.path.clone(), source.text.clone(), Format::Code, vec![data]))
        }));
    }
    let mut missing = String::new();
    for row in &book.deploy.units {
        let fits = nodes.iter().filter(|(path, text, format, _)| *format == row.format && row.speaks_of(path, text));
        let units: Vec<&Node> = fits
            .flat_map(|(.., nodes)| nodes)
            .flat_map(|node| node.at(&row.each.0))
            .filter_map(|(_, unit)| unit.node())
            .collect();
        if units.is_empty() {
            let _ = writeln!(missing, "no fixture has {:?}", row.files);
        }
        for count in &row.counts {
            if !units.iter().any(|unit| !unit.at(&count.at.0).is_empty()) {
                let _ = writeln!(missing, "no fixture of {:?} has {:?}", row.files, count.at);
            }
        }
    }
    assert!(missing.is_empty(), "\n{missing}");
}

const LOCKED: &str = "import threading\nimport requests\nfrom flask import Flask\n\napp = Flask(__name__)\nlock = threading.Lock()\n\n\n@app.post(\"/pay\")\ndef pay(order, db):\n    with lock:\n        \
                      if db.execute(\"SELECT paid FROM orders WHERE id = %s\", order).fetchone():\n            return\n        \
                      requests.post(\"https://pay.example.com/charges\", json={\"order\": order})\n";

/// The copies hop of each finding by its path, and the confidence.
fn hops(report: &Report) -> Vec<(String, String, &'static str)> {
    let note = |finding: &lockcheck::faults::Finding| {
        finding.trace.iter().find(|hop| hop.role == Role::Copies).map_or("-".to_owned(), |hop| hop.note.clone())
    };
    report.findings.iter().map(|finding| (finding.at.path.clone(), note(finding), finding.confidence.name())).collect()
}

#[test]
fn a_finding_carries_the_copies_of_its_own_service() {
    let folder = tempfile::tempdir().unwrap();
    let compose = "services:\n  api:\n    build: ./services/api\n    deploy: { replicas: 3 }\n  jobs:\n    build:\n      context: .\n      dockerfile: services/jobs/Dockerfile\n    deploy: { replicas: 1 }\n";
    for (path, text) in [
        ("compose.yaml", compose),
        ("services/api/pay.py", LOCKED),
        ("services/jobs/pay.py", LOCKED),
        ("services/jobs/Dockerfile", "FROM python:3.12\nCMD [\"python\", \"pay.py\"]\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let report = scanned(folder.path(), None);
    assert_eq!((report.stats.copies, report.copies.as_str()), (Some(3), "3 copies: compose.yaml:4"));
    let mut found = hops(&report);
    found.sort();
    let notes: Vec<(&str, &str)> = found.iter().map(|(path, note, _)| (path.as_str(), note.as_str())).collect();
    assert_eq!(
        notes,
        [("services/api/pay.py", "3 copies: compose.yaml:4"), ("services/jobs/pay.py", "1 copy: compose.yaml:9")],
        "{found:?}"
    );
    assert_ne!(found[0].2, found[1].2, "one copy is less sure than three: {found:?}");
}

#[test]
fn the_users_number_overrides_and_one_silences_what_only_a_second_copy_breaks() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("pay.py"), LOCKED).unwrap();
    fs::write(folder.path().join("compose.yaml"), "services:\n  api:\n    build: .\n    scale: 3\n").unwrap();
    assert_eq!(hops(&scanned(folder.path(), None)).len(), 1);
    let many = scanned(folder.path(), Some(5));
    assert_eq!((many.stats.copies, many.copies.as_str(), hops(&many)[0].1.as_str()), (Some(5), "5 copies, as given", "-"));
    assert!(scanned(folder.path(), Some(1)).findings.is_empty());
    fs::write(folder.path().join("lockcheck.toml"), "copies = 1\n").unwrap();
    assert!(scanned(folder.path(), None).findings.is_empty());
    assert_eq!(hops(&scanned(folder.path(), Some(2))).len(), 1);
}
