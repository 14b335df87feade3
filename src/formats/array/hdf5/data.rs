//! The values of HDF5 datasets: from what the object header says of layout, filters and type to arrays that
//! read any part, whatever the file does.
//!
//! ```text
//! chunks     index ─▶ bytes ─▶ pipeline undone ─┐
//! contiguous, compact, external files ─▶ bytes ─┼─▶ delivered elements, or columns through the global heap
//! virtual    selections ─▶ other datasets ──────┘
//! ```
//! Chunks go through [`crate::data::chunked`], which decodes on all cores and caches. Nothing is read at opening but
//! the mappings of a virtual dataset.
//!
//! Specification: <https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t4.html>

mod bytes;
mod chunks;
mod column;
mod deliver;
mod external;
mod index;
mod numbers;
mod pipeline;
mod plain;
mod selection;
mod virtual_set;

pub use deliver::Delivery;
pub(super) use pipeline::undo;

use super::datatype::{Class, Datatype};
use super::file::File;
use super::message::{FillValue, Layout, Space};
use super::object::Dataset;
use super::second;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{ArrayTable, MappedArray};
use crate::data::chunked::Chunked;
use crate::data::content::{Array, ArrayFacts, Content};
use crate::data::dtype::DType;
use ::bytes::Bytes;
use arrow::array::ArrayRef;
use std::sync::Arc;

/// Bytes of index blocks that are kept for each dataset.
pub(super) const INDEX_CACHE: usize = 8 << 20;

/// What values need of the rest of the file: the names of objects, and other datasets.
pub trait Names: Send + Sync {
    /// The path of the object whose header is at `address`, where it is known.
    fn path(&self, task: &Task, address: u64) -> Option<String>;

    /// The array of the dataset `dataset` in the file `file`, which is named as a virtual dataset names its
    /// sources; `.` is this file. `None` where file or dataset are not there or lie outside of this file's
    /// folder.
    ///
    /// # Errors
    /// As opening that file and dataset; `Limit` where sources are virtual datasets of sources of …
    fn dataset(&self, task: &Task, file: &str, dataset: &str) -> Result<Option<Arc<dyn Array>>>;

    /// Whether they are those of a dataset that is shown, and not of one that is another's source.
    fn is_outermost(&self) -> bool;
}

/// A dataset that was opened.
pub struct Opened {
    /// Its elements.
    pub array: Arc<dyn Array>,
    /// What cannot be read of it; the rest can.
    pub problem: Option<Error>,
}

impl Opened {
    /// The dataset as a node's content: records in one dimension are a table.
    ///
    /// # Errors
    /// `Unsupported` where a table cannot be made of it.
    pub fn content(&self, name: &str, dataset: &Dataset) -> Result<Content> {
        let is_record = matches!(dataset.datatype.class, Class::Compound(_));
        let is_table = self.array.dtype().record().is_some() || self.array.dtype().is_variable() && is_record;
        match is_table && self.array.shape().len() == 1 {
            true => Ok(Content::Table(Arc::new(ArrayTable::new(name, self.array.clone())?))),
            false => Ok(Content::Array(self.array.clone())),
        }
    }
}

/// The values of an attribute, or any others that lie in memory: `stored` holds `count` elements of
/// `datatype`.
///
/// # Errors
/// `Malformed` where an element's place in a heap cannot be read.
pub fn column(
    task: &Task,
    file: &File,
    names: &dyn Names,
    datatype: &Datatype,
    stored: &[u8],
    count: usize,
) -> Result<ArrayRef> {
    column::Places { task, file, names }.column(datatype, stored, count)
}

