//! Rows and columns of a slice as lines: all values where they are few; of many an envelope, the least and the largest
//! of each stretch, a few places first. What cannot be read is left out and counted.

use super::{Gaps, Slice, Window};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::axes::LinePositions;
use crate::data::content::Array;
use crate::data::numbers::{ComplexPart, numbers};
use crate::data::region::Span;
use crate::data::stats::Unread;
use std::time::{Duration, Instant};

/// So many elements of a line come as they are.
pub const POINTS: u64 = 8192;
/// Stretches of an envelope.
const STRETCHES: usize = 4096;
/// Elements read for all lines together; beyond it only every n-th block is.
const MOST: u64 = 64 << 20;
/// Elements read at a time.
const BLOCK: u64 = 1 << 18;
/// Longer lines are looked at in a few places first.
pub const LONG: u64 = 4 << 20;
/// In so many places,
const PLACES: u64 = 512;
/// and so many elements at each.
const LOOK: u64 = 256;
/// Between two pictures of what there is so far.
const PAUSE: Duration = Duration::from_millis(100);

/// Which lines: rows (or columns) of a slice, from an element on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LineRequest {
    /// Of which slice.
    pub slice: Slice,
    /// Whether lines are columns; else rows.
    pub down: bool,
    /// Which of them.
    pub picks: Vec<u64>,
    /// What of complex numbers.
    pub part: ComplexPart,
    /// The first element along them.
    pub from: u64,
    /// How many.
    pub count: u64,
}

/// The values of a line.
#[derive(Clone, Default)]
pub struct LineValues {
    /// The row (or column) of the slice.
    pub pick: u64,
    /// `row 3`, by the index in the array.
    pub name: String,
    /// x, least, largest; where both are equal it is a point.
    pub extremes: Vec<[f64; 3]>,
    /// Whether these are the extremes of stretches and not all values.
    pub envelope: bool,
    /// Whether only a part of the elements was read.
    pub sampled: bool,
    /// Elements that were asked for.
    looked: u64,
    /// What of them could not be read, and where.
    unread: Option<Unread>,
    holes: Vec<Span>,
}

impl LineValues {
    /// The same with places on the x axis instead of positions.
    pub fn placed(&self, positions: &LinePositions) -> LineValues {
        let place = |stretch: &[f64; 3]| [positions.at(stretch[0]), stretch[1], stretch[2]];
        LineValues { extremes: self.extremes.iter().map(place).collect(), ..self.clone() }
    }

    /// Why this element of the line could not be read, if it could not.
    pub fn hole(&self, at: u64) -> Option<&Unread> {
        // The holes stand in the order of the line.
        let next = self.holes.partition_point(|hole| hole.end() <= at);
        self.unread.as_ref().filter(|_| self.holes.get(next).is_some_and(|hole| hole.start <= at))
    }
}

/// What of all lines could not be read.
pub fn unread(curves: &[LineValues]) -> Option<Unread> {
    let mut all = None;
    for unread in curves.iter().filter_map(|curve| curve.unread.as_ref()) {
        Unread::add(&mut all, unread.count, &unread.error);
    }
    all
}

impl LineRequest {
    /// Reads the lines; `publish` is given what there is while more is read.
    ///
    /// # Errors
    /// What the array says, where nothing of the lines can be read; `Cancelled`.
    pub fn read(
        &self,
        array: &dyn Array,
        task: &Task,
        publish: &mut dyn FnMut(Vec<LineValues>),
    ) -> Result<Vec<LineValues>> {
        task.set_total(self.count.saturating_mul(self.picks.len() as u64));
        let mut curves = Vec::new();
        let mut last = Instant::now();
        for &pick in &self.picks {
            let curve = self.curve(array, task, pick, &mut |part: &[[f64; 3]], finer: &[[f64; 3]]| {
                if last.elapsed() < PAUSE {
                    return;
                }
                // The rough line, and over its beginning the finer one.
                let reached = finer.last().map_or(f64::NEG_INFINITY, |stretch| stretch[0]);
                let mut extremes = finer.to_vec();
                extremes.extend(part.iter().filter(|stretch| stretch[0] > reached));
                let mut so_far: Vec<LineValues> = curves.clone();
                so_far.push(LineValues { extremes, envelope: true, sampled: true, ..self.empty(pick) });
                publish(so_far);
                last = Instant::now();
            })?;
            curves.push(curve);
        }
        match unread(&curves) {
            Some(unread) if unread.count >= curves.iter().map(|curve| curve.looked).sum::<u64>() => {
                Err(unread.error)
            }
            _ => Ok(curves),
        }
    }

