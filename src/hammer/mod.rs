//! Fires identical requests at several copies in the same instant and judges what succeeded. It knows rules by their names
//! only, and nothing of source code.

mod answer;
mod blocked;
pub mod cli;
mod connection;
mod controls;
mod copies;
mod database;
mod diagnosis;
mod expect;
mod experiment;
mod expression;
mod freeze;
mod http2;
mod import;
mod interrupt;
mod job;
mod k6;
mod launch;
mod locator;
mod mask;
mod observation;
mod plan;
mod progress;
mod proof;
mod reader;
mod release;
mod report;
mod request;
pub mod scenario;
pub mod schema;
mod send_queue;
mod session;
mod state;
mod statistics;
mod tally;
mod template;
mod trust;
mod verdict;
mod volley;
mod witness;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use cli::{Format, HammerArgs};
use controls::conduct;
use copies::Copy;
pub use diagnosis::{Need, need};
use experiment::Experiment;
use interrupt::Interrupt;
use plan::{Plan, Source, Verify};
use proof::Run;
use report::{Outcome, Report};
use session::Session;
pub use verdict::Verdict;
use volley::Range;
use witness::Witness;

use crate::rules::Catalogue;

/// Runs the experiment that the arguments describe, or all of a plan, and writes the report to `out`.
///
/// An error means that something could not be judged; its message says what to do, and holds no secrets.
/// `summarise` is given a summary in Markdown, in the format that has one.
pub fn run(args: &HammerArgs, out: &mut dyn Write, summarise: &dyn Fn(&str)) -> Result<Verdict> {
    run_watched(args, out, &Outside { summarise, watch: &|_| {} })
}

/// What a run tells while it goes on, and beside its report.
pub struct Outside<'a> {
    /// Is given a summary in Markdown, in the format that has one.
    pub summarise: &'a dyn Fn(&str),
    /// Is told in a line how far the run has come.
    pub watch: &'a dyn Fn(&str),
}

/// The same, with words on how far it has come.
pub fn run_watched(args: &HammerArgs, out: &mut dyn Write, outside: &Outside<'_>) -> Result<Verdict> {
    if args.emit.is_some() {
        return emit(args, out);
    }
    let interrupt = Interrupt::listen().context("cannot listen for signals")?;
    let claims = args.findings.as_deref().map(proof::read).transpose()?;
    let Some(file) = &args.plan else {
        let report = judged(args, None, &interrupt, outside)?;
        let verdict = report.verdict;
        let runs = [Run { name: String::new(), proves: args.proves.clone(), came_to: Ok(&report) }];
        let proofs = claims.map(|claims| proof::prove(claims, &runs));
        publish(&Outcome { reports: vec![report], proofs }, args, out, outside.summarise)?;
        return Ok(verdict);
    };
    let (mut reports, mut errors) = (Vec::new(), Vec::new());
    let mut fates = Vec::new();
    for scenario in scenario::read(file, &args.only, &args.words)? {
        let report = if interrupt.raised() {
            Err(anyhow!("interrupted before it began"))
        } else {
            scenario.args.and_then(|args| judged(&args, Some(&scenario.name), &interrupt, outside))
        };
        let fate = match report {
            Ok(report) => {
                reports.push(report);
                Ok(reports.len() - 1)
            }
            Err(error) => {
                let error = format!("{error:#}");
                errors.push(format!("{}: {error}", scenario.name));
                Err(error)
            }
        };
        fates.push((scenario.name, scenario.proves, fate));
    }
    let verdict = reports.iter().map(|report| report.verdict).max();
    let proofs = claims.map(|claims| {
        let runs = fates.into_iter().map(|(name, proves, fate)| Run { name, proves, came_to: fate.map(|index| &reports[index]) });
        proof::prove(claims, &runs.collect::<Vec<_>>())
    });
    if !reports.is_empty() || proofs.is_some() {
        publish(&Outcome { reports, proofs }, args, out, outside.summarise)?;
    }
    match verdict {
        Some(verdict) if errors.is_empty() => Ok(verdict),
        _ => bail!(errors.join("\n")),
    }
}

/// Reads one scenario's options, runs it and judges it.
fn judged(args: &HammerArgs, name: Option<&str>, interrupt: &Interrupt, outside: &Outside<'_>) -> Result<Report> {
    let plan = planned(args, &|name| std::env::var(name).ok())?;
    let watch =
        |words: &str| (outside.watch)(&plan.mask.apply(&name.map_or(words.to_owned(), |name| format!("{name}: {words}"))));
    let mut report = experiment(&plan, interrupt, &watch).map_err(|error| anyhow!(plan.mask.apply(&format!("{error:#}"))))?;
    report.name = name.map(str::to_owned);
    Ok(report)
}

