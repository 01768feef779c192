//! What is said of each kind of guard.

use lockcheck::hammer::Verdict;

use super::service::{Guard, copies, serve};
use super::{cells, diagnosis, redeem, why};

#[test]
fn a_unique_key_holds() {
    let copies = copies(Guard::UniqueKey, 3);
    let (verdict, report) = redeem(&copies.urls, &["--rounds", "3"]);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    assert!(diagnosis(&report).is_empty());
    for cell in ["c3", "c4"] {
        let volleys = cells(&report, cell);
        for round in 1..=3 {
            let overlapped = |volley: &&serde_json::Value| volley["round"] == round && volley["overlap"].as_u64() >= Some(2);
            assert!(volleys.iter().any(overlapped), "{cell}, round {round}: {report:#}");
        }
        for volley in volleys {
            assert_eq!((&volley["successes"], &volley["refused"]), (&1.into(), &23.into()), "{report:#}");
            assert!(volley["spread_us"].as_u64().unwrap() > 0);
        }
    }
    assert_eq!(cells(&report, "c4")[0]["by_copy"].as_array().unwrap().len(), 3);
}

#[test]
fn a_check_before_an_insert_fails_on_one_copy() {
    let copies = copies(Guard::CheckThenInsert, 3);
    let (verdict, report) = redeem(&copies.urls, &[]);
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert!(cells(&report, "c3").iter().any(|volley| volley["holds"] == false), "{report:#}");
    assert!(diagnosis(&report).contains(&"check-then-insert") && !diagnosis(&report).contains(&"process-lock"));
}

#[test]
fn a_lock_of_one_process_fails_only_across_copies() {
    let copies = copies(Guard::ProcessLock, 3);
    let (verdict, report) = redeem(&copies.urls, &["--rounds", "20"]);
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert!(cells(&report, "c3").iter().all(|volley| volley["holds"] == true), "{report:#}");
    assert_eq!(diagnosis(&report), ["process-lock", "process-guard", "process-single-flight"], "{report:#}");
    assert!(report["stats"]["fisher_p"].as_f64().unwrap() < 0.01);
    assert!(cells(&report, "c4").len() < 20, "rounds end once the rates differ");
}

#[test]
fn a_set_in_one_process_fails_one_after_another() {
    let copies = copies(Guard::ProcessSet, 3);
    let (verdict, report) = redeem(&copies.urls, &["--settle", "10ms"]);
    assert_eq!(verdict, Verdict::Broken);
    assert!(diagnosis(&report).contains(&"process-guard") && diagnosis(&report).contains(&"process-session"));
    assert_eq!(cells(&report, "c2").len(), 2, "repeated with a pause");
    assert!(why(&report).contains("Each copy accepts exactly one"), "{report:#}");
    for part in cells(&report, "c4")[0]["by_copy"].as_array().unwrap() {
        assert_eq!(part["successes"], 1, "{report:#}");
    }
}

#[test]
fn a_limit_counted_in_one_process_lets_limit_times_copies_pass() {
    let copies = copies(Guard::ProcessLimit, 3);
    let (verdict, report) = redeem(&copies.urls, &["--expect", "successes <= 5", "--settle", "1ms"]);
    assert_eq!(verdict, Verdict::Broken);
    assert_eq!(diagnosis(&report), ["process-rate-limit", "process-counter"], "{report:#}");
    assert_eq!(cells(&report, "c1")[0]["successes"], 5);
    assert_eq!(cells(&report, "c4")[0]["successes"], 15);
    assert!(why(&report).contains("5 x 3 = 15"));
}

#[test]
fn one_copy_keeps_its_limit() {
    let copies = copies(Guard::ProcessLimit, 1);
    let (verdict, report) = redeem(&copies.urls, &["--expect", "successes <= 5"]);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    assert!(why(&report).contains("One address was given"), "{report:#}");
}

#[test]
fn no_guard_is_unguarded() {
    let copies = copies(Guard::NewOrder, 2);
    let (verdict, report) = redeem(&copies.urls, &["--effect-id", "json:$.order_id"]);
    assert_eq!((verdict, diagnosis(&report)), (Verdict::Broken, vec!["unguarded"]), "{report:#}");
}

