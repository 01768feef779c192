//! `process-session` by hand: a secret that one request makes and leaves in a map of the process, and that a later one is held
//! against. On another copy there is nothing to hold it against.

use super::candidate::Candidate;
use super::subject::{Judged, Kind, Subject};
use super::tests_of_state::{base, tests_in};
use super::view::View;
use super::{Confidence, Role};
use crate::facts::{Act, Event, FnRef, Value};
use crate::program::{Holder, Place, Spot, Ty, meaning, place_of};
use crate::rules::{Meaning, TypeKind, words};
use crate::syntax::ExitKind;

/// How far the making of a value is followed through calls.
const DEEPEST: u32 = 5;

pub(super) fn detect(view: &View<'_>, found: &mut Judged) {
    let mut seen: Vec<Holder> = vec![];
    for (cond, tested) in (0..).zip(&view.flat.conds) {
        let mut asks: Vec<(Place, Option<u32>, Spot)> =
            tests_in(view, &tested.value, tested.at).into_iter().map(|test| (test.place, test.event, test.at)).collect();
        let mut depends: Vec<u32> = view.cond_depends(cond).iter().copied().collect();
        depends.sort_unstable();
        asks.extend(depends.into_iter().filter_map(|index| {
            let taken = view.event(index).meant(Meaning::Remove)?;
            Some((base(&view.place(&taken.receiver)?), Some(index), view.event(index).at))
        }));
        asks.sort_by_key(|(_, event, at)| (event.is_none(), *event, *at));
        for (place, event, at) in asks {
            if seen.contains(&place.holder) || view.made(&place).kind != TypeKind::State || !view.lasts(&place) {
                continue;
            }
            if !ends(view, &place) {
                continue;
            }
            let asker = event.map_or(view.root(), |index| view.event(index).origin.0);
            let Some(made) = secret_put(view, &place, asker, &compared_with(&tested.value)) else { continue };
            seen.push(place.holder.clone());
            let cause = event.or_else(|| {
                view.events().find(|(_, event)| event.guards.iter().any(|guard| guard.cond == cond)).map(|(index, _)| index)
            });
            let Some(cause) = cause.map(|index| view.event(index)) else { continue };
            let mut candidate = Candidate::new(
                view,
                "process-session",
                cause,
                cause,
                "a secret that one request made is looked for in this process's memory: a request that lands on another copy finds none".to_owned(),
            );
            if event.is_none() {
                (candidate.primary, candidate.cause, candidate.work) = (at, at, at);
            }
            candidate.add(Role::State, made, "left here by another request".to_owned());
            candidate.add(Role::Check, at, "looked for here".to_owned());
            let subject = Subject::at(Kind::Sessions, at, cause.hops.len()).kept_in(view, &place);
            found.push(candidate.about(subject).at_most(Confidence::Medium));
        }
    }
}

/// Whether an entry is taken out where it is asked for: what is given once.
fn ends(view: &View<'_>, place: &Place) -> bool {
    view.events().any(|(_, event)| match &event.act {
        Act::Delete { place: gone } => view.place(gone).is_some_and(|gone| gone.same(place)),
        _ => event.meant(Meaning::Remove).and_then(|meant| view.place(&meant.receiver)).is_some_and(|gone| gone.same(place)),
    })
}

/// Where the file that holds a container, or the one that asks, puts something secret into it: made at random, and called what is
/// sent to people to tell who they are. Not in the function that asks, which then keeps what it made for itself.
fn secret_put(view: &View<'_>, place: &Place, asker: FnRef, asked: &[String]) -> Option<Spot> {
    let tree = view.world.tree;
    let home = match &place.holder {
        Holder::Variable(file, _) => *file,
        Holder::Field(class, _) => class.file,
        Holder::Carried(function, ..) => function.file,
        _ => return None,
    };
    let into = |of: &Value| place_of(tree, &[], of).is_some_and(|at| at.same(place));
    let put = |function: FnRef, event: &Event| {
        let (key, value) = match &event.act {
            Act::Write { place: Value::Index(of, key), value, .. } if into(of) => (Some((**key).clone()), Some(value.clone())),
            Act::Call { callee: callee @ Value::Member(of, _), args, .. } => {
                let meant = meaning(tree, callee, args, function.file).filter(|meant| meant.is == Meaning::Put && into(of))?;
                (meant.part("key").cloned(), meant.part("value").cloned())
            }
            _ => return None,
        };
        let class = tree.class_of(function).and_then(|class| tree.class(class));
        let named = [
            tree.function(function).map(|function| function.name.clone()),
            name_of(place),
            class.map(|class| class.name.clone()),
            tree.stem(function.file),
        ];
        let names: Vec<Option<String>> = named.into_iter().chain(asked.iter().cloned().map(Some)).collect();
        // A key that the caller gives says whose entry it is.
        let given = |key: &Value| matches!(key, Value::Param(..));
        let parts = key.into_iter().filter(|key| !given(key)).chain(value);
        parts.into_iter().any(|part| secret(view, &part, &names, 0)).then_some(Spot { file: function.file, span: event.span })
    };
    let files = std::iter::once(home).chain((asker.file != home).then_some(asker.file));
    files
        .filter_map(|file| tree.files.get(file as usize))
        .flat_map(|facts| (0..).zip(&facts.functions).map(|(func, known)| (FnRef { file: facts.file, func }, known)))
        .filter(|(function, _)| *function != asker)
        .find_map(|(function, known)| known.events.iter().find_map(|event| put(function, event)))
}

