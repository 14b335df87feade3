//! `binary_compressed`: two lengths, and behind them one LZF stream of all columns, one after the other.
//! It is decoded as a whole when values are first asked for, and kept.

use super::header::Header;
use crate::bytes::cache::Cache;
use crate::bytes::codec::lzf;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt;
use crate::data::content::table::{Rows, Table, TableFacts, batch, cut};
use crate::data::dtype::Field;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use std::ops::Range;

/// Bytes of the two lengths.
const LENGTHS: u64 = 8;

/// A table of compressed columns.
pub(super) struct Planes {
    source: Source,
    schema: SchemaRef,
    points: u64,
    /// Bytes of one point.
    size: u64,
    /// Each field, and where its column begins.
    columns: Vec<(Field, u64)>,
    /// Where the stream lies, as far as it is there.
    stream: Range<u64>,
    /// Where it should end.
    end: u64,
    /// Bytes of all columns.
    raw: u64,
    /// Decoded columns, and the place where decoding had to stop.
    decoded: Cache<(), (Bytes, Option<u64>)>,
}

impl Planes {
    /// Reads the lengths and checks them.
    pub(super) fn new(task: &Task, source: Source, header: &Header, schema: SchemaRef) -> Result<Self> {
        let (at, points) = (header.start, header.points);
        let lengths = source.read_up_to(task, at, LENGTHS as usize)?;
        let [packed, raw] = [0, 4].map(|at| le::<u32>(&lengths, at).map(u64::from));
        let (packed, raw) = match (packed, raw) {
            (Some(packed), Some(raw)) => (packed, raw),
            _ if points == 0 => (0, 0),
            _ => {
                return Err(
                    Error::malformed("points: the lengths of their compressed bytes are missing").at(at)
                );
            }
        };
        // PCL leaves padding out when it compresses; others may not.
        let mut bytes = Vec::new();
        for field in &header.record.fields {
            bytes.push(field.bytes()?);
        }
        let (solid, size) = (bytes.iter().sum::<u64>(), header.record.size);
        let whole = |size: u64| limits::bytes(&[points], size).is_ok_and(|need| need == raw);
        if !whole(solid) && !whole(size) {
            let what =
                format!("points: they decompress to {raw} bytes, {points} of {size} bytes were promised");
            return Err(Error::malformed(what).at(at + 4));
        }
        if raw > lzf::most(packed) {
            let what = format!("points: {packed} compressed bytes cannot make {raw} bytes");
            return Err(Error::malformed(what).at(at));
        }
        limits::check(raw, limits::CHUNK, "the decompressed points").map_err(|e| e.at(at + 4))?;
        let mut packing = 0;
        let place = |(field, bytes): (&Field, u64)| {
            let begin = if whole(solid) { packing } else { field.offset };
            packing += bytes;
            (field.clone(), begin * points)
        };
        let columns = header.record.fields.iter().zip(bytes.iter().copied()).map(place).collect();
        let end = at + LENGTHS + packed;
        let there = source.known_len().map_or(end, |len| len.clamp(at, end)).max(at + LENGTHS).min(end);
        let stream = at + LENGTHS..there;
        Ok(Planes { source, schema, points, size, columns, stream, end, raw, decoded: Cache::with_last(0) })
    }

    /// How many compressed bytes the file lacks.
    pub(super) fn missing(&self) -> Option<u64> {
        Some(self.end - self.stream.end).filter(|&missing| missing > 0)
    }

    /// All columns, as far as they can be decoded.
    fn decoded(&self, task: &Task) -> Result<(Bytes, Option<u64>)> {
        if let Some(decoded) = self.decoded.get(&()) {
            return Ok(decoded);
        }
        task.set_message("decompressing the points");
        let most = (self.stream.end - self.stream.start) as usize;
        let packed = self.source.read_up_to(task, self.stream.start, most)?;
        let made = lzf::partial(task, &packed, self.raw)?;
        let made = (Bytes::from(made.bytes), made.stopped.map(|at| self.stream.start + at));
        self.decoded.put((), made.clone(), made.0.len());
        Ok(made)
    }
}

impl Table for Planes {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        Rows::Exact(self.points)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let rows = cut(&rows, self.points);
        let count = (rows.end - rows.start) as usize;
        let (bytes, stopped) = self.decoded(task)?;
        let mut out = Vec::with_capacity(columns.len());
        for &column in columns {
            task.check()?;
            let (field, begin) = self.columns.get(column).ok_or_else(|| Error::bug("no such field"))?;
            let size = field.bytes()?;
            let part = (begin + rows.start * size) as usize..(begin + rows.end * size) as usize;
            let part = bytes.get(part).ok_or_else(|| {
                let what = format!("points: the compressed bytes break off before those of {:?}", field.name);
                Error::malformed(what).at(stopped.unwrap_or(self.stream.end))
            })?;
            out.push(adapt::column(&field.dtype, &field.shape, part, count)?);
        }
        batch(&self.schema, columns, out, count)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        ((16 << 20) / self.size.max(1)).clamp(1, 1 << 20)
    }

    fn facts(&self) -> TableFacts {
        TableFacts { codecs: vec!["LZF".to_owned()], ..TableFacts::default() }
    }
}
