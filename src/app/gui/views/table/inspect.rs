//! The cell inspector: the value under the cursor in full, below the grid. It follows the cursor.

use std::sync::Arc;

use egui::text::{LayoutJob, TextFormat};
use egui::{Align, Layout, Rect, RichText, Sense, Ui, UiBuilder, Vec2, vec2};
use gander::data::content::Table;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::value::{Face, Value, read};
use crate::gui::grid::CellAt;
use crate::gui::icons::Icon;
use crate::gui::texture::Texture;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::{JsonTree, List, LongText, splitter};
use crate::gui::views::hex;

/// The width of the buttons at the right end of its head.
const BUTTONS: f32 = 84.0;
/// The least height of the panel, and of the grid above it.
const LEAST: f32 = 110.0;

/// The state of the panel.
pub(super) struct Inspect {
    open: bool,
    /// Its height; kept while it is closed.
    height: f32,
    slot: Slot<CellAt, Value>,
    /// The kind of face that was chosen last.
    face: Option<&'static str>,
    /// Counts up with each new value.
    version: usize,
    shown: Option<CellAt>,
    tree: JsonTree,
    list: List,
    text: LongText,
    texture: Option<(usize, Texture)>,
}

impl Default for Inspect {
    fn default() -> Self {
        Inspect {
            open: false,
            height: 240.0,
            slot: Slot::default(),
            face: None,
            version: 0,
            shown: None,
            tree: JsonTree::default(),
            list: List::default(),
            text: LongText::default(),
            texture: None,
        }
    }
}

impl Inspect {
    /// Whether it shows.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Opens it, or closes it when it is open.
    pub(super) fn toggle(&mut self) {
        self.open = !self.open;
    }

    /// How many bytes of a text were laid out in the last frame.
    #[cfg(test)]
    pub(super) fn laid_out(&self) -> usize {
        self.text.laid_out()
    }

    /// Forgets the value: the table under it is another one now.
    pub(super) fn forget(&mut self) {
        self.slot.cancel();
        self.slot = Slot::default();
        self.shown = None;
    }

    /// Closes it; false if it was closed.
    pub(super) fn close(&mut self) -> bool {
        std::mem::replace(&mut self.open, false)
    }

    /// Cuts the panel off from `area`: what is left above it, and its own place.
    pub(super) fn split(&mut self, area: Rect) -> (Rect, Option<Rect>) {
        if !self.open || area.height() < 2.0 * LEAST {
            return (area, None);
        }
        self.height = self.height.clamp(LEAST, area.height() - LEAST);
        let at = (area.bottom() - self.height).round();
        let (above, below) = area.split_top_bottom_at_y(at);
        (above, Some(below))
    }

    /// Draws the border above the panel in `place`, to be moved.
    pub(super) fn border(&mut self, ui: &Ui, place: Rect) {
        let (id, name) = (ui.scope_id().with("inspect edge"), "Border between the table and the value");
        self.height -= splitter(ui, id, name, place.x_range(), place.top());
    }

    /// Draws the panel into `place`.
    pub(super) fn ui(
        &mut self,
        ui: &mut Ui,
        place: Rect,
        jobs: &Jobs,
        table: &Arc<dyn Table>,
        cell: Option<CellAt>,
        name: &str,
    ) {
        let theme = Theme::of(ui);
        ui.painter().rect_filled(place, 0.0, theme.bg1);
        ui.painter().hline(place.x_range(), place.top(), theme.hairline());
        let inner = place.shrink2(vec2(space::S3, space::S1));
        let mut ui = ui.new_child(UiBuilder::new().max_rect(inner).id_salt("inspect"));
        ui.shrink_clip_rect(place);
        let Some(cell) = cell else {
            theme::empty_state(&mut ui, Icon::Eye, "No cell is selected", "");
            return;
        };
        let table = table.clone();
        let shown = self.slot.get(jobs, &cell, JobSpec::view(format!("{name}[{}]", cell.row)), move |task| {
            read(&*table, task, cell.row, cell.column)
        });
        let value = shown.ready();
        if value.is_some() && self.shown != Some(cell) {
            self.shown = Some(cell);
            self.version += 1;
            self.list.scroll_to(0);
        }
        let title = format!("{name}[{}]", gander::bytes::display::count(cell.row));
        let face = self.head(&mut ui, &title, value.as_deref());
        let waiting = ui.unique_id().with(("inspect", cell.row, cell.column));
        match (value, shown.error, face) {
            (Some(value), _, Some(face)) => self.body(&mut ui, jobs, &value.faces[face]),
            (_, Some(error), _) => {
                theme::problem_banner(
                    &mut ui,
                    theme::Severity::Problem,
                    "This value could not be read",
                    &[(&error.to_string(), None)],
                );
            }
            _ => theme::pending(&mut ui, waiting, "reading the value …"),
        }
    }

