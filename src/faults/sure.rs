//! What each level of confidence asks for, beside what the detectors say of their own links.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use super::candidate::Candidate;
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, FnRef, Value};
use crate::program::{Reach, Tree, What};
use crate::syntax::{ExportTarget, FnId};

/// High confidence asks that no answer of which nothing is known lies on the way to the work: it may be what decides.
pub(super) fn of_guards(view: &View<'_>, candidate: Candidate) -> Candidate {
    let unknown = |index: u32| {
        let event = view.event(index);
        event.at != candidate.work
            && match &event.what {
                What::Presumed(presumed) => !presumed.reads,
                What::Nothing => !event.inlined && matches!(event.act, Act::Call { awaited: true, .. }),
                _ => false,
            }
    };
    let doubted = candidate.confidence == Confidence::High
        && view
            .events()
            .filter(|(_, event)| event.at == candidate.work)
            .any(|(_, event)| view.decided_by(event).into_iter().any(unknown));
    if doubted { candidate.at_most(Confidence::Medium) } else { candidate }
}

/// How sure it is that the program comes to a function at all.
pub(super) struct Reached<'a> {
    tree: &'a Tree,
    reach: &'a Reach,
    named: OnceCell<FxHashSet<&'a str>>,
}

impl<'a> Reached<'a> {
    /// Of a whole tree.
    pub fn of(tree: &'a Tree, reach: &'a Reach) -> Reached<'a> {
        Reached { tree, reach, named: OnceCell::new() }
    }

    /// The most that a fault in a function can be: high where a request, a message, a timer or the start leads there, low where
    /// nobody calls it and nothing registers it.
    pub fn at_most(&self, function: FnRef, candidate: &Candidate) -> Confidence {
        let way_in = self.reach.way_in(function);
        // What an event of the program itself starts is as far from outside as what raises it.
        let entered = way_in.as_ref().is_some_and(|(entry, _)| entry.kind != "event");
        if entered || candidate.trace.iter().any(|(role, _, _)| *role == Role::Entry) {
            Confidence::High
        } else if way_in.is_none() && self.abandoned(function) {
            Confidence::Low
        } else {
            Confidence::Medium
        }
    }

    /// Whether a function is nobody's: no call, no decorator, no mention of its name, no base class that may call it.
    fn abandoned(&self, function: FnRef) -> bool {
        let Some(known) = self.tree.function(function) else { return false };
        let Some(facts) = self.tree.facts(function) else { return false };
        let nested = function.func == 0 || known.parent.is_some_and(|parent| parent != FnId(0));
        let of_the_language = usize::from(known.flags.is_static || known.flags.is_getter);
        let called = self.reach.callers(function).next().is_some() || known.flags.is_constructor || known.name.starts_with("__");
        let file = self.tree.files.get(function.file as usize);
        let handed_out = file.is_some_and(|file| {
            let class = self.tree.class_of(function).and_then(|class| self.tree.class(class)).map(|class| &class.name);
            file.unit.exports.iter().any(|export| match &export.target {
                ExportTarget::Local(local) => export.name == "default" && (*local == known.name || class.is_some_and(|class| *local == *class)),
                _ => export.name == "default",
            } || export.name == "=")
        });
        let hook = !known.flags.is_static
            && self.tree.class_of(function).and_then(|class| self.tree.class(class)).is_some_and(|class| !class.bases.is_empty());
        !nested
            && !known.name.is_empty()
            && !called
            && !handed_out
            && !hook
            && facts.decorators.len() <= of_the_language
            && !self.named.get_or_init(|| named(self.tree)).contains(known.name.as_str())
    }
}

/// Every name that code mentions: members, names of modules, imports, words of texts. A name's own definition is no mention.
fn named(tree: &Tree) -> FxHashSet<&str> {
    let mut found = FxHashSet::default();
    for file in &tree.files {
        found.extend(file.unit.imports.iter().filter_map(|import| import.member.as_deref()));
        let marks = file.class_marks.values().chain(file.field_marks.values()).flatten().map(|(value, _)| value);
        let kept = file.names.values().map(|known| &known.value).chain(file.field_values.values());
        marks.chain(kept).for_each(|value| mentioned(value, &mut found));
        for function in &file.functions {
            function.decorators.iter().for_each(|(value, _)| mentioned(value, &mut found));
            function.conds.iter().for_each(|cond| mentioned(&cond.value, &mut found));
            function.locals.values().for_each(|value| mentioned(value, &mut found));
            for event in &function.events {
                match &event.act {
                    Act::Call { callee, args, .. } => {
                        mentioned(callee, &mut found);
                        args.iter().for_each(|(_, value)| mentioned(value, &mut found));
                    }
                    Act::Write { place, value, .. } => {
                        mentioned(place, &mut found);
                        mentioned(value, &mut found);
                    }
                    Act::Enter { value } | Act::Exit { value, .. } | Act::Delete { place: value } => mentioned(value, &mut found),
                    _ => {}
                }
            }
        }
    }
    found
}

fn mentioned<'t>(value: &'t Value, found: &mut FxHashSet<&'t str>) {
    value.walk(&mut |part| match part {
        Value::Member(_, name) | Value::Global(name) | Value::Module(_, name) => {
            found.insert(name);
        }
        Value::Text(text) => {
            found.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_'));
        }
        _ => {}
    });
}
