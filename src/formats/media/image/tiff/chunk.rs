//! Strips and tiles: from their stored bytes to samples, little-endian, one in a whole number of bytes.

use super::super::{jpeg, jpeg2000, jxl};
use super::ifd::Order;
use super::page::{Compression, Packing, Page};
use super::{fax, lerc, logluv, lzw, thunder};
use crate::bytes::codec::decompress::{Decompressor, prefix};
use crate::bytes::codec::{inflater::Inflater, lzma::Lzma, zstd::Zstd};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::{Pixels, Rect, Sample};
use crate::data::dtype::swap_bytes;

/// The samples of one chunk of `width` × `rows` pixels with `channels` samples each.
pub(super) struct Shape {
    pub(super) width: u64,
    pub(super) rows: u64,
    pub(super) channels: u64,
}

impl Shape {
    pub(super) fn samples(&self) -> Result<u64> {
        limits::elements(&[self.width, self.rows, self.channels])
    }
}

/// Decodes a chunk. `partial` fills up with zeros what broken data do not give.
pub(super) fn decode(
    task: &Task,
    page: &Page,
    order: Order,
    stored: &[u8],
    shape: &Shape,
    partial: bool,
) -> Result<Vec<u8>> {
    let row = packed_row(page, shape)?;
    let most = limits::check(row.saturating_mul(shape.rows), limits::CHUNK, "a strip or tile")?;
    let reversed: Vec<u8>;
    let stored = if page.reversed_bits {
        reversed = stored.iter().map(|b| b.reverse_bits()).collect();
        &reversed
    } else {
        stored
    };
    let mut data = match page.compression {
        Compression::Jpeg => return jpeg_chunk(task, page, stored, shape, partial),
        Compression::Webp => return image(page, webp(stored)?, shape, partial),
        Compression::Jpeg2000 => return image(page, jpeg2000::samples(task, stored)?, shape, partial),
        Compression::JpegXl => return image(page, jxl::samples(task, stored)?, shape, partial),
        Compression::LogLuv { packed } => {
            return logluv::decode(stored, packed, page.channels, shape.width, shape.rows);
        }
        Compression::Lerc(around) => return lerc::decode(page, around, stored, shape),
        _ if page.is_subsampled() => {
            let data = inflate(page.compression, stored, subsampled_bytes(page, shape)?, shape, partial)?;
            return spread(page, &data, shape, partial);
        }
        _ => inflate(page.compression, stored, most, shape, partial)?,
    };
    task.check()?;
    // Rows that no data came for stay zero and need no work.
    let live = data.len().div_ceil((row as usize).max(1));
    if data.len() < most {
        if !partial {
            let what = format!("TIFF: a strip or tile gives {} bytes, it should give {most}", data.len());
            return Err(Error::malformed(what));
        }
        let mut whole = limits::zeroed(most, "a strip or tile")?;
        if let Some(start) = whole.get_mut(..data.len()) {
            start.copy_from_slice(&data);
        }
        data = whole;
    }
    let mut samples = unpack(page, order, data, row as usize, live, shape)?;
    unpredict(page, &mut samples, live, shape);
    Ok(samples)
}

/// Bytes of a row as it is packed: rows begin at whole bytes.
fn packed_row(page: &Page, shape: &Shape) -> Result<u64> {
    if !page.mixed.is_empty() {
        let pixel: u64 = page.mixed.iter().map(|bits| u64::from(*bits)).sum();
        return Ok(limits::bytes(&[shape.width], pixel)?.div_ceil(8));
    }
    let bits = limits::bytes(&[shape.width, shape.channels], u64::from(page.bits))?;
    Ok(bits.div_ceil(8))
}

