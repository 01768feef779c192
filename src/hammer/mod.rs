//! Fires identical requests at several copies in the same instant and judges what succeeded. It knows rules by their names
//! only, and nothing of source code.

mod answer;
pub mod cli;
mod connection;
mod controls;
mod copies;
mod database;
mod diagnosis;
mod expect;
mod experiment;
mod expression;
mod import;
mod interrupt;
mod launch;
mod locator;
mod mask;
mod observation;
mod plan;
mod proof;
mod release;
mod report;
mod request;
pub mod scenario;
mod send_queue;
mod session;
mod state;
mod statistics;
mod tally;
mod template;
mod trust;
mod verdict;
mod volley;

use std::io::Write;
use std::sync::Arc;

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

use crate::rules::Catalogue;

/// Runs the experiment that the arguments describe, or all of a plan, and writes the report to `out`.
///
/// An error means that something could not be judged; its message says what to do, and holds no secrets.
/// `summarise` is given a summary in Markdown, in the format that has one.
pub fn run(args: &HammerArgs, out: &mut dyn Write, summarise: &dyn Fn(&str)) -> Result<Verdict> {
    let interrupt = Interrupt::listen().context("cannot listen for signals")?;
    let claims = args.findings.as_deref().map(proof::read).transpose()?;
    let Some(file) = &args.plan else {
        let report = judged(args, None, &interrupt)?;
        let verdict = report.verdict;
        let runs = [Run { name: String::new(), proves: args.proves.clone(), came_to: Ok(&report) }];
        let proofs = claims.map(|claims| proof::prove(claims, &runs));
        publish(&Outcome { reports: vec![report], proofs }, args, out, summarise)?;
        return Ok(verdict);
    };
    let (mut reports, mut errors) = (Vec::new(), Vec::new());
    let mut fates = Vec::new();
    for scenario in scenario::read(file, &args.only, &args.words)? {
        let report = if interrupt.raised() {
            Err(anyhow!("interrupted before it began"))
        } else {
            scenario.args.and_then(|args| judged(&args, Some(&scenario.name), &interrupt))
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
        publish(&Outcome { reports, proofs }, args, out, summarise)?;
    }
    match verdict {
        Some(verdict) if errors.is_empty() => Ok(verdict),
        _ => bail!(errors.join("\n")),
    }
}

/// Reads one scenario's options, runs it and judges it.
fn judged(args: &HammerArgs, name: Option<&str>, interrupt: &Interrupt) -> Result<Report> {
    let imported = import::words(args)?.map(|found| scenario::over(found, &args.words)).transpose()?;
    let args = imported.as_ref().unwrap_or(args);
    let file = args
        .data_file
        .as_ref()
        .map(|file| std::fs::read_to_string(file).with_context(|| format!("--data-file {}: cannot be read", file.display())));
    let body = file.transpose()?.or_else(|| args.data.clone());
    let plan = Plan::new(args, body.as_deref(), &|name| std::env::var(name).ok())?;
    let mut report = experiment(&plan, interrupt).map_err(|error| anyhow!(plan.mask.apply(&format!("{error:#}"))))?;
    report.name = name.map(str::to_owned);
    Ok(report)
}

fn experiment(plan: &Plan, interrupt: &Interrupt) -> Result<Report> {
    raise_file_limit();
    let tls = trust::client_config(&plan.trust)?;
    if let Some(Verify::Sql(query)) = &plan.verify {
        query.permit(&plan.allowed_hosts)?;
    }
    let mut fleet = match &plan.source {
        Source::Started(launch) => Some(launch::start(launch, &tls, interrupt)?),
        Source::Running(_) => None,
    };
    let resolved: Vec<Copy> = match (&fleet, &plan.source) {
        (Some(fleet), _) => fleet.copies.clone(),
        (None, Source::Running(endpoints)) => copies::resolve(endpoints, &plan.allowed_hosts)?,
        (None, Source::Started(_)) => Vec::new(),
    };
    let range = Range {
        copies: &resolved,
        tls: Arc::clone(&tls),
        hold: plan.hold,
        mechanism: plan.mechanism,
        parts: 1,
        timeout: plan.timeout,
        interrupt: interrupt.clone(),
    };
    let course = plan.course(resolved.len());
    let mut session = Session::new(plan, range, fleet.as_mut());
    let experiments = conduct(course, &|| interrupt.raised(), &mut |order| session.carry_out(order));

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
    let diagnosis = diagnosis::diagnose(&experiments, plan.expectation.limit());
    why.extend(diagnosis.why);
    let mut rules = diagnosis.rules;
    if let Some((name, words)) = diagnosis::mismatch(&experiments, &plan.expectation) {
        rules.push(name);
        why.push(words);
    }
    why.extend(notes(plan, copies, &experiments, verdict));
    Report {
        name: None,
        verdict,
        diagnosis: rules,
        why,
        sent: experiments.iter().map(|one| one.tally.requests).sum(),
        experiments,
        expect: plan.expectation.source().to_owned(),
        request: format!("{} {}", plan.request.method, target(plan)),
        copies: copies.iter().map(|copy| copy.name.clone()).collect(),
        mask: plan.mask.clone(),
    }
}

/// What a reader must know beside the verdict.
fn notes(plan: &Plan, copies: &[Copy], experiments: &[Experiment], verdict: Verdict) -> Vec<String> {
    let mut notes = Vec::new();
    if !plan.controls {
        notes.push(
            "The controls did not run: without {{fresh}} in the request, or a --setup that makes a fresh state, every experiment \
             would hit the same entity. One volley was fired."
                .to_owned(),
        );
    }
    if copies.len() == 1 {
        notes.push(
            "One address was given: this says nothing of several copies unless a balancer stands there. Give --url once a copy, or \
             start copies with --run and --copies."
                .to_owned(),
        );
    }
    if verdict == Verdict::Broken && plan.criteria.effect_id.is_none() && plan.verify.is_none() && all_answers_equal(experiments)
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
