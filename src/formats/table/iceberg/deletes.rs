//! Rows that are deleted: by position, by deletion vector, by equal values (specification, *Delete Formats*,
//! *Scan Planning*).

use super::manifest::{File, Holds};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::numbers::be;
use crate::bytes::task::Task;
use crate::data::content::Table;
use crate::data::format::Options;
use crate::data::open::table_of;
use crate::engines::multifile::lake::{By, DataFile, Deletes, FIELD_ID, Places, file_table};
use crate::formats::open_source;
use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use parking_lot::Mutex;
use roaring::RoaringTreemap;
use serde_json::Value as Json;
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
    places: Arc<Places>,
    /// Those that name the data file that they are of, by its path.
    named: HashMap<String, Group>,
    /// The others by their partition.
    partitions: HashMap<Partition, Group>,
    /// Those of the whole table.
    everywhere: Group,
}

/// The number of a partition spec and the values by it.
type Partition = (i64, String);

/// Delete files that are of the same data files, but for their sequence numbers: which of them it is shows when
/// a data file is read, since there may be thousands of both.
struct Group {
    files: Arc<[Arc<DeleteFile>]>,
    /// The largest sequence numbers of its position deletes and of its equality deletes.
    positions: Option<i64>,
    equal: Option<i64>,
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
        let mut named: HashMap<String, Vec<Arc<DeleteFile>>> = HashMap::new();
        let mut partitions: HashMap<Partition, Vec<Arc<DeleteFile>>> = HashMap::new();
        let mut everywhere = Vec::new();
        for file in files.iter().filter(|file| file.holds != Holds::Data) {
            let is_equality = file.holds == Holds::EqualityDeletes;
            let columns = if is_equality { Some(compared(&file.equality, fields)?) } else { None };
            let (positions, keys) = (Mutex::new(None), Mutex::new(None));
            let delete = Arc::new(DeleteFile { file: file.clone(), positions, columns, keys });
            // Without a partition equality deletes are of the whole table.
            let is_wide = is_equality && file.partition.as_object().is_none_or(serde_json::Map::is_empty);
            match &file.referenced {
                _ if is_wide => everywhere.push(delete),
                Some(path) if !is_equality => named.entry(path.clone()).or_default().push(delete),
                _ => partitions.entry(partition(file)).or_default().push(delete),
            }
        }
        Ok(DeleteFiles {
            places: Arc::new(places.clone()),
            named: named.into_iter().map(|(path, files)| (path, Group::new(files))).collect(),
            partitions: partitions.into_iter().map(|(of, files)| (of, Group::new(files))).collect(),
            everywhere: Group::new(everywhere),
        })
    }

    /// What is deleted of a data file, and how many rows that are, where it is known.
    pub(super) fn of(&self, data: &File) -> (Vec<Deletes>, Option<u64>) {
        let (named, at) = (self.named.get(&data.path), Some(data.sequence));
        let groups = named.into_iter().chain(self.partitions.get(&partition(data))).chain([&self.everywhere]);
        let groups: Vec<&Group> = groups.filter(|group| group.positions >= at || group.equal > at).collect();
        if groups.is_empty() {
            return (Vec::new(), Some(0));
        }
        let of_it = |delete: &&Arc<DeleteFile>| delete.is_vector() && delete.applies(data.sequence);
        let vector = named.and_then(|group| group.files.iter().find(of_it)).cloned();
        // A deletion vector says how many it has; what others have of this file shows only inside of them.
        let is_equality = groups.iter().any(|group| group.equal > at);
        let count = vector.as_ref().filter(|_| !is_equality).map(|vector| vector.file.rows);
        let files = groups.iter().map(|group| group.files.clone()).collect();
        (vec![self.reader(data, vector, files)], count)
    }

    /// Finds what the files have of a data file: `vector`, and of `groups` those that are not older.
    fn reader(
        &self,
        data: &File,
        vector: Option<Arc<DeleteFile>>,
        groups: Vec<Arc<[Arc<DeleteFile>]>>,
    ) -> Deletes {
        let (places, path, sequence) = (self.places.clone(), data.path.clone(), data.sequence);
        Box::new(move |task, table| {
            // A deletion vector takes the place of all position deletes of its file.
            let wanted = |delete: &&Arc<DeleteFile>| {
                let is_equality = delete.file.holds == Holds::EqualityDeletes;
                delete.applies(sequence) && (is_equality || vector.is_none())
            };
            let mut deleted = RoaringTreemap::new();
            for delete in groups.iter().flat_map(|group| group.iter()).filter(wanted).chain(&vector) {
                task.check()?;
                let found = delete.deleted(task, &places, table, &path);
                deleted |= found.map_err(|e| e.in_file(&delete.file.path))?;
            }
            Ok(deleted)
        })
    }
}

impl Group {
    fn new(files: Vec<Arc<DeleteFile>>) -> Group {
        let last = |holds: Holds| {
            files.iter().filter(|delete| delete.file.holds == holds).map(|delete| delete.file.sequence).max()
        };
        let (positions, equal) = (last(Holds::PositionDeletes), last(Holds::EqualityDeletes));
        Group { files: files.into(), positions, equal }
    }
}

/// The partition of a file; manifests may have its values in any order.
fn partition(file: &File) -> Partition {
    let mut values: Vec<(&String, &Json)> = file.partition.as_object().into_iter().flatten().collect();
    values.sort_unstable_by(|a, b| a.0.cmp(b.0));
    let values: Vec<String> = values.into_iter().map(|(name, value)| format!("{name:?}: {value}")).collect();
    (file.spec, values.join(", "))
}

impl DeleteFile {
    fn is_vector(&self) -> bool {
        self.file.format == "PUFFIN"
    }

