//! What a function reads from rows and writes back: the links between a select and a later write.

use std::collections::HashSet;

use super::dirty::{dirty, dirty_entities, table_of, written_at_the_end};
use super::effects::{decided_apart, decided_elsewhere, decided_for_its_row, unique_key};
use super::process_guard::is_memo;
use super::tests_of_state::{changes, tests_guarding};
use super::unread::unread;
use super::view::View;
use crate::facts::{Act, Guard, Value};
use crate::program::{Column, FlatEvent, Op, Statement, Ty, What, column_key};
use crate::rules::{CommandKind, Meaning, Scope};
use crate::syntax::BinaryOp;

/// A write of rows, in one form for statements and for entities saved.
pub struct RowWrite<'v> {
    /// The event that writes.
    pub index: u32,
    /// The event.
    pub event: &'v FlatEvent,
    /// The statement; for a session's flush, what it writes.
    pub statement: Statement,
    /// A unique key refuses a second one of it.
    pub keyed: bool,
    /// It writes what changed on loaded entities.
    pub saves: bool,
    /// The statement is presumed from the call's name.
    pub presumed: bool,
    /// It saves a record that was found or, where there was none, made by this event: there it adds a row.
    pub made: Option<u32>,
}

impl RowWrite<'_> {
    /// What must hold for it, the making of its record included.
    pub fn guards(&self, view: &View<'_>) -> Vec<Guard> {
        self.own_guards(view).into_iter().chain(view.passed(self.index).iter().copied()).collect()
    }

    /// The same, without what checks before it say that leave with an error.
    pub fn own_guards(&self, view: &View<'_>) -> Vec<Guard> {
        let made = self.made.map_or(&[][..], |made| &view.event(made).guards[..]);
        view.event(self.index).guards.iter().chain(made).copied().collect()
    }
}

/// A read of rows.
#[derive(Clone, Copy)]
pub struct RowRead<'v> {
    /// The event.
    pub index: u32,
    /// The event.
    pub event: &'v FlatEvent,
    /// The statement.
    pub statement: &'v Statement,
}

impl RowRead<'_> {
    /// Whether the statement is presumed from the call's name.
    pub fn presumed(&self) -> bool {
        self.event.statement().is_none()
    }

    /// Whether a value is a row it gave, and not something that belongs to that.
    pub fn gave(&self, value: &Value) -> bool {
        match value {
            Value::Flat(index) => *index == self.index,
            Value::Index(of, _) | Value::Element(of) => self.gave(of),
            _ => false,
        }
    }
}

/// Rows that a function finds or, where there are none, adds: what it gives was there before as often as not.
pub fn found_or_added<'v>(view: &View<'v>) -> Vec<RowRead<'v>> {
    let reads = view.events().filter_map(|(index, event)| {
        let statement = event.statement()?;
        let looks = matches!(statement.op, Op::Insert | Op::Upsert) && statement.conflict;
        looks.then_some(RowRead { index, event, statement })
    });
    reads.collect()
}

/// Selects of a function.
pub fn row_reads<'v>(view: &View<'v>) -> Vec<RowRead<'v>> {
    view.events()
        .filter_map(|(index, event)| {
            let statement = event.statement().or_else(|| event.presumed_rows())?;
            (statement.op == Op::Select).then_some(RowRead { index, event, statement })
        })
        .collect()
}

/// Writes of a function that nothing all copies see decides, and that no lock or guard of the process stands before (those
/// are faults of their own).
pub fn open_writes<'v>(view: &View<'v>) -> Vec<RowWrite<'v>> {
    let all = changes(view);
    let changed: Vec<_> = all.iter().filter(|change| !change.removes && view.lasts(&change.place)).collect();
    let mut writes = row_writes(view);
    writes.retain(|write| {
        let (index, event) = (write.index, write.event);
        let guarded_here =
            view.regions.iter().any(|region| region.scope == Scope::Process && region.excludes() && region.holds(index, event))
                || !changed.is_empty()
                    && tests_guarding(view, event).iter().any(|test| {
                        changed.iter().any(|change| change.place.same(&test.place)) && !is_memo(view, &all, test, index, event)
                    });
        let locked_badly =
            view.always_decided_by(event).iter().any(|at| view.event(*at).kv().is_some_and(|kv| stands_for_a_lock(view, kv)));
        // A write that lets the database compute may still spend what was compared before it.
        let sound = match write.statement.op {
            Op::Upsert => None,
            Op::Update if !write.statement.conditional() => decided_for_its_row(view, index, event),
            // It decides about itself alone.
            Op::Update if unread(view, write) => decided_elsewhere(view, index, event),
            _ => decided_apart(view, index, event),
        };
        !(guarded_here || locked_badly || sound.is_some())
    });
    writes
}