    fn empty(&self, pick: u64) -> LineValues {
        let name = match (self.down, self.slice.rows, self.slice.columns) {
            (true, _, None) | (false, None, _) => "values".to_owned(),
            (true, _, columns) => format!("column {}", self.slice.along(columns, pick)),
            (false, rows, _) => format!("row {}", self.slice.along(rows, pick)),
        };
        LineValues { pick, name, envelope: self.count > POINTS, ..LineValues::default() }
    }

    fn curve(
        &self,
        array: &dyn Array,
        task: &Task,
        pick: u64,
        publish: &mut dyn FnMut(&[[f64; 3]], &[[f64; 3]]),
    ) -> Result<LineValues> {
        let mut curve = self.empty(pick);
        if !curve.envelope {
            let values = self.values(array, task, &mut curve, self.from, self.count)?;
            let points = values.iter().enumerate().map(|(n, &v)| [(self.from + n as u64) as f64, v, v]);
            curve.extremes = points.collect();
            return Ok(curve);
        }
        let rough = match self.count > LONG {
            true => self.rough(array, task, pick, publish)?,
            false => Vec::new(),
        };
        let stretch = self.count.div_ceil(STRETCHES as u64);
        // Of a very long line each stretch is looked at in part, at its beginning.
        let share = (MOST / self.picks.len().max(1) as u64 / STRETCHES as u64).max(1);
        let looked = stretch.min(share);
        curve.sampled = looked < stretch;
        let together = if curve.sampled { 1 } else { (BLOCK / stretch).max(1) };
        let mut at = 0;
        while at < self.count {
            let end = (at + stretch * together).min(self.count);
            let count = if curve.sampled { looked.min(end - at) } else { end - at };
            let values = self.values(array, task, &mut curve, self.from + at, count)?;
            for (n, part) in values.chunks(stretch as usize).enumerate() {
                let x = (self.from + at + n as u64 * stretch) as f64 + (stretch - 1) as f64 / 2.0;
                curve.extremes.push(ends(x, part));
            }
            task.advance(end - at)?;
            at = end;
            publish(&rough, &curve.extremes);
        }
        Ok(curve)
    }

    /// The line in a few places, far apart first, so that all of it is seen at once.
    fn rough(
        &self,
        array: &dyn Array,
        task: &Task,
        pick: u64,
        publish: &mut dyn FnMut(&[[f64; 3]], &[[f64; 3]]),
    ) -> Result<Vec<[f64; 3]>> {
        let mut found: Vec<[f64; 3]> = Vec::new();
        let mut curve = self.empty(pick);
        let gap = self.count / PLACES;
        let bits = PLACES.trailing_zeros();
        for n in 0..PLACES {
            task.check()?;
            let place = n.reverse_bits() >> (64 - bits);
            let at = self.from + place * gap;
            let values = self.values(array, task, &mut curve, at, LOOK.min(gap).max(1))?;
            let stretch = ends((at + gap / 2) as f64, &values);
            let slot = found.partition_point(|other| other[0] < stretch[0]);
            found.insert(slot, stretch);
            publish(&found, &[]);
        }
        Ok(found)
    }

    /// A part of a line; NaN for what could not be read, which the curve counts.
    fn values(
        &self,
        array: &dyn Array,
        task: &Task,
        curve: &mut LineValues,
        from: u64,
        count: u64,
    ) -> Result<Vec<f64>> {
        let (one, many) = (Span::range(curve.pick, 1), Span::range(from, count));
        let window =
            if self.down { Window { rows: many, columns: one } } else { Window { rows: one, columns: many } };
        let (raw, gaps) = self.slice.read_lenient(array, task, &window)?;
        let mut values = numbers(array.dtype(), self.part, &raw);
        curve.looked += count;
        if !gaps.is_empty() {
            let gaps = Gaps::new(&gaps, &window, 1);
            for (n, value) in values.iter_mut().enumerate() {
                let Some(error) = gaps.at(n) else { continue };
                *value = f64::NAN;
                Unread::add(&mut curve.unread, 1, error);
                let at = from + n as u64;
                match curve.holes.last_mut().filter(|hole| hole.end() == at) {
                    Some(hole) => hole.count += 1,
                    None => curve.holes.push(Span::range(at, 1)),
                }
            }
        }
        Ok(values)
    }
}

