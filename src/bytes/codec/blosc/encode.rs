//! The other way round: chunks of Blosc 1, laid out as c-blosc lays them out — blocks that fit into the processor's
//! cache, each sorted by bytes or bits and compressed as one stream or as one for each byte of an element.

use super::{BLOSC1, HEADER, SPLIT_LEAST, SPLIT_MOST};
use crate::bytes::codec::bitshuffle::shuffle_bits_into;
use crate::bytes::codec::compress::{zlib_into, zstd_into};
use crate::bytes::codec::shuffle::shuffle_into;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

/// What compresses the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// LZ4.
    Lz4,
    /// zlib.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Codec {
    /// Its number in the flags, and the version of its format.
    fn numbers(self) -> (u8, u8) {
        match self {
            Codec::Lz4 => (1, 1),
            Codec::Zlib => (3, 1),
            Codec::Zstd => (4, 1),
        }
    }
}

/// How bytes are sorted before they are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// Not at all.
    None,
    /// By their place in the element.
    Byte,
    /// Bits by their place in the element.
    Bit,
}

/// How a chunk is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What compresses.
    pub codec: Codec,
    /// How hard it tries, 0 (not at all) to 9.
    pub level: u8,
    /// What comes before.
    pub shuffle: Shuffle,
    /// Bytes of an element; those of more than 255 count as bytes.
    pub typesize: usize,
}

/// The most bytes of a chunk.
const MOST: usize = i32::MAX as usize - HEADER;
/// Less is stored as it is.
const LEAST: usize = 128;
/// A block of an effort that is neither small nor large; c-blosc's guess at the processor's first cache.
const BLOCK: usize = 32 << 10;
/// Bounds of a block that is split, and of one stream of it.
const SPLIT_BLOCK: std::ops::RangeInclusive<usize> = (64 << 10)..=(1 << 20);
const SPLIT_STREAM: usize = 256 << 10;

/// The bytes of one chunk.
///
/// # Errors
/// `Limit` for more than 2 GB, or without the memory for it.
pub fn encode(input: &[u8], settings: &Settings) -> Result<Vec<u8>> {
    let size = u32::try_from(input.len()).ok().filter(|_| input.len() <= MOST);
    let size = size.ok_or_else(|| Error::limit("a Blosc chunk of more than 2 GB"))?;
    let typesize = u8::try_from(settings.typesize).unwrap_or(1).max(1);
    let settings = Settings { typesize: typesize.into(), ..*settings };
    let (block, is_split) = blocks(input.len(), &settings);
    let mut out = limits::zeroed(input.len() + HEADER, "a Blosc chunk")?;
    let end = match input.len() < LEAST || settings.level == 0 {
        true => None,
        false => Encoder::new(&settings, block, is_split).run(input, &mut out)?,
    };
    let (codec, version) = settings.codec.numbers();
    let mut flags = codec << 5 | if is_split { 0 } else { 0x10 };
    flags |= match settings.shuffle {
        Shuffle::Byte if typesize > 1 => 1,
        Shuffle::Bit => 4,
        Shuffle::Byte | Shuffle::None => 0,
    };
    match end {
        Some(end) => out.truncate(end),
        None => {
            flags |= 2;
            put(&mut out, HEADER, input);
        }
    }
    put(&mut out, 0, &[BLOSC1, version, flags, typesize]);
    let stored = out.len() as u32;
    for (at, field) in [(4, size), (8, block as u32), (12, stored)] {
        put(&mut out, at, &field.to_le_bytes());
    }
    Ok(out)
}

/// Writes `bytes` at a place that has room for them.
fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
    }
}

/// Bytes of a block, and whether blocks are split into streams. The harder a codec tries, the larger; those that are
/// slow on small blocks get twice as much.
fn blocks(len: usize, settings: &Settings) -> (usize, bool) {
    let typesize = settings.typesize;
    let splits = |block: usize| {
        settings.codec != Codec::Zstd && typesize <= SPLIT_MOST && block / typesize >= SPLIT_LEAST
    };
    if len < typesize.max(LEAST) {
        return (len.max(1), false);
    }
    let mut block = len;
    if len >= BLOCK {
        let is_slow = settings.codec != Codec::Lz4;
        block = if is_slow { BLOCK * 2 } else { BLOCK };
        block = match settings.level {
            0 => block / 4,
            1 => block / 2,
            2 => block,
            3 => block * 2,
            4 | 5 => block * 4,
            9 if is_slow => block * 16,
            _ => block * 8,
        };
    }
    if settings.level > 0 && splits(block) {
        block = block.min(SPLIT_STREAM) * typesize;
        block = block.clamp(*SPLIT_BLOCK.start(), *SPLIT_BLOCK.end());
    }
    // Whole elements.
    block = block.min(len) / typesize * typesize;
    (block.max(typesize), splits(block))
}

/// The state of encoding one chunk; buffers are used for all blocks.
struct Encoder<'a> {
    settings: &'a Settings,
    block: usize,
    is_split: bool,
    sorted: Vec<u8>,
    planes: Vec<u8>,
    packed: Vec<u8>,
    table: CompressTable,
}

impl<'a> Encoder<'a> {
    fn new(settings: &'a Settings, block: usize, is_split: bool) -> Self {
        let packed = match settings.codec {
            Codec::Lz4 => get_maximum_output_size(block),
            Codec::Zlib | Codec::Zstd => 0,
        };
        Encoder {
            settings,
            block,
            is_split,
            sorted: Vec::new(),
            planes: Vec::new(),
            packed: vec![0; packed],
            table: CompressTable::default(),
        }
    }

