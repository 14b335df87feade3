//! Columns of binary tables: their forms (`TFORMn`), and cells as Arrow columns.

use super::header::Header;
use super::image::{other_sign, turn_sign};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::adapt;
use crate::data::dtype::{ByteOrder, DType};
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field};
use std::sync::Arc;

/// What elements are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Element {
    /// Numbers.
    Number(DType),
    /// `T`, `F`, or nothing.
    Logical,
    /// Bits, the first one highest in its byte.
    Bits,
    /// Characters; so many make a text.
    Text(u64),
}

impl Element {
    fn new(letter: char) -> Option<Self> {
        Some(match letter {
            'L' => Element::Logical,
            'X' => Element::Bits,
            'B' => Element::Number(DType::U8),
            'I' => Element::Number(DType::I16),
            'J' => Element::Number(DType::I32),
            'K' => Element::Number(DType::I64),
            'E' => Element::Number(DType::F32),
            'D' => Element::Number(DType::F64),
            'C' => Element::Number(DType::C64),
            'M' => Element::Number(DType::C128),
            'A' => Element::Text(0),
            _ => return None,
        })
    }

    /// Bytes of `count` of them.
    pub(super) fn bytes(&self, count: u64) -> Result<u64> {
        match self {
            Element::Number(dtype) => limits::bytes(&[count], dtype.size()),
            Element::Logical | Element::Text(_) => Ok(count),
            Element::Bits => Ok(count.div_ceil(8)),
        }
    }
}

/// A column of a binary table.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub name: String,
    /// The form as it is written.
    pub form: String,
    pub element: Element,
    /// How many elements a cell has; of a variable column how many descriptors (0 or 1).
    pub count: u64,
    /// Whether cells are descriptors of arrays in the heap, and whether of 64 bits.
    pub heap: Option<bool>,
    /// Where the column begins in a row, and how many bytes it has there.
    pub offset: u64,
    pub width: u64,
    /// The shape of a cell, the slowest dimension first; empty for one element.
    shape: Vec<u64>,
    /// The stored integer that means nothing.
    null: Option<i64>,
    scale: f64,
    zero: f64,
    pub unit: Option<String>,
}

/// The columns of a table, from its header.
pub(super) fn columns(header: &Header) -> Result<Vec<Column>> {
    let fields = header.count("TFIELDS", 0)?;
    if fields > 999 {
        return Err(
            Error::malformed(format!("header: TFIELDS is {fields}; there are at most 999")).at(header.data)
        );
    }
    let mut offset = 0u64;
    let mut columns = Vec::new();
    for n in 1..=fields {
        let column = column(header, n, offset)?;
        offset = offset.saturating_add(column.width);
        columns.push(column);
    }
    Ok(columns)
}

fn column(header: &Header, n: u64, offset: u64) -> Result<Column> {
    let form = header.text(&format!("TFORM{n}")).unwrap_or_default().trim().to_owned();
    let wrong = || Error::malformed(format!("header: TFORM{n} is {form:?}")).at(header.data);
    let digits = form.len() - form.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (repeat, rest) = form.split_at_checked(digits).ok_or_else(wrong)?;
    let count: u64 = if repeat.is_empty() { 1 } else { repeat.parse().map_err(|_| wrong())? };
    let mut letters = rest.chars();
    let mut letter = || letters.next().map(|c| c.to_ascii_uppercase()).ok_or_else(wrong);
    let first = letter()?;
    let heap = match first {
        'P' => Some(false),
        'Q' => Some(true),
        _ => None,
    };
    let kind = if heap.is_some() { letter()? } else { first };
    let mut element = Element::new(kind).ok_or_else(wrong)?;
    let mut shape = match heap {
        Some(_) => Vec::new(),
        None => dimensions(header.text(&format!("TDIM{n}")), count),
    };
    if let (Element::Text(len), None) = (&mut element, heap) {
        // Of texts the first dimension is that of the characters; `rAw` says it as well.
        let width: Option<u64> = letters.as_str().parse().ok();
        *len = shape.pop().or(width.filter(|w| *w > 0 && *w < count)).unwrap_or(count);
        if shape.is_empty() && *len > 0 && *len < count {
            shape = vec![count / *len];
        }
    } else if shape.is_empty() && count != 1 && heap.is_none() {
        shape = vec![count];
    }
    let width = match heap {
        Some(wide) => count.saturating_mul(if wide { 16 } else { 8 }),
        None => element.bytes(count)?,
    };
    let name =
        header.text(&format!("TTYPE{n}")).map_or_else(|| format!("col{n}"), |name| name.trim().to_owned());
    let number = |prefix: &str| header.float(&format!("{prefix}{n}")).filter(|v| v.is_finite());
    Ok(Column {
        name,
        element,
        count,
        heap,
        offset,
        width,
        shape,
        null: header.integer(&format!("TNULL{n}")),
        scale: number("TSCAL").unwrap_or(1.0),
        zero: number("TZERO").unwrap_or(0.0),
        unit: header.text(&format!("TUNIT{n}")).map(|unit| unit.trim().to_owned()),
        form,
    })
}

