//! Least and largest samples, and their mean square, of ever longer stretches: what a waveform is drawn from at any zoom.

use super::{samples, sides};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::Array;
use rayon::prelude::*;
use std::ops::Range;

/// Frames of the shortest stretch.
const FINEST: u64 = 256;
/// Stretches of a level that make one of the next.
const FACTOR: usize = 4;
/// About so many samples are read at first, so that something is seen soon, and then ever more up to
const SAMPLES: u64 = 1 << 19;
/// so many times as many.
const GROWN: u64 = 8;

/// A pyramid of more bytes in its finest level is not kept.
pub const KEPT: u64 = 256 << 20;

/// What is known of one stretch of one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The least sample.
    pub low: f32,
    /// The largest one.
    pub high: f32,
    /// The mean of the squares.
    pub square: f32,
}

impl Peak {
    /// What is known of no sample.
    pub const NONE: Peak = Peak { low: f32::INFINITY, high: f32::NEG_INFINITY, square: 0.0 };

    fn of(samples: impl Iterator<Item = f32>) -> Self {
        let (mut peak, mut sum, mut count) = (Peak::NONE, 0f64, 0u64);
        for sample in samples.filter(|sample| sample.is_finite()) {
            peak.low = peak.low.min(sample);
            peak.high = peak.high.max(sample);
            sum += f64::from(sample) * f64::from(sample);
            count += 1;
        }
        peak.square = (sum / count.max(1) as f64) as f32;
        peak
    }

    fn join(parts: &[Peak]) -> Self {
        let known: Vec<&Peak> = parts.iter().filter(|part| !part.is_none()).collect();
        let mut whole = Peak::NONE;
        for part in &known {
            whole.low = whole.low.min(part.low);
            whole.high = whole.high.max(part.high);
            whole.square += part.square / known.len() as f32;
        }
        whole
    }

    /// Whether nothing is known.
    pub fn is_none(&self) -> bool {
        self.low > self.high
    }

    /// The root of the mean of the squares.
    pub fn rms(&self) -> f32 {
        self.square.sqrt()
    }
}

/// The pyramid of a sound: each level has a quarter of the stretches of the one before.
#[derive(Clone, Debug, Default)]
pub struct Peaks {
    channels: usize,
    frames: u64,
    /// Stretches by channels.
    levels: Vec<Vec<Peak>>,
    /// Frames that were gone through.
    done: u64,
}

impl Peaks {
    /// Goes through a sound; `show` is given what is there from time to time, first after little.
    ///
    /// # Errors
    /// Those of reading.
    pub fn build(array: &dyn Array, task: &Task, show: &mut dyn FnMut(&Peaks)) -> Result<Peaks> {
        let (frames, channels) = sides(array);
        let mut peaks = Peaks { channels, frames, levels: vec![Vec::new()], done: 0 };
        let first = (SAMPLES / channels as u64 / FINEST).max(1) * FINEST;
        task.set_total(frames);
        let (mut step, mut next) = (first, first);
        while peaks.done < frames {
            task.check()?;
            let end = (peaks.done + step).min(frames);
            let part = samples(array, task, peaks.done..end)?;
            peaks.add(&part);
            task.advance(end - peaks.done)?;
            peaks.done = end;
            step = (step * 2).min(first * GROWN);
            if peaks.done >= next && peaks.done < frames {
                // Each time after twice as much: showing costs a copy.
                next *= 2;
                let mut shown = peaks.clone();
                shown.pile();
                show(&shown);
            }
        }
        peaks.pile();
        Ok(peaks)
    }

    fn add(&mut self, samples: &[f32]) {
        let channels = self.channels;
        let Some(finest) = self.levels.first_mut() else { return };
        let stretches = samples.par_chunks(FINEST as usize * channels);
        finest.par_extend(stretches.flat_map_iter(|stretch| {
            (0..channels)
                .map(move |channel| Peak::of(stretch.iter().skip(channel).step_by(channels).copied()))
        }));
    }

    /// Makes the levels above the finest.
    fn pile(&mut self) {
        self.levels.truncate(1);
        while let Some(last) = self.levels.last().filter(|last| last.len() > self.channels * FACTOR) {
            let mut next = Vec::with_capacity(last.len() / FACTOR + self.channels);
            for group in last.chunks(FACTOR * self.channels) {
                for channel in 0..self.channels {
                    let parts: Vec<Peak> =
                        group.iter().skip(channel).step_by(self.channels).copied().collect();
                    next.push(Peak::join(&parts));
                }
            }
            self.levels.push(next);
        }
    }

    /// How much was gone through, 0 to 1.
    pub fn share(&self) -> f32 {
        if self.frames == 0 { 1.0 } else { self.done as f32 / self.frames as f32 }
    }

    /// Whether stretches of so many frames can be told from the pyramid, without the samples.
    pub fn reaches(&self, frames: f64) -> bool {
        frames >= FINEST as f64
    }

