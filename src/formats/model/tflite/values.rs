//! Values that are no plain array: texts, which are a count, the places of their ends and their characters.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/lite/string_util.h>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le;
use crate::bytes::source::Source;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::array::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::region::Region;
use arrow::array::{ArrayRef, StringBuilder};
use std::ops::Range;
use std::sync::Arc;

/// Elements of a region that follow each other at equal distances: the number of the first in the whole array, how
/// many, how far apart.
type Run = (u64, u64, u64);

/// Calls `each` for the runs of a region, in C order.
fn runs(region: &Region, shape: &[u64], each: &mut dyn FnMut(Run) -> Result<()>) -> Result<()> {
    let strides = strides::dense(shape, &strides::c_order(shape.len()), 1);
    let Some((last, outer)) = region.0.split_last() else { return each((0, 1, 1)) };
    let counts: Vec<u64> = outer.iter().map(|span| span.count).collect();
    for n in 0..limits::elements(&counts)? {
        let index = strides::unravel(n, &counts);
        let places = outer.iter().zip(index).zip(&strides).map(|((span, n), stride)| span.index(n) * stride);
        each((places.sum::<u64>() + last.start, last.count, last.step))?;
    }
    Ok(())
}

/// Texts: their count, the places where each begins and the last one ends, and their characters.
pub(super) struct Texts {
    source: Source,
    span: Range<u64>,
    shape: Vec<u64>,
    dtype: DType,
    facts: ArrayFacts,
}

impl Texts {
    /// Those in the bytes `span`, as many as the shape has.
    pub(super) fn new(source: Source, span: Range<u64>, shape: Vec<u64>) -> Self {
        let facts = ArrayFacts { bytes_stored: Some(span.end - span.start), ..ArrayFacts::default() };
        Texts { source, span, shape, dtype: DType::text(), facts }
    }

    /// Fails where there are fewer than the shape has.
    fn check(&self, task: &Task) -> Result<()> {
        let (start, count) = (self.span.start, limits::elements(&self.shape)?);
        let head = self.source.read(task, start..self.span.end.min(start.saturating_add(4)))?;
        let there = le::<i32>(&head, 0).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
        // Each has a place of four bytes, and the last one an end.
        let room = (self.span.end - start).saturating_sub(8) / 4;
        if there.min(room) < count {
            let what =
                format!("array: {} texts are there, the shape {:?} has {count}", there.min(room), self.shape);
            return Err(Error::malformed(what).at(start));
        }
        Ok(())
    }
}

impl Array for Texts {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, _task: &Task, _region: &Region, _out: &mut [u8]) -> Result<()> {
        Err(Error::unsupported("texts have no bytes of a fixed size"))
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        region.check(&self.shape)?;
        self.check(task)?;
        let mut texts = StringBuilder::new();
        let mut size = 0;
        runs(region, &self.shape, &mut |(start, count, step)| {
            for n in 0..count {
                let at = self.span.start + 4 + (start + n * step) * 4;
                let ends = self.source.read(task, at..at + 8)?;
                let place =
                    |n: usize| le::<u32>(&ends, n * 4).map(|place| self.span.start + u64::from(place));
                let range = place(0).zip(place(1)).map(|(from, to)| from..to);
                let inside = |range: &Range<u64>| range.start <= range.end && range.end <= self.span.end;
                let range = range.filter(inside).ok_or_else(|| {
                    let what = format!("text {}: it lies outside of its buffer", start + n * step);
                    Error::malformed(what).at(at)
                })?;
                size += range.end - range.start;
                limits::check(size, limits::READ, "these texts")?;
                texts.append_value(String::from_utf8_lossy(&self.source.read(task, range)?));
            }
            Ok(())
        })?;
        Ok(Arc::new(texts.finish()))
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}