/// `(3,4)` as the shape `[4, 3]`, if it is one of `count` elements.
fn dimensions(text: Option<&str>, count: u64) -> Vec<u64> {
    let inner = text.and_then(|text| text.trim().strip_prefix('(')?.strip_suffix(')'));
    let sides: Option<Vec<u64>> =
        inner.and_then(|inner| inner.split(',').map(|n| n.trim().parse().ok()).collect());
    let Some(mut sides) = sides else { return Vec::new() };
    sides.reverse();
    let product = sides.iter().try_fold(1u64, |product, side| product.checked_mul(*side));
    // A cell may hold more than its shape needs, but not less; only an exact one is taken.
    if product == Some(count) { sides } else { Vec::new() }
}

impl Column {
    /// The Arrow field of the column.
    pub(super) fn field(&self) -> Field {
        let inner = self.inner();
        let data_type = match self.heap {
            Some(_) if matches!(self.element, Element::Text(_)) => DataType::Utf8,
            Some(_) => DataType::List(item(inner)),
            None => self.shape.iter().rev().fold(inner, |inner, side| {
                DataType::FixedSizeList(item(inner), i32::try_from(*side).unwrap_or(i32::MAX))
            }),
        };
        Field::new(&self.name, data_type, true)
    }

    /// The type of one element.
    fn inner(&self) -> DataType {
        match &self.element {
            Element::Logical | Element::Bits => DataType::Boolean,
            Element::Text(_) => DataType::Utf8,
            Element::Number(dtype) => match self.turned(dtype) {
                Some(turned) => adapt::arrow_of(&turned),
                None if self.is_scaled() && !dtype.is_complex() => adapt::arrow_of(&DType::F64),
                None => adapt::arrow_of(dtype),
            }
            .map_or(DataType::Null, |(data_type, _)| data_type),
        }
    }

    fn is_scaled(&self) -> bool {
        self.scale != 1.0 || self.zero != 0.0
    }

    fn turned(&self, dtype: &DType) -> Option<DType> {
        other_sign(dtype, self.zero).filter(|_| self.scale == 1.0)
    }

    /// Lines for the inspector.
    pub(super) fn details(&self) -> Vec<(String, String)> {
        let mut lines = vec![("form".to_owned(), self.form.clone())];
        lines.extend(self.unit.clone().map(|unit| ("unit".to_owned(), unit)));
        if self.is_scaled() {
            lines.push(("scale".to_owned(), crate::data::cell::float64(self.scale)));
            lines.push(("offset".to_owned(), crate::data::cell::float64(self.zero)));
        }
        lines.extend(self.null.map(|null| ("null".to_owned(), null.to_string())));
        lines
    }

    /// Cells of fixed size: `bytes` holds those of `rows` rows, one after the other.
    pub(super) fn cells(&self, mut bytes: Vec<u8>, rows: usize) -> Result<ArrayRef> {
        let flat: ArrayRef = match &self.element {
            Element::Bits => Arc::new(bits(&bytes, self.width, self.count, rows)),
            Element::Text(len) => {
                let each = limits::check(self.shape.iter().product(), limits::READ, "the texts of a cell")?;
                Arc::new(texts(&bytes, *len as usize, rows.saturating_mul(each)))
            }
            element => self.flat(element, &mut bytes)?,
        };
        self.shape
            .iter()
            .rev()
            .try_fold((flat, 0), |(inner, depth), side| {
                // How many lists there are at this depth: rows times the sides before it.
                let before = self.shape.get(..self.shape.len() - 1 - depth).unwrap_or_default();
                let count = before.iter().try_fold(rows as u64, |n, side| n.checked_mul(*side));
                let count = limits::check(count.unwrap_or(u64::MAX), limits::READ, "the lists of a column")?;
                let side =
                    i32::try_from(*side).map_err(|_| Error::limit(format!("lists of {side} elements")))?;
                let field = item(inner.data_type().clone());
                let list = FixedSizeListArray::try_new_with_length(field, side, inner, None, count)?;
                Ok((Arc::new(list) as ArrayRef, depth + 1))
            })
            .map(|(array, _)| array)
    }

