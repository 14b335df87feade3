//! A Parquet file as a table: any rows of any columns, each column decoded on its own.
//!
//! A column is read through the offset index where the file has one, so that a far page costs about
//! one data page; small reads are decoded in aligned windows that a cache keeps.

use super::ParquetFile;
use super::corrected::{Corrected, Parts};
use super::footer::{Chunks, Footer, options};
use super::place::{self, Chunk};
use super::{facts, in_column, pages};
use crate::bytes::cache::{Cache, Reservation};
use crate::bytes::error::{Error, ErrorKind, Result, UnlessCancelled};
use crate::bytes::guard::catch_decoder_panic;
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut, joined, project};
use crate::data::content::{ColumnStatistics, Layout, RowRanges, Rows, Table, TableFacts};
use crate::data::location::{BytePlace, Location, Owner};
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReaderBuilder, RowSelectionPolicy,
};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use rayon::prelude::*;
use std::any::Any;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Decoded windows that are kept, in bytes.
const KEPT: usize = 64 << 20;
/// About how many bytes one window decodes to.
const WINDOW: u64 = 512 << 10;
/// Rows of one decoded batch; between batches a read can be cancelled.
const BATCH: u64 = 65_536;
/// The most rows for a byte of the file: a page has up to 2^31 values, and more than eight bytes.
const MOST: u64 = 1 << 28;
/// About how many raw bytes one step of a scan covers.
const SCAN: u64 = 64 << 20;

/// A Parquet file's rows.
pub(super) struct ParquetTable {
    source: Source,
    len: u64,
    schema: SchemaRef,
    /// As in the footer.
    footer: ArrowReaderMetadata,
    plain_schema: bool,
    /// With the offset indexes, once something was read.
    indexed: Cache<(), ArrowReaderMetadata>,
    /// The first row of each row group, and the end of the last.
    starts: Vec<u64>,
    /// The index of each column among the file's top-level fields.
    roots: Vec<usize>,
    /// For each column, how many rows one cached window has.
    windows: Vec<u64>,
    /// Columns that cannot be read without a key.
    encrypted: HashSet<usize>,
    corrected: Corrected,
    /// Columns in row groups whose pages are not too large.
    checked: Mutex<HashSet<(usize, usize)>>,
    /// Whether all values of a chunk may be too large: such files are read here alone.
    has_huge: bool,
    cache: Cache<(usize, u64), ArrayRef>,
    facts: OnceLock<TableFacts>,
    /// The footer's own bytes.
    _reservation: Reservation,
}

impl ParquetTable {
    /// The table of a file whose footer was read.
    ///
    /// # Errors
    /// `Malformed` for negative or overflowing row counts and for column chunks that do not match
    /// the schema.
    pub(super) fn new(source: Source, footer: Footer) -> Result<Self> {
        let schema = footer.metadata.schema().clone();
        let metadata = footer.metadata.metadata();
        let starts = starts(metadata, footer.len)?;
        let roots = roots(metadata, &schema)?;
        let windows = windows(metadata, &roots, starts.last().copied().unwrap_or(0));
        let column_of = |leaf: &usize| {
            let descr = metadata.file_metadata().schema_descr();
            let root = (*leaf < descr.num_columns()).then(|| descr.get_column_root_idx(*leaf))?;
            roots.iter().position(|&one| one == root)
        };
        Ok(ParquetTable {
            encrypted: footer.encrypted.iter().filter_map(column_of).collect(),
            corrected: Corrected::new(),
            checked: Mutex::default(),
            has_huge: metadata.row_groups().iter().flat_map(|group| group.columns()).any(pages::has_huge),
            source,
            len: footer.len,
            schema,
            plain_schema: footer.plain_schema,
            indexed: Cache::with_last(0),
            starts,
            roots,
            windows,
            cache: Cache::new(KEPT),
            facts: OnceLock::new(),
            _reservation: Reservation::new(metadata.memory_size()),
            footer: footer.metadata,
        })
    }

