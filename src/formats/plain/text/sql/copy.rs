//! Cells in PostgreSQL's text format of COPY: columns between tabs, `\N` for null, backslashes before what has a meaning
//! (<https://www.postgresql.org/docs/current/sql-copy.html>, *Text Format*); arrays in braces
//! (<https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO>).

use super::literal::{digits, float_of, infinite, is_list, items, moment, no_zero, worded};
use super::types::{Dialect, is_json};
use crate::bytes::error::Result;
use crate::data::cell;
use crate::engines::json::value_text::{plain, text};
use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;

/// Appends a cell.
///
/// # Errors
/// `Unsupported` for what PostgreSQL has no value for.
pub(super) fn put(array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let Some(text) = shown(array, row)? else {
        out.extend(b"\\N");
        return Ok(());
    };
    if text.contains('\0') {
        return Err(no_zero());
    }
    for byte in text.bytes() {
        match byte {
            b'\\' => out.extend(b"\\\\"),
            b'\t' => out.extend(b"\\t"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            byte => out.push(byte),
        }
    }
    Ok(())
}

/// The text that the type of a column reads.
fn shown(array: &dyn Array, row: usize) -> Result<Option<String>> {
    let of = array.data_type();
    if array.is_null(row) || *of == DataType::Null {
        return Ok(None);
    }
    if matches!(of, DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _)) {
        return shown(plain(&array.slice(row, 1)).as_ref(), 0);
    }
    if let Some(text) = text(array, row) {
        return Ok(Some(text.to_owned()));
    }
    if let Some(bytes) = cell::binary(array, row) {
        let mut out = b"\\x".to_vec();
        digits(bytes, &mut out);
        return Ok(Some(String::from_utf8_lossy(&out).into_owned()));
    }
    Ok(match of {
        DataType::Boolean => Some(if array.as_boolean().value(row) { "t" } else { "f" }.to_owned()),
        of if of.is_floating() => {
            let value = float_of(array, row);
            let is_word = !value.is_finite() || value == 0.0 && value.is_sign_negative();
            Some(if is_word { infinite(value).to_owned() } else { format!("{value:e}") })
        }
        of if of.is_temporal() => Some(moment(Dialect::Postgres, array, row)?),
        of if is_list(of) && !is_json(Dialect::Postgres, of) => Some(braces(array, row)?),
        _ => worded(Dialect::Postgres, array, row),
    })
}

/// A list in braces.
fn braces(array: &dyn Array, row: usize) -> Result<String> {
    let mut out = String::from("{");
    if let Some(values) = items(array, row) {
        let values = plain(&values);
        for n in 0..values.len() {
            if n > 0 {
                out.push(',');
            }
            match shown(values.as_ref(), n)? {
                None => out += "NULL",
                Some(text) => {
                    out.push('"');
                    out += &text.replace('\\', "\\\\").replace('"', "\\\"");
                    out.push('"');
                }
            }
        }
    }
    out.push('}');
    Ok(out)
}