/// Opens a dataset. Reads nothing of its values.
///
/// # Errors
/// `Malformed` where shape, type and layout do not go together, `Limit` where an element is too large.
pub fn open(task: &Task, file: &File, dataset: &Dataset, names: Arc<dyn Names>) -> Result<Opened> {
    let parts = Parts::new(task, file, dataset, names)?;
    let whole = |array: Arc<dyn Array>| Opened { array, problem: None };
    Ok(match &dataset.layout {
        _ if dataset.space.kind == Space::Null => whole(Arc::new(parts.constant()?)),
        // Where they lie in the file, which is told of each of them; else what was read with the header.
        Layout::Compact { bytes, at } => match file.source().read_up_to(task, *at, bytes.len())? == *bytes {
            true => parts.plain(file.source().clone(), *at)?,
            false => parts.plain(Source::memory("compact", bytes.clone()), 0)?,
        },
        Layout::Contiguous { .. } if dataset.external.is_some() => parts.external()?,
        Layout::Contiguous { address: None, .. } => whole(Arc::new(parts.constant()?)),
        Layout::Contiguous { address: Some(address), .. } => {
            // Of a file that is cut off all of it may be missing; what it is is shown all the same.
            let start = address.checked_add(file.superblock().base).ok_or_else(|| {
                Error::malformed(format!("HDF5 address {address:#x}: it overflows 64 bits"))
            })?;
            parts.plain(file.source().clone(), start)?
        }
        Layout::Chunked(chunked) => parts.chunked(chunked)?,
        Layout::Virtual(place) => parts.virtual_set(task, *place)?,
    })
}

/// What all layouts have in common.
struct Parts<'a> {
    file: &'a File,
    dataset: &'a Dataset,
    names: Arc<dyn Names>,
    way: Delivery,
    /// The array's shape: the dataspace's, and that of array elements behind it.
    shape: Vec<u64>,
    /// One delivered element of fill; empty for elements without a size.
    fill: Vec<u8>,
    fill_column: Option<ArrayRef>,
    facts: ArrayFacts,
}

impl<'a> Parts<'a> {
    fn new(task: &Task, file: &'a File, dataset: &'a Dataset, names: Arc<dyn Names>) -> Result<Self> {
        let is_rows = dataset.space.kind == Space::Simple && dataset.space.dims.len() == 1;
        let way = match is_rows {
            true => Delivery::of_rows(&dataset.datatype)?,
            false => Delivery::new(&dataset.datatype)?,
        };
        let mut shape = match dataset.space.kind {
            Space::Null => vec![0],
            _ => dataset.space.dims.clone(),
        };
        shape.extend(&way.dims);
        limits::bytes(&shape, way.dtype.size().max(way.stored() as u64))?;
        let mut facts =
            ArrayFacts { byte_order: way.order, value_names: way.names.clone(), ..Default::default() };
        facts.codecs = dataset.pipeline.filters.iter().map(pipeline::word).collect();
        facts.details.push(("layout".to_owned(), dataset.layout.word().to_owned()));
        if dataset.space.max.iter().zip(&dataset.space.dims).any(|(max, dim)| *max != Some(*dim)) {
            let side = |max: &Option<u64>| max.map_or("unlimited".to_owned(), |n| n.to_string());
            let most: Vec<String> = dataset.space.max.iter().map(side).collect();
            facts.details.push(("largest shape".to_owned(), most.join(" × ")));
        }
        let mut parts =
            Parts { file, dataset, names, way, shape, fill: Vec::new(), fill_column: None, facts };
        parts.set_fill(task)?;
        Ok(parts)
    }

    /// The value of elements that were never written.
    fn set_fill(&mut self, task: &Task) -> Result<()> {
        let inner = plain::element(&self.dataset.datatype);
        let size = limits::check(inner.size, limits::CHUNK, "an element")?;
        let mut stored = limits::zeroed(size, "a fill value")?;
        match &self.dataset.fill {
            FillValue::Value(bytes) => {
                // That of an array element is the whole array; its parts are almost always alike.
                let from = bytes.get(..size).unwrap_or_default();
                stored.get_mut(..from.len()).unwrap_or_default().copy_from_slice(from);
            }
            FillValue::Undefined => {
                self.facts.details.push(("fill value".to_owned(), "undefined".to_owned()));
            }
            FillValue::Default => {}
        }
        let set = matches!(self.dataset.fill, FillValue::Value(_));
        if self.way.dtype.is_variable() {
            let places = column::Places { task, file: self.file, names: self.names.as_ref() };
            // A fill value in a heap that cannot be read leaves the elements empty.
            self.fill_column = places.column(inner, &stored, 1).unless_cancelled()?.ok();
        } else {
            self.fill = self.way.deliver(Bytes::from(stored))?.to_vec();
            if set {
                let text = crate::data::cell::element(&self.way.dtype, &self.fill);
                self.facts.details.push(("fill value".to_owned(), text));
            }
        }
        Ok(())
    }

    fn dtype(&self) -> DType {
        self.way.dtype.clone()
    }

