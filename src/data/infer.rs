//! Which type a column's cells fit: decided on a sample, never enforced — a cell that does not fit
//! keeps its text. A column of a text format is Utf8 in its schema, its table tells the guess
//! ([`Table::inferred`]), and [`typed`] makes values of it where they are needed.

pub mod cells;

use crate::data::content::Table;
use arrow::array::*;
use arrow::datatypes::*;
use cells::{boolean, float, integer, is_missing, stamp};
use std::convert::Infallible;
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
/// null where a type other than text is asked for, and so do those that do not fit, which are counted.
/// An empty text is a text: a reader gives null for a cell in which nothing stands.
pub fn typed(texts: &StringArray, kind: &DataType) -> (ArrayRef, u64) {
    if *kind == DataType::Utf8 {
        return (Arc::new(texts.clone()), 0);
    }
    let mut unfit = 0;
    let count = |_: &str| {
        unfit += 1;
        Ok::<(), Infallible>(())
    };
    let Ok(array) = cells::column(texts, kind, count);
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
    /// Each of [`STAMPS`].
    stamps: [bool; 4],
}

/// Timestamps without and with a zone, as counts of so many nanoseconds.
const STAMPS: [(bool, i64); 4] = [(false, 1_000), (true, 1_000), (false, 1), (true, 1)];

impl Default for Guess {
    fn default() -> Self {
        Self::new()
    }
}

