//! `transaction-held`: a transaction or a row lock stays open across a remote call or a wait.

use super::candidate::Candidate;
use super::credential::refreshes_credential;
use super::transactions::{Transaction, commits, on_the_way, transactions};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Op, Spot, What};
use crate::rules::{Meaning, Severity};

/// Kinds of effects that wait for another machine, which may be slow.
const REMOTE: &[&str] = &["http", "mail", "pay", "push"];

pub(super) fn detect(view: &View<'_>, found: &mut Vec<Candidate>) {
    let waits: Vec<(u32, &FlatEvent, Wait)> =
        view.events().filter_map(|(index, event)| Some((index, event, wait(view, event)?))).collect();
    if waits.is_empty() {
        return;
    }
    for transaction in transactions(view) {
        let inside = |index: u32, event: &FlatEvent| transaction.holds(view, index, event);
        // What lies in one callee with its transaction is that function's own to say: it sees all of it.
        let elsewhere = |event: &FlatEvent| {
            let own = transaction.hops.first();
            own.is_some() && own == event.hops.first()
        };
        let first = waits.iter().find(|(index, event, _)| {
            inside(*index, event) && !elsewhere(event) && works(view, &inside) && !skips(view, &inside)
        });
        if let Some((index, event, wait)) = first {
            let locked = locks_rows(view, *index, event, &inside);
            found.push(in_transaction(view, &transaction, event, wait, locked));
        }
    }
    let known: Vec<Spot> = found.iter().filter(|candidate| candidate.rule == "transaction-held").map(|c| c.work).collect();
    for (index, event, wait) in waits.iter().filter(|(_, event, _)| !known.contains(&event.at)) {
        if let Some((_, lock)) = row_lock(view, *index, event) {
            found.push(under_a_row_lock(view, lock, event, wait));
        }
    }
}

/// What is waited for.
enum Wait {
    /// A call of another service.
    Call(Confidence),
    /// Time.
    Time,
}

fn wait(view: &View<'_>, event: &FlatEvent) -> Option<Wait> {
    // One flight for all copies: the refresh is what the row is locked for.
    if event.detached || starts_only(view, event) || refreshes_credential(view, event) {
        return None;
    }
    match &event.what {
        What::Meant(meant) => match meant.is {
            Meaning::Effect | Meaning::Pure | Meaning::Refresh => {
                let kind = meant.text("kind")?;
                let sure = if meant.sure { Confidence::High } else { Confidence::Medium };
                REMOTE.contains(&kind.as_str()).then_some(Wait::Call(sure))
            }
            Meaning::Sleep => Some(Wait::Time),
            // A promise that a timer keeps, waited for.
            Meaning::Spawn if meant.flag("later") && meant.flag("period") => {
                matches!(meant.part("body"), Some(Value::Param(..))).then_some(Wait::Time)
            }
            _ => None,
        },
        What::Presumed(presumed) => {
            let remote = view.world.tree.book.verbs.is_remote(&presumed.name, presumed.owner.as_deref());
            remote.then_some(Wait::Call(Confidence::Medium))
        }
        _ => None,
    }
}

/// Whether an asynchronous call is started and left to itself.
fn starts_only(view: &View<'_>, event: &FlatEvent) -> bool {
    let asynchronous = view.world.tree.function(event.origin.0).is_some_and(|function| function.flags.is_async);
    asynchronous && event.dropped && !event.propagated && matches!(event.act, Act::Call { awaited: false, .. })
}

/// Whether rows are read or written during a span of events: an advisory lock is none.
fn works(view: &View<'_>, inside: &dyn Fn(u32, &FlatEvent) -> bool) -> bool {
    view.events().any(|(index, event)| {
        let rows = match &event.what {
            What::Statement(statement) => {
                !matches!(statement.op, Op::Begin | Op::Commit | Op::Rollback | Op::SessionLock | Op::TransactionLock | Op::Other)
            }
            What::Meant(meant) => matches!(meant.is, Meaning::Flush | Meaning::Track),
            What::Presumed(presumed) => !presumed.strong,
            _ => false,
        };
        rows && inside(index, event)
    })
}

