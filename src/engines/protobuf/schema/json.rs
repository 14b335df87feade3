//! Values as texts, and as the JSON of Protocol Buffers: <https://protobuf.dev/programming-guides/json/>.

use crate::data::cell;
use base64::Engine;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, Value};
use serde_json::{Map, Value as Json};

/// The key of a map as text.
pub(super) fn key(key: &MapKey) -> String {
    match key {
        MapKey::Bool(value) => value.to_string(),
        MapKey::I32(value) => value.to_string(),
        MapKey::I64(value) => value.to_string(),
        MapKey::U32(value) => value.to_string(),
        MapKey::U64(value) => value.to_string(),
        MapKey::String(value) => value.clone(),
    }
}

/// The value of an enumeration by its name; one that it has not by its number.
pub(super) fn enumerated(kind: &Kind, number: i32) -> String {
    let name = kind.as_enum().and_then(|values| Some(values.get_value(number)?.name().to_owned()));
    name.unwrap_or_else(|| number.to_string())
}

/// A value as text.
pub(super) fn text(kind: &Kind, value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::I32(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::U32(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::F32(value) => cell::float32(*value),
        Value::F64(value) => cell::float64(*value),
        Value::String(value) => value.clone(),
        Value::EnumNumber(number) => enumerated(kind, *number),
        other => json(kind, other).to_string(),
    }
}

/// A message as JSON.
pub(super) fn message(message: &DynamicMessage) -> Json {
    let member =
        |(field, value): (FieldDescriptor, &Value)| (field.json_name().to_owned(), of(&field, value));
    Json::Object(message.fields().map(member).collect())
}

/// The value of a field as JSON.
pub(super) fn of(field: &FieldDescriptor, value: &Value) -> Json {
    match value {
        Value::List(values) => values.iter().map(|value| json(&field.kind(), value)).collect(),
        Value::Map(entries) => {
            let kind = field.kind();
            let kind = kind.as_message().map(|entry| entry.map_entry_value_field().kind());
            let entry = |(name, value)| Some((key(name), json(kind.as_ref()?, value)));
            let mut entries: Vec<(String, Json)> = entries.iter().filter_map(entry).collect();
            // Maps have no order; that of their names is always the same.
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(entries.into_iter().collect::<Map<_, _>>())
        }
        value => json(&field.kind(), value),
    }
}

fn json(kind: &Kind, value: &Value) -> Json {
    let float = |text: String, value: f64| match value {
        _ if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => text.parse().map_or(Json::Null, Json::Number),
    };
    match value {
        Value::Bool(value) => (*value).into(),
        Value::I32(value) => (*value).into(),
        Value::U32(value) => (*value).into(),
        // As texts, since other readers of JSON have only doubles.
        Value::I64(value) => value.to_string().into(),
        Value::U64(value) => value.to_string().into(),
        Value::F32(value) => float(value.to_string(), f64::from(*value)),
        Value::F64(value) => float(value.to_string(), *value),
        Value::String(value) => value.as_str().into(),
        Value::Bytes(bytes) => base64::engine::general_purpose::STANDARD.encode(bytes).into(),
        Value::EnumNumber(number) => enumerated(kind, *number).into(),
        Value::Message(inner) => message(inner),
        Value::List(values) => values.iter().map(|value| json(kind, value)).collect(),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(name, value)| (key(name), json(kind, value))).collect())
        }
    }
}
