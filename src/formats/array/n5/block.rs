//! Blocks: a header with the block's own shape, then its elements, compressed.

use super::attributes::{Compression, Dataset};
use crate::bytes::codec::{blosc, bzip2, deflate, gzip, lz4, lzma, zstd};
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::strides;
use crate::bytes::task::Task;
use crate::data::adapt;
use crate::data::chunked::{self, Chunks};
use crate::data::content::{Block, Layout};
use crate::data::dtype::{ByteOrder, DType, Variable};
use crate::data::region::Region;
use crate::engines::keys::{Store, coordinate, join};
use arrow::array::{Array as _, ArrayRef, ListArray, StringBuilder};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use bytes::Bytes;
use std::sync::Arc;

/// The largest block file that is read.
const STORED: u64 = limits::CHUNK + (64 << 20);
/// The most blocks that are looked for one by one for the map of the storage.
const MAPPED: u64 = 200_000;

/// An array's blocks.
pub(super) struct Blocks {
    pub(super) store: Arc<Store>,
    /// The array's folder.
    pub(super) path: String,
    pub(super) dataset: Dataset,
    /// Blocks along each dimension.
    pub(super) grid: Vec<u64>,
}

/// A block's header.
struct Head {
    /// Slowest first.
    shape: Vec<u64>,
    /// How many elements there are, where that is not the product of the shape.
    count: Option<u64>,
    /// Bytes of the header.
    len: usize,
}

impl Head {
    fn read(bytes: &[u8]) -> Result<Head> {
        let cut = || Error::malformed("block header: it ends early; the file may be cut off");
        let mode = be::<u16>(bytes, 0).ok_or_else(cut)?;
        if mode > 2 {
            return Err(Error::malformed(format!("block header: mode {mode}; 0, 1 and 2 are known")).at(0));
        }
        let mut head = Head { shape: Vec::new(), count: None, len: 2 };
        if mode != 2 {
            let rank = usize::from(be::<u16>(bytes, 2).ok_or_else(cut)?);
            head.len = 4 + 4 * rank;
            let sides = (0..rank).rev().map(|d| be::<u32>(bytes, 4 + 4 * d).map(u64::from).ok_or_else(cut));
            head.shape = sides.collect::<Result<_>>()?;
        }
        if mode != 0 {
            head.count = Some(u64::from(be::<u32>(bytes, head.len).ok_or_else(cut)?));
            head.len += 4;
        }
        Ok(head)
    }
}

impl Head {
    /// Whether it says how many values there are: there may be others than the shape has room for.
    fn is_list(&self) -> bool {
        self.count.is_some()
    }
}

impl Blocks {
    /// The key of a block: its coordinates from the fastest dimension on.
    fn key(&self, index: &[u64]) -> String {
        index.iter().rev().fold(self.path.clone(), |key, n| join(&key, &n.to_string()))
    }

    fn load(&self, task: &Task, index: &[u64]) -> Result<Option<(Bytes, Head)>> {
        let key = self.key(index);
        let Some(bytes) = self.store.load(task, &key, STORED)? else { return Ok(None) };
        let head = Head::read(&bytes).map_err(|e| e.in_file(self.store.place(&key)))?;
        Ok(Some((bytes, head)))
    }

    /// The elements' bytes of a block, at most `most`.
    fn decompress(&self, stored: &[u8], most: usize) -> Result<Vec<u8>> {
        match &self.dataset.compression {
            Compression::Raw if stored.len() > most => Ok(stored.get(..most).unwrap_or_default().to_vec()),
            Compression::Raw => Ok(stored.to_vec()),
            // Which of the two wrappers it is, is not always told right.
            Compression::Gzip | Compression::Zlib if stored.starts_with(&[0x1f, 0x8b]) => {
                gzip::gzip(stored, most)
            }
            Compression::Gzip | Compression::Zlib => deflate::zlib(stored, most),
            Compression::Bzip2 => bzip2::decode(stored, most),
            Compression::Xz => lzma::decode(stored, most),
            // The Java library writes blocks with headers, z5 a bare one.
            Compression::Lz4 if stored.starts_with(b"LZ4Block") => lz4::java(stored, most),
            Compression::Lz4 => lz4::block(stored, most),
            Compression::Blosc(_) => blosc::decode(stored, most),
            Compression::Zstd => zstd::decode(stored, most),
            Compression::Unknown(word) => Err(Error::unsupported(format!("compression {word:?}"))),
        }
    }

