//! Windows that look at a task at each row.

use super::aggregate::watched_function;
use super::{Done, Watch, stopped};
use arrow::array::ArrayRef;
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{
    Expr, LimitEffect, LogicalPlan, PartitionEvaluator, WindowFunctionDefinition,
};
use datafusion::physical_expr::window::{StandardWindowExpr, StandardWindowFunctionExpr, WindowExpr};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A plan whose windows over aggregates look at the task. (Once they are steps, their filters cannot be asked for, so
/// they could not be put together anew.)
///
/// # Errors
/// What putting a plan together gives.
pub(in super::super) fn over_aggregates(plan: LogicalPlan, watch: &Watch) -> Done<LogicalPlan> {
    let exchange = |expression: Expr| {
        Ok(match expression {
            Expr::WindowFunction(mut window) => match &window.fun {
                WindowFunctionDefinition::AggregateUDF(function) => {
                    let function = watched_function(function, watch);
                    window.fun = WindowFunctionDefinition::AggregateUDF(function);
                    Transformed::yes(Expr::WindowFunction(window))
                }
                _ => Transformed::no(Expr::WindowFunction(window)),
            },
            other => Transformed::no(other),
        })
    };
    let step = |plan: LogicalPlan| plan.map_expressions(|expression| expression.transform_up(exchange));
    Ok(plan.transform_up_with_subqueries(step)?.data)
}

/// The windows of a step, which look at the task.
///
/// # Errors
/// What putting a window together gives.
pub(super) fn watched(windows: &[Arc<dyn WindowExpr>], watch: &Watch) -> Done<Vec<Arc<dyn WindowExpr>>> {
    windows.iter().map(|window| one(window, watch)).collect()
}

fn one(window: &Arc<dyn WindowExpr>, watch: &Watch) -> Done<Arc<dyn WindowExpr>> {
    let (by, order, frame) = (window.partition_by(), window.order_by(), window.get_window_frame().clone());
    if let Some(standard) = window.as_any().downcast_ref::<StandardWindowExpr>() {
        let inner = standard.get_standard_func_expr().clone();
        let function = Arc::new(Function { inner, watch: watch.clone() });
        return Ok(Arc::new(StandardWindowExpr::new(function, by, order, frame)));
    }
    Ok(window.clone())
}

/// A window function that makes watched evaluators.
struct Function {
    inner: Arc<dyn StandardWindowFunctionExpr>,
    watch: Watch,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl StandardWindowFunctionExpr for Function {
    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }

    fn field(&self) -> Done<FieldRef> {
        self.inner.field()
    }

    fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn evaluate_args(&self, batch: &RecordBatch) -> Done<Vec<ArrayRef>> {
        self.inner.evaluate_args(batch)
    }

    fn create_evaluator(&self) -> Done<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(Evaluator { inner: self.inner.create_evaluator()?, watch: self.watch.clone() }))
    }

    fn reverse_expr(&self) -> Option<Arc<dyn StandardWindowFunctionExpr>> {
        let inner = self.inner.reverse_expr()?;
        Some(Arc::new(Function { inner, watch: self.watch.clone() }))
    }

    fn get_result_ordering(&self, schema: &SchemaRef) -> Option<PhysicalSortExpr> {
        self.inner.get_result_ordering(schema)
    }

    fn limit_effect(&self) -> LimitEffect {
        self.inner.limit_effect()
    }
}

/// A window function at work.
struct Evaluator {
    inner: Box<dyn PartitionEvaluator>,
    watch: Watch,
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PartitionEvaluator for Evaluator {
    fn memoize(&mut self, state: &mut datafusion::logical_expr::window_state::WindowAggState) -> Done<()> {
        self.inner.memoize(state)
    }

    fn get_range(&self, row: usize, rows: usize) -> Done<Range<usize>> {
        self.inner.get_range(row, rows)
    }

    fn is_causal(&self) -> bool {
        self.inner.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Done<ArrayRef> {
        stopped(&self.watch)?;
        self.inner.evaluate_all(values, rows)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Done<ScalarValue> {
        stopped(&self.watch)?;
        self.inner.evaluate(values, range)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Done<ArrayRef> {
        stopped(&self.watch)?;
        self.inner.evaluate_all_with_rank(rows, ranks)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.inner.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.inner.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.inner.include_rank()
    }
}
