//! From where a function is reached: requests, messages, timers, start-up, or only tests, scripts and browsers.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use super::browsers::{browser_folders, loaded_in_a_browser};
use super::convention::by_convention;
use super::flat::What;
use super::mount::{Mount, Mounts, Router, included, joined, made_below, mounts, router};
use super::packages::{idle_folders, tested, within};
use super::route::{Route, chained};
use super::schema_step::is_schema_step;
use super::{Flat, Look, Meant, Spot, Tree, Ty, decorator, meaning, meaning_at};
use crate::facts::{Act, Event, FnRef, Value};
use crate::rules::{FileRole, Meaning};
use crate::syntax::{ExportTarget, FnId};

/// How code is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `http`, `consumer`, `rpc`, `startup`, `job`, `cli`, `test`.
    pub kind: String,
    /// Where it is registered.
    pub at: Spot,
    /// What request it is, of `http`.
    pub route: Route,
    /// The function that is entered.
    pub handler: FnRef,
    /// A job's library claims each run for one copy.
    pub claimed: bool,
    /// What it is registered at.
    pub(super) router: Option<Router>,
}

/// Callers and entries of every function.
pub struct Reach {
    roles: Vec<FileRole>,
    entries: HashMap<FnRef, Entry>,
    callers: HashMap<FnRef, Vec<(FnRef, Spot)>>,
    commands: HashSet<u32>,
    /// Functions that only commands call.
    of_commands: HashSet<FnRef>,
}

/// What one function says of reach: what it registers and what it calls.
#[derive(Debug, Default)]
pub struct Links {
    entries: Vec<(FnRef, Entry)>,
    calls: Vec<(FnRef, Spot)>,
    mounts: Vec<Mount>,
}

/// What a function registers and calls.
pub fn links(tree: &Tree, flat: &Flat) -> Links {
    let function = flat.root;
    let mut links = Links::default();
    let look = Look { tree, events: &flat.events };
    let in_tree = Look { tree, events: &[] };
    let of_class = tree.class_of(function).map(Router::Class);
    for (value, span) in tree.facts(function).map(|facts| &facts.decorators[..]).unwrap_or_default() {
        let Some(meant) = decorator(tree, value, function.file).or_else(|| handed_on(tree, value, function.file)) else {
            continue;
        };
        let kind = match meant.is {
            Meaning::Entry => meant.text("kind").unwrap_or_else(|| "http".to_owned()),
            Meaning::Job => "job".to_owned(),
            _ => continue,
        };
        let at = Spot { file: function.file, span: *span };
        let route = own_route(tree, &meant, function);
        let entry = Entry {
            kind,
            at,
            route,
            handler: function,
            claimed: meant.flag("claimed"),
            router: router(&in_tree, &meant.receiver).or(of_class),
        };
        links.entries.push((function, entry));
    }
    links.entries.extend(by_convention(tree, function).map(|entry| (function, entry)));
    links.entries.extend(by_base(tree, function).map(|entry| (function, entry)));
    // By the event that registers them.
    let mut registered: Vec<(u32, usize)> = vec![];
    for (index, event) in flat.events.iter().enumerate().filter(|(_, event)| event.hops.is_empty()) {
        let Act::Call { callee, args, .. } = &event.act else { continue };
        if let What::Meant(meant) = &event.what {
            links.mounts.extend(mounts(&look, meant, function.file));
        }
        if let What::Meant(meant) = &event.what
            && matches!(meant.is, Meaning::Entry | Meaning::Job)
        {
            let own_table = || (function.func == 0).then_some(Router::Table(function.file));
            let at_router = router(&look, &meant.receiver).or_else(own_table);
            links.mounts.extend(included(&look, meant, at_router, function.file));
            let job = meant.is == Meaning::Job;
            let kind = if job { "job".to_owned() } else { meant.text("kind").unwrap_or_else(|| "http".to_owned()) };
            let handlers = meant.part(if job { "body" } else { "handler" });
            for handler in handlers.into_iter().flat_map(|value| functions_in(tree, &flat.plain(value), function.file)) {
                registered.push((index as u32, links.entries.len()));
                let (kind, route) = (kind.clone(), Route::of(meant));
                let claimed = meant.flag("claimed");
                links.entries.push((handler, Entry { kind, at: event.at, route, handler, claimed, router: at_router }));
            }
            // A path may be given to what was registered before.
            if let Some(of) = meant.part("of").filter(|_| !job) {
                let events = chained(flat, of);
                for (_, entry) in registered.iter().filter(|(event, _)| events.contains(event)) {
                    let entry = &mut links.entries[*entry].1;
                    entry.route = std::mem::take(&mut entry.route).or(&Route { method: None, ..Route::of(meant) });
                    entry.router = at_router.or(entry.router);
                }
            }
            continue;
        }
        if let Ty::Function(target) = tree.ty(&flat.plain(callee), function.file) {
            links.calls.push((target, event.at));
        }
        for (_, value) in args.iter() {
            if let Value::Function(target) = value {
                links.calls.push((*target, event.at));
            }
        }
    }
    let routers: BTreeSet<Router> = links.entries.iter().filter_map(|(_, entry)| entry.router).collect();
    links.mounts.extend(routers.into_iter().filter_map(|router| made_below(tree, router)));
    links
}

