//! `dbm.sqlite3`: an SQLite database with one table `Dict` of two columns of bytes, `key` and `value`. SQLite's own
//! reader opens it.
//! <https://github.com/python/cpython/blob/main/Lib/dbm/sqlite3.py>

use super::{Database, ENTRIES, Entry, Place, Values};
use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::Source;
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::{Content, Table};
use crate::data::format::Options;
use crate::data::sniff::Head;
use bytes::Bytes;
use std::sync::Arc;

const MAGIC: &[u8] = b"SQLite format 3\0";
/// The statement that makes its table, as far as it is the same everywhere.
const TABLE: &[u8] = b"CREATE TABLE Dict";
/// Rows that are read at once.
const ROWS: u64 = 1024;

pub(super) fn is(head: &Head) -> bool {
    head.starts_with(MAGIC) && memchr::memmem::find(&head.first, TABLE).is_some()
}

/// Values in rows of the table.
struct Stored(Source, Arc<dyn Table>);

impl Values for Stored {
    fn value(&self, task: &Task, place: &Place) -> Result<Source> {
        let Place::Row(row) = place else { return Err(Error::bug("a value that is in no row")) };
        let batch = self.1.read(task, *row..row.saturating_add(1), &[1])?;
        let value = bytes(batch.column(0).as_ref(), 0)
            .ok_or_else(|| Error::malformed("dbm.sqlite3: a row is gone"))?;
        self.0.inflated("value", value)
    }
}

/// A cell as bytes.
fn bytes(column: &dyn arrow::array::Array, row: usize) -> Option<Bytes> {
    match cell::binary(column, row) {
        Some(bytes) => Some(Bytes::copy_from_slice(bytes)),
        None => cell::text(column, row).map(Bytes::from),
    }
}

pub(super) fn read(task: &Task, source: &Source) -> Result<Database> {
    let mut options = Options::default();
    options.0.insert("format".to_owned(), "sqlite".to_owned());
    let document = crate::formats::ALL.open_source(task, source, &options)?;
    let tables = document.root.child_page(task, 0..2)?;
    let table = match tables.as_slice() {
        [only] if only.name == "Dict" => match &only.content {
            Some(Content::Table(table)) => table.clone(),
            _ => return Err(Error::other_format("")),
        },
        // Others call a table so too.
        _ => return Err(Error::other_format("")),
    };
    let names: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
    if names != ["key", "value"] {
        return Err(Error::other_format(""));
    }
    let rows = table.count(task)?;
    limits::check(rows, ENTRIES, "the keys")?;
    let mut entries = Vec::new();
    for start in (0..rows).step_by(ROWS as usize) {
        task.check()?;
        let batch = table.read(task, start..rows.min(start + ROWS), &[0])?;
        for row in 0..batch.num_rows() {
            let Some(key) = bytes(batch.column(0).as_ref(), row) else { continue };
            entries.push(Entry { key, value: Place::Row(start + row as u64) });
        }
    }
    let problem = document.root.problem.clone();
    let values = Box::new(Stored(source.clone(), table));
    Ok(Database { library: "dbm.sqlite3", entries, values, problem })
}
