//! Apache ORC: columns in stripes, with an index and statistics. <https://orc.apache.org/specification/ORCv1/>
//!
//! Opening reads the footer. Rows are decoded in blocks of a stripe, only the columns that are asked for, by
//! the `orc-rust` crate; blocks that were decoded are kept for a second look. What the crate cannot read of a
//! damaged file, it says as an error of those rows: the others stay readable.

#[cfg(test)]
mod tests;

use crate::cache::Cache;
use crate::content::table::{StoredStatistics, batch, cut};
use crate::content::{Block, Content, Kind, Layout, Rows, Table, TableFacts};
use crate::error::{Error, Result};
use crate::format::{Format, Opening};
use crate::node::Node;
use crate::open::distrusted;
use crate::sniff::{Head, Magic, Match};
use crate::source::{Reader, Source};
use crate::task::Task;
use arrow::array::{Array, ArrayRef, Date32Array, RecordBatch, TimestampMillisecondArray, new_empty_array};
use arrow::datatypes::{DataType, SchemaRef};
use bytes::Bytes;
use orc_rust::ArrowReaderBuilder;
use orc_rust::projection::ProjectionMask;
use orc_rust::reader::ChunkReader;
use orc_rust::reader::metadata::FileMetadata;
use orc_rust::row_selection::RowSelector;
use orc_rust::statistics::{ColumnStatistics, TypeStatistics};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// ORC files.
pub static FORMAT: Format = Format {
    extensions: &["orc"],
    magic: &[Magic::at(0, b"ORC")],
    sniff: Some(sniff),
    reads: &[Kind::Table],
    ..Format::new("orc", "Apache ORC", open)
};

/// Rows of one block: what is decoded together and kept.
const BLOCK: u64 = 8192;
/// Bytes of decoded columns that are kept.
const KEPT: usize = 64 << 20;

/// Three letters are little: the end must say it too.
fn sniff(head: &Head) -> Match {
    match head.starts_with(b"ORC") {
        true if head.has_extension(&["orc"]) => Match::Yes,
        // The last byte is the length of the postscript, which ends in the magic letters.
        true if head.last.get(..head.last.len().saturating_sub(1)).is_some_and(|b| b.ends_with(b"ORC")) => {
            Match::Yes
        }
        _ => Match::No,
    }
}

fn open(opening: &Opening) -> Result<Node> {
    let table = OrcTable::open(opening.task, opening.source)?;
    let mut node = Node::new(opening.source.name(), "file");
    let metadata = &table.metadata;
    let mut put = |name: &str, text: String| node.reader.push((name.to_owned(), text.into()));
    put("compression", table.codec.clone());
    put("format version", metadata.file_format_version().to_owned());
    if let Some(stride) = metadata.row_index_stride() {
        put("row index stride", stride.to_string());
    }
    let mut put = |name: &str, text: String| node.attributes.push((name.to_owned(), text.into()));
    let mut own: Vec<_> = metadata.user_custom_metadata().iter().collect();
    own.sort();
    for (name, value) in own {
        put(name, String::from_utf8(value.clone()).unwrap_or_else(|_| crate::cell::hex(value)));
    }
    Ok(node.content(Content::Table(Arc::new(table))))
}

/// The bytes of a file, for the crate.
#[derive(Clone)]
struct Chunks {
    source: Source,
    task: Task,
    len: u64,
}

impl ChunkReader for Chunks {
    type T = Reader;

    fn len(&self) -> u64 {
        self.len
    }

    fn get_read(&self, offset: u64) -> std::io::Result<Reader> {
        let mut reader = self.source.reader(&self.task);
        std::io::Seek::seek(&mut reader, std::io::SeekFrom::Start(offset))?;
        Ok(reader)
    }

    fn get_bytes(&self, offset: u64, length: u64) -> std::io::Result<Bytes> {
        // Checked against the file before anything is allocated.
        Ok(self.source.read(&self.task, offset..offset.saturating_add(length))?)
    }
}

struct OrcTable {
    source: Source,
    len: u64,
    metadata: Arc<FileMetadata>,
    schema: SchemaRef,
    codec: String,
    /// The first row of each stripe, and the number of all rows.
    starts: Vec<u64>,
    kept: Cache<(u64, usize), ArrayRef>,
}

fn malformed(what: &str) -> impl Fn(orc_rust::error::OrcError) -> Error + '_ {
    move |e| Error::malformed(format!("ORC {what}: {e}"))
}

