//! The state before and after: read from a file of SQLite or by a request, compared with what was answered.

use lockcheck::hammer::Verdict;
use serde_json::json;

use super::service::{Guard, copies, serve};
use super::{cells, diagnosis, error, hammer, redeem, why};

const COUNT: &str = "select (select count(*) from keyed where code = '{{fresh}}') + (select count(*) from redemptions where code = '{{fresh}}') as n";

#[test]
fn a_database_counts_effects_and_settles_what_was_not_answered() {
    let copies = copies(Guard::UniqueKeyAnswering500, 2);
    let database = format!("sqlite:{}", copies.database.display());
    let (verdict, report) = redeem(&copies.urls, &["--rounds", "2", "--verify-sql", &database, COUNT]);
    assert_eq!(verdict, Verdict::Held, "{report:#}");
    let volley = cells(&report, "c4")[0];
    assert_eq!((&volley["effects"], &volley["unknown"]), (&1.into(), &23.into()), "{report:#}");
    assert_eq!((&volley["before"], &volley["after"]), (&json!({"n": 0}), &json!({"n": 1})), "{report:#}");
}

#[test]
fn answers_that_the_state_does_not_bear_out_are_a_diagnosis() {
    let copies = copies(Guard::UniqueKeyAnswering200, 2);
    let database = format!("sqlite:{}", copies.database.display());
    let (_, report) = redeem(&copies.urls, &["--rounds", "1", "--verify-sql", &database, COUNT]);
    assert_eq!(diagnosis(&report), ["answers-without-effect"], "{report:#}");
    assert!(why(&report).contains("was told of 24 effects, the state shows 1"), "{report:#}");
    let named = ["--rounds", "1", "--effect-id", "json:$.order_id", "--verify-sql", &database, COUNT];
    let (_, report) = redeem(&copies.urls, &named);
    assert!(diagnosis(&report).is_empty(), "the answers name one effect: {report:#}");
}

#[test]
fn what_must_hold_can_speak_of_before_and_after() {
    // Each request takes three, however many are left.
    let stock = std::sync::Mutex::new(std::collections::HashMap::new());
    let url = serve(move |question| {
        let item = question.path.rsplit('/').next().unwrap().to_owned();
        let mut stock = stock.lock().unwrap();
        let left = stock.entry(item).or_insert(100_i64);
        if question.path.starts_with("/take") {
            *left -= if *left == 100 { 3 } else { 2 };
        }
        (200, format!("{{\"stock\":{left}}}"))
    });
    let target = format!("{url}/take/{{{{fresh}}}}");
    let words = |expect: &'static str| {
        let verify = "GET /left/{{fresh}} json:$";
        hammer(&["--url", &target, "-X", "POST", "-n", "4", "--rounds", "1", "--verify", verify, "--expect", expect]).unwrap()
    };
    let (verdict, report) = words("after.stock == before.stock - 3 * successes");
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert!(why(&report).contains("the state was {\"stock\":100} before and {\"stock\":91} after"), "{report:#}");
    let (_, report) = words("after.stock == before.stock - 2 * successes - 1");
    assert!(cells(&report, "c3").iter().all(|volley| volley["holds"] == true), "{report:#}");
    assert!(!report.to_string().contains("has no answer here"), "nothing is asked of the first requests: {report:#}");
    let (verdict, report) = words("after.nothing == 0");
    assert_eq!(verdict, Verdict::Inconclusive, "{report:#}");
    assert!(why(&report).contains("--expect has no answer here") && why(&report).contains("stock"), "{report:#}");
}

#[test]
fn what_cannot_be_read_is_said() {
    let url = serve(|_| (200, String::new()));
    let with = |database: &str, query: &str, more: &[&str]| {
        let words = ["--url", &url, "-d", "{{fresh}}", "-n", "4", "--rounds", "1", "--verify-sql", database, query];
        hammer(&[&words[..], more].concat())
    };
    let message = |database: &str| format!("{:#}", with(database, "select 1", &[]).unwrap_err());
    assert!(message("oracle://h/x").contains("`oracle` is not spoken"), "{}", message("oracle://h/x"));
    let far = message("postgres://ann:hunter22@203.0.113.7/x");
    assert!(far.contains("--allow-host 203.0.113.7") && !far.contains("hunter22"), "{far}");
    for dead in ["sqlite:/no/such/file", "postgres://ann:hunter22@127.0.0.1:1/x", "mysql://ann:hunter22@127.0.0.1:1/x"] {
        let (verdict, report) = with(dead, "select 1", &["--timeout", "2s"]).unwrap();
        assert_eq!(verdict, Verdict::Inconclusive, "{dead}: {report:#}");
        let why = why(&report);
        assert!(why.contains("--verify-sql 'select 1'") && !report.to_string().contains("hunter22"), "{dead}: {why}");
    }
    assert!(error(&["--url", &url, "-d", "{{fresh}}", "--expect", "before == after"]).contains("--verify-sql"));
}
