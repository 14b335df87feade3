//! Which way round planes are drawn: the right way up, as stored, from which side of a body; said, and to be switched.

use egui::{Ui, vec2};
use gander::data::axes::PlaneHeadings;
use gander::data::plane::Orientation;
use serde::{Deserialize, Serialize};

use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size};

/// Which way round planes are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Upright {
    /// As they are stored, with the first row on top.
    pub(crate) as_stored: bool,
    /// With the right of a body at the left.
    pub(crate) radiological: bool,
    /// The turn that the file asks for.
    #[serde(skip)]
    pub(crate) asked: Orientation,
}

impl Upright {
    /// The mirror that brings a plane the right way up.
    pub(crate) fn orientation(self, facing: PlaneHeadings) -> Orientation {
        match self.as_stored {
            true => Orientation::default(),
            false => self.asked.then(facing.orientation(self.radiological)),
        }
    }
}

/// Which way round it is drawn, where there are so many points more than that needs.
pub(super) fn upright_words(ui: &mut Ui, facing: PlaneHeadings, upright: Upright, room: f32) {
    let words = if upright.as_stored { "as stored" } else { facing.words(upright.radiological) };
    if ui.available_width() > 100.0 + room + 7.0 * words.chars().count() as f32 {
        ui.label(theme::dim(Theme::of(ui), words));
    }
}

/// Which way round planes are drawn, behind one button.
pub(super) fn upright_menu(ui: &mut Ui, facing: PlaneHeadings, upright: &mut Upright) {
    let button = egui::Button::new(theme::icon(Icon::FlipHorizontal).color(Theme::of(ui).dim))
        .frame_when_inactive(false)
        .min_size(vec2(size::ROW, size::ROW));
    let (response, _) = egui::containers::menu::MenuButton::from_button(button).ui(ui, |ui| {
        upright_choices(ui, facing, upright);
    });
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Which way up"));
    response.on_hover_text(if upright.as_stored { "as stored" } else { facing.words(upright.radiological) });
}

/// The right way up in its words, or as stored; for bodies from which side. True if one was chosen.
pub(super) fn upright_choices(ui: &mut Ui, facing: PlaneHeadings, upright: &mut Upright) -> bool {
    let before = *upright;
    let mut chosen = false;
    let words = format!("Right way up: {}", facing.words(upright.radiological));
    for (as_stored, words) in [(false, words.as_str()), (true, "As stored: row 0 on top")] {
        if ui.selectable_label(upright.as_stored == as_stored, words).clicked() {
            upright.as_stored = as_stored;
            chosen = true;
            ui.close();
        }
    }
    if facing.is_sided() {
        ui.checkbox(&mut upright.radiological, "Radiological: right at the left");
    }
    chosen || before != *upright
}
