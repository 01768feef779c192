//! `unlocked-migration`: every copy changes the schema, or seeds it, when it starts, and nothing keeps them apart.

use super::candidate::{Candidate, Only};
use super::data::judge;
use super::effects::{by_a_claim, unique_key};
use super::holds::{Reach, holds};
use super::rows::{row_reads, row_writes};
use super::transactions::on_the_way;
use super::unleased_job::gated;
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Event, Value};
use crate::program::{FlatEvent, Op};
use crate::rules::{FunctionKind, Meaning, Severity};

/// The rule.
pub(super) const RULE: &str = "unlocked-migration";

pub(super) fn detect(view: &View<'_>, found: &mut Vec<Candidate>) {
    let starts = serves(view);
    for (index, event) in view.events() {
        let Some(meant) = event.meant(Meaning::Effect) else { continue };
        let in_line = || meant.text("runs").is_some_and(|call| locked_where(view, &call));
        if meant.text("kind").as_deref() != Some("migration") || set_apart(view, index, event) || in_line() {
            continue;
        }
        let starts = starts || works_on(view, index);
        // Of two at once, one is undone as a whole and ends with an error.
        let whole = meant.flag("undone") && !meant.text("unless").is_some_and(|word| mentioned(view, &word));
        let message = "every copy changes the schema when it starts, with a tool that takes no lock: copies that start together run the same changes at the same time";
        let mut candidate = candidate(view, event, event, message);
        candidate.hop(Role::Effect, event, "the schema is changed here");
        candidate.libraries = vec![meant.library.clone()];
        if whole {
            candidate.severity = Some(Severity::Advice);
            candidate.message = "every copy changes the schema when it starts: of copies that start together, one runs the changes, and the others are undone and end with an error".to_owned();
        }
        candidate.only = (!starts && !meant.flag("always")).then_some(Only::AtStart);
        found.push(candidate.at_most(if meant.sure { Confidence::High } else { Confidence::Medium }));
    }
    if starts || view.flat.root.func != 0 {
        seeds(view, starts, found);
    }
}

/// Whether the tree's own script, in which this call carries the changes out, takes the database's lock before it.
fn locked_where(view: &View<'_>, runs: &str) -> bool {
    let (tree, idioms) = (view.world.tree, &view.world.tree.book.idioms);
    let locks = |event: &Event| {
        let mut found = false;
        event.act.each_value(&mut |value| {
            found |= value.any(&|part| matches!(part, Value::Text(text) if idioms.lock_function(text).is_some_and(|function| matches!(function.is, FunctionKind::SessionLock | FunctionKind::TransactionLock))));
        });
        found
    };
    tree.all_functions().any(|function| {
        let events = tree.facts(function).map(|facts| &facts.events[..]).unwrap_or_default();
        let carries =
            |event: &Event| matches!(&event.act, Act::Call { callee, .. } if tree.ty(callee, function.file).path() == Some(runs));
        events.iter().position(carries).is_some_and(|at| events[..at].iter().any(locks))
    })
}

/// Whether a file that says how the program is built speaks of something.
fn mentioned(view: &View<'_>, word: &str) -> bool {
    view.world.documents.iter().any(|document| document.text.contains(word))
}

/// Rows added at start-up where none were found.
fn seeds(view: &View<'_>, starts: bool, found: &mut Vec<Candidate>) {
    let adds = view.events().any(|(_, event)| event.statement().is_some_and(|statement| statement.op == Op::Insert));
    let reads = row_reads(view);
    if !adds || reads.is_empty() {
        return;
    }
    let writes = row_writes(view);
    for write in writes.iter().filter(|write| write.statement.op == Op::Insert) {
        let undecided = !set_apart(view, write.index, write.event)
            && !write.statement.conflict
            && !write.statement.subquery
            && unique_key(view, write.event).is_none();
        let asked = reads.iter().filter(|read| read.index < write.index).find_map(|read| {
            let (_, fault) = judge(view, read, write)?;
            (fault.rule == "check-then-insert").then_some((read, fault.confidence))
        });
        if let (true, Some((read, sure))) = (undecided, asked) {
            let message = "every copy looks whether the rows are there when it starts, and adds them if not: two copies that start on an empty database add them twice";
            let mut candidate = candidate(view, write.event, write.event, message);
            candidate.only = (!starts).then_some(Only::AtStart);
            // Once in the life of an installation.
            candidate.severity = Some(Severity::Warning);
            candidate.hop(Role::Check, read.event, "looked for here");
            candidate.hop(Role::Effect, write.event, view.describe(write.event));
            found.push(candidate.at_most(sure).at_most(Confidence::Medium));
        }
    }
}

fn candidate(view: &View<'_>, cause: &FlatEvent, work: &FlatEvent, message: &str) -> Candidate {
    let mut candidate = Candidate::new(view, RULE, cause, work, message.to_owned());
    candidate.primary = cause.at;
    candidate.distance = cause.hops.len();
    candidate.stands = true;
    candidate
}

/// Whether a function is on the way to serving: it makes or starts what answers requests, or registers what does.
fn serves(view: &View<'_>) -> bool {
    view.events().any(|(_, event)| {
        let entry = event.meant(Meaning::Entry).and_then(|meant| meant.text("kind"));
        event.meant(Meaning::Serve).is_some()
            || event.meant(Meaning::Copies).is_some()
            || matches!(entry.as_deref(), Some("http" | "rpc" | "consumer"))
    })
}

/// Whether a function goes on for as long as its process runs, behind an event: rounds of work with a wait between them, or
/// jobs that a timer runs.
fn works_on(view: &View<'_>, after: u32) -> bool {
    view.events().skip_while(|(index, _)| *index <= after).any(|(_, event)| {
        let rounds = event.in_loop.is_some() && event.hops.is_empty() && event.meant(Meaning::Sleep).is_some();
        rounds || event.meant(Meaning::Job).is_some()
    })
}

/// Whether something keeps copies apart: a lock over it, a claim before it, or a setting that says who does it.
fn set_apart(view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
    let settings = &view.world.tree.book.reach.setting_words;
    let locked = || {
        holds(view).iter().any(|hold| hold.reach != Reach::Process && hold.holds(view, index, event))
            || view.events().take_while(|(at, _)| *at < index).any(|(_, earlier)| {
                let locks =
                    earlier.statement().is_some_and(|statement| matches!(statement.op, Op::SessionLock | Op::TransactionLock));
                locks && on_the_way(earlier, event)
            })
    };
    gated(view, event, settings) || by_a_claim(view, index, event).is_some() || locked()
}
