//! Avro object container files: a schema as JSON, then blocks of records, each compressed on its own.
//! <https://avro.apache.org/docs/1.12.0/specification/>
//!
//! Opening reads the header and hops over the first blocks (their sizes and counts stand before them); the
//! rest of the index is made when rows beyond it are asked for. A read inflates the blocks that its rows lie
//! in and decodes the columns that are asked for; the others are skipped.

mod blocks;
mod build;
mod decode;
mod encode;
mod schema;
mod stored;
mod write;

#[cfg(test)]
mod tests;

use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::table::{cut, stacked};
use crate::data::content::{Block as LayoutBlock, Content, Kind, Layout, Rows, Table, TableFacts};
use crate::data::format::{Format, Opening, Target};
use crate::data::node::Node;
use crate::data::sniff::Magic;
use crate::engines::avro::MAGIC;
use crate::engines::records::{Index, NumberedFrame};
use arrow::array::{ArrayRef, NullArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use blocks::{Blocks, Codec};
use build::Builder;
use bytes::Bytes;
use decode::Cursor;
use parking_lot::Mutex;
use rayon::prelude::*;
use schema::Type;
use serde_json::Value as Json;
use std::ops::Range;
use std::sync::Arc;

/// Avro container files.
pub static FORMAT: Format = Format {
    extensions: &["avro"],
    magic: &[Magic::at(0, MAGIC)],
    reads: &[Kind::Table],
    targets: &[Target::new("avro", "Avro", &["avro"], &write::WRITER)],
    ..Format::new("avro", "Avro", open)
};

/// How many blocks are looked at when a file is opened.
const EAGER: usize = 1_024;
/// How many broken blocks are looked for when a file is opened.
const BROKEN: usize = 16;
/// Bytes of inflated blocks that are kept.
const KEPT: usize = 32 << 20;

fn open(opening: &Opening) -> Result<Node> {
    let header = Header::read(opening.task, opening.source)?;
    let root = schema::parse(&header.schema)?;
    let (fields, record) = schema::columns(&root)?;
    let blocks = Blocks { sync: header.sync, least: root.least(0), codec: header.codec };
    let mut index = Index::new(header.end);
    let mut problems = Vec::new();
    while problems.len() < BROKEN {
        match index.extend(opening.task, opening.source, &blocks, EAGER, u64::MAX).unless_cancelled()? {
            Ok(()) => break,
            Err(error) => problems.push(error),
        }
    }
    let table = AvroTable {
        source: opening.source.clone(),
        root,
        record,
        schema: Arc::new(arrow::datatypes::Schema::new(fields)),
        blocks,
        index: Mutex::new(index),
        inflated: Cache::new(KEPT),
    };
    let mut node = Node::new(opening.source.name(), "file").content(Content::Table(Arc::new(table)));
    node.reader.push(("codec".to_owned(), header.codec.word().into()));
    node.reader.push(("schema".to_owned(), header.schema.into()));
    node.attributes.extend(header.metadata.into_iter().map(|(name, text)| (name, text.into())));
    let mut problems = problems.into_iter();
    node.problem = problems.next();
    node.remarks.extend(problems.map(|error| error.message()));
    Ok(node)
}

/// What stands before the blocks.
struct Header {
    schema: Json,
    codec: Codec,
    sync: [u8; 16],
    /// Metadata of the writer's own.
    metadata: Vec<(String, String)>,
    /// Where the first block is.
    end: u64,
}

impl Header {
    fn read(task: &Task, source: &Source) -> Result<Header> {
        let mut size = 64 << 10;
        loop {
            let bytes = source.read_up_to(task, 0, size)?;
            match Header::parse(&bytes) {
                // A schema may be long: more of the file is looked at before it is called cut off.
                Err(_) if bytes.len() == size && (size as u64) < limits::HEADER => size *= 8,
                other => return other,
            }
        }
    }

    fn parse(bytes: &Bytes) -> Result<Header> {
        let mut cursor = Cursor::new(bytes.get(MAGIC.len()..).unwrap_or_default(), MAGIC.len() as u64);
        let (mut schema, mut codec, mut metadata) = (None, Codec::Null, Vec::new());
        loop {
            let count = cursor.block_count()?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                let name = String::from_utf8_lossy(cursor.bytes()?).into_owned();
                let value = cursor.bytes()?;
                match name.as_str() {
                    "avro.schema" => schema = Some(json(value)?),
                    "avro.codec" => codec = Codec::parse(value)?,
                    _ => metadata.push((name, text(value))),
                }
            }
        }
        let sync = cursor.take(16)?.try_into().map_err(|_| Error::bug("16 bytes"))?;
        let schema = schema.ok_or_else(|| Error::malformed("Avro header: it has no avro.schema"))?;
        Ok(Header { schema, codec, sync, metadata, end: cursor.at() })
    }
}

fn json(bytes: &[u8]) -> Result<Json> {
    serde_json::from_slice(bytes)
        .map_err(|e| Error::malformed(format!("Avro header: its schema is no JSON: {e}")))
}

/// Metadata as text; what is none as hexadecimal.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => crate::data::cell::hex(bytes),
    }
}

struct AvroTable {
    source: Source,
    blocks: Blocks,
    root: Type,
    /// Whether the columns are the fields of a record; else there is one column of the whole values.
    record: bool,
    schema: SchemaRef,
    index: Mutex<Index>,
    /// By the place of each block.
    inflated: Cache<u64, Bytes>,
}

/// Some rows of one block.
struct Piece {
    block: NumberedFrame,
    /// Within the block.
    rows: Range<u64>,
}

