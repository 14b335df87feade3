//! The data files of a snapshot: as parts of its table, and listed.

use super::deletes::DeleteFiles;
use super::manifest::{self, File, Holds};
use super::metadata::{Metadata, Snapshot};
use super::schema;
use crate::bytes::error::{Error, Result};
use crate::bytes::numbers::le;
use crate::bytes::task::Task;
use crate::data::content::ColumnStatistics;
use crate::data::node::Node;
use crate::engines::multifile::concat::BoundsOf;
use crate::engines::multifile::lake::{DataFile, FIELD_ID, constant, json_of, text_table};
use arrow::array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, Int64Array, StringArray, UInt64Array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use serde_json::Value as Json;
use std::sync::Arc;

/// The files as parts of the table of `schema`, which was made of `columns`.
pub(super) fn data_files(
    task: &Task,
    metadata: &Metadata,
    snapshot: &Snapshot,
    schema: &SchemaRef,
    columns: &Json,
) -> Result<Vec<DataFile>> {
    let files = manifest::files(task, metadata, snapshot)?;
    let mut known = vec![schema.clone()];
    known.extend(metadata.schemas().into_iter().rev().filter_map(|json| schema::schema(json).ok()));
    let deletes = DeleteFiles::new(&metadata.places, &files, &known)?;
    let data = files.iter().filter(|file| file.holds == Holds::Data);
    let one = |file: &File| task.check().and_then(|()| data_file(metadata, file, schema, columns, &deletes));
    data.map(one).collect()
}

fn data_file(
    metadata: &Metadata,
    file: &File,
    schema: &SchemaRef,
    columns: &Json,
    deletes: &DeleteFiles,
) -> Result<DataFile> {
    let mut made =
        DataFile::at(&metadata.places, metadata.places.relative(&file.path), &file.path, file.bytes);
    let spec = metadata.spec(file.spec);
    for (place, field) in schema.fields().iter().enumerate() {
        // For what the file lacks (specification, *Column Projection*): the partition's value, the default.
        let own = partitioned(field, &spec, file);
        made.partition.extend(own.is_some().then_some(place));
        // A partition of nulls has no default.
        if let Some(value) = own.or_else(|| default(field, columns)).filter(|value| !value.is_null()) {
            let value = typed(value, field.data_type()).map_err(|e| e.in_file(&made.name))?;
            made.constants.push((place, value));
        }
    }
    (made.deletes, made.deleted) = deletes.of(file);
    made.rows = Some(file.rows);
    made.bounds = Some(bounds(file, schema));
    Ok(made)
}

/// What the manifest says of the values of columns.
fn bounds(file: &File, schema: &SchemaRef) -> BoundsOf {
    let (schema, lower, upper) = (schema.clone(), file.lower.clone(), file.upper.clone());
    let nulls = file.nulls.clone();
    Box::new(move |column| {
        let field = schema.fields().get(column)?;
        let id = field.metadata().get(FIELD_ID)?;
        let of = |all: &Json| single(entry(all, id)?, field.data_type());
        let nulls = UInt64Array::from(vec![entry(&nulls, id).and_then(Json::as_u64)]);
        Some(match of(&lower).zip(of(&upper)) {
            Some((min, max)) => ColumnStatistics::new(min, max, nulls).inexact(),
            None => ColumnStatistics::only_nulls(field.data_type(), nulls),
        })
    })
}

/// What a map by field ids says, by the names of the columns of `schema`.
fn by_name(map: &Json, schema: &SchemaRef, of: impl Fn(&Json, &DataType) -> Option<Json>) -> Option<String> {
    let one = |field: &FieldRef| {
        let value = entry(map, field.metadata().get(FIELD_ID)?)?;
        Some((field.name().clone(), of(value, field.data_type())?))
    };
    let named: serde_json::Map<String, Json> = schema.fields().iter().filter_map(one).collect();
    (!named.is_empty()).then(|| Json::Object(named).to_string())
}

/// A bound as it is shown: floats too.
fn shown(stored: &Json, data_type: &DataType) -> Option<Json> {
    let bytes = || -> Option<Vec<u8>> {
        stored.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
    };
    match data_type {
        DataType::Float32 => Some(le::<f32>(&bytes()?, 0)?.into()),
        DataType::Float64 => {
            let bytes = bytes()?;
            let value = match bytes.len() {
                // The column was of the type `float` when the file was written.
                4 => f64::from(le::<f32>(&bytes, 0)?),
                _ => le(&bytes, 0)?,
            };
            Some(value.into())
        }
        DataType::Boolean => Some((*bytes()?.first()? != 0).into()),
        _ => Some(json_of(single(stored, data_type)?.as_ref(), 0)),
    }
}

