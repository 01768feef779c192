//! Conditions and assignments of query builders and ORMs, as columns.

use super::Ty;
use super::bind::table_of_ty;
use super::filled::by_operator;
use super::flat::Look;
use super::meaning::Meant;
use super::statement::{Column, ColumnKind, Op, column_key};
use crate::facts::Value;
use crate::files::Atom;
use crate::syntax::{BinaryOp, is_computed};

/// Names of comparison methods and keyword endings, with how they compare.
const COMPARISONS: &[(&str, ColumnKind)] = &[
    ("eq", ColumnKind::Equal),
    ("equals", ColumnKind::Equal),
    ("equal", ColumnKind::Equal),
    ("exact", ColumnKind::Equal),
    ("iexact", ColumnKind::Equal),
    ("is", ColumnKind::Equal),
    ("is_", ColumnKind::Equal),
    ("ne", ColumnKind::Compared),
    ("neq", ColumnKind::Compared),
    ("not", ColumnKind::Compared),
    ("lt", ColumnKind::Compared),
    ("lte", ColumnKind::Compared),
    ("le", ColumnKind::Compared),
    ("gt", ColumnKind::Compared),
    ("gte", ColumnKind::Compared),
    ("ge", ColumnKind::Compared),
    ("in", ColumnKind::Compared),
    ("in_", ColumnKind::Compared),
    ("notin", ColumnKind::Compared),
    ("is_null", ColumnKind::Compared),
    ("isnull", ColumnKind::Compared),
    ("is_not_null", ColumnKind::Compared),
    ("is_in", ColumnKind::Compared),
    ("eq_any", ColumnKind::Compared),
    ("between", ColumnKind::Compared),
    ("range", ColumnKind::Compared),
    ("contains", ColumnKind::Compared),
    ("exists", ColumnKind::Compared),
];

fn comparison(name: &str) -> Option<ColumnKind> {
    let name = name.trim_start_matches(['$', '[']).trim_end_matches(']');
    COMPARISONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, kind)| *kind)
}

/// The columns a condition names.
pub fn conditions(look: &Look<'_>, value: &Value) -> Vec<Column> {
    let mut found = vec![];
    flags(look, value, &mut found, 0);
    collect(look, value, &mut found, 0);
    found
}

fn collect(look: &Look<'_>, value: &Value, found: &mut Vec<Column>, depth: u32) {
    if depth > 12 {
        return;
    }
    match value {
        Value::Object(_, entries) => entries.iter().for_each(|(key, value)| entry(look, key, value, found, depth)),
        Value::List(items) | Value::All(items) | Value::Any(items) => {
            items.iter().for_each(|item| collect(look, item, found, depth + 1))
        }
        Value::Op(op, pair) if is_comparison(*op) => {
            let kind = if *op == BinaryOp::Equal { ColumnKind::Equal } else { ColumnKind::Compared };
            if let Some(name) = column_name(look, &pair[0]) {
                found.push(column(&name, kind, pair[1].clone()));
            }
        }
        // `Q(a=1) | Q(b=2)`, `Q(a=1) & Q(b=2)`.
        Value::Op(BinaryOp::Other | BinaryOp::OtherArithmetic, pair) => {
            pair.iter().for_each(|side| collect(look, side, found, depth + 1))
        }
        Value::Is(inner, _) => {
            if let Some(name) = column_name(look, inner) {
                found.push(column(&name, ColumnKind::Compared, Value::Null));
            }
        }
        Value::Not(inner) => collect(look, inner, found, depth + 1),
        Value::Text(text) => found.extend(text_conditions(text)),
        Value::Template(_) => {
            if let Some(text) = value.text() {
                found.extend(text_conditions(&text.replace("{}", "?")));
            }
        }
        Value::Result(..) | Value::Flat(_) => {
            let Some((callee, args)) = look.call(value) else { return };
            let (name, receiver) = match &callee {
                Value::Member(receiver, name) => (name.to_string(), Some((**receiver).clone())),
                other => (look.tree.name_of(other).unwrap_or_default(), None),
            };
            if let Some(kind) = comparison(&name) {
                let filled = matches!(name.as_str(), "is_not_null" | "isNotNull" | "ne" | "neq");
                let first = args.first().map(|(_, value)| value.clone()).or(filled.then_some(Value::Unknown));
                let as_method = receiver.as_ref().and_then(|receiver| column_name(look, receiver));
                if let Some(name) = as_method {
                    found.push(column(&name, kind, first.unwrap_or(Value::Null)));
                } else if let Some(name) = first.as_ref().and_then(|first| column_name(look, first)) {
                    found.push(column(&name, kind, args.get(1).map_or(Value::Null, |(_, value)| value.clone())));
                }
                return;
            }
            for (key, arg) in &args {
                match key {
                    Some(key) => entry(look, key, arg, found, depth),
                    None => collect(look, arg, found, depth + 1),
                }
            }
            if let Some(receiver @ (Value::Result(..) | Value::Flat(_))) = receiver {
                collect(look, &receiver, found, depth + 1);
            }
        }
        Value::Module(..) | Value::Captured(..) => {
            let settled = look.tree.settled(value);
            if settled != *value {
                collect(look, &settled, found, depth + 1);
            }
        }
        _ => {}
    }
}

