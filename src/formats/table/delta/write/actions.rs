//! Actions of a commit: its own information, and the files that it adds with their statistics (PROTOCOL.md, *Add File
//! and Remove File*, *Per-file Statistics*, *Partition Value Serialization*).

use crate::bytes::error::{Error, Result};
use crate::data::cell;
use crate::engines::multifile::lake::write::{Column, Layout, Leaf, Written, escaped};
use arrow::array::{Array, ArrayRef, AsArray, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Date32Type, Float32Type, Float64Type, TimestampMicrosecondType};
use serde_json::{Map, Number, Value as Json, json};

/// How many columns have statistics, as Delta's other writers have it.
const COLUMNS: usize = 32;
/// How many letters of texts stand in statistics.
const LETTERS: usize = 32;
/// Days and microseconds of the years 0 to 9999, which have a text that all readers know.
const DAYS: std::ops::RangeInclusive<i32> = -719_528..=2_932_896;

/// A commit: actions, a line each.
pub(super) struct Commit(Vec<u8>);

impl Commit {
    /// One that begins with its own information.
    pub(super) fn new(time: i64, mode: &str, partitions: &[&String], written: &[Written]) -> Commit {
        let sum = |of: fn(&Written) -> u64| written.iter().map(of).sum::<u64>().to_string();
        let mut commit = Commit(Vec::new());
        let info = json!({
            "timestamp": time, "operation": "WRITE",
            "operationParameters": { "mode": mode, "partitionBy": json!(partitions).to_string() },
            "operationMetrics": {
                "numFiles": written.len().to_string(), "numOutputRows": sum(|file| file.rows),
                "numOutputBytes": sum(|file| file.bytes),
            },
            "isBlindAppend": true, "engineInfo": format!("Gander/{}", env!("CARGO_PKG_VERSION")),
        });
        commit.action("commitInfo", info);
        commit
    }

    /// One more action.
    pub(super) fn action(&mut self, kind: &str, body: Json) {
        let action: Map<String, Json> = [(kind.to_owned(), body)].into_iter().collect();
        self.0.extend(Json::Object(action).to_string().into_bytes());
        self.0.push(b'\n');
    }

