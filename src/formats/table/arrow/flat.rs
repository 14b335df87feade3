//! A walker over flatbuffers that trusts nothing: for what has no generated reader (Feather 1) and for
//! a first look at a message of which only the start is at hand.
//!
//! Specification: <https://flatbuffers.dev/internals/>.

use crate::bytes::error::{Error, Result};

/// A table in a flatbuffer.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    fields: usize,
    fields_len: usize,
}

/// `N` bytes at `at`.
fn take<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let end = at.checked_add(N).ok_or_else(outside)?;
    bytes.get(at..end).and_then(|b| b.try_into().ok()).ok_or_else(outside)
}

fn outside() -> Error {
    Error::malformed("metadata: an offset leads out of it")
}

impl<'a> Table<'a> {
    /// The root table of a buffer.
    pub(super) fn root(bytes: &'a [u8]) -> Result<Table<'a>> {
        Table::new(bytes, u32::from_le_bytes(take(bytes, 0)?) as usize)
    }

    fn new(bytes: &'a [u8], at: usize) -> Result<Table<'a>> {
        let back = i32::from_le_bytes(take(bytes, at)?);
        let fields = i64::try_from(at).ok().and_then(|at| usize::try_from(at - i64::from(back)).ok());
        let fields = fields.ok_or_else(outside)?;
        let fields_len = usize::from(u16::from_le_bytes(take(bytes, fields)?));
        if fields_len < 4 || fields_len % 2 != 0 {
            return Err(Error::malformed("metadata: a table without fields"));
        }
        Ok(Table { bytes, at, fields, fields_len })
    }

    /// Where the field of this number is; `None` where it has its default.
    fn place(&self, field: usize) -> Result<Option<usize>> {
        let slot = 4 + 2 * field;
        if slot + 2 > self.fields_len {
            return Ok(None);
        }
        let offset = usize::from(u16::from_le_bytes(take(self.bytes, self.fields + slot)?));
        Ok((offset > 0).then_some(self.at + offset))
    }

    /// A field of one byte.
    pub(super) fn byte(&self, field: usize, default: u8) -> Result<u8> {
        match self.place(field)? {
            Some(at) => Ok(u8::from_le_bytes(take(self.bytes, at)?)),
            None => Ok(default),
        }
    }

    /// A field of two bytes.
    pub(super) fn short(&self, field: usize, default: i16) -> Result<i16> {
        match self.place(field)? {
            Some(at) => Ok(i16::from_le_bytes(take(self.bytes, at)?)),
            None => Ok(default),
        }
    }

    /// A field of four bytes.
    pub(super) fn int(&self, field: usize, default: i32) -> Result<i32> {
        match self.place(field)? {
            Some(at) => Ok(i32::from_le_bytes(take(self.bytes, at)?)),
            None => Ok(default),
        }
    }

    /// A field of eight bytes.
    pub(super) fn long(&self, field: usize, default: i64) -> Result<i64> {
        match self.place(field)? {
            Some(at) => Ok(i64::from_le_bytes(take(self.bytes, at)?)),
            None => Ok(default),
        }
    }

    /// What a field points at.
    fn target(&self, field: usize) -> Result<Option<usize>> {
        let Some(at) = self.place(field)? else { return Ok(None) };
        let step = u32::from_le_bytes(take(self.bytes, at)?) as usize;
        at.checked_add(step).map(Some).ok_or_else(outside)
    }

    /// A field that is a table.
    pub(super) fn table(&self, field: usize) -> Result<Option<Table<'a>>> {
        self.target(field)?.map(|at| Table::new(self.bytes, at)).transpose()
    }

    /// A field that is text.
    pub(super) fn text(&self, field: usize) -> Result<Option<&'a str>> {
        let Some(at) = self.target(field)? else { return Ok(None) };
        let len = u32::from_le_bytes(take(self.bytes, at)?) as usize;
        let bytes = self.bytes.get(at + 4..).and_then(|rest| rest.get(..len)).ok_or_else(outside)?;
        let text = std::str::from_utf8(bytes).map_err(|_| Error::malformed("metadata: text is not UTF-8"))?;
        Ok(Some(text))
    }

    /// A field that is a list of tables.
    pub(super) fn tables(&self, field: usize) -> Result<Vec<Table<'a>>> {
        let Some(at) = self.target(field)? else { return Ok(Vec::new()) };
        let count = u32::from_le_bytes(take(self.bytes, at)?) as usize;
        if count > self.bytes.len() / 4 {
            return Err(Error::malformed(format!("metadata: a list of {count} tables is longer than it")));
        }
        (0..count)
            .map(|n| {
                let at = at + 4 + 4 * n;
                let step = u32::from_le_bytes(take(self.bytes, at)?) as usize;
                Table::new(self.bytes, at.checked_add(step).ok_or_else(outside)?)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_walk_over_anything_ends(bytes: Vec<u8>) {
            if let Ok(root) = Table::root(&bytes) {
                for field in 0..8 {
                    let _ = (root.byte(field, 0), root.short(field, 0), root.int(field, 0), root.long(field, 0));
                    let _ = (root.text(field), root.tables(field).map(|t| t.len()), root.table(field).is_ok());
                }
            }
        }
    }
}
