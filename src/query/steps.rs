//! The steps of a plan, for people: what each does, how many rows came out of it, how long it worked.

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use std::sync::Arc;
use std::time::Duration;

/// The most levels that are told.
const DEEP: usize = 200;

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How far below the step that gives the result it stands.
    pub depth: usize,
    /// What it does: `HashJoin`, `Sort`.
    pub name: String,
    /// With what, in the engine's words.
    pub details: String,
    /// Rows that came out of it so far, where it counts them.
    pub rows: Option<u64>,
    /// How long it worked, on all threads together, without the steps below.
    pub time: Option<Duration>,
    /// Bytes that went to temporary files.
    pub spilled: u64,
}

/// All steps of a plan, each before those that feed it.
pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Vec<Step> {
    let mut out = Vec::new();
    walk(plan, 0, &mut out);
    out
}

fn walk(plan: &Arc<dyn ExecutionPlan>, depth: usize, out: &mut Vec<Step>) {
    if depth > DEEP {
        return;
    }
    let metrics = plan.metrics();
    let line = DisplayableExecutionPlan::new(plan.as_ref()).one_line().to_string();
    let name = plan.name();
    let details = line.trim().strip_prefix(name).unwrap_or(&line).trim_start_matches(':').trim();
    let time = metrics.as_ref().and_then(|m| m.elapsed_compute()).map(|n| Duration::from_nanos(n as u64));
    out.push(Step {
        depth,
        name: name.strip_suffix("Exec").unwrap_or(name).to_owned(),
        details: details.to_owned(),
        rows: metrics.as_ref().and_then(|m| m.output_rows()).map(|n| n as u64),
        time,
        spilled: metrics.as_ref().and_then(|m| m.spilled_bytes()).unwrap_or(0) as u64,
    });
    plan.children().into_iter().for_each(|child| walk(child, depth + 1, out));
}
