//! Writes Arrow IPC: a file with a footer (also known as Feather 2), or a stream.
//! <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>
//!
//! A file has one dictionary a column, so the dictionaries of a source, which may differ from batch to
//! batch, are united first: one pass over those columns.

use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::adapt::{Cast, ColumnMap, MappedTable, TableView};
use crate::data::content::{Kind, Table};
use crate::data::format::{Loss, LossKind, Metadata, OptionSpec, Options, Payload, Sink, Writer};
use crate::data::scan::scan;
use ::arrow::array::{Array, ArrayRef, DictionaryArray, RecordBatch, UInt64Array, new_empty_array};
use ::arrow::compute::{cast, concat, concat_batches, take};
use ::arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use ::arrow::ipc::CompressionType;
use ::arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use ::arrow::row::{OwnedRow, RowConverter, SortField};
use std::collections::HashMap;
use std::sync::Arc;

const CONTAINER: OptionSpec =
    OptionSpec::new("container", "A file with a footer, or a stream that is read from front to back")
        .one_of("file", &["file", "stream"]);
const COMPRESSION: OptionSpec =
    OptionSpec::new("compression", "How buffers are compressed; none can be mapped into memory")
        .one_of("none", &["none", "lz4", "zstd"]);
const BATCH: OptionSpec =
    OptionSpec::new("batch_rows", "The rows of a record batch; without it as many as are read at once");

/// The writer.
pub const WRITER: Writer = Writer {
    metadata: Metadata::Texts,
    streams: true,
    options: &[CONTAINER, COMPRESSION, BATCH],
    ..Writer::new(&[Kind::Table], losses, write)
};

fn losses(payload: &Payload, _options: &Options) -> Vec<Loss> {
    let Ok(table) = payload.table() else { return Vec::new() };
    let fields = table.schema().fields().iter();
    let decoded = fields.filter(|field| plain(field.data_type()) != *field.data_type());
    let what = "dictionaries inside nested values are decoded";
    decoded.map(|field| crate::data::format::note(LossKind::Type, what).of(field.name())).collect()
}

/// A type without dictionaries, but for one at its top.
fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(key, values) => DataType::Dictionary(key.clone(), Box::new(decoded(values))),
        other => decoded(other),
    }
}

