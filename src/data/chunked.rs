//! Arrays that are stored as chunks of a grid: HDF5, Zarr, N5, bloscpack, tiled FITS.
//!
//! A format implements [`Chunks`] — *give me the chunk at these grid coordinates, decoded* — and hands it
//! to [`Chunked`], which is the [`Array`]: it finds the chunks of a region, decodes the ones that no cache
//! has on all cores, copies what is wanted, and keeps what a second look may want in a [`Cache`] of its own.
//!
//! ```ignore
//! let array = Chunked::new(dtype, shape, vec![512, 512], fill, Arc::new(MyChunks { … }))?.facts(facts);
//! Node::new("temperature").with(Content::Array(Arc::new(array)))
//! ```
//!
//! Elements without a fixed size ([`DType::Variable`]) come through [`Chunks::column`] as Arrow columns
//! and go the same way.

mod column;
mod copy;
mod grid;
#[cfg(test)]
mod tests;
pub mod write;

use crate::bytes::cache::{Cache, DECODED};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::content::array::{self, MissingRegion};
use crate::data::content::{Array, ArrayFacts, Layout};
use crate::data::dtype::DType;
use crate::data::location::{BytePlace, Location, Owner};
use crate::data::region::{Region, Span};
use arrow::array::{Array as _, ArrayRef};
use bytes::Bytes;
use copy::Canvas;
use grid::{Cut, Grid, Plan};
use parking_lot::Mutex;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Where decoded chunks come from: what a format implements.
///
/// Calls come from many threads at once, and from threads of rayon: a lock that is held in here must not
/// be held across a call that waits for rayon. Nobody else calls for the same array's chunks in order, so
/// there is no state to keep; an index of chunks that is read on first use belongs into a `OnceLock`.
pub trait Chunks: Send + Sync {
    /// The chunk at `index` (grid coordinates: chunk numbers, not elements; one a dimension, none for a
    /// scalar): elements as [`Array::read`] delivers them — little-endian, C order, types under a byte one
    /// a byte. `None` for a chunk that the file lacks: it is all fill value.
    ///
    /// A chunk at the array's upper edge may be *whole* (padded to the chunk shape; the padding is not
    /// looked at) or *cut* to the array's shape: the length tells. Any other length is an error of the file.
    /// A slice of a mapped file is welcome (`source.read` gives one): chunks that are stored as they are
    /// then cost nothing.
    ///
    /// # Errors
    /// As the file demands; the chunk's coordinates are added by the engine. Sizes go through `limits`
    /// ([`Chunked::new`] has bounded the chunk shape by nothing but 64 bits).
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>>;

    /// The chunk at `index` of an array of [`DType::Variable`], one row an element in C order, of the type
    /// that `Variable.arrow` says; whole or cut as above. `None` is all fill value.
    ///
    /// # Errors
    /// As `chunk`.
    fn column(&self, _task: &Task, _index: &[u64]) -> Result<Option<ArrayRef>> {
        Err(Error::bug("columns were asked of an array whose elements have a size"))
    }

    /// Whether the file lacks the chunk at `index`, where that can be told without decoding it.
    ///
    /// # Errors
    /// As the index demands.
    fn is_missing(&self, _task: &Task, _index: &[u64]) -> Result<bool> {
        Ok(false)
    }

    /// The grid coordinates of all chunks that the file holds, in any order, where an index or a folder tells
    /// them without a look for each. `None` where nothing does, and for more than `most`.
    ///
    /// # Errors
    /// As the index demands.
    fn stored(&self, _task: &Task, _most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        Ok(None)
    }

    /// Where the chunk at `index` lies, and how it is decoded; `None` where that is not told.
    ///
    /// # Errors
    /// As the index demands.
    fn place(&self, _task: &Task, _index: &[u64]) -> Result<Option<ChunkPlace>> {
        Ok(None)
    }

    /// The grid coordinates of the chunk that a byte belongs to; `None` where it belongs to none, or that is not told.
    ///
    /// # Errors
    /// As the index demands.
    fn chunk_of(&self, _task: &Task, _byte: &BytePlace) -> Result<Option<Vec<u64>>> {
        Ok(None)
    }

    /// The chunks in the file, for the storage map. May read an index.
    ///
    /// # Errors
    /// As the index demands.
    fn layout(&self, _task: &Task) -> Result<Layout> {
        Ok(Layout::default())
    }
}