/// All writes of rows, in one form.
pub fn row_writes<'v>(view: &View<'v>) -> Vec<RowWrite<'v>> {
    let mut writes: Vec<RowWrite<'v>> = vec![];
    for (index, event) in view.events() {
        let saves = event.meant(Meaning::Flush).is_some() || event.statement().is_some_and(|statement| statement.op == Op::Save);
        let statement = match &event.what {
            What::Statement(statement) if matches!(statement.op, Op::Save) => {
                let mut whole = (**statement).clone();
                whole.op = Op::Update;
                whole.sets = dirty(view, index, statement.entity.as_ref(), statement.table.as_deref());
                if let Some(columns) = statement.entity.as_ref().and_then(|entity| new_row(view, entity)) {
                    whole.op = Op::Insert;
                    whole.sets.extend(columns);
                }
                // What was read is saved without the identity it was read with: a copy of it.
                if whole.sets.iter().any(|column| column.value == Value::Null && view.world.schema.is_implied(&column.name)) {
                    whole.op = Op::Insert;
                }
                if let Some(only) = &statement.only {
                    whole.sets.retain(|column| only.contains(&column.name));
                }
                whole
            }
            What::Statement(statement) if statement.writes() => {
                let mut whole = (**statement).clone();
                if whole.op == Op::Update && whole.sets.is_empty() && whole.entity.is_some() {
                    whole.sets = dirty(view, index, whole.entity.as_ref(), whole.table.as_deref());
                }
                if whole.op == Op::Insert && whole.entity.is_some() {
                    whole.sets.extend(dirty(view, index, whole.entity.as_ref(), whole.table.as_deref()));
                }
                whole
            }
            What::Meant(meant) if meant.is == Meaning::Flush => {
                let mut each = dirty_entities(view, index);
                each.iter_mut().for_each(|statement| statement.sure = meant.sure);
                let keyed = each.is_empty() && unique_key(view, event).is_some();
                if each.is_empty() {
                    each.push(Statement { sure: meant.sure, ..Statement::new(Op::Update) });
                }
                let of = |statement| RowWrite { index, event, statement, keyed, saves, presumed: false, made: None };
                writes.extend(each.into_iter().map(of));
                continue;
            }
            What::Nothing => {
                let Some(statement) = written_at_the_end(view, index, event) else { continue };
                writes.push(RowWrite { index, event, statement, keyed: false, saves: true, presumed: false, made: None });
                continue;
            }
            What::Presumed(presumed) if !presumed.reads => {
                let Some(rows) = &presumed.rows else { continue };
                let mut whole = (**rows).clone();
                if whole.entity.take().is_some() {
                    whole.sets.extend(dirty(view, index, None, None));
                }
                whole
            }
            _ => continue,
        };
        let presumed = event.presumed_rows().is_some();
        // A loaded row that is saved meets its own key only.
        let loaded =
            saves && statement.op == Op::Update && statement.entity.as_ref().is_some_and(|entity| is_loaded(view, entity));
        let keyed = !loaded && unique_key(view, event).is_some();
        if let Some((made, columns)) = made_where_missing(view, statement.entity.as_ref()).filter(|_| saves) {
            let table = statement.table.clone().or_else(|| table_of(view, statement.entity.as_ref()?, event));
            let mut added = Statement { op: Op::Insert, table, ..statement.clone() };
            added.sets.extend(columns);
            writes.push(RowWrite { index, event, statement: added, keyed, saves, presumed, made: Some(made) });
        }
        writes.push(RowWrite { index, event, statement, keyed, saves, presumed, made: None });
    }
    writes
}

/// The columns of an entity that was made in this function and not read: saving it adds a row.
fn new_row(view: &View<'_>, entity: &Value) -> Option<Vec<Column>> {
    let tree = view.world.tree;
    let made = match entity {
        Value::Object(Some(_), _) => true,
        Value::Flat(index) => {
            let event = view.event(*index);
            let of_class = |callee| matches!(tree.ty(&view.flat.plain(callee), event.origin.0.file), Ty::Class(_));
            event.call().is_some_and(|(callee, _)| of_class(callee))
                || event.meant(Meaning::Pure).is_some_and(|made| made.flag("makes"))
        }
        _ => false,
    };
    made.then(|| crate::program::entity_columns(&crate::program::Look { tree, events: &view.flat.events }, entity))
}

