//! A column of a stripe: its streams, and arrays out of them.
//!
//! Values of nulls are not stored: what is read is spread over the rows that have one. Specification:
//! <https://orc.apache.org/specification/ORCv1/#column-encodings>.

use super::rle::{Booleans, ByteRuns, Integers};
use super::schema::{Kind, Plan};
use super::stream::{Packing, Stream};
use super::tail::{StreamKind, StripeFooter, Tail};
use super::time::{self, Clock, Zone};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use arrow::array::*;
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Version 1.9999, a preview of the second one: decimals of 18 digits are integers.
const PREVIEW: [u32; 2] = [1, 9999];
/// The most digits of a decimal in 64 bits.
const SHORT: u8 = 18;
/// The most digits after the point of a value, as Hive has it.
const MOST_DIGITS: i64 = 38;

/// Where a stripe's streams are.
pub(super) struct Place<'a> {
    pub(super) task: &'a Task,
    pub(super) source: &'a Source,
    pub(super) tail: &'a Tail,
    pub(super) footer: &'a StripeFooter,
    /// Set once a decimal of the column was rounded to the scale of its type.
    pub(super) rounded: &'a Arc<AtomicBool>,
}

/// A column that is read from front to back. A clone goes on from the same row.
#[derive(Clone)]
pub(super) struct Column {
    dtype: DataType,
    present: Option<Booleans>,
    values: Values,
}

#[derive(Clone)]
enum Values {
    Boolean(Booleans),
    Byte(ByteRuns),
    Integer(Integers),
    /// Floats of four or eight bytes.
    Float(Stream, usize),
    /// Bytes, and the length of each.
    Bytes(Stream, Integers),
    /// Places in a dictionary.
    Dictionary(Integers, Arc<Dictionary>),
    /// Digits, the scale of each, and whether some were rounded.
    Decimal(Stream, Integers, Arc<AtomicBool>),
    /// Digits of the type's scale.
    ShortDecimal(Integers),
    Timestamp(Integers, Integers, Clock),
    Struct(Vec<Column>),
    /// Lists and maps: lengths, and what the values are made of.
    List(Integers, Vec<Column>),
    /// The child of each value.
    Union(ByteRuns, Vec<Column>),
}

/// A stripe's dictionary: values, and where each ends.
struct Dictionary {
    offsets: Vec<usize>,
    bytes: Vec<u8>,
}

impl Dictionary {
    fn get(&self, index: i64) -> Result<&[u8]> {
        let index = usize::try_from(index).ok();
        let ends = index.and_then(|n| Some(*self.offsets.get(n)?..*self.offsets.get(n.checked_add(1)?)?));
        ends.and_then(|ends| self.bytes.get(ends))
            .ok_or_else(|| Error::malformed("a value leads out of the column's dictionary"))
    }
}