/// The value of `key` in a map: an object, or the list of pairs by which Avro stores maps of numbers.
fn entry<'a>(map: &'a Json, key: &str) -> Option<&'a Json> {
    let is = |pair: &&Json| pair.get("key").is_some_and(|k| k.as_i64() == key.parse().ok());
    match map {
        Json::Array(pairs) => pairs.iter().find(is)?.get("value"),
        other => other.get(key),
    }
}

/// One value (specification, *Binary single-value serialization*) of the types whose bounds are of use; floats
/// are none of them, as their bounds leave NaN out. ColumnStatistics stay as they were written where the column's type was
/// widened later: which type it was then shows in their length (specification, *Schema Evolution*).
fn single(stored: &Json, data_type: &DataType) -> Option<ArrayRef> {
    let bytes: Vec<u8> =
        stored.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect::<Option<_>>()?;
    // An `int` that has become a `long` has four bytes.
    let number = || match bytes.len() {
        4 => le::<i32>(&bytes, 0).map(i64::from),
        8 => le(&bytes, 0),
        _ => None,
    };
    let plain: ArrayRef = match data_type {
        DataType::Utf8 => return Some(Arc::new(StringArray::from(vec![String::from_utf8(bytes).ok()?]))),
        // A `date` that has become a time: days. Only times without a zone are made of dates.
        DataType::Timestamp(_, None) if bytes.len() == 4 => {
            Arc::new(Date32Array::from(vec![le::<i32>(&bytes, 0)?]))
        }
        DataType::Timestamp(..) if bytes.len() != 8 => return None,
        DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Timestamp(..) => {
            Arc::new(Int64Array::from(vec![number()?]))
        }
        _ => return None,
    };
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let narrow = match data_type {
        DataType::Date32 => cast_with_options(&plain, &DataType::Int32, &options).ok()?,
        _ => plain,
    };
    cast_with_options(&narrow, data_type, &options).ok()
}

/// A field's value by an identity partition.
fn partitioned<'a>(field: &FieldRef, spec: &[Json], file: &'a File) -> Option<&'a Json> {
    let id: i64 = field.metadata().get(FIELD_ID)?.parse().ok()?;
    let of = |one: &&Json| {
        one.get("source-id").and_then(Json::as_i64) == Some(id)
            && one.get("transform").and_then(Json::as_str) == Some("identity")
    };
    let (spec, partition) = (spec.iter().find(of)?, &file.partition);
    let stored = spec.get("field-id").and_then(|id| file.partition_names.get(&id.as_i64()?));
    if let Some(value) = stored.and_then(|name| partition.get(name)) {
        return Some(value);
    }
    // Specs of version 1 and some manifests have no ids.
    let name = spec.get("name")?.as_str()?;
    partition.get(name).or_else(|| partition.get(avro_name(name)))
}

/// A name as it is written where Avro allows letters, digits and low lines only: Iceberg's writers put the number
/// of any other character there. Letters are those of every script.
pub(super) fn avro_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (n, letter) in name.chars().enumerate() {
        match letter {
            '_' => out.push(letter),
            letter if letter.is_alphabetic() || (n > 0 && letter.is_numeric()) => out.push(letter),
            letter if letter.is_numeric() => out.extend(['_', letter]),
            letter => out.push_str(&format!("_x{:X}", letter as u32)),
        }
    }
    out
}

/// A field's default for rows that were written before it was added.
fn default<'a>(field: &FieldRef, columns: &'a Json) -> Option<&'a Json> {
    let id: i64 = field.metadata().get(FIELD_ID)?.parse().ok()?;
    let fields = columns.get("fields")?.as_array()?;
    let one = fields.iter().find(|one| one.get("id").and_then(Json::as_i64) == Some(id))?;
    one.get("initial-default")
}

