//! Writes NetCDF-4: HDF5 whose dimensions are scales with numbers, in which the order of creation is kept. A dimension
//! without a variable of its name is a dataset without values; a variable that is called as a dimension that is not its
//! first one has a link with a prefix. Texts are strings of any length, without filters.
//! <https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html#netcdf_4_spec>

use super::super::variables::PREFIX;
use super::attributes;
use super::cells::{Cell, Rows};
use super::library::{Creation, Dataset, Described, File, Reference, Storage, Type};
use super::settings::{AUTO, CHUNKS, COMPRESSION, FLETCHER32, LEVEL, NULLS, SHUFFLE, Settings};
use super::{ROWS, by_library, chunks, one_piece, scales, types};
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::{Array, Kind, Table};
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer, note};
use crate::data::region::pieces;
use crate::data::scan::{array_bytes, scan};
use crate::engines::attributes::Encoded;
use crate::engines::netcdf::cells::{Nulls, Numbers, numbers};
use crate::engines::netcdf::types::Stored;
use crate::engines::netcdf::{Kept, Model, Rules, Version, fill_attribute, listed};
use crate::engines::variables::{Values, plain};
use arrow::array::{ArrayRef, RecordBatch};
use std::collections::BTreeMap;
use std::sync::Arc;

const UNLIMITED: OptionSpec =
    OptionSpec::new("unlimited", "The names of dimensions that can grow, as time,station").default("");
const TEXT_NULLS: OptionSpec = OptionSpec::new(
    "nulls",
    "What happens to null cells of texts and truth values: an error, or empty text and false; of numbers they become _FillValue",
)
.one_of("refuse", &["refuse", "fill"]);

/// The writer.
pub const WRITER: Writer = Writer {
    many: true,
    metadata: Metadata::Tree,
    scales: true,
    options: &[COMPRESSION, LEVEL, SHUFFLE, FLETCHER32, CHUNKS, UNLIMITED, TEXT_NULLS],
    check,
    ..Writer::new(&[Kind::Array, Kind::Table], losses, write)
};

/// The longest value of an attribute: object headers end at 64 KB.
const LONGEST: usize = 60_000;

fn rules(options: &Options) -> Rules {
    Rules {
        version: Version::Four,
        fill: options.get(NULLS.name) == Some("fill"),
        unlimited: listed(options.get(UNLIMITED.name).unwrap_or_default()),
    }
}

/// The rows of a payload's table, as far as they are known.
fn known_rows(payload: &Payload) -> u64 {
    payload.table().map_or(0, |table| table.rows().number())
}

fn check(payload: &Payload) -> Result<()> {
    let model = Model::of(payload, known_rows(payload), &rules(&Options::default()));
    match model.is_empty() {
        true => Err(Error::unsupported("NetCDF-4 has no type for any of it")),
        false => Ok(()),
    }
}

fn losses(payload: &Payload, options: &Options) -> Vec<Loss> {
    let model = Model::of(payload, known_rows(payload), &rules(options));
    let mut losses = model.losses;
    let mut long = |item: &str, attributes: &[(String, Encoded)]| {
        for (name, _) in attributes.iter().filter(|(_, value)| !fits(value)) {
            let what = "the attribute is too long for HDF5: it is left out";
            losses.push(note(LossKind::Attribute, what).at(item).of(name));
        }
    };
    long("", &model.attributes);
    model.groups.iter().for_each(|(path, own)| long(path, own));
    model.variables.iter().for_each(|kept| long(&kept.source.item, &kept.attributes));
    losses
}

