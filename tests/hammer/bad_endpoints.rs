//! A table of endpoints that misbehave, and what is printed of each; and that nothing secret is ever printed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use lockcheck::hammer::Verdict;

use super::hammer;
use super::service::{listen, read_question};

/// What comes of it: an error, or a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Error,
    Is(Verdict),
}

/// What an endpoint does.
#[derive(Clone, Copy)]
enum Does {
    /// Reads the request and sends this, every time.
    Sends(&'static str),
    /// Answers the first request for an entity with 200, and later ones with this.
    Then(&'static str),
    /// Sends this before it has read anything.
    Speaks(&'static str),
    /// Reads the request, sends this and keeps still.
    Stalls(&'static str),
    /// Sends five MiB.
    Floods,
    /// Nobody is there.
    Absent,
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
/// Long enough for a loaded machine, short for an endpoint that never answers.
const PATIENCE: &str = "1500ms";

struct Row(&'static str, Does, &'static [&'static str], End, &'static str);

const TABLE: [Row; 25] = [
    Row("nobody listens", Does::Absent, &[], End::Error, "nothing listens at"),
    Row("hangs up", Does::Sends(""), &[], End::Error, "closed the connection without an answer"),
    Row("half a head", Does::Sends("HTTP/1.1 200 OK\r\ncont"), &[], End::Error, "half an answer"),
    Row("half a body", Does::Sends("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"), &[], End::Error, "half an answer"),
    Row("never answers", Does::Stalls(""), &[], End::Error, "no answer within"),
    Row(
        "stalls in the middle",
        Does::Stalls("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nha"),
        &[],
        End::Error,
        "only half an answer within",
    ),
    Row("only ever says 100", Does::Stalls("HTTP/1.1 100 Continue\r\n\r\n"), &[], End::Error, "only half an answer within"),
    Row("speaks SMTP", Does::Speaks("220 mail.test ESMTP\r\n"), &[], End::Error, "not HTTP/1.1"),
    Row("speaks SSH", Does::Speaks("SSH-2.0-OpenSSH_9.6\r\n"), &[], End::Error, "not HTTP/1.1"),
    Row("speaks TLS", Does::Speaks("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}F"), &[], End::Error, "not HTTP/1.1"),
    Row(
        "no HTTP/2",
        Does::Sends("HTTP/1.1 400 Bad\r\ncontent-length: 0\r\n\r\n"),
        &["--http2"],
        End::Error,
        "Does it speak HTTP/2?",
    ),
    Row(
        "length is no number",
        Does::Sends("HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n"),
        &[],
        End::Error,
        "content-length `many`",
    ),
    Row("bad chunks", Does::Sends("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n"), &[], End::Error, "bad size"),
    Row("floods", Does::Floods, &[], End::Error, "answered more than 4 MiB"),
    Row(
        "wants credentials",
        Does::Sends("HTTP/1.1 401 No\r\ncontent-length: 8\r\n\r\nno token"),
        &[],
        End::Is(Verdict::Inconclusive),
        "Check credentials",
    ),
    Row(
        "forbids",
        Does::Sends("HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n"),
        &[],
        End::Is(Verdict::Inconclusive),
        "not even the first request succeeds everywhere (403)",
    ),
    Row(
        "no such path",
        Does::Sends("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n"),
        &[],
        End::Is(Verdict::Inconclusive),
        "path and body",
    ),
    Row(
        "sends to the sign-in",
        Does::Sends("HTTP/1.1 302 F\r\nlocation: /login\r\ncontent-length: 0\r\n\r\n"),
        &[],
        End::Is(Verdict::Inconclusive),
        "succeeds everywhere (302)",
    ),
    Row(
        "is broken",
        Does::Sends("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n"),
        &[],
        End::Is(Verdict::Inconclusive),
        "succeeds everywhere (500)",
    ),
    Row("says yes to all", Does::Sends(OK), &[], End::Is(Verdict::Broken), "name the effect with --effect-id"),
    Row(
        "says yes with an error",
        Does::Sends("HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{\"ok\":false}"),
        &["--success", "json.ok"],
        End::Is(Verdict::Inconclusive),
        "200 `{\"ok\":false}`",
    ),
    Row(
        "limits the rate",
        Does::Then("HTTP/1.1 429 Slow\r\ncontent-length: 0\r\n\r\n"),
        &[],
        End::Is(Verdict::Inconclusive),
        "turned away in front of it",
    ),
    Row(
        "refuses with 400",
        Does::Then("HTTP/1.1 400 Used\r\ncontent-length: 4\r\n\r\nused"),
        &[],
        End::Is(Verdict::Inconclusive),
        "--refusal 'status == 400'",
    ),
    Row(
        "fails under load",
        Does::Then("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n"),
        &[],
        End::Is(Verdict::Inconclusive),
        "Count effects in the state with --verify",
    ),
    Row("drops the losers", Does::Then(""), &[], End::Is(Verdict::Inconclusive), "closed the connection without an answer"),
];

/// An endpoint that does this; its address.
fn endpoint(does: Does) -> String {
    if let Does::Absent = does {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        return format!("http://{}", free.local_addr().unwrap());
    }
    let seen = std::sync::Mutex::new(std::collections::HashSet::new());
    listen(move |mut stream| {
        let send = |stream: &mut TcpStream, text: &str| _ = stream.write_all(text.as_bytes());
        match does {
            Does::Speaks(text) => {
                send(&mut stream, text);
                _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                _ = stream.read(&mut [0; 4096]);
            }
            _ => {
                let Some(question) = read_question(&mut stream) else { return };
                match does {
                    Does::Sends(text) => send(&mut stream, text),
                    Does::Then(text) => send(&mut stream, if seen.lock().unwrap().insert(question.body) { OK } else { text }),
                    Does::Stalls(text) => {
                        send(&mut stream, text);
                        std::thread::sleep(Duration::from_secs(8));
                    }
                    _ => {
                        send(&mut stream, "HTTP/1.1 200 OK\r\n\r\n");
                        let piece = vec![b'x'; 1 << 16];
                        while stream.write_all(&piece).is_ok() {}
                    }
                }
            }
        }
    })
}

#[test]
fn of_every_bad_endpoint_is_said_what_it_does() {
    let mut wrong = String::new();
    for Row(name, does, more, end, says) in TABLE {
        let url = endpoint(does);
        let words =
            [&["--url", url.as_str(), "-d", "{{fresh}}", "-n", "6", "--rounds", "1", "--timeout", PATIENCE][..], more].concat();
        let (came, said) = match hammer(&words) {
            Err(error) => (End::Error, format!("{error:#}")),
            Ok((verdict, report)) => {
                let why = report["why"].as_array().unwrap().iter().map(|why| why.as_str().unwrap().to_owned());
                (End::Is(verdict), why.collect::<Vec<_>>().join("\n"))
            }
        };
        if came != end || !said.contains(says) {
            wrong.push_str(&format!("{name}: wanted {end:?} with `{says}`, got {came:?}: {said}\n"));
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Planted, each in a place of its own; none may be printed.
const SECRETS: [(&str, &str); 7] = [
    ("header", "plantedHeader7f3a"),
    ("cookie", "plantedCookie91bc"),
    ("query", "plantedQuery55de"),
    ("field", "plantedField20ff"),
    ("environment", "plantedEnviron4a1"),
    ("answer", "plantedAnswer88c"),
    ("database", "plantedDatabase6e"),
];

#[test]
fn planted_secrets_are_in_no_output() {
    // Says back everything that it is sent, and a secret of its own.
    let url = listen(|mut stream| {
        let mut bytes = vec![0; 4096];
        let count = stream.read(&mut bytes).unwrap_or(0);
        let heard = String::from_utf8_lossy(&bytes[..count]).replace(['\r', '\n'], " ");
        let body = format!("{{\"access_token\":\"plantedAnswer88c\"}} {heard}");
        _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    });
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("run.html");
    let target = format!("{url}/pay?api_key=plantedQuery55de&id={{{{fresh}}}}");
    let words = [
        "-H",
        "authorization: Bearer plantedHeader7f3a",
        "-H",
        "cookie: session=plantedCookie91bc",
        "-H",
        "x-trace: {{env.PLANTED}}",
        "-d",
        r#"{"password":"plantedField20ff","n":"{{env.PLANTED}}"}"#,
        "-n",
        "4",
        "--rounds",
        "1",
        "--timeout",
        "2s",
    ];
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_lockcheck"))
            .args(["hammer", "--url", &target])
            .args(words)
            .args(more)
            .env("PLANTED", "plantedEnviron4a1")
            .env("GITHUB_STEP_SUMMARY", folder.path().join("summary.md"))
            .output()
            .unwrap();
        [output.stdout, output.stderr].concat()
    };
    let database = "postgres://ann:plantedDatabase6e@127.0.0.1:1/shop";
    let mut printed: Vec<(String, Vec<u8>)> = Vec::new();
    for format in ["text", "json", "junit", "github"] {
        let html = page.to_str().unwrap();
        printed.push((format.to_owned(), run(&["--format", format, "--html", html])));
    }
    printed.push(("database".to_owned(), run(&["--verify-sql", database, "select 1"])));
    printed.push(("expression".to_owned(), run(&["--success", "json.nothing.at.all"])));
    printed.push((
        "set-up".to_owned(),
        run(&["--setup", r#"POST /x {"password":"plantedField20ff"}"#, "--capture", "id=json:$.id"]),
    ));
    printed.push(("far".to_owned(), run(&["--url", "http://ann:plantedHeader7f3a@203.0.113.7/?token=plantedQuery55de"])));
    printed.push(("k6".to_owned(), run(&["--emit", "k6"])));
    printed.push(("page".to_owned(), fs::read(&page).unwrap()));
    printed.push(("summary".to_owned(), fs::read(folder.path().join("summary.md")).unwrap()));
    for (name, bytes) in printed {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.is_empty(), "{name} printed nothing");
        for (place, secret) in SECRETS {
            // A script must send what it is to send; only what comes from the environment is read where it runs.
            let needed = name == "k6" && !matches!(place, "environment" | "answer");
            assert!(needed || !text.contains(secret), "{name} shows the secret of the {place}:\n{text}");
        }
    }
}
