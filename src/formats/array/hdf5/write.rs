//! Writes HDF5 through libhdf5: arrays as datasets, their names as paths of groups; tables as a dataset of
//! records, or a dataset for each column. Chunks are shuffled and compressed here, on all cores, and given to
//! the library as they are; the library lays out everything else.
//!
//! <https://support.hdfgroup.org/documentation/hdf5/latest/_h5_d__u_g.html>

mod attributes;
mod cells;
mod library;
mod matlab;
mod netcdf;
mod room;
mod scales;
mod settings;
mod types;

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::{TableArray, arrow_of};
use crate::data::chunked::write;
use crate::data::content::{Array, Kind, Table, array};
use crate::data::dtype::DType;
use crate::data::format::{Data, Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::format::{loss, note};
use crate::data::region::pieces;
use crate::data::scan::array_bytes;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Fields};
use cells::{Cell, Rows};
use library::{Compression, Dataset, File, Group, Storage, Type};
pub use matlab::WRITER as MATLAB;
pub use netcdf::WRITER as NETCDF4;
use settings::{AUTO, CHUNKS, COMPRESSION, FLETCHER32, LEVEL, LIBVER, NULLS, SHUFFLE, Settings, filtered};
use std::collections::BTreeSet;
use std::sync::Arc;

const LAYOUT: OptionSpec = OptionSpec::new(
    "layout",
    "A table as one dataset of records (compound), or as a group with a dataset for each column",
)
.one_of("records", &["records", "columns"]);
const NAME: OptionSpec = OptionSpec::new("name", "The path of a table in the file").default("table");
/// The writer.
pub const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Tree,
    scales: true,
    options: &[COMPRESSION, LEVEL, SHUFFLE, FLETCHER32, CHUNKS, LIBVER, LAYOUT, NAME, NULLS],
    ..Writer::new(&[Kind::Array, Kind::Table], losses, write)
};

/// Rows of a chunk of elements without a size, which take 16 bytes or more each in the dataset itself.
const ROWS: u64 = 4096;

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let mut losses = Vec::new();
    match &payload.data {
        Data::Arrays(arrays) => {
            for (name, array) in arrays {
                array_losses(name, "", array.dtype(), &mut losses);
                let is_there = types::is_there(array.dtype()) || is_mixed(array.dtype());
                if array.dtype().record().is_some() && array.shape().len() < 2 && is_there {
                    losses.push(note(LossKind::Type, "its records are the rows of a table").at(name));
                }
            }
        }
        Data::Table(table) => {
            losses.extend(null_loss(table.schema().fields()));
            for field in table.schema().fields() {
                column_losses("", field.name(), field.data_type(), &mut losses);
            }
        }
        _ => {}
    }
    if options.choice(&NULLS).is_ok_and(|rule| rule == "fill") {
        losses.push(loss(LossKind::Null, "null cells become empty text, zero or NaN").if_any());
    }
    attributes::losses("", &payload.attributes, &mut losses);
    for (name, own) in &payload.parts {
        attributes::losses(name, own, &mut losses);
    }
    losses
}

/// What is said where one of these columns can have no nulls.
fn null_loss(fields: &Fields) -> Option<Loss> {
    let any = fields.iter().any(|field| !field.is_nullable());
    any.then(|| note(LossKind::Null, "HDF5 does not say that a column has no nulls"))
}

