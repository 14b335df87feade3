//! The different values of columns, counted one by one: each column up to a bound of its own, and all columns that are
//! counted together up to another, so that memory does not grow with their number.

use super::Distinct;
use super::sketch::{hashed, mixed, short};
use crate::data::cell;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher};

/// The most different values of a column that are counted.
pub(super) const MOST: usize = 1 << 16;
/// The most of all columns together: so many that 128 columns may each have [`MOST`]. A value takes 20 to 39 bytes.
pub(super) const ALL: usize = MOST << 7;

/// The different values of a column, as far as they are counted.
pub(super) struct DistinctValues {
    seen: HashSet<ValueKey, SeededBuildHasher>,
    state: CountState,
}

/// How far counting came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountState {
    Counting,
    /// There are more than so many.
    Over(usize),
    /// Some cannot be compared.
    Uncountable,
}

impl DistinctValues {
    pub(super) fn new() -> Self {
        DistinctValues { seen: HashSet::default(), state: CountState::Counting }
    }

    /// Whether further values are counted.
    pub(super) fn is_counting(&self) -> bool {
        self.state == CountState::Counting
    }

    /// How many values are kept.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Counts the values of an array that were not seen yet, until there are more than `most`.
    pub(super) fn add(&mut self, array: &ArrayRef, most: usize) {
        if array.data_type().is_nested() {
            self.end(CountState::Uncountable);
        }
        if !self.is_counting() {
            return;
        }
        let data = array.to_data();
        let width = array.data_type().primitive_width();
        let values = data.buffers().first().and_then(|b| b.get(data.offset() * width.unwrap_or(0)..));
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let valid = |row: &usize| nulls.is_none_or(|nulls| nulls.is_valid(*row));
        let rows = (0..array.len()).filter(valid);
        match (array.data_type(), width, values) {
            (_, Some(1), Some(values)) => self.see(rows.map(|row| values.get(row..row + 1)), most),
            (_, Some(2), Some(values)) => self.see(rows.map(|row| values.get(row * 2..row * 2 + 2)), most),
            (_, Some(4), Some(values)) => self.see(rows.map(|row| values.get(row * 4..row * 4 + 4)), most),
            (_, Some(8), Some(values)) => self.see(rows.map(|row| values.get(row * 8..row * 8 + 8)), most),
            (_, Some(size), Some(values)) => {
                self.see(rows.map(|row| values.get(row * size..(row + 1) * size)), most)
            }
            (DataType::Utf8, ..) => {
                let texts = array.as_string::<i32>();
                self.see(rows.map(|row| Some(texts.value(row).as_bytes())), most);
            }
            (DataType::LargeUtf8, ..) => {
                let texts = array.as_string::<i64>();
                self.see(rows.map(|row| Some(texts.value(row).as_bytes())), most);
            }
            (DataType::Utf8View, ..) => {
                let texts = array.as_string_view();
                self.see(rows.map(|row| Some(texts.value(row).as_bytes())), most);
            }
            (DataType::Boolean, ..) => {
                let flags = array.as_boolean();
                self.see(rows.map(|row| Some(if flags.value(row) { &b"t"[..] } else { b"f" })), most);
            }
            _ => self.see(rows.map(|row| cell::binary(array.as_ref(), row)), most),
        }
    }

    /// Counts values; `None` is one that cannot be compared.
    fn see<'a>(&mut self, values: impl Iterator<Item = Option<&'a [u8]>>, most: usize) {
        let seeds = self.seen.hasher().0;
        // Runs of one value are common, and comparing costs less than hashing.
        let mut before: Option<&[u8]> = None;
        for value in values {
            let Some(bytes) = value else { return self.end(CountState::Uncountable) };
            if before != value && self.seen.insert(ValueKey::of(bytes, seeds)) && self.seen.len() > most {
                return self.end(CountState::Over(most));
            }
            before = value;
        }
    }

    /// No more is counted: what was kept for it goes.
    fn end(&mut self, state: CountState) {
        if self.is_counting() {
            self.state = state;
            self.seen = HashSet::default();
        }
    }

    /// How many there are; `None` where they cannot be compared.
    pub(super) fn count(&self) -> Option<Distinct> {
        match self.state {
            CountState::Counting => Some(Distinct::Exactly(self.seen.len() as u64)),
            CountState::Over(most) => Some(Distinct::AtLeast(most as u64)),
            CountState::Uncountable => None,
        }
    }
}

/// How many values a column may have at most, so that columns which have `counts` now and get `more` each at most have
/// `all` together: none is held back as long as whatever comes has room, then all are at the same level but for those
/// that are above it already.
pub(super) fn level(counts: &[usize], more: usize, all: usize) -> usize {
    let held = counts.iter().fold(0usize, |sum, count| sum.saturating_add(*count));
    if held.saturating_add(counts.len().saturating_mul(more)) <= all {
        return MOST;
    }
    let mut sorted = counts.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let (mut left, mut below) = (all, sorted.len());
    for count in sorted {
        if count.saturating_mul(below) <= left {
            break;
        }
        left = left.saturating_sub(count);
        below -= 1;
    }
    left.checked_div(below).unwrap_or(0).min(MOST)
}

