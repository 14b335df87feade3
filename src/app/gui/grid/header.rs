//! The heads of the columns and the labels of the rows.

use std::sync::Arc;

use egui::emath::GuiRounding as _;
use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{Align2, FontId, Galley, Painter, Rect, Ui, UiBuilder, pos2, vec2};

use super::model::{ColumnHead, GridModel, SortMark};
use super::paint::drawn_text;
use super::view::{Shown, View};
use super::{Drag, Grid};
use crate::gui::icons::Icon;
use crate::gui::theme::{Theme, body_font, icon_family, mono_font, mono_small_font, size, small_font, space};

/// The room a sort or remark mark takes.
const MARK: f32 = 18.0;

/// The room the marks of a head take.
pub(super) fn marks_width(head: &ColumnHead<'_>) -> f32 {
    let marks = usize::from(head.sort.is_some()) + usize::from(head.remark.is_some());
    marks as f32 * MARK
}

/// About the width a head needs; not measured, as it is asked for thousands of columns at once.
pub(super) fn likely_width(head: &ColumnHead<'_>) -> f32 {
    /// Longer heads are cut, so that values stay in sight.
    const MOST: f32 = 220.0;
    let (name, kind) = (head.name.chars().count() as f32, head.type_text.chars().count() as f32);
    let words = name * 7.2 + kind * 6.6 + 8.0;
    (words + marks_width(head) + 2.0 * space::CELL).ceil().min(MOST)
}

/// The name and the type of a column, on one line.
pub(super) fn head_galley(
    painter: &Painter,
    theme: &Theme,
    head: &ColumnHead<'_>,
    width: f32,
) -> Arc<Galley> {
    let mut job = LayoutJob::default();
    let name = TextFormat { font_id: body_font(), color: theme.text, ..Default::default() };
    job.append(&drawn_text(&head.name, false), 0.0, name);
    if !head.type_text.is_empty() {
        let kind = TextFormat { font_id: mono_small_font(), color: theme.faint, ..Default::default() };
        job.append(&drawn_text(&head.type_text, false), 6.0, kind);
    }
    job.wrap = TextWrapping { break_anywhere: true, ..TextWrapping::truncate_at_width(width) };
    painter.layout_job(job)
}

impl Grid {
    /// Paints heads and row labels, and lets the model draw into the heads.
    pub(super) fn paint_heads(&self, ui: &mut Ui, view: &View, model: &mut dyn GridModel) {
        let theme = Theme::of(ui);
        for area in [view.head, view.corner, view.gutter] {
            ui.painter().rect_filled(area, 0.0, theme.bg1);
        }
        self.paint_gutter(ui, theme, view, model);
        let selected = self.selection.map(|selection| selection.positions(self.columns.len()));
        for shown in &view.columns {
            let clip = view.clip(shown, view.head);
            if clip.width() <= 0.0 {
                continue;
            }
            let painter = ui.painter().with_clip_rect(clip.intersect(ui.clip_rect()));
            if selected.as_ref().is_some_and(|positions| positions.contains(&shown.position)) {
                painter.rect_filled(clip, 0.0, theme.tint(theme.accent));
            }
            self.paint_head(ui, &painter, theme, view, shown, model);
            if self.header_extra > 0.0 {
                let rect = Rect::from_min_max(
                    pos2(shown.left + space::CELL, view.head.top() + size::ROW),
                    pos2(shown.right() - space::CELL, view.head.bottom() - space::S1),
                );
                let builder = UiBuilder::new().max_rect(rect).id_salt(("head", shown.column));
                let mut child = ui.new_child(builder);
                child.shrink_clip_rect(clip);
                model.header_ui(&mut child, shown.column);
            }
        }
        self.paint_drag(ui, theme, view, model);
        let (pixels, stroke) = (ui.pixels_per_point(), theme.hairline());
        let below = (view.head.bottom() - 1.0).round_to_pixel_center(pixels);
        ui.painter().hline(view.corner.left()..=view.head.right(), below, stroke);
        let beside = (view.gutter.right() - 1.0).round_to_pixel_center(pixels);
        ui.painter().vline(beside, view.corner.top()..=view.gutter.bottom(), stroke);
    }

