//! Blocks: a header with the block's own shape, then its elements, compressed.

use super::attributes::{Compression, Dataset};
use super::tree::Store;
use crate::bytes::codec::{blosc, bzip2, deflate, gzip, lz4, lzma, zstd};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::adapt;
use crate::data::chunked::{self, Chunks};
use crate::data::content::{Block, Layout};
use crate::data::dtype::{ByteOrder, DType, Variable};
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
        let short = |at: usize| bytes.get(at..).and_then(|b| b.first_chunk()).map(|b| u16::from_be_bytes(*b));
        let long = |at: usize| bytes.get(at..).and_then(|b| b.first_chunk()).map(|b| u32::from_be_bytes(*b));
        let mode = short(0).ok_or_else(cut)?;
        if mode > 2 {
            return Err(Error::malformed(format!("block header: mode {mode}; 0, 1 and 2 are known")).at(0));
        }
        let mut head = Head { shape: Vec::new(), count: None, len: 2 };
        if mode != 2 {
            let rank = usize::from(short(2).ok_or_else(cut)?);
            head.len = 4 + 4 * rank;
            let sides = (0..rank).rev().map(|d| long(4 + 4 * d).map(u64::from).ok_or_else(cut));
            head.shape = sides.collect::<Result<_>>()?;
        }
        if mode != 0 {
            head.count = Some(u64::from(long(head.len).ok_or_else(cut)?));
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
        let mut key = self.path.clone();
        for n in index.iter().rev() {
            if !key.is_empty() {
                key.push('/');
            }
            key.push_str(&n.to_string());
        }
        key
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
        let cut = |(d, n): (usize, &u64)| {
            let (len, side) = (self.dataset.shape.get(d).copied(), whole.get(d).copied().unwrap_or(1));
            len.unwrap_or(0).saturating_sub(n.saturating_mul(side)).min(side)
        };
        let cut: Vec<u64> = index.iter().enumerate().map(cut).collect();
        if shape == whole || *shape == cut {
            return Ok(out.into());
        }
        let mut padded = limits::buffer(chunked::chunk_bytes(dtype, whole)? as u64, "a block")?;
        place(&out, shape, &mut padded, whole, dtype.size() as usize);
        Ok(padded.into())
    }
}

