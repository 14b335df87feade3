//! Times as counts since a date, in the calendars that models use (section 4.4 of the conventions).

/// Numbers that count time from a date: `days since 1950-01-01`.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// Seconds of one unit.
    pub(crate) unit: f64,
    /// Seconds from the calendar's year 0 to the moment that zero stands for, and the part of a second.
    pub(crate) epoch: i64,
    pub(crate) part: f64,
    pub(crate) calendar: Calendar,
    /// The offset that the file names after the date, in minutes; only shown.
    pub(crate) zone: i32,
}

/// How long years are (CF 4.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calendar {
    /// `standard`, `gregorian`: Julian up to 1582-10-04, Gregorian from the day after it, 1582-10-15.
    Standard,
    /// `proleptic_gregorian`.
    Gregorian,
    /// `noleap`, `365_day`.
    NoLeap,
    /// `all_leap`, `366_day`.
    AllLeap,
    /// `360_day`: twelve months of thirty days.
    Days360,
    /// `julian`.
    Julian,
}

const DAY: f64 = 86_400.0;
/// The first day of the Gregorian calendar, 1582-10-15, in days since its own year 0.
const REFORM: i64 = 578_101;
/// What is to be added to days since the Julian year 0 for days since the Gregorian one.
const BEHIND: i64 = -2;
/// Days before each month in a year without a leap day.
const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

impl Calendar {
    /// The calendar of an attribute's word; `standard` where there is none.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "" | "standard" | "gregorian" => Calendar::Standard,
            "proleptic_gregorian" => Calendar::Gregorian,
            "noleap" | "365_day" => Calendar::NoLeap,
            "all_leap" | "366_day" => Calendar::AllLeap,
            "360_day" => Calendar::Days360,
            "julian" => Calendar::Julian,
            _ => return None,
        })
    }

    fn is_leap(self, year: i64) -> bool {
        match self {
            Calendar::Standard | Calendar::Gregorian => year % 4 == 0 && (year % 100 != 0 || year % 400 == 0),
            Calendar::Julian => year.rem_euclid(4) == 0,
            Calendar::AllLeap => true,
            Calendar::NoLeap | Calendar::Days360 => false,
        }
    }

    /// Days from the first of January of year 0 to that of `year`.
    fn days_before(self, year: i64) -> i64 {
        let past = |n: i64| (year - 1).div_euclid(n) + 1;
        match self {
            Calendar::NoLeap => year * 365,
            Calendar::AllLeap => year * 366,
            Calendar::Days360 => year * 360,
            Calendar::Julian => year * 365 + past(4),
            Calendar::Standard | Calendar::Gregorian => year * 365 + past(4) - past(100) + past(400),
        }
    }

    fn days_of(self, year: i64, month: u32, day: u32) -> Option<i64> {
        if self == Calendar::Standard {
            let julian = (year, month, day) < (1582, 10, 15);
            let days =
                if julian { Calendar::Julian } else { Calendar::Gregorian }.days_of(year, month, day)?;
            return Some(if julian { days + BEHIND } else { days });
        }
        let before = self.before_month(year, month.checked_sub(1)? as usize)?;
        (1..=31).contains(&day).then(|| self.days_before(year) + before + i64::from(day) - 1)
    }

    /// Days from the start of the year to a month, counted from 0.
    fn before_month(self, year: i64, month: usize) -> Option<i64> {
        if self == Calendar::Days360 {
            return (month < 12).then_some(month as i64 * 30);
        }
        Some(BEFORE.get(month)? + i64::from(month > 1 && self.is_leap(year)))
    }

    /// Year, month and day of a count of days since year 0.
    fn date_of(self, days: i64) -> (i64, usize, i64) {
        let mean = match self {
            Calendar::Standard if days < REFORM => return Calendar::Julian.date_of(days - BEHIND),
            Calendar::Standard => return Calendar::Gregorian.date_of(days),
            Calendar::NoLeap => 365.0,
            Calendar::AllLeap => 366.0,
            Calendar::Days360 => 360.0,
            Calendar::Julian => 365.25,
            Calendar::Gregorian => 365.2425,
        };
        let mut year = (days as f64 / mean).floor() as i64;
        while self.days_before(year) > days {
            year -= 1;
        }
        while self.days_before(year + 1) <= days {
            year += 1;
        }
        let within = days - self.days_before(year);
        let month =
            (0..12).rev().find(|&m| self.before_month(year, m).is_some_and(|before| before <= within));
        let month = month.unwrap_or(0);
        (year, month + 1, within - self.before_month(year, month).unwrap_or(0) + 1)
    }
}

