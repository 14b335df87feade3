//! Where a running query looks whether it was stopped.
//!
//! The engine's steps are asked for their next batch and look up only between batches. A step that makes few of
//! them out of many — a join on an inequality, a window, a sort that spills — works on for minutes after nobody
//! wants its result. So the finished plan is exchanged for one that looks up more often:
//!
//! - between any two steps, at each batch ([`Stoppable`]), where it also lets the other parts of the query have
//!   their turn;
//! - where a step evaluates an expression ([`expression`]): joins do that for each few thousand pairs, sorts for
//!   each batch that they merge; slow functions are evaluated a few rows at a time;
//! - where a window or an aggregate takes or gives a value ([`window`], [`aggregate`]).
//!
//! Nothing of the plan's shape, its order or its names changes, and what people see of it.

mod aggregate;
mod expression;
mod window;

pub(super) use window::over_aggregates;

use super::diagnostic::ExpressionError;
use super::streaming_filter::StreamingFilter;
use crate::bytes::error::Error;
use crate::bytes::task::Task;
use aggregate::{watched as watched_aggregate, with_slow as aggregate_with_slow};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, JoinType, Statistics};
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, PhysicalGroupBy};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use expression::{slow, watched};
use futures::{Stream, StreamExt};
use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

type Plan = Arc<dyn ExecutionPlan>;
type Done<T> = Result<T, DataFusionError>;

/// What a running plan looks at and leaves behind.
#[derive(Clone, Default)]
pub(super) struct Watch {
    pub(super) task: Task,
    /// The first expression that could not be computed. Readers hand on such an error as a text.
    pub(super) failed: Arc<OnceLock<ExpressionError>>,
}

/// What a step that was stopped gives.
fn stopped(watch: &Watch) -> Done<()> {
    match watch.task.is_cancelled() {
        true => Err(DataFusionError::External(Box::new(Error::cancelled()))),
        false => Ok(()),
    }
}

/// A finished plan that looks at its task all the time.
///
/// # Errors
/// What putting a plan together gives.
pub(super) fn stoppable(plan: &Plan, watch: &Watch) -> Done<Plan> {
    let properties = plan.properties().clone();
    let mut below =
        plan.children().into_iter().map(|child| stoppable(child, watch)).collect::<Done<Vec<_>>>()?;
    if plan.downcast_ref::<ScalarSubqueryExec>().is_some() {
        // Behind the first input stand the subqueries, which are to give one row each.
        for subquery in below.iter_mut().skip(1) {
            *subquery = Arc::new(Stoppable::new(subquery.clone(), watch, 1));
        }
    }
    let mut inner = plan.clone();
    if !below.is_empty() {
        inner = inner.replace_children(below, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))?;
    }
    let inner = with_expressions(&inner, watch)?.unwrap_or(inner);
    Ok(Arc::new(Stoppable { properties, ..Stoppable::new(inner, watch, usize::MAX) }))
}

/// A step with expressions that look up; none where it has no such.
fn with_expressions(plan: &Plan, watch: &Watch) -> Done<Option<Plan>> {
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let filter = join.filter().map(|filter| join_filter(filter, watch));
        let filter = filter.or_else(|| is_silent(join.join_type()).then(|| always(watch)));
        let built = NestedLoopJoinExecBuilder::from(join).with_filter(filter).build()?;
        return Ok(Some(Arc::new(built)));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return hash_join(join, watch).map(Some);
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return Ok(sorted(sort, watch));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Ok(filtered(filter, watch)?.map(|filter| Arc::new(filter) as Plan));
    }
    if let Some(sift) = plan.downcast_ref::<StreamingFilter>() {
        let filter = filtered(sift.filter(), watch)?;
        return Ok(filter.map(|filter| Arc::new(StreamingFilter::new(filter)) as Plan));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return projected(projection, watch);
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return aggregated(aggregate, watch);
    }
    if let Some(windows) = plan.downcast_ref::<BoundedWindowAggExec>() {
        let expressions = window::watched(windows.window_expr(), watch)?;
        let (input, order) = (windows.input().clone(), windows.input_order_mode.clone());
        let whole = !windows.partition_keys().is_empty();
        let made = BoundedWindowAggExec::try_new(expressions, input, order, whole)?;
        return Ok(Some(Arc::new(made)));
    }
    if let Some(windows) = plan.downcast_ref::<WindowAggExec>() {
        let expressions = window::watched(windows.window_expr(), watch)?;
        let whole = !windows.partition_keys().is_empty();
        return Ok(Some(Arc::new(WindowAggExec::try_new(expressions, windows.input().clone(), whole)?)));
    }
    if let Some(source) = plan.downcast_ref::<DataSourceExec>() {
        return Ok(scanned(source, watch));
    }
    Ok(None)
}

