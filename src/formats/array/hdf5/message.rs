//! The messages of object headers that say what a dataset is: dataspace, layout, filter pipeline, fill value,
//! external files. HDF5 File Format Specification, section IV.A.2.

use super::file::Cursor;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use bytes::Bytes;

/// The most dimensions that HDF5 allows.
pub const RANK: usize = 32;

/// The shape of a dataset or attribute (message 0x0001).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataspace {
    /// Scalar, simple or null.
    pub kind: Space,
    /// The current length of each dimension, slowest first; empty for scalar and null.
    pub dims: Vec<u64>,
    /// The largest length of each, `None` for unlimited; as long as `dims`.
    pub max: Vec<Option<u64>>,
}

/// The kinds of dataspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// One element.
    Scalar,
    /// A rectangle of elements.
    Simple,
    /// No elements and no shape.
    Null,
}

/// Where the elements of a dataset lie (message 0x0008).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In the object header itself.
    Compact {
        /// The elements.
        bytes: Bytes,
        /// Where they lie in the source.
        at: u64,
    },
    /// In one piece. `address` is `None` where nothing was written yet, `size` is in bytes (`None` in old
    /// versions of the message, which leave it to shape and type).
    Contiguous {
        /// Where they start.
        address: Option<u64>,
        /// How many bytes.
        size: Option<u64>,
    },
    /// In chunks that an index finds.
    Chunked(Chunked),
    /// In other datasets: a virtual dataset. Its mappings are an object of a global heap.
    Virtual(HeapId),
}

/// A layout in chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunked {
    /// The shape of one chunk, in elements, as long as the dataspace's; the last entry of the message (the
    /// element's size) stands in `element`.
    pub chunk: Vec<u64>,
    /// Bytes of one element.
    pub element: u64,
    /// How chunks are found.
    pub index: ChunkIndex,
    /// Where the index starts (for `Single` and `Implicit`: the chunks themselves); `None` where no chunk
    /// was written yet.
    pub address: Option<u64>,
    /// Chunks that reach over the edge of the dataspace are stored without filters.
    pub plain_edges: bool,
    /// Stored sizes of filtered chunks have as many bytes as lengths of the file have (version 5 of the
    /// message), not just as many as a chunk's bytes need: `1 + (log2(chunk bytes) + 8) / 8`, at most 8.
    pub wide_sizes: bool,
}

/// The flag for `wide_sizes` beside those of the file.
const WIDE: u8 = 0x80;

/// The kinds of chunk indexes with their parameters (specification VIII, appendix C).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkIndex {
    /// A B-tree of version 1, node type 1.
    BTree1,
    /// The only chunk lies at the address; `filtered` has its stored size and the mask of filters that were
    /// left out, where it has filters.
    Single {
        /// (bytes, filter mask).
        filtered: Option<(u64, u32)>,
    },
    /// All chunks lie one after the other, without an index.
    Implicit,
    /// A fixed array.
    FixedArray {
        /// log2 of the entries of a data block page.
        page_bits: u8,
    },
    /// An extensible array.
    ExtensibleArray {
        /// Bits that number all of its elements.
        max_bits: u8,
        /// Elements in the index block.
        index_elements: u8,
        /// The least number of data block pointers of a secondary block.
        min_pointers: u8,
        /// The least number of elements of a data block.
        min_elements: u8,
        /// log2 of the entries of a data block page.
        page_bits: u8,
    },
    /// A B-tree of version 2, record types 10 and 11.
    BTree2 {
        /// Bytes of a node.
        node_size: u32,
        /// Percent at which nodes split.
        split: u8,
        /// Percent at which nodes merge.
        merge: u8,
    },
}

/// The place of an object in a global heap: how variable-length values, references and virtual layouts are
/// stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeapId {
    /// The address of the collection; `None` or 0 where there is no value.
    pub address: Option<u64>,
    /// The object's number in it.
    pub index: u32,
}

/// The filters of chunks, in the order of writing (message 0x000B).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterPipeline {
    /// The filters.
    pub filters: Vec<Filter>,
}

