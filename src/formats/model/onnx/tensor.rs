//! `TensorProto`: a tensor whose elements lie in the file as in memory, in a file beside it, or field by field.

use super::infer::{self, Literal};
use super::types::{self, Element};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::leb128;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::adapt::{NullRule, TextColumn};
use crate::data::content::Content;
use crate::data::content::array::{Array, ArrayFacts, Plain};
use crate::data::content::table::MemoryTable;
use crate::data::node::Node;
use crate::engines::bits::Bits;
use crate::engines::late_array::LateArray;
use crate::engines::modules::Leaf;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The most bytes that elements of single fields are made into.
const MADE: u64 = 1 << 30;

/// A tensor, as its message says.
#[derive(Clone, Debug, Default)]
pub(super) struct Tensor {
    /// Its name; under which its node stands.
    pub(super) name: String,
    code: u64,
    pub(super) shape: Vec<u64>,
    storage: Storage,
    /// What is wrong with where its elements are said to be.
    problem: Option<Error>,
    /// Pairs of texts that it has.
    metadata: Vec<(String, String)>,
}

/// Where its elements are.
#[derive(Clone, Debug, Default)]
enum Storage {
    #[default]
    Nowhere,
    /// As they lie in memory.
    Raw(Range<u64>),
    /// Field by field: the number of the field, and its parts.
    Fields(u32, Vec<Piece>),
    /// In another file.
    External { location: String, offset: u64, length: Option<u64> },
}

/// A part of a repeated field: several values packed, or one.
#[derive(Clone, Debug)]
enum Piece {
    Packed(Range<u64>),
    One(u64),
}

