//! Global heaps: where variable-length values, references and the mappings of virtual datasets lie. One
//! collection holds many objects (section III.E of the specification).

use super::file::File;
use super::message::HeapId;
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::location::Location;
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::Arc;

/// The bytes of collections that are kept.
const KEPT: usize = 64 << 20;

/// The collections that were read so far, the latest ones up to a limit.
pub struct GlobalHeaps(Cache<u64, Arc<Collection>>);

impl Default for GlobalHeaps {
    fn default() -> Self {
        GlobalHeaps(Cache::with_last(KEPT))
    }
}

/// One collection: its bytes, and where each object lies in them.
struct Collection {
    bytes: Bytes,
    objects: HashMap<u32, (usize, usize)>,
}

impl GlobalHeaps {
    /// The bytes of one object; empty where `id` says that there is no value.
    ///
    /// # Errors
    /// `Malformed` where the collection cannot be read or lacks the object.
    pub fn object(&self, file: &File, task: &Task, id: HeapId) -> Result<Bytes> {
        let address = match id.address {
            None | Some(0) => return Ok(Bytes::new()),
            Some(address) => address,
        };
        let collection = self.collection(file, task, address)?;
        let (start, len) = collection.objects.get(&id.index).copied().ok_or_else(|| {
            Error::malformed(format!("HDF5 global heap: it has no object {}", id.index)).at(address)
        })?;
        Ok(collection.bytes.slice(start..start + len))
    }

    /// Where the bytes of one object lie; `None` where `id` says that there is no value.
    ///
    /// # Errors
    /// As [`GlobalHeaps::object`].
    pub fn place(&self, file: &File, task: &Task, id: HeapId) -> Result<Option<Location>> {
        let Some(address) = id.address.filter(|address| *address != 0) else { return Ok(None) };
        let collection = self.collection(file, task, address)?;
        let Some((start, len)) = collection.objects.get(&id.index).copied() else { return Ok(None) };
        let begin = address.checked_add(file.superblock().base).and_then(|at| at.checked_add(start as u64));
        let end = begin.and_then(|begin| begin.checked_add(len as u64));
        let Some((begin, end)) = begin.zip(end) else { return Ok(None) };
        let name = format!("{} of the collection at {address:#x}", id.index);
        let object = Location::new(file.source().clone(), begin..end, "global heap object", name);
        Ok(Some(object.within(0..len as u64)))
    }

    fn collection(&self, file: &File, task: &Task, address: u64) -> Result<Arc<Collection>> {
        if let Some(collection) = self.0.get(&address) {
            return Ok(collection);
        }
        let collection = Arc::new(Collection::read(file, task, address)?);
        let size = collection.bytes.len() + collection.objects.len() * 32;
        self.0.put(address, collection.clone(), size);
        Ok(collection)
    }
}

impl Collection {
    fn read(file: &File, task: &Task, address: u64) -> Result<Self> {
        let head_len = 8 + file.length_size();
        let head = file.read(task, address, head_len as u64)?;
        let mut cursor = file.cursor("global heap", address, &head);
        cursor.signature(b"GCOL")?;
        let version = cursor.u8()?;
        if version != 1 {
            return Err(super::message::unknown("global heap", version, &cursor));
        }
        cursor.skip(3)?;
        let size = cursor.size()?;
        limits::check(size, limits::CHUNK, "a global heap")?;
        // A file that is cut off in a collection still has the objects before the cut.
        let bytes = file.read_up_to(task, address, size)?;
        let objects = objects(file, address, &bytes, head_len)?;
        Ok(Collection { bytes, objects })
    }
}

/// Where the objects of a collection lie in its bytes.
fn objects(file: &File, address: u64, bytes: &[u8], start: usize) -> Result<HashMap<u32, (usize, usize)>> {
    let mut objects = HashMap::new();
    let mut cursor = file.cursor("global heap", address, bytes);
    cursor.skip(start)?;
    let head = 8 + file.length_size();
    while cursor.left() >= head {
        let index = u32::from(cursor.u16()?);
        cursor.skip(6)?;
        let size = cursor.size()?;
        // Object 0 is the free space at the end.
        if index == 0 {
            break;
        }
        let Some(len) = usize::try_from(size).ok().filter(|len| *len <= cursor.left()) else { break };
        objects.insert(index, (cursor.taken(), len));
        cursor.skip(len)?;
        cursor.align(8);
    }
    Ok(objects)
}
