//! What the footer says of a column's values.

use super::tail::{Extremes, Statistics};
use crate::data::content::table::StoredStatistics;
use arrow::array::{Date32Array, TimestampMillisecondArray};
use arrow::datatypes::DataType;

/// What the footer says of a column of `rows` rows.
pub(super) fn stored(found: &Statistics, rows: u64, data_type: &DataType) -> StoredStatistics {
    let (min, max, bounds) = ends(&found.kind, data_type);
    let nulls = found.values.and_then(|values| rows.checked_sub(values));
    StoredStatistics { nulls, min, max, bounds, distinct: None }
}

/// The smallest and the largest value, and whether they may be less exact than the values are.
fn ends(known: &Extremes, data_type: &DataType) -> (Option<String>, Option<String>, bool) {
    let number = |value: &Option<i64>| value.map(|value| value.to_string());
    let float = |value: &Option<f64>| value.map(crate::data::cell::float64);
    let text = |value: &Option<(String, bool)>| value.as_ref().map(|(text, _)| text.clone());
    match known {
        Extremes::None => (None, None, false),
        Extremes::Int(min, max) => (number(min), number(max), false),
        Extremes::Double(min, max) => (float(min), float(max), false),
        Extremes::Decimal(min, max) => (min.clone(), max.clone(), false),
        Extremes::Text(min, max) => {
            let bounds = [min, max].iter().any(|end| end.as_ref().is_none_or(|(_, exact)| !exact));
            (text(min), text(max), bounds)
        }
        Extremes::Date(min, max) => {
            let day = |day: &Option<i64>| {
                let day = i32::try_from((*day)?).ok()?;
                crate::data::cell::text(&Date32Array::from(vec![day]), 0)
            };
            (day(min), day(max), false)
        }
        // Writers before ORC-135 give their own local time only, which says nothing. Whole milliseconds
        // are the bounds of values that may be finer.
        Extremes::Timestamp { utc: [min, max], .. } => match (min, max) {
            (Some(min), Some(max)) => (moment(*min, data_type), moment(*max, data_type), true),
            _ => (None, None, false),
        },
    }
}

/// A moment in milliseconds as a value of a column of timestamps.
fn moment(milliseconds: i64, data_type: &DataType) -> Option<String> {
    let DataType::Timestamp(_, zone) = data_type else { return None };
    let moment = TimestampMillisecondArray::from(vec![milliseconds]).with_timezone_opt(zone.clone());
    crate::data::cell::text(&moment, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_not_there_is_none() {
        let text = Extremes::Text(None, Some(("z".into(), false)));
        assert_eq!(ends(&text, &DataType::Utf8), (None, Some("z".into()), true));
        let local = Extremes::Timestamp { local: [Some(7), Some(9)], utc: [None, None] };
        let kind = DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, None);
        assert_eq!(ends(&local, &kind), (None, None, false));
    }
}