/// One filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The number that is registered for it (1 deflate, 2 shuffle, 3 fletcher32, 4 szip, 5 n-bit,
    /// 6 scale-offset, from 256 on plugins).
    pub id: u16,
    /// Bit 0: a chunk may lack it.
    pub flags: u16,
    /// Its name in the file; empty for the built-in ones of newer files.
    pub name: String,
    /// Its parameters.
    pub client: Vec<u32>,
}

/// The value of elements that were never written (messages 0x0004 and 0x0005).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FillValue {
    /// The library's own: zeros.
    Default,
    /// None is set: elements are undefined.
    Undefined,
    /// One element as stored, in the dataset's type.
    Value(Bytes),
}

/// Contiguous data that lies in other files (message 0x0007).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalFiles {
    /// The local heap that holds the names.
    pub heap: u64,
    /// The pieces, in order.
    pub slots: Vec<ExternalSlot>,
}

/// One piece of external data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalSlot {
    /// The file's name as it stands in the file; never trusted to be a harmless one.
    pub name: String,
    /// Where in the heap the name starts.
    pub name_offset: u64,
    /// Where in that file the data starts.
    pub offset: u64,
    /// How many bytes; `None` for unlimited.
    pub size: Option<u64>,
}

impl Dataspace {
    /// A scalar.
    pub fn scalar() -> Self {
        Dataspace { kind: Space::Scalar, dims: Vec::new(), max: Vec::new() }
    }

    /// How many elements.
    ///
    /// # Errors
    /// `Malformed` where that overflows 64 bits.
    pub fn elements(&self) -> Result<u64> {
        if self.kind == Space::Null { Ok(0) } else { limits::elements(&self.dims) }
    }

    /// Parses message 0x0001 of both versions.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let version = cursor.u8()?;
        let rank = usize::from(cursor.u8()?);
        let flags = cursor.u8()?;
        let kind = match version {
            1 => {
                cursor.skip(5)?;
                if rank == 0 { Space::Scalar } else { Space::Simple }
            }
            2 => match cursor.u8()? {
                0 => Space::Scalar,
                1 => Space::Simple,
                2 => Space::Null,
                other => return Err(cursor.error(format!("there is no kind {other} of dataspaces"))),
            },
            other => return Err(unknown("dataspace", other, cursor)),
        };
        if rank > RANK {
            return Err(cursor.error(format!("{rank} dimensions, {RANK} are allowed")));
        }
        let dims = (0..rank).map(|_| cursor.size()).collect::<Result<Vec<u64>>>()?;
        let max = if flags & 1 == 1 {
            (0..rank).map(|_| cursor.length()).collect::<Result<_>>()?
        } else {
            dims.iter().map(|dim| Some(*dim)).collect()
        };
        Ok(Dataspace { kind, dims, max })
    }
}

/// The error for a version of a message that nobody has described.
pub(super) fn unknown(what: &str, version: u8, cursor: &Cursor<'_>) -> Error {
    Error::unsupported(format!("HDF5 {what}: version {version}")).at(cursor.place())
}

