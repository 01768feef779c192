//! `process-rate-limit` and `process-session` by libraries: a limiter or session store left in memory.

use super::asked::asked_at;
use super::candidate::{Candidate, Only};
use super::reason::{Reason, Why};
use super::subject::{Judged, Kind, Subject};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Event, FnRef, Guard, Value};
use crate::program::{Args, FlatEvent, Flattener, Look, Meant, Setting, Spot, Ty, What, functions_in, meaning, store_reach};
use crate::rules::{Meaning, Scope, Severity};
use crate::syntax::{CallForm, ExitKind};

pub(super) fn detect(view: &View<'_>, flattener: &Flattener<'_>, found: &mut Judged) {
    let mut made: Vec<(&Meant, &FlatEvent)> = vec![];
    for (index, event) in view.events().filter(|(_, event)| event.hops.is_empty()) {
        let Some(meant) = event.meant(Meaning::Limiter).or_else(|| event.meant(Meaning::Session)) else { continue };
        let Some((rule, kind, message)) = told(meant.is) else { continue };
        let subject = Subject::of(kind, event).called(view, event);
        if let Some(why) = sound(view, meant, event) {
            found.sound(subject, vec![Reason::new(why)]);
            continue;
        }
        // Of several kinds that a setting chooses from, one is made.
        if made.iter().any(|(known, other)| known.path == meant.path && opposed(&event.guards, &other.guards)) {
            continue;
        }
        made.push((meant, event));
        let visible = event.call().is_none_or(|(_, args)| {
            args.iter().all(|(_, value)| {
                !matches!(view.world.tree.settled(value), Value::Param(..) | Value::Unknown | Value::Flat(_) | Value::Member(..))
            })
        });
        // `options.store = ...` under some setting: memory only where it is not set.
        let given_later = view.events().any(|(_, other)| {
            matches!(&other.act, Act::Write { place: Value::Member(_, name), value, .. } if matches!(&**name, "store" | "storage") && *value != Value::Null)
        });
        let mut candidate = Candidate::new(view, rule, event, event, message.to_owned());
        candidate.hop(Role::State, event, "made here without a shared store");
        for spot in made_by(view) {
            candidate.add(Role::State, spot, "a limiter is made here".to_owned());
        }
        if let Some(spot) = asked_at(view, event) {
            candidate.add(Role::Check, spot, "asked here".to_owned());
        }
        let by_setting = setting(view, meant);
        if let Some(Setting::Known(_, Some(at))) = by_setting {
            candidate.add(Role::State, at, "the setting keeps it in each process".to_owned());
        }
        let unresolved = by_setting == Some(Setting::Unknown) || in_memory_by_default(view, meant.part("store"));
        candidate = candidate.at_most(if unresolved { Confidence::Low } else { Confidence::High });
        candidate.stands = true;
        candidate.subject = Some(subject);
        candidate = candidate.at_most(if meant.sure { Confidence::High } else { Confidence::Medium });
        candidate = candidate.at_most(if given_later { Confidence::Low } else { Confidence::High });
        if meant.is == Meaning::Limiter && before_files_only(view, index) {
            candidate.severity = Some(Severity::Advice);
        }
        // One count for all who ask bounds what this process takes on.
        let bounds = meant.is == Meaning::Limiter && (meant.flag("single") || makes_wait(view, meant, event));
        if bounds || one_for_all(view, index) || before_memory_only(view, flattener, index) {
            candidate.severity = Some(Severity::Advice);
        }
        if chosen_without_a_store(view, event) {
            candidate.severity = Some(Severity::Advice);
            candidate.message = format!("where no shared store is set up, {}", candidate.message);
        }
        // What has no keys and is made while one request is served counts for that one: a connection bounds itself.
        if meant.flag("single") && !put_away(view, index) {
            candidate.only = Some(Only::UnlessOnRequest);
        }
        found.push(candidate.at_most(if visible { Confidence::High } else { Confidence::Medium }));
    }
}

/// Whether what must hold for one of two events is the opposite of what must hold for the other.
fn opposed(one: &[Guard], other: &[Guard]) -> bool {
    one.iter().any(|guard| other.iter().any(|known| known.cond == guard.cond && known.holds != guard.holds))
}

