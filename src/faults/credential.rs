//! Which work refreshes a credential, and whether the refresh may end the credential before.

use super::view::View;
use crate::facts::{Act, Value};
use crate::program::{FlatEvent, Holder, Place, Ty, What};
use crate::rules::Meaning;

/// How far a request's body is followed through what only computes it.
const DEEPEST: u32 = 8;

/// Whether an effect refreshes a credential, which may end the one before. What a call is handed says so only where it asks
/// another service: to keep a refresh token is no refresh.
pub fn refreshes_credential(view: &View<'_>, event: &FlatEvent) -> bool {
    match &event.what {
        What::Meant(meant) if meant.is == Meaning::Refresh => true,
        What::Meant(meant) if meant.is == Meaning::Effect => {
            meant.text("kind").is_none_or(|kind| &*kind == "http") && grants(view, event, &carries_token)
        }
        What::Presumed(presumed) => {
            let verbs = &view.world.tree.book.verbs;
            let keeps = verbs.changes_rows(&presumed.name);
            !keeps && (grants(view, event, &says_grant) || verbs.refreshes_credentials(&presumed.name, presumed.owner.as_deref()))
        }
        _ => false,
    }
}

/// Whether what comes back may lack a new refresh token, for which the old one is then kept: then no refresh need end another.
pub fn falls_back(view: &View<'_>, refresh: u32) -> bool {
    let from_refresh = |value: &Value| view.flat.depends(value).contains(&refresh);
    let fresh = |value: &Value| names_token(value) && from_refresh(value);
    let old = |value: &Value| names_token(value) && !from_refresh(value);
    let chosen = |value: &Value| {
        value.any(&|part| match part {
            Value::Any(options) => {
                let asked = |option: &Value| match option {
                    Value::Flat(index) => asks_for_token(view, *index) && from_refresh(option),
                    other => fresh(other),
                };
                options.iter().any(asked) && options.iter().any(old)
            }
            _ => false,
        })
    };
    // Written only where one came back.
    let there = |event: &FlatEvent| {
        event.guards.iter().filter(|guard| guard.holds).any(|guard| {
            let cond = view.flat.conds.get(guard.cond as usize);
            cond.is_some_and(|cond| {
                fresh(&cond.value)
                    || from_refresh(&cond.value)
                        && cond.value.any(&|part| match part {
                            Value::Flat(index) => asks_for_token(view, *index),
                            Value::Text(text) => is_token(text),
                            _ => false,
                        })
            })
        })
    };
    view.events().any(|(index, event)| match &event.act {
        Act::Write { value, .. } if fresh(value) && there(event) => true,
        Act::Call { callee, args, .. } => {
            let defaulted = || {
                let asks = fresh(callee) || asks_for_token(view, index) && from_refresh(callee);
                asks && args.last().is_some_and(|(_, last)| old(last))
            };
            args.iter().any(|(_, value)| chosen(value)) || defaulted()
        }
        Act::Write { value, .. } | Act::Exit { value, .. } => chosen(value),
        _ => false,
    })
}

/// Whether a new refresh token is taken from what comes back, or that goes on whole. Where only other parts of it are, the one that
/// was used is kept.
pub fn takes_new(view: &View<'_>, refresh: u32) -> bool {
    let fresh = |value: &Value| {
        value.any(&|part| match part {
            // What an object was not given is none of it.
            Value::Member(of, name) if is_token(name) => {
                let lacks = |of: &Value| match of {
                    Value::Object(_, entries) => !entries.iter().any(|(key, _)| is_token(key) || &**key == "..."),
                    _ => false,
                };
                !lacks(of) && view.flat.depends(of).contains(&refresh)
            }
            Value::Index(of, key) => key.text().is_some_and(|text| is_token(&text)) && view.flat.depends(of).contains(&refresh),
            _ => false,
        })
    };
    let goes_on = |value: &Value| {
        fresh(value)
            || whole(view, value, refresh, 0)
            || value.any(&|part| match part {
                Value::Object(_, entries) => entries.iter().any(|(_, entry)| whole(view, entry, refresh, 0)),
                _ => false,
            })
    };
    let mut parts = false;
    let mut taken = false;
    for (index, event) in view.events().filter(|(index, _)| *index > refresh) {
        let about = |value: &Value| view.flat.depends(value).contains(&refresh);
        match &event.act {
            Act::Call { callee, args, .. } => {
                parts |= args.iter().any(|(_, value)| about(value));
                let asks = asks_for_token(view, index) && about(callee);
                taken |= asks || args.iter().any(|(_, value)| fresh(value) || !event.inlined && goes_on(value));
            }
            Act::Write { value, .. } => {
                parts |= about(value);
                taken |= goes_on(value);
            }
            _ => {}
        }
    }
    let given = view.flat.returns.iter().any(|(value, _)| goes_on(value));
    !parts || taken || given
}

