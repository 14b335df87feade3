//! Filters at the end of a plan, which hand on what they find at once.
//!
//! The engine's own `FilterExec` gathers 8,192 rows before it hands them on: where a condition has few hits,
//! nothing would be seen before the last row was read. Small batches cost a join or a sort its speed, so only
//! filters whose rows go straight into the result are exchanged.

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{StreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// Whether a step hands on each batch as it comes.
fn streams(plan: &dyn ExecutionPlan) -> bool {
    plan.downcast_ref::<GlobalLimitExec>().is_some()
        || plan.downcast_ref::<LocalLimitExec>().is_some()
        || plan.downcast_ref::<CoalescePartitionsExec>().is_some()
        || plan.downcast_ref::<ProjectionExec>().is_some()
        || plan.downcast_ref::<CooperativeExec>().is_some()
}

/// The plan, with a filter at its end that does not wait.
///
/// # Errors
/// What putting a plan together gives.
pub(super) fn streamed(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Ok(Arc::new(StreamingFilter::new(filter.clone())));
    }
    match plan.children().as_slice() {
        [below] if streams(plan.as_ref()) => {
            let below = streamed((*below).clone())?;
            plan.replace_children(vec![below], ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        }
        _ => Ok(plan),
    }
}

/// A filter of the engine, run a batch at a time.
pub(super) struct StreamingFilter {
    filter: FilterExec,
    metrics: ExecutionPlanMetricsSet,
}

impl StreamingFilter {
    pub(super) fn new(filter: FilterExec) -> Self {
        StreamingFilter { filter, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The engine's own one.
    pub(super) fn filter(&self) -> &FilterExec {
        &self.filter
    }
}

/// A filter at work on one partition.
struct Filtering {
    filter: FilterExec,
    input: SendableRecordBatchStream,
    metrics: BaselineMetrics,
    /// Rows that are still wanted.
    left: usize,
}

impl Filtering {
    /// The hits of the next batch that has some.
    async fn next(&mut self) -> Result<Option<RecordBatch>, DataFusionError> {
        while self.left > 0
            && let Some(batch) = self.input.next().await.transpose()?
        {
            let timer = self.metrics.elapsed_compute().timer();
            let found = passed(&self.filter, &batch)?;
            timer.done();
            if found.num_rows() > 0 {
                let found = found.slice(0, found.num_rows().min(self.left));
                self.left -= found.num_rows();
                self.metrics.record_output(found.num_rows());
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The rows of a batch that a filter lets through.
fn passed(filter: &FilterExec, batch: &RecordBatch) -> Result<RecordBatch, DataFusionError> {
    let kept = filter.predicate().evaluate(batch)?.into_array(batch.num_rows())?;
    let Some(kept) = kept.as_any().downcast_ref::<BooleanArray>() else {
        return internal_err!("a condition is no boolean");
    };
    Ok(match filter.projection() {
        Some(columns) => filter_record_batch(&batch.project(columns)?, kept)?,
        None => filter_record_batch(batch, kept)?,
    })
}

impl fmt::Debug for StreamingFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filter.fmt(f)
    }
}

impl DisplayAs for StreamingFilter {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.filter.fmt_as(kind, f)
    }
}

impl ExecutionPlan for StreamingFilter {
    fn name(&self) -> &'static str {
        "FilterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.filter.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.filter.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion, DataFusionError>,
    ) -> Result<TreeNodeRecursion, DataFusionError> {
        self.filter.apply_expressions(f)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.filter.maintains_input_order()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        streamed(Arc::new(self.filter.clone()).replace_children(children, options)?)
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
        let filter = self.filter.clone();
        let input = filter.input().execute(partition, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let left = filter.fetch().unwrap_or(usize::MAX);
        let state = Filtering { filter, input, metrics, left };
        let rows =
            stream::try_unfold(state, async |mut state| Ok(state.next().await?.map(|found| (found, state))));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
