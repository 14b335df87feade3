//! Checkpoints. The second version is a bundle: a table (`.index`) of where in the files of values
//! (`.data-00000-of-00002`) each tensor lies. The first version is one table that has the values too.
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/util/tensor_bundle/tensor_bundle.cc>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/protobuf/tensor_bundle.proto>,
//! <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/util/saved_tensor_slice.proto>

mod names;
mod stored;
mod version1;

pub use names::{File, file_of, prefixes};
pub use stored::Stored;

use super::objects::Objects;
use super::slices::Slice;
use super::table::{Entry, Table};
use super::tensor;
use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::engines::protobuf::{Field, Part, Value as Wire};
use std::collections::HashMap;
use std::sync::Arc;
use stored::{Place, Shards};

/// The tensor that holds the objects of Python that a checkpoint was made of.
pub const OBJECTS: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// The most tensors of texts whose beginnings are looked at when a checkpoint is opened.
const LOOKS: u32 = 256;

/// The tensors of a checkpoint.
#[derive(Default)]
pub struct Bundle {
    /// Its tensors.
    pub tensors: Vec<Stored>,
    /// What it says of itself.
    pub about: Vec<(String, String)>,
    /// What is wrong with it.
    pub problems: Vec<Error>,
    /// The objects that it was made of.
    pub objects: Option<Objects>,
}

/// What an entry of the table says.
#[derive(Clone, Debug, Default)]
struct Record {
    dtype: u64,
    shape: Vec<u64>,
    shard: u64,
    offset: u64,
    size: u64,
    slices: Vec<Slice>,
}

impl Record {
    fn parse(part: Part) -> Result<Record> {
        let mut record = Record::default();
        for field in part.fields() {
            let Field { number, value, .. } = field?;
            match number {
                1 => record.dtype = value.uint(),
                2 => record.shape = tensor::shape(value.part())?,
                3 => record.shard = value.uint(),
                4 => record.offset = value.uint(),
                5 => record.size = value.uint(),
                7 => record.slices.push(Slice::parse(value.part())?),
                _ => {}
            }
        }
        limits::elements(&record.shape)?;
        Ok(record)
    }
}

/// What the table says of all of it.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    shards: u64,
    is_big: bool,
}

fn header(part: Part, about: &mut Vec<(String, String)>) -> Result<Header> {
    let mut header = Header::default();
    for field in part.fields() {
        let Field { number, value, .. } = field?;
        match number {
            1 => header.shards = value.uint(),
            2 => header.is_big = value.uint() == 1,
            3 => {
                for field in value.fields() {
                    if let Field { number: 1, value, .. } = field? {
                        about.push(("bundle_version".to_owned(), value.uint().to_string()));
                    }
                }
            }
            _ => {}
        }
    }
    about.push(("shards".to_owned(), header.shards.to_string()));
    Ok(header)
}

/// Whether a table begins as those of checkpoints do: with an empty key.
pub fn begins(first: &[u8]) -> bool {
    first.starts_with(&[0, 0]) && first.len() > 4
}

impl Bundle {
    /// Reads the table of a checkpoint of either version. Values are not read.
    ///
    /// # Errors
    /// Where there is no table, or nothing of it can be read.
    pub fn open(task: &Task, source: &Source) -> Result<Bundle> {
        let table = Arc::new(Table::open(task, source)?);
        let mut bundle = Bundle::default();
        bundle.problems.extend(table.problem.clone());
        let mut first = None;
        let read = table.each(task, 0, |entry| {
            first.get_or_insert(entry);
            Ok(())
        });
        let broken = read.unless_cancelled()?.err();
        match first.filter(|entry| entry.key.is_empty()) {
            Some(entry) if version1::is_metadata(&entry.value) => {
                bundle.problems.extend(broken);
                version1::read(task, &table, &entry.value, &mut bundle)?;
            }
            Some(entry) => {
                let header = header(Part::decoded(&entry.value), &mut bundle.about)?;
                bundle.version2(task, &table, source, header)?;
            }
            None if broken.is_none() && bundle.problems.is_empty() => {
                return Err(Error::malformed(
                    "a table without the entry that the table of a checkpoint begins with",
                ));
            }
            None => bundle.version2(task, &table, source, Header::default())?,
        }
        if bundle.tensors.is_empty()
            && let Some(problem) = bundle.problems.first()
        {
            return Err(problem.clone());
        }
        Ok(bundle)
    }

    fn version2(&mut self, task: &Task, table: &Table, source: &Source, header: Header) -> Result<()> {
        let mut records: Vec<(String, Result<Record>)> = Vec::new();
        let mut parts: HashMap<Vec<u8>, Record> = HashMap::new();
        for n in 0..table.blocks() {
            let mut add = |Entry { key, value, .. }: Entry| {
                if records.len() + parts.len() >= limits::WALKED as usize {
                    return Err(Error::limit(format!("more than {} tensors", limits::WALKED)));
                }
                let record = Record::parse(Part::decoded(&value));
                match key.first() {
                    None => {}
                    // Parts of variables have keys that no name is.
                    Some(0) => drop(record.map(|record| parts.insert(key, record))),
                    Some(_) => records.push((String::from_utf8_lossy(&key).into_owned(), record)),
                }
                Ok(())
            };
            if let Err(error) = table.each(task, n, &mut add).unless_cancelled()? {
                self.problems.push(error);
            }
        }
        let shards = Arc::new(Shards::of(task, source, header.shards, header.is_big));
        self.problems.extend(shards.missing());
        let mut looks = LOOKS;
        for (name, record) in records {
            task.check()?;
            let mut stored = match record {
                Ok(record) => self::stored(&name, &record, &parts, &shards),
                Err(error) => Stored::broken(&name, error),
            };
            if looks > 0 && stored.look(task)? {
                looks -= 1;
            }
            if name == OBJECTS {
                self.objects(task, &stored)?;
            }
            self.tensors.push(stored);
        }
        Ok(())
    }

    fn objects(&mut self, task: &Task, stored: &Stored) -> Result<()> {
        let read = stored.single(task).and_then(|bytes| Objects::trackable(task, Part::decoded(&bytes)));
        match read.unless_cancelled()? {
            Ok(objects) => self.objects = Some(objects),
            Err(error) => self.problems.push(error.of(OBJECTS)),
        }
        Ok(())
    }
}

/// The tensor of a record, of its parts where it is partitioned.
fn stored(name: &str, record: &Record, parts: &HashMap<Vec<u8>, Record>, shards: &Arc<Shards>) -> Stored {
    let place = |record: &Record| Place::Shard {
        shards: shards.clone(),
        shard: record.shard,
        offset: record.offset,
        size: record.size,
    };
    if record.slices.is_empty() {
        return Stored::new(name, record.dtype, record.shape.clone(), place(record));
    }
    let mut pieces = Vec::new();
    for slice in &record.slices {
        let bounds = match slice.within(&record.shape) {
            Ok(bounds) => bounds,
            Err(error) => return Stored::broken(name, error),
        };
        let found = parts.get(&slice.key(name));
        let found = found.ok_or_else(|| Error::malformed(format!("{name}: its part {slice:?} is not there")));
        pieces.push((bounds, found.map(&place)));
    }
    Stored::new(name, record.dtype, record.shape.clone(), Place::Parts(pieces))
}

/// The fields of a message that are messages themselves, of one number.
fn messages(part: Part, number: u32) -> impl Iterator<Item = Result<Part>> {
    part.fields().filter_map(move |field| match field {
        Ok(field) if field.number == number => match field.value {
            Wire::Bytes(part) => Some(Ok(part)),
            _ => None,
        },
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}