/// The losses of the array at `path`, or of its field `subject`.
fn array_losses(path: &str, subject: &str, dtype: &DType, losses: &mut Vec<Loss>) {
    let mut say = |made: Loss| losses.push(made.at(path).of(subject));
    match dtype {
        DType::Str(_) => say(note(LossKind::Type, "text of a fixed width becomes text of any length")),
        DType::Variable(kind) => {
            if kind.word != "str" && kind.arrow == DataType::Utf8 {
                say(note(LossKind::Type, format!("its elements ({}) become text", kind.word)));
            }
            if let DataType::Struct(fields) = &kind.arrow {
                losses.extend(null_loss(fields).map(|loss| loss.at(path)));
            }
            column_losses(path, subject, &kind.arrow, losses);
        }
        other if is_mixed(other) => {
            let what = "members that HDF5 has no type for become text or wider numbers";
            say(note(LossKind::Type, what));
            if let Some((arrow, _)) = arrow_of(other) {
                column_losses(path, subject, &arrow, losses);
            }
        }
        other if !types::is_there(other) => {
            say(loss(LossKind::Type, format!("HDF5 has no {other}: it is left out")));
        }
        DType::Struct(record) => {
            for field in &record.fields {
                match &field.dtype {
                    DType::Struct(_) => array_losses(path, &field.name, &field.dtype, losses),
                    DType::Bytes(_) => {
                        let what = "fixed bytes become fixed text";
                        losses.push(note(LossKind::Type, what).at(path).of(&field.name));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn column_losses(path: &str, name: &str, data_type: &DataType, losses: &mut Vec<Loss>) {
    let is_text = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    match data_type {
        DataType::Dictionary(_, values) => {
            losses.push(
                note(LossKind::Type, "the dictionary encoding is lost, the values stay").at(path).of(name),
            );
            return column_losses(path, name, values, losses);
        }
        // The columns of a table that became an array of records have names of their own.
        DataType::Struct(fields) => {
            for field in fields {
                let own = if name.is_empty() { field.name() } else { name };
                column_losses(path, own, field.data_type(), losses);
            }
        }
        _ => {}
    }
    let what = match Cell::of(data_type) {
        Cell::Text if !is_text => {
            format!("HDF5 has no {}: it becomes text", crate::bytes::display::arrow_type(data_type))
        }
        Cell::Bytes => "binary becomes sequences of bytes".to_owned(),
        Cell::Fixed(dtype @ (DType::DateTime(_) | DType::TimeDelta(_)), _) => {
            format!("{dtype} becomes opaque bytes, which Gander and h5py read as times")
        }
        _ => return,
    };
    // Gander and h5py read these back as the times that they are.
    let possible = matches!(Cell::of(data_type), Cell::Fixed(..));
    losses.push(Loss { possible, ..note(LossKind::Type, what).at(path).of(name) });
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let settings = Settings::of(options)?;
    sink.flush()?;
    let Some(path) = sink.path() else {
        return Err(Error::unsupported("HDF5 is written to files only: its library wants one"));
    };
    let file = File::create(path, &settings::creation(options)?)?;
    match &payload.data {
        Data::Arrays(arrays) => {
            let total = arrays.iter().filter_map(|(_, array)| array_bytes(array.as_ref()).ok());
            task.set_total(total.fold(0, u64::saturating_add));
            let made = all_arrays(task, &file, arrays, &settings)?;
            for (name, own) in &payload.parts {
                let path = path_of(name);
                match made.iter().find(|made| made.path == path) {
                    Some(made) => attributes::write(&made.dataset, own, made.array.dtype())?,
                    // An array that was left out takes its attributes along.
                    None if arrays.iter().any(|(array, _)| array == name) => {}
                    None => attributes::write(&file.group(&path)?, own, &DType::U8)?,
                }
            }
            attributes::write(&file, &payload.attributes, &DType::U8)?;
            scales::write(&file, &made)?;
        }
        Data::Table(table) if options.choice(&LAYOUT)? == "columns" => {
            let group = columns(task, &file, options.choice(&NAME)?, table, &settings)?;
            attributes::write(&group, &payload.attributes, &DType::U8)?;
        }
        Data::Table(table) => {
            let rows = table.count(task)?;
            if table.schema().fields().is_empty() {
                return Err(Error::unsupported("a table without columns as HDF5"));
            }
            let array: Arc<dyn Array> = Arc::new(TableArray::new(table.clone(), rows));
            let name = path_of(options.choice(&NAME)?);
            if let Some(dataset) = one(task, &file, &name, array.as_ref(), &settings)? {
                attributes::write(&dataset, &payload.attributes, &DType::U8)?;
            }
        }
        _ => return Err(Error::bug("HDF5 was given neither arrays nor a table")),
    }
    file.finish()
}

/// An array that was written.
struct WrittenArray<'a> {
    path: String,
    array: &'a dyn Array,
    dataset: Dataset,
}

/// Every array at its path.
fn all_arrays<'a>(
    task: &Task,
    file: &File,
    arrays: &'a [(String, Arc<dyn Array>)],
    settings: &Settings,
) -> Result<Vec<WrittenArray<'a>>> {
    let mut taken = BTreeSet::new();
    let mut all = Vec::new();
    for (name, array) in arrays {
        let path = path_of(name);
        if !taken.insert(path.clone()) {
            return Err(Error::unsupported(format!("two arrays are called {path:?}")));
        }
        let below = format!("{path}/");
        if let Some(inner) = taken.range(below.clone()..).next().filter(|other| other.starts_with(&below)) {
            return Err(Error::unsupported(format!("{path:?} is an array and the group of {inner:?}")));
        }
        let above =
            path.match_indices('/').filter_map(|(at, _)| path.get(..at)).find(|group| taken.contains(*group));
        if let Some(group) = above {
            return Err(Error::unsupported(format!("{group:?} is an array and the group of {path:?}")));
        }
        task.set_message(path.clone());
        let made = one(task, file, &path, array.as_ref(), settings).map_err(|e| e.in_node(name))?;
        all.extend(made.map(|dataset| WrittenArray { path, array: array.as_ref(), dataset }));
    }
    if all.is_empty() && !arrays.is_empty() {
        return Err(Error::unsupported("none of the arrays has a type that HDF5 has"));
    }
    Ok(all)
}

/// A name as a path in the file: without empty parts, and without those that mean a group itself.
fn path_of(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.is_empty() { "data".to_owned() } else { parts.join("/") }
}

/// One dataset; `None` where HDF5 has no type for it.
fn one(
    task: &Task,
    file: &File,
    path: &str,
    array: &dyn Array,
    settings: &Settings,
) -> Result<Option<Dataset>> {
    let dtype = array.dtype();
    if matches!(dtype, DType::Variable(_) | DType::Str(_)) || is_mixed(dtype) {
        return rows(task, file, path, array, settings).map(Some);
    }
    let Some(datatype) = types::of(dtype)? else { return Ok(None) };
    let storage = Storage { whole: true, ..settings.storage(array.shape(), dtype.size(), AUTO)? };
    let dataset = file.dataset(path, &datatype, array.shape(), &storage)?;
    match &storage.chunk {
        Some(chunk) => chunks(task, &dataset, array, chunk, &storage)?,
        None => one_piece(task, &dataset, &datatype, array)?,
    }
    Ok(Some(dataset))
}

fn one_piece(task: &Task, dataset: &Dataset, datatype: &Type, array: &dyn Array) -> Result<()> {
    let size = array.dtype().size().max(1);
    for region in pieces(array.shape(), ((8 << 20) / size).max(1)) {
        let bytes = array::read(array, task, &region)?;
        let start = region.start();
        // SAFETY: delivered elements hold no places in memory.
        unsafe { dataset.write(datatype, &start, &region.shape(), &bytes)? };
        task.advance(bytes.len() as u64)?;
    }
    Ok(())
}

/// Chunks are read, shuffled and compressed several at a time, and written in order.
fn chunks(task: &Task, dataset: &Dataset, array: &dyn Array, chunk: &[u64], storage: &Storage) -> Result<()> {
    let size = array.dtype().size() as usize;
    let made = |index: &[u64]| filtered(write::elements(task, array, chunk, index)?, size, &storage.filters);
    write::each_chunk(task, array, chunk, made, |index, bytes| {
        let start: Vec<u64> = index.iter().zip(chunk).map(|(at, side)| at * side).collect();
        dataset.write_chunk(&start, &bytes)
    })
}

/// Whether records have members that HDF5 has no type for, and go through Arrow columns.
fn is_mixed(dtype: &DType) -> bool {
    dtype.record().is_some_and(|record| !record.fields.is_empty())
        && !types::is_there(dtype)
        && arrow_of(dtype).is_some()
}

/// The storage of what the library compresses itself: it has no Zstandard.
fn by_library(mut storage: Storage) -> Storage {
    if let Compression::Zstd(_) = storage.filters.compression {
        storage.filters.compression = Compression::Gzip(4);
    }
    storage
}

/// Elements without a size, through Arrow columns.
fn rows(task: &Task, file: &File, path: &str, array: &dyn Array, settings: &Settings) -> Result<Dataset> {
    let arrow = match array.dtype() {
        DType::Variable(kind) => kind.arrow.clone(),
        other => arrow_of(other).map_or(DataType::Utf8, |(arrow, _)| arrow),
    };
    let cell = Cell::of(&arrow);
    let datatype = cell.datatype()?;
    let storage = by_library(settings.storage(array.shape(), (cell.size() as u64).max(1), ROWS * 16)?);
    let dataset = file.dataset(path, &datatype, array.shape(), &storage)?;
    for region in pieces(array.shape(), ROWS * 4) {
        task.check()?;
        let rows = Rows::of(&cell, &array.column(task, &region)?, settings.fill)?;
        let start = region.start();
        rows.write(&dataset, &datatype, &start, &region.shape())?;
    }
    Ok(dataset)
}

/// A dataset for each column of a table.
fn columns(
    task: &Task,
    file: &File,
    name: &str,
    table: &Arc<dyn Table>,
    settings: &Settings,
) -> Result<Group> {
    let count = table.count(task)?;
    let group = path_of(name);
    let made_group = file.group(&group)?;
    let mut made: Vec<(Cell, Type, Dataset)> = Vec::new();
    let mut taken = BTreeSet::new();
    for field in table.schema().fields() {
        let column = field.name().replace('/', "_");
        let column = if column.is_empty() { "column".to_owned() } else { column };
        if !taken.insert(column.clone()) {
            return Err(Error::unsupported(format!("two columns are called {column:?}")));
        }
        let cell = Cell::of(field.data_type());
        let datatype = cell.datatype()?;
        let most = if matches!(cell, Cell::Fixed(..)) { AUTO } else { ROWS * 16 };
        let storage = by_library(settings.storage(&[count], (cell.size() as u64).max(1), most)?);
        let dataset = file.dataset(&format!("{group}/{column}"), &datatype, &[count], &storage)?;
        made.push((cell, datatype, dataset));
    }
    let mut at = 0u64;
    let encode = |batch: RecordBatch| -> Result<Vec<Rows>> {
        let names = batch.schema();
        let of = |((column, (cell, ..)), field): (
            (&arrow::array::ArrayRef, &(Cell, Type, Dataset)),
            &Arc<arrow::datatypes::Field>,
        )| {
            Rows::of(cell, column, settings.fill)
                .map_err(|e| e.in_node(&format!("column {:?}", field.name())))
        };
        batch.columns().iter().zip(&made).zip(names.fields()).map(of).collect()
    };
    crate::data::scan::scan(task, table.as_ref(), encode, |parts| {
        let count = parts.first().map_or(0, |rows| rows.count as u64);
        for (rows, (_, datatype, dataset)) in parts.iter().zip(&made) {
            rows.write(dataset, datatype, &[at], &[count])?;
        }
        at += count;
        Ok(())
    })?;
    Ok(made_group)
}

#[cfg(test)]
mod tests;
