//! Recipes: `scale × (integer − zero point)`, whose scales and zero points belong to blocks of rows and columns; and values
//! of a table times a scale for so many elements of the whole.

use super::{Code, Quant, Recipe};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::read;
use crate::data::region::{Region, Span};
use std::ops::Range;
use std::sync::Arc;

/// The axis of a stored matrix along which integers are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// The integers of a word are neighbours of one column.
    Rows,
    /// The integers of a word are neighbours of one row.
    Columns,
}

/// The integers, or the small floats, of a matrix.
pub enum Levels {
    /// Elements by themselves.
    Plain(Arc<dyn Array>),
    /// Integers of `bits` bits in words of 32, the first in the low bits.
    Words {
        /// The words: a matrix that is shorter along one axis.
        words: Arc<dyn Array>,
        /// Which axis that is.
        along: Along,
        /// Bits of one integer.
        bits: u32,
        /// Whether integers may begin in one word and end in the next.
        is_stream: bool,
        /// The places of eight neighbours in a word where they do not follow each other.
        order: Option<[u32; 8]>,
        /// What is taken off each.
        less: i32,
        /// Added before the bits are cut: zero points that are stored less one.
        plus: u32,
    },
    /// Two elements in a byte, the first in the low bits, by what their bits stand for.
    Nibbles {
        /// The bytes: a matrix half as wide.
        bytes: Arc<dyn Array>,
        /// What each of the bit patterns stands for.
        table: [f32; 16],
    },
}

impl Levels {
    /// Those of some rows and columns, row by row.
    fn read(&self, task: &Task, rows: &Range<u64>, columns: &Range<u64>) -> Result<Vec<f32>> {
        match self {
            Levels::Plain(array) => matrix(task, array.as_ref(), rows, columns),
            Levels::Nibbles { bytes, table } => {
                let wide = columns.start / 2..columns.end.div_ceil(2);
                let stored = raw(task, bytes.as_ref(), rows, &wide)?;
                let width = (wide.end - wide.start) as usize;
                let mut out =
                    Vec::with_capacity(((rows.end - rows.start) * (columns.end - columns.start)) as usize);
                for row in stored.chunks_exact(width.max(1)) {
                    out.extend(columns.clone().map(|column| {
                        let byte = row.get((column / 2 - wide.start) as usize).copied().unwrap_or(0);
                        let bits = byte >> (column % 2 * 4) & 15;
                        table.get(usize::from(bits)).copied().unwrap_or(0.0)
                    }));
                }
                Ok(out)
            }
            Levels::Words { words, along, bits, is_stream, order, less, plus } => {
                let packing = Packing { bits: *bits, is_stream: *is_stream, order: *order };
                let (long, other) = if *along == Along::Rows { (rows, columns) } else { (columns, rows) };
                let wide = packing.words(long);
                let stored = match along {
                    Along::Rows => raw(task, words.as_ref(), &wide, other)?,
                    Along::Columns => raw(task, words.as_ref(), other, &wide)?,
                };
                let stored: Vec<u32> =
                    stored.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
                let (lines, width) = ((other.end - other.start) as usize, (wide.end - wide.start) as usize);
                let word = |line: usize, n: usize| {
                    let at = if *along == Along::Rows { n * lines + line } else { line * width + n };
                    stored.get(at).copied().unwrap_or(0)
                };
                let mask = u32::MAX >> (32 - bits);
                let level = |row: u64, column: u64| {
                    let (place, line) = if *along == Along::Rows {
                        (row, column - columns.start)
                    } else {
                        (column, row - rows.start)
                    };
                    let bits = packing.get(place, wide.start, |n| word(line as usize, n));
                    (bits.wrapping_add(*plus) & mask) as i32 - less
                };
                let cells = rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column)));
                Ok(cells.map(|(row, column)| level(row, column) as f32).collect())
            }
        }
    }
}

