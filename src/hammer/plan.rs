//! What is to be fired at what, and what must hold: a pure function of the options. It opens no socket and no file.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};

use super::cli::{Gate, HammerArgs};
use super::controls::Course;
use super::database::Query;
use super::expect::{Counted, Expectation};
use super::expression::Expression;
use super::locator::Locator;
use super::mask::Mask;
use super::observation::{ANSWER_NAMES, Criteria};
use super::reader::{Reader, capture, method, replica};
use super::release::Mechanism;
use super::request::{Hold, RequestTemplate};
use super::template::Template;
use super::witness::{REFUSED, Route};

/// The most requests one copy gets in one volley.
pub const MOST_PER_COPY: usize = 1000;
/// The most requests one run sends.
pub const MOST_IN_ALL: usize = 100_000;

/// The longest time over which a volley is let go.
const LONGEST_JITTER: Duration = Duration::from_secs(1);
/// The longest that copies run by themselves.
const LONGEST_JOB: Duration = Duration::from_secs(600);

/// A whole run, decided before anything is sent.
#[derive(Debug)]
pub struct Plan {
    /// Where the copies are, or how they are started.
    pub source: Source,
    /// The request of a volley.
    pub request: RequestTemplate,
    /// Requests sent before each experiment.
    pub setup: Vec<Step>,
    /// What is taken from the answers to set-up requests, by name.
    pub captures: Vec<(String, Locator)>,
    /// How the state is read, before and after.
    pub verify: Option<Verify>,
    /// Routes of the witness.
    pub witness: Vec<Route>,
    /// For how long copies run by themselves, where no request is sent.
    pub job: Option<Duration>,
    /// What counts as what.
    pub criteria: Criteria,
    /// What must hold of every experiment.
    pub expectation: Expectation,
    /// Requests of one volley, over all copies.
    pub requests: usize,
    /// How often the volleys are repeated.
    pub rounds: u32,
    /// Each experiment starts from a state of its own, so that the controls mean something.
    pub controls: bool,
    /// The pause when a failure across copies is looked at again.
    pub settle: Duration,
    /// For how long one copy is stopped in the middle of a request.
    pub stall: Option<Duration>,
    /// Whether one copy is killed in the middle of a request.
    pub kill: bool,
    /// How long what a killed copy held may stay taken.
    pub lease: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Which byte waits.
    pub hold: Hold,
    /// How it is let go.
    pub mechanism: Mechanism,
    /// What opens the gate.
    pub gate: Gate,
    /// The longest time over which requests are let go.
    pub jitter: Option<Duration>,
    /// What in an answer says which copy gave it.
    pub copy_from: Option<Locator>,
    /// HTTP/2 is spoken.
    pub http2: bool,
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// Every address of a host is a copy.
    pub resolve_all: bool,
    /// Hosts beyond this machine's network that may be fired at.
    pub allowed_hosts: Vec<String>,
    /// Hides secrets in what is printed.
    pub mask: Mask,
}

/// Where copies come from.
#[derive(Debug)]
pub enum Source {
    /// They run already.
    Running(Vec<Endpoint>),
    /// They are started.
    Started(Launch),
}

/// The request's address at one copy.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Over TLS.
    pub tls: bool,
    /// The host, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What the Host header says.
    pub authority: String,
    /// Path and query.
    pub target: Template,
    /// Where to connect instead of host and port.
    pub via: Option<(String, u16)>,
}

/// How copies are started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The command, for a shell.
    pub command: String,
    /// How many.
    pub copies: u16,
    /// Path and query of the request.
    pub target: Template,
    /// The path that answers once a copy is ready; else its port is tried.
    pub ready: Option<String>,
    /// How long that may take.
    pub timeout: Duration,
    /// HTTP/2 is spoken to them.
    pub http2: bool,
    /// Nothing is sent to them, so that they need not listen.
    pub by_itself: bool,
    /// The folder below which their logs are written; the system's for temporary files where there is none.
    pub logs: Option<PathBuf>,
}

/// A request beside the volley, to a path of the same service.
#[derive(Debug)]
pub struct Step {
    /// As the user wrote it.
    pub source: String,
    /// Method, headers and body.
    pub request: RequestTemplate,
    /// Path and query.
    pub target: Template,
}

