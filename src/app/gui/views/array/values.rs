//! Elements as numbers for pictures: which types can be drawn, the parts of complex numbers, and the
//! survey of a slice that says which range its colours should cover.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::dtype::DType;
use gander::data::region::Span;
use gander::data::stats::Unread;

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
        (Part::Magnitude, "amplitude"),
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
    /// How much of it was read, 0 to 1; the rest is filled in from what lies near.
    pub(crate) share: f32,
    /// The parts of it that could not be read, in samples.
    pub(crate) holes: Vec<Window>,
    /// For each sample whether it lies in one of them; made when the first is asked for.
    lost: OnceLock<Vec<bool>>,
    /// Why the first of them could not.
    pub(crate) error: Option<Error>,
}

impl Plane {
    /// A plane of these samples.
    pub(crate) fn new(slice: &Slice, window: Window, dtype: &DType, raw: Vec<u8>, survey: Survey) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Plane {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            slice: slice.clone(),
            window,
            channels: slice.depth() as usize,
            dtype: dtype.clone(),
            raw,
            survey: Arc::new(survey),
            share: 1.0,
            holes: Vec::new(),
            lost: OnceLock::new(),
            error: None,
        }
    }

    /// Whether every sample was read.
    pub(crate) fn is_whole(&self) -> bool {
        self.share >= 1.0 && self.holes.is_empty()
    }

    /// The bytes of the first channel of an element, if the window holds it.
    pub(crate) fn element(&self, row: u64, column: u64) -> Option<&[u8]> {
        let size = self.dtype.size() as usize;
        let n = self.window.find(row, column)?;
        if self.share < 1.0 || self.in_hole(n) {
            return None;
        }
        let at = n.checked_mul(size * self.channels)?;
        self.raw.get(at..at.checked_add(size)?)
    }

    /// Whether the n-th sample could not be read.
    pub(crate) fn in_hole(&self, n: usize) -> bool {
        let lost = || marks(self.holes.iter(), &self.window);
        !self.holes.is_empty() && self.lost.get_or_init(lost).get(n) == Some(&true)
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
    /// Row and column of at most [`LISTED`] elements of each kind that are not finite, in order.
    pub(crate) places: Vec<(u64, u64, Odd)>,
    /// Whether every element of the slice that can be read was seen.
    pub(crate) exact: bool,
    /// Those that cannot.
    pub(crate) unread: Option<Unread>,
}

/// How many values the percentiles are taken from.
const SAMPLE: u64 = 1 << 18;
/// How many places of NaN are kept, how many of +Inf, how many of −Inf.
pub(crate) const LISTED: usize = 10_000;
/// Bytes read at a time.
const BAND: u64 = 4 << 20;

impl Survey {
    /// The value below which `share` (0 to 1) of the sample lies.
    pub(crate) fn percentile(&self, share: f64) -> Option<f64> {
        let last = self.sample.len().checked_sub(1)?;
        self.sample.get((share.clamp(0.0, 1.0) * last as f64).round() as usize).copied()
    }

    /// Whether the place of every element of a kind is kept.
    pub(crate) fn lists(&self, kind: Odd) -> bool {
        let listed = self.places.iter().filter(|place| place.2 == kind).count();
        listed as u64 == self.odd[kind as usize]
    }

    /// Looks at every element of a slice that can be read.
    pub(crate) fn take(array: &dyn Array, task: &Task, slice: &Slice, part: Part) -> Result<Self> {
        let size = array.dtype().size().max(1).saturating_mul(slice.depth().max(1));
        let total = slice.all().elements();
        task.set_total(total);
        let mut tally = Tally::new(total.saturating_mul(slice.depth()), SAMPLE);
        for window in bands(slice, size) {
            let (raw, gaps) = slice.read_lenient(array, task, &window)?;
            let place = (slice.depth() == 1).then_some(window);
            let gaps = Gaps::new(&gaps, &window, slice.depth());
            tally.add_around(&numbers(array.dtype(), part, &raw), &gaps, place);
            task.advance(window.elements())?;
        }
        let survey = tally.finish(true);
        match &survey.unread {
            Some(unread) if survey.count == 0 => Err(unread.error.clone()),
            _ => Ok(survey),
        }
    }
}

/// A slice in windows of about [`BAND`] bytes, elements of `size` bytes, in the order of rows.
pub(super) fn bands(slice: &Slice, size: u64) -> impl DoubleEndedIterator<Item = Window> {
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

/// The parts of a window that could not be read, asked by the number of a value.
pub(super) struct Gaps<'a> {
    /// Why the first of them could not.
    error: Option<&'a Error>,
    /// For each element whether it lies in one; empty where there is none.
    lost: Vec<bool>,
    depth: usize,
}

