//! The shape of the program, held by a test: which module may use which, how large a file may be, and that the three axes
//! (language, library, fault) stay apart.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use lockcheck::rules::{RuleSet, Rulebook};
use walkdir::WalkDir;

/// The stages in the order of the data: each may use itself and those before it.
const STAGES: &[&str] = &["files", "syntax", "rules", "facts", "program", "faults", "findings", "report", "scan"];

/// What the modules beside the stages may use.
const BESIDE: &[(&str, &[&str])] = &[
    ("hammer", &["report", "rules"]),
    ("demo", &["findings", "report", "scan", "hammer"]),
    ("prove", &["findings", "hammer", "report", "rules"]),
    // The command line comes last and may use everything.
    ("cli", &["files", "rules", "faults", "findings", "report", "scan", "hammer", "prove", "demo"]),
];

/// The longest file of `src/`, in lines.
const LONGEST: usize = 500;

/// Modules of libraries that are plain words of this field too.
const PLAIN_WORDS: &[&str] = &["limits", "ratelimit", "requests"];

#[test]
fn modules_depend_in_one_direction() {
    let mut broken = String::new();
    for (path, text) in sources("src") {
        let Some(module) = module_of(&path) else { continue };
        let Some(allowed) = allowed(&module) else {
            let _ = writeln!(broken, "{}: give module `{module}` its place in tests/architecture.rs", path.display());
            continue;
        };
        for (line, used) in uses(&text) {
            if used != module && !allowed.contains(&used.as_str()) {
                let code = text.lines().nth(line - 1).unwrap_or("").trim();
                let _ = writeln!(broken, "{}:{line}: `{module}` must not use `{used}`: {code}", path.display());
            }
        }
    }
    assert!(broken.is_empty(), "\n{broken}");
}

#[test]
fn a_file_is_one_idea() {
    let mut broken = String::new();
    for (path, text) in sources("src") {
        let lines = text.lines().count();
        if lines > LONGEST {
            let _ = writeln!(broken, "{}: {lines} lines, more than {LONGEST}", path.display());
        }
        // Unit tests in a file of their own are part of the module above them.
        if !text.starts_with("//!") && !path.ends_with("tests.rs") {
            let _ = writeln!(broken, "{}:1: begin with `//!` and say what the module is for", path.display());
        }
    }
    assert!(broken.is_empty(), "\n{broken}");
}

#[test]
fn syntax_and_faults_know_no_library() {
    let libraries = libraries();
    let mut broken = String::new();
    let code = sources("src/syntax").into_iter().chain(sources("src/faults")).filter(|(path, _)| !path.ends_with("tests.rs"));
    for (path, text) in code {
        for (line, library) in mentions(&text, &libraries) {
            let code = text.lines().nth(line - 1).unwrap_or("").trim();
            let _ = writeln!(broken, "{}:{line}: names the library `{library}`: {code}", path.display());
        }
    }
    assert!(broken.is_empty(), "\n{broken}");
}

#[test]
fn faults_know_no_language() {
    let mut broken = String::new();
    for (path, text) in sources("src/faults") {
        for (line, code) in code_lines(&text).filter(|(_, code)| code.contains("Language")) {
            let _ = writeln!(broken, "{}:{line}: a fault must not ask for the language: {}", path.display(), code.trim());
        }
    }
    assert!(broken.is_empty(), "\n{broken}");
}

#[test]
fn the_architecture_is_written_down() {
    let written = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let mut missing = String::new();
    let mut must_name = |what: &str, name: &str| {
        if !written.contains(&format!("`{name}`")) {
            let _ = writeln!(missing, "ARCHITECTURE.md: name the {what} `{name}`");
        }
    };
    for meaning in meanings() {
        must_name("meaning", &meaning);
    }
    let book = Rulebook::load(&RuleSet::builtin()).unwrap();
    for call in book.packs.values().flat_map(|packs| packs.packs()).flat_map(|pack| &pack.calls) {
        call.with.keys().for_each(|part| must_name("part", part));
    }
    let cargo: toml::Table = fs::read_to_string("Cargo.toml").unwrap().parse().unwrap();
    let linux = cargo["target"].as_table().unwrap().values().map(|target| &target["dependencies"]);
    for dependencies in [&cargo["dependencies"], &cargo["dev-dependencies"]].into_iter().chain(linux) {
        dependencies.as_table().unwrap().keys().for_each(|name| must_name("dependency", name));
    }
    assert!(missing.is_empty(), "\n{missing}");
}

