//! The three wells, and the chips in them.

use arrow::datatypes::Schema;
use egui::text::{LayoutJob, TextFormat};
use egui::{
    Color32, CornerRadius, Key as Press, Modifiers, Popup, PopupCloseBehavior, Pos2, Rect, Response, Role,
    ScrollArea, Sense, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};
use gander::query::pivot::{Aggregate, By, Key, Measure, Pivot, SIDE_BY_SIDE};

use super::arrange::{self, Carried, Dragged, Well};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, body_font, size, space};

/// The height of a well with the space below it.
pub(super) const LINE: f32 = size::CONTROL + 8.0;
/// The room for the name of a well.
const LABEL: f32 = 62.0;
/// How many values may stand side by side, as it is offered.
const MOST: [usize; 5] = [6, SIDE_BY_SIDE, 24, 50, 100];

/// The wells while they are drawn.
pub(super) struct Wells<'a> {
    pub(super) pivot: &'a mut Pivot,
    pub(super) schema: &'a Schema,
    /// The width of bins as it is typed.
    pub(super) typed: &'a mut String,
}

/// What was done with a chip.
enum Done {
    Remove(Well, usize),
    Put(Carried, Well, usize),
}

impl Wells<'_> {
    /// Draws all of them from the top of `area` on.
    pub(super) fn ui(&mut self, ui: &mut Ui, area: Rect) {
        let mut done = None;
        for (n, well) in Well::ALL.into_iter().enumerate() {
            let top = area.top() + n as f32 * LINE;
            let line = Rect::from_min_size(pos2(area.left(), top), vec2(area.width(), LINE - space::S1));
            done = self.well(ui, well, line).or(done);
        }
        match done {
            Some(Done::Remove(well, at)) => arrange::remove(self.pivot, well, at),
            Some(Done::Put(carried, well, at)) => arrange::put(self.pivot, self.schema, carried, well, at),
            None => {}
        }
    }

    fn well(&mut self, ui: &mut Ui, well: Well, line: Rect) -> Option<Done> {
        let theme = Theme::of(ui);
        let at = pos2(line.left(), line.center().y);
        ui.painter().text(at, egui::Align2::LEFT_CENTER, well.words(), body_font(), theme.dim);
        let field = Rect::from_min_max(pos2(line.left() + LABEL, line.top()), line.max);
        let response = ui.interact(field, ui.scope_id().with(("well", well)), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Group, true, format!("{} well", well.words())));
        let carried = Dragged::of(ui.ctx(), self.pivot);
        let fits = carried.is_some_and(|c| arrange::fits(self.pivot, self.schema, c, well));
        let over = fits && ui.rect_contains_pointer(field);
        let edge = match (over, fits) {
            (true, _) => Stroke::new(1.5, theme.accent),
            (_, true) => Stroke::new(1.0, theme.accent.gamma_multiply(0.5)),
            _ => theme.hairline(),
        };
        let corner = CornerRadius::same(size::CORNER);
        ui.painter().rect(field, corner, theme.bg2, edge, StrokeKind::Inside);
        let builder = UiBuilder::new()
            .max_rect(field.shrink2(vec2(space::S1, 0.0)))
            .id_salt(("chips", well))
            .layout(egui::Layout::left_to_right(egui::Align::Center));
        let mut child = ui.new_child(builder);
        child.shrink_clip_rect(field);
        let (mut done, mut places) = (None, Vec::new());
        ScrollArea::horizontal().id_salt(("well", well)).show(&mut child, |ui| {
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = space::S1;
                let count = self.count(well);
                for index in 0..count {
                    let chip = self.chip(ui, well, index);
                    places.push(chip.0);
                    done = chip.1.or(done.take());
                }
                if count == 0 {
                    ui.add_space(space::S1);
                    ui.label(theme::dim(theme, hint(well)));
                }
            });
        });
        if over && let Some(pointer) = ui.input(|input| input.pointer.interact_pos()) {
            let at = places.iter().filter(|place| place.center().x < pointer.x).count();
            if well != Well::Across || places.is_empty() {
                mark(ui, field, &places, at, theme.accent);
            }
            if ui.input(|input| input.pointer.any_released())
                && let Some(carried) = Dragged::take(ui.ctx(), self.pivot)
            {
                done = Some(Done::Put(carried, well, at));
            }
        }
        done
    }

    fn count(&self, well: Well) -> usize {
        match well {
            Well::Rows => self.pivot.rows.len(),
            Well::Across => usize::from(self.pivot.across.is_some()),
            Well::Values => self.pivot.values.len(),
        }
    }

    /// One chip: where it is, and what was done with it.
    fn chip(&mut self, ui: &mut Ui, well: Well, at: usize) -> (Rect, Option<Done>) {
        let Some((name, detail)) = self.words(well, at) else { return (Rect::NOTHING, None) };
        let spoken = format!("{}: {name} {detail}", well.words());
        let (response, crossed) = chip_ui(ui, (well, at), &name, &detail, spoken.trim());
        let mut done = crossed.then_some(Done::Remove(well, at));
        if response.drag_started() {
            Dragged::begin(ui.ctx(), self.pivot, Carried::Chip(well, at));
        }
        if response.has_focus() {
            let pressed = |key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
            if pressed(Press::Delete) || pressed(Press::Backspace) {
                done = Some(Done::Remove(well, at));
            }
        }
        let popup =
            Popup::menu(&response).close_behavior(PopupCloseBehavior::CloseOnClickOutside).width(190.0);
        popup.show(|ui| done = self.menu(ui, well, at).or(done.take()));
        (response.rect, done)
    }

    /// The name on a chip, and what is made of it.
    fn words(&self, well: Well, at: usize) -> Option<(String, String)> {
        let key = |key: &Key| {
            let by = if key.by == By::Value { String::new() } else { key.by.words() };
            (key.column.clone(), by)
        };
        match well {
            Well::Rows => self.pivot.rows.get(at).map(key),
            Well::Across => self.pivot.across.as_ref().map(key),
            Well::Values => self.pivot.values.get(at).map(|measure| match &measure.column {
                None => ("rows".to_owned(), "count".to_owned()),
                Some(column) => (column.clone(), measure.aggregate.words().to_owned()),
            }),
        }
    }

    fn menu(&mut self, ui: &mut Ui, well: Well, at: usize) -> Option<Done> {
        match well {
            Well::Values => self.aggregates(ui, at),
            Well::Rows | Well::Across => self.groups(ui, well, at),
        }
        ui.separator();
        let mut done = None;
        let carried = Carried::Chip(well, at);
        if well != Well::Across {
            if at > 0 && row(ui, Icon::CaretLeft, "Move left") {
                done = Some(Done::Put(carried, well, at - 1));
            }
            if at + 1 < self.count(well) && row(ui, Icon::CaretRight, "Move right") {
                done = Some(Done::Put(carried, well, at + 2));
            }
        }
        for to in Well::ALL {
            let words = format!("Move to {}", to.words().to_lowercase());
            if to != well
                && arrange::fits(self.pivot, self.schema, carried, to)
                && row(ui, icon_of(to), &words)
            {
                done = Some(Done::Put(carried, to, usize::MAX));
            }
        }
        if row(ui, Icon::Close, "Remove") {
            done = Some(Done::Remove(well, at));
        }
        done
    }

    fn aggregates(&mut self, ui: &mut Ui, at: usize) {
        let Some(Measure { aggregate, column: Some(column) }) = self.pivot.values.get_mut(at) else { return };
        let Some(data_type) = arrange::type_of(self.schema, column) else { return };
        for other in Aggregate::of(data_type) {
            if ui.selectable_label(*aggregate == other, other.words()).clicked() {
                *aggregate = other;
                ui.close();
            }
        }
    }

    fn groups(&mut self, ui: &mut Ui, well: Well, at: usize) {
        let key = if well == Well::Rows { self.pivot.rows.get_mut(at) } else { self.pivot.across.as_mut() };
        let Some(key) = key else { return };
        let Some(data_type) = arrange::type_of(self.schema, &key.column) else { return };
        for by in By::of(data_type) {
            let on = std::mem::discriminant(&by) == std::mem::discriminant(&key.by);
            let bins = matches!(by, By::Bins(_));
            if ui.selectable_label(on, by.words()).clicked() {
                if !on {
                    key.by = by;
                }
                self.typed.clear();
                ui.close();
            }
            if bins && on {
                let now = if let By::Bins(Some(width)) = key.by { width.to_string() } else { String::new() };
                ui.horizontal(|ui| {
                    let label = ui.label(theme::dim(Theme::of(ui), "width"));
                    let hint = if now.is_empty() { "automatic".to_owned() } else { now };
                    let field = egui::TextEdit::singleline(self.typed).hint_text(hint).desired_width(96.0);
                    let field = ui.add(field).labelled_by(label.id);
                    if field.lost_focus() && ui.input(|input| input.key_pressed(Press::Enter)) {
                        let width = self.typed.trim().parse().ok();
                        key.by = By::Bins(width.filter(|width: &f64| width.is_finite() && *width > 0.0));
                        self.typed.clear();
                        ui.close();
                    }
                });
            }
        }
        if well == Well::Across {
            ui.separator();
            ui.label(theme::dim(Theme::of(ui), "Values side by side"));
            let now = self.pivot.most.unwrap_or(SIDE_BY_SIDE);
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 2.0;
                for most in MOST {
                    if ui.selectable_label(now == most, most.to_string()).clicked() {
                        self.pivot.most = Some(most);
                        ui.close();
                    }
                }
            });
        }
    }
}

