//! Where conditions may be handed down to the sources.
//!
//! DataFusion's physical push-down (55.2, `FilterRemapper`) finds the columns of a condition in the plan below by
//! their bare names. Below a join two columns can have one name, and a condition on one table then drops rows of
//! the other: `… FROM a RIGHT JOIN b … WHERE (a.s = 'x') IS NOT TRUE` with `b.s` in the result. So the rule is left
//! out where names stand twice; the engine asks each row all the same, only more of them are read.

use datafusion::common::DataFusionError;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::execution::context::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::ExecutionPlan;
use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The state with rules that are safe.
pub(super) fn guarded(state: SessionState) -> SessionState {
    let is_pushdown = |rule: &Rule| {
        let rule: &dyn Any = rule.as_ref();
        rule.is::<FilterPushdown>()
    };
    let rules = state.physical_optimizers().iter().map(|rule| match is_pushdown(rule) {
        true => Arc::new(Guarded(rule.clone())) as Rule,
        false => rule.clone(),
    });
    let rules = rules.collect();
    SessionStateBuilder::new_from_existing(state).with_physical_optimizer_rules(rules).build()
}

/// A rule that is not for plans with columns of one name.
#[derive(Debug)]
struct Guarded(Rule);

impl PhysicalOptimizerRule for Guarded {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        if has_duplicate_names(&plan)? { Ok(plan) } else { self.0.optimize(plan, config) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Whether a step of the plan has two columns of one name.
fn has_duplicate_names(plan: &Arc<dyn ExecutionPlan>) -> Result<bool, DataFusionError> {
    let mut found = false;
    plan.apply(|step| {
        let schema = step.schema();
        let mut names = HashSet::new();
        found = schema.fields().iter().any(|field| !names.insert(field.name()));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
