//! What stands along an axis: numbers, times, names.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use egui_plot::{GridInput, GridMark, uniform_grid_spacer};
use gander::data::cell;

use gander::bytes::display::short_number;

/// The steps of an axis of times, in seconds.
const STEPS: [f64; 18] = [
    1e-6,
    1e-3,
    0.1,
    1.0,
    10.0,
    60.0,
    600.0,
    3_600.0,
    21_600.0,
    86_400.0,
    604_800.0,
    2_419_200.0,
    7_257_600.0,
    31_536_000.0,
    315_360_000.0,
    3_153_600_000.0,
    31_536_000_000.0,
    315_360_000_000.0,
];
const DAY: f64 = 86_400.0;
/// The steps of longer ones, in months.
const MONTHS: [i64; 10] = [1, 3, 6, 12, 24, 60, 120, 600, 1_200, 12_000];
/// The width of a letter of a label.
const LETTER: f32 = 6.8;

/// What the numbers along an axis mean.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::gui::views) enum Scale {
    /// Themselves; whole ones where they count something.
    Number {
        /// Only whole numbers have a mark.
        whole: bool,
    },
    /// Times of this type.
    Time(DataType),
    /// The nth of these.
    Names(Arc<Vec<String>>),
}

/// Whether values can be placed on an axis by their size.
pub(super) fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type.is_temporal() && !matches!(data_type, DataType::Interval(_))
}

/// Whether values are names of something.
pub(super) fn is_name(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_name(values),
        kind => matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean),
    }
}

impl Scale {
    /// The scale of a column of numbers or times.
    pub(in crate::gui::views) fn of(data_type: &DataType) -> Scale {
        match data_type {
            kind if kind.is_temporal() => Scale::Time(kind.clone()),
            kind => Scale::Number { whole: kind.is_integer() },
        }
    }

    /// A value in full.
    pub(super) fn text(&self, value: f64) -> String {
        match self {
            Scale::Number { .. } => figure(value),
            Scale::Time(data_type) => time(data_type, value).unwrap_or_else(|| short_number(value)),
            Scale::Names(names) => names.get(value.round().max(0.0) as usize).cloned().unwrap_or_default(),
        }
    }

    /// What writes the marks of an axis that is `width` points long and shows `span`.
    pub(in crate::gui::views) fn labels(&self, width: f32, span: (f64, f64)) -> Box<dyn Fn(f64) -> String> {
        match self.clone() {
            Scale::Number { .. } => Box::new(figure),
            Scale::Time(data_type) => {
                let seconds = (span.1 - span.0).abs() / per_second(&data_type);
                Box::new(move |value| {
                    time(&data_type, value).map_or(String::new(), |text| brief(&text, seconds))
                })
            }
            Scale::Names(names) => {
                let slot = width / (names.len() as f32 + 0.5);
                let letters = (slot / LETTER) as usize;
                // Where there is no room for four letters each, some names are left out.
                let every = if letters >= 4 { 1 } else { (4.5 * LETTER / slot.max(0.1)).ceil() as usize };
                let letters = ((slot * every as f32) / LETTER) as usize;
                Box::new(move |value| {
                    let index = value.round();
                    if (value - index).abs() > 1e-6 || index < 0.0 || !(index as usize).is_multiple_of(every)
                    {
                        return String::new();
                    }
                    names.get(index as usize).map_or(String::new(), |name| cut(name, letters.max(3)))
                })
            }
        }
    }

    /// Where marks stand, unless the plot knows better.
    pub(in crate::gui::views) fn marks(&self) -> Option<Box<dyn Fn(GridInput) -> Vec<GridMark>>> {
        let steps = self.steps()?;
        let unit = match self {
            Scale::Time(data_type) => Some(per_second(data_type)),
            _ => None,
        };
        let spacer = uniform_grid_spacer(steps);
        Some(Box::new(move |input| match unit {
            Some(unit) if input.base_step_size > 2.0 * DAY * unit => months(&input, unit * DAY),
            _ => spacer(input),
        }))
    }

    fn steps(&self) -> Option<Box<dyn Fn(GridInput) -> [f64; 3]>> {
        match self {
            Scale::Number { whole: false } => None,
            Scale::Number { whole: true } => Some(Box::new(|input| {
                let base = 10f64.powf(input.base_step_size.max(1e-300).log10().ceil()).max(1.0);
                [base, base * 10.0, base * 100.0]
            })),
            Scale::Names(_) => Some(Box::new(|_| [1.0, 10_000.0, 100_000.0])),
            Scale::Time(data_type) => {
                let unit = per_second(data_type);
                Some(Box::new(move |input| {
                    let fits = |step: &f64| step * unit >= input.base_step_size;
                    let first = STEPS.iter().position(fits).unwrap_or(STEPS.len()).min(STEPS.len() - 3);
                    [STEPS[first] * unit, STEPS[first + 1] * unit, STEPS[first + 2] * unit]
                }))
            }
        }
    }
}

