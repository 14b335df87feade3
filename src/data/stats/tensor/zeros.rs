//! Rows and columns of zeros: the bits of all their elements, united, are those of zero.

use crate::bytes::entry;
use crate::data::content::Array;
use crate::data::dtype::DType;
use crate::data::region::Region;

/// The most bytes of a row whose columns are looked at, and of the table of rows.
const MOST: u64 = 16 << 20;
/// Bytes that are united side by side; a multiple of the size of every element.
const LANES: usize = 64;

/// Rows or columns of zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZeroLines {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Option<u64>,
    /// The last of them.
    pub last: Option<u64>,
}

impl ZeroLines {
    fn of(alive: impl Iterator<Item = bool>) -> Self {
        let mut lines = ZeroLines::default();
        for (n, _) in alive.enumerate().filter(|(_, alive)| !alive) {
            lines.count += 1;
            lines.first.get_or_insert(n as u64);
            lines.last = Some(n as u64);
        }
        lines
    }
}

/// What is not zero so far.
pub(super) struct Alive {
    /// Of each byte of an element those bits that make it other than zero: all but the sign of floats.
    mask: Vec<u8>,
    /// Bytes of a row.
    row: usize,
    /// Of each row whether something of it is not zero; empty where there are no rows, or too many.
    rows: Vec<bool>,
    /// The bits of all elements of each column, united; empty where columns are not looked at.
    columns: Vec<u8>,
    /// Whether each column is known to have something that is not zero.
    all_columns: bool,
}

impl Alive {
    /// Nothing of an array was looked at.
    pub(super) fn new(array: &dyn Array) -> Self {
        let none =
            Alive { mask: Vec::new(), row: 0, rows: Vec::new(), columns: Vec::new(), all_columns: false };
        let (mask, shape) = (mask(array.dtype()), array.shape());
        let ([rows, inner @ ..], 2..) = (shape, shape.len()) else { return none };
        let row = inner.iter().try_fold(mask.len() as u64, |product, side| product.checked_mul(*side));
        match row.filter(|row| *row > 0 && *row <= MOST && *rows <= MOST && LANES.is_multiple_of(mask.len()))
        {
            Some(row) => Alive {
                mask,
                row: row as usize,
                rows: vec![false; *rows as usize],
                columns: vec![0; row as usize],
                all_columns: false,
            },
            None => none,
        }
    }

    /// Looks at the elements of a region of whole rows; not at each where it is known that too few are zero for a row
    /// or a column of them.
    pub(super) fn add(&mut self, region: &Region, bytes: &[u8], zeros: Option<u64>) {
        let Some(first) = region.0.first().filter(|_| self.row > 0) else { return };
        if bytes.len() as u64 != first.count.saturating_mul(self.row as u64) {
            // Parts of rows: nothing can be said of any.
            *self =
                Alive { mask: Vec::new(), row: 0, rows: Vec::new(), columns: Vec::new(), all_columns: false };
            return;
        }
        let across = (self.row / self.mask.len().max(1)) as u64;
        if zeros.is_some_and(|zeros| zeros < across.min(first.count)) {
            for n in 0..first.count {
                if let Some(alive) = self.rows.get_mut(first.index(n) as usize) {
                    *alive = true;
                }
            }
            if !std::mem::replace(&mut self.all_columns, true) {
                self.columns.fill(u8::MAX);
            }
            return;
        }
        let whole = self.row / LANES * LANES;
        for (n, row) in bytes.chunks_exact(self.row).enumerate() {
            let mut united = [0u8; LANES];
            let (lanes, rest) = row.split_at(whole);
            let (columns, last) = self.columns.split_at_mut(whole);
            for (chunk, columns) in
                lanes.as_chunks::<LANES>().0.iter().zip(columns.as_chunks_mut::<LANES>().0)
            {
                for ((lane, column), byte) in united.iter_mut().zip(columns).zip(chunk) {
                    *lane |= byte;
                    *column |= byte;
                }
            }
            for ((lane, column), byte) in united.iter_mut().zip(last).zip(rest) {
                *lane |= byte;
                *column |= byte;
            }
            if let Some(alive) = self.rows.get_mut(first.index(n as u64) as usize) {
                *alive |= united.chunks_exact(self.mask.len()).any(|bits| is_alive(&self.mask, bits));
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Alive) {
        if other.row == 0 {
            self.row = 0;
        }
        self.rows.iter_mut().zip(&other.rows).for_each(|(alive, more)| *alive |= more);
        self.columns.iter_mut().zip(&other.columns).for_each(|(bits, more)| *bits |= more);
    }

    /// Rows and columns of zeros.
    pub(super) fn finish(&self, array: &dyn Array) -> (Option<ZeroLines>, Option<ZeroLines>) {
        let Some(&count) = array.shape().get(1).filter(|_| self.row > 0) else { return (None, None) };
        let rows = ZeroLines::of(self.rows.iter().copied());
        let column = self.row / usize::try_from(count).unwrap_or(1).max(1);
        let columns = self.columns.chunks_exact(column.max(1));
        let alive =
            columns.map(|column| column.chunks_exact(self.mask.len()).any(|bits| is_alive(&self.mask, bits)));
        (Some(rows), Some(ZeroLines::of(alive)))
    }
}

/// Whether united bits are of something that is not zero.
fn is_alive(mask: &[u8], bits: &[u8]) -> bool {
    bits.iter().zip(mask).any(|(bits, mask)| bits & mask != 0)
}

/// Of each byte of an element the bits that are no sign of a float.
fn mask(dtype: &DType) -> Vec<u8> {
    let mut mask = vec![u8::MAX; dtype.size() as usize];
    let sign = match dtype {
        // Not all of them have a zero with a sign.
        DType::Mini(kind) => {
            let sign = u8::try_from(1u32 << (kind.bits() - 1)).unwrap_or(0);
            if *entry(kind.table(), sign) == 0.0 { sign } else { 0 }
        }
        other if other.is_float() => 0x80,
        _ => 0,
    };
    let part = if dtype.is_complex() { mask.len() / 2 } else { mask.len() };
    mask.chunks_exact_mut(part.max(1)).filter_map(<[u8]>::last_mut).for_each(|last| *last &= !sign);
    mask
}
