//! Iceberg schemas as Arrow schemas, with field ids (specification, *Schemas and Data Types*, *Appendix C*).

use super::metadata::{Metadata, SnapshotId, ids};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::data::content::Content;
use crate::engines::multifile::lake::{self, FIELD_ID, text_table};
use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use serde_json::Value as Json;
use std::sync::Arc;

/// The columns of a schema.
pub(super) fn schema(json: &Json) -> Result<SchemaRef> {
    Ok(Arc::new(Schema::new(fields(json, 0)?)))
}

/// One field of one schema in the table of all.
struct Line {
    schema: i64,
    id: Option<i64>,
    /// With the names of the fields around it before it.
    name: String,
    kind: String,
    required: bool,
}

/// The most fields that are listed.
const LISTED: usize = 100_000;

/// The schemas with their fields, inner ones too, as a table; `firsts` has the first snapshot of each schema.
pub(super) fn evolution(metadata: &Metadata, firsts: &[(i64, SnapshotId)]) -> Result<Content> {
    let mut lines = Vec::new();
    for schema in metadata.schemas() {
        let id = schema.get("schema-id").and_then(Json::as_i64).unwrap_or(0);
        list(schema, id, "", 0, &mut lines);
    }
    let numbers = |of: &dyn Fn(&Line) -> Option<i64>| -> ArrayRef {
        Arc::new(lines.iter().map(of).collect::<Int64Array>())
    };
    let texts = |of: &dyn Fn(&Line) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(lines.iter().map(of)))
    };
    let first = |line: &Line| firsts.iter().find(|(schema, _)| *schema == line.schema).map(|(_, id)| *id);
    let required: BooleanArray = lines.iter().map(|line| Some(line.required)).collect();
    text_table(vec![
        ("schema", numbers(&|line| Some(line.schema))),
        ("field", numbers(&|line| line.id)),
        ("name", texts(&|line| &line.name)),
        ("type", texts(&|line| &line.kind)),
        ("required", Arc::new(required)),
        ("first snapshot", ids(&lines.iter().map(first).collect::<Vec<_>>())),
    ])
}

/// Lists the fields of a struct and what is in them; what is no field is left out.
fn list(json: &Json, schema: i64, around: &str, depth: usize, lines: &mut Vec<Line>) {
    let fields = json.get("fields").and_then(Json::as_array).into_iter().flatten();
    for field in fields {
        let Some(name) = field.get("name").and_then(Json::as_str) else { continue };
        let is_required = field.get("required").and_then(Json::as_bool).unwrap_or(false);
        let of = (field.get("type"), field.get("id"));
        line(of, schema, format!("{around}{name}"), is_required, depth, lines);
    }
}

fn line(
    (of, id): (Option<&Json>, Option<&Json>),
    schema: i64,
    name: String,
    required: bool,
    depth: usize,
    lines: &mut Vec<Line>,
) {
    let Some(of) = of.filter(|_| depth < limits::DEPTH && lines.len() < LISTED) else { return };
    let kind = of.as_str().or_else(|| of.get("type").and_then(Json::as_str)).unwrap_or_default().to_owned();
    lines.push(Line { schema, id: id.and_then(Json::as_i64), name: name.clone(), kind, required });
    list(of, schema, &format!("{name}."), depth + 1, lines);
    for part in ["element", "key", "value"] {
        let is_required =
            of.get(&*format!("{part}-required")).and_then(Json::as_bool).unwrap_or(part == "key");
        let inner = (of.get(part), of.get(&*format!("{part}-id")));
        line(inner, schema, format!("{name}.{part}"), is_required, depth + 1, lines);
    }
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
            let key = inner("key", "key", true)?;
            Ok(lake::map(vec![key, inner("value", "value", required("value-required"))?]))
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
        "variant" => lake::variant(),
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
    lake::decimal(word).ok_or_else(unknown)
}
