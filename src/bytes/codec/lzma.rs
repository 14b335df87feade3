//! LZMA: .xz files, the older .lzma files ("alone"), members of ZIP archives, and raw streams whose filters are
//! known from elsewhere (numcodecs). <https://tukaani.org/xz/xz-file-format.txt>

use super::decompress::{Begin, Decompressor, State, Step, whole};
use super::{cut_off, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use lzma_rust2::filter::FilterConfig;
use lzma_rust2::filter::{bcj::BcjReader, delta::DeltaReader};
use lzma_rust2::{Action, Lzma2Stream, LzmaStream, Status, XzReader, XzStream};
use std::io::{ErrorKind, Read};

pub(crate) mod known;

pub use known::{begins_as_lzma, filters};

/// The magic number of an xz stream.
pub const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// The most memory for a dictionary, in KiB.
const MEMORY: u32 = (limits::CHUNK >> 10) as u32;

/// A filter of a raw stream, in liblzma's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// `LZMA_FILTER_…`: 3 delta, 4 to 11 executables, 0x21 LZMA2, 0x4000000000000001 LZMA1.
    pub id: u64,
    /// The distance (delta) or the dictionary's size (LZMA); 0 where it is not given.
    pub value: u32,
    /// LZMA1's `lc`, `lp` and `pb`.
    pub literals: (u32, u32, u32),
}

/// The numbers of LZMA's own filters.
pub const LZMA1: u64 = 0x4000_0000_0000_0001;
/// LZMA2.
pub const LZMA2: u64 = 0x21;

/// Decompresses one of LZMA's framings, all streams of it. Of filters before LZMA it knows one.
pub struct Lzma {
    stream: Stream,
    is_xz: bool,
}

enum Stream {
    Xz(Box<XzStream>),
    Lzma(Box<LzmaStream>),
    Lzma2(Box<Lzma2Stream>),
    /// A ZIP member of so many bytes, before its header.
    Member(u64),
}

impl Lzma {
    /// A decompressor of an .xz file.
    pub fn xz() -> Self {
        Lzma { stream: Stream::Xz(Box::new(XzStream::new_mem_limit(true, MEMORY))), is_xz: true }
    }

    /// A decompressor of a .lzma file.
    pub fn alone() -> Self {
        Self::of(Stream::Lzma(Box::new(LzmaStream::new_mem_limit(MEMORY, None))))
    }

    /// A decompressor of a ZIP archive's member that becomes `size` bytes.
    pub fn member(size: u64) -> Self {
        Self::of(Stream::Member(size))
    }

    fn of(stream: Stream) -> Self {
        Lzma { stream, is_xz: false }
    }

    /// One of a raw stream: LZMA itself, and the filter before it.
    fn raw(lzma: &Filter, before: &[Filter], most: usize) -> Result<Self> {
        let before: Vec<FilterConfig> = before.iter().map(config).collect::<Result<_>>()?;
        let failed = |error: std::io::Error| Error::unsupported(format!("lzma data: {error}"));
        let dictionary = if lzma.value == 0 { 8 << 20 } else { lzma.value };
        // No reference reaches farther back than what is there.
        let dictionary = u64::from(dictionary).min(most.max(4096) as u64).min(limits::CHUNK) as u32;
        Ok(Self::of(match lzma.id {
            LZMA2 => {
                let mut stream = Lzma2Stream::new_mem_limit(dictionary, MEMORY);
                stream.set_filters(&before).map_err(failed)?;
                Stream::Lzma2(Box::new(stream))
            }
            LZMA1 => {
                let (lc, lp, pb) = lzma.literals;
                let mut stream = LzmaStream::new(u64::MAX, lc, lp, pb, dictionary, None).map_err(failed)?;
                stream.set_filters(&before).map_err(failed)?;
                Stream::Lzma(Box::new(stream))
            }
            other => {
                return Err(Error::unsupported(format!(
                    "lzma data: the last filter is {other:#x}, not LZMA"
                )));
            }
        }))
    }
}

