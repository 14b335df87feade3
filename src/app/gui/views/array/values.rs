//! Elements as numbers for pictures: which types can be drawn, the parts of complex numbers, and the
//! survey of a slice that says which range its colours should cover.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gander::content::Array;
use gander::dtype::DType;
use gander::error::Result;
use gander::region::Span;
use gander::task::Task;

use super::slice::{Slice, Window};

/// What of a complex number is drawn. Real numbers are themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The distance from zero.
    #[default]
    Magnitude,
    /// The angle, −π to π.
    Phase,
    /// The real part.
    Real,
    /// The imaginary part.
    Imaginary,
}

impl Part {
    /// All of them, with their words.
    pub(crate) const ALL: [(Part, &str); 4] = [
        (Part::Magnitude, "magnitude"),
        (Part::Phase, "phase"),
        (Part::Real, "real"),
        (Part::Imaginary, "imaginary"),
    ];

    /// The word in menus and sessions.
    pub(crate) fn word(self) -> &'static str {
        Part::ALL.iter().find(|(part, _)| *part == self).map_or("", |(_, word)| word)
    }

    fn of(self, real: f64, imaginary: f64) -> f64 {
        match self {
            Part::Magnitude => real.hypot(imaginary),
            Part::Phase => imaginary.atan2(real),
            Part::Real => real,
            Part::Imaginary => imaginary,
        }
    }
}

/// Whether elements can be drawn as colours and lines: numbers, complex numbers, times.
pub(crate) fn drawable(dtype: &DType) -> bool {
    dtype.is_real() || dtype.is_complex() || matches!(dtype, DType::DateTime(_) | DType::TimeDelta(_))
}

/// Elements as numbers; not-a-time is NaN.
pub(crate) fn numbers(dtype: &DType, part: Part, raw: &[u8]) -> Vec<f64> {
    let mut out = Vec::with_capacity(raw.len() / (dtype.size().max(1) as usize));
    match dtype {
        DType::C64 => {
            out.extend(raw.as_chunks::<4>().0.as_chunks::<2>().0.iter().map(|&[real, imaginary]| {
                part.of(f32::from_le_bytes(real).into(), f32::from_le_bytes(imaginary).into())
            }))
        }
        DType::C128 => {
            out.extend(
                raw.as_chunks::<8>().0.as_chunks::<2>().0.iter().map(|&[real, imaginary]| {
                    part.of(f64::from_le_bytes(real), f64::from_le_bytes(imaginary))
                }),
            )
        }
        DType::DateTime(_) | DType::TimeDelta(_) => {
            let count = |&bytes: &[u8; 8]| match i64::from_le_bytes(bytes) {
                i64::MIN => f64::NAN,
                count => count as f64,
            };
            out.extend(raw.as_chunks::<8>().0.iter().map(count));
        }
        _ => dtype.decode(raw, &mut out),
    }
    out
}

/// A window of a slice, as it was read.
pub(crate) struct Plane {
    /// Unique in this process: what was made from it is known by it.
    pub(crate) id: u64,
    /// Of which slice.
    pub(crate) slice: Slice,
    /// Which part.
    pub(crate) window: Window,
    /// Samples of each element.
    pub(crate) channels: usize,
    /// The type of a sample.
    pub(crate) dtype: DType,
    /// The samples, row by row, channels together.
    pub(crate) raw: Vec<u8>,
    /// What these samples alone tell.
    pub(crate) survey: Arc<Survey>,
}