/// Whether a value is all that a refresh gave: its answer, what a method of it gives, or the part of it that carries the rest.
fn whole(view: &View<'_>, value: &Value, refresh: u32, depth: u32) -> bool {
    if depth > DEEPEST {
        return false;
    }
    let next = |value: &Value| whole(view, value, refresh, depth + 1);
    match value {
        Value::Flat(index) if *index == refresh => true,
        Value::Flat(index) => {
            let event = view.event(*index);
            let passes = event.meant(Meaning::Pass).is_some_and(|meant| next(meant.part("of").unwrap_or(&meant.receiver)));
            let method = matches!(event.call(), Some((Value::Member(of, _), _)) if next(of));
            passes || !event.inlined && method || event.returns.iter().any(|(value, _)| next(value))
        }
        Value::Member(of, name) => view.world.tree.book.verbs.carries_all(name) && next(of),
        Value::Any(options) | Value::Mix(options) => options.iter().any(next),
        _ => false,
    }
}

/// Whether a call asks for an entry of that name: `answer.get("refresh_token")`.
fn asks_for_token(view: &View<'_>, index: u32) -> bool {
    view.event(index)
        .call()
        .is_some_and(|(_, args)| args.iter().any(|(_, value)| value.text().is_some_and(|text| is_token(&text))))
}

fn is_token(name: &str) -> bool {
    matches!(&*name.to_lowercase(), "refresh_token" | "refreshtoken")
}

/// Whether the credential that is used up was given to this process: it is kept in memory, where nothing is at first and only what
/// answers gave is put. No other copy has it.
pub(super) fn of_its_own(view: &View<'_>, refresh: &FlatEvent) -> bool {
    let Some((callee, args)) = refresh.call() else { return false };
    let mut values: Vec<&Value> = args.iter().map(|(_, value)| value).collect();
    let steps = values.iter().flat_map(|value| view.flat.depends(value)).chain(view.flat.depends(callee));
    let steps: Vec<u32> = steps.collect();
    values.extend(steps.iter().filter_map(|at| view.event(*at).call()).flat_map(|(_, args)| args.iter().map(|(_, value)| value)));
    let mut own = false;
    for value in values {
        value.walk(&mut |part| {
            own |= match part {
                Value::Member(_, name) if is_token(name) => view.place(part).is_some_and(|place| given_here(view, &place)),
                _ => false,
            };
        });
    }
    own
}