    /// What is known of chunks whose sizes are wrong.
    #[cfg(test)]
    pub(super) fn corrected(&self) -> &Corrected {
        &self.corrected
    }

    fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.footer.metadata()
    }

    /// The metadata with offset indexes, read at the first need. An index that does not parse is
    /// done without.
    fn indexed(&self, task: &Task) -> Result<ArrowReaderMetadata> {
        if let Some(metadata) = self.indexed.get(&()) {
            return Ok(metadata);
        }
        let chunks = self.chunks(task);
        let loaded = catch_decoder_panic("the page index", || {
            let mut reader = ParquetMetaDataReader::new_with_metadata((**self.metadata()).clone())
                .with_column_index_policy(PageIndexPolicy::Skip)
                .with_offset_index_policy(PageIndexPolicy::Optional);
            reader.read_page_indexes(&chunks)?;
            Ok(ArrowReaderMetadata::try_new(Arc::new(reader.finish()?), options(self.plain_schema))?)
        });
        let metadata = match loaded.unless_cancelled()? {
            Ok(metadata) if index_is_sound(metadata.metadata(), self.len) => metadata,
            _ => self.footer.clone(),
        };
        self.indexed.put((), metadata.clone(), metadata.metadata().memory_size());
        Ok(metadata)
    }

    /// The rows of the row group that holds row `at`, which is there.
    fn group(&self, at: u64) -> Range<u64> {
        let end = self.starts.partition_point(|&start| start <= at);
        let bound = |n: usize| self.starts.get(n).copied().unwrap_or(self.total());
        bound(end.saturating_sub(1))..bound(end).max(at + 1)
    }

    fn chunks(&self, task: &Task) -> Chunks {
        Chunks { source: self.source.clone(), task: task.clone(), len: self.len }
    }

    /// Whether the file's fields are the columns. A file with an Arrow schema that does not fit, or with fields that
    /// hold nothing, is for us alone.
    fn is_plain(&self) -> bool {
        let fields = self.metadata().file_metadata().schema_descr().root_schema().get_fields().len();
        !self.plain_schema && fields == self.schema.fields().len()
    }

    /// Parts of a column, one behind the other.
    fn joined(&self, column: usize, parts: &[ArrayRef]) -> Result<ArrayRef> {
        let field = self.schema.fields().get(column).ok_or_else(|| Error::bug("no such column"))?;
        joined(parts, field.data_type())
    }

    fn name(&self, column: usize) -> &str {
        self.schema.fields().get(column).map_or("", |field| field.name())
    }

    /// One column of the rows `rows`, which are there: through the cache where that pays.
    fn column(
        &self,
        task: &Task,
        metadata: &ArrowReaderMetadata,
        column: usize,
        rows: Range<u64>,
    ) -> Result<ArrayRef> {
        let window = self.windows.get(column).copied().unwrap_or(1);
        if (rows.end - rows.start) / window >= 4 {
            return self.decode(task, metadata, column, rows);
        }
        // Windows stay inside their row group: a broken one must not hide its neighbours.
        let mut parts = Vec::new();
        let mut at = rows.start;
        while at < rows.end {
            let group = self.group(at);
            let start = at - (at - group.start) % window;
            let block = start..(start + window).min(group.end);
            let to = rows.end.min(block.end);
            let whole = match self.cache.get(&(column, start)) {
                Some(whole) => whole,
                None => {
                    let whole = self.decode(task, metadata, column, block)?;
                    self.cache.put((column, start), whole.clone(), whole.get_array_memory_size());
                    whole
                }
            };
            parts.push(whole.slice((at - start) as usize, (to - at) as usize));
            at = to;
        }
        self.joined(column, &parts)
    }

    /// Decodes one column of the rows `rows`, which are there. Where that fails with the footer's metadata, its row
    /// groups are read one by one with what their pages say, and without a page index.
    fn decode(
        &self,
        task: &Task,
        metadata: &ArrowReaderMetadata,
        column: usize,
        rows: Range<u64>,
    ) -> Result<ArrayRef> {
        let first = self.starts.partition_point(|&start| start <= rows.start).saturating_sub(1);
        let groups = first..self.starts.partition_point(|&start| start < rows.end);
        self.check_values(task, column, groups.clone())?;
        let error = match groups.clone().any(|group| self.corrected.helps((column, group))) {
            true => None,
            false => {
                match self.decode_groups(task, metadata, column, groups.clone(), &rows).unless_cancelled()? {
                    Err(error) => Some(error),
                    read => return read,
                }
            }
        };
        match self.decode_mended(task, metadata, column, groups, &rows).unless_cancelled()? {
            // What is wrong by the footer's own words says more.
            Err(other) => Err(error.unwrap_or(other)),
            Ok(Some(array)) => Ok(array),
            Ok(None) => Err(error.unwrap_or_else(|| Error::bug("what was corrected is not"))),
        }
    }

    /// Refuses row groups with pages of which a few values are too much to hold.
    fn check_values(&self, task: &Task, column: usize, groups: Range<usize>) -> Result<()> {
        let leaves = self.leaves(column);
        for group in groups {
            let Some(about) = self.metadata().row_groups().get(group) else { continue };
            if self.checked.lock().contains(&(column, group)) {
                continue;
            }
            for chunk in leaves.iter().filter_map(|&leaf| about.columns().get(leaf)) {
                match pages::check_values(task, &self.source, chunk, self.len).unless_cancelled()? {
                    Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
                    // Pages that cannot be walked are for the decoder to refuse.
                    _ => {}
                }
            }
            self.checked.lock().insert((column, group));
        }
        Ok(())
    }

    /// The same rows with metadata that was corrected; `None` where there is nothing to mend.
    fn decode_mended(
        &self,
        task: &Task,
        metadata: &ArrowReaderMetadata,
        column: usize,
        groups: Range<usize>,
        rows: &Range<u64>,
    ) -> Result<Option<ArrayRef>> {
        let root = *self.roots.get(column).ok_or_else(|| Error::bug("a column without a root"))?;
        let parts = Parts {
            source: &self.source,
            metadata: self.metadata(),
            len: self.len,
            plain_schema: self.plain_schema,
            root,
        };
        let is_indexed = metadata.metadata().offset_index().is_some();
        let mut wrong = Vec::new();
        for group in groups.clone() {
            task.check()?;
            if self.corrected.is_wrong(task, &parts, (column, group))? {
                wrong.push(group);
            }
        }
        if wrong.is_empty() && !is_indexed {
            return Ok(None);
        }
        let mut arrays = Vec::new();
        for group in groups.clone() {
            let bound = |n: usize| self.starts.get(n).copied().unwrap_or(self.total());
            let part = rows.start.max(bound(group))..rows.end.min(bound(group + 1));
            if part.is_empty() {
                continue;
            }
            let one = self.corrected.metadata(&parts, (column, group))?;
            let before = part.start - bound(group);
            arrays.push(self.decode_rows(task, &one, column, 0..1, before, part.end - part.start)?);
        }
        let helped = if wrong.is_empty() { groups.collect() } else { wrong };
        helped.into_iter().for_each(|group| self.corrected.set_helps((column, group)));
        self.joined(column, &arrays).map(Some)
    }

    /// Decodes rows of these row groups of the file.
    fn decode_groups(
        &self,
        task: &Task,
        metadata: &ArrowReaderMetadata,
        column: usize,
        groups: Range<usize>,
        rows: &Range<u64>,
    ) -> Result<ArrayRef> {
        let before = rows.start - self.starts.get(groups.start).copied().unwrap_or(0);
        self.decode_rows(task, metadata, column, groups, before, rows.end - rows.start)
    }

    /// Decodes `wanted` rows of one column that follow `before` others in row groups of `metadata`.
    fn decode_rows(
        &self,
        task: &Task,
        metadata: &ArrowReaderMetadata,
        column: usize,
        groups: Range<usize>,
        before: u64,
        wanted: u64,
    ) -> Result<ArrayRef> {
        let root = *self.roots.get(column).ok_or_else(|| Error::bug("a column without a root"))?;
        catch_decoder_panic("a page", || {
            let mask = ProjectionMask::roots(metadata.parquet_schema(), [root]);
            let chunks = self.chunks(task);
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, metadata.clone())
                .with_row_groups(groups.collect())
                .with_projection(mask)
                .with_row_selection_policy(RowSelectionPolicy::Selectors)
                .with_batch_size(wanted.min(BATCH) as usize)
                .with_offset(before as usize)
                .with_limit(wanted as usize)
                .build()?;
            let (mut parts, mut got, mut bytes) = (Vec::new(), 0u64, 0u64);
            for batch in reader {
                task.check()?;
                let batch = batch.map_err(|e| task.check().err().unwrap_or_else(|| e.into()))?;
                let array =
                    batch.columns().first().ok_or_else(|| Error::bug("a batch without its column"))?;
                got += array.len() as u64;
                bytes = bytes.saturating_add(array.get_array_memory_size() as u64);
                limits::check(bytes, limits::READ, "this part of the column")?;
                parts.push(array.clone());
            }
            if got != wanted {
                return Err(Error::malformed(format!("column chunk: {got} of {wanted} rows are there")));
            }
            self.joined(column, &parts)
        })
    }

    /// The column chunk of a leaf in a row group.
    fn chunk<'a>(&'a self, metadata: &'a ParquetMetaData, group: usize, leaf: usize) -> Option<Chunk<'a>> {
        let chunk = metadata.row_groups().get(group)?.columns().get(leaf)?;
        // One in another file has no place here.
        chunk.file_path().is_none().then_some(Chunk {
            source: &self.source,
            end: self.len,
            metadata,
            group,
            leaf,
            chunk,
        })
    }

    /// The leaves of a column.
    fn leaves(&self, column: usize) -> Vec<usize> {
        let (descr, root) = (self.metadata().file_metadata().schema_descr(), self.root(column));
        (0..descr.num_columns()).filter(|leaf| descr.get_column_root_idx(*leaf) == root).collect()
    }

    /// The number of a column's root in the file's schema.
    fn root(&self, column: usize) -> usize {
        self.roots.get(column).copied().unwrap_or(usize::MAX)
    }
}

