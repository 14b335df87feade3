//! The values of fields as Arrow's arrays.

use super::json;
use crate::bytes::error::{Error, Result};
use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray,
    MapArray, StringArray, StructArray, UInt32Array, UInt64Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields};
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// How deep messages are structs.
const DEPTH: usize = 8;

/// The column of a field, in messages that lie in each other as `outer` says.
pub(super) fn field(field: &FieldDescriptor, outer: &[&MessageDescriptor]) -> Field {
    Field::new(field.name(), data_type(field, outer), true)
}

fn data_type(field: &FieldDescriptor, outer: &[&MessageDescriptor]) -> DataType {
    let kind = field.kind();
    if field.is_map()
        && let Some(entry) = kind.as_message()
    {
        let key = Field::new("key", single(&entry.map_entry_key_field().kind(), outer), false);
        let value = Field::new("value", single(&entry.map_entry_value_field().kind(), outer), true);
        let entries = Field::new("entries", DataType::Struct(vec![key, value].into()), false);
        return DataType::Map(Arc::new(entries), false);
    }
    let one = single(&kind, outer);
    if field.is_list() { DataType::new_list(one, true) } else { one }
}

fn single(kind: &Kind, outer: &[&MessageDescriptor]) -> DataType {
    match kind {
        Kind::Double => DataType::Float64,
        Kind::Float => DataType::Float32,
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => DataType::Int32,
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => DataType::Int64,
        Kind::Uint32 | Kind::Fixed32 => DataType::UInt32,
        Kind::Uint64 | Kind::Fixed64 => DataType::UInt64,
        Kind::Bool => DataType::Boolean,
        Kind::String | Kind::Enum(_) => DataType::Utf8,
        Kind::Bytes => DataType::Binary,
        Kind::Message(inner) => {
            let is_again = outer.contains(&inner) || outer.len() >= DEPTH;
            // A struct without fields is nothing that other formats have.
            if is_again || inner.fields().len() == 0 {
                return DataType::Utf8;
            }
            let outer: Vec<&MessageDescriptor> = outer.iter().copied().chain([inner]).collect();
            let fields: Fields = inner.fields().map(|inner| field(&inner, &outer)).collect();
            DataType::Struct(fields)
        }
    }
}

/// The values of a field of messages.
pub(super) fn of_field(
    field: &FieldDescriptor,
    messages: &[Option<&DynamicMessage>],
    data_type: &DataType,
) -> Result<ArrayRef> {
    let values: Vec<Option<Cow<'_, Value>>> =
        messages.iter().map(|message| value(field, (*message)?)).collect();
    let values: Vec<Option<&Value>> = values.iter().map(Option::as_deref).collect();
    match data_type {
        DataType::List(item) => {
            let (mut offsets, mut items, mut valid) = (vec![0], Vec::new(), Vec::new());
            for value in values {
                if let Some(Value::List(list)) = value {
                    items.extend(list.iter().map(Some));
                }
                valid.push(value.is_some());
                offsets.push(offset(items.len())?);
            }
            let items = single_array(&field.kind(), &items, item.data_type())?;
            let offsets = OffsetBuffer::new(offsets.into());
            Ok(Arc::new(ListArray::try_new(item.clone(), offsets, items, nulls(valid))?))
        }
        DataType::Map(entries, _) => map(field, &values, entries),
        other => single_array(&field.kind(), &values, other),
    }
}

/// The value of a field; `None` where it says that it is not set.
fn value<'m>(field: &FieldDescriptor, message: &'m DynamicMessage) -> Option<Cow<'m, Value>> {
    let is_set = message.has_field(field) || field.is_list() || field.is_map();
    (is_set || !field.supports_presence()).then(|| message.get_field(field))
}

fn offset(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::limit("a list of more than 2^31 values"))
}

fn nulls(valid: Vec<bool>) -> Option<NullBuffer> {
    Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0)
}

fn map(field: &FieldDescriptor, values: &[Option<&Value>], entries: &Arc<Field>) -> Result<ArrayRef> {
    let kind = field.kind();
    let (Some(entry), DataType::Struct(parts)) = (kind.as_message(), entries.data_type()) else {
        return Err(Error::bug("a map is no map"));
    };
    let (mut offsets, mut keys, mut items, mut valid) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for value in values {
        if let Some(Value::Map(map)) = value {
            let mut sorted: Vec<(&MapKey, &Value)> = map.iter().collect();
            // Maps have no order; that of their keys as texts is always the same.
            sorted.sort_by_cached_key(|(key, _)| json::key(key));
            keys.extend(sorted.iter().map(|(key, _)| Value::from((*key).clone())));
            items.extend(sorted.iter().map(|(_, value)| Some(*value)));
        }
        valid.push(value.is_some());
        offsets.push(offset(items.len())?);
    }
    let keys: Vec<Option<&Value>> = keys.iter().map(Some).collect();
    let [key, value] = &parts[..] else { return Err(Error::bug("a map's entries are pairs")) };
    let arrays = vec![
        single_array(&entry.map_entry_key_field().kind(), &keys, key.data_type())?,
        single_array(&entry.map_entry_value_field().kind(), &items, value.data_type())?,
    ];
    let pairs = StructArray::try_new(parts.clone(), arrays, None)?;
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, nulls(valid), false)?))
}

/// An array of the values of this kind that `get` finds in them.
macro_rules! plain {
    ($array:ty, $values:expr, $kind:path) => {
        Arc::new(
            $values.iter().map(|v| if let Some($kind(v)) = v { Some(*v) } else { None }).collect::<$array>(),
        )
    };
}

/// Values that are in no list.
fn single_array(kind: &Kind, values: &[Option<&Value>], data_type: &DataType) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Float64 => plain!(Float64Array, values, Value::F64),
        DataType::Float32 => plain!(Float32Array, values, Value::F32),
        DataType::Int32 => plain!(Int32Array, values, Value::I32),
        DataType::Int64 => plain!(Int64Array, values, Value::I64),
        DataType::UInt32 => plain!(UInt32Array, values, Value::U32),
        DataType::UInt64 => plain!(UInt64Array, values, Value::U64),
        DataType::Boolean => plain!(BooleanArray, values, Value::Bool),
        DataType::Binary => {
            let mut builder = BinaryBuilder::new();
            for value in values {
                builder.append_option(value.and_then(Value::as_bytes));
            }
            Arc::new(builder.finish())
        }
        DataType::Struct(fields) => {
            let messages: Vec<Option<&DynamicMessage>> =
                values.iter().map(|value| value.and_then(Value::as_message)).collect();
            let inner = kind.as_message().ok_or_else(|| Error::bug("a struct is no message"))?;
            let arrays = inner
                .fields()
                .zip(fields)
                .map(|(inner, target)| of_field(&inner, &messages, target.data_type()));
            let arrays: Vec<ArrayRef> = arrays.collect::<Result<_>>()?;
            let valid = messages.iter().map(Option::is_some).collect();
            Arc::new(StructArray::try_new(fields.clone(), arrays, nulls(valid))?)
        }
        _ => {
            let text = |value: &Option<&Value>| value.map(|value| json::text(kind, value));
            Arc::new(values.iter().map(text).collect::<StringArray>())
        }
    })
}
