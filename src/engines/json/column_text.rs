//! Columns whose cells are appended to text, quickly: which type a column has is asked once, and what stands in a cell
//! is written digit by digit into the text that is made, without a string of its own. What has no quick way is
//! [`value_text`](super::value_text)'s. The texts are those of [`crate::data::cell`], byte for byte.

use super::value_text;
use crate::data::cell;
use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::*;
use half::f16;

/// One column of a batch.
pub(crate) struct ColumnText<'a> {
    nulls: Option<&'a NullBuffer>,
    /// The array itself, for what has no quick way.
    pub(crate) array: &'a dyn Array,
    values: Values<'a>,
}

/// The values of a column by their type.
enum Values<'a> {
    /// Nothing but nulls.
    Null,
    Bool(&'a BooleanArray),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F16(&'a [f16]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    /// Digits behind the point.
    Decimal(&'a [i128], u8),
    /// Days from 1970 on.
    Days(&'a [i32]),
    /// Counts of so many a second from 1970 on, and the offset that is said.
    Stamp(&'a [i64], i64, &'static str),
    Text(&'a StringArray),
    LongText(&'a LargeStringArray),
    TextView(&'a StringViewArray),
    Other,
}

/// What was appended for a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// A number of digits, a sign, a point and an exponent.
    Number,
    /// A float that is no number: `nan`, `inf`, `-inf`.
    NotFinite,
    /// `true` or `false`.
    Bool,
    /// A date or a moment.
    Time,
}

impl<'a> ColumnText<'a> {
    /// A column; dictionaries and runs at its top are to be decoded before ([`value_text::plain`]).
    pub(crate) fn new(array: &'a dyn Array) -> Self {
        macro_rules! numbers {
            ($ty:ty) => {
                array.as_primitive::<$ty>().values()
            };
        }
        use TimeUnit as U;
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Bool(array.as_boolean()),
            DataType::Int8 => Values::I8(numbers!(Int8Type)),
            DataType::Int16 => Values::I16(numbers!(Int16Type)),
            DataType::Int32 => Values::I32(numbers!(Int32Type)),
            DataType::Int64 => Values::I64(numbers!(Int64Type)),
            DataType::UInt8 => Values::U8(numbers!(UInt8Type)),
            DataType::UInt16 => Values::U16(numbers!(UInt16Type)),
            DataType::UInt32 => Values::U32(numbers!(UInt32Type)),
            DataType::UInt64 => Values::U64(numbers!(UInt64Type)),
            DataType::Float16 => Values::F16(numbers!(Float16Type)),
            DataType::Float32 => Values::F32(numbers!(Float32Type)),
            DataType::Float64 => Values::F64(numbers!(Float64Type)),
            DataType::Decimal128(_, scale @ 0..) => Values::Decimal(numbers!(Decimal128Type), *scale as u8),
            DataType::Date32 => Values::Days(numbers!(Date32Type)),
            DataType::Timestamp(unit, zone) => match (offset(zone.as_deref()), unit) {
                (None, _) => Values::Other,
                (Some(zone), U::Second) => Values::Stamp(numbers!(TimestampSecondType), 1, zone),
                (Some(zone), U::Millisecond) => {
                    Values::Stamp(numbers!(TimestampMillisecondType), 1_000, zone)
                }
                (Some(zone), U::Microsecond) => {
                    Values::Stamp(numbers!(TimestampMicrosecondType), 1_000_000, zone)
                }
                (Some(zone), U::Nanosecond) => {
                    Values::Stamp(numbers!(TimestampNanosecondType), 1_000_000_000, zone)
                }
            },
            DataType::Utf8 => Values::Text(array.as_string()),
            DataType::LargeUtf8 => Values::LongText(array.as_string()),
            DataType::Utf8View => Values::TextView(array.as_string_view()),
            _ => Values::Other,
        };
        ColumnText { nulls: array.nulls().filter(|nulls| nulls.null_count() > 0), array, values }
    }

    /// Whether a cell is null.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        match (&self.values, self.nulls) {
            (Values::Null, _) => true,
            (Values::Other, _) => self.array.is_null(row),
            (_, None) => false,
            (_, Some(nulls)) => nulls.is_null(row),
        }
    }

    /// A cell of a column of texts.
    #[inline]
    pub(crate) fn text(&self, row: usize) -> Option<&'a str> {
        match self.values {
            Values::Text(array) => Some(array.value(row)),
            Values::LongText(array) => Some(array.value(row)),
            Values::TextView(array) => Some(array.value(row)),
            _ => None,
        }
    }

    /// Appends a cell that is not null; `None` where its type has no quick way, or the value none.
    #[inline]
    pub(crate) fn append(&self, row: usize, out: &mut Vec<u8>) -> Option<Appended> {
        macro_rules! integer {
            ($values:expr) => {
                out.extend_from_slice(itoa::Buffer::new().format(*$values.get(row)?).as_bytes())
            };
        }
        match self.values {
            Values::Bool(array) => {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
                return Some(Appended::Bool);
            }
            Values::I8(values) => integer!(values),
            Values::I16(values) => integer!(values),
            Values::I32(values) => integer!(values),
            Values::I64(values) => integer!(values),
            Values::U8(values) => integer!(values),
            Values::U16(values) => integer!(values),
            Values::U32(values) => integer!(values),
            Values::U64(values) => integer!(values),
            Values::F16(values) => {
                let value = *values.get(row)?;
                out.extend_from_slice(cell::float16(value).as_bytes());
                return Some(if value.is_finite() { Appended::Number } else { Appended::NotFinite });
            }
            Values::F32(values) => {
                let value = *values.get(row)?;
                cell::append_float32(value, out);
                return Some(if value.is_finite() { Appended::Number } else { Appended::NotFinite });
            }
            Values::F64(values) => {
                let value = *values.get(row)?;
                cell::append_float64(value, out);
                return Some(if value.is_finite() { Appended::Number } else { Appended::NotFinite });
            }
            Values::Decimal(values, scale) => decimal(*values.get(row)?, scale, out),
            Values::Days(values) => {
                return date(i64::from(*values.get(row)?), out).then_some(Appended::Time);
            }
            Values::Stamp(values, per_second, zone) => {
                return stamp(*values.get(row)?, per_second, zone, out).then_some(Appended::Time);
            }
            Values::Null | Values::Text(_) | Values::LongText(_) | Values::TextView(_) | Values::Other => {
                return None;
            }
        }
        Some(Appended::Number)
    }

    /// Appends the number of a cell in whatever type of numbers; `false` for other types.
    pub(crate) fn number(&self, row: usize, out: &mut Vec<u8>) -> bool {
        value_text::number(self.array, row, out)
    }
}