/// What a condition names beside what it asks for: what the other side is called that a secret is compared with.
fn compared_with(value: &Value) -> Vec<String> {
    let mut names = vec![];
    value.walk(&mut |part| match part {
        Value::Member(_, name) => names.push(name.to_string()),
        Value::Index(_, key) => names.extend(key.text()),
        _ => {}
    });
    names
}

fn name_of(place: &Place) -> Option<String> {
    match &place.holder {
        Holder::Variable(_, name) | Holder::Field(_, name) | Holder::Carried(_, _, name) => Some(name.to_string()),
        _ => None,
    }
}

fn says_secret(view: &View<'_>, name: &str) -> bool {
    let known = &view.world.tree.book.reach.secret_words;
    words(name)
        .iter()
        .any(|word| known.contains(word) || word.strip_suffix('s').is_some_and(|one| known.iter().any(|known| known == one)))
}

/// Whether a value has a part made at random that is named for telling who somebody is: the part itself, or what stands around it.
fn secret(view: &View<'_>, value: &Value, names: &[Option<String>], depth: u32) -> bool {
    let tree = view.world.tree;
    let told = |name: &str| says_secret(view, name);
    let mut found = false;
    value.walk(&mut |part| {
        let random = match part {
            Value::Result(function, index) => {
                let event = tree.facts(*function).and_then(|facts| facts.events.get(*index as usize));
                let Some(event) = event else { return };
                let Act::Call { callee, args, .. } = &event.act else { return };
                let bound = event.bound.as_deref().is_some_and(told);
                let meant = meaning(tree, callee, args, function.file);
                match meant.as_ref().map(|meant| meant.is) {
                    Some(Meaning::Fresh) => bound || names.iter().flatten().any(|name| told(name)),
                    // What it is made of: a text of a number, an object of its parts.
                    _ if depth < DEEPEST => {
                        let named = tree.name_of(callee).into_iter().chain(event.bound.as_deref().map(str::to_owned)).map(Some);
                        let around: Vec<Option<String>> = names.iter().cloned().chain(named).collect();
                        let given = args.iter().any(|(name, arg)| {
                            let around: Vec<_> = around.iter().cloned().chain([name.as_deref().map(str::to_owned)]).collect();
                            secret(view, arg, &around, depth + 1)
                        });
                        let receiver = match callee {
                            Value::Member(of, _) => secret(view, of, &around, depth + 1),
                            _ => false,
                        };
                        given || receiver || returns_secret(view, callee, function.file, &around, depth)
                    }
                    _ => false,
                }
            }
            // A secret that the caller made.
            Value::Param(..) => {
                tree.name_of(part).is_some_and(|name| told(&name)) && names.iter().flatten().any(|name| told(name))
            }
            _ => false,
        };
        found |= random;
    });
    found
}

/// Whether a function of the tree gives one.
fn returns_secret(view: &View<'_>, callee: &Value, file: u32, names: &[Option<String>], depth: u32) -> bool {
    let tree = view.world.tree;
    let Ty::Function(target) = tree.ty(callee, file) else { return false };
    tree.facts(target).is_some_and(|facts| {
        facts.events.iter().any(|event| match &event.act {
            Act::Exit { kind: ExitKind::Return, value } => secret(view, value, names, depth + 1),
            _ => false,
        })
    })
}
