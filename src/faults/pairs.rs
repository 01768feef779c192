//! Keys that are set once: which later commands are about the same taking, and which keys are marks that stay on purpose.

use super::effects::effect;
use super::process_counter::is_time;
use super::shared_lock::{same_key, takes};
use super::view::View;
use super::ways::apart;
use crate::facts::{Act, Guard, Piece, Value};
use crate::program::{FlatEvent, Kv, Look, Op, Tree, What, amount, decorator};
use crate::rules::{CommandKind, Meaning, ScriptKind};
use crate::syntax::{BinaryOp, ExitKind, Shape};

/// Milliseconds from which on a key that is kept where all went well keeps work from being done again, rather than two from doing it
/// at once.
const KEPT: f64 = 3_600e3;

/// Milliseconds of a lease that a few commands of a store or database never take.
const AMPLE: f64 = 60e3;
/// How many such commands are a few.
const FEW: usize = 24;

/// A command on a key.
#[derive(Clone, Copy)]
pub(super) struct Taken<'e> {
    /// Its number.
    pub index: u32,
    /// The event.
    pub event: &'e FlatEvent,
    /// What it is.
    pub kv: &'e Kv,
}

/// All commands of a function on the shared store, in order.
pub(super) fn commands<'v>(view: &View<'v>) -> Vec<Taken<'v>> {
    view.events().filter_map(|(index, event)| Some(Taken { index, event, kv: event.kv()? })).collect()
}

/// The later commands on the key of a taking that are about it: not those on a way that it does not lead to, nor those behind another
/// taking of the key that always comes before them.
pub(super) fn later<'c, 'v>(view: &View<'v>, taken: &Taken<'_>, commands: &'c [Taken<'v>]) -> Vec<&'c Taken<'v>> {
    let on_key = |other: &&Taken<'v>| other.index > taken.index && same_key(view, &other.kv.key, &taken.kv.key);
    let all: Vec<&Taken<'v>> = commands.iter().filter(on_key).collect();
    let leads = |to: &Taken<'_>| !apart(view, (taken.index, taken.event), (to.index, to.event));
    let nearer = |to: &Taken<'_>| {
        let always = |other: &Taken<'_>| other.event.guards.iter().all(|guard| to.event.guards.contains(guard));
        let between = all.iter().filter(|other| other.index < to.index && takes(other.kv));
        between.into_iter().any(|other| always(other))
    };
    all.iter().copied().filter(|other| leads(other) && !nearer(other)).collect()
}

/// Whether a command frees the key.
pub(super) fn frees(kv: &Kv) -> bool {
    kv.op == CommandKind::Delete || kv.script == Some(ScriptKind::ReleaseIfOwner)
}

