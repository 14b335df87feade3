//! How much of which frequency when: magnitudes of short-time Fourier transforms, in decibels of full scale, on a linear
//! scale or on that of mel (Slaney's, as librosa has it).

use super::{samples, sides};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Array;
use rayon::prelude::*;
use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};
use std::ops::Range;
use std::sync::Arc;

/// Columns that are made at once.
const COLUMNS: usize = 8_192;
/// The most of a window that the next one may cover.
pub const OVERLAP: f32 = 0.95;
/// Windows of one column that are looked at; of more, some that lie evenly between each other.
const WINDOWS: u64 = 8;
/// What silence is, in decibels.
const FLOOR: f32 = -140.0;

/// How a spectrogram is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spectrum {
    /// Frames of a window, a power of two; it is Hann's.
    pub window: usize,
    /// How much of a window the next one covers, from 0 to [`OVERLAP`]; `None` for one window about the middle of each
    /// column, however far they lie from each other.
    pub overlap: Option<f32>,
    /// The channel; all of them together where it is `None`.
    pub channel: Option<usize>,
    /// Bands of mel; `None` for all frequencies on a linear scale.
    pub mel: Option<usize>,
}

impl Default for Spectrum {
    fn default() -> Self {
        Spectrum { window: 1_024, overlap: None, channel: None, mel: Some(128) }
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
    /// The spectrogram of a stretch of frames in so many columns: each has the loudest of its windows (see
    /// [`Spectrum::overlap`]).
    ///
    /// # Errors
    /// Those of reading; `Limit` for too many columns, windows of other sizes and more overlap than can be.
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
        if let Some(overlap) = how.overlap.filter(|overlap| !(0.0..=OVERLAP).contains(overlap)) {
            return Err(Error::limit(format!("a spectrogram of windows that overlap by {overlap}")));
        }
        let (count, channels) = sides(array);
        let rate = array.facts().sound.map_or(1, |sound| sound.rate).max(1) as f32;
        let half = how.window as u64 / 2;
        let transform = Stft::new(rate, how);
        let each = (frames.end.saturating_sub(frames.start)) as f64 / columns.max(1) as f64;
        // Windows that overlap are cut from one read; others are read each alone.
        let close = each <= how.window as f64 * 4.0;
        let group =
            if close { ((1 << 20) / each.max(1.0) as usize / channels).clamp(1, columns.max(1)) } else { 1 };
        let groups: Vec<Range<usize>> =
            (0..columns).step_by(group).map(|first| first..(first + group).min(columns)).collect();
        let reach = |middle: u64| middle.saturating_sub(half)..(middle + half).min(count);
        let parts: Vec<Vec<f32>> = groups
            .into_par_iter()
            .map(|group| {
                task.check()?;
                let middles: Vec<Vec<u64>> = group.map(|n| middles(frames.start, each, n, how)).collect();
                let (first, last) = (middles.first().and_then(|all| all.first()), middles.last());
                let (first, last) =
                    (first.map_or(0, |at| *at), last.and_then(|all| all.last()).map_or(0, |at| *at));
                let all = reach(first).start..reach(last).end.max(reach(first).start);
                let read = if close { samples(array, task, all.clone())? } else { Vec::new() };
                let mut work = transform.work();
                let mut values = Vec::with_capacity(middles.len() * transform.rows());
                for middles in &middles {
                    let begin = values.len();
                    for (n, middle) in middles.iter().enumerate() {
                        let own;
                        let (read, from) = if close {
                            (&read, all.start)
                        } else {
                            let place = reach(*middle);
                            let from = place.start;
                            own = samples(array, task, from..place.end.max(from))?;
                            (&own, from)
                        };
                        // Where a window begins in what was read.
                        let start = *middle as i64 - half as i64 - from as i64;
                        transform.window(read, channels, start, &mut work)?;
                        if n == 0 {
                            values.extend_from_slice(&work.decibels);
                        } else {
                            let louder = values.iter_mut().skip(begin).zip(&work.decibels);
                            louder.for_each(|(most, value)| *most = most.max(*value));
                        }
                    }
                }
                Ok(values)
            })
            .collect::<Result<_>>()?;
        let (rows, frequencies) = (transform.rows(), transform.frequencies());
        Ok(Spectrogram { columns, rows, frequencies, values: parts.concat() })
    }

    /// The decibels at a column and a row, counted from the lowest frequency.
    pub fn at(&self, column: usize, row: usize) -> Option<f32> {
        (row < self.rows).then(|| self.values.get(column * self.rows + row).copied())?
    }
}

/// The middles of the windows of a column: of those that lie at equal distances from the start of the sound, the ones in the
/// column's stretch of frames, or the one that is nearest.
fn middles(start: u64, each: f64, column: usize, how: Spectrum) -> Vec<u64> {
    let middle = start + ((column as f64 + 0.5) * each) as u64;
    let Some(overlap) = how.overlap else { return vec![middle] };
    let hop = ((how.window as f32 * (1.0 - overlap)).round() as u64).max(1);
    let from = start + (column as f64 * each) as u64;
    let to = (start + ((column + 1) as f64 * each) as u64).max(from + 1);
    let (first, end) = (from.div_ceil(hop), to.div_ceil(hop));
    let count = end - first;
    match count {
        0 => vec![(middle + hop / 2) / hop * hop],
        _ => {
            let shown = count.min(WINDOWS);
            (0..shown).map(|n| (first + n * count / shown) * hop).collect()
        }
    }
}