/// A join's condition, looked at for each batch of pairs.
fn join_filter(filter: &JoinFilter, watch: &Watch) -> JoinFilter {
    let expression = slow(filter.expression(), watch).unwrap_or_else(|| filter.expression().clone());
    JoinFilter::new(watched(expression, watch), filter.column_indices().to_vec(), filter.schema().clone())
}

/// Whether only the presence of partners counts: no pair is ever handed on, however many there are.
fn is_silent(join: &JoinType) -> bool {
    !matches!(join, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full)
}

/// A condition that always holds, and looks up for each batch of pairs.
fn always(watch: &Watch) -> JoinFilter {
    let always = datafusion::physical_expr::expressions::lit(true);
    let nothing = Arc::new(arrow::datatypes::Schema::empty());
    JoinFilter::new(watched(always, watch), Vec::new(), nothing)
}

fn hash_join(join: &HashJoinExec, watch: &Watch) -> Done<Plan> {
    // The keys of the side that is kept: they are evaluated for each of its batches while they are hashed. Those of
    // the other side may be conditions of a scan, which it has to understand.
    let on = join.on().iter().map(|(left, right)| (watched(left.clone(), watch), right.clone())).collect();
    let filter = match join.filter() {
        Some(filter) => Some(join_filter(filter, watch)),
        None if is_silent(join.join_type()) && !join.null_aware => Some(always(watch)),
        None => None,
    };
    join.builder().with_on(on).with_filter(filter).build_exec()
}

/// A sort whose keys look up while it merges. One of few rows works batch by batch, and a scan below may know its
/// keys.
fn sorted(sort: &SortExec, watch: &Watch) -> Option<Plan> {
    if sort.fetch().is_some() {
        return None;
    }
    let key = |key: &PhysicalSortExpr| {
        let expression = slow(&key.expr, watch).unwrap_or_else(|| key.expr.clone());
        PhysicalSortExpr::new(watched(expression, watch), key.options)
    };
    let keys = LexOrdering::new(sort.expr().iter().map(key))?;
    let made = SortExec::new(keys, sort.input().clone());
    Some(Arc::new(made.with_preserve_partitioning(sort.preserve_partitioning())))
}

fn filtered(filter: &FilterExec, watch: &Watch) -> Done<Option<FilterExec>> {
    let Some(predicate) = slow(filter.predicate(), watch) else { return Ok(None) };
    FilterExecBuilder::from(filter).with_predicate(predicate).build().map(Some)
}

fn projected(projection: &ProjectionExec, watch: &Watch) -> Done<Option<Plan>> {
    let mut any = false;
    let one = |one: &ProjectionExpr| {
        let found = slow(&one.expr, watch);
        any |= found.is_some();
        ProjectionExpr::new(found.unwrap_or_else(|| one.expr.clone()), one.alias.clone())
    };
    let expressions: Vec<ProjectionExpr> = projection.expr().iter().map(one).collect();
    if !any {
        return Ok(None);
    }
    let (input, schema) = (projection.input().clone(), projection.schema());
    let made = ProjectionExec::try_new_with_schema_metadata(expressions, input, &schema)?;
    Ok(Some(Arc::new(made)))
}

fn aggregated(aggregate: &AggregateExec, watch: &Watch) -> Done<Option<Plan>> {
    let mut functions = Vec::new();
    for function in aggregate.aggr_expr() {
        let slow = aggregate_with_slow(function, watch).map_or_else(|| function.clone(), Arc::new);
        // What keeps all groups in arrays is quick; the others are asked group by group.
        functions.push(match slow.groups_accumulator_supported() {
            true => slow,
            false => Arc::new(watched_aggregate(&slow, aggregate.input_schema(), watch)?),
        });
    }
    let groups = aggregate.group_expr();
    let group = |(expression, name): &(Arc<dyn PhysicalExpr>, String)| {
        (slow(expression, watch).unwrap_or_else(|| expression.clone()), name.clone())
    };
    let is_slow = groups.expr().iter().any(|(expression, _)| slow(expression, watch).is_some());
    let filter = |filter: &Option<Arc<dyn PhysicalExpr>>| {
        filter.as_ref().map(|filter| slow(filter, watch).unwrap_or_else(|| filter.clone()))
    };
    let filters: Vec<Option<Arc<dyn PhysicalExpr>>> = aggregate.filter_expr().iter().map(filter).collect();
    let is_slow = is_slow
        || aggregate.filter_expr().iter().flatten().any(|expression| slow(expression, watch).is_some());
    let limit = aggregate.limit_options();
    if !is_slow {
        return Ok(Some(Arc::new(aggregate.with_new_aggr_exprs(functions))));
    }
    let groups = PhysicalGroupBy::new(
        groups.expr().iter().map(group).collect(),
        groups.null_expr().to_vec(),
        groups.groups().to_vec(),
        groups.has_grouping_set(),
    );
    let (input, schema) = (aggregate.input().clone(), aggregate.input_schema());
    let made = AggregateExec::try_new(*aggregate.mode(), groups, functions, filters, input, schema)?;
    Ok(Some(Arc::new(made.with_limit_options(limit))))
}

