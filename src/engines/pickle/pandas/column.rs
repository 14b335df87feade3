//! One column of a frame.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::arrow_of;
use crate::data::cell;
use crate::data::content::Array;
use crate::data::region::{Region, Span};
use crate::engines::pickle::machine::{Id, Pickle, Value};
use crate::engines::pickle::ndarray::{TEXTS, texts};
use arrow::array::{Array as _, ArrayRef, AsArray, BooleanArray, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use std::ops::Range;
use std::sync::Arc;

/// The values of one column.
pub(super) enum Column {
    /// An array of one dimension, or a row of one of two.
    Part(Arc<dyn Array>, Option<u64>),
    /// Python objects: a stretch of a list.
    Objects { pickle: Arc<Pickle>, list: Id, start: u64, rows: u64 },
    /// Values in memory.
    Values(ArrayRef),
    /// Numbers with equal steps.
    Range { start: i64, step: i64, rows: u64 },
    /// Places in a list of values; -1 for none.
    Coded { codes: Box<Column>, values: Box<Column> },
    /// Values, and where they are missing.
    Masked(Box<Column>, Arc<dyn Array>),
    /// Times in a zone.
    Zoned(Box<Column>, String),
    /// Counts of periods since 1970.
    Period(Box<Column>, Period),
    /// Two ends, and which of them belong to it.
    Interval(Box<[Column; 2]>, String),
}

/// What periods are counted in.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Period {
    Year,
    Quarter,
    Month,
    Day,
    /// A fixed number of seconds, or of fractions of one.
    Seconds(i64),
    /// Not known; the counts are shown.
    Other,
}

/// All elements of a small array of 64-bit integers.
pub(super) fn all_bytes(array: &Arc<dyn Array>) -> Option<Vec<u8>> {
    (array.dtype().size() == 8).then(|| super::whole(array).ok()).flatten()
}

impl Column {
    pub(super) fn coded(codes: Column, values: Column) -> Column {
        Column::Coded { codes: Box::new(codes), values: Box::new(values) }
    }

    pub(super) fn period(ordinals: Column, class: &str) -> Column {
        let unit = match class.split('-').next().unwrap_or(class) {
            "YearEnd" | "YearBegin" | "BYearEnd" | "A" | "Y" => Period::Year,
            "QuarterEnd" | "QuarterBegin" | "BQuarterEnd" | "Q" => Period::Quarter,
            "MonthEnd" | "MonthBegin" | "M" => Period::Month,
            "Day" | "D" => Period::Day,
            "Hour" | "H" | "h" => Period::Seconds(3600),
            "Minute" | "T" | "min" => Period::Seconds(60),
            "Second" | "S" | "s" => Period::Seconds(1),
            _ => Period::Other,
        };
        Column::Period(Box::new(ordinals), unit)
    }

    /// An array, or of one with two dimensions the row of this number. Objects are told by their list.
    pub(super) fn of_array(
        pickle: &Arc<Pickle>,
        id: Id,
        array: Arc<dyn Array>,
        row: Option<u64>,
    ) -> Option<Column> {
        let (rows, row) = match array.shape() {
            [rows] => (*rows, None),
            [blocks, rows] => (*rows, row.or(Some(0)).filter(|row| row < blocks)),
            _ => return None,
        };
        if array.shape().len() == 2 && row.is_none() {
            return None;
        }
        if array.dtype().is_variable() {
            let list = pickle.objects(id)?;
            let start = row.unwrap_or(0).checked_mul(rows)?;
            return Some(Column::Objects { pickle: pickle.clone(), list, start, rows });
        }
        Some(Column::Part(array, row))
    }

    pub(super) fn zoned(self, zone: Option<String>) -> Column {
        match zone {
            Some(zone) => Column::Zoned(Box::new(self), zone),
            None => self,
        }
    }

    pub(super) fn rows(&self) -> Option<u64> {
        match self {
            Column::Part(array, _) => array.shape().last().copied(),
            Column::Period(ordinals, _) => ordinals.rows(),
            Column::Objects { rows, .. } | Column::Range { rows, .. } => Some(*rows),
            Column::Values(values) => Some(values.len() as u64),
            Column::Coded { codes, .. } => codes.rows(),
            Column::Masked(values, mask) => values.rows().filter(|rows| mask.shape() == [*rows]),
            Column::Zoned(inner, _) => inner.rows(),
            Column::Interval(ends, _) => {
                let [left, right] = ends.as_ref();
                left.rows().filter(|rows| right.rows() == Some(*rows))
            }
        }
    }

    /// The type of its values.
    pub(super) fn kind(&self) -> Result<DataType> {
        Ok(match self {
            Column::Part(array, _) => match arrow_of(array.dtype()) {
                Some((kind, _)) => kind,
                None => return Err(Error::unsupported(format!("a column of {}", array.dtype()))),
            },
            Column::Objects { .. } | Column::Interval(..) => DataType::Utf8,
            Column::Values(values) => values.data_type().clone(),
            Column::Range { .. } => DataType::Int64,
            Column::Coded { values, .. } => values.kind()?,
            Column::Masked(values, _) => values.kind()?,
            Column::Zoned(inner, zone) => match inner.kind()? {
                DataType::Timestamp(unit, _) => DataType::Timestamp(unit, Some(zone.as_str().into())),
                other => other,
            },
            Column::Period(_, unit) => match unit {
                Period::Day => DataType::Date32,
                Period::Seconds(_) => DataType::Timestamp(TimeUnit::Second, None),
                Period::Other => DataType::Int64,
                _ => DataType::Utf8,
            },
        })
    }

