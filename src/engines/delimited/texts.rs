//! Columns of text as their cells come, checked all at once for being characters.

use super::encoding;
use arrow::array::{ArrayRef, StringArray, StringBuilder};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use encoding_rs::{Encoding, UTF_8};
use std::sync::Arc;

/// The cells of one column, as bytes in some encoding. Whoever fills it keeps all of them below 2 GiB, decoded.
pub struct Texts {
    bytes: Vec<u8>,
    /// Where the cells begin, and where the last one ends.
    offsets: Vec<i32>,
    /// Which cells are there; empty as long as all are.
    valid: Vec<bool>,
}

impl Default for Texts {
    fn default() -> Self {
        Texts { bytes: Vec::new(), offsets: vec![0], valid: Vec::new() }
    }
}

impl Texts {
    /// Takes a cell.
    pub fn push(&mut self, cell: &[u8]) {
        self.bytes.extend_from_slice(cell);
        self.end(true);
    }

    /// Takes a cell that is not there.
    pub fn push_null(&mut self) {
        self.end(false);
    }

    fn end(&mut self, valid: bool) {
        if !valid && self.valid.is_empty() {
            self.valid.resize(self.offsets.len() - 1, true);
        }
        if !valid || !self.valid.is_empty() {
            self.valid.push(valid);
        }
        self.offsets.push(self.bytes.len() as i32);
    }

    /// The cells as text; what is no character of the encoding becomes U+FFFD.
    pub fn finish(self, encoding: &'static Encoding) -> ArrayRef {
        let nulls = Some(self.valid).filter(|valid| !valid.is_empty()).map(NullBuffer::from);
        let offsets = OffsetBuffer::new(self.offsets.into());
        let bytes = Buffer::from_vec(self.bytes);
        // Almost always right, and checked in one go.
        if encoding == UTF_8
            && let Ok(texts) = StringArray::try_new(offsets.clone(), bytes.clone(), nulls.clone())
        {
            return Arc::new(texts);
        }
        let mut texts = StringBuilder::with_capacity(offsets.len() - 1, bytes.len());
        for (row, cell) in offsets.windows(2).enumerate() {
            match (nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)), cell) {
                (true, &[from, to]) => {
                    let cell = bytes.get(from as usize..to as usize).unwrap_or_default();
                    texts.append_value(encoding::decode(encoding, cell));
                }
                _ => texts.append_null(),
            }
        }
        Arc::new(texts.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;
    use encoding_rs::WINDOWS_1252;

    fn of(encoding: &'static Encoding, cells: &[Option<&[u8]>]) -> Vec<Option<String>> {
        let mut texts = Texts::default();
        for cell in cells {
            match cell {
                Some(cell) => texts.push(cell),
                None => texts.push_null(),
            }
        }
        texts.finish(encoding).as_string::<i32>().iter().map(|cell| cell.map(str::to_owned)).collect()
    }

    #[test]
    fn cells_come_back_and_nulls_stand_between_them() {
        let some = |text: &str| Some(text.to_owned());
        let cells: [Option<&[u8]>; 5] = [Some(b"a"), None, Some(b""), Some("é".as_bytes()), None];
        assert_eq!(of(UTF_8, &cells), [some("a"), None, some(""), some("é"), None]);
        assert_eq!(of(UTF_8, &[None, Some(b"b")]), [None, some("b")]);
        assert_eq!(of(UTF_8, &[]), []);
        assert_eq!(of(WINDOWS_1252, &[Some(b"\xe9"), None]), [some("é"), None]);
    }

    #[test]
    fn halves_of_a_character_in_two_cells_are_none() {
        let some = |text: &str| Some(text.to_owned());
        let cells: [Option<&[u8]>; 3] = [Some(b"\xc3"), Some(b"\xa9"), Some(b"ok")];
        assert_eq!(of(UTF_8, &cells), [some("\u{fffd}"), some("\u{fffd}"), some("ok")]);
    }
}
