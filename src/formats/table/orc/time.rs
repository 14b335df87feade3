//! Timestamps: seconds since the start of 2015 in the writer's time zone, and nanoseconds; and whether the
//! times of a column fit nanoseconds since 1970, which reach from 1677 to 2262.
//!
//! Specification: <https://orc.apache.org/specification/ORCv1/#timestamp-columns>.

use super::rle::Integers;
use super::stream::Stream;
use super::tail::{Extremes, StreamKind, Tail};
use crate::bytes::error::{Error, Result};
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use arrow::datatypes::TimeUnit;
use chrono::{Datelike, NaiveDate, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;

/// Where seconds are counted from: the start of 2015 in UTC, as seconds since 1970.
const BASE: i64 = 1_420_070_400;
const DAY: i64 = 86_400;
/// The seconds since 1970 that nanoseconds reach, in both directions, less than what time zones and
/// milliseconds may add.
const REACH: i64 = i64::MAX / 1_000_000_000 - 2 * DAY;
/// The last year whose changes of time zones are looked up; rules go on as they are then.
const LAST_YEAR: i32 = 2036;
/// How much of its streams is looked at where a file says nothing of its times, in stored bytes,
const LOOKED_AT: u64 = 4 << 20;
/// in how many stripes,
const STRIPES: usize = 256;
/// and in how many values.
const VALUES: usize = 16 << 20;

/// A writer's time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zone {
    /// So many seconds east of UTC.
    Fixed(i64),
    Named(Tz),
}

impl Zone {
    /// The zone of a name in a stripe's footer; UTC where there is none.
    pub(super) fn of(name: Option<&str>) -> Result<Zone> {
        let Some(name) = name else { return Ok(Zone::Fixed(0)) };
        if let Some(seconds) = offset_of(name) {
            return Ok(Zone::Fixed(seconds));
        }
        let zone = name.parse().map_err(|_| Error::unsupported(format!("the time zone {name:?}")))?;
        Ok(Zone::Named(zone))
    }

    /// Seconds to add to `seconds` since 1970 in UTC for the time on the clock there.
    fn offset(self, seconds: i64) -> i64 {
        let zone = match self {
            Zone::Fixed(seconds) => return seconds,
            Zone::Named(zone) => zone,
        };
        let moment = chrono::DateTime::from_timestamp(seconds, 0).map(|moment| moment.naive_utc());
        let moment = moment.unwrap_or(match seconds < 0 {
            true => NaiveDateTime::MIN,
            false => NaiveDateTime::MAX,
        });
        zone.offset_from_utc_datetime(&within(moment)).fix().local_minus_utc().into()
    }

    /// Seconds since 1970 in UTC at the start of 2015 there.
    fn base(self) -> i64 {
        BASE - self.offset(BASE)
    }
}

/// Names that are an offset themselves: UTC, GMT+8, GMT-03:30.
fn offset_of(name: &str) -> Option<i64> {
    if matches!(name, "UTC" | "GMT" | "Etc/UTC" | "Etc/GMT" | "Z") {
        return Some(0);
    }
    let rest = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC")).unwrap_or(name);
    let (sign, rest) = match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
        (Some(rest), _) => (1, rest),
        (_, Some(rest)) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() == 4 => rest.split_at_checked(2)?,
        None => (rest, "0"),
    };
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    (hours < 24 && minutes < 60).then(|| sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60))
}

/// A moment beyond the years that zones are known of: the same day and time in a year that has the same
/// weekdays and length, whose changes are then the same.
fn within(moment: NaiveDateTime) -> NaiveDateTime {
    let year = moment.year();
    if year <= LAST_YEAR {
        return moment;
    }
    let first = |year: i32| NaiveDate::from_ymd_opt(year, 1, 1).map(|day| (day.weekday(), day.leap_year()));
    let alike = (LAST_YEAR - 27..=LAST_YEAR).rev().find(|&other| first(other) == first(year));
    alike.and_then(|other| moment.with_year(other)).unwrap_or(moment)
}

/// Turns the values of both streams into counts of `unit` since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    zone: Zone,
    base: i64,
    unit: TimeUnit,
}

impl Clock {
    /// Times of a writer in `zone`, in nanoseconds or microseconds.
    pub(super) fn new(zone: Zone, unit: TimeUnit) -> Clock {
        Clock { zone, base: zone.base(), unit }
    }

    /// The time on the writer's clock. Digits below the unit are left off.
    ///
    /// # Errors
    /// `Malformed` for more than 999,999,999 nanoseconds, and for times that the unit does not reach.
    pub(super) fn time(&self, seconds: i64, nanos: i64) -> Result<i64> {
        // The last three bits say how many zeros were left off, from two on. Arrow's writer counts back from
        // seconds before 1970: its nanoseconds are negative there.
        let zeros = match nanos & 7 {
            0 => 0,
            zeros => zeros as u32 + 1,
        };
        let nanos = (nanos >> 3).checked_mul(10i64.pow(zeros)).filter(|nanos| nanos.abs() < 1_000_000_000);
        let nanos = nanos.ok_or_else(|| Error::malformed("a time has a second or more in nanoseconds"))?;
        let beyond = || Error::malformed("a time is beyond the years that are counted");
        let mut seconds = seconds.checked_add(self.base).ok_or_else(beyond)?;
        // Writers cut seconds towards 1970, whole milliseconds excepted (ORC-763).
        if seconds < 0 && nanos > 999_999 {
            seconds -= 1;
        }
        let local = seconds.checked_add(self.zone.offset(seconds)).ok_or_else(beyond)?;
        let time = i128::from(local) * 1_000_000_000 + i128::from(nanos);
        let time = if self.unit == TimeUnit::Nanosecond { time } else { time.div_euclid(1000) };
        i64::try_from(time).map_err(|_| match self.unit {
            TimeUnit::Nanosecond => Error::malformed(
                "a time is beyond the years 1677 to 2262, though the file's statistics promise none",
            ),
            _ => beyond(),
        })
    }
}

