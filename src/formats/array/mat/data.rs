//! Values: numbers, whose stored type may be narrower than their class, and characters.

use super::blob::Blob;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::strides::{self, Axis};
use crate::bytes::task::Task;
use crate::data::content::array::{Plain, read};
use crate::data::content::{Array, ArrayFacts};
use crate::data::dtype::DType;
use crate::data::region::{Region, Span};
use arrow::array::{ArrayRef, StringArray};
use std::sync::Arc;

/// Numbers as they lie in an element.
#[derive(Clone)]
pub(super) struct Stored {
    pub blob: Blob,
    pub big: bool,
    pub dtype: DType,
    pub at: u64,
    /// How many there are.
    pub count: u64,
}

impl Stored {
    /// Them as an array of this shape, the first index fastest.
    pub(super) fn plain(&self, shape: &[u64]) -> Result<Plain> {
        let plain = Plain::new(self.blob.source()?, self.at, self.dtype.clone(), shape.to_vec())?;
        Ok(plain.fortran(true).big_endian(self.big))
    }

    /// Some of them, as little-endian bytes.
    pub(super) fn bytes(&self, task: &Task, first: u64, count: u64) -> Result<Vec<u8>> {
        if first.checked_add(count).is_none_or(|end| end > self.count) {
            let what =
                format!("array: numbers {first} to {} of {} are referred to", first + count, self.count);
            return Err(Error::malformed(what).at(self.at));
        }
        read(&self.plain(&[self.count])?, task, &Region(vec![crate::data::region::Span::range(first, count)]))
    }

    /// Some of them, as floats.
    pub(super) fn numbers(&self, task: &Task, first: u64, count: u64) -> Result<Vec<f64>> {
        let mut out = Vec::new();
        self.dtype.decode(&self.bytes(task, first, count)?, &mut out);
        Ok(out)
    }
}

/// Numbers of a class.
pub(super) struct Numbers {
    pub real: Stored,
    pub imaginary: Option<Stored>,
    pub dtype: DType,
    pub shape: Vec<u64>,
    pub facts: ArrayFacts,
}

impl Array for Numbers {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        if self.imaginary.is_none() && self.real.dtype == self.dtype {
            return self.real.plain(&self.shape)?.read(task, region, out);
        }
        let part = match self.dtype {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            ref other => other.clone(),
        };
        let real = converted(read(&self.real.plain(&self.shape)?, task, region)?, &self.real.dtype, &part);
        let Some(imaginary) = &self.imaginary else {
            return filled(out, &real);
        };
        let stored = read(&imaginary.plain(&self.shape)?, task, region)?;
        let other = converted(stored, &imaginary.dtype, &part);
        let size = part.size() as usize;
        let pairs = real.chunks_exact(size).zip(other.chunks_exact(size));
        for (element, (re, im)) in out.chunks_exact_mut(2 * size).zip(pairs) {
            let (first, second) = element.split_at_mut(size);
            first.copy_from_slice(re);
            second.copy_from_slice(im);
        }
        Ok(())
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = self.facts.clone();
        facts.byte_order =
            (self.real.dtype.size() > 1).then_some(if self.real.big { "big" } else { "little" });
        let parts = 1 + u64::from(self.imaginary.is_some());
        facts.bytes_stored = self.real.count.checked_mul(self.real.dtype.size() * parts);
        if self.real.dtype != self.dtype && self.imaginary.is_none() {
            facts.details.push(("stored as".to_owned(), self.real.dtype.to_string()));
        }
        facts.details.push(("order".to_owned(), "Fortran".to_owned()));
        if matches!(self.real.blob, Blob::Packed(..)) {
            facts.codecs = vec!["zlib".to_owned()];
            facts.bytes_stored = None;
        }
        facts
    }
}

fn filled(out: &mut [u8], from: &[u8]) -> Result<()> {
    if out.len() != from.len() {
        return Err(Error::bug(format!("{} converted bytes for {}", from.len(), out.len())));
    }
    out.copy_from_slice(from);
    Ok(())
}

/// Elements of one type as those of another. Integers are stored in narrower types where they fit.
pub(super) fn converted(bytes: Vec<u8>, from: &DType, to: &DType) -> Vec<u8> {
    if from == to || matches!((from, to), (DType::I64 | DType::U64, DType::I64 | DType::U64)) {
        return bytes;
    }
    let mut values = Vec::with_capacity(bytes.len() / from.size().max(1) as usize);
    from.decode(&bytes, &mut values);
    let mut out = vec![0; values.len() * to.size() as usize];
    to.encode(&values, &mut out);
    out
}

