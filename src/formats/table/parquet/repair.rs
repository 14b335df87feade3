//! The footer as the format defines it: every structure is read field by field with the types that the
//! format gives them, and written anew.
//!
//! Readers that are generated from the definition pass over fields that they do not know or that have
//! another type, and take integers and empty lists of any width; some writers rely on it. The crate that
//! decodes the footer does not, and believes its counts. So what the definition does not have is left out
//! here, and what would allocate or nest without bound is refused. Definition:
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use super::elements;
use super::thrift::*;
use crate::bytes::error::{Error, Result};
use std::collections::BTreeSet;

/// The most row groups: the format numbers them by 16-bit integers.
const ROW_GROUPS: u64 = 1 << 15;

/// The structures of a footer that are copied field by field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    File,
    KeyValue,
    RowGroup,
    Sorting,
    Chunk,
    Column,
    Statistics,
}

/// What a field holds.
#[derive(Clone, Copy)]
enum Holds {
    Bool,
    Int32,
    Int64,
    Text,
    Bytes,
    Struct(Of),
    Structs(Of),
    /// Numbers of encodings.
    Encodings,
    /// The schema's elements.
    Schema,
    /// The orders of columns: one union each.
    Orders,
}

/// What field `id` of a structure holds; `None` for what is left out. That are, besides what the format
/// does not have: paths of columns, which repeat the schema, numbers of row groups, which repeat their
/// order, and statistics of sizes, pages and places, which nothing here asks for.
fn field(of: Of, id: i64) -> Option<Holds> {
    use Holds::*;
    Some(match (of, id) {
        (Of::File, 1) => Int32,
        (Of::File, 2) => Schema,
        (Of::File, 3) => Int64,
        (Of::File, 4) => Structs(Of::RowGroup),
        (Of::File, 5) => Structs(Of::KeyValue),
        (Of::File, 6) => Text,
        (Of::File, 7) => Orders,
        (Of::KeyValue, 1 | 2) => Text,
        (Of::RowGroup, 1) => Structs(Of::Chunk),
        (Of::RowGroup, 2 | 3 | 5 | 6) => Int64,
        (Of::RowGroup, 4) => Structs(Of::Sorting),
        (Of::Sorting, 1) => Int32,
        (Of::Sorting, 2 | 3) => Bool,
        (Of::Chunk, 1) => Text,
        (Of::Chunk, 2 | 4 | 6) => Int64,
        (Of::Chunk, 3) => Struct(Of::Column),
        (Of::Chunk, 5 | 7) => Int32,
        (Of::Column, 1 | 4 | 15) => Int32,
        (Of::Column, 2) => Encodings,
        (Of::Column, 5 | 6 | 7 | 9 | 10 | 11 | 14) => Int64,
        (Of::Column, 12) => Struct(Of::Statistics),
        (Of::Statistics, 1 | 2 | 5 | 6) => Bytes,
        (Of::Statistics, 3 | 4) => Int64,
        (Of::Statistics, 7 | 8) => Bool,
        _ => return None,
    })
}

/// A footer that was repaired.
#[derive(Debug, Default)]
pub(super) struct Repaired {
    pub(super) bytes: Vec<u8>,
    /// The columns that are encrypted in some row group, by their numbers in it. That is left out of the bytes.
    pub(super) encrypted: BTreeSet<usize>,
}

/// The footer `bytes`, repaired. What a user should know is added to `remarks`.
///
/// # Errors
/// `Malformed` where it is cut off or its schema is no tree, `Limit` for too many row groups or levels.
pub(super) fn footer(bytes: &[u8], remarks: &mut Vec<String>) -> Result<Repaired> {
    let mut repair = Repair {
        thrift: Thrift::new(bytes),
        out: Vec::with_capacity(bytes.len()),
        physical: None,
        leaves: 0,
        column: 0,
        encrypted: BTreeSet::new(),
        remarks,
    };
    repair.copy(Of::File)?;
    Ok(Repaired { bytes: repair.out, encrypted: repair.encrypted })
}

struct Repair<'a, 'b> {
    thrift: Thrift<'a>,
    out: Vec<u8>,
    /// The number of the physical type of the column that is copied.
    physical: Option<i64>,
    /// How many columns the schema has.
    leaves: u64,
    /// The number of the column that is copied, in its row group.
    column: usize,
    encrypted: BTreeSet<usize>,
    remarks: &'b mut Vec<String>,
}

fn is_integer(kind: u8) -> bool {
    (BYTE..=I64).contains(&kind)
}

