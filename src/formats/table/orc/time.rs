//! Timestamps: seconds since the start of 2015 in the writer's time zone, and nanoseconds; and whether the
//! times of a column fit nanoseconds since 1970, which reach from 1677 to 2262.
//!
//! Specification: <https://orc.apache.org/specification/ORCv1/#timestamp-columns>.

use super::rle::Integers;
use super::stream::Stream;
use super::tail::{Extremes, StreamKind, Stripe, Tail};
use crate::bytes::error::{Error, Result, UnlessCancelled};
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
/// The last year that the tables of time zones reach. The 28 years up to it have every kind of year: leap years
/// and others that begin on each day of the week.
const LAST_YEAR: i32 = 2099;
/// How much of its streams is looked at where a file says nothing of its times, in stored bytes,
const LOOKED_AT: u64 = 4 << 20;
/// in how many stripes, which are spread over the file,
const STRIPES: usize = 256;
/// and in how many values. The first run of each of these stripes is looked at in any case.
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
/// weekdays and length, whose changes are then the same. Years before [`LAST_YEAR`] have none that is close
/// enough: rules change, and of each leap year there is only one in 28 years.
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
    /// Whether the file's statistics say between which ends its times are.
    stated: bool,
}

impl Clock {
    /// Times of a writer in `zone`, in nanoseconds or microseconds; `stated` where that was chosen by the file's
    /// statistics.
    pub(super) fn new(zone: Zone, unit: TimeUnit, stated: bool) -> Clock {
        Clock { zone, base: zone.base(), unit, stated }
    }

    /// The time on the writer's clock. Digits below the unit are left off.
    ///
    /// # Errors
    /// `Malformed` for more than 999,999,999 nanoseconds, and for times that the unit does not reach; `Unsupported`
    /// for the latter where nothing said before that there are such.
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
            TimeUnit::Nanosecond if self.stated => Error::malformed(
                "a time is beyond the years 1677 to 2262, though the file's statistics promise none",
            ),
            TimeUnit::Nanosecond => Error::unsupported(
                "a time beyond the years 1677 to 2262 in a column that is read in nanoseconds, since the file has no \
                 statistics of its times and those that were looked at are within these years",
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
    let fits = match stated(tail, id) {
        Some(fits) => fits,
        None => looked_at(task, source, tail, id)?,
    };
    Ok(if fits { TimeUnit::Nanosecond } else { TimeUnit::Microsecond })
}

/// Whether the times of a type fit nanoseconds, as far as the file's statistics say it.
pub(super) fn stated(tail: &Tail, id: u32) -> Option<bool> {
    let known = tail.statistics.get(id as usize)?;
    if known.values == Some(0) {
        return Some(true);
    }
    let Extremes::Timestamp { local, utc } = &known.kind else { return None };
    let pair = |ends: &[Option<i64>; 2]| if let [Some(a), Some(b)] = ends { Some([*a, *b]) } else { None };
    let ends = pair(utc).or(pair(local))?;
    Some(ends.iter().all(|end| (end / 1000).abs() <= REACH))
}

/// How much may still be looked at.
struct Budget {
    /// Of stored bytes,
    bytes: u64,
    /// and of values.
    values: usize,
}

/// Whether all seconds of a type are within the reach of nanoseconds, as far as they are looked at.
fn looked_at(task: &Task, source: &Source, tail: &Tail, id: u32) -> Result<bool> {
    let mut budget = Budget { bytes: LOOKED_AT, values: VALUES };
    let count = tail.stripes.len();
    let looked = count.min(STRIPES);
    for n in 0..looked {
        task.check()?;
        // The first, the last, and others at even distances.
        let Some(stripe) = tail.stripes.get(n * count.saturating_sub(1) / looked.saturating_sub(1).max(1))
        else {
            continue;
        };
        match fits(task, source, tail, stripe, id, &mut budget).unless_cancelled()? {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            // What is broken is said when it is read, and says nothing of other stripes.
            Err(_) => {}
        }
    }
    Ok(true)
}

/// The same of one stripe: its first run, and what the budget allows.
fn fits(
    task: &Task,
    source: &Source,
    tail: &Tail,
    stripe: &Stripe,
    id: u32,
    budget: &mut Budget,
) -> Result<bool> {
    let footer = tail.stripe_footer(task, source, stripe)?;
    let Some(range) = footer.stream(StreamKind::Data, id) else { return Ok(true) };
    let left = budget.bytes.checked_sub(range.end - range.start);
    budget.bytes = left.unwrap_or(budget.bytes);
    let v2 = footer.encodings.get(id as usize).is_some_and(|encoding| encoding.v2);
    let stream = Stream::new(task, source, tail.packing, range);
    let mut seconds = Integers::new(stream, true, v2);
    let is_far =
        |seconds: &i64| seconds.checked_add(BASE).is_none_or(|seconds| seconds.unsigned_abs() > REACH as u64);
    while let Some(run) = seconds.next_run()? {
        if run.iter().any(is_far) {
            return Ok(false);
        }
        budget.values = budget.values.saturating_sub(run.len());
        if left.is_none() || budget.values == 0 {
            break;
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
    fn rules_of_today_go_on_in_every_year_to_come() {
        // Zones whose clocks do not change any more, though they did in leap years not long ago.
        let hours = |name: &str, year: i32, month: u32| {
            let moment = NaiveDate::from_ymd_opt(year, month, 1).unwrap().and_hms_opt(12, 0, 0).unwrap();
            Zone::of(Some(name)).unwrap().offset(moment.and_utc().timestamp()) as f64 / 3600.0
        };
        for year in 2027..2600 {
            for (name, always) in [
                ("Europe/Moscow", 3.0),
                ("Europe/Istanbul", 3.0),
                ("America/Sao_Paulo", -3.0),
                ("America/Mexico_City", -6.0),
                ("Asia/Tehran", 3.5),
            ] {
                assert_eq!([hours(name, year, 1), hours(name, year, 6)], [always; 2], "{name} {year}");
            }
            let berlin = [1, 6].map(|month| hours("Europe/Berlin", year, month));
            assert_eq!(berlin, [1.0, 2.0], "{year}");
            let sydney = [1, 6].map(|month| hours("Australia/Sydney", year, month));
            assert_eq!(sydney, [11.0, 10.0], "{year}");
        }
    }

    #[test]
    fn a_time_out_of_reach_is_a_mistake_only_where_statistics_promise_none() {
        use crate::bytes::error::ErrorKind;
        let far = 253_402_214_400 - BASE;
        for (stated, kind) in [(true, ErrorKind::Malformed), (false, ErrorKind::Unsupported)] {
            let clock = Clock::new(Zone::Fixed(0), TimeUnit::Nanosecond, stated);
            let error = clock.time(far, 0).unwrap_err();
            assert_eq!((error.kind(), error.message().contains("promise")), (kind, stated), "{error}");
        }
    }

    #[test]
    fn both_units_and_what_is_before_1970() {
        let nano = Clock::new(Zone::Fixed(0), TimeUnit::Nanosecond, true);
        let micro = Clock::new(Zone::Fixed(0), TimeUnit::Microsecond, true);
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