impl Place<'_> {
    fn stream(&self, kind: StreamKind, id: u32) -> Stream {
        // A stream without bytes is left out.
        let range = self.footer.stream(kind, id).unwrap_or(0..0);
        let packing: Packing = self.tail.packing;
        Stream::new(self.task, self.source, packing, range)
    }

    fn present(&self, id: u32) -> Option<Booleans> {
        self.footer.stream(StreamKind::Present, id)?;
        Some(Booleans::new(self.stream(StreamKind::Present, id)))
    }

    /// The presence of the root's values, where it is a struct that may be null.
    pub(super) fn root(&self) -> Option<Booleans> {
        self.present(0)
    }

    /// The column of a type, before its first row.
    ///
    /// # Errors
    /// `Malformed` where a dictionary does not fit, `Unsupported` for an unknown time zone or encryption.
    pub(super) fn column(&self, plan: &Plan) -> Result<Column> {
        let id = plan.id;
        if self.tail.encrypted && self.footer.stream(StreamKind::Encrypted, id).is_some() {
            return Err(Error::unsupported("an encrypted column"));
        }
        let encoding = self.footer.encodings.get(id as usize).copied();
        let encoding = encoding.ok_or_else(|| Error::malformed("a column without its encoding"))?;
        let has_data =
            |(_, column, range): &(StreamKind, u32, std::ops::Range<u64>)| *column == id && !range.is_empty();
        if let Some(number) = encoding.unknown.filter(|_| self.footer.data().any(has_data)) {
            return Err(Error::unsupported(format!("the column encoding {number}")));
        }
        let ints = |kind, signed| Integers::new(self.stream(kind, id), signed, encoding.v2);
        let data = || self.stream(StreamKind::Data, id);
        let children = || plan.children.iter().map(|child| self.column(child)).collect::<Result<Vec<_>>>();
        let values = match plan.kind {
            Kind::Boolean => Values::Boolean(Booleans::new(data())),
            Kind::Byte => Values::Byte(ByteRuns::new(data())),
            Kind::Integer | Kind::Date => Values::Integer(ints(StreamKind::Data, true)),
            Kind::Float => Values::Float(data(), 4),
            Kind::Double => Values::Float(data(), 8),
            Kind::Text | Kind::Binary if encoding.dictionary => {
                let lengths = ints(StreamKind::Length, false);
                let words = self.dictionary(id, lengths, encoding.size)?;
                Values::Dictionary(ints(StreamKind::Data, false), Arc::new(words))
            }
            Kind::Text | Kind::Binary => Values::Bytes(data(), ints(StreamKind::Length, false)),
            Kind::Timestamp | Kind::Instant => {
                let zone = match plan.kind {
                    Kind::Instant => Zone::Fixed(0),
                    _ => Zone::of(self.footer.zone.as_deref())?,
                };
                let DataType::Timestamp(unit, _) = plan.dtype else { return Err(Error::bug("no time")) };
                let clock = Clock::new(zone, unit, time::stated(self.tail, id).is_some());
                Values::Timestamp(ints(StreamKind::Data, true), ints(StreamKind::Secondary, false), clock)
            }
            Kind::Decimal => {
                let short = matches!(plan.dtype, DataType::Decimal128(digits, _) if digits <= SHORT);
                match short && self.tail.version == PREVIEW {
                    true => Values::ShortDecimal(Integers::new(data(), true, true)),
                    false => Values::Decimal(data(), ints(StreamKind::Secondary, true), self.rounded.clone()),
                }
            }
            Kind::Struct => Values::Struct(children()?),
            Kind::List | Kind::Map => Values::List(ints(StreamKind::Length, false), children()?),
            Kind::Union => Values::Union(ByteRuns::new(data()), children()?),
        };
        Ok(Column { dtype: plan.dtype.clone(), present: self.present(id), values })
    }

    fn dictionary(&self, id: u32, mut lengths: Integers, size: u32) -> Result<Dictionary> {
        let bytes = self.stream(StreamKind::DictionaryData, id).all(limits::CHUNK, "a dictionary")?;
        limits::check(u64::from(size) * 8, limits::CHUNK, "a dictionary")?;
        let (mut offsets, mut end) = (vec![0], Some(0usize));
        lengths.each(size as usize, |part| {
            for &len in part {
                end = end.and_then(|end| end.checked_add(usize::try_from(len).ok()?));
                offsets.push(end.unwrap_or(usize::MAX));
            }
        })?;
        if end.is_none_or(|end| end > bytes.len()) {
            return Err(Error::malformed("a dictionary's values are longer than its bytes"));
        }
        Ok(Dictionary { offsets, bytes })
    }
}

/// The positions of rows that have a value.
struct Rows {
    count: usize,
    nulls: Option<NullBuffer>,
    /// How many have a value.
    values: usize,
}

impl Rows {
    /// Values at their rows, defaults at the others.
    fn spread<T: Copy + Default>(&self, values: Vec<T>) -> Vec<T> {
        let Some(nulls) = &self.nulls else { return values };
        let mut out = vec![T::default(); self.count];
        for (row, value) in nulls.valid_indices().zip(values) {
            if let Some(place) = out.get_mut(row) {
                *place = value;
            }
        }
        out
    }

    fn primitive<T: ArrowPrimitiveType>(&self, values: Vec<T::Native>) -> PrimitiveArray<T> {
        PrimitiveArray::new(self.spread(values).into(), self.nulls.clone())
    }
}

impl Column {
    /// Whether nothing is stored for it: a struct of structs without fields, none of them null. It has any number
    /// of rows, which are equal.
    pub(super) fn is_hollow(&self) -> bool {
        let below = |values: &Values| match values {
            Values::Struct(children) => children.iter().all(Column::is_hollow),
            _ => false,
        };
        self.present.is_none() && below(&self.values)
    }

