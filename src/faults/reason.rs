//! Why something is sound: what decides about it, or why nothing needs to. The detectors' own words for leaving something out.

use super::view::View;
use crate::program::{FlatEvent, Spot};

/// A reason, with what it speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// The kind of reason.
    pub why: Why,
    /// What decides, in words: a table, a column, a call.
    pub by: Option<String>,
    /// Where that stands.
    pub at: Option<Spot>,
}

/// The kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// A unique key refuses the second.
    UniqueKey,
    /// The write deals with a conflict itself.
    ConflictHandled,
    /// The write repeats the condition.
    Condition,
    /// The database works out the new value, or decides in one statement.
    Atomic,
    /// An earlier write or command told one winner.
    Claim,
    /// A row lock is held.
    RowLock,
    /// A lock of the transaction or session is held.
    AdvisoryLock,
    /// The transaction is serializable.
    Serializable,
    /// A lock that all copies share is held.
    SharedLock,
    /// The remote side can tell repeats.
    IdempotencyKey,
    /// Twice does no more than once.
    Idempotent,
    /// The row or key is this copy's own.
    OwnRow,
    /// What is dealt out by number falls to this copy alone.
    OwnShare,
    /// It is what this process gathered, and is emptied with it.
    OwnBuffer,
    /// The store is shared by all copies.
    SharedStore,
    /// It stands in for a shared one that is down.
    Fallback,
    /// The library claims each run for one copy.
    LibraryClaims,
    /// A request starts it, in the copy that serves the request.
    OnRequest,
    /// A setting says which copy does it.
    RoleSetting,
    /// The lease ends by itself, and only its owner frees it.
    Lease,
    /// The lease ends by itself, and nobody frees it.
    Expires,
    /// A lock of a library that keeps a token of its own.
    LibraryLock,
    /// The database frees it with the transaction or the connection.
    FreedByDatabase,
    /// It lets several in at once: it bounds this process.
    Bounds,
    /// It keeps one object whole that one task at a time may use.
    KeepsWhole,
    /// What it keeps is a copy or a result: each process may have its own.
    Memo,
    /// It looks something up; it does not ask whether the work was done.
    LooksUp,
    /// The work is done whichever way the test comes out.
    EitherWay,
    /// It keeps work apart for a while, and does not see to it that it is done once.
    KeepsApart,
    /// A comment accepts what comes of it.
    Accepted,
    /// It marks what came to nothing, so that it is not tried again at once.
    CameToNothing,
    /// It is counted and reported, and decides nothing.
    OnlyReported,
    /// The change and the work are in different hands.
    HandedOn,
    /// Nothing that others see happens under it.
    MemoryOnly,
    /// Those who call it hold a lock, or have decided.
    CallersDecide,
    /// A setting runs each request in a transaction.
    Transaction,
    /// Only tests, scripts or a command line lead there.
    NotServed,
    /// Another rule says it.
    SaidElsewhere,
    /// One copy runs.
    OneCopy,
    /// Its file lies with the files that the work is on.
    WithFiles,
    /// What it runs could not be followed.
    Unseen,
}

