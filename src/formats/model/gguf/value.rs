//! Values of metadata: numbers, texts, lists of them, lists of lists.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::ordered;
use crate::bytes::source::Source;
use crate::data::cell;
use crate::data::dtype::DType;
use crate::engines::ggml::{Cursor, Texts};
use serde_json::{Value as Json, json};

/// Items of a list that are shown with the other metadata; longer ones are nodes of their own.
const SHORT: u64 = 64;
/// Bytes of the texts of such a list.
const SHORT_BYTES: u64 = 8 << 10;
/// Numbers of a list of lists that are shown.
const NESTED: usize = 4096;

/// The number of texts in `gguf_metadata_value_type`,
pub(super) const TEXT: u32 = 8;
/// and that of lists.
pub(super) const LIST: u32 = 9;

/// A value.
#[derive(Clone)]
pub(super) enum Value {
    /// A number or a boolean, and its type.
    Number(Json, DType),
    /// A text.
    Text(String),
    /// Numbers of one type from a byte on; all of them where they are few.
    Numbers { dtype: DType, at: u64, count: u64, short: Option<Json> },
    /// Texts; all of them where they are few.
    Texts { texts: Texts, short: Option<Json> },
    /// Lists of lists; nothing where they hold too much to be shown.
    Nested(Option<Json>),
}

/// The type of single values of this number.
pub(super) fn dtype_of(kind: u32) -> Option<DType> {
    Some(match kind {
        0 => DType::U8,
        1 => DType::I8,
        2 => DType::U16,
        3 => DType::I16,
        4 => DType::U32,
        5 => DType::I32,
        6 => DType::F32,
        7 => DType::Bool,
        10 => DType::U64,
        11 => DType::I64,
        12 => DType::F64,
        _ => return None,
    })
}

/// One number. NaN and infinities are texts in JSON, and floats the shortest that read back to the same.
fn number(dtype: &DType, bytes: &[u8], big: bool) -> Json {
    macro_rules! of {
        ($ty:ty) => {
            json!(ordered::<$ty>(big, bytes, 0).unwrap_or_default())
        };
    }
    let float = |text: String, value: f64| match serde_json::from_str::<serde_json::Number>(&text) {
        Ok(number) if value.is_finite() => Json::Number(number),
        _ => Json::String(text),
    };
    match dtype {
        DType::Bool => json!(bytes.first().is_some_and(|&byte| byte != 0)),
        DType::U8 => of!(u8),
        DType::I8 => json!(bytes.first().copied().unwrap_or_default() as i8),
        DType::U16 => of!(u16),
        DType::I16 => of!(i16),
        DType::U32 => of!(u32),
        DType::I32 => of!(i32),
        DType::U64 => of!(u64),
        DType::I64 => of!(i64),
        DType::F32 => {
            let value = ordered::<f32>(big, bytes, 0).unwrap_or_default();
            float(cell::float32(value), value.into())
        }
        _ => {
            let value = ordered::<f64>(big, bytes, 0).unwrap_or_default();
            float(cell::float64(value), value)
        }
    }
}

/// Numbers one behind the other.
fn numbers(dtype: &DType, bytes: &[u8], big: bool) -> Json {
    bytes.chunks_exact(dtype.size().max(1) as usize).map(|one| number(dtype, one, big)).collect()
}

fn unknown(kind: u32, at: u64) -> Error {
    Error::malformed(format!("header: a value's type is {kind}, which GGUF does not have")).at(at)
}

/// Reads a value of a type that was read. `width` is that of lengths, in bytes.
///
/// # Errors
/// `Malformed` for unknown types, and where the file ends; `Limit` for lists that nest too deep.
pub(super) fn read(cursor: &mut Cursor, source: &Source, kind: u32, width: u64) -> Result<Value> {
    let at = cursor.at();
    match kind {
        TEXT => Ok(Value::Text(cursor.text(width)?)),
        LIST => list(cursor, source, width),
        _ => {
            let dtype = dtype_of(kind).ok_or_else(|| unknown(kind, at.saturating_sub(4)))?;
            let bytes = cursor.take(dtype.size())?;
            Ok(Value::Number(number(&dtype, &bytes, cursor.big), dtype))
        }
    }
}

fn list(cursor: &mut Cursor, source: &Source, width: u64) -> Result<Value> {
    let begin = cursor.at();
    let kind: u32 = cursor.number()?;
    let count = cursor.length(width)?;
    let at = cursor.at();
    if kind == TEXT {
        let texts = Texts::skip(cursor, source, count, width, 0)?;
        let end = cursor.at();
        let mut short = None;
        if count <= SHORT && end - at <= SHORT_BYTES {
            cursor.go(at);
            let items: Result<Vec<String>> = (0..count).map(|_| cursor.text(width)).collect();
            short = Some(json!(items?));
        }
        return Ok(Value::Texts { texts, short });
    }
    if kind == LIST {
        cursor.go(begin);
        let mut left = NESTED;
        let nested = nested(cursor, width, 0, &mut left)?;
        return Ok(Value::Nested((left > 0).then_some(nested)));
    }
    let dtype = dtype_of(kind).ok_or_else(|| unknown(kind, begin))?;
    cursor.fit(count, dtype.size(), "numbers of a list")?;
    let short = match count <= SHORT {
        true => Some(numbers(&dtype, &cursor.take(count * dtype.size())?, cursor.big)),
        false => None,
    };
    cursor.go(at + count * dtype.size());
    Ok(Value::Numbers { dtype, at, count, short })
}

/// Goes over a list of lists, and gives its values as long as there are not too many: `left` is 0 then.
fn nested(cursor: &mut Cursor, width: u64, depth: usize, left: &mut usize) -> Result<Json> {
    let begin = cursor.at();
    if depth >= limits::DEPTH {
        let what = format!("header: lists inside of lists, more than {} deep", limits::DEPTH);
        return Err(Error::limit(what).at(begin));
    }
    let kind: u32 = cursor.number()?;
    let count = cursor.length(width)?;
    *left = left.saturating_sub(1 + usize::try_from(count).unwrap_or(usize::MAX));
    if let Some(dtype) = dtype_of(kind) {
        cursor.fit(count, dtype.size(), "numbers of a list")?;
        let end = cursor.at() + count * dtype.size();
        let values = match *left {
            0 => Json::Null,
            _ => numbers(&dtype, &cursor.take(count * dtype.size())?, cursor.big),
        };
        cursor.go(end);
        return Ok(values);
    }
    match kind {
        TEXT if *left == 0 => cursor.skip_texts(count, width, 0, u64::MAX).map(|_| Json::Null),
        TEXT => (0..count).map(|_| cursor.text(width).map(Json::String)).collect(),
        LIST => {
            cursor.fit(count, 4 + width, "lists of a list")?;
            let mut items = Vec::new();
            for _ in 0..count {
                let item = nested(cursor, width, depth + 1, left)?;
                if *left > 0 {
                    items.push(item);
                }
            }
            Ok(Json::Array(items))
        }
        _ => Err(unknown(kind, begin)),
    }
}
