//! What single cells of text write: truth, numbers, dates, moments; and whole columns of them as values. Which texts are
//! values of a type is decided here alone, for the types that are inferred and for the values that are made.

use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::*;
use chrono::NaiveDate;
use std::sync::Arc;

/// The usual words for a missing value.
pub fn is_missing(cell: &str) -> bool {
    matches!(cell, "NA" | "N/A" | "n/a" | "#N/A" | "null" | "NULL" | "Null" | "None" | "\\N")
}

/// `true` or `false`, in the three usual ways to write them.
pub fn boolean(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// An integer of 64 bits. Leading zeros make it a code (a postal code, a telephone number), which must stay text.
pub fn integer(cell: &str) -> Option<i64> {
    if has_leading_zero(cell) { None } else { cell.parse().ok() }
}

/// A float. An integer that a float or 64 bits do not hold exactly is none, nor is a number that would be infinite.
pub fn float(cell: &str) -> Option<f64> {
    let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        let whole = integer(cell)?;
        return Some(whole as f64).filter(|float| *float as i128 == i128::from(whole));
    }
    let value: f64 = if has_leading_zero(cell) { None } else { cell.parse().ok() }?;
    Some(value).filter(|value| value.is_finite() || !digits.bytes().any(|b| b.is_ascii_digit()))
}

fn has_leading_zero(cell: &str) -> bool {
    let digits = match cell.as_bytes() {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

/// `cell.trim()`, quick where there is nothing to trim.
pub fn trimmed(cell: &str) -> &str {
    let solid = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    if solid(cell.as_bytes().first()) && solid(cell.as_bytes().last()) { cell } else { cell.trim() }
}

/// The days from 1970 on of `2024-01-31` or `2024/01/31`.
pub fn days(cell: &[u8]) -> Option<i32> {
    let &[a, b, c, d, dash, m, n, slash, x, y] = cell else { return None };
    if !matches!((dash, slash), (b'-' | b'/', b'-' | b'/')) {
        return None;
    }
    let (year, month, day) = (digits(&[a, b, c, d])?, digits(&[m, n])?, digits(&[x, y])?);
    Some(NaiveDate::from_ymd_opt(year as i32, month, day)?.to_epoch_days())
}

/// A date with a clock, as a cell writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds from 1970 on, in UTC; a cell without a zone is taken as UTC.
    pub seconds: i64,
    /// And nanoseconds; 10⁹ and more in a leap second.
    pub nanos: u32,
    /// Whether it says its zone.
    pub zoned: bool,
    /// Whether this is all that the cell says: no leap second, no digits beyond nanoseconds.
    pub exact: bool,
}

impl Moment {
    /// `2024-01-31T12:00:00.123+01:00` and the like: a date and, behind `T` or a space, a clock. A date alone is
    /// no moment.
    pub fn parse(cell: &str) -> Option<Moment> {
        let (date, rest) = cell.as_bytes().split_at_checked(10)?;
        let days = i64::from(days(date)?);
        let (b'T' | b't' | b' ', clock) = rest.split_first()? else { return None };
        let zone_at =
            clock.iter().position(|b| matches!(b, b'Z' | b'z' | b'+' | b'-')).unwrap_or(clock.len());
        let (clock, zone) = clock.split_at(zone_at);
        let offset = offset(zone)?;
        let (second, nanos, exact) = time(clock.trim_ascii_end())?;
        let seconds = days * 86_400 + second - offset;
        Some(Moment { seconds, nanos, zoned: !zone.is_empty(), exact })
    }
}

/// A date and perhaps a time, with a zone exactly if `zoned`, as a count of so many nanoseconds from 1970 on. One
/// that is finer than such a unit is none.
pub fn stamp(cell: &str, zoned: bool, unit: i64) -> Option<i64> {
    let per_second = 1_000_000_000 / unit;
    if let Some(days) = days(cell.as_bytes()) {
        return (!zoned).then(|| i64::from(days).checked_mul(86_400 * per_second))?;
    }
    let moment = Moment::parse(cell).filter(|moment| moment.zoned == zoned && moment.exact)?;
    let nanos = i64::from(moment.nanos);
    let count = moment.seconds.checked_mul(per_second)?.checked_add(nanos / unit)?;
    Some(count).filter(|_| nanos % unit == 0)
}

/// The number that up to nine digits write.
fn digits(text: &[u8]) -> Option<u32> {
    let digit = |number: u32, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'));
    text.iter().try_fold(0, digit)
}

/// `12:00`, `12:00:00` or `12:00:00.123`: seconds of the day, nanoseconds, and whether that is all of it.
fn time(clock: &[u8]) -> Option<(i64, u32, bool)> {
    let (whole, fraction) = match clock.iter().position(|b| *b == b'.') {
        Some(dot) => (clock.get(..dot)?, clock.get(dot + 1..).filter(|f| !f.is_empty())?),
        None => (clock, &b"0"[..]),
    };
    let (hour, minute, second) = match *whole {
        [a, b, b':', c, d] => (digits(&[a, b])?, digits(&[c, d])?, 0),
        [a, b, b':', c, d, b':', e, f] => (digits(&[a, b])?, digits(&[c, d])?, digits(&[e, f])?),
        _ => return None,
    };
    let (kept, beyond) = fraction.split_at(fraction.len().min(9));
    if hour > 23 || minute > 59 || second > 60 || !beyond.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let nanos = digits(kept)? * 10u32.pow(9 - kept.len() as u32);
    let leap = second == 60;
    // A leap second is what follows the minute's last nanosecond.
    let (second, nanos) = if leap { (59, nanos + 1_000_000_000) } else { (second, nanos) };
    let exact = !leap && beyond.iter().all(|digit| *digit == b'0');
    Some((i64::from(hour * 3_600 + minute * 60 + second), nanos, exact))
}

/// Seconds east of Greenwich of `Z`, `+01`, `+0100`, `+01:00`; 0 for nothing.
fn offset(zone: &[u8]) -> Option<i64> {
    let (sign, hours, minutes) = match *zone {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign, a, b] => (sign, digits(&[a, b])?, 0),
        [sign, a, b, c, d] | [sign, a, b, b':', c, d] => (sign, digits(&[a, b])?, digits(&[c, d])?),
        _ => return None,
    };
    let seconds = i64::from(hours * 3_600 + minutes * 60);
    match sign {
        b'+' if hours < 24 && minutes < 60 => Some(seconds),
        b'-' if hours < 24 && minutes < 60 => Some(-seconds),
        _ => None,
    }
}

