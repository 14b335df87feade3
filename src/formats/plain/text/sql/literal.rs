//! Cells as literals of each dialect.

use super::types::{Dialect, element, is_json};
use crate::bytes::error::{Error, Result};
use crate::data::cell;
use crate::engines::json::value_text::{NotFinite, number, plain, text, value, whole};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{self as types, DataType, IntervalUnit, TimeUnit};
use chrono::{DateTime, Datelike, Timelike};
use std::io::Write;

/// Appends a cell.
///
/// # Errors
/// `Unsupported` for what the dialect has no value for.
pub(super) fn put(dialect: Dialect, array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        out.extend(b"NULL");
        return Ok(());
    }
    if let Some(text) = text(array, row) {
        return string(dialect, text, out);
    }
    if let Some(bytes) = cell::binary(array, row) {
        binary(dialect, bytes, out);
        return Ok(());
    }
    let of = array.data_type();
    match of {
        DataType::Dictionary(_, _) | DataType::RunEndEncoded(_, _) => {
            return put(dialect, plain(&array.slice(row, 1)).as_ref(), 0, out);
        }
        DataType::Boolean => {
            let value = array.as_boolean().value(row);
            out.extend_from_slice(match (dialect, value) {
                (Dialect::SQLite, true) => b"1",
                (Dialect::SQLite, false) => b"0",
                (_, true) => &b"true"[..],
                (_, false) => b"false",
            });
        }
        of if of.is_floating() => float(dialect, array, row, out),
        DataType::UInt64 if dialect == Dialect::SQLite => {
            let value = array.as_primitive::<types::UInt64Type>().value(row);
            let quote = if i64::try_from(value).is_ok() { "" } else { "'" };
            show(out, format_args!("{quote}{value}{quote}"));
        }
        of if of.is_decimal() => {
            let text = cell::text(array, row).unwrap_or_default();
            let quote = if dialect == Dialect::Postgres { "" } else { "'" };
            show(out, format_args!("{quote}{text}{quote}"));
        }
        of if of.is_integer() => {
            number(array, row, out);
        }
        of if of.is_nested() && !is_json(dialect, of) => nested(dialect, array, row, out)?,
        of if of.is_temporal() && dialect != Dialect::SQLite => {
            out.push(b'\'');
            out.extend_from_slice(moment(dialect, array, row)?.as_bytes());
            out.push(b'\'');
        }
        _ => match worded(dialect, array, row) {
            Some(text) => string(dialect, &text, out)?,
            None => out.extend(b"NULL"),
        },
    }
    Ok(())
}

/// A cell that has no type of its own as a text; JSON where the column is that. `None` for null.
pub(super) fn worded(dialect: Dialect, array: &dyn Array, row: usize) -> Option<String> {
    if dialect == Dialect::SQLite || !is_json(dialect, array.data_type()) {
        return whole(array, row);
    }
    let mut out = Vec::new();
    value(array, row, NotFinite::Text, &mut out);
    String::from_utf8(out).ok().filter(|text| text != "null")
}