impl OrcTable {
    fn open(task: &Task, source: &Source) -> Result<OrcTable> {
        let len = source.len(task)?;
        let chunks = Chunks { source: source.clone(), task: task.clone(), len };
        distrusted("the footer", || {
            let builder = ArrowReaderBuilder::try_new(chunks).map_err(malformed("footer"))?;
            let metadata = Arc::new(builder.file_metadata().clone());
            let schema = builder.schema();
            let mut starts = vec![0u64];
            for stripe in metadata.stripe_metadatas() {
                let rows = starts.last().copied().unwrap_or(0).checked_add(stripe.number_of_rows());
                starts.push(rows.ok_or_else(|| Error::malformed("ORC footer: its rows are beyond 64 bits"))?);
            }
            let codec = metadata.compression().map(|c| format!("{:?}", c.compression_type()).to_lowercase());
            Ok(OrcTable {
                source: source.clone(),
                len,
                metadata,
                schema,
                codec: codec.unwrap_or_else(|| "none".to_owned()),
                starts,
                kept: Cache::new(KEPT),
            })
        })
    }

    fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The blocks that the rows lie in: stripe, first row of the block, rows of it.
    fn blocks(&self, rows: &Range<u64>) -> Vec<(usize, u64, u64)> {
        let mut found = Vec::new();
        let mut at = rows.start;
        while at < rows.end {
            let stripe = self.starts.partition_point(|&start| start <= at).saturating_sub(1);
            let (Some(&start), Some(&end)) = (self.starts.get(stripe), self.starts.get(stripe + 1)) else {
                break;
            };
            let first = start + (at - start) / BLOCK * BLOCK;
            let count = BLOCK.min(end - first);
            found.push((stripe, first, count));
            at = first + count;
        }
        found
    }

    /// The columns `columns` of one block.
    fn block(
        &self,
        task: &Task,
        (stripe, first, count): (usize, u64, u64),
        columns: &[usize],
    ) -> Result<Vec<ArrayRef>> {
        let kept: Vec<Option<ArrayRef>> = columns.iter().map(|c| self.kept.get(&(first, *c))).collect();
        let mut missing: Vec<usize> =
            columns.iter().zip(&kept).filter(|(_, kept)| kept.is_none()).map(|(column, _)| *column).collect();
        missing.sort_unstable();
        missing.dedup();
        let fresh =
            if missing.is_empty() { Vec::new() } else { self.decode(task, stripe, first, count, &missing)? };
        let pick = |(column, kept): (&usize, Option<ArrayRef>)| {
            let fresh = || missing.binary_search(column).ok().and_then(|at| fresh.get(at).cloned());
            kept.or_else(fresh).ok_or_else(|| Error::bug("a column that was not read"))
        };
        columns.iter().zip(kept).map(pick).collect()
    }

    /// Decodes rows of one stripe; `columns` in ascending order.
    fn decode(
        &self,
        task: &Task,
        stripe: usize,
        first: u64,
        count: u64,
        columns: &[usize],
    ) -> Result<Vec<ArrayRef>> {
        let start = self.starts.get(stripe).copied().unwrap_or(0);
        let offset = self.metadata.stripe_metadatas().get(stripe).map_or(0, |s| s.offset()) as usize;
        let what = format!("the stripe at row {start}");
        let arrays = distrusted(&what, || {
            let chunks = Chunks { source: self.source.clone(), task: task.clone(), len: self.len };
            let roots = self.metadata.root_data_type().children();
            let indices = columns.iter().filter_map(|&n| roots.get(n)).map(|c| c.data_type().column_index());
            let mask = ProjectionMask::roots(self.metadata.root_data_type(), indices);
            let selection =
                vec![RowSelector::skip((first - start) as usize), RowSelector::select(count as usize)];
            let reader = ArrowReaderBuilder::try_new(chunks)
                .map_err(malformed("footer"))?
                .with_projection(mask)
                .with_batch_size(BLOCK as usize)
                .with_file_byte_range(offset..offset + 1)
                .with_row_selection(selection.into())
                .build();
            let mut parts: Vec<RecordBatch> = Vec::new();
            for part in reader {
                task.check()?;
                parts.push(part.map_err(|e| Error::malformed(format!("ORC, {what}: {e}")))?);
            }
            let whole = |n: usize| -> Result<ArrayRef> {
                let columns: Vec<&dyn Array> =
                    parts.iter().filter_map(|p| p.columns().get(n)).map(AsRef::as_ref).collect();
                Ok(arrow::compute::concat(&columns)?)
            };
            (0..columns.len()).map(whole).collect::<Result<Vec<ArrayRef>>>()
        });
        task.check()?;
        let arrays = arrays.map_err(|e| e.at(offset as u64))?;
        for (array, &column) in arrays.iter().zip(columns) {
            if array.len() as u64 != count {
                let text = format!("ORC, {what}: {} of {count} rows are there", array.len());
                return Err(Error::malformed(text).at(offset as u64));
            }
            self.kept.put((first, column), array.clone(), array.get_array_memory_size());
        }
        Ok(arrays)
    }
}