/// A scan of a Parquet file whose conditions look up: it evaluates them for a whole row group at once.
fn scanned(source: &DataSourceExec, watch: &Watch) -> Option<Plan> {
    let (config, parquet) = source.downcast_to_file_source::<ParquetSource>()?;
    let schema = parquet.table_schema().table_schema();
    let predicate = expression::of_scan(&parquet.filter()?, watch, schema)?;
    let config: FileScanConfig = config.clone();
    let made = FileScanConfigBuilder::from(config).with_source(Arc::new(parquet.with_predicate(predicate)));
    Some(DataSourceExec::from_data_source(made.build()))
}

/// A step that looks up at each batch. For people and for the engine it is the step itself.
struct Stoppable {
    inner: Plan,
    properties: Arc<PlanProperties>,
    watch: Watch,
    /// The most rows that it may give.
    most: usize,
}

impl Stoppable {
    fn new(inner: Plan, watch: &Watch, most: usize) -> Self {
        Stoppable { properties: inner.properties().clone(), inner, watch: watch.clone(), most }
    }

    fn over(&self, inner: Plan) -> Plan {
        let properties = self.properties.clone();
        Arc::new(Stoppable { properties, ..Stoppable::new(inner, &self.watch, self.most) })
    }
}

impl fmt::Debug for Stoppable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl DisplayAs for Stoppable {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.inner.fmt_as(kind, f)
    }
}

impl ExecutionPlan for Stoppable {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.inner.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Plan> {
        self.inner.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Done<TreeNodeRecursion>,
    ) -> Done<TreeNodeRecursion> {
        self.inner.apply_expressions(f)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.inner.maintains_input_order()
    }

    fn replace_children(self: Arc<Self>, children: Vec<Plan>, options: ReplaceChildrenOptions) -> Done<Plan> {
        Ok(self.over(self.inner.clone().replace_children(children, options)?))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Done<Plan> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> Done<Plan> {
        Ok(self.over(self.inner.clone().reset_state()?))
    }

    fn with_new_state(&self, state: Arc<dyn Any + Send + Sync>) -> Option<Plan> {
        self.inner.with_new_state(state).map(|inner| self.over(inner))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Done<SendableRecordBatchStream> {
        stopped(&self.watch)?;
        let stream = self.inner.execute(partition, context)?;
        Ok(Box::pin(Watched { stream, watch: self.watch.clone(), left: self.most }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.inner.metrics()
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Done<Arc<Statistics>> {
        self.inner.statistics_from_inputs(inputs, args)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.inner.child_stats_requests(partition)
    }

    fn fetch(&self) -> Option<usize> {
        self.inner.fetch()
    }
}

/// The batches of a step.
struct Watched {
    stream: SendableRecordBatchStream,
    watch: Watch,
    /// How many rows may still come.
    left: usize,
}

impl Stream for Watched {
    type Item = Done<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Err(error) = stopped(&self.watch) {
            return Poll::Ready(Some(Err(error)));
        }
        // After so many batches the other parts of the query have their turn.
        let turn = ready!(tokio::task::coop::poll_proceed(context));
        let next = self.stream.poll_next_unpin(context);
        if let Poll::Ready(found) = &next {
            turn.made_progress();
            let rows = found.as_ref().and_then(|found| found.as_ref().ok()).map_or(0, RecordBatch::num_rows);
            match self.left.checked_sub(rows) {
                Some(left) => self.left = left,
                // The step above fails with them.
                None => drop(self.watch.failed.set(ExpressionError::many_rows())),
            }
        }
        next
    }
}

impl RecordBatchStream for Watched {
    fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }
}