/// Columns that are a condition by themselves (`.filter(Coupon.active)`), alone or among others that must hold too.
fn flags(look: &Look<'_>, value: &Value, found: &mut Vec<Column>, depth: u32) {
    match value {
        Value::List(items) | Value::All(items) if depth < 4 => items.iter().for_each(|item| flags(look, item, found, depth + 1)),
        Value::Not(inner) if names_a_member(inner) => flag(inner, false, found),
        Value::Mix(items) if depth > 0 => {
            if let [inner] = &items[..]
                && names_a_member(inner)
            {
                flag(inner, false, found);
            }
        }
        Value::Member(..) if names_a_member(value) => flag(value, true, found),
        Value::Result(..) | Value::Flat(_) if depth < 4 => {
            let Some((callee, args)) = look.call(value) else { return };
            if look.tree.name_of(&callee).is_some_and(|name| name == "and_") {
                args.iter().for_each(|(_, arg)| flags(look, arg, found, depth + 1));
            }
        }
        _ => {}
    }
}

fn flag(of: &Value, holds: bool, found: &mut Vec<Column>) {
    if let Value::Member(_, name) = of
        && name.starts_with(char::is_lowercase)
    {
        found.push(column(name, ColumnKind::Equal, Value::Bool(holds)));
    }
}

/// Whether a condition holds where one of several does: `a | b`, `or_(a, b)`, `{ OR: [a, b] }`.
pub fn alternatives(look: &Look<'_>, value: &Value, depth: u32) -> bool {
    let several = |value: &Value| !matches!(look.tree.settled(value), Value::List(items) if items.len() < 2);
    let inside = || depth < 8 && value.children().into_iter().any(|child| alternatives(look, child, depth + 1));
    match value {
        Value::Op(BinaryOp::Other, _) => true,
        // A list of conditions where one is expected (`[{ a }, { b }]`).
        Value::List(items) if depth == 0 => items.len() > 1 && items.iter().all(|item| matches!(item, Value::Object(..))),
        Value::Object(_, entries) => {
            entries.iter().any(|(key, value)| matches!(&**key, "OR" | "$or" | "[or]") && several(value)) || inside()
        }
        Value::Result(..) | Value::Flat(_) => {
            let Some((callee, args)) = look.call(value) else { return false };
            let name = look.tree.name_of(&callee).unwrap_or_default();
            matches!(name.as_str(), "or" | "or_") || args.iter().any(|(_, arg)| depth < 8 && alternatives(look, arg, depth + 1))
        }
        _ => inside(),
    }
}

