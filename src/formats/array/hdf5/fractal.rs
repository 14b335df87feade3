//! Fractal heaps: where dense links, dense attributes and shared messages lie (section III.G). A doubling
//! table of blocks holds most objects; very large ones lie by themselves, very small ones in their own id.

use super::btree2::{BTree2, enough};
use super::data;
use super::file::{Cursor, File};
use super::message::FilterPipeline;
use crate::bytes::codec::checksum;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::le_unsigned;
use crate::bytes::task::Task;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The bytes of direct blocks that are kept.
const KEPT: u64 = 32 << 20;

/// A fractal heap, with the blocks that were read last.
pub struct FractalHeap {
    file: File,
    head: Head,
    blocks: Mutex<Blocks>,
}

#[derive(Default)]
struct Blocks {
    direct: HashMap<u64, Direct>,
    /// The direct block that was looked into last, with its address: neighbours mostly share one.
    last: Option<(u64, Direct)>,
    bytes: u64,
    indirect: HashMap<u64, Arc<Indirect>>,
}

/// What the header says.
struct Head {
    address: u64,
    id_len: usize,
    checked: bool,
    filtered: bool,
    pipeline: FilterPipeline,
    huge: Option<u64>,
    /// Columns of the doubling table.
    width: u64,
    /// Bytes of the blocks of the first two rows.
    start: u64,
    /// Bytes of the largest direct block.
    largest: u64,
    /// Bytes of an offset and of a length in an id.
    offset_size: usize,
    length_size: usize,
    root: Option<u64>,
    /// Rows of the root block; 0 where it is a direct block.
    rows: u16,
    /// Stored size and filter mask of a filtered root direct block.
    root_filtered: Option<(u64, u32)>,
}

/// A block with objects: its address space starts at `offset` of the heap.
#[derive(Clone)]
struct Direct {
    offset: u64,
    bytes: Bytes,
}

/// A block of pointers, row after row.
struct Indirect {
    offset: u64,
    children: Vec<Option<Pointer>>,
}

#[derive(Clone, Copy)]
struct Pointer {
    address: u64,
    filtered: Option<(u64, u32)>,
}

impl FractalHeap {
    /// Reads the header at `address`.
    ///
    /// # Errors
    /// `Malformed` where there is none, its checksum is wrong or its sizes are impossible.
    pub fn read(file: &File, task: &Task, address: u64) -> Result<Self> {
        let head = Head::read(file, task, address)?;
        Ok(FractalHeap { file: file.clone(), head, blocks: Mutex::default() })
    }

    /// Bytes of an object's id.
    pub fn id_len(&self) -> usize {
        self.head.id_len
    }

    /// The object of an id, with its address (0 where it has none in the file).
    pub fn object(&self, task: &Task, id: &[u8]) -> Result<(u64, Bytes)> {
        let first = *id.first().ok_or_else(|| self.error("an empty id"))?;
        match first >> 4 & 3 {
            0 => self.managed(task, id.get(1..).unwrap_or_default()),
            1 => self.huge(task, id.get(1..).unwrap_or_default()),
            2 => self.tiny(first, id).map(|bytes| (0, bytes)),
            other => Err(self.error(format!("there is no object of kind {other}"))),
        }
    }

    /// Where the object of an id lies in the heap, to read many in the heap's order; 0 where the id has no
    /// such place.
    pub fn place(&self, id: &[u8]) -> u64 {
        le_unsigned(id.get(1..1 + self.head.offset_size.min(8)).unwrap_or_default())
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::malformed(format!("HDF5 fractal heap: {what}")).at(self.head.address)
    }

    /// An object in its own id.
    fn tiny(&self, first: u8, id: &[u8]) -> Result<Bytes> {
        let (len, start) = if self.head.id_len <= 18 {
            (usize::from(first & 15) + 1, 1)
        } else {
            let second = usize::from(id.get(1).copied().unwrap_or(0));
            ((usize::from(first & 15) << 8 | second) + 1, 2)
        };
        let part = id.get(start..start + len).ok_or_else(|| self.error("an id is too short"))?;
        Ok(Bytes::copy_from_slice(part))
    }