/// What a decorator of the tree registers the function at that it is given, by itself or by the function that it makes.
fn handed_on(tree: &Tree, value: &Value, file: u32) -> Option<Meant> {
    let callee = match value {
        Value::Result(function, index) => match &tree.facts(*function)?.events.get(*index as usize)?.act {
            Act::Call { callee, .. } => callee,
            _ => return None,
        },
        other => other,
    };
    let Ty::Function(maker) = tree.ty(callee, file) else { return None };
    let facts = tree.files.get(maker.file as usize)?;
    let inside = |func: u32| func == maker.func || facts.unit.functions[func as usize].parent == Some(FnId(maker.func));
    (0..facts.functions.len() as u32).filter(|func| inside(*func)).find_map(|func| {
        let given = Value::Param(FnRef { func, ..maker }, 0);
        facts.functions[func as usize].events.iter().find_map(|event| {
            let Act::Call { callee, args, .. } = &event.act else { return None };
            let meant = meaning(tree, callee, args, maker.file)?;
            let part = if meant.is == Meaning::Job { "body" } else { "handler" };
            (matches!(meant.is, Meaning::Entry | Meaning::Job) && meant.part(part) == Some(&given)).then_some(meant)
        })
    })
}

/// A method that overrides one which a library enters: of a view, a task, a command.
fn by_base(tree: &Tree, function: FnRef) -> Option<Entry> {
    let class = tree.class_of(function)?;
    let known = tree.function(function)?;
    let base = tree.base_type(class, 0)?;
    let meant = meaning_at(tree, &format!("{base}.{}", known.name), &Value::Param(function, 0), &[], function.file)?;
    let kind = meant.text("kind").filter(|_| meant.is == Meaning::Entry)?;
    let at = Spot { file: function.file, span: known.name_span };
    let route = own_route(tree, &meant, function);
    Some(Entry { kind, at, route, handler: function, claimed: meant.flag("claimed"), router: Some(Router::Class(class)) })
}

/// What a registration of a handler itself says: its path may be its own name, and stand below another.
fn own_route(tree: &Tree, meant: &Meant, handler: FnRef) -> Route {
    let mut route = Route::of(meant);
    if meant.flag("named") && route.path.is_none() {
        route.path = tree.function(handler).map(|known| known.name.to_string());
    }
    if let Some(below) = meant.text("below") {
        route.path = Some(joined(&below, route.path.as_deref().unwrap_or_default()));
    }
    route
}

