//! A query's result: a table that grows while the query runs. Its rows are kept as Arrow IPC messages, a
//! chunk each, the first megabytes in memory and the rest in a file without a name; any of them can be
//! read at any time.
//!
//! The parts of a plan run at the same time and stand one behind the other: what is visible are the
//! chunks of the first part and of those behind it whose predecessors are done.

use super::catalog::TypeOverrides;
use super::diagnostic::{ExpressionError, Failure, Scope, of_work};
use super::plan::Planned;
use super::steps::Step;
use super::threads::Threads;
use super::{Settings, names};
use crate::bytes::cache::Cache;
use crate::bytes::error::{Error, Result};
use crate::bytes::stream::spool::Spool;
use crate::bytes::task::Task;
use crate::data::adapt::Typed;
use crate::data::content::table::{batch, cut, joined};
use crate::data::content::{Rows, Table, TableFacts};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use futures::{FutureExt, StreamExt};
use parking_lot::{Condvar, Mutex};
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// Rows and bytes of a chunk; the first ones are smaller.
const ROWS: usize = 65_536;
const BYTES: usize = 8 << 20;
/// Rows that wait for a chunk to be full are shown after this time.
const PATIENCE: Duration = Duration::from_millis(100);
/// Decoded chunks that are kept, in bytes.
const KEPT: usize = 64 << 20;
/// How often a waiting thread looks up.
const LOOK: Duration = Duration::from_millis(20);

/// The result of a query.
pub struct QueryResult {
    inner: Arc<Inner>,
    guessed: Vec<(TypeOverrides, Arc<Typed>)>,
    planning: Duration,
}

struct Inner {
    sql: String,
    /// The columns of the tables that it reads.
    tables: Vec<SchemaRef>,
    schema: SchemaRef,
    task: Task,
    failed: Arc<OnceLock<ExpressionError>>,
    begun: Instant,
    most: u64,
    spool: Spool,
    state: Mutex<State>,
    changed: Condvar,
    cache: Cache<u64, RecordBatch>,
}

#[derive(Default)]
struct State {
    parts: Vec<Part>,
    /// The part whose chunks become visible as they come.
    front: usize,
    placed: Vec<VisibleBatch>,
    /// Visible rows.
    rows: u64,
    /// Rows still to be skipped and to be taken.
    skip: u64,
    left: Option<u64>,
    failure: Option<Failure>,
    /// When it ended, well or not.
    ended: Option<Duration>,
    first: Option<Duration>,
    handles: Vec<AbortHandle>,
    threads: Option<Threads>,
    plan: PlanText,
}

/// A plan: while it runs, the steps themselves, which hold the rows that they gathered; then its text and the steps as values.
enum PlanText {
    Pending(Arc<dyn ExecutionPlan>),
    Text(String, Vec<Step>),
}

impl Default for PlanText {
    fn default() -> Self {
        PlanText::Text(String::new(), Vec::new())
    }
}

impl PlanText {
    /// A step a line, with what each counted and how long it took; and the same as values.
    fn words(&self) -> (String, Vec<Step>) {
        match self {
            PlanText::Pending(plan) => {
                let text = DisplayableExecutionPlan::with_metrics(plan.as_ref()).indent(false).to_string();
                (text, super::steps::of(plan))
            }
            PlanText::Text(text, steps) => (text.clone(), steps.clone()),
        }
    }
}

#[derive(Default)]
struct Part {
    /// Chunks that are not visible yet.
    waiting: Vec<Chunk>,
    done: bool,
}

/// Bytes of the spool.
#[derive(Clone, Copy)]
struct Chunk {
    offset: u64,
    len: u64,
    rows: u64,
}

/// A visible chunk: `first` is the number of its first row, which is row `from` in it.
#[derive(Clone, Copy)]
struct VisibleBatch {
    first: u64,
    from: u64,
    rows: u64,
    chunk: Chunk,
}

/// The schema of a result: names that are different, nothing said of nulls.
pub(super) fn result_schema(schema: &SchemaRef) -> SchemaRef {
    let unique = names::unique(schema.fields().iter().map(|f| f.name().as_str()));
    let field = |(field, name): (&FieldRef, String)| {
        Field::new(name, field.data_type().clone(), true).with_metadata(field.metadata().clone())
    };
    Arc::new(Schema::new(schema.fields().iter().zip(unique).map(field).collect::<Vec<_>>()))
}

