//! Which files a browser runs, by what they work on and by the folder they stand in.

use std::collections::{HashMap, HashSet};

use super::Tree;
use super::reach::above;
use crate::facts::{Act, Event, FileFacts, Value};
use crate::rules::FileRole;

/// Whether a file works on what only a browser gives, and asks nothing before: as it is loaded, or, of a browser's own stores, in any
/// function.
pub(super) fn loaded_in_a_browser(tree: &Tree, facts: &FileFacts) -> bool {
    let given = |value: &Value, names: &[String]| {
        let mut at = value;
        while let Value::Member(of, _) | Value::Index(of, _) = at {
            at = of;
        }
        matches!(at, Value::Global(name) if names.iter().any(|known| **known == **name))
    };
    let uses = |event: &Event, names: &[String]| match &event.act {
        Act::Call { callee, args, .. } => given(callee, names) || args.iter().any(|(_, value)| given(value, names)),
        Act::Write { place, .. } => given(place, names),
        _ => false,
    };
    let book = &tree.book.reach;
    let stores = |event: &Event| event.guards.is_empty() && uses(event, &book.browser_stores);
    if facts.functions.iter().flat_map(|function| &function.events).any(stores) {
        return true;
    }
    let first = |events: &[Event]| events.iter().any(|event| event.guards.is_empty() && uses(event, &book.browser_globals));
    let Some(own) = facts.functions.first() else { return false };
    // What is called where it stands runs as the file is loaded.
    let mut called = own.events.iter().filter(|event| event.guards.is_empty()).filter_map(|event| match &event.act {
        Act::Call { callee: Value::Function(called), .. } => facts.functions.get(called.func as usize),
        _ => None,
    });
    first(&own.events) || called.any(|called| first(&called.events))
}

/// How many files of browser code make a folder one of browser code, and the least part of its files.
const BROWSER_FILES: usize = 8;
const BROWSER_PART: f64 = 0.5;

/// Folders most of whose code is the browser's by what it imports: what nothing imports there is no service of its own.
pub(super) fn browser_folders<'t>(tree: &'t Tree, roles: &[FileRole]) -> HashSet<&'t str> {
    let mut counts: HashMap<&str, (usize, usize)> = HashMap::new();
    for (path, role) in tree.paths.iter().zip(roles) {
        if !matches!(role, FileRole::Browser | FileRole::Service) {
            continue;
        }
        for folder in above(path) {
            let (browser, all) = counts.entry(folder).or_default();
            *browser += usize::from(*role == FileRole::Browser);
            *all += 1;
        }
    }
    let most = |(browser, all): &(usize, usize)| *browser >= BROWSER_FILES && *browser as f64 >= *all as f64 * BROWSER_PART;
    counts.into_iter().filter(|(_, count)| most(count)).map(|(folder, _)| folder).collect()
}
