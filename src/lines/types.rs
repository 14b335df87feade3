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
    let mut each = |cell: &str, fits: bool| {
        let missing = cell.trim().is_empty();
        unfit += u64::from(!fits && !missing);
    };
    macro_rules! parsed {
        ($parse:expr) => {
            cells
                .iter()
                .map(|cell| {
                    let cell = cell?;
                    let value = $parse(cell.trim());
                    each(cell, value.is_some());
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
            let array: Date32Array = parsed!(|cell: &str| date(cell).map(Date32Type::from_naive_date));
            array
        }),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => Arc::new({
            let array: TimestampMicrosecondArray =
                parsed!(|cell: &str| timestamp(cell).map(|t| t.and_utc().timestamp_micros()));
            array.with_timezone_opt(zone.clone())
        }),
        _ => Arc::new(cells.iter().map(|cell| cell.filter(|c| !c.is_empty())).collect::<StringArray>()),
    };
    (array, unfit)
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
    date(cell).is_some()
}

/// `2024-01-31` or `2024/01/31`.
fn date(cell: &str) -> Option<NaiveDate> {
    let parts: Vec<&str> = cell.split(['-', '/']).collect();
    let [year, month, day] = parts.as_slice() else { return None };
    let number = |text: &str, digits: usize| {
        let fits = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        if fits { text.parse::<u32>().ok() } else { None }
    };
    NaiveDate::from_ymd_opt(number(year, 4)? as i32, number(month, 2)?, number(day, 2)?)
}

/// A date and, behind `T` or a space, a clock, as the moment in UTC; a cell without zone is taken as
/// UTC. A date alone is its midnight.
fn timestamp(cell: &str) -> Option<NaiveDateTime> {
    if cell.len() == 10 {
        return date(cell)?.and_hms_opt(0, 0, 0);
    }
    let (day, clock, zone) = parts(cell)?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut places = whole.split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute, second) = (places.next()??, places.next()??, places.next().unwrap_or(Some(0))?);
    let nanos: u32 = format!("{:0<9}", fraction.get(..9).unwrap_or(fraction)).parse().ok()?;
    // A leap second is the last nanosecond before the next minute for chrono.
    let (second, nanos) = if second == 60 { (59, nanos + 1_000_000_000) } else { (second, nanos) };
    let local = day.and_hms_nano_opt(hour, minute, second, nanos)?;
    local.checked_sub_signed(offset(zone)?)
}

/// `Z`, `+01`, `+0100`, `+01:00` or nothing.
fn offset(zone: &str) -> Option<chrono::Duration> {
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    if digits.is_empty() {
        return Some(chrono::Duration::zero());
    }
    let (hours, minutes) = (digits.get(..2)?.parse::<i64>().ok()?, digits.get(2..).filter(|m| !m.is_empty()));
    let minutes = hours * 60 + minutes.map_or(Some(0), |m| m.parse::<i64>().ok())?;
    Some(chrono::Duration::minutes(if zone.starts_with('-') { -minutes } else { minutes }))
}

/// Date, clock and zone of `2024-01-31T12:00:00.123+01:00` and the like; `None` for others.
fn parts(cell: &str) -> Option<(NaiveDate, &str, &str)> {
    let (day, clock) = (date(cell.get(..10)?)?, cell.get(11..)?);
    if !matches!(cell.as_bytes().get(10), Some(b'T' | b' ' | b't')) {
        return None;
    }
    let zone_at = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = (clock.get(..zone_at)?.trim_end(), clock.get(zone_at..)?);
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let places: Vec<&str> = whole.split(':').collect();
    let fits = |text: &&str, below: u32| text.len() == 2 && text.parse::<u32>().is_ok_and(|n| n < below);
    let clock_fits = match places.as_slice() {
        [h, m] => fits(h, 24) && fits(m, 60),
        [h, m, s] => fits(h, 24) && fits(m, 60) && fits(s, 61),
        _ => false,
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let zone_fits = match zone.as_bytes() {
        [] | b"Z" => true,
        [_, rest @ ..] => {
            matches!(rest.len(), 2 | 4 | 5) && rest.iter().all(|b| b.is_ascii_digit() || *b == b':')
        }
    };
    (clock_fits && digits(fraction) && zone_fits).then_some((day, clock, zone))
}

/// Whether a timestamp has a zone; `None` for cells that are none.
fn timestamp_zone(cell: &str) -> Option<bool> {
    parts(cell).map(|(_, _, zone)| !zone.is_empty())
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
