//! The command line of `lockcheck hammer`. It knows options and their help, not what they do.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};

use super::release::Mechanism;
use super::request::Hold;
use super::scenario::Kind;

/// Fire identical requests at several copies in the same instant and judge what succeeded.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Exit status: 0 held, 1 broken, 2 error, 3 inconclusive.", args_override_self = true)]
#[command(group(ArgGroup::new("start").multiple(true)))]
pub struct HammerArgs {
    /// Run the scenarios of this file, in which these options are written down; options beside it overrule the file
    #[arg(long, value_name = "FILE", group = "start")]
    pub plan: Option<PathBuf>,
    /// Only this scenario of the plan; repeat for more
    #[arg(long, value_name = "NAME", requires = "plan")]
    pub only: Vec<String>,
    /// Write a plan to begin with to hammer.toml, and do nothing else
    #[arg(long, value_name = "KIND", value_enum, exclusive = true)]
    pub init: Option<Kind>,

    /// Print the JSON schema of plans, and do nothing else
    #[arg(long, exclusive = true)]
    pub schema: bool,
    /// Write what is to be fired as a script for another tool instead of firing it
    #[arg(long, value_name = "TOOL", value_enum)]
    pub emit: Option<Tool>,
    /// Say which of these findings the experiments confirm or refute; the file is what lockcheck scan --format json wrote
    #[arg(long, value_name = "FILE")]
    pub findings: Option<PathBuf>,
    /// In a plan: the fingerprint of a finding that the scenario is about; repeat for more
    #[arg(long, value_name = "FINGERPRINT")]
    pub proves: Vec<String>,