    /// Which of `count` rows have values; `parent` says which of them have one above.
    fn rows(&mut self, count: usize, parent: Option<&NullBuffer>) -> Result<Rows> {
        let above = parent.map_or(count, |parent| count - parent.null_count());
        let own = match &mut self.present {
            Some(present) => Some(present.read(above)?),
            None => None,
        };
        let nulls = match (own, parent) {
            (Some(own), None) => Some(NullBuffer::new(own)),
            (Some(own), Some(parent)) => {
                let mut all = BooleanBufferBuilder::new(count);
                all.append_n(count, false);
                parent.valid_indices().zip(own.iter()).for_each(|(row, valid)| all.set_bit(row, valid));
                Some(NullBuffer::new(all.finish()))
            }
            (None, parent) => parent.cloned(),
        };
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let values = count - nulls.as_ref().map_or(0, NullBuffer::null_count);
        Ok(Rows { count, nulls, values })
    }

    /// The next `count` rows; `parent` says which of them have a value above.
    ///
    /// # Errors
    /// `Malformed` where streams end early or values break the format's rules, `Limit` where the rows have more
    /// values or longer ones than are read at once.
    pub(super) fn read(&mut self, count: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let rows = self.rows(count, parent)?;
        let nulls = rows.nulls.clone();
        Ok(match &mut self.values {
            Values::Boolean(bits) => {
                let values = bits.read(rows.values)?;
                let values = match &rows.nulls {
                    None => values,
                    Some(_) => BooleanBuffer::from(rows.spread(values.iter().collect::<Vec<bool>>())),
                };
                Arc::new(BooleanArray::new(values, nulls))
            }
            Values::Byte(bytes) => {
                let mut out = Vec::new();
                bytes.read(rows.values, &mut out)?;
                let out = out.into_iter().map(|byte| byte as i8).collect();
                Arc::new(rows.primitive::<Int8Type>(out))
            }
            Values::Integer(ints) => integers(&self.dtype, &rows, ints)?,
            Values::Float(stream, width) => {
                let mut bytes = Vec::new();
                stream.read(rows.values * *width, &mut bytes)?;
                match width {
                    4 => {
                        let values = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
                        Arc::new(rows.primitive::<Float32Type>(values.collect()))
                    }
                    _ => {
                        let values = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b));
                        Arc::new(rows.primitive::<Float64Type>(values.collect()))
                    }
                }
            }
            Values::Bytes(stream, lengths) => {
                let lengths = lengths.read(rows.values)?;
                let total =
                    lengths.iter().try_fold(0u64, |sum, &len| sum.checked_add(u64::try_from(len).ok()?));
                let total = total.ok_or_else(|| Error::malformed("a length of a text"))?;
                let total = limits::check(total, limits::CHUNK, "the texts of one block")?;
                let mut bytes = Vec::new();
                stream.read(total, &mut bytes)?;
                binary(&self.dtype, &rows, lengths, bytes)?
            }
            Values::Dictionary(indexes, dictionary) => words(&self.dtype, &rows, indexes, dictionary)?,
            Values::Decimal(stream, scales, rounded) => {
                decimals(&self.dtype, &rows, stream, scales, rounded)?
            }
            Values::ShortDecimal(ints) => {
                let values = ints.read(rows.values)?.into_iter().map(i128::from).collect();
                let values = rows.primitive::<Decimal128Type>(values);
                Arc::new(values.with_data_type(self.dtype.clone()))
            }
            Values::Timestamp(seconds, nanos, clock) => {
                let (seconds, nanos) = (seconds.read(rows.values)?, nanos.read(rows.values)?);
                let each = seconds.into_iter().zip(nanos).map(|(s, n)| clock.time(s, n));
                let values = rows.spread(each.collect::<Result<Vec<i64>>>()?);
                primitive(&self.dtype, values, nulls)?
            }
            Values::Struct(children) => {
                let DataType::Struct(fields) = &self.dtype else { return Err(Error::bug("no struct")) };
                let arrays = children.iter_mut().map(|child| child.read(count, nulls.as_ref()));
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, nulls, count)?)
            }
            Values::List(lengths, children) => {
                let lengths = rows.spread(lengths.read(rows.values)?);
                lists(&self.dtype, lengths, nulls, children)?
            }
            Values::Union(tags, children) => unions(&self.dtype, &rows, tags, children)?,
        })
    }

    /// Passes over `count` rows.
    ///
    /// # Errors
    /// As [`Column::read`].
    pub(super) fn skip(&mut self, count: usize, parent: Option<&NullBuffer>) -> Result<()> {
        if self.is_hollow() {
            return Ok(());
        }
        let rows = self.rows(count, parent)?;
        let values = rows.values;
        match &mut self.values {
            Values::Boolean(bits) => bits.read(values).map(drop),
            Values::Byte(bytes) => bytes.read(values, &mut Vec::new()),
            Values::Integer(ints) | Values::ShortDecimal(ints) | Values::Dictionary(ints, _) => {
                ints.each(values, |_| {})
            }
            Values::Float(stream, width) => stream.skip(values as u64 * *width as u64),
            Values::Bytes(stream, lengths) => {
                let mut total = Some(0u64);
                lengths.each(values, |part| {
                    total = part.iter().fold(total, |sum, &len| sum?.checked_add(u64::try_from(len).ok()?));
                })?;
                stream.skip(total.ok_or_else(|| Error::malformed("a length of a text"))?)
            }
            Values::Decimal(stream, scales, _) => {
                (0..values).try_for_each(|_| stream.wide().map(drop))?;
                scales.each(values, |_| {})
            }
            Values::Timestamp(seconds, nanos, _) => {
                seconds.each(values, |_| {})?;
                nanos.each(values, |_| {})
            }
            Values::Struct(children) => {
                children.iter_mut().try_for_each(|child| child.skip(count, rows.nulls.as_ref()))
            }
            Values::List(lengths, children) => {
                let total = lengths
                    .read(values)?
                    .iter()
                    .try_fold(0usize, |sum, &len| sum.checked_add(usize::try_from(len).ok()?));
                let mut left = total.ok_or_else(|| Error::malformed("a length of a list"))?;
                // A length is only believed where there are bytes behind it: they end, and errors with them.
                let mut stored: Vec<&mut Column> =
                    children.iter_mut().filter(|child| !child.is_hollow()).collect();
                // In parts, since what is below may be a struct, whose bitmap is as long.
                while left > 0 && !stored.is_empty() {
                    lengths.stream.check()?;
                    let part = left.min(1 << 16);
                    stored.iter_mut().try_for_each(|child| child.skip(part, None))?;
                    left -= part;
                }
                Ok(())
            }
            Values::Union(tags, children) => {
                let mut of = Vec::new();
                tags.read(values, &mut of)?;
                for (n, child) in children.iter_mut().enumerate() {
                    child.skip(of.iter().filter(|&&tag| usize::from(tag) == n).count(), None)?;
                }
                Ok(())
            }
        }
    }

    /// Calls `each` with every stream.
    fn streams(&mut self, each: &mut dyn FnMut(&mut Stream)) {
        if let Some(present) = &mut self.present {
            each(&mut present.bytes.stream);
        }
        let mut below: &mut [Column] = &mut [];
        match &mut self.values {
            Values::Boolean(bits) => each(&mut bits.bytes.stream),
            Values::Byte(bytes) => each(&mut bytes.stream),
            Values::Integer(ints) | Values::ShortDecimal(ints) | Values::Dictionary(ints, _) => {
                each(&mut ints.stream);
            }
            Values::Float(stream, _) => each(stream),
            Values::Bytes(stream, ints) | Values::Decimal(stream, ints, _) => {
                each(stream);
                each(&mut ints.stream);
            }
            Values::Timestamp(seconds, nanos, _) => {
                each(&mut seconds.stream);
                each(&mut nanos.stream);
            }
            Values::Struct(children) => below = children,
            Values::List(lengths, children) => {
                each(&mut lengths.stream);
                below = children;
            }
            Values::Union(tags, children) => {
                each(&mut tags.stream);
                below = children;
            }
        }
        below.iter_mut().for_each(|child| child.streams(each));
    }

    /// From now on it is `task` that can be cancelled.
    pub(super) fn set_task(&mut self, task: &Task) {
        self.streams(&mut |stream| stream.set_task(task));
    }

    /// About how many bytes it takes.
    pub(super) fn memory(&mut self) -> usize {
        let mut total = match &self.values {
            Values::Dictionary(_, words) => words.bytes.len() + words.offsets.len() * 8,
            _ => 0,
        };
        // Runs are at most 512 values.
        self.streams(&mut |stream| total += stream.memory() + 4096);
        total
    }
}

