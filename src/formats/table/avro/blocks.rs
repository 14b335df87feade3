//! Where the blocks of a file are, and how they are compressed (specification, *Object Container Files*).

use super::decode::Cursor;
use crate::bytes::codec;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::engines::records::{Frame, Framing, Window};
use bytes::Bytes;

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

    /// A block's bytes without their compression, at most [`limits::CHUNK`].
    pub(super) fn inflate(self, stored: Bytes) -> Result<Bytes> {
        let most = limits::CHUNK as usize;
        let bytes = match self {
            Codec::Null => return Ok(stored),
            Codec::Deflate => codec::deflate::raw(&stored, most),
            Codec::Bzip2 => codec::bzip2::decode(&stored, most),
            Codec::Xz => codec::lzma::xz(&stored, most),
            Codec::Zstandard => codec::zstd::decode(&stored, most),
            Codec::Snappy => snappy(&stored, most),
        };
        bytes.map(Bytes::from).map_err(|error| error.of("Avro block"))
    }
}

/// Snappy's raw format, followed by the checksum of the data, big-endian.
fn snappy(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    let (data, sum) = bytes.split_last_chunk::<4>().ok_or_else(|| Error::malformed("it has no checksum"))?;
    let out = codec::snappy::decode(data, most)?;
    if codec::checksum::crc32(&out).to_be_bytes() != *sum {
        return Err(Error::malformed("its checksum is wrong"));
    }
    Ok(out)
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
