//! What the table formats of data lakes (Delta Lake, Iceberg) share: a table whose rows lie in many data
//! files, whose schema stands in metadata, and of which some rows are deleted by position.
//!
//! The formats read their metadata and give a list of [`DataFile`]s; [`table`] makes one table of them: each
//! file's columns are found by field id or by physical name, fitted to the table's schema (renamed, moved,
//! widened, filled with defaults), and the rows that are deleted are left out.

mod file;
mod fit;
mod place;
mod types;
mod values;
pub mod write;

pub use file::{Deletes, file_table};
pub use fit::{By, FIELD_ID, PHYSICAL_NAME};
pub use place::Places;
pub use types::{decimal, map, variant};
pub use values::{constant, json_of, millis, text_table, time, unescaped};

use crate::bytes::error::{Error, Result, UnlessCancelled};
use crate::bytes::task::Task;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Content, Rows};
use crate::data::node::Node;
use crate::engines::multifile::concat::{self, BoundsOf, Joined, Opener, Part};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use parking_lot::Mutex;
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::sync::Arc;

/// The most files whose being there is looked at when a table is opened.
const LOOKED: usize = 10_000;
/// The most remarks about single files.
const REMARKS: usize = 20;

/// One data file of a version of a table.
pub struct DataFile {
    /// Its path below the table's folder.
    pub name: String,
    /// Its size in bytes, 0 where unknown.
    pub bytes: u64,
    /// Opens it as it is in the file.
    pub open: Opener,
    /// For columns of the table that the file does not have: an array of the one value that all of its rows
    /// have (a partition's value, a default), by the column's place.
    pub constants: Vec<(usize, ArrayRef)>,
    /// Which of these columns are the file's partition: all of its rows have the value, also where it has the
    /// column.
    pub partition: Vec<usize>,
    /// What is deleted of it; asked when its first row is read.
    pub deletes: Vec<Deletes>,
    /// How many rows are in the file, as metadata says.
    pub rows: Option<u64>,
    /// How many of them are deleted, where metadata says so.
    pub deleted: Option<u64>,
    /// What metadata says of a column's values.
    pub bounds: Option<BoundsOf>,
    /// The rows that are deleted, once they were looked for.
    pub(crate) gone: Mutex<Option<Arc<RoaringTreemap>>>,
}

impl DataFile {
    /// A file of which nothing is known but how it is opened.
    pub fn new(name: impl Into<String>, bytes: u64, open: Opener) -> DataFile {
        DataFile {
            name: name.into(),
            bytes,
            open,
            constants: Vec::new(),
            partition: Vec::new(),
            deletes: Vec::new(),
            rows: None,
            deleted: None,
            bounds: None,
            gone: Mutex::default(),
        }
    }

    /// The file at a place below the table's folder, or why it is not there.
    pub fn at(places: &Places, place: Result<String>, path: &str, bytes: u64) -> DataFile {
        let name = place.as_ref().map_or_else(|_| path.to_owned(), Clone::clone);
        let places = places.clone();
        let open = Box::new(move |task: &Task| places.table(task, &place.clone()?));
        DataFile::new(name, bytes, open)
    }

    /// How many of its rows are left, as far as metadata says.
    fn left(&self) -> Option<Rows> {
        let rows = self.rows?;
        Some(match (self.deletes.is_empty(), self.deleted) {
            (true, _) => Rows::Exact(rows),
            (false, Some(deleted)) => Rows::Exact(rows.saturating_sub(deleted)),
            (false, None) => Rows::About { rows, known: 0 },
        })
    }
}

/// The data files as one table of `schema`. A few of them are opened, and those that are not there as metadata
/// says; the others when their rows are read.
///
/// # Errors
/// Only that the work was cancelled.
pub fn table(
    task: &Task,
    places: &Places,
    schema: &SchemaRef,
    by: By,
    files: Vec<DataFile>,
) -> Result<Joined> {
    if files.is_empty() {
        let empty = MemoryTable::new(RecordBatch::new_empty(schema.clone()));
        let (table, differences) = (Arc::new(empty), Vec::new());
        return Ok(Joined { table, differences, hides: false, fitting: 0, opened: 0, scattered: false });
    }
    let strange = |file: &DataFile| {
        task.check().map(|()| places.size(&file.name).is_ok_and(|len| file.bytes == 0 || len == file.bytes))
    };
    let there: Vec<bool> = files.par_iter().take(LOOKED).map(strange).collect::<Result<_>>()?;
    let part = |file: DataFile| {
        let file = Arc::new(file);
        let (schema, same) = (schema.clone(), file.clone());
        let open: Opener = Box::new(move |task| file_table(task, &schema, by, &same));
        let mut part = Part::new(file.name.clone(), file.bytes, open);
        part.rows = file.left();
        // What is deleted leaves the bounds of the others as they are.
        part.bounds = Some(Box::new(move |column| {
            let constant = file.constants.iter().find(|(place, _)| *place == column);
            if let Some((_, value)) = constant.filter(|_| file.partition.contains(&column)) {
                let rows = file.left().and_then(Rows::exact).unwrap_or(1);
                return crate::data::content::ColumnStatistics::constant(value, &[rows]).ok();
            }
            let bounds = file.bounds.as_ref()?(column)?;
            Some(if file.deletes.is_empty() { bounds } else { bounds.of_some_rows() })
        }));
        part
    };
    let parts = files.into_iter().map(part).collect();
    concat::known(task, schema, parts, |place| there.get(place) == Some(&false))
}

/// Gives a node its table: what `made` gives, and how many files it should have. Why it is not whole is the
/// node's problem; `which` names the state of the table (`version 3`).
///
/// # Errors
/// Only that the work was cancelled.
pub fn filled(mut node: Node, which: &str, made: Result<(Joined, usize)>) -> Result<Node> {
    let (joined, count) = match made.unless_cancelled()? {
        Ok(made) => made,
        Err(error) => return Ok(node.problem(error)),
    };
    if joined.fitting < joined.opened {
        let broken = joined.opened - joined.fitting;
        let first = joined.differences.first().map_or("", String::as_str);
        node.problem =
            Some(Error::malformed(format!("{which}: {broken} of its {count} files cannot be read: {first}")));
    }
    let more = joined.differences.len().saturating_sub(REMARKS);
    node.remarks.extend(joined.differences.into_iter().take(REMARKS));
    if more > 0 {
        node.remarks.push(format!("{more} more files differ"));
    }
    Ok(node.content(Content::Table(joined.table)))
}
