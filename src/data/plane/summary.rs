//! What is known of the values of a slice: the range that its colours should cover, percentiles, and where NaN and
//! infinities are.

use super::Gaps;
use super::slice::{Slice, Window};
use crate::bytes::error::{Error, Result};
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array;
use crate::data::numbers::{ComplexPart, NonFinite, numbers};
use crate::data::region::{Region, Span};
use crate::data::stats::Unread;

/// What is known of the values of a slice: enough to choose colours.
#[derive(Clone, Debug, Default)]
pub struct ValueSummary {
    /// Elements seen.
    pub count: u64,
    /// Of these: NaN, +Inf, −Inf.
    pub non_finite: [u64; 3],
    /// The smallest and largest finite value.
    pub range: Option<(f64, f64)>,
    /// The smallest positive value, where a logarithmic scale begins.
    pub positive: Option<f64>,
    /// Finite values, sorted, at most 2¹⁸ of them, taken evenly.
    pub sample: Vec<f64>,
    /// Row and column of at most [`LISTED`] elements of each kind that are not finite, in order.
    pub places: Vec<(u64, u64, NonFinite)>,
    /// Whether every element of the slice that can be read was seen.
    pub exact: bool,
    /// Those that cannot.
    pub unread: Option<Unread>,
}

/// How many values the percentiles are taken from.
const SAMPLE: u64 = 1 << 18;
/// How many places of NaN are kept, how many of +Inf, how many of −Inf.
pub const LISTED: usize = 10_000;
impl ValueSummary {
    /// The value below which `share` (0 to 1) of the sample lies.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let last = self.sample.len().checked_sub(1)?;
        self.sample.get((share.clamp(0.0, 1.0) * last as f64).round() as usize).copied()
    }

    /// Whether the place of every element of a kind is kept.
    pub fn lists(&self, kind: NonFinite) -> bool {
        let listed = self.places.iter().filter(|place| place.2 == kind).count();
        self.non_finite.get(kind as usize) == Some(&(listed as u64))
    }

    /// Looks at every element of a slice that can be read.
    ///
    /// # Errors
    /// `Cancelled`; what the array says, where nothing of the slice can be read.
    pub fn take(array: &dyn Array, task: &Task, slice: &Slice, part: ComplexPart) -> Result<Self> {
        let size = array.dtype().size().max(1).saturating_mul(slice.depth().max(1));
        let total = slice.all().elements();
        task.set_total(total);
        let mut builder = SummaryBuilder::new(total.saturating_mul(slice.depth()), SAMPLE);
        for window in slice.bands(size) {
            let (raw, gaps) = slice.read_lenient(array, task, &window)?;
            let place = (slice.depth() == 1).then_some(window);
            let gaps = Gaps::new(&gaps, &window, slice.depth());
            builder.add_around(&numbers(array.dtype(), part, &raw), &gaps, place);
            task.advance(window.elements())?;
        }
        let summary = builder.finish(true);
        match &summary.unread {
            Some(unread) if summary.count == 0 => Err(unread.error.clone()),
            _ => Ok(summary),
        }
    }
}

impl ValueSummary {
    /// Looks at every element of a whole array that can be read. Places are not kept.
    ///
    /// # Errors
    /// As [`ValueSummary::take`].
    pub fn of_array(array: &dyn Array, task: &Task, part: ComplexPart) -> Result<Self> {
        /// Bytes that are read at a time.
        const STEP: u64 = 4 << 20;
        let (shape, size) = (array.shape(), array.dtype().size().max(1));
        let total = shape.iter().fold(1u64, |product, len| product.saturating_mul(*len));
        task.set_total(total);
        let mut builder = SummaryBuilder::new(total, SAMPLE);
        // Axes before the first one of which a place is small enough are gone through one by one.
        let below =
            |axis: usize| shape.iter().skip(axis + 1).fold(size, |product, len| product.saturating_mul(*len));
        let outer = (0..shape.len()).find(|axis| below(*axis) <= STEP).unwrap_or(shape.len());
        let (lengths, inner) =
            (shape.get(..outer).unwrap_or_default(), shape.get(outer..).unwrap_or_default());
        let rounds = lengths.iter().fold(1u64, |product, len| product.saturating_mul(*len));
        let rows = inner.first().copied().unwrap_or(1);
        let at_once = (STEP / below(outer).max(1)).clamp(1, rows.max(1));
        for round in 0..if total == 0 { 0 } else { rounds } {
            let still = strides::unravel(round, lengths).into_iter().map(|at| Span::range(at, 1));
            let still: Vec<Span> = still.collect();
            let mut start = 0;
            while start < rows {
                let count = at_once.min(rows - start);
                let mut spans = still.clone();
                spans.extend(inner.iter().enumerate().map(|(n, len)| match n {
                    0 => Span::range(start, count),
                    _ => Span::all(*len),
                }));
                let region = Region(spans);
                let (raw, missing) = array::read_lenient(array, task, &region)?;
                let values = numbers(array.dtype(), part, &raw);
                add_but(&mut builder, &values, &region.shape(), &missing);
                task.advance(values.len() as u64)?;
                start += count;
            }
        }
        let summary = builder.finish(true);
        match &summary.unread {
            Some(unread) if summary.count == 0 => Err(unread.error.clone()),
            _ => Ok(summary),
        }
    }
}

