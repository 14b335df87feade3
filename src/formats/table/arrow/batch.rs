//! A record batch: its description, and its buffers — parts of the map, or decompressed and kept.
//!
//! Specification: <https://github.com/apache/arrow/blob/main/format/Message.fbs>.

use super::index::Header;
use crate::bytes::cache::Cache;
use crate::bytes::codec::{decompress::whole, lz4_frame::Lz4, zstd};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use arrow::buffer::Buffer;
use arrow::ipc;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// How a body's buffers are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Lz4,
    Zstd,
}

/// What a batch's header says.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// For each field of the schema and below: values and nulls.
    pub(super) nodes: Vec<(u64, u64)>,
    /// Offset in the body and length of each buffer.
    pub(super) buffers: Vec<(u64, u64)>,
    /// For each field of views, how many buffers its values have.
    pub(super) views: Vec<u64>,
    pub(super) codec: Option<Codec>,
}

/// A codec in the words of the field.
pub(super) fn codec_name(codec: ipc::CompressionType) -> &'static str {
    match codec {
        ipc::CompressionType::LZ4_FRAME => "lz4",
        ipc::CompressionType::ZSTD => "zstd",
        _ => "unknown",
    }
}

impl Batch {
    /// Reads the description of a record batch or of a dictionary's values.
    pub(super) fn read(task: &Task, source: &Source, header: &Header) -> Result<Arc<Batch>> {
        let metadata = match header {
            Header::Made(batch) => return Ok(batch.clone()),
            Header::Message(metadata) => metadata.clone(),
        };
        let bytes = source.read(task, metadata.clone())?;
        let bytes = super::index::repaired(bytes, |bytes| ipc::root_as_message(bytes).map(drop));
        let message = super::index::parse(&bytes).map_err(|e| e.at(metadata.start))?;
        let batch = match message.header_as_dictionary_batch() {
            Some(dictionary) => dictionary.data(),
            None => message.header_as_record_batch(),
        };
        let batch =
            batch.ok_or_else(|| Error::malformed("message: it holds no values").at(metadata.start))?;
        Batch::of(batch).map(Arc::new).map_err(|e| e.at(metadata.start))
    }

    /// A record batch's description.
    pub(super) fn of(batch: ipc::RecordBatch) -> Result<Batch> {
        let size =
            |n: i64| u64::try_from(n).map_err(|_| Error::malformed(format!("record batch: a size of {n}")));
        let mut out = Batch::default();
        for node in batch.nodes().into_iter().flatten() {
            // Old writers give −1 where they did not count the nulls: then the bitmap is looked at.
            let nulls = if node.null_count() < 0 { node.length() } else { node.null_count() };
            out.nodes.push((size(node.length())?, size(nulls)?));
        }
        for buffer in batch.buffers().into_iter().flatten() {
            out.buffers.push((size(buffer.offset())?, size(buffer.length())?));
        }
        for count in batch.variadicBufferCounts().into_iter().flatten() {
            out.views.push(size(count)?);
        }
        out.codec = match batch.compression().map(|c| (c.codec(), c.method())) {
            None => None,
            Some((ipc::CompressionType::LZ4_FRAME, ipc::BodyCompressionMethod::BUFFER)) => Some(Codec::Lz4),
            Some((ipc::CompressionType::ZSTD, ipc::BodyCompressionMethod::BUFFER)) => Some(Codec::Zstd),
            Some((codec, _)) => {
                return Err(Error::unsupported(format!("IPC compression number {}", codec.0)));
            }
        };
        Ok(out)
    }
}

/// The buffers of one batch.
pub(super) struct Body<'a> {
    pub(super) task: &'a Task,
    pub(super) source: &'a Source,
    pub(super) batch: &'a Batch,
    /// Where the body is in the file.
    pub(super) range: Range<u64>,
    /// Decompressed buffers, by their place in the file.
    pub(super) kept: &'a Cache<u64, Buffer>,
}

