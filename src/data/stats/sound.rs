//! How loud a sound is, and the checksum of its samples, in one pass.

use crate::bytes::error::{Result, UnlessCancelled};
use crate::bytes::numbers::le_or_zero;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::read;
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};

/// About so many samples are read at once.
const SAMPLES: u64 = 1 << 20;

/// What a pass over a sound tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loudness {
    /// The root of the mean of the squares of all finite samples, full scale being 1; `None` without samples.
    pub rms: Option<f64>,
    /// The checksum of integer samples, interleaved and left-justified in 32 bits, little-endian; `None` for floats.
    pub crc32: Option<u32>,
}

/// Passes over a sound: an array of frames by channels with [`ArrayFacts::sound`](crate::data::content::ArrayFacts).
///
/// # Errors
/// Those of reading.
pub fn sound(array: &dyn Array, task: &Task) -> Result<Loudness> {
    let full = array.facts().sound.map_or(0, |sound| sound.full).clamp(1, 64);
    let (frames, rest) =
        array.shape().split_first().map_or((1, array.shape()), |(first, rest)| (*first, rest));
    let each = rest.iter().fold(1u64, |all, side| all.saturating_mul(*side)).max(1);
    let step = (SAMPLES / each).max(1);
    let (mut sum, mut count, mut crc) = (0f64, 0u64, crc32fast::Hasher::new());
    let mut first = 0;
    while first < frames {
        task.check()?;
        let some = step.min(frames - first);
        let others = rest.iter().map(|side| Span::all(*side));
        let region = Region(std::iter::once(Span::range(first, some)).chain(others).collect());
        let bytes = read(array, task, &region)?;
        let mut justified = Vec::with_capacity(bytes.len());
        for sample in bytes.chunks_exact(array.dtype().size().max(1) as usize) {
            let value = match integer(array.dtype(), sample) {
                Some(value) => {
                    let left = if full > 32 { value >> (full - 32) } else { value << (32 - full) };
                    justified.extend_from_slice(&(left as i32).to_le_bytes());
                    value as f64 / 2f64.powi(full as i32 - 1)
                }
                None => float(array.dtype(), sample),
            };
            if value.is_finite() {
                sum += value * value;
                count += 1;
            }
        }
        crc.update(&justified);
        first += some;
    }
    let rms = (count > 0).then(|| (sum / count as f64).sqrt());
    Ok(Loudness { rms, crc32: (!array.dtype().is_float()).then(|| crc.finalize()) })
}

/// Why samples of a sound cannot be decoded; `None` where all can.
///
/// # Errors
/// `Cancelled`.
pub(super) fn problem(task: &Task, sound: &dyn Array) -> Result<Option<String>> {
    let side = |axis: usize| sound.shape().get(axis).copied().unwrap_or(0);
    let (frames, channels) = (side(0), side(1));
    let step = (SAMPLES / channels.max(1)).max(1);
    for at in (0..frames).step_by(usize::try_from(step).unwrap_or(1)) {
        let region = Region(vec![Span::range(at, step.min(frames - at)), Span::all(channels)]);
        if let Err(error) = read(sound, task, &region).unless_cancelled()? {
            return Ok(Some(error.message()));
        }
    }
    Ok(None)
}

/// An integer sample about its middle; `None` for other types.
fn integer(dtype: &DType, sample: &[u8]) -> Option<i64> {
    Some(match dtype {
        DType::U8 => i64::from(le_or_zero::<u8>(sample, 0)) - 128,
        DType::I8 => i64::from(le_or_zero::<u8>(sample, 0) as i8),
        DType::I16 => i64::from(le_or_zero::<i16>(sample, 0)),
        DType::I32 => i64::from(le_or_zero::<i32>(sample, 0)),
        DType::I64 => le_or_zero::<i64>(sample, 0),
        _ => return None,
    })
}

/// A sample that is no integer.
fn float(dtype: &DType, sample: &[u8]) -> f64 {
    match dtype {
        DType::F32 => f64::from(le_or_zero::<f32>(sample, 0)),
        DType::F64 => le_or_zero::<f64>(sample, 0),
        _ => f64::NAN,
    }
}