/// What stands in an empty well.
fn hint(well: Well) -> &'static str {
    match well {
        Well::Rows => "a column whose values make the rows",
        Well::Across => "a column whose values stand side by side",
        Well::Values => "what is counted or summed; without any, rows are counted",
    }
}

/// The icon of a well in menus.
pub(super) fn icon_of(well: Well) -> Icon {
    match well {
        Well::Rows => Icon::Rows,
        Well::Across => Icon::Columns,
        Well::Values => Icon::Function,
    }
}

/// A row of a menu.
pub(super) fn row(ui: &mut Ui, icon: Icon, words: &str) -> bool {
    let response = ui.add(egui::Button::new(theme::icon_text(icon, words)).frame_when_inactive(false));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, words));
    if response.clicked() {
        ui.close();
    }
    response.clicked()
}

/// The line where what is dragged would land.
fn mark(ui: &Ui, field: Rect, places: &[Rect], at: usize, color: Color32) {
    let x = match (at.checked_sub(1).and_then(|before| places.get(before)), places.get(at)) {
        (Some(before), _) => before.right() + space::S1 / 2.0,
        (None, Some(after)) => after.left() - space::S1 / 2.0,
        (None, None) => field.left() + space::S1,
    };
    ui.painter().vline(x, field.shrink(4.0).y_range(), Stroke::new(2.0, color));
}

