//! What can be kept of very many values in little memory: about how many are different, how they spread, which are
//! frequent.

use super::histogram::{Histogram, even_width};
use std::collections::HashMap;

/// Spreads the bits of a word: both halves of a wide product depend on all bits of both factors.
pub(super) fn mixed(seed: u64, word: u64) -> u64 {
    let product = u128::from(seed ^ word) * 0x9e37_79b9_7f4a_7c15u128;
    (product >> 64) as u64 ^ product as u64
}

/// The hash of bytes.
pub(super) fn hashed(seed: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    hashed_parts(seed, words, short(rest), bytes.len())
}

/// The hash of bytes in words of eight, and what is left of all `len` bytes as a number.
pub(super) fn hashed_parts(seed: u64, words: &[[u8; 8]], rest: u64, len: usize) -> u64 {
    let state = words.iter().fold(seed, |state, word| mixed(state, u64::from_le_bytes(*word)));
    finished(mixed(state, rest ^ (len as u64) << 56))
}

/// At most seven bytes as a number, different for different bytes of one length. Without a copy of unknown
/// length, which would take longer than all the rest.
pub(super) const fn short(bytes: &[u8]) -> u64 {
    match *bytes {
        [] => 0,
        [a] => a as u64,
        [a, b] => u16::from_le_bytes([a, b]) as u64,
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]) as u64,
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as u64,
        [a, b, c, d, e] => u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]),
        [a, b, c, d, e, f] => u64::from_le_bytes([a, b, c, d, e, f, 0, 0]),
        [a, b, c, d, e, f, g, ..] => u64::from_le_bytes([a, b, c, d, e, f, g, 0]),
    }
}

/// The hash of a word.
pub(super) fn hashed_word(seed: u64, word: u64) -> u64 {
    finished(mixed(seed, word))
}

/// One more round, so that every bit of a hash is good.
fn finished(state: u64) -> u64 {
    mixed(state, state >> 32 ^ 0xd6e8_feb8_6659_fd93)
}

/// The bits of a hash that choose a register.
const BITS: u32 = 14;

/// About how many hashes were different, with 16,384 registers, which errs by about 0.8 %.
/// Flajolet and others 2007; the estimator without tables is Ertl's of 2017, <https://arxiv.org/abs/1702.01284>.
#[derive(Clone)]
pub(super) struct HyperLogLog(Vec<u8>);

impl HyperLogLog {
    pub(super) fn new() -> Self {
        HyperLogLog(vec![0; 1 << BITS])
    }

