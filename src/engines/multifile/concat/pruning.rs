//! What is known of the values in parts, and in ranges of their rows, for whoever looks for some values only.

use super::{Concat, Entry, Origin};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{ColumnStatistics, RowRanges, Rows};
use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use rayon::prelude::*;
use std::ops::Range;

/// What is known of each part without opening it: its constants, what metadata says of it.
pub(super) fn parts(concat: &Concat, columns: &[usize]) -> RowRanges {
    let entries: Vec<&Entry> = concat.entries().collect();
    let rows = |entry: &&Entry| entry.summary.get().map_or(entry.part.rows, |summary| Some(summary.rows));
    let counts: Vec<Option<u64>> = entries.iter().map(|entry| rows(entry).and_then(Rows::exact)).collect();
    let one = |&column: &usize| {
        let data_type = concat.shared.columns.schema.field(column).data_type();
        let constant = concat.shared.constants.get(column).copied().flatten();
        let of = |(entry, count): (&&Entry, &Option<u64>)| {
            let value = constant.and_then(|n| entry.part.constants.get(n));
            let stated = || entry.part.bounds.as_ref().and_then(|bounds| bounds(column));
            let found = match value {
                Some(value) => ColumnStatistics::constant(value, &[count.unwrap_or(1)]).ok(),
                None => stated().map(|bounds| if count.is_some() { bounds } else { bounds.of_some_rows() }),
            };
            let found = found.filter(|bounds| bounds.min.len() == 1).map(|bounds| bounds.read_as(data_type));
            found.unwrap_or_else(|| ColumnStatistics::unknown(data_type, 1))
        };
        let all: Vec<ColumnStatistics> = entries.iter().zip(&counts).map(of).collect();
        ColumnStatistics::joined(&all, data_type)
            .unwrap_or_else(|_| ColumnStatistics::unknown(data_type, entries.len()))
    };
    RowRanges {
        rows: counts.iter().map(|count| 0..count.unwrap_or(1)).collect(),
        columns: columns.iter().map(one).collect(),
    }
}

/// The most parts whose statistics are merged.
const MERGED: usize = 512;

/// What all parts together say of a column: by metadata, by their constants, or what the files say that are
/// open. `None` where one of them says nothing.
pub(super) fn statistics(concat: &Concat, column: usize) -> Option<ColumnStatistics> {
    let data_type = concat.shared.columns.schema.fields().get(column)?.data_type();
    if concat.members.len() > MERGED || data_type.is_nested() {
        return None;
    }
    let parts = concat.members.iter().map(|&number| of_part_as_stored(concat, number, column));
    let parts: Vec<PartStatistics> = parts.collect::<Option<_>>()?;
    let rows: Vec<Option<u64>> = parts.iter().map(|part| part.rows).collect();
    let all: Vec<ColumnStatistics> = parts.into_iter().map(|part| part.values).collect();
    let merged = ColumnStatistics::joined(&all, data_type).ok()?.merged(&rows);
    merged.is_known().then_some(merged)
}

/// What is known of a column in one part, which is one range.
struct PartStatistics {
    rows: Option<u64>,
    values: ColumnStatistics,
}

fn of_part_as_stored(concat: &Concat, number: usize, column: usize) -> Option<PartStatistics> {
    let shared = &concat.shared;
    let data_type = shared.columns.schema.field(column).data_type();
    let entry = shared.entries.get(number)?;
    let summary = entry.summary.get();
    let rows = summary.map(|summary| summary.rows).or(entry.part.rows).and_then(Rows::exact);
    let one = |values: ColumnStatistics| {
        let values = values.read_as(data_type);
        let values = if rows.is_some() { values } else { values.of_some_rows() };
        (values.min.len() == 1).then_some(PartStatistics { rows, values })
    };
    let constant = |value: &ArrayRef| one(ColumnStatistics::constant(value, &[rows?]).ok()?);
    if let Some(n) = shared.constants.get(column).copied().flatten() {
        return constant(entry.part.constants.get(n)?);
    }
    if let Some(stated) = entry.part.bounds.as_ref().and_then(|bounds| bounds(column)) {
        // Metadata of a table may give ends beyond the values.
        return one(stated.inexact());
    }
    match summary?.columns.as_ref().map(|columns| columns.get(column)) {
        // It is left out: no rows.
        None => one(ColumnStatistics::only_nulls(data_type, vec![0].into())),
        Some(Some(Origin::Own(own, _))) => one(shared.cached.get(&number)?.statistics(*own)?),
        Some(Some(Origin::Missing)) => constant(&new_null_array(data_type, 1)),
        Some(_) => None,
    }
}