/// Undoes the compression, up to `most` bytes.
fn inflate(
    compression: Compression,
    stored: &[u8],
    most: usize,
    shape: &Shape,
    partial: bool,
) -> Result<Vec<u8>> {
    let read = |decoder: &mut dyn Decompressor, what: &str| match prefix(decoder, stored, most, what) {
        (_, Err(error)) if !partial => Err(error),
        (out, _) => Ok(out),
    };
    match compression {
        Compression::None => Ok(stored.get(..most).unwrap_or(stored).to_vec()),
        Compression::Lzw => Ok(lzw::decode(stored, most)),
        Compression::PackBits => Ok(pack_bits(stored, most)),
        Compression::Deflate => read(&mut Inflater::new(true)?, "TIFF: deflate data"),
        Compression::Zstd => read(&mut Zstd::new()?, "TIFF: zstd data"),
        Compression::Lzma => read(&mut Lzma::xz(), "TIFF: LZMA data"),
        Compression::Fax(scheme) => {
            let mut rows = fax::decode(stored, scheme, shape.width as usize, shape.rows as usize);
            // Writers leave out rows that are white at the end; libtiff gives them as such.
            if !rows.is_empty() {
                rows.resize(most, 0);
            }
            Ok(rows)
        }
        Compression::Thunder => Ok(thunder::decode(stored, shape.width as usize, shape.rows as usize)),
        Compression::Jpeg
        | Compression::OldJpeg
        | Compression::Webp
        | Compression::Jpeg2000
        | Compression::JpegXl
        | Compression::LogLuv { .. }
        | Compression::Lerc(_)
        | Compression::Other(_) => Err(Error::bug("a compression of its own was asked to inflate")),
    }
}

/// Bytes of pixels that share samples of colour.
fn subsampled_bytes(page: &Page, shape: &Shape) -> Result<usize> {
    let (h, v) = page.subsampling;
    let units = limits::elements(&[shape.width.div_ceil(h), shape.rows.div_ceil(v), h * v + 2])?;
    limits::check(units, limits::CHUNK, "a strip or tile")
}

/// A sample of each channel for each pixel, from units of `h × v` of luminance and one of each colour.
fn spread(page: &Page, data: &[u8], shape: &Shape, partial: bool) -> Result<Vec<u8>> {
    if data.len() < subsampled_bytes(page, shape)? && !partial {
        let what = format!("TIFF: a strip or tile gives {} bytes of YCbCr, which are too few", data.len());
        return Err(Error::malformed(what));
    }
    let most = limits::check(shape.samples()?, limits::CHUNK, "a strip or tile")?;
    let mut out = limits::zeroed(most, "a strip or tile")?;
    let (h, v) = (page.subsampling.0 as usize, page.subsampling.1 as usize);
    let width = shape.width as usize;
    let across = width.div_ceil(h).max(1);
    for (n, unit) in data.chunks_exact(h * v + 2).enumerate() {
        let (left, top) = (n % across * h, n / across * v);
        let (luma, colour) = unit.split_at(h * v);
        for (k, y) in luma.iter().enumerate() {
            let (x, row) = (left + k % h, top + k / h);
            if x < width
                && let Some(place) = out.get_mut((row * width + x) * 3..(row * width + x) * 3 + 3)
                && let [cb, cr] = *colour
            {
                place.copy_from_slice(&[*y, cb, cr]);
            }
        }
    }
    Ok(out)
}

/// The pixels of a WebP.
fn webp(stored: &[u8]) -> Result<Pixels> {
    let broken = |error: image_webp::DecodingError| Error::malformed(format!("TIFF: WebP: {error}"));
    let mut decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(stored)).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let mut pixels = super::super::picture::blank(width.into(), height.into(), channels, Sample::U8, false)?;
    decoder.read_image(&mut pixels.data).map_err(broken)?;
    Ok(pixels)
}

