//! The extensible array: an element for each chunk of a dataset that grows along one dimension. The first
//! elements are in the index block, the next in data blocks that it names, the others in data blocks that
//! super blocks name, each level twice as large; large data blocks are cut into pages.

use super::{ChunkRecord, Grid, IndexHeader, Looked, element};
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::formats::array::hdf5::data::bytes::{bit, checked_block, is_undefined, place, uint_at};
use crate::formats::array::hdf5::file::File;
use bytes::Bytes;

/// The array.
pub(crate) struct Extensible {
    header: u64,
    /// The dimension without an end.
    axis: usize,
    head: IndexHeader<Head>,
    /// Super blocks, data blocks and pages by their address.
    blocks: Cache<u64, Bytes>,
}

/// What the header and the index block say.
struct Head {
    /// Bytes of one element.
    size: usize,
    /// Bytes of the number of an element.
    number_size: usize,
    /// Elements in the index block.
    first: u64,
    /// Elements of the smallest data block.
    least: u64,
    /// Elements of a page.
    page: u64,
    /// Super blocks whose data blocks the index block names itself.
    direct: u32,
    /// Data blocks that the index block names.
    named: u64,
    /// Super blocks in all.
    supers: u32,
    /// One more than the highest number of an element that was written.
    end: u64,
    /// The index block.
    index: Bytes,
}

impl Extensible {
    pub(super) fn new(header: u64, axis: usize) -> Self {
        let blocks = Cache::new(super::super::INDEX_CACHE);
        Extensible { header, axis, head: IndexHeader::new(), blocks }
    }

    pub(super) fn find(&self, task: &Task, file: &File, grid: &Grid, coords: &[u64]) -> Looked {
        let Some(head) = self.head.get(|| self.read_head(task, file))? else { return Ok(None) };
        let number = grid.number(coords, self.axis)?;
        let so = file.offset_size();
        let start = 6 + so as u64;
        if number < head.first {
            return element(file, grid, part(&head.index, start, number, head.size));
        }
        let behind = number - head.first;
        // Super block u holds 2^u times the smallest data block, all before it one less of them.
        let level = (behind / head.least + 1).ilog2();
        if level >= head.supers {
            return Ok(None);
        }
        let within = behind - ((1u64 << level) - 1) * head.least;
        let elements = head.least << level.div_ceil(2);
        let (block, within) = (within / elements, within % elements);
        let addresses = start + head.first * head.size as u64;
        if level < head.direct {
            let before = blocks_before(level);
            if before + block >= head.named {
                return Ok(None);
            }
            let address = uint_at(part(&head.index, addresses, before + block, so), 0, so);
            return self.in_block(task, file, grid, &head, address, elements, within);
        }
        let addresses = addresses + head.named * so as u64;
        let address = uint_at(part(&head.index, addresses, u64::from(level - head.direct), so), 0, so);
        if is_undefined(file, address) {
            return Ok(None);
        }
        self.in_super(task, file, grid, &head, (address, level), (block, elements, within))
    }

    /// The dimension without an end.
    pub(super) fn axis(&self) -> usize {
        self.axis
    }

    /// Calls `each` with the numbers of the elements in blocks that were written until it wants no more; whether it
    /// saw all. More than `most` such elements are not gone through.
    pub(super) fn each(
        &self,
        task: &Task,
        file: &File,
        most: usize,
        mut each: impl FnMut(u64) -> Result<bool>,
    ) -> Result<bool> {
        let Some(head) = self.head.get(|| self.read_head(task, file))? else { return Ok(true) };
        let (mut number, mut left) = (0u64, most as u64);
        while number < head.end {
            task.check()?;
            let (next, is_there) = self.piece(task, file, &head, number)?;
            let next = next.min(head.end);
            if is_there {
                let Some(after) = left.checked_sub(next.saturating_sub(number)) else { return Ok(false) };
                left = after;
                for number in number..next {
                    if !each(number)? {
                        return Ok(false);
                    }
                }
            }
            number = next.max(number + 1);
        }
        Ok(true)
    }