/// What stands for a value in 16 bytes: up to 15 bytes these and how many they are, of longer ones 120 bits of hashes,
/// which nobody can make equal without knowing the seeds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ValueKey(u64, u64);

impl ValueKey {
    fn of(bytes: &[u8], seeds: [u64; 2]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let tag = (bytes.len() as u64) << 56;
        match words {
            [] => ValueKey(short(rest), tag),
            [word] => ValueKey(u64::from_le_bytes(*word), short(rest) | tag),
            _ => ValueKey(hashed(seeds[0], bytes), hashed(seeds[1], bytes) | 0xff << 56),
        }
    }
}

impl Hash for ValueKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
        state.write_u64(self.1);
    }
}

/// Hashes for counting: a few instructions for eight bytes. The seeds differ from run to run, so that no file can be
/// made to collide.
#[derive(Clone)]
struct SeededBuildHasher([u64; 2]);

impl Default for SeededBuildHasher {
    fn default() -> Self {
        let random = std::hash::RandomState::new();
        SeededBuildHasher([random.hash_one(0), random.hash_one(1)])
    }
}

impl BuildHasher for SeededBuildHasher {
    type Hasher = SeededHasher;

    fn build_hasher(&self) -> SeededHasher {
        SeededHasher(self.0[0])
    }
}

struct SeededHasher(u64);

impl Hasher for SeededHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hashed(self.0, bytes);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mixed(self.0, word);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BinaryArray, Decimal128Array, Int64Array, StringArray};
    use proptest::prelude::*;
    use std::sync::Arc;

    #[test]
    fn values_of_any_length_are_told_apart() {
        // Beginnings of each other, with zeros behind them, and with the bytes that a length would be.
        let mut values: Vec<Vec<u8>> = (0..40).map(|len| vec![0u8; len]).collect();
        values.extend((1..40).map(|len| [vec![0u8; len - 1], vec![len as u8 - 1]].concat()));
        values.extend((0..2_000u32).map(|n| [&[b'x'; 60][..], &n.to_le_bytes()].concat()));
        let distinct: HashSet<&Vec<u8>> = values.iter().collect();
        let twice: ArrayRef = Arc::new(BinaryArray::from_iter_values(values.iter().chain(&values)));
        let mut found = DistinctValues::new();
        found.add(&twice, MOST);
        assert_eq!(found.count(), Some(Distinct::Exactly(distinct.len() as u64)));
        let decimals: ArrayRef = Arc::new(Decimal128Array::from_iter_values((0..50).map(|n| n << 60)));
        let mut found = DistinctValues::new();
        found.add(&decimals, MOST);
        assert_eq!(found.count(), Some(Distinct::Exactly(50)));
    }

    #[test]
    fn behind_the_bound_nothing_is_kept() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100));
        let mut found = DistinctValues::new();
        found.add(&numbers, 100);
        assert_eq!((found.count(), found.len()), (Some(Distinct::Exactly(100)), 100));
        let more: ArrayRef = Arc::new(Int64Array::from_iter_values(90..101));
        found.add(&more, 100);
        assert_eq!((found.count(), found.seen.capacity()), (Some(Distinct::AtLeast(100)), 0));
        // Values that come later do not make it exact again.
        found.add(&more, MOST);
        assert_eq!(found.count(), Some(Distinct::AtLeast(100)));
        let nothing: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>; 3]));
        let mut found = DistinctValues::new();
        found.add(&nothing, 0);
        assert_eq!(found.count(), Some(Distinct::Exactly(0)));
    }

    #[test]
    fn a_level_is_the_same_for_all_that_are_below_it() {
        assert_eq!(level(&[5, 900], 10, 1_000), MOST);
        assert_eq!(level(&[5, 900], 100, 1_000), 100);
        assert_eq!(level(&[0, 0, 0, 0], 1_000, 1_000), 250);
        assert_eq!(level(&[500, 500], 1, 1_000), 500);
        assert_eq!(level(&[], 1, 0), MOST);
    }

    proptest! {
        #[test]
        fn levels_leave_no_room_and_use_all_of_it(
            counts in prop::collection::vec(0usize..1_000, 1..50), more in 1usize..1_000, room in 0usize..10_000,
        ) {
            let all = counts.iter().sum::<usize>() + room;
            let at = |level: usize| counts.iter().map(|count| (*count).max(level.min(count + more))).sum::<usize>();
            let whole = |level: usize| counts.iter().map(|count| (*count).max(level)).sum::<usize>();
            let found = level(&counts, more, all);
            prop_assert!(at(found) <= all, "{}", found);
            prop_assert!(found == MOST || whole(found) <= all && whole(found + 1) > all, "{}", found);
        }
    }
}