/// Takes the values of a region without the parts of it that could not be read.
fn add_but(builder: &mut SummaryBuilder, values: &[f64], shape: &[u64], missing: &[array::MissingRegion]) {
    let Some(first) = missing.first() else { return builder.add(values, 0, None) };
    let lost = |n: &usize| {
        let index = strides::unravel(*n as u64, shape);
        let inside = |(at, span): (&u64, &Span)| *at >= span.start && *at < span.end();
        missing.iter().any(|gap| index.iter().zip(&gap.part.0).all(inside))
    };
    let (there, gone): (Vec<usize>, Vec<usize>) = (0..values.len()).partition(|n| !lost(n));
    let there: Vec<f64> = there.into_iter().filter_map(|n| values.get(n).copied()).collect();
    builder.add(&there, 0, None);
    builder.miss(gone.len() as u64, &first.error);
}

/// A summary in the making.
#[derive(Clone)]
pub(super) struct SummaryBuilder {
    summary: ValueSummary,
    /// One value of so many is kept.
    every: u64,
    seen: u64,
    next: u64,
}

impl SummaryBuilder {
    /// Of `total` values, of which at most about `sample` are kept.
    pub(super) fn new(total: u64, sample: u64) -> Self {
        let every = total.div_ceil(sample.max(1)).max(1);
        SummaryBuilder { summary: ValueSummary::default(), every, seen: 0, next: 0 }
    }

    /// Takes values without those in gaps; with a window, also where those that are not finite are.
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
                None => self.add(values.get(start..end).unwrap_or_default(), start, place.as_ref()),
            }
            start = end;
        }
    }

    /// Counts values that could not be read.
    pub(super) fn miss(&mut self, count: u64, error: &Error) {
        Unread::add(&mut self.summary.unread, count, error);
    }

    /// Takes values, the first of which is the `first` one of the window.
    fn add(&mut self, values: &[f64], first: usize, place: Option<&Window>) {
        const RUN: usize = 4096;
        self.summary.count += values.len() as u64;
        self.sample(values);
        for (n, run) in values.chunks(RUN).enumerate() {
            self.ends(run);
            if run.iter().any(|value| !value.is_finite()) {
                self.note_non_finite(run, first + n * RUN, place);
            }
        }
    }

    /// The smallest and largest finite value. Comparisons with NaN are false, so it is never kept.
    fn ends(&mut self, run: &[f64]) {
        let (mut low, mut high) = self.summary.range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        let mut positive = self.summary.positive.unwrap_or(f64::INFINITY);
        for &value in run {
            let finite = value.abs() < f64::INFINITY;
            low = if finite && value < low { value } else { low };
            high = if finite && value > high { value } else { high };
            positive = if value > 0.0 && value < positive { value } else { positive };
        }
        self.summary.range = (low <= high).then_some((low, high));
        self.summary.positive = positive.is_finite().then_some(positive);
    }

    /// Keeps about one of every so many, at uneven distances, so that no pattern of the data hides from it.
    fn sample(&mut self, values: &[f64]) {
        let end = self.seen + values.len() as u64;
        while self.next < end {
            let Some(&value) = values.get((self.next - self.seen) as usize) else { break };
            if value.is_finite() {
                self.summary.sample.push(value);
            }
            let uneven = self.next.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
            self.next += 1 + if self.every > 1 { uneven % (2 * self.every - 1) } else { 0 };
        }
        self.seen = end;
    }

    fn note_non_finite(&mut self, run: &[f64], first: usize, place: Option<&Window>) {
        for (n, &value) in run.iter().enumerate() {
            let Some(kind) = NonFinite::of(value) else { continue };
            let Some(count) = self.summary.non_finite.get_mut(kind as usize) else { continue };
            *count += 1;
            if let Some(window) = place
                && *count <= LISTED as u64
            {
                let (n, width) = ((first + n) as u64, window.columns.count.max(1));
                let (row, column) = (window.rows.index(n / width), window.columns.index(n % width));
                self.summary.places.push((row, column, kind));
            }
        }
    }

    /// What was found.
    pub(super) fn finish(mut self, exact: bool) -> ValueSummary {
        self.summary.sample.sort_unstable_by(f64::total_cmp);
        self.summary.places.sort_unstable();
        self.summary.exact = exact;
        self.summary
    }
}

