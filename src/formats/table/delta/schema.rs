//! The schema of a Delta table as an Arrow schema (PROTOCOL.md, *Schema Serialization Format*).

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::engines::multifile::lake::{self, FIELD_ID, PHYSICAL_NAME};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// The columns of a schema; `mapped` says that files name or number them otherwise.
pub(super) fn schema(json: &Json, mapped: bool) -> Result<SchemaRef> {
    Ok(Arc::new(Schema::new(fields(json, mapped, 0)?)))
}

fn fields(json: &Json, mapped: bool, depth: usize) -> Result<Fields> {
    let list = json.get("fields").and_then(Json::as_array);
    let list = list.ok_or_else(|| Error::malformed("Delta schema: a struct has no fields"))?;
    list.iter().map(|one| field(one, mapped, depth)).collect()
}

fn field(json: &Json, mapped: bool, depth: usize) -> Result<FieldRef> {
    let name = json.get("name").and_then(Json::as_str);
    let name = name.ok_or_else(|| Error::malformed("Delta schema: a field has no name"))?;
    let json_type = json.get("type").unwrap_or(&Json::Null);
    let data_type = data_type(json_type, mapped, depth).map_err(|e| e.in_node(name))?;
    let nullable = json.get("nullable").and_then(Json::as_bool).unwrap_or(true);
    let mut metadata = HashMap::new();
    for (key, value) in json.get("metadata").and_then(Json::as_object).into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match key.as_str() {
            PHYSICAL_NAME | "delta.columnMapping.id" if !mapped => {}
            "delta.columnMapping.id" => {
                metadata.insert(FIELD_ID.to_owned(), text);
            }
            _ => {
                metadata.insert(key.clone(), text);
            }
        }
    }
    Ok(Arc::new(Field::new(name, data_type, nullable).with_metadata(metadata)))
}

fn data_type(json: &Json, mapped: bool, depth: usize) -> Result<DataType> {
    if depth > limits::DEPTH {
        return Err(Error::limit("Delta schema: it is nested too deep"));
    }
    if let Some(word) = json.as_str() {
        return primitive(word);
    }
    let nullable = |key: &str| json.get(key).and_then(Json::as_bool).unwrap_or(true);
    let inner = |key: &str| data_type(json.get(key).unwrap_or(&Json::Null), mapped, depth + 1);
    match json.get("type").and_then(Json::as_str) {
        Some("struct") => Ok(DataType::Struct(fields(json, mapped, depth + 1)?)),
        Some("array") => {
            let item = Field::new("element", inner("elementType")?, nullable("containsNull"));
            Ok(DataType::List(Arc::new(item)))
        }
        Some("map") => {
            let key = Field::new("key", inner("keyType")?, false);
            let value = Field::new("value", inner("valueType")?, nullable("valueContainsNull"));
            Ok(lake::map(vec![key, value]))
        }
        other => Err(Error::unsupported(format!("Delta schema: type {other:?} is unknown"))),
    }
}

fn primitive(word: &str) -> Result<DataType> {
    Ok(match word {
        "string" => DataType::Utf8,
        "long" => DataType::Int64,
        "integer" => DataType::Int32,
        "short" => DataType::Int16,
        "byte" => DataType::Int8,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "boolean" => DataType::Boolean,
        "binary" => DataType::Binary,
        "date" => DataType::Date32,
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "void" => DataType::Null,
        "variant" => lake::variant(),
        _ => return lake::decimal(word).ok_or_else(|| unknown(word)),
    })
}

fn unknown(word: &str) -> Error {
    Error::unsupported(format!("Delta schema: type {word:?} is unknown"))
}
