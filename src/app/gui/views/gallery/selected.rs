//! Which rows are selected: ranges of them, however many rows that are.

use std::ops::Range;

/// Rows, as ranges in order that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SelectedRows(Vec<Range<u64>>);

impl SelectedRows {
    /// These rows alone.
    pub(super) fn only(rows: Range<u64>) -> Self {
        SelectedRows(if rows.is_empty() { Vec::new() } else { vec![rows] })
    }

    pub(super) fn has(&self, row: u64) -> bool {
        let at = self.0.partition_point(|range| range.end <= row);
        self.0.get(at).is_some_and(|range| range.contains(&row))
    }

    /// How many rows.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All rows, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = u64> {
        self.0.iter().cloned().flatten()
    }

    /// Selects rows, besides those that are.
    pub(super) fn add(&mut self, rows: Range<u64>) {
        if rows.is_empty() {
            return;
        }
        self.0.push(rows);
        self.0.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(self.0.len());
        for range in self.0.drain(..) {
            match joined.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        self.0 = joined;
    }

    /// Selects a row, or not any more.
    pub(super) fn toggle(&mut self, row: u64) {
        if !self.has(row) {
            self.add(row..row + 1);
            return;
        }
        let cut = |range: Range<u64>| match range.contains(&row) {
            true => [range.start..row, row + 1..range.end],
            false => [range, 0..0],
        };
        self.0 = self.0.drain(..).flat_map(cut).filter(|range| !range.is_empty()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_and_part() {
        let mut rows = SelectedRows::only(10..20);
        rows.add(30..31);
        rows.add(15..25);
        assert_eq!((rows.0.clone(), rows.count()), (vec![10..25, 30..31], 16));
        rows.toggle(12);
        rows.toggle(30);
        rows.toggle(25);
        assert_eq!(rows.0, [10..12, 13..26]);
        assert!(rows.has(10) && !rows.has(12) && rows.has(25) && !rows.has(26));
        assert_eq!(rows.rows().take(4).collect::<Vec<_>>(), [10, 11, 13, 14]);
        assert!(SelectedRows::only(3..3).is_empty());
    }
}
