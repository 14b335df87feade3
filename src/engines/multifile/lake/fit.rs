//! Columns of a file as the table's schema wants them: found by id or by name, and in nested types the same
//! again at each level.

use crate::bytes::error::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use arrow::compute::CastOptions;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use std::sync::Arc;

/// The metadata key of a field's id, in files and in schemas.
pub const FIELD_ID: &str = "PARQUET:field_id";
/// The metadata key of a field's name in the files, where it has another one in the table.
pub const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";

/// How a column of the table is found in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By its physical name, or its name.
    Name,
    /// By its field id; by name in files without ids.
    Id,
}

impl By {
    /// The place of `wanted` among a file's fields.
    pub(super) fn find(self, fields: &Fields, wanted: &Field) -> Option<usize> {
        let name = wanted.metadata().get(PHYSICAL_NAME).unwrap_or(wanted.name());
        let named = || fields.iter().position(|field| field.name() == name);
        if self == By::Name {
            return named();
        }
        let Some(id) = wanted.metadata().get(FIELD_ID) else { return named() };
        let with = |field: &FieldRef| field.metadata().get(FIELD_ID) == Some(id);
        match fields.iter().any(|field| field.metadata().contains_key(FIELD_ID)) {
            true => fields.iter().position(with),
            false => named(),
        }
    }
}

/// An array of a file's field `from` as the table's field `to`.
///
/// # Errors
/// `Malformed` where the values are not of a type that can become the table's.
pub(super) fn fit(array: &ArrayRef, from: &Field, to: &Field, by: By) -> Result<ArrayRef> {
    if from.data_type() == to.data_type() {
        return Ok(array.clone());
    }
    match (from.data_type(), to.data_type()) {
        (DataType::Struct(theirs), DataType::Struct(ours)) => {
            let array = array.as_struct();
            let children = struct_children(array, theirs, ours, by)?;
            let nulls = array.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(ours.clone(), children, nulls, array.len())?))
        }
        (DataType::List(theirs), DataType::List(ours)) => {
            let list = array.as_list::<i32>();
            let values = fit(list.values(), theirs, ours, by)?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(ours.clone(), offsets, values, nulls)?))
        }
        (DataType::Map(theirs, sorted), DataType::Map(ours, _)) => {
            let map = array.as_map();
            let (DataType::Struct(from), DataType::Struct(to)) = (theirs.data_type(), ours.data_type())
            else {
                return Err(Error::malformed("a map whose entries are no struct"));
            };
            // Keys and values by their place: their names differ between writers.
            let pairs = map.entries().columns().iter().zip(from.iter().zip(to));
            let columns =
                pairs.map(|(column, (from, to))| fit(column, from, to, by)).collect::<Result<_>>()?;
            let entries = StructArray::try_new(to.clone(), columns, None)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(ours.clone(), offsets, entries, nulls, *sorted)?))
        }
        (theirs, ours) => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            arrow::compute::cast_with_options(array, ours, &options).map_err(|e| {
                Error::malformed(format!("column {:?}: {theirs} does not become {ours}: {e}", to.name()))
            })
        }
    }
}

fn struct_children(array: &StructArray, theirs: &Fields, ours: &Fields, by: By) -> Result<Vec<ArrayRef>> {
    let child = |to: &FieldRef| match by.find(theirs, to) {
        Some(place) => match (array.columns().get(place), theirs.get(place)) {
            (Some(column), Some(from)) => fit(column, from, to, by),
            _ => Err(Error::bug("a struct without its field")),
        },
        None => Ok(new_null_array(to.data_type(), array.len())),
    };
    ours.iter().map(child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int32Array, Int64Array, StringArray};
    use arrow::datatypes::Int64Type;

    fn field(name: &str, data_type: DataType, id: &str) -> Field {
        Field::new(name, data_type, true).with_metadata([(FIELD_ID.to_owned(), id.to_owned())].into())
    }

    #[test]
    fn nested_fields_are_found_by_id_and_widened() {
        let theirs =
            Fields::from(vec![field("old", DataType::Int32, "7"), field("gone", DataType::Utf8, "8")]);
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let array: ArrayRef = Arc::new(StructArray::new(theirs.clone(), vec![numbers, texts], None));
        let ours =
            Fields::from(vec![field("added", DataType::Utf8, "9"), field("new", DataType::Int64, "7")]);
        let from = field("s", DataType::Struct(theirs), "1");
        let to = field("s", DataType::Struct(ours), "1");
        let got = fit(&array, &from, &to, By::Id).unwrap();
        let got = got.as_struct();
        assert_eq!(got.column(0).null_count(), 2);
        assert_eq!(got.column(1).as_primitive::<Int64Type>(), &Int64Array::from(vec![1, 2]));
    }

    #[test]
    fn files_without_ids_are_read_by_name() {
        let plain = Fields::from(vec![
            Field::new("b", DataType::Int32, true),
            Field::new("a", DataType::Int32, true),
        ]);
        assert_eq!(By::Id.find(&plain, &field("a", DataType::Int32, "3")), Some(1));
        assert_eq!(By::Name.find(&plain, &field("c", DataType::Int32, "3")), None);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["one"]));
        let (from, to) = (Field::new("x", DataType::Utf8, true), Field::new("x", DataType::Int32, true));
        assert!(fit(&texts, &from, &to, By::Name).is_err());
    }
}