/// How the state is read.
#[derive(Debug)]
pub enum Verify {
    /// By a request, and a place in its answer.
    Http(Step, Locator),
    /// From a database.
    Sql(Box<Query>),
}

/// Whose certificates are trusted.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Anybody's.
    pub insecure: bool,
    /// Those in this file.
    pub authorities: Option<PathBuf>,
    /// What is shown to a service that asks: files with a certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// HTTP/2 is asked for.
    pub http2: bool,
}

impl Plan {
    /// Decides the run. `body`: the request's body, already read. `environment` answers `{{env.NAME}}`.
    pub fn new(args: &HammerArgs, body: Option<&str>, environment: &dyn Fn(&str) -> Option<String>) -> Result<Plan> {
        let names = args.capture.iter().filter_map(|text| text.split_once('=')).map(|(name, _)| name.trim().to_owned()).collect();
        let mut reader = Reader { environment, secrets: Vec::new(), captures: names };
        let headers = args.header.iter().map(|header| reader.header(header)).collect::<Result<Vec<_>>>()?;
        let body = body.map(|body| reader.template("the body", body)).transpose()?;
        let method = method(args.method.as_deref().unwrap_or(if body.is_some() { "POST" } else { "GET" }))?;
        let request = RequestTemplate { method, headers: headers.clone(), body };
        let source = match &args.run {
            Some(command) => Source::Started(Launch {
                command: command.clone(),
                copies: args.copies,
                target: reader.path(args.path.as_deref().unwrap_or("/"))?,
                ready: args.ready.clone(),
                timeout: args.ready_timeout,
                http2: args.http2 && !args.http1,
                by_itself: args.job.is_some(),
                logs: args.logs.clone(),
            }),
            None if args.url.is_empty() => bail!("name the copies with --url, or start them with --run"),
            None => {
                let mut endpoints = args.url.iter().map(|url| reader.endpoint(url)).collect::<Result<Vec<_>>>()?;
                if !args.replica.is_empty() {
                    let [endpoint] = endpoints.as_slice() else {
                        bail!("--replica says where copies of one --url are: give one")
                    };
                    let via = args.replica.iter().map(|text| replica(text)).collect::<Result<Vec<_>>>()?;
                    endpoints = via.into_iter().map(|via| Endpoint { via: Some(via), ..endpoint.clone() }).collect();
                }
                if let Some(path) = &args.path {
                    let target = reader.path(path)?;
                    endpoints.iter_mut().for_each(|endpoint| endpoint.target = target.clone());
                }
                Source::Running(endpoints)
            }
        };
        let setup = args.setup.iter().map(|step| reader.step("--setup", step, &headers)).collect::<Result<Vec<_>>>()?;
        let captures = args.capture.iter().map(|text| capture(text)).collect::<Result<Vec<_>>>()?;
        let verify = match args.verify_sql.as_slice() {
            [url, statement] => Some(Verify::Sql(Box::new(reader.query(url, statement)?))),
            _ => args.verify.as_deref().map(|text| reader.verify(text, &headers)).transpose()?,
        };
        let witness = args.witness.iter().map(|text| Route::parse(text)).collect::<Result<Vec<_>>>()?;
        for (index, route) in witness.iter().enumerate() {
            let same = witness[..index].iter().any(|other| other.name == route.name);
            ensure!(!same, "--witness: two routes are called `{}`; give one another name, as 'other = POST /path'", route.name);
        }
        if let Some(period) = args.job {
            ensure!(period <= LONGEST_JOB, "--job {period:?}: at most {LONGEST_JOB:?}");
            ensure!(
                verify.is_some() || !witness.is_empty(),
                "--job: say how effects are counted, with --witness, --verify or --verify-sql"
            );
        }
        let expectation = Expectation::parse(
            args.expect.as_deref(),
            Counted { named: args.effect_id.is_some(), state: verify.is_some(), calls: witness.len() },
        )?;
        let expression = |option, source: &Option<String>| {
            source.as_deref().map(|source| Expression::compile(option, source, &ANSWER_NAMES)).transpose()
        };
        let criteria = Criteria {
            success: expression("--success", &args.success)?,
            refusal: expression("--refusal", &args.refusal)?,
            effect_id: args
                .effect_id
                .as_deref()
                .map(|text| Locator::parse(text).map_err(|error| anyhow!("--effect-id: {error}")))
                .transpose()?,
            limited: expectation.limit().is_some(),
        };
        let targets: Vec<&Template> = match &source {
            Source::Running(endpoints) => endpoints.iter().map(|endpoint| &endpoint.target).collect(),
            Source::Started(launch) => vec![&launch.target],
        };
        let fresh = request.names_entity() || targets.iter().all(|target| target.names_entity());
        let copies = match &source {
            Source::Running(endpoints) => endpoints.len(),
            Source::Started(launch) => usize::from(launch.copies),
        };
        ensure!(args.gate == Gate::Bytes || args.run.is_some(), "--gate freeze stops copies: start them with --run");
        if let Some(jitter) = args.jitter {
            ensure!(jitter <= LONGEST_JITTER, "--jitter {jitter:?}: at most {LONGEST_JITTER:?}");
            ensure!(
                args.gate == Gate::Bytes,
                "--jitter and --gate freeze cannot go together: what is let go at once has no offset"
            );
        }
        within_limits(args.requests, args.rounds, copies)?;
        let controls = fresh || !setup.is_empty();
        if args.stall.is_some() || args.kill {
            ensure!(copies > 1, "--stall and --kill need a second copy that goes on: raise --copies");
            ensure!(controls, "--stall and --kill need an entity of their own each time: put {{{{fresh}}}} into the request");
        }
        let counted = witness.iter().flat_map(|route| [route.name.clone(), format!("{}{REFUSED}", route.name)]);
        let mask = Mask::of(reader.secrets).counting(counted.collect::<Vec<_>>());
        Ok(Plan {
            controls,
            source,
            request,
            setup,
            captures,
            verify,
            witness,
            job: args.job,
            criteria,
            expectation,
            requests: args.requests,
            rounds: args.rounds,
            settle: args.settle,
            stall: args.stall,
            kill: args.kill,
            lease: args.lease,
            timeout: args.timeout,
            hold: args.hold,
            mechanism: args.release,
            gate: args.gate,
            jitter: args.jitter,
            copy_from: args
                .copy_from
                .as_deref()
                .map(|text| Locator::parse(text).map_err(|error| anyhow!("--copy-from: {error}")))
                .transpose()?,
            http2: args.http2 && !args.http1,
            trust: Trust {
                insecure: args.insecure,
                authorities: args.cacert.clone(),
                identity: args.cert.clone().zip(args.key.clone()),
                http2: args.http2 && !args.http1,
            },
            resolve_all: args.resolve_all,
            allowed_hosts: args.allow_host.clone(),
            mask,
        })
    }

