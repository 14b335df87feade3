//! Cells, lines, the selection and the frame of the cursor.

use std::ops::Range;
use std::sync::Arc;

use egui::emath::GuiRounding as _;
use egui::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{Align2, Color32, FontId, Galley, Painter, Rect, Stroke, StrokeKind, Ui, pos2, vec2};

use super::Grid;
use super::decoration;
use super::model::{Cell, CellKind, Decoration, GridModel, Side};
use super::view::{View, WRAPPED_LINES};
use crate::gui::icons::Icon;
use crate::gui::theme::{Theme, body_font, icon_family, italic_font, mono_font, semi_bold, size, space};

/// Of a longer text only so many characters are laid out.
pub(super) const DRAWN_CHARACTERS: usize = 300;
/// Of a longer text only so many characters come into a tool tip.
const TIP_CHARACTERS: usize = 2000;

/// A text as a cell shows it: control characters made visible, cut where no cell is that wide.
pub(super) fn drawn_text(text: &str, wrap: bool) -> String {
    let mut drawn = String::with_capacity(text.len().min(DRAWN_CHARACTERS * 4));
    let mut characters = text.chars();
    for character in characters.by_ref().take(DRAWN_CHARACTERS) {
        drawn.push(match character {
            '\n' if wrap => '\n',
            '\n' => '↵',
            '\t' => '⇥',
            '\r' => '␍',
            // Direction marks could make a value look like another one.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            other if other.is_control() => '\u{fffd}',
            other => other,
        });
    }
    if characters.next().is_some() {
        drawn.push('…');
    }
    drawn
}

/// A text as a cell of one line shows it.
pub(crate) fn line_text(text: &str) -> String {
    drawn_text(text, false)
}

fn look(kind: &CellKind, theme: &Theme) -> (FontId, Color32) {
    match kind {
        CellKind::Text => (body_font(), theme.string),
        CellKind::Null => (italic_font(), theme.null),
        CellKind::Nan => (mono_font(), theme.bad),
        CellKind::Failed(_) => (body_font(), theme.bad),
        CellKind::Number
        | CellKind::Bool
        | CellKind::Time
        | CellKind::Binary
        | CellKind::Nested
        | CellKind::Pending => (mono_font(), theme.text),
    }
}

/// Lays a cell's text out in a width.
fn lay_out(
    painter: &Painter,
    cell: &Cell<'_>,
    theme: &Theme,
    width: f32,
    wrap: bool,
    own: Option<Color32>,
) -> Arc<Galley> {
    let (mut font, color) = look(&cell.kind, theme);
    let color = own.unwrap_or(color);
    if matches!(cell.decoration, Some(Decoration::Level { open: Some(_), .. })) {
        font = FontId::new(font.size, semi_bold());
    }
    let drawn = drawn_text(&cell.text, wrap);
    let mut job = match cell.marked.is_empty() {
        true => LayoutJob::simple(drawn, font, color, width),
        false => {
            marked(&drawn, &cell.marked, TextFormat { font_id: font, color, ..Default::default() }, theme)
        }
    };
    job.break_on_newline = wrap;
    job.wrap = TextWrapping {
        max_width: width,
        max_rows: if wrap { WRAPPED_LINES } else { 1 },
        break_anywhere: !wrap,
        overflow_character: Some('…'),
    };
    painter.layout_job(job)
}

/// A text with a background behind parts of it.
fn marked(text: &str, parts: &[Range<usize>], format: TextFormat, theme: &Theme) -> LayoutJob {
    let (mut job, mut at) = (LayoutJob::default(), 0);
    let found = TextFormat { background: theme.found(), ..format.clone() };
    for part in parts {
        let (Some(before), Some(inside)) = (text.get(at..part.start), text.get(part.clone())) else {
            continue;
        };
        job.append(before, 0.0, format.clone());
        job.append(inside, 0.0, found.clone());
        at = part.end;
    }
    job.append(text.get(at..).unwrap_or_default(), 0.0, format);
    job
}

/// The room right of a number whose column has longer ones behind the point.
fn padding(painter: &Painter, cell: &Cell<'_>) -> f32 {
    match cell.pad {
        0 => 0.0,
        pad => f32::from(pad) * painter.fonts_mut(|fonts| fonts.glyph_width(&mono_font(), '0')),
    }
}

