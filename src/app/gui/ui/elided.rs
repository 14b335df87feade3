//! Text on one line that ends in `…` where it does not fit.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align2, Color32, FontId, Galley, Painter, Pos2, Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2,
};

use crate::gui::theme::{self, Theme, body_font, mono_font, size, space};

/// The least width in points: of what has no more room there is only a `…`.
const LEAST: f32 = 8.0;

/// Lays a text out on one line of at most `width` points. However long the text is, only as much of it is looked at
/// as could fit.
pub(crate) fn elided(painter: &Painter, text: &str, font: FontId, color: Color32, width: f32) -> Arc<Galley> {
    let width = width.max(LEAST);
    // No character is narrower than a point on average, so that one more than fits is enough to be cut.
    let most = width as usize + 2;
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let mut job = LayoutJob::simple_singleline(text[..end].to_owned(), font, color);
    job.wrap = TextWrapping::truncate_at_width(width);
    painter.layout_job(job)
}

/// Paints a text on one line of at most `width` points; `anchor` is the point of the line that stands at `at`. Gives
/// the rectangle of what was painted.
pub(crate) fn paint_elided(
    painter: &Painter,
    at: Pos2,
    anchor: Align2,
    text: &str,
    font: FontId,
    color: Color32,
    width: f32,
) -> Rect {
    let galley = elided(painter, text, font, color, width);
    let rect = anchor.anchor_size(at, galley.size());
    painter.galley(rect.min, galley, color);
    rect
}

/// A row of the inspector: what it is on the left, the value on the right, cut if it is too long;
/// the tool tip shows all of it and a click copies it.
pub(crate) fn key_value(ui: &mut Ui, key: &str, value: &str) -> Response {
    let theme = Theme::of(ui);
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), size::ROW - 2.0), Sense::click());
    let spoken = format!("{key}: {value}");
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
    if response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect.expand2(vec2(space::S1, 0.0)), size::CORNER, theme.bg3);
    }
    let key_width = (rect.width() * 0.6).max(rect.width() - 200.0);
    let key_galley = elided(ui.painter(), key, body_font(), theme.dim, key_width);
    let room = (rect.width() - key_galley.size().x - space::S3).max(24.0);
    let shown: String = value.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let value_galley = elided(ui.painter(), &shown, mono_font(), theme.text, room);
    let is_cut = value_galley.elided || key_galley.elided;
    let y = |galley: &Galley| rect.center().y - galley.size().y / 2.0;
    let value_at = pos2(rect.right() - value_galley.size().x, y(&value_galley));
    ui.painter().galley(pos2(rect.left(), y(&key_galley)), key_galley, theme.dim);
    ui.painter().galley(value_at, value_galley, theme.text);
    if response.clicked() {
        ui.ctx().copy_text(value.to_owned());
    }
    response.on_hover_ui(|ui| {
        if is_cut {
            ui.label(theme::mono(value.chars().take(4000).collect::<String>()));
        }
        ui.label(theme::dim(theme, "Click to copy"));
    })
}

#[cfg(test)]
mod tests {
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;

    #[test]
    fn a_text_is_cut_where_it_does_not_fit_and_only_there() {
        let context = egui::Context::default();
        theme::apply(&context);
        let mut seen = Vec::new();
        let mut output = context.run_ui(Default::default(), |ui| {
            let long = "word ".repeat(200_000);
            for (text, width) in [("short", 200.0), (long.as_str(), 200.0), ("short", 0.0), ("iiii", 200.0)] {
                let galley = elided(ui.painter(), text, body_font(), Color32::WHITE, width);
                // A `…` alone may be wider than the least.
                let most = if width > LEAST { width } else { 2.0 * LEAST };
                assert!(galley.size().x <= most && galley.rows.len() == 1, "{text:.20} {width}");
                seen.push((galley.elided, galley.job.text.len() < 1000));
            }
        });
        output.textures_delta.clear();
        assert_eq!(seen, [(false, true), (true, true), (true, true), (false, true)]);
    }

    #[test]
    fn a_click_on_a_value_copies_it() {
        let frame = |ui: &mut Ui| drop(key_value(ui, "Codec", "ZSTD"));
        let mut harness = Harness::builder().with_context_setup(theme::apply).build_ui(frame);
        harness.get_by_label("Codec: ZSTD").click();
        // In one of the frames of press and release.
        let copied = (0..4).any(|_| {
            harness.step();
            let mut commands = harness.output().platform_output.commands.iter();
            commands.any(|command| matches!(command, egui::OutputCommand::CopyText(text) if text == "ZSTD"))
        });
        assert!(copied);
    }
}