/// What times of a zone end in; `None` where it depends on the moment, or is not UTC.
fn offset(zone: Option<&str>) -> Option<&'static str> {
    match zone {
        None => Some(""),
        Some("UTC" | "+00:00" | "Etc/UTC") => Some("+00:00"),
        Some(_) => None,
    }
}

/// Appends a decimal with `scale` digits behind its point.
fn decimal(value: i128, scale: u8, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value.unsigned_abs()).as_bytes();
    let scale = usize::from(scale);
    if scale == 0 {
        out.extend_from_slice(digits);
        return;
    }
    match digits.len().checked_sub(scale) {
        Some(whole @ 1..) => {
            let (whole, fraction) = digits.split_at(whole);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
        _ => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + scale - digits.len(), b'0');
            out.extend_from_slice(digits);
        }
    }
}

#[allow(clippy::indexing_slicing, reason = "n is below the length of the array")]
const fn pairs() -> [[u8; 2]; 100] {
    let mut pairs = [[b'0'; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
}

/// Two digits of each number below 100.
static PAIRS: [[u8; 2]; 100] = pairs();

#[inline]
fn two(n: u32) -> [u8; 2] {
    PAIRS.get(n as usize).copied().unwrap_or(*b"??")
}

/// Year, month and day of a count of days from 1970 on, of the years 0 to 9999.
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>
#[inline]
fn civil(days: i64) -> Option<(u32, u32, u32)> {
    // From 0000-03-01 on, so that leap days end years.
    let shifted = u64::try_from(days.checked_add(719_468)?).ok()?;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year <= 9_999).then_some((year as u32, month as u32, day as u32))
}

/// Appends `2024-01-31`; `false`, and nothing, for years that four digits do not write.
#[inline]
fn date(days: i64, out: &mut Vec<u8>) -> bool {
    let Some((year, month, day)) = civil(days) else { return false };
    let ([a, b], [c, d]) = (two(year / 100), two(year % 100));
    let ([e, f], [g, h]) = (two(month), two(day));
    out.extend_from_slice(&[a, b, c, d, b'-', e, f, b'-', g, h]);
    true
}

/// Appends ISO 8601 of a count of so many a second from 1970 on.
#[inline]
fn stamp(raw: i64, per_second: i64, zone: &str, out: &mut Vec<u8>) -> bool {
    let (seconds, rest) = (raw.div_euclid(per_second), raw.rem_euclid(per_second));
    if !date(seconds.div_euclid(86_400), out) {
        return false;
    }
    let second = seconds.rem_euclid(86_400) as u32;
    let ([a, b], [c, d]) = (two(second / 3_600), two(second / 60 % 60));
    let [e, f] = two(second % 60);
    out.extend_from_slice(&[b'T', a, b, b':', c, d, b':', e, f]);
    if rest != 0 {
        fraction((rest * (1_000_000_000 / per_second)) as u32, out);
    }
    out.extend_from_slice(zone.as_bytes());
    true
}

/// Appends three, six or nine digits behind a point, as many as are needed.
fn fraction(nanos: u32, out: &mut Vec<u8>) {
    let (mut rest, digits) = match nanos {
        n if n % 1_000_000 == 0 => (n / 1_000_000, 3),
        n if n % 1_000 == 0 => (n / 1_000, 6),
        n => (n, 9),
    };
    let mut text = *b".000000000";
    for place in text.iter_mut().skip(1).take(digits).rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(text.get(..=digits).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// The cells that are appended are those of [`cell::text`].
    fn agrees(array: &dyn Array) {
        let column = ColumnText::new(array);
        for row in 0..array.len() {
            let mut out = Vec::new();
            let text = cell::text(array, row);
            assert_eq!(column.is_null(row), text.is_none(), "{row}");
            if let Some(text) = text
                && column.append(row, &mut out).is_some()
            {
                assert_eq!(String::from_utf8(out).unwrap(), text, "{}", array.data_type());
            }
        }
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_cells(bits in prop::collection::vec(any::<u64>(), 1..20), small in prop::collection::vec(-1e6f64..1e6, 1..20)) {
            agrees(&Float64Array::from_iter_values(bits.iter().map(|bits| f64::from_bits(*bits))));
            agrees(&Float64Array::from_iter_values(small.iter().copied()));
            agrees(&Float32Array::from_iter_values(bits.iter().map(|bits| f32::from_bits(*bits as u32))));
            agrees(&Float32Array::from_iter_values(small.iter().map(|value| *value as f32)));
            agrees(&Int64Array::from_iter_values(bits.iter().map(|bits| *bits as i64)));
            agrees(&UInt64Array::from_iter_values(bits.iter().copied()));
            agrees(&Int8Array::from_iter_values(bits.iter().map(|bits| *bits as i8)));
            for scale in [0, 1, 5, 38] {
                let values = bits.iter().map(|bits| i128::from(*bits as i64) >> (bits % 60));
                let array = Decimal128Array::from_iter_values(values).with_precision_and_scale(38, scale);
                agrees(&array.unwrap());
            }
        }

        #[test]
        fn times_are_those_of_cells(raw in prop::collection::vec(any::<i64>(), 1..20), shift in 0u32..50) {
            let values = || raw.iter().map(|raw| raw >> shift);
            agrees(&Date32Array::from_iter_values(values().map(|value| value as i32)));
            agrees(&TimestampSecondArray::from_iter_values(values()));
            agrees(&TimestampMillisecondArray::from_iter_values(values()).with_timezone("UTC"));
            agrees(&TimestampMicrosecondArray::from_iter_values(values()).with_timezone("+00:00"));
            agrees(&TimestampMicrosecondArray::from_iter_values(values()).with_timezone("Europe/Berlin"));
            agrees(&TimestampNanosecondArray::from_iter_values(values()));
        }
    }

    #[test]
    fn every_power_of_ten_and_special_values() {
        let powers = (-330..310).map(|n| format!("1e{n}").parse::<f64>().unwrap());
        let near = powers.clone().flat_map(|n| [n, -n, n * 0.1, n * 1.5, n.next_up(), n.next_down()]);
        agrees(&Float64Array::from_iter_values(near));
        agrees(&Float32Array::from_iter_values(powers.map(|n| n as f32)));
        agrees(&Float64Array::from(vec![Some(f64::NAN), None, Some(f64::INFINITY), Some(-0.0), Some(0.0)]));
        agrees(&BooleanArray::from(vec![Some(true), None, Some(false)]));
        agrees(&NullArray::new(2));
        let dates: ArrayRef =
            Arc::new(Date32Array::from(vec![i32::MIN, -719_528, -719_529, 0, 2_932_896, 2_932_897]));
        agrees(dates.as_ref());
    }
}