impl Times {
    /// Reads `units` (`hours since 1900-01-01 00:00:0.0`) and `calendar` (empty: standard). `None` where they
    /// are no count of time.
    pub fn parse(units: &str, calendar: &str) -> Option<Self> {
        let calendar = Calendar::parse(calendar)?;
        let mut words = units.split_whitespace();
        let unit = seconds_of(words.next()?, calendar)?;
        if !words.next()?.eq_ignore_ascii_case("since") {
            return None;
        }
        let rest: Vec<&str> = words.collect();
        let date = Date::parse(&rest.join(" "))?;
        let days = calendar.days_of(date.year, date.month, date.day)?;
        Some(Times {
            unit,
            epoch: days * DAY as i64 + date.seconds.floor() as i64,
            part: date.seconds.fract(),
            calendar,
            zone: date.zone,
        })
    }

    /// The calendar that is counted in.
    pub fn calendar(&self) -> Calendar {
        self.calendar
    }

    /// Whether dates are those of the usual calendar, so that other programs' times can hold them.
    pub fn is_usual(&self) -> bool {
        matches!(self.calendar, Calendar::Standard | Calendar::Gregorian)
    }

    /// The offset from UTC that the file names (`+05:30`); `None` where it names none.
    pub fn offset(&self) -> Option<String> {
        let (sign, minutes) = (if self.zone < 0 { '-' } else { '+' }, self.zone.abs());
        (self.zone != 0).then(|| format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
    }

    /// Microseconds from 1970-01-01 UTC to the moment of a stored number. `None` for NaN and for what is too
    /// far away.
    pub fn unix_micros(&self, value: f64) -> Option<i64> {
        let unix = Calendar::Gregorian.days_before(1970) * DAY as i64 + i64::from(self.zone) * 60;
        let micros = self.micros(value)? - i128::from(unix) * 1_000_000;
        (micros.abs() < 1_000_000_000_000_000_000).then_some(micros as i64)
    }

    /// The part of a second that is told: a microsecond. A count of minutes, hours or days as a float is a little
    /// off the second, so of these it is a millisecond.
    pub fn resolution(&self) -> &'static str {
        if self.is_coarse() { "milliseconds" } else { "microseconds" }
    }

    /// Whether a step of the count is less than a microsecond.
    pub fn is_fine(&self) -> bool {
        self.unit < 1e-6
    }

    fn is_coarse(&self) -> bool {
        self.unit > 1.0
    }

    /// Microseconds since the begin of the calendar's year 0, rounded to what is told.
    fn micros(&self, value: f64) -> Option<i128> {
        let counted = value * self.unit;
        if !counted.is_finite() || counted.abs() > 1e15 {
            return None;
        }
        // The second apart from its parts: a sum of both would round.
        let (whole, step) = (counted.floor(), if self.is_coarse() { 1_000 } else { 1 });
        let parts = (counted - whole + self.part) * 1e6 / f64::from(step);
        Some((i128::from(self.epoch) + whole as i128) * 1_000_000 + parts.round() as i128 * i128::from(step))
    }