/// The samples of a chunk that is an image of its own.
fn image(page: &Page, pixels: Pixels, shape: &Shape, partial: bool) -> Result<Vec<u8>> {
    let size = page.sample.size();
    let fits = pixels.width >= shape.width && (pixels.height >= shape.rows || partial);
    let more = u64::from(pixels.channels) >= shape.channels;
    if !fits || !more || pixels.sample.size() != size {
        let what = format!(
            "TIFF: an image of {} × {} × {} stands where {} × {} × {} pixels should",
            pixels.width, pixels.height, pixels.channels, shape.width, shape.rows, shape.channels
        );
        return Err(Error::malformed(what));
    }
    let kept = Rect { x: 0, y: 0, width: shape.width, height: shape.rows };
    let pixels = pixels.crop(kept);
    let most = limits::check(shape.samples()?.saturating_mul(size as u64), limits::CHUNK, "a strip or tile")?;
    let mut data = match u64::from(pixels.channels) == shape.channels {
        true => pixels.data,
        // WebP has alpha although the page has none.
        false => {
            let part = shape.channels as usize * size;
            let pixels = pixels.data.chunks_exact(pixels.channels as usize * size);
            pixels.flat_map(|pixel| pixel.get(..part).unwrap_or_default()).copied().collect()
        }
    };
    data.resize(most, 0);
    Ok(data)
}

/// Apple's PackBits: runs and literals behind a signed count.
pub(in super::super) fn pack_bits(stored: &[u8], most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = stored;
    while out.len() < most {
        let Some((&count, after)) = rest.split_first() else { break };
        match count as i8 {
            -128 => rest = after,
            n @ 0.. => {
                let len = (n as usize + 1).min(after.len());
                out.extend_from_slice(after.get(..len).unwrap_or_default());
                rest = after.get(len..).unwrap_or_default();
            }
            n => {
                let Some((&byte, behind)) = after.split_first() else { break };
                out.resize(out.len() + (1 - isize::from(n)) as usize, byte);
                rest = behind;
            }
        }
    }
    out.truncate(most);
    out
}

/// A chunk that is a JPEG of its own, whose tables may stand in a field of the directory.
fn jpeg_chunk(task: &Task, page: &Page, stored: &[u8], shape: &Shape, partial: bool) -> Result<Vec<u8>> {
    let whole: Vec<u8>;
    let stored = match &page.jpeg_tables {
        Some(tables) if stored.starts_with(&[0xff, 0xd8]) => {
            let tables = tables.strip_suffix(&[0xff, 0xd9]).unwrap_or(tables);
            whole = [tables, stored.get(2..).unwrap_or_default()].concat();
            &whole
        }
        _ => stored,
    };
    let mut pixels = jpeg::samples(task, stored, partial)?;
    let fits = u64::from(pixels.channels) == shape.channels && pixels.width >= shape.width;
    if !fits || page.sample.size() != pixels.sample.size() {
        let what = format!(
            "TIFF: a JPEG of {} × {} × {} stands where {} × {} × {} pixels should",
            pixels.width, pixels.height, pixels.channels, shape.width, shape.rows, shape.channels
        );
        return Err(Error::malformed(what));
    }
    if page.photometric == 6 && shape.channels == 3 && pixels.sample == Sample::U8 {
        pixels.data.as_chunks_mut::<3>().0.iter_mut().for_each(jpeg::to_rgb);
    }
    let rect = Rect { x: 0, y: 0, width: shape.width, height: shape.rows };
    let size = pixels.sample.size() as u64;
    let mut data = pixels.crop(rect).data;
    let most = limits::check(shape.samples()?.saturating_mul(size), limits::CHUNK, "a strip or tile")?;
    if data.len() < most && !partial {
        return Err(Error::malformed("TIFF: a JPEG has fewer rows than its strip or tile"));
    }
    data.resize(most, 0);
    Ok(data)
}

