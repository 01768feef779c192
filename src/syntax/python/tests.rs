use super::super::*;
use crate::files::{GapKind, Language, Source};

fn lower(text: &str) -> Unit {
    (super::FRONTEND.parse)(&Source::new("sample.py", Language::Python, text))
}

fn function<'u>(unit: &'u Unit, name: &str) -> &'u Function {
    unit.functions.iter().find(|function| function.name == name).expect("a function of this name")
}

/// What a node holds, without where it stands.
fn shape(node: &impl std::fmt::Debug) -> String {
    let mut rest = format!("{node:?}").replace("span: Span", "Span");
    let mut kept = String::new();
    while let Some(at) = rest.find(", Span {") {
        let end = rest[at..].find('}').expect("a closed span") + at + 1;
        kept.push_str(&rest[..at]);
        rest.replace_range(..end, "");
    }
    kept + &rest
}

fn shapes(steps: &[Step]) -> Vec<String> {
    steps.iter().map(shape).collect()
}

/// The one expression statement of a module, and its text by span.
fn only(text: &str) -> Expr {
    let unit = lower(text);
    match &unit.functions[0].body[..] {
        [Step { kind: StepKind::Do(value), .. }] => value.clone(),
        other => panic!("{other:?}"),
    }
}

/// Whether two texts lower to the same steps.
fn assert_same(left: &str, right: &str) {
    assert_eq!(shapes(&lower(left).functions[0].body), shapes(&lower(right).functions[0].body), "{left}");
}

/// All expressions of a template, as the text their spans cover.
fn template_values(text: &str) -> Vec<&str> {
    let ExprKind::Template(parts) = only(text).kind else { panic!("no template") };
    let values = parts.iter().filter_map(|part| match part {
        TemplatePart::Value(value) => Some(&text[value.span.start as usize..value.span.end as usize]),
        TemplatePart::Text(_) => None,
    });
    values.collect()
}

#[test]
fn constructs() {
    let unit = lower(include_str!("../../../fixtures/syntax/python/constructs.py"));
    let mut text = String::new();
    let mut line = |kind: &str, of: String| text.push_str(&format!("{kind} {of}\n"));
    unit.imports.iter().for_each(|import| line("import", shape(import)));
    unit.exports.iter().for_each(|export| line("export", shape(export)));
    for function in &unit.functions {
        let Function { name, params, class, parent, decorators, returns, flags, .. } = function;
        line("\nfunction", format!("{name} {} {class:?} in {parent:?} -> {}", shape(flags), shape(returns)));
        decorators.iter().for_each(|decorator| line("  decorator", shape(decorator)));
        params.iter().for_each(|param| line("  param", shape(param)));
        function.body.iter().for_each(|step| line("  step", shape(step)));
    }
    for class in &unit.classes {
        line("\nclass", format!("{} in {:?} methods {:?}", class.name, class.parent, class.methods));
        class.bases.iter().for_each(|base| line("  base", shape(base)));
        class.base_calls.iter().for_each(|base| line("  base call", shape(base)));
        class.decorators.iter().for_each(|decorator| line("  decorator", shape(decorator)));
        class.fields.iter().for_each(|field| line("  field", shape(field)));
    }
    unit.comments.iter().for_each(|comment| line("comment", shape(comment)));
    assert_eq!(unit.gaps, []);
    insta::assert_snapshot!(text);
}

#[test]
fn imports_name_what_they_bind() {
    let unit = lower("import a.b\nimport a.b as c\ndef f():\n    from ..p.q import r as s\nfrom . import x\nfrom m import *\n");
    let found: Vec<_> = unit.imports.iter().map(|i| (i.local.as_str(), i.module.as_str(), i.member.as_deref())).collect();
    let expected = [("a", "a", None), ("c", "a.b", None), ("s", "..p.q", Some("r")), ("x", ".", Some("x")), ("*", "m", None)];
    assert_eq!(found, expected);
    let exports: Vec<_> = unit.exports.iter().map(|export| export.name.as_str()).collect();
    assert_eq!(exports, ["a", "c", "f", "x", "*"]);
}

#[test]
fn only_module_level_names_are_exported() {
    let text =
        "if X:\n    a = 1\nfor b in c: pass\nclass D:\n    e = 1\n    def f(self): g = 1\ndef h():\n    global i\n    j = 1\n";
    let exports: Vec<_> = lower(text).exports.into_iter().map(|export| export.name).collect();
    assert_eq!(exports, ["a", "b", "D", "i", "h"]);
}

