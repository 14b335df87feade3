//! Writes the data files of a table: Parquet, of about a size, those of a partition in a folder of their own, with what
//! metadata say of each.

mod statistics;
mod types;

#[cfg(test)]
pub(crate) mod testing;

pub use statistics::{Leaf, ends, id};
pub use types::{Rules, Stored, fits};

use crate::bytes::display;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::Cast;
use crate::data::cell;
use crate::data::content::Table;
use crate::data::format::{Files, OptionSpec, Options, Sink};
use crate::data::scan::scan;
use crate::engines::parquet_write::{GROUP, RowGroups};
use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, UInt32Array,
    new_null_array,
};
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// The option for partitions.
pub const PARTITION_BY: OptionSpec = OptionSpec::new(
    "partition_by",
    "Columns, with commas between their names, by whose values the rows lie in folders",
);
/// The option for the size of files.
pub const FILE_BYTES: OptionSpec =
    OptionSpec::new("target_file_bytes", "Bytes after which a new data file begins, about")
        .default("134217728");
/// The option for the compression.
pub const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How the pages of data files are compressed")
        .one_of("zstd", &["zstd", "snappy", "gzip", "lz4", "none"]);

/// The most rows of a row group.
const GROUP_ROWS: usize = 1 << 20;
/// The most files that are open at once, of as many partitions.
const OPEN: usize = 64;
/// Encoded bytes of row groups in memory, after which some are written early.
const MEMORY: usize = 256 << 20;
/// The most letters of a name of a folder.
const FOLDER: usize = 200;
/// How the folder of a partition is called whose value is null.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column of the table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Which of the columns that are given it is; without one all of its values are null.
    pub from: Option<usize>,
    /// What it is called in the table.
    pub name: String,
    /// What it is in data files: its name there, its type with the names and numbers of members.
    pub field: FieldRef,
}

/// How a table lies in files.
#[derive(Clone, Debug)]
pub struct Layout {
    /// All columns, in order.
    pub columns: Vec<Column>,
    /// The columns by whose values there are partitions: their places among all.
    pub partition: Vec<usize>,
    /// Whether these stand in data files, too.
    pub keeps_partition: bool,
    /// What stands before the names of files, with a `/` at its end.
    pub folder: &'static str,
}

/// A data file that was written.
#[derive(Debug)]
pub struct Written {
    /// Its path below the table's folder.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// Where its row groups begin.
    pub groups: Vec<i64>,
    /// The values of the partition, in the order of its columns: arrays of one value.
    pub partition: Vec<ArrayRef>,
    /// What is known of the columns that stand in it.
    pub leaves: Vec<Leaf>,
}

/// The columns that an option names: their places.
///
/// # Errors
/// `Unsupported` for a name that no column has, or that stands twice.
pub fn partition_by(options: &Options, names: &[String]) -> Result<Vec<usize>> {
    let text = options.get(PARTITION_BY.name).unwrap_or_default();
    let mut places = Vec::new();
    // A name with a comma is found as a whole.
    let whole = names.iter().position(|name| name == text);
    let parts: Vec<&str> =
        if whole.is_some() { vec![text] } else { text.split(',').map(str::trim).collect() };
    for name in parts.into_iter().filter(|name| !name.is_empty()) {
        let wrong = |what: &str| Error::unsupported(format!("{}={text}: {what} {name:?}", PARTITION_BY.name));
        let place = names.iter().position(|known| known == name);
        let place = place.ok_or_else(|| wrong("there is no column"))?;
        if places.contains(&place) {
            return Err(wrong("twice the column"));
        }
        places.push(place);
    }
    if !places.is_empty() && places.len() == names.len() {
        let what = format!("{}={text}: at least one column must be left for the files", PARTITION_BY.name);
        return Err(Error::unsupported(what));
    }
    Ok(places)
}

