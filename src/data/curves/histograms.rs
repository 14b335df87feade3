//! Histograms over steps: how something was distributed at each step, as one picture.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Table;
use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};

/// Which columns of a table hold histograms: a row is a bucket, those of a step stand together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramColumns {
    /// The step.
    pub step: usize,
    /// The left edge of the bucket.
    pub left: usize,
    /// Its right edge.
    pub right: usize,
    /// How many values lie in it.
    pub count: usize,
}

/// The most steps of a picture; of more so many each are taken together.
pub const STEPS: usize = 1_024;
/// The buckets of a picture, all of one width.
pub const BUCKETS: usize = 96;
/// Rows that are read at once.
const ROWS: u64 = 65_536;
/// Edges beyond this stand for infinity, as TensorFlow 1 writes it.
const FAR: f64 = 1e300;

/// Histograms over steps, in buckets of one width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// The first step of each column of the picture.
    pub steps: Vec<i64>,
    /// How many steps were taken together.
    pub every: usize,
    /// The lowest and the highest edge.
    pub range: (f64, f64),
    /// The counts, `steps × BUCKETS`, the lowest bucket first.
    pub counts: Vec<f64>,
    /// Values that lie in no bucket with finite edges.
    pub outside: f64,
}

impl Heat {
    /// The counts of a column.
    pub fn column(&self, n: usize) -> &[f64] {
        self.counts.get(n * BUCKETS..(n + 1) * BUCKETS).unwrap_or_default()
    }
}

/// Reads the histograms of a table, twice: for the range of their values, and for their counts. The values of a bucket
/// are taken to lie evenly between its edges.
///
/// Memory: `STEPS × BUCKETS` numbers.
///
/// # Errors
/// Those of the table; `Cancelled`.
pub fn read(task: &Task, table: &dyn Table, columns: &HistogramColumns) -> Result<Heat> {
    let (mut low, mut high, mut steps) = (f64::INFINITY, f64::NEG_INFINITY, 0_usize);
    let mut before = None;
    each(task, table, columns, &mut |step, bucket| {
        steps += usize::from(before.replace(step) != Some(step));
        if let Some((left, right, _)) = bucket.finite() {
            (low, high) = (low.min(left), high.max(right));
        }
    })?;
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    if low == high {
        let air = (low.abs() * 0.05).max(0.5);
        (low, high) = (low - air, high + air);
    }
    let every = steps.div_ceil(STEPS).max(1);
    let mut heat = Heat { every, range: (low, high), ..Heat::default() };
    let (mut before, mut seen) = (None, 0_usize);
    each(task, table, columns, &mut |step, bucket| {
        if before.replace(step) != Some(step) {
            if seen.is_multiple_of(every) {
                heat.steps.push(step);
                heat.counts.resize(heat.steps.len() * BUCKETS, 0.0);
            }
            seen += 1;
        }
        match bucket.finite() {
            Some(bucket) => heat.add(bucket),
            None => heat.outside += bucket.count.max(0.0),
        }
    })?;
    Ok(heat)
}

impl Heat {
    /// Adds a bucket to the last column.
    fn add(&mut self, (left, right, count): (f64, f64, f64)) {
        let (low, high) = self.range;
        let wide = (high - low) / BUCKETS as f64;
        let Some(start) = self.steps.len().checked_sub(1).map(|n| n * BUCKETS) else { return };
        let place = |x: f64| (((x - low) / wide).max(0.0) as usize).min(BUCKETS - 1);
        let (first, last) = (place(left), place(right));
        for n in first..=last {
            let (from, to) = (low + wide * n as f64, low + wide * (n + 1) as f64);
            let share = if first == last {
                1.0
            } else {
                ((right.min(to) - left.max(from)) / (right - left)).max(0.0)
            };
            if let Some(cell) = self.counts.get_mut(start + n) {
                *cell += count * share;
            }
        }
    }
}

/// A bucket as the file has it.
struct Bucket {
    left: f64,
    right: f64,
    count: f64,
}

impl Bucket {
    /// Its edges and its count, where it has any values and at least one edge that is a number. One edge that is none
    /// is taken for the other.
    fn finite(&self) -> Option<(f64, f64, f64)> {
        let is_near = |edge: f64| edge.abs() < FAR;
        if !(self.count > 0.0 && self.count.is_finite()) {
            return None;
        }
        let (left, right) = match (is_near(self.left), is_near(self.right)) {
            (true, true) => (self.left, self.right),
            (true, false) => (self.left, self.left),
            (false, true) => (self.right, self.right),
            (false, false) => return None,
        };
        (left <= right).then_some((left, right, self.count))
    }
}

fn each(
    task: &Task,
    table: &dyn Table,
    columns: &HistogramColumns,
    take: &mut dyn FnMut(i64, Bucket),
) -> Result<()> {
    let picked = [columns.step, columns.left, columns.right, columns.count];
    let mut at = 0_u64;
    loop {
        task.check()?;
        let batch = table.read(task, at..at.saturating_add(ROWS), &picked)?;
        let rows = batch.num_rows();
        let number = |n: usize| floats(&batch, n);
        let (left, right, count) = (number(1)?, number(2)?, number(3)?);
        let steps = cast(column(&batch, 0)?, &DataType::Int64)?.as_primitive::<Int64Type>().clone();
        for (row, step) in steps.iter().enumerate() {
            let cell = |of: &[f64]| of.get(row).copied().unwrap_or(f64::NAN);
            let bucket = Bucket { left: cell(&left), right: cell(&right), count: cell(&count) };
            if let Some(step) = step {
                take(step, bucket);
            }
        }
        at += rows as u64;
        if (rows as u64) < ROWS {
            return Ok(());
        }
    }
}

fn column(batch: &RecordBatch, n: usize) -> Result<&arrow::array::ArrayRef> {
    batch.columns().get(n).ok_or_else(|| Error::bug("a column of histograms was not read"))
}

fn floats(batch: &RecordBatch, n: usize) -> Result<Vec<f64>> {
    let array = cast(column(batch, n)?, &DataType::Float64)?;
    Ok(array.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}