impl Levels {
    /// The bits of one element.
    fn code(&self, task: &Task, row: u64, column: u64) -> Result<Option<Code>> {
        let one = |n: u64| n..n + 1;
        match self {
            Levels::Plain(array) => {
                let bytes = raw(task, array.as_ref(), &one(row), &one(column))?;
                let bits = u32::try_from(array.dtype().bits()).unwrap_or(u32::MAX);
                let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
                Ok((bits <= 16).then_some(Code { value: value & ((1 << bits.min(16)) - 1), bits }))
            }
            Levels::Nibbles { bytes, .. } => {
                let byte = raw(task, bytes.as_ref(), &one(row), &one(column / 2))?;
                let byte = byte.first().copied().unwrap_or(0);
                Ok(Some(Code { value: u32::from(byte >> (column % 2 * 4) & 15), bits: 4 }))
            }
            Levels::Words { words, along, bits, is_stream, order, .. } => {
                let packing = Packing { bits: *bits, is_stream: *is_stream, order: *order };
                let (place, line) = if *along == Along::Rows { (row, column) } else { (column, row) };
                let wide = packing.words(&one(place));
                let stored = match along {
                    Along::Rows => raw(task, words.as_ref(), &wide, &one(line))?,
                    Along::Columns => raw(task, words.as_ref(), &one(line), &wide)?,
                };
                let stored: Vec<u32> =
                    stored.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
                let value = packing.get(place, wide.start, |n| stored.get(n).copied().unwrap_or(0));
                Ok(Some(Code { value, bits: *bits }))
            }
        }
    }
}

/// How integers lie in words.
#[derive(Clone, Copy)]
struct Packing {
    bits: u32,
    is_stream: bool,
    order: Option<[u32; 8]>,
}

impl Packing {
    /// Where an integer lies: its word, and its lowest bit there.
    fn place(self, n: u64) -> (u64, u32) {
        let bits = u64::from(self.bits.clamp(1, 32));
        if self.is_stream {
            return (n * bits / 32, (n * bits % 32) as u32);
        }
        let each = 32 / bits;
        let within = match self.order.as_ref().and_then(|order| order.get((n % each) as usize)) {
            Some(place) => u64::from(*place),
            None => n % each,
        };
        (n / each, (within * bits) as u32)
    }

    /// The words that some integers lie in.
    fn words(self, range: &Range<u64>) -> Range<u64> {
        if range.is_empty() {
            return 0..0;
        }
        let (last, bit) = self.place(range.end - 1);
        self.place(range.start).0..last + 1 + u64::from(bit + self.bits > 32)
    }

    fn get(self, n: u64, first: u64, word: impl Fn(usize) -> u32) -> u32 {
        let (at, bit) = self.place(n);
        let at = (at - first) as usize;
        let low = word(at) >> bit;
        let high = if bit + self.bits > 32 { word(at + 1) << (32 - bit) } else { 0 };
        (low | high) & u32::MAX >> (32 - self.bits.clamp(1, 32))
    }
}

/// The bytes of a part of a matrix.
fn raw(task: &Task, array: &dyn Array, rows: &Range<u64>, columns: &Range<u64>) -> Result<Vec<u8>> {
    let span = |range: &Range<u64>| Span::range(range.start, range.end.saturating_sub(range.start));
    let region = Region(vec![span(rows), span(columns)]);
    region.check(array.shape()).map_err(|_| {
        let shape = array.shape();
        Error::malformed(format!(
            "a part of a quantised tensor is too small: {rows:?} × {columns:?} of {shape:?}"
        ))
    })?;
    read(array, task, &region)
}

/// The numbers of a part of a matrix, as float32.
fn matrix(task: &Task, array: &dyn Array, rows: &Range<u64>, columns: &Range<u64>) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    array.dtype().decode(&raw(task, array, rows, columns)?, &mut values);
    Ok(values.into_iter().map(|value| value as f32).collect())
}

/// How stored scales become factors.
#[derive(Clone)]
pub enum Factor {
    /// They are.
    Itself,
    /// Powers of two: 2^(n − 127).
    Power,
    /// Divided by a constant.
    Part(f32),
    /// Times a number of the whole tensor.
    Times(Arc<dyn Array>),
    /// Divided by a number of the whole tensor.
    Over(Arc<dyn Array>),
}

