//! A program whose top level binds names to literals, as data: each name is an entry, and what the file exports as a whole is
//! laid beside them. What is computed is a text of the names in it; a value that has a fallback is the fallback.

use super::{Node, NodeKind};
use crate::files::{Language, LineIndex, Source};
use crate::syntax::{Call, Expr, ExprKind, StepKind, Target, Unit, parse};

/// Expressions deeper than this are left out.
const DEEPEST: u32 = 32;

/// What a unit's top level binds and exports. `lines` are those of its text.
pub fn of_unit(unit: &Unit, lines: &LineIndex) -> Node {
    let mut entries: Vec<(String, Node)> = vec![];
    for step in unit.functions.first().into_iter().flat_map(|module| &module.body) {
        let StepKind::Bind { target: Target::Name(name, _), value: Some(value), .. } = &step.kind else { continue };
        let node = of_expr(value, lines, 0);
        match node.kind {
            NodeKind::Map(exported) if matches!(name.as_str(), "=" | "default" | "module.exports") => entries.extend(exported),
            _ => entries.push((name.clone(), node)),
        }
    }
    Node::map_at(1, entries)
}

/// A text in JSON, which is a literal of JavaScript.
pub(super) fn json(text: &str) -> Option<Node> {
    let source = Source::new("data.js", Language::JavaScript, format!("export default {text}"));
    let unit = parse(&source)?;
    Some(of_unit(&unit, &source.lines))
}

fn of_expr(expr: &Expr, lines: &LineIndex, depth: u32) -> Node {
    let (line, _) = lines.position(expr.span.start);
    let at = |text: String| Node::text_at(line, text);
    if depth > DEEPEST {
        return at(String::new());
    }
    let inner = |expr: &Expr| of_expr(expr, lines, depth + 1);
    match &expr.kind {
        ExprKind::Text(text) => at(text.clone()),
        ExprKind::Number(number) => at(number.to_string()),
        ExprKind::Bool(value) => at(value.to_string()),
        ExprKind::Name(name) => at(name.clone()),
        ExprKind::Member(of, name) => at(format!("{}.{name}", inner(of).text().unwrap_or_default())),
        ExprKind::Object { entries, .. } => {
            Node::map_at(line, entries.iter().map(|(key, value)| (key.clone(), inner(value))).collect())
        }
        ExprKind::List(items) => Node { line, kind: NodeKind::List(items.iter().map(inner).collect()) },
        ExprKind::Or(first, second) | ExprKind::Coalesce(first, second) => inner(if literal(first) { first } else { second }),
        ExprKind::Binary(_, left, right) => {
            at(format!("{} {}", inner(left).text().unwrap_or_default(), inner(right).text().unwrap_or_default()))
        }
        ExprKind::Negate(of) => at(format!("-{}", inner(of).text().unwrap_or_default())),
        ExprKind::Call(call) => of_call(call, line, &inner),
        _ => at(String::new()),
    }
}

/// Of a call with a fallback (`get("NAME", 4)`) the fallback, of a conversion (`int(x)`) what it converts, else the names.
fn of_call(call: &Call, line: u32, inner: &dyn Fn(&Expr) -> Node) -> Node {
    let values: Vec<&Expr> = call.args.iter().map(|arg| &arg.value).collect();
    match values.as_slice() {
        [_, .., last] if literal(last) => inner(last),
        [one] if !matches!(one.kind, ExprKind::Text(_)) => inner(one),
        _ => {
            let name = inner(&call.callee);
            let args: Vec<String> = values.iter().filter_map(|value| inner(value).text().map(str::to_owned)).collect();
            Node::text_at(line, format!("{}({})", name.text().unwrap_or_default(), args.join(" ")))
        }
    }
}

fn literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Text(_) | ExprKind::Number(_) | ExprKind::Bool(_))
}