/// The event that made a record where none was found, and the columns it was given: what is saved is the one or the other.
fn made_where_missing(view: &View<'_>, entity: Option<&Value>) -> Option<(u32, Vec<Column>)> {
    let options = entity?.options();
    let found = options.iter().any(|option| is_loaded(view, option));
    options.into_iter().filter(|_| found).find_map(|option| match option {
        Value::Flat(made) => Some((*made, new_row(view, option)?)),
        _ => None,
    })
}

/// Whether a read of a key is the first half of a lock taken in two commands: that is a fault of its own.
fn stands_for_a_lock(view: &View<'_>, kv: &crate::program::Kv) -> bool {
    kv.op == CommandKind::Get
        && view.events().any(|(_, event)| event.kv().is_some_and(|other| other.op == CommandKind::Set && other.key == kv.key))
}

/// Whether an entity is of rows that were read.
fn is_loaded(view: &View<'_>, entity: &Value) -> bool {
    view.flat.part_of(entity).into_iter().any(|at| selects(view, at))
}

/// Whether an event reads rows, for sure or by its name.
pub(super) fn selects(view: &View<'_>, at: u32) -> bool {
    let event = view.event(at);
    event.statement().or_else(|| event.presumed_rows()).is_some_and(|statement| statement.op == Op::Select)
}

/// Whether a read and a write are of one table, as far as is known.
pub fn same_table(read: &RowRead<'_>, write: &RowWrite<'_>, view: &View<'_>) -> bool {
    // The rows of different parents (`cart.discounts`, `order.discounts`) are different rows.
    if let (Some(left), Some(right)) = (parent(view, read.event), parent(view, write.event))
        && left != right
    {
        return false;
    }
    if write.statement.entity.as_ref().is_some_and(|entity| read.gave(entity)) {
        return true;
    }
    if is_new_beside(view, read, write) {
        return false;
    }
    match (&read.statement.table, &write.statement.table) {
        (Some(left), Some(right)) => view.world.schema.same(left, right),
        // A saved entity is of the table it was read from.
        _ => {
            write.statement.entity.as_ref().is_some_and(|entity| view.flat.part_of(entity).contains(&read.index))
                || write.statement.table.is_none() && !is_read_elsewhere(view, write) && depends_on(view, write, read.index)
        }
    }
}

/// Whether what is saved was made of nothing, and is not given the identity of what was read.
fn is_new_beside(view: &View<'_>, read: &RowRead<'_>, write: &RowWrite<'_>) -> bool {
    let of_nothing = matches!(&write.statement.entity, Some(Value::Mix(parts)) if parts.is_empty());
    let mut named = write.statement.sets.iter().filter(|column| view.world.schema.is_implied(&column.name));
    of_nothing && !named.any(|column| view.flat.depends(&column.value).contains(&read.index))
}

/// Whether the entity that is saved is of rows that are read on the way: a read that only says which is none of them.
fn is_read_elsewhere(view: &View<'_>, write: &RowWrite<'_>) -> bool {
    write.statement.entity.as_ref().is_some_and(|entity| is_loaded(view, entity))
}

/// The read of a record that is read anew just before it is changed: what was read first is not what is written back.
pub(super) fn read_anew<'v>(view: &View<'v>, read: RowRead<'v>, write: &RowWrite<'v>) -> RowRead<'v> {
    let guards = &write.event.guards;
    let again = view.events().take_while(|(at, _)| *at < write.index).filter(|(at, _)| *at > read.index).filter(|(_, event)| {
        let entity = event.statement().filter(|again| again.op == Op::Select).and_then(|again| again.entity.as_ref());
        let same = entity.is_some_and(|entity| {
            write.statement.entity.as_ref() == Some(entity) && view.flat.part_of(entity).contains(&read.index)
        });
        same && event.guards.iter().all(|guard| guards.contains(guard))
    });
    match again.last() {
        Some((_, event)) => RowRead { event, ..read },
        None => read,
    }
}

