//! HTTP/2 and h2c, against a server of Node.js: one write for the final frames of many requests, limits on streams, TLS.

use std::fs;
use std::path::PathBuf;

use lockcheck::hammer::Verdict;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use serde_json::Value;
use tempfile::TempDir;

use super::{cells, diagnosis, error, hammer};

/// Accepts each code once a process, or always. Words: `once` or `always`, streams at once, and for TLS key, certificate and the
/// authority of clients.
const SERVER: &str = r#"
const http2 = require('node:http2'), fs = require('node:fs');
const [kind, streams, key, cert, ca] = process.argv.slice(2);
// Milliseconds: longer than a busy machine keeps two writes of one volley apart.
const AT_WORK = 50;
const settings = { maxConcurrentStreams: Number(streams) };
const seen = new Set();
const most = { now: 0, ever: 0 };
const answer = (request, response) => {
  most.ever = Math.max(most.ever, ++most.now);
  response.on('close', () => most.now--);
  let body = '';
  request.on('data', (piece) => (body += piece));
  request.on('end', () => {
    const again = kind === 'once' && seen.has(body);
    seen.add(body);
    setTimeout(() => {
      response.writeHead(again ? 409 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ most: most.ever, version: request.httpVersion, length: body.length }));
    }, AT_WORK);
  });
};
const server = key
  ? http2.createSecureServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert), settings,
      ...(ca ? { ca: fs.readFileSync(ca), requestCert: true, rejectUnauthorized: true } : {}) }, answer)
  : http2.createServer({ settings }, answer);
server.listen(Number(process.env.PORT || 0), '127.0.0.1', () => console.log(server.address().port));
"#;

fn script() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server.js");
    fs::write(&script, SERVER).unwrap();
    (folder, script)
}

const VOLLEY: [&str; 8] = ["--http2", "-d", "{{fresh}}", "-n", "20", "--rounds", "2", "--ready=/"];

#[test]
fn a_volley_in_the_clear_reaches_every_copy_at_once() {
    let (_folder, script) = script();
    let run = format!("node {} once 100", script.display());
    let (verdict, report) = hammer(&[&["--run", &run, "--copies", "2", "--settle", "1ms"][..], &VOLLEY].concat()).unwrap();
    assert_eq!(verdict, Verdict::Broken, "each process has a set of its own: {report:#}");
    assert!(diagnosis(&report).contains(&"process-guard"), "{report:#}");
    let volley = cells(&report, "c4")[0];
    let counts = (&volley["successes"], &volley["refused"], &volley["early"]);
    assert_eq!(counts, (&2.into(), &18.into(), &0.into()), "{report:#}");
    assert!(volley["overlap"].as_u64() > Some(10), "one copy's ten requests are not alone: {report:#}");
}

#[test]
fn requests_are_spread_over_as_many_connections_as_the_limit_asks_for() {
    let (_folder, script) = script();
    let run = format!("node {} once 6", script.display());
    for hold in ["body", "header"] {
        let words = [&["--run", &run, "--copies", "1", "--hold", hold][..], &VOLLEY].concat();
        let (_, report) = hammer(&words).unwrap();
        for volley in cells(&report, "c3") {
            assert_eq!((&volley["successes"], &volley["refused"]), (&1.into(), &19.into()), "{hold}: {report:#}");
        }
    }
}

#[test]
fn a_request_without_a_body_and_one_with_a_long_body_are_whole() {
    let (_folder, script) = script();
    let run = format!("node {} always 100", script.display());
    let long = format!("{{{{fresh}}}}{}", "x".repeat(30_000));
    let expect = ["--expect", "successes == requests", "--rounds", "1", "-n", "12"];
    for (body, least) in [(vec!["-d", long.as_str()], "30000"), (vec!["--path", "/{{fresh}}"], "0")] {
        let success = format!("status == 200 && json.version == '2.0' && json.length >= {least}");
        let words = [&["--http2", "--run", &run, "--copies", "1", "--success", &success][..], &body, &expect].concat();
        let (verdict, report) = hammer(&words).unwrap();
        assert_ne!(verdict, Verdict::Broken, "{report:#}");
        assert!(cells(&report, "c3").iter().all(|volley| volley["successes"] == 12), "{report:#}");
    }
}

/// A folder with an authority's certificate, and a key and a certificate for the server and for a client.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.distinguished_name.push(rcgen::DnType::CommonName, "an authority of tests");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
    for (name, purpose) in [("server", ExtendedKeyUsagePurpose::ServerAuth), ("client", ExtendedKeyUsagePurpose::ClientAuth)] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.extended_key_usages = vec![purpose];
        let certificate = params.signed_by(&key, &authority).unwrap();
        fs::write(folder.path().join(format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(folder.path().join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
    folder
}

/// A server over TLS that asks for a certificate; ended when it is dropped.
struct Secure(std::process::Child, String);

impl Drop for Secure {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn secure(folder: &TempDir) -> Secure {
    use std::io::BufRead;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("server.js"), SERVER).unwrap();
    let mut child = std::process::Command::new("node")
        .arg(at("server.js"))
        .args(["once", "100"])
        .args([at("server.key"), at("server.pem"), at("ca.pem")])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
    Secure(child, format!("https://localhost:{}/", port.trim()))
}

#[test]
fn over_tls_both_sides_show_who_they_are() {
    let folder = certificates();
    let server = secure(&folder);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (ca, cert, key) = (at("ca.pem"), at("client.pem"), at("client.key"));
    let words = |more: &[&str]| -> Vec<String> {
        let base = ["--url", &server.1, "-d", "{{fresh}}", "-n", "12", "--rounds", "1", "--timeout", "5s"];
        base.iter().chain(more).map(|&word| word.to_owned()).collect()
    };
    let run = |more: &[&str]| hammer(&words(more).iter().map(String::as_str).collect::<Vec<_>>());
    let shown = ["--cacert", &ca, "--cert", &cert, "--key", &key];
    let (verdict, report) = run(&[&["--http2"][..], &shown].concat()).unwrap();
    assert_ne!(verdict, Verdict::Broken, "{report:#}");
    assert_eq!(
        (&cells(&report, "c3")[0]["successes"], &cells(&report, "c3")[0]["refused"]),
        (&1.into(), &11.into()),
        "{report:#}"
    );
    let (_, report) = run(&["--http2", "--insecure", "--cert", &cert, "--key", &key]).unwrap();
    assert!(report["why"].to_string().contains("Certificates were not checked (--insecure)"), "{report:#}");
    let said = |result: anyhow::Result<(Verdict, Value)>| format!("{:#}", result.unwrap_err());
    assert!(said(run(&["--http2", "--cacert", &ca])).contains("localhost"), "without a certificate");
    let old = said(run(&shown));
    assert!(old.contains("--http2"), "{old}");
    assert!(said(run(&["--http2", "--cacert", &ca, "--cert", &cert, "--key", &ca])).contains("cannot be read as PEM"));
    assert!(said(run(&["--http2", "--cacert", &ca, "--cert", "/no/such.pem", "--key", &key])).contains("--cert /no/such.pem"));
}

#[test]
fn a_service_without_http2_is_said() {
    let url = super::service::serve(|_| (200, String::new()));
    let message = error(&["--http2", "--url", &url, "-d", "{{fresh}}", "--timeout", "1s"]);
    assert!(message.contains("Does it speak HTTP/2?"), "{message}");
}
