//! [`Kv`]: a command of a key-value store, whatever client spells it.

use super::flat::Look;
use super::meaning::Meant;
use crate::facts::Value;
use crate::files::Atom;
use crate::rules::{CommandKind, Idioms, Meaning, ScriptKind};

/// A command.
#[derive(Debug, Clone)]
pub struct Kv {
    /// What it does.
    pub op: CommandKind,
    /// What its script does.
    pub script: Option<ScriptKind>,
    /// The key.
    pub key: Value,
    /// The value set, or the token given to a script.
    pub value: Value,
    /// Only where the key is absent.
    pub only_new: bool,
    /// It writes over what is there, so that the same again changes nothing.
    pub over: bool,
    /// Time to live, in milliseconds where it is a constant.
    pub ttl: Option<Value>,
    /// Whether `ttl` counts seconds.
    pub seconds: bool,
    /// False where the receiver was taken by its looks.
    pub sure: bool,
    /// The library whose command it is.
    pub library: Atom,
}

impl Kv {
    /// Time to live in milliseconds, where it is a constant.
    pub fn ttl_ms(&self, settle: impl Fn(&Value) -> Value) -> Option<f64> {
        match settle(self.ttl.as_ref()?) {
            Value::Number(number) => Some(if self.seconds { number * 1000.0 } else { number }),
            _ => None,
        }
    }
}

/// Reads a command from a row's parts, or from its arguments as the protocol orders them.
pub fn command(look: &Look<'_>, meant: &Meant, args: Vec<Value>, idioms: &Idioms, file: u32) -> Option<Kv> {
    let args = if meant.flag("chain") { chained(look, &meant.receiver, file) } else { args };
    let mut args = args.into_iter();
    let name = match meant.text("command") {
        Some(name) => name,
        None => look.tree.settled(&args.next()?).text()?,
    };
    let args: Vec<Value> = args.collect();
    let known = idioms.command(&name)?;
    let part = |name: &str| meant.part(name).cloned();
    let flag = |wanted: &str| {
        args.iter().position(|value| matches!(look.tree.settled(value), Value::Text(text) if text.eq_ignore_ascii_case(wanted)))
    };
    let after = |wanted: &str| flag(wanted).and_then(|at| args.get(at + 1).cloned());
    let mut seconds = false;
    let mut ttl = part("ttl_ms");
    if ttl.is_none()
        && let Some(value) = part("ttl")
    {
        (ttl, seconds) = (Some(value), true);
    }
    if ttl.is_none() {
        ttl = after("PX");
        if ttl.is_none()
            && let Some(value) = after("EX").or_else(|| after("EXAT"))
        {
            (ttl, seconds) = (Some(value), true);
        }
    }
    if ttl.is_none()
        && let Some(at) = known.ttl
    {
        ttl = args.get(at).cloned();
        seconds = !name.to_ascii_uppercase().starts_with('P');
    }
    if known.op_is_script() {
        let text = part("text").or_else(|| args.first().cloned()).map(|value| look.tree.settled(&value));
        let script = text.as_ref().and_then(Value::text).and_then(|text| idioms.script(&text));
        let rest = args.get(4..).unwrap_or_default();
        let ends = text.as_ref().and_then(Value::text).is_none_or(|text| !endless(&text, rest));
        return Some(Kv {
            op: known.is,
            script,
            key: part("key").or_else(|| args.get(2).cloned()).unwrap_or_default(),
            value: part("value").or_else(|| args.get(3).cloned()).unwrap_or_default(),
            only_new: script == Some(ScriptKind::Acquire),
            over: false,
            ttl: (script == Some(ScriptKind::Acquire) && ends).then_some(Value::Unknown),
            seconds: false,
            sure: meant.sure,
            library: meant.library.clone(),
        });
    }
    Some(Kv {
        op: known.is,
        script: None,
        key: part("key").or_else(|| args.first().cloned()).unwrap_or_default(),
        value: part("value").or_else(|| args.get(known.value.unwrap_or(1)).cloned()).unwrap_or_default(),
        only_new: known.only_new || meant.flag("only_new") || flag("NX").is_some(),
        over: known.is == CommandKind::Set || known.over,
        ttl: ttl.filter(|value| !matches!(value, Value::Null | Value::Number(0.0))),
        seconds,
        sure: meant.sure,
        library: meant.library.clone(),
    })
}

/// A command the program gave its client: the script behind it, with the key and the token it is called with.
pub fn defined(look: &Look<'_>, name: &str, args: &[Value], idioms: &Idioms) -> Option<Kv> {
    let (text, library) = look.tree.defined(name)?;
    let script = idioms.script(text);
    let ends = !endless(text, args.get(2..).unwrap_or_default());
    Some(Kv {
        op: CommandKind::Script,
        script,
        key: args.first().cloned().unwrap_or_default(),
        value: args.get(1).cloned().unwrap_or_default(),
        only_new: script == Some(ScriptKind::Acquire),
        over: false,
        ttl: (script == Some(ScriptKind::Acquire) && ends).then_some(Value::Unknown),
        seconds: false,
        sure: true,
        library: library.clone(),
    })
}

/// Whether a script gives its key an end only for times above zero, and may be called with zero.
fn endless(script: &str, args: &[Value]) -> bool {
    let optional = ["> 0", ">0", "~= 0", "~=0"].iter().any(|test| script.contains(test));
    let zero = |value: &Value| match value {
        Value::Choose(parts) => parts[1..].contains(&Value::Number(0.0)),
        other => other.options().iter().any(|option| **option == Value::Number(0.0)),
    };
    optional && args.iter().any(zero)
}

/// The arguments gathered by a builder: `cmd("SET").arg(key).arg("NX")`.
fn chained(look: &Look<'_>, receiver: &Value, file: u32) -> Vec<Value> {
    let mut args = vec![];
    let mut at = receiver.clone();
    while let Some(meant) = look.meaning(&at, file).filter(|meant| meant.is == Meaning::Build) {
        args.extend(["then", "arg"].iter().filter_map(|name| meant.part(name).cloned()));
        at = meant.receiver.clone();
    }
    args.reverse();
    args
}