/// The plan that these options are, imports and files read.
fn planned(args: &HammerArgs, environment: &dyn Fn(&str) -> Option<String>) -> Result<Plan> {
    let imported = import::words(args)?.map(|found| scenario::over(found, &args.words)).transpose()?;
    let args = imported.as_ref().unwrap_or(args);
    let file = args
        .data_file
        .as_ref()
        .map(|file| std::fs::read_to_string(file).with_context(|| format!("--data-file {}: cannot be read", file.display())));
    let body = file.transpose()?.or_else(|| args.data.clone());
    Plan::new(args, body.as_deref(), environment)
}

/// Writes the script of a plan, or of one command line.
fn emit(args: &HammerArgs, out: &mut dyn Write) -> Result<Verdict> {
    // Secrets are read where the script runs.
    let environment = |name: &str| Some(k6::variable(name));
    let mut plans = Vec::new();
    match &args.plan {
        None => plans.push((None, planned(args, &environment)?)),
        Some(file) => {
            for scenario in scenario::read(file, &args.only, &args.words)? {
                plans.push((Some(scenario.name), planned(&scenario.args?, &environment)?));
            }
        }
    }
    write!(out, "{}", k6::script(&plans)?)?;
    Ok(Verdict::Held)
}

fn experiment(plan: &Plan, interrupt: &Interrupt, watch: &dyn Fn(&str)) -> Result<Report> {
    raise_file_limit();
    let tls = trust::client_config(&plan.trust)?;
    if let Some(Verify::Sql(query)) = &plan.verify {
        query.permit(&plan.allowed_hosts)?;
    }
    if let (Some(_), Source::Started(launch)) = (plan.job, &plan.source) {
        let (experiments, copies) = job::conduct(plan, launch, &tls, interrupt)?;
        return Ok(judge(plan, &copies, experiments, interrupt.raised()));
    }
    let mut witness = None;
    let mut fleet = match &plan.source {
        Source::Started(launch) => {
            let count = usize::from(launch.copies);
            if !plan.witness.is_empty() {
                witness = Some(Witness::listen(&plan.witness, count)?);
            }
            let environment = |copy| witness.as_ref().and_then(|witness| witness.environment(copy)).into_iter().collect();
            Some(launch::start(launch, (0..count).map(environment).collect(), &tls, interrupt)?)
        }
        Source::Running(_) => None,
    };
    let resolved: Vec<Copy> = match (&fleet, &plan.source) {
        (Some(fleet), _) => fleet.copies.clone(),
        (None, Source::Running(endpoints)) => copies::resolve(endpoints, &plan.allowed_hosts, plan.resolve_all)?,
        (None, Source::Started(_)) => Vec::new(),
    };
    let range = Range {
        copies: &resolved,
        tls: Arc::clone(&tls),
        hold: plan.hold,
        mechanism: plan.mechanism,
        parts: 1,
        timeout: plan.timeout,
        http2: plan.http2,
        frozen: Vec::new(),
        window: Duration::ZERO,
        interrupt: interrupt.clone(),
    };
    if resolved.len() > plan.requests {
        bail!("-n {}: fewer requests than copies ({}); raise -n so that each copy gets one", plan.requests, resolved.len());
    }
    let course = plan.course(resolved.len());
    let mut session = Session::new(plan, range, fleet.as_mut(), witness.as_ref());
    watch("the copies are ready");
    let mut seen = progress::Seen::new(plan.rounds);
    let experiments = conduct(course, &|| interrupt.raised(), &mut |order| {
        let experiment = session.carry_out(order);
        seen.add(&experiment);
        watch(&seen.in_words());
        experiment
    });

    let fallen = fleet.as_mut().map(launch::Fleet::fallen).unwrap_or_default();
    let nothing_seen = experiments.iter().all(|one| one.failure.is_some());
    if (nothing_seen || !fallen.is_empty())
        && let Some(fleet) = &mut fleet
    {
        fleet.keep_logs();
    }
    if nothing_seen {
        bail!(failure(&experiments, &fallen, interrupt.raised()));
    }
    let mut report = judge(plan, &resolved, experiments, interrupt.raised());
    report.why.extend(fallen);
    if report.verdict != Verdict::Held {
        report.why.extend(fleet.as_mut().map(|fleet| format!("The copies' logs are in {}.", fleet.keep_logs().display())));
    }
    Ok(report)
}

/// Writes the report where it is wanted; what was seen is written before anything can fail.
fn publish(outcome: &Outcome, args: &HammerArgs, out: &mut dyn Write, summarise: &dyn Fn(&str)) -> Result<()> {
    write!(out, "{}", report::render(outcome, args.format)?)?;
    out.flush()?;
    if args.format == Format::Github {
        summarise(&report::summary(outcome));
    }
    if let Some(file) = &args.html {
        let page = report::html::page(outcome, &Catalogue::builtin()?)?;
        std::fs::write(file, page).with_context(|| format!("--html {}: cannot be written", file.display()))?;
    }
    Ok(())
}