impl QueryResult {
    /// Starts a plan.
    pub(super) fn start(planned: Planned, settings: &Settings) -> Result<QueryResult> {
        let runtime = planned.threads.handle().clone();
        let _inside = runtime.enter();
        let count = planned.body.properties().partitioning.partition_count();
        let state = State {
            parts: (0..count).map(|_| Part::default()).collect(),
            skip: planned.skip,
            left: planned.fetch,
            threads: Some(planned.threads),
            plan: PlanText::Pending(planned.whole),
            ..State::default()
        };
        let inner = Arc::new(Inner {
            sql: planned.sql,
            tables: planned.tables,
            schema: planned.schema,
            task: planned.task,
            failed: planned.failed,
            begun: Instant::now(),
            most: settings.result,
            spool: Spool::new("the result of a query"),
            state: Mutex::new(state),
            changed: Condvar::new(),
            cache: Cache::new(KEPT),
        });
        let mut handles = Vec::with_capacity(count);
        for part in 0..count {
            let (inner, body, context) = (inner.clone(), planned.body.clone(), planned.context.clone());
            let work = async move {
                let result = AssertUnwindSafe(async {
                    let stream = body.execute(part, context)?;
                    inner.pump(part, stream).await
                });
                let result = result.catch_unwind().await.unwrap_or_else(|panic| {
                    let words = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
                    let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
                    Err(DataFusionError::External(Box::new(Error::malformed(format!(
                        "data that a query reads cannot be decoded: {words}"
                    )))))
                });
                let scope = Scope { sql: &inner.sql, schemas: &inner.tables };
                let failed = inner.failed.get();
                inner.finish(part, result.map_err(|error| of_work(&scope, error, failed)));
            };
            handles.push(runtime.spawn(work).abort_handle());
        }
        inner.state.lock().handles = handles;
        Ok(QueryResult { inner, guessed: planned.guessed, planning: planned.planning })
    }

    /// Waits for the end. A cancelled task ends the query. Passes the query's progress on.
    ///
    /// # Errors
    /// What went wrong in it; `Cancelled`.
    pub fn wait(&self, task: &Task) -> Result<()> {
        let (_, total) = self.inner.task.progress();
        task.set_total(total);
        let mut state = self.inner.state.lock();
        while state.ended.is_none() {
            if task.is_cancelled() {
                drop(state);
                self.cancel();
                return Err(Error::cancelled());
            }
            task.reached(self.inner.task.progress().0);
            self.inner.changed.wait_for(&mut state, LOOK);
        }
        state.outcome()
    }

    /// Waits until so many rows are there, or the end.
    ///
    /// # Errors
    /// As [`QueryResult::wait`].
    pub fn wait_for(&self, task: &Task, rows: u64) -> Result<()> {
        loop {
            let mut state = self.inner.state.lock();
            if state.ended.is_some() {
                return state.outcome();
            }
            if state.rows >= rows {
                return Ok(());
            }
            task.check()?;
            self.inner.changed.wait_for(&mut state, LOOK);
        }
    }

    /// Ends the query; the rows that are there stay.
    pub fn cancel(&self) {
        self.inner.stop(Some(Error::cancelled().into()));
    }

    /// Whether it has ended, and what went wrong.
    pub fn ended(&self) -> Option<Result<()>> {
        let state = self.inner.state.lock();
        state.ended.map(|_| state.outcome())
    }

    /// What went wrong, with the place of a mistake in the statement.
    pub fn failure(&self) -> Option<Failure> {
        self.inner.state.lock().failure.clone()
    }

    /// How long it took, or takes so far.
    pub fn elapsed(&self) -> Duration {
        let ended = self.inner.state.lock().ended;
        self.planning + ended.unwrap_or_else(|| self.inner.begun.elapsed())
    }

    /// How long planning took, and after what time the first rows were there.
    pub fn timing(&self) -> (Duration, Option<Duration>) {
        (self.planning, self.inner.state.lock().first.map(|first| first + self.planning))
    }

    /// Rows that were read so far, and all that are to be read (0 where that is not known).
    pub fn progress(&self) -> (u64, u64) {
        self.inner.task.progress()
    }

    /// The statement.
    pub fn sql(&self) -> &str {
        &self.inner.sql
    }

    /// The plan, a step a line, with what each step counted and how long it took.
    pub fn plan(&self) -> String {
        self.inner.state.lock().plan.words().0
    }

    /// The plan, a step each, the last one first: how many rows came out of it and how long it worked.
    pub fn steps(&self) -> Vec<Step> {
        self.inner.state.lock().plan.words().1
    }

    /// Whether it failed because guessed types of text columns did not hold; the next run has wider ones.
    pub(super) fn widen(&self) -> bool {
        let mut any = false;
        for (guesses, typed) in &self.guessed {
            let mut known = guesses.lock();
            for (column, mismatch) in typed.mismatches() {
                any |= known.get(&column).is_none_or(|old| old.wider != mismatch.wider);
                known.insert(column, mismatch);
            }
        }
        any
    }
}

