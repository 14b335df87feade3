//! Constants of ML programs (`Value`): numbers and texts in the program itself, in a file beside it, or what a
//! `constexpr_…` operation makes of others.
//! <https://github.com/apple/coremltools/blob/main/mlmodel/format/MIL.proto>

use super::blob::Blobs;
use super::numbers::Numbers;
use super::packed::Packed;
use super::schema::{self, Kind};
use super::types::{self, Type};
use super::{constexpr, json};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::content::Array;
use crate::data::content::array::{ArrayFacts, Plain};
use crate::data::content::graph::Attribute;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use crate::engines::tensorflow::arrays::Strings;
use std::ops::Range;
use std::sync::Arc;

/// The most elements of a constant that is an attribute.
const SMALL: u64 = 16;
/// The longest text of an attribute.
const TEXT: usize = 1 << 12;
/// The most texts of a constant.
const TEXTS: usize = 1 << 20;

/// What constants are read from.
pub(super) struct Context {
    /// The model.
    pub(super) source: Source,
    /// The files beside it.
    pub(super) blobs: Blobs,
}

/// A constant.
pub(super) struct Constant {
    pub(super) kind: Type,
    /// Its shape; empty of a scalar.
    pub(super) shape: Vec<u64>,
    place: Place,
}

enum Place {
    Nowhere,
    Numbers(Numbers),
    Texts(Vec<Vec<u8>>),
    Bytes(Range<u64>),
    Blob {
        file: String,
        offset: u64,
    },
    /// A list, a tuple, a dictionary: as text.
    Other(String),
    /// One of the outputs of an operation.
    Constexpr(Arc<constexpr::Constexpr>, usize),
}

