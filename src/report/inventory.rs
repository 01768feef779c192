//! The inventory as a table: what is at fault first, then what is sound, with the reasons.

use std::cmp::Reverse;
use std::io::{self, Write};

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table};

use crate::faults::{Item, Kind, Place, Use, Verdict};
use crate::findings::Report;

use super::columns::printable;
use super::counted;

/// The most uses or pieces of work named in one cell; the rest are counted.
const MOST: usize = 3;
/// The narrowest table that can be read.
const NARROWEST: u16 = 80;

/// Writes the table, `width` cells wide, and the line that sums up.
pub fn write(report: &Report, width: u16, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    let header = ["what and where", "guards", "reached from", "verdict"];
    table
        .load_style(UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.max(NARROWEST))
        .enforce_styling()
        .set_header(header.map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
    table.style_text_only();
    let mut items: Vec<&Item> = report.inventory.iter().collect();
    items.sort_by_key(|item| Reverse(item.verdict()));
    for item in items {
        table.add_row([
            Cell::new(what(report, item)),
            Cell::new(guards(item)),
            Cell::new(runs(item)),
            Cell::new(verdict(report, item)).fg(colour(item.verdict())),
        ]);
    }
    if !report.inventory.is_empty() {
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    writeln!(out, "{}", totals(report))
}

/// What it is, where it lives, and where it is used elsewhere.
fn what(report: &Report, item: &Item) -> String {
    let mut lines = vec![printable(format!("{} {}", item.kind.name(), item.name).trim_end()), spot(report, &item.at)];
    let elsewhere: Vec<&Use> = item.uses.iter().filter(|used| used.at != item.at).collect();
    lines.extend(elsewhere.iter().take(MOST).map(|used| format!("used at {}", seen_from(report, item, &used.at))));
    more(&mut lines, elsewhere.len());
    lines.join("\n")
}

/// The work under it.
fn guards(item: &Item) -> String {
    let mut work: Vec<String> = vec![];
    for (what, _) in item.uses.iter().flat_map(|used| &used.work) {
        let what = printable(what);
        if !work.contains(&what) {
            work.push(what);
        }
    }
    let all = work.len();
    if all == 0 {
        let shared = matches!(item.kind, Kind::SharedLock | Kind::FileLock | Kind::Job | Kind::Limiter | Kind::Sessions);
        return if shared { "nothing seen" } else { "memory only" }.to_owned();
    }
    work.truncate(MOST);
    more(&mut work, all);
    work.join("\n")
}

fn more(lines: &mut Vec<String>, all: usize) {
    if let Some(more) = all.checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
}

/// From where it is reached, and in how many copies.
fn runs(item: &Item) -> String {
    let mut kinds: Vec<&str> = item.uses.iter().flat_map(|used| &used.reached).map(|kind| entry_name(kind)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let reached = if kinds.is_empty() { "nowhere found".to_owned() } else { kinds.join(", ") };
    let copies = item.copies.as_ref().map_or("copies not known".to_owned(), |copies| printable(&copies.words));
    format!("{reached}\n{copies}")
}

/// How users see a kind of entry.
fn entry_name(kind: &str) -> &str {
    match kind {
        "http" => "HTTP",
        "rpc" => "RPC",
        "startup" => "start-up",
        "cli" => "command line",
        other => other,
    }
}

/// The rules of the faults, else the reasons.
fn verdict(report: &Report, item: &Item) -> String {
    let mut lines: Vec<String> = vec![];
    let mut add = |line: String| {
        if !lines.contains(&line) {
            lines.push(line);
        }
    };
    for fault in item.uses.iter().flat_map(|used| &used.faults) {
        let silent = if fault.reported { "" } else { ", not reported" };
        add(format!("{} at {} ({}{silent})", fault.rule, seen_from(report, item, &fault.at), fault.confidence.name()));
    }
    for used in item.uses.iter().filter(|used| used.faults.is_empty()) {
        for because in &used.sound {
            let at = because.at.as_ref().map(|at| format!(" ({})", seen_from(report, item, at))).unwrap_or_default();
            add(format!("{}: {}{at}", used.verdict().name(), printable(&because.words)));
        }
    }
    lines.join("\n")
}

/// A place; in the item's own file the line alone.
fn seen_from(report: &Report, item: &Item, at: &Place) -> String {
    if at.path == item.at.path { format!(":{}", at.line) } else { spot(report, at) }
}

fn spot(report: &Report, at: &Place) -> String {
    printable(&format!("{}:{}", report.path_from_here(&at.path), at.line))
}

fn colour(verdict: Verdict) -> Color {
    match verdict {
        Verdict::Fault => Color::Red,
        Verdict::Unclear => Color::Yellow,
        Verdict::Sound => Color::Green,
    }
}

fn totals(report: &Report) -> String {
    let files = counted(report.stats.files, "file");
    let count = |verdict: Verdict| report.inventory.iter().filter(|item| item.verdict() == verdict).count();
    if report.inventory.is_empty() {
        return format!("Nothing to list in {files}: no lock, guard, counter, limiter or job");
    }
    let unclear = match count(Verdict::Unclear) {
        0 => String::new(),
        number => format!(", {number} unclear"),
    };
    let (all, faults, sound) = (counted(report.inventory.len(), "item"), count(Verdict::Fault), count(Verdict::Sound));
    format!("{all} in {files}: {faults} at fault{unclear}, {sound} sound; `lockcheck explain RULE` says more of a rule")
}