/// Appends formatted text; writing to memory cannot fail.
fn show(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// Appends a text in quotes. Zero characters have no literal.
fn string(dialect: Dialect, text: &str, out: &mut Vec<u8>) -> Result<()> {
    let zero = match dialect {
        Dialect::DuckDb => "' || chr(0) || '",
        Dialect::SQLite => "' || char(0) || '",
        Dialect::Postgres => "",
    };
    let is_joined = text.contains('\0');
    if is_joined && dialect == Dialect::Postgres {
        return Err(no_zero());
    }
    out.extend(if is_joined { &b"('"[..] } else { b"'" });
    if !is_joined && !text.contains('\'') {
        out.extend_from_slice(text.as_bytes());
    } else {
        out.extend_from_slice(text.replace('\'', "''").replace('\0', zero).as_bytes());
    }
    out.extend(if is_joined { &b"')"[..] } else { b"'" });
    Ok(())
}

/// What is said of a text that PostgreSQL has not.
pub(super) fn no_zero() -> Error {
    Error::unsupported("a text with a zero character, which PostgreSQL has not")
}

fn binary(dialect: Dialect, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(match dialect {
        Dialect::DuckDb => &b"unhex('"[..],
        Dialect::SQLite => b"X'",
        Dialect::Postgres => b"'\\x",
    });
    digits(bytes, out);
    out.extend(if dialect == Dialect::DuckDb { &b"')"[..] } else { b"'" });
}

/// Appends the hexadecimal digits of bytes.
pub(super) fn digits(bytes: &[u8], out: &mut Vec<u8>) {
    let digit = |n: u8| if n < 10 { b'0' + n } else { b'a' - 10 + n };
    out.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}

/// The value of a float of any width.
pub(super) fn float_of(array: &dyn Array, row: usize) -> f64 {
    match array.data_type() {
        DataType::Float16 => array.as_primitive::<types::Float16Type>().value(row).to_f64(),
        DataType::Float32 => f64::from(array.as_primitive::<types::Float32Type>().value(row)),
        _ => array.as_primitive::<types::Float64Type>().value(row),
    }
}

/// Appends a float. With an exponent it is a double in every dialect, and no decimal.
fn float(dialect: Dialect, array: &dyn Array, row: usize, out: &mut Vec<u8>) {
    let value = float_of(array, row);
    let word = match (dialect, value) {
        (_, value) if value.is_finite() && (value != 0.0 || !value.is_sign_negative()) => {
            return show(out, format_args!("{value:e}"));
        }
        (Dialect::SQLite, value) if value.is_nan() => "NULL",
        (Dialect::SQLite, 0.0) => "0e0",
        (Dialect::SQLite, f64::INFINITY) => "9e999",
        (Dialect::SQLite, _) => "-9e999",
        (Dialect::DuckDb, value) if value.is_nan() => "'nan'::DOUBLE",
        (Dialect::DuckDb, 0.0) => "'-0'::DOUBLE",
        (Dialect::DuckDb, f64::INFINITY) => "'inf'::DOUBLE",
        (Dialect::DuckDb, _) => "'-inf'::DOUBLE",
        (Dialect::Postgres, value) => infinite(value),
    };
    match dialect {
        Dialect::Postgres => show(out, format_args!("'{word}'")),
        _ => out.extend_from_slice(word.as_bytes()),
    }
}

/// PostgreSQL's words for NaN, the infinities and the negative zero.
pub(super) fn infinite(value: f64) -> &'static str {
    match value {
        value if value.is_nan() => "NaN",
        0.0 => "-0",
        f64::INFINITY => "Infinity",
        _ => "-Infinity",
    }
}

/// The elements of a list.
pub(super) fn items(array: &dyn Array, row: usize) -> Option<ArrayRef> {
    Some(match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        DataType::ListView(_) => array.as_list_view::<i32>().value(row),
        DataType::LargeListView(_) => array.as_list_view::<i64>().value(row),
        DataType::FixedSizeList(_, _) => array.as_fixed_size_list().value(row),
        _ => return None,
    })
}

/// Appends elements with commas between.
fn list(dialect: Dialect, values: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    let values = plain(values);
    for row in 0..values.len() {
        if row > 0 {
            out.extend(b", ");
        }
        put(dialect, values.as_ref(), row, out)?;
    }
    Ok(())
}

