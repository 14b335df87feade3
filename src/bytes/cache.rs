//! A small cache that is bounded by bytes: decoded blocks of tables that a second look finds again.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;

/// Values by key, at most so many bytes of them; the ones that were used longest ago go first.
pub struct Cache<K, V> {
    limit: usize,
    inner: Mutex<Inner<K, V>>,
}

struct Inner<K, V> {
    entries: HashMap<K, Entry<V>>,
    bytes: usize,
    clock: u64,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    used: u64,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    /// A cache of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Cache { limit, inner: Mutex::new(Inner { entries: HashMap::new(), bytes: 0, clock: 0 }) }
    }

    /// The value of a key, if it is still there.
    pub fn get(&self, key: &K) -> Option<V> {
        let mut inner = self.inner.lock();
        inner.clock += 1;
        let now = inner.clock;
        let entry = inner.entries.get_mut(key)?;
        entry.used = now;
        Some(entry.value.clone())
    }

    /// Keeps a value of `bytes` bytes; one that is larger than half of the cache is not kept.
    pub fn put(&self, key: K, value: V, bytes: usize) {
        if bytes > self.limit / 2 {
            return;
        }
        let mut inner = self.inner.lock();
        inner.clock += 1;
        let used = inner.clock;
        if let Some(old) = inner.entries.insert(key, Entry { value, bytes, used }) {
            inner.bytes -= old.bytes;
        }
        inner.bytes += bytes;
        if inner.bytes > self.limit {
            inner.shrink(self.limit / 2);
        }
    }

    /// How many bytes are kept now.
    pub fn bytes(&self) -> usize {
        self.inner.lock().bytes
    }
}

impl<K: Eq + Hash + Clone, V> Inner<K, V> {
    /// Drops the oldest entries down to `target` bytes. Half at once, so that the sort is rare.
    fn shrink(&mut self, target: usize) {
        let mut ages: Vec<(u64, K)> = self.entries.iter().map(|(k, e)| (e.used, k.clone())).collect();
        ages.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in ages {
            if self.bytes <= target {
                break;
            }
            if let Some(entry) = self.entries.remove(&key) {
                self.bytes -= entry.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_go_and_the_bound_holds() {
        let cache = Cache::new(100);
        for key in 0..10 {
            cache.put(key, key * 2, 10);
        }
        assert_eq!(cache.get(&0), Some(0));
        cache.put(10, 20, 10);
        assert!(cache.bytes() <= 50);
        assert_eq!(cache.get(&0), Some(0), "it was used last");
        assert_eq!(cache.get(&1), None);
        cache.put(11, 0, 60);
        assert_eq!(cache.get(&11), None, "too large to keep");
    }
}
