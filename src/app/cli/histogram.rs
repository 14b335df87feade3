//! Histograms of a table's number columns: a second pass over its rows, when the first one has told where the
//! numbers begin and end.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use gander::content::Table;
use gander::content::table::read_each;
use gander::lines::types;
use gander::stats::{ColumnStats, Histogram, TableStats};
use gander::{Error, Task, cell};

/// A column's histogram, or why it could not be read again; `None` where it has no finite numbers.
pub(crate) type Found = Option<Result<Histogram, Error>>;

/// The histograms of all columns, of `bins` bins each from the smallest to the largest finite number.
pub(crate) fn of_table(
    task: &Task,
    table: &dyn Table,
    stats: &TableStats,
    bins: usize,
) -> Result<Vec<Found>, Error> {
    let fields = table.schema().fields();
    let mut found: Vec<Found> = Vec::with_capacity(fields.len());
    for (column, field) in stats.columns.iter().zip(fields) {
        let ends = column.as_ref().ok().and_then(|column| ends(column, field.data_type()));
        found.push(ends.map(|(low, high)| Ok(Histogram::new(low, high, bins))));
    }
    let columns: Vec<usize> = (0..found.len()).filter(|&column| found[column].is_some()).collect();
    if columns.is_empty() {
        return Ok(found);
    }
    task.expect(stats.rows);
    let mut at = 0;
    while at < stats.rows {
        let end = at.saturating_add(table.scan_step(at).max(1)).min(stats.rows);
        let arrays = read_each(table, task, at..end, &columns)?;
        for (&column, array) in columns.iter().zip(arrays) {
            let Some(Ok(histogram)) = &mut found[column] else { continue };
            let guess = types::inferred(&fields[column]);
            let added = array.and_then(|array| add(histogram, array, guess.as_ref()));
            if let Err(error) = added {
                found[column] = Some(Err(error));
            }
        }
        task.advance(end - at)?;
        at = end;
    }
    Ok(found)
}

/// The smallest and the largest number of a column of numbers.
fn ends(column: &ColumnStats, data_type: &DataType) -> Option<(f64, f64)> {
    column.sum?;
    let values = match data_type {
        DataType::Dictionary(_, values) => values.as_ref(),
        DataType::RunEndEncoded(_, values) => values.data_type(),
        other => other,
    };
    let number = |text: &Option<String>| -> Option<f64> {
        let text = text.as_deref()?;
        match values {
            // Its shortest text is another number in double precision.
            DataType::Float32 => text.parse::<f32>().ok().map(f64::from),
            _ => text.parse::<f64>().ok(),
        }
    };
    Some((number(&column.min)?, number(&column.max)?))
}

/// Counts the finite numbers of a column's part. `guess` is the type that a column of text was found to have.
fn add(histogram: &mut Histogram, array: ArrayRef, guess: Option<&DataType>) -> Result<(), Error> {
    let array = match (guess, array.as_string_opt::<i32>()) {
        (Some(kind), Some(cells)) => types::typed(cells, kind).0,
        _ => array.clone(),
    };
    let array = match array.data_type() {
        DataType::Dictionary(_, values) => arrow::compute::cast(&array, values)?,
        DataType::RunEndEncoded(_, values) => arrow::compute::cast(&array, values.data_type())?,
        _ => array.clone(),
    };
    let mut count = |value: f64| {
        if value.is_finite() {
            histogram.add(value);
        }
    };
    if array.data_type().is_decimal() {
        let value = |row: usize| cell::text(array.as_ref(), row)?.parse::<f64>().ok();
        (0..array.len()).filter_map(value).for_each(&mut count);
        return Ok(());
    }
    let numbers = arrow::compute::cast(&array, &DataType::Float64)?;
    numbers.as_primitive::<Float64Type>().iter().flatten().for_each(&mut count);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        Decimal128Array, DictionaryArray, Float32Array, Int64Array, RecordBatch, StringArray,
    };
    use arrow::datatypes::Int8Type;
    use gander::content::table::MemoryTable;
    use std::sync::Arc;

    /// The histograms of a table of these columns.
    fn found(columns: Vec<(&str, ArrayRef)>, bins: usize) -> Vec<Found> {
        let table = MemoryTable::new(
            RecordBatch::try_from_iter_with_nullable(
                columns.into_iter().map(|(name, array)| (name, array, true)),
            )
            .unwrap(),
        );
        let task = Task::new();
        let all: Vec<usize> = (0..table.schema().fields().len()).collect();
        let stats = gander::stats::table(&table, &task, &all).unwrap();
        of_table(&task, &table, &stats, bins).unwrap()
    }

    #[test]
    fn numbers_of_every_kind_lie_in_their_bins() {
        let floats = [Some(0.1), None, Some(f32::NAN), Some(f32::INFINITY), Some(0.9), Some(0.2)];
        let decimals = Decimal128Array::from(vec![Some(0), Some(100), Some(25), None, Some(75), Some(50)]);
        let words = StringArray::from(vec!["b"; 6]);
        let keys = arrow::array::Int8Array::from(vec![Some(0), Some(1), None, Some(1), Some(1), Some(0)]);
        let dictionary =
            DictionaryArray::<Int8Type>::new(keys, Arc::new(Int64Array::from(vec![-1, i64::from(u32::MAX)])));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("f", Arc::new(Float32Array::from(floats.to_vec()))),
            ("d", Arc::new(decimals.with_precision_and_scale(8, 2).unwrap())),
            ("s", Arc::new(words)),
            ("k", Arc::new(dictionary)),
            ("nothing", Arc::new(Int64Array::from(vec![None::<i64>; 6]))),
        ];
        let found = found(columns, 2);
        let one = |column: usize| found[column].as_ref().unwrap().as_ref().unwrap();
        assert_eq!(one(0).counts, [2, 1]);
        assert_eq!((one(0).edges[0], one(0).edges[2]), (f64::from(0.1f32), f64::from(0.9f32)));
        assert_eq!((one(1).counts.as_slice(), one(1).edges.as_slice()), (&[2, 3][..], &[0.0, 0.5, 1.0][..]));
        assert_eq!(one(3).counts, [2, 3]);
        assert!(found[2].is_none() && found[4].is_none());
    }
}
