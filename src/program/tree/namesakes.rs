//! What a name is taken for of which nothing is known: what the one thing of the tree is that goes by it at module level.

use std::collections::HashMap;

use rayon::prelude::*;

use super::Tree;
use crate::facts::Value;
use crate::files::{Atom, Language};
use crate::program::Ty;

/// The one type that all module-level variables of a name have, by language.
pub(super) type Namesakes = HashMap<(Language, Atom), Option<Atom>>;

impl Tree {
    /// Module-level variables of types that packs know, which a call makes.
    pub(super) fn find_namesakes(&self) -> Namesakes {
        let of_file = |file: usize| {
            let facts = &self.files[file];
            let made = facts.names.iter().filter(|(_, known)| matches!(known.value, Value::Result(..)));
            let typed = made.filter_map(|(name, _)| match self.ty(&Value::Module(facts.file, name.clone()), facts.file) {
                Ty::Lib { path, sure: true, .. } if path.contains(':') => Some((name.clone(), path)),
                _ => None,
            });
            typed.map(|(name, path)| ((facts.unit.language, name), path)).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..self.files.len()).into_par_iter().map(of_file).collect();
        let mut namesakes = Namesakes::new();
        for (key, path) in all.into_iter().flatten() {
            let known = namesakes.entry(key).or_insert_with(|| Some(path.clone()));
            if known.as_ref() != Some(&path) {
                *known = None;
            }
        }
        namesakes
    }

    /// What a name is taken for.
    pub(super) fn namesake(&self, name: &str, file: u32) -> Option<Atom> {
        let language = self.files.get(file as usize)?.unit.language;
        self.namesakes.get(&(language, Atom::from(name)))?.clone()
    }
}
