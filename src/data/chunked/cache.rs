//! Decoded chunks of all arrays of the process, bounded by bytes.
//!
//! A chunk enters as *new*; a second use makes it *proven*. New ones go first, so that a pass over a large
//! array, which uses each chunk once, pushes out other passes' chunks and not those that a view uses. All new
//! ones together have a third of the budget, so that such a pass does not fill the memory for nothing.

use arrow::array::{Array, ArrayRef};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// The most bytes that decoded chunks may take, all arrays together.
pub const BUDGET: usize = 384 << 20;
/// The part of it that proven chunks may have.
const PROVEN: usize = BUDGET / 4 * 3;
/// What an entry costs beyond its bytes.
const OVERHEAD: usize = 160;

/// A chunk of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) array: u64,
    pub(super) chunk: u64,
}

/// A decoded chunk. `cut` tells whether its edge is cut to the array.
#[derive(Clone)]
pub(super) enum Kept {
    Missing,
    Bytes { bytes: Bytes, cut: bool },
    Column { column: ArrayRef, cut: bool },
}

impl Kept {
    fn size(&self) -> usize {
        OVERHEAD
            + match self {
                Kept::Missing => 0,
                Kept::Bytes { bytes, .. } => bytes.len(),
                Kept::Column { column, .. } => column.get_array_memory_size(),
            }
    }
}

struct Entry {
    kept: Kept,
    size: usize,
    /// When it was used last: its key in `fresh` or `proven`.
    used: u64,
    proven: bool,
}

/// See the module's head.
struct Shelf {
    budget: usize,
    entries: HashMap<Key, Entry>,
    fresh: BTreeMap<u64, Key>,
    proven: BTreeMap<u64, Key>,
    bytes: usize,
    proven_bytes: usize,
    clock: u64,
}

static SHELF: LazyLock<Mutex<Shelf>> = LazyLock::new(|| Mutex::new(Shelf::new(BUDGET)));

/// The chunk, if it is still there.
pub(super) fn get(key: Key) -> Option<Kept> {
    SHELF.lock().get(key)
}

/// Keeps a chunk, unless it is larger than a quarter of the budget.
pub(super) fn put(key: Key, kept: Kept) {
    SHELF.lock().put(key, kept);
}

/// Drops what is kept of an array that is gone.
pub(super) fn forget(array: u64) {
    SHELF.lock().forget(array);
}

impl Shelf {
    fn new(budget: usize) -> Self {
        Shelf {
            budget,
            entries: HashMap::new(),
            fresh: BTreeMap::new(),
            proven: BTreeMap::new(),
            bytes: 0,
            proven_bytes: 0,
            clock: 0,
        }
    }

    fn get(&mut self, key: Key) -> Option<Kept> {
        self.clock += 1;
        let entry = self.entries.get_mut(&key)?;
        if entry.proven {
            self.proven.remove(&entry.used);
        } else {
            self.fresh.remove(&entry.used);
            self.proven_bytes += entry.size;
        }
        (entry.used, entry.proven) = (self.clock, true);
        self.proven.insert(self.clock, key);
        let kept = entry.kept.clone();
        self.demote();
        Some(kept)
    }

    /// Makes proven chunks new again, those first that were used longest ago, while they are too many.
    fn demote(&mut self) {
        let most = self.budget.min(PROVEN).min(self.budget / 4 * 3);
        while self.proven_bytes > most {
            let Some((_, key)) = self.proven.pop_first() else { break };
            self.clock += 1;
            if let Some(entry) = self.entries.get_mut(&key) {
                self.proven_bytes -= entry.size;
                (entry.used, entry.proven) = (self.clock, false);
                self.fresh.insert(self.clock, key);
            }
        }
    }

    fn put(&mut self, key: Key, kept: Kept) {
        let size = kept.size();
        if size > self.budget / 4 || self.entries.contains_key(&key) {
            return;
        }
        self.clock += 1;
        self.entries.insert(key, Entry { kept, size, used: self.clock, proven: false });
        self.fresh.insert(self.clock, key);
        self.bytes += size;
        while self.bytes > self.budget || self.bytes - self.proven_bytes > self.budget / 3 {
            let oldest = self.fresh.first_key_value().or_else(|| self.proven.first_key_value());
            let Some(key) = oldest.map(|(_, key)| *key) else { break };
            self.remove(key);
        }
    }

    fn remove(&mut self, key: Key) {
        let Some(entry) = self.entries.remove(&key) else { return };
        self.bytes -= entry.size;
        if entry.proven {
            self.proven_bytes -= entry.size;
            self.proven.remove(&entry.used);
        } else {
            self.fresh.remove(&entry.used);
        }
    }

    fn forget(&mut self, array: u64) {
        let gone: Vec<Key> = self.entries.keys().filter(|key| key.array == array).copied().collect();
        gone.into_iter().for_each(|key| self.remove(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize) -> Kept {
        Kept::Bytes { bytes: vec![0; len].into(), cut: false }
    }

    fn key(array: u64, chunk: u64) -> Key {
        Key { array, chunk }
    }

    #[test]
    fn a_pass_does_not_push_out_what_is_used() {
        let mut shelf = Shelf::new(100_000);
        for chunk in 0..10 {
            shelf.put(key(1, chunk), bytes(1000));
            assert!(shelf.get(key(1, chunk)).is_some());
        }
        for chunk in 0..1000 {
            shelf.put(key(2, chunk), bytes(5000));
            assert!(shelf.bytes <= 100_000);
        }
        assert!((0..10).all(|chunk| shelf.entries.contains_key(&key(1, chunk))));
        assert!(shelf.get(key(2, 0)).is_none() && shelf.get(key(2, 999)).is_some());
    }

    #[test]
    fn proven_chunks_leave_room_for_new_ones() {
        let mut shelf = Shelf::new(100_000);
        for chunk in 0..90 {
            shelf.put(key(1, chunk), bytes(1000));
            shelf.get(key(1, chunk));
        }
        assert!(shelf.proven_bytes <= 75_000);
        shelf.put(key(2, 0), bytes(20_000));
        assert!(shelf.get(key(2, 0)).is_some());
        shelf.put(key(2, 1), bytes(30_000));
        assert!(shelf.get(key(2, 1)).is_none(), "too large to keep");
        shelf.forget(1);
        assert_eq!(shelf.entries.len(), 1);
        let left: usize = shelf.entries.values().map(|entry| entry.size).sum();
        assert_eq!((shelf.bytes, shelf.proven_bytes), (left, left));
    }
}