/// The row ranges of those parts that are `wanted` (none: of all), which are opened for that.
pub(super) fn row_ranges(
    concat: &Concat,
    task: &Task,
    columns: &[usize],
    wanted: &[bool],
) -> Result<RowRanges> {
    concat.reach(task, u64::MAX)?;
    let starts = concat.starts.read().clone();
    let of_place = |place: usize| {
        let is_wanted = wanted.get(place).copied().unwrap_or(wanted.is_empty());
        let rows = *starts.get(place)?..*starts.get(place + 1)?;
        (is_wanted && !rows.is_empty()).then_some((place, rows))
    };
    let places: Vec<(usize, Range<u64>)> = (0..concat.members.len()).filter_map(of_place).collect();
    let one = |(place, rows): &(usize, Range<u64>)| of_part(concat, task, *place, rows.clone(), columns);
    let found: Vec<RowRanges> = places.par_iter().map(one).collect::<Result<_>>()?;
    let join = |n: usize, column: usize| {
        let parts: Vec<ColumnStatistics> =
            found.iter().filter_map(|part| part.columns.get(n).cloned()).collect();
        ColumnStatistics::joined(&parts, concat.shared.columns.schema.field(column).data_type())
    };
    let columns = columns.iter().enumerate().map(|(n, &column)| join(n, column)).collect::<Result<_>>()?;
    Ok(RowRanges { rows: found.iter().flat_map(|part| part.rows.clone()).collect(), columns })
}

/// The row ranges of one part, which stands at `rows` in the whole.
fn of_part(
    concat: &Concat,
    task: &Task,
    place: usize,
    rows: Range<u64>,
    columns: &[usize],
) -> Result<RowRanges> {
    let entry = concat.entry(place).ok_or_else(|| Error::bug("a part that is not there"))?;
    let summary = entry.summary.get().ok_or_else(|| Error::bug("a part that was never open"))?;
    let origins = summary.columns.as_ref().ok_or_else(|| Error::bug("a part that is left out"))?;
    let mut own: Vec<usize> = Vec::new();
    for &column in columns {
        if let Some(Origin::Own(theirs, _)) = origins.get(column)
            && !own.contains(theirs)
        {
            own.push(*theirs);
        }
    }
    let table = concat.table(task, place)?;
    let types: Vec<&DataType> = own.iter().map(|&n| table.schema().field(n).data_type()).collect();
    let len = rows.end - rows.start;
    let inner = table.row_ranges(task, &own, &[])?;
    let inner = inner.unwrap_or_else(|| RowRanges::unknown(0..len, &types));
    let counts = inner.counts();
    let one = |&column: &usize| -> Result<ColumnStatistics> {
        let data_type = concat.shared.columns.schema.field(column).data_type();
        Ok(match origins.get(column) {
            Some(Origin::Own(theirs, _)) => {
                let found = own.iter().position(|n| n == theirs).and_then(|at| inner.columns.get(at));
                let found = found.ok_or_else(|| Error::bug("a column without its bounds"))?;
                found.clone().read_as(data_type)
            }
            Some(Origin::Constant(n)) => {
                let value = entry.part.constants.get(*n).ok_or_else(|| Error::bug("no such constant"))?;
                ColumnStatistics::constant(value, &counts)?
            }
            Some(Origin::Field(_) | Origin::Rest(_)) => ColumnStatistics::unknown(data_type, counts.len()),
            _ => ColumnStatistics::constant(&new_null_array(data_type, 1), &counts)?,
        })
    };
    let columns = columns.iter().map(one).collect::<Result<_>>()?;
    let shifted = inner.rows.iter().map(|inside| rows.start + inside.start..rows.start + inside.end);
    Ok(RowRanges { rows: shifted.collect(), columns })
}