fn decoded(data_type: &DataType) -> DataType {
    let inner = |f: &Arc<Field>| Arc::new(f.as_ref().clone().with_data_type(decoded(f.data_type())));
    match data_type {
        DataType::Dictionary(_, values) => decoded(values),
        DataType::List(f) => DataType::List(inner(f)),
        DataType::LargeList(f) => DataType::LargeList(inner(f)),
        DataType::ListView(f) => DataType::ListView(inner(f)),
        DataType::LargeListView(f) => DataType::LargeListView(inner(f)),
        DataType::FixedSizeList(f, n) => DataType::FixedSizeList(inner(f), *n),
        DataType::Map(f, sorted) => DataType::Map(inner(f), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    }
}

fn write(task: &Task, payload: &Payload, options: &Options, sink: &mut dyn Sink) -> Result<()> {
    let table = payload.table()?;
    let plain = |f: &Arc<Field>| Some(plain(f.data_type())).filter(|plain| plain != f.data_type());
    let targets: Vec<Option<DataType>> = table.schema().fields().iter().map(plain).collect();
    let table: Arc<dyn Table> = match targets.iter().any(Option::is_some) {
        true => Arc::new(Cast::cast(table.clone(), targets)),
        false => table.clone(),
    };
    let mut metadata = table.schema().metadata().clone();
    for (name, value) in &payload.attributes.list {
        metadata.entry(name.clone()).or_insert_with(|| value.to_string());
    }
    let table = Arc::new(United::united(task, table, metadata)?);
    let compression = match options.choice(&COMPRESSION)? {
        "lz4" => Some(CompressionType::LZ4_FRAME),
        "zstd" => Some(CompressionType::ZSTD),
        _ => None,
    };
    let ipc = IpcWriteOptions::default().try_with_compression(compression)?;
    let schema = table.schema().clone();
    let most = match options.get(BATCH.name).unwrap_or_default() {
        "" => None,
        _ => Some(options.number(&BATCH, "it is no number above 0", |&n: &usize| n > 0)?),
    };
    let mut batches = Batches { most, waiting: Vec::new(), rows: 0 };
    if options.choice(&CONTAINER)? == "stream" {
        let mut writer = StreamWriter::try_new_with_options(sink, &schema, ipc)?;
        scan(task, table.as_ref(), Ok, |batch| batches.add(batch, |batch| Ok(writer.write(batch)?)))?;
        batches.rest(|batch| Ok(writer.write(batch)?))?;
        return Ok(writer.finish()?);
    }
    let mut writer = FileWriter::try_new_with_options(sink, &schema, ipc)?;
    scan(task, table.as_ref(), Ok, |batch| batches.add(batch, |batch| Ok(writer.write(batch)?)))?;
    batches.rest(|batch| Ok(writer.write(batch)?))?;
    Ok(writer.finish()?)
}

/// Rows in batches of one size, where that is asked for.
struct Batches {
    most: Option<usize>,
    waiting: Vec<RecordBatch>,
    /// Rows that wait.
    rows: usize,
}

impl Batches {
    /// Takes rows, and hands over the batches that are full.
    fn add(&mut self, batch: RecordBatch, mut each: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let Some(most) = self.most else { return each(&batch) };
        let mut at = 0;
        while at < batch.num_rows() {
            let len = (most - self.rows).min(batch.num_rows() - at);
            self.waiting.push(batch.slice(at, len));
            self.rows += len;
            at += len;
            if self.rows == most {
                self.rest(&mut each)?;
            }
        }
        Ok(())
    }

    /// Hands over what waits.
    fn rest(&mut self, mut each: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        self.rows = 0;
        let waiting = std::mem::take(&mut self.waiting);
        match waiting.as_slice() {
            [] => Ok(()),
            [one] => each(one),
            [first, ..] => each(&concat_batches(first.schema_ref(), &waiting)?),
        }
    }
}

/// A table each of whose dictionary columns has one dictionary throughout.
type United = MappedTable<Dictionaries>;

/// For each dictionary column, all values, and the index of each.
struct Dictionaries(Vec<Option<Dictionary>>);

struct Dictionary {
    values: ArrayRef,
    indices: HashMap<OwnedRow, u64>,
    converter: RowConverter,
    key: DataType,
}

impl United {
    fn united(task: &Task, inner: Arc<dyn Table>, metadata: HashMap<String, String>) -> Result<Self> {
        let mut fields = Vec::new();
        let mut dictionaries = Vec::new();
        for (index, field) in inner.schema().fields().iter().enumerate() {
            let DataType::Dictionary(key, values) = field.data_type() else {
                fields.push(field.clone());
                dictionaries.push(None);
                continue;
            };
            task.set_message(format!("the dictionary of {}", field.name()));
            let column = TableView::new(inner.clone(), 0..u64::MAX, vec![index])?;
            let dictionary = unite(task, &column, key, values)?;
            let data_type = DataType::Dictionary(Box::new(dictionary.key.clone()), values.clone());
            fields.push(Arc::new(field.as_ref().clone().with_data_type(data_type)));
            dictionaries.push(Some(dictionary));
        }
        task.set_message("");
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Ok(MappedTable::new(inner, schema, Dictionaries(dictionaries)))
    }
}

/// Keys, and values of one batch's dictionary.
fn halves(array: &ArrayRef) -> Result<(UInt64Array, ArrayRef)> {
    use ::arrow::array::AsArray;
    let dictionary =
        array.as_any_dictionary_opt().ok_or_else(|| Error::bug("a dictionary column without dictionary"))?;
    let keys = cast(&dictionary.keys().slice(0, array.len()), &DataType::UInt64)?;
    Ok((keys.as_primitive::<UInt64Type>().clone(), dictionary.values().clone()))
}

/// All values of a column's dictionaries, each once, in the order of their first appearance.
fn unite(task: &Task, column: &TableView, key: &DataType, values: &DataType) -> Result<Dictionary> {
    let converter = RowConverter::new(vec![SortField::new(values.clone())])?;
    let mut indices: HashMap<OwnedRow, u64> = HashMap::new();
    let mut parts = vec![new_empty_array(values)];
    let mut last: Option<ArrayRef> = None;
    let each = |array: RecordBatch| {
        let (_, values) = halves(array.column(0))?;
        // Batches of one row group share their dictionary.
        if last.as_ref().is_some_and(|last| last.to_data().ptr_eq(&values.to_data())) {
            return Ok(());
        }
        let rows = converter.convert_columns(std::slice::from_ref(&values))?;
        let mut new = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let next = indices.len() as u64;
            indices.entry(row.owned()).or_insert_with(|| {
                new.push(at as u64);
                next
            });
        }
        parts.push(take(&values, &UInt64Array::from(new), None)?);
        last = Some(values);
        Ok(())
    };
    scan(task, column, Ok, each)?;
    let all: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    let values = concat(&all)?;
    let most = match key {
        DataType::Int8 => 1 << 7,
        DataType::UInt8 => 1 << 8,
        DataType::Int16 => 1 << 15,
        DataType::UInt16 => 1 << 16,
        _ => 1u64 << 31,
    };
    let key = if values.len() as u64 <= most { key.clone() } else { DataType::Int64 };
    Ok(Dictionary { values, indices, converter, key })
}

