//! Packs are exercised: a small file per library, under `fixtures/<language>/<library>/rows/`, calls every row, and what each
//! call is taken to mean is a snapshot.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lockcheck::facts::{Act, FnRef, Value, facts};
use lockcheck::files::{Language, Source, WalkOptions, read_tree};
use lockcheck::program::{Column, Declaration, Flattener, Meant, Statement, Tree, What, decorator, meaning};
use lockcheck::rules::{Meaning, Pack, RuleSet, Rulebook};
use lockcheck::syntax;

/// Packs of languages' own libraries, which have no fixture of their own yet.
const BARE: &[&str] = &["stdlib"];

/// What a fixture has to call.
#[derive(Clone, Copy, PartialEq)]
enum Grain {
    /// One of the paths of each row.
    Row,
    /// Every path of each row.
    Path,
}

#[test]
fn javascript() {
    check(Language::JavaScript, "javascript", Grain::Path);
}

#[test]
fn python() {
    check(Language::Python, "python", Grain::Row);
}

#[test]
fn rust() {
    check(Language::Rust, "rust", Grain::Row);
}

/// Prints every library's fixture and says which rows, or paths of rows, it does not call.
fn check(language: Language, folder: &str, grain: Grain) {
    let book = book();
    let Some(packs) = book.packs.get(&language) else { return };
    let mut idle: Vec<String> = vec![];
    for pack in packs.packs() {
        let library = pack.library.name.as_str();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder).join(library).join("rows");
        if !root.is_dir() {
            if !BARE.contains(&library) {
                idle.push(format!("{library}: there is no {}", root.display()));
            }
            continue;
        }
        let fixture = Fixture::read(&root);
        let mut called = fixture.called(library);
        // Rows that hold where a setting keeps everything in one process.
        let of_one_process = root.with_file_name("rows_of_one_process");
        if of_one_process.is_dir() {
            called.extend(Fixture::read(&of_one_process).called(library));
        }
        let missed = |at: &(usize, String)| match grain {
            Grain::Path => !called.contains(at),
            Grain::Row => !called.iter().any(|(row, _)| *row == at.0),
        };
        idle.extend(paths(pack).filter(missed).map(|(row, path)| format!("{library}: row {row}, {path}")));
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_snapshot_path(PathBuf::from("snapshots/packs"));
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format!("{folder}-{library}"), fixture.print()));
    }
    assert!(idle.is_empty(), "no fixture calls these:\n{}", idle.join("\n"));
}

/// The packs as they stand in the tree.
fn book() -> Rulebook {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let set = RuleSet::with(&[rules]).expect("the rules can be read");
    Rulebook::load(&set).unwrap_or_else(|error| panic!("{error}"))
}

/// Every path of every row, with the row's place.
fn paths(pack: &Pack) -> impl Iterator<Item = (usize, String)> {
    pack.calls.iter().enumerate().flat_map(|(row, call)| call.on.iter().map(move |path| (row, path.clone())))
}

struct Fixture {
    sources: Vec<Source>,
    tree: Tree,
}

impl Fixture {
    fn read(root: &Path) -> Fixture {
        let found = read_tree(root, WalkOptions::default()).expect("the fixture can be read");
        let mut files = vec![];
        let mut sources = vec![];
        for source in found.sources {
            if let Some(unit) = syntax::parse(&source) {
                files.push(facts(files.len() as u32, unit));
                sources.push(source);
            }
        }
        let names = sources.iter().map(|source| source.path.clone()).collect();
        Fixture { tree: Tree::new(files, names, book()), sources }
    }

    /// What every call and decorator means that a row of a pack speaks of.
    fn meant(&self) -> Vec<(FnRef, u32, Meant)> {
        let mut found = vec![];
        for function in self.tree.all_functions() {
            let Some(facts) = self.tree.facts(function) else { continue };
            for event in &facts.events {
                if let Act::Call { callee, args, .. } = &event.act
                    && let Some(meant) = meaning(&self.tree, callee, args, function.file)
                {
                    found.push((function, event.span.start, meant));
                }
            }
            // Members that are asked, not called.
            for cond in facts.conds.iter().filter(|cond| matches!(cond.value, Value::Member(..))) {
                let asked = meaning(&self.tree, &cond.value, &[], function.file);
                let asked = asked.filter(|meant| meant.is == Meaning::InTransaction);
                found.extend(asked.map(|meant| (function, cond.span.start, meant)));
            }
            for (value, span) in &facts.decorators {
                found.extend(decorator(&self.tree, value, function.file).map(|meant| (function, span.start, meant)));
            }
        }
        found
    }

    /// What declarations of tables mean: attributes and decorators of classes and fields, steps on a builder that a callback is given.
    fn declared(&self) -> Vec<(u32, u32, Meant)> {
        let declared = Declaration::all(&self.tree).into_iter();
        declared.map(|declared| (declared.file, declared.span.start, declared.meant)).collect()
    }

