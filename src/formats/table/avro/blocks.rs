//! Where the blocks of a file are, and how they are compressed (specification, *Object Container Files*).

use super::decode::Cursor;
use crate::bytes::codec;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::ops::Range;

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

/// One block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Its first row.
    pub(super) first: u64,
    /// How many records it has.
    pub(super) count: u64,
    /// Its compressed records in the file.
    pub(super) span: Range<u64>,
}

/// The blocks that are known, and where to go on.
pub(super) struct Index {
    pub(super) blocks: Vec<Block>,
    next: u64,
    sync: [u8; 16],
    /// The fewest bytes of a record, and the most that the codec gives for one.
    least: u64,
    ratio: u64,
    /// Whether all blocks are known.
    pub(super) ended: bool,
    /// What is wrong at `next`: blocks after it cannot be found.
    broken: Option<Error>,
}

impl Index {
    /// The blocks from `start` on, of records of at least `least` bytes.
    pub(super) fn new(start: u64, sync: [u8; 16], least: u64, codec: Codec) -> Self {
        let ratio = codec.ratio();
        Index { blocks: Vec::new(), next: start, sync, least, ratio, ended: false, broken: None }
    }

    /// Rows of the known blocks.
    pub(super) fn rows(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.first.saturating_add(block.count))
    }

    /// Bytes of the file up to the end of the known blocks.
    pub(super) fn seen(&self) -> u64 {
        self.next
    }

    /// Looks at up to `most` further blocks, until `row` is within the known ones. A file that is broken
    /// somewhere ends there; that is said once, by the first call that comes there.
    pub(super) fn extend(&mut self, task: &Task, source: &Source, most: usize, row: u64) -> Result<()> {
        for _ in 0..most {
            if self.ended || self.rows() >= row {
                return Ok(());
            }
            task.check()?;
            if let Err(error) = self.step(task, source) {
                if error.is_cancelled() {
                    return Err(error);
                }
                self.ended = true;
                self.broken = Some(error.clone());
                return Err(error);
            }
        }
        Ok(())
    }

    fn step(&mut self, task: &Task, source: &Source) -> Result<()> {
        let wrong = |what: &str| Error::malformed(format!("Avro block: {what}")).at(self.next);
        let head = source.read_up_to(task, self.next, 20)?;
        if head.is_empty() {
            self.ended = true;
            return Ok(());
        }
        let mut cursor = Cursor::new(&head, self.next);
        let (count, size) = (cursor.long()?, cursor.long()?);
        let count = u64::try_from(count).map_err(|_| wrong("its count of records is negative"))?;
        let size = u64::try_from(size).map_err(|_| wrong("its size is negative"))?;
        let size = limits::check(size, limits::CHUNK, "an Avro block")? as u64;
        let start = cursor.at();
        let end = start.saturating_add(size);
        let sync = source.read(task, end..end.saturating_add(16));
        match sync {
            Err(error) if error.is_cancelled() => return Err(error),
            Err(_) => return Err(wrong("the file ends within it; it may be cut off")),
            Ok(sync) if *sync != self.sync => return Err(wrong("no sync marker follows it")),
            Ok(_) => {}
        }
        if u128::from(count) * u128::from(self.least) > u128::from(size) * u128::from(self.ratio) {
            let what = format!("it claims {count} records, which its {size} bytes have no room for");
            return Err(wrong(&what));
        }
        let first = self.rows();
        first
            .checked_add(count)
            .filter(|&total| total <= i64::MAX as u64)
            .ok_or_else(|| wrong("its count of records is beyond 64 bits"))?;
        if count > 0 {
            self.blocks.push(Block { first, count, span: start..end });
        }
        self.next = end + 16;
        Ok(())
    }
}
