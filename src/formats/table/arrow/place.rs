//! Where a value lies: in which buffer of its record batch, and there at which bits. A value of several buffers (a text
//! and its offsets, a key and its dictionary) names the others as parts.
//!
//! Specification: <https://arrow.apache.org/docs/format/Columnar.html>.

use super::batch::{Codec, inflate};
use super::decode::Decoder;
use super::schema::{Cursor, Plan};
use crate::bytes::error::Result;
use crate::bytes::numbers::le_or_zero;
use crate::bytes::task::Task;
use crate::data::location::{Location, Within};
use arrow::datatypes::DataType;
use std::ops::Range;

/// Gives the place of a value of the dictionary of a number.
pub(super) type Entry<'a> = &'a dyn Fn(i64, &Plan, u64) -> Result<Option<Location>>;

impl Decoder<'_> {
    /// A buffer of the batch, which is called `name`.
    pub(super) fn buffer(&self, index: usize, name: &str) -> Result<Location> {
        let place = self.body.place(index)?;
        let buffer = Location::new(
            self.body.source.clone(),
            place.clone(),
            "buffer",
            format!("{name}, buffer {index}"),
        );
        let Some(codec) = self.body.batch.codec.filter(|_| !place.is_empty()) else { return Ok(buffer) };
        let word = match codec {
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        };
        let at = place.start;
        Ok(buffer.decoded_by(vec![word.to_owned()], move |_: &Task, bytes| inflate(codec, &bytes, at)))
    }

    /// Where the value `row` of the field at `at` lies; `None` where its type spreads it over several fields.
    ///
    /// # Errors
    /// `Malformed` where the batch has not the buffers that the schema needs.
    pub(super) fn located(
        &self,
        plan: &Plan,
        at: Cursor,
        row: u64,
        name: &str,
        entry: Entry<'_>,
    ) -> Result<Option<Location>> {
        let nulls = self.body.batch.nodes.get(at.node).map_or(0, |(_, nulls)| *nulls);
        let has_bitmap =
            !matches!(plan.dtype, DataType::Null | DataType::RunEndEncoded(_, _) | DataType::Union(_, _));
        if !has_bitmap {
            return Ok(None);
        }
        let mut validity = None;
        if nulls > 0 && self.body.stored(at.buffer) > 0 {
            let bit = self.buffer(at.buffer, name)?.within(Within::of_bits(row..row.saturating_add(1)));
            let byte = self.body.part(at.buffer, row / 8..row / 8 + 1)?;
            let is_null = byte.first().is_none_or(|byte| byte >> (row % 8) & 1 == 0);
            validity = Some((bit, is_null));
        }
        let values = Cursor { node: at.node + 1, buffer: at.buffer + 1, ..at };
        let value = self.values_located(plan, values, row..row.saturating_add(1), name, entry)?;
        Ok(match (value, validity) {
            (Some(value), Some((bit, is_null))) => {
                let value = if is_null { value.absent() } else { value };
                Some(value.part("validity bit", bit))
            }
            (value, _) => value,
        })
    }

    /// The values `rows` of a field whose buffers behind the validity bitmap begin at `at`, where they lie in one piece.
    fn values_located(
        &self,
        plan: &Plan,
        at: Cursor,
        rows: Range<u64>,
        name: &str,
        entry: Entry<'_>,
    ) -> Result<Option<Location>> {
        let order = if self.big_endian { "big-endian" } else { "little-endian" };
        let word = || format!("{}, {order}", plan.dtype);
        Ok(match &plan.dtype {
            DataType::Boolean => {
                Some(self.buffer(at.buffer, name)?.within(Within::of_bits(rows)).encoding("bits"))
            }
            DataType::Utf8 | DataType::Binary => {
                self.text(at, rows, false, name)?.map(|text| text.encoding(word()))
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                self.text(at, rows, true, name)?.map(|text| text.encoding(word()))
            }
            DataType::Utf8View | DataType::BinaryView => self.view(at, rows.start, name)?,
            DataType::List(_) | DataType::Map(_, _) | DataType::LargeList(_) => {
                let wide = matches!(plan.dtype, DataType::LargeList(_));
                let Some((offsets, span)) = self.span(at, &rows, wide, name)? else { return Ok(None) };
                let Some(child) = plan.children.first() else { return Ok(None) };
                let values = Cursor { node: at.node + 1, buffer: at.buffer + 2, ..at };
                let found = self.values_located(child, values, span, name, entry)?;
                found.map(|values| values.part("offsets", offsets))
            }
            DataType::FixedSizeList(_, size) => {
                let size = u64::try_from(*size).unwrap_or(0);
                let span = rows.start.saturating_mul(size)..rows.end.saturating_mul(size);
                let Some(child) = plan.children.first() else { return Ok(None) };
                let values = Cursor { node: at.node + 1, buffer: at.buffer + 1, ..at };
                self.values_located(child, values, span, name, entry)?
            }
            DataType::Dictionary(keys, _) => self.key(plan, keys, at, rows.start, name, entry)?,
            DataType::FixedSizeBinary(width) => {
                let width = u64::try_from(*width).unwrap_or(0);
                Some(self.fixed_located(at, &rows, width, name)?.encoding(plan.dtype.to_string()))
            }
            fixed => match fixed.primitive_width() {
                Some(width) => Some(self.fixed_located(at, &rows, width as u64, name)?.encoding(word())),
                None => None,
            },
        })
    }

    fn fixed_located(&self, at: Cursor, rows: &Range<u64>, width: u64, name: &str) -> Result<Location> {
        let bytes = rows.start.saturating_mul(width)..rows.end.saturating_mul(width);
        Ok(self.buffer(at.buffer, name)?.within(bytes))
    }

    /// The offsets of values, and the range from the first to the last of them; `None` where they run backwards.
    fn span(
        &self,
        at: Cursor,
        rows: &Range<u64>,
        wide: bool,
        name: &str,
    ) -> Result<Option<(Location, Range<u64>)>> {
        let width = if wide { 8 } else { 4 };
        let offsets = self.numbers(at.buffer, rows.start..rows.end.saturating_add(1), wide)?;
        let (Some(&start), Some(&end)) = (offsets.first(), offsets.last()) else { return Ok(None) };
        let bytes = rows.start.saturating_mul(width)..rows.end.saturating_add(1).saturating_mul(width);
        let location = self.buffer(at.buffer, name)?.within(bytes);
        Ok((start <= end).then_some((location, start..end)))
    }

    fn text(&self, at: Cursor, rows: Range<u64>, wide: bool, name: &str) -> Result<Option<Location>> {
        let Some((offsets, span)) = self.span(at, &rows, wide, name)? else { return Ok(None) };
        Ok(Some(self.buffer(at.buffer + 1, name)?.within(span).part("offsets", offsets)))
    }

    /// A view: a short value lies in it, a long one in another buffer.
    fn view(&self, at: Cursor, row: u64, name: &str) -> Result<Option<Location>> {
        let start = row.saturating_mul(16);
        let view = self.body.part(at.buffer, start..start.saturating_add(16))?;
        let number = |at: usize| {
            let bytes = view.get(at..at + 4).unwrap_or_default();
            let number = le_or_zero::<u32>(bytes, 0);
            u64::from(if self.big_endian { number.swap_bytes() } else { number })
        };
        let (len, own) = (number(0), self.buffer(at.buffer, name)?);
        if len <= 12 {
            return Ok(Some(own.within(start + 4..start + 4 + len).encoding("view, inline")));
        }
        let index = usize::try_from(number(8)).ok().and_then(|n| (at.buffer + 1).checked_add(n));
        let Some(index) = index.filter(|index| *index < self.body.batch.buffers.len()) else {
            return Ok(None);
        };
        let offset = number(12);
        let values = self.buffer(index, name)?.within(offset..offset.saturating_add(len)).encoding("view");
        Ok(Some(values.part("view", own.within(start..start + 16))))
    }

    /// The key of a dictionary, and the value that it leads to.
    fn key(
        &self,
        plan: &Plan,
        keys: &DataType,
        at: Cursor,
        row: u64,
        name: &str,
        entry: Entry<'_>,
    ) -> Result<Option<Location>> {
        let Some(width) = keys.primitive_width().map(|width| width as u64) else { return Ok(None) };
        let bytes = row.saturating_mul(width)..row.saturating_add(1).saturating_mul(width);
        let stored = self.body.part(at.buffer, bytes.clone())?;
        let order = if self.big_endian { "big-endian" } else { "little-endian" };
        let key = self.buffer(at.buffer, name)?.within(bytes).encoding(format!("key, {keys}, {order}"));
        let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let number = match self.big_endian {
            true => stored.iter().fold(0, fold),
            false => stored.iter().rev().fold(0, fold),
        };
        let found = match (plan.dictionary, plan.children.first()) {
            (Some(id), Some(child)) => entry(id, child, number)?,
            _ => None,
        };
        Ok(Some(match found {
            Some(value) => key.part("dictionary entry", value),
            None => key,
        }))
    }
}
