//! The inner loop over floating-point elements. Blocks that stay in the first cache are gone through in
//! separate, branch-free loops, which the compiler turns into vector instructions; a block that holds a
//! NaN or an infinity, as its sum tells, is compacted and gone through again. Squares are taken about the
//! mean of the block before, near which values usually are, so that nothing cancels when they are large
//! and close together.

use super::Moments;

/// Values of a block.
const BLOCK: usize = 512;
/// Sums side by side: more than one vector register holds, so that additions overlap.
const LANES: usize = 16;

/// What the elements of a piece tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floats {
    pub(super) nan: u64,
    pub(super) inf: u64,
    pub(super) zeros: u64,
    /// The least finite value; +∞ where there is none.
    pub(super) low: f64,
    /// The greatest finite value; −∞ where there is none.
    pub(super) high: f64,
    pub(super) moments: Moments,
}

impl Floats {
    /// What both tell together.
    pub(super) fn merge(self, other: Floats) -> Floats {
        Floats {
            nan: self.nan + other.nan,
            inf: self.inf + other.inf,
            zeros: self.zeros + other.zeros,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            moments: self.moments.merge(other.moments),
        }
    }
}

/// f32 and f64; narrower types are widened to f32 first.
pub(super) trait Float: Copy + Default + PartialOrd + Into<f64> {}
impl Float for f32 {}
impl Float for f64 {}

/// Goes through elements of `N` bytes, which `get` turns into numbers.
pub(super) fn measure<const N: usize, T: Float>(bytes: &[u8], get: impl Fn([u8; N]) -> T) -> Floats {
    let mut total = Floats {
        nan: 0,
        inf: 0,
        zeros: 0,
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
        moments: Moments::default(),
    };
    let mut values = [T::default(); BLOCK];
    let mut shift = None;
    let (blocks, rest) = bytes.as_chunks::<N>().0.as_chunks::<BLOCK>();
    for block in blocks.iter().map(|b| &b[..]).chain(std::iter::once(rest)) {
        let Some(values) = values.get_mut(..block.len()) else { continue };
        values.iter_mut().zip(block).for_each(|(value, &bytes)| *value = get(bytes));
        if !add(values, &mut shift, &mut total) {
            add(compact(values, &mut total), &mut shift, &mut total);
        }
    }
    total
}

/// Moves the finite values to the front, counts the others; those that are finite.
#[allow(clippy::indexing_slicing, reason = "no more are kept than were looked at")]
fn compact<'a, T: Float>(values: &'a mut [T], total: &mut Floats) -> &'a [T] {
    let mut kept = 0;
    for i in 0..values.len() {
        let value = values[i];
        let wide: f64 = value.into();
        total.nan += u64::from(wide.is_nan());
        total.inf += u64::from(wide.is_infinite());
        values[kept] = value;
        kept += usize::from(wide.is_finite());
    }
    &values[..kept]
}

/// Adds the values if all are finite. `shift` is what squares are taken about.
fn add<T: Float>(values: &[T], shift: &mut Option<f64>, total: &mut Floats) -> bool {
    let Some(&first) = values.first() else { return true };
    let about = *shift.get_or_insert_with(|| if first.into().is_finite() { first.into() } else { 0.0 });
    let (gaps, squares) = sums(values, about);
    // NaN and infinities stay in a sum; so does what overflows, whose values then are added one by one.
    if !(gaps.is_finite() && squares.is_finite()) {
        if values.iter().all(|&value| value.into().is_finite()) {
            singly(values, total);
            return true;
        }
        return false;
    }
    let (low, high, zeros) = ends(values, first);
    let count = values.len() as u64;
    let block = Moments::of_sums(count, about, gaps, squares);
    *shift = Some(block.mean);
    total.zeros += zeros;
    total.low = total.low.min(low.into());
    total.high = total.high.max(high.into());
    total.moments = total.moments.merge(block);
    true
}