impl Grid {
    /// Paints the cells; gives the tool tip of the one under the pointer, if it needs one.
    pub(super) fn paint(&self, ui: &Ui, view: &View, model: &dyn GridModel) -> Option<String> {
        let theme = Theme::of(ui);
        let painter = ui.painter().with_clip_rect(view.body.intersect(ui.clip_rect()));
        self.paint_selection(&painter, theme, view);
        let pointer = ui.input(|input| input.pointer.hover_pos()).filter(|&at| view.body.contains(at));
        let mut tip = None;
        for shown in &view.columns {
            let clip = view.clip(shown, view.body);
            let clipped = painter.with_clip_rect(clip.intersect(painter.clip_rect()));
            let side = model.column(shown.column).side;
            for row in view.first_row..view.end_row {
                let top = view.row_top(row);
                let rect = Rect::from_min_size(pos2(shown.left, top), vec2(shown.width, view.row_height));
                let cell = model.cell(row, shown.column);
                let cut = self.paint_cell(&clipped, theme, rect, side, &cell);
                if pointer.is_some_and(|at| rect.contains(at) && clip.contains(at)) {
                    tip = tip_of(&cell, cut);
                }
            }
        }
        self.paint_lines(&painter, theme, view);
        self.paint_cursor(ui, &painter, theme, view);
        tip
    }

    /// Paints a cell; true if not all of its text could be seen.
    fn paint_cell(&self, painter: &Painter, theme: &Theme, rect: Rect, side: Side, cell: &Cell<'_>) -> bool {
        let inner = rect.shrink2(vec2(space::CELL.min(rect.width() / 4.0), 0.0));
        let (inner, color) = match &cell.decoration {
            Some(decoration) => decoration::paint(painter, theme, inner, decoration),
            None => (inner, None),
        };
        match &cell.kind {
            CellKind::Pending => {
                let bar = vec2(inner.width().min(48.0), 6.0);
                let left = match side {
                    Side::Left => inner.left(),
                    Side::Right => inner.right() - bar.x,
                };
                let bar = Rect::from_min_size(pos2(left, rect.top() + (size::ROW - bar.y) / 2.0), bar);
                painter.rect_filled(bar, 3.0, theme.bg3);
                return false;
            }
            CellKind::Failed(_) => {
                let font = FontId::new(size::TEXT, icon_family());
                let glyph = Icon::Warning.glyph();
                let at = pos2(inner.left(), rect.top() + size::ROW / 2.0);
                let mark = painter.text(at, Align2::LEFT_CENTER, glyph, font, theme.bad);
                let at = pos2(mark.right() + space::S1, at.y);
                painter.text(at, Align2::LEFT_CENTER, "failed", body_font(), theme.bad);
                return true;
            }
            _ if cell.text.is_empty() => return false,
            _ => {}
        }
        let padding = padding(painter, cell);
        let mut room = (inner.width() - padding).max(0.0);
        let mut galley = lay_out(painter, cell, theme, room, self.wrap(), color);
        // Points stand below each other as far as no digit has to go for it.
        if galley.elided && padding > 0.0 {
            galley = lay_out(painter, cell, theme, inner.width(), self.wrap(), color);
            room = room.max(galley.size().x);
        }
        let elided = galley.elided || cell.text.len() > DRAWN_CHARACTERS * 4;
        let x = match side {
            Side::Left => inner.left(),
            Side::Right => inner.left() + room - galley.size().x,
        };
        let first_line = galley.rows.first().map_or(galley.size().y, |row| row.height());
        let y = rect.top() + (size::ROW - first_line) / 2.0;
        painter.galley(pos2(x, y).round_to_pixels(painter.pixels_per_point()), galley, theme.text);
        elided
    }

