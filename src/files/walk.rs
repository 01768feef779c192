//! [`read_tree`]: every file under a root that a later stage can use, read in parallel and handed on in the order of its path.
//! It must not know what a file means beyond its name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::text::read_text;
use super::{Document, Gap, GapKind, Language, Source, name_fits};

/// Directories of other people's or generated code.
const SKIPPED_DIRECTORIES: &[&str] =
    &["node_modules", "bower_components", "target", "vendor", "dist", "build", "venv", "__pycache__", "site-packages"];

/// Endings of generated files.
const SKIPPED_ENDINGS: &[&str] = &[".min.js", ".min.mjs", ".min.cjs", ".bundle.js"];

/// What is read beside the defaults.
#[derive(Debug, Clone, Default)]
pub struct WalkOptions {
    /// Follow symbolic links; one that leads back to a directory above it becomes a gap.
    pub follow_links: bool,
    /// Patterns of more files to read as documents (see [`name_fits`]).
    pub documents: Vec<String>,
}

/// The readable files of a tree, each list in the order of its paths.
#[derive(Debug, Default)]
pub struct Tree {
    /// Files in a known language, schema files included.
    pub sources: Vec<Source>,
    /// Deployment, settings and schema files that are not in a known language.
    pub documents: Vec<Document>,
    /// What could not be read.
    pub gaps: Vec<Gap>,
}

impl Tree {
    /// The text of a line (from 1) of a file that was read.
    pub fn line_text(&self, path: &str, line: u32) -> Option<&str> {
        if let Ok(at) = self.sources.binary_search_by(|source| source.path.as_str().cmp(path)) {
            return Some(self.sources[at].line_text(line));
        }
        let at = self.documents.binary_search_by(|document| document.path.as_str().cmp(path)).ok()?;
        Some(self.documents[at].line_text(line))
    }

    /// Lets go of the texts of sources, but for those that are to be kept. Where their lines begin stays known.
    pub fn forget(&mut self, kept: impl Fn(&Source) -> bool) {
        self.sources.iter_mut().filter(|source| !kept(source)).for_each(|source| source.text = String::new());
    }

    /// Reads texts that were let go of again, from the root they were read from; what is gone by now stays empty.
    pub fn recall<'p>(&mut self, root: &Path, paths: impl IntoIterator<Item = &'p str>) {
        for path in paths {
            let Ok(at) = self.sources.binary_search_by(|source| source.path.as_str().cmp(path)) else { continue };
            let source = &mut self.sources[at];
            if source.text.is_empty() {
                let file = if root.is_file() { root.to_path_buf() } else { root.join(path) };
                source.text = read_text(&file).unwrap_or_default();
            }
        }
    }
}

/// Why a tree could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// There is nothing at the root.
    #[error("{} does not exist; give the path of a directory or a file to scan", .0.display())]
    Missing(PathBuf),
    /// The root is there but cannot be read.
    #[error("cannot read {}: {source}; check its permissions or scan another path", .path.display())]
    Unreadable {
        /// The root.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Reads all files under `root`, a directory or a single file. `.gitignore` is respected, hidden files and directories of
/// dependencies or build output are passed over. What cannot be read is a gap; only an unreadable root is an error.
pub fn read_tree(root: &Path, options: WalkOptions) -> Result<Tree, TreeError> {
    check_root(root)?;
    let (sender, receiver) = channel();
    let options = &options;
    walker(root, options).build_parallel().run(|| {
        let sender = sender.clone();
        Box::new(move |entry| {
            visit(root, entry, options, &sender);
            WalkState::Continue
        })
    });
    drop(sender);

    let mut tree = Tree::default();
    for read in receiver {
        match read {
            Read::Source(source) => tree.sources.push(source),
            Read::Document(document) => tree.documents.push(document),
            Read::Gap(gap) => tree.gaps.push(gap),
        }
    }
    tree.sources.sort_by(|a, b| a.path.cmp(&b.path));
    tree.documents.sort_by(|a, b| a.path.cmp(&b.path));
    tree.gaps.sort();
    Ok(tree)
}

enum Read {
    Source(Source),
    Document(Document),
    Gap(Gap),
}

fn check_root(root: &Path) -> Result<(), TreeError> {
    let unreadable = |source| TreeError::Unreadable { path: root.to_path_buf(), source };
    let metadata = match fs::metadata(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(TreeError::Missing(root.to_path_buf())),
        answer => answer.map_err(unreadable)?,
    };
    if metadata.is_dir() {
        fs::read_dir(root).map(drop).map_err(unreadable)
    } else {
        fs::File::open(root).map(drop).map_err(unreadable)
    }
}

/// The same files on every machine: a user's own global ignore file has no say, and a tree without `.git` obeys its `.gitignore`.
fn walker(root: &Path, options: &WalkOptions) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .follow_links(options.follow_links)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .threads(std::thread::available_parallelism().map_or(1, usize::from))
        .filter_entry(|entry| entry.depth() == 0 || !is_skipped(entry));
    builder
}

