//! What the status bar says of a selection: count, nulls, sum, mean, min and max of its numbers.

use std::ops::Range;
use std::sync::Arc;

use gander::bytes::display::{self, computed_number};
use gander::data::content::Table;
use gander::data::stats::{SelectionStats, Total, selection};
use gander::jobs::{JobSpec, Jobs, Slot};

/// A selection of more cells is only counted.
const CELLS: u64 = 20_000_000;

/// The sums of the newest selection.
#[derive(Default)]
pub(super) struct SelectionStatistics(Slot<(Range<u64>, Arc<Vec<usize>>), SelectionStats>);

impl SelectionStatistics {
    /// Words for the selection, once they are there; never waits.
    pub(super) fn words(
        &self,
        jobs: &Jobs,
        table: &Arc<dyn Table>,
        rows: Range<u64>,
        columns: Arc<Vec<usize>>,
    ) -> Option<String> {
        let cells = rows.end.saturating_sub(rows.start).saturating_mul(columns.len() as u64);
        let selected = selected(&rows, columns.len());
        if cells < 2 {
            return None;
        }
        if cells > CELLS {
            return Some(format!("{selected} selected"));
        }
        let (table, key) = (table.clone(), (rows, columns));
        let wanted = key.clone();
        let shown = self.0.get(jobs, &key, JobSpec::scan("sums of the selection"), move |task| {
            selection(&*table, task, wanted.0, &wanted.1)
        });
        match (shown.ready(), shown.error) {
            (Some(sum), _) => Some(format!("{selected} · {}", words(&sum))),
            (None, Some(error)) if !error.is_cancelled() => Some(format!("{selected} · {}", error.message())),
            (None, _) => Some(format!("{selected} selected")),
        }
    }
}

/// How many cells a selection has, in words.
pub(super) fn selected(rows: &Range<u64>, columns: usize) -> String {
    let rows = rows.end.saturating_sub(rows.start);
    if columns == 1 {
        return display::plural(rows, "cell");
    }
    format!("{} × {}", display::plural(rows, "row"), display::plural(columns as u64, "column"))
}

fn words(stats: &SelectionStats) -> String {
    let number = |total: Total| match total {
        Total::Exact(value) => value.to_string(),
        Total::Float(value) => computed_number(value),
    };
    let nulls = (stats.nulls > 0).then(|| format!("{} null", display::count(stats.nulls)));
    let sum = stats.sum.map(|sum| format!("sum {}", number(sum)));
    let mean = stats.mean().map(|mean| format!("mean {}", number(mean)));
    let min = stats.min.as_ref().map(|min| format!("min {min}"));
    let max = stats.max.as_ref().map(|max| format!("max {max}"));
    let words: Vec<String> = [nulls, sum, mean, min, max].into_iter().flatten().collect();
    if words.is_empty() { "no numbers".to_owned() } else { words.join(" · ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_in_words() {
        let stats = SelectionStats {
            nulls: 2,
            numbers: 4,
            sum: Some(Total::Exact(10)),
            min: Some("1".to_owned()),
            max: Some("4".to_owned()),
            ..SelectionStats::default()
        };
        assert_eq!(words(&stats), "2 null · sum 10 · mean 2.5 · min 1 · max 4");
        let third =
            SelectionStats { numbers: 3, sum: Some(Total::Float(0.1 + 0.2)), ..SelectionStats::default() };
        assert_eq!(words(&third), "sum 0.3 · mean 0.1");
        assert_eq!(words(&SelectionStats::default()), "no numbers");
        assert_eq!(
            (selected(&(3..4), 1), selected(&(0..2), 3)),
            ("1 cell".into(), "2 rows × 3 columns".into())
        );
    }
}
