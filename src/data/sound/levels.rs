//! How loud a sound is: loudness by EBU R 128 (ITU-R BS.1770), peaks, clipped frames, silence, offset; by channel where that
//! is each channel's own.

use super::{samples, sides};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Array;
use ebur128::{EbuR128, Mode};
use std::ops::Range;

/// About so many samples are read at once.
const SAMPLES: u64 = 1 << 19;
/// Frames at full scale one after the other that are clipped.
const CLIPPED: u64 = 3;
/// What is silent, as a share of full scale: −60 dB,
const SILENT: f32 = 0.001;
/// for at least so long, in seconds.
const SILENCE: f64 = 0.3;
/// Places of each kind that are kept.
const PLACES: usize = 10_000;
/// Channels of which loudness is measured.
const CHANNELS: usize = 64;

/// What a pass over a sound tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// Loudness of the whole, in LUFS; `None` for silence.
    pub loudness: Option<f64>,
    /// The range of loudness, in LU.
    pub range: Option<f64>,
    /// The largest momentary loudness (400 ms), in LUFS.
    pub momentary: Option<f64>,
    /// The largest value between samples, in dBTP.
    pub true_peak: Option<f64>,
    /// The largest sample of each channel, full scale being 1.
    pub peaks: Vec<f32>,
    /// The root of the mean of the squares of each channel.
    pub rms: Vec<f64>,
    /// The mean of each channel.
    pub offsets: Vec<f64>,
    /// Frames in which a channel is clipped: it stands at full scale for at least three.
    pub clipped_frames: u64,
    /// Where, up to 10,000 places.
    pub clipped: Vec<Range<u64>>,
    /// Frames that are silent, in stretches of 0.3 s at least.
    pub silent_frames: u64,
    /// Where, up to 10,000 places.
    pub silent: Vec<Range<u64>>,
}

/// A stretch of frames that goes on.
#[derive(Clone, Copy, Default)]
struct Run {
    start: u64,
    len: u64,
}

/// Passes over a sound.
struct Pass {
    levels: Levels,
    squares: Vec<f64>,
    sums: Vec<f64>,
    /// Frames at full scale, of each channel.
    full: Vec<Run>,
    quiet: Run,
    shortest: u64,
}

impl Levels {
    /// Measures a sound.
    ///
    /// # Errors
    /// Those of reading.
    pub fn measure(array: &dyn Array, task: &Task) -> Result<Levels> {
        let (frames, channels) = sides(array);
        let sound = array.facts().sound;
        let rate = sound.as_ref().map_or(0, |sound| sound.rate);
        let whole_numbers = !array.dtype().is_float();
        // Full scale of whole numbers is one step below 1.
        let top = match whole_numbers {
            true => {
                1.0 - 1.5 / 2f32.powi(sound.as_ref().map_or(16, |sound| sound.full).clamp(2, 24) as i32 - 1)
            }
            false => 1.0,
        };
        let measured = channels <= CHANNELS && (16..=2_822_400).contains(&rate);
        let mode = Mode::I | Mode::LRA | Mode::M | Mode::TRUE_PEAK;
        let mut meter = match measured {
            true => EbuR128::new(channels as u32, rate, mode).ok(),
            false => None,
        };
        let mut pass = Pass {
            levels: Levels { peaks: vec![0.0; channels], ..Levels::default() },
            squares: vec![0.0; channels],
            sums: vec![0.0; channels],
            full: vec![Run::default(); channels],
            quiet: Run::default(),
            shortest: ((f64::from(rate) * SILENCE) as u64).max(1),
        };
        task.set_total(frames);
        let step = (SAMPLES / channels as u64).max(1);
        let mut at = 0;
        let mut momentary = f64::NEG_INFINITY;
        while at < frames {
            task.check()?;
            let end = (at + step).min(frames);
            let part = samples(array, task, at..end)?;
            if let Some(meter) = &mut meter {
                // In steps of 100 ms, so that the largest momentary loudness is met.
                for piece in part.chunks((rate as usize / 10).max(1) * channels) {
                    meter.add_frames_f32(piece).map_err(|error| Error::bug(format!("the meter: {error}")))?;
                    momentary = momentary.max(meter.loudness_momentary().unwrap_or(f64::NEG_INFINITY));
                }
            }
            pass.add(&part, at, channels, top);
            task.advance(end - at)?;
            at = end;
        }
        let mut levels = pass.done(frames);
        if let Some(meter) = meter {
            let finite = |value: f64| Some(value).filter(|value| value.is_finite());
            levels.loudness = meter.loudness_global().ok().and_then(finite);
            levels.range = meter.loudness_range().ok().and_then(finite);
            levels.momentary = finite(momentary);
            let peak = (0..channels as u32).filter_map(|n| meter.true_peak(n).ok()).fold(0.0, f64::max);
            levels.true_peak = finite(20.0 * peak.log10());
        }
        Ok(levels)
    }
}

