//! Holds `scan` and `hammer` to what `fixtures/seeds/seeds.toml` says of each seed service, and prints both as a table.
//!
//! Hammer needs the stores that `tests/run` starts. `SEEDS_RUNS=20 tests/run hammer/` hammers each service twenty times.
//! The table in README.md is made of the same rows: `SEEDS_UPDATE=1 tests/run` writes it once all of them agree.
//! `SEEDS_VOLLEYS=200 tests/run volleys/` fires that many volleys at each: a sound one is never Broken, a faulty one never Held.

mod manifest;
mod readme;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use libtest_mimic::{Arguments, Failed, Trial};
use manifest::{Manifest, Requests, Seed};
use serde_json::Value;
use standing::Copies;

const COPIES: usize = 3;
/// Answered by a copy that can work.
const READY: &str = "/health";
/// Options under which a verdict is not about volleys alone.
const BESIDE_VOLLEYS: [&str; 3] = ["job", "stall", "kill"];

fn main() -> Result<ExitCode> {
    let mut arguments = Arguments::from_args();
    // Each volley wants the machine to itself.
    arguments.test_threads = Some(1);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/seeds");
    let text = std::fs::read_to_string(folder.join("seeds.toml")).context("seeds.toml cannot be read")?;
    let manifest: Arc<Manifest> = Arc::new(toml::from_str(&text).context("seeds.toml")?);
    let board = Arc::new(Board::default());
    let conclusion = libtest_mimic::run(&arguments, trials(&folder, &manifest, &board)?);
    std::io::stdout().write_all(board.table().as_bytes())?;
    if env::var_os(readme::UPDATE).is_some() && !arguments.list {
        ensure!(conclusion.num_filtered_out == 0 && !conclusion.has_failed(), "README.md is written once every row agrees");
        readme::write(&manifest)?;
    }
    Ok(conclusion.exit_code())
}

fn trials(folder: &Path, manifest: &Arc<Manifest>, board: &Arc<Board>) -> Result<Vec<Trial>> {
    let mut trials = Vec::new();
    if env::var_os(readme::UPDATE).is_none() {
        let manifest = Arc::clone(manifest);
        trials.push(Trial::test("readme", move || Ok(readme::compare(&manifest)?)));
    }
    for language in manifest.languages.keys() {
        for index in 0..manifest.seed.len() {
            let service = Arc::new(Service {
                manifest: Arc::clone(manifest),
                index,
                language: language.clone(),
                folder: folder.join(language).join(&manifest.seed[index].variant),
            });
            let name = service.name();
            if service.seed().verdict.is_some() {
                let (service, board) = (Arc::clone(&service), Arc::clone(board));
                trials.push(Trial::test(format!("hammer/{name}"), move || judge_hammer(&service, &board)));
            }
            if let Some(volleys) = number("SEEDS_VOLLEYS")?
                && service.is_told_by_volleys()
            {
                let (service, board) = (Arc::clone(&service), Arc::clone(board));
                trials.push(Trial::test(format!("volleys/{name}"), move || judge_volleys(&service, volleys, &board)));
            }
            if service.seed().scan.is_some() {
                let board = Arc::clone(board);
                trials.push(Trial::test(format!("scan/{name}"), move || judge_scan(&service, &board)));
            }
        }
    }
    Ok(trials)
}

/// One variant in one language.
struct Service {
    manifest: Arc<Manifest>,
    index: usize,
    language: String,
    folder: PathBuf,
}

impl Service {
    fn seed(&self) -> &Seed {
        &self.manifest.seed[self.index]
    }

    fn name(&self) -> String {
        let case = self.seed().case.as_ref().map(|case| format!("-{case}")).unwrap_or_default();
        format!("{}/{}{case}", self.language, self.seed().variant)
    }

    fn requests(&self) -> Result<&Requests> {
        let name = self.seed().requests.as_ref().with_context(|| format!("{} has no requests", self.name()))?;
        self.manifest.requests.get(name).with_context(|| format!("there are no requests `{name}`"))
    }

    fn is_told_by_volleys(&self) -> bool {
        let beside = |requests: &Requests| BESIDE_VOLLEYS.iter().any(|name| requests.options.contains_key(*name));
        self.seed().verdict.is_some() && !self.requests().is_ok_and(beside)
    }

