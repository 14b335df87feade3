//! Types of elements as either version names them, and their stored form.
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/data-types>,
//! <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#data-type-encoding>

use super::super::json::BASE64;
use super::encode::Elements;
use super::options::Version;
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::dtype::{DType, Record, TimeBase, TimeUnit};
use crate::data::format::note;
use crate::data::format::{Loss, LossKind};
use crate::engines::numpy::typestr;
use arrow::datatypes::DataType;
use base64::Engine;
use serde_json::{Value as Json, json};

/// How an array's elements are stored.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) data_type: Json,
    /// The fill value: zero, or empty.
    pub(super) fill: Json,
    /// The codec that makes bytes of elements (version 3).
    pub(super) codec: Json,
    /// What elements are to the codecs.
    pub(super) elements: Elements,
    /// Whether the fill value is all zeros, so that a chunk of zeros may be left out.
    pub(super) zeros_are_fill: bool,
    /// Which bytes of a delivered element are stored; empty for all of them.
    parts: Vec<(usize, usize)>,
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
    pub(super) fn new(dtype: &DType, version: Version) -> Result<Self> {
        let (data_type, fill) = match version {
            Version::V2 => (named_v2(dtype)?, fill_v2(dtype)?),
            Version::V3 => named_v3(dtype)?,
        };
        let elements = match dtype {
            DType::Variable(kind) if kind.arrow == DataType::Utf8 => Elements::Texts,
            DType::Variable(_) => Elements::Binaries,
            _ => Elements::Bytes(0),
        };
        let codec = match elements {
            Elements::Texts => json!({"name": "vlen-utf8", "configuration": {}}),
            Elements::Binaries => json!({"name": "vlen-bytes", "configuration": {}}),
            Elements::Bytes(_) if dtype.swap_unit() > 1 || dtype.record().is_some() => {
                json!({"name": "bytes", "configuration": {"endian": "little"}})
            }
            Elements::Bytes(_) => json!({"name": "bytes"}),
        };
        let mut parts = Vec::new();
        let mut stored = dtype.size();
        if let Some(record) = dtype.record().filter(|record| has_gaps(record)) {
            fields_of(record, 0, &mut parts)?;
            stored = parts.iter().map(|(_, len)| *len as u64).sum();
        }
        let elements = match elements {
            Elements::Bytes(_) => Elements::Bytes(limits::check(stored, limits::CHUNK, "an element")?),
            other => other,
        };
        let zeros_are_fill = matches!(elements, Elements::Bytes(_)) && fill != "NaT";
        Ok(Stored { data_type, fill, codec, elements, zeros_are_fill, parts })
    }

    /// The delivered elements as they are stored: structured ones without gaps.
    pub(super) fn packed(&self, dtype: &DType, bytes: Vec<u8>) -> Result<Vec<u8>> {
        if self.parts.is_empty() {
            return Ok(bytes);
        }
        let size = limits::check(dtype.size(), limits::CHUNK, "an element")?.max(1);
        let mut out = Vec::with_capacity(bytes.len());
        for element in bytes.chunks_exact(size) {
            for (start, len) in &self.parts {
                let part = element.get(*start..).and_then(|rest| rest.get(..*len));
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
        let fits = field.offset == end && !field.dtype.record().is_some_and(has_gaps);
        end += field.bytes().unwrap_or(u64::MAX / 2);
        fits
    });
    !joined || end != record.size
}

/// The most parts that an element without its gaps is put together of.
const PARTS: usize = 1 << 16;

/// Where the fields of a record that begins at `at` lie, those of records in it too.
fn fields_of(record: &Record, at: u64, parts: &mut Vec<(usize, usize)>) -> Result<()> {
    for field in &record.fields {
        let start = at.saturating_add(field.offset);
        match field.dtype.record().filter(|inner| has_gaps(inner)) {
            Some(inner) => {
                for n in 0..limits::elements(&field.shape)? {
                    fields_of(inner, start.saturating_add(n.saturating_mul(inner.size)), parts)?;
                }
            }
            None => parts.push((start as usize, field.bytes()? as usize)),
        }
        if parts.len() > PARTS {
            return Err(Error::limit("zarr: elements of that many fields"));
        }
    }
    Ok(())
}

/// A type's name in version 2: NumPy's type string, or a list of fields.
fn named_v2(dtype: &DType) -> Result<Json> {
    Ok(match dtype {
        DType::BF16 | DType::Mini(_) => json!(dtype.to_string()),
        DType::C32 | DType::Blocks(_) => return Err(unsupported(dtype)),
        DType::Bytes(0) | DType::Str(0) | DType::Void(0) => {
            return Err(Error::unsupported("zarr: it has no elements of no bytes"));
        }
        DType::Variable(kind) if matches!(kind.arrow, DataType::Utf8 | DataType::Binary) => json!("|O"),
        DType::Variable(_) => return Err(unsupported(dtype)),
        DType::Struct(record) if record.fields.is_empty() => return Err(unsupported(dtype)),
        DType::Struct(record) => {
            let field = |field: &crate::data::dtype::Field| {
                let inner = named_v2(&field.dtype)?;
                Ok(match field.shape.as_slice() {
                    [] => json!([field.name, inner]),
                    shape => json!([field.name, inner, shape]),
                })
            };
            record.fields.iter().map(field).collect::<Result<Json>>()?
        }
        plain => json!(typestr(plain)?),
    })
}

/// The fill value of version 2.
fn fill_v2(dtype: &DType) -> Result<Json> {
    Ok(match dtype {
        DType::Bool => json!(false),
        DType::C64 | DType::C128 => json!([0.0, 0.0]),
        DType::Bytes(_) | DType::Str(_) => json!(""),
        // Readers take an empty text there for one that is missing.
        DType::Variable(_) => Json::Null,
        DType::DateTime(unit) | DType::TimeDelta(unit) => moment(*unit),
        DType::Void(n) => zeros(u64::from(*n))?,
        DType::Struct(record) => {
            let mut parts = Vec::new();
            fields_of(record, 0, &mut parts)?;
            zeros(parts.iter().map(|(_, len)| *len as u64).sum())?
        }
        dtype if dtype.is_float() => json!(0.0),
        _ => json!(0),
    })
}

fn zeros(bytes: u64) -> Result<Json> {
    Ok(json!(BASE64.encode(limits::buffer(bytes, "the fill value")?)))
}

/// A type's name in version 3, and its fill value.
fn named_v3(dtype: &DType) -> Result<(Json, Json)> {
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
        DType::Void(n) => (extension("raw_bytes", length(*n)?), zeros(u64::from(*n))?),
        DType::DateTime(unit) => (extension("numpy.datetime64", time(*unit)), moment(*unit)),
        DType::TimeDelta(unit) => (extension("numpy.timedelta64", time(*unit)), moment(*unit)),
        DType::Struct(record) => {
            let mut fields = Vec::new();
            for field in &record.fields {
                if !field.shape.is_empty() {
                    let what = format!("zarr: the field {:?} is an array of its own", field.name);
                    return Err(Error::unsupported(what));
                }
                fields.push(json!([field.name, named_v3(&field.dtype)?.0]));
            }
            let mut parts = Vec::new();
            fields_of(record, 0, &mut parts)?;
            let size = parts.iter().map(|(_, len)| *len as u64).sum();
            (extension("structured", json!({"fields": fields})), zeros(size)?)
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
