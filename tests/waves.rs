//! A scan passes over files in which nothing can happen. It must find what a scan of every file finds: here on all fixtures,
//! library by library, on the seeds, and on a project whose lock lives off a table of names.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};

use lockcheck::findings::Report;
use lockcheck::scan::{ScanOptions, scan};

fn report(root: &Path, every_file: bool) -> Report {
    let options = ScanOptions { root: root.to_path_buf(), strict: true, every_file, ..ScanOptions::default() };
    scan(&options, &|_| {}).unwrap()
}

fn same_with_every_file(root: &Path) -> usize {
    let (some, all) = (report(root, false), report(root, true));
    let said = |report: &Report| format!("{:#?} {:#?}", report.findings, report.inventory);
    assert_eq!(said(&some), said(&all), "{}", root.display());
    all.findings.len()
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir() && !path.ends_with("node_modules")).collect()
}

#[test]
fn fixtures_and_seeds_give_the_same_findings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let languages = ["javascript", "python", "rust"].map(|language| root.join(language));
    let libraries = languages.iter().filter(|folder| folder.is_dir()).flat_map(|folder| folders(folder));
    let seeds = ["node", "python"].map(|language| root.join("seeds").join(language));
    let found: usize = libraries.chain(seeds).map(|folder| same_with_every_file(&folder)).sum();
    assert!(found > 100, "the fixtures are full of faults, but only {found} were found");
}

#[test]
fn a_table_that_a_finding_needs_is_read() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let server = "import { Mutex } from 'async-mutex'\nimport { names } from './names'\nconst lock = new Mutex()\n\
                  export async function pay(client, id) {\n  await lock.runExclusive(async () => {\n    \
                  const row = await client.query(names.read, [id])\n    if (row.rows[0].paid) return\n    \
                  await client.query(names.pay, [id])\n  })\n}\n";
    write("src/pay.ts", server);
    write("src/names.ts", "export { names } from './tables/names'\n");
    let names = "export const names = {\n  read: 'SELECT paid FROM orders WHERE id = $1',\n  \
                 pay: 'UPDATE orders SET paid = true WHERE id = $1',\n}\n";
    write("src/tables/names.ts", names);
    write("src/tables/colours.ts", "export const colours = ['red', 'green']\n");
    assert!(same_with_every_file(root.path()) > 0);
}