/// Whether whoever took a key frees it, however the work ended: a key that stays when all went well, and goes when something was
/// found wrong, keeps work apart for a while (a throttle, a mark) and is no lock.
pub(super) fn as_a_rule(view: &View<'_>, taken: &Taken<'_>, rest: &[&Taken<'_>], delete: &Taken<'_>) -> bool {
    let of_key = |index: &u32| *index == taken.index || rest.iter().any(|other| other.index == *index);
    // What was called once the key was taken speaks of it only where it gives what the store answered.
    let speaks = |value: &Value| match value {
        Value::Flat(at) if *at > taken.index => view.flat.made_of(value).iter().any(of_key),
        Value::Flat(_) => view.flat.depends(value).iter().any(of_key),
        _ => false,
    };
    let asks = |cond: u32| view.flat.conds.get(cond as usize).is_some_and(|cond| cond.value.any(&speaks));
    let free = |guard: &Guard| taken.event.guards.contains(guard) || asks(guard.cond);
    delete.event.in_finally || !delete.event.in_catch && delete.event.guards.iter().all(free)
}

/// Whether a key that ends by itself is a mark which stays on purpose: it goes only where the work failed, or nothing ever frees it for
/// hours.
pub(super) fn is_mark(view: &View<'_>, taken: &Taken<'_>, rest: &[&Taken<'_>]) -> bool {
    let freeing: Vec<&&Taken<'_>> = rest.iter().filter(|other| frees(other.kv)).collect();
    if taken.kv.ttl.is_none() || freeing.iter().any(|other| as_a_rule(view, taken, rest, other)) {
        return false;
    }
    if freeing.is_empty() {
        return lasts(view, taken.event, taken.kv).is_some_and(|ms| ms >= KEPT);
    }
    freeing.iter().all(|other| other.event.in_catch || came_to_nothing(view, taken, other.event))
}

/// Whether an event is done only where the answer of some work that was waited for says that it failed.
fn came_to_nothing(view: &View<'_>, taken: &Taken<'_>, event: &FlatEvent) -> bool {
    let works = |at: &u32| {
        let asked = view.event(*at);
        let waited = matches!(asked.act, Act::Call { awaited: true, .. });
        *at > taken.index && asked.kv().is_none() && (waited || effect(view, asked).is_some())
    };
    event.guards.iter().any(|guard| {
        let cond = view.flat.conds.get(guard.cond as usize);
        cond.is_some_and(|cond| fails(view, &cond.value, guard.holds)) && view.cond_depends(guard.cond).iter().any(works)
    })
}

/// Whether a condition that came out so says that there is nothing, or an error.
fn fails(view: &View<'_>, value: &Value, holds: bool) -> bool {
    match value {
        Value::Not(inner) => fails(view, inner, !holds),
        Value::Is(inner, shape) => match &**shape {
            Shape::Null | Shape::Err | Shape::Bool(false) => holds,
            Shape::Present | Shape::Ok | Shape::Bool(true) => !holds,
            _ => fails(view, inner, holds),
        },
        // A question whose answer yes says so.
        Value::Flat(at) => {
            let name = view.event(*at).call().and_then(|(callee, _)| view.world.tree.name_of(callee));
            name.is_some_and(|name| view.world.tree.book.verbs.is_absence(&name)) == holds
        }
        Value::Member(..) | Value::Any(_) => !holds,
        _ => false,
    }
}

/// How long a key lasts at least, in milliseconds, where that is known.
pub(super) fn lasts(view: &View<'_>, event: &FlatEvent, kv: &Kv) -> Option<f64> {
    let look = Look { tree: view.world.tree, events: &view.flat.events };
    let unit = if kv.seconds { "s" } else { "ms" };
    Some(amount(&look, kv.ttl.as_ref()?, event.origin.0.file)?.in_ms(Some(unit))?.least)
}

/// Whether a condition that an event, by its number, has passed with an error otherwise is about the answer of another.
pub(super) fn passed_by(view: &View<'_>, event: u32, answer: u32) -> bool {
    view.passed(event).iter().any(|guard| view.cond_depends(guard.cond).contains(&answer))
}

/// Whether a key is made of what somebody else takes once only, as the code of a sign-in: who comes second is refused there.
pub(super) fn is_spent(view: &View<'_>, kv: &Kv) -> bool {
    let verbs = &view.world.tree.book.verbs;
    let said = |part: &Value| match part {
        Value::Text(text) => verbs.is_spent(text),
        Value::Template(pieces) => pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if verbs.is_spent(text))),
        _ => false,
    };
    let says = |value: &Value| value.any(&said);
    let parts = view.flat.depends(&kv.key).into_iter().filter_map(|at| view.event(at).call());
    says(&kv.key)
        || says(&view.world.tree.settled(&kv.key))
        || parts.into_iter().any(|(_, args)| args.iter().any(|(_, value)| says(value)))
}

