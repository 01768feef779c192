//! Prints what the engine makes of a tree: every function written out, with the meaning of each event.
//!
//! `cargo run --example facts -- PATH [FUNCTION]`

use std::path::Path;

use lockcheck::facts::{Act, facts};
use lockcheck::files::{WalkOptions, read_tree};
use lockcheck::program::{Aliases, Flattener, Modules, Schema, Tree, What};
use lockcheck::rules::{RuleSet, Rulebook};
use lockcheck::syntax;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let root = args.next().unwrap_or_else(|| ".".to_owned());
    let wanted = args.next();
    let found = read_tree(Path::new(&root), WalkOptions::default())?;
    let mut files = vec![];
    let mut sources = vec![];
    for source in &found.sources {
        if let Some(unit) = syntax::parse(source) {
            files.push(facts(files.len() as u32, unit));
            sources.push(source);
        }
    }
    let listed: Vec<_> = sources.iter().map(|source| (source.path.clone(), source.language)).collect();
    let modules = Modules::new(&listed).with_aliases(Aliases::read(&found.documents));
    let paths = listed.into_iter().map(|(path, _)| path).collect();
    let tree = Tree::linked(files, paths, Rulebook::load(&RuleSet::builtin())?, modules);
    let flattener = Flattener::new(&tree);
    let mut out = String::new();
    if wanted.is_none() {
        out.push_str(&Schema::read(found.sources.iter(), &found.documents, &tree).to_string());
    }
    for function in tree.all_functions() {
        let name = tree.function(function).map(|function| function.name.clone()).unwrap_or_default();
        if wanted.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        let flat = flattener.flat(function);
        out.push_str(&format!("== {}:{} {name}\n", tree.paths[function.file as usize], function.func));
        for (index, event) in flat.events.iter().enumerate() {
            let (line, _) = sources[event.at.file as usize].lines.position(event.at.span.start);
            let act = match &event.act {
                Act::Call { callee, args, .. } => format!("call {callee:?} {args:?}"),
                other => format!("{other:?}"),
            };
            let what = match &event.what {
                What::Nothing => String::new(),
                What::Meant(meant) => format!("{:?} {} {:?} sure={}", meant.is, meant.path, meant.parts, meant.sure),
                other => format!("{other:?}"),
            };
            let guards: Vec<String> =
                event.guards.iter().map(|guard| format!("{}{}", if guard.holds { "" } else { "!" }, guard.cond)).collect();
            out.push_str(&format!(
                "  {index} L{line}{} [{}] within {:?} {}\n      {act}\n",
                ">".repeat(event.hops.len()),
                guards.join(" "),
                event.within,
                if what.is_empty() { "-".to_owned() } else { what }
            ));
        }
        for (index, cond) in flat.conds.iter().enumerate() {
            out.push_str(&format!("  cond {index}: {:?}\n", cond.value));
        }
        for (value, guards) in &flat.returns {
            out.push_str(&format!("  returns {value:?} when {guards:?}\n"));
        }
    }
    use std::io::Write;
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}
