//! Passes over all of a table or an array that are made where its reader is: of data that are read in another process only
//! what the pass tells crosses the border, not the data.

use super::summary::Summaries;
use super::tensor::TensorStats;
use super::{ArrayStats, Binning, Histogram, TableStats};
use crate::bytes::error::Result;
use crate::bytes::task::Task;

/// Passes over a table, each as the function that it is named after.
pub trait TablePasses {
    /// [`table`](super::table).
    ///
    /// # Errors
    /// As there.
    fn stats(&self, task: &Task, columns: &[usize]) -> Result<TableStats>;

    /// [`exact`](super::summary::exact) or [`sampled`](super::summary::sampled).
    ///
    /// # Errors
    /// As there.
    fn summaries(&self, task: &Task, columns: &[usize], exact: bool) -> Result<Summaries>;

    /// [`histograms`](super::histograms).
    ///
    /// # Errors
    /// As there.
    fn histograms(
        &self,
        task: &Task,
        columns: &[usize],
        stats: &TableStats,
        binning: Binning,
    ) -> Result<Vec<Option<Result<Histogram>>>>;
}

/// Passes over an array, each as the function that it is named after.
pub trait ArrayPasses {
    /// [`array`](super::array); with `lenient` [`readable`](super::readable).
    ///
    /// # Errors
    /// As there.
    fn stats(&self, task: &Task, bins: Option<usize>, lenient: bool) -> Result<ArrayStats>;

    /// [`tensor`](super::tensor::tensor).
    ///
    /// # Errors
    /// As there.
    fn tensor(&self, task: &Task) -> Result<TensorStats>;
}