    /// Whether it is young enough to delete rows of a data file with this sequence number.
    fn applies(&self, sequence: i64) -> bool {
        match self.file.holds {
            Holds::EqualityDeletes => self.file.sequence > sequence,
            _ => self.file.sequence >= sequence,
        }
    }

    /// The rows that it deletes of the data file at `path`, whose rows are `data`.
    fn deleted(
        &self,
        task: &Task,
        places: &Places,
        data: &Arc<dyn Table>,
        path: &str,
    ) -> Result<RoaringTreemap> {
        match &self.columns {
            Some(columns) => self.equal(task, places, data, columns),
            None if self.is_vector() => self.vector(task, places),
            None => Ok(self.at(task, places)?.get(path).cloned().unwrap_or_default()),
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
        if self.file.referenced.is_none() {
            return Err(wrong("the manifest does not say which file it is of"));
        }
        let (offset, size) = self.file.place.ok_or_else(|| wrong("the manifest does not say where it is"))?;
        limits::check(size, limits::CHUNK, "a deletion vector")?;
        let source = places.open(task, &places.relative(&self.file.path)?)?;
        let end = offset.checked_add(size).ok_or_else(|| wrong("its place is beyond 64 bits"))?;
        let bytes = source.read(task, offset..end)?;
        let last = bytes.len().saturating_sub(4);
        let data = bytes.get(4..last).unwrap_or_default();
        if be::<u32>(&bytes, 0).map(|len| len as usize) != Some(data.len()) {
            return Err(wrong("its length is not that of its bytes"));
        }
        if be(&bytes, last) != Some(crc32fast::hash(data)) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::source::Source;
    use crate::data::content::table::MemoryTable;
    use arrow::array::{Int64Array, RecordBatch};
    use serde_json::json;

    fn file(holds: Holds, path: &str, sequence: i64, pond: &str) -> File {
        let partition = json!({ "pond": pond });
        File { holds, path: path.to_owned(), sequence, partition, ..File::sample() }
    }

    /// How many readers a data file of the sequence number 2 gets, and how many rows are known to be deleted.
    fn of(deletes: &[File]) -> (usize, Option<u64>) {
        let places = Places::new(Source::memory("t", Vec::<u8>::new()), None, crate::formats::ALL);
        let data = file(Holds::Data, "a", 2, "north");
        let (readers, count) = DeleteFiles::new(&places, deletes, &[]).unwrap().of(&data);
        (readers.len(), count)
    }

    #[test]
    fn deletes_are_of_files_of_their_partition_that_are_not_younger() {
        let positions = |sequence, pond| file(Holds::PositionDeletes, "p", sequence, pond);
        assert_eq!(of(&[positions(1, "north"), positions(2, "south")]), (0, Some(0)));
        assert_eq!(of(&vec![positions(2, "north"); 1_000]), (1, None));
        let equal = |sequence, pond| file(Holds::EqualityDeletes, "e", sequence, pond);
        assert_eq!(of(&[equal(2, "north"), equal(3, "south")]), (0, Some(0)));
        assert_eq!(of(&[equal(3, "north")]), (1, None));
        assert_eq!(of(&[File { partition: json!({}), spec: 1, ..equal(3, "") }]), (1, None));
        let places = |partition: Json| super::partition(&File { partition, ..positions(1, "") });
        assert_eq!(places(json!({ "a": 1, "b": "x" })), places(json!({ "b": "x", "a": 1 })));
        assert_ne!(places(json!({ "a": 1, "b": "x" })), places(json!({ "a": "1", "b": "x" })));
    }

    #[test]
    fn deletion_vectors_are_found_by_their_file_and_take_the_place_of_positions() {
        let positions = file(Holds::PositionDeletes, "p", 2, "north");
        let of_file = |path: &str, sequence| File {
            referenced: Some(path.to_owned()),
            ..file(Holds::PositionDeletes, "v", sequence, "north")
        };
        let vector = |path: &str, sequence| File { format: "PUFFIN".to_owned(), ..of_file(path, sequence) };
        assert_eq!(of(&[vector("b", 2), vector("a", 1), of_file("b", 2)]), (0, Some(0)));
        assert_eq!(of(&[of_file("a", 2)]), (1, None));
        assert_eq!(of(&[positions.clone(), vector("a", 2)]), (1, Some(7)));
        let equal = file(Holds::EqualityDeletes, "e", 3, "north");
        assert_eq!(of(&[positions, vector("a", 2), equal]), (1, None));
    }

    #[test]
    fn a_reader_takes_the_positions_of_its_file_out_of_all_delete_files() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [("one.csv", "a,1\na,3\nb,0\n"), ("two.csv", "a,4\nb,2\n"), ("old.csv", "a,0\n")];
        for (name, lines) in lines {
            std::fs::write(folder.path().join(name), format!("file_path,pos\n{lines}")).unwrap();
        }
        let task = Task::new();
        let places = Places::new(Source::open(&task, folder.path()).unwrap(), None, crate::formats::ALL);
        let deletes = [("one.csv", 2), ("two.csv", 2), ("old.csv", 1)]
            .map(|(name, sequence)| file(Holds::PositionDeletes, name, sequence, "north"));
        let data = file(Holds::Data, "a", 2, "north");
        let (readers, _) = DeleteFiles::new(&places, &deletes, &[]).unwrap().of(&data);
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..9));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let table: Arc<dyn Table> = Arc::new(MemoryTable::new(batch));
        let found = readers[0](&task, &table).unwrap();
        assert_eq!(found.iter().collect::<Vec<u64>>(), [1, 3, 4]);
        task.cancel();
        assert!(readers[0](&task, &table).unwrap_err().is_cancelled());
    }
}
