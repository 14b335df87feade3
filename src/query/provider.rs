//! Our tables as the engine's: parts of their rows read at the same time, only the columns that are
//! wanted, no more rows than are wanted, of files and row groups only those that a filter can want
//! ([`Pruning`]), exact counts where they are exact.

use super::names;
use super::pruning::Pruning;
use crate::bytes::error::{Error, Result};
use crate::bytes::task::Task;
use crate::data::content::table::batch;
use crate::data::content::{Rows, Table};
use crate::data::scan::{RowSteps, read_rows};
use crate::formats::table::parquet::ParquetFile;
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, DataFusionError, ScalarValue, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};
use parking_lot::Mutex;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Rows of the first read; each further one reads four times as many, up to a step of the table.
const FIRST: u64 = 8_192;
/// Batches that wait for the engine in each part.
const WAITING: usize = 2;
/// With a limit below this one part is enough.
const FEW: usize = 100_000;

/// The task of the running query, in the engine's settings.
pub(super) struct QueryTask(pub(super) Task);

/// A table's schema as statements see it: names that are different, types that the engine computes with,
/// every column nullable (files break the promise that none is).
pub(super) fn plain_schema(schema: &SchemaRef) -> SchemaRef {
    let names = names::unique(schema.fields().iter().map(|f| f.name().as_str()));
    let field = |(field, name): (&FieldRef, String)| {
        let mut metadata = field.metadata().clone();
        metadata.retain(|key, _| key.starts_with("ARROW:extension:"));
        Field::new(name, plain_type(field.data_type()), true).with_metadata(metadata)
    };
    Arc::new(Schema::new(schema.fields().iter().zip(names).map(field).collect::<Vec<_>>()))
}

/// The type that stands for one that the engine has no functions for.
fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::ListView(field) => DataType::List(field.clone()),
        DataType::LargeListView(field) => DataType::LargeList(field.clone()),
        other => other.clone(),
    }
}

/// A table for the engine.
pub(super) struct Provider {
    scan: Arc<Scan>,
    /// The schema of the table, and after it the column of row numbers, if there is one.
    schema: SchemaRef,
    parquet: Option<ParquetFile>,
    rows: Option<FieldRef>,
    threads: usize,
}

impl Provider {
    /// A table, with a further column of its rows' numbers where that gets a name.
    pub(super) fn with_rows(table: Arc<dyn Table>, threads: usize, rows: Option<&str>) -> Self {
        let schema = plain_schema(table.schema());
        let same = |(a, b): (&FieldRef, &FieldRef)| a.name() == b.name() && a.data_type() == b.data_type();
        let plain = schema.fields().iter().zip(table.schema().fields()).all(same);
        let parquet =
            table.native().filter(|_| plain).and_then(|native| native.downcast::<ParquetFile>().ok());
        let parquet = parquet.map(|file| super::parquet::trusted(*file));
        let rows = rows.map(super::parquet::row_number);
        let full = match &rows {
            Some(field) => {
                let fields = schema.fields().iter().cloned().chain([field.clone()]);
                Arc::new(Schema::new(fields.collect::<Vec<_>>()))
            }
            None => schema.clone(),
        };
        let scan = Arc::new(Scan { table, schema, full: full.clone() });
        Provider { scan, schema: full, parquet, rows, threads: threads.max(1) }
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table of {} rows", self.scan.table.rows())
    }
}

#[async_trait]
impl TableProvider for Provider {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Filters say what need not be read; each row is asked by the engine all the same.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>, DataFusionError> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let few = limit.is_some_and(|limit| limit <= FEW);
        let parts = if few { 1 } else { self.threads };
        if let Some(file) = &self.parquet {
            let task = super::parquet::task_of(state.config());
            let (schema, rows) = (&self.scan.schema, self.rows.clone());
            return super::parquet::scan(file, schema, rows, projection, limit, parts, &task);
        }
        let all = || (0..self.schema.fields().len()).collect();
        let columns = projection.cloned().unwrap_or_else(all);
        let own = self.scan.schema.fields().len();
        let pruning = Pruning::new(state, &self.schema, own, filters).map(Arc::new);
        // Row numbers are those of the whole table.
        let narrowed = pruning.as_ref().filter(|_| self.rows.is_none());
        let scan = match narrowed.and_then(|pruning| pruning.narrowed(self.scan.table.as_ref())) {
            Some(table) => {
                Arc::new(Scan { table, schema: self.scan.schema.clone(), full: self.scan.full.clone() })
            }
            None => self.scan.clone(),
        };
        Ok(Arc::new(ScanExec::new(scan, pruning, columns, parts, limit)?))
    }
}

/// A table to be scanned.
struct Scan {
    table: Arc<dyn Table>,
    schema: SchemaRef,
    full: SchemaRef,
}

/// The rows that each part of a scan reads.
type Places = Arc<[Vec<Range<u64>>]>;