/// Whether a step of the builder before a limiter says that whoever asks counts under one key: by the method of a class of the tree that
/// gives the key, and gives a constant. It bounds what this process takes on, and no client gets more.
fn one_for_all(view: &View<'_>, limiter: u32) -> bool {
    let tree = view.world.tree;
    let mut at = view.event(limiter);
    while let Some((Value::Member(of, _), _)) = at.call()
        && let Value::Flat(index) = **of
    {
        at = view.event(index);
        let Some(step) = at.meant(Meaning::Build) else { continue };
        let Some((keys, method)) = step.part("keys").zip(step.text("method")) else { continue };
        let (Ty::Class(class) | Ty::Instance(class)) = tree.ty(&view.flat.plain(keys), view.root().file) else { continue };
        let methods = tree.class(class).into_iter().flat_map(|known| &known.methods);
        let giving = methods.map(|method| FnRef { file: class.file, func: method.0 });
        let mut giving = giving.filter(|giving| tree.function(*giving).is_some_and(|known| known.name == method));
        let constant = |function: FnRef| {
            let exits = tree.facts(function).into_iter().flat_map(|facts| &facts.events).filter_map(|event| match &event.act {
                Act::Exit { kind: ExitKind::Return, value } => Some(value),
                _ => None,
            });
            let mut exits = exits.peekable();
            exits.peek().is_some() && exits.all(|value| is_constant(view, value))
        };
        if giving.next().is_some_and(constant) {
            return true;
        }
    }
    false
}

/// Whether a value is a constant, or a call that only hands one on.
fn is_constant(view: &View<'_>, value: &Value) -> bool {
    let look = Look { tree: view.world.tree, events: &[] };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => true,
        Value::Result(function, _) => {
            let passed = look.meaning(value, function.file).filter(|meant| meant.is == Meaning::Pass);
            passed.is_some_and(|meant| meant.part("of").is_some_and(|of| is_constant(view, of)))
        }
        _ => false,
    }
}

/// Whether a limiter lets whoever asks wait for a turn, and nobody in its file looks at what it answers: it paces what one process
/// does, and refuses nobody.
fn makes_wait(view: &View<'_>, meant: &Meant, made: &FlatEvent) -> bool {
    let (tree, file) = (view.world.tree, made.origin.0.file);
    let Some(facts) = tree.files.get(file as usize).filter(|_| meant.flag("waits")) else { return false };
    let kept = Value::Result(made.origin.0, made.origin.1);
    let of_made = |of: &Value| tree.settled(of) == kept;
    let asks = |event: &&Event| matches!(&event.act, Act::Call { callee: Value::Member(of, _), .. } if of_made(of));
    let mut asked = facts.functions.iter().flat_map(|function| &function.events).filter(asks).peekable();
    asked.peek().is_some() && asked.all(|event| event.dropped)
}

/// Whether what an event made is kept somewhere by the function that made it, or made for something that keeps it.
fn put_away(view: &View<'_>, index: u32) -> bool {
    let kept = |value: &Value| value.any(&|part| *part == Value::Flat(index)) || view.flat.depends(value).contains(&index);
    let keeps = |event: &FlatEvent| match &event.act {
        Act::Write { place, value, .. } => kept(value) && view.place(place).is_some_and(|place| view.lasts(&place)),
        Act::Call { args, .. } => {
            let puts = event.meant(Meaning::Put).is_some() || event.meant(Meaning::Get).is_some();
            puts && args.iter().any(|(_, value)| kept(value))
        }
        _ => false,
    };
    let inside = view.world.tree.function(view.root()).is_some_and(|function| function.name.is_empty());
    inside || view.events().any(|(_, event)| keeps(event))
}

/// The rule and the words for a limiter or a session store in memory.
pub(super) fn told(is: Meaning) -> Option<(&'static str, Kind, &'static str)> {
    match is {
        Meaning::Limiter => Some((
            "process-rate-limit",
            Kind::Limiter,
            "this limiter counts in memory: each copy counts for itself, so a client gets the limit once per copy",
        )),
        Meaning::Session => Some((
            "process-session",
            Kind::Sessions,
            "sessions are kept in memory: a request that lands on another copy is not logged in",
        )),
        _ => None,
    }
}