/// Marks at the beginnings of months and years; `day` is the length of a day.
fn months(input: &GridInput, day: f64) -> Vec<GridMark> {
    // A label is wider than the least distance of two lines.
    let least = input.base_step_size * 2.6 / (day * 30.44);
    let every = *MONTHS.iter().find(|months| **months as f64 >= least).unwrap_or(&12_000);
    let (first, last) = (month_of(input.bounds.0 / day), month_of(input.bounds.1 / day));
    let mut marks = Vec::new();
    let mut month = first.div_euclid(every) * every;
    while month <= last && marks.len() < 1_000 {
        // The rarer ones stay where there is no room for all.
        let rank = MONTHS.iter().rev().find(|months| month.rem_euclid(**months) == 0).unwrap_or(&every);
        let step_size = (*rank).min(every * 12).max(every) as f64 * 30.44 * day;
        marks.push(GridMark { value: first_day(month) * day, step_size });
        month += every;
    }
    marks
}

/// The month, counted from January of year 0, of a day counted from 1970.
fn month_of(day: f64) -> i64 {
    let mut month = 1970 * 12 + (day / 30.436_875).floor() as i64;
    while first_day(month) > day {
        month -= 1;
    }
    while first_day(month + 1) <= day {
        month += 1;
    }
    month
}

/// The first day of a month, counted from 1970.
fn first_day(month: i64) -> f64 {
    // Years begin in March here, so that the leap day is their last one.
    let (year, from_march) = ((month - 2).div_euclid(12), (month - 2).rem_euclid(12));
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    (days + (153 * from_march + 2) / 5 - 719_468) as f64
}

/// How many of a type's units are a second.
fn per_second(data_type: &DataType) -> f64 {
    match data_type {
        DataType::Date32 => 1.0 / 86_400.0,
        DataType::Date64 => 1e3,
        DataType::Timestamp(unit, _)
        | DataType::Time32(unit)
        | DataType::Time64(unit)
        | DataType::Duration(unit) => match unit {
            TimeUnit::Second => 1.0,
            TimeUnit::Millisecond => 1e3,
            TimeUnit::Microsecond => 1e6,
            TimeUnit::Nanosecond => 1e9,
        },
        _ => 1.0,
    }
}

/// A number as short as it fits, whole ones in groups of three digits.
fn figure(value: f64) -> String {
    let whole = value.fract() == 0.0 && (1e4..1e15).contains(&value.abs());
    if !whole {
        return short_number(value);
    }
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}", gander::bytes::display::count(value.abs() as u64))
}

/// A time as text, exact.
fn time(data_type: &DataType, value: f64) -> Option<String> {
    let array: ArrayRef = match data_type {
        DataType::Date32 | DataType::Time32(_) => Arc::new(Int32Array::from(vec![value.round() as i32])),
        _ => Arc::new(Int64Array::from(vec![value.round() as i64])),
    };
    cell::text(cast(&array, data_type).ok()?.as_ref(), 0)
}

/// As much of a time as tells the marks of an axis of so many seconds apart.
fn brief(text: &str, seconds: f64) -> String {
    let Some((date, clock)) = text.split_once('T') else { return text.to_owned() };
    let clock: String = clock.chars().take_while(|c| c.is_ascii_digit() || matches!(c, ':' | '.')).collect();
    match seconds {
        s if s > 150.0 * 86_400.0 => date.get(..7).unwrap_or(date).to_owned(),
        s if s > 3.0 * 86_400.0 => date.to_owned(),
        s if s > 7_200.0 => format!("{} {}", &date[date.len().min(5)..], clock.get(..5).unwrap_or(&clock)),
        s if s > 10.0 => clock.get(..8).unwrap_or(&clock).to_owned(),
        _ => clock,
    }
}

fn cut(name: &str, letters: usize) -> String {
    match name.chars().count() > letters {
        true => name.chars().take(letters - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_marks_at_whole_units() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let scale = Scale::of(&micros);
        let marks = scale.marks().unwrap();
        let day = 86_400e6;
        let at = |from: f64, to: f64, step: f64| {
            let input = GridInput { bounds: (from * day, to * day), base_step_size: step * day };
            marks(input)
                .iter()
                .map(|mark| mark.value / day)
                .filter(|d| *d >= from && *d <= to)
                .collect::<Vec<_>>()
        };
        assert_eq!(at(0.0, 3.0, 0.3), [0.0, 1.0, 2.0]);
        // 1972 is a leap year.
        assert_eq!(at(730.0, 830.0, 10.0), [730.0, 761.0, 790.0, 821.0]);
        assert_eq!(at(0.0, 1500.0, 100.0), [0.0, 365.0, 730.0, 1096.0, 1461.0]);
        let labels = scale.labels(500.0, (0.0, 10.0 * day));
        assert_eq!(labels(day), "1970-01-02");
        let labels = scale.labels(500.0, (0.0, 5.0 * 3_600e6));
        assert_eq!(labels(3_600e6), "01-01 01:00");
    }

    #[test]
    fn figures_have_groups() {
        assert_eq!((figure(120_000.0).as_str(), figure(-12_345.0).as_str()), ("120,000", "−12,345"));
        assert_eq!((figure(0.25).as_str(), figure(980.0).as_str()), ("0.25", "980"));
    }

    #[test]
    fn names_stand_at_whole_places_and_fit() {
        let names = Arc::new(vec!["card".to_owned(), "invoice".to_owned()]);
        let labels = Scale::Names(names.clone()).labels(500.0, (0.0, 1.0));
        assert_eq!((labels(1.0).as_str(), labels(0.5).as_str()), ("invoice", ""));
        let labels = Scale::Names(names).labels(90.0, (0.0, 1.0));
        assert_eq!(labels(1.0), "invo…");
    }
}
