//! The filter pipeline of a chunk, undone: from the last filter that was applied to the first.
//!
//! A filter that Gander lacks is named when the dataset is opened; chunks to which it was not applied (their
//! filter mask says so) are still read.

use super::super::message::{Filter, FilterPipeline};
use crate::error::{Error, Result};
use crate::limits;
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use std::cell::RefCell;

/// Numbers of the filters that the HDF Group has registered.
mod id {
    pub(super) const DEFLATE: u16 = 1;
    pub(super) const SHUFFLE: u16 = 2;
    pub(super) const FLETCHER32: u16 = 3;
    pub(super) const SZIP: u16 = 4;
    pub(super) const NBIT: u16 = 5;
    pub(super) const SCALE_OFFSET: u16 = 6;
    pub(super) const BZIP2: u16 = 307;
    pub(super) const LZF: u16 = 32000;
    pub(super) const BLOSC: u16 = 32001;
    pub(super) const LZ4: u16 = 32004;
    pub(super) const BITSHUFFLE: u16 = 32008;
    pub(super) const ZSTD: u16 = 32015;
    pub(super) const BLOSC2: u16 = 32026;
}

/// Filters that others have registered, by name.
const KNOWN: [(u16, &str); 22] = [
    (id::DEFLATE, "gzip"),
    (id::SHUFFLE, "shuffle"),
    (id::FLETCHER32, "fletcher32"),
    (id::SZIP, "szip"),
    (id::NBIT, "nbit"),
    (id::SCALE_OFFSET, "scaleoffset"),
    (305, "lzo"),
    (id::BZIP2, "bzip2"),
    (id::LZF, "lzf"),
    (id::BLOSC, "blosc"),
    (id::LZ4, "lz4"),
    (id::BITSHUFFLE, "bitshuffle"),
    (32013, "zfp"),
    (32014, "fpzip"),
    (id::ZSTD, "zstd"),
    (32017, "sz"),
    (32018, "fcidecomp"),
    (32019, "jpeg"),
    (32022, "bitgroom"),
    (32023, "granular bitround"),
    (32024, "sz3"),
    (id::BLOSC2, "blosc2"),
];

/// What a filter is called.
pub(super) fn word(filter: &Filter) -> String {
    match KNOWN.iter().find(|(id, _)| *id == filter.id) {
        Some((_, name)) => (*name).to_owned(),
        None if filter.name.is_empty() => format!("filter {}", filter.id),
        None => filter.name.clone(),
    }
}

/// Whether Gander can undo a filter.
fn is_there(filter: &Filter) -> bool {
    use id::{
        BITSHUFFLE, BLOSC, BLOSC2, BZIP2, DEFLATE, FLETCHER32, LZ4, LZF, NBIT, SCALE_OFFSET, SHUFFLE, SZIP,
        ZSTD,
    };
    matches!(
        filter.id,
        DEFLATE
            | SHUFFLE
            | FLETCHER32
            | SZIP
            | NBIT
            | SCALE_OFFSET
            | BZIP2
            | LZF
            | BLOSC
            | LZ4
            | BITSHUFFLE
            | ZSTD
            | BLOSC2
    )
}

/// The filters that nothing here undoes, in words.
pub(super) fn missing(pipeline: &FilterPipeline) -> Vec<String> {
    let absent = pipeline.filters.iter().filter(|filter| !is_there(filter));
    absent.map(|filter| format!("{} ({})", word(filter), filter.id)).collect()
}

/// Undoes the filters of one chunk, which has `raw` bytes without them; those in `mask` were left out.
///
/// # Errors
/// `Malformed` where a filter's data is broken, `Unsupported` for one that is not there, `Limit` for a chunk
/// that grows beyond [`limits::CHUNK`].
pub(in super::super) fn undo(
    pipeline: &FilterPipeline,
    stored: Bytes,
    mask: u32,
    raw: usize,
) -> Result<Bytes> {
    let mut data = stored;
    for (n, filter) in pipeline.filters.iter().enumerate().rev() {
        if n < 32 && mask >> n & 1 == 1 {
            continue;
        }
        // Filters before this one may have made more bytes of the chunk than it has.
        let most = if n == 0 { raw } else { raw.saturating_mul(2).saturating_add(1 << 16) };
        let most = most.min(limits::CHUNK as usize);
        data = one(filter, data, raw, most).map_err(|e| named(filter, e))?;
    }
    Ok(data)
}

