//! Values as text, exactly (CLI.md, *A value as text*): cells of Arrow arrays and elements of arrays.
//! The window, the command line and the text writers all use these.

use crate::bytes::entry;
use crate::data::dtype::{DType, TimeBase, TimeUnit as Unit, with_integer};
use arrow::array::timezone::Tz;
use arrow::array::*;
use arrow::datatypes::*;
use chrono::{DateTime, Duration, NaiveDate, NaiveDateTime, NaiveTime};
use serde_json::Value as Json;

/// How many bytes of a binary value are written before `...`.
const BINARY_SHOWN: usize = 64;

/// The text of one cell; `None` for null. Lists, structs and maps are JSON of such texts.
pub fn text(array: &dyn Array, row: usize) -> Option<String> {
    if row >= array.len() || array.is_null(row) || matches!(array.data_type(), DataType::Null) {
        return None;
    }
    if let Some(number) = number(array, row) {
        return Some(number);
    }
    match array.data_type() {
        DataType::Boolean => Some(array.as_boolean().value(row).to_string()),
        DataType::Utf8 => Some(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Some(array.as_string_view().value(row).to_owned()),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Some(hex(binary(array, row)?))
        }
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let key = dictionary.normalized_keys().get(row).copied()?;
            text(dictionary.values().as_ref(), key)
        }
        DataType::RunEndEncoded(_, _) => run(array, row).and_then(|(values, at)| text(values.as_ref(), at)),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(_, _)
        | DataType::Struct(_)
        | DataType::Map(_, _) => Some(json(array, row).to_string()),
        DataType::Union(_, _) => text(array.as_union().value(row).as_ref(), 0),
        _ => Some(time(array, row).unwrap_or_else(|| "?".to_owned())),
    }
}

/// Whether the cell is a float that is not a number.
pub fn is_nan(array: &dyn Array, row: usize) -> bool {
    !array.is_null(row)
        && match array.data_type() {
            DataType::Float16 => array.as_primitive::<Float16Type>().value(row).is_nan(),
            DataType::Float32 => array.as_primitive::<Float32Type>().value(row).is_nan(),
            DataType::Float64 => array.as_primitive::<Float64Type>().value(row).is_nan(),
            _ => false,
        }
}

fn number(array: &dyn Array, row: usize) -> Option<String> {
    macro_rules! value {
        ($ty:ty) => {
            array.as_primitive::<$ty>().value(row)
        };
    }
    Some(match array.data_type() {
        DataType::Int8 => value!(Int8Type).to_string(),
        DataType::Int16 => value!(Int16Type).to_string(),
        DataType::Int32 => value!(Int32Type).to_string(),
        DataType::Int64 => value!(Int64Type).to_string(),
        DataType::UInt8 => value!(UInt8Type).to_string(),
        DataType::UInt16 => value!(UInt16Type).to_string(),
        DataType::UInt32 => value!(UInt32Type).to_string(),
        DataType::UInt64 => value!(UInt64Type).to_string(),
        DataType::Float16 => float16(value!(Float16Type)),
        DataType::Float32 => float32(value!(Float32Type)),
        DataType::Float64 => float64(value!(Float64Type)),
        DataType::Decimal32(_, scale) => decimal(value!(Decimal32Type).to_string(), *scale),
        DataType::Decimal64(_, scale) => decimal(value!(Decimal64Type).to_string(), *scale),
        DataType::Decimal128(_, scale) => decimal(value!(Decimal128Type).to_string(), *scale),
        DataType::Decimal256(_, scale) => decimal(value!(Decimal256Type).to_string(), *scale),
        _ => return None,
    })
}

/// An unscaled decimal with its point. Digits beyond the type's precision are kept: they are what the
/// file holds.
fn decimal(unscaled: String, scale: i8) -> String {
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled.as_str()),
    };
    let places = usize::from(scale.unsigned_abs());
    match scale {
        0 => unscaled,
        ..0 if digits == "0" => unscaled,
        ..0 => unscaled + &"0".repeat(places),
        _ => {
            let digits = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            format!("{sign}{whole}.{fraction}")
        }
    }
}