    fn paint_head(
        &self,
        ui: &Ui,
        painter: &Painter,
        theme: &Theme,
        view: &View,
        shown: &Shown,
        model: &dyn GridModel,
    ) {
        let head = model.column(shown.column);
        let line = Rect::from_min_size(pos2(shown.left, view.head.top() + 2.0), vec2(shown.width, size::ROW));
        let room = (shown.width - 2.0 * space::CELL - marks_width(&head)).max(8.0);
        let galley = head_galley(painter, theme, &head, room);
        let cut = galley.elided;
        let at = pos2(shown.left + space::CELL, line.center().y - galley.size().y / 2.0);
        painter.galley(at.round_to_pixels(ui.pixels_per_point()), galley, theme.text);
        let mut right = shown.right() - space::CELL;
        let mark = FontId::new(size::TEXT, icon_family());
        if let Some(SortMark { descending, rank }) = head.sort {
            let glyph = if descending { Icon::ArrowDown } else { Icon::ArrowUp };
            let drawn = painter.text(
                pos2(right, line.center().y),
                Align2::RIGHT_CENTER,
                glyph.glyph(),
                mark.clone(),
                theme.accent,
            );
            if rank > 1 {
                let at = pos2(drawn.left(), line.center().y);
                painter.text(at, Align2::RIGHT_CENTER, rank, small_font(), theme.accent);
            }
            right -= MARK;
        }
        if head.remark.is_some() {
            let at = pos2(right, line.center().y);
            painter.text(at, Align2::RIGHT_CENTER, Icon::Warning.glyph(), mark, theme.warn);
        }
        let x = (shown.right() - 1.0).round_to_pixel_center(ui.pixels_per_point());
        painter.vline(x, view.head.y_range(), theme.hairline());
        if cut || head.remark.is_some() {
            self.head_tip(ui, line.intersect(view.clip(shown, view.head)), &head);
        }
    }

    /// Shows the whole name and the remark while the pointer rests on a head.
    fn head_tip(&self, ui: &Ui, line: Rect, head: &ColumnHead<'_>) {
        if self.drag.is_some() || !ui.rect_contains_pointer(line) {
            return;
        }
        let Some(response) = ui.ctx().read_response(ui.scope_id().with("head")) else { return };
        let mut words = format!("{}  {}", drawn_text(&head.name, false), drawn_text(&head.type_text, false));
        if let Some(remark) = &head.remark {
            words.push('\n');
            words.push_str(remark);
        }
        response.on_hover_text_at_pointer(words);
    }

    fn paint_gutter(&self, ui: &Ui, theme: &Theme, view: &View, model: &dyn GridModel) {
        let painter = ui.painter().with_clip_rect(view.gutter.intersect(ui.clip_rect()));
        let selected = self.selection.map(|selection| (selection.rows(self.rows), selection.cursor.row));
        let right = view.gutter.right() - space::CELL;
        for row in view.first_row..view.end_row {
            let top = view.row_top(row);
            let rect = Rect::from_min_max(
                pos2(view.gutter.left(), top),
                pos2(view.gutter.right(), top + view.row_height),
            );
            let mut color = theme.faint;
            if let Some((rows, _)) = &selected
                && rows.contains(&row)
            {
                painter.rect_filled(rect, 0.0, theme.tint(theme.accent));
                color = theme.dim;
            }
            let at = pos2(right, top + size::ROW / 2.0);
            painter.text(at, Align2::RIGHT_CENTER, model.row_label(row), mono_font(), color);
            let y = (rect.bottom() - 1.0).round_to_pixel_center(ui.pixels_per_point());
            painter.hline(rect.x_range(), y, theme.hairline());
        }
        let at = pos2(right, view.corner.bottom() - space::S3);
        ui.painter().text(at, Align2::RIGHT_CENTER, model.row_head(), body_font(), theme.dim);
    }

    /// While a column is dragged: its name at the pointer, and a line where it would land.
    fn paint_drag(&self, ui: &Ui, theme: &Theme, view: &View, model: &dyn GridModel) {
        let Some(Drag::Reorder { position }) = self.drag else { return };
        let Some(at) = ui.input(|input| input.pointer.interact_pos()) else { return };
        let Some(column) = self.columns.column(position) else { return };
        ui.ctx().set_cursor_icon(egui::CursorIcon::Grabbing);
        if let Some(before) = self.drop_place(view, at) {
            let x = match view.shown(before) {
                Some(shown) => shown.left,
                None => view.columns_right() - 1.0,
            };
            let line = view.head.top()..=view.body.bottom();
            ui.painter().vline(x, line, egui::Stroke::new(2.0, theme.accent));
        }
        let galley = head_galley(ui.painter(), theme, &model.column(column), 240.0);
        let label = Rect::from_min_size(at + vec2(space::S3, space::S2), galley.size()).expand(space::S1);
        ui.painter().rect_filled(label, size::CORNER, theme.bg3);
        ui.painter().galley(label.min + vec2(space::S1, space::S1), galley, theme.text);
    }
}
