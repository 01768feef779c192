//! The lowering over the list of constructs and over small texts, written in a short notation of the unit's own.

use super::*;
use crate::files::LineIndex;
use crate::syntax::{
    Arg, CallForm, Class, ExitKind, ExportTarget, Expr, ExprKind, Function, Step, StepKind, Target, TemplatePart, TypeRef,
};

const CONSTRUCTS: &str = include_str!("../../../fixtures/syntax/rust/constructs.rs");

fn unit(text: &str) -> Unit {
    parse(&Source::new("a.rs", Language::Rust, text))
}

fn function<'u>(unit: &'u Unit, name: &str) -> &'u Function {
    unit.functions.iter().find(|function| function.name == name).unwrap()
}

fn class<'u>(unit: &'u Unit, name: &str) -> &'u Class {
    unit.classes.iter().find(|class| class.name == name).unwrap()
}

/// The steps of the body of `fn f() { body }`, one a line.
fn body(text: &str) -> String {
    let unit = unit(&format!("fn f() {{ {text} }}"));
    assert_eq!(unit.gaps, []);
    steps(&unit, &function(&unit, "f").body)
}

fn steps(unit: &Unit, body: &[Step]) -> String {
    body.iter().map(|step| show_step(unit, step)).collect::<Vec<_>>().join("; ")
}

fn show_step(unit: &Unit, step: &Step) -> String {
    match &step.kind {
        StepKind::Do(value) => show(unit, value),
        StepKind::Bind { target, value, declares, op } => {
            let word = if *declares { "let " } else { "" };
            let op = op.map(|op| format!(" {op:?}")).unwrap_or_default();
            let value = value.as_ref().map(|value| format!("{op} = {}", show(unit, value))).unwrap_or_default();
            format!("{word}{}{value}", show_target(unit, target))
        }
        StepKind::Branch { test, then, otherwise } => {
            format!("if {} {{{}}} else {{{}}}", show(unit, test), steps(unit, then), steps(unit, otherwise))
        }
        StepKind::Loop { test, each, body } => {
            let test = test.as_ref().map(|test| format!(" while {}", show(unit, test))).unwrap_or_default();
            let each = each.as_ref().map(|(target, of)| format!(" {} of {}", show_target(unit, target), show(unit, of)));
            format!("loop{test}{} {{{}}}", each.unwrap_or_default(), steps(unit, body))
        }
        StepKind::Exit { kind, value } => {
            let value = value.as_ref().map(|value| format!(" {}", show(unit, value))).unwrap_or_default();
            let word = match kind {
                ExitKind::Return => "return",
                ExitKind::Throw => "throw",
                ExitKind::Break => "break",
                ExitKind::Continue => "continue",
                ExitKind::Yield => "yield",
            };
            format!("{word}{value}")
        }
        StepKind::Scope(body) => format!("{{{}}}", steps(unit, body)),
        other => format!("{other:?}"),
    }
}