/// The bytes of a binary cell of any layout.
pub fn binary(array: &dyn Array, row: usize) -> Option<&[u8]> {
    Some(match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row),
        _ => return None,
    })
}

/// The values and the index in them of a run-end-encoded cell.
fn run(array: &dyn Array, row: usize) -> Option<(ArrayRef, usize)> {
    let any = array.as_any();
    macro_rules! try_run {
        ($($ty:ty),*) => { $( if let Some(run) = any.downcast_ref::<RunArray<$ty>>() {
            return Some((run.values().clone(), run.get_physical_index(row)));
        } )* };
    }
    try_run!(Int16Type, Int32Type, Int64Type);
    None
}

/// The text of one cell as people read it: as [`text`], but numbers and truth values within lists, structs and
/// maps stand without quotes. `None` for null.
pub fn shown(array: &dyn Array, row: usize) -> Option<String> {
    match array.data_type() {
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(_, _)
        | DataType::Struct(_)
        | DataType::Map(_, _) => {
            Some(shown_json(array, row)).filter(|json| !json.is_null()).map(|j| j.to_string())
        }
        _ => text(array, row),
    }
}

/// A cell as JSON of texts: `null`, a string, a list or an object; a map is a list of pairs.
pub fn json(array: &dyn Array, row: usize) -> Json {
    json_of(array, row, &|array, row| text(array, row).map_or(Json::Null, Json::String))
}

/// A cell as JSON whose numbers are numbers, digit by digit; those that JSON does not know (`nan`) stay texts.
pub fn shown_json(array: &dyn Array, row: usize) -> Json {
    json_of(array, row, &|array, row| match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into(),
        _ => match number(array, row) {
            Some(number) => number.parse().map_or(Json::String(number), Json::Number),
            None => text(array, row).map_or(Json::Null, Json::String),
        },
    })
}

/// A cell as JSON; `leaf` writes the values that are there and have no parts.
fn json_of(array: &dyn Array, row: usize, leaf: &dyn Fn(&dyn Array, usize) -> Json) -> Json {
    if row >= array.len() || array.is_null(row) {
        return Json::Null;
    }
    let json = |array: &dyn Array, row| json_of(array, row, leaf);
    let items = |values: ArrayRef| Json::Array((0..values.len()).map(|i| json(values.as_ref(), i)).collect());
    match array.data_type() {
        DataType::List(_) => items(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => items(array.as_list::<i64>().value(row)),
        DataType::ListView(_) => items(array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => items(array.as_list_view::<i64>().value(row)),
        DataType::FixedSizeList(_, _) => items(array.as_fixed_size_list().value(row)),
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let pair = |i| Json::Array(entries.columns().iter().map(|c| json(c.as_ref(), i)).collect());
            Json::Array((0..entries.len()).map(pair).collect())
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let named = fields.iter().zip(columns).map(|(f, c)| (f.name().clone(), json(c.as_ref(), row)));
            Json::Object(named.collect())
        }
        DataType::Union(_, _) => json(array.as_union().value(row).as_ref(), 0),
        _ => leaf(array, row),
    }
}

/// Times, dates, durations and intervals.
fn time(array: &dyn Array, row: usize) -> Option<String> {
    macro_rules! value {
        ($ty:ty) => {
            array.as_primitive::<$ty>().value(row)
        };
    }
    let clock = |seconds: i64, nanos: i64| {
        let time = NaiveTime::from_num_seconds_from_midnight_opt(
            u32::try_from(seconds).ok()?,
            u32::try_from(nanos).ok()?,
        )?;
        Some(time.format("%H:%M:%S").to_string() + &fraction(nanos))
    };
    match array.data_type() {
        DataType::Date32 => Some(date(i64::from(value!(Date32Type)))),
        DataType::Date64 => Some(timestamp(value!(Date64Type), 1_000, None)),
        DataType::Time32(TimeUnit::Second) => clock(i64::from(value!(Time32SecondType)), 0),
        DataType::Time32(_) => {
            let v = i64::from(value!(Time32MillisecondType));
            clock(v.div_euclid(1_000), v.rem_euclid(1_000) * 1_000_000)
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            let v = value!(Time64MicrosecondType);
            clock(v.div_euclid(1_000_000), v.rem_euclid(1_000_000) * 1_000)
        }
        DataType::Time64(_) => {
            let v = value!(Time64NanosecondType);
            clock(v.div_euclid(1_000_000_000), v.rem_euclid(1_000_000_000))
        }
        DataType::Timestamp(unit, zone) => {
            let (raw, per_second) = match unit {
                TimeUnit::Second => (value!(TimestampSecondType), 1),
                TimeUnit::Millisecond => (value!(TimestampMillisecondType), 1_000),
                TimeUnit::Microsecond => (value!(TimestampMicrosecondType), 1_000_000),
                TimeUnit::Nanosecond => (value!(TimestampNanosecondType), 1_000_000_000),
            };
            Some(timestamp(raw, per_second, zone.as_deref()))
        }
        DataType::Duration(unit) => Some(match unit {
            TimeUnit::Second => duration(value!(DurationSecondType), 1),
            TimeUnit::Millisecond => duration(value!(DurationMillisecondType), 1_000),
            TimeUnit::Microsecond => duration(value!(DurationMicrosecondType), 1_000_000),
            TimeUnit::Nanosecond => duration(value!(DurationNanosecondType), 1_000_000_000),
        }),
        DataType::Interval(IntervalUnit::YearMonth) => {
            Some(format!("{} months", value!(IntervalYearMonthType)))
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let v = value!(IntervalDayTimeType);
            Some(format!("{} days {} ms", v.days, v.milliseconds))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let v = value!(IntervalMonthDayNanoType);
            Some(format!("{} months {} days {} ns", v.months, v.days, v.nanoseconds))
        }
        _ => None,
    }
}

/// Bytes without the zeros that pad them.
pub(crate) fn without_padding(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., 0] = bytes {
        bytes = rest;
    }
    bytes
}

