//! `TensorProto`: a tensor as a message, its elements as they lie in memory or one field an element.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/framework/tensor.proto>

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::data::content::array::Plain;
use crate::data::dtype::{DType, Mini};
use crate::engines::protobuf::{Field, Part, Value as Wire};

/// The most bytes that elements of single fields are made into.
const MADE: u64 = 64 << 20;

/// A tensor.
pub(super) struct Tensor<'a> {
    code: u64,
    pub(super) shape: Vec<u64>,
    /// The elements as they lie in memory.
    content: Part<'a>,
    /// The fields that hold elements one by one, with their numbers.
    fields: Vec<(u32, Wire<'a>)>,
    strings: Vec<Part<'a>>,
}

impl<'a> Tensor<'a> {
    /// Reads the fields; elements are looked at when they are asked for.
    pub(super) fn parse(part: Part<'a>) -> Result<Tensor<'a>> {
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
    pub(super) fn whole(part: Part<'a>) -> Option<Tensor<'a>> {
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

    /// The elements of a tensor of texts.
    pub(super) fn strings(&self) -> &[Part<'a>] {
        &self.strings
    }

    /// Whether it holds texts or bytes.
    pub(super) fn is_text(&self) -> bool {
        self.code == 7
    }

    /// The type of the elements; `None` for texts and what has no elements of a fixed size.
    pub(super) fn dtype(&self) -> Option<DType> {
        Some(match self.code {
            1 => DType::F32,
            2 => DType::F64,
            3 | 13 => DType::I32,
            4 | 12 => DType::U8,
            5 | 15 => DType::I16,
            6 | 11 => DType::I8,
            8 => DType::C64,
            9 => DType::I64,
            10 => DType::Bool,
            14 => DType::BF16,
            16 | 17 => DType::U16,
            18 => DType::C128,
            19 => DType::F16,
            22 => DType::U32,
            23 => DType::U64,
            24 => DType::Mini(Mini::F8E5M2),
            25 => DType::Mini(Mini::F8E4M3FN),
            26 => DType::Mini(Mini::F8E4M3FNUZ),
            27 => DType::Mini(Mini::F8E4M3B11FNUZ),
            28 => DType::Mini(Mini::F8E5M2FNUZ),
            _ => return None,
        })
    }

    /// The word for the type.
    pub(super) fn type_word(&self) -> String {
        match (self.dtype(), self.code) {
            (Some(dtype), _) => dtype.to_string(),
            (None, 7) => "string".to_owned(),
            (None, 20) => "resource".to_owned(),
            (None, 21) => "variant".to_owned(),
            (None, code) => format!("type {code}"),
        }
    }

    /// Bytes of the elements as they are stored.
    pub(super) fn stored(&self) -> u64 {
        let field = |(_, value): &(u32, Wire)| match value {
            Wire::Bytes(part) | Wire::Group(part) => part.bytes().len(),
            Wire::Fixed64(_) | Wire::Varint(_) => 8,
            Wire::Fixed32(_) => 4,
        };
        let strings: usize = self.strings.iter().map(|part| part.bytes().len()).sum();
        (self.content.bytes().len() + strings + self.fields.iter().map(field).sum::<usize>()) as u64
    }

    /// The array that it is, a slice of `source` where its elements lie there in one piece.
    pub(super) fn array(&self, source: &Source) -> Result<Plain> {
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
    pub(super) fn first(&self) -> Option<f64> {
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
    pub(super) fn numbers(&self) -> Result<Vec<f64>> {
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

    /// Elements of single fields, as they would lie in memory. Of fewer than the shape has, the last one stands for
    /// the rest, as TensorFlow has it.
    fn made(&self, dtype: &DType) -> Result<Vec<u8>> {
        let count = limits::bytes(&self.shape, dtype.size())?;
        let size = limits::check(count, MADE, "a tensor")?;
        let mut bytes = Vec::new();
        for (number, value) in &self.fields {
            push(dtype, *number, *value, &mut bytes);
        }
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
        (5 | 6 | 9 | 12 | 18, Wire::Bytes(part)) => to.extend(part.bytes()),
        _ => {}
    }
}

/// The sides of a `TensorShapeProto`.
fn shape(part: Part) -> Result<Vec<u64>> {
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
