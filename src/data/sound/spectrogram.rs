//! How much of which frequency when: magnitudes of short-time Fourier transforms, in decibels of full scale, on a linear
//! scale or on that of mel (Slaney's, as librosa has it).

use super::{samples, sides};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Array;
use rayon::prelude::*;
use realfft::RealFftPlanner;
use std::ops::Range;

/// Columns that are made at once.
const COLUMNS: usize = 8_192;
/// What silence is, in decibels.
const FLOOR: f32 = -140.0;

/// How a spectrogram is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spectrum {
    /// Frames of a window, a power of two; it is Hann's.
    pub window: usize,
    /// The channel; all of them together where it is `None`.
    pub channel: Option<usize>,
    /// Bands of mel; `None` for all frequencies on a linear scale.
    pub mel: Option<usize>,
}

impl Default for Spectrum {
    fn default() -> Self {
        Spectrum { window: 1_024, channel: None, mel: Some(128) }
    }
}

/// Magnitudes by columns of time, lowest frequency first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spectrogram {
    /// Columns of time.
    pub columns: usize,
    /// Frequencies or bands of each.
    pub rows: usize,
    /// The middle frequency of each row, in hertz.
    pub frequencies: Vec<f32>,
    /// Decibels, column by column.
    pub values: Vec<f32>,
}

impl Spectrogram {
    /// The spectrogram of a stretch of frames in so many columns, each of a window about its middle.
    ///
    /// # Errors
    /// Those of reading; `Limit` for too many columns.
    pub fn of(
        array: &dyn Array,
        task: &Task,
        frames: Range<u64>,
        columns: usize,
        how: Spectrum,
    ) -> Result<Spectrogram> {
        if columns > COLUMNS || !how.window.is_power_of_two() || !(16..=1 << 16).contains(&how.window) {
            return Err(Error::limit(format!(
                "a spectrogram of {columns} columns, windows of {} frames",
                how.window
            )));
        }
        let (count, channels) = sides(array);
        let rate = array.facts().sound.map_or(1, |sound| sound.rate).max(1) as f32;
        let half = how.window as u64 / 2;
        let bank = how.mel.map(|bands| Bank::new(rate, how.window, bands));
        let rows = bank.as_ref().map_or(how.window / 2 + 1, |bank| bank.bands.len());
        let each = (frames.end.saturating_sub(frames.start)) as f64 / columns.max(1) as f64;
        let middle = |n: usize| frames.start + ((n as f64 + 0.5) * each) as u64;
        // Windows that overlap are cut from one read; others are read each alone.
        let close = each <= how.window as f64 * 4.0;
        let group =
            if close { ((1 << 20) / each.max(1.0) as usize / channels).clamp(1, columns.max(1)) } else { 1 };
        let groups: Vec<Range<usize>> =
            (0..columns).step_by(group).map(|first| first..(first + group).min(columns)).collect();
        let plan = RealFftPlanner::<f32>::new().plan_fft_forward(how.window);
        let hann: Vec<f32> = (0..how.window)
            .map(|n| (std::f32::consts::PI * n as f32 / how.window as f32).sin().powi(2))
            .collect();
        // A sine of full scale is 0 dB.
        let gain = 2.0 / hann.iter().sum::<f32>();
        let parts: Vec<Vec<f32>> = groups
            .into_par_iter()
            .map(|group| {
                task.check()?;
                let first = middle(group.start).saturating_sub(half);
                let last = (middle(group.end - 1) + half).min(count);
                let read = samples(array, task, first..last.max(first))?;
                let (mut input, mut output, mut scratch) =
                    (plan.make_input_vec(), plan.make_output_vec(), plan.make_scratch_vec());
                let mut values = Vec::with_capacity(group.len() * rows);
                for n in group {
                    // Where a window begins in what was read; before the sound and behind it there is silence.
                    let start = middle(n) as i64 - half as i64 - first as i64;
                    for (k, (place, weight)) in input.iter_mut().zip(&hann).enumerate() {
                        let at = start + k as i64;
                        let frame = usize::try_from(at)
                            .ok()
                            .and_then(|at| read.get(at * channels..(at + 1) * channels));
                        *place = weight * mixed(frame.unwrap_or_default(), how.channel);
                    }
                    let done = plan.process_with_scratch(&mut input, &mut output, &mut scratch);
                    done.map_err(|error| Error::bug(format!("the transform: {error}")))?;
                    let power = output.iter().map(|value| value.norm_sqr() * gain * gain);
                    match &bank {
                        Some(bank) => bank.bands_of(&power.collect::<Vec<f32>>(), &mut values),
                        None => values.extend(power.map(decibels)),
                    }
                }
                Ok(values)
            })
            .collect::<Result<_>>()?;
        let frequencies = match &bank {
            Some(bank) => bank.bands.iter().map(|band| band.middle).collect(),
            None => (0..rows).map(|n| n as f32 * rate / how.window as f32).collect(),
        };
        Ok(Spectrogram { columns, rows, frequencies, values: parts.concat() })
    }

