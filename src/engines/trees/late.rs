//! A small table whose rows take a look at all of a file: they are made when somebody asks, once.

use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::MemoryTable;
use crate::data::content::{Rows, Table};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use std::ops::Range;
use std::sync::OnceLock;

type Make = dyn Fn(&Task) -> Result<RecordBatch> + Send + Sync;

/// The table.
pub struct LateTable {
    schema: SchemaRef,
    make: Box<Make>,
    made: OnceLock<MemoryTable>,
}

impl LateTable {
    /// A table of these columns with the rows that `make` gives.
    pub fn new(
        schema: SchemaRef,
        make: impl Fn(&Task) -> Result<RecordBatch> + Send + Sync + 'static,
    ) -> Self {
        LateTable { schema, make: Box::new(make), made: OnceLock::new() }
    }

    fn made(&self, task: &Task) -> Result<&MemoryTable> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = MemoryTable::new((self.make)(task)?);
        Ok(self.made.get_or_init(|| made))
    }
}

impl Table for LateTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.made.get().map_or(Rows::AtLeast(0), Table::rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        self.made(task)?.read(task, rows, columns)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        Ok(self.made(task)?.rows().number())
    }
}
