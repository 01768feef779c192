//! The same over TLS, with a certificate that nobody signed.

use std::io::Write;
use std::sync::Arc;

use lockcheck::hammer::Verdict;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::service::{listen, read_question};
use super::{cells, error, hammer};

/// A copy that accepts each coupon once, and its certificate as PEM.
fn secure_copy() -> (String, String) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let seen = std::sync::Mutex::new(std::collections::HashSet::new());
    let url = listen(move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(session, stream);
        if let Some(question) = read_question(&mut stream) {
            let status = if seen.lock().unwrap().insert(question.body) { 200 } else { 409 };
            _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
            stream.conn.send_close_notify();
            _ = stream.flush();
        }
    });
    (url.replace("http://127.0.0.1", "https://localhost"), cert.pem())
}

#[test]
fn an_untrusted_certificate_is_refused_with_what_to_do() {
    let (url, _) = secure_copy();
    let message = error(&["--url", &url, "-d", "{{fresh}}"]);
    assert!(message.contains("not trusted") && message.contains("--cacert") && message.contains("--insecure"), "{message}");
}

#[test]
fn the_last_byte_is_held_back_over_tls_too() {
    let (url, pem) = secure_copy();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pem).unwrap();
    let authority = file.path().to_str().unwrap();
    for trust in [vec!["--cacert", authority], vec!["--insecure"]] {
        let words = [&["--url", &url, "-d", "{{fresh}}", "-n", "20", "--rounds", "2"], trust.as_slice()].concat();
        let (verdict, report) = hammer(&words).unwrap();
        assert_ne!(verdict, Verdict::Broken, "{report:#}");
        for volley in cells(&report, "c3") {
            assert_eq!(
                (&volley["successes"], &volley["refused"], &volley["early"]),
                (&1.into(), &19.into(), &0.into()),
                "{report:#}"
            );
        }
    }
}

#[test]
fn plain_text_is_not_mistaken_for_tls() {
    let url = super::service::serve(|_| (200, String::new()));
    let message = error(&["--url", &url.replace("http://", "https://"), "-d", "{{fresh}}", "--timeout", "500ms"]);
    assert!(message.contains("http://"), "{message}");
}

#[test]
fn a_bad_authority_file_is_said() {
    let message = error(&["--url", "https://localhost/", "--cacert", "/no/such.pem"]);
    assert!(message.contains("--cacert /no/such.pem"), "{message}");
}