impl Why {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Why::UniqueKey => "unique-key",
            Why::ConflictHandled => "conflict-handled",
            Why::Condition => "condition",
            Why::Atomic => "atomic",
            Why::Claim => "claim",
            Why::RowLock => "row-lock",
            Why::AdvisoryLock => "advisory-lock",
            Why::Serializable => "serializable",
            Why::SharedLock => "shared-lock",
            Why::IdempotencyKey => "idempotency-key",
            Why::Idempotent => "idempotent",
            Why::OwnRow => "own-row",
            Why::OwnShare => "own-share",
            Why::OwnBuffer => "own-buffer",
            Why::SharedStore => "shared-store",
            Why::Fallback => "fallback",
            Why::LibraryClaims => "library-claims",
            Why::OnRequest => "on-request",
            Why::RoleSetting => "role-setting",
            Why::Lease => "lease",
            Why::Expires => "expires",
            Why::LibraryLock => "library-lock",
            Why::FreedByDatabase => "freed-by-database",
            Why::Bounds => "bounds",
            Why::KeepsWhole => "keeps-whole",
            Why::Memo => "memo",
            Why::LooksUp => "looks-up",
            Why::EitherWay => "either-way",
            Why::KeepsApart => "keeps-apart",
            Why::Accepted => "accepted",
            Why::CameToNothing => "came-to-nothing",
            Why::OnlyReported => "only-reported",
            Why::HandedOn => "handed-on",
            Why::MemoryOnly => "memory-only",
            Why::CallersDecide => "callers-decide",
            Why::Transaction => "request-transaction",
            Why::NotServed => "not-served",
            Why::SaidElsewhere => "said-elsewhere",
            Why::OneCopy => "one-copy",
            Why::WithFiles => "with-files",
            Why::Unseen => "unseen",
        }
    }

    /// It in words, to stand behind "sound: ".
    fn words(self) -> &'static str {
        match self {
            Why::UniqueKey => "a unique key decides",
            Why::ConflictHandled => "the insert deals with a conflict itself",
            Why::Condition => "the write repeats the condition",
            Why::Atomic => "the store works out the new value",
            Why::Claim => "a claim before it tells one winner",
            Why::RowLock => "a row lock is held",
            Why::AdvisoryLock => "the database's advisory lock is held",
            Why::Serializable => "the transaction is serializable",
            Why::SharedLock => "a lock that all copies share is held",
            Why::IdempotencyKey => "the other side tells repeats by a key",
            Why::Idempotent => "twice does no more than once",
            Why::OwnRow => "the row or key is this copy's own",
            Why::OwnShare => "it is of this copy's share, dealt out by number",
            Why::OwnBuffer => "it hands on what this process gathered, and empties it",
            Why::SharedStore => "it counts in a store that all copies share",
            Why::Fallback => "it stands in while the shared store is down",
            Why::LibraryClaims => "the library claims each run for one copy",
            Why::OnRequest => "a request starts it, in the copy that serves the request",
            Why::RoleSetting => "a setting says which copy does it",
            Why::Lease => "it ends by itself, and a release asks whose it is",
            Why::Expires => "it ends by itself, and nothing else frees it",
            Why::LibraryLock => "all copies share it, and the library tells its holders apart",
            Why::FreedByDatabase => "the database frees it with its holder",
            Why::Bounds => "it lets several in, and bounds this process only",
            Why::KeepsWhole => "it keeps one object whole, a connection or a sender, and decides nothing",
            Why::Memo => "it keeps a copy or a result, which each process may have",
            Why::LooksUp => "it looks up what is there, and work is done where it is",
            Why::EitherWay => "it says when the work is done, not whether",
            Why::KeepsApart => "it keeps work apart for a while, and ends by itself",
            Why::Accepted => "a comment accepts what comes of two at once",
            Why::CameToNothing => "it marks what came to nothing, so that it is not tried again at once",
            Why::OnlyReported => "the count is reported, and decides nothing",
            Why::HandedOn => "it hands on to a callback that nobody waits for",
            Why::MemoryOnly => "nothing that others see is done under it",
            Why::CallersDecide => "every caller holds a lock or has decided",
            Why::Transaction => "a setting runs each request in a transaction",
            Why::NotServed => "only tests, scripts or a command line lead there",
            Why::SaidElsewhere => "another rule speaks of the same work",
            Why::OneCopy => "one copy runs",
            Why::WithFiles => "its file lies with the files that the work is on: who has these has the lock",
            Why::Unseen => "what it runs could not be followed",
        }
    }
}

impl Reason {
    /// A reason that speaks of nothing more.
    pub fn new(why: Why) -> Reason {
        Reason { why, by: None, at: None }
    }

    /// A reason that an event gives.
    pub fn of(view: &View<'_>, why: Why, event: &FlatEvent) -> Reason {
        Reason { why, by: Some(view.describe(event)), at: Some(event.at) }
    }

    /// The same, with what decides in words.
    pub fn by(self, by: impl Into<String>) -> Reason {
        Reason { by: Some(by.into()), ..self }
    }

    /// It in words, with what decides.
    pub fn words(&self) -> String {
        match &self.by {
            Some(by) => format!("{}: {by}", self.why.words()),
            None => self.why.words().to_owned(),
        }
    }
}
