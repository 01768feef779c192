//! `local-file-lock` and `session-advisory-lock`: locks that reach as far as one machine's disk, or as one connection.

use super::candidate::Candidate;
use super::disk::{goes_with_files, lies_with_files};
use super::effects::{Sureness, effect, vague};
use super::reason::{Reason, Why};
use super::subject::{Judged, Kind, Subject};
use super::tests_of_state::changes;
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Op, Ty, What, unwrapped};
use crate::rules::{Meaning, Scope, TypeKind};

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    files(view, found);
    records(view, found);
    advisory(view, found);
}

/// A lock file decides.
fn files(view: &View<'_>, found: &mut Judged) {
    for region in view.regions.iter().filter(|region| region.scope == Scope::Host) {
        let acquire = view.event(region.acquire);
        let with_files = lies_with_files(view, region);
        let work = view
            .events()
            .filter(|(index, event)| region.holds(*index, event) || view.decided_by(event).contains(&region.acquire))
            .filter(|(_, event)| !vague(view, event) && !on_this_disk(event) && !in_a_file(view, event))
            .filter(|(_, event)| !(with_files && goes_with_files(view, region, event)))
            .filter_map(|(index, event)| Some((index, event, effect(view, event)?)))
            .max_by_key(|(index, _, sureness)| (*sureness, std::cmp::Reverse(*index)));
        let sureness = work.map(|(_, _, sureness)| sureness);
        let work = work.map(|(index, event, _)| (index, event));
        let subject = Subject::lock(view, Kind::FileLock, region).around(view, work.iter().map(|(_, event)| *event));
        // What it is taken for is not seen: it may keep this machine's own files whole.
        let Some((_, work)) = work else {
            found.sound(subject, vec![Reason::new(if with_files { Why::WithFiles } else { Why::Unseen })]);
            continue;
        };
        let mut candidate = Candidate::new(
            view,
            "local-file-lock",
            acquire,
            work,
            "the lock is a file on this machine's disk: copies on other machines or in other containers do not see it".to_owned(),
        );
        candidate.work = acquire.at;
        candidate.primary = acquire.at;
        candidate.subject = Some(subject);
        candidate.hop(Role::Acquire, acquire, "taken here");
        candidate.hop(Role::Effect, work, view.describe(work));
        found.push(candidate.at_most(match sureness {
            Some(Sureness::Known) if region.sure => Confidence::High,
            Some(Sureness::Known | Sureness::Presumed) => Confidence::Medium,
            Some(Sureness::Opaque) | None => Confidence::Low,
        }));
    }
}

/// Whether an event writes a file of this machine as a whole: what the lock keeps whole is on the same disk.
fn on_this_disk(event: &FlatEvent) -> bool {
    event.meant(Meaning::Effect).is_some_and(|meant| meant.flag("whole"))
}

/// Whether an event changes a database that is a file of this machine: who has that file has the lock.
fn in_a_file(view: &View<'_>, event: &FlatEvent) -> bool {
    let Some((Value::Member(on, _), _)) = event.call().filter(|_| event.statement().is_some()) else { return false };
    let (tree, file) = (view.world.tree, event.origin.0.file);
    match unwrapped(tree, tree.ty(&view.flat.plain(on), file), file) {
        Ty::Lib { path, .. } => tree.packs(file).type_row(&path).is_some_and(|row| row.scope == Scope::Host),
        _ => false,
    }
}

/// Records kept in a file of this machine are changed in memory and written back.
fn records(view: &View<'_>, found: &mut Judged) {
    let writes =
        |event: &FlatEvent| event.meant(Meaning::Effect).is_some_and(|meant| meant.text("kind").as_deref() == Some("file"));
    if !view.flat.events.iter().any(writes) {
        return;
    }
    let changes = changes(view);
    let Some(change) = changes
        .iter()
        .find(|change| !change.removes && view.made(&change.place).scope == Scope::Host && view.lasts(&change.place))
    else {
        return;
    };
    let written = view.events().find(|(index, event)| *index > change.event && writes(event));
    let Some((_, written)) = written else { return };
    let changed = view.event(change.event);
    let mut candidate = Candidate::new(view, "local-file-lock", written, changed, "the records are read from a file of this machine, changed in memory and written back whole: other copies have their own, and each overwrites the others'".to_owned());
    if let Some((file, span)) = view.made(&change.place).at {
        candidate.add(Role::State, crate::program::Spot { file, span }, "kept in a local file".to_owned());
    }
    candidate.hop(Role::State, changed, "changed in memory");
    candidate.hop(Role::Effect, written, "written back");
    candidate.subject = Some(Subject::of(Kind::FileLock, changed).kept_in(view, &change.place).around(view, [written]));
    found.push(candidate);
}

