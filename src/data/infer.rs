//! Which type a column's cells fit: decided on a sample, never enforced — a cell that does not fit
//! keeps its text. A column of a text format is Utf8 in its schema, its table tells the guess
//! ([`Table::inferred`]), and [`typed`] makes values of it where they are needed.

pub mod cells;

use crate::data::content::Table;
use arrow::array::*;
use arrow::datatypes::*;
use cells::{Moment, boolean, has_leading_zero, is_missing};
use std::sync::Arc;

/// The type that the cells of a column of texts are made values of by [`typed`]: the inferred one, of which lists
/// and structs stay text. `None` for columns whose file states their type.
pub fn inferred(table: &dyn Table, column: usize) -> Option<DataType> {
    let found = table.inferred(column)?;
    Some(if found.is_nested() { DataType::Utf8 } else { found.clone() })
}

/// The zone of timestamps that say one.
const UTC: &str = "+00:00";

/// A column as values of the type that [`inferred`] gives, and how many of its cells do not fit; where there is no such
/// type, the column itself.
pub fn values(array: &ArrayRef, kind: Option<&DataType>) -> (ArrayRef, u64) {
    match (kind, array.as_string_opt::<i32>()) {
        (Some(kind), Some(cells)) => typed(cells, kind),
        _ => (array.clone(), 0),
    }
}

/// The cells of a text column as values of `kind` (one that [`inferred`] gives): empty cells become
/// null, and so do those that do not fit, which are counted.
pub fn typed(texts: &StringArray, kind: &DataType) -> (ArrayRef, u64) {
    match kind {
        DataType::Boolean => {
            let mut unfit = 0;
            let one = |cell: Option<&str>| {
                let cell = cells::trimmed(cell?);
                let value = boolean(cell);
                unfit += u64::from(value.is_none() && !cell.is_empty());
                value
            };
            let array: BooleanArray = texts.iter().map(one).collect();
            (Arc::new(array), unfit)
        }
        DataType::Int64 => of_fitting::<Int64Type>(texts, |cell| cell.parse().ok()),
        DataType::Float64 => of_fitting::<Float64Type>(texts, |cell| cell.parse().ok()),
        DataType::Date32 => of_fitting::<Date32Type>(texts, |cell| cells::days(cell.as_bytes())),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let (array, unfit) = of_fitting::<TimestampMicrosecondType>(texts, micros);
            let array = array.as_primitive::<TimestampMicrosecondType>().clone();
            (Arc::new(array.with_timezone_opt(zone.clone())), unfit)
        }
        _ if texts.iter().any(|cell| cell == Some("")) => {
            let texts: StringArray = texts.iter().map(|cell| cell.filter(|c| !c.is_empty())).collect();
            (Arc::new(texts), 0)
        }
        _ => (Arc::new(texts.clone()), 0),
    }
}

/// The cells as values, null where one does not fit, and how many do not.
fn of_fitting<T: ArrowPrimitiveType>(
    texts: &StringArray,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> (ArrayRef, u64) {
    let mut unfit = 0;
    let one = |cell: &str| {
        let value = parse(cell);
        unfit += u64::from(value.is_none() && !cell.is_empty());
        Ok(value)
    };
    let array: PrimitiveArray<T> = match cells::values(texts, one) {
        Ok(array) => array,
        Err(_) => PrimitiveArray::new_null(texts.len()),
    };
    (Arc::new(array), unfit)
}

/// Microseconds from 1970 on of a moment, or of a date alone, which is its midnight.
fn micros(cell: &str) -> Option<i64> {
    match cells::days(cell.as_bytes()) {
        Some(days) => i64::from(days).checked_mul(86_400_000_000),
        None => Moment::parse(cell)?.micros(),
    }
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

fn is_boolean(cell: &str) -> bool {
    boolean(cell).is_some()
}

fn is_integer(cell: &str) -> bool {
    !has_leading_zero(cell) && cell.parse::<i64>().is_ok()
}

fn is_float(cell: &str) -> bool {
    !has_leading_zero(cell) && cell.parse::<f64>().is_ok()
}

fn is_date(cell: &str) -> bool {
    cells::days(cell.as_bytes()).is_some()
}

/// Whether a timestamp has a zone; `None` for cells that are none.
fn timestamp_zone(cell: &str) -> Option<bool> {
    Moment::parse(cell).map(|moment| moment.zoned)
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
            let texts: Vec<Option<String>> =
                (0..array.len()).map(|i| crate::data::cell::text(&array, i)).collect();
            (texts.iter().map(|t| t.clone().unwrap_or("-".into())).collect::<Vec<_>>().join(" "), unfit)
        };
        assert_eq!(of(&DataType::Int64, &["1", " -2", "", "x"]), ("1 -2 - -".into(), 1));
        assert_eq!(of(&DataType::Float64, &["1e3", "nan", "NA"]), ("1000.0 nan -".into(), 1));
        assert_eq!(of(&DataType::Boolean, &["True", "false", "1"]), ("true false -".into(), 1));
        assert_eq!(of(&DataType::Date32, &["2024/02/29", "2023-02-29"]), ("2024-02-29 -".into(), 1));
        assert_eq!(of(&DataType::Utf8, &["a", ""]), ("a -".into(), 0));
        let stamp = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
        let cells = ["2024-01-31T12:00:00.5+01:00", "2024-01-31 12:00Z", "2024-01-31"];
        let expected = "2024-01-31T11:00:00.500+00:00 2024-01-31T12:00:00+00:00 2024-01-31T00:00:00+00:00";
        assert_eq!(of(&stamp, &cells), (expected.into(), 0));
    }
}
