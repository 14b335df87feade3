//! Which type a column's cells fit: decided on a sample, never enforced — a cell that does not fit
//! keeps its text.

use arrow::datatypes::{DataType, TimeUnit};

/// The types that all cells so far fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    seen: bool,
    boolean: bool,
    integer: bool,
    float: bool,
    date: bool,
    stamp: bool,
    /// `Some(true)`: every timestamp had a zone.
    zone: Option<bool>,
}

impl Guess {
    pub(super) fn new() -> Self {
        Guess { seen: false, boolean: true, integer: true, float: true, date: true, stamp: true, zone: None }
    }

    /// Takes one cell into account. Empty cells and the usual words for a missing one say nothing.
    pub(super) fn see(&mut self, cell: &str) {
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
    pub(super) fn seen(&self) -> bool {
        self.seen
    }

    /// The narrowest type.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            _ if !self.seen => DataType::Utf8,
            _ if self.boolean => DataType::Boolean,
            _ if self.integer => DataType::Int64,
            _ if self.float => DataType::Float64,
            _ if self.date => DataType::Date32,
            _ if self.stamp => {
                let zone = (self.zone == Some(true)).then(|| "+00:00".into());
                DataType::Timestamp(TimeUnit::Microsecond, zone)
            }
            _ => DataType::Utf8,
        }
    }

    /// Whether the cells are more than plain text.
    pub(super) fn is_typed(&self) -> bool {
        self.data_type() != DataType::Utf8
    }
}

/// Whether a cell fits some type but text.
pub(super) fn is_typed(cell: &str) -> bool {
    let mut guess = Guess::new();
    guess.see(cell);
    guess.is_typed()
}

fn is_missing(cell: &str) -> bool {
    matches!(cell, "NA" | "N/A" | "n/a" | "#N/A" | "null" | "NULL" | "Null" | "None" | "\\N")
}

fn is_boolean(cell: &str) -> bool {
    matches!(cell, "true" | "false" | "True" | "False" | "TRUE" | "FALSE")
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

/// `2024-01-31` or `2024/01/31`.
fn is_date(cell: &str) -> bool {
    let parts: Vec<&str> = cell.split(['-', '/']).collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    digits(year, 4)
        && digits(month, 2)
        && digits(day, 2)
        && chrono::NaiveDate::from_ymd_opt(number(year) as i32, number(month), number(day)).is_some()
}

/// For `2024-01-31T12:00:00.123+01:00` and the like: whether there is a zone. `None` for others.
fn timestamp_zone(cell: &str) -> Option<bool> {
    let (date, clock) = (cell.get(..10)?, cell.get(11..)?);
    if !is_date(date) || !matches!(cell.as_bytes().get(10), Some(b'T' | b' ' | b't')) {
        return None;
    }
    let zone_at = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = (clock.get(..zone_at)?.trim_end(), clock.get(zone_at..)?);
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let parts: Vec<&str> = whole.split(':').collect();
    let fits = |text: &&str, below: u32| text.len() == 2 && text.parse::<u32>().is_ok_and(|n| n < below);
    let clock_fits = match parts.as_slice() {
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
    (clock_fits && digits(fraction) && zone_fits).then_some(!zone.is_empty())
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
}