impl Factor {
    /// Turns stored scales into factors.
    fn apply(&self, task: &Task, scales: &mut [f32]) -> Result<()> {
        let whole = match self {
            Factor::Times(whole) | Factor::Over(whole) => {
                list(task, whole.as_ref(), &(0..1))?.first().copied().unwrap_or(f32::NAN)
            }
            Factor::Part(part) => *part,
            Factor::Itself | Factor::Power => 1.0,
        };
        for scale in scales {
            *scale = match self {
                Factor::Itself => *scale,
                Factor::Power if *scale >= 255.0 => f32::NAN,
                Factor::Power => f64::from(*scale - 127.0).exp2() as f32,
                Factor::Times(_) => *scale * whole,
                Factor::Over(_) | Factor::Part(_) => *scale / whole,
            };
        }
        Ok(())
    }
}

/// `scale × (level − zero point)` of a matrix that may be stored with rows and columns exchanged.
pub struct Affine {
    /// Integers or small floats.
    pub levels: Levels,
    /// A scale for each block: a matrix.
    pub scales: Arc<dyn Array>,
    /// What the scales become.
    pub factor: Factor,
    /// Rows and columns of a block, as they are stored.
    pub block: (u64, u64),
    /// What is taken off the levels of a block.
    pub zeros: Option<Levels>,
    /// Which block of rows each stored row belongs to, where they are in no order.
    pub rows: Option<Arc<dyn Array>>,
    /// The same of the columns.
    pub columns: Option<Arc<dyn Array>>,
    /// Whether rows are stored as columns.
    pub is_transposed: bool,
}

/// The blocks that places along an axis belong to, and the first and last of them.
fn groups(
    task: &Task,
    order: Option<&Arc<dyn Array>>,
    range: &Range<u64>,
    block: u64,
) -> Result<(Vec<u64>, Range<u64>)> {
    let groups: Vec<u64> = match order {
        Some(order) => {
            let values = matrix(task, order.as_ref(), &(0..1), range)?;
            if let Some(wrong) = values.iter().find(|value| **value < 0.0) {
                return Err(Error::malformed(format!("g_idx: a group of number {wrong}")));
            }
            values.into_iter().map(|group| group as u64).collect()
        }
        None => range.clone().map(|n| n / block.max(1)).collect(),
    };
    let first = groups.iter().min().copied().unwrap_or(0);
    let end = groups.iter().max().map_or(0, |last| last + 1);
    Ok((groups, first..end))
}

impl Affine {
    /// The elements of a part of the stored matrix.
    fn stored(&self, task: &Task, rows: &Range<u64>, columns: &Range<u64>) -> Result<Vec<Quant>> {
        let levels = self.levels.read(task, rows, columns)?;
        let (row_groups, down) = groups(task, self.rows.as_ref(), rows, self.block.0)?;
        let (column_groups, across) = groups(task, self.columns.as_ref(), columns, self.block.1)?;
        let mut scales = matrix(task, self.scales.as_ref(), &down, &across)?;
        self.factor.apply(task, &mut scales)?;
        let zeros = self.zeros.as_ref().map(|zeros| zeros.read(task, &down, &across)).transpose()?;
        let wide = (across.end - across.start) as usize;
        let mut out = Vec::with_capacity(levels.len());
        let mut levels = levels.into_iter();
        for row in row_groups {
            let line = (row - down.start) as usize * wide;
            for (column, level) in column_groups.iter().zip(levels.by_ref()) {
                let at = line + (column - across.start) as usize;
                let scale = scales.get(at).copied().unwrap_or(f32::NAN);
                let zero = zeros.as_ref().and_then(|zeros| zeros.get(at).copied()).unwrap_or(0.0);
                out.push(Quant { level: level - zero, scale, offset: None });
            }
        }
        Ok(out)
    }
}

impl Recipe for Affine {
    fn quants(&self, task: &Task, rows: Range<u64>, columns: Range<u64>) -> Result<Vec<Quant>> {
        if !self.is_transposed {
            return self.stored(task, &rows, &columns);
        }
        let stored = self.stored(task, &columns, &rows)?;
        let (height, width) = ((rows.end - rows.start) as usize, (columns.end - columns.start) as usize);
        let mut out = Vec::with_capacity(stored.len());
        for row in 0..height {
            out.extend((0..width).filter_map(|column| stored.get(column * height + row).copied()));
        }
        Ok(out)
    }

    fn code(&self, task: &Task, row: u64, column: u64) -> Result<Option<Code>> {
        match self.is_transposed {
            true => self.levels.code(task, column, row),
            false => self.levels.code(task, row, column),
        }
    }
}

