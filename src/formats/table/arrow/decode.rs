//! Arrays out of a batch's buffers: the rows of a window only, each type by the layout that the
//! columnar format gives it.
//!
//! What leads to other bytes (offsets, keys, views, type ids, run ends) is copied and checked; plain
//! values stay slices of the file. Specification: <https://arrow.apache.org/docs/format/Columnar.html>.

use super::batch::Body;
use super::schema::{Cursor, Plan};
use crate::bytes::entry;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le_or_zero;
use crate::data::dtype::swap_bytes;
use arrow::array::{Array, ArrayData, ArrayDataBuilder, ArrayRef, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::{DataType, IntervalUnit, UnionFields, UnionMode};
use std::ops::Range;

/// Gives the values of the dictionary of a number.
pub(super) type Dictionaries<'a> = &'a dyn Fn(i64, &Plan) -> Result<ArrayRef>;

/// Decodes columns of one batch.
pub(super) struct Decoder<'a> {
    pub(super) body: Body<'a>,
    pub(super) dictionaries: Dictionaries<'a>,
    pub(super) big_endian: bool,
    pub(super) old_unions: bool,
}

impl Decoder<'_> {
    /// The rows `rows` of the field whose description starts at `at`.
    ///
    /// # Errors
    /// `Malformed` where counts, offsets or values break the format's rules.
    pub(super) fn column(&self, plan: &Plan, mut at: Cursor, rows: Range<u64>) -> Result<ArrayRef> {
        Ok(make_array(self.array(plan, &mut at, rows)?))
    }

    /// How many values the field at `at` has.
    pub(super) fn values(&self, at: Cursor) -> Result<u64> {
        self.node(&at).map(|(len, _)| len)
    }

    fn node(&self, at: &Cursor) -> Result<(u64, u64)> {
        self.body.batch.nodes.get(at.node).copied().ok_or_else(|| {
            let there = self.body.batch.nodes.len();
            wrong(format!("it has {there} field nodes, the schema needs more")).at(self.body.range.start)
        })
    }

    fn array(&self, plan: &Plan, at: &mut Cursor, rows: Range<u64>) -> Result<ArrayData> {
        if rows.is_empty() {
            plan.skip(at, &self.body.batch.views, self.old_unions);
            return Ok(ArrayData::new_empty(&plan.dtype));
        }
        let (len, nulls) = self.node(at)?;
        if rows.end > len {
            return Err(wrong(format!("a field has {len} values, {} are needed", rows.end)));
        }
        at.node += 1;
        let count = usize::try_from(rows.end - rows.start).map_err(|_| wrong("too many rows".to_owned()))?;
        let first = at.buffer;
        let build = ArrayData::builder(plan.dtype.clone()).len(count);
        let has_bitmap =
            !matches!(plan.dtype, DataType::Null | DataType::RunEndEncoded(_, _) | DataType::Union(_, _));
        let build = if has_bitmap {
            at.buffer += 1;
            build.nulls(self.validity(first, nulls, &rows)?)
        } else {
            build
        };
        let build = self.values_of(build, plan, at, rows)?;
        build.align_buffers(true).build().map_err(Error::from)
    }

    /// Adds everything but the validity bitmap.
    fn values_of(
        &self,
        build: ArrayDataBuilder,
        plan: &Plan,
        at: &mut Cursor,
        rows: Range<u64>,
    ) -> Result<ArrayDataBuilder> {
        let child = |n: usize| plan.children.get(n).ok_or_else(|| Error::bug("a type without its child"));
        match &plan.dtype {
            DataType::Null => Ok(build),
            DataType::Boolean => {
                let bits = self.body.part(at.buffer, rows.start / 8..rows.end.div_ceil(8))?;
                at.buffer += 1;
                let bits =
                    BooleanBuffer::new(bits, (rows.start % 8) as usize, (rows.end - rows.start) as usize);
                Ok(build.add_buffer(bits.sliced()))
            }
            DataType::Utf8 | DataType::Binary => self.bytes(build, at, rows, false),
            DataType::LargeUtf8 | DataType::LargeBinary => self.bytes(build, at, rows, true),
            DataType::Utf8View | DataType::BinaryView => self.views(build, at, rows),
            DataType::List(_) | DataType::Map(_, _) => self.list(build, child(0)?, at, rows, false),
            DataType::LargeList(_) => self.list(build, child(0)?, at, rows, true),
            DataType::ListView(_) => self.list_view(build, child(0)?, at, rows, false),
            DataType::LargeListView(_) => self.list_view(build, child(0)?, at, rows, true),
            DataType::FixedSizeList(_, size) => {
                let size = u64::try_from(*size).unwrap_or(0);
                let bound =
                    |row: u64| row.checked_mul(size).ok_or_else(|| wrong("a list is too long".to_owned()));
                Ok(build.add_child_data(self.array(child(0)?, at, bound(rows.start)?..bound(rows.end)?)?))
            }
            DataType::Struct(_) => {
                let mut build = build;
                for child in &plan.children {
                    build = build.add_child_data(self.array(child, at, rows.clone())?);
                }
                Ok(build)
            }
            DataType::Union(fields, mode) => self.union(build, fields, *mode, plan, at, rows),
            DataType::RunEndEncoded(_, _) => self.runs(build, child(0)?, child(1)?, at, rows),
            DataType::Dictionary(keys, values) => {
                let keys = self.fixed(at, keys, &rows, true)?;
                let number = plan.dictionary.ok_or_else(|| Error::bug("a dictionary without a number"))?;
                let dictionary = (self.dictionaries)(number, child(0)?)?;
                if dictionary.data_type() != values.as_ref() {
                    return Err(wrong(format!("dictionary {number} holds values of another type")));
                }
                Ok(build.add_buffer(keys).add_child_data(dictionary.to_data()))
            }
            fixed => Ok(build.add_buffer(self.fixed(at, fixed, &rows, false)?)),
        }
    }

    /// Nulls of a window; a bitmap that is not there means none.
    fn validity(&self, index: usize, nulls: u64, rows: &Range<u64>) -> Result<Option<NullBuffer>> {
        if nulls == 0 || self.body.stored(index) == 0 {
            return Ok(None);
        }
        let bits = self.body.part(index, rows.start / 8..rows.end.div_ceil(8))?;
        let count = (rows.end - rows.start) as usize;
        let nulls = NullBuffer::new(BooleanBuffer::new(bits, (rows.start % 8) as usize, count));
        Ok((nulls.null_count() > 0).then_some(nulls))
    }

    /// Values of a fixed width; `copied` where they lead to others.
    fn fixed(&self, at: &mut Cursor, dtype: &DataType, rows: &Range<u64>, copied: bool) -> Result<Buffer> {
        let width = match dtype {
            DataType::FixedSizeBinary(width) => u64::try_from(*width).unwrap_or(0),
            other => {
                other.primitive_width().ok_or_else(|| Error::bug(format!("the width of {other}")))? as u64
            }
        };
        let values = self.body.part(at.buffer, scaled(rows, width)?)?;
        at.buffer += 1;
        if !self.big_endian || width < 2 || matches!(dtype, DataType::FixedSizeBinary(_)) {
            return Ok(if copied { Buffer::from_slice_ref(values.as_slice()) } else { values });
        }
        let mut values = values.to_vec();
        match dtype {
            DataType::Interval(IntervalUnit::DayTime) => swap_bytes(&mut values, 4),
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                for value in values.chunks_exact_mut(16) {
                    let (days, nanos) = value.split_at_mut(8);
                    swap_bytes(days, 4);
                    swap_bytes(nanos, 8);
                }
            }
            _ => swap_bytes(&mut values, width as usize),
        }
        Ok(Buffer::from_slice_ref(&values))
    }

    /// Offsets or sizes of 32 or 64 bits, from `range`; none of them negative.
    pub(super) fn numbers(&self, index: usize, range: Range<u64>, wide: bool) -> Result<Vec<u64>> {
        let bytes = self.body.part(index, scaled(&range, if wide { 8 } else { 4 })?)?;
        let big = self.big_endian;
        let each = |value: i64| u64::try_from(value).map_err(|_| wrong(format!("an offset of {value}")));
        if wide {
            let value = |b: &[u8; 8]| if big { i64::from_be_bytes(*b) } else { i64::from_le_bytes(*b) };
            bytes.as_chunks::<8>().0.iter().map(|b| each(value(b))).collect()
        } else {
            let value = |b: &[u8; 4]| if big { i32::from_be_bytes(*b) } else { i32::from_le_bytes(*b) };
            bytes.as_chunks::<4>().0.iter().map(|b| each(i64::from(value(b)))).collect()
        }
    }

    /// The offsets of a window from zero on, and the range that they span.
    fn offsets(&self, index: usize, rows: &Range<u64>, wide: bool) -> Result<(Buffer, Range<u64>)> {
        let offsets = self.numbers(index, rows.start..rows.end.saturating_add(1), wide)?;
        let (Some(&start), Some(&end)) = (offsets.first(), offsets.last()) else {
            return Err(wrong("offsets are missing".to_owned()));
        };
        if !offsets.is_sorted() {
            return Err(wrong("offsets run backwards".to_owned()));
        }
        Ok((packed(offsets.iter().map(|offset| offset - start), wide), start..end))
    }

    fn bytes(
        &self,
        build: ArrayDataBuilder,
        at: &mut Cursor,
        rows: Range<u64>,
        wide: bool,
    ) -> Result<ArrayDataBuilder> {
        let (offsets, span) = self.offsets(at.buffer, &rows, wide)?;
        let values = self.body.part(at.buffer + 1, span)?;
        at.buffer += 2;
        Ok(build.add_buffer(offsets).add_buffer(values))
    }

    fn list(
        &self,
        build: ArrayDataBuilder,
        child: &Plan,
        at: &mut Cursor,
        rows: Range<u64>,
        wide: bool,
    ) -> Result<ArrayDataBuilder> {
        let (offsets, span) = self.offsets(at.buffer, &rows, wide)?;
        at.buffer += 1;
        Ok(build.add_buffer(offsets).add_child_data(self.array(child, at, span)?))
    }

    /// Lists by offset and size, in any order; those of null rows may be anything.
    fn list_view(
        &self,
        build: ArrayDataBuilder,
        child: &Plan,
        at: &mut Cursor,
        rows: Range<u64>,
        wide: bool,
    ) -> Result<ArrayDataBuilder> {
        let nulls = self.validity_before(at, &rows)?;
        let mut offsets = self.numbers(at.buffer, rows.clone(), wide)?;
        let mut sizes = self.numbers(at.buffer + 1, rows.clone(), wide)?;
        at.buffer += 2;
        let (mut low, mut high) = (u64::MAX, 0u64);
        for (row, (offset, size)) in offsets.iter_mut().zip(&mut sizes).enumerate() {
            if *size == 0 || nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                (*offset, *size) = (u64::MAX, 0);
                continue;
            }
            low = low.min(*offset);
            high = high.max(offset.checked_add(*size).ok_or_else(|| wrong("a list is too long".to_owned()))?);
        }
        let low = low.min(high);
        let from_low = offsets.iter().map(|&offset| if offset == u64::MAX { 0 } else { offset - low });
        let build = build.add_buffer(packed(from_low, wide)).add_buffer(packed(sizes.iter().copied(), wide));
        Ok(build.add_child_data(self.array(child, at, low..high)?))
    }

    /// The nulls of the field whose bitmap was the last buffer.
    fn validity_before(&self, at: &Cursor, rows: &Range<u64>) -> Result<Option<NullBuffer>> {
        let nulls = at.node.checked_sub(1).and_then(|n| self.body.batch.nodes.get(n)).map_or(0, |(_, n)| *n);
        self.validity(at.buffer.saturating_sub(1), nulls, rows)
    }

    /// Views: 16 bytes each, short values inside, long ones as a prefix and a place in one of the
    /// field's buffers.
    fn views(&self, build: ArrayDataBuilder, at: &mut Cursor, rows: Range<u64>) -> Result<ArrayDataBuilder> {
        let nulls = self.validity_before(at, &rows)?;
        let count = self.body.batch.views.get(at.views).copied();
        let count = count.and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|&count| count <= self.body.batch.buffers.len());
        let count = count.ok_or_else(|| wrong("the number of buffers of a view is missing".to_owned()))?;
        let mut views = self.body.part(at.buffer, scaled(&rows, 16)?)?.to_vec();
        let first = at.buffer + 1;
        at.buffer += 1 + count;
        at.views += 1;
        let mut used = vec![false; count];
        for (row, view) in views.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                view.fill(0);
                continue;
            }
            let (len, rest) = view.split_at_mut(4);
            if self.big_endian {
                len.reverse();
            }
            if u32::from_le_bytes(len.try_into().unwrap_or_default()) <= 12 {
                continue;
            }
            let (_, place) = rest.split_at_mut(4);
            if self.big_endian {
                swap_bytes(place, 4);
            }
            let number = le_or_zero::<u32>(place, 0);
            match usize::try_from(number).ok().and_then(|n| used.get_mut(n)) {
                Some(used) => *used = true,
                None => return Err(wrong(format!("a view leads to buffer {number} of {count}"))),
            }
        }
        let mut build = build.add_buffer(Buffer::from_slice_ref(&views));
        for (n, used) in used.into_iter().enumerate() {
            let values = if used { self.body.whole(first + n)? } else { Buffer::from(Vec::<u8>::new()) };
            build = build.add_buffer(values);
        }
        Ok(build)
    }

    fn union(
        &self,
        build: ArrayDataBuilder,
        fields: &UnionFields,
        mode: UnionMode,
        plan: &Plan,
        at: &mut Cursor,
        rows: Range<u64>,
    ) -> Result<ArrayDataBuilder> {
        at.buffer += usize::from(self.old_unions);
        let ids = self.body.part(at.buffer, rows.clone())?.to_vec();
        at.buffer += 1;
        let mut child_of = [None; 256];
        for (n, (id, _)) in fields.iter().enumerate() {
            if let Some(child) = child_of.get_mut(usize::from(id as u8)) {
                *child = Some(n);
            }
        }
        let children: Option<Vec<usize>> = ids.iter().map(|&id| *entry(&child_of, id)).collect();
        let children =
            children.ok_or_else(|| wrong("a union's value is of no type that it has".to_owned()))?;
        let mut build = build.add_buffer(Buffer::from_slice_ref(&ids));
        if mode == UnionMode::Sparse {
            for child in &plan.children {
                build = build.add_child_data(self.array(child, at, rows.clone())?);
            }
            return Ok(build);
        }
        let mut offsets = self.numbers(at.buffer, rows, false)?;
        at.buffer += 1;
        // For each type, the first value that is used and the end of the last.
        let mut spans: Vec<Option<(u64, u64)>> = vec![None; plan.children.len()];
        for (&child, &offset) in children.iter().zip(&offsets) {
            if let Some(span) = spans.get_mut(child) {
                let (start, end) = span.unwrap_or((offset, offset));
                *span = Some((start.min(offset), end.max(offset + 1)));
            }
        }
        for (&child, offset) in children.iter().zip(&mut offsets) {
            *offset -= spans.get(child).copied().flatten().map_or(0, |(start, _)| start);
        }
        build = build.add_buffer(packed(offsets.iter().copied(), false));
        for (child, span) in plan.children.iter().zip(spans) {
            let (start, end) = span.unwrap_or_default();
            build = build.add_child_data(self.array(child, at, start..end)?);
        }
        Ok(build)
    }

    /// Runs: the ends are searched, so that a window reads its own runs only.
    fn runs(
        &self,
        build: ArrayDataBuilder,
        ends: &Plan,
        values: &Plan,
        at: &mut Cursor,
        rows: Range<u64>,
    ) -> Result<ArrayDataBuilder> {
        let (count, _) = self.node(at)?;
        let place = at.buffer + 1;
        let width = ends.dtype.primitive_width().unwrap_or(4) as u64;
        let end = |run: u64| -> Result<u64> {
            let bytes = self.body.part(place, scaled(&(run..run + 1), width)?)?;
            let mut wide = [0u8; 8];
            for (n, &byte) in bytes.iter().enumerate() {
                let from_low = if self.big_endian { bytes.len() - 1 - n } else { n };
                *wide.get_mut(from_low).ok_or_else(|| Error::bug("a run end is too wide"))? = byte;
            }
            Ok(u64::from_le_bytes(wide))
        };
        // The first run that ends behind `row`.
        let find = |row: u64| -> Result<u64> {
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = low + (high - low) / 2;
                if end(middle)? > row { high = middle } else { low = middle + 1 }
            }
            Ok(low)
        };
        let (first, last) = (find(rows.start)?, find(rows.end - 1)?);
        if last >= count || last < first {
            return Err(wrong("the runs end before the rows do".to_owned()));
        }
        let mut cut = Vec::new();
        let mut before = rows.start;
        for run in first..=last {
            let end = end(run)?;
            if end <= before {
                return Err(wrong("run ends do not grow".to_owned()));
            }
            before = end;
            cut.push(end.min(rows.end) - rows.start);
        }
        let buffer = match width {
            2 => Buffer::from_iter(cut.iter().map(|&end| end as i16)),
            4 => Buffer::from_iter(cut.iter().map(|&end| end as i32)),
            _ => Buffer::from_iter(cut.iter().map(|&end| end as i64)),
        };
        let ends_data = ArrayData::builder(ends.dtype.clone()).len(cut.len()).add_buffer(buffer).build()?;
        ends.skip(at, &self.body.batch.views, self.old_unions);
        let values = self.array(values, at, first..last + 1)?;
        Ok(build.add_child_data(ends_data).add_child_data(values))
    }
}

fn wrong(what: String) -> Error {
    Error::malformed(format!("record batch: {what}"))
}

/// The bytes of these values.
fn scaled(rows: &Range<u64>, width: u64) -> Result<Range<u64>> {
    let bound = |row: u64| row.checked_mul(width).ok_or_else(|| wrong("a buffer is too long".to_owned()));
    Ok(bound(rows.start)?..bound(rows.end)?)
}

/// Offsets as the array wants them. They were 31 or 63 bits wide and only became smaller.
fn packed(offsets: impl ExactSizeIterator<Item = u64>, wide: bool) -> Buffer {
    if wide {
        Buffer::from_vec(offsets.map(|offset| offset as i64).collect::<Vec<i64>>())
    } else {
        Buffer::from_vec(offsets.map(|offset| offset as i32).collect::<Vec<i32>>())
    }
}
