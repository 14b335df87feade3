//! What the footer says of a column's values.

use super::tail::{Extremes, Statistics};
use crate::data::content::ColumnStatistics;
use arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, StringArray, TimestampMillisecondArray, UInt64Array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// What the footer says of a column of `rows` rows.
pub(super) fn stored(found: &Statistics, rows: u64, data_type: &DataType) -> ColumnStatistics {
    let nulls = found.values.and_then(|values| rows.checked_sub(values));
    let nulls = UInt64Array::from(vec![nulls]);
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let ends = ends(&found.kind, data_type)
        .map(|(ends, exact)| (ends.map(|end| cast_with_options(&end, data_type, &options).ok()), exact));
    match ends {
        Some(([Some(min), Some(max)], exact)) => {
            ColumnStatistics { exact, ..ColumnStatistics::new(min, max, nulls) }
        }
        _ => ColumnStatistics::only_nulls(data_type, nulls),
    }
}

/// The smallest and the largest value, an array of one each, and whether they are as exact as the values are.
fn ends(known: &Extremes, data_type: &DataType) -> Option<([ArrayRef; 2], bool)> {
    let text = |text: Option<&str>| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    Some(match known {
        Extremes::None => return None,
        Extremes::Int(min, max) => {
            ([min, max].map(|end| Arc::new(Int64Array::from(vec![*end])) as ArrayRef), true)
        }
        Extremes::Double(min, max) => {
            ([min, max].map(|end| Arc::new(Float64Array::from(vec![*end])) as ArrayRef), true)
        }
        Extremes::Decimal(min, max) => ([min, max].map(|end| text(end.as_deref())), true),
        Extremes::Text(min, max) => {
            let exact = [min, max].iter().all(|end| end.as_ref().is_some_and(|(_, exact)| *exact));
            ([min, max].map(|end| text(end.as_ref().map(|(end, _)| end.as_str()))), exact)
        }
        Extremes::Date(min, max) => {
            let day = |day: &Option<i64>| day.and_then(|day| i32::try_from(day).ok());
            ([min, max].map(|end| Arc::new(Date32Array::from(vec![day(end)])) as ArrayRef), true)
        }
        // Writers before ORC-135 give their own local time only, which says nothing. Whole milliseconds
        // are the bounds of values that may be finer.
        Extremes::Timestamp { utc, .. } => {
            let DataType::Timestamp(_, zone) = data_type else { return None };
            let [Some(_), Some(_)] = utc else { return None };
            let moment = |end: Option<i64>| {
                let moment = TimestampMillisecondArray::from(vec![end]).with_timezone_opt(zone.clone());
                Arc::new(moment) as ArrayRef
            };
            (utc.map(moment), false)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_not_there_is_none() {
        let known = |kind, data_type| {
            let found = stored(&Statistics { values: None, kind }, 9, data_type);
            (found.min_text(), found.max_text(), found.exact)
        };
        let text = Extremes::Text(None, Some(("z".into(), false)));
        assert_eq!(known(text, &DataType::Utf8), (None, Some("z".into()), false));
        let local = Extremes::Timestamp { local: [Some(7), Some(9)], utc: [None, None] };
        let kind = DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, None);
        assert_eq!(known(local, &kind), (None, None, true));
    }
}