impl Table for ParquetTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.total())
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        let rows = cut(&rows, self.total());
        let count = rows.end - rows.start;
        if count == 0 {
            return Ok(RecordBatch::new_empty(project(&self.schema, columns)?));
        }
        let metadata = self.indexed(task)?;
        let one = |&column: &usize| {
            if self.encrypted.contains(&column) {
                return Err(in_column(encrypted(), self.name(column)));
            }
            let read = self.column(task, &metadata, column, rows.clone());
            read.map_err(|e| in_column(e, self.name(column)))
        };
        // Of several errors the first column's is told, not the one that was there first.
        let read: Vec<Result<_>> = columns.par_iter().map(one).collect();
        batch(&self.schema, columns, read.into_iter().collect::<Result<Vec<_>>>()?, count as usize)
    }

    fn scan_step(&self, at: u64) -> u64 {
        let group = self.starts.partition_point(|&start| start <= at).saturating_sub(1);
        let (Some(&start), Some(&end)) = (self.starts.get(group), self.starts.get(group + 1)) else {
            return BATCH;
        };
        let raw = self.metadata().row_groups().get(group).map_or(0, |g| g.total_byte_size().max(0) as u64);
        // The group in equal parts of about SCAN bytes each.
        let parts = raw.div_ceil(SCAN).clamp(1, (end - start).max(1));
        (end - start).div_ceil(parts).min(end.saturating_sub(at)).max(1)
    }

    fn facts(&self) -> TableFacts {
        self.facts.get_or_init(|| facts::facts(self.metadata(), &self.roots)).clone()
    }

    fn statistics(&self, column: usize) -> Option<ColumnStatistics> {
        let field = self.schema.fields().get(column)?;
        catch_decoder_panic("statistics", || Ok(facts::statistics(self.metadata(), field, self.root(column))))
            .ok()
            .flatten()
    }

    fn layout(&self) -> Layout {
        facts::layout(self.metadata(), &self.starts)
    }

    fn row_ranges(&self, _task: &Task, columns: &[usize], _parts: &[bool]) -> Result<Option<RowRanges>> {
        let groups = self.starts.windows(2).map(|ends| ends.iter().copied());
        let rows = groups.filter_map(|mut ends| Some(ends.next()?..ends.next()?)).collect::<Vec<_>>();
        let whole = self.is_plain();
        let one = |&column: &usize| match whole {
            true => facts::ranges(self.metadata(), self.schema.field(column), self.root(column)),
            false => ColumnStatistics::unknown(self.schema.field(column).data_type(), rows.len()),
        };
        let columns = columns.iter().map(one).collect();
        Ok(Some(RowRanges { rows, columns }))
    }

    fn location(&self, task: &Task, row: u64, column: usize) -> Result<Option<Location>> {
        let leaves = self.leaves(column);
        let (Some(&leaf), true) = (leaves.first(), row < self.total() && !self.encrypted.contains(&column))
        else {
            return Ok(None);
        };
        let indexed = self.indexed(task)?;
        let group = self.starts.partition_point(|&start| start <= row).saturating_sub(1);
        let first = self.starts.get(group).copied().unwrap_or(0);
        let Some(chunk) = self.chunk(indexed.metadata(), group, leaf) else { return Ok(None) };
        let is_flat = leaves.len() == 1 && chunk.chunk.column_descr().max_rep_level() == 0;
        if is_flat && chunk.chunk.column_path().parts().len() == 1 {
            return chunk.cell(task, row - first).map(Some);
        }
        // The values of a cell lie in a chunk for each leaf.
        let mut location = chunk.location();
        for leaf in leaves.iter().skip(1) {
            if let Some(chunk) = self.chunk(indexed.metadata(), group, *leaf) {
                location = location.part("column chunk", chunk.location());
            }
        }
        Ok(Some(location))
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        let descr = self.metadata().file_metadata().schema_descr();
        for group in 0..self.metadata().num_row_groups() {
            task.check()?;
            let first = self.starts.get(group).copied().unwrap_or(0);
            for leaf in 0..descr.num_columns() {
                let Some(chunk) = self.chunk(self.metadata(), group, leaf) else { continue };
                let root = descr.get_column_root_idx(leaf);
                let column = self.roots.iter().position(|one| *one == root).unwrap_or(0);
                if self.encrypted.contains(&column) {
                    continue;
                }
                let Some((unit, row)) = chunk.owner(task, byte)? else { continue };
                return Ok(Some(place::owner(unit, first.saturating_add(row.unwrap_or(0)), column)));
            }
        }
        Ok(None)
    }

    fn native(&self) -> Option<Box<dyn Any + Send>> {
        let file =
            || ParquetFile { source: self.source.clone(), len: self.len, metadata: self.footer.clone() };
        // Which columns are encrypted is known here alone, and huge values are refused here.
        let is_whole = self.is_plain() && self.encrypted.is_empty() && !self.has_huge;
        is_whole.then(|| Box::new(file()) as Box<dyn Any + Send>)
    }
}

