//! Manifests and their lists as Avro (specification, *Manifests*, *Manifest Lists*, *Appendix A*, *Appendix D*).

use super::document::Added;
use super::schema::word;
use crate::bytes::error::{Error, Result};
use crate::data::cell;
use crate::engines::avro::{block, bytes, head, long, shortened};
use crate::engines::multifile::lake::write::{Layout, Leaf, Written, ends, id};
use crate::formats::table::iceberg::files::avro_name;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, FieldRef, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use flate2::write::DeflateEncoder;
use serde_json::{Value as Json, json};
use std::io::Write;

/// How many letters or bytes of a bound stand in a manifest, as Iceberg's other writers have it.
const LETTERS: usize = 16;

/// By which columns there are partitions.
pub(super) struct Spec {
    pub(super) id: i64,
    /// The columns, and the numbers of the partition's fields.
    pub(super) fields: Vec<(FieldRef, i64)>,
}

impl Spec {
    /// The spec of a layout, whose fields have numbers from `first` on.
    ///
    /// # Errors
    /// `Unsupported` for columns by which there are no partitions.
    pub(super) fn new(layout: &Layout, id: i64, first: i64) -> Result<Spec> {
        let mut fields = Vec::new();
        for (n, place) in layout.partition.iter().enumerate() {
            let Some(column) = layout.columns.get(*place) else { continue };
            if column.field.data_type().is_nested() {
                let what = format!(
                    "no partitions by the column {:?}: it is {}",
                    column.name,
                    column.field.data_type()
                );
                return Err(Error::unsupported(what));
            }
            fields.push((column.field.clone(), first + n as i64));
        }
        Ok(Spec { id, fields })
    }

    fn list(&self) -> Json {
        let one = |(field, number): &(FieldRef, i64)| {
            json!({
                "name": field.name(), "transform": "identity", "source-id": id(field), "field-id": number,
            })
        };
        self.fields.iter().map(one).collect()
    }

    /// As it stands in the metadata.
    pub(super) fn json(&self) -> Json {
        json!({ "spec-id": self.id, "fields": self.list() })
    }

    /// The largest number of a field.
    pub(super) fn last_id(&self) -> i64 {
        self.fields.iter().map(|(_, number)| *number).max().unwrap_or(999)
    }

    /// The record of a partition's values.
    fn record(&self) -> Result<Json> {
        let one = |(field, number): &(FieldRef, i64)| -> Result<Json> {
            let of = avro_type(field)?;
            Ok(optional(&avro_name(field.name()), *number, of))
        };
        let fields = self.fields.iter().map(one).collect::<Result<Vec<_>>>()?;
        Ok(json!({ "type": "record", "name": "r102", "fields": fields }))
    }
}

/// The type of a partition's value.
fn avro_type(field: &FieldRef) -> Result<Json> {
    let logical = |of: &str, what: &str| json!({ "type": of, "logicalType": what });
    let stamp =
        |utc: bool| json!({ "type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": utc });
    let name = format!("fixed_{}", id(field).unwrap_or_default());
    Ok(match field.data_type() {
        DataType::Utf8 => json!("string"),
        DataType::Binary => json!("bytes"),
        DataType::FixedSizeBinary(size) => json!({ "type": "fixed", "name": name, "size": size }),
        DataType::Date32 => logical("int", "date"),
        DataType::Time64(_) => logical("long", "time-micros"),
        DataType::Timestamp(_, zone) => stamp(zone.is_some()),
        DataType::Decimal128(digits, scale) => json!({
            "type": "fixed", "name": name, "size": decimal_size(*digits), "logicalType": "decimal",
            "precision": digits, "scale": scale,
        }),
        other => json!(word(other)?),
    })
}

/// The fewest bytes that hold a decimal of so many digits.
fn decimal_size(digits: u8) -> usize {
    let largest = 10i128.checked_pow(digits.into()).map_or(i128::MAX, |power| power - 1);
    shortened(&largest.to_be_bytes()).len()
}

fn required(name: &str, number: i64, of: Json) -> Json {
    json!({ "name": name, "type": of, "field-id": number })
}

