//! The table: lines split and parsed when they are read.

use super::line::{self, Parsed};
use super::{REST, Sample};
use crate::content::table::{Rows, Table, batch};
use crate::error::Result;
use crate::limits;
use crate::lines::{Paged, Records, Rules, Step, paged, types};
use crate::source::Source;
use crate::task::Task;
use arrow::array::{ArrayRef, RecordBatch, StringBuilder};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A table of lines.
pub(super) struct JsonTable {
    schema: SchemaRef,
    rows: Paged,
    columns: Arc<Columns>,
}

/// Where values go.
struct Columns {
    /// Columns of fields by name.
    by_name: HashMap<String, usize>,
    /// The column of lines that are no objects.
    value: Option<usize>,
    /// The column of what has no other.
    rest: Option<usize>,
}

impl JsonTable {
    pub(super) fn new(source: Source, start: u64, rules: Rules, sample: &Sample, whole: bool) -> Self {
        let mut fields: Vec<_> =
            sample.shape.fields.iter().map(|(name, shape)| types::field(name, &shape.data_type())).collect();
        let objects = sample.objects > 0;
        let value = (!objects && sample.others > 0).then_some(0);
        let names = sample.shape.fields.iter().enumerate().filter(|_| objects);
        let by_name = names.map(|(i, (name, _))| (name.clone(), i)).collect();
        // A sample that is the whole file needs no place for what comes later.
        let rest = !whole || sample.bad > 0 || objects && sample.others > 0 || fields.is_empty();
        let rest = rest.then(|| {
            fields.push(types::field(REST, &DataType::Utf8));
            fields.len() - 1
        });
        JsonTable {
            schema: Arc::new(Schema::new(fields)),
            rows: Paged::new(source, rules, start, 0, sample.row_bytes, sample.rows()),
            columns: Arc::new(Columns { by_name, value, rest }),
        }
    }

    fn cells(&self, columns: &[usize]) -> Cells {
        let mut wanted = vec![Vec::new(); self.schema.fields().len()];
        for (slot, &column) in columns.iter().enumerate() {
            if let Some(slots) = wanted.get_mut(column) {
                slots.push(slot);
            }
        }
        Cells {
            columns: self.columns.clone(),
            rules: *self.rows.rules(),
            wanted,
            row: vec![None; columns.len()],
            builders: columns.iter().map(|_| StringBuilder::new()).collect(),
            line: 0..0,
            rows: 0,
            bytes: 0,
        }
    }

    fn finish(&self, cells: Cells, columns: &[usize]) -> Result<RecordBatch> {
        let arrays: Vec<ArrayRef> =
            cells.builders.into_iter().map(|mut b| Arc::new(b.finish()) as ArrayRef).collect();
        batch(&self.schema, columns, arrays, cells.rows)
    }
}

impl Table for JsonTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        self.rows.rows()
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        self.rows.batch(rows, |rows| {
            let mut cells = self.cells(columns);
            self.rows.read(task, rows, &mut cells)?;
            self.finish(cells, columns)
        })
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.rows.count(task)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        self.rows.scan_step()
    }

    fn tail(&self, task: &Task, count: u64, columns: &[usize]) -> Result<(Option<u64>, RecordBatch)> {
        let (first, cells) = self.rows.tail(task, count, &|| self.cells(columns))?;
        Ok((first, self.finish(cells, columns)?))
    }
}

/// The cells of the asked columns, as they are gathered.
struct Cells {
    columns: Arc<Columns>,
    rules: Rules,
    /// For each column of the table, where it was asked for.
    wanted: Vec<Vec<usize>>,
    /// The row that is being filled.
    row: Vec<Option<String>>,
    builders: Vec<StringBuilder>,
    /// The line that was found last.
    line: Range<usize>,
    rows: usize,
    bytes: u64,
}

impl Records for Cells {
    fn split(&mut self, bytes: &[u8], at: usize, last: bool) -> Step {
        paged::line(&self.rules, bytes, at, last, &mut self.line)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        let text = bytes.get(self.line.clone()).unwrap_or_default();
        match line::parse(text) {
            Ok(Parsed::Object(fields)) => self.object(&fields),
            Ok(Parsed::Other(raw)) => {
                let place = self.columns.value.or(self.columns.rest);
                self.set(place, line::cell(raw));
            }
            Err(_) => {
                let place = self.columns.rest.or(self.columns.value);
                self.set(place, Some(String::from_utf8_lossy(text.trim_ascii_end())));
            }
        }
        for (builder, cell) in self.builders.iter_mut().zip(&mut self.row) {
            let cell = cell.take();
            self.bytes += cell.as_ref().map_or(0, |c| c.len() as u64);
            builder.append_option(cell);
        }
        self.rows += 1;
        limits::check(self.bytes, limits::READ - 1, "the text of these rows").map(|_| ())
    }

    fn fit(&self, _bytes: &[u8], _at: usize) -> f64 {
        1.0
    }
}

impl Cells {
    fn object(&mut self, fields: &[(Cow<'_, str>, &str)]) {
        let mut rest = Vec::new();
        for (name, raw) in fields {
            match self.columns.by_name.get(name.as_ref()) {
                Some(&column) if self.is_wanted(column) => self.set(Some(column), line::cell(raw)),
                Some(_) => {}
                None => rest.push((name, raw)),
            }
        }
        if !rest.is_empty() {
            let pair = |(name, raw): &(&Cow<'_, str>, &&str)| {
                format!("{}:{raw}", serde_json::Value::from(name.as_ref()))
            };
            let pairs: Vec<String> = rest.iter().map(pair).collect();
            self.set(self.columns.rest, Some(Cow::Owned(format!("{{{}}}", pairs.join(",")))));
        }
    }

    fn is_wanted(&self, column: usize) -> bool {
        self.wanted.get(column).is_some_and(|slots| !slots.is_empty())
    }

    fn set(&mut self, column: Option<usize>, cell: Option<Cow<'_, str>>) {
        let slots = column.and_then(|column| self.wanted.get(column));
        for &slot in slots.into_iter().flatten() {
            if let Some(place) = self.row.get_mut(slot) {
                *place = cell.as_deref().map(str::to_owned);
            }
        }
    }
}
