//! Hosts that are dead, rude, slow or far away: what is said, and what to do about it.

use std::io::{Read, Write};
use std::net::TcpListener;

use lockcheck::hammer::Verdict;

use super::service::{listen, read_question, serve};
use super::{cells, error, redeem, why};

#[test]
fn a_dead_host_is_said() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let message = error(&["--url", &format!("http://127.0.0.1:{port}/")]);
    assert!(message.contains(&format!("nothing listens at 127.0.0.1:{port}")) && message.contains("running"), "{message}");
}

#[test]
fn a_dead_second_copy_is_said() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let alive = serve(|_| (200, String::new()));
    let message = error(&["--url", &alive, "--url", &format!("http://127.0.0.1:{port}/"), "-d", "{{fresh}}"]);
    assert!(message.contains(&format!("nothing listens at 127.0.0.1:{port}")), "{message}");
}

#[test]
fn a_host_that_hangs_up_is_said() {
    let url = listen(|mut stream| _ = read_question(&mut stream));
    let message = error(&["--url", &url, "-d", "{{fresh}}"]);
    assert!(message.contains("closed the connection without an answer") && message.contains("log"), "{message}");
}

#[test]
fn half_an_answer_is_said() {
    let url = listen(|mut stream| {
        read_question(&mut stream);
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
    });
    let message = error(&["--url", &url, "-d", "{{fresh}}"]);
    assert!(message.contains("half an answer"), "{message}");
}

#[test]
fn a_host_that_does_not_answer_in_time_is_said() {
    let url = listen(|mut stream| {
        read_question(&mut stream);
        std::thread::sleep(std::time::Duration::from_secs(20));
    });
    let message = error(&["--url", &url, "-d", "{{fresh}}", "--timeout", "200ms"]);
    assert!(message.contains("no answer within 200ms"), "{message}");
}

#[test]
fn what_is_no_http_is_said() {
    let url = listen(|mut stream| {
        _ = stream.write_all(b"220 mail.test ESMTP\r\n");
        _ = stream.read(&mut [0; 1024]);
    });
    assert!(error(&["--url", &url, "-d", "{{fresh}}"]).contains("not HTTP/1.1"));
}

/// Answers the first request for each entity, and breaks off every later one in some way.
fn rude_after_first(rudely: impl Fn(&mut std::net::TcpStream) + Send + Sync + 'static) -> String {
    let seen = std::sync::Mutex::new(std::collections::HashSet::new());
    listen(move |mut stream| {
        let Some(question) = read_question(&mut stream) else { return };
        if seen.lock().unwrap().insert(question.body) {
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        } else {
            rudely(&mut stream);
        }
    })
}

#[test]
fn failures_are_never_refusals() {
    let reset = rude_after_first(|_| {});
    let half = rude_after_first(|stream| _ = stream.write_all(b"HTTP/1.1 409 Conflict\r\ncontent-le"));
    let slow = rude_after_first(|_| std::thread::sleep(std::time::Duration::from_secs(20)));
    for (url, word) in [(reset, "without an answer"), (half, "half an answer"), (slow, "no answer within")] {
        let (verdict, report) = redeem(&[url], &["--rounds", "1", "--timeout", "300ms", "-n", "6"]);
        assert_eq!(verdict, Verdict::Inconclusive, "{report:#}");
        assert_eq!(cells(&report, "c3")[0]["unknown"], 5, "{report:#}");
        assert_eq!(cells(&report, "c3")[0]["refused"], 0);
        assert!(why(&report).contains(word), "{report:#}");
    }
}

#[test]
fn a_far_host_must_be_named() {
    let message = error(&["--url", "http://203.0.113.7/"]);
    assert!(message.contains("--allow-host 203.0.113.7") && message.contains("LOCKCHECK_ALLOW_HOSTS"), "{message}");
}

#[test]
fn an_unknown_host_is_said() {
    assert!(error(&["--url", "http://no-such-host.invalid/"]).contains("no-such-host.invalid"));
}

#[test]
fn a_failing_set_up_is_said() {
    let url = serve(|_| (403, "not allowed".to_owned()));
    let message = error(&["--url", &url, "--setup", "POST /coupons {}"]);
    assert!(message.contains("--setup 'POST /coupons {}' answered 403 `not allowed`"), "{message}");
}

#[test]
fn mistakes_in_expressions_are_pointed_at() {
    let message = error(&["--url", "http://127.0.0.1/", "--expect", "succeses == 1"]);
    assert!(message.contains("there is no `succeses`") && message.contains('^'), "{message}");
    assert!(
        error(&["--url", "http://127.0.0.1/", "-d", "{{frehs}}"]).contains("{{fresh}}, {{n}}, {{capture.NAME}} and {{env.NAME}}")
    );
    assert!(error(&["--url", "http://127.0.0.1/", "--data-file", "/no/such/file"]).contains("cannot be read"));
}
