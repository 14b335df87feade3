//! Arrow cells as JSON: numbers as numbers, exactly; lists as lists, structs as objects, maps as lists of
//! pairs; times, binary and what JSON has no word for as the texts of [`crate::data::cell`].

use crate::data::cell;
use crate::data::format::{Loss, LossKind, note};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{self as types, DataType};
use std::io::Write;

/// What stands for NaN and the infinities, which JSON's numbers lack.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum NotFinite {
    /// `"nan"`, `"inf"`, `"-inf"`.
    Text,
    /// `null`.
    Null,
    /// `NaN`, `Infinity`, `-Infinity`, as Python writes and reads them.
    Python,
}

/// A column without dictionaries and runs at its top, which are slow to look into row by row.
pub(crate) fn plain(array: &ArrayRef) -> ArrayRef {
    let values = match array.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        DataType::RunEndEncoded(_, values) => values.data_type(),
        _ => return array.clone(),
    };
    cast(array, values).unwrap_or_else(|_| array.clone())
}

/// Appends a JSON string.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) {
    // Without a way out, so that many bytes are looked at at once.
    let odd = |odd: bool, b: &u8| odd | (*b < 32) | (*b == b'"') | (*b == b'\\');
    out.push(b'"');
    if !text.as_bytes().iter().fold(false, odd) {
        out.extend_from_slice(text.as_bytes());
    } else {
        for c in text.chars() {
            match c {
                '"' => out.extend(b"\\\""),
                '\\' => out.extend(b"\\\\"),
                '\n' => out.extend(b"\\n"),
                '\r' => out.extend(b"\\r"),
                '\t' => out.extend(b"\\t"),
                c if (c as u32) < 32 => show(out, format_args!("\\u{:04x}", c as u32)),
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
    out.push(b'"');
}

/// Appends formatted text; writing to memory cannot fail.
fn show(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// Appends the number of a cell of a type of numbers, in full and in its shortest exact form; `false` for
/// other types. Floats that are not finite are appended as their words.
pub(crate) fn number(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> bool {
    macro_rules! shown {
        ($ty:ty) => {
            show(out, format_args!("{}", array.as_primitive::<$ty>().value(row)))
        };
    }
    macro_rules! decimal {
        ($ty:ty) => {
            out.extend_from_slice(array.as_primitive::<$ty>().value_as_string(row).as_bytes())
        };
    }
    match array.data_type() {
        DataType::Int8 => shown!(types::Int8Type),
        DataType::Int16 => shown!(types::Int16Type),
        DataType::Int32 => shown!(types::Int32Type),
        DataType::Int64 => shown!(types::Int64Type),
        DataType::UInt8 => shown!(types::UInt8Type),
        DataType::UInt16 => shown!(types::UInt16Type),
        DataType::UInt32 => shown!(types::UInt32Type),
        DataType::UInt64 => shown!(types::UInt64Type),
        DataType::Float16 => {
            let value = array.as_primitive::<types::Float16Type>().value(row);
            out.extend_from_slice(cell::float16(value).as_bytes());
        }
        DataType::Float32 => {
            cell::append_float32(array.as_primitive::<types::Float32Type>().value(row), out);
        }
        DataType::Float64 => {
            cell::append_float64(array.as_primitive::<types::Float64Type>().value(row), out);
        }
        DataType::Decimal32(_, _) => decimal!(types::Decimal32Type),
        DataType::Decimal64(_, _) => decimal!(types::Decimal64Type),
        DataType::Decimal128(_, _) => decimal!(types::Decimal128Type),
        DataType::Decimal256(_, _) => decimal!(types::Decimal256Type),
        _ => return false,
    }
    true
}

/// The text of a cell of a type of text.
pub(crate) fn text(array: &dyn Array, row: usize) -> Option<&str> {
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        DataType::Utf8View => array.as_string_view().value(row),
        _ => return None,
    })
}

/// Appends binary as `0x` and all of its digits.
pub(crate) fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(b"0x");
    for byte in bytes {
        out.extend(
            [byte >> 4, byte & 15].map(|digit| if digit < 10 { b'0' + digit } else { b'a' - 10 + digit }),
        );
    }
}

/// Appends a cell as JSON.
pub(crate) fn value(array: &dyn Array, row: usize, special: NotFinite, out: &mut Vec<u8>) {
    if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        out.extend(b"null");
        return;
    }
    if let Some(text) = text(array, row) {
        string(text, out);
        return;
    }
    let start = out.len();
    if number(array, row, out) {
        finite(start, special, out);
        return;
    }
    if let Some(bytes) = cell::binary(array, row) {
        out.push(b'"');
        hex(bytes, out);
        out.push(b'"');
        return;
    }
    match array.data_type() {
        DataType::Boolean => show(out, format_args!("{}", array.as_boolean().value(row))),
        DataType::List(_) => list(&array.as_list::<i32>().value(row), special, out),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row), special, out),
        DataType::ListView(_) => list(&array.as_list_view::<i32>().value(row), special, out),
        DataType::LargeListView(_) => list(&array.as_list_view::<i64>().value(row), special, out),
        DataType::FixedSizeList(_, _) => list(&array.as_fixed_size_list().value(row), special, out),
        DataType::Map(_, _) => pairs(&array.as_map().value(row), special, out),
        DataType::Struct(fields) => {
            out.push(b'{');
            for (n, (field, column)) in fields.iter().zip(array.as_struct().columns()).enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                string(field.name(), out);
                out.push(b':');
                value(column.as_ref(), row, special, out);
            }
            out.push(b'}');
        }
        DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _) => {
            value(plain(&array.slice(row, 1)).as_ref(), 0, special, out);
        }
        DataType::Union(_, _) => match array.as_union_opt() {
            Some(union) => value(union.value(row).as_ref(), 0, special, out),
            None => out.extend(b"null"),
        },
        _ => match cell::text(array, row) {
            Some(text) => string(&text, out),
            None => out.extend(b"null"),
        },
    }
}