/// A random number, as a text.
///
/// # Errors
/// `Io` where the system has none.
pub fn uuid() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| Error::io(format!("no random number: {e}")))?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A text of which everything but letters, digits and `-._~` and what is `kept` is written as `%2F`.
pub fn escaped(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let letter = char::from(byte);
        if byte.is_ascii_alphanumeric() || "-._~".contains(letter) || kept.contains(letter) {
            out.push(letter);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Writes the rows of `table`. Returns the files, in the order in which they were ended.
///
/// # Errors
/// Those of reading and writing; `Unsupported` where a value does not fit its column.
pub fn write(
    task: &Task,
    table: &Arc<dyn Table>,
    rules: &Rules,
    layout: &Layout,
    options: &Options,
    files: &mut dyn Files,
) -> Result<Vec<Written>> {
    let target = |field: &FieldRef| {
        Some(rules.stored(field.data_type()).data_type).filter(|stored| stored != field.data_type())
    };
    let targets: Vec<Option<DataType>> = table.schema().fields().iter().map(target).collect();
    let table: Arc<dyn Table> = match targets.iter().any(Option::is_some) {
        true => Arc::new(Cast::cast(table.clone(), targets)),
        false => table.clone(),
    };
    let schema: SchemaRef =
        Arc::new(Schema::new(layout.columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>()));
    let mut writer = DataFiles::new(layout, &schema, options, files)?;
    scan(task, table.as_ref(), |batch| layout.shaped(&schema, &batch), |batch| writer.add(task, &batch))?;
    writer.finish()
}

impl Layout {
    /// Rows as they are in the table.
    fn shaped(&self, schema: &SchemaRef, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let one = |column: &Column| -> Result<ArrayRef> {
            let wrong = |e: Error| Error::unsupported(format!("column {:?}: {}", column.name, e.message()));
            let array = match column.from.and_then(|from| batch.columns().get(from)) {
                Some(array) => fit(array, column.field.data_type()).map_err(wrong)?,
                None => new_null_array(column.field.data_type(), rows),
            };
            if !column.field.is_nullable() && array.null_count() > 0 {
                return Err(wrong(Error::unsupported("the table has no nulls there, and the rows do")));
            }
            Ok(array)
        };
        let columns = self.columns.iter().map(one).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
    }

    /// The places of the columns that stand in data files.
    fn kept(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|n| self.keeps_partition || !self.partition.contains(n)).collect()
    }

    /// The folder of a partition, with a `/` at its end.
    fn folder(&self, values: &[ArrayRef]) -> String {
        let mut folder = self.folder.to_owned();
        for (place, value) in self.partition.iter().zip(values) {
            let name = self.columns.get(*place).map_or("", |column| column.name.as_str());
            let text = cell::text(value.as_ref(), 0);
            let text = text.map_or_else(|| NULL.to_owned(), |text| escaped(&text, ""));
            let whole = format!("{}={text}", escaped(name, ""));
            // Values stand in the metadata: the folder may be called otherwise.
            match whole.len() > FOLDER {
                true => {
                    let start: String = whole.chars().take(FOLDER - 17).collect();
                    let _ = write!(folder, "{start}-{:016x}/", xxhash_rust::xxh3::xxh3_64(whole.as_bytes()));
                }
                false => folder.push_str(&(whole + "/")),
            }
        }
        folder
    }
}

/// Whether rows of the fields `given`, which are called `names`, can be added to a `table` by this layout of it.
///
/// # Errors
/// `Unsupported` where they do not fit: with a column that the table has not, of another type, or that it must have.
pub fn check_layout(
    rules: &Rules,
    table: &Schema,
    given: &Fields,
    names: &[String],
    layout: &Layout,
) -> Result<()> {
    let wrong = |name: &str, what: String| Err(Error::unsupported(format!("column {name:?}: {what}")));
    for (n, name) in names.iter().enumerate() {
        if !layout.columns.iter().any(|column| column.from == Some(n)) {
            let has: Vec<&str> = table.fields().iter().map(|field| field.name().as_str()).collect();
            return wrong(name, format!("the table has no such column; it has {}", has.join(", ")));
        }
    }
    for (column, field) in layout.columns.iter().zip(table.fields()) {
        match column.from.and_then(|from| given.get(from)) {
            Some(given) => {
                let (stored, to) = (rules.stored(given.data_type()).data_type, field.data_type());
                if !fits(&stored, to) {
                    let (from, to) = (display::arrow_type(&stored), display::arrow_type(to));
                    return wrong(field.name(), format!("it is {from}, and {to} in the table"));
                }
            }
            None if !field.is_nullable() => {
                return wrong(
                    field.name(),
                    "the table has no nulls there, and the rows have no such column".to_owned(),
                );
            }
            None => {}
        }
    }
    Ok(())
}

/// Values as those of a type of the same shape: members by their places, numbers widened.
fn fit(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    match (array.data_type(), to) {
        (DataType::Struct(_), DataType::Struct(ours)) => {
            let array = array.as_struct();
            let pairs = array.columns().iter().zip(ours);
            let columns = pairs.map(|(column, to)| fit(column, to.data_type())).collect::<Result<_>>()?;
            let nulls = array.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(ours.clone(), columns, nulls, array.len())?))
        }
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let values = fit(list.values(), item.data_type())?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(item.clone(), offsets, values, nulls)?))
        }
        (DataType::Map(_, sorted), DataType::Map(entries, _)) => {
            let map = array.as_map();
            let pairs: ArrayRef = Arc::new(map.entries().clone());
            let pairs = fit(&pairs, entries.data_type())?.as_struct().clone();
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, nulls, *sorted)?))
        }
        _ => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            Ok(cast_with_options(array, to, &options)?)
        }
    }
}

