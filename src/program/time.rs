//! [`Amount`]: lengths of time behind values: constants, arithmetic, what packs know to make or bound one, and schedules.
//! It must not know what the length is compared with.

use std::sync::Arc;

use super::flat::Look;
use super::maker::maker;
use super::meaning::Meant;
use crate::facts::{FnRef, Value};
use crate::rules::Meaning;
use crate::syntax::{BinaryOp, Expr, ExprKind};

/// How far a value is followed.
const DEEPEST: u32 = 24;

/// A number between two bounds, which may be a length of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// At least.
    pub least: f64,
    /// At most; infinite where nothing bounds it.
    pub most: f64,
    /// How often the time now is added to it.
    clock: f64,
    /// In milliseconds; else a plain number, in whatever unit its reader counts.
    typed: bool,
    /// Every way it can be worked out is known; else a default that a caller or a setting may replace.
    pub sure: bool,
}

impl Amount {
    fn plain(number: f64) -> Amount {
        Amount { least: number, most: number, clock: 0.0, typed: false, sure: true }
    }

    fn open() -> Amount {
        Amount { least: 0.0, most: f64::INFINITY, clock: 0.0, typed: false, sure: false }
    }

    /// In milliseconds, where plain numbers count in `unit` (`ms`, `s`, `m`, `h`, `d`).
    pub fn in_ms(self, unit: Option<&str>) -> Option<Amount> {
        let factor = match unit {
            _ if self.typed => 1.0,
            Some(unit) => scale(unit)?,
            None => return None,
        };
        Some(Amount { typed: true, ..self.times(factor) })
    }

    fn times(self, factor: f64) -> Amount {
        let (left, right) = (self.least * factor, self.most * factor);
        Amount { least: left.min(right), most: left.max(right), clock: self.clock * factor, ..self }
    }

    fn joined(self, other: Amount, least: f64, most: f64) -> Amount {
        Amount { least, most, clock: self.clock, typed: self.typed || other.typed, sure: self.sure && other.sure }
    }

    fn is_number(&self) -> Option<f64> {
        (self.least == self.most && !self.typed && self.clock == 0.0).then_some(self.least)
    }
}

/// Milliseconds in a unit.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 1.0,
        "s" => 1e3,
        "m" => 60e3,
        "h" => 3_600e3,
        "d" => 86_400e3,
        _ => return None,
    })
}

/// The length of time, or number, that a value is; `None` where nothing is known of it.
pub fn amount(look: &Look<'_>, value: &Value, file: u32) -> Option<Amount> {
    let found = find(look, value, file, 0)?;
    (found.clock == 0.0 && found.least.is_finite() && found.most.is_finite()).then_some(found)
}

fn find(look: &Look<'_>, value: &Value, file: u32, depth: u32) -> Option<Amount> {
    if depth > DEEPEST {
        return None;
    }
    let next = |value: &Value| find(look, value, file, depth + 1);
    match value {
        Value::Number(number) => Some(Amount::plain(*number)),
        Value::Text(text) => text.trim().parse().ok().map(Amount::plain),
        Value::Op(op, pair) => arithmetic(*op, next(&pair[0])?, next(&pair[1])?),
        Value::Any(_) | Value::Choose(_) => hull(value.options().into_iter().map(next)),
        Value::List(items) => items.iter().map(next).reduce(|left, right| arithmetic(BinaryOp::Add, left?, right?)).flatten(),
        Value::Flat(index) => {
            let event = look.events.get(*index as usize)?;
            match look.meaning(value, file) {
                Some(meant) => by_meaning(look, &meant, event.origin.0.file, depth + 1),
                None if event.returns.is_empty() => None,
                None => hull(event.returns.iter().map(|(value, _)| next(value))),
            }
        }
        Value::Result(function, _) => match look.meaning(value, function.file) {
            Some(meant) => by_meaning(look, &meant, function.file, depth + 1),
            None => None,
        },
        Value::Param(function, index) => default(look, *function, *index, depth + 1),
        Value::Module(..) | Value::Captured(..) | Value::Member(..) => {
            let settled = look.tree.settled(value);
            let settled = if settled == *value { maker(look, value).unwrap_or_default() } else { settled };
            (settled != *value && settled != Value::Unknown).then(|| next(&settled)).flatten()
        }
        _ => None,
    }
}

fn by_meaning(look: &Look<'_>, meant: &Arc<Meant>, file: u32, depth: u32) -> Option<Amount> {
    let next = |value: &Value| find(look, value, file, depth);
    match meant.is {
        Meaning::Pass => next(meant.part("of").unwrap_or(&meant.receiver)),
        // A setting: somebody may have set it to something else.
        Meaning::Pure => Some(Amount { sure: false, ..next(meant.part("default")?)? }),
        Meaning::Clock => Some(Amount { clock: 1.0, ..Amount::plain(0.0) }),
        Meaning::Time => {
            if let Some(of) = meant.part("of") {
                let of = next(of)?;
                let unit = meant.text("as")?;
                return Some(match of.typed {
                    true => Amount { typed: false, ..of.times(1.0 / scale(&unit)?) },
                    false => of,
                });
            }
            let units = ["ms", "s", "m", "h", "d"];
            let parts = units.iter().filter_map(|unit| Some((unit, meant.part(unit)?)));
            parts
                .map(|(unit, value)| next(value).and_then(|amount| amount.in_ms(Some(unit))))
                .reduce(|left, right| arithmetic(BinaryOp::Add, left?, right?))
                .flatten()
        }
        Meaning::Least | Meaning::Greatest => {
            let mut of: Vec<&Value> = match meant.part("of") {
                Some(Value::List(items)) => items.iter().collect(),
                other => other.into_iter().collect(),
            };
            of.extend(meant.part("and"));
            let all = of.into_iter().map(|value| next(value).unwrap_or_else(Amount::open));
            let least = meant.is == Meaning::Least;
            all.reduce(|left, right| match least {
                true => left.joined(right, left.least.min(right.least), left.most.min(right.most)),
                false => left.joined(right, left.least.max(right.least), left.most.max(right.most)),
            })
        }
        _ => None,
    }
}

