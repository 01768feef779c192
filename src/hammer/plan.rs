//! What is to be fired at what, and what must hold: a pure function of the options. It opens no socket and no file.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use url::Url;

use super::cli::HammerArgs;
use super::controls::Course;
use super::database::Query;
use super::expect::Expectation;
use super::expression::Expression;
use super::locator::Locator;
use super::mask::{Mask, is_secret_name};
use super::observation::{ANSWER_NAMES, Criteria};
use super::release::Mechanism;
use super::request::{Hold, RequestTemplate};
use super::template::{Template, Values};

/// The most requests one copy gets in one volley.
pub const MOST_PER_COPY: usize = 1000;
/// The most requests one run sends.
pub const MOST_IN_ALL: usize = 100_000;

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
    /// Whose certificates are trusted.
    pub trust: Trust,
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
                logs: args.logs.clone(),
            }),
            None if args.url.is_empty() => bail!("name the copies with --url, or start them with --run"),
            None => {
                let mut endpoints = args.url.iter().map(|url| reader.endpoint(url)).collect::<Result<Vec<_>>>()?;
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
        let expectation = Expectation::parse(args.expect.as_deref(), args.effect_id.is_some(), verify.is_some())?;
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
        within_limits(args.requests, args.rounds, copies)?;
        let controls = fresh || !setup.is_empty();
        if args.stall.is_some() || args.kill {
            ensure!(copies > 1, "--stall and --kill need a second copy that goes on: raise --copies");
            ensure!(controls, "--stall and --kill need an entity of their own each time: put {{{{fresh}}}} into the request");
        }
        Ok(Plan {
            controls,
            source,
            request,
            setup,
            captures,
            verify,
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
            trust: Trust { insecure: args.insecure, authorities: args.cacert.clone() },
            allowed_hosts: args.allow_host.clone(),
            mask: Mask::of(reader.secrets),
        })
    }

    /// What is carried out at so many copies.
    pub fn course(&self, copies: usize) -> Course {
        Course { copies, controls: self.controls, rounds: self.rounds, stall: self.stall.is_some(), kill: self.kill }
    }

    /// How many requests an experiment sends that sends them one after another.
    pub fn sequential_requests(&self, copies: usize) -> usize {
        if self.expectation.counts_beyond_one() { self.requests } else { self.requests.min(copies.max(2) + 1) }
    }
}

/// Reads `NAME=PLACE`.
fn capture(text: &str) -> Result<(String, Locator)> {
    let usage = "write it as NAME=PLACE, for example id=json:$.id";
    let (name, place) = text.split_once('=').ok_or_else(|| anyhow!("--capture '{text}': {usage}"))?;
    let place = Locator::parse(place.trim()).map_err(|error| anyhow!("--capture '{text}': {error}"))?;
    Ok((name.trim().to_owned(), place))
}

fn within_limits(requests: usize, rounds: u32, copies: usize) -> Result<()> {
    ensure!(requests >= 2, "-n {requests}: a volley needs at least two requests");
    ensure!(requests >= copies, "-n {requests}: fewer requests than copies ({copies}); raise -n so that each copy gets one");
    // The control on one copy sends all of them there.
    ensure!(requests <= MOST_PER_COPY, "-n {requests}: at most {MOST_PER_COPY} requests a copy in one volley");
    let total = requests * (2 * rounds as usize + 3);
    ensure!(
        total <= MOST_IN_ALL,
        "-n {requests} --rounds {rounds} would send up to {total} requests; at most {MOST_IN_ALL} a run: lower one of them"
    );
    Ok(())
}

/// Reads texts into templates and remembers which of them are secret.
struct Reader<'a> {
    environment: &'a dyn Fn(&str) -> Option<String>,
    secrets: Vec<String>,
    /// Names of values that set-up requests give.
    captures: Vec<String>,
}

