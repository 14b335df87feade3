//! Tables over the records of one or several runs.

use super::event::Event;
use super::kind::{Gathered, Kind, Origin, Which};
use super::log::{Log, Marks, Record, State};
use crate::bytes::error::Result;
use crate::bytes::task::Task;
use crate::data::content::table::{batch, cut};
use crate::data::content::{Rows, Table};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use std::ops::Range;
use std::sync::Arc;

/// A run: its name and its records.
#[derive(Clone)]
pub(super) struct NamedLog {
    pub(super) name: String,
    pub(super) log: Arc<Log>,
}

/// Values as rows, those of several runs one behind the other.
pub(super) struct EventTable {
    runs: Vec<NamedLog>,
    which: Which,
    /// Whether the first column names the run.
    with_run: bool,
    schema: SchemaRef,
}

/// The rows of a table that a run has, as far as they are known.
fn marks<'a>(state: &'a State, which: &Which) -> Option<&'a Marks> {
    match which {
        Which::Scalars => Some(&state.scalars),
        Which::Tag(kind, tag) => state.of(*kind, tag).map(|series| &series.marks),
        Which::Records => Some(&state.records),
    }
}

impl EventTable {
    /// A table of one run.
    pub(super) fn of(log: &Arc<Log>, which: Which) -> Self {
        Self::new(vec![NamedLog { name: String::new(), log: log.clone() }], which, false)
    }

    /// A table of these runs.
    pub(super) fn new(runs: Vec<NamedLog>, which: Which, with_run: bool) -> Self {
        EventTable { schema: which.schema(with_run), runs, which, with_run }
    }

    /// How many rows a run has, and whether all of it is known.
    fn known(&self, log: &Log) -> (u64, bool) {
        let state = log.now();
        (marks(&state, &self.which).map_or(0, |marks| marks.rows), state.ended)
    }

    /// Adds the rows `rows` of a run, which are known.
    fn gather(&self, task: &Task, run: &NamedLog, rows: Range<u64>, to: &mut Gathered) -> Result<()> {
        let (mark, start) = {
            let state = run.log.now();
            (marks(&state, &self.which).map(|marks| marks.before(rows.start)), state.times)
        };
        let Some((mut row, place)) = mark else { return Ok(()) };
        let origin = Origin {
            run: self.with_run.then_some(run.name.as_str()),
            start: start.map_or(0.0, |(start, _)| start),
        };
        run.log.each(task, place, |record| {
            let event = record.event();
            if self.which == Which::Records {
                if row >= rows.start {
                    origin.record(record.part.span(), event.as_ref(), to);
                }
                row += 1;
            } else if let Some(event) = event {
                self.values(&record, &event, &mut row, &rows, &origin, to)?;
            }
            to.check()?;
            Ok(row < rows.end)
        })
    }

    /// Adds those rows of a record that are wanted.
    fn values(
        &self,
        record: &Record,
        event: &Event,
        row: &mut u64,
        rows: &Range<u64>,
        origin: &Origin,
        to: &mut Gathered,
    ) -> Result<()> {
        for (kind, value) in record.values(event) {
            if !self.which.has(kind, value.tag) {
                continue;
            }
            let count = kind.rows(&value);
            let start = rows.start.saturating_sub(*row).min(count);
            let end = rows.end.saturating_sub(*row).min(count);
            if start < end {
                origin.value(kind, event, &value, start..end, to)?;
            }
            *row += count;
        }
        Ok(())
    }
}

impl Table for EventTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Rows {
        let mut rows = 0_u64;
        for run in &self.runs {
            let (known, ended) = self.known(&run.log);
            rows = rows.saturating_add(known);
            if !ended {
                return Rows::AtLeast(rows);
            }
        }
        Rows::Exact(rows)
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        let mut gathered = Which::gathered(&self.schema);
        let mut before = 0_u64;
        for run in &self.runs {
            if before >= rows.end {
                break;
            }
            let wanted = rows.start.saturating_sub(before)..rows.end - before;
            let enough = |state: &State| marks(state, &self.which).is_some_and(|m| m.rows >= wanted.end);
            run.log.until(task, enough)?;
            let (known, _) = self.known(&run.log);
            let part = cut(&wanted, known);
            if part.start < part.end {
                self.gather(task, run, part, &mut gathered)?;
            }
            before = before.saturating_add(known);
        }
        let count = gathered.len();
        let all = gathered.finish();
        let picked: Vec<ArrayRef> = columns.iter().filter_map(|column| all.get(*column).cloned()).collect();
        batch(&self.schema, columns, picked, count)
    }

    fn scan_step(&self, _at: u64) -> u64 {
        // Texts may be long.
        if matches!(self.which, Which::Tag(Kind::Text, _)) { 1_024 } else { 65_536 }
    }

    fn count(&self, task: &Task) -> Result<u64> {
        for run in &self.runs {
            run.log.finish(task)?;
        }
        Ok(self.rows().number())
    }
}
