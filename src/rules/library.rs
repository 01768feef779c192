//! All packs of one language, compiled for look-up: paths to types, paths to rows.
//! It must not know control flow.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{CallRow, Pack, TypeKind, TypeRow};
use crate::files::Atom;

/// The packs of one language, ready for look-ups.
#[derive(Debug, Default)]
pub struct Library {
    packs: Vec<Pack>,
    types: FxHashMap<Atom, (usize, usize)>,
    type_of_path: FxHashMap<String, Atom>,
    type_of_member: FxHashMap<String, Atom>,
    type_of_base: FxHashMap<String, Atom>,
    type_of_name: FxHashMap<String, Vec<Atom>>,
    /// The same in files that import something of the library, with the pack's place.
    type_of_name_here: FxHashMap<String, Vec<(usize, Atom)>>,
    rows: FxHashMap<String, Vec<(usize, usize)>>,
    rows_of_method: FxHashMap<String, Vec<(usize, usize)>>,
    heads: FxHashSet<String>,
    /// Every path that a row or type speaks of, and what such a path begins with.
    spoken: FxHashSet<String>,
}

/// A row with the pack it stands in.
#[derive(Debug, Clone, Copy)]
pub struct Row<'l> {
    /// The row.
    pub call: &'l CallRow,
    /// Its pack.
    pub pack: &'l Pack,
    /// Its place among the pack's calls.
    pub number: usize,
}

impl Library {
    /// Compiles packs. A type `T` of pack `p` has the id `p:T`; rows on `T.m` are found under `p:T.m`.
    pub fn new(packs: Vec<Pack>) -> Library {
        let mut library = Library { packs, ..Library::default() };
        for index in 0..library.packs.len() {
            library.add(index);
        }
        library
    }

    fn add(&mut self, index: usize) {
        let pack = self.packs[index].clone();
        let name = pack.library.name.as_str();
        // `Type.method` is of this pack's type; `Type()` alone is a path of the library or language.
        let named = |first: &str| pack.types.iter().any(|row| row.name == first);
        let expand = |path: &str| -> String {
            let of_type = path.split_once('.').is_some_and(|(first, _)| named(first));
            match path.strip_suffix("()") {
                // What a value of a type gives when it is called.
                Some(called) if called.strip_suffix("()").is_some_and(named) => format!("{name}:{called}"),
                _ if of_type => format!("{name}:{path}"),
                _ => path.to_owned(),
            }
        };
        for (number, row) in pack.types.iter().enumerate() {
            let id: Atom = format!("{name}:{}", row.name).into();
            self.types.insert(id.clone(), (index, number));
            for path in &row.from {
                match path.strip_prefix("*.") {
                    Some(member) => self.type_of_member.insert(member.to_owned(), id.clone()),
                    None => {
                        self.speak(path);
                        self.type_of_path.insert(expand(path), id.clone())
                    }
                };
            }
            for base in &row.bases {
                self.spoken.extend(beginnings(base).map(str::to_owned));
                self.type_of_base.insert(expand(base), id.clone());
            }
            for like in &row.like {
                self.type_of_name.entry(like.clone()).or_default().push(id.clone());
            }
            for like in &row.like_here {
                self.type_of_name_here.entry(like.clone()).or_default().push((index, id.clone()));
            }
        }
        for (number, row) in pack.calls.iter().enumerate() {
            for path in &row.on {
                self.speak(path);
                // A row may be on a value of a type called as a function: `Type()`.
                let called = path.strip_suffix("()").is_some_and(named);
                let full = if called { format!("{name}:{path}") } else { expand(path) };
                self.rows.entry(full).or_default().push((index, number));
                if row.any_receiver
                    && let Some(method) = path.rsplit('.').next()
                {
                    let known = self.rows_of_method.entry(method.to_owned()).or_default();
                    if !known.contains(&(index, number)) {
                        known.push((index, number));
                    }
                }
            }
        }
    }

    fn speak(&mut self, path: &str) {
        self.heads.insert(head(path).to_owned());
        self.spoken.extend(beginnings(path).map(str::to_owned));
    }

    fn row(&self, (pack, call): (usize, usize)) -> Option<Row<'_>> {
        let pack = self.packs.get(pack)?;
        Some(Row { call: pack.calls.get(call)?, pack, number: call })
    }

    /// The type a path gives, by its id.
    pub fn type_at(&self, path: &str) -> Option<&Atom> {
        self.type_of_path.get(path)
    }

    /// The type any value's member of this name is taken for.
    pub fn type_of_member(&self, member: &str) -> Option<&Atom> {
        self.type_of_member.get(member)
    }

    /// The type that classes deriving from this path are.
    pub fn type_of_base(&self, base: &str) -> Option<&Atom> {
        self.type_of_base.get(base)
    }

    /// Types that go by a name in files that import something of their library, with the places of their packs.
    pub fn types_like_here(&self, name: &str) -> &[(usize, Atom)] {
        self.type_of_name_here.get(name).map_or(&[], Vec::as_slice)
    }

    /// Types an unresolved receiver of this name may be.
    pub fn types_like(&self, name: &str) -> &[Atom] {
        self.type_of_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// A type's row.
    pub fn type_row(&self, id: &str) -> Option<&TypeRow> {
        let (pack, row) = *self.types.get(id)?;
        self.packs.get(pack)?.types.get(row)
    }

    /// What a type is; plain when it is not one of ours.
    pub fn kind(&self, id: &str) -> TypeKind {
        self.type_row(id).map_or(TypeKind::Plain, |row| row.is)
    }

    /// Whether any row or type speaks of this path's first name.
    pub fn knows(&self, path: &str) -> bool {
        path.contains(':') || self.heads.contains(head(path))
    }

    /// Whether any row or type speaks of exactly this path, or of what is reached through it.
    pub fn speaks_of(&self, path: &str) -> bool {
        self.spoken.contains(path)
    }

    /// Rows on a path, in order.
    pub fn rows(&self, path: &str) -> impl Iterator<Item = Row<'_>> {
        self.rows.get(path).into_iter().flatten().filter_map(|at| self.row(*at))
    }

    /// Rows that need no known receiver, by the method's name.
    pub fn rows_of_method(&self, method: &str) -> impl Iterator<Item = Row<'_>> {
        self.rows_of_method.get(method).into_iter().flatten().filter_map(|at| self.row(*at))
    }

    /// All packs.
    pub fn packs(&self) -> &[Pack] {
        &self.packs
    }

    /// The cure this language's packs give for a rule, the pack named `library` first.
    pub fn fix(&self, library: &str, rule: &str) -> Option<&str> {
        let first = self.packs.iter().filter(|pack| pack.library.name == library);
        first.filter_map(|pack| pack.library.fix.get(rule)).map(String::as_str).next()
    }
}

/// What a path begins with at each of its names, itself last.
fn beginnings(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices(['.', '(']).map(|(at, _)| &path[..at]).chain([path])
}

/// The first name of a path.
fn head(path: &str) -> &str {
    path.split(['.', '(']).next().unwrap_or(path)
}