#[cfg(test)]
mod tests {
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;
    use crate::data::plane::Plane;
    use crate::data::region::Span;

    use super::*;

    #[test]
    fn a_survey_counts_places_and_percentiles() {
        let mut values: Vec<f32> = (0..2000).map(|n| n as f32 - 10.0).collect();
        (values[7], values[1003], values[1004]) = (f32::NAN, f32::NEG_INFINITY, f32::INFINITY);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = Plain::new(Source::memory("a", bytes), 0, DType::F32, vec![20, 100]).unwrap();
        let spans = vec![Span::all(20), Span::all(100)];
        let slice = Slice { spans, rows: Some(0), columns: Some(1), channels: None };
        let summary = ValueSummary::take(&array, &Task::new(), &slice, ComplexPart::Real).unwrap();
        assert_eq!((summary.count, summary.non_finite, summary.exact), (2000, [1, 1, 1], true));
        assert_eq!(summary.range, Some((-10.0, 1989.0)));
        assert_eq!(summary.positive, Some(1.0));
        assert_eq!(
            summary.places,
            [
                (0, 7, NonFinite::Nan),
                (10, 3, NonFinite::NegativeInfinity),
                (10, 4, NonFinite::PositiveInfinity)
            ]
        );
        assert!((summary.percentile(0.5).unwrap() - 990.0).abs() < 3.0);
    }

    #[test]
    fn one_infinity_among_many_nan_has_its_place() {
        let mut values = vec![f32::NAN; 40_000];
        (values[0], values[39_998]) = (1.0, f32::INFINITY);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = Plain::new(Source::memory("a", bytes), 0, DType::F32, vec![200, 200]).unwrap();
        let spans = vec![Span::all(200), Span::all(200)];
        let slice = Slice { spans, rows: Some(0), columns: Some(1), channels: None };
        let summary = ValueSummary::take(&array, &Task::new(), &slice, ComplexPart::Real).unwrap();
        assert_eq!(summary.non_finite, [39_998, 1, 0]);
        assert_eq!(summary.places.len(), LISTED + 1);
        assert!(summary.places.contains(&(199, 198, NonFinite::PositiveInfinity)));
        assert!(
            summary.lists(NonFinite::PositiveInfinity)
                && summary.lists(NonFinite::NegativeInfinity)
                && !summary.lists(NonFinite::Nan)
        );
    }

    #[test]
    fn what_could_not_be_read_is_no_nan_and_keeps_the_places_of_the_others() {
        let window = Window { rows: Span::range(5, 3), columns: Span::all(4) };
        let values: Vec<f64> = (0..12).map(|n| if n == 7 || n == 9 { f64::NAN } else { n.into() }).collect();
        let gap = Window { rows: Span::range(1, 1), columns: Span::range(0, 4) };
        let list = [(gap, Error::io("the disk is gone"))];
        let mut builder = SummaryBuilder::new(12, SAMPLE);
        builder.add_around(&values, &Gaps::new(&list, &window, 1), Some(window));
        let summary = builder.finish(true);
        assert_eq!((summary.count, summary.non_finite, summary.range), (8, [1, 0, 0], Some((0.0, 11.0))));
        assert_eq!(summary.places, [(7, 1, NonFinite::Nan)]);
        assert_eq!(summary.unread.unwrap().count, 4);
    }

    #[test]
    fn ten_thousand_gaps_in_a_million_values_are_no_work() {
        let window = Window { rows: Span::range(7, 1000), columns: Span::all(1000) };
        let gap = |n: u64| Window { rows: Span::range(n / 10, 1), columns: Span::range(n % 10 * 100, 50) };
        let list: Vec<_> = (0..10_000).map(|n| (gap(n), Error::io("the disk is gone"))).collect();
        let gaps = Gaps::new(&list, &window, 1);
        let mut builder = SummaryBuilder::new(1_000_000, SAMPLE);
        builder.add_around(&vec![1.0; 1_000_000], &gaps, Some(window));
        let summary = builder.finish(true);
        assert_eq!((summary.count, summary.unread.unwrap().count), (500_000, 500_000));
        // With three channels each element is three values.
        let gaps = Gaps::new(&list, &window, 3);
        assert!([0, 149, 300].iter().all(|&n| gaps.at(n).is_some()));
        assert!([150, 299, 3_000_000].iter().all(|&n| gaps.at(n).is_none()));
        let slice = Slice { spans: vec![Span::all(1007)], rows: Some(0), columns: None, channels: None };
        let mut plane = Plane::new(&slice, window, &DType::U8, Vec::new(), ValueSummary::default());
        assert!(!plane.in_hole(0));
        plane.holes = list.into_iter().map(|(gap, _)| gap).collect();
        assert!(plane.in_hole(1049) && !plane.in_hole(1050) && !plane.in_hole(1_000_000));
    }
}