fn encrypted() -> Error {
    Error::unsupported("an encrypted column, which cannot be read without its key")
}

/// The first row of each row group, and the number of all rows of a file of `len` bytes.
pub(super) fn starts(metadata: &ParquetMetaData, len: u64) -> Result<Vec<u64>> {
    let mut starts = vec![0u64];
    let mut total = 0u64;
    // Without columns nothing says how many rows there are.
    let most = match metadata.file_metadata().schema_descr().num_columns() {
        0 => i64::MAX as u64,
        _ => len.saturating_mul(MOST).min(i64::MAX as u64),
    };
    for (n, group) in metadata.row_groups().iter().enumerate() {
        let rows = u64::try_from(group.num_rows()).ok();
        total = rows.and_then(|rows| total.checked_add(rows)).filter(|&total| total <= most).ok_or_else(
            || {
                let rows = group.num_rows();
                Error::malformed(format!("footer: row group {n} has {rows} rows in a file of {len} bytes"))
            },
        )?;
        starts.push(total);
    }
    Ok(starts)
}

/// Which top-level field of the file each Arrow column is: the same order, but fields that hold
/// nothing (empty groups) have no column.
fn roots(metadata: &ParquetMetaData, schema: &SchemaRef) -> Result<Vec<usize>> {
    let fields = metadata.file_metadata().schema_descr().root_schema().get_fields();
    let mut roots = Vec::with_capacity(schema.fields().len());
    let mut next = 0;
    for column in schema.fields() {
        let at = fields.iter().skip(next).position(|f| f.name() == column.name());
        let at =
            at.ok_or_else(|| Error::malformed(format!("footer: column {:?} has no field", column.name())))?;
        roots.push(next + at);
        next += at + 1;
    }
    Ok(roots)
}

