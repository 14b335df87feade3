//! Esri's LERC in strips and tiles, plain or with deflate or zstd around it, as libtiff has it. Decoded by the crate
//! lerc-reader. <https://github.com/Esri/lerc>
//!
//! A strip or tile is a blob with all samples of a pixel in its depth, or a blob for each band, one after the other. Each
//! may have a mask of pixels that hold nothing: these are NaN among floats, and where the last sample of bytes is an alpha
//! that the blobs lack, the mask is that alpha.

use super::chunk::Shape;
use super::page::Page;
use crate::bytes::codec::decompress::{Decompressor, prefix};
use crate::bytes::codec::{inflater::Inflater, zstd::Zstd};
use crate::bytes::error::{Defect, Error, Result};
use crate::bytes::limits;
use crate::data::content::Sample;
use lerc_core::{DataType, Error as Fault, PixelData};

/// What stands around a blob: the second number of the field *LercParameters*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Nothing,
    Deflate,
    Zstd,
    /// A number that means nothing.
    Other(u64),
}

impl Around {
    pub(super) fn of(number: u64) -> Self {
        match number {
            0 => Around::Nothing,
            1 => Around::Deflate,
            2 => Around::Zstd,
            other => Around::Other(other),
        }
    }
}

/// Bytes that headers and tables of a blob take beside its samples.
const OVERHEAD: u64 = 1 << 20;

/// The samples of a chunk, little-endian.
///
/// # Errors
/// `Malformed` for damage and for blobs of another shape or type; `Limit` for too many bytes.
pub(super) fn decode(page: &Page, around: Around, stored: &[u8], shape: &Shape) -> Result<Vec<u8>> {
    let size = page.sample.size();
    let bytes = shape.samples()?.saturating_mul(size as u64);
    let most = limits::check(bytes, limits::CHUNK, "a strip or tile")?;
    let unwrapped;
    let blob = match around {
        Around::Nothing => stored,
        Around::Deflate => {
            unwrapped = unwrap(&mut Inflater::new(true)?, stored, bytes)?;
            &unwrapped
        }
        Around::Zstd => {
            unwrapped = unwrap(&mut Zstd::new()?, stored, bytes)?;
            &unwrapped
        }
        Around::Other(number) => {
            return Err(Error::unsupported(format!("TIFF: LERC within compression {number}")));
        }
    };
    // The shape is known before anything of it is decoded.
    let info = lerc_reader::inspect_first(blob).map_err(failed)?;
    let bands = lerc_reader::get_band_count(blob).map_err(failed)? as u64;
    let held = bands.saturating_mul(info.depth.into());
    let alpha = page.alpha() && page.sample == Sample::U8 && !page.planar && held + 1 == shape.channels;
    let fits = (u64::from(info.width), u64::from(info.height)) == (shape.width, shape.rows)
        && (held == shape.channels || alpha)
        && sample(info.data_type) == page.sample;
    if !fits {
        let what = format!(
            "TIFF: LERC of {} × {} × {held} samples ({}) stands where {} × {} × {} should",
            info.width,
            info.height,
            info.data_type.name(),
            shape.width,
            shape.rows,
            shape.channels
        );
        return Err(Error::malformed(what));
    }
    let decoded = lerc_reader::decode_band_set(blob).map_err(failed)?;
    let (_, planes, masks) = decoded.into_parts();
    let mut out = limits::zeroed(most, "a strip or tile")?;
    let (depth, channels) = (info.depth as usize, shape.channels as usize);
    for (n, plane) in planes.iter().enumerate() {
        let samples = bytes_of(plane);
        let mask = masks.get(n).and_then(Option::as_deref);
        let pixels = out.chunks_exact_mut((channels * size).max(1));
        for (at, (pixel, samples)) in pixels.zip(samples.chunks_exact((depth * size).max(1))).enumerate() {
            let there = mask.is_none_or(|mask| mask.get(at).is_some_and(|valid| *valid != 0));
            let Some(place) = pixel.get_mut(n * depth * size..(n + 1) * depth * size) else { continue };
            match (there, page.sample) {
                (false, Sample::F32) => place.as_chunks_mut().0.fill(f32::NAN.to_le_bytes()),
                (false, Sample::F64) => place.as_chunks_mut().0.fill(f64::NAN.to_le_bytes()),
                (false, _) => place.fill(0),
                (true, _) => place.copy_from_slice(samples),
            }
            if alpha && let Some(last) = pixel.last_mut() {
                *last = if there { u8::MAX } else { 0 };
            }
        }
    }
    Ok(out)
}

/// Undoes what stands around a blob of about so many bytes.
fn unwrap(decoder: &mut dyn Decompressor, stored: &[u8], samples: u64) -> Result<Vec<u8>> {
    // Samples that do not compress are stored as they are.
    let most = limits::check(samples.saturating_add(OVERHEAD), limits::CHUNK + OVERHEAD, "a strip or tile")?;
    let (blob, done) = prefix(decoder, stored, most, "TIFF: LERC data");
    done.map(|_| blob)
}

fn sample(kind: DataType) -> Sample {
    match kind {
        DataType::I8 => Sample::I8,
        DataType::U8 => Sample::U8,
        DataType::I16 => Sample::I16,
        DataType::U16 => Sample::U16,
        DataType::I32 => Sample::I32,
        DataType::U32 => Sample::U32,
        DataType::F32 => Sample::F32,
        DataType::F64 => Sample::F64,
    }
}

fn bytes_of(values: &PixelData) -> Vec<u8> {
    match values {
        PixelData::I8(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        PixelData::U8(values) => values.clone(),
        PixelData::I16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        PixelData::U16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        PixelData::I32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        PixelData::U32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        PixelData::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        PixelData::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

fn failed(fault: Fault) -> Error {
    match fault {
        Fault::Truncated { .. } => Error::malformed("TIFF: LERC data end early; the file may be cut off")
            .with_defect(Defect::Truncated),
        Fault::UnsupportedVersion(version) => Error::unsupported(format!("TIFF: LERC of version {version}")),
        Fault::UnsupportedFeature(what) => Error::unsupported(format!("TIFF: LERC: {what}")),
        other => Error::malformed(format!("TIFF: LERC: {other}")),
    }
}