#[test]
fn the_receiver_is_this_in_methods_and_functions_inside_them() {
    let text = "class A:\n    def m(me):\n        def g(): return me\n        def h(me): return me\n        return me\n";
    let unit = lower(text);
    for (name, expected) in [("m", "This"), ("g", "This"), ("h", "Name(\"me\")")] {
        let last = function(&unit, name).body.last().map(shape).unwrap_or_default();
        assert!(last.contains(&format!("kind: {expected} ")), "{name}: {last}");
    }
    assert!(function(&unit, "m").params.is_empty());
    assert_eq!(function(&unit, "h").params.len(), 1);
    assert_eq!(function(&unit, "g").class, None);
}

#[test]
fn a_class_in_a_method_has_receivers_of_its_own() {
    let text = "class A:\n    def m(self):\n        class B:\n            def n(inner): return self\n";
    assert!(shape(&function(&lower(text), "n").body[0]).contains("Name(\"self\")"));
}

#[test]
fn annotations_are_reduced_to_names() {
    let cases = [
        ("Optional[X]", "X"),
        ("X | None", "X"),
        ("None | X", "X"),
        ("typing.Union[None, a.X, Y]", "a.X"),
        ("'X'", "X"),
        ("Optional['X']", "X"),
        ("Annotated[X, Depends(f)]", "X"),
        ("Final[X]", "X"),
        ("Literal['a']", "Literal"),
    ];
    for (written, name) in cases {
        let unit = lower(&format!("def f(p: {written}): pass"));
        let ty = function(&unit, "f").params[0].ty.clone();
        assert_eq!(ty, Some(TypeRef { name: name.into(), args: Vec::new() }), "{written}");
    }
    let unit = lower("def f() -> dict[str, list['X']]: pass");
    let returns = function(&unit, "f").returns.clone().expect("a type");
    assert_eq!((returns.name.as_str(), returns.args[1].args[0].name.as_str()), ("dict", "X"));
    assert_eq!(function(&lower("def f() -> None: pass"), "f").returns, None);
}

#[test]
fn annotated_parameters_default_to_their_provider() {
    let unit = lower("def f(a: Annotated[X, 'doc', Depends(g)], b: Annotated[X, Depends(g)] = 1): pass");
    let defaults: Vec<_> = function(&unit, "f").params.iter().map(|param| shape(&param.default)).collect();
    assert!(defaults[0].contains("Depends"), "{}", defaults[0]);
    assert!(defaults[1].contains("Number(1.0)"), "{}", defaults[1]);
}

#[test]
fn membership_and_null_tests_are_normalised() {
    assert_eq!(shape(&only("a not in b")), shape(&only("not (a in b)")));
    for written in ["a == None", "None == a", "None is a"] {
        assert_eq!(shape(&only(written)), shape(&only("a is None")), "{written}");
    }
    assert_eq!(shape(&only("a != None")), shape(&only("not (a is None)")));
    let ExprKind::Call(call) = only("a in b.c").kind else { panic!("no call") };
    assert_eq!(call.form, CallForm::Operator);
    assert!(matches!(&call.callee.kind, ExprKind::Member(_, name) if name == "__contains__"));
}

#[test]
fn chained_comparisons_evaluate_each_operand_once() {
    assert_eq!(shape(&only("a < b < c")), shape(&only("a < b and b < c")));
    assert_eq!(shape(&only("a < f() < c")).matches("Name(\"f\")").count(), 1);
}

#[test]
fn equal_programs_lower_to_equal_steps() {
    assert_same("assert a, b", "if not a: raise AssertionError(b)");
    assert_same("with a as b, c: d()", "with a as b:\n    with c: d()");
    assert_same("if a: b()\nelif c: d()\nelse: e()", "if a: b()\nelse:\n    if c: d()\n    else: e()");
    assert_same("while 1: f()\nelse: g()", "while True: f()\ng()");
    assert_same("x = y = f()", "x = f()\ny = x");
    assert_same("self.x = y = f()", "y = f()\nself.x = y");
    assert_same("x = y = 1", "x = 1\ny = 1");
    assert_same("x = yield v", "yield v\nx = ...");
    assert_same("del a, (b, c[0])", "del a\ndel b\ndel c[0]");
    assert_same("'a' 'b' f'c'\nf('a' f'b')", "f('ab')");
}

#[test]
fn yields_make_generators() {
    let unit = lower("def f():\n    x = g((yield 1))\ndef h(): return lambda: (yield)\n");
    let steps = shapes(&function(&unit, "f").body);
    assert!(steps[0].contains("Yield") && steps[1].contains("Bind"), "{steps:?}");
    assert!(function(&unit, "f").flags.is_generator);
    assert!(!function(&unit, "h").flags.is_generator);
}

