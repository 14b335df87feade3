//! Planes through arrays: two-dimensional slices, with rows, columns and perhaps channels, which is what a screen or a
//! picture shows of an array of any rank.
//!
//! - [`Mapping`]: which axes are rows and columns, and where the others stand; [`Slice`]: the part of the array that
//!   this is; [`Window`]: a part of a slice, with steps;
//! - [`Plane`]: a window that was read; [`tiles`]: large ones tile by tile, coarse first; [`lines`]: rows and columns as
//!   envelopes of least and largest values;
//! - [`ValueSummary`]: range, percentiles and non-finite values of a slice; [`NonFiniteSearch`]: where the next one is;
//! - [`color`]: planes as pictures; [`PaintedSlice`]: a slice as one; [`Orientation`]: turned and mirrored.

pub mod color;
pub mod lines;
mod mapping;
mod orientation;
mod picture;
mod search;
mod slice;
mod summary;
pub mod tiles;

pub use mapping::{Mapping, Role};
pub use orientation::Orientation;
pub use picture::PaintedSlice;
pub use search::{NonFiniteSearch, SearchFrom, SearchResult, Sought};
pub use slice::{Slice, Window};
pub use summary::{LISTED, ValueSummary};

use crate::bytes::error::Error;
use crate::data::dtype::DType;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A window of a slice, as it was read.
pub struct Plane {
    /// Unique in this process: what was made from it is known by it.
    pub id: u64,
    /// Of which slice.
    pub slice: Slice,
    /// Which part.
    pub window: Window,
    /// Samples of each element.
    pub channels: usize,
    /// The type of a sample.
    pub dtype: DType,
    /// The samples, row by row, channels together.
    pub raw: Vec<u8>,
    /// What these samples alone tell.
    pub summary: Arc<ValueSummary>,
    /// How much of it was read, 0 to 1; the rest is filled in from what lies near.
    pub share: f32,
    /// The parts of it that could not be read, in samples.
    pub holes: Vec<Window>,
    /// For each sample whether it lies in one of them; made when the first is asked for.
    lost: OnceLock<Vec<bool>>,
    /// Why the first of them could not.
    pub error: Option<Error>,
}

impl Plane {
    /// A plane of these samples.
    pub fn new(slice: &Slice, window: Window, dtype: &DType, raw: Vec<u8>, summary: ValueSummary) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Plane {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            slice: slice.clone(),
            window,
            channels: slice.depth() as usize,
            dtype: dtype.clone(),
            raw,
            summary: Arc::new(summary),
            share: 1.0,
            holes: Vec::new(),
            lost: OnceLock::new(),
            error: None,
        }
    }

    /// Whether every sample was read.
    pub fn is_whole(&self) -> bool {
        self.share >= 1.0 && self.holes.is_empty()
    }

    /// The bytes of the first channel of an element, if the window holds it.
    pub fn element(&self, row: u64, column: u64) -> Option<&[u8]> {
        let size = self.dtype.size() as usize;
        let n = self.window.find(row, column)?;
        if self.share < 1.0 || self.in_hole(n) {
            return None;
        }
        let at = n.checked_mul(size * self.channels)?;
        self.raw.get(at..at.checked_add(size)?)
    }

    /// Whether the n-th sample could not be read.
    pub fn in_hole(&self, n: usize) -> bool {
        let lost = || marks(self.holes.iter(), &self.window);
        !self.holes.is_empty() && self.lost.get_or_init(lost).get(n) == Some(&true)
    }
}

/// The parts of a window that could not be read, asked by the number of a value.
struct Gaps<'a> {
    /// Why the first of them could not.
    error: Option<&'a Error>,
    /// For each element whether it lies in one; empty where there is none.
    lost: Vec<bool>,
    depth: usize,
}

impl<'a> Gaps<'a> {
    /// Gaps in rows and columns of a window whose elements are `depth` values each.
    fn new(list: &'a [(Window, Error)], window: &Window, depth: u64) -> Self {
        let error = list.first().map(|(_, error)| error);
        let lost = match error {
            Some(_) => marks(list.iter().map(|(gap, _)| gap), window),
            None => Vec::new(),
        };
        Gaps { error, lost, depth: depth.max(1) as usize }
    }

    /// Why the n-th value could not be read, if it could not: what is said of the first gap.
    fn at(&self, n: usize) -> Option<&'a Error> {
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
            let line = (row * width + left) as usize..(row * width + right) as usize;
            marks.get_mut(line).unwrap_or_default().fill(true);
        }
    }
    marks
}
