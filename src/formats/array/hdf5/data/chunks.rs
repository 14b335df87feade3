//! The chunks of a dataset: found by its index, read, their filters undone, their elements delivered.

use super::super::datatype::Datatype;
use super::super::file::File;
use super::super::message::{self, ChunkIndex, FilterPipeline};
use super::super::object::Dataset;
use super::column::Places;
use super::deliver::Delivery;
use super::index::{ChunkRecord, Grid, Index};
use super::{Names, pipeline, plain};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::chunked::{ChunkPlace, Chunks};
use crate::data::content::Block;
use crate::data::content::Layout;
use crate::data::location::{BytePlace, Location};
use crate::data::region::{Region, Span};
use arrow::array::ArrayRef;
use bytes::Bytes;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most chunks that a map of the storage shows.
const MAPPED: u64 = 1 << 20;

/// Chunks as a file stores them.
pub(super) struct Stored {
    file: File,
    names: Arc<dyn Names>,
    index: Index,
    grid: Grid,
    /// The dataset's shape.
    dims: Vec<u64>,
    /// Bytes of a chunk without filters.
    raw: u64,
    pipeline: Arc<FilterPipeline>,
    /// Whether chunks over the edge were left without filters.
    plain_edges: bool,
    way: Delivery,
    datatype: Arc<Datatype>,
    /// Dimensions of array elements, which are never cut.
    inner: usize,
    /// Where chunks lie in the file, in the order of these places, once a byte was asked for.
    extents: OnceLock<Vec<(Range<u64>, Vec<u64>)>>,
}

impl Stored {
    pub(super) fn new(
        file: &File,
        dataset: &Dataset,
        layout: &message::Chunked,
        way: Delivery,
        names: Arc<dyn Names>,
    ) -> Result<Self> {
        let dims = dataset.space.dims.clone();
        let raw = limits::bytes(&layout.chunk, dataset.datatype.size)?;
        if layout.element != dataset.datatype.size {
            let what = format!(
                "HDF5 dataset: chunks of elements of {} bytes, its type has {}",
                layout.element, dataset.datatype.size
            );
            return Err(Error::malformed(what).at(dataset.address));
        }
        let most =
            |(max, side): (&Option<u64>, &u64)| max.map_or(u64::MAX, |max| max.div_ceil((*side).max(1)));
        let most = dataset.space.max.iter().zip(&layout.chunk).map(most).collect();
        let grid = Grid { most, chunk: layout.chunk.clone(), bytes: raw };
        let index = index_of(layout, &dataset.space.max, raw);
        let datatype = Arc::new(plain::element(&dataset.datatype).clone());
        let inner = way.dims.len();
        Ok(Stored {
            file: file.clone(),
            names,
            index,
            grid,
            dims,
            raw,
            pipeline: Arc::new(dataset.pipeline.clone()),
            extents: OnceLock::new(),
            plain_edges: layout.plain_edges,
            way,
            datatype,
            inner,
        })
    }

    /// The kind of index, for the inspector.
    pub(super) fn index_word(&self) -> &'static str {
        self.index.word()
    }

    /// The coordinates without those of array elements.
    fn outer<'a>(&self, index: &'a [u64]) -> &'a [u64] {
        index.get(..index.len().saturating_sub(self.inner)).unwrap_or_default()
    }

    fn find(&self, task: &Task, index: &[u64]) -> Result<Option<ChunkRecord>> {
        self.index.find(task, &self.file, &self.grid, self.outer(index))
    }

    /// A chunk's stored elements.
    fn elements(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        let Some(record) = self.find(task, index)? else { return Ok(None) };
        let raw = limits::check(self.raw, limits::CHUNK, "a chunk")?;
        let is_plain = self.is_plain(index);
        let stored = if is_plain { self.raw } else { record.stored };
        let bytes = self.file.read(task, record.address, stored)?;
        if is_plain {
            return Ok(Some(bytes));
        }
        let place = super::bytes::place(&self.file, record.address);
        let bytes = pipeline::undo(&self.pipeline, bytes, record.mask, raw).map_err(|e| e.at(place))?;
        Ok(Some(if bytes.len() > raw { bytes.slice(..raw) } else { bytes }))
    }

    /// Whether a chunk was stored without filters.
    fn is_plain(&self, index: &[u64]) -> bool {
        self.pipeline.filters.is_empty() || self.plain_edges && self.is_cut(index)
    }

    /// Where a chunk lies in the source.
    fn extent(&self, index: &[u64], record: ChunkRecord) -> Result<Range<u64>> {
        let start = self.file.position(record.address)?;
        let stored = if self.is_plain(index) { self.raw } else { record.stored };
        Ok(start..start.saturating_add(stored))
    }

    /// Where all chunks lie, the first in the file first; none where there are too many.
    fn extents(&self, task: &Task) -> Result<&[(Range<u64>, Vec<u64>)]> {
        if let Some(known) = self.extents.get() {
            return Ok(known);
        }
        let all = match self.index.all(task, &self.file, &self.grid, MAPPED as usize)? {
            Some(all) => all,
            // Every chunk has its place.
            None => {
                let grid = strides::counts(&self.dims, &self.grid.chunk);
                let count = limits::elements(&grid)?;
                if count > MAPPED {
                    Vec::new()
                } else {
                    (0..count).map(|n| strides::unravel(n, &grid)).collect()
                }
            }
        };
        let mut extents = Vec::with_capacity(all.len());
        for mut index in all {
            task.check()?;
            let Some(record) = self.index.find(task, &self.file, &self.grid, &index)? else { continue };
            index.extend(std::iter::repeat_n(0, self.inner));
            // One that lies beyond the file has no bytes.
            if let Ok(extent) = self.extent(&index, record) {
                extents.push((extent, index));
            }
        }
        extents.sort_unstable_by_key(|(extent, _)| extent.start);
        Ok(self.extents.get_or_init(|| extents))
    }

    /// Whether the chunk reaches over the dataset's edge.
    fn is_cut(&self, index: &[u64]) -> bool {
        let sides = self.outer(index).iter().zip(&self.grid.chunk).zip(&self.dims);
        sides.into_iter().any(|((at, side), len)| at.saturating_add(1).saturating_mul(*side) > *len)
    }
}

