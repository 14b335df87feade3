//! From a statement to a plan that can run.

use super::catalog::TypeOverrides;
use super::diagnostic::{ExpressionError, Failure, Scope, of_planner};
use super::provider::{Provider, QueryTask};
use super::spill::SpillFolder;
use super::statement::{Bound, Parsed, parse};
use super::stop::Watch;
use super::threads::Threads;
use super::{Engine, STACK};
use crate::bytes::error::{Error, Result};
use crate::bytes::guard::guarded;
use crate::bytes::task::Task;
use crate::data::adapt::Typed;
use crate::data::content::Table;
use arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, TableReference};
use datafusion::execution::TaskContext;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::object_store::memory::InMemory;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, ExecutionPlan, ExecutionPlanProperties, ReplaceChildrenOptions,
};
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement as Planable;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A plan with what it needs to run.
pub(super) struct Planned {
    pub(super) sql: String,
    /// The columns of the tables that it reads.
    pub(super) tables: Vec<SchemaRef>,
    pub(super) schema: SchemaRef,
    /// The whole plan, to be shown.
    pub(super) whole: Arc<dyn ExecutionPlan>,
    /// The part of it whose partitions, one after the other, are the result but for `skip` and `fetch`.
    pub(super) body: Arc<dyn ExecutionPlan>,
    pub(super) skip: u64,
    pub(super) fetch: Option<u64>,
    pub(super) context: Arc<TaskContext>,
    pub(super) threads: Threads,
    /// Cancels all reading of this query.
    pub(super) task: Task,
    /// The first expression that could not be computed.
    pub(super) failed: Arc<OnceLock<ExpressionError>>,
    pub(super) guessed: Vec<(TypeOverrides, Arc<Typed>)>,
    pub(super) planning: Duration,
}

/// The one table of a statement, which calls it `table`.
#[derive(Clone, Copy)]
pub(super) struct Only<'a> {
    pub(super) table: &'a Arc<dyn Table>,
    /// The name of a further column with the numbers of its rows.
    pub(super) row: Option<&'static str>,
}

/// Parses and plans, on a thread with a stack for deep expressions. With `only`, the statement is over that
/// table alone.
pub(super) fn prepare(
    engine: &Engine,
    task: &Task,
    sql: &str,
    only: Option<Only<'_>>,
) -> Result<Planned, Failure> {
    std::thread::scope(|scope| {
        let work = || guarded(|| Ok(prepare_here(engine, task, sql, only)));
        let thread = std::thread::Builder::new().name("plan".to_owned()).stack_size(4 * STACK);
        let thread = thread
            .spawn_scoped(scope, work)
            .map_err(|error| Error::io(format!("no thread for planning: {error}")))?;
        match thread.join() {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Error::bug("planning ended without a result").into()),
        }
    })
}

fn prepare_here(engine: &Engine, task: &Task, sql: &str, only: Option<Only<'_>>) -> Result<Planned, Failure> {
    let begun = Instant::now();
    let Parsed { statement, tables } = parse(engine, task, sql, only.map(|only| only.table))?;
    let watch = Watch::default();
    let inner = watch.task.clone();
    let spill = SpillFolder::create()?;
    let session = session(engine, &inner, spill.path())?;
    let mut total = 0u64;
    let mut guessed = Vec::new();
    let schemas: Vec<SchemaRef> = tables.iter().map(|bound| bound.table.schema().clone()).collect();
    let scope = Scope { sql, schemas: &schemas };
    for bound in tables {
        total = total.saturating_add(bound.table.rows().number());
        let Bound { name, table, typed, entry } = bound;
        if let (Some(entry), Some(typed)) = (entry, typed) {
            guessed.push((entry.type_overrides, typed));
        }
        let row = only.and_then(|only| only.row);
        let provider = Provider::with_rows(table, engine.settings.threads, row);
        session
            .register_table(TableReference::bare(name), Arc::new(provider))
            .map_err(|error| of_planner(&scope, &session.state(), error))?;
    }
    inner.set_total(total);
    let plan = async {
        let state = session.state();
        let logical = state.statement_to_plan(Planable::Statement(Box::new(statement))).await?;
        let reading =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        reading.verify_plan(&logical)?;
        let logical = super::stop::over_aggregates(state.optimize(&logical)?, &watch)?;
        let physical = state.query_planner().create_physical_plan(&logical, &state).await?;
        let physical = super::streaming_filter::streamed(limited_last(physical)?)?;
        let physical = super::stop::stoppable(&physical, &watch)?;
        Ok::<_, DataFusionError>((physical, state.task_ctx()))
    };
    let threads = Threads::start(engine.settings.threads, spill)?;
    let (whole, context) =
        threads.handle().block_on(plan).map_err(|error| of_planner(&scope, &session.state(), error))?;
    task.check()?;
    let (body, skip, fetch) = peeled(&whole);
    let schema = super::result::result_schema(&whole.schema());
    let planning = begun.elapsed();
    let sql = sql.to_owned();
    Ok(Planned {
        sql,
        tables: schemas,
        schema,
        whole,
        body,
        skip,
        fetch,
        context,
        threads,
        task: inner,
        failed: watch.failed,
        guessed,
        planning,
    })
}

