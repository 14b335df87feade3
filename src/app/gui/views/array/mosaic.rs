//! A window of a slice, read tile by tile, coarse first: of a huge array something stands on the screen after
//! the first few tiles, and what follows refines it. Tiles are whole chunks, where the array has chunks, so
//! that each is decoded once; one that is broken leaves a hole and hides nothing else.

use std::time::{Duration, Instant};

use gander::content::Array;
use gander::error::{Error, Result};
use gander::region::Span;
use gander::task::Task;

use super::slice::{Slice, Window};
use super::values::{Part, Plane, Tally, numbers};

/// Windows that touch at most so many bytes are read at once.
const AT_ONCE: u64 = 16 << 20;
/// A tile touches about so many bytes, if chunks are smaller.
const TILE: u64 = 2 << 20;
/// Tiles each way of the coarsest level.
const COARSEST: usize = 8;
/// When the first picture of what is there is given away; each later one takes twice as long.
const FIRST: Duration = Duration::from_millis(80);
/// The longest time between two pictures.
const LATEST: Duration = Duration::from_millis(1200);
/// Values of a plane from which percentiles are taken.
const SAMPLE: u64 = 1 << 15;
/// After so many tiles that failed, and none that did not, the rest is not tried.
const GIVE_UP: usize = 4;

/// How a window is cut into tiles: the first sample of each, and the end.
#[derive(Debug, PartialEq)]
struct Cut {
    rows: Vec<u64>,
    columns: Vec<u64>,
}

/// Whether a window is read at once: then it is worth to be read ahead.
pub(super) fn is_cheap(array: &dyn Array, slice: &Slice, window: &Window) -> bool {
    Cut::of(array, slice, window).tiles() == 1
}

/// Reads a window. `publish` is given what there is while more is read.
///
/// # Errors
/// What the array says, where nothing of the window can be read; `Cancelled`.
pub(super) fn read(
    array: &dyn Array,
    task: &Task,
    slice: &Slice,
    window: Window,
    part: Part,
    publish: &mut dyn FnMut(Plane),
) -> Result<Plane> {
    let mut cut = Cut::of(array, slice, &window);
    let mut mosaic = Mosaic::new(array, slice, window, part);
    if cut.tiles() == 1 {
        match mosaic.all(task) {
            Ok(plane) => return Ok(plane),
            Err(error) if error.is_cancelled() => return Err(error),
            // One broken chunk among several: the others are shown.
            Err(error) => {
                cut = Cut::by_chunks(array, slice, &window, 1, 1);
                if cut.tiles() == 1 {
                    return Err(error);
                }
            }
        }
    }
    mosaic.by_tiles(task, &cut, publish)
}

impl Cut {
    fn tiles(&self) -> usize {
        self.down() * self.across()
    }