impl Reach {
    /// The reach of a whole tree, from its files' [`roles`] and what its functions say.
    pub fn new(tree: &Tree, roles: Vec<FileRole>, links: impl IntoIterator<Item = (FnRef, Links)>) -> Reach {
        let mut reach = Reach {
            roles,
            entries: HashMap::new(),
            callers: HashMap::new(),
            commands: HashSet::new(),
            of_commands: HashSet::new(),
        };
        let mut hung = Mounts::default();
        for (function, links) in links {
            for (handler, entry) in links.entries {
                // Decorators and tables of routes may each say a part.
                match reach.entries.get_mut(&handler) {
                    Some(known) => {
                        known.route = std::mem::take(&mut known.route).or(&entry.route);
                        known.router = known.router.or(entry.router);
                    }
                    None => _ = reach.entries.insert(handler, entry),
                }
            }
            for (target, at) in links.calls {
                reach.callers.entry(target).or_default().push((function, at));
            }
            links.mounts.into_iter().for_each(|mount| hung.add(mount));
        }
        for entry in reach.entries.values_mut() {
            if let Some(router) = entry.router.filter(|_| entry.kind == "http") {
                let path = hung.path(tree, router, entry.route.path.as_deref().unwrap_or_default());
                if entry.route.path.is_some() || path != "/" {
                    entry.route.path = Some(path);
                }
            }
        }
        reach.commands = reach.led_by_commands(tree);
        reach.of_commands = reach.called_by_commands(tree);
        reach
    }

    /// Files of the service that only command-line code calls and imports.
    fn led_by_commands(&self, tree: &Tree) -> HashSet<u32> {
        let mut called: HashSet<u32> = HashSet::new();
        let mut served: HashSet<u32> = HashSet::new();
        for (target, callers) in &self.callers {
            for (caller, _) in callers.iter().filter(|(caller, _)| caller.file != target.file) {
                let command = self.role(caller.file) == FileRole::Cli;
                if command {
                    called.insert(target.file)
                } else {
                    served.insert(target.file)
                };
            }
        }
        called.retain(|file| self.role(*file) == FileRole::Service && !served.contains(file));
        if called.is_empty() {
            return called;
        }
        // Whether any other than commands imports a file; of those that somebody does.
        let mut taken: HashMap<u32, bool> = HashMap::new();
        for facts in &tree.files {
            let other = self.role(facts.file) != FileRole::Cli;
            // A package that a command takes by its name is there for others too.
            let counts = |module: &str| other || module.starts_with('.');
            let imports = facts.unit.imports.iter().filter(|import| counts(&import.module));
            let imported = imports.filter_map(|import| tree.imported_file(facts.file, &import.module));
            imported.for_each(|file| *taken.entry(file).or_default() |= other);
        }
        called.retain(|file| taken.get(file) != Some(&true));
        // What a package hands on is for whoever takes the package.
        for facts in tree.files.iter().filter(|facts| self.role(facts.file) != FileRole::Cli) {
            let outside = taken.get(&facts.file) != Some(&false);
            for export in facts.unit.exports.iter().filter(|_| outside) {
                if let ExportTarget::Other { module, .. } = &export.target
                    && let Some(file) = tree.imported_file(facts.file, module)
                {
                    called.remove(&file);
                }
            }
        }
        called
    }