    /// The number behind the block or page that an element lies in, and whether that was written; of what was not,
    /// as much as is known at once.
    fn piece(&self, task: &Task, file: &File, head: &Head, number: u64) -> Result<(u64, bool)> {
        let (so, start) = (file.offset_size(), 6 + file.offset_size() as u64);
        if number < head.first {
            return Ok((head.first, true));
        }
        let behind = number - head.first;
        let level = (behind / head.least + 1).ilog2();
        if level >= head.supers {
            return Ok((u64::MAX, false));
        }
        let before = ((1u64 << level) - 1).saturating_mul(head.least);
        let elements = head.least << level.div_ceil(2);
        let (block, within) = ((behind - before) / elements, (behind - before) % elements);
        let first = head.first.saturating_add(before).saturating_add(block.saturating_mul(elements));
        let next = first.saturating_add(elements);
        let addresses = start + head.first * head.size as u64;
        if level < head.direct {
            let block = blocks_before(level) + block;
            let address = uint_at(part(&head.index, addresses, block, so), 0, so);
            return Ok((next, block < head.named && !is_undefined(file, address)));
        }
        let addresses = addresses + head.named * so as u64;
        let address = uint_at(part(&head.index, addresses, u64::from(level - head.direct), so), 0, so);
        if is_undefined(file, address) {
            let all = (1u64 << level).saturating_mul(head.least);
            return Ok((head.first.saturating_add(before).saturating_add(all), false));
        }
        let (bytes, prefix, map, pages) = self.super_block(task, file, head, (address, level), elements)?;
        let data = uint_at(part(&bytes, prefix + map, block, so), 0, so);
        if is_undefined(file, data) || pages == 0 {
            return Ok((next, !is_undefined(file, data)));
        }
        let page = within / head.page;
        let written = bytes.get(prefix as usize..).unwrap_or_default();
        Ok((first.saturating_add((page + 1) * head.page), bit(written, block * pages + page)))
    }

    /// A super block, the bytes before its map of written pages, those of the map, and the pages of a data block.
    fn super_block(
        &self,
        task: &Task,
        file: &File,
        head: &Head,
        (address, level): (u64, u32),
        elements: u64,
    ) -> Result<(Bytes, u64, u64, u64)> {
        let so = file.offset_size();
        let blocks = 1u64 << (level / 2);
        let pages = if elements > head.page { elements / head.page } else { 0 };
        let map = blocks.saturating_mul(pages.div_ceil(8));
        let prefix = (6 + so + head.number_size) as u64;
        let size = prefix.saturating_add(map).saturating_add(blocks.saturating_mul(so as u64));
        Ok((self.block(task, file, address, size, b"EASB\0")?, prefix, map, pages))
    }

    /// An element of a data block that a super block names.
    fn in_super(
        &self,
        task: &Task,
        file: &File,
        grid: &Grid,
        head: &Head,
        (address, level): (u64, u32),
        (block, elements, within): (u64, u64, u64),
    ) -> Result<Option<ChunkRecord>> {
        let so = file.offset_size();
        let (bytes, prefix, map, pages) = self.super_block(task, file, head, (address, level), elements)?;
        let data = uint_at(part(&bytes, prefix + map, block, so), 0, so);
        if pages == 0 {
            return self.in_block(task, file, grid, head, data, elements, within);
        }
        let page = within / head.page;
        let written = bytes.get(prefix as usize..).unwrap_or_default();
        if is_undefined(file, data) || !bit(written, block * pages + page) {
            return Ok(None);
        }
        let page_size = head.page.saturating_mul(head.size as u64);
        let start = page.saturating_mul(page_size.saturating_add(4)).saturating_add(prefix + 4);
        let bytes = self.block(task, file, data.saturating_add(start), page_size, b"")?;
        element(file, grid, part(&bytes, 0, within % head.page, head.size))
    }

