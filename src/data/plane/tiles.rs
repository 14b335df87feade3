//! A window of a slice, read tile by tile, coarse first: of a huge array there is something to show after
//! the first few tiles, and what follows refines it. Tiles are whole chunks, where the array has chunks, so
//! that each is decoded once; one that is broken leaves a hole and hides nothing else.

use super::summary::SummaryBuilder;
use super::{Gaps, Plane, Slice, Window};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::numbers::{ComplexPart, numbers};
use crate::data::region::Span;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Windows that touch at most so many bytes are read at once.
const AT_ONCE: u64 = 16 << 20;
/// A tile touches about so many bytes, if chunks are smaller.
const TILE: u64 = 2 << 20;
/// Tiles each way of the coarsest level.
const COARSEST: usize = 8;
/// When the first picture of what is there is given away; each later one takes twice as long.
const FIRST: Duration = Duration::from_millis(30);
/// The longest time between two pictures.
const LATEST: Duration = Duration::from_millis(1200);
/// Values of a plane from which percentiles are taken.
const SAMPLE: u64 = 1 << 15;
/// After so many tiles that failed, and none that did not, the rest is not tried.
const GIVE_UP: usize = 4;
/// Tiles that are read at a time.
const READERS: usize = 4;
/// An overview touches at most about so many bytes; what is left keeps the look of the coarser levels.
const MOST: u64 = 64 << 30;

/// How a window is cut into tiles: the first sample of each, and the end.
#[derive(Debug, PartialEq)]
struct Tiling {
    rows: Vec<u64>,
    columns: Vec<u64>,
    /// Bytes that a tile touches, about.
    bytes: u64,
}

/// Whether a window is worth to be read before it is asked for: it is not, where that takes seconds.
pub fn is_cheap(array: &dyn Array, slice: &Slice, window: &Window) -> bool {
    const MOST: u64 = 256 << 20;
    let tiling = Tiling::of(array, slice, window);
    tiling.bytes.saturating_mul(tiling.tiles() as u64) <= MOST
}

/// Reads a window. `publish` is given what there is while more is read.
///
/// # Errors
/// What the array says, where nothing of the window can be read; `Cancelled`.
pub fn read(
    array: &dyn Array,
    task: &Task,
    slice: &Slice,
    window: Window,
    part: ComplexPart,
    publish: &mut dyn FnMut(Plane),
) -> Result<Plane> {
    let mut tiling = Tiling::of(array, slice, &window);
    let mut tiled = TiledRead::new(array, slice, window, part);
    if tiling.tiles() == 1 {
        match tiled.all(task).unless_cancelled()? {
            Ok(plane) => return Ok(plane),
            // One broken chunk among several: the others are shown.
            Err(error) => {
                tiling = Tiling::by_chunks(array, slice, &window, 1, 1);
                if tiling.tiles() == 1 {
                    return Err(error);
                }
            }
        }
    }
    tiled.by_tiles(task, &tiling, publish)
}

impl Tiling {
    fn tiles(&self) -> usize {
        self.down() * self.across()
    }

