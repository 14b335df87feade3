//! Rows and cells of a sheet as XML (ECMA-376 part 1, sections 18.3.1.4, 18.3.1.73 and 18.18.11): numbers, truth values,
//! days since 1900 under a number format, and texts that stand in their cells.

use super::super::sheet::words;
use super::parts::Style;
use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::Table;
use crate::engines::json::value_text::{plain, text, whole};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{self as types, DataType, TimeUnit};
use std::io::Write;

/// UTF-16 units of a cell's text.
const LONGEST: usize = 32_767;
/// Below it every integer is a double, and no two are the same one.
const WHOLE: i64 = 1 << 53;
/// Decimal digits that every double keeps.
const DIGITS: usize = 15;
/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// What stands for floats that are no numbers.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NotANumber {
    Text,
    Empty,
    Error,
}

/// How cells are written.
pub(super) struct CellStyle {
    /// What stands for null.
    pub(super) null: String,
    pub(super) nan: NotANumber,
    /// Whether numbers that a double cannot hold become the nearest one, and no text.
    pub(super) numbers: bool,
    /// Whether texts that are too long are cut.
    pub(super) cut: bool,
}

/// The columns of a sheet.
pub(super) struct Columns<'a> {
    names: Vec<String>,
    /// The letters of each column.
    letters: Vec<String>,
    style: &'a CellStyle,
}

