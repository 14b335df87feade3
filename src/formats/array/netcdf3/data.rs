//! Values: variables whose records lie between those of other variables, and characters joined to texts.

use super::header::text;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::array::{Plain, read};
use crate::data::content::{Array, ArrayFacts, Block, Layout};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use std::sync::Arc;

/// More records than these are not listed one by one.
const LISTED: u64 = 4096;

/// A variable along the record dimension: one row in each record of the file.
pub(super) struct Recorded {
    plain: Plain,
    /// Bytes of one row.
    row: u64,
}

impl Recorded {
    /// `shape[0]` rows, the first at `begin`, each `step` bytes after the one before. They must be there.
    pub(super) fn new(
        source: Source,
        dtype: DType,
        shape: Vec<u64>,
        (begin, step): (u64, u64),
        facts: ArrayFacts,
    ) -> Result<Self> {
        let mut strides = strides::dense(&shape, &strides::c_order(shape.len()), dtype.size());
        let rows = strides.first_mut().ok_or_else(|| Error::bug("records without a dimension"))?;
        *rows = step;
        let row = limits::bytes(shape.get(1..).unwrap_or_default(), dtype.size())?;
        let plain = Plain::strided(source, begin, dtype, shape, strides)?
            .with_facts(facts)
            .big_endian(true)
            .detail("bytes of a record", step.to_string());
        Ok(Recorded { plain, row })
    }
}

impl Array for Recorded {
    fn dtype(&self) -> &DType {
        self.plain.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.plain.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.plain.read(task, region, out)
    }

    fn facts(&self) -> ArrayFacts {
        self.plain.facts()
    }

    fn layout(&self, _task: &Task) -> Result<Layout> {
        let count = self.shape().first().copied().unwrap_or(0);
        if count > LISTED {
            return Ok(Layout::default());
        }
        let each = limits::elements(self.shape().get(1..).unwrap_or_default())?;
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