/// The least and the largest finite value of a stretch, at its place.
fn ends(x: f64, values: &[f64]) -> [f64; 3] {
    let finite = values.iter().filter(|value| value.is_finite());
    let ends = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    if ends.0 <= ends.1 { [x, ends.0, ends.1] } else { [x, f64::NAN, f64::NAN] }
}

#[cfg(test)]
mod tests {
    use crate::bytes::error::Error;
    use crate::bytes::source::Source;
    use crate::data::content::array::{MissingRegion, Plain};
    use crate::data::dtype::DType;
    use crate::data::region::Region;

    use super::*;

    #[test]
    fn envelopes_hold_every_extreme() {
        let mut values: Vec<f32> = (0..100_000).map(|n| (n as f32 * 0.01).sin()).collect();
        (values[5], values[54_321], values[99_999]) = (9.0, -7.0, 4.0);
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let array = Plain::new(Source::memory("a", bytes), 0, DType::F32, vec![100_000]).unwrap();
        let slice = Slice { spans: vec![Span::all(100_000)], rows: None, columns: Some(0), channels: None };
        let key = LineRequest {
            slice,
            down: false,
            picks: vec![0],
            part: ComplexPart::Real,
            from: 0,
            count: 100_000,
        };
        let curves = key.read(&array, &Task::new(), &mut |_| {}).unwrap();
        let curve = &curves[0];
        assert!(curve.envelope && !curve.sampled && curve.extremes.len() <= STRETCHES);
        let low = curve.extremes.iter().map(|s| s[1]).fold(f64::INFINITY, f64::min);
        let high = curve.extremes.iter().map(|s| s[2]).fold(f64::NEG_INFINITY, f64::max);
        assert_eq!((low, high, curve.extremes.last().unwrap()[2]), (-7.0, 9.0, 4.0));
        // Few points come as they are.
        let key = LineRequest { from: 99_990, count: 10, ..key };
        let curves = key.read(&array, &Task::new(), &mut |_| {}).unwrap();
        assert_eq!((curves[0].envelope, curves[0].extremes[9]), (false, [99_999.0, 4.0, 4.0]));
    }

    /// A line of which the elements from 4 to 8 cannot be read; in one piece, where all of it is wanted.
    struct Torn(Plain);

    impl Array for Torn {
        fn dtype(&self) -> &DType {
            self.0.dtype()
        }

        fn shape(&self) -> &[u64] {
            self.0.shape()
        }

        fn read(&self, _: &Task, _: &Region, _: &mut [u8]) -> Result<()> {
            Err(Error::io("the disk is gone"))
        }

        fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
            self.0.read(task, region, out)?;
            let span = region.0[0];
            let (start, end) = (span.start.max(4), span.end().min(8));
            let part = Region(vec![Span::range(start - span.start, end.saturating_sub(start))]);
            Ok(if start < end {
                vec![MissingRegion { part, error: Error::io("the disk is gone") }]
            } else {
                Vec::new()
            })
        }
    }

    #[test]
    fn a_line_goes_on_around_what_cannot_be_read() {
        let bytes: Vec<u8> = (0..20u8).collect();
        let torn = Torn(Plain::new(Source::memory("a", bytes), 0, DType::U8, vec![20]).unwrap());
        let slice = Slice { spans: vec![Span::all(20)], rows: None, columns: Some(0), channels: None };
        let key =
            LineRequest { slice, down: false, picks: vec![0], part: ComplexPart::Real, from: 2, count: 18 };
        let curves = key.read(&torn, &Task::new(), &mut |_| {}).unwrap();
        let curve = &curves[0];
        assert_eq!(curve.extremes[1], [3.0, 3.0, 3.0]);
        assert!(curve.extremes[2][1].is_nan() && curve.extremes[5][1].is_nan());
        assert_eq!(curve.extremes[6], [8.0, 8.0, 8.0]);
        assert!(curve.hole(3).is_none() && curve.hole(4).is_some() && curve.hole(8).is_none());
        assert_eq!(unread(&curves).unwrap().to_string(), "4 elements could not be read: the disk is gone");
        // Nothing but what cannot be read is an error.
        let key = LineRequest { from: 5, count: 2, ..key };
        assert!(key.read(&torn, &Task::new(), &mut |_| {}).is_err());
    }
}