fn failure(experiments: &[Experiment], fallen: &[String], interrupted: bool) -> String {
    if interrupted {
        return "interrupted before anything was seen; copies that were started are stopped".to_owned();
    }
    let first = experiments.iter().find_map(|one| one.failure.clone());
    let mut words = first.unwrap_or_else(|| "nothing was fired".to_owned());
    for copy in fallen {
        words.push_str(&format!("\n{copy}"));
    }
    words
}

fn judge(plan: &Plan, copies: &[Copy], experiments: Vec<Experiment>, interrupted: bool) -> Report {
    let (verdict, mut why) = verdict::decide(&experiments, interrupted);
    let mut diagnosis = diagnosis::diagnose(&experiments, plan.expectation.limit());
    if plan.witness.iter().any(|route| route.rotates) {
        diagnosis = diagnosis::of_refreshes(diagnosis);
    }
    if plan.copy_from.is_some() && experiments.iter().any(|one| one.tally.by_copy.len() > 1) {
        // "One copy" of the controls was whichever the balancer chose.
        let broken = !diagnosis.rules.is_empty();
        diagnosis = diagnosis::Diagnosis::default();
        if broken {
            let words = "Which fault it is cannot be told through a balancer: name the copies, with --url or --replica.";
            diagnosis.why.push(words.to_owned());
        }
    }
    why.extend(diagnosis.why);
    let mut rules = diagnosis.rules;
    if plan.verify.is_some()
        && let Some((name, words)) = diagnosis::mismatch(&experiments, &plan.expectation)
    {
        rules.push(name);
        why.push(words);
    }
    why.extend(notes(plan, copies, &experiments, verdict));
    let names = served(plan, copies, &experiments);
    Report {
        name: None,
        verdict,
        diagnosis: rules,
        why,
        sent: experiments.iter().map(|one| one.tally.requests).sum(),
        experiments,
        expect: plan.expectation.source().to_owned(),
        request: match plan.job {
            Some(period) => format!("no request, {period:?}"),
            None => format!("{} {}", plan.request.method, target(plan)),
        },
        copies: names,
        mask: plan.mask.clone(),
    }
}

/// The names of the copies: behind a balancer, those that answers name.
fn served(plan: &Plan, copies: &[Copy], experiments: &[Experiment]) -> Vec<String> {
    if plan.copy_from.is_none() {
        return copies.iter().map(|copy| copy.name.clone()).collect();
    }
    let named = experiments.iter().flat_map(|one| &one.tally.by_copy).map(|part| part.copy.clone());
    named.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

/// What a reader must know beside the verdict.
fn notes(plan: &Plan, copies: &[Copy], experiments: &[Experiment], verdict: Verdict) -> Vec<String> {
    let mut notes = Vec::new();
    if plan.trust.insecure {
        notes.push("Certificates were not checked (--insecure): who answered is not known.".to_owned());
    }
    if !plan.controls && plan.job.is_none() {
        notes.push(
            "The controls did not run: without {{fresh}} in the request, or a --setup that makes a fresh state, every experiment \
             would hit the same entity. One volley was fired."
                .to_owned(),
        );
    }
    if plan.copy_from.is_some() {
        let seen = served(plan, copies, experiments);
        let reached = if seen.len() == 1 { "one copy only: a sticky balancer, or one that serves" } else { "these copies:" };
        notes.push(format!(
            "Behind one address, the controls cannot choose a copy. The answers name {reached} {}.",
            seen.join(", ")
        ));
    } else if copies.len() == 1 {
        notes.push(
            "One address was given: this says nothing of several copies unless a balancer stands there. Give --url once a copy, or \
             start copies with --run and --copies."
                .to_owned(),
        );
    }
    if verdict == Verdict::Broken
        && plan.criteria.effect_id.is_none()
        && plan.verify.is_none()
        && plan.witness.is_empty()
        && all_answers_equal(experiments)
    {
        notes.push(
            "The accepted answers are all alike. If each tells of one and the same effect, name the effect with --effect-id, for \
             example --effect-id json:$.order_id."
                .to_owned(),
        );
    }
    let mut remarks: Vec<String> = Vec::new();
    for one in experiments {
        for remark in &one.remarks {
            let sentence = format!("{}: {remark}.", one.cell.name().to_uppercase());
            if !remarks.contains(&sentence) {
                remarks.push(sentence);
            }
        }
    }
    notes.extend(remarks);
    notes
}

fn all_answers_equal(experiments: &[Experiment]) -> bool {
    let mut broken = experiments.iter().filter(|one| one.cell.is_volley() && one.holds == expect::Holds::No).peekable();
    broken.peek().is_some() && broken.all(|one| one.answers.len() == 1)
}

fn target(plan: &Plan) -> String {
    let template = match &plan.source {
        Source::Running(endpoints) => endpoints.first().map(|endpoint| &endpoint.target),
        Source::Started(launch) => Some(&launch.target),
    };
    template.map(|target| target.render(template::Values { fresh: "{{fresh}}", n: 1, captured: &[] })).unwrap_or_default()
}

/// A volley needs a file descriptor for each connection; the soft limit is often low.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        _ = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit });
    }
}
