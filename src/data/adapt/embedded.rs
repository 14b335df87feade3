//! A table with the files that its texts name.

use crate::bytes::error::{Error, Result};
use crate::bytes::limits;
use crate::bytes::source::{FileBeneath, Source};
use crate::bytes::task::Task;
use crate::data::cell;
use crate::data::content::table::batch;
use crate::data::content::{Layout, Rows, Table, TableFacts};
use crate::data::media::Place;
use arrow::array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use bytes::Bytes;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that are read at once: each may hold a file. As long as their sizes are not known, few.
const STEP: u64 = 64;
const FIRST: u64 = 8;
/// Bytes of files that are read at once, about.
const AT_ONCE: u64 = 64 << 20;

/// A table in which columns of paths hold the files themselves: structs of `bytes` and `path`, as the library `datasets`
/// keeps pictures and sounds (<https://huggingface.co/docs/datasets/about_dataset_features>).
pub struct EmbeddedFiles {
    table: Arc<dyn Table>,
    columns: Vec<usize>,
    place: Place,
    schema: SchemaRef,
    /// The bytes of a row's files, on average, in the rows where that was most; 0 where none was read.
    average: AtomicU64,
}

impl EmbeddedFiles {
    /// The columns `columns` of a table hold paths of files at `place`.
    pub fn new(table: Arc<dyn Table>, columns: Vec<usize>, place: Place) -> Self {
        let field = |(n, field): (usize, &Arc<Field>)| match columns.contains(&n) {
            true => Arc::new(Field::new(field.name(), DataType::Struct(file_fields()), true)),
            false => field.clone(),
        };
        let old = table.schema();
        let fields: Fields = old.fields().iter().enumerate().map(field).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, old.metadata().clone()));
        EmbeddedFiles { table, columns, place, schema, average: AtomicU64::new(0) }
    }

    /// Paths with the bytes of their files.
    fn files(&self, task: &Task, paths: &dyn Array) -> Result<ArrayRef> {
        let names: Vec<Option<String>> =
            (0..paths.len()).map(|row| cell::shown(paths, row).filter(|_| paths.is_valid(row))).collect();
        let open = |name: &Option<String>| name.as_deref().map(|name| self.open(task, name)).transpose();
        let files = names.par_iter().map(open).collect::<Result<Vec<Option<File>>>>()?;
        let total = files.iter().flatten().fold(0_u64, |total, file| total.saturating_add(file.len()));
        limits::check(total, i32::MAX as u64, "the files of a few rows")?;
        self.average.fetch_max((total / names.len().max(1) as u64).max(1), Ordering::Relaxed);
        let read = |file: Option<File>| file.map(|file| file.read(task)).transpose();
        let bytes = files.into_par_iter().map(read).collect::<Result<Vec<Option<Bytes>>>>()?;
        let there: Vec<bool> = names.iter().map(Option::is_some).collect();
        let columns: Vec<ArrayRef> =
            vec![Arc::new(bytes.into_iter().collect::<BinaryArray>()), Arc::new(StringArray::from(names))];
        Ok(Arc::new(StructArray::try_new(file_fields(), columns, Some(NullBuffer::from(there)))?))
    }

    /// The file that a path names.
    fn open(&self, task: &Task, path: &str) -> Result<File> {
        task.check()?;
        if let Some(file) = self.place.beneath(path) {
            return Ok(File::Plain(file));
        }
        let missing = || Error::io(format!("{path:?} is not there, or not in the folder of its table"));
        let source = self.place.open(task, path)?.ok_or_else(missing)?;
        let len = source.len(task)?;
        Ok(File::Source(source, len))
    }
}

/// An open file.
enum File {
    Plain(FileBeneath),
    /// With its length.
    Source(Source, u64),
}

impl File {
    fn len(&self) -> u64 {
        match self {
            File::Plain(file) => file.len(),
            File::Source(_, len) => *len,
        }
    }

    fn read(self, task: &Task) -> Result<Bytes> {
        task.check()?;
        match self {
            File::Plain(file) => file.read().map(Bytes::from),
            File::Source(source, len) => source.read(task, 0..len),
        }
    }
}

/// The fields of a file in a cell.
fn file_fields() -> Fields {
    Fields::from(vec![Field::new("bytes", DataType::Binary, true), Field::new("path", DataType::Utf8, true)])
}

impl Table for EmbeddedFiles {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.table.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let read = self.table.read(task, rows, columns)?;
        let cells = columns.iter().zip(read.columns());
        let cells = cells.map(|(column, array)| match self.columns.contains(column) {
            true => self.files(task, array.as_ref()),
            false => Ok(array.clone()),
        });
        let cells = cells.collect::<Result<Vec<_>>>()?;
        batch(&self.schema, columns, cells, read.num_rows())
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.table.count(task)
    }

    fn scan_step(&self, at: u64) -> u64 {
        let step = match self.average.load(Ordering::Relaxed) {
            0 => FIRST,
            average => (AT_ONCE / average).clamp(1, STEP),
        };
        self.table.scan_step(at).min(step)
    }

    fn facts(&self) -> TableFacts {
        self.table.facts()
    }

    fn layout(&self) -> Layout {
        self.table.layout()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::content::table::MemoryTable;
    use arrow::array::AsArray;

    #[test]
    fn paths_become_files_and_a_missing_one_is_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/1.bin"), b"one").unwrap();
        let table = |paths: Vec<Option<&str>>| -> Arc<dyn Table> {
            let cells: ArrayRef = Arc::new(StringArray::from(paths));
            Arc::new(MemoryTable::new(RecordBatch::try_from_iter([("path", cells)]).unwrap()))
        };
        let task = Task::new();
        let place = Place::of(&Source::open(&task, folder.path()).unwrap(), "");
        let files = EmbeddedFiles::new(table(vec![Some("a/1.bin"), None]), vec![0], place.clone());
        let read = files.read(&task, 0..2, &[0]).unwrap();
        let cells = read.column(0).as_struct();
        assert_eq!(cells.column(0).as_binary::<i32>().value(0), b"one");
        assert_eq!(cells.column(1).as_string::<i32>().value(0), "a/1.bin");
        assert!(cells.is_null(1));
        let missing = EmbeddedFiles::new(table(vec![Some("a/2.bin")]), vec![0], place);
        let error = missing.read(&task, 0..1, &[0]).unwrap_err();
        assert!(error.message().contains("\"a/2.bin\" is not there"), "{}", error.message());
    }
}
