//! The value of a cell, whatever the workbook's format: what a number stands for under its number format, and
//! what texts in ISO 8601 say.
//!
//! Dates are numbers of days (ECMA-376 part 1, section 18.17.4): since the end of 1899, counting a 29 February
//! 1900 that never was, or since the begin of 1904.

use super::code::Class;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

/// What a cell holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A number, as it was stored.
    Number(f64),
    /// A text.
    Text(String),
    /// True or false.
    Bool(bool),
    /// The name of an error: `#N/A`.
    Error(String),
    /// A date with a time.
    Stamp(NaiveDateTime),
    /// A time of day.
    Clock(NaiveTime),
    /// A duration in milliseconds.
    Span(i64),
}

/// Where a workbook begins to count days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Epoch {
    /// 1 is the 1st of January 1900.
    #[default]
    Y1900,
    /// 0 is the 1st of January 1904.
    Y1904,
}

/// Milliseconds of a day.
const DAY: f64 = 86_400_000.0;

impl Epoch {
    /// The number of the first day that is beyond 9999, where the calendar of workbooks ends.
    fn end(self) -> f64 {
        match self {
            Epoch::Y1900 => 2_958_466.0,
            Epoch::Y1904 => 2_957_004.0,
        }
    }

    /// The moment of a serial number; `None` outside the calendar.
    pub(super) fn moment(self, serial: f64) -> Option<NaiveDateTime> {
        if !(0.0..self.end()).contains(&serial) {
            return None;
        }
        let first = match self {
            // The first 59 days lie before the day that never was.
            Epoch::Y1900 if serial < 60.0 => NaiveDate::from_ymd_opt(1899, 12, 31),
            Epoch::Y1900 => NaiveDate::from_ymd_opt(1899, 12, 30),
            Epoch::Y1904 => NaiveDate::from_ymd_opt(1904, 1, 1),
        }?;
        let millis = TimeDelta::try_milliseconds((serial * DAY).round() as i64)?;
        first.and_time(NaiveTime::MIN).checked_add_signed(millis)
    }
}

impl Value {
    /// What a stored number stands for under a number format of this class. A number beyond the calendar stays a
    /// number.
    pub(super) fn number(stored: f64, class: Class, epoch: Epoch) -> Value {
        let found = match class {
            Class::Number => None,
            Class::Elapsed => span(stored),
            Class::Time if (0.0..1.0).contains(&stored) => {
                // Rounded to the next midnight it is no time of that day any more.
                let moment = epoch.moment(stored);
                moment.map(|moment| match moment.time() {
                    time if time == NaiveTime::MIN && stored >= 0.5 => Value::Stamp(moment),
                    time => Value::Clock(time),
                })
            }
            Class::Date | Class::Time => epoch.moment(stored).map(Value::Stamp),
        };
        found.unwrap_or(Value::Number(stored))
    }

    /// A date, a date with a time, a time or a duration in ISO 8601; as text where it is none of them.
    pub(super) fn iso(text: &str) -> Value {
        let text = text.trim();
        let plain = text.strip_suffix(['Z', 'z']).unwrap_or(text);
        let moment = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M"];
        let moment = moment.iter().find_map(|form| NaiveDateTime::parse_from_str(plain, form).ok());
        let date = || Some(NaiveDate::parse_from_str(plain, "%Y-%m-%d").ok()?.and_time(NaiveTime::MIN));
        let time = || NaiveTime::parse_from_str(plain, "%H:%M:%S%.f").ok().map(Value::Clock);
        let found = moment.or_else(date).map(Value::Stamp).or_else(time);
        found.or_else(|| iso_span(text)).unwrap_or_else(|| Value::Text(text.to_owned()))
    }

    /// Bytes of the text that it holds.
    pub(super) fn text_len(&self) -> usize {
        match self {
            Value::Text(text) | Value::Error(text) => text.len(),
            _ => 0,
        }
    }
}

/// A duration of so many days.
fn span(days: f64) -> Option<Value> {
    let millis = (days * DAY).round();
    (millis.abs() < 9e15).then_some(Value::Span(millis as i64))
}

