//! *Convert…*: many files to one file type in one folder, a line each. What fails does not stop the rest.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use egui::{Align, Layout, RichText, ScrollArea, Ui};
use gander::bytes::display;
use gander::bytes::error::Result;
use gander::bytes::task::Task;
use gander::convert::{self, Consent, Plan, Selection, TARGETS, Target as FileType};
use gander::data::format::Options;
use gander::jobs::{Jobs, Slot, Wish};

use super::super::{head, room};
use super::{form, run};
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};

/// How far a file is.
#[derive(Clone)]
enum Line {
    Waits,
    Runs,
    Done(u64, usize),
    Failed(String),
}

/// What the first look says of a file: what would be lost, or why it cannot be done.
type Look = std::result::Result<Vec<(String, bool)>, String>;

/// The state of the dialog.
pub(crate) struct Batch {
    files: Vec<PathBuf>,
    file_type: &'static FileType,
    options: Options,
    folder: String,
    consent: Consent,
    looks: Slot<(&'static str, Options), Vec<Look>>,
    /// The conversion, and how far each file is.
    written: Slot<(), Vec<Line>>,
}

impl Batch {
    /// A dialog for these files; `None` if no file type can be written at all.
    pub(crate) fn new(files: Vec<PathBuf>) -> Option<Self> {
        let folder =
            files.first().and_then(|file| file.parent()).unwrap_or(Path::new("")).display().to_string();
        Some(Batch {
            file_type: TARGETS.first().copied()?,
            files,
            options: Options::default(),
            folder,
            consent: Consent::default(),
            looks: Slot::default(),
            written: Slot::default(),
        })
    }

    /// Whether it writes.
    pub(crate) fn is_busy(&self) -> bool {
        self.written.is_busy()
    }

    /// How far each file is; `None` before it was begun.
    fn lines(&self) -> Option<Arc<Vec<Line>>> {
        let shown = self.written.peek(&());
        let begun = shown.runs() || shown.error.is_some();
        shown.so_far().or_else(|| begun.then(Arc::default))
    }

    /// Takes a folder that was chosen in the desktop's dialog.
    pub(crate) fn save_into(&mut self, folder: &Path) {
        self.folder = folder.display().to_string();
    }

    /// Draws it; true if it is to be closed.
    pub(crate) fn ui(&mut self, ui: &mut Ui, jobs: &Jobs, actions: &mut Vec<Action>) -> bool {
        room(ui, 680.0, 640.0);
        let title = format!("Convert {}", display::plural(self.files.len() as u64, "file"));
        let close = head(ui, &title) && !self.is_busy();
        let started = self.lines().is_some();
        ui.add_enabled_ui(!started, |ui| self.form(ui, actions));
        ui.add_space(space::S2);
        let looks = self.look(jobs);
        self.list(ui, looks.as_deref().map(Vec::as_slice));
        ui.add_space(space::S3);
        self.foot(ui, jobs, looks.is_some()) || close
    }