    /// Functions of an application that only command-line code calls, and whose names no other code calls.
    fn called_by_commands<'t>(&self, tree: &'t Tree) -> HashSet<FnRef> {
        if self.entered_files().next().is_none() {
            return HashSet::new();
        }
        let idle = |file: u32| matches!(self.role(file), FileRole::Cli | FileRole::Test);
        let functions = tree.files.iter().filter(|facts| !idle(facts.file)).flat_map(|facts| &facts.functions);
        let name = |event: &'t Event| if let Act::Call { callee, .. } = &event.act { tree.named(callee) } else { None };
        let named: HashSet<&str> = functions.flat_map(|function| &function.events).filter_map(name).collect();
        let of_commands = |target: &FnRef, callers: &[(FnRef, Spot)]| {
            // What its own file does with it when it is loaded hands it on.
            let own = |caller: &FnRef| caller.file == target.file && caller.func == 0;
            let roles = callers.iter().filter(|(caller, _)| !own(caller)).map(|(caller, _)| self.role(caller.file));
            let mut roles = roles.filter(|role| *role != FileRole::Test).peekable();
            let alone = roles.peek().is_some() && roles.all(|role| role == FileRole::Cli) && !self.entries.contains_key(target);
            alone && tree.function(*target).is_some_and(|function| !named.contains(&*function.name))
        };
        self.callers.iter().filter(|(target, callers)| of_commands(target, callers)).map(|(target, _)| *target).collect()
    }

    /// What kind of code a file is.
    pub fn role(&self, file: u32) -> FileRole {
        self.roles.get(file as usize).copied().unwrap_or(FileRole::Service)
    }

    /// The registration of a function, if it is one that is entered from outside.
    pub fn entry(&self, function: FnRef) -> Option<&Entry> {
        self.entries.get(&function)
    }

    /// Files of the service in which something is entered from outside, but for commands and tests.
    pub fn entered_files(&self) -> impl Iterator<Item = u32> + '_ {
        let serves = |entry: &&Entry| !matches!(entry.kind.as_str(), "cli" | "test" | "event");
        let files = self.entries.values().filter(serves).map(|entry| entry.handler.file);
        files.filter(|file| self.role(*file) == FileRole::Service)
    }

    /// Functions that call this one, or hand it to something that does.
    pub fn callers(&self, function: FnRef) -> impl Iterator<Item = FnRef> + '_ {
        self.callers.get(&function).into_iter().flatten().map(|(caller, _)| *caller)
    }

    /// The nearest entry from which a function is reached, with the calls on the way, outermost first.
    pub fn way_in(&self, function: FnRef) -> Option<(&Entry, Vec<Spot>)> {
        let mut queue: VecDeque<(FnRef, Vec<Spot>)> = VecDeque::from([(function, vec![])]);
        let mut seen: HashSet<FnRef> = HashSet::from([function]);
        while let Some((at, way)) = queue.pop_front() {
            if let Some(entry) = self.entries.get(&at) {
                return Some((entry, way));
            }
            if way.len() >= 6 || seen.len() > 400 {
                continue;
            }
            for (caller, spot) in self.callers.get(&at).into_iter().flatten() {
                if seen.insert(*caller) {
                    let mut longer = vec![*spot];
                    longer.extend(&way);
                    queue.push_back((*caller, longer));
                }
            }
        }
        None
    }

    /// The kinds of all entries from which a function is reached.
    pub fn entry_kinds(&self, function: FnRef) -> BTreeSet<String> {
        let mut kinds = BTreeSet::new();
        let mut queue = vec![function];
        let mut seen: HashSet<FnRef> = HashSet::from([function]);
        while let Some(at) = queue.pop() {
            kinds.extend(self.entries.get(&at).map(|entry| entry.kind.clone()));
            queue.extend(self.callers(at).filter(|caller| seen.insert(*caller)));
        }
        kinds
    }

    /// Whether a function belongs to the service: not a test, script, migration or browser file, and not reached from
    /// command-line or test entries alone.
    pub fn serves(&self, function: FnRef) -> bool {
        if self.role(function.file) != FileRole::Service || self.of_commands.contains(&function) {
            return false;
        }
        let idle = |entry: &Entry| matches!(entry.kind.as_str(), "cli" | "test");
        let (mut entered, mut open) = (false, false);
        let mut queue = vec![function];
        let mut seen: HashSet<FnRef> = HashSet::from([function]);
        while let Some(at) = queue.pop() {
            match self.entries.get(&at) {
                Some(entry) if !idle(entry) => return true,
                Some(_) => entered = true,
                None => {
                    let before = queue.len();
                    queue.extend(self.callers(at).filter(|caller| seen.insert(*caller)));
                    // Who calls it is not seen: it may be anybody.
                    open |= queue.len() == before && at != function && self.callers(at).next().is_none() && self.may_serve(at);
                }
            }
        }
        if entered { open } else { !self.commands.contains(&function.file) }
    }

    /// Whether a function of which no entry is known may belong to the service.
    fn may_serve(&self, function: FnRef) -> bool {
        function.func != 0 && self.role(function.file) == FileRole::Service && !self.commands.contains(&function.file)
    }
}

