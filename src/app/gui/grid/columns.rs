//! Which columns stand where: order, hiding, freezing and widths.
//!
//! A *column* is the model's index, a *position* is the place on screen: the frozen columns first,
//! then the rest. Nothing here costs time per column and frame: without hidden, moved or frozen
//! columns positions are the columns themselves, and only resized columns have a stored width.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// The narrowest a column gets, in points.
pub(crate) const MIN_WIDTH: f32 = 32.0;
/// The widest.
pub(crate) const MAX_WIDTH: f32 = 1600.0;

/// The arrangement of the columns: what a session keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// Widths in points, of the columns that were resized.
    pub(crate) widths: BTreeMap<usize, f32>,
    /// The shown columns that do not stand in the frozen part, in order; `None`: all, as they come.
    pub(crate) order: Option<Vec<usize>>,
    /// The frozen columns, in order.
    pub(crate) frozen: Vec<usize>,
    /// The hidden columns.
    pub(crate) hidden: Vec<usize>,
    /// Long cells are wrapped into taller rows instead of cut.
    pub(crate) wrap: bool,
}

/// [`Layout`] with what is worked out from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    layout: Layout,
    count: usize,
    default_width: f32,
    /// Widths the model suggested, for models of few columns.
    suggested: Vec<f32>,
    /// The widths that show their longest known values, of the columns that need more than they have.
    full: BTreeMap<usize, f32>,
    /// The widths of columns on a grid of which this one is the next: they stay as they were.
    kept: BTreeMap<usize, f32>,
    /// The widths of columns that got some of the room that was left, and for how much room that was.
    grown: BTreeMap<usize, f32>,
    room: f32,
    /// Tells this arrangement from every other one.
    version: u64,
    /// For each position with a width of its own: the position, and how far all of them up to and
    /// with it exceed the default width together.
    excess: Vec<(usize, f64)>,
}

impl Columns {
    /// Takes the model's columns, if their number changed: `suggest` gives the usual width of each, and that which
    /// shows the longest value.
    pub(super) fn update(
        &mut self,
        count: usize,
        default_width: f32,
        suggest: impl Fn(usize) -> (f32, Option<f32>),
    ) {
        /// Up to here each column is asked for its width.
        const ASKED: usize = 4096;
        if count == self.count && default_width == self.default_width {
            return;
        }
        self.count = count;
        self.default_width = default_width;
        let asked = if count <= ASKED { count } else { 0 };
        let widths: Vec<(f32, Option<f32>)> = (0..asked).map(suggest).collect();
        self.suggested = widths.iter().map(|(usual, _)| *usual).collect();
        let longer = widths.iter().enumerate().filter_map(|(column, (usual, full))| {
            full.filter(|full| full > usual).map(|full| (column, full.min(MAX_WIDTH)))
        });
        self.full = longer.collect();
        self.room = f32::NAN;
        if count > 0 {
            self.check();
        }
        self.measure();
    }

    /// Gives room that no column takes to those whose values are longer than they are wide: all of it to one of
    /// them, else each the same, as far as it needs that. Called once a frame.
    pub(super) fn spread(&mut self, room: f32) {
        let room = room.floor();
        if room == self.room || self.suggested.is_empty() {
            return;
        }
        self.room = room;
        let was = std::mem::take(&mut self.grown);
        let total: f64 = (0..self.len()).map(|position| f64::from(self.width(position))).sum();
        let mut spare = (f64::from(room) - total).max(0.0) as f32;
        let free =
            |column: &usize| !self.layout.widths.contains_key(column) && !self.kept.contains_key(column);
        let mut needs: Vec<(f32, usize)> = (0..self.len())
            .filter_map(|position| self.column(position))
            .filter(free)
            .filter_map(|column| Some((self.full.get(&column)? - self.own_width(column), column)))
            .filter(|(need, _)| *need > 0.0)
            .collect();
        needs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = needs.len();
        for (need, column) in needs {
            let more = need.min(spare / left as f32).floor();
            (spare, left) = (spare - more, left - 1);
            let width = self.own_width(column) + more;
            if more > 0.0 {
                self.grown.insert(column, width);
            }
        }
        if self.grown != was {
            self.measure();
        }
    }

    /// Takes the widths of the grid before it.
    pub(super) fn keep(&mut self, widths: impl IntoIterator<Item = (usize, f32)>) {
        self.kept = widths.into_iter().collect();
        self.measure();
    }