    /// A block of numbers, brought to the shape that is wanted.
    fn numbers(&self, bytes: &[u8], head: &Head, index: &[u64]) -> Result<Bytes> {
        let dtype = &self.dataset.dtype;
        let whole = &self.dataset.block;
        let shape = if head.shape.is_empty() { whole } else { &head.shape };
        if shape.len() != whole.len() {
            return Err(Error::malformed(format!(
                "block header: {} dimensions in an array of {}",
                shape.len(),
                whole.len()
            )));
        }
        let size = chunked::chunk_bytes(dtype, shape)?;
        let elements = limits::elements(shape)?;
        if let Some(count) = head.count.filter(|&count| count != elements) {
            return Err(Error::unsupported(format!(
                "a block of variable length among others: {count} values for a block of {elements}"
            )));
        }
        let mut out = self.decompress(bytes.get(head.len..).unwrap_or_default(), size)?;
        if out.len() != size {
            let there = out.len();
            return Err(Error::malformed(format!(
                "data: {there} bytes, the block's shape {shape:?} needs {size}"
            )));
        }
        ByteOrder::Big.to_little(dtype, &mut out)?;
        let cut = Region::of_part(index, whole, &self.dataset.shape).shape();
        if shape == whole || *shape == cut {
            return Ok(out.into());
        }
        let mut padded = limits::buffer(chunked::chunk_bytes(dtype, whole)? as u64, "a block")?;
        strides::paste(&out, shape, &mut padded, whole, &vec![0; shape.len()], dtype.size() as usize);
        Ok(padded.into())
    }
}

/// How many blocks are looked at to find whether they are of variable length.
const SAMPLE: usize = 64;

impl Blocks {
    /// Whether the blocks are of variable length: the first one that is there says so. Other blocks' lengths
    /// are not known before they are read.
    ///
    /// # Errors
    /// A cancellation only.
    pub(super) fn are_lists(&self, task: &Task) -> Result<bool> {
        if self.dataset.dtype.is_variable() {
            return Ok(false);
        }
        let first = self.key(&vec![0; self.grid.len()]);
        let most = 4 + 4 * (self.grid.len() + 1);
        let head = |key: &str| match self.store.source(task, key)? {
            Some(source) => source.read_up_to(task, 0, most).map(Some),
            None => Ok(None),
        };
        let is = |key: &str| -> Result<Option<bool>> {
            let head = head(key).unless_cancelled()?;
            Ok(head.ok().flatten().and_then(|bytes| Head::read(&bytes).ok()).map(|head| head.is_list()))
        };
        if let Some(answer) = is(&first)? {
            return Ok(answer);
        }
        // Down the folders, one for each dimension, along the first that is there.
        let mut key = self.path.clone();
        for depth in 0..self.grid.len() {
            let is_last = depth + 1 == self.grid.len();
            let names = match is_last {
                true => self.store.files(task, &key).map(|files| files.into_iter().map(|f| f.0).collect()),
                false => self.store.folders(task, &key),
            };
            let mut names = names.unwrap_or_else(|_| Vec::new()).into_iter().take(SAMPLE);
            let Some(name) = names.find(|name| coordinate(name).is_some()) else { return Ok(false) };
            key = join(&key, &name);
        }
        Ok(is(&key)?.unwrap_or(false))
    }

    /// The values of a block of variable length.
    fn list(&self, bytes: &[u8], head: &Head) -> Result<ArrayRef> {
        let dtype = &self.dataset.dtype;
        let shape = if head.shape.is_empty() { &self.dataset.block } else { &head.shape };
        let count = head.count.map_or_else(|| limits::elements(shape), Ok)?;
        let size = limits::check(limits::bytes(&[count], dtype.size())?, limits::CHUNK, "a block")?;
        let mut out = self.decompress(bytes.get(head.len..).unwrap_or_default(), size)?;
        if out.len() != size {
            let there = out.len();
            return Err(Error::malformed(format!("data: {there} bytes, {count} values need {size}")));
        }
        ByteOrder::Big.to_little(dtype, &mut out)?;
        adapt::column(dtype, &[], &out, count as usize)
    }
}

impl Blocks {
    /// The coordinates of the blocks that are there, at most `most`.
    fn there(&self, task: &Task, most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        // A folder for each dimension, the fastest first; the last dimension's are the files.
        let keys = self.store.chunks(task, &self.path, self.grid.len(), most)?;
        let index = |key: String| key.rsplit('/').map(coordinate).collect();
        Ok(keys.filter(|_| !self.grid.is_empty()).map(|keys| keys.into_iter().filter_map(index).collect()))
    }
}