/// Samples of whole bytes, little-endian; samples of other bits lie one after the other, highest bit first.
fn unpack(
    page: &Page,
    order: Order,
    mut data: Vec<u8>,
    row: usize,
    live: usize,
    shape: &Shape,
) -> Result<Vec<u8>> {
    let size = page.sample.size();
    if !page.mixed.is_empty() {
        return widened(page, &data, row, live, shape);
    }
    if usize::from(page.bits) == size * 8 {
        // Complex samples are two numbers; floating point prediction has an order of its own.
        let unit = if matches!(page.sample, Sample::C64 | Sample::C128) { size / 2 } else { size };
        if order.big_endian && unit > 1 && page.predictor != 3 {
            let end = row.saturating_mul(live).min(data.len());
            swap_bytes(data.get_mut(..end).unwrap_or_default(), unit);
        }
        return Ok(data);
    }
    let bytes =
        limits::check(shape.samples()?.saturating_mul(size as u64), limits::CHUNK, "a strip or tile")?;
    let mut out = limits::zeroed(bytes, "a strip or tile")?;
    let count = (shape.width * shape.channels) as usize;
    let signed = matches!(page.sample, Sample::I8 | Sample::I16 | Sample::I32 | Sample::I64);
    let bits = usize::from(page.bits);
    if page.packing != Packing::Plain {
        return Ok(repack(page, order, &data, out));
    }
    for (line, out) in
        data.chunks_exact(row.max(1)).take(live).zip(out.chunks_exact_mut((count * size).max(1)))
    {
        for (n, sample) in out.chunks_exact_mut(size).enumerate() {
            let mut value = number_at(line, n * bits, bits);
            if signed && value >> (bits - 1) & 1 == 1 {
                value |= u64::MAX << bits;
            }
            sample.copy_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
        }
    }
    Ok(out)
}

/// Samples of different bits, each over all of the range: its bits are repeated below it.
fn widened(page: &Page, data: &[u8], row: usize, live: usize, shape: &Shape) -> Result<Vec<u8>> {
    let size = page.sample.size();
    let bytes =
        limits::check(shape.samples()?.saturating_mul(size as u64), limits::CHUNK, "a strip or tile")?;
    let mut out = limits::zeroed(bytes, "a strip or tile")?;
    let samples = (shape.width * shape.channels) as usize;
    let full = usize::from(page.bits);
    for (line, out) in
        data.chunks_exact(row.max(1)).take(live).zip(out.chunks_exact_mut((samples * size).max(1)))
    {
        let mut at = 0;
        for (place, bits) in out.chunks_exact_mut(size).zip(page.mixed.iter().cycle()) {
            let bits = usize::from(*bits);
            let mut value = number_at(line, at, bits) << (full - bits);
            let mut there = bits;
            while there < full {
                value |= value >> there;
                there *= 2;
            }
            place.copy_from_slice(value.to_le_bytes().get(..size).unwrap_or_default());
            at += bits;
        }
    }
    Ok(out)
}

/// Samples of floats of 24 bits and of complex whole numbers, as floats.
fn repack(page: &Page, order: Order, data: &[u8], mut out: Vec<u8>) -> Vec<u8> {
    let width = usize::from(page.bits / 8).max(1);
    let size = page.sample.size();
    for (stored, place) in data.chunks_exact(width).zip(out.chunks_exact_mut(size)) {
        if page.packing == Packing::Float24 {
            // Floating point prediction leaves the highest byte first.
            let order = Order { big_endian: order.big_endian || page.predictor == 3, ..order };
            place.copy_from_slice(&float24(order.number(stored) as u32).to_le_bytes());
            continue;
        }
        for (part, place) in stored.chunks_exact((width / 2).max(1)).zip(place.chunks_exact_mut(size / 2)) {
            let bits = order.number(part);
            let unused = 64 - part.len() as u32 * 8;
            let value = ((bits << unused) as i64) >> unused;
            match size {
                8 => place.copy_from_slice(&(value as f32).to_le_bytes()),
                _ => place.copy_from_slice(&(value as f64).to_le_bytes()),
            }
        }
    }
    out
}