/// `PT49H30M15.5S`, with days and a sign too; months have no length.
fn iso_span(text: &str) -> Option<Value> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let rest = rest.strip_prefix('P')?;
    let (days, times) = rest.split_once('T').unwrap_or((rest, ""));
    let (mut seconds, mut number, mut parts) = (0f64, String::new(), 0);
    for (units, part) in
        [(&[('D', 86_400.0)][..], days), (&[('H', 3600.0), ('M', 60.0), ('S', 1.0)][..], times)]
    {
        for letter in part.chars() {
            if letter.is_ascii_digit() || letter == '.' || letter == ',' {
                number.push(if letter == ',' { '.' } else { letter });
                continue;
            }
            let (_, unit) = units.iter().find(|(name, _)| *name == letter)?;
            seconds += number.parse::<f64>().ok()? * unit;
            number.clear();
            parts += 1;
        }
    }
    let millis = (seconds * 1000.0).round();
    let known = parts > 0 && number.is_empty() && millis < 9e15;
    known.then_some(Value::Span(if negative { -(millis as i64) } else { millis as i64 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(stored: f64, class: Class, epoch: Epoch) -> String {
        match Value::number(stored, class, epoch) {
            Value::Stamp(moment) => moment.to_string(),
            Value::Clock(time) => time.to_string(),
            Value::Span(millis) => format!("{millis} ms"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn days_are_counted_with_the_one_that_never_was() {
        let date = |serial| shown(serial, Class::Date, Epoch::Y1900);
        assert_eq!(date(1.0), "1900-01-01 00:00:00");
        assert_eq!(date(59.0), "1900-02-28 00:00:00");
        assert_eq!(date(61.0), "1900-03-01 00:00:00");
        assert_eq!(date(45_322.75), "2024-01-31 18:00:00");
        assert_eq!(shown(0.0, Class::Date, Epoch::Y1904), "1904-01-01 00:00:00");
        assert_eq!(shown(43_860.0, Class::Date, Epoch::Y1904), "2024-01-31 00:00:00");
    }

    #[test]
    fn numbers_beyond_the_calendar_stay_numbers() {
        for stored in [-1.0, -0.25, 2_958_466.0, 1e10, 1e15, 1e300, f64::INFINITY, f64::NEG_INFINITY] {
            for class in [Class::Date, Class::Time] {
                for epoch in [Epoch::Y1900, Epoch::Y1904] {
                    assert_eq!(Value::number(stored, class, epoch), Value::Number(stored));
                }
            }
        }
        assert!(matches!(Value::number(f64::NAN, Class::Date, Epoch::Y1900), Value::Number(_)));
        assert_eq!(shown(2_958_465.0, Class::Date, Epoch::Y1900), "9999-12-31 00:00:00");
        assert_eq!(Value::number(1e300, Class::Elapsed, Epoch::Y1900), Value::Number(1e300));
    }

    #[test]
    fn times_and_durations() {
        assert_eq!(shown(0.5, Class::Time, Epoch::Y1900), "12:00:00");
        assert_eq!(shown(0.0, Class::Time, Epoch::Y1904), "00:00:00");
        assert_eq!(shown(45_322.75, Class::Time, Epoch::Y1900), "2024-01-31 18:00:00");
        assert_eq!(shown(0.999_999_999_9, Class::Time, Epoch::Y1900), "1900-01-01 00:00:00");
        assert_eq!(shown(4.5, Class::Elapsed, Epoch::Y1904), "388800000 ms");
        assert_eq!(shown(-0.25, Class::Elapsed, Epoch::Y1900), "-21600000 ms");
    }

    #[test]
    fn texts_in_iso_8601_have_types() {
        let stamp = |text: &str| match Value::iso(text) {
            Value::Stamp(moment) => moment.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(stamp("2024-01-31"), "2024-01-31 00:00:00");
        assert_eq!(stamp("2024-01-31T18:00:00.5Z"), "2024-01-31 18:00:00.500");
        assert_eq!(stamp("2024-01-31T18:00"), "2024-01-31 18:00:00");
        assert_eq!(Value::iso("PT49H30M"), Value::Span(178_200_000));
        assert_eq!(Value::iso("-P2DT0.5S"), Value::Span(-172_800_500));
        assert_eq!(Value::iso("PT08H05M06,25S"), Value::Span(29_106_250));
        assert!(matches!(Value::iso("18:00:00"), Value::Clock(_)));
        for text in ["P", "PT", "P1Y", "PT5", "31.1.2024", "", "P1H"] {
            assert_eq!(Value::iso(text), Value::Text(text.to_owned()), "{text:?}");
        }
    }
}
