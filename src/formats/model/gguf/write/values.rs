//! Keys and their values: those of a GGUF file to the bit, others by their types.

use super::super::FORMAT;
use super::super::value::{LIST, TEXT, dtype_of};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::task::Task;
use crate::data::dtype::{DType, swap_bytes};
use crate::data::format::{Attributes, Encoded, Loss, LossKind, note};
use crate::data::node::Value;
use crate::engines::ggml::Cursor;
use serde_json::Value as Json;
use std::io::Write;

const ARCHITECTURE: &str = "general.architecture";
const ALIGNMENT: &str = "general.alignment";
const FILE_TYPE: &str = "general.file_type";
const QUANTIZATION: &str = "general.quantization_version";
/// What says that a model lies in several files; what is written is one.
const SPLIT: [&str; 3] = ["split.no", "split.count", "split.tensors.count"];
/// The version of ggml's blocks (`GGML_QNT_VERSION`).
const BLOCKS: u32 = 2;

/// What the keys of the file have to say, whatever the attributes say.
pub(super) struct Added {
    /// What tensors are aligned to.
    pub(super) alignment: u64,
    /// Keys that are set.
    set: Vec<(&'static str, Json, DType)>,
    /// Keys that are left out.
    gone: Vec<&'static str>,
}

impl Added {
    /// For these attributes, an architecture that was asked for and the number of the type that most tensors get.
    pub(super) fn new(attributes: &Attributes, arch: Option<String>, file_type: Option<u32>) -> Added {
        let mut added = Added { alignment: super::ALIGNMENT, set: Vec::new(), gone: SPLIT.to_vec() };
        let known = attributes.get(ARCHITECTURE).is_some();
        let model = ["architecture", "model_type"].into_iter().find_map(|name| match attributes.get(name) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text.clone()),
            _ => None,
        });
        if let Some(arch) = arch.or_else(|| (!known).then(|| model.unwrap_or_else(|| "unknown".to_owned()))) {
            added.set.push((ARCHITECTURE, Json::from(arch), DType::text()));
        }
        match attributes.get(ALIGNMENT) {
            None => {}
            Some(Value::Json(Json::Number(number))) if number.as_u64().is_some_and(is_alignment) => {
                added.alignment = number.as_u64().unwrap_or(super::ALIGNMENT);
                // Whatever type it had, readers want this one.
                added.set.push((ALIGNMENT, Json::from(added.alignment), DType::U32));
            }
            Some(_) => added.gone.push(ALIGNMENT),
        }
        if let Some(number) = file_type {
            added.set.push((FILE_TYPE, Json::from(number), DType::U32));
            added.set.push((QUANTIZATION, Json::from(BLOCKS), DType::U32));
        }
        added
    }

    fn set(&self, name: &str) -> Option<&(&'static str, Json, DType)> {
        self.set.iter().find(|(known, ..)| *known == name)
    }

    /// Whether an attribute is written under its key as it is.
    fn keeps(&self, name: &str) -> bool {
        self.set(name).is_none() && !self.gone.contains(&name)
    }
}

/// What programs take as one.
fn is_alignment(number: u64) -> bool {
    number.is_power_of_two() && (8..=1 << 20).contains(&number)
}

/// What is lost of the attributes, and what is said beside them.
pub(super) fn losses(attributes: &Attributes, added: &Added, losses: &mut Vec<Loss>) {
    let mut say = |name: &str, what: String| losses.push(note(LossKind::Metadata, what).of(name));
    for (name, value, _) in &added.set {
        let said = match value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        match attributes.get(name) {
            None => say(name, format!("the key is added: {said}")),
            Some(old) if old.to_string() != said => say(name, format!("it is {said}, no longer {old}")),
            Some(_) => {}
        }
    }
    for (name, value) in &attributes.list {
        if added.gone.contains(&name.as_str()) {
            let is_split = SPLIT.contains(&name.as_str());
            let why = if is_split { "what is written is one file" } else { "it is no alignment" };
            say(name, format!("the key is left out: {why}"));
        }
        let Value::Json(json) = value else { continue };
        if added.keeps(name)
            && encoded(attributes, name).is_none()
            && shape(json, attributes.types.get(name)).is_none()
        {
            say(name, "it is kept as JSON text".to_owned());
        }
    }
}

/// The place of a value in a GGUF file.
fn encoded<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a Encoded> {
    attributes.encoded.get(name).filter(|encoded| encoded.format == FORMAT.id)
}