/// Where a chunk lies: its unit, whose decoded form holds its elements in C order.
pub struct ChunkPlace {
    /// The stored chunk, without where an element stands in it; absent where the file lacks it.
    pub unit: Location,
    /// Bytes of an element in the decoded chunk; 0 where its elements are not of one size.
    pub element: u64,
    /// Whether a chunk at the edge is cut to the array's shape.
    pub cut: bool,
}

/// Bytes of one chunk of `chunk` elements, for a reader that is about to decode one: checked against
/// [`limits::CHUNK`].
///
/// # Errors
/// `Limit` for more than that, `Malformed` where the product overflows.
pub fn chunk_bytes(dtype: &DType, chunk: &[u64]) -> Result<usize> {
    limits::check(limits::bytes(chunk, dtype.size())?, limits::CHUNK, "a chunk")
}

/// The most bytes that an array keeps of its decoded chunks.
const KEPT: usize = 384 << 20;
/// What a chunk costs in the cache beyond its bytes.
const OVERHEAD: usize = 160;

/// A decoded chunk. `cut` tells whether its edge is cut to the array.
#[derive(Clone)]
enum DecodedChunk {
    Missing,
    Bytes { bytes: Bytes, cut: bool },
    Column { column: ArrayRef, cut: bool },
}

impl DecodedChunk {
    fn size(&self) -> usize {
        OVERHEAD
            + match self {
                DecodedChunk::Missing => 0,
                DecodedChunk::Bytes { bytes, .. } => bytes.len(),
                DecodedChunk::Column { column, .. } => column.get_array_memory_size(),
            }
    }
}

/// How many bytes of chunks are much for the cache.
fn much() -> u64 {
    (KEPT.min(DECODED.most()) / 4) as u64
}

/// An array of chunks.
pub struct Chunked {
    dtype: DType,
    grid: Grid,
    /// One element, as delivered.
    fill: Vec<u8>,
    /// One row; what a missing element of a variable type is. Null where not given.
    fill_column: Option<ArrayRef>,
    chunks: Arc<dyn Chunks>,
    /// The chunks that are there, once somebody asked.
    there: OnceLock<Option<Vec<Vec<u64>>>>,
    facts: ArrayFacts,
    /// Decoded chunks by their numbers in the grid.
    kept: Cache<u64, DecodedChunk>,
}

/// So many chunks are looked for one by one; of more it is asked first which are there.
const ONE_BY_ONE: u64 = 1 << 12;
/// The most chunks that a list of those that are there may have.
const LISTED: usize = 1 << 20;

/// The chunks that a read goes through.
enum Wanted {
    /// All of its plan.
    All(u64),
    /// Those that are there; the others are fill value.
    There(Vec<(Vec<u64>, Vec<Cut>)>),
}

impl Chunked {
    /// An array of `shape` in chunks of `chunk_shape`. `fill` is one delivered element (little-endian) for
    /// what the file lacks; empty means zeros.
    ///
    /// # Errors
    /// `Malformed` where ranks differ, a chunk has a side of 0 (and the array none), or the number of
    /// elements overflows 64 bits. That a chunk is too large to decode is said when it is read.
    pub fn new(
        dtype: DType,
        shape: Vec<u64>,
        chunk_shape: Vec<u64>,
        fill: Vec<u8>,
        chunks: Arc<dyn Chunks>,
    ) -> Result<Self> {
        let known = Some(chunk_shape.clone());
        Ok(Chunked {
            facts: ArrayFacts { chunks: known, ..ArrayFacts::default() },
            ..Self::over(dtype, Grid::new(shape, chunk_shape)?, fill, chunks)?
        })
    }

    /// The same of chunks that differ in size: `edges` says where they begin along each dimension, and where the last
    /// one ends.
    ///
    /// # Errors
    /// As `new`; `Malformed` where the chunks do not cover the array.
    pub fn uneven(
        dtype: DType,
        shape: Vec<u64>,
        edges: Vec<Vec<u64>>,
        fill: Vec<u8>,
        chunks: Arc<dyn Chunks>,
    ) -> Result<Self> {
        Self::over(dtype, Grid::uneven(shape, edges)?, fill, chunks)
    }