    pub(super) fn add(&mut self, hash: u64) {
        let rank = ((hash << BITS) | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        if let Some(register) = self.0.get_mut((hash >> (64 - BITS)) as usize) {
            *register = rank.max(*register);
        }
    }

    /// The estimate.
    pub(super) fn count(&self) -> u64 {
        let most = (64 - BITS) as usize;
        let registers = self.0.len() as f64;
        let mut counts = vec![0u64; most + 2];
        for &rank in &self.0 {
            if let Some(count) = counts.get_mut(usize::from(rank)) {
                *count += 1;
            }
        }
        let of = |rank: usize| counts.get(rank).copied().unwrap_or(0) as f64;
        let mut sum = registers * tau(1.0 - of(most + 1) / registers);
        for rank in (1..=most).rev() {
            sum = 0.5 * (sum + of(rank));
        }
        sum += registers * sigma(of(0) / registers);
        if sum.is_infinite() {
            return 0;
        }
        (registers * registers / (2.0 * std::f64::consts::LN_2 * sum)).round() as u64
    }
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

/// Bins of a growing histogram.
const BINS: usize = 512;

/// Counts of numbers in bins of equal width. The range doubles when a number lies outside, so every count
/// is exact and the range need not be known.
#[derive(Clone)]
pub(super) struct Spread {
    low: f64,
    width: f64,
    counts: Vec<u64>,
    seen: bool,
}

impl Spread {
    pub(super) fn new() -> Self {
        Spread { low: 0.0, width: 0.0, counts: Vec::new(), seen: false }
    }

    /// Makes room for a range of finite numbers.
    pub(super) fn cover(&mut self, low: f64, high: f64) {
        if !self.seen {
            self.seen = true;
            // The width is a power of two and the begin a multiple of it, so that two bins make one that is twice as
            // wide.
            let span = (high - low).max(low.abs().max(high.abs()) * 1e-12).max(f64::MIN_POSITIVE * 1e10);
            self.width = (span / (BINS as f64 - 2.0)).log2().ceil().exp2();
            self.low = (low / self.width).floor() * self.width;
            self.counts = vec![0; BINS];
        }
        let mut rounds = 0;
        while (low < self.low || high >= self.end()) && rounds < 2_100 {
            self.double(low);
            rounds += 1;
        }
    }

    fn end(&self) -> f64 {
        self.low + self.width * BINS as f64
    }

    /// Twice as wide bins, with more room on the side where `towards` is.
    fn double(&mut self, towards: f64) {
        let wide = self.width * 2.0;
        let mut low = (self.low / wide).floor() * wide;
        if towards < self.low {
            low -= wide * (BINS / 2 - 1) as f64;
        }
        let mut counts = vec![0; BINS];
        for (i, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let middle = self.low + self.width * (i as f64 + 0.5);
            let place = (((middle - low) / wide) as usize).min(BINS - 1);
            if let Some(bin) = counts.get_mut(place) {
                *bin += count;
            }
        }
        (self.low, self.width, self.counts) = (low, wide, counts);
    }

    /// Counts a number that lies in what was covered so many times.
    pub(super) fn add(&mut self, value: f64, times: u64) {
        let place = ((value - self.low) / self.width) as usize;
        if let Some(count) = self.counts.get_mut(place.min(BINS - 1)) {
            *count += times;
        }
    }

    /// At most `bins` bins from about the smallest to about the largest number.
    pub(super) fn histogram(&self, bins: usize) -> Option<Histogram> {
        let first = self.counts.iter().position(|count| *count > 0)?;
        let last = self.counts.iter().rposition(|count| *count > 0)?;
        let each = (last + 1 - first).div_ceil(bins.max(1));
        let counts: Vec<u64> = self.counts.get(first..=last)?.chunks(each).map(|c| c.iter().sum()).collect();
        let edge = |i: usize| self.low + self.width * (first + i * each) as f64;
        Some(Histogram { edges: (0..=counts.len()).map(edge).collect(), counts, whole: None })
    }
}

/// Counts of integers in bins of equally many integers, a power of two. As with [`Spread`] the range need not be
/// known; no integer of 64 bits is rounded.
#[derive(Clone, Default)]
pub(super) struct Steps {
    /// The width of a bin is two to this.
    shift: u32,
    /// The first bin begins at so many widths.
    first: i128,
    counts: Vec<u64>,
    /// The least and the greatest integer.
    ends: Option<(i128, i128)>,
}

impl Steps {
    /// Makes room for a range of integers.
    pub(super) fn cover(&mut self, low: i128, high: i128) {
        let Some((least, most)) = self.ends else {
            let wide = |shift: u32| (high >> shift) - (low >> shift) < BINS as i128;
            self.shift = (0..127).find(|&shift| wide(shift)).unwrap_or(127);
            (self.first, self.counts) = (low >> self.shift, vec![0; BINS]);
            self.ends = Some((low, high));
            return;
        };
        let (low, high) = (least.min(low), most.max(high));
        self.ends = Some((low, high));
        while (high >> self.shift) - (low >> self.shift) >= BINS as i128 {
            self.double();
        }
        self.begin(low >> self.shift);
    }

    /// Lets the first bin be another one; all counts still have a place.
    fn begin(&mut self, first: i128) {
        if first == self.first {
            return;
        }
        let mut counts = vec![0; BINS];
        for (at, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            if let Ok(place) = usize::try_from(self.first + at as i128 - first)
                && let Some(slot) = counts.get_mut(place)
            {
                *slot += count;
            }
        }
        (self.first, self.counts) = (first, counts);
    }

    /// Twice as wide bins.
    fn double(&mut self) {
        let first = self.first >> 1;
        let mut counts = vec![0; BINS];
        for (at, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let place = (((self.first + at as i128) >> 1) - first) as usize;
            if let Some(slot) = counts.get_mut(place) {
                *slot += count;
            }
        }
        (self.shift, self.first, self.counts) = (self.shift + 1, first, counts);
    }

    /// Counts an integer that lies in what was covered so many times.
    pub(super) fn add(&mut self, value: i128, times: u64) {
        let place = ((value >> self.shift) - self.first) as usize;
        if let Some(count) = self.counts.get_mut(place) {
            *count += times;
        }
    }

    /// At most `bins` bins from the least to the greatest integer.
    pub(super) fn histogram(&self, bins: usize) -> Option<Histogram> {
        let (low, high) = self.ends?;
        let last = ((high >> self.shift) - self.first) as usize;
        let each = even_width(last as u128 + 1, bins.max(1) as u128) as usize;
        let counts: Vec<u64> =
            self.counts.get(..=last)?.chunks(each).map(|chunk| chunk.iter().sum()).collect();
        let edge = |bin: usize| (self.first + (bin * each) as i128) << self.shift;
        let inner = (1..counts.len()).map(edge);
        let edges = std::iter::once(low).chain(inner).chain([high + 1]).collect();
        Some(Histogram::of_edges(edges, counts))
    }
}

/// The most different values that are counted one by one.
pub(super) const COUNTED: usize = 4_096;

/// How often each value occurs, as long as there are few different ones.
#[derive(Clone, Default)]
pub(super) struct Frequent {
    /// By hash: how often, and a row where it stands.
    counts: HashMap<u64, (u64, u64), IdentityHash>,
    /// There were more different values.
    pub(super) over: bool,
}

/// Hashes are hashes already.
#[derive(Clone, Copy, Default)]
pub(super) struct IdentityHash(u64);

impl std::hash::BuildHasher for IdentityHash {
    type Hasher = IdentityHash;

    fn build_hasher(&self) -> IdentityHash {
        IdentityHash(0)
    }
}

impl std::hash::Hasher for IdentityHash {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Frequent {
    pub(super) fn add(&mut self, hash: u64, row: u64, times: u64) {
        if self.over {
            return;
        }
        let entry = self.counts.entry(hash).or_insert((0, row));
        entry.0 += times;
        entry.1 = entry.1.min(row);
        if self.counts.len() > COUNTED {
            self.over = true;
            self.counts = HashMap::default();
        }
    }

    /// How many different values, if they were all counted.
    pub(super) fn distinct(&self) -> Option<u64> {
        (!self.over).then_some(self.counts.len() as u64)
    }

    /// The most frequent values: how often, and a row where each stands. Of equally frequent ones those
    /// that come first.
    pub(super) fn top(&self, most: usize) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = self.counts.values().copied().collect();
        all.sort_by_key(|(times, row)| (std::cmp::Reverse(*times), *row));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_steady_column_has_no_stripes() {
        // Each integer once, also where no float tells two of them apart.
        for first in [0i128, 1_000_003, (1 << 60) + 1, i128::from(u64::MAX) - 70_000] {
            for count in [2i128, 25, 100, 1_000, 4_097, 65_536] {
                let values: Vec<i128> = (first..first + count).collect();
                let mut steps = Steps::default();
                steps.cover(first, first + count - 1);
                values.iter().for_each(|&value| steps.add(value, 1));
                for histogram in [steps.histogram(32).unwrap(), Histogram::of_integers(&values, 24).unwrap()]
                {
                    let inner = histogram.counts.get(1..histogram.counts.len() - 1).unwrap_or_default();
                    assert!(
                        inner.windows(2).all(|two| two[0] == two[1]),
                        "{first} {count}: {:?}",
                        histogram.counts
                    );
                    let most = *histogram.counts.iter().max().unwrap();
                    assert!(histogram.counts.iter().all(|c| *c <= most) && histogram.counts.len() > 1);
                    assert_eq!(histogram.counts.iter().sum::<u64>(), count as u64);
                }
            }
        }
    }

    #[test]
    fn about_how_many_are_different() {
        for n in [0u64, 1, 10, 1_000, 50_000, 1_000_000] {
            let mut whole = HyperLogLog::new();
            (0..n).for_each(|i| whole.add(hashed_word(7, i)));
            (0..n / 2).for_each(|i| whole.add(hashed_word(7, i)));
            let error = (whole.count() as f64 - n as f64).abs() / (n as f64).max(1.0);
            assert!(error < 0.03, "{n}: {}", whole.count());
        }
    }

    proptest! {
        #[test]
        fn integers_lie_in_the_bins_that_say_so(
            base in prop::sample::select(vec![0i128, -7, 1 << 53, (1 << 53) + 1, i128::from(i64::MIN), i128::from(i64::MAX) - 9_000, i128::from(u64::MAX) - 9_000]),
            values in prop::collection::vec(0i128..9_000, 1..300),
        ) {
            let values: Vec<i128> = values.into_iter().map(|value| base + value).collect();
            let mut whole = Steps::default();
            for &value in &values {
                whole.cover(value, value);
                whole.add(value, 1);
            }
            let at_once = Histogram::of_integers(&values, 24).unwrap();
            for histogram in [whole.histogram(20).unwrap(), at_once] {
                let edges = histogram.whole.unwrap();
                prop_assert!(histogram.counts.len() <= 24 && edges.len() == histogram.counts.len() + 1);
                prop_assert_eq!((edges[0], edges[edges.len() - 1] - 1), (*values.iter().min().unwrap(), *values.iter().max().unwrap()));
                for (bin, &count) in histogram.counts.iter().enumerate() {
                    let there = values.iter().filter(|v| (edges[bin]..edges[bin + 1]).contains(*v)).count() as u64;
                    prop_assert_eq!(there, count, "{}..{}", edges[bin], edges[bin + 1]);
                }
            }
        }

        #[test]
        fn a_growing_histogram_counts_everything(values in prop::collection::vec(-1e6f64..1e6, 1..300)) {
            let mut whole = Spread::new();
            for &value in &values {
                whole.cover(value, value);
                whole.add(value, 1);
            }
            let histogram = whole.histogram(20).unwrap();
            prop_assert_eq!(histogram.counts.iter().sum::<u64>(), values.len() as u64);
            prop_assert!(histogram.counts.len() <= 20);
            for (bin, &count) in histogram.counts.iter().enumerate() {
                let (low, high) = (histogram.edges[bin], histogram.edges[bin + 1]);
                let there = values.iter().filter(|v| (low..high).contains(*v)).count() as u64;
                prop_assert_eq!(there, count, "{}..{}", low, high);
            }
        }
    }
}