    /// An empty database with the service's schema, and what its copies find in their environment.
    fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        let own = self.manifest.languages[&self.language].env.iter();
        let mut all: Vec<(OsString, OsString)> = own.map(|(name, value)| (name.into(), value.into())).collect();
        all.push(("DATABASE_URL".into(), fresh_database(self)?.into()));
        all.push(("REDIS_URL".into(), from_tests_run("LOCKCHECK_TEST_REDIS_URL")?.into()));
        all.push(("PATH".into(), path_with_python()?));
        Ok(all)
    }

    /// What a shell runs to start a copy.
    fn run(&self) -> Result<String> {
        Ok(format!("{}{}", self.requests()?.shell, self.manifest.languages[&self.language].run))
    }

    /// Copies for many runs of hammer; none where each run plays the provider that they ask.
    fn stand(&self) -> Result<Option<Copies>> {
        if self.requests()?.options.contains_key("witness") {
            return Ok(None);
        }
        let (run, environment) = (self.run()?, self.environment()?);
        let commands = (0..COPIES).map(|_| {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(&run).current_dir(&self.folder).envs(environment.iter().cloned());
            shell
        });
        Copies::start(commands, READY).map(Some)
    }
}

fn judge_scan(service: &Service, board: &Board) -> Result<(), Failed> {
    let seed = service.seed();
    let expected = seed.scan.clone().unwrap_or_default();
    let all = scan(&service.folder).map_err(|error| format!("{error:#}"));
    let said = all.as_ref().map(|all| {
        let of = |levels: &[&str]| -> BTreeSet<String> {
            all.iter().filter(|(level, _)| levels.contains(&level.as_str())).map(|(_, rule)| rule.clone()).collect()
        };
        (of(&["error", "warning"]), of(&["advice"]))
    });
    board.note(&service.name(), |row| {
        row.scan_expected = rules(&expected);
        row.scan_said = said.as_ref().map_or_else(|_| "error".to_owned(), |(said, _)| rules(said));
    });
    let (said, advice) = said.map_err(String::clone)?;
    if said != expected {
        return Err(format!("expected {}, scan says {}", rules(&expected), rules(&said)).into());
    }
    match advice.is_superset(&seed.advice) {
        true => Ok(()),
        false => Err(format!("expected the advice {}, scan gives {}", rules(&seed.advice), rules(&advice)).into()),
    }
}

/// The severities and rules of what is found.
fn scan(folder: &Path) -> Result<BTreeSet<(String, String)>> {
    let report = report(lockcheck().args(["scan", "--strict", "--format", "json"]).arg(folder))?.0;
    let findings = report["findings"].as_array().context("the report has no findings")?;
    let text = |finding: &Value, name: &str| finding[name].as_str().map(str::to_owned);
    findings
        .iter()
        .map(|finding| text(finding, "severity").zip(text(finding, "rule")).context("a finding has no severity or rule"))
        .collect()
}

fn judge_hammer(service: &Service, board: &Board) -> Result<(), Failed> {
    let runs = number("SEEDS_RUNS").map_err(|error| format!("{error:#}"))?.unwrap_or(1);
    let expected = Judgement::expected(service.seed());
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    let mut reasons = Vec::new();
    for run in 1..=runs {
        match hammer(service, None, service.seed().rounds, &[]) {
            Ok((judgement, report)) => {
                let why = strings(&report["why"]).join("\n");
                *said.entry(judgement.in_short(service.seed())).or_default() += 1;
                if !judgement.agrees_with(service.seed()) {
                    reasons.push(format!("run {run}: expected {expected}, hammer says {judgement}\n{why}"));
                }
            }
            Err(error) => {
                *said.entry("error".to_owned()).or_default() += 1;
                reasons.push(format!("run {run}: {error:#}"));
            }
        }
    }
    board.note(&service.name(), |row| {
        row.hammer_expected = expected.to_string();
        row.hammer_said = said.iter().map(|(words, times)| format!("{words} ({times})")).collect::<Vec<_>>().join("; ");
        row.agreed = format!("{} of {runs}", runs - reasons.len());
    });
    if reasons.is_empty() { Ok(()) } else { Err(reasons.join("\n").into()) }
}

