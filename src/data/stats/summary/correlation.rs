//! Pearson's correlation of numeric columns.

use super::super::column::values;
use super::SAMPLE;
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{Picked, Table};
use crate::data::infer;
use crate::data::scan::fold_columns;
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use rayon::prelude::*;

/// How numeric columns go together.
#[derive(Clone, Debug, Default)]
pub struct Correlation {
    /// The columns, by their places in the table.
    pub columns: Vec<usize>,
    /// Pearson's coefficients, row by row; NaN where a column is constant.
    pub values: Vec<f64>,
    /// Rows that they were computed from.
    pub rows: u64,
}

/// The most columns of a correlation matrix.
const CORRELATED: usize = 64;

/// Pearson's correlation of the numeric columns among `columns`, from rows all over the table; a pair of
/// cells counts where both are finite numbers.
///
/// # Errors
/// `Cancelled`; what reading gives.
pub fn correlation(table: &dyn Table, task: &Task, columns: &[usize]) -> Result<Correlation> {
    let numeric = |&c: &usize| table.column_type(c).is_numeric();
    let columns: Vec<usize> = columns.iter().copied().filter(numeric).take(CORRELATED).collect();
    let picked = Picked::sample(table, task, SAMPLE)?;
    let series = columns.iter().map(|&column| (column, (infer::inferred(table, column), Vec::new())));
    let add = |(inferred, series): &mut (Option<DataType>, Vec<f64>), array: &ArrayRef, times: u64| {
        let floats = arrow::compute::cast(&values(array, inferred.as_ref())?, &DataType::Float64)?;
        for value in floats.as_primitive::<Float64Type>() {
            series.extend(std::iter::repeat_n(value.unwrap_or(f64::NAN), times as usize));
        }
        Ok(())
    };
    let series = fold_columns(task, &picked, picked.len(), series.collect(), add)?;
    let series = series.into_iter().map(|series| Ok(series?.1)).collect::<Result<Vec<_>>>()?;
    let rows = series.first().map_or(0, |s| s.len() as u64);
    let pair = |at: usize| {
        let (a, b) = (series.get(at / columns.len())?, series.get(at % columns.len())?);
        Some(pearson(a, b))
    };
    let found =
        (0..columns.len() * columns.len()).into_par_iter().map(|at| pair(at).unwrap_or(f64::NAN)).collect();
    Ok(Correlation { columns, values: found, rows })
}

fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let pairs = || a.iter().zip(b).filter(|(x, y)| x.is_finite() && y.is_finite());
    let count = pairs().count() as f64;
    let mean = |sum: f64| sum / count;
    let (x, y) = (mean(pairs().map(|p| p.0).sum()), mean(pairs().map(|p| p.1).sum()));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (p, q) in pairs() {
        xy += (p - x) * (q - y);
        xx += (p - x) * (p - x);
        yy += (q - y) * (q - y);
    }
    xy / (xx * yy).sqrt()
}