fn optional(name: &str, number: i64, of: Json) -> Json {
    json!({ "name": name, "type": ["null", of], "default": null, "field-id": number })
}

/// A map from numbers, as a list of pairs.
fn pairs(name: &str, number: i64, key: i64, value: &str) -> Json {
    let pair = json!({ "type": "record", "name": format!("k{key}_v{}", key + 1), "fields": [
        required("key", key, json!("int")), required("value", key + 1, json!(value)),
    ] });
    optional(name, number, json!({ "type": "array", "items": pair, "logicalType": "map" }))
}

fn entry_schema(spec: &Spec) -> Result<Json> {
    let file = json!({ "type": "record", "name": "r2", "fields": [
        required("content", 134, json!("int")),
        required("file_path", 100, json!("string")),
        required("file_format", 101, json!("string")),
        required("partition", 102, spec.record()?),
        required("record_count", 103, json!("long")),
        required("file_size_in_bytes", 104, json!("long")),
        pairs("value_counts", 109, 119, "long"),
        pairs("null_value_counts", 110, 121, "long"),
        pairs("nan_value_counts", 137, 138, "long"),
        pairs("lower_bounds", 125, 126, "bytes"),
        pairs("upper_bounds", 128, 129, "bytes"),
        optional("split_offsets", 132, json!({ "type": "array", "items": "long", "element-id": 133 })),
        optional("sort_order_id", 140, json!("int")),
    ] });
    Ok(json!({ "type": "record", "name": "manifest_entry", "fields": [
        required("status", 0, json!("int")),
        optional("snapshot_id", 1, json!("long")),
        optional("sequence_number", 3, json!("long")),
        optional("file_sequence_number", 4, json!("long")),
        required("data_file", 2, file),
    ] }))
}

/// Records as a container file.
fn container(schema: &Json, metadata: Vec<(&str, String)>, count: usize, records: &[u8]) -> Result<Vec<u8>> {
    let own = [("avro.schema", schema.to_string()), ("avro.codec", "deflate".to_owned())];
    let pairs = own.into_iter().chain(metadata).map(|(name, text)| (name.to_owned(), text));
    let metadata: Vec<(String, String)> = pairs.collect();
    let (mut out, sync) = head(&metadata);
    if count > 0 {
        let mut deflated = DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        deflated.write_all(records)?;
        block(count, &deflated.finish()?, &sync, &mut out);
    }
    Ok(out)
}

/// The second branch of a union with null.
fn some(out: &mut Vec<u8>) {
    long(1, out);
}

/// A manifest of the files that are added; `schema` is the table's.
pub(super) fn manifest(location: &str, schema: &Json, spec: &Spec, added: &Added) -> Result<Vec<u8>> {
    const ADDED: i64 = 1;
    let mut out = Vec::new();
    for file in added.written {
        long(ADDED, &mut out);
        some(&mut out);
        long(added.id, &mut out);
        // Sequence numbers are those of the list, which may be written more than once.
        out.extend([0, 0]);
        data_file(location, file, &mut out);
    }
    let metadata = vec![
        ("schema", schema.to_string()),
        ("schema-id", schema.get("schema-id").map_or("0".to_owned(), Json::to_string)),
        ("partition-spec", spec.list().to_string()),
        ("partition-spec-id", spec.id.to_string()),
        ("format-version", "2".to_owned()),
        ("content", "data".to_owned()),
    ];
    container(&entry_schema(spec)?, metadata, added.written.len(), &out)
}

