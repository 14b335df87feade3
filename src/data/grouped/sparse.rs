//! Sparse matrices: `data` and `indices` one after the other, and in `indptr` where each row (CSR) or column
//! (CSC) begins. Read as the whole matrix, of which only the stored rows or columns of a region are touched.
//! <https://anndata.readthedocs.io/en/latest/fileformat-prose.html#sparse-arrays>

use super::Members;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::cf;
use crate::data::content::array::Stored;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::node::Value;
use crate::data::region::{Region, Span};
use std::ops::Range;
use std::sync::Arc;

/// Stored values, and rows or columns, that are taken at once.
const AT_ONCE: u64 = 1 << 20;
const LINES: u64 = 1 << 16;

/// A sparse matrix of two dimensions.
pub(super) struct Sparse {
    shape: [u64; 2],
    /// The dimension that `indptr` counts: 0 for CSR, 1 for CSC.
    major: usize,
    data: Arc<dyn Array>,
    indices: Arc<dyn Array>,
    pointers: Arc<dyn Array>,
    word: &'static str,
}

/// The matrix that a group is; `None` where it is none.
///
/// # Errors
/// Where it says that it is one and its parts are missing or do not fit.
pub(super) fn of(
    task: &Task,
    members: &dyn Members,
    attributes: &[(String, Value)],
) -> Result<Option<Sparse>> {
    // Before version 0.7 AnnData had other words.
    let word = cf::text(attributes, "encoding-type").or_else(|| cf::text(attributes, "h5sparse_format"));
    let (major, word) = match word.as_deref() {
        Some("csr_matrix" | "csr") => (0, "CSR"),
        Some("csc_matrix" | "csc") => (1, "CSC"),
        _ => return Ok(None),
    };
    let wrong = |what: String| Error::malformed(format!("{word} matrix: {what}"));
    let mut sides = cf::numbers(attributes, "shape");
    if sides.is_empty() {
        sides = cf::numbers(attributes, "h5sparse_shape");
    }
    let side =
        |n: usize| sides.get(n).copied().filter(|side| (0.0..9e15).contains(side) && side.fract() == 0.0);
    let (Some(rows), Some(columns), 2) = (side(0), side(1), sides.len()) else {
        return Err(wrong(format!("its shape is {sides:?}")));
    };
    let shape = [rows as u64, columns as u64];
    let part = |name: &str| super::array(task, members, &format!("{word} matrix"), name);
    Sparse::new(shape, major, [part("data")?, part("indices")?, part("indptr")?], word).map(Some)
}

/// A matrix of compressed columns, of its stored values, their rows, and where each column begins.
///
/// # Errors
/// Where these do not fit.
pub fn by_columns(
    rows: u64,
    values: Arc<dyn Array>,
    places: Arc<dyn Array>,
    starts: Arc<dyn Array>,
) -> Result<Arc<dyn Array>> {
    let columns = starts.shape().first().copied().unwrap_or(0).saturating_sub(1);
    Ok(Arc::new(Sparse::new([rows, columns], 1, [values, places, starts], "CSC")?))
}

/// A matrix whose rows, or columns, are compressed: of its stored values, their places, and where each row or column
/// begins.
///
/// # Errors
/// Where these do not fit.
pub fn compressed(shape: [u64; 2], by_rows: bool, parts: [Arc<dyn Array>; 3]) -> Result<Arc<dyn Array>> {
    let (major, word) = if by_rows { (0, "CSR") } else { (1, "CSC") };
    Ok(Arc::new(Sparse::new(shape, major, parts, word)?))
}

impl Sparse {
    fn new(
        shape: [u64; 2],
        major: usize,
        [data, indices, pointers]: [Arc<dyn Array>; 3],
        word: &'static str,
    ) -> Result<Self> {
        if !data.dtype().is_real() && !matches!(data.dtype(), DType::C64 | DType::C128) {
            return Err(Error::unsupported(format!("a {word} matrix of {}", data.dtype())));
        }
        let lines = shape.get(major).copied().unwrap_or(0);
        match (data.shape(), indices.shape(), pointers.shape()) {
            ([values], [places], [ends]) if values == places && lines.checked_add(1) == Some(*ends) => {}
            (values, places, ends) => {
                return Err(Error::malformed(format!(
                    "{word} matrix: its parts have the shapes {values:?}, {places:?} and {ends:?}, which do not fit {shape:?}"
                )));
            }
        }
        limits::bytes(&shape, data.dtype().size())?;
        Ok(Sparse { shape, major, data, indices, pointers, word })
    }
}

/// Which stored values go where in the result.
struct Target<'a> {
    out: &'a mut [u8],
    size: usize,
    /// Wanted places along the dimension that is not the major one.
    minor: Span,
    /// Elements between neighbours of the major and of the minor dimension in the result.
    strides: [u64; 2],
}

impl Target<'_> {
    /// Puts the stored values of one line, of those from `first` on in `data`, to their places.
    fn put(&mut self, line: u64, places: &[u64], data: &[u8]) {
        let step = self.minor.step.max(1);
        for (place, value) in places.iter().zip(data.chunks_exact(self.size.max(1))) {
            let Some(from) = place.checked_sub(self.minor.start) else { continue };
            if from % step != 0 || from / step >= self.minor.count {
                continue;
            }
            let [across, along] = self.strides;
            let at = (line * across + from / step * along) as usize * self.size;
            if let Some(to) = self.out.get_mut(at..at + self.size) {
                to.copy_from_slice(value);
            }
        }
    }
}

