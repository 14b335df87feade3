//! What the table formats of data lakes (Delta Lake, Iceberg) share: a table whose rows lie in many data
//! files, whose schema stands in metadata, and of which some rows are deleted by position.
//!
//! The formats read their metadata and give a list of [`DataFile`]s; [`table`] makes one table of them: each
//! file's columns are found by field id or by physical name, fitted to the table's schema (renamed, moved,
//! widened, filled with defaults), and the rows that are deleted are left out.

mod file;
mod fit;
mod place;
mod values;

pub use file::{Deletes, file_table};
pub use fit::{By, FIELD_ID, PHYSICAL_NAME};
pub use place::Places;
pub use values::{constant, json_of, text_table, unescaped};

use crate::concat::{self, Joined, Opener, Part};
use crate::content::table::MemoryTable;
use crate::error::Result;
use crate::task::Task;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use std::sync::Arc;

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
    /// What is deleted of it.
    pub deletes: Vec<Deletes>,
}

/// The data files as one table of `schema`.
///
/// # Errors
/// What the files give, if none of them can be opened.
pub fn table(task: &Task, schema: &SchemaRef, by: By, files: Vec<DataFile>) -> Result<Joined> {
    if files.is_empty() {
        let empty = MemoryTable::new(RecordBatch::new_empty(schema.clone()));
        return Ok(Joined { table: Arc::new(empty), differences: Vec::new(), fitting: 0, opened: 0 });
    }
    let parts = files.into_iter().map(|file| {
        let (schema, name, bytes) = (schema.clone(), file.name.clone(), file.bytes);
        let open: Opener = Box::new(move |task| file_table(task, &schema, by, &file));
        Part { name, bytes, open, constants: Vec::new() }
    });
    concat::tables(task, parts.collect(), Vec::new())
}
