//! Pearson's correlation of numeric columns.

use super::super::column::decoded;
use super::{BLOCK, SAMPLE};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::{Picked, Table};
use crate::data::infer;
use arrow::array::AsArray;
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
    let mut series: Vec<Vec<f64>> = vec![Vec::new(); columns.len()];
    for start in (0..picked.len()).step_by(BLOCK as usize) {
        let read = picked.read(task, start..start.saturating_add(BLOCK), &columns)?;
        for ((array, &column), series) in read.columns().iter().zip(&columns).zip(&mut series) {
            let array = match infer::inferred(table, column) {
                Some(kind) => infer::values(array, Some(&kind)).0,
                None => decoded(array)?,
            };
            let floats = arrow::compute::cast(&array, &DataType::Float64)?;
            series.extend(floats.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN)));
        }
    }
    let rows = series.first().map_or(0, |s| s.len() as u64);
    let pair = |at: usize| {
        let (a, b) = (series.get(at / columns.len())?, series.get(at % columns.len())?);
        Some(pearson(a, b))
    };
    let values =
        (0..columns.len() * columns.len()).into_par_iter().map(|at| pair(at).unwrap_or(f64::NAN)).collect();
    Ok(Correlation { columns, values, rows })
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
