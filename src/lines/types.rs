//! Which type a column's cells fit: decided on a sample, never enforced — a cell that does not fit
//! keeps its text. A column of a text format is Utf8 in its schema and says the guess in its field's
//! metadata (`inferred`, in Arrow's words); [`typed`] makes values of it where they are needed.

use arrow::array::*;
use arrow::datatypes::*;
use chrono::{NaiveDate, NaiveDateTime};
use std::sync::Arc;

/// The key in a field's metadata.
const INFERRED: &str = "inferred";

/// A column of a text format: Utf8, with the type that its cells fit.
pub fn field(name: impl Into<String>, guess: &DataType) -> Field {
    let inferred = crate::display::arrow_type(guess);
    Field::new(name, DataType::Utf8, true).with_metadata([(INFERRED.to_owned(), inferred)].into())
}

/// The type that was guessed for a column of a text format; `None` for other columns.
pub fn inferred(field: &Field) -> Option<DataType> {
    let word = field.metadata().get(INFERRED)?;
    let known = [
        DataType::Boolean,
        DataType::Int64,
        DataType::Float64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
    ];
    let known = known.into_iter().find(|kind| crate::display::arrow_type(kind) == *word);
    Some(known.unwrap_or(DataType::Utf8))
}

/// The zone of timestamps that say one.
const UTC: &str = "+00:00";

/// The cells of a text column as values of `kind` (one that [`inferred`] gives): empty cells become
/// null, and so do those that do not fit, which are counted.
pub fn typed(cells: &StringArray, kind: &DataType) -> (ArrayRef, u64) {
    let mut unfit = 0;
    macro_rules! parsed {
        ($parse:expr) => {
            cells
                .iter()
                .map(|cell| {
                    let cell = trimmed(cell?);
                    let value = $parse(cell);
                    unfit += u64::from(value.is_none() && !cell.is_empty());
                    value
                })
                .collect()
        };
    }
    let array: ArrayRef = match kind {
        DataType::Boolean => Arc::new({
            let array: BooleanArray = parsed!(boolean);
            array
        }),
        DataType::Int64 => Arc::new({
            let array: Int64Array = parsed!(|cell: &str| cell.parse::<i64>().ok());
            array
        }),
        DataType::Float64 => Arc::new({
            let array: Float64Array = parsed!(|cell: &str| cell.parse::<f64>().ok());
            array
        }),
        DataType::Date32 => Arc::new({
            let array: Date32Array =
                parsed!(|cell: &str| date(cell.as_bytes()).map(Date32Type::from_naive_date));
            array
        }),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => Arc::new({
            let array: TimestampMicrosecondArray =
                parsed!(|cell: &str| timestamp(cell).map(|t| t.and_utc().timestamp_micros()));
            array.with_timezone_opt(zone.clone())
        }),
        _ if cells.iter().any(|cell| cell == Some("")) => {
            Arc::new(cells.iter().map(|cell| cell.filter(|c| !c.is_empty())).collect::<StringArray>())
        }
        _ => Arc::new(cells.clone()),
    };
    (array, unfit)
}

/// `cell.trim()`, quick where there is nothing to trim.
fn trimmed(cell: &str) -> &str {
    let solid = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    if solid(cell.as_bytes().first()) && solid(cell.as_bytes().last()) { cell } else { cell.trim() }
}

/// The types that all cells so far fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    seen: bool,
    boolean: bool,
    integer: bool,
    float: bool,
    date: bool,
    stamp: bool,
    /// `Some(true)`: every timestamp had a zone.
    zone: Option<bool>,
}

impl Default for Guess {
    fn default() -> Self {
        Self::new()
    }
}