impl<'a> Gaps<'a> {
    /// Gaps in rows and columns of a window whose elements are `depth` values each.
    pub(super) fn new(list: &'a [(Window, Error)], window: &Window, depth: u64) -> Self {
        let error = list.first().map(|(_, error)| error);
        let lost = match error {
            Some(_) => marks(list.iter().map(|(gap, _)| gap), window),
            None => Vec::new(),
        };
        Gaps { error, lost, depth: depth.max(1) as usize }
    }

    /// Why the n-th value could not be read, if it could not: what is said of the first gap.
    pub(super) fn at(&self, n: usize) -> Option<&'a Error> {
        self.error.filter(|_| self.lost.get(n / self.depth) == Some(&true))
    }
}

/// For each element of a window, row by row, whether it lies in one of these parts of it: painted part by part,
/// since there may be so many that no element should be compared with all of them.
fn marks<'a>(parts: impl Iterator<Item = &'a Window>, window: &Window) -> Vec<bool> {
    let (height, width) = (window.rows.count, window.columns.count);
    let mut marks = vec![false; window.elements() as usize];
    for part in parts {
        let (left, right) = (part.columns.start.min(width), part.columns.end().min(width));
        for row in part.rows.start..part.rows.end().min(height) {
            marks[(row * width + left) as usize..(row * width + right) as usize].fill(true);
        }
    }
    marks
}

/// A survey in the making.
#[derive(Clone)]
pub(super) struct Tally {
    survey: Survey,
    /// One value of so many is kept.
    every: u64,
    seen: u64,
    next: u64,
}

impl Tally {
    /// Of `total` values, of which at most about `sample` are kept.
    pub(super) fn new(total: u64, sample: u64) -> Self {
        let every = total.div_ceil(sample.max(1)).max(1);
        Tally { survey: Survey::default(), every, seen: 0, next: 0 }
    }

    /// Takes values without those in gaps; with a window, also where the odd ones are.
    pub(super) fn add_around(&mut self, values: &[f64], gaps: &Gaps<'_>, place: Option<Window>) {
        if gaps.error.is_none() {
            return self.add(values, 0, place.as_ref());
        }
        let mut start = 0;
        while start < values.len() {
            let gap = gaps.at(start);
            let same = |n: &usize| gaps.at(*n).is_some() == gap.is_some();
            let end = (start..values.len()).find(|n| !same(n)).unwrap_or(values.len());
            match gap {
                Some(error) => self.miss((end - start) as u64, error),
                None => self.add(&values[start..end], start, place.as_ref()),
            }
            start = end;
        }
    }

    /// Counts values that could not be read.
    pub(super) fn miss(&mut self, count: u64, error: &Error) {
        Unread::add(&mut self.survey.unread, count, error);
    }

    /// Takes values, the first of which is the `first` one of the window.
    fn add(&mut self, values: &[f64], first: usize, place: Option<&Window>) {
        const RUN: usize = 4096;
        self.survey.count += values.len() as u64;
        self.sample(values);
        for (n, run) in values.chunks(RUN).enumerate() {
            self.ends(run);
            if run.iter().any(|value| !value.is_finite()) {
                self.odd(run, first + n * RUN, place);
            }
        }
    }

    /// The smallest and largest finite value. Comparisons with NaN are false, so it is never kept.
    fn ends(&mut self, run: &[f64]) {
        let (mut low, mut high) = self.survey.range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        let mut positive = self.survey.positive.unwrap_or(f64::INFINITY);
        for &value in run {
            let finite = value.abs() < f64::INFINITY;
            low = if finite && value < low { value } else { low };
            high = if finite && value > high { value } else { high };
            positive = if value > 0.0 && value < positive { value } else { positive };
        }
        self.survey.range = (low <= high).then_some((low, high));
        self.survey.positive = positive.is_finite().then_some(positive);
    }

    /// Keeps about one of every so many, at uneven distances, so that no pattern of the data hides from it.
    fn sample(&mut self, values: &[f64]) {
        let end = self.seen + values.len() as u64;
        while self.next < end {
            let value = values[(self.next - self.seen) as usize];
            if value.is_finite() {
                self.survey.sample.push(value);
            }
            let uneven = self.next.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
            self.next += 1 + if self.every > 1 { uneven % (2 * self.every - 1) } else { 0 };
        }
        self.seen = end;
    }

    fn odd(&mut self, run: &[f64], first: usize, place: Option<&Window>) {
        for (n, &value) in run.iter().enumerate() {
            let Some(odd) = Odd::of(value) else { continue };
            let count = &mut self.survey.odd[odd as usize];
            *count += 1;
            if let Some(window) = place
                && *count <= LISTED as u64
            {
                let (n, width) = ((first + n) as u64, window.columns.count.max(1));
                let (row, column) = (window.rows.index(n / width), window.columns.index(n % width));
                self.survey.places.push((row, column, odd));
            }
        }
    }