impl Drop for QueryResult {
    fn drop(&mut self) {
        self.inner.stop(Some(Error::cancelled().into()));
    }
}

impl Table for QueryResult {
    fn schema(&self) -> &SchemaRef {
        &self.inner.schema
    }

    fn rows(&self) -> Rows {
        let state = self.inner.state.lock();
        match state.ended {
            Some(_) if state.failure.is_none() => Rows::Exact(state.rows),
            _ => Rows::AtLeast(state.rows),
        }
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        self.inner.read(task, rows, columns)
    }

    fn count(&self, task: &Task) -> Result<u64> {
        self.wait(task)?;
        Ok(self.inner.state.lock().rows)
    }

    fn scan_step(&self, at: u64) -> u64 {
        let state = self.inner.state.lock();
        let next = state.placed.partition_point(|placed| placed.first <= at);
        let end = state.placed.get(next).map_or(state.rows, |placed| placed.first);
        end.saturating_sub(at).max(1)
    }

    fn sample(&self, _task: &Task, most: u64) -> Result<Vec<Range<u64>>> {
        // Chunks that were decoded are kept, so one row costs as little as its neighbours.
        Ok(crate::data::content::sample::spread_over(self.rows().known(), most, most))
    }

    fn facts(&self) -> TableFacts {
        let mut facts = TableFacts::default();
        facts.details.push(("query".to_owned(), self.inner.sql.clone()));
        facts.details.push(("time".to_owned(), format!("{:.3} s", self.elapsed().as_secs_f64())));
        facts
    }
}

impl Inner {
    /// Takes what one part gives.
    async fn pump(
        self: &Arc<Self>,
        part: usize,
        mut stream: SendableRecordBatchStream,
    ) -> Result<(), DataFusionError> {
        let mut pending: Vec<RecordBatch> = Vec::new();
        let (mut rows, mut bytes, mut wanted) = (0usize, 0usize, 1usize);
        let mut since = Instant::now();
        loop {
            let next = match pending.is_empty() {
                true => Ok(stream.next().await),
                false => tokio::time::timeout(PATIENCE, stream.next()).await,
            };
            let ended = matches!(next, Ok(None));
            if let Ok(Some(next)) = next {
                let next = next?;
                if next.num_rows() > 0 {
                    if pending.is_empty() {
                        since = Instant::now();
                    }
                    rows += next.num_rows();
                    bytes += size_of(&next);
                    pending.push(next);
                }
            }
            let full = rows >= wanted || bytes >= BYTES || since.elapsed() >= PATIENCE || ended;
            if full && !pending.is_empty() {
                let more = self.keep(part, &pending).map_err(|e| DataFusionError::External(Box::new(e)))?;
                if !more {
                    return Ok(());
                }
                pending.clear();
                wanted = (wanted * 8).min(ROWS);
                (rows, bytes) = (0, 0);
            }
            if ended {
                return Ok(());
            }
        }
    }