fn data_file(location: &str, file: &Written, out: &mut Vec<u8>) {
    long(0, out);
    bytes(format!("{location}/{}", file.path).as_bytes(), out);
    bytes(b"PARQUET", out);
    for value in &file.partition {
        match value.is_null(0) {
            true => long(0, out),
            false => {
                some(out);
                partition_value(value, out);
            }
        }
    }
    long(file.rows as i64, out);
    long(file.bytes as i64, out);
    let counted = || file.leaves.iter().filter(|leaf| !leaf.is_nested());
    map(counted().map(|leaf| (leaf.id, leaf.values as i64)), long, out);
    map(counted().map(|leaf| (leaf.id, leaf.nulls as i64)), long, out);
    let floats = || counted().filter(|leaf| leaf.data_type.is_floating());
    map(floats().map(|leaf| (leaf.id, leaf.nans as i64)), long, out);
    for is_upper in [false, true] {
        let bounds = counted().filter_map(|leaf| Some((leaf.id, bound(leaf, is_upper)?)));
        map(bounds, |bound, out| bytes(&bound, out), out);
    }
    some(out);
    if !file.groups.is_empty() {
        long(file.groups.len() as i64, out);
        file.groups.iter().for_each(|offset| long(*offset, out));
    }
    long(0, out);
    some(out);
    long(0, out);
}

/// A map of what has a number, as one block of pairs.
fn map<T>(pairs: impl Iterator<Item = (Option<i32>, T)>, write: impl Fn(T, &mut Vec<u8>), out: &mut Vec<u8>) {
    let pairs: Vec<(i32, T)> = pairs.filter_map(|(id, value)| Some((id?, value))).collect();
    some(out);
    if !pairs.is_empty() {
        long(pairs.len() as i64, out);
        for (id, value) in pairs {
            long(id.into(), out);
            write(value, out);
        }
    }
    long(0, out);
}

/// A partition's value, which is not null, as Avro has it.
fn partition_value(value: &ArrayRef, out: &mut Vec<u8>) {
    let plain = single(value).unwrap_or_default();
    let number = |bytes: &[u8]| {
        let narrow =
            bytes.first_chunk().filter(|_| bytes.len() == 4).map(|four| i64::from(i32::from_le_bytes(*four)));
        narrow.or_else(|| bytes.first_chunk().map(|eight| i64::from_le_bytes(*eight))).unwrap_or_default()
    };
    match value.data_type() {
        DataType::Utf8 | DataType::Binary => bytes(&plain, out),
        DataType::Boolean | DataType::Float32 | DataType::Float64 | DataType::FixedSizeBinary(_) => {
            out.extend(plain)
        }
        DataType::Decimal128(digits, _) => {
            let all = value.as_primitive::<Decimal128Type>().value(0).to_be_bytes();
            out.extend(all.iter().skip(all.len() - decimal_size(*digits)));
        }
        _ => long(number(&plain), out),
    }
}

/// One value (specification, *Binary single-value serialization*); `None` for null.
fn single(value: &ArrayRef) -> Option<Vec<u8>> {
    if value.is_empty() || value.is_null(0) {
        return None;
    }
    macro_rules! of {
        ($t:ty) => {
            value.as_primitive::<$t>().value(0).to_le_bytes().to_vec()
        };
    }
    Some(match value.data_type() {
        DataType::Boolean => vec![u8::from(value.as_boolean().value(0))],
        DataType::Int32 => of!(Int32Type),
        DataType::Date32 => of!(Date32Type),
        DataType::Int64 => of!(Int64Type),
        DataType::Time64(_) => of!(Time64MicrosecondType),
        DataType::Timestamp(_, _) => of!(TimestampMicrosecondType),
        DataType::Float32 => of!(Float32Type),
        DataType::Float64 => of!(Float64Type),
        DataType::Decimal128(_, _) => {
            shortened(&value.as_primitive::<Decimal128Type>().value(0).to_be_bytes()).to_vec()
        }
        DataType::Utf8 => value.as_string::<i32>().value(0).as_bytes().to_vec(),
        DataType::Binary | DataType::FixedSizeBinary(_) => cell::binary(value.as_ref(), 0)?.to_vec(),
        _ => return None,
    })
}

