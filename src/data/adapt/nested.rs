//! Lists and objects of JSON as Arrow's lists and structs, where a whole column fits one type.

use crate::data::infer::cells::{boolean, float, integer};
use crate::data::json;
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, FieldRef};
use std::sync::Arc;

/// How deep types nest.
const DEPTH: usize = 16;

/// Whether [`array()`] makes values of a type: lists and structs, not too deep, of what JSON has.
pub(super) fn is_built(found: &DataType) -> bool {
    fn is_built(found: &DataType, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match found {
            DataType::Boolean | DataType::Int64 | DataType::Float64 | DataType::Utf8 => true,
            DataType::List(item) => is_built(item.data_type(), depth),
            DataType::Struct(fields) => fields.iter().all(|field| is_built(field.data_type(), depth)),
            _ => false,
        }
    }
    found.is_nested() && is_built(found, DEPTH)
}

/// Cells of JSON as values of a type that [`is_built`] knows; the first cell that does not fit is the error.
pub(super) fn array<'a>(text: &'a StringArray, target: &DataType) -> Result<ArrayRef, &'a str> {
    let cells: Vec<Option<&str>> = text.iter().map(|cell| cell.filter(|cell| !cell.is_empty())).collect();
    built(&cells, target).ok_or_else(|| {
        let mismatch = cells.iter().find(|cell| built(std::slice::from_ref(*cell), target).is_none());
        mismatch.copied().flatten().unwrap_or_default()
    })
}

/// Values as they stand in JSON; `None` where one does not fit. Nothing is left out and nothing rounded.
fn built(cells: &[Option<&str>], target: &DataType) -> Option<ArrayRef> {
    let present = || cells.iter().map(|cell| cell.filter(|raw| *raw != "null"));
    /// An outer `None` where a value does not fit.
    fn each<'a, T>(
        values: impl Iterator<Item = Option<&'a str>>,
        one: impl Fn(&'a str) -> Option<T>,
    ) -> Option<Vec<Option<T>>> {
        values.map(|raw| raw.map_or(Some(None), |raw| one(raw).map(Some))).collect()
    }
    Some(match target {
        DataType::Boolean => Arc::new(BooleanArray::from(each(present(), boolean)?)),
        DataType::Int64 => Arc::new(Int64Array::from(each(present(), integer)?)),
        DataType::Float64 => Arc::new(Float64Array::from(each(present(), float)?)),
        DataType::Utf8 => Arc::new(present().map(|raw| raw.and_then(json::cell)).collect::<StringArray>()),
        DataType::List(item) => {
            let lists = each(present(), json::elements)?;
            let lengths = lists.iter().map(|list| list.as_ref().map_or(0, Vec::len));
            let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
            let nulls = NullBuffer::from_iter(lists.iter().map(Option::is_some));
            let items: Vec<Option<&str>> = lists.into_iter().flatten().flatten().map(Some).collect();
            let items = built(&items, item.data_type())?;
            Arc::new(ListArray::try_new(item.clone(), offsets, items, Some(nulls)).ok()?)
        }
        DataType::Struct(fields) => {
            let objects = each(present(), json::object)?;
            let nulls = NullBuffer::from_iter(objects.iter().map(Option::is_some));
            let mut columns: Vec<Vec<Option<&str>>> = vec![vec![None; cells.len()]; fields.len()];
            for (row, (name, raw)) in
                objects.iter().enumerate().flat_map(|(row, o)| o.iter().flatten().map(move |f| (row, f)))
            {
                let place = fields.iter().position(|field| field.name() == name.as_ref())?;
                *columns.get_mut(place)?.get_mut(row)? = Some(*raw);
            }
            let built = |(column, field): (&Vec<_>, &FieldRef)| built(column, field.data_type());
            let arrays = columns.iter().zip(fields).map(built).collect::<Option<Vec<ArrayRef>>>()?;
            Arc::new(StructArray::try_new(fields.clone(), arrays, Some(nulls)).ok()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Field;

    fn list(item: DataType) -> DataType {
        DataType::new_list(item, true)
    }

    fn object(fields: &[(&str, DataType)]) -> DataType {
        let field = |(name, kind): &(&str, DataType)| Field::new(*name, kind.clone(), true);
        DataType::Struct(fields.iter().map(field).collect())
    }

    #[test]
    fn types_of_json_are_built() {
        let deep = |depth: usize| (0..depth).fold(DataType::Int64, |inner, _| list(inner));
        let points = list(object(&[("x", DataType::Float64), ("y", DataType::Utf8)]));
        assert!(
            is_built(&list(DataType::Int64)) && is_built(&object(&[("a", DataType::Boolean), ("b", points)]))
        );
        assert!(!is_built(&DataType::Int64) && !is_built(&list(DataType::Int8)));
        assert!(is_built(&deep(DEPTH - 1)) && !is_built(&deep(DEPTH)));
    }

    #[test]
    fn cells_become_lists_and_structs_or_stay_texts() {
        let of = |kind: &DataType, cells: &[Option<&str>]| {
            let text = StringArray::from(cells.to_vec());
            match array(&text, kind) {
                Ok(found) => (0..found.len())
                    .map(|row| crate::data::cell::text(found.as_ref(), row).unwrap_or("∅".into()))
                    .collect::<Vec<_>>()
                    .join(" "),
                Err(cell) => format!("mismatch {cell}"),
            }
        };
        let lists = [Some("[1, 2]"), None, Some("[]"), Some("null"), Some("[null, -3]")];
        assert_eq!(of(&list(DataType::Int64), &lists).matches('∅').count(), 2);
        assert_eq!(of(&list(DataType::Int64), &[Some("[1]"), Some("[1.5]")]), "mismatch [1.5]");
        assert_eq!(
            of(&list(DataType::Float64), &[Some("[9007199254740993]")]),
            "mismatch [9007199254740993]"
        );
        let objects = [Some("{\"a\": 1, \"b\": \"x\\n\"}"), Some("{\"b\": null}")];
        assert!(
            !of(&object(&[("a", DataType::Int64), ("b", DataType::Utf8)]), &objects).starts_with("mismatch")
        );
        // A field that has no place would be lost.
        assert_eq!(of(&object(&[("a", DataType::Int64)]), &[Some("{\"z\": 1}")]), "mismatch {\"z\": 1}");
        assert_eq!(of(&object(&[("a", DataType::Int64)]), &[Some("7")]), "mismatch 7");
    }
}