impl Sparse {
    /// Some of an array of integers.
    fn numbers(&self, task: &Task, array: &Arc<dyn Array>, range: Range<u64>) -> Result<Vec<u64>> {
        let region = Region(vec![Span::range(range.start, range.end - range.start)]);
        let bytes = crate::data::content::array::read(array.as_ref(), task, &region)?;
        integers(array.dtype(), &bytes).ok_or_else(|| {
            Error::malformed(format!("{} matrix: its places are of type {}", self.word, array.dtype()))
        })
    }

    /// Reads the lines `lines`, which follow each other; `first` is the number of the first in the result.
    fn lines(&self, task: &Task, lines: Range<u64>, first: u64, target: &mut Target<'_>) -> Result<()> {
        let ends = self.numbers(task, &self.pointers, lines.start..lines.end + 1)?;
        let stored = self.data.shape().first().copied().unwrap_or(0);
        let sorted = ends.windows(2).all(|pair| pair.first() <= pair.get(1));
        let (Some(&begin), Some(&end)) = (ends.first(), ends.last()) else { return Ok(()) };
        if !sorted || end > stored {
            let what = format!("{} matrix: the rows {lines:?} begin beyond the next, or the data", self.word);
            return Err(Error::malformed(what));
        }
        let other = self.shape.get(1 - self.major).copied().unwrap_or(0);
        let (mut at, mut line) = (begin, 0usize);
        while at < end {
            task.check()?;
            let next = end.min(at + AT_ONCE);
            let places = self.numbers(task, &self.indices, at..next)?;
            if let Some(place) = places.iter().find(|place| **place >= other) {
                return Err(Error::malformed(format!("{} matrix: index {place} of {other}", self.word)));
            }
            let region = Region(vec![Span::range(at, next - at)]);
            let data = crate::data::content::array::read(self.data.as_ref(), task, &region)?;
            // The lines that have some of these values.
            let start = at;
            while at < next {
                while ends.get(line + 1).is_some_and(|end| *end <= at) {
                    line += 1;
                }
                let until = ends.get(line + 1).copied().unwrap_or(next).min(next);
                let (from, to) = ((at - start) as usize, (until - start) as usize);
                let values = data.get(from * target.size..to * target.size).unwrap_or_default();
                target.put(first + line as u64, places.get(from..to).unwrap_or_default(), values);
                at = until;
            }
        }
        Ok(())
    }
}

/// Integers of any type as places; `None` for other types and negative ones.
fn integers(dtype: &DType, bytes: &[u8]) -> Option<Vec<u64>> {
    let mut places = Vec::new();
    let is_integer = dtype.integers(bytes, |value| places.push(u64::try_from(value).ok()));
    if is_integer { places.into_iter().collect() } else { None }
}

impl Array for Sparse {
    fn dtype(&self) -> &DType {
        self.data.dtype()
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        out.fill(0);
        let [rows, columns] = region.0[..] else { return Err(Error::bug("a matrix has two dimensions")) };
        let (major, minor) = if self.major == 0 { (rows, columns) } else { (columns, rows) };
        let strides = if self.major == 0 { [columns.count, 1] } else { [1, columns.count] };
        if major.count == 0 || minor.count == 0 {
            return Ok(());
        }
        let size = limits::check(self.dtype().size(), limits::CHUNK, "an element")?;
        let mut target = Target { out, size, minor, strides };
        // Lines that lie apart are read one by one.
        let together = if major.step == 1 { LINES } else { 1 };
        let mut done = 0;
        while done < major.count {
            task.check()?;
            let count = together.min(major.count - done);
            let start = major.start + done * major.step;
            self.lines(task, start..start + count, done, &mut target)?;
            done += count;
        }
        Ok(())
    }

    fn stored(&self, task: &Task) -> Result<Option<Stored>> {
        /// Where so many lines begin is read at once.
        const MOST: u64 = 1 << 22;
        let lines = self.shape.get(self.major).copied().unwrap_or(0);
        let other = self.shape.get(1 - self.major).copied().unwrap_or(0);
        if lines > MOST {
            return Ok(None);
        }
        let ends = self.numbers(task, &self.pointers, 0..lines + 1)?;
        let mut regions: Vec<Region> = Vec::new();
        let mut first = None;
        for line in 0..=lines as usize {
            // A line that begins beyond the next is one that says so when it is read.
            let holds = ends.get(line).zip(ends.get(line + 1)).is_some_and(|(begin, end)| begin != end);
            match (first, holds) {
                (None, true) => first = Some(line),
                (Some(from), false) => {
                    let mut spans = vec![Span::range(from as u64, (line - from) as u64), Span::all(other)];
                    if self.major == 1 {
                        spans.reverse();
                    }
                    regions.push(Region(spans));
                    first = None;
                }
                _ => {}
            }
        }
        let size = limits::check(self.dtype().size(), limits::CHUNK, "an element")?;
        Ok(Some(Stored { regions, element: Some(vec![0; size]), row: None }))
    }

    fn facts(&self) -> ArrayFacts {
        let (data, indices) = (self.data.facts(), self.indices.facts());
        let stored = self.data.shape().first().copied().unwrap_or(0);
        let all = limits::elements(&self.shape).unwrap_or(0).max(1);
        let share =
            format!("{} ({:.2} %)", crate::bytes::display::count(stored), stored as f64 / all as f64 * 100.0);
        ArrayFacts {
            codecs: data.codecs,
            bytes_stored: data.bytes_stored.zip(indices.bytes_stored).map(|(a, b)| a + b),
            details: vec![
                ("layout".to_owned(), format!("{}, sparse", self.word)),
                ("stored values".to_owned(), share),
            ],
            ..ArrayFacts::default()
        }
    }
}