/// The lower or the upper bound of a column.
fn bound(leaf: &Leaf, is_upper: bool) -> Option<Vec<u8>> {
    let (low, high) = leaf.ends.as_ref()?;
    let value = if is_upper { high } else { low };
    match value.data_type() {
        // Zeros have two signs.
        DataType::Float32 if value.as_primitive::<Float32Type>().value(0) == 0.0 => {
            Some((if is_upper { 0.0f32 } else { -0.0 }).to_le_bytes().to_vec())
        }
        DataType::Float64 if value.as_primitive::<Float64Type>().value(0) == 0.0 => {
            Some((if is_upper { 0.0f64 } else { -0.0 }).to_le_bytes().to_vec())
        }
        DataType::Utf8 => {
            let text = value.as_string::<i32>().value(0);
            let mut start: Vec<char> = text.chars().take(LETTERS).collect();
            if is_upper && text.chars().nth(LETTERS).is_some() {
                // The next text after all that begin so.
                while let Some(last) = start.pop() {
                    let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
                    if let Some(next) = next {
                        start.push(next);
                        break;
                    }
                }
                if start.is_empty() {
                    return None;
                }
            }
            Some(start.into_iter().collect::<String>().into_bytes())
        }
        DataType::Binary => {
            let whole = single(value)?;
            let mut start = whole.get(..LETTERS).unwrap_or(&whole).to_vec();
            if is_upper && start.len() < whole.len() {
                while start.last() == Some(&0xff) {
                    start.pop();
                }
                *start.last_mut()? += 1;
            }
            Some(start)
        }
        _ => single(value),
    }
}

fn list_schema() -> Json {
    let summary = json!({ "type": "record", "name": "r508", "fields": [
        required("contains_null", 509, json!("boolean")),
        optional("contains_nan", 518, json!("boolean")),
        optional("lower_bound", 510, json!("bytes")),
        optional("upper_bound", 511, json!("bytes")),
    ] });
    let mut fields = vec![required("manifest_path", 500, json!("string"))];
    fields.extend(NUMBERS.iter().map(|number| required(number.name, number.id, json!(number.of))));
    fields.push(optional("partitions", 507, json!({ "type": "array", "items": summary, "element-id": 508 })));
    fields.push(optional("key_metadata", 519, json!("bytes")));
    json!({ "type": "record", "name": "manifest_file", "fields": fields })
}

/// A number that a list has of a manifest.
struct ListNumber {
    name: &'static str,
    /// What older writers call it.
    old: &'static str,
    id: i64,
    of: &'static str,
}

const fn number(name: &'static str, old: &'static str, id: i64, of: &'static str) -> ListNumber {
    ListNumber { name, old, id, of }
}

const NUMBERS: [ListNumber; 12] = [
    number("manifest_length", "", 501, "long"),
    number("partition_spec_id", "", 502, "int"),
    number("content", "", 517, "int"),
    number("sequence_number", "", 515, "long"),
    number("min_sequence_number", "", 516, "long"),
    number("added_snapshot_id", "", 503, "long"),
    number("added_files_count", "added_data_files_count", 504, "int"),
    number("existing_files_count", "existing_data_files_count", 505, "int"),
    number("deleted_files_count", "deleted_data_files_count", 506, "int"),
    number("added_rows_count", "", 512, "long"),
    number("existing_rows_count", "", 513, "long"),
    number("deleted_rows_count", "", 514, "long"),
];

impl Added<'_> {
    /// The line of a list for the manifest of these files, which is at `path` and has so many bytes.
    pub(super) fn line(&self, path: String, length: usize, spec: &Spec) -> Result<Json> {
        let mut partitions = Vec::new();
        for n in 0..spec.fields.len() {
            let values: Vec<&dyn Array> =
                self.written.iter().filter_map(|file| file.partition.get(n)).map(AsRef::as_ref).collect();
            if values.is_empty() {
                continue;
            }
            let all = concat(&values)?;
            let (found, nans) = ends(&all);
            let bound = |value: Option<&ArrayRef>| value.and_then(single).map_or(Json::Null, Json::from);
            partitions.push(json!({
                "contains_null": all.null_count() > 0,
                "contains_nan": if all.data_type().is_floating() { json!(nans > 0) } else { Json::Null },
                "lower_bound": bound(found.as_ref().map(|(low, _)| low)),
                "upper_bound": bound(found.as_ref().map(|(_, high)| high)),
            }));
        }
        Ok(json!({
            "manifest_path": path, "manifest_length": length, "partition_spec_id": spec.id, "content": 0,
            "sequence_number": self.sequence, "min_sequence_number": self.sequence,
            "added_snapshot_id": self.id, "added_files_count": self.written.len(), "existing_files_count": 0,
            "deleted_files_count": 0, "added_rows_count": self.rows(), "existing_rows_count": 0,
            "deleted_rows_count": 0, "partitions": partitions,
        }))
    }
}