impl Guess {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Guess { seen: false, boolean: true, integer: true, float: true, date: true, stamp: true, zone: None }
    }

    /// Takes one cell into account. Empty cells and the usual words for a missing one say nothing.
    pub fn see(&mut self, cell: &str) {
        let cell = cell.trim();
        if cell.is_empty() || is_missing(cell) {
            return;
        }
        self.seen = true;
        self.boolean = self.boolean && is_boolean(cell);
        let integer = self.float && is_integer(cell);
        // Digits beyond 64 bits are no float: as one they would lose some.
        let beyond = !integer && cell.strip_prefix('-').unwrap_or(cell).bytes().all(|b| b.is_ascii_digit());
        self.float = self.float && !beyond && (integer || is_float(cell));
        self.integer = self.integer && integer;
        let date = (self.date || self.stamp) && is_date(cell);
        let stamp = if self.stamp { timestamp_zone(cell) } else { None };
        self.date = self.date && date;
        self.stamp = self.stamp && (date || stamp.is_some());
        if let Some(zone) = stamp {
            self.stamp = self.stamp && self.zone.is_none_or(|before| before == zone);
            self.zone = Some(zone);
        }
    }

    /// Whether any cell had a value.
    pub fn seen(&self) -> bool {
        self.seen
    }

    /// Whether all cells are numbers.
    pub fn is_number(&self) -> bool {
        self.seen && (self.integer || self.float)
    }

    /// The narrowest type.
    pub fn data_type(&self) -> DataType {
        match self {
            _ if !self.seen => DataType::Utf8,
            _ if self.boolean => DataType::Boolean,
            _ if self.integer => DataType::Int64,
            _ if self.float => DataType::Float64,
            _ if self.date => DataType::Date32,
            _ if self.stamp => {
                let zone = (self.zone == Some(true)).then(|| UTC.into());
                DataType::Timestamp(TimeUnit::Microsecond, zone)
            }
            _ => DataType::Utf8,
        }
    }

    /// Whether the cells are more than plain text.
    pub fn is_typed(&self) -> bool {
        self.data_type() != DataType::Utf8
    }
}

/// Whether a cell fits some type but text.
pub fn is_typed(cell: &str) -> bool {
    let mut guess = Guess::new();
    guess.see(cell);
    guess.is_typed()
}

fn is_missing(cell: &str) -> bool {
    matches!(cell, "NA" | "N/A" | "n/a" | "#N/A" | "null" | "NULL" | "Null" | "None" | "\\N")
}

fn is_boolean(cell: &str) -> bool {
    boolean(cell).is_some()
}