/// A float of a sign, 7 bits of exponent and 16 of fraction (TIFF Technical Note 3).
fn float24(bits: u32) -> f32 {
    let (sign, exponent, fraction) = (bits >> 23 & 1, bits >> 16 & 0x7f, bits & 0xffff);
    let size = match exponent {
        0 => fraction as f32 * 2f32.powi(-62 - 16),
        0x7f if fraction == 0 => f32::INFINITY,
        0x7f => f32::NAN,
        _ => (1.0 + fraction as f32 / 65_536.0) * 2f32.powi(exponent as i32 - 63),
    };
    if sign == 1 { -size } else { size }
}

/// `bits` bits from the bit `at` on, highest first.
fn number_at(line: &[u8], at: usize, bits: usize) -> u64 {
    let mut value = 0u64;
    let (first, last) = (at / 8, (at + bits - 1) / 8);
    for n in first..=last {
        value = value << 8 | line.get(n).copied().map_or(0, u64::from);
    }
    value >> ((last + 1) * 8 - at - bits) & (u64::MAX >> (64 - bits))
}

/// Undoes the predictor, row by row.
fn unpredict(page: &Page, samples: &mut [u8], live: usize, shape: &Shape) {
    let (size, channels) = (page.sample.size(), shape.channels as usize);
    let row = shape.width as usize * channels * size;
    match page.predictor {
        2 => {
            let mask = u64::MAX >> (64 - u32::from(page.bits.min(64)));
            for line in samples.chunks_exact_mut(row.max(1)).take(live) {
                add_up(line, size, channels, mask);
            }
        }
        3 => {
            for line in samples.chunks_exact_mut(row.max(1)).take(live) {
                add_up(line, 1, channels, 0xff);
                // The bytes of equal weight stand together, the highest first.
                let planes = line.to_vec();
                let count = line.len() / size;
                for (n, sample) in line.chunks_exact_mut(size).enumerate() {
                    for (k, byte) in sample.iter_mut().enumerate() {
                        *byte = planes.get((size - 1 - k) * count + n).copied().unwrap_or(0);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Adds to each sample its neighbour of the same channel.
fn add_up(line: &mut [u8], size: usize, channels: usize, mask: u64) {
    let step = size * channels;
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
    for at in (step..line.len()).step_by(size) {
        let before = number(line.get(at - step..at - step + size).unwrap_or_default());
        if let Some(here) = line.get_mut(at..at + size) {
            let sum = number(here).wrapping_add(before) & mask;
            here.copy_from_slice(sum.to_le_bytes().get(..size).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_and_literals() {
        // Apple's own example.
        let packed =
            [0xfe, 0xaa, 0x02, 0x80, 0x00, 0x2a, 0xfd, 0xaa, 0x03, 0x80, 0x00, 0x2a, 0x22, 0xf7, 0xaa];
        let whole = pack_bits(&packed, 1000);
        assert_eq!(whole.len(), 24);
        assert_eq!(whole[..6], [0xaa, 0xaa, 0xaa, 0x80, 0, 0x2a]);
        assert_eq!(pack_bits(&packed, 5), whole[..5]);
    }

    #[test]
    fn bits_come_highest_first() {
        assert_eq!(number_at(&[0b1010_0111, 0b1000_0000], 0, 3), 0b101);
        assert_eq!(number_at(&[0b1010_0111, 0b1000_0000], 5, 4), 0b1111);
        assert_eq!(number_at(&[0xab, 0xcd, 0xef], 12, 12), 0xdef);
    }

    proptest! {
        #[test]
        fn no_data_make_the_decoders_panic(data in prop::collection::vec(any::<u8>(), 0..300), most in 0usize..3000) {
            prop_assert!(lzw::decode(&data, most).len() <= most);
            prop_assert!(pack_bits(&data, most).len() <= most);
        }
    }
}
