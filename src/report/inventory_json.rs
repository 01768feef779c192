//! The inventory's JSON contract, in types of its own.

use std::io::{self, Write};

use serde::Serialize;

use crate::faults::{Because, Confidence, Fault, Item, Kind, Place, Running, Use, Verdict};
use crate::findings::Report;

/// Raised when a field is taken away or changes its meaning. It counts apart from that of the findings.
const SCHEMA_VERSION: &str = "1";

/// Writes the inventory as one JSON document.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let count = |verdict: Verdict| report.inventory.iter().filter(|item| item.verdict() == verdict).count();
    let document = Document {
        schema_version: SCHEMA_VERSION,
        inventory: report.inventory.iter().map(JsonItem::of).collect(),
        stats: JsonStats {
            files: report.stats.files,
            items: report.inventory.len(),
            fault: count(Verdict::Fault),
            unclear: count(Verdict::Unclear),
            sound: count(Verdict::Sound),
        },
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

#[derive(Serialize)]
struct Document<'r> {
    schema_version: &'static str,
    inventory: Vec<JsonItem<'r>>,
    stats: JsonStats,
}

#[derive(Serialize)]
struct JsonItem<'r> {
    kind: Kind,
    name: &'r str,
    #[serde(flatten)]
    at: JsonPlace<'r>,
    verdict: &'static str,
    copies: Option<JsonCopies<'r>>,
    uses: Vec<JsonUse<'r>>,
}

#[derive(Serialize)]
struct JsonPlace<'r> {
    path: &'r str,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct JsonCopies<'r> {
    text: &'r str,
    at: Option<JsonPlace<'r>>,
}

#[derive(Serialize)]
struct JsonUse<'r> {
    #[serde(flatten)]
    at: JsonPlace<'r>,
    verdict: &'static str,
    guards: Vec<JsonWork<'r>>,
    reached_from: &'r [String],
    faults: Vec<JsonFault<'r>>,
    reasons: Vec<JsonReason<'r>>,
}

#[derive(Serialize)]
struct JsonWork<'r> {
    what: &'r str,
    #[serde(flatten)]
    at: JsonPlace<'r>,
}

#[derive(Serialize)]
struct JsonFault<'r> {
    rule: &'r str,
    confidence: Confidence,
    reported: bool,
    #[serde(flatten)]
    at: JsonPlace<'r>,
}

#[derive(Serialize)]
struct JsonReason<'r> {
    reason: &'static str,
    text: &'r str,
    at: Option<JsonPlace<'r>>,
}

#[derive(Serialize)]
struct JsonStats {
    files: usize,
    items: usize,
    fault: usize,
    unclear: usize,
    sound: usize,
}

impl<'r> JsonItem<'r> {
    fn of(item: &'r Item) -> JsonItem<'r> {
        JsonItem {
            kind: item.kind,
            name: &item.name,
            at: JsonPlace::of(&item.at),
            verdict: item.verdict().name(),
            copies: item.copies.as_ref().map(JsonCopies::of),
            uses: item.uses.iter().map(JsonUse::of).collect(),
        }
    }
}

impl<'r> JsonPlace<'r> {
    fn of(place: &'r Place) -> JsonPlace<'r> {
        JsonPlace { path: &place.path, line: place.line, column: place.column }
    }
}

impl<'r> JsonCopies<'r> {
    fn of(copies: &'r Running) -> JsonCopies<'r> {
        JsonCopies { text: &copies.words, at: copies.at.as_ref().map(JsonPlace::of) }
    }
}

impl<'r> JsonUse<'r> {
    fn of(used: &'r Use) -> JsonUse<'r> {
        JsonUse {
            at: JsonPlace::of(&used.at),
            verdict: used.verdict().name(),
            guards: used.work.iter().map(|(what, at)| JsonWork { what, at: JsonPlace::of(at) }).collect(),
            reached_from: &used.reached,
            faults: used.faults.iter().map(JsonFault::of).collect(),
            reasons: used.sound.iter().map(JsonReason::of).collect(),
        }
    }
}

impl<'r> JsonFault<'r> {
    fn of(fault: &'r Fault) -> JsonFault<'r> {
        JsonFault { rule: &fault.rule, confidence: fault.confidence, reported: fault.reported, at: JsonPlace::of(&fault.at) }
    }
}

impl<'r> JsonReason<'r> {
    fn of(because: &'r Because) -> JsonReason<'r> {
        JsonReason { reason: because.why.name(), text: &because.words, at: because.at.as_ref().map(JsonPlace::of) }
    }
}
