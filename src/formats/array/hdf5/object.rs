//! Object headers: what a group, dataset or committed datatype consists of — messages, in one or more
//! blocks, of two versions (section IV.A of the specification). And `Dataset`: the messages of a dataset,
//! taken apart.

use super::datatype::Datatype;
use super::file::{Cursor, File};
use super::message::{Dataspace, ExternalFiles, FillValue, FilterPipeline, Layout};
use super::{heap, shared};
use crate::bytes::codec::checksum;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::task::Task;
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::Arc;

/// The numbers of messages.
#[allow(missing_docs)] // the names are the specification's
pub mod kind {
    pub const NIL: u16 = 0x00;
    pub const DATASPACE: u16 = 0x01;
    pub const LINK_INFO: u16 = 0x02;
    pub const DATATYPE: u16 = 0x03;
    pub const FILL_VALUE_OLD: u16 = 0x04;
    pub const FILL_VALUE: u16 = 0x05;
    pub const LINK: u16 = 0x06;
    pub const EXTERNAL_FILES: u16 = 0x07;
    pub const LAYOUT: u16 = 0x08;
    pub const GROUP_INFO: u16 = 0x0a;
    pub const FILTER_PIPELINE: u16 = 0x0b;
    pub const ATTRIBUTE: u16 = 0x0c;
    pub const COMMENT: u16 = 0x0d;
    pub const MODIFIED_OLD: u16 = 0x0e;
    pub const SHARED_TABLE: u16 = 0x0f;
    pub const CONTINUATION: u16 = 0x10;
    pub const SYMBOL_TABLE: u16 = 0x11;
    pub const MODIFIED: u16 = 0x12;
    pub const BTREE_K: u16 = 0x13;
    pub const DRIVER_INFO: u16 = 0x14;
    pub const ATTRIBUTE_INFO: u16 = 0x15;
    pub const REFERENCE_COUNT: u16 = 0x16;
    pub const FILE_SPACE_INFO: u16 = 0x17;
}

/// The blocks of one object header that are followed.
const BLOCKS: usize = 4096;
/// The messages of one object header that are kept.
const MESSAGES: usize = 200_000;
/// Bytes that are fetched at first: most headers are shorter.
const FIRST: u64 = 512;

/// An object header.
#[derive(Clone, Debug)]
pub struct Object {
    /// Where it starts.
    pub address: u64,
    /// 1 or 2.
    pub version: u8,
    /// Its messages, in file order, without empty ones and continuations.
    pub messages: Vec<Message>,
    /// How many hard links lead to it.
    pub references: u32,
    /// When it was changed last, in seconds since 1970, where the header says so.
    pub modified: Option<u64>,
    /// What is wrong with parts of it; the rest is there.
    pub problems: Vec<Error>,
}

/// A message of an object header.
#[derive(Clone, Debug)]
pub struct Message {
    /// Which one: see [`kind`].
    pub kind: u16,
    /// Bit 1: the message lies elsewhere, `data` says where.
    pub flags: u8,
    /// When it was added, where that is tracked.
    pub order: Option<u16>,
    /// The address of its data.
    pub address: u64,
    /// Its data.
    pub data: Bytes,
}

/// What makes a dataset.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The object header's address.
    pub address: u64,
    /// The shape.
    pub space: Dataspace,
    /// The type of elements.
    pub datatype: Arc<Datatype>,
    /// Where they lie.
    pub layout: Layout,
    /// The filters of chunks.
    pub pipeline: FilterPipeline,
    /// What stands for elements that were never written.
    pub fill: FillValue,
    /// The files that hold a contiguous layout's data, if it is not this one.
    pub external: Option<ExternalFiles>,
}

impl Message {
    /// Whether the message lies elsewhere.
    pub fn is_shared(&self) -> bool {
        self.flags & 2 > 0
    }

    /// A cursor over its data.
    pub fn cursor<'a>(&'a self, file: &File, what: &'static str) -> Cursor<'a> {
        file.cursor(what, self.address, &self.data)
    }
}

impl Object {
    /// Reads the object header at `address`. A damaged continuation or checksum is a problem, no error.
    ///
    /// # Errors
    /// `Malformed` where there is no object header.
    pub fn read(file: &File, task: &Task, address: u64) -> Result<Self> {
        let bytes = file.read_up_to(task, address, FIRST)?;
        let mut object = Object {
            address,
            version: 1,
            references: 1,
            messages: Vec::new(),
            modified: None,
            problems: Vec::new(),
        };
        let mut blocks = Blocks::default();
        if bytes.starts_with(b"OHDR") {
            object.version = 2;
            object.read_new(file, task, &bytes, &mut blocks)?;
        } else {
            object.read_old(file, task, &bytes, &mut blocks)?;
        }
        object.follow(file, task, &mut blocks)?;
        Ok(object)
    }

    /// The first message of a kind.
    pub fn find(&self, kind: u16) -> Option<&Message> {
        self.messages.iter().find(|message| message.kind == kind)
    }