fn show_target(unit: &Unit, target: &Target) -> String {
    let list = |parts: &[Target]| parts.iter().map(|part| show_target(unit, part)).collect::<Vec<_>>().join(", ");
    match target {
        Target::Name(word, _) => word.clone(),
        Target::Place(place) => format!("place {}", show(unit, place)),
        Target::Fields(fields) => {
            let fields = fields.iter().map(|(name, part)| format!("{name}: {}", show_target(unit, part)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Target::Items(parts) => format!("[{}]", list(parts)),
        Target::Inside(inner) => format!("inside {}", show_target(unit, inner)),
        Target::Ignore => "_".to_string(),
    }
}

fn show(unit: &Unit, value: &Expr) -> String {
    let of = |value: &Expr| show(unit, value);
    let list = |values: &[Expr]| values.iter().map(of).collect::<Vec<_>>().join(", ");
    match &value.kind {
        ExprKind::Name(word) => word.clone(),
        ExprKind::This => "this".to_string(),
        ExprKind::Member(object, word) => format!("{}.{word}", of(object)),
        ExprKind::Index(object, key) => format!("{}[{}]", of(object), of(key)),
        ExprKind::Call(call) => {
            let args = call.args.iter().map(|Arg { name, value }| {
                format!("{}{}", name.as_ref().map(|name| format!("{name}=")).unwrap_or_default(), of(value))
            });
            let mark = if call.form == CallForm::Macro { "!" } else { "" };
            let awaited = if call.awaited { "@" } else { "" };
            format!("{}{mark}({}){awaited}", of(&call.callee), args.collect::<Vec<_>>().join(", "))
        }
        ExprKind::Text(text) => format!("{text:?}"),
        ExprKind::Template(parts) => {
            let parts = parts.iter().map(|part| match part {
                TemplatePart::Text(text) => text.clone(),
                TemplatePart::Value(value) => format!("${{{}}}", of(value)),
            });
            format!("`{}`", parts.collect::<String>())
        }
        ExprKind::Number(number) => number.to_string(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Null => "null".to_string(),
        ExprKind::Object { ty, entries } => {
            let entries = entries.iter().map(|(key, value)| format!("{key}: {}", of(value))).collect::<Vec<_>>().join(", ");
            format!("{}{{{entries}}}", ty.as_deref().unwrap_or_default())
        }
        ExprKind::List(values) => format!("[{}]", list(values)),
        ExprKind::Lambda(id) => {
            let function = &unit.functions[id.0 as usize];
            let params = function.params.iter().map(|param| show_target(unit, &param.target)).collect::<Vec<_>>().join(", ");
            let word = if function.flags.is_async { "async " } else { "" };
            format!("{word}|{params}| {{{}}}", steps(unit, &function.body))
        }
        ExprKind::Binary(op, left, right) => format!("({} {op:?} {})", of(left), of(right)),
        ExprKind::Not(inner) => format!("not {}", of(inner)),
        ExprKind::Negate(inner) => format!("-{}", of(inner)),
        ExprKind::And(left, right) => format!("({} and {})", of(left), of(right)),
        ExprKind::Or(left, right) => format!("({} or {})", of(left), of(right)),
        ExprKind::Is(inner, shape) => format!("{} is {shape:?}", of(inner)),
        ExprKind::Propagate(inner) => format!("{}?", of(inner)),
        ExprKind::Other(values) => format!("other({})", list(values)),
        other => format!("{other:?}"),
    }
}

fn show_type(ty: &TypeRef) -> String {
    let args = ty.args.iter().map(show_type).collect::<Vec<_>>().join(", ");
    if args.is_empty() { ty.name.to_string() } else { format!("{}<{args}>", ty.name) }
}

#[test]
fn imports_are_flat() {
    let unit = unit(CONSTRUCTS);
    let imports: Vec<_> = unit
        .imports
        .iter()
        .map(|import| format!("{} = {}:{}", import.local, import.module, import.member.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        imports,
        [
            "collections = std:collections",
            "Map = std.collections:HashMap",
            "* = std.sync:-",
            "Purchase = crate.orders:Order",
            "redis = redis:-",
            "helpers = self:helpers",
            "* = super:-",
        ]
    );
    let other = unit.exports.iter().find(|export| export.name == "Purchase").unwrap();
    assert_eq!(other.target, ExportTarget::Other { module: "crate.orders".into(), member: Some("Order".into()) });
}

#[test]
fn module_level_binds_functions_then_constants() {
    let unit = unit(CONSTRUCTS);
    assert_eq!(unit.gaps, []);
    let names = unit.functions[0].body.iter().map(|step| match &step.kind {
        StepKind::Bind { target: Target::Name(name, _), declares: true, .. } => name.clone(),
        other => panic!("{other:?}"),
    });
    let expected = ["inside", "handler", "statements", "background", "LIMIT", "GUARD", "Shared", "SEEN", "TABLE"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    assert!(unit.functions.iter().all(|function| function.name != "not_lowered"));
    assert_eq!(show_step(&unit, &unit.functions[0].body[8]), "let TABLE = Mutex.new(Map.new())");
}

#[test]
fn types_gather_their_methods() {
    let unit = unit(CONSTRUCTS);
    let store = class(&unit, "Store");
    let methods = store.methods.iter().map(|id| &unit.functions[id.0 as usize]);
    let methods: Vec<_> = methods.map(|method| (method.name.as_str(), method.flags.is_static, method.params.len())).collect();
    assert_eq!(methods, [("new", true, 1), ("count", false, 0), ("save", false, 1)]);
    assert_eq!(store.bases.iter().map(show_type).collect::<Vec<_>>(), ["Repository"]);
    assert_eq!(store.decorators.iter().map(|value| show(&unit, value)).collect::<Vec<_>>(), ["derive(Clone, Debug)"]);
    let fields = store.fields.iter().map(|field| format!("{}: {}", field.name, show_type(field.ty.as_ref().unwrap())));
    assert_eq!(fields.collect::<Vec<_>>(), ["pool: sqlx.PgPool", "last: Option<Clock>", "pair: tuple<u8, Box<Fn<u8, bool>>>"]);
    assert_eq!(class(&unit, "Foreign").bases, [TypeRef { name: "Display".into(), args: vec![] }]);
    assert_eq!(class(&unit, "Repository").methods.len(), 2);
    assert_eq!(class(&unit, "State").fields.len(), 2);
    let new = function(&unit, "new");
    assert_eq!(steps(&unit, &new.body), "return Store{pool: pool, last: null, ...: Store.empty()}");
    assert_eq!(steps(&unit, &function(&unit, "count").body), "place this.total Add = 1; Store.new(this.pool.clone())");
}

#[test]
fn attributes_and_parameters() {
    let unit = unit(CONSTRUCTS);
    let handler = function(&unit, "handler");
    let decorators: Vec<_> = handler.decorators.iter().map(|value| show(&unit, value)).collect();
    assert_eq!(decorators, ["get(\"/orders/{id}\", name=\"order\")", "tokio.main"]);
    let params = handler
        .params
        .iter()
        .map(|param| format!("{}: {}", show_target(&unit, &param.target), show_type(param.ty.as_ref().unwrap())));
    assert_eq!(
        params.collect::<Vec<_>>(),
        ["inside store: State<Store>", "inside [id, _]: Path<tuple<u64, u64>>", "extra: Trait"]
    );
    assert!(handler.flags.is_async);
}

#[test]
fn spans_are_of_the_file() {
    let text = format!("\u{feff}#!/usr/bin/env run\n// é\n{}", "fn f() { g(é); }");
    let unit = unit(&text);
    let f = function(&unit, "f");
    assert_eq!(&text[f.name_span.start as usize..f.name_span.end as usize], "f");
    let span = f.body[0].span;
    assert_eq!(&text[span.start as usize..span.end as usize], "g(é)");
    assert_eq!(unit.comments[0].text, "é");
}

#[test]
fn let_else_tests_before_it_binds() {
    assert_eq!(
        body("let Some(a) = get() else { return; }; a"),
        "let $1 = get(); if $1 is Present {} else {return}; let inside a = $1; return a"
    );
}

#[test]
fn tails_return_from_every_arm() {
    assert_eq!(
        body("if let Ok(a) = get() { a } else if b { c } else { d }"),
        "let $1 = get(); if $1 is Ok {let inside a = $1; return a} else {if b {return c} else {return d}}"
    );
}

#[test]
fn chains_bind_before_they_are_read() {
    assert_eq!(
        body("if let Some(a) = get() && a.good() { use_it(a); }"),
        "let $1 = get(); let inside a = $1; if ($1 is Present and a.good()) {use_it(a)} else {}"
    );
}

#[test]
fn match_arms_are_a_chain() {
    assert_eq!(
        body("match get() { Ok(Some(x)) => x, Err(e) => return Err(e), Color::Red | Color::Blue if old => 1, _ => 2 }"),
        "let $1 = get(); if ($1 is Ok and $1 is Present) {let inside inside x = $1; return x} else {\
         if $1 is Err {let inside e = $1; return Err(e)} else {\
         if (($1 is Text(\"Red\") or $1 is Text(\"Blue\")) and old) {return 1} else {\
         if $1 is Any {return 2} else {}}}}"
    );
}

#[test]
fn values_with_steps_are_put_before() {
    assert_eq!(
        body("let a = if b { c } else { d() }; let e = { let g = lock(); g.x }; let h = { 1 };"),
        "let $1; if b {$1 = c} else {$1 = d()}; let a = $1; let $2; {let g = lock(); $2 = g.x}; let e = $2; let h = 1"
    );
    assert_eq!(body("a() && { b(); c() };"), "let $2 = a(); if $2 {let $1; {b(); $1 = c()}; $2 = $1} else {}");
}

#[test]
fn loops() {
    assert_eq!(
        body("let a = loop { if b { break 1; } continue; };"),
        "let $1; loop {if b {$1 = 1; break} else {}; continue}; let a = $1"
    );
    assert_eq!(
        body("while let Some(job) = q.pop() { run(job); } while true { } for (k, v) in &m { k; }"),
        "loop {let $1 = q.pop(); if $1 is Present {let inside job = $1; run(job)} else {break}}; loop {}; loop [k, v] of m {k}"
    );
}

#[test]
fn functions_written_as_values() {
    assert_eq!(
        body("spawn(async move { p.run().await; }); m(|x: u8| async move { x.save().await? });"),
        "spawn(async || {p.run()@}); m(async |x| {return x.save()@?})"
    );
}

#[test]
fn paths_operators_and_places() {
    assert_eq!(
        body("*m.entry(1) += 2; <T as U>::f::<V>(&x); a == None; b != None; x[0].1 = !y; Vec::<u8>::new();"),
        "place m.entry(1) Add = 2; T.f(x); a is Null; not b is Null; place x[0].1 = not y; Vec.new()"
    );
    assert_eq!(body("(b'a', 'c', b\"d\", 1_000u64, 0x10, 2.5f32, ())"), "return [\"a\", \"c\", \"d\", 1000, 16, 2.5, null]");
}

#[test]
fn macros_are_read() {
    assert_eq!(
        body("f(format!(\"a{x}{}{{\", y)); log::info!(k = %v, \"n {}\", z); q!(\"{}\");"),
        "f(`a${x}${y}{`); log.info!(k=v, `n ${z}`); q!(\"{}\")"
    );
    assert_eq!(
        body(
            "assert!(a > 0, \"no {a}\"); matches!(s, S::A | S::B); vec![1; 2]; json!({ \"id\": 1, \"t\": [null, { \"u\": v }] });"
        ),
        "if not (a Greater 0) {throw `no ${a}`} else {}; (s is Text(\"A\") or s is Text(\"B\")); [1]; \
         json!({id: 1, t: [null, {u: v}]})"
    );
    assert_eq!(
        body("select! { Some(m) = r.recv() => h(m), _ = t.tick(), if c => { k(); } else => s() };"),
        "let $1; if other() {let inside m = r.recv()@; $1 = h(m)} else {\
         if other(c) {let _ = t.tick()@; k()} else {if other() {$1 = s()} else {}}}"
    );
    assert_eq!(body("let a = b.unwrap_or_else(|| panic!(\"gone {}\", c));"), "let a = b.unwrap_or_else(|| {throw `gone ${c}`})");
    assert_eq!(body("stream! { let a = 1; yield a; }"), "stream!(); {let a = 1; yield a}");
}

#[test]
fn broken_items_are_left_out() {
    let unit = unit("fn a() {}\nfn b(x) { }\nstruct S { x: u8 }\nstatic X: S = S { x: 1 };\nfn c() {}");
    assert_eq!(unit.gaps.len(), 1);
    assert_eq!((unit.gaps[0].kind, unit.gaps[0].line), (GapKind::Syntax, Some(2)));
    assert!(unit.functions.iter().any(|function| function.name == "c"));
    assert_eq!(unit.functions[0].body.len(), 3);
}

#[test]
fn unreadable_files_are_gaps() {
    for text in ["fn a() {", "fn a() { \"", "}", &"(".repeat(100_000), &format!("fn f() {{ {}x }}", "!".repeat(100_000))] {
        let unit = unit(text);
        assert_eq!(unit.gaps.len(), 1, "{}", &text[..text.len().min(20)]);
        assert_eq!(unit.functions.len(), 1);
    }
}

#[test]
fn deep_code_is_cut_off() {
    let deep = format!("fn f() {{ {}x{} }}", "g(".repeat(400), ")".repeat(400));
    let unit = unit(&deep);
    assert_eq!(unit.gaps, []);
    assert!(steps(&unit, &function(&unit, "f").body).contains("other()"));
}

#[test]
fn lines_of_gaps_count_the_shebang() {
    let text = "#!/bin/run\nfn ok() {}\nlet x;\n";
    assert_eq!(unit(text).gaps[0].line, Some(3));
    assert_eq!(LineIndex::new(text).position(23).0, 3);
}

#[test]
fn every_construct_is_understood() {
    let unit = unit(CONSTRUCTS);
    for function in &unit.functions {
        let steps = steps(&unit, &function.body).replace("if other(", "");
        assert!(!steps.contains("other("), "{}: {steps}", function.name);
    }
    let background = steps(&unit, &function(&unit, "background").body);
    let expected = [
        "tokio.spawn(async || {pool.run()@})",
        "let each = items.map(async |item| {return item.save()@})",
        "let $10",
        "if other() {let inside message = inbox.recv()@; $10 = handle(message)} else {if other(ready) {let _ = ticker.tick()@; \
         tick()} else {if other() {$10 = stop()} else {}}}",
        "tokio.join!(first(), second())",
        "let key = `lock:${id}:${pool.name()}:${pool.name()}`",
        "tracing.info!(user=id, pool, `started ${key}`)",
        "log.warn!(`no ${key}`)",
        "let body = json!({id: id, tags: [\"a\", b], none: null})",
        "let list = [1, 2]",
        "let zero = [0]",
        "if not (id Greater 0) {throw `id ${id}`} else {}",
        "if not (state is Text(\"New\") or state is Text(\"Paid\")) {throw} else {}",
        "let bytes = [\"ab\", \"c\", \"d\", 16, 2.5]",
        "writeln!(out, `${id}`)?",
        "stream!()",
        "{yield 1}",
        "if list.is_empty() {throw `empty: ${key}`} else {}",
    ];
    assert_eq!(background, expected.join("; "));
}

#[test]
fn steps_lie_where_they_are_written() {
    let text = "fn f() { match a { Some(b) => b, _ => 0 } }";
    let unit = unit(text);
    let StepKind::Branch { then, .. } = &function(&unit, "f").body[1].kind else { panic!() };
    assert_eq!(&text[then[0].span.start as usize..then[0].span.end as usize], "Some(b)");
}