/// Whether a limiter is given to one router of this function only, on which nothing else stands than what hands out files: more
/// of these cost nobody anything.
fn before_files_only(view: &View<'_>, limiter: u32) -> bool {
    let made = Value::Flat(limiter);
    let carries = |value: &Value| value.any(&|part| *part == made);
    let on = |event: &FlatEvent| match event.call() {
        Some((Value::Member(router, _), _)) => Some((**router).clone()),
        _ => None,
    };
    let given =
        || view.events().filter(|(_, event)| event.call().is_some_and(|(_, args)| args.iter().any(|(_, arg)| carries(arg))));
    let routers: Vec<Option<Value>> = given().map(|(_, event)| on(event)).collect();
    let [Some(router), rest @ ..] = &routers[..] else { return false };
    let elsewhere = view.flat.returns.iter().any(|(value, _)| carries(value))
        || view.events().any(|(_, event)| matches!(&event.act, Act::Write { value, .. } if carries(value)));
    let files = |value: &Value| match value {
        Value::Flat(at) => matches!(&view.event(*at).what, What::Meant(meant) if meant.flag("files")),
        _ => false,
    };
    let hands_out = |value: &Value| match value {
        Value::Text(_) => true,
        Value::Function(handler) => only_answers(view, *handler),
        other => *other == made || files(other),
    };
    let given_to: Vec<&Args> = view
        .events()
        .filter(|(_, event)| on(event).as_ref() == Some(router))
        .filter_map(|(_, event)| Some(event.call()?.1))
        .collect();
    view.root().func != 0
        && !elsewhere
        && rest.iter().all(|other| other.as_ref() == Some(router))
        && given_to.iter().any(|args| args.iter().any(|(_, value)| files(value)))
        && given_to.iter().all(|args| args.iter().all(|(_, value)| hands_out(value)))
}

/// Whether a handler calls nothing but what answers, on what it is handed.
fn only_answers(view: &View<'_>, handler: FnRef) -> bool {
    let tree = view.world.tree;
    let answers = |callee: &Value| match callee {
        Value::Member(of, name) => {
            matches!(&**of, Value::Param(function, _) if *function == handler) && tree.book.verbs.is_pure(name)
        }
        _ => false,
    };
    tree.facts(handler).is_some_and(|facts| {
        facts.events.iter().all(|event| match &event.act {
            Act::Call { callee, .. } => answers(callee),
            Act::Write { .. } | Act::Delete { .. } | Act::Enter { .. } => false,
            Act::Test { .. } | Act::Exit { .. } => true,
        })
    })
}

/// Whether a limiter stands before handlers alone, at each place that it is given to, which come to nothing but this process's memory.
fn before_memory_only(view: &View<'_>, flattener: &Flattener<'_>, limiter: u32) -> bool {
    let (tree, file, made) = (view.world.tree, view.root().file, Value::Flat(limiter));
    let carries = |value: &Value| value.any(&|part| *part == made);
    let own = || view.events().map(|(_, event)| event).filter(|event| event.hops.is_empty());
    let kept = view.flat.returns.iter().any(|(value, _)| carries(value))
        || own().any(|event| matches!(&event.act, Act::Write { value, .. } if carries(value)));
    let given = own().filter_map(|event| event.call()).filter(|(_, args)| args.iter().any(|(_, arg)| carries(arg)));
    let mut given = given.map(|(_, args)| {
        let values = args.iter().filter(|(_, value)| *value != made);
        values.flat_map(|(_, value)| functions_in(tree, &view.flat.plain(value), file)).collect::<Vec<FnRef>>()
    });
    let idle = |handler: &FnRef| {
        let flat = flattener.flat(*handler);
        flat.events.iter().all(|event| match &event.what {
            What::Nothing => event.inlined || !matches!(event.act, Act::Call { awaited: true, .. }),
            What::Meant(meant) => !matches!(meant.is, Meaning::Effect | Meaning::Refresh | Meaning::Flush | Meaning::Spawn),
            What::Statement(_) | What::Kv(_) | What::Presumed(_) => false,
        })
    };
    let first = given.next().unwrap_or_default();
    let idle_only = |handlers: &Vec<FnRef>| !handlers.is_empty() && handlers.iter().all(idle);
    !kept && idle_only(&first) && given.all(|handlers| idle_only(&handlers))
}

/// Whether a limiter, or the object whose constructor makes it, is made only where another choice makes one that all copies share.
fn chosen_without_a_store(view: &View<'_>, limiter: &FlatEvent) -> bool {
    let tree = view.world.tree;
    let constructor = tree.function(view.root()).is_some_and(|function| function.flags.is_constructor);
    let class = tree.class_of(view.root()).filter(|_| constructor);
    let sites: Vec<(FnRef, &Event)> = match class {
        None => {
            let own = tree.facts(limiter.origin.0).and_then(|facts| facts.events.get(limiter.origin.1 as usize));
            own.map(|event| (limiter.origin.0, event)).into_iter().collect()
        }
        Some(class) => {
            let of_it = |(function, event): &(FnRef, &Event)| match &event.act {
                Act::Call { callee, form: CallForm::New, .. } => tree.ty(callee, function.file) == Ty::Class(class),
                _ => false,
            };
            let all = tree.all_functions().filter_map(|function| Some((function, tree.facts(function)?)));
            all.flat_map(|(function, facts)| facts.events.iter().map(move |event| (function, event))).filter(of_it).collect()
        }
    };
    !sites.is_empty() && sites.into_iter().all(|(function, event)| shared_otherwise(view, function, event))
}

