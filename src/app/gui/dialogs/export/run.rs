//! A conversion that runs: its progress, its end, and the proof that what was written can be read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use egui::{ProgressBar, RichText, Ui};
use gander::bytes::display;
use gander::bytes::error::{Error, Result};
use gander::bytes::task::Task;
use gander::convert::{Consent, Done, Plan};
use gander::data::content::{Content, Rows};
use gander::data::format::Options;
use gander::jobs::{Jobs, Shown, Slot};

use super::form;
use crate::gui::commands::Action;
use crate::gui::icons::Icon;
use crate::gui::theme::{self, Theme, space};

/// What a person wants after looking at it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Stay,
    Back,
    Close,
}

/// A conversion that was started.
pub(super) struct Run {
    path: PathBuf,
    written: Slot<(), Done>,
}

impl Run {
    /// Writes by a job.
    pub(super) fn start(jobs: &Jobs, plan: Arc<Plan>, path: PathBuf, consent: Consent) -> Self {
        let (written, to) = (Slot::default(), path.clone());
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let title = format!("exporting {name}");
        written.scan(jobs, &(), &title, move |task| write(task, &plan, &to, consent));
        Run { path, written }
    }

    /// Whether it writes, or waits for its turn.
    pub(super) fn is_busy(&self) -> bool {
        self.written.is_busy()
    }

    /// Draws it.
    pub(super) fn ui(&self, ui: &mut Ui, actions: &mut Vec<Action>) -> Answer {
        let path = self.path.display().to_string();
        ui.add(egui::Label::new(theme::mono(&path)).truncate()).on_hover_text(&path);
        ui.add_space(space::S2);
        let shown = self.written.peek(&());
        match shown.answer() {
            None => self.running(ui, &shown),
            Some(Ok(done)) => self.done(ui, &done, actions),
            Some(Err(error)) => failed(ui, &error),
        }
    }

    fn running(&self, ui: &mut Ui, shown: &Shown<Done>) -> Answer {
        ui.ctx().request_repaint_after(Duration::from_millis(100));
        let theme = Theme::of(ui);
        let fraction = shown.progress();
        let bar = ProgressBar::new(fraction.unwrap_or(0.0)).desired_width(ui.available_width());
        ui.add(bar.desired_height(8.0).fill(theme.accent));
        let mut words = shown.task.as_ref().map_or_else(String::new, Task::message);
        if let Some(part) = fraction {
            words = format!("{:.0} %  {words}", part * 100.0);
        }
        let seconds = shown.pending.map_or(0, |since| since.elapsed().as_secs());
        ui.label(theme::dim(theme, format!("{} · {seconds} s", words.trim())));
        ui.add_space(space::S3);
        if theme::button(ui, "Cancel").clicked() {
            self.written.cancel();
        }
        Answer::Stay
    }

    fn done(&self, ui: &mut Ui, done: &Done, actions: &mut Vec<Action>) -> Answer {
        let theme = Theme::of(ui);
        ui.horizontal(|ui| {
            ui.label(theme::icon(Icon::Good).color(theme.good));
            let words = format!("Written and read back: {}", display::bytes(done.bytes));
            ui.label(RichText::new(words).color(theme.good));
        });
        for note in done.notes.iter().take(50) {
            ui.horizontal_wrapped(|ui| {
                ui.label(theme::icon(Icon::Warning).color(theme.warn));
                ui.label(note.to_string());
            });
        }
        ui.add_space(space::S3);
        let mut answer = Answer::Stay;
        ui.horizontal(|ui| {
            if theme::primary_button(ui, "Open it").clicked() {
                actions.push(Action::Open(vec![self.path.clone()]));
                answer = Answer::Close;
            }
            if theme::button(ui, "Reveal in the file manager").clicked() {
                actions.push(Action::Reveal(self.path.clone()));
            }
            if theme::button(ui, "Done").clicked() {
                answer = Answer::Close;
            }
        });
        answer
    }
}

fn failed(ui: &mut Ui, error: &Error) -> Answer {
    let title = if error.is_cancelled() { "Cancelled" } else { "It could not be written" };
    let words = if error.is_cancelled() { "Nothing was left behind.".to_owned() } else { error.to_string() };
    form::problem(ui, title, &words);
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

/// Writes a plan, then opens the result and counts what is in it.
pub(super) fn write(task: &Task, plan: &Plan, path: &Path, consent: Consent) -> Result<Done> {
    let done = plan.run(task, path, consent)?;
    task.set_message("reading it back");
    let document = gander::open(task, path, &Options::default())?;
    if let Some(problem) = &document.root.problem {
        return Err(problem.clone());
    }
    let rows = plan.rows.and_then(Rows::exact);
    if let (Some(Content::Table(table)), Some(wanted)) = (&document.root.content, rows) {
        let found = table.count(task)?;
        if found != wanted {
            let words = format!("read back: the file has {found} rows where {wanted} were written");
            return Err(Error::bug(words).in_file(path.display()));
        }
    }
    Ok(done)
}
