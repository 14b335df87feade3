//! *Convert…*: many files to one file type in one folder, a line each. What fails does not stop the rest.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use egui::{Align, Layout, RichText, ScrollArea, Ui};
use gander::bytes::display;
use gander::convert::{Consent, TARGETS, Target as FileType};
use gander::data::format::Options;
use gander::jobs::{JobSpec, Jobs, Slot};

use super::super::{head, room};
use super::form;
use crate::gui::commands::Action;
use crate::gui::exports::{self, Conversion, Exports, Line, Progress, State};
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};

/// The formats that most people want, by their ids.
const USUAL: [&str; 8] = ["parquet", "csv", "jsonl", "npy", "npz", "safetensors", "hdf5", "png"];

/// What the first look says of a file: what would be lost, or why it cannot be done.
type Look = std::result::Result<Vec<(String, bool)>, String>;

/// The state of the dialog.
pub(crate) struct Batch {
    files: Arc<[PathBuf]>,
    file_type: &'static FileType,
    options: Options,
    folder: String,
    consent: Consent,
    verify: Option<bool>,
    looks: Slot<(&'static str, Options), Vec<Look>>,
    /// The number of the export that was started, and how far each file is.
    started: Option<(u64, Arc<Progress>)>,
}

impl Batch {
    /// A dialog for these files; `None` if no file type can be written at all.
    pub(crate) fn new(files: Vec<PathBuf>) -> Option<Self> {
        let folder =
            files.first().and_then(|file| file.parent()).unwrap_or(Path::new("")).display().to_string();
        Some(Batch {
            file_type: TARGETS.first().copied()?,
            files: files.into(),
            options: Options::default(),
            folder,
            consent: Consent::default(),
            verify: None,
            looks: Slot::default(),
            started: None,
        })
    }

    /// Takes a folder that was chosen in the desktop's dialog.
    pub(crate) fn save_into(&mut self, folder: &Path) {
        self.folder = folder.display().to_string();
    }

    /// Draws it; true if it is to be closed.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        exports: &Exports,
        actions: &mut Vec<Action>,
    ) -> bool {
        room(ui, 680.0, 640.0);
        let title = format!("Convert {}", display::plural(self.files.len() as u64, "file"));
        let close = head(ui, &title);
        let begun = self.started.is_some();
        ui.add_enabled_ui(!begun, |ui| {
            // A small window scrolls the form; where the files go, the files and what can be done stay in sight below it.
            let rest = self.list_height() + 260.0;
            let height = (ui.ctx().content_rect().height() - rest).max(90.0);
            ScrollArea::vertical().id_salt("form").max_height(height).auto_shrink([false, true]).show(
                ui,
                |ui| {
                    self.form(ui);
                },
            );
            ui.add_space(space::S2);
            self.place(ui, actions);
        });
        ui.add_space(space::S2);
        let looks = if begun { self.looks.peek(&self.looked_at()).ready() } else { self.look(jobs) };
        let state = self.started.as_ref().and_then(|(id, _)| Some(exports.get(*id)?.state));
        let runs = state.as_ref().is_some_and(|state| !state.has_ended());
        if let Some((id, _)) = &self.started {
            exports.mark_seen(*id);
        }
        self.list(ui, looks.as_deref().map(Vec::as_slice), runs);
        ui.add_space(space::S3);
        self.foot(ui, exports, looks.is_some(), state.as_ref()) || close
    }

    /// The format, and its options.
    fn form(&mut self, ui: &mut Ui) {
        let mut chosen = self.file_type.id;
        let types: Vec<&'static FileType> = TARGETS.iter().copied().collect();
        form::formats(ui, &types, &USUAL, |ui, file_type| {
            ui.selectable_value(&mut chosen, file_type.id, file_type.name);
        });
        if chosen != self.file_type.id
            && let Some(file_type) = FileType::by_id(chosen)
        {
            self.file_type = file_type;
            self.options = Options::default();
            self.consent.lose = false;
        }
        form::options(ui, self.file_type, self.file_type.options().iter(), &mut self.options);
    }

