//! FlatBuffers: tables, vectors and texts in one piece of bytes that point forward to each other, read where they lie.
//! <https://flatbuffers.dev/internals/>
//!
//! Nothing is copied and nothing is read that is not asked for. Every offset is checked when it is followed. Offsets
//! from a table to what it holds only lead forward, so that there are no cycles; what many places share counts at each of
//! them, and no more is followed than FlatBuffers' own verifier allows. A field that a file does not have gives its
//! default. Fields are named by their slots: the place in the schema's table, where a union takes two, its type first.

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::{Number, le};
use std::cell::Cell;
use std::ops::Range;

/// The most tables that are followed: what FlatBuffers' own verifier allows.
const TABLES: u64 = 1_000_000;
/// The most numbers and bytes of texts that are given out.
const ITEMS: u64 = 1 << 24;
/// Bytes of an offset.
const OFFSET: usize = 4;

/// Bytes with tables in them, which begin where their file does.
#[derive(Debug)]
pub struct Buffer<'a> {
    bytes: &'a [u8],
    tables: Cell<u64>,
    items: Cell<u64>,
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    buffer: &'a Buffer<'a>,
    at: usize,
    /// How many bytes its fields take.
    len: usize,
    /// Where its fields lie: two bytes a slot.
    slots: &'a [u8],
}

/// A vector, or the bytes of a text.
#[derive(Clone, Copy, Debug)]
pub struct Vector<'a> {
    buffer: &'a Buffer<'a>,
    at: usize,
    len: usize,
    /// The bytes of its elements.
    bytes: &'a [u8],
}

impl<'a> Buffer<'a> {
    /// The buffer that begins where `bytes` do.
    pub fn new(bytes: &'a [u8]) -> Self {
        Buffer { bytes, tables: Cell::new(0), items: Cell::new(0) }
    }

