//! Sparse arrays of MXNet as whole ones: `csr` is a matrix of compressed rows; `row_sparse` stores some slices along the
//! first dimension, and their numbers in increasing order; all others are zero.
//! <https://mxnet.apache.org/versions/1.9.1/api/python/docs/api/ndarray/sparse/index.html>

use super::Shared;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::array::read;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::grouped;
use crate::data::region::{Region, Span};
use std::sync::{Arc, OnceLock};

/// A matrix of compressed rows.
pub(super) fn csr(shape: &[u64], values: Shared, columns: Shared, starts: Shared) -> Result<Shared> {
    let [rows, width] = shape[..] else {
        return Err(Error::malformed(format!("csr array: its shape is {shape:?}")));
    };
    grouped::compressed([rows, width], true, [values, columns, starts])
}

/// An array of which some slices along the first dimension are stored.
pub(super) fn rows(shape: Vec<u64>, values: Shared, numbers: Shared) -> Result<Shared> {
    let fits = match (shape.split_first(), values.shape().split_first(), numbers.shape()) {
        (Some((_, rest)), Some((stored, part)), [count]) => rest == part && stored == count,
        _ => false,
    };
    if !fits || !matches!(numbers.dtype(), DType::I64) {
        let (values, count) = (values.shape(), numbers.shape());
        let what =
            format!("row_sparse array: its values of {values:?} and rows of {count:?} do not fit {shape:?}");
        return Err(Error::malformed(what));
    }
    limits::bytes(&shape, values.dtype().size())?;
    Ok(Arc::new(RowSparse { shape, values, numbers, known: OnceLock::new() }))
}

struct RowSparse {
    shape: Vec<u64>,
    values: Shared,
    numbers: Shared,
    /// The numbers of the stored slices, in order.
    known: OnceLock<Vec<u64>>,
}

impl RowSparse {
    fn stored(&self, task: &Task) -> Result<&[u64]> {
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        let bytes = read(self.numbers.as_ref(), task, &Region::all(self.numbers.shape()))?;
        let number =
            |bytes: &[u8]| crate::bytes::numbers::le::<i64>(bytes, 0).and_then(|n| u64::try_from(n).ok());
        let numbers: Option<Vec<u64>> = bytes.chunks_exact(8).map(number).collect();
        let numbers = numbers.filter(|numbers| numbers.is_sorted_by(|a, b| a < b));
        let wrong = || Error::malformed("row_sparse array: its rows are not in order");
        let numbers = numbers.ok_or_else(wrong)?;
        Ok(self.known.get_or_init(|| numbers))
    }
}

impl Array for RowSparse {
    fn dtype(&self) -> &DType {
        self.values.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        out.fill(0);
        let Some((wanted, rest)) = region.0.split_first() else { return Ok(()) };
        if out.is_empty() || wanted.count == 0 {
            return Ok(());
        }
        let stored = self.stored(task)?;
        let size = out.len() / wanted.count as usize;
        let from = stored.partition_point(|row| *row < wanted.start);
        for (place, row) in stored.iter().enumerate().skip(from).take_while(|(_, row)| **row < wanted.end()) {
            task.check()?;
            let (step, offset) = (wanted.step.max(1), row - wanted.start);
            let at = (offset / step) as usize * size;
            if offset % step == 0
                && let Some(out) = out.get_mut(at..at + size)
            {
                let mut spans = vec![Span::range(place as u64, 1)];
                spans.extend_from_slice(rest);
                self.values.read(task, &Region(spans), out)?;
            }
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let rows = self.shape.first().copied().unwrap_or(0);
        let stored = self.values.shape().first().copied().unwrap_or(0);
        ArrayFacts {
            bytes_stored: self.values.facts().bytes_stored,
            details: vec![
                ("layout".to_owned(), "row_sparse".to_owned()),
                ("stored rows".to_owned(), format!("{stored} of {rows}")),
            ],
            ..ArrayFacts::default()
        }
    }
}