#[test]
fn awaited_calls_say_so() {
    let ExprKind::Call(call) = only("await f(await g)").kind else { panic!("no call") };
    assert!(call.awaited);
    assert!(matches!(call.args[0].value.kind, ExprKind::Name(_)));
}

#[test]
fn match_arms_become_branches() {
    let unit = lower("match f():\n    case 'a' | 'b': g()\n    case x if x > 1: h(x)\n    case None: pass\n");
    let steps = &unit.functions[0].body;
    assert!(shape(&steps[0]).contains("target: Name(\"$1\")"));
    let StepKind::Branch { test, otherwise, .. } = &steps[1].kind else { panic!("no branch") };
    assert!(matches!(&test.kind, ExprKind::Or(left, _) if matches!(&left.kind, ExprKind::Is(_, Shape::Text(t)) if t == "a")));
    assert!(matches!(&otherwise[0].kind, StepKind::Bind { target: Target::Name(name, _), .. } if name == "x"));
    let StepKind::Branch { test, otherwise, .. } = &otherwise[1].kind else { panic!("no branch") };
    assert!(matches!(&test.kind, ExprKind::And(left, _) if matches!(&left.kind, ExprKind::Is(_, Shape::Any))));
    assert!(matches!(&otherwise[0].kind, StepKind::Branch { test, .. } if matches!(&test.kind, ExprKind::Is(_, Shape::Null))));
}

#[test]
fn fields_say_whether_they_are_shared() {
    let unit = lower("class A:\n    a = 1\n    b: int = 2\n    c: int\n    d: ClassVar[int]\n    e, f = 3, 4\n");
    let fields: Vec<_> = unit.classes[0].fields.iter().map(|f| (f.name.as_str(), f.is_static, f.init.is_some())).collect();
    let expected =
        [("a", true, true), ("b", true, true), ("c", false, false), ("d", true, false), ("e", true, true), ("f", true, true)];
    assert_eq!(fields, expected);
}

#[test]
fn spans_are_byte_ranges_of_the_file() {
    assert_eq!(template_values("f'é{name}:{user.id!r}' rf\"\"\"{g(1)}\"\"\""), ["name", "user.id", "g(1)"]);
    assert_eq!(template_values("f'{ {1: f\"{inner}\"}[1] :>{width}}'"), ["{ {1: f\"{inner}\"}[1] :>{width}}"]);
    let text = "# é\nx = 1 # two\n";
    let comments: Vec<_> = lower(text).comments;
    assert_eq!(comments[1].text, "two");
    assert_eq!(&text[comments[1].span.start as usize..comments[1].span.end as usize], "# two");
}

#[test]
fn numbers_are_read() {
    let cases = [("600_000", 600_000.0), ("0xff", 255.0), ("1e3", 1000.0), ("99999999999999999999", 1e20)];
    for (written, value) in cases {
        let unit = lower(&format!("x = {written}"));
        assert!(shape(&unit.functions[0].body[0]).contains(&format!("Number({value:?})")), "{written}");
    }
}

#[test]
fn broken_files_keep_what_could_be_read() {
    let unit = lower("import a\ndef f(:\n    return g(\nclass C:\n    x = 1\n");
    assert_eq!(unit.imports.len(), 1);
    assert_eq!(unit.gaps[0].kind, GapKind::Syntax);
    assert_eq!(unit.gaps[0].line, Some(2));
    assert_eq!(unit.gaps[0].path, "sample.py");
}

#[test]
fn deep_nesting_is_cut_with_a_gap() {
    let many = 50_000;
    let deep = [
        format!("x{}", ".a".repeat(many)),
        format!("x = {}1", "1 + ".repeat(many)),
        format!("{}x", "not ".repeat(many)),
        format!("{}1{}", "[".repeat(3_000), "]".repeat(3_000)),
        format!("x: a{} = 1", ".a".repeat(many)),
        format!("if a: b()\n{}", "elif a: b()\n".repeat(3_000)),
        format!("match a:\n{}", "  case 1: b()\n".repeat(3_000)),
    ];
    for text in deep {
        let unit = lower(&text);
        let cut = unit.gaps.iter().any(|gap| gap.message.contains("levels deep"));
        assert!(cut || text.starts_with("x: a"), "{}", &text[..20]);
    }
    assert_eq!(lower(&format!("x = a{}", " and a".repeat(many))).gaps, []);
}
