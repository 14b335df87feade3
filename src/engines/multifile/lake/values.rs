//! Values of metadata: a record of a table as JSON, texts as typed constants, small tables of texts.

use crate::bytes::error::{Error, Result};
use crate::data::content::table::MemoryTable;
use crate::data::content::{Content, Table};
use arrow::array::*;
use arrow::compute::CastOptions;
use arrow::datatypes::*;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;

/// The value at `row` as JSON: structs and maps are objects, numbers numbers, binary the bytes as a list.
pub fn json_of(array: &dyn Array, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let pairs = fields.iter().zip(columns).map(|(f, c)| (f.name().clone(), json_of(c, row)));
            Json::Object(pairs.collect())
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let key = |n: usize| match json_of(keys, n) {
                Json::String(text) => text,
                other => other.to_string(),
            };
            let pairs: Map<String, Json> = (0..entries.len()).map(|n| (key(n), json_of(values, n))).collect();
            Json::Object(pairs)
        }
        DataType::List(_) => list(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row)),
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) | DataType::BinaryView => {
            json!(crate::data::cell::binary(array, row).unwrap_or_default())
        }
        data_type if data_type.is_integer() => {
            let text = crate::data::cell::text(array, row).unwrap_or_default();
            text.parse::<i64>().map(Json::from).unwrap_or(Json::String(text))
        }
        _ => crate::data::cell::text(array, row).map_or(Json::Null, Json::String),
    }
}

/// Bytes that are written in hexadecimal, or as a UUID.
fn bytes(text: &str, data_type: &DataType) -> Result<ArrayRef> {
    let wrong = || Error::malformed(format!("the value {text:?} is no {data_type}"));
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let byte = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect::<Option<_>>().ok_or_else(wrong)?;
    let binary: ArrayRef = Arc::new(BinaryArray::from(vec![bytes.as_slice()]));
    match data_type {
        DataType::FixedSizeBinary(size) if *size as usize != bytes.len() => Err(wrong()),
        _ => Ok(arrow::compute::cast(&binary, data_type)?),
    }
}

fn list(items: &dyn Array) -> Json {
    Json::Array((0..items.len()).map(|n| json_of(items, n)).collect())
}

/// An array of one value of `data_type` from its text; `None` is null.
///
/// # Errors
/// `Malformed` where the text is no such value.
pub fn constant(text: Option<&str>, data_type: &DataType) -> Result<ArrayRef> {
    if let (DataType::FixedSizeBinary(_) | DataType::Binary, Some(text)) = (data_type, text) {
        return bytes(text, data_type);
    }
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let options = CastOptions { safe: false, ..CastOptions::default() };
    arrow::compute::cast_with_options(&texts, data_type, &options).map_err(|e| {
        Error::malformed(format!("the value {:?} is no {data_type}: {e}", text.unwrap_or_default()))
    })
}

/// A table of these columns.
///
/// # Errors
/// `Bug` for columns of different lengths.
pub fn text_table(columns: Vec<(&str, ArrayRef)>) -> Result<Content> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?;
    let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch));
    Ok(Content::Table(table))
}

/// Milliseconds since 1970 as ISO 8601.
pub fn time(millis: i64) -> String {
    let array = TimestampMillisecondArray::from(vec![millis]).with_timezone("UTC");
    crate::data::cell::text(&array, 0).unwrap_or_default()
}

/// The milliseconds since 1970 of a time in ISO 8601; UTC where it names no zone.
pub fn millis(text: &str) -> Option<i64> {
    let wanted = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let array = constant(Some(text), &wanted).ok()?;
    array.is_valid(0).then(|| array.as_primitive::<TimestampMillisecondType>().value(0))
}

/// Text with `%2F` and the like resolved; what is no such escape stays.
pub fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match hex.filter(|_| first == b'%').and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        assert_eq!(millis(&time(1_700_000_000_123)), Some(1_700_000_000_123));
        assert_eq!(millis("1970-01-02"), Some(86_400_000));
        assert_eq!(millis("1970-01-01T00:00:01"), Some(1_000));
        assert_eq!(millis("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(millis("yesterday"), None);
    }

    #[test]
    fn partition_texts_become_typed() {
        let date = constant(Some("2021-02-03"), &DataType::Date32).unwrap();
        assert_eq!(crate::data::cell::text(&date, 0).as_deref(), Some("2021-02-03"));
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let time = constant(Some("2013-07-05 17:01:00.123456"), &time).unwrap();
        assert_eq!(crate::data::cell::text(&time, 0).as_deref(), Some("2013-07-05T17:01:00.123456"));
        assert!(constant(None, &DataType::Int64).unwrap().is_null(0));
        assert!(constant(Some("x"), &DataType::Int64).is_err());
        let id = "f79c3e09-677c-4bbd-a479-3f349cb785e7";
        assert!(constant(Some(id), &DataType::FixedSizeBinary(16)).is_ok());
        assert!(constant(Some(id), &DataType::FixedSizeBinary(4)).is_err());
    }
}
