//! Texts and binaries that lie one after the other, as in Arrow's arrays with offsets: hashed, compared and
//! measured without a jump that depends on the length of each. Such jumps, which no processor foresees, take
//! longer than all the rest.

use super::sketch::{hashed_parts, short};
use arrow::array::{Array, GenericByteArray, OffsetSizeTrait};
use arrow::buffer::NullBuffer;
use arrow::datatypes::ByteArrayType;

/// The cells of an array.
pub(super) struct Cells<'a, O> {
    offsets: &'a [O],
    data: &'a [u8],
    nulls: Option<&'a NullBuffer>,
}

impl<'a, O: OffsetSizeTrait> Cells<'a, O> {
    pub(super) fn of<T: ByteArrayType<Offset = O>>(array: &'a GenericByteArray<T>) -> Self {
        Cells { offsets: array.value_offsets(), data: array.value_data(), nulls: array.nulls() }
    }

    /// The rows that are not null.
    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        let len = self.offsets.len().saturating_sub(1);
        (0..len).filter(|&row| self.nulls.is_none_or(|nulls| nulls.is_valid(row)))
    }

    fn bounds(&self, row: usize) -> (usize, usize) {
        match self.offsets.get(row..) {
            Some([start, end, ..]) => (start.as_usize(), end.as_usize()),
            _ => (0, 0),
        }
    }

    /// At most eight bytes as a number, the first one in its lowest bits.
    fn word(&self, start: usize, len: usize) -> u64 {
        const KEPT: [u64; 8] =
            [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff, 0xff_ffff_ffff_ffff];
        let rest = self.data.get(start..).unwrap_or_default();
        match rest.first_chunk() {
            // What belongs to the next cells is cut off.
            Some(word) => u64::from_le_bytes(*word) & KEPT.get(len).copied().unwrap_or(u64::MAX),
            None => short(rest.get(..len).unwrap_or_default()),
        }
    }

    /// The hash of a cell: [`hashed`](super::sketch::hashed) of its bytes.
    pub(super) fn hash(&self, seed: u64, row: usize) -> u64 {
        let (start, end) = self.bounds(row);
        let (words, rest) = self.data.get(start..end).unwrap_or_default().as_chunks::<8>();
        hashed_parts(seed, words, self.word(end - rest.len(), rest.len()), end - start)
    }

    /// The rows of the smallest and the largest cell.
    pub(super) fn ends(&self) -> (Option<usize>, Option<usize>) {
        let (mut low, mut high): (Option<(usize, &[u8])>, _) = (None, None);
        // Their first eight bytes, in the order of bytes: most cells are told from both by these.
        let (mut least, mut most) = (u64::MAX, 0);
        for row in self.rows() {
            let (start, end) = self.bounds(row);
            let first = self.word(start, end - start).swap_bytes();
            if least < first && first < most {
                continue;
            }
            let cell = self.data.get(start..end).unwrap_or_default();
            if low.is_none_or(|(_, best)| (first, cell) < (least, best)) {
                (low, least) = (Some((row, cell)), first);
            }
            if high.is_none_or(|(_, best): (usize, &[u8])| (first, cell) > (most, best)) {
                (high, most) = (Some((row, cell)), first);
            }
        }
        (low.map(|(row, _)| row), high.map(|(row, _)| row))
    }

    /// Whether all bytes are ASCII, so that a character is a byte.
    pub(super) fn is_ascii(&self) -> bool {
        let bound = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
        let whole = bound(self.offsets.first())..bound(self.offsets.last());
        self.data.get(whole).is_some_and(<[u8]>::is_ascii)
    }

    /// Bytes of each cell that is not null.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows().map(|row| self.bounds(row)).map(|(start, end)| (end - start) as u64)
    }

    /// Characters of each text that is not null.
    pub(super) fn characters(&self) -> impl Iterator<Item = u64> + '_ {
        // Those are the bytes that do not go on with one.
        let begins = |byte: &&u8| **byte & 0xc0 != 0x80;
        let cells = self.rows().map(|row| self.bounds(row));
        cells.map(move |(start, end)| {
            self.data.get(start..end).unwrap_or_default().iter().filter(begins).count() as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sketch::hashed;
    use super::*;
    use arrow::array::{LargeBinaryArray, StringArray};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_are_what_their_bytes_are(
            cells in proptest::collection::vec(proptest::option::of("[a-cé\0]{0,19}"), 0..40),
            from in 0usize..40,
        ) {
            let array = StringArray::from(cells.clone());
            let from = from.min(array.len());
            let array = array.slice(from, array.len() - from);
            let cells = &cells[from..];
            let seen = Cells::of(&array);
            let there = || cells.iter().enumerate().filter_map(|(row, cell)| Some((row, cell.as_deref()?)));
            for (row, cell) in there() {
                prop_assert_eq!(seen.hash(7, row), hashed(7, cell.as_bytes()));
            }
            let (low, high) = seen.ends();
            prop_assert_eq!(low.and_then(|row| cells[row].as_deref()), there().map(|(_, cell)| cell).min());
            prop_assert_eq!(high.and_then(|row| cells[row].as_deref()), there().map(|(_, cell)| cell).max());
            prop_assert_eq!(seen.is_ascii(), there().all(|(_, cell)| cell.is_ascii()));
            let lengths: Vec<u64> = there().map(|(_, cell)| cell.len() as u64).collect();
            prop_assert_eq!(seen.lengths().collect::<Vec<_>>(), lengths);
            let characters: Vec<u64> = there().map(|(_, cell)| cell.chars().count() as u64).collect();
            prop_assert_eq!(seen.characters().collect::<Vec<_>>(), characters);
        }
    }

    #[test]
    fn the_first_of_equal_cells_is_the_end() {
        let array = LargeBinaryArray::from_iter_values([&b"bb"[..], b"aa", b"aa", b"bb"]);
        assert_eq!(Cells::of(&array).ends(), (Some(1), Some(0)));
    }
}
