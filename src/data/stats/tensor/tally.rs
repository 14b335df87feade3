//! Elements counted by their bits, and what the counts tell: quantiles, a histogram.

use super::Path;
use crate::data::dtype::DType;

/// Tensors of fewer elements keep their values instead of a table of counts, which would be larger.
const FEW: u64 = 1 << 14;
/// Of wider elements about so many are counted.
const SAMPLE: u64 = 1 << 22;
/// Bins of the small histogram.
pub(super) const BINS: usize = 32;

/// Counts of elements, or of a sample of them.
pub(super) enum Tally {
    /// The values of a small tensor.
    Values(Vec<f64>),
    /// By their bits; of wide floats by the upper half of their single-precision bits, of every so many-th. `zeros` are
    /// the bits of zero, of either sign, where each element is counted.
    Counts { counts: Vec<u64>, every: usize, zeros: Vec<usize> },
}

/// Values in ascending order with how often each is there.
pub(super) struct Tallied {
    pub(super) finite: Vec<(f64, u64)>,
    pub(super) nan: u64,
    pub(super) infinite: u64,
}

/// How the finite elements of a tensor are distributed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Quantiles of them.
    pub quantiles: Quantiles,
    /// The ends of the histogram: what lies beyond is counted in its outermost bins.
    pub ends: (f64, f64),
    /// How many of the elements (or of a sample) lie in each of 32 bins of equal width.
    pub bins: Vec<u64>,
}

/// Values below which a share of all lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quantiles {
    /// One in a thousand.
    pub q001: f64,
    /// One in a hundred.
    pub q01: f64,
    /// One in twenty.
    pub q05: f64,
    /// A quarter.
    pub q25: f64,
    /// Half.
    pub median: f64,
    /// Three quarters.
    pub q75: f64,
    /// All but one in twenty.
    pub q95: f64,
    /// All but one in a hundred.
    pub q99: f64,
    /// All but one in a thousand.
    pub q999: f64,
}

impl Quantiles {
    /// The standard deviation of a normal distribution with the same quartiles, or with the same outer quantiles where
    /// more than half of the values are one and the same; `None` where nearly all are.
    pub fn spread(&self) -> Option<f64> {
        let of = |low: f64, high: f64, width: f64| Some((high - low) / width).filter(|spread| *spread > 0.0);
        of(self.q25, self.q75, 1.349)
            .or_else(|| of(self.q01, self.q99, 4.653))
            .or_else(|| of(self.q001, self.q999, 6.18))
    }
}

impl Tally {
    /// For elements of a type, of complex ones the type of their parts.
    pub(super) fn new(path: Path, dtype: &DType, elements: u64) -> Self {
        let exact = |patterns: usize, zeros| Tally::Counts { counts: vec![0; patterns], every: 1, zeros };
        // Not all small floats have a zero with a sign.
        let zeros8 = || {
            let values = values_of_bits(dtype, 1 << 8);
            (0..1 << 8).filter(|&bits| values.get(bits) == Some(&0.0)).collect()
        };
        match path {
            _ if elements < FEW => Tally::Values(Vec::new()),
            Path::Bits8 => exact(1 << 8, zeros8()),
            Path::Bits16 if dtype.is_float() => exact(1 << 16, vec![0, 1 << 15]),
            Path::Bits16 => exact(1 << 16, vec![0]),
            Path::F32 | Path::F64 | Path::Decoded => {
                let every = usize::try_from(elements.div_ceil(SAMPLE)).unwrap_or(usize::MAX).max(1);
                Tally::Counts { counts: vec![0; 1 << 16], every, zeros: Vec::new() }
            }
        }
    }

    /// Counts elements of one or two bytes.
    #[allow(clippy::indexing_slicing, reason = "a table has an entry for each pattern of bits")]
    pub(super) fn count(&mut self, dtype: &DType, bytes: &[u8]) {
        match self {
            Tally::Values(values) => dtype.decode(bytes, values),
            Tally::Counts { counts, .. } => {
                if let Ok(counts) = <&mut [u64; 1 << 8]>::try_from(counts.as_mut_slice()) {
                    bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
                } else if let Ok(counts) = <&mut [u64; 1 << 16]>::try_from(counts.as_mut_slice()) {
                    for &pair in bytes.as_chunks::<2>().0 {
                        counts[usize::from(u16::from_le_bytes(pair))] += 1;
                    }
                }
            }
        }
    }

    /// How many zeros were counted, where they are.
    pub(super) fn zeros(&self) -> Option<u64> {
        match self {
            Tally::Counts { counts, every: 1, zeros } if !zeros.is_empty() => {
                Some(zeros.iter().filter_map(|&bits| counts.get(bits)).sum())
            }
            Tally::Counts { .. } | Tally::Values(_) => None,
        }
    }

