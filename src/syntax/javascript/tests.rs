use super::*;
use crate::syntax::{ExportTarget, print};

fn unit(path: &str, text: &str) -> Unit {
    parse(&Source::new(path, Language::JavaScript, text))
}

/// The printed steps of the module.
fn steps(text: &str) -> String {
    let printed = print(&unit("a.ts", text));
    let body = printed.lines().skip_while(|line| !line.starts_with("fn#0")).skip(1);
    body.take_while(|line| line.starts_with("  ")).map(|line| format!("{}\n", &line[2..])).collect()
}

#[test]
fn functions_are_bound_before_what_calls_them() {
    assert_eq!(steps("if (a) { f(); function f() {} }"), "if a\n  let f = fn#1\n  do f()\n");
}

#[test]
fn spans_are_byte_offsets() {
    let text = "const ä = 'ü'; call();";
    let unit = unit("a.js", text);
    let last = unit.functions[0].body.last().unwrap();
    assert_eq!(&text[last.span.start as usize..last.span.end as usize], "call();");
}

#[test]
fn lambdas_take_the_name_they_are_bound_to() {
    let text =
        "const a = () => 1; o.b = function () {}; const c = { d: async () => {} }; e(() => {}); const f = function g() {};";
    let names: Vec<String> = unit("a.js", text).functions.into_iter().map(|function| function.name).collect();
    assert_eq!(names, ["<module>", "a", "b", "d", "", "g"]);
}

#[test]
fn functions_are_named_where_their_name_is_written() {
    let text =
        "const a = async () => 1; const o = { get b() {}, c: () => 2 }; class D { e() {} }; f(async () => 3, function () {});";
    let unit = unit("a.js", text);
    let named = unit.functions.iter().skip(1).map(|function| {
        let of = |span: Span| &text[span.start as usize..span.end as usize];
        (of(function.name_span), of(function.span))
    });
    let expected = [
        ("a", "async () => 1"),
        ("b", "get b() {}"),
        ("c", "() => 2"),
        ("e", "e() {}"),
        ("async", "async () => 3"),
        ("function", "function () {}"),
    ];
    assert_eq!(named.collect::<Vec<_>>(), expected);
}

#[test]
fn comments_lose_their_markers() {
    let unit = unit("a.js", "/// one\n// /two\n/**\n * three\n *\n * * four\n */\n/* five */");
    let texts: Vec<String> = unit.comments.into_iter().map(|comment| comment.text).collect();
    assert_eq!(texts, ["one", "/two", "three\n\n* four", "five"]);
}

#[test]
fn functions_know_what_they_are_written_in() {
    let unit = unit("a.js", "function a() { return () => () => 1; }");
    let parents: Vec<_> = unit.functions.iter().map(|function| function.parent.map(|id| id.0)).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2)]);
}

#[test]
fn await_is_kept_on_the_call_only() {
    assert_eq!(steps("const x = await (f() as any)!; await y;"), "let x = await f()\ndo y\n");
}

#[test]
fn static_blocks_run_where_the_class_stands() {
    assert_eq!(steps("before(); const A = class { static { this.x = 1; } }; after();"), "do before()\nset A.x = 1\ndo after()\n");
}

#[test]
fn a_yield_in_an_expression_comes_first() {
    let printed = print(&unit("a.js", "function* f() { if (a) { const x = g(yield b); } }"));
    assert!(printed.contains("  if a\n    yield b\n    let x = g(other())\n"), "{printed}");
}

#[test]
fn a_break_in_a_case_does_not_leave_the_loop() {
    let text = "for (;;) { switch (k) { case 1: if (a) break; b(); break; case 2: try { break; } finally {} } c(); break; }";
    let expected = "loop\n  if (k is 1)\n    if a\n    else\n      do b()\n  else\n    if (k is 2)\n      try\n        break\n  do c()\n  break\n";
    assert_eq!(steps(text), expected);
}

#[test]
fn defaults_in_patterns_follow_the_binding() {
    assert_eq!(steps("const { a: { b = 1 } = {} } = o;"), "let {a: $1} = o\ndo ($1 ??= {})\nlet {b: b} = $1\ndo (b ??= 1)\n");
}

