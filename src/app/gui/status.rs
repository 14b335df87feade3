//! The bar at the bottom: what is under the cursor, what runs, what was exported, how much memory is in use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use egui::{Align, Layout, Rect, Role, Sense, Ui, WidgetInfo, vec2};
use gander::bytes::cache::DECODED;
use gander::bytes::display;
use gander::jobs::{JobInfo, Jobs, Priority};
use parking_lot::Mutex;

use super::commands::Action;
use super::exports::{Exports, Summary, Tone};
use super::icons::Icon;
use super::theme::{self, Theme, space};
use super::views::Status;

/// Jobs that end sooner than this are not shown: they would only flicker.
const PATIENCE: Duration = Duration::from_millis(400);
/// The facts about a view are left out where there are fewer points for them.
const FACTS: f32 = 40.0;

/// The state of the status bar.
#[derive(Default)]
pub(crate) struct StatusBar {
    memory: Arc<Mutex<Option<u64>>>,
    asked: Option<Instant>,
    notice: Option<(String, f64)>,
}

impl StatusBar {
    /// Says something for a few seconds.
    pub(crate) fn notice(&mut self, words: String, now: f64) {
        self.notice = Some((words, now + 6.0));
    }

    /// Draws the bar.
    pub(crate) fn ui(
        &mut self,
        ui: &mut Ui,
        jobs: &Jobs,
        exports: &Exports,
        status: &Status,
        actions: &mut Vec<Action>,
    ) {
        let theme = Theme::of(ui);
        self.measure(jobs);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = space::S3;
            let used = DECODED.used() as u64 + crate::isolation::kept();
            let budget = DECODED.most() as u64;
            let words = format!("{} of {}", display::bytes(used), short(budget));
            let color = if used > budget { theme.warn } else { theme.dim };
            let label = ui.label(egui::RichText::new(words).color(color));
            label.on_hover_ui(|ui| {
                ui.label("Data that is kept in memory, of the most that Gander keeps");
                if let Some(all) = *self.memory.lock() {
                    let words = format!(
                        "{} with the window, its readers and what is being worked on",
                        display::bytes(all)
                    );
                    ui.label(theme::dim(theme, words));
                }
            });
            if let Some(summary) = exports.summary() {
                show_exports(ui, exports, &summary, actions);
            }
            show_jobs(ui, jobs);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| self.left(ui, status));
        });
    }

    fn left(&mut self, ui: &mut Ui, status: &Status) {
        let theme = Theme::of(ui);
        let now = ui.input(|input| input.time);
        if let Some((words, until)) = &self.notice {
            if now < *until {
                let notice = egui::Label::new(egui::RichText::new(words).color(theme.accent)).truncate();
                ui.add(notice).on_hover_text(words);
                ui.ctx().request_repaint_after_secs((until - now) as f32);
                return;
            }
            self.notice = None;
        }
        if !status.under.is_empty() {
            ui.add(egui::Label::new(theme::mono(&status.under).color(theme.text)).truncate());
        }
        // Beside long words there may be room for nothing but the mark of what is cut.
        if !status.facts.is_empty() && ui.available_width() > FACTS {
            ui.add(egui::Label::new(theme::dim(theme, &status.facts)).truncate());
        }
    }

    /// Asks for the memory in use every few seconds, and only while something is drawn anyway.
    fn measure(&mut self, jobs: &Jobs) {
        if self.asked.is_some_and(|asked| asked.elapsed() < Duration::from_secs(3)) {
            return;
        }
        let first = self.asked.is_none();
        self.asked = Some(Instant::now());
        let memory = self.memory.clone();
        // The end of a job wakes the window; that frame comes within the three seconds and asks no more.
        if first || !jobs.list().is_empty() || memory.lock().is_some() {
            jobs.run("", Priority::Background, move |_| {
                crate::isolation::make_room();
                *memory.lock() = resident();
            });
        }
    }
}

fn short(bytes: u64) -> String {
    format!("{} GB", bytes / 1_000_000_000)
}

/// The memory of this process and of those that read for it, in bytes, where the system says it. Mapped files are not in
/// it: they are the system's cache.
fn resident() -> Option<u64> {
    let readers = crate::isolation::processes().into_iter().filter_map(|id| resident_of(&id.to_string()));
    Some(resident_of("self")? + readers.sum::<u64>())
}