impl Scan {
    /// The rows of `parts` parts. Counts the rows where that was not done.
    fn places(&self, task: &Task, pruning: Option<&Pruning>, parts: usize) -> Result<Places> {
        let table = self.table.as_ref();
        if let Some(pruning) = pruning
            && let Some(ranges) = crate::bytes::guard::guarded(|| pruning.ranges(task, table))?
        {
            return Ok(divided(&ranges, parts));
        }
        let total = table.rows().exact().map_or_else(|| table.count(task), Ok)?;
        Ok(split(table, total, parts)
            .array_windows()
            .map(|[start, end]| std::iter::once(*start..*end).collect())
            .collect())
    }

    /// Reads some rows and hands batches to `each`, until it says no; whether it never did.
    fn run(
        &self,
        task: &Task,
        rows: Range<u64>,
        columns: &[usize],
        size: usize,
        each: &mut dyn FnMut(RecordBatch) -> bool,
    ) -> Result<bool> {
        let own: Vec<usize> = columns.iter().copied().filter(|&c| c < self.schema.fields().len()).collect();
        let mut steps = RowSteps::new(self.table.as_ref(), rows).at_most(FIRST);
        while let Some(step) = steps.next() {
            task.check()?;
            let table = self.table.as_ref();
            let read = crate::bytes::guard::guarded(|| read_rows(table, task, step.clone(), &own))?;
            let count = read.num_rows();
            let whole = self.assembled(&read, columns, step.start)?;
            let mut from = 0;
            while from < count {
                let len = size.min(count - from);
                if !each(whole.slice(from, len)) {
                    return Ok(false);
                }
                from += len;
            }
            task.advance(step.end - step.start)?;
            steps.most = steps.most.saturating_mul(4);
        }
        Ok(true)
    }

    /// A batch as the engine wants it: types that it computes with, row numbers where they are asked for.
    fn assembled(&self, read: &RecordBatch, columns: &[usize], first: u64) -> Result<RecordBatch> {
        let count = read.num_rows();
        let mut own = read.columns().iter();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
        for &column in columns {
            if column >= self.schema.fields().len() {
                let first = first as i64;
                arrays.push(Arc::new(Int64Array::from_iter_values(first..first + count as i64)));
                continue;
            }
            let array = own.next().ok_or_else(|| Error::bug("a batch without one of its columns"))?;
            let wanted = self.schema.field(column).data_type();
            arrays.push(match array.data_type() == wanted {
                true => array.clone(),
                false => arrow::compute::cast(array, wanted)?,
            });
        }
        batch(&self.full, columns, arrays, count)
    }
}

/// Ranges of rows in `parts` parts of about as many rows.
fn divided(ranges: &[Range<u64>], parts: usize) -> Places {
    let total: u64 = ranges.iter().map(|rows| rows.end - rows.start).sum();
    let parts = parts.max(1);
    let each = total.div_ceil(parts as u64).max(FIRST);
    let mut places: Vec<Vec<Range<u64>>> = Vec::with_capacity(parts);
    let (mut part, mut taken) = (Vec::new(), 0);
    for rows in ranges {
        let mut at = rows.start;
        while at < rows.end {
            if taken == each && places.len() + 1 < parts {
                places.push(std::mem::take(&mut part));
                taken = 0;
            }
            let most = if places.len() + 1 < parts { each - taken } else { u64::MAX };
            let end = at.saturating_add(most).min(rows.end);
            part.push(at..end);
            taken += end - at;
            at = end;
        }
    }
    places.push(part);
    places.resize(parts, Vec::new());
    places.into()
}

/// Begins of `parts` parts of about as many rows, at steps of the table where it has enough of them.
fn split(table: &dyn Table, total: u64, parts: usize) -> Arc<[u64]> {
    let parts = parts.max(1) as u64;
    let even = |part: u64| (u128::from(total) * u128::from(part) / u128::from(parts)) as u64;
    let mut starts = vec![0];
    for part in 1..parts {
        let (wanted, last) = (even(part), starts.last().copied().unwrap_or(0));
        let step = table.scan_step(wanted).max(1);
        // Steps are aligned for most tables; where they are not, a begin between them only costs a little.
        let aligned = wanted - wanted % step;
        starts.push(if aligned > last && step * 4 <= total / parts { aligned } else { wanted.max(last) });
    }
    starts.push(total);
    starts.into()
}

/// One scan in a plan.
#[derive(Clone)]
struct ScanExec {
    scan: Arc<Scan>,
    pruning: Option<Arc<Pruning>>,
    columns: Vec<usize>,
    parts: usize,
    limit: Option<usize>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    /// The rows of each part; the first part that asks finds them.
    places: Arc<Mutex<Option<Result<Places>>>>,
}

impl ScanExec {
    fn new(
        scan: Arc<Scan>,
        pruning: Option<Arc<Pruning>>,
        columns: Vec<usize>,
        parts: usize,
        limit: Option<usize>,
    ) -> Result<Self, DataFusionError> {
        let schema = Arc::new(scan.full.project(&columns)?);
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(parts),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Ok(ScanExec { scan, pruning, columns, parts, limit, schema, properties, places: Arc::default() })
    }

