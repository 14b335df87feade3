//! Statistics of an array or a table in one pass: parallel, cancellable, with bounded memory. What is
//! counted and how is fixed in CLI.md (*stats --json*).

mod array;
mod blocks;
mod floats;
mod image;
mod sketch;
pub mod summary;
mod table;
mod texts;

pub use array::{ArrayStats, Scaled, Unread, array, readable, readable_elements};
pub use image::{ChannelStats, ImageStats, image};
pub use table::{ColumnStats, Distinct, TableStats, table};

/// Counts of values in bins of equal width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The bins' limits, one more than bins.
    pub edges: Vec<f64>,
    /// How many values lie in each bin; the last includes its upper edge.
    pub counts: Vec<u64>,
    /// Where the values are integers, the limits exactly: a bin has the integers from its limit up to, without, that
    /// of the next one.
    pub whole: Option<Vec<i128>>,
}

impl Histogram {
    /// Empty bins from `low` to `high`.
    pub fn new(low: f64, high: f64, bins: usize) -> Self {
        let bins = bins.max(1);
        let edge = |i: usize| if i == bins { high } else { low + (high - low) * (i as f64 / bins as f64) };
        Histogram { edges: (0..=bins).map(edge).collect(), counts: vec![0; bins], whole: None }
    }

    /// Of integers, in at most `bins` bins of the same number of integers each, but for the last one.
    pub fn of_integers(values: &[i128], bins: usize) -> Option<Self> {
        let (low, high) = (*values.iter().min()?, *values.iter().max()?);
        let width = even_width((high - low).unsigned_abs().saturating_add(1), bins.max(1) as u128);
        let place = |value: i128| ((value - low).unsigned_abs() / width) as usize;
        let mut counts = vec![0u64; place(high) + 1];
        for &value in values {
            if let Some(count) = counts.get_mut(place(value)) {
                *count += 1;
            }
        }
        let edge = |bin: usize| low + (width as i128).saturating_mul(bin as i128);
        let edges = (0..counts.len()).map(edge).chain([high + 1]).collect();
        Some(Histogram::of_edges(edges, counts))
    }

    /// Of finite numbers, in `bins` bins of the same width.
    pub fn of_numbers(values: &[f64], bins: usize) -> Option<Self> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let mut histogram = Histogram::new(low, high, if low < high { bins } else { 1 });
        for &value in values {
            // By the limits themselves: a quotient may round to the other side of one.
            let inner = histogram.edges.get(1..histogram.counts.len()).unwrap_or_default();
            let bin = inner.partition_point(|edge| *edge <= value);
            if let Some(count) = histogram.counts.get_mut(bin) {
                *count += 1;
            }
        }
        Some(histogram)
    }

    /// Counts of integers between exact limits.
    fn of_edges(whole: Vec<i128>, counts: Vec<u64>) -> Self {
        Histogram { edges: whole.iter().map(|&edge| edge as f64).collect(), counts, whole: Some(whole) }
    }

    /// Counts a finite value in the range.
    pub fn add(&mut self, value: f64) {
        self.add_many(value, 1);
    }

    /// Counts a finite value in the range so many times.
    fn add_many(&mut self, value: f64, times: u64) {
        let (Some(&low), Some(&high)) = (self.edges.first(), self.edges.last()) else { return };
        let bins = self.counts.len();
        let place = if high > low { (value - low) / (high - low) * bins as f64 } else { 0.0 };
        if let Some(count) = self.counts.get_mut((place as usize).min(bins.saturating_sub(1))) {
            *count += times;
        }
    }

    fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }
}

/// How wide bins are so that at most `bins` hold `span` units: of widths up to twice the least one, the one that
/// leaves the least of the last bin empty.
fn even_width(span: u128, bins: u128) -> u128 {
    let least = span.div_ceil(bins).max(1);
    let most = least.saturating_mul(2).min(least.saturating_add(64));
    let empty = |width: u128| (span.div_ceil(width)).saturating_mul(width) - span;
    // What is empty is compared by its share of a bin.
    let share = |width: &u128| empty(*width).saturating_mul(1 << 20) / width;
    (least..most).min_by_key(share).unwrap_or(least)
}

/// Moments of numbers that can be merged (Chan, Golub and LeVeque 1979).
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
    sum: f64,
}

impl Moments {
    /// From sums about `shift`: of `value - shift` and of its square.
    fn of_sums(count: u64, shift: f64, sum: f64, squares: f64) -> Self {
        if count == 0 {
            return Moments::default();
        }
        let n = count as f64;
        Moments {
            count,
            mean: shift + sum / n,
            squares: (squares - sum * sum / n).max(0.0),
            sum: shift * n + sum,
        }
    }

    fn merge(self, other: Moments) -> Moments {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let gap = other.mean - self.mean;
        Moments {
            count: self.count + other.count,
            mean: self.mean + gap * (m / (n + m)),
            squares: self.squares + other.squares + gap * gap * (n * m / (n + m)),
            sum: self.sum + other.sum,
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.sum / self.count as f64)
    }

    /// Of the whole population, as NumPy's default.
    fn std(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }
}