fn arithmetic(op: BinaryOp, left: Amount, right: Amount) -> Option<Amount> {
    match op {
        BinaryOp::Add => Some(Amount {
            clock: left.clock + right.clock,
            ..left.joined(right, left.least + right.least, left.most + right.most)
        }),
        BinaryOp::Sub => arithmetic(BinaryOp::Add, left, right.times(-1.0)),
        BinaryOp::Mul => match (left.is_number(), right.is_number()) {
            (_, Some(factor)) => Some(Amount { sure: left.sure && right.sure, ..left.times(factor) }),
            (Some(factor), None) => Some(Amount { sure: left.sure && right.sure, ..right.times(factor) }),
            _ => None,
        },
        _ => None,
    }
}

/// One of several: between the least and the greatest of those that are known.
fn hull(options: impl Iterator<Item = Option<Amount>>) -> Option<Amount> {
    let mut known = true;
    let all: Vec<Amount> = options.inspect(|option| known &= option.is_some()).flatten().collect();
    let joined =
        all.into_iter().reduce(|left, right| left.joined(right, left.least.min(right.least), left.most.max(right.most)))?;
    Some(Amount { sure: joined.sure && known, ..joined })
}

/// What a parameter is where nobody gives it.
fn default(look: &Look<'_>, function: FnRef, index: u32, depth: u32) -> Option<Amount> {
    let expr = look.tree.function(function)?.params.get(index as usize)?.default.as_ref()?;
    Some(Amount { sure: false, ..written(look, expr, function.file, depth)? })
}

fn written(look: &Look<'_>, expr: &Expr, file: u32, depth: u32) -> Option<Amount> {
    match &expr.kind {
        ExprKind::Number(number) => Some(Amount::plain(*number)),
        ExprKind::Name(name) => find(look, &Value::Module(file, name.as_str().into()), file, depth + 1),
        ExprKind::Binary(op, left, right) => {
            arithmetic(*op, written(look, left, file, depth)?, written(look, right, file, depth)?)
        }
        _ => None,
    }
}

/// Milliseconds between two runs of a schedule in cron's notation (five fields, or six with seconds first).
pub fn of_schedule(text: &str) -> Option<f64> {
    let named = match text.trim() {
        "@hourly" => Some("h"),
        "@daily" | "@midnight" => Some("d"),
        _ => None,
    };
    if let Some(unit) = named {
        return scale(unit);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let fields = match fields.len() {
        5 => [&["0"], &fields[..]].concat(),
        6 | 7 => fields[..6].to_vec(),
        _ => return None,
    };
    let known = |field: &&str| !field.is_empty() && field.chars().all(|c| c.is_ascii_alphanumeric() || "*/,-?LW#".contains(c));
    if !fields.iter().all(known) {
        return None;
    }
    let (minute, hour, day) = (60e3, 3_600e3, 86_400e3);
    for (field, unit, all) in [(fields[0], 1e3, minute), (fields[1], minute, hour), (fields[2], hour, day)] {
        if let Some(step) = field.strip_prefix("*/").or(field.strip_prefix("0/")) {
            return step.parse::<f64>().ok().map(|step| step * unit);
        }
        match (field, field.split(',').count()) {
            ("*", _) => return Some(unit),
            (range, _) if range.contains(['-', '/']) => return Some(unit),
            (_, 1) => {}
            (_, times) => return Some(all / times as f64),
        }
    }
    let any = |field: &str| matches!(field, "*" | "?");
    Some(match (any(fields[3]), any(fields[5])) {
        (true, true) => day,
        (true, false) => 7.0 * day / fields[5].split(',').count() as f64,
        _ => 28.0 * day,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        assert_eq!(of_schedule("*/5 * * * *"), Some(300e3));
        assert_eq!(of_schedule("0 6 * * *"), Some(86_400e3));
        assert_eq!(of_schedule("0 0 * * * *"), Some(3_600e3));
        assert_eq!(of_schedule("0 0,12 * * *"), Some(43_200e3));
        assert_eq!(of_schedule("every day"), None);
    }

    #[test]
    fn bounds() {
        let one_of = hull([Some(Amount::plain(2.0)), None, Some(Amount::plain(5.0))].into_iter()).unwrap();
        assert_eq!((one_of.least, one_of.most, one_of.sure), (2.0, 5.0, false));
        let ms = Amount::plain(3.0).in_ms(Some("s")).unwrap();
        assert_eq!(arithmetic(BinaryOp::Mul, ms, Amount::plain(2.0)).unwrap().most, 6_000.0);
    }
}