impl Decompressor for Lzma {
    fn head(&self) -> usize {
        if let Stream::Member(_) = self.stream { 9 } else { 0 }
    }

    fn begin(&mut self, head: &[u8], number: u64) -> Result<Begin> {
        if number > 1 {
            return Ok(Begin::End);
        }
        let Stream::Member(size) = self.stream else { return Ok(Begin::Frame(0)) };
        // Two bytes version, two bytes length of the properties, five bytes properties.
        let &[_, _, 5, 0, properties, a, b, c, d, ..] = head else {
            return Err(Error::malformed("lzma data: there is no header"));
        };
        // A dictionary larger than the member is never used.
        let dictionary = u64::from(u32::from_le_bytes([a, b, c, d])).min(size.max(4096)).min(limits::CHUNK);
        let stream = LzmaStream::new_with_props(size, properties, dictionary as u32, None);
        self.stream = Stream::Lzma(Box::new(stream.map_err(|error| refused(&error))?));
        Ok(Begin::Frame(9))
    }

    fn step(&mut self, input: &mut &[u8], out: &mut [u8], last: bool) -> Result<Step> {
        let action = if input.is_empty() && last { Action::Finish } else { Action::Run };
        let done = match &mut self.stream {
            Stream::Xz(stream) => stream.process(input, out, action),
            Stream::Lzma(stream) => stream.process(input, out, action),
            Stream::Lzma2(stream) => stream.process(input, out, action),
            Stream::Member(_) => return Err(Error::bug("LZMA without its header")),
        };
        let done = match done {
            // The driver says it in its words.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Ok(Step { made: 0, state: State::More(1) });
            }
            done => done.map_err(|error| refused(&error))?,
        };
        *input = input.get(done.bytes_consumed..).unwrap_or_default();
        let state = if done.status == Status::StreamEnd { State::End(None) } else { State::More(1) };
        Ok(Step { made: done.bytes_produced, state })
    }

    fn name(&self) -> String {
        if self.is_xz { "xz stream".to_owned() } else { "lzma stream".to_owned() }
    }
}

/// An .xz file (all its streams) or a .lzma file: the first bytes tell.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes, `Limit` for a dictionary over 1 GiB, `Unsupported` for
/// filters that are not read.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    if input.starts_with(MAGIC) {
        xz(input, most)
    } else {
        whole(&mut Lzma::alone(), input, most, "lzma data")
    }
}

/// An .xz file.
///
/// # Errors
/// As [`decode`].
pub fn xz(input: &[u8], most: usize) -> Result<Vec<u8>> {
    if filters(input)? > 1 {
        return read("xz data", &mut chained(input), most);
    }
    whole(&mut Lzma::xz(), input, most, "xz data")
}

/// A reader of an .xz file whose data went through several filters: the decoder that takes what it is given knows
/// only one before LZMA2, this one, which reads by itself, knows all.
pub fn chained<R: Read>(input: R) -> XzReader<R> {
    XzReader::new_mem_limit(input, true, MEMORY)
}

/// A raw stream that went through `filters`, in the order of compressing; the last is LZMA itself.
///
/// # Errors
/// As [`decode`].
pub fn raw(input: &[u8], filters: &[Filter], most: usize) -> Result<Vec<u8>> {
    let Some((lzma, before)) = filters.split_last() else {
        return Err(Error::malformed("lzma data: a raw stream without filters"));
    };
    // The decoder undoes one filter by itself, which is what nearly all streams have.
    let (before, more) = if before.len() > 1 { (&[][..], before) } else { (before, &[][..]) };
    let decoded = whole(&mut Lzma::raw(lzma, before, most)?, input, most, "lzma data")?;
    more.iter().rev().try_fold(decoded, |data, filter| undone(&data, filter))
}