/// The sum of the distances from `about`, and of their squares.
#[allow(
    clippy::indexing_slicing,
    reason = "a chunk has as many values as there are lanes, the rest has fewer"
)]
fn sums<T: Float>(values: &[T], about: f64) -> (f64, f64) {
    let (mut gaps, mut squares) = ([0f64; LANES], [0f64; LANES]);
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            let gap = chunk[i].into() - about;
            gaps[i] += gap;
            squares[i] += gap * gap;
        }
    }
    for (i, &value) in rest.iter().enumerate() {
        let gap = value.into() - about;
        gaps[i] += gap;
        squares[i] += gap * gap;
    }
    (gaps.iter().sum(), squares.iter().sum())
}

/// The least and the greatest of finite values, and how many are zero.
#[allow(
    clippy::indexing_slicing,
    reason = "a chunk has as many values as there are lanes, the rest has fewer"
)]
fn ends<T: Float>(values: &[T], first: T) -> (T, T, u64) {
    let zero = T::default();
    let (mut low, mut high, mut zeros) = ([first; LANES], [first; LANES], [0u32; LANES]);
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            low[i] = if chunk[i] < low[i] { chunk[i] } else { low[i] };
            high[i] = if chunk[i] > high[i] { chunk[i] } else { high[i] };
        }
        for i in 0..LANES {
            zeros[i] += u32::from(chunk[i] == zero);
        }
    }
    for (i, &value) in rest.iter().enumerate() {
        low[i] = if value < low[i] { value } else { low[i] };
        high[i] = if value > high[i] { value } else { high[i] };
        zeros[i] += u32::from(value == zero);
    }
    let least = low.iter().fold(first, |a, &b| if b < a { b } else { a });
    let most = high.iter().fold(first, |a, &b| if b > a { b } else { a });
    (least, most, zeros.iter().map(|&z| u64::from(z)).sum())
}

/// Adds finite values whose squares overflow, one by one.
fn singly<T: Float>(values: &[T], total: &mut Floats) {
    for &value in values {
        let wide: f64 = value.into();
        total.zeros += u64::from(wide == 0.0);
        total.low = total.low.min(wide);
        total.high = total.high.max(wide);
        total.moments = total.moments.merge(Moments { count: 1, mean: wide, squares: 0.0, sum: wide });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_plain_loop_would(values in prop::collection::vec(prop_oneof![
            8 => -1e6f32..1e6, 1 => Just(f32::NAN), 1 => Just(f32::INFINITY), 1 => Just(-0.0)], 0..1500)) {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let got = measure::<4, f32>(&bytes, f32::from_le_bytes);
            let finite: Vec<f64> = values.iter().filter(|v| v.is_finite()).map(|&v| f64::from(v)).collect();
            prop_assert_eq!(got.nan, values.iter().filter(|v| v.is_nan()).count() as u64);
            prop_assert_eq!(got.inf, values.iter().filter(|v| v.is_infinite()).count() as u64);
            prop_assert_eq!(got.zeros, finite.iter().filter(|&&v| v == 0.0).count() as u64);
            prop_assert_eq!(got.low, finite.iter().copied().fold(f64::INFINITY, f64::min));
            prop_assert_eq!(got.high, finite.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            let n = finite.len() as f64;
            let sum: f64 = finite.iter().sum();
            let squares: f64 = finite.iter().map(|v| (v - sum / n.max(1.0)).powi(2)).sum();
            prop_assert!((got.moments.sum - sum).abs() <= 1e-9 * sum.abs().max(1e6));
            prop_assert!((got.moments.squares - squares).abs() <= 1e-9 * squares.max(1.0));
        }
    }

    #[test]
    fn the_largest_values_do_not_vanish() {
        let bytes: Vec<u8> = [f64::MAX, -f64::MAX, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let got = measure::<8, f64>(&bytes, f64::from_le_bytes);
        assert_eq!((got.nan, got.inf, got.zeros), (0, 0, 1));
        assert_eq!((got.low, got.high, got.moments.count), (-f64::MAX, f64::MAX, 3));
    }

    #[test]
    fn large_and_close_values_keep_their_spread() {
        let bytes: Vec<u8> = (0..4096).flat_map(|i| (1e9 + f64::from(i % 2)).to_le_bytes()).collect();
        let got = measure::<8, f64>(&bytes, f64::from_le_bytes);
        assert_eq!(got.moments.std(), Some(0.5));
    }
}
