//! Blosc chunks, of Blosc 1 and 2: blocks, each shuffled and compressed by one of several codecs.
//! <https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst>
//! <https://github.com/Blosc/c-blosc2/blob/main/README_CHUNK_FORMAT.rst>
//!
//! Not read, and refused by name: codecs and filters that are plugins (NDLZ, ZFP, Grok …; ByteDelta is read),
//! instrumented chunks, blocks of variable length.

pub mod encode;

use super::bitshuffle::unshuffle_bits;
use super::shuffle::unshuffle_into;
use super::{blosclz, cut_off, deflate, lz4, snappy, too_much, zstd};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{le, le_or_zero};

/// Bytes of Blosc 1's header, and of Blosc 2's.
const HEADER: usize = 16;
const EXTENDED: usize = 32;
/// Blosc 1 splits a block into streams of at least so many elements …
const SPLIT_LEAST: usize = 128;
/// … of at most so many bytes.
const SPLIT_MOST: usize = 16;
/// The last version of the format that is Blosc 1's.
const BLOSC1: u8 = 2;

/// What a chunk's header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the format: 2 for Blosc 1, above for Blosc 2.
    pub version: u8,
    /// Bytes of an element.
    pub typesize: usize,
    /// Bytes when decoded.
    pub size: usize,
    /// Bytes of a block; the last one may be shorter.
    pub block: usize,
    /// Bytes that are stored, this header with them.
    pub stored: usize,
    flags: u8,
    /// (Filter, its parameter) in the order of compressing; 0 is none.
    filters: [(u8, u8); 6],
    /// The number of a codec that is a plugin.
    plugin: u8,
    flags2: u8,
    variable: bool,
    start: usize,
}

impl Header {
    /// Reads the header at the beginning of a chunk.
    ///
    /// # Errors
    /// `Malformed` where it is none.
    pub fn read(input: &[u8]) -> Result<Header> {
        let Some(&[version, _, flags, typesize, ..]) = input.first_chunk::<HEADER>() else {
            return Err(cut_off("Blosc header"));
        };
        let field = |at| le_or_zero::<u32>(input, at) as usize;
        let mut header = Header {
            version,
            typesize: usize::from(typesize),
            size: field(4),
            block: field(8),
            stored: field(12),
            flags,
            filters: [(0, 0); 6],
            plugin: 0,
            flags2: 0,
            variable: false,
            start: HEADER,
        };
        if flags & 5 == 5 {
            let more: &[u8; EXTENDED] = input.first_chunk().ok_or_else(|| cut_off("Blosc header"))?;
            for (filter, (id, meta)) in header.filters.iter_mut().zip(more[16..].iter().zip(&more[24..])) {
                *filter = (*id, *meta);
            }
            if version == 3 {
                // The first versions of Blosc 2 left the last one undefined.
                header.filters[5] = (0, 0);
            }
            (header.plugin, header.flags2, header.start) = (more[22], more[31], EXTENDED);
            header.variable = more[30] & 1 != 0;
        } else {
            header.filters[0] = (flags & 1, 0);
            header.filters[1] = (if flags & 4 != 0 { 2 } else { 0 }, 0);
            header.filters[2] = (if flags & 8 != 0 { 3 } else { 0 }, 0);
        }
        header.check()
    }

    fn check(mut self) -> Result<Header> {
        let wrong = |what: &str| Err(Error::malformed(format!("Blosc header: {what}")));
        if self.version == 0 || self.typesize == 0 {
            return wrong("its version or type size is 0");
        }
        if self.size > i32::MAX as usize || self.block > i32::MAX as usize || self.stored < self.start {
            return wrong("its sizes are impossible");
        }
        if self.block == 0 && self.size > 0 {
            return wrong("its blocks have 0 bytes");
        }
        if !self.variable {
            self.block = self.block.min(self.size.max(1));
        }
        Ok(self)
    }

    /// The codec's name.
    pub fn codec(&self) -> &'static str {
        match self.flags >> 5 {
            0 => "blosclz",
            1 => "lz4",
            2 => "snappy",
            3 => "zlib",
            4 => "zstd",
            _ => plugin_name(self.plugin),
        }
    }

    /// The filters' names, in the order of compressing.
    pub fn filters(&self) -> Vec<&'static str> {
        self.filters.iter().filter(|(id, _)| *id != 0).map(|(id, _)| filter_name(*id)).collect()
    }

    fn is_copied(&self) -> bool {
        self.flags & 2 != 0
    }

    /// The kind of a chunk that is one value all through, 0 where it is none.
    fn special(&self) -> u8 {
        self.flags2 >> 4 & 7
    }

    /// Streams of a block: one for each byte of an element, or one.
    fn streams(&self, block: usize, is_last_short: bool) -> usize {
        let whole = self.flags & 0x10 != 0 || is_last_short;
        // Before there was a flag, this decided; chunks of Blosc 1 keep to it.
        let small =
            self.version <= BLOSC1 && (self.typesize > SPLIT_MOST || block / self.typesize < SPLIT_LEAST);
        if whole || small { 1 } else { self.typesize }
    }
}