    /// The table that the bytes begin with an offset to.
    ///
    /// # Errors
    /// `Malformed` where there is none.
    pub fn root(&'a self) -> Result<Table<'a>> {
        self.table(self.follow(0)?)
    }

    fn wrong(what: &str, at: usize) -> Error {
        Error::malformed(what).at(at as u64)
    }

    fn number<N: Number>(&self, at: usize) -> Result<N> {
        le(self.bytes, at)
            .ok_or_else(|| Self::wrong("a field reaches beyond the end; the file may be cut off", at))
    }

    /// Where the offset at `at` leads to.
    fn follow(&self, at: usize) -> Result<usize> {
        let offset = self.number::<u32>(at)? as usize;
        let to = at.checked_add(offset).filter(|to| offset != 0 && *to < self.bytes.len());
        to.ok_or_else(|| Self::wrong("an offset leads out of the file, which may be cut off", at))
    }

    fn table(&'a self, at: usize) -> Result<Table<'a>> {
        spend(&self.tables, 1, TABLES, "tables")?;
        let back = i64::from(self.number::<u32>(at)?.cast_signed());
        let begin = usize::try_from(at as i64 - back).ok().filter(|begin| *begin < self.bytes.len());
        let begin =
            begin.ok_or_else(|| Self::wrong("the list of a table's fields lies out of the file", at))?;
        let (size, len) =
            (usize::from(self.number::<u16>(begin)?), usize::from(self.number::<u16>(begin + 2)?));
        let slots = (size >= 4 && size % 2 == 0).then(|| self.bytes.get(begin + 4..begin + size)).flatten();
        let slots = slots.ok_or_else(|| Self::wrong("the list of a table's fields is none", begin))?;
        if self.bytes.len() - at < len {
            return Err(Self::wrong("a table reaches beyond the end; the file may be cut off", at));
        }
        Ok(Table { buffer: self, at, len, slots })
    }

    fn vector(&'a self, at: usize, width: usize) -> Result<Vector<'a>> {
        let (len, at) = (self.number::<u32>(at)? as usize, at + OFFSET);
        let bytes = len.checked_mul(width).and_then(|size| self.bytes.get(at..at.checked_add(size)?));
        let bytes = bytes.ok_or_else(|| {
            let what = format!("a list of {len} reaches beyond the end; the file may be cut off");
            Error::malformed(what).at(at as u64)
        })?;
        Ok(Vector { buffer: self, at, len, bytes })
    }
}

/// Counts what was given out.
fn spend(counter: &Cell<u64>, count: u64, most: u64, what: &str) -> Result<()> {
    let all = counter.get().saturating_add(count);
    counter.set(all);
    if all > most {
        return Err(Error::limit(format!(
            "more than {most} {what} of a FlatBuffer, each counted where it is used"
        )));
    }
    Ok(())
}

impl<'a> Table<'a> {
    /// Where it begins.
    pub fn at(&self) -> u64 {
        self.at as u64
    }

    /// Where a field lies, if it is there; it takes `size` bytes.
    fn field(&self, slot: usize, size: usize) -> Result<Option<usize>> {
        let Some(inside) = le::<u16>(self.slots, slot * 2).map(usize::from).filter(|inside| *inside != 0)
        else {
            return Ok(None);
        };
        if inside + size > self.len {
            return Err(Buffer::wrong(&format!("field {slot} lies outside of its table"), self.at));
        }
        Ok(Some(self.at + inside))
    }

    /// Whether a field is there.
    pub fn has(&self, slot: usize) -> bool {
        le::<u16>(self.slots, slot * 2).is_some_and(|inside| inside != 0)
    }

    /// A number; `default` where the field is not there.
    ///
    /// # Errors
    /// `Malformed` for one outside of its table.
    pub fn number<N: Number>(&self, slot: usize, default: N) -> Result<N> {
        match self.field(slot, size_of::<N>())? {
            Some(at) => self.buffer.number(at),
            None => Ok(default),
        }
    }

    /// A truth value; `default` where the field is not there.
    ///
    /// # Errors
    /// As [`Table::number`].
    pub fn flag(&self, slot: usize, default: bool) -> Result<bool> {
        Ok(self.number::<u8>(slot, u8::from(default))? != 0)
    }

    fn target(&self, slot: usize) -> Result<Option<usize>> {
        self.field(slot, OFFSET)?.map(|at| self.buffer.follow(at)).transpose()
    }

    /// A table, also the value of a union.
    ///
    /// # Errors
    /// `Malformed` where its offset leads to none; `Limit` where too many were followed.
    pub fn table(&self, slot: usize) -> Result<Option<Table<'a>>> {
        self.target(slot)?.map(|at| self.buffer.table(at)).transpose()
    }

    /// A text. Bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// `Malformed` where it is not in the file; `Limit` where too much was read.
    pub fn text(&self, slot: usize) -> Result<Option<String>> {
        let Some(vector) = self.vector(slot, 1)? else { return Ok(None) };
        spend(&self.buffer.items, vector.len as u64, ITEMS, "numbers and characters")?;
        Ok(Some(String::from_utf8_lossy(vector.bytes).into_owned()))
    }

    /// A vector of elements of `width` bytes.
    ///
    /// # Errors
    /// `Malformed` where it is not in the file.
    pub fn vector(&self, slot: usize, width: usize) -> Result<Option<Vector<'a>>> {
        self.target(slot)?.map(|at| self.buffer.vector(at, width)).transpose()
    }

    /// The numbers of a vector; none where the field is not there.
    ///
    /// # Errors
    /// As [`Table::vector`]; `Limit` where too many were read.
    pub fn numbers<N: Number>(&self, slot: usize) -> Result<Vec<N>> {
        let Some(vector) = self.vector(slot, size_of::<N>())? else { return Ok(Vec::new()) };
        spend(&self.buffer.items, vector.len as u64, ITEMS, "numbers and characters")?;
        Ok(vector.bytes.chunks_exact(size_of::<N>().max(1)).filter_map(N::le).collect())
    }

    /// A vector of tables; an empty one where the field is not there.
    ///
    /// # Errors
    /// As [`Table::vector`].
    pub fn tables(&self, slot: usize) -> Result<Vector<'a>> {
        Ok(self.vector(slot, OFFSET)?.unwrap_or(self.nothing()))
    }

    /// A vector without elements.
    pub fn nothing(&self) -> Vector<'a> {
        Vector { buffer: self.buffer, at: self.at, len: 0, bytes: &[] }
    }
}

impl<'a> Vector<'a> {
    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of its elements.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where they lie in the file.
    pub fn span(&self) -> Range<u64> {
        self.at as u64..(self.at + self.bytes.len()) as u64
    }

    /// The table of this number, of a vector of tables.
    ///
    /// # Errors
    /// `Malformed` where its offset leads to none; `Limit` where too many were followed.
    pub fn table(&self, index: usize) -> Result<Table<'a>> {
        if index >= self.len {
            return Err(
                Error::malformed(format!("number {index} of a list of {}", self.len)).at(self.at as u64)
            );
        }
        self.buffer.table(self.buffer.follow(self.at + index * OFFSET)?)
    }
}

#[cfg(test)]
mod tests;
