//! Partition columns: what the folders of a file say of its rows (`year=2024/month=1/part-0.parquet`, as Hive,
//! Spark and Arrow write them). <https://arrow.apache.org/docs/python/dataset.html#reading-partitioned-data>

use crate::bytes::source::Entry;
use crate::data::sniff::Head;
use crate::engines::multifile::lake::{constant, unescaped};
use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef};
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path};
use std::sync::Arc;

/// What Hive writes for null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The partition columns of one file with their values; `None` is null.
pub type Keys = Vec<(String, Option<String>)>;

/// `key=value` of a folder's name, both without their escapes.
pub fn of_folder(name: &str) -> Option<(String, Option<String>)> {
    let (key, value) = name.split_once('=')?;
    (!key.is_empty()).then(|| (unescaped(key), (value != NULL).then(|| unescaped(value))))
}

/// What the folders of a path say of the file.
pub fn of_path(path: &Path) -> Keys {
    let folders = path.parent().into_iter().flat_map(Path::components);
    let key = |part: Component<'_>| match part {
        Component::Normal(name) => of_folder(&name.to_string_lossy()),
        _ => None,
    };
    folders.filter_map(key).collect()
}

/// The columns that the keys of all files make, in the order in which they come, with the narrowest type that
/// holds all values: `int32`, `int64`, `date32`, `double` (where the numbers are written just so), else text.
pub fn columns<'a>(files: impl Iterator<Item = &'a Keys>) -> Vec<FieldRef> {
    let mut names: Vec<&str> = Vec::new();
    let mut values: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for (key, value) in files.flatten() {
        let known = values.entry(key).or_insert_with(|| {
            names.push(key);
            BTreeSet::new()
        });
        known.extend(value.as_deref());
    }
    let field = |name: &str| {
        let data_type = values.get(name).map_or(DataType::Utf8, type_of);
        Arc::new(Field::new(name, data_type, true))
    };
    names.into_iter().map(field).collect()
}

fn type_of(values: &BTreeSet<&str>) -> DataType {
    let all = |is: fn(&str) -> bool| !values.is_empty() && values.iter().all(|value| is(value));
    // Words like true and false stay text, as other readers have them.
    let kinds: [(fn(&str) -> bool, DataType); 4] = [
        (|text| text.parse::<i32>().is_ok(), DataType::Int32),
        (|text| text.parse::<i64>().is_ok(), DataType::Int64),
        (is_date, DataType::Date32),
        (is_number, DataType::Float64),
    ];
    kinds.into_iter().find(|(is, _)| all(*is)).map_or(DataType::Utf8, |(_, data_type)| data_type)
}

/// `2024-01-31`, a day that there is.
fn is_date(text: &str) -> bool {
    let shaped = text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(n, b)| if n == 4 || n == 7 { b == b'-' } else { b.is_ascii_digit() });
    shaped && constant(Some(text), &DataType::Date32).is_ok()
}

/// A number that is written back as it stands: `1.10` may be a version.
fn is_number(text: &str) -> bool {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.is_some_and(|number| format!("{number}") == text || format!("{number:?}") == text)
}

/// For each of `columns` an array of the one value that a file's keys give it.
pub fn constants(keys: &Keys, columns: &[FieldRef]) -> Vec<ArrayRef> {
    let one = |column: &FieldRef| -> ArrayRef {
        let text = keys.iter().find(|(key, _)| key == column.name()).and_then(|(_, value)| value.as_deref());
        match column.data_type() {
            DataType::Int32 => Arc::new(Int32Array::from(vec![text.and_then(|t| t.parse::<i32>().ok())])),
            DataType::Int64 => Arc::new(Int64Array::from(vec![text.and_then(|t| t.parse::<i64>().ok())])),
            DataType::Float64 => Arc::new(Float64Array::from(vec![text.and_then(|t| t.parse::<f64>().ok())])),
            DataType::Utf8 => Arc::new(StringArray::from(vec![text])),
            other => constant(text, other).unwrap_or_else(|_| new_null_array(other, 1)),
        }
    };
    columns.iter().map(one).collect()
}

/// Folders that belong to table formats with a log of their own.
pub const LOGS: [&str; 3] = ["_delta_log", ".hoodie", "metadata"];

/// Whether a name is left out: hidden, or a file about the dataset.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

/// Whether a folder has nothing but folders whose names say nothing to readers of tables: whether they are
/// the levels of one table shows only inside.
pub fn are_levels(head: &Head) -> bool {
    let is_level =
        |e: &Entry| e.is_folder && !is_hidden(&e.name) && of_folder(&e.name).is_none() && !is_log(e);
    // Hierarchies of arrays may have nothing but folders at the top, and their name.
    let is_named = head.has_extension(&["zarr", "n5"]);
    head.is_folder && !is_named && !head.entries.is_empty() && head.entries.iter().all(is_level)
}

/// Whether an entry is the log or the metadata of a table.
pub fn is_log(entry: &Entry) -> bool {
    LOGS.contains(&entry.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(values: &[&str]) -> (DataType, Vec<Option<String>>) {
        let keys: Vec<Keys> =
            values.iter().map(|value| of_path(Path::new(&format!("/data/k={value}/x.parquet")))).collect();
        let columns = columns(keys.iter());
        let cell = |keys: &Keys| crate::data::cell::text(constants(keys, &columns)[0].as_ref(), 0);
        (columns[0].data_type().clone(), keys.iter().map(cell).collect())
    }

    #[test]
    fn values_have_the_narrowest_type_that_holds_all() {
        let one = |text: &str| Some(text.to_owned());
        assert_eq!(typed(&["2024", "01"]), (DataType::Int32, vec![one("2024"), one("1")]));
        assert_eq!(typed(&["1", "5000000000"]).0, DataType::Int64);
        assert_eq!(
            typed(&["2024-01-31", NULL, "1999-12-01"]),
            (DataType::Date32, vec![one("2024-01-31"), None, one("1999-12-01")])
        );
        assert_eq!(typed(&["2024-01-31", "2024-02-31"]).0, DataType::Utf8);
        assert_eq!(typed(&["0.001", "1e-5", "3"]).0, DataType::Float64);
        assert_eq!(typed(&["1.10", "1.9"]).0, DataType::Utf8, "these may be versions");
        assert_eq!(typed(&["true", "false"]).0, DataType::Utf8);
        assert_eq!(typed(&[NULL]), (DataType::Utf8, vec![None]));
        assert_eq!(typed(&["a%2Fb"]).1, [one("a/b")]);
    }

    #[test]
    fn files_that_lie_in_fewer_partitions_have_nulls() {
        let keys = [of_path(Path::new("a=1/b=x/f")), of_path(Path::new("a=2/f")), of_path(Path::new("c=d"))];
        let columns = columns(keys.iter());
        assert_eq!(columns.iter().map(|c| c.name().as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let cells: Vec<_> =
            constants(&keys[1], &columns).iter().map(|c| crate::data::cell::text(c.as_ref(), 0)).collect();
        assert_eq!(cells, [Some("2".to_owned()), None]);
        assert!(keys[2].is_empty());
    }
}
