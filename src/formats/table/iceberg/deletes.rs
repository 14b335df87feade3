//! Rows that are deleted: by position, by deletion vector, by equal values (specification, *Delete Formats*,
//! *Scan Planning*).

use super::manifest::{File, Holds};
use crate::content::Table;
use crate::error::{Error, Result};
use crate::format::Options;
use crate::lake::{By, DataFile, Deletes, FIELD_ID, Places, file_table};
use crate::limits;
use crate::open::{open_source, table_of};
use crate::task::Task;
use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use parking_lot::Mutex;
use roaring::RoaringTreemap;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Field ids that the specification reserves for position deletes.
const FILE_PATH: &str = "2147483546";
const POSITION: &str = "2147483545";
/// Rows that are compared at a time.
const STEP: u64 = 65_536;

type Positions = HashMap<String, RoaringTreemap>;
type Keys = HashSet<Box<[u8]>>;

/// The delete files of a snapshot, each read once, when a data file needs it.
pub(super) struct DeleteFiles {
    places: Places,
    files: Vec<Arc<DeleteFile>>,
}

struct DeleteFile {
    file: File,
    positions: Mutex<Option<Arc<Positions>>>,
    /// For equality deletes: the columns that are compared.
    columns: Option<SchemaRef>,
    keys: Mutex<Option<Arc<Keys>>>,
}

impl DeleteFiles {
    /// The delete files among `files`; `fields` are all fields that the table ever had.
    pub(super) fn new(places: &Places, files: &[File], fields: &[SchemaRef]) -> Result<DeleteFiles> {
        let deletes = files.iter().filter(|file| file.holds != Holds::Data);
        let one = |file: &File| -> Result<Arc<DeleteFile>> {
            let columns = match file.holds {
                Holds::EqualityDeletes => Some(compared(&file.equality, fields)?),
                _ => None,
            };
            let (positions, keys) = (Mutex::new(None), Mutex::new(None));
            Ok(Arc::new(DeleteFile { file: file.clone(), positions, columns, keys }))
        };
        Ok(DeleteFiles { places: places.clone(), files: deletes.map(one).collect::<Result<_>>()? })
    }

    /// What is deleted of a data file, and how many rows that are, where it is known.
    pub(super) fn of(&self, data: &File) -> (Vec<Deletes>, Option<u64>) {
        // A deletion vector takes the place of all position deletes of its file.
        let vector = self.files.iter().find(|d| d.is_vector() && d.applies(data));
        let others = self.files.iter().filter(|d| !d.is_vector() && d.applies(data));
        let wanted =
            others.filter(|d| vector.is_none() || d.file.holds == Holds::EqualityDeletes).chain(vector);
        let wanted: Vec<&Arc<DeleteFile>> = wanted.collect();
        // A deletion vector says how many it has; what others have of this file shows only inside of them.
        let count = match wanted.as_slice() {
            [] => Some(0),
            [only] if only.is_vector() => Some(only.file.rows),
            _ => None,
        };
        (wanted.into_iter().map(|delete| self.closure(delete.clone(), data.path.clone())).collect(), count)
    }

    fn closure(&self, delete: Arc<DeleteFile>, path: String) -> Deletes {
        let places = self.places.clone();
        Box::new(move |task, table| {
            let found = match &delete.columns {
                Some(columns) => delete.equal(task, &places, table, columns),
                None if delete.is_vector() => delete.vector(task, &places),
                None => delete.at(task, &places).map(|all| all.get(&path).cloned().unwrap_or_default()),
            };
            found.map_err(|e| e.in_file(&delete.file.path))
        })
    }
}

impl DeleteFile {
    fn is_vector(&self) -> bool {
        self.file.format == "PUFFIN"
    }

    /// Whether it can delete rows of a data file.
    fn applies(&self, data: &File) -> bool {
        let own = &self.file;
        let same_partition = own.spec == data.spec && own.partition == data.partition;
        if let Some(referenced) = &own.referenced {
            return *referenced == data.path && own.sequence >= data.sequence;
        }
        match own.holds {
            Holds::EqualityDeletes => {
                // Without a partition they are of the whole table.
                let everywhere = own.partition.as_object().is_none_or(serde_json::Map::is_empty);
                own.sequence > data.sequence && (everywhere || same_partition)
            }
            _ => own.sequence >= data.sequence && same_partition,
        }
    }

    fn table(&self, task: &Task, places: &Places) -> Result<Arc<dyn Table>> {
        let source = places.open(task, &places.relative(&self.file.path)?)?;
        table_of(&open_source(task, &source, &Options::default())?)
    }