    /// What was found.
    pub(super) fn finish(mut self, exact: bool) -> Survey {
        self.survey.sample.sort_unstable_by(f64::total_cmp);
        self.survey.places.sort_unstable();
        self.survey.exact = exact;
        self.survey
    }
}

#[cfg(test)]
mod tests {
    use gander::bytes::source::Source;
    use gander::data::content::array::Plain;

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
    fn one_infinity_among_many_nan_has_its_place() {
        let mut values = vec![f32::NAN; 40_000];
        (values[0], values[39_998]) = (1.0, f32::INFINITY);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = Plain::new(Source::memory("a", bytes), 0, DType::F32, vec![200, 200]).unwrap();
        let spans = vec![Span::all(200), Span::all(200)];
        let slice = Slice { spans, rows: Some(0), columns: Some(1), channels: None };
        let survey = Survey::take(&array, &Task::new(), &slice, Part::Real).unwrap();
        assert_eq!(survey.odd, [39_998, 1, 0]);
        assert_eq!(survey.places.len(), LISTED + 1);
        assert!(survey.places.contains(&(199, 198, Odd::Plus)));
        assert!(survey.lists(Odd::Plus) && survey.lists(Odd::Minus) && !survey.lists(Odd::Nan));
    }

    #[test]
    fn what_could_not_be_read_is_no_nan_and_keeps_the_places_of_the_others() {
        let window = Window { rows: Span::range(5, 3), columns: Span::all(4) };
        let values: Vec<f64> = (0..12).map(|n| if n == 7 || n == 9 { f64::NAN } else { n.into() }).collect();
        let gap = Window { rows: Span::range(1, 1), columns: Span::range(0, 4) };
        let list = [(gap, Error::io("the disk is gone"))];
        let mut tally = Tally::new(12, SAMPLE);
        tally.add_around(&values, &Gaps::new(&list, &window, 1), Some(window));
        let survey = tally.finish(true);
        assert_eq!((survey.count, survey.odd, survey.range), (8, [1, 0, 0], Some((0.0, 11.0))));
        assert_eq!(survey.places, [(7, 1, Odd::Nan)]);
        assert_eq!(survey.unread.unwrap().count, 4);
    }

    #[test]
    fn ten_thousand_gaps_in_a_million_values_are_no_work() {
        let window = Window { rows: Span::range(7, 1000), columns: Span::all(1000) };
        let gap = |n: u64| Window { rows: Span::range(n / 10, 1), columns: Span::range(n % 10 * 100, 50) };
        let list: Vec<_> = (0..10_000).map(|n| (gap(n), Error::io("the disk is gone"))).collect();
        let gaps = Gaps::new(&list, &window, 1);
        let mut tally = Tally::new(1_000_000, SAMPLE);
        tally.add_around(&vec![1.0; 1_000_000], &gaps, Some(window));
        let survey = tally.finish(true);
        assert_eq!((survey.count, survey.unread.unwrap().count), (500_000, 500_000));
        // With three channels each element is three values.
        let gaps = Gaps::new(&list, &window, 3);
        assert!([0, 149, 300].iter().all(|&n| gaps.at(n).is_some()));
        assert!([150, 299, 3_000_000].iter().all(|&n| gaps.at(n).is_none()));
        let slice = Slice { spans: vec![Span::all(1007)], rows: Some(0), columns: None, channels: None };
        let mut plane = Plane::new(&slice, window, &DType::U8, Vec::new(), Survey::default());
        assert!(!plane.in_hole(0));
        plane.holes = list.into_iter().map(|(gap, _)| gap).collect();
        assert!(plane.in_hole(1049) && !plane.in_hole(1050) && !plane.in_hole(1_000_000));
    }

    #[test]
    fn complex_numbers_and_times_are_numbers_too() {
        let raw: Vec<u8> = [3.0f32, 4.0, 0.0, -1.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(numbers(&DType::C64, Part::Magnitude, &raw), [5.0, 1.0]);
        assert_eq!(numbers(&DType::C64, Part::Imaginary, &raw), [4.0, -1.0]);
        let unit = gander::data::dtype::TimeUnit { count: 1, base: gander::data::dtype::TimeBase::Day };
        let raw: Vec<u8> = [i64::MIN, 5].iter().flat_map(|v| v.to_le_bytes()).collect();
        let times = numbers(&DType::DateTime(unit), Part::Real, &raw);
        assert!(times[0].is_nan() && times[1] == 5.0);
    }
}
