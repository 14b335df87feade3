//! Fields that are painted behind the bytes, and the legend that names them.

use std::ops::Range;

use egui::{Color32, Rect, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use crate::gui::theme::{self, Theme, size, space};

/// The height of the legend.
pub(super) const LEGEND: f32 = 26.0;
/// The side of its squares.
const SQUARE: f32 = 10.0;

/// What a field is to the value that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// The unit that holds it.
    Unit,
    /// Other bytes that it is made of.
    Part,
    /// The value itself.
    Value,
}

/// A field that is painted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Its bytes.
    pub(crate) range: Range<u64>,
    /// What it is.
    name: String,
    paint: Paint,
}

impl Mark {
    /// The bytes `range`, which are called `name`.
    pub(crate) fn new(range: Range<u64>, name: String, paint: Paint) -> Self {
        Mark { range, name, paint }
    }

    fn color(&self, theme: &Theme) -> Color32 {
        match self.paint {
            Paint::Unit => theme.tint(theme.accent),
            Paint::Part => theme.tint(theme.good),
            Paint::Value => theme.found(),
        }
    }

    /// The words in the legend, where so many fields have this name.
    fn words(&self, count: usize) -> String {
        match count {
            1 => format!("{}: bytes {} to {}", self.name, self.range.start, self.range.end),
            _ => format!("{}: from byte {} on, {count} places", self.name, self.range.start),
        }
    }
}

/// The bytes to go to first: of the value, else of its unit.
pub(super) fn first(marks: &[Mark]) -> Option<Range<u64>> {
    let value = marks.iter().find(|mark| mark.paint == Paint::Value);
    value.or(marks.first()).map(|mark| mark.range.clone())
}

/// The background of a byte; what is nearest to the value lies on top.
pub(super) fn color(marks: &[Mark], byte: u64, theme: &Theme) -> Option<Color32> {
    let of = |paint: Paint| marks.iter().find(|mark| mark.paint == paint && mark.range.contains(&byte));
    let mark = of(Paint::Value).or_else(|| of(Paint::Part)).or_else(|| of(Paint::Unit));
    mark.map(|mark| mark.color(theme))
}

/// Draws the legend; the place that was chosen in it.
pub(super) fn legend(ui: &mut Ui, place: Rect, marks: &[Mark]) -> Option<Range<u64>> {
    let theme = Theme::of(ui);
    ui.painter().rect_filled(place, 0.0, theme.bg1);
    ui.painter().hline(place.x_range(), place.top(), theme.hairline());
    let mut chosen = None;
    let mut x = place.left() + space::S3;
    for (n, mark) in marks.iter().enumerate() {
        // Those that are called alike are named once.
        let is_same = |other: &&Mark| other.name == mark.name && other.paint == mark.paint;
        if marks.iter().take(n).any(|other| is_same(&other)) {
            continue;
        }
        let words = mark.words(marks.iter().filter(is_same).count());
        let text = ui.painter().layout_no_wrap(words.clone(), theme::small_font(), theme.text);
        let width = SQUARE + space::S1 + text.size().x;
        let entry = Rect::from_min_size(pos2(x, place.top() + 1.0), vec2(width, place.height() - 1.0));
        let response = ui.interact(entry, ui.scope_id().with(("legend", n)), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &words));
        let middle = entry.center().y;
        let square = Rect::from_center_size(pos2(x + SQUARE / 2.0, middle), vec2(SQUARE, SQUARE));
        ui.painter().rect_filled(square, size::CORNER, mark.color(theme));
        let at = pos2(square.right() + space::S1, middle - text.size().y / 2.0);
        ui.painter().with_clip_rect(place).galley(at, text, theme.text);
        if response.clicked() {
            chosen = Some(mark.range.clone());
        }
        x = entry.right() + space::S3;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use gander::bytes::source::Source;

    use super::super::HexView;
    use super::*;

    #[test]
    fn the_value_is_painted_over_its_unit() {
        let theme = Theme::of_context(&egui::Context::default());
        let marks = [
            Mark::new(10..30, "record row 0".to_owned(), Paint::Unit),
            Mark::new(20..24, "value".to_owned(), Paint::Value),
        ];
        assert_eq!(first(&marks), Some(20..24));
        assert_eq!(color(&marks, 20, theme), Some(theme.found()));
        assert_eq!(color(&marks, 24, theme), Some(theme.tint(theme.accent)));
        assert_eq!(color(&marks, 30, theme), None);
        assert_ne!(theme.found(), theme.tint(theme.accent));
    }

    #[test]
    fn what_was_gone_to_stays_in_sight_where_rows_become_narrow() {
        let mut view = HexView::new("x", Source::memory("x", vec![0u8; 5000]));
        view.paint(vec![Mark::new(1241..1242, "value".to_owned(), Paint::Value)]);
        for across in [8, 16, 8] {
            view.set_row(across);
            let (top, at) = (view.list.top(), 1241 / across);
            assert!((top..top + 8).contains(&at), "{at} is not in the eight rows from {top} on");
        }
    }
}
