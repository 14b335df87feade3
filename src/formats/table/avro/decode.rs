//! Avro's binary encoding: a cursor over bytes, and how to step over values (specification, *Binary Encoding*).

use super::schema::Type;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::{leb128, zigzag};

/// Reads values one after the other.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    place: usize,
    /// Where the bytes start in the file, for errors.
    base: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], base: u64) -> Self {
        Cursor { bytes, place: 0, base }
    }

    /// Where the next value is, counted from the file's start.
    pub(super) fn at(&self) -> u64 {
        self.base + self.place as u64
    }

    fn wrong(&self, what: &str) -> Error {
        Error::malformed(format!("Avro: {what}")).at(self.at())
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.place.checked_add(len).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| self.wrong("a value reaches beyond the end"))?;
        let taken = self.bytes.get(self.place..end).unwrap_or_default();
        self.place = end;
        Ok(taken)
    }

    /// A number in zig-zag form, 7 bits a byte.
    pub(super) fn long(&mut self) -> Result<i64> {
        let rest = self.bytes.get(self.place..).unwrap_or_default();
        let Some((value, taken)) = leb128(rest) else {
            let ends = rest.len() < 10;
            self.place += rest.len().min(10);
            return Err(self.wrong(match ends {
                true => "a value reaches beyond the end",
                false => "a number has more than ten bytes",
            }));
        };
        self.place += taken;
        Ok(zigzag(value))
    }

    /// A length with its bytes.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.long()?;
        let len = usize::try_from(len).map_err(|_| self.wrong("a length is negative"))?;
        self.take(len)
    }

    /// How many items the next block of an array or map has; 0 at its end. A negative count has the block's
    /// size after it.
    pub(super) fn block_count(&mut self) -> Result<u64> {
        let count = self.long()?;
        if count < 0 {
            self.long()?;
        }
        // Items may have no bytes at all, so the bytes that are left bound nothing; this does.
        let bound = (self.bytes.len() as u64).max(1 << 20);
        limits::check(count.unsigned_abs(), bound, "a block of items").map(|count| count as u64)
    }

    /// The branch of a union.
    pub(super) fn branch<'t>(&mut self, branches: &'t [Type]) -> Result<(usize, &'t Type)> {
        let branch = self.long()?;
        let found = usize::try_from(branch).ok().and_then(|n| branches.get(n).map(|one| (n, one)));
        found.ok_or_else(|| self.wrong("a union has no such branch"))
    }

    /// Steps over a value.
    pub(super) fn skip(&mut self, of: &Type, depth: usize) -> Result<()> {
        if depth > limits::DEPTH {
            return Err(self.wrong("values are nested too deep"));
        }
        match of {
            Type::Null => {}
            Type::Boolean => {
                self.take(1)?;
            }
            Type::Int(_) | Type::Long(_) | Type::Enum(_) => {
                self.long()?;
            }
            Type::Float => {
                self.take(4)?;
            }
            Type::Double => {
                self.take(8)?;
            }
            Type::Bytes(_) | Type::String => {
                self.bytes()?;
            }
            Type::Fixed(len, _) => {
                self.take(*len)?;
            }
            Type::Record(fields) => {
                for field in &fields.types {
                    self.skip(field, depth + 1)?;
                }
            }
            Type::Array(item) => {
                self.items(|cursor| cursor.skip(item, depth + 1))?;
            }
            Type::Map(value) => {
                self.items(|cursor| {
                    cursor.bytes()?;
                    cursor.skip(value, depth + 1)
                })?;
            }
            Type::Pairs(key, value) => {
                self.items(|cursor| {
                    cursor.skip(key, depth + 1)?;
                    cursor.skip(value, depth + 1)
                })?;
            }
            Type::Union(branches) => {
                let (_, branch) = self.branch(branches)?;
                self.skip(branch, depth + 1)?;
            }
            Type::Recursive(inner) => {
                let whole = inner.upgrade()?;
                self.skip(&whole, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Calls `each` for every item of an array or map.
    pub(super) fn items(&mut self, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<u64> {
        let mut total = 0u64;
        loop {
            let count = self.block_count()?;
            if count == 0 {
                return Ok(total);
            }
            total += count;
            limits::check(total, 1 << 31, "the items of one value")?;
            for _ in 0..count {
                each(self)?;
            }
        }
    }
}