fn date(days: i64) -> String {
    let day = NaiveDate::from_ymd_opt(1970, 1, 1)
        .and_then(|epoch| epoch.checked_add_signed(Duration::try_days(days)?));
    day.map_or_else(|| format!("{days} days since 1970"), |day| day.to_string())
}

/// ISO 8601 of `raw / per_second` seconds since 1970, in `zone` with its offset where there is one. A
/// moment that no calendar has is given as its number.
fn timestamp(raw: i64, per_second: i64, zone: Option<&str>) -> String {
    let (seconds, rest) = (raw.div_euclid(per_second), raw.rem_euclid(per_second));
    let nanos = rest * (1_000_000_000 / per_second);
    let Some(moment) = u32::try_from(nanos).ok().and_then(|n| DateTime::from_timestamp(seconds, n)) else {
        return format!("{raw} / {per_second} s since 1970");
    };
    let plain = |moment: NaiveDateTime| moment.format("%Y-%m-%dT%H:%M:%S").to_string() + &fraction(nanos);
    match zone.map(|zone| zone.parse::<Tz>()) {
        None => plain(moment.naive_utc()),
        Some(Ok(zone)) => {
            let local = moment.with_timezone(&zone);
            plain(local.naive_local()) + &local.format("%:z").to_string()
        }
        Some(Err(_)) => plain(moment.naive_utc()) + "+00:00",
    }
}

/// `.123`, `.123456`, `.123456789`, or nothing.
fn fraction(nanos: i64) -> String {
    match nanos {
        0 => String::new(),
        n if n % 1_000_000 == 0 => format!(".{:03}", n / 1_000_000),
        n if n % 1_000 == 0 => format!(".{:06}", n / 1_000),
        n => format!(".{n:09}"),
    }
}

fn duration(raw: i64, per_second: i64) -> String {
    let (sign, raw) = (if raw < 0 { "-" } else { "" }, raw.unsigned_abs());
    let (seconds, rest) = (raw / per_second as u64, raw % per_second as u64);
    let digits = per_second.ilog10() as usize;
    let fraction = if rest == 0 { String::new() } else { format!(".{rest:0digits$}") };
    format!("{sign}{seconds}{}s", fraction.trim_end_matches('0'))
}