/// The coordinate that a file or folder of blocks is named by. Names that are read as a number but are not how it
/// is written (`+5`, `05`) are other files: no block is looked for there.
fn coordinate(name: &str) -> Option<u64> {
    name.parse().ok().filter(|number: &u64| number.to_string() == name)
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
        let is = |key: &str| match self.store.head(task, key, 4 + 4 * (self.grid.len() + 1)) {
            Err(error) if error.is_cancelled() => Err(error),
            Err(_) | Ok(None) => Ok(None),
            Ok(Some(bytes)) => Ok(Head::read(&bytes).ok().map(|head| head.is_list())),
        };
        if let Some(answer) = is(&first)? {
            return Ok(answer);
        }
        // Down the folders, one for each dimension, along the first that is there.
        let mut key = self.path.clone();
        for depth in 0..self.grid.len() {
            let is_last = depth + 1 == self.grid.len();
            let names = self.store.names(task, &key, !is_last).unwrap_or_default();
            let Some(name) = names.into_iter().take(SAMPLE).find(|name| coordinate(name).is_some()) else {
                return Ok(false);
            };
            key = if key.is_empty() { name } else { format!("{key}/{name}") };
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
        let (rank, mut found) = (self.grid.len(), Vec::new());
        // A folder for each dimension, the fastest first; the last dimension's are the files.
        let mut open: Vec<Vec<u64>> = vec![Vec::new()];
        while let Some(above) = open.pop() {
            let mut path = self.path.clone();
            for at in &above {
                path = if path.is_empty() { at.to_string() } else { format!("{path}/{at}") };
            }
            let is_last = above.len() + 1 >= rank;
            for name in self.store.names(task, &path, !is_last)? {
                let Some(number) = coordinate(&name) else { continue };
                let next: Vec<u64> = above.iter().copied().chain([number]).collect();
                match is_last {
                    true => found.push(next.into_iter().rev().collect()),
                    false => open.push(next),
                }
            }
            if found.len().max(open.len()) > most {
                return Ok(None);
            }
        }
        Ok((rank > 0).then_some(found))
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

/// Copies the corner that two blocks of different shapes have in common.
fn place(from: &[u8], shape: &[u64], to: &mut [u8], whole: &[u64], size: usize) {
    let common: Vec<usize> = shape.iter().zip(whole).map(|(a, b)| *a.min(b) as usize).collect();
    let Some((&run, outer)) = common.split_last().filter(|_| !common.contains(&0)) else { return };
    let mut index = vec![0usize; outer.len()];
    loop {
        let flat = |sides: &[u64]| {
            let rows = index.iter().zip(sides).fold(0, |n, (i, side)| n * *side as usize + i);
            rows * sides.last().map_or(1, |side| *side as usize) * size
        };
        let source = from.get(flat(shape)..).and_then(|b| b.get(..run * size));
        let target = to.get_mut(flat(whole)..).and_then(|b| b.get_mut(..run * size));
        if let (Some(source), Some(target)) = (source, target) {
            target.copy_from_slice(source);
        }
        let mut axis = outer.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            let (Some(at), Some(&side)) = (index.get_mut(axis), outer.get(axis)) else { return };
            *at += 1;
            if *at < side {
                break;
            }
            *at = 0;
        }
    }
}

impl Chunks for Blocks {
    fn is_missing(&self, task: &Task, index: &[u64]) -> Result<bool> {
        Ok(self.store.size(task, &self.key(index))?.is_none())
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
            match is_inside(n, &self.dataset.block, shape).then(|| texts.next()).flatten() {
                Some(text) => column.append_value(String::from_utf8_lossy(text)),
                None => column.append_null(),
            }
        }
        Ok(Some(Arc::new(column.finish())))
    }

    fn layout(&self, task: &Task) -> Result<Layout> {
        let count = limits::elements(&self.grid)?;
        let mut layout = Layout { unit: "block", blocks: Vec::new(), grid: self.grid.clone() };
        Layout::check("block", count, MAPPED)?;
        let elements = limits::elements(&self.dataset.block)?;
        let raw = elements.saturating_mul(self.dataset.dtype.size());
        for n in 0..count {
            let mut rest = n;
            let mut index: Vec<u64> = Vec::with_capacity(self.grid.len());
            for &side in self.grid.iter().rev() {
                index.push(rest % side.max(1));
                rest /= side.max(1);
            }
            index.reverse();
            let key = self.key(&index);
            let stored = self.store.size(task, &key)?;
            layout.blocks.push(Block {
                name: key.get(self.path.len()..).unwrap_or_default().trim_start_matches('/').to_owned(),
                first: n.saturating_mul(elements),
                count: elements,
                stored: stored.unwrap_or(0),
                raw,
                missing: stored.is_none(),
            });
        }
        Ok(layout)
    }
}

/// Whether element `n` of a block of the shape `whole` lies in its corner of the shape `part`.
fn is_inside(n: u64, whole: &[u64], part: &[u64]) -> bool {
    let mut rest = n;
    whole.iter().zip(part).rev().all(|(side, end)| {
        let at = rest % (*side).max(1);
        rest /= (*side).max(1);
        at < *end
    })
}

/// The fill value: N5 has none, missing blocks are zeros.
pub(super) fn fill(dtype: &DType) -> Option<ArrayRef> {
    dtype.is_variable().then(|| Arc::new(arrow::array::StringArray::from(vec![None::<&str>])) as ArrayRef)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_named_by_numbers_as_they_are_written() {
        let read = ["0", "7", "10", "18446744073709551615"].map(coordinate);
        assert_eq!(read, [Some(0), Some(7), Some(10), Some(u64::MAX)]);
        for name in ["+5", "-0", "05", "00", "", " 5", "5.raw", "18446744073709551616", "٣"] {
            assert_eq!(coordinate(name), None, "{name:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_coordinate_is_found_by_its_name(number: u64, name in "[+0-9]{0,4}") {
            proptest::prop_assert_eq!(coordinate(&number.to_string()), Some(number));
            proptest::prop_assert!(coordinate(&name).is_none_or(|number| number.to_string() == name));
        }
    }
}
