//! *Export…*.

use egui::Ui;
use gander::format::Data;
use gander::jobs::Jobs;

use super::{head, room};
use crate::gui::commands::Action;
use crate::gui::views::Target;

/// The state of the dialog.
pub(crate) struct Export {
    target: Target,
    part: Option<(String, Data)>,
}

impl Export {
    pub(super) fn new(target: Target, part: Option<(String, Data)>) -> Self {
        Export { target, part }
    }

    pub(super) fn is_busy(&self) -> bool {
        false
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(&mut self, ui: &mut Ui, _jobs: &Jobs, _actions: &mut Vec<Action>) -> bool {
        room(ui, 620.0, 560.0);
        let close = head(ui, "Export");
        let what = self.part.as_ref().map_or_else(|| self.target.address(), |(words, _)| words.clone());
        ui.label(what);
        close
    }
}
