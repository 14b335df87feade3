//! Whether a batch's buffers can hold the rows that its header claims.
//!
//! A header is a few words that anybody can write; buffers have to be there. A row count that no column
//! bears out would have every pass over the table run through rows that do not exist.

use super::batch::{Batch, Codec};
use super::schema::{Cursor, Plan};
use crate::bytes::limits;
use arrow::datatypes::{DataType, UnionMode};

/// The most bytes that Zstandard gives for one: a block of 128 KB that repeats a byte takes four.
const ZSTD: u64 = 1 << 15;
/// The same of LZ4, whose lengths grow by bytes of 255.
const LZ4: u64 = 255;

/// Whether at least one of the columns can have `rows` values, in a body of `body` bytes. Columns of nulls
/// have no buffers and any number of values.
pub(super) fn holds<'a>(
    plans: impl IntoIterator<Item = &'a Plan>,
    batch: &Batch,
    body: u64,
    old_unions: bool,
    rows: u64,
) -> bool {
    let room = Room { batch, body, old_unions };
    let (mut at, mut none) = (Cursor::default(), true);
    for plan in plans {
        none = false;
        if room.has(plan, &mut at.clone(), rows) {
            return true;
        }
        plan.skip(&mut at, &batch.views, old_unions);
    }
    none || rows == 0
}

/// Whether a type may have values without any bytes, all of them equal.
pub(super) fn may_be_hollow(dtype: &DataType) -> bool {
    match dtype {
        DataType::Null | DataType::FixedSizeBinary(0) | DataType::FixedSizeList(_, 0) => true,
        DataType::FixedSizeList(field, _) => may_be_hollow(field.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| may_be_hollow(field.data_type())),
        _ => false,
    }
}

/// Whether all `rows` rows of a batch are there and equal, as there are no bytes that could tell them apart.
pub(super) fn is_hollow<'a>(
    plans: impl IntoIterator<Item = &'a Plan>,
    batch: &Batch,
    old_unions: bool,
    rows: u64,
) -> bool {
    let room = Room { batch, body: 0, old_unions };
    let mut at = Cursor::default();
    plans.into_iter().all(|plan| {
        may_be_hollow(&plan.dtype)
            && room.has_no_nulls(plan, &mut at.clone())
            && room.has(plan, &mut at, rows)
    })
}

struct Room<'a> {
    batch: &'a Batch,
    body: u64,
    old_unions: bool,
}