    /// The positions by data file.
    fn at(&self, task: &Task, places: &Places) -> Result<Arc<Positions>> {
        if let Some(positions) = self.positions.lock().clone() {
            return Ok(positions);
        }
        // Not under the lock: reading uses all threads, and one that waits for others may come here again.
        let table = self.table(task, places)?;
        let fields = table.schema().fields();
        let column = |id: &str, name: &str| {
            let with = |field: &Arc<Field>| field.metadata().get(FIELD_ID).is_some_and(|have| have == id);
            let found = fields.iter().position(with).or_else(|| fields.iter().position(|f| f.name() == name));
            found.ok_or_else(|| Error::malformed(format!("position deletes: there is no column {name}")))
        };
        let columns = [column(FILE_PATH, "file_path")?, column(POSITION, "pos")?];
        let mut positions = Positions::new();
        let (mut at, total) = (0, table.count(task)?);
        while at < total {
            task.check()?;
            let batch = table.read(task, at..(at + STEP).min(total), &columns)?;
            let paths = cast(batch.column(0), &DataType::Utf8)?;
            let places = cast(batch.column(1), &DataType::Int64)?;
            let pairs = paths.as_string::<i32>().iter().zip(places.as_primitive::<Int64Type>());
            for (path, place) in pairs {
                if let (Some(path), Some(place)) = (path, place.and_then(|n| u64::try_from(n).ok())) {
                    match positions.get_mut(path) {
                        Some(set) => set.insert(place),
                        None => positions.entry(path.to_owned()).or_default().insert(place),
                    };
                }
            }
            at += STEP;
        }
        let positions = Arc::new(positions);
        *self.positions.lock() = Some(positions.clone());
        Ok(positions)
    }

    /// A deletion vector: a blob of a Puffin file (Puffin specification, *deletion-vector-v1*).
    fn vector(&self, task: &Task, places: &Places) -> Result<RoaringTreemap> {
        let wrong = |what: &str| Error::malformed(format!("deletion vector: {what}"));
        let (offset, size) = self.file.place.ok_or_else(|| wrong("the manifest does not say where it is"))?;
        limits::check(size, limits::CHUNK, "a deletion vector")?;
        let source = places.open(task, &places.relative(&self.file.path)?)?;
        let end = offset.checked_add(size).ok_or_else(|| wrong("its place is beyond 64 bits"))?;
        let bytes = source.read(task, offset..end)?;
        let word = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
        let last = bytes.len().saturating_sub(4);
        let data = bytes.get(4..last).unwrap_or_default();
        if word(0).map(|len| len as usize) != Some(data.len()) {
            return Err(wrong("its length is not that of its bytes"));
        }
        if word(last) != Some(crc32fast::hash(data)) {
            return Err(wrong("its checksum is wrong"));
        }
        if !data.starts_with(&[0xd1, 0xd3, 0x39, 0x64]) {
            return Err(wrong("it does not start with its magic number"));
        }
        RoaringTreemap::deserialize_from(data.get(4..).unwrap_or_default())
            .map_err(|e| wrong(&format!("its bitmap cannot be read: {e}")))
    }

    /// The rows of `data` that have the values of a row here.
    fn equal(
        &self,
        task: &Task,
        places: &Places,
        data: &Arc<dyn Table>,
        columns: &SchemaRef,
    ) -> Result<RoaringTreemap> {
        let keys = self.keys(task, places, columns)?;
        let mut deleted = RoaringTreemap::new();
        each_key(task, fitted(task, data.clone(), columns)?, columns, |row, key| {
            if keys.contains(key) {
                deleted.insert(row);
            }
        })?;
        Ok(deleted)
    }

    fn keys(&self, task: &Task, places: &Places, columns: &SchemaRef) -> Result<Arc<Keys>> {
        if let Some(keys) = self.keys.lock().clone() {
            return Ok(keys);
        }
        let mut keys = Keys::new();
        let table = self.table(task, places)?;
        each_key(task, fitted(task, table, columns)?, columns, |_, key| {
            keys.insert(key.into());
        })?;
        let keys = Arc::new(keys);
        *self.keys.lock() = Some(keys.clone());
        Ok(keys)
    }
}

/// The columns with these ids, as the newest schema that has them says.
fn compared(ids: &[i64], schemas: &[SchemaRef]) -> Result<SchemaRef> {
    let find = |id: &i64| {
        let with = |field: &&Arc<Field>| field.metadata().get(FIELD_ID) == Some(&id.to_string());
        let found = schemas.iter().find_map(|schema| schema.fields().iter().find(with));
        found.cloned().ok_or_else(|| {
            Error::unsupported(format!("equality deletes: they compare field {id}, which is no column"))
        })
    };
    Ok(Arc::new(Schema::new(ids.iter().map(find).collect::<Result<Vec<_>>>()?)))
}

/// A file's table with just these columns.
fn fitted(task: &Task, table: Arc<dyn Table>, columns: &SchemaRef) -> Result<Arc<dyn Table>> {
    let file = DataFile::new("", 0, Box::new(move |_| Ok(table.clone())));
    file_table(task, columns, By::Id, &Arc::new(file))
}

/// Calls `each` with every row and its values as one key.
fn each_key(
    task: &Task,
    table: Arc<dyn Table>,
    columns: &SchemaRef,
    mut each: impl FnMut(u64, &[u8]),
) -> Result<()> {
    let fields = columns.fields().iter().map(|field| SortField::new(field.data_type().clone())).collect();
    let converter = RowConverter::new(fields)?;
    let all: Vec<usize> = (0..columns.fields().len()).collect();
    let (mut at, total) = (0, table.count(task)?);
    while at < total {
        task.check()?;
        let batch = table.read(task, at..(at + STEP).min(total), &all)?;
        let arrays: Vec<ArrayRef> = batch.columns().to_vec();
        for (n, key) in converter.convert_columns(&arrays)?.iter().enumerate() {
            each(at + n as u64, key.as_ref());
        }
        at += STEP;
    }
    Ok(())
}