    /// Lets the next [`Columns::update`] ask again.
    pub(super) fn forget_suggested(&mut self) {
        self.default_width = f32::NAN;
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn set_layout(&mut self, layout: Layout) {
        self.layout = layout;
        self.room = f32::NAN;
        if self.count > 0 {
            self.check();
        }
        self.measure();
    }

    pub(super) fn set_wrap(&mut self, wrap: bool) {
        self.layout.wrap = wrap;
    }

    /// Drops what names a column that does not exist or names one twice, and adds what is missing:
    /// a stored layout may belong to another version of the file.
    fn check(&mut self) {
        let count = self.count;
        let layout = &mut self.layout;
        let mut seen = HashSet::new();
        layout.frozen.retain(|&column| column < count && seen.insert(column));
        layout.hidden.retain(|&column| column < count && seen.insert(column));
        if let Some(order) = &mut layout.order {
            order.retain(|&column| column < count && seen.insert(column));
            order.extend((0..count).filter(|column| !seen.contains(column)));
        } else if !seen.is_empty() {
            layout.order = Some((0..count).filter(|column| !seen.contains(column)).collect());
        }
        layout.widths.retain(|&column, width| column < count && width.is_finite());
    }

    /// How many columns are shown.
    pub(super) fn len(&self) -> usize {
        match &self.layout.order {
            Some(order) if self.count > 0 => self.layout.frozen.len() + order.len(),
            _ => self.count,
        }
    }

    pub(super) fn frozen(&self) -> usize {
        self.layout.frozen.len()
    }

    pub(super) fn hidden(&self) -> usize {
        self.layout.hidden.len()
    }

    pub(super) fn is_frozen(&self, column: usize) -> bool {
        self.layout.frozen.contains(&column)
    }

    /// The model's column at a position.
    pub(super) fn column(&self, position: usize) -> Option<usize> {
        let frozen = self.layout.frozen.len();
        if position < frozen {
            return self.layout.frozen.get(position).copied();
        }
        match &self.layout.order {
            Some(order) => order.get(position - frozen).copied(),
            None => (position < self.count).then_some(position),
        }
    }

    /// Where a column stands, unless it is hidden.
    pub(super) fn position(&self, column: usize) -> Option<usize> {
        if let Some(place) = self.layout.frozen.iter().position(|&other| other == column) {
            return Some(place);
        }
        match &self.layout.order {
            Some(order) => {
                order.iter().position(|&other| other == column).map(|place| place + self.layout.frozen.len())
            }
            None => (column < self.count).then_some(column),
        }
    }

    pub(super) fn columns_at(&self, positions: Range<usize>) -> Vec<usize> {
        positions.filter_map(|position| self.column(position)).collect()
    }

    fn own_width(&self, column: usize) -> f32 {
        let set = || self.layout.widths.get(&column).or_else(|| self.kept.get(&column));
        let width = set().or_else(|| self.grown.get(&column)).or_else(|| self.suggested.get(column));
        width.copied().unwrap_or(self.default_width).clamp(MIN_WIDTH, MAX_WIDTH)
    }

    /// The width of the column at a position.
    pub(super) fn width(&self, position: usize) -> f32 {
        self.column(position).map_or(self.default_width, |column| self.own_width(column))
    }

    pub(super) fn set_width(&mut self, column: usize, width: f32) {
        self.layout.widths.insert(column, width.clamp(MIN_WIDTH, MAX_WIDTH));
        // What this one gives or takes, others take or give: but not while one looks at its edge.
        self.keep_grown();
        self.measure();
    }

    /// Columns that grew stay as wide as they are.
    fn keep_grown(&mut self) {
        let grown = std::mem::take(&mut self.grown);
        for (column, width) in grown {
            self.kept.entry(column).or_insert(width);
        }
    }

    /// The widths that were suggested or set, by column.
    pub(super) fn widths(&self) -> Vec<(usize, f32)> {
        (0..self.suggested.len()).map(|column| (column, self.own_width(column))).collect()
    }

    /// A number that tells this arrangement from every other one, of this grid or another.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Works out the prefix sums: over the few columns with a width of their own.
    fn measure(&mut self) {
        static VERSIONS: AtomicU64 = AtomicU64::new(1);
        self.version = VERSIONS.fetch_add(1, Ordering::Relaxed);
        let mut places: Vec<usize> = if self.suggested.is_empty() && self.layout.order.is_none() {
            self.layout.widths.keys().copied().collect()
        } else if self.suggested.is_empty() {
            // Many columns in an order of their own: one walk, on a change only.
            let widths = &self.layout.widths;
            (0..self.len())
                .filter(|&place| self.column(place).is_some_and(|column| widths.contains_key(&column)))
                .collect()
        } else {
            (0..self.len()).collect()
        };
        places.sort_unstable();
        let mut sum = 0.0;
        self.excess = places
            .into_iter()
            .map(|place| {
                sum += f64::from(self.width(place)) - f64::from(self.default_width);
                (place, sum)
            })
            .collect();
    }

    /// How far right of the first position a position begins, as if nothing were frozen.
    pub(super) fn offset(&self, position: usize) -> f64 {
        let before = self.excess.partition_point(|&(place, _)| place < position);
        let excess =
            before.checked_sub(1).and_then(|last| self.excess.get(last)).map_or(0.0, |&(_, sum)| sum);
        position as f64 * f64::from(self.default_width) + excess
    }

    /// The width of the frozen part.
    pub(super) fn frozen_width(&self) -> f32 {
        self.offset(self.frozen()) as f32
    }

    /// The position in the scrolling part at a distance from the beginning of that part.
    pub(super) fn position_at(&self, distance: f64) -> usize {
        let distance = distance.max(0.0) + self.offset(self.frozen());
        let (mut low, mut high) = (self.frozen(), self.len());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset(middle) <= distance { low = middle } else { high = middle }
        }
        low
    }