impl Tensor {
    /// Reads the fields; elements are not looked at.
    pub(super) fn parse(part: Part) -> Result<Tensor> {
        let mut tensor = Tensor::default();
        let (mut location, mut is_external) = (Vec::new(), false);
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match (number, value) {
                (1, value) => dims(value, &mut tensor.shape)?,
                (2, value) => tensor.code = value.uint(),
                (4 | 5 | 6 | 7 | 10 | 11, value) => tensor.field(number, value),
                (8, value) => tensor.name = value.text(),
                (9, value) => tensor.storage = Storage::Raw(value.part().span()),
                (13, value) => location.push(super::pair(value.part())?),
                (14, value) => is_external = value.uint() == 1,
                (16, value) => tensor.metadata.push(super::pair(value.part())?),
                _ => {}
            }
        }
        if is_external {
            match external(&location) {
                Ok(storage) => tensor.storage = storage,
                Err(error) => tensor.problem = Some(error),
            }
        }
        Ok(tensor)
    }

    fn field(&mut self, number: u32, value: Wire) {
        let piece = match value {
            Wire::Bytes(part) => Piece::Packed(part.span()),
            Wire::Varint(value) => Piece::One(value),
            Wire::Fixed64(bytes) => Piece::One(u64::from_le_bytes(bytes)),
            Wire::Fixed32(bytes) => Piece::One(u64::from(u32::from_le_bytes(bytes))),
            Wire::Group(_) => return,
        };
        match &mut self.storage {
            Storage::Fields(known, pieces) if *known == number => pieces.push(piece),
            Storage::Nowhere => self.storage = Storage::Fields(number, vec![piece]),
            _ => {}
        }
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> String {
        types::name(self.code)
    }

    /// How many elements it has, where that is a number.
    pub(super) fn elements(&self) -> Option<u64> {
        limits::elements(&self.shape).ok()
    }

    /// The elements of a small tensor that lies in the model, for what is concluded of shapes. `None` where there are many
    /// of them, or where they lie in another file.
    fn small(&self, task: &Task, files: &Files) -> Option<Vec<u8>> {
        if self.elements()? > infer::MOST || matches!(self.storage, Storage::External { .. }) {
            return None;
        }
        let Content::Array(array) = self.content(task, files).ok()? else { return None };
        let region = crate::data::region::Region::all(array.shape());
        crate::data::content::array::read(array.as_ref(), task, &region).ok()
    }

    /// Its values, where it is small and of int32, int64 or bool, and has one dimension or none.
    pub(super) fn literal(&self, task: &Task, files: &Files) -> Option<Literal> {
        if !matches!(self.code, 6 | 7 | 9) || self.shape.len() > 1 {
            return None;
        }
        let bytes = self.small(task, files)?;
        let numbers = match self.code {
            6 => bytes.as_chunks::<4>().0.iter().map(|b| i64::from(i32::from_le_bytes(*b))).collect(),
            7 => bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect(),
            _ => bytes.iter().map(|b| i64::from(*b != 0)).collect(),
        };
        Some(Literal::numbers_of(numbers, self.shape.is_empty()))
    }

    /// Its values, where it is small and of float32 or float64.
    pub(super) fn floats(&self, task: &Task, files: &Files) -> Option<Vec<f64>> {
        if !matches!(self.code, 1 | 11) {
            return None;
        }
        let bytes = self.small(task, files)?;
        Some(match self.code {
            1 => bytes.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
            _ => bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        })
    }

    /// Its elements.
    ///
    /// # Errors
    /// `Malformed` where they are not those that its shape says; those of opening another file.
    pub(super) fn content(&self, task: &Task, files: &Files) -> Result<Content> {
        if let Some(error) = &self.problem {
            return Err(error.clone());
        }
        let shape = self.shape.clone();
        if self.code == 8 {
            return self.texts(task, files);
        }
        let element = types::element(self.code)
            .ok_or_else(|| Error::unsupported(format!("elements of {}", self.type_name())))?;
        let (source, at) = match &self.storage {
            Storage::Raw(range) => (files.model.member(self.name.as_str(), range.clone())?, 0),
            Storage::External { location, offset, length } => {
                let file = files.get(task, location)?;
                (bounded(&file, *offset, *length)?, 0)
            }
            Storage::Fields(number, pieces) => return self.of_fields(files, &element, *number, pieces),
            Storage::Nowhere if self.elements() == Some(0) => (Source::memory("", Vec::new()), 0),
            Storage::Nowhere => return Err(Error::malformed("a tensor without elements")),
        };
        let mut details = Vec::new();
        if let Storage::External { location, offset, .. } = &self.storage {
            details.push(("file".to_owned(), location.clone()));
            details.push(("offset".to_owned(), offset.to_string()));
        }
        let facts = ArrayFacts { word: element.word, details, byte_each: true, ..ArrayFacts::default() };
        if element.bits < 8 {
            return Ok(Content::Array(Arc::new(Bits::new(
                source,
                at,
                shape,
                element.bits,
                element.dtype,
                facts,
            )?)));
        }
        let plain = Plain::cut(source, at, element.dtype, shape)?;
        let stored = plain.facts().bytes_stored;
        Ok(Content::Array(Arc::new(plain.with_facts(ArrayFacts { bytes_stored: stored, ..facts }))))
    }

    /// Elements that stand in fields. Packed floats lie there as in memory; integers are made when somebody looks.
    fn of_fields(&self, files: &Files, element: &Element, number: u32, pieces: &[Piece]) -> Result<Content> {
        let facts = ArrayFacts { word: element.word, byte_each: true, ..ArrayFacts::default() };
        let shape = self.shape.clone();
        if let (4 | 10, [Piece::Packed(range)]) = (number, pieces) {
            let source = files.model.member(self.name.as_str(), range.clone())?;
            let plain = Plain::cut(source, 0, element.dtype.clone(), shape)?;
            return Ok(Content::Array(Arc::new(plain)));
        }
        let elements = limits::elements(&shape)?;
        let width = match number {
            4 => 4,
            10 => 8,
            // Elements of less than a byte stand several in one number.
            _ if element.bits < 8 => 1,
            _ => u64::from(element.bits / 8),
        };
        let bytes = elements.saturating_mul(u64::from(element.bits)).div_ceil(8);
        limits::check(bytes, MADE, "a tensor of single numbers")?;
        let (model, pieces) = (files.model.clone(), pieces.to_vec());
        let make = move |task: &Task| {
            let mut out = limits::buffer(0, "a tensor")?;
            numbers(task, &model, &pieces, number, width as usize, &mut out)?;
            if (out.len() as u64) < bytes {
                let what = format!("a tensor of {elements} elements has {} bytes of {bytes}", out.len());
                return Err(Error::malformed(what));
            }
            out.truncate(bytes as usize);
            Ok(bytes::Bytes::from(out))
        };
        if element.bits < 8 {
            let packed = LateArray::new(crate::data::dtype::DType::U8, vec![bytes], make);
            let bits = Bits::over(Arc::new(packed), shape, element.bits, element.dtype.clone(), facts);
            return Ok(Content::Array(Arc::new(bits)));
        }
        Ok(Content::Array(Arc::new(LateArray::new(element.dtype.clone(), shape, make).with_facts(facts))))
    }

    /// Texts, which stand in fields only.
    fn texts(&self, task: &Task, files: &Files) -> Result<Content> {
        let pieces = match &self.storage {
            Storage::Fields(6, pieces) => pieces.as_slice(),
            Storage::Nowhere => &[],
            _ => return Err(Error::malformed("texts that are not stored as texts")),
        };
        let mut texts = Vec::new();
        for piece in pieces {
            let Piece::Packed(range) = piece else { continue };
            task.check()?;
            texts.push(String::from_utf8_lossy(&files.model.read(task, range.clone())?).into_owned());
        }
        let rows = texts.len() as u64;
        let column: ArrayRef = Arc::new(StringArray::from(texts));
        let table = MemoryTable::new(RecordBatch::try_from_iter([("value", column)])?);
        Ok(Content::Array(Arc::new(TextColumn::new(Arc::new(table), rows, NullRule::default())?)))
    }

    /// Its node.
    pub(super) fn node(&self, name: &str, files: &Files) -> Node {
        let mut node = Node::new(name, "tensor");
        node.attributes
            .extend(self.metadata.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
        if let Storage::Raw(range) = &self.storage {
            node.span = Some(range.clone());
        }
        // Opens a file beside the model at most; reads nothing of it.
        match self.content(&Task::new(), files) {
            Ok(content) => node.content = Some(content),
            Err(error) => node.problem = Some(error),
        }
        node
    }
}

/// The dimensions, packed or one by one.
fn dims(value: Wire, shape: &mut Vec<u64>) -> Result<()> {
    /// More than any array has.
    const MOST: usize = 64;
    let Wire::Bytes(part) = value else {
        shape.push(value.uint());
        return if shape.len() > MOST {
            Err(Error::limit("a tensor of more than 64 dimensions"))
        } else {
            Ok(())
        };
    };
    for length in part.varints() {
        dims(Wire::Varint(length?), shape)?;
    }
    Ok(())
}

/// Where elements in another file are: <https://github.com/onnx/onnx/blob/main/docs/ExternalData.md>.
fn external(pairs: &[(String, String)]) -> Result<Storage> {
    let get = |key: &str| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let number = |key: &str| -> Result<Option<u64>> {
        let Some(text) = get(key) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Error::malformed(format!("external data: {key} is {text:?}")))
    };
    let location = get("location").ok_or_else(|| Error::malformed("external data without a location"))?;
    Ok(Storage::External {
        location: location.to_owned(),
        offset: number("offset")?.unwrap_or(0),
        length: number("length")?,
    })
}