impl AvroTable {
    /// The blocks that the rows lie in.
    fn pieces(&self, task: &Task, rows: &Range<u64>) -> Result<Vec<Piece>> {
        let mut index = self.index.lock();
        index.extend(task, &self.source, &self.blocks, usize::MAX, rows.end)?;
        let found = index.frames_of(task, &self.source, &self.blocks, rows.clone())?;
        let piece = |block: NumberedFrame| Piece {
            rows: rows.start.max(block.first) - block.first..rows.end.min(block.end()) - block.first,
            block,
        };
        Ok(found.into_iter().map(piece).collect())
    }

    /// A block's records, inflated.
    fn inflated(&self, task: &Task, piece: &Piece) -> Result<Bytes> {
        let span = piece.block.frame.span.clone();
        if let Some(bytes) = self.inflated.get(&span.start) {
            return Ok(bytes);
        }
        let stored = self.source.read(task, span.clone())?;
        let bytes = self.blocks.codec.inflate(stored).map_err(|e| e.at(span.start))?;
        self.inflated.put(span.start, bytes.clone(), bytes.len());
        Ok(bytes)
    }

    /// The columns `columns` of some rows of one block.
    fn decode(&self, task: &Task, piece: &Piece, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        // Nulls take no bytes: however many there are, there is nothing to read.
        if self.root.least(0) == 0 && self.columns().iter().all(|of| matches!(of, Type::Null)) {
            let count = (piece.rows.end - piece.rows.start) as usize;
            return Ok(columns.iter().map(|_| Arc::new(NullArray::new(count)) as ArrayRef).collect());
        }
        let bytes = self.inflated(task, piece)?;
        limits::check(piece.block.frame.records, bytes.len() as u64 + (1 << 20), "a block's records")?;
        let mut cursor = Cursor::new(&bytes, 0);
        let place = |e: Error| {
            let at = piece.block.frame.span.start;
            Error::malformed(format!("Avro block of the rows from {}: {}", piece.block.first, e.message()))
                .at(at)
        };
        for row in 0..piece.rows.start {
            if row % 4096 == 0 {
                task.check()?;
            }
            cursor.skip(&self.root, 0).map_err(place)?;
        }
        let types = self.columns();
        let mut builders: Vec<(usize, Builder)> = Vec::new();
        for (n, one) in types.iter().enumerate().filter(|(n, _)| columns.contains(n)) {
            builders.push((n, Builder::new(one)?));
        }
        for row in piece.rows.clone() {
            if row % 4096 == 0 {
                task.check()?;
            }
            let mut wanted = builders.iter_mut().peekable();
            for (n, one) in types.iter().enumerate() {
                match wanted.next_if(|(column, _)| *column == n) {
                    Some((_, builder)) => builder.read(&mut cursor, one, 0).map_err(place)?,
                    None => cursor.skip(one, 0).map_err(place)?,
                }
            }
        }
        let built: Vec<(usize, ArrayRef)> =
            builders.into_iter().map(|(n, builder)| Ok((n, builder.finish()?))).collect::<Result<_>>()?;
        let find = |column: &usize| built.iter().find(|(n, _)| n == column).map(|(_, array)| array.clone());
        columns.iter().map(|c| find(c).ok_or_else(|| Error::bug("no such column"))).collect()
    }

    fn columns(&self) -> &[Type] {
        match &self.root {
            Type::Record(fields) if self.record => &fields.types,
            other => std::slice::from_ref(other),
        }
    }
}

impl Table for AvroTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        let index = self.index.lock();
        let known = index.records();
        match (index.ended(), self.source.known_len()) {
            (true, _) => Rows::Exact(known),
            (false, Some(len)) if index.seen() > 0 => {
                let rows = (known as f64 * len as f64 / index.seen() as f64) as u64;
                Rows::About { rows: rows.max(known), known }
            }
            _ => Rows::AtLeast(known),
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        let pieces = self.pieces(task, &rows)?;
        let rows = cut(&rows, self.index.lock().records());
        let read: Vec<Vec<ArrayRef>> =
            pieces.par_iter().map(|piece| self.decode(task, piece, columns)).collect::<Result<_>>()?;
        stacked(&self.schema, columns, &read, (rows.end - rows.start) as usize)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        let mut index = self.index.lock();
        index.extend(task, &self.source, &self.blocks, usize::MAX, u64::MAX)?;
        Ok(index.records())
    }

    fn scan_step(&self, at: u64) -> u64 {
        let index = self.index.lock();
        let (blocks, every) = index.kept();
        let place = blocks.partition_point(|block| block.first <= at);
        let end = blocks.get(place).map_or(index.records(), |next| next.first);
        // Where a block stands for several, about one of them.
        if blocks.is_empty() { 4096 } else { end.saturating_sub(at).div_ceil(every).max(1) }
    }

    fn facts(&self) -> TableFacts {
        TableFacts { codecs: vec![self.blocks.codec.word().to_owned()], ..TableFacts::default() }
    }

    fn layout(&self) -> Layout {
        let index = self.index.lock();
        let (kept, every) = index.kept();
        let block = |(n, block): (usize, &NumberedFrame)| {
            let next = kept
                .get(n + 1)
                .map_or((index.records(), index.seen()), |next| (next.first, next.frame.span.start));
            let (count, stored) = match every {
                1 => (block.frame.records, block.frame.span.end - block.frame.span.start),
                _ => (next.0 - block.first, next.1 - block.frame.span.start),
            };
            LayoutBlock { first: block.first, count, stored, ..LayoutBlock::default() }
        };
        let unit = if every == 1 { "block" } else { "block group" };
        Layout { unit, blocks: kept.iter().enumerate().map(block).collect(), ..Layout::default() }
    }
}