/// Fires at least so many volleys at one copy and at all: no verdict may be the opposite of the truth.
fn judge_volleys(service: &Service, least: usize, board: &Board) -> Result<(), Failed> {
    let truth = service.seed().verdict.clone().unwrap_or_default();
    let opposite = if truth == "held" { "broken" } else { "held" };
    // A sound service is fired at until the rounds are over: at one copy and at all, a volley each.
    let rounds = if truth == "held" { Some(u32::try_from(least.div_ceil(2))?) } else { service.seed().rounds };
    let mut standing = service.stand().map_err(|error| format!("{error:#}"))?;
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let mut volleys: BTreeMap<&str, usize> = BTreeMap::new();
    while volleys.values().sum::<usize>() < least {
        // The services have one database and no replica of it: nothing has to settle between requests.
        let fire = |copies: Option<&Copies>| hammer(service, copies, rounds, &["--settle", "10ms"]);
        let mut fired = fire(standing.as_ref());
        // A fault may leave copies behind that answer nobody: then each run has its own.
        if fired.is_err() && standing.take().is_some() {
            fired = fire(None);
        }
        let (judgement, report) = fired.map_err(|error| format!("{error:#}"))?;
        *verdicts.entry(judgement.verdict.clone()).or_default() += 1;
        let fired = report["experiments"].as_array().into_iter().flatten();
        let fired: Vec<_> = fired.filter(|one| one["name"] == "c3" || one["name"] == "c4").collect();
        if fired.is_empty() {
            return Err(format!("no volley was fired: {}", strings(&report["why"]).join("\n")).into());
        }
        for volley in fired {
            let kind = match volley["holds"].as_bool() {
                Some(true) => "without a duplicate",
                Some(false) => "with duplicates",
                None => "undecided",
            };
            *volleys.entry(kind).or_default() += 1;
        }
        if judgement.verdict == opposite {
            return Err(format!("{judgement}: {}", strings(&report["why"]).join("\n")).into());
        }
    }
    let told = |counts: Vec<(String, usize)>| {
        counts.into_iter().map(|(what, count)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    };
    let volleys = told(volleys.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect());
    board.note(&service.name(), |row| {
        row.hammer_expected = format!("never {opposite}");
        row.hammer_said = format!("{}; volleys: {volleys}", told(verdicts.into_iter().collect()));
    });
    Ok(())
}

/// The number in an environment variable, if it is set.
fn number(variable: &str) -> Result<Option<usize>> {
    let value = env::var(variable).ok();
    value.map(|value| value.parse().with_context(|| format!("{variable}={value} is no number"))).transpose()
}

/// What hammer said, or should say.
struct Judgement {
    verdict: String,
    fails: Option<String>,
    diagnosis: Vec<String>,
    /// In the experiment of the expected cell that had most of them.
    effects: Option<u64>,
}

impl Judgement {
    fn expected(seed: &Seed) -> Judgement {
        Judgement {
            verdict: seed.verdict.clone().unwrap_or_default(),
            fails: seed.fails.clone(),
            diagnosis: seed.compatible.iter().cloned().collect(),
            effects: None,
        }
    }

    fn agrees_with(&self, seed: &Seed) -> bool {
        seed.verdict.as_ref() == Some(&self.verdict)
            && self.fails == seed.fails
            && seed.compatible.iter().all(|rule| self.diagnosis.contains(rule))
            && !seed.incompatible.iter().any(|rule| self.diagnosis.contains(rule))
            && seed
                .effects
                .as_ref()
                .is_none_or(|expected| self.effects.is_some_and(|effects| (expected.least..=expected.most).contains(&effects)))
    }

    /// Names the expected rule only, where the diagnosis holds it.
    fn in_short(&self, seed: &Seed) -> String {
        let mut words = match (&self.fails, &seed.compatible) {
            (Some(cell), Some(rule)) if self.diagnosis.contains(rule) => {
                format!("{}, {cell}: {rule} or {} more", self.verdict, self.diagnosis.len() - 1)
            }
            _ => self.to_string(),
        };
        if let (Some(expected), Some(effects)) = (&seed.effects, self.effects) {
            words.push_str(&format!(", {effects} effects in {}", expected.cell));
        }
        words
    }
}

impl std::fmt::Display for Judgement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.verdict)?;
        if let Some(cell) = &self.fails {
            write!(f, ", {cell}: {}", self.diagnosis.join(" "))?;
        }
        Ok(())
    }
}