    /// The width of everything that scrolls.
    pub(super) fn scroll_width(&self) -> f64 {
        self.offset(self.len()) - self.offset(self.frozen())
    }

    /// Makes the order explicit.
    fn order_mut(&mut self) -> &mut Vec<usize> {
        let count = self.count;
        self.layout.order.get_or_insert_with(|| (0..count).collect())
    }

    /// Goes back to the implicit order if nothing speaks against it.
    fn simplify(&mut self) {
        let plain = self.layout.frozen.is_empty()
            && self.layout.hidden.is_empty()
            && self.layout.order.as_ref().is_some_and(|order| order.iter().copied().eq(0..self.count));
        if plain {
            self.layout.order = None;
        }
        self.measure();
    }

    pub(super) fn hide(&mut self, columns: &[usize]) {
        if self.count == 0 {
            // Said before the columns are known; checked as soon as they are.
            self.layout.hidden.extend(columns);
            return;
        }
        self.order_mut();
        let mut hidden: HashSet<usize> = self.layout.hidden.iter().copied().collect();
        let new = columns.iter().copied().filter(|&column| column < self.count && hidden.insert(column));
        self.layout.hidden.extend(new);
        self.layout.frozen.retain(|column| !hidden.contains(column));
        self.order_mut().retain(|column| !hidden.contains(column));
        self.simplify();
    }

    /// Shows every hidden column again, each before the next greater one that is shown.
    pub(super) fn show_all(&mut self) {
        let mut hidden = std::mem::take(&mut self.layout.hidden);
        hidden.sort_unstable();
        // The place before the first greater one moves on with each of them, so that one pass finds all.
        let mut shown = std::mem::take(self.order_mut()).into_iter().peekable();
        let mut order = Vec::with_capacity(self.count);
        for column in hidden {
            while let Some(before) = shown.next_if(|&other| other <= column) {
                order.push(before);
            }
            order.push(column);
        }
        order.extend(shown);
        *self.order_mut() = order;
        self.simplify();
    }

    pub(super) fn freeze(&mut self, column: usize) {
        if self.count == 0 {
            self.layout.frozen.push(column);
        } else if column < self.count && !self.is_frozen(column) {
            self.layout.hidden.retain(|&other| other != column);
            self.order_mut().retain(|&other| other != column);
            self.layout.frozen.push(column);
            self.measure();
        }
    }

    pub(super) fn unfreeze(&mut self, column: usize) {
        if self.is_frozen(column) {
            self.layout.frozen.retain(|&other| other != column);
            if self.count == 0 {
                return;
            }
            let order = self.order_mut();
            let place = order.iter().position(|&other| other > column).unwrap_or(order.len());
            order.insert(place, column);
            self.simplify();
        }
    }

