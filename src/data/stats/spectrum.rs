//! The singular values of a matrix, and what they tell of it as weights: stable and effective rank, condition number,
//! the exponent of the tail of the eigenvalues of WᵀW.
//!
//! Small matrices are decomposed themselves, in double precision. Of larger ones with one short side the Gram matrix
//! (WᵀW or WWᵀ, whichever is smaller) is summed up in one pass over the file and its eigenvalues are taken: their square
//! roots are the singular values, exact to about 10⁻⁸ of the largest one ([`Spectrum::floor`]).

use super::norms;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::numbers::has_numbers;
use crate::data::plane::Slice;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatRef, Side};

/// The longest short side: the time of a decomposition grows with its third power, the memory with its square.
pub const SHORT: u64 = 6144;
/// The longest other side.
pub const LONG: u64 = 1 << 22;
/// The most multiplications of the Gram matrix: some minutes of work.
const WORK: u64 = 1 << 43;
/// Matrices of at most so many elements, and of short sides up to [`DENSE_SHORT`], are decomposed themselves.
const DENSE: u64 = 4 << 20;
const DENSE_SHORT: u64 = 1024;
/// The fewest eigenvalues that a tail is looked for in.
const FEWEST: usize = 10;

/// The singular values of a matrix and what they tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spectrum {
    /// Rows and columns.
    pub shape: (u64, u64),
    /// All of them, the largest first: as many as the shorter side is long.
    pub values: Vec<f64>,
    /// Those below this are of the size of rounding errors.
    pub floor: f64,
    /// ‖W‖²_F / σ₁²: the sum of the squares of all by the square of the largest. `None` of a matrix of zeros.
    pub stable_rank: Option<f64>,
    /// exp(−Σ pᵢ ln pᵢ) with pᵢ = σᵢ / Σσ (Roy and Vetterli 2007). `None` of a matrix of zeros.
    pub effective_rank: Option<f64>,
    /// How many are above [`floor`](Self::floor).
    pub rank: usize,
    /// σ₁ / σₙ, where the smallest is above the floor.
    pub condition: Option<f64>,
    /// The tail of the eigenvalues σ² of WᵀW as a power law; `None` of fewer than ten that are above the floor, and where
    /// all are equal.
    pub tail: Option<PowerLaw>,
}

/// A density p(λ) ∝ λ^−α of the eigenvalues λ ≥ x_min.
///
/// As weightwatcher fits it by default: for each eigenvalue as x_min the exponent of the largest likelihood,
/// α = 1 + n / Σ ln(λᵢ / x_min) over the n eigenvalues from x_min on (Clauset, Shalizi and Newman 2009; Hill 1975), and of
/// all these that whose distribution is nearest to theirs by the distance of Kolmogorov and Smirnov.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PowerLaw {
    /// The exponent.
    pub alpha: f64,
    /// Where the tail begins.
    pub x_min: f64,
    /// Eigenvalues in the tail.
    pub count: usize,
    /// The greatest difference of the two cumulative distributions.
    pub distance: f64,
    /// The standard error of the exponent: (α − 1) / √n.
    pub sigma: f64,
}

/// Whether [`spectrum`] takes a matrix of this shape.
pub fn has_spectrum(rows: u64, columns: u64) -> bool {
    fits(rows, columns).is_ok()
}

fn fits(rows: u64, columns: u64) -> Result<()> {
    let (short, long) = (rows.min(columns), rows.max(columns));
    if short == 0 {
        return Err(Error::unsupported("singular values of a matrix without elements"));
    }
    let work = long.saturating_mul(short).saturating_mul(short);
    if short > SHORT || long > LONG || work > WORK {
        let most = format!("the shorter side at most {SHORT}, the longer one at most {LONG}");
        return Err(Error::limit(format!("singular values of a matrix of {rows} × {columns}: {most}")));
    }
    Ok(())
}

/// The singular values of the plane that a slice shows, and what they tell.
///
/// Uses all cores: a square matrix of side 1024 takes a second on two of them, one of 4096 half a minute. The progress is that of the pass over the elements; the decomposition that follows it answers to
/// cancelling only at its end.
///
/// # Errors
/// `Unsupported` for elements that are no real numbers, and for planes with NaN or infinite elements; `Limit` for
/// matrices that are too large; those of reading.
pub fn spectrum(array: &dyn Array, task: &Task, slice: &Slice) -> Result<Spectrum> {
    let (dtype, rows, columns) = (array.dtype(), slice.height(), slice.width());
    if !has_numbers(dtype) || dtype.is_complex() || slice.depth() > 1 {
        return Err(Error::unsupported(format!("singular values of elements of the type {dtype}")));
    }
    fits(rows, columns)?;
    task.set_total(rows * columns);
    let short = rows.min(columns);
    let is_dense = rows.saturating_mul(columns) <= DENSE && short <= DENSE_SHORT;
    let (values, floor) = if is_dense { dense(array, task, slice)? } else { gram(array, task, slice)? };
    task.set_message("tail");
    tell((rows, columns), values, floor, task)
}

/// Singular values of a matrix in memory, and below what they are rounding errors.
fn dense(array: &dyn Array, task: &Task, slice: &Slice) -> Result<(Vec<f64>, f64)> {
    let (height, width) = (slice.height() as usize, slice.width() as usize);
    let mut matrix = Mat::<f64>::zeros(height, width);
    for window in norms::windows(array, slice) {
        let values = finite(array, task, slice, &window)?;
        let (top, left) = (window.rows.start as usize, window.columns.start as usize);
        for (row, values) in values.chunks_exact((window.columns.count as usize).max(1)).enumerate() {
            for (column, value) in values.iter().enumerate() {
                *matrix.as_mut().get_mut(top + row, left + column) = *value;
            }
        }
    }
    task.check()?;
    let values = matrix.singular_values().map_err(|_| unsolved())?;
    let largest = values.first().copied().unwrap_or(0.0);
    Ok((values, largest * f64::EPSILON * height.max(width) as f64))
}

