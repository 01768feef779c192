//! The request that enters a handler: its method and path where it is registered, and what the handler reads of the body.

use std::collections::{BTreeSet, HashMap};

use super::meaning::Meant;
use super::{Flat, Tree, Ty};
use crate::facts::{Act, FnFacts, FnRef, Value};
use crate::rules::TypeKind;

/// Methods of HTTP that a handler may be registered for.
pub(super) const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// What is known of the request that enters a handler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Route {
    /// The method, in capitals.
    pub method: Option<String>,
    /// The path as it is registered, with its parameters as the library writes them, below what its router is seen to hang below.
    pub path: Option<String>,
}

impl Route {
    /// What a registration says.
    pub(super) fn of(meant: &Meant) -> Route {
        Route { method: method(meant), path: meant.text("route") }
    }

    /// This, and of another what this one lacks.
    pub(super) fn or(self, other: &Route) -> Route {
        Route { method: self.method.or_else(|| other.method.clone()), path: self.path.or_else(|| other.path.clone()) }
    }
}

/// The method that is named, else the one after which the call is named. Of several, one that changes something.
fn method(meant: &Meant) -> Option<String> {
    let named: Vec<String> = match meant.part("methods") {
        Some(Value::List(items)) => items.iter().filter_map(Value::text).collect(),
        Some(value) => value.text().into_iter().collect(),
        None => {
            let call = meant.path.rsplit(['.', ':']).next().unwrap_or_default().trim_end_matches("()");
            vec![call.rsplit('_').next().unwrap_or_default().to_owned()]
        }
    };
    let known: Vec<String> = named.iter().map(|name| name.to_lowercase()).filter(|name| METHODS.contains(&&**name)).collect();
    let changes = known.iter().find(|name| !matches!(name.as_str(), "get" | "head" | "options"));
    changes.or(known.first()).map(|name| name.to_uppercase())
}

/// The events that a value comes from, as a chain of calls makes it: `get(a).post(b)` comes from both.
pub(super) fn chained(flat: &Flat, value: &Value) -> Vec<u32> {
    let mut events = vec![];
    let mut at = value.clone();
    while let Value::Flat(event) = at {
        events.push(event);
        let Some(Act::Call { callee: Value::Member(of, _), .. }) = flat.events.get(event as usize).map(|event| &event.act) else {
            break;
        };
        at = (**of).clone();
    }
    events
}

/// The fields that a handler reads of the request's body, or that the class of a parameter declares, in their order.
pub fn body_fields(tree: &Tree, handler: FnRef) -> Vec<String> {
    let Some(facts) = tree.facts(handler) else { return vec![] };
    let declared = declared(tree, handler);
    if !declared.is_empty() {
        return declared;
    }
    let reader = Reader { tree, facts, handler };
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut order = 0;
    let mut keep = |field: String| {
        order += 1;
        places.entry(field).or_insert(order);
    };
    let tested = facts.conds.iter().map(|cond| &cond.value);
    let locals: std::collections::BTreeMap<_, _> = facts.locals.iter().collect();
    for event in &facts.events {
        match &event.act {
            Act::Call { callee, args, .. } => {
                match callee {
                    // A method of the body is no field of it; what it is asked for is one.
                    Value::Member(of, _) if reader.is_body(of, 0) => {
                        args.first().and_then(|(_, key)| key.text()).into_iter().for_each(&mut keep);
                    }
                    other => reader.fields(other).into_iter().for_each(&mut keep),
                }
                args.iter().flat_map(|(_, value)| reader.fields(value)).for_each(&mut keep);
            }
            Act::Write { value, .. } | Act::Exit { value, .. } => reader.fields(value).into_iter().for_each(&mut keep),
            _ => {}
        }
    }
    tested.chain(locals.into_values()).flat_map(|value| reader.fields(value)).for_each(&mut keep);
    let mut fields: Vec<(usize, String)> = places.into_iter().map(|(field, place)| (place, field)).collect();
    fields.sort();
    fields.into_iter().map(|(_, field)| field).collect()
}

/// The fields of parameters whose class only holds data.
fn declared(tree: &Tree, handler: FnRef) -> Vec<String> {
    let count = tree.function(handler).map_or(0, |function| function.params.len());
    let mut seen = BTreeSet::new();
    let mut fields = vec![];
    for index in 0..count {
        let class = match tree.ty(&Value::Param(handler, index as u32), handler.file) {
            Ty::Instance(class) => class,
            // What a library takes out of the request and hands over in a wrapper of its own.
            Ty::Lib { path, of, .. } if tree.packs(handler.file).kind(&path) == TypeKind::Wrapper => match of.first() {
                Some(Ty::Instance(class)) => *class,
                _ => continue,
            },
            _ => continue,
        };
        let Some(class) = tree.class(class).filter(|class| class.methods.is_empty()) else { continue };
        let own = class.fields.iter().filter(|field| !field.is_static || field.init.is_none());
        fields.extend(own.map(|field| field.name.clone()).filter(|name| seen.insert(name.clone())));
    }
    fields
}

/// Finds what is read of the request's body in values of one handler.
struct Reader<'t> {
    tree: &'t Tree,
    facts: &'t FnFacts,
    handler: FnRef,
}

/// How far values are followed.
const DEEPEST: usize = 6;

impl Reader<'_> {
    fn fields(&self, value: &Value) -> Vec<String> {
        let mut found = vec![];
        self.collect(value, 0, &mut found);
        found
    }

    fn collect(&self, value: &Value, depth: usize, found: &mut Vec<String>) {
        if depth > DEEPEST {
            return;
        }
        match value {
            Value::Member(of, name) if self.is_body(of, 0) => found.push(name.to_string()),
            Value::Index(of, key) if self.is_body(of, 0) => found.extend(key.text()),
            other => other.children().into_iter().for_each(|child| self.collect(child, depth + 1, found)),
        }
    }

    /// Whether a value is the request's body.
    fn is_body(&self, value: &Value, depth: usize) -> bool {
        let words = &self.tree.book.reach.body_words;
        match value {
            _ if depth > DEEPEST => false,
            Value::Member(of, name) => words.iter().any(|word| **word == **name) && self.is_request(of),
            Value::Result(function, event) if *function == self.handler => {
                match self.facts.events.get(*event as usize).map(|event| &event.act) {
                    Some(Act::Call { callee, .. }) => self.is_body(callee, depth + 1),
                    _ => false,
                }
            }
            Value::Captured(function, name) if *function == self.handler => {
                self.facts.locals.get(name).is_some_and(|value| self.is_body(value, depth + 1))
            }
            Value::Any(options) => options.iter().any(|option| self.is_body(option, depth + 1)),
            _ => false,
        }
    }

    fn is_request(&self, value: &Value) -> bool {
        let named = |name: &str| self.tree.book.reach.request_words.iter().any(|word| word == name);
        match value {
            Value::Param(function, _) => *function == self.handler,
            Value::Module(_, name) | Value::Global(name) => named(name),
            Value::Member(of, name) => named(name) && self.is_request(of),
            _ => false,
        }
    }
}