    fn form(&mut self, ui: &mut Ui, actions: &mut Vec<Action>) {
        let mut chosen = self.file_type.id;
        form::row(ui, "Format", |ui| {
            ui.horizontal_wrapped(|ui| {
                for &file_type in TARGETS.iter() {
                    ui.selectable_value(&mut chosen, file_type.id, file_type.name);
                }
            });
        });
        if chosen != self.file_type.id
            && let Some(file_type) = FileType::by_id(chosen)
        {
            self.file_type = file_type;
            self.options = Options::default();
        }
        form::options(ui, self.file_type, &mut self.options);
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
        });
    }

    /// A first look at each file, without reading values.
    fn look(&self, jobs: &Jobs) -> Option<Arc<Vec<Look>>> {
        let key = (self.file_type.id, self.options.clone());
        let (files, file_type, options) = (self.files.clone(), self.file_type, self.options.clone());
        let shown = self.looks.get(jobs, &key, "looking at the files", move |task| {
            let mut looks = Vec::new();
            task.set_total(files.len() as u64);
            for file in &files {
                task.advance(1)?;
                looks.push(match plan(task, file, file_type, &options) {
                    Ok(plan) => Ok(plan.losses.iter().map(|loss| (loss.to_string(), loss.serious)).collect()),
                    Err(error) => Err(error.message()),
                });
            }
            Ok(looks)
        });
        shown.ready()
    }

    fn list(&self, ui: &mut Ui, looks: Option<&[Look]>) {
        let lines = self.lines().unwrap_or_default();
        let height = (self.files.len() as f32 * 28.0).clamp(28.0, 260.0);
        ScrollArea::vertical().max_height(height).auto_shrink([false, true]).show_rows(
            ui,
            20.0,
            self.files.len(),
            |ui, range| {
                for index in range {
                    let look = looks.and_then(|looks| looks.get(index));
                    self.line(ui, index, lines.get(index).unwrap_or(&Line::Waits), look);
                }
            },
        );
    }

    fn line(&self, ui: &mut Ui, index: usize, line: &Line, look: Option<&Look>) {
        let theme = Theme::of(ui);
        let file = &self.files[index];
        let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let (icon, color, words, tip) = match (line, look) {
            (Line::Done(bytes, notes), _) => {
                let more = if *notes > 0 {
                    format!(" · {}", display::plural(*notes as u64, "remark"))
                } else {
                    String::new()
                };
                (Icon::Good, theme.good, format!("{}{more}", display::bytes(*bytes)), String::new())
            }
            (Line::Failed(why), _) => (Icon::Error, theme.bad, why.clone(), why.clone()),
            (Line::Runs, _) if self.is_busy() => {
                (Icon::Hourglass, theme.accent, "is being written".to_owned(), String::new())
            }
            (Line::Runs, _) => (Icon::Stop, theme.dim, "was stopped".to_owned(), String::new()),
            (Line::Waits, None) => (Icon::Hourglass, theme.faint, "…".to_owned(), String::new()),
            (Line::Waits, Some(Err(why))) => (Icon::Problem, theme.bad, why.clone(), why.clone()),
            (Line::Waits, Some(Ok(losses))) => told(theme, losses),
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

    fn foot(&mut self, ui: &mut Ui, jobs: &Jobs, looked: bool) -> bool {
        let mut close = false;
        let busy = self.is_busy();
        if busy {
            ui.ctx().request_repaint_after(Duration::from_millis(150));
        }
        ui.horizontal(|ui| match (self.lines(), busy) {
            (None, _) => {
                let ready = looked && !self.folder.trim().is_empty();
                if ui.add_enabled_ui(ready, |ui| theme::primary_button(ui, "Convert")).inner.clicked() {
                    self.start(jobs);
                }
                close = theme::button(ui, "Cancel").clicked();
            }
            (Some(_), true) => {
                if theme::button(ui, "Cancel").clicked() {
                    self.written.cancel();
                }
            }
            (Some(lines), false) => {
                close = theme::primary_button(ui, "Done").clicked();
                let done = lines.iter().filter(|line| matches!(line, Line::Done(..))).count();
                ui.label(theme::dim(Theme::of(ui), format!("{done} of {} were written", self.files.len())));
            }
        });
        close
    }

    fn start(&self, jobs: &Jobs) {
        let (file_type, options) = (self.file_type, self.options.clone());
        let (folder, consent) = (PathBuf::from(self.folder.trim()), self.consent);
        let title = format!("converting {}", display::plural(self.files.len() as u64, "file"));
        let files = self.files.clone();
        self.written.ask(
            jobs,
            &(),
            || Wish::scan(title),
            move |task, partial| {
                let places = places(&folder, &files, file_type);
                let mut lines = vec![Line::Waits; files.len()];
                for ((file, to), index) in files.iter().zip(places).zip(0..) {
                    task.check()?;
                    lines[index] = Line::Runs;
                    partial.show(lines.clone());
                    let result = gander::bytes::guard::guarded(|| {
                        let plan = plan(task, file, file_type, &options)?;
                        let notes = plan.losses.len();
                        run::write(task, &plan, &to, consent)
                            .map(|done| (done.bytes, notes + done.notes.len()))
                    });
                    lines[index] = match result {
                        Ok((bytes, notes)) => Line::Done(bytes, notes),
                        Err(error) => Line::Failed(error.message()),
                    };
                    partial.show(lines.clone());
                }
                Ok(lines)
            },
        );
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

/// Opens a file and plans its conversion.
fn plan(task: &Task, file: &Path, file_type: &'static FileType, options: &Options) -> Result<Plan> {
    let document = gander::open(task, file, &Options::default())?;
    let items = convert::gather(task, &document.root, "")?;
    convert::plan(&items, file_type, options, &Selection::default())
}

/// The files in the folder that the sources become: none twice, and none that is a source itself.
fn places(folder: &Path, files: &[PathBuf], file_type: &FileType) -> Vec<PathBuf> {
    let ending = file_type.extensions.first().copied().unwrap_or("out");
    let mut taken: HashSet<PathBuf> = files.iter().cloned().collect();
    let free = |file: &PathBuf| {
        let stem = file.file_stem().map_or_else(|| "export".into(), |stem| stem.to_string_lossy());
        let names = (1u32..).map(|n| match n {
            1 => format!("{stem}.{ending}"),
            _ => format!("{stem}_{n}.{ending}"),
        });
        let path = names.map(|name| folder.join(name)).find(|path| !taken.contains(path)).unwrap_or_default();
        taken.insert(path.clone());
        path
    };
    files.iter().map(free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_of_a_batch_replaces_another() {
        let files: Vec<PathBuf> = ["a/data.csv", "b/data.csv", "b/data.json", "out/x.jsonl", "out/x.parquet"]
            .map(PathBuf::from)
            .into();
        let found = places(Path::new("out"), &files, FileType::by_id("parquet").unwrap());
        let names = [
            "out/data.parquet",
            "out/data_2.parquet",
            "out/data_3.parquet",
            "out/x_2.parquet",
            "out/x_3.parquet",
        ];
        assert_eq!(found, names.map(PathBuf::from));
    }
}