/// An array of one value of `data_type`: bytes stand as a list of numbers, all others as they are written.
fn typed(value: &Json, data_type: &DataType) -> Result<ArrayRef> {
    let wrong = || Error::malformed(format!("Iceberg manifest: the value {value} is no {data_type}"));
    match value {
        Json::Array(list) => {
            let byte = |one: &Json| u8::try_from(one.as_u64()?).ok();
            let bytes: Vec<u8> = list.iter().map(byte).collect::<Option<_>>().ok_or_else(wrong)?;
            of_bytes(&bytes, data_type)?.ok_or_else(wrong)
        }
        Json::String(text) => constant(Some(text), data_type),
        Json::Number(_) | Json::Bool(_) => constant(Some(&value.to_string()), data_type),
        _ => Err(wrong()),
    }
}

/// An array of one value that is written as bytes; `None` where they are no such value.
fn of_bytes(bytes: &[u8], data_type: &DataType) -> Result<Option<ArrayRef>> {
    Ok(match data_type {
        DataType::FixedSizeBinary(size) if usize::try_from(*size) != Ok(bytes.len()) => None,
        DataType::Binary | DataType::FixedSizeBinary(_) => {
            let binary: ArrayRef = Arc::new(BinaryArray::from(vec![bytes]));
            Some(arrow::compute::cast(&binary, data_type)?)
        }
        DataType::Utf8 => {
            let text = std::str::from_utf8(bytes).ok();
            text.map(|text| Arc::new(StringArray::from(vec![text])) as ArrayRef)
        }
        // The unscaled value, with its sign, the highest byte first.
        DataType::Decimal128(precision, scale) if (1..=16).contains(&bytes.len()) => {
            let sign = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
            let value = bytes.iter().fold(sign, |value: i128, byte| value << 8 | i128::from(*byte));
            let array = Decimal128Array::from(vec![value]).with_precision_and_scale(*precision, *scale)?;
            Some(Arc::new(array))
        }
        _ => None,
    })
}