impl Layout {
    /// The word for it: `compact`, `contiguous`, `chunked`, `virtual`.
    pub fn word(&self) -> &'static str {
        match self {
            Layout::Compact { .. } => "compact",
            Layout::Contiguous { .. } => "contiguous",
            Layout::Chunked(_) => "chunked",
            Layout::Virtual(_) => "virtual",
        }
    }

    /// Parses message 0x0008 of versions 1 to 5. `data` is the whole message.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        match cursor.u8()? {
            1 | 2 => Self::parse_old(cursor),
            version @ 3..=5 => match cursor.u8()? {
                0 => {
                    let size = usize::from(cursor.u16()?);
                    let at = cursor.place();
                    Ok(Layout::Compact { bytes: Bytes::copy_from_slice(cursor.bytes(size)?), at })
                }
                1 => Ok(Layout::Contiguous { address: cursor.address()?, size: cursor.length()? }),
                2 if version == 3 => Self::parse_chunked(cursor),
                2 => Chunked::parse(cursor, version),
                3 if version > 3 => {
                    Ok(Layout::Virtual(HeapId { address: cursor.address()?, index: cursor.u32()? }))
                }
                other => Err(cursor.error(format!("there is no layout class {other}"))),
            },
            other => Err(unknown("data layout", other, cursor)),
        }
    }

    /// Versions 1 and 2: rank first, sizes of four bytes.
    fn parse_old(cursor: &mut Cursor<'_>) -> Result<Self> {
        let rank = usize::from(cursor.u8()?);
        let class = cursor.u8()?;
        cursor.skip(5)?;
        if rank > RANK + 1 {
            return Err(cursor.error(format!("{rank} dimensions")));
        }
        let address = if class == 0 { None } else { cursor.address()? };
        let dims = (0..rank).map(|_| cursor.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
        match class {
            0 => {
                let size = cursor.u32()? as usize;
                let at = cursor.place();
                Ok(Layout::Compact { bytes: Bytes::copy_from_slice(cursor.bytes(size)?), at })
            }
            1 => Ok(Layout::Contiguous { address, size: None }),
            2 => match dims.split_last() {
                Some((element, dims)) => {
                    Chunked::checked(cursor, dims.to_vec(), *element, ChunkIndex::BTree1, address, 0)
                }
                None => Err(cursor.error("chunks without dimensions")),
            },
            other => Err(cursor.error(format!("there is no layout class {other}"))),
        }
    }

    /// Version 3: the rank counts the element's size as a dimension.
    fn parse_chunked(cursor: &mut Cursor<'_>) -> Result<Self> {
        let rank = usize::from(cursor.u8()?);
        let address = cursor.address()?;
        if rank == 0 || rank > RANK + 1 {
            return Err(cursor.error(format!("{rank} chunk dimensions")));
        }
        let dims = (1..rank).map(|_| cursor.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
        let element = u64::from(cursor.u32()?);
        Chunked::checked(cursor, dims, element, ChunkIndex::BTree1, address, 0)
    }
}

impl Chunked {
    /// Versions 4 and 5 of the layout message: any of five indexes.
    fn parse(cursor: &mut Cursor<'_>, version: u8) -> Result<Layout> {
        let flags = cursor.u8()?;
        let rank = usize::from(cursor.u8()?);
        let width = usize::from(cursor.u8()?);
        if rank == 0 || rank > RANK + 1 || width == 0 || width > 8 {
            return Err(cursor.error(format!("{rank} chunk dimensions of {width} bytes")));
        }
        let dims = (1..rank).map(|_| cursor.uint(width)).collect::<Result<Vec<_>>>()?;
        let element = cursor.uint(width)?;
        let index = match cursor.u8()? {
            1 if flags & 2 == 0 => ChunkIndex::Single { filtered: None },
            1 => ChunkIndex::Single { filtered: Some((cursor.size()?, cursor.u32()?)) },
            2 => ChunkIndex::Implicit,
            3 => ChunkIndex::FixedArray { page_bits: cursor.u8()? },
            4 => ChunkIndex::ExtensibleArray {
                max_bits: cursor.u8()?,
                index_elements: cursor.u8()?,
                min_pointers: cursor.u8()?,
                min_elements: cursor.u8()?,
                page_bits: cursor.u8()?,
            },
            5 => ChunkIndex::BTree2 { node_size: cursor.u32()?, split: cursor.u8()?, merge: cursor.u8()? },
            other => return Err(cursor.error(format!("there is no chunk index {other}"))),
        };
        let address = cursor.address()?;
        let wide = if version > 4 { WIDE } else { 0 };
        Self::checked(cursor, dims, element, index, address, flags & 1 | wide)
    }

    fn checked(
        cursor: &Cursor<'_>,
        chunk: Vec<u64>,
        element: u64,
        index: ChunkIndex,
        address: Option<u64>,
        flags: u8,
    ) -> Result<Layout> {
        if chunk.is_empty() || chunk.contains(&0) || element == 0 {
            return Err(cursor.error(format!("chunks of shape {chunk:?} with elements of {element} bytes")));
        }
        limits::bytes(&chunk, element).map_err(|e| e.at(cursor.place()))?;
        let (plain_edges, wide_sizes) = (flags & 1 == 1, flags & WIDE > 0);
        Ok(Layout::Chunked(Chunked { chunk, element, index, address, plain_edges, wide_sizes }))
    }
}

impl FilterPipeline {
    /// Parses message 0x000B of both versions.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let version = cursor.u8()?;
        let count = cursor.u8()?;
        if !(1..=2).contains(&version) {
            return Err(unknown("filter pipeline", version, cursor));
        }
        if version == 1 {
            cursor.skip(6)?;
        }
        if count > 32 {
            return Err(cursor.error(format!("{count} filters, 32 are allowed")));
        }
        let filters = (0..count).map(|_| Filter::parse(cursor, version)).collect::<Result<_>>()?;
        Ok(FilterPipeline { filters })
    }
}