/// Values of 64 bits as a column of times.
fn primitive(dtype: &DataType, values: Vec<i64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let build = ArrayData::builder(dtype.clone()).len(values.len()).nulls(nulls);
    Ok(make_array(build.add_buffer(Buffer::from_vec(values)).build()?))
}

fn integers(dtype: &DataType, rows: &Rows, ints: &mut Integers) -> Result<ArrayRef> {
    let values = ints.read(rows.values)?;
    // Runs of a narrow type may be reckoned beyond it: their values wrap, as in the writers.
    macro_rules! narrow {
        ($type:ty) => {
            Arc::new(rows.primitive::<$type>(values.into_iter().map(|value| value as _).collect()))
        };
    }
    Ok(match dtype {
        DataType::Int16 => narrow!(Int16Type),
        DataType::Int32 => narrow!(Int32Type),
        DataType::Date32 => {
            let day = |value: i64| {
                value.try_into().map_err(|_| Error::malformed(format!("day {value} is beyond 32 bits")))
            };
            let days = values.into_iter().map(day).collect::<Result<Vec<i32>>>()?;
            Arc::new(rows.primitive::<Date32Type>(days))
        }
        _ => Arc::new(rows.primitive::<Int64Type>(values)),
    })
}

/// Texts or bytes of these lengths, one after the other.
fn binary(dtype: &DataType, rows: &Rows, lengths: Vec<i64>, bytes: Vec<u8>) -> Result<ArrayRef> {
    let lengths = rows.spread(lengths);
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths.iter().map(|&len| len as usize));
    let (bytes, nulls) = (Buffer::from_vec(bytes), rows.nulls.clone());
    Ok(match dtype {
        DataType::Utf8 => Arc::new(StringArray::try_new(offsets, bytes, nulls)?),
        _ => Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?),
    })
}

