//! Writes NetCDF classic: CDF-1, CDF-2 or CDF-5, the smallest that holds what is written. Variables lie one after the
//! other, big-endian; those along the record dimension, if there is one, row by row behind them. The header is written
//! last, when it is known which variables have a value that stands for null.
//! <https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html#netcdf_3_spec>

mod layout;
mod values;

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::Kind;
use crate::data::dtype::DType;
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, note};
use crate::data::scan::put;
use crate::engines::netcdf::types::{Stored, stored};
use crate::engines::netcdf::{Model, Rules, Version, listed};
use crate::engines::variables::Variables;
use layout::Layout;
use std::io::SeekFrom;
use values::Values;

const VERSION: OptionSpec = OptionSpec::new(
    "version",
    "1: classic; 2: files beyond 2 GB; 5: also integers of 64 bits and without sign; auto: the smallest that holds all",
)
.one_of("auto", &["auto", "1", "2", "5"]);
const UNLIMITED: OptionSpec =
    OptionSpec::new("unlimited", "The name of the record dimension, which can grow: time").default("");
const NULLS: OptionSpec = OptionSpec::new(
    "nulls",
    "What happens to null cells of texts and truth values: an error, or empty text and false; of numbers they become _FillValue",
)
.one_of("refuse", &["refuse", "fill"]);

/// The writer.
pub(super) const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Tree,
    scales: true,
    options: &[VERSION, UNLIMITED, NULLS],
    check,
    ..Writer::new(&[Kind::Array, Kind::Table], losses, write)
};

/// What is in the file.
fn model(payload: &Payload, rows: u64, options: &Options) -> Model {
    let version = match options.get(VERSION.name) {
        Some("1") => Version::Classic(1),
        Some("2") => Version::Classic(2),
        Some("5") => Version::Classic(5),
        _ => smallest(payload),
    };
    let fill = options.get(NULLS.name) == Some("fill");
    let unlimited = listed(options.get(UNLIMITED.name).unwrap_or_default());
    let mut model = Model::of(payload, rows, &Rules { version, fill, unlimited });
    one_empty(&mut model);
    model
}

/// The version that has the types of all elements; sizes may want another one.
fn smallest(payload: &Payload) -> Version {
    let wide = [DType::U8, DType::U16, DType::U32, DType::I64, DType::U64];
    let all = Variables::of(payload, 0);
    let is_wide = all.list.iter().any(|variable| {
        let kept = stored(&variable.dtype, Version::Classic(5));
        matches!(kept, Some(Stored::Number(number)) if wide.contains(&number.dtype))
    });
    Version::Classic(if is_wide { 5 } else { 1 })
}

/// Only the record dimension has no length of its own: all of length 0 are one.
fn one_empty(model: &mut Model) {
    let is_empty = |n: usize| model.dimensions.get(n).is_some_and(|dimension| dimension.len == 0);
    let Some(first) = (0..model.dimensions.len()).find(|n| is_empty(*n)) else { return };
    let others: Vec<usize> = (first + 1..model.dimensions.len()).filter(|n| is_empty(*n)).collect();
    let name = model.dimensions.get(first).map(|dimension| dimension.name.clone()).unwrap_or_default();
    for kept in &mut model.variables {
        for number in kept.dimensions.iter_mut().filter(|number| others.contains(number)) {
            let what = format!("its dimension of length 0 is called {name}");
            model.losses.push(kept.source.say(note(LossKind::Name, what)).if_any());
            *number = first;
        }
    }
    for number in others.into_iter().rev() {
        model.dimensions.remove(number);
        for kept in &mut model.variables {
            kept.dimensions.iter_mut().filter(|n| **n > number).for_each(|n| *n -= 1);
        }
    }
}

fn known_rows(payload: &Payload) -> u64 {
    payload.table().map_or(0, |table| table.rows().number())
}

fn check(payload: &Payload) -> Result<()> {
    match model(payload, known_rows(payload), &Options::default()).is_empty() {
        true => Err(Error::unsupported("NetCDF classic has no type for any of it")),
        false => Ok(()),
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    model(payload, known_rows(payload), options).losses
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let table = payload.table().ok();
    let rows = table.map_or(Ok(0), |table| table.count(task))?;
    let model = model(payload, rows, options);
    if model.is_empty() {
        return Err(Error::unsupported("NetCDF classic has no type for any of it"));
    }
    let fill = options.choice(&NULLS)? == "fill";
    let version = options.choice(&VERSION)?.parse().ok();
    let values = Values::of(task, &model, table, fill)?;
    let layout = Layout::of(&model, values.widths(), version)?;
    // Room for the header.
    put(sink, &vec![0; usize::try_from(layout.first).unwrap_or(0)])?;
    values.write(task, &layout, sink)?;
    sink.seek(SeekFrom::Start(0))?;
    put(sink, &layout.header(&values.marked()))?;
    sink.seek(SeekFrom::End(0))?;
    Ok(sink.flush()?)
}

#[cfg(test)]
mod tests;
