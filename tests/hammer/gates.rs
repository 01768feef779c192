//! Other ways to open the gate, and other ways to name copies.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockcheck::hammer::Verdict;

use super::service::{Guard, copies, serve};
use super::started::{all_gone, processes, server};
use super::{cells, diagnosis, error, hammer, redeem, why};

#[test]
fn copies_that_stand_still_go_on_together() {
    let (folder, command) = server();
    let words = [
        "--run",
        &command,
        "--copies",
        "2",
        "-d",
        "{{fresh}}",
        "-n",
        "16",
        "--rounds",
        "2",
        "--settle",
        "1ms",
        "--gate",
        "freeze",
    ];
    let (verdict, report) = hammer(&words).unwrap();
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    for cell in ["c3", "c4"] {
        let volley = cells(&report, cell)[0];
        assert_eq!((&volley["early"], &volley["unknown"]), (&0.into(), &0.into()), "{report:#}");
        assert!(volley["overlap"].as_u64() >= Some(2), "{report:#}");
    }
    assert!(all_gone(&processes(folder.path())));
    assert!(error(&["--url", "http://127.0.0.1:1/", "--gate", "freeze"]).contains("start them with --run"));
}

#[test]
fn a_jitter_spreads_the_release_more_with_each_round() {
    let copies = copies(Guard::UniqueKey, 1);
    let (verdict, report) = redeem(&copies.urls, &["--rounds", "3", "--jitter", "60ms", "-n", "12"]);
    assert_ne!(verdict, Verdict::Broken, "{report:#}");
    let spread = |round: u64| {
        let of = cells(&report, "c3").into_iter().filter(|volley| volley["round"] == round);
        of.map(|volley| volley["spread_us"].as_u64().unwrap()).max().unwrap()
    };
    assert!(spread(3) >= 50_000 && spread(2) >= 20_000 && spread(1) < spread(3), "{report:#}");
    assert!(error(&["--url", "http://127.0.0.1:1/", "--jitter", "2s"]).contains("at most"));
}

#[test]
fn replicas_get_the_host_of_the_url() {
    let copies = copies(Guard::ProcessSet, 2);
    let at: Vec<&str> = copies.urls.iter().map(|url| url.strip_prefix("http://").unwrap()).collect();
    let words = [
        "--url",
        "http://shop.test/redeem",
        "-H",
        "content-type: application/json",
        "-d",
        "{\"code\":\"{{fresh}}\"}",
        "-n",
        "12",
        "--rounds",
        "1",
    ];
    let (verdict, report) = hammer(&[&words[..], &["--settle", "1ms", "--replica", at[0], "--replica", at[1]]].concat()).unwrap();
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    let parts = cells(&report, "c4")[0]["by_copy"].as_array().unwrap();
    assert_eq!(parts.iter().map(|part| part["copy"].as_str().unwrap()).collect::<Vec<_>>(), at, "{report:#}");
    let host = serve(|question| (if question.path == "/" { 200 } else { 404 }, String::new()));
    let message = error(&["--url", "http://a/", "--url", "http://b/", "--replica", host.strip_prefix("http://").unwrap()]);
    assert!(message.contains("one --url"), "{message}");
    assert!(error(&["--url", "http://a/", "--replica", "nowhere"]).contains("HOST:PORT"));
}

#[test]
fn every_address_of_a_name_is_a_copy() {
    let copies = copies(Guard::UniqueKey, 1);
    let port = copies.urls[0].rsplit(':').next().unwrap().to_owned();
    let url = format!("http://127.0.0.1:{port}/redeem");
    let words = ["--url", &url, "--resolve-all", "-d", "{\"code\":\"{{fresh}}\"}", "-n", "12", "--rounds", "1"];
    let (_, report) = hammer(&words).unwrap();
    assert_eq!(cells(&report, "c3")[0]["by_copy"][0]["copy"], format!("127.0.0.1:{port}"), "{report:#}");
}

#[test]
fn behind_a_balancer_answers_say_which_copy_gave_them() {
    // Two copies behind one address, each with a set of its own.
    let turn = AtomicUsize::new(0);
    let seen = [std::sync::Mutex::new(std::collections::HashSet::new()), std::sync::Mutex::new(std::collections::HashSet::new())];
    let url = serve(move |question| {
        let copy = turn.fetch_add(1, Ordering::Relaxed) % 2;
        let status = if seen[copy].lock().unwrap().insert(question.body.clone()) { 200 } else { 409 };
        (status, format!("{{\"pod\":\"pod-{copy}\"}}"))
    });
    let words = ["--url", &url, "-d", "{{fresh}}", "-n", "12", "--rounds", "2", "--copy-from", "json:$.pod"];
    let (verdict, report) = hammer(&words).unwrap();
    assert_eq!(verdict, Verdict::Broken, "{report:#}");
    assert!(diagnosis(&report).is_empty(), "{report:#}");
    assert!(why(&report).contains("pod-0, pod-1") && why(&report).contains("name the copies"), "{report:#}");
    let parts = cells(&report, "c3")[0]["by_copy"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{report:#}");
    assert!(error(&["--url", &url, "--copy-from", "pod"]).contains("--copy-from"));
}

#[test]
fn the_published_schema_is_that_of_the_options() {
    let published: serde_json::Value =
        serde_json::from_str(&fs::read_to_string("schemas/hammer-plan.schema.json").unwrap()).unwrap();
    assert_eq!(
        published,
        lockcheck::hammer::schema::schema(),
        "write it anew: lockcheck hammer --schema > schemas/hammer-plan.schema.json"
    );
    let schema = jsonschema::validator_for(&published).unwrap();
    let json = |text: &str| serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
    for file in fs::read_dir("src/hammer/plans").unwrap().flatten() {
        let plan = json(&fs::read_to_string(file.path()).unwrap());
        let errors: Vec<String> = schema.iter_errors(&plan).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", file.path().display());
    }
    for wrong in [
        "rounds = 3",
        "[scenario.a]\nround = 3",
        "[scenario.a]\nhold = 'tail'",
        "[scenario.a]\nverify-sql = ['x']",
        "[scenario.a]\nkill = 3",
    ] {
        assert!(!schema.is_valid(&json(wrong)), "{wrong}");
    }
}