impl Filter {
    fn parse(cursor: &mut Cursor<'_>, version: u8) -> Result<Self> {
        let id = cursor.u16()?;
        // Version 2 leaves the name out for the filters that HDF5 itself defines.
        let name_len = if version == 1 || id >= 256 { usize::from(cursor.u16()?) } else { 0 };
        let flags = cursor.u16()?;
        let count = usize::from(cursor.u16()?);
        let name = text(cursor.bytes(name_len)?);
        if version == 1 && name_len % 8 > 0 {
            cursor.skip(8 - name_len % 8)?;
        }
        if count.saturating_mul(4) > cursor.left() {
            return Err(cursor.error(format!("filter {id} has {count} parameters that are not there")));
        }
        let client = (0..count).map(|_| cursor.u32()).collect::<Result<_>>()?;
        if version == 1 && count % 2 == 1 {
            cursor.skip(4.min(cursor.left()))?;
        }
        Ok(Filter { id, flags, name, client })
    }
}

impl FillValue {
    /// Parses message 0x0005 of versions 1 to 3.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let version = cursor.u8()?;
        match version {
            1 | 2 => {
                cursor.skip(2)?;
                let defined = cursor.u8()?;
                // Version 1 always has a size; where nothing is defined, version 2 ends here.
                if version == 2 && defined == 0 {
                    return Ok(FillValue::Undefined);
                }
                Self::sized(cursor)
            }
            3 => {
                let flags = cursor.u8()?;
                match (flags >> 4 & 1, flags >> 5 & 1) {
                    (1, _) => Ok(FillValue::Undefined),
                    (_, 1) => Self::sized(cursor),
                    _ => Ok(FillValue::Default),
                }
            }
            other => Err(unknown("fill value", other, cursor)),
        }
    }

    /// Parses message 0x0004: a size and the bytes.
    pub fn parse_old(cursor: &mut Cursor<'_>) -> Result<Self> {
        Self::sized(cursor)
    }

    fn sized(cursor: &mut Cursor<'_>) -> Result<Self> {
        // A negative size says that there is no value.
        let size = cursor.u32()? as i32;
        match usize::try_from(size) {
            Err(_) => Ok(FillValue::Undefined),
            Ok(0) => Ok(FillValue::Default),
            Ok(size) => Ok(FillValue::Value(Bytes::copy_from_slice(cursor.bytes(size)?))),
        }
    }
}

impl ExternalFiles {
    /// Parses message 0x0007; the names stand in a local heap and are filled in by the caller.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let version = cursor.u8()?;
        if version != 1 {
            return Err(unknown("external data files", version, cursor));
        }
        cursor.skip(3)?;
        let _allocated = cursor.u16()?;
        let used = cursor.u16()?;
        let heap = cursor.defined()?;
        let mut slots = Vec::new();
        for _ in 0..used {
            let name_offset = cursor.size()?;
            let offset = cursor.size()?;
            slots.push(ExternalSlot { name: String::new(), name_offset, offset, size: cursor.length()? });
        }
        Ok(ExternalFiles { heap, slots })
    }
}

/// Text of the file up to its first zero byte; what is no UTF-8 is shown with the replacement sign.
pub(super) fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
