//! The filter pipeline of a chunk, undone: from the last filter that was applied to the first.
//!
//! A filter that Gander lacks is named when the dataset is opened; chunks to which it was not applied (their
//! filter mask says so) are still read.

use super::super::message::{Filter, FilterPipeline};
use crate::bytes::codec::{self, bitshuffle::Inner};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use bytes::Bytes;

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
    pub(super) const ZFP: u16 = 32013;
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
    (id::ZFP, "zfp"),
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
        ZFP, ZSTD,
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
            | ZFP
            | ZSTD
            | BLOSC2
    )
}

/// The filters that nothing here undoes: their numbers, and what they are in words.
pub(super) fn missing(pipeline: &FilterPipeline) -> Vec<(u16, String)> {
    let absent = pipeline.filters.iter().filter(|filter| !is_there(filter));
    absent.map(|filter| (filter.id, format!("{} ({})", word(filter), filter.id))).collect()
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
        let before = pipeline.filters.get(..n).unwrap_or_default();
        let most = bound(before, raw);
        data = one(filter, data, most).map_err(|e| named(filter, e))?;
    }
    Ok(data)
}

/// An error with the filter's name.
fn named(filter: &Filter, error: Error) -> Error {
    use crate::bytes::error::ErrorKind;
    match error.kind() {
        ErrorKind::Malformed => Error::malformed(format!("{} data: {}", word(filter), error.what())),
        _ => error,
    }
}

fn one(filter: &Filter, data: Bytes, most: usize) -> Result<Bytes> {
    match filter.id {
        id::SHUFFLE => {
            let size = filter.client.first().copied().unwrap_or(0) as usize;
            Ok(if size < 2 { data } else { codec::shuffle::unshuffle(&data, size).into() })
        }
        id::FLETCHER32 => Ok(data.slice_ref(codec::checksum::without_fletcher32(&data)?)),
        _ => compressed(filter, &data, most).map(Bytes::from),
    }
}

/// The filters that compress.
fn compressed(filter: &Filter, data: &[u8], most: usize) -> Result<Vec<u8>> {
    let client = |n: usize| filter.client.get(n).copied().unwrap_or(0);
    match filter.id {
        id::DEFLATE => codec::deflate::zlib(data, most),
        id::BZIP2 => codec::bzip2::decode(data, most),
        id::LZF => codec::lzf::decode(data, most),
        id::LZ4 => codec::lz4::hdf5(data, most),
        id::ZSTD => codec::zstd::decode(data, most),
        id::ZFP => codec::zfp::decode(data, &filter.client, most),
        id::SZIP => codec::szip::hdf5(data, &filter.client, most),
        id::NBIT => codec::nbit::decode(data, &filter.client, most),
        id::SCALE_OFFSET => codec::scaleoffset::decode(data, &filter.client, most),
        id::BLOSC => codec::blosc::decode(data, most),
        id::BLOSC2 if codec::blosc2::is_frame(data) => codec::blosc2::decode(data, most),
        id::BLOSC2 => codec::blosc::decode(data, most),
        id::BITSHUFFLE => {
            // Two numbers of its version, then the element's size, the elements of a block, what compresses.
            let inner = match client(4) {
                0 => Inner::None,
                2 => Inner::Lz4,
                3 => Inner::Zstd,
                other => return Err(Error::unsupported(format!("bitshuffle with the compression {other}"))),
            };
            codec::bitshuffle::hdf5(data, client(2) as usize, client(3) as usize, inner, most)
        }
        _ => Err(Error::unsupported(format!("the filter {} ({})", word(filter), filter.id))),
    }
}

/// The most bytes that a chunk of `raw` bytes has after `filters` were applied to it.
fn bound(filters: &[Filter], raw: usize) -> usize {
    let most = filters.iter().fold(raw, |size, filter| match filter.id {
        id::SHUFFLE => size,
        id::FLETCHER32 => size.saturating_add(4),
        // Bytes that do not compress become a little more.
        _ => size.saturating_add(size / 8).saturating_add(1 << 12),
    });
    most.min(limits::CHUNK as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(id: u16, client: &[u32]) -> Filter {
        Filter { id, flags: 0, name: String::new(), client: client.to_vec() }
    }

    #[test]
    fn filters_are_undone_from_the_last_to_the_first_but_for_those_left_out() {
        let data: Vec<u8> = (0..4000u32).flat_map(|n| (n * 7).to_le_bytes()).collect();
        let shuffled = codec::shuffle::shuffle(&data, 4);
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &shuffled).unwrap();
        let zipped = encoder.finish().unwrap();
        let filters = vec![filter(id::SHUFFLE, &[4]), filter(id::DEFLATE, &[4]), filter(305, &[])];
        let pipeline = FilterPipeline { filters };
        assert_eq!(undo(&pipeline, zipped.clone().into(), 0b100, data.len()).unwrap(), data);
        assert_eq!(undo(&pipeline, shuffled.into(), 0b110, data.len()).unwrap(), data);
        assert_eq!(undo(&pipeline, data.clone().into(), 0b111, data.len()).unwrap(), data);
        let error = undo(&pipeline, zipped.clone().into(), 0, data.len()).unwrap_err();
        assert!(error.message().contains("lzo (305)"), "{error}");
        assert_eq!(missing(&pipeline), [(305, "lzo (305)".to_owned())]);
        // More than the chunk has is an error, and no allocation of what the stream says.
        assert!(undo(&pipeline, zipped.into(), 0b100, 100).is_err());
    }
}
