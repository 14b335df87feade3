//! FlatBuffers, read by their places: a table is a number that leads back to its list of fields, vectors and texts are offsets
//! forward. Every place is looked up in the file when it is asked for, so that lists of any length stay there.
//! <https://flatbuffers.dev/internals/>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{Number, le};
use crate::engines::records::Window;
use std::cell::RefCell;

/// The longest text.
const TEXT: u64 = limits::HEADER;

/// The most tables or texts in a list: features, conditions.
const LISTED: u64 = 1 << 22;

/// A buffer in a file.
pub(super) struct Flat<'a> {
    window: RefCell<Window<'a>>,
    /// Where it begins in the file.
    start: u64,
}

/// A table in a buffer.
#[derive(Clone, Copy)]
pub(super) struct Table<'a, 'b> {
    flat: &'a Flat<'b>,
    at: u64,
}

/// A vector: where its elements begin in the file, and how many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Vector {
    pub(super) start: u64,
    pub(super) count: u64,
}

/// Refuses a list with more tables or texts than models have.
fn bounded(vector: Vector) -> Result<()> {
    if vector.count > LISTED {
        let what = format!("FlatBuffer: a list of {}; up to {LISTED} are read", vector.count);
        return Err(Error::limit(what).at(vector.start));
    }
    Ok(())
}

fn wrong(at: u64) -> Error {
    Error::malformed("FlatBuffer: a place in it leads beyond it").at(at)
}

impl<'a> Flat<'a> {
    pub(super) fn new(window: Window<'a>, start: u64) -> Self {
        Flat { window: RefCell::new(window), start }
    }

    fn number<N: Number>(&self, at: u64) -> Result<N> {
        let mut window = self.window.borrow_mut();
        le(window.get(at, size_of::<N>())?, 0).ok_or_else(|| wrong(at))
    }

    /// The table that the buffer is.
    pub(super) fn root(&self) -> Result<Table<'_, 'a>> {
        let at = self.start + u64::from(self.number::<u32>(self.start)?);
        Ok(Table { flat: self, at })
    }

    /// What an offset at `at` leads to.
    fn follow(&self, at: u64) -> Result<u64> {
        at.checked_add(u64::from(self.number::<u32>(at)?)).ok_or_else(|| wrong(at))
    }

    /// The vector at `at` of elements of `size` bytes, which are there.
    fn vector(&self, at: u64, size: u64) -> Result<Vector> {
        let count = u64::from(self.number::<u32>(at)?);
        let start = at + 4;
        let end =
            count.checked_mul(size).and_then(|bytes| bytes.checked_add(start)).ok_or_else(|| wrong(at))?;
        if self.window.borrow().known_len().is_some_and(|len| end > len) {
            return Err(Error::malformed(format!("FlatBuffer: {count} elements are not there")).at(at));
        }
        Ok(Vector { start, count })
    }

    fn text(&self, at: u64) -> Result<String> {
        let vector = self.vector(at, 1)?;
        let size = limits::check(vector.count, TEXT, "a text")?;
        let mut window = self.window.borrow_mut();
        Ok(String::from_utf8_lossy(window.get(vector.start, size)?).into_owned())
    }

    /// The elements of a vector of numbers.
    pub(super) fn numbers<N: Number>(&self, vector: Vector) -> Result<Vec<N>> {
        let size = size_of::<N>();
        let bytes = limits::check(vector.count * size as u64, limits::CHUNK, "a list of numbers")?;
        let mut window = self.window.borrow_mut();
        let bytes = window.get(vector.start, bytes)?;
        Ok(bytes.chunks_exact(size).filter_map(|bytes| le(bytes, 0)).collect())
    }
}

impl<'a, 'b> Table<'a, 'b> {
    /// Where a field's value is; `None` where it has none.
    fn field(&self, number: u64) -> Result<Option<u64>> {
        let back = i64::from(self.flat.number::<i32>(self.at)?);
        let list = self
            .at
            .checked_add_signed(-back)
            .filter(|list| *list >= self.flat.start)
            .ok_or_else(|| wrong(self.at))?;
        let place = 4 + 2 * number;
        if place + 2 > u64::from(self.flat.number::<u16>(list)?) {
            return Ok(None);
        }
        let offset = u64::from(self.flat.number::<u16>(list + place)?);
        Ok((offset > 0).then_some(self.at + offset))
    }

    /// A number; `default` where it is not there.
    pub(super) fn number<N: Number>(&self, field: u64, default: N) -> Result<N> {
        match self.field(field)? {
            Some(at) => self.flat.number(at),
            None => Ok(default),
        }
    }

    /// A text; empty where it is not there.
    pub(super) fn text(&self, field: u64) -> Result<String> {
        match self.field(field)? {
            Some(at) => self.flat.text(self.flat.follow(at)?),
            None => Ok(String::new()),
        }
    }

    /// A table.
    pub(super) fn table(&self, field: u64) -> Result<Option<Table<'a, 'b>>> {
        let Some(at) = self.field(field)? else { return Ok(None) };
        Ok(Some(Table { flat: self.flat, at: self.flat.follow(at)? }))
    }

    /// A vector of elements of `size` bytes; an empty one where it is not there.
    pub(super) fn vector(&self, field: u64, size: u64) -> Result<Vector> {
        match self.field(field)? {
            Some(at) => self.flat.vector(self.flat.follow(at)?, size),
            None => Ok(Vector::default()),
        }
    }

    /// The elements of a vector of numbers.
    pub(super) fn numbers<N: Number>(&self, field: u64) -> Result<Vec<N>> {
        self.flat.numbers(self.vector(field, size_of::<N>() as u64)?)
    }

    /// The tables of a vector.
    pub(super) fn tables(&self, field: u64) -> Result<Vec<Table<'a, 'b>>> {
        let vector = self.vector(field, 4)?;
        bounded(vector)?;
        let place = |n| vector.start + n * 4;
        let table = |n| Ok(Table { flat: self.flat, at: self.flat.follow(place(n))? });
        (0..vector.count).map(table).collect()
    }

    /// The elements of a vector of pairs of words.
    pub(super) fn pairs(&self, vector: Vector) -> Result<Vec<(u32, u32)>> {
        let words = self.flat.numbers::<u32>(Vector { count: vector.count * 2, ..vector })?;
        Ok(words.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect())
    }

    /// The texts of a vector.
    pub(super) fn texts(&self, field: u64) -> Result<Vec<String>> {
        let vector = self.vector(field, 4)?;
        bounded(vector)?;
        (0..vector.count).map(|n| self.flat.text(self.flat.follow(vector.start + n * 4)?)).collect()
    }
}