    pub(super) fn read(&self, task: &Task, rows: Range<u64>) -> Result<ArrayRef> {
        let span = Span::range(rows.start, rows.end.saturating_sub(rows.start));
        match self {
            Column::Part(array, None) => array.column(task, &Region(vec![span])),
            Column::Part(array, Some(row)) => array.column(task, &Region(vec![Span::range(*row, 1), span])),
            Column::Objects { pickle, list, start, .. } => {
                let items = pickle.items_of(*list).unwrap_or_default();
                let from = start.saturating_add(rows.start) as usize;
                let items = items.get(from..start.saturating_add(rows.end) as usize);
                let items =
                    items.ok_or_else(|| Error::malformed("frame: a column of objects is too short"))?;
                let values = texts(pickle, items, TEXTS)?;
                // pandas writes a missing text as NaN.
                let missing = |id: &Id| matches!(pickle.value(*id), Value::Float(number) if number.is_nan());
                let missing: BooleanArray = items.iter().map(|id| Some(missing(id))).collect();
                Ok(arrow::compute::nullif(&values, &missing)?)
            }
            Column::Values(values) => Ok(values.slice(rows.start as usize, (rows.end - rows.start) as usize)),
            Column::Range { start, step, .. } => {
                let at = |row: u64| i64::try_from(row).ok()?.checked_mul(*step)?.checked_add(*start);
                Ok(Arc::new(rows.map(at).collect::<Int64Array>()))
            }
            Column::Coded { codes, values } => {
                let codes = cast(&codes.read(task, rows)?, &DataType::Int64)?;
                let values = values.read(task, 0..values.rows().unwrap_or(0))?;
                let most = values.len() as i64;
                let known = codes.as_primitive::<Int64Type>().iter();
                let known: Int64Array =
                    known.map(|code| code.filter(|code| (0..most).contains(code))).collect();
                Ok(arrow::compute::take(values.as_ref(), &known, None)?)
            }
            Column::Masked(values, mask) => {
                let mask = cast(&mask.column(task, &Region(vec![span]))?, &DataType::Boolean)?;
                Ok(arrow::compute::nullif(values.read(task, rows)?.as_ref(), mask.as_boolean())?)
            }
            Column::Zoned(inner, _) => {
                let values = inner.read(task, rows)?;
                let kind = self.kind()?;
                match (values.data_type(), &kind) {
                    (from, to) if from == to => Ok(values),
                    // The counts are of UTC already.
                    (DataType::Timestamp(unit, None), DataType::Timestamp(..)) => {
                        let zone = cast(&values, &DataType::Int64)?;
                        let utc = cast(&zone, &DataType::Timestamp(*unit, Some("UTC".into())))?;
                        Ok(cast(&utc, &kind)?)
                    }
                    _ => Ok(cast(&values, &kind)?),
                }
            }
            Column::Period(ordinals, unit) => {
                period(&cast(&ordinals.read(task, rows)?, &DataType::Int64)?, *unit)
            }
            Column::Interval(ends, closed) => interval(ends, closed, task, rows),
        }
    }

    /// Some of its values as texts.
    pub(super) fn texts(&self, _pickle: &Arc<Pickle>, task: &Task, rows: Range<u64>) -> Result<Vec<String>> {
        let values = self.read(task, rows)?;
        Ok((0..values.len()).map(|row| cell::text(values.as_ref(), row).unwrap_or_default()).collect())
    }
}

/// Counts of periods as what begins them.
fn period(ordinals: &ArrayRef, unit: Period) -> Result<ArrayRef> {
    let counts = ordinals.as_primitive::<Int64Type>();
    // Not a time.
    let there = |count: &i64| *count != i64::MIN;
    let text = |word: &dyn Fn(i64) -> String| -> ArrayRef {
        Arc::new(counts.iter().map(|count| count.filter(there).map(word)).collect::<StringArray>())
    };
    Ok(match unit {
        Period::Year => text(&|count| format!("{}", count.saturating_add(1970))),
        Period::Quarter => {
            text(&|count| format!("{}Q{}", count.div_euclid(4).saturating_add(1970), count.rem_euclid(4) + 1))
        }
        Period::Month => text(&|count| {
            format!("{:04}-{:02}", count.div_euclid(12).saturating_add(1970), count.rem_euclid(12) + 1)
        }),
        Period::Day => {
            let days =
                counts.iter().map(|count| count.filter(there).and_then(|days| i32::try_from(days).ok()));
            Arc::new(days.collect::<arrow::array::Date32Array>())
        }
        Period::Seconds(each) => {
            let seconds =
                counts.iter().map(|count| count.filter(there).and_then(|count| count.checked_mul(each)));
            Arc::new(seconds.collect::<arrow::array::TimestampSecondArray>())
        }
        Period::Other => ordinals.clone(),
    })
}

/// `(0, 1]`.
fn interval(ends: &[Column; 2], closed: &str, task: &Task, rows: Range<u64>) -> Result<ArrayRef> {
    let [left, right] = ends;
    let (left, right) = (left.read(task, rows.clone())?, right.read(task, rows)?);
    let open = if matches!(closed, "left" | "both") { '[' } else { '(' };
    let close = if matches!(closed, "right" | "both") { ']' } else { ')' };
    let one = |row: usize| {
        let (left, right) = (cell::text(left.as_ref(), row)?, cell::text(right.as_ref(), row)?);
        (left != "nan" || right != "nan").then(|| format!("{open}{left}, {right}{close}"))
    };
    Ok(Arc::new((0..left.len()).map(one).collect::<StringArray>()))
}