#[test]
fn what_is_put_into_exports_is_read_by_its_local_name() {
    let unit = unit("a.js", "function run() { exports.stop(); module.exports.go(); } exports.stop = () => {}; exports.go = run;");
    let printed = print(&unit);
    assert!(printed.contains("  do stop()\n  do run()\n"), "{printed}");
    assert_eq!(unit.exports[1].target, ExportTarget::Local("run".into()));
}

#[test]
fn compiled_modules_read_as_they_were_written() {
    let text =
        "exports.A = exports.b = void 0;\nconst m_1 = require('m');\nclass A {}\nexports.A = A;\nexports.b = (0, m_1.make)(1);";
    let printed = print(&unit("a.js", text));
    let expected = "import m_1 = \"m\"\nexport A = A\nexport b = b\nclass A\nfn#0 <module>()\n  let b = m_1.make(1)\n";
    assert_eq!(printed, expected);
}

#[test]
fn exported_places_are_module_level_only() {
    let unit = unit("a.js", "function f() { module.exports = 1; }");
    assert!(unit.exports.is_empty());
}

#[test]
fn javascript_with_types_is_read() {
    let unit = unit("a.js", "function f(a: string): number { return 1; }");
    assert!(unit.gaps.is_empty(), "{:?}", unit.gaps);
    assert_eq!(unit.functions[1].params[0].ty.as_ref().unwrap().name, "string");
}

#[test]
fn old_scripts_are_read() {
    let unit = unit("a.js", "with (a) { b = 010; } return 1;");
    assert!(unit.gaps.is_empty(), "{:?}", unit.gaps);
}

#[test]
fn a_syntax_error_is_a_gap_with_its_line() {
    let unit = unit("a.ts", "const a = 1;\nconst b = = 2;\n");
    assert_eq!(unit.gaps[0].line, Some(2));
    assert_eq!(unit.gaps[0].kind, GapKind::Syntax);
}

#[test]
fn what_surrounds_a_syntax_error_is_used() {
    let unit = unit("a.ts", "import { a } from 'a';\nfunction broken() {\n  if (a { }\n}\nexport const later = 1;\n");
    assert_eq!(unit.gaps[0].line, Some(3));
    assert_eq!((unit.imports.len(), unit.exports.len()), (1, 1));
}

#[test]
fn a_file_of_errors_is_a_gap() {
    let unit = unit("a.ts", &"a b c;\n".repeat(20));
    assert_eq!(unit.gaps.len(), MOST_GAPS);
}

#[test]
fn deep_nesting_is_given_up_not_overflowed() {
    let nests = [
        ("(", "1", ")"),
        ("[", "", "]"),
        ("{", "", "}"),
        ("!", "a", ""),
        ("a ? b : ", "c", ""),
        ("a => ", "a", ""),
        ("() => { ", "", "}"),
        ("if (a) b; else ", "c;", ""),
        ("f(", "", ")"),
        ("a = ", "b", ""),
        ("a.b().", "c", ""),
        ("class { static { x = ", "1", "} }"),
        ("`${", "1", "}`"),
        ("<a>", "", "</a>"),
        ("new ", "a", ""),
        ("a + ", "b", ""),
        ("await ", "b", ""),
        ("for (;;) ", ";", ""),
        ("a: ", ";", ""),
    ];
    // The small depths are those that are still read on the stack of the caller.
    for ((open, middle, close), depth) in nests.iter().flat_map(|nest| [13, 39, 600, 4000].map(|depth| (nest, depth))) {
        let text = format!("x = {}{middle}{}", open.repeat(depth), close.repeat(depth));
        unit("a.jsx", &text);
        unit("a.ts", text.trim_start_matches("x = "));
    }
    let types = format!("let a: {}string{} = 1;", "A<".repeat(4000), ">".repeat(4000));
    assert_eq!(unit("a.ts", &types).functions.len(), 1);
}

#[test]
fn text_that_no_stack_can_hold_is_a_gap() {
    let unit = unit("a.js", &"[".repeat(1_000_000));
    assert_eq!(unit.gaps.len(), 1);
    assert_eq!(unit.functions.len(), 1);
}