/// Whether a piece of state is empty at first, and its file puts into it what calls gave, and nothing that others handed in.
fn given_here(view: &View<'_>, place: &Place) -> bool {
    let tree = view.world.tree;
    let file = match &place.holder {
        Holder::Field(class, _) => class.file,
        Holder::Variable(file, _) => *file,
        _ => return false,
    };
    let empty = match place.first(tree) {
        Some(Value::Object(None, entries)) => entries.is_empty(),
        Some(first) => first == Value::Null,
        None => false,
    };
    let answered = |value: &Value| {
        let mut known = true;
        value.walk(&mut |part| {
            known &= match part {
                Value::Param(..) => false,
                Value::Result(function, at) => {
                    let made = tree.facts(*function).and_then(|facts| facts.events.get(*at as usize)).map(|event| &event.act);
                    !matches!(made, Some(Act::Call { callee, .. }) if matches!(tree.ty(callee, function.file), Ty::Lib { .. }))
                }
                _ => true,
            };
        });
        known
    };
    let given = |value: &Value| match value {
        Value::Object(_, entries) => entries.iter().any(|(name, token)| is_token(name) && answered(token)),
        _ => false,
    };
    let events =
        tree.files.get(file as usize).into_iter().flat_map(|facts| &facts.functions).flat_map(|function| &function.events);
    let mut puts = events
        .filter_map(|event| match &event.act {
            Act::Write { place: at, value, .. } if *value != Value::Null => {
                view.place(at).filter(|at| at.holder == place.holder).map(|_| value)
            }
            _ => None,
        })
        .peekable();
    empty && view.lasts(place) && puts.peek().is_some() && puts.all(given)
}

/// Whether a value is, or is taken from, a member of that name.
fn names_token(value: &Value) -> bool {
    value.any(&|part| match part {
        Value::Member(_, name) => is_token(name),
        Value::Index(_, key) => key.text().is_some_and(|text| is_token(&text)),
        _ => false,
    })
}

/// Whether a value asks for the OAuth 2.0 refresh grant by its name (RFC 6749, section 6).
fn says_grant(value: &Value) -> bool {
    value.any(&|part| match part {
        Value::Text(text) => {
            let text = text.to_lowercase();
            text == "refresh_token" || text.contains("grant_type=refresh_token")
        }
        _ => false,
    })
}

/// Whether a value asks for that grant or carries a refresh token.
fn carries_token(value: &Value) -> bool {
    says_grant(value)
        || value.any(&|part| match part {
            Value::Member(_, name) => is_token(name),
            Value::Object(_, entries) => entries.iter().any(|(key, _)| is_token(key)),
            _ => false,
        })
}

/// Whether a call's arguments, what they are computed from, or those of the builder's steps before it, say it.
fn grants(view: &View<'_>, event: &FlatEvent, says: &dyn Fn(&Value) -> bool) -> bool {
    let mut at = event;
    for _ in 0..16 {
        let step = at.meant(Meaning::Build).is_some() || matches!(at.what, What::Nothing) && !at.inlined;
        let Some((callee, args)) = at.call().filter(|_| step || at.at == event.at) else { return false };
        if args.iter().any(|(_, value)| composed(view, value, says, 0)) {
            return true;
        }
        at = match callee {
            Value::Member(of, _) => match &**of {
                Value::Flat(index) => view.event(*index),
                // What is known of steps that are no longer seen.
                steps @ Value::Mix(_) => {
                    return steps.any(&|part| matches!(part, Value::Object(..)) && composed(view, part, says, 0));
                }
                _ => return false,
            },
            _ => return false,
        };
    }
    false
}

/// Whether a value says it, or what it is composed of by calls that only compute.
fn composed(view: &View<'_>, value: &Value, says: &dyn Fn(&Value) -> bool, depth: u32) -> bool {
    if says(value) || says(&view.world.tree.settled(value)) {
        return true;
    }
    let mut parts = vec![];
    value.walk(&mut |part| {
        if let Value::Flat(index) = part {
            parts.push(*index);
        }
    });
    depth < DEEPEST && parts.into_iter().any(|index| {
        let event = view.event(index);
        let computes = matches!(&event.what, What::Nothing) && !event.inlined
            || matches!(&event.what, What::Meant(meant) if matches!(meant.is, Meaning::Pass | Meaning::Pure | Meaning::Calls));
        computes
            && event.call().is_some_and(|(callee, args)| {
                let receiver = match callee {
                    Value::Member(of, _) => composed(view, of, says, depth + 1),
                    _ => false,
                };
                receiver || args.iter().any(|(_, arg)| composed(view, arg, says, depth + 1))
            })
    })
}
