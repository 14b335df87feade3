//! Slices that will probably be looked at next, read before they are asked for: those after this one in the
//! direction in which a slider moves. One background job at a time; it ends when the direction changes.

use std::sync::Arc;

use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::data::content::Array;
use gander::data::numbers::ComplexPart;
use gander::data::plane::tiles;
use gander::data::plane::{Slice, Window};
use gander::data::region::{Region, Span};
use gander::jobs::{JobSpec, Jobs, Slot};

use super::layer::{PlaneKey, Planes};

/// Slices that are read ahead.
const SLICES: u64 = 6;
/// Bytes of decoded chunks that are asked for ahead, at most.
const BYTES: u64 = 64 << 20;

/// Which way a slider moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heading {
    axis: usize,
    forward: bool,
}

/// Reads the slices before they are asked for, in the direction in which a slider moves.
#[derive(Default)]
pub(crate) struct Prefetcher {
    last: Option<Slice>,
    heading: Option<Heading>,
    /// Reads what follows a slice.
    reading: Slot<Slice, ()>,
}

/// What is read ahead.
pub(crate) struct Next<'a> {
    pub(crate) planes: &'a Planes,
    pub(crate) array: &'a Arc<dyn Array>,
    pub(crate) slice: &'a Slice,
    pub(crate) window: Window,
    pub(crate) part: ComplexPart,
}

impl Prefetcher {
    /// Follows the slices that are looked at; once this one is `there`, reads those behind it.
    pub(crate) fn follow(&mut self, jobs: &Jobs, next: &Next<'_>, there: bool) {
        let (window, planes, part) = (next.window, next.planes.clone(), next.part);
        self.follow_with(jobs, next.array, next.slice, window, there, move |array, task, slice| {
            let key: PlaneKey = (slice.clone(), window, part);
            if planes.get(&key).is_some() {
                return Ok(());
            }
            let plane = tiles::read(array, task, slice, window, part, &mut |_| {})?;
            planes.put(key, &Arc::new(plane));
            Ok(())
        });
    }

    /// The same for what is no picture: once the slice is `there`, `read` is given those behind it, one by one,
    /// and keeps what it makes of them. It reads a window of each.
    pub(super) fn follow_with(
        &mut self,
        jobs: &Jobs,
        array: &Arc<dyn Array>,
        slice: &Slice,
        window: Window,
        there: bool,
        read: impl Fn(&dyn Array, &Task, &Slice) -> Result<()> + Send + 'static,
    ) {
        if self.last.as_ref() != Some(slice) {
            let heading = self.last.as_ref().and_then(|last| heading(last, slice));
            if heading != self.heading {
                self.stop();
            }
            self.heading = heading;
            self.last = Some(slice.clone());
        }
        let Some(heading) = self.heading.filter(|_| there) else { return };
        if self.reading.is_busy() {
            return;
        }
        let slices = following(slice, heading, array.shape());
        if slices.is_empty() {
            return;
        }
        let array = array.clone();
        self.reading.get(jobs, slice, JobSpec::scan(""), move |task| {
            prefetch(&*array, task, &slices, heading.axis, &window);
            for slice in &slices {
                task.check()?;
                // A failure is reported when the slice itself is asked for.
                if !tiles::is_cheap(&*array, slice, &window) || read(&*array, task, slice).is_err() {
                    break;
                }
            }
            Ok(())
        });
    }

    /// Stops reading.
    pub(crate) fn stop(&self) {
        self.reading.clear();
    }
}

/// The one axis along which one slice lies behind the other.
fn heading(from: &Slice, to: &Slice) -> Option<Heading> {
    let same = (from.rows, from.columns, from.channels) == (to.rows, to.columns, to.channels);
    if !same || from.spans.len() != to.spans.len() {
        return None;
    }
    let mut moved = (0..to.spans.len()).filter(|&axis| from.spans[axis] != to.spans[axis]);
    let axis = moved.next().filter(|_| moved.next().is_none())?;
    let (before, after) = (from.spans[axis], to.spans[axis]);
    (before.count == 1 && after.count == 1).then_some(Heading { axis, forward: after.start > before.start })
}

/// The next slices, nearest first.
fn following(slice: &Slice, heading: Heading, shape: &[u64]) -> Vec<Slice> {
    let at = slice.spans[heading.axis].start;
    let len = shape.get(heading.axis).copied().unwrap_or(0);
    let place = |n: u64| match heading.forward {
        true => at.checked_add(n).filter(|&to| to < len),
        false => at.checked_sub(n),
    };
    let of = |to: u64| {
        let mut slice = slice.clone();
        slice.spans[heading.axis] = Span::range(to, 1);
        slice
    };
    (1..=SLICES).map_while(place).map(of).collect()
}

/// Decodes the chunks of all of them at once, where that is little.
fn prefetch(array: &dyn Array, task: &Task, slices: &[Slice], axis: usize, window: &Window) {
    let (Some(first), Some(last)) = (slices.first(), slices.last()) else { return };
    let (a, b) = (first.spans[axis].start, last.spans[axis].start);
    let mut region = first.region(window);
    region.0[axis] = Span::range(a.min(b), a.abs_diff(b) + 1);
    let bytes = whole(&region).elements().unwrap_or(u64::MAX).saturating_mul(array.dtype().size().max(1));
    if bytes <= BYTES {
        array.prefetch(task, &region);
    }
}

/// A region without its steps: what lies between is decoded too.
fn whole(region: &Region) -> Region {
    Region(region.0.iter().map(|span| Span::range(span.start, span.end() - span.start)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(at: u64, other: u64) -> Slice {
        let spans = vec![Span::range(at, 1), Span::range(other, 1), Span::all(4), Span::all(5)];
        Slice { spans, rows: Some(2), columns: Some(3), channels: None }
    }

    #[test]
    fn the_direction_is_that_of_the_slider() {
        let forward = heading(&slice(3, 0), &slice(4, 0)).unwrap();
        assert_eq!(forward, Heading { axis: 0, forward: true });
        assert_eq!(heading(&slice(3, 2), &slice(4, 3)), None);
        let next = following(&slice(8, 0), forward, &[10, 3, 4, 5]);
        assert_eq!(next, [slice(9, 0)]);
        let back = heading(&slice(3, 2), &slice(3, 1)).unwrap();
        assert_eq!(following(&slice(3, 1), back, &[10, 3, 4, 5]), [slice(3, 0)]);
        assert!(following(&slice(3, 0), back, &[10, 3, 4, 5]).is_empty());
    }
}
