//! Lists and objects of JSON as Arrow's lists and structs, where a whole column fits one type.

use super::typed::{float, integer};
use crate::data::infer::cells::boolean;
use crate::data::json;
use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, FieldRef};
use std::sync::Arc;

/// How deep types nest.
const DEPTH: usize = 16;

/// The type that a reader's word for a nested one means (`struct<a: int64, b: list<item: string>>`); `None` for
/// words that are not of JSON.
pub(super) fn data_type(word: &str) -> Option<DataType> {
    let (found, rest) = parsed(word, DEPTH)?;
    (rest.is_empty() && found.is_nested()).then_some(found)
}

/// The type that a word begins with, and what follows.
fn parsed(word: &str, depth: usize) -> Option<(DataType, &str)> {
    let depth = depth.checked_sub(1)?;
    let plain = [
        ("bool", DataType::Boolean),
        ("int64", DataType::Int64),
        ("double", DataType::Float64),
        ("string", DataType::Utf8),
    ];
    if let Some((rest, found)) =
        plain.iter().find_map(|(name, found)| Some((word.strip_prefix(name)?, found)))
    {
        return Some((found.clone(), rest));
    }
    if let Some(inner) = word.strip_prefix("list<") {
        let (item, rest) = field(inner, depth)?;
        return Some((DataType::List(item), rest.strip_prefix('>')?));
    }
    let mut rest = word.strip_prefix("struct<")?;
    let mut fields: Vec<FieldRef> = Vec::new();
    loop {
        let (next, behind) = field(rest, depth)?;
        fields.push(next);
        match behind.strip_prefix(", ") {
            Some(more) => rest = more,
            None => return Some((DataType::Struct(fields.into()), behind.strip_prefix('>')?)),
        }
    }
}

fn field(word: &str, depth: usize) -> Option<(FieldRef, &str)> {
    let (name, kind) = word.split_once(": ")?;
    let (found, rest) = parsed(kind, depth)?;
    Some((Arc::new(Field::new(name, found, true)), rest))
}

/// Cells of JSON as values of a type that [`data_type`] gave; the first cell that does not fit is the error.
pub(super) fn array<'a>(text: &'a StringArray, target: &DataType) -> Result<ArrayRef, &'a str> {
    let cells: Vec<Option<&str>> = text.iter().map(|cell| cell.filter(|cell| !cell.is_empty())).collect();
    built(&cells, target).ok_or_else(|| {
        let misfit = cells.iter().find(|cell| built(std::slice::from_ref(*cell), target).is_none());
        misfit.copied().flatten().unwrap_or_default()
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

    #[test]
    fn words_of_types_are_read() {
        for word in ["list<item: int64>", "struct<a: bool, b c: list<item: struct<x: double, y: string>>>"] {
            assert_eq!(crate::bytes::display::arrow_type(&data_type(word).unwrap()), word);
        }
        for word in
            ["int64", "list<item: int8>", "struct<>", "struct<a: int64", "list<item: int64>>", "map<x>"]
        {
            assert!(data_type(word).is_none(), "{word}");
        }
        assert!(data_type(&format!("{}int64", "list<item: ".repeat(100_000))).is_none());
    }

    #[test]
    fn cells_become_lists_and_structs_or_stay_texts() {
        let of = |word: &str, cells: &[Option<&str>]| {
            let text = StringArray::from(cells.to_vec());
            match array(&text, &data_type(word).unwrap()) {
                Ok(found) => (0..found.len())
                    .map(|row| crate::data::cell::text(found.as_ref(), row).unwrap_or("∅".into()))
                    .collect::<Vec<_>>()
                    .join(" "),
                Err(cell) => format!("misfit {cell}"),
            }
        };
        let lists = [Some("[1, 2]"), None, Some("[]"), Some("null"), Some("[null, -3]")];
        assert_eq!(of("list<item: int64>", &lists).matches('∅').count(), 2);
        assert_eq!(of("list<item: int64>", &[Some("[1]"), Some("[1.5]")]), "misfit [1.5]");
        assert_eq!(of("list<item: double>", &[Some("[9007199254740993]")]), "misfit [9007199254740993]");
        let objects = [Some("{\"a\": 1, \"b\": \"x\\n\"}"), Some("{\"b\": null}")];
        assert!(!of("struct<a: int64, b: string>", &objects).starts_with("misfit"));
        // A field that has no place would be lost.
        assert_eq!(of("struct<a: int64>", &[Some("{\"z\": 1}")]), "misfit {\"z\": 1}");
        assert_eq!(of("struct<a: int64>", &[Some("7")]), "misfit 7");
    }
}