/// The short-time Fourier transform: of one window at a time, whose frequencies become rows.
struct Stft {
    plan: Arc<dyn RealToComplex<f32>>,
    hann: Vec<f32>,
    gain: f32,
    rate: f32,
    bank: Option<Bank>,
    channel: Option<usize>,
}

/// Memory of a transform, used again for each window.
struct FftBuffers {
    input: Vec<f32>,
    output: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    power: Vec<f32>,
    /// What the last window gave.
    decibels: Vec<f32>,
}

impl Stft {
    fn new(rate: f32, how: Spectrum) -> Self {
        let hann: Vec<f32> = (0..how.window)
            .map(|n| (std::f32::consts::PI * n as f32 / how.window as f32).sin().powi(2))
            .collect();
        Stft {
            plan: RealFftPlanner::<f32>::new().plan_fft_forward(how.window),
            // A sine of full scale is 0 dB.
            gain: 2.0 / hann.iter().sum::<f32>(),
            hann,
            rate,
            bank: how.mel.map(|bands| Bank::new(rate, how.window, bands)),
            channel: how.channel,
        }
    }

    fn rows(&self) -> usize {
        self.bank.as_ref().map_or(self.hann.len() / 2 + 1, |bank| bank.bands.len())
    }

    /// The middle frequency of each row, in hertz.
    fn frequencies(&self) -> Vec<f32> {
        match &self.bank {
            Some(bank) => bank.bands.iter().map(|band| band.middle).collect(),
            None => (0..self.rows()).map(|n| n as f32 * self.rate / self.hann.len() as f32).collect(),
        }
    }

    fn work(&self) -> FftBuffers {
        FftBuffers {
            input: self.plan.make_input_vec(),
            output: self.plan.make_output_vec(),
            scratch: self.plan.make_scratch_vec(),
            power: Vec::new(),
            decibels: Vec::new(),
        }
    }

    /// The window that begins at frame `start` of what was read; before the sound and behind it there is silence.
    fn window(&self, read: &[f32], channels: usize, start: i64, work: &mut FftBuffers) -> Result<()> {
        for (k, (place, weight)) in work.input.iter_mut().zip(&self.hann).enumerate() {
            let at = usize::try_from(start + k as i64).ok();
            let frame = at.and_then(|at| read.get(at * channels..(at + 1) * channels));
            *place = weight * mixed(frame.unwrap_or_default(), self.channel);
        }
        let done = self.plan.process_with_scratch(&mut work.input, &mut work.output, &mut work.scratch);
        done.map_err(|error| Error::bug(format!("the transform: {error}")))?;
        work.power.clear();
        work.power.extend(work.output.iter().map(|value| value.norm_sqr() * self.gain * self.gain));
        work.decibels.clear();
        match &self.bank {
            Some(bank) => bank.bands_of(&work.power, &mut work.decibels),
            None => work.decibels.extend(work.power.iter().map(|power| decibels(*power))),
        }
        Ok(())
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
        let linear = Spectrum { window: 512, overlap: None, channel: Some(1), mel: None };
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
        let mel = Spectrum { window: 512, overlap: None, channel: Some(0), mel: Some(64) };
        let made = Spectrogram::of(&sound, &Task::new(), 0..40_000, 10, mel).unwrap();
        let loudest =
            (0..64).max_by(|a, b| made.at(5, *a).unwrap().total_cmp(&made.at(5, *b).unwrap())).unwrap();
        assert!((made.frequencies[loudest] - 1_000.0).abs() < 40.0, "{}", made.frequencies[loudest]);
    }

    #[test]
    fn overlapping_windows_miss_nothing_short() {
        // A click of one window's length, between two middles of columns of 4,000 frames.
        let mut values = vec![0f32; 40_000];
        values
            .iter_mut()
            .skip(16_200)
            .take(400)
            .enumerate()
            .for_each(|(n, value)| *value = (n as f32 * 0.8).sin());
        let sound = super::super::sound_of(8_000, 1, &values);
        let made = |overlap: Option<f32>| {
            let how = Spectrum { window: 512, overlap, channel: None, mel: None };
            let made = Spectrogram::of(&sound, &Task::new(), 0..40_000, 10, how).unwrap();
            (0..made.rows).map(|row| made.at(4, row).unwrap()).fold(f32::MIN, f32::max)
        };
        assert!(made(None) < -100.0, "{}", made(None));
        for overlap in [0.0, 0.5, 0.75] {
            assert!(made(Some(overlap)) > -20.0, "{overlap}: {}", made(Some(overlap)));
        }
        let how = Spectrum { overlap: Some(1.0), ..Spectrum::default() };
        assert!(Spectrogram::of(&sound, &Task::new(), 0..40_000, 10, how).is_err());
    }

    #[test]
    fn windows_lie_on_one_grid_at_any_zoom() {
        let how = Spectrum { window: 512, overlap: Some(0.5), ..Spectrum::default() };
        assert_eq!(middles(0, 1_024.0, 1, how), [1_024, 1_280, 1_536, 1_792]);
        // Closer than the grid: the nearest one, again and again.
        assert_eq!(middles(1_000, 10.0, 0, how), [1_024]);
        assert_eq!(middles(1_000, 10.0, 3, how), [1_024]);
        assert_eq!(middles(0, 1e6, 0, how).len(), 8);
    }

    #[test]
    fn scales_of_mel_are_librosas() {
        assert!((mel(60.0) - 0.9).abs() < 1e-5);
        assert!((hertz(mel(4_321.0)) - 4_321.0).abs() < 0.5);
    }
}