/// The plan with its limit above its last projection, where partitions are put together below that: [`peeled`]
/// finds both then.
fn limited_last(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
    let children = plan.children();
    let limit = children.first().copied().filter(|_| plan.downcast_ref::<ProjectionExec>().is_some());
    let Some(limit) = limit.filter(|limit| limit.downcast_ref::<GlobalLimitExec>().is_some()) else {
        return Ok(plan);
    };
    let Some(parts) = limit.children().first().map(|parts| Arc::clone(parts)) else { return Ok(plan) };
    let Some(together) = parts.downcast_ref::<CoalescePartitionsExec>() else { return Ok(plan) };
    let over = |plan: &Arc<dyn ExecutionPlan>, below| {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        plan.clone().replace_children(vec![below], options)
    };
    let limit = limit.clone();
    over(&limit, over(&parts, over(&plan, together.input().clone())?)?)
}

/// The part of a plan whose partitions stand one behind the other in the result, and how many rows of them
/// are skipped and taken. The rows of a table keep their order so.
fn peeled(plan: &Arc<dyn ExecutionPlan>) -> (Arc<dyn ExecutionPlan>, u64, Option<u64>) {
    let (mut body, mut skip, mut fetch) = (plan.clone(), 0u64, None);
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        (skip, fetch) = (limit.skip() as u64, limit.fetch().map(|n| n as u64));
        body = limit.input().clone();
    }
    let inner = body.downcast_ref::<CoalescePartitionsExec>().map(|c| (c.input().clone(), c.fetch()));
    if let Some((input, most)) = inner {
        let most = most.map(|n| (n as u64).saturating_sub(skip));
        fetch = match (fetch, most) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        body = input;
    } else if body.output_partitioning().partition_count() != 1 {
        return (plan.clone(), 0, None);
    }
    (body, skip, fetch)
}

fn session(engine: &Engine, task: &Task, spill: &Path) -> Result<SessionContext> {
    let environment = environment(engine, spill).map_err(super::diagnostic::of_run)?;
    let mut config = SessionConfig::new()
        .with_target_partitions(engine.settings.threads)
        .with_extension(Arc::new(QueryTask(task.clone())));
    let options = config.options_mut();
    // Names keep their case: `names` has settled it.
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.collect_spans = true;
    options.sql_parser.map_string_types_to_utf8view = false;
    options.sql_parser.default_null_ordering = "nulls_last".to_owned();
    // Sources come in as many ordered parts as there are threads; rows stay in the order of their table.
    options.optimizer.enable_round_robin_repartition = false;
    options.optimizer.repartition_file_scans = false;
    options.execution.parquet.pushdown_filters = true;
    options.execution.parquet.reorder_filters = true;
    options.execution.parquet.schema_force_view_types = false;
    options.explain.show_sizes = false;
    // What each sort keeps back for merging its temporary files, in proportion to the memory.
    options.execution.sort_spill_reservation_bytes = (engine.settings.memory / 16).min(10 << 20);
    let state = SessionContext::new_with_config_rt(config, environment).state();
    let session = SessionContext::new_with_state(super::pushdown_guard::guarded(state));
    session.register_udf(super::cell_text::function());
    Ok(session)
}

/// Memory from the engine's pool, temporary files in the folder of this query.
fn environment(engine: &Engine, spill: &Path) -> Result<Arc<RuntimeEnv>, DataFusionError> {
    let folder = DiskManagerMode::Directories(vec![spill.to_owned()]);
    let disk =
        DiskManagerBuilder::default().with_mode(folder).with_max_temp_directory_size(engine.settings.spill);
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(engine.pool.clone())
        .with_disk_manager_builder(disk)
        .build_arc()?;
    // Files come through our own sources; the engine only wants a store to be there.
    environment.register_object_store(super::parquet::store().as_ref(), Arc::new(InMemory::new()));
    Ok(environment)
}

/// The names of all functions, sorted.
pub(super) fn functions() -> Vec<String> {
    let state = SessionContext::new().state();
    let scalar = state.scalar_functions().keys();
    let all = scalar.chain(state.aggregate_functions().keys()).chain(state.window_functions().keys());
    let mut names: Vec<String> = all.cloned().chain([super::cell_text::NAME.to_owned()]).collect();
    names.sort();
    names.dedup();
    names
}