    /// An object by itself: its place stands in the id, or in a B-tree.
    fn huge(&self, task: &Task, id: &[u8]) -> Result<(u64, Bytes)> {
        let sizes = self.file.superblock().sizes();
        let place = usize::from(sizes.offset) + usize::from(sizes.length);
        let direct = if self.head.filtered { place + 4 + usize::from(sizes.length) } else { place };
        let found;
        let record = if id.len() >= direct {
            id
        } else {
            let tree = self.head.huge.ok_or_else(|| self.error("it has no index of large objects"))?;
            let tree = BTree2::read(&self.file, task, tree)?;
            let mut key = Cursor::new("id", self.head.address, id, sizes);
            let key = key.uint(id.len().min(8))?;
            // The id stands at the end of a record.
            let number = |record: &[u8]| {
                le_unsigned(
                    record.get(record.len().saturating_sub(sizes.length.into())..).unwrap_or_default(),
                )
            };
            found = tree.find_one(task, &|record| number(record).cmp(&key))?;
            found.as_ref().ok_or_else(|| self.error(format!("there is no large object {key}")))?
        };
        let mut cursor = Cursor::new("large object", self.head.address, record, sizes);
        let (address, len) = (cursor.defined()?, cursor.size()?);
        let bytes = self.file.read(task, address, len)?;
        if !self.head.filtered {
            return Ok((address, bytes));
        }
        let (mask, size) = (cursor.u32()?, cursor.size()?);
        Ok((address, self.unfiltered(bytes, mask, size)?))
    }

    fn unfiltered(&self, stored: Bytes, mask: u32, size: u64) -> Result<Bytes> {
        let size = limits::check(size, limits::CHUNK, "a block of a fractal heap")?;
        data::undo(&self.head.pipeline, stored, mask, size)
    }

    /// An object in the doubling table.
    fn managed(&self, task: &Task, id: &[u8]) -> Result<(u64, Bytes)> {
        let mut cursor = Cursor::new("heap id", self.head.address, id, self.file.superblock().sizes());
        let offset = cursor.uint(self.head.offset_size)?;
        let len = cursor.uint(self.head.length_size)?;
        let (address, block) = self.near(task, offset)?;
        let start = offset.saturating_sub(block.offset);
        let end = start.saturating_add(len);
        if end > block.bytes.len() as u64 {
            return Err(self.error(format!("an object of {len} bytes at {offset} reaches beyond its block")));
        }
        Ok((address.saturating_add(start), block.bytes.slice(start as usize..end as usize)))
    }

    /// The direct block that holds `offset`, with its address: the last one, or found anew.
    fn near(&self, task: &Task, offset: u64) -> Result<(u64, Direct)> {
        let holds = |block: &Direct| {
            offset.checked_sub(block.offset).is_some_and(|within| within < block.bytes.len() as u64)
        };
        if let Some(last) = self.blocks.lock().last.as_ref().filter(|(_, block)| holds(block)) {
            return Ok(last.clone());
        }
        let found = self.block(task, offset)?;
        self.blocks.lock().last = Some(found.clone());
        Ok(found)
    }

    /// The direct block that holds `offset`, with its address.
    fn block(&self, task: &Task, offset: u64) -> Result<(u64, Direct)> {
        let root = self.head.root.ok_or_else(|| self.error("it has no blocks"))?;
        if self.head.rows == 0 {
            let pointer = Pointer { address: root, filtered: self.head.root_filtered };
            return Ok((root, self.direct(task, pointer, 0, self.head.start)?));
        }
        let mut block = self.indirect(task, root, 0, u64::from(self.head.rows))?;
        // Each step goes to a smaller block; the table has no more rows than bits.
        for _ in 0..64 {
            let within = offset.checked_sub(block.offset).ok_or_else(|| self.error("its blocks overlap"))?;
            let (row, column) = self.head.cell(within);
            let size = self.head.block_size(row);
            let number = row.saturating_mul(self.head.width).saturating_add(column);
            let pointer = usize::try_from(number).ok().and_then(|n| block.children.get(n).copied().flatten());
            let pointer = pointer.ok_or_else(|| self.error(format!("no block holds its byte {offset}")))?;
            let start = block.offset.saturating_add(self.head.row_start(row)).saturating_add(column * size);
            if row < self.head.direct_rows() {
                return Ok((pointer.address, self.direct(task, pointer, start, size)?));
            }
            let rows = self.head.rows_of(size);
            block = self.indirect(task, pointer.address, start, rows)?;
        }
        Err(self.error("its blocks nest without end"))
    }