/// That of one process.
#[allow(clippy::disallowed_methods, reason = "the kernel's text about a process, in a job")]
fn resident_of(process: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The exports in a few words, with the progress of the one that runs; a click opens the list of them.
fn show_exports(ui: &mut Ui, exports: &Exports, summary: &Summary, actions: &mut Vec<Action>) {
    let theme = Theme::of(ui);
    let (icon, color) = match summary.tone {
        Tone::Busy => (Icon::Export, theme.accent),
        Tone::Bad => (Icon::Error, theme.bad),
        Tone::Good => (Icon::Good, theme.good),
        Tone::Calm => (Icon::Export, theme.dim),
    };
    let mut words = theme::icon_text(icon, &summary.words);
    words.sections.iter_mut().for_each(|section| section.format.color = color);
    let label = ui.add(egui::Label::new(words).selectable(false).sense(Sense::click()));
    let spoken = format!("Exports: {}", summary.words);
    label.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
    let label = label.on_hover_text("Click for the list of exports.");
    theme::form(egui::Popup::from_response(&label), &label, |ui| exports.ui(ui, actions));
    if summary.tone == Tone::Busy {
        ui.ctx().request_repaint_after(Duration::from_millis(200));
        let (rect, _) = ui.allocate_exact_size(vec2(44.0, 10.0), Sense::hover());
        bar(ui, rect, summary.fraction, theme);
    }
}

/// The jobs that run for a while: the first with its progress and a cross, and how many more.
fn show_jobs(ui: &mut Ui, jobs: &Jobs) {
    let theme = Theme::of(ui);
    let list: Vec<JobInfo> = jobs.list().into_iter().filter(|job| !job.title.is_empty()).collect();
    if list.is_empty() {
        return;
    }
    let ready: Vec<&JobInfo> = list.iter().filter(|job| job.since.elapsed() >= PATIENCE).collect();
    // Progress is looked at a few times a second while something runs.
    ui.ctx().request_repaint_after(Duration::from_millis(200));
    let Some(first) = ready.first() else { return };
    let cross = ui
        .add(egui::Label::new(theme::icon(Icon::Close).size(11.0).color(theme.accent)).sense(Sense::click()));
    let spoken = format!("Cancel {}", first.title);
    cross.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
    if cross.on_hover_text("Cancel").clicked() {
        first.task.cancel();
    }
    let fraction = first.task.fraction();
    let mut words = first.title.clone();
    if let Some(part) = fraction {
        words.push_str(&format!(" {:.0} %", part * 100.0));
    }
    if ready.len() > 1 {
        words = format!("{} jobs · {words}", ready.len());
    }
    let words = egui::RichText::new(words).color(theme.accent);
    let label = ui.add(egui::Label::new(words).selectable(false).sense(Sense::click()));
    label.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Running jobs"));
    egui::Popup::menu(&label).show(|ui| ready.iter().for_each(|job| job_line(ui, job)));
    if !egui::Popup::is_id_open(ui.ctx(), egui::Popup::default_response_id(&label)) {
        label.on_hover_ui(|ui| {
            ready.iter().for_each(|job| drop(ui.label(state(job))));
            ui.label(theme::dim(theme, "Click for a list in which each can be cancelled."));
        });
    }
    let (rect, _) = ui.allocate_exact_size(vec2(44.0, 10.0), Sense::hover());
    bar(ui, rect, fraction, theme);
}

/// A job in words: what it does, how far it is.
fn state(job: &JobInfo) -> String {
    let part = job.task.fraction().map_or(String::new(), |part| format!(" {:.0} %", part * 100.0));
    let wait = if job.running { "" } else { " (waits)" };
    format!("{}{part}{wait} {}", job.title, job.task.message())
}

/// A job in the list of them, with a cross.
fn job_line(ui: &mut Ui, job: &JobInfo) {
    ui.horizontal(|ui| {
        let cross = ui.add(egui::Button::new(theme::icon(Icon::Close).size(11.0)).frame(false));
        let spoken = format!("Cancel {}", job.title);
        cross.widget_info(|| WidgetInfo::labeled(Role::Button, true, &spoken));
        if cross.on_hover_text("Cancel").clicked() {
            job.task.cancel();
        }
        ui.label(state(job));
    });
}

/// Five small bars that fill up; where the end is unknown, one of them wanders.
fn bar(ui: &Ui, rect: Rect, fraction: Option<f32>, theme: &Theme) {
    const PARTS: usize = 5;
    let width = rect.width() / PARTS as f32;
    let wander = (ui.input(|input| input.time) * 4.0) as usize % PARTS;
    for part in 0..PARTS {
        let place =
            Rect::from_min_size(rect.min + vec2(part as f32 * width, 0.0), vec2(width - 2.0, rect.height()));
        let full = match fraction {
            Some(fraction) => fraction * PARTS as f32 > part as f32 + 0.5,
            None => part == wander,
        };
        let color = if full { theme.accent } else { theme.bg3 };
        ui.painter().rect_filled(place, 1.0, color);
    }
}