    /// Where the files go, and what is agreed to.
    fn place(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let mut folder = std::mem::take(&mut self.folder);
        form::row(ui, "Into", |ui| {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if theme::button(ui, "Choose…").clicked() {
                    actions.push(Action::AskFolder);
                }
                let edit = egui::TextEdit::singleline(&mut folder).font(theme::mono_font());
                let edit =
                    ui.add(edit.desired_width(ui.available_width()).margin(egui::Margin::symmetric(8, 5)));
                edit.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Into"));
            });
        });
        self.folder = folder;
        form::row(ui, "", |ui| {
            ui.checkbox(&mut self.consent.overwrite, "Replace files that exist");
            ui.checkbox(&mut self.consent.lose, "Write also where values get lost");
            let mut verify = self.verify.unwrap_or(true);
            if ui.checkbox(&mut verify, "Verify").on_hover_text("Read back and compare every value").changed()
            {
                self.verify = Some(verify);
            }
        });
    }

    fn looked_at(&self) -> (&'static str, Options) {
        (self.file_type.id, self.options.clone())
    }

    /// A first look at each file, without reading values.
    fn look(&self, jobs: &Jobs) -> Option<Arc<Vec<Look>>> {
        let key = self.looked_at();
        let (files, file_type, options) = (self.files.clone(), self.file_type, self.options.clone());
        let shown = self.looks.get(jobs, &key, JobSpec::scan("looking at the files"), move |task| {
            let mut looks = Vec::new();
            task.set_total(files.len() as u64);
            for file in files.iter() {
                task.advance(1)?;
                looks.push(match exports::plan_file(task, file, file_type, &options) {
                    Ok(plan) => Ok(plan.losses.iter().map(|loss| (loss.to_string(), loss.serious)).collect()),
                    Err(error) => Err(error.message()),
                });
            }
            Ok(looks)
        });
        shown.ready()
    }

    /// The height of the list of files, in points.
    fn list_height(&self) -> f32 {
        (self.files.len() as f32 * 28.0).clamp(28.0, 200.0)
    }

    fn list(&self, ui: &mut Ui, looks: Option<&[Look]>, runs: bool) {
        ScrollArea::vertical().max_height(self.list_height()).auto_shrink([false, true]).show_rows(
            ui,
            20.0,
            self.files.len(),
            |ui, range| {
                for index in range {
                    let look = looks.and_then(|looks| looks.get(index));
                    self.line(ui, index, look, runs);
                }
            },
        );
    }

    fn line(&self, ui: &mut Ui, index: usize, look: Option<&Look>, runs: bool) {
        let theme = Theme::of(ui);
        let Some(file) = self.files.get(index) else { return };
        let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let (icon, color, words, tip) = match (self.started.as_ref(), look) {
            (Some((_, progress)), _) => how_far(theme, progress.line(index), runs),
            (None, None) => (Icon::Hourglass, theme.faint, "…".to_owned(), String::new()),
            (None, Some(Err(why))) => (Icon::Problem, theme.bad, why.clone(), why.clone()),
            (None, Some(Ok(losses))) => told(theme, losses),
        };
        ui.horizontal(|ui| {
            ui.set_height(20.0);
            ui.label(theme::icon(icon).color(color));
            let half = ui.available_width() * 0.4;
            ui.allocate_ui_with_layout(egui::vec2(half, 20.0), Layout::left_to_right(Align::Center), |ui| {
                ui.set_width(half);
                ui.add(egui::Label::new(name).truncate()).on_hover_text(file.display().to_string());
            });
            let label = ui.add(egui::Label::new(RichText::new(words).color(color)).truncate());
            if !tip.is_empty() {
                label.on_hover_text(tip);
            }
        });
    }

    fn foot(&mut self, ui: &mut Ui, exports: &Exports, looked: bool, state: Option<&State>) -> bool {
        let mut close = false;
        ui.horizontal(|ui| match &self.started {
            None => {
                let ready = looked && !self.folder.trim().is_empty();
                if ui.add_enabled_ui(ready, |ui| theme::primary_button(ui, "Convert")).inner.clicked() {
                    self.start(exports);
                }
                close = theme::button(ui, "Cancel").clicked();
            }
            Some((id, progress)) if state.is_some_and(|state| !state.has_ended()) => {
                ui.ctx().request_repaint_after(Duration::from_millis(150));
                close = theme::primary_button(ui, "Run in background").clicked();
                if theme::button(ui, "Cancel").clicked() {
                    exports.cancel(*id);
                }
                ui.label(theme::dim(Theme::of(ui), progress.counts().words()));
            }
            Some((_, progress)) => {
                close = theme::primary_button(ui, "Done").clicked();
                let cancelled = matches!(state, Some(State::Cancelled));
                let words = progress.counts().words();
                let words = if cancelled { format!("Cancelled: {words}") } else { words };
                ui.label(theme::dim(Theme::of(ui), words));
            }
        });
        close
    }

    fn start(&mut self, exports: &Exports) {
        self.started = Some(exports.convert(Conversion {
            files: self.files.clone(),
            file_type: self.file_type,
            options: self.options.clone(),
            folder: PathBuf::from(self.folder.trim()),
            consent: self.consent,
            verify: self.verify,
        }));
    }
}

/// How far a file is, as icon, colour, words and tool tip.
fn how_far(theme: &Theme, line: Line, runs: bool) -> (Icon, egui::Color32, String, String) {
    let said = |icon, color, words: &str| (icon, color, words.to_owned(), String::new());
    match line {
        Line::Waiting if runs => said(Icon::Hourglass, theme.dim, "waits"),
        Line::Waiting => said(Icon::Stop, theme.dim, "was not begun"),
        Line::Running => said(Icon::Hourglass, theme.accent, "is being written"),
        Line::Cancelled => said(Icon::Stop, theme.dim, "Cancelled"),
        Line::Failed(why) => (Icon::Error, theme.bad, why.clone(), why),
        Line::Done(bytes, 0) => said(Icon::Good, theme.good, &display::bytes(bytes)),
        Line::Done(bytes, remarks) => {
            let words = format!("{} · {}", display::bytes(bytes), display::plural(remarks, "remark"));
            said(Icon::Good, theme.good, &words)
        }
    }
}

/// What the first look says of a file that can be converted.
fn told(theme: &Theme, losses: &[(String, bool)]) -> (Icon, egui::Color32, String, String) {
    let all: Vec<&str> = losses.iter().map(|(words, _)| words.as_str()).collect();
    let serious = losses.iter().filter(|(_, serious)| *serious).count() as u64;
    match (losses.len() as u64, serious) {
        (0, _) => (Icon::Check, theme.good, "nothing is lost".to_owned(), String::new()),
        (many, 0) => (Icon::Warning, theme.warn, display::plural(many, "remark"), all.join("\n")),
        (_, serious) => {
            let words = format!("values get lost: {}", display::plural(serious, "place"));
            (Icon::Problem, theme.bad, words, all.join("\n"))
        }
    }
}