/// The name of what a builder's chain starts from, where it starts from a member.
pub fn parent(view: &View<'_>, event: &FlatEvent) -> Option<String> {
    let mut at = receiver(event);
    for _ in 0..32 {
        at = match &at {
            Value::Flat(index) => receiver(view.event(*index)),
            Value::Member(of, name) => {
                // A model's own name is no parent of its rows, and what keeps a client is none of what that reads.
                let client = view.world.tree.book.verbs.is_client(name.trim_start_matches('_'));
                if client || matches!(**of, Value::Module(..) | Value::Global(_)) {
                    return None;
                }
                let name = view.world.tree.name_of(&view.flat.plain(of))?;
                return (!view.world.tree.book.verbs.is_client(&name)).then_some(name);
            }
            _ => return None,
        };
    }
    None
}

/// What the rows of a statement belong to, where it goes through a relation of something (`wishlist.lines`): the name of its
/// class, else its own, lower case.
pub fn owner(view: &View<'_>, event: &FlatEvent) -> Option<String> {
    let tree = view.world.tree;
    let mut at = receiver(event);
    for _ in 0..32 {
        at = match &at {
            Value::Flat(index) => receiver(view.event(*index)),
            Value::Member(of, _) if !matches!(**of, Value::Module(..) | Value::Global(_)) => {
                let of = view.flat.plain(of);
                let class = match tree.ty(&of, event.origin.0.file) {
                    Ty::Instance(class) => tree.class(class).map(|class| class.name.clone()),
                    _ => None,
                };
                return class.or_else(|| tree.name_of(&of)).map(|name| column_key(&name));
            }
            _ => return None,
        };
    }
    None
}

fn depends_on(view: &View<'_>, write: &RowWrite<'_>, read: u32) -> bool {
    write.statement.sets.iter().any(|column| view.flat.depends(&column.value).contains(&read))
        || view.flat.depends(&receiver(write.event)).contains(&read)
}

fn receiver(event: &FlatEvent) -> Value {
    match event.call() {
        Some((Value::Member(of, _), _)) => (**of).clone(),
        _ => Value::Unknown,
    }
}

/// Whether a value computes from an old one: arithmetic on what was read, or the same column changed.
pub fn computes_from(view: &View<'_>, column: &Column, read: u32) -> bool {
    if !view.flat.depends(&column.value).contains(&read) {
        return false;
    }
    // Worked out from other columns: nothing of this one is lost.
    let from = columns_of(view, &column.value, read);
    if !from.is_empty() && !from.contains(&column.name) {
        return false;
    }
    arithmetic_on(view, &column.value, read)
}

/// Whether a value adds to, takes from or multiplies what depends on a read.
pub fn arithmetic_on(view: &View<'_>, value: &Value, read: u32) -> bool {
    let mut arithmetic = false;
    each_made_of(view, value, &mut |part| {
        if let Value::Op(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::OtherArithmetic, pair) = part {
            arithmetic |= pair.iter().any(|side| view.flat.made_of(side).contains(&read));
        }
    });
    arithmetic || computed_by_a_call(view, value, read)
}

/// Whether a call that computes, by its name, had what was read among its operands.
fn computed_by_a_call(view: &View<'_>, value: &Value, read: u32) -> bool {
    view.flat.made_of(value).into_iter().any(|index| {
        let Some((callee, args)) = view.event(index).call() else { return false };
        let Value::Member(receiver, name) = callee else { return false };
        let from_read = |value: &Value| view.flat.made_of(value).contains(&read);
        view.world.tree.book.verbs.is_arithmetic(name)
            && view.event(index).presumed_rows().is_none()
            && (from_read(receiver) || args.iter().any(|(_, value)| from_read(value)))
    })
}

/// Calls `visit` on the parts of a value, also behind calls that only compute.
pub fn each_part<'v>(view: &View<'v>, value: &Value, visit: &mut dyn FnMut(&Value)) {
    parts_among(view, value, &view.flat.depends(value), visit);
}

/// The same, but for what only decides which value it is, and for what a call is asked whose answer somebody else works out.
pub(super) fn each_made_of<'v>(view: &View<'v>, value: &Value, visit: &mut dyn FnMut(&Value)) {
    let mut made_of = view.flat.made_of(value);
    made_of.retain(|at| !answered_outside(view, view.event(*at)));
    parts_among(view, value, &made_of, visit);
}

/// Whether somebody else answers a call: a service, or a function of a library that is waited for. The answer is not made of the
/// question.
fn answered_outside(view: &View<'_>, event: &FlatEvent) -> bool {
    let waits = matches!(event.what, What::Nothing) && matches!(event.act, Act::Call { awaited: true, .. });
    let of_library = || {
        let callee = event.call().map(|(callee, _)| callee).filter(|callee| matches!(callee, Value::Module(..)));
        callee.is_some_and(|callee| matches!(view.world.tree.ty(callee, event.origin.0.file), Ty::Lib { .. }))
    };
    event.answers_from_outside() || waits && of_library()
}