/// Square roots of the eigenvalues of WᵀW or WWᵀ.
fn gram(array: &dyn Array, task: &Task, slice: &Slice) -> Result<(Vec<f64>, f64)> {
    // The columns of the matrix that is summed up are the short side.
    let mut slice = slice.clone();
    if slice.height() < slice.width() {
        std::mem::swap(&mut slice.rows, &mut slice.columns);
    }
    let (height, side) = (slice.height(), slice.width() as usize);
    let mut sum = Mat::<f64>::zeros(side, side);
    // Many rows at a time make the product worth its overhead.
    let rows = ((8u64 << 20) / 8 / slice.width().max(1)).max(64).min(height);
    for start in (0..height).step_by(rows as usize) {
        let window = crate::data::plane::Window {
            rows: crate::data::region::Span::range(start, rows.min(height - start)),
            columns: crate::data::region::Span::all(slice.width()),
        };
        let values = finite(array, task, &slice, &window)?;
        let band = MatRef::from_row_major_slice(&values, window.rows.count as usize, side);
        triangular::matmul(
            sum.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Add,
            band.transpose(),
            BlockStructure::Rectangular,
            band,
            BlockStructure::Rectangular,
            1.0,
            faer::get_global_parallelism(),
        );
    }
    task.check()?;
    task.set_message("eigenvalues");
    let eigenvalues = sum.self_adjoint_eigenvalues(Side::Lower).map_err(|_| unsolved())?;
    let mut values: Vec<f64> = eigenvalues.into_iter().map(|value| value.max(0.0).sqrt()).collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    let largest = values.first().copied().unwrap_or(0.0);
    Ok((values, largest * (f64::EPSILON * side as f64).sqrt()))
}

fn unsolved() -> Error {
    Error::unsupported("a matrix whose decomposition does not converge")
}

/// The elements of a window, all of which are numbers.
fn finite(
    array: &dyn Array,
    task: &Task,
    slice: &Slice,
    window: &crate::data::plane::Window,
) -> Result<Vec<f64>> {
    task.check()?;
    let values = norms::plane(array, task, slice, window)?;
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        let width = (window.columns.count as usize).max(1);
        let (row, column) =
            (window.rows.start + (at / width) as u64, window.columns.start + (at % width) as u64);
        let index = slice.index(row, column);
        let what = if values.get(at).is_some_and(|value| value.is_nan()) { "NaN" } else { "infinite" };
        return Err(Error::unsupported(format!(
            "singular values of a matrix with elements that are not finite: {what} at {index:?}"
        )));
    }
    task.advance(window.elements())?;
    Ok(values)
}

/// What singular values tell.
fn tell(shape: (u64, u64), values: Vec<f64>, floor: f64, task: &Task) -> Result<Spectrum> {
    let largest = values.first().copied().unwrap_or(0.0);
    let least = values.last().copied().unwrap_or(0.0);
    let (mut stable_rank, mut effective_rank) = (None, None);
    if largest > 0.0 {
        stable_rank = Some(values.iter().map(|value| (value / largest).powi(2)).sum());
        let sum: f64 = values.iter().sum();
        let shares = values.iter().map(|value| value / sum).filter(|share| *share > 0.0);
        effective_rank = Some((-shares.map(|share| share * share.ln()).sum::<f64>()).exp());
    }
    let eigenvalues: Vec<f64> =
        values.iter().rev().filter(|value| **value > floor).map(|value| value * value).collect();
    Ok(Spectrum {
        shape,
        floor,
        stable_rank,
        effective_rank,
        rank: eigenvalues.len(),
        condition: (least > floor).then(|| largest / least),
        tail: power_law(&eigenvalues, task)?,
        values,
    })
}

/// The power law that the tail of values in ascending order is nearest to; see [`PowerLaw`].
///
/// # Errors
/// `Cancelled`.
fn power_law(values: &[f64], task: &Task) -> Result<Option<PowerLaw>> {
    if values.len() < FEWEST {
        return Ok(None);
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    // Sums of the logarithms from each on.
    let mut sums = logs.clone();
    let mut sum = 0.0;
    for place in sums.iter_mut().rev() {
        sum += *place;
        *place = sum;
    }
    let mut best: Option<PowerLaw> = None;
    let candidates = values.iter().zip(&logs).zip(&sums).enumerate().take(values.len() - 1);
    for (first, ((&x_min, &log), &sum)) in candidates {
        if first % 64 == 0 {
            task.check()?;
        }
        let count = values.len() - first;
        let n = count as f64;
        let alpha = 1.0 + n / (sum - n * log);
        if !alpha.is_finite() || alpha <= 1.0 {
            continue;
        }
        let tail = logs.get(first..).unwrap_or_default();
        let apart = |(n_below, value): (usize, &f64)| {
            (1.0 - ((1.0 - alpha) * (value - log)).exp() - n_below as f64 / n).abs()
        };
        let distance = tail.iter().enumerate().map(apart).fold(0.0, f64::max);
        if best.is_none_or(|best| distance < best.distance) {
            best = Some(PowerLaw { alpha, x_min, count, distance, sigma: (alpha - 1.0) / n.sqrt() });
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests;