impl Body<'_> {
    /// How long a buffer is, as it is stored.
    pub(super) fn stored(&self, index: usize) -> u64 {
        self.batch.buffers.get(index).map_or(0, |(_, len)| *len)
    }

    /// The bytes `part` of a buffer.
    pub(super) fn part(&self, index: usize, part: Range<u64>) -> Result<Buffer> {
        let place = self.place(index)?;
        if part.is_empty() {
            return Ok(Buffer::from(Vec::<u8>::new()));
        }
        let len = place.end - place.start;
        if self.batch.codec.is_none() {
            if part.end > len {
                return Err(short(len, part.end, place.start));
            }
            let bytes = self.source.read(self.task, place.start + part.start..place.start + part.end)?;
            return Ok(Buffer::from(bytes));
        }
        let whole = self.inflated(place.clone())?;
        if part.end > whole.len() as u64 {
            return Err(short(whole.len() as u64, part.end, place.start));
        }
        Ok(whole.slice_with_length(part.start as usize, (part.end - part.start) as usize))
    }

    /// A whole buffer.
    pub(super) fn whole(&self, index: usize) -> Result<Buffer> {
        let place = self.place(index)?;
        if self.batch.codec.is_some() {
            return self.inflated(place);
        }
        self.part(index, 0..place.end - place.start)
    }

    /// Where a buffer is in the file.
    pub(super) fn place(&self, index: usize) -> Result<Range<u64>> {
        let &(offset, len) = self.batch.buffers.get(index).ok_or_else(|| {
            let there = self.batch.buffers.len();
            Error::malformed(format!("record batch: it has {there} buffers, the schema needs more"))
                .at(self.range.start)
        })?;
        let start = self.range.start.checked_add(offset);
        let place = start.and_then(|start| Some(start..start.checked_add(len)?));
        place.filter(|place| place.end <= self.range.end).ok_or_else(|| {
            Error::malformed(format!("record batch: a buffer of {len} bytes at {offset} is beyond its body"))
                .at(self.range.start)
        })
    }

    /// A compressed buffer: the length of its contents as 64 bits, then those. −1 stands before bytes
    /// that are not compressed.
    fn inflated(&self, place: Range<u64>) -> Result<Buffer> {
        if place.is_empty() {
            return Ok(Buffer::from(Vec::<u8>::new()));
        }
        if let Some(buffer) = self.kept.get(&place.start) {
            return Ok(buffer);
        }
        let bytes = self.source.read(self.task, place.clone())?;
        // What was not compressed needs no place in the cache.
        let is_plain = bytes.first_chunk::<8>().is_some_and(|head| i64::from_le_bytes(*head) == -1);
        let buffer = Buffer::from(inflate(self.batch.codec.unwrap_or(Codec::Zstd), &bytes, place.start)?);
        if !is_plain {
            self.kept.put(place.start, buffer.clone(), buffer.len());
        }
        Ok(buffer)
    }
}

/// A compressed buffer, which stands at byte `at`: the length of its contents as 64 bits, then those; −1 stands before
/// bytes that are not compressed.
pub(super) fn inflate(codec: Codec, bytes: &Bytes, at: u64) -> Result<Bytes> {
    let wrong = |what: String| Error::malformed(format!("compressed buffer: {what}")).at(at);
    let (head, packed) =
        bytes.split_first_chunk::<8>().ok_or_else(|| wrong("it has no length".to_owned()))?;
    let len = i64::from_le_bytes(*head);
    if len == -1 {
        return Ok(bytes.slice(8..));
    }
    let len = u64::try_from(len).map_err(|_| wrong(format!("its length is {len}")))?;
    let most = limits::check(len, limits::CHUNK, "a compressed buffer").map_err(|e| e.at(at))?;
    let out = match codec {
        Codec::Lz4 => whole(&mut Lz4::default(), packed, most, "LZ4 data"),
        Codec::Zstd => zstd::decode(packed, most),
    };
    let out = out.map_err(|error| error.of("compressed buffer").at(at))?;
    if out.len() as u64 != len {
        return Err(wrong(format!("it holds {} bytes and promises {len}", out.len())));
    }
    Ok(out.into())
}

fn short(len: u64, needed: u64, at: u64) -> Error {
    Error::malformed(format!("record batch: a buffer has {len} bytes, {needed} are needed")).at(at)
}
