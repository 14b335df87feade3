//! Rows of one height in something that scrolls with more around them: only those in sight are drawn.

use egui::{Ui, vec2};

/// Rows that are drawn above and below what is in sight, so that the keyboard finds its way to them.
const MARGIN: usize = 2;

/// Draws those of `count` rows of `height` points that are in sight, and leaves room for the others.
pub(crate) fn ui(ui: &mut Ui, count: usize, height: f32, mut draw: impl FnMut(&mut Ui, usize)) {
    let between = ui.spacing().item_spacing.y;
    let step = height + between;
    let (top, sight) = (ui.cursor().top(), ui.clip_rect());
    let row = |y: f32| ((y - top) / step).max(0.0) as usize;
    let first = row(sight.top()).saturating_sub(MARGIN).min(count);
    let end = (row(sight.bottom()) + 1 + MARGIN).clamp(first, count);
    let room = |ui: &mut Ui, rows: usize| {
        if rows > 0 {
            ui.allocate_space(vec2(0.0, rows as f32 * step - between));
        }
    };
    room(ui, first);
    for row in first..end {
        ui.push_id(("row", row), |ui| draw(ui, row));
    }
    room(ui, count - end);
}

#[cfg(test)]
mod tests {
    use egui::{ScrollArea, Sense};
    use egui_kittest::Harness;

    use super::*;

    #[derive(Default)]
    struct Seen {
        drawn: Vec<usize>,
        height: f32,
        at: f32,
    }

    #[test]
    fn a_hundred_thousand_rows_are_scrolled_to_their_end() {
        let build = |outer: &mut Ui, seen: &mut Seen| {
            seen.drawn.clear();
            let area = ScrollArea::vertical().vertical_scroll_offset(seen.at);
            let shown = area.show(outer, |inner| {
                ui(inner, 100_000, 20.0, |ui, row| {
                    ui.allocate_exact_size(vec2(50.0, 20.0), Sense::hover());
                    seen.drawn.push(row);
                });
            });
            seen.height = shown.content_size.y;
        };
        let builder = Harness::builder().with_size(vec2(200.0, 400.0));
        let mut harness = builder.build_ui_state(build, Seen::default());
        harness.step();
        let all = harness.state().height;
        assert_eq!(harness.state().drawn[0], 0);
        for at in [0.0, 1e6, all] {
            harness.state_mut().at = at;
            harness.step();
            harness.step();
            let seen = harness.state();
            assert!(seen.drawn.len() < 30, "{} rows were drawn", seen.drawn.len());
            assert_eq!(seen.height, all, "nothing jumps");
        }
        assert_eq!(harness.state().drawn.last(), Some(&99_999));
    }
}