    /// Keeps batches as one chunk; whether more are wanted.
    fn keep(&self, part: usize, batches: &[RecordBatch]) -> Result<bool> {
        let renamed: Vec<RecordBatch> = batches.iter().map(|b| self.renamed(b)).collect::<Result<_>>()?;
        let whole = concat_batches(&self.schema, &renamed)?;
        let rows = whole.num_rows() as u64;
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &self.schema)?;
        writer.write(&whole)?;
        writer.finish()?;
        drop(writer);
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return Ok(false);
        }
        let offset = self.spool.len();
        if offset.saturating_add(bytes.len() as u64) > self.most {
            return Err(Error::limit(format!(
                "the result takes more than {} on disk; ask for fewer rows or columns",
                crate::bytes::display::bytes(self.most)
            )));
        }
        // Written under the lock: offsets have to be in order, and a chunk visible only when it is whole.
        self.spool.push(&bytes)?;
        self.cache.put(offset, whole.clone(), size_of(&whole));
        let chunk = Chunk { offset, len: bytes.len() as u64, rows };
        if state.first.is_none() {
            state.first = Some(self.begun.elapsed());
        }
        if part == state.front {
            state.place(chunk)
        } else if let Some(part) = state.parts.get_mut(part) {
            part.waiting.push(chunk);
        }
        let enough = state.left == Some(0);
        drop(state);
        self.changed.notify_all();
        if enough {
            self.stop(None);
        }
        Ok(!enough)
    }

    /// A batch with the result's names; parts of texts that a filter left are copied out of their buffers.
    fn renamed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let lean = |array: &ArrayRef| -> ArrayRef {
            match array.data_type() {
                DataType::Utf8View => Arc::new(array.as_string_view().gc()),
                DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
                _ => array.clone(),
            }
        };
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().iter().map(lean).collect();
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    /// One part has ended.
    fn finish(&self, part: usize, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.stop(Some(failure));
            return;
        }
        let mut state = self.state.lock();
        if let Some(part) = state.parts.get_mut(part) {
            part.done = true;
        }
        while state.parts.get(state.front).is_some_and(|part| part.done) {
            state.front += 1;
            let front = state.front;
            let waiting = state.parts.get_mut(front).map(|part| std::mem::take(&mut part.waiting));
            waiting.into_iter().flatten().for_each(|chunk| state.place(chunk));
        }
        let all = state.front >= state.parts.len() || state.left == Some(0);
        drop(state);
        self.changed.notify_all();
        if all {
            self.stop(None);
        }
    }

    /// The end, for the first reason that there is.
    fn stop(&self, failure: Option<Failure>) {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return;
        }
        state.ended = Some(self.begun.elapsed());
        state.failure = failure;
        let handles = std::mem::take(&mut state.handles);
        let threads = state.threads.take();
        let (text, steps) = state.plan.words();
        let plan = std::mem::replace(&mut state.plan, PlanText::Text(text, steps));
        drop(state);
        self.task.cancel();
        handles.iter().for_each(AbortHandle::abort);
        self.changed.notify_all();
        // The rows that joins and sorts gathered go with their steps.
        drop((plan, threads));
    }

    fn read(&self, task: &Task, rows: Range<u64>, columns: &[usize]) -> Result<RecordBatch> {
        task.check()?;
        let (rows, placed) = {
            let state = self.state.lock();
            let rows = cut(&rows, state.rows);
            let first = state.placed.partition_point(|p| p.first + p.rows <= rows.start);
            let end = state.placed.partition_point(|p| p.first < rows.end);
            (rows.clone(), state.placed.get(first..end.max(first)).unwrap_or_default().to_vec())
        };
        let mut parts: Vec<Vec<ArrayRef>> = columns.iter().map(|_| Vec::new()).collect();
        for placed in &placed {
            task.check()?;
            let whole = self.chunk(&placed.chunk)?;
            let from = rows.start.max(placed.first) - placed.first;
            let to = rows.end.min(placed.first + placed.rows) - placed.first;
            for (part, &column) in parts.iter_mut().zip(columns) {
                let array = whole.columns().get(column);
                let array = array.ok_or_else(|| Error::bug(format!("column {column} was asked for")))?;
                part.push(array.slice((placed.from + from) as usize, (to.saturating_sub(from)) as usize));
            }
        }
        let one =
            |(parts, &column): (&Vec<ArrayRef>, &usize)| joined(parts, self.schema.field(column).data_type());
        let arrays = parts.iter().zip(columns).map(one).collect::<Result<_>>()?;
        batch(&self.schema, columns, arrays, (rows.end - rows.start) as usize)
    }

    /// A chunk, decoded.
    fn chunk(&self, chunk: &Chunk) -> Result<RecordBatch> {
        if let Some(known) = self.cache.get(&chunk.offset) {
            return Ok(known);
        }
        let mut bytes = vec![0; chunk.len as usize];
        if self.spool.read(chunk.offset, &mut bytes)? < bytes.len() {
            return Err(Error::bug("a part of a result is not there"));
        }
        let mut reader = StreamReader::try_new(bytes.as_slice(), None)?;
        let whole = reader.next().ok_or_else(|| Error::bug("a part of a result is empty"))??;
        self.cache.put(chunk.offset, whole.clone(), size_of(&whole));
        Ok(whole)
    }
}

impl State {
    /// What went wrong, if something did.
    fn outcome(&self) -> Result<()> {
        self.failure.clone().map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Makes a chunk visible, but for rows that are skipped and those beyond the limit.
    fn place(&mut self, chunk: Chunk) {
        let from = self.skip.min(chunk.rows);
        self.skip -= from;
        let mut rows = chunk.rows - from;
        if let Some(left) = &mut self.left {
            rows = rows.min(*left);
            *left -= rows;
        }
        if rows > 0 {
            self.placed.push(VisibleBatch { first: self.rows, from, rows, chunk });
            self.rows += rows;
        }
    }
}

/// The bytes that a batch's rows take.
fn size_of(batch: &RecordBatch) -> usize {
    let one =
        |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(array.get_array_memory_size());
    batch.columns().iter().map(one).sum()
}