/// A part of a file, which must be there.
fn bounded(file: &Source, offset: u64, length: Option<u64>) -> Result<Source> {
    let known = file.known_len().unwrap_or(0);
    let end = length.map_or(Some(known), |length| offset.checked_add(length));
    let end = end.filter(|end| offset <= *end && *end <= known);
    let end = end.ok_or_else(|| {
        let length = length.map_or(String::new(), |length| format!("{length} bytes "));
        Error::malformed(format!("{length}at {offset} of {}, which has {known}", file.name()))
    })?;
    file.member(file.name(), offset..end)
}

/// The numbers of a repeated field, each as so many bytes.
fn numbers(
    task: &Task,
    source: &Source,
    pieces: &[Piece],
    number: u32,
    width: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut put = |value: u64| out.extend(value.to_le_bytes().into_iter().take(width));
    for piece in pieces {
        task.check()?;
        let range = match piece {
            Piece::One(value) => {
                put(*value);
                continue;
            }
            Piece::Packed(range) => range.clone(),
        };
        let bytes = source.read(task, range.clone())?;
        match number {
            4 => bytes.as_chunks::<4>().0.iter().for_each(|b| put(u64::from(u32::from_le_bytes(*b)))),
            10 => bytes.as_chunks::<8>().0.iter().for_each(|b| put(u64::from_le_bytes(*b))),
            _ => {
                let mut rest: &[u8] = &bytes;
                while !rest.is_empty() {
                    let (value, taken) = leb128(rest)
                        .ok_or_else(|| Error::malformed("a number is cut off").at(range.start))?;
                    put(value);
                    rest = rest.get(taken..).unwrap_or_default();
                }
            }
        }
    }
    Ok(())
}

/// The model and the files beside it.
pub(super) struct Files {
    model: Source,
    others: Mutex<HashMap<String, Result<Source>>>,
}

impl Files {
    pub(super) fn new(model: Source) -> Self {
        Files { model, others: Mutex::default() }
    }

    /// A file that the model names, in its own folder.
    fn get(&self, task: &Task, location: &str) -> Result<Source> {
        let mut others = self.others.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = others.get(location) {
            return known.clone();
        }
        let found = self.model.sibling(task, location);
        others.insert(location.to_owned(), found.clone());
        found
    }
}

/// A tensor among the leaves of a model.
pub(super) struct Weight {
    pub(super) tensor: Tensor,
    /// The name, which no other weight has.
    pub(super) name: String,
    pub(super) files: Arc<Files>,
}

impl Leaf for Weight {
    fn name(&self) -> &str {
        &self.name
    }

    fn node(&self, name: &str) -> Node {
        self.tensor.node(name, &self.files)
    }
}