impl Repair<'_, '_> {
    fn copy(&mut self, of: Of) -> Result<()> {
        let (mut id, mut last) = (0, 0);
        let mut has_offset = false;
        while let Some(kind) = self.thrift.field(&mut id)? {
            let copied = match field(of, id) {
                Some(holds) => self.field(of, id, &mut last, kind, holds)?,
                None => false,
            };
            if !copied {
                self.thrift.skip(kind, 0)?;
            }
            has_offset |= copied && id == 2;
            // By which key its pages are encrypted, and its metadata as they are without that key.
            if of == Of::Chunk && matches!((id, kind), (8, STRUCT) | (9, BINARY)) {
                self.encrypted.insert(self.column);
            }
        }
        if of == Of::Chunk && !has_offset {
            // It has a default, which writers may leave out.
            put_field(&mut self.out, 2, &mut last, I64);
            put_integer(&mut self.out, 0);
        }
        self.out.push(0);
        Ok(())
    }

    /// Copies a field of the type `kind`, if it is one that `holds` can be read from.
    fn field(&mut self, of: Of, id: i64, last: &mut i64, kind: u8, holds: Holds) -> Result<bool> {
        match holds {
            Holds::Bool if matches!(kind, TRUE | FALSE) => put_field(&mut self.out, id, last, kind),
            Holds::Int32 | Holds::Int64 if is_integer(kind) => {
                let value = self.thrift.integer(kind)?;
                let wide = matches!(holds, Holds::Int64);
                if of == Of::Column && id == 1 {
                    self.physical = Some(value);
                }
                // A negative count of nulls is none.
                let counts = of == Of::Statistics && value < 0;
                if !counts && (wide || i32::try_from(value).is_ok()) {
                    put_field(&mut self.out, id, last, if wide { I64 } else { I32 });
                    put_integer(&mut self.out, value);
                }
            }
            Holds::Text if kind == BINARY => {
                let bytes = self.thrift.binary()?;
                put_field(&mut self.out, id, last, BINARY);
                put_binary(&mut self.out, String::from_utf8_lossy(bytes).as_bytes());
            }
            Holds::Bytes if kind == BINARY => {
                let bytes = self.thrift.binary()?;
                if self.is_long_enough(bytes.len()) {
                    put_field(&mut self.out, id, last, BINARY);
                    put_binary(&mut self.out, bytes);
                }
            }
            Holds::Struct(inner) if kind == STRUCT => {
                put_field(&mut self.out, id, last, STRUCT);
                self.copy(inner)?;
            }
            Holds::Structs(inner) if matches!(kind, LIST | SET) => return self.structs(inner, id, last),
            Holds::Encodings if matches!(kind, LIST | SET) => return self.encodings(id, last),
            Holds::Schema if matches!(kind, LIST | SET) => {
                put_field(&mut self.out, id, last, LIST);
                self.leaves = elements::copy(&mut self.thrift, &mut self.out, self.remarks)?;
            }
            Holds::Orders if matches!(kind, LIST | SET) => return self.orders(id, last),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether an extreme is as long as a value of its column is, at least.
    fn is_long_enough(&self, len: usize) -> bool {
        match self.physical {
            Some(0) => len >= 1,
            Some(1 | 4) => len >= 4,
            Some(2 | 5) => len >= 8,
            Some(3) => len == 12,
            _ => true,
        }
    }

    /// Reads the header of a list whose elements must be of a type that `fits`; an empty one may say any.
    /// Else it goes back to its start.
    fn list(&mut self, fits: impl Fn(u8) -> bool) -> Result<Option<(u64, u8)>> {
        let start = self.thrift.at;
        let (count, kind) = self.thrift.list()?;
        if count == 0 || fits(kind) {
            return Ok(Some((count, kind)));
        }
        self.thrift.at = start;
        Ok(None)
    }

    fn structs(&mut self, of: Of, id: i64, last: &mut i64) -> Result<bool> {
        let Some((count, _)) = self.list(|kind| kind == STRUCT)? else { return Ok(false) };
        if of == Of::RowGroup && count > ROW_GROUPS {
            let what = format!("{count} row groups, the format has at most {ROW_GROUPS}");
            return Err(Error::limit(what));
        }
        put_field(&mut self.out, id, last, LIST);
        put_list(&mut self.out, count, STRUCT);
        for n in 0..count {
            if of == Of::Chunk {
                self.column = n as usize;
            }
            self.copy(of)?;
        }
        Ok(true)
    }

    /// The encodings of a column that the format has numbers for; a page of another one says so itself.
    fn encodings(&mut self, id: i64, last: &mut i64) -> Result<bool> {
        let Some((count, kind)) = self.list(is_integer)? else { return Ok(false) };
        let mut known = Vec::new();
        for _ in 0..count {
            let value = self.thrift.integer(kind)?;
            if matches!(value, 0 | 2..=9) && !known.contains(&value) {
                known.push(value);
            }
        }
        put_field(&mut self.out, id, last, LIST);
        put_list(&mut self.out, known.len() as u64, I32);
        known.iter().for_each(|value| put_integer(&mut self.out, *value));
        Ok(true)
    }

    /// The orders of columns, if there is one for each: a union whose only field is an empty struct.
    fn orders(&mut self, id: i64, last: &mut i64) -> Result<bool> {
        let Some((count, _)) = self.list(|kind| kind == STRUCT)? else { return Ok(false) };
        let mut orders = Vec::new();
        for _ in 0..count {
            let (mut number, mut found) = (0, Vec::new());
            while let Some(kind) = self.thrift.field(&mut number)? {
                self.thrift.skip(kind, 0)?;
                found.push(number);
            }
            match found.as_slice() {
                [only] if (1..16).contains(only) => orders.push(*only),
                _ => {}
            }
        }
        if count == self.leaves && orders.len() as u64 == count {
            put_field(&mut self.out, id, last, LIST);
            put_list(&mut self.out, count, STRUCT);
            for order in orders {
                put_field(&mut self.out, order, &mut 0, STRUCT);
                self.out.extend([0, 0]);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(bytes: &[u8]) -> Vec<u8> {
        footer(bytes, &mut Vec::new()).unwrap().bytes
    }

    /// FileMetaData {4: [RowGroup {1: [ColumnChunk {2: 0, 3: ColumnMetaData {…}}]}]}.
    fn column(column: &[u8]) -> Vec<u8> {
        let mut out = vec![0x49, 0x1c, 0x19, 0x1c, 0x26, 0x00, 0x1c];
        out.extend_from_slice(column);
        out.extend([0, 0, 0]);
        out
    }

    #[test]
    fn fields_of_another_type_are_left_out() {
        // 4: codec 1; 15: a list of one i32 in place of a length; 16: an empty struct
        let odd = column(&[0x45, 0x02, 0xb9, 0x15, 0x02, 0x1c, 0x00, 0x00]);
        assert_eq!(repaired(&odd), column(&[0x45, 0x02, 0x00]));
        // KeyValue {1: "k", 2: true}, {1: "k", 2: 1, 3: "more"}
        let odd = [
            0x59, 0x2c, 0x18, 1, b'k', 0x11, 0, 0x18, 1, b'k', 0x16, 2, 0x18, 4, b'm', b'o', b'r', b'e', 0, 0,
        ];
        let plain = [0x59, 0x2c, 0x18, 1, b'k', 0, 0x18, 1, b'k', 0, 0];
        assert_eq!(repaired(&odd), plain);
    }

    #[test]
    fn integers_and_empty_lists_of_any_width() {
        // encodings as 16-bit integers, one of them unknown; codec as a byte
        let odd = column(&[0x29, 0x34, 0x00, 0x08, 0x64, 0x23, 0x01, 0x00]);
        assert_eq!(repaired(&odd), column(&[0x29, 0x25, 0x00, 0x08, 0x25, 0x02, 0x00]));
        // an empty list of bytes for key-value metadata
        assert_eq!(repaired(&[0x59, 0x03, 0]), [0x59, 0x0c, 0]);
    }

    #[test]
    fn an_offset_that_is_left_out_is_zero() {
        // ColumnChunk {3: ColumnMetaData {}}
        let odd = [0x49, 0x1c, 0x19, 0x1c, 0x3c, 0, 0, 0, 0];
        assert_eq!(repaired(&odd), [0x49, 0x1c, 0x19, 0x1c, 0x3c, 0, 0x06, 0x04, 0x00, 0, 0, 0]);
    }

    #[test]
    fn extremes_too_short_for_their_type_are_left_out() {
        // 1: int64; 12: Statistics {3: −1 nulls, 5: two bytes, 6: eight bytes}
        let odd = column(&[0x15, 4, 0xbc, 0x36, 1, 0x28, 2, 0, 0, 0x18, 8, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
        let plain = column(&[0x15, 4, 0xbc, 0x68, 8, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
        assert_eq!(repaired(&odd), plain);
    }

    #[test]
    fn encrypted_columns_are_noted() {
        let chunks = |chunks: &[&[u8]]| {
            let mut out = vec![0x49, 0x1c, 0x19, (chunks.len() as u8) << 4 | 0x0c];
            for more in chunks {
                // ColumnChunk {2: 0, 3: ColumnMetaData {}, …}
                out.extend([0x26, 0, 0x1c, 0]);
                out.extend_from_slice(more);
                out.push(0);
            }
            out.extend([0, 0]);
            out
        };
        // 8: the union ColumnCryptoMetaData {1: EncryptionWithFooterKey {}}; 9: two bytes
        let whole = chunks(&[&[], &[0x5c, 0x1c, 0, 0], &[0x68, 2, 7, 7], &[0x55, 2]]);
        let repaired = footer(&whole, &mut Vec::new()).unwrap();
        assert_eq!(repaired.encrypted, BTreeSet::from([1, 2]));
        assert_eq!(repaired.bytes, chunks(&[&[], &[], &[], &[]]));
    }

    #[test]
    fn a_cut_footer_is_an_error() {
        let whole = column(&[0x45, 0x02, 0x00]);
        for cut in 0..whole.len() {
            assert!(footer(&whole[..cut], &mut Vec::new()).is_err(), "{cut}");
        }
    }
}