/// Writes how many keys there are, then each with its value.
pub(super) fn write(
    task: &Task,
    attributes: &Attributes,
    added: &Added,
    out: &mut super::Counted,
) -> Result<()> {
    let kept = || attributes.list.iter().filter(|(name, _)| !added.gone.contains(&name.as_str()));
    let new = || added.set.iter().filter(|(name, ..)| attributes.get(name).is_none());
    out.write_all(&((kept().count() + new().count()) as u64).to_le_bytes())?;
    let fixed = |out: &mut super::Counted, (name, value, dtype): &(&str, Json, DType)| {
        out.text(name)?;
        json(value, Some(dtype), out)
    };
    // What programs look at first.
    new().try_for_each(|one| fixed(out, one))?;
    for (name, value) in kept() {
        task.check()?;
        if let Some(one) = added.set(name) {
            fixed(out, one)?;
            continue;
        }
        out.text(name)?;
        let dtype = attributes.types.get(name);
        match (encoded(attributes, name), value) {
            (Some(encoded), _) => copy(task, encoded, out)?,
            (None, Value::Json(value)) => json(value, dtype, out)?,
            (None, Value::Text(text)) => match (dtype, text.parse::<f64>()) {
                // NaN and infinities, which JSON has not.
                (Some(dtype @ (DType::F32 | DType::F64)), Ok(number)) => {
                    out.write_all(&number_of(dtype).unwrap_or(TEXT).to_le_bytes())?;
                    float(number, dtype, out)?;
                }
                _ => json(&Json::from(text.as_str()), None, out)?,
            },
        }
    }
    Ok(())
}

/// The number of a type in `gguf_metadata_value_type`, of single values.
fn number_of(dtype: &DType) -> Option<u32> {
    (0..=12).find(|number| dtype_of(*number).as_ref() == Some(dtype))
}

/// What a value is in the file: a number of a type, a text, a list of one of these.
enum Shape {
    One(DType),
    Text,
    List(Box<Shape>),
}

impl Shape {
    /// Its number in `gguf_metadata_value_type`.
    fn number(&self) -> Result<u32> {
        match self {
            Shape::One(dtype) => number_of(dtype).ok_or_else(|| Error::bug(format!("a value of {dtype}"))),
            Shape::Text => Ok(TEXT),
            Shape::List(_) => Ok(LIST),
        }
    }
}

/// What a value can be, by its type where it has one; `None` for what GGUF has not: objects, null, lists of various
/// things, which are kept as texts.
fn shape(value: &Json, dtype: Option<&DType>) -> Option<Shape> {
    let typed = dtype.filter(|dtype| number_of(dtype).is_some());
    match value {
        Json::Bool(_) => Some(Shape::One(DType::Bool)),
        Json::String(_) => Some(Shape::Text),
        Json::Number(number) => {
            let fits = |dtype: &&DType| dtype.is_float() || is_within(number, dtype);
            Some(Shape::One(match typed.filter(fits) {
                Some(DType::Bool) | None if number.is_i64() => DType::I64,
                Some(DType::Bool) | None if number.is_u64() => DType::U64,
                Some(dtype) if *dtype != DType::Bool => dtype.clone(),
                _ => DType::F64,
            }))
        }
        Json::Array(items) => Some(Shape::List(Box::new(of_items(items, typed)?))),
        Json::Null | Json::Object(_) => None,
    }
}

/// Whether a whole number is one of a type.
fn is_within(number: &serde_json::Number, dtype: &DType) -> bool {
    let Some(value) = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)) else {
        return false;
    };
    let (bits, signed) = match dtype {
        DType::I8 => (8, true),
        DType::I16 => (16, true),
        DType::I32 => (32, true),
        DType::I64 => (64, true),
        DType::U8 => (8, false),
        DType::U16 => (16, false),
        DType::U32 => (32, false),
        DType::U64 => (64, false),
        _ => return false,
    };
    let range = if signed { -(1i128 << (bits - 1))..1i128 << (bits - 1) } else { 0..1i128 << bits };
    range.contains(&value)
}

/// What all items of a list can be.
fn of_items(items: &[Json], dtype: Option<&DType>) -> Option<Shape> {
    let mut all: Option<Shape> = None;
    for item in items {
        let one = shape(item, dtype)?;
        all = Some(match (all, one) {
            (None, one) => one,
            (Some(Shape::Text), Shape::Text) => Shape::Text,
            (Some(Shape::One(DType::Bool)), Shape::One(DType::Bool)) => Shape::One(DType::Bool),
            (Some(Shape::One(a)), Shape::One(b)) if a != DType::Bool && b != DType::Bool => {
                Shape::One(match a == b {
                    true => a,
                    // Numbers of several types; of whole ones beyond int64 the sign says which.
                    false => DType::F64,
                })
            }
            (Some(list @ Shape::List(_)), Shape::List(_)) => list,
            _ => return None,
        });
    }
    Some(all.unwrap_or_else(|| Shape::One(dtype.cloned().unwrap_or(DType::I32))))
}

