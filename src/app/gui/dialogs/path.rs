//! *Open by path*: a path is typed or pasted; names in its folder are offered.

use std::path::{Path, PathBuf};

use egui::{Key, TextEdit, Ui};
use gander::bytes::display;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::{head, height_left, room};
use crate::gui::commands::Action;
use crate::gui::theme::{self, Theme, size, space};
use crate::gui::ui::paint_elided;

/// The state of the dialog.
#[derive(Default)]
pub(crate) struct OpenPath {
    text: String,
    instead: bool,
    focused: bool,
    names: Slot<PathBuf, Vec<Name>>,
    chosen: usize,
}

/// A name in a folder.
struct Name {
    name: String,
    folder: bool,
}

/// How many names are offered.
const OFFERED: usize = 10;

impl OpenPath {
    pub(super) fn new(instead: bool) -> Self {
        OpenPath { instead, ..OpenPath::default() }
    }

    /// Draws it; true if it is to be closed.
    pub(super) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, actions: &mut Vec<Action>) -> bool {
        room(ui, 620.0, 460.0);
        let close = head(ui, "Open by path");
        let theme = Theme::of(ui);
        if self.instead {
            ui.label(theme::dim(
                theme,
                "This desktop offers no file dialog. Type or paste a path, or drop files.",
            ));
            ui.add_space(space::S1);
        }
        let (up, down, tab, enter) = ui.input_mut(|input| {
            let mut pressed = |key| input.consume_key(egui::Modifiers::NONE, key);
            (pressed(Key::ArrowUp), pressed(Key::ArrowDown), pressed(Key::Tab), pressed(Key::Enter))
        });
        let edit = TextEdit::singleline(&mut self.text)
            .hint_text("/folder/file or ~/file")
            .font(theme::mono_font())
            .lock_focus(true)
            .desired_width(f32::INFINITY)
            .margin(egui::Margin::symmetric(8, 6));
        let mut output = edit.show(ui);
        let response = output.response.response.clone();
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Path"));
        if !std::mem::replace(&mut self.focused, true) {
            response.request_focus();
        }
        if response.changed() {
            self.chosen = 0;
        }
        ui.add_space(space::S2);
        let offered = self.offered(jobs);
        let last = offered.len().saturating_sub(1);
        if up {
            self.chosen = self.chosen.saturating_sub(1);
        }
        if down {
            self.chosen = (self.chosen + 1).min(last);
        }
        let mut take = tab.then_some(self.chosen);
        self.rows(ui, &offered, &mut take);
        if let Some((name, folder)) = take.and_then(|index| offered.get(index)) {
            self.complete(name, *folder);
            let end = egui::text::CCursor::new(self.text.chars().count());
            output.state.cursor.set_char_range(Some(egui::text::CCursorRange::one(end)));
            output.state.store(ui.ctx(), response.id);
            response.request_focus();
            ui.ctx().request_repaint();
        }
        ui.add_space(space::S3);
        let mut go = enter;
        ui.horizontal(|ui| {
            go |= theme::primary_button(ui, "Open").clicked();
            ui.label(theme::dim(theme, "Tab completes a name, Enter opens"));
        });
        if go && !self.text.trim().is_empty() {
            actions.push(Action::Open(vec![expand(self.text.trim())]));
            return true;
        }
        close
    }

    /// The names in the folder that was typed so far which begin like its last part.
    fn offered(&self, jobs: &Jobs) -> Vec<(String, bool)> {
        let (folder, begin) = split(&self.text);
        let wanted = folder.clone();
        let shown = self.names.get(jobs, &folder, JobSpec::view(""), move |task| list(task, &wanted));
        let Some(names) = shown.ready() else { return Vec::new() };
        let begin = begin.to_lowercase();
        let fits = names.iter().filter(|name| {
            name.name.to_lowercase().starts_with(&begin)
                && (begin.starts_with('.') || !name.name.starts_with('.'))
        });
        fits.take(OFFERED).map(|name| (name.name.clone(), name.folder)).collect()
    }

    fn rows(&self, ui: &mut Ui, offered: &[(String, bool)], take: &mut Option<usize>) {
        let theme = Theme::of(ui);
        // Ten rows high from the start, so that nothing jumps while names come in.
        let height = (OFFERED as f32 * size::ROW).min(height_left(ui, 240.0));
        let (area, _) =
            ui.allocate_exact_size(egui::vec2(ui.available_width(), height), egui::Sense::hover());
        for (index, (name, folder)) in offered.iter().enumerate() {
            let top = area.top() + index as f32 * size::ROW;
            let rect =
                egui::Rect::from_min_size(egui::pos2(area.left(), top), egui::vec2(area.width(), size::ROW));
            if rect.bottom() > area.bottom() + 1.0 {
                break;
            }
            let response = ui.interact(rect, ui.scope_id().with(("name", index)), egui::Sense::click());
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, name));
            if index == self.chosen || response.hovered() {
                let fill = if index == self.chosen { theme.selection } else { theme.bg3 };
                ui.painter().rect_filled(rect, size::CORNER, fill);
            }
            let words = if *folder { format!("{name}/") } else { name.clone() };
            let inner = rect.shrink2(egui::vec2(space::S2, 0.0));
            let (at, anchor) = (inner.left_center(), egui::Align2::LEFT_CENTER);
            paint_elided(ui.painter(), at, anchor, &words, theme::mono_font(), theme.text, inner.width());
            if response.clicked() {
                *take = Some(index);
            }
        }
    }

    fn complete(&mut self, name: &str, folder: bool) {
        let cut = self.text.rfind('/').map_or(0, |at| at + 1);
        self.text.truncate(cut);
        self.text.push_str(name);
        if folder {
            self.text.push('/');
        }
        self.chosen = 0;
    }
}

/// The folder of what was typed, and the beginning of a name in it.
fn split(text: &str) -> (PathBuf, String) {
    let (folder, begin) = text.rsplit_once('/').map_or(("", text), |(folder, begin)| (folder, begin));
    let folder = if folder.is_empty() && text.starts_with('/') { "/" } else { folder };
    let folder = if folder.is_empty() { PathBuf::from(".") } else { expand(folder) };
    (folder, begin.to_owned())
}

/// `~` and `file://` as paths.
fn expand(text: &str) -> PathBuf {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let text = text.trim_matches(['"', '\'']);
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    match (text.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    }
}

/// The names in a folder, folders first, in natural order.
fn list(task: &Task, folder: &Path) -> Result<Vec<Name>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::from)? {
        task.check()?;
        let entry = entry.map_err(Error::from)?;
        let folder = entry.path().is_dir();
        names.push(Name { name: entry.file_name().to_string_lossy().into_owned(), folder });
    }
    names.sort_by(|a, b| b.folder.cmp(&a.folder).then_with(|| display::natural_order(&a.name, &b.name)));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_path_has_a_folder_and_a_beginning() {
        assert_eq!(split("/data/tr"), (PathBuf::from("/data"), "tr".to_owned()));
        assert_eq!(split("/da"), (PathBuf::from("/"), "da".to_owned()));
        assert_eq!(split("da"), (PathBuf::from("."), "da".to_owned()));
        assert_eq!(expand("file:///a/b"), PathBuf::from("/a/b"));
        assert_eq!(expand("'/a b'"), PathBuf::from("/a b"));
    }

    #[test]
    fn completing_replaces_the_last_part() {
        let mut dialog = OpenPath { text: "/data/tr".to_owned(), ..OpenPath::default() };
        dialog.complete("train", true);
        assert_eq!(dialog.text, "/data/train/");
    }
}