/// A chip that can be dragged, clicked and crossed out.
fn chip_ui(ui: &mut Ui, id: (Well, usize), name: &str, detail: &str, spoken: &str) -> (Response, bool) {
    /// The room for the cross.
    const CROSS: f32 = 18.0;
    let theme = Theme::of(ui);
    let galley = ui.painter().layout_job(chip_words(theme, name, detail));
    let wanted = vec2(galley.size().x + space::S3 + space::S1 + CROSS, size::CONTROL - 4.0);
    let (rect, _) = ui.allocate_exact_size(wanted, Sense::hover());
    let body = Rect::from_min_max(rect.min, pos2(rect.right() - CROSS - 2.0, rect.bottom()));
    let place = ui.scope_id().with(id);
    let response = ui.interact(body, place, Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, spoken));
    let cross = Rect::from_min_max(pos2(body.right(), rect.top()), rect.max);
    let cross_response = ui.interact(cross, place.with("cross"), Sense::click());
    let removed = format!("Remove {spoken}");
    cross_response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &removed));
    let corner = CornerRadius::same((rect.height() / 2.0) as u8);
    let hot = response.hovered() || response.dragged();
    let fill = if hot { theme.bg3.lerp_to_gamma(theme.text, 0.06) } else { theme.bg3 };
    let focused = response.has_focus() || cross_response.has_focus();
    let edge = if focused { Stroke::new(1.0, theme.accent) } else { theme.hairline() };
    ui.painter().rect(rect, corner, fill, edge, StrokeKind::Inside);
    let at = pos2(rect.left() + space::S3 - 2.0, rect.center().y - galley.size().y / 2.0);
    ui.painter().galley(at, galley, theme.text);
    let font = egui::FontId::new(size::TEXT_SMALL, theme::icon_family());
    let color = if cross_response.hovered() { theme.text } else { theme.dim };
    let middle = pos2(cross.center().x - 2.0, cross.center().y);
    ui.painter().text(middle, egui::Align2::CENTER_CENTER, Icon::Close.glyph(), font, color);
    let crossed = cross_response.on_hover_text("Remove").clicked();
    let mut shown = response.on_hover_text("Click to change it, drag to move it");
    shown.rect = rect;
    (shown, crossed)
}

fn chip_words(theme: &Theme, name: &str, detail: &str) -> LayoutJob {
    let format = |color| TextFormat { font_id: body_font(), color, ..Default::default() };
    let mut job = LayoutJob::default();
    let mut short: String = name.chars().take(40).collect();
    if name.chars().nth(40).is_some() {
        short.push('…');
    }
    job.append(&short, 0.0, format(theme.text));
    if !detail.is_empty() {
        job.append(detail, space::S1 + 2.0, format(theme.accent));
    }
    job
}

/// What is dragged, beside the pointer.
pub(super) fn ghost(ui: &Ui, name: &str, at: Pos2) {
    let theme = Theme::of(ui);
    let layer = egui::LayerId::new(egui::Order::Tooltip, ui.unique_id().with("carried"));
    let painter = ui.ctx().layer_painter(layer);
    let galley = painter.layout_no_wrap(name.to_owned(), body_font(), theme.text);
    let size = galley.size() + vec2(2.0 * space::S2 + 4.0, space::S1 + 2.0);
    let rect = Rect::from_min_size(at + vec2(space::S3, space::S1), size);
    let corner = CornerRadius::same((size.y / 2.0) as u8);
    painter.rect(rect, corner, theme.bg3, Stroke::new(1.0, theme.accent), StrokeKind::Inside);
    painter.galley(rect.min + vec2(space::S2 + 2.0, space::S1 / 2.0 + 1.0), galley, theme.text);
}