    /// The paths of a library's rows that are called.
    fn called(&self, library: &str) -> BTreeSet<(usize, String)> {
        let mut called = BTreeSet::new();
        let called_here = self.meant().into_iter().map(|(function, _, meant)| (function.file, meant));
        for (file, meant) in called_here.chain(self.declared().into_iter().map(|(file, _, meant)| (file, meant))) {
            let packs = self.tree.packs(file);
            let Some(pack) = packs.packs().iter().find(|pack| pack.library.name == *meant.library) else { continue };
            if *meant.library != *library {
                continue;
            }
            let row = &pack.calls[meant.row];
            let path = meant.path.strip_prefix(&format!("{library}:")).unwrap_or(&meant.path);
            let names = |on: &str| {
                on == path || on.strip_suffix("()") == Some(path) || row.any_receiver && on.rsplit('.').next() == Some(path)
            };
            called.extend(row.on.iter().filter(|on| names(on)).map(|on| (meant.row, on.clone())));
        }
        called
    }

    /// One line per call that means something: where, what, by which path, and the parts.
    fn print(&self) -> String {
        let flattener = Flattener::new(&self.tree);
        let mut lines: BTreeSet<(u32, u32, String)> = BTreeSet::new();
        for function in self.tree.all_functions() {
            for event in flattener.flat(function).events.iter().filter(|event| event.hops.is_empty()) {
                let what = match &event.what {
                    What::Nothing => continue,
                    What::Meant(meant) => print_meant(meant),
                    What::Statement(statement) => print_statement(statement),
                    What::Kv(kv) => {
                        let ttl = kv.ttl.as_ref().map_or(String::new(), |ttl| format!(" ttl={}", short(ttl)));
                        let flags = [(kv.only_new, " only-new"), (kv.seconds, " seconds"), (!kv.sure, " unsure")];
                        let script = kv.script.map_or(String::new(), |script| format!(" {script:?}"));
                        format!("kv {:?}{script} key={} value={}{ttl}{}", kv.op, short(&kv.key), short(&kv.value), set(&flags))
                    }
                    What::Presumed(presumed) => format!("presumed {} of {:?}", presumed.name, presumed.owner),
                };
                lines.insert((event.at.file, self.line(event.at.file, event.at.span.start), what));
            }
            for (value, span) in self.tree.facts(function).map_or(&[][..], |facts| &facts.decorators) {
                if let Some(meant) = decorator(&self.tree, value, function.file) {
                    let line = self.line(function.file, span.start);
                    lines.insert((function.file, line, format!("decorator {}", print_meant(&meant))));
                }
            }
        }
        for (file, at, meant) in self.declared() {
            lines.insert((file, self.line(file, at), format!("declares {}", print_meant(&meant))));
        }
        lines.into_iter().map(|(file, line, what)| format!("{}:{line}: {what}\n", self.sources[file as usize].path)).collect()
    }

    fn line(&self, file: u32, at: u32) -> u32 {
        self.sources[file as usize].lines.position(at).0
    }
}

fn print_meant(meant: &Meant) -> String {
    let parts: Vec<String> = meant.parts.iter().map(|(name, value)| format!(" {name}={}", short(value))).collect();
    format!("{:?} {}{}{}", meant.is, meant.path, parts.concat(), if meant.sure { "" } else { " unsure" })
}

fn print_statement(statement: &Statement) -> String {
    let columns = |columns: &[Column]| -> String {
        let columns: Vec<String> = columns.iter().map(|column| format!("{} {:?}", column.name, column.kind)).collect();
        columns.join(", ")
    };
    let flags = [
        (statement.conflict, " conflict"),
        (statement.keyed, " keyed"),
        (statement.either, " either"),
        (statement.row_lock, " row-lock"),
        (statement.returning, " returning"),
        (statement.counts, " counts"),
        (statement.max, " max"),
        (statement.tries, " tries"),
        (statement.subquery, " subquery"),
        (!statement.sure, " unsure"),
    ];
    format!(
        "{:?} {} sets [{}] wheres [{}]{}",
        statement.op,
        statement.table.as_deref().unwrap_or("?"),
        columns(&statement.sets),
        columns(&statement.wheres),
        set(&flags)
    )
}

fn set(flags: &[(bool, &str)]) -> String {
    flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect()
}

/// A value in a few letters: texts and numbers as they are, the rest by its kind.
fn short(value: &lockcheck::facts::Value) -> String {
    use lockcheck::facts::Value;
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Template(_) => format!("{:?}", value.text().unwrap_or_default()),
        Value::Module(_, name) | Value::Global(name) | Value::Captured(_, name) => name.to_string(),
        Value::Member(of, name) => format!("{}.{name}", short(of)),
        Value::Object(_, entries) => {
            let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key}: {}", short(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::List(items) => format!("[{}]", items.iter().map(short).collect::<Vec<_>>().join(", ")),
        Value::Function(_) => "function".into(),
        Value::Flat(_) | Value::Result(..) => "result".into(),
        Value::Param(..) => "param".into(),
        Value::This(_) => "this".into(),
        Value::Null => "null".into(),
        Value::Op(op, pair) => format!("{} {op:?} {}", short(&pair[0]), short(&pair[1])),
        _ => "value".into(),
    }
}