    fn direct(&self, task: &Task, pointer: Pointer, offset: u64, size: u64) -> Result<Direct> {
        if let Some(block) = self.blocks.lock().direct.get(&pointer.address) {
            return Ok(block.clone());
        }
        let bytes = match pointer.filtered {
            Some((stored, mask)) => {
                let bytes = self.file.read(task, pointer.address, stored)?;
                self.unfiltered(bytes, mask, size)?
            }
            None => self.file.read(task, pointer.address, size)?,
        };
        let mut cursor = self.file.cursor("fractal heap block", pointer.address, &bytes);
        cursor.signature(b"FHDB")?;
        cursor.skip(1 + self.file.offset_size())?;
        let found = cursor.uint(self.head.offset_size)?;
        if found != offset {
            return Err(cursor.error(format!("it says to start at {found}, it is the block at {offset}")));
        }
        if self.head.checked {
            let at = cursor.taken();
            let stored = cursor.u32()?;
            // The checksum is over the block with zeros in its own place.
            let mut zeroed = bytes.to_vec();
            if let Some(field) = zeroed.get_mut(at..at + 4) {
                field.fill(0);
            }
            if checksum::lookup3(&zeroed, 0) != stored {
                return Err(cursor.error("its checksum is wrong; it is damaged"));
            }
        }
        let block = Direct { offset, bytes };
        let mut blocks = self.blocks.lock();
        if blocks.bytes + size > KEPT {
            blocks.direct.clear();
            blocks.bytes = 0;
        }
        blocks.bytes += size;
        blocks.direct.insert(pointer.address, block.clone());
        Ok(block)
    }

    fn indirect(&self, task: &Task, address: u64, offset: u64, rows: u64) -> Result<Arc<Indirect>> {
        if let Some(block) = self.blocks.lock().indirect.get(&address) {
            return Ok(block.clone());
        }
        let block = Arc::new(self.read_indirect(task, address, offset, rows)?);
        let mut blocks = self.blocks.lock();
        if blocks.indirect.len() > 256 {
            blocks.indirect.clear();
        }
        blocks.indirect.insert(address, block.clone());
        Ok(block)
    }

    fn read_indirect(&self, task: &Task, address: u64, offset: u64, rows: u64) -> Result<Indirect> {
        let head = &self.head;
        let sizes = self.file.superblock().sizes();
        let plain = u64::from(sizes.offset);
        let filtered = if head.filtered { plain + u64::from(sizes.length) + 4 } else { plain };
        let direct = rows.min(head.direct_rows());
        let entries = direct * head.width * filtered + (rows - direct) * head.width * plain;
        let prefix = 5 + plain + head.offset_size as u64;
        let bytes = self.file.read(task, address, prefix + entries + 4)?;
        let mut cursor = self.file.cursor("fractal heap block", address, &bytes);
        cursor.signature(b"FHIB")?;
        cursor.skip(1 + self.file.offset_size())?;
        let found = cursor.uint(head.offset_size)?;
        if found != offset {
            return Err(cursor.error(format!("it says to start at {found}, it is the block at {offset}")));
        }
        let mut children = Vec::new();
        for row in 0..rows {
            for _ in 0..head.width {
                let address = cursor.address()?;
                let filtered = head.filtered && row < head.direct_rows();
                let filtered = if filtered { Some((cursor.size()?, cursor.u32()?)) } else { None };
                children.push(address.map(|address| Pointer { address, filtered }));
            }
        }
        if !checksum::lookup3_matches(&bytes) {
            return Err(cursor.error("its checksum is wrong; it is damaged"));
        }
        Ok(Indirect { offset, children })
    }
}