    fn down(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    fn across(&self) -> usize {
        self.columns.len().saturating_sub(1)
    }

    fn of(array: &dyn Array, slice: &Slice, window: &Window) -> Self {
        let whole = Cut { rows: vec![0, window.rows.count], columns: vec![0, window.columns.count] };
        let size = array.dtype().size().max(1).saturating_mul(slice.depth().max(1));
        // Small windows need no look at how the array is stored.
        let extent = |span: &Span, axis| (span.end() - span.start).saturating_mul(slice.step(axis));
        let (height, width) = (extent(&window.rows, slice.rows), extent(&window.columns, slice.columns));
        if height.saturating_mul(width).saturating_mul(size) <= AT_ONCE {
            return whole;
        }
        if array.facts().chunks.is_some_and(|chunks| chunks.len() == slice.spans.len()) {
            return Cut::by_chunks(array, slice, window, TILE, AT_ONCE);
        }
        // Stored row by row: whole runs along the faster axis are touched, steps or not.
        let across = slice.columns >= slice.rows;
        let (run, lines) = if across { (width, window.rows.count) } else { (height, window.columns.count) };
        let line = run.saturating_mul(size).max(1);
        if lines.saturating_mul(line) <= AT_ONCE {
            return whole;
        }
        let each = (TILE / line).max(lines.div_ceil(512)).max(1);
        let cuts = (0..lines).step_by(each as usize).chain([lines]).collect();
        match across {
            true => Cut { rows: cuts, ..whole },
            false => Cut { columns: cuts, ..whole },
        }
    }

    /// Along the limits of chunks; several together where they are small.
    fn by_chunks(array: &dyn Array, slice: &Slice, window: &Window, tile: u64, at_once: u64) -> Self {
        let whole = Cut { rows: vec![0, window.rows.count], columns: vec![0, window.columns.count] };
        let facts = array.facts();
        let Some(chunks) = facts.chunks.filter(|chunks| chunks.len() == slice.spans.len()) else {
            return whole;
        };
        let bytes = chunks.iter().fold(array.dtype().size().max(1), |bytes, &len| bytes.saturating_mul(len));
        let of = |axis: Option<usize>| axis.map_or(u64::MAX, |axis| chunks[axis].max(1));
        let touched = |span: &Span, axis: Option<usize>| {
            let step = span.step.saturating_mul(slice.step(axis));
            let extent = span.count.saturating_mul(step);
            extent.div_ceil(of(axis).max(step)).max(1)
        };
        let (down, across) = (touched(&window.rows, slice.rows), touched(&window.columns, slice.columns));
        if down.saturating_mul(across).saturating_mul(bytes) <= at_once {
            return whole;
        }
        // As many chunks together as make a tile that is worth a read.
        let (mut rows, mut columns) = (1u64, 1u64);
        while rows * columns * bytes < tile && (rows < down || columns < across) {
            if columns <= rows && columns < across || rows >= down { columns *= 2 } else { rows *= 2 }
        }
        let group = |axis: Option<usize>, many: u64| of(axis).saturating_mul(many);
        Cut {
            rows: limits(slice, slice.rows, &window.rows, group(slice.rows, rows)),
            columns: limits(slice, slice.columns, &window.columns, group(slice.columns, columns)),
        }
    }

    /// The tiles, coarse levels first.
    fn order(&self) -> Vec<(usize, usize)> {
        let (down, across) = (self.down(), self.across());
        let mut step = 1;
        while down.div_ceil(step) > COARSEST || across.div_ceil(step) > COARSEST {
            step *= 2;
        }
        let mut order = Vec::with_capacity(down * across);
        let mut coarser = usize::MAX;
        while step > 0 {
            for row in (0..down).step_by(step) {
                for column in (0..across).step_by(step) {
                    let done = row.is_multiple_of(coarser) && column.is_multiple_of(coarser);
                    // At the coarsest level nothing is done, also not tile (0, 0).
                    if !done || coarser == usize::MAX {
                        order.push((row, column));
                    }
                }
            }
            coarser = step;
            step /= 2;
        }
        order
    }

    /// A tile as a window of samples.
    fn tile(&self, (row, column): (usize, usize)) -> Window {
        let span = |cuts: &[u64], n: usize| Span::range(cuts[n], cuts[n + 1] - cuts[n]);
        Window { rows: span(&self.rows, row), columns: span(&self.columns, column) }
    }
}

/// The first sample of each group of chunks along an axis, and the end. At most 512 tiles.
fn limits(slice: &Slice, axis: Option<usize>, span: &Span, group: u64) -> Vec<u64> {
    let first = slice.along(axis, span.start);
    let step = span.step.saturating_mul(slice.step(axis)).max(1);
    let mut group = group;
    while (span.count.saturating_mul(step) / group.max(1)) > 512 {
        group = group.saturating_mul(2);
    }
    let mut cuts = vec![0];
    let mut next = (first / group).saturating_add(1).saturating_mul(group);
    while let Some(sample) = next.checked_sub(first).map(|gap| gap.div_ceil(step)) {
        if sample >= span.count {
            break;
        }
        if cuts.last() != Some(&sample) {
            cuts.push(sample);
        }
        let Some(after) = next.checked_add(group) else { break };
        next = after;
    }
    cuts.push(span.count);
    cuts
}

/// A plane in the making.
struct Mosaic<'a> {
    array: &'a dyn Array,
    slice: &'a Slice,
    window: Window,
    part: Part,
    /// Bytes of an element with all its channels.
    size: usize,
    raw: Vec<u8>,
    tally: Tally,
    holes: Vec<Window>,
    error: Option<Error>,
}

impl<'a> Mosaic<'a> {
    fn new(array: &'a dyn Array, slice: &'a Slice, window: Window, part: Part) -> Self {
        let values = window.elements().saturating_mul(slice.depth());
        let size = (array.dtype().size() as usize).saturating_mul(slice.depth() as usize);
        let tally = Tally::new(values, SAMPLE);
        Mosaic { array, slice, window, part, size, raw: Vec::new(), tally, holes: Vec::new(), error: None }
    }

    /// Where odd values are is known of a plane that is the whole slice.
    fn places(&self) -> bool {
        self.window == self.slice.all() && self.slice.depth() == 1
    }

    fn all(&mut self, task: &Task) -> Result<Plane> {
        self.raw = self.slice.read(self.array, task, &self.window)?;
        let values = numbers(self.array.dtype(), self.part, &self.raw);
        let place = self.places().then_some(self.window);
        self.tally.add(&values, place);
        let raw = std::mem::take(&mut self.raw);
        Ok(self.plane(raw, 1.0))
    }