/// A session's advisory lock on a connection that nobody holds on to.
fn advisory(view: &View<'_>, found: &mut Judged) {
    for (index, event) in view.events() {
        let Some(statement) = event.statement() else { continue };
        if statement.op == Op::TransactionLock {
            let subject = Subject::of(Kind::SharedLock, event).named("transaction's advisory lock");
            found.sound(subject, vec![Reason::new(Why::FreedByDatabase)]);
        }
        if statement.op != Op::SessionLock {
            continue;
        }
        let on_pool = pooled(view, event);
        let behind_pooler = view.world.pooled_by_transaction && pooler_named(view, event);
        let subject = Subject::of(Kind::SharedLock, event).named("session's advisory lock");
        let goes_back = !on_pool && goes_back_locked(view, index, event);
        let given_back = if on_pool || goes_back { None } else { given_back(view, index, event) };
        if !on_pool && !behind_pooler && !goes_back && given_back.is_none() {
            found.sound(subject, vec![Reason::new(Why::FreedByDatabase)]);
            continue;
        }
        let message = if on_pool {
            "the lock belongs to whatever connection the pool picks: the unlock may run on another one, and the lock stays with a connection that went back to the pool"
        } else if given_back.is_some() {
            "the lock belongs to a connection, and the commit gives that back to the pool: the unlock may run on another one, and the lock stays with the first"
        } else if goes_back {
            "the connection goes back to the pool with the lock: nothing here frees it, and it stays with whoever gets the connection next"
        } else {
            "the lock belongs to a session, but the pooler hands the session to others after each transaction: the unlock may run on another one"
        };
        let mut candidate = Candidate::new(view, "session-advisory-lock", event, event, message.to_owned());
        candidate.hop(Role::Acquire, event, "taken for the session here");
        if let Some(commit) = given_back {
            candidate.hop(Role::Call, commit, "the connection goes back to the pool");
        }
        if let Some((_, unlock)) =
            view.events().find(|(_, other)| other.statement().is_some_and(|statement| statement.op == Op::SessionUnlock))
        {
            candidate.hop(Role::Release, unlock, "freed on whatever connection this gets");
        }
        // No caller frees what stays with a connection that is gone when this function returns.
        candidate.stands = on_pool || goes_back;
        let seen = on_pool || goes_back || given_back.is_some();
        let confidence = if statement.sure && seen { Confidence::High } else { Confidence::Medium };
        found.push(candidate.at_most(confidence).about(subject));
    }
}

/// The commit behind which whoever holds the lock works on, and which gives the connection that has it back to a pool.
fn given_back<'v>(view: &'v View<'_>, index: u32, lock: &FlatEvent) -> Option<&'v FlatEvent> {
    let (Value::Member(on, _), _) = lock.call()? else { return None };
    let unlocks = |event: &FlatEvent| event.statement().is_some_and(|statement| statement.op == Op::SessionUnlock);
    let mut after = view.events().filter(|(later, _)| *later > index).map(|(_, event)| event).take_while(|event| !unlocks(event));
    after.find(|event| {
        let Some(meant) = event.meant(Meaning::Flush).filter(|meant| meant.flag("gives_back")) else { return false };
        view.flat.plain(&meant.receiver) == view.flat.plain(on)
    })
}

fn pooled(view: &View<'_>, event: &FlatEvent) -> bool {
    let Some((callee, args)) = event.call() else { return false };
    let on = matches!(callee, Value::Member(receiver, _) if is_pool(view, event, receiver));
    on || args.iter().any(|(_, value)| is_pool(view, event, value))
}

fn is_pool(view: &View<'_>, event: &FlatEvent, value: &Value) -> bool {
    let file = event.origin.0.file;
    let tree = view.world.tree;
    let ty = unwrapped(tree, tree.ty(&view.flat.plain(value), file), file);
    matches!(ty, Ty::Lib { path, .. } if tree.packs(file).kind(&path) == TypeKind::Pool)
}

/// Whether a lock is taken on a connection that this function took from a pool, keeps to itself, and never frees.
fn goes_back_locked(view: &View<'_>, index: u32, event: &FlatEvent) -> bool {
    let Some((callee, args)) = event.call() else { return false };
    let receiver = match callee {
        Value::Member(of, _) => Some(&**of),
        _ => None,
    };
    let from_pool = |value: &&Value| match value {
        Value::Flat(at) => {
            let given = view.event(*at);
            let resets = matches!(&given.what, What::Meant(meant) if meant.flag("resets"));
            let pool = matches!(given.call(), Some((Value::Member(pool, _), _)) if is_pool(view, given, pool));
            pool && !resets && given.meant(Meaning::Begin).is_none()
        }
        _ => false,
    };
    let Some(connection) = receiver.into_iter().chain(args.iter().map(|(_, value)| value)).find(from_pool) else { return false };
    let unlocked = view
        .events()
        .any(|(at, other)| at > index && other.statement().is_some_and(|statement| statement.op == Op::SessionUnlock));
    !unlocked && !handed_on(view, connection)
}

/// Whether a connection leaves the function, or is closed for good (`release(true)`).
fn handed_on(view: &View<'_>, connection: &Value) -> bool {
    let carries = |value: &Value| value.any(&|part| part == connection);
    view.flat.returns.iter().any(|(value, _)| carries(value))
        || view.events().any(|(_, event)| match &event.act {
            Act::Write { value, .. } => carries(value),
            Act::Call { callee, args, .. } => {
                let closes = matches!(callee, Value::Member(of, _) if **of == *connection)
                    && args.iter().any(|(_, value)| *value == Value::Bool(true));
                let given =
                    args.iter().any(|(_, value)| carries(value)) && matches!(event.what, What::Nothing | What::Presumed(_));
                closes || given && !event.inlined
            }
            _ => false,
        })
}

/// Whether the connection's own words say that it goes through the pooler; without any, it is taken to.
fn pooler_named(view: &View<'_>, event: &FlatEvent) -> bool {
    let Some((receiver, _)) = event.call() else { return false };
    let mut texts = vec![];
    for index in view.flat.depends(receiver) {
        if let Some((_, args)) = view.event(index).call() {
            args.iter().for_each(|(_, value)| {
                value.walk(&mut |part| {
                    if let Some(text) = part.text().or_else(|| view.world.tree.name_of(part)) {
                        texts.push(text.to_lowercase())
                    }
                })
            });
        }
    }
    let direct = texts.iter().any(|text| text.contains("direct") || text.contains("unpooled") || text.contains("5432"));
    !direct
}