impl Pass {
    fn add(&mut self, samples: &[f32], start: u64, channels: usize, top: f32) {
        for (n, frame) in samples.chunks_exact(channels).enumerate() {
            let at = start + n as u64;
            let mut loudest = 0f32;
            let mut clips = false;
            for (channel, sample) in frame.iter().enumerate() {
                let value = if sample.is_finite() { *sample } else { 0.0 };
                let size = value.abs();
                loudest = loudest.max(size);
                if let (Some(peak), Some(square), Some(sum), Some(run)) = (
                    self.levels.peaks.get_mut(channel),
                    self.squares.get_mut(channel),
                    self.sums.get_mut(channel),
                    self.full.get_mut(channel),
                ) {
                    *peak = peak.max(size);
                    *square += f64::from(value) * f64::from(value);
                    *sum += f64::from(value);
                    match size >= top {
                        true if run.len == 0 => *run = Run { start: at, len: 1 },
                        true => run.len += 1,
                        false => run.len = 0,
                    }
                    clips |= run.len >= CLIPPED;
                }
            }
            if clips {
                self.clip(at);
            }
            match loudest < SILENT {
                true if self.quiet.len == 0 => self.quiet = Run { start: at, len: 1 },
                true => self.quiet.len += 1,
                false => self.end_silence(),
            }
        }
    }

    /// Takes the last frames up to `at` as clipped.
    fn clip(&mut self, at: u64) {
        let start = at + 1 - CLIPPED;
        if let Some(last) = self.levels.clipped.last_mut().filter(|last| last.end >= start) {
            self.levels.clipped_frames += at + 1 - last.end.min(at + 1);
            last.end = last.end.max(at + 1);
            return;
        }
        self.levels.clipped_frames += CLIPPED;
        if self.levels.clipped.len() < PLACES {
            self.levels.clipped.push(start..at + 1);
        }
    }

    fn end_silence(&mut self) {
        let Run { start, len } = std::mem::take(&mut self.quiet);
        if len >= self.shortest {
            self.levels.silent_frames += len;
            if self.levels.silent.len() < PLACES {
                self.levels.silent.push(start..start + len);
            }
        }
    }

    fn done(mut self, frames: u64) -> Levels {
        self.end_silence();
        let count = frames.max(1) as f64;
        self.levels.rms = self.squares.iter().map(|square| (square / count).sqrt()).collect();
        self.levels.offsets = self.sums.iter().map(|sum| sum / count).collect();
        self.levels
    }
}

#[cfg(test)]
mod tests {
    use super::super::sines;
    use super::*;
    use crate::data::content::array::{Plain, Sound};
    use crate::data::dtype::DType;

    #[test]
    fn a_sine_of_1_khz_is_as_loud_as_the_recommendation_says() {
        // EBU Tech 3341, case 1: a stereo sine of 1 kHz at −23 dBFS is −23 LUFS.
        let amplitude = 10f32.powf(-23.0 / 20.0);
        let sound = sines(48_000, 48_000 * 20, amplitude, &[1_000.0, 1_000.0]);
        let levels = Levels::measure(&sound, &Task::new()).unwrap();
        assert!((levels.loudness.unwrap() + 23.0).abs() < 0.1, "{levels:?}");
        assert!((levels.momentary.unwrap() + 23.0).abs() < 0.1);
        assert!((levels.true_peak.unwrap() + 23.0).abs() < 0.2);
        assert!((f64::from(levels.peaks[0]).log10() * 20.0 + 23.0).abs() < 0.01);
        assert!((levels.rms[1].log10() * 20.0 + 26.01).abs() < 0.01);
        assert_eq!((levels.clipped_frames, levels.silent_frames), (0, 0));
    }

    #[test]
    fn clipping_and_silence_are_found_where_they_are() {
        let mut samples = vec![0i16; 10_000];
        samples[5_000..5_100].fill(8_000);
        samples[5_040..5_045].fill(i16::MAX);
        samples[5_060..5_062].fill(i16::MIN);
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let source = crate::bytes::source::Source::memory("clipped", bytes);
        let sound = Sound {
            codec: "pcm_s16le".to_owned(),
            rate: 1_000,
            bits: Some(16),
            full: 16,
            ..Sound::default()
        };
        let facts = crate::data::content::ArrayFacts { sound: Some(sound), ..Default::default() };
        let array = Plain::new(source, 0, DType::I16, vec![10_000, 1]).unwrap().with_facts(facts);
        let levels = Levels::measure(&array, &Task::new()).unwrap();
        assert_eq!(
            (levels.clipped_frames, levels.clipped.as_slice()),
            (5, std::slice::from_ref(&(5_040..5_045)))
        );
        assert_eq!(levels.silent, [0..5_000, 5_100..10_000]);
        assert_eq!(levels.silent_frames, 9_900);
    }
}
