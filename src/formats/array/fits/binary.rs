//! Binary tables: rows of fixed size, and behind them a heap for the arrays of variable size.

use super::column::{Column, columns};
use super::header::Header;
use super::rows::Stored;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be_unsigned;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::{Content, Rows, Table, TableFacts};
use crate::data::node::Node;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of rows that are read at a time.
const STEP: u64 = 4 << 20;

/// A binary table.
pub(super) struct Binary {
    stored: Stored,
    /// Where the heap lies.
    heap: Range<u64>,
    pub columns: Vec<Column>,
}

impl Binary {
    /// The table that a header describes, `bytes` of data behind it; the second is why rows are missing.
    pub(super) fn new(source: &Source, header: &Header, bytes: u64) -> Result<(Self, Option<Error>)> {
        let (row, rows) = (header.count("NAXIS1", 0)?, header.count("NAXIS2", 0)?);
        let columns = columns(header)?;
        let width: u64 = columns.iter().map(|column| column.width).fold(0, u64::saturating_add);
        if width > row {
            let what = format!("header: its columns take {width} bytes, a row has {row}");
            return Err(Error::malformed(what).at(header.data));
        }
        limits::check(row, limits::CHUNK, "a row").map_err(|e| e.at(header.data))?;
        let fixed = limits::bytes(&[rows], row)?;
        let heap = header.data.saturating_add(header.count("THEAP", fixed)?);
        let end = header.data.saturating_add(bytes);
        let end = source.known_len().map_or(end, |len| end.min(len));
        let fields = columns.iter().map(Column::field).collect();
        let (stored, problem) = Stored::new(source, header, (row, rows), fields);
        Ok((Binary { stored, heap: heap.min(end)..end, columns }, problem))
    }

    /// The bytes of one column of some rows that were read.
    fn gather(&self, column: &Column, bytes: &[u8]) -> Vec<u8> {
        let (start, end) = (column.offset as usize, column.offset.saturating_add(column.width) as usize);
        bytes
            .chunks_exact(self.stored.row as usize)
            .filter_map(|row| row.get(start..end))
            .flatten()
            .copied()
            .collect()
    }

    /// Elements of a variable cell and where they begin in the heap.
    fn descriptor(column: &Column, cell: &[u8]) -> (u64, u64) {
        let wide = column.heap == Some(true);
        let number = |n: usize| {
            let size = if wide { 8 } else { 4 };
            let bytes = cell.get(n * size..(n + 1) * size).unwrap_or_default();
            be_unsigned(bytes)
        };
        (number(0), number(1))
    }

    /// The bytes of the elements that a descriptor refers to.
    fn elements(&self, task: &Task, column: &Column, count: u64, at: u64) -> Result<bytes::Bytes> {
        let bytes = column.element.bytes(count)?;
        let start = self.heap.start.saturating_add(at);
        let end = start.saturating_add(bytes);
        if end > self.heap.end {
            let what = format!("column {:?}: {count} elements at {at} reach beyond the heap", column.name);
            return Err(Error::malformed(what).at(start.min(self.heap.end)));
        }
        limits::check(bytes, limits::CHUNK, "a cell")?;
        self.stored.source.read(task, start..end)
    }

    /// The heap bytes of a cell, and how many elements they are: what holds a tile of a compressed image.
    pub(super) fn cell(&self, task: &Task, column: &Column, row: u64) -> Result<(bytes::Bytes, u64)> {
        let at = self.stored.data + row * self.stored.row + column.offset;
        let bytes = self.stored.source.read(task, at..at + column.width)?;
        if column.heap.is_none() {
            return Ok((bytes, column.count));
        }
        let (count, place) = Self::descriptor(column, &bytes);
        Ok((self.elements(task, column, count, place)?, count))
    }

    pub(super) fn len(&self) -> u64 {
        self.stored.count
    }

    /// One column of some rows that were read.
    fn column(&self, task: &Task, column: &Column, bytes: &[u8], rows: usize) -> Result<ArrayRef> {
        let cells = self.gather(column, bytes);
        if column.heap.is_none() {
            return column.cells(cells, rows);
        }
        let (mut all, mut counts) = (Vec::new(), Vec::with_capacity(rows));
        for row in 0..rows {
            if row % 1024 == 0 {
                task.check()?;
            }
            let width = column.width as usize;
            let (count, at) =
                Self::descriptor(column, cells.get(row * width..(row + 1) * width).unwrap_or_default());
            let elements =
                if count == 0 { bytes::Bytes::new() } else { self.elements(task, column, count, at)? };
            limits::check(all.len() as u64 + elements.len() as u64, limits::READ, "these cells")?;
            all.extend_from_slice(&elements);
            counts.push(count as usize);
        }
        column.lists(all, &counts)
    }
}

impl Table for Binary {
    fn schema(&self) -> &SchemaRef {
        &self.stored.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.stored.count)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let cells = |column: &Column, bytes: &[u8], count: usize| self.column(task, column, bytes, count);
        self.stored.read(task, &rows, columns, &self.columns, cells)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        (STEP / self.stored.row.max(1)).clamp(1, 65_536)
    }

    fn facts(&self) -> TableFacts {
        TableFacts { columns: self.columns.iter().map(Column::details).collect(), ..TableFacts::default() }
    }
}

/// Gives a node its table.
pub(super) fn fill(source: &Source, header: &Header, bytes: u64, node: &mut Node) -> Result<()> {
    let (table, problem) = Binary::new(source, header, bytes)?;
    if header.is_true("ZTABLE") {
        node.remarks.push("a compressed table: its columns are shown as they are stored".to_owned());
    }
    node.problem = problem;
    node.content = Some(Content::Table(Arc::new(table)));
    Ok(())
}