impl Guess {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Guess { seen: false, boolean: true, integer: true, float: true, date: true, stamps: [true; 4] }
    }

    /// Takes one cell into account. Empty cells and the usual words for a missing one say nothing.
    pub fn see(&mut self, cell: &str) {
        let cell = cell.trim();
        if cell.is_empty() || is_missing(cell) {
            return;
        }
        self.seen = true;
        self.boolean = self.boolean && boolean(cell).is_some();
        self.integer = self.integer && integer(cell).is_some();
        self.float = self.float && float(cell).is_some();
        self.date = self.date && cells::days(cell.as_bytes()).is_some();
        for (fits, (zoned, unit)) in self.stamps.iter_mut().zip(STAMPS) {
            *fits = *fits && stamp(cell, zoned, unit).is_some();
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
            _ => match STAMPS.iter().zip(self.stamps).find(|(_, fits)| *fits) {
                Some(((zoned, unit), _)) => {
                    let unit = if *unit == 1 { TimeUnit::Nanosecond } else { TimeUnit::Microsecond };
                    DataType::Timestamp(unit, zoned.then(|| UTC.into()))
                }
                None => DataType::Utf8,
            },
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        assert_eq!(of(&["2024-01-31T12:00:00Z", "2024-01-31"]), "Utf8");
        assert_eq!(of(&["2024-01-31 12:00:00.5", "2024-01-31 12:00:00.123456789"]), "Timestamp(ns)");
        assert_eq!(of(&["9007199254740993", "1"]), "Int64");
        assert_eq!(of(&["9007199254740993", "0.5"]), "Utf8");
        assert_eq!(of(&["0.5", "1e999"]), "Utf8");
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
        assert_eq!(of(&DataType::Float64, &["1e3", "nan", "NA"]), ("1000.0 nan -".into(), 0));
        assert_eq!(of(&DataType::Int64, &["007", "9007199254740993"]), ("- 9007199254740993".into(), 1));
        assert_eq!(of(&DataType::Float64, &["9007199254740993", "1e999"]), ("- -".into(), 2));
        assert_eq!(of(&DataType::Boolean, &["True", "false", "1"]), ("true false -".into(), 1));
        assert_eq!(of(&DataType::Date32, &["2024/02/29", "2023-02-29"]), ("2024-02-29 -".into(), 1));
        assert_eq!(of(&DataType::Utf8, &["a", ""]), ("a ".into(), 0));
        let stamp = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
        let cells = ["2024-01-31T12:00:00.5+01:00", "2024-01-31 12:00Z", "2024-01-31"];
        // A date without a zone is no moment.
        let expected = "2024-01-31T11:00:00.500+00:00 2024-01-31T12:00:00+00:00 -";
        assert_eq!(of(&stamp, &cells), (expected.into(), 1));
    }

    /// Texts of numbers, codes, dates and times, and words between them.
    fn cells() -> impl Strategy<Value = Vec<String>> {
        let integer = || prop_oneof![any::<i64>().prop_map(|n| n.to_string()), "[-+]?[0-9]{1,21}"];
        let float = || {
            prop_oneof![
                any::<f64>().prop_map(|n| format!("{n:?}")),
                "[-+]?[0-9]{0,18}[.][0-9]{1,18}(e[-+]?[0-9]{1,3})?",
                "(nan|NaN|inf|-inf|1e999)"
            ]
        };
        let date = || "(0001|1676|1970|2024)[-/](0[1-9]|1[0-2])[-/](0[1-9]|[12][0-9]|3[01])";
        let plain = || (date(), "[T ]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)([.][0-9]{1,11})?");
        let plain = move || plain().prop_map(|(date, clock)| date + &clock);
        let zoned = move || (plain(), "(Z|[+-](0[0-9]|1[0-9]):?[0-5][0-9])").prop_map(|(a, b)| a + &b);
        let word = || prop_oneof!["(|NA|null|N/A| )", "(true|False|TRUE|truE)", "\\PC{0,5}"];
        let some = |one: BoxedStrategy<String>| {
            let cell = prop_oneof![9 => one, 1 => "(|NA|null| )"];
            proptest::collection::vec(cell, 1..9).boxed()
        };
        prop_oneof![
            some(integer().boxed()),
            some(prop_oneof![integer(), float()].boxed()),
            some(prop_oneof!["[0-9]{1,4}", "[0-9]{1,4}[.][0-9]{1,4}"].boxed()),
            some(date().boxed()),
            some(prop_oneof![date().boxed(), plain().boxed()].boxed()),
            some(zoned().boxed()),
            some("(true|false|True|FALSE)".boxed()),
            some(prop_oneof![integer().boxed(), float().boxed(), zoned().boxed(), word().boxed()].boxed()),
        ]
    }

    /// The moment that a text names, by another reader of such texts.
    fn moment(text: &str) -> chrono::NaiveDateTime {
        let text = text.replace('/', "-").replace('Z', "+00:00");
        let (date, clock) = text.split_at(10);
        let text = format!("{date}T{}", if clock.is_empty() { "00:00:00" } else { &clock[1..] });
        match chrono::DateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M:%S%.f%#z") {
            Ok(zoned) => zoned.naive_utc(),
            Err(_) => chrono::NaiveDateTime::parse_from_str(&text, "%Y-%m-%dT%H:%M:%S%.f").unwrap(),
        }
    }

    /// Whether a value, as its text, is what the text of a cell says.
    fn is_same(kind: &DataType, cell: &str, value: &str) -> bool {
        let code = cell
            .trim_start_matches(['-', '+'])
            .strip_prefix('0')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        match kind {
            DataType::Int64 => !code && cell.parse::<i128>().unwrap() == value.parse::<i128>().unwrap(),
            DataType::Float64 => {
                let (was, is): (f64, f64) = (cell.parse().unwrap(), value.parse().unwrap());
                let exact =
                    cell.parse::<i128>().is_ok_and(|n| n == is as i128) || cell.parse::<i128>().is_err();
                let lost = is.is_infinite() && cell.contains(|c: char| c.is_ascii_digit());
                !code && exact && !lost && (was == is || was.is_nan() && is.is_nan())
            }
            DataType::Boolean => cell.to_lowercase() == value,
            DataType::Date32 => cell.replace('/', "-") == value,
            DataType::Timestamp(..) => moment(cell) == moment(value),
            _ => cell == value,
        }
    }

    proptest! {
        #[test]
        fn every_text_that_a_type_was_inferred_from_keeps_its_meaning(cells in cells()) {
            let mut guess = Guess::new();
            cells.iter().for_each(|cell| guess.see(cell));
            let (kind, texts) = (guess.data_type(), StringArray::from(cells.clone()));
            let (values, unfit) = typed(&texts, &kind);
            prop_assert_eq!(unfit, 0, "{}", &kind);
            prop_assert!(cells::column(&texts, &kind, Err).is_ok(), "{}", &kind);
            for (row, cell) in cells.iter().enumerate() {
                let trimmed = if kind == DataType::Utf8 { cell } else { cell.trim() };
                match crate::data::cell::text(&values, row) {
                    None => prop_assert!(trimmed.is_empty() || is_missing(trimmed), "{cell:?} of {kind}"),
                    Some(value) => prop_assert!(is_same(&kind, trimmed, &value), "{cell:?} of {kind}: {value}"),
                }
            }
        }
    }
}
