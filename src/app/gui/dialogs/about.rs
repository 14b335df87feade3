//! What Gander is and what it stands on.

use egui::Ui;

use super::{head, room};
use crate::gui::theme::{self, Theme, space};

/// Draws it; true if it is to be closed.
pub(super) fn ui(ui: &mut Ui) -> bool {
    room(ui, 420.0, 440.0);
    let close = head(ui, "About Gander");
    let theme = Theme::of(ui);
    ui.label(theme::mono(concat!("gander ", env!("CARGO_PKG_VERSION"))).color(theme.text));
    ui.add_space(space::S2);
    ui.label(env!("CARGO_PKG_DESCRIPTION"));
    ui.add_space(space::S2);
    ui.label("It reads files and never changes them, works without a network, and sends nothing anywhere.");
    ui.add_space(space::S2);
    let formats = gander::formats::FORMATS.len();
    ui.label(theme::dim(theme, format!("{formats} formats are known; `gander formats` lists them.")));
    ui.add_space(space::S2);
    ui.label(theme::dim(theme, crate::isolation::words()));
    ui.add_space(space::S2);
    ui.label(theme::dim(theme, concat!("License: ", env!("CARGO_PKG_LICENSE"))));
    ui.label(theme::dim(theme, "Fonts: Inter and JetBrains Mono (SIL OFL 1.1), Phosphor icons (MIT)"));
    close
}