fn entry(look: &Look<'_>, key: &str, value: &Value, found: &mut Vec<Column>, depth: u32) {
    if matches!(key, "AND" | "OR" | "NOT" | "$and" | "$or" | "$nor" | "..." | "where") || is_computed(key) {
        return collect(look, value, found, depth + 1);
    }
    let mut parts: Vec<&str> = key.split("__").collect();
    let mut kind = ColumnKind::Equal;
    if parts.len() > 1
        && let Some(known) = parts.last().and_then(|last| comparison(last))
    {
        kind = known;
        parts.pop();
    }
    let name = parts.first().copied().unwrap_or(key);
    match value {
        Value::Object(_, entries)
            if !entries.is_empty()
                && entries.iter().all(|(key, _)| comparison(key).is_some() || key.starts_with('$') || is_computed(key)) =>
        {
            let equal = entries.iter().all(|(key, _)| comparison(key) == Some(ColumnKind::Equal));
            found.push(column(name, if equal { ColumnKind::Equal } else { ColumnKind::Compared }, entries[0].1.clone()));
        }
        // A compound key: `{ user_server: { user_id, server_id } }`.
        Value::Object(..) => collect(look, value, found, depth + 1),
        other => found.push(column(name, kind, other.clone())),
    }
}

/// The parts of a condition that the function was handed: the whole of it, or what is spread into it.
pub fn handed(value: &Value) -> Vec<Value> {
    let given = |value: &&Value| {
        matches!(value, Value::Param(..)) || matches!(value, Value::Member(of, _) if matches!(**of, Value::Param(..)))
    };
    match value {
        Value::Object(_, entries) => {
            let spread = entries.iter().filter(|(key, _)| matches!(&**key, "..." | "where" | "AND"));
            spread.map(|(_, value)| value).filter(given).cloned().collect()
        }
        other => Some(other).filter(given).cloned().into_iter().collect(),
    }
}

/// The columns that an object with a condition names by itself, and compares with plain values.
pub fn plain_conditions(value: &Value) -> Vec<Column> {
    let Value::Object(_, entries) = value else { return vec![] };
    let compared = |value: &Value| match value {
        Value::Object(_, entries) => match &entries[..] {
            [(how, value)] => comparison(how).map(|kind| (kind, value.clone())),
            _ => None,
        },
        other => Some((ColumnKind::Equal, other.clone())),
    };
    let named = entries.iter().filter(|(key, _)| !matches!(&**key, "AND" | "OR" | "NOT" | "...") && !key.starts_with('$'));
    let plain = named.filter(|(key, _)| !key.contains("__") && !is_computed(key));
    plain.filter_map(|(key, value)| compared(value).map(|(kind, value)| column(key, kind, value))).collect()
}

/// Conditions written as a piece of SQL.
fn text_conditions(text: &str) -> Vec<Column> {
    if !text.contains([' ', '=', '<', '>']) {
        return vec![];
    }
    let whole = Value::Text(format!("SELECT 1 FROM t WHERE {text}").into());
    super::statements(&whole, None, &Default::default()).into_iter().flat_map(|statement| statement.wheres).collect()
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Equal | BinaryOp::NotEqual | BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual
    )
}

/// Whether a value is a member of a class named at module level, or of a class in it, as an enum's is (`State.QUEUED`,
/// `Job.Status.DUE`): names of classes begin with a capital.
pub fn names_a_member(value: &Value) -> bool {
    match value {
        Value::Member(of, _) => match &**of {
            Value::Module(_, class) => class.starts_with(char::is_uppercase),
            Value::Member(_, class) => class.starts_with(char::is_uppercase) && names_a_member(of),
            _ => false,
        },
        _ => false,
    }
}

/// A column with its comparison or assignment; constants are told apart.
pub fn column(name: &str, kind: ColumnKind, value: Value) -> Column {
    let constant = matches!(value, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_));
    let kind = if constant && kind == ColumnKind::Equal { ColumnKind::Constant } else { kind };
    Column { name: column_key(name), kind, value }
}