    /// An element of a data block without pages.
    #[allow(clippy::too_many_arguments, reason = "the places of one element")]
    fn in_block(
        &self,
        task: &Task,
        file: &File,
        grid: &Grid,
        head: &Head,
        address: u64,
        elements: u64,
        within: u64,
    ) -> Result<Option<ChunkRecord>> {
        if is_undefined(file, address) {
            return Ok(None);
        }
        let prefix = (6 + file.offset_size() + head.number_size) as u64;
        let size = elements.saturating_mul(head.size as u64).saturating_add(prefix);
        let bytes = self.block(task, file, address, size, b"EADB\0")?;
        element(file, grid, part(&bytes, prefix, within, head.size))
    }

    /// A block with its signature, if it has one, and its checksum behind it.
    fn block(&self, task: &Task, file: &File, address: u64, size: u64, signature: &[u8]) -> Result<Bytes> {
        if let Some(bytes) = self.blocks.get(&address) {
            return Ok(bytes);
        }
        let bytes = checked_block(task, file, address, size, "block of an extensible array")?;
        if !bytes.starts_with(signature) {
            let what = "extensible array: a block has another signature than its place asks for";
            return Err(Error::malformed(what).at(place(file, address)));
        }
        self.blocks.put(address, bytes.clone(), bytes.len());
        Ok(bytes)
    }

    fn read_head(&self, task: &Task, file: &File) -> Result<Option<Head>> {
        let (so, sl) = (file.offset_size(), file.length_size());
        let what = "extensible array's header";
        let bytes = checked_block(task, file, self.header, (12 + 6 * sl + so) as u64, what)?;
        let broken =
            |what: &str| Error::malformed(format!("extensible array: {what}")).at(place(file, self.header));
        if bytes.get(..5) != Some(b"EAHD\0") {
            return Err(broken("this is no header of version 0"));
        }
        let byte = |at| uint_at(&bytes, at, 1);
        let (size, bits, first, least) = (byte(6) as usize, byte(7) as u32, byte(8), byte(9));
        let (pointers, page_bits) = (byte(10), byte(11) as u32);
        let (end, index) = (uint_at(&bytes, 12 + 4 * sl, sl), uint_at(&bytes, 12 + 6 * sl, so));
        if is_undefined(file, index) {
            return Ok(None);
        }
        let sound = size >= so && bits < 64 && least.is_power_of_two() && pointers.is_power_of_two();
        if !sound || page_bits > 32 || least.ilog2() > bits {
            return Err(broken("its parameters are impossible"));
        }
        let supers = 1 + bits - least.ilog2();
        let direct = 2 * pointers.ilog2();
        let named = 2 * (pointers - 1);
        let others = u64::from(supers.saturating_sub(direct));
        let length = (6 + so) as u64 + first * size as u64 + (named + others) * so as u64;
        let index = self.block(task, file, index, length, b"EAIB\0")?;
        let number_size = bits.div_ceil(8) as usize;
        Ok(Some(Head {
            size,
            number_size,
            first,
            least,
            page: 1 << page_bits,
            direct,
            named,
            supers,
            end,
            index,
        }))
    }
}

/// How many data blocks the super blocks before `level` have: 1, 1, 2, 2, 4, 4 …
fn blocks_before(level: u32) -> u64 {
    (0..level).map(|u| 1u64 << (u / 2)).sum()
}

/// The n-th part of `size` bytes from `start`; empty beyond the end.
fn part(bytes: &[u8], start: u64, n: u64, size: usize) -> &[u8] {
    let at = usize::try_from(start.saturating_add(n.saturating_mul(size as u64))).unwrap_or(usize::MAX);
    bytes.get(at..at.saturating_add(size)).unwrap_or_default()
}