    /// All messages of a kind, in file order.
    pub fn all(&self, kind: u16) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |message| message.kind == kind)
    }

    /// The data of the first message of a kind, from wherever it lies: its address and its bytes.
    ///
    /// # Errors
    /// What following a shared message gives.
    pub fn resolved(&self, file: &File, task: &Task, kind: u16) -> Result<Option<(u64, Bytes)>> {
        match self.find(kind) {
            Some(message) => shared::resolve(file, task, message).map(Some),
            None => Ok(None),
        }
    }

    /// The type of a dataset, or the committed type that this object is.
    pub fn datatype(&self, file: &File, task: &Task) -> Result<Option<Datatype>> {
        let Some((address, data)) = self.resolved(file, task, kind::DATATYPE)? else { return Ok(None) };
        Datatype::parse(&mut file.cursor("datatype", address, &data)).map(Some)
    }

    /// The shape of a dataset.
    pub fn dataspace(&self, file: &File, task: &Task) -> Result<Option<Dataspace>> {
        let Some((address, data)) = self.resolved(file, task, kind::DATASPACE)? else { return Ok(None) };
        Dataspace::parse(&mut file.cursor("dataspace", address, &data)).map(Some)
    }

    /// The messages of a dataset, taken apart.
    ///
    /// # Errors
    /// `Malformed` where shape, type or layout are missing or cannot be understood.
    pub fn dataset(&self, file: &File, task: &Task) -> Result<Dataset> {
        let missing =
            |what: &str| Error::malformed(format!("HDF5 dataset: it has no {what}")).at(self.address);
        let datatype = self.datatype(file, task)?.ok_or_else(|| missing("datatype"))?;
        let space = self.dataspace(file, task)?.ok_or_else(|| missing("dataspace"))?;
        let (at, data) = self.resolved(file, task, kind::LAYOUT)?.ok_or_else(|| missing("layout"))?;
        let layout = Layout::parse(&mut file.cursor("data layout", at, &data))?;
        if let Layout::Chunked(chunked) = &layout
            && chunked.chunk.len() != space.dims.len()
        {
            return Err(Error::malformed(format!(
                "HDF5 dataset: chunks of {} dimensions in a shape of {}",
                chunked.chunk.len(),
                space.dims.len()
            ))
            .at(at));
        }
        let pipeline = match self.resolved(file, task, kind::FILTER_PIPELINE)? {
            Some((at, data)) => FilterPipeline::parse(&mut file.cursor("filter pipeline", at, &data))?,
            None => FilterPipeline::default(),
        };
        let fill = self.fill(file, task)?;
        let external = self.external(file, task)?;
        let datatype = Arc::new(datatype);
        Ok(Dataset { address: self.address, space, datatype, layout, pipeline, fill, external })
    }

    fn fill(&self, file: &File, task: &Task) -> Result<FillValue> {
        if let Some((at, data)) = self.resolved(file, task, kind::FILL_VALUE)? {
            return FillValue::parse(&mut file.cursor("fill value", at, &data));
        }
        match self.resolved(file, task, kind::FILL_VALUE_OLD)? {
            Some((at, data)) => FillValue::parse_old(&mut file.cursor("fill value", at, &data)),
            None => Ok(FillValue::Default),
        }
    }

    fn external(&self, file: &File, task: &Task) -> Result<Option<ExternalFiles>> {
        let Some((at, data)) = self.resolved(file, task, kind::EXTERNAL_FILES)? else { return Ok(None) };
        let mut external = ExternalFiles::parse(&mut file.cursor("external files", at, &data))?;
        let names = heap::LocalHeap::read(file, task, external.heap)?;
        for slot in &mut external.slots {
            slot.name = names.name(slot.name_offset)?;
        }
        Ok(Some(external))
    }

    /// Version 1: no signature, messages aligned to eight bytes.
    fn read_old(&mut self, file: &File, task: &Task, bytes: &[u8], blocks: &mut Blocks) -> Result<()> {
        let mut cursor = file.cursor("object header", self.address, bytes);
        let version = cursor.u8()?;
        if version != 1 {
            let what = format!("there is none here (version {version})");
            return Err(file.cursor("object header", self.address, bytes).error(what));
        }
        cursor.skip(1 + 2)?;
        self.references = cursor.u32()?;
        let size = u64::from(cursor.u32()?);
        // The messages start at a multiple of eight.
        let start = self.address.saturating_add(16);
        self.block(file, task, Block { address: start, size }, blocks)
    }

    /// Version 2: with signature, times, sizes as small as possible and a checksum.
    fn read_new(&mut self, file: &File, task: &Task, bytes: &[u8], blocks: &mut Blocks) -> Result<()> {
        let mut cursor = file.cursor("object header", self.address, bytes);
        cursor.signature(b"OHDR")?;
        let version = cursor.u8()?;
        if version != 2 {
            return Err(super::message::unknown("object header", version, &cursor));
        }
        let flags = cursor.u8()?;
        blocks.ordered = flags & 4 > 0;
        if flags & 0x20 > 0 {
            cursor.skip(4)?;
            self.modified = Some(u64::from(cursor.u32()?)).filter(|time| *time > 0);
            cursor.skip(8)?;
        }
        if flags & 0x10 > 0 {
            cursor.skip(4)?;
        }
        let size = cursor.uint(1 << (flags & 3))?;
        let start = self.address.saturating_add(cursor.taken() as u64);
        self.verify(file, task, cursor.taken() as u64, size);
        self.block(file, task, Block { address: start, size }, blocks)
    }

    /// Compares the checksum behind the first block; a wrong one is a problem.
    fn verify(&mut self, file: &File, task: &Task, head: u64, size: u64) {
        let covered = head.saturating_add(size);
        let read = file.read(task, self.address, covered.saturating_add(4));
        if let Ok(bytes) = read
            && !checksum::lookup3_matches(&bytes)
        {
            self.problems.push(
                Error::malformed("HDF5 object header: its checksum is wrong; it may be damaged")
                    .at(self.address),
            );
        }
    }

    /// Reads all blocks that continuation messages name.
    fn follow(&mut self, file: &File, task: &Task, blocks: &mut Blocks) -> Result<()> {
        let mut next = 0;
        while let Some(&block) = blocks.pending.get(next) {
            task.check()?;
            next += 1;
            if next > BLOCKS {
                self.problems.push(Error::limit(format!("an object header of over {BLOCKS} blocks")));
                break;
            }
            if let Err(error) = self.continuation(file, task, block, blocks).unless_cancelled()? {
                self.problems.push(error);
            }
        }
        Ok(())
    }

    fn continuation(&mut self, file: &File, task: &Task, block: Block, blocks: &mut Blocks) -> Result<()> {
        if !blocks.seen.insert(block.address) {
            return Err(
                Error::malformed("HDF5 object header: its continuations go in a circle").at(block.address)
            );
        }
        if self.version == 1 {
            return self.block(file, task, block, blocks);
        }
        let bytes = file.read(task, block.address, block.size)?;
        let mut cursor = file.cursor("object header continuation", block.address, &bytes);
        cursor.signature(b"OCHK")?;
        if !checksum::lookup3_matches(&bytes) {
            let error = cursor.error("its checksum is wrong; it may be damaged");
            self.problems.push(error);
        }
        let inner = block.size.saturating_sub(8);
        self.block(file, task, Block { address: block.address.saturating_add(4), size: inner }, blocks)
    }

    /// The messages of one block. What is cut off is a problem; the messages before it are there.
    fn block(&mut self, file: &File, task: &Task, block: Block, blocks: &mut Blocks) -> Result<()> {
        limits::check(block.size, limits::HEADER, "an object header")?;
        let bytes = file.read_up_to(task, block.address, block.size)?;
        if (bytes.len() as u64) < block.size {
            let there = bytes.len();
            let what = format!("{} bytes are needed, {there} are there; the file may be cut off", block.size);
            self.problems.push(file.cursor("object header", block.address, &bytes).error(what));
        }
        let mut cursor = file.cursor("object header", block.address, &bytes);
        let head = match (self.version, blocks.ordered) {
            (1, _) => 8,
            (_, false) => 4,
            (_, true) => 6,
        };
        while cursor.left() >= head {
            if self.messages.len() >= MESSAGES {
                return Err(Error::limit(format!("an object header of over {MESSAGES} messages")));
            }
            if let Err(error) = self.message(&mut cursor, block, &bytes, blocks) {
                self.problems.push(error);
                break;
            }
        }
        Ok(())
    }

    fn message(
        &mut self,
        cursor: &mut Cursor<'_>,
        block: Block,
        bytes: &Bytes,
        blocks: &mut Blocks,
    ) -> Result<()> {
        let (kind, size, flags, order);
        if self.version == 1 {
            (kind, size, flags) = (cursor.u16()?, usize::from(cursor.u16()?), cursor.u8()?);
            cursor.skip(3)?;
            order = None;
        } else {
            (kind, size, flags) = (u16::from(cursor.u8()?), usize::from(cursor.u16()?), cursor.u8()?);
            order = if blocks.ordered { Some(cursor.u16()?) } else { None };
        }
        let start = cursor.taken();
        let address = block.address.saturating_add(start as u64);
        let data = bytes.slice_ref(cursor.bytes(size)?);
        match kind {
            kind::NIL => {}
            kind::CONTINUATION => {
                let mut place = Cursor::new("continuation", cursor.place(), &data, cursor.sizes());
                blocks.pending.push(Block { address: place.defined()?, size: place.size()? });
            }
            kind::REFERENCE_COUNT => {
                let mut count = Cursor::new("reference count", cursor.place(), &data, cursor.sizes());
                count.skip(1)?;
                self.references = count.u32()?;
            }
            _ => self.messages.push(Message { kind, flags, order, address, data }),
        }
        Ok(())
    }
}

/// One block of an object header.
#[derive(Clone, Copy)]
struct Block {
    address: u64,
    size: u64,
}

/// The blocks of one header that are still to be read, and those that were.
#[derive(Default)]
struct Blocks {
    pending: Vec<Block>,
    seen: HashSet<u64>,
    /// Messages of version 2 have creation orders.
    ordered: bool,
}