/// An error with the filter's name.
fn named(filter: &Filter, error: Error) -> Error {
    use crate::error::ErrorKind;
    match error.kind() {
        ErrorKind::Malformed => {
            let message = error.message();
            let message = message.strip_prefix("malformed ").unwrap_or(&message);
            Error::malformed(format!("{} data: {message}", word(filter)))
        }
        _ => error,
    }
}

fn one(filter: &Filter, data: Bytes, raw: usize, most: usize) -> Result<Bytes> {
    let client = |n: usize| filter.client.get(n).copied().unwrap_or(0);
    match filter.id {
        id::DEFLATE => inflate(&data, raw, most).map(Bytes::from),
        id::SHUFFLE => Ok(unshuffle(data, client(0) as usize)),
        id::FLETCHER32 => fletcher32(data),
        _ => plugin(filter, &data, raw, most).map(Bytes::from),
    }
}

thread_local! {
    /// One decompressor a thread: making one costs more than a small chunk.
    static INFLATE: RefCell<Option<Decompress>> = const { RefCell::new(None) };
}

/// A zlib stream that gives `hint` bytes, or others up to `most`.
fn inflate(data: &[u8], hint: usize, most: usize) -> Result<Vec<u8>> {
    INFLATE.with_borrow_mut(|kept| {
        let inflate = kept.get_or_insert_with(|| Decompress::new(true));
        inflate.reset(true);
        let mut out = Vec::new();
        let mut room = hint.max(64);
        loop {
            out.try_reserve_exact(room).map_err(|_| Error::limit(format!("{room} bytes for a chunk")))?;
            let taken = usize::try_from(inflate.total_in()).unwrap_or(usize::MAX);
            let rest = data.get(taken..).unwrap_or_default();
            let before = out.len();
            let status = inflate.decompress_vec(rest, &mut out, FlushDecompress::Finish);
            match status {
                Ok(Status::StreamEnd) => return Ok(out),
                Ok(_) | Err(_) if out.len() > most => {
                    return Err(Error::malformed(format!("it decodes to over {most} bytes")));
                }
                Ok(Status::Ok | Status::BufError) if out.len() == out.capacity() && out.len() > before => {
                    room = out.len().min(16 << 20);
                }
                Ok(_) => return Err(Error::malformed("it ends early")),
                Err(error) => return Err(Error::malformed(error.to_string())),
            }
        }
    })
}

/// Bytes that were sorted by their place in the element, put together again; what does not fill an element
/// stands at the end as it is.
fn unshuffle(data: Bytes, size: usize) -> Bytes {
    if size <= 1 || data.len() < 2 * size {
        return data;
    }
    let count = data.len() / size;
    let mut out = vec![0; data.len()];
    let (planes, rest) = data.split_at(count * size);
    let (elements, end) = out.split_at_mut(count * size);
    end.copy_from_slice(rest);
    match size {
        2 => unshuffle_2(planes, elements, count),
        4 => unshuffle_4(planes, elements, count),
        8 => unshuffle_8(planes, elements, count),
        _ => {
            // By blocks of elements, so that what is written stays in the cache.
            for (n, block) in elements.chunks_mut(size * 256).enumerate() {
                for (byte, plane) in planes.chunks_exact(count).enumerate() {
                    let plane = plane.get(n * 256..).unwrap_or_default();
                    for (element, &value) in block.chunks_exact_mut(size).zip(plane) {
                        if let Some(place) = element.get_mut(byte) {
                            *place = value;
                        }
                    }
                }
            }
        }
    }
    out.into()
}

// In the following, each element is put together in a register of its width: the compiler does many at once.

fn unshuffle_2(planes: &[u8], out: &mut [u8], count: usize) {
    let (a, b) = planes.split_at(count);
    for ((out, &a), &b) in out.as_chunks_mut::<2>().0.iter_mut().zip(a).zip(b) {
        *out = [a, b];
    }
}