#[test]
fn equal_answers_are_one_effect_once_the_effect_is_named() {
    let copies = copies(Guard::SameOrder, 2);
    let (verdict, report) = redeem(&copies.urls, &["--effect-id", "json:$.order_id"]);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    assert_eq!(report["expect"], "effects == 1");
    assert_eq!(cells(&report, "c4")[0]["successes"], 24);
    assert_eq!(cells(&report, "c4")[0]["effects"], 1);

    let (verdict, report) = redeem(&copies.urls, &[]);
    assert_eq!(verdict, Verdict::Broken);
    assert!(why(&report).contains("--effect-id"), "{report:#}");
}

#[test]
fn answers_without_the_named_effect_decide_nothing() {
    let copies = copies(Guard::SameOrder, 2);
    let (verdict, report) = redeem(&copies.urls, &["--effect-id", "json:$.no_such"]);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(why(&report).contains("hold no --effect-id"), "{report:#}");
}

#[test]
fn the_state_settles_answers_that_say_nothing() {
    let copies = copies(Guard::UniqueKeyAnswering500, 3);
    let (verdict, report) = redeem(&copies.urls, &["--rounds", "2"]);
    assert_eq!(verdict, Verdict::Inconclusive, "a 500 is no refusal: {report:#}");
    assert!(why(&report).contains("--verify"));

    let verify = ["--rounds", "2", "--verify", "GET /redemptions/{{fresh}} json:$.n"];
    let (verdict, report) = redeem(&copies.urls, &verify);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    assert!(why(&report).contains("settled by the state"), "{report:#}");
    assert_eq!(cells(&report, "c4")[0]["unknown"], 23);
}

#[test]
fn the_state_shows_what_answers_hide() {
    let copies = copies(Guard::CheckThenInsert, 2);
    let (verdict, report) = redeem(&copies.urls, &["--verify", "GET /redemptions/{{fresh}} json:$.n"]);
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    let worst = cells(&report, "c4").iter().filter_map(|volley| volley["effects"].as_u64()).max();
    assert!(worst.unwrap() > 1, "{report:#}");
}

#[test]
fn a_refusal_in_front_of_the_guard_is_no_evidence_unless_named() {
    let copies = copies(Guard::UniqueKeyAnswering400, 2);
    let (verdict, report) = redeem(&copies.urls, &["--rounds", "1"]);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(why(&report).contains("--refusal"), "{report:#}");
    let (verdict, report) = redeem(&copies.urls, &["--rounds", "1", "--refusal", "status == 400"]);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
}

