//! Tables in several files: so many, or of so many rows or bytes each, in one folder, with names that count them.

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::TableView;
use crate::data::format::{Data, Files, OptionSpec, Options, Payload, WriteFile};
use std::ops::Range;
use std::sync::Arc;

/// How many files.
pub const SHARDS: OptionSpec = OptionSpec::new(
    "shards",
    "Write a folder of so many files with about as many rows each; their names count them",
);
/// How many rows each.
pub const ROWS: OptionSpec =
    OptionSpec::new("shard_rows", "Write a folder of files of at most so many rows each");
/// How many bytes each.
pub const BYTES: OptionSpec = OptionSpec::new(
    "shard_bytes",
    "Write a folder of files of about so many bytes each, before compression; all rows are read twice",
);

/// The number of the first row of a shard: set by [`write`], not by people.
const FIRST: &str = "first row";
/// The most files.
const MOST: u64 = 100_000;

/// Whether files of several are asked for.
pub fn is_asked(options: &Options) -> bool {
    [SHARDS, ROWS, BYTES].iter().any(|spec| options.get(spec.name).is_some_and(|text| !text.is_empty()))
}

/// The number of the first row of the table that is written, among those of all shards.
pub fn first_row(options: &Options) -> u64 {
    options.get(FIRST).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The name of a file: what all are called after, its number from 0 on, how many there are.
pub type Name = fn(&str, u64, u64) -> String;
/// Gives the bytes that each row takes in the file, in order.
pub type Sizes = fn(&Task, &Payload, &Options, &mut (dyn FnMut(u64) + Send)) -> Result<()>;

/// Gives the bytes of rows that lie one after the other, by where each ends.
pub fn lengths(ends: &[usize], each: &mut (dyn FnMut(u64) + Send)) {
    let mut start = 0;
    for end in ends {
        each((end - start) as u64);
        start = *end;
    }
}

/// Writes the shards of a table, each by `write`.
///
/// # Errors
/// Those of reading and writing; `Unsupported` for options that make no sense.
pub fn write(
    task: &Task,
    payload: &Payload,
    options: &Options,
    files: &mut dyn Files,
    how: (Name, WriteFile, Option<Sizes>),
) -> Result<()> {
    let (name, write, sizes) = how;
    let table = payload.table()?;
    let rows = table.count(task)?;
    let ranges = ranges(task, payload, options, rows, sizes)?;
    let stem = files.stem();
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let total = ranges.len() as u64;
    for (number, range) in (0..).zip(ranges) {
        task.check()?;
        task.set_message(format!("file {} of {}", display::count(number + 1), display::count(total)));
        let mut own = options.clone();
        own.set(FIRST, range.start.to_string());
        let view = TableView::new(table.clone(), range, columns.clone())?;
        let part = Payload { data: Data::Table(Arc::new(view)), ..payload.clone() };
        let mut file = files.file(&name(&stem, number, total))?;
        write(task, &part, &own, file.as_mut())?;
        file.flush()?;
    }
    Ok(())
}

/// The rows of each file.
fn ranges(
    task: &Task,
    payload: &Payload,
    options: &Options,
    rows: u64,
    sizes: Option<Sizes>,
) -> Result<Vec<Range<u64>>> {
    let set = |spec: &OptionSpec| match options.get(spec.name) {
        None | Some("") => Ok(None),
        Some(_) => options.number(spec, "it is no number above 0", |n: &u64| *n > 0).map(Some),
    };
    let (shards, most, bytes) = (set(&SHARDS)?, set(&ROWS)?, set(&BYTES)?);
    let ranges = match (shards, most, bytes) {
        (Some(count), None, None) => {
            few(count)?;
            let at = |n: u64| (u128::from(rows) * u128::from(n) / u128::from(count)) as u64;
            (0..count).map(|n| at(n)..at(n + 1)).collect()
        }
        (None, Some(most), None) => {
            let count = rows.div_ceil(most).max(1);
            few(count)?;
            (0..count).map(|n| n * most..n.saturating_add(1).saturating_mul(most).min(rows)).collect()
        }
        (None, None, Some(bytes)) => {
            let sizes = sizes.ok_or_else(|| Error::unsupported("shard_bytes: files are cut by rows only"))?;
            task.set_message("looking how long rows are");
            let (mut ranges, mut start, mut at, mut sum) = (Vec::new(), 0_u64, 0_u64, 0_u64);
            sizes(task, payload, options, &mut |size| {
                if at > start && sum.saturating_add(size) > bytes {
                    ranges.push(start..at);
                    (start, sum) = (at, 0);
                }
                (at, sum) = (at + 1, sum.saturating_add(size));
            })?;
            ranges.push(start..rows);
            few(ranges.len() as u64)?;
            ranges
        }
        _ => return Err(Error::unsupported("only one of shards, shard_rows and shard_bytes can be set")),
    };
    Ok(ranges)
}

fn few(count: u64) -> Result<()> {
    match count <= MOST {
        true => Ok(()),
        false => Err(Error::unsupported(format!(
            "that would be {} files; at most {} are written",
            display::count(count),
            display::count(MOST)
        ))),
    }
}