    /// What is carried out at so many copies.
    pub fn course(&self, copies: usize) -> Course {
        Course { copies, controls: self.controls, rounds: self.rounds, stall: self.stall.is_some(), kill: self.kill }
    }

    /// Over how long the requests of a round are let go: from none at all in the first to the whole jitter in the last.
    pub fn window(&self, round: u32) -> Duration {
        let jitter = self.jitter.unwrap_or_default();
        if self.rounds > 1 { jitter * (round - 1) / (self.rounds - 1) } else { jitter }
    }

    /// How many requests an experiment sends that sends them one after another.
    pub fn sequential_requests(&self, copies: usize) -> usize {
        let alone = self.requests_at(1);
        if self.expectation.counts_beyond_one() { alone } else { alone.min(copies.max(2) + 1) }
    }

    /// How many requests a volley at so many copies has.
    pub fn requests_at(&self, copies: usize) -> usize {
        self.requests.min(copies * MOST_PER_COPY)
    }
}

fn within_limits(requests: usize, rounds: u32, copies: usize) -> Result<()> {
    ensure!(requests >= 2, "-n {requests}: a volley needs at least two requests");
    ensure!(requests >= copies, "-n {requests}: fewer requests than copies ({copies}); raise -n so that each copy gets one");
    ensure!(
        requests <= MOST_PER_COPY * copies.max(1),
        "-n {requests}: at most {MOST_PER_COPY} requests a copy in one volley, and there are {copies} copies"
    );
    let alone = requests.min(MOST_PER_COPY);
    let total = (requests + alone) * rounds as usize + 3 * alone;
    ensure!(
        total <= MOST_IN_ALL,
        "-n {requests} --rounds {rounds} would send up to {total} requests; at most {MOST_IN_ALL} a run: lower one of them"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: HammerArgs,
    }

    fn plan(words: &[&str]) -> Result<Plan> {
        let args = Line::try_parse_from(["hammer"].iter().chain(words))?.args;
        Plan::new(&args, args.data.as_deref(), &|name| (name == "TOKEN").then(|| "abcdefgh".to_owned()))
    }

    fn error(words: &[&str]) -> String {
        plan(words).unwrap_err().to_string()
    }

    #[test]
    fn a_url_is_taken_apart() {
        let plan = plan(&["--url", "https://[::1]:8443/a?b={{fresh}}", "--url", "localhost/x{{fresh}}"]).unwrap();
        let Source::Running(endpoints) = &plan.source else { panic!("not running") };
        assert_eq!((endpoints[0].host.as_str(), endpoints[0].port, endpoints[0].tls), ("::1", 8443, true));
        assert_eq!((endpoints[1].authority.as_str(), endpoints[1].port), ("localhost", 80));
        assert!(plan.controls);
        assert_eq!(plan.request.method, "GET");
        assert_eq!(plan.expectation.source(), "successes == 1");
    }

    #[test]
    fn controls_need_an_entity_or_a_setup() {
        assert!(!plan(&["--url", "http://h/", "-d", "x"]).unwrap().controls);
        assert!(plan(&["--url", "http://h/", "-d", "{{fresh}}"]).unwrap().controls);
        assert!(plan(&["--url", "http://h/", "--setup", "POST /reset"]).unwrap().controls);
    }

    #[test]
    fn effects_change_what_is_expected() {
        let id = plan(&["--url", "h", "--effect-id", "json:$.id"]).unwrap();
        assert_eq!(id.expectation.source(), "effects == 1");
        let read = plan(&["--url", "h", "--verify", "GET /n/{{fresh}} json:$.n"]).unwrap();
        assert_eq!(read.expectation.source(), "effects == 1");
    }

    #[test]
    fn a_limit_needs_the_full_number_one_after_another() {
        assert_eq!(plan(&["--url", "h", "--expect", "successes <= 5"]).unwrap().sequential_requests(3), 50);
        assert_eq!(plan(&["--url", "h"]).unwrap().sequential_requests(3), 4);
        assert_eq!(plan(&["--url", "h"]).unwrap().sequential_requests(1), 3);
    }

    #[test]
    fn limits_and_mistakes_are_said() {
        assert!(error(&["--url", "h", "-n", "1001"]).contains("1000 requests a copy"));
        assert!(error(&["--url", "h", "-n", "1000", "--rounds", "1000"]).contains("lower one of them"));
        assert!(error(&["--url", "h", "-n", "1"]).contains("at least two"));
        assert!(error(&["--url", "ftp://h/"]).contains("http:// or https://"));
        assert!(error(&["--url", "h", "-H", "nonsense"]).contains("name: value"));
        assert!(error(&["--url", "h", "-H", "content-length: 3"]).contains("leave this header out"));
        assert!(error(&["--url", "h", "--setup", "nonsense"]).contains("METHOD /path"));
        assert!(error(&["--url", "h", "--verify", "GET /x"]).contains("PLACE"));
    }

    #[test]
    fn credentials_never_show() {
        let shown = error(&["--url", "http://ann:hunter22@h/"]);
        assert!(!shown.contains("hunter22") && shown.contains("as a header"), "{shown}");
        let plan = plan(&["--url", "h", "-H", "x-auth-token: {{env.TOKEN}}", "-H", "Authorization: Bearer zyxwvuts"]).unwrap();
        assert_eq!(plan.mask.apply("got abcdefgh and zyxwvuts"), "got *** and ***");
    }
}
