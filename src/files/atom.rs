//! [`Atom`]: a text of the tree that is kept once for the whole program, so that handing it on costs as much as handing on a
//! number. It must not know what a text means.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::{FxBuildHasher, FxHashSet};

/// Parts with a lock of their own, so that threads seldom wait for each other.
const SHARDS: usize = 64;

/// All atoms there are.
static ATOMS: LazyLock<Vec<Mutex<FxHashSet<Atom>>>> = LazyLock::new(|| (0..SHARDS).map(|_| Mutex::default()).collect());

/// A name or another text, equal ones being one. What was made an atom is kept until the program ends.
#[derive(Clone)]
pub struct Atom(&'static Kept);

/// The text behind an atom.
struct Kept(Box<str>);

impl Atom {
    /// The atom that a text is.
    pub fn new(text: &str) -> Atom {
        // The table inside takes its place from the same hash: other bits of it choose the shard.
        let shard = (FxBuildHasher.hash_one(text) >> 40) as usize % SHARDS;
        let mut atoms = ATOMS[shard].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = atoms.get(text) {
            return known.clone();
        }
        let atom = Atom(Box::leak(Box::new(Kept(text.into()))));
        atoms.insert(atom.clone());
        atom
    }

    /// Its text.
    pub fn as_str(&self) -> &'static str {
        &self.0.0
    }
}

impl Deref for Atom {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.0
    }
}

impl AsRef<str> for Atom {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Atom {
    fn borrow(&self) -> &str {
        self
    }
}

impl Default for Atom {
    fn default() -> Atom {
        Atom::new("")
    }
}

impl From<&str> for Atom {
    fn from(text: &str) -> Atom {
        Atom::new(text)
    }
}

impl From<&String> for Atom {
    fn from(text: &String) -> Atom {
        Atom::new(text)
    }
}

impl From<String> for Atom {
    fn from(text: String) -> Atom {
        Atom::new(&text)
    }
}

impl PartialEq for Atom {
    fn eq(&self, other: &Atom) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl PartialEq<str> for Atom {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Atom {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for Atom {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl Eq for Atom {}

/// As its text, wherever it is kept: what is made of atoms is the same in each run.
impl Hash for Atom {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Atom) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Atom {
    fn cmp(&self, other: &Atom) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_atom() {
        let (one, same, other) = (Atom::new("lock"), Atom::from("lock".to_owned()), Atom::new("look"));
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!((&*one, one < other, size_of::<Option<Atom>>()), ("lock", true, 8));
    }
}
