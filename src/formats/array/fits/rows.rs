//! The rows of both kinds of tables: all of the same size, one after the other behind the header.

use super::header::Header;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Where the rows of a table lie, and what is in them.
pub(super) struct Stored {
    pub(super) source: Source,
    /// Where the rows begin.
    pub(super) data: u64,
    /// Bytes of one row.
    pub(super) row: u64,
    /// How many rows are there.
    pub(super) count: u64,
    pub(super) schema: SchemaRef,
}

impl Stored {
    /// `count` rows of `row` bytes behind a header; the second is why rows are missing.
    pub(super) fn new(
        source: &Source,
        header: &Header,
        (row, count): (u64, u64),
        fields: Vec<Field>,
    ) -> (Self, Option<Error>) {
        let (source, schema) = (source.clone(), Arc::new(Schema::new(fields)));
        let mut stored = Stored { source, data: header.data, row, count, schema };
        let len = stored.source.known_len();
        let there = len.and_then(|len| len.saturating_sub(header.data).checked_div(row)).unwrap_or(count);
        if there >= count {
            return (stored, None);
        }
        stored.count = there;
        let what = format!("table: {there} of {count} rows are there; the file may be cut off");
        (stored, Some(Error::malformed(what).at(header.data)))
    }

    /// Columns of some rows, by their index in `all`; `cells` makes one of the bytes and count of rows.
    pub(super) fn read<C>(
        &self,
        task: &Task,
        rows: &Range<u64>,
        columns: &[usize],
        all: &[C],
        cells: impl Fn(&C, &[u8], usize) -> Result<ArrayRef>,
    ) -> Result<RecordBatch> {
        let rows = cut(rows, self.count);
        let count = limits::check(rows.end - rows.start, limits::READ, "rows")?;
        let start = self.data + rows.start * self.row;
        let len = limits::bytes(&[count as u64], self.row)?;
        limits::check(len, limits::READ, "these rows")?;
        let bytes =
            if self.row == 0 { bytes::Bytes::new() } else { self.source.read(task, start..start + len)? };
        let mut out = Vec::with_capacity(columns.len());
        for &index in columns {
            task.check()?;
            let column = all.get(index).ok_or_else(|| Error::bug(format!("column {index} was asked for")))?;
            out.push(cells(column, &bytes, count)?);
        }
        batch(&self.schema, columns, out, count)
    }
}