impl Constant {
    /// Reads a `Value`.
    ///
    /// # Errors
    /// `Malformed`, `Limit`.
    pub(super) fn parse(part: Part) -> Result<Constant> {
        let (mut kind, mut place) = (Type::default(), Place::Nowhere);
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                2 => kind = types::parse(value.part())?,
                3 => {
                    for field in value.fields() {
                        let Field { number, value, .. } = field?;
                        place = match number {
                            1 => tensor(value.part())?,
                            2..=4 => Place::Other(told(value.part(), number)?),
                            _ => continue,
                        };
                    }
                }
                5 => {
                    let (mut file, mut offset) = (String::new(), 0);
                    for field in value.fields() {
                        match field? {
                            Field { number: 1, value, .. } => file = value.text(),
                            Field { number: 2, value, .. } => offset = value.uint(),
                            _ => {}
                        }
                    }
                    place = Place::Blob { file, offset };
                }
                _ => {}
            }
        }
        let shape = kind.fixed().unwrap_or_default();
        Ok(Constant { kind, shape, place })
    }

    /// An output of an operation that makes constants of others.
    pub(super) fn made(kind: Type, made: Arc<constexpr::Constexpr>, output: usize) -> Constant {
        let shape = kind.fixed().unwrap_or_default();
        Constant { kind, shape, place: Place::Constexpr(made, output) }
    }

    /// How many elements it has.
    pub(super) fn elements(&self) -> Option<u64> {
        limits::elements(&self.shape).ok()
    }

    /// The operation that makes it of others.
    pub(super) fn maker(&self) -> Option<&constexpr::Constexpr> {
        if let Place::Constexpr(made, _) = &self.place { Some(made) } else { None }
    }

    /// Whether its values lie in another file.
    pub(super) fn is_blob(&self) -> bool {
        matches!(self.place, Place::Blob { .. })
    }

    /// Where its values lie in the model.
    pub(super) fn span(&self) -> Option<Range<u64>> {
        match &self.place {
            Place::Numbers(numbers) => numbers.span(),
            Place::Bytes(span) => Some(span.clone()),
            _ => None,
        }
    }

    /// What is said of where it lies, beside its values.
    pub(super) fn details(&self) -> Vec<(&'static str, String)> {
        match &self.place {
            Place::Blob { file, offset } => vec![("fileName", file.clone()), ("offset", offset.to_string())],
            Place::Constexpr(made, _) => vec![("operation", made.operator.clone())],
            _ => Vec::new(),
        }
    }

    /// Its value as an attribute, where it is a setting rather than a weight: texts, and a few whole numbers or a
    /// single float.
    pub(super) fn setting(&self, task: &Task, source: &Source) -> Result<Option<Attribute>> {
        let is_scalar = self.shape.is_empty();
        let float = types::element(self.kind.code).is_some_and(|(dtype, ..)| dtype.is_float());
        Ok(match &self.place {
            Place::Other(text) => Some(Attribute::Text(text.clone())),
            Place::Texts(texts) if texts.len() as u64 <= SMALL => {
                let text = |bytes: &Vec<u8>| {
                    let cut = bytes.get(..TEXT).unwrap_or(bytes);
                    String::from_utf8_lossy(cut).into_owned()
                };
                match texts.as_slice() {
                    [only] if is_scalar => Some(Attribute::Text(text(only))),
                    all => Some(Attribute::Texts(all.iter().map(text).collect())),
                }
            }
            Place::Numbers(numbers) if numbers.count <= SMALL && (is_scalar || !float) => {
                let bits = numbers.first(task, source, SMALL)?;
                Some(self.attribute(numbers, &bits))
            }
            Place::Bytes(span) if is_scalar && span.end.saturating_sub(span.start) <= 8 => {
                let Some((dtype, ..)) = types::element(self.kind.code) else { return Ok(None) };
                let bytes = source.read(task, span.clone())?;
                let mut values = Vec::new();
                let size = dtype.size() as usize;
                dtype.decode(bytes.get(..size).unwrap_or_default(), &mut values);
                let value = values.first().copied();
                value.map(|value| if float { Attribute::Float(value) } else { Attribute::Int(value as i64) })
            }
            Place::Nowhere => Some(Attribute::Text(String::new())),
            _ => None,
        })
    }

    fn attribute(&self, numbers: &Numbers, bits: &[u64]) -> Attribute {
        let is_scalar = self.shape.is_empty();
        if let Some(width) = numbers.float_bits() {
            let float = |bits: &u64| match width {
                32 => json::shortest(f32::from_bits(*bits as u32)),
                _ => f64::from_bits(*bits),
            };
            return match bits {
                [only] if is_scalar => Attribute::Float(float(only)),
                all => Attribute::Floats(all.iter().map(float).collect()),
            };
        }
        if self.kind.code == types::BOOL {
            let truth = |bits: &u64| (*bits != 0).to_string();
            return match bits {
                [only] if is_scalar => Attribute::Text(truth(only)),
                all => Attribute::Texts(all.iter().map(truth).collect()),
            };
        }
        match bits {
            [only] if is_scalar => Attribute::Int(only.cast_signed()),
            all => Attribute::Ints(all.iter().map(|bits| bits.cast_signed()).collect()),
        }
    }

    /// Its elements.
    ///
    /// # Errors
    /// Those of reading; `Malformed` where they are not those that its type says.
    pub(super) fn array(&self, task: &Task, context: &Arc<Context>) -> Result<Arc<dyn Array>> {
        self.shaped(task, context, self.shape.clone())
    }

    /// Its elements in one dimension.
    ///
    /// # Errors
    /// As [`array`](Self::array).
    pub(super) fn flat(&self, task: &Task, context: &Arc<Context>) -> Result<Arc<dyn Array>> {
        self.shaped(task, context, vec![limits::elements(&self.shape)?])
    }

    fn shaped(&self, task: &Task, context: &Arc<Context>, shape: Vec<u64>) -> Result<Arc<dyn Array>> {
        let unknown = || Error::unsupported(format!("elements of {}", types::word(self.kind.code)));
        let element = || types::element(self.kind.code).ok_or_else(unknown);
        match &self.place {
            Place::Nowhere => Err(Error::malformed("a constant without a value")),
            Place::Other(_) => Err(Error::unsupported(format!("a constant of the type {}", self.kind.word))),
            Place::Texts(texts) => Ok(Arc::new(Strings::new(texts.clone(), shape)?)),
            Place::Numbers(numbers) => numbers.array(&context.source, shape, Some(element()?.0)),
            Place::Bytes(span) => self.lying(context.source.member("value", span.clone())?, shape),
            Place::Blob { file, offset } => {
                let bytes = context.blobs.bytes(task, file, *offset, self.kind.code)?;
                self.lying(bytes, shape)
            }
            Place::Constexpr(made, output) => {
                let whole = made.array(task, context, &self.kind, &self.shape, *output)?;
                if whole.shape() == shape {
                    return Ok(whole);
                }
                // In one dimension it is asked for by operations on operations alone.
                let dtype = whole.dtype().clone();
                let all = crate::data::region::Region::all(whole.shape());
                let bytes = crate::data::content::array::read(whole.as_ref(), task, &all)?;
                Ok(Arc::new(Plain::new(Source::memory("values", bytes), 0, dtype, shape)?))
            }
        }
    }

    /// Elements as they lie in memory.
    fn lying(&self, bytes: Source, shape: Vec<u64>) -> Result<Arc<dyn Array>> {
        let unknown = || Error::unsupported(format!("elements of {}", types::word(self.kind.code)));
        let (dtype, word, bits) = types::element(self.kind.code).ok_or_else(unknown)?;
        if bits < 8 {
            return Ok(Arc::new(Packed::new(bytes, shape, bits, dtype, false, word)?));
        }
        let plain = Plain::cut(bytes, 0, dtype, shape)?;
        let stored = plain.facts().bytes_stored;
        Ok(Arc::new(plain.with_facts(ArrayFacts { word, bytes_stored: stored, ..ArrayFacts::default() })))
    }

    /// Its bytes, of a list of them.
    pub(super) fn raw(&self, task: &Task, context: &Arc<Context>) -> Result<Source> {
        match &self.place {
            Place::Bytes(span) => context.source.member("value", span.clone()),
            Place::Blob { file, offset } => context.blobs.bytes(task, file, *offset, self.kind.code),
            _ => {
                let array = self.flat(task, context)?;
                let all = crate::data::region::Region::all(array.shape());
                Ok(Source::memory("value", crate::data::content::array::read(array.as_ref(), task, &all)?))
            }
        }
    }
}

