//! Statistics of an array or a table in one pass: parallel, cancellable, with bounded memory. What is
//! counted and how is fixed in CLI.md (*stats --json*).

mod array;
mod bits;
mod blocks;
mod column;
pub mod difference;
mod distinct;
mod floats;
mod histogram;
mod image;
pub mod media;
mod norms;
pub mod passes;
mod sample;
mod selection;
mod sketch;
mod sound;
pub mod spectrum;
pub mod summary;
mod table;
pub mod tensor;
mod texts;

pub use array::{ArrayStats, Scaled, Unread, array, readable, readable_elements};
pub use bits::{BitUse, bit_use, has_bit_use};
pub use histogram::{Binning, Counter, Histogram, histograms};
pub use image::{ChannelStats, ImageStats, image};
pub use norms::{Norms, Profile, norms};
pub use sample::sampled;
pub use selection::{SelectionStats, Total, selection};
pub use sound::{Loudness, sound};
pub use table::{ColumnStats, TableStats, table, table_groups};

/// How many values are different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distinct {
    /// All were counted.
    Exactly(u64),
    /// Counting stopped here.
    AtLeast(u64),
    /// An estimate that errs by about 1 %.
    About(u64),
}

/// Moments of numbers that can be merged (Chan, Golub and LeVeque 1979).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    pub(crate) mean: f64,
    /// The sum of the squares of the distances from the mean.
    pub(crate) squares: f64,
    pub(crate) sum: f64,
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

    pub(crate) fn merge(self, other: Moments) -> Moments {
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

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.sum / self.count as f64)
    }

    /// Of the whole population, as NumPy's default.
    pub(crate) fn std(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }
}
