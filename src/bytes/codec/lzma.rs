//! LZMA of whole buffers: .xz files, the older .lzma files ("alone"), and raw streams whose filters are
//! known from elsewhere (numcodecs). <https://tukaani.org/xz/xz-file-format.txt>

use super::{cut_off, cut_to, too_much};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use lzma_rust2::filter::FilterConfig;
use lzma_rust2::filter::{bcj::BcjReader, delta::DeltaReader};
use lzma_rust2::{Action, Lzma2Stream, LzmaStream, Status, StreamResult, XzReader, XzStream};
use std::io::{ErrorKind, Read};

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

/// An .xz file (all its streams) or a .lzma file: the first bytes tell.
///
/// # Errors
/// `Malformed` for damage or more than `most` bytes, `Limit` for a dictionary over 1 GiB, `Unsupported` for
/// filters that are not read.
pub fn decode(input: &[u8], most: usize) -> Result<Vec<u8>> {
    if input.starts_with(crate::bytes::stream::xz::MAGIC) { xz(input, most) } else { alone(input, most) }
}

/// An .xz file.
///
/// # Errors
/// As [`decode`].
pub fn xz(input: &[u8], most: usize) -> Result<Vec<u8>> {
    if crate::bytes::stream::xz::filters(input)? > 1 {
        return read("xz data", &mut XzReader::new_mem_limit(input, true, MEMORY), most);
    }
    let mut stream = XzStream::new_mem_limit(true, MEMORY);
    run(input, most, "xz data", |from, to, action| stream.process(from, to, action))
}

/// A .lzma file.
///
/// # Errors
/// As [`decode`].
pub fn alone(input: &[u8], most: usize) -> Result<Vec<u8>> {
    let mut stream = LzmaStream::new_mem_limit(MEMORY, None);
    run(input, most, "lzma data", |from, to, action| stream.process(from, to, action))
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
    let decoded = raw_behind(input, lzma, before, most)?;
    more.iter().rev().try_fold(decoded, |data, filter| undone(&data, filter))
}

/// LZMA itself, and the filter before it.
fn raw_behind(input: &[u8], lzma: &Filter, before: &[Filter], most: usize) -> Result<Vec<u8>> {
    let before: Vec<FilterConfig> = before.iter().map(config).collect::<Result<_>>()?;
    let failed = |error: std::io::Error| Error::unsupported(format!("lzma data: {error}"));
    let dictionary = if lzma.value == 0 { 8 << 20 } else { lzma.value };
    // No reference reaches farther back than what is there.
    let dictionary = u64::from(dictionary).min(most.max(4096) as u64).min(limits::CHUNK) as u32;
    match lzma.id {
        LZMA2 => {
            let mut stream = Lzma2Stream::new_mem_limit(dictionary, MEMORY);
            stream.set_filters(&before).map_err(failed)?;
            run(input, most, "lzma data", |from, to, action| stream.process(from, to, action))
        }
        LZMA1 => {
            let (lc, lp, pb) = lzma.literals;
            let mut stream = LzmaStream::new(u64::MAX, lc, lp, pb, dictionary, None).map_err(failed)?;
            stream.set_filters(&before).map_err(failed)?;
            run(input, most, "lzma data", |from, to, action| stream.process(from, to, action))
        }
        other => Err(Error::unsupported(format!("lzma data: the last filter is {other:#x}, not LZMA"))),
    }
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
    reader.take(wanted).read_to_end(&mut out).map_err(|error| refused(&error, what))?;
    if out.len() > most { Err(too_much(what, most)) } else { Ok(out) }
}

fn refused(error: &std::io::Error, what: &str) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => cut_off(what),
        ErrorKind::OutOfMemory => Error::limit(format!("{what}: its dictionary is larger than 1 GiB")),
        ErrorKind::Unsupported => Error::unsupported(format!("{what}: {error}")),
        _ => Error::malformed(format!("{what}: {}", error.to_string().to_lowercase())),
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

type Step<'a> = dyn FnMut(&[u8], &mut [u8], Action) -> lzma_rust2::Result<StreamResult> + 'a;

/// Runs a decoder to its end.
fn run(
    input: &[u8],
    most: usize,
    what: &str,
    mut step: impl FnMut(&[u8], &mut [u8], Action) -> lzma_rust2::Result<StreamResult>,
) -> Result<Vec<u8>> {
    run_step(input, most, what, &mut step)
}

fn run_step(input: &[u8], most: usize, what: &str, step: &mut Step) -> Result<Vec<u8>> {
    let mut out = limits::buffer((input.len() as u64 * 4).clamp(1, (most as u64).clamp(1, 64 << 10)), what)?;
    let (mut at, mut made) = (0, 0);
    loop {
        if made == out.len() {
            if made > most {
                return Err(too_much(what, most));
            }
            let next = out.len().saturating_mul(2).min(most.saturating_add(1)).max(made + 1);
            limits::check(next as u64, limits::CHUNK + 1, what)?;
            out.resize(next, 0);
        }
        let (from, to) = (input.get(at..).unwrap_or_default(), out.get_mut(made..).unwrap_or_default());
        let action = if from.is_empty() { Action::Finish } else { Action::Run };
        let result = step(from, to, action).map_err(|error| refused(&error, what))?;
        at += result.bytes_consumed;
        made += result.bytes_produced;
        if result.status == Status::StreamEnd {
            break;
        }
        if result.bytes_consumed == 0 && result.bytes_produced == 0 && made < out.len() {
            return Err(cut_off(what));
        }
    }
    if made > most { Err(too_much(what, most)) } else { Ok(cut_to(out, made)) }
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