/// The index that a layout message describes.
fn index_of(layout: &message::Chunked, max: &[Option<u64>], raw: u64) -> Index {
    let Some(address) = layout.address else { return Index::Empty };
    match &layout.index {
        ChunkIndex::BTree1 => Index::btree1(address),
        ChunkIndex::Single { filtered } => {
            let (stored, mask) = filtered.unwrap_or((raw, 0));
            Index::Single(ChunkRecord { address, stored, mask })
        }
        ChunkIndex::Implicit => Index::Implicit(address),
        ChunkIndex::FixedArray { .. } => Index::fixed(address),
        ChunkIndex::ExtensibleArray { .. } => {
            Index::extensible(address, max.iter().position(Option::is_none).unwrap_or(0))
        }
        ChunkIndex::BTree2 { .. } => Index::btree2(address),
    }
}

impl Chunks for Stored {
    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        self.elements(task, index)?.map(|stored| self.way.deliver(stored)).transpose()
    }

    fn is_missing(&self, task: &Task, index: &[u64]) -> Result<bool> {
        Ok(self.find(task, index)?.is_none())
    }

    fn stored(&self, task: &Task, most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        let Some(mut list) = self.index.all(task, &self.file, &self.grid, most)? else { return Ok(None) };
        // Dimensions of array elements are never cut.
        list.iter_mut().for_each(|at| at.extend(std::iter::repeat_n(0, self.inner)));
        Ok(Some(list))
    }

    fn place(&self, task: &Task, index: &[u64]) -> Result<Option<ChunkPlace>> {
        let name = format!("{:?}", self.outer(index));
        let element = self.way.stored() as u64;
        let source = self.file.source().clone();
        let Some(record) = self.find(task, index)? else {
            let unit = Location::new(source, 0..0, "chunk", name).absent();
            return Ok(Some(ChunkPlace { unit, element, cut: false }));
        };
        let unit = Location::new(source, self.extent(index, record)?, "chunk", name);
        let unit = plain::described(self.way.described(unit), &self.datatype, &self.file);
        if self.is_plain(index) {
            return Ok(Some(ChunkPlace { unit, element, cut: false }));
        }
        // Those that were left out of this chunk are none of its codecs.
        let applied = |(n, _): &(usize, _)| *n >= 32 || record.mask >> n & 1 == 0;
        let filters = self.pipeline.filters.iter().enumerate().filter(applied);
        let codecs: Vec<String> = filters.map(|(_, filter)| pipeline::word(filter)).collect();
        if codecs.is_empty() {
            return Ok(Some(ChunkPlace { unit, element, cut: false }));
        }
        let raw = limits::check(self.raw, limits::CHUNK, "a chunk")?;
        let (filters, mask) = (self.pipeline.clone(), record.mask);
        let unit = unit.decoded_by(codecs, move |_, bytes| pipeline::undo(&filters, bytes, mask, raw));
        Ok(Some(ChunkPlace { unit, element, cut: false }))
    }

    fn chunk_of(&self, task: &Task, byte: &BytePlace) -> Result<Option<Vec<u64>>> {
        let Some(at) = byte.offset_in(self.file.source()) else { return Ok(None) };
        let extents = self.extents(task)?;
        let next = extents.partition_point(|(extent, _)| extent.start <= at);
        let found = next.checked_sub(1).and_then(|n| extents.get(n));
        Ok(found.filter(|(extent, _)| extent.contains(&at)).map(|(_, index)| index.clone()))
    }

    fn column(&self, task: &Task, index: &[u64]) -> Result<Option<ArrayRef>> {
        let Some(stored) = self.elements(task, index)? else { return Ok(None) };
        let places = Places { task, file: &self.file, names: self.names.as_ref() };
        let count = stored.len().checked_div(self.way.stored()).unwrap_or(0);
        places.column(&self.datatype, &stored, count).map(Some)
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        Layout::of_grid(task, "chunk", strides::counts(&self.dims, &self.grid.chunk), MAPPED, |_, index| {
            let record = self.index.find(task, &self.file, &self.grid, index)?;
            let rows = Region::of_part(index, &self.grid.chunk, &self.dims).0.first().copied();
            let rows = rows.unwrap_or(Span::all(1));
            Ok(Block {
                name: format!("{index:?}"),
                first: rows.start,
                count: rows.count,
                stored: record.map_or(0, |record| record.stored),
                raw: self.raw,
                missing: record.is_none(),
            })
        })
    }
}