/// Writes a value with its type before it.
fn json(value: &Json, dtype: Option<&DType>, out: &mut super::Counted) -> Result<()> {
    match shape(value, dtype) {
        Some(shape) => {
            out.write_all(&shape.number()?.to_le_bytes())?;
            plain(value, &shape, dtype, out)
        }
        None => {
            out.write_all(&TEXT.to_le_bytes())?;
            out.text(&value.to_string())
        }
    }
}

/// Writes a value of a type that was written.
fn plain(value: &Json, shape: &Shape, dtype: Option<&DType>, out: &mut super::Counted) -> Result<()> {
    match (shape, value) {
        (Shape::Text, Json::String(text)) => out.text(text),
        (Shape::List(of), Json::Array(items)) => {
            out.write_all(&of.number()?.to_le_bytes())?;
            out.write_all(&(items.len() as u64).to_le_bytes())?;
            items.iter().try_for_each(|item| match (of.as_ref(), self::shape(item, dtype)) {
                (Shape::List(_), Some(own)) => plain(item, &own, dtype, out),
                _ => plain(item, of, dtype, out),
            })
        }
        (Shape::One(DType::Bool), Json::Bool(value)) => Ok(out.write_all(&[u8::from(*value)])?),
        (Shape::One(to @ (DType::F32 | DType::F64)), Json::Number(number)) => {
            float(number.as_f64().unwrap_or(f64::NAN), to, out)
        }
        (Shape::One(to), Json::Number(number)) => {
            let low = number.as_u64().unwrap_or_else(|| number.as_i64().unwrap_or_default() as u64);
            Ok(out.write_all(low.to_le_bytes().get(..to.size() as usize).unwrap_or_default())?)
        }
        _ => Err(Error::bug("a value of metadata that is none of its type")),
    }
}

fn float(value: f64, dtype: &DType, out: &mut super::Counted) -> Result<()> {
    match dtype {
        DType::F32 => out.write_all(&(value as f32).to_le_bytes())?,
        _ => out.write_all(&value.to_le_bytes())?,
    }
    Ok(())
}

/// Copies a value of a GGUF file with its type: the same bits, whatever the version and the byte order of the file are.
fn copy(task: &Task, encoded: &Encoded, out: &mut super::Counted) -> Result<()> {
    let mut cursor = Cursor::new(task, &encoded.source, encoded.at, encoded.big);
    let width = if encoded.version == 1 { 4 } else { 8 };
    let kind: u32 = cursor.number()?;
    out.write_all(&kind.to_le_bytes())?;
    bare(&mut cursor, kind, width, 0, out)
}

/// Copies a value behind its type.
fn bare(cursor: &mut Cursor, kind: u32, width: u64, depth: usize, out: &mut super::Counted) -> Result<()> {
    if depth > limits::DEPTH {
        return Err(Error::limit("lists inside of lists").at(cursor.at()));
    }
    match kind {
        TEXT => {
            let bytes = cursor.bytes(width)?;
            out.write_all(&(bytes.len() as u64).to_le_bytes())?;
            Ok(out.write_all(&bytes)?)
        }
        LIST => {
            let (of, count) = (cursor.number::<u32>()?, cursor.length(width)?);
            out.write_all(&of.to_le_bytes())?;
            out.write_all(&count.to_le_bytes())?;
            match dtype_of(of) {
                Some(dtype) => numbers(cursor, &dtype, count, out),
                None => (0..count).try_for_each(|_| bare(cursor, of, width, depth + 1, out)),
            }
        }
        _ => match dtype_of(kind) {
            Some(dtype) => numbers(cursor, &dtype, 1, out),
            None => Err(Error::malformed(format!("a value of the type {kind}")).at(cursor.at())),
        },
    }
}

/// Copies numbers.
fn numbers(cursor: &mut Cursor, dtype: &DType, count: u64, out: &mut super::Counted) -> Result<()> {
    /// Numbers at a time.
    const STEP: u64 = 64 << 10;
    cursor.fit(count, dtype.size(), "numbers of a list")?;
    let mut left = count;
    while left > 0 {
        let step = left.min(STEP);
        let bytes = cursor.take(step * dtype.size())?;
        if cursor.big {
            let mut bytes = bytes.to_vec();
            swap_bytes(&mut bytes, dtype.size() as usize);
            out.write_all(&bytes)?;
        } else {
            out.write_all(&bytes)?;
        }
        left -= step;
    }
    Ok(())
}