    /// Writes the places of the blocks and the blocks behind the header; where they end, or `None` where that is not
    /// before the end of `out`.
    fn run(&mut self, input: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
        let mut at = HEADER + 4 * input.len().div_ceil(self.block);
        for (n, block) in input.chunks(self.block).enumerate() {
            if at >= out.len() {
                return Ok(None);
            }
            put(out, HEADER + 4 * n, &(at as u32).to_le_bytes());
            // The last block, where it is short, is one stream always.
            let streams = if self.is_split && block.len() == self.block { self.settings.typesize } else { 1 };
            let is_sorted = self.sort(block);
            let sorted = std::mem::take(&mut self.sorted);
            let bytes = if is_sorted { sorted.as_slice() } else { block };
            for stream in bytes.chunks_exact(bytes.len() / streams) {
                match self.stream(stream, out, at)? {
                    Some(end) => at = end,
                    None => return Ok(None),
                }
            }
            self.sorted = sorted;
        }
        Ok(Some(at).filter(|&at| at < out.len()))
    }

    /// Sorts a block into `self.sorted`; false where it stays as it is.
    fn sort(&mut self, block: &[u8]) -> bool {
        let size = self.settings.typesize;
        // Bits are sorted of multiples of eight elements only.
        let is_sorted = match self.settings.shuffle {
            Shuffle::None => false,
            Shuffle::Byte => size > 1,
            Shuffle::Bit => block.len() >= size && (block.len() / size).is_multiple_of(8),
        };
        if is_sorted {
            self.sorted.resize(block.len(), 0);
            match self.settings.shuffle {
                Shuffle::Bit => shuffle_bits_into(block, size, &mut self.sorted, &mut self.planes),
                _ => shuffle_into(block, size, &mut self.sorted),
            }
        }
        is_sorted
    }

    /// Writes one stream behind its length at `at`: compressed, or as it is where that is not less. Where it ends;
    /// `None` where there is no room.
    fn stream(&mut self, stream: &[u8], out: &mut [u8], at: usize) -> Result<Option<usize>> {
        let Some(room) = out.get_mut(at..).and_then(|rest| rest.split_at_mut_checked(4)) else {
            return Ok(None);
        };
        let (len, room) = room;
        // A stream of all its bytes would be read as one that is not compressed.
        let most = stream.len().saturating_sub(1).min(room.len());
        let to = room.get_mut(..most).unwrap_or_default();
        let level = self.settings.level;
        let made = match self.settings.codec {
            Codec::Lz4 => {
                let made = compress_into_with_table(stream, &mut self.packed, &mut self.table)
                    .map_err(|e| Error::bug(format!("LZ4 block: {e}")))?;
                let packed = self.packed.get(..made).filter(|_| made <= most);
                packed.map(|packed| {
                    put(to, 0, packed);
                    made
                })
            }
            Codec::Zlib => zlib_into(stream, to, level.into()),
            Codec::Zstd => zstd_into(stream, to, zstd_level(level))?,
        };
        let made = match made {
            Some(made) => made,
            None if stream.len() <= room.len() => {
                put(room, 0, stream);
                stream.len()
            }
            None => return Ok(None),
        };
        len.copy_from_slice(&(made as u32).to_le_bytes());
        Ok(Some(at + 4 + made))
    }
}

/// Zstandard's level for one of Blosc's.
fn zstd_level(level: u8) -> i32 {
    match level {
        0..9 => i32::from(level) * 2 - 1,
        _ => *::zstd::compression_level_range().end(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Header, decode};
    use super::*;
    use proptest::prelude::*;

    fn bytes(len: usize, noise: u32) -> Vec<u8> {
        let hash = |n: u32| (n.wrapping_mul(2_654_435_761) >> 20) as u8;
        let byte = |n: u32| match noise {
            0 => (n / 999) as u8,
            1 => hash(n),
            2 => hash(n / 4).wrapping_mul(n.is_multiple_of(4).into()),
            _ => (n % 9 + n / 70_000) as u8,
        };
        (0..len as u32).map(byte).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn what_is_encoded_is_decoded(
            codec in prop::sample::select(vec![Codec::Lz4, Codec::Zlib, Codec::Zstd]), level in 0u8..=8,
            shuffle in prop::sample::select(vec![Shuffle::None, Shuffle::Byte, Shuffle::Bit]),
            typesize in prop_oneof![1usize..20, 0usize..300], len in prop_oneof![0usize..600, 0usize..300_000],
            noise in 0u32..4,
        ) {
            let (input, settings) = (bytes(len, noise), Settings { codec, level, shuffle, typesize });
            let packed = encode(&input, &settings).unwrap();
            prop_assert!(packed.len() <= len + HEADER);
            let header = Header::read(&packed).unwrap();
            prop_assert_eq!((header.size, header.stored, header.version), (len, packed.len(), BLOSC1));
            prop_assert!(decode(&packed, len).unwrap() == input, "{:?}, {} bytes", settings, len);
        }
    }

    #[test]
    fn blocks_are_of_whole_elements_and_large_enough() {
        for typesize in [1, 2, 3, 7, 8, 16, 17, 255] {
            for len in [1, 127, 128, 129, 5000, 32 << 10, 1 << 20, 50_000_001] {
                for codec in [Codec::Lz4, Codec::Zlib, Codec::Zstd] {
                    for level in 0..=9 {
                        let settings = Settings { codec, level, shuffle: Shuffle::Byte, typesize };
                        let (block, is_split) = blocks(len, &settings);
                        assert!(block >= 1 && block <= len.max(typesize), "{settings:?}, {len}: {block}");
                        assert!(!is_split || block % typesize == 0 && block / typesize >= SPLIT_LEAST);
                    }
                }
            }
        }
        let settings = Settings { codec: Codec::Lz4, level: 5, shuffle: Shuffle::Byte, typesize: 4 };
        assert_eq!(blocks(10 << 20, &settings), (512 << 10, true));
    }
}