    /// The date and time of a stored number, as ISO 8601; without a time of day at midnight. `None` for NaN
    /// and for what is too far away.
    pub fn text(&self, value: f64) -> Option<String> {
        let micros = self.micros(value)?;
        let (days, rest) =
            (micros.div_euclid(86_400_000_000) as i64, micros.rem_euclid(86_400_000_000) as i64);
        let (year, month, day) = self.calendar.date_of(days);
        let mut text = format!("{year:04}-{month:02}-{day:02}");
        if rest > 0 {
            let (hour, minute, second) =
                (rest / 3_600_000_000, rest / 60_000_000 % 60, rest / 1_000_000 % 60);
            text += &format!("T{hour:02}:{minute:02}:{second:02}");
            match rest % 1_000_000 {
                0 => {}
                part if part % 1000 == 0 => text += &format!(".{:03}", part / 1000),
                part => text += &format!(".{part:06}"),
            }
        }
        if self.zone != 0 {
            let (sign, minutes) = (if self.zone < 0 { '-' } else { '+' }, self.zone.abs());
            text += &format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
        Some(text)
    }
}

/// Seconds of a unit of time. Years and months are UDUNITS' mean ones, except where a calendar fixes them.
fn seconds_of(word: &str, calendar: Calendar) -> Option<f64> {
    let year = if calendar == Calendar::Days360 { 360.0 * DAY } else { 31_556_925.974_7 };
    Some(match word.to_ascii_lowercase().as_str() {
        "nanoseconds" | "nanosecond" | "nsec" | "ns" => 1e-9,
        "microseconds" | "microsecond" | "microsec" | "microsecs" | "us" => 1e-6,
        "milliseconds" | "millisecond" | "millisec" | "millisecs" | "msec" | "msecs" | "ms" => 1e-3,
        "seconds" | "second" | "sec" | "secs" | "s" => 1.0,
        "minutes" | "minute" | "min" | "mins" => 60.0,
        "hours" | "hour" | "hr" | "hrs" | "h" => 3600.0,
        "days" | "day" | "d" => DAY,
        "weeks" | "week" => 7.0 * DAY,
        "months" | "month" | "mon" => year / 12.0,
        "years" | "year" | "yr" => year,
        "common_years" | "common_year" => 365.0 * DAY,
        _ => return None,
    })
}

/// The date that is counted from.
struct Date {
    year: i64,
    month: u32,
    day: u32,
    /// Seconds of the day.
    seconds: f64,
    /// Minutes that the clock is ahead of UTC.
    zone: i32,
}

impl Date {
    /// Reads `1900-01-01 00:00:0.0`, `2000-1-1T12:30Z`, `1970-01-01 UTC`, `2000-01-01 00:00:00+00:00`: a date,
    /// perhaps a time, perhaps a zone, each behind a space or not.
    fn parse(text: &str) -> Option<Self> {
        let negative = text.starts_with('-');
        let (year, mut rest) = digits(text.trim_start_matches(['-', '+']))?;
        let year: i64 = year.parse().ok().filter(|year| *year < 1_000_000)?;
        let mut parts = [1u32; 2];
        for part in &mut parts {
            let Some((text, behind)) = rest.strip_prefix('-').and_then(digits) else { break };
            *part = text.parse().ok()?;
            rest = behind;
        }
        let apart = rest.starts_with([' ', 'T', 't']);
        rest = rest.trim_start_matches([' ', 'T', 't']);
        let (mut seconds, mut known) = (0.0, None);
        if apart && rest.starts_with(|c: char| c.is_ascii_digit()) {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(rest.len());
            let (time, behind) = rest.split_at(end);
            seconds = time_of(time)?;
            // What stands behind a time and is no zone is not looked at.
            (rest, known) = (behind.trim_start(), Some(0));
        }
        let [month, day] = parts;
        let zone = zone_of(rest).or(known)?;
        Some(Date { year: if negative { -year } else { year }, month, day, seconds, zone })
    }
}

/// The digits at the start, of which there must be one, and what is behind them.
fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Seconds of `12`, `12:30`, `12:30:15.5`.
fn time_of(text: &str) -> Option<f64> {
    let mut seconds = 0.0;
    for (part, weight) in text.split(':').zip([3600.0, 60.0, 1.0]) {
        seconds += part.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)? * weight;
    }
    Some(seconds)
}