    /// The rows of one part. With a limit, and where that many rows are known, nothing is counted.
    fn rows(&self, task: &Task, part: usize) -> Result<Vec<Range<u64>>> {
        let known = match self.scan.table.rows() {
            Rows::Exact(n) | Rows::AtLeast(n) | Rows::About { known: n, .. } => n,
        };
        if let Some(limit) = self.limit.map(|limit| limit as u64)
            && self.parts == 1
            && self.pruning.is_none()
            && limit <= known
        {
            return Ok(std::iter::once(0..limit).collect());
        }
        let mut places = self.places.lock();
        let found = match &*places {
            Some(found) => found.clone(),
            None => {
                let found = self.scan.places(task, self.pruning.as_deref(), self.parts);
                // What was cancelled may be asked again.
                if !matches!(&found, Err(error) if error.is_cancelled()) {
                    *places = Some(found.clone());
                }
                found
            }
        }?;
        let mut rows = found.get(part).cloned().ok_or_else(|| Error::bug("a part that is not there"))?;
        let mut left = self.limit.map_or(u64::MAX, |limit| limit as u64);
        for range in &mut rows {
            range.end = range.end.min(range.start.saturating_add(left));
            left -= range.end - range.start;
        }
        Ok(rows)
    }
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scan of {:?}", self.columns)
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let names: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let rows = self.scan.table.rows();
        write!(f, "TableScan: rows={rows}, columns=[{}], parts={}", names.join(", "), self.parts)?;
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        if let Some(pruning) = &self.pruning {
            write!(f, ", only where {}", pruning.words())?;
        }
        Ok(())
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "TableScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion, DataFusionError>,
    ) -> Result<TreeNodeRecursion, DataFusionError> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        if children.is_empty() { Ok(self) } else { internal_err!("a table has no inputs") }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream, DataFusionError> {
        let task = super::parquet::task_of(context.session_config());
        let size = context.session_config().batch_size();
        let mut builder = RecordBatchReceiverStream::builder(self.schema.clone(), WAITING);
        let sender = builder.tx();
        let exec = self.clone();
        builder.spawn_blocking(move || {
            let external = |error: Error| DataFusionError::External(Box::new(error));
            let rows = exec.rows(&task, partition).map_err(external)?;
            let mut each = |batch| sender.blocking_send(Ok(batch)).is_ok();
            for rows in rows {
                if !exec.scan.run(&task, rows, &exec.columns, size, &mut each).map_err(external)? {
                    break;
                }
            }
            Ok(())
        });
        Ok(builder.build())
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>, DataFusionError> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        if args.partition().is_some() {
            return Ok(Arc::new(statistics));
        }
        let limit = |n: u64| self.limit.map_or(n, |limit| n.min(limit as u64)) as usize;
        statistics.num_rows = match self.scan.table.rows() {
            Rows::Exact(n) => Precision::Exact(limit(n)),
            other => Precision::Inexact(limit(other.number())),
        };
        if self.limit.is_none() && self.scan.table.rows().exact().is_some() {
            for (known, &column) in statistics.column_statistics.iter_mut().zip(&self.columns) {
                if let Some(stored) = self.stored(column) {
                    *known = stored;
                }
            }
        }
        // What a filter rules out is not read.
        Ok(Arc::new(if self.pruning.is_some() { statistics.to_inexact() } else { statistics }))
    }

    fn supports_limit_pushdown(&self) -> bool {
        false
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let parts = if limit.is_some_and(|limit| limit <= FEW) { 1 } else { self.parts };
        // A plan above may count on the parts that there are.
        let parts = if self.parts == 1 { 1 } else { parts.max(self.parts) };
        let (scan, pruning) = (self.scan.clone(), self.pruning.clone());
        let exec = ScanExec::new(scan, pruning, self.columns.clone(), parts, limit).ok()?;
        Some(Arc::new(exec))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}

impl ScanExec {
    /// What the file itself says of a column's nulls and, for integers, of its ends.
    fn stored(&self, column: usize) -> Option<ColumnStatistics> {
        let field = self.scan.schema.fields().get(column)?;
        let found = self.scan.table.statistics(column)?;
        let mut known = ColumnStatistics::new_unknown();
        known.null_count = found.null_count().map_or(Precision::Absent, |n| Precision::Exact(n as usize));
        if field.data_type().is_integer() && found.exact && found.min.data_type() == field.data_type() {
            let value = |end: &ArrayRef| {
                let value = ScalarValue::try_from_array(end, 0).ok().filter(|value| !value.is_null());
                value.map_or(Precision::Absent, Precision::Exact)
            };
            (known.min_value, known.max_value) = (value(&found.min), value(&found.max));
        }
        Some(known)
    }
}