    /// Cells of variable size: `bytes` holds all their elements one after the other, `counts` those of each.
    pub(super) fn lists(&self, mut bytes: Vec<u8>, counts: &[usize]) -> Result<ArrayRef> {
        if let Element::Text(_) = self.element {
            let mut rest = bytes.as_slice();
            let text = |count: &usize| {
                let (text, left) = rest.split_at_checked(*count).unwrap_or((rest, &[]));
                rest = left;
                self::text(text)
            };
            return Ok(Arc::new(StringArray::from_iter_values(counts.iter().map(text).collect::<Vec<_>>())));
        }
        let flat: ArrayRef = match &self.element {
            Element::Bits => {
                let mut rest = bytes.as_slice();
                let mut all = BooleanBuilder::new();
                for &count in counts {
                    let (cell, left) = rest.split_at_checked(count.div_ceil(8)).unwrap_or((rest, &[]));
                    rest = left;
                    (0..count).for_each(|n| all.append_value(bit(cell, n)));
                }
                Arc::new(all.finish())
            }
            element => self.flat(element, &mut bytes)?,
        };
        let offsets = OffsetBuffer::<i32>::from_lengths(counts.iter().copied());
        Ok(Arc::new(ListArray::try_new(item(flat.data_type().clone()), offsets, flat, None)?))
    }

    /// Numbers and logical values as one flat column, scaled, missing ones null.
    fn flat(&self, element: &Element, bytes: &mut [u8]) -> Result<ArrayRef> {
        let Element::Number(dtype) = element else {
            let value = |b: &u8| match b {
                b'T' | b't' | 1 => Some(true),
                b'F' | b'f' => Some(false),
                _ => None,
            };
            return Ok(Arc::new(bytes.iter().map(value).collect::<BooleanArray>()));
        };
        let count = bytes.len() / dtype.size() as usize;
        ByteOrder::Big.to_little(dtype, bytes)?;
        let mut nulls = None;
        if let (Some(null), false) = (self.null, dtype.is_float()) {
            // Not as floats: neighbours of the least int64 are not null.
            let mut valid = Vec::with_capacity(count);
            dtype.integers(bytes, |n| valid.push(n != i128::from(null)));
            nulls = Some(NullBuffer::from(valid));
        }
        let plain = if let Some(turned) = self.turned(dtype) {
            turn_sign(bytes, dtype.size() as usize);
            adapt::column(&turned, &[], bytes, count)?
        } else if self.is_scaled() && !dtype.is_complex() {
            let mut stored = Vec::with_capacity(count);
            dtype.decode(bytes, &mut stored);
            Arc::new(Float64Array::from_iter_values(stored.iter().map(|n| n * self.scale + self.zero)))
        } else {
            adapt::column(dtype, &[], bytes, count)?
        };
        match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => Ok(plain),
            Some(nulls) => Ok(make_array(plain.to_data().into_builder().nulls(Some(nulls)).build()?)),
        }
    }
}

fn item(inner: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", inner, true))
}

fn bit(bytes: &[u8], n: usize) -> bool {
    bytes.get(n / 8).is_some_and(|byte| byte >> (7 - n % 8) & 1 == 1)
}

/// `count` bits of each row, which has `width` bytes.
fn bits(bytes: &[u8], width: u64, count: u64, rows: usize) -> BooleanArray {
    let width = width as usize;
    let cell = |row: usize| bytes.get(row * width..(row + 1) * width).unwrap_or_default();
    (0..rows).flat_map(|row| (0..count as usize).map(move |n| Some(bit(cell(row), n)))).collect()
}

/// Texts of `len` bytes each, without the blanks at their ends.
fn texts(bytes: &[u8], len: usize, count: usize) -> StringArray {
    let cell = |n: usize| text(bytes.get(n * len..(n + 1) * len).unwrap_or_default());
    StringArray::from_iter_values((0..count).map(cell))
}

/// A text without the blanks at its end: UTF-8 where it is that, else Latin-1.
fn text(cell: &[u8]) -> String {
    // A zero ends a text before its field ends.
    let end = cell.iter().position(|b| *b == 0).unwrap_or(cell.len());
    let cell = cell.get(..end).unwrap_or_default();
    match std::str::from_utf8(cell) {
        Ok(text) => text.trim_end_matches(' ').to_owned(),
        Err(_) => super::header::text(cell),
    }
}