    /// The files.
    pub(super) fn adds(&mut self, layout: &Layout, written: &[Written], time: i64) -> Result<()> {
        for file in written {
            let mut partition = Map::new();
            for (place, value) in layout.partition.iter().zip(&file.partition) {
                let Some(column) = layout.columns.get(*place) else { continue };
                let text = partition_text(column, value)?.map_or(Json::Null, Json::String);
                partition.insert(column.field.name().clone(), text);
            }
            let add = json!({
                "path": escaped(&file.path, "/="), "partitionValues": partition, "size": file.bytes,
                "modificationTime": time, "dataChange": true, "stats": stats(file).to_string(),
            });
            self.action("add", add);
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Whether there can be partitions by a column.
///
/// # Errors
/// `Unsupported` where not.
pub(super) fn partition_type(column: &Column) -> Result<()> {
    let data_type = column.field.data_type();
    match data_type.is_nested() || data_type.is_binary() {
        true => Err(Error::unsupported(format!(
            "no partitions by the column {:?}: it is {data_type}",
            column.name
        ))),
        false => Ok(()),
    }
}

/// The text of a partition's value.
fn partition_text(column: &Column, value: &ArrayRef) -> Result<Option<String>> {
    let text = cell::text(value.as_ref(), 0);
    Ok(match value.data_type() {
        DataType::Timestamp(_, Some(_)) => text.map(|text| text.replace("+00:00", "Z")),
        DataType::Timestamp(_, None) => text.map(|text| text.replace('T', " ")),
        DataType::Utf8 if text.as_deref() == Some("") => {
            let what = "an empty text as a partition's value, which a Delta table has as null";
            return Err(Error::unsupported(format!("column {:?}: {what}", column.name)));
        }
        _ => text,
    })
}

/// What is known of a file's values.
fn stats(file: &Written) -> Json {
    let [mut low, mut high, mut nulls] = [Map::new(), Map::new(), Map::new()];
    for leaf in file.leaves.iter().take(COLUMNS) {
        put(&mut nulls, &leaf.path, json!(leaf.nulls));
        if let Some((min, max)) = ends(leaf) {
            put(&mut low, &leaf.path, min);
            put(&mut high, &leaf.path, max);
        }
    }
    json!({ "numRecords": file.rows, "minValues": low, "maxValues": high, "nullCount": nulls })
}

/// Puts a value below the objects of its path.
fn put(object: &mut Map<String, Json>, path: &[String], value: Json) {
    match path {
        [] => {}
        [name] => drop(object.insert(name.clone(), value)),
        [name, rest @ ..] => {
            let inner = object.entry(name.clone()).or_insert_with(|| json!({}));
            if let Json::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// The smallest and the largest value as they stand in the log, for the types that readers look for.
fn ends(leaf: &Leaf) -> Option<(Json, Json)> {
    let (low, high) = leaf.ends.as_ref()?;
    let number = |array: &ArrayRef| {
        let text = cell::text(array.as_ref(), 0)?;
        Some(Json::Number(serde_json::from_str::<Number>(&text).ok()?))
    };
    match &leaf.data_type {
        // Readers that sort NaN behind all numbers would look past it.
        DataType::Float32 | DataType::Float64 if leaf.nans > 0 => None,
        DataType::Float32 | DataType::Float64 => {
            let value = |array: &ArrayRef| match array.as_primitive_opt::<Float32Type>() {
                Some(narrow) => f64::from(narrow.value(0)),
                None => array.as_primitive::<Float64Type>().value(0),
            };
            // Zeros have two signs.
            let (low, high) = (value(low), value(high));
            let low = if low == 0.0 { -0.0 } else { low };
            let high = if high == 0.0 { 0.0 } else { high };
            Some((Json::Number(Number::from_f64(low)?), Json::Number(Number::from_f64(high)?)))
        }
        data_type if data_type.is_integer() || data_type.is_decimal() => Some((number(low)?, number(high)?)),
        DataType::Date32 => {
            let in_range = |array: &ArrayRef| DAYS.contains(&array.as_primitive::<Date32Type>().value(0));
            let text = |array: &ArrayRef| cell::text(array.as_ref(), 0).map(Json::String);
            (in_range(low) && in_range(high)).then(|| Some((text(low)?, text(high)?)))?
        }
        DataType::Timestamp(_, zone) => {
            let micros = |array: &ArrayRef| array.as_primitive::<TimestampMicrosecondType>().value(0);
            // They have milliseconds there: what is between two of them.
            let (low, high) =
                (micros(low).div_euclid(1_000), micros(high).checked_add(999)?.div_euclid(1_000));
            let text = |millis: i64| {
                let day = i32::try_from(millis.div_euclid(86_400_000)).ok()?;
                let array = TimestampMillisecondArray::from(vec![millis]);
                let text = cell::text(&array, 0).filter(|_| DAYS.contains(&day))?;
                Some(Json::String(if zone.is_some() { format!("{text}Z") } else { text }))
            };
            Some((text(low)?, text(high)?))
        }
        DataType::Utf8 => {
            let text = |array: &ArrayRef| array.as_string_opt::<i32>().map(|texts| texts.value(0).to_owned());
            let (low, high) = (text(low)?, text(high)?);
            let cut = |text: &str| text.chars().take(LETTERS).collect::<String>();
            let mut largest = cut(&high);
            if largest.len() < high.len() {
                // Nothing that begins with these letters is behind it.
                largest.push(char::MAX);
            }
            Some((Json::String(cut(&low)), Json::String(largest)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Float32Array, RecordBatch, StringArray, TimestampMicrosecondArray};
    use std::sync::Arc;

    fn of(array: ArrayRef) -> Option<(String, String)> {
        let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
        let mut leaf = Leaf::all(batch.schema().fields()).remove(0);
        leaf.add(&batch).unwrap();
        ends(&leaf).map(|(low, high)| (low.to_string(), high.to_string()))
    }

    #[test]
    fn ends_hold_all_that_lies_between_them() {
        let floats = |list: Vec<f32>| of(Arc::new(Float32Array::from(list)));
        assert_eq!(floats(vec![0.0, 1.5]), Some(("-0.0".to_owned(), "1.5".to_owned())));
        assert_eq!(floats(vec![f32::NAN, 1.5]), None);
        assert_eq!(floats(vec![f32::INFINITY, 1.5]), None);
        let long = "ü".repeat(40);
        let texts = of(Arc::new(StringArray::from(vec![long.as_str(), "a"]))).unwrap();
        assert_eq!(texts, ("\"a\"".to_owned(), format!("\"{}\u{10ffff}\"", "ü".repeat(32))));
        let times = of(Arc::new(TimestampMicrosecondArray::from(vec![-1, 1]).with_timezone("UTC"))).unwrap();
        assert_eq!(times.0, "\"1969-12-31T23:59:59.999Z\"");
        assert_eq!(times.1, "\"1970-01-01T00:00:00.001Z\"");
        assert_eq!(of(Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX]))), None);
    }
}