/// Blocks of variable length (mode 1): an array with one element a block, the list of its values.
pub(super) struct Lists(pub(super) Blocks);

impl Lists {
    /// The type of such an element.
    pub(super) fn dtype(numbers: &DType) -> Result<DType> {
        let inner = adapt::column(numbers, &[], &[], 0)?.data_type().clone();
        let arrow = DataType::List(Arc::new(Field::new_list_field(inner, true)));
        Ok(DType::Variable(Arc::new(Variable { word: "object".to_owned(), arrow, reference: false })))
    }
}

impl Chunks for Lists {
    fn chunk(&self, _: &Task, _: &[u64]) -> Result<Option<Bytes>> {
        Err(Error::bug("bytes were asked of blocks of variable length"))
    }

    fn is_missing(&self, task: &Task, index: &[u64]) -> Result<bool> {
        self.0.is_missing(task, index)
    }

    fn stored(&self, task: &Task, most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        self.0.there(task, most)
    }

    fn column(&self, task: &Task, index: &[u64]) -> Result<Option<ArrayRef>> {
        let Some((bytes, head)) = self.0.load(task, index)? else { return Ok(None) };
        let place = |e: Error| e.in_file(self.0.store.place(&self.0.key(index)));
        let values = self.0.list(&bytes, &head).map_err(place)?;
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths([values.len()]);
        Ok(Some(Arc::new(ListArray::try_new(field, offsets, values, None)?)))
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        let mut layout = self.0.layout(task)?;
        for (n, block) in layout.blocks.iter_mut().enumerate() {
            // How long a block is unpacked stands in the block.
            (block.first, block.count, block.raw) = (n as u64, 1, 0);
        }
        Ok(layout)
    }
}

impl Chunks for Blocks {
    fn is_missing(&self, task: &Task, index: &[u64]) -> Result<bool> {
        Ok(self.store.stored(task, &self.key(index))?.is_none())
    }

    fn stored(&self, task: &Task, most: usize) -> Result<Option<Vec<Vec<u64>>>> {
        self.there(task, most)
    }

    fn chunk(&self, task: &Task, index: &[u64]) -> Result<Option<Bytes>> {
        let Some((bytes, head)) = self.load(task, index)? else { return Ok(None) };
        self.numbers(&bytes, &head, index)
            .map(Some)
            .map_err(|e| e.in_file(self.store.place(&self.key(index))))
    }

    /// Texts: UTF-8 with a zero behind each.
    fn column(&self, task: &Task, index: &[u64]) -> Result<Option<ArrayRef>> {
        let Some((bytes, head)) = self.load(task, index)? else { return Ok(None) };
        let rows = limits::elements(&self.dataset.block)?;
        let rows = limits::check(rows, limits::CHUNK / 16, "a block of texts")?;
        let text = self.decompress(bytes.get(head.len..).unwrap_or_default(), limits::CHUNK as usize)?;
        let mut texts = text.strip_suffix(&[0]).unwrap_or(&text).split(|&byte| byte == 0);
        let shape = if head.shape.is_empty() { &self.dataset.block } else { &head.shape };
        let mut column = StringBuilder::new();
        for n in 0..rows as u64 {
            // Padding of an edge block has no texts.
            let inside = strides::unravel(n, &self.dataset.block).iter().zip(shape).all(|(at, end)| at < end);
            match inside.then(|| texts.next()).flatten() {
                Some(text) => column.append_value(String::from_utf8_lossy(text)),
                None => column.append_null(),
            }
        }
        Ok(Some(Arc::new(column.finish())))
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        let elements = limits::elements(&self.dataset.block)?;
        let raw = elements.saturating_mul(self.dataset.dtype.size());
        Layout::of_grid(task, "block", self.grid.clone(), MAPPED, |n, index| {
            let key = self.key(index);
            let stored = self.store.stored(task, &key)?;
            Ok(Block {
                name: key.get(self.path.len()..).unwrap_or_default().trim_start_matches('/').to_owned(),
                first: n.saturating_mul(elements),
                count: elements,
                stored: stored.unwrap_or(0),
                raw,
                missing: stored.is_none(),
            })
        })
    }
}

/// The fill value: N5 has none, missing blocks are zeros.
pub(super) fn fill(dtype: &DType) -> Option<ArrayRef> {
    dtype.is_variable().then(|| Arc::new(arrow::array::StringArray::from(vec![None::<&str>])) as ArrayRef)
}
