//! `TensorProto`: a tensor as a message, its elements as they lie in memory or one field an element.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/tensor.proto>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::content::Content;
use crate::data::content::array::Plain;
use crate::data::dtype::DType;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use crate::engines::tensorflow::arrays::{Strings, filled};
use crate::engines::tensorflow::types;
use std::sync::Arc;

/// The most bytes that elements of single fields are made into.
const MADE: u64 = 64 << 20;

/// A tensor.
pub struct Tensor<'a> {
    code: u64,
    /// The length of each dimension.
    pub shape: Vec<u64>,
    /// The elements as they lie in memory.
    content: Part<'a>,
    /// The fields that hold elements one by one, with their numbers.
    fields: Vec<(u32, Wire<'a>)>,
    strings: Vec<Part<'a>>,
}

impl<'a> Tensor<'a> {
    /// The same with a type, where its message has none.
    pub fn or_type(mut self, code: u64) -> Self {
        if self.code == 0 {
            self.code = code;
        }
        self
    }

    /// Reads the fields; elements are looked at when they are asked for.
    pub fn parse(part: Part<'a>) -> Result<Tensor<'a>> {
        let mut tensor = Tensor {
            code: 0,
            shape: Vec::new(),
            content: Part::decoded(&[]),
            fields: Vec::new(),
            strings: Vec::new(),
        };
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, value) => tensor.code = value.uint(),
                (2, value) => tensor.shape = shape(value.part())?,
                (4, Wire::Bytes(content)) => tensor.content = content,
                (8, Wire::Bytes(string)) => tensor.strings.push(string),
                (5..=7 | 9..=13 | 16..=18, value) => tensor.fields.push((number, value)),
                _ => {}
            }
        }
        Ok(tensor)
    }

    /// The tensor that a message is, if it has the fields of one alone and as many elements as its shape says.
    pub fn whole(part: Part<'a>) -> Option<Tensor<'a>> {
        for field in part.fields() {
            match field.ok()? {
                Field { number: 1 | 3, value: Wire::Varint(_), .. } => {}
                Field { number: 2 | 4 | 8, value: Wire::Bytes(_), .. } => {}
                Field { number: 5..=7 | 9..=13 | 16..=18, .. } => {}
                _ => return None,
            }
        }
        let tensor = Tensor::parse(part).ok()?;
        let elements = limits::elements(&tensor.shape).ok()?;
        let fits = match tensor.dtype() {
            Some(dtype) => {
                let bytes = limits::bytes(&tensor.shape, dtype.size()).ok()?;
                match tensor.content.bytes().len() as u64 {
                    0 => bytes == 0 || !tensor.fields.is_empty() && bytes <= MADE,
                    stored => stored == bytes,
                }
            }
            None => tensor.is_text() && tensor.strings.len() as u64 == elements,
        };
        fits.then_some(tensor)
    }

    /// The number of its type.
    pub fn code(&self) -> u64 {
        self.code
    }

    /// The elements of a tensor of texts.
    pub fn strings(&self) -> &[Part<'a>] {
        &self.strings
    }

    /// Whether it holds texts or bytes.
    pub fn is_text(&self) -> bool {
        self.code == 7
    }

    /// The type of the elements; `None` for texts and what has no elements of a fixed size.
    pub fn dtype(&self) -> Option<DType> {
        types::dtype(self.code)
    }

    /// The word for the type.
    pub fn type_word(&self) -> String {
        if self.is_text() { "string".to_owned() } else { types::word(self.code) }
    }

    /// Its elements as content, a slice of `source` where they lie there in one piece; nothing else is made of them but
    /// what single fields hold. `None` for handles of resources and the like.
    pub fn content(&self, source: &Source) -> Result<Option<Content>> {
        if self.is_text() {
            let texts = self.strings.iter().map(|part| part.bytes().to_vec()).collect();
            return Ok(Some(Content::Array(Arc::new(Strings::new(texts, self.shape.clone())?))));
        }
        let Some(dtype) = self.dtype() else { return Ok(None) };
        if !self.content.bytes().is_empty() {
            return Ok(Some(Content::Array(Arc::new(self.array(source)?))));
        }
        let bytes = limits::bytes(&self.shape, dtype.size())?;
        let values = self.values(&dtype);
        if values.len() as u64 >= bytes {
            let plain = Plain::new(Source::memory("tensor", values), 0, dtype, self.shape.clone())?;
            return Ok(Some(Content::Array(Arc::new(plain))));
        }
        Ok(Some(Content::Array(Arc::new(filled(dtype, self.shape.clone(), values)))))
    }

    /// What it is, in words: `float32 [4, 3]`.
    pub fn summary(&self) -> String {
        format!("{} {:?}", self.type_word(), self.shape)
    }

    /// Bytes of the elements as they are stored.
    pub fn stored(&self) -> u64 {
        let field = |(_, value): &(u32, Wire)| match value {
            Wire::Bytes(part) | Wire::Group(part) => part.bytes().len(),
            Wire::Fixed64(_) | Wire::Varint(_) => 8,
            Wire::Fixed32(_) => 4,
        };
        let strings: usize = self.strings.iter().map(|part| part.bytes().len()).sum();
        (self.content.bytes().len() + strings + self.fields.iter().map(field).sum::<usize>()) as u64
    }

    /// The array that it is, a slice of `source` where its elements lie there in one piece.
    pub fn array(&self, source: &Source) -> Result<Plain> {
        let dtype = self.dtype().ok_or_else(|| self.has_no_numbers())?;
        if !self.content.bytes().is_empty() {
            let span = self.content.span();
            let needed = limits::bytes(&self.shape, dtype.size())?;
            if needed > span.end - span.start {
                let what =
                    format!("tensor: shape {:?} of {dtype} needs {needed} bytes, it has fewer", self.shape);
                return Err(Error::malformed(what).at(span.start));
            }
            return Plain::new(source.clone(), span.start, dtype, self.shape.clone());
        }
        let bytes = self.made(&dtype)?;
        Plain::new(Source::memory("tensor", bytes), 0, dtype, self.shape.clone())
    }

    /// The first element as a number.
    pub fn first(&self) -> Option<f64> {
        let dtype = self.dtype()?;
        let size = dtype.size() as usize;
        let mut values = Vec::new();
        match self.content.bytes().get(..size) {
            Some(bytes) => dtype.decode(bytes, &mut values),
            None => {
                let mut bytes = Vec::new();
                if let Some((number, value)) = self.fields.first() {
                    push(&dtype, *number, *value, &mut bytes);
                }
                dtype.decode(bytes.get(..size)?, &mut values);
            }
        }
        values.first().copied()
    }

    /// The elements as numbers, as many as there are.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        let dtype = self.dtype().ok_or_else(|| self.has_no_numbers())?;
        let mut values = Vec::new();
        if !self.content.bytes().is_empty() {
            dtype.decode(self.content.bytes(), &mut values);
            return Ok(values);
        }
        dtype.decode(&self.made(&dtype)?, &mut values);
        Ok(values)
    }

    fn has_no_numbers(&self) -> Error {
        Error::unsupported(format!("a tensor of the type {}", self.type_word()))
    }

    /// The elements that single fields hold, as they would lie in memory.
    fn values(&self, dtype: &DType) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, value) in &self.fields {
            push(dtype, *number, *value, &mut bytes);
        }
        bytes
    }

    /// Elements of single fields, as they would lie in memory. Of fewer than the shape has, the last one stands for
    /// the rest, as TensorFlow has it.
    fn made(&self, dtype: &DType) -> Result<Vec<u8>> {
        let count = limits::bytes(&self.shape, dtype.size())?;
        let size = limits::check(count, MADE, "a tensor")?;
        let mut bytes = self.values(dtype);
        let one = dtype.size() as usize;
        let last = match bytes.len().checked_sub(one) {
            Some(start) => bytes.get(start..).unwrap_or_default().to_vec(),
            None => vec![0; one],
        };
        bytes.truncate(size);
        while bytes.len() + one <= size {
            bytes.extend_from_slice(&last);
        }
        Ok(bytes)
    }
}