/// A file that is being written.
struct Open {
    path: String,
    groups: RowGroups<Box<dyn Sink>>,
    rows: u64,
    partition: Vec<ArrayRef>,
    leaves: Vec<Leaf>,
    /// When rows were last added to it.
    used: u64,
}

/// The files that are being written, one of each partition.
struct DataFiles<'a> {
    layout: &'a Layout,
    files: &'a mut dyn Files,
    kept: Vec<usize>,
    schema: SchemaRef,
    converter: Option<RowConverter>,
    options: ArrowWriterOptions,
    most: u64,
    /// What names of files end in.
    ending: String,
    run: String,
    open: BTreeMap<Vec<u8>, Open>,
    done: Vec<Written>,
    begun: u64,
    steps: u64,
}

impl<'a> DataFiles<'a> {
    fn new(
        layout: &'a Layout,
        schema: &SchemaRef,
        options: &Options,
        files: &'a mut dyn Files,
    ) -> Result<DataFiles<'a>> {
        let kept = layout.kept();
        let of = |place: &usize| {
            schema.fields().get(*place).map(|field| SortField::new(field.data_type().clone()))
        };
        let fields: Vec<SortField> = layout.partition.iter().filter_map(of).collect();
        let converter = if fields.is_empty() { None } else { Some(RowConverter::new(fields)?) };
        let word = options.choice(&COMPRESSION)?;
        let (compression, ending) = match word {
            "zstd" => (Compression::ZSTD(ZstdLevel::try_new(3)?), ".zstd"),
            "snappy" => (Compression::SNAPPY, ".snappy"),
            "gzip" => (Compression::GZIP(GzipLevel::try_new(6)?), ".gz"),
            "lz4" => (Compression::LZ4_RAW, ".lz4raw"),
            _ => (Compression::UNCOMPRESSED, ""),
        };
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(format!("gander {}", env!("CARGO_PKG_VERSION")))
            .build();
        let most = options.number(&FILE_BYTES, "it is no number above 0", |n: &u64| *n > 0)?;
        Ok(DataFiles {
            layout,
            files,
            schema: Arc::new(schema.project(&kept)?),
            kept,
            converter,
            // Types and their names are in the table's metadata.
            options: ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true),
            most,
            ending: format!("{ending}.parquet"),
            run: uuid()?,
            open: BTreeMap::new(),
            done: Vec::new(),
            begun: 0,
            steps: 0,
        })
    }

    /// Adds rows, to the files of their partitions.
    fn add(&mut self, task: &Task, batch: &RecordBatch) -> Result<()> {
        self.steps += 1;
        let Some(converter) = &self.converter else {
            return self.add_to(task, Vec::new(), Vec::new(), batch);
        };
        let values: Vec<ArrayRef> =
            self.layout.partition.iter().filter_map(|place| batch.columns().get(*place)).cloned().collect();
        let keys = converter.convert_columns(&values)?;
        let mut rows: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
        for (row, key) in keys.iter().enumerate() {
            let key: &[u8] = key.as_ref();
            let row = u32::try_from(row).map_err(|_| Error::bug("a step of too many rows"))?;
            match rows.get_mut(key) {
                Some(list) => list.push(row),
                None => drop(rows.insert(key.to_vec(), vec![row])),
            }
        }
        for (key, rows) in rows {
            task.check()?;
            let first = UInt32Array::from_iter_values(rows.first().copied());
            let one = |array: &ArrayRef| -> Result<ArrayRef> { Ok(take(array, &first, None)?) };
            let partition = values.iter().map(one).collect::<Result<_>>()?;
            let part = match rows.len() == batch.num_rows() {
                true => batch.clone(),
                false => arrow::compute::take_record_batch(batch, &UInt32Array::from(rows))?,
            };
            self.add_to(task, key, partition, &part)?;
        }
        Ok(())
    }

    fn add_to(
        &mut self,
        task: &Task,
        key: Vec<u8>,
        partition: Vec<ArrayRef>,
        batch: &RecordBatch,
    ) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let part = batch.project(&self.kept)?;
        let mut open = match self.open.remove(&key) {
            Some(open) => open,
            None => self.begin(partition)?,
        };
        open.used = self.steps;
        open.rows += part.num_rows() as u64;
        open.groups.add(task, &part)?;
        open.leaves.iter_mut().try_for_each(|leaf| leaf.add(&part))?;
        if open.groups.bytes() + open.groups.memory() as u64 >= self.most {
            return self.end(open);
        }
        self.open.insert(key, open);
        if self.open.values().map(|open| open.groups.memory()).sum::<usize>() > MEMORY
            && let Some(largest) = self.open.values_mut().max_by_key(|open| open.groups.memory())
        {
            largest.groups.close()?;
        }
        Ok(())
    }

    fn begin(&mut self, partition: Vec<ArrayRef>) -> Result<Open> {
        while self.open.len() >= OPEN {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.used).map(|(key, _)| key.clone());
            let Some(open) = oldest.and_then(|key| self.open.remove(&key)) else { break };
            self.end(open)?;
        }
        let folder = self.layout.folder(&partition);
        let path = format!("{folder}part-{:05}-{}{}", self.begun, self.run, self.ending);
        self.begun += 1;
        let sink = self.files.file(&path)?;
        let groups = RowGroups::new(sink, self.schema.clone(), self.options.clone(), GROUP_ROWS, GROUP)?;
        let leaves = Leaf::all(self.schema.fields());
        Ok(Open { path, groups, rows: 0, partition, leaves, used: self.steps })
    }

    fn end(&mut self, open: Open) -> Result<()> {
        let (metadata, bytes) = open.groups.finish()?;
        let start = |group: &parquet::file::metadata::RowGroupMetaData| {
            let first = group.columns().first()?;
            Some(first.dictionary_page_offset().unwrap_or(first.data_page_offset()))
        };
        let groups = metadata.row_groups().iter().filter_map(start).collect();
        let Open { path, rows, partition, leaves, .. } = open;
        self.done.push(Written { path, bytes, rows, groups, partition, leaves });
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Written>> {
        for open in std::mem::take(&mut self.open).into_values() {
            self.end(open)?;
        }
        Ok(self.done)
    }
}