/// The list of the manifests of a snapshot, whose lines are given as readers have them.
pub(super) fn list(added: &Added, parent: Option<&Json>, lines: &[Json]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for line in lines {
        let path = line.get("manifest_path").and_then(Json::as_str);
        let path = path.ok_or_else(|| Error::malformed("Iceberg manifest list: a manifest has no path"))?;
        bytes(path.as_bytes(), &mut out);
        for number in &NUMBERS {
            let value =
                line.get(number.name).filter(|value| !value.is_null()).or_else(|| line.get(number.old));
            long(value.and_then(Json::as_i64).unwrap_or(0), &mut out);
        }
        summaries(line.get("partitions"), &mut out);
        optional_bytes(line.get("key_metadata"), &mut out);
    }
    let metadata = vec![
        ("snapshot-id", added.id.to_string()),
        ("parent-snapshot-id", parent.map_or("null".to_owned(), Json::to_string)),
        ("sequence-number", added.sequence.to_string()),
        ("format-version", "2".to_owned()),
    ];
    container(&list_schema(), metadata, lines.len(), &out)
}

fn summaries(list: Option<&Json>, out: &mut Vec<u8>) {
    let Some(list) = list.and_then(Json::as_array) else { return long(0, out) };
    some(out);
    if !list.is_empty() {
        long(list.len() as i64, out);
    }
    for one in list {
        let flag = |name: &str| one.get(name).and_then(Json::as_bool);
        out.push(u8::from(flag("contains_null").unwrap_or(true)));
        match flag("contains_nan") {
            None => long(0, out),
            Some(is) => {
                some(out);
                out.push(u8::from(is));
            }
        }
        optional_bytes(one.get("lower_bound"), out);
        optional_bytes(one.get("upper_bound"), out);
    }
    long(0, out);
}

/// Bytes that are given as a list of numbers.
fn optional_bytes(list: Option<&Json>, out: &mut Vec<u8>) {
    let Some(list) = list.and_then(Json::as_array) else { return long(0, out) };
    let byte = |one: &Json| u8::try_from(one.as_u64()?).ok();
    some(out);
    bytes(&list.iter().filter_map(byte).collect::<Vec<u8>>(), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BinaryArray, RecordBatch, StringArray};
    use std::sync::Arc;

    fn bounds(array: ArrayRef) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
        let mut leaf = Leaf::all(batch.schema().fields()).remove(0);
        leaf.add(&batch).unwrap();
        (bound(&leaf, false), bound(&leaf, true))
    }

    #[test]
    fn bounds_that_are_cut_off_hold_what_they_are_of() {
        let (low, high) = bounds(Arc::new(StringArray::from(vec!["a".repeat(20), "b".repeat(20)])));
        assert_eq!(low.unwrap(), b"a".repeat(16));
        assert_eq!(high.unwrap(), [b"b".repeat(15), b"c".to_vec()].concat());
        let last = char::MAX.to_string().repeat(20);
        assert_eq!(bounds(Arc::new(StringArray::from(vec![last.as_str()]))).1, None);
        let (low, high) =
            bounds(Arc::new(BinaryArray::from(vec![[vec![1], vec![0xff; 30]].concat().as_slice()])));
        assert_eq!((low.unwrap().len(), high), (16, Some(vec![2])));
        assert_eq!(bounds(Arc::new(BinaryArray::from(vec![[0xff; 17].as_slice()]))).1, None);
    }

    #[test]
    fn decimals_take_the_bytes_that_they_need() {
        assert_eq!([1, 2, 3, 9, 18, 38].map(decimal_size), [1, 1, 2, 4, 8, 16]);
    }
}
