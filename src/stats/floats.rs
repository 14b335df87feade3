//! The inner loop over floating-point elements. Blocks that stay in the first cache are gone through in
//! separate, branch-free loops, which the compiler turns into vector instructions; a block that holds a
//! NaN or an infinity is compacted first. Squares are taken about the block's own mean, so that nothing
//! cancels when the values are large and close together.

use super::Moments;

/// Values of a block.
const BLOCK: usize = 512;
/// Sums side by side: more than one vector register holds, so that additions overlap.
const LANES: usize = 8;

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

/// f32 and f64; narrower types are widened to f32 first.
pub(super) trait Float:
    Copy + Default + PartialOrd + Into<f64> + std::ops::Mul<Output = Self>
{
}
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
    let (blocks, rest) = bytes.as_chunks::<N>().0.as_chunks::<BLOCK>();
    for block in blocks.iter().map(|b| &b[..]).chain(std::iter::once(rest)) {
        let values = &mut values[..block.len()];
        values.iter_mut().zip(block).for_each(|(value, &bytes)| *value = get(bytes));
        let kept = if all_finite(values) { values.len() } else { compact(values, &mut total) };
        add(&values[..kept], &mut total);
    }
    total
}

/// Whether no value is NaN or infinite: zero times those alone is not zero.
fn all_finite<T: Float>(values: &[T]) -> bool {
    let zero = T::default();
    let mut odd = [0u32; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (odd, &value) in odd.iter_mut().zip(chunk) {
            *odd |= u32::from(value * zero != zero);
        }
    }
    odd.iter().all(|&o| o == 0) && rest.iter().all(|&v| v * zero == zero)
}

/// Moves the finite values to the front, counts the others; how many there are.
fn compact<T: Float>(values: &mut [T], total: &mut Floats) -> usize {
    let mut kept = 0;
    for i in 0..values.len() {
        let value = values[i];
        let wide: f64 = value.into();
        total.nan += u64::from(wide.is_nan());
        total.inf += u64::from(wide.is_infinite());
        values[kept] = value;
        kept += usize::from(wide.is_finite());
    }
    kept
}

/// Adds finite values.
fn add<T: Float>(values: &[T], total: &mut Floats) {
    let Some(&first) = values.first() else { return };
    let zero = T::default();
    let (mut low, mut high, mut sum) = ([first; LANES], [first; LANES], [0f64; LANES]);
    let mut zeros = [0u32; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut step = |i: usize, value: T| {
        low[i] = if value < low[i] { value } else { low[i] };
        high[i] = if value > high[i] { value } else { high[i] };
        zeros[i] += u32::from(value == zero);
        sum[i] += value.into();
    };
    chunks.iter().for_each(|chunk| (0..LANES).for_each(|i| step(i, chunk[i])));
    rest.iter().enumerate().for_each(|(i, &value)| step(i, value));
    let sum: f64 = sum.iter().sum();
    let mean = sum / values.len() as f64;
    let mut squares = [0f64; LANES];
    let mut step = |i: usize, value: T| {
        let gap = value.into() - mean;
        squares[i] += gap * gap;
    };
    chunks.iter().for_each(|chunk| (0..LANES).for_each(|i| step(i, chunk[i])));
    rest.iter().enumerate().for_each(|(i, &value)| step(i, value));
    let block = Moments { count: values.len() as u64, mean, squares: squares.iter().sum(), sum };
    total.zeros += zeros.iter().map(|&z| u64::from(z)).sum::<u64>();
    total.low = low.iter().fold(total.low, |a, &b| a.min(b.into()));
    total.high = high.iter().fold(total.high, |a, &b| a.max(b.into()));
    total.moments = total.moments.merge(block);
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
    fn large_and_close_values_keep_their_spread() {
        let bytes: Vec<u8> = (0..4096).flat_map(|i| (1e9 + f64::from(i % 2)).to_le_bytes()).collect();
        let got = measure::<8, f64>(&bytes, f64::from_le_bytes);
        assert_eq!(got.moments.std(), Some(0.5));
    }
}
