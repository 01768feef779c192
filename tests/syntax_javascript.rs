//! What the constructs of JavaScript and TypeScript become.

use lockcheck::files::{Language, Source};
use lockcheck::syntax::{parse, print};

fn lowered(name: &str) -> String {
    let path = format!("{}/fixtures/syntax/javascript/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the fixture is there");
    print(&parse(&Source::new(name, Language::JavaScript, text)).expect("the language is known"))
}

#[test]
fn constructs() {
    insta::assert_snapshot!(lowered("constructs.ts"));
}

#[test]
fn commonjs() {
    insta::assert_snapshot!(lowered("commonjs.js"));
}