/// Appends a list, a struct or a map.
fn nested(dialect: Dialect, array: &dyn Array, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if let Some(values) = items(array, row) {
        out.extend(if dialect == Dialect::Postgres { &b"ARRAY["[..] } else { b"[" });
        list(dialect, &values, out)?;
        out.push(b']');
        if dialect == Dialect::Postgres {
            show(out, format_args!("::{}", super::types::declared(dialect, array.data_type())));
        }
        return Ok(());
    }
    if let Some(entries) = array.as_map_opt().map(|map| map.value(row)) {
        for (n, side) in entries.columns().iter().enumerate() {
            out.extend(if n == 0 { &b"map(["[..] } else { b"], [" });
            list(dialect, side, out)?;
        }
        out.extend(b"])");
        return Ok(());
    }
    let Some(record) = array.as_struct_opt() else { return Err(Error::bug("no list, no struct and no map")) };
    for (n, (field, column)) in record.fields().iter().zip(record.columns()).enumerate() {
        out.extend(if n == 0 { &b"{"[..] } else { b", " });
        string(dialect, field.name(), out)?;
        out.extend(b": ");
        put(dialect, column.as_ref(), row, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// A date, a time, a moment or an interval in words that DuckDB and PostgreSQL read.
///
/// # Errors
/// `Unsupported` for what the calendar has not.
pub(super) fn moment(dialect: Dialect, array: &dyn Array, row: usize) -> Result<String> {
    macro_rules! value {
        ($ty:ident) => {
            array.as_primitive::<types::$ty>().value(row)
        };
    }
    let none = || Error::unsupported("a time that no calendar has");
    match array.data_type() {
        DataType::Date32 => day(dialect, i64::from(value!(Date32Type)) * 86_400, 0, "").ok_or_else(none),
        DataType::Date64 => day(dialect, value!(Date64Type).div_euclid(1_000), 0, "").ok_or_else(none),
        DataType::Timestamp(unit, zone) => {
            let (value, second) = match unit {
                TimeUnit::Second => (value!(TimestampSecondType), 1),
                TimeUnit::Millisecond => (value!(TimestampMillisecondType), 1_000),
                TimeUnit::Microsecond => (value!(TimestampMicrosecondType), 1_000_000),
                TimeUnit::Nanosecond => (value!(TimestampNanosecondType), 1_000_000_000),
            };
            let nanos = value.rem_euclid(second) * (1_000_000_000 / second);
            let is_whole = super::is_too_fine(dialect, array.data_type());
            let nanos = if is_whole { nanos / 1_000 * 1_000 } else { nanos };
            let zone = if zone.is_some() { "+00" } else { " " };
            day(dialect, value.div_euclid(second), nanos, zone).ok_or_else(none)
        }
        DataType::Duration(unit) => {
            let value = match unit {
                TimeUnit::Second => value!(DurationSecondType).checked_mul(1_000_000),
                TimeUnit::Millisecond => value!(DurationMillisecondType).checked_mul(1_000),
                TimeUnit::Microsecond => Some(value!(DurationMicrosecondType)),
                TimeUnit::Nanosecond => Some(value!(DurationNanosecondType).div_euclid(1_000)),
            };
            value.map(|micros| format!("{micros} microseconds")).ok_or_else(none)
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            Ok(format!("{} months", value!(IntervalYearMonthType)))
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let value = value!(IntervalDayTimeType);
            Ok(format!("{} days {} microseconds", value.days, i64::from(value.milliseconds) * 1_000))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = value!(IntervalMonthDayNanoType);
            let micros = value.nanoseconds.div_euclid(1_000);
            Ok(format!("{} months {} days {micros} microseconds", value.months, value.days))
        }
        _ => {
            let text = cell::text(array, row).unwrap_or_default();
            // Nine digits are three too many.
            Ok(text.get(..15).map_or(text.clone(), str::to_owned))
        }
    }
}

/// The text of so many seconds and nanoseconds since 1970: a date alone for an empty `zone`. Years are counted without a
/// zero, before the first one backwards.
fn day(dialect: Dialect, seconds: i64, nanos: i64, zone: &str) -> Option<String> {
    let moment = DateTime::from_timestamp(seconds, u32::try_from(nanos).ok()?)?.naive_utc();
    let (year, before) = (i64::from(moment.year()), moment.year() < 1);
    let year = if before { 1 - year } else { year };
    let mut text = format!("{year:04}-{:02}-{:02}", moment.month(), moment.day());
    if before && dialect == Dialect::DuckDb {
        text += " (BC)";
    }
    if !zone.is_empty() {
        text += &format!(" {:02}:{:02}:{:02}", moment.hour(), moment.minute(), moment.second());
        let digits = format!("{nanos:09}");
        match digits.trim_end_matches('0') {
            "" => {}
            some => text += &format!(".{some}"),
        }
        text += zone.trim();
    }
    if before && dialect == Dialect::Postgres {
        text += " BC";
    }
    Some(text)
}

/// Whether the elements of a list are all that a text of an array has to have.
pub(super) fn is_list(of: &DataType) -> bool {
    element(of).is_some()
}