/// Whether what a call gives is worked out in this process from what it was given.
pub(super) fn works_out(view: &View<'_>, event: &FlatEvent) -> bool {
    only_computes(event) && !answered_outside(view, event)
}

fn only_computes(event: &FlatEvent) -> bool {
    matches!(&event.what, What::Nothing)
        || matches!(&event.what, What::Meant(meant) if matches!(meant.is, Meaning::Pass | Meaning::Pure | Meaning::Calls | Meaning::Least | Meaning::Greatest | Meaning::Time))
}

fn parts_among<'v>(view: &View<'v>, value: &Value, events: &HashSet<u32>, visit: &mut dyn FnMut(&Value)) {
    value.walk(&mut |part| visit(part));
    for index in events {
        let event = view.event(*index);
        if only_computes(event)
            && let Some((_, args)) = event.call()
        {
            args.iter().for_each(|(_, arg)| arg.walk(&mut |part| visit(part)));
            event.returns.iter().for_each(|(value, _)| value.walk(&mut |part| visit(part)));
        }
    }
}

/// Whether a value compares something that depends on a read with a bound.
pub fn compares(view: &View<'_>, value: &Value, read: u32) -> bool {
    let mut found = false;
    each_part(view, value, &mut |part| {
        if let Value::Op(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual, pair) = part {
            let zero = pair.contains(&Value::Number(0.0)) && !pair.iter().any(|side| is_what_is_left(view, side, read, 0));
            found |= !zero && pair.iter().any(|side| view.flat.depends(side).contains(&read));
        }
    });
    found
}

/// Whether a value is what is left of one number when another that was read is taken from it: held against nought, it is held
/// against its limit.
fn is_what_is_left(view: &View<'_>, value: &Value, read: u32, depth: u32) -> bool {
    let deeper = |value: &Value| depth < 8 && is_what_is_left(view, value, read, depth + 1);
    match value {
        Value::Op(BinaryOp::Sub, pair) => pair.iter().any(|side| view.flat.made_of(side).contains(&read)),
        Value::Any(_) | Value::Choose(_) => value.options().into_iter().any(deeper),
        Value::Flat(at) => {
            let event = view.event(*at);
            only_computes(event) && event.returns.iter().any(|(value, _)| deeper(value))
        }
        _ => false,
    }
}

/// The columns of a read that a value mentions.
pub fn columns_of(view: &View<'_>, value: &Value, read: u32) -> Vec<String> {
    let mut found = vec![];
    each_part(view, value, &mut |part| {
        // The place of a column in a row of values says nothing of its name.
        if let Some((of, name)) = named_part(part)
            && view.flat.depends(of).contains(&read)
            && !name.bytes().all(|letter| letter.is_ascii_digit())
        {
            found.push(column_key(name));
        }
    });
    found
}

/// The columns of a read that a value mentions; without any, those on whose values the calls are made that give it (`row.data.get(key)`).
pub(super) fn columns_or_called(view: &View<'_>, value: &Value, read: u32) -> Vec<String> {
    let found = columns_of(view, value, read);
    let on = |index: u32| match view.event(index).call() {
        Some((Value::Member(on, _), _)) => columns_named(view, on, read),
        _ => vec![],
    };
    if found.is_empty() { view.flat.depends(value).into_iter().flat_map(on).collect() } else { found }
}

/// The columns of a row that was read which a value names itself.
pub(super) fn columns_named(view: &View<'_>, value: &Value, read: u32) -> Vec<String> {
    let mut found = vec![];
    let of_read = |of: &Value| view.flat.part_of(of).contains(&read);
    value.walk(&mut |part| found.extend(named_part(part).filter(|(of, _)| of_read(of)).map(|(_, name)| column_key(name))));
    found
}

/// What a part of something is taken out of, and the name it goes by there: `row.state`, `row["state"]`.
pub(super) fn named_part(value: &Value) -> Option<(&Value, &str)> {
    match value {
        Value::Member(of, name) => Some((of, name)),
        Value::Index(of, key) => match &**key {
            Value::Text(name) => Some((of, name)),
            _ => None,
        },
        _ => None,
    }
}