#[test]
fn these_checks_can_fail() {
    let text = "//! x\nuse crate::{report, files::{Gap, Span}};\n// crate::cli is only spoken of\nlet a = crate::scan::scan();\n";
    let used = uses(text);
    assert_eq!(used, [(2, "report".to_string()), (2, "files".to_string()), (4, "scan".to_string())]);
    assert!(!allowed("files").unwrap().contains(&"report"));
    assert!(allowed("report").unwrap().contains(&"files"));
    assert!(!allowed("hammer").unwrap().contains(&"files"));
    assert!(allowed("elsewhere").is_none());

    let libraries = ["prisma".to_string()];
    let text = "// prisma is spoken of\nlet a = \"prisma\";\nlet prismatic = \"a prisma call\";\n#[cfg(test)]\nmod tests { /* prisma */ }\n";
    assert_eq!(mentions(text, &libraries), [(2, "prisma".to_string())]);
}

/// The names of meanings, as packs spell them.
fn meanings() -> Vec<String> {
    let text = fs::read_to_string("src/rules/pack.rs").unwrap();
    let (_, body) = text.split_once("pub enum Meaning {").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let lines = body.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let names: Vec<String> = lines.filter_map(|line| line.strip_suffix(',')).map(kebab).collect();
    assert!(names.contains(&"acquire".to_string()), "{names:?}");
    names
}

/// `LikeThis` as `like-this`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// The modules that a module may use; `None` for a module without a place.
fn allowed(module: &str) -> Option<Vec<&'static str>> {
    if let Some(at) = STAGES.iter().position(|stage| *stage == module) {
        return Some(STAGES[..at].to_vec());
    }
    BESIDE.iter().find(|(name, _)| *name == module).map(|(_, allowed)| allowed.to_vec())
}

/// The module of a file of `src/`: its folder there, or its own name. The crate's roots have none.
fn module_of(path: &Path) -> Option<String> {
    let below = path.strip_prefix("src").unwrap_or(path);
    let first = below.components().next()?.as_os_str().to_string_lossy();
    let module = first.strip_suffix(".rs").unwrap_or(&first);
    (!matches!(module, "main" | "lib")).then(|| module.to_string())
}

/// Line (from 1) and module of each path that begins with `crate::`, groups in braces included.
fn uses(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut used = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !is_comment(line)) {
        for (start, marker) in line.match_indices("crate::") {
            // A group may go on over the following lines.
            let rest = format!("{}\n{}", &line[start + marker.len()..], lines[at + 1..].join("\n"));
            used.extend(heads(&rest).into_iter().map(|head| (at + 1, head)));
        }
    }
    used
}

/// The first name of a path, or of each path of a group.
fn heads(rest: &str) -> Vec<String> {
    let name = |text: &str| -> String { text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let mut heads = vec![name(group)];
    let mut depth = 1;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => heads.push(name(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}

/// Line and name of each library named as a whole word in code or in text constants of one word, before the unit tests. Prose
/// in messages may use any word.
fn mentions(text: &str, libraries: &[String]) -> Vec<(usize, String)> {
    let names = |code: &str| -> Vec<String> {
        let parts = code.split('"').enumerate().filter(|(at, part)| at % 2 == 0 || !part.contains(' ')).map(|(_, part)| part);
        let words = parts.flat_map(|part| part.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '/'))));
        words.map(str::to_string).collect()
    };
    code_lines(text)
        .flat_map(|(line, code)| names(code).into_iter().map(move |word| (line, word)))
        .filter(|(_, word)| libraries.contains(word))
        .collect()
}

/// The lines of code (from 1) before the unit tests, without comments.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    lines.enumerate().map(|(at, line)| (at + 1, line)).filter(|(_, line)| !is_comment(line))
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The modules by which packs are found in files.
fn libraries() -> Vec<String> {
    let book = Rulebook::load(&RuleSet::builtin()).unwrap();
    let packs = book.packs.values().flat_map(|packs| packs.packs());
    let modules = packs.flat_map(|pack| pack.library.mentions.iter().cloned());
    modules.filter(|module| !PLAIN_WORDS.contains(&module.as_str())).collect()
}

/// Path and text of each Rust file under a folder, in order.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let files = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    let sources: Vec<_> = files
        .map(|entry| entry.path().to_path_buf())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| (path.clone(), fs::read_to_string(&path).unwrap()))
        .collect();
    assert!(!sources.is_empty(), "no sources under {folder}");
    sources
}
