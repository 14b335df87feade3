//! Where the blocks of a file are, and how they are compressed (specification, *Object Container Files*).

use super::decode::Cursor;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::engines::records::{Frame, Framing, Window};
use bytes::Bytes;
use std::io::Read;

/// How blocks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Null,
    Deflate,
    Snappy,
    Bzip2,
    Xz,
    Zstandard,
}

impl Codec {
    pub(super) fn parse(word: &[u8]) -> Result<Codec> {
        Ok(match word {
            b"null" | b"" => Codec::Null,
            b"deflate" => Codec::Deflate,
            b"snappy" => Codec::Snappy,
            b"bzip2" => Codec::Bzip2,
            b"xz" => Codec::Xz,
            b"zstandard" => Codec::Zstandard,
            other => {
                let word = String::from_utf8_lossy(other).into_owned();
                return Err(Error::unsupported(format!("Avro header: the codec {word:?} is unknown")));
            }
        })
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Codec::Null => "null",
            Codec::Deflate => "deflate",
            Codec::Snappy => "snappy",
            Codec::Bzip2 => "bzip2",
            Codec::Xz => "xz",
            Codec::Zstandard => "zstandard",
        }
    }

    /// The most bytes that it gives for one.
    fn ratio(self) -> u64 {
        match self {
            Codec::Null => 1,
            Codec::Deflate => 1032,
            Codec::Snappy => 64,
            Codec::Bzip2 | Codec::Xz | Codec::Zstandard => 1 << 20,
        }
    }

    /// A block's bytes without their compression.
    pub(super) fn inflate(self, stored: Bytes) -> Result<Bytes> {
        let bytes = stored.as_ref();
        match self {
            Codec::Null => Ok(stored),
            Codec::Deflate => bounded(flate2::read::DeflateDecoder::new(bytes)),
            Codec::Bzip2 => bounded(bzip2::read::MultiBzDecoder::new(bytes)),
            Codec::Xz => bounded(lzma_rust2::XzReader::new(bytes, true)),
            Codec::Zstandard => bounded(zstd::stream::read::Decoder::new(bytes)?),
            Codec::Snappy => snappy(bytes),
        }
    }
}

/// All that a decompressor gives, at most [`limits::CHUNK`].
fn bounded(reader: impl Read) -> Result<Bytes> {
    let mut bytes = Vec::new();
    let read = reader.take(limits::CHUNK + 1).read_to_end(&mut bytes);
    read.map_err(|e| Error::malformed(format!("Avro block: it cannot be decompressed: {e}")))?;
    limits::check(bytes.len() as u64, limits::CHUNK, "an Avro block")?;
    Ok(bytes.into())
}

/// Snappy's raw format, followed by the checksum of the data, big-endian.
fn snappy(bytes: &[u8]) -> Result<Bytes> {
    let wrong = |what: String| Error::malformed(format!("Avro block: {what}"));
    let split = bytes.len().checked_sub(4).ok_or_else(|| wrong("it has no checksum".to_owned()))?;
    let (data, sum) = bytes.split_at(split);
    let len = snap::raw::decompress_len(data).map_err(|e| wrong(e.to_string()))?;
    let mut out = limits::buffer(len as u64, "an Avro block")?;
    let len = snap::raw::Decoder::new().decompress(data, &mut out).map_err(|e| wrong(e.to_string()))?;
    out.truncate(len);
    if crc32fast::hash(&out).to_be_bytes() != *sum {
        return Err(wrong("its checksum is wrong".to_owned()));
    }
    Ok(out.into())
}

/// How blocks follow each other: count, size, records, sync marker.
pub(super) struct Blocks {
    pub(super) sync: [u8; 16],
    /// The fewest bytes of a record.
    pub(super) least: u64,
    pub(super) codec: Codec,
}

impl Framing for Blocks {
    fn frame(&self, window: &mut Window, at: u64) -> Result<Option<Frame>> {
        let wrong = |what: &str| Error::malformed(format!("Avro block: {what}")).at(at);
        let head = window.get(at, 20)?;
        if head.is_empty() {
            return Ok(None);
        }
        let mut cursor = Cursor::new(head, at);
        let (count, size) = (cursor.long()?, cursor.long()?);
        let records = u64::try_from(count).map_err(|_| wrong("its count of records is negative"))?;
        let size = u64::try_from(size).map_err(|_| wrong("its size is negative"))?;
        let size = limits::check(size, limits::CHUNK, "an Avro block")? as u64;
        let start = cursor.at();
        let end = start.saturating_add(size);
        // With the head of the next block, which is looked at soon.
        match window.get(end, 36)?.first_chunk::<16>() {
            None => return Err(wrong("the file ends within it; it may be cut off")),
            Some(sync) if *sync != self.sync => return Err(wrong("no sync marker follows it")),
            Some(_) => {}
        }
        if u128::from(records) * u128::from(self.least) > u128::from(size) * u128::from(self.codec.ratio()) {
            let what = format!("it claims {records} records, which its {size} bytes have no room for");
            return Err(wrong(&what));
        }
        Ok(Some(Frame { span: start..end, records, end: end + 16 }))
    }

    /// Behind the next sync marker.
    fn resume(&self, window: &mut Window, at: u64) -> Result<Option<u64>> {
        let marker = memchr::memmem::Finder::new(&self.sync);
        Ok(window.search(at, 15, |bytes, _| Ok(marker.find(bytes)))?.map(|place| place + 16))
    }
}
