//! Arrow's arrays in pandas' columns: a type, a length, and buffers, one after the other in the pickle.
//! <https://arrow.apache.org/docs/format/Columnar.html>

use super::column::Column;
use crate::engines::pickle::machine::{Id, Object, Pickle, Value};
use arrow::array::{ArrayData, ArrayRef, make_array, new_empty_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, TimeUnit};

/// The module that pyarrow's functions are in.
const PYARROW: [&str; 1] = ["pyarrow.lib"];

/// The column that an extension array of Arrow's is, where all of its parts are understood.
pub(super) fn column(pickle: &Pickle, id: Id) -> Option<Column> {
    let inner = ["_pa_array", "_data"].into_iter().find_map(|name| pickle.field(id, name));
    array(pickle, inner.unwrap_or(id)).map(Column::Values)
}

fn call<'a>(pickle: &'a Pickle, id: Id, name: &str) -> Option<&'a [Id]> {
    let Value::Object(object) = pickle.value(id) else { return None };
    let Object { class, arguments, .. } = &**object;
    pickle.is(*class, &PYARROW, name).then(|| pickle.tuple(*arguments)).flatten()
}

fn array(pickle: &Pickle, id: Id) -> Option<ArrayRef> {
    if let Some([chunks, rest @ ..]) = call(pickle, id, "chunked_array") {
        let chunks = pickle.items_of(*chunks)?;
        let parts: Vec<ArrayRef> = chunks.iter().map(|chunk| one(pickle, *chunk)).collect::<Option<_>>()?;
        let parts: Vec<&dyn arrow::array::Array> = parts.iter().map(|part| part.as_ref()).collect();
        if parts.is_empty() {
            return Some(new_empty_array(&kind(pickle, *rest.first()?)?));
        }
        return arrow::compute::concat(&parts).ok();
    }
    one(pickle, id)
}

/// Type, length, nulls, offset, buffers, children, dictionary.
fn one(pickle: &Pickle, id: Id) -> Option<ArrayRef> {
    let [data] = call(pickle, id, "_restore_array")? else { return None };
    let [data_type, length, _, offset, buffers, children, dictionary] = pickle.tuple(*data)? else {
        return None;
    };
    let number = |id: Id| match pickle.value(id) {
        Value::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    };
    // Types of types are left to the tree.
    if !pickle.items_of(*children)?.is_empty() || !matches!(pickle.value(*dictionary), Value::None) {
        return None;
    }
    let mut parts = Vec::new();
    for part in pickle.items_of(*buffers)? {
        parts.push(match pickle.value(*part) {
            Value::None => None,
            // Copied, so that its elements stand where processors want them.
            _ => Some(Buffer::from(pickle.data(*call(pickle, *part, "py_buffer")?.first()?)?.to_vec())),
        });
    }
    let nulls = parts.first()?.clone();
    let buffers: Vec<Buffer> =
        parts.into_iter().skip(1).map(|part| part.unwrap_or_else(|| Buffer::from(&[] as &[u8]))).collect();
    let kind = kind(pickle, *data_type)?;
    let data = ArrayData::try_new(kind, number(*length)?, nulls, number(*offset)?, buffers, vec![]).ok()?;
    data.validate_full().ok()?;
    Some(make_array(data))
}

fn kind(pickle: &Pickle, id: Id) -> Option<DataType> {
    if let Some([word]) = call(pickle, id, "type_for_alias") {
        return Some(match pickle.text(*word)? {
            "string" | "utf8" => DataType::Utf8,
            "large_string" | "large_utf8" => DataType::LargeUtf8,
            "binary" => DataType::Binary,
            "large_binary" => DataType::LargeBinary,
            "bool" => DataType::Boolean,
            "int8" => DataType::Int8,
            "int16" => DataType::Int16,
            "int32" => DataType::Int32,
            "int64" => DataType::Int64,
            "uint8" => DataType::UInt8,
            "uint16" => DataType::UInt16,
            "uint32" => DataType::UInt32,
            "uint64" => DataType::UInt64,
            "halffloat" | "float16" => DataType::Float16,
            "float" | "float32" => DataType::Float32,
            "double" | "float64" => DataType::Float64,
            "date32[day]" | "date32" => DataType::Date32,
            "date64[ms]" | "date64" => DataType::Date64,
            _ => return None,
        });
    }
    let parts = call(pickle, id, "timestamp")?;
    let unit = match pickle.text(*parts.first()?)? {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    };
    Some(DataType::Timestamp(unit, parts.get(1).and_then(|zone| pickle.text(*zone)).map(Into::into)))
}