    /// A copy of the service, by the URL of the request; repeat for each copy
    #[arg(long, value_name = "URL", conflicts_with = "run")]
    pub url: Vec<String>,
    /// Start the service with this command, once a copy; each gets its own PORT in the environment
    #[arg(long, value_name = "CMD", group = "start")]
    pub run: Option<String>,
    /// How many copies --run starts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64), requires = "start")]
    pub copies: u16,
    /// The path (and query) of the request; with --url, instead of the URL's own
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// A copy is ready once GET on this path answers 2xx or 3xx; without it, once its port accepts
    #[arg(long, value_name = "PATH", requires = "start")]
    pub ready: Option<String>,
    /// How long a copy may take to become ready
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration, requires = "start")]
    pub ready_timeout: Duration,
    /// The folder below which the copies' logs are kept where something is to be seen in them; else the system's for temporary
    /// files
    #[arg(long, value_name = "DIR", requires = "start")]
    pub logs: Option<PathBuf>,

    /// The method; POST where there is a body, else GET
    #[arg(short = 'X', long = "request", value_name = "METHOD")]
    pub method: Option<String>,
    /// A header, as 'name: value'
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub header: Vec<String>,
    /// The body; {{fresh}}, {{n}} and {{env.NAME}} are filled in, here, in the URL and in headers
    #[arg(short, long, value_name = "BODY", conflicts_with = "data_file")]
    pub data: Option<String>,
    /// The body, from a file
    #[arg(long, value_name = "FILE")]
    pub data_file: Option<PathBuf>,
    /// Take URL, method, headers and body from a curl command, as browsers copy it
    #[arg(long, value_name = "COMMAND", group = "import")]
    pub curl: Option<String>,
    /// Take them from an HTTP archive (HAR)
    #[arg(long, value_name = "FILE", group = "import")]
    pub har: Option<PathBuf>,
    /// Which entry of the archive, from 1
    #[arg(long, value_name = "N", default_value_t = 1, requires = "har")]
    pub entry: usize,
    /// Take them from a file with one HTTP/1.1 request
    #[arg(long, value_name = "FILE", group = "import")]
    pub http: Option<PathBuf>,
    /// How many requests one volley has, over all copies
    #[arg(short = 'n', long = "requests", value_name = "N", default_value_t = 50)]
    pub requests: usize,
    /// A request sent before each experiment, as 'POST /coupons {"code":"{{fresh}}"}'; repeat for more
    #[arg(long, value_name = "REQUEST")]
    pub setup: Vec<String>,

    /// A value for {{capture.NAME}}, from the answer to a set-up request: NAME=PLACE, as id=json:$.id; repeat for more
    #[arg(long, value_name = "NAME=PLACE", requires = "setup")]
    pub capture: Vec<String>,

    /// What counts as a success, over status, headers, json and body; else 2xx and 303
    #[arg(long, value_name = "EXPR")]
    pub success: Option<String>,
    /// What counts as a refusal by the guard; else 409, 410, 412, 422 and 423
    #[arg(long, value_name = "EXPR")]
    pub refusal: Option<String>,
    /// What names the effect of a success: json:$.order_id, header:NAME or body; equal names are one effect
    #[arg(long, value_name = "PLACE")]
    pub effect_id: Option<String>,
    /// A read before and after whose number is the count of effects, as 'GET /orders/{{fresh}} json:$.count'
    #[arg(long, value_name = "READ", conflicts_with = "verify_sql")]
    pub verify: Option<String>,
    /// The same from a database: postgres://, mysql:// or sqlite:FILE, and a query, as "select count(*) from orders where code =
    /// '{{fresh}}'"; nothing can be written
    #[arg(long, value_names = ["URL", "QUERY"], num_args = 2)]
    pub verify_sql: Vec<String>,
    /// A route of a server that plays a provider and counts its calls; each copy finds it at $LOCKCHECK_WITNESS. '[NAME =] METHOD
    /// /path [STATUS] [delay=TIME] [fail=N] [hangup] [rotate] [BODY]', as 'mail = POST /send 202'; with rotate, each refresh of a
    /// token kills the one before. Repeat for more
    #[arg(long, value_name = "ROUTE", requires = "start")]
    pub witness: Vec<String>,
    /// Send no requests: run one copy, then all, each time for so long, and count what they do by themselves. The time begins
    /// once all are started, or with --ready once all are ready. Each run has a name of its own in $LOCKCHECK_FRESH
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "start")]
    pub job: Option<Duration>,
    /// What must hold, over successes, refused, unknown, effects, requests, by_copy, and before and after, which are what the
    /// reads gave, as 'after.stock == before.stock - 3 * successes', and witness and witness_by_copy, which count calls by
    /// route, as 'witness.mail == 1'
    /// [default: effects == 1 where effects are counted, else successes == 1]
    #[arg(long, value_name = "EXPR")]
    pub expect: Option<String>,

    /// How often the volleys are repeated with a fresh entity
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// The pause between requests when a failure across copies is looked at again
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = duration)]
    pub settle: Duration,
    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// Which byte waits for the gate
    #[arg(long, value_enum, default_value_t = Hold::Body)]
    pub hold: Hold,
    /// How the last bytes are released; io_uring falls back to the loop where it is refused
    #[arg(long, value_enum, default_value_t = Mechanism::IoUring)]
    pub release: Mechanism,

    /// Stop one copy while it holds a request, for this long, and ask another meanwhile; longer than the lease under test
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "start")]
    pub stall: Option<Duration>,
    /// Kill one copy while it holds a request, and see whether another can go on
    #[arg(long, requires = "start")]
    pub kill: bool,
    /// How long after a kill what the dead copy held must be free again
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration, requires = "kill")]
    pub lease: Duration,

    /// Stop all copies while the last bytes are delivered, and let them go on together: the tightest overlap there is
    #[arg(long, value_enum, default_value_t = Gate::Bytes)]
    pub gate: Gate,
    /// Let the requests go over so long a time, longer with each round: for races that need an offset
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub jitter: Option<Duration>,
    /// With one --url: connect to HOST:PORT instead of its host, which stays in the Host header and in TLS; once for each copy
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "run")]
    pub replica: Vec<String>,
    /// Take every address of the URL's host for a copy
    #[arg(long, conflicts_with_all = ["run", "replica"])]
    pub resolve_all: bool,
    /// Behind a balancer: what in an answer says which copy gave it, as header:X-Served-By or json:$.pod
    #[arg(long, value_name = "PLACE", conflicts_with = "run")]
    pub copy_from: Option<String>,
    /// Speak HTTP/2: over TLS where the service agrees, else in the clear (h2c) without asking; the last frames of all requests
    /// of a connection go out in one write
    #[arg(long, overrides_with = "http1")]
    pub http2: bool,
    /// Speak HTTP/1.1, a connection for each request; this is so by default
    #[arg(long, overrides_with = "http2")]
    pub http1: bool,
    /// Accept any certificate; every report says so
    #[arg(long)]
    pub insecure: bool,
    /// Show this certificate (PEM, with what leads to its authority) where the service asks for one
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The private key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// A host that may be fired at though it is neither loopback nor private; repeat for more
    #[arg(long, value_name = "HOST", env = "LOCKCHECK_ALLOW_HOSTS", value_delimiter = ',')]
    pub allow_host: Vec<String>,
    /// How the report is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Also draw the run as one page of HTML
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// The command line's own words, which overrule a plan
    #[arg(skip)]
    pub words: Vec<OsString>,
}

/// What opens the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    /// The last byte of each request.
    Bytes,
    /// Copies that were stopped go on; only for copies that were started here.
    Freeze,
}

/// A tool that a script is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// Grafana k6, and its operator for Kubernetes
    K6,
}

/// The form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs; carries schema_version.
    Json,
    /// For continuous integration that shows tests.
    Junit,
    /// Annotations in a GitHub workflow.
    Github,
}

/// Reads `300ms`, `10s`, `2m` or a bare number of seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" => 60.0,
        _ => return Err(format!("`{unit}` is no unit of time; write ms, s or m")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is no time; write for example 300ms or 10s"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| format!("`{text}` is no time that can be waited for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_unit() {
        assert_eq!(duration("300ms"), Ok(Duration::from_millis(300)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(duration("3h").unwrap_err().contains("ms, s or m"));
        assert!(duration("-1s").is_err() && duration("soon").is_err());
    }
}