    fn over(dtype: DType, grid: Grid, fill: Vec<u8>, chunks: Arc<dyn Chunks>) -> Result<Self> {
        let size = limits::check(dtype.size(), limits::CHUNK, "an element")?;
        let fill = if fill.is_empty() { limits::zeroed(size, "the fill value")? } else { fill };
        if fill.len() != size {
            return Err(Error::malformed(format!(
                "array: its fill value has {} bytes, an element of {dtype} has {size}",
                fill.len()
            )));
        }
        limits::bytes(grid.shape(), dtype.size())?;
        let (there, facts) = (OnceLock::new(), ArrayFacts::default());
        let kept = Cache::passing(KEPT);
        Ok(Chunked { dtype, grid, fill, fill_column: None, chunks, there, facts, kept })
    }

    /// What a missing element of a variable type is: a column of one row, of the type that `column` gives.
    pub fn fill_column(mut self, row: ArrayRef) -> Self {
        self.fill_column = Some(row);
        self
    }

    /// What else is known of it; the chunk shape is filled in here.
    pub fn facts(mut self, facts: ArrayFacts) -> Self {
        self.facts = ArrayFacts { chunks: self.facts.chunks.take(), ..facts };
        self
    }

    /// How many chunks lie along each dimension.
    pub fn grid(&self) -> &[u64] {
        self.grid.counts()
    }

    /// What the chunk `index` holds, from the cache or the file; `keep` says whether it may stay.
    fn decoded(&self, task: &Task, index: &[u64], keep: bool) -> Result<DecodedChunk> {
        let number = self.grid.number(index);
        if let Some(kept) = self.kept.get(&number) {
            return Ok(kept);
        }
        task.check()?;
        let kept = self.decode(task, index).map_err(|error| self.of_chunk(index, error))?;
        if keep {
            self.kept.put(number, kept.clone(), kept.size());
        }
        Ok(kept)
    }

    fn decode(&self, task: &Task, index: &[u64]) -> Result<DecodedChunk> {
        if self.dtype.is_variable() {
            let column = self.chunks.column(task, index)?;
            return column.map_or(Ok(DecodedChunk::Missing), |column| self.check_column(index, column));
        }
        let Some(bytes) = self.chunks.chunk(task, index)? else { return Ok(DecodedChunk::Missing) };
        let size = self.dtype.size();
        let (whole, cut) = (self.grid.whole(index), self.grid.cut(index));
        let whole_bytes = limits::bytes(&whole, size)?;
        let cut_bytes = limits::bytes(&cut, size)?;
        match bytes.len() as u64 {
            n if n == whole_bytes => Ok(DecodedChunk::Bytes { bytes, cut: false }),
            n if n == cut_bytes => Ok(DecodedChunk::Bytes { bytes, cut: true }),
            n => Err(Error::malformed(format!(
                "data: it decodes to {n} bytes, its shape {whole:?} of {} needs {whole_bytes}",
                self.dtype
            ))),
        }
    }

    /// An error with the chunk's coordinates.
    fn of_chunk(&self, index: &[u64], error: Error) -> Error {
        if error.is_cancelled() { error } else { error.of(&format!("chunk {index:?}")) }
    }

    /// The chunks that the file holds, where that can be told.
    fn there(&self, task: &Task) -> Result<Option<&[Vec<u64>]>> {
        if let Some(known) = self.there.get() {
            return Ok(known.as_deref());
        }
        let counts = self.grid.counts();
        let found = match self.chunks.stored(task, LISTED)? {
            Some(mut list) => {
                let inside = |at: &Vec<u64>| {
                    at.len() == counts.len() && at.iter().zip(counts).all(|(at, count)| at < count)
                };
                list.retain(inside);
                list.sort_unstable();
                list.dedup();
                Some(list)
            }
            None if self.grid.total() > ONE_BY_ONE => None,
            None => {
                let plan = self.grid.plan(&Region::all(self.shape()));
                let mut list = Vec::new();
                for n in 0..plan.count() {
                    let (index, _) = plan.at(n);
                    if !self.chunks.is_missing(task, &index)? {
                        list.push(index);
                    }
                }
                Some(list)
            }
        };
        Ok(self.there.get_or_init(|| found).as_deref())
    }