/// All of `data` before one filter.
fn undone(data: &[u8], filter: &Filter) -> Result<Vec<u8>> {
    let start = filter.value as usize;
    let mut reader: Box<dyn Read + '_> = match filter.id {
        3 => Box::new(DeltaReader::new(data, filter.value.clamp(1, 256) as usize)),
        4 => Box::new(BcjReader::new_x86(data, start)),
        5 => Box::new(BcjReader::new_ppc(data, start)),
        6 => Box::new(BcjReader::new_ia64(data, start)),
        7 => Box::new(BcjReader::new_arm(data, start)),
        8 => Box::new(BcjReader::new_arm_thumb(data, start)),
        9 => Box::new(BcjReader::new_sparc(data, start)),
        10 => Box::new(BcjReader::new_arm64(data, start)),
        11 => Box::new(BcjReader::new_riscv(data, start)),
        other => return Err(Error::unsupported(format!("lzma data: filter {other:#x}"))),
    };
    read("lzma data", &mut *reader, data.len())
}

/// All that a reader gives, at most so many bytes.
fn read(what: &str, reader: &mut dyn Read, most: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let wanted = most.saturating_add(1) as u64;
    reader.take(wanted).read_to_end(&mut out).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => cut_off(what),
        _ => refused(&error).of(what),
    })?;
    if out.len() > most { Err(too_much(what, most)) } else { Ok(out) }
}

/// The library's error in our words.
pub fn refused(error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::OutOfMemory => Error::limit("its dictionary is larger than 1 GiB"),
        ErrorKind::Unsupported => Error::unsupported(error.to_string()),
        _ => Error::malformed(error.to_string().to_lowercase()),
    }
}

fn config(filter: &Filter) -> Result<FilterConfig> {
    Ok(match filter.id {
        3 => FilterConfig::new_delta(filter.value.clamp(1, 256)),
        4 => FilterConfig::new_bcj_x86(filter.value),
        5 => FilterConfig::new_bcj_ppc(filter.value),
        6 => FilterConfig::new_bcj_ia64(filter.value),
        7 => FilterConfig::new_bcj_arm(filter.value),
        8 => FilterConfig::new_bcj_arm_thumb(filter.value),
        9 => FilterConfig::new_bcj_sparc(filter.value),
        10 => FilterConfig::new_bcj_arm64(filter.value),
        11 => FilterConfig::new_bcj_risc_v(filter.value),
        other => return Err(Error::unsupported(format!("lzma data: filter {other:#x}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn data() -> Vec<u8> {
        (0..100_000u32).map(|n| (n / 50) as u8).collect()
    }

    #[test]
    fn several_filters() {
        let data = data();
        let mut options = lzma_rust2::XzOptions::with_preset(1);
        options.filters = vec![FilterConfig::new_delta(2), FilterConfig::new_bcj_arm(0)];
        let mut writer = lzma_rust2::XzWriter::new(vec![], options).unwrap();
        writer.write_all(&data).unwrap();
        let packed = writer.finish().unwrap();
        assert_eq!(decode(&packed, data.len()).unwrap(), data);
        assert!(decode(&packed, data.len() - 1).is_err());
        // The raw stream lies behind the two headers, as far as its own end says.
        let header = 12 + 4 * (usize::from(packed[12]) + 1);
        let filter = |id, value| Filter { id, value, literals: (0, 0, 0) };
        let filters = [filter(3, 2), filter(7, 0), filter(LZMA2, 1 << 20)];
        assert_eq!(raw(&packed[header..], &filters, data.len()).unwrap(), data);
    }

    #[test]
    fn xz_and_its_limits() {
        let data = data();
        let mut writer = lzma_rust2::XzWriter::new(vec![], lzma_rust2::XzOptions::with_preset(1)).unwrap();
        writer.write_all(&data).unwrap();
        let packed = writer.finish().unwrap();
        assert_eq!(decode(&packed, data.len()).unwrap(), data);
        assert!(decode(&packed, data.len() - 1).unwrap_err().message().contains("more than"));
        for cut in [0, 3, 8, packed.len() / 2, packed.len() - 1] {
            assert!(decode(&packed[..cut], data.len()).is_err(), "{cut}");
        }
    }
}