fn words(dtype: &DataType, rows: &Rows, indexes: &mut Integers, dictionary: &Dictionary) -> Result<ArrayRef> {
    let mut bytes = Vec::new();
    let mut lengths = Vec::with_capacity(rows.values);
    for index in indexes.read(rows.values)? {
        let word = dictionary.get(index)?;
        limits::check((bytes.len() + word.len()) as u64, limits::CHUNK, "texts of one block")?;
        bytes.extend_from_slice(word);
        lengths.push(word.len() as i64);
    }
    binary(dtype, rows, lengths, bytes)
}

fn decimals(
    dtype: &DataType,
    rows: &Rows,
    stream: &mut Stream,
    scales: &mut Integers,
    rounded: &AtomicBool,
) -> Result<ArrayRef> {
    let DataType::Decimal128(precision, scale) = *dtype else { return Err(Error::bug("no decimal")) };
    let scales = scales.read(rows.values)?;
    let mut values = Vec::with_capacity(rows.values);
    for own in scales {
        let digits = stream.wide()?;
        let digits = (digits >> 1) as i128 ^ -((digits & 1) as i128);
        let (value, is_exact) = rescaled(digits, own, scale).ok_or_else(|| {
            Error::malformed(format!(
                "{digits} with {own} digits after the point is no decimal({precision}, {scale})"
            ))
        })?;
        if !is_exact {
            rounded.store(true, Ordering::Relaxed);
        }
        values.push(value);
    }
    Ok(Arc::new(rows.primitive::<Decimal128Type>(values).with_data_type(dtype.clone())))
}

/// Digits of one scale as digits of another, rounded half up as Hive does, and whether none were lost; `None` where
/// they do not fit 128 bits or the scale is none.
fn rescaled(digits: i128, from: i64, to: i8) -> Option<(i128, bool)> {
    if digits == 0 {
        return Some((0, true));
    }
    if from > MOST_DIGITS {
        return None;
    }
    let more = i64::from(to).checked_sub(from)?;
    let factor = 10i128.checked_pow(u32::try_from(more.unsigned_abs()).ok()?)?;
    if more >= 0 {
        return Some((digits.checked_mul(factor)?, true));
    }
    let (whole, rest) = (digits / factor, digits % factor);
    let up = if rest.abs() >= factor / 2 { rest.signum() } else { 0 };
    Some((whole + up, rest == 0))
}