/// The cells of a column as values of `kind`, of texts as they are. Null are empty cells, the usual words for a missing
/// one, and those that are no value of the type, if `unfit` lets them pass.
///
/// # Errors
/// The first one of `unfit`, which is asked with the cell as it stands.
pub fn column<'a, E>(
    texts: &'a StringArray,
    kind: &DataType,
    unfit: impl FnMut(&'a str) -> Result<(), E>,
) -> Result<ArrayRef, E> {
    Ok(match kind {
        DataType::Boolean => {
            let flags = values::<UInt8Type, E>(texts, |cell| boolean(cell).map(u8::from), unfit)?;
            Arc::new(BooleanArray::from_unary(&flags, |flag| flag > 0))
        }
        DataType::Int64 => Arc::new(values::<Int64Type, E>(texts, integer, unfit)?),
        DataType::Float64 => Arc::new(values::<Float64Type, E>(texts, float, unfit)?),
        DataType::Date32 => Arc::new(values::<Date32Type, E>(texts, |cell| days(cell.as_bytes()), unfit)?),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            let counts = values::<TimestampNanosecondType, E>(texts, |c| stamp(c, zone.is_some(), 1), unfit)?;
            Arc::new(counts.with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let one = |cell: &str| stamp(cell, zone.is_some(), 1_000);
            Arc::new(
                values::<TimestampMicrosecondType, E>(texts, one, unfit)?.with_timezone_opt(zone.clone()),
            )
        }
        _ => Arc::new(texts.clone()),
    })
}

/// The trimmed cells of a column as what `one` makes of them. A cell that is null is an empty one.
fn values<'a, T: ArrowPrimitiveType, E>(
    cells: &'a StringArray,
    one: impl Fn(&str) -> Option<T::Native>,
    mut unfit: impl FnMut(&'a str) -> Result<(), E>,
) -> Result<PrimitiveArray<T>, E> {
    let mut values = Vec::with_capacity(cells.len());
    let mut valid = Vec::new();
    for (row, cell) in cells.iter().enumerate() {
        let text = trimmed(cell.unwrap_or_default());
        let value = one(text);
        values.push(value.unwrap_or_default());
        if value.is_none() && !text.is_empty() && !is_missing(text) {
            unfit(cell.unwrap_or_default())?;
        }
        // Most columns have no nulls, and need no list of them.
        if value.is_none() && valid.is_empty() {
            valid.reserve(cells.len());
            valid.resize(row, true);
        }
        if value.is_none() || !valid.is_empty() {
            valid.push(value.is_some());
        }
    }
    let nulls = Some(valid).filter(|valid| !valid.is_empty()).map(NullBuffer::from);
    Ok(PrimitiveArray::new(values.into(), nulls))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(cell: &str) -> Option<(i64, u32, bool, bool)> {
        Moment::parse(cell).map(|m| (m.seconds, m.nanos, m.zoned, m.exact))
    }

    #[test]
    fn moments_as_they_are_written() {
        assert_eq!(moment("1970-01-02 00:00"), Some((86_400, 0, false, true)));
        assert_eq!(moment("1970/01/01t00:00:01.5Z"), Some((1, 500_000_000, true, true)));
        for zone in ["+01:30", "+0130"] {
            assert_eq!(moment(&format!("1970-01-01T01:30:00 {zone}")), Some((0, 0, true, true)), "{zone}");
        }
        assert_eq!(moment("1970-01-01T00:00:00-02"), Some((7_200, 0, true, true)));
        assert_eq!(moment("1970-01-01T00:00:00.1234567890"), Some((0, 123_456_789, false, true)));
        assert_eq!(moment("1970-01-01T00:00:00.1234567891"), Some((0, 123_456_789, false, false)));
        assert_eq!(moment("1970-01-01T00:00:60"), Some((59, 1_000_000_000, false, false)));
        for wrong in [
            "1970-01-01",
            "1970-01-01T",
            "1970-01-01T24:00",
            "1970-01-01T00:60",
            "1970-01-01T00:00:61",
            "1970-01-01T00:00:00.",
            "1970-01-01T00:00:00.x",
            "1970-01-01T00:00+1",
            "1970-01-01T00:00+24:00",
            "1970-01-01T00:00Zulu",
            "1970-02-30T00:00",
            "1970-01-0éT00:00",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn nulls_stand_where_they_are() {
        let cells = StringArray::from(vec![Some("1"), None, Some(" 3 "), Some("x")]);
        let number = |cell: &str| cell.parse().ok();
        let parsed = values::<Int64Type, ()>(&cells, number, |_| Ok(())).unwrap();
        assert_eq!(parsed.iter().collect::<Vec<_>>(), [Some(1), None, Some(3), None]);
        assert_eq!(values::<Int64Type, _>(&cells, number, Err).unwrap_err(), "x");
        let cells = StringArray::from(vec!["1", "2"]);
        assert!(values::<Int64Type, &str>(&cells, number, Err).unwrap().nulls().is_none());
    }
}