    fn plane(&self, raw: Vec<u8>, share: f32) -> Plane {
        let whole = self.window == self.slice.all() && share >= 1.0 && self.holes.is_empty();
        let survey = self.tally.clone().finish(whole);
        let mut plane = Plane::new(self.slice, self.window, self.array.dtype(), raw, survey);
        plane.share = share;
        plane.holes.clone_from(&self.holes);
        plane.error.clone_from(&self.error);
        plane
    }

    fn by_tiles(&mut self, task: &Task, cut: &Cut, publish: &mut dyn FnMut(Plane)) -> Result<Plane> {
        let bytes = (self.window.elements() as usize).saturating_mul(self.size);
        self.raw = gander::limits::zeroed(bytes, "a picture of the array")?;
        let order = cut.order();
        let mut there = vec![false; cut.tiles()];
        task.expect(order.len() as u64);
        let (mut started, mut patience) = (Instant::now(), FIRST);
        for (n, &at) in order.iter().enumerate() {
            task.check()?;
            let tile = cut.tile(at);
            match self.take(task, &tile) {
                Ok(()) => there[at.0 * cut.across() + at.1] = true,
                Err(error) if error.is_cancelled() => return Err(error),
                Err(error) => {
                    self.holes.push(tile);
                    let first = self.error.get_or_insert(error).clone();
                    let none = self.holes.len() == n + 1;
                    if none && (n + 1 == order.len() || n + 1 >= GIVE_UP) {
                        return Err(first);
                    }
                }
            }
            task.advance(1)?;
            if started.elapsed() >= patience && n + 1 < order.len() && n + 1 > self.holes.len() {
                let share = (n + 1) as f32 / order.len() as f32;
                publish(self.plane(self.filled(cut, &there), share.min(0.999)));
                patience = (patience * 2).min(LATEST);
                started = Instant::now();
            }
        }
        let raw = std::mem::take(&mut self.raw);
        Ok(self.plane(raw, 1.0))
    }

    /// Reads a tile into its place.
    fn take(&mut self, task: &Task, tile: &Window) -> Result<()> {
        let place = |outer: &Span, inner: &Span| Span {
            start: outer.index(inner.start),
            count: inner.count,
            step: outer.step,
        };
        let window = Window {
            rows: place(&self.window.rows, &tile.rows),
            columns: place(&self.window.columns, &tile.columns),
        };
        let raw = self.slice.read(self.array, task, &window)?;
        let values = numbers(self.array.dtype(), self.part, &raw);
        self.tally.add(&values, self.places().then_some(window));
        let line = tile.columns.count as usize * self.size;
        let whole = self.window.columns.count as usize * self.size;
        let left = tile.columns.start as usize * self.size;
        for (n, from) in raw.chunks_exact(line.max(1)).enumerate() {
            let at = (tile.rows.start as usize + n) * whole + left;
            self.raw[at..at + line].copy_from_slice(from);
        }
        Ok(())
    }

    /// The samples, where tiles are missing those of the next coarser tile that is there.
    fn filled(&self, cut: &Cut, there: &[bool]) -> Vec<u8> {
        let mut raw = self.raw.clone();
        let width = self.window.columns.count as usize;
        for row in 0..cut.down() {
            for column in 0..cut.across() {
                if there[row * cut.across() + column] {
                    continue;
                }
                let Some((i, j)) = above(cut, there, row, column) else { continue };
                let (to, from) = (cut.tile((row, column)), cut.tile((i, j)));
                let middle = |span: &Span| (span.start + span.count / 2) as usize;
                for y in to.rows.start as usize..to.rows.end() as usize {
                    let source = if i == row { y } else { middle(&from.rows) };
                    for x in to.columns.start as usize..to.columns.end() as usize {
                        let across = if j == column { x } else { middle(&from.columns) };
                        let (at, from) = ((y * width + x) * self.size, (source * width + across) * self.size);
                        raw[at..at + self.size].copy_from_slice(&self.raw[from..from + self.size]);
                    }
                }
            }
        }
        raw
    }
}

/// The tile of the next coarser level that is there, for one that is not.
fn above(cut: &Cut, there: &[bool], row: usize, column: usize) -> Option<(usize, usize)> {
    let mut step = 2;
    while step <= 2 * cut.down().max(cut.across()) {
        let (i, j) = (row / step * step, column / step * step);
        if there[i * cut.across() + j] {
            return Some((i, j));
        }
        step *= 2;
    }
    None
}