impl Head {
    fn read(file: &File, task: &Task, address: u64) -> Result<Self> {
        // Without filters: 22 fixed bytes, twelve lengths, three addresses; with them a little more.
        let bytes = file.read_up_to(task, address, 1024)?;
        let mut cursor = file.cursor("fractal heap", address, &bytes);
        cursor.signature(b"FRHP")?;
        let version = cursor.u8()?;
        if version != 0 {
            return Err(super::message::unknown("fractal heap", version, &cursor));
        }
        let (id_len, filter_len) = (usize::from(cursor.u16()?), usize::from(cursor.u16()?));
        let flags = cursor.u8()?;
        let most = u64::from(cursor.u32()?);
        let _next = cursor.size()?;
        let huge = cursor.address()?;
        let _free = cursor.length()?;
        let _manager = cursor.address()?;
        for _ in 0..8 {
            cursor.length()?;
        }
        let width = u64::from(cursor.u16()?);
        let (start, largest) = (cursor.size()?, cursor.size()?);
        let (bits, _first_rows) = (cursor.u16()?, cursor.u16()?);
        let (root, rows) = (cursor.address()?, cursor.u16()?);
        let (mut root_filtered, mut pipeline) = (None, FilterPipeline::default());
        if filter_len > 0 {
            root_filtered = Some((cursor.size()?, cursor.u32()?));
            let place = cursor.place();
            let message = cursor.bytes(filter_len)?;
            let mut inner = Cursor::new("filter pipeline", place, message, cursor.sizes());
            pipeline = FilterPipeline::parse(&mut inner)?;
        }
        let covered = bytes.get(..cursor.taken()).unwrap_or_default();
        if checksum::lookup3(covered, 0) != cursor.u32()? {
            return Err(cursor.error("its checksum is wrong; it is damaged"));
        }
        let power = |size: u64| size.is_power_of_two();
        if width == 0 || !power(width) || !power(start) || !power(largest) || largest < start || bits > 64 {
            return Err(cursor.error(format!("blocks of {start} to {largest} bytes in {width} columns")));
        }
        limits::check(largest, limits::HEADER, "a block of a fractal heap")?;
        let offset_size = usize::from(bits).div_ceil(8);
        let length_size = (largest.ilog2() as usize).div_ceil(8).min(enough(most));
        Ok(Head {
            address,
            id_len,
            checked: flags & 2 > 0,
            filtered: filter_len > 0,
            pipeline,
            huge,
            width,
            start,
            largest,
            offset_size,
            length_size,
            root,
            rows,
            root_filtered,
        })
    }

    /// Bytes of a block of this row: the first two rows are the same, then they double.
    fn block_size(&self, row: u64) -> u64 {
        let doubled = u32::try_from(row.saturating_sub(1)).unwrap_or(u32::MAX);
        self.start.checked_shl(doubled).filter(|size| *size > 0).unwrap_or(u64::MAX)
    }

    /// Where a row starts in the address space of its block.
    fn row_start(&self, row: u64) -> u64 {
        if row == 0 { 0 } else { self.width.saturating_mul(self.block_size(row)) }
    }

    /// How many rows hold direct blocks; those below hold indirect ones.
    fn direct_rows(&self) -> u64 {
        u64::from(self.largest.ilog2() - self.start.ilog2()) + 2
    }

    /// Row and column of the block that holds an offset.
    fn cell(&self, offset: u64) -> (u64, u64) {
        let first = self.width.saturating_mul(self.start);
        if offset < first {
            return (0, offset / self.start.max(1));
        }
        let row = u64::from((offset / first.max(1)).ilog2()) + 1;
        (row, (offset - self.row_start(row).min(offset)) / self.block_size(row))
    }

    /// How many rows an indirect block of so many bytes has.
    fn rows_of(&self, size: u64) -> u64 {
        let first = self.width.saturating_mul(self.start);
        u64::from((size / first.max(1)).max(1).ilog2()) + 1
    }
}