    fn down(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    fn across(&self) -> usize {
        self.columns.len().saturating_sub(1)
    }

    fn whole(window: &Window) -> Self {
        Tiling { rows: vec![0, window.rows.count], columns: vec![0, window.columns.count], bytes: 0 }
    }

    fn of(array: &dyn Array, slice: &Slice, window: &Window) -> Self {
        let whole = Tiling::whole(window);
        let size = array.dtype().size().max(1).saturating_mul(slice.depth().max(1));
        if array.facts().chunks.is_some_and(|chunks| chunks.len() == slice.spans.len()) {
            return Tiling::by_chunks(array, slice, window, TILE, AT_ONCE);
        }
        let extent = |span: &Span, axis| (span.end() - span.start).saturating_mul(slice.step(axis));
        let (height, width) = (extent(&window.rows, slice.rows), extent(&window.columns, slice.columns));
        if height.saturating_mul(width).saturating_mul(size) <= AT_ONCE {
            return whole;
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
        let bytes = each.saturating_mul(line);
        match across {
            true => Tiling { rows: cuts, bytes, ..whole },
            false => Tiling { columns: cuts, bytes, ..whole },
        }
    }

    /// Along the limits of chunks; several together where they are small.
    fn by_chunks(array: &dyn Array, slice: &Slice, window: &Window, tile: u64, at_once: u64) -> Self {
        let whole = Tiling::whole(window);
        let facts = array.facts();
        let Some(chunks) = facts.chunks.filter(|chunks| chunks.len() == slice.spans.len()) else {
            return whole;
        };
        let bytes = chunks.iter().fold(array.dtype().size().max(1), |bytes, &len| bytes.saturating_mul(len));
        let of = |axis: Option<usize>| {
            axis.and_then(|axis| chunks.get(axis)).map_or(u64::MAX, |len| (*len).max(1))
        };
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
        Tiling {
            rows: chunk_limits(slice, slice.rows, &window.rows, group(slice.rows, rows)),
            columns: chunk_limits(slice, slice.columns, &window.columns, group(slice.columns, columns)),
            bytes: rows.saturating_mul(columns).saturating_mul(bytes),
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
        let span = |cuts: &[u64], n: usize| match cuts.get(n..) {
            Some([start, end, ..]) => Span::range(*start, end - start),
            _ => Span::range(0, 0),
        };
        Window { rows: span(&self.rows, row), columns: span(&self.columns, column) }
    }
}

/// The first sample of each group of chunks along an axis, and the end. At most 512 tiles.
fn chunk_limits(slice: &Slice, axis: Option<usize>, span: &Span, group: u64) -> Vec<u64> {
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

/// Samples, and the parts of them that could not be read.
type Read = (Vec<u8>, Vec<(Window, Error)>);

/// A plane in the making.
struct TiledRead<'a> {
    array: &'a dyn Array,
    slice: &'a Slice,
    window: Window,
    part: ComplexPart,
    /// Bytes of an element with all its channels.
    size: usize,
    raw: Vec<u8>,
    builder: SummaryBuilder,
    holes: Vec<Window>,
    error: Option<Error>,
}

impl<'a> TiledRead<'a> {
    fn new(array: &'a dyn Array, slice: &'a Slice, window: Window, part: ComplexPart) -> Self {
        let values = window.elements().saturating_mul(slice.depth());
        let size = (array.dtype().size() as usize).saturating_mul(slice.depth() as usize);
        let builder = SummaryBuilder::new(values, SAMPLE);
        TiledRead {
            array,
            slice,
            window,
            part,
            size,
            raw: Vec::new(),
            builder,
            holes: Vec::new(),
            error: None,
        }
    }

    /// Where non-finite values are is known of a plane that is the whole slice.
    fn places(&self) -> bool {
        self.window == self.slice.all() && self.slice.depth() == 1
    }

    fn all(&mut self, task: &Task) -> Result<Plane> {
        let (raw, gaps) = self.slice.read_lenient(self.array, task, &self.window)?;
        let whole =
            Window { rows: Span::all(self.window.rows.count), columns: Span::all(self.window.columns.count) };
        self.tell(&whole, &raw, gaps);
        Ok(self.plane(raw, 1.0))
    }

    /// Counts the values of a tile, without those in its gaps, which become holes.
    fn tell(&mut self, tile: &Window, raw: &[u8], gaps: Vec<(Window, Error)>) {
        let values = numbers(self.array.dtype(), self.part, raw);
        let place = self.places().then(|| self.outer(tile));
        self.builder.add_around(&values, &Gaps::new(&gaps, tile, self.slice.depth()), place);
        for (gap, error) in gaps {
            let shift = |span: &Span, by: u64| Span::range(span.start + by, span.end() - span.start);
            self.holes.push(Window {
                rows: shift(&gap.rows, tile.rows.start),
                columns: shift(&gap.columns, tile.columns.start),
            });
            self.error.get_or_insert(error);
        }
    }

    fn plane(&self, raw: Vec<u8>, share: f32) -> Plane {
        let whole = self.window == self.slice.all() && share >= 1.0;
        let summary = self.builder.clone().finish(whole);
        let mut plane = Plane::new(self.slice, self.window, self.array.dtype(), raw, summary);
        plane.share = share;
        plane.holes.clone_from(&self.holes);
        plane.error.clone_from(&self.error);
        plane
    }

    fn by_tiles(&mut self, task: &Task, tiling: &Tiling, publish: &mut dyn FnMut(Plane)) -> Result<Plane> {
        let bytes = (self.window.elements() as usize).saturating_mul(self.size);
        self.raw = limits::zeroed(bytes, "a picture of the array")?;
        let mut order = tiling.order();
        let most = usize::try_from(MOST / tiling.bytes.max(1)).unwrap_or(usize::MAX).max(64);
        order.truncate(most);
        let mut there = vec![false; tiling.tiles()];
        task.set_total(order.len() as u64);
        let (next, (send, come)) = (AtomicUsize::new(0), mpsc::sync_channel(2 * READERS));
        let windows: Vec<Window> = order.iter().map(|&at| self.outer(&tiling.tile(at))).collect();
        let (array, slice) = (self.array, self.slice);
        std::thread::scope(|scope| {
            let readers = std::thread::available_parallelism().map_or(1, usize::from).min(READERS);
            for _ in 0..readers.min(order.len()) {
                let (send, next, windows) = (send.clone(), &next, &windows);
                let read = move || loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(window) = windows.get(n).filter(|_| !task.is_cancelled()) else { return };
                    // A reader that panics ends this window's job, not the others.
                    let raw = crate::bytes::guard::guarded(|| slice.read_lenient(array, task, window));
                    if send.send((n, raw)).is_err() {
                        return;
                    }
                };
                std::thread::Builder::new().name("tiles".to_owned()).spawn_scoped(scope, read)?;
            }
            drop(send);
            let done = self.collect(task, tiling, &order, &mut there, &come, publish);
            // What is left is not read: nobody takes it.
            next.store(order.len(), Ordering::Relaxed);
            drop(come);
            done
        })?;
        if order.len() < tiling.tiles() {
            let share = order.len() as f32 / tiling.tiles() as f32;
            return Ok(self.plane(self.filled(tiling, &there), share.min(0.999)));
        }
        let raw = std::mem::take(&mut self.raw);
        Ok(self.plane(raw, 1.0))
    }

    /// Takes tiles as they come, and gives away what there is from time to time.
    fn collect(
        &mut self,
        task: &Task,
        tiling: &Tiling,
        order: &[(usize, usize)],
        there: &mut [bool],
        come: &mpsc::Receiver<(usize, Result<Read>)>,
        publish: &mut dyn FnMut(Plane),
    ) -> Result<()> {
        let (mut started, mut patience) = (Instant::now(), FIRST);
        let mut failed = 0;
        for n in 0..order.len() {
            task.check()?;
            let Ok((which, raw)) = come.recv() else {
                task.check()?;
                return Err(self.error.clone().unwrap_or_else(|| Error::bug("array: tiles are missing")));
            };
            let Some(&at) = order.get(which) else {
                return Err(Error::bug("array: no such tile was asked for"));
            };
            let tile = tiling.tile(at);
            match raw.unless_cancelled()? {
                Ok((raw, gaps)) => {
                    self.put(&tile, &raw, gaps);
                    if let Some(there) = there.get_mut(at.0 * tiling.across() + at.1) {
                        *there = true;
                    }
                }
                Err(error) => {
                    self.builder.miss(tile.elements().saturating_mul(self.slice.depth()), &error);
                    self.holes.push(tile);
                    failed += 1;
                    let first = self.error.get_or_insert(error).clone();
                    let none = failed == n + 1;
                    if none && (n + 1 == order.len() || n + 1 >= GIVE_UP) {
                        return Err(first);
                    }
                }
            }
            task.advance(1)?;
            if started.elapsed() >= patience && n + 1 < order.len() && n + 1 > failed {
                let share = (n + 1) as f32 / tiling.tiles() as f32;
                publish(self.plane(self.filled(tiling, there), share.min(0.999)));
                patience = (patience * 2).min(LATEST);
                started = Instant::now();
            }
        }
        Ok(())
    }

    /// The window of the slice that a tile is.
    fn outer(&self, tile: &Window) -> Window {
        let place = |outer: &Span, inner: &Span| Span {
            start: outer.index(inner.start),
            count: inner.count,
            step: outer.step,
        };
        Window {
            rows: place(&self.window.rows, &tile.rows),
            columns: place(&self.window.columns, &tile.columns),
        }
    }

    /// Puts a tile into its place.
    fn put(&mut self, tile: &Window, raw: &[u8], gaps: Vec<(Window, Error)>) {
        self.tell(tile, raw, gaps);
        let line = tile.columns.count as usize * self.size;
        let whole = self.window.columns.count as usize * self.size;
        let left = tile.columns.start as usize * self.size;
        for (n, from) in raw.chunks_exact(line.max(1)).enumerate() {
            let at = (tile.rows.start as usize + n) * whole + left;
            if let Some(to) = self.raw.get_mut(at..at + line) {
                to.copy_from_slice(from);
            }
        }
    }

    /// The samples, where tiles are missing those of the next coarser tile that is there.
    fn filled(&self, tiling: &Tiling, there: &[bool]) -> Vec<u8> {
        let mut raw = self.raw.clone();
        let width = self.window.columns.count as usize;
        for row in 0..tiling.down() {
            for column in 0..tiling.across() {
                if there.get(row * tiling.across() + column) == Some(&true) {
                    continue;
                }
                let Some((i, j)) = above(tiling, there, row, column) else { continue };
                let (to, from) = (tiling.tile((row, column)), tiling.tile((i, j)));
                let middle = |span: &Span| (span.start + span.count / 2) as usize;
                for y in to.rows.start as usize..to.rows.end() as usize {
                    let source = if i == row { y } else { middle(&from.rows) };
                    for x in to.columns.start as usize..to.columns.end() as usize {
                        let across = if j == column { x } else { middle(&from.columns) };
                        let (at, from) = ((y * width + x) * self.size, (source * width + across) * self.size);
                        let from = self.raw.get(from..from + self.size);
                        if let (Some(to), Some(from)) = (raw.get_mut(at..at + self.size), from) {
                            to.copy_from_slice(from);
                        }
                    }
                }
            }
        }
        raw
    }
}

/// The tile of the next coarser level that is there, for one that is not.
fn above(tiling: &Tiling, there: &[bool], row: usize, column: usize) -> Option<(usize, usize)> {
    let mut step = 2;
    while step <= 2 * tiling.down().max(tiling.across()) {
        let (i, j) = (row / step * step, column / step * step);
        if there.get(i * tiling.across() + j) == Some(&true) {
            return Some((i, j));
        }
        step *= 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::bytes::source::Source;
    use crate::data::content::array::Plain;
    use crate::data::dtype::DType;

    use super::*;

    #[test]
    fn tiles_cover_everything_once_coarse_first() {
        let tiling = Tiling { rows: vec![0, 3, 6, 9], columns: (0..=40).collect(), bytes: 1 };
        let mut order = tiling.order();
        assert_eq!(order[0], (0, 0));
        assert!(order[..5].iter().all(|at| at.1.is_multiple_of(8)), "{:?}", &order[..5]);
        order.sort_unstable();
        let all: Vec<_> = (0..3).flat_map(|row| (0..40).map(move |column| (row, column))).collect();
        assert_eq!(order, all);
    }

    #[test]
    fn tiles_end_where_chunks_end() {
        let spans = vec![Span { start: 5, count: 100, step: 3 }];
        let slice = Slice { spans, rows: None, columns: Some(0), channels: None };
        // Elements 5, 8, … of chunks of 50: the samples at 50, 101, 152, 200, 251 and 302 begin new ones.
        let window = Span { start: 0, count: 100, step: 1 };
        assert_eq!(chunk_limits(&slice, Some(0), &window, 50), [0, 15, 32, 49, 65, 82, 99, 100]);
    }

    #[test]
    fn a_mosaic_is_what_one_read_gives() {
        let bytes: Vec<u8> = (0..120 * 90u32).flat_map(|n| (n as u16).to_le_bytes()).collect();
        let array = Plain::new(Source::memory("a", bytes), 0, DType::U16, vec![120, 90]).unwrap();
        let slice = Slice {
            spans: vec![Span::all(120), Span::all(90)],
            rows: Some(1),
            columns: Some(0),
            channels: None,
        };
        let window = Window {
            rows: Span { start: 2, count: 40, step: 2 },
            columns: Span { start: 1, count: 110, step: 1 },
        };
        let task = Task::new();
        let expected = slice.read(&array, &task, &window).unwrap();
        let tiling = Tiling { rows: vec![0, 7, 30, 40], columns: vec![0, 50, 110], bytes: 1 };
        let mut tiled = TiledRead::new(&array, &slice, window, ComplexPart::Real);
        let plane = tiled.by_tiles(&task, &tiling, &mut |_| {}).unwrap();
        assert_eq!((plane.raw == expected, plane.summary.count, plane.is_whole()), (true, 4400, true));
        // Before the rest came, every tile looks like the first.
        let mut there = vec![false; 6];
        there[0] = true;
        tiled.raw = expected.clone();
        let filled = tiled.filled(&tiling, &there);
        let at = |row: usize, column: usize| filled[(row * 110 + column) * 2];
        assert_eq!((at(39, 109), at(3, 25)), (at(3, 25), expected[(3 * 110 + 25) * 2]));
    }
}