/// Whether a lease of minutes is held over nothing but a few commands of a store or a database.
pub(super) fn outlasts(view: &View<'_>, taken: &Taken<'_>, delete: &Taken<'_>) -> bool {
    if lasts(view, taken.event, taken.kv).is_none_or(|ms| ms < AMPLE) {
        return false;
    }
    let mut commands = 0;
    let quick = |event: &FlatEvent| match (&event.what, &event.act) {
        (What::Kv(_), _) => true,
        (What::Statement(statement), _) => !statement.row_lock && !matches!(statement.op, Op::SessionLock | Op::TransactionLock),
        (What::Presumed(_), _) => false,
        (What::Meant(meant), _) if meant.is == Meaning::Calls => matches!(meant.part("body"), Some(Value::Function(_))),
        (What::Meant(meant), _) => {
            let waits = [Meaning::Effect, Meaning::Refresh, Meaning::Sleep, Meaning::Acquire, Meaning::Job, Meaning::Flush];
            !waits.contains(&meant.is) && meant.part("patience").is_none()
        }
        (_, Act::Exit { kind: ExitKind::Yield, .. }) => false,
        (What::Nothing, Act::Call { callee, awaited, .. }) => {
            let given = matches!(view.flat.plain(callee), Value::Param(..) | Value::Unknown);
            // What the language itself has waits for what it was given.
            let own = matches!(callee, Value::Member(of, _) if matches!(**of, Value::Global(_)));
            event.inlined || own || !awaited && !given
        }
        _ => true,
    };
    let under = view.events().filter(|(index, event)| *index > taken.index && *index < delete.index && !event.in_catch);
    for (_, event) in under.filter(|(_, event)| !event.detached) {
        commands += usize::from(event.kv().is_some() || event.statement().is_some());
        let looped = event.in_loop.is_some() && event.in_loop != taken.event.in_loop;
        if !quick(event) || looped && (event.kv().is_some() || event.statement().is_some()) {
            return false;
        }
    }
    (1..=FEW).contains(&commands)
}

/// Whether a key is deleted only while a clock that was started before it was taken has not run out.
pub(super) fn before_a_deadline(view: &View<'_>, taken: &Taken<'_>, delete: &Taken<'_>) -> bool {
    let reads_clock = |index: &u32| is_time(view, &Value::Flat(*index));
    let in_time = |value: &Value| {
        value.any(&|part| match part {
            Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, pair) => {
                let clocks = |side: &Value| -> Vec<u32> { view.flat.depends(side).into_iter().filter(reads_clock).collect() };
                let sides = [clocks(&pair[0]), clocks(&pair[1])];
                sides.iter().any(|side| side.iter().any(|at| *at > taken.index))
                    && sides.iter().any(|side| !side.is_empty() && side.iter().all(|at| *at < taken.index))
            }
            _ => false,
        })
    };
    let mut conds = delete.event.guards.iter().filter_map(|guard| view.flat.conds.get(guard.cond as usize));
    conds.any(|cond| in_time(&cond.value))
}

/// Whether a key lasts longer than what starts this function lets it run: no holder is there when it ends.
pub(super) fn outlives_its_run(view: &View<'_>, taken: &Taken<'_>) -> bool {
    let (tree, root) = (view.world.tree, view.root());
    let Some(ttl) = &taken.kv.ttl else { return false };
    let decorators = tree.facts(root).map(|facts| &facts.decorators[..]).unwrap_or_default();
    decorators.iter().any(|(value, _)| {
        let Some(meant) = decorator(tree, value, root.file) else { return false };
        let Some(limit) = meant.part("limit") else { return false };
        let look = Look { tree, events: &[] };
        let longest = amount(&look, limit, root.file).and_then(|time| time.in_ms(meant.text("unit").as_deref()));
        let known = || Some(lasts(view, taken.event, taken.kv)? >= longest.filter(|time| time.sure)?.most);
        known().unwrap_or_else(|| adds_to(tree, &tree.settled(ttl), limit))
    })
}

/// Whether a value is another with something added: two settings of which one is made of the other.
fn adds_to(tree: &Tree, value: &Value, least: &Value) -> bool {
    let named = |value: &Value| match value {
        Value::Member(_, name) | Value::Module(_, name) => Some(name.clone()),
        _ => None,
    };
    let sum = |value: &Value| match value {
        Value::Op(BinaryOp::Add, pair) => {
            pair.iter().any(|part| part == least || named(part).is_some() && named(part) == named(least))
        }
        _ => false,
    };
    let settings = || tree.files.iter().filter_map(|facts| Some(&facts.names.get(&named(value)?)?.value));
    sum(value) || settings().any(sum)
}