fn unshuffle_4(planes: &[u8], out: &mut [u8], count: usize) {
    let (low, high) = planes.split_at(2 * count);
    let ((a, b), (c, d)) = (low.split_at(count), high.split_at(count));
    for ((((out, &a), &b), &c), &d) in out.as_chunks_mut::<4>().0.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *out = (u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16 | u32::from(d) << 24).to_le_bytes();
    }
}

fn unshuffle_8(planes: &[u8], out: &mut [u8], count: usize) {
    // Halves of a block first, which stay in the first cache.
    const BLOCK: usize = 512;
    let (mut low, mut high) = ([0u32; BLOCK], [0u32; BLOCK]);
    let plane = |n: usize, at: usize| planes.get(n * count + at..(n + 1) * count).unwrap_or_default();
    for (n, out) in out.as_chunks_mut::<8>().0.chunks_mut(BLOCK).enumerate() {
        let at = n * BLOCK;
        for (half, first) in [(&mut low, 0), (&mut high, 4)] {
            let parts = plane(first, at).iter().zip(plane(first + 1, at)).zip(plane(first + 2, at));
            for ((half, ((&a, &b), &c)), &d) in half.iter_mut().zip(parts).zip(plane(first + 3, at)) {
                *half = u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16 | u32::from(d) << 24;
            }
        }
        for ((out, &low), &high) in out.iter_mut().zip(&low).zip(&high) {
            *out = (u64::from(low) | u64::from(high) << 32).to_le_bytes();
        }
    }
}

/// Checks and takes off the four bytes of checksum at the end.
fn fletcher32(data: Bytes) -> Result<Bytes> {
    let Some(end) = data.len().checked_sub(4) else {
        return Err(Error::malformed("it is shorter than its checksum"));
    };
    let stored = super::bytes::uint_at(&data, end, 4) as u32;
    let body = data.slice(..end);
    let right = fletcher(&body);
    // HDF5 before 1.6.3 swapped the bytes of both halves on little-endian machines.
    let swapped = (right & 0x00ff_00ff) << 8 | right >> 8 & 0x00ff_00ff;
    if stored != right && stored != swapped {
        return Err(Error::malformed(format!("its checksum is {right:08x}, {stored:08x} is stored")));
    }
    Ok(body)
}

/// Fletcher's checksum of 16-bit big-endian words, as `H5_checksum_fletcher32` has it.
fn fletcher(data: &[u8]) -> u32 {
    let (mut a, mut b) = (0u32, 0u32);
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (words, rest) = data.as_chunks::<2>();
    for block in words.chunks(360) {
        for word in block {
            a += u32::from(u16::from_be_bytes(*word));
            b += a;
        }
        (a, b) = (fold(a), fold(b));
    }
    if let [last] = rest {
        a += u32::from(*last) << 8;
        b += a;
        (a, b) = (fold(a), fold(b));
    }
    (a, b) = (fold(a), fold(b));
    b << 16 | a
}

/// The filters that are codecs of their own.
fn plugin(filter: &Filter, _data: &[u8], _raw: usize, _most: usize) -> Result<Vec<u8>> {
    Err(Error::unsupported(format!("the filter {} ({})", word(filter), filter.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shuffle(data: &[u8], size: usize) -> Vec<u8> {
        let count = data.len() / size;
        let mut out: Vec<u8> = (0..size).flat_map(|b| (0..count).map(move |n| data[n * size + b])).collect();
        out.extend(&data[count * size..]);
        out
    }

    proptest! {
        #[test]
        fn unshuffling_undoes_shuffling(data in prop::collection::vec(any::<u8>(), 0..5000), size in 1usize..20) {
            let shuffled = shuffle(&data, size);
            prop_assert_eq!(unshuffle(shuffled.into(), size).to_vec(), data);
        }
    }

    #[test]
    fn checksums() {
        let mut data = b"some bytes".to_vec();
        data.extend(fletcher(b"some bytes").to_le_bytes());
        assert_eq!(fletcher32(data.clone().into()).unwrap(), &b"some bytes"[..]);
        data[3] ^= 1;
        assert!(fletcher32(data.into()).is_err());
    }
}
