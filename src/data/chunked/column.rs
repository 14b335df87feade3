//! Elements without a fixed size: columns of chunks, gathered into the column of a region.

use super::copy::Runs;
use super::{Chunked, DecodedChunk, Wanted, grid::Cut};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Array as _;
use crate::data::dtype::DType;
use crate::data::region::Region;
use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::interleave;
use rayon::prelude::*;

/// One chunk's column and where its rows go.
struct Taken {
    /// `None` for a chunk that is not there.
    rows: Option<ArrayRef>,
    /// The shape that the rows are the elements of.
    shape: Vec<u64>,
    cuts: Vec<Cut>,
}

impl Chunked {
    /// A decoded column, if it is what was promised.
    pub(super) fn check_column(&self, index: &[u64], column: ArrayRef) -> Result<DecodedChunk> {
        let rows = column.len() as u64;
        let (whole, cut) =
            (limits::elements(&self.grid.whole(index))?, limits::elements(&self.grid.cut(index))?);
        if rows != whole && rows != cut {
            return Err(Error::malformed(format!("data: it decodes to {rows} elements of {whole}")));
        }
        if let DType::Variable(kind) = &self.dtype
            && kind.arrow != *column.data_type()
        {
            return Err(Error::bug(format!("a column of {} in one of {}", column.data_type(), kind.arrow)));
        }
        Ok(DecodedChunk::Column { column, cut: rows == cut && rows != whole })
    }

    /// The elements of a region as one column.
    pub(super) fn gather(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        region.check(self.shape())?;
        let DType::Variable(kind) = &self.dtype else {
            return Err(Error::bug("columns are gathered of elements without a size only"));
        };
        let elements = region.elements()?;
        // Sixteen bytes is what each element takes at least on the way.
        limits::check(elements.saturating_mul(16), limits::READ, "this part of the array")?;
        if elements == 0 {
            return Ok(new_null_array(&kind.arrow, 0));
        }
        let plan = self.grid.plan(region);
        let large = self.is_large(plan.count());
        let take = |(index, cuts): (Vec<u64>, Vec<Cut>)| -> Result<Taken> {
            let keep = !(large && self.grid.takes_all(&index, &cuts));
            Ok(match self.decoded(task, &index, keep)? {
                DecodedChunk::Column { column, cut: true } => {
                    Taken { rows: Some(column), shape: self.grid.cut(&index), cuts }
                }
                DecodedChunk::Column { column, .. } => {
                    Taken { rows: Some(column), shape: self.grid.whole(&index), cuts }
                }
                _ => Taken { rows: None, shape: Vec::new(), cuts },
            })
        };
        let taken: Vec<Taken> = match self.wanted(task, &plan)? {
            Wanted::All(count) => {
                (0..count).into_par_iter().map(|n| take(plan.at(n))).collect::<Result<_>>()?
            }
            Wanted::There(chunks) => chunks.into_par_iter().map(take).collect::<Result<_>>()?,
        };
        let fill = self.fill_column.clone().unwrap_or_else(|| new_null_array(&kind.arrow, 1));
        if let [Taken { rows: Some(rows), cuts, .. }] = taken.as_slice()
            && rows.len() as u64 == elements
            && cuts.iter().all(|cut| cut.step == 1)
        {
            return Ok(rows.clone());
        }
        join(&fill, &taken, &region.shape(), elements)
    }
}

/// The rows of all chunks in the order of the region; `fill` has one row.
fn join(fill: &ArrayRef, taken: &[Taken], out: &[u64], elements: u64) -> Result<ArrayRef> {
    let mut columns: Vec<&dyn Array> = vec![fill.as_ref()];
    let mut order = vec![(0usize, 0usize); elements as usize];
    for Taken { rows, shape, cuts } in taken {
        let Some(rows) = rows else { continue };
        let number = columns.len();
        columns.push(rows.as_ref());
        let runs = Runs::new(shape, cuts, out);
        runs.each(|from, to| {
            let places = order.get_mut(to as usize..).unwrap_or_default().iter_mut();
            for (n, place) in places.take(runs.len as usize).enumerate() {
                *place = (number, (from + n as u64 * runs.step) as usize);
            }
        });
    }
    Ok(interleave(&columns, &order)?)
}