/// A cell as text, nothing of it cut: texts as they are, bytes as `0x` and all of their digits, what is nested as JSON.
/// `None` for null.
pub(crate) fn whole(array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        return None;
    }
    if matches!(array.data_type(), DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _)) {
        return whole(plain(&array.slice(row, 1)).as_ref(), 0);
    }
    let mut out = Vec::new();
    value(array, row, NotFinite::Text, &mut out);
    let is_nested = matches!(out.first(), Some(b'[' | b'{'));
    match is_nested {
        true => String::from_utf8(out).ok(),
        false => match cell::binary(array, row) {
            Some(bytes) => {
                out.clear();
                hex(bytes, &mut out);
                String::from_utf8(out).ok()
            }
            None => cell::text(array, row),
        },
    }
}

/// Replaces a word that is no JSON number, written from `start` on.
pub(super) fn finite(start: usize, special: NotFinite, out: &mut Vec<u8>) {
    let (quoted, python): (&[u8], &[u8]) = match out.get(start..).unwrap_or_default() {
        b"nan" => (b"\"nan\"", b"NaN"),
        b"inf" => (b"\"inf\"", b"Infinity"),
        b"-inf" => (b"\"-inf\"", b"-Infinity"),
        _ => return,
    };
    out.truncate(start);
    out.extend_from_slice(match special {
        NotFinite::Text => quoted,
        NotFinite::Python => python,
        NotFinite::Null => b"null",
    });
}

fn list(values: &ArrayRef, special: NotFinite, out: &mut Vec<u8>) {
    let values = plain(values);
    out.push(b'[');
    for row in 0..values.len() {
        if row > 0 {
            out.push(b',');
        }
        value(values.as_ref(), row, special, out);
    }
    out.push(b']');
}

fn pairs(entries: &arrow::array::StructArray, special: NotFinite, out: &mut Vec<u8>) {
    out.push(b'[');
    for row in 0..entries.len() {
        out.extend(if row > 0 { &b",["[..] } else { &b"["[..] });
        for (n, column) in entries.columns().iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            value(column.as_ref(), row, special, out);
        }
        out.push(b']');
    }
    out.push(b']');
}

/// What text does not keep of a column's NaN: `nan` is one word for all bit patterns that IEEE 754 gives it (a sign and a
/// payload, section 6.2).
pub(crate) fn nan_patterns(data_type: &DataType) -> Option<Loss> {
    let what = "NaN is one text: its sign and payload are not kept";
    holds(data_type, &|of| of.is_floating()).then(|| note(LossKind::Nan, what).if_any())
}

/// Whether values of this type occur in `data_type`, at any depth.
pub(crate) fn holds(data_type: &DataType, test: &dyn Fn(&DataType) -> bool) -> bool {
    test(data_type)
        || match data_type {
            DataType::List(f)
            | DataType::LargeList(f)
            | DataType::ListView(f)
            | DataType::LargeListView(f) => holds(f.data_type(), test),
            DataType::FixedSizeList(f, _) | DataType::Map(f, _) | DataType::RunEndEncoded(_, f) => {
                holds(f.data_type(), test)
            }
            DataType::Dictionary(_, values) => holds(values, test),
            DataType::Struct(fields) => fields.iter().any(|f| holds(f.data_type(), test)),
            DataType::Union(fields, _) => fields.iter().any(|(_, f)| holds(f.data_type(), test)),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::*;
    use arrow::datatypes as types;
    use std::sync::Arc;

    fn json(array: &dyn Array, special: NotFinite) -> String {
        let mut out = Vec::new();
        (0..array.len()).for_each(|row| {
            value(array, row, special, &mut out);
            out.push(b' ');
        });
        String::from_utf8(out).unwrap().trim_end().to_owned()
    }

    #[test]
    fn numbers_are_exact_and_words_are_strings() {
        let floats = Float32Array::from(vec![Some(0.1), Some(f32::NAN), Some(f32::NEG_INFINITY), None]);
        assert_eq!(json(&floats, NotFinite::Text), r#"0.1 "nan" "-inf" null"#);
        assert_eq!(json(&floats, NotFinite::Python), "0.1 NaN -Infinity null");
        assert_eq!(json(&UInt64Array::from(vec![u64::MAX]), NotFinite::Text), "18446744073709551615");
        let decimal = Decimal128Array::from(vec![-150]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(json(&decimal, NotFinite::Text), "-1.50");
        let long = BinaryArray::from_vec(vec![&[0xab; 70]]);
        assert_eq!(json(&long, NotFinite::Text).len(), 70 * 2 + 4);
    }

    #[test]
    fn nested_values_are_nested_json() {
        let dictionary: DictionaryArray<types::Int8Type> = vec![Some("a\"\n"), None].into_iter().collect();
        let dictionary: ArrayRef = Arc::new(dictionary);
        let record = StructArray::try_from(vec![("x", dictionary)]).unwrap();
        assert_eq!(json(&record, NotFinite::Text), r#"{"x":"a\"\n"} {"x":null}"#);
        let list =
            ListArray::from_iter_primitive::<types::Int64Type, _, _>(vec![Some(vec![Some(1), None]), None]);
        assert_eq!(json(&list, NotFinite::Text), "[1,null] null");
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        map.keys().append_value("k");
        map.values().append_value(1);
        map.append(true).unwrap();
        assert_eq!(json(&map.finish(), NotFinite::Text), r#"[["k",1]]"#);
    }
}