/// The column an expression stands for: `Coupon.code`, `coupons::code`, `Column::Token`, `"code"`, `F("code")`.
fn column_name(look: &Look<'_>, value: &Value) -> Option<String> {
    match value {
        Value::Member(_, name) => Some(name.to_string()),
        Value::Text(text) => Some(text.rsplit('.').next().unwrap_or(text).to_owned()),
        Value::Global(name) | Value::Module(_, name) => Some(name.to_string()),
        Value::Result(..) | Value::Flat(_) => {
            let (callee, args) = look.call(value)?;
            let name = look.tree.name_of(&callee)?;
            let column = matches!(name.to_lowercase().as_str(), "f" | "col" | "column" | "lower" | "upper" | "coalesce" | "date");
            if column { column_name(look, &args.first()?.1) } else { None }
        }
        _ => None,
    }
}

/// The columns that a step of a builder sets: of an object, or the one that it names, `to` a value.
pub fn sets_of(look: &Look<'_>, meant: &Meant, value: &Value) -> Vec<Column> {
    let one = || Some(assigned(look, &column_name(look, value)?, meant.part("to")?));
    match one() {
        Some(column) => vec![column],
        None if meant.flag("keyed") => looked_for(look, value),
        None => assignments(look, value),
    }
}

/// The columns of a row that is looked for and, where there is none, added: without what a name says of how it is compared
/// (`name__iexact`).
fn looked_for(look: &Look<'_>, value: &Value) -> Vec<Column> {
    let plain = |key: &Atom| match key.rsplit_once("__") {
        Some((name, how)) if comparison(how) == Some(ColumnKind::Equal) => Atom::from(name),
        _ => key.clone(),
    };
    match value {
        Value::Object(kind, entries) => {
            let entries = entries.iter().map(|(key, value)| (plain(key), value.clone())).collect::<Vec<_>>().into();
            assignments(look, &Value::Object(kind.clone(), entries))
        }
        other => assignments(look, other),
    }
}

/// The columns an assignment sets.
pub fn assignments(look: &Look<'_>, value: &Value) -> Vec<Column> {
    let mut found = vec![];
    set(look, value, &mut found, 0);
    found
}

fn set(look: &Look<'_>, value: &Value, found: &mut Vec<Column>, depth: u32) {
    if depth > 12 {
        return;
    }
    match value {
        Value::Object(_, entries) => {
            for (key, value) in entries.iter() {
                match &**key {
                    "..." | "$set" => set(look, value, found, depth + 1),
                    "$setOnInsert" => {}
                    operator if operator.starts_with('$') => {
                        let mut inner = vec![];
                        set(look, value, &mut inner, depth + 1);
                        found.extend(inner.into_iter().map(|column| Column { kind: ColumnKind::Relative, ..column }));
                    }
                    name => found.push(assigned(look, name, value)),
                }
            }
        }
        Value::List(items) | Value::All(items) | Value::Any(items) => {
            items.iter().for_each(|item| set(look, item, found, depth + 1))
        }
        Value::Op(BinaryOp::Equal, pair) => {
            if let Some(name) = column_name(look, &pair[0]) {
                found.push(assigned(look, &name, &pair[1]));
            }
        }
        Value::Result(..) | Value::Flat(_) => {
            // What a function of the tree gave, as it says itself.
            if let Value::Flat(index) = value
                && let Some(event) = look.events.get(*index as usize)
                && event.returns.iter().any(|(given, _)| matches!(given, Value::Object(..)))
            {
                event.returns.iter().for_each(|(given, _)| set(look, given, found, depth + 1));
                return;
            }
            // A row that was read is not what it was asked for by.
            if let Value::Flat(index) = value
                && let Some(read) = look.events.get(*index as usize).and_then(|event| event.statement())
                && read.op == Op::Select
                && !read.built
            {
                return;
            }
            let Some((callee, args)) = look.call(value) else { return };
            if let Value::Member(receiver, name) = &callee
                && comparison(name) == Some(ColumnKind::Equal)
                && let Some(name) = column_name(look, receiver)
                && let Some((_, value)) = args.first()
            {
                found.push(assigned(look, &name, value));
                return;
            }
            for (key, arg) in &args {
                match key {
                    Some(key) => found.push(assigned(look, key, arg)),
                    None => set(look, arg, found, depth + 1),
                }
            }
        }
        Value::Module(..) | Value::Captured(..) => {
            let settled = look.tree.settled(value);
            if settled != *value {
                set(look, &settled, found, depth + 1);
            }
        }
        _ => {}
    }
}