/// Whether rows that others have locked are passed over: nobody waits for those locked here.
fn skips(view: &View<'_>, inside: &dyn Fn(u32, &FlatEvent) -> bool) -> bool {
    view.events().any(|(index, event)| {
        event.statement().is_some_and(|statement| statement.row_lock && statement.tries) && inside(index, event)
    })
}

/// The row lock on the way to an event that no transaction in sight opened, but that a commit behind the event ends.
fn row_lock<'v>(view: &View<'v>, index: u32, event: &FlatEvent) -> Option<(u32, &'v FlatEvent)> {
    let committed = |from: u32, to: u32| view.events().any(|(at, other)| at > from && at < to && commits(other));
    let last = view.flat.events.len() as u32;
    view.events().take_while(|(at, _)| *at < index).find(|(at, earlier)| {
        let locks =
            earlier.statement().is_some_and(|statement| statement.row_lock && !statement.tries && statement.op == Op::Select);
        let elsewhere = !earlier.hops.is_empty() && earlier.hops.first() == event.hops.first();
        locks && !elsewhere && on_the_way(earlier, event) && !earlier.detached && !committed(*at, index) && committed(index, last)
    })
}

/// Whether rows that others may want are locked before a wait: changed, taken away or read to be changed. New rows are nobody
/// else's, and what is only read stands free.
fn locks_rows(view: &View<'_>, wait: u32, waits: &FlatEvent, inside: &dyn Fn(u32, &FlatEvent) -> bool) -> bool {
    view.events().any(|(index, event)| {
        let locks = match &event.what {
            What::Statement(statement) => match statement.op {
                Op::Select => statement.row_lock,
                Op::Insert => statement.conflict,
                Op::Update | Op::Upsert | Op::Delete | Op::Save | Op::Other => true,
                _ => false,
            },
            What::Meant(meant) => {
                meant.is == Meaning::Flush || meant.is == Meaning::Effect && meant.text("kind").as_deref() == Some("database")
            }
            What::Presumed(presumed) => !presumed.reads && !presumed.strong,
            _ => false,
        };
        let again = waits.in_loop.is_some() && waits.in_loop == event.in_loop;
        locks && (index < wait || again) && inside(index, event)
    })
}

fn in_transaction(view: &View<'_>, transaction: &Transaction, event: &FlatEvent, wait: &Wait, locked: bool) -> Candidate {
    let what = match locked {
        true => "the transaction, with its row locks and its connection, stays open",
        false => "the transaction stays open, and keeps its connection idle,",
    };
    let mut candidate = candidate(view, event, wait, what);
    candidate.severity = (!locked).then_some(Severity::Advice);
    candidate.cause = transaction.at;
    candidate.distance = event.hops.len().min(transaction.hops.len());
    candidate.trace.insert(0, (Role::State, transaction.at, "the transaction opens here".to_owned()));
    candidate
}

fn under_a_row_lock(view: &View<'_>, lock: &FlatEvent, event: &FlatEvent, wait: &Wait) -> Candidate {
    let mut candidate = candidate(view, event, wait, "the row stays locked");
    candidate.cause = lock.at;
    candidate.distance = event.hops.len().min(lock.hops.len());
    candidate.trace.insert(0, (Role::Acquire, lock.at, "the row is locked here, until the commit".to_owned()));
    candidate
}

fn candidate(view: &View<'_>, event: &FlatEvent, wait: &Wait, what: &str) -> Candidate {
    let (during, sure) = match wait {
        Wait::Call(sure) => (view.describe(event), *sure),
        Wait::Time => ("a wait".to_owned(), Confidence::High),
    };
    let mut candidate = Candidate::new(view, "transaction-held", event, event, format!("{what} during {during}"));
    candidate.stands = true;
    candidate.hop(Role::Effect, event, "waited for here");
    candidate.at_most(sure)
}