/// How characters are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// UTF-8, of any number of bytes a character.
    Utf8,
    /// Numbers that are characters: UTF-16 or wider, ASCII, floats in old files.
    Numbers,
}

/// Rows of characters, as texts.
pub(super) struct Chars {
    stored: Stored,
    coding: Coding,
    /// Of single characters.
    shape: Vec<u64>,
    dtype: DType,
}

/// Longer texts are given as elements without a fixed size.
const LONGEST: u64 = 4096;

impl Chars {
    pub(super) fn new(stored: Stored, coding: Coding, shape: Vec<u64>) -> Self {
        let dtype = match shape.last() {
            Some(&len) if len <= LONGEST => DType::Str(len.max(1) as u32),
            _ => DType::text(),
        };
        Chars { stored, coding, shape, dtype }
    }

    /// Every character, in the file's order.
    fn characters(&self, task: &Task) -> Result<Vec<char>> {
        let size = self.stored.dtype.size();
        limits::check(limits::bytes(&[self.stored.count], size)?, limits::CHUNK, "this text")?;
        let bytes = self.stored.bytes(task, 0, self.stored.count)?;
        if self.coding == Coding::Utf8 {
            return Ok(String::from_utf8_lossy(&bytes).chars().collect());
        }
        let mut codes = Vec::new();
        self.stored.dtype.decode(&bytes, &mut codes);
        let total = limits::elements(&self.shape)?;
        if size == 2 && codes.len() as u64 == total && self.shape.first() == Some(&1) {
            // One row: pairs of surrogates stand beside each other.
            let units = codes.iter().map(|code| *code as u16);
            return Ok(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect());
        }
        let character = |code: &f64| char::from_u32(*code as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        Ok(codes.iter().map(character).collect())
    }

    /// The texts of a region of rows, in C order.
    fn texts(&self, task: &Task, region: &Region) -> Result<Vec<String>> {
        let characters = self.characters(task)?;
        let Some((&len, rows)) = self.shape.split_last() else { return Ok(Vec::new()) };
        // The distance between neighbours of a text: all rows lie between them.
        let step = limits::elements(rows)?;
        limits::check(region.elements()?, limits::CHUNK, "these texts")?;
        let order: Vec<usize> = (0..rows.len()).rev().collect();
        let each = region.0.iter().zip(strides::dense(rows, &order, 1));
        let first = each.clone().map(|(span, stride)| span.start * stride).sum();
        let axis = |(span, stride): (&Span, u64)| Axis { count: span.count, from: span.step * stride, to: 0 };
        let (axes, mut texts) = (each.map(axis).collect::<Vec<Axis>>(), Vec::new());
        let character = |place: u64| characters.get(usize::try_from(place).ok()?).copied();
        let text = |place: u64| (0..len).map_while(|n| character(place + n * step)).collect::<String>();
        strides::walk(&axes, (first, 0), &mut |place, _| texts.push(text(place)));
        Ok(texts)
    }
}

impl Array for Chars {
    fn dtype(&self) -> &DType {
        &self.dtype
    }

    fn shape(&self) -> &[u64] {
        self.shape.split_last().map_or(&[], |(_, rows)| rows)
    }

    fn read(&self, task: &Task, region: &Region, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        out.fill(0);
        let size = self.dtype.size() as usize;
        for (element, text) in out.chunks_exact_mut(size.max(1)).zip(self.texts(task, region)?) {
            for (place, character) in element.as_chunks_mut::<4>().0.iter_mut().zip(text.chars()) {
                *place = u32::from(character).to_le_bytes();
            }
        }
        Ok(())
    }

    fn column(&self, task: &Task, region: &Region) -> Result<ArrayRef> {
        region.check(self.shape())?;
        Ok(Arc::new(StringArray::from_iter_values(self.texts(task, region)?)))
    }

    fn facts(&self) -> ArrayFacts {
        let mut facts = ArrayFacts::default();
        facts.details.push(("stored as".to_owned(), format!("char of shape {:?}", self.shape)));
        facts
    }
}