impl Plane {
    /// Reads a window.
    pub(crate) fn read(
        array: &dyn Array,
        task: &Task,
        slice: &Slice,
        window: Window,
        part: Part,
    ) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let raw = slice.read(array, task, &window)?;
        let dtype = array.dtype().clone();
        let mut tally = Tally::new(window.elements().saturating_mul(slice.depth()));
        tally.add(&numbers(&dtype, part, &raw), None);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let exact = window == slice.all();
        let channels = slice.depth() as usize;
        let slice = slice.clone();
        Ok(Plane { id, slice, window, channels, dtype, raw, survey: Arc::new(tally.finish(exact)) })
    }

    /// The bytes of the first channel of an element, if the window holds it.
    pub(crate) fn element(&self, row: u64, column: u64) -> Option<&[u8]> {
        let size = self.dtype.size() as usize;
        let at = self.window.find(row, column)?.checked_mul(size * self.channels)?;
        self.raw.get(at..at.checked_add(size)?)
    }
}

/// How an element is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Odd {
    /// Not a number.
    Nan,
    /// +Inf.
    Plus,
    /// −Inf.
    Minus,
}

impl Odd {
    /// All of them.
    pub(crate) const ALL: [Odd; 3] = [Odd::Nan, Odd::Plus, Odd::Minus];

    /// The word on the screen.
    pub(crate) fn word(self) -> &'static str {
        ["NaN", "+Inf", "−Inf"][self as usize]
    }

    /// How a number is not finite, if it is not.
    pub(crate) fn of(value: f64) -> Option<Odd> {
        if value.is_finite() {
            None
        } else if value.is_nan() {
            Some(Odd::Nan)
        } else {
            Some(if value > 0.0 { Odd::Plus } else { Odd::Minus })
        }
    }
}

/// What is known of the values of a slice: enough to choose colours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// Elements seen.
    pub(crate) count: u64,
    /// Of these: NaN, +Inf, −Inf.
    pub(crate) odd: [u64; 3],
    /// The smallest and largest finite value.
    pub(crate) range: Option<(f64, f64)>,
    /// The smallest positive value, where a logarithmic scale begins.
    pub(crate) positive: Option<f64>,
    /// Finite values, sorted, at most [`SAMPLE`] of them, taken evenly.
    pub(crate) sample: Vec<f64>,
    /// Row and column of the first [`LISTED`] elements that are not finite, in order.
    pub(crate) places: Vec<(u64, u64, Odd)>,
    /// Whether every element of the slice was seen.
    pub(crate) exact: bool,
}

/// How many values the percentiles are taken from.
const SAMPLE: u64 = 1 << 18;
/// How many places of NaN and Inf are kept.
pub(crate) const LISTED: usize = 10_000;
/// Bytes read at a time.
const BAND: u64 = 4 << 20;

impl Survey {
    /// The value below which `share` (0 to 1) of the sample lies.
    pub(crate) fn percentile(&self, share: f64) -> Option<f64> {
        let last = self.sample.len().checked_sub(1)?;
        self.sample.get((share.clamp(0.0, 1.0) * last as f64).round() as usize).copied()
    }

    /// Looks at every element of a slice.
    pub(crate) fn take(array: &dyn Array, task: &Task, slice: &Slice, part: Part) -> Result<Self> {
        let size = array.dtype().size().max(1).saturating_mul(slice.depth().max(1));
        let total = slice.all().elements();
        task.expect(total);
        let mut tally = Tally::new(total.saturating_mul(slice.depth()));
        for window in bands(slice, size) {
            let raw = slice.read(array, task, &window)?;
            let place = (slice.depth() == 1).then_some(window);
            tally.add(&numbers(array.dtype(), part, &raw), place);
            task.advance(window.elements())?;
        }
        Ok(tally.finish(true))
    }
}

/// A slice in windows of about [`BAND`] bytes, elements of `size` bytes, in the order of rows.
pub(super) fn bands(slice: &Slice, size: u64) -> impl Iterator<Item = Window> {
    let (height, width) = (slice.height(), slice.width());
    let size = size.max(1);
    let columns = (BAND / size).clamp(1, width.max(1));
    let rows = (BAND / size / columns).clamp(1, height.max(1));
    let starts = |len: u64, step: u64| (0..len.div_ceil(step)).map(move |n| n * step);
    starts(height, rows).flat_map(move |row| {
        starts(width, columns).map(move |column| Window {
            rows: Span::range(row, rows.min(height - row)),
            columns: Span::range(column, columns.min(width - column)),
        })
    })
}

