//! Column chunks whose sizes are not those of their pages: what was found out about them, so that the pages are
//! walked once and not before each read.

use super::footer::options;
use super::pages;
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use parking_lot::Mutex;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::file::metadata::ParquetMetaData;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of metadata that are kept.
const KEPT: usize = 32 << 20;

/// A column in a row group, each by its number.
pub(super) type Place = (usize, usize);

/// The chunks of a file that could not be read by the footer's metadata.
pub(super) struct Corrected {
    found: Mutex<HashMap<Place, Found>>,
    /// Of one row group alone, with the right sizes.
    metadata: Cache<Place, ArrowReaderMetadata>,
}

/// What was found out about a place.
#[derive(Clone)]
struct Found {
    /// The sizes of its chunks that the footer has wrong, by their numbers in the row group.
    sizes: Arc<[(usize, i64)]>,
    /// Whether it was read with these sizes, so that the footer's are not tried again.
    helps: bool,
}

/// The file that is corrected.
pub(super) struct Parts<'a> {
    pub(super) source: &'a Source,
    /// As in the footer.
    pub(super) metadata: &'a ParquetMetaData,
    pub(super) len: u64,
    pub(super) plain_schema: bool,
    /// The index of the column among the file's top-level fields.
    pub(super) root: usize,
}

impl Corrected {
    pub(super) fn new() -> Corrected {
        Corrected { found: Mutex::new(HashMap::new()), metadata: Cache::new(KEPT) }
    }

    /// Whether a place is known to be read with other sizes than the footer's.
    pub(super) fn helps(&self, place: Place) -> bool {
        self.found.lock().get(&place).is_some_and(|found| found.helps)
    }

    /// From now on it is.
    pub(super) fn set_helps(&self, place: Place) {
        if let Some(found) = self.found.lock().get_mut(&place) {
            found.helps = true;
        }
    }

    /// Whether the sizes of a place's chunks are not those of their pages.
    ///
    /// # Errors
    /// A cancellation only: pages that cannot be walked have the footer's size.
    pub(super) fn is_wrong(&self, task: &Task, parts: &Parts, place: Place) -> Result<bool> {
        if let Some(found) = self.found.lock().get(&place) {
            return Ok(!found.sizes.is_empty());
        }
        let sizes = parts.sizes(task, place.1)?;
        let is_wrong = !sizes.is_empty();
        self.found.lock().insert(place, Found { sizes: sizes.into(), helps: false });
        Ok(is_wrong)
    }

    /// The metadata of a place's row group alone, with the sizes that were found, and without a page index.
    pub(super) fn metadata(&self, parts: &Parts, place: Place) -> Result<ArrowReaderMetadata> {
        if let Some(metadata) = self.metadata.get(&place) {
            return Ok(metadata);
        }
        let sizes = self.found.lock().get(&place).map(|found| found.sizes.clone());
        let group =
            parts.metadata.row_groups().get(place.1).ok_or_else(|| Error::bug("no such row group"))?;
        let mut columns = group.columns().to_vec();
        for (leaf, size) in sizes.iter().flat_map(|sizes| sizes.iter()) {
            if let Some(chunk) = columns.get_mut(*leaf) {
                *chunk = chunk.clone().into_builder().set_total_compressed_size(*size).build()?;
            }
        }
        let group = group.clone().into_builder().set_column_metadata(columns).build()?;
        let one = ParquetMetaData::new(parts.metadata.file_metadata().clone(), vec![group]);
        let metadata = ArrowReaderMetadata::try_new(Arc::new(one), options(parts.plain_schema))?;
        self.metadata.put(place, metadata.clone(), metadata.metadata().memory_size());
        Ok(metadata)
    }
}

impl Parts<'_> {
    /// The sizes that the footer has wrong in a row group.
    fn sizes(&self, task: &Task, group: usize) -> Result<Vec<(usize, i64)>> {
        let group = self.metadata.row_groups().get(group).ok_or_else(|| Error::bug("no such row group"))?;
        let mut sizes = Vec::new();
        for (leaf, chunk) in group.columns().iter().enumerate() {
            if group.schema_descr().get_column_root_idx(leaf) != self.root {
                continue;
            }
            let size = pages::extent(task, self.source, chunk, self.len)
                .unless_cancelled()?
                .ok()
                .and_then(|size| i64::try_from(size).ok());
            sizes.extend(size.filter(|&size| size != chunk.compressed_size()).map(|size| (leaf, size)));
        }
        Ok(sizes)
    }
}