/// Lists or maps of these lengths.
fn lists(
    dtype: &DataType,
    lengths: Vec<i64>,
    nulls: Option<NullBuffer>,
    children: &mut [Column],
) -> Result<ArrayRef> {
    let mut end = 0i32;
    let mut offsets = vec![0];
    for len in lengths {
        let len = u64::try_from(len).map_err(|_| Error::malformed(format!("a list of {len} values")))?;
        end = i32::try_from(len).ok().and_then(|len| end.checked_add(len)).ok_or_else(|| {
            Error::limit(format!("lists of {len} values and more, the limit is {}", i32::MAX))
        })?;
        offsets.push(end);
    }
    limits::check(end as u64 * 8, limits::CHUNK, "the lists of one block")?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let mut below = children.iter_mut().map(|child| child.read(end as usize, None));
    let mut next = || below.next().ok_or_else(|| Error::bug("a list without its child"))?;
    Ok(match dtype {
        DataType::List(field) => Arc::new(ListArray::try_new(field.clone(), offsets, next()?, nulls)?),
        DataType::Map(entries, _) => {
            let DataType::Struct(pair) = entries.data_type() else { return Err(Error::bug("no map")) };
            let pairs = StructArray::try_new(pair.clone(), vec![next()?, next()?], None)?;
            Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, nulls, false)?)
        }
        other => return Err(Error::bug(format!("{other} is no list"))),
    })
}

/// Values of several types. A null is a null of the first one.
fn unions(dtype: &DataType, rows: &Rows, tags: &mut ByteRuns, children: &mut [Column]) -> Result<ArrayRef> {
    let DataType::Union(fields, _) = dtype else { return Err(Error::bug("no union")) };
    let mut dense = Vec::new();
    tags.read(rows.values, &mut dense)?;
    if let Some(tag) = dense.iter().find(|&&tag| usize::from(tag) >= children.len()) {
        return Err(Error::malformed(format!("a value of type {tag} of a union of {}", children.len())));
    }
    let ids: Vec<i8> = rows.spread(dense.into_iter().map(|tag| tag as i8).collect());
    let valid = |row: usize| rows.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let mut arrays = Vec::with_capacity(children.len());
    for (n, child) in children.iter_mut().enumerate() {
        // Where this child's values go: as if its other rows were null above it.
        let own = |(row, id): (usize, &i8)| *id as usize == n && valid(row);
        let mask = NullBuffer::from_iter(ids.iter().enumerate().map(own));
        arrays.push(child.read(rows.count, Some(&mask))?);
    }
    Ok(Arc::new(UnionArray::try_new(fields.clone(), ids.into(), None, arrays)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_change_their_scale_exactly() {
        assert_eq!(rescaled(12, 1, 3), Some((1200, true)));
        assert_eq!(rescaled(1200, 3, 1), Some((12, true)));
        assert_eq!(rescaled(0, i64::MIN + 1, 1), Some((0, true)));
        assert_eq!(rescaled(i128::MAX, 0, 1), None);
        assert_eq!(rescaled(5, -2, 0), Some((500, true)));
        assert_eq!([rescaled(1, 39, 0), rescaled(1, i64::MAX, 0), rescaled(1, i64::MIN, 0)], [None; 3]);
    }

    #[test]
    fn digits_that_a_scale_lacks_are_rounded_half_up() {
        let halves = [(1249, 12), (1250, 13), (1251, 13), (-1249, -12), (-1250, -13), (-1251, -13)];
        for (digits, rounded) in halves {
            assert_eq!(rescaled(digits, 3, 1), Some((rounded, false)), "{digits}");
        }
        assert_eq!(rescaled(i128::MAX, 38, 0), Some((2, false)));
        assert_eq!(rescaled(i128::MIN, 38, 0), Some((-2, false)));
        assert_eq!(rescaled(49, 38, 36), Some((0, false)));
    }

    proptest::proptest! {
        #[test]
        fn a_change_of_scale_is_off_by_half_a_digit_at_most(
            digits in -1_000_000_000_000i128..1_000_000_000_000,
            from in 0i64..12,
            to in 0i8..12,
        ) {
            let (value, is_exact) = rescaled(digits, from, to).unwrap();
            // Both by the finest scale.
            let (stored, read) = (digits * 10i128.pow(12 - from as u32), value * 10i128.pow(12 - to as u32));
            proptest::prop_assert!((stored - read).abs() * 2 <= 10i128.pow(12 - to as u32));
            proptest::prop_assert_eq!(is_exact, stored == read);
        }
    }
}