/// Whether, where an event makes a limiter, the other way makes a shared one: of a test around it, or of the choice of functions that it
/// is in.
fn shared_otherwise(view: &View<'_>, function: FnRef, event: &Event) -> bool {
    let tree = view.world.tree;
    let beside = tree.facts(function).is_some_and(|facts| {
        facts.events.iter().any(|other| opposed(&event.guards, &other.guards) && makes_shared(view, function.file, other, true))
    });
    let parent = tree.function(function).and_then(|own| own.parent).map(|parent| FnRef { func: parent.0, ..function });
    let chosen = |value: &Value| {
        value.any(&|part| {
            let options = part.options();
            options.contains(&&Value::Function(function))
                && options.iter().any(|option| match option {
                    Value::Function(other) if *other != function => tree
                        .facts(*other)
                        .is_some_and(|facts| facts.events.iter().any(|event| makes_shared(view, other.file, event, true))),
                    _ => false,
                })
        })
    };
    beside
        || parent.and_then(|parent| tree.facts(parent)).is_some_and(|facts| {
            let mut found = facts.locals.values().any(&chosen);
            facts.events.iter().for_each(|event| event.act.each_value(&mut |value| found |= chosen(value)));
            found
        })
}

/// Whether a call makes a limiter that all copies share, itself or in the constructor that it calls.
fn makes_shared(view: &View<'_>, file: u32, event: &Event, inside: bool) -> bool {
    let tree = view.world.tree;
    let Act::Call { callee, args, .. } = &event.act else { return false };
    let known = meaning(tree, callee, args, file)
        .is_some_and(|meant| meant.is == Meaning::Limiter && (meant.flag("shared") || shared(view, meant.part("store"))));
    known
        || match tree.ty(callee, file) {
            Ty::Class(class) if inside => {
                let methods = tree.class(class).into_iter().flat_map(|known| &known.methods);
                let functions = methods.map(|method| FnRef { file: class.file, func: method.0 });
                let mut made = functions.filter(|method| tree.function(*method).is_some_and(|own| own.flags.is_constructor));
                made.any(|method| {
                    tree.facts(method)
                        .is_some_and(|facts| facts.events.iter().any(|event| makes_shared(view, class.file, event, false)))
                })
            }
            _ => false,
        }
}

/// What a factory gives under the name of the store: `Err` where that cannot be seen, null where it gives none.
fn from_factory(view: &View<'_>, meant: &Meant, file: u32) -> Option<Result<Value, Unseen>> {
    let factory = meant.part("factory").filter(|factory| **factory != Value::Null)?;
    let under = meant.text("under")?;
    let tree = view.world.tree;
    let given = functions_in(tree, &view.flat.plain(factory), file).into_iter().filter_map(|made| tree.facts(made));
    let exits = given.flat_map(|facts| &facts.events).filter_map(|event| match &event.act {
        Act::Exit { kind: ExitKind::Return, value } => Some(tree.settled(value)),
        _ => None,
    });
    let stores: Option<Vec<Value>> = exits
        .map(|value| match &value {
            Value::Object(_, entries) if !entries.iter().any(|(name, _)| &**name == "...") => {
                Some(value.entry(&under).cloned().unwrap_or(Value::Null))
            }
            Value::List(_) => Some(Value::Null),
            _ => None,
        })
        .collect();
    match stores.as_deref() {
        Some([only]) => Some(Ok(only.clone())),
        _ => Some(Err(Unseen)),
    }
}

/// What a factory gives cannot be seen.
struct Unseen;

/// Why a limiter or session store is sound.
fn sound(view: &View<'_>, meant: &Meant, event: &FlatEvent) -> Option<Why> {
    let by_setting = matches!(setting(view, meant), Some(Setting::Known(scope, _)) if scope != Scope::Process);
    let by_factory = match from_factory(view, meant, event.origin.0.file) {
        Some(Ok(store)) => shared(view, Some(&store)),
        Some(Err(Unseen)) => true,
        None => false,
    };
    if meant.flag("shared") || by_setting || by_factory || by_registry(view, meant) || shared(view, meant.part("store")) {
        Some(Why::SharedStore)
    } else {
        falls_back_on(view, event).then_some(Why::Fallback)
    }
}

