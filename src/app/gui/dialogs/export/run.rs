//! An export that was started from the dialog: its progress and its end. It goes on where the dialog is closed.

use std::time::Duration;

use egui::{RichText, Ui};

use super::form;
use crate::gui::commands::Action;
use crate::gui::exports::{self, Entry, ExportOutcome, Exports, State};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Severity, Theme, space};

/// What a person wants after looking at it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Stay,
    Back,
    Close,
}

/// Draws the export of this number.
pub(super) fn ui(ui: &mut Ui, exports: &Exports, id: u64, actions: &mut Vec<Action>) -> Answer {
    exports.mark_seen(id);
    let Some(entry) = exports.get(id) else { return Answer::Close };
    let path = entry.path.display().to_string();
    ui.add(egui::Label::new(theme::mono(&path)).truncate()).on_hover_text(&path);
    ui.add_space(space::S2);
    match &entry.state {
        State::Waiting | State::Running(..) => running(ui, exports, &entry),
        State::Done(written) => done(ui, &entry, written, actions),
        State::Failed(error) => {
            form::problem(ui, "It could not be written", &error.to_string());
            ended(ui)
        }
        State::Cancelled => {
            let words = [("Nothing was left behind.", None)];
            theme::problem_banner(ui, Severity::Info, "Cancelled", &words);
            ended(ui)
        }
    }
}

fn running(ui: &mut Ui, exports: &Exports, entry: &Entry) -> Answer {
    ui.ctx().request_repaint_after(Duration::from_millis(100));
    let theme = Theme::of(ui);
    exports::progress_bar(ui, theme, entry.fraction());
    ui.label(theme::dim(theme, entry.words()));
    ui.add_space(space::S3);
    let mut answer = Answer::Stay;
    ui.horizontal(|ui| {
        if theme::primary_button(ui, "Run in background").clicked() {
            answer = Answer::Close;
        }
        let enabled = !entry.is_stopping();
        if ui.add_enabled_ui(enabled, |ui| theme::button(ui, "Cancel")).inner.clicked() {
            exports.cancel(entry.id);
        }
    });
    answer
}

fn done(ui: &mut Ui, entry: &Entry, written: &ExportOutcome, actions: &mut Vec<Action>) -> Answer {
    let theme = Theme::of(ui);
    ui.horizontal(|ui| {
        ui.label(theme::icon(Icon::Good).color(theme.good));
        ui.label(RichText::new(written.words()).color(theme.good));
    });
    for note in written.notes.iter().take(50) {
        ui.horizontal_wrapped(|ui| {
            ui.label(theme::icon(Icon::Warning).color(theme.warn));
            ui.label(note.to_string());
        });
    }
    ui.add_space(space::S3);
    let mut answer = Answer::Stay;
    ui.horizontal(|ui| {
        if theme::primary_button(ui, "Open it").clicked() {
            actions.push(Action::Open(vec![entry.path.to_path_buf()]));
            answer = Answer::Close;
        }
        if theme::button(ui, "Reveal in the file manager").clicked() {
            actions.push(Action::Reveal(entry.path.to_path_buf()));
        }
        if theme::button(ui, "Done").clicked() {
            answer = Answer::Close;
        }
    });
    answer
}

/// What can be done where there is no file.
fn ended(ui: &mut Ui) -> Answer {
    ui.add_space(space::S3);
    let mut answer = Answer::Stay;
    ui.horizontal(|ui| {
        if theme::button(ui, "Back").clicked() {
            answer = Answer::Back;
        }
        if theme::button(ui, "Close").clicked() {
            answer = Answer::Close;
        }
    });
    answer
}
