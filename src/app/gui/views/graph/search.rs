//! The field that finds nodes, and which of them is looked at.

use std::sync::Arc;

use egui::{Key, Margin, Role, TextEdit, Ui, WidgetInfo};
use gander::bytes::display;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::find::{Found, find};
use super::scene::Outlined;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme};

/// The state of the field.
#[derive(Default)]
pub(super) struct Search {
    text: String,
    found: Slot<String, Found>,
    now: Option<Arc<Found>>,
    /// Which of them is looked at.
    at: Option<usize>,
    /// A step that waits for what is found.
    step: Option<isize>,
    wanted: Option<u32>,
    focus: bool,
}

impl Search {
    /// Puts the cursor into the field.
    pub(super) fn focus(&mut self) {
        self.focus = true;
    }

    /// Forgets what was found: another graph is looked at.
    pub(super) fn leave(&mut self) {
        self.found.clear();
        (self.now, self.at, self.wanted) = (None, None, None);
    }

    /// What was found, where something is looked for.
    pub(super) fn found(&self) -> Option<Arc<Found>> {
        self.now.clone()
    }

    /// The node that is to be looked at, said once.
    pub(super) fn wanted(&mut self) -> Option<u32> {
        self.wanted.take()
    }

    /// Looks for what stands in the field.
    pub(super) fn follow(&mut self, jobs: &Jobs, of: &Arc<Outlined>) {
        let text = self.text.trim().to_owned();
        if text.is_empty() {
            (self.now, self.at, self.step) = (None, None, None);
            return;
        }
        let (of, words) = (of.clone(), text.clone());
        let shown = self
            .found
            .get(jobs, &text, JobSpec::view("looking for nodes"), move |task| find(task, &of, &words));
        let Some(found) = shown.ready() else { return };
        if self.now.as_ref().is_none_or(|now| !Arc::ptr_eq(now, &found)) {
            (self.now, self.at) = (Some(found.clone()), None);
        }
        let count = found.nodes.len() as isize;
        if let Some(step) = self.step.take().filter(|_| count > 0) {
            let at = match self.at {
                Some(at) => (at as isize + step).rem_euclid(count),
                None if step < 0 => count - 1,
                None => 0,
            };
            self.at = Some(at as usize);
            self.wanted = found.nodes.get(at as usize).copied();
        }
    }

    /// Looks at the next or previous of what was found.
    pub(super) fn step(&mut self, by: isize) -> bool {
        self.step = Some(by);
        !self.text.trim().is_empty()
    }

    /// Draws the field, and which of how many is looked at.
    pub(super) fn ui(&mut self, ui: &mut Ui) {
        let theme = Theme::of(ui);
        let width = (ui.available_width() - 130.0).clamp(60.0, 220.0);
        let edit =
            TextEdit::singleline(&mut self.text).hint_text("Find a node or tensor").desired_width(width);
        let edit = ui.add(edit.margin(Margin::symmetric(8, 4)));
        edit.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Find a node or tensor"));
        if std::mem::take(&mut self.focus) {
            edit.request_focus();
        }
        let pressed = |key| ui.input(|input| input.key_pressed(key));
        if edit.lost_focus() && pressed(Key::Enter) {
            let back = ui.input(|input| input.modifiers.shift);
            self.step = Some(if back { -1 } else { 1 });
            edit.request_focus();
        }
        if (edit.has_focus() || edit.lost_focus()) && pressed(Key::Escape) {
            self.text.clear();
        }
        let Some(found) = &self.now else { return };
        let count = found.nodes.len();
        let words = match self.at {
            _ if count == 0 => "none".to_owned(),
            Some(at) => format!("{} of {}", display::count(at as u64 + 1), display::count(count as u64)),
            None => format!("{} found", display::count(count as u64)),
        };
        ui.label(theme::dim(theme, words));
        if count > 0 && theme::icon_button(ui, Icon::CaretDown, "Next node").clicked() {
            self.step = Some(1);
        }
    }
}