    /// The decibels at a column and a row, counted from the lowest frequency.
    pub fn at(&self, column: usize, row: usize) -> Option<f32> {
        (row < self.rows).then(|| self.values.get(column * self.rows + row).copied())?
    }
}

/// A channel of a frame, or the mean of all.
fn mixed(frame: &[f32], channel: Option<usize>) -> f32 {
    let value = match channel {
        Some(channel) => frame.get(channel).copied().unwrap_or(0.0),
        None => frame.iter().sum::<f32>() / frame.len().max(1) as f32,
    };
    if value.is_finite() { value } else { 0.0 }
}

fn decibels(power: f32) -> f32 {
    (10.0 * power.max(1e-20).log10()).max(FLOOR)
}

/// A band of mel: where it begins among the frequencies, and their weights.
struct Band {
    middle: f32,
    first: usize,
    weights: Vec<f32>,
}

struct Bank {
    bands: Vec<Band>,
}

/// Slaney's scale: linear up to 1 kHz, logarithmic above.
fn mel(hertz: f32) -> f32 {
    if hertz < 1_000.0 { hertz * 3.0 / 200.0 } else { 15.0 + (hertz / 1_000.0).ln() * 27.0 / 6.4f32.ln() }
}

fn hertz(mel: f32) -> f32 {
    if mel < 15.0 { mel * 200.0 / 3.0 } else { 1_000.0 * ((mel - 15.0) * 6.4f32.ln() / 27.0).exp() }
}

impl Bank {
    fn new(rate: f32, window: usize, bands: usize) -> Self {
        let bands = bands.clamp(1, 1_024);
        let most = mel(rate / 2.0);
        let edge = |n: usize| hertz(most * n as f32 / (bands + 1) as f32);
        let step = rate / window as f32;
        let band = |n: usize| {
            let (low, middle, high) = (edge(n), edge(n + 1), edge(n + 2));
            let first = (low / step).floor() as usize;
            let last = ((high / step).ceil() as usize).min(window / 2);
            let weight = |k: usize| {
                let at = k as f32 * step;
                ((at - low) / (middle - low)).min((high - at) / (high - middle)).max(0.0)
            };
            let mut weights: Vec<f32> = (first..=last.max(first)).map(weight).collect();
            // Narrower than the distance of frequencies: the nearest one.
            if weights.iter().sum::<f32>() == 0.0 {
                let nearest = ((middle / step).round() as usize).clamp(first, last.max(first)) - first;
                weights.iter_mut().skip(nearest).take(1).for_each(|weight| *weight = 1.0);
            }
            Band { middle, first, weights }
        };
        Bank { bands: (0..bands).map(band).collect() }
    }

    /// The largest of each band: a tone is as loud in a wide band as in a narrow one.
    fn bands_of(&self, power: &[f32], out: &mut Vec<f32>) {
        for band in &self.bands {
            let weighted =
                power.iter().skip(band.first).zip(&band.weights).map(|(power, weight)| power * weight);
            out.push(decibels(weighted.fold(0.0, f32::max)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sines;
    use super::*;

    #[test]
    fn a_tone_stands_at_its_frequency_and_loudness() {
        let sound = sines(8_000, 40_000, 0.5, &[1_000.0, 2_000.0]);
        let linear = Spectrum { window: 512, channel: Some(1), mel: None };
        let made = Spectrogram::of(&sound, &Task::new(), 0..40_000, 50, linear).unwrap();
        assert_eq!((made.columns, made.rows, made.values.len()), (50, 257, 50 * 257));
        for column in 5..45 {
            let loudest = (0..257)
                .max_by(|a, b| made.at(column, *a).unwrap().total_cmp(&made.at(column, *b).unwrap()))
                .unwrap();
            assert_eq!(made.frequencies[loudest], 2_000.0, "column {column}");
            // Half of full scale.
            assert!((made.at(column, loudest).unwrap() + 6.02).abs() < 0.1);
            assert!(made.at(column, 20).unwrap() < -80.0);
        }
        let mel = Spectrum { window: 512, channel: Some(0), mel: Some(64) };
        let made = Spectrogram::of(&sound, &Task::new(), 0..40_000, 10, mel).unwrap();
        let loudest =
            (0..64).max_by(|a, b| made.at(5, *a).unwrap().total_cmp(&made.at(5, *b).unwrap())).unwrap();
        assert!((made.frequencies[loudest] - 1_000.0).abs() < 40.0, "{}", made.frequencies[loudest]);
    }

    #[test]
    fn scales_of_mel_are_librosas() {
        assert!((mel(60.0) - 0.9).abs() < 1e-5);
        assert!((hertz(mel(4_321.0)) - 4_321.0).abs() < 0.5);
    }
}
