//! The next NaN, infinity or missing value of an array: what lies behind (or before) a place of a slice is looked through, then the
//! other slices, one by one round the array until this one comes again.

use super::{Gaps, Mapping};
use crate::bytes::error::Result;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::Scaling;
use crate::data::numbers::{ComplexPart, NonFinite, numbers};
use crate::data::stats::Unread;

/// What is looked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Sought {
    /// A value that is not finite.
    NonFinite(NonFinite),
    /// A stored value that stands for nothing: the fill value, or one outside of what is valid.
    Missing(Scaling),
}

impl Sought {
    /// The word on the screen.
    pub fn word(&self) -> &'static str {
        match self {
            Sought::NonFinite(kind) => kind.word(),
            Sought::Missing(_) => "missing value",
        }
    }

    fn fits(&self, value: f64) -> bool {
        match self {
            Sought::NonFinite(kind) => NonFinite::of(value) == Some(*kind),
            Sought::Missing(scaling) => !value.is_nan() && scaling.apply(value).is_nan(),
        }
    }
}

impl From<NonFinite> for Sought {
    fn from(kind: NonFinite) -> Self {
        Sought::NonFinite(kind)
    }
}

/// What is looked for, and from where.
#[derive(Clone, Debug, PartialEq)]
pub struct NonFiniteSearch {
    /// The slice to begin with, and the axes through the others.
    pub mapping: Mapping,
    /// What of complex numbers.
    pub part: ComplexPart,
    /// What is looked for.
    pub kind: Sought,
    /// Whether to the end; else to the beginning.
    pub forward: bool,
    /// From where in the first slice.
    pub from: SearchFrom,
}

/// What of the first slice is looked through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchFrom {
    /// Nothing: it is known that there is none in this direction.
    Nothing,
    /// All of it.
    All,
    /// What lies behind (or before) this row and column; after all other slices also the rest.
    Place(u64, u64),
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct SearchResult {
    /// The full index of an element; `None` where there is none.
    pub place: Option<Vec<u64>>,
    /// What could not be looked at.
    pub unread: Option<Unread>,
}

impl NonFiniteSearch {
    /// Searches.
    ///
    /// # Errors
    /// `Cancelled`, and what concerns all of the array; parts that cannot be read are counted.
    pub fn find(&self, array: &dyn Array, task: &Task) -> Result<SearchResult> {
        let mut mapping = self.mapping.clone();
        let axes = mapping.others(false);
        let lengths: Vec<u64> = axes.iter().filter_map(|&axis| mapping.shape().get(axis).copied()).collect();
        let count = lengths.iter().fold(1u64, |product, &len| product.saturating_mul(len.max(1)));
        let here = axes.iter().zip(&lengths).fold(0u64, |flat, (&axis, &len)| {
            flat.saturating_mul(len.max(1)).saturating_add(mapping.position(axis))
        });
        let (first, last) = match self.from {
            SearchFrom::Nothing => (None, None),
            SearchFrom::All => (Some((0, None)), None),
            SearchFrom::Place(row, column) => (Some((0, Some((row, column)))), Some((0, None))),
        };
        task.set_total(count);
        let mut result = SearchResult::default();
        for (n, from) in first.into_iter().chain((1..count).map(|n| (n, None))).chain(last) {
            let flat = if self.forward { (here + n) % count } else { (here + count - n) % count };
            for (&axis, at) in axes.iter().zip(strides::unravel(flat, &lengths)) {
                mapping.set_position(axis, at);
            }
            result.place = self.find_in(array, task, &mapping, from, &mut result.unread)?;
            if result.place.is_some() {
                break;
            }
            task.advance(1)?;
        }
        Ok(result)
    }

