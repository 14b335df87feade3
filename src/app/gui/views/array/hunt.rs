//! The way to the next NaN or Inf when what is known of the slice on the screen does not tell it: what lies
//! behind (or before) the place where one stands, then the other slices, one by one round the array until this
//! one comes again, are looked at in a job.

use std::sync::Arc;

use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::stats::Unread;
use gander::jobs::{Jobs, Slot};

use super::mapping::Mapping;
use super::values::{Gaps, Odd, Part, bands, numbers};

/// What is looked for, and from where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Prey {
    pub(super) mapping: Mapping,
    pub(super) part: Part,
    pub(super) kind: Odd,
    pub(super) forward: bool,
    pub(super) here: Here,
}

/// What of the slice on the screen is looked through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Here {
    /// Nothing: it is known that there is none in this direction.
    Nothing,
    /// All of it.
    All,
    /// What lies behind (or before) this row and column; after all other slices also the rest.
    From(u64, u64),
}

/// See the module.
#[derive(Default)]
pub(super) struct Hunt {
    prey: Option<Prey>,
    found: Slot<Prey, Track>,
}

/// What a hunt found: the full index of an element, and what could not be looked at.
#[derive(Clone, Debug, Default)]
struct Track {
    place: Option<Vec<u64>>,
    unread: Option<Unread>,
}

/// How a hunt ended.
pub(super) enum Ended {
    /// With the full index of an element.
    Found(Vec<u64>),
    /// There is none; in words.
    Nothing(String),
    /// It could not be read, or was stopped.
    Failed(gander::bytes::error::Error),
}

impl Hunt {
    /// Starts.
    pub(super) fn start(&mut self, prey: Prey) {
        self.found.clear();
        self.prey = Some(prey);
    }

    /// Stops.
    pub(super) fn stop(&mut self) {
        self.prey = None;
        self.found.cancel();
    }

    /// How it ended, once.
    pub(super) fn poll(&mut self, jobs: &Jobs, array: &Arc<dyn Array>, title: &str) -> Option<Ended> {
        let prey = self.prey.clone()?;
        let (array, wanted) = (array.clone(), prey.clone());
        let title = format!("looking for {} in {title}", prey.kind.word());
        let shown = self.found.get(jobs, &prey, &title, move |task| wanted.find(&*array, task));
        let ended = match (shown.value.filter(|_| shown.fresh), shown.error) {
            (Some(track), _) => match &track.place {
                Some(place) => Ended::Found(place.clone()),
                None => Ended::Nothing(prey.nothing(track.unread.as_ref())),
            },
            (None, Some(error)) => Ended::Failed(error),
            (None, None) => return None,
        };
        self.prey = None;
        Some(ended)
    }
}

impl Prey {
    /// That there is none, in words.
    fn nothing(&self, unread: Option<&Unread>) -> String {
        let kind = self.kind.word();
        let words = match self.here {
            Here::Nothing => format!("No other slice has a {kind}."),
            Here::All | Here::From(..) => format!("There is no {kind}."),
        };
        unread.map_or(words.clone(), |unread| format!("{words} {unread}"))
    }

    fn find(&self, array: &dyn Array, task: &Task) -> Result<Track> {
        let mut mapping = self.mapping.clone();
        let axes = mapping.others(false);
        let lengths: Vec<u64> = axes.iter().map(|&axis| mapping.shape()[axis]).collect();
        let count = lengths.iter().fold(1u64, |product, &len| product.saturating_mul(len.max(1)));
        let here = axes.iter().zip(&lengths).fold(0u64, |flat, (&axis, &len)| {
            flat.saturating_mul(len.max(1)).saturating_add(mapping.position(axis))
        });
        let (first, last) = match self.here {
            Here::Nothing => (None, None),
            Here::All => (Some((0, None)), None),
            Here::From(row, column) => (Some((0, Some((row, column)))), Some((0, None))),
        };
        task.set_total(count);
        let mut track = Track::default();
        for (n, from) in first.into_iter().chain((1..count).map(|n| (n, None))).chain(last) {
            let flat = if self.forward { (here + n) % count } else { (here + count - n) % count };
            let mut rest = flat;
            for (&axis, &len) in axes.iter().zip(&lengths).rev() {
                mapping.set_position(axis, rest % len.max(1));
                rest /= len.max(1);
            }
            track.place = self.find_in(array, task, &mapping, from, &mut track.unread)?;
            if track.place.is_some() {
                break;
            }
            task.advance(1)?;
        }
        Ok(track)
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
        let mut windows = bands(&slice, array.dtype().size());
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
            let hit = |n: &usize| {
                Odd::of(values[*n]) == Some(self.kind) && beyond(place(*n)) && gaps.at(*n).is_none()
            };
            let all = 0..values.len();
            let found = if self.forward { all.clone().find(hit) } else { all.clone().rev().find(hit) };
            if let Some((row, column)) = found.map(place) {
                return Ok(Some(slice.index(row, column)));
            }
            // What is looked through in two parts is counted with the second.
            if from.is_none() && !list.is_empty() {
                all.filter_map(|n| gaps.at(n)).for_each(|error| Unread::add(unread, 1, error));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use gander::bytes::source::Source;
    use gander::data::content::array::Plain;
    use gander::data::dtype::DType;

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
        let prey = |at: u64, kind, forward, here| {
            let mut mapping = Mapping::new(&[5, 3, 4]);
            mapping.set_position(0, at);
            let prey = Prey { mapping, part: Part::Real, kind, forward, here };
            prey.find(&array, &Task::new()).unwrap().place
        };
        let others = |at, kind, forward| prey(at, kind, forward, Here::Nothing);
        assert_eq!(others(0, Odd::Nan, true), Some(vec![2, 1, 1]));
        assert_eq!(others(0, Odd::Nan, false), Some(vec![2, 2, 1]));
        assert_eq!(others(4, Odd::Nan, true), Some(vec![2, 1, 1]));
        assert_eq!(others(2, Odd::Nan, true), None);
        assert_eq!(others(1, Odd::Plus, false), Some(vec![4, 0, 0]));
        assert_eq!(others(1, Odd::Minus, true), None);
        // In this slice from a place on, round the others, and at last before the place.
        assert_eq!(prey(2, Odd::Nan, true, Here::From(1, 1)), Some(vec![2, 2, 1]));
        assert_eq!(prey(2, Odd::Nan, true, Here::From(2, 1)), Some(vec![2, 1, 1]));
        assert_eq!(prey(2, Odd::Nan, false, Here::From(2, 1)), Some(vec![2, 1, 1]));
        assert_eq!(prey(2, Odd::Plus, true, Here::From(0, 0)), Some(vec![4, 0, 0]));
        assert_eq!(prey(2, Odd::Nan, false, Here::All), Some(vec![2, 2, 1]));
        assert_eq!(prey(2, Odd::Minus, true, Here::All), None);
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
            let here = Here::From(row, column);
            let prey = Prey { mapping, part: Part::Real, kind: Odd::Nan, forward, here };
            prey.find(&array, &Task::new()).unwrap().place.unwrap()
        };
        assert_eq!(next(0, 0, true), [1500, 0]);
        assert_eq!(next(2000, 999, true), [2001, 0]);
        assert_eq!(next(2999, 999, true), [1500, 0]);
        assert_eq!(next(1500, 0, false), [2999, 999]);
        assert_eq!(next(2048, 0, false), [2047, 999]);
    }
}