impl Reader<'_> {
    fn template(&mut self, what: &str, text: &str) -> Result<Template> {
        let template = Template::parse(text, self.environment, &mut self.secrets).map_err(|error| anyhow!("{what}: {error}"))?;
        if let Some(name) = template.captures().find(|name| !self.captures.iter().any(|known| known == name)) {
            bail!(
                "{what}: nothing gives `{{{{capture.{name}}}}}` its value; say where it stands with --capture {name}=json:$.PATH"
            );
        }
        Ok(template)
    }

    fn header(&mut self, text: &str) -> Result<(String, Template)> {
        let (name, value) = text.split_once(':').ok_or_else(|| anyhow!("-H '{text}': write a header as 'name: value'"))?;
        let (name, value) = (name.trim(), value.trim());
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        ensure!(!name.is_empty() && name.chars().all(token), "-H '{text}': `{name}` is no header name");
        ensure!(
            !["content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own)),
            "-H '{name}': lockcheck frames the body itself; leave this header out"
        );
        let known = self.secrets.len();
        let template = self.template(&format!("-H '{name}'"), value)?;
        let line_end = |text: &String| text.contains(['\r', '\n']);
        ensure!(
            !line_end(&value.to_owned()) && !self.secrets[known..].iter().any(line_end),
            "-H '{name}': a header's value is one line"
        );
        if is_secret_name(name) && !template.names_entity() {
            let words = value.split_whitespace().filter(|word| word.len() > 6 && !word.contains("{{"));
            self.secrets.extend(words.map(str::to_owned));
        }
        Ok((name.to_owned(), template))
    }

    fn path(&mut self, text: &str) -> Result<Template> {
        ensure!(text.starts_with('/'), "`{text}`: a path starts with `/`");
        self.template("the path", text)
    }

    fn endpoint(&mut self, text: &str) -> Result<Endpoint> {
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let authority_at = with_scheme.find("://").map_or(0, |at| at + 3);
        let target_at = with_scheme[authority_at..].find(['/', '?']).map_or(with_scheme.len(), |at| authority_at + at);
        let (base, target) = with_scheme.split_at(target_at);
        let shown = Mask::default().apply(text);
        let url = Url::parse(base).with_context(|| format!("--url {shown}: write http://HOST:PORT/PATH"))?;
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            other => bail!("--url {shown}: `{other}` is not spoken; write http:// or https://"),
        };
        if let Some(password) = url.password() {
            self.secrets.push(password.to_owned());
        }
        ensure!(
            url.username().is_empty() && url.password().is_none(),
            "--url {shown}: give credentials as a header, for example -H 'authorization: Basic {{{{env.CREDENTIALS}}}}'"
        );
        let host = url.host_str().ok_or_else(|| anyhow!("--url {shown}: there is no host"))?;
        let port = url.port_or_known_default().unwrap_or(80);
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let target = target.split('#').next().unwrap_or_default();
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Endpoint {
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            authority,
            target: self.template(&format!("--url {shown}"), &target)?,
        })
    }

    fn step(&mut self, option: &str, text: &str, headers: &[(String, Template)]) -> Result<Step> {
        let usage = || {
            anyhow!(
                "{option} '{text}': write it as 'METHOD /path BODY', for example 'POST /coupons {{\"code\":\"{{{{fresh}}}}\"}}'"
            )
        };
        let (verb, rest) = text.trim().split_once(char::is_whitespace).ok_or_else(usage)?;
        let (path, body) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        ensure!(path.starts_with('/'), usage());
        let body = Some(body.trim()).filter(|body| !body.is_empty());
        let body = body.map(|body| self.template(option, body)).transpose()?;
        Ok(Step {
            source: text.to_owned(),
            request: RequestTemplate { method: method(verb)?, headers: headers.to_vec(), body },
            target: self.template(option, path)?,
        })
    }

    fn query(&mut self, url: &str, statement: &str) -> Result<Query> {
        let url = self.template("--verify-sql", url)?.render(Values { fresh: "", n: 1, captured: &[] });
        let password = Url::parse(&url).ok().and_then(|url| url.password().map(str::to_owned));
        self.secrets.extend(password);
        Query::new(&url, self.template("--verify-sql", statement)?)
    }

    fn verify(&mut self, text: &str, headers: &[(String, Template)]) -> Result<Verify> {
        let usage = "write it as 'GET /path PLACE', for example 'GET /orders/{{fresh}} json:$.count'";
        let (read, place) = text.trim().rsplit_once(char::is_whitespace).ok_or_else(|| anyhow!("--verify '{text}': {usage}"))?;
        let locator = Locator::parse(place).map_err(|error| anyhow!("--verify: {error}; {usage}"))?;
        // The volley's own content type says nothing about a read.
        let headers: Vec<_> = headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-type")).cloned().collect();
        Ok(Verify::Http(self.step("--verify", read, &headers)?, locator))
    }
}

fn method(text: &str) -> Result<String> {
    let method = text.to_ascii_uppercase();
    let known = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    ensure!(known, "`{text}` is no HTTP method");
    ensure!(method != "CONNECT", "CONNECT opens a tunnel; there is nothing to judge");
    Ok(method)
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