    /// The first (or last) one in a slice, in the order of rows; behind (or before) a place, where there is one.
    fn find_in(
        &self,
        array: &dyn Array,
        task: &Task,
        mapping: &Mapping,
        from: Option<(u64, u64)>,
        unread: &mut Option<Unread>,
    ) -> Result<Option<Vec<u64>>> {
        let slice = mapping.slice(false);
        // Bands come in the order of rows too: the first hit ends the search.
        let mut windows = slice.bands(array.dtype().size());
        let beyond = |place: (u64, u64)| {
            from.is_none_or(|from| if self.forward { place > from } else { place < from })
        };
        while let Some(window) = if self.forward { windows.next() } else { windows.next_back() } {
            task.check()?;
            let first = (window.rows.start, window.columns.start);
            let last = (window.rows.end().saturating_sub(1), window.columns.end().saturating_sub(1));
            if !beyond(if self.forward { last } else { first }) {
                continue;
            }
            let (raw, list) = slice.read_lenient(array, task, &window)?;
            let values = numbers(array.dtype(), self.part, &raw);
            let gaps = Gaps::new(&list, &window, 1);
            let width = window.columns.count.max(1);
            let place =
                |n: usize| (window.rows.index(n as u64 / width), window.columns.index(n as u64 % width));
            let hit = |(n, value): &(usize, &f64)| {
                self.kind.fits(**value) && beyond(place(*n)) && gaps.at(*n).is_none()
            };
            let mut each = values.iter().enumerate();
            let found = if self.forward { each.find(hit) } else { each.rev().find(hit) };
            if let Some((row, column)) = found.map(|(n, _)| place(n)) {
                return Ok(Some(slice.index(row, column)));
            }
            // What is looked through in two parts is counted with the second.
            if from.is_none() && !list.is_empty() {
                (0..values.len()).filter_map(|n| gaps.at(n)).for_each(|error| Unread::add(unread, 1, error));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;

    use super::*;

    fn floats(values: &[f32], shape: &[u64]) -> Plain {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Plain::new(Source::memory("a", bytes), 0, DType::F32, shape.to_vec()).unwrap()
    }

    #[test]
    fn round_the_array_in_both_directions() {
        let mut values = vec![0f32; 5 * 3 * 4];
        (values[2 * 12 + 5], values[2 * 12 + 9], values[4 * 12]) = (f32::NAN, f32::NAN, f32::INFINITY);
        let array = floats(&values, &[5, 3, 4]);
        let search = |at: u64, kind, forward, from| {
            let mut mapping = Mapping::new(&[5, 3, 4]);
            mapping.set_position(0, at);
            let kind = Sought::from(kind);
            let search = NonFiniteSearch { mapping, part: ComplexPart::Real, kind, forward, from };
            search.find(&array, &Task::new()).unwrap().place
        };
        let others = |at, kind, forward| search(at, kind, forward, SearchFrom::Nothing);
        assert_eq!(others(0, NonFinite::Nan, true), Some(vec![2, 1, 1]));
        assert_eq!(others(0, NonFinite::Nan, false), Some(vec![2, 2, 1]));
        assert_eq!(others(4, NonFinite::Nan, true), Some(vec![2, 1, 1]));
        assert_eq!(others(2, NonFinite::Nan, true), None);
        assert_eq!(others(1, NonFinite::PositiveInfinity, false), Some(vec![4, 0, 0]));
        assert_eq!(others(1, NonFinite::NegativeInfinity, true), None);
        // In this slice from a place on, round the others, and at last before the place.
        assert_eq!(search(2, NonFinite::Nan, true, SearchFrom::Place(1, 1)), Some(vec![2, 2, 1]));
        assert_eq!(search(2, NonFinite::Nan, true, SearchFrom::Place(2, 1)), Some(vec![2, 1, 1]));
        assert_eq!(search(2, NonFinite::Nan, false, SearchFrom::Place(2, 1)), Some(vec![2, 1, 1]));
        assert_eq!(
            search(2, NonFinite::PositiveInfinity, true, SearchFrom::Place(0, 0)),
            Some(vec![4, 0, 0])
        );
        assert_eq!(search(2, NonFinite::Nan, false, SearchFrom::All), Some(vec![2, 2, 1]));
        assert_eq!(search(2, NonFinite::NegativeInfinity, true, SearchFrom::All), None);
    }

    #[test]
    fn missing_values_are_found_as_they_are_stored() {
        let array = floats(&[1.0, -999.0, 2.0, 70.0, f32::NAN, 3.0], &[2, 3]);
        let scaling = Scaling { scale: 0.5, offset: 1.0, fill: vec![-999.0], valid: Some((-1e4, 50.0)) };
        let next = |row, column| {
            let (mapping, from) = (Mapping::new(&[2, 3]), SearchFrom::Place(row, column));
            let kind = Sought::Missing(scaling.clone());
            let search = NonFiniteSearch { mapping, part: ComplexPart::Real, kind, forward: true, from };
            search.find(&array, &Task::new()).unwrap().place
        };
        assert_eq!(next(0, 0), Some(vec![0, 1]));
        // Beyond what is valid; a NaN is no missing value but itself.
        assert_eq!(next(0, 1), Some(vec![1, 0]));
        assert_eq!(next(1, 0), Some(vec![0, 1]));
    }

    #[test]
    fn every_nan_of_a_large_mask_is_reached_one_after_the_other() {
        // Several bands of rows, and nothing but NaN beyond the first half.
        let (height, width) = (3000u64, 1000u64);
        let first = height * width / 2;
        let values: Vec<f32> = (0..height * width).map(|n| if n < first { 1.0 } else { f32::NAN }).collect();
        let array = floats(&values, &[height, width]);
        let next = |row, column, forward| {
            let mapping = Mapping::new(&[height, width]);
            let from = SearchFrom::Place(row, column);
            let search = NonFiniteSearch {
                mapping,
                part: ComplexPart::Real,
                kind: NonFinite::Nan.into(),
                forward,
                from,
            };
            search.find(&array, &Task::new()).unwrap().place.unwrap()
        };
        assert_eq!(next(0, 0, true), [1500, 0]);
        assert_eq!(next(2000, 999, true), [2001, 0]);
        assert_eq!(next(2999, 999, true), [1500, 0]);
        assert_eq!(next(1500, 0, false), [2999, 999]);
        assert_eq!(next(2048, 0, false), [2047, 999]);
    }
}
