//! One cursor for all modes: the element that is framed in one is framed in the next; the way to an element, and to the
//! next value that is no number or stands for nothing.

use gander::data::content::array::Scaling;
use gander::data::numbers::NonFinite;
use gander::data::plane::{NonFiniteSearch, SearchFrom, Sought};

use super::super::{Action, ViewCx};
use super::search::Ended;
use super::{ArrayView, Mode};

impl ArrayView {
    /// The element that this mode frames, by its full index.
    pub(super) fn framed(&self) -> Option<Vec<u64>> {
        let slice = self.slice();
        let place = match self.mode {
            Mode::Heat => self.heat.cursor().map(|[column, row]| [row, column]),
            Mode::Image => self.image.cursor().map(|[column, row]| [row, column]),
            Mode::Numbers => self.numbers.cursor(&slice),
            Mode::Line => self.lines.marked(&slice),
            Mode::Volume => {
                let shape = self.mapping.shape();
                return Some((0..shape.len()).map(|axis| self.mapping.position(axis)).collect());
            }
            Mode::Histogram => None,
        };
        let [row, column] = place?;
        (row < slice.height() && column < slice.width()).then(|| slice.index(row, column))
    }

    /// Another mode frames the element that the last one did, where it stands.
    pub(super) fn carry_cursor(&mut self) {
        if std::mem::replace(&mut self.framed_in, self.mode) == self.mode {
            return;
        }
        self.frame_cursor();
    }

    /// Frames the element of the cursor in this mode.
    pub(super) fn frame_cursor(&mut self) {
        let Some(index) = self.cursor.clone() else { return };
        if self.mode == Mode::Volume {
            self.crossed = true;
            index.iter().enumerate().for_each(|(axis, &at)| self.mapping.set_position(axis, at));
            return;
        }
        // Whoever went on with a slider meanwhile stays there.
        let Some([row, column]) = self.mapping.clone().reveal(&index, self.is_image()) else { return };
        let slice = self.slice();
        if row >= slice.height() || column >= slice.width() {
            return;
        }
        match self.mode {
            Mode::Heat => self.heat.mark(row, column),
            Mode::Image => self.image.mark(row, column),
            Mode::Numbers => self.numbers.mark(&slice, row, column),
            Mode::Line => self.lines.show_mark(&slice, row, column),
            Mode::Histogram | Mode::Volume => {}
        }
    }

    /// Keeps what is framed for the next mode.
    pub(super) fn keep_cursor(&mut self) {
        if let Some(index) = self.framed() {
            self.cursor = Some(index);
        }
    }

    /// The stored values that stand for nothing, where they are seen as they are stored.
    pub(super) fn missing(&self) -> Option<Sought> {
        let scaling = self.field_view.scaling.as_ref().filter(|_| self.field_view.stored);
        let marks = |scaling: &&Scaling| !scaling.fill.is_empty() || scaling.valid.is_some();
        scaling.filter(marks).cloned().map(Sought::Missing)
    }

    /// Goes to the next such value: in this slice, then in the others. False where elements are no numbers.
    pub(super) fn next(&mut self, kind: Sought, forward: bool) -> bool {
        if !self.drawable() {
            return false;
        }
        let slice = self.mapping.slice(false);
        let more = self.mapping.others(false).iter().any(|&axis| self.mapping.shape()[axis] > 1);
        let part = self.choice.part;
        let listed = match &kind {
            Sought::NonFinite(kind) if self.mode == Mode::Heat => {
                self.heat.summary(&slice, part).filter(|summary| summary.lists(*kind)).map(|_| *kind)
            }
            _ => None,
        };
        let from = match (listed, self.framed()) {
            (Some(kind), _) if self.heat.next_non_finite(&slice, part, kind, forward, !more) || !more => {
                return true;
            }
            (Some(_), _) => SearchFrom::Nothing,
            // More than are kept, or nothing is known yet.
            (None, Some(index)) => match self.mapping.clone().reveal(&index, false) {
                Some([row, column]) => SearchFrom::Place(row, column),
                None => SearchFrom::All,
            },
            (None, None) => SearchFrom::All,
        };
        let mapping = self.mapping.clone();
        self.search.start(NonFiniteSearch { mapping, part, kind, forward, from });
        true
    }

    /// Whether values may be no numbers, or infinite.
    pub(super) fn may_be_non_finite(&self) -> bool {
        use gander::data::dtype::DType;
        let dtype = self.array.dtype();
        dtype.is_float() || dtype.is_complex() || matches!(dtype, DType::DateTime(_) | DType::TimeDelta(_))
    }

    /// What can be looked for in these values.
    pub(super) fn sought(&self) -> Vec<Sought> {
        let mut all = Vec::new();
        if self.may_be_non_finite() {
            all.extend(NonFinite::ALL.map(Sought::from));
        }
        all.extend(self.missing());
        all
    }

    /// Goes where a search ended.
    pub(super) fn end_search(&mut self, cx: &mut ViewCx<'_>) {
        let array = self.array.clone();
        match self.search.poll(cx.jobs, &array, &self.name) {
            Some(Ended::Found(index)) => _ = self.go_to(&index),
            Some(Ended::Nothing(words)) => cx.actions.push(Action::Notice(words)),
            Some(Ended::Failed(error)) if !error.is_cancelled() => {
                cx.actions.push(Action::Notice(format!("The search ended early: {error}")));
            }
            Some(Ended::Failed(_)) | None => {}
        }
    }

    /// Shows the element at this full index.
    pub(super) fn go_to(&mut self, index: &[u64]) -> bool {
        let image = self.is_image();
        let Some([row, column]) = self.mapping.reveal(index, image) else { return false };
        self.show_place(row, column);
        true
    }

    fn show_place(&mut self, row: u64, column: u64) {
        let slice = self.slice();
        match self.mode {
            Mode::Heat | Mode::Histogram => {
                self.mode = Mode::Heat;
                self.framed_in = Mode::Heat;
                self.heat.go_to(row, column);
            }
            Mode::Image => self.image.go_to(row, column),
            Mode::Line => self.lines.go_to(row, column),
            Mode::Volume => {
                for (axis, at) in [(slice.rows, row), (slice.columns, column)] {
                    let index = slice.along(axis, at);
                    axis.into_iter().for_each(|axis| self.mapping.set_position(axis, index));
                }
                self.crossed = true;
            }
            Mode::Numbers => self.numbers.go_to(&slice, row, column),
        }
    }

    /// `17`: a row; `3, 17`: an element of the slice; as many numbers as axes: an element; `[2:5, :]`: a slice.
    pub(super) fn go_to_text(&mut self, text: &str) -> bool {
        if text.trim().starts_with('[') && text.contains(':') {
            return self.mapping.parse(text).is_ok();
        }
        let text = text.trim().trim_start_matches([':', '[']).trim_end_matches(']');
        let numbers: Option<Vec<u64>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
        let (Some(numbers), slice) = (numbers, self.slice()) else { return false };
        if numbers.len() == self.array.shape().len() {
            return self.go_to(&numbers);
        }
        let (row, column) = match numbers[..] {
            [row] => (row, 0),
            [row, column] => (row, column),
            _ => return false,
        };
        let inside = row < slice.height() && column < slice.width();
        if inside {
            self.show_place(row, column);
        }
        inside
    }
}
