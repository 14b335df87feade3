//! A walker over flatbuffers that trusts nothing: for what has no generated reader (Feather 1) and for
//! a first look at a message of which only the start is at hand.
//!
//! Specification: <https://flatbuffers.dev/internals/>.

use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::{Number, le};

/// A table in a flatbuffer.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    fields: usize,
    fields_len: usize,
}

/// The number at `at`.
fn take<N: Number>(bytes: &[u8], at: usize) -> Result<N> {
    le(bytes, at).ok_or_else(outside)
}

fn outside() -> Error {
    Error::malformed("metadata: an offset leads out of it")
}

impl<'a> Table<'a> {
    /// The root table of a buffer.
    pub(super) fn root(bytes: &'a [u8]) -> Result<Table<'a>> {
        Table::new(bytes, take::<u32>(bytes, 0)? as usize)
    }

    fn new(bytes: &'a [u8], at: usize) -> Result<Table<'a>> {
        let back = take::<i32>(bytes, at)?;
        let fields = i64::try_from(at).ok().and_then(|at| usize::try_from(at - i64::from(back)).ok());
        let fields = fields.ok_or_else(outside)?;
        let fields_len = usize::from(take::<u16>(bytes, fields)?);
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
        let offset = usize::from(take::<u16>(self.bytes, self.fields + slot)?);
        Ok((offset > 0).then_some(self.at + offset))
    }

    /// A field that is a number.
    pub(super) fn number<N: Number>(&self, field: usize, default: N) -> Result<N> {
        self.place(field)?.map_or(Ok(default), |at| take(self.bytes, at))
    }

    /// What a field points at.
    fn target(&self, field: usize) -> Result<Option<usize>> {
        let Some(at) = self.place(field)? else { return Ok(None) };
        let step = take::<u32>(self.bytes, at)? as usize;
        at.checked_add(step).map(Some).ok_or_else(outside)
    }

    /// A field that is a table.
    pub(super) fn table(&self, field: usize) -> Result<Option<Table<'a>>> {
        self.target(field)?.map(|at| Table::new(self.bytes, at)).transpose()
    }

    /// A field that is text.
    pub(super) fn text(&self, field: usize) -> Result<Option<&'a str>> {
        let Some(at) = self.target(field)? else { return Ok(None) };
        let len = take::<u32>(self.bytes, at)? as usize;
        let bytes = self.bytes.get(at + 4..).and_then(|rest| rest.get(..len)).ok_or_else(outside)?;
        let text = std::str::from_utf8(bytes).map_err(|_| Error::malformed("metadata: text is not UTF-8"))?;
        Ok(Some(text))
    }

    /// A field that is a list of tables.
    pub(super) fn tables(&self, field: usize) -> Result<Vec<Table<'a>>> {
        let Some(at) = self.target(field)? else { return Ok(Vec::new()) };
        let count = take::<u32>(self.bytes, at)? as usize;
        if count > self.bytes.len() / 4 {
            return Err(Error::malformed(format!("metadata: a list of {count} tables is longer than it")));
        }
        (0..count)
            .map(|n| {
                let at = at + 4 + 4 * n;
                let step = take::<u32>(self.bytes, at)? as usize;
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
                    let _ = (root.number::<u8>(field, 0), root.number::<i64>(field, 0));
                    let _ = (root.text(field), root.tables(field).map(|t| t.len()), root.table(field).is_ok());
                }
            }
        }
    }
}