    /// Moves the column at a position in front of what stands at another one (`len` for the end).
    /// Across the border of the frozen part it is frozen or set free.
    pub(super) fn move_to(&mut self, from: usize, before: usize) {
        let Some(column) = self.column(from) else { return };
        self.order_mut();
        let frozen = self.layout.frozen.len();
        let was_frozen = from < frozen;
        let target = if before > from { before - 1 } else { before };
        if was_frozen {
            self.layout.frozen.remove(from);
        } else {
            self.order_mut().remove(from - frozen);
        }
        let frozen = self.layout.frozen.len();
        let stays = if was_frozen { target <= frozen } else { before < frozen };
        if stays {
            self.layout.frozen.insert(target, column);
        } else {
            let order = self.order_mut();
            let place = target.saturating_sub(frozen).min(order.len());
            order.insert(place, column);
        }
        self.simplify();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(count: usize) -> Columns {
        let mut columns = Columns::default();
        columns.update(count, 100.0, |_| (100.0, None));
        columns
    }

    #[test]
    fn offsets_follow_resized_columns() {
        let mut columns = columns(100_000);
        columns.set_width(10, 150.0);
        columns.set_width(99_998, 40.0);
        assert_eq!(columns.offset(10), 1000.0);
        assert_eq!(columns.offset(11), 1150.0);
        assert_eq!(columns.offset(100_000), 10_000_000.0 + 50.0 - 60.0);
        assert_eq!(columns.position_at(1149.0), 10);
        assert_eq!(columns.position_at(1150.0), 11);
        assert_eq!(columns.position_at(1e12), 99_999);
    }

    #[test]
    fn room_that_is_left_goes_to_columns_with_long_values() {
        let mut columns = Columns::default();
        let full = [None, Some(120.0), Some(400.0), None];
        columns.update(4, 100.0, |column| (100.0, full[column]));
        let widths = |columns: &Columns| (0..4).map(|position| columns.width(position)).collect::<Vec<_>>();
        columns.spread(390.0);
        assert_eq!(widths(&columns), [100.0; 4], "there is none");
        columns.spread(520.0);
        assert_eq!(widths(&columns), [100.0, 120.0, 200.0, 100.0]);
        columns.spread(2000.0);
        assert_eq!(widths(&columns), [100.0, 120.0, 400.0, 100.0], "no more than they need");
        columns.spread(450.0);
        assert_eq!(widths(&columns), [100.0, 120.0, 130.0, 100.0]);
        columns.set_width(0, 40.0);
        columns.spread(700.0);
        assert_eq!(widths(&columns), [40.0, 120.0, 130.0, 100.0], "nothing moves after a hand");
        let mut next = Columns::default();
        next.keep(columns.widths());
        next.update(4, 100.0, |_| (60.0, Some(300.0)));
        next.spread(2000.0);
        assert_eq!(widths(&next), [40.0, 120.0, 130.0, 100.0], "and it stays so for other rows");
    }

    #[test]
    fn hiding_freezing_and_moving_keep_every_column_once() {
        let mut columns = columns(6);
        columns.hide(&[1, 4]);
        assert_eq!(columns.columns_at(0..columns.len()), [0, 2, 3, 5]);
        columns.freeze(3);
        assert_eq!(columns.columns_at(0..columns.len()), [3, 0, 2, 5]);
        columns.move_to(3, 1);
        assert_eq!(columns.columns_at(0..columns.len()), [3, 5, 0, 2]);
        assert_eq!(columns.frozen(), 1);
        columns.show_all();
        assert_eq!(columns.columns_at(0..columns.len()), [3, 1, 4, 5, 0, 2]);
        columns.move_to(5, 0);
        assert_eq!(columns.columns_at(0..columns.len()), [2, 3, 1, 4, 5, 0]);
        assert_eq!(columns.frozen(), 2);
        columns.move_to(0, 6);
        assert_eq!(columns.columns_at(0..columns.len()), [3, 1, 4, 5, 0, 2]);
        columns.unfreeze(3);
        assert_eq!(columns.position(3), Some(1));
        assert_eq!(columns.len(), 6);
    }

    #[test]
    fn half_of_a_hundred_thousand_columns_are_hidden_and_shown() {
        let mut columns = columns(100_000);
        columns.move_to(99_999, 0);
        let odd: Vec<usize> = (0..100_000).filter(|column| column % 2 == 1).collect();
        columns.hide(&odd);
        assert_eq!(columns.columns_at(0..4), [0, 2, 4, 6]);
        columns.show_all();
        assert_eq!((columns.hidden(), columns.columns_at(0..4)), (0, vec![0, 1, 2, 3]));
        columns.move_to(0, 4);
        columns.hide(&[2, 5]);
        assert_eq!(columns.columns_at(0..4), [1, 3, 0, 4]);
        columns.show_all();
        assert_eq!(columns.columns_at(0..6), [1, 2, 3, 0, 4, 5], "each before the next greater one");
    }

    #[test]
    fn a_layout_of_another_file_is_repaired() {
        let mut columns = columns(4);
        let layout = Layout {
            order: Some(vec![3, 9, 3]),
            frozen: vec![2, 2, 77],
            hidden: vec![0],
            ..Default::default()
        };
        columns.set_layout(layout);
        assert_eq!(columns.columns_at(0..columns.len()), [2, 3, 1]);
    }
}
