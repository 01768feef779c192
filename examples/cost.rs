//! What a scan costs, stage by stage: processor time and memory, on a generated tree of N files and on one of 2N, or on a tree
//! of yours. The second should cost about twice the first. With a command behind the path, a whole scan is held against that
//! command on the same tree, each in a process of its own (Linux).
//!
//!     cargo run --release --example cost [-- FILES | PATH [COMMAND [ARGUMENT..]]]
//!
//! The path is put behind the command's arguments: `cost -- PATH ast-grep scan --config examples/cost-rules/sgconfig.yml`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use lockcheck::facts::{FileFacts, facts};
use lockcheck::files::{Source, WalkOptions, read_tree};
use lockcheck::program::{Flattener, Instances, Tree, roles};
use lockcheck::rules::{FileRole, RuleSet, Rulebook};
use lockcheck::scan::{ScanOptions, scan};
use lockcheck::syntax;
use mimalloc::MiMalloc;
use rayon::prelude::*;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Bytes of stack a thread, as a scan's own threads have.
const STACK: usize = 64 << 20;

#[allow(clippy::print_stdout)]
fn main() -> anyhow::Result<()> {
    rayon::ThreadPoolBuilder::new().stack_size(STACK).build_global()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = words.first().map_or("1000", String::as_str);
    let Ok(files) = word.parse::<usize>() else {
        return match &words[..] {
            [path, whole] if whole == WHOLE => scan_only(Path::new(path)),
            [path, other, args @ ..] => compare(path, other, args),
            _ => measure(Path::new(word)),
        };
    };
    for files in [files, 2 * files] {
        let root = tempfile::tempdir()?;
        generate(root.path(), files)?;
        println!("\n{files} files");
        measure(root.path())?;
    }
    Ok(())
}

/// The word that makes this program do one whole scan and nothing else.
const WHOLE: &str = "--whole";

fn scan_only(root: &Path) -> anyhow::Result<()> {
    scan(&ScanOptions { root: root.to_path_buf(), ..ScanOptions::default() }, &|_| {}).map(drop)
}

/// A whole scan and another command on the same tree.
#[allow(clippy::print_stdout)]
fn compare(path: &str, other: &str, args: &[String]) -> anyhow::Result<()> {
    println!("{:<10} {:>8} {:>8} {:>8}", "program", "cpu s", "wall s", "peak MB");
    let own = std::env::current_exe()?;
    run("lockcheck", Command::new(own).args([path, WHOLE]))?;
    run(other.rsplit('/').next().unwrap_or(other), Command::new(other).args(args).arg(path))
}

/// Runs a program to its end. Its exit status says nothing here: a scanner that finds something does not give zero.
#[allow(clippy::print_stdout)]
fn run(name: &str, command: &mut Command) -> anyhow::Result<()> {
    let (wall, before) = (Instant::now(), cpu(CHILDREN)?);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().with_context(|| format!("cannot run {name}"))?;
    let mut peak: f64 = 0.0;
    while child.try_wait()?.is_none() {
        peak = memory(&child.id().to_string(), "VmHWM:").unwrap_or(0.0).max(peak);
        sleep(Duration::from_millis(5));
    }
    println!("{name:<10} {:>8.2} {:>8.2} {peak:>8.0}", cpu(CHILDREN)? - before, wall.elapsed().as_secs_f64());
    Ok(())
}