fn plugin_name(id: u8) -> &'static str {
    match id {
        32 => "NDLZ",
        33..=35 => "ZFP",
        36 => "Grok",
        37 => "OpenHTJ2K",
        _ => "a plugin of its own",
    }
}

fn filter_name(id: u8) -> &'static str {
    match id {
        1 => "shuffle",
        2 => "bitshuffle",
        3 => "delta",
        4 => "trunc_prec",
        32 => "NDCell",
        33 => "NDMean",
        34 | 35 => "ByteDelta",
        36 => "IntTrunc",
        _ => "a plugin of its own",
    }
}

/// Decodes one chunk.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes, `Unsupported` for codecs and filters that are plugins.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let header = Header::read(input)?;
    if header.size > most {
        return Err(too_much("Blosc data", most));
    }
    let input = input.get(..header.stored).ok_or_else(|| cut_off("Blosc data"))?;
    if header.size == 0 {
        return Ok(Vec::new());
    }
    if header.special() != 0 {
        return special(&header, input);
    }
    if header.is_copied() {
        let bytes = input.get(header.start..).and_then(|rest| rest.get(..header.size));
        return bytes.map(<[u8]>::to_vec).ok_or_else(|| cut_off("Blosc data"));
    }
    if header.variable {
        return Err(Error::unsupported("Blosc data: blocks of variable length"));
    }
    if header.flags2 & 0x80 != 0 || header.flags2 & 8 != 0 {
        return Err(Error::unsupported("Blosc data: an instrumented or lazy chunk"));
    }
    // A block of one repeated byte takes nine bytes: its place, and what it is.
    if header.size / header.block > input.len() / 8 + 1 {
        return Err(Error::malformed("Blosc header: more blocks than there is room for"));
    }
    Decoder::new(&header, input)?.run()
}

/// A chunk of one value.
fn special(header: &Header, input: &[u8]) -> Result<Vec<u8>> {
    let mut out = limits::buffer(header.size as u64, "Blosc data")?;
    let value: &[u8] = match header.special() {
        1 | 4 => return Ok(out),
        2 if header.typesize == 4 => &f32::NAN.to_le_bytes(),
        2 if header.typesize == 8 => &f64::NAN.to_le_bytes(),
        3 => input.get(header.start..).unwrap_or_default(),
        other => {
            return Err(Error::unsupported(format!("Blosc data: a chunk of special values of kind {other}")));
        }
    };
    if value.is_empty() || !header.size.is_multiple_of(value.len()) {
        return Err(Error::malformed("Blosc data: its repeated value does not fit"));
    }
    out.chunks_exact_mut(value.len()).for_each(|element| element.copy_from_slice(value));
    Ok(out)
}

/// The state of decoding one chunk; buffers are used for all blocks.
struct Decoder<'a> {
    header: &'a Header,
    input: &'a [u8],
    dictionary: Option<&'a [u8]>,
    block: Vec<u8>,
    other: Vec<u8>,
    planes: Vec<u8>,
}

impl<'a> Decoder<'a> {
    fn new(header: &'a Header, input: &'a [u8]) -> Result<Self> {
        let blocks = header.size.div_ceil(header.block);
        let mut dictionary = None;
        if header.flags2 & 1 != 0 {
            let at = header.start + blocks * 4;
            let len = le::<u32>(input, at).ok_or_else(|| cut_off("Blosc data"))? as usize;
            let bytes = input.get(at + 4..).and_then(|rest| rest.get(..len));
            dictionary = Some(bytes.ok_or_else(|| cut_off("Blosc dictionary"))?);
        }
        for (id, _) in header.filters {
            if !matches!(id, 0..=4 | 35 | 36) {
                let name = filter_name(id);
                return Err(Error::unsupported(format!("Blosc data: filter {id} ({name})")));
            }
        }
        Ok(Decoder { header, input, dictionary, block: vec![], other: vec![], planes: vec![] })
    }

    fn run(mut self) -> Result<Vec<u8>> {
        let mut out = limits::buffer(self.header.size as u64, "Blosc data")?;
        let count = self.header.size.div_ceil(self.header.block);
        for n in 0..count {
            let start = n * self.header.block;
            let len = self.header.block.min(self.header.size - start);
            self.block.clear();
            self.block.reserve(len);
            self.streams(n, len)?;
            let (before, from) = out.split_at_mut(start);
            let to = from.get_mut(..len).unwrap_or_default();
            self.unfilter(before, to);
        }
        Ok(out)
    }