/// Whether the application that is made registers a shared store under the name by which a limiter asks for it.
fn by_registry(view: &View<'_>, meant: &Meant) -> bool {
    let (Some(call), Some(under), Some(name)) = (meant.text("registry"), meant.text("under"), meant.text("named")) else {
        return false;
    };
    let tree = view.world.tree;
    tree.all_functions().any(|function| {
        let events = tree.facts(function).map(|facts| &facts.events[..]).unwrap_or_default();
        events.iter().any(|event| {
            let Act::Call { callee, args, .. } = &event.act else { return false };
            let given = args.iter().find(|(known, _)| known.as_deref() == Some(&*under));
            given.is_some_and(|(_, stores)| {
                tree.ty(callee, function.file).path() == Some(&*call)
                    && match tree.settled(stores) {
                        Value::Object(_, entries) => {
                            entries.iter().any(|(key, store)| **key == *name && shared(view, Some(store)))
                        }
                        // What makes the stores that nobody registered cannot be seen.
                        other => other != Value::Null,
                    }
            })
        })
    })
}

/// Where a class whose constructor this is is made, at most eight places.
fn made_by(view: &View<'_>) -> Vec<Spot> {
    let tree = view.world.tree;
    let constructor = tree.function(view.root()).is_some_and(|function| function.flags.is_constructor);
    let Some(class) = tree.class_of(view.root()).filter(|_| constructor) else { return vec![] };
    let events = tree
        .files
        .iter()
        .flat_map(|facts| facts.functions.iter().flat_map(|function| &function.events).map(|event| (facts.file, event)));
    events
        .filter(|(file, event)| match &event.act {
            Act::Call { callee, form: CallForm::New, .. } => tree.ty(callee, *file) == Ty::Class(class),
            _ => false,
        })
        .map(|(file, event)| Spot { file, span: event.span })
        .take(8)
        .collect()
}

/// What the framework's setting says that decides where no store is given.
fn setting(view: &View<'_>, meant: &Meant) -> Option<Setting> {
    let given = meant.part("store").is_some_and(|store| *store != Value::Null);
    meant.text("setting").filter(|_| !given).map(|key| view.world.tree.setting(&key, "default"))
}

/// Whether a store is in memory only where a variable is not set.
fn in_memory_by_default(view: &View<'_>, store: Option<&Value>) -> bool {
    store.and_then(|store| store_reach(view.world.tree, &view.flat.plain(store))) == Some((Scope::Process, false))
}

/// Whether a limiter that all copies share is given this one for when its store is down.
fn falls_back_on(view: &View<'_>, event: &FlatEvent) -> bool {
    let (function, index) = event.origin;
    let made = Value::Result(function, index);
    let tree = view.world.tree;
    let Some(facts) = tree.files.get(function.file as usize) else { return false };
    let variables = facts.names.iter().filter(|(_, known)| known.value == made).map(|(name, _)| name.clone());
    let fields = facts.field_values.iter().filter(|(_, value)| **value == made).map(|((_, name), _)| name.clone());
    let names: Vec<_> = variables.chain(fields).collect();
    let is_it = |value: &Value| {
        value.any(&|part| match part {
            Value::Member(_, name) | Value::Module(_, name) => names.contains(name),
            other => *other == made,
        })
    };
    facts.functions.iter().flat_map(|function| &function.events).any(|other| match &other.act {
        Act::Call { callee, args, .. } if args.iter().any(|(_, value)| is_it(value)) => {
            crate::program::meaning(tree, callee, args, function.file)
                .is_some_and(|meant| meant.is == Meaning::Limiter && meant.flag("shared"))
        }
        _ => false,
    })
}

/// Whether a store option is there and is not a store in memory.
fn shared(view: &View<'_>, store: Option<&Value>) -> bool {
    let Some(store) = store else { return false };
    if let Some((scope, _)) = store_reach(view.world.tree, &view.flat.plain(store)) {
        return scope != Scope::Process;
    }
    let store = view.world.tree.settled(store);
    match store.text() {
        Some(text) => !text.starts_with("memory"),
        None if matches!(store, Value::Null) => false,
        None => {
            let name = match &store {
                Value::Flat(index) => view.event(*index).call().and_then(|(callee, _)| view.world.tree.name_of(callee)),
                other => view.world.tree.name_of(other),
            };
            !name.is_some_and(|name| name.to_lowercase().contains("memory"))
        }
    }
}