impl Room<'_> {
    /// Whether a buffer can have `count` values of `bits` bits.
    fn buffer(&self, index: usize, count: u64, bits: u64) -> bool {
        let Some(&(offset, len)) = self.batch.buffers.get(index) else { return false };
        let len = if offset.checked_add(len).is_some_and(|end| end <= self.body) { len } else { 0 };
        let most = match self.batch.codec {
            None => len,
            Some(Codec::Lz4) => len.saturating_mul(LZ4).min(limits::CHUNK),
            Some(Codec::Zstd) => len.saturating_mul(ZSTD).min(limits::CHUNK),
        };
        u128::from(count) * u128::from(bits) <= u128::from(most) * 8
    }

    /// Whether the field at `at` can have `rows` values; goes on to the field behind it, if so.
    fn has(&self, plan: &Plan, at: &mut Cursor, rows: u64) -> bool {
        let Some(&(len, nulls)) = self.batch.nodes.get(at.node) else { return false };
        if len < rows {
            return false;
        }
        let start = *at;
        let mut behind = *at;
        plan.skip(&mut behind, &self.batch.views, self.old_unions);
        let no_bitmap =
            matches!(plan.dtype, DataType::Null | DataType::RunEndEncoded(_, _) | DataType::Union(_, _));
        // A bitmap may be left out, whatever the count of nulls says.
        let stored = self.batch.buffers.get(start.buffer).map_or(0, |(_, len)| *len);
        if !no_bitmap && nulls > 0 && stored > 0 && !self.buffer(start.buffer, rows, 1) {
            return false;
        }
        let first = start.buffer + usize::from(!no_bitmap);
        // The fields below follow this one's node and own buffers.
        let below =
            |buffers: usize| Cursor { node: start.node + 1, buffer: first + buffers, views: start.views };
        let fits = match &plan.dtype {
            // The last run may end anywhere: only its bytes tell.
            DataType::Null | DataType::RunEndEncoded(_, _) => true,
            DataType::Boolean => self.buffer(first, rows, 1),
            DataType::Utf8 | DataType::Binary | DataType::List(_) | DataType::Map(_, _) => {
                self.buffer(first, rows.saturating_add(1), 32)
            }
            DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_) => {
                self.buffer(first, rows.saturating_add(1), 64)
            }
            DataType::Utf8View | DataType::BinaryView => self.buffer(first, rows, 128),
            DataType::ListView(_) => self.buffer(first, rows, 32) && self.buffer(first + 1, rows, 32),
            DataType::LargeListView(_) => self.buffer(first, rows, 64) && self.buffer(first + 1, rows, 64),
            DataType::FixedSizeList(_, size) => {
                let values = rows.checked_mul(u64::try_from(*size).unwrap_or(0));
                let child = plan.children.first();
                child.zip(values).is_some_and(|(child, values)| self.has(child, &mut below(0), values))
            }
            DataType::Struct(_) => {
                let mut at = below(0);
                plan.children.iter().all(|child| self.has(child, &mut at, rows))
            }
            DataType::Union(_, mode) => {
                let ids = first + usize::from(self.old_unions);
                self.buffer(ids, rows, 8) && (*mode == UnionMode::Sparse || self.buffer(ids + 1, rows, 32))
            }
            DataType::Dictionary(keys, _) => self.values(first, keys, rows),
            fixed => self.values(first, fixed, rows),
        };
        *at = behind;
        fits
    }

    /// Whether the field at `at` and those below have no bitmaps that count; goes on to the field behind it.
    fn has_no_nulls(&self, plan: &Plan, at: &mut Cursor) -> bool {
        let start = *at;
        plan.skip(at, &self.batch.views, self.old_unions);
        if plan.dtype == DataType::Null {
            return true;
        }
        let nulls = self.batch.nodes.get(start.node).map_or(0, |(_, nulls)| *nulls);
        let stored = self.batch.buffers.get(start.buffer).map_or(0, |(_, len)| *len);
        let mut below = Cursor { node: start.node + 1, buffer: start.buffer + 1, views: start.views };
        let is_empty = matches!(plan.dtype, DataType::FixedSizeList(_, 0));
        (nulls == 0 || stored == 0)
            && (is_empty || plan.children.iter().all(|child| self.has_no_nulls(child, &mut below)))
    }

    /// Whether a buffer can have `rows` values of a fixed width.
    fn values(&self, index: usize, dtype: &DataType, rows: u64) -> bool {
        let width = match dtype {
            DataType::FixedSizeBinary(width) => u64::try_from(*width).unwrap_or(0),
            other => other.primitive_width().unwrap_or(0) as u64,
        };
        self.buffer(index, rows, width * 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Field, Fields};
    use std::sync::Arc;

    fn batch(nodes: &[(u64, u64)], buffers: &[u64]) -> Batch {
        let mut at = 0;
        let place = |len: &u64| {
            at += len;
            (at - len, *len)
        };
        Batch { nodes: nodes.to_vec(), buffers: buffers.iter().map(place).collect(), ..Batch::default() }
    }

    #[test]
    fn counts_are_held_against_buffers() {
        let plan = Plan::flat(DataType::Int64);
        let holds = |nodes: &[(u64, u64)], buffers: &[u64], rows| {
            holds([&plan], &batch(nodes, buffers), 1 << 20, false, rows)
        };
        assert!(holds(&[(4, 0)], &[0, 32], 4));
        assert!(!holds(&[(5, 0)], &[0, 32], 5), "five values in 32 bytes");
        assert!(!holds(&[(4, 0)], &[0, 32], 5), "the column has four");
        assert!(!holds(&[(1 << 60, 1 << 60)], &[0, 32], 1 << 60));
        assert!(!holds(&[(9, 1)], &[1, 72], 9), "nine bits in one byte");
        assert!(holds(&[(0, 0)], &[], 0));
    }

    #[test]
    fn one_column_that_bears_it_out_is_enough() {
        let plans = [Plan::flat(DataType::Utf8), Plan::flat(DataType::Null), Plan::flat(DataType::Int8)];
        let batch = batch(&[(3, 0), (1 << 50, 0), (2, 0)], &[0, 16, 5, 0, 2]);
        assert!(holds(&plans, &batch, 64, false, 1 << 50), "nulls have any number");
        assert!(!holds([&plans[0], &plans[2]], &batch, 64, false, 1 << 50));
    }

    #[test]
    fn rows_without_bytes_are_equal_if_none_can_be_null() {
        let plan = |dtype: DataType, children| Plan { dtype, dictionary: None, children };
        let of = |inner: &Plan| {
            let field = Field::new("x", inner.dtype.clone(), true);
            DataType::Struct(Fields::from(vec![field]))
        };
        let empty = || plan(DataType::Struct(Fields::empty()), Vec::new());
        let nested = plan(of(&empty()), vec![empty()]);
        let number = plan(of(&Plan::flat(DataType::Int8)), vec![Plan::flat(DataType::Int8)]);
        let hollow = |plan: &Plan, nodes: &[(u64, u64)], buffers: &[u64], rows| {
            is_hollow([plan], &batch(nodes, buffers), false, rows)
        };
        assert!(hollow(&nested, &[(9, 0), (9, 0)], &[0, 0], 9));
        assert!(hollow(&nested, &[(9, 0), (9, 9)], &[0, 0], 9), "a bitmap that is left out means no nulls");
        assert!(!hollow(&nested, &[(9, 0), (9, 1)], &[0, 2], 9), "some are null");
        assert!(!hollow(&nested, &[(9, 0), (8, 0)], &[0, 0], 9), "one is missing below");
        assert!(!hollow(&number, &[(9, 0), (9, 0)], &[0, 0, 9], 9));
        assert!(hollow(&Plan::flat(DataType::Null), &[(9, 9)], &[], 9));
        let item = Arc::new(Field::new("x", DataType::Int8, true));
        let lists = plan(DataType::FixedSizeList(item, 0), vec![Plan::flat(DataType::Int8)]);
        assert!(hollow(&lists, &[(9, 0), (0, 0)], &[0, 0, 0], 9));
    }

    #[test]
    fn what_is_nested_is_asked_too() {
        let child = Field::new("x", DataType::Int32, true);
        let dtype = DataType::Struct(Fields::from(vec![child]));
        let plan = Plan { dtype, dictionary: None, children: vec![Plan::flat(DataType::Int32)] };
        assert!(holds([&plan], &batch(&[(3, 0), (3, 0)], &[0, 0, 12]), 12, false, 3));
        assert!(!holds([&plan], &batch(&[(4, 0), (3, 0)], &[0, 0, 12]), 12, false, 4));
        let empty = Plan { dtype: DataType::Struct(Fields::empty()), dictionary: None, children: Vec::new() };
        assert!(holds([&empty], &batch(&[(1 << 40, 0)], &[0]), 0, false, 1 << 40));
    }
}