    /// What is known of a channel in each of `columns` equal parts of a stretch of frames.
    pub fn columns(&self, channel: usize, frames: Range<f64>, columns: usize) -> Vec<Peak> {
        let each = (frames.end - frames.start) / columns.max(1) as f64;
        // The coarsest level that still has a stretch for each column.
        let mut level = 0;
        let mut length = FINEST as f64;
        while level + 1 < self.levels.len() && length * FACTOR as f64 <= each {
            level += 1;
            length *= FACTOR as f64;
        }
        let stretches = self.levels.get(level).map_or(&[][..], Vec::as_slice);
        let column = |n: usize| {
            let from = frames.start + n as f64 * each;
            let first = (from / length).floor().max(0.0) as usize;
            let last = ((from + each) / length).ceil().max(0.0) as usize;
            let parts: Vec<Peak> = (first..last.max(first + 1))
                .filter_map(|n| stretches.get(n * self.channels + channel))
                .copied()
                .collect();
            Peak::join(&parts)
        };
        (0..columns).map(column).collect()
    }

    /// The finest level of a whole pyramid, compressed: what [`Peaks::from_bytes`] reads. `None` for a part of one.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let finest = self.levels.first().filter(|_| self.done == self.frames)?;
        let numbers = finest.iter().flat_map(|peak| [peak.low, peak.high, peak.square]);
        let numbers: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
        let mut out = [self.frames, self.channels as u64].map(u64::to_le_bytes).concat();
        out.extend(zstd::bulk::compress(&numbers, 1).ok()?);
        Some(out)
    }

    /// The pyramid of a sound of so many frames and channels from what [`Peaks::to_bytes`] made; `None` for anything else.
    pub fn from_bytes(bytes: &[u8], frames: u64, channels: usize) -> Option<Peaks> {
        let (head, rest) = bytes.split_at_checked(16)?;
        if head != [frames, channels as u64].map(u64::to_le_bytes).concat() {
            return None;
        }
        let stretches = usize::try_from(frames.div_ceil(FINEST)).ok()?.checked_mul(channels)?;
        let len = stretches.checked_mul(12).filter(|len| *len as u64 <= KEPT)?;
        let numbers = zstd::bulk::decompress(rest, len).ok().filter(|numbers| numbers.len() == len)?;
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes));
        let peak = |bytes: &[u8; 12]| Peak {
            low: number(bytes),
            high: number(bytes.get(4..).unwrap_or_default()),
            square: number(bytes.get(8..).unwrap_or_default()),
        };
        let finest = numbers.as_chunks::<12>().0.iter().map(peak).collect();
        let mut peaks = Peaks { channels, frames, levels: vec![finest], done: frames };
        peaks.pile();
        Some(peaks)
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.len() * size_of::<Peak>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sines;
    use super::*;

    #[test]
    fn columns_have_the_ends_of_their_samples() {
        let sound = sines(8_000, 100_000, 0.5, &[100.0, 0.0]);
        let mut shown = 0;
        let peaks =
            Peaks::build(&sound, &Task::new(), &mut |part| shown += usize::from(part.share() < 1.0)).unwrap();
        assert_eq!((peaks.share(), shown), (1.0, 0));
        for columns in [1, 7, 100] {
            for peak in peaks.columns(0, 0.0..100_000.0, columns) {
                assert!((peak.high - 0.5).abs() < 1e-3 && (peak.low + 0.5).abs() < 1e-3, "{peak:?}");
                assert!((peak.rms() - 0.5 / 2f32.sqrt()).abs() < 0.02, "{peak:?}");
            }
            assert!(
                peaks
                    .columns(1, 0.0..100_000.0, columns)
                    .iter()
                    .all(|peak| peak.high == 0.0 && peak.low == 0.0)
            );
        }
        // Beyond the end there is nothing.
        assert!(peaks.columns(0, 200_000.0..300_000.0, 3).iter().all(Peak::is_none));
    }

    #[test]
    fn long_sounds_are_shown_while_they_are_gone_through() {
        let sound = sines(8_000, 3_000_000, 0.25, &[10.0]);
        let mut shares = Vec::new();
        Peaks::build(&sound, &Task::new(), &mut |part| shares.push(part.share())).unwrap();
        assert!(shares.len() >= 2 && shares.is_sorted() && shares[0] < 0.2, "{shares:?}");
    }

    #[test]
    fn a_pyramid_is_kept_as_it_is() {
        let sound = sines(8_000, 100_001, 0.5, &[100.0, 0.0]);
        let peaks = Peaks::build(&sound, &Task::new(), &mut |_| ()).unwrap();
        let bytes = peaks.to_bytes().unwrap();
        let read = Peaks::from_bytes(&bytes, 100_001, 2).unwrap();
        assert_eq!((read.levels, read.done), (peaks.levels.clone(), 100_001));
        for (frames, channels) in [(100_000, 2), (100_001, 1), (u64::MAX, 2), (0, 0)] {
            assert!(Peaks::from_bytes(&bytes, frames, channels).is_none());
        }
        for len in 0..bytes.len() {
            assert!(Peaks::from_bytes(&bytes[..len], 100_001, 2).is_none(), "cut to {len} bytes");
        }
        let part = Peaks { done: 1, ..peaks };
        assert!(part.to_bytes().is_none());
    }
}