fn fits(value: &Encoded) -> bool {
    match value {
        Encoded::Nothing => true,
        Encoded::Text(text) => text.len() <= LONGEST,
        Encoded::Texts(texts, _) => texts.len() * 16 <= LONGEST,
        Encoded::Numbers(_, bytes, _) => bytes.len() <= LONGEST,
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let settings = Settings::of(options)?;
    sink.flush()?;
    let Some(path) = sink.path() else {
        return Err(Error::unsupported("NetCDF-4 is written to files only: HDF5's library wants one"));
    };
    let table = payload.table().ok();
    let rows = table.map_or(Ok(0), |table| table.count(task))?;
    let model = Model::of(payload, rows, &rules(options));
    if model.is_empty() {
        return Err(Error::unsupported("NetCDF-4 has no type for any of it"));
    }
    let version = hdf5_sys::h5f::H5F_libver_t::H5F_LIBVER_V18;
    let file = File::create(path, &Creation { versions: (version, version), ordered: true, user_block: 0 })?;
    let (major, minor, patch) = hdf5::library_version();
    let made_by = format!("version=2,gander={},hdf5={major}.{minor}.{patch}", env!("CARGO_PKG_VERSION"));
    attributes::text(&file, "_NCProperties", &made_by)?;
    put_all(&file, &model.attributes)?;
    for (path, own) in &model.groups {
        put_all(&file.group(path)?, own)?;
    }
    let made = Made { file, model, settings };
    let datasets = made.datasets()?;
    made.fill(task, table, &datasets)?;
    made.scales(&datasets)?;
    drop(datasets);
    made.file.finish()
}

fn put_all(object: &dyn Described, all: &[(String, Encoded)]) -> Result<()> {
    all.iter()
        .filter(|(_, value)| fits(value))
        .try_for_each(|(name, value)| attributes::put(object, name, value))
}

/// A file that is being made.
struct Made {
    file: File,
    model: Model,
    settings: Settings,
}

/// The dataset of a variable.
struct Written {
    /// The path of its link.
    path: String,
    dataset: Dataset,
    datatype: Type,
    storage: Storage,
    nulls: Nulls,
}

impl Made {
    /// The lengths of a variable's dimensions, and which can grow.
    fn shape(&self, kept: &Kept) -> (Vec<u64>, Vec<bool>) {
        let all = kept.dimensions.iter().filter_map(|number| self.model.dimensions.get(*number));
        all.map(|dimension| (dimension.len, dimension.unlimited)).unzip()
    }

    /// Makes the datasets of all variables.
    fn datasets(&self) -> Result<Vec<Written>> {
        let dimensions: BTreeMap<String, usize> =
            self.model.dimensions.iter().enumerate().map(|(n, dimension)| (dimension.path(), n)).collect();
        let mut all = Vec::new();
        for kept in &self.model.variables {
            let (shape, grows) = self.shape(kept);
            let datatype = match &kept.stored {
                Stored::Number(number) => types::of(&number.dtype)?,
                Stored::Text => Some(Type::texts()?),
            };
            let datatype = datatype.ok_or_else(|| Error::bug("a type of NetCDF that HDF5 has not"))?;
            let is_column = matches!(kept.source.values, Values::Column(_));
            let mut storage = match kept.stored {
                // Its library takes no filters for them.
                Stored::Text if !grows.contains(&true) => Storage::default(),
                Stored::Text => self.settings.growing(&shape, &grows, 16, ROWS * 16)?,
                _ => self.settings.growing(&shape, &grows, datatype.size() as u64, AUTO)?,
            };
            match kept.stored {
                Stored::Text => storage.filters = Default::default(),
                _ if is_column => storage = by_library(storage),
                _ => storage.whole = true,
            }
            let is_other = dimensions.get(&kept.path).is_some_and(|n| kept.dimensions.first() != Some(n));
            let path = match (is_other, kept.path.rsplit_once('/')) {
                (false, _) => kept.path.clone(),
                (true, Some((group, name))) => format!("{group}/{PREFIX}{name}"),
                (true, None) => format!("{PREFIX}{}", kept.path),
            };
            let dataset = self.file.dataset(&path, &datatype, &shape, &storage)?;
            all.push(Written { path, dataset, datatype, storage, nulls: Nulls::marked(self.settings.fill) });
        }
        Ok(all)
    }

    /// Writes all values, and the attributes of variables.
    fn fill(&self, task: &Task, table: Option<&Arc<dyn Table>>, datasets: &[Written]) -> Result<()> {
        if let Some(table) = table {
            self.columns(task, table.as_ref(), datasets)?;
        } else {
            let arrays = self.model.variables.iter().filter_map(|kept| match &kept.source.values {
                Values::Array(array) => array_bytes(array.as_ref()).ok(),
                _ => None,
            });
            task.set_total(arrays.fold(0, u64::saturating_add));
        }
        for (kept, made) in self.model.variables.iter().zip(datasets) {
            task.set_message(kept.path.clone());
            self.values(task, kept, made).map_err(|e| e.in_node(&kept.source.item))?;
            put_all(&made.dataset, &kept.attributes)?;
            if let (true, Stored::Number(number)) = (made.nulls.used(), &kept.stored)
                && !made.dataset.has("_FillValue")?
            {
                let (name, value) = fill_attribute(&number.dtype);
                attributes::put(&made.dataset, &name, &value)?;
            }
        }
        Ok(())
    }

    /// The values of a variable that is no column of a table.
    fn values(&self, task: &Task, kept: &Kept, made: &Written) -> Result<()> {
        let array: Arc<dyn Array> = match (&kept.stored, &kept.source.values) {
            (_, Values::Column(_)) => return Ok(()),
            (Stored::Text, values) => return texts(task, kept, values, made),
            (Stored::Number(number), _) => Arc::new(Numbers::new(&kept.source, number, made.nulls.clone())),
        };
        match &made.storage.chunk {
            Some(chunk) if !array.shape().contains(&0) => {
                chunks(task, &made.dataset, array.as_ref(), chunk, &made.storage)
            }
            Some(_) => Ok(()),
            None => one_piece(task, &made.dataset, &made.datatype, array.as_ref()),
        }
    }

    /// The rows of a table, each column into its own dataset.
    fn columns(&self, task: &Task, table: &dyn Table, datasets: &[Written]) -> Result<()> {
        let encode = |batch: RecordBatch| -> Result<(u64, Vec<Rows>)> {
            let one = |(kept, made): (&Kept, &Written)| -> Result<Rows> {
                let Values::Column(n) = kept.source.values else { return Err(Error::bug("no column")) };
                let column =
                    batch.columns().get(n).ok_or_else(|| Error::bug("a column that is not there"))?;
                let place = |e: Error| e.in_node(&format!("column {:?}", kept.source.part));
                cells(&plain(column)?, kept, made).map_err(place)
            };
            let rows = self.model.variables.iter().zip(datasets).map(one).collect::<Result<_>>()?;
            Ok((batch.num_rows() as u64, rows))
        };
        let mut at = 0u64;
        scan(task, table, encode, |(count, parts)| {
            for ((rows, made), kept) in parts.iter().zip(datasets).zip(&self.model.variables) {
                let (shape, _) = self.shape(kept);
                let mut start = vec![0; shape.len()];
                let mut part = shape;
                if let (Some(first), Some(side)) = (start.first_mut(), part.first_mut()) {
                    (*first, *side) = (at, count);
                }
                rows.write(&made.dataset, &made.datatype, &start, &part)?;
            }
            at += count;
            Ok(())
        })?;
        Ok(())
    }

    /// Makes the dimensions, and says which of them each variable has.
    fn scales(&self, datasets: &[Written]) -> Result<()> {
        let mut references: Vec<Vec<(Reference, u32)>> = vec![Vec::new(); self.model.dimensions.len()];
        let mut bare = Vec::new();
        for (number, dimension) in self.model.dimensions.iter().enumerate() {
            let path = dimension.path();
            let own = datasets.iter().position(|made| made.path == path);
            let number = number as i32;
            let dataset = match own.and_then(|n| Some((self.model.variables.get(n)?, datasets.get(n)?))) {
                Some((kept, made)) => {
                    scales::mark(&made.dataset, &dimension.name)?;
                    if kept.dimensions.len() > 1 {
                        let list: Vec<i32> = kept.dimensions.iter().map(|n| *n as i32).collect();
                        attributes::numbers_of(&made.dataset, "_Netcdf4Coordinates", &list, true)?;
                    }
                    attributes::numbers_of(&made.dataset, "_Netcdf4Dimid", &[number], false)?;
                    None
                }
                None => {
                    let chunk = dimension.unlimited.then(|| vec![dimension.len.clamp(1, 1 << 20)]);
                    let storage =
                        Storage { chunk, unlimited: vec![dimension.unlimited], ..Storage::default() };
                    let datatype = Type::integer(1, true)?;
                    let made = self.file.dataset(&path, &datatype, &[dimension.len], &storage)?;
                    scales::mark(&made, &format!("{}{:10}", scales::NO_VARIABLE, dimension.len))?;
                    attributes::numbers_of(&made, "_Netcdf4Dimid", &[number], false)?;
                    Some(made)
                }
            };
            bare.push((own, dataset));
        }
        for (kept, made) in self.model.variables.iter().zip(datasets) {
            if kept.dimensions.is_empty() || bare.iter().any(|(own, _)| self.is(*own, kept)) {
                continue;
            }
            let reference = self.file.reference(&made.path)?;
            for (axis, number) in (0u32..).zip(&kept.dimensions) {
                if let Some(list) = references.get_mut(*number) {
                    list.push((reference, axis));
                }
            }
            let paths: Vec<Option<String>> = kept
                .dimensions
                .iter()
                .map(|number| self.model.dimensions.get(*number).map(|dimension| dimension.path()))
                .collect();
            scales::attach(&self.file, &made.dataset, &paths)?;
        }
        for (list, (own, dataset)) in references.iter().zip(&bare).filter(|(list, _)| !list.is_empty()) {
            let made = own.and_then(|n| datasets.get(n)).map(|made| &made.dataset).or(dataset.as_ref());
            made.map_or(Ok(()), |made| scales::refer(made, list))?;
        }
        Ok(())
    }

    /// Whether the variable of this number is this one.
    fn is(&self, number: Option<usize>, kept: &Kept) -> bool {
        number.and_then(|n| self.model.variables.get(n)).is_some_and(|own| std::ptr::eq(own, kept))
    }
}

/// The cells of a table's column as rows of its dataset.
fn cells(column: &ArrayRef, kept: &Kept, made: &Written) -> Result<Rows> {
    match &kept.stored {
        Stored::Number(number) => {
            Ok(Rows::plain(numbers(column, &kept.source.dtype, number, &made.nulls)?, column.len()))
        }
        _ => Rows::of(&Cell::Text, column, made.nulls.fill),
    }
}

/// Texts of any length.
fn texts(task: &Task, kept: &Kept, values: &Values, made: &Written) -> Result<()> {
    for region in pieces(&kept.source.shape, ROWS * 4) {
        task.check()?;
        let rows = Rows::of(&Cell::Text, &values.cells(task, &region)?, made.nulls.fill)?;
        rows.write(&made.dataset, &made.datatype, &region.start(), &region.shape())?;
    }
    Ok(())
}