/// A survey in the making.
struct Tally {
    survey: Survey,
    every: u64,
    seen: u64,
}

impl Tally {
    fn new(total: u64) -> Self {
        Tally { survey: Survey::default(), every: total.div_ceil(SAMPLE).max(1), seen: 0 }
    }

    /// Takes values; with a window, also where the odd ones are.
    fn add(&mut self, values: &[f64], place: Option<Window>) {
        let survey = &mut self.survey;
        survey.count += values.len() as u64;
        let (mut low, mut high) = survey.range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        let mut positive = survey.positive.unwrap_or(f64::INFINITY);
        for (n, &value) in values.iter().enumerate() {
            match Odd::of(value) {
                None => {
                    low = low.min(value);
                    high = high.max(value);
                    if value > 0.0 {
                        positive = positive.min(value);
                    }
                    // The multiplier spreads the sample over columns, whatever their number.
                    if self.seen.wrapping_mul(0x9E37_79B9).is_multiple_of(self.every) {
                        survey.sample.push(value);
                    }
                    self.seen += 1;
                }
                Some(odd) => {
                    survey.odd[odd as usize] += 1;
                    if let Some(window) = &place
                        && survey.places.len() < LISTED
                    {
                        let width = window.columns.count.max(1);
                        let (row, column) = (n as u64 / width, n as u64 % width);
                        survey.places.push((window.rows.index(row), window.columns.index(column), odd));
                    }
                }
            }
        }
        survey.range = (low <= high).then_some((low, high));
        survey.positive = positive.is_finite().then_some(positive);
    }

    fn finish(mut self, exact: bool) -> Survey {
        self.survey.sample.sort_unstable_by(f64::total_cmp);
        self.survey.places.sort_unstable();
        self.survey.exact = exact;
        self.survey
    }
}

#[cfg(test)]
mod tests {
    use gander::content::array::Plain;
    use gander::source::Source;

    use super::*;

    #[test]
    fn a_survey_counts_places_and_percentiles() {
        let mut values: Vec<f32> = (0..2000).map(|n| n as f32 - 10.0).collect();
        (values[7], values[1003], values[1004]) = (f32::NAN, f32::NEG_INFINITY, f32::INFINITY);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = Plain::new(Source::memory("a", bytes), 0, DType::F32, vec![20, 100]).unwrap();
        let spans = vec![Span::all(20), Span::all(100)];
        let slice = Slice { spans, rows: Some(0), columns: Some(1), channels: None };
        let survey = Survey::take(&array, &Task::new(), &slice, Part::Real).unwrap();
        assert_eq!((survey.count, survey.odd, survey.exact), (2000, [1, 1, 1], true));
        assert_eq!(survey.range, Some((-10.0, 1989.0)));
        assert_eq!(survey.positive, Some(1.0));
        assert_eq!(survey.places, [(0, 7, Odd::Nan), (10, 3, Odd::Minus), (10, 4, Odd::Plus)]);
        assert!((survey.percentile(0.5).unwrap() - 990.0).abs() < 3.0);
    }

    #[test]
    fn complex_numbers_and_times_are_numbers_too() {
        let raw: Vec<u8> = [3.0f32, 4.0, 0.0, -1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(numbers(&DType::C64, Part::Magnitude, &raw), [5.0, 1.0]);
        assert_eq!(numbers(&DType::C64, Part::Imaginary, &raw), [4.0, -1.0]);
        let unit = gander::dtype::TimeUnit { count: 1, base: gander::dtype::TimeBase::Day };
        let raw: Vec<u8> = [i64::MIN, 5].iter().flat_map(|v| v.to_le_bytes()).collect();
        let times = numbers(&DType::DateTime(unit), Part::Real, &raw);
        assert!(times[0].is_nan() && times[1] == 5.0);
    }
}