    /// All elements are the fill value.
    fn constant(&self) -> Result<plain::Constant> {
        let facts = ArrayFacts { bytes_stored: Some(0), ..self.facts.clone() };
        plain::Constant::new(
            self.dtype(),
            self.shape.clone(),
            self.fill.clone(),
            self.fill_column.clone(),
            facts,
        )
    }

    /// Elements that lie one after the other in `source` from `start`.
    fn plain(&self, source: Source, start: u64) -> Result<Opened> {
        let facts = self.facts.clone();
        let places = (self.file, self.names.clone());
        plain::open(
            source,
            start,
            &self.dataset.datatype,
            (self.way.clone(), self.shape.clone()),
            facts,
            places,
        )
    }

    fn external(mut self) -> Result<Opened> {
        let slots = self.dataset.external.as_ref().map(|external| external.slots.clone()).unwrap_or_default();
        for slot in &slots {
            self.facts.details.push(("external file".to_owned(), slot.name.clone()));
        }
        let elements = limits::elements(&self.dataset.space.dims)?;
        let bytes = limits::bytes(&[elements], self.dataset.datatype.size)?;
        let (source, problem) = external::open(self.file.source(), slots, bytes)?;
        let opened = self.plain(source, 0)?;
        Ok(Opened { problem: problem.or(opened.problem), ..opened })
    }

    fn chunked(mut self, layout: &super::message::Chunked) -> Result<Opened> {
        let missing = pipeline::missing(&self.dataset.pipeline);
        let chunks =
            chunks::Stored::new(self.file, self.dataset, layout, self.way.clone(), self.names.clone())?;
        self.facts.details.push(("chunk index".to_owned(), chunks.index_word().to_owned()));
        // Only files on the disk have a path, and only filters of plugins are asked of libhdf5.
        let path = self.file.source().path().filter(|_| {
            let ids = missing.iter().map(|(id, _)| *id);
            !missing.is_empty() && second::may_help(&self.way) && second::has_filters(ids)
        });
        let words: Vec<String> = missing.into_iter().map(|(_, word)| word).collect();
        let words = words.join(", ");
        if path.is_some() {
            self.facts.details.push(("read by".to_owned(), format!("libhdf5, for the filter {words}")));
        }
        let problem = (!words.is_empty() && path.is_none()).then(|| {
            Error::unsupported(format!("the filter {words}: chunks that went through it cannot be read"))
        });
        let mut chunk_shape = layout.chunk.clone();
        chunk_shape.extend(&self.way.dims);
        let (dtype, shape) = (self.dtype(), self.shape.clone());
        let mut array =
            Chunked::new(dtype, shape, chunk_shape, self.fill, Arc::new(chunks))?.facts(self.facts);
        if let Some(column) = self.fill_column {
            array = array.fill_column(column);
        }
        let array: Arc<dyn Array> = Arc::new(array);
        let Some(path) = path else { return Ok(Opened { array, problem }) };
        let (file, address) = (path.to_owned(), self.dataset.address);
        let second = second::Second { inner: array, way: self.way, file, address, names: self.names };
        Ok(Opened { array: Arc::new(second), problem })
    }

    fn virtual_set(&self, task: &Task, place: super::message::HeapId) -> Result<Opened> {
        let what = (self.dtype(), self.shape.clone(), self.fill.clone(), self.fill_column.clone());
        let at = (task, self.file, self.names.clone());
        let set = virtual_set::Virtual::new(at, place, what, self.facts.clone())?;
        // Sources of sources are not looked for: sets of many that are each other's would take very long.
        let problem = if self.names.is_outermost() { set.missing(task)? } else { None };
        Ok(Opened { array: Arc::new(set), problem })
    }
}

/// `array` with other facts: its axes, its unit.
pub fn with_facts(array: Arc<dyn Array>, change: impl FnOnce(&mut ArrayFacts)) -> Arc<dyn Array> {
    let dtype = array.dtype().clone();
    with_type(array, dtype, change)
}

/// `array` with its bytes as elements of `dtype`, which has as many bytes, and with other facts.
pub fn with_type(
    array: Arc<dyn Array>,
    dtype: DType,
    change: impl FnOnce(&mut ArrayFacts),
) -> Arc<dyn Array> {
    Arc::new(MappedArray::new(array, dtype, change))
}
