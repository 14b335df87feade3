//! Local heaps: the names of an old-style group, and of external files (section III.D).

use super::file::File;
use super::message::text;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use bytes::Bytes;

/// A local heap: names that end with a zero byte.
pub struct LocalHeap {
    address: u64,
    data: Bytes,
}

impl LocalHeap {
    /// Reads the heap whose header is at `address`; names that are cut off with the file are not there.
    pub fn read(file: &File, task: &Task, address: u64) -> Result<Self> {
        let len = 8 + 2 * file.length_size() + file.offset_size();
        let head = file.read(task, address, len as u64)?;
        let mut cursor = file.cursor("local heap", address, &head);
        cursor.signature(b"HEAP")?;
        cursor.skip(4)?;
        let size = cursor.size()?;
        let _free = cursor.length()?;
        let segment = cursor.defined()?;
        limits::check(size, limits::HEADER, "a local heap")?;
        Ok(LocalHeap { address, data: file.read_up_to(task, segment, size)? })
    }

    /// The name at `offset` of the heap.
    pub fn name(&self, offset: u64) -> Result<String> {
        let name = usize::try_from(offset).ok().and_then(|offset| self.data.get(offset..));
        let missing = || Error::malformed(format!("HDF5 local heap: no name at {offset}")).at(self.address);
        name.map(text).ok_or_else(missing)
    }
}