impl Dictionary {
    /// A batch's column with keys into the united dictionary.
    fn rekeyed(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let (keys, values) = halves(array)?;
        let rows = self.converter_rows(&values)?;
        let mapped: UInt64Array =
            keys.iter().map(|key| key.and_then(|key| rows.get(key as usize).copied())).collect();
        let keys = cast(&mapped, &self.key)?;
        macro_rules! with_keys {
            ($($arrow:ident => $ty:ty),*) => {
                match &self.key {
                    $(DataType::$arrow => {
                        use ::arrow::array::AsArray;
                        let keys = keys.as_primitive::<$ty>().clone();
                        Ok(Arc::new(DictionaryArray::try_new(keys, self.values.clone())?) as ArrayRef)
                    })*
                    other => Err(Error::bug(format!("dictionary keys of {other}"))),
                }
            };
        }
        use ::arrow::datatypes as t;
        with_keys!(Int8 => t::Int8Type, Int16 => t::Int16Type, Int32 => t::Int32Type, Int64 => t::Int64Type,
            UInt8 => t::UInt8Type, UInt16 => t::UInt16Type, UInt32 => t::UInt32Type, UInt64 => t::UInt64Type)
    }

    /// The united index of each value of a batch's dictionary.
    fn converter_rows(&self, values: &ArrayRef) -> Result<Vec<u64>> {
        let rows = self.converter.convert_columns(std::slice::from_ref(values))?;
        rows.iter()
            .map(|row| self.indices.get(&row.owned()).copied())
            .collect::<Option<_>>()
            .ok_or_else(|| Error::malformed("dictionary: a value was not there when it was read first"))
    }
}

impl ColumnMap for Dictionaries {
    fn changes(&self, column: usize) -> bool {
        self.0.get(column).is_some_and(Option::is_some)
    }

    fn map(&self, cells: &ArrayRef, column: usize, _: &Field) -> Result<ArrayRef> {
        match self.0.get(column) {
            Some(Some(dictionary)) => dictionary.rekeyed(cells),
            _ => Ok(cells.clone()),
        }
    }
}
