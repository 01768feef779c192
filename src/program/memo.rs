//! [`Memo`]: answers that many threads look up, each worked out once or nearly so.

use std::hash::{BuildHasher, Hash};
use std::sync::Mutex;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::files::Atom;

/// Parts with a lock of their own, so that threads seldom wait for each other.
const SHARDS: usize = 64;

/// A table of answers. Two threads that ask at once may both work one out; the answers are the same.
pub(super) struct Memo<K, V> {
    shards: Vec<Mutex<FxHashMap<K, V>>>,
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    pub(super) fn new() -> Memo<K, V> {
        Memo { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, key: &K) -> Option<&Mutex<FxHashMap<K, V>>> {
        // The table inside takes its place from the same hash: other bits of it choose the shard.
        self.shards.get((FxBuildHasher.hash_one(key) >> 40) as usize % SHARDS)
    }

    /// The answer, if it is known.
    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.shard(key)?.lock().ok()?.get(key).cloned()
    }

    /// Forgets all answers.
    pub(super) fn clear(&self) {
        self.shards.iter().filter_map(|shard| shard.lock().ok()).for_each(|mut shard| *shard = FxHashMap::default());
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, key: K, value: V) {
        if let Some(mut shard) = self.shard(&key).and_then(|shard| shard.lock().ok()) {
            shard.insert(key, value);
        }
    }
}

/// A table of answers about names: what `K` has under a name. A look-up makes nothing.
pub(super) struct Names<K, V> {
    shards: Vec<Mutex<FxHashMap<u64, Entry<K, V>>>>,
}

/// What was asked, and the answer: two questions may have one hash, and then the later one stays.
struct Entry<K, V> {
    of: K,
    name: Atom,
    answer: V,
}

impl<K: Copy + Eq + Hash, V: Clone> Names<K, V> {
    pub(super) fn new() -> Names<K, V> {
        Names { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, hash: u64) -> Option<&Mutex<FxHashMap<u64, Entry<K, V>>>> {
        self.shards.get((hash >> 40) as usize % SHARDS)
    }

    /// The answer, if it is known.
    pub(super) fn get(&self, of: K, name: &str) -> Option<V> {
        let hash = FxBuildHasher.hash_one((of, name));
        let shard = self.shard(hash)?.lock().ok()?;
        shard.get(&hash).filter(|known| known.of == of && *known.name == *name).map(|known| known.answer.clone())
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, of: K, name: &str, answer: V) {
        let hash = FxBuildHasher.hash_one((of, name));
        if let Some(mut shard) = self.shard(hash).and_then(|shard| shard.lock().ok()) {
            shard.insert(hash, Entry { of, name: name.into(), answer });
        }
    }
}