/// What a cell holds.
enum Cell<'a> {
    Empty,
    /// Digits, and the style that says what they are.
    Number(std::fmt::Arguments<'a>, Style),
    Bool(bool),
    Error(&'static str),
    Text(&'a str),
}

impl<'a> Columns<'a> {
    pub(super) fn of(table: &dyn Table, style: &'a CellStyle) -> Self {
        let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
        let letters = |n: usize| words((0, n as u32)).trim_end_matches('1').to_owned();
        Columns { letters: (0..names.len()).map(letters).collect(), names, style }
    }

    /// The first row: the names.
    pub(super) fn header(&self) -> Result<Vec<u8>> {
        let mut out = b"<row r=\"1\">".to_vec();
        for (name, letters) in self.names.iter().zip(&self.letters) {
            if !name.is_empty() {
                let (name, _) = cut(name);
                put(
                    &mut out,
                    format_args!("<c r=\"{letters}1\" s=\"{}\" t=\"inlineStr\"><is>", Style::Header as u8),
                );
                string(name, &mut out);
                out.extend(b"</is></c>");
            }
        }
        out.extend(b"</row>");
        Ok(out)
    }

    /// Rows; the last column has their numbers in the sheet.
    pub(super) fn rows(&self, batch: &RecordBatch) -> Result<Vec<u8>> {
        let Some((numbers, columns)) = batch.columns().split_last() else { return Ok(Vec::new()) };
        let numbers = numbers.as_primitive::<types::UInt64Type>();
        let columns: Vec<ArrayRef> = columns.iter().map(plain).collect();
        let mut out = Vec::with_capacity(batch.num_rows() * columns.len() * 40);
        for row in 0..batch.num_rows() {
            let number = numbers.value(row).to_string();
            put(&mut out, format_args!("<row r=\"{number}\">"));
            for ((column, letters), name) in columns.iter().zip(&self.letters).zip(&self.names) {
                self.cell(column.as_ref(), row, (letters, &number), &mut out)
                    .map_err(|error| error.of(&format!("column {name:?}, row {number} of the sheet")))?;
            }
            out.extend(b"</row>");
        }
        Ok(out)
    }

    /// Appends a cell.
    fn cell(&self, array: &dyn Array, row: usize, at: (&str, &str), out: &mut Vec<u8>) -> Result<()> {
        macro_rules! value {
            ($ty:ident) => {
                array.as_primitive::<types::$ty>().value(row)
            };
        }
        macro_rules! number {
            ($ty:ident) => {
                self.put(Cell::Number(format_args!("{}", value!($ty)), Style::General), at, out)
            };
        }
        if array.is_null(row) || matches!(array.data_type(), DataType::Null) {
            return self.put(
                if self.style.null.is_empty() { Cell::Empty } else { Cell::Text(&self.style.null) },
                at,
                out,
            );
        }
        if let Some(text) = text(array, row) {
            return self.put(Cell::Text(text), at, out);
        }
        match array.data_type() {
            DataType::Boolean => self.put(Cell::Bool(array.as_boolean().value(row)), at, out),
            DataType::Int8 => number!(Int8Type),
            DataType::Int16 => number!(Int16Type),
            DataType::Int32 => number!(Int32Type),
            DataType::UInt8 => number!(UInt8Type),
            DataType::UInt16 => number!(UInt16Type),
            DataType::UInt32 => number!(UInt32Type),
            DataType::Int64 => {
                let value = value!(Int64Type);
                self.long(&value.to_string(), (1 - WHOLE..WHOLE).contains(&value), at, out)
            }
            DataType::UInt64 => {
                let value = value!(UInt64Type);
                self.long(&value.to_string(), value < WHOLE as u64, at, out)
            }
            DataType::Float16 => {
                let value = value!(Float16Type);
                self.float(value.to_f64(), format_args!("{}", cell::float16(value)), at, out)
            }
            DataType::Float32 => {
                let value = value!(Float32Type);
                self.float(f64::from(value), format_args!("{value:?}"), at, out)
            }
            DataType::Float64 => {
                let value = value!(Float64Type);
                self.float(value, format_args!("{value:?}"), at, out)
            }
            of if of.is_decimal() => {
                let shown = cell::text(array, row).unwrap_or_default();
                self.long(&shown, digits(&shown) <= DIGITS, at, out)
            }
            _ => match moment(array, row) {
                Some((days, 0, style)) => self.put(Cell::Number(format_args!("{days}"), style), at, out),
                Some((days, millis, style)) => {
                    let value = days as f64 + millis as f64 / DAY as f64;
                    self.put(Cell::Number(format_args!("{value:?}"), style), at, out)
                }
                None => match whole(array, row) {
                    Some(text) => self.put(Cell::Text(&text), at, out),
                    None => Ok(()),
                },
            },
        }
    }

    /// A number of digits that a double holds, or not.
    fn long(&self, shown: &str, fits: bool, at: (&str, &str), out: &mut Vec<u8>) -> Result<()> {
        match fits || self.style.numbers {
            true => self.put(Cell::Number(format_args!("{shown}"), Style::General), at, out),
            false => self.put(Cell::Text(shown), at, out),
        }
    }

    fn float(
        &self,
        value: f64,
        shown: std::fmt::Arguments<'_>,
        at: (&str, &str),
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if value.is_finite() {
            return self.put(Cell::Number(shown, Style::General), at, out);
        }
        match self.style.nan {
            NotANumber::Empty => Ok(()),
            NotANumber::Error => {
                self.put(Cell::Error(if value.is_nan() { "#NUM!" } else { "#DIV/0!" }), at, out)
            }
            NotANumber::Text => self.put(Cell::Text(&cell::float64(value)), at, out),
        }
    }

    /// Appends the XML of a cell at these letters and digits.
    fn put(&self, cell: Cell<'_>, (letters, number): (&str, &str), out: &mut Vec<u8>) -> Result<()> {
        match cell {
            Cell::Empty => {}
            Cell::Number(digits, Style::General) => {
                put(out, format_args!("<c r=\"{letters}{number}\"><v>{digits}</v></c>"));
            }
            Cell::Number(digits, style) => {
                put(
                    out,
                    format_args!("<c r=\"{letters}{number}\" s=\"{}\"><v>{digits}</v></c>", style as u8),
                );
            }
            Cell::Bool(value) => {
                put(out, format_args!("<c r=\"{letters}{number}\" t=\"b\"><v>{}</v></c>", u8::from(value)));
            }
            Cell::Error(name) => {
                put(out, format_args!("<c r=\"{letters}{number}\" t=\"e\"><v>{name}</v></c>"))
            }
            Cell::Text(text) => {
                let (short, units) = cut(text);
                if short.len() < text.len() && !self.style.cut {
                    let (units, most) = (display::count(units as u64), display::count(LONGEST as u64));
                    let what = format!(
                        "a text of {units} characters, and a cell has {most}; long_texts=cut cuts it"
                    );
                    return Err(Error::unsupported(what));
                }
                put(out, format_args!("<c r=\"{letters}{number}\" t=\"inlineStr\"><is>"));
                string(short, out);
                out.extend(b"</is></c>");
            }
        }
        Ok(())
    }
}

/// Appends formatted text; writing to memory cannot fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// The part of a text that a cell has room for, and how many UTF-16 units all of it has.
fn cut(text: &str) -> (&str, usize) {
    if text.len() <= LONGEST {
        return (text, text.len());
    }
    let (mut units, mut end) = (0usize, 0usize);
    for c in text.chars() {
        units += c.len_utf16();
        if units <= LONGEST {
            end += c.len_utf8();
        }
    }
    (text.get(..end).unwrap_or(text), units)
}

/// Appends a text element. Spaces at its ends are kept; characters that XML lacks are written as `_xHHHH_` (section
/// 22.9.2.19), and what looks like that too.
fn string(text: &str, out: &mut Vec<u8>) {
    let is_space = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_whitespace());
    let bytes = text.as_bytes();
    let kept = is_space(bytes.first()) || is_space(bytes.last()) || bytes.contains(&b'\n');
    out.extend(if kept { &b"<t xml:space=\"preserve\">"[..] } else { &b"<t>"[..] });
    let plain = |b: &u8| *b >= b' ' && !matches!(*b, b'<' | b'>' | b'&' | b'_') && *b < 0xef;
    if bytes.iter().all(plain) {
        out.extend_from_slice(bytes);
    } else {
        for (at, c) in text.char_indices() {
            match c {
                '<' => out.extend(b"&lt;"),
                '>' => out.extend(b"&gt;"),
                '&' => out.extend(b"&amp;"),
                '_' if is_escape(bytes.get(at..at + 7).unwrap_or_default()) => out.extend(b"_x005F_"),
                '\n' | '\t' => out.push(c as u8),
                '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => put(out, format_args!("_x{:04X}_", c as u32)),
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
    out.extend(b"</t>");
}

/// Whether these bytes are `_xHHHH_`.
fn is_escape(bytes: &[u8]) -> bool {
    matches!(bytes, [b'_', b'x', digits @ .., b'_'] if digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit))
}

/// How many digits of a number count.
fn digits(text: &str) -> usize {
    let all: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    let first = all.iter().position(|digit| *digit != b'0').unwrap_or(all.len());
    let last = all.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    last.saturating_sub(first)
}

/// The number of a day, counted from 1970: 1 is the first of January 1900, and there is one for the 29th of February
/// 1900, which never was. `None` for days that a workbook has not.
fn serial(day: i64) -> Option<i64> {
    match day.checked_add(25_569)? {
        days @ 61..2_958_466 => Some(days),
        days @ 2..=60 => Some(days - 1),
        _ => None,
    }
}

/// Days and milliseconds of a date, a time or a duration that workbooks have, and how they are shown.
fn moment(array: &dyn Array, row: usize) -> Option<(i64, i64, Style)> {
    macro_rules! value {
        ($ty:ident) => {
            i64::from(array.as_primitive::<types::$ty>().value(row))
        };
    }
    let dated = |millis: i64, style| Some((serial(millis.div_euclid(DAY))?, millis.rem_euclid(DAY), style));
    let millis = |value: i64, unit: &TimeUnit| match unit {
        TimeUnit::Second => value.checked_mul(1_000),
        TimeUnit::Millisecond => Some(value),
        TimeUnit::Microsecond => Some(value.div_euclid(1_000)),
        TimeUnit::Nanosecond => Some(value.div_euclid(1_000_000)),
    };
    match array.data_type() {
        DataType::Date32 => Some((serial(value!(Date32Type))?, 0, Style::Date)),
        DataType::Date64 => dated(value!(Date64Type), Style::Date).filter(|(_, rest, _)| *rest == 0),
        DataType::Timestamp(unit, _) => {
            let value = match unit {
                TimeUnit::Second => value!(TimestampSecondType),
                TimeUnit::Millisecond => value!(TimestampMillisecondType),
                TimeUnit::Microsecond => value!(TimestampMicrosecondType),
                TimeUnit::Nanosecond => value!(TimestampNanosecondType),
            };
            dated(
                millis(value, unit)?,
                if *unit == TimeUnit::Second { Style::Seconds } else { Style::Millis },
            )
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let value = match unit {
                TimeUnit::Second => value!(Time32SecondType),
                TimeUnit::Millisecond => value!(Time32MillisecondType),
                TimeUnit::Microsecond => value!(Time64MicrosecondType),
                TimeUnit::Nanosecond => value!(Time64NanosecondType),
            };
            let style = if *unit == TimeUnit::Second { Style::Clock } else { Style::ClockMillis };
            millis(value, unit).filter(|millis| (0..DAY).contains(millis)).map(|millis| (0, millis, style))
        }
        DataType::Duration(unit) => {
            let value = match unit {
                TimeUnit::Second => value!(DurationSecondType),
                TimeUnit::Millisecond => value!(DurationMillisecondType),
                TimeUnit::Microsecond => value!(DurationMicrosecondType),
                TimeUnit::Nanosecond => value!(DurationNanosecondType),
            };
            let millis = millis(value, unit)?;
            let days = millis.div_euclid(DAY);
            (days.abs() < 2_958_466).then_some((days, millis.rem_euclid(DAY), Style::Span))
        }
        _ => None,
    }
}

/// About how many characters wide each column is: as its first `rows` rows want it.
///
/// # Errors
/// As [`Table::read`].
pub(super) fn widths(task: &Task, table: &dyn Table, header: bool, rows: u64) -> Result<Vec<u32>> {
    /// What a column has at least and at most.
    const LEAST: usize = 8;
    const MOST: usize = 60;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let batch = table.read(task, 0..rows, &columns)?;
    let width = |(field, array): (&types::FieldRef, &ArrayRef)| {
        let array = plain(array);
        let own = match array.data_type() {
            DataType::Timestamp(_, _) => 24,
            DataType::Date32 | DataType::Date64 => 11,
            DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) => 14,
            _ => {
                let len =
                    |row| cell::text(array.as_ref(), row).map_or(0, |text| text.chars().take(MOST).count());
                (0..array.len()).map(len).max().unwrap_or(0)
            }
        };
        let name = if header { field.name().chars().take(MOST).count() } else { 0 };
        (own.max(name) + 2).clamp(LEAST, MOST) as u32
    };
    Ok(table.schema().fields().iter().zip(batch.columns()).map(width).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str) -> String {
        let mut out = Vec::new();
        string(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(text_of("a<b>&\"é"), "<t>a&lt;b&gt;&amp;\"é</t>");
        assert_eq!(
            text_of("\u{1}\r_x0041_ _x41_\u{ffff}"),
            "<t>_x0001__x000D__x005F_x0041_ _x41__xFFFF_</t>"
        );
        assert_eq!(text_of(" a\n"), "<t xml:space=\"preserve\"> a\n</t>");
        assert_eq!(text_of("_x00é1_"), "<t>_x00é1_</t>");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let long = "😀".repeat(20_000);
        let (short, units) = cut(&long);
        assert_eq!((short.chars().count(), units), (16_383, 40_000));
        assert_eq!(cut("a"), ("a", 1));
        assert_eq!(cut(&"é".repeat(32_767)).0.chars().count(), 32_767);
    }

    #[test]
    fn days_have_the_numbers_of_excel() {
        assert_eq!([-25_567, -25_509, -25_508, 0].map(serial), [Some(1), Some(59), Some(61), Some(25_569)]);
        assert_eq!([serial(-25_568), serial(2_932_896), serial(2_932_897)], [None, Some(2_958_465), None]);
        assert_eq!(["0.00", "-12.30", "1000", "0.0012"].map(digits), [0, 3, 1, 2]);
    }
}