/// Rows of a cached window for each column: a power of two, fewer where cells are large.
fn windows(metadata: &ParquetMetaData, roots: &[usize], total: u64) -> Vec<u64> {
    let descr = metadata.file_metadata().schema_descr();
    let width = descr.root_schema().get_fields().len();
    let mut bytes = vec![0u64; width];
    for leaf in 0..descr.num_columns() {
        // Some row groups are enough to know about how large cells are.
        let sum: u64 = metadata
            .row_groups()
            .iter()
            .take(8)
            .filter_map(|g| g.columns().get(leaf))
            .map(|c| c.uncompressed_size().max(0) as u64)
            .fold(0, u64::saturating_add);
        if let Some(b) = bytes.get_mut(descr.get_column_root_idx(leaf)) {
            *b = b.saturating_add(sum);
        }
    }
    let seen: u64 = metadata.row_groups().iter().take(8).map(|g| g.num_rows().max(0) as u64).sum();
    roots
        .iter()
        .map(|&root| {
            let cell = (bytes.get(root).copied().unwrap_or(0) / seen.max(1)).max(8);
            let rows = (WINDOW / cell).clamp(1, 8192).min(total.max(1));
            1 << rows.ilog2()
        })
        .collect()
}

/// Whether the offset indexes can be trusted: pages in order, inside the file and the row group.
fn index_is_sound(metadata: &ParquetMetaData, len: u64) -> bool {
    let Some(index) = metadata.offset_index() else { return true };
    index.len() == metadata.num_row_groups()
        && index.iter().zip(metadata.row_groups()).all(|(columns, group)| {
            columns.len() == group.num_columns()
                && columns.iter().all(|column| {
                    let pages = column.page_locations();
                    let inside = pages.iter().all(|page| {
                        let end = u64::try_from(page.offset)
                            .ok()
                            .and_then(|o| o.checked_add(u64::try_from(page.compressed_page_size).ok()?));
                        end.is_some_and(|end| end <= len)
                    });
                    let ordered = pages.first().is_none_or(|p| p.first_row_index == 0)
                        && pages
                            .windows(2)
                            .all(|w| matches!(w, [a, b] if a.first_row_index < b.first_row_index))
                        && pages.last().is_none_or(|p| p.first_row_index < group.num_rows());
                    inside && ordered && (!pages.is_empty() || group.num_rows() == 0)
                })
        })
}