/// The node `files`: data and delete files of a snapshot, with what the manifests say of their values.
pub(super) fn node(task: &Task, metadata: &Metadata, snapshot: Option<&Snapshot>) -> Result<Node> {
    let files = snapshot.map_or(Ok(Vec::new()), |snapshot| manifest::files(task, metadata, snapshot))?;
    let columns = snapshot.map_or_else(|| metadata.current_schema(), |snapshot| metadata.schema_of(snapshot));
    // The files are there without the names of columns too.
    let schema = schema::schema(columns).unwrap_or_else(|_| Arc::new(Schema::empty()));
    let state = |file: &File| {
        let found = metadata.places.relative(&file.path).and_then(|path| metadata.places.size(&path));
        if found.is_ok() { "in the table" } else { "missing" }
    };
    let states: Vec<&str> =
        files.iter().map(|file| task.check().map(|()| state(file))).collect::<Result<_>>()?;
    let missing = states.iter().filter(|state| **state == "missing").count();
    let path = |file: &File| metadata.places.relative(&file.path).unwrap_or_else(|_| file.path.clone());
    let texts = |of: &dyn Fn(&File) -> Option<String>| -> ArrayRef {
        Arc::new(files.iter().map(of).collect::<StringArray>())
    };
    let numbers = |of: &dyn Fn(&File) -> Option<i64>| -> ArrayRef {
        Arc::new(files.iter().map(of).collect::<Int64Array>())
    };
    let holds = |file: &File| match file.holds {
        Holds::Data => "data",
        Holds::PositionDeletes if file.format == "PUFFIN" => "deletion vector",
        Holds::PositionDeletes => "position deletes",
        Holds::EqualityDeletes => "equality deletes",
    };
    let content = text_table(vec![
        ("path", texts(&|file| Some(path(file)))),
        ("state", Arc::new(StringArray::from(states))),
        ("holds", texts(&|file| Some(holds(file).to_owned()))),
        ("format", texts(&|file| Some(file.format.clone()))),
        ("bytes", numbers(&|file| i64::try_from(file.bytes).ok())),
        ("rows", numbers(&|file| i64::try_from(file.rows).ok())),
        ("sequence number", numbers(&|file| Some(file.sequence))),
        ("partition", texts(&|file| manifest::words(&file.partition))),
        ("min", texts(&|file| by_name(&file.lower, &schema, shown))),
        ("max", texts(&|file| by_name(&file.upper, &schema, shown))),
        ("nulls", texts(&|file| by_name(&file.nulls, &schema, |count, _| Some(count.clone())))),
    ])?;
    let mut node = Node::new("files", "files").content(content);
    if missing > 0 {
        node.problem = Some(Error::io(format!("{missing} files of the table are missing")));
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::TimeUnit;

    #[test]
    fn partitions_of_any_type_are_values() {
        let shown = |value: Json, of: &DataType| {
            let array = typed(&value, of).ok()?;
            assert_eq!(array.data_type(), of);
            crate::data::cell::text(array.as_ref(), 0)
        };
        let bytes = |bytes: &[u8]| Json::from(bytes.to_vec());
        assert_eq!(shown(bytes(b"\0\xff"), &DataType::Binary).as_deref(), Some("0x00ff"));
        assert_eq!(shown(bytes(b""), &DataType::Binary).as_deref(), Some("0x"));
        assert_eq!(shown(bytes(b"abc"), &DataType::FixedSizeBinary(3)).as_deref(), Some("0x616263"));
        assert_eq!(shown(bytes(b"ab"), &DataType::FixedSizeBinary(3)), None);
        let uuid = "f79c3e09-677c-4bbd-a479-3f349cb785e7";
        assert!(shown(Json::from(uuid), &DataType::FixedSizeBinary(16)).is_some());
        assert_eq!(shown(bytes(b"\xff\x38"), &DataType::Decimal128(9, 2)).as_deref(), Some("-2.00"));
        assert_eq!(shown(Json::from("3.50"), &DataType::Decimal128(9, 2)).as_deref(), Some("3.50"));
        assert_eq!(shown(bytes(b"a"), &DataType::Utf8).as_deref(), Some("a"));
        assert_eq!(shown(Json::from(7), &DataType::Int32).as_deref(), Some("7"));
        assert_eq!(shown(serde_json::json!([300]), &DataType::Binary), None);
        assert_eq!(shown(serde_json::json!({}), &DataType::Int32), None);
    }

    #[test]
    fn partition_fields_are_found_by_id_and_by_every_spelling_of_their_name() {
        assert_eq!(avro_name("1 a-b_c9"), "_1_x20a_x2Db_c9");
        assert_eq!(avro_name("größe-kg"), "größe_x2Dkg");
        assert_eq!(avro_name("重さ 2"), "重さ_x202");
        let field = Arc::new(
            arrow::datatypes::Field::new("w", DataType::Int32, true)
                .with_metadata([(FIELD_ID.to_owned(), "4".to_owned())].into()),
        );
        let spec = [serde_json::json!(
            { "source-id": 4, "field-id": 1000, "transform": "identity", "name": "größe-kg" }
        )];
        let value = |stored: &str, names: &[(i64, &str)]| {
            let file = File {
                partition: serde_json::json!({ stored: 7 }),
                partition_names: Arc::new(names.iter().map(|(id, name)| (*id, (*name).to_owned())).collect()),
                ..File::sample()
            };
            partitioned(&field, &spec, &file).cloned()
        };
        assert_eq!(value("größe_x2Dkg", &[]), Some(7.into()));
        assert_eq!(value("größe-kg", &[]), Some(7.into()));
        // Whatever a writer makes of the name, the id says which field it is.
        assert_eq!(value("gr__e_kg", &[(1000, "gr__e_kg")]), Some(7.into()));
        assert_eq!(value("gr__e_kg", &[(1001, "gr__e_kg")]), None);
    }

    #[test]
    fn bounds_from_before_a_column_was_widened_are_read_as_what_they_were() {
        let text = |bytes: &[u8], of: &DataType| {
            let array = single(&Json::from(bytes.to_vec()), of)?;
            crate::data::cell::text(array.as_ref(), 0)
        };
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let nanos = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let day = 19_753i32.to_le_bytes();
        assert_eq!(text(&day, &micros).as_deref(), Some("2024-01-31T00:00:00"));
        assert_eq!(text(&(19_753 * 86_400_000_000i64).to_le_bytes(), &micros), text(&day, &micros));
        let expected = constant(Some("2024-01-31"), &nanos).unwrap();
        assert_eq!(text(&day, &nanos), crate::data::cell::text(expected.as_ref(), 0));
        // Beyond what nanoseconds reach, and no promotion that there is.
        assert_eq!(text(&i32::MAX.to_le_bytes(), &nanos), None);
        assert_eq!(text(&day, &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))), None);
        assert_eq!(text(&day, &DataType::Date32).as_deref(), Some("2024-01-31"));
        assert_eq!(text(&(-7i32).to_le_bytes(), &DataType::Int64).as_deref(), Some("-7"));
        let float = Json::from(1.5f32.to_le_bytes().to_vec());
        assert_eq!(shown(&float, &DataType::Float64), Some(Json::from(1.5)));
    }
}
