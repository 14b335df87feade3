//! Repeated numbers of a message: several packed, or one a field.

use super::schema::Kind;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::leb128;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::Plain;
use crate::data::dtype::DType;
use crate::engines::late_array::LateArray;
use crate::engines::protobuf::Value as Wire;
use std::ops::Range;
use std::sync::Arc;

/// The most bytes that numbers are made into that do not lie in the file as in memory.
const MADE: u64 = 1 << 30;

/// A part of a repeated field: where several values lie, or one.
#[derive(Clone, Debug)]
enum Piece {
    Packed(Range<u64>),
    One(u64),
}

/// The numbers of a repeated field.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    kind: Kind,
    pieces: Vec<Piece>,
    /// How many there are.
    pub(super) count: u64,
}

impl Numbers {
    /// None yet, of fields of this kind.
    pub(super) fn of(kind: Kind) -> Self {
        Numbers { kind, pieces: Vec::new(), count: 0 }
    }

    /// Bytes of a number where it is one of a fixed size.
    fn width(&self) -> Option<u64> {
        match self.kind {
            Kind::Float => Some(4),
            Kind::Double => Some(8),
            _ => None,
        }
    }

    /// The type of the elements where the file says nothing else.
    pub(super) fn dtype(&self) -> DType {
        match self.kind {
            Kind::Float => DType::F32,
            Kind::Double => DType::F64,
            Kind::Bool => DType::Bool,
            _ => DType::I64,
        }
    }

    /// Adds what a field holds.
    pub(super) fn push(&mut self, value: Wire) {
        let (piece, count) = match (value, self.width()) {
            (Wire::Bytes(part), Some(width)) => {
                (Piece::Packed(part.span()), part.bytes().len() as u64 / width)
            }
            (Wire::Bytes(part), None) => {
                let ends = part.bytes().iter().filter(|byte| **byte < 0x80).count();
                (Piece::Packed(part.span()), ends as u64)
            }
            (Wire::Varint(value), None) => (Piece::One(value), 1),
            (Wire::Fixed32(bytes), Some(4)) => (Piece::One(u64::from(u32::from_le_bytes(bytes))), 1),
            (Wire::Fixed64(bytes), Some(8)) => (Piece::One(u64::from_le_bytes(bytes)), 1),
            _ => return,
        };
        self.count = self.count.saturating_add(count);
        self.pieces.push(piece);
    }

    /// Where they lie as in memory.
    pub(super) fn span(&self) -> Option<Range<u64>> {
        match (self.pieces.as_slice(), self.width()) {
            ([Piece::Packed(span)], Some(_)) => Some(span.clone()),
            _ => None,
        }
    }

    /// An array of them. `dtype` is the narrower type that integers stand for.
    ///
    /// # Errors
    /// `Malformed` where there are fewer than the shape has, `Limit`.
    pub(super) fn array(
        &self,
        source: &Source,
        shape: Vec<u64>,
        dtype: Option<DType>,
    ) -> Result<Arc<dyn Array>> {
        let dtype = dtype.filter(|_| self.width().is_none()).unwrap_or_else(|| self.dtype());
        let elements = limits::elements(&shape)?;
        if elements > self.count {
            let there = self.count;
            return Err(Error::malformed(format!(
                "shape {shape:?} has {elements} elements, {there} are stored"
            )));
        }
        if let Some(span) = self.span() {
            return Ok(Arc::new(Plain::new(source.clone(), span.start, dtype, shape)?));
        }
        let size = dtype.size();
        limits::check(elements.saturating_mul(size.max(8)), MADE, "an array of single numbers")?;
        let (numbers, source) = (self.clone(), source.clone());
        let make = move |task: &Task| {
            let mut out = numbers.bytes(task, &source, size as usize)?;
            out.truncate((elements * size) as usize);
            Ok(bytes::Bytes::from(out))
        };
        Ok(Arc::new(LateArray::new(dtype, shape, make)))
    }

    /// The lowest `size` bytes of each.
    fn bytes(&self, task: &Task, source: &Source, size: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut put = |value: u64| out.extend(value.to_le_bytes().into_iter().take(size));
        for piece in &self.pieces {
            task.check()?;
            let span = match piece {
                Piece::One(value) => {
                    put(*value);
                    continue;
                }
                Piece::Packed(span) => span.clone(),
            };
            let bytes = source.read(task, span.clone())?;
            match self.width() {
                Some(4) => bytes.as_chunks::<4>().0.iter().for_each(|b| put(u32::from_le_bytes(*b).into())),
                Some(_) => bytes.as_chunks::<8>().0.iter().for_each(|b| put(u64::from_le_bytes(*b))),
                None => {
                    let mut rest: &[u8] = &bytes;
                    while !rest.is_empty() {
                        let (value, taken) = leb128(rest)
                            .ok_or_else(|| Error::malformed("a number is cut off").at(span.start))?;
                        put(value);
                        rest = rest.get(taken..).unwrap_or_default();
                    }
                }
            }
        }
        Ok(out)
    }

    /// The first of them, `most` at most, each as the bits that it is.
    pub(super) fn first(&self, task: &Task, source: &Source, most: u64) -> Result<Vec<u64>> {
        if self.count > most {
            return Ok(Vec::new());
        }
        let bytes = self.bytes(task, source, 8)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect())
    }

    /// Whether they are floats, and of how many bits.
    pub(super) fn float_bits(&self) -> Option<u64> {
        self.width().map(|width| width * 8)
    }
}