    /// Counts a sample of single-precision numbers.
    pub(super) fn sample32(&mut self, bytes: &[u8]) {
        let elements = bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b));
        match self {
            Tally::Values(values) => values.extend(elements.map(f64::from)),
            Tally::Counts { counts, every, .. } => {
                elements.step_by(*every).for_each(|value| add(counts, value));
            }
        }
    }

    /// Counts a sample of double-precision numbers.
    pub(super) fn sample64(&mut self, elements: impl Iterator<Item = f64>) {
        match self {
            Tally::Values(values) => values.extend(elements),
            Tally::Counts { counts, every, .. } => {
                elements.step_by(*every).for_each(|value| add(counts, value as f32));
            }
        }
    }

    pub(super) fn merge(&mut self, other: Tally) {
        match (self, other) {
            (Tally::Values(values), Tally::Values(more)) => values.extend(more),
            (Tally::Counts { counts, .. }, Tally::Counts { counts: more, .. }) => {
                counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            }
            // Both are of one tensor.
            (Tally::Values(_), Tally::Counts { .. }) | (Tally::Counts { .. }, Tally::Values(_)) => {}
        }
    }

    /// The values in ascending order.
    pub(super) fn finish(self, dtype: &DType) -> Tallied {
        let mut tallied = Tallied { finite: Vec::new(), nan: 0, infinite: 0 };
        match self {
            Tally::Values(mut values) => {
                values.sort_unstable_by(f64::total_cmp);
                values.into_iter().for_each(|value| tallied.add(value, 1));
            }
            Tally::Counts { counts, .. } => {
                let values = values_of_bits(dtype, counts.len());
                let both = values.into_iter().zip(counts).filter(|(_, count)| *count > 0);
                let mut both: Vec<(f64, u64)> = both.collect();
                // Two rising runs, or one that falls and one that rises: quickly sorted.
                both.sort_by(|a, b| a.0.total_cmp(&b.0));
                both.into_iter().for_each(|(value, count)| tallied.add(value, count));
            }
        }
        tallied
    }
}

/// Counts a number by the upper half of its bits.
fn add(counts: &mut [u64], value: f32) {
    if let Some(count) = counts.get_mut((value.to_bits() >> 16) as usize) {
        *count += 1;
    }
}

/// What each pattern of bits stands for.
fn values_of_bits(dtype: &DType, patterns: usize) -> Vec<f64> {
    let mut values = Vec::with_capacity(patterns);
    match dtype {
        DType::Bool | DType::I8 | DType::U8 | DType::Mini(_) => {
            let bytes: Vec<u8> = (0..=u8::MAX).collect();
            dtype.decode(&bytes, &mut values);
        }
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => {
            let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
            dtype.decode(&bytes, &mut values);
        }
        // The middle of what has these upper bits, but for zero and what is not finite.
        _ => values.extend((0..=u16::MAX).map(|upper| {
            let middle = if matches!(upper & 0x7fff, 0) || upper & 0x7f80 == 0x7f80 { 0 } else { 0x8000 };
            f64::from(f32::from_bits(u32::from(upper) << 16 | middle))
        })),
    }
    values
}

impl Tallied {
    /// Takes values in ascending order; equal ones are united.
    fn add(&mut self, value: f64, count: u64) {
        if value.is_nan() {
            self.nan += count;
        } else if value.is_infinite() {
            self.infinite += count;
        } else {
            match self.finite.last_mut() {
                Some((last, so_far)) if *last == value => *so_far += count,
                _ => self.finite.push((value, count)),
            }
        }
    }

    /// How the values are distributed.
    pub(super) fn distribution(&self) -> Option<Distribution> {
        let total: u64 = self.finite.iter().map(|(_, count)| count).sum();
        let shares = [0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999];
        let mut found = [0.0; 9];
        let (mut below, mut next) = (0u64, 0);
        for &(value, count) in &self.finite {
            below += count;
            while let (Some(share), Some(place)) = (shares.get(next), found.get_mut(next)) {
                // The least value with at least this share at or below it.
                if (below as f64) < share * total as f64 {
                    break;
                }
                *place = value;
                next += 1;
            }
        }
        let (first, last) = (self.finite.first()?.0, self.finite.last()?.0);
        let [q001, q01, q05, q25, median, q75, q95, q99, q999] = found;
        let quantiles = Quantiles { q001, q01, q05, q25, median, q75, q95, q99, q999 };
        // A single outlier must not press all others into one bin.
        let reach = quantiles.spread().map_or(f64::INFINITY, |spread| 6.0 * spread);
        let ends = (first.max(median - reach), last.min(median + reach));
        Some(Distribution { quantiles, ends, bins: self.bins(ends) })
    }

    fn bins(&self, (low, high): (f64, f64)) -> Vec<u64> {
        let mut bins = vec![0; BINS];
        let scale = BINS as f64 / (high - low).max(f64::MIN_POSITIVE);
        for &(value, count) in &self.finite {
            let at = (((value - low) * scale).max(0.0) as usize).min(BINS - 1);
            if let Some(bin) = bins.get_mut(at) {
                *bin += count;
            }
        }
        bins
    }
}