    /// The chunks of a plan that have to be looked at.
    fn wanted(&self, task: &Task, plan: &Plan) -> Result<Wanted> {
        if plan.count() <= ONE_BY_ONE {
            return Ok(Wanted::All(plan.count()));
        }
        match self.there(task)? {
            Some(list) if (list.len() as u64) < plan.count() / 2 => {
                let taken = |index: &Vec<u64>| Some((index.clone(), plan.of(index)?));
                Ok(Wanted::There(list.iter().filter_map(taken).collect()))
            }
            _ => Ok(Wanted::All(plan.count())),
        }
    }

    /// Copies what a region wants of one chunk.
    fn copy(&self, kept: &DecodedChunk, index: &[u64], cuts: &[Cut], canvas: &Canvas, out_shape: &[u64]) {
        let size = self.fill.len();
        match kept {
            DecodedChunk::Bytes { bytes, cut } => {
                let chunk = if *cut { self.grid.cut(index) } else { self.grid.whole(index) };
                copy::copy(bytes, &chunk, cuts, canvas, out_shape, size);
            }
            _ => copy::fill(&self.fill, cuts, canvas, out_shape),
        }
    }

    /// Reads a region; each chunk that fails goes to `failed`, which says whether to go on.
    fn each(
        &self,
        task: &Task,
        region: &Region,
        out: &mut [u8],
        failed: impl Fn(&[Cut], Error) -> Result<()> + Sync,
    ) -> Result<()> {
        region.check(self.shape())?;
        let out_shape = region.shape();
        if limits::bytes(&out_shape, self.dtype.size())? != out.len() as u64 {
            return Err(Error::bug("the buffer of a read is not as large as its region"));
        }
        if out.is_empty() {
            return Ok(());
        }
        let plan = self.grid.plan(region);
        let large = self.is_large(plan.count());
        let canvas = Canvas::new(out);
        let one = |(index, cuts): (Vec<u64>, Vec<Cut>)| -> Result<()> {
            task.check()?;
            // What was taken as a whole is seldom wanted again, and many of it would push out the rest.
            let keep = !(large && self.grid.takes_all(&index, &cuts));
            match self.decoded(task, &index, keep) {
                Ok(kept) => self.copy(&kept, &index, &cuts, &canvas, &out_shape),
                Err(error) if error.is_cancelled() => return Err(error),
                Err(error) => {
                    copy::fill(&self.fill, &cuts, &canvas, &out_shape);
                    failed(&cuts, error)?;
                }
            }
            Ok(())
        };
        match self.wanted(task, &plan)? {
            Wanted::All(1) => one(plan.at(0)),
            Wanted::All(count) => first_error((0..count).into_par_iter().map(|n| one(plan.at(n)))),
            Wanted::There(chunks) => {
                copy::fill_all(&self.fill, &canvas);
                first_error(chunks.into_par_iter().map(one))
            }
        }
    }

    /// Whether so many chunks would fill much of the cache.
    fn is_large(&self, chunks: u64) -> bool {
        let bytes = limits::bytes(&self.grid.longest(), self.dtype.size().max(16)).unwrap_or(u64::MAX);
        bytes.saturating_mul(chunks) > much()
    }
}

/// The error of the first that has one, whichever meets its own first.
fn first_error(all: impl ParallelIterator<Item = Result<()>>) -> Result<()> {
    all.find_map_first(Result::err).map_or(Ok(()), Err)
}

