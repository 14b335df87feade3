//! Sounds to look at: samples as floats, least and largest values at any zoom ([`Peaks`]), how much of which frequency when
//! ([`Spectrogram`]), how loud it is ([`Levels`]).
//!
//! A sound is an array of frames by channels with [`ArrayFacts::sound`](crate::data::content::ArrayFacts).

mod levels;
mod peaks;
mod spectrogram;

pub use levels::Levels;
pub use peaks::{KEPT, Peak, Peaks};
pub use spectrogram::{OVERLAP, Spectrogram, Spectrum};

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::read;
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use rayon::prelude::*;
use std::ops::Range;

/// Frames and channels of a sound.
pub fn sides(array: &dyn Array) -> (u64, usize) {
    let side = |axis: usize| array.shape().get(axis).copied();
    (side(0).unwrap_or(0), side(1).unwrap_or(1).clamp(1, 1 << 16) as usize)
}

/// The samples of some frames, channels together, full scale being 1.
///
/// # Errors
/// Those of reading; `Unsupported` for elements that are no samples.
pub fn samples(array: &dyn Array, task: &Task, frames: Range<u64>) -> Result<Vec<f32>> {
    let facts = array.facts();
    let full = facts.sound.as_ref().map_or(16, |sound| sound.full).clamp(1, 64);
    let (count, channels) = sides(array);
    let (start, end) = (frames.start.min(count), frames.end.min(count));
    let mut region = vec![Span::range(start, end.saturating_sub(start))];
    if array.shape().len() > 1 {
        region.push(Span::all(channels as u64));
    }
    let bytes = read(array, task, &Region(region))?;
    let scale = 2f64.powi(1 - full as i32);
    Ok(match array.dtype() {
        DType::U8 => each(&bytes, |[byte]| (f64::from(byte) - 128.0) * scale),
        DType::I8 => each(&bytes, |bytes| f64::from(i8::from_le_bytes(bytes)) * scale),
        DType::I16 => each(&bytes, |bytes| f64::from(i16::from_le_bytes(bytes)) * scale),
        DType::I32 => each(&bytes, |bytes| f64::from(i32::from_le_bytes(bytes)) * scale),
        DType::I64 => each(&bytes, |bytes| i64::from_le_bytes(bytes) as f64 * scale),
        DType::F32 => each(&bytes, |bytes| f64::from(f32::from_le_bytes(bytes))),
        DType::F64 => each(&bytes, f64::from_le_bytes),
        other => return Err(Error::unsupported(format!("samples of the type {other}"))),
    })
}

/// The number that each element of `N` bytes stands for.
fn each<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> f64 + Sync) -> Vec<f32> {
    /// So many go to one thread at least.
    const MANY: usize = 1 << 15;
    let elements = bytes.as_chunks::<N>().0.par_iter().with_min_len(MANY);
    elements.map(|element| value(*element) as f32).collect()
}

/// A sound that tests make: a sine of each frequency, a channel each.
#[cfg(test)]
pub(crate) fn sines(
    rate: u32,
    frames: u64,
    amplitude: f32,
    frequencies: &[f32],
) -> crate::data::content::array::Plain {
    let frame = |n: u64| {
        frequencies.iter().map(move |frequency| {
            let phase = n as f64 / f64::from(rate) * f64::from(*frequency) * std::f64::consts::TAU;
            phase.sin() as f32 * amplitude
        })
    };
    sound_of(rate, frequencies.len() as u64, &(0..frames).flat_map(frame).collect::<Vec<f32>>())
}

/// A sound of these samples that tests make.
#[cfg(test)]
pub(crate) fn sound_of(rate: u32, channels: u64, samples: &[f32]) -> crate::data::content::array::Plain {
    use crate::data::content::array::{Plain, Sound};
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let source = crate::bytes::source::Source::memory("samples", bytes);
    let shape = vec![samples.len() as u64 / channels.max(1), channels];
    let sound = Sound { codec: "pcm_f32le".to_owned(), rate, bits: Some(32), full: 32, ..Sound::default() };
    let facts = crate::data::content::ArrayFacts { sound: Some(sound), ..Default::default() };
    Plain::new(source, 0, DType::F32, shape).unwrap().with_facts(facts)
}
