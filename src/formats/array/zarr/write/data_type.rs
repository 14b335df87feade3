//! Types of elements as version 3 names them, and their stored form.
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/data-types>

use super::super::json::BASE64;
use super::encode::Elements;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::dtype::{DType, Record, TimeBase, TimeUnit};
use crate::data::format::note;
use crate::data::format::{Loss, LossKind};
use arrow::datatypes::DataType;
use base64::Engine;
use serde_json::{Value as Json, json};

/// How an array's elements are stored.
pub(super) struct Stored {
    pub(super) data_type: Json,
    /// The fill value: zero, or empty.
    pub(super) fill: Json,
    /// The codec that makes bytes of elements.
    pub(super) codec: Json,
    /// What elements are to the codecs.
    pub(super) elements: Elements,
    /// Whether the fill value is all zeros, so that a chunk of zeros may be left out.
    pub(super) zeros_are_fill: bool,
}

/// What is worth a word: types that not every reader knows.
pub(super) fn remark(dtype: &DType) -> Option<Loss> {
    match dtype {
        DType::BF16 | DType::Mini(_) => {
            let what = "its type is an extension that not every reader of Zarr knows";
            Some(note(LossKind::Type, what).if_any())
        }
        DType::Variable(kind) if kind.word != "str" && kind.arrow == DataType::Utf8 => {
            Some(note(LossKind::Type, format!("its elements ({}) become text", kind.word)))
        }
        DType::Struct(record) if has_gaps(record) => {
            Some(note(LossKind::Type, "the gaps between the fields of its elements are not kept"))
        }
        DType::Variable(_) => Some(note(LossKind::Null, "nulls become empty").if_any()),
        _ => None,
    }
}

fn unsupported(dtype: &DType) -> Error {
    Error::unsupported(format!("zarr: it has no type for elements of {dtype}"))
}

impl Stored {
    pub(super) fn new(dtype: &DType) -> Result<Self> {
        let (data_type, fill) = named(dtype)?;
        if let DType::Variable(kind) = dtype {
            let (codec, elements) = match kind.arrow == DataType::Utf8 {
                true => ("vlen-utf8", Elements::Texts),
                false => ("vlen-bytes", Elements::Binaries),
            };
            let codec = json!({"name": codec, "configuration": {}});
            return Ok(Stored { data_type, fill, codec, elements, zeros_are_fill: false });
        }
        let codec = match dtype.swap_unit() > 1 || dtype.record().is_some() {
            true => json!({"name": "bytes", "configuration": {"endian": "little"}}),
            false => json!({"name": "bytes"}),
        };
        let zeros_are_fill = fill != "NaT";
        let size = match dtype.record() {
            Some(record) => record.fields.iter().map(|field| field.dtype.size()).sum(),
            None => dtype.size(),
        };
        let elements = Elements::Bytes(limits::check(size, limits::CHUNK, "an element")?);
        Ok(Stored { data_type, fill, codec, elements, zeros_are_fill })
    }

    /// The delivered elements as they are stored: structured ones without gaps.
    pub(super) fn packed(&self, dtype: &DType, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let Some(record) = dtype.record().filter(|record| has_gaps(record)) else { return Ok(bytes) };
        let size = limits::check(record.size, limits::CHUNK, "an element")?.max(1);
        let mut out = Vec::with_capacity(bytes.len());
        for element in bytes.chunks_exact(size) {
            for field in &record.fields {
                let start = field.offset as usize;
                let part = element.get(start..start.saturating_add(field.bytes()? as usize));
                out.extend_from_slice(part.ok_or_else(|| Error::bug("a field beyond its element"))?);
            }
        }
        Ok(out)
    }
}

/// Whether something lies between the fields.
fn has_gaps(record: &Record) -> bool {
    let mut end = 0;
    let joined = record.fields.iter().all(|field| {
        let fits = field.offset == end;
        end += field.dtype.size();
        fits
    });
    !joined || end != record.size
}

/// A type's name and its fill value.
fn named(dtype: &DType) -> Result<(Json, Json)> {
    let extension = |name: &str, configuration: Json| json!({"name": name, "configuration": configuration});
    let length = |bytes: u32| match bytes {
        0 => Err(Error::unsupported("zarr: it has no elements of no bytes")),
        bytes => Ok(json!({"length_bytes": bytes})),
    };
    Ok(match dtype {
        DType::Bool => (json!("bool"), json!(false)),
        DType::I8
        | DType::I16
        | DType::I32
        | DType::I64
        | DType::U8
        | DType::U16
        | DType::U32
        | DType::U64 => (json!(dtype.to_string()), json!(0)),
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => (json!(dtype.to_string()), json!(0.0)),
        // Not every one of them has a zero; their bits can always be said.
        DType::Mini(_) => (json!(dtype.to_string()), json!("0x00")),
        DType::C32 => return Err(unsupported(dtype)),
        DType::C64 | DType::C128 => (json!(dtype.to_string()), json!([0.0, 0.0])),
        DType::Bytes(n) => (extension("null_terminated_bytes", length(*n)?), json!("")),
        DType::Str(n) => {
            let bytes = n.checked_mul(4).ok_or_else(|| unsupported(dtype))?;
            (extension("fixed_length_utf32", length(bytes)?), json!(""))
        }
        DType::Void(n) => {
            let bytes = length(*n)?;
            let zeros = limits::buffer(u64::from(*n), "the fill value")?;
            (extension("raw_bytes", bytes), json!(BASE64.encode(&zeros)))
        }
        DType::DateTime(unit) => (extension("numpy.datetime64", time(*unit)), moment(*unit)),
        DType::TimeDelta(unit) => (extension("numpy.timedelta64", time(*unit)), moment(*unit)),
        DType::Struct(record) => {
            let mut fields = Vec::new();
            let mut size = 0;
            for field in &record.fields {
                if !field.shape.is_empty() {
                    let what = format!("zarr: the field {:?} is an array of its own", field.name);
                    return Err(Error::unsupported(what));
                }
                size += field.dtype.size();
                fields.push(json!([field.name, named(&field.dtype)?.0]));
            }
            let zeros = limits::buffer(size, "the fill value")?;
            (extension("structured", json!({"fields": fields})), json!(BASE64.encode(&zeros)))
        }
        DType::Variable(kind) if kind.arrow == DataType::Utf8 => (json!("string"), json!("")),
        DType::Variable(kind) if kind.arrow == DataType::Binary => {
            (json!("variable_length_bytes"), json!(""))
        }
        DType::Long(_) | DType::Blocks(_) | DType::Variable(_) => return Err(unsupported(dtype)),
    })
}

/// The fill value of times: zarr-python refuses a number where there is no unit.
fn moment(unit: TimeUnit) -> Json {
    if unit.base == TimeBase::Generic { json!("NaT") } else { json!(0) }
}

fn time(unit: TimeUnit) -> Json {
    let base = if unit.base == TimeBase::Generic { "generic" } else { unit.base.word() };
    json!({"unit": base, "scale_factor": unit.count})
}
