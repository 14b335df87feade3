//! Arrays whose chunks differ in size (the chunk grid `rectilinear`).
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/chunk-grids/rectilinear>

use super::chain::{self, Chain};
use super::dtype::Element;
use super::meta::Keys;
use super::store::{Store, join};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::array::Plain;
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The array. Its codecs depend on the shape of a chunk, so there is a chain for each shape.
pub(super) struct Uneven {
    store: Arc<Store>,
    path: String,
    keys: Keys,
    codecs: Value,
    element: Element,
    shape: Vec<u64>,
    /// Where chunks begin along each dimension, and the end of the last.
    edges: Vec<Vec<u64>>,
    fill: Vec<u8>,
    facts: ArrayFacts,
    chains: Mutex<HashMap<Vec<u64>, Arc<Chain>>>,
}

/// What a region takes of a chunk along a dimension: the chunk, the indices in it, where they go.
struct Cut {
    chunk: usize,
    span: Span,
    out: u64,
}

/// What an uneven array is made of.
pub(super) struct Parts {
    pub(super) store: Arc<Store>,
    pub(super) path: String,
    pub(super) keys: Keys,
    pub(super) codecs: Value,
    pub(super) element: Element,
    pub(super) shape: Vec<u64>,
    pub(super) edges: Vec<Vec<u64>>,
    pub(super) fill: Vec<u8>,
}

impl Uneven {
    pub(super) fn new(parts: Parts, facts: ArrayFacts) -> Result<Self> {
        let Parts { store, path, keys, codecs, element, shape, edges, fill } = parts;
        if element.is_variable() {
            return Err(Error::unsupported("chunks of different sizes with elements of any size"));
        }
        let chains = Mutex::new(HashMap::new());
        Ok(Uneven { store, path, keys, codecs, element, shape, edges, fill, facts, chains })
    }

    fn chain(&self, shape: &[u64]) -> Result<Arc<Chain>> {
        if let Some(chain) = self.chains.lock().get(shape) {
            return Ok(chain.clone());
        }
        let chain = Arc::new(chain::of_v3(&self.codecs, &self.element, shape).chain?);
        self.chains.lock().insert(shape.to_vec(), chain.clone());
        Ok(chain)
    }

    /// What a span takes of each chunk along a dimension.
    fn cuts(&self, axis: usize, span: &Span) -> Vec<Cut> {
        let edges = self.edges.get(axis).map(Vec::as_slice).unwrap_or_default();
        let mut cuts = Vec::new();
        let mut done = 0;
        while done < span.count {
            let at = span.index(done);
            let chunk = edges.partition_point(|&edge| edge <= at).saturating_sub(1);
            let start = edges.get(chunk).copied().unwrap_or(0);
            let end = edges.get(chunk + 1).copied().unwrap_or(u64::MAX);
            let count = (end - at).div_ceil(span.step.max(1)).clamp(1, span.count - done);
            cuts.push(Cut { chunk, span: Span { start: at - start, count, step: span.step }, out: done });
            done += count;
        }
        cuts
    }

    /// The wanted elements of one chunk, without gaps; `None` where the chunk is missing.
    fn part(&self, task: &Task, index: &[u64], region: &Region) -> Result<Option<Vec<u8>>> {
        let key = join(&self.path, &self.keys.key(index));
        let Some(stored) = self.store.load(task, &key, limits::CHUNK)? else { return Ok(None) };
        let side = |(edges, at): (&Vec<u64>, &u64)| {
            let edge = |n: usize| edges.get(n).copied().unwrap_or(0);
            edge(*at as usize + 1).saturating_sub(edge(*at as usize))
        };
        let shape: Vec<u64> = self.edges.iter().zip(index).map(side).collect();
        super::dtype::chunk_bytes(&self.element, &shape)?;
        let bytes = self.chain(&shape)?.decode(stored, &self.fill)?;
        let chunk = Plain::new(Source::memory(key, bytes), 0, self.element.dtype.clone(), shape)?;
        let mut out = limits::zeroed(
            limits::check(
                limits::bytes(&region.shape(), self.element.size())?,
                limits::READ,
                "a part of a chunk",
            )?,
            "a part of a chunk",
        )?;
        chunk.read(task, region, &mut out)?;
        Ok(Some(out))
    }
}

impl Array for Uneven {
    fn dtype(&self) -> &DType {
        &self.element.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        region.check(&self.shape)?;
        if out.is_empty() {
            return Ok(());
        }
        let size = self.fill.len();
        let whole = region.shape();
        let axes: Vec<Vec<Cut>> =
            region.0.iter().enumerate().map(|(axis, span)| self.cuts(axis, span)).collect();
        let count: u64 = axes.iter().map(|cuts| cuts.len() as u64).product();
        for n in 0..count {
            task.check()?;
            let mut rest = n;
            let mut cuts: Vec<&Cut> = Vec::with_capacity(axes.len());
            for axis in axes.iter().rev() {
                cuts.extend(axis.get((rest % axis.len().max(1) as u64) as usize));
                rest /= axis.len().max(1) as u64;
            }
            cuts.reverse();
            let index: Vec<u64> = cuts.iter().map(|cut| cut.chunk as u64).collect();
            let inner = Region(cuts.iter().map(|cut| cut.span).collect());
            let part = self.part(task, &index, &inner).map_err(|e| e.of(&format!("chunk {index:?}")))?;
            let start: Vec<u64> = cuts.iter().map(|cut| cut.out).collect();
            scatter(part.as_deref(), &inner.shape(), &start, &whole, &self.fill, size, out);
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }
}

/// Puts the rows of a part of the shape `shape` to `start` in the result of the shape `whole`; fill where
/// there is no part.
fn scatter(
    part: Option<&[u8]>,
    shape: &[u64],
    start: &[u64],
    whole: &[u64],
    fill: &[u8],
    size: usize,
    out: &mut [u8],
) {
    let row = shape.last().map_or(1, |len| *len as usize) * size;
    let rows: u64 = shape.iter().rev().skip(1).product();
    for n in 0..rows {
        let mut rest = n;
        let mut index = vec![0u64; shape.len()];
        for axis in (0..shape.len().saturating_sub(1)).rev() {
            let side = shape.get(axis).copied().unwrap_or(1).max(1);
            if let Some(place) = index.get_mut(axis) {
                *place = rest % side;
            }
            rest /= side;
        }
        let places = index.iter().zip(start).zip(whole);
        let at = places.fold(0u64, |at, ((index, start), side)| at * side + index + start) as usize * size;
        let Some(to) = out.get_mut(at..at + row) else { continue };
        match part.and_then(|part| part.get(n as usize * row..(n as usize + 1) * row)) {
            Some(from) => to.copy_from_slice(from),
            None => to.chunks_exact_mut(size.max(1)).for_each(|element| element.copy_from_slice(fill)),
        }
    }
}
