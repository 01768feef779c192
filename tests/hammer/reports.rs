//! The forms of a report beside JSON, and the page that draws a run, in a browser.

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use lockcheck::hammer::{Verdict, run};

use super::Line;
use super::service::{Copies, Guard, copies};

/// Runs a coupon's redemption and returns the verdict and what was printed.
fn printed(copies: &Copies, more: &[&str]) -> (Verdict, String) {
    let urls: Vec<String> = copies.urls.iter().map(|url| format!("--url={url}/redeem")).collect();
    let words = ["hammer", "-d", r#"{"code":"{{fresh}}"}"#, "-n", "24"];
    let words = words.into_iter().chain(urls.iter().map(String::as_str)).chain(more.iter().copied());
    let mut out = Vec::new();
    let verdict = run(&Line::try_parse_from(words).unwrap().args, &mut out, &|_| {}).unwrap();
    (verdict, String::from_utf8(out).unwrap())
}

#[test]
fn junit_has_a_case_for_each_experiment_and_one_for_the_verdict() {
    let (verdict, held) = printed(&copies(Guard::UniqueKey, 2), &["--rounds", "1", "--format", "junit"]);
    assert_eq!(verdict, Verdict::Held, "{held}");
    assert!(held.starts_with("<?xml") && held.contains("failures=\"0\" errors=\"0\""), "{held}");
    assert!(held.contains("name=\"c4 round 1: all at once across copies\"") && held.contains("name=\"verdict\""), "{held}");
    let (verdict, broken) = printed(&copies(Guard::ProcessLock, 2), &["--format", "junit"]);
    assert_eq!(verdict, Verdict::Broken, "{broken}");
    assert!(broken.contains("<failure message=\"successes == 1 does not hold: 2 of 24 accepted"), "{broken}");
    assert!(broken.contains("compatible with process-lock"), "{broken}");
}

#[test]
fn github_gets_one_annotation_on_one_line() {
    let (_, broken) = printed(&copies(Guard::ProcessLock, 2), &["--format", "github"]);
    assert!(broken.starts_with("::error title=lockcheck hammer%3A broken::POST /redeem; "), "{broken}");
    assert!(broken.contains("%0Acompatible with: process-lock") && broken.lines().count() == 1, "{broken}");
    let (_, held) = printed(&copies(Guard::UniqueKey, 2), &["--rounds", "1", "--format", "github"]);
    assert!(held.starts_with("::notice "), "{held}");
}

#[test]
fn github_gets_a_table_for_the_job_summary_and_other_formats_none() {
    let copies = copies(Guard::UniqueKey, 2);
    let url = format!("{}/redeem", copies.urls[0]);
    let summary = |format: &str| {
        let words = ["hammer", "-d", r#"{"code":"{{fresh}}"}"#, "--rounds", "1", "--url", &url, "--format", format];
        let seen = std::cell::RefCell::new(String::new());
        let tell = |text: &str| seen.borrow_mut().push_str(text);
        run(&Line::try_parse_from(words).unwrap().args, &mut Vec::new(), &tell).unwrap();
        seen.into_inner()
    };
    let table = summary("github");
    assert!(
        table.starts_with("## lockcheck hammer: held\n") && table.contains("| C3 | all at once on one copy | 1 | 50 | 1 |"),
        "{table}"
    );
    assert_eq!(summary("text"), "");
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let copies = copies(Guard::UniqueKey, 2);
    let url = format!("{}/redeem", copies.urls[0]);
    let words = ["hammer", "-d", r#"{"code":"{{fresh}}"}"#, "--rounds", "1", "--html", "/nowhere/page.html", "--url", &url];
    let error = run(&Line::try_parse_from(words).unwrap().args, &mut Vec::new(), &|_| {}).unwrap_err();
    assert!(format!("{error:#}").contains("--html /nowhere/page.html"), "{error:#}");
}

#[test]
fn the_page_draws_every_request_and_fits_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let html = page.to_str().unwrap();
    let secret = ["-H", "authorization: Bearer planted-secret-value"];
    let (verdict, _) = printed(&copies(Guard::ProcessLock, 2), &["--html", html, secret[0], secret[1]]);
    assert_eq!(verdict, Verdict::Broken);
    let source = fs::read_to_string(&page).unwrap();
    assert!(!source.contains("planted-secret-value"), "a secret is on the page");
    assert!(
        !source.contains("http://") && !source.contains("https://") && !source.contains("<script"),
        "it needs something else"
    );
    let dom = measured(folder.path(), &source, 360);
    assert!(dom.contains("BROKEN") && dom.contains("process-lock"), "{dom}");
    assert!(dom.contains("<title>fits 24 2 fails<"), "width, drawn requests, accepted ones, fourth control: {dom}");
}

/// The page after a browser of this width laid it out; its title is then whether it fits, how many requests and how many
/// accepted ones the open volley shows, and the state of the last control.
fn measured(folder: &Path, source: &str, width: u32) -> String {
    let measure = "<script>addEventListener('load', () => {\
        const open = document.querySelector('details[open]'), count = what => open.querySelectorAll(what).length;\
        const cells = document.querySelectorAll('td');\
        const seen = [...open.querySelectorAll('.row')].filter(row => row.getBoundingClientRect().height > 4).length;\
        document.title = [document.documentElement.scrollWidth <= innerWidth ? 'fits' : 'overflows', seen, count('.row.accepted'), cells[cells.length - 1].className].join(' ');\
        });</script>";
    // Headless windows have a least width; a frame does not.
    let page = folder.join("measured.html");
    fs::write(&page, source.replace("</body>", &format!("{measure}</body>"))).unwrap();
    let frame = folder.join("frame.html");
    let framed = format!(
        "<iframe src=measured.html style='width:{width}px;height:800px;border:0' onload='setTimeout(() => {{\
         document.documentElement.innerHTML = this.contentDocument.documentElement.innerHTML}}, 300)'></iframe>"
    );
    fs::write(&frame, framed).unwrap();
    let browser = std::env::var("LOCKCHECK_TEST_CHROMIUM").expect("tests/run installs Chromium and names it");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", frame.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
