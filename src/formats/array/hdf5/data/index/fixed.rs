//! The fixed array: an element for each chunk of a dataset whose shape has a limit, in one data block; a
//! large one is cut into pages, of which those without a chunk were never written.

use super::{Grid, IndexHeader, Looked, element};
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::formats::array::hdf5::data::bytes::{bit, checked_block, is_undefined, place, uint_at};
use crate::formats::array::hdf5::file::File;
use bytes::Bytes;

/// The thing whose checksum is wrong.
const WHAT: &str = "block of a fixed array";

/// The array.
pub(crate) struct Fixed {
    header: u64,
    head: IndexHeader<Head>,
    pages: Cache<u64, Bytes>,
}

/// What the header and the start of the data block say.
struct Head {
    /// Bytes of one element.
    size: usize,
    /// Elements in all.
    count: u64,
    /// Elements of a page; 0 where there are no pages.
    page: u64,
    /// Which pages were written.
    written: Bytes,
    /// Where the pages start; the data block where there are none.
    start: u64,
    /// Bytes before the elements of a data block.
    prefix: u64,
}

impl Fixed {
    pub(super) fn new(header: u64) -> Self {
        Fixed { header, head: IndexHeader::new(), pages: Cache::new(super::super::INDEX_CACHE) }
    }

    pub(super) fn find(&self, task: &Task, file: &File, grid: &Grid, coords: &[u64]) -> Looked {
        let Some(head) = self.head.get(|| self.read_head(task, file))? else { return Ok(None) };
        let number = grid.number(coords, 0)?;
        if number >= head.count {
            return Ok(None);
        }
        let (page, within) = match head.page {
            0 => (0, number),
            page => (number / page, number % page),
        };
        if head.page > 0 && !bit(&head.written, page) {
            return Ok(None);
        }
        let bytes = self.page(task, file, &head, page)?;
        let at = usize::try_from(within).unwrap_or(usize::MAX).saturating_mul(head.size);
        let bytes = bytes.get(at..at.saturating_add(head.size)).unwrap_or_default();
        element(file, grid, bytes)
    }

    /// Calls `each` with the numbers of the elements that were written until it wants no more; whether it saw all.
    pub(super) fn each(
        &self,
        task: &Task,
        file: &File,
        mut each: impl FnMut(u64) -> Result<bool>,
    ) -> Result<bool> {
        let Some(head) = self.head.get(|| self.read_head(task, file))? else { return Ok(true) };
        let step = if head.page == 0 { head.count } else { head.page };
        let pages = if step == 0 { 0 } else { head.count.div_ceil(step) };
        for page in (0..pages).filter(|page| head.page == 0 || bit(&head.written, *page)) {
            task.check()?;
            // What is not in the file is said before its elements are gone through.
            self.page(task, file, &head, page)?;
            let first = page.saturating_mul(step);
            for number in first..first.saturating_add(step).min(head.count) {
                if !each(number)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The elements of one page, or all where there are no pages.
    fn page(&self, task: &Task, file: &File, head: &Head, page: u64) -> Result<Bytes> {
        if let Some(bytes) = self.pages.get(&page) {
            return Ok(bytes);
        }
        let size = head.size as u64;
        let (first, most) = if head.page == 0 { (0, head.count) } else { (page * head.page, head.page) };
        let count = (head.count - first).min(most);
        // Pages follow each other, each with a checksum at its end.
        let start = head.start.saturating_add(page.saturating_mul(head.page * size + 4));
        let bytes = if head.page == 0 {
            let block =
                checked_block(task, file, head.start, head.prefix + count.saturating_mul(size), WHAT)?;
            block.slice(head.prefix as usize..)
        } else {
            checked_block(task, file, start, count.saturating_mul(size), WHAT)?
        };
        self.pages.put(page, bytes.clone(), bytes.len());
        Ok(bytes)
    }

    fn read_head(&self, task: &Task, file: &File) -> Result<Option<Head>> {
        let (so, sl) = (file.offset_size(), file.length_size());
        let broken =
            |what: &str| Error::malformed(format!("fixed array: {what}")).at(place(file, self.header));
        let bytes = checked_block(task, file, self.header, (8 + sl + so) as u64, "fixed array's header")?;
        if bytes.get(..5) != Some(b"FAHD\0") {
            return Err(broken("this is no header of version 0"));
        }
        let (size, bits) = (uint_at(&bytes, 6, 1) as usize, uint_at(&bytes, 7, 1));
        let (count, block) = (uint_at(&bytes, 8, sl), uint_at(&bytes, 8 + sl, so));
        if is_undefined(file, block) {
            return Ok(None);
        }
        if size < so || bits > 32 {
            return Err(broken("the size of its elements or pages is impossible"));
        }
        let page = if count > 1 << bits { 1u64 << bits } else { 0 };
        let pages = if page > 0 { count.div_ceil(page) } else { 0 };
        let prefix = (6 + so) as u64;
        let map = pages.div_ceil(8);
        if map > file.len() {
            return Err(broken("it has more pages than the file has bytes"));
        }
        let head = match page {
            0 => file.read(task, block, prefix)?,
            _ => checked_block(task, file, block, prefix + map, WHAT)?,
        };
        if head.get(..5) != Some(b"FADB\0") {
            return Err(Error::malformed("fixed array: this is no data block").at(place(file, block)));
        }
        let written = head.slice(prefix as usize..);
        let start = if page > 0 { block.saturating_add(prefix + map + 4) } else { block };
        Ok(Some(Head { size, count, page, written, start, prefix }))
    }
}
