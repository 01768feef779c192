//! [`Memo`]: answers that many threads look up, each worked out once or nearly so.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Mutex;

/// Parts with a lock of their own, so that threads seldom wait for each other.
const SHARDS: usize = 64;

/// A table of answers. Two threads that ask at once may both work one out; the answers are the same.
pub(super) struct Memo<K, V> {
    shards: Vec<Mutex<HashMap<K, V>>>,
    hasher: RandomState,
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    pub(super) fn new() -> Memo<K, V> {
        Memo { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }

    fn shard(&self, key: &K) -> Option<&Mutex<HashMap<K, V>>> {
        self.shards.get(self.hasher.hash_one(key) as usize % SHARDS)
    }

    /// The answer, if it is known.
    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.shard(key)?.lock().ok()?.get(key).cloned()
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, key: K, value: V) {
        if let Some(mut shard) = self.shard(&key).and_then(|shard| shard.lock().ok()) {
            shard.insert(key, value);
        }
    }
}
