//! Values: variables whose records lie between those of other variables, and characters joined to texts.

use super::header::text;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::{Plain, read};
use crate::data::content::{Array, ArrayFacts, Block, Layout};
use crate::data::dtype::{DType, swap_to_little};
use crate::data::region::{Region, Span};
use std::sync::Arc;

/// Records up to this distance are read through in one go.
const NEAR: u64 = 16 << 10;
/// How much is read through at a time.
const STEP: u64 = 1 << 20;
/// More records than these are not listed one by one.
const LISTED: u64 = 4096;

/// A variable along the record dimension: one row in each record of the file.
pub(super) struct Recorded {
    source: Source,
    dtype: DType,
    /// The records in front.
    shape: Vec<u64>,
    begin: u64,
    /// Bytes from one record to the next.
    step: u64,
    /// Bytes of one row.
    row: u64,
    facts: ArrayFacts,
}

impl Recorded {
    /// `shape[0]` rows, the first at `begin`, each `step` bytes after the one before. They must be there.
    pub(super) fn new(source: Source, dtype: DType, shape: Vec<u64>, begin: u64, step: u64) -> Result<Self> {
        let (&count, inner) = shape.split_first().ok_or_else(|| Error::bug("records without a dimension"))?;
        let row = limits::bytes(inner, dtype.size())?;
        limits::bytes(&[count], step)?.checked_add(begin).ok_or_else(|| {
            Error::malformed(format!("variable: {count} records of {step} bytes overflow 64 bits")).at(begin)
        })?;
        let facts = ArrayFacts { bytes_stored: Some(limits::bytes(&[count], row)?), ..ArrayFacts::default() };
        Ok(Recorded { source, dtype, shape, begin, step, row, facts })
    }

    pub(super) fn with_facts(mut self, facts: ArrayFacts) -> Self {
        self.facts = ArrayFacts { bytes_stored: self.facts.bytes_stored, ..facts };
        self
    }

    /// Whole rows of near records: read through and gathered.
    fn gather(&self, task: &Task, rows: Span, out: &mut [u8]) -> Result<()> {
        let row = usize::try_from(self.row).map_err(|_| Error::limit("a row of a record"))?;
        let stride = rows.step.saturating_mul(self.step).max(1);
        let most = (STEP / stride).max(1);
        let mut rest = out;
        let mut first = 0;
        while first < rows.count && row > 0 {
            task.check()?;
            let count = most.min(rows.count - first);
            let at = self.begin + rows.index(first) * self.step;
            let block = self.source.read(task, at..at + (count - 1) * stride + self.row)?;
            for from in block.chunks(stride as usize) {
                let Some((to, left)) = std::mem::take(&mut rest).split_at_mut_checked(row) else {
                    return Err(Error::bug("a record array was asked for less than its region"));
                };
                to.copy_from_slice(from.get(..row).unwrap_or_default());
                rest = left;
            }
            first += count;
        }
        Ok(())
    }
}

impl Array for Recorded {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let Some((rows, within)) = region.0.split_first() else { return Ok(()) };
        if out.is_empty() {
            return Ok(());
        }
        let inner = self.shape.get(1..).unwrap_or_default();
        let whole = within.iter().zip(inner).all(|(span, len)| *span == Span::all(*len));
        if whole && rows.step.saturating_mul(self.step) <= NEAR {
            self.gather(task, *rows, out)?;
        } else {
            let part = out.len() / usize::try_from(rows.count).unwrap_or(usize::MAX).max(1);
            let within = Region(within.to_vec());
            for (n, part) in out.chunks_exact_mut(part.max(1)).enumerate() {
                let at = self.begin + rows.index(n as u64) * self.step;
                let row = Plain::new(self.source.clone(), at, self.dtype.clone(), inner.to_vec())?;
                row.read(task, &within, part)?;
            }
        }
        swap_to_little(&self.dtype, out)
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = self.facts.clone();
        facts.byte_order = (self.dtype.size() > 1).then_some("big");
        facts.details.push(("bytes of a record".to_owned(), self.step.to_string()));
        facts
    }

    fn layout(&self, _task: &Task) -> Result<Layout> {
        let count = self.shape.first().copied().unwrap_or(0);
        if count > LISTED {
            return Ok(Layout::default());
        }
        let each = limits::elements(self.shape.get(1..).unwrap_or_default())?;
        let block = |n: u64| Block {
            name: format!("record {n}"),
            first: n * each,
            count: each,
            stored: self.row,
            raw: self.row,
            missing: false,
        };
        Ok(Layout { unit: "record", blocks: (0..count).map(block).collect(), grid: Vec::new() })
    }
}

/// Characters whose last dimension is a text.
pub(super) struct Texts {
    /// Bytes.
    inner: Arc<dyn Array>,
    dtype: DType,
    /// Characters of one text.
    len: u64,
    facts: ArrayFacts,
}

impl Texts {
    /// The longest text that is given as one element.
    pub(super) const LONGEST: u64 = 64 << 10;

    /// `inner` are bytes with the characters of a text along the last dimension, or single characters.
    pub(super) fn new(inner: Arc<dyn Array>, joined: bool, facts: ArrayFacts) -> Self {
        let len = inner.shape().last().copied().filter(|_| joined).unwrap_or(1);
        // NumPy's smallest text has one character.
        let dtype = DType::Str(u32::try_from(len).unwrap_or(1).max(1));
        let facts = ArrayFacts { bytes_stored: inner.facts().bytes_stored, ..facts };
        Texts { inner, dtype, len: if joined { len } else { u64::MAX }, facts }
    }

    fn joined(&self) -> bool {
        self.len != u64::MAX
    }
}

impl Array for Texts {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        let shape = self.inner.shape();
        if self.joined() { shape.split_last().map_or(shape, |(_, rest)| rest) } else { shape }
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        let mut wanted = region.clone();
        if self.joined() {
            wanted.0.push(Span::all(self.len));
        }
        let bytes = read(self.inner.as_ref(), task, &wanted)?;
        let width = if self.joined() { self.len as usize } else { 1 };
        let size = self.dtype.size() as usize;
        out.fill(0);
        for (element, from) in out.chunks_exact_mut(size).zip(bytes.chunks(width.max(1))) {
            for (place, character) in element.as_chunks_mut::<4>().0.iter_mut().zip(text(from).chars()) {
                *place = u32::from(character).to_le_bytes();
            }
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = self.facts.clone();
        let stored = format!("char of shape {:?}", self.inner.shape());
        facts.details.push(("stored as".to_owned(), stored));
        facts
    }
}