/// Fires at these copies, or at three of its own on a database of their own, and reads the report.
fn hammer(service: &Service, standing: Option<&Copies>, rounds: Option<u32>, more: &[&str]) -> Result<(Judgement, Value)> {
    let seed = service.seed();
    let mut command = lockcheck();
    command.current_dir(&service.folder).args(["hammer", "--format", "json"]).args(service.requests()?.arguments()?);
    match standing {
        Some(copies) => command.args(copies.urls().flat_map(|url| ["--url".to_owned(), url])),
        None => command
            .envs(service.environment()?)
            .args(["--ready", READY, "--run", &service.run()?])
            .args(["--copies", &COPIES.to_string()]),
    };
    if let Some(rounds) = rounds {
        command.args(["--rounds", &rounds.to_string()]);
    }
    command.args(more);
    let (report, output) = report(&mut command)?;
    let verdict = report["verdict"].as_str().context("the report has no verdict")?.to_owned();
    let status = match verdict.as_str() {
        "held" => 0,
        "broken" => 1,
        _ => 3,
    };
    ensure!(output.status.code() == Some(status), "{verdict} goes with exit status {status}, not {}", output.status);
    let (fails, diagnosis) = (first_failing(&report), strings(&report["diagnosis"]));
    let effects = seed.effects.as_ref().and_then(|expected| most_effects(&report, &expected.cell));
    let judgement = Judgement { verdict, fails, diagnosis, effects };
    Ok((judgement, report))
}

/// The cells have an order: c0 before c1 and so on, however their rounds take turns.
fn first_failing(report: &Value) -> Option<String> {
    let experiments = report["experiments"].as_array()?;
    let failed = experiments.iter().filter(|one| one["holds"] == Value::Bool(false));
    failed.filter_map(|one| one["name"].as_str().map(str::to_owned)).min()
}

fn most_effects(report: &Value, cell: &str) -> Option<u64> {
    let experiments = report["experiments"].as_array()?;
    experiments.iter().filter(|one| one["name"] == cell).filter_map(|one| one["effects"].as_u64()).max()
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// An empty database with the service's schema; returns its URL.
fn fresh_database(service: &Service) -> Result<String> {
    let server = from_tests_run("LOCKCHECK_TEST_DATABASE_URL")?;
    let (host, _) = server.rsplit_once('/').context("LOCKCHECK_TEST_DATABASE_URL does not end in a database")?;
    let name = format!("seed_{}", service.name().replace(['/', '-'], "_"));
    let url = format!("{host}/{name}");
    let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    psql(&server, &["-c".into(), drop.into(), "-c".into(), format!("CREATE DATABASE {name}").into()])?;
    psql(&url, &["-f".into(), service.folder.join("schema.sql").into()])?;
    Ok(url)
}

fn psql(url: &str, arguments: &[OsString]) -> Result<()> {
    let output = Command::new("psql").args(["-q", "-v", "ON_ERROR_STOP=1", url]).args(arguments).output();
    let output = output.context("cannot run psql")?;
    ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn from_tests_run(variable: &str) -> Result<String> {
    env::var(variable).with_context(|| format!("{variable} is not set; run the tests with tests/run, which starts the stores"))
}

/// `python` is the interpreter that has the services' packages.
fn path_with_python() -> Result<OsString> {
    let python = PathBuf::from(from_tests_run("LOCKCHECK_TEST_PYTHON")?);
    let folder = python.parent().context("LOCKCHECK_TEST_PYTHON is no path")?.to_path_buf();
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(std::iter::once(folder).chain(env::split_paths(&path)))?)
}

fn lockcheck() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lockcheck"))
}

/// Runs the command and reads the JSON it prints; status 2 is an error.
fn report(command: &mut Command) -> Result<(Value, Output)> {
    let output = command.output().context("cannot run lockcheck")?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if !matches!(output.status.code(), Some(0 | 1 | 3)) {
        bail!("lockcheck ended with {}: {words}", output.status);
    }
    let report =
        serde_json::from_slice(&output.stdout).with_context(|| format!("lockcheck printed no JSON; it said: {words}"))?;
    Ok((report, output))
}

fn rules(rules: &BTreeSet<String>) -> String {
    if rules.is_empty() { "nothing".to_owned() } else { rules.iter().cloned().collect::<Vec<_>>().join(" ") }
}

/// What was expected and said, by service.
#[derive(Default)]
struct Board(Mutex<BTreeMap<String, Row>>);

#[derive(Default)]
struct Row {
    scan_expected: String,
    scan_said: String,
    hammer_expected: String,
    hammer_said: String,
    agreed: String,
}

impl Board {
    fn note(&self, service: &str, change: impl FnOnce(&mut Row)) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(rows.entry(service.to_owned()).or_default());
    }

    fn table(&self) -> String {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.is_empty() {
            return String::new();
        }
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["seed", "scan should say", "scan says", "hammer should say", "hammer says", "runs that agree"]);
        for (service, row) in rows.iter() {
            table.add_row([service, &row.scan_expected, &row.scan_said, &row.hammer_expected, &row.hammer_said, &row.agreed]);
        }
        format!("{table}\n")
    }
}