/// Runs the stages of a scan one after another, then a whole scan.
#[allow(clippy::print_stdout)]
fn measure(root: &Path) -> anyhow::Result<()> {
    println!("{:<10} {:>8} {:>8} {:>8}", "stage", "cpu s", "wall s", "rss MB");
    let mut clock = Clock::start();
    let book = Rulebook::load(&RuleSet::builtin())?;
    clock.lap("rules");
    let mut found = read_tree(root, WalkOptions::default())?;
    found.sources.retain(|source| book.reach.role(&source.path, std::iter::empty()) != FileRole::Test);
    clock.lap("read");
    let sources: Vec<&Source> = found.sources.iter().filter(|source| syntax::reads(source.language)).collect();
    let parse = |(index, source): (usize, &&Source)| -> Option<FileFacts> {
        let mut facts = facts(index as u32, syntax::parse(source)?);
        facts.slim();
        Some(facts)
    };
    let files: Vec<FileFacts> = sources.par_iter().enumerate().filter_map(parse).collect();
    clock.lap("parse");
    let functions = files.iter().flat_map(|file| &file.functions);
    let (functions, events) = functions.fold((0, 0), |(count, events), one| (count + 1, events + one.events.len()));
    let tree = Tree::new(files, sources.iter().map(|source| source.path.clone()).collect(), book);
    clock.lap("link");
    let roles = roles(&tree);
    let instances = Instances::new(&tree);
    clock.lap("reach");
    let flattener = Flattener::new(&tree);
    let all: Vec<_> = tree.all_functions().collect();
    let written: usize = all.par_iter().map(|function| flattener.flat(*function).events.len()).sum();
    clock.lap("flatten");
    let service = roles.iter().filter(|role| **role == FileRole::Service).count();
    drop(instances);
    drop(flattener);
    drop(tree);
    drop(found);
    let report = scan(&ScanOptions { root: root.to_path_buf(), ..ScanOptions::default() }, &|_| {})?;
    clock.lap("scan");
    println!(
        "{service} files of a service, {:.1} MB, {functions} functions, {events} events, {written} written out, {} findings",
        report.stats.bytes as f64 / 1e6,
        report.findings.len()
    );
    Ok(())
}

/// What has passed since the last lap.
struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    fn start() -> Clock {
        Clock { wall: Instant::now(), cpu: cpu(SELF).unwrap_or_default() }
    }

    #[allow(clippy::print_stdout)]
    fn lap(&mut self, stage: &str) {
        let now = cpu(SELF).unwrap_or_default();
        println!(
            "{stage:<10} {:>8.2} {:>8.2} {:>8.0}",
            now - self.cpu,
            self.wall.elapsed().as_secs_f64(),
            memory("self", "VmRSS:").unwrap_or_default()
        );
        *self = Clock { wall: Instant::now(), cpu: now };
    }
}

/// Where `/proc/self/stat` has the times of this process, and of those it waited for.
const SELF: usize = 11;
const CHILDREN: usize = 13;

/// Processor seconds (Linux).
fn cpu(of: usize) -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).context("no times in /proc/self/stat");
    Ok((ticks(of)? + ticks(of + 1)?) / 100.0)
}

/// Megabytes of a process in memory, now (`VmRSS:`) or at most (`VmHWM:`) (Linux).
fn memory(process: &str, what: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("no such line in /proc/*/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1e3)
}

/// A service of so many files: each has a class, a lock, a query and calls into the two files before it.
fn generate(root: &Path, files: usize) -> anyhow::Result<()> {
    for index in 0..files {
        let folder = root.join(format!("part{}", index / 50));
        fs::create_dir_all(&folder)?;
        let near = |back: usize| index.saturating_sub(back);
        let path = |at: usize| format!("../part{}/unit{at}", at / 50);
        let text = format!(
            "import {{ Mutex }} from 'async-mutex'\nimport {{ step{a} }} from '{}'\nimport {{ step{b} }} from '{}'\n\
             const lock{index} = new Mutex()\nconst seen = new Map<string, number>()\n\
             export class Store{index} {{\n  constructor(private db: any) {{}}\n  async load(id: string) {{\n    \
             return this.db.query('SELECT n FROM t{index} WHERE id = $1', [id])\n  }}\n}}\n\
             export async function step{index}(store: Store{index}, id: string) {{\n  const row = await store.load(id)\n  \
             if (!row || row.n > {index}) return null\n  seen.set(id, row.n)\n  const total = [1, 2, 3].map((n) => n * row.n)\n  \
             return lock{index}.runExclusive(async () => total.length + row.n)\n}}\n\
             export async function both{index}(store: any, id: string) {{\n  await step{a}(store, id)\n  await step{b}(store, id)\n}}\n",
            path(near(1)),
            path(near(2)),
            a = near(1),
            b = near(2),
        );
        fs::write(folder.join(format!("unit{index}.ts")), text)?;
    }
    Ok(())
}
