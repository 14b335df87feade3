//! Aggregates that look at a task at each value that they take or give: a window asks one for every row, over all
//! rows before it, and one that has no arrays for its groups is asked group by group.

use super::expression::slow;
use super::{Done, Watch, stopped};
use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{AggregateFunctionParams, WindowFunctionParams};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The aggregate with arguments that are evaluated a few rows at a time; none where they are quick.
pub(super) fn with_slow(function: &AggregateFunctionExpr, watch: &Watch) -> Option<AggregateFunctionExpr> {
    let all = function.all_expressions();
    let is_slow = all.args.iter().chain(&all.order_by_exprs).any(|part| slow(part, watch).is_some());
    if !is_slow || function.is_reversed() {
        return None;
    }
    let exchanged = |parts: Vec<Arc<dyn PhysicalExpr>>| {
        parts.into_iter().map(|part| slow(&part, watch).unwrap_or(part)).collect()
    };
    function.with_new_expressions(exchanged(all.args), exchanged(all.order_by_exprs))
}

/// The same aggregate, over a table with this schema, which looks at the task.
///
/// # Errors
/// What putting an aggregate together gives.
pub(super) fn watched(
    function: &AggregateFunctionExpr,
    schema: SchemaRef,
    watch: &Watch,
) -> Done<AggregateFunctionExpr> {
    let watched = watched_function(&Arc::new(function.fun().clone()), watch);
    AggregateExprBuilder::new(watched, function.expressions())
        .alias(function.name())
        .schema(schema)
        .order_by(function.order_bys().to_vec())
        .with_distinct(function.is_distinct())
        .with_ignore_nulls(function.ignore_nulls())
        .with_reversed(function.is_reversed())
        .build()
}

/// The same function, whose accumulators look at the task.
pub(super) fn watched_function(function: &Arc<AggregateUDF>, watch: &Watch) -> Arc<AggregateUDF> {
    let inner = function.inner().clone();
    Arc::new(AggregateUDF::new_from_impl(Watched { inner, watch: watch.clone() }))
}

/// A function that makes watched accumulators.
struct Watched {
    inner: Arc<dyn AggregateUDFImpl>,
    watch: Watch,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        self.inner.dyn_eq(other.inner.as_ref())
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.dyn_hash(state);
    }
}

impl Watched {
    fn over(&self, inner: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        Box::new(OneGroup { inner, watch: self.watch.clone() })
    }
}

impl AggregateUDFImpl for Watched {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Done<String> {
        self.inner.schema_name(params)
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> Done<String> {
        self.inner.human_display(params)
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Done<String> {
        self.inner.window_function_schema_name(params)
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> Done<String> {
        self.inner.display_name(params)
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> Done<String> {
        self.inner.window_function_display_name(params)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Done<DataType> {
        self.inner.return_type(types)
    }

    fn return_field(&self, fields: &[FieldRef]) -> Done<FieldRef> {
        self.inner.return_field(fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Done<Box<dyn Accumulator>> {
        Ok(self.over(self.inner.accumulator(args)?))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Done<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Done<Box<dyn GroupsAccumulator>> {
        let inner = self.inner.create_groups_accumulator(args)?;
        Ok(Box::new(Groups { inner, watch: self.watch.clone() }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Done<Box<dyn Accumulator>> {
        Ok(self.over(self.inner.create_sliding_accumulator(args)?))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_expr() {
            ReversedUDAF::Reversed(function) => {
                ReversedUDAF::Reversed(watched_function(&function, &self.watch))
            }
            other => other,
        }
    }

    fn coerce_types(&self, types: &[DataType]) -> Done<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn default_value(&self, data_type: &DataType) -> Done<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.set_monotonicity(data_type)
    }
}

/// The accumulator of one group or window.
struct OneGroup {
    inner: Box<dyn Accumulator>,
    watch: Watch,
}

impl fmt::Debug for OneGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Accumulator for OneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Done<()> {
        stopped(&self.watch)?;
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Done<ScalarValue> {
        stopped(&self.watch)?;
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Done<Vec<ScalarValue>> {
        stopped(&self.watch)?;
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Done<()> {
        stopped(&self.watch)?;
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Done<()> {
        stopped(&self.watch)?;
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// The accumulator of all groups.
struct Groups {
    inner: Box<dyn GroupsAccumulator>,
    watch: Watch,
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Done<()> {
        stopped(&self.watch)?;
        self.inner.update_batch(values, groups, filter, total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Done<ArrayRef> {
        stopped(&self.watch)?;
        self.inner.evaluate(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Done<Vec<ArrayRef>> {
        stopped(&self.watch)?;
        self.inner.state(emit)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Done<()> {
        stopped(&self.watch)?;
        self.inner.merge_batch(values, groups, total)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Done<Vec<ArrayRef>> {
        self.inner.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}