/// Minutes of `+05:30`, `-6`, `+0530`, `Z` or `UTC`; 0 of nothing.
fn zone_of(text: &str) -> Option<i32> {
    if ["", "Z", "UTC", "GMT"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (hours, minutes) = match text.split_once(':') {
        Some(parts) => parts,
        None => text
            .split_at_checked(text.len().saturating_sub(2))
            .filter(|_| text.len() > 2)
            .unwrap_or((text, "0")),
    };
    let hours: i32 =
        digits(hours).filter(|(_, rest)| rest.is_empty())?.0.parse().ok().filter(|h| *h <= 24)?;
    let minutes: i32 = digits(minutes)?.0.parse().ok().filter(|m| *m < 60)?;
    Some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(units: &str, calendar: &str, value: f64) -> String {
        Times::parse(units, calendar).unwrap().text(value).unwrap()
    }

    #[test]
    fn parts_of_a_second_are_told_as_finely_as_they_are_counted() {
        let seconds = Times::parse("seconds since 1970-01-01", "").unwrap();
        assert_eq!(seconds.unix_micros(1_600_000_000.123_456), Some(1_600_000_000_123_456));
        assert_eq!(seconds.text(1_600_000_000.123_456).unwrap(), "2020-09-13T12:26:40.123456");
        assert_eq!(seconds.text(1_600_000_001.25).unwrap(), "2020-09-13T12:26:41.250");
        assert_eq!(seconds.text(-0.000_001).unwrap(), "1969-12-31T23:59:59.999999");
        // A tenth of an hour is no exact number of seconds.
        let hours = Times::parse("hours since 1970-01-01", "").unwrap();
        assert_eq!(hours.text(444_444.1).unwrap(), "2020-09-13T12:06:00");
        assert_eq!(hours.unix_micros(444_444.1), Some(1_600_000_000_000_000 - 1_240_000_000));
    }

    #[test]
    fn dates_are_those_that_cftime_gives() {
        assert_eq!(text("days since 1950-01-01", "", 0.5), "1950-01-01T12:00:00");
        assert_eq!(text("hours since 1900-01-01 00:00:0.0", "gregorian", 1_043_135.0), "2018-12-31T23:00:00");
        assert_eq!(text("seconds since 1970-01-01T00:00:00Z", "standard", 1e9), "2001-09-09T01:46:40");
        assert_eq!(text("days since 2000-1-1", "noleap", 59.0), "2000-03-01");
        assert_eq!(text("days since 2000-01-01", "360_day", 59.0), "2000-02-30");
        assert_eq!(text("days since 2001-01-01", "all_leap", 59.0), "2001-02-29");
        assert_eq!(text("days since 1-1-1", "proleptic_gregorian", 719_162.0), "1970-01-01");
        assert_eq!(text("days since 1-1-1", "standard", 719_164.0), "1970-01-01");
        assert_eq!(text("days since 1582-10-04", "gregorian", 1.0), "1582-10-15");
        assert_eq!(text("days since 1582-10-15", "", -1.0), "1582-10-04");
        assert_eq!(text("minutes since 2020-02-29 12:30 +05:30", "", 1.0), "2020-02-29T12:31:00+05:30");
        assert_eq!(text("days since -5-1-1", "proleptic_gregorian", 0.0), "-005-01-01");
    }

    #[test]
    fn zones_stand_behind_dates_and_times_as_udunits_has_them() {
        for zone in
            ["", "Z", " Z", " UTC", "UTC", " utc", "+00:00", " +00:00", " -0", "+00", " +0000", " GMT"]
        {
            for time in ["", " 00:00:00", " 00:00", "T00:00:0.0", " 0"] {
                let units = format!("days since 2000-01-01{time}{zone}");
                assert_eq!(text(&units, "", 1.5), "2000-01-02T12:00:00", "{units}");
            }
        }
        for zone in ["-06:00", " -6", "-6:00", " -0600", "-06"] {
            let expected = "2000-01-02-06:00";
            assert_eq!(text(&format!("days since 2000-01-01{zone}"), "", 1.0), expected, "{zone}");
            assert_eq!(text(&format!("days since 2000-01-01 00:00:00{zone}"), "", 1.0), expected, "{zone}");
        }
        assert_eq!(text("hours since 1970-01-01T00+05:30", "", 1.0), "1970-01-01T01:00:00+05:30");
    }

    #[test]
    fn what_counts_no_time_is_none() {
        for units in ["K", "days", "days since", "days after 2000-01-01", "days since yesterday", "m s-1"] {
            assert_eq!(Times::parse(units, ""), None, "{units}");
        }
        assert_eq!(Times::parse("days since 2000-01-01", "lunar"), None);
        assert_eq!(Times::parse("days since 2000-01-01", "").unwrap().text(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn every_day_has_one_date(days in -2_000_000i64..4_000_000, which in 0usize..6) {
            use Calendar::*;
            let calendar = [Standard, Gregorian, NoLeap, AllLeap, Days360, Julian][which];
            let (year, month, day) = calendar.date_of(days);
            prop_assert_eq!(calendar.days_of(year, month as u32, day as u32), Some(days));
        }
    }
}
