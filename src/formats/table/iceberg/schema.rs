//! Iceberg schemas as Arrow schemas, with field ids (specification, *Schemas and Data Types*, *Appendix C*).

use crate::error::{Error, Result};
use crate::lake::FIELD_ID;
use crate::limits;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use serde_json::Value as Json;
use std::sync::Arc;

/// The columns of a schema.
pub(super) fn schema(json: &Json) -> Result<SchemaRef> {
    Ok(Arc::new(Schema::new(fields(json, 0)?)))
}

fn malformed(what: impl std::fmt::Display) -> Error {
    Error::malformed(format!("Iceberg schema: {what}"))
}

fn fields(json: &Json, depth: usize) -> Result<Fields> {
    let list =
        json.get("fields").and_then(Json::as_array).ok_or_else(|| malformed("a struct has no fields"))?;
    list.iter()
        .map(|one| {
            let name =
                one.get("name").and_then(Json::as_str).ok_or_else(|| malformed("a field has no name"))?;
            let required = one.get("required").and_then(Json::as_bool).unwrap_or(false);
            field(name, one.get("type"), one.get("id"), required, depth).map_err(|e| e.in_node(name))
        })
        .collect()
}

fn field(name: &str, of: Option<&Json>, id: Option<&Json>, required: bool, depth: usize) -> Result<FieldRef> {
    let of = of.ok_or_else(|| malformed(format!("the field {name:?} has no type")))?;
    let mut metadata = std::collections::HashMap::new();
    if let Some(id) = id.and_then(Json::as_i64) {
        metadata.insert(FIELD_ID.to_owned(), id.to_string());
    }
    if of.as_str() == Some("uuid") {
        metadata.insert("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned());
    }
    Ok(Arc::new(Field::new(name, data_type(of, depth)?, !required).with_metadata(metadata)))
}

fn data_type(json: &Json, depth: usize) -> Result<DataType> {
    if depth > limits::DEPTH {
        return Err(Error::limit("Iceberg schema: it is nested too deep"));
    }
    if let Some(word) = json.as_str() {
        return primitive(word);
    }
    let inner = |name: &str, part: &str, required: bool| {
        field(name, json.get(part), json.get(&*format!("{part}-id")), required, depth + 1)
    };
    let required = |key: &str| json.get(key).and_then(Json::as_bool).unwrap_or(false);
    match json.get("type").and_then(Json::as_str) {
        Some("struct") => Ok(DataType::Struct(fields(json, depth + 1)?)),
        Some("list") => Ok(DataType::List(inner("element", "element", required("element-required"))?)),
        Some("map") => {
            let entries = Fields::from(vec![
                inner("key", "key", true)?,
                inner("value", "value", required("value-required"))?,
            ]);
            Ok(DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entries), false)), false))
        }
        other => Err(Error::unsupported(format!("Iceberg schema: the type {other:?} is unknown"))),
    }
}

fn primitive(word: &str) -> Result<DataType> {
    let utc = || Some("UTC".into());
    Ok(match word {
        "boolean" => DataType::Boolean,
        "int" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        "timestamp_ns" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        "timestamptz_ns" => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
        "string" => DataType::Utf8,
        "uuid" => DataType::FixedSizeBinary(16),
        "binary" => DataType::Binary,
        "unknown" => DataType::Null,
        "variant" => DataType::Struct(Fields::from(vec![
            Field::new("metadata", DataType::Binary, true),
            Field::new("value", DataType::Binary, true),
        ])),
        // Well-known binary, with an extension that is shown as it is.
        word if word.starts_with("geometry") || word.starts_with("geography") => DataType::Binary,
        word => return sized(word),
    })
}

/// `decimal(9, 2)` and `fixed[16]`.
fn sized(word: &str) -> Result<DataType> {
    let unknown = || Error::unsupported(format!("Iceberg schema: the type {word:?} is unknown"));
    if let Some(size) = word.strip_prefix("fixed[").and_then(|rest| rest.strip_suffix(']')) {
        return Ok(DataType::FixedSizeBinary(size.parse().ok().filter(|n| *n >= 0).ok_or_else(unknown)?));
    }
    let inner = word.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')')).ok_or_else(unknown)?;
    let (precision, scale) = inner.split_once(',').ok_or_else(unknown)?;
    let precision: u8 = precision.trim().parse().map_err(|_| unknown())?;
    let scale: i8 = scale.trim().parse().map_err(|_| unknown())?;
    match (1..=38).contains(&precision) && (0..=precision as i8).contains(&scale) {
        true => Ok(DataType::Decimal128(precision, scale)),
        false => Err(unknown()),
    }
}
