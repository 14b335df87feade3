//! Plain Parquet files through DataFusion's reader, which leaves out row groups and pages that a filter
//! cannot want, with our own bytes under it.

use super::provider::QueryTask;
use crate::bytes::task::Task;
use crate::formats::table::parquet::ParquetFile;
use arrow::datatypes::{Field, FieldRef, SchemaRef};
use bytes::Bytes;
use datafusion::common::stats::Precision;
use datafusion::common::{DataFusionError, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::parquet::{
    ParquetAccessPlan, ParquetFileReaderFactory, RowGroupAccess,
};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::RowNumber;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::basic::{LogicalType, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use std::ops::Range;
use std::sync::Arc;

/// The place that files have for the engine.
pub(super) fn store() -> ObjectStoreUrl {
    ObjectStoreUrl::parse("gander://tables").unwrap_or_else(|_| ObjectStoreUrl::local_filesystem())
}

/// The column of row numbers that the reader makes itself.
pub(super) fn row_number(name: &str) -> FieldRef {
    Arc::new(Field::new(name, arrow::datatypes::DataType::Int64, false).with_extension_type(RowNumber))
}

/// A file whose footer says nothing of floats: their statistics leave NaN out, which is greater than every
/// number here, so that parts that have it would be left out too.
pub(super) fn trusted(mut file: ParquetFile) -> ParquetFile {
    let metadata = file.metadata.metadata();
    let is_float = |column: &ColumnChunkMetaData| {
        let half = matches!(column.column_descr().logical_type_ref(), Some(LogicalType::Float16));
        matches!(column.column_type(), Type::FLOAT | Type::DOUBLE) || half
    };
    if !metadata.row_groups().iter().any(|group| group.columns().iter().any(is_float)) {
        return file;
    }
    let silent = |column: &ColumnChunkMetaData| match is_float(column) {
        true => {
            let builder = column.clone().into_builder().clear_statistics();
            builder.set_column_index_offset(None).set_column_index_length(None).build()
        }
        false => Ok(column.clone()),
    };
    let group = |group: &RowGroupMetaData| -> Result<RowGroupMetaData, ParquetError> {
        let columns = group.columns().iter().map(silent).collect::<Result<_, _>>()?;
        group.clone().into_builder().set_column_metadata(columns).build()
    };
    let made = || -> Result<ArrowReaderMetadata, ParquetError> {
        let groups = metadata.row_groups().iter().map(group).collect::<Result<_, _>>()?;
        let builder = metadata.as_ref().clone().into_builder().set_row_groups(groups);
        ArrowReaderMetadata::try_new(Arc::new(builder.build()), ArrowReaderOptions::new())
    };
    if let Ok(metadata) = made() {
        file.metadata = metadata;
    }
    file
}

/// The statistics of a footer.
pub(super) fn statistics(file: &ParquetFile, schema: &SchemaRef) -> Option<Statistics> {
    let metadata = file.metadata.metadata();
    let found = crate::bytes::guard::catch_decoder_panic("statistics", || {
        DFParquetMetadata::statistics_from_parquet_metadata(metadata, schema)
            .map_err(super::diagnostic::of_run)
    });
    let mut statistics = found.ok()?;
    for (column, field) in statistics.column_statistics.iter_mut().zip(schema.fields()) {
        if field.data_type().is_nested() {
            column.min_value = std::mem::take(&mut column.min_value).to_inexact();
            column.max_value = std::mem::take(&mut column.max_value).to_inexact();
        }
        column.distinct_count = Precision::Absent;
    }
    Some(statistics)
}

/// A scan of a file in `parts` parts of row groups that stand one behind the other.
pub(super) fn scan(
    file: &ParquetFile,
    schema: &SchemaRef,
    rows: Option<FieldRef>,
    projection: Option<&Vec<usize>>,
    limit: Option<usize>,
    parts: usize,
    task: &Task,
) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
    let table_schema =
        TableSchema::builder(schema.clone()).with_virtual_columns(rows.into_iter().collect::<Vec<_>>());
    let table_schema = table_schema.build();
    let with_rows = table_schema.virtual_columns().len();
    let factory = Arc::new(Files { file: file.clone(), task: task.clone() });
    let source = ParquetSource::new(table_schema)
        .with_parquet_file_reader_factory(factory)
        .with_pushdown_filters(true)
        .with_reorder_filters(true)
        .with_enable_page_index(true)
        .with_bloom_filter_on_read(true);
    let len = file.len;
    let group = |plan: ParquetAccessPlan| {
        FileGroup::new(vec![PartitionedFile::new("file", len).with_extension(plan)])
    };
    let groups = access(file.metadata.metadata(), parts).into_iter().map(group).collect();
    let mut config = FileScanConfigBuilder::new(store(), Arc::new(source))
        .with_file_groups(groups)
        .with_preserve_order(true)
        .with_limit(limit)
        .with_projection_indices(projection.cloned())?;
    if with_rows == 0
        && let Some(statistics) = statistics(file, schema)
    {
        config = config.with_statistics(statistics);
    }
    Ok(DataSourceExec::from_data_source(config.build()))
}

/// Which row groups each part reads: about as many rows each.
fn access(metadata: &ParquetMetaData, parts: usize) -> Vec<ParquetAccessPlan> {
    let groups = metadata.row_groups();
    let total: u64 = groups.iter().map(|g| g.num_rows().max(0) as u64).sum();
    let parts = parts.clamp(1, groups.len().max(1));
    let mut out = Vec::new();
    let (mut next, mut before) = (0usize, 0u64);
    for part in 0..parts {
        let mut plan = ParquetAccessPlan::new(vec![RowGroupAccess::Skip; groups.len()]);
        let until = total.saturating_mul(part as u64 + 1) / parts as u64;
        let mut any = false;
        while let Some(group) = groups.get(next) {
            // At least one group, and those that lie in this part by their middle.
            let rows = group.num_rows().max(0) as u64;
            if part + 1 < parts && any && before.saturating_add(rows / 2) >= until {
                break;
            }
            plan.scan(next);
            any = true;
            before = before.saturating_add(rows);
            next += 1;
        }
        if any {
            out.push(plan);
        }
    }
    if out.is_empty() {
        out.push(ParquetAccessPlan::new(Vec::new()));
    }
    out
}

/// Gives readers of one file.
struct Files {
    file: ParquetFile,
    task: Task,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.file.fmt(f)
    }
}