/// Adds the elements of a field, little-endian.
fn push(dtype: &DType, number: u32, value: Wire, to: &mut Vec<u8>) {
    let size = dtype.size() as usize;
    let mut integer = |value: u64| to.extend(value.to_le_bytes().get(..size.min(8)).unwrap_or_default());
    match (number, value) {
        // Integers, booleans and the bits of halves: varints, packed or not.
        (7 | 10 | 11 | 13 | 16 | 17, Wire::Varint(value)) => integer(value),
        (7 | 10 | 11 | 13 | 16 | 17, Wire::Bytes(part)) => {
            part.varints().map_while(Result::ok).for_each(integer);
        }
        // Floats and doubles, and pairs of them: as they lie in memory.
        (5 | 9, Wire::Fixed32(bytes)) => to.extend(bytes),
        (6 | 12, Wire::Fixed64(bytes)) => to.extend(bytes),
        // Floats of eight bits are bytes.
        (5 | 6 | 9 | 12 | 18, Wire::Bytes(part)) => to.extend(part.bytes()),
        _ => {}
    }
}

/// The sides of a `TensorShapeProto` that has elements.
///
/// # Errors
/// `Malformed` for sides that are open or too many.
pub fn shape(part: Part) -> Result<Vec<u64>> {
    let mut sides = Vec::new();
    for field in part.fields() {
        let Field { number, value, at } = field?;
        if number != 2 {
            continue;
        }
        let mut side = 0;
        for field in value.fields() {
            let Field { number, value, .. } = field?;
            if number == 1 {
                side = value.uint();
            }
        }
        let fits = i64::try_from(side).is_ok() && sides.len() < 254;
        sides.push(fits.then_some(side).ok_or_else(|| Error::malformed("tensor: its shape is none").at(at))?);
    }
    Ok(sides)
}
