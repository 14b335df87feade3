//! What the gallery shows of each row, and how large: in the bar above it, or in a menu where that is narrow.

use egui::{Checkbox, Slider, Ui};
use gander::data::content::Table;
use gander::data::media::{BoxFormat, Media};

use super::{Page, SIDES, name};
use crate::gui::theme::{self, Theme};
use crate::gui::ui::{drop_down, drop_form};

/// The label of those who want none.
pub(super) const NONE: &str = "\u{0}none";
/// The bar's options are in a menu where it has less room.
const ROOM: f32 = 500.0;
/// What is said of flags takes so much.
const FLAGS: f32 = 220.0;
/// The longest name on a button, in characters.
const NAME: usize = 24;

/// What the bar asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Asked {
    /// Export the flagged rows.
    Export,
}

impl Page {
    /// Draws the options.
    pub(in super::super) fn toolbar(&mut self, ui: &mut Ui, table: &dyn Table) -> Option<Asked> {
        let media = self.known.clone()?.media.clone();
        let mut asked = None;
        let flags = if self.state.flags.is_empty() { 0.0 } else { FLAGS };
        if ui.available_width() >= ROOM + flags {
            self.columns(ui, table, &media);
            self.overlays(ui, &media);
            ui.label(theme::dim(Theme::of(ui), "size"));
            self.size(ui);
            asked = self.flags(ui);
        } else {
            drop_form(ui, "Look", "What is shown of each record, and how large", |ui| {
                self.columns(ui, table, &media);
                self.overlays(ui, &media);
                ui.horizontal(|ui| {
                    ui.label(theme::dim(Theme::of(ui), "size"));
                    self.size(ui);
                });
            });
            asked = asked.or(self.flags(ui));
        }
        asked
    }

    fn size(&mut self, ui: &mut Ui) {
        ui.spacing_mut().slider_width = 90.0;
        let slider = Slider::new(&mut self.state.side, SIDES).show_value(false).smart_aim(false).step_by(4.0);
        let response = ui.add(slider).on_hover_text("Size of the pictures");
        let value = f64::from(self.state.side);
        response.widget_info(|| egui::WidgetInfo::slider(true, value, "Size of the pictures"));
    }

    fn flags(&mut self, ui: &mut Ui) -> Option<Asked> {
        let count = self.state.flags.len();
        if count == 0 {
            return None;
        }
        ui.label(theme::dim(Theme::of(ui), format!("flagged {count}")));
        let export = ui.link("export flagged").on_hover_text("Write the flagged records to a file").clicked();
        if ui.link("clear").on_hover_text("Flag no record any more").clicked() {
            self.state.flags.clear();
        }
        export.then_some(Asked::Export)
    }

    fn columns(&mut self, ui: &mut Ui, table: &dyn Table, media: &Media) {
        let shown = self.column(table).map_or("", |column| name(table, column.column));
        drop_down(ui, &short(shown), "Column whose pictures are shown", |ui| {
            for column in media.seen() {
                let other = name(table, column.column);
                if ui.radio(other == shown, format!("{other} · {}", column.kind.word())).clicked() {
                    self.state.column = other.to_owned();
                }
            }
            ui.separator();
            ui.add(Checkbox::new(&mut self.state.keep, "Keep small pictures on disk")).on_hover_text(
                "They are there at once when these records are looked at again; 512 MB at most",
            );
        });
        let label = self.label(table).map(|label| label.column);
        let words =
            label.map_or("no label".to_owned(), |label| format!("label: {}", short(name(table, label))));
        drop_down(ui, &words, "Column of the labels", |ui| {
            if ui.radio(label.is_none(), "none").clicked() {
                self.state.label = NONE.to_owned();
            }
            for column in scalars(table, media) {
                let other = name(table, column);
                if ui.radio(label == Some(column), other).clicked() {
                    self.state.label = other.to_owned();
                }
            }
            if !media.captions.is_empty() {
                ui.separator();
                ui.label(theme::dim(Theme::of(ui), "A line of text below"));
                if ui.radio(self.state.caption.is_empty(), "none ").clicked() {
                    self.state.caption.clear();
                }
                for column in &media.captions {
                    let other = name(table, *column);
                    if ui.radio(self.state.caption == other, format!("{other} ")).clicked() {
                        self.state.caption = other.to_owned();
                    }
                }
            }
        });
    }

    /// Boxes, key points and masks, where there are any.
    fn overlays(&mut self, ui: &mut Ui, media: &Media) {
        let switch = |ui: &mut Ui, hidden: &mut bool, words: &str| {
            let mut shown = !*hidden;
            if ui.add(Checkbox::new(&mut shown, words)).changed() {
                *hidden = !shown;
            }
        };
        if let Some(boxes) = &media.boxes {
            let words = if self.state.hide_boxes { "boxes: off" } else { "boxes: on" };
            let format = self.state.boxes.unwrap_or(boxes.format);
            drop_form(ui, words, "Boxes on pictures", |ui| {
                switch(ui, &mut self.state.hide_boxes, "Draw the boxes");
                ui.separator();
                for (other, words) in BoxFormat::ALL {
                    if ui.radio(format == other, words).clicked() {
                        self.state.boxes = Some(other);
                    }
                }
            });
        }
        if media.key_points.is_some() {
            switch(ui, &mut self.state.hide_points, "points");
        }
        if media.mask.is_some() {
            switch(ui, &mut self.state.hide_mask, "mask");
        }
    }
}

/// The columns that can be labels: those that may be, then all others of single values.
fn scalars(table: &dyn Table, media: &Media) -> Vec<usize> {
    const MOST: usize = 60;
    let likely: Vec<usize> = media.labels.iter().map(|label| label.column).collect();
    let fields = table.schema().fields();
    let others = fields.iter().enumerate().take(256).filter(|(column, field)| {
        let single = !field.data_type().is_nested() && media.column(*column).is_none();
        single && !likely.contains(column)
    });
    likely.iter().copied().chain(others.map(|(column, _)| column)).take(MOST).collect()
}

/// A name for a button.
fn short(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}