/// What kind of code each file is: by its path and imports, and browser code where only browser code leads to it.
pub fn roles(tree: &Tree) -> Vec<FileRole> {
    let mut roles: Vec<FileRole> = tree
        .files
        .iter()
        .zip(&tree.paths)
        .map(|(facts, path)| tree.book.reach.role(path, facts.unit.imports.iter().map(|import| import.module.as_str())))
        .collect();
    for (role, facts) in roles.iter_mut().zip(&tree.files) {
        if *role == FileRole::Service && is_schema_step(tree, facts) {
            *role = FileRole::Migration;
        }
        if *role == FileRole::Service && loaded_in_a_browser(tree, facts) {
            *role = FileRole::Browser;
        }
    }
    for file in tested(tree) {
        roles[file as usize] = FileRole::Test;
    }
    let idle = idle_folders(tree);
    for (role, path) in roles.iter_mut().zip(&tree.paths) {
        if *role == FileRole::Service && idle.iter().any(|folder| within(path, folder)) {
            *role = FileRole::Cli;
        }
    }
    if !roles.contains(&FileRole::Browser) {
        return roles;
    }
    let imports: Vec<Vec<u32>> = tree
        .files
        .iter()
        .map(|facts| facts.unit.imports.iter().filter_map(|import| tree.imported_file(facts.file, &import.module)).collect())
        .collect();
    let mut imported = vec![false; roles.len()];
    imports.iter().flatten().for_each(|file| imported[*file as usize] = true);
    let role = |file: u32, role: FileRole| roles[file as usize] == role;
    let files = 0..roles.len() as u32;
    let folders = browser_folders(tree, &roles);
    let beside = |file: u32| {
        let path = &tree.paths[file as usize];
        role(file, FileRole::Service) && above(path).any(|folder| folders.contains(folder)) && !tree.book.reach.answers(path)
    };
    // What a framework enters by itself answers requests, whoever names it: a form names the action that its server runs.
    let entered = entered_by_convention(tree, &roles);
    let starts = |file: u32| entered.contains(&file) || !imported[file as usize] && !beside(file);
    let service = led_to(&imports, files.clone().filter(|file| role(*file, FileRole::Service) && starts(*file)), |file| {
        role(file, FileRole::Browser)
    });
    let browser = led_to(&imports, files.filter(|file| role(*file, FileRole::Browser) || beside(*file)), |_| false);
    for (index, role) in roles.iter_mut().enumerate() {
        if *role == FileRole::Service && browser[index] && !service[index] {
            *role = FileRole::Browser;
        }
    }
    roles
}

/// Files of the service that have a function which a framework enters by convention.
fn entered_by_convention(tree: &Tree, roles: &[FileRole]) -> HashSet<u32> {
    let service = |function: &FnRef| roles.get(function.file as usize) == Some(&FileRole::Service);
    let entered = tree.all_functions().filter(service).filter(|function| by_convention(tree, *function).is_some());
    entered.map(|function| function.file).collect()
}

/// The folders a path is in.
pub(super) fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The files that imports lead to from some files, themselves included; from an end nothing leads on.
fn led_to(imports: &[Vec<u32>], from: impl Iterator<Item = u32>, end: impl Fn(u32) -> bool) -> Vec<bool> {
    let mut reached = vec![false; imports.len()];
    let mut queue: Vec<u32> = from.collect();
    while let Some(file) = queue.pop() {
        if !std::mem::replace(&mut reached[file as usize], true) && !end(file) {
            queue.extend(&imports[file as usize]);
        }
    }
    reached
}

/// The functions a value names, alone or in a list.
pub fn functions_in(tree: &Tree, value: &Value, file: u32) -> Vec<FnRef> {
    match value {
        Value::Function(function) => vec![*function],
        Value::List(items) | Value::Any(items) => items.iter().flat_map(|item| functions_in(tree, item, file)).collect(),
        Value::Object(_, entries) => entries.iter().flat_map(|(_, item)| functions_in(tree, item, file)).collect(),
        other => match tree.ty(other, file) {
            Ty::Function(function) => vec![function],
            _ => vec![],
        },
    }
}