/// `0x` and hexadecimal digits, cut at 64 bytes with `...`.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(2 + 2 * bytes.len().min(BINARY_SHOWN) + 3);
    out.push_str("0x");
    for byte in bytes.iter().take(BINARY_SHOWN) {
        let _ = write!(out, "{byte:02x}");
    }
    if bytes.len() > BINARY_SHOWN {
        out.push_str("...");
    }
    out
}

/// The shortest text that reads back to the same f64.
pub fn float64(value: f64) -> String {
    let mut out = Vec::new();
    append_float64(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// The shortest text that reads back to the same f32.
pub fn float32(value: f32) -> String {
    let mut out = Vec::new();
    append_float32(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Appends the shortest text that reads back to the same f64, as Rust lays it out; `nan` whatever its sign.
#[inline]
pub fn append_float64(value: f64, out: &mut Vec<u8>) {
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        append_odd(value.is_nan(), format_args!("{value:?}"), out);
    }
}

/// The same of an f32.
#[inline]
pub fn append_float32(value: f32, out: &mut Vec<u8>) {
    if value == 0.0 || (1e-4..1e12).contains(&value.abs()) {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        append_odd(value.is_nan(), format_args!("{value:?}"), out);
    }
}

/// A float with an exponent, or none at all.
#[cold]
fn append_odd(is_nan: bool, text: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    use std::io::Write;
    if is_nan {
        out.extend_from_slice(b"nan");
    } else {
        // Writing to memory cannot fail.
        let _ = out.write_fmt(text);
    }
}

/// The shortest text that reads back to the same f16.
pub fn float16(value: half::f16) -> String {
    shortest(value.to_f64(), |v| half::f16::from_f64(v).to_bits() == value.to_bits())
}

/// The shortest text that reads back to the same bf16.
pub fn bfloat16(value: half::bf16) -> String {
    shortest(value.to_f64(), |v| half::bf16::from_f64(v).to_bits() == value.to_bits())
}

/// The text of `value` with the fewest digits that `same` takes for it.
fn shortest(value: f64, same: impl Fn(f64) -> bool) -> String {
    if !value.is_finite() || value == 0.0 {
        return float64(value);
    }
    (0..17)
        .filter_map(|digits| format!("{value:.digits$e}").parse::<f64>().ok())
        .find(|candidate| same(*candidate))
        .map_or_else(|| float64(value), float64)
}

/// The text of one delivered element of an array.
pub fn element(dtype: &DType, bytes: &[u8]) -> String {
    element_of(dtype, bytes).unwrap_or_else(|| "?".to_owned())
}

fn element_of(dtype: &DType, bytes: &[u8]) -> Option<String> {
    let f32_at = |at: usize| Some(f32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let f64_at = |at: usize| Some(f64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    with_integer!(dtype, T => return Some(T::from_le_bytes(bytes.try_into().ok()?).to_string()), _ => {});
    Some(match dtype {
        DType::Bool => (*bytes.first()? != 0).to_string(),
        DType::F16 => float16(half::f16::from_le_bytes(bytes.try_into().ok()?)),
        DType::BF16 => bfloat16(half::bf16::from_le_bytes(bytes.try_into().ok()?)),
        DType::F32 | DType::Blocks(_) => float32(f32_at(0)?),
        DType::F64 => float64(f64_at(0)?),
        // So few values are exact in few digits; the shortest would read as another number (448 as 450).
        DType::Mini(kind) => float32(*entry(kind.table(), *bytes.first()?)),
        DType::Long(kind) => kind.text(bytes)?,
        DType::C32 => {
            let part = |at: usize| Some(half::f16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
            complex(float16(part(0)?), float16(part(2)?))
        }
        DType::C64 => complex(float32(f32_at(0)?), float32(f32_at(4)?)),
        DType::C128 => complex(float64(f64_at(0)?), float64(f64_at(8)?)),
        DType::Bytes(_) => {
            let bytes = without_padding(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') => {
                    text.to_owned()
                }
                _ => hex(bytes),
            }
        }
        DType::Str(_) => {
            let chars = bytes.as_chunks::<4>().0.iter().map(|&b| u32::from_le_bytes(b));
            let text: String =
                chars.map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            text.trim_end_matches('\0').to_owned()
        }
        DType::Void(_) => hex(bytes),
        DType::DateTime(unit) => datetime(i64::from_le_bytes(bytes.try_into().ok()?), *unit),
        DType::TimeDelta(unit) => timedelta(i64::from_le_bytes(bytes.try_into().ok()?), *unit),
        DType::Struct(_) => structured(dtype, bytes)?.to_string(),
        // Those of any length have no delivered bytes: `Array::column` gives them.
        _ => return None,
    })
}

fn complex(real: String, imaginary: String) -> String {
    let sign = if imaginary.starts_with('-') { "" } else { "+" };
    format!("{real}{sign}{imaginary}j")
}

/// A structured element as a JSON object of texts.
pub fn structured(dtype: &DType, bytes: &[u8]) -> Option<Json> {
    let Some(record) = dtype.record() else { return Some(Json::String(element(dtype, bytes))) };
    let mut object = serde_json::Map::new();
    for field in &record.fields {
        let start = field.offset as usize;
        let part = bytes.get(start..start.checked_add(field.bytes().ok()? as usize)?)?;
        object.insert(field.name.clone(), nested(&field.dtype, &field.shape, part)?);
    }
    Some(Json::Object(object))
}

/// Delivered elements of `shape` as nested JSON lists of texts.
pub fn nested(dtype: &DType, shape: &[u64], bytes: &[u8]) -> Option<Json> {
    let Some((&len, rest)) = shape.split_first() else { return structured(dtype, bytes) };
    if len == 0 {
        return Some(Json::Array(Vec::new()));
    }
    let size = bytes.len() / len as usize;
    if size == 0 {
        return Some(Json::Array((0..len).map(|_| nested(dtype, rest, &[])).collect::<Option<_>>()?));
    }
    Some(Json::Array(bytes.chunks_exact(size).map(|part| nested(dtype, rest, part)).collect::<Option<_>>()?))
}

/// The elements of a column, in C order of `shape`, as nested JSON lists of texts.
pub fn nested_column(column: &dyn Array, shape: &[u64]) -> Json {
    fn level(column: &dyn Array, shape: &[u64], at: &mut usize) -> Json {
        let Some((&len, rest)) = shape.split_first() else {
            *at += 1;
            return if *at <= column.len() { json(column, *at - 1) } else { Json::Null };
        };
        Json::Array((0..len).map(|_| level(column, rest, at)).collect())
    }
    level(column, shape, &mut 0)
}

fn datetime(raw: i64, unit: Unit) -> String {
    if raw == i64::MIN {
        return "NaT".to_owned();
    }
    let Some(value) = raw.checked_mul(i64::from(unit.count)) else { return raw.to_string() };
    let seconds =
        |per: i64| value.checked_mul(per).map_or_else(|| value.to_string(), |v| timestamp(v, 1, None));
    match unit.base {
        TimeBase::Generic => value.to_string(),
        TimeBase::Year => format!("{:04}", 1970 + value),
        TimeBase::Month => format!("{:04}-{:02}", 1970 + value.div_euclid(12), value.rem_euclid(12) + 1),
        TimeBase::Week => date(value.saturating_mul(7)),
        TimeBase::Day => date(value),
        TimeBase::Hour => seconds(3600),
        TimeBase::Minute => seconds(60),
        TimeBase::Second => timestamp(value, 1, None),
        TimeBase::Milli => timestamp(value, 1_000, None),
        TimeBase::Micro => timestamp(value, 1_000_000, None),
        TimeBase::Nano => timestamp(value, 1_000_000_000, None),
        TimeBase::Pico | TimeBase::Femto | TimeBase::Atto => {
            format!("{value} {} since 1970", unit.base.word())
        }
    }
}

fn timedelta(raw: i64, unit: Unit) -> String {
    if raw == i64::MIN {
        return "NaT".to_owned();
    }
    let Some(value) = raw.checked_mul(i64::from(unit.count)) else { return raw.to_string() };
    let seconds = |per: i64| value.checked_mul(per).map_or_else(|| value.to_string(), |v| format!("{v}s"));
    match unit.base {
        TimeBase::Week => seconds(604_800),
        TimeBase::Day => seconds(86_400),
        TimeBase::Hour => seconds(3_600),
        TimeBase::Minute => seconds(60),
        TimeBase::Second => seconds(1),
        TimeBase::Milli => duration(value, 1_000),
        TimeBase::Micro => duration(value, 1_000_000),
        TimeBase::Nano => duration(value, 1_000_000_000),
        TimeBase::Generic => value.to_string(),
        base => format!("{value} {}", base.word()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dtype::Mini;
    use std::sync::Arc;

    #[test]
    fn numbers_in_lists_and_structs_are_shown_as_numbers() {
        let mut list = ListBuilder::new(Float64Builder::new());
        list.append_value([Some(1.0), None, Some(f64::NAN), Some(-0.5)]);
        list.append_null();
        let list = list.finish();
        assert_eq!(shown(&list, 0).as_deref(), Some(r#"[1.0,null,"nan",-0.5]"#));
        assert_eq!(text(&list, 0).as_deref(), Some(r#"["1.0",null,"nan","-0.5"]"#));
        assert_eq!((shown(&list, 1), shown(&list, 2)), (None, None));
        let field = |name, kind| Arc::new(Field::new(name, kind, true));
        let structs = StructArray::from(vec![
            (field("n", DataType::UInt64), Arc::new(UInt64Array::from(vec![u64::MAX])) as ArrayRef),
            (field("t", DataType::Utf8), Arc::new(StringArray::from(vec!["7"]))),
            (field("b", DataType::Boolean), Arc::new(BooleanArray::from(vec![true]))),
        ]);
        assert_eq!(shown(&structs, 0).as_deref(), Some(r#"{"n":18446744073709551615,"t":"7","b":true}"#));
        assert_eq!(shown(&StringArray::from(vec!["7"]), 0).as_deref(), Some("7"));
    }

    #[test]
    fn floats_are_shortest_in_their_own_type() {
        assert_eq!(float64(0.1), "0.1");
        assert_eq!(float64(f64::NEG_INFINITY), "-inf");
        assert_eq!(float16(half::f16::from_f32(0.1)), "0.1");
        assert_eq!(bfloat16(half::bf16::from_f32(2.5)), "2.5");
        assert_eq!(element(&DType::Mini(Mini::F8E4M3FN), &[0x7e]), "448.0");
        assert_eq!(element(&DType::Mini(Mini::F4E2M1), &[0x9]), "-0.5");
        assert_eq!(element(&DType::C64, &[0, 0, 128, 63, 0, 0, 0, 192]), "1.0-2.0j");
    }

    #[test]
    fn cells_of_every_shape() {
        let zoned = TimestampMillisecondArray::from(vec![0]).with_timezone("Asia/Tokyo");
        assert_eq!(text(&zoned, 0).unwrap(), "1970-01-01T09:00:00+09:00");
        assert_eq!(text(&Date32Array::from(vec![-1]), 0).unwrap(), "1969-12-31");
        assert_eq!(text(&DurationMillisecondArray::from(vec![-1500]), 0).unwrap(), "-1.5s");
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![Some(vec![Some(1), None])]);
        assert_eq!(text(&list, 0).unwrap(), r#"["1",null]"#);
        let dictionary: DictionaryArray<Int32Type> = vec![Some("a"), None].into_iter().collect();
        assert_eq!((text(&dictionary, 0).as_deref(), text(&dictionary, 1)), (Some("a"), None));
        let field = Arc::new(Field::new("x", DataType::Utf8, true));
        let record = StructArray::from(vec![(field, Arc::new(StringArray::from(vec!["q\"q"])) as ArrayRef)]);
        assert_eq!(text(&record, 0).unwrap(), r#"{"x":"q\"q"}"#);
        let over = Decimal128Array::from(vec![12810, -5]).with_data_type(DataType::Decimal128(3, 2));
        assert_eq!((text(&over, 0).as_deref(), text(&over, 1).as_deref()), (Some("128.10"), Some("-0.05")));
        assert_eq!(decimal("-12".to_owned(), -3), "-12000");
        assert_eq!(text(&BinaryArray::from_vec(vec![&[0xab; 65]]), 0).unwrap().len(), 2 + 128 + 3);
    }
}