/// Values of a table by 4 bits each, two in a byte, the first in the high bits; with a scale for each so many of all the
/// elements in C order.
pub struct Tabled {
    /// The bytes, one behind the other.
    pub bytes: Arc<dyn Array>,
    /// How long a row is.
    pub columns: u64,
    /// What each of the bit patterns stands for.
    pub table: Arc<dyn Array>,
    /// Elements that share a scale.
    pub block: u64,
    /// The scales.
    pub scales: Scales,
}

/// Scales one behind the other.
pub enum Scales {
    /// As they are.
    Plain(Arc<dyn Array>),
    /// Quantised again: numbers of a line of a table, times a scale for each so many, plus an offset.
    Nested {
        /// The numbers.
        codes: Arc<dyn Array>,
        /// The table of 256 values.
        table: Arc<dyn Array>,
        /// The scales of the scales.
        scales: Arc<dyn Array>,
        /// How many share one.
        block: u64,
        /// What is added.
        offset: f32,
    },
}

/// Numbers of an array of one dimension.
fn list(task: &Task, array: &dyn Array, range: &Range<u64>) -> Result<Vec<f32>> {
    let region = Region(vec![Span::range(range.start, range.end.saturating_sub(range.start))]);
    region.check(array.shape()).map_err(|_| {
        let shape = array.shape();
        Error::malformed(format!("a part of a quantised tensor is too small: {range:?} of {shape:?}"))
    })?;
    let mut values = Vec::new();
    array.dtype().decode(&read(array, task, &region)?, &mut values);
    Ok(values.into_iter().map(|value| value as f32).collect())
}

impl Scales {
    fn read(&self, task: &Task, range: &Range<u64>) -> Result<Vec<f32>> {
        match self {
            Scales::Plain(array) => list(task, array.as_ref(), range),
            Scales::Nested { codes, table, scales, block, offset } => {
                let table = list(task, table.as_ref(), &(0..256))?;
                let block = (*block).max(1);
                let first = range.start / block;
                let scales = list(task, scales.as_ref(), &(first..range.end.div_ceil(block)))?;
                let codes = list(task, codes.as_ref(), range)?;
                let one = |(code, n): (f32, u64)| {
                    let scale = scales.get((n / block - first) as usize).copied().unwrap_or(f32::NAN);
                    table.get(code as usize).copied().unwrap_or(f32::NAN) * scale + offset
                };
                Ok(codes.into_iter().zip(range.clone()).map(one).collect())
            }
        }
    }
}

impl Recipe for Tabled {
    fn quants(&self, task: &Task, rows: Range<u64>, columns: Range<u64>) -> Result<Vec<Quant>> {
        let table = list(task, self.table.as_ref(), &(0..16))?;
        let block = self.block.max(1);
        let mut out = Vec::with_capacity(((rows.end - rows.start) * (columns.end - columns.start)) as usize);
        for row in rows {
            let begin = row * self.columns;
            let places = begin + columns.start..begin + columns.end;
            let first = places.start / block;
            let scales = self.scales.read(task, &(first..places.end.div_ceil(block)))?;
            let bytes = list(task, self.bytes.as_ref(), &(places.start / 2..places.end.div_ceil(2)))?;
            for n in places.clone() {
                let byte = bytes.get((n / 2 - places.start / 2) as usize).copied().unwrap_or(0.0) as u8;
                let code = if n % 2 == 0 { byte >> 4 } else { byte & 15 };
                let level = table.get(usize::from(code)).copied().unwrap_or(f32::NAN);
                let scale = scales.get((n / block - first) as usize).copied().unwrap_or(f32::NAN);
                out.push(Quant { level, scale, offset: None });
            }
        }
        Ok(out)
    }

    fn code(&self, task: &Task, row: u64, column: u64) -> Result<Option<Code>> {
        let place = row * self.columns + column;
        let byte = list(task, self.bytes.as_ref(), &(place / 2..place / 2 + 1))?;
        let byte = byte.first().copied().unwrap_or(0.0) as u8;
        let value = if place.is_multiple_of(2) { byte >> 4 } else { byte & 15 };
        Ok(Some(Code { value: u32::from(value), bits: 4 }))
    }
}