    /// Decompresses the streams of block `n` into `self.block`.
    fn streams(&mut self, n: usize, len: usize) -> Result<()> {
        let damaged = || Error::malformed(format!("Blosc data: block {n} is damaged"));
        let place = le::<u32>(self.input, self.header.start + n * 4).ok_or_else(|| cut_off("Blosc data"))?;
        let mut rest = self.input.get(place as usize..).ok_or_else(damaged)?;
        let streams = self.header.streams(len, len < self.header.block);
        let each = len / streams;
        if each == 0 {
            return Err(damaged());
        }
        for _ in 0..streams {
            let size = le::<u32>(rest, 0).ok_or_else(damaged)? as i32;
            rest = rest.get(4..).unwrap_or_default();
            let end = self.block.len() + each;
            if size == 0 && self.header.version > BLOSC1 {
                self.block.resize(end, 0);
            } else if size < 0 && self.header.version > BLOSC1 {
                // A run of one byte; the token after it says so.
                let (Some(&token), true) = (rest.first(), size >= -255) else { return Err(damaged()) };
                if token & 1 == 0 {
                    return Err(damaged());
                }
                self.block.resize(end, size.unsigned_abs() as u8);
                rest = rest.get(1..).unwrap_or_default();
            } else {
                let size = usize::try_from(size).map_err(|_| damaged())?;
                let data = rest.get(..size).ok_or_else(damaged)?;
                rest = rest.get(size..).unwrap_or_default();
                if size == each {
                    self.block.extend_from_slice(data);
                } else {
                    self.decompress(data, end)?;
                }
            }
            if self.block.len() != end {
                return Err(damaged());
            }
        }
        // A remainder that belongs to no stream cannot be: sizes are multiples wherever blocks are split.
        if self.block.len() == len { Ok(()) } else { Err(damaged()) }
    }

    /// Decompresses one stream onto the end of the block, which then has `end` bytes.
    fn decompress(&mut self, data: &[u8], end: usize) -> Result<()> {
        let start = self.block.len();
        if self.header.flags >> 5 == 0 {
            return blosclz::decode_onto(data, &mut self.block, end);
        }
        self.block.resize(end, 0);
        let to = self.block.get_mut(start..).unwrap_or_default();
        let made = match self.header.flags >> 5 {
            1 => lz4::block_into(data, to, self.dictionary)?,
            2 => snappy::decode_into(data, to)?,
            3 => deflate::zlib_into(data, to)?,
            4 => zstd::decode_into(data, to, self.dictionary)?,
            _ => {
                return Err(Error::unsupported(format!("Blosc data: compressed by {}", self.header.codec())));
            }
        };
        self.block.truncate(start + made);
        Ok(())
    }

    /// Undoes the filters of one block, from the last to the first, into `to`; `before` are the blocks that
    /// are done.
    fn unfilter(&mut self, before: &[u8], to: &mut [u8]) {
        let size = self.header.typesize;
        let mut active: Vec<(u8, u8)> = self.header.filters.iter().rev().copied().collect();
        active.retain(|(id, meta)| matches!(id, 1 | 2 | 3 | 35) && (*id != 1 || size > 1 || *meta > 0));
        for (id, meta) in active {
            self.other.clear();
            self.other.resize(self.block.len(), 0);
            match id {
                1 => unshuffle_into(&self.block, if meta == 0 { size } else { meta.into() }, &mut self.other),
                2 => self.unshuffle_bits(),
                3 => {
                    self.other.copy_from_slice(&self.block);
                    undelta(&mut self.other, before, size);
                }
                _ => unbytedelta(&self.block, &mut self.other, if meta == 0 { size } else { meta.into() }),
            }
            std::mem::swap(&mut self.block, &mut self.other);
        }
        to.copy_from_slice(&self.block);
    }

    fn unshuffle_bits(&mut self) {
        let size = self.header.typesize;
        // Blosc 1 leaves blocks alone that are no multiple of eight elements.
        if self.header.version <= BLOSC1 && !(self.block.len() / size).is_multiple_of(8) {
            self.other.copy_from_slice(&self.block);
        } else {
            unshuffle_bits(&self.block, size, &mut self.other, &mut self.planes);
        }
    }
}

/// Undoes the exclusive or with the element before (first block) or with the first block's element.
fn undelta(block: &mut [u8], before: &[u8], size: usize) {
    let size = match size {
        1 | 2 | 4 | 8 => size,
        n if n % 8 == 0 => 8,
        _ => 1,
    };
    let whole = block.len() / size * size;
    let block = block.get_mut(..whole).unwrap_or_default();
    if before.is_empty() {
        for at in size..whole {
            let earlier = block.get(at - size).copied().unwrap_or(0);
            if let Some(byte) = block.get_mut(at) {
                *byte ^= earlier;
            }
        }
    } else {
        block.iter_mut().zip(before).for_each(|(byte, reference)| *byte ^= reference);
    }
}

/// Sums up each plane of bytes.
fn unbytedelta(input: &[u8], out: &mut [u8], planes: usize) {
    let plane = (input.len() / planes.max(1)).max(1);
    out.copy_from_slice(input);
    for part in out.chunks_exact_mut(plane).take(planes) {
        let mut sum = 0u8;
        for byte in part {
            sum = sum.wrapping_add(*byte);
            *byte = sum;
        }
    }
}