/// A `TensorValue`.
fn tensor(part: Part) -> Result<Place> {
    let mut place = Place::Nowhere;
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        let kind = match number {
            1 => Kind::Float,
            6 => Kind::Double,
            2 | 5 => Kind::Int,
            3 => Kind::Bool,
            4 | 7 => Kind::Bytes,
            _ => continue,
        };
        let (mut numbers, mut texts, mut span) = (Numbers::of(kind), Vec::new(), 0..0);
        for field in value.fields() {
            let field = field?;
            match (number, field.value) {
                (_, _) if field.number != 1 => {}
                (4, Wire::Bytes(part)) if texts.len() < TEXTS => texts.push(part.bytes().to_vec()),
                (4, _) => return Err(Error::limit(format!("more than {TEXTS} texts"))),
                (7, Wire::Bytes(part)) => span = part.span(),
                (7, _) => {}
                (_, value) => numbers.push(value),
            }
        }
        place = match number {
            4 => Place::Texts(texts),
            7 => Place::Bytes(span),
            _ => Place::Numbers(numbers),
        };
    }
    Ok(place)
}

/// A tuple, a list or a dictionary as text.
fn told(part: Part, number: u32) -> Result<String> {
    let name = match number {
        2 => "MILSpec.TupleValue",
        3 => "MILSpec.ListValue",
        _ => "MILSpec.DictionaryValue",
    };
    Ok(plain(json::of(part, schema::message(name))?).to_string())
}

/// The values alone of what says a type with each of them.
fn plain(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        Json::Object(mut object) => {
            if let Some(inner) = object.remove("immediateValue") {
                return plain(inner);
            }
            for name in [
                "tensor",
                "tuple",
                "list",
                "dictionary",
                "strings",
                "ints",
                "longInts",
                "floats",
                "bools",
                "doubles",
            ] {
                if let Some(inner) = object.remove(name) {
                    return plain(inner);
                }
            }
            if let (1, Some(Json::Array(values))) = (object.len(), object.get("values")) {
                return match values.as_slice() {
                    [only] => plain(only.clone()),
                    all => Json::Array(all.iter().cloned().map(plain).collect()),
                };
            }
            Json::Object(object.into_iter().map(|(name, value)| (name, plain(value))).collect())
        }
        Json::Array(all) => Json::Array(all.into_iter().map(plain).collect()),
        other => other,
    }
}