fn assigned(look: &Look<'_>, name: &str, value: &Value) -> Column {
    if let Some(column) = by_operator(name, value) {
        return column;
    }
    let relative = relative_to(look, value, name, 0);
    let made = column(name, ColumnKind::Equal, value.clone());
    Column { kind: if relative { ColumnKind::Relative } else { made.kind }, ..made }
}

/// Whether a value is computed by the database from the column's own old value.
pub fn relative_to(look: &Look<'_>, value: &Value, name: &str, depth: u32) -> bool {
    if depth > 8 {
        return false;
    }
    let key = column_key(name);
    let same = |text: &str| {
        text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '.'))
            .any(|word| column_key(word.rsplit('.').next().unwrap_or(word)) == key)
    };
    match value {
        Value::Op(_, pair) => pair.iter().any(|side| match side {
            Value::Member(base, column) => {
                named(base) && column_key(column) == key && !matches!(look.tree.ty(base, 0), super::Ty::Instance(_))
            }
            Value::Global(column) | Value::Module(_, column) => column_key(column) == key,
            other => relative_to(look, other, name, depth + 1),
        }),
        Value::Result(..) | Value::Flat(_) => {
            let Some((callee, args)) = look.call(value) else { return false };
            let called = look.tree.name_of(&callee).unwrap_or_default().to_lowercase();
            let raw = matches!(
                called.as_str(),
                "f" | "literal"
                    | "raw"
                    | "sql"
                    | "text"
                    | "expr"
                    | "fn"
                    | "query_set"
                    | "case"
                    | "greatest"
                    | "least"
                    | "coalesce"
                    | "func"
                    | "col"
                    | "add"
                    | "sub"
                    | "custom"
                    | "cust_with_expr"
                    | "concat"
            );
            raw && args.iter().any(|(_, arg)| match arg.text() {
                Some(text) => same(&text) || arg.any(&|part| matches!(part, Value::Member(table, name) if matches!(**table, Value::Module(..) | Value::Global(_)) && column_key(name) == key)),
                None => relative_to(look, arg, name, depth + 1),
            }) || matches!(&callee, Value::Member(receiver, method) if matches!(&**method, "add" | "sub" | "saturating_sub") && column_name(look, receiver).is_some_and(|column| column_key(&column) == key))
        }
        Value::Function(_) => true,
        Value::Choose(parts) => relative_to(look, &parts[1], name, depth + 1) || relative_to(look, &parts[2], name, depth + 1),
        _ => false,
    }
}

/// Whether a value is a name or a member of one, not something read.
fn named(value: &Value) -> bool {
    match value {
        Value::Module(..) | Value::Global(_) => true,
        Value::Member(base, _) => named(base),
        _ => false,
    }
}

/// Keyword arguments of a constructor call, or an object literal, as the columns of a new row.
pub fn entity_columns(look: &Look<'_>, entity: &Value) -> Vec<Column> {
    match entity {
        Value::Result(..) | Value::Flat(_) => {
            let Some((_, args)) = look.call(entity) else { return vec![] };
            args.iter()
                .flat_map(|(key, value)| match key {
                    Some(key) => vec![column(key, ColumnKind::Equal, value.clone())],
                    None => assignments(look, value),
                })
                .collect()
        }
        other => assignments(look, other),
    }
}

/// The table of the columns that an aggregate is over: `func.sum(Upload.size)`.
pub(super) fn of_columns(look: &Look<'_>, value: &Value, file: u32, depth: u32) -> Option<String> {
    match value {
        Value::Member(of, _) => match look.tree.ty(&super::flat::plain(look.events, of), file) {
            ty @ Ty::Class(_) => table_of_ty(look, &ty),
            _ => None,
        },
        Value::Flat(_) | Value::Result(..) if depth < 4 => {
            let (_, args) = look.call(value)?;
            args.iter().find_map(|(_, value)| of_columns(look, value, file, depth + 1))
        }
        Value::Op(_, pair) => of_columns(look, &pair[0], file, depth),
        _ => None,
    }
}