impl Table for OrcTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.total())
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.total());
        let count = (rows.end - rows.start) as usize;
        if columns.is_empty() {
            return batch(&self.schema, columns, Vec::new(), count);
        }
        let blocks = self.blocks(&rows);
        // Of several errors the first block's is told.
        let read: Vec<Result<Vec<ArrayRef>>> =
            blocks.par_iter().map(|block| self.block(task, *block, columns)).collect();
        let read: Vec<Vec<ArrayRef>> = read.into_iter().collect::<Result<_>>()?;
        let skipped = blocks.first().map_or(0, |(_, first, _)| rows.start - first) as usize;
        let mut arrays = Vec::with_capacity(columns.len());
        for (n, &column) in columns.iter().enumerate() {
            let field = self.schema.fields().get(column).ok_or_else(|| Error::bug("no such column"))?;
            let parts: Vec<&dyn Array> = read.iter().filter_map(|p| p.get(n)).map(AsRef::as_ref).collect();
            arrays.push(match parts.as_slice() {
                [] => new_empty_array(field.data_type()),
                [one] => one.slice(skipped, count),
                parts => arrow::compute::concat(parts)?.slice(skipped, count),
            });
        }
        batch(&self.schema, columns, arrays, count)
    }

    fn scan_step(&self, at: u64) -> u64 {
        // To the end of a block, so that none is decoded twice; several at once for all cores.
        let end = self.blocks(&(at..at + 1)).first().map_or(at + BLOCK, |(_, first, count)| first + count);
        end - at + BLOCK * 3
    }

    fn facts(&self) -> TableFacts {
        TableFacts {
            row_groups: Some(self.metadata.stripe_metadatas().len() as u64),
            codecs: vec![self.codec.clone()],
            ..TableFacts::default()
        }
    }

    fn layout(&self) -> Layout {
        let stripes = self.metadata.stripe_metadatas().iter().zip(&self.starts);
        let block = |(stripe, &first): (&orc_rust::stripe::StripeMetadata, &u64)| Block {
            first,
            count: stripe.number_of_rows(),
            stored: [stripe.index_length(), stripe.data_length(), stripe.footer_length()]
                .into_iter()
                .fold(0, u64::saturating_add),
            ..Block::default()
        };
        Layout { unit: "stripe", blocks: stripes.map(block).collect(), ..Layout::default() }
    }

    fn statistics(&self, column: usize) -> Option<StoredStatistics> {
        let index = self.metadata.root_data_type().children().get(column)?.data_type().column_index();
        let found = self.metadata.column_file_statistics().get(index)?;
        Some(stored(found, self.total(), self.schema.fields().get(column)?.data_type()))
    }
}

/// What the footer says of a column.
fn stored(found: &ColumnStatistics, rows: u64, data_type: &DataType) -> StoredStatistics {
    let (min, max, bounds) = ends(found.type_statistics(), data_type);
    let nulls = rows.checked_sub(found.number_of_values());
    StoredStatistics { nulls, min, max, bounds, distinct: None }
}

/// The smallest and the largest value, and whether they may be less exact than the values are.
fn ends(known: Option<&TypeStatistics>, data_type: &DataType) -> (Option<String>, Option<String>, bool) {
    match known {
        Some(TypeStatistics::Integer { min, max, .. }) => {
            (Some(min.to_string()), Some(max.to_string()), false)
        }
        Some(TypeStatistics::Double { min, max, .. }) => {
            (Some(crate::cell::float64(*min)), Some(crate::cell::float64(*max)), false)
        }
        Some(TypeStatistics::Decimal { min, max, .. }) => (Some(min.clone()), Some(max.clone()), false),
        Some(TypeStatistics::String { lower_bound, upper_bound, is_exact_min, is_exact_max, .. }) => {
            // An empty bound is one that is not there.
            let text = |text: &String, exact: bool| (exact || !text.is_empty()).then(|| text.clone());
            let exact = *is_exact_min && *is_exact_max;
            (text(lower_bound, *is_exact_min), text(upper_bound, *is_exact_max), !exact)
        }
        Some(TypeStatistics::Date { min, max }) => {
            let day = |day: i32| crate::cell::text(&Date32Array::from(vec![day]), 0);
            (day(*min), day(*max), false)
        }
        // Writers before ORC-135 give their own local time only, which says nothing; zeros may stand for
        // what is not there. Whole milliseconds are the bounds of values that may be finer.
        Some(TypeStatistics::Timestamp { min_utc, max_utc, .. }) if (*min_utc, *max_utc) != (0, 0) => {
            (moment(*min_utc, data_type), moment(*max_utc, data_type), true)
        }
        _ => (None, None, false),
    }
}

/// A moment in milliseconds as a value of a column of timestamps.
fn moment(milliseconds: i64, data_type: &DataType) -> Option<String> {
    let DataType::Timestamp(_, zone) = data_type else { return None };
    let moment = TimestampMillisecondArray::from(vec![milliseconds]).with_timezone_opt(zone.clone());
    crate::cell::text(&moment, 0)
}
