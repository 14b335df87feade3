//! The list of exports, as the status bar opens it: a row for each with what can be done about it.

use egui::{Align, Color32, Frame, Label, Layout, ProgressBar, RichText, ScrollArea, Ui};
use gander::bytes::display;

use super::{Entry, Exports, State};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, size, space};

/// The width of the list.
pub(crate) const WIDTH: f32 = 440.0;
/// Files of a batch that are named where they failed.
const FAILURES: usize = 20;
/// Where the words of a row begin, right of its icon.
const INDENT: f32 = 23.0;

impl Exports {
    /// Draws the list; the newest stands on top. What has ended counts as seen.
    pub(crate) fn ui(&self, ui: &mut Ui, actions: &mut Vec<Action>) {
        self.mark(|_| true);
        // The margins of a menu are made for rows that have their own.
        let frame = Frame::new().inner_margin(space::S2);
        frame.show(ui, |ui| self.rows(ui, &self.list(), actions));
    }

    fn rows(&self, ui: &mut Ui, list: &[Entry], actions: &mut Vec<Action>) {
        ui.set_width(WIDTH);
        ui.horizontal(|ui| {
            theme::section_head(ui, "Exports", None);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let ended = list.iter().any(|entry| entry.state.has_ended());
                if ended && ui.link("Clear the list").on_hover_text("No file is touched").clicked() {
                    self.clear();
                }
            });
        });
        let height = (ui.ctx().content_rect().height() * 0.6).max(120.0);
        ScrollArea::vertical().max_height(height).auto_shrink([false, true]).show(ui, |ui| {
            for entry in list.iter().rev() {
                ui.push_id(entry.id, |ui| self.row(ui, entry, actions));
            }
        });
    }

    fn row(&self, ui: &mut Ui, entry: &Entry, actions: &mut Vec<Action>) {
        let theme = Theme::of(ui);
        let (icon, color) = sign(theme, entry);
        ui.horizontal(|ui| {
            ui.set_height(size::ROW);
            ui.spacing_mut().item_spacing.x = space::S2;
            ui.label(theme::icon(icon).color(color));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.spacing_mut().item_spacing.x = 0.0;
                self.buttons(ui, entry, actions);
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let name = RichText::new(entry.name()).color(theme.text);
                    ui.add(Label::new(name).truncate()).on_hover_text(entry.path.display().to_string());
                });
            });
        });
        let color = if matches!(entry.state, State::Failed(_)) { theme.bad } else { theme.dim };
        if matches!(entry.state, State::Running(..)) {
            indented(ui, |ui| progress_bar(ui, theme, entry.fraction()));
        }
        indented(ui, |ui| drop(ui.add(Label::new(RichText::new(entry.words()).color(color)).wrap())));
        self.details(ui, entry);
        ui.add_space(space::S2);
    }

    fn details(&self, ui: &mut Ui, entry: &Entry) {
        let theme = Theme::of(ui);
        if let State::Done(written) = &entry.state {
            for note in written.notes.iter().take(FAILURES) {
                indented(ui, |ui| warning(ui, theme.warn, Icon::Warning, &note.to_string()));
            }
        }
        let Some(batch) = &entry.batch else { return };
        for (name, why) in batch.failures(FAILURES) {
            indented(ui, |ui| warning(ui, theme.bad, Icon::Error, &format!("{name}: {why}")));
        }
        let more = batch.counts().failed.saturating_sub(FAILURES);
        if more > 0 {
            let words = format!("and {}", display::plural(more as u64, "other file"));
            indented(ui, |ui| drop(ui.label(theme::dim(theme, words))));
        }
    }

    /// What can be done, from the right.
    fn buttons(&self, ui: &mut Ui, entry: &Entry, actions: &mut Vec<Action>) {
        let name = entry.name();
        if !entry.state.has_ended() {
            let enabled = !entry.is_stopping();
            let cancel = |ui: &mut Ui| theme::icon_button(ui, Icon::Close, &format!("Cancel {name}"));
            if ui.add_enabled_ui(enabled, cancel).inner.clicked() {
                self.cancel(entry.id);
            }
            let waits = matches!(entry.state, State::Waiting);
            if waits && theme::icon_button(ui, Icon::Play, &format!("Start {name} now")).clicked() {
                self.start_now(entry.id);
            }
            return;
        }
        if theme::icon_button(ui, Icon::Close, &format!("Take {name} off the list")).clicked() {
            self.remove(entry.id);
        }
        let written = match &entry.batch {
            Some(batch) => batch.counts().written > 0,
            None => matches!(entry.state, State::Done(_)),
        };
        if !written {
            return;
        }
        if theme::icon_button(ui, Icon::FolderOpen, &format!("Reveal {name} in the file manager")).clicked() {
            actions.push(Action::Reveal(entry.path.to_path_buf()));
        }
        if entry.batch.is_some() {
            return;
        }
        if theme::icon_button(ui, Icon::OpenOutside, &format!("Open {name}")).clicked() {
            actions.push(Action::Open(vec![entry.path.to_path_buf()]));
            ui.close();
        }
    }
}

/// The icon of a row and its colour; the words say the same.
fn sign(theme: &Theme, entry: &Entry) -> (Icon, Color32) {
    match &entry.state {
        State::Waiting => (Icon::Hourglass, theme.dim),
        State::Running(..) => (Icon::Export, theme.accent),
        State::Done(_) if entry.is_bad() => (Icon::Problem, theme.warn),
        State::Done(_) => (Icon::Good, theme.good),
        State::Failed(_) => (Icon::Error, theme.bad),
        State::Cancelled => (Icon::Stop, theme.dim),
    }
}

/// How far it is; where that is not known, an empty bar.
pub(crate) fn progress_bar(ui: &mut Ui, theme: &Theme, fraction: Option<f32>) {
    ui.scope(|ui| {
        ui.visuals_mut().extreme_bg_color = theme.bg3;
        let bar = ProgressBar::new(fraction.unwrap_or(0.0)).desired_width(ui.available_width());
        ui.add(bar.desired_height(6.0).fill(theme.accent));
    });
}

fn indented(ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    ui.horizontal_top(|ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        ui.add_space(INDENT);
        ui.vertical(content);
    });
}

fn warning(ui: &mut Ui, color: Color32, icon: Icon, words: &str) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = space::S1;
        ui.label(theme::icon(icon).color(color));
        ui.label(words);
    });
}