fn is_skipped(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    // What is hidden is passed over, but for files of variables.
    if name.starts_with('.') && !name.starts_with(".env") {
        return true;
    }
    match entry.file_type() {
        Some(kind) if kind.is_dir() => SKIPPED_DIRECTORIES.contains(&name.as_ref()),
        _ => SKIPPED_ENDINGS.iter().any(|ending| name.ends_with(ending)),
    }
}

fn visit(root: &Path, entry: Result<DirEntry, ignore::Error>, options: &WalkOptions, sender: &Sender<Read>) {
    let read = match entry {
        Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => read_file(root, entry.path(), options),
        Ok(_) => None,
        Err(error) => Some(Read::Gap(gap_of(root, &error))),
    };
    if let Some(read) = read {
        // The receiver outlives the walk.
        let _ = sender.send(read);
    }
}

fn read_file(root: &Path, path: &Path, options: &WalkOptions) -> Option<Read> {
    let language = path.extension().and_then(|extension| extension.to_str()).and_then(Language::of_extension);
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let relative = relative(root, path);
    let named = || options.documents.iter().any(|pattern| name_fits(&relative, pattern));
    if language.is_none() && !Document::is_one(&name) && !named() {
        return None;
    }
    Some(match read_text(path) {
        Err((kind, message)) => Read::Gap(Gap { path: relative, line: None, kind, message }),
        Ok(text) => match language {
            Some(language) => Read::Source(Source::new(relative, language, text)),
            None => Read::Document(Document::new(relative, text)),
        },
    })
}