    fn paint_selection(&self, painter: &Painter, theme: &Theme, view: &View) {
        let Some(selection) = self.selection else { return };
        let rows = selection.rows(self.rows);
        let positions = selection.positions(self.columns.len());
        let (first, end) = (rows.start.max(view.first_row), rows.end.min(view.end_row));
        // The cursor's whole row is tinted, so that the eye finds its way along it.
        let cursor = selection.cursor.row;
        if (view.first_row..view.end_row).contains(&cursor) {
            let top = view.row_top(cursor);
            let row = Rect::from_min_max(
                pos2(view.body.left(), top),
                pos2(view.columns_right(), top + view.row_height),
            );
            painter.rect_filled(row, 0.0, theme.bg2.lerp_to_gamma(theme.selected_cell(), 0.7));
        }
        let single = rows.end.saturating_sub(rows.start) == 1 && positions.len() == 1;
        if first >= end || single {
            return;
        }
        for shown in view.columns.iter().filter(|shown| positions.contains(&shown.position)) {
            let clip = view.clip(shown, view.body);
            let low = view.row_top(end - 1) + view.row_height;
            let block = Rect::from_min_max(pos2(clip.left(), view.row_top(first)), pos2(clip.right(), low));
            painter.rect_filled(block, 0.0, theme.selected_cell());
        }
    }

    fn paint_lines(&self, painter: &Painter, theme: &Theme, view: &View) {
        let pixels = painter.pixels_per_point();
        let right = view.columns_right();
        for row in view.first_row..view.end_row {
            let y = (view.row_top(row) + view.row_height - 1.0).round_to_pixel_center(pixels);
            painter.hline(view.body.left()..=right, y, theme.hairline());
        }
        if view.first_row >= view.end_row {
            return;
        }
        let bottom = view.row_top(view.end_row - 1) + view.row_height;
        for shown in &view.columns {
            let x = (shown.right() - 1.0).round_to_pixel_center(pixels);
            if view.clip(shown, view.body).right() >= shown.right() - 1.0 {
                painter.vline(x, view.body.top()..=bottom.min(view.body.bottom()), theme.hairline());
            }
        }
        if self.columns.frozen() > 0 {
            let stroke = Stroke::new(2.0, theme.line);
            painter.vline(view.frozen_right - 1.0, view.body.top()..=view.body.bottom(), stroke);
        }
    }

    fn paint_cursor(&self, ui: &Ui, painter: &Painter, theme: &Theme, view: &View) {
        let Some(selection) = self.selection else { return };
        let place = selection.cursor;
        if !(view.first_row..view.end_row).contains(&place.row) {
            return;
        }
        let Some(shown) = view.shown(place.position) else { return };
        let rect = view.cell(shown, place.row);
        if rect.width() < 1.0 || rect.height() < 1.0 {
            return;
        }
        // Without the keyboard the frame stays, quieter.
        let focused = ui.memory(|memory| memory.has_focus(ui.scope_id().with("cells")));
        let color = if focused { theme.accent } else { theme.accent.gamma_multiply(0.55) };
        painter.rect_stroke(rect, 0.0, Stroke::new(2.0, color), StrokeKind::Inside);
    }

    /// Gives columns the width of their heads and of their values in sight.
    pub(super) fn auto_fit(&mut self, ui: &Ui, view: &View, model: &dyn GridModel, columns: &[usize]) {
        let theme = Theme::of(ui);
        for &column in columns {
            let head = super::header::head_galley(ui.painter(), theme, &model.column(column), f32::INFINITY);
            let mut width = head.size().x + super::header::marks_width(&model.column(column));
            for row in view.first_row..view.end_row {
                let cell = model.cell(row, column);
                let galley = lay_out(ui.painter(), &cell, theme, f32::INFINITY, self.wrap(), None);
                let beside = cell.decoration.as_ref().map_or(0.0, decoration::width);
                width = width.max(galley.size().x + padding(ui.painter(), &cell) + beside);
            }
            // A long text does not push everything else out of sight.
            let most = (view.body.width() * 0.8).max(super::columns::MIN_WIDTH);
            self.columns.set_width(column, (width.ceil() + 2.0 * space::CELL + 2.0).min(most));
        }
    }
}

fn tip_of(cell: &Cell<'_>, cut: bool) -> Option<String> {
    match &cell.kind {
        CellKind::Failed(message) => Some(message.clone()),
        _ if cut => {
            let mut characters = cell.text.chars();
            let mut tip: String = characters.by_ref().take(TIP_CHARACTERS).collect();
            if characters.next().is_some() {
                tip.push('…');
            }
            Some(tip)
        }
        _ => None,
    }
}