#[test]
fn a_success_is_what_the_user_says() {
    let url = serve(|_| (200, r#"{"ok":false}"#.to_owned()));
    let (verdict, report) = redeem(&[url], &["--success", "json.ok"]);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(why(&report).contains("C0 fails") && why(&report).contains(r#"200 `{"ok":false}`"#), "{report:#}");
}

#[test]
fn wrong_credentials_say_nothing_of_the_guard() {
    let url = serve(|_| (401, "who are you? password=hunter22".to_owned()));
    let (verdict, report) = redeem(&[url], &[]);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(why(&report).contains("401") && why(&report).contains("credentials"), "{report:#}");
    assert!(!report.to_string().contains("hunter22"), "{report:#}");
}

#[test]
fn copies_on_different_stores_are_found_out() {
    let (one, other) = (copies(Guard::UniqueKey, 1), copies(Guard::UniqueKey, 1));
    let urls = [one.urls[0].clone(), other.urls[0].clone()];
    let (verdict, report) = redeem(&urls, &["--verify", "GET /redemptions/{{fresh}} json:$.n"]);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(why(&report).contains("the copies see different states"), "{report:#}");
}

#[test]
fn without_an_entity_one_volley_is_fired_and_said() {
    let copies = copies(Guard::UniqueKey, 2);
    let (verdict, report) = redeem(&copies.urls, &["-d", r#"{"code":"fixed"}"#]);
    // A single volley may fail to overlap on a busy machine.
    assert_ne!(verdict, Verdict::Broken, "{report:#}");
    assert_eq!(cells(&report, "c4")[0]["successes"], 1);
    assert_eq!(report["experiments"].as_array().unwrap().len(), 1);
    assert!(why(&report).contains("{{fresh}}"), "{report:#}");
}

#[test]
fn set_up_runs_before_each_experiment() {
    let made = std::sync::Mutex::new(std::collections::HashMap::new());
    let url = serve(move |question| {
        let body: serde_json::Value = serde_json::from_str(&question.body).unwrap();
        let code = body["code"].as_str().unwrap().to_owned();
        let mut made = made.lock().unwrap();
        match question.path.as_str() {
            "/coupons" => (201, made.insert(code, true).is_none().to_string()),
            _ => match made.get_mut(&code) {
                None => (404, "no such coupon".to_owned()),
                Some(free) => (if std::mem::take(free) { 200 } else { 409 }, String::new()),
            },
        }
    });
    assert_eq!(redeem(std::slice::from_ref(&url), &["--rounds", "2"]).0, Verdict::Inconclusive, "nothing to redeem");
    let (verdict, report) = redeem(&[url], &["--rounds", "2", "--setup", r#"POST /coupons {"code":"{{fresh}}"}"#]);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
}

#[test]
fn both_ways_to_release_and_to_hold_back_deliver_whole_requests() {
    let copies = copies(Guard::UniqueKey, 2);
    for words in [["--release", "loop"], ["--release", "io_uring"], ["--hold", "header"], ["--hold", "body"]] {
        let (verdict, report) = redeem(&copies.urls, &[&words[..], &["--rounds", "2"]].concat());
        assert_ne!(verdict, Verdict::Broken, "{report:#}");
        assert!(cells(&report, "c4").iter().all(|volley| volley["successes"] == 1), "{words:?}: {report:#}");
        let by = report["stats"]["released_by"].as_str().unwrap();
        assert!(words[1] != "loop" || by == "loop", "{report:#}");
    }
}

#[test]
fn answers_before_the_gate_are_flagged() {
    let url = super::service::listen(|mut stream| {
        use std::io::{Read, Write};
        // Answers as soon as the head is there, and reads the body only then.
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
            head.push(byte[0]);
        }
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        _ = stream.read_to_end(&mut Vec::new());
    });
    let (verdict, report) = redeem(&[url], &["--effect-id", "body", "--rounds", "1"]);
    assert_eq!(verdict, Verdict::Inconclusive, "{report:#}");
    assert!(cells(&report, "c3")[0]["early"].as_u64().unwrap() > 0, "{report:#}");
    assert!(why(&report).contains("--hold header"), "{report:#}");
}

/// A volley of a sound service is never called broken, whatever the machine does meanwhile.
#[test]
#[ignore = "200 volleys each take a while"]
fn two_hundred_volleys_of_sound_services_are_never_broken() {
    for guard in [Guard::UniqueKey, Guard::UniqueKeyAnswering500] {
        let copies = copies(guard, 3);
        let verify = ["--rounds", "100", "--verify", "GET /redemptions/{{fresh}} json:$.n"];
        let (verdict, report) = redeem(&copies.urls, &verify);
        assert_ne!(verdict, Verdict::Broken, "{report:#}");
        assert!(cells(&report, "c4").iter().all(|volley| volley["holds"] == true), "{report:#}");
    }
}

/// A faulty service is never called sound.
#[test]
#[ignore = "200 volleys each take a while"]
fn two_hundred_volleys_of_faulty_services_are_never_held() {
    for guard in [Guard::CheckThenInsert, Guard::ProcessLock, Guard::ProcessSet] {
        let copies = copies(guard, 3);
        let mut volleys = 0;
        while volleys < 200 {
            let (verdict, report) = redeem(&copies.urls, &["--settle", "1ms"]);
            assert_ne!(verdict, Verdict::Held, "{report:#}");
            volleys += cells(&report, "c3").len() + cells(&report, "c4").len();
        }
    }
}