    /// The line above the value; which face shows.
    fn head(&mut self, ui: &mut Ui, title: &str, value: Option<&Value>) -> Option<usize> {
        let mut face = None;
        ui.allocate_ui_with_layout(
            vec2(ui.available_width(), size::CONTROL + 4.0),
            Layout::left_to_right(Align::Center),
            |ui| {
                self.title(ui, title, value);
                if let Some(value) = value {
                    let names: Vec<&'static str> = value.faces.iter().map(Face::word).collect();
                    let wanted = self.face.and_then(|word| names.iter().position(|name| *name == word));
                    let mut current = wanted.unwrap_or(0);
                    if names.len() > 1 {
                        let options: Vec<(usize, &str)> = names.iter().copied().enumerate().collect();
                        if theme::segmented(ui, "Show the value as", &mut current, &options) {
                            self.face = names.get(current).copied();
                        }
                    }
                    face = Some(current);
                }
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    if theme::icon_button(ui, Icon::Close, "Close (Esc)").clicked() {
                        self.open = false;
                    }
                    if let Some(value) = value
                        && theme::icon_button(ui, Icon::Copy, "Copy the value").clicked()
                    {
                        ui.ctx().copy_text(value.text.as_ref().to_owned());
                    }
                });
            },
        );
        face
    }

    /// The name, type and size, in the room that the faces and the buttons leave.
    fn title(&self, ui: &mut Ui, title: &str, value: Option<&Value>) {
        let theme = Theme::of(ui);
        let mut job = LayoutJob::default();
        let mut append = |text: &str, font, color| {
            let lead = if job.is_empty() { 0.0 } else { space::S2 };
            job.append(text, lead, TextFormat { font_id: font, color, ..Default::default() });
        };
        append(title, theme::mono_font(), theme.text);
        let mut taken = BUTTONS;
        if let Some(value) = value {
            append(&value.type_text, theme::mono_small_font(), theme.dim);
            append(&value.size, theme::body_font(), theme.dim);
            if value.faces.len() > 1 {
                let wide = |face: &Face| 8.0 * face.word().chars().count() as f32 + 24.0;
                taken += value.faces.iter().map(wide).sum::<f32>();
            }
        }
        let room = (ui.available_width() - taken).max(40.0);
        ui.scope(|ui| {
            ui.set_max_width(room);
            let label = ui.add(egui::Label::new(job).truncate());
            label.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, title));
        });
    }

    fn body(&mut self, ui: &mut Ui, jobs: &Jobs, face: &Face) {
        let theme = Theme::of(ui);
        match face {
            Face::Null => {
                ui.label(RichText::new("null").font(theme::italic_font()).color(theme.null));
            }
            Face::Text(text) => self.text.ui(ui, jobs, text),
            Face::Tree(json) => self.tree.ui(ui, jobs, json),
            Face::Hex(bytes) => {
                let rows = (bytes.len() as u64).div_ceil(hex::ROW);
                self.list.ui(ui, "Bytes", rows, hex::HEIGHT, |ui, place, row| {
                    let start = (row * hex::ROW) as usize;
                    let end = (start + hex::ROW as usize).min(bytes.len());
                    hex::plain_row(ui, place, start as u64, &bytes[start..end]);
                });
            }
            Face::Picture(picture, words) => self.picture(ui, picture, words),
            Face::Problem(words) => {
                let severity = theme::Severity::Problem;
                theme::problem_banner(ui, severity, "This picture could not be decoded", &[(words, None)]);
            }
            Face::Inside(format, json) => {
                ui.label(theme::dim(theme, format!("A file inside the cell: {format}")));
                self.tree.ui(ui, jobs, json);
            }
        }
    }

    fn picture(&mut self, ui: &mut Ui, picture: &Arc<egui::ColorImage>, words: &str) {
        let theme = Theme::of(ui);
        let known = self.texture.as_ref().is_some_and(|(version, _)| *version == self.version);
        if !known {
            let options =
                egui::TextureOptions { magnification: egui::TextureFilter::Nearest, ..Default::default() };
            let texture = Texture::new(ui.ctx(), "cell", picture, options);
            self.texture = Some((self.version, texture));
        }
        ui.label(theme::dim(theme, words));
        let Some((_, texture)) = &self.texture else { return };
        let room = ui.available_size();
        let natural = texture.size();
        let (place, response) = ui.allocate_exact_size(fitted(natural, room), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, words));
        texture.paint(ui.painter(), place);
    }
}

/// How large a picture of `natural` size is drawn into `room`. Small ones are enlarged by whole numbers, so that their
/// pixels stay square; a long and narrow one stays wide enough to be seen.
fn fitted(natural: Vec2, room: Vec2) -> Vec2 {
    const NARROWEST: f32 = 4.0;
    let scale = (room.x / natural.x.max(1.0)).min(room.y / natural.y.max(1.0)).max(0.0);
    let scale = if scale >= 1.0 { scale.floor().min(8.0) } else { scale };
    (natural * scale).max(natural.min(Vec2::splat(NARROWEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_picture_stays_in_sight() {
        let room = vec2(800.0, 180.0);
        // A strip 50×40,000, reduced to 3×2,000, keeps its width, and one that is as long the other way its height.
        assert_eq!(fitted(vec2(3.0, 2000.0), room), vec2(3.0, 180.0));
        assert_eq!(fitted(vec2(2000.0, 3.0), room), vec2(800.0, 3.0));
        // Others keep their sides' ratio; small ones grow by whole numbers.
        assert_eq!(fitted(vec2(1600.0, 80.0), room), vec2(800.0, 40.0));
        assert_eq!(fitted(vec2(64.0, 50.0), room), vec2(192.0, 150.0));
        assert_eq!(fitted(vec2(1.0, 1.0), room), vec2(8.0, 8.0));
    }
}