/// What the times of type `id` are counted in: nanoseconds, or microseconds where some of them do not fit
/// those. The file's statistics say it; where a writer made none, the seconds themselves are looked at, as
/// far as that is little work.
///
/// # Errors
/// Only where the work is cancelled.
pub(super) fn unit(task: &Task, source: &Source, tail: &Tail, id: u32) -> Result<TimeUnit> {
    let known = tail.statistics.get(id as usize);
    if known.is_some_and(|known| known.values == Some(0)) {
        return Ok(TimeUnit::Nanosecond);
    }
    let fits = match known.map(|known| &known.kind) {
        Some(Extremes::Timestamp { local, utc }) => {
            let pair =
                |ends: &[Option<i64>; 2]| if let [Some(a), Some(b)] = ends { Some((*a, *b)) } else { None };
            let within = |(a, b): (i64, i64)| [a, b].iter().all(|end| (end / 1000).abs() <= REACH);
            match (pair(utc), pair(local)) {
                (Some(ends), _) | (None, Some(ends)) => Some(within(ends)),
                (None, None) => None,
            }
        }
        _ => None,
    };
    let fits = match fits {
        Some(fits) => fits,
        None => match looked_at(task, source, tail, id) {
            Err(error) if error.is_cancelled() => return Err(error),
            // What is broken is said when it is read.
            Err(_) => true,
            Ok(fits) => fits,
        },
    };
    Ok(if fits { TimeUnit::Nanosecond } else { TimeUnit::Microsecond })
}

/// Whether all seconds of a type are within the reach of nanoseconds, as far as they are looked at.
fn looked_at(task: &Task, source: &Source, tail: &Tail, id: u32) -> Result<bool> {
    let (mut bytes, mut values) = (0, 0);
    for stripe in tail.stripes.iter().take(STRIPES) {
        task.check()?;
        let footer = tail.stripe_footer(task, source, stripe)?;
        let Some(range) = footer.stream(StreamKind::Data, id) else { continue };
        bytes += range.end - range.start;
        if bytes > LOOKED_AT {
            break;
        }
        let v2 = footer.encodings.get(id as usize).is_some_and(|encoding| encoding.v2);
        let stream = Stream::new(task, source, tail.packing, range);
        let mut seconds = Integers::new(stream, true, v2);
        while let Some(run) = seconds.next_run()? {
            if run
                .iter()
                .any(|&seconds| seconds.checked_add(BASE).is_none_or(|s| s.unsigned_abs() > REACH as u64))
            {
                return Ok(false);
            }
            values += run.len();
            if values > VALUES {
                return Ok(true);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_by_name_and_by_offset() {
        assert_eq!(Zone::of(None).unwrap(), Zone::Fixed(0));
        assert_eq!(Zone::of(Some("GMT-03:30")).unwrap(), Zone::Fixed(-12_600));
        assert_eq!(Zone::of(Some("+0530")).unwrap(), Zone::Fixed(19_800));
        assert!(Zone::of(Some("Nowhere/Atall")).is_err());
        let pacific = Zone::of(Some("America/Los_Angeles")).unwrap();
        assert_eq!(pacific.base(), BASE + 8 * 3600);
        // Summer time in July of a year that no table reaches; none in December.
        let july = NaiveDate::from_ymd_opt(2500, 7, 1).unwrap().and_hms_opt(0, 0, 0).unwrap();
        let december = NaiveDate::from_ymd_opt(9999, 12, 31).unwrap().and_hms_opt(0, 0, 0).unwrap();
        assert_eq!(pacific.offset(july.and_utc().timestamp()), -7 * 3600);
        assert_eq!(pacific.offset(december.and_utc().timestamp()), -8 * 3600);
    }

    #[test]
    fn both_units_and_what_is_before_1970() {
        let nano = Clock::new(Zone::Fixed(0), TimeUnit::Nanosecond);
        let micro = Clock::new(Zone::Fixed(0), TimeUnit::Microsecond);
        assert_eq!(nano.time(-BASE + 1, 123_456_789 << 3).unwrap(), 1_123_456_789);
        assert_eq!(micro.time(-BASE + 1, 123_456_789 << 3).unwrap(), 1_123_456);
        // 5 with seven zeros: half a second before 1970 is second 0 in the file.
        assert_eq!(nano.time(-BASE - 1, 5 << 3 | 7).unwrap(), -1_500_000_000);
        // Whole milliseconds are not moved.
        assert_eq!(nano.time(-BASE - 1, 0).unwrap(), -1_000_000_000);
        let far = 253_402_214_400 - BASE;
        assert!(nano.time(far, 0).is_err());
        assert_eq!(micro.time(far, 0).unwrap(), 253_402_214_400_000_000);
        // Negative nanoseconds, and digits that are left off towards the past.
        assert_eq!(nano.time(-BASE - 1, -500_000_001 << 3).unwrap(), -1_500_000_001);
        assert_eq!(micro.time(-BASE - 1, -500_000_001 << 3).unwrap(), -1_500_001);
        assert!(micro.time(0, 100_000_000 << 3 | 2).is_err());
        assert!(micro.time(i64::MAX, 0).is_err());
    }
}