impl ParquetFileReaderFactory for Files {
    fn create_reader(
        &self,
        _partition: usize,
        _file: PartitionedFile,
        _hint: Option<usize>,
        _metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>, DataFusionError> {
        Ok(Box::new(Bytewise { file: self.file.clone(), task: self.task.clone() }))
    }
}

/// One reader: ranges of our source.
struct Bytewise {
    file: ParquetFile,
    task: Task,
}

impl Bytewise {
    fn read(&self, range: Range<u64>) -> Result<Bytes, ParquetError> {
        let outer = |e| ParquetError::External(Box::new(e));
        if range.end > self.file.len || range.start > range.end {
            return Err(ParquetError::General(format!("the bytes {range:?} are not in the file")));
        }
        self.file.source.read(&self.task, range).map_err(outer)
    }
}

impl AsyncFileReader for Bytewise {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes, ParquetError>> {
        let read = self.read(range);
        async move { read }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>, ParquetError>> {
        let metadata = self.file.metadata.metadata().clone();
        async move { Ok(metadata) }.boxed()
    }
}

/// The task of the query that runs in `context`.
pub(super) fn task_of(config: &datafusion::prelude::SessionConfig) -> Task {
    config.get_extension::<QueryTask>().map_or_else(Task::new, |task| task.0.clone())
}