impl Array for Chunked {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.grid.shape()
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        self.each(task, region, out, |_, error| Err(error))
    }

    fn read_lenient(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<Vec<MissingRegion>> {
        let (gaps, failed) = (Mutex::new(Vec::new()), AtomicU64::new(0));
        self.each(task, region, out, |cuts, error| {
            failed.fetch_add(1, Ordering::Relaxed);
            let mut gaps = gaps.lock();
            if gaps.len() < limits::LISTED as usize {
                let spans = cuts.iter().map(|c| Span { start: c.out, count: c.count, step: 1 });
                gaps.push(MissingRegion { part: Region(spans.collect()), error });
            }
            Ok(())
        })?;
        let (mut gaps, failed): (Vec<MissingRegion>, u64) = (gaps.into_inner(), failed.into_inner());
        gaps.sort_by_key(|gap| gap.part.start());
        if failed > limits::LISTED
            && let Some(first) = gaps.first()
        {
            // Where the others lie is not known, and no fill value may pass for data: all of it is the gap.
            strides::fill(out, &self.fill);
            let failed = crate::bytes::display::plural(failed, "chunk");
            let words = format!("{failed}, too many to leave out one by one; the first");
            let error = first.error.clone().of(&words);
            return Ok(vec![MissingRegion { part: Region::all(&region.shape()), error }]);
        }
        Ok(gaps)
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        if self.dtype.is_variable() {
            self.gather(task, region)
        } else {
            array::column_of_bytes(self, task, region)
        }
    }

    fn unstored(&self, task: &Task, region: &Region) -> Result<Option<Vec<u8>>> {
        region.check(self.shape())?;
        if self.dtype.is_variable() {
            return Ok(None);
        }
        let plan = self.grid.plan(region);
        if plan.count() > ONE_BY_ONE {
            let none = self.there(task)?.is_some_and(|list| list.iter().all(|at| plan.of(at).is_none()));
            return Ok(none.then(|| self.fill.clone()));
        }
        for n in 0..plan.count() {
            if !self.chunks.is_missing(task, &plan.at(n).0)? {
                return Ok(None);
            }
        }
        Ok(Some(self.fill.clone()))
    }

    fn stored(&self, task: &Task) -> Result<Option<array::Stored>> {
        let Some(list) = self.there(task)? else { return Ok(None) };
        let regions = list.iter().map(|index| self.grid.region(index)).collect();
        let element = (!self.dtype.is_variable()).then(|| self.fill.clone());
        Ok(Some(array::Stored { regions, element, row: self.fill_column.clone() }))
    }

    fn location(&self, task: &Task, index: &[u64]) -> Result<Option<Location>> {
        let one = Region(index.iter().map(|at| Span::range(*at, 1)).collect());
        one.check(self.shape())?;
        let (chunk, cuts) = self.grid.plan(&one).at(0);
        let Some(place) = self.chunks.place(task, &chunk)? else { return Ok(None) };
        if place.unit.absent || place.element == 0 {
            return Ok(Some(place.unit));
        }
        let shape = if place.cut { self.grid.cut(&chunk) } else { self.grid.whole(&chunk) };
        let inside: Vec<u64> = cuts.iter().map(|cut| cut.from).collect();
        let at = strides::ravel(&inside, &shape).saturating_mul(place.element);
        place.unit.within(at..at.saturating_add(place.element)).followed(task).map(Some)
    }

    fn owner(&self, task: &Task, byte: &BytePlace) -> Result<Option<Owner>> {
        let Some(chunk) = self.chunks.chunk_of(task, byte)? else { return Ok(None) };
        let Some(place) = self.chunks.place(task, &chunk)? else { return Ok(None) };
        let mut index = self.grid.region(&chunk).start();
        let mut exact = false;
        if let Some(at) = byte.within(&place.unit.source, &place.unit.range)
            && place.unit.is_plain()
            && place.element > 0
        {
            let shape = if place.cut { self.grid.cut(&chunk) } else { self.grid.whole(&chunk) };
            let inside = strides::unravel(at / place.element, &shape);
            let found: Vec<u64> =
                index.iter().zip(&inside).map(|(first, at)| first.saturating_add(*at)).collect();
            // Of what stands over the array's edge there is no element.
            if found.iter().zip(self.shape()).all(|(at, side)| at < side) {
                (index, exact) = (found, true);
            }
        }
        Ok(Some(Owner::of_element(place.unit, index, exact)))
    }

    fn facts(&self) -> ArrayFacts {
        self.facts.clone()
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        let mut layout = self.chunks.layout(task)?;
        if layout.grid.is_empty() && !layout.blocks.is_empty() {
            layout.grid = self.grid().to_vec();
        }
        Ok(layout)
    }

    fn prefetch(&self, task: &Task, region: &Region) {
        if region.check(self.shape()).is_err() || region.elements().is_ok_and(|n| n == 0) {
            return;
        }
        let plan = self.grid.plan(region);
        let bytes = limits::bytes(&self.grid.longest(), self.dtype.size().max(16)).unwrap_or(u64::MAX);
        let most = much() / bytes.max(1);
        // The read that follows says what went wrong.
        (0..plan.count().min(most)).into_par_iter().for_each(|n| {
            let _ = self.decoded(task, &plan.at(n).0, true);
        });
    }
}