/// The path below the root with `/` between its parts; the file's own name where the root is the file.
fn relative(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
    let below = below.or_else(|| path.file_name().map(Path::new)).unwrap_or(path);
    let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

fn gap_of(root: &Path, error: &ignore::Error) -> Gap {
    let (path, kind, message) = match innermost(error, None) {
        (_, ignore::Error::Loop { ancestor, child }) => {
            let target = match relative(root, ancestor) {
                above if ancestor.as_path() == root => format!("the scanned root ({above})"),
                above => above,
            };
            (Some(child.as_path()), GapKind::LinkLoop, format!("leads back to {target}; it was not followed"))
        }
        (path, other) => (path, GapKind::Unreadable, format!("cannot be read: {other}; what is in it was not scanned")),
    };
    Gap { path: path.map(|path| relative(root, path)).unwrap_or_default(), line: None, kind, message }
}

/// The error under its wrappers of path and depth, and the path they name.
fn innermost<'e>(error: &'e ignore::Error, path: Option<&'e Path>) -> (Option<&'e Path>, &'e ignore::Error) {
    match error {
        ignore::Error::WithPath { path, err } => innermost(err, Some(path)),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => innermost(err, path),
        ignore::Error::Partial(errors) if errors.len() == 1 => innermost(&errors[0], path),
        other => (path, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_of(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Tree) {
        let directory = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let tree = read_tree(directory.path(), WalkOptions::default()).unwrap();
        (directory, tree)
    }

    fn paths(tree: &Tree) -> Vec<&str> {
        tree.sources.iter().map(|source| source.path.as_str()).collect()
    }

    #[test]
    fn sources_come_in_the_order_of_their_paths_without_dependencies() {
        let (_directory, tree) = tree_of(&[
            ("z.py", b"x = 1\n"),
            ("a/b.ts", b"let x\n"),
            ("a/c.sql", b"select 1\n"),
            ("node_modules/m/i.js", b"1\n"),
            ("a/x.min.js", b"1\n"),
            (".hidden/h.py", b"1\n"),
            ("notes.txt", b"1\n"),
        ]);
        assert_eq!(paths(&tree), ["a/b.ts", "a/c.sql", "z.py"]);
        assert_eq!(tree.gaps, []);
    }

    #[test]
    fn a_text_that_was_let_go_of_is_read_again() {
        let (directory, mut tree) = tree_of(&[("a.py", b"x = 1\n"), ("b.py", b"y = 1\n"), ("c.py", b"z = 1\n")]);
        tree.forget(|source| source.path == "c.py");
        tree.recall(directory.path(), ["b.py", "no.py"]);
        assert_eq!(["a.py", "b.py", "c.py"].map(|path| tree.line_text(path, 1)), [Some(""), Some("y = 1"), Some("z = 1")]);
    }

    #[test]
    fn a_gitignore_counts_without_a_repository() {
        let (_directory, tree) = tree_of(&[(".gitignore", b"gen/\n"), ("gen/a.py", b"1\n"), ("b.py", b"1\n")]);
        assert_eq!(paths(&tree), ["b.py"]);
    }

    #[test]
    fn documents_are_kept_apart_and_lines_are_found_in_both() {
        let (_directory, tree) = tree_of(&[("deploy/api.yaml", b"spec:\n  replicas: 3\n"), ("a.py", b"x = 1\n")]);
        assert_eq!(tree.documents[0].path, "deploy/api.yaml");
        assert_eq!(tree.line_text("deploy/api.yaml", 2), Some("  replicas: 3"));
        assert_eq!(tree.line_text("a.py", 1), Some("x = 1"));
        assert_eq!(tree.line_text("b.py", 1), None);
    }

    #[test]
    fn unusable_files_are_gaps() {
        let long_line = format!("x = '{}'\n", "a".repeat(60 * 1024)).into_bytes();
        let large = b"x = 1\n".repeat(500_000);
        let (_directory, tree) = tree_of(&[("a.py", b"x = '\xff'\n"), ("b.js", &long_line), ("c.js", &large)]);
        let kinds: Vec<_> = tree.gaps.iter().map(|gap| (gap.path.as_str(), gap.kind)).collect();
        assert_eq!(kinds, [("a.py", GapKind::NotUtf8), ("b.js", GapKind::TooLarge), ("c.js", GapKind::TooLarge)]);
        assert_eq!(paths(&tree), [""; 0]);
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        let (_directory, tree) = tree_of(&[("a.py", b"\xef\xbb\xbfx = 1\n")]);
        assert_eq!(tree.sources[0].text, "x = 1\n");
    }

    #[test]
    fn a_single_file_is_a_tree() {
        let (directory, _) = tree_of(&[("a.py", b"x = 1\n")]);
        let tree = read_tree(&directory.path().join("a.py"), WalkOptions::default()).unwrap();
        assert_eq!(paths(&tree), ["a.py"]);
    }

    #[test]
    fn a_missing_root_is_an_error() {
        let error = read_tree(Path::new("/no/such/tree"), WalkOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/tree does not exist"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_loop_of_links_is_a_gap_only_when_links_are_followed() {
        let (directory, tree) = tree_of(&[("a/b.py", b"x = 1\n")]);
        assert_eq!(tree.gaps, []);
        std::os::unix::fs::symlink(directory.path(), directory.path().join("a/up")).unwrap();
        assert_eq!(read_tree(directory.path(), WalkOptions::default()).unwrap().gaps, []);
        let followed = read_tree(directory.path(), WalkOptions { follow_links: true, ..WalkOptions::default() }).unwrap();
        assert_eq!(followed.gaps.len(), 1);
        assert_eq!((followed.gaps[0].path.as_str(), followed.gaps[0].kind), ("a/up", GapKind::LinkLoop));
    }
}