fn boolean(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A leading zero makes it a code (a postal code, a telephone number).
fn has_leading_zero(cell: &str) -> bool {
    let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell).as_bytes();
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

fn is_integer(cell: &str) -> bool {
    !has_leading_zero(cell) && cell.parse::<i64>().is_ok()
}

fn is_float(cell: &str) -> bool {
    !has_leading_zero(cell) && cell.parse::<f64>().is_ok()
}

fn is_date(cell: &str) -> bool {
    date(cell.as_bytes()).is_some()
}

/// The number that `digits` digits write.
fn digits(text: Option<&[u8]>) -> Option<u32> {
    let digit = |number: u32, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'));
    text?.iter().try_fold(0, digit)
}

/// `2024-01-31` or `2024/01/31`.
fn date(cell: &[u8]) -> Option<NaiveDate> {
    let dashed = |at: usize| matches!(cell.get(at), Some(b'-' | b'/'));
    if cell.len() != 10 || !dashed(4) || !dashed(7) {
        return None;
    }
    let (year, month, day) = (digits(cell.get(..4))?, digits(cell.get(5..7))?, digits(cell.get(8..))?);
    NaiveDate::from_ymd_opt(year as i32, month, day)
}

/// A date and, behind `T` or a space, a clock, as the moment in UTC; a cell without zone is taken as
/// UTC. A date alone is its midnight.
fn timestamp(cell: &str) -> Option<NaiveDateTime> {
    if cell.len() == 10 {
        return date(cell.as_bytes())?.and_hms_opt(0, 0, 0);
    }
    let (local, zone) = moment(cell)?;
    local.checked_sub_signed(chrono::Duration::minutes(zone.unwrap_or(0)))
}

/// Whether a timestamp has a zone; `None` for cells that are none.
fn timestamp_zone(cell: &str) -> Option<bool> {
    moment(cell).map(|(_, zone)| zone.is_some())
}

/// The local moment and the zone in minutes of `2024-01-31T12:00:00.123+01:00` and the like.
fn moment(cell: &str) -> Option<(NaiveDateTime, Option<i64>)> {
    let cell = cell.as_bytes();
    let day = date(cell.get(..10)?)?;
    if !matches!(cell.get(10), Some(b'T' | b' ' | b't')) {
        return None;
    }
    let clock = cell.get(11..)?;
    let zone_at = clock.iter().position(|b| matches!(b, b'Z' | b'+' | b'-')).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(zone_at);
    Some((time(day, clock.trim_ascii_end())?, offset(zone)?))
}

/// `12:00`, `12:00:00` or `12:00:00.123` on a day.
fn time(day: NaiveDate, clock: &[u8]) -> Option<NaiveDateTime> {
    let (whole, fraction) = match clock.iter().position(|b| *b == b'.') {
        Some(dot) => (clock.get(..dot)?, clock.get(dot + 1..).filter(|f| !f.is_empty())?),
        None => (clock, &b"0"[..]),
    };
    let second = match whole.len() {
        5 => 0,
        8 if whole.get(5) == Some(&b':') => digits(whole.get(6..))?,
        _ => return None,
    };
    if whole.get(2) != Some(&b':') || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // Digits beyond nanoseconds are dropped.
    let kept = fraction.get(..9).unwrap_or(fraction);
    let nanos = digits(Some(kept))? * 10u32.pow(9 - kept.len() as u32);
    // A leap second is the last nanosecond before the next minute for chrono.
    let (second, nanos) = if second == 60 { (59, nanos + 1_000_000_000) } else { (second, nanos) };
    day.and_hms_nano_opt(digits(whole.get(..2))?, digits(whole.get(3..5))?, second, nanos)
}

/// Minutes of `Z`, `+01`, `+0100`, `+01:00`; `Some(None)` for nothing.
fn offset(zone: &[u8]) -> Option<Option<i64>> {
    let Some((sign, rest)) = zone.split_first() else { return Some(None) };
    if *sign == b'Z' {
        return rest.is_empty().then_some(Some(0));
    }
    let minutes = match rest.len() {
        2 => 0,
        4 => digits(rest.get(2..))?,
        5 if rest.get(2) == Some(&b':') => digits(rest.get(3..))?,
        _ => return None,
    };
    let minutes = i64::from(digits(rest.get(..2))? * 60 + minutes);
    Some(Some(if *sign == b'-' { -minutes } else { minutes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[&str]) -> String {
        let mut guess = Guess::new();
        cells.iter().for_each(|cell| guess.see(cell));
        guess.data_type().to_string()
    }

    #[test]
    fn the_narrowest_type_that_fits_all() {
        assert_eq!(of(&["1", "", "-2"]), "Int64");
        assert_eq!(of(&["1", "NA", "0.5", "1e3", "nan", "inf"]), "Float64");
        assert_eq!(of(&["0.5", "1"]), "Float64");
        assert_eq!(of(&["01234", "99999"]), "Utf8");
        assert_eq!(of(&["18446744073709551615", "1"]), "Utf8");
        assert_eq!(of(&["true", "False"]), "Boolean");
        assert_eq!(of(&["2024-01-31", "2024/02/29"]), "Date32");
        assert_eq!(of(&["2023-02-29"]), "Utf8");
        assert_eq!(of(&["2024-01-31", "2024-01-31 12:00:00.5"]), "Timestamp(µs)");
        assert_eq!(of(&["2024-01-31T12:00:00Z", "2024-01-31T12:00:00+01:00"]), "Timestamp(µs, \"+00:00\")");
        assert_eq!(of(&["2024-01-31T12:00:00Z", "2024-01-31T12:00:00"]), "Utf8");
        for wrong in [
            "2024-01-31T25:00",
            "2024-01-31T12:60",
            "2024-01-31T12:00:00.",
            "2024-01-31T12:00+1",
            "2024-01-31T12.5",
        ] {
            assert_eq!(of(&[wrong]), "Utf8", "{wrong}");
        }
        assert_eq!(of(&["1", "x"]), "Utf8");
        assert_eq!(of(&["", "NA"]), "Utf8");
        assert_eq!(of(&["12:34:56"]), "Utf8");
        assert_eq!(of(&["2024-01-31T", "naïve€uro-1"]), "Utf8");
    }

    #[test]
    fn values_of_a_guess() {
        let of = |kind: &DataType, cells: &[&str]| {
            let (array, unfit) = typed(&StringArray::from(cells.to_vec()), kind);
            let texts: Vec<Option<String>> = (0..array.len()).map(|i| crate::cell::text(&array, i)).collect();
            (texts.iter().map(|t| t.clone().unwrap_or("-".into())).collect::<Vec<_>>().join(" "), unfit)
        };
        assert_eq!(of(&DataType::Int64, &["1", " -2", "", "x"]), ("1 -2 - -".into(), 1));
        assert_eq!(of(&DataType::Float64, &["1e3", "nan", "NA"]), ("1000.0 nan -".into(), 1));
        assert_eq!(of(&DataType::Boolean, &["True", "false", "1"]), ("true false -".into(), 1));
        assert_eq!(of(&DataType::Date32, &["2024/02/29", "2023-02-29"]), ("2024-02-29 -".into(), 1));
        assert_eq!(of(&DataType::Utf8, &["a", ""]), ("a -".into(), 0));
        let stamp = inferred(&field("t", &DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()))));
        let cells = ["2024-01-31T12:00:00.5+01:00", "2024-01-31 12:00Z", "2024-01-31"];
        let expected = "2024-01-31T11:00:00.500+00:00 2024-01-31T12:00:00+00:00 2024-01-31T00:00:00+00:00";
        assert_eq!(of(&stamp.unwrap(), &cells), (expected.into(), 0));
    }
}
